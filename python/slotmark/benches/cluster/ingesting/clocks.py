"""The clocks of a cluster's hosts, from its logs alone: who was connected with whom, and how far their clocks are apart."""

from collections.abc import Mapping, Sequence
from importlib import resources
from math import isfinite
from pathlib import Path

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slotmark.benches.cluster.ingesting.connections import Connection, peers
from slotmark.metrics.catalogue import catalogue
from slotmark.metrics.database import threads_for
from slotmark.metrics.sql import allow_folders, parquet_files
from slotmark.numbers import fixed, plain
from slotmark.statistics.clock_moves import Least, courses, moved_clocks
from slotmark.statistics.clocks import Offsets, clock_offsets, made_alike
from slotmark.warnings import Warning

STRETCHES = 8
"""The number of stretches of a run in which clocks are compared, to find those that moved."""


class Clocks(msgspec.Struct, frozen=True):
    """The clocks of a cluster's hosts, from the logs.

    Attributes:
        connections: One row per host and connection: ``host``, ``local`` (null where the log doesn't have it), ``remote``, ``peer`` (null where it isn't known), ``messages``.
        least_differences: One row a sender and receiver: ``sender``, ``receiver``, ``least_ns``, ``messages``.
        clocks: One row per host: ``host``, ``offset_ns``, ``low_ns``, ``high_ns``, ``error_ns`` (null where not known), ``is_reference``, ``correction_ns``.
        warnings: The warnings on them.
    """

    connections: pa.Table
    least_differences: pa.Table
    clocks: pa.Table
    warnings: list[Warning]

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables by their names in a run folder."""
        return {
            "connections": self.connections,
            "least_differences": self.least_differences,
            "clocks": self.clocks,
        }


def look_at_clocks(
    tables: Path, hosts: Sequence[str], limit_ms: float, *, correct: bool, listening: Mapping[str, str] = {}
) -> Clocks:
    """Finds the hosts at both ends of all connections, and estimates how far their clocks are apart.

    Args:
        tables: The folder of a run's tables, with ``block_events`` in it.
        hosts: Those of which there is a row, sorted.
        limit_ms: A clock that is farther than this from the reference is warned of.
        correct: Whether the times of such a host are to be read as the estimate has them. The tables stay as they were logged.
        listening: Where hosts listen, as far as that is known besides the logs: host to ``10.0.0.1:3001``.
    """
    folder = tables / "block_events"
    files = sorted(folder.iterdir())
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    with duckdb.connect(config={"threads": threads_for(rows)}) as database:
        database.execute("SET enable_progress_bar = false")
        allow_folders(database, [f"{folder}/"])
        database.execute("SET enable_external_access = false")
        database.execute(f"CREATE VIEW block_events AS FROM {parquet_files(files)}")
        known = database.sql(
            "SELECT host, local, remote, COUNT(*) AS messages FROM block_events WHERE remote IS NOT NULL GROUP BY ALL ORDER BY ALL"
        ).to_arrow_table()
        ends = [Connection(row["host"], row["local"], row["remote"]) for row in known.to_pylist()]
        known_peers = peers(ends, listening)
        connections = known.add_column(3, "peer", pa.array(known_peers, pa.string()))
        database.register(
            "connections", _numbered(ends, known_peers, {host: number for number, host in enumerate(hosts)})
        )
        for made in ("sightings", "trips"):
            database.execute(f"CREATE TEMP TABLE {made} AS {_sql(made)}")
        least = database.sql(_sql("least_differences")).to_arrow_table()
        by_stretch = database.sql(_sql("least_by_stretch"), params={"stretches": STRETCHES}).to_arrow_table()
    columns = ("kind", "sender", "receiver", "stretch", "least_ns", "next_ns")
    messages = Least(*(by_stretch[column].to_numpy() for column in columns))
    moved = moved_clocks(courses(len(hosts), STRETCHES, messages), messages, limit_ms * 1e6)
    senders, receivers, least_ns = (least[column].to_numpy() for column in ("sender", "receiver", "least_ns"))
    kinds_ns = np.column_stack([_or_nan(least[column]) for column in ("header_ns", "request_ns")])
    offsets = clock_offsets(len(hosts), senders, receivers, least_ns, made_alike(least_ns, kinds_ns), known=moved)
    # What is nan isn't outside.
    error_ns = np.nan_to_num(offsets.error_ns)
    ahead = np.maximum(offsets.offset_ns - error_ns, offsets.low_ns)
    behind = np.maximum(-offsets.offset_ns - error_ns, -offsets.high_ns)
    outside = np.maximum(ahead, behind) > limit_ms * 1e6
    return Clocks(
        connections,
        _named(least, hosts),
        _table(hosts, offsets, outside & correct),
        _warnings(hosts, offsets, outside, limit_ms, named=bool(ends), correct=correct),
    )


def _numbered(ends: Sequence[Connection], known_peers: Sequence[str | None], numbers: Mapping[str, int]) -> pa.Table:
    """Connections between hosts that have rows, with the numbers of both. A peer may be known that has none: one whose machine was lost, or whose log has nothing."""
    rows = [(one, peer) for one, peer in zip(ends, known_peers, strict=True) if peer is not None and peer in numbers]
    return pa.table(
        {
            "host": pa.array([one.host for one, _ in rows], pa.string()),
            "local": pa.array([one.local for one, _ in rows], pa.string()),
            "remote": pa.array([one.remote for one, _ in rows], pa.string()),
            "host_no": pa.array([numbers[one.host] for one, _ in rows], pa.int32()),
            "peer_no": pa.array([numbers[peer] for _, peer in rows], pa.int32()),
        }
    )


def _or_nan(values: pa.ChunkedArray) -> np.ndarray:
    return values.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()


def _named(least: pa.Table, hosts: Sequence[str]) -> pa.Table:
    """Rows of pairs of hosts by their numbers, with their names instead."""
    names = pa.array(hosts, pa.string())
    named = {column: names.take(least[column].combine_chunks()) for column in ("sender", "receiver")}
    return pa.table({**named, **{column: least[column] for column in ("least_ns", "messages")}})


def _sql(name: str) -> str:
    return resources.files("slotmark.benches.cluster.ingesting").joinpath(f"{name}.sql").read_text(encoding="utf-8")


def _table(hosts: Sequence[str], offsets: Offsets, corrected: np.ndarray) -> pa.Table:
    def whole(values: np.ndarray) -> pa.Array:
        finite = np.isfinite(values)
        return pa.array(np.rint(np.where(finite, values, 0)).astype(np.int64), mask=~finite)

    return pa.table(
        {
            "host": pa.array(hosts, pa.string()),
            "offset_ns": whole(offsets.offset_ns),
            "low_ns": whole(offsets.low_ns),
            "high_ns": whole(offsets.high_ns),
            "error_ns": whole(offsets.error_ns),
            "is_reference": pa.array([number == offsets.reference for number in range(len(hosts))], pa.bool_()),
            "correction_ns": whole(np.where(corrected, offsets.offset_ns, 0.0)),
        }
    )


def _warnings(
    hosts: Sequence[str], offsets: Offsets, outside: np.ndarray, limit_ms: float, *, named: bool, correct: bool
) -> list[Warning]:
    if len(hosts) < 2:
        return []
    if not named:
        return [_unknown([])]
    of_bench, found = catalogue("cluster"), []
    if outside.any() and offsets.reference is not None:
        apart = sorted(np.flatnonzero(outside).tolist(), key=lambda number: -abs(offsets.offset_ns[number]))
        far = [
            _apart(
                hosts[number],
                *(of[number] / 1e6 for of in (offsets.offset_ns, offsets.error_ns, offsets.low_ns, offsets.high_ns)),
            )
            for number in apart
        ]
        middle = hosts[offsets.reference]
        found.append(
            of_bench.warning("clocks_corrected", hosts=far, reference=middle)
            if correct
            else of_bench.warning("clocks_apart", hosts=far, reference=middle, limit_ms=plain(limit_ms))
        )
    if offsets.moved.any():
        moved = [hosts[number] for number in np.flatnonzero(offsets.moved).tolist()]
        found.append(of_bench.warning("clocks_moved", hosts=moved))
    unknown = np.isnan(offsets.offset_ns) & ~offsets.moved
    if unknown.any():
        found.append(_unknown([hosts[number] for number in np.flatnonzero(unknown).tolist()]))
    return found


def beside_measured(clocks: pa.Table, measured: Mapping[str, tuple[int, int]]) -> list[str]:
    """The hosts whose clocks can't be where both the logs and a measurement have them, each with the bounds of both.

    Args:
        clocks: What the logs have: the table ``clocks``.
        measured: The least and the most that a host's clock is ahead of one that is the same for all, in ns.
    """
    rows = {row["host"]: row for row in clocks.to_pylist() if row["low_ns"] is not None and row["high_ns"] is not None}
    reference = next((host for host, row in rows.items() if row["is_reference"]), None)
    if reference is None or reference not in measured:
        return []
    of_reference = measured[reference]
    found = []
    for host in sorted(rows.keys() & measured.keys() - {reference}):
        low_ns, high_ns = measured[host][0] - of_reference[1], measured[host][1] - of_reference[0]
        row = rows[host]
        if low_ns > row["high_ns"] or high_ns < row["low_ns"]:
            by_logs, by_trips = (
                f"{fixed(low / 1e6, 2, sign=True)} to {fixed(high / 1e6, 2, sign=True)} ms"
                for low, high in ((row["low_ns"], row["high_ns"]), (low_ns, high_ns))
            )
            found.append(f"{host} ({by_logs} by the logs, {by_trips} by round trips)")
    return found


def _apart(host: str, offset_ms: float, error_ms: float, low_ms: float, high_ms: float) -> str:
    """A host with how far its clock is ahead of another, how far that may be off, and between which bounds it must be."""
    error = f" ± {fixed(error_ms, 1)}" if isfinite(error_ms) else ""
    bounds = (
        f", {fixed(low_ms, 1, sign=True)} to {fixed(high_ms, 1, sign=True)} whatever the delays"
        if isfinite(low_ms) and isfinite(high_ms)
        else ""
    )
    return f"{host} ({fixed(offset_ms, 1, sign=True)}{error} ms{bounds})"


def _unknown(hosts: Sequence[str]) -> Warning:
    """Hosts whose logs don't show how far their clocks are off; none named where no host's do."""
    if not hosts:
        why = "log lines of headers and blocks don't name the connection"
        return catalogue("cluster").warning("clocks_unknown", hosts="any host", why=why)
    why = "no messages in both directions between them and the others are in the logs"
    return catalogue("cluster").warning("clocks_unknown", hosts=hosts, why=why)
