"""The simulator compared with a live run: its stages measured, the same network simulated with them, adoption compared."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.benches.cluster.bed import Bed, read_bed
from slotmark.benches.cluster.simulating.simulate import Row, load_profile, predict
from slotmark.errors import BedError, RunError
from slotmark.metrics import Analysis, Samples, dense_ranks
from slotmark.run import Run
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import Units
from slotmark.statistics.student import student
from slotmark.warnings import Warning
from slotmark.words import counted

SLOTS = 20_000
"""Slots that are simulated: with fewer, chance in the simulation is as large as its error."""

AGREES_WITHIN = 0.10
"""A simulated mean agrees with the measured one where all of the interval of their ratio lies within this share of 1."""

_CONFIDENCE = 0.95
"""Confidence of all intervals together: each of n is at 1 - 0.05 / n (Bonferroni)."""

_SEGMENTS = 10
"""The most segments of a block that are sent at once: its time on the wire is the link's latency."""

_FORGING = {
    "started": "started_ns",
    "block_context": "context_ns",
    "ledger_state": "state_ns",
    "ledger_view": "view_ns",
    "leadership": "leading_ns",
    "ledger_tick": "ticked_ns",
    "mempool_snapshot": "snapshot_ns",
    "forge": "forged_ns",
    "forged_to_announced": "announced_ns",
    "self_adopt": "adopted_ns",
}
"""Stages of the profile's table ``[forging]``, each with its column of the relation ``blocks``."""

_PEER = {"notice_to_fetch": "requested_ns", "fetched_to_announced": "announced_ns", "adopt": "adopted_ns"}
"""Stages of the profile's table ``[peer]``, each with its column of the relation ``observations``."""

METRICS = (
    "first_notice",
    "first_fetch",
    "peer_fetched",
    *(f"adopted_by_{centile}" for centile in ("050", "080", "090", "092", "094", "096", "098", "100")),
)
"""The metrics that are compared."""

_ON_THE_WIRE = """
SELECT
    ours.host,
    ours.peer,
    known.size_bytes,
    ours.noticed_ts_ns - theirs.announced_ts_ns AS notice_ns,
    theirs.sending_ts_ns - ours.requested_ts_ns AS serve_ns,
    ours.fetched_ts_ns - theirs.sending_ts_ns AS receive_ns
FROM exchanges AS ours
INNER JOIN exchanges AS theirs ON theirs.host = ours.peer AND theirs.peer = ours.host AND theirs.block = ours.block
INNER JOIN blocks AS known ON known.block = ours.block
WHERE known.accepted
"""
"""One row per accepted block and pair of hosts, the second of which announced it to the first: durations that hold the link's latency."""


