"""Adjusting p-values for how many were computed."""

from slotmark.metrics.rank_tests import holm

__all__ = ["holm"]
