"""The catalogue: every metric of a bench, as data.

One folder a bench beside this file: ``catalogue.toml`` with an entry a metric, and one ``.sql`` file a metric, or, where a metric is a
column of what several need, a relation: ``relations/NAME.sql``.
Tables, charts, the data dictionary and JSON all come from it, in its order.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from slotmark.errors import RunError

Better = Literal["higher", "lower"]


class Metric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of the catalogue.

    Attributes:
        id: Its name for machines, and of its SQL file.
        name: Its name for people.
        unit: The unit of a sample, as printed behind it; empty for a plain ratio.
        better: Which direction is an improvement.
        grain: The key columns of a sample besides ``setting``, as ``["round"]``. The first is what was repeated: samples within one
            of it aren't independent of each other.
        course: Whether to draw it over the run too, by its first grain column.
        section: The part of the report that it belongs to; empty where the bench has only one.
        statistic: What of its samples is compared: the typical one (a trimmed mean of log values) or their arithmetic mean.
        relation: The relation whose column it is; empty where it has SQL of its own.
        value: The column, or an expression of columns; rows where it is NULL have no sample.
        where: Which rows of the relation count, as SQL; all where it's empty.
        least: The smallest difference that matters, in the metric's unit, whatever its share of the baseline.
        scale: Of the chart's axis of values.
        locli: What the Cardano performance team's tool calls it, where it has it.
        width: Of its field in that tool's tables, in characters.
        tested: Whether compare tests it. False where it says the same as another metric, or is only drawn.
        margin: The equivalence margin, as a fraction of the baseline: differences within it don't matter.
        short: The head of its column where a session is shown in short; empty where it isn't shown there.
        chart: How to draw it: every sample as a dot, as a line over the last key column, or as a cumulative distribution.
        definition: What it is, in one or two sentences.
        published: How an established tool computes it, where that differs.
    """

    id: str
    name: str
    unit: str
    better: Better
    grain: tuple[str, ...]
    tested: bool = True
    margin: float = 0.02
    short: str = ""
    chart: Literal["dots", "timeline", "cdf", "none"] = "none"
    course: bool = False
    section: str = ""
    statistic: Literal["typical", "mean"] = "typical"
    relation: str = ""
    value: str = ""
    where: str = ""
    least: float = 0.0
    scale: Literal["linear", "log"] = "linear"
    locli: str = ""
    width: int = 5
    definition: str
    published: str = ""

    @property
    def unit_suffix(self) -> str:
        """The unit with a space before it, or nothing."""
        return f" {self.unit}" if self.unit else ""


class Catalogue(msgspec.Struct, frozen=True):
    """What is computed from the runs of one bench.

    Attributes:
        bench: Its name.
        metrics: In the order of reports.
        relations: What the metrics' SQL reads besides tables, each after those that it reads.
        about: The facts of a run's workload that a report begins with.
        published: The established tool or report with tables of such runs, as ``slotmark.published.METHODS`` names it; empty
            where there is none.
    """

    bench: str
    metrics: tuple[Metric, ...]
    relations: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    published: str = ""

    @property
    def in_rounds(self) -> bool:
        """Whether targets are measured together, in interleaved rounds."""
        return all(metric.grain[:1] == ("round",) for metric in self.metrics)

    def __getitem__(self, metric_id: str) -> Metric:
        """The metric of this id; RunError, with those that there are, where it has none."""
        for metric in self.metrics:
            if metric.id == metric_id:
                return metric
        raise RunError(f"{self.bench} has no metric '{metric_id}'. It has: {', '.join(m.id for m in self.metrics)}.")

    def sql(self, metric_id: str) -> str:
        """The text of the metric's SQL: ``setting``, the grain columns, ``value``."""
        metric = self[metric_id]
        if not metric.relation:
            return (files("slotmark.metrics") / self.bench / f"{metric_id}.sql").read_text(encoding="utf-8")
        keys = "".join(f"{column}, " for column in metric.grain)
        only = f" AND ({metric.where})" if metric.where else ""
        return (
            f"SELECT '' AS setting, {keys}CAST({metric.value} AS DOUBLE) AS value "
            f"FROM {metric.relation} WHERE ({metric.value}) IS NOT NULL{only}"
        )

    def relation_sql(self, name: str) -> str:
        """The text of a relation's SQL."""
        return (files("slotmark.metrics") / self.bench / "relations" / f"{name}.sql").read_text(encoding="utf-8")


class _Entries(msgspec.Struct, forbid_unknown_fields=True):
    metric: list[Metric]
    relations: list[str] = []
    about: list[str] = []
    published: str = ""


@cache
def catalogue(bench: str) -> Catalogue:
    """The catalogue of a bench; RunError where there is no such bench."""
    file = files("slotmark.metrics") / bench / "catalogue.toml"
    if not file.is_file():
        raise RunError(f"This slotmark knows no bench '{bench}'. Use the slotmark that wrote the run.")
    entries = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), _Entries)
    return Catalogue(bench, tuple(entries.metric), tuple(entries.relations), tuple(entries.about), entries.published)
