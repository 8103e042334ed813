"""Forecasts: what a change of the ledger does to a cluster, from replays of two builds.

Stages of a profile that are the same work in a node take as many times as long as the replays of one build took beside those of the
other. The profile as it is stands for the first build.
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np

from slotmark.benches.cluster.simulating.model import PREDICTED, outside_of_extended, refuse_settings
from slotmark.benches.cluster.simulating.predict import Source, Variant, simulated
from slotmark.benches.cluster.sweep import amount
from slotmark.engine import Engine, Progress, local
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, CostMatrix, costs_together
from slotmark.metrics.predicted import CONFIDENCE, Factor, Kept, Replayed
from slotmark.numbers import brief, independent
from slotmark.run import Run
from slotmark.run.folder import refuse_existing
from slotmark.run.manifest import TARGET_PLACE
from slotmark.statistics.block_ratio import total_ratio
from slotmark.statistics.dependence import LEAST_EFFECTIVE
from slotmark.statistics.two_level import hierarchical
from slotmark.warnings import ENOUGH_RUNS, Warning

SIDES = ("base", "changed")
"""The run folders of a forecast: the profile as it is, and with the stages that the replays change."""

NEAR = 2.0
"""Blocks between the profile's size over this and that size times this are of its size."""

_LEAST_NEAR = 10
"""With fewer blocks of the profile's size all blocks count."""

_MOST_DEGREES = 1e9
"""JSON has no infinity."""

_MODE = "mode"
_REAPPLIES = "reapplication"

Pair = tuple[Sequence[Run], Sequence[Run]]
"""Runs of the baseline and of the candidate that did the same work."""


class _Work(msgspec.Struct, frozen=True):
    """A stage of the simulator that is work of the ledger.

    Attributes:
        stage: Its name in the profile.
        cost: The id of the replays' metric that is the same work.
        reapplied: Whether a node reapplies there, without signatures and scripts; None where that makes no difference.
        sized: Whether it follows the size of the block.
    """

    stage: str
    cost: str
    reapplied: bool | None
    sized: bool


_WORK = (
    _Work("forging.ledger_tick", "block_tick_us", None, sized=False),
    _Work("forging.mempool_snapshot", "block_apply_us", reapplied=True, sized=True),
    _Work("forging.self_adopt", "total_us", reapplied=False, sized=True),
    _Work("peer.adopt", "total_us", reapplied=False, sized=True),
)

_WANTED = {
    False: "the replays reapply, and a node applies a block in full there; add replays that do",
    True: "the replays apply in full, and a node reapplies there what its mempool holds; add replays with --reapply",
}
"""Reasons to keep a stage, by whether a node reapplies there."""


def refuse_what_cannot_be(profile: str | Path, settings: Sequence[str], folder: Path) -> None:
    """Refuses a profile, settings or a folder with which no forecast can be made, before work on replays begins.

    Raises:
        SimulationError: A profile or setting that makes no sense, or isn't in the model.
        RunError: One of the run folders is there already.
    """
    refuse_settings(profile, settings, PREDICTED)
    for side in SIDES:
        refuse_existing(folder / side)


def two_sides(named: Sequence[str], opened: Sequence[Sequence[Run]]) -> Pair:
    """The runs of the two builds: two sides as they were named, or what a single folder has, in the order of the session's targets.

    Args:
        named: What was named.
        opened: The runs of each.

    Raises:
        ComparisonError: They aren't runs of replays, or not of two builds.
    """
    for run in (run for side in opened for run in side):
        if run.manifest.bench != "ledger":
            raise ComparisonError(
                f"{run.place}: a run of bench '{run.manifest.bench}', but a forecast takes replays. Name runs of `slotmark ledger run`."
            )
    if len(opened) == 2:
        return opened[0], opened[1]
    if len(opened) > 2:
        raise ComparisonError(
            f"forecast: {len(opened)} sides are named, but a forecast is of two builds. Name BASELINE CANDIDATE; several runs of one as A1,A2."
        )
    builds: dict[str, list[Run]] = {}
    for run in sorted(opened[0], key=_place):
        builds.setdefault(run.manifest.target.name, []).append(run)
    if len(builds) == 1:
        raise ComparisonError(
            f"{named[0]}: runs of one build only, '{next(iter(builds))}'. Name a folder with runs of two, or BASELINE CANDIDATE."
        )
    if len(builds) > 2:
        first, second = (",".join(str(run.place) for run in of) for of in list(builds.values())[:2])
        raise ComparisonError(
            f"{named[0]}: runs of {len(builds)} builds: {', '.join(builds)}. Name two of them, the baseline first, as "
            f"`slotmark forecast {first} {second}`."
        )
    base, changed = builds.values()
    return base, changed


