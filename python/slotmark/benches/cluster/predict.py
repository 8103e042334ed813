"""What-if answers: what a changed profile predicts beside the unchanged one, and what a parameter does over a range."""

import os
import threading
import tomllib
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from scipy import stats

from slotmark.benches.cluster.simulate import (
    ANSWER,
    END_TO_END_ROWS,
    PEER_ROWS,
    Progress,
    Tables,
    load_profile,
    predict,
)
from slotmark.benches.cluster.sweep import Sweep, amount
from slotmark.errors import SimulationError

ROWS = ("Slot start to announced", *PEER_ROWS, *sorted((*END_TO_END_ROWS, ANSWER)))
"""The rows that are predicted: published names, and the answer's."""

MAIN_ROWS = (
    "Slot start to announced",
    "First peer notice",
    "Fetch duration",
    "0.50 adoption",
    "0.80 adoption",
    ANSWER,
    "1.00 adoption",
)
"""The rows that a sweep shows."""

CONFIDENCE = 0.95
"""Of the intervals."""

MOST_THREADS = 8
"""Simulations at a time, at the most: each holds a whole run in memory."""

LOAD = ("workload.tps", "workload.refill_tps", "workload.tx_count", "genesis.max_block_body_size")
"""What moves with the transactions that fill a block, unless it is set: blocks are then full as often as before."""


class Estimate(msgspec.Struct, frozen=True):
    """A mean over seeds in s, with its standard error and the value of each seed; no error for a single seed."""

    mean: float
    standard_error: float | None
    values: tuple[float, ...]

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
        """Student's interval of the mean over seeds, in s; None for a single seed."""
        if self.standard_error is None:
            return None
        half = float(stats.t.ppf((1 + confidence) / 2, len(self.values) - 1)) * self.standard_error
        return self.mean - half, self.mean + half


class Scenario(msgspec.Struct, frozen=True):
    """A profile with settings, simulated once a seed: blocks analysed in all, and an estimate a row of `ROWS`."""

    settings: tuple[str, ...]
    moved: tuple[str, ...]
    blocks: int
    rows: dict[str, Estimate]


class Prediction(msgspec.Struct, frozen=True):
    """A scenario beside the unchanged profile; `differences` are scenario less unchanged, paired by seed.

    `unchanged` is None and `differences` empty where nothing was changed but how long to run.
    """

    profile: str
    description: str
    seeds: tuple[int, ...]
    scenario: Scenario
    unchanged: Scenario | None
    differences: dict[str, Estimate]


class Step(msgspec.Struct, frozen=True):
    """A value of the swept parameter, in the sweep's unit, with the scenario that it makes."""

    value: float
    scenario: Scenario


class SweptPrediction(msgspec.Struct, frozen=True):
    """A parameter over a range: `parameter` is its full name, `own` the profile's value as written there."""

    profile: str
    description: str
    seeds: tuple[int, ...]
    settings: tuple[str, ...]
    parameter: str
    unit: str
    geometric: bool
    own: str
    steps: tuple[Step, ...]


def predict_change(
    profile: str | Path, settings: Sequence[str], seeds: Sequence[int], progress: Progress
) -> Prediction:
    """What a profile with settings predicts, beside the profile as it is, with the same seeds on both sides.

    Args:
        profile: a file, or the name of a shipped profile.
        settings: `key=value` each; without any there is nothing to compare with. How long to run is set for both sides.
        seeds: one simulation each and side; the same seed draws the same leaders and stages on both sides.
        progress: told slots done and in all; may raise to stop.

    Raises:
        SimulationError: a profile or setting that makes no sense, no seed, or no block to analyse.
    """
    was, now = (_leaves(_toml(profile, given)) for given in ((), settings))
    changed = [name for name in now if now[name] != was.get(name)]
    run = tuple(f"{name}={now[name]}" for name in changed if name.startswith("run."))
    compared = len(changed) > len(run)
    found = _simulated(profile, [tuple(settings), run] if compared else [tuple(settings)], seeds, progress)
    scenario, unchanged = found[0], found[1] if compared else None
    differences = {}
    if unchanged is not None:
        for metric, estimate in scenario.rows.items():
            pairs = zip(estimate.values, unchanged.rows[metric].values, strict=True)
            differences[metric] = _estimate([ours - theirs for ours, theirs in pairs])
    name, description = _names(profile)
    return Prediction(name, description, tuple(seeds), scenario, unchanged, differences)


