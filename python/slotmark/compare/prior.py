"""Knowledge of how much runs of one build differ, before a comparison: from a table, or by a policy's assumption."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from slotmark.compare.policy import Policy
from slotmark.compare.result import FROM_RUNS
from slotmark.compare.spread_table import SpreadTable, read_spread_table, refuse_other_runs, shipped_table
from slotmark.metrics import Metric
from slotmark.numbers import percent
from slotmark.run import Run
from slotmark.statistics.between_runs import Spread

MOST_DEGREES = 6.0
"""A table counts for at most this many degrees of freedom: it is of other days, and how much runs differ changes too. docs/decision.md has what this costs and saves."""


class Prior(msgspec.Struct, frozen=True, kw_only=True):
    """Knowledge from before a comparison.

    Attributes:
        table: Table of earlier runs; None where there is none.
        assumed: What a policy assumes the standard deviation of a run's mean to be, as a share of its level, where no run and no table shows it; None for
            nothing.
        of_metrics: The same for single metrics, by id.
    """

    table: SpreadTable | None = None
    assumed: float | None = None
    of_metrics: Mapping[str, float] = {}

    def of(self, metric: Metric, part: str, *, level: float, own: bool) -> tuple[Spread, str] | None:
        """The spread of a metric in a part, with where it comes from in words; None where it is unknown.

        Args:
            metric: Which.
            part: Which of its samples.
            level: Level of its mean, in its unit.
            own: Whether runs of the comparison show it: then nothing is assumed.
        """
        if self.table is not None and (known := self.table.of(metric, part)):
            return msgspec.structs.replace(known, degrees=min(known.degrees, MOST_DEGREES)), self.table.words
        share = self.of_metrics.get(metric.id, self.assumed)
        if own or share is None:
            return None
        sd = share if metric.run_scale == "log" else share * abs(level)
        return Spread(sd**2, np.inf), f"{percent(share)} by the policy"


def source_of(own: bool, earlier: tuple[Spread, str] | None) -> str:
    """Returns the source of how much runs of one build differ, in words; empty where it is unknown.

    Args:
        own: Whether runs of the comparison show it.
        earlier: What was known before, as :meth:`Prior.of` gives it.
    """
    return " and ".join([*([FROM_RUNS] if own else []), *([earlier[1]] if earlier else [])])


def prior_of(groups: Sequence[Sequence[Run]], file: Path | None, policy: Policy) -> Prior | None:
    """Returns what was known before these runs; None of simulated ones, whose seeds are their runs.

    Args:
        groups: The runs of each side.
        file: A table of how much runs differ; None for the one that comes with slotmark for their cluster, if there is one.
        policy: What it assumes counts where no table has a metric.

    Raises:
        ComparisonError: The file is no table, or one of other runs.
    """
    manifests = [run.manifest for group in groups for run in group]
    table = read_spread_table(file) if file else None
    if file and table:
        refuse_other_runs(table, file, manifests)
    if any(one.origin == "simulated" for one in manifests):
        return None
    return Prior(
        table=table or shipped_table(manifests), assumed=policy.assumed_spread, of_metrics=policy.assumed_spreads
    )
