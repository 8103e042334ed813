"""Planted truth: what the analysis says of simulated logs is what really happened.

The truth is read from truth.jsonl and truth-slots.jsonl, the metrics come by way of logs and ingest. Where the two differ on
purpose, this module says how: the chain ends before its tip, a host's clock may be wrong, a block that a later one took along is
in no log line as adopted, and observations that the rules call invalid don't count.

Every metric of the catalogue is checked, by what `counts`, `times` and `usage` expect of it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.benches.cluster.simulating.simulate import load_profile, simulate
from slotmark.metrics import Analysis

PLAIN = ("hosts=13", "pools=13", "run.slots=4000", "genesis.epoch_slots=1500")
# Slow enough for battles and forks, and for hosts that are behind and ask for ranges of blocks.
ROUGH = (
    *PLAIN,
    'forging.ledger_tick={mean="400ms", sigma=0.8}',
    'peer.adopt={mean="300ms", sigma=0.8}',
    'fault=[{kind="clock-skew", host=2, ahead_ms=-40.5}, {kind="clock-skew", host=3, ahead_ms=12.25},'
    '{kind="host-down", host=4, from=400, until=700}, {kind="partition", hosts=[0, 5, 10], from=1500, until=1700},'
    '{kind="link-cut", between=[1, 2], from=2000, until=2400}, {kind="host-slow", host=6, from=2500, until=3500, factor=6.0}]',
)
# Ends while two blocks of one height are on their way.
CONTESTED = (*ROUGH, "run.slots=3480")
SLOT_NS = 10**9
EPOCH_SLOTS = 1500

Block = dict[str, Any]
Slot = dict[str, Any]
Key = tuple[int | str, ...]
Expected = dict[str, dict[Key, Any]]
Moments = dict[str, int | None]


class Truth:
    """The content of truth.jsonl and truth-slots.jsonl, in the words of the metrics."""

    def __init__(self, folder: Path) -> None:
        self.ahead: dict[str, int] = {}
        self.blocks: dict[str, Block] = {}
        self.seen: dict[tuple[str, str], dict[str, Any]] = {}
        for line in (folder / "truth.jsonl").read_text().splitlines():
            row = json.loads(line)
            if row["kind"] == "host":
                self.ahead[row["host"]] = row["clock_ahead_ns"]
            elif row["kind"] == "block":
                self.blocks[row["block"]] = row
            else:
                self.seen[row["block"], row["host"]] = row
        self.slots: dict[str, list[Slot]] = {
            host: [json.loads(line) for line in (folder / host / "truth-slots.jsonl").read_text().splitlines()]
            for host in self.ahead
        }

    def adopted_ns(self, block: str, host: str) -> int | None:
        """The true time at which the host's log has that it adopted the block: None if a later block took it along."""
        seen = self.seen[block, host]
        return seen["adopted_ns"] if seen["adopted_by"] in ("extension", "fork") else None

    def adopters(self, block: str) -> int:
        return sum(self.adopted_ns(block, host) is not None for host in self.ahead)

    def chain(self) -> list[Block]:
        """The blocks below the tip: the highest block that anybody forged, of several the one that most hosts adopted."""
        tip = min(self.blocks.values(), key=lambda one: (-one["number"], -self.adopters(one["block"]), one["block"]))
        chain = []
        at = self.blocks.get(tip["parent"])
        while at:
            chain.append(at)
            at = self.blocks.get(at["parent"])
        return chain[::-1]

    def complete(self, block: Block) -> bool:
        """Returns whether its forger's log has its size: it does where the forger adopted it as the tip of its chain."""
        return self.adopted_ns(block["block"], block["forger"]) is not None

    def since_slot(self, block: Block, host: str, at_ns: int | None) -> int | None:
        """A moment as the host's clock shows it, since the block's slot began."""
        return None if at_ns is None else at_ns + self.ahead[host] - block["slot"] * SLOT_NS

    def phases(self, block: Block, host: str) -> Moments | None:
        """A valid observation's phases: of a host that noticed, requested and fetched the block, and adopted it as the next one."""
        seen = self.seen[block["block"], host]
        noticed, requested, fetched = seen["noticed_ns"], seen["requested_ns"], seen["fetched_ns"]
        adopted = self.adopted_ns(block["block"], host)
        if host == block["forger"] or None in (noticed, requested, fetched, adopted):
            return None
        found: Moments = {
            "noticed": self.since_slot(block, host, noticed),
            "requested": requested - noticed,
            "fetched": fetched - requested,
            "adopted": difference(adopted, fetched),
        }
        # A range of blocks was asked for, or another peer delivered the block before it was asked for: invalid.
        if seen["range"] > 1 or any(phase is None or phase < 0 for phase in found.values()):
            return None
        return found | {
            "announced": difference(seen["announced_ns"], fetched),
            "sending": difference(seen["sending_ns"], fetched),
        }


