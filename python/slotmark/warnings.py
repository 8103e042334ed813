"""Warnings about a measurement, as data, and the kinds that need no catalogue: those of sessions, machines and sides of any bench.

Each of these kinds is one constructor here, with the sentence that a reader sees: what was seen, and what to do. The kinds of one bench are in its
folder, in ``warnings.toml``; those of estimators, for benches without words of their own, in ``metrics/warnings.toml``. Manifests keep the warnings
about one run, comparisons those about a set of runs; reports print both.
"""

from collections.abc import Sequence

import msgspec

from slotmark.numbers import fixed, number

_SHOWN = 5

ENOUGH_ROUNDS = 5
"""The fewest rounds with a verdict."""

SHOWING_ROUNDS = 20
"""The number of rounds that mostly show whether their ratios resemble the ones before; with fewer, intervals are wide in case they do."""

ENOUGH_EVENTS = 10
"""The fewest events that two targets met at the same time, as the blocks of a node, with a verdict."""

ENOUGH_RUNS = 3
"""With fewer runs on a side, verdicts are conditional on these runs; of processes of a build, there are none."""

KINDS = (
    "builds_differ",
    "different",
    "earlier_runs_left_out",
    "insecure_ray",
    "machine_loaded",
    "resumed",
    "round_left_out",
    "run_left_out",
    "runs_differ",
    "unexplained",
    "unmatched",
    "unplanned",
)
"""The kinds that are constructed here. A bench has more, by its catalogue."""

STOPPING = ("builds_differ", "different")
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


def different(what: str, first: str, here: str, called: str) -> Warning:
    """Two sides that differ in something which should be equal: in words what, its values, and how the first side is called."""
    return Warning(
        "different", f"{what} differs: {first} for {called}, {here} here. The difference may come from that."
    )


def runs_differ(what: str, values: Sequence[str]) -> Warning:
    """Runs of one side that should be alike and aren't."""
    return Warning(
        "runs_differ", f"Its runs differ in {what}: {', '.join(values)}. Their spread includes that difference."
    )


def builds_differ(what: str, values: Sequence[str]) -> Warning:
    """Runs of one side that are of several builds."""
    return Warning(
        "builds_differ",
        f"Its runs are of several builds, which differ in {what}: {', '.join(values)}. Figures are means over all of them, and a build that is worse may not show. Give each a side of its own.",
    )


def unmatched(what: str, having: str, lacking: str) -> Warning:
    """Something that one of two sides has and the other lacks, which are named."""
    return Warning("unmatched", f"{having} has {what}, and {lacking} does not: they are not compared in it.")


def unplanned(names: Sequence[str]) -> Warning:
    """Decisive metrics of which runs don't show how much they vary, so that no number of runs is known to decide them."""
    return Warning(
        "unplanned",
        f"{_some(names)}: decisive, and not in the plan: these runs don't record it, or too little to show how it varies, or its mean is 0. Comparisons of such runs may never "
        "allow SHIP.",
    )


def round_left_out(number: int, why: str) -> Warning:
    """A round of runs that took turns, of which not all are there and whole."""
    return Warning("round_left_out", f"Round {number} is not compared: {why}. The other rounds are.")


def run_left_out(name: str, why: str) -> Warning:
    """A run that is not what the others of its build are."""
    return Warning("run_left_out", f"{name} is not counted: {why}. The other runs are.")


def without_others(left_out: Sequence[Warning]) -> str:
    """The reasons why runs and rounds are left out, as text for where too few are left: without the sentences about the others."""
    return " ".join(
        one.text.removesuffix(" The other rounds are.").removesuffix(" The other runs are.") for one in left_out
    )


def earlier_runs_left_out(folder: str, why: str) -> Warning:
    """Runs of a folder that don't show how much the compared runs differ; with the reasons."""
    return Warning(
        "earlier_runs_left_out",
        f"Not all runs in {folder} show how much runs of one build differ. Left out: {why}.",
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
