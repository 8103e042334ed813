"""Makes the pictures of docs/decision.md anew, from the example of that page: `.venv/bin/python docs/pictures.py`. Takes a minute."""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

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


def main() -> None:
    """Runs the example and takes the pictures in a browser, 1180 pixels wide."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        run_example(Path(name))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1180, "height": 810}, color_scheme="light")
        page.goto((Path(name) / "out" / "report.html").as_uri())
        page.wait_for_function(
            "document.querySelectorAll('.chart svg').length === document.querySelectorAll('.chart').length"
        )
        take(page)
        browser.close()


if __name__ == "__main__":
    main()
