"""Run folders changed by a stranger: refused in one line, or read with the same numbers; nothing else is touched."""

import csv
import json
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attack.control import Attack
from attack.faults import OF_A_READER, around
from attack.ground import Fault, Ground, content, emptied, is_fine_or_refused
from attack.outcome import TIMEOUT_S, Ended, Tried, chances, command, environment

SAMPLES = {"cluster": ("forge_ticked", "--filter", "none"), "ledger": ("total_us",)}
"""A metric of each bench. Which blocks it is of is left out of what the manifest may decide."""

HOSTILE: tuple[Any, ...] = (
    "x\" AS SELECT 1; COPY (SELECT 'a') TO 'victim.py'; CREATE VIEW \"y",
    "'); COPY (SELECT 1) TO 'victim.py'; --",
    "../../victim.py",
    "/etc/passwd",
    "r*un",
    "[red]x[/nope]",
    "\x1b]0;owned\x07\x1b[2J",
    "<script>alert(1)</script>",
    "{{7*7}}${7*7}%n%s",
    "=cmd|'/c calc'!A0",
    "\ud800",
    "",
    "a" * 100_000,
    None,
    True,
    -1,
    2**63,
    2**200,
    1e308,
    [],
    {},
    [[[[[[]]]]]],
)
MEMORY_BYTES = 12 << 30
"""Bytes that a command may allocate: more than it ever takes, less than a size out of a damaged file could ask for. Files that are mapped, as LMDB's, don't count."""

CONTROL = [byte for byte in range(32) if byte not in b"\t\n"]

_REPEATED = """
import os, signal, sys
import slotmark.cli, slotmark.cli.check, slotmark.metrics, slotmark.report, slotmark.run, pyarrow.parquet, slotmark.report.renderers.csv
folder, seconds = sys.argv[1], int(sys.argv[2])
for line in sys.stdin:
    out, said, *arguments = line.rstrip("\\n").split("\\0")
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        os.chdir(folder)  # which is made anew for each call
        for number, path in ((1, out), (2, said)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = ["slotmark", *arguments]
        from slotmark.__main__ import main
        try:
            main()
            sys.stdout.flush()
            os._exit(0)
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code if isinstance(end.code, int) else 1)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(70)
    _, status, used = os.wait4(child, 0)
    print(os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024, flush=True)
"""


