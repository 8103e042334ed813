"""Analysis: the only door from a run's tables to samples, relations, facts and warnings."""

import errno
import os
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slotmark.cores import usable_cores
from slotmark.errors import RoomError, RunError
from slotmark.metrics.catalogue import Metric, catalogue
from slotmark.metrics.database import MEMORY_LIMIT, Database
from slotmark.metrics.entries import KeyColumn
from slotmark.metrics.filters import FILTER_COLUMNS, Filter, filter_rows, filters_of_run
from slotmark.metrics.long_samples import AllSamples, LongSamples, long_samples, order_of
from slotmark.metrics.samples import Keys, Samples, as_text, keys_of, samples_of
from slotmark.metrics.sql import names_in
from slotmark.numbers import fixed
from slotmark.run import Run
from slotmark.run.folder import in_its_place
from slotmark.temporary import temporary_place
from slotmark.warnings import Warning

Item = TypeVar("Item")
Found = TypeVar("Found")

MOST_IN_MEMORY = 4_000_000
"""Rows of a relation up to which a metric's samples are worked on in memory."""

LONG_ROWS = 5_000_000
"""Rows of tables that a relation in memory is made of, above which it is worked on run by run, each statement on all cores. A full run of 52
hosts has 4.2 million: two at a time take 20.0 to 21.1 s in all in place of 20.4 to 21.2, in the same memory (2026-11-30)."""

MOST_TOGETHER = 100_000
"""Rows of a relation up to which its metrics are read by one statement: of a statement over few rows, nearly all of the time is its planning."""

_NOT_ALLOCATED = ("bad allocation", "Allocation failure")
"""Beginnings of DuckDB's error messages when the system refuses it memory; an exceeded memory limit has other messages."""


_LIMIT_EXCEEDED = "Out of Memory Error"
"""Beginning of DuckDB's error message where a statement can't do with the database's own memory limit."""


_FAULTS = ("INTERNAL Error", "FATAL Error")
"""Beginnings of DuckDB's error messages for faults of its own."""


class Meeting(msgspec.Struct, frozen=True):
    """Keys of a run that meet the condition of a part, per replicate.

    Attributes:
        keys: Rising; shape (n,).
        meets: By the part's name, shape (n,), bool; None where the condition isn't known for every row.
    """

    keys: np.ndarray
    meets: dict[str, np.ndarray | None]


