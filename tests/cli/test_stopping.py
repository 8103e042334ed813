"""A command that is stopped, from its first moment on: one line, its exit code, nothing left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from slotmark.errors import TargetError
from slotmark.measure import shipped
from slotmark.measure.forge import forge

from ..conftest import REPO, remarks, slotmark


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=str,
)
@pytest.mark.parametrize("after", ["typer", "slotmark.cli.chain", "slotmark.measure.forge"])
def test_a_command_that_is_stopped_ends_with_one_line(
    after: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    # Python tells on standard error of each module that it has loaded: that is the clock here.
    command = [sys.executable, "-X", "importtime", "-m", "slotmark", "chain", "synth", "--workload", "preview-like"]
    with subprocess.Popen(
        [*command, "--blocks", "3000000", "-o", str(tmp_path / "chain")], stderr=subprocess.PIPE, text=True
    ) as synth:
        assert synth.stderr is not None
        for line in synth.stderr:
            if line.rpartition("|")[2].strip() == after:
                synth.send_signal(number)
                break
        said = [line for line in synth.stderr if not line.startswith("import time:")]
    assert synth.returncode == code, said
    assert said[-1] == "slotmark: interrupted; nothing was left half-written.\n"
    assert not any("Traceback" in line for line in said)
    assert not list(tmp_path.iterdir())


_WHILE_DUCKDB_IS_LOADED = """
import os, signal, sys
from types import FrameType

def plant(frame: FrameType, event: str, _: object) -> None:
    if event == "call" and frame.f_code.co_filename.endswith("enum.py") and "_duckdb" in sys.modules:
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGTERM)

sys.setprofile(plant)
"""
"""Sends a signal from code that DuckDB's loading runs, when it makes its types."""

_OF_A_WORKER = """
import time
from slotmark.stopping import stop_once

signal.signal(signal.SIGTERM, stop_once)
try:
    import duckdb
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(f"stopped, with DuckDB loaded: {'duckdb' in sys.modules}")
"""


def test_a_signal_while_duckdb_is_loaded_stops_a_moment_later(tmp_path: Path) -> None:
    main = "from slotmark.__main__ import main; main()"
    made = slotmark("simulate", "value-only-5", "--slots", "60", "--direct", "-o", tmp_path / "run", timeout=120)
    assert made.returncode == 0, made.stderr
    for code, words, expected in (
        (main, ["show", str(tmp_path / "run")], (143, "slotmark: interrupted; nothing was left half-written.\n")),
        (_OF_A_WORKER, [], (1, "stopped, with DuckDB loaded: True\n")),
    ):
        command = [sys.executable, "-c", _WHILE_DUCKDB_IS_LOADED + code, *words]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert (ended.returncode, ended.stderr) == expected


