"""A Ray cluster of two machines for tests: two network namespaces of this machine, joined by a pair of veth interfaces.

Ray can't be kept to loopback. Every process of a namespace is found by it, and ended by its id.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
HEAD = "198.18.0.1:6379"
TOKEN = "canary0token1of2a3test4cluster5that6is7looked8for"
"""The token of these clusters alone; tests look for it in all that is written."""

MACHINES = ("a", "b")
_OBJECTS_BYTES = 80_000_000


def missing() -> str:
    """Why no such cluster can be made here; empty where one can."""
    try:
        import ray  # noqa: F401
    except ImportError:
        return "Ray is not installed: slotmark[ray]"
    if not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        return "unshare, nsenter and ip are needed, as util-linux and iproute2 have them"
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "network namespaces can't be made here"


class Machine:
    """One namespace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.address = f"198.18.0.{1 + MACHINES.index(name)}"
        # It ends all of the namespace's processes when this one ends, however that does.
        self._holder = subprocess.Popen(
            ["unshare", "--net", sys.executable, __file__], stdin=subprocess.PIPE, start_new_session=True
        )
        own = Path("/proc/self/ns/net").readlink()
        _until(lambda: Path(f"/proc/{self.pid}/ns/net").readlink() != own)
        self._namespace = Path(f"/proc/{self.pid}/ns/net").readlink()

    @property
    def pid(self) -> int:
        """The id of the process that holds the namespace."""
        return self._holder.pid

    def words(self, *words: str | Path) -> list[str]:
        """A command's words that run it there, as a process of the id that it is started with."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *map(str, words)]

    def run(
        self, *words: str | Path, env: Mapping[str, str] | None = None, within_s: float = 240
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command there to its end, which must come in time."""
        return subprocess.run(
            self.words(*words),
            env=env,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def processes(self) -> dict[int, str]:
        """Ids of all processes there, with their command lines, but for the one that holds the namespace."""
        return _processes(self._namespace, self.pid)

    def named(self, *parts: str) -> list[int]:
        """Ids of the processes there whose command lines have one of some parts."""
        return [pid for pid, line in self.processes().items() if any(part in line for part in parts)]

    def kill(self, *parts: str) -> int:
        """Kills such processes by their ids. Returns their number."""
        return _kill(self.named(*parts))

    def end_processes(self) -> None:
        """Kills all of its processes, until none is left."""
        _end_processes(self._namespace, self.pid)

    def end(self) -> None:
        """Kills all of its processes, and lets the namespace go."""
        self._holder.communicate(timeout=120)
        assert not self.processes()


class Cluster:
    """Two machines.

    Args:
        folder: Short, since Ray's sockets lie in it: a socket's path has at most 107 letters.
        secured: Whether it asks for a token.
    """

    def __init__(self, folder: Path, *, secured: bool = True) -> None:
        self.folder = folder
        self.token = folder / "token"
        self.token.write_text(TOKEN, encoding="utf-8")
        self.token.chmod(0o600)
        self.secured = secured
        self.a, self.b = (Machine(name) for name in MACHINES)
        _ip(self.a, "link add veth-a type veth peer name veth-b netns", str(self.b.pid))
        for one in (self.a, self.b):
            _ip(one, f"address add {one.address}/24 dev veth-{one.name}")
            _ip(one, "link set lo up")
        self.link(up=True)

    def link(self, *, up: bool) -> None:
        """Joins the two machines, or cuts what joins them."""
        for one in (self.a, self.b):
            _ip(one, f"link set veth-{one.name} {'up' if up else 'down'}")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of Ray's processes and of commands that use it."""
        usual = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        auth = (
            {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.token)}
            if self.secured
            else {"RAY_AUTH_MODE": "disabled"}
        )
        path = os.pathsep.join(filter(None, (str(REPO), str(REPO / "python"), os.environ.get("PYTHONPATH"))))
        return {
            **usual,
            **auth,
            "HOME": str(self.folder),
            "PYTHONPATH": path,
            "RAY_ADDRESS": HEAD,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_health_check_period_ms": "1000",
            "RAY_raylet_start_wait_time_s": "300",  # as long as a busy machine takes
        }

    @property
    def _of_commands(self) -> dict[str, str]:
        """The environment of commands: what Ray printed stays where they have temporary files."""
        return {**self.environment, "TMPDIR": str(self.folder)}

    def start(self, machine: Machine, *more: str, env: Mapping[str, str] | None = None, cores: int = 1) -> None:
        """Starts a node; the first one has the head. Returns when Ray counts no node that was killed before: it finds out by health checks."""
        of_head = ["--head", "--port", "6379", "--include-dashboard=false", "--temp-dir", str(self.folder / "r")]
        where = of_head if machine is self.a else ["--address", HEAD]
        environment = {**self.environment, **(env or {})}
        del environment["RAY_ADDRESS"]
        started = machine.run(
            sys.executable,
            *("-c", "from ray.scripts.scripts import main; main()", "start", *where),
            *(
                "--node-ip-address",
                machine.address,
                "--num-cpus",
                str(cores),
                "--object-store-memory",
                str(_OBJECTS_BYTES),
            ),
            *("--labels", f"host={machine.name}", "--disable-usage-stats", *more),
            env=environment,
        )
        assert started.returncode == 0, started.stdout + started.stderr
        running = sum(bool(one.named("raylet/raylet")) for one in (self.a, self.b))
        until = time.monotonic() + 120
        while self._alive(environment) != running:
            assert time.monotonic() < until

    def _alive(self, environment: Mapping[str, str]) -> int:
        """Number of nodes that Ray counts."""
        asked = "import ray; ray.init(log_to_driver=False); print('alive', sum(one['Alive'] for one in ray.nodes()))"
        counted = self.a.run(sys.executable, "-c", asked, env={**environment, "RAY_ADDRESS": HEAD})
        found = re.search(r"^alive (\d+)$", counted.stdout, re.MULTILINE)  # Ray prints as well
        return int(found[1]) if found else -1

    def slotmark(
        self, *arguments: str | Path, machine: Machine | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs the command on one of the machines, the first one if none is named."""
        return (machine or self.a).run(
            sys.executable, "-m", "slotmark", *arguments, env={**self._of_commands, **(env or {})}
        )

    def begin(self, *arguments: str | Path, machine: Machine | None = None) -> "subprocess.Popen[str]":
        """Starts the command there; its process has the id of what is returned."""
        return subprocess.Popen(
            (machine or self.a).words(sys.executable, "-m", "slotmark", *arguments),
            env=self._of_commands,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> None:
        """Ends all, and checks that nothing is left."""
        for one in (self.a, self.b):
            one.end()


@contextmanager
def cluster(folder: Path, *, secured: bool = True, nodes: Sequence[str] = MACHINES) -> Iterator[Cluster]:
    """A cluster whose nodes run."""
    made = Cluster(folder, secured=secured)
    try:
        for name in nodes:
            made.start(getattr(made, name))
        yield made
    finally:
        made.end()


@contextmanager
def both(*, secured: bool = True, nodes: Sequence[str] = MACHINES) -> Iterator[Cluster]:
    """A cluster of its own whose nodes run, by default both; a test that takes something away brings it back. Skips where none can be made."""
    import pytest  # not for the process that holds a namespace

    if why := missing():
        pytest.skip(why)
    folder = Path(tempfile.mkdtemp(prefix="sr-", dir="/tmp"))  # sockets lie in it: a short path
    try:
        with cluster(folder, secured=secured, nodes=nodes) as made:
            yield made
    finally:
        shutil.rmtree(folder)


def hosts_file(folder: Path, hosts: int) -> Path:
    """Writes the hosts.toml of hosts on the two machines in turn, with their working folder beside it."""
    file = folder / "hosts.toml"
    file.write_text(
        f'[all]\nfolder = "{folder / "work"}"\n\n'
        + "".join(f'[node-{number}]\nlabels = {{ host = "{MACHINES[number % 2]}" }}\n' for number in range(hosts)),
        encoding="utf-8",
    )
    return file


def waited(there: Callable[[], object], process: "subprocess.Popen[str] | None" = None) -> None:
    """Waits until something is there, while a process that leads to it runs."""
    until = time.monotonic() + 120
    while not there():
        assert time.monotonic() < until
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)


def _ip(machine: Machine, words: str, *more: str) -> None:
    done = machine.run("ip", *words.split(), *more)
    assert done.returncode == 0, done.stderr


def _kill(processes: Sequence[int]) -> int:
    for pid in processes:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return len(processes)


def _until(there: Callable[[], bool], within_s: float = 60) -> None:
    until = time.monotonic() + within_s
    while True:
        try:
            if there():
                return
        except OSError:
            pass
        assert time.monotonic() < until
        time.sleep(0.02)


def _processes(namespace: Path, but: int) -> dict[int, str]:
    """Ids of all processes of a namespace but for one, with their command lines."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "ns/net").readlink() == namespace and int(process.name) != but:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[int(process.name)] = line
        except OSError:
            continue
    return {pid: line for pid, line in found.items() if line}


def _end_processes(namespace: Path, but: int) -> None:
    """Kills all processes of a namespace but for one, until none is left."""
    until = time.monotonic() + 60
    while left := _processes(namespace, but):
        assert time.monotonic() < until, left
        _kill(list(left))
        time.sleep(0.05)


if __name__ == "__main__":
    sys.stdin.read()
    _end_processes(Path("/proc/self/ns/net").readlink(), os.getpid())
