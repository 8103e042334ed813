"""Findings in sentences, and the number of verdicts of each kind."""

from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import ALL, Difference, Row
from slotmark.metrics import catalogue
from slotmark.numbers import change, change_with_span, percent, ratio, ratio_interval, span
from slotmark.report.document import CONDITIONAL, Block, Paragraph, Section
from slotmark.report.sections.cells import by_section, change_in_words, in_a_sentence, moved
from slotmark.verdict import MOVED, Verdict


def verdicts(comparison: Comparison) -> Section:
    """Returns the changes beyond the margin of metrics whose means are compared, and each verdict on the first metric of the others.

    Nothing of runs paired by seed: what they predict is an answer of its own.
    """
    tested = [
        row for row in comparison.rows if not row.predicted and any(one and one.verdict for one in row.differences)
    ]
    means = [row for row in tested if row.quantity == "mean"]
    others = [row for row in tested if row.quantity != "mean"]
    blocks: list[Block] = [*_of_first_metric(comparison, others), *_of_means(comparison, means)]
    if tested:
        blocks.append(_counts(tested))
    return Section("Verdicts" if others else "Observations", blocks, brief=True)


def _counts(rows: list[Row]) -> Paragraph:
    judged = [one for row in rows for one in row.differences if one is not None and one.verdict is not None]
    counts = {verdict: sum(one.verdict == verdict for one in judged) for verdict in Verdict}
    shown = ", ".join(f"{verdict.sign} {counts[verdict]} {verdict}" for verdict in Verdict)
    conditional = sum(one.conditional for one in judged)
    which = (
        f" {conditional} of these {len(judged)} verdicts are conditional on these runs ({CONDITIONAL})."
        if conditional
        else ""
    )
    return Paragraph(f"Over all tested metrics: {shown}.{which}")


def _of_first_metric(comparison: Comparison, rows: list[Row]) -> list[Paragraph]:
    """A sentence per candidate and row of the first metric; of kinds of blocks that are only shown, none."""
    return [
        Paragraph(_sentence(comparison, row, place, difference), difference.verdict)
        for place in range(len(comparison.candidates))
        for row in rows
        if row.metric == rows[0].metric and (difference := row.differences[place]) and difference.verdict
    ]


def _sentence(comparison: Comparison, row: Row, place: int, difference: Difference) -> str:
    candidate, baseline = comparison.candidates[place].name, comparison.baseline.name
    part = f" ({row.part})" if row.part != ALL else ""
    quantity = "" if row.quantity == "typical" else f", {row.quantity}"
    what, found = f"{in_a_sentence(row.metric)}{quantity}", difference.ratio
    if found is None or difference.verdict == Verdict.UNDECIDED:
        shown = f" (ratio {ratio_interval(found)})" if found else ""
        return f"{candidate}{part}: {what}, {Verdict.UNDECIDED}: {difference.reason}{shown}."
    ends = f"{percent(comparison.confidence)} interval {ratio(found.low)[:-1]} to {ratio(found.high)[:-1]}"
    condition = ", conditional on these runs" if difference.conditional else ""
    if difference.verdict == Verdict.EQUIVALENT:
        return f"{candidate}{part}: {what} {Verdict.EQUIVALENT} to that of {baseline} within {percent(difference.margin)} ({ends}){condition}."
    return f"{candidate}{part}: {ratio(found.estimate)} {baseline}'s {what} ({ends}): {difference.verdict}{condition}."


def _of_means(comparison: Comparison, rows: list[Row]) -> list[Paragraph]:
    """Returns the changes beyond the margin, section by section; of the rest, which are equivalent, and why the others are undecided."""
    found: list[Paragraph] = []
    for place, side in enumerate(comparison.candidates):
        for section, inside in by_section(rows).items():
            begin = f"{section}: " if section else ""
            found += [
                Paragraph(f"{begin}{_observation(row, difference, place, side.name)}", difference.verdict)
                for row in inside
                if (difference := row.differences[place]) and difference.verdict in MOVED
            ]
        against = f"{side.name} against {comparison.baseline.name}"
        groups: dict[str, list[str]] = {}
        for row in rows:
            if (difference := row.differences[place]) and (words := _kind(difference, comparison)):
                groups.setdefault(words, []).append(_with_change(row, difference))
        found += [Paragraph(f"{against}: {words}: {', '.join(named)}.") for words, named in sorted(groups.items())]
    recorded = {row.metric.id for row in comparison.rows if any(row.summaries)}
    unrecorded = [in_a_sentence(metric) for metric in catalogue(comparison.bench).metrics if metric.id not in recorded]
    if unrecorded:
        found.append(Paragraph(f"Not recorded on any side: {', '.join(unrecorded)}."))
    return found


def _kind(difference: Difference, comparison: Comparison) -> str:
    """Returns the words for a difference that is neither better nor worse; empty for others."""
    if difference.verdict == Verdict.EQUIVALENT:
        return f"{Verdict.EQUIVALENT} within their margins"
    if difference.verdict != Verdict.UNDECIDED:
        return ""
    if difference.p_adjusted is None:
        return f"{Verdict.UNDECIDED}, since there is too little data to estimate chance"
    if not difference.excludes_none:
        return f"{Verdict.UNDECIDED}, no difference seen, but one beyond the margin isn't ruled out"
    if difference.p_adjusted >= 1 - comparison.confidence:
        return (
            f"{Verdict.UNDECIDED}, different if tested alone, but among {comparison.tests} tests that happens by chance"
        )
    return f"{Verdict.UNDECIDED}, different, but perhaps by no more than the margin"


def _with_change(row: Row, difference: Difference) -> str:
    """The metric, with the change where it is clear and not within the margin."""
    name, found = in_a_sentence(row.metric), difference.ratio
    if found is None or difference.verdict == Verdict.EQUIVALENT or not difference.excludes_none:
        return name
    return f"{name} ({change_with_span(found)})"


def _observation(row: Row, difference: Difference, place: int, name: str) -> str:
    condition = ", conditional on these runs" if difference.conditional else ""
    found = difference.ratio
    if found is None or difference.delta is None:
        changed = change_in_words(row.metric, difference)
        by = "" if changed == "-" else f" ({changed})"
        return f"{in_a_sentence(row.metric)}{by} is {difference.verdict} with {name}{condition}."
    ends = f" (interval {span(found)})" if span(found) != change(found.estimate) else ""
    return (
        f"{in_a_sentence(row.metric)} is {moved(row, place, found)} with {name}{ends}: {difference.verdict}{condition}."
    )
