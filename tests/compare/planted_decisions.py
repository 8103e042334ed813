"""Whole reports whose truth is known, from planted samples to the decision: how often the one line is wrong."""

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
import numpy as np

from slotmark.compare.compare import judged
from slotmark.compare.deciding.decision import decide
from slotmark.compare.deciding.policy import Policy
from slotmark.compare.estimators import Entry, Measured
from slotmark.compare.result import Comparison, Side
from slotmark.compare.results.decision import Answer, Decision
from slotmark.compare.results.rows import Basis, Quantity
from slotmark.metrics import Metric
from slotmark.run import Target
from slotmark.statistics.between_runs import pooled
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import by_unit, mean_difference
from slotmark.statistics.ratio import paired_ratio
from slotmark.verdict import Conditional
from tests.compare.planted import ALIKE, rates
from tests.compare.planted_blocks import NOISES, estimated, recorded
from tests.compare.planted_courses import COURSES
from tests.made_up_runs import bare_manifest

MARGIN = 0.02
ROUNDS = 20
CONFIDENCE = 0.95

Bench = Literal["rounds", "blocks of a run", "runs", "processes"]

TESTS: dict[Bench, tuple[int, int]] = {
    "rounds": (4, 20),
    "blocks of a run": (4, 40),
    "runs": (4, 40),
    "processes": (1, 5),
}
"""The numbers of decisive metrics and of all, about as in the default policies."""


class Plant(msgspec.Struct, frozen=True):
    """A planted truth.

    Attributes:
        bench: What is repeated.
        noise: The standard error of one difference, about, in margins; of processes and rounds the noise is that of ``planted``.
        effect: By how much the first decisive metric is worse, in margins.
        all_decide: Whether every metric is decisive.
    """

    bench: Bench
    noise: float = 1.0
    effect: float = 0.0
    all_decide: bool = False


def answers(plant: Plant, count: int, seed: int, *, repetitions: int = 2_000) -> Iterator[Answer]:
    """The answers of so many reports; the same seed gives the same."""
    decisive, total = TESTS[plant.bench]
    for index in range(count):
        draws = np.random.default_rng([seed, index])
        entries: list[Entry] = []
        for place in range(total):
            rank = "decisive" if plant.all_decide or place < decisive else "informative"
            metric = Metric(
                id=f"metric_{place}",
                name=f"Metric {place}",
                unit="s",
                better="lower",
                rank=rank,
                grain=("block",),
                margin=MARGIN,
                estimator="rounds",
                definition="Planted.",
            )
            truth = 1 + MARGIN * plant.effect if place == 0 else 1.0
            entries += [
                Entry(metric=metric, quantity=quantity, summaries=[None, None], measured=[one])
                for quantity, one in MEASURES[plant.bench](draws, truth, plant.noise, [seed, index, place], repetitions)
            ]
        yield decided(entries).answer


def decided(entries: list[Entry]) -> Decision:
    """The decision that rows of two planted sides lead to. One run per side: what is measured are the intervals, so conditional verdicts count."""
    rows, tests = judged(entries, CONFIDENCE, of_these_runs=True)
    found = Comparison(
        bench="planted",
        baseline=side("base"),
        candidates=[side("new")],
        rows=rows,
        tests=tests,
        confidence=CONFIDENCE,
        repetitions=0,
        seed=1,
        warnings=[],
    )
    decision = decide(found, [entry.metric for entry in entries], Policy(conditional=Conditional.COUNT, warnings=()))
    assert decision is not None
    return decision


def shares(plant: Plant, count: int, seed: int = 2026, *, repetitions: int = 2_000) -> dict[Answer, float]:
    """Counts of each answer."""
    found = list(answers(plant, count, seed, repetitions=repetitions))
    return {answer: found.count(answer) / count for answer in ("ship", "hold", "run again")}


def side(name: str) -> Side:
    """A side without warnings."""
    manifest = bare_manifest(
        name,
        "planted",
        Target(name, "1.0"),
        session="one",
    )
    return Side(name, manifest)


