"""Checks that nodes answer at their sockets."""

from contextlib import suppress
from threading import Thread

from slotmark import _core
from slotmark.errors import ServerError


class TipQuery:
    """A query of a node's tip, made by a thread of its own: a node that hangs may never answer it.

    Attributes:
        tip: What it answered, ``SLOT.HASH`` or ``origin``; None where it hasn't.
    """

    def __init__(self, socket: str, magic: int) -> None:
        self.tip: str | None = None
        self._thread = Thread(target=self._ask, args=(socket, magic), daemon=True)
        self._thread.start()

    def _ask(self, socket: str, magic: int) -> None:
        with suppress(ServerError):
            self.tip = _core.node_tip(socket, False, magic)

    @property
    def answered(self) -> bool:
        """Returns whether the node has answered."""
        return self.tip is not None

    @property
    def failed(self) -> bool:
        """Returns whether it has ended without an answer."""
        return not self._thread.is_alive() and not self.answered

    def wait(self, limit_s: float) -> None:
        """Waits until it has ended, as it does soon after its node."""
        self._thread.join(limit_s)
