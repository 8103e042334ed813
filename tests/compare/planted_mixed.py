"""Mixed sessions whose truth is known: run folders of clusters whose hosts fetch blocks from whoever has them first, so that a slow neighbour slows others.

`python -m tests.compare.planted_mixed SESSIONS` prints how often a planted delay is found, and how far estimates are from it.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
from benchmarks.statistics.rows import Asked

from slotmark.benches.cluster.bed import Host
from slotmark.benches.cluster.live.placing import halves
from slotmark.compare import compare
from slotmark.compare.results.rows import Difference
from slotmark.metrics import register
from slotmark.run import Run, RunWriter, Target
from slotmark.run.manifest import MIXED, ROUND
from slotmark.statistics.passed_on import PassedOn, swapped_on_the_way
from slotmark.statistics.rank_tests import error_share
from slotmark.statistics.swapped import Swapped, levels, swapped
from tests.made_up_runs import bare_manifest

BENCH = "mixture"
NAMES = ("usual", "delayed")
VERSIONS = dict(zip(NAMES, ("1.0", "1.1"), strict=True))

CONFIDENCE = 0.95
ALPHA = (1 - CONFIDENCE) * error_share(3, 2, decides=True)
"""A p-value of adoption below it is a verdict, where none of the others is smaller."""

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
        neighbours: With how many others a host is linked on average: from 2, a ring, to all. Over fewer links more blocks come by other hosts.
        held: The share of its work on a block after which a host passes it on: 1 where it adopts it first, 0 where it passes it on at once.
        process: Standard deviation of what a host's process of a round adds to all its adoptions.
        day: Of what a round adds to all.
        producers: How many hosts forge and aren't swapped; 0 where all forge and are.
    """

    hosts: int = 5
    rounds: int = 4
    blocks: int = 120
    adopt: float = 0.0
    forge: float = 0.0
    memory: float = 0.0
    neighbours: float = 2.0
    held: float = 1.0
    process: float = 0.001
    day: float = 0.03
    producers: int = 0


def beds_hosts(count: int) -> list[Host]:
    """Hosts in three regions, each with a pool, with unlike stakes."""
    regions = ("eu", "us", "ap")
    return [Host(f"node-{place}", regions[place % 3], "", 0, place + 1, 1.0 + place % 4) for place in range(count)]


def session(folder: Path, plant: Plant, seed: int) -> list[Run]:
    """The run folders of a session's rounds."""
    runs = []
    for number, tables in enumerate(rounds_of(plant, seed), start=1):
        mixed = {ROUND: number, MIXED: list(NAMES)}
        target = Target(" and ".join(NAMES), VERSIONS[NAMES[number % 2]])  # of the one that most hosts ran
        runs.append(_written(folder / f"{seed}-{number}", f"session-{seed}", target, mixed, tables))
    return runs


def rounds_of(plant: Plant, seed: int) -> Iterator[dict[str, pa.Table]]:
    """The tables of a session's rounds."""
    draws = np.random.default_rng([27, seed])
    cluster = _cluster(draws, plant)
    for number in range(1, plant.rounds + 1):
        stays = {host.name: NAMES[0] for host in cluster.hosts[: plant.producers]}
        ran = halves(cluster.hosts[plant.producers :], NAMES, seed, number) | stays
        tables = _tables(draws, plant, cluster, ran, draws.normal(0, plant.day))
        placed = {"host": list(ran), "name": list(ran.values()), "stays": [host in stays for host in ran]}
        yield {**tables, "host_nodes": pa.table(placed)}


