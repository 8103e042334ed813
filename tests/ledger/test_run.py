"""`slotmark ledger run` as a whole, through the command."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from slotmark import open_run
from slotmark.benches.ledger.engine import backends, genesis_files, program
from slotmark.benches.ledger.scratch import scratch_below
from slotmark.benches.ledger.tables import BLOCKS, PROCESSES
from slotmark.errors import TargetError
from slotmark.metrics import catalogue, samples
from tests.conftest import slotmark
from tests.measure.ends import killed_at

BLOCK_COUNT = 300
CHUNKS = ("00000.chunk", "00001.chunk")
"""The files of the chain that hold so many blocks."""

# What another engine might be: it reads the chain's points from `slotmark chain`'s own reader and writes db-analyser's table.
ANALYSER = """
import sys, time
from slotmark import _core
chain, out = sys.argv[1:3]
time.sleep(0.3)  # long enough that its memory is seen
points = _core.digests(chain, "origin", COUNT, "headers", 1)
with open(out, "w") as file:
    file.write("slot\\tslotGap\\ttotalTime\\tmut\\tgc\\tmut_forecast\\n")
    for number, (_, _, point) in enumerate(points):
        slot = point.split(".")[0]
        file.write(f"{slot}\\t1\\t{100 + number % 7 + time.monotonic_ns() % 5}\\t90\\t10\\t3\\n")
