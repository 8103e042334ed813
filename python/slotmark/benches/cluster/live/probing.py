"""A program that asks nodes for a handshake: they may listen at addresses that only a host of the emulated network reaches.

``python -m slotmark.benches.cluster.live.probing SECONDS MAGIC HOST=ADDRESS:PORT…`` prints a JSON line per host and ends with 0.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Literal

import msgspec

from slotmark import _core
from slotmark.benches.cluster.live.launching import Child, Wan, spawn
from slotmark.benches.cluster.live.network import GENERATOR
from slotmark.errors import ServerError
from slotmark.measure.process import ending

_PAUSE_S = 0.5


class Answer(msgspec.Struct, frozen=True):
    """The answer of a host.

    Attributes:
        host: Its name.
        failed: Which check failed; empty where none did.
        why: Why.
    """

    host: str
    failed: Literal["", "port", "handshake"] = ""
    why: str = ""


_ANSWER = msgspec.json.Decoder(Answer)


class Probe(Child):
    """The running program; ends by itself once all hosts have answered or the time is over, and when this process ends.

    Args:
        places: ``ADDRESS:PORT`` of each host.
        magic: The network's.
        seconds: Time that hosts may take.
        wan: The emulated network; None for loopback.
        folder: Where its standard error is kept.
    """

    def __init__(self, places: Mapping[str, str], magic: int, seconds: float, wan: Wan | None, folder: Path) -> None:
        self._errors, self._hosts = folder / "probe.stderr", list(places)
        words = [sys.executable, "-m", __name__, str(seconds), str(magic)]
        with self._errors.open("wb") as errors:
            self._process = spawn(
                [*(wan.inside(GENERATOR) if wan else []), *words, *(f"{host}={at}" for host, at in places.items())],
                None,
                subprocess.PIPE,
                errors,
            )

    def answers(self) -> list[Answer]:
        """The answers of hosts, in their order. ServerError where the program failed itself."""
        printed, _ = self._process.communicate()
        if self._process.returncode:
            raise ServerError(
                f"nodes can't be asked whether they listen: {ending(self._process.returncode, self._errors)}"
            )
        answers = {answer.host: answer for answer in map(_ANSWER.decode, printed.splitlines())}
        return [answers[host] for host in self._hosts if host in answers]


def _ask(host: str, place: str, magic: int, end: float, answers: "Queue[Answer]") -> None:
    address, _, port = place.rpartition(":")
    while True:
        try:
            socket.create_connection((address, int(port)), timeout=max(0.1, end - time.monotonic())).close()
            _core.node_version(place, magic)
            return answers.put(Answer(host))
        except OSError as error:
            answer = Answer(host, "port", f"{place}: {error.strerror or error}")
        except ServerError as error:
            answer = Answer(host, "handshake", f"{place}: {error}")
        if time.monotonic() + _PAUSE_S >= end:
            return answers.put(answer)
        time.sleep(_PAUSE_S)


def main(arguments: list[str]) -> None:
    """Asks all hosts at once, each until it answers as it should or the time is over."""
    seconds, magic, *places = arguments
    end = time.monotonic() + float(seconds)
    answers: Queue[Answer] = Queue()
    for place in places:
        host, _, address = place.partition("=")
        Thread(target=_ask, args=(host, address, int(magic), end, answers), daemon=True).start()
    for _ in places:
        sys.stdout.buffer.write(msgspec.json.encode(answers.get()) + b"\n")
    sys.stdout.flush()
    os._exit(0)  # without a wait for threads


if __name__ == "__main__":
    main(sys.argv[1:])
