"""Charts of repeated costs of the same blocks, all of the first metric of such costs."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from slotmark.compare.result import Comparison
from slotmark.compare.results.details import Blocks
from slotmark.report.charts import formats
from slotmark.report.charts.frame import LARGE, SMALL, colour, dash, data, drawn, line_at

RIDGE = 40
"""Pixels between two ridges."""

MOST_SMALL = 5
"""The most sides for which a chart has the height of a small one."""


def ridgeline(comparison: Comparison, blocks: Blocks) -> dict[str, Any]:
    """The distribution of costs of every side, one above the other, on a log axis."""
    names = _names(comparison)
    ridges = [
        {"run": name, "cost": cost, "from": float(-place), "upto": -place + 1.3 * height}
        for place, (name, density) in enumerate(zip(names, blocks.densities, strict=True))
        for cost, height in zip(density.cost, density.height, strict=True)
    ]
    labels = [{"run": name, "from": float(-place)} for place, name in enumerate(names)]
    y = alt.Y("from:Q", title=None, axis=None, scale=alt.Scale(domain=[-len(names) + 0.8, 1.4], nice=False))
    return drawn(
        names,
        RIDGE * len(names) + 60,
        data(ridges)
        .mark_area(line=True, fillOpacity=0.45, strokeWidth=1.2)
        .encode(
            x=_cost(comparison),
            y=y,
            y2="upto:Q",
            color=colour(names),
            tooltip=[alt.Tooltip("run:N"), alt.Tooltip("cost:Q", format=formats.LONG_VALUE, title=_unit(comparison))],
        ),
        data(labels)
        .mark_text(align="left", baseline="bottom", dx=3, dy=-2, fontSize=11, limit=200)
        .encode(x=alt.value(0), y=y, text="run:N"),
    )


def percentiles(comparison: Comparison, blocks: Blocks, places: Sequence[int]) -> dict[str, Any]:
    """The speedup at each decile of some candidates, in percent of the baseline, with its interval; above 0 is faster.

    Args:
        comparison: All of it.
        blocks: Its detail.
        places: Which candidates, from 0.
    """
    values = [
        {
            "run": comparison.candidates[place].name,
            "percentile": 100 * one.quantile,
            "value": 100 * (1 - one.ratio.estimate),
            "low": 100 * (1 - one.ratio.high),
            "high": 100 * (1 - one.ratio.low),
        }
        for place in places
        for one in blocks.shifts[place]
    ]
    x = alt.X("percentile:Q", title="percentile of the blocks' cost", scale=alt.Scale(domain=[5, 95]))
    return _with_interval(comparison, values, x, "speedup, %", 0.0)


def shift(comparison: Comparison, blocks: Blocks) -> dict[str, Any]:
    """The shift function: each candidate's ratio at the baseline's deciles, by the baseline's cost there."""
    values = [
        {
            "run": side.name,
            "cost": one.baseline,
            "value": one.ratio.estimate,
            "low": one.ratio.low,
            "high": one.ratio.high,
        }
        for side, shifts in zip(comparison.candidates, blocks.shifts, strict=True)
        for one in shifts
    ]
    return _with_interval(comparison, values, _cost(comparison), "ratio of quantiles", 1.0)


def ratios(comparison: Comparison, blocks: Blocks, place: int) -> dict[str, Any]:
    """Every block's ratio against its cost, with the typical ratio of blocks of about one cost as a band.

    Args:
        comparison: All of it.
        blocks: Its detail.
        place: Which candidate, from 0.
    """
    names, name = _names(comparison), comparison.candidates[place].name
    key = comparison.costs.grain[-1]
    each = [{"run": name, key: one.key, "cost": one.cost, "ratio": one.ratio} for one in blocks.dots[place]]
    bands = [
        {
            "run": name,
            "from": one.low,
            "upto": one.high,
            "low": one.ratio.low,
            "high": one.ratio.high,
            "ratio": one.ratio.estimate,
            "blocks": one.blocks,
        }
        for one in blocks.bands[place]
    ]
    reach = [one["ratio"] for one in each] + [one[end] for one in bands for end in ("low", "high")] + [1.0]
    scale = alt.Scale(type="log", nice=False, domain=[min(reach) * 0.995, max(reach) * 1.005])
    # A log axis leaves out the labels of some ticks, and between 0.9 and 1.1 of nearly all.
    axis = alt.Axis(tickCount=5, labelExpr="format(datum.value, '.4~r')", minExtent=30)
    return drawn(
        names,
        SMALL,
        data(each)
        .mark_point(filled=True, size=12, opacity=0.4)
        .encode(
            x=_cost(comparison),
            y=alt.Y("ratio:Q", title="ratio", scale=scale, axis=axis),
            color=colour(names),
            tooltip=[
                alt.Tooltip(f"{key}:Q", format=formats.SLOT),
                alt.Tooltip("cost:Q", format=formats.LONG_VALUE, title=_unit(comparison)),
                alt.Tooltip("ratio:Q", format=formats.RATIO),
            ],
        ),
        data(bands)
        .mark_rect(color="#888", opacity=0.35)
        .encode(
            x=_cost(comparison, "from"),
            x2="upto:Q",
            y=alt.Y("low:Q", title="ratio", scale=scale, axis=axis),
            y2="high:Q",
            tooltip=[
                alt.Tooltip("blocks:Q"),
                *(alt.Tooltip(f"{field}:Q", format=formats.RATIO) for field in ("ratio", "low", "high")),
            ],
        ),
        line_at(1.0),
    )


def _with_interval(
    comparison: Comparison, values: Sequence[dict[str, Any]], x: alt.X, title: str, nothing: float
) -> dict[str, Any]:
    names = _names(comparison)
    scale, axis = alt.Scale(zero=False), alt.Axis(tickCount=5, minExtent=30)
    return drawn(
        names,
        SMALL if len(names) <= MOST_SMALL else LARGE,
        data(values)
        .mark_rule(strokeWidth=5, opacity=0.3)
        .encode(x=x, y=alt.Y("low:Q", title=title, scale=scale, axis=axis), y2="high:Q", color=colour(names)),
        data(values)
        .mark_line(strokeWidth=1.6, point={"size": 28})
        .encode(
            x=x,
            y=alt.Y("value:Q", title=title, scale=scale, axis=axis),
            color=colour(names),
            strokeDash=dash(names),
            tooltip=[
                alt.Tooltip("run:N"),
                alt.Tooltip("value:Q", title=title, format=formats.SHORT_RATIO),
                *(alt.Tooltip(f"{field}:Q", format=formats.SHORT_RATIO) for field in ("low", "high")),
            ],
        ),
        line_at(nothing),
    )


def _names(comparison: Comparison) -> list[str]:
    return [side.name for side in comparison.sides]


def _unit(comparison: Comparison) -> str:
    return comparison.costs.unit


def _cost(comparison: Comparison, field: str = "cost") -> alt.X:
    metric = comparison.costs
    return alt.X(
        f"{field}:Q",
        title=f"{metric.name.lower()} per block, {metric.unit}",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(tickCount=5, format=formats.COST_AXIS, labelOverlap="greedy", labelSeparation=6),
    )
