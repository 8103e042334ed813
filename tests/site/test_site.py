"""`slotmark site`: what it writes, from stores with odd names and numbers, and what a browser makes of it."""

import base64
import html
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slotmark.history import Labels, make_store, open_store
from slotmark.history.decisions import Accepted, Decisions
from slotmark.run import open_run
from slotmark.run.storage import is_run
from slotmark.site.gathered import gathered
from slotmark.site.names import of_run
from slotmark.site.writing import write_site
from tests.conftest import REPO, bytes_of, slotmark
from tests.history.made import levels, made
from tests.made_up_runs import MACHINE
from tests.pages import opened_page

HOSTILE = '"><script>alert(1)</script>'
STEP = 15
"""The run that a change begins with, of 24."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A step of 12 % in a target's history, and runs of another machine, whose versions and branches have names that are no plain words."""
    folder = tmp_path_factory.mktemp("made")
    opened = make_store(folder / "store")
    for day, level in enumerate(levels(24)):
        run = made(folder, day, level * (0.88 if day >= STEP else 1), version=f"1.{day}")
        opened.add([run], Labels(version=f"1.{day}", branch="../../emoji 🙂/'"))
    other = msgspec.structs.replace(MACHINE, cpu=HOSTILE)
    for day in range(30, 33):
        run = made(folder, day, 2000, machine=other, version=HOSTILE)
        opened.add([run], Labels(version=HOSTILE, ref="--ref"))
    opened.keep_index()
    return folder / "store"


@pytest.fixture(scope="module")
def public(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "public"
    done = slotmark("site", "--store", store, "-o", out, "--title", "A & B <b>", "--url", "https://example.org/perf")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out / 'index.html'}\n"
    return out


def page_of(public: Path, metric: str) -> Path:
    """The page of a metric of the runs that a store of these tests has."""
    (page,) = (public / "metrics").glob(f"pallas-{metric}-*.html")
    return page


def test_all_links_of_all_pages_lead_somewhere(public: Path) -> None:
    pages = sorted(public.rglob("*.html"))
    assert len(pages) > 27
    checked = 0
    for page in pages:
        for link in re.findall(r'(?:href|src)="([^"#]+)"', page.read_text(encoding="utf-8")):
            assert not re.match(r"[a-z]+:|//", link), link
            assert (page.parent / link).resolve().is_relative_to(public.resolve())
            assert (page.parent / link).is_file(), (page, link)
            checked += 1
    assert checked > 300


def test_names_are_text_everywhere(public: Path) -> None:
    for file in public.rglob("*"):
        if file.is_file() and file.name not in ("vega.js", "site.js"):
            assert "<script>alert" not in file.read_text(encoding="utf-8"), file
            assert file.name.isascii() and re.fullmatch(r"[a-z0-9.-]+", file.name)
    assert "A &amp; B &lt;b&gt;" in (public / "index.html").read_text(encoding="utf-8")
    ET.parse(public / "changes.xml")
    for badge in (public / "badges").iterdir():
        ET.parse(badge)


def test_the_step_is_on_the_first_page_and_in_the_feed(public: Path) -> None:
    first = " ".join((public / "index.html").read_text(encoding="utf-8").split())
    assert "Blocks per second" in first
    assert "1.14 → 1.15" in first
    atom = {"a": "http://www.w3.org/2005/Atom"}
    entries = ET.parse(public / "changes.xml").getroot().findall("a:entry", atom)
    (entry,) = [one for one in entries if "Blocks per second" in (one.findtext("a:title", "", atom))]
    link = entry.find("a:link", atom)
    assert link is not None
    assert link.get("href", "").startswith("https://example.org/perf/metrics/pallas-blocks-per-s-")
    assert "worse -1" in entry.findtext("a:title", "", atom)


