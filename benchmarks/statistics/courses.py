"""Prints how often intervals of single runs cover the truth whose blocks resemble their neighbours, or whose hosts' levels drift.

    benchmarks/statistics/run [repetitions]

Prints the tables of "Means of cluster runs" in docs/method.md. The same seed prints the same tables.
"""

import sys
from collections.abc import Iterator

import numpy as np
from tests.compare.planted_courses import COURSES, DRIFTING_ROUNDS, levels_of_hosts, ratios_of_course

from slotmark.statistics.dependence import LEAST_EFFECTIVE
from slotmark.statistics.mean_difference import Units, by_unit, mean_difference
from slotmark.statistics.serial import serial

SEED = 2026
BLOCKS = (50, 120, 400, 3_000)
HOSTS = (3, 10, 52)
SLOTS = 200


def main() -> None:
    """Prints all tables."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    print(
        f"\n{pairs:,} pairs of equal runs a row, one run a side, margin 0; 95 % is good to {(0.0475 / pairs) ** 0.5:.1%} (1 sd)"
    )
    print("course, blocks | covers | effective blocks | verdict possible | called different")
    for name, course in COURSES.items():
        for blocks in BLOCKS:
            sides = course(np.random.default_rng([SEED, blocks]), 2 * pairs, blocks)
            units = np.arange(blocks)
            print(
                f"{name:24} {blocks:5,} | {_rates([(by_unit(a, units), by_unit(b, units)) for a, b in _two(sides)])}",
                flush=True,
            )
    print("\nlevels of hosts that drift | over hosts: covers | called different | over slots: covers")
    for hosts in HOSTS:
        draws = np.random.default_rng([SEED, hosts])
        over: dict[str, list[tuple[Units, Units]]] = {"hosts": [], "slots": []}
        places, slots = np.tile(np.arange(hosts), SLOTS), np.repeat(np.arange(SLOTS), hosts)
        for _ in range(pairs):
            ours, theirs = (one.ravel() for one in levels_of_hosts(draws, 2, SLOTS, hosts))
            over["hosts"].append((by_unit(ours, places, ordered=False), by_unit(theirs, places, ordered=False)))
            over["slots"].append((by_unit(ours, slots), by_unit(theirs, slots)))
        by_host, by_slot = (_rates(one).split(" | ") for one in over.values())
        print(f"{hosts:2} hosts | {by_host[0]} | {by_host[3]} | {by_slot[0]}", flush=True)
    print(
        "\nlog ratios of rounds, rounds | covers | half-width | passes as independent | false verdict, margin 0 | margin 2 %"
    )
    for name in DRIFTING_ROUNDS:
        for rounds in (5, 7, 10, 20, 40):
            print(f"{name:28} {rounds:2} | {_of_rounds(name, rounds, pairs)}", flush=True)
    print("\nrounds that drift: autocorrelation, rounds | said to drift")
    for likeness in ("independent", "AR(1) 0.5", "AR(1) 0.7", "AR(1) 0.9"):
        for rounds in (5, 10, 20, 40):
            sides = COURSES[likeness](np.random.default_rng([SEED, rounds]), pairs, rounds)
            said = np.mean(
                [serial(one, repetitions=2_000, seed=[SEED, place]).p < 0.02 for place, one in enumerate(sides)]
            )
            print(f"{likeness:12} {rounds:2} | {said:6.1%}", flush=True)


def _of_rounds(name: str, rounds: int, pairs: int) -> str:
    """A line of the table of rounds whose ratio drifts."""
    found = ratios_of_course(name, rounds, pairs, SEED)
    missed = np.array([not one.interval.low <= 1 <= one.interval.high for one in found])
    beyond = np.array([abs(np.log(one.interval.estimate)) > np.log(1.02) for one in found])
    width = np.median([np.log(one.interval.high / one.interval.low) / 2 for one in found])
    alone = np.mean([one.effective == rounds for one in found])
    return f"{1 - missed.mean():6.1%} | {width:6.1%} | {alone:6.1%} | {missed.mean():6.1%} | {(missed & beyond).mean():6.1%}"


def _two(sides: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    half = len(sides) // 2
    return zip(sides[:half], sides[half:], strict=True)


def _rates(pairs: list[tuple[Units, Units]]) -> str:
    """How often intervals cover no difference, the median effective number, the share with a verdict, and of false ones."""
    found = [one for ours, theirs in pairs if (one := mean_difference([ours], [theirs], confidence=0.95))]
    covered = np.array([one.delta.low <= 0 <= one.delta.high for one in found])
    judged = np.array(
        [not ours.ordered or min(one.effective) >= LEAST_EFFECTIVE for one, (ours, _) in zip(found, pairs, strict=True)]
    )
    effective = np.median([one.effective[0] for one in found])
    return f"{covered.mean():6.1%} | {effective:7.1f} | {judged.mean():6.1%} | {(judged & ~covered).mean():6.1%}"


if __name__ == "__main__":
    main()
