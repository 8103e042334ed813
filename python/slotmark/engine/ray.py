"""The engine of a Ray cluster: pieces are done by its nodes, with the outputs that this machine would give. No other module knows Ray, so this one is long.

Ray is loaded by a process of its own, the driver, and by the workers that Ray starts: it handles signals, writes to standard error, and ends its
process when the cluster is lost. The driver talks with this process through a pipe, which ends with either of them.
"""

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from slotmark.cleaning import one_line
from slotmark.engine.hosts import Clock, Host, Wanted, matching, nearest
from slotmark.engine.kept import files_in, is_whole, keep, kept, put
from slotmark.engine.local import STOPPING_S, begun, outcome
from slotmark.engine.piece import Engine, Merged, Piece, Progress, T
from slotmark.engine.station import Station, StationLostError
from slotmark.errors import EngineError, PieceError
from slotmark.numbers import duration
from slotmark.temporary import temporary_folder
from slotmark.versions import slotmark_commit, slotmark_version
from slotmark.words import counted

LEAST_RAY = (2, 52)
"""The first version whose clusters ask for a token."""

LOG = "ray.log"
"""The file of all that Ray prints in the driver."""

OUTPUTS = "outputs"

INSTALL = "pip install 'slotmark[ray]'"

ANSWER_S = 60.0
"""Time that a node has for starting a worker and answering."""

_WAIT_S = 0.2
_PASS_S = 0.02
"""Time that a message to a process waits at most while answers of others are waited for."""

_WAITING_PER_CORE = 4
"""Pieces that are handed to Ray at a time: enough that none of its cores waits, and few enough that it holds few of them."""

_UNAUTHENTICATED = b"Unauthenticated"
"""The word that Ray prints in the driver, without raising anything, where a cluster refuses its token."""

_REFUSED = "the cluster refused the token of this command, or it has none. Copy ~/.ray/auth_token of the cluster's head, or set RAY_AUTH_TOKEN_PATH."

_TRIPS = 50
"""Round trips for a clock."""

