"""A run's tables in a database in memory that can reach nothing else.

A run folder comes from strangers. Names of tables are those that a bench's own SQL reads, never the manifest's; identifiers and
paths are quoted, and paths are no patterns; SQL can read nothing outside the run's folder of tables, change no setting, and load no extension.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from threading import Lock

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from slotmark import _core
from slotmark.cores import usable_cores
from slotmark.errors import RunError
from slotmark.metrics.entries import Native, Shifts, Words
from slotmark.metrics.members import LAST, Members, Piece, members_of, pieces_of
from slotmark.metrics.sql import allow_folders, identifier, names_in, parquet_files, quoted, scans
from slotmark.run import Run
from slotmark.run.folder import in_its_place
from slotmark.run.storage import Folder, damaged_table
from slotmark.temporary import temporary_folder

MEMORY_LIMIT = "350MiB"
"""Memory that the database may use; beyond it, it writes to a temporary folder."""

ROWS_AT_ONCE = 2_000_000
"""Rows of the run's tables, about, that a statement reads where a relation is made some members at a time. In short runs most of the time
would go into planning statements."""

MEMBERS_AT_ONCE = 4
"""Members that share such a statement at least. With one member, up to half of the time goes into planning."""

MOST_ROWS_AT_ONCE = 8_000_000
"""Rows above which that doesn't count: members that have so many in :data:`MEMBERS_AT_ONCE` have a statement each. Of members that have so many
themselves, one is worked on at a time: two statements over them don't fit in the memory that they share."""

RELATION_ROWS_AT_ONCE = 600_000
"""Rows of a relation, about, that statements side by side read where they read no table of the run. Those of a host in a full run are a thirtieth of its
rows in tables: with one host per statement, planning took up to half of the time."""

_ONE_LARGE = Lock()
"""Held while rows of a large member are in memory: runs that are analysed side by side have one of them at a time."""

FEW_ROWS = 100_000
"""Rows of all of a run's tables up to which nearly all of the time goes into planning statements: see :class:`Database`."""

BATCH_ROWS = 1 << 20
"""Rows of a result that is read in batches."""


def threads_for(rows: int) -> int:
    """Threads that statements over so many rows are worth."""
    return 1 if rows <= FEW_ROWS else usable_cores()


