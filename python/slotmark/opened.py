"""The face for other people's programs: a run folder that gives its samples."""

from pathlib import Path
from typing import TYPE_CHECKING

from slotmark.run import Run
from slotmark.run import open_run as open_folder

if TYPE_CHECKING:
    from slotmark.metrics import Samples


class OpenedRun(Run):
    """A run folder that exists, with its manifest read; see :class:`slotmark.run.Run`."""

    def samples(self, metric: str) -> "Samples":
        """The samples of a metric: a table, a DuckDB relation, a pandas or a Polars frame.

        >>> open_run("runs/pallas").samples("blocks_per_s").parts
        ['decode, sequential']

        Raises:
            RunError: There is no such metric, or the run lacks a table that it needs.
        """
        from slotmark.metrics import samples  # noqa: PLC0415 - a reader of manifests needs no database

        return samples(self, metric)


def open_run(path: str | Path) -> OpenedRun:
    """Opens the run folder at ``path``.

    Raises:
        RunError: There is no run there, its manifest is damaged, or it has another schema version.
    """
    run = open_folder(path)
    return OpenedRun(run.path, run.manifest)
