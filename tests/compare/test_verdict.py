"""Verdicts: the worked table of docs/method.md, and what must always hold."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotmark.compare.results.rows import limits
from slotmark.compare.verdict import Judgement, judge, judge_amount, withstanding
from slotmark.metrics import catalogue
from slotmark.metrics.catalogue import Better
from slotmark.numbers import change, change_with_span, percent, quantity, ratio_interval, signed_interval, span
from slotmark.statistics.interval import Interval
from slotmark.verdict import Verdict


def verdict(
    low: float, estimate: float, high: float, p: float = 0.001, margin: float = 0.02, better: Better = "higher"
) -> Judgement:
    return judge(Interval(estimate, low, high), p, margin=margin, better=better, confidence=0.95, tests=20)


@pytest.mark.parametrize(
    ("interval", "p", "expected", "why"),
    [
        ((1.06, 1.08, 1.10), 0.004, "better", "+8.0 % [+6.0 to +10.0 %], beyond the margin of 2 %; adjusted p 0.004"),
        ((0.90, 0.92, 0.94), 0.004, "worse", "-8.0 % [-10.0 to -6.0 %], beyond the margin of 2 %; adjusted p 0.004"),
        ((0.99, 1.00, 1.01), 1.0, "equivalent", "the whole interval, -1.0 to +1.0 %, lies within the margin of 2 %"),
        (
            (1.005, 1.01, 1.015),
            0.004,
            "equivalent",
            "the whole interval, +0.50 to +1.5 %, lies within the margin of 2 %",
        ),
        (
            (0.97, 1.02, 1.08),
            1.0,
            "undecided",
            "the interval, -3.0 to +8.0 %, includes a difference of zero but reaches beyond the margin of 2 % on both sides",
        ),
        (
            (0.99, 1.02, 1.05),
            1.0,
            "undecided",
            "the interval, -1.0 to +5.0 %, includes a difference of zero but reaches beyond the margin of 2 % upwards",
        ),
        (
            (0.95, 0.98, 1.01),
            1.0,
            "undecided",
            "the interval, -5.0 to +1.0 %, includes a difference of zero but reaches beyond the margin of 2 % downwards",
        ),
        (
            (1.01, 1.05, 1.09),
            0.12,
            "undecided",
            "the interval, +1.0 to +9.0 %, excludes a difference of zero, but among 20 tests that happens by chance: adjusted p 0.12",
        ),
        (
            (1.005, 1.015, 1.025),
            0.004,
            "undecided",
            "there is a difference, +1.5 %, but its interval, +0.50 to +2.5 %, leaves open whether it exceeds the margin of 2 %",
        ),
    ],
)
def test_the_worked_table(interval: tuple[float, float, float], p: float, expected: str, why: str) -> None:
    found = verdict(*interval, p=p)
    assert (found.verdict, found.reason) == (expected, why)


@pytest.mark.parametrize(
    ("low", "high", "margin_words", "expected"),
    [
        # A share of 25 % is from 1 / 1.25 = 0.8 of the baseline to 1.25 of it; a quarter of it in the metric's unit from 0.75 on.
        (0.81, 1.24, "", "equivalent"),
        (0.79, 1.24, "", "undecided"),
        (0.79, 1.24, "5 ms", "equivalent"),
        (0.74, 1.24, "5 ms", "undecided"),
        (0.81, 1.26, "", "undecided"),
        (0.81, 1.26, "5 ms", "undecided"),
    ],
)
def test_a_share_is_as_large_both_ways_as_a_ratio_and_an_amount_as_a_difference(
    low: float, high: float, margin_words: str, expected: str
) -> None:
    found = judge(
        Interval(1.0, low, high),
        0.5,
        margin=0.25,
        margin_words=margin_words,
        better="lower",
        confidence=0.95,
        tests=1,
    )
    assert found.verdict == expected


@pytest.mark.parametrize(
    ("delta", "bounds", "p", "better", "expected", "why"),
    [
        (
            *((-0.03, 0.02, 0.07), (-0.05, 0.09), 0.5, "lower"),
            *("equivalent", "the whole interval, -0.05 pp to +0.09 pp at 98 %, lies within the margin of 0.1 pp"),
        ),
        # The interval that decides is the wider one.
        (
            *((-0.03, 0.02, 0.07), (-0.05, 0.11), 0.5, "lower", "undecided"),
            "the interval, -0.05 pp to +0.11 pp at 98 %, includes a difference of zero but reaches beyond the margin of 0.1 pp upwards",
        ),
        (
            *((0.2, 0.5, 0.8), (0.1, 0.9), 0.049, "lower"),
            *("worse", "+0.5 pp [+0.2 pp to +0.8 pp], beyond the margin of 0.1 pp; adjusted p 0.049"),
        ),
        (
            *((0.2, 0.5, 0.8), (0.1, 0.9), 0.049, "higher"),
            *("better", "+0.5 pp [+0.2 pp to +0.8 pp], beyond the margin of 0.1 pp; adjusted p 0.049"),
        ),
        (
            *((-0.8, -0.5, -0.2), (-0.9, -0.1), 0.049, "lower"),
            *("better", "-0.5 pp [-0.8 pp to -0.2 pp], beyond the margin of 0.1 pp; adjusted p 0.049"),
        ),
        (
            *((0.2, 0.5, 0.8), (0.1, 0.9), 0.051, "lower", "undecided"),
            "the interval, +0.2 pp to +0.8 pp, excludes a difference of zero, but among 20 tests that happens by chance: adjusted p 0.051",
        ),
        (
            *((0.02, 0.08, 0.14), (0.01, 0.15), 0.01, "lower", "undecided"),
            "there is a difference, +0.08 pp, but its interval, +0.02 pp to +0.14 pp, leaves open whether it exceeds the margin of 0.1 pp",
        ),
    ],
)
def test_the_worked_table_of_a_baseline_of_zero(
    delta: tuple[float, float, float], bounds: tuple[float, float], p: float, better: Better, expected: str, why: str
) -> None:
    """Transactions lost, of which a tenth of a percentage point matters."""
    metric = msgspec.structs.replace(catalogue("cluster")["transactions_lost"], better=better)
    low, estimate, high = delta
    found = judge_amount(
        Interval(estimate, low, high), Interval(estimate, *bounds), p, metric=metric, confidence=0.95, tests=20
    )
    assert (found.verdict, found.reason) == (expected, why)


def test_lower_can_be_better() -> None:
    assert verdict(0.90, 0.92, 0.94, better="lower").verdict == "better"
    assert verdict(1.06, 1.08, 1.10, better="lower").verdict == "worse"


@given(st.floats(0.3, 3), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 1), st.floats(0, 0.2))
def test_swapping_the_sides_flips_the_verdict(
    estimate: float, below: float, above: float, p: float, margin: float
) -> None:
    low, high = estimate * (1 - below), estimate * (1 + above)
    edges = [1, 1 + margin, 1 / (1 + margin)]
    if any(abs(value / edge - 1) < 1e-9 for value in (low, estimate, high) for edge in edges):
        return  # on an edge, rounding decides
    flipped = {"better": "worse", "worse": "better"}
    forward = verdict(low, estimate, high, p, margin).verdict
    backward = verdict(1 / high, 1 / estimate, 1 / low, p, margin).verdict
    assert backward == flipped.get(forward, forward)


@given(st.floats(0.5, 2), st.floats(0, 0.2), st.floats(0, 0.2), st.floats(0, 1))
def test_a_wider_margin_never_makes_a_difference_of_none(estimate: float, below: float, above: float, p: float) -> None:
    low, high = estimate * (1 - below), estimate * (1 + above)
    narrow, wide = (verdict(low, estimate, high, p, margin).verdict for margin in (0.01, 0.05))
    if wide in ("better", "worse"):
        assert narrow == wide
    if narrow == "equivalent":
        assert wide == "equivalent"


def test_ratios_in_words_are_differences_in_percent_whatever_their_size() -> None:
    assert [change(r) for r in (1.0, 1.004, 1.0312, 1.999, 2, 16.84, 0.97, 0.51, 0.5, 0.02, 0.0)] == [
        *("0 %", "+0.40 %", "+3.1 %", "+99.9 %", "+100 %", "+1,584 %", "-3.0 %", "-49.0 %", "-50.0 %", "-98.0 %"),
        "-100 %",
    ]
    assert span(Interval(1, 1, 1)) == "0 %"
    assert span(Interval(3, 2.5, 3.5)) == "+150 to +250 %"
    assert span(Interval(1.0, 1 / 4.24, 1.736)) == "-76.4 to +73.6 %"
    assert span(Interval(9.0, 0.0, 1540.0)) == "-100 to +153,900 %"


@pytest.mark.parametrize(
    ("low", "estimate", "high", "printed"),
    [
        (1.1, 1.1, 1.1, "+10.0 %"),
        (1.09999, 1.1, 1.10001, "+10.0 %"),
        (1.099, 1.1, 1.101, "+10.0 % [+9.9 to +10.1 %]"),
    ],
)
def test_an_interval_is_left_out_where_it_prints_as_its_estimate(
    low: float, estimate: float, high: float, printed: str
) -> None:
    assert change_with_span(Interval(estimate, low, high)) == printed
    judgement = verdict(low, estimate, high, 0.0, 0.01)
    assert judgement.reason.startswith(f"{printed}, beyond the margin")


def test_differences_of_percentages_are_percentage_points_and_none_has_an_exponent() -> None:
    assert [quantity(0.5, "%"), quantity(0.0005, "s"), quantity(1, "KiB/s"), quantity(15_400, "B")] == [
        *("0.5 pp", "0.5 ms", "1 KiB/s", "15,400 B"),
    ]
    assert ratio_interval(Interval(2 / 3, 0.65, 0.6834)) == "0.667× [0.650 to 0.683]"
    assert signed_interval(Interval(0.001, -0.0005, 0.0025), 1e3) == "-0.500 to +2.50"


def test_shares_are_written_in_full() -> None:
    assert [percent(fraction) for fraction in (0.005, 0.02, 0.1234, 9.9, 10.0)] == [
        "0.5 %",
        "2 %",
        "12.3 %",
        "990 %",
        "1,000 %",
    ]


@pytest.mark.parametrize(
    ("found", "widest", "stands"),
    [
        (Verdict.WORSE, (1.01, 1.2), True),
        (Verdict.BETTER, (0.8, 0.99), True),
        (Verdict.WORSE, (0.99, 1.2), False),
        (Verdict.EQUIVALENT, (0.99, 1.01), True),
        (Verdict.EQUIVALENT, (0.97, 1.01), False),
        (Verdict.UNDECIDED, (0.5, 2.0), True),
    ],
)
def test_a_verdict_on_single_runs_stands_up_to_the_widest_drift_or_is_none(
    found: Verdict, widest: tuple[float, float], stands: bool
) -> None:
    made = withstanding(
        Judgement(found, "so"), Interval(1.0, *widest), within=limits(0.02, absolute=False), over="blocks"
    )
    assert (made == Judgement(found, "so")) == stands
    assert made.verdict == (found if stands else Verdict.UNDECIDED)
