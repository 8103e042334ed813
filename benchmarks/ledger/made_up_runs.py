"""Run folders of made-up ledger costs: as many targets, processes and blocks as asked for."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.made_up_runs import bare_manifest

from slotmark.benches.ledger.runs import UNKNOWN
from slotmark.benches.ledger.tables import BLOCKS
from slotmark.run import Run, RunWriter, Target

SHARES = {
    "forecast_us": 0.0005,
    "header_tick_us": 0.0005,
    "header_apply_us": 0.02,
    "block_tick_us": 0.004,
    "block_apply_us": 0.93,
}


def made_up_run(folder: Path, ratio: float, *, processes: int, blocks: int, seed: int, factors: dict[str, str]) -> Run:
    """A run whose blocks cost ``ratio`` times those of every other run of as many blocks, with 1 % noise at both levels."""
    shared, draws = np.random.default_rng(blocks), np.random.default_rng(seed)
    base = shared.choice([12_500.0, 32_000.0, 450_000.0], blocks, p=[0.35, 0.45, 0.2]) * np.exp(
        shared.normal(0, 0.05, blocks)
    )
    transactions = np.maximum(shared.integers(-40, 200, blocks), 0)  # every sixth block is empty
    collected = shared.random(blocks) < 0.02
    shape = processes, blocks
    mut = ratio * base * np.exp(draws.normal(0, 0.01, (processes, 1)) + draws.normal(0, 0.01, shape))
    gc = collected * 60_000 * np.exp(draws.normal(0, 0.1, shape))
    columns: dict[str, np.ndarray] = {
        "run": np.repeat(np.arange(1, processes + 1), blocks),
        "slot": np.tile(20 * np.arange(blocks), processes),
        "total_us": mut + gc,
        "mut_us": mut,
        "gc_us": gc,
        "major_gcs": np.tile(collected, processes),
        "transactions": np.tile(transactions, processes),
        "block_bytes": np.tile(860 + 300 * transactions, processes),
        **{name: share * mut for name, share in SHARES.items()},
    }
    table = pa.table(
        [
            pa.array(columns[field.name].ravel().astype(np.int64)).cast(field.type)
            if field.name in columns
            else pa.nulls(processes * blocks, field.type)
            for field in BLOCKS
        ],
        schema=BLOCKS,
    )
    with RunWriter(folder) as writer:
        writer.table("blocks", table)
        return writer.finish(
            bare_manifest(
                folder.name,
                "ledger",
                Target(folder.name, ""),
                workload={"blocks": f"{blocks:,}"},
                parameters={"target factors": factors, "processes": processes},
                session="made-up",
                machine=UNKNOWN,
            )
        )
