"""Documents as PDF, for publishing: set by Typst, charts as vector graphics."""

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import cache
from importlib.resources import files
from itertools import groupby, islice
from typing import Any, NamedTuple

import msgspec
import typst

from slotmark.cleaning import one_line
from slotmark.cores import usable_cores
from slotmark.report.document import Block, Document, Figure, Forest, Table
from slotmark.report.renderers.columns import BREAK, breakable, fit
from slotmark.report.renderers.pictures import picture_makers
from slotmark.report.renderers.printable import with_texts
from slotmark.verdict import Verdict

LINE_PT = 482.0
"""The width of a line of text, in points: 170 mm."""

TABLE_PT, WIDE_TABLE_PT = 8.5, 6.8
"""The usual type sizes of tables, in points."""

CHART_WIDTH, SMALL_CHART_WIDTH = 620, 270
"""Widths of a chart in its own pixels; it is shown as wide as a line of text, a small one as a third of it."""

FIGURES_PER_PROCESS = 8
"""A process that makes pictures takes half a second to start, as long as it takes for about so many."""

CHART_CONFIG = {
    "background": "transparent",
    "font": "Libertinus Serif, Liberation Sans",
    "view": {"stroke": None},
    "tick": {"color": "#1d2129"},
    "rule": {"color": "#1d2129"},
    "text": {"color": "#1d2129"},
    "legend": {"labelColor": "#1d2129", "titleColor": "#1d2129", "titleFontWeight": "normal", "labelFontSize": 11},
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
}
"""The looks of charts on paper: the page's own font and colours. Pictures are laid out without Typst's fonts, by the one that follows, which the library brings along: it is a little wider."""

_OWN_ALPHABETS = re.compile("[\x00-\u04ff\u200b▲▼−≤≥≠≈…–—‘’“”•→←Δ∶√∞�]*")
"""Characters that the fonts inside Typst can print."""


def pdf(document: Document) -> bytes:
    """The document as PDF; the same bytes for the same document, so without a date of its own.

    All text reaches Typst as data, never as markup. Only the fonts inside Typst are used, unless a name is written in
    a script that they lack: then the machine's own fonts help out.
    """
    shown = {
        "title": _printable(document.title),
        "subtitle": _printable(document.subtitle),
        "sections": _sections(document),
        "verdict": document.verdict,
        "verdicts": {
            verdict: {"sign": verdict.sign, "explained": verdict.explained, **verdict.light._asdict()}
            for verdict in Verdict
        },
        "break": BREAK,
        "line": LINE_PT,
        "long": document.has_long_title,
    }
    text = json.dumps(shown, ensure_ascii=False)
    return typst.compile(
        _template(),
        format="pdf",
        sys_inputs={"document": text},
        ignore_system_fonts=_OWN_ALPHABETS.fullmatch(text) is not None,
        timestamp=0,
    )


def _sections(document: Document) -> list[dict[str, Any]]:
    """Sections as JSON types."""
    drawn = iter(
        _drawn([block for section in document.sections for block in section.blocks if isinstance(block, Figure)])
    )
    return [
        {"title": _printable(section.title), "blocks": list(_grouped(section.blocks, drawn))}
        for section in document.sections
    ]


class _Drawn(NamedTuple):
    """A figure as a picture.

    Attributes:
        runs: The look of each run in it.
        svg: The picture.
    """

    runs: list[dict[str, Any]]
    svg: str


def _drawn(figures: Sequence[Figure]) -> list[_Drawn]:
    """The figures as pictures. Each becomes one as soon as it is drawn, while the next is."""
    if not figures:
        return []
    with picture_makers(min(usable_cores(), 1 + len(figures) // FIGURES_PER_PROCESS)) as pictures:
        made: list[tuple[list[dict[str, Any]], Future[str]]] = []
        for figure in figures:
            chart = with_texts(figure.draw(), one_line)
            width = SMALL_CHART_WIDTH if figure.small else CHART_WIDTH
            picture = pictures.of({**_still(chart), "width": width}, CHART_CONFIG)
            about = chart.get("usermeta", {})
            made.append((about["runs"] if about.get("legend") else [], picture))
        return [_Drawn(runs, picture.result()) for runs, picture in made]


def _grouped(blocks: Sequence[Block], drawn: Iterator[_Drawn]) -> Iterator[Any]:
    """Blocks as JSON types; figures that follow each other are one block, with the legend of their runs."""
    for are_figures, group in groupby(blocks, key=lambda block: isinstance(block, Figure)):
        if are_figures:
            figures = [block for block in group if isinstance(block, Figure)]
            yield _figures(figures, list(islice(drawn, len(figures))))
        else:
            yield from map(_plain, group)


def _plain(block: Block) -> Any:
    """A block as JSON types; a table with its measures on paper, a forest with places on its axis in percent."""
    plain = _printable(msgspec.to_builtins(block))
    if isinstance(block, Forest):
        plain["note"] = _printable(block.how_to_read(margin="Shaded"))
        for mark, shown in zip(block.marks, plain["marks"], strict=True):
            shown["ends"] = mark.ends and [100 * block.place(end) for end in mark.ends]
            shown["margin"] = [100 * block.place(end) for end in mark.margin]
    if isinstance(block, Table):
        plain["fit"] = msgspec.to_builtins(fit(block, line=LINE_PT, size=WIDE_TABLE_PT if block.wide else TABLE_PT))
    return plain


def _figures(figures: Sequence[Figure], drawn: Sequence[_Drawn]) -> dict[str, Any]:
    """Figures with their pictures, and the look of each run."""
    legend = {run["name"]: run for one in drawn for run in one.runs}
    return {
        "type": "Figures",
        "legend": _printable(list(legend.values())),
        "figures": [
            {
                "title": _printable(figure.title),
                "caption": _printable(figure.caption),
                "small": figure.small,
                "svg": one.svg,
            }
            for figure, one in zip(figures, drawn, strict=True)
        ],
    }


def _still(spec: dict[str, Any]) -> dict[str, Any]:
    """A chart without its tooltips and without the invisible points that they belong to, which are most of a picture."""
    if "layer" in spec:
        return {**spec, "layer": [_still(layer) for layer in spec["layer"]]}
    mark = spec["mark"]
    if isinstance(mark, dict) and mark.get("point") == "transparent":
        mark = {name: of for name, of in mark.items() if name != "point"}
    encoding = {name: of for name, of in spec["encoding"].items() if name != "tooltip"}
    return {**spec, "mark": mark, "encoding": encoding}


def _printable(value: Any) -> Any:
    """JSON types with text that is fit for paper: only what can be printed, and long words breakable."""
    return with_texts(value, lambda text: breakable(one_line(text)))


@cache
def _template() -> bytes:
    return (files("slotmark.report.renderers") / "templates" / "report.typ").read_bytes()
