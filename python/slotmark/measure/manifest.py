"""From a session to run folders: a manifest per target, and all folders or none."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from slotmark.errors import RunError
from slotmark.measure.session import Head
from slotmark.run import Manifest, Origin, Run, RunWriter, SourceFile, Target, open_run, utc_now
from slotmark.run.folder import refuse_existing
from slotmark.run.manifest import ROUND
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


def written(folder: Path, session: str) -> Run | None:
    """The run in this folder, where it is of this session, which was cut while it wrote its runs; else None."""
    try:
        run = open_run(folder)
    except RunError:
        return None
    return run if run.manifest.session == session else None


def refuse_others(folders: Iterable[Path], session: str) -> None:
    """Raises RunError where anything is at the place of a run but the run that this session wrote there before it was cut."""
    for folder in folders:
        if written(folder, session) is None:
            refuse_existing(folder)


def write_runs(runs: Iterable[NewRun]) -> list[Run]:
    """Writes run folders; either all are there in the end, or none, unless the process is killed meanwhile.

    A run that its session wrote before it was cut stays as it is. RunError where something else is there, or there's no room.
    """
    now = utc_now()
    finished: list[Run] = []
    new: list[NewRun] = []
    try:
        with ExitStack() as stack:
            finishing: list[Run | tuple[RunWriter, Manifest]] = []
            for run in runs:
                if there := written(run.folder, run.head.session):
                    finishing.append(there)
                    continue
                finishing.append(_begun(run, stack.enter_context(RunWriter(run.folder)), now))
                new.append(run)
            for one in finishing:
                if isinstance(one, Run):
                    finished.append(one)
                else:
                    writer, manifest = one
                    finished.append(writer.finish(manifest))
    except BaseException:
        for run in new:
            if written(run.folder, run.head.session):
                shutil.rmtree(run.folder)
        raise
    return finished


def _begun(run: NewRun, writer: RunWriter, now: str) -> tuple[RunWriter, Manifest]:
    """The tables of a run, written, and the manifest that finishes it."""
    for name, table in run.tables.items():
        if isinstance(table, pa.Table):
            writer.table(name, table)
        else:
            writer.copy(name, table)
    manifest = Manifest(
        id="-".join(str(part) for part in (run.head.session, run.target.name, run.parameters.get(ROUND)) if part),
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
    return writer, manifest
