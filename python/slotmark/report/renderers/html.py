"""Documents as one HTML file that works offline: style, data, charts and the code that draws them are all inside."""

import json
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

import jinja2
from markupsafe import Markup

from slotmark.cleaning import one_line
from slotmark.numbers import percent
from slotmark.report.document import Block, Document, Figure, Table
from slotmark.report.renderers.printable import printable_document, with_texts
from slotmark.report.renderers.vega import vega
from slotmark.verdict import Verdict

MOST_OPEN = 6
"""Charts that follow each other are folded where there are more."""


def html(document: Document) -> str:
    """The document as HTML."""
    document = printable_document(document)
    figures = [block for section in document.sections for block in section.blocks if isinstance(block, Figure)]
    charts = [with_texts(figure.draw(), one_line) for figure in figures]
    tables = [block for section in document.sections for block in section.blocks if isinstance(block, Table)]
    template = _environment().get_template("report.html")
    return template.render(
        document=document,
        linked={row[0].link for table in tables for row in table.rows if row} - {""},
        searchable=bool(tables),
        verdicts=list(Verdict),
        most_open=MOST_OPEN,
        charts=_in_script(charts),
        runtime=Markup(vega().replace("</script", "<\\/script")) if charts else "",
        style=Markup(report_style()),
        page_script=Markup(_file("page.js")),
        script=Markup(_file("charts.js")),
    )


def report_style() -> str:
    """The style sheet of reports."""
    return _environment().get_template("report.css").render(verdicts=list(Verdict))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("slotmark.report.renderers"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["anchor"] = lambda text: (
        "".join(letter if letter.isalnum() else "-" for letter in text.lower()) or "section"
    )
    environment.filters["grouped"] = _grouped
    environment.filters["place"] = lambda forest, value: round(100 * forest.place(value), 2)
    environment.filters["reach"] = lambda forest: percent(forest.reach)
    return environment


def _grouped(blocks: list[Block]) -> list[list[Block]]:
    """Blocks with those figures together that follow each other: they share a grid."""
    return [list(group) for _, group in groupby(blocks, key=lambda block: isinstance(block, Figure))]


def _file(name: str) -> str:
    return (files("slotmark.report.renderers") / "templates" / name).read_text(encoding="utf-8")


def _in_script(value: Any) -> Markup:
    """JSON that can stand inside a script element whatever it holds."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
