"""Reading and writing runs.

    <run>/run.json
    <run>/tables/NAME.parquet  or  <run>/tables/NAME/part-*.parquet

A run is whole or it isn't there, in a folder as in an object store: :mod:`slotmark.run.storage`.
"""

import errno
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from slotmark.cleaning import one_name
from slotmark.errors import RunError, remedy, unwritten
from slotmark.places import Place, Url, place
from slotmark.run.integrity import parts_of, refuse_unlike_tables
from slotmark.run.manifest import ROUND, SCHEMA, Manifest, TablePart, manifest_of
from slotmark.run.storage import (
    MANIFEST,
    Storage,
    Unfinished,
    begin,
    damaged_table,
    digest_of,
    refuse_existing,
    storage_of,
)
from slotmark.whole_files import written_whole


class Run:
    """A run that exists, with its manifest read.

    Attributes:
        place: Where it is: its folder, or its URL in an object store.
        manifest: What ``run.json`` says.
        storage: How its tables are read.
    """

    def __init__(self, at: Place, manifest: Manifest, storage: Storage | None = None) -> None:
        self.place = at
        self.manifest = manifest
        self.storage = storage or storage_of(at)

    @property
    def path(self) -> Path:
        """The folder of this machine that its tables are read from; of a run in a store a temporary one, which ends with this object."""
        return self.storage.folder

    @property
    def name(self) -> str:
        """The name to show for it: its folder's."""
        return one_name(self.place.resolve().name)

    def table_files(self, name: str) -> list[Path]:
        """The Parquet files of a table, in order, with the columns that were fetched; RunError where the manifest doesn't list it."""
        if name not in self.manifest.tables:
            have = ", ".join(self.manifest.tables) or "none"
            raise RunError(f"{self.place}: there is no table '{name}', only {have}.")
        return [self.storage.folder / "tables" / part.file for part in self.manifest.parts_of(name)]

    def fetch(self, name: str, columns: Collection[str] | None = None) -> None:
        """Has columns of a table, or all of them, be in its files: of a run in a store they aren't before."""
        self.storage.fetch(self.manifest.parts_of(name), columns)

    def table(self, name: str) -> pa.Table:
        """The table of this name in memory."""
        tables = []
        files = self.table_files(name)
        self.fetch(name)
        for path in files:
            try:
                tables.append(pq.ParquetFile(path).read())
            except (OSError, pa.ArrowException) as error:
                raise damaged_table(in_its_place(self.storage, str(path)), error) from error
        return pa.concat_tables(tables)


def in_its_place(storage: Storage, text: str) -> str:
    """A text about files of a run, with the run's place where the folder is that they are read from."""
    return text.replace(str(storage.folder), str(storage.place))


def open_run(path: str | Place) -> Run:
    """Opens the run at ``path``: a folder, or a URL of an object store.

    A run is untrusted input. Its tables are those that the manifest lists, by plain names inside the folder; each must
    be there with the size and the rows that the manifest says. :func:`check_run` compares digests too.

    Raises:
        RunError: There is no run there, its manifest is damaged, it has another schema version, or its tables aren't what the
            manifest says.
        StoreError: The store fails.
    """
    found = place(path)
    storage = storage_of(found)
    text = storage.manifest()
    if text is None:
        raise _no_run(storage)
    return _opened(storage, text)


def _opened(storage: Storage, text: bytes) -> Run:
    file = storage.place / MANIFEST
    try:
        content = msgspec.json.decode(text, type=dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"{file}: no manifest ({error}). The file is damaged; copy the run again.") from error
    version = content.get("schema")
    if version != SCHEMA:
        older = isinstance(version, int) and version < SCHEMA
        remedy = "Make the run again" if older else "Use the slotmark that wrote it"
        raise RunError(f"{file}: schema version {version}, but this slotmark reads version {SCHEMA}. {remedy}.")
    try:
        manifest = manifest_of(content)
    except (msgspec.ValidationError, RecursionError) as error:
        raise RunError(f"{file}: {error}. The file is damaged; copy the run again.") from error
    refuse_unlike_tables(storage, manifest)
    return Run(storage.place, manifest, storage)


def _no_run(storage: Storage) -> RunError:
    """The error about a place where there is no run."""
    found = storage.place
    inside = sorted(one_name(one.name) for one in storage.inside())
    hint = f" Name one of those inside it: {', '.join(inside)}." if inside else ""
    if isinstance(found, Path):
        if found.is_dir():
            remedy = hint or " Name one; of a folder of logs, `slotmark ingest` makes one."
            return RunError(f"{found}: not a run folder, it has no run.json.{remedy}")
        return RunError(f"{found}: {'a file; name the folder of a run' if found.exists() else 'no such run folder'}.")
    return RunError(f"{found}: there is no run, no {MANIFEST} is there.{hint}")


def open_runs(path: str | Place) -> list[Run]:
    """Opens the run at ``path``, or where it is a folder of runs all of them, in the order of their names.

    Numbers in names count as numbers: ``seed-10`` comes after ``seed-9``.

    Raises:
        RunError: As :func:`open_run`, of any of them.
    """
    storage = storage_of(place(path))
    text = storage.manifest()
    if text is not None:
        return [_opened(storage, text)]
    inside = storage.inside()
    if not inside:
        raise _no_run(storage)
    return [open_run(run) for run in sorted(inside, key=_in_order)]


