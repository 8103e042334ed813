"""The emulated network and the load, killed at any moment: no process, namespace, route or device of theirs is left, and the next one starts."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

from attack.control import Attack
from attack.ground import Fault, Ground, emptied
from attack.kills import MARK, lives_on
from attack.outcome import Tried, chances, command

PROGRAMS = Path(__file__).resolve().parents[1] / "target" / "release"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
HOSTS = 6
READY_S = 60
_LISTENING = "import socket, sys, time\nplace = socket.create_server((sys.argv[1], 4000))\nprint('up', flush=True)\ntime.sleep(600)\n"
"""A host that listens, and starts nothing."""


_Kind = Callable[[Ground, ExitStack, str, Random], str]


def networks(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Kills the router, a program inside, the one that started both, or the load, between its start and a second after it is ready."""
    for number, chance in enumerate(chances(seed, "networks", tries)):
        kind = (_router, _parent, _load)[number % 3]
        wrong = _alone(ground, kind, chance)
        failure = f"network {number}: {kind.__name__.removeprefix('_')}: {wrong}"
        yield Tried(1, [failure] if wrong else [])


def unharmed(ground: Ground) -> str:
    """Returns the fault of a network that ends with its input: its hosts reach each other before, and it reports what it carried."""
    before = _networks(ground.folder / "netns")
    mark = secrets.token_hex(8)
    with ExitStack() as stack:
        router, ready = _started(ground, stack, mark)
        if not ready:
            return f"the network isn't there: {router.stderr.read().decode(errors='replace') if router.stderr else ''}"
        host = _host(ground, stack, mark, router.pid, 1)
        if host.stdout is None or host.stdout.readline() != b"up\n":
            return "a host doesn't start"
        reach = f"import socket; socket.create_connection(('{_address(1)}', 4000), timeout=30)"
        inside = [_wan(ground), "exec", "--wan", str(router.pid), "--host", "node-0", "--", sys.executable, "-c", reach]
        if subprocess.run(inside, check=False, env=_variables(mark)).returncode:
            return "its hosts don't reach each other"
        assert router.stdin is not None
        assert router.stdout is not None
        router.stdin.close()
        said = router.stdout.read()
        if router.wait(30) or b'"statistics"' not in said:
            return f"it ended with {router.returncode}: {said!r}"
    with ExitStack() as stack:
        load = _loading(ground, stack, mark)
        time.sleep(3)
        if load.poll() is not None:
            return f"the load ends by itself: {load.communicate()[1].decode(errors='replace')}"
        load.terminate()
        load.communicate(timeout=30)
    return lives_on(mark) or _left(ground, before)


def _alone(ground: Ground, kind: "_Kind", chance: Random) -> str:
    before = _networks(ground.folder / "netns")
    mark = secrets.token_hex(8)
    with ExitStack() as stack:
        wrong = kind(ground, stack, mark, chance)
    return wrong or lives_on(mark) or _left(ground, before)


def _router(ground: Ground, stack: ExitStack, mark: str, chance: Random) -> str:
    """The router gets a signal, at any moment from its start on."""
    router, ready = _started(ground, stack, mark, wait=(late := chance.random() < 0.5))
    if late:
        if not ready:
            return "the network isn't there"
        for number in range(chance.randrange(3)):
            _host(ground, stack, mark, router.pid, number)
    time.sleep(chance.uniform(0, 0.3))
    router.send_signal(chance.choice(SIGNALS))
    with suppress(subprocess.TimeoutExpired):
        router.wait(20)
    return "" if router.returncode is not None else "it goes on"


_STARTS = """
import json, subprocess, sys, time
router = subprocess.Popen(sys.argv[1:4], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
pid = json.loads(router.stdout.readline())["ready"]["pid"]
for number in range(3):
    subprocess.Popen([sys.argv[2 - 1], "exec", "--wan", str(pid), "--host", f"node-{number}", "--", *sys.argv[4:]])
print("up", flush=True)
time.sleep(600)
"""


def _parent(ground: Ground, stack: ExitStack, mark: str, chance: Random) -> str:
    """The process that started a network and programs inside is killed."""
    words = [_wan(ground), "run", str(_topology(ground)), sys.executable, "-c", "import time; time.sleep(600)"]
    parent = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-c", _STARTS, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_variables(mark),
        )
    )
    assert parent.stdout is not None
    if chance.random() < 0.5:
        parent.stdout.readline()
    time.sleep(chance.uniform(0, 0.3))
    parent.kill()
    return ""


