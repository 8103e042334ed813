"""The search for the commit that changed a metric: from runs of commits to what to run next, and to the answer."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from slotmark.errors import ArgumentError, ComparisonError, did_you_mean
from slotmark.history.estimates import Estimate, estimates_of
from slotmark.history.series import Group, machine_of, target_of, workload_of
from slotmark.metrics import benches, catalogue
from slotmark.numbers import number as in_digits
from slotmark.numbers import percent
from slotmark.run import Run
from slotmark.statistics.anytime import FIRST_LOOK, anytime, limit_of_looks
from slotmark.statistics.bisection import next_place, posterior, runs_left, splits
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import from_scale
from slotmark.statistics.student import student
from slotmark.words import counted

CONFIDENCE = 0.99
"""Confidence, over all looks, with which the good and the bad commit must differ before any other is run."""

_MOST_ROUNDS = 1_000


class CommitLine(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of the search.

    Attributes:
        commit: Its name.
        levels: The estimate of each of its runs, in the metric's unit, in the order of time.
        probability: That it is the first at the bad level; None before the good and the bad one are known to differ.
        failed: Why it is left out; empty where it isn't.
    """

    commit: str
    levels: list[float]
    probability: float | None
    failed: str

    @property
    def mean(self) -> float | None:
        """The mean of these estimates, in the metric's unit; None where there are none."""
        return sum(self.levels) / len(self.levels) if self.levels else None


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a search.

    Attributes:
        bench: Bench of the metric.
        metric: Its id.
        part: Which of its samples.
        state: ``found``: it is one of ``answer``, with the probability that was asked for; ``open``: the budget ended before; ``alike``: the budget ended before the good and the bad
            commit were known to differ.
        answer: The most probable commit; several where those between didn't run.
        probability: That it is one of these.
        sure: The probability that was asked for.
        effect: The bad level over the good one, or less it where levels aren't above 0, by the answer; None where there is none.
        is_ratio: Whether it is over it.
        runs: How many runs there are.
        seconds: How long they took.
        more: About how many more it takes; None where that is unknown.
        by: What ended the search without an answer, in words.
        commits: All, the good one first.
    """

    bench: str
    metric: str
    part: str
    state: Literal["found", "open", "alike"]
    answer: list[str]
    probability: float
    sure: float
    effect: Interval | None
    is_ratio: bool
    runs: int
    seconds: float
    more: int | None
    by: str
    commits: list[CommitLine]


class Next(msgspec.Struct, frozen=True):
    """The commit to run next.

    Attributes:
        place: The place of the commit; None where the search has its answer.
        words: What is known, in words.
        more: About how many more runs it takes; None where that is unknown.
    """

    place: int | None
    words: str
    more: int | None = None


def refuse_unknown(metric: str) -> None:
    """Raises ArgumentError where no bench has a metric of that id, before anything is run."""
    known = sorted({one.id for bench in benches() for one in catalogue(bench).metrics})
    if metric not in known:
        raise ArgumentError(
            f"{metric}: no bench has such a metric.{did_you_mean(metric, known)} `slotmark show RUN --json` of a run has all of its bench."
        )


def asked(sure: float) -> float:
    """Returns the probability at which a search ends: nearer to 1 than what is asked for, so that levels which aren't normal leave it right as often as that."""
    return 1 - (1 - sure) / 2


def known_to_differ(places: Sequence[int], levels: Sequence[float], last: int) -> bool:
    """Returns whether the good and the bad commit were known to differ at any look so far, so that this stays as it is once it is so.

    Args:
        places: The commit of each run.
        levels: Its level.
        last: The place of the bad commit.
    """
    differences = _of_rounds(places, levels, last)
    for count in range(FIRST_LOOK, len(differences) + 1):
        some = differences[:count]
        error = float(some.std(ddof=1)) / np.sqrt(count)
        interval = anytime(float(some.mean()), error, count, CONFIDENCE).interval
        if interval.low > 0 or interval.high < 0:
            return True
    return False