"""


def analyser(folder: Path, blocks: int = BLOCK_COUNT) -> str:
    file = folder / "analyser.py"
    file.write_text(ANALYSER.replace("COUNT", str(blocks)), encoding="utf-8")
    return f"{sys.executable} {file} {{chain}} {{out}}"


def arguments(chain: Path, out: Path, *more: str) -> list[str]:
    return ["ledger", "run", "--chain", str(chain), "--blocks", str(BLOCK_COUNT), "-o", str(out), *more]


@pytest.fixture(scope="module", autouse=True)
def _engine() -> None:
    try:
        program()
    except TargetError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def runs(small_chain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    made = slotmark(*arguments(small_chain, out, "--backend", ",".join(backends()), "--rounds", "3"))
    assert made.returncode == 0, made.stderr
    assert [str(out / name) for name in backends()] == made.stdout.splitlines()[-3:]
    return out


def _digested(folder: Path, names: Sequence[str]) -> list[tuple[int, str]]:
    files = [(folder / name).read_bytes() for name in names]
    return [(len(file), hashlib.sha256(file).hexdigest()) for file in files]


def test_each_target_has_a_run_of_the_same_blocks(runs: Path, small_chain: Path) -> None:
    assert sorted(path.name for path in runs.iterdir()) == sorted(backends())
    places: list[int] = []
    for name in backends():
        run = open_run(runs / name)
        blocks, processes = run.table("blocks"), run.table("processes")
        assert blocks.schema.equals(BLOCKS)
        assert processes.schema.equals(PROCESSES)
        assert blocks.num_rows == 3 * BLOCK_COUNT
        assert blocks["run"].to_pylist() == [number for number in (1, 2, 3) for _ in range(BLOCK_COUNT)]
        assert blocks["total_us"].to_pylist() == [time // 1000 for time in blocks["total_ns"].to_pylist()]
        assert len(set(processes["digest"].to_pylist())) == 1
        assert processes["peak_bytes"].null_count == 0
        assert (processes["disk_bytes"].null_count == 3) == (name == "memory")
        assert run.manifest.origin == "measured"
        sources = run.manifest.sources
        assert [source.path for source in sources] == list(CHUNKS)
        assert [(source.bytes, source.sha256) for source in sources] == _digested(small_chain, CHUNKS)
        places += processes["place"].to_pylist()
    assert sorted(places) == list(range(9))
    assert len({open_run(runs / name).manifest.session for name in backends()}) == 1
    assert len({open_run(runs / name).table("processes")["digest"][0].as_py() for name in backends()}) == 1


def test_metrics_are_the_columns_in_their_units(runs: Path) -> None:
    run = open_run(runs / "lsm")
    blocks, processes = run.table("blocks"), run.table("processes")
    held = {"run": 0, "block": 0}
    for metric in catalogue("ledger").metrics:
        found = samples(run, metric.id).table["value"].to_pylist()
        if metric.grain == ("run",):
            column = metric.id.replace("_mb", "_bytes").replace("peak_memory", "peak")
            worth = 1e6 if metric.unit == "MB" else 1
            assert found == [value / worth for value in processes[column].to_pylist()], metric.id
            held["run"] += 1
        elif f"{metric.value.partition('_ns')[0]}_ns" in blocks.column_names:
            column = f"{metric.value.partition('_ns')[0]}_ns"
            assert found == [value / 1000 for value in blocks[column].drop_null().to_pylist()], metric.id
            held["block"] += bool(found)
    assert min(held.values()) > 2, held


def test_they_are_compared_with_verdicts(runs: Path, tmp_path: Path) -> None:
    made = slotmark("compare", *(runs / name for name in backends()), "-o", tmp_path / "report")
    assert made.returncode == 0, made.stderr
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    rows = {row["metric"]["id"] for row in report["rows"]}
    assert {"total_us", "resolve_us", "utxo_apply_us", "peak_memory_mb"} <= rows
    alone = slotmark("show", runs / "lmdb")
    assert alone.returncode == 0, alone.stderr
    assert "Flush" in alone.stdout


def test_any_command_is_a_target(small_chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    command = analyser(tmp_path)
    made = slotmark(
        *arguments(small_chain, out, "--target", f"base={command}", "--target", f"new={command}", "--rounds", "3")
    )
    assert made.returncode == 0, made.stderr
    run = open_run(out / "base")
    assert run.table("blocks")["forecast_us"].to_pylist() == [3] * 3 * BLOCK_COUNT
    assert run.table("processes")["peak_bytes"].null_count == 0
    compared = slotmark("compare", out / "base", out / "new")
    assert compared.returncode == 0, compared.stderr


def test_the_memory_of_what_a_command_starts_is_its_own(small_chain: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "runs", tmp_path / "launcher.py"
    file.write_text(
        "import subprocess, sys, time\n"
        "if sys.argv[1] != 'works':\n"
        "    sys.exit(subprocess.call([sys.executable, sys.argv[0], 'works', *sys.argv[1:]]))\n"
        "held = bytearray(b'x' * 200_000_000)\n"
        "time.sleep(1.5)\n"
        "sys.exit(subprocess.call(sys.argv[2:]))\n"
    )
    launcher = f"launcher={sys.executable} {file} {analyser(tmp_path)}"
    made = slotmark(*arguments(small_chain, out, "--target", launcher, "--rounds", "1"))
    assert made.returncode == 0, made.stderr
    (peak,) = open_run(out / "launcher").table("processes")["peak_bytes"].to_pylist()
    assert peak >= 200_000_000


def test_reapplied_blocks_end_with_the_same_set_and_are_other_work(small_chain: Path, tmp_path: Path) -> None:
    given = (
        "--genesis",
        str(small_chain / "genesis" / "shelley-genesis.json"),
        "--backend",
        "memory,lmdb",
        "--rounds",
        "1",
    )
    phases, digests = {}, set()
    for name, more in (("full", ()), ("again", ("--reapply",))):
        made = slotmark(*arguments(small_chain, tmp_path / name, *given, *more))
        assert made.returncode == 0, made.stderr
        for store in ("memory", "lmdb"):
            run = open_run(tmp_path / name / store)
            digests |= set(run.table("processes")["digest"].to_pylist())
            phases[name, store] = run.manifest.workload["totals"].partition(": ")[2].split(", ")
            assert run.manifest.workload.get("mode") == ("reapplication" if more else None)
    assert len(digests) == 1
    checks = {"header_check", "phase_one", "phase_two"}
    for store in ("memory", "lmdb"):
        assert checks <= set(phases["full", store])
        assert phases["again", store] == [phase for phase in phases["full", store] if phase not in checks]
    compared = slotmark("compare", tmp_path / "full" / "memory", tmp_path / "again" / "memory")
    assert compared.returncode == 2
    assert "did different work" in compared.stderr


def test_idle_time_before_blocks_is_part_of_nothing_and_recorded(small_chain: Path, tmp_path: Path) -> None:
    blocks, pause_s = 3, 1
    given = ("--backend", "memory", "--rounds", "1", "--blocks", str(blocks))
    runs = {}
    for name, more in (("busy", ()), ("idle", ("--pause", f"{pause_s}s"))):
        made = slotmark(*arguments(small_chain, tmp_path / name, *given, *more))
        assert made.returncode == 0, made.stderr
        runs[name] = open_run(tmp_path / name / "memory")
    tables = {name: run.table("processes") for name, run in runs.items()}
    assert tables["idle"]["digest"] == tables["busy"]["digest"]
    idle_ns = blocks * pause_s * 10**9
    (elapsed_ns,), (wall_ns,) = (tables["idle"][name].to_pylist() for name in ("elapsed_ns", "wall_ns"))
    assert elapsed_ns < idle_ns < wall_ns
    stated = {name: run.manifest.parameters["idle before each block"] for name, run in runs.items()}
    assert stated == {"busy": "none", "idle": "1000 ms"}
    compared = slotmark("compare", runs["busy"].path, runs["idle"].path)
    shown = " ".join(compared.stdout.split())
    assert "Parameter 'idle before each block' differs: none for the baseline, 1000 ms here" in shown
    other = slotmark(
        *arguments(small_chain, tmp_path / "other", "--target", f"other={analyser(tmp_path)}", "--pause", "1s")
    )
    assert other.returncode == 2
    assert "only slotmark's engine can be idle" in other.stderr


def test_our_engines_sources_are_the_chain_and_the_genesis_files_that_it_reads(
    small_chain: Path, tmp_path: Path
) -> None:
    genesis = small_chain / "genesis"
    given = ("--genesis", str(genesis / "shelley-genesis.json"))
    out = tmp_path / "runs"
    other = f"other={analyser(tmp_path)}"
    made = slotmark(*arguments(small_chain, out, "--backend", "memory", "--target", other, "--rounds", "1", *given))
    assert made.returncode == 0, made.stderr
    names = [f"{era}-genesis.json" for era in ("shelley", "byron", "alonzo", "conway")]
    of_other, of_ours = (open_run(out / name).manifest.sources for name in ("other", "memory"))
    assert [source.path for source in of_other] == list(CHUNKS)
    assert of_ours[: len(CHUNKS)] == of_other
    files = of_ours[len(CHUNKS) :]
    assert [source.path for source in files] == [str(genesis / name) for name in names]
    assert [(source.bytes, source.sha256) for source in files] == _digested(genesis, names)
    alone = shutil.copy(genesis / "shelley-genesis.json", tmp_path)
    assert [source.path for source in genesis_files(Path(alone))] == [alone]


def test_engines_whose_times_hold_other_work_are_not_compared(runs: Path, small_chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    made = slotmark(*arguments(small_chain, out, "--target", f"other={analyser(tmp_path)}", "--rounds", "1"))
    assert made.returncode == 0, made.stderr
    refused = slotmark("compare", runs / "memory", out / "other")
    assert refused.returncode == 2
    assert "did different work: totals is" in refused.stderr


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("false {out}", "bad: exited 1"),
        ("/none/such {out}", "bad: can't start"),
        ("true {out}", "bad: it ended well and wrote nothing"),
        ("sh -c 'echo no room >&2; exit 3' {out}", "bad: exited 3: no room"),
        ("sh -c 'echo hello >$0' {out}", "neither JSON nor a table"),
        ("sh -c 'kill -9 $$' {out}", "bad: was killed by signal 9"),
    ],
)
def test_a_target_that_fails_costs_only_itself(command: str, why: str, small_chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    made = slotmark(*arguments(small_chain, out, "--backend", "memory", "--target", f"bad={command}", "--rounds", "2"))
    assert made.returncode == 2
    assert why in made.stderr
    assert made.stderr.splitlines()[-1].endswith("What did not fail was kept.")
    assert [path.name for path in out.iterdir()] == ["memory"]
    assert open_run(out / "memory").table("processes").num_rows == 2


def test_a_target_that_replays_other_blocks_is_refused(small_chain: Path, tmp_path: Path) -> None:
    made = slotmark(
        *arguments(small_chain, tmp_path / "runs", "--target", f"short={analyser(tmp_path, 200)}", "--rounds", "1")
    )
    assert made.returncode == 2
    assert "it replayed 200 blocks, 300 were to be" in made.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ([], "nothing to measure"),
        (["--backend", "lms"], "Did you mean 'lsm'?"),
        (["--backend", "lsm,lsm"], "two targets are called 'lsm'"),
        (["--target", "x=true"], "Put {out} where"),
        (["--target", "a/b=true {out}"], "a name that can be a folder's"),
        (["--target", "x='true {out}"], "Close every quote"),
        (["--backend", "memory", "--genesis", "none.json"], "--genesis: none.json can't be read (No such file"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(more: list[str], why: str, small_chain: Path, tmp_path: Path) -> None:
    made = slotmark(*arguments(small_chain, tmp_path / "runs", *more))
    assert made.returncode == 2
    assert why in made.stderr
    assert not (tmp_path / "runs").exists()


def test_a_session_that_was_cut_is_resumed(small_chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    slow = f"slow=sh -c 'sleep 0.3; exec {program()} --backend memory --blocks {BLOCK_COUNT} --state {{state}} --chain {{chain}} --out {{out}}'"
    words = arguments(small_chain, out, "--target", slow, "--rounds", "4")
    left = out / "unfinished-session.jsonl"
    with subprocess.Popen(
        [sys.executable, "-m", "slotmark", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as session:
        for _ in range(3_000):
            if left.exists() and left.read_bytes().count(b"\n") >= 2:
                break
            time.sleep(0.02)
        os.kill(session.pid, signal.SIGINT)
        _, said = session.communicate(timeout=60)
    assert session.returncode == 130, said
    assert "are finished and kept" in said
    assert sorted(path.name for path in out.iterdir()) == ["unfinished-session", "unfinished-session.jsonl"]
    kept = left.read_bytes().count(b"\n") - 1
    again = slotmark(*words)
    assert again.returncode == 2
    assert "Go on with --resume" in again.stderr
    other = slotmark(*words, "--seed", "2", "--resume")
    assert other.returncode == 2
    assert "parameter 'seed' was 1, is 2" in other.stderr
    part = out / "unfinished-session" / "0.parquet"
    whole = part.read_bytes()
    for damage in (whole[:100], None):
        part.unlink() if damage is None else part.write_bytes(damage)
        damaged = slotmark(*words, "--resume")
        assert damaged.returncode == 2
        _, error = damaged.stderr.splitlines()
        assert error.startswith(f"slotmark: {part}: can't be read (")
    part.write_bytes(whole)
    made = slotmark(*words, "--resume")
    assert made.returncode == 0, made.stderr
    assert f"resumed after round {kept} of 4" in made.stderr
    run = open_run(out / "slow")
    assert run.table("processes").num_rows == 4
    assert run.table("blocks").num_rows == 4 * BLOCK_COUNT
    assert "resumed" in {warning.kind for warning in run.manifest.warnings}
    assert [path.name for path in out.iterdir()] == ["slow"]


@pytest.mark.parametrize("place", ["after the first run", "after all runs"])
def test_a_session_that_was_killed_while_its_runs_were_written_is_resumed(
    place: str, small_chain: Path, tmp_path: Path
) -> None:
    """It was refused for the runs that it had written itself."""
    out = tmp_path / "runs"
    words = ["ledger", "run", "--chain", small_chain, "--blocks", "40", "--backend", "a=memory,b=memory", "-o", out]
    words += ["--rounds", "2"]
    killed = slotmark(*words, env=killed_at(place, tmp_path / "killed"))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    there = {
        path.name: path.joinpath("run.json").read_bytes() for path in out.iterdir() if (path / "run.json").exists()
    }
    assert sorted(there) == (["a"] if place == "after the first run" else ["a", "b"])
    assert (out / "unfinished-session.jsonl").exists()
    refused = slotmark(*words)
    assert refused.returncode == 2
    made = slotmark(*words, "--resume")
    assert made.returncode == 0, made.stderr
    assert sorted(path.name for path in out.iterdir()) == ["a", "b"]
    runs = [open_run(out / name) for name in "ab"]
    assert [run.table("processes").num_rows for run in runs] == [2, 2]
    assert len({run.manifest.session for run in runs}) == 1
    assert {name: (out / name / "run.json").read_bytes() for name in there} == there


def test_what_a_killed_session_left_is_removed_and_what_another_uses_is_not(tmp_path: Path) -> None:
    """A session that was killed left its stores for ever, also where it was resumed."""
    hold = "import pathlib, sys, time\nfrom slotmark.benches.ledger.scratch import scratch_below\nwith scratch_below(pathlib.Path(sys.argv[1])) as place:\n    (place / 'store').write_text('x')\n    print(place, flush=True)\n    time.sleep(600)\n"
    with ExitStack() as stack:
        # One after the other: a session keeps others out of its folder, so none begins while another makes its place.
        started, places = [], []
        for _ in range(2):
            command = [sys.executable, "-c", hold, tmp_path]
            one = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            assert one.stdout is not None
            started.append(one)
            places.append(Path(one.stdout.readline().strip()))
        (killed, alive), (left, used) = started, places
        assert (left / "store").is_file()
        killed.kill()
        killed.wait()
        with scratch_below(tmp_path) as own:
            assert not left.exists()
            assert (used / "store").is_file()
            assert own.is_dir()
        assert not own.exists()
        alive.kill()
