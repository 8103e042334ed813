"""The size that a run must have: the smallest difference that comparisons of such runs find, and the size that a wanted one takes."""

from slotmark.compare.plan import Plan, Wanted
from slotmark.compare.result import Planned, Reach
from slotmark.numbers import number, percent
from slotmark.report.document import Block, Cell, Column, Paragraph, Table
from slotmark.report.sections.cells import headed, in_a_sentence, readable

TITLE = "How large a run must be"

MOST = 10.0
"""Differences above this are alike to a reader: no such difference needs a plan."""


def plan_tables(planned: Planned) -> list[Table]:
    """The smallest differences: a table of the metrics that matter, and one of the others."""
    first = [one for one in planned.reaches if one.metric.rank != "informative"]
    others = [one for one in planned.reaches if one.metric.rank == "informative"]
    columns = [
        Column("metric", "left"),
        Column("mean", detail=True),
        Column("s.d. of a run"),
        Column("within it", detail=True),
        *(Column(f"{runs} run{'s' if runs > 1 else ''}") for runs in planned.runs),
        Column("margin"),
        Column("to ship"),
    ]
    made = []
    for title, reaches, wide in (
        ("Smallest difference that is found", first, False),
        ("The other metrics", others, True),
    ):
        if reaches:
            notes = _notes(planned) if not made else []
            made.append(Table(title, columns, [_cells(one, planned) for one in reaches], notes, wide=wide))
    return made


def plan_answers(plan: Plan) -> list[Block]:
    """A sentence per wanted difference."""
    return [Paragraph(_answer(one, plan)) for one in plan.wanted]


def between_runs(planned: Planned) -> str:
    """Returns a sentence on the known variation between runs."""
    if planned.repeated:
        return f"How much runs differ from each other is estimated from {planned.repeated} runs, and is part of what follows."
    return (
        "How much runs differ from each other is unknown: there is one run per side. What is said of several runs rests on what varies "
        "within one, so it is the least that can be expected; it is marked with ≥."
    )


def _answer(wanted: Wanted, plan: Plan) -> str:
    named = ", ".join(filter(None, (in_a_sentence(wanted.metric), wanted.part)))
    at_least = "" if plan.planned.repeated else "at least "
    several = (
        f"{at_least}{wanted.runs} runs per side as long as {'these' if plan.side.others else 'this'}"
        if wanted.runs is not None
        else "more runs than anybody makes"
    )
    alone = (
        f"; or one run per side of about {number(float(wanted.units), 2)} {wanted.over}, and then the verdict holds for those two runs only"
        if wanted.units is not None and wanted.over != "hosts"
        else ""
    )
    return f"To find a difference of {percent(wanted.change)} in {named}: {several}{alone}."


def _cells(one: Reach, planned: Planned) -> list[Cell]:
    scale, unit = readable(one.metric)
    name = headed(one.metric, unit)
    between = one.between if one.between is not None else one.within
    bound = "" if one.between is not None else "≥\N{NO-BREAK SPACE}"
    return [
        Cell(f"{name}: {one.part}" if one.part else name, remark=one.metric.definition),
        Cell(number(scale * one.mean)),
        Cell("-" if between is None else _share(between)),
        Cell("-" if one.within is None else _share(one.within)),
        *(
            Cell("-" if change is None else _change(change, bound if runs > 1 else ""))
            for runs, change in zip(planned.runs, one.smallest, strict=True)
        ),
        Cell(f"±\N{NO-BREAK SPACE}{_share(one.margin)}"),
        Cell("-" if one.to_ship is None else f"{bound}{one.to_ship:,}"),
    ]


def _change(change: float, bound: str) -> str:
    return f"{bound}{_share(change)}" if change < MOST else f">\N{NO-BREAK SPACE}{_share(MOST)}"


def _share(fraction: float) -> str:
    """A percentage that no narrow column breaks."""
    return percent(fraction).replace(" ", "\N{NO-BREAK SPACE}")


def _notes(planned: Planned) -> list[str]:
    return [
        f"Found: the adjusted p-value is below 5 % among {planned.tests} tests, four times in five. All shares are of the mean.",
        "To ship: runs per side that show an unchanged metric to be not worse beyond its margin, four times in five.",
        "A dash: no difference is found so often, or these runs don't show one.",
        "With one run per side a verdict holds for those two runs only.",
        "With one run per side, four times in five holds for blocks and slots that hardly resemble the ones before them and are hardly skewed. "
        "With up to 400 at an autocorrelation of 0.7 or with rare large values it is less, down to about one time in two: docs/decision.md.",
        "How much the same hosts differ from one run to the next shows from two runs on; with one, differences between hosts stand for it.",
    ]
