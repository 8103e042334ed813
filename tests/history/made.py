"""Runs that a store takes, one a day, with a level that a test has thought up."""

import datetime
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from slotmark.run import MachineFacts, Run, open_run
from tests.made_up_runs import MACHINE, write_run

METRIC = "blocks_per_s"
BEGIN = datetime.datetime(2026, 9, 1, 10, tzinfo=datetime.UTC)


def made(
    folder: Path,
    day: int,
    level: float,
    *,
    name: str = "",
    machine: MachineFacts = MACHINE,
    started: str = "",
    blocks: int = 10_000,
    version: str = "1.0.0",
    parameters: Mapping[str, object] = {},
) -> Run:
    """A run of a day, of six rounds that vary by 1 %."""
    rounds = (level * (1 + 0.01 * np.random.default_rng(day).normal(size=6))).tolist()
    run = write_run(
        folder / (name or f"run-{day}"),
        "pallas",
        {"decode, sequential": rounds},
        session=f"day {day}",
        machine=machine,
        blocks=blocks,
        windows=0,
        version=version,
    )
    at = started or (BEGIN + datetime.timedelta(days=day)).isoformat()
    manifest = msgspec.structs.replace(run.manifest, started=at, parameters={**run.manifest.parameters, **parameters})
    (run.path / "run.json").write_bytes(msgspec.json.encode(manifest))
    return open_run(run.path)


def levels(count: int, *, seed: int = 1, spread: float = 0.01) -> np.ndarray:
    """Levels of runs of one build, about 1,000 blocks per second."""
    return 1000 * np.exp(spread * np.random.default_rng(seed).normal(size=count))
