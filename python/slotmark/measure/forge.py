"""The program ``slotmark-forge``, which forges and checks chains and beds: how it is started, followed and stopped."""

import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from slotmark import errors
from slotmark.measure.process import how_ended
from slotmark.measure.shipped import built_program, option_words

Progress = Callable[[int, int], None]
"""Gets how much is done, and of how much; may raise to stop."""


class _Failed(msgspec.Struct, frozen=True):
    error: str
    message: str


class _Line(msgspec.Struct, frozen=True):
    progress: tuple[int, int] | None = None
    made: msgspec.Raw = msgspec.Raw()
    failed: _Failed | None = None


def forge(command: str, options: dict[str, object], *, plan: bytes = b"", progress: Progress | None = None) -> bytes:
    """Runs a command of the program to its end and returns what it made or found, as JSON.

    When ``progress`` raises, or this process ends in any way, the program removes what it has begun and ends.

    Args:
        command: Its name.
        options: Name to value; those that are None or False are left out.
        plan: The first line of its standard input, for a command that reads one.
        progress: For a command that takes long.

    Raises:
        SlotmarkError: What the program names as wrong: ArgumentError, BedError, ChainError or SimulationError.
        TargetError: The program isn't built, or ended before it was done.
    """
    path = built_program("slotmark-forge", "the program that forges and checks")
    process = _started(path, [command, *option_words(options)])
    assert process.stdin is not None
    assert process.stdout is not None
    last = _Line()
    try:
        with suppress(BrokenPipeError):  # it has ended: what it wrote before has the reason, or else its exit code
            if plan:
                process.stdin.write(plan + b"\n")
                process.stdin.flush()
        for line in process.stdout:
            last = msgspec.json.decode(line, type=_Line)
            if last.progress and progress:
                progress(*last.progress)
                with suppress(BrokenPipeError):
                    process.stdin.write(b"\n")
                    process.stdin.flush()
    finally:
        process.stdout.close()  # first, so that it never waits for a reader
        with suppress(BrokenPipeError):
            process.stdin.close()
        code = process.wait()
    if last.failed:
        raise _exception(last.failed)
    if not bytes(last.made):
        raise errors.TargetError(
            f"{path}: {how_ended(code)} before `{command}` was done. Look for lines above this one, and whether memory was short."
        )
    return bytes(last.made)


def _started(path: Path, words: list[str]) -> subprocess.Popen[bytes]:
    """The running program. It is in a process group of its own: a Ctrl-C is this process's to pass on."""
    try:
        return subprocess.Popen(
            [path, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
            restore_signals=False,  # SIGXFSZ stays ignored: beyond a limit on file sizes a write fails, and what was begun is removed
        )
    except OSError as error:
        raise errors.TargetError(
            f"{path}: can't be started ({error.strerror}). Build it anew with `make setup`."
        ) from error


def _exception(failed: _Failed) -> errors.SlotmarkError:
    kinds = (errors.ArgumentError, errors.BedError, errors.ChainError, errors.SimulationError)
    return {kind.__name__: kind for kind in kinds}[failed.error](failed.message)
