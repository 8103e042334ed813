"""From a comparison, from runs, or from published tables to a document."""

from collections.abc import Sequence

import numpy as np

from slotmark.compare import Comparison, Difference, Row, Summary, Verdict
from slotmark.metrics import Metric, catalogue, samples
from slotmark.metrics.published import PublishedTable
from slotmark.report.charts import figures
from slotmark.report.document import (
    SYMBOLS,
    Block,
    Cell,
    Column,
    Document,
    Doubts,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
)
from slotmark.report.numbers import interval, number, p_value, percent, ratio, ratio_interval
from slotmark.run import Manifest, Run

DIRECTION = {"higher": "higher is better", "lower": "lower is better"}


def comparison_document(comparison: Comparison) -> Document:
    """The report of a comparison; its first section is the verdicts in words."""
    names = [side.name for side in comparison.candidates]
    sections = [
        Section("Verdicts", _verdicts(comparison), brief=True),
        Section("Warnings", [Doubts(comparison.warnings)], brief=True),
        Section("Comparison", list(_setting_tables(comparison)), brief=True),
        Section(
            "Charts",
            [
                Figure(f"{row.metric.name}: {row.setting}" if row.setting else row.metric.name, _caption(row), spec)
                for row, spec in figures(comparison)
            ],
        ),
        Section("Every run", list(_sample_tables(comparison))),
        Section("Method", _method(comparison)),
        Section("Data dictionary", [_dictionary(comparison)]),
        Section("Manifest", _manifests(comparison)),
    ]
    title = f"{_listed(names)} against {comparison.baseline.name}"
    work = ", ".join(
        f"{name} {value}"
        for name, value in comparison.baseline.manifest.workload.items()
        if not name.startswith("digest") and len(value) < 30
    )
    return Document(
        title,
        f"{comparison.bench} bench; {work}",
        [section for section in sections if section.blocks and section.blocks != [Doubts([])]],
    )


def runs_document(runs: Sequence[Run]) -> Document:
    """What a session measured, in short: a table a setting, a row a run, a column a metric."""
    entries = catalogue(runs[0].manifest.bench)
    metrics = [metric for metric in entries.metrics if metric.short]
    found = {(run.name, metric.id): samples(run, metric.id) for run in runs for metric in metrics}
    settings = list(dict.fromkeys(setting for table in found.values() for setting in table.settings))
    tables: list[Block] = []
    for setting in settings:
        rows = []
        for run in runs:
            cells = [Cell(run.name)]
            for metric in metrics:
                values = found[run.name, metric.id].of(setting)
                cells.append(Cell(number(float(np.median(list(values.values())))) if values else "-"))
            if any(cell.text != "-" for cell in cells[1:]):
                rows.append(cells)
        tables.append(
            Table(
                f"{setting}, medians over {runs[0].manifest.parameters.get('rounds', '?')} rounds",
                [Column("", "left"), *(Column(metric.short) for metric in metrics)],
                rows,
            )
        )
    doubts = [warning for run in runs for warning in run.manifest.warnings]
    return Document(
        "Measured",
        "",
        [
            Section("", tables, brief=True),
            *([Section("Warnings", [Doubts(list(dict.fromkeys(doubts)))], brief=True)] if doubts else []),
        ],
    )


def published_document(tables: Sequence[PublishedTable]) -> Document:
    """Tables as the established report prints them."""
    blocks: list[Block] = [
        Table(
            table.title,
            [Column(title, "left" if place < table.labels else "right") for place, title in enumerate(table.columns)],
            [[Cell(text) for text in row] for row in table.rows],
            table.notes,
        )
        for table in tables
    ]
    return Document(
        "By the published method",
        "The established report's tables and formulas; slotmark's own method is the default.",
        [Section("", blocks, brief=True)],
    )


def _headed(metric: Metric) -> str:
    return f"{metric.name}, {metric.unit}" if metric.unit and metric.unit not in metric.name.lower() else metric.name


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _verdicts(comparison: Comparison) -> list[Block]:
    main = comparison.rows[0].metric if comparison.rows else None
    blocks: list[Block] = []
    for row in comparison.rows:
        if row.metric == main:
            blocks += [
                Paragraph(_sentence(comparison, row, place, difference), difference.verdict)
                for place, difference in enumerate(row.differences)
                if difference
            ]
    counts = dict.fromkeys(SYMBOLS, 0)
    for row in comparison.rows:
        for difference in row.differences:
            if difference is not None and difference.verdict is not None:
                counts[difference.verdict] += 1
    said = ", ".join(f"{SYMBOLS[verdict]} {count} {verdict}" for verdict, count in counts.items())
    return [*blocks, Paragraph(f"Over all tested metrics: {said}.")]


