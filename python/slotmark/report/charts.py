"""Charts, as Vega-Lite specifications with their data inside."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from slotmark.compare import Comparison, Row

# Okabe and Ito's colours, told apart by nearly everyone; the shapes tell the runs apart without them.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A7F00", "#666666"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "stroke"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3], [10, 4], [3, 1]]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # a name that Vega checks, never fetched
MOST_LINES = 400
LINES = {"symbolType": "stroke", "symbolSize": 400, "symbolStrokeWidth": 2.4, "symbolOpacity": 1}
CLIPPED = 0.995
"""Where the axis of a distribution on a linear scale ends: a few far samples would squeeze all others."""


def scales(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How a run is told from the others, as Vega-Lite channels by name: color, shape and dash; the same run the same in every chart."""
    turns = [divmod(place, len(COLOURS)) for place in range(len(names))]
    colours = [place for _, place in turns]
    marks = [
        (place + turn) % len(COLOURS) for turn, place in turns
    ]  # the ninth run has the first's colour, not its dashes
    return {
        "color": {
            "field": "run",
            "type": "nominal",
            "sort": list(names),
            "title": None,
            "scale": {"domain": list(names), "range": [COLOURS[i] for i in colours]},
        },
        "shape": {
            "field": "run",
            "type": "nominal",
            "sort": list(names),
            "legend": None,
            "scale": {"domain": list(names), "range": [SHAPES[i] for i in marks]},
        },
        "dash": {
            "field": "run",
            "type": "nominal",
            "sort": list(names),
            "title": None,
            "scale": {"domain": list(names), "range": [DASHES[i] for i in marks]},
        },
    }


def drawn(names: Sequence[str], height: int, *layers: dict[str, Any]) -> dict[str, Any]:
    """A chart as wide as its place, with a parameter, ``shown``, that holds the runs to show: the page changes it.

    Marks that belong to no run stay whichever are shown.
    """
    shown = {"filter": "!isValid(datum.run) || indexof(shown, datum.run) >= 0"}
    return {
        "$schema": SCHEMA,
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 8, "right": 12, "top": 4, "bottom": 4},
        "height": height,
        "params": [{"name": "shown", "value": list(names)}],
        "layer": [{**layer, "transform": [shown]} for layer in layers],
        "usermeta": {
            "runs": [{"name": name, "colour": COLOURS[place % len(COLOURS)]} for place, name in enumerate(names)]
        },
    }


def dots(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """Every sample of a metric in a setting as a dot, a row a run, with the median and its interval."""
    unit = row.metric.unit
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
        medians.append(
            {
                "run": name,
                "value": summary.median,
                "low": summary.median_interval.low if summary.median_interval else summary.median,
                "high": summary.median_interval.high if summary.median_interval else summary.median,
            }
        )
    by_run = scales(names)
    y = {
        "field": "run",
        "type": "nominal",
        "sort": list(names),
        "title": None,
        "axis": {"labelLimit": 160, "minExtent": 64, "domain": False, "ticks": False, "labelFontSize": 12},
    }
    axis = {"title": f"{row.metric.name}{', ' + unit if unit else ''}", "grid": True, "tickCount": 6}
    x = {"field": "value", "type": "quantitative", "scale": {"zero": False, "nice": True, "padding": 12}, "axis": axis}
    tooltip = [
        {"field": "run", "type": "nominal"},
        {"field": "sample", "title": " / ".join(row.metric.grain)},
        {"field": "value", "format": ",.4~r", "title": unit or "value"},
        {"field": "outlier", "title": "note"},
    ]
    return drawn(
        names,
        34 * len(medians) + 12,
        {
            "data": {"values": medians},
            "mark": {"type": "rule", "strokeWidth": 9, "opacity": 0.28, "strokeCap": "round"},
            "encoding": {
                "y": y,
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "color": {**by_run["color"], "legend": None},
            },
        },
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 46, "opacity": 0.85},
            "encoding": {
                "y": y,
                "x": x,
                "color": {**by_run["color"], "legend": None},
                "shape": by_run["shape"],
                "fillOpacity": {"condition": {"test": "datum.outlier != ''", "value": 0}, "value": 0.75},
                "strokeWidth": {"value": 1.4},
                "stroke": {**by_run["color"], "legend": None},
                "tooltip": tooltip,
            },
        },
        {
            "data": {"values": medians},
            "mark": {"type": "tick", "thickness": 2.5, "size": 22, "color": "#111"},
            "encoding": {
                "y": y,
                "x": x,
                "tooltip": [
                    {"field": "run"},
                    {"field": "value", "title": "median", "format": ",.4~r"},
                    {"field": "low", "format": ",.4~r"},
                    {"field": "high", "format": ",.4~r"},
                ],
            },
        },
    )


