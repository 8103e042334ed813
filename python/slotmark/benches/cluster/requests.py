"""Requests to commands on simulated clusters and on logs: the options of `slotmark ingest`, `simulate`, `predict`, `forecast` and `cluster create`."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from slotmark.benches.cluster.sweep import Spacing
from slotmark.errors import ArgumentError
from slotmark.numbers import percent, plain
from slotmark.options import MOST_REPEATS, MOST_SEED, Option, duration_us, fraction, words_of
from slotmark.places import Place, place_of_option

if TYPE_CHECKING:
    from slotmark.engine import Shard

CLOCK_LIMIT_MS = 5.0
"""A clock that is farther than this from the one in the middle is wrong, unless another limit is asked for."""

_PROFILE = Option("A TOML file or a shipped profile; `simulate --profiles` lists those.", "PROFILE", argument=True)
ProfileOption = Annotated[str, _PROFILE]


def set_option(examples: str) -> Option:
    """The option ``--set``, with examples of what a command's users change."""
    return Option(f"Change a parameter: {examples}; again for more.", "KEY=VALUE", ("--set",))


_SETTINGS = set_option("ledger_tick.mean=33ms, tps*=2, rtt[us-east-1].mean=1ms")
SettingsOption = Annotated[Sequence[str], _SETTINGS]

_Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
"""Bounds of a number in a file of options; a command line has bounds of its own."""


def _milliseconds(option: str, text: str) -> float:
    return duration_us(option, text) / 1e3


def _in_milliseconds(limit: float) -> str:
    return f"{plain(limit)}ms"


class Shareable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of a command whose work several calls may share: what is the same for all of them.

    Attributes:
        work: The name of the command.
    """

    work: ClassVar[str] = ""

    def options(self) -> dict[str, Any]:
        """The options as JSON has them."""
        return msgspec.json.decode(msgspec.json.encode(self, enc_hook=str))

    def command(self, shard: "Shard", out: Place) -> str:
        """The command that does one shard of it, for a shell."""
        return shlex.join(["slotmark", self.work, *words_of(self), "--shard", str(shard), "-o", str(out)])


def _fields_of(request: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The values that a request has of the fields of what it extends."""
    return {name: getattr(request, name) for name in kind.__struct_fields__}


class Logs(Shareable, frozen=True, kw_only=True):
    """The logs to ingest, and what decides the run that they become."""

    work = "ingest"

    logs: Annotated[
        list[str],
        Option(
            "A folder with a folder or a file of logs for each host, also .gz and .zst; or its URL; or HOST:PATH with --engine ray; again for more.",
            "LOGDIR",
            argument=True,
        ),
    ]
    genesis: Annotated[
        Path | None, Option("The Shelley genesis, where LOGDIR hasn't genesis/genesis.shelley.json.", "FILE")
    ] = None
    meta: Annotated[Path | None, Option("The run's meta.json, where LOGDIR hasn't.", "FILE")] = None
    target: Annotated[str, Option("Name of the target; by default that of meta.json.", "NAME")] = ""
    host_from: Annotated[
        Literal["path", "field"], Option("The host of a line: by its file's path, or by its field 'host'.")
    ] = "path"
    max_rejected: Annotated[
        float,
        Option(
            "Fail, and write nothing, if a larger share of the lines can't be read.",
            "SHARE",
            parse=fraction,
            shown=percent,
        ),
    ] = 0.001
    accept_damaged: Annotated[
        bool, Option("Read damaged packed logs as far as possible; without this option nothing is written then.")
    ] = False
    correct_clocks: Annotated[
        bool, Option("Correct the times of hosts with wrong clocks, by estimates from the messages between hosts.")
    ] = False
    clock_limit_ms: Annotated[
        float,
        Option(
            "How far a clock may differ from the others and still count as right.",
            "TIME",
            ("--clock-limit",),
            parse=_milliseconds,
            shown=_in_milliseconds,
            written=_in_milliseconds,
        ),
    ] = CLOCK_LIMIT_MS

    @property
    def named(self) -> str:
        """The logs as they were named."""
        return self.logs[0] if len(self.logs) == 1 else f"{self.logs[0]} and {len(self.logs) - 1:,} more"


class IngestRequest(Logs, frozen=True, kw_only=True):
    """The logs to ingest, and the settings for it; the texts of its options are those of `slotmark ingest --help`."""

    out: Annotated[
        Place,
        Option(
            "The new run folder, or its URL in an object store; with --shard, the folder that all shards share.",
            "RUN",
            ("-o", "--out"),
            parse=place_of_option,
            after="logs",
        ),
    ]
    threads: Annotated[
        int, Option("How many files to read at once; 0 for the number of cores.", least=0, most=1_024)
    ] = 0

    @property
    def shared(self) -> Logs:
        """The common part of calls that share the reading."""
        return Logs(**_fields_of(self, Logs))


