"""The ledger base that all hosts with our own node share: one that isn't the genesis's, or isn't whole, ends a node in a line."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cluster.live.machine import skip_without_programs
from tests.conftest import REPO, slotmark

NODE = REPO / "target" / "release" / "slotmark-node"


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bed of one host and its base; and a base of another seed's."""
    skip_without_programs()
    folder = tmp_path_factory.mktemp("bed")
    for seed, base in ((1, "base"), (2, "foreign")):
        bed = folder / f"bed-{seed}"
        made = slotmark("cluster", "create", "value-only-5", "--hosts", "2", "--seed", str(seed), "-o", bed)
        assert made.returncode == 0, made.stderr
        command = [NODE, "prepare", "--config", bed / "node-0" / "config.json", "--out", folder / base]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    return folder


def run(bed: Path, base: Path) -> subprocess.CompletedProcess[str]:
    """A node that is started on a base, and ends by itself."""
    host = bed / "bed-1" / "node-0"
    files = ["--config", host / "config.json", "--topology", host / "topology.json", "--database-path", bed / "db"]
    command = [NODE, "run", *files, "--host-addr", "127.0.0.1", "--port", "0", "--ledger-base", base]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("foreign", "made of a genesis with the hash "),
        ("cut", "a file that is cut, or too long"),
        ("short", "a file that is too short"),
        ("head", "a head that is damaged"),
        ("other", "another kind of file"),
        ("missing", "No such file or directory"),
    ],
)
def test_a_base_that_is_not_the_genesiss_or_not_whole_is_refused_in_a_line(bed: Path, name: str, said: str) -> None:
    whole = (bed / "base").read_bytes()
    made = {"cut": whole[:-1], "short": whole[:9], "head": whole[:30] + b"?" + whole[31:], "other": b"x" * 40}
    if name in made:
        (bed / name).write_bytes(made[name])
    done = run(bed, bed / name)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"slotmark-node: {bed / name}: ")
    assert said in line


def test_a_base_of_another_byron_genesis_is_refused_in_a_line(bed: Path, tmp_path: Path) -> None:
    shutil.copytree(bed / "bed-1", tmp_path / "bed-1")
    (byron,) = tmp_path.glob("bed-1/**/genesis.byron.json")
    byron.write_text(byron.read_text() + "\n")
    done = run(tmp_path, bed / "base")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"slotmark-node: {bed / 'base'}: made of a Byron genesis with the hash ")


def test_a_base_of_no_genesis_is_not_made(bed: Path, tmp_path: Path) -> None:
    config = bed / "bed-1" / "node-0" / "topology.json"
    command = [NODE, "prepare", "--config", config, "--out", tmp_path / "base"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"slotmark-node: {config}: ")
    assert not list(tmp_path.iterdir())
