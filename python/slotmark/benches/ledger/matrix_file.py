"""A matrix of measurements, as a file: every target over every fragment of a chain.

rounds = 5                     # processes of each target; 5 by default
memory_limit = "200MB"         # of each process and its page cache; none by default
machine = "bench-1"            # what to call this machine; optional
store = "runs"                 # beside this file; "runs" by default
[[target]]
name = "10.4"
command = "/opt/10.4/db-analyser"   # as behind `--target NAME=`
[[target]]
name = "memory"
backend = "memory"             # our engine
[[fragment]]
name = "dense"
chain = "db/immutable"         # from this file's folder
config = "config.json"
from = 1000                    # the first slot; the chain's first block by default
to = 9999                      # the last slot; or blocks = 500
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from slotmark.benches.ledger.engine import refuse_unknown_store
from slotmark.benches.ledger.request import idle_us
from slotmark.errors import ArgumentError, did_you_mean
from slotmark.texts import read_toml
from slotmark.words import listed

_EXAMPLE = "docs/replay.md shows a matrix."
_LONGEST = 100
_AT = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_PLACE = re.compile(r"\[(\d+)\]")

_Count = Annotated[int, msgspec.Meta(ge=1, le=2**31)]
_Slot = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class MatrixTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A target: a command, or our engine over a store.

    Attributes:
        name: What to call it.
        command: As behind ``--target NAME=``; empty for our engine.
        backend: Store of our engine; empty for a command.
    """

    name: str
    command: str = ""
    backend: str = ""


class Fragment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"begin": "from", "end": "to"}):
    """A stretch of a chain.

    Attributes:
        name: What to call it; its folder's name too.
        chain: The ImmutableDB folder.
        genesis: The Shelley genesis file; empty for none.
        config: The node's configuration file, for db-analyser; empty for none.
        begin: Its first slot, or that of the first block behind it; None for the chain's first block.
        end: Its last slot, or that of the last block before it; None for the chain's last block, or where blocks are counted.
        blocks: How many; None where slots end it.
    """

    name: str
    chain: str
    genesis: str = ""
    config: str = ""
    begin: _Slot | None = None
    end: _Slot | None = None
    blocks: _Count | None = None


class Matrix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A matrix; paths are from its file's folder.

    Attributes:
        target: What is measured.
        fragment: Over what.
        rounds: Processes of each target.
        seed: Seed of the order within rounds.
        flush_every: Blocks between two flushes of our stores to disk.
        reapply: Whether blocks are known to be valid, as ``--reapply``.
        pause: Idle time of our engine before each block, as ``200ms``; all targets are our engine then. Empty for none.
        timeout: Time limit of one process, as ``6h``.
        memory_limit: Memory limit of each process, as ``200MB``; empty for none.
        machine: What to call the machine; empty for no name.
        store: The folder for the runs.
    """

    target: list[MatrixTarget]
    fragment: list[Fragment]
    rounds: _Count = 5
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**62)] = 1
    flush_every: _Count = 100
    reapply: bool = False
    pause: str = ""
    timeout: str = "6h"
    memory_limit: str = ""
    machine: str = ""
    store: str = "runs"


def read_matrix(file: Path) -> Matrix:
    """The matrix in a TOML file, its paths made absolute.

    Raises:
        ArgumentError: It can't be read, is no TOML, or something in it isn't what a matrix holds.
    """
    try:
        content = read_toml(file)
    except OSError as error:
        raise ArgumentError(f"{file}: the matrix can't be read ({error.strerror}). {_EXAMPLE}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{file}: no TOML ({error}). {_EXAMPLE}") from error
    _refuse_unknown_keys(file, "", content, Matrix)
    for table, kind in (("target", MatrixTarget), ("fragment", Fragment)):
        for number, one in enumerate(_tables(content.get(table)), start=1):
            _refuse_unknown_keys(file, f"{table} {number}: ", one, kind)
    try:
        matrix = msgspec.convert(content, Matrix)
    except msgspec.ValidationError as error:
        raise ArgumentError(f"{file}: {_in_words(str(error))}. {_EXAMPLE}") from error
    _refuse_names(file, "target", [one.name for one in matrix.target])
    _refuse_names(file, "fragment", [one.name for one in matrix.fragment])
    for target in matrix.target:
        _refuse_target(file, target)
    for fragment in matrix.fragment:
        _refuse_stretch(file, fragment)
    _refuse_pause(file, matrix)
    return msgspec.structs.replace(
        matrix,
        store=str(file.parent / matrix.store),
        fragment=[_with_paths(file.parent, one) for one in matrix.fragment],
    )


def _refuse_pause(file: Path, matrix: Matrix) -> None:
    """Raises ArgumentError where the idle time is none, or there are targets that can't be idle."""
    if not matrix.pause:
        return
    idle_us(f"{file}: pause", matrix.pause)
    others = [target.name for target in matrix.target if target.command]
    if others:
        raise ArgumentError(
            f"{file}: pause: only slotmark's engine can be idle before each block, and {listed(others)} {'is' if len(others) == 1 else 'are'} another. Leave one out."
        )


def _tables(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _refuse_unknown_keys(file: Path, where: str, table: Mapping[str, Any], kind: type[msgspec.Struct]) -> None:
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in table:
        if key not in known:
            raise ArgumentError(
                f"{file}: {where}'{key}' is no key of a matrix.{did_you_mean(key, known)} There are {', '.join(known)}."
            )


def _in_words(error: str) -> str:
    """The fault that msgspec found, with the place in front: ``target 1: name: Expected `str`, got `int```."""
    found = _AT.fullmatch(error)
    if found is None:
        return error
    what, at = found.groups()
    place = _PLACE.sub(lambda number: f" {int(number[1]) + 1}", at).replace(".", ": ")
    return f"{place}: {what}" if place else what


def _refuse_names(file: Path, what: str, names: Sequence[str]) -> None:
    if not names:
        raise ArgumentError(f"{file}: there is no [[{what}]]. {_EXAMPLE}")
    for place, name in enumerate(names, start=1):
        if (
            not name.strip()
            or "/" in name
            or "=" in name
            or name.startswith(".")
            or not name.isprintable()
            or len(name) > _LONGEST
        ):
            raise ArgumentError(
                f"{file}: {what} {place}: name '{name}' can't be a folder's. Take letters, digits, - and ., at most {_LONGEST}."
            )
        if names.index(name) < place - 1:
            raise ArgumentError(f"{file}: two {what}s are called '{name}'. Name each once.")


def _refuse_target(file: Path, target: MatrixTarget) -> None:
    where = f"{file}: target '{target.name}'"
    if bool(target.command) == bool(target.backend):
        raise ArgumentError(f"{where}: expected either command or backend. Give one of them.")
    if target.backend:
        refuse_unknown_store(f"{where}: backend '{target.backend}'", target.backend)


def _refuse_stretch(file: Path, fragment: Fragment) -> None:
    where = f"{file}: fragment '{fragment.name}'"
    if fragment.end is not None and fragment.blocks is not None:
        raise ArgumentError(f"{where}: both to and blocks end it. Give one of them.")
    if fragment.end is not None and fragment.end < (fragment.begin or 0):
        raise ArgumentError(f"{where}: to = {fragment.end} lies before from = {fragment.begin}. Expected a later slot.")


def _with_paths(folder: Path, fragment: Fragment) -> Fragment:
    paths = {name: getattr(fragment, name) for name in ("chain", "genesis", "config")}
    return msgspec.structs.replace(fragment, **{name: str(folder / path) for name, path in paths.items() if path})
