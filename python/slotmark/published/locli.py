"""The tables of locli, the tool of the Cardano performance team: of each metric every run's mean, and how it differs from the first run's."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

import msgspec
import numpy as np

from slotmark.compare.results.rows import Row, Summary
from slotmark.compare.summary import summarise_runs
from slotmark.metrics import Analysis, Filter, Metric, Samples
from slotmark.published.locli_manifest import compared_in_words, manifest_table
from slotmark.published.report import Printed, PublishedCell, PublishedTable, words
from slotmark.published.styles import STYLES, Style
from slotmark.run import Run
from slotmark.words import listed

LOWEST_HOSTS = 29
"""The average of a host metric is taken over this many hosts, those with the lowest means: as many as there are centiles."""

SECTIONS = ("Resource usage", "Anomaly control", "Forging", "Individual peer propagation", "End-to-end propagation")
"""The tables of the published reports."""

_DRAWN_ONLY = ("cdfSpanLensCpuEpoch",)
"""A field of these sections of which the reports have a chart and no row."""


class PublishedMean(msgspec.Struct, frozen=True):
    """One row of a published table.

    Attributes:
        metric: The catalogue's entry.
        means: One per run, unrounded; None where a run has no sample.
        samples: How many samples each run has.
        summaries: Summaries of them, with centiles where the metric is drawn as a distribution.
    """

    metric: Metric
    means: list[float | None]
    samples: list[int]
    summaries: list[Summary | None]

    @property
    def recorded(self) -> bool:
        """Returns whether any run's nodes recorded it; some metrics are 0 throughout where they do not."""
        return not self.metric.zero_unrecorded or any(one and one.maximum > 0 for one in self.summaries)


def printed(sides: Sequence[Mapping[str, Run]], filters: Sequence[Filter] | None, style: str) -> Printed:
    """The parts of the reports; a run of any side has columns of its own, and the first run is the reference of all."""
    runs = {name: run for side in sides for name, run in side.items()}
    with ExitStack() as stack:
        analyses = [stack.enter_context(Analysis(run, filters=filters, published=True)) for run in runs.values()]
        rows = [row for row in _rows(analyses) if row.recorded]
        manifest = manifest_table(list(runs), analyses)
    first, *others = runs
    workload = runs[first].manifest.workload.get("workload", "")
    return Printed(
        said=f"The tables and formulas of locli, printed as its {style} reports do",
        title=f"{listed(others)} against {first}{f', {workload} workload' if workload else ''}, by the published method",
        compared=compared_in_words(runs),
        manifest=manifest,
        tables=list(_tables(list(runs), [row for row in rows if _in_tables(row.metric)], style)),
        charted=[
            Row(metric=row.metric, part="", quantity="mean", summaries=row.summaries, differences=[])
            for row in rows
            if row.metric.chart == "cdf"
        ],
        metrics=[row.metric for row in rows],
    )


def _in_tables(metric: Metric) -> bool:
    return metric.section in SECTIONS and metric.locli not in _DRAWN_ONLY


def _rows(analyses: Sequence[Analysis]) -> list[PublishedMean]:
    """A row per metric that locli has, also of those that are only drawn."""
    metrics = [metric for metric in analyses[0].catalogue.metrics if metric.locli]
    hosts = [one.query("SELECT host FROM hosts ORDER BY host")["host"].to_pylist() for one in analyses]
    rows = []
    for metric in metrics:
        found = [analysis.samples(metric.id) for analysis in analyses]
        rows.append(
            PublishedMean(
                metric,
                [_mean(samples, of_run) for samples, of_run in zip(found, hosts, strict=True)],
                [samples.table.num_rows for samples in found],
                [summarise_runs([samples], "") if samples.parts else None for samples in found],
            )
        )
    return rows


def _mean(samples: Samples, hosts: Sequence[str]) -> float | None:
    """The average that is printed: of all samples, or for metrics of hosts and slots that of the lowest hosts' averages."""
    values = samples.values("")
    if samples.metric.grain != ("slot", "host"):
        return float(values.mean()) if values.size else None
    of = samples.within("")["host"].combine_chunks().dictionary_encode()
    codes, names = of.indices.to_numpy(zero_copy_only=False), of.dictionary.to_pylist()
    sums, counts = np.bincount(codes, weights=values, minlength=len(names)), np.bincount(codes, minlength=len(names))
    of_hosts = zip(names, sums.tolist(), counts.tolist(), strict=True)
    means = {name: total / count for name, total, count in of_hosts if count}  # the names are those of all hosts
    if samples.metric.relation == "busy_spans":
        means = {host: means.get(host, 0.0) for host in hosts}  # a host without a stretch has stretches of length 0
    return float(np.mean(sorted(means.values())[:LOWEST_HOSTS])) if means else None


def _tables(names: Sequence[str], rows: Sequence[PublishedMean], style: str) -> Iterator[PublishedTable]:
    by = STYLES[style]
    others = [title for name in names[1:] for title in (name, "Δ", "Δ%")]
    for section in dict.fromkeys(row.metric.section for row in rows):
        inside = [row for row in rows if row.metric.section == section]
        cells = [[PublishedCell(headed(row.metric, by)), *_cells(row, by)] for row in inside]
        counts = [PublishedCell(text, count) for count in inside[0].samples if (text := by.count(count)) is not None]
        if counts:
            of_others = [cell for count in counts[1:] for cell in (count, *words("", ""))]
            cells.append([PublishedCell("Sample count"), counts[0], *of_others])
        yield PublishedTable(section, ["", names[0], *others], cells, labels=1)


def headed(metric: Metric, by: Style) -> str:
    """Returns the label of a metric in a style."""
    own = f"{metric.name}, {metric.unit}" if metric.unit else metric.name
    return by.LABELS.get(metric.locli, own)


def _cells(row: PublishedMean, by: Style) -> Iterator[PublishedCell]:
    width, base = row.metric.width, row.means[0]
    for place, mean in enumerate(row.means):
        yield PublishedCell("-") if mean is None else PublishedCell(by.cell(mean, width), mean)
        if place and (mean is None or base is None):
            yield from words("-", "-")
        elif place and mean is not None and base is not None:
            yield PublishedCell(by.delta(base, mean, width), mean - base)
            yield PublishedCell(by.percent(base, mean, width), 100 * (mean - base) / base if base else None)
