"""Requests to the bench: the options of `slotmark ledger run`, `ledger stores`, `ledger noise` and `ledger import`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from slotmark.errors import ArgumentError
from slotmark.numbers import plain
from slotmark.options import (
    MOST_SEED,
    Option,
    ResumeOption,
    SeedOption,
    duration_s,
    duration_us,
    memory_bytes,
    whole_number,
)
from slotmark.places import folder_of_option


def _names(_option: str, text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


LONGEST_PAUSE_US = 3_600_000_000
"""The longest idle time before a block: with a longer one, a few blocks take a day."""


def idle_us(option: str, text: str) -> int:
    """An idle time such as ``200ms``, in microseconds; ArgumentError where it isn't one, or is neither 0 nor from 1 us to an hour."""
    found = duration_us(option, text)
    if found and not 1 <= found <= LONGEST_PAUSE_US:
        raise ArgumentError(f"{option} '{text}': expected a time from 1us to 1h, or 0s for none.")
    return round(found)


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """A replay in a session of any kind; the texts of its options are those of `slotmark ledger run --help`."""

    chain: Annotated[Path, Option("The ImmutableDB folder to replay.", "DIR")]
    genesis: Annotated[
        Path | None,
        Option("Shelley genesis file: with it slotmark's engine also checks headers and finds all inputs.", "FILE"),
    ] = None
    config: Annotated[
        Path | None,
        Option("The node's configuration file for db-analyser; by default config.json beside --genesis.", "FILE"),
    ] = None
    blocks: Annotated[int | None, Option("How many blocks, from the first one on; all by default.", least=1)] = None
    seed: SeedOption = 1
    flush_every: Annotated[int, Option("Blocks between two flushes of slotmark's stores to disk.", least=1)] = 100
    reapply: Annotated[
        bool,
        Option(
            "Blocks are known to be valid: slotmark's engine checks no header and no transaction, and db-analyser gets --reapply."
        ),
    ] = False
    timeout_s: Annotated[
        float, Option("Time limit of one process.", "TIME", ("--timeout",), parse=duration_s, default="6h")
    ]
    resume: ResumeOption = False


class Request(Replay, frozen=True, kw_only=True):
    """A session that is asked for; the texts of its options are those of `slotmark ledger run --help`.

    Attributes beyond its options:
        skip: How many of the blocks are replayed and left out, from the first on.
        against_itself: Whether each target is there twice, with -a and -b behind its name.
        also_recorded: What else to write down as parameters of a target's run, by its name.
    """

    out: Annotated[
        Path,
        Option(
            "The folder for the run folders, one per target; of a matrix, its store.",
            "DIR",
            ("-o", "--out"),
            after="chain",
        ),
    ]
    backends: Annotated[
        Sequence[str],
        Option(
            "slotmark's engine, with the unspent outputs in one of its stores, as memory, lsm, lmdb.",
            "NAME,...",
            ("--backend",),
            parse=_names,
            after="out",
        ),
    ] = ()
    targets: Annotated[
        Sequence[str],
        Option(
            "db-analyser, with automatic flags, or any command with {chain} and {out} in it (docs/replay.md); again for more.",
            "NAME=COMMAND",
            ("--target",),
            after="backends",
        ),
    ] = ()
    rounds: Annotated[int, Option("Processes of each target; they take turns.", least=1, after="config")] = 5
    memory_limit_bytes: Annotated[
        int | None,
        Option(
            "Limit for each process with its page cache, as 200MB; none by default.",
            "SIZE",
            ("--memory-limit",),
            parse=memory_bytes,
            after="timeout_s",
        ),
    ] = None
    pause_us: Annotated[
        int,
        Option(
            "Idle time of slotmark's engine before each block, as 200ms: a processor that was idle, as a node's is, takes longer; none by default.",
            "TIME",
            ("--pause",),
            parse=idle_us,
            after="reapply",
        ),
    ] = 0
    skip: int = 0
    against_itself: bool = False
    also_recorded: Mapping[str, Mapping[str, str]] = {}

    def parameters(self) -> dict[str, Any]:
        """Parameters that decide the run, as they are recorded."""
        return {
            "rounds": self.rounds,
            "seed": self.seed,
            "genesis": "given" if self.genesis else "none",
            "flush every": self.flush_every,
            "memory limit": "none" if self.memory_limit_bytes is None else f"{self.memory_limit_bytes:,} bytes",
            "idle before each block": f"{plain(self.pause_us / 1e3)} ms" if self.pause_us else "none",
            **({"blocks left out": self.skip} if self.skip else {}),
        }


class StoresRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A session of stores alone; the texts of its options are those of `slotmark ledger stores --help`."""

    stores: Annotated[
        Sequence[str],
        Option(
            "Our stores, as memory, lsm, lmdb; NAME=STORE gives one a name.", "NAME,...", ("--store",), parse=_names
        ),
    ]
    out: Annotated[Path, Option("A run folder per store and round is written below it.", "DIR", ("-o", "--out"))]
    entries: Annotated[
        int,
        Option(
            "Number of entries before the first batch, as 250k or 10M.",
            "NUMBER",
            parse=whole_number,
            default="1M",
        ),
    ]
    batches: Annotated[
        int | None,
        Option(
            "Batches of 256 look-ups, inserts and deletes; 10,000 by default, or as many as there are entries for.",
            "NUMBER",
            parse=whole_number,
        ),
    ] = None
    pipelined: Annotated[
        bool, Option("Look up while the changes of the batch before are written; one after the other by default.")
    ] = False
    readers: Annotated[
        int,
        Option("Threads that look up the keys of a batch of a store on disk; its reads wait side by side.", least=1),
    ] = 8
    rounds: Annotated[int, Option("Processes of each store; they take turns.", least=1)] = 5
    seed: Annotated[
        int, Option("Seed of keys, values and batches, and of the order within rounds.", least=0, most=MOST_SEED)
    ] = 1
    memory_limit_bytes: Annotated[
        int | None,
        Option(
            "Memory limit of each process with its page cache, as 512MB; none by default.",
            "SIZE",
            ("--memory-limit",),
            parse=memory_bytes,
        ),
    ] = None
    proof: Annotated[
        int,
        Option(
            "Operations by which each store is proven before it is measured.",
            "NUMBER",
            parse=whole_number,
            default="100k",
        ),
    ]
    timeout_s: Annotated[
        float, Option("Time limit of one process.", "TIME", ("--timeout",), parse=duration_s, default="6h")
    ]
    resume: ResumeOption = False


class NoiseRequest(Replay, frozen=True, kw_only=True):
    """A measurement of a machine's noise; the texts of its own options are those of `slotmark ledger noise --help`."""

    backend: Annotated[
        str | None, Option("slotmark's engine with one of its stores; memory by default.", "NAME", after="chain")
    ] = None
    target: Annotated[
        str | None,
        Option("A target instead of slotmark's engine, as for `ledger run`.", "NAME=COMMAND", after="backend"),
    ] = None
    rounds: Annotated[int, Option("Processes of each of the two sides.", least=3, after="config")] = 10
    out: Annotated[
        Path | None,
        Option("The new file, instead of the one kept for this machine.", "FILE", ("-o", "--out"), after="timeout_s"),
    ] = None

    resume: Annotated[bool, Option("Continue the interrupted measurement.")] = False

    def session(self, out: Path) -> Request:
        """The session of the target against itself, in a folder. Raises ArgumentError where two targets are given."""
        if self.backend and self.target:
            raise ArgumentError("give one target: --backend NAME or --target NAME='COMMAND'.")
        shared = {name: getattr(self, name) for name in Replay.__struct_fields__}
        return Request(
            **shared,
            backends=[] if self.target else [self.backend or "memory"],
            targets=[self.target] if self.target else [],
            rounds=self.rounds,
            out=out,
            against_itself=True,
        )


def _factors(option: str, texts: Sequence[str]) -> dict[str, str]:
    factors: dict[str, str] = {}
    for text in texts:
        name, equals, level = (part.strip() for part in text.partition("="))
        if not (name and equals and level):
            raise ArgumentError(f"{option} '{text}': expected NAME=LEVEL, as in ghc=9.6.")
        if name in factors:
            raise ArgumentError(f"{option} '{text}': '{name}' was given before, as {factors[name]}. Leave one out.")
        factors[name] = level
    return factors


class ImportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Files to import; the texts of its options are those of `slotmark ledger import --help`."""

    files: Annotated[
        Sequence[Path],
        Option("Files of one target, each one process; or a folder with a study.toml.", "FILE...|STUDY", argument=True),
    ]
    out: Annotated[
        Path,
        Option(
            "The new run folder; for a study, the folder for its run folders.",
            "DIR",
            ("-o", "--out"),
            parse=folder_of_option,
        ),
    ]
    target: Annotated[str | None, Option("The target's name; the folder's by default.")] = None
    factors: Annotated[
        Mapping[str, str],
        Option(
            "What distinguishes the target, as ghc=9.6; again for more.",
            "NAME=LEVEL",
            ("--factor",),
            parse=_factors,
            typed=list[str],
        ),
    ] = {}
    session: Annotated[str, Option("The session in which targets took turns: verdicts need a common one.", "NAME")] = ""
    subtract_table_read: Annotated[bool, Option("Subtract the table read from totals that include it.")] = False
