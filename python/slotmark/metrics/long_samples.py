"""Samples of one metric that don't fit in memory: their values are in a file, and what is asked of their keys was added up when they were written."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slotmark.metrics.catalogue import Metric
from slotmark.metrics.entries import KeyColumn
from slotmark.metrics.samples import (
    Samples,
    neighbours,
    ranks,
    refuse_missing_keys,
    refuse_no_number,
    two_of_one_key,
)
from slotmark.temporary import temporary_file

VALUES_AT_ONCE = 1 << 20
"""Values that are read at a time."""

_BYTES = 8


class ByKey(msgspec.Struct, frozen=True):
    """The sums of samples by the values of one grain column; arrays have one entry per value that occurs, rising.

    Attributes:
        values: The values: whole numbers, or text.
        sums: Sums of the samples.
        counts: How many samples there are.
    """

    values: np.ndarray
    sums: np.ndarray
    counts: np.ndarray


class LongSamples(msgspec.Struct, frozen=True):
    """The samples of one metric in one run, in the order of their keys. Benches whose samples fall into parts have none of these.

    Attributes:
        metric: The catalogue's entry.
        file: The values, float64, in a file without a name, which ends with this object.
        count: How many there are.
        least: The smallest value.
        most: The largest.
        keys: Of each grain column that is asked for: what its values add up to.
        members: How many samples each member has, in their order; empty where samples aren't in the order of members, or there is one of each.
        unit: What the values of the metric's unit of chance are.
    """

    metric: Metric
    file: IO[bytes]
    count: int
    least: float
    most: float
    keys: Mapping[str, ByKey]
    members: list[int]
    unit: KeyColumn

    @property
    def parts(self) -> list[str]:
        """The parts that occur: one without a name."""
        return [""] if self.count else []

    def chunks(self, _part: str = "", start: int = 0, end: int | None = None) -> Iterator[np.ndarray]:
        """The values from one place to another, some at a time; each shape (n,), float64."""
        end = self.count if end is None else end
        for begin in range(start, end, VALUES_AT_ONCE):
            wanted = (min(end, begin + VALUES_AT_ONCE) - begin) * _BYTES
            yield np.frombuffer(_read(self.file.fileno(), wanted, begin * _BYTES), np.float64)

    def of_members(self) -> Iterator[np.ndarray]:
        """The values of each member that has some."""
        start = 0
        for count in self.members:
            yield np.concatenate(list(self.chunks("", start, start + count)))
            start += count

    def smallest(self, _part: str) -> float:
        """The smallest value."""
        return self.least

    def any(self, _part: str) -> bool:
        """Returns whether any value isn't 0."""
        return bool(self.count and (self.least or self.most))


AllSamples = Samples | LongSamples
"""The samples of a metric, wherever they are. Both have ``metric``, ``parts``, ``chunks``, ``smallest`` and ``any``."""


def long_samples(
    metric: Metric, batches: Callable[[bool], Iterable[pa.RecordBatch]], run: str, unit: KeyColumn, member: str
) -> LongSamples:
    """Writes samples to a file as they come.

    Args:
        metric: The catalogue's entry.
        batches: Gives the grain columns and ``value`` of each row, null where it is no sample; told so, in the order of :func:`order_of`, else as they lie.
        run: The run's folder, for errors.
        unit: What the values of the metric's unit of chance are.
        member: The column of the catalogue's members; empty where it has none.

    Raises:
        RunError: Two samples have one key, a key is missing, or a value is no number.
        OSError: There is no room for the file.
    """
    order = order_of(metric, member)
    for sorted_ in (False, True):
        found = _written(metric, batches(sorted_), run, unit, order, member)
        if found:
            return found
    raise AssertionError("sorted rows are in order")


def order_of(metric: Metric, member: str) -> list[str]:
    """The grain columns in the order that samples are written in: the member first."""
    return sorted(metric.grain, key=lambda column: column != member)


