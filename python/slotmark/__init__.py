"""slotmark runs, analyses, compares and publishes Cardano performance benchmarks.

The data flows one way: a bench produces a run (a folder), metrics turn its tables into samples, compare turns
samples into verdicts, report shows them. A room imports only from rooms before it in that order.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slotmark.compare import CallablePackage
    from slotmark.errors import SlotmarkError
    from slotmark.opened import OpenedRun, open_run
    from slotmark.run import Manifest, Run

    compare: CallablePackage

_HOMES = {
    "Manifest": "slotmark.run",
    "OpenedRun": "slotmark.opened",
    "Run": "slotmark.run",
    "SlotmarkError": "slotmark.errors",
    "open_run": "slotmark.opened",
}


def __getattr__(name: str) -> Any:
    """Loads what is asked for: the command line must be able to begin without all of it."""
    if name == "compare":
        return import_module("slotmark.compare")  # a package that can be called
    if name not in _HOMES:
        raise AttributeError(f"module 'slotmark' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The names that :func:`__getattr__` loads, and those that are there."""
    return sorted({*globals(), *__all__})


__all__ = ["Manifest", "OpenedRun", "Run", "SlotmarkError", "compare", "open_run"]
