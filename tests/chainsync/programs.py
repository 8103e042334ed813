"""Programs that speak the target contract badly, each in one way; real processes, as anyone might write them."""

import sys
from pathlib import Path

from slotmark.benches.chainsync.targets import Description, Program

HEAD = """
import json, os, subprocess, sys, time
args = dict(zip(sys.argv[2::2], sys.argv[3::2]))
blocks = int(args.get("--blocks", 0))
def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)
def ready():
    say("ready", at_ns=time.monotonic_ns(), connect_ns=1, version=None)
    sys.stdin.readline()
if sys.argv[1] == "describe":
    print(json.dumps({"contract": 1, "name": "bad", "version": "0", "modes": {"raw": 10, "decode": 10}}))
    sys.exit(0)
"""

BAD = {
    "prints words": 'print("hello", flush=True)',
    "says done first": 'say("done", blocks=blocks, bytes=1, at_ns=1)',
    "exits at once": "sys.exit(7)",
    "dies after ready": "ready(); os.kill(os.getpid(), 9)",
    "counts wrong": 'ready(); say("started", at_ns=1); say("first", at_ns=2); say("done", blocks=blocks - 1, bytes=1, at_ns=3)',
    "turns time back": 'ready(); say("started", at_ns=5); say("first", at_ns=2); say("done", blocks=blocks, bytes=1, at_ns=9)',
    "leaves out started": 'ready(); say("first", at_ns=2); say("done", blocks=blocks, bytes=1, at_ns=9)',
    "gives up": 'ready(); say("error", message="no such intersection")',
    "fails after done": 'ready(); say("started", at_ns=1); say("first", at_ns=2); say("done", blocks=blocks, bytes=1, at_ns=3); sys.exit(4)',
    "signals its group": "ready(); os.kill(0, 15); time.sleep(600)",
    "complains without end": 'ready()\nwhile True: os.write(2, b"x" * 65536)',
    "says that more time went by": (
        'ready(); say("started", at_ns=1); say("first", at_ns=2); say("done", blocks=blocks, bytes=1, at_ns=10**15); sys.stdin.read()'
    ),
    "connects for longer than it lives": (
        'say("ready", at_ns=1, connect_ns=10**15); sys.stdin.readline(); say("started", at_ns=1); say("first", at_ns=2); '
        'say("done", blocks=blocks, bytes=1, at_ns=3); sys.stdin.read()'
    ),
    "never answers": "time.sleep(600)",
    "prints without a line end": 'while True: os.write(1, b"x" * 65536)',
    "prints records without end": 'ready()\nwhile True: say("progress", blocks=1, at_ns=1)',
    "starts without end": 'ready()\nwhile True: say("started", at_ns=1)',
    "closes its output and stays": "ready(); os.close(1); time.sleep(600)",
    "has a time of 70 bits": 'say("ready", at_ns=2**70, connect_ns=1); sys.stdin.readline()',
    "has a version of 40 bits": 'say("ready", at_ns=1, connect_ns=1, version=2**40); sys.stdin.readline()',
    "ignores signals": "import signal; [signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]; time.sleep(600)",
    "is over before done": (
        "ready(); parent = os.getpid()\n"
        "if os.fork(): os._exit(0)\n"
        "while os.getppid() == parent: time.sleep(0.001)\n"
        'say("started", at_ns=1); say("first", at_ns=2); say("done", blocks=blocks, bytes=1, at_ns=3)'
    ),
    "stays after done": (
        'ready(); say("started", at_ns=1); say("first", at_ns=2); say("done", blocks=blocks, bytes=1, at_ns=3); '
        "sys.stdin.read(); time.sleep(600)"
    ),
}

# Starts a process in a session of its own, which holds the standard output and says its id in a file.
ESCAPES = """
if not os.fork():
    os.setsid()
    open(PLACE, "w").write(str(os.getpid()))
    while True:
        FOREVER
while not (os.path.exists(PLACE) and open(PLACE).read()):
    time.sleep(0.01)
"""

# Receives nothing, and makes up a digest.
CHEAT = """
ready()
say("started", at_ns=time.monotonic_ns()); say("first", at_ns=time.monotonic_ns())
say("done", blocks=blocks, bytes=1, at_ns=time.monotonic_ns() + 1, digest="ab" * 32)
sys.stdin.read()
"""

# Has another process do the work, as launchers do: 64 MB, and 0.3 s of CPU time between the line on standard input and `done`.
LAUNCHES = """
if len(sys.argv) > 2 and "WORKS" not in os.environ:
    sys.exit(subprocess.call([sys.executable, *sys.argv], env={**os.environ, "WORKS": "1"}))
ready()
say("started", at_ns=time.monotonic_ns())
held = bytearray(b"x" * 64_000_000)
until = time.process_time() + 0.3
while time.process_time() < until:
    pass
say("first", at_ns=time.monotonic_ns())
say("done", blocks=blocks, bytes=1, at_ns=time.monotonic_ns())
sys.stdin.read()
"""

# Does the work with our own client, then changes one thing in what it says.
LIAR = """
process = subprocess.Popen([NATIVE, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in process.stdout:
    record = json.loads(line)
    if record["event"] in ("progress", "done") and record["blocks"] > FROM:
        record["digest"] = record["digest"][::-1]
    print(json.dumps(record), flush=True)
    if record["event"] == "ready":
        process.stdin.write(sys.stdin.readline()); process.stdin.flush()
    if record["event"] == "done":
        break
sys.stdin.read()
process.stdin.close()
sys.exit(process.wait())
"""


def program(folder: Path, name: str, body: str) -> Program:
    """A Python program with this body behind the usual beginning."""
    file = folder / f"{name.replace(' ', '_')}.py"
    file.write_text(HEAD + body, encoding="utf-8")
    return Program(name, (sys.executable, str(file)), Description(1, name, "0", {"raw": 10, "decode": 10}))


def escapes(place: Path, forever: str = "time.sleep(600)") -> str:
    """Code that starts a process which does this for ever in a session of its own, and writes its id there."""
    return ESCAPES.replace("PLACE", repr(str(place))).replace("FOREVER", forever)


def liar(folder: Path, native: Program, after: int) -> Program:
    """A program whose digests are wrong from the block after the first ``after`` on."""
    return program(folder, "liar", LIAR.replace("NATIVE", repr(native.command[0])).replace("FROM", str(after)))
