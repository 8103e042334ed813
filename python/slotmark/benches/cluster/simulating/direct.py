"""A simulated cluster straight to a run folder, without the text of logs in between."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from slotmark import _core
from slotmark.benches.cluster.ingesting.finishing import Cluster, finish_run
from slotmark.benches.cluster.ingesting.ingested import Ingested
from slotmark.benches.cluster.metadata import read_genesis, read_metadata, regions_of_topology
from slotmark.benches.cluster.simulating.simulate import RunFacts
from slotmark.engine import Progress
from slotmark.places import Place
from slotmark.run import Run, RunWriter
from slotmark.temporary import temporary_folder
from slotmark.warnings import Warning


def simulate_direct(
    profile_toml: str,
    seed: int,
    out: Place,
    progress: Progress,
    *,
    threads: int = 0,
    noted: Sequence[Warning] = (),
) -> tuple[Run, RunFacts]:
    """Simulates a profile into a new run folder: the tables that ingesting its logs would give, and those of the truth.

    Of the run's files only the manifest differs: its one source is the profile with the seed. Lines count what would be lines.
    In ``block_events`` the column ``place`` counts the host's lines, where ingesting counts the bytes of its log: the same order.

    Args:
        profile_toml: A complete profile, as :func:`slotmark.benches.cluster.simulating.simulate.load_profile` gives it.
        seed: Decides everything that is random.
        out: The new run.
        progress: Gets slots of hosts done and in all; may raise to stop.
        threads: How many hosts at once; 0 for as many as there are cores.
        noted: Warnings about the engine, for the manifest.

    Raises:
        SimulationError: A profile that makes no sense, or a table that can't be written.
        RunError: The run folder is there already or can't be written.
    """
    with RunWriter(out) as writer, temporary_folder() as folder:
        description = Path(folder)
        facts, counts = _core.simulate_direct(
            profile_toml, seed, out.name, str(writer.tables_folder), folder, threads, progress
        )
        ingested = msgspec.json.decode(counts, type=Ingested)
        metadata = read_metadata(description, None)
        cluster = Cluster(
            name=out.name,
            target=metadata.ident or out.name,
            host_from="path",
            genesis=read_genesis(description, None),
            metadata=metadata,
            regions=regions_of_topology(description),
            noted=noted,
        )
        run = finish_run(writer, cluster, ingested)
    return run, msgspec.json.decode(facts, type=RunFacts)
