"""Descriptions of how figures were computed, a paragraph per estimator of a comparison."""

from slotmark.compare.estimators import ESTIMATORS
from slotmark.compare.result import Comparison
from slotmark.numbers import brief, percent
from slotmark.report.document import Block, Paragraph
from slotmark.statistics.rank_tests import FIRST_SHARE
from slotmark.verdict import meanings


def method(comparison: Comparison) -> list[Block]:
    """Returns a paragraph per estimator, then what verdicts mean."""
    estimators = dict.fromkeys(row.metric.estimator for row in comparison.rows)
    texts = [ESTIMATORS[estimator].method(comparison) for estimator in estimators]
    return [*map(Paragraph, texts), *([Paragraph(_verdicts(comparison))] if comparison.tests else [])]


def _verdicts(comparison: Comparison) -> str:
    return (
        f"p-values are Holm-adjusted over the {comparison.tests:,} tests of this report, of whose error rate decisive metrics have {percent(FIRST_SHARE)}. {meanings(brief(1 - comparison.confidence, 2))} "
        "Ratios, differences and intervals come from unrounded values."
    )
