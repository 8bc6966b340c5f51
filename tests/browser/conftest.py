"""A real browser for the tests of pages, one that is installed or Playwright's own; without any they are skipped."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Locator, Page, Playwright, sync_playwright
from waiting import until

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NO_SANDBOX = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
"""Chromium refuses to run as root with it."""


def installed() -> list[str]:
    """Browsers of this machine, the one that was asked for first."""
    asked = os.environ.get("MATCHBANDIT_BROWSER")
    return ([asked] if asked else []) + [path for path in map(shutil.which, NAMES) if path]


def launched(playwright: Playwright) -> Browser | None:
    for path in installed():
        try:
            return playwright.chromium.launch(executable_path=path, args=NO_SANDBOX)
        except Error:
            continue  # such as a package that only says where to get the browser
    try:
        return playwright.chromium.launch(args=NO_SANDBOX)  # Playwright's own, if it was downloaded
    except Error:
        return None


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all tests here; while it is there, no other test of this process can run an event loop of its own."""
    with sync_playwright() as playwright:
        found = launched(playwright)
        if found is None:
            pytest.skip("no browser: install Chromium, or name one in MATCHBANDIT_BROWSER")
        yield found
        found.close()


@dataclass
class Visit:
    """A page that is open in the browser, and what a reader does there."""

    page: Page
    file: Path
    complaints: list[str] = field(default_factory=list)
    """What the console says, and errors of scripts."""
    requests: list[str] = field(default_factory=list)

    def chart(self, number: int = 0) -> Locator:
        """Where a chart is drawn."""
        return self.page.locator(".chart").nth(number)

    def area(self, number: int = 0) -> tuple[float, float, float, float]:
        """Where a chart is on the screen, which is scrolled to it: left, top, width, height."""
        self.chart(number).scroll_into_view_if_needed()
        self.until(lambda: self.chart(number).locator("svg").count() == 1)
        self.chart(number).evaluate("element => element.scrollIntoView({block: 'center'})")
        box = self.chart(number).bounding_box()
        assert box is not None
        return box["x"], box["y"], box["width"], box["height"]

    def until(self, is_so: Callable[[], bool]) -> None:
        until(self.page, is_so)

    def fits(self) -> bool:
        """Is there nothing to scroll sideways?"""
        size = self.page.viewport_size  # not innerWidth: a phone zooms out until all fits
        return size is not None and self.page.evaluate("document.documentElement.scrollWidth") <= size["width"]


DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@contextmanager
def visits_to(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Open files as a reader does; at the end nothing may have gone wrong, and nothing been asked of any network."""
    contexts: list[BrowserContext] = []
    visits: list[Visit] = []

    def opened(file: Path, *, phone: bool = False, **settings: Any) -> Visit:
        context = browser.new_context(offline=True, **{**(PHONE if phone else DESKTOP), **settings})
        contexts.append(context)
        visited = Visit(context.new_page(), file)
        visits.append(visited)
        visited.page.on("console", lambda message: visited.complaints.append(message.text))
        visited.page.on("pageerror", lambda error: visited.complaints.append(str(error)))
        visited.page.on("request", lambda request: visited.requests.append(request.url))
        visited.page.goto(file.as_uri())
        return visited

    yield opened
    for visited in visits:
        visited.page.wait_for_timeout(1)  # what was said last arrives
    for context in contexts:
        context.close()
    for visited in visits:
        assert visited.complaints == []
        assert visited.requests == [visited.file.as_uri()]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Open a file for one test."""
    with visits_to(browser) as opened:
        yield opened


@pytest.fixture(scope="module")
def visit_once(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Open a file for all tests of a module."""
    with visits_to(browser) as opened:
        yield opened