def difference(later: int | None, earlier: int) -> int | None:
    return None if later is None else later - earlier


def counts(truth: Truth) -> Expected:
    """Metrics that are counts, or a quotient of two: exact."""
    chain = truth.chain()
    accepted = [block for block in chain if truth.complete(block)]
    forged, chained, filtered = (defaultdict[str, int](int) for _ in range(3))
    for count, blocks in ((forged, truth.blocks.values()), (chained, chain), (filtered, accepted)):
        for block in blocks:
            count[block["forger"]] += 1
    heights = defaultdict[int, int](int)
    for block in truth.blocks.values():
        heights[block["number"]] += 1
    expected: Expected = defaultdict(dict)
    expected["blocks_per_host"] = {(host,): forged[host] for host in truth.ahead}
    expected["chained_to_forged"] = {(host,): chained[host] / forged[host] for host in forged}
    expected["filtered_to_chained"] = {(host,): filtered[host] / chained[host] for host in chained}
    expected["battles"] = {(one["number"],): heights[one["number"]] - 1 for one in accepted}
    expected["block_bytes"] = {(one["number"],): one["size_bytes"] for one in accepted}
    expected["adoption_share"] = {(one["number"],): truth.adopters(one["block"]) / len(truth.ahead) for one in accepted}
    # The simulator's mempools refuse nothing.
    expected["mempool_rejected"] = {(host,): 0 for host in truth.ahead}
    for host, slots in truth.slots.items():
        by_slot = {slot["slot"]: slot for slot in slots}
        for slot in range(min(by_slot), max(by_slot) + 1):
            started = slot in by_slot and by_slot[slot]["started_ns"] is not None
            expected["forge_starts"][slot, host] = int(started)
        known = grown = None
        for slot in slots:
            key = slot["slot"], host
            if slot["context_number"] is not None:
                if slot["context_number"] != known:
                    known, grown = slot["context_number"], slot["slot"]
                expected["block_gap"][key] = slot["slot"] - grown
            if slot["measured_ns"] is not None:
                blocks = slot["tip_number"] + 1
                expected["chain_density"][key] = blocks / (slot["tip_slot"] + 1) if blocks else 0
                expected["utxo_size"][key] = slot["utxo"]
            if slot["mempool_txs"] is not None:
                expected["mempool_txs"][key] = slot["mempool_txs"]
    return expected


