"""Text that comes from data, made fit to be shown: what would steer a terminal or turn the reading direction is marked."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from slotmark.report.document import Document, Figure

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """The text in one line, with U+FFFD for each control character, escape, direction mark and lone surrogate."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text).replace("\n", " ").replace("\t", " ")


def printable_document(document: Document) -> Document:
    """The document with :func:`printable` text. Charts are left: their renderers neutralise what they draw."""
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
            return printable(value)
        case list():
            return [_with_texts(item) for item in value]
        case tuple():
            return tuple(map(_with_texts, value))
        case Figure(title, caption):
            return msgspec.structs.replace(value, title=printable(title), caption=printable(caption))
        case msgspec.Struct():
            changed = {name: _with_texts(getattr(value, name)) for name in value.__struct_fields__}
            return type(value)(**changed)
        case _:
            return value
