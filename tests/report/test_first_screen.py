"""The first screen: the decision, the metrics that matter with their margins, a few sentences, and what was compared."""

import io
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from slotmark.compare import Comparison, compare
from slotmark.compare.results.rows import ALL, Difference, Row
from slotmark.metrics import catalogue
from slotmark.metrics.catalogue import Better
from slotmark.report import comparison_document, print_document
from slotmark.report.document import Facts, Forest, Mark, Paragraph
from slotmark.report.renderers.html import html
from slotmark.report.renderers.markdown import markdown, short_markdown
from slotmark.report.renderers.pdf import pdf
from slotmark.report.renderers.terminal import short_text
from slotmark.report.sections.cells import threshold_in_words
from slotmark.report.sections.decision import forest
from slotmark.report.sections.ranking import ranked
from slotmark.statistics.interval import Interval
from slotmark.verdict import Verdict
from slotmark.versions import slotmark_version
from tests.made_up_runs import write_run
from tests.pages import opened_page

SETTINGS = ("decode, sequential", "decode, 100 in flight")
RATES = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0, 1004.0, 996.0, 1001.0]
LINE = "HOLD slow: worse in Blocks per second, decode, 100 in flight -33.3 %"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """A baseline, and a version of the client that is a third slower and takes more memory."""
    folder = tmp_path_factory.mktemp("runs")
    runs = []
    for name, factor, memory in (("base", 1.0, 24.0), ("slow", 2 / 3, 30.0)):
        own = [rate * factor * (1 + 0.001 * ((7 * place + len(name)) % 5 - 2)) for place, rate in enumerate(RATES)]
        runs.append(write_run(folder / name, "client", dict.fromkeys(SETTINGS, own), peak_memory_mb=memory))
    return compare(runs)


def first_blocks(comparison: Comparison) -> tuple[Forest, list[str]]:
    sides, forest, *sentences = comparison_document(comparison).sections[0].blocks
    assert isinstance(sides, Facts)
    assert isinstance(forest, Forest)
    return forest, [one.text for one in sentences if isinstance(one, Paragraph)]


@pytest.mark.parametrize(
    ("better", "absolute", "threshold"),
    [
        ("lower", None, "≤ 62.50 ms"),  # 50 * 1.25
        ("higher", None, "≥ 40.00 ms"),  # 50 / 1.25
        ("lower", 0.0125, "≤ 62.50 ms"),
        ("higher", 0.0125, "≥ 37.50 ms"),
    ],
)
def test_the_level_beside_a_margin_is_the_baselines_worst_within_it(
    better: Better, absolute: float | None, threshold: str
) -> None:
    """The baseline is at 50 ms."""
    metric = msgspec.structs.replace(catalogue("cluster")["slot_to_announced"], better=better)
    difference = Difference(
        ratio=None,
        p=None,
        p_adjusted=None,
        paired=False,
        margin=0.25,
        margin_absolute=absolute,
        verdict=None,
        reason="",
    )
    row = Row(
        metric=metric,
        part=ALL,
        quantity="mean",
        summaries=[None, None],
        fitted=[0.05, 0.06],
        differences=[difference],
    )
    assert threshold_in_words(row, difference) == threshold


def test_decisive_metrics_come_first_and_sentences_are_few(comparison: Comparison) -> None:
    document = comparison_document(comparison)
    assert document.title.startswith(LINE)
    assert document.verdict == "worse"
    assert document.subtitle.startswith("slow against base; chainsync bench")
    forest, sentences = first_blocks(comparison)
    ranks = [mark.rank for mark in forest.marks]
    assert ranks == ["decisive"] * 2 + ["important"] * 6
    assert [mark.verdict for mark in forest.marks[:2]] == ["worse"] * 2
    assert [mark.values for mark in forest.marks[:2]] == ["1,002 → 667.7 blocks/s"] * 2
    # A line of plain words per decisive row, with its levels.
    assert sentences[:2] == [
        f"Blocks per second, {part} is 33.3 % lower (1,002 → 667.7 blocks/s): worse than base beyond the margin of 2 %."
        for part in ("decode, 100 in flight", "decode, sequential")
    ]
    assert "Important: worse peak memory (+25.0 %)" in " ".join(sentences)
    assert 3 <= len(sentences) <= 5


def test_it_says_which_versions_are_compared_and_by_which_slotmark(comparison: Comparison) -> None:
    document = comparison_document(comparison)
    (sides, *_) = document.sections[0].blocks
    assert isinstance(sides, Facts)
    assert [name for name, _ in sides.facts] == ["base", "slow"]
    for (_, in_short), side in zip(sides.facts, comparison.sides, strict=True):
        target = side.manifest.target
        assert f"version {target.version or 'not recorded'}" in in_short
        assert target.commit in in_short
        assert side.manifest.started[:10] in in_short
        assert "1 run" in in_short
    assert document.subtitle.endswith(f"report by slotmark {slotmark_version()}")