def times(truth: Truth) -> Expected:
    """Metrics that are times, in ns."""
    expected: Expected = defaultdict(dict)
    by_host = defaultdict[str, list[int]](list)
    for block in filter(truth.complete, truth.chain()):
        forging_times(truth, block, expected)
        peer_times(truth, block, expected)
        adoption_times(truth, block, expected, by_host)
    expected["host_adoption"] = {(host,): sum(own) // len(own) for host, own in by_host.items()}
    steps = ("started", "block_context", "ledger_state", "ledger_view", "leadership")
    names = ("context", "state", "view", "leading")
    for host, slots in truth.slots.items():
        for slot in slots:
            key = slot["slot"], host
            at = [slot[f"{step}_ns"] for step in steps]
            if at[0] is not None:
                expected["slot_started"][key] = at[0] + truth.ahead[host] - slot["slot"] * SLOT_NS
            for name, earlier, later in zip(names, at, at[1:], strict=False):
                expected[f"slot_{name}"][key] = difference(later, earlier)
    return expected


def forging_times(truth: Truth, block: Block, expected: Expected) -> None:
    key, forger = (block["number"],), block["forger"]
    seen = truth.seen[block["block"], forger]
    steps = (
        "started",
        "block_context",
        "ledger_state",
        "ledger_view",
        "leadership",
        "ledger_tick",
        "mempool_snapshot",
        "forged",
    )
    at = [block[f"{step}_ns"] for step in steps]
    names = ("context", "state", "view", "leading", "ticked", "snapshot", "forged")
    expected["forge_started"][key] = truth.since_slot(block, forger, at[0])
    for name, earlier, later in zip(names, at, at[1:], strict=False):
        expected[f"forge_{name}"][key] = later - earlier
    for name in ("announced", "sending", "adopted"):
        expected[f"forge_{name}"][key] = difference(seen[f"{name}_ns"], block["forged_ns"])
    expected["slot_to_announced"][key] = truth.since_slot(block, forger, seen["announced_ns"])


def peer_times(truth: Truth, block: Block, expected: Expected) -> None:
    number = block["number"]
    observed = {host: phases for host in truth.ahead if (phases := truth.phases(block, host))}
    for host, phases in observed.items():
        for name in ("requested", "fetched", "announced", "sending", "adopted"):
            expected[f"peer_{name}"][number, host] = phases[name]
    if observed:
        noticed = {host: phases["noticed"] or 0 for host, phases in observed.items()}
        expected["first_notice"][number,] = min(noticed.values())
        expected["first_fetch"][number,] = min(
            noticed[host] + (phases["requested"] or 0) + (phases["fetched"] or 0) for host, phases in observed.items()
        )


def adoption_times(truth: Truth, block: Block, expected: Expected, by_host: dict[str, list[int]]) -> None:
    hosts = len(truth.ahead)
    moments = []
    for host in truth.ahead:
        at = truth.since_slot(block, host, truth.adopted_ns(block["block"], host))
        if at is not None:
            moments.append(at)
            by_host[host].append(at)
    moments.sort()
    for centile in (50, 80, 90, 92, 94, 95, 96, 98, 100):
        place = min(hosts - 1, hosts * centile // 100)
        expected[f"adopted_by_{centile:03}"][block["number"],] = moments[place] if place < len(moments) else None


def usage(truth: Truth) -> Expected:
    """Metrics of resources: sizes, and what counters grew by between two samples a second, as the node rounds them."""
    expected: Expected = defaultdict(dict)
    for host, slots in truth.slots.items():
        before: dict[str, int] | None = None
        for slot in slots:
            if slot["sampled_ns"] is None:
                continue
            key = slot["slot"], host
            for name in ("rss", "heap", "live"):
                expected[f"{name}_mib"][key] = slot[f"{name}_bytes"] / 2**20
            now = counters(slot)
            if before is not None:
                span_s = (slot["sampled_ns"] - before["at"]) / 1e9
                grown = {name: now[name] - before[name] for name in now}
                # A counter that went down: the node was started anew.
                if min(grown.values()) >= 0:
                    for name, (metric, unit) in RATES.items():
                        expected[metric][key] = grown[name] / unit / span_s
                    for metric in NOT_MODELLED:
                        expected[metric][key] = 0
            before = now
        shares = ((slot["slot"], expected["cpu_percent"].get((slot["slot"], host))) for slot in slots)
        spans(host, {slot for slot, share in shares if share is not None and share >= 85}, expected)
    return expected


RATES = {
    "cpu_cs": ("cpu_percent", 1),
    "gc_cs": ("gc_percent", 1),
    "mutator_cs": ("mutator_percent", 1),
    "major_gcs": ("major_gcs", 1),
    "minor_gcs": ("minor_gcs", 1),
    "allocated_bytes": ("allocated_mib", 2**20),
    "fs_written_bytes": ("fs_written_kib", 2**10),
}
NOT_MODELLED = ("net_read_kib", "net_written_kib", "fs_read_kib")


def counters(slot: Slot) -> dict[str, int]:
    """The CPU time that the node would log for a sample: in whole hundredths of a second."""
    return {
        "at": slot["sampled_ns"],
        "cpu_cs": (slot["mutator_ns"] + slot["gc_ns"]) // 10**7,
        "gc_cs": slot["gc_ns"] // 10**7,
        "mutator_cs": slot["mutator_ns"] // 10**7,
    } | {name: slot[name] for name in ("major_gcs", "minor_gcs", "allocated_bytes", "fs_written_bytes")}


def spans(host: str, busy: set[int], expected: Expected) -> None:
    """The stretches of busy slots, and those that have one of the first three slots of an epoch and end after its fourth."""
    begins = [slot for slot in busy if slot - 1 not in busy]
    for begin in begins:
        end = begin
        while end in busy:
            end += 1
        expected["busy_span_slots"][begin, host] = end - begin
        if any(slot % EPOCH_SLOTS < 3 and slot - slot % EPOCH_SLOTS + 3 < end - 1 for slot in range(begin, end)):
            expected["epoch_span_slots"][begin, host] = end - begin


@pytest.fixture(scope="module", params=[PLAIN, ROUGH, CONTESTED], ids=["plain", "rough", "contested tip"])
def simulated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterable[tuple[Truth, Analysis]]:
    folder = tmp_path_factory.mktemp("truth")
    simulate(load_profile("value-only-10.5", request.param), 11, folder / "logs", lambda _done, _total: None)
    run, ingested = ingest(IngestRequest(logs=[str(folder / "logs")], out=folder / "run"))
    assert not ingested.rejected
    with Analysis(run, filters=[]) as analysis:
        yield Truth(folder / "logs"), analysis


Simulated = tuple[Truth, Analysis]


def test_the_chain_is_the_chain_without_its_tip(simulated: Simulated) -> None:
    truth, analysis = simulated
    chain = [block["block"] for block in truth.chain()]
    assert len(chain) > 100
    assert set(analysis.relation("chain")["block"].to_pylist()) == set(chain)
    # What the simulator itself calls the chain, but for its last blocks: those which the run's end kept from spreading.
    really = [block["block"] for block in truth.blocks.values() if block["on_chain"]]
    assert chain[: len(really) - 2] == really[: len(chain)][: len(really) - 2]


def test_every_metric_of_the_catalogue_is_checked_once(simulated: Simulated) -> None:
    truth, analysis = simulated
    checked = [*counts(truth), *times(truth), *usage(truth)]
    # A simulation has no generator whose transactions could be followed, and no processes that could be sampled.
    known = [metric.id for metric in analysis.catalogue.metrics if metric.relation not in ("submitted", "sampled")]
    assert sorted(checked) == sorted(known)


def test_counts_are_exact(simulated: Simulated) -> None:
    truth, analysis = simulated
    for metric, expected in counts(truth).items():
        assert analysis.samples(metric).of("") == expected, metric


def test_times_are_right_to_the_microsecond(simulated: Simulated) -> None:
    """Every moment that is there, and no other."""
    truth, analysis = simulated
    for metric, expected in times(truth).items():
        found = analysis.samples(metric).of("")
        there = {key: ns for key, ns in expected.items() if ns is not None}
        assert found.keys() == there.keys(), metric
        assert len(found) > 5, metric
        assert not {key: (found[key], ns) for key, ns in there.items() if abs(found[key] * 1e9 - ns) > 1e3}, metric


def test_usage_is_what_was_used(simulated: Simulated) -> None:
    """Quotients of whole numbers: equal but for the last digits of a double."""
    truth, analysis = simulated
    for metric, expected in usage(truth).items():
        found = analysis.samples(metric).of("")
        assert found.keys() == expected.keys(), metric
        assert len(found) > 5, metric
        far = {
            key: (found[key], value) for key, value in expected.items() if not isclose(found[key], value, rel_tol=1e-12)
        }
        assert not far, metric


def test_the_rough_cluster_has_what_the_rules_are_about(tmp_path: Path) -> None:
    simulate(load_profile("value-only-10.5", ROUGH), 11, tmp_path / "logs", lambda _done, _total: None)
    truth = Truth(tmp_path / "logs")
    methods = [seen["adopted_by"] for seen in truth.seen.values()]
    invalid = [
        seen
        for (block, host), seen in truth.seen.items()
        if host != truth.blocks[block]["forger"] and not truth.phases(truth.blocks[block], host)
    ]
    assert methods.count("fork") > 5
    assert "carried" in methods
    assert any(seen["range"] > 1 for seen in truth.seen.values())
    assert len(invalid) > 50
    assert len(truth.blocks) > len(truth.chain()) + 5
    assert any(slot["started_ns"] is None for slots in truth.slots.values() for slot in slots)
    assert {len(slots) for slots in truth.slots.values()} == {4000, 3700}
