"""Files that are put in their places when they are complete, all or none, also where two commands write them at once."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(*files: Path) -> Iterator[list[Path]]:
    """Gives a place beside each file to write it to; at its end, if without an error, they are renamed to the files, in the place of older ones.

    Places are locked while they are written: what a killed command left there is written over, and a second command is refused.

    Raises:
        OSError: A file can't be written, another command is writing it, or it is a device or a pipe, which a file may not take the place of;
            nothing is left of any.
    """
    for file in files:
        _refuse_special(file)
    with ExitStack() as locks:
        # All are locked, in one order, before any is renamed: the files of a second command are then all newer than those of the first.
        partials = [locks.enter_context(_locked(file.with_name(f".{file.name}.partial"))) for file in files]
        yield partials
        for partial, file in zip(partials, files, strict=True):
            partial.rename(file)


def _refuse_special(file: Path) -> None:
    """Refuses /dev/null, /dev/stdout and the like: a command of root would replace them for all other programs."""
    with suppress(FileNotFoundError):
        mode = file.stat().st_mode  # of /dev/stdout that of what it leads to, which may be a file
        if file.parent.resolve() == Path("/dev") or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EEXIST, "it is a device or a pipe, not a file", str(file))


@contextmanager
def _locked(partial: Path) -> Iterator[Path]:
    """Makes a file and locks it; it is removed in the end, where it is still there."""
    held = _lock(partial)
    try:
        yield partial
    finally:
        if _is_at(held, partial):
            partial.unlink(missing_ok=True)
        os.close(held)


def _lock(partial: Path) -> int:
    while True:
        held = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            raise OSError(errno.EBUSY, "another command is writing it", str(partial)) from None
        except OSError:  # a file system without locks
            return held
        if _is_at(held, partial):
            return held
        os.close(held)  # the one that had it has just renamed it


def _is_at(held: int, partial: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(held), partial.lstat())
    return False
