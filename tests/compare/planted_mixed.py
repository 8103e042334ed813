"""Mixed sessions whose truth is known: run folders of clusters that pass blocks on from host to host, so that a slow neighbour slows others.

`python -m tests.compare.planted_mixed SESSIONS` prints how often a planted delay is found, and how far estimates are from it.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.benches.cluster.bed import Host
from slotmark.benches.cluster.live.placing import halves
from slotmark.compare import compare
from slotmark.compare.result import Difference
from slotmark.metrics import register
from slotmark.run import Manifest, Run, RunWriter, Target
from slotmark.run.manifest import MIXED, ROUND

BENCH = "mixture"
NAMES = ("usual", "delayed")
VERSIONS = dict(zip(NAMES, ("1.0", "1.1"), strict=True))

register(BENCH, Path(__file__).parent / BENCH)


class Plant(msgspec.Struct, frozen=True, kw_only=True):
    """A planted truth; times in seconds.

    Attributes:
        hosts: How many.
        rounds: How many.
        blocks: In each round.
        adopt: By how much a delayed host adopts later.
        forge: By how much it forges later.
        memory: By how much more memory it has, in MiB.
        passed_on: The share of hosts that have a block not from its forger but from another host, and with it what that one adopted later by.
        process: Standard deviation of what a host's process of a round adds to all its adoptions.
        day: Of what a round adds to all.
    """

    hosts: int = 5
    rounds: int = 4
    blocks: int = 120
    adopt: float = 0.0
    forge: float = 0.0
    memory: float = 0.0
    passed_on: float = 0.5
    process: float = 0.001
    day: float = 0.03


def beds_hosts(count: int) -> list[Host]:
    """Hosts in three regions, each with a pool, with unlike stakes."""
    regions = ("eu", "us", "ap")
    return [Host(f"node-{place}", regions[place % 3], "", 0, place + 1, 1.0 + place % 4) for place in range(count)]


def session(folder: Path, plant: Plant, seed: int) -> list[Run]:
    """The run folders of a session's rounds."""
    draws = np.random.default_rng([27, seed])
    cluster = _cluster(draws, plant)
    runs = []
    for number in range(1, plant.rounds + 1):
        ran = halves(cluster.hosts, NAMES, seed, number)
        tables = _tables(draws, plant, cluster, ran, draws.normal(0, plant.day))
        tables["host_nodes"] = pa.table({"host": list(ran), "name": list(ran.values())})
        mixed = {ROUND: number, MIXED: list(NAMES)}
        target = Target(" and ".join(NAMES), VERSIONS[NAMES[number % 2]])  # of the one that most hosts ran
        runs.append(_written(folder / f"{seed}-{number}", f"session-{seed}", target, mixed, tables))
    return runs


def in_turns(folder: Path, plant: Plant, seed: int) -> list[Run]:
    """The run folders of a session in which each target had the whole cluster once in each round."""
    draws = np.random.default_rng([28, seed])
    cluster = _cluster(draws, plant)
    runs = []
    for number in range(1, plant.rounds + 1):
        day = draws.normal(0, plant.day)
        for name in NAMES:
            tables = _tables(draws, plant, cluster, {host.name: name for host in cluster.hosts}, day)
            runs.append(
                _written(
                    folder / f"{name}-{number}", f"turns-{seed}", Target(name, VERSIONS[name]), {ROUND: number}, tables
                )
            )
    return runs


class _Cluster(msgspec.Struct, frozen=True):
    """Levels of hosts: ``ways`` from a forger to a host, what each adds to its adoptions, its memory."""

    hosts: list[Host]
    ways: np.ndarray
    own: np.ndarray
    levels: np.ndarray


def _cluster(draws: np.random.Generator, plant: Plant) -> _Cluster:
    ways = draws.uniform(0.03, 0.12, (plant.hosts, plant.hosts))
    own = draws.normal(0, 0.01, plant.hosts)
    return _Cluster(beds_hosts(plant.hosts), ways, own, draws.normal(200, 40, plant.hosts))


