"""The load and the question for a handshake against gouroboros, on which Dingo's network and ledger are built: real programs and sockets,
of which no part is ours but the loop that asks for transactions."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotmark.benches.cluster.bed import read_bed
from slotmark.benches.cluster.live.probing import Probe
from slotmark.benches.cluster.live.workload import Generator
from tests.cluster.live.machine import PATIENCE_S, skip_without_programs, until
from tests.conftest import REPO, slotmark

MAGIC = 42
FUNDS = 100
"""Funds of a bed of value-only-5: as many transactions split them."""


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program on gouroboros."""
    if shutil.which("go") is None:
        pytest.skip("go isn't here")
    built = tmp_path_factory.mktemp("gouroboros")
    words = ["go", "build", "-trimpath", "-o", str(built), "./peer"]
    subprocess.run(words, cwd=REPO / "targets" / "gouroboros", check=True)
    return built / "peer"


def made_bed(folder: Path, *more: str) -> Path:
    made = slotmark("cluster", "create", "value-only-5", "--hosts", "2", "-o", folder, *more)
    assert made.returncode == 0, made.stderr
    return folder


@contextmanager
def taking(peer: Path, port: int, bed: Path, said: Path, *more: str, magic: int = MAGIC) -> Iterator[Path]:
    """A target at a port of this machine: a file with a line for each transaction that it took."""
    words = [str(peer), "take", "--magic", str(magic), "--listen", f"127.0.0.1:{port}"]
    with said.open("wb") as out, subprocess.Popen([*words, "--genesis", bed / "genesis", *more], stdout=out) as process:
        try:
            end = time.monotonic() + PATIENCE_S
            while not said.read_bytes().startswith(b"listening\n"):
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.05)
            yield said
        finally:
            process.kill()


def verdicts(said: Path) -> dict[str, str]:
    """The reason for which each transaction was refused, by its id; none where it was taken."""
    lines = [json.loads(line) for line in said.read_text().splitlines()[1:]]
    return {line["id"]: line["error"] for line in lines}


def submit(bed: Path, port: int, records: Path, *more: str) -> None:
    """A load of 40 transactions, and the split before it."""
    words = ["--bed", bed, "--target", f"127.0.0.1:{port}", "--settle", "0", "--tps", "100", "--transactions", "40"]
    program = REPO / "target" / "release" / "slotmark-txgen"
    subprocess.run([program, *words, "-o", records, *more], check=True, timeout=PATIENCE_S)


@pytest.mark.parametrize("workload", ["value-only", "plutus-loop"])
def test_its_rules_of_the_ledger_take_every_transaction_of_the_load(workload: str, peer: Path, tmp_path: Path) -> None:
    skip_without_programs()
    bed = made_bed(tmp_path / "bed")
    port = read_bed(bed).hosts[0].port
    with taking(peer, port, bed, tmp_path / "taken") as said:
        submit(bed, port, tmp_path / "records", "--workload", workload)
    found = verdicts(said)
    assert set(found.values()) == {""}
    records = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
    assert {record["id"] for record in records} == set(list(found)[FUNDS:])
    assert len(found) == FUNDS + 40


def test_its_rules_are_held_against_them(peer: Path, tmp_path: Path) -> None:
    """A network with other funds takes none of them."""
    skip_without_programs()
    bed, other = made_bed(tmp_path / "bed"), made_bed(tmp_path / "other", "--seed", "2")
    port = read_bed(bed).hosts[0].port
    with taking(peer, port, other, tmp_path / "taken") as said:
        submit(bed, port, tmp_path / "records")
    found = verdicts(said)
    assert len(found) == FUNDS + 40
    assert all(found.values())


def test_a_target_that_asks_for_nothing_and_one_of_another_network_are_named_with_their_hosts(
    peer: Path, tmp_path: Path
) -> None:
    skip_without_programs()
    folder = made_bed(tmp_path / "bed")
    bed = read_bed(folder)
    ports = [host.port for host in bed.hosts]
    with (
        taking(peer, ports[0], folder, tmp_path / "first", "--most", "0") as first,
        taking(peer, ports[1], folder, tmp_path / "second", magic=MAGIC + 1) as second,
    ):
        addresses = {host.name: "127.0.0.1" for host in bed.hosts}
        generator = Generator(bed, folder, 60, 1, 1, None, (tmp_path, "node.socket"), addresses)
        until("the generator ended", lambda: generator.ended is not None)
    assert (verdicts(first), verdicts(second)) == ({}, {})
    assert generator.ended == 2
    assert (
        f"node-0 (127.0.0.1:{ports[0]}): never asked for transactions (tx-submission, MsgRequestTxIds)"
        in generator.words
    )
    assert (
        f"node-1 (127.0.0.1:{ports[1]}): closed the connection during the handshake, which offered" in generator.words
    )


def test_the_question_for_a_handshake_tells_networks_apart(peer: Path, tmp_path: Path) -> None:
    """The library means to say why, and closes the connection before that has left."""
    bed = made_bed(tmp_path / "bed")
    ports = [host.port for host in read_bed(bed).hosts]
    places = {f"node-{number}": f"127.0.0.1:{port}" for number, port in enumerate(ports)}
    with (
        taking(peer, ports[0], bed, tmp_path / "first"),
        taking(peer, ports[1], bed, tmp_path / "second", magic=MAGIC + 1),
    ):
        right, astray = Probe(places, MAGIC, 8, None, tmp_path).answers()
    nobody, _ = Probe(places, MAGIC, 2, None, tmp_path).answers()
    assert (right.host, right.failed) == ("node-0", "")
    assert (astray.host, astray.failed) == ("node-1", "handshake")
    assert "handshake, which offered network magic 42" in astray.why
    assert nobody.failed == "port"