def predict_sweep(
    profile: str | Path,
    sweep: Sweep,
    steps: int,
    settings: Sequence[str],
    seeds: Sequence[int],
    progress: Progress,
) -> SweptPrediction:
    """What a profile predicts for values of one parameter, with the same seeds for each.

    Args:
        profile: a file, or the name of a shipped profile.
        sweep: the parameter and its range.
        steps: how many values; fewer where the parameter takes whole numbers and the range has fewer.
        settings: `key=value` each, for all steps.
        seeds: one simulation each and step.
        progress: told slots done and in all; may raise to stop.

    Raises:
        SimulationError: a profile, parameter or range that makes no sense, no seed, or no block to analyse.
    """
    low, high = (_leaves(_toml(profile, [*settings, sweep.setting(value)])) for value in (sweep.low, sweep.high))
    parameter = next((name for name in high if high[name] != low.get(name)), None)
    if parameter is None:
        raise SimulationError(
            f"--sweep {sweep.setting(sweep.low)}..{sweep.written(sweep.high)}: the two ends are one value; write them further apart."
        )
    own = _leaves(_toml(profile, settings))[parameter]
    if own != _leaves(_toml(profile, ()))[parameter]:
        raise SimulationError(f"--set and --sweep both change {parameter}: leave one out.")
    sweep = msgspec.structs.replace(sweep, whole=isinstance(high[parameter], int))
    values = sweep.values(steps)
    found = _simulated(profile, [(*settings, sweep.setting(value)) for value in values], seeds, progress)
    name, description = _names(profile)
    return SweptPrediction(
        name,
        description,
        tuple(seeds),
        tuple(settings),
        parameter,
        sweep.unit,
        sweep.geometric,
        str(own),
        tuple(Step(value, scenario) for value, scenario in zip(values, found, strict=True)),
    )


def _simulated(
    profile: str | Path, sides: Sequence[tuple[str, ...]], seeds: Sequence[int], progress: Progress
) -> list[Scenario]:
    """A scenario for each list of settings, simulated once a seed, some at a time."""
    if not seeds:
        raise SimulationError("no seed: expected at least one.")
    moves = [_moved(profile, settings) for settings in sides]
    texts = [load_profile(profile, [*settings, *moved]) for settings, moved in zip(sides, moves, strict=True)]
    tasks = [(text, seed) for text in texts for seed in seeds]
    tables = _at_once(tasks, [tomllib.loads(text)["run"]["slots"] for text, _ in tasks], progress)
    scenarios = []
    for place, (settings, moved) in enumerate(zip(sides, moves, strict=True)):
        runs = tables[place * len(seeds) : (place + 1) * len(seeds)]
        rows = {}
        for metric in ROWS:
            values = [run.row(metric).predicted for run in runs]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                at = f" with {', '.join(settings)}" if settings else ""
                raise SimulationError(
                    f"profile {profile}{at}: no block to analyse; set more run.slots, or less of what keeps blocks from being "
                    "adopted by all, or full."
                )
            rows[metric] = _estimate(known)
        scenarios.append(Scenario(settings, moved, sum(run.blocks for run in runs), rows))
    return scenarios


def _at_once(tasks: Sequence[tuple[str, int]], slots: Sequence[int], progress: Progress) -> list[Tables]:
    """The tables of each profile and seed, in their order. What `progress` raises, as on Ctrl-C, stops all of them."""
    done = [0] * len(tasks)
    stopped = threading.Event()

    def run(place: int) -> Tables:
        def told(so_far: int, _: int) -> None:
            if stopped.is_set():
                raise SimulationError("stopped.")
            done[place] = so_far

        text, seed = tasks[place]
        return predict(text, [seed], told)

    with ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(run, place) for place in range(len(tasks))]
        try:
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, timeout=0.1, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                progress(sum(done), sum(slots))
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


def _moved(profile: str | Path, settings: Sequence[str]) -> tuple[str, ...]:
    """Settings for `LOAD`, where `settings` change what fills a block: none for what they name themselves."""
    was, now = (_leaves(_toml(profile, given)) for given in ((), settings))
    share = _full_block_bytes(now) / _full_block_bytes(was)
    transactions = _block_transactions(now) / _block_transactions(was)
    keys = [setting.partition("=")[0].strip() for setting in settings]
    moved = []
    for name in LOAD:
        if any(name == key or name.endswith(f".{key}") for key in keys):
            continue
        if isinstance(was[name], str):
            value, factor = f"{amount(was[name]) * share:.0f}B", share
        else:
            value, factor = was[name] * transactions, transactions
            value = f"{value:.0f}" if isinstance(was[name], int) else repr(float(f"{value:.6g}"))
        if factor != 1:
            moved.append(f"{name}={value}")
    return tuple(moved)


def _block_transactions(leaves: dict[str, Any]) -> int:
    """Transactions in a full block, as the simulator counts them."""
    size = amount(leaves["workload.tx_size"])
    return max(1, int(amount(leaves["workload.block_size"]) // size))


def _full_block_bytes(leaves: dict[str, Any]) -> float:
    return _block_transactions(leaves) * amount(leaves["workload.tx_size"])


def _toml(profile: str | Path, settings: Sequence[str]) -> dict[str, Any]:
    return tomllib.loads(load_profile(profile, settings))


def _leaves(table: dict[str, Any], before: str = "") -> dict[str, Any]:
    """All values of a profile by their full names."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _leaves(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return found


def _names(profile: str | Path) -> tuple[str, str]:
    table = _toml(profile, ())
    return table["name"], table["description"]


def _estimate(values: Sequence[float]) -> Estimate:
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else None
    return Estimate(float(np.mean(values)), error, tuple(values))
