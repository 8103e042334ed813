"""The tables of chainsync-benchmark-2026: rates over invocations, with that report's formulas and roundings.

Its faults are kept, since the point is to print what it would: the standard deviation is of the population, "MB" is
2^20 bytes, shares and deltas are taken between averages as printed, and halves are rounded as binary fractions.
Its average times come from times of whole tenths of a second; ours from the measured nanoseconds.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from slotmark.metrics import Analysis, Filter
from slotmark.published.report import Printed, PublishedCell, PublishedTable, figure, words
from slotmark.run import Run

MIB = 1 << 20


class Figures(msgspec.Struct, frozen=True):
    """Figures that the report derives from the rates of one target and mode, unrounded, in blocks/s.

    Attributes:
        runs: Each rate.
        average: Arithmetic mean.
        deviation: Population standard deviation.
        smallest: Smallest of the rates.
        largest: Largest of the rates.
        median: Median.
        trimmed: Mean without the smallest and the largest; of one or two rates, the mean.
    """

    runs: list[float]
    average: float
    deviation: float
    smallest: float
    largest: float
    median: float
    trimmed: float


class Measured(msgspec.Struct, frozen=True):
    """Measurements of one target in one mode: one number per invocation, warm-up left out, in the order of the rounds.

    Attributes:
        rates: Blocks per second.
        mib_per_s: 2^20 bytes of blocks per second.
        seconds: From the first request to the last block.
    """

    rates: list[float]
    mib_per_s: list[float]
    seconds: list[float]


def derive(rates: Sequence[float]) -> Figures:
    """The figures of at least one rate in blocks/s."""
    values = np.sort(np.array(rates, dtype=np.float64))
    trimmed = values[1:-1] if values.size > 2 else values
    return Figures(
        list(rates),
        float(values.mean()),
        float(values.std()),
        float(values[0]),
        float(values[-1]),
        float(np.median(values)),
        float(trimmed.mean()),
    )


def rate(blocks_per_s: float) -> PublishedCell:
    """A rate, or a figure of rates."""
    return figure(blocks_per_s, ".1f")


def span(figures: Figures) -> PublishedCell:
    """The smallest and the largest rate."""
    return PublishedCell(f"{figures.smallest:.1f}-{figures.largest:.1f}")


def average_time(seconds: Sequence[float]) -> PublishedCell:
    """The average of the invocations' times."""
    return figure(float(np.mean(seconds)), ".2f", "s")


def average_mib(mib_per_s: Sequence[float]) -> PublishedCell:
    """The average throughput, under the report's head "Avg MB/s"."""
    return figure(float(np.mean(mib_per_s)), ".2f")


def share(average: float, reference: float) -> PublishedCell:
    """An average as a share of the reference's, in percent; as printed, of one decimal each."""
    if _cut(reference) == 0:
        return PublishedCell("-")
    return PublishedCell(f"{100 * _cut(average) / _cut(reference):.1f}%", 100 * average / reference)


def delta(average: float, reference: float) -> list[PublishedCell]:
    """An average less the reference's, in blocks/s and relative to it in percent; as printed, of one decimal each."""
    difference = PublishedCell(f"{_cut(average) - _cut(reference):+.1f}", average - reference)
    if _cut(reference) == 0:
        return [difference, PublishedCell("-")]
    relative = f"{100 * (_cut(average) / _cut(reference) - 1):+.1f}%"
    return [difference, PublishedCell(relative, 100 * (average / reference - 1))]


def printed(sides: Sequence[Mapping[str, Run]], filters: Sequence[Filter] | None, style: str) -> Printed:
    """The snapshot, a stability check per mode, and the key deltas; each run is by itself, and the first is the reference.

    The report has one style, and nothing of it can be filtered.
    """
    runs = {name: run for side in sides for name, run in side.items()}
    names = list(runs)
    measured = [_measured(run) for run in runs.values()]
    settings = sorted({setting for one in measured for setting in one})
    figures = [{setting: derive(one[setting].rates) for setting in one} for one in measured]
    tables = [
        _snapshot(names, settings, measured, figures),
        *(_stability(names, setting, figures) for setting in settings),
        *([_deltas(names, settings, figures)] if len(names) > 1 else []),
    ]
    return Printed(said="The tables and formulas of chainsync-benchmark-2026", tables=tables)


