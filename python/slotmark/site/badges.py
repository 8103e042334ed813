"""Badges: a label and a value as a small picture, as READMEs show them."""

from html import escape

_LETTER, _PAD = 7, 10

_COLOURS = {"worse": "#b3261e", "better": "#1b7340", "none": "#4a5568"}
"""By what changed lately. White text on each has a contrast of more than 5 to 1."""


def badge(label: str, value: str, state: str) -> bytes:
    """A badge as SVG.

    Args:
        label: What it is of.
        value: Its value.
        state: ``worse``, ``better`` or ``none``: what changed lately.
    """
    widths = [_LETTER * len(text) + _PAD for text in (label, value)]
    name = escape(f"{label}: {value}{'' if state == 'none' else f', {state}'}")
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{sum(widths)}" height="20" role="img" aria-label="{name}"><title>{name}</title>'
        f'<rect width="{widths[0]}" height="20" fill="#2d3440"/><rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{_COLOURS[state]}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{_PAD // 2}" y="14" textLength="{widths[0] - _PAD}" lengthAdjust="spacingAndGlyphs">{escape(label)}</text>'
        f'<text x="{widths[0] + _PAD // 2}" y="14" textLength="{widths[1] - _PAD}" lengthAdjust="spacingAndGlyphs">{escape(value)}</text></g></svg>\n'
    )
    return text.encode()