class Database:
    """A run's tables, opened when they are first read.

    Those of a run of :data:`FEW_ROWS` that compiled code doesn't read are read whole, since each statement over a file looks at the file again while
    it is planned; one thread does the statements, and joins stay in the order in which they are written.

    Args:
        run: The run.
        member: The column of the catalogue's members; empty where it has none.
    """

    def __init__(self, run: Run, member: str = "") -> None:
        self.run = run
        self._column = member
        self._spill = temporary_folder()
        folder = f"{run.storage.folder / 'tables'}/"
        rows = sum(run.manifest.tables.values())
        has_few = rows <= FEW_ROWS
        self._connection = duckdb.connect(
            config={
                "threads": threads_for(rows),
                "memory_limit": MEMORY_LIMIT,
                "temp_directory": self._spill.name,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "allow_community_extensions": False,
            }
        )
        self._connection.execute("SET enable_progress_bar = false")
        if has_few:
            self._connection.execute("SET disabled_optimizers = 'join_order'")
        allow_folders(self._connection, [folder, f"{self._spill.name}/"])
        self._connection.execute("ATTACH ':memory:' AS relations (COMPRESS)")
        self._connection.execute("USE relations")
        self._workers = [self._connection.cursor() for _ in range(1 if has_few else usable_cores())]
        self._at_once = len(self._workers)
        for worker in self._workers:
            worker.execute("USE relations")  # can't be set once the configuration is locked
        self._files: dict[str, list[Path]] = {}
        self._columns: dict[str, list[str]] = {}
        self._words: dict[str, str] = {}
        self._numbered: dict[str, dict[str, str]] = {}
        self._shifts: dict[str, int] = {}
        self._shifting: tuple[str, ...] = ()
        self._shifted: dict[str, list[str]] = {}
        self._kept: dict[str, list[Piece]] = {}
        self._rows: dict[str, int] = {}
        self._members: list[str] = []
        self._members_at_once = 1
        self._small = has_few
        self._has_few = has_few
        self._reads_whole = False
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Frees memory and removes what was written."""
        for worker in self._workers:
            worker.close()
        self._connection.close()
        self._spill.cleanup()

    def fill(self, name: str, columns: Mapping[str, str], rows: Sequence[Sequence[object]]) -> None:
        """Makes a table.

        Args:
            name: Name of the table.
            columns: Their SQL types by name.
            rows: Values in the order of columns.
        """
        typed = ", ".join(f"{identifier(column)} {kind}" for column, kind in columns.items())
        self.execute(f"CREATE OR REPLACE TABLE {identifier(name)} ({typed})")
        if rows:
            self._connection.executemany(
                f"INSERT INTO {identifier(name)} VALUES ({', '.join('?' for _ in columns)})", rows
            )

    def open_table(self, name: str, *, natively: bool = False) -> None:
        """Makes a table of the run known, with numbers in place of words that were named.

        Args:
            name: As the manifest has it.
            natively: Whether compiled code reads its files, so that few statements do.

        Raises:
            RunError: The run has no such table, or it's damaged.
        """
        files = self._files[name] = _whole_files(self.run, name)
        columns = self._columns[name] = pq.read_schema(files[0]).names
        self._numbered[name] = {column: self._words[column] for column in sorted(self._words.keys() & columns)}
        self._shifted[name] = [column for column in self._shifting if {column, self._column} <= set(columns)]
        kind = "TABLE" if self._reads_whole and not natively else "VIEW"
        self.execute(f"CREATE {kind} {identifier(name)} AS {self._rows_of(name, files)}")

    def forget_tables(self) -> None:
        """Forgets the tables that were opened, once all words are named. Opened again they have numbers for these, and small ones are read whole."""
        for name in self._files:
            self.execute(f"DROP VIEW {identifier(name)}")
        self._files.clear()
        self._reads_whole = self._has_few and isinstance(self.run.storage, Folder)

    def name_words(self, name: str, words: Words) -> None:
        """Makes a type for words, for tables that are opened from here on."""
        values = f"SELECT DISTINCT word FROM ({words.values}\n) AS words (word) WHERE word IS NOT NULL ORDER BY word"
        self._fetch(values)
        self.execute(f"CREATE TYPE {identifier(name)} AS ENUM ({values})")
        self._words |= dict.fromkeys(words.columns, name)
        if name == self._column:
            ((names,),) = self._connection.sql(f"SELECT ENUM_RANGE(NULL::{identifier(name)})").fetchall()
            self._members = list(names)
            rows = sum(self.run.manifest.tables.values()) / max(1, len(names))
            if rows > MOST_ROWS_AT_ONCE:
                self._at_once = 1
            least = MEMBERS_AT_ONCE if rows * MEMBERS_AT_ONCE <= MOST_ROWS_AT_ONCE else 1
            self._members_at_once = max(least, int(ROWS_AT_ONCE / max(1.0, rows)))
            # All members at once, in memory: files of relations would take longer than the relations.
            self._small = self._small or len(names) <= self._members_at_once

    def shift(self, shifts: Shifts) -> None:
        """Takes what some SQL gives for a member from its values of some columns, in tables opened from here on."""
        member = identifier(self._column)
        named = f"SELECT CAST({member} AS VARCHAR), CAST(shift AS BIGINT) FROM ({shifts.by}\n) WHERE {member} IS NOT NULL AND shift IS NOT NULL"
        self._fetch(named)
        self._shifts = dict(self._connection.sql(named).fetchall())
        self._shifting = shifts.columns if self._shifts else ()

    def make(self, name: str, sql: str) -> None:
        """Computes a table."""
        self._fetch(sql)
        made = self._connection.execute(f"CREATE TABLE {identifier(name)} AS {sql}")
        ((self._rows[name],),) = made.fetchall()
        if not self._small:
            self.execute("CHECKPOINT")

    def make_by_member(self, name: str, sql: str) -> None:
        """Computes a table some members at a time, in the order of members' names, and keeps it in files; of a small run all members at once, in memory.

        Args:
            name: Name of the table.
            sql: For some members it gives those members' rows, with the members' column.
        """
        if self._small:
            self.make(name, sql)
            return
        read = names_in(sql)
        tables = {table: self._files[table] for table in read if self._column in self._numbered.get(table, ())}
        kept = [relation for relation in read if relation in self._kept]
        self._fetch(sql)
        groups = members_of([*self._together(read, kept, of_tables=bool(tables)), *pieces_of(tables, self._column)])
        free = deque(self._workers)

        def rows(some: Members) -> pa.Table:
            worker = free.popleft()
            try:
                return worker.sql(self._of_members(some, sql, tables, kept)).to_arrow_table()
            finally:
                free.append(worker)

        self._keep(name, groups, rows)

    def make_natively(self, name: str, native: Native) -> None:
        """Computes a table with compiled code, as few members at a time as files keep apart, in the order of members' names, and keeps it in files.

        Args:
            name: Name of the table.
            native: How.

        Raises:
            RunError: A table that has the arguments, as the genesis, has no row, several, or others than whole numbers.
        """
        tables = {table: self._files[table] for table in native.tables}
        found = self._connection.sql(native.arguments).fetchall()
        if len(found) != 1 or not all(isinstance(value, int) for value in found[0]):
            raise RunError(
                f"{self.run.place}: {native.arguments} gives {found[0] if found else 'no row'}: expected one row of whole numbers. Copy the run again."
            )
        arguments = found[0]
        for table, columns in native.tables.items():
            self.run.fetch(table, columns)
        function = getattr(_core, native.function)

        def rows(some: Members) -> pa.Table:
            files = {table: [str(file) for file in some.rows_of(table)] for table in tables}
            members = [(member, number, self._shifts.get(member, 0)) for number, member in self._numbers_of(some)]
            return _table_of(*function(files, members, some.only is not None, *arguments))

        if self._has_few:
            every = [Piece("", LAST, table, file) for table, files in tables.items() for file in files]
        else:
            every = pieces_of(tables, self._column)
        self._keep(name, members_of(every), rows)

    def _keep(self, name: str, members: Sequence[Members], rows: Callable[[Members], pa.Table]) -> None:
        """Keeps in files what is computed of each few members, in their order, and makes it known as a table.

        Rows of a full run (52 hosts, 64,000 slots; 2026-11-28, all metrics) took 21 s of processor time and 780 MiB as a table of the database, and
        12.7 s and 525 MiB as Parquet. Arrow files that are mapped into memory took 11.8 s and 550 MiB, and five times the disk.
        """
        members = members or [Members("", LAST, [])]
        if self._has_few or (self._small and len(members) == 1):
            self._connection.register(_given(name), pa.concat_tables([rows(some) for some in members]))
            self.execute(f"CREATE TABLE {identifier(name)} AS {self._named_members(identifier(_given(name)))}")
            self._connection.unregister(_given(name))
            return
        found: list[Piece] = []
        self._rows[name] = 0
        ahead = self._at_once + 1 if self._at_once > 1 else 1
        folder = Path(self._spill.name) / name
        folder.mkdir()
        with ThreadPoolExecutor(self._at_once) as pool:
            pending: deque[Future[pa.Table]] = deque()
            following = iter(members)
            for number, some in enumerate(members):
                with _ONE_LARGE if self._at_once == 1 else nullcontext():
                    pending.extend(pool.submit(rows, one) for one in islice(following, ahead - len(pending)))
                    table = pending.popleft().result()
                    self._rows[name] += table.num_rows
                    found.append(Piece(some.first, some.last, name, _written(table, folder / f"part-{number}.parquet")))
                    del table  # before the next is computed: one member of a long run has hundreds of MB
        self._kept[name] = found
        self.execute(f"CREATE VIEW {identifier(name)} AS {self._of_kept(name)}")

    def rows(self, name: str) -> int:
        """Returns the number of rows that a table or a relation has."""
        if name not in self._rows:
            ((self._rows[name],),) = self._connection.sql(f"SELECT COUNT(*) FROM {identifier(name)}").fetchall()
        return self._rows[name]

    def in_batches(self, sql: str, order: Sequence[str], sorted_: bool) -> Iterator[pa.RecordBatch]:
        """The result of a query, some rows at a time; no other statement may be run on this database meanwhile.

        Args:
            sql: The query.
            order: Columns.
            sorted_: Whether to sort by them.
        """
        by = f" ORDER BY {', '.join(map(identifier, order))}" if sorted_ else ""
        self._fetch(sql)
        yield from self._connection.sql(f"{sql}{by}").to_arrow_reader(BATCH_ROWS)

    def interrupt(self) -> None:
        """Ends statements that run in other threads, with an error there."""
        for connection in (self._connection, *self._workers):
            connection.interrupt()

    def execute(self, sql: str) -> None:
        """Runs a statement."""
        self._connection.execute(sql)

    def _fetch(self, sql: str) -> None:
        """Has the columns that a query reads be there, where the run is in a store: those that its plan names, of the tables that it reads."""
        tables = [table for table in names_in(sql) if table in self._files]
        if not tables or isinstance(self.run.storage, Folder):
            return
        ((_, plan),) = self._connection.execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchall()
        for columns, condition in scans(json.loads(plan)):
            # A plan doesn't name the table of a scan: it is any that has the columns.
            for table in tables:
                there = self._columns[table]
                if columns <= set(there):
                    self.run.fetch(table, columns | {column for column in there if column in condition})

    def _rows_of(self, table: str, files: Sequence[Path], only: str | None = None) -> str:
        """SQL of the rows in some of a table's files; of one member, where it is named: its name in each row needn't be read then."""
        casts = ", ".join(
            f"{self._named(only) if only is not None and column == self._column else f'CAST({identifier(column)} AS {identifier(words)})'} AS {identifier(column)}"
            for column, words in self._numbered[table].items()
        )
        shifts = ", ".join(self._shift_of(column, only) for column in self._shifted[table])
        replaced = ", ".join(filter(None, (casts, shifts)))
        return f"SELECT *{f' REPLACE ({replaced})' if replaced else ''} FROM {parquet_files(files)}"

    def _shift_of(self, column: str, only: str | None) -> str:
        """SQL of a column with the shift of each row's member, or of one member, taken from it."""
        if only is not None:
            by = str(self._shifts.get(only, 0))
        else:
            by = f"CASE {identifier(self._column)} {' '.join(f'WHEN {quoted(member)} THEN {shift}' for member, shift in self._shifts.items())} ELSE 0 END"
        return f"{identifier(column)} - {by} AS {identifier(column)}"

    def _of_members(self, members: Members, sql: str, tables: Mapping[str, list[Path]], kept: Sequence[str]) -> str:
        """SQL that gives members as numbers, and in which the names of tables and of relations made member by member mean the rows of some members."""
        named = {relation: self._of_kept(relation, members) for relation in kept}
        for table, files in tables.items():
            own = [self._rows_of(table, one.rows_of(table), one.only) for one in members.each_of(table)]
            named[table] = " UNION ALL ".join(own) or f"{self._rows_of(table, files[:1])} LIMIT 0"
        column = identifier(self._column)
        meant = ", ".join(f"{identifier(name)} AS NOT MATERIALIZED ({rows})" for name, rows in named.items())
        return f"WITH {meant} SELECT * REPLACE (ENUM_CODE({column}) AS {column}) FROM ({sql}\n)"

    def _numbers_of(self, some: Members) -> list[tuple[int, str]]:
        """Some members, each with its number, in the order of names."""
        return [(number, member) for number, member in enumerate(self._members) if some.first <= member <= some.last]

    def _named(self, member: str) -> str:
        """Returns SQL of a member's name as a word."""
        return f"CAST({quoted(member)} AS {identifier(self._column)})"

    def _together(self, read: Sequence[str], kept: Sequence[str], *, of_tables: bool) -> list[Piece]:
        """Members that share a statement.

        Args:
            read: The names of all that it reads.
            kept: Those of them that are relations made by member.
            of_tables: Whether it reads tables of the run with members.
        """
        at_once, names = self._members_at_once, self._members
        if kept and not of_tables:
            # A relation of other things, as of slots, may have a row of each for each member.
            rows = max(
                self._rows[name] / (max(1, len(names)) if name in kept else 1) for name in read if name in self._rows
            )
            # Doubled, so that files of one relation mostly lie within the groups of another.
            while at_once < len(names) and 2 * at_once * rows * len(self._workers) <= RELATION_ROWS_AT_ONCE:
                at_once *= 2
        each = (names[start : start + at_once] for start in range(0, len(names), at_once))
        return [Piece(some[0], some[-1], "", None) for some in each]

    def _of_kept(self, relation: str, some: Members | None = None) -> str:
        """Returns SQL of a relation's rows in its files, where a member is a number; of some members, where they are given."""
        pieces = [piece for piece in self._kept[relation] if piece.rows]
        if some is None:
            return self._named_members(parquet_files([piece.rows for piece in pieces if piece.rows]))
        within = [piece for piece in pieces if piece.first <= some.last and some.first <= piece.last]
        there = parquet_files([piece.rows for piece in within or pieces[:1] if piece.rows])
        if any(piece.first < some.first or some.last < piece.last for piece in within):
            numbers = ", ".join(str(number) for number, _ in self._numbers_of(some)) or "NULL"
            there = f"(SELECT * FROM {there} WHERE {identifier(self._column)} IN ({numbers}))"
        return f"{self._named_members(there)}{'' if within else ' LIMIT 0'}"

    def _named_members(self, rows: str) -> str:
        """SQL of rows in which a member is a number, with its name there as a word."""
        column = identifier(self._column)
        return (
            f"SELECT * REPLACE (CAST(ENUM_RANGE(NULL::{column}) AS {column}[])[{column} + 1] AS {column}) FROM {rows}"
        )

    def select(self, sql: str) -> pa.Table:
        """Returns the result of a query."""
        self._fetch(sql)
        return self._connection.sql(sql).to_arrow_table()


