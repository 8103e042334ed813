"""Charts of a comparison of block costs, as Vega-Lite specifications with their data inside."""

import json
from typing import Any

from slotmark.compare.block_comparison import BlockComparison
from slotmark.report.charts import LINES, drawn, scales

ROW = 46
"""Pixels between two ridges."""

LEGEND_COLUMNS = 4
"""Names beside each other above a chart."""


def ridgeline(comparison: BlockComparison) -> dict[str, Any]:
    """The distribution of costs of every side, one above the other, on a log axis."""
    names = _names(comparison)
    values = [
        {"run": name, "cost": cost, "from": float(-place), "upto": -place + 1.4 * height, "share": height}
        for place, (name, density) in enumerate(zip(names, comparison.densities, strict=True))
        for cost, height in zip(density.cost, density.height, strict=True)
    ]
    axis = {
        "values": [-place for place in range(len(names))],
        "labelExpr": f"{json.dumps(names)}[-datum.value]",
        "labelLimit": 160,
        "labelBaseline": "bottom",
        "minExtent": min(160, 7 * max(map(len, names))),
        "domain": False,
        "grid": False,
        "ticks": False,
    }
    y = {"type": "quantitative", "title": None, "axis": axis, "scale": {"domain": [-len(names) + 0.8, 1.5]}}
    return drawn(
        _names(comparison),
        ROW * len(names) + 60,
        {
            "data": {"values": values},
            "mark": {"type": "area", "line": True, "fillOpacity": 0.45, "strokeWidth": 1.2},
            "encoding": {
                "x": _cost(comparison),
                "y": {"field": "from", **y},
                "y2": {"field": "upto"},
                "color": {**scales(names)["color"], "legend": None},
                "tooltip": [{"field": "run"}, {"field": "cost", "format": ",.4~r", "title": _unit(comparison)}],
            },
        },
    )


def percentiles(comparison: BlockComparison, places: list[int]) -> dict[str, Any]:
    """The speedup at each decile of some candidates, in percent of the baseline, with its interval; above 0 is faster.

    Args:
        comparison: All of it.
        places: Which candidates, from 0.
    """
    values = [
        {
            "run": comparison.candidates[place].name,
            "percentile": 100 * one.quantile,
            "speedup": 100 * (1 - one.ratio.estimate),
            "low": 100 * (1 - one.ratio.high),
            "high": 100 * (1 - one.ratio.low),
        }
        for place in places
        for one in comparison.shifts[place]
    ]
    x = {
        "field": "percentile",
        "type": "quantitative",
        "title": "percentile of the blocks' cost",
        "scale": {"domain": [5, 95]},
    }
    return _with_interval(comparison, values, x, "speedup", "speedup, %", 0.0)


def shift(comparison: BlockComparison) -> dict[str, Any]:
    """The shift function: each candidate's ratio at the baseline's deciles, by the baseline's cost there."""
    values = [
        {
            "run": side.name,
            "cost": one.baseline,
            "ratio": one.ratio.estimate,
            "low": one.ratio.low,
            "high": one.ratio.high,
            "decile": f"{one.quantile:.0%}",
        }
        for side, shifts in zip(comparison.candidates, comparison.shifts, strict=True)
        for one in shifts
    ]
    return _with_interval(comparison, values, _cost(comparison), "ratio", "ratio to the baseline's quantile", 1.0)


