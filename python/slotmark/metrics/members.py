"""Members of a run, such as its hosts, put together by the files that hold their rows: a statement at a time reads those of a few."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

LAST = "\U0010ffff" * 8
"""A text above the names of members."""


class Piece(msgspec.Struct, frozen=True):
    """Rows of some members, of a table or of a relation.

    Attributes:
        first: The lowest name of a member, or a text below it.
        last: The highest name, or a text above it.
        name: Name of the table or relation.
        rows: A Parquet file; None where the piece only says which members are worked on at a time.
    """

    first: str
    last: str
    name: str
    rows: Path | None


class Members(msgspec.Struct, frozen=True):
    """Members whose rows lie apart from those of others, from the first name to the last."""

    first: str
    last: str
    pieces: list[Piece]

    @property
    def only(self) -> str | None:
        """The member, where it is one."""
        return self.first if self.first == self.last else None

    def rows_of(self, name: str) -> list[Path]:
        """Returns the files that hold the rows of a table or relation."""
        return [piece.rows for piece in self.pieces if piece.name == name and piece.rows]

    def each_of(self, name: str) -> "list[Members]":
        """The members of which a table or relation has rows, as far apart as its files keep them."""
        return members_of([piece for piece in self.pieces if piece.name == name])


def members_of(pieces: Sequence[Piece]) -> list[Members]:
    """Pieces put together so that no member is in two groups, in the order of members' names."""
    found: list[Members] = []
    for piece in sorted(pieces, key=lambda piece: (piece.first, piece.last)):
        if found and piece.first <= found[-1].last:
            last = max(piece.last, found[-1].last)
            found[-1] = Members(found[-1].first, last, [*found[-1].pieces, piece])
        else:
            found.append(Members(piece.first, piece.last, [piece]))
    return found


def pieces_of(tables: Mapping[str, Sequence[Path]], member: str) -> list[Piece]:
    """The files of tables that have rows, with their members."""
    return [
        Piece(*span, table, file)
        for table, files in tables.items()
        for file in files
        if (span := _span_of(file, member)) is not None
    ]


def _span_of(file: Path, member: str) -> tuple[str, str] | None:
    """The lowest and the highest member in a Parquet file, by its own statistics; from the first to the last of all where they are missing; None without rows."""
    metadata = pq.read_metadata(file)
    if not metadata.num_rows:
        return None
    column = metadata.schema.names.index(member)
    groups = [metadata.row_group(place).column(column).statistics for place in range(metadata.num_row_groups)]
    found = [one for one in groups if one is not None and one.has_min_max and not one.null_count]
    if not found or len(found) < len(groups):
        return "", LAST
    return min(one.min for one in found), max(one.max for one in found)
