"""Simulated clusters in which every clock is wrong by a known amount, over links that are as long there as back, or not."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slotmark.benches.cluster.ingesting.clocks import Clocks, look_at_clocks
from slotmark.benches.cluster.requests import CLOCK_LIMIT_MS
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.run import Run


class Found(msgspec.Struct, frozen=True):
    """Outcomes of planted offsets, relative to the clock that was taken as the reference; ms.

    Attributes:
        errors: Of the estimates, by host; shape (hosts,).
        stated: How far estimates may be off by their own account, nan where that isn't known; shape (hosts,).
        uncertainties: Half the distance of the bounds; shape (hosts,).
        outside: How many true offsets are outside their bounds.
        called_wrong: How many clocks are named as wrong that are right to half the limit.
        left: How many clocks aren't named that are farther off than the limit by twice their stated error, or by their bounds whatever the delays.
        moved: Whether clocks are named as ones that moved.
        half_asymmetry: Half the largest difference between the two directions of a link.
        blocks: How many were forged.
    """

    errors: np.ndarray
    stated: np.ndarray
    uncertainties: np.ndarray
    outside: int
    called_wrong: int
    left: int
    moved: bool
    half_asymmetry: float
    blocks: int


def planted(
    folder: Path,
    hosts: int,
    slots: int,
    seed: int,
    *,
    asymmetry_ms: float = 0.0,
    most_ms: float = 500.0,
    more: Sequence[str] = (),
    fault: str = "",
) -> Found:
    """Simulates, ingests, and holds the estimates against the truth.

    Args:
        folder: Where to; it doesn't exist.
        hosts: How many.
        slots: How long.
        seed: Of the offsets, the links and the simulation.
        asymmetry_ms: The most by which the two directions of a link differ, on top of those of the benchmarking cluster, whose don't.
        most_ms: The most by which a clock is wrong.
        more: Other settings of the profile.
        fault: One more fault, as in a profile.
    """
    folder.mkdir()
    draws = np.random.default_rng([seed, hosts])
    offsets = draws.uniform(-most_ms, most_ms, hosts).round(3)
    faults = ", ".join(
        [f'{{kind="clock-skew", host={host}, ahead_ms={ms}}}' for host, ms in enumerate(offsets)]
        + [fault] * bool(fault)
    )
    settings = [
        f"hosts={hosts}",
        f"pools={hosts}",
        f"run.slots={slots}",
        "genesis.epoch_slots=500",
        f"fault=[{faults}]",
        *more,
    ]
    run, facts = simulate_direct(
        load_profile("value-only-10.5", settings), seed, folder / "run", lambda _done, _total: None
    )
    names = sorted(f"node-{host}" for host in range(hosts))
    longer = draws.uniform(0, asymmetry_ms, (hosts, hosts))
    tables = run.path / "tables"
    if asymmetry_ms:
        tables = _rewritten(run, folder / "tables", _later(run, longer))
    clocks = look_at_clocks(tables, names, CLOCK_LIMIT_MS, correct=True)
    rows = {row["host"]: row for row in clocks.clocks.to_pylist()}
    found = [rows[f"node-{host}"] for host in range(hosts)]
    (reference,) = [host for host, row in enumerate(found) if row["is_reference"]]
    true = offsets - offsets[reference]
    offset, stated, low, high = (
        np.array([np.nan if row[name] is None else row[name] / 1e6 for row in found])
        for name in ("offset_ns", "error_ns", "low_ns", "high_ns")
    )
    named = np.array([row["correction_ns"] != 0 for row in found])
    wrong = (abs(true) > CLOCK_LIMIT_MS + 2 * np.nan_to_num(stated)) | (np.maximum(low, -high) > CLOCK_LIMIT_MS)
    return Found(
        offset - true,
        stated,
        (high - low) / 2,
        int(((true < low - 1e-5) | (true > high + 1e-5)).sum()),
        int((named & (abs(true) < CLOCK_LIMIT_MS / 2)).sum()),
        int((~named & wrong).sum()),
        "clocks_moved" in {warning.kind for warning in clocks.warnings},
        float(np.abs(longer - longer.T).max()) / 2,
        facts.blocks_forged,
    )


def moved(run: Run, folder: Path, shifts: Mapping[str, Callable[[np.ndarray], np.ndarray]]) -> Clocks:
    """Findings on a run's clocks if those of some hosts had moved.

    Args:
        run: With clocks that didn't.
        folder: Where to keep its events with the times of these clocks; it doesn't exist.
        shifts: By host, from the seconds since the first event to by how many ms the clock is ahead then.
    """
    events = run.table("block_events")
    times, hosts = events["ts_ns"].to_numpy(), np.array(events["host"].to_pylist())
    since = (times - times.min()) / 1e9
    for host, ahead_ms in shifts.items():
        times = times + np.where(hosts == host, ahead_ms(since) * 1e6, 0.0).astype(np.int64)
    return look_at_clocks(_rewritten(run, folder, times), sorted(set(hosts.tolist())), CLOCK_LIMIT_MS, correct=False)


def _later(run: Run, longer_ms: np.ndarray) -> np.ndarray:
    """Times of a run's events if messages took longer by so much from one host (first axis) to another; ns."""
    peers = {(row["host"], row["local"], row["remote"]): row["peer"] for row in run.table("connections").to_pylist()}
    events = run.table("block_events")
    times = events["ts_ns"].to_numpy().copy()
    columns = (events[name].to_pylist() for name in ("host", "local", "remote", "event"))
    for place, (host, local, remote, event) in enumerate(zip(*columns, strict=True)):
        if remote is not None:
            own, other = int(host[5:]), int(peers[host, local, remote][5:])
            there, back = longer_ms[other, own], longer_ms[own, other]
            later_ms = {"noticed": there, "requested": there, "sending": there + back, "fetched": 2 * there + back}
            times[place] += round(later_ms.get(event, 0.0) * 1e6)
    return times


def _rewritten(run: Run, folder: Path, times: np.ndarray) -> Path:
    """A folder with a run's events of blocks at other times."""
    events = run.table("block_events")
    (folder / "block_events").mkdir(parents=True)
    place = events.column_names.index("ts_ns")
    pq.write_table(events.set_column(place, "ts_ns", pa.array(times)), folder / "block_events" / "part-0.parquet")
    return folder
