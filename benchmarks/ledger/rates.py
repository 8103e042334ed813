"""Prints how often intervals of ledger comparisons cover a planted +3 %, and how often reports on equal targets are false.

122 blocks in three clusters of cost, noise of 1 % wherever it may come from. The same seed prints the same rates.
"""

import sys

import numpy as np
from tests.compare.planted_blocks import NOISES, estimated, false, pairs, targets, verdicts

from slotmark.statistics.two_level import Estimate

TRUTH = 1.03
MARGIN = 0.01
"""The catalogue's, of total time."""

CANDIDATES = 8


def main() -> None:
    """Prints a row a kind of noise and number of processes, then one a kind of noise over reports of nine targets."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    error = np.sqrt(0.95 * 0.05 / repetitions)
    print(f"{repetitions:,} made-up pairs a row; rates are good to {error:.1%} (1 sd)")
    print(
        "noise | processes a side | typical: covers, half-width | sums: covers, half-width | +3 % found by one test | A/A false, margin 1 % | margin 0"
    )
    for name, noise in NOISES.items():
        for processes in (3, 5, 10):
            planted = list(pairs(noise, processes, repetitions, TRUTH, seed=1))
            equal = list(pairs(noise, processes, repetitions, 1.0, seed=2))
            covers = " | ".join(
                f"{covered([pair[place] for pair in planted]):.1%}, {half_width([pair[place] for pair in planted]):.2%}"
                for place in (0, 1)
            )
            found = np.mean([verdicts(pair[:1], MARGIN)[0] == "worse" for pair in planted])
            wrong = [np.mean([false(verdicts(pair, margin)) for pair in equal]) for margin in (MARGIN, 0.0)]
            print(f"{name} | {processes} | {covers} | {found:.1%} | {wrong[0]:.1%} | {wrong[1]:.1%}", flush=True)
    reports = max(1, repetitions // 5)
    print(f"{reports:,} reports on nine equal targets, 5 processes each: 16 tests, false where any is")
    print("noise | false, margin 1 % | margin 0")
    for name, noise in NOISES.items():
        draws = np.random.default_rng(2026)
        tested = []
        for _ in range(reports):
            baseline, *others = targets(draws, noise, [1.0] * (1 + CANDIDATES))
            tested.append([one for other in others for one in estimated(baseline, other)])
        wrong = [np.mean([false(verdicts(one, margin)) for one in tested]) for margin in (MARGIN, 0.0)]
        print(f"{name} | {wrong[0]:.1%} | {wrong[1]:.1%}", flush=True)


def covered(found: list[Estimate]) -> float:
    """The share of intervals that hold what was planted."""
    return float(np.mean([one.ratio.low <= TRUTH <= one.ratio.high for one in found]))


def half_width(found: list[Estimate]) -> float:
    """The median interval's half-width."""
    return float(np.median([np.log(one.ratio.high / one.ratio.low) / 2 for one in found]))


if __name__ == "__main__":
    main()
