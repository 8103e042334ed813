"""Figures of runs in the formats of other tools: a function per format, from figures to text."""

import json
import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from slotmark.cleaning import one_line
from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import OF_BLOCKS
from slotmark.errors import ArgumentError
from slotmark.metrics import Metric
from slotmark.numbers import plain
from slotmark.run import Manifest
from slotmark.statistics.interval import Interval

LONGEST_NAME = 1_024
"""Characters of a benchmark's name in Bencher's format at most."""

_BASE: dict[str, tuple[float, str, str]] = {
    "s": (1.0, "sec", "seconds"),
    "ms": (1e-3, "sec", "seconds"),
    "us": (1e-6, "sec", "seconds"),
    "ns": (1e-9, "sec", "seconds"),
    "B": (1.0, "B", "bytes"),
    "MB": (1e6, "B", "bytes"),
    "MiB": (1 << 20, "B", "bytes"),
    "KiB/s": (1 << 10, "B/s", "bytes_per_second"),
    "MiB/s": (1 << 20, "B/s", "bytes_per_second"),
    "MB/s": (1e6, "B/s", "bytes_per_second"),
    "blocks/s": (1.0, "blocks/s", "blocks_per_second"),
    "events/s": (1.0, "events/s", "events_per_second"),
    "/s": (1.0, "1/s", "per_second"),
    "%": (1e-2, "ratio", "ratio"),
    "% of a core": (1e-2, "cores", "cores"),
    "": (1.0, "ratio", "ratio"),
}
"""By unit the factor to a base unit, its name for benchstat, and its name for OpenMetrics; other units are counts of what they name."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one run in one part.

    Attributes:
        manifest: The run's.
        metric: The catalogue's entry.
        part: Which samples; empty for all.
        quantity: What of them; empty where the metric has one only.
        level: In the metric's unit.
        interval: Of the level, in the same; None where samples aren't independent.
        samples: The independent samples, in the same; empty where they aren't, or are more than are kept.
    """

    manifest: Manifest
    metric: Metric
    part: str
    quantity: str
    level: float
    interval: Interval | None
    samples: Sequence[float]

    @property
    def benchmark(self) -> tuple[str, ...]:
        """The bench, the target, and the part: what a series of figures over versions is of."""
        return tuple(map(one_line, filter(None, (self.manifest.bench, self.manifest.target.name, self.part))))

    @property
    def measure(self) -> str:
        """The metric's id, with the quantity where it has several."""
        return "-".join(filter(None, (self.metric.id, self.quantity.replace(" ", "-"))))

    def scaled(self, value: float) -> float:
        """A value of the metric in its base unit."""
        return value * _BASE.get(self.metric.unit, (1.0,))[0]


def figures(runs: Iterable[Comparison]) -> list[Figure]:
    """The figures of runs by themselves (:func:`slotmark.compare.alone`), in the order of the catalogue; without those that a run doesn't record."""
    found = []
    for run in runs:
        for row in run.rows:
            level, summary = row.levels[0], row.summaries[0]
            if level is None or summary is None:
                continue
            independent = summary.median_interval is not None
            found.append(
                Figure(
                    manifest=run.baseline.manifest,
                    metric=row.metric,
                    part=row.part,
                    quantity=row.quantity if row.quantity in OF_BLOCKS else "",
                    level=level,
                    interval=summary.median_interval,
                    samples=[value for _, value in summary.samples] if independent else [],
                )
            )
    return found


def bencher(found: Sequence[Figure]) -> str:
    """Bencher Metric Format: ``{benchmark: {measure: {value, lower_value, upper_value}}}``, in the units of the metrics, which the format doesn't have. ArgumentError as :func:`github_action`."""
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for one in _of_one_run_each(found):
        ends = {"lower_value": one.interval.low, "upper_value": one.interval.high} if one.interval else {}
        name = "/".join(one.benchmark)[:LONGEST_NAME]
        benchmarks.setdefault(name, {})[one.measure] = {"value": one.level, **ends}
    return _json(benchmarks)


