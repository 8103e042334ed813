"""Reports on paper, read back and looked at with poppler's tools."""

import itertools
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slotmark import open_run
from slotmark.compare import Comparison, compare, show_session
from slotmark.report import comparison_document, session_document, write_report
from slotmark.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
    Warnings,
)
from slotmark.report.renderers.pdf import pdf
from slotmark.verdict import Verdict
from slotmark.warnings import Warning

from ..made_up_runs import write_run

CODE = '#eval("1")'
SETTINGS = ("decode, sequential", "decode, 100 in flight")
HOSTILE = [
    CODE,
    "<script>alert(1)</script>",
    "*bold* _slanted_ `code` $x$ @label <label>",
    "\\u{41} // no comment /* none */",
    "= no heading",
    "~ -- --- ... 'straight' \"quotes\"",
    "été Ж Ω ß µ",
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs of one client: a baseline, one that is a third slower, one that is as fast and has a name that is code."""
    folder = tmp_path_factory.mktemp("runs")
    rates = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0, 1004.0, 996.0, 1001.0]
    for place, (name, factor) in enumerate((("base", 1.0), ("slow", 2 / 3), (CODE, 1.0005))):
        own = [rate * factor * (1 + 0.001 * ((7 * number + place) % 5 - 2)) for number, rate in enumerate(rates)]
        write_run(folder / name, "client", settings=dict.fromkeys(SETTINGS, own), session="s1")
    return [folder / name for name in ("base", "slow", CODE)]


@pytest.fixture(scope="module")
def comparison(folders: list[Path]) -> Comparison:
    return compare([open_run(folder) for folder in folders])


def document(*blocks: Block) -> Document:
    return Document("Title", "Subtitle", [Section("Section", list(blocks))])


def poppler(tool: str, content: bytes, *arguments: str) -> bytes:
    """The output of one of poppler's tools on a PDF."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not here: poppler-utils has it")
    return subprocess.run(
        [tool, *arguments[:-1], "-", *arguments[-1:]], input=content, capture_output=True, check=True
    ).stdout


def words(content: bytes) -> str:
    """The text, with single spaces."""
    return " ".join(poppler("pdftotext", content, "-").decode().split())


def page_texts(content: bytes) -> list[str]:
    return poppler("pdftotext", content, "-layout", "-").decode().split("\f")[:-1]


def pictures(content: bytes, folder: Path) -> list[np.ndarray]:
    """Every page as an array of greys, 0 to 255."""
    poppler("pdftoppm", content, "-gray", "-r", "60", str(folder / "page"))
    shots = []
    for file in sorted(folder.glob("page-*.pgm")):
        _, size, _, pixels = file.read_bytes().split(b"\n", 3)
        width, height = map(int, size.split())
        shots.append(np.frombuffer(pixels, np.uint8).reshape(height, width))
        file.unlink()
    return shots


def test_every_page_of_a_report_has_something_on_it(comparison: Comparison, tmp_path: Path) -> None:
    content = pdf(comparison_document(comparison))
    information = poppler("pdfinfo", content).decode()
    pages = int(re.search(r"Pages:\s+(\d+)", information)[1])  # pyright: ignore[reportOptionalSubscript]
    assert 4 <= pages <= 9
    assert re.search(rf"Title:           HOLD slow: worse in .*; SHIP {re.escape(CODE)}: ", information)
    assert "A4" in information
    shots = pictures(content, tmp_path)
    assert len(shots) == pages
    for number, shot in enumerate(shots, start=1):
        assert 0.002 < (shot < 128).mean() < 0.3, f"page {number}"
        assert (shot[:, :20] == 255).all(), f"page {number} runs into the left margin"
        assert (shot[:, -20:] == 255).all(), f"page {number} runs into the right margin"


def test_a_report_on_paper_says_what_it_says_elsewhere(comparison: Comparison) -> None:
    text = words(pdf(comparison_document(comparison)))
    for said in (
        "▼ worse",
        "= equivalent",
        "slow (decode, sequential): 0.667× base's blocks per second",
        "Over all tested metrics: ▲ 0 better, ▼ 2 worse",
        "Data dictionary . ",
        "Blocks per second: decode, 100 in flight",
        "600 700 800 900 1,000",  # a chart's own axis
        "Debian GNU/Linux 12 (bookworm)",
    ):
        assert said in text
    assert "mouse wheel" not in text
    assert CODE in text


def test_the_same_report_is_the_same_bytes(
    comparison: Comparison,
    folders: list[Path],
    tmp_path: Path,
    command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    document = comparison_document(comparison)
    first = pdf(document)
    assert pdf(document) == first
    written = write_report(document, comparison, tmp_path / "here")
    assert (tmp_path / "here" / "report.pdf") in written
    assert (tmp_path / "here" / "report.pdf").read_bytes() == first
    made = command("compare", *folders, "-o", tmp_path / "there")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "there" / "report.pdf").read_bytes() == first
    assert b"CreationDate" not in first


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    column = [Column("name", "left")]
    for name in HOSTILE:
        content = pdf(
            Document(
                f"title {name}",
                f"subtitle {name}",
                [
                    Section(
                        f"section {name}",
                        [
                            Paragraph(f"paragraph {name}", Verdict.WORSE),
                            Table(f"table {name}", column, [[Cell(f"cell {name}")]], [f"note {name}"]),
                            Facts("", [(f"name {name}", f"value {name}")]),
                            Warnings([Warning("odd", f"text {name}", f"subject {name}")]),
                        ],
                    )
                ],
            )
        )
        text = words(content)
        for place in ("title", "subtitle", "section", "paragraph", "table", "cell", "note", "name", "value", "subject"):
            assert f"{place} {name}" in text


def test_what_cannot_be_printed_is_marked_as_such() -> None:
    text = words(pdf(document(Paragraph("nul \0 escape \x1b turned \u202e surrogate \udce9 end"))))
    assert "nul � escape � turned � surrogate � end" in text


def test_hostile_names_stay_text_in_charts() -> None:
    name = "<b>&amp; #x a\0b c\udce9d 'e'"
    spec = {"data": {"values": [{"run": name}]}, "mark": "text", "encoding": {"text": {"field": "run"}}}
    text = words(pdf(document(Figure("t", "c", lambda: spec))))
    assert "<b>&amp; #x a�b c�d 'e'" in text


def test_every_sign_has_a_glyph(tmp_path: Path) -> None:
    def shot(sign: str) -> np.ndarray:
        return pictures(pdf(document(Paragraph(f"a {sign} b"))), tmp_path)[-1]

    missing, nothing = shot("\U0010fffd"), shot("")
    for sign in (*(verdict.sign for verdict in Verdict), "×", "≤", "…", "é", "Ж", "Δ"):
        assert not np.array_equal(shot(sign), missing), sign
        assert not np.array_equal(shot(sign), nothing), sign
    fonts = (
        poppler("pdffonts", pdf(document(Paragraph("".join(verdict.sign for verdict in Verdict)))))
        .decode()
        .splitlines()[2:]
    )
    assert fonts
    for font in fonts:
        assert "LibertinusSerif" in font or "DejaVuSansMono" in font
        assert font.split()[-5] == "yes", "embedded"


def test_long_tables_repeat_their_header_and_lose_no_row() -> None:
    columns = [Column("row", "left"), *(Column(f"column {number}") for number in range(7))]
    rows = [[Cell(f"row-{row}"), *(Cell(f"{row * number:.2f}") for number in range(7))] for row in range(300)]
    pages = page_texts(pdf(document(Table("long", columns, rows, ["the note"], wide=True))))
    holding = [page for page in pages if re.search(r"row-\d", page)]
    assert len(holding) > 3
    assert all(page.count("column 6") == 1 for page in holding)
    assert re.findall(r"row-(\d+)", "".join(pages)) == [str(row) for row in range(300)]
    assert "the note" in holding[-1]


def test_rows_that_belong_together_stay_in_their_columns_and_on_a_page() -> None:
    columns = [Column("metric", "left"), Column("run", "left"), Column("verdict", "left")]

    def rows(groups: int, size: int) -> list[list[Cell]]:
        return [
            [Cell(f"metric-{group}" if run == 0 else ""), Cell(f"run-{group}-{run}"), Cell("▲ better", Verdict.BETTER)]
            for group in range(groups)
            for run in range(size)
        ]

    for groups, size in ((30, 5), (3, 40)):
        content = pdf(document(Table("groups", columns, rows(groups, size))))
        boxes = poppler("pdftotext", content, "-bbox", "-").decode()
        for kind, count in ((r"metric-\d+", groups), (r"run-\d+-\d+", groups * size), ("better", groups * size)):
            edges = re.findall(rf'xMin="([\d.]+)"[^>]*>{kind}<', boxes)
            assert len(edges) == count
            assert len(set(edges)) == 1
    for page in page_texts(pdf(document(Table("groups", columns, rows(30, 5))))):
        for group in re.findall(r"metric-(\d+)", page):
            assert len(re.findall(rf"run-{group}-", page)) == 5


def test_pages_are_headed_by_the_first_line_of_a_long_title() -> None:
    rows = [[Cell(f"row-{number}")] for number in range(200)]

    def first_word(title: str) -> tuple[str, ...]:
        """Returns the place of the title's first word on the second page, in points: left and top."""
        content = pdf(Document(title, "", [Section("Section", [Table("", [Column("metric", "left")], rows)])]))
        found = re.search(
            r'xMin="([\d.]+)" yMin="([\d.]+)"[^>]*>RUN<',
            poppler("pdftotext", content, "-f", "2", "-bbox", "-").decode(),
        )
        assert found
        return found.groups()

    assert first_word(f"RUN AGAIN{' 0.96 adoption has no verdict;' * 20}") == first_word("RUN AGAIN")


def test_words_of_crowded_tables_do_not_run_into_each_other() -> None:
    columns = [Column("Target", "left"), Column("Mode", "left"), *(Column(f"Run{run} blk/s") for run in range(1, 11))]
    columns += [Column("Min-Max blk/s"), Column("StdDev"), Column("Avg time"), Column("vs base")]
    figures = [*(Cell(f"{1000.5 + run}") for run in range(10)), Cell("1000.5-1010.5"), Cell("10.5"), Cell("9.99s")]
    rows = [[Cell("gouroboros"), Cell("decode, 100 in flight"), *figures, Cell("100.0%")] for _ in range(5)]
    content = pdf(document(Table("crowded", columns, rows)))
    page = poppler("pdftotext", content, "-bbox", "-").decode().split("<page ")[-1]
    box = re.compile(r'xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)"')
    boxes = sorted((y, left, right) for left, y, right in (map(float, found) for found in box.findall(page)))
    beside = [(one, two) for one, two in itertools.pairwise(boxes) if one[0] == two[0]]
    assert len(beside) > 60
    assert all(right < next_left for (_, _, right), (_, next_left, _) in beside)


def test_headings_how_to_read_and_legends_stand_with_their_charts(comparison: Comparison) -> None:
    """Charts begin at ten heights of a page, so that some of them would be cut off from what is above them."""
    blocks = next(section for section in comparison_document(comparison).sections if section.title == "Charts").blocks
    lines = next(one for one in blocks if isinstance(one, Figure) and "over the invocation" in one.title)
    sections = []
    for place in range(10):
        chart = msgspec.structs.replace(lines, title=f"title-{place}", small=True)
        sections += [
            Section("Before", [Paragraph("word")] * (20 + 2 * place)),
            Section(f"heading-{place}", [Paragraph(f"read-{place}"), chart]),
        ]
    pages = page_texts(pdf(Document("Title", "", sections)))
    on = {
        word: number
        for number, page in enumerate(pages)
        if "word" in page or number > 1
        for word in re.findall(r"(?:heading|read|title)-\d", page)
    }
    assert len(on) == 30
    apart = [place for place in range(10) if len({on[f"{word}-{place}"] for word in ("heading", "read", "title")}) > 1]
    assert not apart
    assert "slow" in pages[on["title-0"]], "the legend"


def test_charts_that_name_runs_on_an_axis_have_no_legend_of_lines(comparison: Comparison) -> None:
    blocks = next(section for section in comparison_document(comparison).sections if section.title == "Charts").blocks
    figures = [one for one in blocks if isinstance(one, Figure)]
    legends = {"over the invocation" in one.title: one.draw()["usermeta"]["legend"] for one in figures}
    assert legends == {False: False, True: True}
    dots = next(one for one in figures if "over the invocation" not in one.title)
    alone = words(pdf(document(Paragraph("before"), dots))).split("before")[1]
    assert alone.count("slow") == 1, "on the axis alone"


def test_units_are_not_broken_over_lines() -> None:
    columns = [Column("target", "left"), *[Column("Blocks per second, blocks/s")] * 7]
    table = Table("t", columns, [[Cell("native"), *[Cell("1,234,567")] * 7]])
    paragraphs = [Paragraph(f"{'w' * letters} " * 8 + "blocks/s " * 30) for letters in range(1, 12)]
    text = poppler("pdftotext", pdf(document(table, *paragraphs)), "-layout", "-").decode()
    assert text.count("blocks/s") == 7 + 11 * 30
    assert not re.search(r"blocks/\s", text)


def test_percent_signs_stay_with_their_numbers() -> None:
    """An interval's " %]" stood alone in narrow cells."""
    interval = "-38.1 % [-68.3 to +20.6 %] "
    paragraphs = [Paragraph(f"{'w' * letters} " * 8 + interval * 30) for letters in range(1, 12)]
    text = poppler("pdftotext", pdf(document(*paragraphs)), "-layout", "-").decode()
    assert text.count("+20.6 %]") == 11 * 30
    assert not re.search(r"(?m)^\s*%", text)


def test_hashes_are_broken_in_narrow_columns_and_whole_when_copied(tmp_path: Path) -> None:
    digest = "0123456789abcdef" * 4
    columns = [Column("", "left"), *(Column(f"run {run}", "left") for run in range(5))]
    content = pdf(document(Table("", columns, [[Cell("digest"), *[Cell(digest)] * 5]]), Facts("", [("one", digest)])))
    assert digest in words(content)
    assert (pictures(content, tmp_path)[-1][:, -20:] == 255).all()


def test_why_a_verdict_is_undecided_stands_below_the_table() -> None:
    cells = [[Cell(name), Cell("? undecided", Verdict.UNDECIDED, why)] for name, why in zip("xyz", "ppq", strict=True)]
    text = words(pdf(document(Table("t", [Column("", "left"), Column("verdict", "left")], cells))))
    assert text.count("undecided a") == 2
    assert text.count("undecided b") == 1
    assert "a p. b q." in text


def test_short_reports_and_empty_ones_can_be_printed(folders: list[Path]) -> None:
    assert "Measured" in words(pdf(session_document(show_session([open_run(folder) for folder in folders]))))
    assert "Nothing" in words(pdf(Document("Nothing", "", [])))
    empty = document(Table("empty", [Column("a"), Column("b")], []), Facts("", []), Warnings([]), Paragraph(""))
    assert "Table 1 empty a b" in words(pdf(empty))
