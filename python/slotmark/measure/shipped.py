"""What comes with slotmark beside its Python: programs, and recipes of nodes and clients."""

from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[3]
"""Where the source tree is that this slotmark is part of; anything else of an installed one."""

INSIDE = Path(__file__).resolve().parents[1] / "inside"
"""What an installed slotmark has of its source tree, in the same places, as `make wheel` puts it there; no folder in a checkout."""


def root() -> Path:
    """The folder with ``nodes/``, ``targets/`` and ``target/release/``: the checkout, or inside an installed slotmark."""
    return _CHECKOUT if (_CHECKOUT / "Cargo.toml").is_file() else INSIDE


def program(name: str) -> Path:
    """Where a program of ours is, once it is built."""
    return root() / "target" / "release" / name
