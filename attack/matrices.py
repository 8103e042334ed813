"""Matrices and noise files changed by a stranger: refused, or carried out inside their own store; nothing else is touched.

A matrix's commands are started, as those of a Makefile are: they are not changed here, only all else is.
"""

import json
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attack.control import Attack
from attack.faults import CONTROL_PRINTED, FILE_CHANGED, REFUSES, TRACEBACK, around
from attack.ground import Fault, Ground, content, emptied
from attack.outcome import REFUSED, Ended, Tried, chances, command
from attack.tampering import CONTROL, Commands, change_bytes, change_content, change_value

_MATRIX = """
rounds = 1
seed = 1
flush_every = 10
pause = "1ms"
timeout = "1min"
memory_limit = ""
machine = "bench-1"
store = "store"
[[target]]
name = "memory"
backend = "memory"
[[target]]
name = "disk"
backend = "lmdb"
[[fragment]]
name = "whole"
chain = "{chain}"
blocks = 20
[[fragment]]
name = "late"
chain = "{chain}"
from = 100
to = 400
"""


def matrices(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Changes a matrix or a noise file in one place, and gives it to `ledger run` or `compare`."""
    place = emptied(ground.folder / "matrices" / "place")
    compared = _compared(ground)
    usual = command(*compared, ground.noise, into=place).out
    commands = Commands(place, emptied(ground.folder / "matrices-temporary"), ground.variables)
    try:
        for number, chance in enumerate(chances(seed, "matrices", tries)):
            emptied(place)
            (place.parent / "victim.py").write_text("print('untouched')\n")
            if chance.random() < 0.5:
                what, wrong = _tampered_matrix(ground, commands, place, chance)
            else:
                file = place / "noise.json"
                file.write_bytes(ground.noise.read_bytes())
                what = (change_bytes if chance.random() < 0.3 else change_value)(file, chance)
                done = commands(*compared, file.name)
                wrong = done.wrong(0, REFUSED) or _printed(done)
                if not wrong and done.code == 0 and done.out != usual:
                    wrong = "noise changed a comparison"
            yield Tried(1, [f"{number} ({what}): {wrong}"] if wrong else [])
    finally:
        commands.close()


def _compared(ground: Ground) -> tuple[str | Path, ...]:
    return ("compare", ground.measured / "a", ground.measured / "b", "--noise")


def unharmed(ground: Ground) -> str:
    """Returns the fault in using a matrix and a noise file that nobody changed: all targets are measured, and the file counts."""
    place = emptied(ground.folder / "matrices" / "place")
    (place.parent / "victim.py").write_text("print('untouched')\n")
    (place / "matrix.toml").write_text(_MATRIX.format(chain=ground.chain))
    usual = command(*_compared(ground), ground.noise, into=place)
    without = command(*_compared(ground)[:-1], into=place)
    if usual.code or without.code or usual.said == without.said:
        return f"the noise file doesn't count: {usual.said}"
    before = content(place.parent)
    commands = Commands(place, emptied(ground.folder / "matrices-temporary"), ground.variables)
    try:
        compared, measured = commands(*_compared(ground), ground.noise), commands("ledger", "run", "matrix.toml")
    finally:
        commands.close()
    for done in (compared, measured):
        if wrong := done.wrong(0) or _printed(done):
            return wrong
    if compared.out != usual.out:
        return "noise changed a comparison"
    after = content(place.parent)
    if any(after.get(name) != digest for name, digest in before.items()):
        return "files were changed"
    runs = sorted(path.parent.name for path in place.rglob("run.json"))
    return "" if runs == ["disk", "disk", "memory", "memory"] else f"the runs are {runs}"


def _tampered_matrix(ground: Ground, commands: Commands, place: Path, chance: random.Random) -> tuple[str, str]:
    """Returns the change, and the fault in its result."""
    file = place / "matrix.toml"
    text = _MATRIX.format(chain=ground.chain)
    if chance.random() < 0.3:
        file.write_text(text)
        what = change_bytes(file, chance)
    else:
        matrix = tomllib.loads(text)
        what = f"{change_content(matrix, chance)} of the matrix"
        file.write_bytes(_toml(matrix).encode("utf-8", "surrogatepass"))
    before = content(place.parent)
    done = commands("ledger", "run", file.name)
    wrong = done.crash(0, REFUSED) or _printed(done)
    after = content(place.parent)
    if not wrong and any(after.get(name) != digest for name, digest in before.items()):
        wrong = "files were changed"
    return what, wrong


def _printed(done: Ended) -> str:
    if any(byte in done.out or chr(byte) in done.said for byte in CONTROL):
        return "control characters were printed"
    return ""


def _toml(matrix: Any) -> str:
    """A matrix as TOML; what TOML doesn't have is written as JSON."""
    if not isinstance(matrix, dict):
        return json.dumps(matrix)
    tables = {name: value for name, value in matrix.items() if isinstance(value, list) and value}
    lines = [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in matrix.items() if name not in tables]
    for name, entries in tables.items():
        for entry in entries:
            lines.append(f"[[{json.dumps(name)}]]")
            lines += (
                [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in entry.items()]
                if isinstance(entry, dict)
                else [json.dumps(entry)]
            )
    return "\n".join(lines) + "\n"


ATTACK = Attack(
    "tampered matrices and noise files",
    60,
    0.05,
    matrices,
    unharmed,
    (
        REFUSES,
        TRACEBACK,
        CONTROL_PRINTED,
        FILE_CHANGED,
        Fault(
            "the noise file is printed",
            around("import pathlib, sys\nprint([word for word in sys.argv if 'noise' in word])"),
            "noise changed",
        ),
    ),
)
