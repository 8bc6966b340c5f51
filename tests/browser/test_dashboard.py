"""The dashboard in a real browser, served by a real server in a thread of its own."""

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page
from waiting import until

from matchbandit.live.store import Store
from matchbandit.service import sessions, tokens
from matchbandit.service.app import create_app
from matchbandit.service.settings import Settings

HOSTILE = "<script>alert(1)</script>"
LONG = "Wolfeschlegelsteinhausenbergerdorff" * 5
SMALL = ["Ann", "Bob", HOSTILE, "Dee", LONG, "Fay", "Gus", "Hana"]
PAGES = (
    *("", "/ranking", "/meetings", "/progress", "/proposals", "/proposals/6"),
    *("/items", "/items/3", "/rules", "/log", "/settings"),
)
DESKTOP: dict[str, Any] = {"viewport": {"width": 1200, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@dataclass
class Site:
    """A server, and tokens for it."""

    url: str
    store: Store
    token: str

    def league(self, slug: str, names: list[str], rounds: int = 5) -> Any:
        """A league in which some rounds were played, and one waits."""
        league, rng = self.store.create(slug, players=names, seed=1), np.random.default_rng(1)
        for _ in range(rounds):
            asked = league.ask()
            league.tell(asked.number, {ids: float(rng.random() < 3 / (2 + sum(ids))) for ids in asked.ids})
        league.ask()
        return league


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Store(f"sqlite:///{tmp_path_factory.mktemp('site')}/store.db") as store:
        _, token = tokens.create(store, "Front desk", scope="admin")
        config = uvicorn.Config(create_app(store, settings=Settings(tick_seconds=0)), log_level="error")
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
            thread.start()
            yield Site(f"http://127.0.0.1:{listening.getsockname()[1]}", store, token)
            server.should_exit = True
            thread.join(10)


@dataclass
class Visit:
    """A page of the site that is open in the browser."""

    page: Page
    site: Site
    complaints: list[str] = field(default_factory=list)
    """What the console says, errors of scripts, and dialogs."""
    requests: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        self.page.goto(self.site.url + path)

    def fits(self) -> bool:
        size = self.page.viewport_size  # not innerWidth: a phone zooms out until all fits
        return size is not None and self.page.evaluate("document.documentElement.scrollWidth") <= size["width"]

    def focused(self, script: str) -> Any:
        return self.page.evaluate(f"(() => {{ const e = document.activeElement; return {script}; }})()")

    def press_until(self, script: str, key: str = "Tab") -> None:
        """Press a key until the focused element `e` is the wanted one; each on the way must be seen to have focus."""
        for _ in range(150):
            self.page.keyboard.press(key)
            if self.focused(script):
                return
        raise AssertionError(f"nothing with {script} can be reached by {key}")


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Callable[..., Visit]]:
    """Open a page as an operator does; at the end nothing may have gone wrong, nor been asked of any other host."""
    contexts: list[BrowserContext] = []
    visits: list[Visit] = []

    def opened(path: str, *, phone: bool = False, logged_in: bool = True, **settings: Any) -> Visit:
        context = browser.new_context(**{**(PHONE if phone else DESKTOP), **settings})
        contexts.append(context)
        if logged_in:
            found = tokens.lookup(site.store, site.token)
            assert found
            secret = sessions.create(site.store, found)
            cookie = {"name": "matchbandit", "value": secret, "url": site.url, "httpOnly": True, "sameSite": "Strict"}
            context.add_cookies([cookie])  # type: ignore[list-item]
        visited = Visit(context.new_page(), site)
        visits.append(visited)
        visited.page.on("console", lambda message: visited.complaints.append(message.text))
        visited.page.on("pageerror", lambda error: visited.complaints.append(str(error)))
        visited.page.on("dialog", lambda dialog: visited.complaints.append(dialog.message))
        visited.page.on("request", lambda request: visited.requests.append(request.url))
        visited.go(path)
        return visited

    yield opened
    for visited in visits:
        visited.page.wait_for_timeout(1)  # what was said last arrives
    for context in contexts:
        context.close()
    for visited in visits:
        assert visited.complaints == []
        assert all(url.startswith((f"{site.url}/", "data:")) for url in visited.requests)


@pytest.fixture(scope="module")
def small(site: Site) -> Any:
    return site.league("small", SMALL)


@pytest.fixture(scope="module")
def large(site: Site) -> Any:
    return site.league("large", [f"person {k}" for k in range(200)], rounds=3)


def ranking(visited: Visit) -> list[str]:
    return visited.page.locator("[data-ranking] tbody tr").all_inner_texts()


def test_log_in_enter_a_result_and_see_the_ranking_move(site: Site, visit: Callable[..., Visit]) -> None:
    site.league("evening", SMALL)
    visited = visit("/leagues/evening", logged_in=False)
    page = visited.page
    page.get_by_label("Token").fill("mbt_wrong")
    page.get_by_role("button", name="Log in").click()
    assert "There is no such token" in page.get_by_role("alert").inner_text()
    visited.complaints.clear()  # the console says that the answer was 403
    page.get_by_label("Token").fill(site.token)
    page.get_by_role("button", name="Log in").click()
    assert page.url == f"{site.url}/leagues/evening"
    before = ranking(visited)
    assert page.locator(".count").inner_text().startswith("4")
    pair = page.locator(".pairs > li").first
    pair.get_by_text("Success").click()
    page.get_by_role("button", name="Save results (1)").click()
    assert page.get_by_role("status").first.inner_text() == "Saved: 1 outcome."
    assert ranking(visited) != before
    assert "success" in page.locator(".pairs > li").first.inner_text()
    assert page.locator(".count").inner_text().startswith("3")
    page.get_by_role("button", name="Log out").click()
    visited.go("/leagues/evening")
    assert "/login" in page.url


@pytest.mark.slow
def test_a_link_on_another_site_leads_to_the_page_without_a_new_login(
    small: Any, site: Site, visit: Callable[..., Visit]
) -> None:
    visited = visit("/")
    visited.page.goto(f"data:text/html,<a href='{site.url}/leagues/small/ranking'>see</a>")
    visited.page.get_by_text("see").click()
    visited.page.locator("[data-ranking]").wait_for()
    visited.page.context.clear_cookies()
    visited.page.goto(f"data:text/html,<a href='{site.url}/leagues/small/ranking'>see</a>")
    visited.page.get_by_text("see").click()
    visited.page.get_by_label("Token").wait_for()


@pytest.mark.slow
def test_with_the_keyboard_alone_a_result_is_entered(site: Site, visit: Callable[..., Visit]) -> None:
    league = site.league("keys", ["Ann", "Bob", "Cem", "Dee"])
    visited = visit("/leagues/keys", logged_in=False)
    keyboard = visited.page.keyboard
    assert visited.focused("e.id") == "token"
    keyboard.type(site.token)
    keyboard.press("Enter")
    visited.page.wait_for_url(f"{site.url}/leagues/keys")
    keyboard.press("Tab")
    assert visited.focused("e.textContent") == "Skip to the content"
    assert visited.focused("e.getBoundingClientRect().left") >= 0
    keyboard.press("Enter")
    visited.press_until("e.type === 'radio'")
    assert visited.focused("getComputedStyle(e.closest('label')).outlineStyle") == "solid"
    keyboard.press("ArrowRight")
    assert visited.focused("e.value") == "1"
    visited.press_until("e.textContent.startsWith('Save results')")
    assert visited.focused("getComputedStyle(e).outlineStyle") == "solid"
    keyboard.press("Enter")
    visited.page.get_by_text("Saved: 1 outcome.").wait_for()
    assert list(league.proposal(6).outcomes.values()) == [1.0]


@pytest.mark.slow
def test_whatever_has_focus_is_seen_to_have_it(small: Any, visit: Callable[..., Visit]) -> None:
    visited = visit("/leagues/small/items")
    seen = set()
    for _ in range(60):
        visited.page.keyboard.press("Tab")
        where = visited.focused("[...document.querySelectorAll('*')].indexOf(e)")
        if where in seen or visited.focused("e === document.body"):
            break  # once around
        seen.add(where)
        style = "getComputedStyle(e.closest('.switch label') || e)"
        told = visited.focused(f"[{style}.outlineStyle, {style}.outlineWidth, e.outerHTML]")
        assert told[:2] == ["solid", "3px"], told
    assert len(seen) > 25


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_on_a_phone_every_page_fits_and_buttons_can_be_hit(
    small: Any, large: Any, visit: Callable[..., Visit], dark: bool
) -> None:
    visited = visit("/", phone=True, color_scheme="dark" if dark else "light")
    others = ["/", "/new", "/leagues/large", "/leagues/large/meetings"] if dark else []
    for path in [*others, *(f"/leagues/small{path}" for path in PAGES)]:
        visited.go(path)
        assert visited.fits(), path
        sizes = visited.page.locator("button:visible, .button:visible, select:visible, .switch label:visible")
        boxes = sizes.evaluate_all("all => all.map(e => [e.offsetWidth, e.offsetHeight, e.textContent])")
        assert all(min(wide, high) >= 24 for wide, high, _ in boxes), (path, boxes)
        ground = visited.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(15, 18, 21)" if dark else "rgb(246, 247, 249)")


def test_a_name_that_looks_like_a_script_is_just_a_name(small: Any, visit: Callable[..., Visit]) -> None:
    visited = visit("/leagues/small")
    for path in PAGES:
        visited.go(f"/leagues/small{path}")
        assert visited.page.locator("script:not([src]):not([type='application/json'])").count() == 0
    visited.go("/leagues/small/items/3")
    assert visited.page.get_by_role("heading", name=HOSTILE).is_visible()
    assert visited.page.title() == f"small: {HOSTILE} · matchbandit"


def test_no_script_but_our_own_runs(small: Any, visit: Callable[..., Visit]) -> None:
    visited = visit("/leagues/small")
    visited.page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    )
    until(visited.page, lambda: visited.complaints != [])
    assert visited.page.evaluate("window.ran") is None
    assert len(visited.complaints) == 1
    assert "Content Security Policy" in visited.complaints.pop()


