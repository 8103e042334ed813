"""Metrics: the catalogue, and the SQL that turns a run's tables into samples."""

from slotmark.metrics.catalogue import Better, Catalogue, Metric, catalogue
from slotmark.metrics.cluster.manifest import facts_of_analysis
from slotmark.metrics.doubts import doubts_of_analysis
from slotmark.metrics.filters import Filter, filters_of_run, named_filters, parse_filters
from slotmark.metrics.samples import Analysis, Key, Samples, samples

__all__ = [
    "Analysis",
    "Catalogue",
    "Filter",
    "Key",
    "Metric",
    "Samples",
    "catalogue",
    "doubts_of_analysis",
    "facts_of_analysis",
    "filters_of_run",
    "named_filters",
    "parse_filters",
    "samples",
]


def parts_of(analyses):
    from slotmark.metrics.ledger.classes import block_classes

    if analyses[0].run.manifest.bench != "ledger":
        return {}
    return block_classes([a.run for a in analyses])


from slotmark.metrics.matrix import CostMatrix
