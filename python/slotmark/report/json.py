"""Comparisons as JSON, for machines. docs/report-json.md describes it."""

import msgspec

from slotmark.compare import Comparison
from slotmark.compare.block_comparison import BlockComparison

SCHEMA = 1
"""The version of the layout."""


def json(comparison: Comparison | BlockComparison) -> bytes:
    """The whole comparison: every sample, interval, p-value, verdict, warning and manifest."""
    return (
        msgspec.json.format(msgspec.json.encode({"schema": SCHEMA, **msgspec.to_builtins(comparison)}), indent=1)
        + b"\n"
    )
