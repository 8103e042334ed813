"""The page of a cluster of five hosts: its length, its links, sorting, filtering, on a phone and on paper."""

import io
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rich.console import Console

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import Comparison, compare
from slotmark.report import comparison_document, print_document
from slotmark.report.document import Document, Forest, Table
from slotmark.report.renderers.html import html
from slotmark.report.renderers.markdown import markdown
from slotmark.report.renderers.pdf import pdf
from tests.made_up_runs import write_run
from tests.pages import opened_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCREEN_HEIGHT, SCREENS = 900, 4
TERMINAL_LINES = 50


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Two simulated runs of five of our own nodes, with other leaders."""
    folder = tmp_path_factory.mktemp("five")
    profile = load_profile("value-only-5", ["run.slots=1500", "genesis.epoch_slots=200"])
    return compare([simulate_direct(profile, seed, folder / str(seed), lambda _done, _of: None)[0] for seed in (1, 2)])


@pytest.fixture(scope="module")
def document(comparison: Comparison) -> Document:
    return comparison_document(comparison)


@pytest.fixture(scope="module")
def opened(document: Document, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Page"]:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(html(document))
    with opened_page(file) as page:
        yield page


@pytest.fixture
def page(opened: "Page") -> Iterator["Page"]:
    """The page, afterwards as it was: its charts take long to draw."""
    yield opened
    opened.set_viewport_size({"width": 1280, "height": SCREEN_HEIGHT})
    opened.emulate_media(color_scheme="light")
    opened.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = false")


def test_names_of_clients_are_not_broken_in_the_table_of_every_run(tmp_path: Path) -> None:
    rates = [50_000.0 + 10 * number for number in range(20)]
    runs = [write_run(tmp_path / name, name, {"decode, sequential": rates}) for name in ("native", "gouroboros")]
    file = tmp_path / "report.html"
    file.write_text(html(comparison_document(compare(runs))))
    with opened_page(file) as page:
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        lines = page.evaluate(
            """[...document.querySelectorAll("#every-run td:nth-child(2)")].map((cell) => {
                const range = document.createRange();
                range.selectNodeContents(cell);
                return [cell.textContent, range.getClientRects().length];
            })"""
        )
    assert {name for name, _ in lines} == {"native", "gouroboros"}
    assert {count for _, count in lines} == {1}


def test_all_samples_of_every_run_are_in_sight(tmp_path: Path) -> None:
    """The last column was cut at 1,280 pixels, and had to be scrolled to."""
    rates = [150_000.0 + 10_000 * (7 * number % 10) for number in range(20)]
    parts = {"decode, 100 in flight": rates, "decode, sequential": rates}
    runs = [write_run(tmp_path / name, name, parts) for name in ("native", "cardano-multiplatform")]
    file = tmp_path / "report.html"
    file.write_text(html(comparison_document(compare(runs))))
    with opened_page(file) as page:
        page.set_viewport_size({"width": 1280, "height": SCREEN_HEIGHT})
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        beyond = page.evaluate(
            "[...document.querySelectorAll('#every-run .scroll')].map((one) => one.scrollWidth - one.clientWidth)"
        )
    assert beyond
    assert max(beyond) <= 0


def without_spaces(text: str) -> str:
    return "".join(text.split())


def test_what_a_node_cannot_have_is_not_recorded(comparison: Comparison, document: Document) -> None:
    runtime = {"gc_percent", "mutator_percent", "major_gcs", "minor_gcs", "heap_mib", "live_mib", "allocated_mib"}
    assert not [row for row in comparison.rows if row.metric.id in runtime and any(row.differences)]
    text = markdown(document)
    assert re.search(r"Not recorded on any side: [^.]*RTS GC CPU usage[^.]*RTS heap size", text)
    # A node that has a runtime has them.
    assert any(row.metric.id == "rss_mib" and any(row.differences) for row in comparison.rows)


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_it_on_four_screens_and_each_metric_once(document: Document, width: int) -> None:
    console = Console(width=width, record=True, color_system=None, file=io.StringIO())
    print_document(document, console)
    lines = console.export_text().splitlines()
    assert len(lines) < SCREENS * TERMINAL_LINES
    assert all(len(line.rstrip()) <= width for line in lines)
    forest = next(block for block in document.sections[0].blocks if isinstance(block, Forest))
    drawn = [line for line in lines if re.search(r"[▲▼=?] [-+]?\d.* %", line)]
    assert all(line.count("[") == line.count("]") for line in drawn)
    tabled = [line for line in lines if line.startswith(" Kernel RSS")]
    assert any(mark.name == "Kernel RSS" for mark in forest.marks)
    assert tabled == []


def test_nodes_with_a_runtime_of_their_own_fill_no_more_screens(tmp_path: Path) -> None:
    profile = load_profile("value-only-10.5", ["hosts=5", "pools=5", "run.slots=1500"])
    runs = [simulate_direct(profile, seed, tmp_path / str(seed), lambda _done, _of: None)[0] for seed in (1, 2)]
    document = comparison_document(compare(runs))
    console = Console(width=80, record=True, color_system=None, file=io.StringIO())
    print_document(document, console)
    text = console.export_text()
    assert "RTS GC CPU" in text
    assert len(text.splitlines()) < SCREENS * TERMINAL_LINES
    assert all(len(line.rstrip()) <= 80 for line in text.splitlines())
    file = tmp_path / "report.html"
    file.write_text(html(document))
    with opened_page(file) as page:
        assert page.evaluate("document.documentElement.scrollHeight") < SCREENS * SCREEN_HEIGHT


@pytest.mark.parametrize("style", ["light", "dark"])
def test_a_page_is_four_screens_long_and_its_navigation_fits(page: "Page", style: str) -> None:
    page.emulate_media(color_scheme="dark" if style == "dark" else "light")
    assert page.evaluate("document.documentElement.scrollHeight") < SCREENS * SCREEN_HEIGHT
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    bar = page.locator("nav").bounding_box()
    assert bar
    for link in [*page.locator("nav a").all(), page.locator("#filter")]:
        box = link.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 1280
        assert bar["y"] <= box["y"] and box["y"] + box["height"] <= bar["y"] + bar["height"]


def test_each_metric_has_a_link_that_opens_its_row(page: "Page", document: Document) -> None:
    links = {
        row[0].link
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Table)
        for row in block.rows
    } - {""}
    assert len(links) > 30
    assert page.evaluate("document.querySelectorAll('tr[id^=row-]').length") == len(links)
    assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map(one => one.id)).size") == page.evaluate(
        "document.querySelectorAll('[id]').length"
    )
    row = page.locator("#row-adopted-by-096")
    assert not row.is_visible()
    page.locator(".forest").get_by_role("link", name="0.96 adoption", exact=True).click()
    page.wait_for_function("document.querySelector('#row-adopted-by-096').checkVisibility()")
    box, bar = row.bounding_box(), page.locator("nav").bounding_box()
    assert box and bar and bar["y"] + bar["height"] <= box["y"] <= SCREEN_HEIGHT


def test_rows_are_sorted_and_filtered(page: "Page") -> None:
    fold = page.locator("#comparison details", has_text="Forging").first
    fold.locator("summary").click()
    heads = fold.locator("th button")
    first = fold.locator("tbody tr td:first-child")
    own = first.all_inner_texts()
    values = "table => [...table.tBodies[0].rows].map(row => Number(row.cells[1].textContent.replace(/,/g, '')))"
    heads.nth(1).click()
    rising = fold.locator("table").evaluate(values)
    assert rising == sorted(rising) and len(rising) > 5
    heads.nth(1).click()
    assert fold.locator("table").evaluate(values) == rising[::-1]
    heads.nth(1).click()
    assert first.all_inner_texts() == own
    page.locator("#filter").fill("0.96 adopt")
    page.wait_for_function("document.querySelector('#row-adopted-by-096').checkVisibility()")
    shown = page.evaluate(
        "[...document.querySelectorAll('#comparison tbody tr')].filter(row => row.checkVisibility()).map(row => row.id)"
    )
    assert shown == ["row-adopted-by-096"]
    page.locator("#filter").fill("")
    page.wait_for_function("!document.querySelector('#row-adopted-by-096').checkVisibility()")


def test_an_opened_chart_is_in_sight(page: "Page") -> None:
    page.set_viewport_size({"width": 1280, "height": 500})
    figure = page.locator("figure.small").first
    # Its title is at the lower end of the window, so that the opened chart would be below it.
    figure.evaluate("one => scrollTo(0, scrollY + one.getBoundingClientRect().top - innerHeight + 40)")
    figure.locator(".opener").evaluate("one => one.click()")
    page.wait_for_function(
        "() => { const box = document.querySelector('figure.small.open')?.getBoundingClientRect();"
        " return box && box.height > 150 && (box.bottom <= innerHeight + 1 || box.top < 130) && box.top >= 0; }"
    )


def test_a_phone_clips_no_table(page: "Page") -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    clipped = page.evaluate(
        """[...document.querySelectorAll('td, .chip, .mark > span')].filter(one => {
            if (!one.checkVisibility()) return false;
            const own = one.getBoundingClientRect();
            const room = (one.closest('.scroll') ?? document.body).getBoundingClientRect();
            return own.width && (own.left < room.left - 1 || own.right > room.right + 1 || one.scrollWidth > one.clientWidth + 2 && getComputedStyle(one).display !== 'inline');
        }).map(one => one.textContent.trim()).slice(0, 5)"""
    )
    assert clipped == []


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler's pdftotext is not here")
def test_on_paper_nothing_is_folded_and_intervals_and_margins_stay(
    page: "Page", document: Document, tmp_path: Path
) -> None:
    page.pdf(path=tmp_path / "printed.pdf", format="A4")
    done = subprocess.run(["pdftotext", "-layout", tmp_path / "printed.pdf", "-"], capture_output=True, check=True)
    text = " ".join(done.stdout.decode().split())
    forest = next(block for block in document.sections[0].blocks if isinstance(block, Forest))
    for mark in forest.marks:
        assert without_spaces(mark.span) in without_spaces(text)
        assert without_spaces(f"±{mark.limit}") in without_spaces(text)
    tables = [block for section in document.sections for block in section.blocks if isinstance(block, Table)]
    folded = [row[0].text for table in tables if table.folded or table.wide for row in table.rows]
    assert len(folded) > 60
    # A name may be broken over lines of its cell.
    assert [name for name in folded if name.split()[0] not in text] == []
    # Charts that were folded are there too: their axes have titles.
    assert text.count("block number") + text.count("MiB") > 3
    assert page.evaluate("[...document.querySelectorAll('details[open]')].length") == 0


def test_the_first_page_of_the_pdf_is_filled(document: Document) -> None:
    if shutil.which("pdftoppm") is None:
        pytest.skip("pdftoppm is not here: poppler-utils has it")
    picture = subprocess.run(
        ["pdftoppm", "-l", "1", "-r", "20", "-gray", "-"], input=pdf(document), capture_output=True, check=True
    ).stdout
    head = re.match(rb"P5\s+(\d+)\s+(\d+)\s+\d+\s", picture)
    assert head
    width, height = int(head[1]), int(head[2])
    rows = np.frombuffer(picture[head.end() :], np.uint8).reshape(height, width)
    inked = np.flatnonzero((rows < 200).any(axis=1))
    # Above the foot of the page, no blank stretch is as large as a fifth of it.
    assert np.diff(inked[inked < 0.93 * height]).max() < height / 5
    assert inked[inked < 0.93 * height].max() > 0.8 * height
