"""Pieces that are shared by many calls, on one machine or on many: each does its shard and keeps the outputs in one folder, which a last call merges.

The folder holds ``shards.json``, a :class:`Shared`, and ``outputs/NAME`` for each piece that is finished, with the files that it made.
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

from slotmark.engine.kept import damaged, is_whole, kept, put
from slotmark.engine.local import local
from slotmark.engine.piece import Engine, Merged, Piece, Progress, T
from slotmark.engine.reached import MOST_BYTES, OUTPUTS, SHARED_FILE, Reached, reached
from slotmark.errors import ArgumentError, PieceError
from slotmark.places import Place
from slotmark.stores import Bucket
from slotmark.texts import content_of
from slotmark.versions import slotmark_commit, slotmark_version

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
        work: The name of the command that the pieces are of.
        slotmark: The version of slotmark.
        commit: Its commit; empty where it isn't known.
        shards: The number of shards.
        pieces: The number of pieces.
        digest: Of the names of all pieces, in order: SHA-256.
        options: What was asked for, as the command that asked keeps it.
    """

    schema: int
    work: str
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


class _NotMergedError(Exception):
    """A shard is done, and its pieces are one part of what would be merged."""

    def __init__(self, done: ShardDone) -> None:
        super().__init__(done)
        self.done = done


def shard_done(
    named: str, folder: Place, work: str, options: dict[str, Any], ask: Callable[[Engine], object]
) -> ShardDone:
    """Does a shard of what is asked on this machine, and keeps the outputs in a folder that all shards share.

    Args:
        named: The shard, as ``3/40``.
        folder: The folder, which is made where it isn't there; pieces that are finished in it are not done again.
        work: The name of the command.
        options: What was asked for; msgspec can encode it.
        ask: Asks for it, by the engine that it gets, which doesn't return.

    Returns:
        The number of pieces that were done and found.

    Raises:
        ArgumentError: No shard has that name.
        PieceError: The folder is of other pieces or of another version, or can't be written.
        Exception: What a piece raised.
    """
    shard = Shard.parsed(named)

    def engine(
        pieces: Sequence[Piece[T]],
        merge: Callable[[Iterator[T]], Merged],
        progress: Progress = lambda _done, _total: None,
        workers: int | None = None,
    ) -> Merged:
        with reached(folder) as there:
            files = _files(there.folder, pieces)
            shared = _shared(files, shard.of, work, options)
            there.begin(msgspec.json.encode(shared) + b"\n")
            _begin(there.folder, shared)
            own = list(zip(pieces, files, strict=True))[shard.number - 1 :: shard.of]
            there.bring([file.name for _, file in own])
            left = [msgspec.structs.replace(piece, kept=file) for piece, file in own if not is_whole(file)]
            if left:
                with there.sending():
                    local(left, lambda outputs: [None for _ in outputs], progress, workers)
            missing = there.missing([file.name for file in files])
        found = len(own) - len(left)
        raise _NotMergedError(ShardDone(shard=str(shard), pieces=len(own), found=found, missing=missing))

    try:
        ask(engine)
    except _NotMergedError as ended:
        return ended.done
    raise AssertionError("the engine of a shard merges nothing")


