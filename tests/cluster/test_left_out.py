"""Logs that can't be read, messages that nodes hold back or that nobody knows, and files that are none: each is named, and nothing hangs."""

import bz2
import gzip
import json
import lzma
import os
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slotmark import open_run
from slotmark.benches.cluster.ingesting.tracing import COUNTED, KNOWN
from slotmark.compare import show_run
from slotmark.errors import LogError, RunError
from slotmark.report import run_document
from slotmark.run import Run
from slotmark.run.integrity import digest_of
from tests.cluster.made_up_logs import line, ts
from tests.cluster.test_ingest import cluster, content, ingested
from tests.conftest import REPO, slotmark


def warned_of(run: Run) -> dict[str, str]:
    return {warning.kind: warning.text for warning in run.manifest.warnings}


@pytest.mark.parametrize("layout", ["folders", "files"])
@pytest.mark.parametrize(
    ("name", "pack", "form"),
    [
        ("stdout.xz", lzma.compress, "packed by xz"),
        ("stdout", lzma.compress, "packed by xz"),
        ("stdout.bz2", bz2.compress, "packed by bzip2"),
        ("stdout", lambda text: text.decode().encode("utf-16"), "text in UTF-16"),
        ("stdout", lambda text: text.decode().encode("utf-16-le"), "text in UTF-16"),
    ],
)
def test_a_log_that_cannot_be_read_is_named(
    layout: str, name: str, pack: Callable[[bytes], bytes], form: str, tmp_path: Path
) -> None:
    logs = cluster().write(tmp_path / "logs")
    whole = (logs / "node-2" / "stdout").read_bytes()
    (logs / "node-2" / "stdout").unlink()
    spoilt = logs / "node-2" / name
    if layout == "files":
        for number in (0, 1):
            (logs / f"node-{number}" / "stdout").rename(logs / f"logs-node-{number}.json")
            (logs / f"node-{number}").rmdir()
        (logs / "node-2").rmdir()
        spoilt = logs / f"logs-node-2.json{Path(name).suffix}"
    spoilt.write_bytes(pack(whole))
    run, facts = ingested(logs, tmp_path / "run")
    assert [host.host for host in facts.hosts] == ["node-0", "node-1"]
    assert warned_of(run)["unread_logs"].startswith(f"1 file was not read: {spoilt} ({form}). ")
    with pytest.raises(LogError, match=form):
        ingested(spoilt, tmp_path / "other", genesis=logs / "genesis" / "genesis.shelley.json")


def test_a_log_of_another_make_is_named_and_its_host_is_not_without_a_log(tmp_path: Path) -> None:
    """Lines in a form like Dugite's, of another program."""
    logs = cluster().write(tmp_path / "logs")
    other = logs / "node-2" / "stdout"
    line = '{"timestamp":"2026-11-21T20:08:40.020627Z","level":"INFO","fields":{"message":"Chain extended","slot":7},"target":"another_node"}'
    other.write_text(f"{line}\n" * 3)
    run, facts = ingested(logs, tmp_path / "run")
    assert [host.host for host in facts.hosts] == ["node-0", "node-1"]
    assert f"{other} (no line of it is in a form that is read" in warned_of(run)["unread_logs"]
    assert "missing_hosts" not in warned_of(run)
    for number in (0, 1):
        (logs / f"node-{number}" / "stdout").write_text(f"{line}\n")
    with pytest.raises(LogError, match=r"node-0/stdout: no line of it is in a form that is read"):
        ingested(logs, tmp_path / "none")
    other.unlink()
    with pytest.raises(LogError, match="no line of it"):
        ingested(logs, tmp_path / "none")


@pytest.mark.parametrize("name", ["stdout", "node-2.json"])
def test_a_packed_log_is_known_by_its_first_bytes(name: str, tmp_path: Path) -> None:
    expected, _ = ingested(cluster().write(tmp_path / "plain"), tmp_path / "run")
    assert "unread_logs" not in warned_of(expected)
    logs = cluster().write(tmp_path / "logs")
    whole = (logs / "node-2" / "stdout").read_bytes()
    (logs / "node-2" / "stdout").unlink()
    (logs / "node-2" / name).write_bytes(gzip.compress(whole))
    run, facts = ingested(logs, tmp_path / "other")
    assert facts.rejected == 0
    assert content(run) == content(expected)


