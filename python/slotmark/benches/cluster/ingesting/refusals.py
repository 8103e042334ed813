"""Logs that are refused for what was found in them: damage, lines that can't be read, a genesis of another network."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import pyarrow.compute as pc
import pyarrow.parquet as pq

from slotmark.benches.cluster.ingesting.ingested import Ingested
from slotmark.benches.cluster.metadata import Genesis
from slotmark.cleaning import one_line
from slotmark.errors import LogError
from slotmark.numbers import percent
from slotmark.words import counted

_SHOWN = 5

_ROWS, _EVENTS = 1_000, 9
"""At each end of a part of a table, the number of rows that are read, and the number of events among them that are taken."""

_IN_THEIR_SLOT = {
    "slot_events": (("started", "leader", "not_leader"), (0, -1), 10 * 10**9),
    "block_events": (("forged", "noticed"), (-1,), 3600 * 10**9),
}
"""Tables and events that have the slot in which they happen, the surest first, at which ends of logs, and how many ns off they are on half of the hosts by another genesis alone.

A forge loop is of the slot that is now, by a clock with which the node finds others. Headers may be old: a node may begin far behind, and not have all at the end.
"""


def refuse_damaged(ingested: Ingested) -> None:
    """Refuses packed files that can't be read to their ends. LogError names the first."""
    if not ingested.damaged:
        return
    first = "; ".join(
        f"{one_line(one.file)}: {one.unread_bytes:,} bytes not read, from byte {one.at:,} on ({one_line(one.what)})"
        for one in ingested.damaged[:3]
    )
    raise LogError(
        f"{counted(len(ingested.damaged), 'damaged packed file')}: what was read may be wrong, and the rest is missing. The first: {first}. "
        "Copy them again, or accept the loss with --accept-damaged."
    )


def refuse_rejected(ingested: Ingested, most: float) -> None:
    """Refuses logs of which more than a share of the lines can't be read. LogError names the first."""
    if ingested.rejected <= most * ingested.lines:
        return
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in ingested.reasons[:_SHOWN])
    nodes = " and ".join(sorted({host.node for host in ingested.hosts if host.node})) or "cardano-node"
    first = "; ".join(
        f"{one.file}:{one.line} (byte {one.offset:,}) {one.reason}: {one_line(one.text[:60])}"
        for one in ingested.first_rejections[:3]
    )
    raise LogError(
        f"{ingested.rejected:,} of {ingested.lines:,} lines can't be read ({reasons}), more than {percent(most)}. "
        f"The first: {first}. They were read as lines of {nodes}. Correct the logs, or allow more with --max-rejected."
    )


def refuse_other_genesis(tables: Path, genesis: Genesis) -> None:
    """Refuses a genesis by which slots are at other times than those at which hosts did something in them.

    Of each piece of a log the first and the last rows are looked at; the median over pieces lets hosts with wrong clocks pass.
    """
    slot_ns = round(genesis.slot_length * 1e9)
    late_ns: dict[int, list[float]] = {0: [], -1: []}
    most_ns = 0
    for table, (events, ends, limit_ns) in _IN_THEIR_SLOT.items():
        if any(late_ns.values()):
            break
        most_ns = limit_ns
        for part in sorted((tables / table).iterdir()):
            for end in ends:
                if found := _lateness(part, end, events, genesis.system_start_ns, slot_ns):
                    late_ns[end].append(median(found))
    at_ends_ns = [round(median(late)) for late in late_ns.values() if late]
    off_ns = max(at_ends_ns, key=abs, default=0)
    if abs(off_ns) > most_ns:
        start_ns = genesis.system_start_ns + off_ns
        began = moment(start_ns) if 0 <= start_ns < 2**63 else "at no time"
        at_one_end = min(map(abs, at_ends_ns)) <= most_ns
        of_two_runs = " At one end of the logs it is: of logs of two runs, leave one out." if at_one_end else ""
        raise LogError(
            f"the genesis is not that of these logs: by it slot 0 began {genesis.system_start}, by the slots that hosts began {began}. "
            f"Give the genesis with --genesis that the nodes were started with.{of_two_runs} A network that began with Byron's slots of 20 s can't be analysed."
        )


def _lateness(part: Path, end: int, events: Sequence[str], start_ns: int, slot_ns: int) -> list[int]:
    """Returns how long after the beginning of their slots the events in the first rows of a file were, or the last; by a genesis."""
    file = pq.ParquetFile(part)
    if not file.metadata.num_rows:
        return []
    group = file.read_row_group(range(file.num_row_groups)[end], columns=["ts_ns", "event", "slot"])
    rows = group.slice(0, _ROWS) if end == 0 else group.slice(max(0, group.num_rows - _ROWS))
    rows = rows.filter(pc.field("event").isin(events) & pc.field("slot").is_valid())
    rows = rows.slice(0, _EVENTS) if end == 0 else rows.slice(max(0, rows.num_rows - _EVENTS))
    pairs = zip(rows["ts_ns"].to_pylist(), rows["slot"].to_pylist(), strict=True)
    return [ts_ns - start_ns - slot * slot_ns for ts_ns, slot in pairs]


def moment(ts_ns: int) -> str:
    """A time in ns since 1970 as text, to the second."""
    return datetime.fromtimestamp(ts_ns // 10**9, UTC).isoformat().replace("+00:00", "Z")
