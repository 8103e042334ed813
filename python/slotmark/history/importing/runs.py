"""From a record to a run folder."""

from pathlib import Path

import pyarrow as pa

from slotmark.history.importing.figures import Record
from slotmark.run import Manifest, Run, RunWriter, SourceFile, Target
from slotmark.run.integrity import digest_of
from slotmark.versions import versions

BENCH = "foreign"


def write_run(record: Record, target: str, form: str, source: Path, out: Path) -> Run:
    """Writes a run of what a file has of one commit.

    Args:
        record: The figures, with all that is known about them.
        target: The software that they are of.
        form: The file's format.
        source: The file; of a folder nothing is kept but its name.
        out: The new run.

    Raises:
        RunError: The folder is there already, or can't be written.
    """
    rows = [
        (figure.part, figure.metric, number, value, record.ref, record.at, record.machine, target)
        for figure in sorted(record.figures, key=lambda one: (one.part, one.metric))
        for number, value in enumerate(figure.samples)
    ]
    # A run is known by its tables: with these in them, equal figures of two commits, times, machines or targets are two runs.
    columns = {
        "part": pa.string(),
        "metric": pa.string(),
        "sample_no": pa.int64(),
        "value": pa.float64(),
        "commit": pa.string(),
        "at": pa.string(),
        "machine": pa.string(),
        "target": pa.string(),
    }
    table = pa.table(
        {name: pa.array([row[place] for row in rows], kind) for place, (name, kind) in enumerate(columns.items())}
    )
    sources = [SourceFile(source.name, source.stat().st_size, digest=digest_of(source))] if source.is_file() else []
    with RunWriter(out) as writer:
        writer.table("figures", table)
        return writer.finish(
            Manifest(
                id=f"imported, {record.ref or record.at or source.name}",
                bench=BENCH,
                origin="imported",
                target=Target(name=target, version=record.ref, commit=record.ref),
                workload={"recorded by": form},
                parameters={},
                session=f"imported, {record.ref or record.at or source.name}",
                machine=None,
                started=record.at,
                ended="",
                versions=versions(),
                sources=sources,
                tables={},
                warnings=[],
            )
        )
