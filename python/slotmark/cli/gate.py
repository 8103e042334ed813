"""Gates: from options to the policy that decides, and from a decision to the exit code."""

import tomllib
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from slotmark.errors import ArgumentError, did_you_mean
from slotmark.options import Option, fraction
from slotmark.texts import parsed_toml, toml_text
from slotmark.verdict import Conditional, Verdict

if TYPE_CHECKING:
    from slotmark.compare import Comparison, Policy
    from slotmark.compare.earlier import Source
    from slotmark.compare.release import FindEarlier
    from slotmark.run import Run

EXIT_CODES = {"ship": 0, "hold": 1, "run again": 3}
"""By the answer of a decision."""


RunToRunOption = Annotated[
    Path | None,
    Option(
        "The variation between runs of one build: a table from `slotmark spread`, or a folder of earlier runs. By default the table that comes with slotmark for the runs' cluster, if there is one.",
        "PATH",
    ),
]


EarlierStoreOption = Annotated[
    str | None,
    Option(
        "A store of runs (`slotmark store add`): runs in it of the same bench, work and machine show how much runs of one build differ.",
        "STORE",
        ("--store",),
    ),
]


class FailOn(StrEnum):
    """The verdicts that make the command fail."""

    worse = Verdict.WORSE.value
    undecided = Verdict.UNDECIDED.value


class Deciding(msgspec.Struct, frozen=True, kw_only=True):
    """Options of what decides to ship, and of what is known of runs and machine beforehand; see `slotmark compare --help`."""

    policy: Annotated[
        Path | None,
        Option(
            "The policy of the decision: TOML with ranks, margins, accepted regressions. Exit 0 to ship, 1 to hold, 3 to run again.",
            "FILE",
        ),
    ] = None
    run_to_run: RunToRunOption = None
    earlier_store: EarlierStoreOption = None
    show_policy: Annotated[bool, Option("Print the default policy of these runs as a policy file, and end.")] = False
    fail_on: Annotated[
        FailOn | None,
        Option(
            f"{Verdict.WORSE}: exit 1 when a metric is {Verdict.WORSE}. {Verdict.UNDECIDED}: also exit 3 when one has no verdict."
        ),
    ] = None
    conditional: Annotated[
        Conditional | None,
        Option(
            "Effect of conditional verdicts, which are valid for these runs only: count like any other (the default of a gate), only hold a release (the default except for single cluster runs), or none."
        ),
    ] = None
    gate: Annotated[
        Path | None,
        Option(
            'Only these metrics are decisive; exit 1 when one is worse: TOML, a line per metric with its margin, as forge_ticked = "3%".',
            "FILE",
        ),
    ] = None
    noise: Annotated[
        Path | None,
        Option(
            "The machine's noise, from `ledger noise -o FILE`: print beforehand which changes are too small to find. By default the file kept for the machine.",
            "FILE",
        ),
    ] = None

    @property
    def gates(self) -> bool:
        """True where the exit code follows the decision."""
        return bool(self.policy or self.gate or self.fail_on)


def spread_source(run_to_run: Path | None, store: str | None, runs: "Sequence[Run]") -> "Source | None":
    """Returns what shows how much runs of one build differ, by what was named: a file or folder, or the runs of a store; None for neither.

    Raises:
        ArgumentError: Both were named.
        StoreError: There is no such store, or it is damaged.
    """
    if store is None:
        return run_to_run
    if run_to_run is not None:
        raise ArgumentError("--run-to-run and --store both name how much runs of one build differ. Give one of them.")
    return find_earlier(store)(runs)


def find_earlier(store: str) -> "FindEarlier":
    """Returns what finds earlier runs in a store, without those that readers left out. StoreError where there is no such store."""
    from slotmark.history import open_store
    from slotmark.history.earlier import runs_like
    from slotmark.places import place

    opened = open_store(place(store))
    return lambda runs: runs_like(opened, runs)


def deciding_policy(bench: str, asked: Deciding) -> "Policy | None":
    """The policy that the options make for a bench; errors as of :class:`Decides`."""
    return Decides(asked).of(bench)


