"""Comparison: samples in, verdicts out. Knows no bench. How and why: docs/method.md."""

from slotmark.compare.comparing import compare
from slotmark.compare.comparison import Comparison, Difference, Row, Side, Summary, Verdict
from slotmark.compare.sides import name_sides
from slotmark.compare.summary import summarise, summarise_runs
from slotmark.compare.verdict import ENOUGH_ROUNDS

__all__ = [
    "ENOUGH_ROUNDS",
    "Comparison",
    "Difference",
    "Row",
    "Side",
    "Summary",
    "Verdict",
    "compare",
    "name_sides",
    "summarise",
    "summarise_runs",
]
