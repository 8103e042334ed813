"""A folder for what processes of a session need while they run, as their stores."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slotmark.errors import RunError
from slotmark.temporary import FolderForAWhile

_SCRATCH = ".replays-"


@contextmanager
def scratch_below(out: Path) -> Iterator[Path]:
    """A folder for what processes need while they run; those of sessions that were killed are removed, stores and all.

    A session holds a lock on its folder, which ends with its process.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        for left in sorted(out.glob(f"{_SCRATCH}*")):
            if (held := _locked(left)) is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(held)
        folder = FolderForAWhile(prefix=_SCRATCH, dir=out)
    except OSError as error:
        raise RunError(f"{out}: can't make this folder ({error.strerror}). Choose another place with -o.") from error
    with folder as scratch:
        held = _locked(Path(scratch))
        try:
            yield Path(scratch)
        finally:
            if held is not None:
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
