"""Run folders whose truth is known, with a planted spread between runs: how often the line of a whole comparison is wrong, and whether intervals cover."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.compare import Comparison, Decision, Policy, Row, Side
from slotmark.compare.compare import compare, judged
from slotmark.compare.deciding.decision import decide
from slotmark.compare.estimators.means import Levels, RunRow, compared
from slotmark.compare.run_to_run.prior import Prior
from slotmark.compare.run_to_run.spread_table import SpreadTable, write_spread_table
from slotmark.compare.spread import entry_of, spread
from slotmark.metrics import catalogue, register
from slotmark.run import Manifest, Run, RunWriter, Target
from slotmark.statistics.between_runs import RunMean, pooled
from slotmark.statistics.mean_difference import by_unit
from tests.made_up_runs import bare_manifest

BENCH = "planted-runs"
FOLDER = Path(__file__).parent / "planted_bench"
MARGIN = 0.02
CONFIDENCE = 0.95
BLOCKS = 40
WITHIN = 0.003
"""Standard deviation of a run's mean by what varies within it."""

ALIKE = 0.7
"""The correlation of two metrics of one run: that of the archive's slot start to announced, 0.50 and 0.96 adoption is 0.4 to 0.9."""

EARLIER = 11
"""Runs of one build from which a table is made: ten degrees of freedom, as ten pairs have."""


