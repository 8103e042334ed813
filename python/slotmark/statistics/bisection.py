"""The first commit at another level, by noisy measurements of commits between one that is known for good and one that is known for bad.

One of the commits changes the level, and each run is off its level by chance. The probability that it is a given commit follows from all runs by Bayes' rule: normal differences of
one unknown variance, two unknown levels, no knowledge before of any of these, and all commits alike before. Levels and variance are integrated out, so that the probability is
Student's, not the normal's: few runs are taken for few. The next run is of the commit that splits the probability best (Horstein, "Sequential transmission using noiseless feedback", 1963).
"""

from collections.abc import Collection, Sequence

import msgspec
import numpy as np

LEAST = 2
"""Runs that the commit and the one before it must have: a single run may be a spike."""

TRIALS = 30
"""Searches that are made up to know about how long the rest takes."""

_MOST = 400
"""Runs at most of a made-up search."""

_FLOOR = 1e-6
"""The least standard deviation, in differences between the levels: runs that don't vary at all are possible in simulations."""


class Split(msgspec.Struct, frozen=True):
    """Commits of which one changes the level, as far as commits that can be measured tell them apart.

    Attributes:
        first: The place of the first of them.
        last: Of the last, the only one that can be measured.
        probability: That it is one of them.
    """

    first: int
    last: int
    probability: float


def posterior(places: Sequence[int], levels: Sequence[float], commits: int) -> np.ndarray:
    """Returns the probability of each commit to be the first at the other level; shape (commits,), of the places from 1 on.

    Args:
        places: The commit of each run: 0 is the good one, ``commits`` the bad one; both have a run or more.
        levels: The level of each run, on a scale on which runs vary alike.
        commits: How many come after the good one, the bad one included.
    """
    at, values = np.asarray(places), np.asarray(levels, float)
    values = values - values.mean()
    counts = np.bincount(at, minlength=commits + 1).cumsum()[:-1].astype(float)
    sums = np.bincount(at, values, commits + 1).cumsum()[:-1]
    others, of_others = len(values) - counts, values.sum() - sums
    differences = np.abs(sums / counts - of_others / others)
    squares = np.maximum((values**2).sum() - sums**2 / counts - of_others**2 / others, 0.0)
    floor = len(values) * (_FLOOR * differences.max()) ** 2 or np.finfo(float).tiny
    logs = -0.5 * np.log(counts * others) - 0.5 * (len(values) - 2) * np.log(squares + floor)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def splits(found: np.ndarray, left_out: Collection[int]) -> list[Split]:
    """The commits in groups that can be told apart, in their order: each ends with one that can be measured.

    Args:
        found: The probabilities of :func:`posterior`.
        left_out: Places of commits that can't be measured.
    """
    groups, first = [], 1
    for place in range(1, len(found) + 1):
        if place not in left_out:
            groups.append(Split(first, place, float(found[first - 1 : place].sum())))
            first = place + 1
    return groups


def next_place(places: Sequence[int], found: np.ndarray, left_out: Collection[int], sure: float) -> int | None:
    """Returns the place of the commit to measure next; None where a group is as probable as is asked for, and is confirmed.

    Args:
        places: The commit of each run so far.
        found: The probabilities of :func:`posterior`.
        left_out: Places of commits that can't be measured.
        sure: The probability that is asked for.
    """
    groups = splits(found, left_out)
    best = max(range(len(groups)), key=lambda one: (groups[one].probability, -one))
    if len(groups) > 1 and groups[best].probability < sure:
        # Ends of groups but for the last one, which is known: the probability that the change is there already is nearest to a half.
        inner = groups[:-1]
        so_far = np.cumsum([one.probability for one in inner])
        return inner[int(np.argmin(np.abs(so_far - 0.5)))].last
    before = groups[best - 1].last if best else 0
    few = [place for place in (before, groups[best].last) if list(places).count(place) < LEAST]
    return few[0] if few else None


def runs_left(
    places: Sequence[int], levels: Sequence[float], commits: int, left_out: Collection[int], sure: float, seed: int
) -> int:
    """Returns about how many more runs it takes: the median of searches that go on from here with made-up runs, of levels as they were seen.

    Args:
        places: The commit of each run so far.
        levels: Its level.
        commits: As of :func:`posterior`.
        left_out: Places of commits that can't be measured.
        sure: The probability that is asked for.
        seed: Seed of what is made up.
    """
    draw = np.random.default_rng(seed)
    found = posterior(places, levels, commits)
    at, values = np.asarray(places), np.asarray(levels, float)
    needed = []
    for first in draw.choice(np.arange(1, commits + 1), TRIALS, p=found):
        is_after = at >= first
        before, after = values[~is_after], values[is_after]
        squares = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
        spread = np.sqrt(squares / max(len(values) - 2, 1))
        made_places, made = list(places), list(levels)
        while len(made) < len(levels) + _MOST:
            place = next_place(made_places, posterior(made_places, made, commits), left_out, sure)
            if place is None:
                break
            made_places.append(place)
            made.append(float(draw.normal((after if place >= first else before).mean(), spread)))
        needed.append(len(made) - len(levels))
    return int(np.median(needed))
