"""Clients that lie, hang, fork, print without end and ignore signals: each costs only itself, and nothing of theirs is kept or left running."""

import json
import random
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

import msgspec
import pyarrow.parquet as pq

from attack.control import Attack
from attack.faults import (
    CONTROL_PRINTED,
    FILE_CHANGED,
    FOLDER_LEFT,
    MEMORY_TAKEN,
    PROCESS_LEFT,
    REFUSES,
    TRACEBACK_BEFORE,
)
from attack.ground import Fault, Ground, content, emptied
from attack.outcome import REFUSED, Tried, chances, slotmark
from attack.tampering import CONTROL, HOSTILE, change_bytes, change_content
from attack.watching import Patience, Watched, watched

NATIVE = Path(__file__).resolve().parents[1] / "target" / "release" / "slotmark-target-native"
TIMEOUT_S = 6
"""Time limit of an invocation, so that one that hangs ends."""
PATIENCE = Patience(idle_s=90, busy_s=120)
"""Two invocations that hang, a client that stays behind each, and what the rest may wait."""
MOST_BYTES = 400 << 20
"""Most memory, whatever a client prints."""
MOST_PRINTED_BYTES = 256 << 20
"""Most bytes that are kept of what a client prints, at any moment."""

PROXY = '''
import json, os, signal, subprocess, sys, threading, time
NATIVE = {native!r}

def say(record):
    print(json.dumps(record) if isinstance(record, dict) else record, flush=True)

def escape(forever):
    """A process in a session of its own, which holds all that this one has open."""
    if not os.fork():
        os.setsid()
        for number in (1, 2, 3, 15):
            signal.signal(number, signal.SIG_IGN)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            forever()
        os._exit(0)

def at(moment):
{harms}

at("start")
if sys.argv[1] == "describe":
    done = subprocess.run([NATIVE, "describe"], stdout=subprocess.PIPE)
    record = json.loads(done.stdout)
    record.update({describe!r})
    say(record)
    at("described")
    sys.exit(done.returncode)
process = subprocess.Popen([NATIVE, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in process.stdout:
    record = json.loads(line)
    event = record["event"]
    if event == {lied_about!r}:
        {lie}
    say(record)
    at(event)
    if event == "ready":
        process.stdin.write(sys.stdin.readline()); process.stdin.flush()
        if sys.argv[1] == "follow":
            threading.Thread(target=lambda: (sys.stdin.read(), process.stdin.close()), daemon=True).start()
    if event == "done":
        break
if sys.argv[1] == "run":
    sys.stdin.read()
process.stdin.close()
code = process.wait()
at("end")
sys.exit(code)
'''

EVENTS = ("ready", "started", "first", "progress", "block", "done")
MOMENTS = ("start", "described", *EVENTS, "end")
HARMS = {
    "leaves a process behind": "escape(lambda: time.sleep(1))",
    "hangs": "time.sleep(600)",
    "hangs and ignores signals": "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]; time.sleep(600)",
    "works without end": "while True: pass",
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "kills itself": "os.kill(os.getpid(), signal.SIGKILL)",
    "aborts": "os.abort()",
    "exits": "os._exit(3)",
    "exits well": "os._exit(0)",
    "signals its group": "os.kill(0, signal.SIGTERM)",
    "kills its group": "os.kill(0, signal.SIGKILL)",
    "leaves a process that prints": "escape(lambda: os.write(1, b'x' * 4096))",
    "leaves a process that starts others": "escape(lambda: (time.sleep(0.05), subprocess.Popen(['sleep', '60'], start_new_session=True)))",
    "leaves many processes": "[escape(lambda: time.sleep(1)) for _ in range(30)]",
    "prints without end": "while True: os.write(1, b'x' * 65536)",
    "prints lines without end": 'while True: os.write(1, b\'{"event":"progress","blocks":1,"at_ns":1}\\n\' * 100)',
    "prints errors without end": "[os.write(2, b'words \\x1b[2J\\n' * 8192) for _ in range(8000)]; time.sleep(600)",
    "prints no text": "os.write(1, bytes(range(256)) + b'\\n')",
    "prints escapes and gives up": "say({'event': 'error', 'message': '\\x1b]0;owned\\x07\\x1b[2J\\r\\nslotmark: SHIP\\u202e'}); os._exit(1)",
    "closes its output": "os.close(1); time.sleep(600)",
    "closes its input": "os.close(0)",
    "gives its output away": "escape(lambda: time.sleep(1)); os._exit(0)",
    "nests deep": "say('[' * 200000); time.sleep(600)",
    "takes every descriptor": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); [os.dup(1) for _ in range(50)]",
    "removes where it is": "import shutil; shutil.rmtree(os.path.dirname(sys.argv[sys.argv.index('--socket') + 1])) if '--socket' in sys.argv else None",
}
LIES = ("digest", "blocks", "bytes", "at_ns", "connect_ns", "version", "slot", "hash", "event")
LYING = {
    "leaves out": "record.pop({key!r}, None)",
    "adds to": "record[{key!r}] = record[{key!r}] + 1 if isinstance(record.get({key!r}), int) else 'f' * 64",
    "halves": "record[{key!r}] = record[{key!r}] // 2 if isinstance(record.get({key!r}), int) else 'f' * 32",
    "puts another value in the place of": "record[{key!r}] = {value!r}",
}


