"""Verdicts: each word once, with its sign, its colours and what it means. Everything else looks them up here."""

from enum import StrEnum
from typing import NamedTuple


class Colours(NamedTuple):
    """The colour of text, and that of the ground behind it, as ``#rrggbb``."""

    text: str
    ground: str


class Verdict(StrEnum):
    """A verdict on a difference.

    Attributes:
        sign: Stands beside the word, so that colour never carries the meaning alone.
        meaning: When it is given, as the end of a sentence; ``{alpha}`` stands for what the adjusted p-value must be below.
        terminal: Its style on a terminal, as rich has it.
        light: Its colours on a light page, and on paper.
        dark: Its colours on a dark page.
    """

    sign: str
    meaning: str
    terminal: str
    light: Colours
    dark: Colours

    def __new__(cls, word: str, sign: str, meaning: str, terminal: str, light: Colours, dark: Colours) -> "Verdict":
        """Makes the member of a word."""
        one = str.__new__(cls, word)
        one._value_ = word
        one.sign, one.meaning, one.terminal, one.light, one.dark = sign, meaning, terminal, light, dark
        return one

    def __repr__(self) -> str:
        """Returns the word in quotes: a verdict is a text to its readers."""
        return repr(str(self))

    BETTER = (
        "better",
        "▲",
        "the interval excludes a difference of zero, the adjusted p-value is below {alpha}, and the difference is larger than the margin",
        "bold green",
        Colours("#12663f", "#e2f4ea"),
        Colours("#7ddba8", "#143324"),
    )
    WORSE = ("worse", "▼", BETTER[2], "bold red", Colours("#9c2216", "#fce8e5"), Colours("#ff9d8f", "#431d18"))
    EQUIVALENT = (
        "equivalent",
        "=",
        "the whole interval lies within the margin",
        "cyan",
        Colours("#1d4f7c", "#e5eff9"),
        Colours("#93c5f3", "#18304a"),
    )
    UNDECIDED = (
        "undecided",
        "?",
        "neither",
        "yellow",
        Colours("#70520a", "#fbf1d6"),
        Colours("#e7c871", "#3a2f10"),
    )

    @property
    def shown(self) -> str:
        """The word with its sign."""
        return f"{self.sign} {self}"

    @property
    def explained(self) -> bool:
        """Returns whether its reason stands below a table: that of ``equivalent`` is the same for all rows."""
        return self is not Verdict.EQUIVALENT

    @property
    def opposite(self) -> "Verdict":
        """The verdict on the same difference with the two sides exchanged."""
        return {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}.get(self, self)


MOVED = (Verdict.BETTER, Verdict.WORSE)
"""Verdicts of a difference beyond its margin."""

BY_CONCERN = (Verdict.WORSE, Verdict.BETTER, Verdict.UNDECIDED, Verdict.EQUIVALENT)
"""All verdicts as they are listed: what got better stands beside what got worse."""


def meanings(alpha: str) -> str:
    """A sentence per meaning, with the words that have it."""
    alike: dict[str, list[str]] = {}
    for verdict in Verdict:
        alike.setdefault(verdict.meaning.format(alpha=alpha), []).append(verdict)
    return " ".join(f"{' or '.join(words).capitalize()}: {meaning}." for meaning, words in alike.items())


class Conditional(StrEnum):
    """The effect of verdicts that hold for these runs only: they hold and ship a release, hold it, or neither."""

    COUNT = "count"
    HOLD = "hold"
    UNDECIDED = Verdict.UNDECIDED.value
