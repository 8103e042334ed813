"""Pieces on a Ray cluster of two machines, which are network namespaces; what becomes of them when processes, nodes or links are lost."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotmark import open_run
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.benches.cluster.simulating.question import Question, answered
from tests.cluster.made_up_logs import Cluster as LoggingCluster
from tests.cluster.test_forecast import SMALL, replays
from tests.conftest import REPO, bytes_of, slotmark
from tests.engine import ray_cluster
from tests.engine.ray_cluster import Cluster, Machine, waited
from tests.s3 import ACCESS, BUCKET, BUILT, SECRET

SWEEP = [
    "predict",
    "value-only-5",
    "--set",
    "slots=300",
    "--sweep",
    "block_size=22kB..44kB",
    "--steps",
    "2",
    "--seeds",
    "2",
]
PIECES = 6
WORKER = "ray::in_worker"
"""The name that Ray gives the process of a worker that does a piece."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with ray_cluster.both() as made:
        yield made


def pieces(
    cluster: Cluster, *words: str | Path, machine: Machine | None = None, env: Mapping[str, str] | None = None
) -> "subprocess.Popen[str]":
    """Starts tests/engine/ray_pieces.py on a machine."""
    return subprocess.Popen(
        (machine or cluster.a).words(sys.executable, "-m", "tests.engine.ray_pieces", *words),
        cwd=REPO,
        env={**cluster.environment, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def store(cluster: Cluster, folder: Path) -> Iterator[dict[str, str]]:
    """An S3 server that both machines reach, whose objects are files below a folder; the environment with which commands do."""
    if not BUILT.is_file():
        pytest.skip("the S3 server isn't built: make s3-server does it, with Go")
    port, asked = 7070, "import socket; socket.create_connection(('198.18.0.1', 7070), 1)"
    (folder / "data" / BUCKET).mkdir(parents=True)
    (folder / "sidecar").mkdir()
    options = ["--port", f"{cluster.a.address}:{port}", "--access", ACCESS, "--secret", SECRET]
    server = subprocess.Popen(
        cluster.a.words(BUILT, *options, "posix", "--sidecar", folder / "sidecar", folder / "data"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        waited(lambda: cluster.a.run(sys.executable, "-c", asked).returncode == 0)
        yield {
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT": f"http://{cluster.a.address}:{port}",
            "AWS_ALLOW_HTTP": "true",
        }
    finally:
        server.terminate()
        server.wait(timeout=20)


def begun(folder: Path) -> set[int]:
    """The numbers of pieces that have begun."""
    return {int(one.name.split("-")[1]) for one in folder.glob("begun-*")}


def workers(cluster: Cluster) -> list[int]:
    """Processes that do a piece."""
    return [*cluster.a.named(WORKER), *cluster.b.named(WORKER)]


def is_one_line(said: str) -> bool:
    """Returns whether standard error ends with one line of ours, behind the table of nodes, progress and lines of hosts."""
    return said.rstrip("\n").splitlines()[-1].startswith("slotmark: ") and "Traceback" not in said


def test_a_sweep_gives_the_bytes_of_this_machine(cluster: Cluster, tmp_path: Path) -> None:
    out = cluster.folder / "report"  # where the token is looked for in the end
    done = cluster.slotmark(*SWEEP, "-o", out, "--engine", "ray")
    assert done.returncode == 0, done.stderr
    alone = slotmark(*SWEEP, "-o", tmp_path / "local")
    assert alone.returncode == 0
    assert bytes_of(out) == bytes_of(tmp_path / "local")
    assert done.stdout.replace(str(out), "") == alone.stdout.replace(str(tmp_path / "local"), "")
    assert ray_cluster.TOKEN not in done.stdout + done.stderr
    rows = re.findall(r"\(198\.18\.0\.(\d)\)\W+host=([ab])\W+1\W+\d", done.stderr)
    assert rows == [("1", "a"), ("2", "b")]
    counts = re.findall(r"^\S+ \(198\.18\.0\.\d\): (\d+) pieces?, .* of work$", done.stderr, re.MULTILINE)
    assert sum(map(int, counts)) == PIECES


def test_run_folders_are_those_of_this_machine(cluster: Cluster, tmp_path: Path) -> None:
    """A sweep's runs are temporary; those of a prediction that is called by a program stay."""
    question = Question(profile="value-only-5", settings=["slots=300", "ledger_tick.mean=40ms"], seeds=2)
    answered(question, tmp_path / "local", lambda *_: None)
    script = tmp_path / "asks.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        "from slotmark.benches.cluster.simulating.question import Question, answered\nfrom slotmark.engine.ray import on_ray\n"
        "if __name__ == '__main__':\n"
        "    question = Question(profile='value-only-5', settings=['slots=300', 'ledger_tick.mean=40ms'], seeds=2)\n"
        "    with on_ray(Path(sys.argv[1]), insecure=False, labels={}, checked=lambda _: None, remark=lambda _: None) as engine:\n"
        "        answered(question, Path(sys.argv[2]), lambda *_: None, engine)\n",
        encoding="utf-8",
    )
    done = cluster.b.run(sys.executable, script, tmp_path / "kept", tmp_path / "ray", env=cluster.environment)
    assert done.returncode == 0, done.stderr
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "local")


def test_a_label_that_no_node_has_is_refused_before_work_begins(cluster: Cluster, tmp_path: Path) -> None:
    refused = cluster.slotmark(*SWEEP, "-o", tmp_path / "ray", "--engine", "ray", "--ray-label", "host=c")
    assert refused.returncode == 2
    assert refused.stderr.endswith(
        "slotmark: --ray-label host=c: no node of the cluster has that. Nodes have host=a, host=b.\n"
    )


HOSTS = """[all]
programs = ["sh"]
ports = [3001]
[one]
labels = {host = "a"}
"""


def test_hosts_of_a_file_are_checked(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text(HOSTS, encoding="utf-8")
    fine = cluster.slotmark("hosts", "check", file)
    assert (fine.returncode, fine.stderr) == (0, "")
    assert re.search(r"\(198\.18\.0\.2\)\W+host=b\W+1\W+2\.\S+\W+3\.\S+\W+\d\.\S+\W+(\w+\+?\W+)?yes", fine.stdout), (
        "the nodes"
    )
    assert re.search(r"one\W+\S+ \(198\.18\.0\.1\)\W+-?[\d,]+ us ± [\d,]+ us\W+sh\W+3001\W+nothing", fine.stdout)

    file.write_text(
        f'{HOSTS}[two]\nlabels = {{host = "b"}}\nprograms = ["sh", "no-such-program"]\n'
        '[three]\nlabels = {host = "c"}\n[four]\nlabels = {host = "a"}\nports = [6379]\n',
        encoding="utf-8",
    )
    wrong = cluster.slotmark("hosts", "check", file, "--engine", "ray", "--json")
    found = [json.loads(line) for line in wrong.stdout.splitlines()]
    assert wrong.returncode == 2
    assert {one["name"]: one["wrong"] for one in found} == {
        "one": [],
        "two": ["no program no-such-program"],
        "three": ["host=c: 0 nodes, 1 expected"],
        "four": ["port 6379: Address already in use"],
    }
    assert wrong.stderr == "Something is wrong with 3 of 4 hosts.\n"
    clocks = [one["clock"] for one in found if one["node"]]
    assert len(clocks) == 3
    assert all(abs(one["ahead_us"]) <= one["doubt_us"] + 1 for one in clocks), "all are one machine's"


def test_a_wrong_token_is_refused_in_a_line(cluster: Cluster, tmp_path: Path) -> None:
    wrong = tmp_path / "token"
    wrong.write_text("not" + ray_cluster.TOKEN)
    refused = cluster.slotmark(
        *SWEEP, "-o", tmp_path / "ray", "--engine", "ray", env={"RAY_AUTH_TOKEN_PATH": str(wrong)}
    )
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "the cluster refused the token of this command" in refused.stderr


def test_a_piece_whose_worker_is_killed_is_done_again(cluster: Cluster, tmp_path: Path) -> None:
    printed, said = pieces(cluster, "killed_at_first", tmp_path / "out", "3", tmp_path).communicate(timeout=240)
    assert json.loads(printed) == [0, 1, 2], said
    assert (tmp_path / "killed").exists()


def test_a_piece_that_always_loses_its_worker_is_given_up_in_a_line(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "begun-0").touch()
    script = tmp_path / "asks.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nfrom slotmark.engine import Piece\nfrom slotmark.engine.ray import on_ray\n"
        "from slotmark.errors import PieceError\nfrom tests.engine.works import wrong\n"
        "if __name__ == '__main__':\n"
        "    quiet = {'checked': lambda _: None, 'remark': lambda _: None}\n"
        "    try:\n"
        "        with on_ray(Path(sys.argv[1]), insecure=False, labels={}, **quiet) as engine:\n"
        "            engine([Piece(work=wrong, inputs=(1, 'killed', sys.argv[2]), label='number 1')], list)\n"
        "    except PieceError as error:\n"
        "        sys.exit(str(error))\n",
        encoding="utf-8",
    )
    done = cluster.a.run(sys.executable, script, tmp_path / "out", tmp_path, env=cluster.environment)
    assert re.fullmatch(
        r"number 1 \(the piece works\.wrong-\w{12}\): given up by Ray: .*died.* What is finished is kept; "
        r"mend that, and run the same command again\.\n",
        done.stderr,
    ), done.stderr


def test_ctrl_c_cancels_and_leaves_what_is_finished(cluster: Cluster, tmp_path: Path) -> None:
    process = pieces(cluster, "held", tmp_path / "out", "4", tmp_path)
    waited(lambda: len(begun(tmp_path)) == 3, process)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == -signal.SIGINT, said
    waited(lambda: not workers(cluster))
    (tmp_path / "go").touch()
    printed, said = pieces(cluster, "held", tmp_path / "out", "4", tmp_path).communicate(timeout=240)
    assert json.loads(printed) == [0, 1, 2, 3]
    assert said.startswith("1 of 4 pieces were finished before.\n")


def test_pieces_end_with_a_driver_that_is_killed_and_a_rerun_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    process = pieces(cluster, "held", tmp_path / "out", "4", tmp_path)
    waited(lambda: len(begun(tmp_path)) == 3, process)
    process.kill()
    process.communicate()
    waited(lambda: not workers(cluster) and not cluster.a.named("ray_pieces", "spawn_main"))
    (tmp_path / "go").touch()
    printed, said = pieces(cluster, "held", tmp_path / "out", "4", tmp_path).communicate(timeout=240)
    assert json.loads(printed) == [0, 1, 2, 3]
    assert said.startswith("1 of 4 pieces were finished before.\n")


def test_what_is_finished_is_found_in_a_store_by_a_call_on_another_machine(cluster: Cluster, tmp_path: Path) -> None:
    with store(cluster, tmp_path) as environment:
        outputs = tmp_path / "data" / BUCKET / "sweep" / "outputs"
        process = pieces(cluster, "held", f"s3://{BUCKET}/sweep", "2", tmp_path, env=environment)
        waited(lambda: list(outputs.glob("works.held-*")), process)
        process.kill()
        process.communicate()
        waited(lambda: not workers(cluster))
        (tmp_path / "go").touch()
        again = pieces(cluster, "held", f"s3://{BUCKET}/sweep", "2", tmp_path, machine=cluster.b, env=environment)
        printed, said = again.communicate(timeout=240)
        assert json.loads(printed) == [0, 1], said
        assert "1 of 2 pieces were finished before." in said
        assert len(list(outputs.iterdir())) == 2


def test_a_node_that_is_lost_and_comes_back_with_another_slotmark(cluster: Cluster, tmp_path: Path) -> None:
    process = pieces(cluster, "held", tmp_path / "out", "4", tmp_path)
    waited(lambda: cluster.a.named(WORKER) and cluster.b.named(WORKER) and len(begun(tmp_path)) == 3, process)
    assert cluster.b.kill("raylet/raylet") == 1
    waited(lambda: not cluster.b.named(WORKER))
    (tmp_path / "go").touch()
    printed, said = process.communicate(timeout=240)
    assert json.loads(printed) == [0, 1, 2, 3], said

    cluster.b.end_processes()
    other = tmp_path / "other"
    shutil.copytree(REPO / "python" / "slotmark", other / "slotmark", ignore=shutil.ignore_patterns("__pycache__"))
    cluster.start(cluster.b, env={"PYTHONPATH": f"{other}{os.pathsep}{cluster.environment['PYTHONPATH']}"})
    try:
        refused = cluster.slotmark(*SWEEP, "-o", tmp_path / "ray", "--engine", "ray")
        assert refused.returncode == 2
        assert is_one_line(refused.stderr)
        assert re.search(
            r"slotmark: \S+ \(198\.18\.0\.2\): slotmark \S+, here \S+ \w+\+?\. Install the same on all nodes",
            refused.stderr,
        )
    finally:
        cluster.b.end_processes()
        cluster.start(cluster.b)


def test_pieces_of_a_host_that_is_lost_are_told_and_done_when_it_is_back(cluster: Cluster, tmp_path: Path) -> None:
    process = pieces(cluster, "held", tmp_path / "out", "2", tmp_path, "b")
    waited(lambda: len(begun(tmp_path)) == 2, process)
    assert not cluster.a.named(WORKER)
    assert cluster.b.kill("raylet/raylet") == 1
    said = process.communicate(timeout=240)[1]
    assert re.search(
        r"^PieceError: number 1 \(the piece works\.held-\w{12}\): given up by Ray: ", said, re.MULTILINE
    ), said
    cluster.b.end_processes()
    cluster.start(cluster.b)
    (tmp_path / "go").touch()
    printed, said = pieces(cluster, "held", tmp_path / "out", "2", tmp_path, "b").communicate(timeout=240)
    assert json.loads(printed) == [0, 1], said
    assert said.startswith("1 of 2 pieces were finished before.\n")


def test_logs_are_read_where_they_lie(cluster: Cluster, tmp_path: Path) -> None:
    """Each by the node that its host is; what travels is parts of tables."""
    made = LoggingCluster(2)
    for host in range(2):
        for slot in range(100, 160):
            made.check(host, slot)
    logs = made.write(tmp_path / "logs")
    for place, name in enumerate(ray_cluster.MACHINES):
        (logs / f"node-{place}").rename(logs / name)
    alone = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "alone" / "run"))[0]
    where = [f"{name}:{logs / name}" for name in ray_cluster.MACHINES]
    genesis = logs / "genesis" / "genesis.shelley.json"
    run = tmp_path / "run"
    done = cluster.slotmark("ingest", *where, "--genesis", genesis, "-o", run, "--engine", "ray")
    assert done.returncode == 0, done.stderr
    assert bytes_of(run / "tables") == bytes_of(alone.path / "tables")
    assert re.findall(r"\(198\.18\.0\.(\d)\): 1 piece, ", done.stderr) == ["1", "2"]
    assert [source.path for source in open_run(run).manifest.sources] == [f"{one}/stdout" for one in where]
    assert [one.name for one in run.parent.iterdir() if one.name.startswith(".")] == []
    refused = cluster.slotmark("ingest", "c:/logs", "--genesis", genesis, "-o", tmp_path / "no", "--engine", "ray")
    assert refused.returncode == 2
    assert "slotmark: c: 0 nodes of the Ray cluster are that host, 1 expected. Nodes are a, b; " in refused.stderr