def by_mode(sides: Pair) -> list[Pair]:
    """The runs that apply blocks in full, then those that reapply them, as far as there are any.

    Raises:
        ComparisonError: One side has runs that apply in a way in which no run of the other does.
    """
    pairs: list[Pair] = []
    for reapply in (False, True):
        base, changed = ([run for run in side if _reapplies(run) is reapply] for side in sides)
        if bool(base) != bool(changed):
            lone = (base or changed)[0]
            way = "reapply" if reapply else "apply in full"
            raise ComparisonError(
                f"{lone.place}: its replays {way} and none of the other build do, so they did different work. Replay both builds that way."
            )
        if base:
            pairs.append((base, changed))
    return pairs


def replayed(pairs: Sequence[Pair], names: tuple[str, str], profile: str | Path, settings: Sequence[str]) -> Replayed:
    """Returns the ratio of each stage's time with the candidate to that with the baseline.

    Args:
        pairs: As :func:`by_mode` gives them, each of runs that may be compared.
        names: Of the baseline and of the candidate.
        profile: Whose stages they are: a file, or the name of a shipped profile.
        settings: ``key=value`` each.

    Raises:
        ComparisonError: Too few processes or blocks for an interval, or no stage is work that was replayed.
        SimulationError: A profile or setting that makes no sense.
    """
    size = amount(str(Source(profile).values(settings)["workload.block_size"]))
    factors: list[Factor] = []
    kept: list[Kept] = []
    with ExitStack() as stack:
        costs = [_Costs(stack, pair) for pair in pairs]
        for work in _WORK:
            fitting = [one for one in costs if work.reapplied in (None, one.reapplied)]
            found = fitting[0].factor(work, size) if fitting else Kept(work.stage, _WANTED[bool(work.reapplied)])
            if isinstance(found, Factor):
                factors.append(found)
            else:
                kept.append(found)
    if not factors:
        reasons = "; ".join(f"{one.stage}: {one.reason}" for one in kept)
        raise ComparisonError(
            f"{pairs[0][0][0].path}: no stage of the simulator follows from these replays. {reasons}."
        )
    return Replayed(
        baseline=names[0],
        candidate=names[1],
        runs=[run.manifest.id for pair in pairs for side in pair for run in side],
        factors=factors,
        kept=kept,
        degrees=min(one.degrees for one in factors),
    )


def forecast(
    profile: str | Path,
    settings: Sequence[str],
    scaled: Replayed,
    warnings: Sequence[Warning],
    seeds: Sequence[int],
    folder: Path,
    progress: Progress,
    engine: Engine = local,
    noted: Sequence[Warning] = (),
) -> list[Run]:
    """Simulates a profile as it is and with its stages scaled, with the same seeds, and at both ends of the factors' intervals.

    The ends of all factors are simulated together, as if their errors went together: the wider choice.

    Args:
        profile: A file, or the name of a shipped profile.
        settings: ``key=value`` each, on both sides.
        scaled: How the stages are scaled.
        warnings: About the replays.
        seeds: One simulation each, side and end.
        folder: Where the run folders are written, named as :data:`SIDES`.
        progress: Called with slots done and in all; may raise to stop.
        engine: Does the simulations.
        noted: Warnings about the engine, for the manifest of each run.

    Returns:
        The run of the profile as it is, then that of the changed one, whose manifest has the error that the factors give each metric.

    Raises:
        SimulationError: A profile or setting that makes no sense, or isn't in the model; no seed, or no block to analyse.
        RunError: One of the run folders is there already.
    """
    refuse_what_cannot_be(profile, settings, folder)
    source, given = Source(profile), tuple(settings)
    of_extended = tuple(outside_of_extended(profile, PREDICTED))
    variants = [
        Variant(source=source, name=scaled.baseline, settings=given, warnings=of_extended),
        Variant(
            source=source,
            name=scaled.candidate,
            settings=(*given, *_settings(scaled.factors)),
            warnings=tuple(warnings),
            replayed=scaled,
            ends=tuple((*given, *_settings(scaled.factors, end * scaled.reach(CONFIDENCE))) for end in (-1, 1)),
        ),
    ]
    changed = ", ".join(f"{one.stage}*={brief(one.factor, 4)}" for one in scaled.factors)
    return simulated(variants, changed, seeds, [folder / side for side in SIDES], progress, engine=engine, noted=noted)


