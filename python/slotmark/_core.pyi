"""
The Rust side of slotmark. Raises ChainError, LogError, ServerError, SimulationError and RunError of slotmark.errors; releases the GIL while it works.
"""

from _typeshed import SupportsGetItem
from collections.abc import Callable
from numpy import float64
from numpy.typing import NDArray
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = [
    "version",
    "Announced",
    "Buffer",
    "Ended",
    "Levels",
    "NewFolder",
    "Relay",
    "RolledBack",
    "Waits",
    "Window",
    "blake3_file",
    "chain_info",
    "chain_sources",
    "chain_window",
    "cluster_profile",
    "digests",
    "duration_units",
    "is_log_line",
    "merge_logs",
    "node_tip",
    "node_version",
    "parameter_reach",
    "partitioned",
    "predicted_metrics",
    "quantity",
    "read_logs",
    "simulate",
    "simulate_direct",
    "simulate_tables",
    "slot_rows",
    "survey_log",
    "usage_rows",
]

version: Final[str]

@final
class Announced:
    """
    A block that the node announced; times by the monotonic clock.
    """
    @property
    def announced_ns(self, /) -> int:
        """
        The read returned that the roll-forward's first byte was in.
        """
    @property
    def arrived_ns(self, /) -> int:
        """
        The read returned that the last byte was in of what the client works on: of the roll-forward, in `fetch` of the block.
        """
    @property
    def awaited(self, /) -> bool:
        """
        True where the client's request waited for it at the tip.
        """
    @property
    def bytes(self, /) -> int:
        """
        Size of the block; of the header in `headers`.
        """
    @property
    def digest(self, /) -> str:
        """
        The client's digest up to this block, in hex.
        """
    @property
    def hash(self, /) -> str:
        """
        Header hash, in hex.
        """
    @property
    def held_ns(self, /) -> int:
        """
        The longest time that bytes of it were in the relay.
        """
    @property
    def slot(self, /) -> int:
        """
        Absolute slot.
        """

@final
class Buffer:
    """
    Numbers of a column, or a bit a row from the least of the first byte on: `pyarrow.py_buffer` takes it without a copy.
    """

@final
class Ended:
    """
    Nothing is known of the connection from here on.
    """
    @property
    def at_ns(self, /) -> int:
        """
        Time of the event.
        """
    @property
    def by_node(self, /) -> bool:
        """
        True where the node ended it, or sent an invalid message; false where the client did.
        """
    @property
    def why(self, /) -> str:
        """
        In words.
        """

@final
class Levels:
    """
    Series of the same runs, each looked at run by run.
    """

    FIRST: Final[int]
    """
    Runs of a first level that it takes before anything is compared with it, where it isn't known otherwise what runs differ by.
    """
    HELD_BACK: Final[int]
    """
    Runs of a level from which on its own spread counts whatever was known before, and of a new one from which on its place need not be clear.
    """
    LOOKED_AT: Final[int]
    """
    The newest runs of a level that are looked at: of older ones no more is learned.
    """
    def __new__(
        cls,
        /,
        least: SupportsIndex,
        spreads: SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex] | None],
    ) -> Levels:
        """
        Series of no runs: how many runs of a new level it takes to be sure of it, and per series the variance that is known of runs of one build with its degrees of freedom.
        """
    def add(
        self,
        /,
        place: SupportsIndex,
        levels: SupportsGetItem[int, SupportsFloat | SupportsIndex],
        variances: SupportsGetItem[int, SupportsFloat | SupportsIndex],
        last: bool,
    ) -> list[tuple[int, int, float, float, float, int, float]]:
        """
        Takes a run, by its place in time: its level in each series, not a number where it lacks one, and the variance of that by what varies within it.

        Returns the changes that it shows, by series; with ``last``, no run follows.
        """
    def newest(self, /, series: SupportsIndex) -> int:
        """
        The place of the newest run of a series that has one.
        """
    def settle(self, /, series: SupportsIndex, first: SupportsIndex) -> None:
        """
        Takes the change of a series that begins with a run for sure: what comes is compared with the runs since then.
        """

@final
class NewFolder:
    """
    A folder that is whole or absent: written under a temporary name beside its place, with a lock that ends with the process.

    What killed processes left of one at the same place is removed, with a line for each on standard error.
    """
    def __new__(cls, /, place: str | PathLike[str]) -> NewFolder:
        """
        Makes the temporary folder, and the folders above it. Raises OSError, also where something is at the place already.
        """
    def finish(self, /) -> None:
        """
        Puts the folder in its place. Raises OSError where that can't be done; what was written is removed then.
        """
    @property
    def path(self, /) -> Path:
        """
        The path to write to until it is finished.
        """
    def remove(self, /) -> None:
        """
        Removes what was written, if it wasn't finished.
        """

