"""The pages of a site, in a fixed order: the same store gives the same bytes."""

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

import jinja2
import msgspec
from markupsafe import Markup

from slotmark.history.columns import in_time, whole
from slotmark.history.decisions import Decisions
from slotmark.history.differences import CONFIDENCE, step_to, steps_by_chance
from slotmark.history.results import FoundChange
from slotmark.history.store import Store
from slotmark.metrics import catalogue
from slotmark.numbers import brief, day, difference_with_span, number, percent, readable, signed, signed_interval, span
from slotmark.numbers import change as change_in_words
from slotmark.report import report_style
from slotmark.report.renderers.vega import vega
from slotmark.site.badges import badge
from slotmark.site.data import data_of, files_of, runs_of
from slotmark.site.feed import feed
from slotmark.site.gathered import Gathered, Page, Progress, Series, gathered
from slotmark.site.names import of_run, of_version
from slotmark.site.versions import version_pages
from slotmark.site.writing import MARK
from slotmark.statistics.change_points import FIRST
from slotmark.verdict import BY_CONCERN, Verdict, meanings
from slotmark.versions import slotmark_version

MOST_METRICS = 400
"""Metrics that the first page has: those that changed lately, then the others in order; all are on a page of their own."""

NEWEST_RUNS = 10
"""Changes that began with one of so many newest runs of a series are on the first page too, however long ago that was: releases are months apart."""

MOST_CHANGES = 100
"""Changes that the first page has, the newest."""

MOST_ROWS = 100
"""Runs that the table of a metric's page has before all are asked for, the newest."""

MOST_VERSIONS = 50
"""Versions that the first page has of each work, the newest."""

DAY_NS = 86_400 * 10**9


class Settings(msgspec.Struct, frozen=True):
    """The choices of a reader.

    Attributes:
        title: The site's title.
        days: Days before the newest run, whose changes are on the first page.
        store: The store's name in commands to copy.
        url: Where the site will be, for its feed; empty for nowhere in particular.
    """

    title: str
    days: int
    store: str
    url: str = ""

    @property
    def runs(self) -> str:
        """The beginning of a run's place, as a shell takes it: a digest follows."""
        return shlex.quote(f"{self.store}/runs/")


