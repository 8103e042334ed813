"""Documents made fit to be shown, whatever the data that they came from has in it: every text is one line of printable characters."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from slotmark.cleaning import one_line
from slotmark.report.document import Document, Figure


def printable_document(document: Document) -> Document:
    """The document with every text as :func:`slotmark.cleaning.one_line` has it. Charts are left: their renderers neutralise what they draw."""
    return _with_texts(document)


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """JSON types with every string in them changed; keys stay."""
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [with_texts(item, change) for item in value]
        case dict():
            return {name: with_texts(item, change) for name, item in value.items()}
        case _:
            return value


def _with_texts(value: Any) -> Any:
    match value:
        case str():
            return value if isinstance(value, StrEnum) else one_line(value)  # a verdict is a word of ours
        case list():
            return [_with_texts(item) for item in value]
        case tuple():
            return tuple(map(_with_texts, value))
        case Figure(title, caption):
            return msgspec.structs.replace(value, title=one_line(title), caption=one_line(caption))
        case msgspec.Struct():
            changed = {name: _with_texts(getattr(value, name)) for name in value.__struct_fields__}
            return type(value)(**changed)
        case _:
            return value
