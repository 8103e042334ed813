"""Traits of estimators, and of what their intervals are over: each estimator's file states its own, and they are found by its name."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

import msgspec

from slotmark.errors import ComparisonError


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """The units that an interval can be over, besides samples inside single runs.

    Attributes:
        over: Its name in words, in the plural.
        of_runs: Whether whole executions are repeated.
        degrees: Degrees of freedom of an error from a number of units a side; None where they are many.
        pooled: Whether the spread between units is that of all sides and of what is known besides, with a source of its own.
        in_session: Whether units are repeated inside one session, so that a run of each target is enough.
        together: From what it is known how much runs of one build differ, in words, where runs belong together.
    """

    over: str
    of_runs: bool = False
    degrees: Callable[[int], float] | None = None
    pooled: bool = False
    in_session: bool = False
    together: str = ""


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """Traits of an estimator.

    Attributes:
        means_of_runs: Whether means of runs are compared, so that it matters how much runs of one build differ, and runs can be planned by it.
        predicts: Whether its figures are predictions: an answer of their own, and no verdict on a target.
        units: What its intervals can be over.
    """

    means_of_runs: bool = False
    predicts: bool = False
    units: tuple[Unit, ...] = ()


@cache
def _traits() -> Mapping[str, Traits]:
    """The traits of all estimators. Those import results, and results ask for traits: they are imported when one first does."""
    estimators = import_module("slotmark.compare.estimators").ESTIMATORS
    return {name: one.TRAITS for name, one in estimators.items()}


def traits_of(estimator: str) -> Traits:
    """Returns an estimator's traits; ComparisonError where there is no such estimator."""
    if estimator not in _traits():
        raise ComparisonError(f"The catalogue names the estimator '{estimator}'. There are: {', '.join(_traits())}.")
    return _traits()[estimator]


def unit_of(over: str) -> Unit:
    """Returns what is known of what an interval is over; of blocks, slots and hosts no more than the name."""
    return next((unit for one in _traits().values() for unit in one.units if unit.over == over), Unit(over=over))


def joined_words(units: set[str]) -> list[str]:
    """Returns from what it is known how much runs differ, in words, for those of these units whose runs belong together."""
    every = dict.fromkeys(unit for one in _traits().values() for unit in one.units)
    return [unit.together for unit in every if unit.together and unit.over in units]


def pair_degrees(units: int) -> float:
    """Degrees of freedom of an error from so many pairs."""
    return max(units - 1, 1)


def side_degrees(units: int) -> float:
    """Degrees of freedom of an error from so many units on each of two sides."""
    return max(2 * (units - 1), 1)
