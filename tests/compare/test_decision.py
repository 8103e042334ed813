"""Decisions about rows whose intervals are worked out by hand."""

from typing import Any

import msgspec
import numpy as np
import pytest

from slotmark.compare.compare import judged
from slotmark.compare.deciding.decision import decide, together
from slotmark.compare.deciding.policy import Accepted, Policy
from slotmark.compare.estimators import Entry, Measured
from slotmark.compare.result import Comparison, Side
from slotmark.compare.results.decision import Answer, Decision
from slotmark.compare.results.rows import Basis, Difference, Row
from slotmark.compare.summary import summarise
from slotmark.metrics import catalogue
from slotmark.metrics.catalogue import Better
from slotmark.run import Target
from slotmark.statistics.interval import Interval
from slotmark.verdict import Verdict
from slotmark.warnings import Warning
from tests.made_up_runs import bare_manifest

ADOPTION = catalogue("cluster")["adopted_by_096"]


def decided(
    *differences: Difference,
    better: Better = "lower",
    policy: Policy | None = None,
    warned: str = "",
    comparisons: int = 1,
) -> Decision:
    """The decision about rows of one metric, each a part with one difference; there is a warning about what is named."""
    metric = msgspec.structs.replace(ADOPTION, better=better)

    def warnings(of: str) -> list[Warning]:
        return [Warning("some", "so")] if of == warned else []

    base, new = (
        Side(name, bare_manifest(name, "cluster", Target(name, "10.5", "", "", "")), warnings=warnings(name))
        for name in ("baseline", "candidate")
    )
    found = Comparison(
        bench="cluster",
        baseline=base,
        candidates=[new],
        rows=[
            Row(
                metric=metric,
                part=f"part {place}",
                quantity="mean",
                summaries=[summarise({(1,): 1.0})] * 2,
                differences=[one],
                warnings=warnings("row"),
            )
            for place, one in enumerate(differences)
        ],
        tests=len(differences),
        comparisons=comparisons,
        confidence=0.95,
        repetitions=0,
        seed=1,
        warnings=warnings("comparison"),
    )
    decision = decide(found, [metric], policy or Policy())
    assert decision is not None
    return decision


def answer(
    difference: Difference, better: Better = "lower", policy: Policy | None = None, warned: str = ""
) -> tuple[Answer, str]:
    """The answer about one row, with its reason."""
    decision = decided(difference, better=better, policy=policy, warned=warned)
    return decision.answer, decision.causes[0].reason if decision.causes else ""


def over_rounds(
    low: float, high: float, verdict: Verdict = Verdict.UNDECIDED, counts: tuple[int, int] = (3, 3), **more: Any
) -> Difference:
    """A difference over rounds in turns, with a margin of 2 % and the interval that decides."""
    ratio = Interval((low * high) ** 0.5, low, high)
    fields: dict[str, Any] = {"p": 0.2, "p_adjusted": 0.2, "margin": 0.02, "reason": "so", "paired": True}
    basis = Basis("paired rounds", counts, (float(counts[0]), float(counts[1])))
    return Difference(ratio=ratio, bounds=ratio, verdict=verdict, basis=basis, **fields | more)


@pytest.mark.parametrize(
    ("low", "high", "better", "expected", "why"),
    [
        (0.90, 1.019, "lower", "ship", ""),
        (0.90, 1.021, "lower", "run again", "up to +2.1 % by the 98 % interval"),
        # 1 / 1.02 = 0.9804 of the baseline is as far as 1.02 of it.
        (0.981, 1.10, "higher", "ship", ""),
        (0.979, 1.10, "higher", "run again", "up to -2.1 % by the 98 % interval"),
    ],
)
def test_what_ships_ends_within_the_margin_on_the_side_that_is_worse(
    low: float, high: float, better: Better, expected: str, why: str
) -> None:
    found, reason = answer(over_rounds(low, high), better)
    assert (found, reason[-len(why) :] if why else reason) == (expected, why)


def test_the_wider_interval_decides_and_a_margin_in_the_unit_is_as_large_both_ways() -> None:
    within = over_rounds(0.95, 1.015)
    assert answer(within)[0] == "ship"
    assert answer(msgspec.structs.replace(within, bounds=Interval(0.98, 0.94, 1.021)))[0] == "run again"
    # A quarter of the baseline, set in the metric's unit: 0.75 of it is the end, and 0.8 where it was set as a share.
    lower = over_rounds(0.76, 1.2, margin=0.25, margin_absolute=0.01)
    assert answer(lower, "higher")[0] == "ship"
    assert answer(msgspec.structs.replace(lower, margin_absolute=None), "higher")[0] == "run again"


@pytest.mark.parametrize(
    ("low", "high", "better", "up_to", "expected"),
    [
        (1.05, 1.09, "lower", 0.10, "ship"),
        (1.05, 1.09, "lower", 0.06, "hold"),
        (1.05, 1.11, "lower", 0.10, "run again"),
        # 1 / 1.1 = 0.909
        (0.915, 0.95, "higher", 0.10, "ship"),
        (0.905, 0.95, "higher", 0.10, "run again"),
        (0.915, 0.92, "higher", 0.06, "hold"),
        (1.05, 1.09, "lower", None, "ship"),
    ],
)
def test_what_is_accepted_up_to_a_size_ships_no_larger_one(
    low: float, high: float, better: Better, up_to: float | None, expected: str
) -> None:
    known = Policy(accepted=[Accepted(metric=ADOPTION.id, reason="known", until="10.7", up_to=up_to)])
    worse = over_rounds(low, high, Verdict.WORSE, p=0.001, p_adjusted=0.001)
    assert answer(worse, better, known)[0] == expected


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict.BETTER, "ship"),
        (Verdict.EQUIVALENT, "ship"),
        (Verdict.UNDECIDED, "run again"),
        (Verdict.WORSE, "hold"),
    ],
)
def test_of_a_baseline_of_zero_the_verdict_decides(verdict: Verdict, expected: str) -> None:
    delta = Interval(0.01, 0.005, 0.015)
    none = msgspec.structs.replace(over_rounds(1.0, 1.0, verdict), ratio=None, bounds=None, delta=delta)
    assert answer(none)[0] == expected


