"""One candidate against the baseline, in one metric and setting, before p-values are adjusted."""

import zlib

import msgspec
import numpy as np

from slotmark.compare.pairing import by_replicate, refuse_unmatched, replicates
from slotmark.compare.ratio import Ratio, paired_ratio, unpaired_ratio
from slotmark.compare.verdict import ENOUGH_ROUNDS, Decision
from slotmark.errors import ComparisonError
from slotmark.metrics import Samples


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


class Tested(msgspec.Struct, frozen=True):
    """What two sets of samples say, before it's known how many other tests there are.

    Attributes:
        ratio: None where it can't be estimated.
        paired: Whether samples were paired by key.
        settled: Verdict and reason where they don't depend on the p-value; None where they do.
        replicates: The fewer of the two sides' replicates, as rounds.
    """

    ratio: Ratio | None
    paired: bool
    settled: Decision | None
    replicates: int


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
            return Tested(None, True, None, fewest)
    settled = None
    if fewest < ENOUGH_ROUNDS:
        of_what = metric.grain[0] if metric.grain else "sample"
        settled = Decision(
            "inconclusive",
            f"{fewest} {of_what}{'s' if fewest != 1 else ''} can't tell a difference from noise; {ENOUGH_ROUNDS} are needed",
        )
    values = baseline.values(setting), candidate.values(setting)
    if min(float(one.min()) for one in values) <= 0:
        return Tested(None, paired, settled or _without_ratio(*values), fewest)
    if fewest < 2:
        return Tested(None, paired, settled, fewest)
    ratio = (paired_ratio if paired else unpaired_ratio)(
        by_replicate(baseline, setting),
        by_replicate(candidate, setting),
        confidence=bootstrap.confidence,
        repetitions=bootstrap.repetitions,
        seed=bootstrap.stream(metric.id, setting),
    )
    return Tested(ratio, paired, settled, fewest)


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
