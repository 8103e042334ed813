"""Documents as Markdown, short enough for a comment: what is wide is folded, charts are left to HTML."""

import re

import msgspec

from slotmark.report.document import (
    CONDITIONAL,
    Block,
    Cell,
    Document,
    Facts,
    Figure,
    Forest,
    Paragraph,
    Table,
    Warnings,
)
from slotmark.report.renderers.printable import printable_document
from slotmark.warnings import Warning

_SPECIAL = re.compile(r"[\\`*_\[\]|#~$!]")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BEGINS_A_BLOCK = re.compile(r"^(?:[-+=]|\d+(?=[.)]))")
_LINKED = re.compile(r"@(?=\w)|(?<=:)//|(?<=\bwww)\.|#(?=\d)", re.IGNORECASE)
"""Texts of which GitHub makes a mention, a link or a reference: an invisible comment keeps them text."""


def markdown(document: Document) -> str:
    """The document as GitHub's Markdown."""
    document = printable_document(document)
    parts = [f"# {_text(document.title)}", _text(document.subtitle)]
    for section in document.sections:
        blocks = [text for block in section.blocks if (text := _block(block))]
        if _only_figures(section.blocks):
            continue
        if blocks and section.title:
            parts.append(f"## {_text(section.title)}")
        parts += [_folded(section.title, "\n\n".join(blocks))] if blocks and section.folded else blocks
    return "\n\n".join(part for part in parts if part) + "\n"


SHORT = 20_000
"""Characters: report-short.md has fewer, whatever it is about."""

_LONGEST_TEXT, _LONGEST_CELL, _MOST_ROWS = 600, 120, 40


def short_markdown(document: Document) -> str:
    """The first sections of the document as GitHub's Markdown of fewer than :data:`SHORT` characters.

    Long texts and tables are cut, and what doesn't fit is left out whole, so that no markup is ever broken; the last line names where the
    rest is.
    """
    document = printable_document(document)
    end = "The tables, charts, definitions and manifests are in report.md, report.html and report.pdf."
    parts = [f"# {_text(_cut(document.title))}", _text(_cut(document.subtitle))]
    left = SHORT - len(end) - sum(len(part) + 2 for part in parts) - 2
    for section in document.sections:
        heading = f"## {_text(_cut(section.title))}" if section.title else ""
        for block in section.blocks if section.brief and not section.folded else ():
            text = _block(_shortened(block))
            for part in [heading, text] if text and len(heading) + len(text) + 4 <= left else []:
                if part:
                    parts.append(part)
                    left -= len(part) + 2
                    heading = ""
    return "\n\n".join([*filter(None, parts), end]) + "\n"


def _cut(text: str, most: int = _LONGEST_TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _shortened(block: Block) -> Block:
    """A block whose texts and rows are cut; what would be folded, and the reasons of verdicts, are left out."""
    match block:
        case Paragraph():
            return msgspec.structs.replace(block, text=_cut(block.text))
        case Table(wide=False, folded=False):
            rows = [[Cell(_cut(cell.text, _LONGEST_CELL)) for cell in row] for row in block.rows[:_MOST_ROWS]]
            columns = [msgspec.structs.replace(one, title=_cut(one.title, _LONGEST_CELL)) for one in block.columns]
            left = len(block.rows) - len(rows)
            notes = [*map(_cut, block.notes), *([f"{left:,} more rows are in report.md."] if left else [])]
            return Table(_cut(block.title), columns, rows, notes)
        case Facts(wide=False):
            facts = [(_cut(name, _LONGEST_CELL), _cut(value)) for name, value in block.facts[:_MOST_ROWS]]
            return Facts(_cut(block.title), facts)
        case Warnings():
            cut = [
                Warning(one.kind, _cut(one.text), _cut(one.subject, _LONGEST_CELL))
                for one in block.warnings[:_MOST_ROWS]
            ]
            return Warnings(cut)
        case Forest():
            marks = [
                msgspec.structs.replace(one, name=_cut(one.name, _LONGEST_CELL), values=_cut(one.values, _LONGEST_CELL))
                for one in block.marks[:_MOST_ROWS]
            ]
            return Forest(marks, block.reach, _cut(block.note))
        case _:
            return Paragraph("")


def _only_figures(blocks: list[Block]) -> bool:
    """Returns whether a section holds only charts and how to read them."""
    return any(isinstance(block, Figure) for block in blocks) and all(
        isinstance(block, Figure | Paragraph) for block in blocks
    )


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return _text(text)
        case Table():
            return _titled(block)
        case Facts():
            lines = "\n".join(f"- {_text(name)}: {_text(value)}" for name, value in block.facts)
            return _folded(block.title, lines) if block.wide else lines
        case Warnings(warnings):
            return "\n".join(
                f"- **{_text(warning.subject) or _text(warning.kind)}**: {_text(warning.text)}" for warning in warnings
            )
        case Forest():
            return _forest(block)
        case Figure():
            return ""


def _titled(table: Table) -> str:
    """A table with its title, its notes and, folded, the reasons of its verdicts; folded as a whole where it is wide."""
    notes = "".join(f"\n\n{_text(note)}" for note in table.notes)
    if table.wide or table.folded:
        return _folded(table.title or "Table", _table(table) + notes)
    title = f"**{_text(table.title)}**\n\n" if table.title else ""
    reasons = "\n".join(f"- {_text(reason)}" for _, reason in table.reasons)
    return f"{title}{_table(table)}{notes}" + (f"\n\n{_folded('Reasons', reasons)}" if reasons else "")


def _forest(forest: Forest) -> str:
    """A line per mark, in words: decisive ones in bold."""
    lines = [
        "| metric | baseline → candidate | difference | interval, % | margin | verdict |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for mark in forest.marks:
        name = f"**{_cell(mark.name)}**" if mark.rank == "decisive" else _cell(mark.name)
        sign = f"{mark.verdict.sign}{CONDITIONAL if mark.conditional else ''} {mark.verdict}"
        words = (mark.values, mark.text, mark.span, f"± {mark.limit}", sign)
        cells = [_cell(one) or " " for one in words]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{_text(forest.note)}"


def _table(table: Table) -> str:
    lines = [
        f"| {' | '.join(_text(column.title) or ' ' for column in table.columns)} |",
        f"| {' | '.join('---:' if column.align == 'right' else '---' for column in table.columns)} |",
        *(f"| {' | '.join(_cell(cell.text) for cell in row)} |" for row in table.rows),
    ]
    return "\n".join(lines)


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{_text(title)}</summary>\n\n{text}\n\n</details>"


def _cell(text: str) -> str:
    """Text inside a table, where a sign or a number begins no list."""
    text = _ENTITY.sub("&amp;", " ".join(text.split())).replace("<", "&lt;").replace(">", "&gt;")
    escaped = _SPECIAL.sub(lambda sign: "\\" + sign[0], text)
    return _LINKED.sub(lambda sign: f"{sign[0]}<!-- -->" if sign[0] != "." else "<!-- -->.", escaped)


def _text(text: str) -> str:
    """Text that is shown as it stands: no markup, no mention, no link."""
    return _BEGINS_A_BLOCK.sub(lambda sign: f"{sign[0]}\\" if sign[0][0].isdigit() else f"\\{sign[0]}", _cell(text))
