"""Writes a site: the new one beside the old one, with links to files that stay as they are, then in its place."""

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from slotmark.errors import ArgumentError

MARK = "site.json"
"""The file by which a folder is known for a site."""


class Written(msgspec.Struct, frozen=True):
    """Counts of the files of a site.

    Attributes:
        files: How many files the site has.
        written: How many of them are new or other than before.
        removed: How many are gone.
    """

    files: int
    written: int
    removed: int


def write_site(out: Path, files: Iterable[tuple[str, bytes]]) -> Written:
    """Writes a site, which is whole or as it was before.

    Args:
        out: Its folder: a new or an empty one, or a site.
        files: Their names below it, each once, and contents.

    Raises:
        ArgumentError: Something else is in the folder, another command writes it, or nothing can be written beside it.
        OSError: A file can't be written; the old site is as it was.
    """
    beside, before = (out.with_name(f".{out.name}.{what}") for what in ("new", "old"))
    with _alone(out):
        if before.exists() and not out.exists():
            before.rename(out)  # a command was killed between its two renames
        _refuse_other(out)
        for left in (beside, before):
            shutil.rmtree(left, ignore_errors=True)
        old = {str(one.relative_to(out)) for one in out.rglob("*") if one.is_file()} if out.is_dir() else set()
        names: set[str] = set()
        written = 0
        try:
            beside.mkdir(parents=True)
            for name, content in files:
                place = beside / name
                place.parent.mkdir(parents=True, exist_ok=True)
                if name in old and _is(out / name, content):
                    os.link(out / name, place)
                else:
                    place.write_bytes(content)
                    written += 1
                names.add(name)
            if out.exists():
                _move_away(out, before)
            beside.rename(out)
        except BaseException:
            if before.exists() and not out.exists():
                before.rename(out)
            shutil.rmtree(beside, ignore_errors=True)
            raise
        shutil.rmtree(before, ignore_errors=True)
    return Written(len(names), written, len(old - names))


def _move_away(out: Path, before: Path) -> None:
    try:
        out.rename(before)
    except OSError as error:  # a mount
        raise ArgumentError(
            f"{out}: can't be replaced ({error.strerror}). Choose a folder inside it, or another place, with -o."
        ) from error


def _is(file: Path, content: bytes) -> bool:
    return file.stat().st_size == len(content) and file.read_bytes() == content


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keeps other commands from writing the same site. ArgumentError where one does, or where nothing can be written."""
    file = out.with_name(f".{out.name}.lock")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        held = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise ArgumentError(
            f"{out}: can't make this folder ({error.strerror}). Choose another place with -o."
        ) from error
    try:
        with suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ArgumentError(f"{out}: another command is writing this site. Wait for its end.") from None
        try:
            yield
        finally:
            file.unlink(missing_ok=True)
    finally:
        os.close(held)


def _refuse_other(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ArgumentError(f"{out}: not a folder. Name a new one, or one that has a site.")
    if out.is_dir() and not (out / MARK).is_file() and any(out.iterdir()):
        raise ArgumentError(f"{out}: not empty, and no site: it has no {MARK}. Name a new folder.")