def _sentence(comparison: Comparison, row: Row, place: int, difference: Difference) -> str:
    candidate, where = comparison.candidates[place].name, f" ({row.setting})" if row.setting else ""
    metric = row.metric.name.lower()
    if difference.ratio is None or difference.verdict in (None, "inconclusive"):
        shown = f" (ratio {ratio_interval(difference.ratio)})" if difference.ratio else ""
        return f"{candidate}{where}: {metric}, inconclusive: {difference.reason}{shown}."
    span = f"{percent(comparison.confidence)} interval {ratio(difference.ratio.low)} to {ratio(difference.ratio.high)}"
    if difference.verdict == "equivalent":
        return f"{candidate}{where}: {metric} equivalent to {comparison.baseline.name}'s within {percent(difference.margin)} ({span})."
    return f"{candidate}{where}: {ratio(difference.ratio.estimate)} {comparison.baseline.name}'s {metric} ({span}): {difference.verdict}."


def _setting_tables(comparison: Comparison) -> Sequence[Block]:
    settings = list(dict.fromkeys(row.setting for row in comparison.rows))
    return [_setting_table(comparison, setting) for setting in settings]


def _setting_table(comparison: Comparison, setting: str) -> Table:
    rows = [row for row in comparison.rows if row.setting == setting and row.metric.chart != "timeline"]
    if not any(difference for row in rows for difference in row.differences):
        having = [place for place in range(len(comparison.sides)) if any(row.summaries[place] for row in rows)]
        columns = [Column("median", "left"), *(Column(comparison.sides[place].name) for place in having)]
        cells = [[_metric(row), *(_median(row.summaries[place]) for place in having)] for row in rows]
        return Table(
            setting, columns, cells, [f"Not compared: {comparison.baseline.name} has no such setting, or nobody else."]
        )
    columns = [
        Column("", "left"),
        Column("run", "left"),
        *map(Column, ("median", "ratio [interval]", "adj. p")),
        Column("verdict", "left"),
    ]
    return Table(setting, columns, [cells for row in rows for cells in _compared(comparison, row)])


def _metric(row: Row) -> Cell:
    return Cell(_headed(row.metric), remark=f"{row.metric.definition} {DIRECTION[row.metric.better].capitalize()}.")


def _compared(comparison: Comparison, row: Row) -> list[list[Cell]]:
    """A row a run: the baseline, then each candidate against it."""
    nothing = Cell("")
    rows = [[_metric(row), Cell(comparison.baseline.name), _median(row.summaries[0]), nothing, nothing, nothing]]
    for side, summary, difference in zip(comparison.candidates, row.summaries[1:], row.differences, strict=True):
        judged = [nothing, nothing, Cell("not compared")]
        if difference is not None:
            judged = [
                Cell(ratio_interval(difference.ratio) if difference.ratio else "-"),
                Cell("" if difference.p_adjusted is None else p_value(difference.p_adjusted, comparison.repetitions)),
                _verdict(difference.verdict, difference.reason),
            ]
        rows.append([nothing, Cell(side.name), _median(summary), *judged])
    return rows


def _median(summary: Summary | None) -> Cell:
    return (
        Cell("-")
        if summary is None
        else Cell(number(summary.median), remark=f"{summary.n} samples, interval {_interval(summary)}")
    )


def _interval(summary: Summary) -> str:
    return "-" if summary.median_interval is None else interval(summary.median_interval)


def _verdict(verdict: Verdict | None, reason: str) -> Cell:
    return Cell("", remark=reason) if verdict is None else Cell(f"{SYMBOLS[verdict]} {verdict}", verdict, reason)


def _caption(row: Row) -> str:
    unit = f" in {row.metric.unit}" if row.metric.unit else ""
    if row.metric.chart == "timeline":
        return f"{row.metric.definition} Thin: one invocation; bold: their median{unit}."
    return f"Every sample{unit}, {DIRECTION[row.metric.better]}. The mark is the median, the band its interval; hollow: more than 3 scaled MADs from the median."


