"""The face for other people's programs: a run folder that gives its metrics and their samples."""

from pathlib import Path
from typing import TYPE_CHECKING

from slotmark.run import Run
from slotmark.run import open_run as open_folder

if TYPE_CHECKING:
    from slotmark.metrics import Metric, Samples


class OpenedRun(Run):
    """A run folder that exists, with its manifest read; see :class:`slotmark.run.Run`."""

    def __repr__(self) -> str:
        manifest = self.manifest
        target = " ".join(filter(None, (manifest.target.name, manifest.target.version)))
        origin = f", {manifest.origin}" if manifest.origin else ""
        return f"<Run {self.path}: {manifest.bench}, {target}{origin}>"

    @property
    def metrics(self) -> "dict[str, Metric]":
        """The catalogue of its bench by metric id, in the order of reports; a run may lack samples of some.

        Raises:
            RunError: This slotmark doesn't know its bench.
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

        with Analysis(self) as analysis:
            return analysis.named_samples(metric)


def open_run(path: str | Path) -> OpenedRun:
    """Opens the run folder at ``path``.

    Raises:
        RunError: There is no run there, its manifest is damaged, or it has another schema version.
    """
    run = open_folder(path)
    return OpenedRun(run.path, run.manifest)
