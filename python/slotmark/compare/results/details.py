"""Details of comparisons: what only some have beyond their rows, as plain data. The type of a detail selects the report's sections and charts."""

import msgspec

from slotmark.compare.results.attribution import Attribution
from slotmark.metrics import Metric
from slotmark.metrics.predicted import ModelError, Replayed
from slotmark.statistics.block_pictures import Band, Density, Dot
from slotmark.statistics.factors import FactorEffect
from slotmark.statistics.friedman import Pair
from slotmark.statistics.shift import Shift


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """Three targets or more over the same blocks, by rank.

    Attributes:
        chi_squared: Friedman's.
        p: Its p-value.
        mean_ranks: One per side; the cheapest has the smallest.
        pairs: Every pair of sides.
    """

    chi_squared: float
    p: float
    mean_ranks: list[float]
    pairs: list[Pair]


class Blocks(msgspec.Struct, frozen=True, kw_only=True, tag="blocks"):
    """Parts of comparisons of repeated costs of the same blocks beyond their rows; figures are of the first metric of such costs.

    Attributes:
        processes: One per side.
        blocks: Number of blocks.
        shifts: One list per candidate: the deciles.
        densities: One per side: the distribution.
        dots: One list per candidate: blocks with their ratio, at most 1,500.
        bands: One list per candidate: its typical ratio by cost.
        ranking: None with two sides.
        factors: Empty where the sides don't cross two factors, or have none.
    """

    processes: list[int]
    blocks: int
    shifts: list[list[Shift]]
    densities: list[Density]
    dots: list[list[Dot]]
    bands: list[list[Band]]
    ranking: Ranking | None
    factors: list[FactorEffect]


class Swept(msgspec.Struct, frozen=True, kw_only=True, tag="swept"):
    """Parts of comparisons of runs that differ in one swept parameter beyond their rows.

    Attributes:
        parameter: Its full name.
        unit: Unit of the values; empty for plain numbers.
        values: One per side, rising.
        geometric: Whether consecutive values have one ratio; else one difference.
        own: The value that the profile itself has, as it is written there.
    """

    parameter: str
    unit: str
    values: list[float]
    geometric: bool
    own: str


class Simulated(msgspec.Struct, frozen=True, kw_only=True, tag="simulated"):
    """The basis of a comparison of simulations.

    Attributes:
        seeds: The seeds, in words; empty where that isn't recorded.
        analysed: One per side: how much was analysed, named as what is counted; None where that isn't recorded.
        counted: What is counted.
        moved: One per side: settings that were changed beside those that were asked for.
        moved_note: The sentence about those; empty for none.
        error: The model's error; None where it isn't known.
    """

    seeds: str
    analysed: list[int | None]
    counted: str
    moved: list[list[str]]
    moved_note: str
    error: ModelError | None


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """The differences that comparisons of runs like these could find in one metric and part. Shares are of its mean.

    Attributes:
        metric: The catalogue's entry.
        part: As of a row.
        mean: Over the runs.
        over: What varies within a run: ``blocks``, ``slots`` or ``hosts``.
        units: How many of them a run has, on average.
        within: Standard deviation of a run's mean by what varies within runs; None where a run is too short or drifts too slowly to show it.
        between: Standard deviation of a run's mean by all that varies, from run to run too; None where it is unknown.
        source: From what ``between`` is known, as of a :class:`Basis`; empty where it isn't.
        smallest: The smallest difference that would be found four times in five, one per number of runs in :class:`Planned`; None where
            nothing says so.
        margin: The equivalence margin in force, as a share.
        to_ship: Runs per side for an unchanged metric to be shown not worse beyond its margin, four times in five; None where that is
            beyond reach or not known.
    """

    metric: Metric
    part: str
    mean: float
    over: str
    units: float
    within: float | None
    between: float | None
    source: str
    smallest: list[float | None]
    margin: float
    to_ship: int | None


class Planned(msgspec.Struct, frozen=True, kw_only=True, tag="planned"):
    """The differences that comparisons of runs like these could find, by how many runs there are per side.

    Attributes:
        runs: Numbers of runs per side.
        tests: Over how many tests a p-value is adjusted: a difference counts as found where it is below 5 % after that.
        repeated: How many runs there are on sides with several, from which the variation between runs follows; 0 where it isn't known.
        reaches: One per metric and part.
    """

    runs: list[int]
    tests: int
    repeated: int
    reaches: list[Reach]


class ErrorParts(msgspec.Struct, frozen=True):
    """The parts of the error of a difference; standard errors in the metric's unit.

    Attributes:
        metric: Its id.
        seeds: Of the mean over seeds.
        replays: Of the measured costs that stages follow from.
        whole: Of both, in quadrature.
        degrees: Degrees of freedom of that (Satterthwaite).
    """

    metric: str
    seeds: float
    replays: float
    whole: float
    degrees: float

    @property
    def share_of_replays(self) -> float:
        """The replays' share of the variance, as a fraction."""
        return (self.replays / self.whole) ** 2 if self.whole > 0 else 0.0


class Forecast(msgspec.Struct, frozen=True, kw_only=True, tag="forecast"):
    """Parts of comparisons of simulations beyond their rows where a candidate's stages follow from measured costs.

    Attributes:
        side: The candidate's name.
        replayed: The factors.
        errors: One per metric.
    """

    side: str
    replayed: Replayed
    errors: list[ErrorParts]


class Looks(msgspec.Struct, frozen=True, kw_only=True, tag="looks"):
    """Parts of comparisons of rounds that were made until they decided: their intervals and p-values hold at all looks together.

    Attributes:
        first: Rounds at the first look.
        prior: Variance of the prior of the difference, in variances of a round's.
    """

    first: int
    prior: float


Detail = Blocks | Swept | Simulated | Planned | Forecast | Attribution | Looks
"""The details that only some comparisons have beyond the common rows. It selects the report's sections and charts."""