_SETTINGS = {
    "RAY_task_oom_retries": "3",  # Ray's default is to try a piece for ever that is beyond the memory of its node
    "RAY_DEDUP_LOGS": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Settings of Ray's that the driver has, unless its environment has others."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a Ray cluster, or the machine that this command runs on.

    Attributes:
        id: Of Ray's; empty for this machine.
        address: As Ray knows it; empty for this machine.
        host: The name that the machine has for itself.
        labels: As it was started with.
        cores: That Ray gives to tasks.
        ray: The version.
        python: The version.
        slotmark: The version.
        commit: The commit of slotmark; empty where it isn't known.
        secured: Whether it asks for a token.
        fault: Why it didn't answer; empty where it did.
    """

    id: str = ""
    address: str = ""
    host: str = ""
    labels: Mapping[str, str] = {}
    cores: float = 0
    ray: str = ""
    python: str = ""
    slotmark: str = ""
    commit: str = ""
    secured: bool = False
    fault: str = ""

    @property
    def name(self) -> str:
        """Its name for people."""
        return f"{self.host} ({self.address})" if self.host and self.address else self.host or self.address

    def own_labels(self) -> list[tuple[str, str]]:
        """The labels that people gave it."""
        return sorted((key, value) for key, value in self.labels.items() if not key.startswith("ray.io/"))

    def faults(self, here: "Node") -> list[str]:
        """Differences from this machine, by which its pieces might have other outputs; empty where there are none."""
        if self.fault:
            return [self.fault]
        minor = [one.python.rpartition(".")[0] for one in (self, here)]
        pairs = (
            ("Ray", self.ray, here.ray, self.ray == here.ray),
            ("Python", self.python, here.python, minor[0] == minor[1]),
            ("slotmark", *(f"{one.slotmark} {one.commit}".rstrip() for one in (self, here)), self._same_slotmark(here)),
        )
        return [f"{what} {its or 'none'}, here {ours}" for what, its, ours, same in pairs if not same]

    def _same_slotmark(self, here: "Node") -> bool:
        return (self.slotmark, self.commit) == (here.slotmark, here.commit)


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A Ray cluster, as it was found before work begins.

    Attributes:
        address: Of its head.
        here: This machine.
        nodes: Its nodes, by address.
    """

    address: str
    here: Node
    nodes: list[Node]

    def node_of(self, host: str) -> Node:
        """The one node that a host is: by the label ``host``, else by its own name or address. EngineError where there is none, or several."""
        found = [node for node in self.nodes if node.labels.get("host") == host] or [
            node for node in self.nodes if host in (node.host, node.address)
        ]
        if len(found) != 1:
            known = sorted({node.labels.get("host") or node.name for node in self.nodes})
            raise EngineError(
                f"{host}: {counted(len(found), 'node')} of the Ray cluster {'is' if len(found) == 1 else 'are'} that host, 1 expected. "
                f"Nodes are {', '.join(known)}; a node is named by `ray start --labels host={host}`."
            )
        return found[0]


class _Begin(msgspec.Struct, frozen=True):
    """Asks the driver for pieces, each with its place, and the id of the only node that can do it or nothing."""

    pieces: list[tuple[int, Piece[Any], str]]
    labels: dict[str, str]


class _Made(msgspec.Struct, frozen=True):
    """The output of a piece, encoded, and the files that it made: places below its folder, and contents."""

    output: bytes
    files: list[tuple[str, bytes]]


class _Visit(msgspec.Struct, frozen=True):
    """Asks the driver to look at nodes: by id, the programs and the ports that a host there must have."""

    hosts: list[tuple[str, list[str], list[int]]]


class _Visited(msgspec.Struct, frozen=True):
    """The finds at each of the nodes: its clock, and its faults."""

    found: list[tuple[Clock | None, list[str]]]


class _Staff(msgspec.Struct, frozen=True):
    """Asks the driver for a process on each of some nodes: by id, and by what starts it there."""

    nodes: list[str]
    start: Callable[[], Any]


class _Message(msgspec.Struct, frozen=True):
    """A message to a process on a node, or its answer.

    Attributes:
        place: The process's place among those that were asked for.
        content: What is sent.
        lost: Why the process is lost; empty where it isn't.
    """

    place: int
    content: Any
    lost: str = ""


class _Done(msgspec.Struct, frozen=True):
    """A piece is done, or went wrong.

    Attributes:
        place: The place of the piece.
        found: The output, encoded; or what the piece raised; or what Ray says of a piece that it gave up.
        node: The name of the node that did it.
        took_s: The time that it took there.
    """

    place: int
    found: Any
    node: str = ""
    took_s: float = 0.0


class _Lost(msgspec.Struct, frozen=True):
    """No piece can be done: what Ray says of it."""

    why: str


def refuse_without_ray() -> None:
    """Raises EngineError where Ray isn't installed, is too old, or no address of a cluster can be meant."""
    if importlib.util.find_spec("ray") is None:
        raise EngineError(f"--engine ray: Ray is not installed here. Install it: {INSTALL}.")
    version = importlib.metadata.version("ray")
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_RAY:
        least = ".".join(map(str, LEAST_RAY))
        raise EngineError(
            f"--engine ray: Ray {version} has no authentication by token; at least {least} is needed. Install it: {INSTALL}."
        )
    if "://" in os.environ.get("RAY_ADDRESS", ""):
        raise EngineError(
            "RAY_ADDRESS: expected HOST:PORT of the cluster's head. Run this command on a node of the cluster; Ray's client isn't used."
        )


@contextmanager
def on_ray(
    folder: Path,
    *,
    insecure: bool,
    labels: Mapping[str, str],
    checked: Callable[[Cluster], None],
    remark: Callable[[str], None],
) -> Iterator[Engine]:
    """Yields the engine that has pieces done by a Ray cluster that runs already: the one of ``RAY_ADDRESS``, or else the one of this machine.

    Outputs are kept in a folder as soon as they are there; pieces whose outputs are there already are not done again. Files that a piece made
    travel with its output, by the memory of Ray's nodes.

    Args:
        folder: Of this engine alone; made where it isn't there. :func:`forget` removes it.
        insecure: Whether to go on where the cluster doesn't ask for a token.
        labels: Only nodes with these do pieces.
        checked: Gets the cluster as it was found, before it is refused or work begins.
        remark: Gets lines for people: how many pieces were found finished, and what each host did.

    Yields:
        An engine, which counts pieces in its progress, and connects to the cluster when it is first called. It raises EngineError where there is no cluster, or not one that gives the outputs of this
        machine; PieceError where a piece was given up; else what a piece raised.
    """
    refuse_without_ray()
    connection: list[tuple[_Driver, Cluster]] = []
    ending = ExitStack()

    def reach() -> tuple[_Driver, Cluster]:
        if not connection:
            driver, cluster = ending.enter_context(connected(folder))
            checked(cluster)
            refuse(cluster, insecure=insecure, labels=labels)
            connection.append((driver, cluster))
        return connection[0]

    def engine(
        pieces: Sequence[Piece[T]],
        merge: Callable[[Iterator[T]], Merged],
        progress: Progress = lambda _done, _total: None,
        workers: int | None = None,
    ) -> Merged:
        files = [folder / OUTPUTS / piece.name for piece in pieces]
        left = [place for place, file in enumerate(files) if not (pieces[place].lasting and is_whole(file))]
        if len(left) < len(pieces):
            remark(f"{len(pieces) - len(left):,} of {counted(len(pieces), 'piece')} were finished before.")
        finishing = _finishing(pieces, files, left, folder, labels, reach, remark)

        def outputs() -> Iterator[T]:
            lacking = set(left)
            for place, (piece, file) in enumerate(zip(pieces, files, strict=True)):
                while place in lacking:
                    lacking -= set(next(finishing))
                    progress(len(pieces) - len(lacking), len(pieces))
                found = kept(file)
                if found is None:
                    raise PieceError(f"{file}: not as it was written a moment ago. Run the same command again.")
                if piece.folder is not None:
                    put(file, found, piece.folder)
                yield piece.output(found.output)
            next(finishing, None)

        return merge(outputs())

    with ending:
        yield engine


def forget(folder: Path) -> None:
    """Removes what the engine kept, when it isn't needed any more."""
    shutil.rmtree(folder, ignore_errors=True)


def _finishing(
    pieces: Sequence[Piece[Any]],
    files: Sequence[Path],
    left: Sequence[int],
    folder: Path,
    labels: Mapping[str, str],
    reach: "Callable[[], tuple[_Driver, Cluster]]",
    remark: Callable[[str], None],
) -> Generator[list[int], None, None]:
    """Does the pieces at some places, and yields the places of those that are finished now: none of them every few moments."""
    if not left:
        return
    done: dict[str, int] = defaultdict(int)
    took_s: dict[str, float] = defaultdict(float)
    driver, cluster = reach()
    driver.send(_Begin(_ordered(cluster, pieces, left), dict(labels)))
    for _ in left:
        while (found := driver.received()) is None:
            yield []
        if isinstance(found, _Lost):
            raise EngineError(_lost(cluster.address, found.why, folder))
        piece = pieces[found.place]
        if isinstance(found.found, str):
            raise PieceError(
                f"{piece.label} (the piece {piece.name}): given up by Ray: {one_line(found.found)} "
                "What is finished is kept; mend that, and run the same command again."
            )
        if isinstance(found.found, MemoryError):
            raise PieceError(f"{piece.label}: there is not enough memory on {found.node}. Leave that node out.")
        if isinstance(found.found, BaseException):
            raise found.found
        keep(files[found.place], partial(_written, found.found), makes_files=piece.folder is not None)
        done[found.node] += 1
        took_s[found.node] += found.took_s
        yield [found.place]
    for host, count in sorted(done.items() if pieces[left[0]].lasting else ()):
        remark(f"{host}: {counted(count, 'piece')}, {duration(took_s[host])} of work")


def _ordered(cluster: Cluster, pieces: Sequence[Piece[Any]], left: Sequence[int]) -> list[tuple[int, Piece[Any], str]]:
    """Pieces with the only node that each can be done by, in turns of those nodes, so that none waits for the pieces of another."""
    nodes = {host: cluster.node_of(host).id for host in {pieces[place].host for place in left if pieces[place].host}}
    before: dict[str, int] = defaultdict(int)
    turns = []
    for place in left:
        host = pieces[place].host
        turns.append((before[host], place))
        before[host] += 1
    return [(place, pieces[place], nodes.get(pieces[place].host, "")) for _, place in sorted(turns)]


def _written(found: "bytes | _Made", folder: Path | None) -> bytes:
    """Writes the files that a piece made into a folder. Returns the piece's output."""
    if folder is None or isinstance(found, bytes):
        assert isinstance(found, bytes), "it made no files"
        return found
    for name, content in found.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return found.output


def refuse(cluster: Cluster, *, insecure: bool, labels: Mapping[str, str]) -> None:
    """Raises EngineError where a cluster can't be used.

    Args:
        cluster: The cluster.
        insecure: Whether to go on where it doesn't ask for a token.
        labels: Those that a node must have that does pieces.
    """
    silent = [node for node in cluster.nodes if node.fault]
    if silent:
        raise EngineError(
            f"{silent[0].name}: this node of the Ray cluster doesn't answer ({silent[0].fault.removesuffix('.')}). It may have been lost a moment ago: Ray counts a "
            "node for some 20 s after its end. Wait and run the same command again, or end it there with `ray stop`."
        )
    wrong = [(node.name, fault) for node in cluster.nodes for fault in node.faults(cluster.here)]
    if wrong:
        name, fault = wrong[0]
        others = f" (and {counted(len(wrong) - 1, 'other difference')})" if len(wrong) > 1 else ""
        raise EngineError(
            f"{name}: {fault}{others}. Install the same on all nodes and start them again: outputs must not depend on the node."
        )
    open_to_all = [node.name for node in cluster.nodes if not node.secured]
    if open_to_all and not insecure:
        raise EngineError(
            f"{cluster.address}: {open_to_all[0]} of this Ray cluster asks for no token, so whoever reaches it can run any program there. "
            "Make one with `ray get-auth-token --generate`, copy ~/.ray/auth_token to every node, and start all of them, and this "
            "command, with RAY_AUTH_MODE=token; or go on with --insecure-ray, which the report notes."
        )
    if not any(labels.items() <= node.labels.items() for node in cluster.nodes):
        known = sorted({f"{key}={value}" for node in cluster.nodes for key, value in node.own_labels()})
        asked = ", ".join(f"{key}={value}" for key, value in labels.items())
        raise EngineError(
            f"--ray-label {asked}: no node of the cluster has that. Nodes have {', '.join(known) or 'no labels'}."
        )


def hosts_found(wanted: Mapping[str, Wanted], folder: Path) -> tuple[Cluster, list[Host]]:
    """Looks at the hosts of a file, each a node of the Ray cluster.

    Args:
        wanted: What each must have.
        folder: For what Ray prints.

    Returns:
        The cluster, and the hosts in the order of the file. A cluster without tokens is no fault of a host.

    Raises:
        EngineError: There is no cluster, or it was lost.
    """
    refuse_without_ray()
    with connected(folder) as (driver, cluster):
        places = {name: matching(one.labels, [node.labels for node in cluster.nodes]) for name, one in wanted.items()}
        visited = [name for name, found in places.items() if len(found) == 1 and not cluster.nodes[found[0]].fault]
        driver.send(
            _Visit([(cluster.nodes[places[name][0]].id, wanted[name].programs, wanted[name].ports) for name in visited])
        )
        while (answer := driver.received()) is None:
            pass
        if isinstance(answer, _Lost):
            raise EngineError(_lost(cluster.address, answer.why, folder))
    of = dict(zip(visited, answer.found, strict=True))
    hosts = []
    for name, found in places.items():
        if len(found) != 1:
            labels = (
                ", ".join(f"{key}={value}" for key, value in wanted[name].labels.items()) or "no labels in the file"
            )
            hosts.append(Host(name=name, wrong=[f"{labels}: {counted(len(found), 'node')}, 1 expected"]))
            continue
        node = cluster.nodes[found[0]]
        clock, wrong = of.get(name, (None, []))
        hosts.append(Host(name=name, node=node.name, clock=clock, wrong=[*node.faults(cluster.here), *wrong]))
    return cluster, hosts


class _Station:
    """A process on a node: as of ``slotmark.engine.station.Station``."""

    def __init__(self, stations: "_Stations", place: int, node: Node, beside: list[int]) -> None:
        self._stations, self._place = stations, place
        self.node, self.address, self.beside = node.name, node.address, beside

    def send(self, message: Any) -> None:
        self._stations.driver.send(_Message(self._place, message))

    def received(self, within_s: float) -> Any:
        return self._stations.received(self._place, within_s)


class _Stations:
    """Processes on nodes, whose answers come through the driver's one pipe."""

    def __init__(self, driver: "_Driver") -> None:
        self.driver = driver
        self._answers: dict[int, _Message] = {}
        self._lost: dict[int, str] = {}

    def received(self, place: int, within_s: float) -> Any:
        """The answer of a process; None where there is none yet. StationLostError where there will be none."""
        until = time.monotonic() + within_s
        while place not in self._answers and place not in self._lost:
            left_s = until - time.monotonic()
            found = self.driver.received(max(0.0, left_s))
            if isinstance(found, _Lost):
                raise StationLostError(f"the Ray cluster was lost: {one_line(found.why)}")
            if isinstance(found, _Message):
                if found.lost:
                    self._lost[found.place] = found.lost
                else:
                    self._answers[found.place] = found
            elif left_s <= 0:
                return None
        if place in self._answers:
            return self._answers.pop(place).content
        raise StationLostError(one_line(self._lost[place]))


@contextmanager
def stations(
    wanted: Mapping[str, Wanted],
    start: Callable[[], Any],
    folder: Path,
    *,
    insecure: bool,
    checked: Callable[[Cluster], None],
) -> Iterator[dict[str, Station]]:
    """Processes on the machines of hosts, one on each machine, which end with the block.

    Args:
        wanted: What each host must have; those with the labels of one node share its process.
        start: A function of a module, called on each node. What it returns has the process's end of a pipe, ``pipe``, and ``stop``.
        folder: For what Ray prints.
        insecure: Whether to go on where the cluster doesn't ask for a token.
        checked: Gets the cluster as it was found, before it is refused or a process is started.

    Yields:
        The station of each host.

    Raises:
        EngineError: There is no cluster, not one with the same slotmark on all nodes, or no node, or several, with a host's labels.
    """
    refuse_without_ray()
    with connected(folder) as (driver, cluster):
        checked(cluster)
        refuse(cluster, insecure=insecure, labels={})
        of_host = {}
        for host, one in wanted.items():
            found = matching(one.labels, [node.labels for node in cluster.nodes])
            if len(found) != 1:
                labels = ", ".join(f"{key}={value}" for key, value in one.labels.items())
                raise EngineError(
                    f"{host}: {labels}: {counted(len(found), 'node')} of the cluster {'has' if len(found) == 1 else 'have'} that, 1 expected. "
                    "`slotmark hosts check` shows what nodes have."
                )
            of_host[host] = found[0]
        nodes = sorted(set(of_host.values()))
        driver.send(_Staff([cluster.nodes[place].id for place in nodes], start))
        all_of_them = _Stations(driver)
        begun_at: dict[int, _Station] = {}
        for number, place in enumerate(nodes):
            try:
                while (beside := all_of_them.received(number, _WAIT_S)) is None:
                    pass
            except StationLostError as error:
                raise EngineError(f"{cluster.nodes[place].name}: no process could be started there: {error}") from error
            begun_at[place] = _Station(all_of_them, number, cluster.nodes[place], beside)
        yield {host: begun_at[place] for host, place in of_host.items()}


@contextmanager
def connected(folder: Path) -> Iterator[tuple["_Driver", Cluster]]:
    """A driver and what it found. EngineError where there is no cluster."""
    try:
        (folder / OUTPUTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"{folder}: {error.strerror}. Choose a -o that can be written.") from error
    driver = _Driver(folder / LOG)
    try:
        while (found := driver.received()) is None:
            pass
        if isinstance(found, _Lost):
            raise EngineError(
                f"--engine ray: {one_line(found.why)} This command runs on a node of a running cluster; RAY_ADDRESS=HOST:PORT names its head."
            )
        yield driver, found
    finally:
        driver.stop()


def _lost(address: str, why: str, folder: Path) -> str:
    return (
        f"{address}: the Ray cluster was lost: {one_line(why)} What is finished is kept; "
        f"start the cluster and run the same command again. {folder / LOG} has what Ray wrote."
    )


class _Driver:
    """The process that has loaded Ray."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._address = os.environ.get("RAY_ADDRESS", "")
        self._process, self._pipe = begun(_drive, log)

    def send(self, asked: _Begin | _Visit | _Staff | _Message) -> None:
        """Asks for something."""
        with suppress(BrokenPipeError):  # it has ended, which is seen when something is to be received
            self._pipe.send(asked)

    def received(self, within_s: float = _WAIT_S) -> Any:
        """The next thing that it sent; None where there is nothing at the moment, a Lost where it has ended."""
        try:
            return self._pipe.recv() if self._pipe.poll(within_s) else None
        except (EOFError, ConnectionResetError):
            self._process.join(STOPPING_S)
            return _Lost("its head has ended, or can't be reached.")

    def stop(self) -> None:
        """Has it cancel what it began, and waits for its end."""
        self._pipe.close()
        self._process.join(2 * STOPPING_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _drive(pipe: Connection, log: Path) -> None:
    """Connects to a cluster, and does what comes through a pipe, until that ends."""
    with log.open("ab") as file:
        printed_before = file.tell()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir("/")  # Ray lets workers import from the folder of the driver
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    ray: Any = importlib.import_module("ray")
    try:
        context = ray.init("auto", log_to_driver=False, logging_level="ERROR")
        nodes = [one for one in ray.nodes() if one["Alive"]]
        found = Cluster(address=context.address_info["gcs_address"], here=_here(), nodes=_asked(ray, nodes))
    except Exception as error:
        with log.open("rb") as file:
            file.seek(printed_before)
            refused = _UNAUTHENTICATED in file.read()
        with suppress(OSError):
            pipe.send(_Lost(_REFUSED if refused else _said(error)))
        return
    refs: dict[Any, int] = {}
    try:
        pipe.send(found)
        while True:
            asked = pipe.recv()
            if isinstance(asked, _Visit):
                pipe.send(_Visited(_visited(ray, asked)))
            elif isinstance(asked, _Staff):
                _man(ray, asked, pipe)
            else:
                _do(ray, pipe, asked, refs, cores=sum(one.cores for one in found.nodes))
    except (EOFError, OSError):
        pass
    except ray.exceptions.RayError as error:
        with suppress(OSError):
            pipe.send(_Lost(_said(error)))
    finally:
        _cancel(ray, list(refs))
        ray.shutdown()


def _do(ray: Any, pipe: Connection, begin: _Begin, refs: dict[Any, int], cores: float) -> None:
    """Has pieces done, and sends what became of each; stops where something else comes through the pipe, or it ends."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    label = {"label_selector": begin.labels} if begin.labels else {}
    waiting = iter(begin.pieces)
    most = max(1, int(_WAITING_PER_CORE * cores))
    while True:
        while len(refs) < most and (asked := next(waiting, None)) is not None:
            place, piece, node = asked
            only = (
                {"scheduling_strategy": strategies.NodeAffinitySchedulingStrategy(node, soft=False)} if node else label
            )
            refs[ray.remote(_in_worker).options(num_cpus=1, **only).remote(piece, _versions())] = place
        if not refs or pipe.poll():
            break
        for ref in ray.wait(list(refs), timeout=_WAIT_S)[0]:
            pipe.send(_collected(ray, ref, refs.pop(ref)))


def _man(ray: Any, staff: _Staff, pipe: Connection) -> None:
    """Starts a process on each node, and passes messages on, until the pipe is at its end. Raises EOFError then."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    keeper = ray.remote(_Keeper)
    keepers, answers = [], {}
    for place, node in enumerate(staff.nodes):
        only = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        keepers.append(keeper.options(num_cpus=0, max_restarts=0, scheduling_strategy=only).remote(staff.start))
        answers[keepers[-1].beside.remote()] = place
    try:
        while True:
            while pipe.poll(0 if answers else _WAIT_S):
                message = pipe.recv()
                answers[keepers[message.place].passed_on.remote(message.content)] = message.place
            for ref in ray.wait(list(answers), timeout=_PASS_S)[0] if answers else ():
                pipe.send(_passed_back(ray, ref, answers.pop(ref)))
    finally:
        with suppress(Exception):  # those of lost nodes are none to wait for
            ray.wait([one.stopped.remote() for one in keepers], num_returns=len(keepers), timeout=STOPPING_S)
        for one in keepers:
            with suppress(Exception):
                ray.kill(one)


def _passed_back(ray: Any, ref: Any, place: int) -> _Message:
    """The answer of a process, or what became of it."""
    try:
        return _Message(place, ray.get(ref))
    except ray.exceptions.LocalRayletDiedError:
        raise  # the driver's own node is lost, and with it all
    except (ray.exceptions.RayError, EOFError, OSError) as error:
        return _Message(place, None, lost=_said(error))


class _Keeper:
    """The actor that keeps a process on its node, and passes messages to it."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._process = start()

    def passed_on(self, content: Any) -> Any:
        """Gives the process a message, and gives back its answer."""
        self._process.pipe.send(content)
        return self._process.pipe.recv()

    def stopped(self) -> None:
        """Ends the process, and waits for that."""
        self._process.stop()

    def beside(self) -> list[int]:
        """Ids of this node's processes of Ray: those that its raylet has started, itself, and those of the head where they run beside it."""
        worker: Any = importlib.import_module("ray._private.worker")
        session = worker._global_node.get_session_dir_path().encode()
        here = Path("/proc/self/ns/net").readlink()
        found = [os.getppid()]
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or is another user's
                if session in (entry / "cmdline").read_bytes() and (entry / "ns/net").readlink() == here:
                    found.append(int(entry.name))
        return sorted(set(found))


def _collected(ray: Any, ref: Any, place: int) -> _Done:
    """The end of a piece that is done, or that Ray gave up after its own number of attempts."""
    try:
        return _Done(place, *ray.get(ref))
    except ray.exceptions.LocalRayletDiedError:
        raise  # the driver's own node is lost, and with it all
    except ray.exceptions.RayError as error:
        return _Done(place, _said(error))


def _cancel(ray: Any, refs: list[Any]) -> None:
    """Stops pieces: first they may remove what they began."""
    for force in (False, True):
        if refs:
            for ref in refs:
                with suppress(Exception):
                    ray.cancel(ref, force=force)
            with suppress(Exception):
                refs = ray.wait(refs, num_returns=len(refs), timeout=STOPPING_S / 2)[1]


def _said(error: BaseException) -> str:
    """The first sentence of an error of Ray's, which may have pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = (lines or [type(error).__name__])[0][:300]
    return first if first.endswith((".", ":")) else f"{first}."


def _in_worker(piece: Piece[Any], versions: tuple[str, ...]) -> tuple[Any, str, float]:
    """Does a piece in a worker. Returns the output or what it raised, the node's name, and the seconds that it took.

    Versions are compared here too: a node may have joined the cluster after all were asked.
    """
    util: Any = importlib.import_module("ray.util")
    node = Node(host=socket.gethostname(), address=util.get_node_ip_address()).name
    if versions != _versions():
        others = ", ".join(_versions())
        wrong = EngineError(
            f"{node}: it joined the cluster with another version: {others}. Install the same on all nodes."
        )
        return wrong, node, 0.0
    began = time.monotonic()
    return _outcome(piece), node, time.monotonic() - began


def _outcome(piece: Piece[Any]) -> "bytes | _Made | BaseException":
    """The output of a piece with the files that it made, or what it raised."""
    if piece.folder is None:
        return outcome(piece, lambda _done, _total: None)
    with temporary_folder() as name:
        folder = Path(name)
        found = outcome(msgspec.structs.replace(piece, folder=folder), lambda _done, _total: None)
        if isinstance(found, BaseException):
            return found
        return _Made(found, [(one, (folder / one).read_bytes()) for one in files_in(folder)])


def _versions() -> tuple[str, ...]:
    """The versions that decide outputs: of slotmark, with its commit, and of Python."""
    return slotmark_version(), slotmark_commit(), platform.python_version().rpartition(".")[0]


def _here() -> Node:
    return Node(
        host=socket.gethostname(),
        ray=importlib.metadata.version("ray"),
        python=platform.python_version(),
        slotmark=slotmark_version(),
        commit=slotmark_commit(),
        secured=_asks_for_token(),
    )


def _asks_for_token() -> bool:
    core: Any = importlib.import_module("ray._raylet")
    return core.get_authentication_mode() == core.AuthenticationMode.TOKEN


def _asked(ray: Any, nodes: Sequence[Mapping[str, Any]]) -> list[Node]:
    """The nodes with what they have, each asked in a worker of its own."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    refs = {}
    asking = ray.remote(_answer())
    for node in nodes:
        only = strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        refs[asking.options(num_cpus=0, max_retries=0, scheduling_strategy=only).remote()] = node
    done, _ = ray.wait(list(refs), num_returns=len(refs), timeout=ANSWER_S)
    return sorted(
        (
            _node(node, _answered(ray, ref) if ref in done else f"no answer in {duration(ANSWER_S)}")
            for ref, node in refs.items()
        ),
        key=lambda node: node.address,
    )


def _visited(ray: Any, visit: _Visit) -> list[tuple[Clock | None, list[str]]]:
    """The finds of visitors, one on each node, all at once; then their clocks, one after the other, so that nothing of ours delays a round trip."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    visitor = ray.remote(_visitor())
    visitors = []
    for node, programs, ports in visit.hosts:
        only = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        one = visitor.options(num_cpus=0, scheduling_strategy=only).remote()
        visitors.append((one, one.missing.remote(programs, ports)))
    found: list[tuple[Clock | None, list[str]]] = []
    for one, missing in visitors:
        try:
            wrong = ray.get(missing, timeout=ANSWER_S)
            exchanges = [
                (time.time_ns(), ray.get(one.now.remote(), timeout=ANSWER_S), time.time_ns()) for _ in range(_TRIPS)
            ]
            found.append((nearest(exchanges), wrong))
        except ray.exceptions.RayError as error:
            found.append((None, [f"no answer: {_said(error)}"]))
    return found


def _visitor() -> type:
    """An actor that looks at a node: a class inside a function, which Ray sends as it is, as :func:`_answer`."""

    class Visitor:
        def now(self) -> int:
            import time  # noqa: PLC0415 - of the node that is asked

            return time.time_ns()

        def missing(self, programs: list[str], ports: list[int]) -> list[str]:
            import shutil  # noqa: PLC0415 - of the node that is asked
            import socket  # noqa: PLC0415

            wrong = [f"no program {one}" for one in programs if shutil.which(one) is None]
            for port in ports:
                try:
                    with socket.socket() as tried:
                        tried.bind(("0.0.0.0", port))
                except OSError as error:
                    wrong.append(f"port {port}: {error.strerror}")
            return wrong

    return Visitor


def _answer() -> Callable[[], dict[str, Any]]:
    """The question to a node: a function inside another, which Ray sends as it is, so that it answers too where slotmark isn't installed."""

    def answer() -> dict[str, Any]:
        import importlib  # noqa: PLC0415 - of the node that is asked
        import importlib.metadata  # noqa: PLC0415
        import platform  # noqa: PLC0415
        import socket  # noqa: PLC0415

        core: Any = importlib.import_module("ray._raylet")
        found = {
            "host": socket.gethostname(),
            "ray": importlib.metadata.version("ray"),
            "python": platform.python_version(),
            "secured": core.get_authentication_mode() == core.AuthenticationMode.TOKEN,
        }
        try:
            from slotmark.versions import slotmark_commit, slotmark_version  # noqa: PLC0415
        except ImportError:
            return found
        return {**found, "slotmark": slotmark_version(), "commit": slotmark_commit()}

    return answer


def _answered(ray: Any, ref: Any) -> "dict[str, Any] | str":
    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        return f"no answer: {_said(error)}"


def _node(of_ray: Mapping[str, Any], answer: "dict[str, Any] | str") -> Node:
    known = {
        "id": of_ray["NodeID"],
        "address": of_ray["NodeManagerAddress"],
        "labels": dict(of_ray["Labels"]),
        "cores": of_ray["Resources"].get("CPU", 0.0),
    }
    return Node(**known, fault=answer) if isinstance(answer, str) else Node(**known, **answer)