def _whole_files(run: Run, name: str) -> list[Path]:
    """A table's files. RunError where one is missing or damaged, or they don't have the rows that are in the manifest."""
    files, rows = run.table_files(name), 0
    for file in files:
        try:
            rows += pq.read_metadata(file).num_rows
        except (OSError, pa.ArrowException) as error:
            raise damaged_table(in_its_place(run.storage, str(file)), error) from error
    if rows != run.manifest.tables[name]:
        raise RunError(
            f"{run.place / f'tables/{name}'}: {rows} rows, but run.json says {run.manifest.tables[name]}. The run was changed by hand."
        )
    return files


_Column = tuple[str, str, _core.Buffer, _core.Buffer | None]
"""A column's name, Arrow's name for its type, its values, and the bits of rows that have one, where not all do."""


def _table_of(rows: int, columns: Sequence[_Column]) -> pa.Table:
    """The table of what compiled code gives, without a copy."""
    arrays = [
        pa.Array.from_buffers(pa.type_for_alias(kind), rows, [there and pa.py_buffer(there), pa.py_buffer(values)])
        for _, kind, values, there in columns
    ]
    return pa.table(arrays, names=[name for name, *_ in columns])


def _written(table: pa.Table, path: Path) -> Path:
    """Writes rows of a relation to a Parquet file that is quick to write and to read."""
    whole = {field.name: "DELTA_BINARY_PACKED" for field in table.schema if pa.types.is_int64(field.type)}
    real = {field.name: "BYTE_STREAM_SPLIT" for field in table.schema if pa.types.is_floating(field.type)}
    packed = {column: "lz4" if column in real else "none" for column in table.column_names}
    pq.write_table(
        table,
        path,
        compression=packed,  # pyright: ignore[reportArgumentType] - by column is known to it too
        use_dictionary=False,
        column_encoding=whole | real or None,
        write_statistics=False,
        row_group_size=BATCH_ROWS // 4,
    )
    return path


def _given(relation: str) -> str:
    """The name under which a database reads rows that were kept of a relation."""
    return f"kept {relation}"
