"""Pieces that are shared by many calls, on one machine or on many: each does its shard and keeps the outputs in one folder, which a last call merges.

The folder holds ``shards.json``, a :class:`Shared`, and ``outputs/NAME`` for each piece that is finished.
"""

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from slotmark.engine.local import local
from slotmark.engine.piece import Engine, Merged, Piece, Progress, T, kept_in
from slotmark.errors import ArgumentError, PieceError
from slotmark.texts import content_of
from slotmark.versions import slotmark_commit, slotmark_version

SHARED_FILE = "shards.json"
OUTPUTS = "outputs"

MOST_BYTES = 1 << 20
"""Most bytes of the file that names what is shared: it holds the options of a command."""

_NAMED = 6
"""Shards that lack pieces and are named."""


class Shard(msgspec.Struct, frozen=True):
    """One of the parts that work is shared in: every ``of``-th piece, from the ``number``-th on, which counts from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parsed(cls, text: str) -> "Shard":
        """Returns the shard that ``3/40`` names. ArgumentError where it names none."""
        found = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text.strip(), re.ASCII)
        shard = cls(int(found[1]), int(found[2])) if found else None
        if shard is None or shard.number > shard.of:
            raise ArgumentError(f"--shard {text}: expected N/OF with N from 1 to OF, as 3/40.")
        return shard


class Shared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The facts that all shards of a folder have in common.

    Attributes:
        schema: The version of this layout.
        slotmark: The version of slotmark.
        commit: Its commit; empty where it isn't known.
        shards: The number of shards.
        pieces: The number of pieces.
        digest: Of the names of all pieces, in order: SHA-256.
        options: What was asked for, as the command that asked keeps it.
    """

    schema: int
    slotmark: str
    commit: str
    shards: int
    pieces: int
    digest: str
    options: dict[str, Any]


