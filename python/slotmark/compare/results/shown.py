"""Runs by themselves, as `show` and sessions print them."""

import msgspec

from slotmark.compare.results.rows import Summary
from slotmark.metrics import Metric
from slotmark.run import Manifest
from slotmark.warnings import Warning


class ShownRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run with all its metrics.

    Attributes:
        name: Of the run.
        manifest: Of the run.
        analysed: The filters that blocks and slots pass, in words; empty where the bench has none.
        warnings: Those of the manifest, and on what was analysed.
        facts: Names and values of the bench's own facts.
        rows: Each metric in each part, in the catalogue's order, with its samples.
        unrecorded: Metrics that the run has no samples of.
    """

    name: str
    manifest: Manifest
    analysed: list[str]
    warnings: list[Warning]
    facts: list[tuple[str, str]]
    rows: list[tuple[Metric, str, Summary]]
    unrecorded: list[Metric]


class ShownSession(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one session in short.

    Attributes:
        names: Of the runs.
        manifests: Of the runs.
        metrics: Those that tables have in short and that a run has.
        medians: By part, then by run: the median of each metric; None where the run has none.
    """

    names: list[str]
    manifests: list[Manifest]
    metrics: list[Metric]
    medians: dict[str, list[list[float | None]]]