def _cut(value: float) -> float:
    """Returns the value as printed, with one decimal."""
    return float(f"{value:.1f}")


def _measured(run: Run) -> dict[str, Measured]:
    """Returns the measurements of the run's target by setting."""
    with Analysis(run) as analysis:
        rows = analysis.query(
            "SELECT setting, blocks, bytes, elapsed_ns FROM invocations WHERE NOT warmup ORDER BY setting, round"
        ).to_pylist()
    found: dict[str, Measured] = {}
    for row in rows:
        seconds = row["elapsed_ns"] / 1e9
        one = found.setdefault(row["setting"], Measured([], [], []))
        one.rates.append(row["blocks"] / seconds)
        one.mib_per_s.append(row["bytes"] / seconds / MIB)
        one.seconds.append(seconds)
    return found


def _snapshot(
    names: Sequence[str],
    settings: Sequence[str],
    measured: Sequence[Mapping[str, Measured]],
    figures: Sequence[Mapping[str, Figures]],
) -> PublishedTable:
    most = max((len(one.rates) for run in measured for one in run.values()), default=0)
    numbered = [f"Run{number} blk/s" for number in range(1, most + 1)]
    rows = []
    for setting in settings:
        reference = figures[0].get(setting)
        for name, raw, derived in zip(names, measured, figures, strict=True):
            if setting not in derived:
                continue
            mine = derived[setting]
            rows.append(
                [
                    *words(name, setting),
                    *map(rate, mine.runs),
                    *words(*[""] * (most - len(mine.runs))),
                    rate(mine.average),
                    span(mine),
                    rate(mine.deviation),
                    average_mib(raw[setting].mib_per_s),
                    average_time(raw[setting].seconds),
                    share(mine.average, reference.average) if reference else PublishedCell("-"),
                ]
            )
    columns = ["Avg blk/s", "Min-Max blk/s", "StdDev", "Avg MB/s", "Avg time", f"vs {names[0]}"]
    return PublishedTable(
        "Snapshot",
        ["Target", "Mode", *numbered, *columns],
        rows,
        notes=["StdDev is of the population; MB is 2^20 bytes; warm-up rounds are left out."],
    )


def _stability(names: Sequence[str], setting: str, figures: Sequence[Mapping[str, Figures]]) -> PublishedTable:
    having = [(name, one[setting]) for name, one in zip(names, figures, strict=True) if setting in one]
    of = [one for _, one in having]
    times = f"raw {max(len(one.runs) for one in of)}x"
    reference = figures[0].get(setting)
    rows = [
        [*words(f"Mean blk/s ({times})"), *(rate(one.average) for one in of)],
        [*words("Median blk/s"), *(rate(one.median) for one in of)],
        [*words(f"StdDev blk/s ({times})"), *(rate(one.deviation) for one in of)],
        [*words("Min-Max blk/s"), *map(span, of)],
        [*words("Trimmed mean blk/s (exclude min/max)"), *(rate(one.trimmed) for one in of)],
    ]
    if reference:
        rows.append([*words(f"Ratio to {names[0]} (trimmed)"), *(share(one.trimmed, reference.trimmed) for one in of)])
    return PublishedTable(f"Stability check: {setting}", ["Metric", *(name for name, _ in having)], rows, labels=1)


def _deltas(names: Sequence[str], settings: Sequence[str], figures: Sequence[Mapping[str, Figures]]) -> PublishedTable:
    rows = [
        [*words(name, setting), *delta(one[setting].average, figures[0][setting].average)]
        for name, one in list(zip(names, figures, strict=True))[1:]
        for setting in settings
        if setting in one and setting in figures[0]
    ]
    return PublishedTable(f"Key deltas to {names[0]}", ["Target", "Mode", "Delta blk/s", "Relative"], rows)
