"""Comparison: samples in, verdicts out. Knows no bench. How and why: docs/method.md."""

from slotmark.compare.compare import alone, compare
from slotmark.compare.result import (
    ALL,
    Basis,
    BlockDesign,
    Blocks,
    Comparison,
    Detail,
    Difference,
    Quantity,
    Ranking,
    Row,
    Side,
    Summary,
    Swept,
    Verdict,
)
from slotmark.compare.sides import name_sides
from slotmark.compare.summary import summarise, summarise_runs

__all__ = [
    "ALL",
    "Basis",
    "BlockDesign",
    "Blocks",
    "Comparison",
    "Detail",
    "Difference",
    "Quantity",
    "Ranking",
    "Row",
    "Side",
    "Summary",
    "Swept",
    "Verdict",
    "alone",
    "compare",
    "name_sides",
    "summarise",
    "summarise_runs",
]
