"""Documents as Markdown, short enough for a comment: what is wide is folded, charts are left to HTML."""

from slotmark.report.document import Block, Document, Doubts, Facts, Figure, Paragraph, Table


def markdown(document: Document) -> str:
    """The document as GitHub's Markdown."""
    parts = [f"# {_text(document.title)}", _text(document.subtitle)]
    for section in document.sections:
        blocks = [text for block in section.blocks if (text := _block(block))]
        if blocks and section.title:
            parts.append(f"## {section.title}")
        parts += blocks
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return _text(text)
        case Table():
            notes = "".join(f"\n\n{_text(note)}" for note in block.notes)
            return (
                _folded(block.title or "Table", _table(block) + notes)
                if block.wide
                else f"**{_text(block.title)}**\n\n{_table(block)}{notes}"
            )
        case Facts():
            lines = "\n".join(f"- {_text(name)}: {_text(value)}" for name, value in block.facts)
            return _folded(block.title, lines) if block.wide else lines
        case Doubts(warnings):
            return "\n".join(
                f"- **{_text(warning.subject) or warning.kind}**: {_text(warning.text)}" for warning in warnings
            )
        case Figure():
            return ""


def _table(table: Table) -> str:
    lines = [
        f"| {' | '.join(_text(column.title) or ' ' for column in table.columns)} |",
        f"| {' | '.join('---:' if column.align == 'right' else '---' for column in table.columns)} |",
        *(f"| {' | '.join(_text(cell.text) for cell in row)} |" for row in table.rows),
    ]
    return "\n".join(lines)


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{_text(title)}</summary>\n\n{text}\n\n</details>"


def _text(text: str) -> str:
    for special in "\\`*_[]<>|#":
        text = text.replace(special, "\\" + special if special not in "<>" else {"<": "&lt;", ">": "&gt;"}[special])
    return " ".join(text.split())