Measures = Callable[[np.random.Generator, float, float, list[int], int], list[tuple[Quantity, Measured]]]


def _rounds(
    draws: np.random.Generator, truth: float, noise: float, seed: list[int], repetitions: int
) -> list[tuple[Quantity, Measured]]:
    """Twenty rounds of two clients; a noise of 1 is one invocation in 20 disturbed, less is none."""
    kind = ALIKE["disturbed, 1 in 20" if noise >= 1 else "steady, 2 %"]
    ours, theirs = rates(draws, (kind, kind), (ROUNDS,), 1 / truth)
    found = paired_ratio(1 / ours, 1 / theirs, confidence=CONFIDENCE, repetitions=repetitions, seed=seed)
    basis = Basis("rounds", (ROUNDS, ROUNDS), (found.effective or ROUNDS, found.effective or ROUNDS))
    return [
        ("typical", Measured(ratio=found.interval, bounds=found.bounds, p=found.p, paired=True, basis=basis)),
    ]


def _means(
    draws: np.random.Generator, truth: float, noise: float, _seed: list[int], _repetitions: int
) -> list[tuple[Quantity, Measured]]:
    """One run per side of 120 blocks, each of which takes half of its deviation from the one before."""
    blocks = 120
    courses = COURSES["AR(1) 0.5"](draws, 2, blocks)
    scale = noise * MARGIN * np.sqrt(blocks / 2) / 2  # the course's mean has an error of 2 / sqrt(blocks)
    levels = 1 + scale * courses[0], truth + scale * courses[1]
    return [("mean", difference_of_runs([levels[0]], [levels[1]], 1, blocks))]


def _runs(
    draws: np.random.Generator, truth: float, noise: float, _seed: list[int], _repetitions: int
) -> list[tuple[Quantity, Measured]]:
    """Three runs per side, which differ by chance."""
    scale = noise * MARGIN / np.sqrt(2 / 3)
    ours, theirs = (level + scale * draws.standard_normal((3, 1)) + np.zeros((3, 20)) for level in (1.0, truth))
    return [("mean", difference_of_runs(list(ours), list(theirs), 3, 3))]


def difference_of_runs(ours: list[np.ndarray], theirs: list[np.ndarray], runs: int, size: int) -> Measured:
    """The difference of means of runs, one array per run; ``size`` is how many units or runs there are per side."""
    sides = [[by_unit(one, np.arange(one.size)) for one in side] for side in (ours, theirs)]
    spread = pooled([[one.on("log") for one in side] for side in sides])
    found = mean_difference(sides[0], sides[1], confidence=CONFIDENCE, spread=spread, scale="log")
    assert found is not None
    base = found.mean_of(sides[0])
    ratio, bounds = (
        Interval(*(1 + value / base for value in (one.estimate, one.low, one.high)))
        for one in (found.delta, found.bounds)
    )
    basis = Basis("runs" if runs > 1 else "blocks", (size, size), (size, size), found.degrees)
    return Measured(ratio=ratio, bounds=bounds, p=found.p, paired=False, conditional=runs == 1, basis=basis)


def _processes(
    draws: np.random.Generator, truth: float, noise: float, _seed: list[int], _repetitions: int
) -> list[tuple[Quantity, Measured]]:
    """Five processes per side over 122 blocks; a noise of 1 is 1 % of processes and of blocks, less is of blocks alone."""
    typical, sums = estimated(*recorded(draws, NOISES["both" if noise >= 1 else "blocks"], truth=truth))
    basis = Basis("processes", (5, 5), (5, 5))
    of_typical, of_sums = (
        Measured(ratio=one.ratio, bounds=one.bounds, p=one.p, paired=True, basis=basis) for one in (typical, sums)
    )
    return [("typical block", of_typical), ("all blocks together", of_sums)]


MEASURES: dict[Bench, Measures] = {
    "rounds": _rounds,
    "blocks of a run": _means,
    "runs": _runs,
    "processes": _processes,
}
