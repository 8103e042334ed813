"""Waterfalls: from one mean to another, step by step."""

from typing import Any

import altair as alt

from slotmark.compare.results.attribution import Explained
from slotmark.report.charts import formats
from slotmark.report.charts.frame import data, drawn

_ROW = 22
"""Pixels per step."""

_MOST_ROOM, _LETTER = 150, 7
"""Pixels for the names of steps, and for a letter of them."""

_COLOURS = {"mean": "#666666", "longer": "#D55E00", "shorter": "#0072B2"}


def waterfall(one: Explained, scale: float, unit: str) -> dict[str, Any]:
    """The baseline's mean, each step's difference from where the one before it ended, and the candidate's mean.

    Args:
        one: A metric's steps.
        scale: From the metric's unit to the one that is shown.
        unit: The one that is shown.
    """
    level = one.baseline
    bars = [{"step": "baseline", "from": 0.0, "to": scale * level, "kind": "mean", "difference": None}]
    whiskers = []
    for step in one.steps:
        after = level + step.delta.estimate
        kind = "longer" if step.delta.estimate > 0 else "shorter"
        bars.append(
            {
                "step": step.name,
                "from": scale * level,
                "to": scale * after,
                "kind": kind,
                "difference": scale * step.delta.estimate,
            }
        )
        whiskers.append(
            {"step": step.name, "low": scale * (level + step.delta.low), "high": scale * (level + step.delta.high)}
        )
        level = after
    bars.append({"step": "candidate", "from": 0.0, "to": scale * level, "kind": "mean", "difference": None})
    ends = [value for bar in bars for value in (bar["to"],)] + [
        end for one in whiskers for end in one.values() if not isinstance(end, str)
    ]
    low, high = min(ends), max(ends)
    beyond = 0.1 * (high - low) or 1.0
    for bar in bars:
        bar["from"] = max(bar["from"], low - beyond)  # the bars of means begin where the axis does
    order = [bar["step"] for bar in bars]
    room = min(_MOST_ROOM, _LETTER * max(map(len, order)))
    y = alt.Y("step:N", sort=order, title=None).axis(labelLimit=_MOST_ROOM, minExtent=room, domain=False, ticks=False)
    along = alt.Scale(zero=False, nice=False, domain=[low - beyond, high + beyond])
    axis = alt.Axis(tickCount=5, labelOverlap=True)
    colour = alt.Color("kind:N", legend=None, scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())))
    return drawn(
        [],
        _ROW * len(bars),
        data(bars)
        .mark_bar(height=14, clip=True)
        .encode(
            y=y,
            x=alt.X("from:Q", title=unit or None, scale=along, axis=axis),
            x2="to:Q",
            color=colour,
            tooltip=[
                alt.Tooltip("step:N"),
                alt.Tooltip(
                    "difference:Q", format=formats.DIFFERENCE, title=f"difference{f', {unit}' if unit else ''}"
                ),
            ],
        ),
        data(whiskers).mark_rule(strokeWidth=1.5, clip=True).encode(y=y, x=alt.X("low:Q", scale=along), x2="high:Q"),
    )
