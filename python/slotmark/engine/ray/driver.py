"""The driver: the process that has loaded Ray. It does what comes through a pipe, until that ends."""

import importlib
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from slotmark.engine.hosts import Clock, nearest
from slotmark.engine.local import STOPPING_S
from slotmark.engine.ray.messages import WAIT_S, Begin, Done, Lost, Message, Staff, Visit, Visited
from slotmark.engine.ray.nodes import Cluster, Node
from slotmark.engine.ray.on_nodes import Keeper, here, in_worker, own_versions, question, visitor_class
from slotmark.numbers import duration
from slotmark.words import sentence

ANSWER_S = 60.0
"""Time that a node has for starting a worker and answering."""

_LOOK_S = 1.0
"""The interval at which it is seen that the cluster is lost, while answers of processes are waited for."""

_WAITING_PER_CORE = 4
"""Pieces that are handed to Ray at a time: enough that none of its cores waits, and few enough that it holds few of them."""

_UNAUTHENTICATED = b"Unauthenticated"
"""The word that Ray prints in the driver, without raising anything, where a cluster refuses its token."""

_REFUSED = "the cluster refused the token of this command, or it has none. Copy ~/.ray/auth_token of the cluster's head, or set RAY_AUTH_TOKEN_PATH."

_TRIPS = 50
"""Round trips for a clock."""

_ANSWERS_S = 20
"""Time in which a cluster's head answers that something listens there."""

_SETTINGS = {
    "RAY_task_oom_retries": "3",  # Ray's default is to try a piece for ever that is beyond the memory of its node
    "RAY_DEDUP_LOGS": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_task_events_report_interval_ms": "0",  # nobody reads them, and they are sent once a second
}
"""Settings of Ray's that the driver has, unless its environment has others."""


def drive(pipe: Connection, log: Path, for_pieces: bool) -> None:
    """Connects to a cluster, and does what comes through a pipe, until that ends."""
    with log.open("ab") as file:
        printed_before = file.tell()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir("/")  # Ray lets workers import from the folder of the driver
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if why := _unanswered(os.environ.get("RAY_ADDRESS", "")):
        with suppress(OSError):
            pipe.send(Lost(why))
        return
    ray: Any = importlib.import_module("ray")
    try:
        context = ray.init("auto", log_to_driver=False, logging_level="ERROR")
        nodes = [one for one in ray.nodes() if one["Alive"]]
        found = Cluster(address=context.address_info["gcs_address"], here=here(), nodes=_asked(ray, nodes, for_pieces))
    except Exception as error:
        with log.open("rb") as file:
            file.seek(printed_before)
            refused = _UNAUTHENTICATED in file.read()
        with suppress(OSError):
            pipe.send(Lost(_REFUSED if refused else _said(error)))
        return
    refs: dict[Any, int] = {}
    try:
        pipe.send(found)
        while True:
            asked = pipe.recv()
            if isinstance(asked, Visit):
                pipe.send(Visited(_visited(ray, asked)))
            elif isinstance(asked, Staff):
                _man(ray, asked, pipe)
            else:
                _do(ray, pipe, asked, refs, cores=sum(one.cores for one in found.nodes))
    except (EOFError, OSError):
        pass
    except ray.exceptions.RayError as error:
        with suppress(OSError):
            pipe.send(Lost(_said(error)))
    finally:
        _cancel(ray, list(refs))
        ray.shutdown()


