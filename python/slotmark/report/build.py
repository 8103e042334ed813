"""From a comparison or from runs to a document: which sections a report has, and in which order."""

import re
from collections.abc import Sequence

import msgspec

from slotmark.compare.result import Comparison, Side, by_words, warnings_of_sides
from slotmark.compare.results.attribution import Attribution
from slotmark.compare.results.decision import Answer
from slotmark.compare.results.details import Blocks, Planned, Swept
from slotmark.compare.results.explanation import Explanation
from slotmark.compare.results.growth import Growth
from slotmark.compare.results.plan import Plan
from slotmark.compare.results.release import Released, ReleasePlan
from slotmark.compare.results.shown import ShownRun, ShownSession
from slotmark.compare.results.spread import Measured
from slotmark.metrics import catalogue
from slotmark.numbers import number, readable
from slotmark.report.document import Block, Cell, Document, Facts, Paragraph, Section, Table, Warnings, left, right
from slotmark.report.sections.block_changes import changed_tables
from slotmark.report.sections.blocks import (
    block_tables,
    design_tables,
    factor_tables,
    part_tables,
    quantile_tables,
    rank_tables,
)
from slotmark.report.sections.cells import condition_notes, headed
from slotmark.report.sections.charts import charts
from slotmark.report.sections.decision import first_screen
from slotmark.report.sections.dictionary import dictionary
from slotmark.report.sections.growth import growth_answers, growth_charts, growth_tables
from slotmark.report.sections.manifest import manifest_facts, manifests, sources, work_done
from slotmark.report.sections.means import centile_tables, mean_tables
from slotmark.report.sections.method import method
from slotmark.report.sections.plan import TITLE as PLAN_TITLE
from slotmark.report.sections.plan import between_runs, plan_answers, plan_tables
from slotmark.report.sections.ranking import ranked
from slotmark.report.sections.release import part_of, plan_blocks, release_blocks
from slotmark.report.sections.seeds import forecast_tables, seed_answer, seed_rows, seed_tables, sweep_tables, value_of
from slotmark.report.sections.short import in_short
from slotmark.report.sections.spread import spread_tables
from slotmark.report.sections.steps import TITLE as ATTRIBUTION_TITLE
from slotmark.report.sections.steps import (
    attribution_in_short,
    change_table,
    explained_in_words,
    place_charts,
    place_table,
    step_tables,
    worst_sections,
)
from slotmark.report.sections.typical import sample_tables, typical_tables
from slotmark.report.sections.verdicts import verdicts
from slotmark.run import title_with_origin
from slotmark.verdict import Verdict
from slotmark.versions import slotmark_version
from slotmark.warnings import Warning
from slotmark.words import listed

MANY_PARTS = 20
"""Above this many parts, a run by itself is shown with a line per part."""

_INTERNAL = ("session", "digest")
"""Beginnings of the names of facts that only slotmark reads: they decide which runs may be paired, and show that runs did the same."""

BY_ROUND = "by round"
"""The end of a metric's short name where its samples are ratios within one round."""

NEUTRAL = "NEUTRAL"
"""Begins the title of a comment that decides nothing."""

LIKE: dict[Answer, Verdict] = {"ship": Verdict.BETTER, "hold": Verdict.WORSE, "run again": Verdict.UNDECIDED}
"""The verdict that a decision looks like."""


