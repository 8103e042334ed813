"""The p-value of a row belongs to its interval: below 5 % exactly where the 95 % interval excludes no difference."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slotmark.statistics.block_ratio import Part, total_ratio, typical_ratio
from slotmark.statistics.mean_difference import by_unit, mean_difference
from slotmark.statistics.resampling import studentised
from slotmark.statistics.student import student
from slotmark.statistics.two_level import hierarchical
from tests.compare.planted_courses import autoregressive

seeds = st.integers(0, 2**32 - 1)
confidences = st.sampled_from([0.8, 0.9, 0.95, 0.99])
shifts = st.floats(0, 5)


def agree(low: float, high: float, p: float, confidence: float, null: float = 0.0) -> None:
    assume(min(abs(low - null), abs(high - null)) > 1e-12)
    assert (p < 1 - confidence - 1e-12) == (low > null or high < null), (low, high, p)


@settings(max_examples=150, deadline=None)
@given(seeds, confidences, shifts, st.integers(2, 15), st.sampled_from([99, 200, 777, 2_000]), st.booleans())
def test_of_rounds(seed: int, confidence: float, shift: float, rounds: int, repetitions: int, paired: bool) -> None:
    draws = np.random.default_rng(seed)
    groups = [draws.exponential(1, rounds) - 1 + shift / rounds**0.5, *([] if paired else [draws.normal(0, 1, 5)])]
    found = studentised(groups, confidence=confidence, repetitions=repetitions, seed=[seed])
    assume(np.isfinite([found.interval.low, found.interval.high]).all())
    agree(found.interval.low, found.interval.high, found.p, confidence)


@settings(max_examples=150, deadline=None)
@given(seeds, confidences, shifts, st.sampled_from(["runs", "blocks", "hosts"]))
def test_of_means(seed: int, confidence: float, shift: float, over: str) -> None:
    draws = np.random.default_rng(seed)
    courses = autoregressive(0.6)(draws, 6, 80)
    courses[3:] += shift / 5
    units = [
        by_unit(one, np.arange(one.size) % 5, ordered=False) if over == "hosts" else by_unit(one, np.arange(one.size))
        for one in courses
    ]
    sides = (units[:3], units[3:]) if over == "runs" else (units[:1], units[3:4])
    found = mean_difference(*sides, confidence=confidence)
    assert found is not None
    agree(found.delta.low, found.delta.high, found.p, confidence)


@settings(max_examples=100, deadline=None)
@given(seeds, confidences, st.floats(0, 0.1), st.integers(1, 5), st.sampled_from(["typical", "sums"]))
def test_of_blocks(seed: int, confidence: float, shift: float, processes: int, quantity: str) -> None:
    draws = np.random.default_rng(seed)
    base = np.exp(draws.normal(10, 1, 50))
    ours, theirs = (
        base
        * np.exp(
            truth
            + draws.exponential(0.03, (processes, 1))
            + draws.normal(0, 0.02, (processes, 50))
            + 0.1 * draws.exponential(1, 50)
        )
        for truth in (0.0, shift)
    )
    effects = typical_ratio([Part(-1, ours), Part(1, theirs)]) if quantity == "typical" else total_ratio(ours, theirs)
    found = hierarchical(effects, confidence=confidence)
    agree(float(np.log(found.ratio.low)), float(np.log(found.ratio.high)), found.p, confidence)


@given(st.floats(-10, 10), st.floats(1e-3, 10), st.floats(1, 1e4), confidences)
def test_of_seeds(estimate: float, error: float, degrees: float, confidence: float) -> None:
    found = student(estimate, error, degrees, confidence)
    agree(found.interval.low, found.interval.high, found.p, confidence)


def test_without_any_error_the_estimate_is_all() -> None:
    same, other = student(0.0, 0.0, 3, 0.95), student(2.0, 0.0, 3, 0.95)
    assert (same.p, other.p) == (1, 0)
    assert other.interval.low == other.interval.high == pytest.approx(2)
