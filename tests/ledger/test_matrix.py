"""`slotmark ledger run MATRIX`: every target over every fragment, nothing twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slotmark import open_run
from slotmark.benches.ledger.engine import program
from slotmark.benches.ledger.matrix_file import read_matrix
from slotmark.errors import ArgumentError, TargetError
from tests.conftest import slotmark
from tests.ledger.db_analysers import db_analyser
from tests.measure.ends import killed_at

# Writes a line per start, beside itself, and the whole chain as JSON lines.
COUNTED = """
import json, sys
from pathlib import Path
from slotmark import _core
chain, out, blocks = sys.argv[1:4]
with Path(__file__).with_suffix(".starts").open("a") as starts:
    starts.write("x")
points = [point for _, _, point in _core.digests(chain, "origin", int(blocks), "headers", 1)]
with open(out, "w") as file:
    file.write(json.dumps({"record": "process", "contract": 1, "engine": "counted", "version": "1", "phases": ["decode"]}) + "\\n")
    for number, point in enumerate(points):
        slot, hash = point.split(".")
        file.write(json.dumps({"record": "block", "slot": int(slot), "hash": hash, "total_ns": 90000 + number, "decode_ns": 80000}) + "\\n")
    file.write(json.dumps({"record": "end", "blocks": len(points)}) + "\\n")
