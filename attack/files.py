"""Files that people write and get from others: policies, gates, releases, profiles, studies, recordings, genesis files, published tables, tables of spread; cut, nested, huge, of wrong types, with strangers' names, or no files at all."""

import json
import os
import random
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from attack.control import Attack
from attack.faults import MEMORY_TAKEN, OF_A_READER
from attack.ground import PUBLISHED, Fault, Ground, content, emptied
from attack.outcome import REFUSED, Ended, Tried, chances, command
from attack.tampering import CONTROL, Commands, change_bytes, change_content
from slotmark.metrics import catalogue

MOST_BYTES = 700 << 20
DEEP = 200_000
HUGE_BYTES = 48 << 20
"""Most bytes of a file that no tool wrote so large."""


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        file: Its place, below the folder that the command runs in.
        content: What is in it.
        words: The command that reads it.
        beside: Other files in its folder.
    """

    file: str
    content: bytes
    words: tuple[str | Path, ...]
    beside: tuple[tuple[str, bytes], ...] = ()


def files(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Changes a file of each kind in turn, and gives it to the command that reads it."""
    kinds = _kinds(ground)
    place = emptied(ground.folder / "files" / "place")
    commands = Commands(place, emptied(ground.folder / "files-temporary"), ground.variables)
    try:
        for number, chance in enumerate(chances(seed, "files", tries)):
            name = list(kinds)[number % len(kinds)]
            kind = kinds[name]
            file = _laid_out(place, kind)
            what = chance.choice(WAYS)(file, chance)
            before = content(place.parent)
            wrong = _wrong(ground, commands(*kind.words), before, (0, 1, REFUSED, 3))
            yield Tried(1, [f"{name} {number} ({what}): {wrong}"] if wrong else [])
    finally:
        commands.close()


def unharmed(ground: Ground) -> str:
    """Faults in the reading of files that nobody changed: each is taken, and each command says something of it."""
    place = emptied(ground.folder / "files" / "place")
    commands = Commands(place, emptied(ground.folder / "files-temporary"), ground.variables)
    try:
        for name, kind in _kinds(ground).items():
            _laid_out(place, kind)
            before = content(place.parent)
            done = commands(*kind.words)
            if wrong := _wrong(ground, done, before, (0, 1, 3)) or ("" if done.out else "nothing was printed"):
                return f"{name}: {wrong}"
    finally:
        commands.close()
    return ""


def _laid_out(place: Path, kind: Kind) -> Path:
    """The folder with this file alone, and beside it one that nothing may change."""
    emptied(place)
    (place.parent / "victim.py").write_text("print('untouched')\n")
    file = place / kind.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(kind.content)
    for name, beside in kind.beside:
        file.with_name(name).write_bytes(beside)
    return file


def _wrong(ground: Ground, done: Ended, before: dict[str, str], codes: tuple[int, ...]) -> str:
    if wrong := done.wrong(*codes):
        return wrong
    if any(byte in done.out or chr(byte) in done.said for byte in CONTROL):
        return "control characters were printed"
    if done.peak_bytes > MOST_BYTES:
        return f"{done.peak_bytes >> 20} MiB of memory"
    place = ground.folder / "files"
    if content(place, place / "place" / "out") != before:
        return "files were changed"
    left = [path.name for path in (ground.folder / "files-temporary").iterdir() if path.name not in ("out", "said")]
    left += [] if done.code == 0 or not (place / "place" / "out").exists() else ["out"]
    return f"{left} is left" if left else ""


@cache
def _kinds(ground: Ground) -> dict[str, Kind]:
    """Every kind of file that is attacked."""
    runs = (ground.measured / "a", ground.measured / "b")
    policy = command("compare", "--show-policy", *runs, into=ground.folder).out
    release = f'title = "10.7"\n[[comparison]]\nname = "ledger"\nbench = "ledger"\nbaseline = ["{runs[0]}"]\ncandidate = ["{runs[1]}"]\n'
    study = 'name = "ours"\n[machine]\ncpu = "AMD"\ncores = 2\n[[target]]\nname = "base"\nfiles = ["*.csv"]\nfactors = { ghc = "9.6" }\n'
    recording = b"".join(ground.recording.read_bytes().splitlines(keepends=True)[:60])
    shelley = ground.chain / "genesis" / "shelley-genesis.json"
    reference = catalogue("cluster").folder / "run_to_run" / "reference-52.toml"
    profile = 'extends = "value-only-10.5"\nname = "mine"\ndescription = "Mine."\n[run]\nslots = 300\n[network]\nhosts = 4\npools = 4\n'
    return {
        "policy": Kind("policy.toml", policy, ("compare", *runs, "--policy", "policy.toml")),
        "gate": Kind("gate.toml", b'total_us = "3%"\n', ("compare", *runs, "--gate", "gate.toml")),
        "release": Kind("release.toml", release.encode(), ("release", "decide", "release.toml")),
        "profile": Kind("profile.toml", profile.encode(), ("simulate", "profile.toml", "--show")),
        "study": Kind(
            "study/study.toml", study.encode(), ("ledger", "import", "study", "-o", "out"), (("base.csv", recording),)
        ),
        "recording": Kind("base.csv", recording, ("ledger", "import", "base.csv", "-o", "out")),
        "genesis": Kind(
            "shelley-genesis.json",
            shelley.read_bytes(),
            ("chain", "check", ground.chain, "--genesis", "shelley-genesis.json"),
            tuple((path.name, path.read_bytes()) for path in shelley.parent.glob("*-genesis.json") if path != shelley),
        ),
        "published": Kind("published.json", PUBLISHED, ("published", "compare", "published.json")),
        "spread": Kind(
            "spread.toml", reference.read_bytes(), ("compare", *ground.published, "--run-to-run", "spread.toml")
        ),
    }