@final
class Relay:
    """
    A relay between one client and a node, which notes when the node's messages arrive; threads of its own, from when it is made until it is stopped.
    """
    def __new__(cls, /, node: str, own_socket: str | PathLike[str] | None, mode: str) -> Relay:
        """
        Listens: on a socket for a node's socket, on a free port of this machine for a node's HOST:PORT. Raises OSError.
        """
    def events(self, /) -> list[Waits | Announced | RolledBack | Ended]:
        """
        Returns the events since the last call, in order.
        """
    @property
    def place(self, /) -> str:
        """
        The address that the client connects to: the path of a socket, or HOST:PORT.
        """
    def stop(self, /) -> None:
        """
        Ends the client's connection and stops listening.
        """

@final
class RolledBack:
    """
    The node rolled back.
    """
    @property
    def at_ns(self, /) -> int:
        """
        Time of the client's message.
        """
    @property
    def to(self, /) -> str:
        """
        To which point, `SLOT.HASH` or `origin`.
        """

@final
class Waits:
    """
    The client's request waits at the tip.
    """
    @property
    def at_ns(self, /) -> int:
        """
        Time of the node's answer.
        """

@final
class Window:
    """
    A stretch of a chain; points are `SLOT.HASH` or `origin`.
    """
    @property
    def blocks(self, /) -> int:
        """
        Number of blocks.
        """
    @property
    def bytes(self, /) -> int:
        """
        Their bytes.
        """
    @property
    def first(self, /) -> str:
        """
        Its first block.
        """
    @property
    def last(self, /) -> str:
        """
        Its last block.
        """
    @property
    def start(self, /) -> str:
        """
        The point before its first block.
        """

def blake3_file(path: str | PathLike[str]) -> str:
    """
    The BLAKE3 digest of a file in hex. Raises OSError where it can't be read.
    """

def chain_info(
    chain: str | PathLike[str], start: str | None, blocks: SupportsIndex | None, progress: Callable[[int, int], None]
) -> str:
    """
    Returns the output of `slotmark chain info`, as JSON; `progress` gets bytes done and bytes in all, and may raise to stop.
    """

def chain_sources(chain: str | PathLike[str], start: str, blocks: SupportsIndex) -> list[tuple[str, int, str]]:
    """
    The chunk files that a window lies in: name, bytes, SHA-256 in hex; every block's CRC is checked on the way.
    """

def chain_window(chain: str | PathLike[str], start: str, blocks: SupportsIndex | None) -> Window:
    """
    The window of `blocks` blocks (all the rest, where None) after `start`: a point, `origin`, or `densest`, the window with the most bytes.
    """

def cluster_profile(layers: SupportsGetItem[int, str], settings: SupportsGetItem[int, str]) -> str:
    """
    A cluster profile as one TOML text: `layers` are TOML texts, the base first; `settings` are `key=value`, laid over them.
    """

def digests(
    chain: str | PathLike[str], start: str, blocks: SupportsIndex, mode: str, every: SupportsIndex
) -> list[tuple[int, str, str]]:
    """
    The digests of docs/targets.md over a window after every `every` blocks and at its end: blocks so far, digest, the last block's point.
    """

def duration_units() -> list[str]:
    """
    The units that a duration may be written in, rising.
    """

def is_log_line(line: bytes) -> bool:
    """
    Returns whether a line is one of a node's log, in any dialect that `read_logs` reads.
    """

def merge_logs(
    survey: SupportsGetItem[int, str], accounts: SupportsGetItem[int, str], tables: str | PathLike[str]
) -> str:
    """
    Adds up the accounts of all parts, in any order, and writes the tables of all lines into the folder that has the parts.

    Returns `slotmark_tracelog::Ingested` as JSON. Raises LogError where a file is there twice, or the accounts aren't those of all parts.
    """

def node_tip(place: str, node_to_node: bool, magic: SupportsIndex) -> str:
    """
    The tip of the node at a socket or, node-to-node, at HOST:PORT: SLOT.HASH or origin. Raises ServerError.
    """

def node_version(address: str, magic: SupportsIndex) -> int:
    """
    The version that the node at HOST:PORT agrees to in a node-to-node handshake for this network. Raises ServerError.
    """

