"""From folders of logs to run folders: every layout, everything that can be wrong with a log, and every line accounted for."""

import gzip
import json
import random
import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from slotmark import open_run
from slotmark.benches.cluster.ingesting.ingest import ingest, merged, shard_done
from slotmark.benches.cluster.ingesting.ingested import Ingested
from slotmark.benches.cluster.requests import IngestRequest, Logs
from slotmark.errors import LogError, RunError
from slotmark.run import Run
from tests.cluster.made_up_logs import START_NS, Cluster, line, ts
from tests.cluster.test_by_hand import plain
from tests.conftest import slotmark

TABLES = ("block_events", "slot_events", "resources", "transactions", "ledger_metrics")


def cluster() -> Cluster:
    made = plain()
    for slot in range(100):
        for host in range(3):
            made.resources(host, ts(slot, 500 + host), CentiCpu=10 * slot)
            made.check(host, slot, started_ms=5 + host)  # a line like none that was there
    return made


def ingested(logs: Path, out: Path, **more: Any) -> tuple[Run, Ingested]:
    return ingest(IngestRequest(logs=[str(logs)], out=out, **more))


def content(run: Run) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, without what tells where they stood."""
    tables = {}
    for name in TABLES:
        table = run.table(name)
        table = table.drop_columns([column for column in ("place",) if column in table.column_names])
        rows = table.cast(
            pa.schema(
                [
                    field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
                    for field in table.schema
                ]
            )
        )
        tables[name] = sorted(rows.to_pylist(), key=lambda row: json.dumps(row, sort_keys=True))
    return tables


def test_rows_are_in_the_order_of_host_and_time_and_read_back(tmp_path: Path) -> None:
    run, facts = ingested(cluster().write(tmp_path / "logs"), tmp_path / "run")
    for name in TABLES:
        rows = run.table(name).select(["host", "ts_ns"]).to_pylist()
        assert rows == sorted(rows, key=lambda row: (row["host"], row["ts_ns"])), name
    assert facts.rejected == 0
    assert run.table("resources").num_rows == 300
    assert run.table("genesis").to_pylist()[0]["system_start_ns"] == START_NS
    assert open_run(run.path).manifest.tables == run.manifest.tables
    assert run.manifest.workload["hosts"] == "3"
    assert run.manifest.target.version == "10.5.0"


@pytest.mark.parametrize("how", ["gzip", "pieces", "zstd", "flat", "tracer"])
def test_every_layout_gives_the_same_rows(how: str, tmp_path: Path) -> None:
    expected = content(ingested(cluster().write(tmp_path / "plain"), tmp_path / "run")[0])
    logs = cluster().write(tmp_path / how, packed=how == "gzip", pieces=3 if how in ("pieces", "gzip") else 1)
    for host in [path for path in logs.iterdir() if path.name.startswith("node-")]:
        if how == "zstd":
            packed = pa.Codec("zstd").compress((host / "stdout").read_bytes(), asbytes=True)
            (host / "stdout.zst").write_bytes(packed)
            (host / "stdout").unlink()
        if how == "flat":
            (host / "stdout").rename(logs / f"logs-{host.name}.flt.json")
            host.rmdir()
        if how == "tracer":
            (host / "stdout").rename(host / "node-2026-01-01.json")
            (host / "config.json").write_text('{"AlonzoGenesisFile": "at", "ns": 1}')
    run, facts = ingested(logs, tmp_path / "other")
    assert content(run) == expected
    assert facts.rejected == 0


def flat(folder: Path) -> Path:
    """Logs of three hosts, a file for each."""
    logs = cluster().write(folder)
    for host in range(3):
        (logs / f"node-{host}" / "stdout").rename(logs / f"node-{host}.log")
        (logs / f"node-{host}").rmdir()
    return logs


def unread(run: Run) -> str:
    """The text of the warning about logs that aren't read."""
    return "".join(warning.text for warning in run.manifest.warnings if warning.kind == "unread_logs")


