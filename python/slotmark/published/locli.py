"""The tables of locli, the tool of the Cardano performance team: of each metric every run's mean, and how it differs from the first run's."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from slotmark.metrics import Analysis, Filter, Metric, Samples, catalogue
from slotmark.published.report import PublishedCell, PublishedTable, words
from slotmark.published.styles import STYLES, Style
from slotmark.run import Run

LOWEST_HOSTS = 29
"""Of so many hosts, those with the lowest means, the average of a host metric is taken: as many as there are centiles."""

SECTIONS = ("Resource usage", "Anomaly control", "Forging", "Individual peer propagation", "End-to-end propagation")
"""The tables of the published reports."""


class PublishedMean(msgspec.Struct, frozen=True):
    """One row of a published table.

    Attributes:
        metric: The catalogue's entry.
        means: One per run, unrounded; None where a run has no sample.
        samples: How many samples each run has.
    """

    metric: Metric
    means: list[float | None]
    samples: list[int]


def printed(
    sides: Sequence[Mapping[str, Run]], filters: Sequence[Filter] | None, style: str
) -> tuple[str, list[PublishedTable]]:
    """One table per section; a run of any side has columns of its own, and the first run is the reference of all."""
    names = [name for side in sides for name in side]
    rows = published_means([run for side in sides for run in side.values()], filters)
    return f"The tables and formulas of locli, printed as its {style} reports do", list(_tables(names, rows, style))


def published_means(runs: Sequence[Run], filters: Sequence[Filter] | None = None) -> list[PublishedMean]:
    """The values of the published tables, in their order.

    Args:
        runs: The runs, one column each.
        filters: What is analysed; None for what each run's profile says.
    """
    entries = catalogue(runs[0].manifest.bench).metrics
    metrics = [metric for metric in entries if metric.section in SECTIONS and metric.locli]
    columns = []
    for run in runs:
        with Analysis(run, filters=filters, published=True) as analysis:
            hosts = analysis.query("SELECT host FROM hosts ORDER BY host")["host"].to_pylist()
            found = [analysis.samples(metric.id) for metric in metrics]
            columns.append([(_mean(samples, hosts), samples.table.num_rows) for samples in found])
    return [
        PublishedMean(metric, [column[place][0] for column in columns], [column[place][1] for column in columns])
        for place, metric in enumerate(metrics)
    ]


def _mean(samples: Samples, hosts: Sequence[str]) -> float | None:
    """The average that is printed: of all samples, or for metrics of hosts and slots that of the lowest hosts' averages."""
    values = samples.values("")
    if samples.metric.grain != ("slot", "host"):
        return float(values.mean()) if values.size else None
    of = samples.within("")["host"].combine_chunks().dictionary_encode()
    codes, names = of.indices.to_numpy(zero_copy_only=False), of.dictionary.to_pylist()
    sums, counts = np.bincount(codes, weights=values, minlength=len(names)), np.bincount(codes, minlength=len(names))
    means = {name: total / count for name, total, count in zip(names, sums.tolist(), counts.tolist(), strict=True)}
    if samples.metric.relation == "busy_spans":
        means = {host: means.get(host, 0.0) for host in hosts}  # a host without a stretch has stretches of length 0
    return float(np.mean(sorted(means.values())[:LOWEST_HOSTS])) if means else None


def _tables(names: Sequence[str], rows: Sequence[PublishedMean], style: str) -> Iterator[PublishedTable]:
    by = STYLES[style]
    others = [title for name in names[1:] for title in (name, "Δ", "Δ%")]
    for section in dict.fromkeys(row.metric.section for row in rows):
        inside = [row for row in rows if row.metric.section == section]
        cells = [[PublishedCell(_headed(row.metric)), *_cells(row, by)] for row in inside]
        counts = [PublishedCell(text, count) for count in inside[0].samples if (text := by.count(count)) is not None]
        if counts:
            of_others = [cell for count in counts[1:] for cell in (count, *words("", ""))]
            cells.append([PublishedCell("Sample count"), counts[0], *of_others])
        yield PublishedTable(section, ["", names[0], *others], cells, labels=1)


def _headed(metric: Metric) -> str:
    return f"{metric.name}, {metric.unit}" if metric.unit else metric.name


def _cells(row: PublishedMean, by: Style) -> Iterator[PublishedCell]:
    width, base = row.metric.width, row.means[0]
    for place, mean in enumerate(row.means):
        yield PublishedCell("-") if mean is None else PublishedCell(by.cell(mean, width), mean)
        if place and (mean is None or base is None):
            yield from words("-", "-")
        elif place and mean is not None and base is not None:
            yield PublishedCell(by.delta(base, mean, width), mean - base)
            yield PublishedCell(by.percent(base, mean, width), 100 * (mean - base) / base if base else None)
