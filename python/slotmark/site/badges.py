"""Badges: a label and a value as a small picture, as READMEs show them."""

from html import escape

from slotmark.verdict import Verdict

_LETTER, _PAD = 7, 10

_UNCHANGED = "#4a5568"
"""The ground where nothing changed lately, else the colour of the verdict's text. White text on each has a contrast of more than 7 to 1."""


def badge(label: str, value: str, changed: Verdict | None) -> bytes:
    """A badge as SVG.

    Args:
        label: What it is of.
        value: Its value.
        changed: What changed lately: worse or better; None for nothing.
    """
    widths = [_LETTER * len(text) + _PAD for text in (label, value)]
    name = escape(f"{label}: {value}{f', {changed}' if changed else ''}")
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{sum(widths)}" height="20" role="img" aria-label="{name}"><title>{name}</title>'
        f'<rect width="{widths[0]}" height="20" fill="#2d3440"/><rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{changed.light.text if changed else _UNCHANGED}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{_PAD // 2}" y="14" textLength="{widths[0] - _PAD}" lengthAdjust="spacingAndGlyphs">{escape(label)}</text>'
        f'<text x="{widths[0] + _PAD // 2}" y="14" textLength="{widths[1] - _PAD}" lengthAdjust="spacingAndGlyphs">{escape(value)}</text></g></svg>\n'
    )
    return text.encode()
