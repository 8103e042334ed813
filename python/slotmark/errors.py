"""The exceptions that slotmark raises for things its user can mend.

Every message is one sentence that names the file or argument and what was expected, and a second that says what to do.
The command line prints it on one line; anything else that escapes is a fault of slotmark's own.
"""

import errno
from collections.abc import Iterable
from difflib import get_close_matches

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The system's errors for a write where a disk is full, and for one beyond a limit."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` with the known name that is most like the given one; nothing where none is like it."""
    names = {name.lower(): name for name in known}
    near = get_close_matches(given.lower(), names, n=1)
    return f" Did you mean '{names[near[0]]}'?" if near else ""


def remedy(error: OSError, other: str = "choose another -o", again: str = "run the same command again") -> str:
    """Returns the sentence on what to do where a place can't be written: to make room, to make it writable, or to name another.

    Args:
        error: The system's, or Arrow's.
        other: How to name another place; empty where it can't be another.
        again: How to go on afterwards.
    """
    if error.errno in NO_ROOM:
        return f"Make room, and {again}."
    if other and error.errno in (errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG):  # a file is where a folder is to be
        return f"{other[0].upper()}{other[1:]}."
    return f"Make the folder writable, {f'or {other}' if other else f'and {again}'}."


def unwritten(
    place: object, error: OSError, other: str = "choose another -o", again: str = "run the same command again"
) -> str:
    """The line where a place can't be written, with its :func:`remedy`."""
    return f"{place}: can't be written ({error.strerror or error}). {remedy(error, other, again)}"


class SlotmarkError(Exception):
    """The base of all errors that a user can mend; exit code 2."""


class RunError(SlotmarkError):
    """A run folder that is missing, damaged, or of another schema version."""


class RoomError(RunError):
    """Too little room: what is computed of a run fits neither in the memory that it may use nor in the temporary folder."""


class StoreError(SlotmarkError):
    """An object store that can't be reached or refuses, or an answer of one that isn't what was asked for."""


class ChainError(SlotmarkError):
    """A chain folder that can't be read, or a window that it doesn't hold."""


class TargetError(SlotmarkError):
    """A target that can't be built, started, or that broke its contract."""


class ProofError(TargetError):
    """A target whose digest isn't that of the blocks it was given."""


class PlatformError(SlotmarkError):
    """An operation that this system doesn't support; another does."""


class ServerError(SlotmarkError):
    """A server that couldn't start, or that ended while it was needed."""


class LogError(SlotmarkError):
    """Logs or metadata of a cluster run that can't be found or read."""


class ImportFileError(SlotmarkError):
    """A file recorded by another tool that can't be imported: damaged, cut, or not what it should be."""


class SimulationError(SlotmarkError):
    """A cluster profile or topology that can't be simulated, or a run directory that is in the way."""


class BedError(SlotmarkError):
    """A bed of a cluster that can't be made, read or used."""


class ComparisonError(SlotmarkError):
    """Runs that can't be compared with each other."""


class ArgumentError(SlotmarkError):
    """A command-line argument that makes no sense here."""


class PieceError(SlotmarkError):
    """A piece of work whose process ended before it was done."""


class EngineError(SlotmarkError):
    """An engine that is missing, can't be reached, or isn't as it must be for work to be done there."""
