"""SQL as text: names, texts and paths of strangers within it, the tables that it reads, and what its plan scans."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb


@lru_cache(maxsize=1_024)
def names_in(sql: str) -> tuple[str, ...]:
    """The tables that one SQL statement reads, sorted. duckdb.Error where it's no SQL."""
    with _PARSING:
        return tuple(sorted(_parser().get_table_names(sql)))


def allow_folders(connection: duckdb.DuckDBPyConnection, folders: Sequence[str]) -> None:
    """Lets a database read files in folders, once it may reach nothing else.

    Args:
        connection: Its connection.
        folders: The folders; each ends with a slash.
    """
    connection.execute(
        "SET allowed_directories = ?", [[name for folder in folders for name in (folder, no_pattern(folder))]]
    )


def parquet_files(files: Sequence[Path]) -> str:
    """SQL that stands for the rows of some files."""
    return f"read_parquet([{', '.join(quoted(no_pattern(str(file))) for file in files)}])"


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    """An empty database: where views exist, it binds them, and gives other names."""
    return duckdb.connect()


_PARSING = Lock()


def scans(plan: list[dict[str, Any]]) -> Iterator[tuple[set[str], str]]:
    """The scans of Parquet files in a plan: the columns that each gives, and the text of the conditions that it checks, with other columns."""
    for node in plan:
        yield from scans(node["children"])
        known = node.get("extra_info", {})
        if "PARQUET" in known.get("Function", ""):
            columns, conditions = (known.get(name, []) for name in ("Projections", "Filters"))
            yield {columns} if isinstance(columns, str) else set(columns), str(conditions)


def identifier(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def no_pattern(path: str) -> str:
    """A path in which DuckDB finds no pattern."""
    return re.sub(r"([*?\[])", r"[\1]", path)
