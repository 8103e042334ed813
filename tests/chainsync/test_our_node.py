"""Every client against our own block producer, which keeps a forged chain: a real node's process, not our replay server."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotmark import _core
from slotmark.benches.chainsync.setting import MODES
from slotmark.benches.chainsync.targets import FLOOR, built_ins
from slotmark.metrics import samples
from slotmark.run import open_run

from ..conftest import REPO, slotmark
from .conftest import built

BLOCKS = 300
PATIENCE_S = 120
"""The time that the node may take to open its chain on a machine that has much else to do."""
MAGIC = 42
"""The network magic of forged chains."""


@contextmanager
def our_node(chain: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """Our node with a forged chain for its own, which knows nobody and makes no blocks: its socket, and its address."""
    program = REPO / "target" / "release" / "slotmark-node"
    if not program.is_file():
        pytest.skip("slotmark-node isn't built: make setup does it")
    shutil.copytree(chain, folder / "db" / "immutable", ignore=shutil.ignore_patterns("genesis"))
    (folder / "topology.json").write_text('{"localRoots": [], "publicRoots": []}', encoding="utf-8")
    # A loopback address of its own, so that the port can't be taken.
    host = f"127.{os.getpid() >> 16 & 0x7F | 0x80}.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"
    path = folder / "node.socket"
    command = [program, "run", "--config", chain / "genesis" / "config.json", "--topology", folder / "topology.json"]
    command += ["--database-path", folder / "db", "--socket-path", path, "--host-addr", host, "--port", "3001"]
    errors = folder / "stderr"
    with errors.open("w") as said, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said) as node:
        try:
            end = time.monotonic() + PATIENCE_S
            while not _listens(path):
                assert node.poll() is None, errors.read_text()
                assert time.monotonic() < end
                time.sleep(0.02)
            yield path, f"{host}:3001"
        finally:
            node.terminate()
    assert node.returncode == 0, errors.read_text()


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as caller:
        return caller.connect_ex(os.fspath(path)) == 0


@pytest.fixture(scope="module")
def node(small_chain: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    with our_node(small_chain, tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.mark.parametrize("name", sorted(set(built_ins()) - {FLOOR}))
def test_a_client_reads_the_chain_of_our_node_in_each_of_its_modes(
    name: str, node: tuple[Path, str], small_chain: Path, tmp_path: Path
) -> None:
    built(FLOOR)
    modes = built(name).description.modes
    offered = [mode for mode in MODES if mode in modes]
    path, address = node
    made = slotmark(
        *("chainsync", "run", "--node-socket", path, "--node", address, "--magic", str(MAGIC), "--start", "origin"),
        *("--target", name, "--mode", ",".join(offered), "--depth", "1", "--rounds", "1"),
        *("--blocks", str(BLOCKS), "--progress-every", "100", "-o", tmp_path / "runs"),
    )
    assert made.returncode == 0, made.stderr
    run = open_run(tmp_path / "runs" / name)
    assert sorted(samples(run, "blocks_per_s").parts) == sorted(f"{mode}, sequential" for mode in offered)
    # What came is the chain that the node was given.
    for mode in offered:
        (_, digest, _) = _core.digests(str(small_chain), "origin", BLOCKS, mode, BLOCKS)[-1]
        assert run.manifest.workload[f"digest, {mode}"] == digest
    (text,) = [one.text for one in run.manifest.warnings if one.kind == "other_node"]
    assert f"The node at {path} and {address} (program 'slotmark-node')" in text