def tip(visited: Visit) -> str:
    return str(visited.page.locator(".tip:visible").inner_text())


@pytest.mark.slow
def test_the_map_of_few_tells_each_pair_by_mouse_by_keys_and_as_a_table(
    small: Any, visit: Callable[..., Visit]
) -> None:
    visited = visit("/leagues/small/meetings")
    canvas = visited.page.locator(".heat .canvas")
    order = [row.name for row in small.ranking()]
    times = {frozenset(pair): count for *pair, count, _ in small.results()}
    canvas.focus()
    visited.page.keyboard.press("ArrowDown")
    for key, row, column in (("", 0, 1), ("ArrowRight", 0, 2), ("ArrowDown", 1, 2), ("ArrowLeft", 1, 0)):
        if key:
            visited.page.keyboard.press(key)
        met = times.get(frozenset((order[row], order[column])), 0)
        words = "have not met" if not met else "met once" if met == 1 else f"met {met} times"
        assert tip(visited).startswith(f"{order[row]} + {order[column]}\n")
        assert words in tip(visited)
    visited.page.keyboard.press("Escape")
    until(visited.page, lambda: visited.page.locator(".tip:visible").count() == 0)
    box = canvas.bounding_box()
    assert box
    visited.page.mouse.move(box["x"] + 250, box["y"] + 350)
    row, column = (order.index(name) for name in tip(visited).splitlines()[0].split(" + "))
    visited.page.mouse.move(box["x"] + 250 + 2 * 52, box["y"] + 350 + 52)
    assert tip(visited).startswith(f"{order[row + 1]} + {order[column + 2]}\n")
    assert visited.page.locator("table.matrix:visible").count() == 0
    visited.page.get_by_text("The numbers as a table").click()
    cells = visited.page.locator("table.matrix tbody tr").nth(0).locator("td").all_inner_texts()
    assert cells == ["", *(str(times.get(frozenset((order[0], other)), 0)) for other in order[1:])]


