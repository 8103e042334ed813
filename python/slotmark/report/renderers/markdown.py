"""Documents as Markdown, short enough for a comment: what is wide is folded, charts are left to HTML."""

import re

from slotmark.numbers import percent
from slotmark.report.document import (
    CONDITIONAL,
    SYMBOLS,
    Block,
    Document,
    Doubts,
    Facts,
    Figure,
    Forest,
    Paragraph,
    Table,
)
from slotmark.report.renderers.printable import printable_document

_SPECIAL = re.compile(r"[\\`*_\[\]|#~$!]")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BEGINS_A_BLOCK = re.compile(r"^(?:[-+=]|\d+(?=[.)]))")
_LINKED = re.compile(r"@(?=\w)|(?<=:)//|(?<=\bwww)\.|#(?=\d)", re.IGNORECASE)
"""What GitHub makes a mention, a link or a reference of: a comment that nobody sees keeps it text."""


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
        parts += blocks
    return "\n\n".join(part for part in parts if part) + "\n"


def _only_figures(blocks: list[Block]) -> bool:
    """Whether a section holds only charts and how to read them."""
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
        case Doubts(warnings):
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
    if table.wide:
        return _folded(table.title or "Table", _table(table) + notes)
    title = f"**{_text(table.title)}**\n\n" if table.title else ""
    reasons = "\n".join(f"- {_text(reason)}" for _, reason in table.reasons)
    return f"{title}{_table(table)}{notes}" + (f"\n\n{_folded('Reasons', reasons)}" if reasons else "")


def _forest(forest: Forest) -> str:
    """A line per mark, in words: decisive ones in bold."""
    lines = ["| metric | difference | interval | margin | verdict |", "| --- | ---: | ---: | ---: | --- |"]
    for mark in forest.marks:
        name = f"**{_cell(mark.name)}**" if mark.rank == "decisive" else _cell(mark.name)
        sign = f"{SYMBOLS[mark.verdict]}{CONDITIONAL if mark.conditional else ''} {mark.verdict}"
        cells = (_cell(mark.text), _cell(mark.span) or " ", f"± {percent(mark.margin[1])}", sign)
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
