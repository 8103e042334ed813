"""Several simulations side by side, or shared by several calls, in the order in which they were named: the same bytes for any number of workers and shards."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from slotmark import engine as engines
from slotmark.benches.cluster.metadata import source_of_simulation
from slotmark.benches.cluster.requests import SimulationRequest, Simulations
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import RunFacts, load_profile, simulate, workers_for
from slotmark.cores import usable_cores
from slotmark.engine import Engine, Piece, Progress, Shard, ShardDone, gathered, local, opened, options_of
from slotmark.errors import RunError
from slotmark.places import Place, Url
from slotmark.run import Run, open_run
from slotmark.run.storage import is_run, refuse_existing
from slotmark.temporary import FolderForAWhile, temporary_folder
from slotmark.warnings import Warning

WORK_OF_A_PROCESS, WORK_OF_A_RUN = 200_000, 30_000
"""Slots of hosts that are simulated in the time in which a process starts, and in that in which a run's folder is written: about."""

_BESIDE = Path("seeds")
"""The place of a shard's runs: beside their piece's output, wherever that is kept."""


def simulated(
    request: SimulationRequest,
    profile_toml: str,
    out: Place,
    progress: Progress,
    elsewhere: Engine | None = None,
    noted: Sequence[Warning] = (),
) -> list[tuple[Place, RunFacts]]:
    """Simulates what is asked for: one run into ``out``, or one per seed below it.

    Args:
        request: What is asked for.
        profile_toml: Its complete profile, as :func:`slotmark.benches.cluster.simulating.simulate.load_profile` gives it.
        out: The new folder, or that of the new folders.
        progress: Called with what is done and in all; may raise to stop.
        elsewhere: The engine of other machines that does those of several seeds; None for this machine.
        noted: Warnings about the engine, for the manifest of each run.

    Returns:
        The folder of each run, and what it holds.

    Raises:
        SimulationError: A profile that makes no sense.
        RunError: A folder is there already, or can't be written.
    """
    if request.repeat is not None and elsewhere is not None:
        return _brought(profile_toml, _seeds(request), out, progress, elsewhere, direct=request.direct, noted=noted)
    if request.repeat is not None:
        return simulate_seeds(profile_toml, _seeds(request), out, progress, direct=request.direct)
    if request.direct or not isinstance(out, Path):
        return [(out, simulate_direct(profile_toml, request.seed, out, progress)[1])]
    return [(out, simulate(profile_toml, request.seed, out, progress))]


