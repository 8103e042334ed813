"""The search for the commit that changed a metric."""

from collections.abc import Sequence

from slotmark.history.bisecting import Bisection, CommitLine
from slotmark.metrics import Metric, catalogue
from slotmark.numbers import change_with_span, duration, number, percent, signed, signed_interval
from slotmark.report.document import Block, Cell, Document, Paragraph, Section, Table, left, right
from slotmark.report.sections.cells import headed
from slotmark.words import counted

MOST_LINES = 60
"""The most commits that are shown: those with runs, then the most probable ones."""

LETTERS = 12
"""Letters of a commit's hash that are shown."""


def bisection_document(found: Bisection) -> Document:
    """The outcome of a search: the commit, how probable that is, and what it rests on."""
    metric = catalogue(found.bench)[found.metric] if found.bench else None
    after = f"{counted(found.runs, 'run')} in {duration(found.seconds)}"
    blocks: list[Block] = [Paragraph(sentence) for sentence in _sentences(found, metric)]
    blocks.append(_table(found, metric))
    return Document(title(found), after, [Section("Commits", blocks, brief=True)])


def title(found: Bisection) -> str:
    """The outcome in a line."""
    names = [one[:LETTERS] for one in found.answer]
    if found.state == "alike":
        return f"NOT KNOWN: {found.commits[0].commit[:LETTERS]} and {found.commits[-1].commit[:LETTERS]} aren't shown to differ in {found.metric}"
    if not names:
        return "NOT KNOWN"
    which = names[0] if len(names) == 1 else f"one of {len(names)} commits, {names[0]} to {names[-1]}"
    if found.state == "open":
        return f"NOT KNOWN: {which} changed {found.metric} with a probability of {percent(found.probability)} so far"
    return f"FOUND: {which} changed {found.metric}, with a probability of {_probability(found.probability)}"


def _sentences(found: Bisection, metric: Metric | None) -> list[str]:
    sentences = []
    if found.effect is not None and metric is not None:
        size = (
            change_with_span(found.effect)
            if found.is_ratio
            else f"{signed(found.effect.estimate)} [{signed_interval(found.effect)}] {metric.unit}".rstrip()
        )
        of = f", {found.part}" if found.part else ""
        sentences.append(f"{headed(metric)}{of}: {size} from the commits before it to those from it on.")
    if len(found.answer) > 1:
        sentences.append(
            "Of these only the last one left runs: which of them it is stays unknown until one of the others does."
        )
    if found.by:
        more = f" About {counted(found.more, 'more run')} may be needed." if found.more else ""
        sentences.append(f"Ended by {found.by}.{more} The same command with --resume and a larger --budget goes on.")
    return sentences


def _table(found: Bisection, metric: Metric | None) -> Table:
    shown = _shown(found.commits)
    rows = [
        [
            Cell(one.commit[:LETTERS], remark=one.commit),
            Cell(_role(found, one)),
            Cell(str(len(one.levels))),
            Cell("-" if one.mean is None else number(one.mean)),
            Cell("-" if one.probability is None else _probability(one.probability)),
            Cell(one.failed),
        ]
        for one in shown
    ]
    unit = f", {metric.unit}" if metric and metric.unit else ""
    columns = [*left("commit", ""), *right("runs", f"mean{unit}", "probability"), *left("left out")]
    hidden = len(found.commits) - len(shown)
    notes = ["Probability: that the metric changed with this commit. docs/bisect.md has how often it is right."]
    if hidden:
        notes.append(f"{counted(hidden, 'commit')} without runs aren't shown.")
    return Table("Commits", columns, rows, notes)


def _shown(commits: Sequence[CommitLine]) -> list[CommitLine]:
    if len(commits) <= MOST_LINES:
        return list(commits)
    ranked = sorted(
        range(len(commits)), key=lambda place: (not commits[place].levels, -(commits[place].probability or 0.0), place)
    )
    return [commits[place] for place in sorted(ranked[:MOST_LINES])]


def _role(found: Bisection, one: CommitLine) -> str:
    if one is found.commits[0]:
        return "good"
    if one.commit in found.answer and found.state == "found":
        return "first bad"
    return "bad" if one is found.commits[-1] else ""


def _probability(value: float) -> str:
    return "> 99.9 %" if value > 0.999 else "< 0.1 %" if value < 0.001 else percent(value)