def test_simulations_of_several_seeds_are_those_of_this_machine(cluster: Cluster, tmp_path: Path) -> None:
    asked = ["simulate", "value-only-5", "--set", "slots=300", "--direct", "--repeat", "2"]
    done = cluster.slotmark(*asked, "-o", tmp_path / "ray", "--engine", "ray")
    assert done.returncode == 0, done.stderr
    assert slotmark(*asked, "-o", tmp_path / "local").returncode == 0
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "local")


def test_a_forecast_is_that_of_this_machine(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    sides = [replays(tmp_path / "replays", name, seed=1, tick=tick) for name, tick in (("old", 1.0), ("new", 1.2))]
    asked = ["forecast", *sides, "--profile", tmp_path / "small.toml", "--seeds", "2"]
    done = cluster.slotmark(*asked, "-o", tmp_path / "ray", "--engine", "ray")
    assert done.returncode == 0, done.stderr
    assert slotmark(*asked, "-o", tmp_path / "local").returncode == 0
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "local")


def test_the_token_is_in_no_file(cluster: Cluster) -> None:
    """Looks through all that the tests before have left: a report, what our driver and Ray's own processes wrote."""
    kept = cluster.folder / "cut"
    process = pieces(cluster, "held", kept, "2", cluster.folder)
    waited(lambda: len(begun(cluster.folder)) == 2, process)
    process.kill()
    process.communicate()
    token = ray_cluster.TOKEN.encode()
    files = [file for file in cluster.folder.rglob("*") if file.is_file()]
    assert {"report.json", "ray.log", "raylet.out"} <= {file.name for file in files}
    assert [file for file in files if token in file.read_bytes()] == [cluster.token], (
        "found where it is, and nowhere else"
    )


