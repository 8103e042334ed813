"""Plans whose truth is known: units of a design that vary by a planted spread, what a plan asks for by them, and how often that many keep its promise."""

import msgspec
import numpy as np

from slotmark.compare.estimators.means import chance_of_pairs
from slotmark.compare.estimators.reach import Chance, variation
from slotmark.compare.mixed import chance_of_rounds
from slotmark.compare.results.rows import Design
from slotmark.compare.run_to_run.prior import Prior
from slotmark.compare.run_to_run.spread_table import SpreadTable
from slotmark.compare.spread import entry_of
from slotmark.metrics import catalogue
from slotmark.statistics.between_runs import combined, pooled
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import Units, difference_of_runs, over_levels
from slotmark.statistics.rank_tests import error_share
from slotmark.statistics.student import Student
from slotmark.statistics.swapped import Levels, swapped

(METRIC,) = [one for one in catalogue("cluster").metrics if one.id == "adopted_by_096"]
CONFIDENCE = 0.95
ALPHA = (1 - CONFIDENCE) * error_share(48, 4, decides=True)
BLOCKS = 40
WITHIN = 0.001
"""Standard deviation of a run's mean by what varies within it."""

DAY = 0.05
"""The standard deviation of what a round adds to all that ran in it."""

OWN = 0.2
"""The standard deviation of what a host adds of its own."""

MOST = 200
"""A plan that asks for more units isn't tried."""


class Plant(msgspec.Struct, frozen=True, kw_only=True):
    """The truth that is planted.

    Attributes:
        design: How units are repeated.
        before: How many units a plan is made from; of runs, on each of two sides.
        spread: Standard deviation of the mean of a run, or of a host's level in a mixed round, as a share.
        hosts: Of mixed rounds.
        table: Of how many runs a table is that the comparison has beside its own; 0 for none.
    """

    design: Design
    before: int
    spread: float
    hosts: int = 5
    table: int = 0


class Kept(msgspec.Struct, frozen=True):
    """Shares of plans that kept their promise, and the units that they asked for.

    Attributes:
        shown: An unchanged metric was shown to be not worse beyond the margin by as many units as that takes.
        units: How many those are, on average.
        found: The wanted difference was found by as many as that takes.
        units_found: How many those are, on average.
        beyond: How often a plan asked for more than :data:`MOST`, and wasn't tried.
    """

    shown: float
    units: float
    found: float
    units_found: float
    beyond: float


def kept(plant: Plant, change: float, count: int, *, share: float = 1.0, seed: int = 2026) -> Kept:
    """Returns how often plans from so many draws keep their promise; the same seed gives the same.

    Args:
        plant: The truth.
        change: A difference that is to be found.
        count: Of draws.
        share: Of the units that a plan asks for, so many are tried.
        seed: Of all draws.
    """
    shown, found, asked, asked_to_find, beyond = [], [], [], [], 0
    for index in range(count):
        draws = np.random.default_rng([seed, index])
        prior = _prior(draws, plant)
        chance = _planned(draws, plant, prior)
        to_ship, to_find = chance.to_ship(), chance.to_find(change, ALPHA)
        if to_ship is None or to_find is None or max(to_ship, to_find) > MOST:
            beyond += 1
            continue
        to_ship, to_find = (max(2, round(share * units)) if share < 1 else units for units in (to_ship, to_find))
        asked.append(to_ship)
        asked_to_find.append(to_find)
        shown.append(_compared(draws, plant, prior, to_ship, 0.0).bounds.high <= METRIC.margin)
        found.append(_compared(draws, plant, prior, to_find, change).p < ALPHA)
    means = [float(np.mean(one)) for one in (shown, asked, found, asked_to_find)]
    return Kept(means[0], means[1], means[2], means[3], beyond / count)


