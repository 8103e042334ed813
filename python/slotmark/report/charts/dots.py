"""Samples as dots."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from slotmark.compare.results.rows import Row
from slotmark.report.charts import formats
from slotmark.report.charts.frame import colour, data, drawn, shape, stroke

ROW = 30
"""Pixels between two runs."""

MOST_ROOM, LETTER = 110, 7
"""Pixels for the names of runs, and for a letter of them."""


def dots(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """Every sample of a row as a dot, a line per run, with the median and its interval."""
    metric = row.metric
    values, medians = [], []
    for name, summary in zip(names, row.summaries, strict=True):
        if summary is None:
            continue
        far = set(summary.outliers)
        values += [
            {
                "run": name,
                "value": value,
                "sample": ", ".join(map(str, key)),
                "outlier": "outlier" if key in far else "",
            }
            for key, value in summary.samples
        ]
        ends = summary.median_interval
        low, high = (ends.low, ends.high) if ends else (summary.median, summary.median)
        medians.append({"run": name, "value": summary.median, "low": low, "high": high})
    room = min(MOST_ROOM, LETTER * max(map(len, names)) + 8)
    y = alt.Y("run:N", sort=list(names), title=None).axis(
        labelLimit=MOST_ROOM, minExtent=room, domain=False, ticks=False
    )
    title = metric.unit or None
    scale, axis = alt.Scale(zero=False, nice=True, padding=12), alt.Axis(grid=True, tickCount=4, labelOverlap=True)
    return drawn(
        names,
        ROW * len(medians) + 12,
        data(medians)
        .mark_rule(strokeWidth=9, opacity=0.28, strokeCap="round")
        .encode(y=y, x=alt.X("low:Q", title=title, scale=scale, axis=axis), x2="high:Q", color=colour(names)),
        data(values)
        .mark_point(filled=True, size=42, opacity=0.85)
        .encode(
            y=y,
            x=alt.X("value:Q", title=title, scale=scale, axis=axis),
            color=colour(names),
            shape=shape(names),
            stroke=stroke(names),
            strokeWidth=alt.value(1.4),
            fillOpacity=alt.when("datum.outlier != ''").then(alt.value(0)).otherwise(alt.value(0.75)),
            tooltip=[
                alt.Tooltip("run:N"),
                alt.Tooltip("sample:N", title=" / ".join(metric.grain)),
                alt.Tooltip("value:Q", format=formats.LONG_VALUE, title=metric.unit or "value"),
                alt.Tooltip("outlier:N", title="note"),
            ],
        ),
        data(medians)
        .mark_tick(thickness=2.5, size=20)
        .encode(
            y=y,
            x=alt.X("value:Q"),
            tooltip=[
                alt.Tooltip("run:N"),
                alt.Tooltip("value:Q", title="median", format=formats.LONG_VALUE),
                alt.Tooltip("low:Q", format=formats.LONG_VALUE),
                alt.Tooltip("high:Q", format=formats.LONG_VALUE),
            ],
        ),
    )