@pytest.mark.parametrize("workers", ["0", "1"])
def test_tests_pass_where_these_signals_are_ignored(workers: str, tmp_path: Path) -> None:
    # As under nohup, which ignores SIGHUP, and in the background of a script, where SIGINT is ignored.
    these = "tests/cli/test_stopping.py::test_a_signal_in_code_that_is_text_ends_with_the_same_code"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        workers,
        "--basetemp",
        str(tmp_path / "t"),
        these,
    ]
    done = subprocess.run(
        ["/bin/sh", "-c", 'trap "" HUP INT TERM; exec "$@"', "sh", *command],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout


def test_what_a_killed_command_left_is_removed_by_the_next_and_said(tmp_path: Path) -> None:
    place = tmp_path / "out"
    small = ("--set", "network.hosts=4", "--set", "network.pools=4")
    command = [sys.executable, "-m", "slotmark", "simulate", "value-only-10.5", *small, "--slots"]
    with subprocess.Popen([*command, "3000000", "-o", str(place)], stderr=subprocess.DEVNULL) as long:
        while not (left := list(tmp_path.iterdir())):
            assert long.poll() is None
            time.sleep(0.01)
        # While it lives its folder is let be.
        short = subprocess.run([*command, "300", "-o", str(place)], capture_output=True, text=True, check=False)
        assert short.returncode == 0, short.stderr
        assert "removed" not in short.stderr
        assert left[0].is_dir()
        long.kill()
    place.rename(tmp_path / "first")
    again = subprocess.run([*command, "300", "-o", str(place)], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert f"slotmark: removed {left[0]}, which a process that was stopped had left unfinished" in again.stderr
    assert sorted(child.name for child in tmp_path.iterdir()) == ["first", "out"]


def forgers(place: Path) -> list[int]:
    """Process ids of the programs that forge something at a place."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):  # a process may end while we look
            if folder.name.isdigit() and f"--out={place}".encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


FORGING = pytest.mark.parametrize(
    "arguments",
    [
        ("chain", "synth", "--workload", "preview-like", "--blocks", "3000000"),
        ("cluster", "create", "value-only-5", "--set", "utxo_entries=16000000"),
    ],
    ids=["chain", "bed"],
)


@contextmanager
def forging(arguments: tuple[str, ...], place: Path) -> Iterator["subprocess.Popen[str]"]:
    """A command that has begun to write at a place, which is in an empty folder; it is killed at the end."""
    command = [sys.executable, "-m", "slotmark", *arguments, "-o", str(place)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            while not list(place.parent.iterdir()):
                assert running.poll() is None
                time.sleep(0.01)
            yield running
        finally:
            running.kill()


@FORGING
def test_what_is_forged_ends_with_its_command_and_leaves_nothing(arguments: tuple[str, ...], tmp_path: Path) -> None:
    place = tmp_path / "out"
    with forging(arguments, place) as command:
        assert len(forgers(place)) == 1
        command.kill()
    until = time.monotonic() + 60
    while (left := forgers(place) or list(tmp_path.iterdir())) and time.monotonic() < until:
        time.sleep(0.01)
    assert not left


@FORGING
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=str)
def test_forging_that_is_stopped_leaves_nothing(
    number: signal.Signals, code: int, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    place = tmp_path / "out"
    with forging(arguments, place) as command:
        command.send_signal(number)
        assert command.stderr is not None
        *_, last = command.stderr
        assert (last, command.wait()) == ("slotmark: interrupted; nothing was left half-written.\n", code)
    assert not forgers(place)
    assert not list(tmp_path.iterdir())


def test_what_is_being_forged_is_left_alone_by_a_second_command(tmp_path: Path) -> None:
    arguments = ("chain", "synth", "--workload", "preview-like", "--blocks", "3000000")
    with forging(arguments, tmp_path / "out") as command:
        (unfinished,) = tmp_path.iterdir()
        second = slotmark(*arguments[:-1], "300", "-o", tmp_path / "second")
        assert second.returncode == 0, second.stderr
        assert "removed" not in second.stderr
        assert command.poll() is None
        assert sorted(tmp_path.iterdir()) == sorted([unfinished, tmp_path / "second"])


def test_a_forge_that_is_killed_is_named_and_what_it_left_is_removed_by_the_next(tmp_path: Path) -> None:
    place = tmp_path / "out"
    arguments = ("chain", "synth", "--workload", "preview-like", "--blocks", "3000000")
    with forging(arguments, place) as command:
        (forger,) = forgers(place)
        os.kill(forger, signal.SIGKILL)
        assert command.stderr is not None
        (line,) = remarks(command.stderr.read())
        assert command.wait() == 2
    assert "slotmark-forge: was killed by signal 9 before `forge-chain` was done" in line
    (left,) = tmp_path.iterdir()
    again = slotmark(*arguments[:-1], "300", "-o", place)
    assert again.returncode == 0, again.stderr
    assert f"slotmark: removed {left}, which a process that was stopped had left unfinished" in again.stderr
    assert list(tmp_path.iterdir()) == [place]


def test_a_forge_that_is_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(shipped, "INSIDE", tmp_path)
    with pytest.raises(TargetError, match=r"slotmark-forge: .* isn't built\. Run `make setup`\."):
        forge("check-bed", {"bed": tmp_path})


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_a_signal_in_code_that_is_text_ends_with_the_same_code(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    # As where a library makes a class while it is imported: seed 1 of `make attack`, kill 98, ended by SIGINT.
    stopped = f"import os, time; os.kill(os.getpid(), {int(number)}); time.sleep(60)"
    program = f"import slotmark.cli, slotmark.__main__ as m; slotmark.cli.main = lambda: exec({stopped!r}); m.main()"
    (tmp_path / "stopped.py").write_text(program)
    done = subprocess.run([sys.executable, "-m", "stopped"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "slotmark: interrupted; nothing was left half-written.\n")


def test_a_signal_that_comes_where_python_drops_exceptions_still_stops() -> None:
    """As `ledger import` once was: SIGTERM came while an object was removed, a traceback was printed, and the command went on."""
    program = """
import os, signal, sys, time
import slotmark.__main__, slotmark.cli

class Removed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)

def command():
    Removed()
    time.sleep(30)

slotmark.cli.main = command
slotmark.__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "slotmark: interrupted; nothing was left half-written.\n")


def test_a_signal_that_comes_while_the_database_computes_stops() -> None:
    """As `ledger run` once was, cut by a signal at its end: a traceback ended with `RuntimeError: Query interrupted`, which is all that DuckDB raises then."""
    program = """
import os, signal, threading
import duckdb
import slotmark.__main__, slotmark.cli

def command():
    database = duckdb.connect()
    database.execute("CREATE TABLE words AS SELECT range AS number, hash(range) AS word FROM range(1000000)")
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    while True:
        database.execute("SELECT word % 1000, sum(number), count(DISTINCT word) FROM words GROUP BY 1").fetchall()

slotmark.cli.main = command
slotmark.__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (143, "slotmark: interrupted; nothing was left half-written.\n")


_AT_ITS_END = """
import atexit, os, signal, sys
from slotmark.__main__ import main

class Finders(list):
    def remove(self, finder):
        super().remove(finder)
        os.kill(os.getpid(), signal.SIGTERM)

if sys.argv[1] == "while it ends":
    sys.meta_path = Finders(sys.meta_path)
else:
    atexit.register(lambda: (os.kill(os.getpid(), signal.SIGTERM), print("to its end", flush=True)))
sys.argv[1:] = ["--version"]
main()
"""


@pytest.mark.parametrize(("when", "code"), [("while it ends", 143), ("when it is over", 0)])
def test_a_signal_at_the_very_end_is_no_traceback(when: str, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", _AT_ITS_END, when], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr == ("" if code == 0 else "slotmark: interrupted; nothing was left half-written.\n")
    assert ("to its end" in done.stdout) == (code == 0)
