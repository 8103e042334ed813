"""Reading and writing run folders.

    <run>/run.json
    <run>/tables/NAME.parquet  or  <run>/tables/NAME/part-*.parquet

A folder is written under a temporary name beside its place and renamed when complete, so it is whole or it isn't there:
``_core.NewFolder``, as chains and simulated run directories are.
"""

import errno
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from slotmark import _core
from slotmark.cleaning import one_name
from slotmark.errors import RunError
from slotmark.run.integrity import damaged_table, digest_of, parts_of, refuse_unlike_tables
from slotmark.run.manifest import SCHEMA, Manifest, manifest_of


class Run:
    """A run folder that exists, with its manifest read.

    Attributes:
        path: The folder.
        manifest: What ``run.json`` says.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @property
    def name(self) -> str:
        """The name to show for it: its folder's."""
        return one_name(self.path.resolve().name)

    def table_files(self, name: str) -> list[Path]:
        """The Parquet files of a table, in order; RunError where the manifest doesn't list it or they are gone."""
        if name not in self.manifest.tables:
            have = ", ".join(self.manifest.tables) or "none"
            raise RunError(f"{self.path}: there is no table '{name}', only {have}.")
        return [self.path / "tables" / part.file for part in self.manifest.parts_of(name)]

    def table(self, name: str) -> pa.Table:
        """The table of this name in memory."""
        tables = []
        for path in self.table_files(name):
            try:
                tables.append(pq.ParquetFile(path).read())
            except (OSError, pa.ArrowException) as error:
                raise damaged_table(path, error) from error
        return pa.concat_tables(tables)


def open_run(path: str | Path) -> Run:
    """Opens the run folder at ``path``.

    A run folder is untrusted input. Its tables are those that the manifest lists, by plain names inside the folder; each must
    be there with the size and the rows that the manifest says. :func:`check_run` compares digests too.

    Raises:
        RunError: There is no run there, its manifest is damaged, it has another schema version, or its tables aren't what the
            manifest says.
    """
    folder = Path(path)
    file = folder / "run.json"
    if not file.is_file():
        if folder.is_dir():
            inside = sorted(child.parent.name for child in folder.glob("*/run.json"))
            hint = f" Name one of those inside it: {', '.join(inside)}." if inside else ""
            raise RunError(f"{folder}: not a run folder, it has no run.json.{hint}")
        raise RunError(f"{folder}: no such run folder.")
    text = file.read_bytes()
    try:
        content = msgspec.json.decode(text, type=dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"{file}: not JSON ({error}). The file is damaged; copy the run again.") from error
    version = content.get("schema")
    if version != SCHEMA:
        older = isinstance(version, int) and version < SCHEMA
        remedy = "Make the run again" if older else "Use the slotmark that wrote it"
        raise RunError(f"{file}: schema version {version}, but this slotmark reads version {SCHEMA}. {remedy}.")
    try:
        manifest = manifest_of(content)
    except (msgspec.ValidationError, RecursionError) as error:
        raise RunError(f"{file}: {error}. The file is damaged; copy the run again.") from error
    refuse_unlike_tables(folder, manifest)
    return Run(folder, manifest)


def open_runs(path: str | Path) -> list[Run]:
    """Opens the run folder at ``path``, or where it is a folder of run folders all of them, in the order of their names.

    Numbers in names count as numbers: ``seed-10`` comes after ``seed-9``.

    Raises:
        RunError: As :func:`open_run`, of any of them.
    """
    folder = Path(path)
    inside = [file.parent for file in folder.glob("*/run.json") if not file.parent.name.startswith(".")]
    if (folder / "run.json").exists() or not inside:
        return [open_run(folder)]
    return [open_run(run) for run in sorted(inside, key=_in_order)]


def _in_order(path: Path) -> tuple[list[str | int], str]:
    """A key that sorts names as people count; texts and numbers take turns, beginning with a text."""
    parts = re.split(r"([0-9]+)", path.name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], path.name


def check_run(path: str | Path) -> int:
    """Opens a run and compares the digest of every table's file with the manifest's; how many files there were.

    Raises:
        RunError: As :func:`open_run`, or a file's digest is another.
    """
    run = open_run(path)
    for part in run.manifest.parts:
        file = run.path / "tables" / part.file
        if digest_of(file) != part.digest:
            raise RunError(f"{file}: its digest isn't the one in run.json: the file was changed. Copy the run again.")
    return len(run.manifest.parts)


class RunWriter:
    """Writes one run folder; a context manager.

    Leaving it without :meth:`finish`, by an error or by Ctrl-C, leaves nothing behind.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder: _core.NewFolder | None = None
        self._rows: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Makes the temporary folder. RunError where a run is already there or the place can't be written."""
        refuse_existing(self.path)
        try:
            self._folder = _core.NewFolder(self.path)
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
        if self._folder is not None:
            self._folder.remove()

    def table(self, name: str, table: pa.Table) -> None:
        """Writes one table as Parquet, compressed with zstd."""
        path = self.tables_folder / f"{name}.parquet"
        try:
            pq.write_table(table, path, compression="zstd")
        except OSError as error:
            raise RunError(
                f"{self.path}: can't write table '{name}' ({error}). Nothing was kept; make room and run again."
            ) from error
        self._rows[name] = table.num_rows

    def copy(self, name: str, files: Sequence[Path]) -> None:
        """Takes one table from Parquet files that are there, in their order, which stay as they are."""
        folder = self.tables_folder / name
        try:
            folder.mkdir()
            for number, file in enumerate(files, start=1):
                shutil.copyfile(file, folder / f"part-{number:05}.parquet")
        except OSError as error:
            raise RunError(
                f"{self.path}: can't write table '{name}' ({error}). Nothing was kept; make room and run again."
            ) from error
        self._rows[name] = sum(pq.read_metadata(file).num_rows for file in files)

    @property
    def tables_folder(self) -> Path:
        """The folder for tables that other code writes, as ``NAME/part-*.parquet``; :meth:`add` notes them."""
        return self._unfinished.path / "tables"

    @property
    def _unfinished(self) -> _core.NewFolder:
        assert self._folder is not None, "used as a context manager"
        return self._folder

    def add(self, name: str, rows: int) -> None:
        """Notes a table that was written into :attr:`tables_folder`."""
        self._rows[name] = rows

    def finish(self, manifest: Manifest) -> Run:
        """Writes the manifest, its names cleaned, with the tables' row counts, and puts the folder in its place."""
        manifest = msgspec.structs.replace(
            manifest, tables=dict(self._rows), parts=parts_of(self.tables_folder, list(self._rows))
        )
        manifest = manifest_of(msgspec.to_builtins(manifest))
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        try:
            with (self._unfinished.path / "run.json").open("wb") as file:
                file.write(text + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self._unfinished.finish()
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                refuse_existing(self.path)  # another writer was faster
            raise RunError(
                f"{self.path}: can't write the run ({error}). Nothing was kept; make room and run again."
            ) from error
        return Run(self.path, manifest)


def refuse_existing(path: Path) -> None:
    """Raises RunError where something is already at the place of a run: a run is never overwritten."""
    if path.exists():
        raise RunError(f"{path}: already there, and a run is never overwritten. Choose another -o or move it away.")
