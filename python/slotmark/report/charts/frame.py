"""Parts that all charts share: the look of each run, the frame of a chart, zooming."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import msgspec

SMALL, LARGE = 165, 260
"""Heights in pixels."""

# Okabe and Ito's colours, which nearly everyone can distinguish; dashes and shapes distinguish the runs without them.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A7F00", "#666666")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "stroke")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (4, 4), (1, 3), (10, 4), (3, 1))

_SHOWN = "!isValid(datum.run) || indexof(shown, datum.run) >= 0"


class Look(msgspec.Struct, frozen=True):
    """The colour and line of a run, the same in every chart."""

    name: str
    colour: str
    dash: tuple[int, ...]
    shape: str


def looks(names: Sequence[str]) -> list[Look]:
    """A look per run: no two have the same colour and the same dash, up to 64."""
    found = []
    for number, name in enumerate(names):
        turn, place = divmod(number, len(COLOURS))
        mark = (place + turn) % len(COLOURS)  # the ninth run has the first's colour, not its dash
        found.append(Look(name, COLOURS[place], DASHES[mark], SHAPES[mark]))
    return found


def colour(names: Sequence[str]) -> alt.Color:
    """The channel of a mark's colour, by run."""
    return alt.Color("run:N", sort=list(names), legend=None, scale=_by_run(names, [one.colour for one in looks(names)]))


def stroke(names: Sequence[str]) -> alt.Stroke:
    """The channel of an outline's colour, by run."""
    return alt.Stroke(
        "run:N", sort=list(names), legend=None, scale=_by_run(names, [one.colour for one in looks(names)])
    )


def dash(names: Sequence[str]) -> alt.StrokeDash:
    """The channel of a line's dash, by run."""
    return alt.StrokeDash(
        "run:N", sort=list(names), legend=None, scale=_by_run(names, [list(one.dash) for one in looks(names)])
    )


def shape(names: Sequence[str]) -> alt.Shape:
    """The channel of a point's shape, by run."""
    return alt.Shape("run:N", sort=list(names), legend=None, scale=_by_run(names, [one.shape for one in looks(names)]))


def data(values: Sequence[dict[str, Any]]) -> alt.Chart:
    """A layer's data; rows of a run that isn't shown are left out, those of no run stay."""
    return alt.Chart(alt.InlineData(values=list(values))).transform_filter(_SHOWN)


def zoom() -> alt.Parameter:
    """Drag moves a chart, Ctrl and the mouse wheel zoom it; the wheel alone scrolls the page."""
    return alt.selection_interval(name="zoom", bind="scales", zoom="wheel![event.ctrlKey || event.metaKey]")


def drawn(names: Sequence[str], height: int, *layers: alt.Chart) -> dict[str, Any]:
    """A chart as wide as its place, with a parameter, ``shown``, that holds the names of the runs to show: the page changes it.

    ``usermeta`` lists the runs with their looks, for the legend of the page, and whether the chart needs one: not where an axis names them.
    """
    chart = alt.layer(
        *layers,
        height=height,
        width="container",
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        padding={"left": 6, "right": 10, "top": 4, "bottom": 4},
        params=[alt.param(name="shown", value=list(names)).param],
        usermeta={"runs": [msgspec.to_builtins(one) for one in looks(names)]},
    )
    spec = chart.to_dict(validate=False)
    named = any(one.get("encoding", {}).get("y", {}).get("field") == "run" for one in spec["layer"])
    return {**spec, "usermeta": {**spec["usermeta"], "legend": not named}}


def line_at(value: float) -> alt.Chart:
    """A dashed line where nothing differs; it belongs to no run and stays whichever are shown."""
    return data([{"nothing": value}]).mark_rule(strokeDash=[4, 4], color="#888").encode(y=alt.Y("nothing:Q"))


def _by_run(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=list(values))