class ShardDone(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a shard.

    Attributes:
        shard: Its number and their number, as ``3/40``.
        pieces: The number of its pieces.
        found: The number of those that were finished before.
        missing: The number of pieces of all shards that aren't finished yet.
    """

    shard: str
    pieces: int
    found: int
    missing: int


class NotMergedError(Exception):
    """A shard is done, and its pieces are one part of what would be merged.

    Attributes:
        done: What became of it.
    """

    def __init__(self, done: ShardDone) -> None:
        super().__init__(done)
        self.done = done


def sharded(shard: Shard, folder: Path, options: dict[str, Any]) -> Engine:
    """The engine that does one shard's pieces on this machine, but for those that are finished, and keeps their outputs in a folder.

    It doesn't return: it ends with :class:`NotMergedError`.

    Args:
        shard: The shard.
        folder: Where all shards keep their outputs; it is made where it isn't there.
        options: What was asked for; msgspec can encode it.

    Returns:
        An engine, which raises PieceError where the folder is of other pieces or of another version, or can't be written.
    """

    def engine(
        pieces: Sequence[Piece[T]],
        merge: Callable[[Iterator[T]], Merged],
        progress: Progress = lambda _done, _total: None,
        workers: int | None = None,
    ) -> Merged:
        files = _files(folder, pieces)
        _begin(folder, _shared(files, shard.of, options))
        own = list(zip(pieces, files, strict=True))[shard.number - 1 :: shard.of]
        kept = [msgspec.structs.replace(piece, kept=file) for piece, file in own if kept_in(file) is None]
        if kept:
            local(kept, lambda outputs: [None for _ in outputs], progress, workers)
        missing = sum(not file.is_file() for file in files)
        found = len(own) - len(kept)
        raise NotMergedError(ShardDone(shard=str(shard), pieces=len(own), found=found, missing=missing))

    return engine


def gathered(folder: Path, shared: Shared, command: Callable[[Shard], str]) -> Engine:
    """The engine that merges the outputs that shards kept in a folder.

    Args:
        folder: The folder.
        shared: What it says of itself, as :func:`opened` returns it.
        command: Returns the command that does a shard of it.

    Returns:
        An engine, which raises PieceError where pieces are missing or damaged, or were made by another version, or of other options.
    """

    def engine(
        pieces: Sequence[Piece[T]],
        merge: Callable[[Iterator[T]], Merged],
        progress: Progress = lambda _done, _total: None,
        workers: int | None = None,
    ) -> Merged:
        files = _files(folder, pieces)
        _same(folder, shared, _shared(files, shared.shards, shared.options))
        lacking = [place for place, file in enumerate(files) if not file.is_file()]
        if lacking:
            shards = sorted({place % shared.shards + 1 for place in lacking})
            named = ", ".join(map(str, shards[:_NAMED])) + (" and more" if len(shards) > _NAMED else "")
            one = len(shards) == 1
            raise PieceError(
                f"{folder}: {len(lacking)} of {len(pieces)} pieces are missing, of shard{'' if one else 's'} {named} of {shared.shards}. "
                f"Run {command(Shard(shards[0], shared.shards))}{'' if one else ', and so for the others'}."
            )

        def outputs() -> Iterator[T]:
            for place, (piece, file) in enumerate(zip(pieces, files, strict=True)):
                encoded = kept_in(file)
                if encoded is None:
                    shard = Shard(place % shared.shards + 1, shared.shards)
                    raise PieceError(
                        f"{file}: not as it was written: damaged or cut. Run {command(shard)}, which makes it anew."
                    )
                progress(place + 1, len(pieces))
                yield piece.output(encoded)

        return merge(outputs())

    return engine


def opened(folder: Path) -> Shared:
    """Returns what a folder of shards says of itself.

    Raises:
        PieceError: It isn't one, or its file is damaged.
    """
    file = folder / SHARED_FILE
    try:
        text = content_of(file, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise PieceError(
            f"{folder}: no folder of shards: there is no {SHARED_FILE} in it. Name the folder that --shard wrote to."
        ) from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _not_ours(file, f"more than {MOST_BYTES:,} bytes") from None
        raise PieceError(f"{file}: {error.strerror}. Make it readable.") from error
    try:
        shared = msgspec.json.decode(text, type=Shared)
        if shared.shards < 1 or shared.schema != 1:
            raise msgspec.DecodeError("schema 1 and at least one shard expected")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _not_ours(file, error) from error
    return shared


def options_of(folder: Path, shared: Shared, kind: type[T]) -> T:
    """Returns the options of a folder of shards as the command that asked has them.

    Raises:
        PieceError: They are no such options.
    """
    try:
        return msgspec.convert(shared.options, kind)
    except msgspec.ValidationError as error:
        raise _not_ours(folder / SHARED_FILE, error) from error


def _not_ours(file: Path, why: object) -> PieceError:
    return PieceError(f"{file}: not what --shard writes: {why}. Run a shard again, into a new folder.")


def _shared(files: Sequence[Path], shards: int, options: dict[str, Any]) -> Shared:
    return Shared(
        schema=1,
        slotmark=slotmark_version(),
        commit=slotmark_commit(),
        shards=shards,
        pieces=len(files),
        digest=hashlib.sha256("\n".join(file.name for file in files).encode()).hexdigest(),
        options=options,
    )


def _begin(folder: Path, shared: Shared) -> None:
    """Makes the folder, or checks that it is of the same pieces."""
    file = folder / SHARED_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            own = {SHARED_FILE, OUTPUTS}
            other = next(
                (one.name for one in folder.iterdir() if one.name not in own and not one.name.startswith(".shards-")),
                None,
            )
            if other is not None:
                raise PieceError(f"{folder}: not a folder of shards: {other!r} is in it. Choose another -o.")
            partial = folder / f".shards-{os.getpid()}-{os.urandom(4).hex()}"
            try:
                partial.write_bytes(msgspec.json.encode(shared) + b"\n")
                with suppress(FileExistsError):  # of shards that begin at once, one writes it, whole
                    os.link(partial, file)
            finally:
                partial.unlink(missing_ok=True)
        (folder / OUTPUTS).mkdir(exist_ok=True)
    except OSError as error:
        raise PieceError(f"{folder}: {error.strerror}. Choose a -o that can be written.") from error
    _same(folder, opened(folder), shared)


def _same(folder: Path, found: Shared, asked: Shared) -> None:
    """Checks that two are of the same pieces."""
    if (found.slotmark, found.commit) != (asked.slotmark, asked.commit):
        made, this = (f"{one.slotmark} {one.commit}".rstrip() for one in (found, asked))
        raise PieceError(
            f"{folder}: its pieces are of slotmark {made}; this is {this}. Use one version for all shards and the merge."
        )
    if found.shards != asked.shards:
        raise PieceError(
            f"{folder}: it is shared in {found.shards:,} shards, not {asked.shards:,}. Say so in --shard, or choose another -o."
        )
    if found.options != asked.options:
        other = next(
            name for name in {**asked.options, **found.options} if found.options.get(name) != asked.options.get(name)
        )
        raise PieceError(
            f"{folder}: its pieces are of {other} {_said(found.options.get(other))}, not {_said(asked.options.get(other))}. "
            "Ask for the same in all shards, or choose another -o."
        )
    if (found.pieces, found.digest) != (asked.pieces, asked.digest):
        raise PieceError(
            f"{folder}: its pieces are of the same options, but of other content: a profile file was changed since. "
            "Put it back, or begin anew in another -o."
        )


def _said(option: Any) -> str:
    return "(none)" if option is None or option == [] else msgspec.json.encode(option).decode()


def _files(folder: Path, pieces: Sequence[Piece[Any]]) -> list[Path]:
    """The files that the outputs of pieces are kept in, of the pieces' names."""
    return [folder / OUTPUTS / piece.name for piece in pieces]
