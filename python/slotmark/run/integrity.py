"""Checks a run's tables against its manifest: names, places, sizes, rows.

A run comes from a stranger: a table's name is a plain word, and its files lie inside the folder.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from slotmark.errors import RunError
from slotmark.places import Place
from slotmark.run.manifest import Manifest, TablePart
from slotmark.run.storage import MANIFEST, Storage, damaged_table, digest_of

_TABLE = re.compile("[a-z][a-z0-9_]{0,63}")
_PART = re.compile(r"part-[0-9A-Za-z_-]{1,64}\.parquet")


def parts_of(tables: Path, names: Sequence[str]) -> list[TablePart]:
    """The files of the tables that were written below a folder, in the order of the names."""
    return [
        TablePart(
            name,
            file,
            _metadata(tables / file, tables / file).num_rows,
            (tables / file).stat().st_size,
            digest_of(tables / file),
        )
        for name in names
        for file in _listed(tables, name)
    ]


def refuse_unlike_tables(storage: Storage, manifest: Manifest) -> None:
    """Raises RunError where a table isn't what the manifest says, naming the file.

    Checked are names, that files lie inside the folder, their presence, size and rows, and that the files of a table have the
    same columns.
    """
    folder = storage.place
    _refuse_names(folder / MANIFEST, manifest)
    sizes = dict(zip(manifest.parts, storage.sizes(manifest.parts), strict=True))
    for name, rows in manifest.tables.items():
        parts = manifest.parts_of(name)
        if not parts:
            raise RunError(f"{folder / MANIFEST}: lists no file of table '{name}'. The file was changed by hand.")
        found = [_checked(storage, part, sizes[part]) for part in parts]
        for part, one in zip(parts, found, strict=True):
            if not one.schema.equals(found[0].schema):
                raise RunError(
                    f"{folder / f'tables/{part.file}'}: has other columns than the table's first file. The run was changed by hand."
                )
        counted = sum(one.num_rows for one in found)
        if counted != rows:
            raise RunError(
                f"{folder / f'tables/{name}'}: {counted} rows, but run.json says {rows}. The run was changed by hand."
            )


def _refuse_names(file: Place, manifest: Manifest) -> None:
    for name in [*manifest.tables, *(part.table for part in manifest.parts)]:
        if not _TABLE.fullmatch(name):
            raise RunError(
                f"{file}: {name!r} is no name of a table: small letters, digits and _ are. The file was changed by hand."
            )
        if name not in manifest.tables:
            raise RunError(f"{file}: has files of a table '{name}' that it doesn't list. The file was changed by hand.")
    for part in manifest.parts:
        if not _placed(part.table, part.file):
            raise RunError(
                f"{file}: {part.file!r} is no place of a file of '{part.table}'. The file was changed by hand."
            )


def _checked(storage: Storage, part: TablePart, size: int | None) -> pq.FileMetaData:
    """The footer of a file that is there and as large as the manifest says."""
    path = storage.place / f"tables/{part.file}"
    again = "copy the run again from where it was made."
    if size is None:
        raise RunError(f"{path}: the manifest lists this file but it is gone; {again}")
    if size != part.bytes:
        raise RunError(f"{path}: {size:,} bytes, but run.json says {part.bytes:,}: cut or changed; {again}")
    metadata = _metadata(storage.folder / "tables" / part.file, path)
    if metadata.num_rows != part.rows:
        raise RunError(f"{path}: {metadata.num_rows} rows, but run.json says {part.rows}: changed; {again}")
    return metadata


def _metadata(file: Path, shown: Place) -> pq.FileMetaData:
    try:
        return pq.read_metadata(file)
    except (OSError, pa.ArrowException) as error:
        raise damaged_table(shown, error) from error


def _placed(table: str, file: str) -> bool:
    folder, slash, name = file.rpartition("/")
    return file == f"{table}.parquet" if not slash else folder == table and _PART.fullmatch(name) is not None


def _listed(tables: Path, name: str) -> list[str]:
    """The files of a table that are there, in order; names are compared, never expanded."""
    if (tables / f"{name}.parquet").is_file():
        return [f"{name}.parquet"]
    if not (tables / name).is_dir():
        return []
    return [f"{name}/{file.name}" for file in sorted((tables / name).iterdir()) if _PART.fullmatch(file.name)]
