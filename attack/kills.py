"""Commands stopped at random moments: what they were writing is whole or absent, and nothing that they started lives on."""

import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attack.control import Attack
from attack.faults import FOLDER_LEFT, PROCESS_LEFT, REFUSES, around
from attack.ground import SMALL, Fault, Ground, content, emptied
from attack.outcome import STOPPED, Ended, Tried, chances, command, ended, environment, slotmark, written
from slotmark.measure.session import FILE

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
MARK = "SLOTMARK_ATTACK"
"""The name of a variable by which everything that a command started is found again."""


class Victim(NamedTuple):
    """A command that writes ``out``, and how long it takes when it is left alone."""

    arguments: tuple[str | Path, ...]
    is_whole: Callable[[Path], bool]
    seconds: float


def unharmed(ground: Ground) -> str:
    """Returns the fault of commands that nobody stops: each writes all of its result, and leaves nothing else."""
    for victim in _victims(ground):
        if wrong := _kill(ground, victim, None, 0):
            return f"{' '.join(map(str, victim.arguments[:2]))}: {wrong}"
    return ""


def kills(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Signals real commands at random moments, from their start to a little behind their usual end."""
    victims = _victims(ground)
    for number, chance in enumerate(chances(seed, "kills", tries)):
        victim = victims[number % len(victims)]
        with_signal = chance.choice(SIGNALS)
        wrong = _kill(ground, victim, with_signal, chance.uniform(0, 1.1 * victim.seconds))
        failure = f"kill {number}: {with_signal.name} to {' '.join(map(str, victim.arguments[:2]))}: {wrong}"
        yield Tried(1, [failure] if wrong else [])


@cache
def _victims(ground: Ground) -> list[Victim]:
    """Commands of every kind that write; each runs once to its end, for what it writes and how long it takes."""
    target = Path(__file__).resolve().parents[1] / "target" / "release" / "slotmark-target-native"
    commands: list[tuple[str | Path, ...]] = [
        ("ingest", ground.logs, "-o", "out"),
        ("chain", "synth", "--workload", "preview-like", "--blocks", "3000", "-o", "out"),
        ("simulate", "value-only-10.5", *SMALL, "-o", "out"),
        ("simulate", "value-only-10.5", *SMALL, "--direct", "-o", "out"),
        ("ledger", "import", ground.recording, "--target", "base", "-o", "out"),
        ("samples", ground.cluster_run, "forge_ticked", "-o", "out"),
    ]
    if target.exists():
        rest = ("--blocks", "300", "--rounds", "1", "--depth", "1", "--mode", "raw")
        commands.append(("chainsync", "run", "--chain", ground.chain, "--target", "native", *rest, "-o", "out"))
    victims = []
    for arguments in commands:
        folder = emptied(ground.folder / "killed")
        began = time.monotonic()
        done = command(*arguments, into=folder)
        if done.code:
            raise RuntimeError(f"{arguments}: {done.said}")
        whole = content(folder / "out") if (folder / "out").is_dir() else {"": (folder / "out").read_text()}
        victims.append(Victim(arguments, _like(whole, arguments[0] == "chainsync"), time.monotonic() - began))
    return victims


def _like(whole: dict[str, str], measured: bool) -> Callable[[Path], bool]:
    """Returns a check that the files are those of a complete run: the same bytes, or where those are times, the same files."""

    def is_whole(out: Path) -> bool:
        found = content(out) if out.is_dir() else {"": out.read_text()}
        if measured:
            found.pop(FILE, None)  # what was measured so far, for --resume
            # Of several runs of a session, each is whole or absent.
            runs = {name.partition("/")[0] for name in found}
            return all(
                {name for name in whole if name.startswith(run)} == {name for name in found if name.startswith(run)}
                for run in runs
            )
        return {name: digest for name, digest in found.items() if name != "run.json"} == {
            name: digest for name, digest in whole.items() if name != "run.json"
        } and ("run.json" in found) == ("run.json" in whole)

    return is_whole


def _kill(ground: Ground, victim: Victim, number: signal.Signals | None, after_s: float) -> str:
    """Returns the fault after a command got a signal after a time, or none; empty where there is no fault."""
    folder = emptied(ground.folder / "killed")
    temporary = emptied(ground.folder / "killed-temporary")
    mark = secrets.token_hex(8)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            slotmark(*victim.arguments),
            cwd=folder,
            env=environment(temporary, **{MARK: mark}, **ground.variables),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=said,
        )
        if number is not None:
            time.sleep(after_s)
            if process.poll() is None:
                process.send_signal(number)
        code = ended(process).code if process.returncode is None else process.returncode
        done = Ended(code, written(out), written(said).decode(errors="replace"), 0)
    # In Python's own first moments a signal ends it at once, when it has written nothing yet.
    wrong = done.wrong(0, *([] if number is None else [STOPPED[number], -number]))
    if not wrong and number is None and not (folder / "out").exists():
        wrong = "nothing was written"
    return (
        wrong
        or lives_on(mark)
        or _left(folder, temporary, victim, number)
        or (_again(folder, victim) if number == signal.SIGKILL else "")
    )


def lives_on(mark: str) -> str:
    """The processes that a command started and that didn't end with it."""
    until = time.monotonic() + 10
    while True:
        alive = marked(mark)
        if not alive:
            return ""
        if time.monotonic() > until:
            for pid in alive:
                os.kill(pid, signal.SIGKILL)
            return f"{len(alive)} processes live on"
        time.sleep(0.02)


def marked(mark: str) -> list[int]:
    """The processes that have this mark."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def _left(folder: Path, temporary: Path, victim: Victim, number: signal.Signals | None) -> str:
    """Returns the files that shouldn't be there: an incomplete run, or, after a signal that can be caught, anything else."""
    if (folder / "out").exists() and not victim.is_whole(folder / "out"):
        return "what it was writing is there and not whole"
    others = [path.name for place in (folder, temporary) for path in place.iterdir() if path.name != "out"]
    return f"{others} is left" if others and number != signal.SIGKILL else ""


def _again(folder: Path, victim: Victim) -> str:
    """Runs a command that was killed once more: it must finish, and remove what the first one left."""
    if (folder / "out").exists():
        return ""
    # Without what the session of clients keeps as random: only that the run comes to its end counts.
    done = command(*victim.arguments, into=folder)
    if wrong := done.wrong(0):
        return f"again: {wrong}"
    others = [path.name for path in folder.iterdir() if path.name != "out"]
    return f"again: {others} is still left" if others else ""


ATTACK = Attack(
    "commands killed at random moments",
    126,
    0.25,
    kills,
    unharmed,
    (
        REFUSES,
        FOLDER_LEFT,
        PROCESS_LEFT,
        Fault(
            "a command that is stopped has a traceback",
            "import slotmark.cli\n"
            "_usual = slotmark.cli.main\n"
            "def _planted():\n"
            "    try:\n"
            "        _usual()\n"
            "    except KeyboardInterrupt:\n"
            "        raise KeyError('planted') from None\n"
            "slotmark.cli.main = _planted\n",
            "a traceback",
        ),
        Fault(
            "what it writes is begun in its place",
            around(
                "import pathlib, shutil, sys, time\n"
                "if '-o' in sys.argv:\n"
                "    pathlib.Path('out').mkdir()\n"
                "    pathlib.Path('out/half').write_text('x')\n"
                "    time.sleep(3)\n"
                "    shutil.rmtree('out')"
            ),
            "not whole",
            shows_unharmed=False,
        ),
    ),
    inputs=14,
)
