"""A simulated cluster straight to a run folder, beside the same one by way of its logs."""

import json
import os
import resource
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.ingesting.log_places import description
from slotmark.benches.cluster.requests import IngestRequest, SimulationRequest
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile, simulate
from slotmark.compare.matching.sides import refuse_unlike_runs
from slotmark.errors import ArgumentError, ComparisonError, RunError, SimulationError
from slotmark.metrics import Analysis
from slotmark.run import Run, RunWriter
from slotmark.run.manifest import TablePart
from tests.conftest import quietly, slotmark

SMALL = ("hosts=6", "pools=6", "run.slots=600", "genesis.epoch_slots=250")
FAULTY = (
    "hosts=12",
    "pools=12",
    "run.slots=1200",
    "genesis.epoch_slots=500",
    'fault=[{kind="clock-skew", host=2, ahead_ms=-40.5}, {kind="clock-skew", host=3, ahead_ms=12.25},'
    '{kind="host-down", host=4, from=200, until=260}, {kind="partition", hosts=[0, 5, 10], from=300, until=500}]',
)
TRIANGLE = {
    "nodes": [
        {"nodeId": n, "name": f"node-{n}", "producers": {f"node-{m}": 20.0 + n for m in range(3) if m != n}}
        for n in range(3)
    ]
}


def both(folder: Path, settings: tuple[str, ...], *, threads: int = 0) -> tuple[Run, Run]:
    """The same simulation by way of its logs and direct."""
    profile = load_profile("value-only-10.5", settings)
    simulate(profile, 7, folder / "logs", quietly)
    ingested, _ = ingest(IngestRequest(logs=[str(folder / "logs")], out=folder / "ingested"))
    direct, _ = simulate_direct(profile, 7, folder / "direct", quietly, threads=threads)
    return ingested, direct


def order(table: pa.Table) -> list[tuple[str, int]]:
    """The host of each row, and its rank by place among the rows of its host."""
    hosts, places = table["host"].to_pylist(), table["place"].to_pylist()
    ranks: dict[str, dict[int, int]] = {}
    for host in set(hosts):
        own = sorted(place for place, whose in zip(places, hosts, strict=True) if whose == host)
        ranks[host] = {place: rank for rank, place in enumerate(own)}
        assert len(ranks[host]) == len(own)
    return [(host, ranks[host][place]) for host, place in zip(hosts, places, strict=True)]


def assert_same(ingested: Run, direct: Run) -> None:
    for name, rows in ingested.manifest.tables.items():
        ours, theirs = direct.table(name), ingested.table(name)
        assert rows == ours.num_rows
        assert ours.schema == theirs.schema, name
        if name == "block_events":
            assert order(ours) == order(theirs)
            ours, theirs = ours.drop_columns(["place"]), theirs.drop_columns(["place"])
        assert ours.equals(theirs), name
    manifests = [msgspec.to_builtins(run.manifest) for run in (ingested, direct)]
    for manifest in manifests:
        # These name what was read: logs there, the profile with its seed here.
        for field in ("id", "session", "sources"):
            assert manifest.pop(field)
        counted: Counter[str] = Counter()
        for part in manifest.pop("parts"):  # how a table is cut into files differs
            counted[part["table"]] += part["rows"]
        assert counted == Counter(manifest["tables"])
    extra = {name: manifests[1]["tables"].pop(name) for name in ("truth", "truth_blocks", "truth_hosts", "truth_slots")}
    assert all(extra.values())
    assert manifests[0] == manifests[1]


@pytest.mark.parametrize("settings", [SMALL, FAULTY], ids=["plain", "faulty"])
def test_the_tables_are_those_that_the_logs_give(settings: tuple[str, ...], tmp_path: Path) -> None:
    ingested, direct = both(tmp_path, settings)
    assert ingested.manifest.tables["block_events"] > 500
    assert_same(ingested, direct)


