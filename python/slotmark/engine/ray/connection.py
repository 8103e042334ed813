"""The connection of a command to a Ray cluster, by a driver in a process of its own."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from slotmark.cleaning import one_line
from slotmark.engine.local import STOPPING_S, begun
from slotmark.engine.ray.driver import drive
from slotmark.engine.ray.messages import WAIT_S, Begin, Lost, Message, Staff, Visit
from slotmark.engine.ray.nodes import Cluster
from slotmark.engine.reached import OUTPUTS
from slotmark.errors import EngineError
from slotmark.temporary import temporary_place

LOG = "ray.log"
"""The file of all that Ray prints in the driver."""


@contextmanager
def output_of_ray(remark: Callable[[str], None]) -> Iterator[Path]:
    """A folder for what Ray prints, where a command has no folder of its own: it stays where Ray printed anything, and a remark names the file."""
    folder = Path(tempfile.mkdtemp(prefix="slotmark-ray-", dir=temporary_place()))
    log = folder / LOG
    try:
        yield folder
    finally:
        if _has_words(log):
            shutil.rmtree(folder / OUTPUTS, ignore_errors=True)
            remark(f"What Ray printed is in {log}.")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _has_words(log: Path) -> bool:
    return log.is_file() and log.stat().st_size > 0


@contextmanager
def connected(folder: Path, *, for_pieces: bool) -> Iterator[tuple["Driver", Cluster]]:
    """A driver and what it found. EngineError where there is no cluster.

    Args:
        folder: For what Ray prints.
        for_pieces: Whether workers that answered stay for pieces.
    """
    try:
        (folder / OUTPUTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"{folder}: {error.strerror}. Choose a -o that can be written.") from error
    driver = Driver(folder / LOG, for_pieces)
    try:
        while (found := driver.received()) is None:
            pass
        if isinstance(found, Lost):
            raise EngineError(
                f"--engine ray: {one_line(found.why)} This command runs on a node of a running cluster; RAY_ADDRESS=HOST:PORT names its head."
            )
        yield driver, found
    finally:
        driver.stop()


def lost_in_words(address: str, why: str, folder: Path) -> str:
    """A cluster that was lost, why, and what to do."""
    log = folder / LOG
    printed = f" {log} has what Ray printed." if _has_words(log) else ""
    return f"{address}: the Ray cluster was lost: {one_line(why)} What is finished is kept; start the cluster and run the same command again.{printed}"


class Driver:
    """The process that has loaded Ray."""

    def __init__(self, log: Path, for_pieces: bool) -> None:
        self._process, self._pipe = begun(drive, log, for_pieces)

    def send(self, asked: Begin | Visit | Staff | Message) -> None:
        """Asks for something."""
        with suppress(BrokenPipeError):  # it has ended, which is seen when something is to be received
            self._pipe.send(asked)

    def received(self, within_s: float = WAIT_S) -> Any:
        """The next thing that it sent; None where there is nothing at the moment, a Lost where it has ended."""
        try:
            return self._pipe.recv() if self._pipe.poll(within_s) else None
        except (EOFError, ConnectionResetError):
            self._process.join(STOPPING_S)
            return Lost("its head has ended, or can't be reached.")

    def stop(self) -> None:
        """Has it cancel what it began, and waits for its end."""
        self._pipe.close()
        self._process.join(2 * STOPPING_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
