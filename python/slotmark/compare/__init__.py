"""Comparison: samples in, verdicts out. Knows no bench. How and why: docs/method.md."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from slotmark.compare.compare import alone, compare
from slotmark.compare.policy import Policy, policy_text, read_policy
from slotmark.compare.result import (
    ALL,
    Answer,
    Basis,
    BlockDesign,
    Blocks,
    Cause,
    Comparison,
    Decision,
    Detail,
    Difference,
    Needed,
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
from slotmark.run import Run, open_run

__all__ = [
    "ALL",
    "Answer",
    "Basis",
    "BlockDesign",
    "Blocks",
    "Cause",
    "Comparison",
    "Decision",
    "Detail",
    "Difference",
    "Needed",
    "Policy",
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
    "policy_text",
    "read_policy",
    "summarise",
    "summarise_runs",
]

RunOrPath = Run | str | Path


class CallablePackage(ModuleType):
    """This package as a function: ``slotmark.compare("runs/a", "runs/b")``."""

    def __call__(self, *runs: RunOrPath | Sequence[RunOrPath], **options: Any) -> Comparison:
        """Compares runs, the baseline first; each a run, its folder, or a list of these of one target.

        Args:
            runs: Two or more.
            options: As :func:`slotmark.compare.compare.compare` has them: ``margins``, ``policy``, ``filters``, ``confidence``, ``seed``.

        Raises:
            ComparisonError: As there.
            RunError: A folder is no run, or is damaged.
        """
        return compare(
            [_opened(one) if isinstance(one, RunOrPath) else [*map(_opened, one)] for one in runs], **options
        )


def _opened(run: RunOrPath) -> Run:
    return run if isinstance(run, Run) else open_run(run)


sys.modules[__name__].__class__ = CallablePackage