def test_a_simulation_counts_once_by_way_of_its_logs_and_direct(tmp_path: Path) -> None:
    ingested, direct = both(tmp_path, SMALL)
    other, _ = simulate_direct(load_profile("value-only-10.5", SMALL), 8, tmp_path / "other", quietly)
    assert direct.manifest.sources == ingested.manifest.sources[-1:]
    assert "profile.toml" in description(tmp_path / "logs")  # goes with logs that are read elsewhere
    with pytest.raises(
        ComparisonError, match=r"made from the same file, simulated: value-only-10.5, seed 7: one recording"
    ):
        refuse_unlike_runs([[ingested, direct], [other]])
    refuse_unlike_runs([[ingested, other]])
    # Ingested before runs named the simulation.
    old = Run(ingested.path, msgspec.structs.replace(ingested.manifest, sources=ingested.manifest.sources[:-1]))
    with pytest.raises(
        ComparisonError, match=r"have the same table '.*' to the last byte: they were simulated from one"
    ):
        refuse_unlike_runs([[old, direct], [other]])
    refuse_unlike_runs([[old, other], [direct]])  # seeds that both sides have
    # A table of the cluster is that of every seed.
    largest = max(part.rows for part in old.manifest.parts)
    of_hosts = TablePart(table="regions", file="regions.parquet", rows=largest - 1, digest="blake3:0", bytes=1)
    shared = [
        Run(one.path, msgspec.structs.replace(one.manifest, parts=[of_hosts, *one.manifest.parts]))
        for one in (old, other)
    ]
    refuse_unlike_runs([shared, [direct]])


def test_a_topology_of_a_file_goes_the_same_way(tmp_path: Path) -> None:
    file = tmp_path / "topology.json"
    file.write_text(json.dumps(TRIANGLE))
    settings = ("hosts=3", "pools=3", "run.slots=400", f'network.topology={{kind="file", path="{file}"}}')
    assert_same(*both(tmp_path, settings, threads=1))


