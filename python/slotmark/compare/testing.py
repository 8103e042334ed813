"""One candidate against the baseline, in one metric and setting, before p-values are adjusted."""

import zlib
from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.compare.pairing import by_replicate, refuse_unmatched, replicates
from slotmark.compare.verdict import ENOUGH_ROUNDS, Decision
from slotmark.errors import ComparisonError
from slotmark.metrics import Samples
from slotmark.statistics.interval import Interval
from slotmark.statistics.ratio import Ratio, paired_ratio, unpaired_ratio
from slotmark.statistics.stretches import mean_difference, stretches


class Bootstrap(msgspec.Struct, frozen=True):
    """How intervals and p-values are computed.

    Attributes:
        confidence: Of intervals, as a fraction.
        repetitions: How many draws.
        seed: Of the comparison; each metric and setting draws from a stream of its own.
    """

    confidence: float
    repetitions: int
    seed: int

    def stream(self, metric_id: str, setting: str) -> list[int]:
        """The seed of one metric and setting: what else is compared beside them changes nothing."""
        return [self.seed, zlib.crc32(metric_id.encode()), zlib.crc32(setting.encode())]


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """What two sets of samples say, before it's known how many other tests there are.

    Attributes:
        ratio: None where it can't be estimated.
        delta: Of means; None where the typical ratio is compared.
        paired: Whether samples were paired by key.
        settled: Verdict and reason where they don't depend on the p-value; None where they do.
        replicates: The fewer of the two sides' replicates, as rounds.
        margin: The equivalence margin, where it isn't the metric's.
    """

    ratio: Ratio | None
    delta: Interval | None = None
    paired: bool
    settled: Decision | None
    replicates: int
    margin: float | None = None


def tested(
    baseline: Samples, candidate: Samples, setting: str, *, names: tuple[str, str], paired: bool, bootstrap: Bootstrap
) -> Tested:
    """Estimates the ratio of a candidate to the baseline.

    Args:
        baseline: Samples of a metric, some of them in this setting.
        candidate: Samples of the same metric in another run, some of them in this setting.
        setting: What is compared.
        names: Of the two runs, for errors.
        paired: Whether both were measured in one session.
        bootstrap: How.

    Raises:
        ComparisonError: A tested metric's samples can't be paired though both runs are of one session.
    """
    metric = baseline.metric
    fewest = min(replicates(baseline, setting), replicates(candidate, setting))
    if paired:
        try:
            refuse_unmatched(baseline, candidate, setting, names)
        except ComparisonError:
            if metric.tested:
                raise
            return Tested(ratio=None, paired=True, settled=None, replicates=fewest)
    settled = None
    if fewest < ENOUGH_ROUNDS:
        of_what = metric.grain[0] if metric.grain else "sample"
        settled = Decision(
            "inconclusive",
            f"{fewest} {of_what}{'s' if fewest != 1 else ''} can't tell a difference from noise; {ENOUGH_ROUNDS} are needed",
        )
    values = baseline.values(setting), candidate.values(setting)
    if min(float(one.min()) for one in values) <= 0:
        return Tested(ratio=None, paired=paired, settled=settled or _without_ratio(*values), replicates=fewest)
    if fewest < 2:
        return Tested(ratio=None, paired=paired, settled=settled, replicates=fewest)
    ratio = (paired_ratio if paired else unpaired_ratio)(
        by_replicate(baseline, setting),
        by_replicate(candidate, setting),
        confidence=bootstrap.confidence,
        repetitions=bootstrap.repetitions,
        seed=bootstrap.stream(metric.id, setting),
    )
    return Tested(ratio=ratio, paired=paired, settled=settled, replicates=fewest)


def tested_means(
    baseline: Sequence[Samples], candidate: Sequence[Samples], setting: str, *, bootstrap: Bootstrap
) -> Tested:
    """Estimates how far the candidate's mean lies from the baseline's.

    Args:
        baseline: Samples of a metric, one set a run, all with some in this setting.
        candidate: The same of the other side.
        setting: What is compared.
        bootstrap: How.
    """
    metric = baseline[0].metric
    ours, theirs = (
        [stretches(one.values(setting), one.unit_starts(setting), ordered=metric.grain[0] != "host") for one in side]
        for side in (baseline, candidate)
    )
    runs = min(len(ours), len(theirs))
    fewest = runs if runs > 1 else min(sum(one.units for one in side) for side in (ours, theirs))
    found = mean_difference(
        ours,
        theirs,
        confidence=bootstrap.confidence,
        repetitions=bootstrap.repetitions,
        seed=bootstrap.stream(metric.id, setting),
    )
    if found is None:
        return Tested(
            ratio=None,
            paired=False,
            settled=Decision("inconclusive", f"one {metric.grain[0]} tells nothing of chance"),
            replicates=fewest,
        )
    if runs > 1:
        base = float(np.mean([one.mean for one in ours]))
    else:
        base = float(sum(one.sums.sum() for one in ours) / sum(one.counts.sum() for one in ours))
    if base <= 0:
        words = "the baseline's mean is 0 or below, so there is no share of it that matters"
        same = found.delta.low == found.delta.high == 0
        settled = (
            Decision("equivalent", f"all samples of both are {base:g}") if same else Decision("inconclusive", words)
        )
        return Tested(ratio=None, delta=found.delta, paired=False, settled=settled, replicates=fewest)
    low, middle, high = (1 + value / base for value in (found.delta.low, found.delta.estimate, found.delta.high))
    return Tested(
        ratio=Ratio(Interval(middle, low, high), found.p),
        delta=found.delta,
        paired=False,
        settled=None,
        replicates=fewest,
        margin=max(metric.margin, metric.least / base),
    )


def _without_ratio(baseline: np.ndarray, candidate: np.ndarray) -> Decision:
    """The verdict where some values are not above zero."""
    first = baseline[0]
    if (baseline == first).all() and (candidate == first).all():
        return Decision("equivalent", f"all samples of both are {first:g}")
    return Decision(
        "inconclusive",
        "some samples are zero or below, so there is no ratio; "
        f"the medians are {np.median(baseline):.3g} and {np.median(candidate):.3g}",
    )
