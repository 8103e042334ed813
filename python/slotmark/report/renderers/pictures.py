"""Charts as pictures for paper, in processes of their own: the library that makes them keeps Python's lock meanwhile, for half of a report's time."""

import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from slotmark.errors import PieceError
from slotmark.temporary import temporary_file

_PROGRAM = str(Path(__file__).with_name("picture_maker.py"))


class Pictures:
    """Processes that make pictures, as :func:`picture_makers` starts them."""

    def __init__(self, makers: "Sequence[_Maker]", asking: ThreadPoolExecutor) -> None:
        self._free, self._asking = deque(makers), asking

    def of(self, chart: dict[str, Any], config: dict[str, Any]) -> Future[str]:
        """The picture of a chart as SVG, once it is made.

        Args:
            chart: A Vega-Lite specification, as JSON types.
            config: Vega-Lite's configuration of it.

        Raises:
            PieceError: As the result: the process ended, as where memory is short.
        """
        return self._asking.submit(self._made, chart, config)

    def _made(self, chart: dict[str, Any], config: dict[str, Any]) -> str:
        maker = self._free.popleft()
        try:
            return maker.made(chart, config)
        finally:
            self._free.append(maker)


@contextmanager
def picture_makers(count: int) -> Iterator[Pictures]:
    """Starts so many processes, and ends them; what wasn't made by then is left."""
    with ExitStack() as stack:
        makers = [stack.enter_context(_maker()) for _ in range(count)]
        asking = ThreadPoolExecutor(count)
        try:
            yield Pictures(makers, asking)
        finally:
            for maker in makers:
                maker.kill()
            asking.shutdown(cancel_futures=True)


class _Maker:
    """One process.

    Args:
        process: It.
        told, answers: Its pipes.
        errors: What it says beside.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], told: IO[bytes], answers: IO[bytes], errors: IO[bytes]
    ) -> None:
        self._process, self._told, self._answers, self._errors = process, told, answers, errors

    def kill(self) -> None:
        """Ends it at once."""
        self._process.kill()

    def made(self, chart: dict[str, Any], config: dict[str, Any]) -> str:
        """The picture of a chart, as :meth:`Pictures.of`."""
        with suppress(BrokenPipeError):
            self._told.write(json.dumps([chart, config]).encode() + b"\n")
            self._told.flush()
        if answer := self._answers.readline():
            return json.loads(answer)
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        said = f" and said: {last}" if last else ""
        raise PieceError(
            f"The process that makes pictures of charts for report.pdf ended with {self._process.wait()}{said}. Make room in memory, and try again."
        )


@contextmanager
def _maker() -> Iterator[_Maker]:
    with (
        temporary_file() as errors,
        subprocess.Popen(
            [sys.executable, "-P", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,  # Ctrl-C reaches the process that it works for, and no other
        ) as process,
    ):
        if process.stdin is None or process.stdout is None:
            raise AssertionError("both are pipes")
        try:
            yield _Maker(process, process.stdin, process.stdout, errors)
        finally:
            process.kill()
            with suppress(BrokenPipeError):  # what it wasn't there to read
                process.stdin.close()
