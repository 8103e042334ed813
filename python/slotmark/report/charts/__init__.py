"""Charts, as Vega-Lite specifications with their data inside, built with Altair: a module per family.

Names, units and other text of a run are only ever data, a title, or a scale's domain; never an expression or a format.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from altair.utils.schemapi import debug_mode

from slotmark.report.charts.blocks import percentiles, ratios, ridgeline, shift
from slotmark.report.charts.distribution import cdf
from slotmark.report.charts.dots import dots
from slotmark.report.charts.growth import growth
from slotmark.report.charts.heat import heat
from slotmark.report.charts.over_time import course, timeline
from slotmark.report.charts.stages import stages
from slotmark.report.charts.swept import swept
from slotmark.report.charts.waterfall import waterfall


def _unchecked(chart: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A chart without Altair's check of each of its parts against Vega-Lite's schema, which takes most of the time; the tests check."""

    @wraps(chart)
    def drawn(*data: Any) -> dict[str, Any]:
        with debug_mode(False):
            return chart(*data)

    return drawn


_CHARTS = dots, cdf, timeline, course, ridgeline, percentiles, ratios, shift, swept, waterfall, heat, growth, stages

CHARTS: Mapping[str, Callable[..., dict[str, Any]]] = {chart.__name__: _unchecked(chart) for chart in _CHARTS}
"""Every chart by its name."""
