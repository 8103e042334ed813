"""The catalogue: every metric of a bench, as data.

One folder a bench beside this file: ``catalogue.toml`` with an entry a metric, and one ``.sql`` file a metric.
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
        grain: The key columns of a sample besides ``setting``, as ``["round"]``.
        tested: Whether compare tests it. False where it says the same as another metric, or is only drawn.
        margin: The equivalence margin, as a fraction of the baseline: differences within it don't matter.
        short: The head of its column where a session is shown in short; empty where it isn't shown there.
        chart: How to draw it: every sample as a dot, or as a line over the last key column.
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
    chart: Literal["dots", "timeline", "none"] = "none"
    definition: str
    published: str = ""

    @property
    def unit_suffix(self) -> str:
        """The unit with a space before it, or nothing."""
        return f" {self.unit}" if self.unit else ""


class Catalogue(msgspec.Struct, frozen=True):
    """The metrics of one bench, in order."""

    bench: str
    metrics: tuple[Metric, ...]

    def __getitem__(self, metric_id: str) -> Metric:
        """The metric of this id; RunError, with those that there are, where it has none."""
        for metric in self.metrics:
            if metric.id == metric_id:
                return metric
        raise RunError(f"{self.bench} has no metric '{metric_id}'. It has: {', '.join(m.id for m in self.metrics)}.")

    def sql(self, metric_id: str) -> str:
        """The text of the metric's SQL."""
        return (files("slotmark.metrics") / self.bench / f"{metric_id}.sql").read_text(encoding="utf-8")


class _Entries(msgspec.Struct, forbid_unknown_fields=True):
    metric: list[Metric]


@cache
def catalogue(bench: str) -> Catalogue:
    """The catalogue of a bench; RunError where there is no such bench."""
    file = files("slotmark.metrics") / bench / "catalogue.toml"
    if not file.is_file():
        raise RunError(f"This slotmark knows no bench '{bench}'. Use the slotmark that wrote the run.")
    entries = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), _Entries)
    return Catalogue(bench, tuple(entries.metric))