def github_action(found: Sequence[Figure]) -> str:
    """The list that github-action-benchmark takes of its tools ``customSmallerIsBetter`` and ``customBiggerIsBetter``, which is a file of one direction each. ArgumentError where a series is in two runs."""
    entries = []
    for one in _of_one_run_each(found):
        ends = {"range": f"{plain(one.interval.low)} to {plain(one.interval.high)}"} if one.interval else {}
        name = "/".join((*one.benchmark, one.measure))
        version = " ".join(filter(None, (one.manifest.target.version, one.manifest.target.commit)))
        entries.append({"name": name, "unit": one.metric.unit or "ratio", "value": one.level, **ends, "extra": version})
    return _json(entries)


def benchfmt(found: Sequence[Figure]) -> str:
    """Go's benchmark format, as benchstat reads it: a line per independent sample, or one per run where samples depend on each other.

    Values are in base units, with the metric as a part of the name.
    """
    better: dict[str, set[str]] = {}
    for one in found:
        better.setdefault(_unit(one)[0], set()).add(one.metric.better)
    lines = [f"Unit {unit} better={next(iter(ways))}" for unit, ways in sorted(better.items()) if len(ways) == 1]
    about = ""
    for one in found:
        target = one.manifest.target
        # A remark, and no key with a value: benchstat would show files whose keys differ in tables of their own.
        said = one_line(" ".join(("#", one.manifest.id, target.name, target.version, target.commit)))
        lines += [said] if said != about else []
        about = said
        parts = [one.manifest.bench.capitalize(), f"metric={one.measure}", *([f"part={one.part}"] if one.part else [])]
        name = "Benchmark" + "/".join(re.sub(r"[^\w.=,]+", "_", part) for part in parts)
        lines += [f"{name} 1 {one.scaled(value)!r} {_unit(one)[0]}" for value in one.samples or [one.level]]
    return "".join(f"{line}\n" for line in lines)


def openmetrics(found: Sequence[Figure]) -> str:
    """OpenMetrics text: a gauge per metric in base units; the label ``value`` is ``level``, or ``low`` or ``high`` for an end of its interval."""
    families: dict[str, list[Figure]] = {}
    for one in found:
        stem = re.sub(r"\W+", "_", f"slotmark_{one.manifest.bench}_{one.measure}", flags=re.ASCII).lower()
        families.setdefault(f"{stem.removesuffix('_' + _unit(one)[1])}_{_unit(one)[1]}", []).append(one)
    lines = []
    for name, members in families.items():
        first = members[0].metric
        lines += [
            f"# TYPE {name} gauge",
            f"# UNIT {name} {_unit(members[0])[1]}",
            f"# HELP {name} {_escaped(first.definition)}",
        ]
        for one in members:
            target = one.manifest.target
            labels = {"run": one.manifest.id, "target": target.name, "version": target.version, "commit": target.commit}
            labels |= {"part": one.part}
            values = {"level": one.level} | (
                {"low": one.interval.low, "high": one.interval.high} if one.interval else {}
            )
            for kind, value in values.items():
                shown = ",".join(
                    f'{label}="{_escaped(text)}"' for label, text in {**labels, "value": kind}.items() if text
                )
                lines.append(f"{name}{{{shown}}} {one.scaled(value)!r}")
    return "".join(f"{line}\n" for line in [*lines, "# EOF"])


FORMATS: dict[str, Callable[[Sequence[Figure]], str]] = {
    "bmf": bencher,
    "github-action-benchmark": github_action,
    "benchfmt": benchfmt,
    "openmetrics": openmetrics,
}
"""Writers of each format, by its name on the command line."""


def _of_one_run_each(found: Sequence[Figure]) -> Sequence[Figure]:
    """The figures. ArgumentError where two are of one name: these formats have one value of each."""
    runs: dict[tuple[str, ...], str] = {}
    for one in found:
        if runs.setdefault((*one.benchmark, one.measure), one.manifest.id) != one.manifest.id:
            raise ArgumentError(
                f"export: {'/'.join(one.benchmark)} is in two of these runs, and this format has one value of each. Export each run by itself."
            )
    return found


def _unit(one: Figure) -> tuple[str, str]:
    """The names of the base unit for benchstat and for OpenMetrics."""
    unit = re.sub(r"\W+", "_", one.metric.unit, flags=re.ASCII)
    return _BASE.get(one.metric.unit, (1.0, unit, unit))[1:]


def _escaped(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def _json(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
