"""Warnings about a measurement, as data, and the kinds that runs and comparisons of any bench can have.

Each of these kinds is one constructor here, with the sentence that a reader sees: what was seen, and what to do. The kinds of one bench are in its
folder, in ``warnings.toml``. Manifests keep the warnings about one run, comparisons those about a set of runs; reports print both.
"""

from collections.abc import Sequence

import msgspec

from slotmark.numbers import fixed, number, p_value
from slotmark.words import counted

_SHOWN = 5

ENOUGH_ROUNDS = 5
"""The fewest rounds with a verdict."""

SHOWING_ROUNDS = 20
"""The number of rounds that mostly show whether their ratios resemble the ones before; with fewer, intervals are wide in case they do."""

ENOUGH_BLOCKS = 10
"""With fewer blocks at a node's tip no verdict is given."""

ENOUGH_RUNS = 3
"""With fewer runs on a side, verdicts are conditional on these runs; of processes of a build, there are none."""

KINDS = (
    "apart",
    "different",
    "drifting_rounds",
    "earlier_runs_left_out",
    "few_rounds",
    "insecure_ray",
    "lacking",
    "machine_loaded",
    "not_interleaved",
    "one_process",
    "one_run_a_side",
    "outliers",
    "resumed",
    "round_left_out",
    "runs_differ",
    "target_failed",
    "thin_quantiles",
    "two_processes",
    "unexplained",
    "unmatched",
)
"""The kinds that are constructed here. A bench has more, by its catalogue."""

STOPPING = (
    "different",
    "drifting_rounds",
    "not_interleaved",
)
"""Warnings after which figures may be of something else than the target: nothing ships on them."""


class Warning(msgspec.Struct, frozen=True, order=True):
    """One warning.

    Attributes:
        kind: A stable name for machines, as ``server_busy``.
        text: What was seen and what to do, in one or two sentences.
        subject: What it is about: a target, a setting, an invocation; empty for the whole run.
    """

    kind: str
    text: str
    subject: str = ""


def target_failed(subject: str, why: str) -> Warning:
    """A target failed in a setting of its session."""
    return Warning("target_failed", f"The target failed and nothing of this setting was kept: {why}", subject)


def outliers(subject: str, rounds: Sequence[str]) -> Warning:
    """Invocations farther than three scaled MADs from the median of their setting."""
    which = ", ".join(rounds)
    plural = "s" if len(rounds) > 1 else ""
    return Warning(
        "outliers",
        f"Round{plural} {which} lie{'' if plural else 's'} more than 3 scaled MADs from the median rate. Kept in every figure; "
        "look for other work on the machine, or run more rounds.",
        subject,
    )


def few_rounds(rounds: int) -> Warning:
    """Too few rounds for any verdict."""
    return Warning(
        "few_rounds",
        f"{counted(rounds, 'round')} are not enough to separate a difference from noise: no verdict is given below "
        f"{ENOUGH_ROUNDS}. Run again with --rounds {SHOWING_ROUNDS}.",
    )


def unexplained(why: str) -> Warning:
    """A comparison whose differences couldn't be attributed: all of its figures are there."""
    return Warning(
        "unexplained",
        f"Where differences come from is not in this comparison; its figures and verdicts don't depend on that. {why}",
    )


def insecure_ray() -> Warning:
    """Work that was done by a Ray cluster which wasn't asked to be closed to others."""
    return Warning(
        "insecure_ray",
        "Done with --insecure-ray: the Ray cluster may not require a token, so anybody who can reach it could change these results.",
    )


def resumed(rounds: Sequence[int]) -> Warning:
    """A session that was cut after these rounds and went on later."""
    return Warning(
        "resumed",
        f"The session was interrupted after round {', '.join(map(str, rounds))} and resumed later: the machine's state may differ before and "
        "after. Each ratio is of one round, so ratios aren't affected; levels include that difference.",
    )


def machine_loaded(load: float, cores: int) -> Warning:
    """Other work was running when the measurement began."""
    return Warning(
        "machine_loaded",
        f"The load average was {fixed(load, 2)} on {cores} cores before the measurement: other work was running. "
        "Stop it and run again.",
    )


