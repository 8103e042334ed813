"""Names and recorded facts in sentences."""

from collections.abc import Mapping, Sequence


def listed(names: Sequence[str], word: str = "and") -> str:
    """Names as in a sentence: ``a``, ``a and b``, ``a, b and c``, or with another word before the last."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def sentence(text: str) -> str:
    """A text that ends as a sentence does, so that another may follow: with a full stop where it has no end, or a colon."""
    return text if text.endswith((".", "!", "?")) else f"{text.removesuffix(':')}."


def counted(number: int, what: str) -> str:
    """A number with what is counted: ``1 core``, ``2 cores``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def few(names: Sequence[str], most: int) -> list[str]:
    """The first names, and in the place of the others how many they are: ``3 more``."""
    return [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]


def shown_fact(value: object) -> str:
    """A fact of a run as it is shown: ``yes`` and ``no``, and the parts of a list or a table after each other; ``-`` where it has none."""
    match value:
        case bool():
            return "yes" if value else "no"
        case Mapping():
            return ", ".join(f"{name} {shown_fact(level)}" for name, level in value.items()) or "-"
        case list() | tuple():
            apart = "; " if any(isinstance(one, (Mapping, list, tuple)) for one in value) else ", "
            return apart.join(map(shown_fact, value)) or "-"
        case _:
            return str(value)
