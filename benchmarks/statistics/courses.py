"""Prints how often intervals of single runs cover the truth whose blocks resemble their neighbours, or whose hosts' levels drift.

    benchmarks/statistics/run [repetitions]

Prints the tables of "Means of cluster runs" in docs/method.md. The same seed prints the same tables.
"""

from collections.abc import Iterator
from itertools import product

import msgspec
import numpy as np
from benchmarks.statistics.rows import Asked
from tests.compare.planted_courses import (
    COURSES,
    DRIFTING_ROUNDS,
    hosts_again,
    levels_of_hosts,
    ratios_of_course,
    sessions_of_course,
    sticks,
    use_of_hosts,
)

from slotmark.statistics.dependence import LEAST_EFFECTIVE
from slotmark.statistics.mean_difference import Units, by_unit, mean_difference
from slotmark.statistics.serial import serial

SEED = 2026
BLOCKS = (50, 120, 400, 3_000)
HOSTS = (3, 10, 52)
SLOTS = 200


def main() -> None:
    """Prints all tables."""
    asked = Asked(1_000)
    pairs = asked.repetitions
    if asked.shard:  # its rows aren't shared: the merge computes them
        return
    print(
        f"\n{pairs:,} pairs of equal runs per row, one run per side, margin 0; 95 % is good to {(0.0475 / pairs) ** 0.5:.1%} (1 sd)"
    )
    print(
        "course, blocks | covers | effective blocks | verdict possible | called different | with the widest drift: covers | times as wide | called different"
    )
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
        "\nrounds that drift, rounds | covers | half-width | passes as independent | no verdict: speeds stick | false verdict, margin 0 | margin 2 %"
    )
    for name in DRIFTING_ROUNDS:
        for rounds in (5, 7, 10, 20, 40):
            print(f"{name:28} {rounds:2} | {_of_rounds(name, rounds, pairs)}", flush=True)
    print(
        "\nlevels of the same hosts, 30 % apart | matched: covers | half-width | different | +5 % found | not matched"
    )
    for again, hosts in product((0.005, 0.01, 0.02), (5, 10, 52)):
        print(f"{again:5.1%} between runs {hosts:2} hosts | {_matched_hosts(pairs, hosts, again)}", flush=True)
    for hosts in (5, 10, 52):
        print(f"other hosts        {hosts:2} hosts | {_matched_hosts(pairs, hosts, 0.01, same=False)}", flush=True)
    print(
        "\nCPU of the same hosts: between runs, of a slot's noise on all hosts | over slots: covers | half-width | hosts"
    )
    for hosts, again, shared in product((10, 52), (0.0, 0.005, 0.02), (0.0, 0.5)):
        draws = np.random.default_rng([SEED, hosts, round(1_000 * again), round(10 * shared)])
        rates = [_use(draws, hosts, again, shared) for _ in range(max(pairs * 3 // 10, 1))]
        shown = " | ".join(
            f"{np.mean([one[of][0] for one in rates]):6.1%} | {np.median([one[of][1] for one in rates]):5.2%}"
            for of in (0, 1)
        )
        print(f"{hosts:2} hosts, {again:4.1%}, {shared:3.0%} | {shown}", flush=True)
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
    sides = sessions_of_course(name, rounds, pairs, SEED)
    counts = ~np.array([sticks(ours, theirs) for ours, theirs in zip(*sides, strict=True)])
    beyond = np.array([abs(np.log(one.interval.estimate)) > np.log(1.02) for one in found])
    width = np.median([np.log(one.interval.high / one.interval.low) / 2 for one in found])
    alone = np.mean([one.effective == rounds for one in found])
    return f"{1 - missed.mean():6.1%} | {width:6.1%} | {alone:6.1%} | {1 - counts.mean():6.1%} | {(missed & counts).mean():6.1%} | {(missed & beyond & counts).mean():6.1%}"


def _over_hosts(values: np.ndarray, *, matched: bool) -> Units:
    """A run with a level per host, given by its name or not."""
    units = by_unit(values, np.arange(values.size), ordered=False)
    return msgspec.structs.replace(units, works=[(place,) for place in range(values.size)]) if matched else units


def _matched_hosts(pairs: int, hosts: int, again: float, *, same: bool = True) -> str:
    """Rates of intervals over matched hosts, of equal runs and where all hosts use 5 % more, and over hosts that aren't matched."""
    draws = np.random.default_rng([SEED, hosts, round(1_000 * again)])
    of = hosts_again(draws, pairs, hosts, 0.3, again, same=same)
    shown = []
    for matched in (True, False):
        found = [
            mean_difference(
                [_over_hosts(ours, matched=matched)], [_over_hosts(change * theirs, matched=matched)], confidence=0.95
            )
            for change in (1.0, 1.05)
            for ours, theirs in of
        ]
        low, high = (np.array([getattr(one.delta, end) for one in found if one]) for end in ("low", "high"))
        missed = (low[:pairs] > 0) | (high[:pairs] < 0)
        widths = (high - low)[:pairs] / 2 / of[:, 0].mean(axis=1)
        shown.append(
            f"{1 - missed.mean():6.1%} | {np.median(widths):6.2%} | {missed.mean():6.1%} | {(low[pairs:] > 0).mean():6.1%}"
        )
    return " | ".join(shown)


def _use(draws: np.random.Generator, hosts: int, again: float, shared: float) -> list[tuple[bool, float]]:
    """Returns whether intervals of one pair's difference cover none, and their half-widths: over slots, and over matched hosts."""
    sides = use_of_hosts(draws, 10 * SLOTS, hosts, again, shared)
    over = (
        [by_unit(one.ravel(), np.repeat(np.arange(10 * SLOTS), hosts)) for one in sides],
        [_over_hosts(one.mean(axis=0), matched=True) for one in sides],
    )
    found = [one for ours, theirs in over if (one := mean_difference([ours], [theirs], confidence=0.95))]
    return [(one.delta.low <= 0 <= one.delta.high, (one.delta.high - one.delta.low) / 2) for one in found]


def _two(sides: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    half = len(sides) // 2
    return zip(sides[:half], sides[half:], strict=True)


def _rates(pairs: list[tuple[Units, Units]]) -> str:
    """Returns how often intervals cover no difference, the median effective number, the share with a verdict, and of false ones.

    Of blocks also how often intervals with the widest drift cover it, how many times as wide they are where a verdict is possible, and the share of false
    verdicts that stand up to it.
    """
    found = [one for ours, theirs in pairs if (one := mean_difference([ours], [theirs], confidence=0.95))]
    covered = np.array([one.delta.low <= 0 <= one.delta.high for one in found])
    judged = np.array(
        [
            not ours.ordered or (min(one.effective) >= LEAST_EFFECTIVE and not one.drifts)
            for one, (ours, _) in zip(found, pairs, strict=True)
        ]
    )
    effective = np.median([one.effective[0] for one in found])
    shown = f"{covered.mean():6.1%} | {effective:7.1f} | {judged.mean():6.1%} | {(judged & ~covered).mean():6.1%}"
    pairs_of = [(one.widest, one.delta) for one in found if one.widest]
    if not pairs_of:
        return shown
    stands = np.array([wide.low <= 0 <= wide.high for wide, _ in pairs_of])
    wider = np.array([(wide.high - wide.low) / (own.high - own.low) for wide, own in pairs_of])
    times = f"{np.median(wider[judged]):4.1f}" if judged.any() else "   -"
    return f"{shown} | {stands.mean():6.1%} | {times} | {(judged & ~stands).mean():6.1%}"


if __name__ == "__main__":
    main()
