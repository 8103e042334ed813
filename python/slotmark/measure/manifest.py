"""From a session to run folders: a manifest per target, and all folders or none."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from slotmark.measure.session import Head
from slotmark.run import Manifest, Origin, Run, RunWriter, SourceFile, Target, utc_now
from slotmark.versions import versions
from slotmark.warnings import Warning


class NewRun(msgspec.Struct, frozen=True, kw_only=True):
    """A target's run, to be written.

    Attributes:
        folder: The new run folder.
        head: The session.
        ended: ISO 8601, UTC; empty for now.
        bench: The bench.
        origin: As of a manifest.
        target: The target.
        workload: As of a manifest.
        parameters: As of a manifest.
        tables: By name; or of a table that is in files already, those Parquet files in order.
        sources: Files that the run was made from.
        versions: Versions of the programs that took part, beside slotmark's own.
        warnings: About this run.
    """

    folder: Path
    head: Head
    ended: str = ""
    bench: str
    origin: Origin = "measured"
    target: Target
    workload: dict[str, str]
    parameters: dict[str, Any]
    tables: Mapping[str, pa.Table | Sequence[Path]]
    sources: list[SourceFile]
    versions: dict[str, str] = {}
    warnings: list[Warning]


def write_runs(runs: Iterable[NewRun]) -> list[Run]:
    """Writes run folders; either all are there in the end, or none. RunError where one is there already, or there's no room."""
    now = utc_now()
    with ExitStack() as stack:
        finishing: list[tuple[RunWriter, Manifest]] = []
        for run in runs:
            writer = stack.enter_context(RunWriter(run.folder))
            for name, table in run.tables.items():
                if isinstance(table, pa.Table):
                    writer.table(name, table)
                else:
                    writer.copy(name, table)
            manifest = Manifest(
                id=f"{run.head.session}-{run.target.name}",
                bench=run.bench,
                origin=run.origin,
                target=run.target,
                workload=run.workload,
                parameters=run.parameters,
                session=run.head.session,
                machine=run.head.machine,
                started=run.head.started,
                ended=run.ended or now,
                versions={**versions(), **run.versions},
                sources=run.sources,
                tables={},
                warnings=run.warnings,
            )
            finishing.append((writer, manifest))
        return [writer.finish(manifest) for writer, manifest in finishing]
