"""Series of runs with planted changes: levels in standard deviations of one run, and the places where they change."""

from typing import NamedTuple

import numpy as np

NOISES = ("normal", "skewed", "spikes", "bistable", "autoregressive", "weekday")

STEPS = (0.5, 1.0, 2.0, 3.0, 5.0)

PLANTS = ("nothing", *(f"step {size:g}" for size in STEPS), "drift", "two near steps", "a spike", "spread")
"""Kinds of plants: ``drift`` is 3 over 60 runs, ``two near steps`` 3 up and 8 runs later 2 down, ``a spike`` one run 10 off, ``spread`` three times the spread at one level."""

LEAST_BEFORE, LEAST_AFTER = 20, 15


class Planted(NamedTuple):
    """A series with its truth.

    Attributes:
        noise: The kind of noise.
        plant: What is planted.
        values: One a run.
        truth: First and last place of each change; of steps the same.
    """

    noise: str
    plant: str
    values: np.ndarray
    truth: list[tuple[int, int]]


def noise_of(kind: str, count: int, draws: np.random.Generator) -> np.ndarray:
    """Noise of mean 0 and standard deviation 1; with spikes the deviation is that of the other runs."""
    normal = draws.normal(size=count)
    if kind == "skewed":  # log-normal
        made = np.exp(0.6 * normal)
        return (made - np.exp(0.18)) / np.sqrt((np.exp(0.36) - 1) * np.exp(0.36))
    if kind == "spikes":  # one in a hundred is 5 to 20 off
        where = draws.random(count) < 0.01
        normal[where] += draws.choice([-1, 1], where.sum()) * draws.uniform(5, 20, where.sum())
    if kind == "bistable":  # two levels for one binary, three in ten runs have the other
        made = 2.0 * (draws.random(count) < 0.3) + 0.25 * normal
        return (made - 0.6) / np.sqrt(4 * 0.21 + 0.0625)
    if kind == "autoregressive":  # AR(0.5)
        made = normal.copy()
        for place in range(1, count):
            made[place] = 0.5 * made[place - 1] + np.sqrt(0.75) * normal[place]
        return made
    if kind == "weekday":  # two days in seven are 1.5 lower
        days = np.where(np.arange(count) % 7 < 5, 0.0, -1.5)
        return (normal + days + 1.5 * 2 / 7) / np.sqrt(1 + 1.5**2 * 10 / 49)
    return normal


def planted(noise: str, plant: str, draws: np.random.Generator) -> Planted:
    """A series of 50 to 500 runs."""
    count = int(draws.integers(50, 501))
    values = noise_of(noise, count, draws)
    way = float(draws.choice([-1, 1]))
    room = 60 if plant == "drift" and count > 100 else 20 if plant == "drift" else LEAST_AFTER
    at = int(draws.integers(LEAST_BEFORE, count - room))
    since = np.arange(count) >= at
    truth: list[tuple[int, int]] = []
    if plant.startswith("step"):
        values = values + way * float(plant.split()[1]) * since
        truth = [(at, at)]
    elif plant == "drift":
        values = values + way * 3 * np.clip((np.arange(count) - at) / room, 0, 1)
        truth = [(at, at + room)]
    elif plant == "two near steps":
        values = values + way * (3.0 * since - 2.0 * (np.arange(count) >= at + 8))
        truth = [(at, at), (at + 8, at + 8)]
    elif plant == "a spike":
        values = values + way * 10 * (np.arange(count) == at)
    elif plant == "spread":
        values = np.where(since, 3.0, 1.0) * values
    return Planted(noise, plant, values, truth)


class Score:
    """Counts of what a search found in planted series."""

    def __init__(self) -> None:
        self.runs = self.false = self.found = self.planted = self.placed = 0

    def take(self, one: Planted, places: list[int], near: int = 5) -> None:
        """Counts the places that a search found in a series: right are those within so many runs of the truth, once for each; of a drift any in it, and none of them is false."""
        self.runs += one.values.size
        self.planted += len(one.truth)
        left = [*places]
        for first, last in one.truth:
            inside = [place for place in left if first - near <= place <= last + near]
            if not inside:
                continue
            best = min(inside, key=lambda place: abs(place - first))
            self.found += 1
            self.placed += abs(best - first) <= 1
            taken = inside if last > first else [best]
            left = [place for place in left if place not in taken]
        self.false += len(left)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.found / max(1, self.found + self.false + self.planted)
