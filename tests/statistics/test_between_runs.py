"""How much runs of one build differ, and what that makes of a side of one run."""

import numpy as np
import pytest

from slotmark.statistics.between_runs import Spread, pooled
from slotmark.statistics.mean_difference import Units, mean_difference
from slotmark.statistics.rank_tests import error_share, holm


def run(mean: float, within: float = 0.0) -> Units:
    values = mean + within * np.tile([-1.0, 1.0], 20)
    return Units(values, np.ones(40), ordered=False)


def test_the_spread_is_about_the_mean_of_each_side() -> None:
    # Shares -0.1, 0.1 and -0.2, 0, 0.2: a sum of squares of 0.1 over three degrees of freedom.
    assert pooled([[9, 11], [80, 100, 120], [7]]) == Spread(pytest.approx(0.1 / 3), 3)  # pyright: ignore[reportArgumentType]
    assert pooled([[9], [80]]) is None
    assert pooled([[9, 0], [80]]) is None


def test_five_runs_tell_how_far_a_sixth_lies() -> None:
    ours = [run(mean) for mean in (98, 99, 100, 101, 102)]
    theirs = [run(103)]
    spread = pooled([[one.mean for one in side] for side in (ours, theirs)])
    assert spread is not None
    found = mean_difference(ours, theirs, confidence=0.95, spread=spread)
    assert found is not None
    assert (found.over, found.degrees) == ("runs", 4)
    error = float(np.sqrt(spread.variance * (100**2 / 5 + 103**2)))
    assert found.delta.high - 3 == pytest.approx(2.7764 * error, rel=1e-4)
    # Within the runs there is nothing that varies: without the spread, 3 % would be beyond all doubt.
    alone = mean_difference(ours, theirs, confidence=0.95)
    assert alone is not None
    assert found.p > 0.05 > alone.p


def test_what_varies_within_the_only_run_counts_where_it_is_more() -> None:
    ours = [run(99.99), run(100.01)]
    spread = pooled([[one.mean for one in ours]])
    found = mean_difference(ours, [run(103, within=10)], confidence=0.95, spread=spread)
    assert found is not None
    assert found.delta.high - 3 > 2 * 10 / np.sqrt(40)


def test_what_decides_has_most_of_the_error_rate_and_passes_it_on() -> None:
    shares = [error_share(50, 4, decides=place < 4) for place in range(50)]
    assert sum(shares) == pytest.approx(1)
    assert shares[0] == pytest.approx(0.2)
    assert len({error_share(5, count, decides=True) for count in (0, 4, 5)}) == 1
    adjusted = holm([0.001, 0.5, 0.004], [0.4, 0.4, 0.2])
    assert adjusted == pytest.approx([0.0025, 0.5, 0.012])


def test_equal_builds_are_rarely_called_different_and_a_change_is_found() -> None:
    """Runs of one build differ by 1 %; of five tests, four decide nothing."""
    draws = np.random.default_rng(3)

    def found(count: tuple[int, int], by: float) -> float:
        hits = 0
        for _ in range(400):
            means = [
                list(level + 0.01 * draws.standard_normal(size)) for level, size in zip((1, by), count, strict=True)
            ]
            sides = [[run(mean) for mean in side] for side in means]
            one = mean_difference(sides[0], sides[1], confidence=0.95, spread=pooled(means))
            assert one is not None
            hits += one.p < 0.05
        return hits / 400

    for count in ((1, 2), (1, 3), (1, 5), (2, 2), (3, 3)):
        assert 0.02 <= found(count, 1.0) <= 0.085, count
    assert found((3, 3), 1.04) > 0.9
    assert found((1, 5), 1.06) > 0.9
