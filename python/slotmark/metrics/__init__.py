"""Metrics: the catalogue, and the SQL that turns a run's tables into samples."""

from slotmark.metrics.catalogue import Catalogue, Metric, catalogue
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
