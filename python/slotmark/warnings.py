"""Warnings about a measurement, as data, and the kinds that runs and comparisons of any bench can have.

Each of these kinds is one constructor here, with the sentence that a reader sees: what was seen, and what to do. The kinds of one bench are in its
folder, in ``warnings.toml``. Manifests keep the warnings about one run, comparisons those about a set of runs; reports print both.
"""

from collections.abc import Sequence

import msgspec

from slotmark.numbers import p_value
from slotmark.words import counted, listed

_SHOWN = 5

ENOUGH_ROUNDS = 5
"""The fewest rounds with a verdict."""

TELLING_ROUNDS = 20
"""The number of rounds that mostly show whether their ratios resemble the ones before; with fewer, intervals are wide in case they do."""

ENOUGH_BLOCKS = 10
"""With fewer blocks at a node's tip no verdict is given."""

ENOUGH_RUNS = 3
"""With fewer runs on a side, verdicts are conditional on these runs; of processes of a build, there are none."""

KINDS = (
    "apart",
    "clusters",
    "coarse",
    "different",
    "drifting_blocks",
    "drifting_rounds",
    "few_blocks",
    "few_blocks_at_tip",
    "few_rounds",
    "gc_inside",
    "lacking",
    "machine_loaded",
    "mixed_cluster",
    "not_interleaved",
    "one_process",
    "one_run_a_side",
    "other_node",
    "outliers",
    "resumed",
    "round_left_out",
    "runs_differ",
    "target_failed",
    "thin_quantiles",
    "two_processes",
    "unmatched",
    "unshared_blocks",
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
        "look for what else ran on the machine, or run more rounds.",
        subject,
    )


def few_rounds(rounds: int) -> Warning:
    """Too few rounds for any verdict."""
    return Warning(
        "few_rounds",
        f"{counted(rounds, 'round')} can't tell a difference from noise: no verdict is given below "
        f"{ENOUGH_ROUNDS}. Run again with --rounds {TELLING_ROUNDS}.",
    )


def resumed(rounds: Sequence[int]) -> Warning:
    """A session that was cut after these rounds and went on later."""
    return Warning(
        "resumed",
        f"The session was cut after round {', '.join(map(str, rounds))} and resumed later: the machine may have been another before and "
        "after. Ratios are of one round each, so they stand; levels hold that difference.",
    )


def other_node(node: str, program: str | None, spoken: Sequence[str]) -> Warning:
    """Clients followed a node that the session didn't start, of which the program may be known, and spoke versions of protocols with it."""
    behind = f" (program '{program}')" if program else ""
    return Warning(
        "other_node",
        f"The {node}{behind}, spoken with in {', '.join(spoken) or 'a version that no client reports'}, "
        "was not started by this session: its cores, its caches, what else it did and its share of the time were not controlled. "
        "Clients of one session had the same node; figures of another session or node are not comparable.",
    )


def machine_loaded(load: float, cores: int) -> Warning:
    """Other work was running when the measurement began."""
    return Warning(
        "machine_loaded",
        f"The load average was {load:.2f} on {cores} cores before the measurement: something else was running. "
        "Stop it and run again.",
    )


def apart() -> Warning:
    """Two runs that weren't measured in one session."""
    return Warning(
        "apart",
        "Not measured in one session with the baseline: rounds can't be paired, and the machine's drift between the two "
        "sessions is inside the difference. Verdicts are conditional on these two sessions. Measure both in one `run`.",
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
        "runs_differ", f"Its runs differ in {what}: {', '.join(values)}. Their spread holds that difference."
    )


def unmatched(what: str) -> Warning:
    """Something that only one of two runs has."""
    return Warning("unmatched", f"Only one of the two runs has {what}: it is not compared.")


def one_run_a_side() -> Warning:
    """A side of one run."""
    return Warning(
        "one_run_a_side",
        "Run once: intervals cover what varies inside a run (from block to block, from slot to slot, from host to host), not what differs "
        "between two runs of one build. Verdicts are conditional on these runs: a difference may be the run's, not the target's. "
        f"Run each build {ENOUGH_RUNS} times and name all runs of it, with commas.",
    )


def round_left_out(number: int, why: str) -> Warning:
    """A round of runs that took turns, of which not all are there and whole."""
    return Warning("round_left_out", f"Round {number} is not compared: {why}. The other rounds are.")


def mixed_cluster(untold: Sequence[str]) -> Warning:
    """Two targets shared the hosts of one cluster; the decisive metrics that only a cluster as a whole has."""
    what = f" {listed(list(untold))} are of the whole cluster and not compared." if untold else ""
    return Warning(
        "mixed_cluster",
        "Both ran in one cluster: a difference is what a target does on its own host. What a slow one passes on to its neighbours slows both sides, and is in no difference, "
        f"so that a cluster of one target alone differs by more.{what} Runs in turns show it.",
    )


