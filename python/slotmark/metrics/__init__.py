"""Metrics: the catalogue, and the SQL that turns a run's tables into samples."""

from slotmark.metrics.catalogue import Catalogue, Metric, catalogue
from slotmark.metrics.samples import Key, Samples, samples, samples_of

__all__ = ["Catalogue", "Key", "Metric", "Samples", "catalogue", "samples", "samples_of"]
