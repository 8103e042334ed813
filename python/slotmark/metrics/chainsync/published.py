"""The tables of chainsync-benchmark-2026: rates over invocations, with that report's formulas and roundings.

Its faults are kept, since the point is to print what it would: the standard deviation is of the population, "MB" is
2^20 bytes, shares and deltas are taken between averages as printed, and halves are rounded as binary fractions.
Its average times come from times of whole tenths of a second; ours from the measured nanoseconds.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from slotmark.metrics.published import PublishedTable
from slotmark.run import Run

MIB = 1 << 20


class Figures(msgspec.Struct, frozen=True):
    """What the report derives from the rates of one target and mode; every figure as printed.

    Attributes:
        runs: Each rate, blocks/s.
        average: Arithmetic mean, blocks/s.
        deviation: Population standard deviation.
        span: Smallest and largest.
        median: Median.
        trimmed: Mean without the smallest and the largest; of one or two rates, the mean.
    """

    runs: list[str]
    average: str
    deviation: str
    span: str
    median: str
    trimmed: str


class Measured(msgspec.Struct, frozen=True):
    """What one target did in one mode, a number an invocation, warm-up left out, in the order of the rounds.

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
        [f"{rate:.1f}" for rate in rates],
        f"{values.mean():.1f}",
        f"{values.std():.1f}",
        f"{values[0]:.1f}-{values[-1]:.1f}",
        f"{np.median(values):.1f}",
        f"{trimmed.mean():.1f}",
    )


def average_time(seconds: Sequence[float]) -> str:
    """The average of the invocations' times."""
    return f"{np.mean(seconds):.2f}s"


def average_mib(mib_per_s: Sequence[float]) -> str:
    """The average throughput, under the report's head "Avg MB/s"."""
    return f"{np.mean(mib_per_s):.2f}"


def share(average: str, reference: str) -> str:
    """A printed average as a share of the reference's, in percent."""
    return f"{100 * float(average) / float(reference):.1f}%"


def delta(average: str, reference: str) -> tuple[str, str]:
    """A printed average less the reference's, in blocks/s and relative to it."""
    ours, theirs = float(average), float(reference)
    return f"{ours - theirs:+.1f}", f"{100 * (ours / theirs - 1):+.1f}%"


def tables(runs: Sequence[Run]) -> list[PublishedTable]:
    """The snapshot, a stability check a mode, and the key deltas; the first run is the reference."""
    names = [run.name if [other.name for other in runs].count(run.name) == 1 else str(run.path) for run in runs]
    measured = [dict(_measured(run)) for run in runs]
    settings = sorted({setting for one in measured for setting in one})
    figures = [{setting: derive(one[setting].rates) for setting in one} for one in measured]
    return [
        _snapshot(names, settings, measured, figures),
        *(_stability(names, setting, figures) for setting in settings),
        *([_deltas(names, settings, figures)] if len(runs) > 1 else []),
    ]


def _measured(run: Run) -> Iterator[tuple[str, Measured]]:
    rows = sorted(
        (row for row in run.table("invocations").to_pylist() if not row["warmup"]),
        key=lambda row: (row["setting"], row["round"]),
    )
    for setting in dict.fromkeys(row["setting"] for row in rows):
        mine = [row for row in rows if row["setting"] == setting]
        seconds = [row["elapsed_ns"] / 1e9 for row in mine]
        yield (
            setting,
            Measured(
                [row["blocks"] / time for row, time in zip(mine, seconds, strict=True)],
                [row["bytes"] / time / MIB for row, time in zip(mine, seconds, strict=True)],
                seconds,
            ),
        )


def _snapshot(
    names: Sequence[str],
    settings: Sequence[str],
    measured: Sequence[dict[str, Measured]],
    figures: Sequence[dict[str, Figures]],
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
                    name,
                    setting,
                    *mine.runs,
                    *[""] * (most - len(mine.runs)),
                    mine.average,
                    mine.span,
                    mine.deviation,
                    average_mib(raw[setting].mib_per_s),
                    average_time(raw[setting].seconds),
                    share(mine.average, reference.average) if reference else "-",
                ]
            )
    columns = ["Avg blk/s", "Min-Max blk/s", "StdDev", "Avg MB/s", "Avg time", f"vs {names[0]}"]
    return PublishedTable(
        "Snapshot",
        ["Target", "Mode", *numbered, *columns],
        rows,
        notes=["StdDev is of the population; MB is 2^20 bytes; warm-up rounds are left out."],
    )


def _stability(names: Sequence[str], setting: str, figures: Sequence[dict[str, Figures]]) -> PublishedTable:
    having = [(name, one[setting]) for name, one in zip(names, figures, strict=True) if setting in one]
    times = f"raw {max(len(one.runs) for _, one in having)}x"
    reference = figures[0].get(setting)
    rows = [
        [f"Mean blk/s ({times})", *(one.average for _, one in having)],
        ["Median blk/s", *(one.median for _, one in having)],
        [f"StdDev blk/s ({times})", *(one.deviation for _, one in having)],
        ["Min-Max blk/s", *(one.span for _, one in having)],
        ["Trimmed mean blk/s (exclude min/max)", *(one.trimmed for _, one in having)],
    ]
    if reference:
        rows.append([f"Ratio to {names[0]} (trimmed)", *(share(one.trimmed, reference.trimmed) for _, one in having)])
    return PublishedTable(f"Stability check: {setting}", ["Metric", *(name for name, _ in having)], rows, labels=1)


def _deltas(names: Sequence[str], settings: Sequence[str], figures: Sequence[dict[str, Figures]]) -> PublishedTable:
    rows = [
        [name, setting, *delta(one[setting].average, figures[0][setting].average)]
        for name, one in list(zip(names, figures, strict=True))[1:]
        for setting in settings
        if setting in one and setting in figures[0]
    ]
    return PublishedTable(f"Key deltas to {names[0]}", ["Target", "Mode", "Delta blk/s", "Relative"], rows)