def comparison_document(comparison: Comparison, style: str = "modern") -> Document:
    """The report of a comparison; its title is the decision or the ranking, where there is one, and its first section what was found.

    Args:
        comparison: The comparison to show.
        style: How the means of runs are printed; see :func:`slotmark.report.sections.means.mean_tables`.
    """
    blocks = next((one for one in comparison.details if isinstance(one, Blocks)), None)
    swept = next((one for one in comparison.details if isinstance(one, Swept)), None)
    planned = next((one for one in comparison.details if isinstance(one, Planned)), None)
    seeds = bool(seed_rows(comparison))
    tables: list[Block] = [
        *mean_tables(comparison, style),
        *typical_tables(comparison),
        *block_tables(comparison),
        *(sweep_tables(comparison, swept) if swept else seed_tables(comparison) if seeds else []),
    ]
    if not swept:  # its tables have no verdicts
        tables += map(Paragraph, condition_notes(one for row in comparison.rows for one in row.differences))
    decided = comparison.decision
    # What was found in full stands where the first screen has it in short: below the tables.
    found_in_full = msgspec.structs.replace(verdicts(comparison), folded=decided is not None, brief=decided is None)
    sections = [
        Section("Decision", first_screen(comparison, decided) if decided else [], brief=True),
        Section("Ranking", ranked(comparison), brief=True),
        Section("Answer", list(seed_answer(comparison)) if seeds and not swept else [], brief=True),
        *([] if decided else [found_in_full]),
        _warned(comparison.all_warnings),
        Section("Prediction" if seeds else "Comparison", tables, brief=True),
        Section("Forecast", forecast_tables(comparison), brief=True),
        *([found_in_full] if decided else []),
        Section(ATTRIBUTION_TITLE, attribution_in_short(comparison), brief=True),
        Section("Kinds of blocks", list(part_tables(comparison))),
        Section("Factors", list(factor_tables(comparison, blocks)) if blocks else [], brief=True),
        *worst_sections([one for one in comparison.details if isinstance(one, Attribution)]),
        Section("Charts", charts(comparison)),
        Section("Quantiles", list(quantile_tables(comparison, blocks)) if blocks else []),
        Section("Ranks", list(rank_tables(comparison, blocks)) if blocks else []),
        Section("Design", list(design_tables(comparison, blocks)) if blocks else [], brief=True),
        Section(PLAN_TITLE, [Paragraph(between_runs(planned)), *plan_tables(planned)] if planned else [], folded=True),
        Section("Distributions", list(centile_tables(comparison))),
        Section("Every run", list(sample_tables(comparison))),
        Section("Method", method(comparison), folded=True),
        Section("Data dictionary", [dictionary(row.metric for row in comparison.rows)]),
        Section("Manifest", manifests(comparison.sides)),
    ]
    compared = title_with_origin(
        _title(comparison, swept), (manifest for side in comparison.sides for manifest in side.manifests)
    )
    work = work_done(comparison.baseline)
    title, subtitle = (comparison.line, f"{compared}; {work}") if comparison.line else (compared, work)
    verdict = LIKE[decided.answer] if decided else None
    sections = [section for section in sections if section.blocks]
    return Document(
        title,
        f"{subtitle}; report by slotmark {slotmark_version()}",
        sections,
        verdict,
        sources(comparison.sides),
        in_short(comparison, sections),
    )


def comment_document(comparison: Comparison, note: str = "", unlike: Sequence[str] = ()) -> Document:
    """Returns a comparison as a comment on a change shows it: neutral where machines were unlike.

    Args:
        comparison: The comparison.
        note: How the baseline was chosen, in words.
        unlike: What the machines differ in (:func:`slotmark.compare.matching.alike.unlike_machines`).
    """
    whole = comparison_document(comparison)
    short = in_short(comparison, whole.sections, note, unlike)
    if not unlike:
        return msgspec.structs.replace(whole, short=short)
    title = f"{NEUTRAL} {listed([side.name for side in comparison.candidates])}: not measured on the machine of {comparison.baseline.name}"
    return msgspec.structs.replace(whole, title=title, verdict=Verdict.UNDECIDED, short=short)


def release_document(released: Released) -> Document:
    """Returns the report of a release: a row per comparison, and behind it each comparison's own report."""
    behind = [
        part_of(one, comparison_document(one.comparison), LIKE)
        for one in released.comparisons
        if one.comparison is not None
    ]
    count = len(released.comparisons)
    return Document(
        released.line,
        f"{count} comparison{'s' if count > 1 else ''}; report by slotmark {slotmark_version()}",
        [
            Section("Release", release_blocks(released, LIKE), brief=True),
            *(section for document in behind for section in document.sections),
        ],
        LIKE[released.answer],
        [source for document in behind for source in document.sources],
    )


def release_plan_document(planned: ReleasePlan) -> Document:
    """Returns what a decision about a release costs, as a document."""
    return Document(
        f"What a decision about {planned.title} costs",
        f"report by slotmark {slotmark_version()}",
        [Section("Release", plan_blocks(planned), brief=True)],
    )


