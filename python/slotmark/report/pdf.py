"""Documents as PDF, for publishing: set by Typst, charts as vector graphics."""

import json
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import typst
import vl_convert

from slotmark.report.columns import BREAK, breakable, fit
from slotmark.report.document import SYMBOLS, Block, Document, Figure, Table

LINE_PT = 482.0
"""The width of a line of text, in points: 170 mm."""

TABLE_PT, WIDE_TABLE_PT = 8.5, 6.8
"""The usual type sizes of tables, in points."""

CHART_WIDTH = 620
"""Of a chart, in its own pixels; it is shown as wide as a line of text."""

CHART_CONFIG = {
    "background": "transparent",
    "font": "Libertinus Serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "#1d2129",
        "titleColor": "#1d2129",
        "gridColor": "#e1e4ea",
        "domainColor": "#aab1bd",
        "tickColor": "#aab1bd",
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 13,
    },
    "legend": {
        "labelColor": "#1d2129",
        "orient": "top",
        "labelFontSize": 13,
        "labelLimit": 170,
        "columns": 3,
        "symbolType": "stroke",
        "symbolStrokeWidth": 2.5,
        "symbolSize": 500,
        "symbolOpacity": 1,
    },
}
"""The looks of charts on paper: the page's own font and colours."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")

_OWN_ALPHABETS = re.compile("[\x00-\u04ff\u200b▲▼−≤≥≠≈…–—‘’“”•→←Δ∶√∞�]*")
"""What the fonts inside Typst can surely print."""


def pdf(document: Document) -> bytes:
    """The document as PDF; the same bytes for the same document, so without a date of its own.

    All text reaches Typst as data, never as markup. Only the fonts inside Typst are used, unless a name is written in
    a script that they lack: then the machine's own fonts help out.
    """
    told = {
        "title": _printable(document.title),
        "subtitle": _printable(document.subtitle),
        "sections": [
            {"title": _printable(section.title), "blocks": [_plain(block) for block in section.blocks]}
            for section in document.sections
        ],
        "symbols": SYMBOLS,
        "break": BREAK,
        "line": LINE_PT,
    }
    text = json.dumps(told, ensure_ascii=False)
    return typst.compile(
        _template(),
        format="pdf",
        sys_inputs={"document": text},
        ignore_system_fonts=_OWN_ALPHABETS.fullmatch(text) is not None,
        timestamp=0,
    )


def _plain(block: Block) -> Any:
    """A block as JSON types, with what only paper needs: a chart's picture, a table's measures."""
    match block:
        case Figure(title, caption, spec):
            return {"type": "Figure", "title": _printable(title), "caption": _printable(caption), "svg": _svg(spec)}
        case Table():
            measures = fit(block, line=LINE_PT, size=WIDE_TABLE_PT if block.wide else TABLE_PT)
            return {**_printable(msgspec.to_builtins(block)), "fit": msgspec.to_builtins(measures)}
        case _:
            return _printable(msgspec.to_builtins(block))


def _svg(spec: dict[str, Any]) -> str:
    sized = {**_changed(spec, _clean), "width": CHART_WIDTH}
    return vl_convert.vegalite_to_svg(sized, config=CHART_CONFIG, allowed_base_urls=[])


def _printable(value: Any) -> Any:
    """JSON types with text that is fit for paper: only what can be printed, and long words breakable."""
    return _changed(value, lambda text: breakable(_clean(text)))


def _clean(text: str) -> str:
    """The text without what can't be printed: to leave it in would end the process that draws the chart."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    """JSON types with every string in them changed."""
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [_changed(item, change) for item in value]
        case dict():
            return {name: _changed(item, change) for name, item in value.items()}
        case _:
            return value


@cache
def _template() -> bytes:
    return (files("slotmark.report") / "templates" / "report.typ").read_bytes()
