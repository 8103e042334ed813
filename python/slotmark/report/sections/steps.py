"""Causes of a difference: sentences, a waterfall of its steps, a heat map of places, timelines of the worst samples, and tables."""

from collections.abc import Sequence

import msgspec

from slotmark.compare.result import Comparison
from slotmark.compare.results.attribution import Attribution, Change, Changes, Explained, OutlierPlaces
from slotmark.compare.results.explanation import Explanation
from slotmark.metrics import catalogue
from slotmark.numbers import number, p_value, percent, readable, signed, signed_interval
from slotmark.report.document import Block, Cell, Figure, Paragraph, Section, Table, details, left, right
from slotmark.report.drawing import later
from slotmark.report.sections.block_changes import changed_in_words, changed_tables
from slotmark.report.sections.cells import headed, in_a_sentence
from slotmark.words import listed

_SHOWN = 3
"""The most steps of a kind that are named in a sentence."""

_NAMED_FROM = 0.01
"""The smallest share of the largest step's difference at which a step is named."""

_LONG = 40
"""The longest value beside a key that can be a title; longer ones, as hashes, can't."""


TITLE = "Where it comes from"


def attribution_in_short(comparison: Comparison) -> list[Block]:
    """Returns the causes of each candidate's difference: in words, as charts, and in folded tables; empty where the logs don't show them."""
    found = [one for one in comparison.details if isinstance(one, Attribution) and (one.explained or one.blocks)]
    blocks: list[Block] = []
    for one in found:
        begin = f"{one.of}: " if len(comparison.candidates) > 1 else ""
        named = f", {one.of}" if begin else ""
        said = [_changed(one.changes)] if one.changes and one.changes.found else []
        said += [_sentence(last) for last in one.explained[-1:]]
        said += changed_in_words(one.blocks) if one.blocks else []
        blocks += [Paragraph(f"{begin}{' '.join(said)}")]
        blocks += [_waterfall_figure(last, comparison.confidence, named) for last in one.explained[-1:]]
        blocks += place_charts(one, named)
        tables = [*change_table(one, comparison.confidence), *(_step_table(each) for each in one.explained)]
        tables += place_table(one.places) if one.places else []
        tables += changed_tables(one.blocks) if one.blocks else []
        blocks += [msgspec.structs.replace(table, title=f"{table.title}{named}", wide=True) for table in tables]
    return blocks


def worst_sections(found: Sequence[Attribution]) -> list[Section]:
    """The timelines of the worst samples of each candidate, in one section; none where there are none."""
    blocks = [block for one in found for block in _worst(one)]
    samples = list(dict.fromkeys(worst.sample for one in found for worst in one.worst))
    return [Section(f"Worst {listed([f'{sample}s' for sample in samples])}", blocks)] if blocks else []


def explained_in_words(explanation: Explanation) -> list[Block]:
    """Returns the largest changes and their places, then a sentence per metric: its difference, the step that makes most of it, and the next ones."""
    changes = explanation.changes
    said: list[Block] = [Paragraph(_changed(changes))] if changes and changes.found else []
    said += [Paragraph(_sentence(one)) for one in explanation.explained]
    if explanation.blocks:
        said.append(Paragraph(" ".join(changed_in_words(explanation.blocks))))
    if explanation.places:
        said.append(Paragraph(_where(explanation.places)))
    if explanation.unknown:
        said.append(
            Paragraph(
                f"Of {listed(explanation.unknown)} it isn't known where a difference comes from. {catalogue(explanation.bench).unexplained}".rstrip()
            )
        )
    return said


def change_table(attribution: Attribution, confidence: float) -> list[Table]:
    """The changes, with where each is; nothing where there are none."""
    if attribution.changes is None or not attribution.changes.found:
        return []
    scale, unit = readable(attribution.changes.unit)
    rows = [
        [
            Cell(one.stage),
            Cell(_place(one, attribution.changes)),
            Cell(signed(scale * one.delta.estimate)),
            Cell(signed_interval(one.delta, scale)),
            Cell(p_value(one.p_adjusted)),
        ]
        for one in attribution.changes.found
    ]
    columns = [*left("stage", "where"), *right("difference", "interval", "p adj.")]
    notes = [
        f"How much longer the stage takes there each time. Rows are in the order of how much of the change they explain; each is what is left after the rows "
        f"above it. Intervals are at {percent(confidence)}; p-values are adjusted over all stages and places."
    ]
    return [Table(f"What changed, {unit}", columns, rows, notes)]


