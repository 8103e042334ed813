"""Prints how often rounds that are made until they decide end wrongly, and after how many, and what other plans of looks would take: the tables of docs/until-decided.md.

    PYTHONPATH=. .venv/bin/python benchmarks/statistics/looks.py [repetitions] [--shard N/OF -o FOLDER | --merge FOLDER]

The same seed prints the same tables.
"""

from collections.abc import Sequence

import numpy as np
from benchmarks.statistics.rows import Asked
from tests.compare.planted_rounds import MOST, NAIVE, planned, rates
from tests.compare.planted_runs import MARGIN, SHAPES

from slotmark.statistics.anytime import FIRST_LOOK, PRIOR
from slotmark.statistics.distributions import t_isf, t_sf

SPREADS = (0.0, 0.01, 0.02, 0.04)
ALPHA = 0.002
"""The level of a better or worse among four decisive metrics, for both signs: 1 % over all, four fifths of it for these."""

SHIP = 0.01
"""The level of not worse beyond the margin."""

LAST = 128
"""Rounds that plans of looks end with."""


def main() -> None:
    """Prints the tables."""
    asked = Asked(1_000)
    if not asked.shard:  # its rows take a minute and aren't shared
        print(
            "\nplan of looks | no difference: crossed (0.2 % allowed), within the margin wrongly (1 % allowed) | median rounds, by spread 0.5, 1, 2, 4 %:"
        )
        print(f"equal builds | twice the margin; - where more than {LAST}")
        for line in choice(20 * asked.repetitions):
            print(line, flush=True)
    print(
        f"\n{asked.repetitions:,} made-up sessions per row of equal builds, {MOST} rounds at most: spread of runs, shape | ever better or worse, SHIP, rounds |"
    )
    print(
        "control, a test at 5 % after each round: ever better or worse | worse by the margin: SHIP, HOLD | by two margins: SHIP, HOLD, rounds | fixed plan"
    )
    places = [(shape, spread) for shape in SHAPES for spread in SPREADS if shape == "normal" or spread == SPREADS[-1]]
    asked.print_rows(row, ((one, asked.repetitions) for one in places))


