"""Sessions that are cut at random moments and resumed until they end: they hold what a session holds that nobody cut, and nothing is left beside it."""

import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from attack.control import Attack
from attack.faults import FOLDER_LEFT, PROCESS_LEFT, REFUSES
from attack.ground import Fault, Ground, emptied
from attack.outcome import STOPPED, Tried
from attack.watching import Watched, watched
from slotmark.benches.ledger.bench import PARTS
from slotmark.measure.session import FILE

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
ENDS = {**STOPPED, signal.SIGINT: 130}
OUT = "out"
MOST_CUTS = 40
"""A session that was cut so often is left to come to its end."""

COLUMNS = {
    "invocations": (
        *("invocation", "round", "warmup", "setting", "mode", "depth", "blocks", "bytes", "floor_blocks"),
        *("last_slot", "last_hash", "digest", "protocol_version"),
    ),
    "windows": ("invocation", "blocks", "bytes", "window_blocks"),
    "blocks": ("run", "slot", "hash", "slot_gap", "block_bytes", "transactions", "inputs", "outputs", "era"),
    "processes": ("run", "blocks", "place", "backend", "commit"),
}
"""Columns that a session decides, by table: not its times, nor how long it took."""
KNOWN_BY = {"invocations": ("invocation", "startup_ns"), "processes": ("place", "wall_ns")}
"""By which a measurement is known again: its place in the session, and a time."""


class Kind(NamedTuple):
    """A session that can be cut.

    Attributes:
        words: The command, without ``-o`` and ``--resume``.
        always: Whether ``--resume`` may be there also where there is nothing to resume.
    """

    words: tuple[str | Path, ...]
    always: bool = False


def unharmed(ground: Ground) -> str:
    """Returns the fault of sessions that nobody cuts: each ends well, and one that is made again holds the same."""
    for name, kind in _kinds(ground, 3).items():
        folders = [ground.folder / "resumed" / f"{name}-{which}" for which in "ab"]
        for folder in folders:
            if wrong := _whole(ground, kind, emptied(folder)):
                return f"{name}: {wrong}"
        first, second = (_rows(folder / OUT) for folder in folders)
        if first != second or not first:
            return f"{name}: two sessions that nobody cut hold other rows"
    return ""


