"""Records of a simulation in its run's manifest: the step of a sweep, the model's error, and changes by measured costs of two builds."""

from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec

from slotmark.errors import RunError
from slotmark.metrics.catalogue import catalogue
from slotmark.metrics.entries import Predicted
from slotmark.run import Manifest
from slotmark.statistics.distributions import t_ppf

CONFIDENCE = 0.95
"""Confidence of the factors' intervals, at whose ends the simulation was run too."""

_NotNegative = Annotated[float, msgspec.Meta(ge=0)]
_Positive = Annotated[float, msgspec.Meta(gt=0)]


class Factor(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that takes a measured number of times as long.

    Attributes:
        stage: Its name in the profile.
        cost: The metric whose ratio it is, by name.
        blocks: Over how many blocks.
        which: Which blocks those are, in words.
        factor: The candidate's cost of all these blocks over the baseline's.
        low: The low end of its interval.
        high: The high end.
        error: The standard error of its logarithm.
        degrees: Degrees of freedom of that.
    """

    stage: str
    cost: str
    blocks: int
    which: str
    factor: _Positive
    low: _Positive
    high: _Positive
    error: _NotNegative
    degrees: _Positive


class Kept(msgspec.Struct, frozen=True):
    """A stage that stays as the profile has it, and why, in words."""

    stage: str
    reason: str


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a simulation by the costs of two builds.

    Attributes:
        baseline: The build that the profile as it is stands for.
        candidate: The other build.
        runs: The ids of the runs that have the costs.
        factors: Of the stages that were changed.
        kept: Stages that were not.
        degrees: The fewest degrees of freedom of the factors' errors.
        errors: By metric name: the standard error that the factors' errors give its difference, in the metric's unit.
    """

    baseline: str
    candidate: str
    runs: list[str]
    factors: list[Factor]
    kept: list[Kept]
    degrees: _Positive
    errors: dict[str, _NotNegative] = {}

    def reach(self, confidence: float) -> float:
        """Returns how many standard errors the ends of an interval are away from the measured value."""
        return float(t_ppf((1 + confidence) / 2, self.degrees))


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a sweep.

    Attributes:
        parameter: The full name of what is swept.
        unit: Of the value; empty for plain numbers.
        value: The parameter's, here.
        geometric: Whether consecutive values have one ratio; else one difference.
        own: The value that the profile itself has, as it is written there.
    """

    parameter: str
    unit: str
    value: float
    geometric: bool
    own: str = ""


class ModelError(msgspec.Struct, frozen=True, kw_only=True):
    """The distance of a model from published figures.

    Attributes:
        profile: What both are of.
        rows: Predicted against published less 1, by metric.
        equal: For each metric that wasn't published, the published one with the same predicted values.
    """

    profile: str = msgspec.field(name="of")
    rows: dict[str, float]
    equal: dict[str, str] = msgspec.field(name="equal_to", default_factory=dict)


class Records(msgspec.Struct, frozen=True, kw_only=True):
    """The records of a run of simulations.

    Attributes:
        seeds: The seeds, in words; empty where that isn't recorded.
        analysed: How much was analysed; None where that isn't recorded.
        step: The step of a sweep that it is; None for none.
        replayed: The measured costs behind it; None for none.
        error: The model's error; None where it isn't known.
        moved: Settings that were changed beside those that were asked for.
    """

    seeds: str = ""
    analysed: int | None = None
    step: Step | None = None
    replayed: Replayed | None = None
    error: ModelError | None = None
    moved: list[str] = []


_T = TypeVar("_T")


def names_of(bench: str) -> Predicted:
    """The names under which runs of a bench record them. RunError where its runs are measured."""
    names = catalogue(bench).predicted
    if names is None:
        raise RunError(f"{bench}: its catalogue doesn't name what predictions record. Add the table [predicted].")
    return names


def records_of(manifest: Manifest) -> Records:
    """The records of a run of simulations.

    Raises:
        RunError: One isn't as the command that makes such runs writes it: a figure would rest on something else, or an interval leave an error out.
    """
    names, found = names_of(manifest.bench), manifest.parameters
    return Records(
        seeds=manifest.workload.get(names.seeds, ""),
        analysed=_record(manifest, found, names.analysed, int),
        step=_record(manifest, found, names.sweep, Step),
        replayed=_record(manifest, found, names.replayed, Replayed),
        error=_record(manifest, found, names.error, ModelError),
        moved=_record(manifest, found, names.moved, list[str]) or [],
    )


def _record(manifest: Manifest, found: Mapping[str, object], name: str, kind: type[_T]) -> _T | None:
    try:
        return msgspec.convert(found[name], kind) if name in found else None
    except msgspec.ValidationError as error:
        raise RunError(
            f"{manifest.id}: the parameter '{name}' of run.json isn't as slotmark writes it ({error}). Make the run again."
        ) from error