def session_document(shown: ShownSession) -> Document:
    """Returns the results of a session in short: a table per part, a line per run, a column per metric."""
    tables: list[Block] = []
    item = catalogue(shown.manifests[0].bench).key(shown.metrics[0].grain[0]).item if shown.metrics else ""
    for part, medians in shown.medians.items():
        lines = []
        for name, manifest, of_run in zip(shown.names, shown.manifests, medians, strict=True):
            cells = ["-" if one is None else number(one) for one in of_run]
            failed = catalogue(manifest.bench).kinds_on("failed")
            if any(warning.kind in failed and warning.subject == part for warning in manifest.warnings):
                cells[0] = "failed"
            if set(cells) != {"-"}:
                lines.append([Cell(name), *map(Cell, cells)])
        times = shown.manifests[0].parameters.get(f"{item}s")
        over = f"medians over {item}s" if times is None else f"medians over {times} {item}s"
        title = f"{part}, {over}" if part else over
        tables.append(Table(title, [*left(""), *right(*(metric.short for metric in shown.metrics))], lines))
    paired = [metric.short for metric in shown.metrics if metric.short.endswith(BY_ROUND)]
    if paired:
        note = f"{listed(paired)}: the median of each round's own share, which need not be the quotient of two medians above."
        tables.append(Paragraph(note))
    warnings = list(dict.fromkeys(warning for manifest in shown.manifests for warning in manifest.warnings))
    warned = _warned(warnings)
    return Document("Measured", "", [Section("", tables, brief=True), *([warned] if warned.blocks else [])])


def plan_document(plan: Plan) -> Document:
    """Returns the report of a plan: what a decision takes by each design, and the differences that comparisons of such runs find."""
    planned = plan.planned
    metrics = [one.metric for one in planned.reaches] if planned else [one.metric for one in plan.shown]
    return _of_sides(
        f"Differences that runs like {listed([side.name for side in plan.sides])} can find",
        work_done(plan.sides[0]),
        plan.sides,
        Section("Answer", plan_answers(plan), brief=True),
        _warned(by_words([*plan.warnings, *warnings_of_sides(plan.sides)])),
        Section(PLAN_TITLE, [Paragraph(between_runs(planned)), *plan_tables(planned)] if planned else [], brief=True),
        Section("Data dictionary", [dictionary(metrics)]),
    )


def spread_document(found: Measured) -> Document:
    """Returns a report on how much runs of one build differ."""
    table = found.table
    return _of_sides(
        f"How much runs of one build differ: {table.name}",
        f"{table.known_from}; {work_done(found.sides[0])}",
        found.sides,
        Section("Spread", spread_tables(found), brief=True),
        _warned(found.warnings),
    )


def growth_document(growth: Growth) -> Document:
    """Returns a report on how metrics change with the size of the runs' work."""
    sizes = f"{growth.sizes[0]:,} to {growth.sizes[-1]:,} {growth.along}"
    return _of_sides(
        f"{listed(growth.targets)} by {growth.along}",
        f"{growth.bench} bench; {sizes}",
        growth.sides,
        Section("Answer", growth_answers(growth), brief=True),
        _warned(by_words(warnings_of_sides(growth.sides))),
        Section("Charts", growth_charts(growth)),
        Section("By size", growth_tables(growth), brief=True),
        Section("Data dictionary", [dictionary(one.metric for one in growth.curves)]),
    )


def explanation_document(explanation: Explanation) -> Document:
    """Returns a report on the causes of the differences between two sides."""
    sides = [explanation.baseline, explanation.candidate]
    where = [
        *change_table(explanation, explanation.confidence),
        *place_charts(explanation),
        *(place_table(explanation.places) if explanation.places else []),
        *(changed_tables(explanation.blocks) if explanation.blocks else []),
    ]
    return _of_sides(
        f"Where {explanation.candidate.name} differs from {explanation.baseline.name}",
        work_done(explanation.baseline),
        sides,
        Section("Answer", explained_in_words(explanation), brief=True),
        _warned(by_words(warnings_of_sides(sides))),
        *(
            Section(one.metric.name, step_tables(one, explanation.confidence), brief=True)
            for one in explanation.explained
        ),
        Section("Where", where, brief=True),
        *worst_sections([explanation]),
        Section("Data dictionary", [dictionary(one.metric for one in explanation.explained)]),
    )


