"""From a comparison or from runs to a document."""

from collections.abc import Sequence

import numpy as np

from slotmark.compare import Comparison, Difference, Row, Summary, Verdict, summarise_runs
from slotmark.metrics import Analysis, Filter, Metric, catalogue, doubts_of_analysis, facts_of_analysis, samples
from slotmark.numbers import interval, number, p_value, percent, ratio, ratio_interval
from slotmark.report.charts import CLIPPED, courses, figures
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
from slotmark.report.means import mean_tables, observations
from slotmark.report.provenance import dictionary, manifest_facts, manifests, work_done
from slotmark.run import Run

DIRECTION = {"higher": "higher is better", "lower": "lower is better"}


def comparison_document(comparison: Comparison, style: str = "modern") -> Document:
    """The report of a comparison; its first section is the verdicts in words.

    Args:
        comparison: What to show.
        style: How the means of runs are printed; see :func:`slotmark.report.means.mean_tables`.
    """
    names = [side.name for side in comparison.candidates]
    of_means = all(row.metric.statistic == "mean" for row in comparison.rows)
    sections = [
        Section("Observations", [*observations(comparison), _counts(comparison)], brief=True)
        if of_means
        else Section("Verdicts", [*_verdicts(comparison), _counts(comparison)], brief=True),
        Section("Warnings", [Doubts(comparison.warnings)], brief=True),
        Section("Comparison", [*mean_tables(comparison, style), *_setting_tables(comparison)], brief=True),
        Section(
            "Charts",
            [
                *(Figure(_titled(row), _caption(row), spec) for row, spec in figures(comparison)),
                *(
                    Figure(f"{_titled(row)} over the run", _course_caption(row), spec)
                    for row, spec in courses(comparison)
                ),
            ],
        ),
        Section("Distributions", list(_centile_tables(comparison))),
        Section("Every run", list(_sample_tables(comparison))),
        Section("Method", _method(comparison)),
        Section("Data dictionary", [dictionary(row.metric for row in comparison.rows)]),
        Section("Manifest", manifests(comparison.sides)),
    ]
    title = f"{_listed(names)} against {comparison.baseline.name}"
    return Document(
        title,
        work_done(comparison.baseline),
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


def run_document(run: Run, filters: Sequence[Filter] | None = None) -> Document:
    """One run by itself: what is known about it, and every metric."""
    tables: dict[str, list[list[Cell]]] = {}
    with Analysis(run, filters=filters) as analysis:
        said = [str(one) for one in analysis.filters] if analysis.catalogue.relations else []
        doubts = [*run.manifest.warnings, *doubts_of_analysis(analysis)]
        facts = [*manifest_facts(run.manifest), *facts_of_analysis(analysis)]
        for metric in analysis.catalogue.metrics:
            of_metric = analysis.samples(metric.id)
            for setting in of_metric.settings:
                one = summarise_runs([of_metric], setting)
                figures_ = (one.mean, one.sd, one.median, one.minimum, one.maximum)
                title = ": ".join(filter(None, (metric.section, setting)))
                cells = [Cell(_headed(metric)), Cell(f"{one.n:,}"), *(Cell(number(value)) for value in figures_)]
                tables.setdefault(title, []).append(cells)
    columns = [Column("", "left"), *map(Column, ("n", "mean", "std. dev.", "median", "min", "max"))]
    analysed = [Paragraph(f"Analysed are blocks and slots that pass: {', '.join(said)}.")] if said else []
    return Document(
        run.name,
        f"{run.manifest.bench} bench",
        [
            Section("Manifest", [Facts("", facts)], brief=True),
            Section("Warnings", [Doubts(doubts)], brief=True),
            Section(
                "Metrics", [*analysed, *(Table(title, columns, rows) for title, rows in tables.items())], brief=True
            ),
        ],
    )


def _headed(metric: Metric) -> str:
    told = metric.unit.lower() in metric.name.lower().replace(",", " ").split()
    return f"{metric.name}, {metric.unit}" if metric.unit and not told else metric.name


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
    return blocks


def _counts(comparison: Comparison) -> Paragraph:
    counts = dict.fromkeys(SYMBOLS, 0)
    for row in comparison.rows:
        for difference in row.differences:
            if difference is not None and difference.verdict is not None:
                counts[difference.verdict] += 1
    said = ", ".join(f"{SYMBOLS[verdict]} {count} {verdict}" for verdict, count in counts.items())
    return Paragraph(f"Over all tested metrics: {said}.")


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
    settings = list(dict.fromkeys(row.setting for row in comparison.rows if row.metric.statistic == "typical"))
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
                Cell(
                    ""
                    if difference.p_adjusted is None
                    else p_value(difference.p_adjusted, bound=difference.p_adjusted <= 2 / (comparison.repetitions + 1))
                ),
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


def _titled(row: Row) -> str:
    return f"{row.metric.name}: {row.setting}" if row.setting else row.metric.name


def _caption(row: Row) -> str:
    unit = f" in {row.metric.unit}" if row.metric.unit else ""
    if row.metric.chart == "cdf":
        band = " Shaded: from the lowest to the highest host." if any(one and one.band for one in row.summaries) else ""
        cut = f" The axis ends where {CLIPPED:.1%} of samples do." if row.metric.scale == "linear" else ""
        return f"{row.metric.definition} Share of samples up to each value.{band}{cut}"
    if row.metric.chart == "timeline":
        return f"{row.metric.definition} Thin: one invocation; bold: their median{unit}."
    return f"Every sample{unit}, {DIRECTION[row.metric.better]}. The mark is the median, the band its interval; hollow: more than 3 scaled MADs from the median."


def _course_caption(row: Row) -> str:
    along = {"slot": "slots, over all hosts", "block_no": "blocks, over all hosts"}.get(
        row.metric.grain[0], row.metric.grain[0]
    )
    return f"Means of up to 120 stretches of consecutive {along}."


def _sample_tables(comparison: Comparison) -> Sequence[Block]:
    columns = [
        Column("setting", "left"),
        Column("run", "left"),
        *map(Column, ("n", "median", "interval", "mean", "trimmed mean", "std. dev.", "min", "max")),
        Column("every sample, in order; * outlier", "left"),
    ]
    tables: dict[str, list[list[Cell]]] = {}
    for row in comparison.rows:
        if row.metric.chart == "timeline" or row.metric.statistic == "mean":
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


def _centile_tables(comparison: Comparison) -> Sequence[Block]:
    """The centiles of every distribution that is drawn, as numbers."""
    shown = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)
    rows = [
        [
            Cell(_headed(row.metric)),
            Cell(side.name),
            Cell(f"{summary.n:,}"),
            *(Cell(number(dict(summary.centiles)[centile])) for centile in shown),
        ]
        for row in comparison.rows
        for side, summary in zip(comparison.sides, row.summaries, strict=True)
        if summary and summary.centiles
    ]
    columns = [
        Column("metric", "left"),
        Column("run", "left"),
        Column("n"),
        *(Column(f"{centile:g}") for centile in shown),
    ]
    return [Table("Centiles", columns, rows, wide=True)] if rows else []


