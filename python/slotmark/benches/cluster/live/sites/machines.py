"""The machines of a live cluster, each with a part of its hosts: this one, or others that are reached through a pipe each."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from slotmark.benches.cluster.live.sites.part import MEMORY_LOOK_S, Look, Part, ShortMemoryError
from slotmark.engine.station import Station, StationLostError

P = ParamSpec("P")
T = TypeVar("T")

_LOOK_S = 0.8
"""Time that a look may take: machines that haven't answered by then are looked at when they do."""


_INTERRUPTED_S = 30
"""Time in which a machine has to end what was asked of it before a signal came."""


class Machine(Protocol):
    """A machine that does what is asked of its part: one thing at a time."""

    def begin(self, work: str, *given: Any) -> None:
        """Begins with a method of :class:`Part`."""
        ...

    def is_done(self, within_s: float) -> bool:
        """Returns whether it has done it, or is lost; waits for that."""
        ...

    def result(self) -> Any:
        """Returns the value that the method returned. Raises what it raised; StationLostError where the machine is lost."""
        ...

    def rests(self, seconds: float) -> bool:
        """Begins with a look at the end of this time, where it can wait by itself. Returns whether it can."""
        ...

    def check_memory(self) -> None:
        """Raises ShortMemoryError where that is known here and there is too little left."""
        ...


class Here:
    """This machine: a part in this process."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._result: tuple[Any, BaseException | None] = None, None

    def begin(self, work: str, *given: Any) -> None:
        """As of :class:`Machine`; does it."""
        try:
            self._result = getattr(self._part, work)(*given), None
        except Exception as error:
            self._result = None, error

    def is_done(self, within_s: float) -> bool:
        """As of :class:`Machine`."""
        return True

    def result(self) -> Any:
        """As of :class:`Machine`."""
        found, error = self._result
        if error is not None:
            raise error
        return found

    def rests(self, seconds: float) -> bool:
        """As of :class:`Machine`."""
        return False

    def check_memory(self) -> None:
        """As of :class:`Machine`."""
        self._part.check_memory()


class There:
    """Another machine: a part in a process there, which looks after its memory itself."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._answer: Any = ()

    def begin(self, work: str, *given: Any) -> None:
        """As of :class:`Machine`. StationLostError where it does not end what was begun before."""
        if not self.is_done(_INTERRUPTED_S):  # a signal came while it was waited for
            raise StationLostError(f"it was busy for {_INTERRUPTED_S} s with what is not wanted any more.")
        self._answer = None
        self._station.send((work, given))

    def is_done(self, within_s: float) -> bool:
        """As of :class:`Machine`."""
        if self._answer is None:
            try:
                self._answer = self._station.received(within_s)
            except StationLostError as error:
                self._answer = False, error
        return self._answer is not None

    def result(self) -> Any:
        """As of :class:`Machine`."""
        well, found = self._answer
        if well:
            return found
        raise found

    def rests(self, seconds: float) -> bool:
        """As of :class:`Machine`. An actor that waits inside a call takes a tenth of what one takes that waits for calls."""
        self.begin("look", seconds)
        return True

    def check_memory(self) -> None:
        """As of :class:`Machine`."""


class Machines:
    """All machines of a cluster.

    Args:
        machines: By name.
        of_host: The name of each host's machine.
        tick: Called while something is waited for; may raise.

    Attributes:
        lost: Machines that were lost, each with the reason.
    """

    def __init__(self, machines: Mapping[str, Machine], of_host: Mapping[str, str], tick: Callable[[], None]) -> None:
        self._machines, self._of_host, self._tick = dict(machines), dict(of_host), tick
        self._looking: set[str] = set()
        self._late: list[Look] = []
        self.lost: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """Those that aren't lost."""
        return list(self._machines)

    def of(self, host: str) -> str:
        """The machine of a host."""
        return self._of_host[host]

    def hosts(self, name: str) -> list[str]:
        """The hosts of a machine."""
        return [host for host, machine in self._of_host.items() if machine == name]

    def call(self, name: str, work: Callable[Concatenate[Any, P], T], *given: P.args, **_none: P.kwargs) -> T | None:
        """Has a machine do a method of its part. Returns what that does; None where the machine is lost. Raises what the method raises."""
        return self._all({name: given}, work.__name__).get(name)

    def each(self, work: Callable[Concatenate[Any, P], T], *given: P.args, **_none: P.kwargs) -> dict[str, T]:
        """Has all machines do a method of their parts at once. Returns what that does, by machine, without those that are lost. Raises what one raises."""
        return self._all(dict.fromkeys(self._machines, given), work.__name__)

    def each_with(self, work: Callable[..., T], given: Mapping[str, tuple[Any, ...]]) -> dict[str, T]:
        """As :meth:`each`, of those machines that there are arguments for, with its own for each."""
        return self._all(given, work.__name__)

    def _all(self, given: Mapping[str, Any], work: str) -> dict[str, Any]:
        self._settle()
        begun = [name for name in given if name in self._machines]
        for name in begun:
            with self._noting(name):
                self._machines[name].begin(work, *given[name])
        while waiting := [name for name in begun if name in self._machines and not self._machines[name].is_done(0)]:
            self._tick()
            self._machines[waiting[0]].is_done(MEMORY_LOOK_S)
        errors: list[Exception] = []
        found = {}
        for name in [name for name in begun if name in self._machines]:
            with self._noting(name):
                try:
                    found[name] = self._machines[name].result()
                except StationLostError:
                    raise
                except Exception as error:
                    errors.append(error)
        if errors:
            raise errors[0]
        return found

    def rest(self, seconds: float) -> None:
        """Lets machines wait for the next look by themselves, where they can; it is due in this time."""
        for name in [name for name in self._machines if name not in self._looking]:
            with self._noting(name):
                if self._machines[name].rests(seconds):
                    self._looking.add(name)

    def looks(self) -> list[Look]:
        """Returns the news of all machines that answer soon, and of those that hadn't answered before."""
        for name in [name for name in self._machines if name not in self._looking]:
            with self._noting(name):
                self._machines[name].begin("look")
                self._looking.add(name)
        end = time.monotonic() + _LOOK_S
        found, self._late = self._late, []
        while self._looking:
            for name in [name for name in self._looking if self._machines[name].is_done(0)]:
                found += self._looked(name)
            if not self._looking or time.monotonic() > end:
                break
            self._machines[next(iter(self._looking))].is_done(MEMORY_LOOK_S)
        return found

    def _looked(self, name: str) -> list[Look]:
        self._looking.discard(name)
        with self._noting(name):
            return [self._machines[name].result()]
        return []

    def _settle(self) -> None:
        """Waits for looks that haven't ended: a machine does one thing at a time."""
        while self._looking:
            name = next(iter(self._looking))
            while not self._machines[name].is_done(MEMORY_LOOK_S):
                pass
            with suppress(ShortMemoryError):  # the next look raises it again
                self._late += self._looked(name)

    @contextmanager
    def _noting(self, name: str) -> Iterator[None]:
        """Counts a machine as lost where that is raised inside."""
        try:
            yield
        except StationLostError as error:
            self._note_lost(name, str(error))

    def _note_lost(self, name: str, why: str) -> None:
        """Counts a machine as lost."""
        self.lost[name] = why
        self._machines.pop(name, None)
        self._looking.discard(name)

    def check_memory(self) -> None:
        """Raises ShortMemoryError where there is too little memory left."""
        for machine in self._machines.values():
            machine.check_memory()