class Analysis:
    """A run's tables and relations in a database in memory, from which samples are computed one metric at a time; a context manager.

    Args:
        run: The run.
        filters: What to analyse of it, for benches that have filters; None for what the run's own profile says.
        published: Whether to compute as the established tool does.
    """

    def __init__(self, run: Run, *, filters: Sequence[Filter] | None = None, published: bool = False) -> None:
        self.run = run
        self.catalogue = catalogue(run.manifest.bench)
        self.filters = filters_of_run(run) if filters is None else list(filters)
        self._published = published
        self._database = Database(run, self.catalogue.members.column)
        self._there: set[str] = set()
        self._known: dict[str, pa.Table] = {}
        self._machines: dict[str, dict[str, tuple[str | None, ...]]] = {}
        self._works: dict[str, dict[int, tuple[int | str, ...]]] = {}
        self._meeting: Meeting | None = None
        self._keys: tuple[tuple[str, ...], Keys] | None = None
        self._wanted: Sequence[str] = ()
        self._values: dict[str, pa.ChunkedArray] = {}

    def rows_in_memory(self, relations: Iterable[str]) -> int:
        """Returns how many rows the run's tables have that relations are made of, without those that reach them only through files of members."""
        tables: set[str] = set()
        seen, open_ = set(self.catalogue.members.relations) | set(self.catalogue.native), list(relations)
        while open_:
            if (name := open_.pop()) in seen:
                continue
            seen.add(name)
            if name in self.catalogue.relations:
                open_ += names_in(self.catalogue.relation_sql(name))
            elif name in self.run.manifest.tables:
                tables.add(name)
        return sum(self.run.manifest.tables[table] for table in tables)

    def __enter__(self) -> Self:
        """Begins. RunError where the run lacks what all of its bench's SQL needs."""
        try:
            for name, words in self.catalogue.words.items():
                self._prepare(words.values, f"'{name}'")
                self._run(lambda name=name, words=words: self._database.name_words(name, words), f"'{name}'")
            shifts = self.catalogue.shifts
            if shifts.by and self.run.manifest.tables.keys() >= set(names_in(shifts.by)):
                self._prepare(shifts.by, "'shifts'")
                self._run(lambda: self._database.shift(shifts), "'shifts'")
            self._database.forget_tables()
        except BaseException:
            self._database.close()
            raise
        self._there.clear()  # from here on tables are read with numbers for these words
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Frees the memory."""
        self._database.close()

    def samples(self, metric_id: str) -> Samples:
        """The samples of a metric. Raises as :func:`samples`."""
        metric = self.catalogue[metric_id]
        self._prepare(self.catalogue.values_sql(metric_id), f"'{metric_id}'")
        self._read_together(metric)
        keys = self._keys_of(metric)
        values = self._values_of(metric)
        unit = self.catalogue.key(metric.unit_of_chance) if metric.grain else KeyColumn()
        found = samples_of(metric, keys, values, str(self.run.place))
        return msgspec.structs.replace(found, unit=unit, member=self.catalogue.members.column)

    def all_samples(self, metric_id: str) -> AllSamples:
        """The samples of a metric, in a file where there are more than :data:`MOST_IN_MEMORY`. Raises as :func:`samples`."""
        metric = self.catalogue[metric_id]
        values = self.catalogue.values_sql(metric_id)
        self._prepare(values, f"'{metric_id}'")
        if self.catalogue.part or self._database.rows(metric.relation) <= MOST_IN_MEMORY:
            return self.samples(metric_id)
        kinds = self.select(f"{self.catalogue.keys_sql(metric_id)} LIMIT 0", f"'{metric_id}'").schema
        if any(pa.types.is_string(kind) for kind in kinds.types):  # text that has no numbers
            return self.samples(metric_id)
        self._keys = None
        member = self.catalogue.members.column
        order = order_of(metric, member)
        sql = self.catalogue.samples_sql(metric_id)
        found: list[LongSamples] = []

        def write() -> None:
            unit = self.catalogue.key(metric.unit_of_chance)
            found.append(
                long_samples(metric, partial(self._database.in_batches, sql, order), str(self.run.place), unit, member)
            )

        self._run(write, f"'{metric_id}'")
        return found[0]

    def expect(self, metric_ids: Sequence[str]) -> None:
        """Tells which metrics' samples will be asked for, in what order: those of one relation of few rows are then read together."""
        self._wanted = metric_ids

    def each_samples(self, metric_ids: Sequence[str]) -> Iterator[AllSamples]:
        """The samples of some metrics in turn. While the caller has one metric's, the next one's are computed. Raises as :func:`samples`."""
        self.expect(metric_ids)
        with side_by_side([self]) as pool:
            for _, [found] in one_ahead(metric_ids, lambda metric_id: [pool.submit(self.all_samples, metric_id)]):
                yield found

    def interrupt(self) -> None:
        """Ends with an error what another thread computes."""
        self._database.interrupt()

    def named_samples(self, metric_id: str) -> Samples:
        """The samples of a metric with what stands beside their keys, for those who read them. Raises as :func:`samples`."""
        found = self.samples(metric_id)
        beside = {key: self._beside(key) for key in found.metric.grain if self.catalogue.key(key).relation}
        return msgspec.structs.replace(found, beside=beside)

    def works(self, key: str) -> dict[int, tuple[int | str, ...]]:
        """Returns the work behind each value of a key, by which it is found in another run; empty where the catalogue or the run doesn't record it."""
        names = self.catalogue.key(key).work
        if not names:
            return {}
        if key not in self._works:
            keys, *columns = (self._beside(key)[name].to_pylist() for name in (key, *names))
            works = list(zip(*columns, strict=True))
            self._works[key] = {} if any(None in work for work in works) else dict(zip(keys, works, strict=True))
        return self._works[key]

    def machines(self, key: str) -> dict[str, tuple[str | None, ...]] | None:
        """Returns the recorded facts of the machine behind each value of a key. A fact is None where nothing is recorded; the result is None where the key's values are no machines."""
        machines = self.catalogue.key(key).machines
        if not machines:
            return None
        if key not in self._machines:
            found = self.query(machines, f"the machines of '{key}'")
            names, *facts = (column.to_pylist() for column in found.columns)
            self._machines[key] = {name: tuple(one[place] for one in facts) for place, name in enumerate(names)}
        return self._machines[key]

    def about(self, key: str, value: int) -> list[tuple[str, str]]:
        """Returns names and values recorded beside one value of a key; empty where the catalogue names none."""
        if not self.catalogue.key(key).relation:
            return []
        table = self._beside(key)
        row = table.filter(pc.field(key) == value).slice(0, 1).to_pylist()
        return [(name, str(of)) for one in row for name, of in one.items() if name != key and of is not None]

    def _beside(self, key: str) -> pa.Table:
        """Returns the columns recorded beside the values of a key, one row per value; read once."""
        if key not in self._known:
            known = self.catalogue.key(key)
            columns = "".join(f', "{column}" AS "{name}"' for name, column in known.columns.items())
            sql = f'SELECT "{key}"{columns} FROM "{known.relation}" ORDER BY "{key}"'
            self._known[key] = self.query(sql, f"'{known.relation}'")
        return self._known[key]

    def relation(self, name: str) -> pa.Table:
        """A relation of the catalogue as a table, its rows in the order of its metrics' keys, then of its columns. RunError where the run's tables don't allow it."""
        if name not in self.catalogue.relations:
            raise RunError(
                f"{self.catalogue.bench} has no relation '{name}'. It has: {', '.join(self.catalogue.relations)}."
            )
        keys = next((metric.grain for metric in self.catalogue.metrics if metric.relation == name), [])
        columns = self.select(f'SELECT * FROM "{name}" LIMIT 0', f"'{name}'").column_names
        order = ", ".join(f'"{column}"' for column in [*keys, *(one for one in columns if one not in keys)])
        return self.query(f'SELECT * FROM "{name}" ORDER BY {order}', f"'{name}'")

    def query(self, sql: str, what: str = "a query") -> pa.Table:
        """Returns what :meth:`select` does, with its text as text."""
        return as_text(self.select(sql, what))

    def select(self, sql: str, what: str) -> pa.Table:
        """Returns the result of one SQL query over the run's tables, the relations of the catalogue, ``filters`` and ``method``. Text may be a dictionary.

        Args:
            sql: The query.
            what: What it gives, for error messages.

        Raises:
            RunError: The run's tables don't allow it.
        """
        self._prepare(sql, what)
        found: list[pa.Table] = []
        self._run(lambda: found.append(self._database.select(sql)), what)
        return found[0]

    def in_batches(self, sql: str, what: str) -> Iterator[pa.Table]:
        """The rows that :meth:`select` returns, some at a time, none of which is empty; nothing else may be asked of this analysis meanwhile."""
        self._prepare(sql, what)
        batches = self._database.in_batches(sql, [], sorted_=False)
        following: list[pa.RecordBatch] = []
        while True:
            self._run(lambda: following.extend(batch for batch in [next(batches, None)] if batch is not None), what)
            if not following:
                return
            batch = following.pop()
            if batch.num_rows:
                yield pa.Table.from_batches([batch])

    def facts(self) -> list[tuple[str, str]]:
        """Returns names and values that a manifest shows beside the run's own record, in order; empty for most benches."""
        if not self.catalogue.facts:
            return []
        rows = sorted(self.select(self.catalogue.facts, "its facts").to_pylist(), key=lambda row: row["place"])
        return [(row["name"], _fact(row)) for row in rows]

    def warnings(self, *kinds: str) -> list[Warning]:
        """Returns the warnings on what was analysed: of these kinds, or of all where none is named."""
        found = []
        for one in self.catalogue.warnings:
            if kinds and one.kind not in kinds:
                continue
            rows = self.select(one.sql, f"the warning '{one.kind}'").to_pylist() if one.sql else []
            found += [one.seen(row) for row in rows[:1]]
        return found

    def clocks_apart_s(self) -> tuple[float, float] | None:
        """Returns how far some two clocks of the run were apart at least, and how far they can have been; None where that wasn't measured."""
        if self.catalogue.clocks is None:
            return None
        rows = self.select(self.catalogue.clocks.apart, "how far its clocks were apart").to_pylist()
        return (rows[0]["least_ns"] / 1e9, rows[0]["most_ns"] / 1e9) if rows else None

    def parts(self) -> Meeting:
        """Returns the keys that meet the condition of each part of the catalogue; :func:`parts_of` makes parts of it."""
        if self._meeting is None:
            metric, parts = self.catalogue.metrics[0], self.catalogue.parts
            each = "".join(
                f", BOOL_OR({part.where}) AS met{place}, BOOL_OR(({part.where}) IS NULL) AS open{place}"
                for place, part in enumerate(parts)
            )
            key = metric.grain[-1]
            sql = f'SELECT "{key}"{each} FROM "{metric.relation}" GROUP BY "{key}" ORDER BY "{key}"'
            rows = self.select(sql, "its parts")
            self._meeting = Meeting(
                rows[key].to_numpy(),
                {
                    part.name: None if any(rows[f"open{place}"].to_pylist()) else rows[f"met{place}"].to_numpy()
                    for place, part in enumerate(parts)
                },
            )
        return self._meeting

    def _keys_of(self, metric: Metric) -> Keys:
        """Returns the keys of the rows of a metric's relation. One relation is kept at a time: its metrics follow each other."""
        of = metric.relation, *metric.grain
        if self._keys is None or self._keys[0] != of:
            self._keys = None
            table = self.select(self.catalogue.keys_sql(metric.id), f"'{metric.id}'")
            self._keys = of, keys_of(metric.grain, table, first=self._first_of(metric))
        return self._keys[1]

    def _values_of(self, metric: Metric) -> pa.ChunkedArray:
        """Returns the value of each row of a metric's relation."""
        if metric.id in self._values:
            return self._values.pop(metric.id)
        return self.select(self.catalogue.values_sql(metric.id), f"'{metric.id}'")["value"]

    def _read_together(self, metric: Metric) -> None:
        """Reads the keys of a metric's relation, where it has few rows, and the values of all metrics that are wanted of it."""
        wanted = [one for one in self._wanted if self.catalogue[one].relation == metric.relation]
        if metric.id in self._values or metric.id not in wanted or self._database.rows(metric.relation) > MOST_TOGETHER:
            return
        with suppress(RunError):  # of any of them: reading the metric alone tells whether it is its own
            found = self.select(self.catalogue.together_sql(metric.id, wanted), f"'{metric.id}'")
            self._values = {one: found[f"value of {one}"] for one in wanted}
            keys = found.select(["part", *metric.grain])
            self._keys = (metric.relation, *metric.grain), keys_of(metric.grain, keys, first=self._first_of(metric))

    def _first_of(self, metric: Metric) -> str:
        """Returns the grain column by which the rows of a metric's relation are sorted first; empty where that is the grain's own first."""
        members = self.catalogue.members
        return members.column if metric.relation in members.relations else ""

    def _prepare(self, sql: str, what: str) -> None:
        """Makes all that some SQL reads, unless it is there."""
        names: list[str] = []
        self._run(lambda: names.extend(names_in(sql)), what)
        self._need(names, what)

    def _need(self, names: Iterable[str], what: str) -> None:
        """Makes tables and relations, unless they are there."""
        for name in names:
            if name not in self._there:
                self._provide(name, what)
                self._there.add(name)

    def _provide(self, name: str, what: str) -> None:
        if native := self.catalogue.native.get(name):
            self._prepare(native.arguments, what)
            self._need(native.tables, what)
            self._run(lambda: self._database.make_natively(name, native), f"'{name}'")
        elif name in self.catalogue.relations:
            relation = self.catalogue.relation_sql(name)
            self._prepare(relation, what)
            self._run(lambda: self._make(name, relation), f"'{name}'")
        elif name == "filters":
            self._database.fill(name, FILTER_COLUMNS, filter_rows(self.filters, self.catalogue.bench))
        elif name == "method":
            self._database.fill(name, {"published": "BOOLEAN"}, [(self._published,)])
        elif name in self.run.manifest.tables and name.isidentifier():
            natively = any(name in native.tables for native in self.catalogue.native.values())
            self._run(lambda: self._database.open_table(name, natively=natively), f"the table '{name}'")
        elif name in self.catalogue.optional:
            self._database.fill(name, self.catalogue.optional[name], [])
        else:
            have = ", ".join(self.run.manifest.tables) or "none"
            raise self._failed(what, f"there is no table '{name}', only {have}")

    def _make(self, name: str, sql: str) -> None:
        if name in self.catalogue.members.relations:
            self._database.make_by_member(name, sql)
        else:
            self._database.make(name, sql)

    def _run(self, step: Any, what: str) -> None:
        try:
            step()
        except duckdb.Error as error:
            if any(words in str(error) for words in _NOT_ALLOCATED):
                raise MemoryError from error
            raise self._failed(what, in_its_place(self.run.storage, str(error).splitlines()[0])) from error
        except OSError as error:
            if _says(error, errno.ENOMEM):
                raise MemoryError from error
            if _says(error, errno.EMFILE):
                raise self._failed(what, str(error)) from error
            raise RoomError(
                f"{self.run.place}: can't compute {what}: what doesn't fit in memory can't be kept in {temporary_place()} ({os.strerror(error.errno) if error.errno else error}). "
                "Free space there, or set TMPDIR to a folder of another disk."
            ) from error

    def _failed(self, what: str, reason: str) -> RunError:
        if os.strerror(errno.EMFILE) in reason:  # of which DuckDB has no error of its own
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            return RunError(
                f"{self.run.place}: can't compute {what}: its tables have more files than this process may open ({limit}). "
                "Raise the limit, as with `ulimit -n 1024`."
            )
        if reason.startswith(_LIMIT_EXCEEDED):
            return RoomError(
                f"{self.run.place}: can't compute {what} in {MEMORY_LIMIT} of memory and a temporary folder ({reason}). "
                "Ingest shorter logs, and report this: the length of a run should make no difference."
            )
        faulty = reason.startswith(_FAULTS)
        remedy = (
            "Give the command again, and report this: the fault is not the run's."
            if faulty
            else "Make the run again with this slotmark."
        )
        return RunError(f"{self.run.place}: can't compute {what} ({reason}). {remedy}")


