"""Pieces of work on the processes of this machine."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slotmark.benches.cluster.simulating.simulate import load_profile, tables
from slotmark.engine import Piece, local
from slotmark.errors import PieceError, RunError
from tests.engine.works import Found, busy, squared, wrong

WORKERS = (1, 2, 3)


def squares(seed: int = 0) -> list[Piece[Found]]:
    """Pieces in an order of their own that finish in another."""
    pieces = [
        Piece(work=squared, inputs=(number, 0.02 * ((5 * number) % 7)), label=f"number {number}") for number in range(7)
    ]
    random.Random(seed).shuffle(pieces)
    return pieces


@pytest.mark.parametrize("workers", WORKERS)
def test_the_merge_gets_outputs_in_the_order_of_pieces(workers: int) -> None:
    pieces = squares()
    told: list[tuple[int, int]] = []

    found = local(pieces, list, lambda *done: told.append(done), workers)

    assert [(one.number, one.share) for one in found] == [
        (number**2, number / 7) for number in (piece.inputs[0] for piece in pieces)
    ]
    assert len({one.by for one in found}) == workers
    assert (os.getpid() in {one.by for one in found}) is (workers == 1)
    assert told[-1] == (70, 70)
    assert {total for _, total in told} <= {0, 70}
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_an_output_is_merged_before_all_are_there() -> None:
    pieces = [Piece(work=squared, inputs=(number, 2.0 * number), label=f"number {number}") for number in (0, 1)]
    assert local(pieces, lambda outputs: next(outputs).number, workers=2) == 0


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("workers", WORKERS)
def test_simulations_are_the_same_for_any_number_of_workers_and_any_order(workers: int, seed: int) -> None:
    profile = load_profile("value-only-10.5", ["hosts=6", "pools=6", "run.slots=600", "genesis.epoch_slots=250"])
    pieces = [Piece(work=tables, inputs=(profile, seed), label=f"seed {seed}") for seed in range(5)]
    alone = {piece.name: piece.done(lambda *_: None) for piece in pieces}
    random.Random(seed).shuffle(pieces)

    found = local(pieces, list, workers=workers)

    assert len(alone) == len(set(alone.values())) == 5
    assert found == [piece.output(alone[piece.name]) for piece in pieces]


def test_a_name_follows_from_the_content_alone(tmp_path: Path) -> None:
    one = Piece(work=busy, inputs=(1, "here"), label="one")
    code = (
        "from tests.engine.works import busy\nfrom slotmark.engine import Piece\n"
        "print(Piece(work=busy, inputs=(1, 'here'), label='another', how={'threads': 3}).name)"
    )
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert elsewhere.stdout.strip() == one.name
    assert one.name.startswith("works.busy-")
    others = [
        Piece(work=work, inputs=inputs, label="one") for work, inputs in ((busy, (2, "here")), (wrong, (1, "here")))
    ]
    assert len({one.name, *(other.name for other in others)}) == 3


FAILURES = (
    ("user", RunError, r"^number 1: this\.toml: not so\. Mend it\.$"),
    ("fault", ZeroDivisionError, "^a fault$"),
    ("odd", Exception, "1 and 2"),
    ("killed", PieceError, r"number 1 \(the piece works\.wrong-\w{12}\): its process was ended by SIGKILL"),
)
"""Work of a piece, the error that comes of it, and its text."""


@pytest.mark.parametrize(
    ("workers", "kind", "error", "text"),
    # A single worker is this process, which is not killed.
    [(workers, *one) for workers in WORKERS for one in FAILURES if workers > 1 or one[1] is not PieceError],
)
def test_an_error_names_the_piece_and_stops_the_others(
    workers: int, kind: str, error: type[Exception], text: str, tmp_path: Path
) -> None:
    (tmp_path / "begun-0").touch()
    numbers = (1, 2, 3) if workers == 1 else (2, 1, 3)
    pieces = [Piece(work=wrong, inputs=(number, kind, str(tmp_path)), label=f"number {number}") for number in numbers]

    with pytest.raises(error) as raised:
        local(pieces, list, workers=workers)

    assert re.search(text, str(raised.value))
    if kind in ("fault", "odd"):
        shown = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
        assert f"in number 1, the piece {pieces[numbers.index(1)].name}" in shown
    assert [path.name for path in tmp_path.iterdir()] == ["begun-0"]


_SCRIPT = """
import sys
from slotmark.engine import Piece, local
from tests.engine.works import busy

def say(*done):
    print("told", flush=True)

pieces = [Piece(work=busy, inputs=(number, sys.argv[1]), label=f"number {number}") for number in range(4)]
local(pieces, list, say, 2)
"""


def begun(folder: Path) -> list[int]:
    """Process ids of two pieces that have begun."""
    until = time.monotonic() + 60
    while len(found := list(folder.glob("begun-?"))) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    return [int(path.read_text()) for path in found]


def ended(processes: list[int]) -> bool:
    """Returns whether processes end, within a minute."""
    until = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in processes) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(Path(f"/proc/{pid}").exists() for pid in processes)


@pytest.mark.parametrize(
    ("number", "to_all"),
    [
        *((number, False) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)),
        *((number, True) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_signal_ends_all_processes_at_once(number: signal.Signals, to_all: bool, tmp_path: Path) -> None:
    words = [sys.executable, "-c", _SCRIPT, str(tmp_path)]
    done = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    processes = begun(tmp_path)

    (os.killpg if to_all else os.kill)(done.pid, number)

    printed = done.communicate(timeout=60)[1]
    assert done.returncode == -number
    assert ended(processes)
    if number is signal.SIGINT:
        assert printed.count("Traceback") == 1  # of this process alone
    else:
        assert not printed.count("Traceback")
    if number is not signal.SIGHUP or not to_all:
        assert not list(tmp_path.iterdir())
