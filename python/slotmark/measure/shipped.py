"""Files that come with slotmark beside its Python: programs, and recipes of nodes and clients."""

from collections.abc import Mapping
from pathlib import Path

from slotmark.errors import TargetError

_CHECKOUT = Path(__file__).resolve().parents[3]
"""The source tree that this slotmark is part of; any other folder of an installed one."""

INSIDE = Path(__file__).resolve().parents[1] / "inside"
"""The part of the source tree that an installed slotmark has, in the same places, as `make wheel` puts it there; no folder in a checkout."""


def root() -> Path:
    """The folder with ``nodes/``, ``targets/`` and ``target/release/``: the checkout, or inside an installed slotmark."""
    return _CHECKOUT if (_CHECKOUT / "Cargo.toml").is_file() else INSIDE


def program(name: str) -> Path:
    """The path of a program of ours, once it is built."""
    return root() / "target" / "release" / name


def built_program(name: str, what: str, remedy: str = "") -> Path:
    """The path of a program of ours; TargetError, which calls it ``what`` and may name a remedy beside `make setup`, where it isn't built."""
    path = program(name)
    if not path.is_file():
        raise TargetError(f"{path}: {what} isn't built. Run `make setup`{remedy}.")
    return path


def option_words(options: Mapping[str, object]) -> list[str]:
    """The options of a program of ours as words: ``--one-name=value`` of ``one_name``; those that are None or False are left out."""
    flags = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    return [
        flag if value is True else f"{flag}={value}"
        for flag, value in flags.items()
        if value is not None and value is not False
    ]
