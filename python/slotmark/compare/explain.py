"""Explaining: from two sides to where their differences come from. docs/explain.md explains it."""

from collections.abc import Sequence
from contextlib import ExitStack

from slotmark.compare.attribution.attributing import attributions
from slotmark.compare.compare import analysed, warnings_of, with_warnings
from slotmark.compare.matching.ends import refuse_other_ends
from slotmark.compare.matching.sides import name_sides, refuse_unlike_runs
from slotmark.compare.results.explanation import Explanation
from slotmark.errors import ComparisonError
from slotmark.metrics import Filter, analyses_of, catalogue
from slotmark.run import Run


def explain(
    baseline: Run | Sequence[Run],
    candidate: Run | Sequence[Run],
    *,
    filters: Sequence[Filter] | None = None,
    confidence: float = 0.95,
) -> Explanation:
    """Splits the differences between two sides into the steps that the catalogue names.

    Args:
        baseline: A run, or several runs of one target.
        candidate: Likewise.
        filters: What of each run is analysed; None for what each run's own profile says.
        confidence: Confidence of every interval, as a fraction.

    Raises:
        ComparisonError: The runs did different work, or no metric of their bench can be split.
        RunError: A run is damaged.
    """
    groups = [[one] if isinstance(one, Run) else list(one) for one in (baseline, candidate)]
    sides = name_sides(groups)
    entries = catalogue(sides[0].manifest.bench)
    refuse_unlike_runs(groups)
    if not entries.explained:
        raise ComparisonError(
            f"No metric of bench '{entries.bench}' is made of steps or parts, so there is nothing to explain. "
            "`slotmark compare` shows what differs."
        )
    with ExitStack() as stack:
        analyses = analyses_of(stack, groups, filters)
        sides = analysed(sides, analyses)
        refuse_other_ends(entries.ends, sides, analyses)
        (found,) = attributions([sides[1].name], analyses, confidence)
        warnings = warnings_of(analyses)
    ours, theirs = with_warnings(sides, warnings, [])
    parts = {name: getattr(found, name) for name in found.__struct_fields__}
    return Explanation(bench=entries.bench, baseline=ours, candidate=theirs, confidence=confidence, **parts)
