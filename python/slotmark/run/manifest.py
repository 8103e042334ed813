"""The record of a run: ``run.json``."""

import datetime
import hashlib
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from slotmark.cleaning import cleaned
from slotmark.run.machine import MachineFacts
from slotmark.warnings import Warning

SCHEMA = 2
"""The version of the layout of a run folder. Readers refuse any other."""

ROUND = "round"
"""The parameter that has which round of its session a run is of, from 1, where a session has a run of every target in each."""

TARGET_PLACE = "target place"
"""The parameter that has the place of a run's target among those of its session, from 0."""

FACTORS = "target factors"
"""The parameter that has the level of each factor by which targets of a study differ, by its name."""

MIXED = "mixed"
"""The parameter that has the names of two targets, the baseline first, that shared the hosts of one cluster; table ``host_nodes`` has which ran where."""

Origin = Literal["measured", "simulated", "imported", "published"]
"""The source of a run's figures: real software was measured and slotmark ran it or read its logs; a model produced them in virtual time; another tool had measured them and they were taken over as it wrote them; or they are from the tables of a report, as printed."""


class Target(msgspec.Struct, frozen=True):
    """The thing under test.

    Attributes:
        name: As given to ``--target``.
        version: As the target reports it.
        language: Language it is written in; empty where it isn't reported.
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
        sha256: Its SHA-256 in hex, of files of the ledger and chainsync benches; else empty.
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
        bench: Its name.
        origin: Source of its figures; None where the bench doesn't record it.
        target: The thing under test.
        workload: What the target was made to do, one entry a fact, in the order in which to show them.
        parameters: What was asked for on the command line, seed included.
        observed: Measurements of the run as a whole that are no settings, as how busy the machine was; they differ from run to run.
        session: Runs measured together, interleaved, share it; only their samples can be paired.
        machine: Facts about the machine before the first measurement; None where it was measured elsewhere, as on a cluster.
        started: ISO 8601, UTC.
        ended: ISO 8601, UTC.
        versions: slotmark's own version and commit, and those of what took part.
        sources: The files that the run was made from.
        tables: Rows of each table.
        parts: The files of the tables.
        warnings: Warnings about this run.
    """

    schema: int = SCHEMA
    id: str
    bench: str
    origin: Origin | None = None
    target: Target
    workload: dict[str, str]
    parameters: dict[str, Any]
    observed: dict[str, Any] = {}
    session: str
    machine: MachineFacts | None
    started: str
    ended: str
    versions: dict[str, str]
    sources: list[SourceFile]
    tables: dict[str, int]
    parts: list[TablePart] = []
    warnings: list[Warning]

    def parts_of(self, table: str) -> list[TablePart]:
        """The files of a table."""
        return [part for part in self.parts if part.table == table]

    @property
    def round(self) -> int:
        """Returns the run's round in its session, from 1; 0 where the run belongs to no single round."""
        number = self.parameters.get(ROUND)
        return number if isinstance(number, int) and number > 0 else 0

    @property
    def factors(self) -> dict[str, str]:
        """The level of each factor by which the run's target differs from others of its study; empty where it is of none."""
        levels = self.parameters.get(FACTORS)
        return {name: str(level) for name, level in levels.items()} if isinstance(levels, dict) else {}

    @property
    def took_s(self) -> float | None:
        """The time that the run took, in seconds; None where it was simulated or that isn't recorded."""
        try:
            began, ended = (datetime.datetime.fromisoformat(at) for at in (self.started, self.ended))
            took_s = (ended - began).total_seconds()
        except (ValueError, TypeError):
            return None
        return None if self.origin == "simulated" else max(0.0, took_s)

    @property
    def mixed(self) -> list[str]:
        """The names of the two targets that shared the cluster of this run, the baseline first; empty where it had one."""
        names = self.parameters.get(MIXED)
        return [str(name) for name in names] if isinstance(names, list) and len(names) == 2 else []

    @property
    def recordings(self) -> dict[str, str]:
        """The paths of the files that no other run may be made from, by their digests.

        None where other runs may have the same: runs that slotmark started share a chain, and a report's tables have several runs. Else they are what was recorded elsewhere: a file is of one run.
        """
        if self.origin == "published" or (self.origin == "measured" and self.machine is not None):
            return {}
        return {file.identity: file.path for file in self.sources if file.bytes and file.identity}

    @property
    def content(self) -> str:
        """A digest of the run's tables, the same for a copy under any name and identity."""
        lines = sorted(f"{part.table} {part.rows} {part.digest}\n" for part in self.parts)
        return f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def manifest_of(content: Any) -> Manifest:
    """The manifest out of JSON types, with every name and text as :func:`slotmark.cleaning.cleaned` has it.

    Raises:
        msgspec.ValidationError: A member is missing or of another type.
        RecursionError: It is nested without end.
    """
    return msgspec.convert(cleaned(content), type=Manifest)


def title_with_origin(title: str, manifests: Iterable[Manifest]) -> str:
    """A report's title, which begins with the word where what it shows is simulated; of some runs only, with that."""
    simulated = [manifest.origin == "simulated" for manifest in manifests]
    if not any(simulated):
        return title
    return f"{'Simulated' if all(simulated) else 'Partly simulated'}: {title}"
