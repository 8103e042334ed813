"""A comparison in short: what a comment on a change has, and report-short.md."""

from collections.abc import Sequence

from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import Difference, Row
from slotmark.numbers import duration
from slotmark.report.document import Block, Facts, Paragraph, Section
from slotmark.report.sections.cells import change_in_words, in_a_sentence
from slotmark.report.sections.decision import forest, lines, notes, shown
from slotmark.report.sections.manifest import compared
from slotmark.verdict import BY_CONCERN, Verdict
from slotmark.words import few, listed

MOST_NAMED = 12
"""Metrics that a line of changes names."""

MOST_ROWS = 40
"""Rows of a table."""


def in_short(
    comparison: Comparison, sections: Sequence[Section], note: str = "", unlike: Sequence[str] = ()
) -> list[Section]:
    """The sections, none where nothing is compared: what was compared, what changed, decisive metrics, warnings; folded, other metrics and what else the report shows first.

    Args:
        comparison: The comparison.
        sections: Those of the report, of which the brief ones stand here too.
        note: How the baseline was chosen, in words.
        unlike: What the machines differ in, in words: figures are then folded, and what to do is named.
    """
    if not comparison.candidates:
        return []
    decided = comparison.decision
    rest = [one for one in sections if one.brief and not one.folded and one.title != "Decision"]
    head: list[Block] = [*compared(comparison.sides, machines=True), *_of_the_baseline(comparison, note)]
    if unlike:
        head.append(Paragraph(f"The machines differ in {listed(unlike)}. {REMEDY}", Verdict.UNDECIDED))
    if not decided:
        return [Section("", head, brief=True), *(_brief(one, folded=bool(unlike)) for one in rest)]
    decisive = forest(comparison, ("decisive",), MOST_ROWS)
    beside = forest(comparison, ("important", "informative"), MOST_ROWS)
    changes = [
        Section("Changes", [*_changes(comparison)]),
        Section("Decisive metrics", [*([decisive] if decisive.marks else []), *lines(comparison, decided)]),
    ]
    folded = [
        Section("Other metrics", [beside] if beside.marks else []),
        Section("What it holds for", notes(comparison, decided)),
        *(one for one in rest if one.title != "Warnings"),
    ]
    found = [
        Section("", head, brief=True),
        *(_brief(one, folded=bool(unlike)) for one in changes),
        *(one for one in rest if one.title == "Warnings"),
        *(_brief(one, folded=True) for one in folded),
    ]
    return [one for one in found if one.blocks]


def _brief(section: Section, *, folded: bool) -> Section:
    return Section(section.title, section.blocks, brief=True, folded=folded)


REMEDY = (
    "What differs between them may come from the machines, so there is no verdict. Measure the base again on a machine of the candidate's kind, "
    "or name another base that was measured on one."
)
"""Stands where machines are unlike."""


def _of_the_baseline(comparison: Comparison, note: str) -> list[Facts]:
    """Returns how the baseline was chosen, and how much older its runs are than those of the first candidate."""
    words = "; ".join(filter(None, (note, _age(comparison))))
    return [Facts("", [(f"baseline {comparison.baseline.name}", words)])] if words else []


def _age(comparison: Comparison) -> str:
    """Returns by how much the baseline's newest run began before the candidate's oldest, in words; empty where that isn't known."""
    ours, theirs = (side.manifests for side in comparison.sides[:2])
    if any(one.origin == "simulated" for one in (*ours, *theirs)):
        return ""  # their days are made up
    if {one.session for one in ours} == {one.session for one in theirs}:
        return f"measured in one session with {comparison.candidates[0].name}"
    before_s = comparison.baseline_age_s
    return (
        ""
        if before_s is None
        else f"measured {duration(abs(before_s))} {'before' if before_s >= 0 else 'after'} {comparison.candidates[0].name}"
    )


def _changes(comparison: Comparison) -> list[Facts]:
    """A line per verdict and candidate, decisive metrics first: how many metrics, and which."""
    several = len(comparison.candidates) > 1
    facts: list[tuple[str, str]] = []
    for place, side in enumerate(comparison.candidates):
        rows = shown(comparison, place)
        for verdict in BY_CONCERN:
            named = [_named(row, one) for row, one in rows if one.verdict is verdict]
            which = "within their margins" if verdict is Verdict.EQUIVALENT else ", ".join(few(named, MOST_NAMED))
            begin = f"{side.name}: " if several else ""
            facts.append((f"{begin}{verdict.sign} {len(named):,} {verdict}", which or "none"))
    return [Facts("", facts)]


def _named(row: Row, difference: Difference) -> str:
    """The metric in a sentence with its part, and with its change where that is shown."""
    name = ", ".join(filter(None, (in_a_sentence(row.metric), row.part)))
    changed = change_in_words(row.metric, difference)
    return name if changed == "-" or difference.verdict is Verdict.EQUIVALENT else f"{name} ({changed})"
