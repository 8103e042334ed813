"""Documents as Markdown, short enough for a comment: what is wide is folded, charts are left to HTML."""

import re

import msgspec

from slotmark.report.document import (
    CONDITIONAL,
    SHORT,
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

_SPECIAL = re.compile(r"[\\`*_\[\]|#~$!@^]|%(?=\w)|&(?=\d)")
"""Signs that are markup, or begin one of GitLab's references, which a backslash before them keeps text."""

_ENTITY = re.compile(r"&(?=#?\w+;)")
_BEGINS_A_BLOCK = re.compile(r"^(?:[-+=/]|\d+(?=[.)]))")
"""Beginnings of a list, a heading's line, or one of GitLab's commands."""

_LINKED = re.compile(r"@(?=\w)|(?<=:)//|(?<=\bwww)\.|#(?=\d)|(?<=\bGH)-(?=\d)", re.IGNORECASE)
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


IN_FILES = "The tables, charts, definitions and manifests are in report.md, report.html and report.pdf."
"""The last line of report-short.md."""

_LONGEST_TEXT, _LONGEST_CELL, _MOST_ROWS = 600, 120, 40


def short_markdown(document: Document, *, mark: str = "", end: str = IN_FILES) -> str:
    """Returns what the document has in short, as GitHub's Markdown of fewer than :data:`SHORT` characters.

    Long texts and tables are cut, and what doesn't fit is left out whole and counted, so that no markup is ever broken.

    Args:
        document: The report.
        mark: The first line, which nobody sees; empty for none. It is not escaped.
        end: The last line: where the rest is.
    """
    document = printable_document(document)
    parts = [part for part in (mark, f"# {_text(_cut(document.title))}", _text(_cut(document.subtitle))) if part]
    left = SHORT - len(end) - sum(len(part) + 2 for part in parts) - len(_left_out(10**9)) - 4
    missing = 0
    for section in document.short or [one for one in document.sections if one.brief and not one.folded]:
        title = _text(_cut(section.title))
        around = len(_folded_text(title, "")) + 2 if section.folded else len(title) + 7
        blocks: list[str] = []
        for block in section.blocks:
            text = _block(_shortened(block))
            if text and around + len(text) + 2 <= left:
                left -= around + len(text) + 2
                around = 0
                blocks.append(text)
            elif text:
                missing += 1
        if blocks and section.folded:
            parts.append(_folded_text(title, "\n\n".join(blocks)))
        else:
            parts += [f"## {title}", *blocks] if blocks and title else blocks
    return "\n\n".join([*parts, *([_left_out(missing)] if missing else []), end]) + "\n"


def _left_out(parts: int) -> str:
    return f"For length, {parts:,} of its parts {'is' if parts == 1 else 'are'} left out."


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
            notes = [*map(_cut, block.notes), *([f"{left:,} more rows are left out."] if left else [])]
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
            return msgspec.structs.replace(block, marks=marks, note=_cut(block.note))
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
        "| metric | baseline → candidate | difference | interval, % | margin | allowed | verdict |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for mark in forest.marks:
        name = f"**{_cell(mark.name)}**" if mark.rank == "decisive" else _cell(mark.name)
        sign = f"{mark.verdict.sign}{CONDITIONAL if mark.conditional else ''} {mark.verdict}"
        words = (mark.values, mark.text, mark.span, f"± {mark.limit}", mark.threshold, sign)
        cells = [_cell(one) or " " for one in words]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{_text(forest.how_to_read())}"


def _table(table: Table) -> str:
    lines = [
        f"| {' | '.join(_text(column.title) or ' ' for column in table.columns)} |",
        f"| {' | '.join('---:' if column.align == 'right' else '---' for column in table.columns)} |",
        *(f"| {' | '.join(_cell(cell.text) for cell in row)} |" for row in table.rows),
    ]
    return "\n".join(lines)


def _folded(title: str, text: str) -> str:
    return _folded_text(_text(title), text)


def _folded_text(title: str, text: str) -> str:
    """Markdown behind a title, which is Markdown too."""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _cell(text: str) -> str:
    """Text inside a table, where a sign or a number begins no list."""
    text = _ENTITY.sub("&amp;", " ".join(text.split())).replace("<", "&lt;").replace(">", "&gt;")
    escaped = _SPECIAL.sub(lambda sign: "\\" + sign[0], text)
    return _LINKED.sub(lambda sign: f"{sign[0]}<!-- -->" if sign[0] != "." else "<!-- -->.", escaped)


def _text(text: str) -> str:
    """Text that is shown as it stands: no markup, no mention, no link."""
    return _BEGINS_A_BLOCK.sub(lambda sign: f"{sign[0]}\\" if sign[0][0].isdigit() else f"\\{sign[0]}", _cell(text))