def _unanswered(address: str) -> str:
    """Returns that nothing answers at ``HOST:PORT``, where that is so: Ray itself tries for more than ten minutes. Empty for other addresses."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit():
        return ""
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_S).close()
    except (OSError, OverflowError) as error:
        return f"nothing answers at {address} ({getattr(error, 'strerror', None) or error})."
    return ""


def _do(ray: Any, pipe: Connection, begin: Begin, refs: dict[Any, int], cores: float) -> None:
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
            refs[ray.remote(in_worker).options(num_cpus=1, **only).remote(piece, own_versions())] = place
        if not refs or pipe.poll():
            break
        for ref in ray.wait(list(refs), timeout=WAIT_S)[0]:
            pipe.send(_collected(ray, ref, refs.pop(ref)))


def _man(ray: Any, staff: Staff, pipe: Connection) -> None:
    """Starts a process on each node, and passes messages on, until the pipe is at its end. Raises EOFError then."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    keeper = ray.remote(Keeper)
    keepers, answers = [], _Answers(ray)
    for place, node in enumerate(staff.nodes):
        only = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        how = {"num_cpus": 0, "max_restarts": 0, "enable_task_events": False}
        keepers.append(keeper.options(**how, scheduling_strategy=only).remote(staff.start))
        answers.expect(keepers[-1].beside.remote(), place)
    try:
        while True:
            connection.wait([pipe, answers.news], _LOOK_S)
            while pipe.poll(0):
                message = pipe.recv()
                answers.expect(keepers[message.place].passed_on.remote(message.content), message.place)
            for answer in answers.arrived():
                pipe.send(answer)
    finally:
        with suppress(Exception):  # those of lost nodes are none to wait for
            ray.wait([one.stopped.remote() for one in keepers], num_returns=len(keepers), timeout=STOPPING_S)
        for one in keepers:
            with suppress(Exception):
                ray.kill(one)


class _Answers:
    """Answers of processes on nodes, which can be waited for: to ask Ray again and again takes more of a core than all else that the driver does.

    Attributes:
        news: A descriptor that can be read when there is an answer.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._waiting: dict[Future[Any], tuple[Any, int]] = {}
        self._done: SimpleQueue[Future[Any]] = SimpleQueue()
        self.news, self._note = os.pipe()
        os.set_blocking(self.news, False)

    def expect(self, ref: Any, place: int) -> None:
        """Waits for the answer of the process at a place."""
        future = ref.future()
        self._waiting[future] = ref, place
        future.add_done_callback(self._arrived)

    def _arrived(self, future: "Future[Any]") -> None:
        self._done.put(future)
        os.write(self._note, b"\0")

    def arrived(self) -> Iterator[Message]:
        """The answers that are there, or what became of the processes. Raises RayError where the cluster is lost."""
        with suppress(BlockingIOError):
            os.read(self.news, 4096)
        if self._done.empty() and self._waiting:
            self._ray.wait([ref for ref, _ in self._waiting.values()], timeout=0)
        while not self._done.empty():
            future = self._done.get()
            yield _passed_back(self._ray, future, self._waiting.pop(future)[1])


def _passed_back(ray: Any, answered: "Future[Any]", place: int) -> Message:
    """The answer of a process, or what became of it."""
    try:
        return Message(place, answered.result())
    except ray.exceptions.LocalRayletDiedError:
        raise  # the driver's own node is lost, and with it all
    except (ray.exceptions.RayError, EOFError, OSError) as error:
        return Message(place, None, lost=_said(error))


def _collected(ray: Any, ref: Any, place: int) -> Done:
    """The end of a piece that is done, or that Ray gave up after its own number of attempts."""
    try:
        return Done(place, *ray.get(ref))
    except ray.exceptions.LocalRayletDiedError:
        raise  # the driver's own node is lost, and with it all
    except ray.exceptions.RayError as error:
        return Done(place, _said(error))


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
    return sentence((lines or [type(error).__name__])[0][:300])


def _asked(ray: Any, nodes: Sequence[Mapping[str, Any]], for_pieces: bool) -> list[Node]:
    """The nodes with what they have, each asked in a worker of its own. Workers stay for pieces; else they end, since one that waits takes 0.7 % of a core."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    refs = {}
    asking = ray.remote(max_calls=0 if for_pieces else 1)(question())  # of Ray's: 0 is without end
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


def _visited(ray: Any, visit: Visit) -> list[tuple[Clock | None, list[str]]]:
    """The finds of visitors, one on each node, all at once; then their clocks, one after the other, so that nothing of ours delays a round trip."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    visitor = ray.remote(visitor_class())
    visitors = []
    for node, *wanted in visit.hosts:
        only = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        one = visitor.options(num_cpus=0, scheduling_strategy=only).remote()
        visitors.append((one, one.missing.remote(*wanted)))
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
