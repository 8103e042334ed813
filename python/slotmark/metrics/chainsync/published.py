"""The tables of chainsync-benchmark-2026: rates over invocations, with that report's formulas and roundings.

Its faults are kept, since the point is to print what it would: the standard deviation is of the population, "MB" is
2^20 bytes, and a ratio is taken between printed averages.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.metrics.published import PublishedTable
from slotmark.metrics.samples import samples
from slotmark.run import Run

MIB = 1 << 20


class Figures(msgspec.Struct, frozen=True):
    """What the report derives from the rates of one target and mode; every figure as printed.

    Attributes:
        average: Arithmetic mean, blocks/s.
        deviation: Population standard deviation.
        span: Smallest and largest.
        median: Median.
        trimmed: Mean without the smallest and the largest.
    """

    average: str
    deviation: str
    span: str
    median: str
    trimmed: str


def derive(rates: Sequence[float]) -> Figures:
    """The figures of at least one rate in blocks/s."""
    values = np.sort(np.array(rates, dtype=np.float64))
    trimmed = values[1:-1] if values.size > 2 else values
    return Figures(
        f"{values.mean():.1f}",
        f"{values.std():.1f}",
        f"{values[0]:.1f}-{values[-1]:.1f}",
        f"{np.median(values):.1f}",
        f"{trimmed.mean():.1f}",
    )


def share(rate: float, reference: float) -> str:
    """A rate as a share of the reference's, in percent."""
    return f"{100 * rate / reference:.1f}%"


def tables(runs: Sequence[Run]) -> list[PublishedTable]:
    """The snapshot and the stability table, a row a target and setting; the first run is the reference."""
    found = {run.name: (samples(run, "blocks_per_s"), samples(run, "mb_per_s")) for run in runs}
    reference = runs[0].name
    settings = list(dict.fromkeys(setting for rates, _ in found.values() for setting in rates.settings))
    rounds = max(len(rates.of(setting)) for rates, _ in found.values() for setting in rates.settings)
    snapshot, stability = [], []
    for setting in settings:
        base = found[reference][0].values(setting)
        for run in runs:
            rates, megabytes = (table.values(setting) for table in found[run.name])
            if rates.size == 0:
                continue
            figures = derive(rates.tolist())
            each = [f"{rate:.1f}" for rate in rates] + [""] * (rounds - rates.size)
            seconds = float(np.mean(_blocks(run) / rates))
            against = share(float(figures.average), float(derive(base.tolist()).average)) if base.size else "-"
            mean_mib = f"{megabytes.mean() * 1e6 / MIB:.2f}"
            snapshot.append(
                [
                    run.name,
                    setting,
                    *each,
                    figures.average,
                    figures.span,
                    figures.deviation,
                    mean_mib,
                    f"{seconds:.2f}s",
                    against,
                ]
            )
            stability.append(
                [run.name, setting, figures.average, figures.median, figures.deviation, figures.span, figures.trimmed]
            )
    runs_columns = [f"Run{number} blk/s" for number in range(1, rounds + 1)]
    return [
        PublishedTable(
            "Snapshot",
            [
                "Target",
                "Mode",
                *runs_columns,
                "Avg blk/s",
                "Min-Max blk/s",
                "StdDev",
                "Avg MB/s",
                "Avg time",
                f"vs {reference}",
            ],
            snapshot,
            notes=["StdDev is of the population; MB is 2^20 bytes; warm-up rounds are left out."],
        ),
        PublishedTable(
            "Stability",
            [
                "Target",
                "Mode",
                "Mean blk/s (raw)",
                "Median blk/s",
                "StdDev blk/s (raw)",
                "Min-Max blk/s",
                "Trimmed mean blk/s (exclude min/max)",
            ],
            stability,
        ),
    ]


def _blocks(run: Run) -> int:
    return int(run.table("invocations")["blocks"][0].as_py())