class Stage(msgspec.Struct, frozen=True):
    """A stage as the profile has it: a log-normal duration."""

    name: str
    mean_ns: float
    sigma: float

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that give a profile this stage."""
        return f"{self.name}.mean={self.mean_ns / 1e6:.6f}ms", f"{self.name}.sigma={self.sigma:.4f}"


Agreement = Literal["agrees", "differs", "unclear"]


class Beside(msgspec.Struct, frozen=True):
    """One metric, measured and simulated, in s; or several that have the same samples, as centiles that few hosts share.

    Attributes:
        names: Names of the metrics.
        blocks: How many blocks of the run have it: what its interval rests on.
        measured: Mean over the run's samples; None where there are none.
        measured_error: Its standard error over blocks, which may resemble their neighbours; None with fewer than two.
        simulated: As the simulator has it; None where it has none.
        simulated_error: Its standard error.
        difference: Simulated over measured, less 1, with its interval, which holds for all rows together; None where it can't be computed.
        verdict: ``agrees`` where all of the interval lies within :data:`AGREES_WITHIN`, ``differs`` where none of it does, else ``unclear``.
    """

    names: list[str]
    blocks: int
    measured: float | None
    measured_error: float | None
    simulated: float | None
    simulated_error: float | None
    difference: Interval | None
    verdict: Agreement


class Validation(msgspec.Struct, frozen=True):
    """The figures of a live run and of its simulation.

    Attributes:
        blocks: Blocks of the live run that were analysed.
        simulated_blocks: Blocks of the simulation.
        stages: What was measured and put into the profile. A stage that the run never had is the profile's own.
        rows: What is compared: different numbers, in the order of the metrics.
        warnings: Warnings about the live run.
    """

    blocks: int
    simulated_blocks: int
    stages: list[Stage]
    rows: list[Beside]
    warnings: list[Warning]


def validate(run: Run, bed_folder: Path, slots: int, progress: Callable[[int, int], None]) -> Validation:
    """Measures a live run's stages, simulates its bed with them, and puts both side by side.

    Args:
        run: A run of ``slotmark cluster run``.
        bed_folder: The bed, or the run directory, which has its files.
        slots: How many to simulate.
        progress: Gets slots done and in all; may raise to stop.

    Raises:
        BedError: There is no bed in the folder, or it is of other hosts or another genesis than the run.
        RunError: The run has no blocks to measure, or had no latencies.
        SimulationError: The profile can't be simulated with what was measured.
    """
    if run.manifest.parameters.get("network") == "loopback":
        raise RunError(f"{run.place}: its hosts had no latencies, and the bed's links have. Run it with --network wan.")
    profile = bed_folder / "profile.toml"
    if not profile.is_file():
        raise BedError(
            f"{profile}: isn't there, and {run.place} is compared with its bed. Name the bed of the run with --bed."
        )
    bed = read_bed(bed_folder)
    _refuse_other_bed(run, bed, bed_folder)
    with Analysis(run) as analysis:
        (blocks,) = analysis.query("SELECT COUNT(*) FILTER (accepted) AS n FROM blocks")["n"].to_pylist()
        if not blocks:
            raise RunError(f"{run.place}: no block of it is analysed. Run it for longer.")
        stages = [*_forging(analysis), *_peer(analysis, bed)]
        measured = [analysis.samples(metric) for metric in METRICS]
        tx_bytes = _transaction_bytes(analysis)
        warnings = list(dict.fromkeys([*run.manifest.warnings, *analysis.warnings()]))
    settings = [setting for stage in stages for setting in stage.settings]
    settings += [f"run.slots={slots}", "peer.receive_per_kb=0ms", "peer.host_spread=0.0", f"workload.tx_count={10**9}"]
    settings += (
        [f"workload.tx_size={tx_bytes}B"] if tx_bytes else ["workload.tps=0.000001", "workload.refill_tps=0.000001"]
    )
    simulated = predict(load_profile(profile, settings), [bed.seed], progress)
    alike = _alike([(of_metric, simulated.row(of_metric.metric.name)) for of_metric in measured])
    rows = [_beside(names, of_metric, row, len(alike)) for names, of_metric, row in alike]
    return Validation(blocks, simulated.blocks, stages, rows, warnings)


def _refuse_other_bed(run: Run, bed: Bed, folder: Path) -> None:
    """BedError where the run's hosts aren't those of the bed, or its slots and epochs are others."""
    absent = run.table("missing_hosts")["name"].to_pylist() if "missing_hosts" in run.manifest.tables else []
    hosts = {*run.table("hosts")["host"].to_pylist(), *absent}
    if hosts != {host.name for host in bed.hosts}:
        raise BedError(
            f"{folder}: has {counted(len(bed.hosts), 'host')}, and {run.place} {len(hosts):,}, or of other names. Name the bed of the run with --bed."
        )
    (genesis,) = run.table("genesis").to_pylist()
    slots = genesis["slot_ns"], genesis["epoch_slots"], genesis["active_slots_coeff"]
    if slots != (bed.genesis.slot_length_ns, bed.genesis.epoch_slots, bed.genesis.active_slot_coefficient):
        raise BedError(
            f"{folder}: has slots, epochs or a share of active slots that {run.place} hasn't. Name the bed of the run with --bed."
        )


def _alike(measured: list[tuple[Samples, Row]]) -> list[tuple[list[str], Samples, Row]]:
    """The metrics, those with the same samples and the same simulated mean together: they are one number."""
    found: list[tuple[list[str], Samples, Row]] = []
    for samples, row in measured:
        for names, other, same in found:
            if other.table.equals(samples.table) and (same.predicted, same.standard_error) == (
                row.predicted,
                row.standard_error,
            ):
                names.append(samples.metric.name)
                break
        else:
            found.append(([samples.metric.name], samples, row))
    return found


def _beside(names: list[str], samples: Samples, row: Row, rows: int) -> Beside:
    """A metric beside what is simulated of it.

    Args:
        names: Names of the metrics that it stands for.
        samples: Measured.
        row: Simulated.
        rows: How many intervals are to hold together.
    """
    values = samples.table["value"].to_numpy()
    if not values.size:
        return Beside(names, 0, None, None, row.predicted, row.standard_error, None, "unclear")
    blocks = dense_ranks(samples.table[samples.metric.unit_of_chance].to_numpy())
    units = Units(np.bincount(blocks, weights=values), np.bincount(blocks).astype(np.float64))
    mean = units.mean
    if units.sums.size < 2 or mean <= 0 or row.predicted is None or row.standard_error is None:
        return Beside(names, units.sums.size, mean, None, row.predicted, row.standard_error, None, "unclear")
    chance = units.chance()
    ratio = row.predicted / mean
    of_ratio = math.hypot(row.standard_error / mean, ratio * math.sqrt(chance.variance) / mean)
    difference = student(ratio - 1, of_ratio, chance.degrees, 1 - (1 - _CONFIDENCE) / rows).interval
    return Beside(
        names,
        units.sums.size,
        mean,
        math.sqrt(chance.variance),
        row.predicted,
        row.standard_error,
        difference,
        _agreement(difference),
    )


def _agreement(difference: Interval) -> Agreement:
    if difference.low >= -AGREES_WITHIN and difference.high <= AGREES_WITHIN:
        return "agrees"
    return "differs" if difference.low > AGREES_WITHIN or difference.high < -AGREES_WITHIN else "unclear"


def _forging(analysis: Analysis) -> list[Stage]:
    table = analysis.query(f"SELECT {', '.join(_FORGING.values())} FROM blocks WHERE accepted")
    each = (_stage(f"forging.{name}", table[column].drop_null().to_numpy()) for name, column in _FORGING.items())
    return [stage for stages in each for stage in stages]


def _peer(analysis: Analysis, bed: Bed) -> list[Stage]:
    """The stages between hosts; what is on the wire is measured between two clocks, which are the machine's one, less the link's latency."""
    seen = analysis.query(f"SELECT {', '.join(_PEER.values())} FROM observations")
    found = [
        stage for name, column in _PEER.items() for stage in _stage(f"peer.{name}", seen[column].drop_null().to_numpy())
    ]
    names = [host.name for host in bed.hosts]
    latency_ns = {(names[link.follower], names[link.producer]): link.latency_ns for link in bed.links}
    between = analysis.query(_ON_THE_WIRE).to_pylist()
    at_once = _SEGMENTS * 1448
    for name, column, fits in (
        ("header_notice", "notice_ns", math.inf),
        ("serve", "serve_ns", math.inf),
        ("receive", "receive_ns", at_once),
    ):
        durations = [
            row[column] - latency_ns[row["host"], row["peer"]]
            for row in between
            if row[column] is not None and row["size_bytes"] <= fits and (row["host"], row["peer"]) in latency_ns
        ]
        found += _stage(f"peer.{name}", durations)
    return found


def _stage(name: str, durations_ns: "pa.Array | list[float]") -> list[Stage]:
    """The mean, and the standard deviation of the logarithm; none without durations.

    What came early, as a latency's jitter makes it, counts as no time.
    """
    values = [max(float(value), 0.0) for value in durations_ns]
    if not values:
        return []
    mean = sum(values) / len(values)
    logs = [math.log(value) for value in values if value > 0]
    centre = sum(logs) / len(logs) if logs else 0.0
    return [Stage(name, mean, math.sqrt(sum((one - centre) ** 2 for one in logs) / len(logs)) if logs else 0.0)]


def _transaction_bytes(analysis: Analysis) -> int:
    """Bytes of a block per transaction in it; 0 without transactions."""
    (row,) = analysis.query(
        """
        WITH inside AS (SELECT block, COUNT(*) AS transactions FROM inclusions GROUP BY block)

        SELECT SUM(block.size_bytes) / SUM(inside.transactions) AS bytes
        FROM inside
        INNER JOIN blocks AS block ON block.block = inside.block
        """
    ).to_pylist()
    return round(row["bytes"] or 0)