def resuming(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Cuts sessions, one after the other, and holds each, when it has come to its end, against one that nobody cut."""
    cuts, number = 0, 0
    while cuts < tries:
        chance = random.Random(f"resuming {seed} {number}")
        order = chance.randrange(1, 1_000)
        kinds = _kinds(ground, order)
        name = list(kinds)[number % len(kinds)]
        done, wrong = _session(ground, name, kinds[name], chance, min(MOST_CUTS, tries - cuts))
        told = f"session {number} ({name}, cut {done} times): {wrong}"
        yield Tried(max(done, 1), [told] if wrong else [])
        cuts, number = cuts + max(done, 1), number + 1


def _kinds(ground: Ground, seed: int) -> dict[str, Kind]:
    """Sessions of some seconds; what takes turns in them is drawn by the seed."""
    matrix = ground.folder / "cut.toml"
    matrix.write_text(
        f'rounds = 4\nseed = {seed}\nstore = "out"\n'
        '[[target]]\nname = "a"\nbackend = "memory"\n[[target]]\nname = "b"\nbackend = "memory"\n'
        f'[[fragment]]\nname = "first"\nchain = "{ground.chain}"\nblocks = 20\n'
        f'[[fragment]]\nname = "second"\nchain = "{ground.chain}"\nfrom = 100\nblocks = 20\n'
    )
    common = ("--seed", str(seed), "-o", "out")
    return {
        "chainsync": Kind(
            (
                *("chainsync", "run", "--chain", ground.chain, "--target", "native", "--blocks", "100"),
                *("--progress-every", "20", "--rounds", "6", "--depth", "1", "--mode", "raw", *common),
            )
        ),
        "ledger": Kind(
            (
                *("ledger", "run", "--chain", ground.chain, "--backend", "a=memory,b=memory,c=lsm", "--blocks", "40"),
                *("--rounds", "6", *common),
            )
        ),
        "matrix": Kind(("ledger", "run", "matrix.toml"), always=True),
    }


def _session(ground: Ground, name: str, kind: Kind, chance: random.Random, most: int) -> tuple[int, str]:
    """Cuts a session until it has ended or was cut so often; how often it was, and what is wrong with what came of it."""
    folder = emptied(ground.folder / "resumed" / name)
    temporary = emptied(ground.folder / "resumed-temporary")
    whole = emptied(ground.folder / "resumed" / f"{name}-whole")
    if wrong := _whole(ground, kind, whole, planted=False):
        return 0, f"without a cut: {wrong}"
    _prepare(ground, folder)
    kept = Kept()
    killed = False
    for cuts in range(most + 1):
        going_on = kind.always or (folder / OUT / FILE).exists()
        cut = Cut(folder / OUT, chance) if cuts < most else None
        found = watched(
            *kind.words,
            *(["--resume"] if going_on else []),
            into=folder,
            temporary=temporary,
            variables=ground.variables,
            look=cut or (lambda _: None),
        )
        killed = killed or found.done.code == -signal.SIGKILL
        if wrong := _after(found, cut, folder, temporary, killed=killed):
            return cuts, wrong
        if wrong := kept.wrong(folder / OUT):
            return cuts, wrong
        if found.done.code == 0 or (not kind.always and _over(folder / OUT)):
            return cuts, _other(folder / OUT, whole / OUT, kept)
    return most, "it doesn't end"


def _after(found: Watched, cut: "Cut | None", folder: Path, temporary: Path, *, killed: bool = False) -> str:
    """Returns the fault in how a part of a session ended; files of a killed part may stay until the session is over."""
    signalled = cut.signal if cut and cut.done else None
    # In Python's own first moments a signal ends it at once; at its very end a command may still end well.
    codes = [0] if signalled is None else [0, ENDS[signalled], -signalled]
    if wrong := found.wrong(*codes):
        return wrong
    if killed and found.done.code:
        return ""
    left = [] if killed else [path.name for path in temporary.iterdir()]
    out = folder / OUT
    if out.is_dir():
        left += [path.name for path in out.rglob(".*")]
        if found.done.code == 0:
            left += [path.name for path in out.rglob("*") if path.name in (FILE, PARTS)]
    return f"{sorted(left)} is left" if left else ""


class Cut:
    """A signal at a moment that is drawn: so long after the start, after more rounds are kept, or when the runs are being written."""

    def __init__(self, out: Path, chance: random.Random) -> None:
        self.signal = chance.choice(SIGNALS)
        self.done = False
        self._out = out
        self._began = time.monotonic()
        self._when: Callable[[], bool] = chance.choice([self._early, self._kept, self._kept, self._written])
        if self.signal == signal.SIGINT and self._when == self._early:
            self._when = self._kept  # Python prints a traceback where it comes before slotmark has begun
        self._after_s = chance.uniform(0, 2.5) if self._when == self._early else chance.uniform(0, 0.25) ** 2
        self._rounds = _lines(out) + chance.randint(1, 4)
        self._left = self._begun()
        self._reached = 0.0

    def __call__(self, process: "subprocess.Popen[bytes]") -> None:
        """Sends it where the moment has come."""
        if self.done:
            return
        if not self._reached and self._when():
            self._reached = time.monotonic()
        if self._reached and time.monotonic() >= self._reached + self._after_s:
            self.done = True
            process.send_signal(self.signal)

    def _early(self) -> bool:
        return True

    def _kept(self) -> bool:
        return _lines(self._out) >= self._rounds

    def _written(self) -> bool:
        return not self._begun() <= self._left

    def _begun(self) -> set[Path]:
        """Runs that are being written; also those that a part of the session that was killed left so."""
        return {*self._out.glob(".*.partial-*"), *self._out.glob("[!.]*/.*.partial-*")}


class Kept:
    """The rounds that sessions have kept: once there, they stay as they are.

    Attributes:
        times: A time of each measurement by the folder of its session and its place, as it was first kept.
    """

    def __init__(self) -> None:
        self._lines: dict[Path, list[bytes]] = {}
        self.times: dict[tuple[Path, int], int] = {}

    def wrong(self, out: Path) -> str:
        """Returns the fault in the rounds that are kept now."""
        for file in _unfinished(out):
            lines = file.read_bytes().split(b"\n")[:-1]
            before = self._lines.get(file, [])
            if lines[: len(before)] != before:
                return "rounds that were kept are others"
            self._lines[file] = lines
            for line in lines[1:]:
                for one in json.loads(line)["measured"]:
                    result = one["result"]
                    self.times[file.parent, one["order"]] = result.get("startup_ns") or result["wall_ns"]
        return ""


def _other(out: Path, whole: Path, kept: Kept) -> str:
    """Returns the differences between a session that was cut and one that was not."""
    found, expected = _rows(out), _rows(whole)
    if found.keys() != expected.keys():
        return f"its runs are {sorted(found)}, not {sorted(expected)}"
    for run, tables in expected.items():
        for name, rows in tables.items():
            if found[run][name] != rows:
                return f"{run}: other rows in {name}: {len(found[run][name])}, {len(rows)} were expected"
    times = {}
    for file in out.rglob("run.json"):
        manifest = json.loads(file.read_bytes())
        if len({json.loads(other.read_bytes())["session"] for other in file.parent.parent.glob("*/run.json")}) > 1:
            return f"{file.parent.name}: not of one session"
        for name, (place, time_ns) in KNOWN_BY.items():
            if name in manifest["tables"]:
                table = _table(file.parent, name)
                pairs = zip(table[place].to_pylist(), table[time_ns].to_pylist(), strict=True)
                times |= {(file.parent.parent, order): took for order, took in pairs}
    changed = [order for (where, order), took in kept.times.items() if times.get((where, order)) != took]
    return f"what was kept of places {changed[:5]} is other in the runs" if changed else ""


def _rows(out: Path) -> dict[str, dict[str, list[dict[str, object]]]]:
    """Returns the rows that a session decides of each of its runs, by table."""
    return {
        str(file.parent.relative_to(out)): {
            name: _table(file.parent, name).select(list(COLUMNS[name])).to_pylist()
            for name in json.loads(file.read_bytes())["tables"]
        }
        for file in sorted(out.rglob("run.json"))
    }


def _table(run: Path, name: str) -> pa.Table:
    place = run / "tables" / name
    return pq.read_table(place if place.is_dir() else place.with_name(f"{name}.parquet"))


def _whole(ground: Ground, kind: Kind, folder: Path, *, planted: bool = True) -> str:
    """Makes a session that nobody cuts; what is wrong with it."""
    temporary = emptied(ground.folder / "resumed-temporary")
    _prepare(ground, folder)
    found = watched(*kind.words, into=folder, temporary=temporary, variables=ground.variables if planted else {})
    return _after(found, None, folder, temporary)


def _prepare(ground: Ground, folder: Path) -> None:
    shutil.copy(ground.folder / "cut.toml", folder / "matrix.toml")


def _lines(out: Path) -> int:
    """Returns the number of rounds that are kept now, and of lines before them."""
    lines = 0
    for file in _unfinished(out):
        with suppress(FileNotFoundError):  # it goes when the session is over
            lines += file.read_bytes().count(b"\n")
    return lines


def _over(out: Path) -> bool:
    """Returns whether a session of one part is over: a cut may come after its last step, before its process has ended."""
    return not _unfinished(out) and any(out.glob("[!.]*/run.json"))


def _unfinished(out: Path) -> list[Path]:
    return sorted([*out.glob(FILE), *out.glob(f"*/{FILE}")])


_KEEPS = "import slotmark.measure.session as _session\n"
ATTACK = Attack(
    "sessions cut and resumed",
    300,
    0.2,
    resuming,
    unharmed,
    (
        REFUSES,
        FOLDER_LEFT,
        PROCESS_LEFT,
        Fault(
            "a session that is resumed draws another order",
            _KEEPS + "_conduct = _session.conduct\n"
            "def _planted(turns, on_step, before=(), keep=lambda _: None):\n"
            "    seed = turns.seed + 1 if before else turns.seed\n"
            "    return _conduct(_session.msgspec.structs.replace(turns, seed=seed), on_step, before, keep)\n"
            "_session.conduct = _planted\n",
            "other rows",
            shows_unharmed=False,
        ),
        Fault(
            "a session that is resumed forgets its last round",
            _KEEPS + "_resume = _session._resume\n"
            "def _planted(out, head, kind):\n"
            "    found = _resume(out, head, kind)\n"
            "    lines = found.path.read_bytes().splitlines(True)\n"
            "    found.path.write_bytes(b''.join(lines[:-1]))\n"
            "    found.rounds.pop()\n"
            "    found.done.pop()\n"
            "    return found\n"
            "_session._resume = _planted\n",
            "are others",
            shows_unharmed=False,
        ),
        Fault(
            "a session keeps its file when it is over",
            _KEEPS + "_session.Unfinished.remove = lambda self: None\n",
            "is left",
        ),
        Fault(
            "what was kept is measured again",
            _KEEPS + "import time\n_resume = _session._resume\n"
            "def _planted(out, head, kind):\n"
            "    found = _resume(out, head, kind)\n"
            "    for one in (one for of in found.rounds for one in of.measured):\n"
            "        for name in ('startup_ns', 'wall_ns'):\n"
            "            if hasattr(one.result, name):\n"
            "                _session.msgspec.structs.force_setattr(one, 'result', _session.msgspec.structs.replace(one.result, **{name: 1}))\n"
            "    return found\n"
            "_session._resume = _planted\n",
            "is other in the runs",
            shows_unharmed=False,
        ),
    ),
    inputs=24,
)