@pytest.mark.parametrize(
    "older", ["node-1.log.1", "node-1.log-20260101", "node-1.log.2026-01-01.gz", "node-1.log.2.gz"]
)
def test_a_rotated_log_is_its_hosts(older: str, tmp_path: Path) -> None:
    logs = flat(tmp_path / "logs")
    expected = content(ingested(logs, tmp_path / "run")[0])
    lines = (logs / "node-1.log").read_bytes().splitlines(keepends=True)
    first = b"".join(lines[:70])
    (logs / older).write_bytes(gzip.compress(first) if older.endswith(".gz") else first)
    (logs / "node-1.log").write_bytes(b"".join(lines[70:]))
    run, facts = ingested(logs, tmp_path / "other")
    assert [host.host for host in facts.hosts] == ["node-0", "node-1", "node-2"]
    assert content(run) == expected


def test_logs_beside_the_folders_of_hosts_are_named(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    (logs / "node-1" / "stdout").rename(logs / "node-1.log")
    (logs / "node-1").rmdir()
    run, facts = ingested(logs, tmp_path / "run")
    assert [host.host for host in facts.hosts] == ["node-0", "node-2"]
    assert "1 file was not read: " in unread(run)
    assert "node-1.log (beside the folders of hosts" in unread(run)


@pytest.mark.parametrize(
    ("text", "why"), [(b"", "empty"), (b"\0" * 300_000 + b"{}\n", "no line of it is in a form"), (b"x\n", "no line")]
)
@pytest.mark.parametrize("name", ["node-1.log", "other.log"])
def test_what_is_called_like_a_log_and_is_none_is_named(name: str, text: bytes, why: str, tmp_path: Path) -> None:
    logs = flat(tmp_path / "logs")
    (logs / "node-1.log").unlink()
    (logs / name).write_bytes(text)
    run, facts = ingested(logs, tmp_path / "run")
    assert [host.host for host in facts.hosts] == ["node-0", "node-2"]
    assert f"{name} ({why}" in unread(run)


def test_a_part_of_a_rotated_log_that_is_no_log_is_named(tmp_path: Path) -> None:
    """As logrotate's copytruncate leaves it, where the node doesn't append: zeros in the place of what was copied."""
    logs = cluster().write(tmp_path / "logs")
    log = logs / "node-1" / "stdout"
    (logs / "node-1" / "stdout.1").write_bytes(log.read_bytes())
    log.write_bytes(b"\0" * 300_000 + log.read_bytes())
    run, facts = ingested(logs, tmp_path / "run")
    assert [host.host for host in facts.hosts] == ["node-0", "node-1", "node-2"]
    assert "node-1/stdout (no line of it is in a form" in unread(run)


def test_an_empty_output_of_a_node_hides_no_log_of_a_tracer(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    expected = content(ingested(logs, tmp_path / "run")[0])
    (logs / "node-1" / "stdout").rename(logs / "node-1" / "node-2026-01-01.json")
    (logs / "node-1" / "stdout").touch()
    (logs / "node-1" / "stderr.log").write_text("nothing\n")
    run, _ = ingested(logs, tmp_path / "other")
    assert content(run) == expected
    assert [warning.kind for warning in run.manifest.warnings] == ["clocks_unknown"]


@pytest.mark.parametrize("below", ["", "stdout"])
@pytest.mark.parametrize("linked", [False, True])
def test_folders_of_hosts_may_be_named_one_by_one(below: str, tmp_path: Path, *, linked: bool) -> None:
    """As a shell does with ``logs/node-*`` and ``logs/node-*/stdout``: what a node prints is called the same on all hosts."""
    logs = cluster().write(tmp_path / "logs")
    if linked:
        (logs / "node-1").rename(tmp_path / "disk-7")
        (logs / "node-1").symlink_to(tmp_path / "disk-7")
    expected = content(ingested(logs, tmp_path / "run")[0])
    genesis = logs / "genesis" / "genesis.shelley.json"
    named = [str(logs / f"node-{host}" / below) for host in range(3)]
    run, facts = ingest(IngestRequest(logs=named, genesis=genesis, out=tmp_path / "other"))
    assert [host.host for host in facts.hosts] == ["node-0", "node-1", "node-2"]
    assert content(run) == expected


def test_what_describes_a_run_is_taken_of_the_first_place_that_has_it(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    (logs / "topology.json").write_text(json.dumps({"coreNodes": [{"name": f"node-{place}"} for place in range(4)]}))
    expected = ingested(logs, tmp_path / "run")[0]
    (tmp_path / "more").mkdir()
    shutil.move(logs / "node-2", tmp_path / "more" / "node-2")
    (tmp_path / "more" / "topology.json").write_text("{}")
    for number, places in enumerate(([logs, tmp_path / "more"], [tmp_path / "more", logs])):
        out = tmp_path / f"other-{number}"
        run, _ = ingest(IngestRequest(logs=[str(place) for place in places], target="x", out=out))
        assert content(run) == content(expected)
        assert run.manifest.parameters == expected.manifest.parameters
        assert run.manifest.target.version == "10.5.0"
        kinds = [warning.kind for warning in run.manifest.warnings]
        assert kinds == (["missing_hosts"] if number == 0 else []) + ["clocks_unknown"]


def test_one_host_cut_into_segments_gives_the_same_rows(tmp_path: Path) -> None:
    # More than 64 MB, so that it's cut; the filler is of no interest.
    made = cluster()
    logs = made.write(tmp_path / "logs")
    filler = (
        line(ts(50), "Net.PeerSelection.Counters", {"kind": "PeerSelectionCounters", "text": "x" * 2_000}, "node-0")
        + "\n"
    )
    lines = (logs / "node-0" / "stdout").read_text().splitlines(keepends=True)
    with (logs / "node-0" / "stdout").open("w") as file:
        for text in lines:
            file.write(text)
            file.write(filler * 120)
    whole, _ = ingested(cluster().write(tmp_path / "short-logs"), tmp_path / "whole")
    cut, facts = ingested(logs, tmp_path / "cut", threads=8)
    assert (logs / "node-0" / "stdout").stat().st_size > 64 << 20
    assert len(cut.table_files("slot_events")) > len(whole.table_files("slot_events"))
    assert content(cut) == content(whole)
    assert facts.hosts[0].lines == 121 * len(lines)


def test_the_host_may_come_from_the_line(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    joined = "".join((logs / f"node-{host}" / "stdout").read_text() for host in range(3))
    for host in range(3):
        shutil.rmtree(logs / f"node-{host}")
    (logs / "all.log").write_text(joined)
    expected = content(ingested(cluster().write(tmp_path / "plain"), tmp_path / "run")[0])
    run, facts = ingested(logs, tmp_path / "other", host_from="field")
    assert [host.host for host in facts.hosts] == ["node-0", "node-1", "node-2"]
    assert content(run) == expected


def joined(folder: Path) -> tuple[Path, list[list[str]]]:
    """A folder for files that have lines of all hosts, and the lines of each."""
    logs = cluster().write(folder)
    lines = [(logs / f"node-{host}" / "stdout").read_text().splitlines(keepends=True) for host in range(3)]
    for host in range(3):
        shutil.rmtree(logs / f"node-{host}")
    return logs, lines


def test_a_file_of_all_hosts_is_no_host_itself(tmp_path: Path) -> None:
    """Lines of no interest and such that can't be read are of the host that they name, or of none."""
    logs, lines = joined(tmp_path / "logs")
    other = line(ts(50), "Net.Other", {"kind": "Other"}, "node-1") + "\n"
    wrong = line(ts(50), "Forge.Loop.StartLeadershipCheck", {"kind": "Other"}, "node-2") + "\n"
    unnamed = '{"at":"2026-01-01T00:00:50Z","ns":"Net.Other","data":{}}\n'
    (logs / "all.log").write_text("".join([*chain.from_iterable(lines), other, wrong, unnamed, "{no JSON\n"]))
    run, facts = ingested(logs, tmp_path / "run", host_from="field", max_rejected=0.5)
    first, second, third = (len(of_host) for of_host in lines)
    assert {host.host: (host.lines, host.kept, host.rejected) for host in facts.hosts} == {
        "node-0": (first, first, 0),
        "node-1": (second + 1, second, 0),
        "node-2": (third + 1, third, 1),
    }
    assert (facts.lines, facts.rejected) == (first + second + third + 4, 2)
    assert run.table("genesis").to_pylist()[0]["hosts"] == 3
    assert [warning.kind for warning in run.manifest.warnings] == ["rejected_lines", "clocks_unknown"]
    assert {row["host"]: row["files"] for row in run.table("hosts").to_pylist()} == dict.fromkeys(
        ("node-0", "node-1", "node-2"), 1
    )
    messages = [row for row in run.table("trace_frequencies").to_pylist() if row["message"] == "Net.Other"]
    assert sorted((row["host"], row["lines"]) for row in messages) == [("all", 1), ("node-1", 1)]


@pytest.mark.parametrize("other", ["", "machine-"])
def test_hosts_without_a_line_are_named_where_lines_have_the_names_of_the_topology(other: str, tmp_path: Path) -> None:
    logs, of_hosts = joined(tmp_path / "logs")
    (logs / "all.log").write_text("".join(chain.from_iterable(of_hosts)))
    nodes = [{"name": f"{other}node-{place}"} for place in range(5)]
    (logs / "topology.json").write_text(json.dumps({"coreNodes": nodes}))
    run, _ = ingested(logs, tmp_path / "run", host_from="field")
    text = "".join(warning.text for warning in run.manifest.warnings if warning.kind == "missing_hosts")
    assert text.startswith("There is no log of node-3, node-4:") == (not other)
    assert bool(text) == (not other)


def test_files_of_all_hosts_may_overlap(tmp_path: Path) -> None:
    expected = content(ingested(cluster().write(tmp_path / "plain"), tmp_path / "run")[0])
    logs, of_hosts = joined(tmp_path / "logs")
    lines = sorted(chain.from_iterable(of_hosts))
    (logs / "first.log").write_text("".join(lines[:500]))
    (logs / "second.log").write_text("".join(lines[400:]))
    run, facts = ingested(logs, tmp_path / "other", host_from="field")
    assert content(run) == expected
    assert sum(host.repeated for host in facts.hosts) == 100
    shared = Logs(logs=[str(logs)], host_from="field")
    for shard in ("1/2", "2/2"):
        shard_done(shared, shard, tmp_path / "parts", lambda *_: None)
    assert content(merged(tmp_path / "parts", tmp_path / "third", lambda *_: None)[0]) == expected


def test_a_log_of_several_hosts_is_named_where_it_counts_as_one(tmp_path: Path) -> None:
    logs, of_hosts = joined(tmp_path / "logs")
    (logs / "all.log").write_text("".join(sorted(chain.from_iterable(of_hosts))))
    run, _ = ingested(logs, tmp_path / "run")
    (warning,) = [warning for warning in run.manifest.warnings if warning.kind == "hosts_in_turns"]
    assert "Lines of several hosts (node-0, node-1, node-2) take turns in the logs of all," in warning.text
    assert not [
        one
        for one in ingested(logs, tmp_path / "right", host_from="field")[0].manifest.warnings
        if one.kind == "hosts_in_turns"
    ]


def test_logs_of_one_name_that_are_several_hosts_are_told_from_parts_of_a_log(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    genesis = logs / "genesis" / "genesis.shelley.json"

    def turns(*logs: Path) -> list[str]:
        name = f"run-{len(list(tmp_path.iterdir()))}"
        done = slotmark("ingest", *logs, "--genesis", genesis, "-o", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found = open_run(tmp_path / name).manifest.warnings
        return [one.text for one in found if one.kind == "hosts_in_turns"]

    named = [log.rename(log.with_name("node.log")) for log in sorted(logs.glob("*/stdout"))]
    (text,) = turns(*named)
    assert "Lines of several hosts (node-0, node-1, node-2) take turns in the logs of node," in text
    assert not turns(logs)
    # An archive and what came after it, which overlap, are one host's.
    lines = named[0].read_text().splitlines(keepends=True)
    for folder, part in (("archive", lines[:60]), ("now", lines[50:])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "node-0.log").write_text("".join(part))
    assert not turns(tmp_path / "archive" / "node-0.log", tmp_path / "now" / "node-0.log")


def test_a_host_that_got_another_name_is_one(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    log = logs / "node-1" / "stdout"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text(
        "".join([*lines[:50], *(text.replace('"host":"node-1"', '"host":"f81d4fae7dec"') for text in lines[50:])])
    )
    run, facts = ingested(logs, tmp_path / "run")
    assert [host.host for host in facts.hosts] == ["node-0", "node-1", "node-2"]
    assert [warning.kind for warning in run.manifest.warnings] == ["clocks_unknown"]


def test_a_hosts_version_is_that_of_its_latest_line(tmp_path: Path) -> None:
    made = cluster()
    for slot, version in ((0, "10.4.1"), (60, "10.5.0")):
        made.say(
            0,
            ts(slot),
            "Version.NodeVersion",
            kind="NodeVersion",
            applicationName="cardano-node",
            applicationVersion=version,
        )
    logs = made.write(tmp_path / "logs")
    log = logs / "node-0" / "stdout"
    lines = log.read_text().splitlines(keepends=True)
    (logs / "node-0" / "stdout.1").write_text("".join(lines[:150]))
    log.write_text("".join(lines[150:]))
    assert "10.4.1" in (logs / "node-0" / "stdout.1").read_text()
    _, facts = ingested(logs, tmp_path / "run")
    assert facts.hosts[0].version == "10.5.0"


def test_lines_of_one_time_in_another_order_change_no_metric(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    lines = (logs / "node-1" / "stdout").read_text().splitlines()
    random.Random(5).shuffle(lines)
    lines.sort(key=lambda text: json.loads(text)["at"])
    shutil.copytree(logs, tmp_path / "other-logs")
    (tmp_path / "other-logs" / "node-1" / "stdout").write_text("\n".join(lines))
    first, _ = ingested(logs, tmp_path / "first")
    second, _ = ingested(tmp_path / "other-logs", tmp_path / "second")
    for metric in ("forge_ticked", "peer_fetched", "adopted_by_080", "cpu_percent", "battles"):
        assert open_run(first.path).samples(metric).table == open_run(second.path).samples(metric).table


def spoil(logs: Path, change: Callable[[list[str]], list[str]]) -> Path:
    path = logs / "node-0" / "stdout"
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    return logs


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("cardano-node: internal error", "not JSON"),
        ('{"at":"2026-01-01T00:00:00Z","ns":"Resources","data":{"kind":"Res', "cut in the middle"),
        (line(ts(1), "Forge.Loop.NodeIsLeader", {"kind": "TraceNodeIsLeader"}, "node-0"), "no 'slot'"),
        (
            line(ts(1), "Forge.Loop.NodeIsLeader", {"kind": "TraceNodeIsLeader", "slot": "1"}, "node-0"),
            "'slot' is not what it should be",
        ),
    ],
)
def test_bad_lines_are_kept_with_their_place(bad: str, reason: str, tmp_path: Path) -> None:
    logs = spoil(cluster().write(tmp_path / "logs"), lambda lines: [*lines[:7], bad, *lines[7:]])
    offset = len("\n".join((logs / "node-0" / "stdout").read_text().splitlines()[:7])) + 1
    with pytest.raises(LogError, match=r"1 of .* lines can't be read.*stdout:8 .*--max-rejected"):
        ingested(logs, tmp_path / "run", max_rejected=0.0)
    assert not (tmp_path / "run").exists()
    assert not list(tmp_path.glob(".run*"))
    run, _ = ingested(logs, tmp_path / "run", max_rejected=0.01)
    (row,) = run.table("rejected").to_pylist()
    assert (row["host"], row["line"], row["offset"], row["reason"]) == ("node-0", 8, offset, reason)
    assert bad.startswith(row["text"])
    assert [warning.kind for warning in run.manifest.warnings] == ["rejected_lines", "clocks_unknown"]


def test_a_log_whose_end_is_cut_loses_one_line(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    path = logs / "node-2" / "stdout"
    path.write_bytes(path.read_bytes()[:-30])
    run, facts = ingested(logs, tmp_path / "run", max_rejected=0.01)
    assert facts.reasons == [("cut in the middle", 1)]
    assert run.table("rejected").num_rows == 1


def test_a_packed_log_whose_end_is_missing_keeps_what_there_is(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs", packed=True)
    path = logs / "node-2" / "stdout.gz"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    _, facts = ingested(logs, tmp_path / "run", max_rejected=0.01, accept_damaged=True)
    assert facts.hosts[2].kept > 50
    assert facts.rejected >= 1


def test_what_is_odd_about_hosts_is_told(tmp_path: Path) -> None:
    made = cluster()
    made.raw(
        1, ts(60, 999), line(ts(10), "Forge.Loop.NodeNotLeader", {"kind": "TraceNodeNotLeader", "slot": 60}, "node-1")
    )
    made.say(2, ts(60, 1), "BlockFetch.Server.SendBlock", kind="BlockFetchServer", block="8e0f1a2")
    logs = made.write(tmp_path / "logs")
    (logs / "node-3").mkdir()
    (logs / "node-3" / "stdout").touch()
    run, facts = ingested(logs, tmp_path / "run")
    assert {warning.kind: warning.text for warning in run.manifest.warnings}.keys() == {
        "silent_hosts",
        "time_backwards",
        "short_hashes",
        "clocks_unknown",
    }
    assert [host.kept > 0 for host in facts.hosts] == [True, True, True, False]
    assert run.table("genesis").to_pylist()[0]["hosts"] == 4


def test_a_host_whose_log_is_missing_is_told(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    nodes = [{"name": f"node-{place}"} for place in range(5)] + [{"name": "explorer"}]
    (logs / "topology.json").write_text(json.dumps({"coreNodes": nodes}))
    (logs / "node-7").mkdir()
    run, _ = ingested(logs, tmp_path / "run")
    (warning,) = [warning for warning in run.manifest.warnings if warning.kind == "missing_hosts"]
    assert "no log of node-3, node-4, node-7:" in warning.text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda logs: shutil.copy(logs / "node-0" / "stdout", logs / "node-1" / "stdout"), "same file twice"),
        (lambda logs: shutil.rmtree(logs / "genesis"), "--genesis"),
        (lambda logs: (logs / "genesis" / "genesis.shelley.json").write_text("{}"), "not a Shelley genesis"),
        (lambda logs: (logs / "meta.json").write_text("[]"), "not a JSON object"),
        (
            lambda logs: [(logs / f"node-{host}" / "stdout").write_text("hello\n") for host in range(3)],
            "begins like a node's log",
        ),
    ],
)
def test_what_makes_ingest_impossible_is_named(change: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    change(logs)
    with pytest.raises(LogError, match=said):
        ingested(logs, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    ingested(logs, tmp_path / "run")
    with pytest.raises(RunError, match="already there"):
        ingested(logs, tmp_path / "run")


def test_a_real_log_has_no_rejected_line(shared: Path, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    for host in range(3):
        shutil.rmtree(logs / f"node-{host}")
    (logs / "devnet.log.gz").write_bytes(
        gzip.compress((shared / "data" / "logs" / "two-node-devnet-10.6.log").read_bytes())
    )
    genesis = logs / "genesis" / "genesis.shelley.json"
    genesis.write_text(json.dumps({**json.loads(genesis.read_text()), "systemStart": "2025-12-01T07:06:45Z"}))
    run, facts = ingested(logs, tmp_path / "run")
    assert (facts.lines, facts.rejected) == (260, 0)
    assert run.manifest.target.version == "10.5.0"  # meta.json says so, and it goes before the log
    frequencies = {row["message"]: row["lines"] for row in run.table("trace_frequencies").to_pylist()}
    assert frequencies["Resources"] == 14
    assert sum(frequencies.values()) == 260


@pytest.mark.parametrize(
    ("start", "began"),
    [("2026-01-01T02:00:00Z", "2026-01-01T00:00:00"), ("2019-05-01T00:00:00Z", "2026-01-01T00:00:00")],
)
def test_a_genesis_of_another_time_is_refused(start: str, began: str, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    path = logs / "genesis" / "genesis.shelley.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "systemStart": start}))
    with pytest.raises(
        LogError, match=rf"by it slot 0 began {start}, by the slots that hosts began {began}.*--genesis"
    ):
        ingested(logs, tmp_path / "run")
    assert [child.name for child in tmp_path.iterdir()] == ["logs"]