def place_charts(attribution: Attribution, named: str = "") -> list[Figure]:
    """The heat map of differences by place; nothing where none is as large as matters."""
    places = attribution.places
    if places is None:
        return []
    apart = {one.stage for one in places.apart}
    matters = [
        column
        for column in range(len(places.stages))
        if places.stages[column] in apart or any(abs(row[column] or 0.0) >= places.least for row in places.differences)
    ]
    if not matters:
        return []
    scale, unit = readable(places.unit)
    grouped = (
        f"; {places.kind}s of one {attribution.changes.group} stand together"
        if attribution.changes and any(places.groups)
        else ""
    )
    ring = " A ring marks them." if places.apart else ""
    caption = (
        f"The candidate's mean minus the baseline's, {unit}, by {places.kind} and stage, with each sender separately{grouped}. Blank: too few "
        f"samples. Stages in which no "
        f"{places.kind} differs by {number(scale * places.least, 2)} {unit} are left out. {_where(places)}{ring}"
    )
    return [Figure(f"Difference by {places.kind}, {unit}{named}", caption, later("heat", places, matters, scale, unit))]


def _worst(attribution: Attribution) -> list[Block]:
    """The timelines of the worst samples, after how to read them."""
    if not attribution.worst:
        return []
    metric, sample, place = attribution.worst[0].metric, attribution.worst[0].sample, attribution.worst[0].place
    scale, unit = readable(metric.unit)
    stages = attribution.stages_of_worst
    figures = []
    for one in attribution.worst:
        short = ", ".join(f"{name} {value}" for name, value in one.about if len(value) <= _LONG) or str(one.key)
        title = f"{short[:1].upper()}{short[1:]}: {number(scale * one.value)} {unit}"
        about = "; ".join([f"{metric.grain[0]} {one.key}", *(f"{name} {value}" for name, value in one.about)])
        caption = f"{metric.name} of {one.run}: {about}. {place.capitalize()}s in the order in which they were done."
        figures.append(Figure(title, caption, later("stages", one, stages, scale, unit), small=True))
    split = next((one for one in attribution.explained if one.metric == metric and one.counts != one.of), None)
    among = f", of {split.counts[1]:,} of {split.of[1]:,} that are split" if split else ""
    how = f"The {sample}s of {attribution.of} with the worst {in_a_sentence(metric)}{among}: a row per {place}, a colour per stage. Before its first stage a {place} waited for others."
    return [Paragraph(how), *figures]


def place_table(places: OutlierPlaces) -> list[Table]:
    """The stages that changed at some place as they didn't at the others; nothing where there are none."""
    if not places.apart:
        return []
    scale, unit = readable(places.unit)
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
    columns = [*left(places.kind, "stage"), *right("baseline", "candidate", "beyond the rest", "p adj.")]
    notes = [
        f"By how much more a stage's mean changed there than in the middle of {places.count:,} {places.kind}s; p-values are adjusted over all "
        f"{places.kind}s and stages."
    ]
    return [Table(f"Stages by {places.kind}, {unit}", columns, rows, notes)]


def step_tables(one: Explained, confidence: float) -> list[Block]:
    """A metric's steps: the waterfall, and the figures that it shows."""
    return [_waterfall_figure(one, confidence), _step_table(one)]