def test_a_run_is_of_the_content_of_its_topology_file_and_its_profile_makes_it_again(tmp_path: Path) -> None:
    file = tmp_path / "topology.json"
    settings = ("hosts=3", "pools=3", "run.slots=200", f'network.topology={{kind="file", path="{file}"}}')
    texts = []
    for latency in (5.0, 50.0):
        nodes = [{**node, "producers": dict.fromkeys(node["producers"], latency)} for node in TRIANGLE["nodes"]]
        file.write_text(json.dumps({"nodes": nodes}))
        texts.append(load_profile("value-only-10.5", settings))
    file.unlink()
    near, far = (simulate_direct(text, 1, tmp_path / name, quietly)[0] for text, name in zip(texts, "ab", strict=True))
    assert near.manifest.id != far.manifest.id
    again, _ = simulate_direct(texts[0], 1, tmp_path / "c", quietly)
    assert again.manifest.id == near.manifest.id
    assert not near.table("truth").equals(far.table("truth"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"producers": {"b": -1.0}}, "expected a one-way latency from 0 to"),
        ({"producers": {"a": 1.0}}, "a producer of its own"),
        ({"name": "b"}, "two nodes have one name"),
        ({"nodeId": 7}, "numbered from 0"),
    ],
)
def test_a_topology_file_that_makes_no_sense_is_named(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = tmp_path / 'a "quoted" name.json'
    nodes = [{"nodeId": 0, "name": "a", "producers": {"b": 1.0}}, {"nodeId": 1, "name": "b", "producers": {"a": 1.0}}]
    file.write_text(json.dumps({"nodes": [{**nodes[0], **change}, nodes[1]]}))
    done = slotmark(
        "simulate",
        "value-only-5",
        "--set",
        "hosts=2",
        "--set",
        "pools=2",
        "--topology",
        file,
        "--direct",
        "-o",
        tmp_path / "run",
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert said in line
    assert str(file) in line


@pytest.mark.parametrize("name", ["plain.json", 'a "quoted" \\ name.json', "\u65e5\u672c.json", "\U0001f600.json"])
def test_a_topology_file_may_have_any_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(json.dumps(TRIANGLE))
    request = SimulationRequest(settings=["hosts=3", "pools=3"], topology=file)
    network = tomllib.loads(load_profile("value-only-10.5", request.changes()))["network"]
    assert network["topology"]["file"] == str(file)


def test_a_topology_file_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json"))
    with pytest.raises(ArgumentError, match="its name isn't UTF-8"):
        SimulationRequest(topology=file).changes()


def test_every_metric_is_the_same_either_way(tmp_path: Path) -> None:
    ingested, direct = both(tmp_path, SMALL)
    with Analysis(ingested, filters=[]) as one, Analysis(direct, filters=[]) as other:
        for metric in one.catalogue.metrics:
            assert one.samples(metric.id).table.equals(other.samples(metric.id).table), metric.id


def test_a_relation_is_the_same_whichever_file_holds_a_host_and_however_rows_lie(tmp_path: Path) -> None:
    direct, _ = simulate_direct(load_profile("value-only-10.5", FAULTY), 7, tmp_path / "direct", quietly)
    with RunWriter(tmp_path / "mixed") as writer:
        for name in direct.manifest.tables:
            table = direct.table(name)
            writer.table(name, table.sort_by([("ts_ns", "descending")]) if "ts_ns" in table.column_names else table)
        mixed = writer.finish(direct.manifest)
    with Analysis(direct) as apart, Analysis(mixed) as together:
        for name in apart.catalogue.members.relations:
            rows = f"SELECT * FROM {name} ORDER BY ALL"
            assert apart.query(rows).num_rows > 0 or name == "without_starts"  # all hosts log theirs
            assert apart.query(rows).equals(together.query(rows)), name


def test_the_truth_tables_say_what_the_file_says(tmp_path: Path) -> None:
    _, direct = both(tmp_path, FAULTY)
    said: dict[str, list[dict[str, Any]]] = {"host": [], "block": [], "observation": []}
    for line in (tmp_path / "logs/truth.jsonl").read_text().splitlines():
        row = json.loads(line)
        said[row.pop("kind")].append(row)
    assert direct.table("truth_hosts").to_pylist() == said["host"]
    assert direct.table("truth_blocks").to_pylist() == said["block"]
    assert direct.table("truth").to_pylist() == said["observation"]
    slots = [
        {"host": file.parent.name} | json.loads(line)
        for file in sorted((tmp_path / "logs").glob("node-*/truth-slots.jsonl"))
        for line in file.read_text().splitlines()
    ]
    assert len(slots) > 10_000
    assert direct.table("truth_slots").to_pylist() == slots
    assert direct.manifest.tables["truth_slots"] == len(slots)


def test_one_thread_and_many_write_the_same_bytes_and_another_seed_is_another_session(tmp_path: Path) -> None:
    profile = load_profile("value-only-10.5", SMALL)
    one, _ = simulate_direct(profile, 1, tmp_path / "one", quietly, threads=1)
    many, _ = simulate_direct(profile, 1, tmp_path / "many", quietly, threads=3)
    other, _ = simulate_direct(profile, 2, tmp_path / "other", quietly)
    files = [file.relative_to(one.path) for file in sorted(one.path.rglob("*.parquet"))]
    assert files == [file.relative_to(many.path) for file in sorted(many.path.rglob("*.parquet"))]
    for file in files:
        assert (one.path / file).read_bytes() == (many.path / file).read_bytes(), file
    assert one.manifest == many.manifest
    assert one.manifest.session != other.manifest.session


def test_progress_is_told_where_an_interrupt_arrives(tmp_path: Path) -> None:
    threads: set[int] = set()
    simulate_direct(
        load_profile("value-only-10.5", SMALL),
        1,
        tmp_path / "run",
        lambda _done, _total: threads.add(threading.get_ident()),
        threads=3,
    )
    assert threads == {threading.get_ident()}


def test_what_fails_or_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    profile = load_profile("value-only-10.5", SMALL)
    with pytest.raises(KeyboardInterrupt):
        simulate_direct(profile, 1, tmp_path / "run", stop)
    with pytest.raises(SimulationError):
        simulate_direct("name = 1", 1, tmp_path / "run", quietly)
    (tmp_path / "there").mkdir()
    with pytest.raises(RunError, match="already there"):
        simulate_direct(profile, 1, tmp_path / "there", quietly)
    assert [child.name for child in tmp_path.iterdir()] == ["there"]


def test_a_full_disk_ends_an_analysis_with_one_line(tmp_path: Path) -> None:
    run = tmp_path / "run"
    small = ("--set", "network.hosts=4", "--set", "network.pools=4", "--slots", "8000", "--direct")
    made = [sys.executable, "-m", "slotmark", "simulate", "value-only-10.5", *small, "-o", str(run)]
    subprocess.run(made, check=True, capture_output=True)
    (tmp_path / "disk").mkdir()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    shown = subprocess.run(
        [sys.executable, "-B", "-m", "slotmark", "show", str(run)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        env={**os.environ, "TMPDIR": str(tmp_path / "disk")},
    )
    assert shown.returncode == 2
    assert shown.stderr.startswith(f"slotmark: {run}: can't compute '"), shown.stderr
    assert f"can't be kept in {tmp_path / 'disk'} (File too large)" in shown.stderr
    assert shown.stderr.count("\n") == 1
    assert not list((tmp_path / "disk").iterdir())
