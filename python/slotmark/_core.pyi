"""The Rust side of slotmark. Raises ChainError, ServerError, SimulationError and RunError of slotmark.errors; releases the GIL while it works."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

class Window(TypedDict):
    """A stretch of a chain: `start` is the point before its first block, as `SLOT.HASH` or `origin`."""

    start: str
    first: str
    last: str
    blocks: int
    bytes: int

version: str
"""slotmark's version."""

def blake3_file(path: str) -> str:
    """The BLAKE3 digest of a file in hex. Raises OSError where it can't be read."""

def chain_window(chain: str, start: str, blocks: int | None) -> Window:
    """The window of `blocks` blocks (all the rest, where None) after `start`: a point, `origin`, or `densest`, the window with the most bytes."""

def chain_sources(chain: str, start: str, blocks: int) -> list[tuple[str, int, str]]:
    """The chunk files that a window lies in: name, bytes, SHA-256 in hex; every block's CRC is checked on the way."""

def digests(chain: str, start: str, blocks: int, mode: str, every: int) -> list[tuple[int, str, str]]:
    """The digests of docs/targets.md over a window after every `every` blocks and at its end: blocks so far, digest, the last block's point."""

def chain_info(chain: str, start: str | None, blocks: int | None, progress: Callable[[int, int], None]) -> str:
    """Returns the output of `slotmark chain info`, as JSON; `progress` gets bytes done and bytes in all, and may raise to stop."""

def is_log_line(line: bytes) -> bool:
    """Returns whether a line is one of a node's log, in any dialect that `ingest` reads."""

def ingest(
    sources: list[tuple[str, str]],
    tables: str,
    threads: int,
    host_from_field: bool,
    progress: Callable[[int, int], None],
) -> str:
    """Reads node logs, each given with its host, and writes `NAME/part-NNNNN.parquet` into the empty folder `tables`.

    Returns `slotmark_tracelog::Ingested` as JSON; `progress` gets bytes done and in all, and may raise to stop. Raises LogError.
    """

def parameter_reach(parameter: str) -> str:
    """Returns what a parameter of a profile, by its full name, changes in a simulation: ``blocks``, ``logs``, ``name`` or ``nothing``."""

def cluster_profile(layers: list[str], settings: list[str]) -> str:
    """A cluster profile as one TOML text: `layers` are TOML texts, the base first; `settings` are `key=value`, laid over them."""

def simulate(profile_toml: str, seed: int, out: str, progress: Callable[[int, int], None]) -> str:
    """Simulates a cluster into a new run directory and returns the facts about it as JSON; `progress` gets slots done and in all, and may raise to stop."""

def simulate_direct(
    profile_toml: str,
    seed: int,
    name: str,
    tables: str,
    description: str,
    threads: int,
    progress: Callable[[int, int], None],
) -> tuple[str, str]:
    """Simulates a cluster straight into the empty folder `tables`, as `ingest` would from its logs, with the tables of the truth.

    The files that describe a run directory go into the empty folder `description`. Threads are as many as there are cores
    where 0. Returns the facts as JSON, as `simulate`, and `slotmark_tracelog::Ingested`; `progress` gets slots
    of hosts done and in all, and may raise to stop.
    """

def partition(values: NDArray[np.float64], places: list[int]) -> None:
    """Does in place what `numpy.ndarray.partition` does, in a third of its time. Values are finite; IndexError where a place is beyond the last."""

class Buffer:
    """Numbers of a column, or a bit a row from the least of the first byte on: `pyarrow.py_buffer` takes it without a copy."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

Column: TypeAlias = tuple[str, str, Buffer, Buffer | None]
"""A column's name, Arrow's name for its type, its values, and the bits of rows that have one, where not all do."""

def slot_rows(
    files: dict[str, list[str]], hosts: list[tuple[str, int, int]], alone: bool, system_start_ns: int, slot_ns: int
) -> tuple[int, list[Column]]:
    """One row per host and slot that the tables have, as their number and columns: `slotmark_tracelog::slot_rows`.

    `files` has those of `slot_events`, `transactions` and `ledger_metrics`; `hosts` are names with the numbers that stand for them and what is
    taken from their times, in ns; `alone` is set where all rows of the files are of the one host. Raises RunError where a file can't be read, or isn't as ingest writes it.
    """

def usage_rows(
    files: dict[str, list[str]], hosts: list[tuple[str, int, int]], alone: bool, system_start_ns: int, slot_ns: int
) -> tuple[int, list[Column]]:
    """One row per host and slot in which its resources were sampled, as `slot_rows`; `files` has those of `resources`: `slotmark_tracelog::usage_rows`."""

def simulate_tables(profile_toml: str, seed: int, progress: Callable[[int, int], None]) -> str:
    """The published tables as a simulation predicts them, as JSON: `blocks`, `rejected`, `orphaned`, and `rows` of metric, predicted, standard_error, published."""

def predicted_metrics() -> list[tuple[str, str]]:
    """The metrics of `simulate_tables`, in its order: the published table of each, and its published name."""

def quantity(text: str) -> tuple[float, str, str, float] | None:
    """The number, the unit, what the unit is of (`a duration`, `a size`, …), and its worth in the smallest of its kind.

    None where it is no number of 0 or more, or its unit is unknown; without a unit it is `a number`, worth 1.
    """

def duration_units() -> list[str]:
    """The units that a duration may be written in, rising."""

class NewFolder:
    """A folder that is whole or absent: written under a temporary name beside its place, with a lock that ends with the process.

    What killed processes left of one at the same place is removed, with a line for each on standard error.
    """

    path: Path
    """The path to write to until it is finished."""

    def __init__(self, place: Path) -> None:
        """Makes the temporary folder, and the folders above it. Raises OSError, also where something is at the place already."""

    def finish(self) -> None:
        """Puts the folder in its place. Raises OSError where that can't be done; what was written is removed then."""

    def remove(self) -> None:
        """Removes what was written, if it wasn't finished."""

def node_tip(place: str, node_to_node: bool, magic: int) -> str:
    """The tip of the node at a socket or, node-to-node, at HOST:PORT: SLOT.HASH or origin. Raises ServerError."""

def node_version(address: str, magic: int) -> int:
    """The version that the node at HOST:PORT agrees to in a node-to-node handshake for this network. Raises ServerError."""

class Relay:
    """A relay between one client and a node, which notes when the node's messages arrive; threads of its own, from when it is made until it is stopped."""

    place: str
    """The address that the client connects to: the path of a socket, or HOST:PORT."""

    def __init__(self, node: str, own_socket: str | None, mode: str) -> None:
        """Listens: on a socket for a node's socket, on a free port of this machine for a node's HOST:PORT. Raises OSError."""

    def events(self) -> str:
        """Returns the events since the last call, in order, as a JSON array of `slotmark_wire::relay::Event`."""

    def stop(self) -> None:
        """Ends the client's connection and stops listening."""
