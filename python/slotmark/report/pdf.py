"""Documents as PDF, for publishing: set by Typst, charts as vector graphics."""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import typst
import vl_convert

from slotmark.report.document import SYMBOLS, Block, Document, Figure

CHART_WIDTH = 620
"""Of a chart, in its own pixels; a text line of the page is as wide."""

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

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")

_OWN_ALPHABETS = re.compile("[\x00-\u04ff▲▼−≤≥≠≈…–—‘’“”•→←Δ∶√∞�]*")
"""What the fonts inside Typst can surely print."""


def pdf(document: Document) -> bytes:
    """The document as PDF; the same bytes for the same document, so without a date of its own.

    All text reaches Typst as data, never as markup. Only the fonts inside Typst are used, unless a name is written in
    a script that they lack: then the machine's own fonts help out.
    """
    sections = [
        {"title": section.title, "blocks": [_plain(block) for block in section.blocks]} for section in document.sections
    ]
    told = {"title": document.title, "subtitle": document.subtitle, "sections": sections, "symbols": SYMBOLS}
    text = json.dumps(_printable(told), ensure_ascii=False)
    return typst.compile(
        _template(),
        format="pdf",
        sys_inputs={"document": text},
        ignore_system_fonts=_OWN_ALPHABETS.fullmatch(text) is not None,
        timestamp=0,
    )


def _plain(block: Block) -> Any:
    """A block as JSON types; a chart as SVG."""
    if isinstance(block, Figure):
        return {"type": "Figure", "title": block.title, "caption": block.caption, "svg": _svg(block.spec)}
    return msgspec.to_builtins(block)


def _svg(spec: dict[str, Any]) -> str:
    return vl_convert.vegalite_to_svg(
        {**_printable(spec), "width": CHART_WIDTH}, config=CHART_CONFIG, allowed_base_urls=[]
    )


def _printable(value: Any) -> Any:
    """JSON types without the characters that neither SVG nor paper can hold, or that turn the direction of writing."""
    match value:
        case str():
            return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
        case list() | tuple():
            return [_printable(item) for item in value]
        case dict():
            return {name: _printable(item) for name, item in value.items()}
        case _:
            return value


@cache
def _template() -> bytes:
    return (files("slotmark.report") / "templates" / "report.typ").read_bytes()
