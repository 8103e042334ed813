"""The cluster's figures as the Cardano performance team's tool, locli, computes them."""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.metrics.analysis import Analysis
from slotmark.metrics.catalogue import Metric, catalogue
from slotmark.metrics.filters import Filter
from slotmark.metrics.samples import Samples
from slotmark.run import Run

LOWEST_HOSTS = 29
"""Of so many hosts, those with the lowest means, the average of a host metric is taken: as many as there are centiles."""

SECTIONS = ("Resource usage", "Anomaly control", "Forging", "Individual peer propagation", "End-to-end propagation")
"""The tables of the published reports."""


class PublishedMean(msgspec.Struct, frozen=True):
    """One row of a published table.

    Attributes:
        metric: The catalogue's entry.
        means: One a run; None where a run has no sample.
        samples: How many samples each run has.
    """

    metric: Metric
    means: list[float | None]
    samples: list[int]


def published_means(runs: Sequence[Run], filters: Sequence[Filter] | None = None) -> list[PublishedMean]:
    """The values of the published tables, in their order, unrounded.

    Args:
        runs: The runs, one column each.
        filters: What is analysed; None for what each run's profile says.
    """
    metrics = [metric for metric in catalogue("cluster").metrics if metric.section in SECTIONS and metric.locli]
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
    means = {
        name: total / count for name, total, count in zip(names, sums.tolist(), counts.tolist(), strict=True) if count
    }
    if samples.metric.relation == "busy_spans":
        means = {host: means.get(host, 0.0) for host in hosts}  # a host without a stretch has stretches of length 0
    return float(np.mean(sorted(means.values())[:LOWEST_HOSTS])) if means else None