def straight(rounds: Iterable[Mapping[str, pa.Table]], *, senders_known: bool = True) -> Swapped:
    """The effect on adoption in the tables of some rounds, without run folders: ten times as fast. tests/compare/test_mixed.py holds it against a comparison of these."""
    of_rounds, treated, passed = [], [], []
    for tables in rounds:
        rows, ran = tables["adoptions"], tables["host_nodes"]
        numbers = {host: number for number, host in enumerate(ran["host"].to_pylist())}
        places, senders = (np.array([numbers[one] for one in rows[name].to_pylist()]) for name in ("host", "sender"))
        forgers = np.array([numbers[one] for one in tables["blocks"]["forger"].to_pylist()])
        values, units = rows["adopted_s"].to_numpy(), rows["block"].to_numpy()
        ran_candidate = np.array(ran["name"].to_pylist()) == NAMES[1]
        if senders_known:
            passed.append(PassedOn(values, places, units, senders, forgers[units], ran_candidate))
        else:
            of_rounds.append(levels(values, places, units))
            treated.append(ran_candidate[of_rounds[-1].places])
    found = swapped_on_the_way(passed, CONFIDENCE) if senders_known else swapped(of_rounds, treated, CONFIDENCE)
    if found is None:
        raise AssertionError("nothing tells")
    return found


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
    """Levels of hosts: which are linked, ``ways`` between them, what each adds to its adoptions, its memory."""

    hosts: list[Host]
    linked: np.ndarray
    ways: np.ndarray
    own: np.ndarray
    levels: np.ndarray


def _cluster(draws: np.random.Generator, plant: Plant) -> _Cluster:
    ways = draws.uniform(0.03, 0.12, (plant.hosts, plant.hosts))
    own = np.abs(draws.normal(0, 0.01, plant.hosts))
    linked = np.zeros(ways.shape, bool)
    linked[np.arange(plant.hosts), np.roll(np.arange(plant.hosts), 1)] = True
    linked |= linked.T
    while linked.sum() < plant.neighbours * plant.hosts:
        one, other = draws.choice(plant.hosts, 2, replace=False)
        linked[one, other] = linked[other, one] = True
    levels = draws.normal(200, 40, plant.hosts)
    return _Cluster(beds_hosts(plant.hosts), linked, (ways + ways.T) / 2, own, levels)


def _tables(
    draws: np.random.Generator, plant: Plant, cluster: _Cluster, ran: Mapping[str, str], day: float
) -> dict[str, pa.Table]:
    """The tables of a run in which hosts ran these targets."""
    hosts, own = cluster.hosts, cluster.own
    delayed = np.array([ran[host.name] == NAMES[1] for host in hosts])
    of_process = draws.normal(0, plant.process, plant.hosts)
    forgers = draws.integers(0, plant.producers or plant.hosts, plant.blocks)
    forged = 0.1 + day + draws.exponential(0.03, plant.blocks) + plant.forge * delayed[forgers] + own[forgers]
    late = 0.03 + own + plant.adopt * delayed + of_process
    rows = []
    for block, forger in enumerate(forgers):
        ways = np.where(cluster.linked, cluster.ways + draws.exponential(0.01, cluster.ways.shape), np.inf)
        work = late + draws.exponential(0.01, plant.hosts)
        for host, (sender, came) in first_come(ways, plant.held * work, int(forger)).items():
            rows.append((block, hosts[host].name, hosts[sender].name, forged[block] + came + work[host]))
    memories = cluster.levels + draws.normal(0, 1, plant.hosts) + plant.memory * delayed
    return {
        "blocks": pa.table(
            {"block": range(plant.blocks), "forger": [hosts[one].name for one in forgers], "forged_s": forged}
        ),
        "adoptions": pa.table(
            dict(zip(("block", "host", "sender", "adopted_s"), zip(*rows, strict=True), strict=True))
        ),
        "memories": pa.table({"host": [host.name for host in hosts], "mib": memories}),
    }


def first_come(ways: np.ndarray, held: np.ndarray, forger: int) -> dict[int, tuple[int, float]]:
    """Who sent a block to each host, and when it had come; each takes it from the first that has it on its way.

    Args:
        ways: From host to host; infinite where they aren't linked.
        held: How long each keeps a block before it sends it.
        forger: Who has it at time 0.
    """
    found: dict[int, tuple[int, float]] = {}
    ahead = [(0.0, forger, forger)]
    while ahead:
        came, host, sender = heapq.heappop(ahead)
        if host in found:
            continue
        found[host] = sender, came
        sends = came + (held[host] if host != forger else 0.0)
        for other in np.flatnonzero(np.isfinite(ways[host])):
            heapq.heappush(ahead, (sends + ways[host, other], int(other), host))
    del found[forger]
    return found