SHADES = """() => {
    const layers = document.querySelectorAll(".heat .canvas canvas"), copy = document.createElement("canvas");
    [copy.width, copy.height] = [layers[0].width - 40, layers[0].height - 100];
    const pen = copy.getContext("2d", { willReadFrequently: true });
    for (const layer of layers) pen.drawImage(layer, -40, -40);
    return [...new Set(new Uint32Array(pen.getImageData(0, 0, copy.width, copy.height).data.buffer))];
}"""


def shades(visited: Visit) -> set[int]:
    """The colours of the map; 0 is none."""
    return {*visited.page.evaluate(SHADES)} - {0}


def picture(visited: Visit) -> str:
    return str(visited.page.locator(".heat .canvas canvas").evaluate_all("all => all.map((map) => map.toDataURL())"))


@pytest.mark.slow
def test_the_map_of_two_hundred_is_drawn_shaded_highlighted_and_listed(large: Any, visit: Callable[..., Visit]) -> None:
    visited = visit("/leagues/large/meetings")
    page = visited.page
    meetings, drawn = shades(visited), picture(visited)
    assert len(meetings) >= 2
    page.get_by_label("Average reward").check()
    assert picture(visited) != drawn
    page.get_by_label("Highlight").select_option("person 7")
    page.emulate_media(color_scheme="dark")
    until(page, lambda: not shades(visited) & meetings)
    assert page.locator("table tbody tr:visible").count() == 50
    page.get_by_role("link", name="Next").click()
    assert page.locator("table tbody tr:visible").count() == 50


def test_charts_tell_values_and_are_dark_in_the_dark(small: Any, visit: Callable[..., Visit]) -> None:
    visited = visit("/leagues/small/progress", color_scheme="dark")
    chart = visited.page.locator("[data-chart]").first
    assert visited.page.locator("details.numbers table:visible").count() == 0
    chart.locator(".canvas").focus()
    visited.page.keyboard.press("End")
    assert tip(visited).splitlines()[0] == "proposal: 5"  # the sixth has no results yet
    assert "achieved" in tip(visited)
    assert "#5a97d6" in chart.locator(".canvas svg").first.inner_html()


