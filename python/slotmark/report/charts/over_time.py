"""Metrics over the course of a run."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from slotmark.compare.results.rows import Row
from slotmark.numbers import readable
from slotmark.report.charts import formats
from slotmark.report.charts.frame import SMALL, colour, dash, data, drawn, zoom

MOST_LINES = 400
"""The most sequences that are drawn one by one; of more, only the medians are drawn."""


def timeline(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """A metric over its last key column: every sequence thin, their median bold, a colour and a dash per run."""
    thin = [
        {"run": name, "line": f"{name} {'/'.join(map(str, key[:-1]))}", "place": key[-1], "value": value}
        for name, summary in zip(names, row.summaries, strict=True)
        if summary
        for key, value in summary.samples
    ]
    if len({point["line"] for point in thin}) > MOST_LINES:
        thin = []
    bold = _course(row, names, 1.0)
    along = row.metric.grain[-1]
    x = alt.X("place:Q", title=along).axis(format=formats.PLACE, tickCount=4)
    y = alt.Y("value:Q", title=row.metric.unit or None).axis(tickCount=5)
    layers = [
        data(bold)
        .mark_line(strokeWidth=2.2, point={"size": 20})
        .encode(x=x, y=y, color=colour(names), strokeDash=dash(names), tooltip=_tooltip(along, row.metric.unit))
    ]
    if thin:
        layers.insert(
            0,
            data(thin)
            .mark_line(strokeWidth=1)
            .encode(x=x, y=y, detail="line:N", color=colour(names), opacity=alt.value(0.22)),
        )
    return drawn(names, SMALL, layers[0].add_params(zoom()), *layers[1:])


def course(row: Row, names: Sequence[str], along: str) -> dict[str, Any]:
    """Returns a chart of the means of consecutive stretches of units, a line per run; ``along`` is the title of the axis that they lie on."""
    scale, unit = readable(row.metric.unit)
    x = alt.X("place:Q", title=along, scale=alt.Scale(zero=False, nice=False)).axis(
        format=formats.PLACE, tickCount=4, labelOverlap=True
    )
    y = alt.Y("value:Q", title=unit or None, scale=alt.Scale(zero=False)).axis(tickCount=4)
    return drawn(
        names,
        SMALL,
        data(_course(row, names, scale))
        .mark_line(strokeWidth=1.6, point="transparent")
        .encode(x=x, y=y, color=colour(names), strokeDash=dash(names), tooltip=_tooltip(along, unit))
        .add_params(zoom()),
    )


def _course(row: Row, names: Sequence[str], scale: float) -> list[dict[str, Any]]:
    return [
        {"run": name, "place": place, "value": scale * value}
        for name, summary in zip(names, row.summaries, strict=True)
        if summary
        for place, value in summary.course
    ]


def _tooltip(along: str, unit: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("run:N"),
        alt.Tooltip("place:Q", title=along, format=formats.PLACE),
        alt.Tooltip("value:Q", title=unit or "value", format=formats.VALUE),
    ]
