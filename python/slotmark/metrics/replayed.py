"""Changes of a simulation by measured costs of two builds, from a run's manifest: which stages, by how much, with which error."""

from typing import Annotated, Any

import msgspec

from slotmark.errors import RunError
from slotmark.run import Manifest
from slotmark.statistics.distributions import t_ppf

CONFIDENCE = 0.95
"""Confidence of the factors' intervals, at whose ends the simulation was run too."""

PARAMETER = "replayed"
"""The parameter of a run's manifest that holds a :class:`Replayed`."""

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


def replayed_of(manifest: Manifest) -> Replayed | None:
    """Returns the changes in a run's manifest; None where no stage was changed by measured costs.

    Raises:
        RunError: It isn't as a forecast writes it, so that no interval could hold its error.
    """
    found: Any = manifest.parameters.get(PARAMETER)
    try:
        return None if found is None else msgspec.convert(found, Replayed)
    except msgspec.ValidationError as error:
        raise RunError(
            f"{manifest.id}: the parameter '{PARAMETER}' of run.json isn't as `slotmark forecast` writes it ({error}). Make the run again."
        ) from error
