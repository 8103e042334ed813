"""Engines: where work is done that needs nothing of other work. Pieces of work, and the engines that do them: on this machine, or shared by many calls."""

from slotmark.engine.local import local
from slotmark.engine.piece import Engine, Piece, Progress
from slotmark.engine.shards import (
    Shard,
    ShardDone,
    Shared,
    gathered,
    opened,
    options_of,
    shard_done,
)

__all__ = [
    "Engine",
    "Piece",
    "Progress",
    "Shard",
    "ShardDone",
    "Shared",
    "gathered",
    "local",
    "opened",
    "options_of",
    "shard_done",
]
