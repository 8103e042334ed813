"""The part of a live cluster that another machine has: the process there, which does what comes through a pipe."""

import pickle
import shutil
import time
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from slotmark.benches.cluster.ingesting.log_pieces import accounts
from slotmark.benches.cluster.ingesting.log_places import Look as LogsLook
from slotmark.benches.cluster.ingesting.log_places import look_at_host
from slotmark.benches.cluster.live.beside import Beginning, Beside
from slotmark.benches.cluster.live.launching import end_leftovers
from slotmark.benches.cluster.live.memory import memory_left
from slotmark.benches.cluster.live.placing import Asked, Placed, place
from slotmark.benches.cluster.live.sites.machine_clocks import Answering, Looking, Offset
from slotmark.benches.cluster.live.sites.part import MEMORY_LOOK_S, Look, Part, ShortMemoryError
from slotmark.cores import usable_cores
from slotmark.errors import BedError
from slotmark.measure.supervised import Supervised
from slotmark.run import MachineFacts, machine_facts

TABLES = "tables"
"""The folder of parts of tables in a run directory: no host's."""

CHUNK_BYTES = 4 << 20
"""Bytes of a file that travel at a time."""


class Remote(Part):
    """A part in a process of its own, whose run directory is made there, of files that come through the pipe."""

    def __init__(self) -> None:
        super().__init__(Path(), memory_left, lambda: None)
        self._short: ShortMemoryError | None = None

    def make(self, folder: str) -> str:
        """Makes the run directory. Returns its path. BedError where it can't be made, or is there."""
        made = Path(folder).expanduser().absolute()
        try:
            made.parent.mkdir(parents=True, exist_ok=True)
            made.mkdir(mode=0o700)
        except OSError as error:
            raise BedError(f"{made}: can't be made ({error.strerror}). Name another folder in hosts.toml.") from error
        self.folder = made
        return str(self.folder)

    def write(self, name: str, content: bytes, mode: int) -> None:
        """Writes to the end of a file of the run directory."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(content)
        path.chmod(mode)

    def place(self, hosts: Mapping[str, Asked]) -> dict[str, Placed]:
        """The node of each host, as it is on this machine. Raises as :func:`place`."""
        return place(hosts)

    def end_leftovers(self) -> list[int]:
        """Ends processes of live runs that lost their conductor; gives their ids."""
        return end_leftovers()

    def run_directories(self, folder: str) -> list[str]:
        """The run directories that lie in a folder of this machine."""
        return sorted(str(one.parent) for one in Path(folder).expanduser().glob("*/bed.json"))

    def facts(self) -> MachineFacts:
        """Facts about the machine."""
        return machine_facts()

    def begin_beside(self, pids: Sequence[int]) -> None:
        """Begins to measure what these processes take, with all that they have started, and this one."""
        self._beside = Beginning(pids)

    def end_beside(self) -> Beside:
        """Returns the use since then."""
        return self._beside.ended()

    def answer_clock(self, address: str) -> int:
        """Begins to answer with the time, at an address of this machine. Returns the port. BedError where it can't listen there."""
        try:
            self._answering = Answering(address)
        except OSError as error:
            raise BedError(
                f"{address}: not an address of this machine ({error.strerror}). Name another in hosts.toml."
            ) from error
        return self._answering.port

    def look_at_clock(self, address: str, port: int) -> None:
        """Begins to compare the clock with that of a machine that answers."""
        self._looking = Looking(address, port)

    def clocks(self) -> list[Offset]:
        """Returns how far the clock was ahead of the other, at each look."""
        return self._looking.ended()

    def survey(self, machine: str) -> LogsLook:
        """Returns what decides how this machine's logs are read; and files that can't be read. LogError where there is no log."""
        return look_at_host(str(self.folder), machine)

    def ingest(self, found: Sequence[str], machine: str) -> tuple[list[str], dict[str, int]]:
        """Reads this machine's logs.

        Args:
            found: What decides how all logs of the cluster are read.
            machine: This machine's name.

        Returns:
            The account of each part; and the files of tables, each with its size.

        Raises:
            LogError: A file can't be read, or isn't the one that was looked at.
        """
        tables = self.folder / TABLES
        tables.mkdir()
        told = accounts(
            list(found),
            machine,
            0,
            1,
            "path",
            folder=tables,
            threads=usable_cores(),
            progress=lambda _done, _total: None,
        )
        return told, {str(one.relative_to(tables)): one.stat().st_size for one in sorted(tables.rglob("*.parquet"))}

    def forget_tables(self) -> None:
        """Removes the parts of tables that were read."""
        shutil.rmtree(self.folder / TABLES, ignore_errors=True)

    def remove(self) -> None:
        """Removes the run directory, of which nothing is to be kept."""
        self.close()
        if self.folder != Path():
            shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, name: str, at: int) -> bytes:
        """A piece of a file of the run directory; empty at its end."""
        with (self.folder / name).open("rb") as file:
            file.seek(at)
            return file.read(CHUNK_BYTES)

    def look(self, after_s: float = 0.0) -> Look:
        """As of :class:`Part`, after a time. Raises ShortMemoryError where nodes were ended for want of memory."""
        end = time.monotonic() + after_s
        while (left_s := end - time.monotonic()) > 0:
            time.sleep(min(left_s, max(self.memory_lasts_s, MEMORY_LOOK_S)))
            self.idle()
        if self._short:
            raise self._short
        return super().look()

    def idle(self) -> None:
        """Ends the nodes where there is too little memory."""
        if not self._short:
            try:
                self.check_memory()
            except ShortMemoryError as error:
                self._short = error
                self.kill()


def serve(pipe: Connection) -> None:
    """Does what comes through a pipe with a part of this machine, until that ends; then all that it started ends."""
    with Remote() as part:
        while True:
            if not pipe.poll(max(part.memory_lasts_s, MEMORY_LOOK_S)):
                part.idle()
                continue
            work, given = pipe.recv()
            pipe.send(_outcome(part, work, given))


def _outcome(part: Part, work: str, given: tuple[Any, ...]) -> tuple[bool, Any]:
    """Returns whether a method went well, and what it returned or raised, as another process can read it."""
    try:
        return True, getattr(part, work)(*given)
    except Exception as error:
        said = "".join(traceback.format_exception(error)).rstrip()
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return False, RuntimeError(said)
        error.add_note(said)
        return False, error


def supervised() -> Supervised:
    """Starts such a process on this machine."""
    return Supervised(serve)
