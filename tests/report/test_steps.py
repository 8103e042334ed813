"""Steps of a difference in reports: figures that a test has thought up, each in its own column and with its own sign."""

from typing import Any, cast

import msgspec

from slotmark.compare.results.attribution import Apart, Change, Changes, Explained, OutlierPlaces, Step
from slotmark.compare.results.explanation import Explanation
from slotmark.metrics import catalogue
from slotmark.report.document import Block, Paragraph, Table
from slotmark.report.sections.steps import explained_in_words, place_table, step_tables
from slotmark.statistics.interval import Interval


def step(name: str, baseline: float, candidate: float, p: float) -> Step:
    """A step in s, whose interval reaches 4 ms to both sides."""
    delta = candidate - baseline
    return Step(
        name=name,
        baseline=baseline,
        candidate=candidate,
        delta=Interval(delta, delta - 0.004, delta + 0.004),
        p_adjusted=p,
    )


EXPLAINED = Explained(
    metric=catalogue("cluster")["adopted_by_096"],
    counts=(90, 81),
    of=(100, 82),
    baseline=0.5,
    candidate=0.5302,
    delta=Interval(0.0302, 0.0202, 0.0402),
    how="How it is split.",
    steps=[
        step("ticking", 0.020, 0.045, 0.001),
        step("forging", 0.010, 0.0102, 0.6),  # less than a hundredth of the largest
        step("fetching", 0.290, 0.300, 0.5),
        step("adopting", 0.180, 0.175, 0.02),
    ],
    first="ticking",
    shown=["ticking", "adopting"],
)
PLACES = OutlierPlaces(
    kind="host",
    unit="s",
    least=0.001,
    count=5,
    apart=[Apart(place="node-3", stage="adopting", baseline=0.1, candidate=0.13, beyond=0.025, p_adjusted=0.01)],
    names=[],
    groups=[],
    stages=[],
    differences=[],
)


def explanation(explained: Explained) -> Explanation:
    """That with one metric, one place that differs, and a change inside a region and one between two hosts."""
    nobody = cast("Any", None)  # no word is of a side
    found = [
        Change(stage="adopting", kind="region", places=["eu"], delta=Interval(0.02, 0.01, 0.03), p_adjusted=0.001),
        Change(stage="fetching", kind="hosts", places=["a", "b"], delta=Interval(-0.01, -0.02, 0.0), p_adjusted=0.04),
    ]
    return Explanation(
        bench="cluster",
        baseline=nobody,
        candidate=nobody,
        confidence=0.95,
        of="candidate",
        explained=[explained],
        unknown=[],
        changes=Changes(kind="host", group="region", unit="s", found=found),
        places=PLACES,
        worst=[],
    )


def rows(table: Block) -> list[list[str]]:
    assert isinstance(table, Table)
    return [[cell.text for cell in row] for row in table.rows]


def test_sentences_name_the_first_cause_and_what_else_is_beyond_and_within_chance_with_their_signs() -> None:
    said = [one.text for one in explained_in_words(explanation(EXPLAINED)) if isinstance(one, Paragraph)]
    assert said == [
        "What changed most: adopting in eu, +20.0 ms; then fetching between a and b, -10.0 ms.",
        "0.96 adoption: +30.2 ms. First cause: ticking (+25.0 ms). Also beyond chance: adopting -5.00 ms. Within chance: fetching +10.0 ms.",
        "Of 5 hosts node-3 (adopting +25.0 ms beyond it) differs from the rest.",
    ]
    none = explained_in_words(explanation(msgspec.structs.replace(EXPLAINED, first="", shown=["adopting"])))[1]
    assert isinstance(none, Paragraph)
    assert none.text == (
        "0.96 adoption: +30.2 ms. First cause: none is shown. Beyond chance: adopting -5.00 ms. Within chance: ticking +25.0 ms, fetching +10.0 ms."
    )


def test_each_figure_of_a_step_stands_in_its_own_column() -> None:
    _, table = step_tables(EXPLAINED, 0.95)
    assert rows(table) == [
        ["ticking", "20.00", "45.00", "+25.0", "+21.0 to +29.0", "0.001"],
        ["forging", "10.00", "10.20", "+0.200", "-3.80 to +4.20", "0.6"],
        ["fetching", "290.0", "300.0", "+10.0", "+6.00 to +14.0", "0.5"],
        ["adopting", "180.0", "175.0", "-5.00", "-9.00 to -1.00", "0.02"],
        ["all", "500.0", "530.2", "+30.2", "+20.2 to +40.2", ""],
    ]
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == [
        "step",
        "baseline",
        "candidate",
        "difference",
        "interval",
        "p adj.",
    ]
    assert table.title == "Steps of 0.96 adoption, ms"
    assert table.notes[1].startswith("Samples that are split: 90 of 100 and 81 of 82.")
    assert [rows(one) for one in place_table(PLACES)] == [[["node-3", "adopting", "100.0", "130.0", "+25.0", "0.01"]]]
