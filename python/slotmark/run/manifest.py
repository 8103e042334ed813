"""What is written down about a run: ``run.json``."""

from typing import Any

import msgspec

from slotmark.run.machine import MachineFacts
from slotmark.warnings import Warning

SCHEMA = 1
"""The version of the layout of a run folder. Readers refuse any other."""


class Target(msgspec.Struct, frozen=True):
    """The thing under test.

    Attributes:
        name: As given to ``--target``.
        version: As the target says it.
        language: What it is written in; empty where it doesn't say.
        commit: The commit it was built from, where it is known.
        toolchain: The compiler or runtime that built it, where it is known.
    """

    name: str
    version: str
    language: str = ""
    commit: str = ""
    toolchain: str = ""


class SourceFile(msgspec.Struct, frozen=True):
    """A file that the run was made from.

    Attributes:
        path: As it was named.
        bytes: Its size.
        sha256: Its SHA-256 in hex, of files of the ledger and chainsync benches and in cluster runs of before 2026-12; else empty.
        digest: Its digest with the algorithm before it, as ``blake3:9f…``; empty where the SHA-256 was taken.
    """

    path: str
    bytes: int
    sha256: str = ""
    digest: str = ""

    @property
    def identity(self) -> str:
        """The digest with its algorithm; empty where none was taken."""
        return self.digest or (f"sha256:{self.sha256}" if self.sha256 else "")


class TablePart(msgspec.Struct, frozen=True):
    """A Parquet file of a table.

    Attributes:
        table: The table's name.
        file: Its place below ``tables``: ``NAME.parquet`` or ``NAME/part-….parquet``.
        rows: How many it holds.
        bytes: Its size.
        digest: Its digest with the algorithm before it.
    """

    table: str
    file: str
    rows: int
    bytes: int
    digest: str


class Manifest(msgspec.Struct, kw_only=True, frozen=True):
    """All that is known about a run besides its tables.

    Attributes:
        schema: Always :data:`SCHEMA`.
        id: Unique: session and target.
        bench: ``chainsync``, ``ledger`` or ``cluster``.
        target: The thing under test.
        workload: What the target was made to do, one entry a fact, in the order in which to show them.
        parameters: What was asked for on the command line, seed included.
        session: Runs measured together, interleaved, share it; only their samples can be paired.
        machine: Facts about the machine before the first measurement; None where it was measured elsewhere, as on a cluster.
        started: ISO 8601, UTC.
        ended: ISO 8601, UTC.
        versions: slotmark's own version and commit, and those of what took part.
        sources: The files that the run was made from.
        tables: Rows of each table.
        parts: The files of the tables; empty in runs of before 2026-12.
        warnings: Doubts about this run.
    """

    schema: int = SCHEMA
    id: str
    bench: str
    target: Target
    workload: dict[str, str]
    parameters: dict[str, Any]
    session: str
    machine: MachineFacts | None
    started: str
    ended: str
    versions: dict[str, str]
    sources: list[SourceFile]
    tables: dict[str, int]
    parts: list[TablePart] = []
    warnings: list[Warning]
