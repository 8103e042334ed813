"""The engine of this machine: pieces are done by its processes, with the same outputs for any number of them and any order of finishing."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, cast

from slotmark.cores import usable_cores
from slotmark.engine.piece import Merged, Piece, Progress, T
from slotmark.errors import PieceError
from slotmark.stopping import stop_once

STOPPING_S = 10.0
"""Time that a piece which is stopped has for removing what it began."""

_HELD = (signal.SIGINT, signal.SIGHUP)
"""Signals of a terminal to all of its processes: this process gets them and ends the others."""

_SHOWN_EVERY_S = 0.05


def local(
    pieces: Sequence[Piece[T]],
    merge: Callable[[Iterator[T]], Merged],
    progress: Progress = lambda _done, _total: None,
    workers: int | None = None,
) -> Merged:
    """Does pieces on this machine. A script calls this below ``if __name__ == "__main__":``, since new processes import it.

    Args:
        pieces: What is done.
        merge: Makes the result of their outputs, which it gets in the order of the pieces, each as soon as it and all before it are there.
        progress: Called on the caller's thread with what all pieces have done and have to do. What it raises, as on Ctrl-C, stops all of them.
        workers: Processes to do them; None for as many as there are cores. A single one is this process.

    Returns:
        What ``merge`` returns.

    Raises:
        PieceError: A process ended before its piece was done.
        Exception: What a piece raised, with its name; it stops the others.
    """
    workers = min(len(pieces), workers or usable_cores())
    meter = _Meter(len(pieces), progress)
    encoded = _with_processes(pieces, meter, workers) if workers > 1 else _in_turn(pieces, meter)
    try:
        return merge(piece.output(one) for piece, one in zip(pieces, encoded, strict=True))
    finally:
        encoded.close()


class _Meter:
    """Adds up what pieces have done. What one has to do that hasn't begun is taken for the most that one has."""

    def __init__(self, pieces: int, progress: Progress) -> None:
        self._done, self._totals = [0] * pieces, [0] * pieces
        self._progress = progress

    def note(self, place: int, done: int, total: int) -> None:
        """Takes what one piece has done and has to do."""
        self._done[place], self._totals[place] = done, total

    def report(self) -> None:
        """Calls the progress of all."""
        most = max(self._totals)
        self._progress(sum(self._done), sum(total or most for total in self._totals))


def _in_turn(pieces: Sequence[Piece[Any]], meter: _Meter) -> Generator[bytes, None, None]:
    """Outputs of pieces done one after the other by this process."""
    for place, piece in enumerate(pieces):

        def step(done: int, total: int, place: int = place) -> None:
            meter.note(place, done, total)
            meter.report()

        yield piece.done(step)


def _with_processes(pieces: Sequence[Piece[Any]], meter: _Meter, workers: int) -> Generator[bytes, None, None]:
    """Outputs of pieces done by some processes, in the order of the pieces."""
    waiting = iter(range(len(pieces)))
    finished: dict[int, bytes] = {}
    processes: list[_Process] = []
    try:
        for _ in range(workers):
            processes.append(_Process())
            processes[-1].begin(pieces, next(waiting))
        for turn in range(len(pieces)):
            while turn not in finished:
                busy = [one for one in processes if one.place is not None]
                ready = wait([one.pipe for one in busy], timeout=0.1)
                for process in (one for one in busy if one.pipe in ready):
                    place, found = process.received(pieces)
                    if isinstance(found, bytes):
                        finished[place] = found
                        process.begin(pieces, next(waiting, None))
                    else:
                        meter.note(place, *found)
                meter.report()
            yield finished.pop(turn)
    finally:
        for one in processes:
            one.stop()
        for one in processes:
            one.wait()


class _Process:
    """A process that does one piece after the other."""

    def __init__(self) -> None:
        self.place: int | None = None
        self._process, self.pipe = begun(_serve)

    def begin(self, pieces: Sequence[Piece[Any]], place: int | None) -> None:
        """Begins with a piece; with none, has nothing to do."""
        self.place = place
        if place is not None:
            with suppress(BrokenPipeError):  # it has ended, which is seen when something is to be received
                self.pipe.send(pieces[place])

    def received(self, pieces: Sequence[Piece[Any]]) -> tuple[int, "bytes | tuple[int, int]"]:
        """The place of its piece, and the output, or what is done and to be done. Raises what the piece did; PieceError where the process has ended."""
        assert self.place is not None
        try:
            found = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            piece, code = pieces[self.place], self._process.exitcode or 0
            how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            self.place = None
            raise PieceError(
                f"{piece.label} (the piece {piece.name}): its process was {how} before the piece was done. "
                "Where memory is short, end other programs; then begin again."
            ) from None
        if isinstance(found, BaseException):
            self.place = None
            raise found
        return self.place, found

    def stop(self) -> None:
        """Ends it as soon as it has removed what it began."""
        self.pipe.close()
        if self.place is not None:
            self._process.terminate()

    def wait(self) -> None:
        """Waits for its end, and kills it where that takes too long."""
        self._process.join(STOPPING_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def begun(serve: Callable[..., None], *given: object) -> tuple[BaseProcess, Connection]:
    """Starts a process that signals of a terminal don't reach.

    Args:
        serve: What it does: a function of a module. Its first argument is its end of a pipe, which is at its end when this process has ended.
        given: Its other arguments.

    Returns:
        The process, and this process's end of the pipe.
    """
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may never get its locks
    ours, theirs = cast("tuple[Connection, Connection]", context.Pipe())
    process = context.Process(target=serve, args=(theirs, *given), daemon=True)
    resource_tracker.ensure_running()  # the first start would begin with it, and it lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)  # a new process has it from this one
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
    return process, ours


def _serve(pipe: Connection) -> None:
    """Does the pieces that come through a pipe, until that ends."""
    signal.signal(signal.SIGTERM, stop_once)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with suppress(EOFError, OSError):
            while True:
                piece = pipe.recv()
                pipe.send(_done(piece, pipe))
    except KeyboardInterrupt:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def _end_with_parent() -> None:
    """Ends this process as soon as the one that started it has ended, however that did."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _done(piece: Piece[Any], pipe: Connection) -> "bytes | BaseException":
    """The output of a piece, or what it raised; what is done goes through the pipe now and then."""
    last = 0.0

    def step(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last >= _SHOWN_EVERY_S:
            last = time.monotonic()
            pipe.send((done, total))

    return outcome(piece, step)


def outcome(piece: Piece[Any], progress: Progress) -> "bytes | BaseException":
    """The output of a piece, encoded, or what it raised, as another process can read it."""
    try:
        return piece.done(progress)
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)).rstrip())
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return RuntimeError("\n".join(error.__notes__))
        return error
