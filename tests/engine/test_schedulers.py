"""Shards under systems that start jobs: Slurm itself where it is installed; of others what their files make a shell do."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.requests import Question
from slotmark.benches.cluster.simulating.question import answered, merged, shard_done
from tests.conftest import REPO, slotmark

FILES = REPO / "examples" / "shards"
QUESTION = Question(profile="value-only-5", settings=["slots=300"], sweep="block_size=22kB..44kB", steps=2, seeds=2)
PREDICTED = ["value-only-5", "--set", "slots=300", "--sweep", "block_size=22kB..44kB", "--steps", "2", "--seeds", "2"]


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """A program ``slotmark`` that is the one under test."""
    program = tmp_path / "bin" / "slotmark"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slotmark "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of commands of a Slurm of one node, which is this machine; its daemons end with the test."""
    daemons = ("munged", "slurmctld", "slurmd")
    if not all(map(shutil.which, daemons)):
        pytest.skip("Slurm is not installed: slurm-wlm and munge, as Debian has them")
    if os.geteuid() != 0:
        pytest.skip("a daemon of Slurm's that starts jobs needs root here")
    here, host = tmp_path / "slurm", socket.gethostname().partition(".")[0]
    for name in ("state", "spool", "munge"):
        (here / name).mkdir(mode=0o700, parents=True)
    here.chmod(0o755)
    key = here / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    with ExitStack() as held:
        ports = []
        for _ in range(2):
            free = held.enter_context(socket.socket())
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    configuration = here / "slurm.conf"
    configuration.write_text(
        f"ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n"
        f"AuthInfo=socket={here}/munge/socket\nStateSaveLocation={here}/state\nSlurmdSpoolDir={here}/spool\n"
        f"SlurmctldPort={ports[0]}\nSlurmdPort={ports[1]}\nSlurmctldPidFile={here}/c.pid\nSlurmdPidFile={here}/d.pid\n"
        "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
        f"MpiDefault=none\nNodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN\n"
        f"PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    of_munge = [f"--{what}={here}/munge/{what}" for what in ("key-file", "socket", "pid-file", "log-file", "seed-file")]
    of_munge[0] = f"--key-file={key}"
    with ExitStack() as started:
        for words in (["munged", "--force", "--foreground", *of_munge], ["slurmctld", "-D"], ["slurmd", "-D"]):
            log = started.enter_context((here / f"{words[0]}.log").open("wb"))
            process = started.enter_context(subprocess.Popen(words, env=environment, stdout=log, stderr=log))
            started.callback(process.terminate)
        until = time.monotonic() + 120
        while (
            "idle"
            not in subprocess.run(["sinfo", "-h"], env=environment, capture_output=True, text=True, check=False).stdout
        ):
            assert time.monotonic() < until, (here / "slurmctld.log").read_text(encoding="utf-8")
            time.sleep(0.2)
        yield environment


@pytest.mark.timeout(600)
def test_a_job_array_of_slurm_does_all_shards(slurm: dict[str, str], command: Path, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    done = subprocess.run(
        ["sbatch", "--wait", "--array=1-4", FILES / "slurm.sh", out, *PREDICTED],
        env={**slurm, "SLOTMARK": str(command)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    printed = [file.read_text(encoding="utf-8") for file in sorted(tmp_path.glob("slurm-*.out"))]
    assert done.returncode == 0, (done.stderr, printed)
    assert [re.match(r"Shard \d/4", one) is not None for one in printed] == [True] * 4
    assert len(merged(out, tmp_path / "merged", lambda *_: None)) == 2


def test_the_script_of_an_array_takes_its_shard_from_the_tasks_number(command: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "SLOTMARK": str(command), "SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "4"}
    done = subprocess.run(
        [FILES / "slurm.sh", tmp_path / "sweep", *PREDICTED],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "Shard 3/4: 1 piece finished; of all shards 5 are missing.\n"


def test_the_job_of_kubernetes_does_the_shard_behind_its_index(command: Path, tmp_path: Path) -> None:
    text = (FILES / "kubernetes.yaml").read_text(encoding="utf-8")
    found = re.search(r"args:\n +- >-\n((?: {14}.*\n)+)", text)
    assert found is not None
    line = " ".join(found[1].split())
    assert "completions: 40\n" in text
    small = re.sub(r"value-only-10\.5 .* --shard", f"{shlex.join(PREDICTED)} --shard", line)
    small = small.replace(" /sweep", f" {shlex.quote(str(tmp_path / 'sweep'))}")
    done = subprocess.run(
        ["/bin/sh", "-c", small],
        env={**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Shard 6/40: ")


def test_folders_of_single_shards_are_put_together_by_copying(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        shard_done(QUESTION, f"{number}/3", tmp_path / str(number), lambda *_: None)
        shutil.copytree(tmp_path / str(number), tmp_path / "sweep", dirs_exist_ok=True)
    together = merged(tmp_path / "sweep", tmp_path / "merged", lambda *_: None)
    alone = answered(QUESTION, tmp_path / "alone", lambda *_: None)
    assert [msgspec.json.encode(run.manifest) for run in together] == [
        msgspec.json.encode(run.manifest) for run in alone
    ]


def test_the_commands_of_the_files_are_commands() -> None:
    files = sorted(FILES.glob("*.yaml"))
    assert files
    for file in files:
        words = " ".join(file.read_text(encoding="utf-8").split())
        found = re.search(r"slotmark (predict value-only-10\.5 .*?) --shard", words)
        assert found is not None
        refused = slotmark(*shlex.split(found[1]), "--shard", "0/1", "-o", "nowhere")
        assert (refused.returncode, "expected N/OF" in refused.stderr) == (2, True)