def targets(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Runs a harmful client beside our own, at a stretch of a chain, at a growing chain's tip, or out of a folder of targets."""
    for number, chance in enumerate(chances(seed, "targets", tries)):
        place = _place(ground)
        turn, kind = divmod(number, 3)
        if kind == 0 and turn < len(HARMS):  # each harm once, where a client is measured
            what, wrong = _rounds(ground, place, chance, harm=list(HARMS)[turn])
        elif kind == 1 and turn < len(LIES):  # each lie about the proof
            what, wrong = _rounds(ground, place, chance, lie=LIES[turn])
        else:
            what, wrong = chance.choice([_rounds, _rounds, _tip, _recipe])(ground, place, chance)
        yield Tried(1, [f"target {number} ({what}): {wrong}"] if wrong else [])


def unharmed(ground: Ground) -> str:
    """Faults in the measurement of a client that does no harm: beside our own, with the same proof, and listed where it is in a folder of targets."""
    for kind, runs in ((_rounds, ["floor", "native", "other"]), (_tip, ["native", "other"]), (_recipe, [])):
        place = _place(ground)
        what, wrong = kind(ground, place, None)
        made = sorted(path.parent.name for path in (place / "out").glob("*/run.json"))
        if not wrong and made != runs:
            wrong = f"runs of {made}, not of {runs}"
        if wrong:
            return f"{what}: {wrong}"
    return ""


def _place(ground: Ground) -> Path:
    place = emptied(ground.folder / "harmed" / "place")
    (place.parent / "victim.py").write_text("print('untouched')\n")
    return place


def _rounds(
    ground: Ground, place: Path, chance: random.Random | None, *, harm: str = "", lie: str = ""
) -> tuple[str, str]:
    """Rounds over a stretch of the chain."""
    what, client = _client(place, chance, harm, lie)
    words = _rounds_of(ground, "native", f"other={shlex.join(client)}")
    return what, _wrong(ground, place, words, (0,) if chance is None else (0, REFUSED))


def _rounds_of(ground: Ground, *clients: str) -> list[str | Path]:
    words: list[str | Path] = ["chainsync", "run", "--chain", ground.chain, "--mode", "decode", "--depth", "1"]
    words += ["--blocks", "60", "--rounds", "1", "--progress-every", "20", "--timeout", f"{TIMEOUT_S}s", "-o", "out"]
    return [*words, *(word for client in clients for word in ("--target", client))]


def _tip(ground: Ground, place: Path, chance: random.Random | None) -> tuple[str, str]:
    """The tip of a chain that grows."""
    what, client = _client(place, chance)
    words = ["chainsync", "run", "--node-socket", "../node.socket", "--mode", "decode", "--follow", "2s", "-o", "out"]
    words += ["--target", "native", "--target", f"other={shlex.join(client)}"]
    with _node(ground, place.parent / "node.socket"):
        return f"at the tip, {what}", _wrong(ground, place, words, (0,) if chance is None else (0, REFUSED))


def _recipe(ground: Ground, place: Path, chance: random.Random | None) -> tuple[str, str]:
    """A folder of targets with a file that somebody changed, for every command that reads it."""
    for name, program in (("other", NATIVE), ("native", NATIVE), ("floor", NATIVE.with_name("slotmark-target-floor"))):
        (place / "targets" / name).mkdir(parents=True)
        words = {"command": [str(program)], "build": [], "needs": [], "description": "A client."}
        _write(place / "targets" / name / "target.toml", words)
    file = place / "targets" / "other" / "target.toml"
    listed = [["chainsync", "targets"], ["chainsync", "targets", "--json"]]
    if chance is None:
        for words in listed:
            if wrong := _wrong(ground, place, words, (0,)):
                return "a folder of targets", wrong
        done = _run(ground, place, listed[0]).done
        return "a folder of targets", "" if done.out.count(b"A client.") == 3 else "it is not listed"
    if chance.random() < 0.4:
        what = change_bytes(file, chance)
    else:
        recipe = tomllib.loads(file.read_text())
        what = f"{change_content(recipe, chance)} of the file"
        _write(file, recipe)
    words = chance.choice([*listed, _rounds_of(ground, "other")])
    return f"{' '.join(map(str, words[:3]))}, {what}", _wrong(ground, place, words, (0, REFUSED))


def _write(file: Path, content: dict[str, Any]) -> None:
    """Writes TOML; what TOML doesn't have is written as JSON."""
    lines = [f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in content.items()]
    file.write_bytes("".join(lines).encode("utf-8", "surrogatepass"))


def _client(place: Path, chance: random.Random | None, harm: str = "", lied: str = "") -> tuple[str, list[str]]:
    """A client that is ours but for this harm, this lie about its proof, or what was drawn; what that is, and its command."""
    harms: dict[str, str] = {}
    described: dict[str, Any] = {}
    about, lie, what = "", "pass", []
    if chance is not None and harm:
        moment = chance.choice(("ready", "started", "first", "progress"))
        harms[moment] = HARMS[harm]
        what.append(f"{harm} at {moment}")
    elif chance is not None and lied:
        about, lie = "done", LYING["adds to"].format(key=lied)
        what.append(f"adds to {lied} of done")
    elif chance is not None:
        for _ in range(chance.choice((1, 1, 1, 2))):
            match chance.randrange(6):
                case 0:
                    key = chance.choice(("contract", "name", "version", "modes", "follow", "commit", "toolchain"))
                    described = {key: chance.choice(HOSTILE)}
                    what.append(f"describes its {key} as {str(described[key])[:30]!r}")
                case 1 | 2:
                    about, key, how = chance.choice(EVENTS), chance.choice(LIES), chance.choice(list(LYING))
                    lie = LYING[how].format(key=key, value=chance.choice([one for one in HOSTILE if one != "\ud800"]))
                    what.append(f"{how} {key} of {about}")
                case _:
                    moment, harm = chance.choice(MOMENTS), chance.choice(list(HARMS))
                    harms[moment] = HARMS[harm]
                    what.append(f"{harm} at {moment}")
    body = "".join(f"    if moment == {moment!r}:\n        {harm}\n" for moment, harm in harms.items()) or "    pass\n"
    file = place / "client.py"
    file.write_text(
        PROXY.format(native=str(NATIVE), harms=body, describe=described, lied_about=about, lie=lie), encoding="utf-8"
    )
    return "; ".join(what) or "no harm", [sys.executable, "-S", "-E", str(file)]


@contextmanager
def _node(ground: Ground, socket: Path) -> Iterator[None]:
    """A chain that grows behind a socket."""
    words = ["chainsync", "serve", "--chain", ground.chain, "--socket", socket, "--pace", "50ms"]
    socket.unlink(missing_ok=True)
    with subprocess.Popen(
        slotmark(*words, "--until-stdin-ends", "--json"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as node:
        assert node.stdout is not None
        if not node.stdout.readline():
            raise RuntimeError("the chain is not served")
        yield
        assert node.stdin is not None
        node.stdin.close()


def _run(ground: Ground, place: Path, words: Sequence[str | Path]) -> Watched:
    kept = 0

    def look(process: "subprocess.Popen[bytes]") -> None:
        """The output of a client may be kept in files without names."""
        nonlocal kept
        with suppress(OSError):
            for entry in Path(f"/proc/{process.pid}/fd").iterdir():
                with suppress(OSError):
                    found = entry.stat()
                    if S_ISREG(found.st_mode) and found.st_nlink == 0:
                        kept = max(kept, found.st_size)

    found = watched(
        *words,
        into=place,
        temporary=emptied(ground.folder / "harmed-temporary"),
        variables={
            **ground.variables,
            **({"SLOTMARK_TARGETS": str(place / "targets")} if (place / "targets").exists() else {}),
        },
        patience=PATIENCE,
        look=look,
    )
    too_much = f"{kept >> 20} MiB of what a client printed were kept" if kept > MOST_PRINTED_BYTES else ""
    return found._replace(hangs=found.hangs or too_much)


def _wrong(ground: Ground, place: Path, words: Sequence[str | Path], codes: tuple[int, ...]) -> str:
    """Faults in the end of a command and in what is there after it."""
    before = content(place.parent)
    found = _run(ground, place, words)
    done, out = found.done, place / "out"
    # What a client printed is shown as its own words.
    done = msgspec.structs.replace(done, said=re.sub(r"(It printed: |`describe` exited \d+: ).*", "", done.said))
    wrong = found.hangs or done.crash(*codes) or found.left
    if wrong:
        return wrong
    if any(byte in found.done.out or chr(byte) in found.done.said for byte in CONTROL):
        wrong = "control characters were printed"
    elif done.code == REFUSED and not any(line.startswith("slotmark: ") for line in done.said.splitlines()):
        wrong = f"refused without a reason: {done.said[-300:]!r}"
    elif done.peak_bytes > MOST_BYTES:
        wrong = f"{done.peak_bytes >> 20} MiB of memory"
    elif content(place.parent, out) != before:
        wrong = "files were changed"
    elif left := [path.name for path in (*(ground.folder / "harmed-temporary").iterdir(), *out.glob(".*"))]:
        wrong = f"{left} is left"
    return wrong or _kept(out)


def _kept(out: Path) -> str:
    """Faults in the runs that were kept: every proof is the one that our own client has."""
    for file in out.glob("*/run.json"):
        run = file.parent
        for table in run.glob("tables/invocations.parquet"):
            rows, ours = (pq.read_table(path).to_pylist() for path in (table, out / "native" / "tables" / table.name))
            for row in rows if run.name != "floor" else []:
                if (row["blocks"], row["digest"]) != (ours[0]["blocks"], ours[0]["digest"]):
                    return f"{run.name}: kept with another proof"
                if row["bytes"] != ours[0]["bytes"]:
                    return f"{run.name}: kept with other bytes"
    return ""


ATTACK = Attack(
    "clients that lie, hang, fork and ignore signals",
    200,
    0.2,
    targets,
    unharmed,
    (
        REFUSES,
        FOLDER_LEFT,
        PROCESS_LEFT,
        TRACEBACK_BEFORE,
        CONTROL_PRINTED,
        FILE_CHANGED,
        MEMORY_TAKEN,
        Fault(
            "what a client leaves running is left",
            "import contextlib, slotmark.measure.process as _process\n_process.nothing_left = contextlib.nullcontext\n",
            "live on",
            shows_unharmed=False,
        ),
        Fault(
            "proofs are not checked",
            "import slotmark.benches.chainsync.session as _session\n_session.check_proof = lambda *_: None\n",
            "another proof",
            shows_unharmed=False,
        ),
        Fault(
            "a client may take as long as it likes",
            "import slotmark.benches.chainsync.invocation as _invocation\n"
            "_follow = _invocation._follow\n"
            "def _planted(process, program, job, *others):\n"
            "    job = _invocation.msgspec.structs.replace(job, timeout_s=86_400)\n"
            "    return _follow(process, program, job, *others)\n"
            "_invocation._follow = _planted\n",
            "hangs",
            shows_unharmed=False,
        ),
    ),
    inputs=60,
)