def test_places_on_the_axis_follow_the_values() -> None:
    mark = Mark(
        name="m", rank="decisive", verdict=Verdict.WORSE, text="", span="", ends=(0.05, 0.01, 0.5), margin=(-0.02, 0.02)
    )
    forest = Forest([mark], 0.1, "")
    assert [forest.place(value) for value in (-0.1, 0.0, 0.05, 0.1, 0.5, -9.0)] == [0.0, 0.5, 0.75, 1.0, 1.0, 0.0]


def test_one_wide_margin_of_a_decisive_metric_does_not_decide_where_the_axis_ends(comparison: Comparison) -> None:
    row = next(row for row in comparison.rows if row.metric.rank == "decisive" and row.differences[0])
    (difference,) = (one for one in row.differences[:1] if one)
    rows = [
        msgspec.structs.replace(row, differences=[msgspec.structs.replace(difference, margin=margin)])
        for margin in (0.005, 0.02, 0.54)
    ]
    assert forest(msgspec.structs.replace(comparison, rows=rows)).reach == pytest.approx(10 * 0.02)


@pytest.mark.parametrize("width", [80, 120])
def test_the_first_25_lines_of_a_terminal_hold_all_of_it(comparison: Comparison, width: int) -> None:
    console = Console(width=width, record=True, color_system=None, file=io.StringIO())
    print_document(comparison_document(comparison), console)
    lines = console.export_text().splitlines()
    assert all(len(line.rstrip()) <= width for line in lines)
    first = " ".join(" ".join(lines[:25]).split())
    forest, sentences = first_blocks(comparison)
    assert comparison_document(comparison).title in first
    assert all(sentence in first for sentence in sentences)
    drawn = [line for line in lines[:25] if re.search(r"[▲▼=?] [-+]?\d.* %", line)]
    assert len(drawn) == len(forest.marks)
    # The margin, no difference, and the verdict at its place: a third slower lies at the left end.
    assert re.search(r"  ▼ +·+\|·+ +▼ -33", drawn[0])


def test_text_without_colours_explains_what_is_in_it(comparison: Comparison) -> None:
    """There is no bold and no shade in it: the margin is dots, in a terminal with colours too."""
    document = comparison_document(comparison)
    first = sum(mark.rank == "decisive" for mark in first_blocks(comparison)[0].marks)
    for coloured, decisive in ((False, f"Decisive: the first {first}."), (True, "Bold: decisive.")):
        console = Console(
            width=100,
            record=True,
            color_system="standard" if coloured else None,
            force_terminal=coloured,
            file=io.StringIO(),
            _environ={},
        )
        print_document(document, console)
        assert f"interval. {decisive} Dots: the margin." in " ".join(console.export_text().split())
    short = short_text(document)
    assert ("Bold" in short, "haded" in short) == (False, False)


def test_only_what_has_an_axis_explains_one(comparison: Comparison) -> None:
    document = comparison_document(comparison)

    def printed(width: int) -> str:
        console = Console(width=width, record=True, color_system=None, file=io.StringIO())
        print_document(document, console)
        return " ".join(console.export_text().split())

    about = "the margin. Values beyond the axis are drawn at its end."
    assert f"Dots: {about}" in printed(100)
    assert f"Bold: decisive. Shaded: {about}" in html(document)
    assert [
        word in text
        for text in (printed(36), markdown(document), short_markdown(document))
        for word in ("haded", "axis")
    ] == [False] * 6


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler's pdftotext is not here")
def test_the_first_page_of_the_pdf_holds_all_of_it(comparison: Comparison) -> None:
    done = subprocess.run(
        ["pdftotext", "-l", "1", "-layout", "-", "-"],
        input=pdf(comparison_document(comparison)),
        capture_output=True,
        check=True,
    )
    first = " ".join(done.stdout.decode().split())
    forest, sentences = first_blocks(comparison)
    assert comparison_document(comparison).title in first
    assert all(sentence in first for sentence in sentences)
    assert all(mark.text in first for mark in forest.marks)
    assert first.count("▼") >= sum(mark.verdict == "worse" for mark in forest.marks)


def test_markdown_begins_with_it(comparison: Comparison) -> None:
    head = markdown(comparison_document(comparison)).split("## Comparison")[0]
    assert head.startswith(f"# {LINE}")
    assert "| **Blocks per second, decode, 100 in flight** | 1,002 → 667.7 blocks/s | -33.3 % |" in head
    assert all(text.split(":")[0] in head for text in first_blocks(comparison)[1])


