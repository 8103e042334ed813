"""The index of a store: the estimates of all its runs in one Parquet file, a row a run. It is made from files that each have one run's, with the same bytes whoever makes it."""

import hashlib
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from slotmark.history.entries import Entry, Estimated

_TEXT, _NUMBER, _WHOLE = pa.string(), pa.float64(), pa.int64()

_ESTIMATE = pa.struct(
    [
        ("metric", _TEXT),
        ("part", _TEXT),
        ("unit", _TEXT),
        ("scale", _TEXT),
        ("level", _NUMBER),
        ("variance", _NUMBER),
        ("estimate", _NUMBER),
        ("low", _NUMBER),
        ("high", _NUMBER),
        ("samples", _WHOLE),
    ]
)


def _list(of: pa.DataType) -> pa.DataType:
    """A list as Parquet's readers name its elements: written again it has the same bytes."""
    return pa.list_(pa.field("element", of))


SCHEMA = pa.schema(
    [
        ("run", _TEXT),
        ("name", _TEXT),
        ("bench", _TEXT),
        ("target", _TEXT),
        ("workload", _TEXT),
        ("machine", _TEXT),
        ("version", _TEXT),
        ("ref", _TEXT),
        ("branch", _TEXT),
        ("build", _TEXT),
        ("commit", _TEXT),
        ("origin", _TEXT),
        ("at_ns", _WHOLE),
        ("added_ns", _WHOLE),
        ("place", _WHOLE),
        ("facts", _list(pa.struct([("name", _TEXT), ("value", _TEXT)]))),
        ("estimates", _list(_ESTIMATE)),
    ]
)
"""Columns of the index; docs/history.md describes them."""


_HASH = re.compile("[0-9a-f]{40}")


def rows(found: Sequence[tuple[Entry, Estimated]]) -> pa.Table:
    """The rows of some runs, by their digests. The names that a run was given count before what it records."""
    ordered = sorted(found, key=lambda one: one[0].run)
    columns = {
        "run": [entry.run for entry, _ in ordered],
        "name": [of.name for _, of in ordered],
        "bench": [of.group.bench for _, of in ordered],
        "target": [entry.labels.target or of.group.target for entry, of in ordered],
        "workload": [of.group.workload for _, of in ordered],
        "machine": [entry.labels.machine or of.group.machine for entry, of in ordered],
        "version": [
            entry.labels.version or _in_short(entry.labels.ref) or of.version or of.build for entry, of in ordered
        ],
        "ref": [entry.labels.ref for entry, _ in ordered],
        "branch": [entry.labels.branch for entry, _ in ordered],
        "build": [of.build for _, of in ordered],
        "commit": [of.commit for _, of in ordered],
        "origin": [of.origin for _, of in ordered],
        "at_ns": [entry.at_ns for entry, _ in ordered],
        "added_ns": [entry.added_ns for entry, _ in ordered],
        "place": [entry.place for entry, _ in ordered],
        "facts": [[{"name": name, "value": value} for name, value in of.facts.items()] for _, of in ordered],
    }
    estimates = [one for _, of in ordered for one in of.estimates]
    ends = [0]
    for _, of in ordered:
        ends.append(ends[-1] + len(of.estimates))
    fields = [pa.array([getattr(one, field.name) for one in estimates], field.type) for field in _ESTIMATE]
    values = pa.StructArray.from_arrays(fields, fields=list(_ESTIMATE))
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, type=_list(_ESTIMATE))
    arrays = [pa.array(columns[field.name], field.type) if field.name in columns else lists for field in SCHEMA]
    return pa.table(arrays, schema=SCHEMA)


def _in_short(ref: str) -> str:
    """A commit as a version: of a full hash twelve digits."""
    return ref[:12] if _HASH.fullmatch(ref) else ref


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """Rows of several tables in the order of digests."""
    found = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
    digests = found["run"].to_pylist()
    # An index is in this order already, and sorting it would have it in memory three times.
    return found if digests == sorted(digests) else found.sort_by("run")


_DIGEST = b"slotmark.sha256"
_MARK = re.compile(_DIGEST + rb"[^0-9a-f]{1,8}([0-9a-f]{64})")
"""The digest of the whole file, in the footer: Parquet's own checksums leave out headers of pages, and the footer."""


def encoded(table: pa.Table) -> bytes:
    """The table as a Parquet file, with a digest of it among the metadata of its schema."""
    file = pa.BufferOutputStream()
    marked = table.combine_chunks().replace_schema_metadata({_DIGEST: b"0" * 64})
    pq.write_table(marked, file, compression="zstd", write_statistics=False)
    content = file.getvalue().to_pybytes()
    first, end = _place_of_digest(content)
    return content[:first] + hashlib.sha256(content).hexdigest().encode() + content[end:]


def _is_whole(content: bytes) -> bool:
    """Returns whether every bit of a file is as it was written."""
    first, end = _place_of_digest(content)
    without = b"".join((content[:first], b"0" * (end - first), content[end:]))
    return end > 0 and hashlib.sha256(without).hexdigest().encode() == content[first:end]


def _place_of_digest(content: bytes) -> tuple[int, int]:
    """The first byte of the digest in a file, and that after it; 0 and 0 where it has none."""
    length = int.from_bytes(content[-8:-4], "little")
    found = _MARK.search(content, max(0, len(content) - 8 - length))
    return found.span(1) if found else (0, 0)


def decoded(content: bytes, columns: Sequence[str] | None = None) -> pa.Table | None:
    """The table of a Parquet file, or some columns of it; None where it is none, isn't as it was written, or has other columns: it is then made anew."""
    if not _is_whole(content):
        return None
    # A thread of Arrow's may hold the bytes for a moment longer, and freeing what is Python's as the process ends aborts it.
    own = pa.allocate_buffer(len(content))
    pa.FixedSizeBufferWriter(own).write(content)
    try:
        file = pq.ParquetFile(pa.BufferReader(own))
        if not file.schema_arrow.equals(SCHEMA):
            return None
        return file.read(columns, use_threads=False).replace_schema_metadata(None)
    except (OSError, pa.ArrowException):
        return None