def _sample_tables(comparison: Comparison) -> Sequence[Block]:
    columns = [
        Column("setting", "left"),
        Column("run", "left"),
        *map(Column, ("n", "median", "interval", "mean", "trimmed mean", "std. dev.", "min", "max")),
        Column("every sample, in order; * outlier", "left"),
    ]
    tables: dict[str, list[list[Cell]]] = {}
    for row in comparison.rows:
        if row.metric.chart == "timeline":
            continue
        for side, summary in zip(comparison.sides, row.summaries, strict=True):
            if summary is not None:
                far = set(summary.outliers)
                each = ", ".join(f"{number(value)}{'*' if key in far else ''}" for key, value in summary.samples)
                figures_ = (
                    summary.median,
                    None,
                    summary.mean,
                    summary.trimmed_mean,
                    summary.sd,
                    summary.minimum,
                    summary.maximum,
                )
                cells = [Cell(_interval(summary)) if value is None else Cell(number(value)) for value in figures_]
                tables.setdefault(_headed(row.metric), []).append(
                    [Cell(row.setting), Cell(side.name), Cell(str(summary.n)), *cells, Cell(each)]
                )
    return [Table(title, columns, rows, wide=True) for title, rows in tables.items()]


def _method(comparison: Comparison) -> list[Block]:
    paired = all(difference.paired for row in comparison.rows for difference in row.differences if difference)
    pairing = (
        "Samples are paired by their keys: the runs were measured in one session, interleaved in an order drawn at random."
        if paired
        else "Not all runs were measured in one session: where not, samples are taken as independent."
    )
    text = (
        f"{pairing} The ratio is the typical one of candidate over baseline (of 8 rounds or more, the geometric mean without the smallest and the largest tenth); its {percent(comparison.confidence)} interval and p-value come from a "
        f"studentised bootstrap with {comparison.repetitions:,} repetitions (seed {comparison.seed}). p-values are Holm-adjusted over the {comparison.tests} tests of this "
        "report. Better or worse: the interval excludes 1, the adjusted p-value is below "
        f"{1 - comparison.confidence:.2g}, and the ratio lies beyond the metric's margin. Equivalent: the whole interval lies within the margin. Inconclusive: neither. "
        "Ratios and intervals come from unrounded values. The unit of replication is the process run; outliers are marked, never dropped. docs/method.md says why."
    )
    return [Paragraph(text)]


def _dictionary(comparison: Comparison) -> Table:
    metrics = {row.metric.id: row.metric for row in comparison.rows}
    columns = [
        Column(title, "left") for title in ("metric", "id", "unit", "better", "margin", "definition", "as published")
    ]
    rows = [
        [
            Cell(metric.name),
            Cell(metric.id),
            Cell(metric.unit or "-"),
            Cell(metric.better),
            Cell(percent(metric.margin) if metric.tested else "not tested"),
            Cell(metric.definition),
            Cell(metric.published or "the same"),
        ]
        for metric in metrics.values()
    ]
    return Table("", columns, rows, wide=True)


def _manifests(comparison: Comparison) -> list[Block]:
    sides = comparison.sides
    listed = [dict(_facts(side.manifest)) for side in sides]
    names = list(dict.fromkeys(name for facts in listed for name in facts))
    rows = [[Cell(name), *(Cell(facts.get(name, "-")) for facts in listed)] for name in names]
    files = comparison.baseline.manifest.sources
    blocks: list[Block] = [
        Table("", [Column("", "left"), *(Column(side.name, "left") for side in sides)], rows, wide=True)
    ]
    if files:
        blocks.append(
            Facts(
                f"{len(files)} source files",
                [(file.path, f"{file.bytes:,} bytes, SHA-256 {file.sha256}") for file in files],
                wide=True,
            )
        )
    return blocks


def _facts(manifest: Manifest) -> list[tuple[str, str]]:
    target, machine = manifest.target, manifest.machine
    return [
        ("target", " ".join(filter(None, (target.name, target.version, target.commit)))),
        ("language", " ".join(filter(None, (target.language, target.toolchain))) or "-"),
        *manifest.workload.items(),
        *((name, _shown(value)) for name, value in manifest.parameters.items()),
        (
            "machine",
            f"{machine.cpu}, {machine.cores} cores, {machine.memory_bytes / 1e9:.1f} GB, governor {machine.governor}",
        ),
        ("system", f"{machine.system}, {machine.kernel}, {machine.virtualisation}"),
        ("load before", f"{machine.load:.2f}"),
        *manifest.versions.items(),
        ("session", manifest.session),
        ("started", manifest.started),
        ("ended", manifest.ended),
        ("tables", ", ".join(f"{name} ({rows:,} rows)" for name, rows in manifest.tables.items())),
    ]


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
