"""Draws the stages of one sample by place and time."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from slotmark.compare.results.attribution import WorstSample
from slotmark.report.charts import formats
from slotmark.report.charts.frame import COLOURS, data, drawn

_LEAST_HEIGHT, _ROW, _LOW_ROW = 120, 12, 6
"""Pixels: of the chart, of a row, and of a row where the chart would be higher than this many rows."""

_MANY = 24

_OTHERS = "other stages"
_OTHERS_COLOUR = "#9AA3B2"


def stages(one: WorstSample, order: Sequence[str], scale: float, unit: str) -> dict[str, Any]:
    """A row per place, a bar per stage from when it began to when it ended.

    Args:
        one: The sample.
        order: All stages, those that take longest first: they have colours of their own.
        scale: From the metric's unit to the one that is shown.
        unit: The one that is shown.
    """
    own = list(order[: len(COLOURS) - 1])
    names = list(dict.fromkeys(span.place for span in one.spans))
    values = [
        {
            "place": span.place,
            "stage": span.stage,
            "shown as": span.stage if span.stage in own else _OTHERS,
            "from": round(scale * span.begin, 2),
            "to": round(scale * span.end, 2),
        }
        for span in one.spans
    ]
    seen = {value["shown as"] for value in values}
    domain = [*(stage for stage in own if stage in seen), *([_OTHERS] if _OTHERS in seen else [])]
    colours = [_OTHERS_COLOUR if stage == _OTHERS else COLOURS[own.index(stage)] for stage in domain]
    row = _ROW if len(names) <= _MANY else _LOW_ROW
    y = alt.Y("place:N", sort=names, title=None, scale=alt.Scale(paddingInner=0.15)).axis(
        labelLimit=80, labelFontSize=9, labelOverlap=True, domain=False, ticks=False
    )
    legend = alt.Legend(title=None, orient="bottom", columns=2, columnPadding=16, symbolType="square", labelLimit=130)
    return drawn(
        [],
        max(_LEAST_HEIGHT, row * len(names)),
        data(values)
        .mark_bar()
        .encode(
            y=y,
            x=alt.X("from:Q", title=unit or None, axis=alt.Axis(tickCount=5, labelOverlap=True)),
            x2="to:Q",
            color=alt.Color("shown as:N", sort=domain, scale=alt.Scale(domain=domain, range=colours), legend=legend),
            tooltip=[
                alt.Tooltip("place:N"),
                alt.Tooltip("stage:N"),
                alt.Tooltip("from:Q", format=formats.TIME),
                alt.Tooltip("to:Q", format=formats.TIME),
            ],
        ),
    )
