"""Samples of a side's runs by unit: of blocks, of slots or of machines, and those of two sides that are of the same work."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.compare.matching.machines import on_same_machines
from slotmark.compare.matching.paired_runs import LEAST, Pairing
from slotmark.compare.results.rows import Summary
from slotmark.compare.summary import summarise_runs
from slotmark.metrics import AllSamples, Analysis, LongSamples, Metric
from slotmark.statistics.mean_difference import (
    Units,
    Work,
    by_unit,
)


class SideUnits(msgspec.Struct, frozen=True):
    """One side's samples of a metric and part: of each run put together by unit, the smallest of all, what a unit is, as a word, and the runs' places on the side."""

    runs: list[Units]
    smallest: float
    unit: str
    places: Sequence[int] = ()


def sides_of_parts(metric: Metric, analyses: Sequence[Analysis]) -> dict[str, tuple[SideUnits | None, Summary | None]]:
    """One side's samples of a metric, put together and in short, by part; without either where none of its runs has the metric."""
    found: dict[str, tuple[SideUnits | None, Summary | None]] = {}
    each = [(analysis.all_samples(metric.id), analysis.works(metric.unit_of_chance)) for analysis in analyses]
    for part in {part for one, _ in each for part in one.parts}:
        present = [(one, works) for one, works in each if is_recorded(one, part)]
        summary = summarise_runs([one for one, _ in present], part) if present else None
        places = [place for place, (one, _) in enumerate(each) if is_recorded(one, part)]
        found[part] = (
            msgspec.structs.replace(side_of_runs(present, part), places=places) if present else None,
            summary,
        )
    return found


def is_recorded(samples: AllSamples, part: str) -> bool:
    """Returns whether a run has the metric: there are samples, and not only zeros that stand for nothing."""
    return part in samples.parts and not (samples.metric.zero_unrecorded and not samples.any(part))


def side_of_runs(runs: Sequence[tuple[AllSamples, Mapping[int, Work]]], part: str) -> SideUnits:
    """Samples of a part, of each run of a side by unit."""
    smallest = min(one.smallest(part) for one, _ in runs)
    return SideUnits([_units(one, part, works) for one, works in runs], smallest, runs[0][0].unit.word)


def machines_of(sides: Sequence[Sequence[Analysis]]) -> list[str]:
    """The keys whose values are machines."""
    return [column for column, key in sides[0][0].catalogue.keys.items() if key.machines]


def same_keys(sides: Sequence[Sequence[Analysis]], key: str) -> bool:
    """Returns whether a key's values are the same machines in all runs."""
    first, *others = (analysis for of_side in sides for analysis in of_side)
    return all(on_same_machines(first, other, key) for other in others)


def as_new(side: SideUnits) -> SideUnits:
    """A side over units that are other machines than those of the same names on the other side; of blocks and slots the side as it is."""
    if side.runs[0].ordered:
        return side
    return msgspec.structs.replace(side, runs=[msgspec.structs.replace(one, works=()) for one in side.runs])


def _units(samples: AllSamples, part: str, works: Mapping[int, Work]) -> Units:
    unit = samples.metric.unit_of_chance
    if isinstance(samples, LongSamples):
        of = samples.keys[unit]
        units, there = Units(of.sums, of.counts, ordered=samples.unit.ordered), of.values
    else:
        units = by_unit(samples.values(part), samples.codes(part, unit), ordered=samples.unit.ordered)
        there = samples.within(part)[unit]
    if not samples.unit.ordered:
        names = there.tolist() if isinstance(there, np.ndarray) else there.unique().cast(pa.string()).to_pylist()
        return msgspec.structs.replace(units, works=[(name,) for name in sorted(names)])
    if not works:
        return units
    each = np.unique(np.asarray(there)).tolist()
    return msgspec.structs.replace(units, works=[works[one] for one in each if one in works])


def paired_units(ours: SideUnits, theirs: SideUnits, pairing: Pairing) -> tuple[SideUnits, SideUnits] | None:
    """Returns the sides with the runs of pairs of which both have the metric, pair by pair; None where these are too few."""
    first = dict(zip(ours.places, ours.runs, strict=True))
    second = {pairing.places[place]: run for run, place in zip(theirs.runs, theirs.places, strict=True)}
    both = sorted(first.keys() & second.keys())
    if len(both) < LEAST:
        return None
    return (
        msgspec.structs.replace(ours, runs=[first[place] for place in both]),
        msgspec.structs.replace(theirs, runs=[second[place] for place in both]),
    )
