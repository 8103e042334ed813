"""Text from strangers' files, made fit to be shown: without what steers a terminal, hides, begins a line, or turns the reading direction."""

import re
from typing import Any

MOST_OF_A_NAME, MOST_OF_A_TEXT = 200, 10_000
"""Characters of a name, as of a target or a host, and of a text, as of a warning or a command."""

LONG = frozenset({"text", "path", "workload", "parameters", "observed"})
"""Members of a manifest whose strings are texts; all others are names."""

_NEVER_SHOWN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The characters of Unicode's property Default_Ignorable_Code_Point, among them those of zero width and those of the reading direction."""

_UNPRINTABLE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff{_NEVER_SHOWN}]")
"""Control characters, line ends, lone surrogates, and what is never shown. Tabs and line feeds become spaces."""


def one_line(text: str, most: int | None = None) -> str:
    """The text in one line, with U+FFFD for each character that can't be printed; cut where it has more than ``most`` characters."""
    plain = text.isascii() and text.isprintable()  # nearly all are, and this is known in a tenth of the time
    line = text if plain else _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text).replace("\n", " ").replace("\t", " ")
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def one_name(text: str) -> str:
    """The text as a name: one line of 200 characters at most."""
    return one_line(text, MOST_OF_A_NAME)


def cleaned(value: Any, most: int = MOST_OF_A_NAME) -> Any:
    """JSON types with every string and key in one line: names of 200 characters at most, and what is below :data:`LONG` of 10,000."""
    match value:
        case str():
            return one_line(value, most)
        case list() | tuple():
            return [cleaned(item, most) for item in value]
        case dict():
            return {
                one_name(key): cleaned(item, MOST_OF_A_TEXT if key in LONG else most) for key, item in value.items()
            }
        case _:
            return value