def _settings(factors: Iterable[Factor], away: float = 0.0) -> list[str]:
    """The settings that scale the stages, so many standard errors away from what was measured."""
    return [f"{one.stage}.mean*={one.factor * np.exp(away * one.error):.9g}" for one in factors]


class _Costs:
    """The costs of the same blocks on two sides, metric by metric.

    Args:
        stack: Ends what is opened.
        pair: The runs of both sides.
    """

    def __init__(self, stack: ExitStack, pair: Pair) -> None:
        self._analyses = [[stack.enter_context(Analysis(run)) for run in side] for side in pair]
        self._path = pair[0][0].path
        self.reapplied = _reapplies(pair[0][0])

    def factor(self, work: _Work, size: float) -> Factor | Kept:
        """Returns the ratio of a stage's times, or the reason why it isn't known.

        Args:
            work: Of the stage.
            size: Of the profile's blocks in bytes.
        """
        metric = self._analyses[0][0].catalogue[work.cost]
        ours, theirs = (costs_together(of_side, metric.id) for of_side in self._analyses)
        if ours is None or theirs is None:
            return Kept(work.stage, f"the replays have no '{metric.name}'")
        which, mask = self._near(ours, size) if work.sized else ("all", np.ones(ours.keys.size, dtype=bool))
        base, changed = ours.values[:, mask], theirs.values[:, mask]
        self._refuse_too_few(min(len(base), len(changed)), base.shape[1])
        if base.sum() <= 0 or changed.sum() <= 0:
            return Kept(work.stage, f"'{metric.name}' takes no time at all on a side, so there is no ratio")
        found = hierarchical(total_ratio(base, changed), confidence=CONFIDENCE)
        if found.effective < LEAST_EFFECTIVE < base.shape[1]:
            raise ComparisonError(
                f"{self._path}: of '{metric.name}', neighbouring blocks change together, so {base.shape[1]:,} are "
                f"{independent(found.effective)}, and {LEAST_EFFECTIVE} are needed. Replay a longer stretch."
            )
        return Factor(
            stage=work.stage,
            cost=metric.name,
            blocks=base.shape[1],
            which=which,
            factor=found.ratio.estimate,
            low=found.ratio.low,
            high=found.ratio.high,
            error=found.error,
            degrees=min(found.degrees, _MOST_DEGREES),
        )

    def _near(self, costs: CostMatrix, size: float) -> tuple[str, np.ndarray]:
        """The blocks of the profile's size, in words and as a mask; all blocks where those are too few, or sizes aren't known."""
        known = [
            row["bytes"]
            for row in self._analyses[0][0].query("SELECT bytes FROM known_blocks ORDER BY slot").to_pylist()
        ]
        if any(one is None for one in known):
            return "all; their sizes aren't recorded", np.ones(costs.keys.size, dtype=bool)
        sizes = np.array(known, dtype=np.float64)
        mask = (sizes >= size / NEAR) & (sizes <= size * NEAR)
        span = f"{brief(size / NEAR / 1e3)} to {brief(size * NEAR / 1e3)} kB"
        if mask.sum() < _LEAST_NEAR:
            return f"all; {int(mask.sum())} have {span}, as the profile's", np.ones_like(mask)
        return span, mask

    def _refuse_too_few(self, processes: int, blocks: int) -> None:
        if processes < ENOUGH_RUNS:
            raise ComparisonError(
                f"{self._path}: {processes} process{'es' if processes > 1 else ''} on a side don't show how much processes differ, so that a "
                "forecast has no interval. Record 5 or more: --rounds 5."
            )
        if blocks < 2:
            raise ComparisonError(f"{self._path}: one block doesn't show how blocks vary. Replay more.")


def _reapplies(run: Run) -> bool:
    return run.manifest.workload.get(_MODE) == _REAPPLIES


def _place(run: Run) -> int:
    """The place of the run's target among those of its session; 0 where that isn't recorded."""
    place = run.manifest.parameters.get(TARGET_PLACE)
    return place if isinstance(place, int) else 0
