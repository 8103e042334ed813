"""Names in sentences."""

from collections.abc import Sequence


def listed(names: Sequence[str], word: str = "and") -> str:
    """Names as in a sentence: ``a``, ``a and b``, ``a, b and c``, or with another word before the last."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def few(names: Sequence[str], most: int) -> list[str]:
    """The first names, and in the place of the others how many they are: ``3 more``."""
    return [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