def gathered(folder: Place, shared: Shared, command: Callable[[Shard, Place], str]) -> Engine:
    """The engine that merges the outputs that shards kept in a folder.

    Args:
        folder: The folder.
        shared: What it says of itself, as :func:`opened` returns it.
        command: Returns the command that does a shard of it, in that folder.

    Returns:
        An engine, which raises PieceError where pieces are missing or damaged, or were made by another version, or of other options.
    """

    def engine(
        pieces: Sequence[Piece[T]],
        merge: Callable[[Iterator[T]], Merged],
        progress: Progress = lambda _done, _total: None,
        workers: int | None = None,
    ) -> Merged:
        with reached(folder) as there:
            return merged(there, pieces, merge, progress)

    def merged(
        there: Reached, pieces: Sequence[Piece[T]], merge: Callable[[Iterator[T]], Merged], progress: Progress
    ) -> Merged:
        files = _files(there.folder, pieces)
        _same(folder, shared, _shared(files, shared.shards, shared.work, shared.options))
        there.bring([file.name for file in files])
        lacking = [place for place, file in enumerate(files) if not file.is_file()]
        if lacking:
            shards = sorted({place % shared.shards + 1 for place in lacking})
            named = ", ".join(map(str, shards[:_NAMED])) + (" and more" if len(shards) > _NAMED else "")
            one = len(shards) == 1
            raise PieceError(
                f"{folder}: {len(lacking)} of {len(pieces)} pieces are missing, of shard{'' if one else 's'} {named} of {shared.shards}. "
                f"Run {command(Shard(shards[0], shared.shards), folder)}{'' if one else ', and so for the others'}."
            )

        def outputs() -> Iterator[T]:
            for place, (piece, file) in enumerate(zip(pieces, files, strict=True)):
                found = kept(file)
                wrong = file if found is None else damaged(file, found)
                if found is None or wrong is not None:
                    shard = Shard(place % shared.shards + 1, shared.shards)
                    raise PieceError(
                        f"{wrong}: not as it was written: damaged or cut. Run {command(shard, folder)}, which makes it again."
                    )
                if piece.folder is not None:
                    put(file, found, piece.folder)
                progress(place + 1, len(pieces))
                yield piece.output(found.output)

        return merge(outputs())

    return engine


def opened(folder: Place) -> Shared:
    """Returns what a folder of shards says of itself.

    Raises:
        PieceError: It isn't one, or its file is damaged.
    """
    file = folder / SHARED_FILE
    try:
        text = content_of(file, MOST_BYTES) if isinstance(file, Path) else Bucket(file).whole("", MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        text = None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _not_ours(file, f"more than {MOST_BYTES:,} bytes") from None
        raise PieceError(f"{file}: {error.strerror}. Make it readable.") from error
    if text is None:
        raise PieceError(
            f"{folder}: no folder of shards: there is no {SHARED_FILE} in it. Name the folder that --shard wrote to."
        )
    try:
        shared = msgspec.json.decode(text, type=Shared)
        if shared.shards < 1 or shared.schema != 2:
            raise msgspec.DecodeError("schema 2 and at least one shard expected")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _not_ours(file, error) from error
    return shared


def options_of(folder: Place, shared: Shared, kind: type[T]) -> T:
    """Returns the options of a folder of shards as the command that asked has them.

    Raises:
        PieceError: They are no such options.
    """
    try:
        return msgspec.convert(shared.options, kind, dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        raise _not_ours(folder / SHARED_FILE, error) from error


def _not_ours(file: Place, why: object) -> PieceError:
    return PieceError(f"{file}: not what --shard writes: {why}. Run a shard again, into a new folder.")


def _shared(files: Sequence[Path], shards: int, work: str, options: dict[str, Any]) -> Shared:
    return Shared(
        schema=2,
        work=work,
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


def _same(folder: Place, found: Shared, asked: Shared) -> None:
    """Checks that two are of the same pieces."""
    if (found.slotmark, found.commit) != (asked.slotmark, asked.commit):
        made, this = (f"{one.slotmark} {one.commit}".rstrip() for one in (found, asked))
        raise PieceError(
            f"{folder}: its pieces are of slotmark {made}; this is {this}. Use one version for all shards and the merge."
        )
    if found.shards != asked.shards:
        raise PieceError(
            f"{folder}: it is shared in {found.shards:,} shards, not {asked.shards:,}. Give that number in --shard, or choose another -o."
        )
    if found.work != asked.work:
        raise PieceError(f"{folder}: its pieces are of slotmark {found.work}, not {asked.work}. Choose another -o.")
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
            f"{folder}: its pieces are of the same options, but of other content: a file that they read was changed since, a profile or a log. "
            "Put it back, or begin again in another -o."
        )


def _said(option: Any) -> str:
    return "(none)" if option is None or option == [] else msgspec.json.encode(option).decode()


def _files(folder: Path, pieces: Sequence[Piece[Any]]) -> list[Path]:
    """The files that the outputs of pieces are kept in, of the pieces' names."""
    return [folder / OUTPUTS / piece.name for piece in pieces]