def test_a_version_is_compared_with_the_one_before_it(public: Path) -> None:
    def row(version: str) -> str:
        (page,) = (public / "versions").glob(f"pallas-{version.replace('.', '-')}-*.html")
        text = page.read_text(encoding="utf-8")
        assert f"{version} compared with" in text
        (found,) = [one for one in re.findall(r"<tr>.*?</tr>", text, re.DOTALL) if ">Blocks per second<" in one]
        return found

    assert "chip worse" in row(f"1.{STEP}")
    assert "chip worse" not in row(f"1.{STEP - 1}") and "chip better" not in row(f"1.{STEP - 1}")
    # The first version of a machine has none before it, and a version on another machine isn't compared with it.
    assert len([*(public / "versions").iterdir()]) == 23


def test_a_run_shows_the_difference_from_the_run_before(public: Path) -> None:
    first = (public / "index.html").read_text(encoding="utf-8")
    begun = re.search(r'href="(runs/[0-9a-f]+\.html)"', first)
    assert begun is not None
    text = (public / begun[1]).read_text(encoding="utf-8")
    (row,) = [one for one in re.findall(r"<tr>.*?</tr>", text, re.DOTALL) if ">Blocks per second<" in one]
    assert re.search(r'data-label="from the run before" class="right"><strong>-1[0-9.]+ %</strong>', row)
    assert re.search(r'data-label="by chance" class="right">-[1-4]\.[0-9] to \+[1-4]\.[0-9] %<', row)
    # The run before it has the same level as the one before that.
    before = re.search(r'rel="prev" href="([0-9a-f]+\.html)"', text)
    assert before is not None
    earlier = (public / "runs" / before[1]).read_text(encoding="utf-8")
    (row,) = [one for one in re.findall(r"<tr>.*?</tr>", earlier, re.DOTALL) if ">Blocks per second<" in one]
    assert re.search(r'data-label="from the run before" class="right">[-+][0-9.]+ %<', row)


def test_the_same_store_gives_the_same_bytes_and_only_what_changed_is_written(store: Path, tmp_path: Path) -> None:
    copy, out, again = tmp_path / "store", tmp_path / "public", tmp_path / "again"
    shutil.copytree(store, copy)
    assert slotmark("site", "--store", "store", "-o", out, cwd=tmp_path).returncode == 0
    assert slotmark("site", "--store", "store", "-o", again, cwd=tmp_path).returncode == 0
    assert bytes_of(out) == bytes_of(again)
    before = {file: file.stat() for file in out.rglob("*") if file.is_file()}
    done = slotmark("site", "--store", "store", "-o", out, cwd=tmp_path)
    assert f"{len(before)} files, 0 of them written" in done.stderr
    assert {file: file.stat().st_ino for file in before} == {file: one.st_ino for file, one in before.items()}
    opened = make_store(copy)
    opened.add([made(tmp_path, 40, 880.0, version="1.40")], Labels(version="1.40"))
    done = slotmark("site", "--store", "store", "-o", out, cwd=tmp_path)
    found = re.search(r"([0-9,]+) files, ([0-9,]+) of them written", done.stderr)
    assert found is not None
    assert int(found[2]) < int(found[1])
    vega = out / "assets" / "vega.js"
    assert vega.stat().st_ino == before[vega].st_ino


def test_a_change_is_accepted_until_a_day_of_the_runs_not_of_the_reader(store: Path) -> None:
    def accepted(*decided: Accepted) -> dict[str, str]:
        found = gathered(open_store(store), Decisions(accepted=[*decided]), lambda *_: None)
        return {change.id: change.accepted for page in found.pages for change in page.changes}

    (change, *_) = accepted()
    # The newest run is of 2026-10-03, and so long ago that either day is over.
    for until, reason in (("2026-10-03", ""), ("2026-10-04", "why")):
        assert accepted(Accepted(change=change, reason="why", until=until))[change] == reason