def pages(store: Store, decisions: Decisions, settings: Settings, progress: Progress) -> Iterator[tuple[str, bytes]]:
    """Gives the files of a site, with their names.

    Args:
        store: The store.
        decisions: What readers decided.
        settings: What a reader chooses.
        progress: Called with what is done, of how much, and of what; may raise to stop.

    Raises:
        StoreError: The store is damaged.
        RunError: A bench of its runs is unknown.
    """
    found = gathered(store, decisions, progress)
    environment = _environment()
    common = {
        "settings": settings,
        "pruned": found.pruned,
        "newest": found.newest_ns,
        "first": FIRST + 1,
        "version": slotmark_version(),
    }

    def page(template: str, to_root: str, **values: object) -> bytes:
        return environment.get_template(template).render(**common, root=to_root, **values).encode()

    yield MARK, msgspec.json.encode({"site": 1, "slotmark": slotmark_version()}) + b"\n"
    yield "assets/site.css", (report_style() + _asset("site.css")).encode()
    yield "assets/site.js", _asset("site.js").encode()
    yield "assets/vega.js", vega().encode()
    since = found.newest_ns - settings.days * DAY_NS
    every = [(one, change) for one in found.pages for change in one.changes]
    every.sort(key=lambda one: (-one[1].known_ns, -one[1].at_ns, one[0].name))
    tested = [series for one in found.pages if one.metric.tested for series in one.series]
    open_ones = [one for one in every if one[1].matters and not one[1].accepted]
    lately = [(one, change) for one in found.pages for change in one.lately(since, NEWEST_RUNS)]
    lately.sort(key=lambda one: (-one[1].at_ns, one[1].state != "sure", one[0].name))
    changed = {one.name for one, _ in lately}
    ordered = [one for one in found.pages if one.name in changed] + [
        one for one in found.pages if one.name not in changed
    ]
    yield (
        "index.html",
        page(
            "overview.html",
            "",
            changes=lately[:MOST_CHANGES],
            hidden=len(lately) - len(lately[:MOST_CHANGES]),
            works=_works(found, open_ones),
            series=len(tested),
            unsearched=sum(not one.column.searched for one in tested),
            metrics=ordered[:MOST_METRICS],
            of=len(found.pages),
            runs=len(found.runs),
            left_out=found.left_out,
        ),
    )
    yield "metrics/index.html", page("metrics.html", "../", metrics=found.pages)
    yield "changes.xml", feed(settings, [one for one in every if one[1].state == "sure"], found.newest_ns)
    states = [change for _, change in lately if change.state == "sure"]
    looked_for = any(one.column.searched for one in tested)
    value = str(len(states)) if looked_for else "too few runs"
    yield "badges/changes.svg", badge("sure changes lately", value, _worst(states))
    for name, content in runs_of(found).items():
        yield f"data/{name}.js", content
    for one in version_pages(found.versions):
        yield (
            f"versions/{one.name}.html",
            page("version.html", "../", page=one, meanings=meanings(brief(1 - CONFIDENCE, 2))),
        )
    total = len(found.pages) + len(found.runs)
    for place, one in enumerate(found.pages):
        progress(place, total, "metrics")
        yield f"data/{one.name}.js", data_of(one)
        yield (
            f"metrics/{one.name}.html",
            page(
                "metric.html",
                "../",
                page=one,
                searched=any(series.column.searched for series in one.series),
                rows=_rows(one),
                data=[*files_of(one), one.name],
                most=MOST_ROWS,
            ),
        )
        of_page = [change for change in one.lately(since, NEWEST_RUNS) if change.state == "sure"]
        yield f"badges/{one.name}.svg", badge(one.metric.name, _newest(one), _worst(of_page))
    places = _places(found)
    for place, (digest, row) in enumerate(found.runs.items()):
        if place % 100 == 0:
            progress(len(found.pages) + place, total, "runs")
        yield f"runs/{of_run(digest)}.html", page("run.html", "../", **_run(places.get(digest, []), digest, row))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("slotmark.site"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(
        day=day,
        number=number,
        percent=percent,
        size=_size,
        picture=lambda one: Markup(picture(one)),
        newest=_newest,
        short=of_run,
    )
    return environment


def _size(change: FoundChange) -> str:
    """The size of a change, in the unit that its metric is shown in."""
    scale, _ = readable(catalogue(change.group.bench)[change.metric].unit)
    return difference_with_span(change.ratio, change.delta, scale)


def _asset(name: str) -> str:
    return (files("slotmark.site") / "templates" / name).read_text(encoding="utf-8")


def picture(page: Page) -> str:
    """A small picture of a metric: a line per kind of machine."""
    lines = [(place, one.column.course) for place, one in enumerate(page.series)]
    every = [value for _, line in lines for value in line]
    low, high = (min(every), max(every)) if every else (0.0, 0.0)
    reach = high - low or math.inf
    drawn = "".join(
        f'<polyline class="m{place % 4}" points="{" ".join(_point(number, len(line), (value - low) / reach) for number, value in enumerate(line))}"/>'
        for place, line in lines
        if line
    )
    return f'<svg class="small" viewBox="0 0 122 26" aria-hidden="true">{drawn}</svg>'


def _point(place: int, count: int, share: float) -> str:
    across = 1 + 120 * (place / (count - 1) if count > 1 else 0.5)
    return f"{brief(across, 4)},{brief(24 - 22 * share)}"


def _newest(page: Page) -> str:
    """The newest estimate, with its unit."""
    last = max(
        ((whole(one.estimates.rows[one.there[-1]], "at_ns"), one) for one in page.series if len(one.there)),
        key=lambda one: one[0],
        default=None,
    )
    if last is None:
        return "-"
    value = float(last[1].column.estimates[last[1].there[-1]])
    return f"{number(page.scale * value)} {page.unit}".strip()


def _worst(changes: Sequence[FoundChange]) -> Verdict | None:
    """The sum of changes: worse where any is, else better; None where there are none."""
    return min((one.verdict for one in changes), key=BY_CONCERN.index, default=None)


class _Version(msgspec.Struct):
    """A version of a work: the link to its page, when its first run was measured, how many runs there are, and how many changes that matter began with it, of each kind; what there is in their place."""

    name: str
    link: str
    first_ns: int
    runs: int
    changes: list[tuple[Verdict, int, str]]
    otherwise: str


def _works(found: Gathered, changes: Sequence[tuple[Page, FoundChange]]) -> list[tuple[str, list[_Version], int]]:
    """The versions of each work of a target, the newest first, with how many of older ones aren't among them."""
    changed: dict[str, list[FoundChange]] = {}
    for _, one in changes:
        changed.setdefault(one.run, []).append(one)
    listed = []
    for one in found.versions:
        tested = {metric.id for metric in one.metrics if metric.tested}
        searched = any(column.searched for (metric, _), column in one.estimates.columns.items() if metric in tested)
        versions = []
        for order, (version, places) in enumerate(one.estimates.versions.items()):
            rows = [one.estimates.rows[place] for place in places]
            link = (
                f"versions/{of_version(one.estimates.group, version)}"
                if order
                else f"runs/{of_run(str(rows[-1]['run']))}"
            )
            counts = _counted(here for row in rows for here in changed.get(str(row["run"]), []))
            unchanged = "no change that matters" if searched else "changes aren't looked for yet"
            otherwise = unchanged if order else "the first"
            versions.append(
                _Version(version or "no version", f"{link}.html", whole(rows[0], "at_ns"), len(rows), counts, otherwise)
            )
        newest = versions[::-1]
        listed.append((one.of, newest[:MOST_VERSIONS], max(0, len(newest) - MOST_VERSIONS)))
    return listed


def _counted(changes: Iterable[FoundChange]) -> list[tuple[Verdict, int, str]]:
    """Counts of changes that are worse, better, and not sure, with the word for each, after the verdict whose looks it has."""
    counts = Counter(one.verdict if one.state == "sure" else Verdict.UNDECIDED for one in changes)
    words = {Verdict.UNDECIDED: "not sure"}
    return [(one, counts[one], words.get(one, one)) for one in BY_CONCERN if counts[one]]


def _rows(page: Page) -> list[tuple[dict[str, object], str, str]]:
    """The newest runs of a metric: their row of the index, kind of machine, and estimate."""
    rows = [
        (
            one.estimates.rows[place],
            one.estimates.group.machine,
            number(page.scale * float(one.column.estimates[place])),
        )
        for one in page.series
        for place in one.there[-MOST_ROWS:]
    ]
    return sorted(rows, key=lambda one: in_time(one[0]), reverse=True)[:MOST_ROWS]


class _Cells(msgspec.Struct, frozen=True):
    """A series on the pages of its runs: made once, since each run has a page.

    Attributes:
        series: The series.
        estimates: The estimate of each run in the unit that it is shown in; not a number where it has none.
        scale: The factor from the metric's own unit to that.
        changes: What began with a run, by its digest.
        named: The cells with metric and part.
        unit: The cell with the unit.
        by_chance: The cell with the differences that two runs of one build have by chance.
    """

    series: Series
    estimates: list[float]
    scale: float
    changes: dict[str, FoundChange]
    named: Markup
    unit: Markup
    by_chance: Markup


class _Row(msgspec.Struct, frozen=True):
    """A metric on the page of a run: its cells, the estimate, the difference from the run before in words and whether it is more than by chance, and what began here."""

    cells: _Cells
    estimate: str
    since: str
    beyond: bool
    change: FoundChange | None


def _run(places: Sequence[tuple[_Cells, int]], digest: str, row: dict[str, object]) -> dict[str, object]:
    """The content of a run's page: its names and facts, its estimates, and the runs before and after it."""
    found = []
    before = after = ""
    for cells, place in places:
        rows = cells.series.estimates.rows
        step = step_to(cells.series.column, place, cells.series.reach)
        since = _size_of_step(cells.series, step.size, cells.scale) if step else ""
        change = cells.changes.get(digest)
        found.append(_Row(cells, number(cells.estimates[place]), since, bool(step and step.beyond), change))
        before = str(rows[place - 1]["run"]) if place else before
        after = str(rows[place + 1]["run"]) if place + 1 < len(rows) else after
    facts = row["facts"]
    assert isinstance(facts, list), "the index has a list of facts"
    return {
        "run": row,
        "facts": [(str(one["name"]), str(one["value"])) for one in facts if one["value"]],
        "rows": found,
        "before": before,
        "after": after,
    }


def _size_of_step(one: Series, size: float, scale: float) -> str:
    return change_in_words(size) if one.column.scale == "log" else signed(scale * size)


def _chance(one: Series, scale: float) -> str:
    """The differences that two runs of one build have by chance, in words; empty where nothing tells."""
    if one.reach is None:
        return ""
    sizes = steps_by_chance(one.column, one.reach)
    return span(sizes) if one.column.scale == "log" else signed_interval(sizes, scale)


def _places(found: Gathered) -> dict[str, list[tuple[_Cells, int]]]:
    """The series of each run, with its place in them."""
    made = _environment().get_template("cells.html").module
    named, unit, by_chance = (getattr(made, name) for name in ("named", "unit", "by_chance"))
    places: dict[str, list[tuple[_Cells, int]]] = {}
    for page in found.pages:
        for one in page.series:
            cells = _Cells(
                series=one,
                estimates=(page.scale * one.column.estimates).tolist(),
                scale=page.scale,
                changes={change.run: change for change in reversed(one.changes)},
                named=named(page),
                unit=unit(page),
                by_chance=by_chance(_chance(one, page.scale)),
            )
            for place in one.there.tolist():
                places.setdefault(str(one.estimates.rows[place]["run"]), []).append((cells, place))
    return places
