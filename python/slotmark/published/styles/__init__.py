"""Two styles of the tables of locli, the established tool: a module each, with the same functions.

For published tables only. slotmark's own reports print numbers by :mod:`slotmark.numbers`.
"""

from collections.abc import Mapping
from typing import Protocol

from slotmark.published.styles import org, typst


class Style(Protocol):
    """The functions that both modules offer; each takes finite, unrounded numbers in the metric's unit and returns the printed text.

    ``width`` is the metric's field width in locli's catalogue, in characters: 4 for most durations.
    """

    @property
    def LABELS(self) -> Mapping[str, str]:  # noqa: N802 - a constant of the modules
        """Labels of rows that differ from the metric's name and unit, by locli's field."""
        ...

    def cell(self, value: float, width: int) -> str:
        """A value: the arithmetic mean that fills a column of a run."""
        ...

    def delta(self, baseline: float, candidate: float, width: int) -> str:
        """Candidate less baseline."""
        ...

    def percent(self, baseline: float, candidate: float, width: int) -> str:
        """Candidate less baseline, in percent of the baseline, without a sign of percent."""
        ...

    def printed_from(self, value: float, width: int) -> tuple[float, float]:
        """The lowest and the highest number that are printed as this cell's number."""
        ...

    def count(self, samples: int) -> str | None:
        """The cell of the row ``Sample count``; None where the style has no such row."""
        ...


STYLES: Mapping[str, Style] = {"org": org, "typst": typst}
"""The styles by the names that the published files use."""

__all__ = ["STYLES", "Style", "org", "typst"]