def _loading(ground: Ground, stack: ExitStack, mark: str) -> "subprocess.Popen[bytes]":
    """The load, to a node that never answers."""
    silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    folder = emptied(ground.folder / "load")
    words = ["--bed", str(_bed(ground)), "--target", f"127.0.0.1:{silent.getsockname()[1]}", "--tps", "5"]
    words += ["--socket", str(folder / "none.socket"), "--transactions", "40", "-o", str(folder / "tx.jsonl")]
    return stack.enter_context(
        subprocess.Popen(
            [_program(ground, "slotmark-txgen"), *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=_variables(mark),
        )
    )


def _load(ground: Ground, stack: ExitStack, mark: str, chance: Random) -> str:
    """The load gets a signal while it reads the bed, connects to what never answers, or waits."""
    load = _loading(ground, stack, mark)
    time.sleep(chance.uniform(0, 1))
    load.send_signal(chance.choice(SIGNALS[:3]))
    try:
        _, said = load.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        return "the load goes on"
    lines = said.decode(errors="replace").splitlines()
    if any("panicked" in line for line in lines) or len(lines) > 3:
        return f"the load ended with {len(lines)} lines: {lines[-1]}"
    records = ground.folder / "load" / "tx.jsonl"
    for line in records.read_text().splitlines()[:-1] if records.exists() else []:
        json.loads(line)
    return ""


def _started(
    ground: Ground, stack: ExitStack, mark: str, *, wait: bool = True
) -> tuple["subprocess.Popen[bytes]", bool]:
    """A router, and whether its hosts are there."""
    router = subprocess.Popen(
        [_wan(ground), "run", str(_topology(ground))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_variables(mark),
    )
    stack.callback(_ended, router)
    assert router.stdout is not None
    return router, wait and b'"ready"' in router.stdout.readline()


def _ended(process: "subprocess.Popen[bytes]") -> None:
    """Waits for a process that was ended, or that follows from another's end, and closes what is read from it."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(20)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def _host(ground: Ground, stack: ExitStack, mark: str, wan: int, number: int) -> "subprocess.Popen[bytes]":
    """A program that listens as a host of the network."""
    words = [_wan(ground), "exec", "--wan", str(wan), "--host", f"node-{number}", "--"]
    host = subprocess.Popen(
        [*words, sys.executable, "-c", _LISTENING, _address(number)], stdout=subprocess.PIPE, env=_variables(mark)
    )
    stack.callback(_ended, host)
    return host


def _address(number: int) -> str:
    return f"198.18.0.{number + 1}"


def _topology(ground: Ground) -> Path:
    path = ground.folder / "wan.json"
    hosts = [{"name": f"node-{number}", "address": _address(number)} for number in range(HOSTS)]
    path.write_text(json.dumps({"seed": 1, "hosts": hosts, "default": {"delay_us": 2_000}}))
    return path


def _bed(ground: Ground) -> Path:
    bed = ground.folder / "bed"
    if not bed.exists():
        sizes = ("--set", "utxo_entries=100", "--set", "delegators=10")
        done = command("cluster", "create", "value-only-5", "--hosts", "3", *sizes, "-o", "bed", into=ground.folder)
        if done.code:
            raise RuntimeError(f"a bed can't be made: {done.said}")
    return bed


def _wan(ground: Ground) -> str:
    return _program(ground, "slotmark-wan")


def _program(ground: Ground, name: str) -> str:
    """The program, or where a fault is planted a script that has it and starts the program."""
    if ground.fault is None:
        return str(PROGRAMS / name)
    script = ground.folder / "fault" / name
    script.write_text(f"#!/bin/sh\nprogram={PROGRAMS / name}\n{ground.fault.planted}\n")
    script.chmod(0o755)
    return str(script)


def _variables(mark: str) -> dict[str, str]:
    return {**os.environ, MARK: mark}


def _networks(planted: Path) -> tuple[frozenset[str], frozenset[str], str]:
    """Network namespaces that have a name, also where faults are planted, devices of this one, and its routes."""
    named = [path for folder in (Path("/run/netns"), planted) if folder.is_dir() for path in folder.iterdir()]
    names = {f"name {path.name}" for path in named}
    devices = frozenset(path.name for path in Path("/sys/class/net").iterdir())
    return frozenset(names), devices, Path("/proc/net/route").read_text()


def _left(ground: Ground, before: tuple[frozenset[str], frozenset[str], str]) -> str:
    """Returns the parts of the network that weren't there before, a moment after its processes are gone: a namespace without a name ends with those."""
    planted = ground.folder / "netns"
    until = time.monotonic() + 10
    while True:
        names, devices, routes = _networks(planted)
        left = [*sorted(names - before[0]), *sorted(devices - before[1])]
        if routes != before[2]:
            left.append("a route")
        if not left:
            return ""
        if time.monotonic() > until:
            return f"{left} is left"
        time.sleep(0.05)


ATTACK = Attack(
    "networks and loads killed at any moment",
    150,
    0.05,
    networks,
    unharmed,
    (
        Fault(
            "a process of the network lives on", '(setsid sleep 300 >/dev/null 2>&1 &)\nexec $program "$@"', "live on"
        ),
        Fault(
            "a namespace keeps its name",
            'mkdir -p "$(dirname "$0")/../netns"; touch "$(dirname "$0")/../netns/$$"\nexec $program "$@"',
            "is left",
        ),
        Fault("no network comes up", "echo planted >&2; exit 2", "isn't there"),
        Fault(
            "the load goes on after a signal",
            '[ "$1" = --bed ] || exec $program "$@"\ntrap \'\' INT TERM HUP\nsleep 45',
            "goes on",
            shows_unharmed=False,
        ),
    ),
    inputs=9,
)
