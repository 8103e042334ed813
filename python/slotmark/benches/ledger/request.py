"""What the bench is asked for: the options of `slotmark ledger run`, and those that `slotmark ledger noise` has of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from slotmark.options import Option, ResumeOption, SeedOption, duration_s, memory_bytes

ChainOption = Annotated[Path, Option("The ImmutableDB folder to replay.", "DIR")]
FlushOption = Annotated[int, Option("Blocks between two flushes of our stores to disk.", least=1)]
TimeoutOption = Annotated[float, Option("Of one process.", "TIME", ("--timeout",), parse=duration_s, default="6h")]


def _names(_option: str, text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is asked for; the texts of its options are those of `slotmark ledger run --help`.

    Attributes beyond its options:
        skip: How many of the blocks are replayed and left out, from the first on.
        against_itself: Whether each target is there twice, with -a and -b behind its name.
        also_recorded: What else to write down as parameters of a target's run, by its name.
    """

    chain: ChainOption
    out: Annotated[
        Path,
        Option("A run folder a target is written below it; of a plan, its store.", "DIR", ("-o", "--out")),
    ]
    backends: Annotated[
        Sequence[str],
        Option("Our engine, with its unspent outputs in: memory, lsm, lmdb.", "NAME,...", ("--backend",), parse=_names),
    ] = ()
    targets: Annotated[
        Sequence[str],
        Option(
            "db-analyser, whose flags are found, or any command with {chain} and {out} in it (docs/replay.md); again for more.",
            "NAME=COMMAND",
            ("--target",),
        ),
    ] = ()
    genesis: Annotated[
        Path | None, Option("Shelley genesis file: our engine checks headers too, and finds all inputs.", "FILE")
    ] = None
    config: Annotated[
        Path | None,
        Option("The node's configuration file for db-analyser; config.json beside --genesis.", "FILE"),
    ] = None
    rounds: Annotated[int, Option("Processes of each target; they take turns.", least=1)] = 5
    blocks: Annotated[int | None, Option("How many blocks, from the first one on; all by default.", least=1)] = None
    seed: SeedOption = 1
    flush_every: FlushOption = 100
    timeout_s: TimeoutOption
    memory_limit_bytes: Annotated[
        int | None,
        Option(
            "Of each process and what it has in the page cache, as 200MB; none by default.",
            "SIZE",
            ("--memory-limit",),
            parse=memory_bytes,
        ),
    ] = None
    resume: ResumeOption = False
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
            **({"blocks left out": self.skip} if self.skip else {}),
        }
