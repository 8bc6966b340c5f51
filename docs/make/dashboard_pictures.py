"""The picture of the dashboard in docs/production.md: a league of project teams, served and photographed in a browser.

Usage: python docs/make/dashboard_pictures.py FOLDER [BROWSER]
"""

import os
import shutil
import socket
import sys
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import uvicorn
from playwright.sync_api import sync_playwright

from matchbandit.leagues import Store, tokens
from matchbandit.leagues.service.app import create_app
from matchbandit.leagues.service.settings import Settings

NAMES = ["Zoë Martin", "José García", "Mei Lin", "Ola Nordmann", "Ada Okafor", "Ravi Kaur", "Lea Rossi", "Tom Berg"]
DAYS = 40


class Calendar:
    """A clock that goes on by a day when it is told to."""

    now = datetime(2026, 10, 7, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def played(store: Store, calendar: Calendar) -> None:
    """Forty days of pairs who each achieve what their strengths let them; of the last one half is known."""
    league = store.create("project-teams", players=NAMES, seed=1, deadline=timedelta(days=3))
    strengths, rng = np.linspace(0.95, 0.35, len(NAMES)), np.random.default_rng(1)
    for day in range(DAYS):
        calendar.now += timedelta(days=1)
        asked = league.ask()
        pairs = [pair.ids for pair in asked.pairs]
        known = pairs if day < DAYS - 1 else pairs[:2]
        league.tell(asked.number, {(a, b): float(rng.random() < strengths[a - 1] * strengths[b - 1]) for a, b in known})


def main(folder: Path, browser: str | None) -> None:
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    calendar = Calendar()
    with (
        tempfile.TemporaryDirectory() as here,
        Store(f"sqlite:///{here}/leagues.db", clock=calendar) as store,
        socket.create_server(("127.0.0.1", 0)) as listening,
        sync_playwright() as playwright,
    ):
        played(store, calendar)
        token, _ = tokens.create(store, "Front desk", scope="play")
        server = uvicorn.Server(uvicorn.Config(create_app(store, Settings()), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        site = f"http://127.0.0.1:{listening.getsockname()[1]}"
        opened = playwright.chromium.launch(executable_path=browser, args=as_root)
        context = opened.new_context(timezone_id="UTC", locale="en-GB", viewport={"width": 1200, "height": 900})
        context.add_cookies([{"name": "matchbandit", "value": tokens.log_in(store, token), "url": site}])
        page = context.new_page()
        page.goto(f"{site}/leagues/project-teams")
        page.screenshot(path=folder.resolve() / "dashboard.png")
        print(folder.resolve() / "dashboard.png")
        opened.close()
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else shutil.which("chromium"))