def _normal(draws: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return draws.standard_normal(size)


def _modes(draws: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return draws.choice([-1.0, 1.0], size)


def _outliers(draws: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """One run in ten lies far out in all of its metrics; variance 1."""
    far = (draws.random((size[0], 1)) < 0.1) * draws.choice([-1.0, 1.0], (size[0], 1)) * 4
    return (draws.standard_normal(size) + far) / np.sqrt(1 + 0.1 * 16)


SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": _normal,
    "two modes": _modes,
    "one in ten far out": _outliers,
}


class Plant(msgspec.Struct, frozen=True, kw_only=True):
    """A planted truth.

    Attributes:
        sides: Runs of the baseline and of the candidate.
        spread: Standard deviation of a run's mean from run to run, as a share.
        shape: Of its distribution.
        worse: By how much every decisive metric is worse, as a share.
        prior: How large the runs of the given table varied, in the true spread; None where none is given.
    """

    sides: tuple[int, int]
    spread: float = 0.01
    shape: str = "normal"
    worse: float = 0.0
    prior: float | None = None


class Rates(msgspec.Struct, frozen=True):
    """Counts of what happened.

    Attributes:
        ship: The line was SHIP.
        hold: HOLD.
        again: RUN AGAIN.
        covered: An interval held the truth, over all metrics.
        least: The same of the metric that did least often.
        count: Comparisons.
    """

    ship: float
    hold: float
    again: float
    covered: float
    least: float
    count: int


def levels(draws: np.random.Generator, plant: Plant, runs: int, share: float) -> np.ndarray:
    """The logarithms of the true means of runs, a row per run: metrics of one run move together."""
    metrics = len(catalogue(BENCH).metrics)
    shape = SHAPES[plant.shape]
    if plant.shape == "two modes":
        # A run is in one mode in all of its metrics.
        together = np.repeat(shape(draws, (runs, 1)), metrics, axis=1)
    else:
        common = np.repeat(shape(draws, (runs, 1)), metrics, axis=1)
        together = np.sqrt(ALIKE) * common + np.sqrt(1 - ALIKE) * shape(draws, (runs, metrics))
    return plant.spread * share * together


Values = list[np.ndarray]
"""The samples of some runs: of each the blocks of all metrics, shape (metrics, blocks)."""


class Drawn(msgspec.Struct, frozen=True):
    """The samples of a comparison: of its two sides, and of earlier runs of one build where a prior is asked for."""

    sides: tuple[Values, Values]
    earlier: Values


def drawn(plant: Plant, seed: Sequence[int]) -> Drawn:
    """The samples of a comparison; the same seed gives the same."""
    register(BENCH, FOLDER)
    draws = np.random.default_rng(seed)
    shift = np.array([np.log1p(plant.worse) if one.rank == "decisive" else 0.0 for one in catalogue(BENCH).metrics])
    earlier = [] if plant.prior is None else values_of(draws, levels(draws, plant, EARLIER, plant.prior))
    ours, theirs = (
        values_of(draws, levels(draws, plant, runs, 1.0) + by)
        for runs, by in zip(plant.sides, (0.0, shift), strict=True)
    )
    return Drawn((ours, theirs), earlier)


def values_of(draws: np.random.Generator, truths: np.ndarray) -> Values:
    """The samples of runs, of which each row has the logarithms of the true means."""
    return [
        np.exp(truth)[:, np.newaxis] * (1 + WITHIN * np.sqrt(BLOCKS) * draws.standard_normal((truth.size, BLOCKS)))
        for truth in truths
    ]


def write_runs(folder: Path, build: str, runs: Values) -> list[Run]:
    """Run folders of one build."""
    made = []
    for number, values in enumerate(runs):
        columns = {
            metric.id: pa.array(one, from_pandas=True)  # without a value where it is no number
            for metric, one in zip(catalogue(BENCH).metrics, values, strict=True)
        }
        name = f"{build}-{number}"
        with RunWriter(folder / name) as writer:
            writer.table("blocks", pa.table({"block_no": np.arange(BLOCKS), **columns}))
            made.append(writer.finish(manifest_of(build, name)))
    return made


def manifest_of(build: str, name: str) -> Manifest:
    """The manifest of a run that was recorded elsewhere."""
    return bare_manifest(
        name,
        BENCH,
        Target(build, "1.0"),
        workload={"workload": "planted"},
        session=name,
        origin="imported",
    )


def through_folders(plant: Plant, folder: Path, seed: Sequence[int]) -> Comparison:
    """A comparison of run folders that hold what is planted, with a table that `slotmark spread` makes of earlier runs where a prior is asked for."""
    found = drawn(plant, seed)
    table = None
    if found.earlier:
        table = folder / "spread.toml"
        write_spread_table(spread([write_runs(folder, "earlier", found.earlier)], "planted").table, table)
    sides = [write_runs(folder, build, runs) for build, runs in zip(("base", "new"), found.sides, strict=True)]
    return compare(sides, run_to_run=table)


def straight(plant: Plant, seed: Sequence[int]) -> tuple[list[Row], Decision]:
    """The same without folders: a hundred times as fast. tests/compare/test_run_rates.py holds it against :func:`through_folders`."""
    return decided(*means_of(plant, seed))


def means_of(plant: Plant, seed: Sequence[int]) -> tuple[list[RunRow], Prior]:
    """The means of all runs, and what is known before."""
    found = drawn(plant, seed)
    rows = []
    entries = []
    for place, metric in enumerate(catalogue(BENCH).metrics):
        sides = [[_mean(run[place]) for run in runs] for runs in found.sides]
        rows.append(RunRow(metric, "", [None, None], "log", [Levels(side, 0.0) for side in sides], [None]))
        if found.earlier and (spread := pooled([[_mean(run[place]) for run in found.earlier]])):
            entries.append(entry_of(metric, "", spread))
    table = SpreadTable(name="planted", bench=BENCH, known_from="", metric=entries) if entries else None
    return rows, Prior(table=table)


def made_worse(rows: Sequence[RunRow], by: float, *, decisive: bool = True) -> list[RunRow]:
    """The same runs with a candidate that is worse by a share in every decisive metric, or in every other."""
    made = []
    for row in rows:
        ours, theirs = row.sides
        if (row.metric.rank == "decisive") == decisive and theirs:
            runs = [msgspec.structs.replace(run, level=run.level + float(np.log1p(by))) for run in theirs.runs]
            row = msgspec.structs.replace(row, sides=[ours, Levels(runs, theirs.smallest)])  # noqa: PLW2901
        made.append(row)
    return made


def decided(rows: Sequence[RunRow], prior: Prior) -> tuple[list[Row], Decision]:
    judged_rows, tests = judged(compared(rows, prior, CONFIDENCE), CONFIDENCE)
    decision = decide(
        Comparison(
            bench=BENCH,
            baseline=Side("base", manifest_of("base", "base")),
            candidates=[Side("new", manifest_of("new", "new"))],
            rows=judged_rows,
            tests=tests,
            confidence=CONFIDENCE,
            repetitions=0,
            seed=1,
            warnings=[],
        ),
        catalogue(BENCH).metrics,
        Policy(),
    )
    if decision is None:
        raise AssertionError("nothing was decided")
    return judged_rows, decision


def _mean(values: np.ndarray) -> RunMean:
    return by_unit(values, np.arange(values.size), ordered=False).on("log")


def rates(plant: Plant, worse: Sequence[float], count: int, seed: int = 2026) -> list[Rates]:
    """Rates at which each line comes up and intervals hold the truth, for candidates that are worse by these shares; the same seed gives the same."""
    answers: list[Counter[str]] = [Counter() for _ in worse]
    held: list[list[list[bool]]] = [[] for _ in worse]
    for index in range(count):
        means, prior = means_of(plant, [seed, index])
        for place, by in enumerate(worse):
            rows, decision = decided(made_worse(means, by), prior)
            answers[place][decision.answer] += 1
            held[place].append([_holds(row, by) for row in rows])
    found = []
    for of_answers, of_rows in zip(answers, held, strict=True):
        covered = np.array(of_rows).mean(axis=0)
        ship, hold, again = (of_answers[answer] / count for answer in ("ship", "hold", "run again"))
        found.append(Rates(ship, hold, again, float(covered.mean()), float(covered.min()), count))
    return found


def _holds(row: Row, worse: float) -> bool:
    difference = row.differences[0]
    ratio = difference.ratio if difference else None
    truth = 1 + worse if row.metric.rank == "decisive" else 1.0
    return ratio is not None and ratio.low <= truth <= ratio.high
