"""Files and folders for a while, in the folder that the machine has for them."""

import shutil
import tempfile
from typing import IO

from slotmark.errors import PlatformError


class FolderForAWhile(tempfile.TemporaryDirectory[str]):
    """A folder that is removed to its end also where a signal comes meanwhile."""

    def cleanup(self) -> None:
        """Removes it; where a signal comes meanwhile, first all that is left."""
        try:
            super().cleanup()
        except KeyboardInterrupt:
            shutil.rmtree(self.name, ignore_errors=True)
            raise


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """Returns a new folder that is removed when it is left or forgotten. PlatformError where there is no place for one."""
    return FolderForAWhile(prefix="slotmark-", dir=temporary_place(), ignore_cleanup_errors=True)


def temporary_file() -> IO[bytes]:
    """Returns a new file without a name, which ends when it is closed. PlatformError where there is no place for one."""
    return tempfile.TemporaryFile(dir=temporary_place())


def temporary_place() -> str:
    """Returns the folder that temporary files go to: ``TMPDIR``, or the machine's. PlatformError where none can be written to."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        raise PlatformError(
            "no folder for temporary files can be written to: neither TMPDIR, /tmp, /var/tmp nor this one. Set TMPDIR to a folder that can, or make room."
        ) from None