def test_the_secret_of_a_store_is_in_no_file(cluster: Cluster, tmp_path: Path) -> None:
    """Looks for it as for the token: after an ingest whose worker reads the store, and after a command that was killed while it wrote there."""
    with store(cluster, cluster.folder) as secrets:
        kept = f"s3://{BUCKET}/cut"
        process = pieces(cluster, "held", kept, "2", cluster.folder / "killed", env=secrets)
        waited(lambda: len(begun(cluster.folder / "killed")) == 2, process)
        process.kill()
        printed = process.communicate()
        cluster.b.end_processes()
        cluster.start(cluster.b, env=secrets)
        made = LoggingCluster(2)
        for slot in range(100, 160):
            made.check(slot % 2, slot)
        made.write(cluster.folder / "data" / BUCKET / "logs")
        asked = [
            "ingest",
            f"s3://{BUCKET}/logs",
            "-o",
            f"s3://{BUCKET}/run",
            "--engine",
            "ray",
            "--ray-label",
            "host=b",
        ]
        in_folder = ["env", "-C", tmp_path, sys.executable, "-m", "slotmark"]
        done = cluster.a.run(*in_folder, *asked, env={**cluster.environment, **secrets})
    assert done.returncode == 0, done.stderr
    assert re.search(r"\(198\.18\.0\.2\): 1 piece, ", done.stderr)
    assert not list(tmp_path.iterdir())
    secret = SECRET.encode()
    files = [file for file in cluster.folder.rglob("*") if file.is_file()]
    assert {"run.json", "ray.log", "raylet.out"} <= {file.name for file in files}
    assert [file for file in files if secret in file.read_bytes()] == []
    assert SECRET not in "".join((*printed, done.stdout, done.stderr))