@pytest.mark.parametrize(
    ("counts", "conditional", "expected"),
    [
        ((3, 3), None, "ship"),
        ((2, 2), None, "run again"),
        ((2, 5), None, "run again"),
        ((5, 2), None, "run again"),
        ((2, 2), "count", "ship"),
    ],
)
def test_fewer_than_three_of_either_side_do_not_ship(counts: tuple[int, int], conditional: Any, expected: str) -> None:
    assert answer(over_rounds(0.99, 1.01, counts=counts), policy=Policy(conditional=conditional))[0] == expected


def test_at_which_spread_of_runs_a_result_of_single_ones_is_chance() -> None:
    """A normal distribution has 5 % beyond 1.95996 errors, and 1 % above 2.32635."""

    def of_blocks(log: float, error: float, p: float) -> Difference:
        low, high = np.exp([log - 2.32635 * error, log + 2.32635 * error]).tolist()
        ratio = Interval(float(np.exp(log)), low, high)
        none = over_rounds(low, high, p=p, p_adjusted=p)
        return msgspec.structs.replace(
            none, ratio=ratio, bounds=ratio, basis=Basis("blocks", (100, 100), (100.0, 100.0))
        )

    # 0.0587988 / 1.95996 = 0.03, and 0.03^2 = 0.01^2 + 2 * 0.02^2.
    assert answer(of_blocks(0.0587988, 0.01, 0.001)) == (
        *("run again", "+6.1 %: chance only if runs of one build vary by more than 2 %"),
    )
    # As one of four comparisons of a release: 0.0587988 / 2.49771 = 0.023541, and 0.023541^2 = 0.01^2 + 2 * 0.01507^2.
    of_four = decided(of_blocks(0.0587988, 0.01, 0.001), comparisons=4)
    assert of_four.causes[0].reason == "+6.1 %: chance only if runs of one build vary by more than 1.5 %"
    # ln 1.02 / 2.32635 = 0.0085124, and 0.0085124^2 = 0.004^2 + 2 * 0.005313^2.
    assert answer(of_blocks(0.0, 0.004, 1.0)) == (
        *("run again", "not worse if runs of one build vary by less than 0.53 %"),
    )


def test_the_largest_number_of_further_rounds_is_asked_for() -> None:
    few = [over_rounds(0.99, 1.01, counts=(count, count)) for count in (2, 1)]
    for rows in (few, few[::-1]):
        assert decided(*rows).line.endswith("; needs about 2 more paired rounds per side")
    assert decided(few[0]).line.endswith("; needs about 1 more paired round per side")


@pytest.mark.parametrize("warned", ["comparison", "baseline", "candidate", "row"])
def test_a_warning_stops_whatever_it_is_about(warned: str) -> None:
    equal = over_rounds(0.99, 1.01)
    assert answer(equal, policy=Policy(warnings=["some"]), warned=warned) == ("run again", "so")
    assert answer(equal, policy=Policy(warnings=["other"]), warned=warned)[0] == "ship"


@pytest.mark.parametrize(
    ("ratio", "margin", "conditional", "expected", "of_these"),
    [
        ((1.02, 1.03, 1.04), None, False, Verdict.WORSE, False),
        ((1.02, 1.03, 1.04), None, True, Verdict.WORSE, True),
        # The least difference that matters is 5 % of this baseline.
        ((1.02, 1.03, 1.04), 0.05, True, Verdict.EQUIVALENT, True),
        ((1.02, 1.03, 1.06), 0.05, True, Verdict.UNDECIDED, False),
    ],
)
def test_the_margin_in_force_judges_and_what_has_no_verdict_is_not_conditional(
    ratio: tuple[float, float, float], margin: float | None, conditional: bool, expected: Verdict, of_these: bool
) -> None:
    low, estimate, high = ratio
    measured = Measured(
        ratio=Interval(estimate, low, high),
        p=1e-6,
        paired=True,
        margin=margin,
        margin_absolute=None if margin is None else 0.0005,
        conditional=conditional,
    )
    entry = Entry(metric=ADOPTION, quantity="mean", summaries=[None, None], measured=[measured])
    ((row,), _) = judged([entry], 0.95)
    (difference,) = row.differences
    assert difference is not None
    assert (difference.verdict, difference.conditional) == (expected, of_these)
    assert difference.margin == (ADOPTION.margin if margin is None else margin)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["ship"], "ship"),
        (["ship", "run again"], "run again"),
        (["ship", "run again", "hold"], "hold"),
        (["hold", "ship"], "hold"),
        ([], "run again"),
    ],
)
def test_of_several_answers_the_one_that_stops_first_counts(answers: list[Answer], expected: str) -> None:
    assert together(answers) == expected