def apart() -> Warning:
    """Two runs that weren't measured in one session."""
    return Warning(
        "apart",
        "Not measured in one session with the baseline: rounds can't be paired, and the machine's drift between the two "
        "sessions is part of the difference. Verdicts are conditional on these two sessions. Measure both in one `run`.",
    )


def different(what: str, baseline: str, candidate: str) -> Warning:
    """Two runs that differ in something which should be equal."""
    return Warning(
        "different",
        f"{what} differs: {baseline} for the baseline, {candidate} here. The difference may come from that.",
    )


def runs_differ(what: str, values: Sequence[str]) -> Warning:
    """Runs of one side that should be alike and aren't."""
    return Warning(
        "runs_differ", f"Its runs differ in {what}: {', '.join(values)}. Their spread includes that difference."
    )


def unmatched(what: str) -> Warning:
    """Something that only one of two runs has."""
    return Warning("unmatched", f"Only one of the two runs has {what}: it is not compared.")


def one_run_a_side() -> Warning:
    """A side of one run."""
    return Warning(
        "one_run_a_side",
        "Run once: intervals cover variation within a run (between blocks, slots or hosts), not variation "
        "between runs of one build. Verdicts are conditional on these runs: a difference may come from the run, not from the target. "
        f"Run each build {ENOUGH_RUNS} times and name all runs of it, with commas.",
    )


def round_left_out(number: int, why: str) -> Warning:
    """A round of runs that took turns, of which not all are there and whole."""
    return Warning("round_left_out", f"Round {number} is not compared: {why}. The other rounds are.")


def earlier_runs_left_out(folder: str, why: str) -> Warning:
    """Runs of a folder that don't show how much the compared runs differ; with the reasons."""
    return Warning(
        "earlier_runs_left_out",
        f"Not all runs in {folder} show how much runs of one build differ. Left out: {why}.",
    )


def drifting_rounds(subject: str, correlation: float, p: float) -> Warning:
    """Ratios of consecutive rounds resemble each other; their lag-1 autocorrelation, and the p-value of none."""
    return Warning(
        "drifting_rounds",
        f"The ratios of consecutive rounds are correlated (autocorrelation {fixed(correlation, 2)}, p {p_value(p)}): something drifted that does "
        "not affect both targets in the same way. Intervals are wider because of it. Look for other work on the machine, or run again with more rounds.",
        subject,
    )


def one_process_compared() -> Warning:
    """A side with one process."""
    return Warning(
        "one_process",
        "One process: intervals cover only variation within it, and there is no verdict about the build. Record at least 5 per build.",
    )


def two_processes() -> Warning:
    """A side with two processes."""
    return Warning(
        "two_processes",
        "Two processes: they agree too often by chance to show how much others would differ, and there is no verdict about the build. "
        "Record at least 5 per build.",
    )


def thin_quantiles(quantiles: Sequence[str], needed: int) -> Warning:
    """Quantiles that rest on few blocks."""
    return Warning(
        "thin_quantiles",
        f"Fewer than {needed} blocks are beyond the quantiles {', '.join(quantiles)}: these are imprecise.",
    )


def lacking(metric: str) -> Warning:
    """A metric that not all runs of a pair of sides have."""
    return Warning("lacking", f"'{metric}' is not compared: not all of its runs and the baseline's have it.")


def not_interleaved(order: str) -> Warning:
    """Targets that weren't recorded in turns; ``order`` has how that is known."""
    return Warning(
        "not_interleaved",
        f"{order[:1].upper()}{order[1:]}: a drift of the machine in between is part of the difference, and there is no verdict. Measure both in one "
        "session, or record them in turns and import them with one --session, or with a study file that has interleaved = true.",
    )


def shown(value: object) -> str:
    """Returns a value as warnings show it: whole numbers with commas, others with four digits, of a list the first few."""
    if isinstance(value, list):
        return _some([str(one) for one in value])
    if isinstance(value, float):
        return number(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
