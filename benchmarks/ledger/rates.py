"""Prints how often intervals of ledger comparisons cover a planted +3 %, and how often verdicts are false.

122 blocks in three clusters of cost, two sides, noise of 1 % wherever it may come from. The same seed prints the same rates.
"""

import sys

import numpy as np
from tests.compare.planted_blocks import NOISES, Noise, recorded

from slotmark.compare.block_ratio import Part, total_ratio, typical_ratio
from slotmark.compare.two_level import Estimate, hierarchical
from slotmark.compare.verdict import decide

TRUTH = 1.03
CONFIDENCE = 0.95
BOOTSTRAP = 500


def main() -> None:
    """Prints a row a kind of noise and number of processes."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    error = np.sqrt(0.95 * 0.05 / repetitions)
    print(f"{repetitions:,} made-up pairs a row; rates are good to {error:.1%} (1 sd)")
    print(
        "noise | processes | typical: covers, half-width | sums: covers, half-width | +3 % found | A/A false, margin 1 % | margin 0"
    )
    for name, noise in NOISES.items():
        for processes in (3, 5, 10):
            planted = estimates(noise, processes, repetitions, TRUTH, 1)
            equal = estimates(noise, processes, repetitions, 1.0, 2)
            covers = " | ".join(f"{covered(ones):.1%}, {half_width(ones):.2%}" for ones in planted)
            found = np.mean([verdict(one, 0.01) == "worse" for one in planted[0]])
            false = [
                np.mean([verdict(one, margin) in ("better", "worse") for ones in equal for one in ones])
                for margin in (0.01, 0.0)
            ]
            print(f"{name} | {processes} | {covers} | {found:.1%} | {false[0]:.1%} | {false[1]:.1%}", flush=True)


def estimates(
    noise: Noise, processes: int, repetitions: int, truth: float, seed: int
) -> tuple[list[Estimate], list[Estimate]]:
    """The typical block's and the sums' estimates of made-up pairs."""
    draws = np.random.default_rng([2026, processes, seed])
    typical, sums = [], []
    for index in range(repetitions):
        sides = recorded(draws, noise, truth=truth, processes=processes)
        for effects, kept in (
            (typical_ratio([Part(-1, sides[0]), Part(1, sides[1])]), typical),
            (total_ratio(*sides), sums),
        ):
            kept.append(hierarchical(effects, confidence=CONFIDENCE, repetitions=BOOTSTRAP, seed=[index]))
    return typical, sums


def covered(found: list[Estimate]) -> float:
    """The share of intervals that hold what was planted."""
    return float(np.mean([one.ratio.low <= TRUTH <= one.ratio.high for one in found]))


def half_width(found: list[Estimate]) -> float:
    """The median interval's half-width."""
    return float(np.median([np.log(one.ratio.high / one.ratio.low) / 2 for one in found]))


def verdict(one: Estimate, margin: float) -> str:
    """What is said of one test by itself."""
    return decide(one.ratio, one.p, margin=margin, better="lower", confidence=CONFIDENCE, tests=1).verdict


if __name__ == "__main__":
    main()