@pytest.mark.parametrize("where", ["start-up message", "configuration", "limiter's own message"])
def test_messages_that_tracing_holds_back_are_one_warning(where: str, tmp_path: Path) -> None:
    options = {
        "": {"severity": "Notice"},
        "BlockFetch": {"maxFrequency": 2.0},
        "BlockFetch.Server.SendBlock": {"maxFrequency": 0},
        "ChainDB.AddBlockEvent.AddedBlockToQueue": {"maxFrequency": 4.0},
    }
    made = cluster()
    if where == "start-up message":
        data = {"kind": "TracerConfigInfo", "conf": json.dumps({"TraceOptions": options})}
        made.raw(1, ts(-1), line(ts(-1), "Reflection.TracerConfigInfo", data, "node-1"))
    if where == "limiter's own message":
        made.raw(1, ts(9), line(ts(9), "Reflection.StartLimiting", {"kind": "StartLimiting"}, "node-1"))
    logs = made.write(tmp_path / "logs")
    if where == "configuration":
        (logs / "node-0" / "config.json").write_text(json.dumps({"TraceOptions": options}))
    text = warned_of(ingested(logs, tmp_path / "run")[0])["traces_limited"]
    if where == "limiter's own message":
        assert "by 1 messages of its own" in text
    else:
        assert "BlockFetch.Client.CompletedBlockFetch (2 per second)" in text
        assert "BlockFetch.Client.SendFetchRequest (2 per second)" in text
        assert "SendBlock" not in text
        assert "AddedBlockToQueue" not in text


def test_messages_that_nobody_knows_are_one_warning_and_those_of_a_real_node_are_none(tmp_path: Path) -> None:
    made = cluster()
    for name in (
        "Consensus.LeiosKernel.Voted",
        "LeiosFetch.Remote.Send.Msg",
        "Consensus.GSM.EnterCaughtUp",
        "Net.Peers.X",
    ):
        made.raw(1, ts(60), line(ts(60), name, {"kind": "x"}, "node-1"))
    warned = warned_of(ingested(made.write(tmp_path / "logs"), tmp_path / "run")[0])
    assert warned["unknown_messages"].startswith("2 lines have messages")
    assert "Consensus.LeiosKernel (1), LeiosFetch (1)" in warned["unknown_messages"]
    clean = warned_of(ingested(cluster().write(tmp_path / "clean"), tmp_path / "run2")[0])
    assert not {"unknown_messages", "traces_limited", "unread_logs"} & clean.keys()


def test_the_names_of_counted_messages_are_those_of_the_table_and_are_known() -> None:
    table = (REPO / "crates" / "tracelog" / "src" / "messages" / "mod.rs").read_text()
    names = re.findall(r"(?m)^        names: \[\"([^\"]+)\"", table)
    assert sorted(COUNTED) == sorted(names)
    for name in COUNTED:
        assert name.split(".")[0] in KNOWN


def test_all_messages_of_real_nodes_are_known(shared: Path) -> None:
    for file in ("real-log-lines.jsonl", "two-node-devnet-10.6.log"):
        text = (shared / "data" / "logs" / file).read_text(errors="replace")
        names = set(re.findall(r'"ns":\[?"([^"]+)"', text))
        assert len(names) > 20
        assert not {
            name for name in names if ".".join(name.split(".")[:1]) not in KNOWN and name.split(".")[0] != "Consensus"
        }


def link_to_the_kernel(path: Path) -> None:
    path.symlink_to("/proc/kmsg")


def link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "gone")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (link_to_the_kernel, "of the kernel, /proc/kmsg"),
        (lambda path: path.symlink_to("/dev/zero"), "of the kernel, /dev/zero"),
        (link_to_nothing, "a link to nothing"),
        (os.mkfifo, "no plain file"),
    ],
)
def test_what_is_no_plain_file_is_named_and_nothing_hangs(
    make: Callable[[Path], None], why: str, tmp_path: Path
) -> None:
    logs = cluster().write(tmp_path / "logs")
    (logs / "node-2" / "stdout").unlink()
    make(logs / "node-2" / "stdout")
    signal.alarm(60)
    try:
        run, facts = ingested(logs, tmp_path / "run")
        with pytest.raises(LogError, match="stdout: "):
            ingested(logs / "node-2" / "stdout", tmp_path / "other", genesis=logs / "genesis" / "genesis.shelley.json")
    finally:
        signal.alarm(0)
    assert [host.host for host in facts.hosts] == ["node-0", "node-1"]
    assert f"{logs / 'node-2' / 'stdout'} ({why})" in warned_of(run)["unread_logs"]