def row(place: tuple[str, float], count: int) -> str:
    """A line of the table of rates; sides that differ are tried with two fifths of the repetitions."""
    shape, spread = place
    fewer = max(2 * count // 5, 1)
    equal = rates(spread, 0.0, count, shape=shape)
    naive = rates(spread, 0.0, fewer, how=NAIVE, shape=shape)
    margin = rates(spread, MARGIN, fewer, shape=shape)
    two = rates(spread, 2 * MARGIN, fewer, shape=shape)
    return (
        f"{spread:4.0%} {shape:18} | {equal.differs:6.2%} {equal.ship:6.1%} {equal.rounds:5.1f} | {naive.differs:6.1%} | "
        f"{margin.ship:6.2%} {margin.hold:6.1%} | {two.ship:6.2%} {two.hold:6.1%} {two.rounds:5.1f} | {planned(spread, fewer):5.1f}"
    )


def choice(count: int, seed: int = 2026) -> list[str]:
    """Lines of the table of plans: one metric, differences of rounds drawn as normal."""
    draws = np.random.default_rng(seed).standard_normal((count, LAST))
    rounds = np.arange(1, LAST + 1)
    means = draws.cumsum(axis=1) / rounds
    squares = (draws**2).cumsum(axis=1) - rounds * means**2
    errors = np.sqrt(squares / np.maximum(rounds - 1, 1) / rounds)
    lines = []
    for name, looks, limits in plans(means, errors):
        (differ, ship), at = limits, np.array(looks) - 1
        crossed = (np.abs(means[:, at]) > differ * errors[:, at]).any(axis=1).mean()
        wrongly = (means[:, at] < -ship * errors[:, at]).any(axis=1).mean()
        medians = []
        for spread in (0.005, 0.01, 0.02, 0.04):
            of_pair = spread * np.sqrt(2)
            for effect in (0.0, np.log1p(2 * MARGIN)):
                seen, error = of_pair * means[:, at] + effect, of_pair * errors[:, at]
                limit = np.log1p(MARGIN)
                done = ((np.abs(seen) > differ * error) & (np.abs(seen) > limit)) | (seen + ship * error <= limit)
                first = np.where(done.any(axis=1), np.array(looks)[done.argmax(axis=1)], 10 * LAST)
                median = np.median(first)
                medians.append("  -" if median > LAST else f"{median:3.0f}")
        lines.append(
            f"{name:34} | {crossed:6.2%} {wrongly:6.2%} | {' '.join(medians[::2])} | {' '.join(medians[1::2])}"
        )
    return lines


Plan = tuple[str, Sequence[int], tuple[np.ndarray, np.ndarray]]
"""A name, the rounds at which to look, and there the limits of t: of a difference, and of not worse."""


def plans(means: np.ndarray, errors: np.ndarray) -> list[Plan]:
    """The plans: confidence sequences, and looks that share the error rate in fixed parts."""
    every = list(range(FIRST_LOOK, LAST + 1))
    made: list[Plan] = [
        (
            f"confidence sequence, prior {prior:g}{', chosen' if prior == PRIOR else ''}",
            every,
            (_sequence(every, ALPHA, prior), _sequence(every, 2 * SHIP, prior)),
        )
        for prior in (1.0, PRIOR, 4.0, 8.0)
    ]
    for ratio in (1.2, 1.4):
        looks = _looks(ratio)
        count = np.array(looks)
        shapes = {
            "Bonferroni": None,
            "Pocock": np.ones(count.size),
            "O'Brien-Fleming": _obrien(count),
        }
        for name, shape in shapes.items():
            limits = [
                _even(count, level) if shape is None else _calibrated(count, shape, level, means, errors, both=both)
                for level, both in ((ALPHA, True), (SHIP, False))
            ]
            made.append((f"{name}, {count.size} looks to {LAST}", looks, (limits[0], limits[1])))
    return made


def _sequence(looks: Sequence[int], alpha: float, prior: float) -> np.ndarray:
    count = np.array(looks, dtype=np.float64)
    widened = 1 + count * prior
    power = (np.sqrt(widened) / alpha) ** (2 / count)
    with np.errstate(all="ignore"):
        return np.where(power < widened, np.sqrt((count - 1) * (power - 1) / (1 - power / widened)), np.inf)


def _looks(ratio: float) -> list[int]:
    found, at = [FIRST_LOOK], float(FIRST_LOOK)
    while (at := max(at * ratio, found[-1] + 1.0)) < LAST - 0.5:
        found.append(round(at))
    return [*found, LAST]


def _even(count: np.ndarray, level: float) -> np.ndarray:
    """Limits where each look has the same part of the level, whatever looks have in common."""
    half = 2 if level == ALPHA else 1
    return t_isf(level / half / count.size, count - 1.0)


def _obrien(count: np.ndarray) -> np.ndarray:
    """Parts of the level that rise with the share of the rounds, as O'Brien and Fleming's limits have them."""
    return np.asarray(t_sf(3.0 / np.sqrt(count / LAST), np.inf))


def _calibrated(
    count: np.ndarray, shape: np.ndarray, level: float, means: np.ndarray, errors: np.ndarray, *, both: bool
) -> np.ndarray:
    """Limits with parts of the level in this proportion, as large as draws without a difference allow."""
    at = count - 1
    low, high = np.log(1e-7), 0.0
    limits = np.full(count.size, np.inf)
    for _ in range(30):
        middle = (low + high) / 2
        parts = np.minimum(np.exp(middle) * shape / shape.max(), 0.49)
        limits = t_isf(parts / (2 if both else 1), count - 1.0)
        seen = np.abs(means[:, at]) if both else -means[:, at]
        low, high = (low, middle) if (seen > limits * errors[:, at]).any(axis=1).mean() > level else (middle, high)
    return limits


if __name__ == "__main__":
    main()