def test_without_scripts_everything_works(site: Site, visit: Callable[..., Visit]) -> None:
    league = site.league("plain", ["Ann", "Bob", "Cem", "Dee"])
    visited = visit("/leagues/plain", java_script_enabled=False)
    page = visited.page
    page.locator(".pairs > li").nth(1).get_by_text("Void").click()
    page.get_by_role("button", name="Save results").click()
    assert page.get_by_text("Saved: 1 outcome.").is_visible()
    assert len(league.proposal(6).outcomes) == 1
    page.get_by_role("button", name="Propose pairs").click()
    assert league.about()["n_proposals"] == 7
    for path in ("meetings", "progress"):
        visited.go(f"/leagues/plain/{path}")
        assert page.locator("details.numbers table:visible").count() >= 1
    visited.go("/leagues/plain/ranking")
    page.get_by_label("Find a name").fill("cem")
    page.get_by_role("button", name="Search").click()
    assert page.locator("[data-ranking] tbody tr").count() == 1
    page.get_by_role("link", name="Rules").click()
    page.get_by_label("One").fill("Ann")
    page.get_by_label("The other").fill("Cem")
    page.get_by_role("button", name="Add").click()
    assert league.about()["exclusions"] == [("Ann", "Cem")]
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Title", exact=True).fill("Plain Club")
    page.get_by_role("button", name="Save settings").click()
    assert page.get_by_role("heading", name="Plain Club").is_visible()
    assert league.events()[-1].data == {"title": "Plain Club"}


CLIPPED = """() => [...document.querySelectorAll("main .scroll, main table")]
    .filter((e) => !e.closest("table.matrix, .scroll:has(table.matrix)") && e.getClientRects().length)
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1)
    .map((e) => e.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.slow
def test_no_column_is_cut_off(site: Site, small: Any, large: Any, visit: Callable[..., Visit], width: int) -> None:
    sides = {"advertisements": [f"campaign {k}" for k in range(6)], "slots": ["top", "a slot with a rather long name"]}
    league = site.store.create(f"ads-{width}", sides=sides, rewards="gaussian:0.5", seed=1)
    league.tell(1, {pair: 0.5 for pair in league.ask().ids})
    visited = visit("/", viewport={"width": width, "height": 800}, java_script_enabled=False)  # tables are open
    below = [f"/leagues/{league.name}{path}" for path in ("", "/ranking", "/items", "/proposals", "/proposals/1")]
    for path in [*below, "/leagues/large/ranking", *(f"/leagues/small{path}" for path in PAGES)]:
        visited.go(path)
        assert visited.page.evaluate(CLIPPED) == [], path


@pytest.mark.slow
def test_who_is_here_is_chosen_from_many(site: Site, visit: Callable[..., Visit]) -> None:
    league = site.league("presence", [f"person {k}" for k in range(20)], rounds=0)
    visited = visit("/leagues/presence")
    page = visited.page
    page.get_by_text("Not everybody is here").click()
    page.get_by_role("button", name="None").click()
    for name in ("person 3", "person 12"):
        page.get_by_label("Find a name").fill(name)
        page.get_by_label(name, exact=True).check()
    assert page.get_by_text("2 of 20 are here").is_visible()
    page.get_by_role("button", name="Propose pairs").click()
    assert page.get_by_text("Proposal 2 is ready.").is_visible()
    assert league.proposal(2).pairs == [("person 3", "person 12")]


@pytest.mark.slow
def test_results_that_are_not_saved_are_not_lost_without_a_question(small: Any, visit: Callable[..., Visit]) -> None:
    visited = visit("/leagues/small")
    visited.page.locator(".pairs > li").first.get_by_text("Failure").click()
    asked: list[str] = []
    visited.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    visited.page.get_by_role("link", name="Log").click()
    visited.page.wait_for_url("**/log")
    assert asked == ["beforeunload"]
    visited.complaints.clear()


def test_times_are_those_of_the_readers_own_clock(small: Any, visit: Callable[..., Visit]) -> None:
    visited = visit("/leagues/small/log", timezone_id="Asia/Tokyo", locale="en-GB")
    time = visited.page.locator("time").first
    told, stamp = time.inner_text(), time.get_attribute("datetime")
    assert time.get_attribute("title").endswith(" UTC")
    hour = visited.page.evaluate("stamp => (new Date(stamp).getUTCHours() + 9) % 24", stamp)
    assert f" {hour:02}:" in told
