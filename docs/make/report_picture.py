"""The picture of a report in docs/tutorial.md: the study of that page, played and photographed in a browser.

Usage: python docs/make/report_picture.py FOLDER [BROWSER]
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import matchbandit as mb

PAGE = Path(__file__).parent.parent / "tutorial.md"
SIZE = {"width": 1000, "height": 860}


def main(folder: Path, browser: str | None) -> None:
    text = re.search(
        r"^```toml\n# tutorial\.toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    picture = folder.resolve() / "report.png"
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as here, sync_playwright() as playwright:
        file = Path(here, "tutorial.toml")
        file.write_text(text[1], encoding="utf-8")
        mb.Study.from_toml(file).run(Path(here, "tutorial"))
        opened = playwright.chromium.launch(executable_path=browser, args=as_root)
        page = opened.new_page(viewport=SIZE)
        page.goto(mb.report(Path(here, "tutorial")).resolve().as_uri())
        page.wait_for_selector(".chart svg")
        page.locator(".chart").first.hover(position={"x": 400, "y": 110})
        page.wait_for_selector(".tip:visible")
        page.screenshot(path=picture)
        opened.close()
    print(picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else shutil.which("chromium"))
