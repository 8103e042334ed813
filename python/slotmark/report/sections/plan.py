"""The size that a run must have: the smallest difference that comparisons of such runs find, and the size that a wanted one takes."""

from collections.abc import Sequence

from slotmark.compare.results.details import Planned, Reach
from slotmark.compare.results.plan import Effort, Plan, Shown, Wanted
from slotmark.compare.results.rows import FROM_RUNS, Design
from slotmark.numbers import duration, number, percent, readable
from slotmark.report.document import Block, Cell, Paragraph, Table, details, left, right
from slotmark.report.sections.cells import headed, in_a_sentence
from slotmark.words import listed

TITLE = "How large a run must be"

MOST = 10.0
"""Differences above this are alike to a reader: no such difference needs a plan."""


def plan_tables(planned: Planned) -> list[Table]:
    """The smallest differences: a table of the metrics that matter, and one of the others."""
    first = [one for one in planned.reaches if one.metric.rank != "informative"]
    others = [one for one in planned.reaches if one.metric.rank == "informative"]
    columns = [
        *left("metric"),
        *details("mean"),
        *right("s.d. of a run"),
        *details("within it"),
        *right(*(f"{runs} run{'s' if runs > 1 else ''}" for runs in planned.runs), "margin", "to ship"),
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
    """Returns the effort of a decision by each design, in a sentence and metric by metric, and a sentence per wanted difference."""
    return [
        *([Paragraph(_decision(plan))] if plan.decision else []),
        *([_shown(plan.shown)] if plan.shown else []),
        *(Paragraph(_answer(one)) for one in plan.wanted),
        *(Paragraph(f"{_title(one.design)}: not known; {one.remedy}.") for one in plan.unknown),
    ]


def efforts_in_words(efforts: Sequence[Effort]) -> str:
    """Returns efforts in words: ``19 runs per side (26 days), 6 paired rounds (8 h) or 4 mixed rounds (2 h)``."""
    enough = listed([_effort(one, one.count) for one in efforts if one.count is not None], "or")
    beyond = listed([one.design for one in efforts if one.count is None], "or")
    return "; ".join(filter(None, (enough, beyond and f"no number of {beyond} that was tried is enough")))


def between_runs(planned: Planned) -> str:
    """Returns a sentence on the known variation between runs."""
    before = listed(list(dict.fromkeys(filter(None, (_before(one.source) for one in planned.reaches)))))
    runs = f"{planned.repeated} runs" if planned.repeated else ""
    if runs or before:
        words = (
            f"estimated from {runs}"
            if not before
            else f"estimated from {runs}, and from {before}"
            if runs
            else f"taken from {before}"
        )
        return f"How much runs differ from each other is {words}, and is included in these figures."
    return (
        "How much runs differ from each other is unknown: there is one run per side. Figures for several runs come from variation "
        "within one run; they are lower bounds and are marked with ≥."
    )


def _before(source: str) -> str:
    """The name of what was known before the runs; empty where nothing was."""
    return source.removeprefix(FROM_RUNS).removeprefix(" and ")


def _decision(plan: Plan) -> str:
    return f"A decision by {plan.policy}, where nothing is worse: {efforts_in_words(plan.decision)}."


def _shown(shown: Sequence[Shown]) -> Table:
    """A row per decisive metric, a column per design."""
    designs: list[Design] = list(dict.fromkeys(effort.design for one in shown for effort in one.efforts))
    rows = []
    for one in shown:
        cells: dict[Design, Cell] = {effort.design: Cell(_in_a_cell(effort)) for effort in one.efforts}
        name = f"{one.metric.name}: {one.part}" if one.part else one.metric.name
        margin = Cell(f"±\N{NO-BREAK SPACE}{_share(one.margin)}")
        rows.append(
            [Cell(name, remark=one.metric.definition), margin, *(cells.get(design, Cell("-")) for design in designs)]
        )
    columns = [*left("decisive metric"), *right("margin", *(_title(design).lower() for design in designs))]
    notes = [
        "With this number, four comparisons in five show that an unchanged metric isn't worse beyond its margin (98 % interval).",
        *(
            ["A dash: the design doesn't show that metric."]
            if any(cell.text == "-" for row in rows for cell in row)
            else []
        ),
    ]
    return Table("To ship", columns, rows, notes)


def _title(design: Design) -> str:
    return "Runs per side" if design == "runs" else design.capitalize()


def _in_a_cell(effort: Effort) -> str:
    if effort.count is None:
        return "too many"
    bound = "≥\N{NO-BREAK SPACE}" if effort.at_least else ""
    return f"{bound}{effort.count:,}{_time(effort)}"


def _time(effort: Effort) -> str:
    return "" if effort.takes_s is None else f" ({duration(effort.takes_s)})".replace(" ", "\N{NO-BREAK SPACE}")


def _effort(effort: Effort, count: int) -> str:
    what = effort.design if count > 1 else effort.design.removesuffix("s")
    side = " per side" if effort.design == "runs" else ""
    return f"{'at least ' if effort.at_least else ''}{count:,} {what}{side}{_time(effort)}"


def _answer(wanted: Wanted) -> str:
    named = ", ".join(filter(None, (in_a_sentence(wanted.metric), wanted.part)))
    alone = (
        f"; or one run per side of about {number(float(wanted.units), 2)} {wanted.over}, and then the verdict holds for those two runs only"
        if wanted.units is not None
        else ""
    )
    return f"To find a difference of {percent(wanted.change)} in {named}: {efforts_in_words(wanted.efforts)}{alone}."


def _cells(one: Reach, planned: Planned) -> list[Cell]:
    scale, unit = readable(one.metric.unit)
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
        "To ship: runs per side with which four comparisons in five show that an unchanged metric isn't worse beyond its margin.",
        "A dash: no difference is found four times in five, or these runs don't show one.",
        "With one run per side a verdict is valid for those two runs only.",
        "With one run per side, four times in five requires samples with little autocorrelation and skewness. "
        "With up to 400 samples and an autocorrelation of 0.7, or with rare large values, it is less, down to about one time in two: docs/decision.md.",
        "The variation of a machine between runs is known from two runs on; with one, differences between machines are used instead.",
    ]
