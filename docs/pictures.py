"""Makes the pictures of the pages anew: `.venv/bin/python docs/pictures.py`. Those of docs/decision.md are from its example and take a minute.

That of docs/how-many-runs.md is computed: `.venv/bin/python docs/pictures.py runs` makes it alone. Those of docs/site.md and docs/pull-requests.md
are of the made-up history: `.venv/bin/python docs/pictures.py history` makes them alone, in two to four minutes.
"""

import math
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import altair
import vl_convert
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, Page, sync_playwright

from slotmark.compare.run_to_run.prior import MOST_DEGREES
from slotmark.statistics.planning import detectable_change, detectable_log
from slotmark.statistics.rank_tests import error_share

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

from tests.docs.test_examples import steps  # noqa: E402
from tests.pages import CHROMIUM  # noqa: E402

PAGE = REPO / "docs" / "decision.md"


def run_example(folder: Path) -> None:
    """Runs the commands of the page up to the report that they write to ``out``."""
    for step in steps(PAGE.read_text(encoding="utf-8")):
        if step.kind == "console" and step.text.startswith("slotmark "):
            command = [sys.executable, "-m", *shlex.split(step.text)]
            subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        if (folder / "out").exists():
            return


def take(page: Page) -> None:
    """Takes the pictures: the first screen, and the charts of where it comes from."""
    page.screenshot(path=REPO / "docs" / "report.png")
    for title, name in (("Steps of 0.96 adoption, ms", "waterfall"), ("Difference by host, ms", "hosts")):
        figure = page.locator("figure", has=page.get_by_role("heading", name=title))
        figure.screenshot(path=REPO / "docs" / f"{name}.png")
    page.locator("#worst-blocks .charts").screenshot(path=REPO / "docs" / "blocks.png")


def draw_runs() -> None:
    """Draws the smallest difference of a decisive metric that is found four times in five, by runs per side and how much runs differ."""
    level = 0.05 * error_share(48, 4, decides=True)
    rows = []
    for spread in (0.005, 0.01, 0.02, 0.04):
        for runs in range(1, 11):
            error, degrees = spread * (2 / runs) ** 0.5, 2 * (runs - 1)
            found = {"with a table of earlier runs": detectable_change(error, degrees + MOST_DEGREES, level)}
            if degrees:
                found["by these runs alone"] = detectable_log(error, degrees, 1_000_000, level)
            rows += [
                {"runs": runs, "share": 100 * math.expm1(log), "spread": f"{100 * spread:g} %", "known": known}
                for known, log in found.items()
            ]
    ticks = [0.5, 1, 2, 5, 10, 20, 50]
    chart = (
        altair.Chart(altair.Data(values=rows), width=620, height=360)
        .mark_line(point=True)
        .encode(
            x=altair.X("runs:O", title="runs per side", axis=altair.Axis(labelAngle=0)),
            y=altair.Y(
                "share:Q",
                title="difference that is found, %",
                scale=altair.Scale(type="log", domain=[0.5, 80]),
                axis=altair.Axis(values=ticks, format="~g"),
            ),
            color=altair.Color("spread:N", title="runs of one build vary by", sort=["4 %", "2 %", "1 %", "0.5 %"]),
            strokeDash=altair.StrokeDash(
                "known:N",
                title="which is known",
                sort=["by these runs alone"],
                legend=altair.Legend(
                    symbolType="stroke", symbolSize=900, symbolStrokeWidth=2, symbolStrokeColor="black"
                ),
            ),
        )
        .configure_view(stroke=None)
        .configure_legend(labelLimit=0)
    )
    (REPO / "docs" / "runs.png").write_bytes(vl_convert.vegalite_to_png(chart.to_dict(), scale=2))


COMMENT_STYLE = """
body { font: 14px/1.5 sans-serif; color: #1f2328; margin: 16px; width: 880px; }
table { border-collapse: collapse; margin-bottom: 16px; } th, td { border: 1px solid #d1d9e0; padding: 6px 13px; }
h1 { font-size: 1.6em; } h1, h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: .3em; } h2 { font-size: 1.3em; }
"""
"""A style like that in which forges show comments."""


def take_history(folder: Path, browser: Browser) -> None:
    """Makes the made-up history and takes its pictures: the first page of its site, the page of a version, and the beginning of the comment, as Markdown is shown."""
    subprocess.run([REPO / "examples" / "history" / "run.sh", "10", folder], stdout=subprocess.DEVNULL, check=True)
    public = folder / "public"
    (version,) = (public / "versions").glob("*-1-6-0-*.html")
    for file, name, height in ((public / "index.html", "site", 760), (version, "version", 560)):
        page = browser.new_page(viewport={"width": 1180, "height": height}, color_scheme="light")
        page.goto(file.as_uri())
        page.screenshot(path=REPO / "docs" / f"{name}.png")
    comment = MarkdownIt("commonmark").enable("table").render((folder / "comment.md").read_text(encoding="utf-8"))
    page = browser.new_page(viewport={"width": 920, "height": 900}, color_scheme="light")
    page.set_content(f"<style>{COMMENT_STYLE}</style>{comment}")
    page.screenshot(path=REPO / "docs" / "comment.png")


def main() -> None:
    """Draws, runs the example and takes the pictures in a browser, 1180 pixels wide."""
    asked = sys.argv[1:]
    if asked in ([], ["runs"]):
        draw_runs()
    if asked == ["runs"]:
        return
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        take_history(Path(name) / "history", browser)
        if asked == ["history"]:
            return
        run_example(Path(name))
        page = browser.new_page(viewport={"width": 1180, "height": 810}, color_scheme="light")
        page.goto((Path(name) / "out" / "report.html").as_uri())
        page.wait_for_function(
            "document.querySelectorAll('.chart svg').length === document.querySelectorAll('.chart').length"
        )
        take(page)
        browser.close()


if __name__ == "__main__":
    main()