def _step_table(one: Explained) -> Table:
    scale, unit = readable(one.metric.unit)
    rows = [
        [
            Cell(step.name),
            Cell(number(scale * step.baseline)),
            Cell(number(scale * step.candidate)),
            Cell(signed(scale * step.delta.estimate)),
            Cell(signed_interval(step.delta, scale)),
            Cell(p_value(step.p_adjusted)),
        ]
        for step in one.steps
    ]
    whole = [
        Cell("all"),
        Cell(number(scale * one.baseline)),
        Cell(number(scale * one.candidate)),
        Cell(signed(scale * one.delta.estimate)),
        Cell(signed_interval(one.delta, scale)),
        Cell(""),
    ]
    columns = [*left("step"), *right("baseline", "candidate", "difference", "interval"), *details("p adj.")]
    notes = [one.how]
    if one.counts != one.of:
        split = " and ".join(f"{count:,} of {of:,}" for count, of in zip(one.counts, one.of, strict=True))
        notes.append(
            f"Samples that are split: {split}. Of the others the logs don't have all steps, or there are so many that only some are split."
        )
    return Table(_steps_of(one, unit), columns, [*rows, whole], notes)


def _waterfall_figure(one: Explained, confidence: float, named: str = "") -> Figure:
    scale, unit = readable(one.metric.unit)
    caption = f"{one.metric.name}, {unit}: from the baseline's mean to the candidate's, step by step; whiskers are {percent(confidence)} intervals."
    return Figure(f"{_steps_of(one, unit)}{named}", caption, later("waterfall", one, scale, unit))


def _steps_of(one: Explained, unit: str) -> str:
    return f"Steps of {headed(one.metric, unit)}"


def _changed(changes: Changes) -> str:
    """Returns the largest changes and their places; there must be at least one."""
    scale, unit = readable(changes.unit)
    first, *others = [
        f"{one.stage} {_place(one, changes)}, {signed(scale * one.delta.estimate)} {unit}"
        for one in changes.found[:_SHOWN]
    ]
    then = f"; then {'; '.join(others)}" if others else ""
    return f"What changed most: {first}{then}."


def _place(one: Change, changes: Changes) -> str:
    """Returns the words for the place of a change."""
    if not one.places:
        return f"on all {changes.kind}s"
    if one.kind == "sender":
        return f"from {one.places[0]}"
    if len(one.places) == 1:
        return f"{'on' if one.kind == changes.kind else 'in'} {one.places[0]}"
    return f"inside {one.places[0]}" if len(set(one.places)) == 1 else f"between {listed(one.places)}"


def _where(places: OutlierPlaces) -> str:
    """Returns the places that differ from the rest, the largest difference of each first."""
    if not places.apart:
        return f"No {places.kind} of {places.count:,} differs from the rest."
    scale, unit = readable(places.unit)
    largest = {one.place: one for one in reversed(places.apart)}
    order = sorted(largest.values(), key=lambda one: -abs(one.beyond))
    named = [f"{one.place} ({one.stage} {signed(scale * one.beyond)} {unit} beyond it)" for one in order[:_SHOWN]]
    more = len(order) - len(named)
    verb = "differs" if len(order) == 1 else "differ"
    return f"Of {places.count:,} {places.kind}s {listed([*named, f'{more:,} more'] if more else named)} {verb} from the rest."


def _sentence(one: Explained) -> str:
    scale, unit = readable(one.metric.unit)

    def amount(delta: float) -> str:
        return f"{signed(scale * delta)} {unit}".strip()

    whole = f"{in_a_sentence(one.metric)}: {amount(one.delta.estimate)}"
    whole = whole[:1].upper() + whole[1:]
    least = _NAMED_FROM * max(abs(step.delta.estimate) for step in one.steps)
    order = sorted(
        (step for step in one.steps if abs(step.delta.estimate) >= least), key=lambda step: -abs(step.delta.estimate)
    )
    first = next((f"{step.name} ({amount(step.delta.estimate)})" for step in one.steps if step.name == one.first), "")
    others = [step for step in order if step.name != one.first]
    beyond, within = (
        ", ".join(
            f"{step.name} {amount(step.delta.estimate)}"
            for step in [step for step in others if (step.name in one.shown) == shown][:_SHOWN]
        )
        for shown in (True, False)
    )
    parts = [
        whole,
        f"First cause: {first or 'none is shown'}",
        *([f"{'Also beyond' if first else 'Beyond'} chance: {beyond}"] if beyond else []),
        *([f"Within chance: {within}"] if within else []),
    ]
    return f"{'. '.join(parts)}."
