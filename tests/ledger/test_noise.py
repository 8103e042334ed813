"""`slotmark ledger noise`, and what `compare` makes of it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from slotmark.benches.ledger.engine import program
from slotmark.errors import TargetError
from tests.conftest import remarks, slotmark

BLOCKS = 60
Command = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """slotmark with a folder of its own for what it keeps."""
    try:
        program()
    except TargetError as error:
        pytest.skip(str(error))
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    return lambda *words: slotmark(*words, env=environment)


@pytest.fixture
def measured(command: Command, small_chain: Path, tmp_path: Path) -> Path:
    """The file of this machine's noise."""
    made = command("ledger", "noise", "--chain", small_chain, "--blocks", BLOCKS, "--rounds", "3")
    assert made.returncode == 0, made.stderr
    (file,) = (tmp_path / "state" / "slotmark").iterdir()
    assert made.stdout.splitlines()[-1] == str(file)
    assert f"memory against itself: 3 and 3 processes, {BLOCKS} blocks" in made.stdout
    rows = [line.split()[0] for line in made.stdout.splitlines() if "%" in line and line.startswith(" ")]
    assert rows == ["3", "5", "10"]
    return file


@pytest.fixture
def runs(command: Command, small_chain: Path, tmp_path: Path) -> list[Path]:
    out = tmp_path / "runs"
    made = command(
        *("ledger", "run", "--chain", small_chain, "--blocks", BLOCKS),
        *("--backend", "memory,lmdb", "--rounds", "3", "-o", out),
    )
    assert made.returncode == 0, made.stderr
    return [out / "memory", out / "lmdb"]


def test_comparisons_of_the_machine_print_beforehand_what_they_cannot_tell(
    command: Command, measured: Path, runs: list[Path], tmp_path: Path
) -> None:
    compared = command("compare", *runs)
    assert compared.returncode == 0, compared.stderr
    (line,) = remarks(compared.stderr)
    assert line.startswith(f"slotmark: by this machine's noise (memory over {BLOCKS} blocks; ")
    assert "with 3 processes per side, changes of total time below" in line
    assert line.endswith("are missed in more than one of five cases")
    elsewhere = tmp_path / "noise.json"
    measured.rename(elsewhere)
    assert not remarks(command("compare", *runs).stderr)
    named = command("compare", *runs, "--noise", elsewhere)
    assert remarks(named.stderr) == remarks(compared.stderr)
    assert named.stdout == compared.stdout


def test_noise_of_another_machine_or_a_damaged_file_is_not_used(
    command: Command, measured: Path, runs: list[Path]
) -> None:
    whole = json.loads(measured.read_text(encoding="utf-8"))
    other = {**whole, "machine": {**whole["machine"], "kernel": "Linux 5"}}
    for text, why in (
        (json.dumps(other), "the kernel was Linux 5 there, and is Linux"),
        (json.dumps({**whole, "bench": "cluster"}), "noise of bench 'cluster'"),
        (json.dumps(whole)[:-5], "no record of a machine's noise"),
    ):
        measured.write_text(text, encoding="utf-8")
        kept = command("compare", *runs)
        assert kept.returncode == 0
        assert f"the noise of this machine isn't used: {measured}: " in kept.stderr
        assert why in kept.stderr
        named = command("compare", *runs, "--noise", measured)
        assert named.returncode == 2
        assert why in named.stderr
        assert len(named.stderr.splitlines()) == 1


def test_a_file_that_is_named_is_new_and_a_target_that_fails_leaves_none(
    command: Command, small_chain: Path, tmp_path: Path
) -> None:
    file = tmp_path / "kept" / "noise.json"
    words = ("ledger", "noise", "--chain", small_chain, "--blocks", BLOCKS, "--rounds", "3", "-o", file)
    failed = command(*words, "--target", "bad=false {out}")
    assert failed.returncode == 2
    assert "bad-" in failed.stderr
    assert not list(file.parent.iterdir())
    made = command(*words)
    assert made.returncode == 0, made.stderr
    assert [path.name for path in file.parent.iterdir()] == ["noise.json"]
    again = command(*words)
    assert again.returncode == 2
    assert "already there. Choose another -o" in again.stderr
    both = command(*words[:-1], tmp_path / "other.json", "--backend", "lsm", "--target", "bad=false {out}")
    assert both.returncode == 2
    assert "give one target" in both.stderr
