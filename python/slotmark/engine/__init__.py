"""Engines: where work is done that needs nothing of other work. Pieces of work, and the engine that does them on this machine."""

from slotmark.engine.local import local
from slotmark.engine.piece import Piece, Progress

__all__ = ["Piece", "Progress", "local"]
