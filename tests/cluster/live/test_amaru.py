"""Amaru, the real program, begins with the snapshots of a chain of ours and follows it from our nodes, with its own checks and its own rewards."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from slotmark.measure.shipped import built_program
from slotmark.run import open_run
from tests.cluster.live.machine import skip_without_network
from tests.conftest import REPO, slotmark
from tests.s3 import free_port

AMARU = REPO / ".build" / "amaru" / "bin" / "amaru"
NETWORK = "testnet_42"
BLOCKS = 27_500
"""Six epochs have 25,920 on average."""

UNTIL = 2
"""The newest epoch of the snapshots."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AMARU.exists(), reason=f"{AMARU} isn't there: make node-amaru builds it"),
]


def amaru(*words: object) -> str:
    """Runs one of its commands to the end."""
    done = subprocess.run(
        [AMARU, *map(str, words), "--network", NETWORK], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def process(words: list[object], log: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs until the end of the context; its output goes to a file."""
    with log.open("wb") as out:
        begun = subprocess.Popen(
            [str(word) for word in words], stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **more}
        )
        try:
            yield begun
        finally:
            begun.send_signal(signal.SIGTERM)
            try:
                begun.wait(30)
            except subprocess.TimeoutExpired:
                begun.kill()
                begun.wait()


def adopted(log: Path) -> list[str]:
    """The points that it made its tip, in order, as SLOT.HASH."""
    lines = log.read_bytes().splitlines()
    return [json.loads(line)["fields"]["point"] for line in lines if b"diffusion.forward_chain.new_tip" in line]


def said(log: Path, message: str) -> list[dict[str, str]]:
    """The fields of its lines with this message, in order."""
    lines = log.read_bytes().splitlines()
    return [json.loads(line)["fields"] for line in lines if f'"message":"{message}"'.encode() in line]


def ours(chain: Path, folder: Path) -> list[tuple[int, int, int]]:
    """Treasury, reserves and fees after each boundary, by our replay, from the first on."""

    def replayed(*more: object) -> list[dict[str, int]]:
        out = folder / "replayed.json"
        words = [built_program("slotmark-replay", "the engine"), "--chain", chain, "--reapply", "--backend", "memory"]
        words += ["--genesis", chain / "genesis" / "shelley-genesis.json", "--state", folder / "state", "--out", out]
        subprocess.run([str(word) for word in (*words, *more)], check=True)
        return [json.loads(line) for line in out.read_text().splitlines()]

    _, *blocks, _ = replayed()
    firsts = [place for place, block in enumerate(blocks, 1) if block["first_of_epoch"]]
    ends = [replayed("--blocks", first)[-1] for first in firsts]
    return [(end["treasury"], end["reserves"], end["fees"]) for end in ends]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain with rewards, through the ends of six epochs."""
    folder = tmp_path_factory.mktemp("amaru") / "chain"
    options = ("--workload", "preview-like", "--blocks", str(BLOCKS), "--delegators", "300", "-o", folder)
    made = slotmark("chain", "synth", *options)
    assert made.returncode == 0, made.stderr
    return folder


def test_it_begins_with_our_snapshots_follows_our_node_to_the_tip_and_has_the_same_rewards(
    chain: Path, tmp_path: Path
) -> None:
    genesis, snapshots = chain / "genesis" / "shelley-genesis.json", tmp_path / "snapshots"
    made = slotmark("chain", "snapshot", chain, "--genesis", genesis, "--until", str(UNTIL), "-o", snapshots)
    assert made.returncode == 0, made.stderr
    found = re.search(r"up to (\d+\.[0-9a-f]{64}); ([\d,]+) blocks", made.stderr + made.stdout)
    assert found
    begin, after = found[1], int(found[2].replace(",", ""))
    assert after > 10_000

    ledger, store = tmp_path / "ledger", tmp_path / "chain"
    amaru("import-ledger-state", "--ledger-dir", ledger, "--snapshot-dir", snapshots)
    headers = [word for file in (snapshots / "headers").iterdir() for word in ("--header-file", file)]
    amaru("import-headers", "--chain-dir", store, *headers)
    amaru("import-nonces", "--chain-dir", store, "--nonces-file", snapshots / "nonces.json")

    database, topology = tmp_path / "database", tmp_path / "topology.json"
    (database / "immutable").mkdir(parents=True)
    for file in chain.glob("*.*"):
        shutil.copy(file, database / "immutable")
    topology.write_text('{"localRoots": [], "publicRoots": [], "useLedgerAfterSlot": -1}')
    port, own, log = free_port(), free_port(), tmp_path / "amaru.log"
    node = [built_program("slotmark-node", "the node"), "run", "--config", chain / "genesis" / "config.json"]
    node += ["--topology", topology, "--database-path", database, "--host-addr", "127.0.0.1", "--port", port]
    follower = [AMARU, "--with-json-traces", "run", "--network", NETWORK, "--ledger-dir", ledger, "--chain-dir", store]
    follower += ["--listen-address", f"127.0.0.1:{own}", "--peer-address", f"127.0.0.1:{port}"]
    with ExitStack() as all_of:
        all_of.enter_context(process(node, tmp_path / "node.log"))
        time.sleep(5)
        all_of.enter_context(
            process(
                follower, log, AMARU_TRACE="info,amaru::stores::consensus=trace,amaru::consensus::forward_chain=trace"
            )
        )
        end = time.monotonic() + 600
        while len(adopted(log)) < after and time.monotonic() < end:
            time.sleep(1)
    points = adopted(log)
    info = json.loads(slotmark("chain", "info", chain, "--json").stdout)
    assert len(points) == after, log.read_text()[-2_000:]
    assert begin not in points
    assert points[-1] == info["tip"]
    assert '"level":"ERROR"' not in log.read_text()
    # Its log is read, each line of it, beside that of the node.
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("node.log", "amaru.log"):
        shutil.copy(tmp_path / name, logs)
    read = slotmark("ingest", logs, "-o", tmp_path / "run", "--genesis", genesis)
    assert read.returncode == 0, read.stderr
    assert ", 0 unreadable, " in read.stderr
    run = open_run(tmp_path / "run")
    (host,) = (row for row in run.table("hosts").to_pylist() if row["host"] == "amaru")
    assert host["node"] == "amaru"
    rows = [row for row in run.table("block_events").to_pylist() if row["host"] == "amaru"]
    assert [f"{row['slot']}.{row['block']}" for row in rows if row["event"] == "adopted"] == points
    # What it worked out by itself: pots after each boundary, and the stake at the end of an epoch, which counts in the next but one.
    pots = [
        tuple(int(fields[f"pots.{pot}"]) for pot in ("treasury", "reserves", "fees"))
        for fields in said(log, "rewards.summary")
    ]
    assert len(pots) >= 4
    assert pots == ours(chain, tmp_path)[UNTIL:][: len(pots)]
    checked = slotmark("chain", "check", chain, "--genesis", genesis, "--json")
    stake = {epoch["epoch"]: epoch["stake"] for epoch in json.loads(checked.stdout)["epochs"]}
    found = {
        int(fields["epoch"]) + 2: int(fields["active_stake"]) for fields in said(log, "stake_distribution.snapshot")
    }
    assert len(set(stake.values())) > 4
    assert {epoch: lovelace for epoch, lovelace in found.items() if epoch in stake} == {
        epoch: lovelace for epoch, lovelace in stake.items() if epoch in found
    }
    assert len(found.keys() & stake.keys()) >= 5


def test_it_adopts_the_blocks_of_a_live_cluster_beside_our_nodes(tmp_path: Path) -> None:
    """Four of our nodes make blocks, and two hosts are Amaru, over the emulated network, with transactions."""
    bed, out = tmp_path / "bed", tmp_path / "live"
    made = slotmark("cluster", "create", "relays-6", "-o", bed)
    assert made.returncode == 0, made.stderr
    nodes = ("--node", "slotmark", "--node", "amaru=relay")
    done = slotmark("cluster", "run", bed, *nodes, "--for", "2m", "--ready-within", "10m", "-o", out, timeout=900)
    skip_without_network(done.stderr)
    assert done.returncode == 0, done.stderr
    assert ", 0 unreadable; " in done.stderr
    run = open_run(out)
    ran = {row["host"]: row["name"] for row in run.table("host_nodes").to_pylist()}
    assert ran == {f"node-{number}": "slotmark" if number < 4 else "amaru" for number in range(6)}
    # Its log has no version, its program states one; ours logs its own.
    assert run.manifest.versions["target amaru"] == "0.1.2"
    assert run.manifest.versions["target slotmark"] != "0.1.2"
    first, last = (int(one.split()[1]) for one in run.manifest.observed["measured"])
    rows = run.table("block_events").to_pylist()
    # The last block may be on its way when the measurement ends.
    measured = {row["block"] for row in rows if row["event"] == "forged" and first <= row["slot"] < last - 5}
    by_host = {
        host: {
            row["block"]: row["ts_ns"]
            for row in rows
            if row["host"] == host and row["event"] == "adopted" and row["block"] in measured
        }
        for host in ran
    }
    # They adopt the same blocks as ours do, but for those of a slot with two leaders, of which hosts take one or the other; with transactions in them.
    everywhere = set.intersection(*(set(blocks) for blocks in by_host.values()))
    assert len(everywhere) >= max(2, len(measured) / 2)
    assert run.manifest.observed["transactions in blocks"] > 0
    # Each of them later than the first of ours, which made it.
    for block in everywhere:
        ours = min(by_host[host][block] for host in ("node-0", "node-1", "node-2", "node-3"))
        assert all(by_host[host][block] > ours for host in ("node-4", "node-5"))