def _of_rounds(places: Sequence[int], levels: Sequence[float], last: int) -> np.ndarray:
    """The differences of the runs of the bad commit from those of the good one that came in turn."""
    good, bad = ([level for at, level in zip(places, levels, strict=True) if at == place] for place in (0, last))
    return np.array([after - before for before, after in zip(good, bad, strict=False)])


class Search:
    """The runs of commits so far, and what follows from them.

    Args:
        metric: Id of the metric.
        part: Which of its samples; empty for the only ones.
        commits: From the good one to the bad one, both included.
        sure: The probability that is asked for.
        seed: Seed of the searches that are made up to know how long the rest takes.
    """

    def __init__(self, metric: str, part: str, commits: Sequence[str], sure: float, seed: int) -> None:
        self._metric, self._part, self._commits, self._sure, self._seed = metric, part, commits, sure, seed
        self._bench = ""
        self._known: dict[int, Estimate] = {}
        self._group: Group | None = None
        self._contents: dict[str, int] = {}
        self._places: list[int] = []
        self._levels: list[Estimate] = []
        self._left_out: Mapping[int, str] = {}

    @property
    def _last(self) -> int:
        return len(self._commits) - 1

    def next(self, made: Sequence[tuple[int, int]], runs: Mapping[int, Run], left_out: Mapping[int, str]) -> Next:
        """Returns the commit to run next.

        Args:
            made: Number and place of every run that is there, in the order of time.
            runs: These, by number.
            left_out: Places of commits that can't be run, with the reason.

        Raises:
            ArgumentError: There is no such metric, or it has several parts and none is named.
            ComparisonError: A run isn't of the same work as those before, is there twice, or doesn't have the metric.
        """
        for number, _ in made:
            if number not in self._known:
                self._known[number] = self._estimate(number, runs[number])
        self._places = [place for _, place in made]
        self._levels = [self._known[number] for number, _ in made]
        self._left_out = left_out
        if not self._differ():
            ends = [self._places.count(place) for place in (0, self._last)]
            rounds = self._rounds_to_differ()
            more = None if rounds is None else max(2 * rounds - sum(ends), 1)
            return Next(0 if ends[0] <= ends[1] else self._last, self._seen_of_ends(more), more)
        found = self._posterior()
        place = next_place(self._places, found, left_out, asked(self._sure))
        best = max(splits(found, left_out), key=lambda one: one.probability)
        more = (
            None
            if place is None
            else runs_left(self._places, self._values(), self._last, left_out, asked(self._sure), self._seed)
        )
        named = " or ".join(one[:12] for one in self._commits[best.first : best.last + 1][-2:])
        words = f"{named} with {percent(best.probability)}" + (f"; about {counted(more, 'more run')}" if more else "")
        return Next(place, words, more)

    def outcome(self, by: str, seconds: float) -> Bisection:
        """The outcome of all that was given last.

        Args:
            by: What ended the search without an answer, in words; empty where there is one.
            seconds: How long all runs took.
        """
        differ = self._differ()
        found = self._posterior() if differ else None
        best = max(splits(found, self._left_out), key=lambda one: one.probability) if found is not None else None
        names = list(self._commits[best.first : best.last + 1]) if best else []
        values = self._values()
        ratio = bool(self._levels) and self._levels[0].scale == "log"
        more = (
            runs_left(self._places, values, self._last, self._left_out, asked(self._sure), self._seed)
            if by and found is not None
            else None
        )
        return Bisection(
            bench=self._bench,
            metric=self._metric,
            part=self._levels[0].part if self._levels else self._part,
            state="alike" if not differ else "open" if by else "found",
            answer=names,
            probability=best.probability if best else 0.0,
            sure=self._sure,
            effect=_effect(self._places, values, best.last, ratio) if best else None,
            is_ratio=ratio,
            runs=len(self._levels),
            seconds=seconds,
            more=more,
            by=by,
            commits=[
                CommitLine(
                    commit=name,
                    levels=[one.estimate for at, one in zip(self._places, self._levels, strict=True) if at == place],
                    probability=None if found is None else float(found[place - 1]) if place else 0.0,
                    failed=self._left_out.get(place, ""),
                )
                for place, name in enumerate(self._commits)
            ],
        )

    def _values(self) -> list[float]:
        return [one.level for one in self._levels]

    def _posterior(self) -> np.ndarray:
        return posterior(self._places, self._values(), self._last)

    def _ends(self) -> np.ndarray:
        return _of_rounds(self._places, self._values(), self._last)

    def _differ(self) -> bool:
        return known_to_differ(self._places, self._values(), self._last)

    def _rounds_to_differ(self) -> int | None:
        """Returns at how many rounds the good and the bad commit would be known to differ if what was seen were the truth; None where that is unknown, or more than is worth trying."""
        differences = self._ends()
        spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
        if spread == 0:
            return None
        size = abs(float(differences.mean())) / spread
        return next(
            (
                count
                for count in range(FIRST_LOOK, _MOST_ROUNDS)
                if size * np.sqrt(count) > limit_of_looks(1 - CONFIDENCE, count)
            ),
            None,
        )

    def _seen_of_ends(self, more: int | None) -> str:
        differences = self._ends()
        if not len(differences):
            return "the good and the bad commit are measured in turns first"
        typical = float(differences.mean())
        seen = percent(np.expm1(typical)) if self._levels[0].scale == "log" else in_digits(typical)
        about = f"; about {counted(more, 'more run')} until it is" if more else ""
        return f"the bad commit differs from the good one by {seen} in {counted(len(differences), 'round')}, not yet beyond chance{about}"

    def _estimate(self, number: int, run: Run) -> Estimate:
        """The level of a run."""
        manifest = run.manifest
        group = Group(manifest.bench, target_of(manifest), workload_of(manifest), machine_of(manifest))
        if self._group is None:
            self._group, self._bench = group, manifest.bench
            known = [one.id for one in catalogue(self._bench).metrics]
            if self._metric not in known:
                raise ArgumentError(
                    f"{self._metric}: bench '{self._bench}' has no such metric.{did_you_mean(self._metric, known)} `slotmark show {run.place} --json` has them all."
                )
        same = msgspec.structs.replace(group, target=self._group.target)
        if same != self._group:
            raise ComparisonError(
                f"{run.place}: not the bench, the work or the kind of machine of the runs before it, so it can't be compared with them. Have the command do the same work for every commit."
            )
        if (before := self._contents.setdefault(manifest.content, number)) != number:
            raise ComparisonError(
                f"{run.place}: the same tables as run {before}, and a run counts once. Put {{round}} in the command, as --seed {{round}}, where the same words make the same run."
            )
        found = {one.part: one for one in estimates_of(run, self._metric)}
        parts = ", ".join(f"'{part}'" for part in found)
        if not found or (self._part and self._part not in found):
            of = f" in part '{self._part}'" if self._part else ""
            raise ComparisonError(
                f"{run.place}: doesn't record '{self._metric}'{of}. Choose a metric that every run records{f', or one of its parts: {parts}' if parts else ''}."
            )
        if not self._part and len(found) > 1:
            raise ArgumentError(f"{self._metric}: has several parts. Choose one with --part: {parts}.")
        one = found[self._part or next(iter(found))]
        if self._known and one.scale != next(iter(self._known.values())).scale:
            raise ComparisonError(
                f"{run.place}: its '{self._metric}' isn't above 0, as that of the runs before it is. Choose another metric."
            )
        return one


def _effect(places: Sequence[int], values: Sequence[float], first: int, ratio: bool) -> Interval:
    """The bad level over or less the good one, with its 95 % interval by Student's t."""
    at, levels = np.asarray(places), np.asarray(values)
    before, after = levels[at < first], levels[at >= first]
    degrees = len(levels) - 2
    squares = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
    error = float(np.sqrt(squares / degrees * (1 / len(before) + 1 / len(after))))
    found = student(float(after.mean() - before.mean()), error, degrees, 0.95).interval
    scale = "log" if ratio else "identity"
    return Interval(*(from_scale(one, scale) for one in (found.estimate, found.low, found.high)))