class Commands:
    """The command, loaded once and forked for each call: the same code and exit codes, without the time of its start. One that hangs is ended."""

    def __init__(self, folder: Path, temporary: Path, variables: Mapping[str, str], timeout_s: int = TIMEOUT_S) -> None:
        self._files = (temporary / "out", temporary / "said")

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CPU, (3_600, 3_600))

        self._process = subprocess.Popen(
            [sys.executable, "-B", "-c", _REPEATED, str(folder), str(timeout_s)],
            env=environment(temporary, **variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=limit,  # noqa: PLW1509 - no threads
        )

    def __call__(self, *arguments: str | Path) -> Ended:
        """Runs the command with these arguments."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\0".join(map(str, (*self._files, *arguments))) + "\n")
        self._process.stdin.flush()
        code, peak = map(int, self._process.stdout.readline().split())
        out, said = (path.read_bytes() for path in self._files)
        return Ended(code, out, said.decode(errors="replace"), peak)

    def close(self) -> None:
        """Ends the process that is forked from."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def tampering(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Changes a run folder in one place and gives it to `check`, `samples` and `show`."""
    place = emptied(ground.folder / "tampered")
    runs = _runs(ground)
    usual = {bench: _usual_samples(runs[bench], wanted).out for bench, wanted in SAMPLES.items()}
    commands = Commands(place, emptied(ground.folder / "tampered-temporary"), ground.variables)
    try:
        for number, chance in enumerate(chances(seed, "tampering", tries)):
            bench = chance.choice(list(SAMPLES))
            emptied(place)
            run = shutil.copytree(runs[bench], place / "run")
            shutil.copytree(runs[bench], place / "reun")  # what the pattern r*un would find too
            (place / "victim.py").write_text("print('untouched')\n")
            what = _change(run, chance)
            before = content(place)
            wrong = _wrong(_read(commands, run.name, bench), usual[bench])
            if not wrong and content(place) != before:
                wrong = "files were changed"
            yield Tried(1, [f"run folder {number} ({bench}, {what}): {wrong}"] if wrong else [])
    finally:
        commands.close()


def _runs(ground: Ground) -> dict[str, Path]:
    """The run of each bench that nobody changed."""
    return {"cluster": ground.cluster_run, "ledger": ground.ledger_run}


@cache
def _usual_samples(run: Path, wanted: tuple[str, ...]) -> Ended:
    """Returns the result of `samples` for a run that nobody changed, and a slotmark without a fault."""
    return command("samples", run, *wanted, into=run.parent)


def unharmed(ground: Ground) -> str:
    """Returns the fault in checking and showing runs that nobody changed: all must be fine, with the numbers of the logs and the recording."""
    expected = {"cluster": _slots_of_logs(ground), "ledger": _rows_of_recording(ground)}
    place = emptied(ground.folder / "tampered")
    (place / "victim.py").write_text("print('untouched')\n")
    commands = Commands(place, emptied(ground.folder / "tampered-temporary"), ground.variables)
    try:
        for bench, made in _runs(ground).items():
            run = shutil.copytree(made, place / bench)
            before = content(place)
            usual = _usual_samples(made, SAMPLES[bench])
            done = _read(commands, run.name, bench)
            wrong = usual.wrong(0) or _wrong(done, usual.out) or "".join(one.wrong(0) for one in done.values())
            rows = csv.DictReader(done["samples"].out.decode(errors="replace").splitlines())
            found = [tuple(row.get(name, "") for name in KNOWN_BY[bench]) for row in rows]
            if not wrong and (
                not found or not set(found) <= expected[bench] or len(found) < 0.8 * len(expected[bench])
            ):
                wrong = f"{len(found)} samples are not those of the input, which has {len(expected[bench])}"
            if not wrong and not done["show"].out:
                wrong = "nothing is shown"
            if not wrong and content(place) != before:
                wrong = "files were changed"
            if wrong:
                return f"{bench}: {wrong}"
    finally:
        commands.close()
    return ""


KNOWN_BY = {"cluster": ("slot", "forger"), "ledger": ("slot", "value")}
"""The columns of the samples of each bench by which they are known."""


def _slots_of_logs(ground: Ground) -> set[tuple[str, ...]]:
    """Slot and host of each block that a log has as forged."""
    forged = set()
    for log in ground.logs.glob("*/stdout"):
        for line in log.read_text().splitlines():
            if '"TraceForgedBlock"' in line:
                forged.add((str(json.loads(line)["data"]["slot"]), log.parent.name))
    return forged


def _rows_of_recording(ground: Ground) -> set[tuple[str, ...]]:
    rows = [line.split("\t") for line in ground.recording.read_text().splitlines()[1:]]
    return {(row[0], row[2]) for row in rows}


def _read(commands: Commands, run: str, bench: str) -> dict[str, Ended]:
    """Returns the result of each command that reads a run."""
    return {
        "check": commands("check", run),
        "samples": commands("samples", run, *SAMPLES[bench]),
        "show": commands("show", run),
    }


def _wrong(done: Mapping[str, Ended], usual: bytes) -> str:
    for name, one in done.items():
        if wrong := is_fine_or_refused(one):
            return f"{name}: {wrong}"
        if any(byte in one.out or chr(byte) in one.said for byte in CONTROL):
            return f"{name}: control characters were printed"
    if done["check"].code == 0 and done["samples"].code == 0 and done["samples"].out != usual:
        return "check passes, and samples are others"
    return ""


def _change(run: Path, chance: random.Random) -> str:
    """Changes one thing in a run folder; what it was, in words."""
    parts = sorted(path for path in run.rglob("*.parquet"))
    match chance.randrange(8):
        case 0 | 1:
            return change_bytes(run / "run.json", chance)
        case 2 | 3 | 4:
            return change_value(run / "run.json", chance)
        case 5 | 6:
            return change_bytes(chance.choice(parts), chance)
        case _:
            return _change_files(run, parts, chance)


def change_bytes(path: Path, chance: random.Random) -> str:
    """Changes, takes away or adds a few bytes of a file; which file, in words."""
    content = bytearray(path.read_bytes())
    # The footer of a Parquet file is where most can go wrong.
    low = max(0, len(content) - 2_000) if path.suffix == ".parquet" and chance.random() < 0.5 else 0
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(low, len(content))
        match chance.randrange(4):
            case 0 | 1:
                content[at] ^= 1 << chance.randrange(8)
            case 2:
                content[at : at + chance.randrange(8)] = chance.randbytes(chance.randrange(8))
            case _:
                content[at] = chance.choice(b'\x00\xff"\\{}[],0-9')
        low = min(low, len(content) - 1)
    if chance.random() < 0.1:
        del content[chance.randrange(len(content)) :]
    path.write_bytes(content)
    return f"bytes of {path.name}"


def change_value(path: Path, chance: random.Random) -> str:
    """Puts a hostile value or name into a JSON file, leaves one out, or doubles one."""
    content = json.loads(path.read_bytes())
    what = change_content(content, chance)
    path.write_bytes(json.dumps(content).encode("utf-8", "surrogatepass"))
    return f"{what} of {path.name}"


def change_content(content: Any, chance: random.Random) -> str:
    """Changes one member of what was read from a file; which one, in words."""
    holder, key = chance.choice(list(places(content)))
    match chance.randrange(5):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            new = chance.choice([value for value in HOSTILE if isinstance(value, str)])
            holder[new] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder.append(holder[key])
        case _:
            holder[key] = chance.choice(HOSTILE)
    return f"'{str(key)[:40]}'"


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every member of every object and list, as what holds it and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from places(inner)


def _change_files(run: Path, parts: list[Path], chance: random.Random) -> str:
    """Takes a file away, swaps two, or puts a link, a folder, a pipe or another file in its place."""
    path = chance.choice([*parts, run / "run.json"])
    other = chance.choice(parts)
    kept = path.read_bytes()
    path.unlink()
    match chance.randrange(6):
        case 0:
            return f"{path.name} is gone"
        case 1:
            path.symlink_to(run.parent / "victim.py")
            return f"{path.name} is a link"
        case 2:
            path.mkdir()
            return f"{path.name} is a folder"
        case 3:
            os.mkfifo(path)
            return f"{path.name} is a pipe"
        case 4:
            path.write_bytes(other.read_bytes() if other.exists() else kept[::-1])
            return f"{path.name} is {other.name}"
        case _:
            path.with_name("part-*.parquet").write_bytes(kept)
            return f"{path.name} has another name"


ATTACK = Attack(
    "tampered run folders",
    400,
    0.25,
    tampering,
    unharmed,
    (
        *OF_A_READER,
        Fault(
            "samples are others than those of the tables",
            around(after="import sys\nif 'samples' in sys.argv: print('0,0,0')"),
            "check passes, and samples are others",
        ),
    ),
)
