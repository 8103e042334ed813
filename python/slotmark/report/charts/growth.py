"""A metric over the size of what was worked on."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from slotmark.compare.results.growth import Curve
from slotmark.numbers import readable
from slotmark.report.charts import formats
from slotmark.report.charts.frame import SMALL, colour, dash, data, drawn, shape


def growth(curves: Sequence[Curve], along: str, targets: Sequence[str]) -> dict[str, Any]:
    """A line per target, both axes logarithmic, with the range of its processes at each size.

    Args:
        curves: Curves of one metric and part; every size and level is above 0.
        along: What sizes count.
        targets: Targets of all charts of the page: each has its look in every chart.
    """
    scale, unit = readable(curves[0].metric.unit)
    points = [
        {"run": curve.target, "size": level.size}
        | {name: scale * getattr(level, name) for name in ("mean", "low", "high")}
        for curve in curves
        for level in curve.levels
    ]
    sizes = sorted({level.size for curve in curves for level in curve.levels})
    x = alt.X("size:Q", title=along, scale=alt.Scale(type="log", nice=False)).axis(
        values=sizes, format=formats.AXIS, labelOverlap=True, grid=False
    )
    shown = {
        "title": unit,
        "scale": alt.Scale(type="log"),
        "axis": alt.Axis(tickCount=4, format=formats.AXIS, labelExpr=formats.BELOW_ONE),
    }
    mean = alt.Y("mean:Q", **shown)
    return drawn(
        targets,
        SMALL,
        data(points).mark_rule().encode(x=x, y=alt.Y("low:Q", **shown), y2="high:Q", color=colour(targets)),
        data(points)
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=mean,
            color=colour(targets),
            strokeDash=dash(targets),
        ),
        data(points)
        .mark_point(filled=True, size=40, opacity=1)
        .encode(
            x=x,
            y=mean,
            color=colour(targets),
            shape=shape(targets),
            tooltip=[
                alt.Tooltip("run:N", title="target"),
                alt.Tooltip("size:Q", title="size", format=formats.COUNT),
                alt.Tooltip("mean:Q", format=formats.LONG_VALUE),
                alt.Tooltip("low:Q", title="lowest process", format=formats.LONG_VALUE),
                alt.Tooltip("high:Q", title="highest process", format=formats.LONG_VALUE),
            ],
        ),
    )
