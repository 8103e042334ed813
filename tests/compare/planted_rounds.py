"""Rounds whose truth is known, looked at one by one until they decide: how often that is wrong, and how many rounds it takes."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from slotmark.compare import Comparison, Decision, Policy, Row, Side, Verdict
from slotmark.compare.compare import judged
from slotmark.compare.deciding.decision import decide
from slotmark.compare.estimators.interface import Entry, How
from slotmark.compare.estimators.means import of_paired_levels
from slotmark.compare.estimators.reach import Chance
from slotmark.compare.looks import CONFIDENCE, look, undecided
from slotmark.compare.results.details import Looks
from slotmark.metrics import catalogue, register
from slotmark.run import Run
from slotmark.run.folder import as_of_round
from slotmark.statistics.anytime import FIRST_LOOK, PRIOR
from slotmark.statistics.between_runs import of_pairs
from tests.compare.planted_runs import BENCH, FOLDER, WITHIN, Plant, levels, manifest_of, write_runs

DAY = 0.05
"""The standard deviation of what a round does to both of its runs."""

MOST = 100
"""Rounds at most."""

SEQUENCE = How(CONFIDENCE, None, 1, 1, at_any_look=True)
"""Looks as `--until-decided` makes them."""

NAIVE = How(0.95, None, 1, 1)
"""Looks at the test of a single comparison, after every round: the control."""

PILOT = 4
"""Rounds from which a plan is made."""


class Ended(msgspec.Struct, frozen=True):
    """The end of one session.

    Attributes:
        rounds: How many there were.
        decided: Whether every decisive metric had a verdict.
        answer: Of the last look.
        differs: Whether a metric, decisive or not, was called better or worse at any look.
    """

    rounds: int
    decided: bool
    answer: str
    differs: bool


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of sessions.

    Attributes:
        differs: A metric was ever called better or worse.
        ship: Decided, SHIP.
        hold: Decided, HOLD.
        rounds: Median number of rounds; those without a decision count as :data:`MOST`.
    """

    differs: float
    ship: float
    hold: float
    rounds: float


def drawn(spread: float, seed: Sequence[int], rounds: int = MOST, shape: str = "normal") -> np.ndarray:
    """The logarithms of the means of runs that take turns, shape (sides, rounds, metrics): of equal builds."""
    register(BENCH, FOLDER)
    draws = np.random.default_rng(seed)
    plant = Plant(sides=(rounds, rounds), spread=spread, shape=shape)
    days = DAY * draws.standard_normal((rounds, 1))
    return np.stack(
        [
            days + one + WITHIN * draws.standard_normal(one.shape)
            for one in (levels(draws, plant, rounds, 1.0) for _ in range(2))
        ]
    )


def made_worse(found: np.ndarray, by: float) -> np.ndarray:
    """The same with a second side that is worse by a share in every decisive metric."""
    shift = np.array([np.log1p(by) if one.rank == "decisive" else 0.0 for one in catalogue(BENCH).metrics])
    return found + np.array([0.0, 1.0])[:, np.newaxis, np.newaxis] * shift


def looked(found: np.ndarray, how: How) -> tuple[list[Row], Decision]:
    """Rows and decision of a comparison of the rounds, without folders; tests/compare/test_looks.py holds it against :func:`through_folders`."""
    metrics = catalogue(BENCH).metrics
    entries = [
        Entry(
            metric=metric,
            quantity="mean",
            summaries=[None, None],
            measured=[of_paired_levels(metric, (ours, theirs), 1.0, "log", "paired rounds", how)],
        )
        for metric, ours, theirs in zip(metrics, found[0].T, found[1].T, strict=True)
    ]
    rows, tests = judged(entries, how.confidence)
    decision = decide(
        Comparison(
            bench=BENCH,
            baseline=Side("base", manifest_of("base", "base")),
            candidates=[Side("new", manifest_of("new", "new"))],
            rows=rows,
            tests=tests,
            confidence=how.confidence,
            repetitions=0,
            seed=how.seed,
            warnings=[],
            details=[Looks(first=FIRST_LOOK, prior=PRIOR)] if how.at_any_look else [],
        ),
        metrics,
        Policy(needs_all=False),
    )
    assert decision is not None
    return rows, decision


def until_decided(found: np.ndarray, how: How = SEQUENCE, most: int = MOST) -> Ended:
    """Looks at rounds after each, until every decisive metric has a verdict."""
    differs = False
    for count in range(FIRST_LOOK, most + 1):
        rows, decision = looked(found[:, :count], how)
        verdicts = [one.verdict for row in rows for one in row.differences if one]
        differs = differs or Verdict.WORSE in verdicts or Verdict.BETTER in verdicts
        if not undecided(decision):
            return Ended(count, True, decision.answer, differs)
    return Ended(most, False, "run again", differs)


def rates(
    spread: float,
    worse: float,
    count: int,
    *,
    how: How = SEQUENCE,
    shape: str = "normal",
    most: int = MOST,
    seed: int = 2026,
) -> Rates:
    """Rates over so many sessions; the same seed gives the same."""
    ended = [
        until_decided(made_worse(drawn(spread, [seed, index], most, shape), worse), how, most) for index in range(count)
    ]
    ship, hold = (sum(one.decided and one.answer == answer for one in ended) / count for answer in ("ship", "hold"))
    return Rates(
        differs=sum(one.differs for one in ended) / count,
        ship=ship,
        hold=hold,
        rounds=float(np.median([one.rounds for one in ended])),
    )


def planned(spread: float, count: int, seed: int = 2026) -> float:
    """The median number of rounds that `slotmark plan` asks for from four rounds, to show all decisive metrics within their margins; infinite beyond its reach."""
    asked = []
    for index in range(count):
        pilot = drawn(spread, [seed, index], PILOT)
        counts = [
            Chance(
                design="paired rounds", metric=metric, part="", mean=1.0, spread=of_pairs(pilot[:, :, place])
            ).to_ship()
            for place, metric in enumerate(catalogue(BENCH).metrics)
            if metric.rank == "decisive"
        ]
        asked.append(max(np.inf if one is None else one for one in counts))
    return float(np.median(asked))


def through_folders(found: np.ndarray, folder: Path) -> tuple[list[Row], Decision]:
    """The same as :func:`looked` by run folders: blocks that all have the run's mean."""
    sides = [
        [as_of_round(run, "monday", number) for number, run in enumerate(_written(folder, build, side), start=1)]
        for build, side in zip(("base", "new"), found, strict=True)
    ]
    comparison, decision = look(sides, policy=Policy(needs_all=False))
    return comparison.rows, decision


def _written(folder: Path, build: str, side: np.ndarray) -> list[Run]:
    blocks = np.linspace(0.9, 1.1, 40)
    return write_runs(folder, build, [np.exp(run)[:, np.newaxis] * blocks for run in side])
