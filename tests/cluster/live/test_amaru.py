"""Amaru, the real program, begins with the snapshots of a chain of ours and follows it from our node, with its own checks of headers and blocks."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from slotmark.measure.shipped import built_program
from tests.conftest import REPO, slotmark

AMARU = REPO / ".build" / "amaru" / "bin" / "amaru"
NETWORK = "testnet_42"
BLOCKS = 18_500
"""Four epochs have 17,280 on average."""

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


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def adopted(log: Path) -> list[str]:
    """The points that it made its tip, in order, as SLOT.HASH."""
    lines = log.read_bytes().splitlines()
    return [json.loads(line)["fields"]["point"] for line in lines if b"diffusion.forward_chain.new_tip" in line]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain through the ends of four epochs."""
    folder = tmp_path_factory.mktemp("amaru") / "chain"
    options = ("--workload", "preview-like", "--blocks", str(BLOCKS), "-o", folder)
    made = slotmark("chain", "synth", *options)
    assert made.returncode == 0, made.stderr
    return folder


def test_it_begins_with_our_snapshots_and_follows_our_node_to_the_tip(chain: Path, tmp_path: Path) -> None:
    genesis, snapshots = chain / "genesis" / "shelley-genesis.json", tmp_path / "snapshots"
    made = slotmark("chain", "snapshot", chain, "--genesis", genesis, "-o", snapshots)
    assert made.returncode == 0, made.stderr
    found = re.search(r"up to (\d+\.[0-9a-f]{64}); ([\d,]+) blocks", made.stderr + made.stdout)
    assert found
    begin, after = found[1], int(found[2].replace(",", ""))
    assert after > 500

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
    # The stake of the next epoch, by its own account: what our pools and accounts have.
    text = log.read_text()
    assert '"level":"ERROR"' not in text
    assert '"pools":"2"' in text
