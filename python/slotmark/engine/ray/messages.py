"""Messages between the process that a command runs in and the driver, which has loaded Ray."""

from collections.abc import Callable
from typing import Any

import msgspec

from slotmark.engine.hosts import Clock
from slotmark.engine.piece import Piece

WAIT_S = 0.2


class Begin(msgspec.Struct, frozen=True):
    """Asks the driver for pieces, each with its place, and the id of the only node that can do it or nothing."""

    pieces: list[tuple[int, Piece[Any], str]]
    labels: dict[str, str]


class Made(msgspec.Struct, frozen=True):
    """The output of a piece, encoded, and the files that it made: places below its folder, and contents."""

    output: bytes
    files: list[tuple[str, bytes]]


class Visit(msgspec.Struct, frozen=True):
    """Asks the driver to look at nodes: by id, the programs and the ports that a host there must have, and whether it shares its machine."""

    hosts: list[tuple[str, list[str], list[int], bool]]


class Visited(msgspec.Struct, frozen=True):
    """The finds at each of the nodes: its clock, and its faults."""

    found: list[tuple[Clock | None, list[str]]]


class Staff(msgspec.Struct, frozen=True):
    """Asks the driver for a process on each of some nodes: by id, and by what starts it there."""

    nodes: list[str]
    start: Callable[[], Any]


class Message(msgspec.Struct, frozen=True):
    """A message to a process on a node, or its answer.

    Attributes:
        place: The process's place among those that were asked for.
        content: What is sent.
        lost: Why the process is lost; empty where it isn't.
    """

    place: int
    content: Any
    lost: str = ""


class Done(msgspec.Struct, frozen=True):
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


class Lost(msgspec.Struct, frozen=True):
    """No piece can be done: what Ray says of it."""

    why: str
