"""Modes and depths: the settings that a target is measured in."""

from typing import Literal, get_args

import msgspec

Mode = Literal["raw", "decode", "headers", "fetch"]
MODES: tuple[Mode, ...] = get_args(Mode)


class Setting(msgspec.Struct, frozen=True, order=True):
    """A mode at a depth. Figures of two settings are never pooled.

    Attributes:
        mode: What is done to each block; see docs/targets.md.
        depth: Requests in flight; in ``fetch``, blocks a range.
    """

    mode: Mode
    depth: int

    def __str__(self) -> str:
        """The words that stand for it in tables and reports."""
        if self.depth == 1:
            return f"{self.mode}, sequential"
        return (
            f"{self.mode}, ranges of {self.depth}" if self.mode == "fetch" else f"{self.mode}, {self.depth} in flight"
        )

    @property
    def node_to_node(self) -> bool:
        """True where it is the node-to-node protocol, over TCP; the others are node-to-client over a unix socket."""
        return self.mode in ("headers", "fetch")

    @property
    def floor(self) -> "Setting":
        """The setting of ``floor`` that is this one's limit: a floor never decodes."""
        return Setting("raw", self.depth) if self.mode == "decode" else self
