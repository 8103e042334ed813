"""db-analyser as a target: which of its flags, which differ between its versions, make it replay a chain.

Its own --help decides. Versions of 2023 take the configuration behind a command `cardano`; later ones have a flag for it, and require
where to keep unspent outputs.
"""

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slotmark.errors import ArgumentError, TargetError, did_you_mean
from slotmark.measure.process import answer, how_ended, last_words

NAME = "db-analyser"

MEMORY = ("--in-mem", "--v2-in-mem", "--v1-in-mem", "--inmem-backingstore")
"""Unspent outputs in memory, by its versions: the one that is taken where nothing else is asked for."""

DISK = ("--lsm", "--lmdb", "--lmdb-backingstore")
"""Unspent outputs on disk."""

NEEDED = ("--db", "--benchmark-ledger-ops", "--out-file", "--config")
"""Flags without which it can't be a target."""

SET_HERE = ("--db", "--benchmark-ledger-ops", "--out-file", "--analyse-from", "--num-blocks-to-process")
"""Flags that follow from what is asked for, and can't be given with the target."""

REAPPLY = "--reapply"
"""The flag for blocks that are known to be valid."""

_COMMAND = "cardano"
_FLAG = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")
_LISTED = re.compile(rf"^\s+{_COMMAND}\b", re.MULTILINE)
_HELP_S = 60.0


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The stretch of a chain to replay.

    Attributes:
        config: The node's configuration file; None where none was given.
        after: It begins behind the block of this slot; None for the chain's first block.
        blocks: How many; None for all.
        reapply: Whether blocks are known to be valid.
    """

    config: Path | None = None
    after: int | None = None
    blocks: int | None = None
    reapply: bool = False


class Flags(msgspec.Struct, frozen=True):
    """Flags in its --help.

    Attributes:
        known: Every flag.
        behind_command: Whether the configuration stands behind the command `cardano`.
    """

    known: frozenset[str]
    behind_command: bool


def is_meant(words: Sequence[str]) -> bool:
    """True for a command that is db-analyser without a file to write: then its flags are found here."""
    return Path(words[0]).name == NAME and not any("{out}" in word for word in words)


def node_config(config: Path | None, genesis: Path | None) -> Path | None:
    """The node's configuration file: the one that is given, or ``config.json`` beside the Shelley genesis file; None where there is neither.

    Raises:
        ArgumentError: The one that is given isn't there.
    """
    if config is not None:
        if not config.is_file():
            raise ArgumentError(f"--config {config}: no such file. Give the node's configuration file.")
        return config.resolve()
    beside = genesis.resolve().parent / "config.json" if genesis else None
    return beside if beside and beside.is_file() else None


def complete(label: str, words: Sequence[str], work: Work) -> list[str]:
    """The words that make db-analyser replay a chain, with ``{db}`` and ``{out}`` in them.

    Args:
        label: What to call the target in errors.
        words: The program, and flags of the user's own, as ``--lsm`` or ``+RTS -N4``.
        work: What it is to do.

    Raises:
        TargetError: There is no such program, it has no help, or lacks a flag that is needed.
        ArgumentError: A flag of the user's own isn't one of its, or no configuration file was given.
    """
    program = shutil.which(words[0])
    if program is None:
        raise TargetError(
            f"{label}: there is no program '{words[0]}'. Put it on the PATH, or give its place: --target NAME=/path/to/{NAME}."
        )
    program = str(Path(program).absolute())
    own, runtime = _split(words[1:])
    flags = read_flags(label, program)
    _refuse_unknown(label, own, flags)
    begun = ["--analyse-from", str(work.after)] if work.after is not None else []
    ended = ["--num-blocks-to-process", str(work.blocks)] if work.blocks is not None else []
    reapplied = [REAPPLY] if work.reapply and REAPPLY not in own else []
    needed = (*NEEDED, *begun[:1], *ended[:1], *reapplied)
    missing = [flag for flag in needed if flag not in flags.known]
    if missing:
        raise TargetError(
            f"{label}: its --help shows no {', '.join(missing)} (looked for {', '.join(needed)}; --config also behind "
            f"the command {_COMMAND}). Give the whole command: --target NAME='{NAME} … {{db}} … {{out}}'."
        )
    return [
        *(program, "--db", "{db}"),
        *(["--only-immutable-db"] if "--only-immutable-db" in flags.known else []),
        *_backend(label, own, flags),
        *begun,
        *ended,
        *("--benchmark-ledger-ops", "--out-file", "{out}"),
        *reapplied,
        *own,
        *([_COMMAND] if flags.behind_command else []),
        *_config(label, own, work.config),
        *("+RTS", "-T", *runtime, "-RTS"),  # without -T, versions of before 2026 have no times
    ]


def read_flags(label: str, program: str) -> Flags:
    """The flags that its --help shows, and where it is behind the command `cardano`, of that. TargetError where it shows none."""
    shown = _help(label, [program, "--help"])
    known = frozenset(_FLAG.findall(shown))
    if "--config" in known or not _LISTED.search(shown):
        return Flags(known, behind_command=False)
    return Flags(
        known | frozenset(_FLAG.findall(_help(label, [program, _COMMAND, "--help"]))),
        behind_command=True,
    )


def _help(label: str, words: list[str]) -> str:
    command = shlex.join(words)
    ended = answer(label, words, _HELP_S)
    shown = (ended.out + ended.errors).decode(errors="replace")
    if ended.code or not _FLAG.search(shown):
        raise TargetError(
            f"{label}: `{command}` {how_ended(ended.code)} and printed no flags, but: {last_words(shown) or 'nothing'}. Check the program."
        )
    return shown


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The user's own flags, and those of the runtime, without the words that stand around these."""
    own: list[str] = []
    runtime: list[str] = []
    here = own
    for word in words:
        if word in ("+RTS", "-RTS"):
            here = runtime if word == "+RTS" else own
        else:
            here.append(word)
    return own, runtime


def _refuse_unknown(label: str, own: Sequence[str], flags: Flags) -> None:
    for word in own:
        flag = word.partition("=")[0]
        if flag in SET_HERE:
            raise ArgumentError(f"{label}: {flag} follows from --chain, --blocks and -o. Leave it out.")
        if flag.startswith("--") and flag not in flags.known:
            raise ArgumentError(
                f"{label}: its --help shows no {flag}.{did_you_mean(flag, flags.known)} It shows {', '.join(sorted(flags.known))}."
            )


def _backend(label: str, own: Sequence[str], flags: Flags) -> list[str]:
    """The flag for unspent outputs in memory; none where the user chose, or where its version has no choice."""
    choices = [flag for flag in (*MEMORY, *DISK) if flag in flags.known]
    if not choices or any(flag in own for flag in choices):
        return []
    if choices[0] not in MEMORY:
        raise TargetError(
            f"{label}: its --help shows none of {', '.join(MEMORY)}, but {', '.join(choices)}. Choose: --target NAME='{NAME} {choices[0]}'."
        )
    return choices[:1]


def _config(label: str, own: Sequence[str], config: Path | None) -> list[str]:
    if any(word.partition("=")[0] == "--config" for word in own):
        return []
    if config is None:
        raise ArgumentError(
            f"{label}: it needs the node's configuration file. Give --config FILE, or a --genesis with config.json beside it."
        )
    return ["--config", str(config)]