class Simulations(Shareable, frozen=True, kw_only=True):
    """Simulations of a cluster, and what decides their outcome."""

    work = "simulate"

    profile: Annotated[str | None, _PROFILE] = None
    settings: SettingsOption = ()
    seed: Annotated[int, Option("Seed of all random numbers.", least=0, most=MOST_SEED)] = 1
    slots: Annotated[int | None, Option("Slots, instead of the profile's.", least=1)] = None
    topology: Annotated[
        Path | None, Option("JSON with nodes and their producers, instead of the profile's.", "FILE")
    ] = None
    direct: Annotated[
        bool,
        Option("Write the run folder that ingesting the logs would make, and the true events as tables, without logs."),
    ] = False
    repeat: Annotated[
        int | None,
        Option(
            "Make this many runs, with seeds SEED, SEED+1 and so on, in parallel: seed-N in --out, which `compare` takes as one side.",
            least=1,
            most=MOST_REPEATS,
        ),
    ] = None

    def changes(self) -> list[str]:
        """All changes of the profile, those of ``--slots`` and ``--topology`` among them, as ``--set`` has them.

        Raises:
            ArgumentError: The number of slots is set twice, or no profile can have the topology file's name.
        """
        changes = list(self.settings)
        if self.slots is not None:
            if any(change.partition("=")[0].strip() in ("slots", "run.slots") for change in changes):
                raise ArgumentError("--slots and --set run.slots both set the number of slots: leave one out.")
            changes.append(f"run.slots={self.slots}")
        if self.topology is not None:
            path = str(self.topology)
            try:
                path.encode()
            except UnicodeEncodeError:
                raise ArgumentError(f"--topology {path!r}: its name isn't UTF-8. Rename it.") from None
            # TOML has no pairs of surrogates, by which JSON writes what has more than 16 bits.
            changes.append(f'network.topology={{kind="file", path={json.dumps(path, ensure_ascii=False)}}}')
        return changes


class SimulationRequest(Simulations, frozen=True, kw_only=True):
    """A simulated cluster; the texts of its options are those of `slotmark simulate --help`."""

    out: Annotated[
        Place | None,
        Option(
            "The new run directory; with --direct the new run folder, or its URL in an object store; with --shard, the folder that all "
            "shards share. Needed to simulate.",
            "DIR",
            ("-o", "--out"),
            parse=place_of_option,
            after="profile",
        ),
    ] = None

    @property
    def shared(self) -> Simulations:
        """The common part of calls that share the simulations."""
        return Simulations(**_fields_of(self, Simulations))


class Question(Shareable, frozen=True, kw_only=True):
    """A prediction that is asked for; the texts of its options are those of `slotmark predict --help`."""

    work = "predict"

    profile: ProfileOption
    settings: Annotated[list[str], _SETTINGS] = []
    sweep: Annotated[
        str | None, Option("Predict over a range of a parameter: block_size=22kB..180kB.", "PARAM=LOW..HIGH")
    ] = None
    steps: Annotated[
        _Count | None, Option("Number of values of the sweep, including both ends; 7 by default.", least=2)
    ] = None
    spacing: Annotated[
        Spacing, Option("Spacing of the sweep's values; auto: geometric where the range is fourfold or more.")
    ] = Spacing.auto
    against: Annotated[
        str | None,
        Option(
            "Compare with this profile; a PROFILE file that extends nothing needs only the differences from it.",
            "PROFILE",
        ),
    ] = None
    seeds: Annotated[_Count, Option("Simulations of each variant: seeds 1 to N.", least=1, most=MOST_REPEATS)] = 5


class Forecast(Shareable, frozen=True, kw_only=True):
    """A forecast that is asked for; the texts of its options are those of `slotmark forecast --help`."""

    work = "forecast"

    ledger_runs: Annotated[
        list[str],
        Option(
            "A folder with the runs of two builds, as `ledger run` writes it; or BASELINE CANDIDATE, where several runs of one build are "
            "named as A1,A2.",
            "LEDGER_RUNS",
            argument=True,
        ),
    ]
    profile: Annotated[
        str,
        Option(
            "The cluster: a TOML file or a shipped profile; `simulate --profiles` lists those. Unchanged it represents the baseline.",
            "PROFILE",
        ),
    ]
    settings: Annotated[list[str], _SETTINGS] = []
    seeds: Annotated[_Count, Option("Simulations of each side: seeds 1 to N.", least=2, most=MOST_REPEATS)] = 10
