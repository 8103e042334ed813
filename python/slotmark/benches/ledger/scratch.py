"""A folder for what processes of a session need while they run, as their stores."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from slotmark.errors import RunError
from slotmark.temporary import FolderForAWhile

_SCRATCH = ".replays-"


@contextmanager
def scratch_below(out: Path) -> Iterator[Path]:
    """A folder for what processes need while they run; those of sessions that were killed are removed, stores and all.

    A session holds a lock on its folder, which ends with its process.
    """
    with ExitStack() as stack:
        try:
            out.mkdir(parents=True, exist_ok=True)
            # Else a session that begins at the same time could remove this one's folder before that is locked.
            with _alone_in(out):
                for left in sorted(out.glob(f"{_SCRATCH}*")):
                    if (held := _locked(left)) is not None:
                        shutil.rmtree(left, ignore_errors=True)
                        os.close(held)
                scratch = Path(stack.enter_context(FolderForAWhile(prefix=_SCRATCH, dir=out)))
                held = _locked(scratch)
        except OSError as error:
            raise RunError(
                f"{out}: can't make this folder ({error.strerror}). Choose another place with -o."
            ) from error
        if held is not None:
            stack.callback(os.close, held)
        yield scratch


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Waits until no other process is in this, with the same folder; where it can't be locked, as on some file servers, waits for none."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _locked(folder: Path) -> int | None:
    """A file descriptor that holds the folder's lock; None where another process has it, or it is no folder."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held
