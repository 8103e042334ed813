"""Reports as people and machines see them."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from slotmark import open_run
from slotmark.compare import Comparison, Policy, compare, show_session
from slotmark.errors import RunError
from slotmark.numbers import number, p_value, percent_change, ratio, signed
from slotmark.report import comparison_document, print_document, session_document, write_report
from slotmark.report.charts.frame import looks
from slotmark.report.document import Block, Cell, Column, Document, Facts, Figure, Paragraph, Section, Table, Warnings
from slotmark.report.renderers.html import html
from slotmark.report.renderers.markdown import markdown
from slotmark.verdict import Verdict
from slotmark.warnings import Warning
from slotmark.whole_files import written_whole

from ..made_up_runs import write_run
from ..pages import opened_page

NASTY = "<script>alert(1)</script>"
SETTINGS = ("decode, sequential", "decode, 100 in flight")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """A baseline, one that is a third slower, one that is the same; the first of them has a name that is code."""
    folder = tmp_path_factory.mktemp("runs")
    rates = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0, 1004.0, 996.0, 1001.0]
    for name, factor in (("base", 1.0), ("slow", 2 / 3), ("same", 1.0005)):
        own = [rate * factor * (1 + 0.001 * ((7 * place + len(name)) % 5 - 2)) for place, rate in enumerate(rates)]
        target = NASTY if name == "slow" else name
        write_run(folder / name, target, settings=dict.fromkeys(SETTINGS, own), session="s1")
    # With a policy, clients of different names are decided on too.
    return compare([open_run(folder / name) for name in ("base", "slow", "same")], policy=Policy())


def terminal(comparison: Comparison, width: int) -> str:
    console = Console(width=width, record=True, color_system=None, file=io.StringIO())
    print_document(comparison_document(comparison), console)
    return console.export_text()


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_verdicts_within_its_width(comparison: Comparison, width: int) -> None:
    text = terminal(comparison, width)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    assert "▼ worse" in text
    assert "= equivalent" in text
    assert re.search(
        re.escape(NASTY) + r": Blocks per second, decode, sequential is 33\.\d % lower \(1,0", " ".join(text.split())
    )


def test_markdown_folds_what_is_long_and_leaves_names_text(comparison: Comparison) -> None:
    text = markdown(comparison_document(comparison))
    assert NASTY not in text
    brief = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert len(brief) < 9_000  # with a decision and a ranking
    assert "| ▼ worse |" in brief
    assert text.count("<details>") == text.count("</details>") > 3
    columns = [
        [line.count("|") - line.count("\\|") for line in table.splitlines()]
        for table in text.split("\n\n")
        if table.startswith("|")
    ]
    assert len(columns) > 3
    assert all(len(set(of_lines)) == 1 for of_lines in columns), columns


def test_two_commands_dont_mix_their_reports(comparison: Comparison, tmp_path: Path) -> None:
    """The second is refused while the first one writes, also where that has put some of its files in their places already."""
    folder = tmp_path / "out"
    document = comparison_document(comparison)
    written = {path: path.read_bytes() for path in write_report(document, comparison, folder)}
    with written_whole(folder / "report-short.md") as [other]:
        with pytest.raises(RunError, match="another command is writing it"):
            write_report(document, comparison, folder)
        assert {path: path.read_bytes() for path in folder.iterdir() if path != other} == written


def test_json_holds_everything_and_is_the_same_twice(comparison: Comparison, tmp_path: Path) -> None:
    document = comparison_document(comparison)
    first = [path.read_bytes() for path in write_report(document, comparison, tmp_path)]
    again = [path.read_bytes() for path in write_report(comparison_document(comparison), comparison, tmp_path)]
    assert first == again
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["schema"] == 3
    assert [side["name"] for side in written["candidates"]] == [NASTY, "same"]
    row = written["rows"][0]
    assert row["metric"]["id"] == "blocks_per_s"
    assert len(row["summaries"][0]["samples"]) == 10
    assert row["differences"][0]["verdict"] == "worse"
    assert row["differences"][1]["verdict"] == "equivalent"
    assert (
        row["differences"][0]["ratio"]["low"]
        < row["differences"][0]["ratio"]["estimate"]
        < row["differences"][0]["ratio"]["high"]
    )
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"report.{form}" for form in ("html", "pdf", "md", "json")),
        "report-short.md",
        "report-sources.csv",
    }


def test_html_draws_offline_and_keeps_names_text(comparison: Comparison, tmp_path: Path) -> None:
    page_file = write_report(comparison_document(comparison), comparison, tmp_path)[0]
    assert page_file.stat().st_size < 3_000_000
    with opened_page(page_file) as page:
        assert page.locator(".chart").count() >= 6
        assert page.evaluate(
            "[...document.querySelectorAll('.chart')].every(chart => chart.querySelectorAll('.mark-symbol path, .mark-line path').length > 0)"
        )
        assert page.get_by_text(NASTY).count() > 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.set_viewport_size({"width": 400, "height": 800})
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        # A run can be switched off, in every chart.
        page.set_viewport_size({"width": 1280, "height": 900})
        dots = "() => document.querySelector('.chart').querySelectorAll('.mark-symbol path').length"
        assert page.evaluate(dots) == 30
        page.get_by_role("checkbox", name=NASTY).uncheck()
        page.wait_for_function(f"({dots})() === 20")
        page.get_by_role("checkbox", name=NASTY).check()
        page.wait_for_function(f"({dots})() === 30")
        assert page.locator("h2").all_inner_texts()[:5] == ["Decision", "Ranking", "Comparison", "Verdicts", "Charts"]


def test_a_session_in_short_names_every_run(comparison: Comparison, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_run(tmp_path / name, name, settings={SETTINGS[0]: [10.0, 11.0, 12.0]}, session="s")
    document = session_document(show_session([open_run(tmp_path / name) for name in ("one", "two")]))
    text = markdown(document)
    assert "| one | 11.00 |" in text
    assert "| two | 11.00 |" in text
    assert "% of floor, by round | " in text
    assert "the median of each round's own share, which need not be the quotient of two medians above." in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567.8, "1,234,568"),
        (1234.5, "1,234"),
        (12.3456, "12.35"),
        (0.00123456, "0.001235"),
        (-5.5, "-5.500"),
        (float("nan"), "-"),
    ],
)
def test_numbers_have_four_significant_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_ratios_p_values_and_differences_are_printed_as_known() -> None:
    assert ratio(1.8349) == "1.835×"
    assert ratio(15.44) == "15.4×"
    assert p_value(0.0002, bound=True) == "< 0.0002"
    assert p_value(1.0) == "1"
    assert p_value(0.0312) == "0.031"
    assert [percent_change(one) for one in (1.0325, 0.9955, 2.5, 1.0, 18.85, 3.7e17)] == [
        "+3.2",
        "-0.45",
        "+150",
        "0",
        "+1,785",
        "> +999,999",
    ]
    assert [signed(one) for one in (0.01234, -2.0, 0.0)] == ["+0.0123", "-2.00", "0"]


def test_a_table_wider_than_the_terminal_is_printed_in_parts_that_break_no_word() -> None:
    columns = [Column("Target", "left"), *(Column(f"Run{number} blk/s") for number in range(1, 11))]
    rows = [[Cell("pallas"), *(Cell(f"{1000.5 + number}") for number in range(10))]]
    document = Document("", "", [Section("", [Table("Rates", columns, rows)], brief=True)])
    console = Console(width=60, record=True, color_system=None, file=io.StringIO())
    print_document(document, console)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 60
    assert [line.strip() for line in lines if line.startswith("Rates")] == ["Rates", "Rates, continued"]
    found = [word for line in lines if line.strip().startswith("pallas") for word in line.split()[1:]]
    assert found == [cell.text for cell in rows[0][1:]]


def test_as_many_runs_as_a_study_has_are_told_apart_in_charts() -> None:
    assert len({(look.colour, look.dash) for look in looks([str(place) for place in range(20)])}) == 20


def hostile(name: str) -> Document:
    """A document with one text in every place that can hold data."""
    columns, cells = [Column(name, "left"), Column("other")], [Cell(name, remark=name), Cell("b")]
    blocks: list[Block] = [
        Paragraph(name, Verdict.WORSE),
        Table(name, columns, [cells], [name]),
        Table(name, columns, [cells], wide=True),
        Facts("", [(name, name)]),
        Warnings([Warning("odd", name, name)]),
    ]
    return Document(name, name, [Section("Section", blocks, brief=True)])


@pytest.mark.parametrize("escape", ["\x1b[31m", "\x1b]8;;http://x\x07", "\r", "\b", "\x9b2J", "\u202e", "\udce9", "\0"])
def test_no_name_steers_a_terminal(escape: str) -> None:
    console = Console(width=70, color_system=None, file=io.StringIO())
    print_document(hostile(f"a{escape}b"), console)
    shown = console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    assert not set(shown) & set("\x1b\r\b\x07\x9b\u202e\udce9\0")
    assert "a\ufffd" in shown


def test_no_name_breaks_the_lines_of_a_terminal_or_is_markup_there() -> None:
    console = Console(width=200, record=True, color_system=None, file=io.StringIO())
    print_document(hostile("[bold]x[/bold]\nslotmark: all is well :warning:"), console)
    text = console.export_text()
    assert "[bold]x[/bold] slotmark: all is well :warning:" in text
    assert not [line for line in text.splitlines() if line.startswith("slotmark:")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("@maintainers", "@<!-- -->maintainers"),
        ("https://example.org/x", "https://<!-- -->example"),
        ("www.example.org", "www<!-- -->.example"),
        ("fixes #12", "fixes \\#<!-- -->12"),
        ("a | b ` c", "a \\| b \\` c"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("&copy; ~~x~~ $y$ [l](z) ![p](q)", "&amp;copy; \\~\\~x\\~\\~ \\$y\\$ \\[l\\](z) \\!\\[p\\](q)"),
        ("- list", "\\- list"),
        ("12. list", "12\\. list"),
        ("=====", "\\====="),
    ],
)
def test_no_name_is_markdown_a_mention_or_a_link(name: str, text: str) -> None:
    written = markdown(hostile(name))
    assert text in written
    assert not re.search(rf"(?m)^{re.escape(name)}$", written)


def test_no_name_is_an_expression_or_a_format_of_a_chart(comparison: Comparison, tmp_path: Path) -> None:
    """Expressions for Vega are the same whatever the runs are called."""

    def expressions(value: object) -> list[str]:
        if isinstance(value, dict):
            own = [str(value[key]) for key in ("filter", "labelExpr", "expr", "test", "format", "zoom") if key in value]
            return own + [one for inside in value.values() for one in expressions(inside)]
        return [one for inside in value for one in expressions(inside)] if isinstance(value, list) else []

    found = {
        one
        for section in comparison_document(comparison).sections
        for block in section.blocks
        if isinstance(block, Figure)
        for one in expressions(block.draw())
    }
    assert found
    assert not [one for one in found if any(name in one for name in ("slow", "same", NASTY))]


def test_the_wheel_scrolls_titles_stay_in_sight_and_charts_open(comparison: Comparison, tmp_path: Path) -> None:
    page_file = tmp_path / "report.html"
    page_file.write_text(html(comparison_document(comparison)))
    with opened_page(page_file) as page:
        figure = page.locator("figure").filter(has=page.locator(".mark-line")).first
        figure.scroll_into_view_if_needed()
        box = figure.locator(".chart").bounding_box()
        assert box is not None
        before = page.evaluate("scrollY"), figure.locator("svg").inner_html()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
        page.mouse.wheel(0, -200)
        page.wait_for_function("before => scrollY < before", arg=before[0])
        assert figure.locator("svg").inner_html() == before[1]
        # A section's title lies below the bar.
        for link in page.locator("nav a").all():
            link.click()
            anchor = link.get_attribute("href")
            assert anchor
            title, bar = page.locator(f"{anchor} h2").bounding_box(), page.locator("nav").bounding_box()
            assert title and bar and title["y"] >= bar["y"] + bar["height"]
        # A chart opens with the keyboard, and its caption with it.
        small = page.locator("figure.small").first
        narrow = small.bounding_box()
        small.locator(".opener").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("document.querySelector('figure.small.open figcaption').checkVisibility()")
        wide = small.bounding_box()
        assert narrow and wide and wide["width"] > 2 * narrow["width"]
        # The reason of a verdict is one key away.
        chip = page.locator("button.chip").first
        chip.focus()
        page.keyboard.press("Enter")
        page.wait_for_function("document.querySelector('.reason:popover-open')")


@pytest.mark.parametrize("width", [420, 1300])
def test_a_verdict_is_in_sight_without_scrolling_sideways(comparison: Comparison, tmp_path: Path, width: int) -> None:
    page_file = tmp_path / "report.html"
    page_file.write_text(html(comparison_document(comparison)))
    with opened_page(page_file) as page:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        chips = [box for chip in page.locator("#comparison .chip").all() if (box := chip.bounding_box())]
        assert len(chips) > 10
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in chips)


@pytest.mark.parametrize("width", [420, 1300])
def test_no_title_is_under_a_bar_that_stays_and_the_dictionary_is_folded(
    comparison: Comparison, tmp_path: Path, width: int
) -> None:
    page_file = tmp_path / "report.html"
    page_file.write_text(html(comparison_document(comparison)))
    with opened_page(page_file) as page:
        page.set_viewport_size({"width": width, "height": 900})
        for link in page.locator("nav a").all():
            link.click()
            title = page.locator(f"{link.get_attribute('href')} h2")
            box = title.bounding_box()
            assert box
            shown = "([x, y]) => document.elementFromPoint(x, y).closest('h2')?.textContent"
            assert page.evaluate(shown, [box["x"] + 5, box["y"] + box["height"] / 2]) == title.text_content()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        folded = page.locator("#data-dictionary details")
        assert folded.count() == 1
        assert not folded.locator("table").is_visible()
        # At the end of the charts their bar stays on top: a title in its section is not under it.
        last = page.locator("#charts figure h3").last
        last.evaluate("one => one.closest('figure').scrollIntoView()")
        box = last.bounding_box()
        assert box
        shown = "([x, y]) => document.elementFromPoint(x, y).closest('h3')?.textContent"
        assert page.evaluate(shown, [box["x"] + 5, box["y"] + box["height"] / 2]) == last.text_content()
