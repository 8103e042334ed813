"""Heat maps: a difference by place and stage."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from slotmark.compare.results.attribution import OutlierPlaces
from slotmark.report.charts import formats
from slotmark.report.charts.frame import data, drawn

_ROW, _MANY, _LOW_ROW = 18, 24, 10
"""Pixels per place, above how many places rows are lower, and how low."""

_MOST_ROOM, _LETTER = 110, 7
"""Pixels for the names of places, and for a letter of them."""

_STAGE_LETTER = 5.2
"""Pixels that a letter of a slanted stage name rises by."""

_RANGE = ("#0072B2", "rgba(128, 128, 128, 0.08)", "#D55E00")
"""Shorter, alike, longer: what is alike shows the page, light or dark."""


def heat(places: OutlierPlaces, columns: Sequence[int], scale: float, unit: str) -> dict[str, Any]:
    """The differences as colours, a row per place and a column per stage; rings mark those that differ from the rest.

    Args:
        places: What was looked at.
        columns: Which stages are shown, by their place.
        scale: From the unit of the places to the one that is shown.
        unit: The one that is shown.
    """
    stages = [places.stages[column] for column in columns]
    apart = {(one.place, one.stage) for one in places.apart}
    values = [
        {
            "place": name,
            "group": group,
            "stage": places.stages[column],
            "difference": round(scale * value, 3),
        }
        for name, group, row in zip(places.names, places.groups, places.differences, strict=True)
        for column in columns
        if (value := row[column]) is not None
    ]
    rings = [one for one in values if (one["place"], one["stage"]) in apart]
    most = max(abs(one["difference"]) for one in values)
    row = _ROW if len(places.names) <= _MANY else _LOW_ROW
    room = min(_MOST_ROOM, _LETTER * max(map(len, places.names)))
    y = alt.Y("place:N", sort=places.names, title=None).axis(
        labelLimit=_MOST_ROOM, labelFontSize=min(11, row), labelOverlap=True, minExtent=room, domain=False, ticks=False
    )
    x = alt.X("stage:N", sort=stages, title=None).axis(
        orient="top",
        labelAngle=-60,
        labelLimit=200,
        labelOverlap=False,
        minExtent=_STAGE_LETTER * max(map(len, stages)),
        domain=False,
        ticks=False,
    )
    legend = alt.Legend(title=unit or None, orient="bottom", gradientLength=200, gradientThickness=10, tickCount=5)
    return drawn(
        [],
        row * len(places.names),
        data(values)
        .mark_rect()
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "difference:Q",
                scale=alt.Scale(domain=[-most, 0, most], range=list(_RANGE), interpolate="rgb"),
                legend=legend,
            ),
            tooltip=[
                alt.Tooltip("place:N", title=places.kind),
                *([alt.Tooltip("group:N")] if any(places.groups) else []),
                alt.Tooltip("stage:N"),
                alt.Tooltip(
                    "difference:Q", format=formats.DIFFERENCE, title=f"difference{f', {unit}' if unit else ''}"
                ),
            ],
        ),
        data(rings).mark_text(text="\N{WHITE CIRCLE}", fontSize=min(12, row)).encode(x=x, y=y),
    )
