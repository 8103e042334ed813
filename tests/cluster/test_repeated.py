"""Several simulations of one profile: a run per seed, side by side, and as one side of a comparison."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from slotmark.benches.cluster.direct import simulate_direct
from slotmark.benches.cluster.simulate import Progress, load_profile
from slotmark.benches.cluster.simulations import side_by_side, simulate_seeds
from slotmark.errors import RunError
from slotmark.run import check_run, open_runs
from tests.conftest import slotmark

SMALL = ("hosts=6", "pools=6", "run.slots=600", "genesis.epoch_slots=250")


def quietly(done: int, total: int) -> None:
    assert done <= total


def files(folder: Path) -> dict[Path, bytes]:
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("direct", [True, False], ids=["run folders", "logs"])
def test_any_number_of_workers_writes_the_same_bytes_as_one_run_after_another(direct: bool, tmp_path: Path) -> None:
    profile = load_profile("value-only-10.5", SMALL)
    for workers in (1, 3):
        made = simulate_seeds(profile, [4, 5, 6], tmp_path / str(workers), quietly, direct=direct, workers=workers)
        assert [folder.name for folder, _ in made] == ["seed-4", "seed-5", "seed-6"]
    assert files(tmp_path / "1") == files(tmp_path / "3")
    if direct:
        simulate_direct(profile, 5, tmp_path / "alone" / "seed-5", quietly)
        assert files(tmp_path / "alone" / "seed-5") == files(tmp_path / "1" / "seed-5")
        assert all(check_run(run.path) for run in open_runs(tmp_path / "3"))


def test_what_all_have_to_do_is_known_before_all_have_begun() -> None:
    calls: list[tuple[int, int]] = []

    def simulation(result: int, step: Progress) -> int:
        step(10, 10)
        return result

    made = side_by_side(
        [partial(simulation, result) for result in range(20)], lambda *done: calls.append(done), workers=1
    )
    assert made == list(range(20))
    assert calls[-1] == (200, 200)
    assert {total for _, total in calls} <= {0, 200}


def test_a_seed_that_is_there_is_refused_before_anything_is_simulated(tmp_path: Path) -> None:
    profile = load_profile("value-only-10.5", SMALL)
    simulate_seeds(profile, [2], tmp_path / "runs", quietly, direct=True)
    before = files(tmp_path)
    with pytest.raises(RunError, match="seed-2: already there"):
        simulate_seeds(profile, [1, 2], tmp_path / "runs", quietly, direct=True)
    with pytest.raises(RunError, match="a run folder, and runs are not put into one"):
        simulate_seeds(profile, [3], tmp_path / "runs" / "seed-2", quietly, direct=True)
    assert files(tmp_path) == before


def test_what_progress_raises_stops_all_and_leaves_no_half_of_a_run(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    profile = load_profile("value-only-10.5", ["hosts=6", "pools=6", "run.slots=500000"])
    with pytest.raises(KeyboardInterrupt):
        simulate_seeds(profile, [1, 2, 3], tmp_path / "runs", stop, direct=True)
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


_TOGETHER = """
import sys, threading
from functools import partial
from pathlib import Path
from slotmark.benches.cluster.simulate import load_profile, predict
from slotmark.benches.cluster.simulations import side_by_side, simulate_seeds

def look(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "get_class_annotations":
        print(frame.f_locals["obj"].__name__)

text = load_profile("value-only-10.5", sys.argv[2:])
threading.setprofile(look)
side_by_side([partial(predict, text, [1])], lambda *_: None)
for direct in (True, False):
    simulate_seeds(text, [1], Path(sys.argv[1]) / str(direct), lambda *_: None, direct=direct)
"""
"""Prints the types that threads use first, in a process that never read what simulations give."""


def test_no_thread_is_the_first_to_read_by_a_type(tmp_path: Path) -> None:
    # Where two are, at the same time, msgspec reads by a type that is half made, and the process ends with SIGSEGV.
    words = [sys.executable, "-c", _TOGETHER, tmp_path, *SMALL]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert not done.stdout.split()
