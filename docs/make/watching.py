"""Make the pictures of docs/watching.md: four runs, and a page in a browser (Playwright's, or MATCHBANDIT_BROWSER).

Usage: python docs/make/watching.py FOLDER
"""

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import matchbandit as mb
from matchbandit.lab import Recording
from matchbandit.lab.playback import picture

SLOTS = mb.Bipartite(u=[0.9, 0.6, 0.4, 0.3, 0.2], v=[0.8, 0.5, 0.4, 0.1])
PLAYERS = mb.Monopartite(u=[0.9, 0.85, 0.8, 0.45, 0.4, 0.35, 0.15, 0.05])
RUNS = {
    "elimination": (SLOTS, "pair-elim", 10**6),
    "clusters": (PLAYERS, "adaptive-matching", 10**7),
    "posterior": (PLAYERS, "rank1-thompson", 10**5),
    "certificates": (PLAYERS, "rank1-certify", 10**6),
}


def main(folder: Path) -> None:
    for name, (problem, policy, horizon) in RUNS.items():
        run = mb.watch(problem, policy, horizon=horizon, seed=1)
        file = folder / f"watch-{name}.png"
        print(file.write_bytes(picture.encode(run.plot(), "png")), file.name)
        if name == "elimination":
            take_screenshot(run, folder / "watch-page.png")


def take_screenshot(run: Recording, file: Path) -> None:
    """Take a screenshot of the page at the frame in which the last row is eliminated."""
    last = [event for event in run.events if any(one["item"].startswith("row") for one in event.decisions)][-1]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        html = Path(folder) / "watch.html"
        html.write_text(run.page(), encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("MATCHBANDIT_BROWSER"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1000, "height": 1000})
        page.goto(html.as_uri())
        page.locator("#events button").nth(run.events.index(last)).click()
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=file)
        browser.close()
    print(file.stat().st_size, file.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
