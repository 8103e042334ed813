"""Targets: our engine over one of its stores, or any command by the contract of docs/replay.md."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slotmark.benches.ledger import db_analyser
from slotmark.benches.ledger.engine import program, refuse_unknown_store
from slotmark.errors import ArgumentError

_PLACE = re.compile(r"\{(chain|out|state|db|blocks|prepared)\}")


class Program(msgspec.Struct, frozen=True):
    """A command that replays a chain.

    Attributes:
        name: As the user calls it; its run folder's name too.
        words: The words that start it, with ``{chain}`` or ``{db}``, ``{out}`` and ``{state}`` in them.
        ours: Whether it is our engine.
        with_prepared: Arguments by which our engine takes ``{prepared}`` in place of a genesis.
        from_snapshot: Whether it begins at a snapshot of the ledger, so that those beside the chain are in ``{db}`` too.
    """

    name: str
    words: tuple[str, ...]
    ours: bool = False
    with_prepared: tuple[str, ...] = ()
    from_snapshot: bool = False

    def command(
        self, *, chain: Path, out: Path, state: Path, db: Path, blocks: int, prepared: Path | None = None
    ) -> list[str]:
        """The words with a chain's folder, a file to write, an empty folder to use, a node's database and a number of blocks put in.

        Each place is filled once: a path that looks like a place stays a path. Our engine takes what was prepared in the place of the genesis.
        """
        places = {"chain": str(chain), "out": str(out), "state": str(state), "db": str(db), "blocks": str(blocks)}
        words = self.words
        if prepared and self.with_prepared:
            words, places["prepared"] = self.with_prepared, str(prepared)
        return [_PLACE.sub(lambda found: places.get(found[1], found[0]), word) for word in words]


def engines(
    backends: Sequence[str],
    *,
    genesis: Path | None,
    blocks: int | None,
    flush_every: int,
    reapply: bool = False,
    pause_us: int = 0,
) -> list[Program]:
    """Our engine over these stores, each called as its store or, of ``name=store``, by the name. ArgumentError where there is no such store."""
    found = []
    for text in backends:
        name, _, store = text.rpartition("=")
        refuse_unknown_store(f"--backend {store}", store)
        before = (
            *(str(program()), "--chain", "{chain}", "--out", "{out}", "--state", "{state}", "--backend", store),
            *("--flush-every", str(flush_every)),
            *(["--reapply"] if reapply else []),
            *(["--pause-us", str(pause_us)] if pause_us else []),
        )
        after = ("--blocks", str(blocks)) if blocks else ()
        words, with_prepared = (*before, *after), ()
        if genesis:
            words = (*before, "--genesis", str(genesis), *after)
            with_prepared = (*before, "--prepared", "{prepared}", *after)
        found.append(Program(name or store, words, ours=True, with_prepared=with_prepared))
    return found


def commands(given: Sequence[str], work: db_analyser.Work) -> list[Program]:
    """Programs from arguments such as ``base='CMD {chain} {out}'`` or ``db-analyser``, which is to do this work.

    Raises:
        ArgumentError: One isn't of that form.
        TargetError: db-analyser isn't there, or lacks a flag.
    """
    found = []
    for text in given:
        name, equals, command = text.partition("=")
        name = name.strip()
        if not equals and name.split()[:1] == [db_analyser.NAME]:
            name, equals, command = db_analyser.NAME, "=", text
        try:
            words = tuple(shlex.split(command))
        except ValueError as error:
            raise ArgumentError(f"--target '{text}': {error}. Close every quote.") from error
        if not (name and equals and words) or "/" in name or name.startswith("."):
            raise ArgumentError(
                f"--target '{text}': expected NAME='COMMAND {{chain}} {{out}}' or {db_analyser.NAME}, with a name that can be a folder's."
            )
        if db_analyser.is_meant(words):
            completed = db_analyser.complete(f"--target '{text}'", words, work)
            found.append(Program(name, tuple(completed), from_snapshot=work.after is not None))
            continue
        if not any("{out}" in word for word in words):
            raise ArgumentError(
                f"--target '{text}': there is no place for the output. Put {{out}} where the command expects the name of its file."
            )
        found.append(Program(name, words))
    return found


def refuse_same_names(programs: Sequence[Program]) -> None:
    """Raises ArgumentError where two targets have one name, or there is none."""
    names = [one.name for one in programs]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"two targets are called '{name}'. Name each target once.")
    if not names:
        raise ArgumentError("nothing to measure. Give --backend, as memory,lsm,lmdb, or --target NAME='COMMAND'.")
