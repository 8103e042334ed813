"""The result of `spread`: how much runs of one build differ."""

import msgspec

from slotmark.compare.result import Side
from slotmark.compare.run_to_run.spread_table import SpreadTable
from slotmark.warnings import Warning

CONFIDENCE = 0.95
"""Confidence of the intervals of a table."""


class Measured(msgspec.Struct, frozen=True):
    """The spread of runs of one build, and those runs.

    Attributes:
        table: What is kept.
        sides: The builds with their runs.
        warnings: Warnings about runs that aren't counted.
    """

    table: SpreadTable
    sides: list[Side]
    warnings: list[Warning]

    @property
    def printed(self) -> "PrintedTable":
        """The table with the warnings, as `spread --json` prints it."""
        return PrintedTable(**msgspec.structs.asdict(self.table), warnings=self.warnings)


class PrintedTable(SpreadTable, frozen=True, kw_only=True):
    """A table, and warnings about runs that aren't counted in it."""

    warnings: list[Warning]
