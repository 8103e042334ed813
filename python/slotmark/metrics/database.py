"""A run's tables in a database in memory that can reach nothing else.

A run folder comes from strangers. Names of tables are those that a bench's own SQL reads, never the manifest's; identifiers and
paths are quoted, and paths are no patterns; SQL can read nothing outside the run's folder of tables, change no setting, and load no extension.
"""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from slotmark.errors import RunError
from slotmark.run import Run

MEMORY_LIMIT = "500MiB"
"""What the database may use; beyond it, it writes to a temporary folder."""


class Database:
    """A run's tables, opened when they are first read.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._spill = tempfile.TemporaryDirectory(prefix="slotmark-")
        folder = f"{run.path / 'tables'}/"
        self._connection = duckdb.connect(
            config={
                "threads": len(os.sched_getaffinity(0)),
                "memory_limit": MEMORY_LIMIT,
                "temp_directory": self._spill.name,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "allow_community_extensions": False,
            }
        )
        self._parser = duckdb.connect()  # an empty one: where views exist, it binds them, and gives other names
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.execute("SET allowed_directories = ?", [[folder, _no_pattern(folder)]])
        self._connection.execute("ATTACH ':memory:' AS relations (COMPRESS)")
        self._connection.execute("USE relations")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Frees memory and removes what was written."""
        self._connection.close()
        self._parser.close()
        self._spill.cleanup()

    def names_in(self, sql: str) -> list[str]:
        """The tables that one SQL statement reads, sorted. duckdb.Error where it's no SQL."""
        return sorted(self._parser.get_table_names(sql))

    def fill(self, name: str, columns: Mapping[str, str], rows: Sequence[Sequence[object]]) -> None:
        """Makes a table of at least one row.

        Args:
            name: Of the table.
            columns: Their SQL types by name.
            rows: Values in the order of columns.
        """
        typed = ", ".join(f"{_identifier(column)} {kind}" for column, kind in columns.items())
        self.execute(f"CREATE TABLE {_identifier(name)} ({typed})")
        self._connection.executemany(
            f"INSERT INTO {_identifier(name)} VALUES ({', '.join('?' for _ in columns)})", rows
        )

    def open_table(self, name: str, words: frozenset[str]) -> None:
        """Makes a table of the run known.

        Args:
            name: As the manifest has it.
            words: Columns of text of which :meth:`name_words` was called.

        Raises:
            RunError: The run has no such table, or it's damaged.
        """
        files = _whole_files(self.run, name)
        listed = ", ".join(_quoted(_no_pattern(str(file))) for file in files)
        has = words.intersection(pq.read_schema(files[0]).names)
        casts = ", ".join(f"CAST({column} AS {column}) AS {column}" for column in map(_identifier, sorted(has)))
        self.execute(
            f"CREATE OR REPLACE VIEW {_identifier(name)} AS "
            f"SELECT *{f' REPLACE ({casts})' if casts else ''} FROM read_parquet([{listed}])"
        )

    def name_words(self, column: str, sql: str) -> None:
        """Makes a type for columns of text of this name, with the values that some SQL gives."""
        self.execute(f"CREATE TYPE {_identifier(column)} AS ENUM (SELECT DISTINCT * FROM ({sql}\n) ORDER BY ALL)")

    def make(self, name: str, sql: str) -> None:
        """Computes a table."""
        self.execute(f"CREATE TABLE {_identifier(name)} AS {sql}")
        self.execute("CHECKPOINT")

    def execute(self, sql: str) -> None:
        """Runs a statement."""
        self._connection.execute(sql)

    def select(self, sql: str) -> pa.Table:
        """What a query gives."""
        return self._connection.sql(sql).to_arrow_table()


def _whole_files(run: Run, name: str) -> list[Path]:
    """A table's files. RunError where one is missing or damaged, or they don't have the rows that the manifest tells."""
    files, rows = run.table_files(name), 0
    for file in files:
        try:
            rows += pq.read_metadata(file).num_rows
        except (OSError, pa.ArrowException) as error:
            raise RunError(
                f"{file}: not a readable Parquet file ({error}). Copy the run again from where it was made."
            ) from error
    if rows != run.manifest.tables[name]:
        raise RunError(
            f"{run.path / 'tables' / name}: {rows} rows, but run.json says {run.manifest.tables[name]}. The run was changed by hand."
        )
    return files


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _no_pattern(path: str) -> str:
    """A path in which DuckDB finds no pattern."""
    return re.sub(r"([*?\[])", r"[\1]", path)
