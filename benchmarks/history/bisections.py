"""Rates at which `slotmark store bisect` is right about the commit that it names: planted changes, with the search of the command and made-up levels of runs.

bisections.py [SEARCHES]

Levels are in standard deviations of one run. A search that needs more than 600 runs counts as without an answer.
"""

import sys
from collections.abc import Callable

import numpy as np

from slotmark.history.bisecting import asked, known_to_differ
from slotmark.statistics.bisection import next_place, posterior, splits

MOST = 600
ASKED = 0.95
Noise = Callable[[np.random.Generator], float]


def log_normal(draw: np.random.Generator) -> float:
    """Skewed: the standard deviation of its logarithm is 0.8."""
    return float((np.exp(0.8 * draw.normal()) - np.exp(0.32)) / np.sqrt((np.exp(0.64) - 1) * np.exp(0.64)))


def spikes(draw: np.random.Generator) -> float:
    """Normal, and 1 of 100 runs 5 to 20 off."""
    off = draw.choice([-1, 1]) * draw.uniform(5, 20) if draw.random() < 0.01 else 0.0
    return float(draw.normal() + off)


def two_levels(draw: np.random.Generator) -> float:
    """Three runs of ten at another level, 1.9 above."""
    return float(0.5 * draw.normal() + (1.9 if draw.random() < 0.3 else 0.0))


NOISES: dict[str, Noise] = {
    "normal": lambda draw: float(draw.normal()),
    "log-normal": log_normal,
    "1 % spikes": spikes,
    "two levels": two_levels,
}


def searched(
    draw: np.random.Generator,
    commits: int,
    effect: float,
    noise: Noise,
    left_out: float,
    place_of: Callable[[int], int] = lambda place: place,
    most: int = MOST,
) -> tuple[bool | None, int]:
    """A search for a planted change; whether its answer has the commit, None without an answer, and how many runs it made.

    Args:
        draw: Source of all that is random.
        commits: How many come after the good one.
        effect: The change.
        noise: Draws what a run is off its level.
        left_out: The share of commits that can't be run.
        place_of: The commit that is run in the place of the one that is asked for: another one plants a fault.
        most: Runs at most.
    """
    first = int(draw.integers(1, commits + 1))
    without = {int(one) for one in draw.choice(np.arange(1, commits), int(left_out * commits), replace=False)}
    places: list[int] = []
    levels: list[float] = []

    def run(place: int) -> None:
        places.append(place)
        levels.append(noise(draw) + (effect if place_of(place) >= first else 0.0))

    while not known_to_differ(places, levels, commits):
        if len(levels) >= most:
            return None, len(levels)
        run(0)
        run(commits)
    while (place := next_place(places, found := posterior(places, levels, commits), without, asked(ASKED))) is not None:
        if len(levels) >= most:
            return None, len(levels)
        run(place)
    best = max(splits(found, without), key=lambda one: one.probability)
    return best.first <= first <= best.last, len(levels)


def main() -> None:
    """Prints a line per case."""
    searches = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"{searches} searches per line; asked for: {ASKED:.0%}")
    print("| runs vary | commits | change | left out | answered | right | runs, median |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, noise in NOISES.items():
        for commits in (16, 100):
            for effect in (1.0, 2.0, 4.0):
                for left_out in (0.0, 0.2):
                    draw = np.random.default_rng(7)
                    found = [searched(draw, commits, effect, noise, left_out) for _ in range(searches)]
                    answered = [one for one in found if one[0] is not None]
                    right = sum(one[0] is True for one in answered) / max(1, len(answered))
                    print(
                        f"| {name} | {commits} | {effect:.0f} | {left_out:.0%} | {len(answered) / searches:.0%} | {right:.1%} | {np.median([one[1] for one in found]):.0f} |",
                        flush=True,
                    )
        draw = np.random.default_rng(7)
        alike = [searched(draw, 16, 0.0, noise, 0.0)[0] for _ in range(searches)]
        print(
            f"| {name} | 16 | none | 0% | {sum(one is not None for one in alike) / searches:.1%} | - | - |", flush=True
        )


if __name__ == "__main__":
    main()