def timeline(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """A metric over its last key column: every sequence thin, their median bold, a colour and a dash a run."""
    thin, bold = [], []
    for name, summary in zip(names, row.summaries, strict=True):
        if summary is None:
            continue
        by_place: dict[int | str, list[float]] = {}
        for key, value in summary.samples:
            by_place.setdefault(key[-1], []).append(value)
            thin.append(
                {"run": name, "line": f"{name} {'/'.join(map(str, key[:-1]))}", "place": key[-1], "value": value}
            )
        bold += [
            {"run": name, "place": place, "value": float(np.median(values))}
            for place, values in sorted(by_place.items())
        ]
    if len({point["line"] for point in thin}) > MOST_LINES:
        thin = []
    by_run = scales(names)
    unit = row.metric.unit
    x = {
        "field": "place",
        "type": "quantitative",
        "title": row.metric.grain[-1],
        "axis": {"format": ",d", "tickCount": 8},
    }
    y = {"field": "value", "type": "quantitative", "title": unit or row.metric.name, "axis": {"tickCount": 6}}
    tooltip = [
        {"field": "run"},
        {"field": "place", "title": row.metric.grain[-1], "format": ",d"},
        {"field": "value", "title": unit or "value", "format": ",.4~r"},
    ]
    return drawn(
        names,
        240,
        {
            "params": [{"name": "zoom", "select": "interval", "bind": "scales"}],
            "data": {"values": thin},
            "mark": {"type": "line", "strokeWidth": 1},
            "encoding": {
                "x": x,
                "y": y,
                "detail": {"field": "line"},
                "color": by_run["color"],
                "opacity": {"value": 0.22},
            },
        },
        {
            "data": {"values": bold},
            "mark": {"type": "line", "strokeWidth": 2.4, "point": {"size": 26}},
            "encoding": {
                "x": x,
                "y": y,
                "color": by_run["color"],
                "strokeDash": by_run["dash"],
                "tooltip": tooltip,
            },
        },
    )


def _readable(row: Row) -> tuple[float, str]:
    """A factor and the unit that it leads to: durations of a cluster are shown in ms."""
    return (1e3, "ms") if row.metric.unit == "s" else (1.0, row.metric.unit)


def cdf(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """The share of a metric's samples up to each value, a curve a run, with the band between hosts or runs."""
    scale, unit = _readable(row)
    logarithmic = row.metric.scale == "log"
    points, bands, ends = [], [], []
    for name, summary in zip(names, row.summaries, strict=True):
        if summary is None:
            continue
        points += [{"run": name, "share": share, "value": scale * value} for share, value in summary.centiles]
        bands += [
            {"run": name, "share": share, "low": scale * low, "high": scale * high} for share, low, high in summary.band
        ]
        ends += [scale * value for share, value in summary.centiles if share in (0.0, CLIPPED)]
    if logarithmic:
        points = [point for point in points if point["value"] > 0]
        bands = [band for band in bands if band["low"] > 0]
    linear: dict[str, Any] = {"zero": False, "nice": False}
    if ends and min(ends) < max(ends):
        linear["domain"] = [min(ends), max(ends)]
    x = {
        "type": "quantitative",
        "title": f"{row.metric.name}{', ' + unit if unit else ''}",
        "scale": {"type": "log", "nice": False} if logarithmic else linear,
        "axis": {"tickCount": 6, "labelOverlap": True},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "title": "share of samples",
        "scale": {"domain": [0, 1]},
        "axis": {"format": "%", "tickCount": 5},
    }
    by_run = scales(names)
    tooltip = [
        {"field": "run"},
        {"field": "share", "title": "share of samples", "format": ".2%"},
        {"field": "value", "title": unit or "value", "format": ",.4~g"},
    ]
    return drawn(
        names,
        240,
        {
            "params": [{"name": "zoom", "select": "interval", "bind": "scales"}],
            "data": {"values": points},
            "mark": {
                "type": "line",
                "strokeWidth": 2.2,
                "point": {"size": 22},
                "orient": "horizontal",
                "clip": True,
            },
            "encoding": {
                "y": y,
                "x": {**x, "field": "value"},
                "order": {"field": "share"},
                "color": {**by_run["color"], "legend": LINES},
                "strokeDash": {**by_run["dash"], "legend": LINES},
                "tooltip": tooltip,
            },
        },
        *(
            [
                {
                    "data": {"values": bands},
                    "mark": {"type": "area", "opacity": 0.13, "orient": "horizontal", "clip": True},
                    "encoding": {
                        "y": y,
                        "x": {**x, "field": "low"},
                        "x2": {"field": "high"},
                        "color": {**by_run["color"], "legend": LINES},
                    },
                }
            ]
            if bands
            else []
        ),
    )


def course(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """The means of consecutive stretches of slots or blocks, a line a run."""
    scale, unit = _readable(row)
    points = [
        {"run": name, "place": place, "value": scale * value}
        for name, summary in zip(names, row.summaries, strict=True)
        if summary
        for place, value in summary.course
    ]
    by_run = scales(names)
    along = {"slot": "slot", "block_no": "block number"}.get(row.metric.grain[0], row.metric.grain[0])
    return drawn(
        names,
        180,
        {
            "params": [{"name": "zoom", "select": "interval", "bind": "scales"}],
            "data": {"values": points},
            "mark": {"type": "line", "strokeWidth": 1.6},
            "encoding": {
                "x": {
                    "field": "place",
                    "type": "quantitative",
                    "title": along,
                    "scale": {"zero": False, "nice": False},
                    "axis": {"format": ",d", "tickCount": 8},
                },
                "y": {
                    "field": "value",
                    "type": "quantitative",
                    "title": unit or row.metric.name,
                    "scale": {"zero": False},
                    "axis": {"tickCount": 5},
                },
                "color": {**by_run["color"], "legend": LINES},
                "strokeDash": {**by_run["dash"], "legend": LINES},
                "tooltip": [
                    {"field": "run"},
                    {"field": "place", "title": along, "format": ",d"},
                    {"field": "value", "title": unit or "value", "format": ",.4~g"},
                ],
            },
        },
    )


def figures(comparison: Comparison) -> list[tuple[Row, dict[str, Any]]]:
    """The chart of every row whose metric is drawn, with the row."""
    names = [side.name for side in comparison.sides]
    charted = {"dots": dots, "timeline": timeline, "cdf": cdf}
    return [
        (row, charted[row.metric.chart](row, names))
        for row in comparison.rows
        if row.metric.chart in charted and any(row.summaries)
    ]


def courses(comparison: Comparison) -> list[tuple[Row, dict[str, Any]]]:
    """The course over the run of every metric that has one."""
    names = [side.name for side in comparison.sides]
    return [
        (row, course(row, names))
        for row in comparison.rows
        if any(summary and len(summary.course) > 1 for summary in row.summaries)
    ]
