"""Waiting for a browser."""

from collections.abc import Callable

from playwright.sync_api import Page

LONGEST_S = 60


def until(page: Page, is_so: Callable[[], bool]) -> None:
    """Wait for what the browser does in its own time; the pages' security policy forbids Playwright's own way."""
    for _ in range(LONGEST_S * 50):
        if is_so():
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"it did not happen within {LONGEST_S} seconds")
