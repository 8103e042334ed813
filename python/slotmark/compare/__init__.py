"""Comparison: samples in, verdicts out. Has no code for a single bench. How and why: docs/method.md."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from slotmark.compare.compare import alone, compare
from slotmark.compare.deciding.policy import Policy, policy_text, read_policy
from slotmark.compare.matching.sides import name_sides
from slotmark.compare.result import Comparison, Side
from slotmark.compare.results.decision import Answer, Cause, Decision, Needed
from slotmark.compare.results.details import Blocks, Detail, Ranking, Simulated, Swept
from slotmark.compare.results.rows import ALL, Basis, BlockDesign, Difference, Quantity, Row, Summary
from slotmark.compare.shown import show_run, show_session
from slotmark.compare.summary import summarise, summarise_runs
from slotmark.metrics import parse_filters
from slotmark.places import Url
from slotmark.run import Run, open_runs
from slotmark.verdict import Verdict

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
    "Simulated",
    "Summary",
    "Swept",
    "Verdict",
    "alone",
    "compare",
    "name_sides",
    "policy_text",
    "read_policy",
    "show_run",
    "show_session",
    "summarise",
    "summarise_runs",
]

RunOrPath = Run | str | Path | Url


class CallablePackage(ModuleType):
    """This package as a function: ``slotmark.compare("runs/a", "runs/b")``."""

    def __call__(
        self,
        *runs: RunOrPath | Sequence[RunOrPath],
        filters: Sequence[str] | None = None,
        margins: Mapping[str, float] | None = None,
        policy: Policy | str | Path | None = None,
        run_to_run: str | Path | None = None,
        confidence: float = 0.95,
        repetitions: int | None = None,
        seed: int = 1,
        threads: int = 2,
    ) -> Comparison:
        """Compares runs, the baseline first; each a run, its folder or URL, a folder of runs or its URL, or a list of these of one target.

        Args:
            runs: Two or more.
            filters: What of each run is analysed, as of ``--filter``: names of sets, and conditions such as ``EpochGEq 2``; ``["none"]`` for
                all of it, None for what each run's own profile says.
            margins: Equivalence margins by metric id, as fractions, in place of the policy's.
            policy: Which metrics decide, and how: a policy, or the path of a policy file; None for the catalogue's.
            run_to_run: A table of how much runs of one build differ, as ``slotmark spread`` makes it, or a folder of earlier runs; None for
                the table that comes with slotmark for their cluster, if there is one.
            confidence: Confidence of every interval, as a fraction; verdicts need p-values below 1 - confidence.
            repetitions: Repetitions of the bootstrap; None for as many as the estimators make.
            seed: Seed of the bootstrap; the same seed gives the same comparison, whatever the threads.
            threads: How many candidates may be worked on at a time.

        Raises:
            ArgumentError: There is no such filter, or runs of the bench have none; or the policy can't be read.
            ComparisonError: As there.
            RunError: A folder is no run, or is damaged.
        """
        opened = [
            [run for named in ([one] if isinstance(one, RunOrPath) else one) for run in _opened(named)] for one in runs
        ]
        bench = next((run.manifest.bench for group in opened for run in group), "")
        return compare(
            opened,
            filters=None if filters is None else parse_filters(filters, bench),
            margins=margins,
            policy=read_policy(Path(policy), bench) if isinstance(policy, str | Path) else policy,
            run_to_run=None if run_to_run is None else Path(run_to_run),
            confidence=confidence,
            repetitions=repetitions,
            seed=seed,
            threads=threads,
        )


def _opened(run: RunOrPath) -> list[Run]:
    return [run] if isinstance(run, Run) else open_runs(run)


sys.modules[__name__].__class__ = CallablePackage
