"""Two commands that write to one place at once: what is there afterwards is all of one of them, and each of them ends well or is refused."""

import json
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attack.control import Attack
from attack.faults import FOLDER_LEFT, REFUSES, TRACEBACK_BEFORE
from attack.ground import SMALL, Fault, Ground, content, emptied
from attack.outcome import REFUSED, Ended, Tried, chances, command, ended, environment, slotmark, written

SIDES = ("first", "second")


class Pair(NamedTuple):
    """Two commands that write ``out``.

    Attributes:
        words: Both, without ``-o out``.
        of: Says which of the two is there: a text that is another for each, and for a mixture.
        apart_s: The most by which one starts after the other.
    """

    words: tuple[tuple[str | Path, ...], tuple[str | Path, ...]]
    of: Callable[[Path], object]
    apart_s: float = 0.4


def together(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Starts the two commands of each pair in turn, one up to some tenths of a second after the other."""
    pairs = _pairs(ground)
    for number, chance in enumerate(chances(seed, "together", tries)):
        name = list(pairs)[number % len(pairs)]
        wrong = _both(ground, pairs[name](), _alone(ground, name), chance)
        yield Tried(1, [f"pair {number} ({name}): {wrong}"] if wrong else [])


def unharmed(ground: Ground) -> str:
    """Returns the fault of commands that are alone: each ends well, and writes something else than the other of its pair."""
    for name, pair in _pairs(ground).items():
        for words in pair().words:
            folder, temporary = emptied(ground.folder / "together"), emptied(ground.folder / "together-temporary")
            done = command(*words, "-o", "out", into=folder, variables={**ground.variables, "TMPDIR": str(temporary)})
            if wrong := done.wrong(0) or _left(folder, temporary):
                return f"{name}: {wrong}"
        first, second = _alone(ground, name)
        if name not in _MEASURED and first == second:
            return f"{name}: both write the same, so that a mixture isn't seen"
    return ""


_MEASURED = ("sessions",)
"""Pairs that write times: of these only that all is of one session is known."""


def _pairs(ground: Ground) -> dict[str, Callable[[], Pair]]:
    """The pairs by name; what one works on is made when it is asked for."""
    small = ("simulate", "value-only-10.5", *SMALL, "--seed")

    def measured(*words: str, of: Callable[[Path], object], both: bool) -> Pair:
        a, b = ground.measured / "a", ground.measured / "b"
        return Pair(((words[0], a, *(b,) * both, *words[1:]), (words[0], b, *(a,) * both, *words[1:])), of)

    def sessions() -> Pair:
        run = ("ledger", "run", "--chain", ground.chain, "--blocks", "20", "--rounds", "8", "--backend")
        # Far less apart than a session takes: after its end, the runs of another one are let in.
        return Pair(((*run, "a=memory,b=memory"), (*run, "c=memory,d=memory")), _sessions, 0.8)

    return {
        "samples": lambda: measured("samples", "total_us", of=Path.read_bytes, both=False),
        "reports": lambda: measured("compare", of=content, both=True),
        "runs": lambda: Pair((("ingest", ground.logs), ("ingest", ground.other_logs)), _tables),
        "simulations": lambda: Pair(((*small, "11"), (*small, "12")), content),
        "sessions": sessions,
    }


def _tables(out: Path) -> object:
    """A run's tables; its manifest says also when it was made."""
    return {name: digest for name, digest in content(out).items() if name != "run.json"}


def _sessions(out: Path) -> object:
    """The names of runs; those of more than one session are as many more."""
    runs = {file.parent.name: json.loads(file.read_bytes())["session"] for file in out.glob("*/run.json")}
    others = [path.name for path in out.iterdir() if path.name not in runs]
    return sorted(runs), len(set(runs.values())), sorted(others)


@cache
def _alone(ground: Ground, name: str) -> tuple[object, object]:
    """The files that each of a pair leaves where it is alone, without what is planted."""
    pair = _pairs(ground)[name]()
    found = []
    for words in pair.words:
        folder = emptied(ground.folder / "alone")
        done = command(*words, "-o", "out", into=folder)
        if done.code:
            raise RuntimeError(f"{name}: {done.said}")
        found.append(pair.of(folder / "out"))
    return found[0], found[1]


def _both(ground: Ground, pair: Pair, alone: tuple[object, object], chance: random.Random) -> str:
    folder, temporary = emptied(ground.folder / "together"), emptied(ground.folder / "together-temporary")
    apart_s = chance.choice((0.0, chance.uniform(0, pair.apart_s)))
    order = chance.sample(range(2), 2)
    with ExitStack() as stack:
        running = []
        for place in order:
            said = stack.enter_context(tempfile.TemporaryFile())
            process = subprocess.Popen(
                slotmark(*pair.words[place], "-o", "out"),
                cwd=folder,
                env=environment(temporary, **ground.variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
            running.append((place, process, said))
            time.sleep(apart_s)
        done = {place: _ended(process, written_to=said) for place, process, said in running}
    for place, one in done.items():
        if wrong := one.crash(0, REFUSED):
            return f"the {SIDES[place]}: {wrong}"
        last = one.said.strip().rpartition("\n")[2]  # a session tells first what it will do
        if one.code == REFUSED and not (last.startswith("slotmark: ") and "out" in last):
            return f"the {SIDES[place]}: refused without the place: {last}"
    well = [place for place, one in done.items() if one.code == 0]
    if not well:
        return "both are refused"
    if (found := pair.of(folder / "out")) not in [alone[place] for place in well]:
        return f"what is there is of neither: {found!r}"[:300]
    return _left(folder, temporary)


def _ended(process: "subprocess.Popen[bytes]", written_to: "tempfile._TemporaryFileWrapper[bytes]") -> Ended:
    one = ended(process)
    return Ended(one.code, b"", written(written_to).decode(errors="replace"), one.peak_bytes)


def _left(folder: Path, temporary: Path) -> str:
    others = [path.name for place in (folder, temporary) for path in place.iterdir() if path.name != "out"]
    others += [path.name for path in folder.rglob("*.partial*")]
    return f"{sorted(others)} is left" if others else ""


ATTACK = Attack(
    "two commands that write to one place",
    60,
    0.05,
    together,
    unharmed,
    (
        REFUSES,
        FOLDER_LEFT,
        TRACEBACK_BEFORE,
        Fault(
            "files of two commands are mixed",
            "import slotmark.whole_files as _files, contextlib, os, sys, time\n"
            "@contextlib.contextmanager\n"
            "def _planted(*files):\n"
            "    partials = [file.with_name(f'.{file.name}.partial-{os.getpid()}') for file in files]\n"
            "    yield partials\n"
            "    turn = 1 if sys.argv[2].endswith('a') else -1\n"
            "    for partial, file in list(zip(partials, files))[::turn]:\n"
            "        partial.rename(file)\n"
            "        time.sleep(1)\n"
            "_files.written_whole = _planted\n",
            "of neither",
            shows_unharmed=False,
        ),
        Fault(
            "two sessions go on in one folder",
            "import contextlib, slotmark.measure.session as _session\n"
            "@contextlib.contextmanager\n"
            "def _planted(out):\n"
            "    out.mkdir(parents=True, exist_ok=True)\n"
            "    yield\n"
            "_session._alone, _session._new = _planted, lambda out: out / _session.FILE\n",
            "(sessions): ",
            shows_unharmed=False,
        ),
    ),
    inputs=20,
)
