"""docs/report-json.md is a contract: it names every field that is written."""

import re
from collections.abc import Iterator

import msgspec

from slotmark.compare import Comparison
from slotmark.published import PublishedReport
from slotmark.run import Manifest
from tests.conftest import REPO

PAGE = (REPO / "docs" / "report-json.md").read_text(encoding="utf-8")


def named(*heads: str) -> set[str]:
    """The names in the page's head and in some of its sections."""
    head, *sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    kept = [section for section in sections if section.startswith(heads)]
    assert len(kept) == len(heads)
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", " ".join([head, *kept])))))


def fields(kind: msgspec.inspect.Type) -> Iterator[tuple[str, str]]:
    """Each struct's name with each of its fields, as they are written; a manifest is described elsewhere."""
    if isinstance(kind, msgspec.inspect.StructType) and kind.cls is not Manifest:
        for field in kind.fields:
            yield kind.cls.__name__, field.encode_name
            yield from fields(field.type)
    for inside in (getattr(kind, "item_type", None), *getattr(kind, "item_types", ()), *getattr(kind, "types", ())):
        if inside is not None:
            yield from fields(inside)


def test_every_field_of_a_comparison_is_described() -> None:
    written = dict.fromkeys(fields(msgspec.inspect.type_info(Comparison)))
    assert ("Interval", "estimate") in written
    there = named("Of any bench", "Of repeated costs of blocks", "Of a sweep")
    assert not [f"{struct}.{name}" for struct, name in written if name not in there]


def test_every_field_of_published_tables_is_described() -> None:
    written = dict.fromkeys(fields(msgspec.inspect.type_info(PublishedReport)))
    assert ("PublishedCell", "value") in written
    there = named("Under --method published")
    assert not [f"{struct}.{name}" for struct, name in written if name not in there]
