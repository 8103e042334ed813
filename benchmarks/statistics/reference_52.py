"""Makes the table `reference-52`: how much runs of one build differ on the benchmarking cluster of 52 hosts, from its published reports.

    .venv/bin/python benchmarks/statistics/reference_52.py ../shared/published/releases [-o TABLE]

The folder has one JSON file per report. A run is known by its start. The pairs are runs of the same version, compiler and workload; for most of them the
revisions of the node differ, as by back-ports of code that only benchmarks use, so that they bound the spread from above.

Log ratios (differences, of shares and counts) of a pair are taken to be Student's t of a scale that each metric has of its own, and of degrees of freedom that
the metrics of a section share, fitted by maximum likelihood: pairs that hold a real change pull the scale less than a mean of squares would. The
degrees in the table also hold how badly ten pairs show a scale, to first order.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from slotmark.compare.run_to_run.spread_table import MetricSpread, SpreadTable, spread_table_text
from slotmark.metrics import Metric, catalogue
from slotmark.statistics.planning import deviation_range

OUT = Path("python/slotmark/metrics/cluster/run_to_run/reference-52.toml")

PAIRS = (
    ("release-8.9.1.value-only", 1, "release-8.9.3.value-only", 0),
    ("release-8.9.1.plutus", 1, "release-8.9.3.plutus", 0),
    ("release-8.12.1.value-only", 1, "release-9.0.0.value-only", 0),
    ("release-8.12.1.plutus", 1, "release-9.0.0.plutus", 0),
    ("release-10.1.1.voting", 0, "release-10.1.1.voting", 1),
    ("utxohd-10.2.value-only", 0, "utxohd-10.2.value-only", 1),
    ("release-10.2.1.plutus", 1, "execbudget-10.2-mem_scaling", 0),
    ("release-10.3.1.plutus", 2, "execbudget-10.3-mem_scaling", 0),
    ("release-10.5.0.value-only", 1, "release-10.6.0-pre.value-only", 0),
    ("release-10.5.0.plutus", 1, "release-10.6.0-pre.plutus", 0),
)
"""Two runs of one build each: report and column, twice. Of reports with other budgets of execution only the column of the usual one counts."""

NAMES = {
    "RTS Mutator CPU usage": "RTS mutator CPU usage",
    "RTS live GC dateset": "RTS live GC dataset",
}
"""Names in the reports that differ from the catalogue's."""

DEGREES = np.geomspace(4, 40, 12)
"""Degrees of freedom that are tried: of fewer, not even the variance of a variance is finite."""

FEWEST = 8
"""The fewest pairs with a metric; with fewer, the metric is left out."""

WORKLOAD = {"hosts": "52", "epoch, slots": "8000", "slot, s": "1", "active slots": "0.05"}
"""By which runs of that cluster are known, beside the end of their profile's name."""


def cells(folder: Path, report: str, column: int) -> dict[str, str]:
    """The printed values of a column, by metric."""
    content: dict[str, Any] = json.loads((folder / f"{report}.json").read_text(encoding="utf-8"))
    return {
        NAMES.get(str(row["metric"]), str(row["metric"])): row["values"][column]
        for rows in content["sections"].values()
        for row in rows
    }


def away(metric: Metric, ours: str, theirs: str) -> float | None:
    """Returns the distance of a pair's run from what both have in common, on the metric's scale; at least what printing rounds away."""
    one, other = float(ours.replace(",", "")), float(theirs.replace(",", ""))
    rounded = max(map(_rounded, (ours, theirs)))
    if metric.run_scale == "identity":
        return max(abs(other - one), rounded) / np.sqrt(2)
    if one <= 0 or other <= 0:
        return None
    return max(abs(np.log(other / one)), rounded / min(one, other)) / np.sqrt(2)


def _rounded(text: str) -> float:
    """Half of the last digit's worth."""
    digits, _, power = text.replace(",", "").lower().partition("e")
    return 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def differences(folder: Path, leave_out: int | None = None) -> dict[str, list[float]]:
    """Returns the distances of runs from their pair's middle, by metric; of all pairs but one."""
    found: dict[str, list[float]] = {}
    pairs = [pair for place, pair in enumerate(PAIRS) if place != leave_out]
    read = [(cells(folder, one, i), cells(folder, other, j)) for one, i, other, j in pairs]
    for metric in catalogue("cluster").metrics:
        known = [
            value
            for ours, theirs in read
            if metric.name in ours and metric.name in theirs
            if (value := away(metric, ours[metric.name], theirs[metric.name])) is not None
        ]
        if metric.tested and len(known) >= min(FEWEST, len(pairs)) and any(known):
            found[metric.id] = known
    return found


def fitted(values: list[np.ndarray]) -> tuple[float, list[float]]:
    """The degrees of freedom that metrics share, and the scale of each."""

    def likelihood(degrees: float) -> tuple[float, list[float]]:
        total, scales = 0.0, []
        for one in values:
            found = scipy.optimize.minimize_scalar(
                lambda log, one=one, degrees=degrees: (
                    -scipy.stats.t.logpdf(one / np.exp(log), degrees).sum() + one.size * log
                ),
                bounds=(np.log(one[one > 0].min()) - 3, np.log(one.max()) + 1),
                method="bounded",
            )
            total -= float(found.fun)
            scales.append(float(np.exp(found.x)))
        return total, scales

    tried = [(*likelihood(float(degrees)), float(degrees)) for degrees in DEGREES]
    _, scales, degrees = max(tried, key=lambda one: one[0])
    return degrees, scales


def table(folder: Path, leave_out: int | None = None) -> SpreadTable:
    """The table, from all pairs but one."""
    found = differences(folder, leave_out)
    sections: dict[tuple[str, str], list[Metric]] = {}
    for metric in catalogue("cluster").metrics:
        if metric.id in found:
            sections.setdefault((metric.section, metric.run_scale), []).append(metric)
    spreads: dict[str, MetricSpread] = {}
    for metrics in sections.values():
        shared, scales = fitted([np.array(found[metric.id]) for metric in metrics])
        for metric, scale in zip(metrics, scales, strict=True):
            count = len(found[metric.id])
            # A logarithm of a scale's square varies by 2 (degrees + 3) / (degrees count), that of a pair about it by 2 / degrees.
            degrees = count * shared / (count + shared + 3)
            interval = deviation_range(scale, count * shared / (shared + 3), 0.95)
            spreads[metric.id] = MetricSpread(
                id=metric.id,
                unit=metric.unit,
                scale=metric.run_scale,
                sd=scale,
                degrees=max(degrees, 1.0),
                low=interval.low,
                high=interval.high,
            )
    count = len(PAIRS) - (leave_out is not None)
    return SpreadTable(
        name="reference-52",
        bench="cluster",
        known_from=f"{count} pairs",
        about=(
            "Pairs of runs of the same version, compiler and workload in the published reports of the benchmarking cluster "
            "(IntersectMBO/cardano-updates at 14d8a9a, December 2023 to February 2026), by benchmarks/statistics/reference_52.py: "
            + "; ".join(f"{one} column {i + 1} and {other} column {j + 1}" for one, i, other, j in PAIRS)
        ),
        profile_ends="-nomadperf",
        workload=WORKLOAD,
        metric=[spreads[one.id] for one in catalogue("cluster").metrics if one.id in spreads],
    )


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--out", type=Path, default=OUT)
    given = parser.parse_args()
    made = table(given.folder)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(spread_table_text(made), encoding="utf-8")
    for one in made.metric:
        print(f"{one.id:22} sd {one.sd:9.5g}  degrees {one.degrees:5.3g}")


if __name__ == "__main__":
    main()
