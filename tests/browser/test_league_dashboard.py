"""The dashboard of leagues in a real browser, served by a real server in a thread of its own."""

import socket
import threading
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import BrowserContext, Page
from waiting import until

from matchbandit.leagues import Store, tokens
from matchbandit.leagues.service.app import create_app
from matchbandit.leagues.service.settings import Settings

HOSTILE, LONG = "<script>alert(1)</script>", "Wolfeschlegelsteinhausenbergerdorff" * 5
PAGES = (
    *("/", "/new", "/leagues/club", "/leagues/club/ranking", "/leagues/club/results", "/leagues/club/progress"),
    *("/leagues/club/model", "/leagues/club/proposals", "/leagues/club/proposals/6", "/leagues/club/items"),
    *("/leagues/club/proposals/1?correct=1", "/leagues/club/items/5", "/leagues/club/pair?first=%232&second=%235"),
    *("/leagues/club/rules", "/leagues/club/history", "/leagues/club/settings", "/leagues/club/confirm/delete"),
    *("/leagues/ads", "/leagues/ads/results", "/leagues/nothing"),
)
NARROW: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark", "is_mobile": True}
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
UNREADABLE = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (text) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (color) => {
    const [r, g, b] = color.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = rgb(getComputedStyle(each).backgroundColor);
      if (color[3]) return color;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const text = light(rgb(element.closest("svg") ? style.fill : style.color)), back = light(ground(element));
    const ratio = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    if (ratio < 4.5) found.push(`${element.outerHTML.slice(0, 100)}: ${ratio.toFixed(2)}`);
  }
  return found;
}"""
"""Elements whose text has too little contrast to what is behind it (WCAG 2, AA)."""
UNNAMED = """() => [...document.querySelectorAll("input:not([type=hidden]):not([hidden]), select, textarea, button, a")]
  .filter((e) => !(e.labels?.length || e.ariaLabel || e.textContent.trim()))
  .map((e) => e.outerHTML)"""
SMALL = """() => [...document.querySelectorAll("button, .button, input:not([type=hidden]), select, .tabs a")]
  .filter((e) => e.checkVisibility() && !e.closest("label") && e.getBoundingClientRect().height < 24)
  .map((e) => e.outerHTML)"""


@dataclass
class Site:
    """A server with two leagues, and a token for it."""

    url: str
    store: Store
    token: str


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Store(f"sqlite:///{tmp_path_factory.mktemp('site')}/store.db") as store:
        names = ["Ann", "Bob", HOSTILE, "Dee", LONG, "Fay", "Gus"]
        club = store.create("club", players=names, seed=1, title=f"Club {LONG}"[:99])
        ads = store.create("ads", sides={"ads": ["spring", "fall"], "slots": ["top", LONG]}, rewards="gaussian:0.5")
        for league in (club, ads):
            for _ in range(5):
                proposal = league.ask()
                league.tell(proposal.number, {pair.ids: float(sum(pair.ids) % 2) for pair in proposal.pairs})
            league.ask()
        club.exclude([("Ann", LONG)])
        _, token = tokens.create(store, "Front desk", scope="admin")
        server = uvicorn.Server(uvicorn.Config(create_app(store, Settings(warm_up=False)), log_level="error"))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
            thread.start()
            yield Site(f"http://127.0.0.1:{listening.getsockname()[1]}", store, token)
            server.should_exit = True
            thread.join(10)


@pytest.fixture
def open_page(browser, site):
    """Open the dashboard and log in; nothing may go wrong, and nothing be asked of any other host."""
    contexts, complaints, requests = list[BrowserContext](), list[str](), list[str]()

    def opened(path: str, **settings: Any) -> Page:
        contexts.append(browser.new_context(base_url=site.url, **settings))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path)
        page.get_by_label("Token").fill(site.token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("button", name="Log out").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [text for text in complaints if "404 (Not Found)" not in text] == []  # of the page that is not there
    assert [url for url in requests if not url.startswith(site.url)] == []


@pytest.mark.parametrize("settings", [NARROW, WIDE], ids=["narrow-dark", "wide-light"])
def test_every_page_fits_and_can_be_read(open_page, settings):
    page, problems = open_page("/", **settings), {}
    for path in PAGES:
        page.goto(path)
        for summary in page.locator("summary").all():
            summary.click()
        width = page.evaluate("document.documentElement.scrollWidth")
        too_wide = [f"{width} px wide"] if width > settings["viewport"]["width"] else []
        problems[path] = [*too_wide, *page.evaluate(UNREADABLE), *page.evaluate(UNNAMED), *page.evaluate(SMALL)]
    assert {path: texts for path, texts in problems.items() if texts} == {}


def test_a_league_is_played_without_scripts(open_page, site):
    page = open_page("/new", java_script_enabled=False, **NARROW)
    page.get_by_label("Name in URLs").fill("chess")
    page.get_by_label("Who or what is paired?").fill("Ann\nBob\nDee")
    page.get_by_role("button", name="Create the league").click()
    page.get_by_text("Somebody is absent").click()
    page.get_by_label("Dee").check()
    page.get_by_role("button", name="Propose pairs").click()
    page.get_by_text("Proposal 1 is ready.").first.wait_for()
    page.get_by_role("group", name="Outcome of Ann and Bob").get_by_label("Success").check(force=True)
    page.get_by_role("button", name="Record outcomes").click()
    page.get_by_text("Outcomes recorded: 1.").first.wait_for()
    league = site.store.open("chess")
    assert league.results()[0].total == 1.0
    second = league.ask()  # with data, so that something is expected
    league.tell(second.number, {second.pairs[0]: 1})
    page.get_by_role("link", name="Progress").click()
    assert page.get_by_role("img", name="Rewards expected and achieved").is_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="Archive").click()
    page.get_by_role("button", name="Archive").click()
    page.get_by_text("The league is archived").first.wait_for()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(f"{site.url}/login")


def test_scripts_show_local_times_and_keep_what_was_typed(open_page):
    page = open_page("/leagues/club", locale="de-DE", timezone_id="Asia/Tokyo", **WIDE)
    time = page.locator("time").first
    assert "UTC" in (time.get_attribute("title") or "")
    until(page, lambda: "UTC" not in time.inner_text())
    questions = list[str]()
    page.on("dialog", lambda dialog: (questions.append(dialog.type), dialog.accept()))
    page.get_by_label("Success").first.check(force=True)
    page.goto("/leagues/club/items")
    assert questions == ["beforeunload"]
    page.goto("/leagues/club")
    page.get_by_label("Success").first.check(force=True)
    page.get_by_role("button", name="Record outcomes").click()
    page.get_by_text("Outcomes recorded: 1.").first.wait_for()
    assert questions == ["beforeunload"]


def test_the_keyboard_reaches_the_content_and_outcomes(open_page):
    page = open_page("/leagues/ads", **WIDE)
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    page.keyboard.press("Enter")
    for _ in range(40):
        page.keyboard.press("Tab")
        outlined = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outlined != "none" or page.locator(":focus").get_attribute("type") == "radio"
        if (page.locator(":focus").get_attribute("name") or "").startswith("outcome-"):
            break
    page.keyboard.type("0,5")
    page.keyboard.press("Enter")
    page.get_by_text("Outcomes recorded: 1.").wait_for()


def test_downloads_are_files(open_page, tmp_path):
    page = open_page("/leagues/club/items", **WIDE)
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV of this table").click()
    download.value.save_as(tmp_path / "items.csv")
    assert len((tmp_path / "items.csv").read_text().splitlines()) == 8