class Decides:
    """Policies by the options of a command. Their file is read once, here: a pipe can't be read again, and rounds that go on for hours go by one policy.

    Attributes:
        content: The text of the policy's file, or of the gate's; empty without either.

    Raises:
        ArgumentError: There are a policy and a gate, or the gate's file can't be read.
        ComparisonError: The policy's file can't be read.
    """

    def __init__(self, asked: Deciding) -> None:
        from slotmark.compare.deciding.policy import policy_file

        if asked.policy and asked.gate:
            raise ArgumentError("--policy and --gate both name what decides. Give one of them.")
        self._asked = asked
        self.content = policy_file(asked.policy) if asked.policy else _gate_file(asked.gate) if asked.gate else ""

    def of(self, bench: str) -> "Policy | None":
        """The policy of a bench: of the file, of the gate's metrics alone, of all tested metrics; None where no option makes one.

        Raises:
            ArgumentError: The gate's file is none.
            ComparisonError: The policy's file is none.
        """
        from slotmark.compare.deciding.policy import Policy, only, policy_in, tested_metrics

        policy, gate, conditional = self._asked.policy, self._asked.gate, self._asked.conditional
        if policy:
            found = policy_in(self.content, policy, bench)
        elif gate or self._asked.fail_on:
            tested = [metric.id for metric in tested_metrics(bench)]
            decisive = _gated(self.content, gate, tested) if gate else dict.fromkeys(tested)
            found = only(decisive, bench, gate.name if gate else "all tested metrics", needs_all=gate is not None)
        elif conditional:
            found = Policy()
        else:
            return None
        return msgspec.structs.replace(found, conditional=conditional) if conditional else found


def refuse_blind_gate(comparison: "Comparison", gate: "Policy | None") -> None:
    """Raises ArgumentError where a gated metric has no verdict for some candidate: a gate that sees nothing must not let it pass."""
    gated = [metric for metric, rank in (gate.ranks if gate else {}).items() if rank == "decisive"]
    for place, side in enumerate(comparison.candidates):
        seen = _metrics_seen(comparison, place)
        for metric in gated:
            if metric not in seen:
                raise ArgumentError(
                    f"--gate: nothing was compared in '{metric}' for {side.name}: the runs don't have it, or such runs aren't compared by it. Leave it out."
                )


def _metrics_seen(comparison: "Comparison", place: int) -> set[str]:
    """The ids of the metrics in which a candidate was compared with the baseline."""
    return {
        row.metric.id
        for row in comparison.rows
        if (difference := row.differences[place]) is not None and difference.verdict is not None
    }


def exit_code(comparison: "Comparison", asked: Deciding) -> int:
    """Returns the exit code: by the decision where the options ask for that, else 0.

    Where nothing is decided, as where a policy ranks no metric as decisive, it is that of ``run again``. With a policy or a gate that one fails too unless
    ``--fail-on`` is ``worse``; where nothing was compared for some candidate, it always does.
    """
    answer = comparison.decision.answer if comparison.decision else "run again"
    holds, fail_on = asked.gates, asked.fail_on
    seen = all(_metrics_seen(comparison, place) for place in range(len(comparison.candidates)))
    unclear = fail_on is FailOn.undecided or (holds and (fail_on is None or not seen))
    fails = {"hold": holds, "run again": unclear}
    return EXIT_CODES[answer] if fails.get(answer) else 0


def _gate_file(path: Path) -> str:
    """Returns the text of a gate's file. ArgumentError where it can't be read."""
    try:
        return toml_text(path)
    except OSError as error:
        raise ArgumentError(f"--gate {path}: can't be read ({error.strerror}). Give a TOML file.") from error
    except UnicodeDecodeError as error:
        raise _no_gate(path, error) from error


def _no_gate(path: Path, error: Exception) -> ArgumentError:
    return ArgumentError(f'--gate {path}: not TOML ({error}). Expected lines as forge_ticked = "3%".')


def _gated(text: str, path: Path, tested: Sequence[str]) -> dict[str, float | None]:
    """The margins of a gate's metrics, by metric id: TOML with lines as ``forge_ticked = "3%"``.

    Args:
        text: The text of the file.
        path: The file.
        tested: The metrics that there are.

    Raises:
        ArgumentError: It is no such TOML, or it names another metric.
    """
    try:
        entries = parsed_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise _no_gate(path, error) from error
    if not entries:
        raise ArgumentError(f'--gate {path}: names no metric. Expected lines as forge_ticked = "3%".')
    for metric in entries:
        if metric not in tested:
            raise ArgumentError(
                f"--gate {path}: '{metric}' isn't tested.{did_you_mean(metric, tested)} Tested are: {', '.join(tested)}."
            )
    return {metric: fraction(f"--gate {path}: {metric}", str(share)) for metric, share in entries.items()}
