"""Logs and run directories that are damaged or made to harm: each input is here, with what becomes of it."""

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.errors import LogError
from tests.cluster.made_up_logs import line, ts
from tests.cluster.test_ingest import cluster, ingested


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_damage_in_the_middle_of_a_packed_log_is_refused_unless_it_is_accepted(packing: str, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    plain_log = logs / "node-2" / "stdout"
    chance = random.Random(1)
    filler = "".join(
        line(ts(120), "Net.Else", {"kind": "Else", "id": chance.randbytes(60).hex()}, "node-2") + "\n"
        for _ in range(20_000)
    )
    path = logs / "node-2" / f"stdout.{packing}"
    with pa.CompressedOutputStream(str(path), {"gz": "gzip", "zst": "zstd"}[packing]) as out:
        out.write(plain_log.read_bytes() + filler.encode())
    whole = bytearray(path.read_bytes())
    plain_log.unlink()
    middle = len(whole) // 2
    del whole[middle : middle + 5_000]
    path.write_bytes(whole)
    with pytest.raises(LogError, match=r"1 damaged packed file: .*stdout.*--accept-damaged"):
        ingested(logs, tmp_path / "run", max_rejected=0.5)
    assert not (tmp_path / "run").exists()
    run, facts = ingested(logs, tmp_path / "run", max_rejected=0.5, accept_damaged=True)
    (damaged,) = facts.damaged
    assert damaged.at + damaged.unread_bytes == len(whole)
    # gzip may find damage only by the checksum at the end; blocks of zstd begin with their lengths.
    assert (damaged.unread_bytes > 0) == (packing == "zst")
    assert facts.hosts[2].kept > 0
    assert facts.hosts[2].lines > 5_000
    (warning,) = [warning for warning in run.manifest.warnings if warning.kind == "damaged_files"]
    assert f"{damaged.unread_bytes:,} bytes" in warning.text


@pytest.mark.parametrize("at", [0, 12, 500])
@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_damage_at_the_beginning_of_a_packed_log_counts_as_any_other(packing: str, at: int, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    path = logs / "node-2" / f"stdout.{packing}"
    with pa.CompressedOutputStream(str(path), {"gz": "gzip", "zst": "zstd"}[packing]) as out:
        out.write((logs / "node-2" / "stdout").read_bytes())
    (logs / "node-2" / "stdout").unlink()
    spoilt = bytearray(path.read_bytes())
    spoilt[at : at + 40] = bytes(40)
    path.write_bytes(spoilt)
    with pytest.raises(LogError, match=r"1 damaged packed file: .*stdout.*--accept-damaged"):
        ingested(logs, tmp_path / "run", max_rejected=0.5)
    assert not (tmp_path / "run").exists()
    _, facts = ingested(logs, tmp_path / "run", max_rejected=0.5, accept_damaged=True)
    assert [damaged.host for damaged in facts.damaged] == ["node-2"]
    assert [host.host for host in facts.hosts] == ["node-0", "node-1", "node-2"]


def test_names_without_end_are_counted_together(tmp_path: Path) -> None:
    made = cluster()
    for number in range(6_000):
        made.raw(1, ts(60), line(ts(60), f"Name.{number}", {}, "node-1"))
    made.raw(1, ts(60), line(ts(60), "N" * 10_000, {}, "node-1"))
    made.raw(1, ts(60), line(ts(60), "Forge.Loop.NodeNotLeader", {"kind": "x", "slot": 5}, "h" * 300))
    run, facts = ingested(made.write(tmp_path / "logs"), tmp_path / "run", max_rejected=0.01)
    assert facts.reasons == [("'host' is out of range", 1)]
    names = {
        row["message"]: row["lines"] for row in run.table("trace_frequencies").to_pylist() if row["host"] == "node-1"
    }
    assert len(names) <= 5_001
    assert names["(others)"] >= 1_000
    assert max(map(len, names)) <= 200
    assert sum(names.values()) + 1 == facts.hosts[1].lines


@pytest.mark.parametrize("pack", [True, False])
def test_after_a_line_that_is_too_long_reading_goes_on(pack: bool, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    path = logs / "node-2" / "stdout"
    lines = path.read_bytes().splitlines(keepends=True)
    _, before = ingested(logs, tmp_path / "before")
    content = b"".join([*lines[:9], b'{"at":"' + b"x" * (65 << 20) + b'"}\n', *lines[9:]])
    if pack:
        path.unlink()
        (logs / "node-2" / "stdout.gz").write_bytes(gzip.compress(content, 1))
    else:
        path.write_bytes(content)
    run, facts = ingested(logs, tmp_path / "run", max_rejected=0.01)
    assert facts.reasons == [("longer than 64 MiB", 1)]
    assert facts.hosts[2].kept == before.hosts[2].kept
    (row,) = run.table("rejected").to_pylist()
    assert (row["line"], row["offset"]) == (10, sum(map(len, lines[:9])))


def test_a_slot_beyond_all_bounds_is_rejected_by_reason(tmp_path: Path) -> None:
    made = cluster()
    data = {"kind": "TraceNodeNotLeader", "slot": 9223372036854775807}
    made.raw(1, ts(60, 999), line(ts(60, 999), "Forge.Loop.NodeNotLeader", data, "node-1"))
    run, facts = ingested(made.write(tmp_path / "logs"), tmp_path / "run", max_rejected=0.01)
    assert facts.reasons == [("'slot' is out of range", 1)]
    slots = run.table("slot_events")["slot"].to_pylist()
    assert max(slot for slot in slots if slot is not None) < 100_000


def genesis_with(**fields: object) -> Callable[[Path], object]:
    def change(logs: Path) -> None:
        path = logs / "genesis" / "genesis.shelley.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return change


def profile_with(filters: object) -> Callable[[Path], object]:
    def change(logs: Path) -> None:
        (logs / "profile.json").write_text(json.dumps({"analysis": {"filters": filters}}))
        (logs / "meta.json").write_text(json.dumps({"meta": {}}))

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (genesis_with(epochLength=2**63), r"genesis.shelley.json: .*epochLength|genesis.shelley.json: not a Shelley"),
        (genesis_with(epochLength=2**62), r"genesis.shelley.json: epochLength is .*expected 1 to"),
        (genesis_with(systemStart="0001-01-01T00:00:00+14:00"), r"genesis.shelley.json: "),
        (genesis_with(systemStart="9999-12-31T23:59:59Z"), r"genesis.shelley.json: systemStart is .*2000 to 2200"),
        (genesis_with(slotLength=1e300), r"genesis.shelley.json: slotLength is"),
        (lambda logs: (logs / "topology.json").write_text('{"coreNodes":[5]}'), r"topology.json: coreNodes has"),
        (lambda logs: (logs / "topology.json").write_text('{"coreNodes":5}'), r"topology.json: coreNodes is 5"),
        (profile_with(5), r"profile.json: filters is 5: expected a list"),
        (lambda logs: (logs / os.fsdecode(b"node-\xff")).mkdir(), r"the name node-\\xff in it is not UTF-8"),
    ],
)
def test_what_a_run_directory_must_not_hold_is_named_in_one_line(
    change: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    logs = cluster().write(tmp_path / "logs")
    change(logs)
    with pytest.raises(LogError, match=said) as raised:
        ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run").exists()
