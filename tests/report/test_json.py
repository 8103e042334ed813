"""docs/report-json.md is a contract: it names every field that is written."""

import re
from collections.abc import Iterator

import msgspec

from slotmark.compare import Comparison
from slotmark.compare.results.growth import Growth
from slotmark.compare.results.release import Released, ReleasePlan
from slotmark.published import PublishedReport
from slotmark.run import Manifest
from tests.conftest import REPO

PAGE = (REPO / "docs" / "report-json.md").read_text(encoding="utf-8")
HEAD, *SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)


def named(*titles: str) -> set[str]:
    """The names in the page's head and in sections with these titles, or in all but the published method's where none is given."""
    sections = {section.splitlines()[0]: section for section in SECTIONS}
    kept = [sections[title] for title in titles] or [
        text for title, text in sections.items() if "published" not in title
    ]
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", " ".join([HEAD, *kept])))))


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
    assert {("Interval", "estimate"), ("BlockDesign", "detectable"), ("Swept", "parameter")} <= written.keys()
    there = named()
    assert not [f"{struct}.{name}" for struct, name in written if name not in there]


def test_every_field_of_a_section_is_described_there() -> None:
    for struct, title in [
        ("Comparison", "The comparison"),
        ("Decision", "The decision"),
        ("Cause", "The decision"),
        ("Needed", "The decision"),
        *((struct, "The ranking") for struct in ("TargetRanking", "PartRanking", "Ranked")),
        ("Side", "A side"),
        ("Row", "A row"),
        ("Metric", "A row"),
        ("Summary", "A row"),
        ("Difference", "A row"),
        ("BlockDesign", "A row"),
        ("Blocks", "Details of type `blocks`"),
        ("Shift", "Details of type `blocks`"),
        ("Swept", "Details of type `swept`"),
        ("Planned", "Details of type `planned`"),
        ("Reach", "Details of type `planned`"),
        *(
            (struct, "Details of type `attribution`")
            for struct in ("Attribution", "Explained", "Step", "Changes", "Change")
        ),
        *((struct, "Details of type `attribution`") for struct in ("OutlierPlaces", "Apart", "WorstSample", "Span")),
    ]:
        own = [name for of, name in fields(msgspec.inspect.type_info(Comparison)) if of == struct]
        assert own, struct
        there = named(title)
        assert not [f"{struct}.{name}" for name in own if name not in there]


def test_every_field_of_published_tables_is_described() -> None:
    written = dict.fromkeys(fields(msgspec.inspect.type_info(PublishedReport)))
    assert ("PublishedCell", "value") in written
    there = named("With `--method published`")
    assert not [f"{struct}.{name}" for struct, name in written if name not in there]


def test_every_field_of_a_release_is_described() -> None:
    for kind in (Released, ReleasePlan):
        own = [
            name
            for of, name in fields(msgspec.inspect.type_info(kind))
            if of in ("Compared", "Cost", "MissingRun", kind.__name__)
        ]
        assert own
        there = named("A release")
        assert not [name for name in own if name not in there]


def test_every_field_of_a_growth_is_described() -> None:
    own = [name for of, name in fields(msgspec.inspect.type_info(Growth)) if of in ("Growth", "Curve", "Level")]
    assert {"along", "curves", "processes"} <= set(own)
    there = named("A growth")
    assert not [name for name in own if name not in there]
