"""Cumulative distributions."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from slotmark.compare.results.rows import Row
from slotmark.numbers import readable
from slotmark.report.charts import formats
from slotmark.report.charts.frame import SMALL, colour, dash, data, drawn, zoom
from slotmark.report.sections.cells import on_log_axis


def cdf(row: Row, names: Sequence[str], clipped: float) -> dict[str, Any]:
    """The share of a row's samples up to each value, a curve per run, with the band between hosts or runs.

    Few distinct values make a step function, drawn as steps.

    Args:
        row: Row of a metric with centiles.
        names: Names of the runs.
        clipped: A linear axis ends where this share of samples does.
    """
    scale, unit = readable(row.metric.unit)
    logarithmic = on_log_axis(row)
    lines: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    bands: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    ends = []
    for name, summary in zip(names, row.summaries, strict=True):
        if summary is None or not summary.centiles:
            continue
        centiles = [(share, scale * value) for share, value in summary.centiles]
        ends += [centiles[0][1], next((value for share, value in centiles if share >= clipped), centiles[-1][1])]
        stepped = bool(summary.steps)
        if stepped:
            centiles = [(0.0, centiles[0][1]), *((share, scale * value) for share, value in summary.steps)]
        lines[stepped] += [
            {"run": name, "share": share, "value": value} for share, value in centiles if value > 0 or not logarithmic
        ]
        bands[stepped] += [
            {"run": name, "share": share, "low": scale * low, "high": scale * high}
            for share, low, high in summary.band
            if low > 0 or not logarithmic
        ]
    domain = [min(ends), max(ends)] if ends and min(ends) < max(ends) and not logarithmic else alt.Undefined
    along = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=False, nice=False, domain=domain)
    axis = alt.Axis(tickCount=4, labelOverlap=True)
    y = alt.Y("share:Q", title=None, scale=alt.Scale(domain=[0, 1])).axis(format=formats.SHARE, tickCount=5)
    layers = []
    for steps in (False, True):
        interpolate = "step-after" if steps else "linear"
        if bands[steps]:
            layers.append(
                data(bands[steps])
                .mark_area(opacity=0.13, orient="horizontal", clip=True, interpolate=interpolate)
                .encode(
                    y=y, x=alt.X("low:Q", title=unit or None, scale=along, axis=axis), x2="high:Q", color=colour(names)
                )
            )
        if lines[steps]:
            layers.append(
                data(lines[steps])
                .mark_line(strokeWidth=2, point="transparent", orient="horizontal", clip=True, interpolate=interpolate)
                .encode(
                    y=y,
                    x=alt.X("value:Q", title=unit or None, scale=along, axis=axis),
                    order=alt.Order("share:Q"),
                    color=colour(names),
                    strokeDash=dash(names),
                    tooltip=[
                        alt.Tooltip("run:N"),
                        alt.Tooltip("share:Q", title="share of samples", format=formats.FINE_SHARE),
                        alt.Tooltip("value:Q", title=unit or "value", format=formats.VALUE),
                    ],
                )
            )
    return drawn(names, SMALL, layers[0].add_params(zoom()), *layers[1:])