def _of_sides(title: str, subtitle: str, sides: Sequence[Side], *sections: Section) -> Document:
    """A report on the runs of sides: their origin stands behind the title, their manifests below the sections that hold anything."""
    return Document(
        title_with_origin(title, (manifest for side in sides for manifest in side.manifests)),
        subtitle,
        [section for section in (*sections, Section("Manifest", manifests(sides))) if section.blocks],
        sources=sources(sides),
    )


def _warned(found: Sequence[Warning]) -> Section:
    """The section of warnings; it holds nothing where there are none."""
    return Section("Warnings", [Warnings([*found])] if found else [], brief=True)


def run_document(run: ShownRun) -> Document:
    """Returns a report on one run by itself: its manifest, its warnings, and every metric; of many parts, the metrics that sessions show, with a line per part."""
    parts = {part for _, part, _ in run.rows}
    table = _line_per_part(run) if len(parts) > MANY_PARTS else _line_per_metric(run)
    facts = dict([*manifest_facts(run.manifest), *run.facts])
    shown = [(name, value) for name, value in facts.items() if value != "-" and not name.startswith(_INTERNAL)]
    named = [Paragraph(catalogue(run.manifest.bench).analysed_in_words(run.analysed))] if run.analysed else []
    missing = [Paragraph(f"Not recorded: {', '.join(one.name for one in run.unrecorded)}.")] if run.unrecorded else []
    sections = [
        Section("Manifest", [Facts("", shown)], brief=True),
        _warned(run.warnings),
        Section("Metrics", [*named, table, *missing], brief=True),
    ]
    title = title_with_origin(run.name, [run.manifest])
    return Document(title, f"{run.manifest.bench} bench", [section for section in sections if section.blocks])


def _line_per_metric(run: ShownRun) -> Table:
    lines: list[tuple[str, list[Cell]]] = []
    for metric, part, one in run.rows:
        scale, unit = readable(metric.unit)
        figures = (one.mean, one.sd, one.median, one.minimum, one.maximum)
        cells = [Cell(headed(metric, unit)), Cell(f"{one.n:,}"), *(Cell(number(scale * one)) for one in figures)]
        lines.append((part, cells))
    parted = any(part for part, _ in lines)
    columns = [*left("metric"), *right("n", "mean", "std. dev.", "median", "min", "max")]
    return Table(
        "",
        [*(left("part") if parted else []), *columns],
        [[*([Cell(part or "all")] if parted else []), *cells] for part, cells in lines],
    )


def _line_per_part(run: ShownRun) -> Table:
    metrics = list({metric.id: metric for metric, _, _ in run.rows if metric.short}.values())
    found = {(metric.id, part): one for metric, part, one in run.rows}
    lines = []
    for part in sorted({part for _, part, _ in run.rows}, key=_by_numbers):
        there = [found.get((metric.id, part)) for metric in metrics]
        means = [one and readable(metric.unit)[0] * one.mean for metric, one in zip(metrics, there, strict=True)]
        counts = [one.n for one in there if one]
        cells = [f"{max(counts, default=0):,}", *("-" if one is None else number(one) for one in means)]
        lines.append([Cell(part or "all"), *map(Cell, cells)])
    heads = [f"{metric.short}, {unit}" if (unit := readable(metric.unit)[1]) else metric.short for metric in metrics]
    return Table("means; slotmark samples has all", [*left("part"), *right("n", *heads)], lines)


def _by_numbers(text: str) -> tuple[list[str | float], str]:
    """A key that sorts texts by the numbers in them; texts and numbers take turns, beginning with a text."""
    parts = re.split(r"([0-9]+(?:[.][0-9]+)?)", text)
    return [float(part) if place % 2 else part for place, part in enumerate(parts)], text


def _title(comparison: Comparison, swept: Swept | None) -> str:
    if swept:
        ends = f"{value_of(swept, 0)}{swept.unit} to {value_of(swept, -1)}{swept.unit}"
        return f"{swept.parameter} from {ends}"
    candidates = [side.name for side in comparison.candidates]
    return f"{listed(candidates)} against {comparison.baseline.name}" if candidates else comparison.baseline.name
