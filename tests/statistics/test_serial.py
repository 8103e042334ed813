"""Rounds that resemble the rounds before them are found, and others are not."""

import numpy as np
import pytest

from slotmark.statistics.serial import serial
from tests.compare.planted_courses import autoregressive


def found(likeness: float, rounds: int, count: int = 300) -> float:
    """The share of sessions in which a drift is seen at 2 %."""
    courses = autoregressive(likeness)(np.random.default_rng([1, rounds]), count, rounds)
    return float(np.mean([serial(one, repetitions=499, seed=[place]).p < 0.02 for place, one in enumerate(courses)]))


def test_by_hand() -> None:
    # Deviations -1 -1 1 1: products 1, -1, 1 over 4 squares. Of the 6 orders of the signs, two have them side by side.
    one = serial(np.array([1.0, 1, 3, 3]), repetitions=6_000, seed=[1])
    assert one.correlation == pytest.approx(0.25)
    assert one.p == pytest.approx(2 / 6, abs=0.02)


def test_independent_rounds_are_not_doubted() -> None:
    assert found(0.0, 10) <= 0.05
    assert found(0.0, 30) <= 0.05


def test_rounds_that_drift_are_found_with_enough_of_them() -> None:
    assert found(0.7, 20) >= 0.5
    assert found(0.7, 40) >= 0.9


def test_equal_rounds_do_not_drift() -> None:
    assert serial(np.full(10, 0.3), repetitions=99, seed=[1]).p == 1
