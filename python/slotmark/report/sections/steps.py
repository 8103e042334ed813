"""Where a difference comes from: its steps in a table, as a waterfall, and in a sentence."""

from collections.abc import Callable
from functools import cache
from typing import Any

from slotmark.compare.explain import Explained, Explanation
from slotmark.compare.places import Places
from slotmark.numbers import number, p_value, percent, signed
from slotmark.report.document import Block, Cell, Column, Figure, Paragraph, Table
from slotmark.report.sections.cells import headed, in_a_sentence
from slotmark.words import listed

_SHOWN = 3
"""So many steps are named in the sentence."""

_UNITS = {"s": (1e3, "ms")}
"""A difference is read in a smaller unit than the metric."""


def explained_in_words(explanation: Explanation) -> list[Block]:
    """A sentence per metric: its difference, the step that makes most of it, and the next ones."""
    said: list[Block] = [Paragraph(_sentence(one)) for one in explanation.explained]
    if explanation.places:
        said.append(Paragraph(_where(explanation.places)))
    if explanation.unknown:
        said.append(
            Paragraph(
                f"Of {listed(explanation.unknown)} it isn't known where a difference comes from: the logs don't tell all steps. Log lines of "
                "headers and blocks must name their connection, on all hosts."
            )
        )
    return said


def place_table(places: Places) -> list[Block]:
    """The stages that changed at some place as they didn't at the others; nothing where there are none."""
    if not places.apart:
        return []
    scale, unit = _UNITS.get(places.unit, (1.0, places.unit))
    rows = [
        [
            Cell(one.place),
            Cell(one.stage),
            Cell(number(scale * one.baseline)),
            Cell(number(scale * one.candidate)),
            Cell(signed(scale * one.beyond)),
            Cell(p_value(one.p_adjusted)),
        ]
        for one in places.apart
    ]
    columns = [
        Column(places.kind, "left"),
        Column("stage", "left"),
        Column("baseline"),
        Column("candidate"),
        Column("beyond the rest"),
        Column("p adj."),
    ]
    notes = [
        f"By how much more a stage's mean changed there than in the middle of {places.count:,} {places.kind}s; p-values are adjusted over all "
        f"{places.kind}s and stages."
    ]
    return [Table(f"Stages by {places.kind}, {unit}", columns, rows, notes)]


def step_tables(one: Explained, confidence: float) -> list[Block]:
    """A metric's steps: the waterfall, and the figures that it shows."""
    scale, unit = _UNITS.get(one.metric.unit, (1.0, one.metric.unit))
    rows = [
        [
            Cell(step.name),
            Cell(number(scale * step.baseline)),
            Cell(number(scale * step.candidate)),
            Cell(signed(scale * step.delta.estimate)),
            Cell(f"{signed(scale * step.delta.low)} to {signed(scale * step.delta.high)}"),
            Cell(p_value(step.p_adjusted)),
        ]
        for step in one.steps
    ]
    whole = [
        Cell("all"),
        Cell(number(scale * one.baseline)),
        Cell(number(scale * one.candidate)),
        Cell(signed(scale * one.delta.estimate)),
        Cell(f"{signed(scale * one.delta.low)} to {signed(scale * one.delta.high)}"),
        Cell(""),
    ]
    columns = [
        Column("step", "left"),
        Column("baseline"),
        Column("candidate"),
        Column("difference"),
        Column("interval"),
        Column("p adj.", detail=True),
    ]
    split = " and ".join(f"{count:,} of {of:,}" for count, of in zip(one.counts, one.of, strict=True))
    notes = [
        "Steps on all hops together, along the path by which a sample came about; they add up to the line 'all'.",
        f"Samples that are split: {split}. The logs don't tell all steps of the others.",
    ]
    title = f"Steps of {headed(one.metric, unit)}"
    caption = f"{one.metric.name}, {unit}: from the baseline's mean to the candidate's, step by step; whiskers are {percent(confidence)} intervals."
    return [
        Figure(title, caption, _waterfall(one, scale, unit)),
        Table(title, columns, [*rows, whole], notes),
    ]


def _waterfall(one: Explained, scale: float, unit: str) -> Callable[[], dict[str, Any]]:
    @cache
    def draw() -> dict[str, Any]:
        from slotmark.report.charts import CHARTS  # noqa: PLC0415 - takes a second to load, and the terminal has no charts

        return CHARTS["waterfall"](one, scale, unit)

    return draw


def _where(places: Places) -> str:
    """Which places differ from the rest, the largest difference of each first."""
    if not places.apart:
        return f"No {places.kind} of {places.count:,} differs from the rest."
    scale, unit = _UNITS.get(places.unit, (1.0, places.unit))
    largest = {one.place: one for one in reversed(places.apart)}
    order = sorted(largest.values(), key=lambda one: -abs(one.beyond))
    named = [f"{one.place} ({one.stage} {signed(scale * one.beyond)} {unit} beyond it)" for one in order[:_SHOWN]]
    more = len(order) - len(named)
    verb = "differs" if len(order) == 1 else "differ"
    return f"Of {places.count:,} {places.kind}s {listed([*named, f'{more:,} more'] if more else named)} {verb} from the rest."


def _sentence(one: Explained) -> str:
    scale, unit = _UNITS.get(one.metric.unit, (1.0, one.metric.unit))

    def told(delta: float) -> str:
        return f"{signed(scale * delta)} {unit}".strip()

    whole = f"{in_a_sentence(one.metric)}: {told(one.delta.estimate)}"
    whole = whole[:1].upper() + whole[1:]
    if not one.first:
        return f"{whole}. No step differs beyond chance."
    order = sorted(one.steps, key=lambda step: (step.name != one.first, -abs(step.delta.estimate)))
    named = ", ".join(f"{step.name} {told(step.delta.estimate)}" for step in order[:_SHOWN])
    return f"{whole}. First cause: {one.first}. {named[:1].upper()}{named[1:]}."
