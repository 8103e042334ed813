"""Dingo's logs: what a run holds of them, worked out by hand; what they don't tell is not recorded."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from slotmark.benches.cluster.ingesting.finishing import MeasuredHere
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.compare.mixed import _of_side, both_sides
from slotmark.compare.result import Side
from slotmark.errors import LogError
from slotmark.metrics import Analysis
from slotmark.run import Run
from slotmark.run.machine import machine_facts
from slotmark.run.manifest import MIXED, ROUND
from tests.cluster.made_up_dingo_logs import DingoCluster, block_hash
from tests.cluster.made_up_logs import line, ts
from tests.cluster.test_ingest import ingested
from tests.conftest import slotmark


def cluster() -> DingoCluster:
    """Three hosts in a line and 20 blocks, all alike: host 0 makes one in each second slot, 1 gets it from 0, and 2 from 1."""
    made = DingoCluster(3)
    for number in range(20):
        slot = 2 * number
        made.forged(0, slot, number, at_ms=(1, 11, 41))
        made.passed(0, 1, slot, number, at_ms=(12, 62, 63, 113, 163))
        made.adopted(1, slot, 193, block_hash(number, slot))
        made.passed(1, 2, slot, number, at_ms=(165, 215, 216, 266, 316))
        made.adopted(2, slot, 346, block_hash(number, slot))
    return made


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("made-up-dingo")
    run, facts = ingested(cluster().write(folder / "logs"), folder / "run")
    assert facts.rejected == 0
    return run


@pytest.fixture(scope="module")
def devnet(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run, facts = ingested(shared / "data" / "logs" / "dingo-devnet", tmp_path_factory.mktemp("dingo-devnet") / "run")
    assert facts.rejected == 0
    assert facts.lines == 11_094 + 9_792 + 12_890 + 4_663  # as `zstdcat n1.jsonl.zst | wc -l` has it, and so on
    return run


def values(run: Run, metric: str) -> dict[tuple[int | str, ...], float]:
    with Analysis(run, filters=[]) as analysis:
        return analysis.samples(metric).of("")


def test_every_step_that_the_log_tells_is_measured(made_up: Run) -> None:
    chain = range(19)  # the tip is left out
    for metric, ms in {
        "forge_forged": 10,
        "forge_announced": 1,
        "forge_sending": 102,
        "forge_adopted": 30,
        "slot_to_announced": 12,
        "first_notice": 62,
        "first_fetch": 163,
        "adopted_by_050": 193,
        "adopted_by_100": 346,
    }.items():
        assert values(made_up, metric) == {(number,): pytest.approx(ms / 1e3, abs=1e-9) for number in chain}, metric
    for metric, ms in {"peer_requested": 1, "peer_fetched": 100, "peer_adopted": 30}.items():
        wanted = {(number, host): pytest.approx(ms / 1e3, abs=1e-9) for number in chain for host in ("n1", "n2")}
        assert values(made_up, metric) == wanted, metric
    assert values(made_up, "peer_announced") == {(number, "n1"): pytest.approx(0.002, abs=1e-9) for number in chain}
    assert set(values(made_up, "block_bytes").values()) == {18.0}
    assert set(values(made_up, "adoption_share").values()) == {1.0}
    assert values(made_up, "blocks_per_host") == {("n0",): 20, ("n1",): 0, ("n2",): 0}


def test_what_the_log_does_not_tell_is_not_recorded(made_up: Run) -> None:
    for metric in (
        "forge_starts",
        "cpu_percent",
        "rss_mib",
        "busy_span_slots",
        "forge_started",
        "forge_context",
        "forge_leading",
        "forge_ticked",
        "forge_snapshot",
        "slot_started",
        "slot_leading",
        "mempool_txs",
        "utxo_size",
    ):
        assert values(made_up, metric) == {}, metric
    shown = slotmark("show", made_up.path)
    assert shown.returncode == 0, shown.stderr
    metrics, _, missing = " ".join(shown.stdout.split()).partition("Not recorded: ")
    for name in ("Process CPU usage", "Forge loop starts", "Ledger ticking", "Mempool snapshotting"):
        assert name in missing
        assert name not in metrics


def test_the_path_of_a_block_adds_up_to_its_adoption(made_up: Run) -> None:
    with Analysis(made_up, filters=[]) as analysis:
        rows = analysis.query(
            "SELECT stage, SUM(ns) // 1000000 AS ms FROM adoption_stages WHERE block_no = 3 AND host = 'n2' GROUP BY stage"
        ).to_pylist()
    assert {row["stage"]: row["ms"] for row in rows} == {
        "slot start to leadership": 1,
        "forging": 10,
        "arrival to announced": 1 + 2,
        "header on its way": 50 + 50,
        "notice to request": 1 + 1,
        "fetch": 100 + 100,
        "arrival to adopted": 30,
    }


def test_connections_lead_to_hosts_and_clocks_are_compared(made_up: Run) -> None:
    peers = {(row["host"], row["peer"]) for row in made_up.table("connections").to_pylist()}
    assert peers == {("n0", "n1"), ("n1", "n0"), ("n1", "n2"), ("n2", "n1")}
    differences = {
        (row["sender"], row["receiver"]): row["least_ns"] for row in made_up.table("least_differences").to_pylist()
    }
    # Headers and blocks take 50 ms from n0 to n1 and from there to n2; requests take as long back. Times of whole ms may be 1 ms too early.
    assert differences == dict.fromkeys((("n0", "n1"), ("n1", "n0"), ("n1", "n2"), ("n2", "n1")), 51_000_000)


def test_the_manifest_names_the_node(made_up: Run) -> None:
    assert made_up.manifest.target.version == "0.70.1"
    assert made_up.manifest.target.commit == "abcdef0123"
    assert made_up.manifest.versions["target dingo"] == "0.70.1 abcdef0"
    assert {host["node"] for host in made_up.table("hosts").to_pylist()} == {"dingo"}
    assert [file.path.rpartition("/")[2] for file in made_up.manifest.sources] == ["n0.jsonl", "n1.jsonl", "n2.jsonl"]


def test_each_node_of_a_mixed_cluster_has_its_own_version(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    other = (logs / "n1.jsonl").read_text().replace("0.70.1 (commit abcdef0123)", "0.71.0 (commit 1234567890)")
    (logs / "n1.jsonl").write_text(other)
    ran = pa.table({"host": ["n0", "n1", "n2"], "name": ["old", "new", "old"]})
    parameters = {ROUND: 1, MIXED: ["old", "new"]}
    here = MeasuredHere(machine_facts(), (0, 40), parameters, {}, [], {"host_nodes": ran})
    run, _ = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"), here=here)
    sides = both_sides([run], Side("", run.manifest))
    assert [(side.name, side.manifest.target.version) for side in sides] == [
        ("old", "0.70.1 abcdef0"),
        ("new", "0.71.0 1234567"),
    ]
    # One that logs no version doesn't get the other's.
    versions = {name: version for name, version in run.manifest.versions.items() if name != "target new"}
    unknown = msgspec.structs.replace(run.manifest, versions=versions)
    names = [_of_side(unknown, name).target.version for name in ("old", "new")]
    assert names == ["0.70.1 abcdef0", ""]


def test_a_log_without_debug_lines_has_no_propagation_and_no_zeros(tmp_path: Path) -> None:
    made = DingoCluster(2)
    for number in range(5):
        mine = made.forged(0, number, number, at_ms=(1, 11, 41), debug=False)
        made.adopted(1, number, 193, mine)
    run, _ = ingested(made.write(tmp_path / "logs"), tmp_path / "run")
    assert {row["event"] for row in run.table("block_events").to_pylist()} == {"forged", "self_adopted", "adopted"}
    assert values(run, "blocks_per_host") == {("n0",): 5, ("n1",): 0}
    for metric in ("first_notice", "peer_fetched", "adopted_by_100", "block_bytes", "forge_announced"):
        assert values(run, metric) == {}, metric
    shown = slotmark("show", run.path)
    assert shown.returncode == 0, shown.stderr
    assert "no host's log has their forging and size in full" in " ".join(shown.stdout.split())


def damaged(text: str) -> Iterator[str]:
    """Ways in which a line can be damaged, each seen as such."""
    yield text[: len(text) // 2]
    yield text.replace('"slot":38', '"slot":-1')
    yield text.replace('"slot":38', '"slot":"38"')
    yield text.replace("2026-01-01T", "2026-99-01T")
    yield text[:-1]


def test_repeated_unknown_and_damaged_lines_are_counted(tmp_path: Path) -> None:
    made = cluster()
    (leads,) = [text for _, text in made.lines[0] if "producing block" in text and '"slot":38' in text]
    last = max(at for at, _ in made.lines[0])
    for place, text in enumerate(damaged(leads)):
        made.raw(0, last + place, text)
    (forged,) = [text for _, text in made.lines[0] if "built block" in text and '"slot":38,' in text]
    for text in (forged, leads):
        made.raw(0, last + 10, text)
    for number in range(50):
        made.say(1, last, f"tx-submission: client message for 10.0.0.{number}:3001", component="connmanager")
        made.say(1, last, f"something new: {random.Random(number).randbytes(8).hex()}")
    run, facts = ingested(made.write(tmp_path / "logs"), tmp_path / "run", max_rejected=0.1)
    assert dict(facts.reasons) == {
        "cut in the middle": 2,
        "'slot' is out of range": 1,
        "'slot' is not what it should be": 1,
        "'time' is not what it should be": 1,
    }
    hosts = {host["host"]: host for host in run.table("hosts").to_pylist()}
    assert hosts["n0"]["repeated"] == 2
    assert hosts["n0"]["rejected"] == 5
    assert hosts["n0"]["kept"] == 1 + 20 * 5  # its version; per block leading, forged, announced, sent and adopted
    counted = {
        row["message"]: row["lines"] for row in run.table("trace_frequencies").to_pylist() if row["host"] == "n1"
    }
    assert counted["tx-submission: client message for"] == 50
    assert sum(lines for name, lines in counted.items() if name.startswith("something new")) == 50
    assert values(run, "forge_forged")[(3,)] == pytest.approx(0.010)


@pytest.mark.parametrize("how", ["zstd", "gzip", "pieces"])
def test_packed_logs_and_logs_in_pieces_give_the_same_rows(how: str, made_up: Run, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    for path in logs.glob("*.jsonl"):
        host = logs / path.stem
        host.mkdir()
        lines = path.read_bytes().splitlines(keepends=True)
        for place, begin in enumerate(range(0, len(lines), 80 if how == "pieces" else len(lines))):
            # A piece begins with the last lines of the one before.
            piece = b"".join(lines[max(0, begin - 10) : begin + 80] if how == "pieces" else lines)
            if how == "pieces":
                (host / f"node-{place}.json").write_bytes(piece)
            else:
                packed = pa.Codec(how).compress(piece, asbytes=True)
                (host / f"log.{'zst' if how == 'zstd' else 'gz'}").write_bytes(packed)
        path.unlink()
    run, _ = ingested(logs, tmp_path / "run")

    def rows(run: Run, **without: None) -> list[str]:
        return sorted(
            json.dumps(row | {"place": 0} | without, sort_keys=True) for row in run.table("block_events").to_pylist()
        )

    if how == "pieces":
        # Lines of one piece are not joined with those of another: some rows are missing, or have less in them, and none is another.
        less = {"length": None, "size_bytes": None, "block_no": None}
        assert set(rows(run, **less)) <= set(rows(made_up, **less))
        assert len(rows(run)) > 0.9 * len(rows(made_up))
    else:
        assert rows(run) == rows(made_up)


def test_logs_that_are_not_json_are_refused(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "n1.log").write_text(
        'time=2026-01-01T00:00:00Z level=INFO msg="producing block" component=forging slot=7\n'
    )
    with pytest.raises(LogError, match=r"no file in it begins like a node's log.*\(Dingo\)"):
        ingested(logs, tmp_path / "run")


def test_a_cluster_of_both_nodes_is_read(tmp_path: Path) -> None:
    made = cluster()
    logs = made.write(tmp_path / "logs")
    check = {"kind": "TraceStartLeadershipCheck", "slot": 3}
    (logs / "n3.jsonl").write_text(line(ts(3, 1), "Forge.Loop.StartLeadershipCheck", check, "n3") + "\n")
    run, facts = ingested(logs, tmp_path / "run")
    assert facts.rejected == 0
    assert [host.node for host in facts.hosts] == ["dingo", "dingo", "dingo", "cardano-node"]
    assert {name for name in run.manifest.versions if name.startswith("target ")} == {"target dingo"}
    assert set(values(run, "forge_starts")) == {(3, "n3")}


def first_times(run: Run, block: str, host: str) -> dict[str, str]:
    """Times at which a host first did something with a block, as the log writes the time of day."""
    found: dict[str, str] = {}
    for row in sorted(run.table("block_events").to_pylist(), key=lambda row: row["ts_ns"]):
        if (row["host"], row["block"]) == (host, block):
            of_day, ns = divmod(row["ts_ns"] % (86_400 * 10**9), 10**9)
            time = f"{of_day // 3600:02}:{of_day // 60 % 60:02}:{of_day % 60:02}.{ns:09}"
            found.setdefault(row["event"], time)
    return found


SLOT_7 = "aa191b63d73fc4b0cf531be2f9630c9f4097819a4bf772a233c4da99076ce7a0"
SLOT_46 = "99ad2c40efafb1b227f79f8c81cf2faad599e30fc2b5fd83da54304f9f895bda"
SLOT_49 = "33ad4b4f026cb21b1c9b16b1ae1ebe57dc30bc7fd0c974384dbf6945d32c6a31"
SLOT_53 = "b0ff9af6a343b29573aac92cc57c3e7da0ef5d14e5c6f7c30e15f738129f6747"
SLOT_139 = "5e812deac42b2943b589d4a6b04b9b4c298a286a9552d8fa57fe3191442984f0"


@pytest.mark.parametrize(
    ("block", "day_time", "stages"),
    [
        (
            SLOT_7,
            "20:08:40",
            {
                "n1": {
                    "forged": "012753350",
                    "announced": "013026336",
                    "self_adopted": "020627194",
                    "sending": "023340069",
                },
                "n2": {
                    "noticed": "015951848",
                    "requested": "016459964",
                    "fetched": "024820011",
                    "announced": "033787952",
                    "adopted": "047321124",
                },
                "n3": {
                    "noticed": "016087920",
                    "requested": "016577088",
                    "fetched": "023510132",
                    "announced": "026554742",
                    "sending": "039894266",
                    "adopted": "047176038",
                },
                "n4": {
                    "noticed": "036061934",
                    "requested": "036562269",
                    "fetched": "040177597",
                    "announced": "042902320",
                    "sending": "20:12:14.338553770",
                    "adopted": "050814220",
                },
            },
        ),
        (
            SLOT_139,
            "20:10:52",
            {
                "n3": {
                    "forged": "029188580",
                    "announced": "029576116",
                    "sending": "046659009",
                    "self_adopted": "104959859",
                },
                "n1": {
                    "noticed": "030982263",
                    "requested": "031562096",
                    "fetched": "062228100",
                    "announced": "076360805",
                    "adopted": "115630979",
                },
                "n2": {
                    "noticed": "039415634",
                    "requested": "040012081",
                    "fetched": "048683591",
                    "announced": "059375667",
                    "adopted": "114812812",
                },
                "n4": {
                    "noticed": "030071048",
                    "requested": "038895851",
                    "fetched": "047090401",
                    "announced": "058560194",
                    "sending": "20:12:14.572090875",
                    "adopted": "092601329",
                },
            },
        ),
    ],
)
def test_blocks_of_a_real_devnet_as_worked_out_by_hand(
    devnet: Run, block: str, day_time: str, stages: dict[str, dict[str, str]]
) -> None:
    """By hand, per host, with HASH as the block's and PEER as a connection::

    zstdcat n2.jsonl.zst | grep HASH | cut -c1-150         # built, asked for (on PEER), chain extended
    zstdcat n2.jsonl.zst | grep "header received" | grep PEER | grep '"slot":7,'    # before it was asked for
    zstdcat n2.jsonl.zst | grep "block returned" | grep PEER                        # the first after it
    zstdcat n2.jsonl.zst | grep "$(echo HASH | xxd -r -p | base64)"                 # offered, as the tip; AwaitReply follows on its PEER
    zstdcat n1.jsonl.zst | grep "calling Block" | cut -c1-120                       # data of 0x8a: number 01, slot 07
    """
    for host, times in stages.items():
        wanted = {event: time if ":" in time else f"{day_time}.{time}" for event, time in times.items()}
        assert first_times(devnet, block, host) == wanted, host


def test_metrics_of_a_real_devnet_as_worked_out_by_hand(devnet: Run) -> None:
    # Slot 7 began at 20:08:40, slot 139 at 20:10:52; "producing block" of slot 7 is at .000598017, of slot 139 at .001092043.
    # Half of four hosts have adopted with the third.
    for metric, slot_7_ns, slot_139_ns in (
        ("forge_forged", 12_155_333, 28_096_537),
        ("forge_announced", 272_986, 387_536),
        ("forge_sending", 10_586_719, 17_470_429),
        ("forge_adopted", 7_873_844, 75_771_279),
        ("slot_to_announced", 13_026_336, 29_576_116),
        ("first_notice", 15_951_848, 30_071_048),
        ("first_fetch", 23_510_132, 47_090_401),
        ("adopted_by_050", 47_321_124, 114_812_812),
        ("adopted_by_100", 50_814_220, 115_630_979),
    ):
        found = values(devnet, metric)
        assert found[(1,)] == pytest.approx(slot_7_ns / 1e9, abs=1e-12), metric
        assert found[(45,)] == pytest.approx(slot_139_ns / 1e9, abs=1e-12), metric
    # The hex digits of the block in "calling Block", by two; block_size of "calling RollForward" is the same.
    assert (values(devnet, "block_bytes")[(1,)], values(devnet, "block_bytes")[(45,)]) == (853, 2278)
    # `grep -c "successfully built block"`.
    assert values(devnet, "blocks_per_host") == {("n1",): 31, ("n2",): 41, ("n3",): 38, ("n4",): 0}


def test_a_range_of_three_blocks_tells_of_its_ends(devnet: Run) -> None:
    """Node n1 rolled back in slot 37, and got the blocks of slots 46, 49 and 53 at once: of the one between, no line has the hash."""
    assert first_times(devnet, SLOT_46, "n1") == {
        "noticed": "20:09:19.050680966",
        "fetched": "20:09:26.021590034",
        "announced": "20:09:26.030278825",
        "switched": "20:09:26.187382270",
    }
    times = first_times(devnet, SLOT_53, "n1")
    assert {event: times[event] for event in ("noticed", "requested", "fetched", "adopted")} == {
        "noticed": "20:09:26.013516804",
        "requested": "20:09:26.014207581",
        "fetched": "20:09:26.026610032",
        "adopted": "20:09:26.209140148",
    }
    assert not first_times(devnet, SLOT_49, "n1").keys() & {"noticed", "requested", "fetched", "adopted", "switched"}
    lengths = {
        (row["event"], row["length"])
        for row in devnet.table("block_events").to_pylist()
        if row["host"] == "n1" and row["block"] == SLOT_53 and row["length"] is not None
    }
    assert lengths == {("requested", 3), ("adopted", 2)}


def test_blocks_that_are_sent_are_those_that_were_forged(devnet: Run) -> None:
    """Hashes of sent blocks are computed from their headers, those of forged ones are in the log."""
    rows = devnet.table("block_events").to_pylist()
    forged = {(row["block"], row["slot"], row["block_no"]) for row in rows if row["event"] == "forged"}
    sent = [(row["block"], row["slot"], row["block_no"]) for row in rows if row["event"] == "sending"]
    assert len(sent) == 503  # `grep -c "calling Block("`
    assert set(sent) <= forged


def test_a_real_devnet_is_shown(devnet: Run) -> None:
    assert devnet.manifest.target.version == "55cf97b8-parent"
    assert {(row["host"], row["peer"]) for row in devnet.table("connections").to_pylist() if row["peer"]} >= {
        ("n1", "n2"),
        ("n1", "n3"),
        ("n3", "n4"),
        ("n4", "n3"),
    }
    shown = slotmark("show", devnet.path)
    assert shown.returncode == 0, shown.stderr
    metrics, _, missing = " ".join(shown.stdout.split()).partition("Not recorded: ")
    for name in ("Process CPU usage", "Forge loop starts", "Ledger ticking"):
        assert name in missing
        assert name not in metrics
    assert "events in impossible orders" not in metrics
    # `grep -c '"failed to add t'`, the mean of the hosts.
    assert sum(values(devnet, "mempool_rejected").values()) == 25
