"""A headless Chromium, and what it is told to look at. Without one, or without Playwright, these tests are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> str | None:
    """The Chromium to use: that of EPCTX_CHROMIUM, or one that is installed; None if there is none."""
    return os.environ.get("EPCTX_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser, for all tests."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (dependency group browser)")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium is installed; EPCTX_CHROMIUM says where one is")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path)
        yield started
        started.close()


class Reader:
    """Somebody who opens pages: notes what a page asks a network for, and what goes wrong in it."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser, self._folder = browser, folder
        self.asked: list[str] = []
        self.wrong: list[str] = []
        self._closing: list[Callable[[], None]] = []

    def open(
        self,
        text: str,
        place: str = "",
        *,
        dark: bool = False,
        scripts: bool = True,
        width: int = 1280,
    ) -> Page:
        """Open a page from a file, at a place in it."""
        context = self._browser.new_context(
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            viewport={"width": width, "height": 900},
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        self._closing.append(context.close)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: self.wrong.append(f"a dialog: {dialog.message}"))
        file = self._folder / "report.html"
        file.write_text(text, "utf-8")
        page.goto(f"{file.as_uri()}{place}")
        return page

    def close(self) -> None:
        """Close all that was opened."""
        for close in self._closing:
            close()


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Iterator[Reader]:
    """A reader; no page may ask for anything but its own file, and none may have an error."""
    made = Reader(browser, tmp_path)
    yield made
    made.close()
    assert {url for url in made.asked if not url.startswith(("data:", tmp_path.as_uri()))} == set()
    assert made.wrong == []
