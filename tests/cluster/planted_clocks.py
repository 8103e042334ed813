"""Simulated clusters in which every clock is wrong by a known amount, over links that are as long there as back, or not."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slotmark.benches.cluster.clocks import Clocks, look_at_clocks
from slotmark.benches.cluster.direct import simulate_direct
from slotmark.benches.cluster.requests import CLOCK_LIMIT_MS
from slotmark.benches.cluster.simulate import load_profile
from slotmark.run import Run

_FAR_MS = 135.0
"""One way, between the regions that are farthest from each other."""


class Found(msgspec.Struct, frozen=True):
    """Outcomes of planted offsets, relative to the clock that was taken as the reference; ms.

    Attributes:
        errors: Of the estimates, by host; shape (hosts,).
        uncertainties: Half the distance of the bounds; shape (hosts,).
        outside: How many true offsets are outside their bounds.
        half_asymmetry: Half the largest difference between the two directions of a link.
        blocks: How many were forged.
    """

    errors: np.ndarray
    uncertainties: np.ndarray
    outside: int
    half_asymmetry: float
    blocks: int


def planted(
    folder: Path, hosts: int, slots: int, seed: int, *, asymmetry_ms: float = 0.0, most_ms: float = 500.0
) -> Found:
    """Simulates, ingests, and holds the estimates against the truth.

    Args:
        folder: Where to; it doesn't exist.
        hosts: How many.
        slots: How long.
        seed: Of the offsets, the links and the simulation.
        asymmetry_ms: The most by which the two directions of a link differ; 0 for the links of the benchmarking cluster.
        most_ms: The most by which a clock is wrong.
    """
    folder.mkdir()
    draws = np.random.default_rng([seed, hosts])
    offsets = draws.uniform(-most_ms, most_ms, hosts).round(3)
    faults = ", ".join(f'{{kind="clock-skew", host={host}, ahead_ms={ms}}}' for host, ms in enumerate(offsets))
    settings = [
        f"hosts={hosts}",
        f"pools={hosts}",
        f"run.slots={slots}",
        "genesis.epoch_slots=500",
        f"fault=[{faults}]",
    ]
    links = _links(draws, hosts, asymmetry_ms) if asymmetry_ms else {}
    if links:
        path = folder / "links.json"
        nodes = [
            {"nodeId": host, "name": f"node-{host}", "producers": {f"node-{other}": ms for other, ms in own.items()}}
            for host, own in links.items()
        ]
        path.write_text(json.dumps({"nodes": nodes}))
        settings.append(f'network.topology={{kind="file", path="{path}"}}')
    run, facts = simulate_direct(
        load_profile("value-only-10.5", settings), seed, folder / "run", lambda _done, _total: None
    )
    rows = {row["host"]: row for row in run.table("clocks").to_pylist()}
    found = [rows[f"node-{host}"] for host in range(hosts)]
    (reference,) = [host for host, row in enumerate(found) if row["is_reference"]]
    true = offsets - offsets[reference]
    offset, low, high = (
        np.array([np.nan if row[name] is None else row[name] / 1e6 for row in found])
        for name in ("offset_ns", "low_ns", "high_ns")
    )
    differences = [abs(ms - links[b][a]) for a, own in links.items() for b, ms in own.items()]
    return Found(
        offset - true,
        (high - low) / 2,
        int(((true < low - 1e-5) | (true > high + 1e-5)).sum()),
        max(differences, default=0.0) / 2,
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
    (folder / "block_events").mkdir(parents=True)
    place = events.column_names.index("ts_ns")
    pq.write_table(events.set_column(place, "ts_ns", pa.array(times)), folder / "block_events" / "part-0.parquet")
    return look_at_clocks(folder, sorted(set(hosts.tolist())), CLOCK_LIMIT_MS, correct=False)


def _links(draws: np.random.Generator, hosts: int, asymmetry_ms: float) -> dict[int, dict[int, float]]:
    """One-way latencies in ms, by follower and producer: a ring with chords, whose directions differ."""
    links: dict[int, dict[int, float]] = {host: {} for host in range(hosts)}
    for host in range(hosts):
        for step in {1, hosts // 3}:
            other = (host + step) % hosts
            middle, half = draws.uniform(asymmetry_ms, _FAR_MS), draws.uniform(-asymmetry_ms, asymmetry_ms) / 2
            links[host][other], links[other][host] = round(middle + half, 3), round(middle - half, 3)
    return links
