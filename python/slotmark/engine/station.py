"""Processes on other machines, each at the end of a pipe: what an engine offers to work that has to be done on one machine and no other."""

from typing import Any, Protocol


class StationLostError(Exception):
    """A process, its machine or what leads there is lost: in words."""


class Station(Protocol):
    """A process on another machine. It takes one message at a time, and answers each with one.

    It ends with what this one is reached by, and all that it started ends with it.

    Attributes:
        node: What people call its machine.
        address: The machine's own address.
        beside: Ids of the processes there by which it is reached: they take of what the machine has.
    """

    node: str
    address: str
    beside: list[int]

    def send(self, message: Any) -> None:
        """Sends a message."""
        ...

    def received(self, within_s: float) -> Any:
        """The answer to the last message; None where there is none yet. StationLostError where there will be none."""
        ...
