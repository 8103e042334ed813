"""Charts, as Vega-Lite specifications with their data inside, built with Altair: a module per family.

Names, units and other text of a run are only ever data, a title, or a scale's domain; never an expression or a format.
"""

from collections.abc import Callable, Mapping
from typing import Any

from slotmark.report.charts.blocks import percentiles, ratios, ridgeline, shift
from slotmark.report.charts.distribution import cdf
from slotmark.report.charts.dots import dots
from slotmark.report.charts.over_time import course, timeline
from slotmark.report.charts.swept import swept
from slotmark.report.charts.waterfall import waterfall

CHARTS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "dots": dots,
    "cdf": cdf,
    "timeline": timeline,
    "course": course,
    "ridgeline": ridgeline,
    "percentiles": percentiles,
    "ratios": ratios,
    "shift": shift,
    "swept": swept,
    "waterfall": waterfall,
}
"""Every chart by its name."""
