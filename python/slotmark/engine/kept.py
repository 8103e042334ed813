"""Outputs of finished pieces, kept in files until they are merged, with the files that the pieces made.

An output is one file behind a digest of its name and its content: under another piece's name it is none. What its piece made lies in a folder beside it, ``NAME.files``, and the output has the digest of each file.
"""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from slotmark.errors import PieceError, unwritten
from slotmark.texts import content_of
from slotmark.whole_files import written_whole

MOST_OUTPUT_BYTES = 256 << 20
"""The most bytes that the output of a piece may have: it holds the tables of a report or the account of logs, not the rows of a run, which are files."""

_NAME = re.compile(r"(?!\.)[^/\0\n]{1,255}(/(?!\.)[^/\0\n]{1,255}){0,15}")
"""The name of a file that a piece made: it leads nowhere but down, and no part of it begins with a dot."""


class KeptFile(msgspec.Struct, frozen=True, array_like=True):
    """A file that a piece made: its place below the piece's folder, and its SHA-256 digest."""

    name: str
    digest: str


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """The output and the files of a finished piece.

    Attributes:
        output: Its output, encoded.
        files: The files that it made.
    """

    output: bytes
    files: list[KeptFile] = []


def keep(file: Path, make: Callable[[Path | None], bytes], *, makes_files: bool) -> bytes:
    """Keeps what a piece gives in a file, whole.

    Args:
        file: The file; what was there is replaced.
        make: Does the piece; it gets the folder to make files in, which there is where ``makes_files``.
        makes_files: Whether it makes files.

    Returns:
        The piece's output, encoded.

    Raises:
        PieceError: It can't be written.
    """
    try:
        with written_whole(file) as (partial,), _made(file, wanted=makes_files) as made:
            output = make(made)
            files = []
            if made is not None:
                files = [KeptFile(name, _digest(made / name)) for name in files_in(made)]
                shutil.rmtree(folder_of(file), ignore_errors=True)
                made.rename(folder_of(file))
            encoded = msgspec.msgpack.encode(Kept(output, files))
            partial.write_bytes(_digest_of(file, encoded) + encoded)
    except OSError as error:
        raise PieceError(
            f"{file}: {error.strerror}. What is finished is kept; mend that, and run the same command again."
        ) from error
    return output


@contextmanager
def _made(file: Path, *, wanted: bool) -> Iterator[Path | None]:
    """A new folder beside a file, which is removed in the end, where it is still there."""
    if not wanted:
        yield None
        return
    folder = file.with_name(f".{file.name}.partial.files")  # whose it is, is whose the file's place is
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kept(file: Path) -> Kept | None:
    """The content that is kept in a file; None where there is nothing, or it isn't as it was written. Files that were made are not looked at."""
    try:
        content = content_of(file, MOST_OUTPUT_BYTES)
    except OSError:
        return None
    digest, encoded = content[:32], content[32:]
    if _digest_of(file, encoded) != digest:
        return None
    try:
        found = msgspec.msgpack.decode(encoded, type=Kept)
    except msgspec.DecodeError:
        return None
    return found if all(_NAME.fullmatch(one.name) for one in found.files) else None


def is_whole(file: Path) -> bool:
    """Returns whether all is there that a piece left, as it was written."""
    found = kept(file)
    return found is not None and damaged(file, found) is None


def damaged(file: Path, found: Kept) -> Path | None:
    """Returns the first file that a piece made and that isn't as it was written; None where all are."""
    made = folder_of(file).resolve()
    for one in found.files:
        place = made / one.name
        if place.resolve() != place or _digest(place) != one.digest:
            return folder_of(file) / one.name
    return None


def put(file: Path, found: Kept, folder: Path) -> None:
    """Copies the files that a piece made to where they are wanted. PieceError where that can't be."""
    try:
        for one in found.files:
            target = folder / one.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder_of(file) / one.name, target, follow_symlinks=False)
    except OSError as error:
        raise PieceError(unwritten(folder, error)) from error


def folder_of(file: Path) -> Path:
    """The folder of the files that a piece made, whose output is kept in a file."""
    return file.with_name(f"{file.name}.files")


def files_in(folder: Path) -> list[str]:
    """The files below a folder, by their places in it, sorted."""
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def _digest_of(file: Path, encoded: bytes) -> bytes:
    return hashlib.sha256(file.name.encode() + b"\0" + encoded).digest()


def _digest(file: Path) -> str:
    """The SHA-256 digest of a file; empty where it can't be read, or is no plain file."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as content:
            if not stat.S_ISREG(os.fstat(content.fileno()).st_mode):
                return ""
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return ""
