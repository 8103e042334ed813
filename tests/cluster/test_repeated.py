"""Several simulations of one profile: a run per seed, side by side, and as one side of a comparison."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.requests import SimulationRequest
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.benches.cluster.simulating.simulations import merged, shard_done, simulate_seeds, simulated
from slotmark.engine import local
from slotmark.errors import RunError
from slotmark.places import Url
from slotmark.run import check_run, open_runs
from tests.conftest import bytes_of, quietly, remarks, slotmark
from tests.s3 import BUCKET, S3

SMALL = ("hosts=6", "pools=6", "run.slots=600", "genesis.epoch_slots=250")


@pytest.mark.parametrize("direct", [True, False], ids=["run folders", "logs"])
def test_any_number_of_workers_writes_the_same_bytes_as_one_run_after_another(direct: bool, tmp_path: Path) -> None:
    profile = load_profile("value-only-10.5", SMALL)
    for workers in (1, 2, 3):
        made = simulate_seeds(profile, [4, 5, 6], tmp_path / str(workers), quietly, direct=direct, workers=workers)
        assert [folder.name for folder, _ in made] == ["seed-4", "seed-5", "seed-6"]
    assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "2") == bytes_of(tmp_path / "3")
    if direct:
        simulate_direct(profile, 5, tmp_path / "alone" / "seed-5", quietly)
        assert bytes_of(tmp_path / "alone" / "seed-5") == bytes_of(tmp_path / "1" / "seed-5")
        assert all(check_run(run.path) for run in open_runs(tmp_path / "3"))


@pytest.mark.parametrize("direct", [True, False], ids=["run folders", "logs"])
def test_shards_make_the_same_bytes_as_one_call(direct: bool, tmp_path: Path) -> None:
    asked = SimulationRequest(profile="value-only-10.5", settings=SMALL, seed=4, repeat=3, direct=direct)
    alone = simulated(asked, load_profile("value-only-10.5", SMALL), tmp_path / "alone", quietly)
    for shard in ("2/2", "1/2"):
        done = shard_done(asked.shared, shard, tmp_path / "shards", quietly)
    assert (done.pieces, done.found, done.missing) == (2, 0, 0)
    assert [facts for _, facts in merged(tmp_path / "shards", tmp_path / "together", quietly)] == [
        facts for _, facts in alone
    ]
    assert bytes_of(tmp_path / "together") == bytes_of(tmp_path / "alone")
    before = bytes_of(tmp_path)
    with pytest.raises(RunError, match="seed-4: already there"):
        merged(tmp_path / "shards", tmp_path / "together", quietly)
    assert bytes_of(tmp_path) == before


def test_a_seed_that_is_there_is_refused_before_anything_is_simulated(tmp_path: Path) -> None:
    profile = load_profile("value-only-10.5", SMALL)
    simulate_seeds(profile, [2], tmp_path / "runs", quietly, direct=True)
    before = bytes_of(tmp_path)
    with pytest.raises(RunError, match="seed-2: already there"):
        simulate_seeds(profile, [1, 2], tmp_path / "runs", quietly, direct=True)
    with pytest.raises(RunError, match="a run folder, and runs are not put into one"):
        simulate_seeds(profile, [3], tmp_path / "runs" / "seed-2", quietly, direct=True)
    assert bytes_of(tmp_path) == before


@pytest.mark.parametrize("workers", [1, 2])
def test_what_progress_raises_stops_all_and_leaves_no_half_of_a_run(workers: int, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    profile = load_profile("value-only-10.5", ["hosts=6", "pools=6", "run.slots=500000"])
    with pytest.raises(KeyboardInterrupt):
        simulate_seeds(profile, [1, 2, 3], tmp_path / "runs", stop, direct=True, workers=workers)
    assert not list((tmp_path / "runs").iterdir())


def test_a_folder_of_runs_is_a_side(tmp_path: Path) -> None:
    small = ("--set", "hosts=6", "--set", "pools=6", "--slots", "600", "--set", "epoch_slots=250", "--direct")
    for side, change in (("usual", "ledger_tick.mean*=1"), ("slow", "ledger_tick.mean*=4")):
        made = slotmark(
            "simulate",
            "value-only-10.5",
            *small,
            "--set",
            change,
            "--seed",
            "9",
            "--repeat",
            "2",
            "-o",
            tmp_path / side,
        )
        assert made.returncode == 0, made.stderr
        assert [run.name for run in open_runs(tmp_path / side)] == ["seed-9", "seed-10"]
    folders = slotmark("compare", tmp_path / "usual", tmp_path / "slow", "--json")
    named = [f"{tmp_path / side / 'seed-9'},{tmp_path / side / 'seed-10'}" for side in ("usual", "slow")]
    assert folders.returncode == 0, folders.stderr
    assert folders.stdout == slotmark("compare", *named, "--json").stdout
    assert "(2 runs)" in folders.stdout


def test_a_prediction_is_the_same_on_one_core_and_on_two(tmp_path: Path) -> None:
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        pytest.skip("this machine has one core")
    words = [
        sys.executable,
        "-m",
        "slotmark",
        "predict",
        "value-only-5",
        "--seeds",
        "3",
        "--set",
        "tps*=0.5",
        "-o",
        "out",
    ]
    printed = []
    for count in (1, 2):
        place = tmp_path / str(count)
        place.mkdir()
        on = ["taskset", "-c", ",".join(map(str, cores[:count])), *words]
        done = subprocess.run(on, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1, 3), done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "2")
    assert "out/report.json" in bytes_of(tmp_path / "1")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_from_a_terminal_leaves_one_line_and_nothing_else(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "slotmark", "simulate", "value-only-10.5", "--set", "hosts=6", "--set", "pools=6"]
    place = tmp_path / "runs"
    with subprocess.Popen(
        [*words, "--slots", "500000", "--repeat", "3", "--direct", "-o", str(place)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as done:
        while not (place.is_dir() and any(place.iterdir())):
            assert done.poll() is None
            time.sleep(0.01)
        os.killpg(done.pid, number)
        printed = done.communicate(timeout=100)[1]
    assert done.returncode == code
    assert remarks(printed) == ["slotmark: interrupted; nothing was left half-written."]
    assert not list(place.iterdir())
    until = time.monotonic() + 60
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < until:
            os.killpg(done.pid, 0)
            time.sleep(0.01)


def test_runs_of_a_call_that_was_cut_are_gone_on_from_in_a_store(s3: S3, tmp_path: Path) -> None:
    """By an engine of other machines, whose docs promise that: here the one of this machine. Runs of another profile are refused before anything is simulated."""
    asked = SimulationRequest(profile="value-only-10.5", settings=SMALL, seed=1, repeat=2, direct=True)
    profile, there = load_profile("value-only-10.5", SMALL), Url("s3", BUCKET, "cut")
    alone = simulated(asked, profile, tmp_path / "alone", quietly)
    simulate_direct(profile, 1, there / "seed-1", quietly)
    before = (s3.folder / BUCKET / "cut" / "seed-1" / "run.json").read_bytes()
    again = simulated(asked, profile, there, quietly, elsewhere=local)
    assert [facts for _, facts in again] == [facts for _, facts in alone]
    assert (s3.folder / BUCKET / "cut" / "seed-1" / "run.json").read_bytes() == before
    assert [run.manifest.content for run in open_runs(there)] == [
        run.manifest.content for run in open_runs(tmp_path / "alone")
    ]
    other = msgspec.structs.replace(asked, settings=(*SMALL, "run.slots=700"), repeat=3)
    with pytest.raises(RunError, match="seed-1: already there"):
        simulated(other, load_profile("value-only-10.5", other.settings), there, quietly, elsewhere=local)
    assert len(open_runs(there)) == 2
