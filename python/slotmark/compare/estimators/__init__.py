"""Estimators: how the samples of a metric are compared, one file each behind one interface. The catalogue chooses by the file's name."""

from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from slotmark.compare.estimators.interface import Entry, Estimate, Estimator, How, Measured, Task

_modules = {one.name: import_module(f"{__name__}.{one.name}") for one in iter_modules(__path__)}

ESTIMATORS = {name: cast("Estimator", one) for name, one in _modules.items() if hasattr(one, "estimate")}
"""By the name of its file."""

__all__ = ["ESTIMATORS", "Entry", "Estimate", "Estimator", "How", "Measured", "Task"]
