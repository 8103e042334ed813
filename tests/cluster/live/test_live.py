"""`slotmark cluster run` over real processes: stand-ins that start, die and stop as nodes do, and our own node."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from slotmark.benches.cluster.live.conducting import run_live as run_here
from slotmark.benches.cluster.live.launching import MARK, leftovers, start_of
from slotmark.benches.cluster.live.request import Request
from slotmark.metrics import Analysis
from slotmark.metrics.catalogue import catalogue
from slotmark.run import Run, check_run, open_run
from tests.cluster.live.machine import (
    PATIENCE_S,
    STAND_IN,
    of_conductor,
    skip_without_network,
    skip_without_programs,
    skip_without_router,
    stand_in_recipe,
    until,
)
from tests.conftest import REPO, slotmark
from tests.s3 import S3, SLOW_DOWN, Fault, proxy

HOSTS = 3


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., str]:
    """A stand-in as ``--node`` takes it, with more arguments."""
    folder = stand_in_recipe(tmp_path, HOSTS)
    return lambda *more: " ".join([str(folder), *more])


def run_live(
    bed: Path, out: Path | str, node: str, *more: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    options = ("--for", "4s", "--network", "loopback", "--no-workload", "--start-in", "3s", "--ready-within", "2min")
    return slotmark("cluster", "run", bed, "--node", node, "-o", out, *options, *more, env=env)


def kinds(run: Run) -> set[str]:
    return {warning.kind for warning in run.manifest.warnings}


def test_a_run_is_measured_and_made_a_run_folder(bed: Path, tmp_path: Path, node: Callable[..., str]) -> None:
    out = tmp_path / "live"
    with (tmp_path / "stand-in" / "node.toml").open("a", encoding="utf-8") as recipe:
        recipe.write('\nversion = ["echo", "stand-in 3.2.1"]\n')
    done = run_live(bed, out, node())
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out}\n"
    run = open_run(out)
    check_run(out)
    manifest = run.manifest
    assert manifest.origin == "measured"
    assert manifest.machine is not None
    assert (manifest.target.name, manifest.target.version) == ("stand-in", "3.2.1")
    assert manifest.parameters["network"] == "loopback"
    assert manifest.observed["measured, s"] >= 4
    assert {"no_latencies", "no_workload"} <= kinds(run)
    assert not kinds(run) & {"node_died", "node_killed", "cut_short", "stopped_early", "missing_hosts"}
    hosts = run.table("hosts").to_pylist()
    assert [host["host"] for host in hosts] == [f"node-{number}" for number in range(HOSTS)]
    assert sum(host["rejected"] for host in hosts) == 0
    usage = run.table("node_usage").to_pylist()
    assert {row["host"] for row in usage} == {f"node-{number}" for number in range(HOSTS)}
    for host in hosts:
        of_host = [row for row in usage if row["host"] == host["host"]]
        assert len(of_host) >= 2
        for counter in ("ts_ns", "cpu_ns", "runqueue_ns", "fs_written_bytes"):
            values = [row[counter] for row in of_host]
            assert values == sorted(values), counter
        assert of_host[-1]["cpu_ns"] > 0
        assert of_host[-1]["rss_bytes"] > 1 << 20
        assert of_host[-1]["net_read_bytes"] is None
    machine = run.table("machine_usage").to_pylist()
    assert machine[-1]["busy_ns"] > machine[0]["busy_ns"]
    until_ns = datetime.fromisoformat(manifest.observed["measured until"]).timestamp() * 1e9
    began_ns = until_ns - manifest.observed["measured, s"] * 1e9
    slack_ns = 2_000_000  # both are rounded to ms
    during = [row["ts_ns"] for row in machine if began_ns - slack_ns <= row["ts_ns"] <= until_ns + slack_ns]
    assert len(during) >= 2
    assert during[-1] == machine[-1]["ts_ns"]
    assert machine[0]["ts_ns"] < began_ns
    delays = run.table("timer_delays").to_pylist()
    assert sum(row["wakes"] for row in delays if row["ts_ns"] >= began_ns) > 0
    assert all(row["worst_ns"] * row["wakes"] >= row["late_ns"] > 0 for row in delays)
    assert manifest.observed["timers late by in the mean, us"] > 0
    shown = slotmark("show", out)
    assert shown.returncode == 0, shown.stderr
    # What nodes had is kept beside the run, and nothing of them runs.
    assert (tmp_path / "live.logs" / "node-0" / "stdout").is_file()
    # Ingested again, they are still those of the node that ran, and not of the one that the profile describes.
    from_logs = tmp_path / "again"
    ingested = slotmark("ingest", tmp_path / "live.logs", "-o", from_logs)
    assert ingested.returncode == 0, ingested.stderr
    assert open_run(from_logs).manifest.target.name == "stand-in"
    again = run_live(bed, out, node())
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_a_run_of_dingos_fills_its_tables_from_their_logs(bed: Path, tmp_path: Path) -> None:
    """The shipped recipe, with a stand-in as its program."""
    text = (REPO / "nodes" / "dingo" / "node.toml").read_text(encoding="utf-8")
    words = [sys.executable, str(STAND_IN), "--hosts", str(HOSTS)]
    folder = tmp_path / "dingo"
    folder.mkdir()
    recipe = text.replace('command = ["dingo", "serve"]', f"command = {json.dumps(words)}")
    assert recipe != text
    (folder / "node.toml").write_text(recipe)
    done = run_live(bed, tmp_path / "live", str(folder), "--for", "8s")
    assert done.returncode == 0, done.stderr
    run = open_run(tmp_path / "live")
    assert (run.manifest.target.name, run.manifest.target.version) == ("dingo", "0.70.1")
    assert {host["node"] for host in run.table("hosts").to_pylist()} == {"dingo"}
    assert sum(host["rejected"] for host in run.table("hosts").to_pylist()) == 0
    events = {row["event"] for row in run.table("block_events").to_pylist()}
    assert events == {"noticed", "requested", "fetched", "forged", "announced", "self_adopted", "adopted"}
    shown = slotmark("show", tmp_path / "live")
    assert shown.returncode == 0, shown.stderr


def test_a_run_by_itself_has_the_name_that_its_node_was_given(
    bed: Path, tmp_path: Path, node: Callable[..., str]
) -> None:
    done = run_live(bed, tmp_path / "live", f"old={node()}")
    assert done.returncode == 0, done.stderr
    assert open_run(tmp_path / "live").manifest.target.name == "old"


def test_a_node_that_stays_is_killed(bed: Path, tmp_path: Path, node: Callable[..., str]) -> None:
    done = run_live(bed, tmp_path / "live", node("--stays", "2"), "--grace", "1s")
    assert done.returncode == 0, done.stderr
    (killed,) = [warning for warning in open_run(tmp_path / "live").manifest.warnings if warning.kind == "node_killed"]
    assert killed.subject == "node-2"


def preparing(folder: Path, script: str) -> None:
    """Lets the recipe in a folder prepare something by a Python script, which its nodes ask for."""
    recipe = folder / "node.toml"
    words = [sys.executable, "-c", script, "{prepared}"]
    text = recipe.read_text().replace('"--magic", "{magic}"]', '"--magic", "{magic}", "--prepared", "{prepared}"]')
    recipe.write_text(f"prepare = {json.dumps(words)}\n{text}")


def test_what_nodes_share_is_prepared_once_before_they_start(
    bed: Path, tmp_path: Path, node: Callable[..., str]
) -> None:
    preparing(tmp_path / "stand-in", "import sys; print('once'); open(sys.argv[1], 'a').write('prepared\\n')")
    done = run_live(bed, tmp_path / "live", node())
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "live.logs" / "prepare.stdout").read_text() == "once\n"
    assert not (tmp_path / "live.logs" / "prepared").exists()


def test_a_preparation_that_fails_ends_the_run_in_a_line_before_any_node_is_started(
    bed: Path, tmp_path: Path, node: Callable[..., str]
) -> None:
    preparing(tmp_path / "stand-in", "import sys; open(sys.argv[1], 'a').write('half'); sys.exit('the disk is full')")
    done = run_live(bed, tmp_path / "live", node())
    assert done.returncode == 2
    assert "its prepare command failed: it exited 1; the disk is full" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["stand-in"]


def test_a_preparation_that_never_ends_ends_the_run_in_a_line(
    bed: Path, tmp_path: Path, node: Callable[..., str]
) -> None:
    preparing(tmp_path / "stand-in", "import time; time.sleep(3600)")
    done = run_live(bed, tmp_path / "live", node(), "--ready-within", "1s")
    assert done.returncode == 2
    assert "its prepare command has not ended after 1 s. Give it more time with --ready-within." in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["stand-in"]


def test_nodes_that_never_get_ready_end_the_run_in_a_line(bed: Path, tmp_path: Path, node: Callable[..., str]) -> None:
    done = run_live(bed, tmp_path / "live", node("--mute"), "--ready-within", "1s")
    assert done.returncode == 2
    assert "3 nodes don't answer, as node-0" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "live").exists()


def test_nodes_that_hang_end_the_run_in_a_line(bed: Path, tmp_path: Path, node: Callable[..., str]) -> None:
    recipe = tmp_path / "stand-in" / "node.toml"
    by_log = 'ready = "log"\n        ready_text = "ready to follow"'
    assert by_log in recipe.read_text()
    recipe.write_text(recipe.read_text().replace(by_log, 'ready = "socket"'))
    done = run_live(bed, tmp_path / "live", node("--hangs"), "--ready-within", "1s")
    assert done.returncode == 2, done.stderr
    assert "3 nodes don't answer, as node-0" in done.stderr.splitlines()[-1]
    assert (tmp_path / "live.logs" / "node-0" / "node.socket").is_socket()


@contextmanager
def measuring(
    bed: Path, out: Path, node: str, *more: str, network: str = "loopback"
) -> Iterator[subprocess.Popen[str]]:
    """A conductor of a long run, once it measures."""
    options = ("--for", "1h", "--network", network, "--no-workload", "--start-in", "2s", "--node", node)
    command = [sys.executable, "-m", "slotmark", "cluster", "run", str(bed), "-o", str(out), *options, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as conductor:
        assert conductor.stderr
        try:
            said = []
            while "measuring" not in (line := conductor.stderr.readline()):
                said.append(line)
                skip_without_network("".join(said))
                assert line, said
            yield conductor
        finally:
            conductor.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_and_keeps_what_was_measured(
    bed: Path, tmp_path: Path, node: Callable[..., str], number: signal.Signals, code: int
) -> None:
    with measuring(bed, tmp_path / "live", node()) as conductor:
        conductor.send_signal(number)
        out, said = conductor.communicate(timeout=PATIENCE_S)
    assert conductor.returncode == code, said
    assert "Traceback" not in said
    assert out == f"{tmp_path / 'live'}\n"
    assert "cut_short" in kinds(open_run(tmp_path / "live"))
    assert not of_conductor(conductor.pid)


def test_two_clusters_at_the_same_ports_are_refused_and_so_is_a_port_that_another_program_has(
    bed: Path, tmp_path: Path, node: Callable[..., str]
) -> None:
    """Our own node shares its port with others of ours: the two clusters would be connected to each other."""
    skip_without_programs()
    with measuring(bed, tmp_path / "first", "slotmark") as conductor:
        second = run_live(bed, tmp_path / "second", "slotmark")
        assert conductor.poll() is None
        conductor.send_signal(signal.SIGINT)
        conductor.communicate(timeout=PATIENCE_S)
    assert second.returncode == 2
    assert "node-0: 127.0.0.1:30000 is another live cluster's, which runs now." in second.stderr.splitlines()[-1]
    with socket.create_server(("127.0.0.1", 30_001)):
        third = run_live(bed, tmp_path / "third", node())
    assert third.returncode == 2
    assert "node-1: another program listens on 127.0.0.1:30001." in third.stderr.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "first.logs", "stand-in"]


@pytest.mark.parametrize("on_death", ["stop", "restart", "go-on"])
def test_a_node_that_dies_is_named_with_its_last_lines(
    bed: Path, tmp_path: Path, node: Callable[..., str], on_death: str
) -> None:
    place = tmp_path / "live.logs" / "node-1"
    with measuring(bed, tmp_path / "live", node(), "--on-death", on_death) as conductor:
        (place / "die").touch()
        assert conductor.stderr
        while "node-1 ended by itself" not in (line := conductor.stderr.readline()):
            assert line
        if on_death == "restart":
            until("it was started again", lambda: (place / "stdout").read_text().count("ready to follow") == 2)
        if on_death != "stop":
            assert conductor.poll() is None
            conductor.send_signal(signal.SIGINT)
        _, rest = conductor.communicate(timeout=PATIENCE_S)
    assert f"node-1 ended by itself: it exited 1; the end of {place / 'stderr'}: the store is gone" in line
    assert conductor.returncode == (2 if on_death == "stop" else 130), rest
    assert "Traceback" not in rest
    found = {warning.kind: warning for warning in open_run(tmp_path / "live").manifest.warnings}
    assert found["node_died"].subject == "node-1"
    assert ("the store is gone" in found["cut_short"].text) == (on_death == "stop")
    assert (place / "stdout").read_text().count("ready to follow") == (2 if on_death == "restart" else 1)


def test_a_log_that_goes_ends_the_run_and_what_was_measured_is_kept(
    bed: Path, tmp_path: Path, node: Callable[..., str]
) -> None:
    log = tmp_path / "live.logs" / "node-1" / "stdout"
    with measuring(bed, tmp_path / "live", node()) as conductor:
        log.rename(log.with_name("stdout-moved"))
        _, said = conductor.communicate(timeout=PATIENCE_S)
    assert conductor.returncode == 2, said
    assert f"{log} can't be written or read: No such file or directory" in said.splitlines()[-1]
    run = open_run(tmp_path / "live")
    (cut,) = [warning for warning in run.manifest.warnings if warning.kind == "cut_short"]
    assert str(log) in cut.text
    assert len(run.table("hosts")) == HOSTS
    assert not of_conductor(conductor.pid)


def test_a_full_disk_leaves_what_nodes_logged(bed: Path, tmp_path: Path, node: Callable[..., str]) -> None:
    logs = tmp_path / "live.logs"
    with measuring(bed, tmp_path / "live", node()) as conductor:
        resource.prlimit(conductor.pid, resource.RLIMIT_FSIZE, (0, 0))  # no file of the conductor's own can grow
        _, said = conductor.communicate(timeout=PATIENCE_S)
    assert conductor.returncode == 2, said
    assert "Traceback" not in said
    assert f"{logs}: what nodes logged is kept there" in said
    assert "make room" in said.splitlines()[-1]
    assert not (tmp_path / "live").exists()
    assert all((logs / f"node-{number}" / "stdout").stat().st_size > 0 for number in range(HOSTS))
    assert not of_conductor(conductor.pid)


def test_a_run_that_its_store_does_not_take_is_kept_whole_in_a_folder(
    bed: Path, tmp_path: Path, node: Callable[..., str], s3: S3
) -> None:
    """With its warnings and what was measured beside the logs, which no reading of the logs gives back."""
    refused = proxy(s3.port, Fault(SLOW_DOWN, "PUT", "tables/"))
    with refused as between, chdir(tmp_path):
        failed = run_live(bed, "s3://runs/by/live", node(), env=s3.environment(between.port))
        again = run_live(bed, "s3://runs/by/live", node(), env=s3.environment())
    assert failed.returncode == 2
    assert (
        "live: the whole run is kept there. Put it into a store: slotmark copy live s3://runs/by/live" in failed.stderr
    )
    assert failed.stderr.splitlines()[-1].endswith("(SlowDown), also when asked again. Try again later.")
    assert s3.names("by/live") == []
    run = open_run(tmp_path / "live")
    check_run(run.place)
    assert {"no_latencies", "no_workload"} <= kinds(run)
    assert "node_usage" in run.manifest.tables
    assert (tmp_path / "live.logs" / "node-0" / "stdout").exists()
    assert (again.returncode, again.stderr) == (
        2,
        "slotmark: -o s3://runs/by/live: live exists already. Name another, or remove it.\n",
    )


@pytest.mark.slow
def test_a_run_in_a_store_leaves_its_logs_here_alone(
    bed: Path, tmp_path: Path, node: Callable[..., str], s3: S3
) -> None:
    with chdir(tmp_path):
        done = run_live(bed, "s3://runs/live", node(), env=s3.environment())
        assert (done.returncode, done.stdout) == (0, "s3://runs/live\n"), done.stderr
        assert "no_latencies" in kinds(open_run("s3://runs/live"))
        assert [one.name for one in tmp_path.glob("live*")] == ["live.logs"]


def test_nothing_runs_on_when_the_conductor_is_killed(bed: Path, tmp_path: Path, node: Callable[..., str]) -> None:
    with measuring(bed, tmp_path / "live", node()) as conductor:
        assert len(of_conductor(conductor.pid)) == HOSTS + 1  # and what notes how late timers are
        conductor.kill()
        conductor.wait()
        until("all nodes have ended", lambda: not of_conductor(conductor.pid))
    assert not (tmp_path / "live").exists()


def test_a_node_that_a_script_started_ends_with_its_run_and_not_only_with_the_session(
    bed: Path, tmp_path: Path
) -> None:
    folder = stand_in_recipe(tmp_path, HOSTS)
    recipe = folder / "node.toml"
    script = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]  # it waits for the node and passes no signal on
    recipe.write_text(recipe.read_text().replace("command = [", f"command = {json.dumps(script)[:-1]}, ", 1))
    asked = {"bed": bed, "out": tmp_path / "live", "network": "loopback", "workload": False, "node": str(folder)}
    live = run_here(Request(seconds=2.0, start_within_s=2, ready_within_s=120, grace_s=1, **asked), lambda _: None)
    assert not of_conductor(os.getpid())
    assert kinds(live.run) >= {"node_killed"}


def test_what_left_the_kernels_reach_is_cleaned_up() -> None:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True, env={**os.environ, MARK: "1:0"}) as lost:
        mine = subprocess.Popen(["sleep", "1000"], env={**os.environ, MARK: f"{os.getpid()}:{start_of(os.getpid())}"})
        try:
            until("it is found", lambda: lost.pid in leftovers())
            assert mine.pid not in leftovers()
            done = slotmark("cluster", "clean")
            assert done.returncode == 0, done.stderr
            assert lost.wait() == -signal.SIGKILL
            assert mine.poll() is None
        finally:
            lost.kill()
            mine.kill()
            mine.wait()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nonesuch", "no node and no program of this name"),
        ("slotmrk", "Did you mean 'slotmark'?"),
        ("'", "No closing quotation"),
        ("", "--node '': names nothing."),
        ("''", "names nothing."),
    ],
)
def test_a_node_that_there_is_not_is_refused_in_a_line(bed: Path, tmp_path: Path, given: str, said: str) -> None:
    done = run_live(bed, tmp_path / "live", given)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "live.logs").exists()


def test_the_emulated_network_carries_a_cluster(bed: Path, tmp_path: Path, node: Callable[..., str]) -> None:
    skip_without_router()
    out = tmp_path / "live"
    done = run_live(bed, out, node(), "--network", "wan")
    skip_without_network(done.stderr)
    assert done.returncode == 0, done.stderr
    run = open_run(out)
    assert run.manifest.parameters["network"] == "wan"
    assert run.manifest.observed["router, lost by itself"] == 0
    assert "no_latencies" not in kinds(run)
    plan = json.loads((tmp_path / "live.logs" / "wan.json").read_bytes())
    assert {host["name"] for host in plan["hosts"]} == {*(f"node-{number}" for number in range(HOSTS)), "generator"}
    for link in plan["links"]:
        assert (link["link"]["delay_us"] == 0) == ("generator" in (link["from"], link["to"]))
    assert run.table("node_usage").to_pylist()[-1]["net_read_bytes"] is not None


def test_a_router_that_dies_ends_the_run_with_how_it_ended(bed: Path, tmp_path: Path, node: Callable[..., str]) -> None:
    skip_without_router()
    with measuring(bed, tmp_path / "live", node(), "--on-death", "go-on", network="wan") as conductor:
        (router,) = [
            pid
            for pid in of_conductor(conductor.pid)
            if b"slotmark-wan\0run" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        os.kill(router, signal.SIGKILL)
        _, said = conductor.communicate(timeout=PATIENCE_S)
    assert conductor.returncode == 2, said
    why = "the emulated network ended by itself, and all hosts with it: it was killed by signal 9"
    assert why in said.splitlines()[-1]
    found = {warning.kind: warning for warning in open_run(tmp_path / "live").manifest.warnings}
    assert why in found["cut_short"].text
    assert "node_died" not in found


def test_a_signal_before_the_measurement_leaves_nothing(bed: Path, tmp_path: Path, node: Callable[..., str]) -> None:
    options = ("--for", "1h", "--network", "loopback", "--start-in", "1h", "--node", node())
    command = [sys.executable, "-m", "slotmark", "cluster", "run", str(bed), "-o", str(tmp_path / "live"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as conductor:
        until(
            "its nodes are there, beside the process that watches timers",
            lambda: len(of_conductor(conductor.pid)) > HOSTS,
        )
        conductor.send_signal(signal.SIGINT)
        out, said = conductor.communicate(timeout=PATIENCE_S)
    assert (conductor.returncode, out) == (130, ""), said
    assert not of_conductor(conductor.pid)
    assert [path.name for path in tmp_path.iterdir()] == ["stand-in"]


def test_a_damaged_bed_is_refused_in_a_line_and_leaves_nothing(
    bed: Path, tmp_path: Path, node: Callable[..., str]
) -> None:
    damaged = tmp_path / "bed"
    shutil.copytree(bed, damaged)
    (damaged / "genesis" / "genesis.shelley.json").unlink()
    done = run_live(damaged, tmp_path / "live", node())
    assert done.returncode == 2
    assert "genesis.shelley.json" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "live.logs").exists()


def test_a_folder_that_is_no_bed_is_refused_in_a_line(tmp_path: Path, node: Callable[..., str]) -> None:
    done = run_live(tmp_path / "nowhere", tmp_path / "live", node())
    assert done.returncode == 2
    assert done.stderr == (
        f"slotmark: {tmp_path}/nowhere/bed.json: can't be read (No such file or directory). Name a folder that `slotmark cluster create` made.\n"
    )


def test_a_bed_whose_numbers_no_clock_can_follow_is_refused_in_a_line(
    bed: Path, tmp_path: Path, node: Callable[..., str]
) -> None:
    damaged = tmp_path / "bed"
    for name in ("slot_length_ns", "epoch_slots"):
        shutil.copytree(bed, damaged, dirs_exist_ok=True)
        description = json.loads((damaged / "bed.json").read_bytes())
        description["genesis"][name] = 0
        (damaged / "bed.json").write_text(json.dumps(description))
        done = run_live(damaged, tmp_path / "live", node())
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert f"bed.json: not the description of a bed (Expected `int` >= 1 - at `$.genesis.{name}`)" in line
    assert not (tmp_path / "live.logs").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--start-in", "1000000000000s"),
        ("--ready-within", "1e400s"),
        ("--grace", "1e400s"),
        ("--for", "1e400s"),
        ("--for", "0.5s"),
    ],
)
def test_a_time_that_no_run_can_take_is_refused_in_a_line(
    bed: Path, tmp_path: Path, node: Callable[..., str], option: str, value: str
) -> None:
    done = run_live(bed, tmp_path / "live", node(), option, value)
    assert done.returncode == 2
    assert done.stderr == f"slotmark: {option} '{value}': expected 1s to 8760h, a year.\n"


def test_the_last_words_of_a_node_end_the_line_once(bed: Path, tmp_path: Path) -> None:
    skip_without_programs()
    done = run_live(bed, tmp_path / "live", "slotmark --ledger nonsense")
    assert done.returncode == 2
    assert done.stderr.endswith("try '--help'.\n")


def test_a_seed_that_no_program_takes_is_refused_before_nodes_are_started(bed: Path, tmp_path: Path) -> None:
    done = run_live(bed, tmp_path / "live", "slotmark", "--seed", str(2**64))
    assert done.returncode == 2
    assert "--seed" in done.stderr
    assert not (tmp_path / "live.logs").exists()


def test_our_own_node_takes_transactions_into_blocks(bed: Path, tmp_path: Path) -> None:
    skip_without_programs()
    skip_without_router()
    out = tmp_path / "live"
    done = slotmark("cluster", "run", bed, "--for", "20s", "-o", out)
    skip_without_network(done.stderr)
    assert done.returncode == 0, done.stderr
    assert "transactions a second" in done.stderr
    run = open_run(out)
    check_run(out)
    assert not kinds(run) & {"node_died", "node_killed", "rejected_lines", "silent_hosts", "no_workload", "load_over"}
    counted = run.manifest.observed
    submissions = run.table("submissions").to_pylist()
    assert [row["number"] for row in submissions] == list(range(counted["transactions offered"]))
    assert 0 < counted["transactions acknowledged"] <= counted["transactions offered"] <= 160
    assert {row["target"] for row in submissions} <= {f"node-{number}" for number in range(HOSTS)}
    for row in submissions:
        times = [row[f"{step}_ns"] for step in ("due", "offered", "requested", "acknowledged")]
        known = [time for time in times if time is not None]
        assert known == sorted(known)
    inclusions = run.table("inclusions").to_pylist()
    assert len(inclusions) == counted["transactions in blocks"] > 0
    # What the generator read from a node's chain is what the nodes' logs have of that block.
    slots = {row["block"]: row["slot"] for row in run.table("block_events").to_pylist() if row["event"] == "forged"}
    assert all(slots[row["block"]] == row["slot"] for row in inclusions)
    with Analysis(run) as analysis:
        submitted = analysis.relation("submitted").to_pylist()
        waited = analysis.samples("submission_to_block").table["value"].to_pylist()
        everywhere = analysis.samples("submission_to_all_hosts").table["value"].to_pylist()
    assert sum(row["in_block"] for row in submitted) == len(waited) > 0
    assert 0 < min(waited) <= min(everywhere, default=float("inf"))
    shown = slotmark("show", out)
    assert "Submission to" in shown.stdout
    beside = slotmark("cluster", "validate", out, "--slots", "1000", "--json")
    assert beside.returncode == 0, beside.stderr
    rows = json.loads(beside.stdout)["rows"]
    centiles = sorted(name.split()[0] for row in rows for name in row["names"] if name.endswith("adoption"))
    assert centiles == ["0.50", "0.80", "0.90", "0.92", "0.94", "0.96", "0.98", "1.00"]
    assert all(row["simulated"] > 0 for row in rows)  # measured may be too little for an error


def test_a_load_that_is_over_before_the_measurement_stops_a_decision(tmp_path: Path) -> None:
    skip_without_programs()
    bed, out = tmp_path / "bed", tmp_path / "live"
    made = slotmark(
        "cluster", "create", "value-only-5", "--hosts", str(HOSTS), "--set", "workload.tx_count=16", "-o", bed
    )
    assert made.returncode == 0, made.stderr
    done = run_live(bed, out, "slotmark", "--workload", "--for", "8s")
    assert done.returncode == 0, done.stderr
    (over,) = [warning for warning in open_run(out).manifest.warnings if warning.kind == "load_over"]
    assert "16 transactions (workload.tx_count), which were due in the first 2 of the 8 s" in over.text
    assert "--set workload.tx_count=64." in over.text
    assert over.kind in catalogue("cluster").stopping


def test_a_workload_that_ends_ends_the_run_and_what_was_measured_is_kept(bed: Path, tmp_path: Path) -> None:
    skip_without_programs()
    with measuring(bed, tmp_path / "live", "slotmark", "--workload", "--for", "2min") as conductor:
        records = tmp_path / "live.logs" / "generator" / "submissions.jsonl"
        until("some were acknowledged", lambda: records.stat().st_size > 0)
        (generator,) = (
            pid
            for pid in of_conductor(conductor.pid)
            if b"slotmark-txgen" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
        )
        os.kill(generator, signal.SIGKILL)
        _, said = conductor.communicate(timeout=PATIENCE_S)
    assert conductor.returncode == 2, said
    assert "the workload ended by itself: it was killed by signal 9" in said
    run = open_run(tmp_path / "live")
    assert {"cut_short", "workload_broke"} <= kinds(run)
    assert run.table("submissions").num_rows > 0
    assert run.table("inclusions").num_rows == 0


def test_a_workload_that_cannot_be_submitted_ends_the_run_in_a_line(
    bed: Path, tmp_path: Path, node: Callable[..., str]
) -> None:
    # The stand-in agrees to a handshake, and asks for nothing.
    done = run_live(bed, tmp_path / "live", recipe := node(), "--workload")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"slotmark: --node {recipe}: the workload ended by itself: ")
    assert (
        f"the workload ended by itself: it exited 2; the end of {tmp_path / 'live.logs' / 'generator' / 'stderr'}"
        in last
    )
    assert "node-0 (127.0.0.1:30000): never asked for transactions (tx-submission, MsgRequestTxIds)" in last
    assert not (tmp_path / "live").exists()
