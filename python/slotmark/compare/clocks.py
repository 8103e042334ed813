"""Warnings about metrics that are differences between two clocks: how far clocks of runs were apart, beside the least that matters of each metric."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from slotmark.compare.margins import margin_of
from slotmark.metrics import Analysis, Catalogue, Metric, side_by_side
from slotmark.numbers import quantity
from slotmark.warnings import Warning

if TYPE_CHECKING:
    from slotmark.compare.estimators.interface import Entry


def clock_warnings(
    bench: Catalogue, levels: Iterable[tuple[Metric, float]], analyses: Sequence[Analysis]
) -> Mapping[str, Warning]:
    """Returns a warning for each metric for which it matters how far clocks were, or can have been, apart: the same one for all of a kind.

    That matters which is no smaller than the least difference that matters of a metric at its level.

    Args:
        bench: The catalogue.
        levels: Metrics with their margins, and means, in the metric's unit; of several of one metric the lowest counts.
        analyses: All runs; the clocks that were farthest apart count.
    """
    if bench.clocks is None:
        return {}
    with side_by_side(analyses) as pool:
        known = [one for one in pool.map(Analysis.clocks_apart_s, analyses) if one is not None]
    if not known:
        return {}
    means: dict[str, tuple[Metric, float]] = {}
    for metric, mean in levels:
        if metric.id in bench.clocks.metrics and 0 < mean < means.get(metric.id, (metric, float("inf")))[1]:
            means[metric.id] = metric, mean
    matters = {name: margin_of(metric, mean) * mean for name, (metric, mean) in means.items()}
    found: dict[str, Warning] = {}
    for kind, apart_s in (
        (bench.clocks.least, max(least for least, _ in known)),
        (bench.clocks.most, max(most for _, most in known)),
    ):
        of_kind = sorted(
            (name for name in matters if name not in found and matters[name] <= apart_s), key=matters.__getitem__
        )
        words = [
            {
                "name": means[name][0].name,
                "level": quantity(means[name][1], "s"),
                "matters": quantity(matters[name], "s"),
            }
            for name in of_kind
        ]
        if words:
            found |= dict.fromkeys(of_kind, bench.warning(kind, apart=quantity(apart_s, "s"), metrics=words))
    return found


def with_clock_warnings(entries: "Sequence[Entry]", bench: Catalogue, analyses: Sequence[Analysis]) -> "list[Entry]":
    """Rows with the warnings about clocks, by the levels of their baselines."""
    levels = [(entry.metric, one.mean) for entry in entries if (one := entry.summaries[0])]
    found = clock_warnings(bench, levels, analyses)
    return [
        msgspec.structs.replace(entry, warnings=[*entry.warnings, found[entry.metric.id]])
        if entry.metric.id in found
        else entry
        for entry in entries
    ]
