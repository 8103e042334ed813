"""Prints how often intervals of ledger comparisons cover a planted +3 %, and how often reports on equal targets are false.

122 blocks in three clusters of cost, noise of 1 % wherever it may come from. The same seed prints the same rates.
"""

import sys

import numpy as np
from tests.compare.planted_blocks import NOISES, estimated, false, pairs, targets, uneven, verdicts

from slotmark.statistics.dependence import LEAST_EFFECTIVE
from slotmark.statistics.two_level import Estimate
from slotmark.warnings import ENOUGH_RUNS

TRUTH = 1.03
MARGIN = 0.01
"""The catalogue's, of total time."""

CANDIDATES = 8

UNEVEN = (
    *(("skewed", sizes, 122) for sizes in ((3, 3), (3, 10), (5, 5), (5, 10))),
    *(("two modes", sizes, 122) for sizes in ((2, 2), (3, 3), (3, 5), (3, 10), (5, 5))),
    *((kind, sizes, 122) for kind in ("pauses in 5 %", "pauses in 10 %") for sizes in ((3, 10), (5, 10), (5, 5))),
    *(("normal", sizes, 122) for sizes in ((3, 10), (5, 10))),
    *(("ten alike", (5, 5), blocks) for blocks in (50, 120, 400, 3_000)),
    *((kind, (5, 5), blocks) for kind in ("AR(1) 0.7", "AR(1) 0.9", "costly ten alike") for blocks in (50, 120, 400)),
)
"""Noise, processes of each side, and blocks."""


def main() -> None:
    """Prints a row a kind of noise and number of processes, then one a kind of noise over reports of nine targets."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    error = np.sqrt(0.95 * 0.05 / repetitions)
    print(f"{repetitions:,} made-up pairs a row; rates are good to {error:.1%} (1 sd)")
    print(
        "noise | processes per side | typical: covers, half-width | sums: covers, half-width | +3 % found by one test | A/A false, margin 1 % | margin 0"
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
    print(
        "equal targets: noise | processes | blocks | typical: covers, verdict possible, called different | sums: the same"
    )
    for kind, processes, blocks in UNEVEN:
        found = [
            estimated(*uneven(np.random.default_rng([2026, index]), kind, processes, blocks))
            for index in range(repetitions if blocks < 1_000 else repetitions // 4)
        ]
        shown = [uneven_rates([pair[place] for pair in found], min(processes)) for place in (0, 1)]
        off = np.mean([pair[0].log for pair in found])
        worse = np.mean([false(verdicts(pair, MARGIN)) for pair in found])
        print(
            f"{kind} | {processes[0]} and {processes[1]} | {blocks:,} | {' | '.join(shown)} | typical off by {off:+.2%} | false at margin 1 %: {worse:.1%}",
            flush=True,
        )
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


def uneven_rates(found: list[Estimate], processes: int) -> str:
    """Returns how often intervals cover no difference, the share of verdicts that are possible, and of those that are false; margin 0."""
    covers = np.array([one.ratio.low <= 1 <= one.ratio.high for one in found])
    judged = np.array([one.effective >= LEAST_EFFECTIVE and processes >= ENOUGH_RUNS for one in found])
    return f"{covers.mean():.1%}, {judged.mean():.0%}, {(judged & ~covers).mean():.1%}"


def covered(found: list[Estimate]) -> float:
    """The share of intervals that hold what was planted."""
    return float(np.mean([one.ratio.low <= TRUTH <= one.ratio.high for one in found]))


def half_width(found: list[Estimate]) -> float:
    """The median interval's half-width."""
    return float(np.median([np.log(one.ratio.high / one.ratio.low) / 2 for one in found]))


if __name__ == "__main__":
    main()
