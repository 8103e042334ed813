"""Fits a table to the width of a page: where words may be broken, the size of its type, the widths of its columns."""

import re
from collections.abc import Sequence

import msgspec

from slotmark.report.document import Table

BREAK = "\u200b"
"""Stands where a line may be broken within a word; it takes no room, and no renderer may leave it in the text."""

LONG_WORD, LONG_PIECE = 20, 32
"""In letters: a longer word may be broken after its punctuation, a longer piece of one anywhere; a hash has 64."""

LETTER = 0.5
"""The width of a letter, as a share of the type size: somewhat more than the average of a book face, and than its digits."""

SIZES = (1.0, 0.93, 0.86, 0.8, 0.74, 0.68)
"""The type sizes that are tried, as shares of the usual one."""

_PIECE = re.compile("[^-_/.:,=&]*[-_/.:,=&]+|[^-_/.:,=&]+")
_OF_NUMBER = re.compile(r"(?<=\d) (?=%)")
_LONG = re.compile(rf"[^\s]{{{LONG_WORD + 1},}}")


class Fit(msgspec.Struct, frozen=True):
    """A table's measures, all in points: type size, the room at both sides of a cell's text, the width of every column."""

    size: float
    inset: float
    widths: list[float]


def breakable(text: str) -> str:
    """The text with :data:`BREAK` where its long words may be broken; no line is broken between a number and its percent sign."""
    together = _OF_NUMBER.sub("\N{NO-BREAK SPACE}", text)
    return _LONG.sub(lambda word: BREAK.join(map(_pieces, _PIECE.findall(word[0]))), together)


def longest_word(text: str) -> int:
    """The letters of its longest piece that may not be broken."""
    return max(len(word) for word in re.split(rf"[ \n\t{BREAK}]", breakable(text)))


def fit(table: Table, *, line: float, size: float) -> Fit:
    """The table's measures, so that its columns fill the line and no word runs into the next column.

    A column is at least as wide as its longest word. What is left goes to the columns whose text is longer than one
    line, more to those with more text; where nothing has to be wrapped, to the first one. Where words alone need more
    than the line, the type gets smaller. Widths are estimated from letters.

    Args:
        table: With at least one column.
        line: The width to fill, in points.
        size: The usual type size, in points.
    """
    texts = [
        [column.title, *(row[place].text + "  " * (row[place].verdict is not None) for row in table.rows)]
        for place, column in enumerate(table.columns)
    ]
    words = [max(map(longest_word, column)) for column in texts]
    lines = [max(map(len, column)) for column in texts]
    trials = [(size * share, 4.0 if share == 1 else 2.5) for share in SIZES]
    chosen, inset = next((trial for trial in trials if sum(_widths(words, *trial)) <= line), trials[-1])
    return Fit(chosen, inset, spread(_widths(words, chosen, inset), _widths(lines, chosen, inset), line))


def spread(least: Sequence[float], most: Sequence[float], line: float) -> list[float]:
    """Widths that fill the line, between least and most where that can be; all in one unit, of any kind."""
    left = line - sum(least)
    if left < 0:
        return [width * line / sum(least) for width in least]
    widths = list(least)
    wanting = {place for place in range(len(least)) if most[place] > least[place]}
    while wanting:
        shares = {place: (most[place] - least[place]) ** 0.75 for place in wanting}
        portion = left / sum(shares.values())
        content = {place for place in wanting if least[place] + portion * shares[place] >= most[place]}
        for place in content or wanting:
            widths[place] = most[place] if content else least[place] + portion * shares[place]
        left -= sum(widths[place] - least[place] for place in content or wanting)
        wanting = wanting - content if content else set()
    widths[0] += max(0.0, left)
    return widths


def _widths(letters: Sequence[int], size: float, inset: float) -> list[float]:
    return [count * LETTER * size + 2 * inset for count in letters]


def _pieces(piece: str) -> str:
    return piece if len(piece) <= LONG_PIECE else BREAK.join(piece)
