"""Refuses runs whose processes ended with other results after the same work: a target that does its work wrong may be fast for that."""

from collections.abc import Sequence

from slotmark.compare.result import Side
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, Ends


def refuse_other_ends(ends: Ends | None, sides: Sequence[Side], analyses: Sequence[Sequence[Analysis]]) -> None:
    """Raises ComparisonError where two processes, of one side or of two, did not end with the same; where one records nothing, nothing is known of it.

    Args:
        ends: Where the bench keeps what processes ended with; None where it doesn't.
        sides: Baseline and candidates.
        analyses: Analyses of their runs.
    """
    if ends is None:
        return
    known: dict[str, tuple[str, str]] = {}
    for side, of_side in zip(sides, analyses, strict=True):
        for analysis in of_side:
            for what, value in ended_with(ends, analysis):
                whose, first = known.setdefault(what, (side.name, value))
                if first != value:
                    both = "processes of " + side.name if whose == side.name else f"{whose} and {side.name}"
                    raise ComparisonError(
                        f"{both} did not end with the same {what}: {first[:16]} and {value[:16]}. {ends.remedy}"
                    )


def ended_with(ends: Ends, analysis: Analysis) -> Sequence[tuple[str, str]]:
    """Returns what the processes of a run ended with, by what it is in words: each value once, and none where none is recorded."""
    if ends.table not in analysis.run.manifest.tables:
        return []
    columns = ", ".join(f'CAST("{column}" AS VARCHAR) AS "{column}"' for column in ends.columns.values())
    rows = analysis.query(f'SELECT DISTINCT {columns} FROM "{ends.relation}" ORDER BY ALL', "what processes ended with")
    return [
        (what, value)
        for what, column in ends.columns.items()
        for value in rows[column].to_pylist()
        if value is not None
    ]