def _tables(
    draws: np.random.Generator, plant: Plant, cluster: _Cluster, ran: Mapping[str, str], day: float
) -> dict[str, pa.Table]:
    """The tables of a run in which hosts ran these targets."""
    hosts, own = cluster.hosts, cluster.own
    delayed = np.array([ran[host.name] == NAMES[1] for host in hosts])
    of_process = draws.normal(0, plant.process, plant.hosts)
    forgers = draws.integers(0, plant.hosts, plant.blocks)
    forged = 0.1 + day + draws.exponential(0.03, plant.blocks) + plant.forge * delayed[forgers] + own[forgers]
    late = plant.adopt * delayed + of_process
    rows = []
    for block, forger in enumerate(forgers):
        for host in range(plant.hosts):
            if host == forger:
                continue
            others = [one for one in range(plant.hosts) if one not in (host, forger)]
            by = late[draws.choice(others)] if draws.random() < plant.passed_on else 0.0
            way = cluster.ways[forger, host] + own[host] + draws.exponential(0.01)
            rows.append((block, hosts[host].name, forged[block] + way + by + late[host]))
    memories = cluster.levels + draws.normal(0, 1, plant.hosts) + plant.memory * delayed
    return {
        "blocks": pa.table(
            {"block": range(plant.blocks), "forger": [hosts[one].name for one in forgers], "forged_s": forged}
        ),
        "adoptions": pa.table(dict(zip(("block", "host", "adopted_s"), zip(*rows, strict=True), strict=True))),
        "memories": pa.table({"host": [host.name for host in hosts], "mib": memories}),
    }


def _written(
    path: Path, session: str, target: Target, parameters: dict[str, object], tables: dict[str, pa.Table]
) -> Run:
    """A run of ten minutes."""
    manifest = Manifest(
        id=f"{session}-{path.name}",
        bench=BENCH,
        origin="measured",
        target=target,
        workload={"blocks": "many"},
        parameters=parameters,
        session=session,
        machine=None,
        started="2026-11-25T08:00:00+00:00",
        ended="2026-11-25T08:10:00+00:00",
        versions={f"target {name}": version for name, version in VERSIONS.items()},
        sources=[],
        tables={},
        warnings=[],
    )
    with RunWriter(path) as writer:
        for table, rows in tables.items():
            writer.table(table, rows)
        return writer.finish(manifest)


def differences(runs: Sequence[Run]) -> dict[str, Difference]:
    """The differences of a session, by metric."""
    rows = {row.metric.id: row.differences[0] for row in compare([list(runs)]).rows}
    return {name: found for name, found in rows.items() if found is not None}


def main(sessions: int) -> None:
    """Prints a row per plant: of so many sessions, how often 20 ms or none are found, how far estimates are off, how often intervals cover the truth."""
    print(
        "| hosts | passed on | planted | called worse | called better | mean estimate | sd | interval covers what a host does itself |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for hosts, passed_on in ((5, 0.0), (5, 0.5), (10, 0.5), (52, 0.5)):
        for adopt in (0.0, 0.02):
            plant = Plant(hosts=hosts, passed_on=passed_on, adopt=adopt)
            with tempfile.TemporaryDirectory() as folder:
                found = [differences(session(Path(folder), plant, seed))["host_adopted"] for seed in range(sessions)]
            deltas = [one.delta for one in found if one.delta]
            estimates = np.array([one.estimate for one in deltas])
            covered = np.mean([one.low <= adopt <= one.high for one in deltas])
            called = [np.mean([one.verdict == verdict for one in found]) for verdict in ("worse", "better")]
            print(
                f"| {hosts} | {passed_on:.0%} | {1e3 * adopt:g} ms | {called[0]:.1%} | {called[1]:.1%} | {1e3 * estimates.mean():.2f} ms | "
                f"{1e3 * estimates.std():.2f} ms | {covered:.1%} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]))