def shard_done(asked: Simulations, named: str, out: Place, progress: Progress) -> ShardDone:
    """Does a shard of the simulations that are asked for: :func:`slotmark.engine.shard_done`.

    Args:
        asked: The same for all shards.
        named: The shard, as ``3/40``.
        out: The folder that all shards share; simulations that are finished in it are not done again.
        progress: Called with what is done and to be done; may raise to stop: what is finished by then stays.

    Raises:
        SimulationError: A profile or setting that makes no sense.
    """

    def ask(engine: Engine) -> object:
        seeds = _seeds(asked)
        workers = workers_for(-(-len(seeds) // Shard.parsed(named).of))
        return engine(_pieces(_profile(asked), seeds, asked.direct, workers, folder=_BESIDE), list, progress, workers)

    return engines.shard_done(named, out, asked.work, asked.options(), ask)


def merged(shards: Place, out: Path, progress: Progress) -> list[tuple[Place, RunFacts]]:
    """Puts what shards simulated into new folders ``seed-N`` below ``out``, as a single call would have made them.

    Args:
        shards: The folder that all shards share.
        out: Where the folders are put.
        progress: Called with pieces read and in all.

    Raises:
        PieceError: Pieces are missing or damaged, or of another version.
        RunError: One of the folders is there already, or can't be written.
    """
    shared = opened(shards)
    asked = options_of(shards, shared, Simulations)
    engine = gathered(shards, shared, asked.command)
    return _brought(_profile(asked), _seeds(asked), out, progress, engine, direct=asked.direct)


def simulate_seeds(
    profile_toml: str, seeds: Sequence[int], out: Place, progress: Progress, *, direct: bool, workers: int | None = None
) -> list[tuple[Place, RunFacts]]:
    """Simulates a profile once per seed, into new folders ``seed-N`` below ``out``, which other runs may be in.

    Args:
        profile_toml: A complete profile, as :func:`slotmark.benches.cluster.simulating.simulate.load_profile` gives it.
        seeds: Each decides everything that is random in its run.
        out: Where the folders are made.
        progress: Called with what all have done and have to do; may raise to stop: runs that are finished by then stay.
        direct: Whether run folders are written, as by :func:`slotmark.benches.cluster.simulating.direct.simulate_direct`, or directories of logs.
        workers: How many runs at a time; None for as many as the machine has cores for and are worth the start of a process. The bytes are the same.

    Returns:
        The folder of each run, and what it holds.

    Raises:
        SimulationError: A profile that makes no sense.
        RunError: One of the folders is there already, or can't be written.
    """
    folders = _new(seeds, out)
    workers = workers or _workers_for(profile_toml, len(seeds))
    folder, store = (None, out) if isinstance(out, Url) else (out, None)
    pieces = _pieces(profile_toml, seeds, direct, workers, folder=folder, store=store)
    return local(pieces, lambda facts: list(zip(folders, facts, strict=True)), progress, workers)


def _brought(
    profile_toml: str,
    seeds: Sequence[int],
    out: Place,
    progress: Progress,
    engine: Engine,
    *,
    direct: bool,
    noted: Sequence[Warning] = (),
) -> list[tuple[Place, RunFacts]]:
    """The same by an engine that brings files one by one: all runs are put below ``out`` when all are whole; straight into a store, where runs of an earlier call are gone on from."""
    folders = _new(seeds, out, profile_toml if isinstance(out, Url) else None)
    each_alone = usable_cores()  # one thread of each core's
    if isinstance(out, Url):
        pieces = _pieces(profile_toml, seeds, direct, each_alone, store=out, noted=noted)
        return list(zip(folders, engine(pieces, list, progress), strict=True))
    try:
        out.mkdir(parents=True, exist_ok=True)
        with FolderForAWhile(prefix=".seeds-", dir=out, ignore_cleanup_errors=True) as made:
            pieces = _pieces(profile_toml, seeds, direct, each_alone, folder=Path(made), noted=noted)
            facts = engine(pieces, list, progress)
            for folder in folders:
                Path(made, folder.name).rename(Path(str(folder)))
    except OSError as error:
        raise RunError(f"{out}: {error.strerror}. Choose a -o that can be written.") from error
    return list(zip(folders, facts, strict=True))


def _profile(asked: Simulations) -> str:
    """The complete profile of simulations that have one."""
    assert asked.profile is not None, "what is shared has a profile"
    return load_profile(asked.profile, asked.changes())


def _seeds(asked: Simulations) -> range:
    assert asked.repeat is not None, "what is shared is repeated"
    return range(asked.seed, asked.seed + asked.repeat)


def _workers_for(profile_toml: str, simulations: int) -> int:
    """Returns how many processes simulate: of short runs no more than have as much to do as their start takes."""
    profile = tomllib.loads(profile_toml)
    work = simulations * (profile["run"]["slots"] * profile["network"]["hosts"] + WORK_OF_A_RUN)
    return max(1, min(workers_for(simulations), work // WORK_OF_A_PROCESS))


def _new(seeds: Sequence[int], out: Place, goes_on: str | None = None) -> list[Place]:
    """The places of the new folders. RunError where one is there already, unless it is of the profile that an earlier call may have begun with."""
    if is_run(out):
        raise RunError(f"{out}: a run folder, and runs are not put into one. Choose another -o.")
    folders = [out / f"seed-{seed}" for seed in seeds]
    for seed, folder in zip(seeds, folders, strict=True):
        if goes_on is None or not (is_run(folder) and _is_of(open_run(folder), goes_on, seed)):
            refuse_existing(folder)
    return folders


def _is_of(run: Run, profile_toml: str, seed: int) -> bool:
    """Returns whether a run was simulated from a profile with a seed, by what it says of its source."""
    return [source.digest for source in run.manifest.sources] == [source_of_simulation("", profile_toml, seed).digest]


def _pieces(
    profile_toml: str,
    seeds: Sequence[int],
    direct: bool,
    workers: int = 1,
    *,
    folder: Path | None = None,
    store: Url | None = None,
    noted: Sequence[Warning] = (),
) -> list[Piece[RunFacts]]:
    """A piece per seed: below a folder, or straight into a store."""
    how = {"threads": max(1, usable_cores() // workers), **({"store": store} if store else {})}
    more = [list(noted)] if noted else []
    return [
        Piece(work=_simulated, inputs=(profile_toml, seed, direct, *more), how=how, folder=folder, label=f"seed {seed}")
        for seed in seeds
    ]


def _simulated(
    profile_toml: str,
    seed: int,
    direct: bool,
    noted: Sequence[Warning] = (),
    *,
    folder: Path | None = None,
    store: Url | None = None,
    threads: int,
    progress: Progress,
) -> RunFacts:
    """A simulation, written below a folder or straight into a store."""
    below = folder or store
    assert below is not None, "one of them is given"
    own = below / f"seed-{seed}"
    if direct and store is not None and is_run(own):  # of a call that was cut, or of this piece before it was repeated
        with temporary_folder() as folder_for_a_while:
            again = Path(folder_for_a_while) / own.name
            run, facts = simulate_direct(profile_toml, seed, again, progress, threads=threads, noted=noted)
            there = open_run(own).manifest
        if (there.content, there.warnings) != (run.manifest.content, run.manifest.warnings):
            refuse_existing(own)
        return facts
    if direct:
        return simulate_direct(profile_toml, seed, own, progress, threads=threads, noted=noted)[1]
    assert isinstance(own, Path), "logs are written to folders"
    return simulate(profile_toml, seed, own, progress)