def test_the_page_shows_it_at_both_widths_light_and_dark(comparison: Comparison, tmp_path: Path) -> None:
    page_file = tmp_path / "report.html"
    page_file.write_text(html(comparison_document(comparison)))
    forest, sentences = first_blocks(comparison)
    with opened_page(page_file) as page:
        grounds = set()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            for width in (1300, 420):
                page.set_viewport_size({"width": width, "height": 900})
                page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
                assert page.locator("h1").is_visible()
                # Every mark and its sign lie inside the window, beside each other, and all of it above the fold where there is room.
                boxes = page.locator(".mark:not(.scale)").all()
                assert len(boxes) == len(forest.marks)
                for mark, expected in zip(boxes, forest.marks, strict=True):
                    inside = [part.bounding_box() for part in (mark.locator(".name"), mark.locator(".axis b"))]
                    figure = mark.locator(".figure")
                    assert figure.inner_text() == expected.text
                    for box in (*inside, figure.bounding_box()):
                        assert box
                        assert box["x"] >= 0
                        assert box["x"] + box["width"] <= width
                        assert box["y"] + box["height"] <= 900
                    sign = mark.locator(".axis b")
                    ink, ground = sign.evaluate(
                        "one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]"
                    )
                    assert ink != ground
                    assert (
                        sign.inner_text()
                        == {"worse": "▼", "equivalent": "=", "undecided": "?", "better": "▲"}[expected.verdict]
                    )
                if width == 1300:
                    for sentence in sentences:
                        box = page.get_by_text(sentence, exact=True).bounding_box()
                        assert box
                        assert box["y"] + box["height"] <= 900
        assert len(grounds) == 2
        # What is worse by more than the axis holds is drawn at its end, left of the middle; its margin lies around the middle.
        first = page.locator(".mark").first
        axis, sign, margin = (first.locator(one).bounding_box() for one in (".axis", ".axis b", ".axis .margin"))
        assert axis and sign and margin
        middle = axis["x"] + axis["width"] / 2
        assert sign["x"] < axis["x"] + axis["width"] / 20
        assert margin["x"] < middle < margin["x"] + margin["width"]
        # The verdict has a colour of its own.
        colours = page.evaluate(
            "[...document.querySelectorAll('.mark:not(.scale)')].map(one => one.className.split(' ')[1] + getComputedStyle(one.querySelector('b')).color)"
        )
        assert len(set(colours)) == len({mark.verdict for mark in forest.marks}) > 1


@pytest.mark.parametrize(
    ("ratio", "p_adjusted", "named"),
    [
        (Interval(0.9, 0.89, 0.91), 0.2, True),
        (Interval(0.9, 0.89, 0.91), 0.01, False),  # something else than the tests keeps it from a verdict
        (Interval(0.9, 0.80, 0.999), 0.2, False),
        (Interval(1.1, 1.09, 1.11), 0.2, False),  # better
        (Interval(0.9, 0.89, 0.91), None, False),
    ],
)
def test_an_important_metric_that_only_the_tests_keep_from_a_verdict_is_named(
    comparison: Comparison, ratio: Interval, p_adjusted: float | None, named: bool
) -> None:
    """A cluster missed 10 % of its slots, and "8 equivalent or undecided" stood below "-9.9 % [-11.0 to -8.9]"."""
    metric = catalogue("cluster")["forge_starts"]
    difference = Difference(
        ratio=ratio, p=0.004, p_adjusted=p_adjusted, paired=True, margin=0.005, verdict=Verdict.UNDECIDED, reason=""
    )
    row = Row(
        metric=metric, part=ALL, quantity="mean", summaries=[None, None], fitted=[1.0, 0.9], differences=[difference]
    )
    found = msgspec.structs.replace(comparison, rows=[row])
    _, sentences = first_blocks(found)
    (text,) = [one for one in sentences if one.startswith("Important")]
    assert text == (
        "Important: no verdict on forge loop starts (-10.0 %), though worse than the margin by the whole interval."
        if named
        else "Important: 1 equivalent or undecided."
    )


@pytest.mark.parametrize(
    ("tests", "adjusted"), [(0, ""), (1, ""), (4, "p-values are adjusted over all 4 tests of the report")]
)
def test_a_ranking_says_over_how_many_tests_p_values_are_adjusted(tmp_path: Path, tests: int, adjusted: str) -> None:
    """One alone isn't adjusted: "over all 1 tests" stood there."""
    runs = [
        write_run(tmp_path / name, name, {SETTINGS[0]: [level + one for one in RATES]})
        for name, level in (("a", 0.0), ("b", 500.0))
    ]
    found = msgspec.structs.replace(compare(runs), tests=tests)
    texts = [one.text for one in ranked(found) if isinstance(one, Paragraph)]
    assert ("adjusted" in texts[-1]) == bool(adjusted)
    assert adjusted in texts[-1]