@pytest.mark.slow
def test_a_link_that_is_cut_for_half_a_minute(cluster: Cluster, tmp_path: Path) -> None:
    process = pieces(cluster, "held", tmp_path / "out", "4", tmp_path)
    waited(lambda: cluster.a.named(WORKER) and cluster.b.named(WORKER) and len(begun(tmp_path)) == 3, process)
    cluster.link(up=False)
    time.sleep(30)
    cluster.link(up=True)
    (tmp_path / "go").touch()
    printed, said = process.communicate(timeout=300)
    assert json.loads(printed) == [0, 1, 2, 3], said
    cluster.b.end_processes()
    cluster.start(cluster.b)


@pytest.mark.slow
def test_a_piece_beyond_the_memory_of_its_node_is_given_up_in_a_line(cluster: Cluster, tmp_path: Path) -> None:
    """The node may use 1 GiB more than what is used now; the piece takes 4."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    kib = {name: int(value.split()[0]) for name, value in (line.split(":") for line in lines)}
    if kib["MemAvailable"] < 6 << 20:
        pytest.skip("a piece of 4 GiB needs 6 GiB of free memory")
    most = 1 - (kib["MemAvailable"] - (1 << 20)) / kib["MemTotal"]
    cluster.b.end_processes()
    cluster.start(cluster.b, env={"RAY_memory_usage_threshold": f"{most:.4f}", "RAY_memory_monitor_refresh_ms": "100"})
    try:
        process = pieces(cluster, "filling", tmp_path / "out", "2", tmp_path, "b")
        said = process.communicate(timeout=240)[1]
        assert process.returncode == 1
        assert re.search(
            r"^PieceError: number 1 \(the piece works\.filling-\w{12}\): given up by Ray: .*memory.* What is finished is kept",
            said,
            re.MULTILINE,
        ), said
        assert "Traceback" not in said
        tried = [one.name for one in tmp_path.glob("begun-1-*")]
        assert len(tried) == 4, "Ray's default is to try for ever"
        (tmp_path / "go").touch()
        printed, said = pieces(cluster, "filling", tmp_path / "out", "2", tmp_path, "b").communicate(timeout=240)
        assert json.loads(printed) == [0, 1], said
        assert said.startswith("1 of 2 pieces were finished before.\n")
    finally:
        cluster.b.end_processes()
        cluster.start(cluster.b)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["gcs_server", "raylet/raylet"])
def test_a_head_that_is_lost_is_told_in_a_line(part: str, tmp_path: Path) -> None:
    with ray_cluster.both() as made:
        process = pieces(made, "held", tmp_path / "out", "4", tmp_path)
        waited(lambda: len(begun(tmp_path)) == 3, process)
        assert made.a.kill(part) == 1
        said = process.communicate(timeout=300)[1]
        assert process.returncode == 1
        assert re.search(
            r"^EngineError: 198\.18\.0\.1:6379: the Ray cluster was lost: .* What is finished is kept",
            said,
            re.MULTILINE,
        )
        assert "Traceback" not in said
        waited(lambda: not workers(made))


@pytest.mark.slow
def test_a_cluster_without_tokens_is_used_only_when_asked_for(tmp_path: Path) -> None:
    with ray_cluster.both(secured=False, nodes=("a",)) as made:
        refused = made.slotmark(*SWEEP, "-o", tmp_path / "ray", "--engine", "ray")
        assert refused.returncode == 2
        assert is_one_line(refused.stderr)
        assert "asks for no token" in refused.stderr
        assert "RAY_AUTH_MODE=token; or go on with --insecure-ray" in refused.stderr
        done = made.slotmark(*SWEEP, "-o", tmp_path / "ray", "--engine", "ray", "--insecure-ray")
        assert done.returncode == 0, done.stderr
        assert "insecure_ray" in (tmp_path / "ray" / "report.json").read_text(encoding="utf-8")