def ratios(comparison: BlockComparison, place: int) -> dict[str, Any]:
    """Every block's ratio against its cost, with the typical ratio of blocks of about one cost as a band.

    Args:
        comparison: All of it.
        place: Which candidate, from 0.
    """
    name = comparison.candidates[place].name
    dots = [{"run": name, "slot": one.key, "cost": one.cost, "ratio": one.ratio} for one in comparison.dots[place]]
    bands = [
        {"run": name, "from": one.low, "upto": one.high, "low": one.ratio.low, "high": one.ratio.high, "ratio": one.ratio.estimate, "blocks": one.blocks}
        for one in comparison.bands[place]
    ]  # fmt: skip
    shown = [one["ratio"] for one in dots] + [one[end] for one in bands for end in ("low", "high")] + [1.0]
    scale = {"type": "log", "nice": False, "domain": [min(shown) * 0.995, max(shown) * 1.005]}
    # A log axis leaves out the labels of some ticks, and between 0.9 and 1.1 of nearly all.
    axis = {"tickCount": 6, "labelExpr": "format(datum.value, '.4~r')", "minExtent": 40}
    y = {"type": "quantitative", "title": "ratio to the baseline", "scale": scale, "axis": axis}
    colour = {**scales(_names(comparison))["color"], "legend": None}
    return drawn(
        _names(comparison),
        280,
        {
            "data": {"values": dots},
            "mark": {"type": "point", "filled": True, "size": 16, "opacity": 0.45},
            "encoding": {
                "x": _cost(comparison),
                "y": {"field": "ratio", **y},
                "color": colour,
                "tooltip": [{"field": "slot"}, {"field": "cost", "format": ",.4~r", "title": _unit(comparison)}, {"field": "ratio", "format": ".4f"}],
            },
        },
        {
            "data": {"values": bands},
            "mark": {"type": "rect", "color": "#888", "opacity": 0.35},
            "encoding": {
                "x": {**_cost(comparison), "field": "from"},
                "x2": {"field": "upto"},
                "y": {"field": "low", **y},
                "y2": {"field": "high"},
                "tooltip": [{"field": "blocks"}, *({"field": field, "format": ".4f"} for field in ("ratio", "low", "high"))],
            },
        },
        _line_at(1.0),
    )  # fmt: skip


def _with_interval(
    comparison: BlockComparison, values: list[dict[str, Any]], x: dict[str, Any], field: str, title: str, nothing: float
) -> dict[str, Any]:
    names = _names(comparison)
    shown = list(dict.fromkeys(value["run"] for value in values))
    legend = {**LINES, "values": shown, "columns": LEGEND_COLUMNS, "columnPadding": 28}
    colour, dash = ({**scales(names)[channel], "legend": legend} for channel in ("color", "dash"))
    y = {"type": "quantitative", "title": title, "scale": {"zero": False}, "axis": {"tickCount": 6, "minExtent": 40}}
    tooltip = [{"field": "run"}, *({"field": one, "format": ".4~f"} for one in (field, "low", "high"))]
    return drawn(
        _names(comparison),
        260,
        {
            "data": {"values": values},
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.3},
            "encoding": {
                "x": x,
                "y": {"field": "low", **y},
                "y2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "data": {"values": values},
            "mark": {"type": "line", "strokeWidth": 1.6, "point": {"size": 34}},
            "encoding": {"x": x, "y": {"field": field, **y}, "color": colour, "strokeDash": dash, "tooltip": tooltip},
        },
        _line_at(nothing),
    )


def _line_at(value: float) -> dict[str, Any]:
    """A line where nothing differs; it belongs to no run and stays whichever are shown."""
    return {
        "data": {"values": [{"nothing": value}]},
        "mark": {"type": "rule", "strokeDash": [4, 4], "color": "#888"},
        "encoding": {"y": {"field": "nothing", "type": "quantitative"}},
    }


def _names(comparison: BlockComparison) -> list[str]:
    return [side.name for side in comparison.sides]


def _unit(comparison: BlockComparison) -> str:
    return comparison.rows[0].metric.unit


def _cost(comparison: BlockComparison) -> dict[str, Any]:
    metric = comparison.rows[0].metric
    return {
        "field": "cost",
        "type": "quantitative",
        "title": f"{metric.name.lower()} of a block, {metric.unit}",
        "scale": {"type": "log", "nice": False},
        "axis": {"tickCount": 8, "format": ",~r"},
    }
