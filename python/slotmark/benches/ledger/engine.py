"""Our own replay engine: where its program is, and how it is started."""

from pathlib import Path

from slotmark.errors import TargetError

BACKENDS = ("memory", "lsm", "lmdb")
"""Where it can keep unspent outputs; each is a target of this name."""

PROGRAM = "slotmark-replay"

_INSIDE = Path(__file__).parent / "inside" / PROGRAM
"""Where it is in an installed slotmark, as `make wheel` puts it there; nothing in a checkout."""

_BUILT = Path(__file__).resolve().parents[4] / "target" / "release" / PROGRAM


def program() -> Path:
    """The engine's program; TargetError where it isn't built."""
    for path in (_INSIDE, _BUILT):
        if path.is_file():
            return path
    raise TargetError(f"{_BUILT}: the replay engine isn't built. Run `make setup`.")