@pytest.mark.parametrize("name", ["meta.json", "topology.json", "genesis/genesis.shelley.json"])
def test_metadata_that_leads_to_the_kernel_is_refused(name: str, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    (logs / name).unlink(missing_ok=True)
    link_to_the_kernel(logs / name)
    signal.alarm(60)
    try:
        with pytest.raises(LogError, match="no plain file of a disk"):
            ingested(logs, tmp_path / "run")
    finally:
        signal.alarm(0)


@pytest.mark.parametrize("name", ["meta.json", "topology.json", "profile.json", "genesis/genesis.shelley.json"])
@pytest.mark.parametrize("depth", [900, 20_000])
def test_json_without_end_is_refused_in_one_line_or_read(name: str, depth: int, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    (logs / name).write_text('{"meta": {}, "coreNodes": ' + "[" * depth + "]" * depth + "}")
    with suppress(LogError) if depth < 1_000 else pytest.raises(LogError, match=name):
        ingested(logs, tmp_path / "run")


def test_a_manifest_without_end_is_refused_in_one_line(tmp_path: Path) -> None:
    run, _ = ingested(cluster().write(tmp_path / "logs"), tmp_path / "run")
    written = json.loads((run.path / "run.json").read_text())
    for depth in (900, 20_000):
        (run.path / "run.json").write_text(
            json.dumps(written).replace('"observed": {}', '"observed": {"x": ' + "[" * depth + "]" * depth + "}")
        )
        with pytest.raises(RunError, match=r"run\.json"):
            open_run(run.path)
    done = slotmark("show", run.path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("folder", ["/proc", "/proc/self", "/sys", "/dev"])
def test_folders_of_the_kernel_are_refused_in_one_line(folder: str) -> None:
    out = REPO / ".build" / "run"  # outside of all: tests write below /dev where there is room
    with pytest.raises(LogError, match=f"^{folder}: files of the kernel, not logs. Give the folder of the logs.$"):
        ingested(Path(folder), out)
    assert not out.exists()


@pytest.mark.parametrize("out", ["run", "node-0/run", "../logs/run", "."])
def test_a_run_inside_the_logs_is_refused(out: str, tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    before = sorted(logs.rglob("*"))
    with pytest.raises(LogError, match="lies inside"):
        ingested(logs, logs / out)
    assert sorted(logs.rglob("*")) == before
    ingested(logs, tmp_path / "logs-run")


@pytest.mark.parametrize("change", [{"systemStart": "2025-01-01T00:00:00Z"}, {"slotLength": 3}, {"slotLength": 0.001}])
@pytest.mark.parametrize("messages", ["all", "blocks only"])
def test_a_genesis_by_which_slots_are_at_other_times_is_refused(
    change: dict[str, object], messages: str, tmp_path: Path
) -> None:
    made = cluster()
    for host in range(3):
        for slot in range(7_000, 7_100):
            made.check(host, slot)
        for slot in range(7_080, 7_095):
            data = {"kind": "DownloadedHeader", "block": f"{slot:064x}", "blockNo": slot, "slot": slot, "peer": {}}
            made.say(host, ts(slot, 99), "ChainSync.Client.DownloadedHeader", **data)
    logs = made.write(tmp_path / "logs")
    if messages == "blocks only":
        for log in logs.glob("node-*/stdout"):
            kept = [text for text in log.read_text().splitlines() if '"ns":"Forge.' not in text]
            log.write_text("\n".join(kept) + "\n")
    ingested(logs, tmp_path / "good")
    genesis = logs / "genesis" / "genesis.shelley.json"
    genesis.write_text(json.dumps({**json.loads(genesis.read_text()), **change}))
    with pytest.raises(LogError, match="the genesis is not that of these logs"):
        ingested(logs, tmp_path / "run")


def test_a_genesis_of_an_earlier_run_and_logs_of_two_runs_are_refused(tmp_path: Path) -> None:
    """Every slot began half an hour too early: adoption took half an hour on both sides, beside which no regression mattered, and such a candidate shipped."""
    made = cluster()
    for host in range(3):
        for slot in range(100, 200):
            made.check(host, slot)
    logs = made.write(tmp_path / "logs")
    genesis = logs / "genesis" / "genesis.shelley.json"
    right = genesis.read_text()
    genesis.write_text(json.dumps({**json.loads(right), "systemStart": "2025-12-31T23:30:00Z"}))
    with pytest.raises(
        LogError,
        match=r"2025-12-31T23:30:00Z, by the slots that hosts began 2026-01-01T00:00:00Z\. Give the genesis with",
    ):
        ingested(logs, tmp_path / "earlier")
    genesis.write_text(right)
    for log in logs.glob("node-*/stdout"):
        text = log.read_text()
        log.write_text(text + re.sub(r"T00:0(\d):", r"T00:3\1:", text))  # all of it again, half an hour later
    with pytest.raises(LogError, match="of logs of two runs, leave one out"):
        ingested(logs, tmp_path / "two")


@pytest.mark.parametrize("rows", ["none", "two", "null"])
def test_a_genesis_table_without_its_one_row_is_refused_in_one_line(rows: str, tmp_path: Path) -> None:
    run, _ = ingested(cluster().write(tmp_path / "logs"), tmp_path / "run")
    file = run.path / "tables" / "genesis.parquet"
    whole = pq.read_table(file)
    changed = {
        "none": whole.slice(0, 0),
        "two": pa.concat_tables([whole, whole]),
        "null": whole.set_column(0, "system_start_ns", pa.nulls(1, pa.int64())),
    }
    pq.write_table(changed[rows], file)
    manifest = json.loads((run.path / "run.json").read_text())
    manifest["tables"]["genesis"] = pq.read_metadata(file).num_rows
    for part in manifest["parts"]:
        if part["table"] == "genesis":
            part |= {"rows": manifest["tables"]["genesis"], "bytes": file.stat().st_size, "digest": digest_of(file)}
    (run.path / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="SELECT system_start_ns, slot_ns FROM genesis gives"):
        run_document(show_run(open_run(run.path)))
