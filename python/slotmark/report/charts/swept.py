"""Metrics over the values of a swept parameter."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from slotmark.compare.results.details import Swept
from slotmark.compare.results.rows import Row
from slotmark.numbers import readable
from slotmark.report.charts import formats
from slotmark.report.charts.frame import LARGE, colour, dash, data, drawn


def swept(rows: Sequence[Row], detail: Swept, metrics: Sequence[str]) -> dict[str, Any]:
    """A line per metric over the parameter, with the band from the lowest to the highest seed.

    Args:
        rows: The metrics of the chart, all in one unit.
        detail: The parameter and its values.
        metrics: The names of all metrics of the page: each has its look in every chart.
    """
    points = []
    for row in rows:
        scale, _ = readable(row.metric.unit)
        for value, summary in zip(detail.values, row.summaries, strict=True):
            if summary is not None:
                levels = {"mean": summary.mean, "low": summary.minimum, "high": summary.maximum}
                of_seeds = {name: scale * level for name, level in levels.items()}
                points.append({"run": row.metric.name, "value": value, **of_seeds})
    unit = readable(rows[0].metric.unit)[1]
    parameter = f"{detail.parameter}{', ' + detail.unit if detail.unit else ''}"
    along = alt.Scale(type="log", nice=False) if detail.geometric else alt.Scale(zero=False, nice=False)
    x = alt.X("value:Q", title=parameter, scale=along).axis(
        values=list(detail.values), format=formats.SET, labelOverlap=True
    )
    scale, axis = alt.Scale(zero=False), alt.Axis(tickCount=6)
    return drawn(
        metrics,
        LARGE,
        data(points)
        .mark_area(opacity=0.2)
        .encode(x=x, y=alt.Y("low:Q", title=unit, scale=scale, axis=axis), y2="high:Q", color=colour(metrics)),
        data(points)
        .mark_line(strokeWidth=2, point={"size": 30})
        .encode(
            x=x,
            y=alt.Y("mean:Q", title=unit, scale=scale, axis=axis),
            color=colour(metrics),
            strokeDash=dash(metrics),
            tooltip=[
                alt.Tooltip("run:N", title="metric"),
                alt.Tooltip("value:Q", title="value", format=formats.SET),
                alt.Tooltip("mean:Q", format=formats.LONG_VALUE),
                alt.Tooltip("low:Q", title="lowest", format=formats.LONG_VALUE),
                alt.Tooltip("high:Q", title="highest", format=formats.LONG_VALUE),
            ],
        ),
    )