def site_of(folder: Path, levels: Sequence[float], unit: str) -> Path:
    """The site of one metric, with a level a day."""
    rows = "".join(f"{1_767_225_600 + 86_400 * day},c{day},{one}\n" for day, one in enumerate(levels))
    (folder / "rows.csv").write_text(f"time,commit,p50\n{rows}")
    words = ("--format", "otava", "--to", "store", "--target", "x", "--better", "lower", "--unit", unit)
    assert slotmark("store", "import", "rows.csv", *words, cwd=folder).returncode == 0
    done = slotmark("site", "--store", "store", "-o", "public", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "public"


@pytest.mark.parametrize(("level", "unit"), [(1e39, "s"), (1.7e308, "1"), (1e-320, "1")])
def test_numbers_beyond_32_bits_are_whole_in_the_data(level: float, unit: str, tmp_path: Path) -> None:
    levels = [level * (1 + 0.01 * (day % 3)) for day in range(12)]
    (file,) = (site_of(tmp_path, levels, unit) / "data").glob("x-imported-*.js")
    (series,) = json.loads(file.read_text().removeprefix("slotmark(").removesuffix(");\n"))["series"]
    estimates = np.frombuffer(base64.b64decode(series["estimates"]), "<f4").astype(float)
    scale = 1e3 if unit == "s" else 1.0
    assert estimates * series["unit"] == pytest.approx(scale * np.array(levels), rel=1e-3, abs=0)


def test_a_folder_with_something_else_is_left_alone(store: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    done = slotmark("site", "--store", store, "-o", tmp_path)
    assert done.returncode == 2
    assert "not empty, and no site" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["kept.txt"]


def test_a_full_disk_leaves_the_old_site_whole(store: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "small", small], capture_output=True, check=False
    ).returncode:
        pytest.skip("a small disk can't be mounted here: it takes root")
    try:
        out = small / "public"
        assert slotmark("site", "--store", store, "-o", out).returncode == 0
        before = bytes_of(out)
        filled = small / "filled"
        with filled.open("wb") as file:
            left = os.statvfs(small)
            file.write(bytes(left.f_bavail * left.f_frsize - 16_384))
        done = slotmark("site", "--store", store, "-o", out, "--title", "Another")
        assert done.returncode == 2, done.stderr
        assert "No space left" in done.stderr and "Make room" in done.stderr
        assert bytes_of(out) == before
        assert sorted(one.name for one in small.iterdir()) == ["filled", "public"]
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_place_where_a_disk_is_mounted_is_refused_in_a_line(store: Path, tmp_path: Path) -> None:
    public = tmp_path / "public"
    public.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", public], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here: it takes root")
    try:
        done = slotmark("site", "--store", store, "-o", public)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith(f"slotmark: {public}: can't be replaced (")
        assert [one.name for one in tmp_path.iterdir()] == ["public"]
    finally:
        subprocess.run(["umount", public], check=True)


def test_a_writer_that_stops_leaves_the_old_site_whole(tmp_path: Path) -> None:
    out = tmp_path / "public"
    write_site(out, [("site.json", b"{}"), ("a", b"old")])

    def stopped():
        yield "site.json", b"{}"
        yield "a", b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_site(out, stopped())
    assert bytes_of(out) == {"site.json": b"{}", "a": b"old"}
    # A command that was killed between its two renames: the old site is put back first.
    out.rename(tmp_path / ".public.old")
    assert write_site(out, [("site.json", b"{}"), ("a", b"old"), ("b", b"")]).written == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["public"]


def test_a_place_that_nothing_can_be_written_to_is_refused_in_a_line(store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file" / "public", Path("/proc/public")):
        done = slotmark("site", "--store", store, "-o", out)
        assert done.returncode == 2
        assert f"{out}: can't make this folder (" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["site", "--store", "nowhere"], "no store"),
        (["site", "--store", "STORE", "--url", "javascript:alert(1)"], "--url"),
        (["serve", "nowhere"], "has no index.html"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(store: Path, tmp_path: Path, words: list[str], why: str) -> None:
    done = slotmark(*(str(store) if one == "STORE" else one for one in words), cwd=tmp_path)
    assert done.returncode == 2
    assert why in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "public").exists()


