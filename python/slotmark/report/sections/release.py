"""Releases: a row per comparison, the runs that are missing, and a comparison's own report as part of the whole."""

from collections.abc import Mapping, Sequence

import msgspec

from slotmark.compare.results.decision import Answer
from slotmark.compare.results.release import Compared, MissingRun, Released, ReleasePlan
from slotmark.numbers import duration, percent
from slotmark.report.document import Block, Cell, Column, Document, Forest, Paragraph, Section, Source, Table, left
from slotmark.report.sections.plan import efforts_in_words
from slotmark.verdict import Verdict
from slotmark.words import listed


def release_blocks(released: Released, like: Mapping[Answer, Verdict]) -> list[Block]:
    """Returns the table of the comparisons, what holds for all of them, and the runs that are missing.

    Args:
        released: The answer about a release.
        like: The verdict whose colour an answer has.
    """
    columns = left("comparison", "answer", "baseline", "candidate", "why")
    rows = [
        [
            Cell(one.name if one.required else f"{one.name} (not required)"),
            Cell(one.answer.upper(), like[one.answer]),
            *map(Cell, _sides(one)),
            Cell(one.why),
        ]
        for one in released.comparisons
    ]
    count = len(released.comparisons)
    rate = percent(1 - released.confidence)
    shared = f"its {count} comparisons share that rate" if count > 1 else "it has one comparison"
    return [
        Table("", columns, rows),
        Paragraph(f"A release without any difference ends with HOLD in at most {rate} of cases: {shared}."),
        *_missing({one.name: one.missing for one in released.comparisons}),
    ]


def part_of(one: Compared, document: Document, like: Mapping[Answer, Verdict]) -> Document:
    """Returns the report of one comparison with its name before each section and link, so that reports can stand in one document.

    Only its first screen, under its answer, is shown where there is little room; the rest is folded.
    """
    answer = Paragraph(f"{one.name}: {one.answer.upper()}: {one.why}", like[one.answer])
    sections = [
        Section(
            f"{one.name}: {section.title}",
            [*([answer] if place == 0 else []), *(_linked(block, one.name) for block in section.blocks)],
            brief=place == 0,
            folded=place > 0,
        )
        for place, section in enumerate(document.sections)
    ]
    sources = [
        Source(f"{one.name}: {source.sides}", source.path, source.bytes, source.identity) for source in document.sources
    ]
    return msgspec.structs.replace(document, sections=sections, sources=sources)


def _sides(one: Compared) -> tuple[str, str]:
    """Both sides with how many runs they have, of how many that the file names."""
    missing = [run.side for run in one.missing]
    if one.comparison is None:
        return "-", "-"
    texts = []
    for side, of in zip(("baseline", "candidate"), one.comparison.sides, strict=True):
        runs = len(of.manifests)
        named = runs + missing.count(side)
        count = f"{runs} of {named} runs" if named > runs else f"{runs} run{'s' if runs > 1 else ''}"
        version = of.manifest.target.version
        texts.append(f"{version or of.name}, {count}")
    return texts[0], texts[1]


def plan_blocks(planned: ReleasePlan) -> list[Block]:
    """Returns the table of what each comparison of a release still costs, their sum, and the runs that are missing."""
    titles = ("comparison", "baseline", "candidate", "to ship", "a run takes", "still to run")
    columns = [Column(title, "left" if place == 0 else "right") for place, title in enumerate(titles)]
    rows = [
        [
            Cell(one.name if one.required else f"{one.name} (not required)"),
            *(
                Cell(f"{one.there[side]} of {one.there[side] + sum(run.side == side for run in one.missing)}")
                for side in one.there
            ),
            Cell("-" if one.needed is None else efforts_in_words([one.needed])),
            Cell("-" if one.run_s is None else duration(one.run_s)),
            Cell("-" if one.left_s is None else duration(one.left_s)),
        ]
        for one in planned.costs
    ]
    notes = [f"{one.name}: {one.why}." for one in planned.costs]
    return [
        Table("", columns, rows, notes),
        Paragraph(_still_to_run(planned)),
        *_missing({one.name: one.missing for one in planned.costs}),
    ]


def _still_to_run(planned: ReleasePlan) -> str:
    untold = [one for one in planned.costs if one.left_s is None]
    reasons = {
        "there is no such run yet": [one.name for one in untold if not any(one.there.values())],
        "its runs don't record it, as simulated ones": [one.name for one in untold if any(one.there.values())],
    }
    known = f"Still to run, one after the other: {duration(planned.left_s)}."
    unknown = [
        f"How long a run of {listed(names)} takes is not known: {reason}." for reason, names in reasons.items() if names
    ]
    return " ".join([*([known] if planned.left_s or not untold else []), *unknown])


def _missing(missing: Mapping[str, Sequence[MissingRun]]) -> list[Block]:
    rows = [
        [Cell(name), Cell(run.side), Cell(run.path), Cell(run.command)]
        for name, runs in missing.items()
        for run in runs
    ]
    columns = left("comparison", "side", "missing run", "made by")
    return [Table("Missing runs", columns, rows)] if rows else []


def _linked(block: Block, name: str) -> Block:
    match block:
        case Table():
            rows = [
                [msgspec.structs.replace(cell, link=f"{name}-{cell.link}") if cell.link else cell for cell in row]
                for row in block.rows
            ]
            return msgspec.structs.replace(block, rows=rows)
        case Forest():
            marks = [
                msgspec.structs.replace(mark, link=f"{name}-{mark.link}") if mark.link else mark for mark in block.marks
            ]
            return msgspec.structs.replace(block, marks=marks)
        case _:
            return block