def drifting_rounds(subject: str, correlation: float, p: float) -> Warning:
    """Ratios of consecutive rounds resemble each other; their lag-1 autocorrelation, and the p-value of none."""
    return Warning(
        "drifting_rounds",
        f"The ratio of a round resembles that of the round before (autocorrelation {correlation:.2f}, p {p_value(p)}): something drifted that does "
        "not touch both targets alike. Intervals are wider for it. Find what else ran, or run again with more rounds.",
        subject,
    )


def drifting_blocks(subject: str, correlation: float, p: float) -> Warning:
    """Ratios of consecutive blocks resemble each other; their lag-1 autocorrelation, and the p-value of none."""
    return Warning(
        "drifting_blocks",
        f"The ratio of a block resembles that of the block before (autocorrelation {correlation:.2f}, p {p_value(p)}): something drifted that does "
        "not touch both targets alike, as a warm-up does. Intervals are wider for it. Follow for longer.",
        subject,
    )


def unshared_blocks(subject: str, blocks: int) -> Warning:
    """Blocks at a node's tip that count for one of two clients only."""
    return Warning(
        "unshared_blocks",
        f"{counted(blocks, 'block')} count{'s' if blocks == 1 else ''} for one of the two clients only, and {'is' if blocks == 1 else 'are'} in medians but in no ratio: around roll-backwards "
        "a node doesn't announce the same to all, and a client that is still busy isn't waiting.",
        subject,
    )


def few_blocks_at_tip(subject: str, blocks: int) -> Warning:
    """Too few blocks at a node's tip for any verdict."""
    return Warning(
        "few_blocks_at_tip",
        f"{counted(blocks, 'block')} can't tell a difference from noise: no verdict is given below {ENOUGH_BLOCKS}. "
        "Follow for longer.",
        subject,
    )


def one_process_compared() -> Warning:
    """A side with one process."""
    return Warning(
        "one_process",
        "One process: intervals cover what varies inside it only, and no verdict about the build is given. Record at least 5 per build.",
    )


def two_processes() -> Warning:
    """A side with two processes."""
    return Warning(
        "two_processes",
        "Two processes: they are too often alike by chance to show how far others would lie, and no verdict about the build is given. "
        "Record at least 5 per build.",
    )


def gc_inside(share: float) -> Warning:
    """GC pauses are in the totals; the share is of all time."""
    return Warning(
        "gc_inside",
        f"{share:.0%} of the total time is GC: a difference in total time may come from when the collector ran. Read mutator time beside it.",
    )


def clusters(edges: Sequence[float], unit: str) -> Warning:
    """Costs come in clusters, with these edges between them."""
    shown = ", ".join(f"{edge:,.0f}" for edge in edges)
    return Warning(
        "clusters",
        f"Costs come in {len(edges) + 1} clusters, with edges near {shown} {unit}: a quantile near an edge is of another kind of block "
        "on either side, and a spread across one is no noise. Read the ratios block by block.",
    )


def thin_quantiles(quantiles: Sequence[str], needed: int) -> Warning:
    """Quantiles that rest on few blocks."""
    return Warning("thin_quantiles", f"Resting on fewer than {needed} blocks: the quantiles {', '.join(quantiles)}.")


def few_blocks(needed: int, blocks: int, slots: Sequence[int], share: float) -> Warning:
    """A difference of sums of which half comes from few blocks, in these slots (the first of them), with this share of the cost."""
    named = ", ".join(map(str, slots)) + (" and more" if needed > len(slots) else "")
    return Warning(
        "few_blocks",
        f"Half of the difference in the sum comes from {needed} of {blocks:,} blocks (slot {named}), which hold {share:.1%} of the "
        "cost: look at those.",
    )


def coarse(metric: str, typical_us: float, *, whole: bool) -> Warning:
    """Costs near the resolution: that of whole microseconds, or of the clock."""
    limit = (
        f"takes {typical_us:.0f} us, and times are cut to whole microseconds"
        if whole
        else f"takes {1000 * typical_us:.0f} ns, of which reading the clock is a part"
    )
    return Warning("coarse", f"A typical block {limit}: only sums are compared.", metric)


def lacking(metric: str) -> Warning:
    """A metric that not all runs of a pair of sides have."""
    return Warning("lacking", f"'{metric}' is not compared: not all of its runs and the baseline's have it.")


def not_interleaved(order: str) -> Warning:
    """Targets that weren't recorded in turns; ``order`` has how that is known."""
    return Warning(
        "not_interleaved",
        f"{order[:1].upper()}{order[1:]}: what the machine drifted in between is inside the difference, and no verdict is given. Measure both in one "
        "session, or record them in turns and import them with one --session, or with a study file that has interleaved = true.",
    )


def shown(value: object) -> str:
    """Returns a value as warnings show it: numbers with commas, of a list the first few."""
    if isinstance(value, list):
        return _some([str(one) for one in value])
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
