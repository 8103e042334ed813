"""Disks that are full: a command that can't write ends in one line and leaves nothing half-written."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from attack.control import Attack
from attack.faults import FOLDER_LEFT, REFUSES, TRACEBACK, TRACEBACK_BEFORE, TWO_LINES
from attack.ground import SMALL, Ground, content, emptied
from attack.outcome import REFUSED, Tried, chances, ended, environment, slotmark, written

FULL = Path("/dev/full")
"""A device to which no write has room."""


def disks(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Ends the room for each file at a random length, which fails writes as a full disk does, or prints to /dev/full."""
    writing, printing = _writing(ground), _printing(ground)
    for number, chance in enumerate(chances(seed, "disks", tries)):
        folder = emptied(ground.folder / "full")
        if number % 4 == 3:
            arguments = printing[number // 4 % len(printing)]
            wrong = _printed_to_full(ground, folder, arguments)
            what = f"to {FULL}"
        else:
            arguments = writing[number % len(writing)]
            room = round(2 ** chance.uniform(0, 22))
            wrong = _written(ground, folder, arguments, room)
            what = f"with {room:,} bytes a file"
        yield Tried(1, [f"disk {number}: {' '.join(map(str, arguments[:2]))} {what}: {wrong}"] if wrong else [])


def _writing(ground: Ground) -> list[tuple[str | Path, ...]]:
    """Commands that write ``out``."""
    return [
        ("ingest", ground.logs, "-o", "out"),
        ("chain", "synth", "--workload", "preview-like", "--blocks", "400", "-o", "out"),
        ("simulate", "value-only-10.5", *SMALL, "-o", "out"),
        ("simulate", "value-only-10.5", *SMALL, "--direct", "-o", "out"),
        ("ledger", "import", ground.recording, "--target", "base", "-o", "out"),
        ("samples", ground.cluster_run, "forge_ticked", "-o", "out"),
        ("compare", ground.cluster_run, ground.other_cluster_run, "-o", "out"),
    ]


def _printing(ground: Ground) -> list[tuple[str | Path, ...]]:
    return [
        ("show", ground.cluster_run),
        ("samples", ground.cluster_run, "forge_ticked"),
        ("check", ground.cluster_run),
        ("chain", "info", ground.chain),
        ("compare", ground.cluster_run, ground.other_cluster_run),
    ]


def unharmed(ground: Ground) -> str:
    """Returns the fault of these commands where there is room: each ends well, and each that writes has written."""
    if not FULL.is_char_device():
        return f"{FULL} is no device: this system has none, or a command of root replaced it"
    for arguments in (*_writing(ground), *_printing(ground)):
        folder = emptied(ground.folder / "full")
        done = ground.attacked(*arguments, into=folder)
        wrong = done.wrong(0)
        left = sorted(path.name for path in folder.iterdir())
        expected = ["out"] if "-o" in arguments else []
        if not wrong and left != expected:
            wrong = f"{left} is left, not {expected}"
        if not wrong and not expected and not done.out:
            wrong = "nothing is printed"
        if wrong:
            return f"{' '.join(map(str, arguments[:2]))}: {wrong}"
    return ""


def _written(ground: Ground, folder: Path, arguments: tuple[str | Path, ...], room: int) -> str:
    done = ground.attacked(*arguments, into=folder, file_bytes=room)
    left = content(folder)
    if wrong := done.wrong(0, REFUSED):
        return wrong
    if done.code and left:
        return f"{sorted(left)} is left"
    return ""


def _printed_to_full(ground: Ground, folder: Path, arguments: tuple[str | Path, ...]) -> str:
    with FULL.open("wb") as full, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            slotmark(*arguments), cwd=folder, env=environment(folder, **ground.variables), stdout=full, stderr=said
        )
        done = msgspec.structs.replace(ended(process), said=written(said).decode(errors="replace"))
    return done.wrong(REFUSED) or (f"{sorted(content(folder))} is left" if content(folder) else "")


ATTACK = Attack("full disks", 84, 0.1, disks, unharmed, (REFUSES, FOLDER_LEFT, TRACEBACK, TRACEBACK_BEFORE, TWO_LINES))