def parameter_reach(parameter: str) -> str:
    """
    Returns what a parameter of a profile, by its full name, changes in a simulation: ``blocks``, ``logs``, ``name`` or ``nothing``.
    """

def partitioned(values: NDArray[float64], places: SupportsGetItem[int, SupportsIndex]) -> Buffer:
    """
    The values as `numpy.partition` orders them, in a third of its time. They are finite; IndexError where a place is beyond the last.
    """

def predicted_metrics() -> list[tuple[str, str]]:
    """
    The metrics of `simulate_tables`, in its order: the published table of each, and its published name.
    """

def quantity(text: str) -> tuple[float, str, str, float] | None:
    """
    The number, the unit, what the unit is of (`a duration`, `a size`, …), and its worth in the smallest of its kind.

    None where it is no number of 0 or more, or its unit is unknown; without a unit it is `a number`, worth 1.
    """

def read_logs(
    survey: SupportsGetItem[int, str],
    at: str,
    number: SupportsIndex,
    of: SupportsIndex,
    host_from_field: bool,
    tables: str | PathLike[str],
    threads: SupportsIndex,
    progress: Callable[[int, int], None],
    elsewhere: Any | None = None,
) -> list[str]:
    """
    Reads one of `of` pieces of the surveyed logs that lie `at` a host, numbered from 0, and writes its `NAME/part-NNNNN.parquet` into the folder `tables`.

    Returns `slotmark_tracelog::Account` as JSON for each part; `progress` gets bytes done and in all, and may raise to stop. Raises LogError.
    """

def simulate(
    profile_toml: str, seed: SupportsIndex, out: str | PathLike[str], progress: Callable[[int, int], None]
) -> str:
    """
    Simulates a cluster into a new run directory and returns the facts about it as JSON; `progress` gets slots done and in all, and may raise to stop.
    """

def simulate_direct(
    profile_toml: str,
    seed: SupportsIndex,
    name: str,
    tables: str | PathLike[str],
    description: str | PathLike[str],
    threads: SupportsIndex,
    progress: Callable[[int, int], None],
) -> tuple[str, str]:
    """
    Simulates a cluster straight into the empty folder `tables`, as `ingest` would from its logs, with the tables of the truth.

    The files that describe a run directory go into the empty folder `description`. Threads are as many as there are cores
    where 0. Returns the facts as JSON, as `simulate`, and `slotmark_tracelog::Ingested`; `progress` gets slots
    of hosts done and in all, and may raise to stop.
    """

def simulate_tables(profile_toml: str, seed: SupportsIndex, progress: Callable[[int, int], None]) -> str:
    """
    The published tables as a simulation predicts them, as JSON: `blocks`, `rejected`, `orphaned`, and `rows` of metric, predicted, standard_error, published.
    """

def slot_rows(
    files: dict[str, SupportsGetItem[int, str | PathLike[str]]],
    hosts: SupportsGetItem[int, tuple[str, SupportsIndex, SupportsIndex]],
    alone: bool,
    system_start_ns: SupportsIndex,
    slot_ns: SupportsIndex,
) -> tuple[int, list[tuple[str, str, Buffer, Buffer | None]]]:
    """
    One row per host and slot that the tables have, as their number and columns: `slotmark_tracelog::slot_rows`.

    `files` has those of `slot_events`, `transactions` and `ledger_metrics`; `hosts` are names with the numbers that stand for them and what is
    taken from their times, in ns; `alone` is set where all rows of the files are of the one host. A column is its name, Arrow's name for its type,
    its values, and the bits of rows that have one, where not all do. Raises RunError where a file can't be read, or isn't as ingest writes it.
    """

def survey_log(host: str, path: str | PathLike[str], at: str = "", elsewhere: Any | None = None) -> str:
    """
    Returns what of a host's log file decides how logs are cut: `slotmark_tracelog::Surveyed` as JSON. Raises LogError where it can't be read.

    A file that only one host can read is `at` that host; `elsewhere` reads files whose paths are URLs, by its methods `facts` and `range`.
    """

def usage_rows(
    files: dict[str, SupportsGetItem[int, str | PathLike[str]]],
    hosts: SupportsGetItem[int, tuple[str, SupportsIndex, SupportsIndex]],
    alone: bool,
    system_start_ns: SupportsIndex,
    slot_ns: SupportsIndex,
) -> tuple[int, list[tuple[str, str, Buffer, Buffer | None]]]:
    """
    One row per host and slot in which its resources were sampled, as `slot_rows`; `files` has those of `resources`: `slotmark_tracelog::usage_rows`.
    """
