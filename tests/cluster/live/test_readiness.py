"""A cluster that can't be measured ends before the measurement, in a line that names the check and the host; an unharmed one passes."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from slotmark.benches.cluster.live.watching import LogEnd, Watch
from tests.cluster.live.machine import skip_without_network, skip_without_programs, skip_without_router, stand_in_recipe
from tests.conftest import REPO, slotmark

HOSTS = 3


def run_live(bed: Path, out: Path, node: str, *more: str) -> subprocess.CompletedProcess[str]:
    options = ("--for", "2s", "--network", "loopback", "--no-workload", "--start-in", "3s", "--ready-within", "20s")
    return slotmark("cluster", "run", bed, "--node", node, "-o", out, *options, *more)


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (["--deaf", "1"], "node-1 does not listen on its port: 127.0.0.1:30001: Connection refused."),
        (
            ["--astray", "2"],
            "node-2 does not agree to a node-to-node handshake with network magic 42: 127.0.0.1:30002: the server refused the handshake, which",
        ),
        (["--alone", "1"], "node-1 follows only its own blocks, "),
        (["--unheard"], 'node-0 prints no line that ingest reads; its log begins with {"timestamp":"'),
    ],
)
def test_a_fault_is_named_with_its_check_and_host(bed: Path, tmp_path: Path, planted: list[str], said: str) -> None:
    recipe = stand_in_recipe(tmp_path, HOSTS)
    within = "20s" if "--alone" in planted else "8s"
    done = run_live(bed, tmp_path / "live", " ".join([str(recipe), *planted]), "--ready-within", within)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert f"--node stand-in: {said}" in last
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "live").exists()
    assert (tmp_path / "live.logs" / "node-0" / "stdout").is_file()


def test_an_unharmed_cluster_passes(bed: Path, tmp_path: Path) -> None:
    done = run_live(bed, tmp_path / "live", str(stand_in_recipe(tmp_path, HOSTS)))
    assert done.returncode == 0, done.stderr


def test_hosts_are_asked_where_the_emulated_network_has_them(bed: Path, tmp_path: Path) -> None:
    skip_without_router()
    recipe = stand_in_recipe(tmp_path, HOSTS)
    done = run_live(bed, tmp_path / "live", f"{recipe} --deaf 1", "--network", "wan", "--ready-within", "8s")
    skip_without_network(done.stderr)
    assert done.returncode == 2, done.stderr
    assert "node-1 does not listen on its port: 198.18.0.2:30001: Connection refused." in done.stderr.splitlines()[-1]


def test_a_tip_pattern_that_matches_nothing_is_noticed_by_the_nodes_own_tip(bed: Path, tmp_path: Path) -> None:
    """Our own nodes, whose sockets tell that they have blocks."""
    skip_without_programs()
    folder = tmp_path / "mistaken"
    shutil.copytree(REPO / "nodes" / "slotmark", folder)
    recipe = folder / "node.toml"
    text = recipe.read_text().replace("../../target", str(REPO / "target"))
    recipe.write_text(text.replace("""tip = '"newtip":""", """tip = '^"newtip":"""))
    assert "tip = '^" in recipe.read_text()
    done = run_live(bed, tmp_path / "live", str(folder))
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert (
        f"--node mistaken: no line of {tmp_path / 'live.logs' / 'node-0' / 'stdout'} matches the recipe's tip = '^"
        in last
    )
    assert "though the node's tip is " in last


class Logs:
    """Logs in which hosts get tips when a test says so."""

    def __init__(self, folder: Path, *hosts: str) -> None:
        self.folder = folder
        for host in hosts:
            (folder / host).touch()
        pattern = "tip (?P<hash>[0-9a-z]+)@(?P<slot>[0-9]+)"
        self.watch = Watch({host: LogEnd(folder / host, pattern, "") for host in hosts})

    def tips(self, host: str, *tips: str) -> None:
        with (self.folder / host).open("a") as file:
            file.writelines(f"tip {tip}\n" for tip in tips)
        self.watch.look()

    def alone(self, lag_s: float = 0) -> dict[str, int]:
        return self.watch.alone(list(self.watch.logs), lag_s)


def test_a_host_that_shares_no_tip_is_alone_once_three_blocks_have_decided(tmp_path: Path) -> None:
    logs = Logs(tmp_path, "a", "b", "c")
    assert logs.alone() == {}
    for host in ("a", "b"):
        logs.tips(host, "y@1", "z@2")
    logs.tips("c", "x@1")  # it forged in the slot in which another did, and hasn't had the longer chain yet
    assert logs.alone() == {}
    for host in ("a", "b"):
        logs.tips(host, "w@3")
    assert logs.alone() == {"c": 1}
    assert logs.alone(lag_s=time.monotonic()) == {}  # blocks may still be on their way
    logs.tips("c", "w@3")
    assert logs.alone() == {}


def test_every_host_may_be_alone_and_one_that_is_by_itself_is_not(tmp_path: Path) -> None:
    logs = Logs(tmp_path, "a", "b")
    logs.tips("a", "a1@1", "a2@2", "a3@3")
    assert logs.alone() == {"a": 3, "b": 0}
    only = Logs(tmp_path, "single")
    only.tips("single", "s1@1", "s2@2", "s3@3", "s4@4")
    assert only.alone() == {}