def _mean_method(comparison: Comparison) -> Paragraph:
    several = any(side.others for side in comparison.sides)
    filters = comparison.baseline.filters
    text = (
        "A metric's value is the arithmetic mean of its samples: one a block, a block and host, or a host and slot. "
        + (
            "Sides with two or more runs are compared by the means of their runs (Welch's t); "
            if several
            else "Samples of one run aren't independent of each other: "
        )
        + "consecutive blocks or slots are put together in up to 50 stretches, and stretches are resampled (a studentised block bootstrap, "
        f"{comparison.repetitions:,} repetitions, seed {comparison.seed}). p-values are Holm-adjusted over the {comparison.tests} tests of this report. "
        f"Better or worse: the {percent(comparison.confidence)} interval excludes no difference, the adjusted p-value is below {1 - comparison.confidence:.2g}, and the "
        "difference is larger than the metric's margin: a share of the baseline, or the least difference that matters, whichever is more. "
        "Equivalent: the whole interval lies within the margin. Inconclusive: neither. Differences and percentages come from unrounded means. "
        + (
            f"Analysed are blocks and slots that pass: {', '.join(filters)}."
            if filters
            else "All blocks of the chain and all slots are analysed."
        )
    )
    return Paragraph(text)


def _method(comparison: Comparison) -> list[Block]:
    if all(row.metric.statistic == "mean" for row in comparison.rows):
        return [_mean_method(comparison)]
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