def _in_order(path: Place) -> tuple[list[str | int], str]:
    """A key that sorts names as people count; texts and numbers take turns, beginning with a text."""
    parts = re.split(r"([0-9]+)", path.name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], path.name


def check_run(path: str | Place) -> int:
    """Opens a run and compares the digest of every table's file with the manifest's; how many files there were.

    Raises:
        RunError: As :func:`open_run`, or a file's digest is another.
    """
    run = open_run(path)
    for part in run.manifest.parts:
        _refuse_changed(run, part, run.storage.digest(part))
    return len(run.manifest.parts)


def copy_run(source: Place, to: Place) -> Run:
    """Copies a run to another place, where it has the same tables, file by file.

    Raises:
        RunError: As :func:`check_run`; or something is at the other place, or there is no room.
        StoreError: A store fails.
    """
    run = open_run(source)
    with RunWriter(to) as writer:
        for name in run.manifest.tables:
            files = run.table_files(name)
            run.fetch(name)
            for part, file in zip(run.manifest.parts_of(name), files, strict=True):
                _refuse_changed(run, part, digest_of(file))
            writer.copy(name, files)
        return writer.finish(run.manifest)


def as_of_round(run: Run, session: str, number: int) -> Run:
    """Notes in the manifest of a run in a folder that it is of a round of a session, in the place of what stood there; RunError where it can't be written."""
    manifest = msgspec.structs.replace(
        run.manifest, session=session, parameters={**run.manifest.parameters, ROUND: number}
    )
    try:
        with written_whole(run.path / MANIFEST) as (partial,):
            partial.write_bytes(_text_of(manifest))
    except OSError as error:
        raise RunError(unwritten(run.path / MANIFEST, error, "")) from error
    return Run(run.place, manifest)


def _text_of(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def _refuse_changed(run: Run, part: TablePart, digest: str) -> None:
    if digest != part.digest:
        file = run.place / f"tables/{part.file}"
        raise RunError(f"{file}: its digest isn't the one in run.json: the file was changed. Copy the run again.")


class RunWriter:
    """Writes one run, into a folder or an object store; a context manager.

    Leaving it without :meth:`finish`, by an error or by Ctrl-C, leaves nothing behind.
    """

    def __init__(self, path: Place) -> None:
        self.path = path
        self._new: Unfinished | None = None
        self._rows: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Makes the temporary folder. RunError where a run is already there or the place can't be written."""
        if not isinstance(self.path, Url):
            refuse_existing(self.path)
        try:
            self._new = begin(self.path)
            self.tables_folder.mkdir()
        except OSError as error:
            self.__exit__(None, None, None)
            raise RunError(
                f"{self.path}: can't make this folder ({error.strerror}). Choose another place with -o."
            ) from error
        except BaseException:  # a signal: what wasn't entered is never left
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Removes whatever wasn't finished."""
        if self._new is not None:
            self._new.remove()

    def table(self, name: str, table: pa.Table) -> None:
        """Writes one table as Parquet, compressed with zstd."""
        path = self.tables_folder / f"{name}.parquet"
        try:
            pq.write_table(table, path, compression="zstd")
        except OSError as error:
            raise RunError(
                f"{self.path}: can't write table '{name}' ({error}). Nothing was kept. {remedy(error)}"
            ) from error
        self._rows[name] = table.num_rows

    def copy(self, name: str, files: Sequence[Path]) -> None:
        """Takes one table from Parquet files that are there, in their order, which stay as they are."""
        folder = self.tables_folder / name
        try:
            folder.mkdir()
            for number, file in enumerate(files, start=1):
                self._unfinished.take(file, folder / f"part-{number:05}.parquet")
        except OSError as error:
            raise RunError(
                f"{self.path}: can't write table '{name}' ({error}). Nothing was kept. {remedy(error)}"
            ) from error
        self._rows[name] = sum(pq.read_metadata(file).num_rows for file in files)

    @property
    def tables_folder(self) -> Path:
        """The folder for tables that other code writes, as ``NAME/part-*.parquet``; :meth:`add` notes them."""
        return self._unfinished.path / "tables"

    @property
    def _unfinished(self) -> Unfinished:
        assert self._new is not None, "used as a context manager"
        return self._new

    def add(self, name: str, rows: int) -> None:
        """Notes a table that was written into :attr:`tables_folder`."""
        self._rows[name] = rows

    def finish(self, manifest: Manifest) -> Run:
        """Writes the manifest, its names cleaned, with the tables' row counts, and puts the run in its place."""
        self._unfinished.named()
        manifest = msgspec.structs.replace(
            manifest, tables=dict(self._rows), parts=parts_of(self.tables_folder, list(self._rows))
        )
        manifest = manifest_of(msgspec.to_builtins(manifest))
        try:
            self._unfinished.finish(_text_of(manifest), manifest.parts)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                refuse_existing(self.path)  # another writer was faster
            raise RunError(f"{self.path}: can't write the run ({error}). Nothing was kept. {remedy(error)}") from error
        return Run(self.path, manifest)
