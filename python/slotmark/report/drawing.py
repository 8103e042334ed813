"""Charts that are drawn when the first renderer needs them: loading what draws takes a second, and the terminal shows none."""

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

_DRAWING = Lock()
"""The library that draws has one setting for all threads."""


def later(chart: str, *data: object) -> Callable[[], dict[str, Any]]:
    """Returns a function that draws a chart of :data:`slotmark.report.charts.CHARTS`, once, in any thread."""

    @cache
    def drawn() -> dict[str, Any]:
        from slotmark.report.charts import CHARTS  # noqa: PLC0415 - see above

        return CHARTS[chart](*data)

    def draw() -> dict[str, Any]:
        with _DRAWING:
            return drawn()

    return draw
