"""Knowledge of how much runs of one build differ, before a comparison: from a table, from earlier runs, or by a policy's assumption."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from slotmark.compare.results.rows import FROM_RUNS
from slotmark.compare.run_to_run.spread_table import SpreadTable
from slotmark.metrics import Metric
from slotmark.numbers import percent
from slotmark.statistics.between_runs import Spread
from slotmark.warnings import Warning

MOST_DEGREES = 6.0
"""A table counts for at most this many degrees of freedom: it is of other days, and how much runs differ changes too. docs/decision.md has what this costs and saves."""


class Prior(msgspec.Struct, frozen=True, kw_only=True):
    """Knowledge from before a comparison.

    Attributes:
        table: Table of earlier runs; None where there is none.
        assumed: What a policy assumes the standard deviation of a run's mean to be, as a share of its level, where no run and no table shows it; None for
            nothing.
        of_metrics: The same for single metrics, by id.
        warnings: What a reader should know of where it comes from.
    """

    table: SpreadTable | None = None
    assumed: float | None = None
    of_metrics: Mapping[str, float] = {}
    warnings: Sequence[Warning] = ()

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
