"""Several simulations side by side, in the order in which they were named, with the same results for any number of workers."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from slotmark.benches.cluster.direct import simulate_direct
from slotmark.benches.cluster.ingest import Ingested
from slotmark.benches.cluster.metadata import Genesis
from slotmark.benches.cluster.simulate import Progress, RunFacts, Tables, simulate
from slotmark.errors import RunError, SimulationError
from slotmark.metrics import Catalogue
from slotmark.metrics.filters import FilterSets
from slotmark.run import Manifest, usable_cores
from slotmark.run.folder import refuse_existing

MOST_WORKERS = 8
"""Simulations at a time, at the most: each holds a whole run in memory."""

_READ = (Tables, RunFacts, Ingested, Genesis, Catalogue, FilterSets, Manifest)
"""Types by which simulations are read. msgspec prepares a type where it is used first; where two threads do that at once, one reads by a half-made type, and the process ends with SIGSEGV."""

T = TypeVar("T")


def workers_for(simulations: int) -> int:
    """Returns how many of these simulations run at a time on this machine."""
    return max(1, min(simulations, MOST_WORKERS, usable_cores()))


def side_by_side(
    simulations: Sequence[Callable[[Progress], T]], progress: Progress, workers: int | None = None
) -> list[T]:
    """The results of simulations, some at a time.

    Args:
        simulations: Each is called with the progress of its own; what they do is independent of each other.
        progress: Called on the caller's thread with what all have done and have to do. What it raises, as on Ctrl-C, stops all of them.
        workers: How many at a time; None for as many as the machine has cores for.

    Returns:
        Their results, in their order. What one of them raises stops the others and is raised.
    """
    for one in _READ:
        msgspec.json.Decoder(one)
    done, totals = [0] * len(simulations), [0] * len(simulations)
    stopped = threading.Event()

    def run(place: int) -> T:
        def step(so_far: int, total: int) -> None:
            if stopped.is_set():
                raise SimulationError("stopped.")
            done[place], totals[place] = so_far, total

        return simulations[place](step)

    with ThreadPoolExecutor(workers or workers_for(len(simulations))) as pool:
        futures = [pool.submit(run, place) for place in range(len(simulations))]
        try:
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, timeout=0.1, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                most = max(totals)  # what one has to do that hasn't begun
                progress(sum(done), sum(total or most for total in totals))
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


def simulate_seeds(
    profile_toml: str, seeds: Sequence[int], out: Path, progress: Progress, *, direct: bool, workers: int | None = None
) -> list[tuple[Path, RunFacts]]:
    """Simulates a profile once per seed, into new folders ``seed-N`` below ``out``, which other runs may be in.

    Args:
        profile_toml: A complete profile, as :func:`slotmark.benches.cluster.simulate.load_profile` gives it.
        seeds: Each decides everything that is random in its run.
        out: Where the folders are made.
        progress: Called with what all have done and have to do; may raise to stop: runs that are finished by then stay.
        direct: Whether run folders are written, as by :func:`slotmark.benches.cluster.direct.simulate_direct`, or directories of logs.
        workers: How many runs at a time; None for as many as the machine has cores for. The bytes are the same.

    Returns:
        The folder of each run, and what it holds.

    Raises:
        SimulationError: A profile that makes no sense.
        RunError: One of the folders is there already, or can't be written.
    """
    folders = [out / f"seed-{seed}" for seed in seeds]
    if (out / "run.json").exists():
        raise RunError(f"{out}: a run folder, and runs are not put into one. Choose another -o.")
    for folder in folders:
        refuse_existing(folder)
    workers = workers or workers_for(len(seeds))
    threads = max(1, usable_cores() // workers)

    def simulated(place: int, step: Progress) -> RunFacts:
        if direct:
            return simulate_direct(profile_toml, seeds[place], folders[place], step, threads=threads)[1]
        return simulate(profile_toml, seeds[place], folders[place], step)

    facts = side_by_side([partial(simulated, place) for place in range(len(seeds))], progress, workers)
    return list(zip(folders, facts, strict=True))
