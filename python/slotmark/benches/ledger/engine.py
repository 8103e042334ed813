"""Our own replay engine: where its program is, and which files it reads."""

import hashlib
import re
import subprocess
from functools import cache
from pathlib import Path

from slotmark.errors import ArgumentError, TargetError, did_you_mean
from slotmark.measure.shipped import built_program
from slotmark.run import SourceFile

ROCKSDB = "rocksdb"
"""A store that the engine has where it was built with the feature of this name: it takes ten minutes to build."""

PROGRAM = "slotmark-replay"

_BESIDE = ("byron", "alonzo", "conway")
"""The eras whose genesis files it reads beside Shelley's, where they are there."""


def program() -> Path:
    """The engine's program; TargetError where it isn't built."""
    return built_program(PROGRAM, "the replay engine")


@cache
def backends() -> tuple[str, ...]:
    """The stores that the engine was built with, in its order; each is a target of this name. TargetError where it isn't built."""
    usage = subprocess.run([program(), "-h"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"--backend .*?\[possible values: (.*?)\]", usage, re.DOTALL)
    if found is None:
        raise TargetError(
            f"{program()} -h names no stores: expected the replay engine of this slotmark. Run `make setup`."
        )
    return tuple(name.strip() for name in found[1].split(","))


def refuse_unknown_store(where: str, store: str) -> None:
    """Raises ArgumentError, which begins with ``where``, unless the engine can keep unspent outputs in this store."""
    if store in backends():
        return
    if store == ROCKSDB:
        raise ArgumentError(
            f"{where}: this replay engine is built without RocksDB. Build it with `cargo build --release --package {PROGRAM} --features {ROCKSDB}`, which needs clang."
        )
    raise ArgumentError(
        f"{where}: no such store.{did_you_mean(store, (*backends(), ROCKSDB))} There are {', '.join(backends())}."
    )


def genesis_files(shelley: Path) -> list[SourceFile]:
    """The genesis files that it reads where it is given a Shelley genesis file, which is the first of them.

    Raises:
        ArgumentError: One of them can't be read.
    """
    beside = (shelley.with_name(_name_beside(shelley.name, era)) for era in _BESIDE)
    return [_identified(path) for path in (shelley, *(path for path in beside if path.exists()))]


def _name_beside(shelley: str, era: str) -> str:
    """Returns the name of an era's genesis file where Shelley's has this name, by the engine's rule (``genesis_beside`` of crates/network)."""
    return shelley.replace("shelley", era, 1) if "shelley" in shelley else f"{era}-genesis.json"


def _identified(path: Path) -> SourceFile:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return SourceFile(str(path), file.tell(), digest)
    except OSError as error:
        raise ArgumentError(
            f"--genesis: {path} can't be read ({error.strerror}). Give the network's Shelley genesis file."
        ) from error
