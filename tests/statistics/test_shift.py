"""Harrell-Davis quantiles against scipy, and a shift function that covers what was planted."""

import numpy as np
import pytest
from scipy.stats.mstats import hdquantiles

from slotmark.statistics.shift import DECILES, harrell_davis, shift_function
from tests.compare.planted_blocks import NOISES, recorded

HOW = {"confidence": 0.95, "repetitions": 300}


@pytest.mark.parametrize("n", [1, 2, 9, 122, 3_000])
def test_is_what_scipy_gives(n: int) -> None:
    values = np.random.default_rng(n).exponential(size=n)
    expected = np.asarray(hdquantiles(values, DECILES)) if n > 1 else np.full(9, values[0])
    assert harrell_davis(values, DECILES) == pytest.approx(expected, rel=1e-9)


def test_a_planted_ratio_is_covered_at_every_decile() -> None:
    draws, inside = np.random.default_rng(1), np.zeros(9)
    for index in range(120):
        sides = recorded(draws, NOISES["both"], truth=1.03)
        found = shift_function(*sides, seed=[index], **HOW)  # pyright: ignore[reportArgumentType]
        inside += [one.ratio.low <= 1.03 <= one.ratio.high for one in found]
    # 120 pairs: 95 % give or take 2 %, on nine deciles.
    assert (inside / 120).min() >= 0.88


def test_a_change_of_the_slowest_blocks_shows_in_the_upper_quantiles_only() -> None:
    draws = np.random.default_rng(2)
    baseline, candidate = recorded(draws, NOISES["blocks"], blocks=1_000)
    candidate = np.where(baseline.mean(axis=0) > 100_000, 1.2 * candidate, candidate)
    found = {one.quantile: one for one in shift_function(baseline, candidate, seed=[1], **HOW)}  # pyright: ignore[reportArgumentType]
    assert found[0.9].ratio.low > 1.15
    assert 0.99 < found[0.1].ratio.low <= found[0.1].ratio.high < 1.01
    assert (found[0.9].beyond, found[0.5].beyond) == (100, 500)


def test_quantiles_of_drawn_blocks_are_those_of_the_drawn_values() -> None:
    """The shortcut over counts of ordered values is the bootstrap: its spread is that of estimating anew."""
    draws = np.random.default_rng(3)
    values = draws.gamma(2, 1, 500)
    found = shift_function(np.ones((1, 500)), values[np.newaxis], seed=[1], confidence=0.95, repetitions=2_000)
    anew = np.log([harrell_davis(values[draws.integers(0, 500, 500)], DECILES) for _ in range(1_000)])
    widths = [np.log(one.ratio.high / one.ratio.low) / 2 / 1.96 for one in found]
    assert widths == pytest.approx(anew.std(axis=0), rel=0.12)


def test_many_blocks_spread_as_if_they_were_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = recorded(np.random.default_rng(4), NOISES["blocks that answer differently"], blocks=6_000)

    def widths() -> list[float]:
        found = shift_function(*sides, seed=[1], confidence=0.95, repetitions=1_000)
        return [float(np.log(one.ratio.high / one.ratio.low)) for one in found]

    by_influence = widths()
    monkeypatch.setattr("slotmark.statistics.shift.LINEAR_FROM", 10_000)
    # Near a cluster's edge a quantile doesn't answer linearly, and the two differ more than by chance (some 3 %).
    assert by_influence == pytest.approx(widths(), rel=0.2)