def _cut(file: Path, chance: random.Random) -> str:
    whole = file.read_bytes()
    at = chance.randrange(len(whole))
    file.write_bytes(whole[:at])
    return f"cut after {at:,} bytes"


def _nested(file: Path, chance: random.Random) -> str:
    """Opens far more lists or tables than any file has: where a value stands on a line of its own, or between any two characters."""
    whole = file.read_bytes()
    if file.suffix == ".toml" and chance.random() < 0.7:
        opening, at = chance.choice((b"[", b"{a=")), whole.rfind(b"\n", 0, chance.randrange(len(whole))) + 1
        before = b"x = "
    else:
        opening, at, before = (
            chance.choice((b"[", b"{", b'{"a":', b"[[a]]\n", b"a.")),
            chance.randrange(len(whole)),
            b"",
        )
    file.write_bytes(whole[:at] + before + opening * DEEP + whole[at:])
    return f"{opening.decode()!r} {DEEP:,} times at {at:,}"


def _huge(file: Path, chance: random.Random) -> str:
    """Makes one place of it far longer."""
    whole = file.read_bytes()
    filling = chance.choice((b"a", b"1", b"\n", b"\0", b" ", b"# \n", whole))
    at = chance.choice((0, chance.randrange(len(whole)), len(whole)))
    file.write_bytes(whole[:at] + filling * (HUGE_BYTES // len(filling)) + whole[at:])
    return f"{HUGE_BYTES >> 20} MiB of {filling[:8]!r} at {at:,}"


def _member(file: Path, chance: random.Random) -> str:
    """Changes a value or a name in it to what a stranger might choose, of any type."""
    text = file.read_text()
    if file.suffix == ".csv":
        lines = [line.split("\t") for line in text.splitlines()]
        what = change_content(lines, chance)
        file.write_bytes("\n".join(_csv(line) for line in lines).encode("utf-8", "surrogatepass"))
        return f"{what} of the lines"
    is_json = file.suffix == ".json"
    read: Any = json.loads(text) if is_json else tomllib.loads(text)
    what = change_content(read, chance)
    file.write_bytes((json.dumps(read) if is_json else _toml(read)).encode("utf-8", "surrogatepass"))
    return f"{what} of the content"


def _csv(line: Any) -> str:
    return "\t".join(map(str, line)) if isinstance(line, list) else str(line)


def _toml(content: dict[str, Any]) -> str:
    """TOML, each value on a line of its own; what TOML doesn't have is written as JSON."""
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in content.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


def _key(name: str) -> str:
    return json.dumps(name)


def _no_file(file: Path, chance: random.Random) -> str:
    """Puts something in its place that can be opened and is no file of a disk, or no text."""
    file.unlink()
    match chance.randrange(6):
        case 0:
            file.mkdir()
            return "a folder"
        case 1:
            file.symlink_to(file.name)
            return "a link to itself"
        case 2:
            os.mkfifo(file)
            return "a pipe that nobody writes"
        case 3:
            file.symlink_to("/dev/zero")
            return "a device without end"
        case 4:
            file.write_bytes("a = 1\n".encode("utf-16"))
            return "UTF-16"
        case _:
            return "no file"


WAYS: tuple[Callable[[Path, random.Random], str], ...] = (
    _cut,
    _nested,
    _nested,
    _huge,
    _member,
    _member,
    _member,
    change_bytes,
    _no_file,
)

ATTACK = Attack(
    "files that people write, changed",
    360,
    0.05,
    files,
    unharmed,
    (
        *OF_A_READER,
        MEMORY_TAKEN,
        Fault(
            "a file that is nested deep is followed to its end",
            "import tomllib, slotmark.texts as _texts\n"
            "_usual = _texts.read_toml\n"
            "def _planted(file):\n"
            "    return tomllib.loads(file.read_text(encoding='utf-8')) if file.is_file() else _usual(file)\n"
            "_texts.read_toml = _planted\n",
            "a traceback",
            shows_unharmed=False,
        ),
    ),
    inputs=72,
)