def _written(
    metric: Metric, reader: Iterable[pa.RecordBatch], run: str, unit: KeyColumn, order: Sequence[str], member: str
) -> LongSamples | None:
    """The samples in a file; None where rows aren't in order."""
    by = {column: _Sums() for column in dict.fromkeys([metric.unit_of_chance, *metric.grain[:1]])}
    members = _Counts()
    least, most, count = np.inf, -np.inf, 0
    last: list[np.ndarray] = []
    file = temporary_file()
    for batch in reader:
        table = pa.Table.from_batches([batch]).filter(pc.field("value").is_valid()).combine_chunks()
        if not table.num_rows:
            continue
        refuse_missing_keys(metric, table, order, run)
        codes = [ranks(table[column]) for column in order]
        falls, twins = neighbours(
            [np.concatenate(one) for one in zip(last, codes, strict=True)] if last else codes,
            table.num_rows + len(last[:1]),
        )
        if falls:
            file.close()
            return None
        if twins:
            raise two_of_one_key(metric, order, run)
        values = table["value"].to_numpy()
        refuse_no_number(metric, table, order, run)
        file.write(values)
        least, most, count = min(least, float(values.min())), max(most, float(values.max())), count + values.size
        for column, sums in by.items():
            sums.add(table[column], codes[order.index(column)], values)
        if order[0] == member and order[1:]:
            members.add(codes[0])
        last = [one[-1:] for one in codes]
    file.flush()
    keys = {column: sums.together() for column, sums in by.items()}
    return LongSamples(metric, file, count, float(least), float(most), keys, members.counts, unit)


class _Sums:
    """Sums and counts of values by whole numbers, or by words that have one dictionary."""

    def __init__(self) -> None:
        self._from = 0
        self._sums, self._counts = np.empty(0), np.empty(0)
        self._words: list[str] = []

    def add(self, column: pa.ChunkedArray, codes: np.ndarray, values: np.ndarray) -> None:
        """Adds some values."""
        if pa.types.is_dictionary(column.type):
            self._words = column.chunk(0).dictionary.to_pylist()
        first, end = int(codes.min()), int(codes.max()) + 1
        self._cover(first, end)
        within, places = slice(first - self._from, end - self._from), codes.astype(np.int64) - first
        self._sums[within] += np.bincount(places, weights=values)
        self._counts[within] += np.bincount(places)

    def together(self) -> ByKey:
        """The sum of what was added."""
        there = np.flatnonzero(self._counts)
        values = there + self._from
        words = sorted(self._words)
        named = np.array([words[place] for place in values.tolist()], dtype=object) if words else values
        return ByKey(named, self._sums[there], self._counts[there])

    def _cover(self, first: int, end: int) -> None:
        """Makes room for numbers, for as many again where they go on."""
        had = self._sums.size
        if not had:
            self._from = first
        before, after = max(0, self._from - first), max(0, end - self._from - had)
        if before or after:
            before, after = (max(one, had) if one else 0 for one in (before, after))
            self._from -= before
            self._sums, self._counts = (np.pad(one, (before, after)) for one in (self._sums, self._counts))


class _Counts:
    """The numbers of consecutive rows that have the same number."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self._last: int | None = None

    def add(self, codes: np.ndarray) -> None:
        """Adds some rows."""
        starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()]
        for start, end in zip(starts, [*starts[1:], codes.size], strict=True):
            if self._last == int(codes[start]):
                self.counts[-1] += end - start
            else:
                self.counts.append(end - start)
            self._last = int(codes[start])


def _read(file: int, size: int, start: int) -> bytearray:
    """Bytes of a file. OSError where it ends before."""
    content = bytearray(size)
    done = 0
    while done < size:
        got = os.preadv(file, [memoryview(content)[done:]], start + done)
        if not got:
            raise OSError("a temporary file was cut")
        done += got
    return content