def _says(error: OSError, number: int) -> bool:
    """Returns whether this is the given error of the system; Arrow has it only in its message."""
    return error.errno == number or os.strerror(number) in str(error)


@contextmanager
def side_by_side(analyses: Sequence[Analysis], *, in_memory: Sequence[str] = ()) -> Iterator[ThreadPoolExecutor]:
    """Threads to work on analyses, each of which may be in one thread at a time. Where the caller fails, they don't finish their work.

    Args:
        analyses: The analyses.
        in_memory: Relations that the work keeps in memory: where they are made of more than :data:`LONG_ROWS`, one run is worked on at a time.
    """
    alone = any(analysis.rows_in_memory(in_memory) > LONG_ROWS for analysis in analyses)
    with ThreadPoolExecutor(1 if alone else min(len(analyses), usable_cores())) as pool:
        try:
            yield pool
        except BaseException:
            for analysis in analyses:
                analysis.interrupt()
            raise


def one_ahead(
    items: Iterable[Item], begun: Callable[[Item], Sequence[Future[Found]]]
) -> Iterator[tuple[Item, list[Found]]]:
    """Each item with the results of its work. The next one's is done while the caller has one's, and begun when all of one's is: an analysis may be in one thread at a time.

    Args:
        items: In their order.
        begun: Begins the work of one.
    """
    last: tuple[Item, Sequence[Future[Found]]] | None = None
    for item in items:
        done = last and (last[0], [one.result() for one in last[1]])
        last = item, begun(item)
        if done:
            yield done
    if last:
        yield last[0], [one.result() for one in last[1]]


def samples(run: Run, metric_id: str) -> Samples:
    """The samples of a metric in a run, computed by the metric's SQL over the run's tables.

    Raises:
        RunError: The run lacks a table that the SQL reads, or the SQL yields two samples with one key or a value that is no number.
    """
    with Analysis(run) as analysis:
        return analysis.samples(metric_id)


def _fact(row: dict[str, Any]) -> str:
    """A fact's words, or its number with thousands set apart."""
    if row["text"] is not None:
        return row["text"]
    return "-" if row["number"] is None else fixed(row["number"], row["decimals"])
