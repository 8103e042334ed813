"""The face for other people's programs: a run folder that gives its metrics and their samples."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from slotmark.places import Place
from slotmark.run import Run
from slotmark.run import open_run as open_anywhere

if TYPE_CHECKING:
    from slotmark.metrics import Filter, Metric, Samples


class OpenedRun(Run):
    """A run folder that exists, with its manifest read; see :class:`slotmark.run.Run`.

    Attributes:
        filters: What of the run is analysed; None for what its own profile says.
    """

    def __init__(self, run: Run, filters: "Sequence[Filter] | None" = None) -> None:
        super().__init__(run.place, run.manifest, run.storage)
        self.filters = filters

    def _repr_html_(self) -> str:
        """The run as a table, for notebooks."""
        manifest = self.manifest
        facts = {
            "run": str(self.place),
            "bench": manifest.bench,
            "target": " ".join(filter(None, (manifest.target.name, manifest.target.version))),
            "origin": manifest.origin or "",
            "started": manifest.started,
            **manifest.workload,
            "warnings": str(len(manifest.warnings)),
        }
        lines = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items() if value)
        return f"<table>{''.join(lines)}</table>"

    def __repr__(self) -> str:
        manifest = self.manifest
        target = " ".join(filter(None, (manifest.target.name, manifest.target.version)))
        origin = f", {manifest.origin}" if manifest.origin else ""
        return f"<Run {self.place}: {manifest.bench}, {target}{origin}>"

    @property
    def metrics(self) -> "dict[str, Metric]":
        """The catalogue of its bench by metric id, in the order of reports; a run may lack samples of some.

        Raises:
            RunError: This slotmark doesn't have its bench.
        """
        from slotmark.metrics import catalogue  # noqa: PLC0415 - a reader of manifests needs no catalogue

        return {metric.id: metric for metric in catalogue(self.manifest.bench).metrics}

    def samples(self, metric: str) -> "Samples":
        """The samples of a metric: a table, a DuckDB relation, a pandas or a Polars frame.

        >>> open_run("runs/pallas").samples("blocks_per_s")
        <Samples of blocks_per_s, blocks/s: 10 in 'decode, sequential'>

        Raises:
            RunError: There is no such metric, or the run lacks a table that it needs.
        """
        from slotmark.metrics import Analysis  # noqa: PLC0415 - a reader of manifests needs no database

        with Analysis(self, filters=self.filters) as analysis:
            return analysis.named_samples(metric)


def open_run(path: str | Place, *, filters: Sequence[str] | None = None) -> OpenedRun:
    """Opens the run at ``path``.

    Args:
        path: The folder, or a URL of an object store.
        filters: What of the run is analysed, as of ``--filter``: names of sets, and conditions such as ``EpochGEq 2``; ``["none"]``
            for all of it, None for what its own profile says.

    Raises:
        ArgumentError: There is no such filter, or runs of its bench have none.
        RunError: There is no run there, its manifest is damaged, or it has another schema version.
    """
    run = open_anywhere(path)
    if filters is None:
        return OpenedRun(run)
    from slotmark.metrics import parse_filters  # noqa: PLC0415 - a reader of manifests needs no catalogue

    return OpenedRun(run, parse_filters(filters, run.manifest.bench))
