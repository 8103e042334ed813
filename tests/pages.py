"""Report pages in a real browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = Path("/usr/bin/chromium")


@contextmanager
def opened_page(file: Path, site: Path | None = None, width: int = 1280) -> Iterator["Page"]:
    """The page with all its charts drawn; at the end it has asked for nothing but itself, complained of nothing, and run no script of a name.

    Args:
        file: The page.
        site: The folder whose files it may ask for too; None for none.
        width: Of the window, in pixels.
    """
    if not CHROMIUM.exists():
        pytest.skip(f"Debian's chromium is not at {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        requests, complaints = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(file.as_uri())
        page.wait_for_function(
            "document.querySelectorAll('.chart svg').length === document.querySelectorAll('.chart').length"
        )
        yield page
        if site is None:
            assert requests == [file.as_uri()]
        else:
            assert requests[0] == file.as_uri()
            assert all(one.startswith(f"{site.as_uri()}/") for one in requests)
        assert complaints == []
        assert page.locator("main script").count() == 0
        browser.close()
