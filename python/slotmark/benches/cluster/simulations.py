"""Several simulations side by side, in the order in which they were named, with the same bytes for any number of workers."""

from collections.abc import Sequence
from pathlib import Path

from slotmark.benches.cluster.direct import simulate_direct
from slotmark.benches.cluster.requests import SimulationRequest
from slotmark.benches.cluster.simulate import RunFacts, simulate, workers_for
from slotmark.cores import usable_cores
from slotmark.engine import Piece, Progress, local
from slotmark.errors import RunError
from slotmark.places import Place
from slotmark.run.storage import is_run, refuse_existing


def simulated(
    request: SimulationRequest, profile_toml: str, out: Place, progress: Progress
) -> list[tuple[Place, RunFacts]]:
    """Simulates what is asked for: one run into ``out``, or one per seed below it.

    Args:
        request: What is asked for.
        profile_toml: Its complete profile, as :func:`slotmark.benches.cluster.simulate.load_profile` gives it.
        out: The new folder, or that of the new folders.
        progress: Called with what is done and in all; may raise to stop.

    Returns:
        The folder of each run, and what it holds.

    Raises:
        SimulationError: A profile that makes no sense.
        RunError: A folder is there already, or can't be written.
    """
    if request.repeat is not None:
        seeds = range(request.seed, request.seed + request.repeat)
        return simulate_seeds(profile_toml, seeds, out, progress, direct=request.direct)
    if request.direct or not isinstance(out, Path):
        return [(out, simulate_direct(profile_toml, request.seed, out, progress)[1])]
    return [(out, simulate(profile_toml, request.seed, out, progress))]


def simulate_seeds(
    profile_toml: str, seeds: Sequence[int], out: Place, progress: Progress, *, direct: bool, workers: int | None = None
) -> list[tuple[Place, RunFacts]]:
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
    if is_run(out):
        raise RunError(f"{out}: a run folder, and runs are not put into one. Choose another -o.")
    for folder in folders:
        refuse_existing(folder)
    workers = workers or workers_for(len(seeds))
    pieces = [
        Piece(
            work=_simulated,
            inputs=(profile_toml, seed, direct),
            how={"folder": folder, "threads": max(1, usable_cores() // workers)},
            label=f"seed {seed}",
        )
        for seed, folder in zip(seeds, folders, strict=True)
    ]
    return local(pieces, lambda facts: list(zip(folders, facts, strict=True)), progress, workers)


def _simulated(
    profile_toml: str, seed: int, direct: bool, *, folder: Place, threads: int, progress: Progress
) -> RunFacts:
    """A simulation, written to a folder."""
    if direct:
        return simulate_direct(profile_toml, seed, folder, progress, threads=threads)[1]
    assert isinstance(folder, Path), "logs are written to folders"
    return simulate(profile_toml, seed, folder, progress)