def _runs(
    draws: np.random.Generator, count: int, spread: float, by: float = 0.0, days: np.ndarray | None = None
) -> list[Units]:
    """Runs of a build that is larger by a share."""
    levels = np.exp(spread * draws.standard_normal(count) + np.log1p(by) + (0.0 if days is None else days))
    return [
        Units(one * (1 + WITHIN * np.sqrt(BLOCKS) * draws.standard_normal(BLOCKS)), np.ones(BLOCKS)) for one in levels
    ]


def _pairs(draws: np.random.Generator, plant: Plant, count: int, by: float = 0.0) -> list[list[Units]]:
    days = DAY * draws.standard_normal(count)
    return [_runs(draws, count, plant.spread, share, days) for share in (0.0, by)]


def _rounds(
    draws: np.random.Generator, plant: Plant, count: int, by: float = 0.0
) -> tuple[list[Levels], list[np.ndarray]]:
    own = 1 + OWN * draws.standard_normal(plant.hosts)
    first = np.arange(plant.hosts) % 2 == 0
    places, rounds, treated = np.arange(plant.hosts), [], []
    for number in range(count):
        x = first == (number % 2 == 0)
        values = own + DAY * draws.standard_normal() + by * x + plant.spread * draws.standard_normal(plant.hosts)
        rounds.append(Levels(places, values, np.full(plant.hosts, float(BLOCKS))))
        treated.append(x)
    return rounds, treated


def _prior(draws: np.random.Generator, plant: Plant) -> Prior | None:
    if not plant.table:
        return None
    told = pooled([[run.on("log") for run in _runs(draws, plant.table, plant.spread)]])
    if told is None:
        raise AssertionError("a table needs two runs")
    return Prior(table=SpreadTable(name="planted", bench="cluster", known_from="", metric=[entry_of(METRIC, "", told)]))


def _planned(draws: np.random.Generator, plant: Plant, prior: Prior | None) -> Chance:
    """Returns the variation by which a plan counts."""
    if plant.design == "mixed rounds":
        result = swapped(*_rounds(draws, plant, plant.before), CONFIDENCE)
        chance = result and chance_of_rounds(METRIC, result, plant.before, plant.hosts)
    elif plant.design == "runs":
        sides = [_runs(draws, plant.before, plant.spread) for _ in range(2)]
        varies = variation(METRIC, "", "blocks", sides, prior)
        chance = varies and varies.chance
    else:
        sides = _pairs(draws, plant, plant.before)
        varies = variation(METRIC, "", "blocks", sides)
        levels = np.array([[run.mean for run in side] for side in sides])
        chance = varies and chance_of_pairs(varies, plant.design, levels)
    if chance is None:
        raise AssertionError("nothing was planned")
    return chance


def _scaled(found: Interval, by: float) -> Interval:
    return Interval(found.estimate * by, found.low * by, found.high * by)


def _compared(draws: np.random.Generator, plant: Plant, prior: Prior | None, units: int, by: float) -> Student:
    """A comparison of so many units, as a share of the baseline."""
    if plant.design == "mixed rounds":
        result = swapped(*_rounds(draws, plant, units, by), CONFIDENCE)
        if result is None:
            raise AssertionError("nothing was swapped")
        scale = 1 / result.base
        found = result.found
        return Student(_scaled(found.interval, scale), _scaled(found.bounds, scale), found.p)
    if plant.design == "runs":
        sides = [[run.on("log") for run in _runs(draws, units, plant.spread, share)] for share in (0.0, by)]
        told = prior and prior.of(METRIC, "", level=1.0, own=True)
        spread = combined(pooled(sides), told and told[0])
        found = difference_of_runs(sides[0], sides[1], spread, confidence=CONFIDENCE, scale="log")
        base = found.base or 1.0
    else:
        ours, theirs = _pairs(draws, plant, units, by)
        levels = [np.array([run.on("log").level for run in side]) for side in (ours, theirs)]
        found = over_levels(*levels, confidence=CONFIDENCE, scale="log")
        base = found.mean_of(ours)
    return Student(_scaled(found.delta, 1 / base), _scaled(found.bounds, 1 / base), found.p)