"""

MATRIX = """
rounds = 2
machine = "bench-1"
[[target]]
name = "one"
command = "{python} {script} {{chain}} {{out}} {{blocks}}"
[[target]]
name = "bad"
command = "sh -c 'echo no room >&2; exit 3' {{out}}"
[[fragment]]
name = "whole"
chain = "chain"
[[fragment]]
name = "late"
chain = "chain"
from = {begin}
to = {end}
"""


class Place:
    """A folder with a chain of 60 blocks, a target that counts its starts, and a matrix."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "matrix.toml"
        self.script = folder / "counted.py"
        self.script.write_text(COUNTED, encoding="utf-8")
        made = slotmark("chain", "synth", "--workload", "empty", "--blocks", "60", "-o", folder / "chain")
        assert made.returncode == 0, made.stderr

    def write(self, text: str = MATRIX, *, begin: int = 0, end: int = 10**9) -> None:
        self.file.write_text(
            text.format(python=sys.executable, script=self.script, begin=begin, end=end), encoding="utf-8"
        )

    @property
    def starts(self) -> int:
        file = self.script.with_suffix(".starts")
        return file.stat().st_size if file.exists() else 0

    def run(self, *more: str | Path) -> "subprocess.CompletedProcess[str]":
        return slotmark("ledger", "run", self.file, *more)

    def runs(self) -> list[Path]:
        return sorted(file.parent for file in (self.folder / "runs").glob("*/*/run.json"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_cells_are_measured_once_and_a_failed_one_costs_itself(place: Place) -> None:
    place.write(begin=300, end=800)
    first = place.run()
    assert first.returncode == 2
    assert "4 to measure, 0 there" in first.stderr
    assert "whole, bad: bad: exited 3: no room" in first.stderr
    assert first.stderr.splitlines()[-1].endswith("What did not fail was kept.")
    assert place.starts == 4
    assert sorted(path.name for path in place.runs()) == ["one", "one"]
    late = next(path for path in place.runs() if path.parent.name.startswith("late-"))
    slots = open_run(late).table("blocks")["slot"].to_pylist()
    assert 300 <= min(slots) <= max(slots) <= 800
    manifest = open_run(late).manifest
    assert manifest.parameters["fragment"] == "late"
    assert manifest.parameters["machine name"] == "bench-1"
    assert manifest.workload["first slot"] == str(min(slots))
    second = place.run()
    assert "2 to measure, 2 there" in second.stderr
    assert place.starts == 4
    assert "was there" in second.stdout
    third = place.run("--again")
    assert "4 to measure, 0 there" in third.stderr
    assert place.starts == 8
    assert len(place.runs()) == 4


def test_what_a_cell_is_of_is_its_content(place: Place) -> None:
    bad = MATRIX[MATRIX.index('[[target]]\nname = "bad"') : MATRIX.index("[[fragment]]")]
    place.write(MATRIX.replace(bad, ""), begin=300, end=800)
    assert place.run().returncode == 0
    assert place.starts == 4
    text = place.file.read_text(encoding="utf-8")
    elsewhere = place.folder / "copied"
    shutil.copytree(place.folder / "runs", elsewhere)
    shutil.move(place.folder / "chain", place.folder / "moved")
    place.file.write_text(text.replace('"chain"', '"moved"').replace('"late"', '"renamed"'), encoding="utf-8")
    renamed = place.run("-o", elsewhere)
    assert renamed.returncode == 0, renamed.stderr
    assert "0 to measure, 2 there" in renamed.stderr
    assert place.starts == 4
    place.script.write_text(COUNTED + "# another version\n", encoding="utf-8")
    assert "2 to measure, 0 there" in place.run("-o", elsewhere).stderr
    assert place.starts == 8
    place.file.write_text(text.replace('"chain"', '"moved"').replace("rounds = 2", "rounds = 1"), encoding="utf-8")
    assert "2 to measure" in place.run("-o", elsewhere).stderr
    assert place.starts == 10


def test_two_fragments_that_are_one_stretch_are_measured_once(place: Place) -> None:
    place.write()
    made = place.run()
    assert place.starts == 2
    assert made.stdout.count("was there") == 1


def test_targets_of_a_fragment_are_compared_as_the_command_at_the_end_says(place: Place) -> None:
    try:
        program()
    except TargetError as error:
        pytest.skip(str(error))
    db_analyser(place.folder / "bin", "2026")
    (place.folder / "config.json").write_text("{{}}", encoding="utf-8")
    place.write(
        """
rounds = 3
[[target]]
name = "ours"
backend = "memory"
[[target]]
name = "ours on disk"
backend = "lmdb"
[[target]]
name = "haskell"
command = "{script.parent}/bin/db-analyser"
[[fragment]]
name = "first"
chain = "chain"
blocks = 50
config = "config.json"
"""
    )
    made = place.run()
    assert made.returncode == 0, made.stderr
    line = made.stdout.splitlines()[-1]
    assert line.startswith("Compare first: slotmark compare ")
    runs = {path.name: open_run(path) for path in place.runs()}
    assert {run.table("blocks").num_rows for run in runs.values()} == {150}
    assert len({run.manifest.session for run in runs.values()}) == 1
    compared = slotmark("compare", runs["ours"].path, runs["ours on disk"].path)
    assert compared.returncode == 0, compared.stderr


def test_a_matrix_that_was_cut_is_resumed(place: Place) -> None:
    place.write(MATRIX.replace("rounds = 2", "rounds = 3"), begin=300, end=800)
    place.script.write_text(COUNTED.replace("import json, sys", "import json, sys, time; time.sleep(0.5)"))
    with subprocess.Popen(
        [sys.executable, "-m", "slotmark", "ledger", "run", str(place.file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as session:
        for _ in range(3_000):
            found = list((place.folder / "runs").glob("*/unfinished-session.jsonl"))
            if found and found[0].read_bytes().count(b"\n") >= 2:
                break
            time.sleep(0.02)
        os.kill(session.pid, signal.SIGINT)
        _, said = session.communicate(timeout=60)
    assert session.returncode == 130, said
    refused = place.run()
    assert "Go on with --resume" in refused.stderr
    made = place.run("--resume")
    assert "resumed after round" in made.stderr
    whole = [path for path in place.runs() if path.parent.name.startswith("whole-")]
    assert [path.name for path in whole] == ["one"]
    assert open_run(whole[0]).table("processes").num_rows == 3
    assert not list((place.folder / "runs").glob("*/unfinished-session.jsonl"))


def test_a_matrix_that_was_killed_while_it_wrote_its_runs_goes_on_with_that_session(place: Place) -> None:
    """Cells that had a run counted as measured, and the rest was measured in another session."""
    two = '[[target]]\nname = "a"\nbackend = "memory"\n[[target]]\nname = "b"\nbackend = "memory"\n'
    place.write(f'rounds = 2\n{two}[[fragment]]\nname = "whole"\nchain = "chain"\n')
    killed = slotmark("ledger", "run", place.file, env=killed_at("after the first run", place.folder / "killed"))
    assert killed.returncode == -signal.SIGKILL
    assert [path.name for path in place.runs()] == ["a"]
    made = place.run("--resume")
    assert made.returncode == 0, made.stderr
    assert sorted(path.name for path in place.runs()) == ["a", "b"]
    assert len({open_run(path).manifest.session for path in place.runs()}) == 1
    assert not list((place.folder / "runs").glob("*/unfinished-session.jsonl"))
    again = place.run()
    assert "0 to measure, 2 there" in again.stderr


def test_a_matrix_that_was_killed_before_its_first_round_leaves_nothing_of_it(place: Place) -> None:
    """The matrix measured in another folder, and the first was left for ever."""
    place.write(
        'rounds = 2\n[[target]]\nname = "a"\nbackend = "memory"\n[[fragment]]\nname = "whole"\nchain = "chain"\n'
    )
    at = killed_at("before the first round is kept", place.folder / "killed")
    assert slotmark("ledger", "run", place.file, env=at).returncode == -signal.SIGKILL
    (left,) = (place.folder / "runs").iterdir()
    assert len(list(left.iterdir())) == 2
    made = place.run()
    assert made.returncode == 0, made.stderr
    (there,) = (place.folder / "runs").iterdir()
    assert [path.name for path in there.iterdir()] == ["a"]


TARGET = '[[target]]\nname = "a"\nbackend = "memory"\n'
FRAGMENT = '[[fragment]]\nname = "f"\nchain = "chain"\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rounds = ", "no TOML"),
        (FRAGMENT, "Object missing required field `target`"),
        ("target = []\n" + FRAGMENT, "there is no [[target]]"),
        ("round = 3\n" + TARGET + FRAGMENT, "'round' is no key of a matrix. Did you mean 'rounds'?"),
        ("rounds = 0\n" + TARGET + FRAGMENT, "rounds: Expected `int` >= 1"),
        ('rounds = "5"\n' + TARGET + FRAGMENT, "rounds: Expected `int`, got `str`"),
        (TARGET + TARGET + FRAGMENT, "two targets are called 'a'"),
        (TARGET.replace('"a"', '"../a"') + FRAGMENT, "target 1: name '../a' can't be a folder's"),
        (TARGET.replace("memory", "memroy") + FRAGMENT, "backend 'memroy': no such store. Did you mean 'memory'?"),
        (TARGET + 'command = "x {out}"\n' + FRAGMENT, "expected either command or backend"),
        (TARGET + FRAGMENT + "form = 3\n", "fragment 1: 'form' is no key of a matrix. Did you mean 'from'?"),
        (TARGET + FRAGMENT + "from = -1\n", "fragment 1: from: Expected `int` >= 0"),
        (TARGET + FRAGMENT + "from = 9\nto = 3\n", "to = 3 lies before from = 9"),
        (TARGET + FRAGMENT + "to = 9\nblocks = 3\n", "both to and blocks end it"),
        (TARGET + FRAGMENT + 'chain = ["x"]\n', "no TOML"),
        ('pause = "5"\n' + TARGET + FRAGMENT, "pause '5': expected a number and a unit"),
        ('pause = "1d"\n' + TARGET + FRAGMENT, "pause '1d': expected"),
        (
            'pause = "1s"\n' + TARGET.replace("backend", "command") + FRAGMENT,
            "pause: only slotmark's engine can be idle before each block, and a is another",
        ),
    ],
)
def test_a_bad_matrix_ends_with_one_line(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "matrix.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError) as caught:
        read_matrix(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_matrix_cannot_measure_is_named(place: Place) -> None:
    place.write(MATRIX, begin=10**8)
    made = place.run()
    assert made.returncode == 2
    assert "late, bad: fragment 'late': " in made.stderr
    assert "has 60 blocks in slots" in made.stderr
    assert [path.name for path in place.runs()] == ["one"]
    beside = place.run("--rounds", "3")
    assert beside.returncode == 2
    assert "--rounds and a matrix: the matrix has it" in beside.stderr
    alone = slotmark("ledger", "run", "--again", "--chain", place.folder / "chain", "-o", place.folder / "x")
    assert alone.returncode == 2
    assert "--again works with a matrix alone" in alone.stderr
    neither = slotmark("ledger", "run", "--backend", "memory")
    assert neither.returncode == 2
    assert "give --chain DIR or --live DIR, and -o DIR; or the file of a matrix" in neither.stderr


def test_a_damaged_run_in_the_store_is_left_out(place: Place) -> None:
    place.write()
    place.run()
    broken = place.runs()[0]
    manifest = json.loads((broken / "run.json").read_text(encoding="utf-8"))
    (broken / "run.json").write_text(json.dumps({**manifest, "schema": 99}), encoding="utf-8")
    made = place.run()
    assert f"left out of the store: {broken}" in made.stderr
