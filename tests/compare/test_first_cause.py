"""The step that is named as the first cause of a difference."""

import pytest

from slotmark.compare.attribution.attributing import first_cause
from slotmark.compare.results.attribution import Step
from slotmark.statistics.interval import Interval


def step(name: str, delta: float) -> Step:
    return Step(
        name=name,
        baseline=1.0,
        candidate=1.0 + delta,
        delta=Interval(delta, delta - 0.1, delta + 0.1),
        p_adjusted=0.001,
    )


@pytest.mark.parametrize(
    ("whole", "proven", "cause"),
    [
        (5.3, [("tick", 1.0), ("fetch", 3.8)], "fetch"),
        (5.3, [("tick", 1.0), ("apply", -4.0)], "tick"),
        (5.3, [("apply", -0.6)], ""),
        (-5.3, [("apply", -0.6), ("tick", 3.0)], "apply"),
        (5.3, [], ""),
    ],
)
def test_it_is_the_largest_proven_step_in_the_direction_of_the_whole_or_none(
    whole: float, proven: list[tuple[str, float]], cause: str
) -> None:
    steps = [step(name, delta) for name, delta in proven]
    assert first_cause(steps, Interval(whole, whole - 1, whole + 1)) == cause
