"""Metrics: the catalogue, and the SQL that turns a run's tables into samples."""

from slotmark.metrics.analysis import Analysis, Meeting, one_ahead, samples, side_by_side
from slotmark.metrics.catalogue import Better, Catalogue, Metric, Rank, benches, catalogue, register
from slotmark.metrics.entries import Ends, Grows, Part, Turns
from slotmark.metrics.filters import Filter, filters_of_run, parse_filters
from slotmark.metrics.long_samples import AllSamples, LongSamples
from slotmark.metrics.samples import CostMatrix, Key, Samples, dense_ranks, ranks
from slotmark.metrics.steps import Changed, Split, StageCells, Timelines
from slotmark.metrics.together import analyses_of, costs_together, parts_of

__all__ = [
    "AllSamples",
    "Analysis",
    "Better",
    "Catalogue",
    "Changed",
    "CostMatrix",
    "Ends",
    "Filter",
    "Grows",
    "Key",
    "LongSamples",
    "Meeting",
    "Metric",
    "Part",
    "Rank",
    "Samples",
    "Split",
    "StageCells",
    "Timelines",
    "Turns",
    "analyses_of",
    "benches",
    "catalogue",
    "costs_together",
    "dense_ranks",
    "filters_of_run",
    "one_ahead",
    "parse_filters",
    "parts_of",
    "ranks",
    "register",
    "samples",
    "side_by_side",
]