def _written(
    path: Path, session: str, target: Target, parameters: dict[str, object], tables: dict[str, pa.Table]
) -> Run:
    """A run of ten minutes."""
    manifest = bare_manifest(
        f"{session}-{path.name}",
        BENCH,
        target,
        workload={"blocks": "many"},
        parameters=parameters,
        session=session,
        started="2026-11-25T08:00:00+00:00",
        ended="2026-11-25T08:10:00+00:00",
        versions={f"target {name}": version for name, version in VERSIONS.items()},
        origin="measured",
    )
    with RunWriter(path) as writer:
        for table, rows in tables.items():
            writer.table(table, rows)
        return writer.finish(manifest)


def differences(runs: Sequence[Run]) -> dict[str, Difference]:
    """The differences of a session, by metric."""
    rows = {row.metric.id: row.differences[0] for row in compare([list(runs)]).rows}
    return {name: found for name, found in rows.items() if found is not None}


CLUSTERS = ((5, 4.0, 1.0), (5, 3.0, 1.0), (5, 2.0, 1.0), (5, 2.0, 0.0), (10, 3.0, 1.0), (52, 6.0, 1.0))
"""Hosts, neighbours of each, and the share of its work after which a host passes a block on."""


def main() -> None:
    """Prints a row per plant: of so many sessions, how often 20 ms or none are found, how far estimates are off, how often intervals cover the truth.

    Without senders: what the estimate and its interval would be by hosts and blocks alone.
    """
    asked = Asked(200)
    print(
        "| hosts | neighbours | passed on | sessions | planted | called worse | called better | mean estimate | sd | interval covers what a host does itself | "
        "without senders: mean | sd | covers |"
    )
    print("| ---: | ---: | --- |" + " ---: |" * 10)
    counts = [asked.repetitions if hosts < 20 else asked.repetitions // 10 for hosts, *_ in CLUSTERS]
    places = [
        (*cluster, adopt, count) for cluster, count in zip(CLUSTERS, counts, strict=True) for adopt in (0.0, 0.02)
    ]
    asked.print_rows(row, places)


def row(hosts: int, neighbours: float, held: float, adopt: float, sessions: int) -> str:
    """A line of the table."""
    plant = Plant(hosts=hosts, neighbours=neighbours, held=held, adopt=adopt)
    seen: list[tuple[float, ...]] = []
    for seed in range(sessions):
        rounds = [*rounds_of(plant, seed)]
        found, without = (straight(rounds, senders_known=known) for known in (True, False))
        interval, other = found.found.interval, without.found.interval
        # Beyond the margin of 2 % of the level, and among three tests of which two decide.
        called = found.found.p < ALPHA and abs(interval.estimate) > 0.02 * found.base
        seen.append(
            (
                called and interval.estimate > 0,
                called and interval.estimate < 0,
                interval.estimate,
                interval.low <= adopt <= interval.high,
                other.estimate,
                other.low <= adopt <= other.high,
            )
        )
    worse, better, mean, covers, mean_without, covers_without = np.mean(seen, axis=0)
    sd, sd_without = np.std(seen, axis=0)[[2, 4]]
    return (
        f"| {hosts} | {neighbours:g} | {'adopted first' if held else 'at once'} | {sessions:,} | {1e3 * adopt:g} ms | {worse:.1%} | {better:.1%} | "
        f"{1e3 * mean:.2f} ms | {1e3 * sd:.2f} ms | {covers:.1%} | {1e3 * mean_without:.2f} ms | {1e3 * sd_without:.2f} ms | {covers_without:.1%} |"
    )


if __name__ == "__main__":
    main()
