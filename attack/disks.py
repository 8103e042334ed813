"""Disks that are full: a command that can't write ends in one line and leaves nothing half-written."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from attack.ground import SMALL, Ground, content, emptied
from attack.outcome import REFUSED, Tried, chances, command, ended, environment, slotmark, written


def disks(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Ends the room for each file at a random length, which fails writes as a full disk does, or prints to /dev/full."""
    writing: list[tuple[str | Path, ...]] = [
        ("ingest", ground.logs, "-o", "out"),
        ("chain", "synth", "--workload", "preview-like", "--blocks", "400", "-o", "out"),
        ("simulate", "value-only-10.5", *SMALL, "-o", "out"),
        ("simulate", "value-only-10.5", *SMALL, "--direct", "-o", "out"),
        ("ledger", "import", ground.recording, "--target", "base", "-o", "out"),
        ("samples", ground.cluster_run, "forge_ticked", "-o", "out"),
        ("compare", ground.cluster_run, ground.other_cluster_run, "-o", "out"),
    ]
    printing: list[tuple[str | Path, ...]] = [
        ("show", ground.cluster_run),
        ("samples", ground.cluster_run, "forge_ticked"),
        ("check", ground.cluster_run),
        ("chain", "info", ground.chain),
        ("compare", ground.cluster_run, ground.other_cluster_run),
    ]
    for number, chance in enumerate(chances(seed, "disks", tries)):
        folder = emptied(ground.folder / "full")
        if number % 4 == 3:
            arguments = printing[number // 4 % len(printing)]
            wrong = _printed_to_full(folder, arguments)
            what = "to /dev/full"
        else:
            arguments = writing[number % len(writing)]
            room = round(2 ** chance.uniform(0, 22))
            wrong = _written(folder, arguments, room)
            what = f"with {room:,} bytes a file"
        yield Tried(1, [f"disk {number}: {' '.join(map(str, arguments[:2]))} {what}: {wrong}"] if wrong else [])


def _written(folder: Path, arguments: tuple[str | Path, ...], room: int) -> str:
    done = command(*arguments, into=folder, file_bytes=room)
    left = content(folder)
    if wrong := done.wrong(0, REFUSED):
        return wrong
    if done.code and left:
        return f"{sorted(left)} is left"
    return ""


def _printed_to_full(folder: Path, arguments: tuple[str | Path, ...]) -> str:
    with Path("/dev/full").open("wb") as full, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(slotmark(*arguments), cwd=folder, env=environment(folder), stdout=full, stderr=said)
        done = msgspec.structs.replace(ended(process), said=written(said).decode(errors="replace"))
    return done.wrong(REFUSED) or (f"{sorted(content(folder))} is left" if content(folder) else "")
