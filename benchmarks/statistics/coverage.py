"""Prints how often intervals cover the truth and how often verdicts are false, on made-up rounds whose truth is known.

    benchmarks/statistics/run [repetitions] [--shard N/OF -o FOLDER | --merge FOLDER]

Prints the tables of docs/method.md. The same seed prints the same tables.
"""

import time
from itertools import product

import numpy as np
from benchmarks.statistics.rows import Asked
from scipy import stats
from tests.compare.planted import ALIKE, NOISES, UNLIKE, Noise, rates

from slotmark.compare.verdict import judge
from slotmark.statistics.location import median_interval
from slotmark.statistics.rank_tests import holm
from slotmark.statistics.ratio import Ratio, paired_ratio, unpaired_ratio
from slotmark.statistics.resampling import location

SEED = 2026
CONFIDENCE = 0.95
BOOTSTRAP = 4_000
FAMILY = 40
FAMILY_BOOTSTRAP = 16_000
ROUNDS = (5, 7, 10, 20)


def main() -> None:
    """Prints all tables."""
    asked = Asked(1_000)
    repetitions = asked.repetitions
    began = time.monotonic()
    print(f"{repetitions:,} made-up pairs of runs a row; coverage is good to {_error(0.95, repetitions):.1%} (1 sd)\n")
    print("paired: noise, rounds | interval covers | half-width | false verdict | +5 % found")
    asked.print_rows(paired, product(NOISES, ROUNDS, [repetitions]))
    print("\nunpaired: noise, rounds of each | interval covers | half-width | false verdict")
    asked.print_rows(unpaired, product(NOISES, ((5, 5), (10, 10), (5, 20)), [repetitions]))
    families = max(1, repetitions // 5)
    print(
        f"\nreports of {FAMILY} tests on equal runs, {families} reports a row: noise, rounds | any false verdict, margin 0 | margin 2 %"
    )
    asked.print_rows(family, product(ALIKE, (5, 10), [families]))
    if asked.shard:
        return
    print("\nother estimators of the same 10 rounds: noise | estimator | interval covers | half-width")
    for name in ("steady, 2 %", "disturbed, 1 in 20"):
        for line in others(name, 10, repetitions):
            print(f"{name:20} | {line}")
    print("\nmedian of one run: noise, rounds | interval covers")
    for name, rounds in product(ALIKE, (5, 7, 10, 20)):
        print(f"{name:20} {rounds:3} | {median(ALIKE[name], rounds, 10 * repetitions):.1%}")
    print(f"\ntook {time.monotonic() - began:.0f} s")


def paired(name: str, rounds: int, repetitions: int) -> str:
    """One row of the table of paired comparisons."""
    draws = np.random.default_rng([SEED, rounds, *name.encode()])
    truth = _truth(name, (rounds,), draws)
    equal = _ratios(rates(draws, NOISES[name], (repetitions, rounds)), BOOTSTRAP)
    faster = _ratios(rates(draws, NOISES[name], (repetitions // 2, rounds), 1.05), BOOTSTRAP)
    found = (
        "     -" if name in UNLIKE else f"{np.mean([_verdict(one, one.p, 0.02) == 'better' for one in faster]):6.1%}"
    )
    return f"{name:20} {rounds:3} | {_covered(equal, truth)} | {_falsely(name, equal)} | {found}"


def unpaired(name: str, sizes: tuple[int, int], repetitions: int) -> str:
    """One row of the table of runs of two sessions; the drift of each session is not in it."""
    draws = np.random.default_rng([SEED, *sizes, *name.encode()])
    truth = _truth(name, sizes, draws)
    ours, theirs = (np.exp(noise(draws, (repetitions, size))) for noise, size in zip(NOISES[name], sizes, strict=True))
    equal = [
        unpaired_ratio(one, other, confidence=CONFIDENCE, repetitions=BOOTSTRAP, seed=[SEED, index])
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True))
    ]
    return f"{name:20} {sizes[0]:3} and {sizes[1]:2} | {_covered(equal, truth)} | {_falsely(name, equal)}"


def family(name: str, rounds: int, families: int) -> str:
    """One row of the table of reports on equal runs that have any verdict of better or worse after Holm."""
    draws = np.random.default_rng([SEED, rounds, FAMILY, *name.encode()])
    wrong = np.zeros((families, 2), dtype=bool)
    for index in range(families):
        ratios = _ratios(rates(draws, NOISES[name], (FAMILY, rounds)), FAMILY_BOOTSTRAP)
        adjusted = holm([one.p for one in ratios])
        for column, margin in enumerate((0.0, 0.02)):
            verdicts = {_verdict(one, p, margin) for one, p in zip(ratios, adjusted, strict=True)}
            wrong[index, column] = bool(verdicts & {"better", "worse"})
    return f"{name:20} {rounds:3} | {' | '.join(f'{share:6.1%}' for share in wrong.mean(axis=0))}"


def median(noise: Noise, rounds: int, repetitions: int) -> float:
    """Returns how often the interval of a run's median covers the true median."""
    draws = np.random.default_rng([SEED, rounds])
    truth = float(np.median(noise(draws, (1_000_000,))))
    intervals = [median_interval(values, CONFIDENCE) for values in noise(draws, (repetitions, rounds))]
    return float(np.mean([one.low <= truth <= one.high for one in intervals]))


def others(name: str, rounds: int, repetitions: int) -> list[str]:
    """Returns the results of other methods: the mean with Student's t, and Hodges-Lehmann with the exact signed-rank interval."""
    ours, theirs = rates(np.random.default_rng([SEED, rounds, *name.encode()]), NOISES[name], (repetitions, rounds))
    logs = np.log(theirs) - np.log(ours)
    mean, reach = logs.mean(axis=1), logs.std(axis=1, ddof=1) / np.sqrt(rounds) * stats.t.ppf(0.975, rounds - 1)
    first, second = np.triu_indices(rounds)
    walsh = np.sort((logs[:, first] + logs[:, second]) / 2, axis=1)
    ways = np.ones(1)
    for rank in range(1, rounds + 1):
        ways = np.convolve(ways, [1, *[0] * (rank - 1), 1])
    below = int(np.searchsorted(np.cumsum(ways) / 2**rounds, 0.025, side="right"))
    intervals = {
        "mean, Student's t": (mean - reach, mean + reach),
        "Hodges-Lehmann, signed-rank": (walsh[:, below - 1], walsh[:, -below]),
    }
    return [
        f"{estimator:28} | {np.mean((low <= 0) & (high >= 0)):6.1%} | {np.median(high - low) / 2:6.1%}"
        for estimator, (low, high) in intervals.items()
    ]


def _ratios(sides: tuple[np.ndarray, np.ndarray], repetitions: int) -> list[Ratio]:
    return [
        paired_ratio(ours, theirs, confidence=CONFIDENCE, repetitions=repetitions, seed=[SEED, index])
        for index, (ours, theirs) in enumerate(zip(*sides, strict=True))
    ]


def _truth(name: str, sizes: tuple[int, ...], draws: np.random.Generator) -> float:
    """Returns the estimate's average: 1 for noise that both sides have alike."""
    if name in ALIKE:
        return 1.0
    ours, theirs = (noise(draws, (20_000, size)) for noise, size in zip(UNLIKE[name], (sizes * 2)[:2], strict=True))
    groups = (
        ([one - other] for one, other in zip(theirs, ours, strict=True))
        if len(sizes) == 1
        else ([one, -other] for one, other in zip(theirs, ours, strict=True))
    )
    return float(np.exp(np.mean([location(group).estimate for group in groups])))


def _covered(ratios: list[Ratio], truth: float) -> str:
    covers = np.mean([one.interval.low <= truth <= one.interval.high for one in ratios])
    width = np.median([np.log(one.interval.high / one.interval.low) / 2 for one in ratios])
    return f"{covers:6.1%} | {width:6.1%}"


def _falsely(name: str, equal: list[Ratio]) -> str:
    """Verdicts of one test alone with no margin; where the noise is unlike, a difference there is."""
    if name in UNLIKE:
        return "     -"
    return f"{np.mean([_verdict(one, one.p, 0) in ('better', 'worse') for one in equal]):6.1%}"


def _verdict(ratio: Ratio, p: float, margin: float) -> str:
    return judge(ratio.interval, p, margin=margin, better="higher", confidence=CONFIDENCE, tests=1).verdict


def _error(share: float, repetitions: int) -> float:
    return float(np.sqrt(share * (1 - share) / repetitions))


if __name__ == "__main__":
    main()
