"""The spread of runs of one build, and what it means for a side of one run."""

import numpy as np
import pytest

from slotmark.statistics.between_runs import (
    RunMean,
    Spread,
    combined,
    moderated_together,
    pooled,
    pooled_levels,
    residuals,
)
from slotmark.statistics.mean_difference import Units, chance_of_runs, difference_of_runs, mean_difference
from slotmark.statistics.moderated import moderated
from slotmark.statistics.rank_tests import error_share, holm


def run(mean: float, within: float = 0.0) -> Units:
    values = mean + within * np.tile([-1.0, 1.0], 20)
    return Units(values, np.ones(40), ordered=False)


def spread_of(*sides: list[Units]) -> Spread | None:
    return pooled([[one.on("log") for one in side] for side in sides])


def test_the_spread_is_about_the_mean_of_each_side() -> None:
    """The spread of levels -0.1, 0.1 and -0.2, 0, 0.2: a sum of squares of 0.1 over three degrees of freedom."""
    sides = [
        [RunMean(9.9, 0.01), RunMean(10.1, 0.03)],
        [RunMean(level, 0.02) for level in (1.8, 2.0, 2.2)],
        [RunMean(7.0)],
    ]
    found = pooled(sides)
    assert found is not None
    assert (found.variance, found.degrees, found.within) == pytest.approx((0.1 / 3, 3, 0.02))
    assert pooled([[RunMean(9)], [RunMean(80)]]) is None
    every = [(one, number) for number, side in enumerate(sides) for one in side]
    levels, within, numbers = zip(*((one.level, one.within, number) for one, number in every), strict=True)
    many = pooled_levels(np.array(levels), np.array(within), np.array(numbers))
    assert many is not None
    assert (many.variance, many.degrees, many.within) == pytest.approx((found.variance, found.degrees, found.within))
    assert pooled_levels(np.array([9.0, 80.0]), np.zeros(2), np.array([0, 1])) is None


def test_on_the_scale_of_logarithms_builds_differ_by_ratios() -> None:
    """Runs of 90 and 110 and of 900 and 1,100 differ alike; the interval of a ratio of 2 is not symmetric."""
    ours, theirs = [run(90), run(110)], [run(180), run(220)]
    spread = spread_of(ours, theirs)
    assert spread is not None
    found = mean_difference(ours, theirs, confidence=0.95, spread=spread, scale="log")
    assert found is not None and found.base
    assert found.base == pytest.approx(np.sqrt(90 * 110))
    ratio = [1 + one / found.base for one in (found.delta.estimate, found.delta.low, found.delta.high)]
    assert ratio[0] == pytest.approx(2)
    assert ratio[1] * ratio[2] == pytest.approx(4)


def test_five_runs_tell_how_far_a_sixth_lies() -> None:
    ours = [run(mean) for mean in (98, 99, 100, 101, 102)]
    theirs = [run(103)]
    spread = spread_of(ours, theirs)
    assert spread is not None
    found = mean_difference(ours, theirs, confidence=0.95, spread=spread, scale="log")
    assert found is not None and found.base
    assert (found.over, found.degrees) == ("runs", 4)
    error = float(np.sqrt(spread.variance * (1 / 5 + 1)))
    middle, high = (float(np.log1p(one / found.base)) for one in (found.delta.estimate, found.delta.high))
    assert high - middle == pytest.approx(2.7764 * error, rel=1e-4)
    # Within the runs there is nothing that varies: without the spread, 3 % would be beyond all doubt.
    alone = mean_difference(ours, theirs, confidence=0.95)
    assert alone is not None
    assert found.p > 0.05 > alone.p


def test_what_varies_within_the_only_run_counts_where_it_is_more() -> None:
    ours = [run(99.99), run(100.01)]
    found = mean_difference(ours, [run(103, within=10)], confidence=0.95, spread=spread_of(ours), scale="log")
    assert found is not None
    assert found.delta.high - 3 > 2 * 10 / np.sqrt(40)


def test_a_prior_counts_by_its_degrees_of_freedom() -> None:
    own, prior = Spread(4.0, 2, 1.0), Spread(1.0, 6)
    assert combined(own, prior) == Spread(1.75, 8, 1.0)
    assert combined(own, None) == own
    assert combined(None, prior) == prior
    assert combined(own, Spread(1.0, np.inf)) == Spread(1.0, np.inf)
    # Both runs vary within them too, which a table of runs without it doesn't hold.
    chance = chance_of_runs([[RunMean(0.0, 0.5, 10)], [RunMean(0.1, 0.5, 10)]], prior)
    assert chance.variance == pytest.approx(3.0)
    assert chance.degrees == pytest.approx(3**2 / (2**2 / 6 + 2 * 0.5**2 / 10))


@pytest.mark.parametrize("alike", [0.0, 0.9])
@pytest.mark.parametrize("counts", [(1, 3), (3, 3)])
def test_moderated_intervals_cover_whether_metrics_are_alike_or_not(alike: float, counts: tuple[int, int]) -> None:
    """Ten metrics; as limma does it, with as many degrees of freedom as the fit says, those that move together cover less than 91 %."""
    draws = np.random.default_rng(5)
    covered, naive = [], []
    for _ in range(250):
        common, own = draws.standard_normal((sum(counts), 1)), draws.standard_normal((sum(counts), 10))
        levels = 0.01 * (np.sqrt(alike) * common + np.sqrt(1 - alike) * own)
        sides = [
            [[RunMean(level) for level in of_side[:, place]] for of_side in np.split(levels, counts[:1])]
            for place in range(10)
        ]
        spreads = [one for of_metric in sides if (one := pooled(of_metric))]
        away = np.column_stack([residuals(of_metric) for of_metric in sides])
        for of_metric, spread in zip(sides, moderated_together(spreads, away), strict=True):
            found = difference_of_runs(of_metric[0], of_metric[1], spread, confidence=0.95, scale="log")
            covered.append(found.p >= 0.05)
        as_limma = moderated(np.array([one.variance for one in spreads]), spreads[0].degrees)
        for of_metric, variance in zip(sides, as_limma.variances, strict=True):
            found = difference_of_runs(
                of_metric[0], of_metric[1], Spread(variance, as_limma.degrees), confidence=0.95, scale="log"
            )
            naive.append(found.p >= 0.05)
    assert 0.925 <= np.mean(covered) <= 0.985
    if alike and counts == (1, 3):
        assert np.mean(naive) < 0.915


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
            one = mean_difference(sides[0], sides[1], confidence=0.95, spread=spread_of(*sides), scale="log")
            assert one is not None
            hits += one.p < 0.05
        return hits / 400

    for count in ((1, 2), (1, 3), (1, 5), (2, 2), (3, 3)):
        assert 0.02 <= found(count, 1.0) <= 0.085, count
    assert found((3, 3), 1.04) > 0.9
    assert found((1, 5), 1.06) > 0.9