def test_serve_shows_a_site_to_this_machine_and_nothing_beside_it(public: Path) -> None:
    (public.parent / "secret.txt").write_text("not of the site")
    process = subprocess.Popen(
        [sys.executable, "-m", "slotmark", "serve", public, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        with urllib.request.urlopen(address) as answer:
            assert b"<h1>" in answer.read()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{address}../secret.txt")
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{address}%2e%2e/secret.txt")
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert "Traceback" not in said


@pytest.mark.parametrize("width", [1280, 700, 400])
def test_pages_in_a_browser(public: Path, width: int) -> None:
    metric = page_of(public, "blocks-per-s")
    (run, *_) = sorted((public / "runs").glob("*.html"))
    (version, *_) = sorted((public / "versions").glob("*.html"))
    for file in (public / "index.html", public / "metrics" / "index.html", metric, run, version):
        with opened_page(file, public, width) as page:
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (file, width)
            assert page.locator("h1").count() == 1
            if file == metric:
                page.wait_for_selector("#chart svg")
                assert page.locator("#chart svg path[aria-roledescription='point']").count() == 27
                assert page.locator("#runs tbody tr").count() == 27
            if file == public / "index.html":
                page.fill("#search", "blocks per second")
                shown = page.locator("#searched tbody tr:visible")
                assert shown.count() >= 1
                assert "Blocks per second" in shown.first.inner_text()


def test_a_metric_without_changes_is_drawn(tmp_path: Path) -> None:
    public = site_of(tmp_path, [1 + 0.01 * (day % 3) for day in range(12)], "s")
    (file,) = (public / "metrics").glob("x-imported-*.html")
    with opened_page(file, public) as page:
        page.wait_for_selector("#chart svg")
        assert page.locator("#chart svg path[aria-roledescription='point']").count() == 12


def test_a_series_with_few_runs_is_not_said_to_have_no_change(tmp_path: Path) -> None:
    for runs, searched in ((12, False), (13, True)):
        (tmp_path / str(runs)).mkdir()
        public = site_of(tmp_path / str(runs), [1 + 0.01 * (day % 3) for day in range(runs)], "s")
        first = html.unescape((public / "index.html").read_text(encoding="utf-8"))
        (page,) = (public / "metrics").glob("x-imported-*.html")
        metric = page.read_text(encoding="utf-8")
        assert ("Nothing beyond the margin" in first) is ("None was found" in metric) is searched
        assert ("from the 13th run of a series on: 1 of 1 has fewer" in first) is not searched
        assert ("from the 13th run of a kind of machine on" in metric) is not searched
        assert first.count("no change that matters") == (runs - 1 if searched else 0)
        assert first.count("changes aren't looked for yet") == (0 if searched else runs - 1)
        badge = (public / "badges" / "changes.svg").read_text(encoding="utf-8")
        assert f"sure changes lately: {'0' if searched else 'too few runs'}<" in badge


def test_a_metric_that_got_worse_is_not_marked_by_a_later_spike(tmp_path: Path) -> None:
    levels = [(1.2 if day >= 13 else 1) * (1 + 0.01 * (day % 3)) for day in range(27)]
    public = site_of(tmp_path, [*levels, 0.9], "s")
    for width in (1280, 400):
        with opened_page(public / "index.html", public, width) as page:
            assert "better" in page.locator("#changes").inner_text()
            cell = page.locator("#searched td[data-label='changed']")
            assert cell.inner_text() == "2026-01-14 ▼ worse"
            box = cell.bounding_box()
            assert box is not None
            assert box["height"] < 60  # two lines at most: the day isn't broken into its digits


def test_runs_that_began_at_one_time_are_in_the_order_in_which_they_were_added(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    for number in range(8):
        run = made(tmp_path / str(number), 0, 1000.0 + number)
        store.add([run], Labels(version=f"1.{number}"))
    done = slotmark("site", "--store", tmp_path / "store", "-o", tmp_path / "public")
    assert done.returncode == 0, done.stderr
    table = page_of(tmp_path / "public", "blocks-per-s").read_text(encoding="utf-8").partition('id="runs"')[2]
    assert re.findall(r'data-label="version">([\d.]+)<', table) == [f"1.{number}" for number in range(7, -1, -1)]
    with opened_page(page_of(tmp_path / "public", "blocks-per-s"), tmp_path / "public") as page:
        drawn = page.evaluate("points(loaded.metric)")
        # The points of a kind whose values are compared by their differences: an interval that is wider than the value.
        wide = page.evaluate(
            "points({ ...loaded.metric, series: loaded.metric.series.map((one) => ({ ...one, log: false, reach: btoa('\\0\\x40'.repeat(one.count)) })) })"
        )
    assert [one["version"] for one in drawn] == [f"1.{number}" for number in range(8)]
    places = [one["x"] - one["at"] for one in drawn]
    assert places == sorted({*places})
    assert (places[0], places[-1] < 24 * 3600 * 1000) == (0, True)
    assert {one["low"] for one in wide} == {0}
    assert all(one["high"] > 2 * one["value"] for one in wide)


def test_values_are_in_the_unit_of_reports(tmp_path: Path) -> None:
    """As in the history of a terminal: durations in ms."""
    public = site_of(tmp_path, [1 + 0.01 * (day % 3) for day in range(14)], "s")
    (page,) = (public / "metrics").glob("x-imported-*.html")
    assert '<th class="right">ms</th>' in (text := page.read_text(encoding="utf-8"))
    assert re.findall(r'data-label="estimate" class="right">([^<]+)<', text)[:3] == ["1,010", "1,000", "1,020"]
    (file,) = (public / "data").glob("x-imported-*.js")
    data = json.loads(file.read_text().removeprefix("slotmark(").removesuffix(");\n"))
    assert data["unit"] == "ms"
    assert data["series"][0]["unit"] == pytest.approx(1020)
    newest = sorted((public / "runs").glob("*.html"))[0].read_text(encoding="utf-8")
    assert 'data-label="unit">ms<' in newest
    shown = slotmark("history", "imported_duration", "--store", tmp_path / "store").stdout
    assert "1,010" in shown


def test_two_runs_are_chosen_by_keyboard_and_by_clicks(public: Path, store: Path) -> None:
    with opened_page(page_of(public, "blocks-per-s"), public) as page:
        page.wait_for_selector("#chart svg")
        buttons = page.locator("#runs tbody tr .choose")
        # The three newest are of the other machine.
        for place in (3, 13):
            buttons.nth(place).focus()
            page.keyboard.press("Enter")
        command = page.locator("#pair code").inner_text()
        runs = [str(buttons.nth(place).get_attribute("data-run")) for place in (13, 3)]
        whole = [next((store / "runs").glob(f"{one}*")) for one in runs]
        assert command == f"slotmark compare {whole[0]} {whole[1]} -o out"
        assert page.locator("#pair pre").is_visible()
        # The change that is planted lies between the two, the earlier of which is the baseline.
        text = page.locator("#pair p").inner_text()
        planted = re.match(
            r"1\.13 to 1\.23: ([0-9.,]+) to ([0-9.,]+) blocks/s, -([0-9.]+) % \[-([0-9.]+) to -([0-9.]+) %\]\. That is more",
            text,
        )
        assert planted, text
        before, after, *size = (float(one.replace(",", "")) for one in planted.groups())
        assert size[0] == pytest.approx(100 * (1 - after / before), abs=0.06)
        assert size[1] > 12 > size[2]
        for place in (13, 4):
            buttons.nth(place).focus()
            page.keyboard.press("Enter")
        assert "Two runs of one build may differ by as much" in page.locator("#pair p").inner_text()
        buttons.nth(0).focus()
        page.keyboard.press("Space")
        assert "different kinds of machines" in page.locator("#pair p").inner_text()
        assert not page.locator("#pair pre").is_visible()
        assert page.locator(".choose[aria-pressed='true']").count() == 2
        page.locator("#chart svg path[aria-roledescription='point']").first.click(force=True)
    done = subprocess.run(
        ["sh", "-c", command.replace("slotmark", f"{sys.executable} -m slotmark").replace(" -o out", "")],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_commands_name_runs_that_are_there_as_a_shell_takes_them(store: Path, tmp_path: Path) -> None:
    opened = open_store(Path(shutil.copytree(store, tmp_path / "a store")))
    removed = [row["run"] for row in opened.table().sort_by("at_ns").to_pylist()[:2]]
    for digest in removed:
        opened.remove_tables(digest)
    assert slotmark("site", "--store", "a store", "-o", "public", cwd=tmp_path).returncode == 0
    public = tmp_path / "public"
    shown, compared = 0, 0
    for page in [*(public / "runs").iterdir(), *(public / "versions").iterdir()]:
        text = page.read_text(encoding="utf-8")
        for command in re.findall(r"<code>(slotmark .*?)</code>", text):
            _, verb, *words = shlex.split(html.unescape(command))
            places = [place for word in words if word not in ("-o", "out") for place in word.split(",")]
            assert all(is_run(tmp_path / place) for place in places), command
            shown += verb == "show"
            compared += verb == "compare"
        assert ("Its tables were removed" in text) == (page.stem in [of_run(one) for one in removed])
    assert (shown, compared) == (25, 21 + 2 + 21)
    with opened_page(page_of(public, "blocks-per-s"), public) as page:
        page.wait_for_selector("#chart svg")
        for place in (25, 10):
            page.locator("#runs tbody tr .choose").nth(place).click()
        assert "Not all of their tables are in the store" in page.locator("#pair p").inner_text()
        assert not page.locator("#pair pre").is_visible()
        page.locator("#runs tbody tr .choose").nth(5).click()
        words = shlex.split(page.locator("#pair code").inner_text())
        assert all(is_run(tmp_path / place) for place in words[2:4]), words


def test_estimates_of_the_data_are_those_of_the_history(public: Path, store: Path) -> None:
    """The figures that the script unpacks in the browser, number by number, and the reach of intervals to 0.1 %."""
    found = json.loads(slotmark("history", "blocks_per_s", "--store", store, "--json").stdout)
    expected = sorted(level for series in found["series"] for level in series["levels"])
    with opened_page(page_of(public, "blocks-per-s"), public) as page:
        drawn = page.evaluate("points(loaded.metric)")
    assert sorted(one["value"] for one in drawn) == pytest.approx(expected, rel=1e-6)
    assert all(one["low"] < one["value"] < one["high"] for one in drawn)
    rows = {
        entry.stem[:16]: msgspec.json.decode((store / "estimates").glob("*/" + entry.name).__next__().read_bytes())
        for entry in (store / "entries").iterdir()
    }
    for one in drawn:
        (estimate,) = [each for each in rows[one["run"]]["estimates"] if each["metric"] == "blocks_per_s"]
        reach = 1.959964 * estimate["variance"] ** 0.5
        assert one["high"] / one["value"] - 1 == pytest.approx(reach, rel=0.02)


def test_the_published_releases_are_a_site(shared: Path, tmp_path: Path) -> None:
    script = REPO / "examples" / "history" / "releases.py"
    reports = tmp_path / "reports"
    reports.mkdir()
    for name in ("release-10.5.0.value-only", "release-10.6.2.value-only", "release-10.2.1.value-only"):
        shutil.copy(shared / "published" / "releases" / f"{name}.json", reports)
    subprocess.run([sys.executable, script, reports, tmp_path / "store"], check=True, capture_output=True)
    done = slotmark("site", "--store", tmp_path / "store", "-o", tmp_path / "public")
    assert done.returncode == 0, done.stderr
    first = (tmp_path / "public" / "index.html").read_text(encoding="utf-8")
    assert "value-only, 52 hosts" in first
    run = open_run(next((tmp_path / "store" / "runs").iterdir()))
    assert run.manifest.bench == "published"
