"""Changed blocks: sentences, and a table of those that add most to the difference."""

from slotmark.compare.results.attribution import BlockChanges, ChangedGroup
from slotmark.numbers import change, number, percent, signed, span
from slotmark.report.document import Cell, Table, left, right
from slotmark.report.sections.cells import in_a_sentence
from slotmark.statistics.interval import Interval
from slotmark.words import listed

_MOST_OF = 0.95
"""A part that has as much of a difference has all of it, but for noise."""

_LONG = 40
"""A value that is longer has no place in a table, as a hash."""

_KEYS = 5
"""The most blocks that are named in a sentence."""


def changed_in_words(changes: BlockChanges) -> list[str]:
    """A sentence per group of blocks that changed otherwise than the median block; one that says so where there is none."""
    if not changes.groups:
        return [
            f"None of the {changes.blocks:,} blocks differs from the median block's change ({change(changes.median)}) by more than "
            f"{percent(changes.margin)} and chance."
        ]
    return [*(_group(changes, group) for group in changes.groups), f"The median block: {change(changes.median)}."]


def changed_tables(changes: BlockChanges) -> list[Table]:
    """A table per group: the blocks that add most to the difference, and how many of each kind of blocks are in the group."""
    return [table for group in changes.groups for table in (_worst(changes, group), _classes(group)) if table.rows]


def _group(changes: BlockChanges, group: ChangedGroup) -> str:
    count = len(group.keys)
    words = [
        f"{count:,} of {changes.blocks:,} blocks: {in_a_sentence(changes.metric)} {change(group.ratio)}"
        f"{f' ({span(Interval(group.ratio, group.low, group.high))})' if count > 1 else ''}{_parts(group)}."
    ]
    if alike := group.most_alike:
        words.append(f"{alike.blocks:,} of the {count:,} are '{alike.name}', of {alike.of:,} such blocks in all.")
    keys = listed([*map(str, group.keys[:_KEYS]), *([f"{count - _KEYS:,} more"] if count > _KEYS else [])])
    words.append(f"{changes.metric.grain[-1].capitalize()}{'' if count == 1 else 's'} {keys}.")
    return " ".join(words)


def _parts(group: ChangedGroup) -> str:
    """Returns the parts of the blocks' cost in which the difference lies."""
    share = group.share_of_first
    if share is None or share <= 0:
        return ""
    first = group.parts[0].name
    return f", all in {first}" if share >= _MOST_OF else f", {percent(share)} of it in {first}"


def _worst(changes: BlockChanges, group: ChangedGroup) -> Table:
    unit = changes.metric.unit
    names = list(dict.fromkeys(name for block in group.worst for name, _ in block.about))
    shown = [
        name
        for name in names
        if any(len(value) <= _LONG for block in group.worst for at, value in block.about if at == name)
    ]
    columns = [
        *right(changes.metric.grain[-1], *shown, "baseline", "candidate", "difference", "change"),
        *left("most of it in"),
    ]
    rows = [
        [
            Cell(str(block.key)),
            *(Cell(dict(block.about).get(name, "-")) for name in shown),
            Cell(number(block.baseline)),
            Cell(number(block.candidate)),
            Cell(signed(block.delta)),
            Cell(change(block.ratio)),
            Cell(block.largest or "-"),
        ]
        for block in group.worst
    ]
    title = f"Blocks that cost {'more' if group.higher else 'less'}, {unit}"
    notes = [
        f"The {len(rows):,} of {len(group.keys):,} that add most to the difference. Costs are means over processes, the change is of geometric means. "
        f"Named are blocks whose change differs from the median block's by more than {percent(changes.margin)} beyond chance; on average at most one in "
        f"twenty of those named is named by chance. report.json has all their {changes.metric.grain[-1]}s."
    ]
    return Table(title, columns, rows, notes)


def _classes(group: ChangedGroup) -> Table:
    columns = [*left("kind of blocks"), *right("changed", "of", "share")]
    rows = [
        [Cell(one.name), Cell(f"{one.blocks:,}"), Cell(f"{one.of:,}"), Cell(percent(one.share))]
        for one in group.classes
        if one.of
    ]
    return Table(f"Kinds of the blocks that cost {'more' if group.higher else 'less'}", columns, rows)
