import json
import re
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clocks import Clock
from fastapi import APIRouter
from starlette.testclient import TestClient
from statements import Statements

from matchbandit.figures.echarts_renderer import MIN_CONTRAST, contrast
from matchbandit.live.csv_tables import csv_text
from matchbandit.live.errors import LeagueError
from matchbandit.live.league import League
from matchbandit.live.records import VOID, Item, PairResult, ProposalSummary
from matchbandit.live.settings import LeagueSettings, field_descriptions
from matchbandit.live.store import Store
from matchbandit.service import tokens
from matchbandit.service.dashboard import content, pages, tables
from matchbandit.service.dashboard.html import digits
from matchbandit.service.dashboard.league_form import setting_fields
from matchbandit.service.dashboard.meetings import MAX_CELLS, MAX_MATRIX, MAX_SQUARES, meetings_map
from matchbandit.service.dashboard.progress import MAX_POINTS, charts

HOSTILE = "<script>alert(1)</script>"
PEOPLE = ["Ann", "Bob", HOSTILE, "Dee", "Eve"]
ORIGIN = {"Origin": "http://testserver"}


class Reader(HTMLParser):
    """A page as a browser reads it: elements with their attributes, forms with their fields, visible words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.forms: list[tuple[dict[str, str | None], list[dict[str, str | None]]]] = []
        self.words = ""
        self.scripts: list[str] = []
        self._inside: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag not in ("meta", "link", "input", "br", "path", "circle", "line"):
            self._inside.append(tag)
        if tag == "form":
            self.forms.append((attributes, []))
        if tag in ("input", "select", "textarea") and "form" in self._inside:
            self.forms[-1][1].append({"tag": tag, **attributes})
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._inside[-1:] == ["script"]:
            self.scripts[-1] += data
        else:
            self.words += data

    def all(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in names]

    @property
    def plain(self) -> str:
        return " ".join(self.words.split())

    def csrf(self) -> str:
        (value,) = {field["value"] for _, fields in self.forms for field in fields if field.get("name") == "csrf"}
        assert value
        return value


class Desk:
    """Somebody at the dashboard with a token of this scope."""

    def __init__(self, client: TestClient, store: Store, text: str) -> None:
        self.client, self.store = client, store
        self.login = client.post("/login", data={"token": text, "next": "/"}, headers=ORIGIN, follow_redirects=False)
        self.csrf = self.get("/").csrf() if self.login.status_code == 303 else ""

    def get(self, path: str, status: int = 200) -> Reader:
        answer = self.client.get(path)
        assert answer.status_code == status, (path, answer.status_code, answer.text[:400])
        return Reader(answer.text)

    def post(self, path: str, **fields: Any) -> Any:
        fields = {"csrf": self.csrf, **fields}
        return self.client.post(path, data=fields, headers=ORIGIN, follow_redirects=False)

    def does(self, path: str, **fields: Any) -> Reader:
        """Send a form that must be taken, and look at the page that follows."""
        answer = self.post(path, **fields)
        assert answer.status_code == 303, answer.text
        return self.get(answer.headers["location"])


@pytest.fixture
def club(store: Store) -> Any:
    """Five people, three proposals with outcomes, and one that waits."""
    league = store.create("club", players=PEOPLE, seed=1)
    for number in range(3):
        asked = league.ask()
        league.tell(asked.number, {pair: float(number % 2) for pair in asked.pairs})
    league.ask()
    return league


@pytest.fixture
def served(served: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch) -> Callable[..., TestClient]:
    """The service with its pages and without its API, whose many routes take long to make; it has its own tests."""
    monkeypatch.setattr("matchbandit.service.api.router", lambda *_: APIRouter())
    return partial(served, dashboard=True)


@pytest.fixture
def desk(store: Store, served: Callable[..., TestClient]) -> Callable[..., Desk]:
    """Somebody logs in, each with a token and cookies of their own, at one server."""
    clients: list[TestClient] = []

    def sit(scope: str = "admin", *leagues: str) -> Desk:
        _, text = tokens.create(store, f"{scope} desk", scope=scope, leagues=leagues or None)
        clients.append(TestClient(clients[0].app) if clients else served())
        return Desk(clients[-1], store, text)

    return sit


def pages_of(league: Any) -> list[str]:
    below = ["", "/ranking", "/meetings", "/progress", "/proposals", "/proposals/1", "/proposals/4", "/items"]
    more = ["/items/3", "/rules", "/log", "/settings"]
    return ["/", "/new", *(f"/leagues/{league.name}{path}" for path in (*below, *more))]


def test_a_rename_while_a_page_is_made_is_no_error(
    club: Any, desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    club.exclude([(1, 2)])
    club.wish([(1, 3)])
    sat, names, view, other = desk(), count(), League.view, Store(club.store.database.url)

    @contextmanager
    def renamed_meanwhile(league: League, **settings: Any) -> Any:
        with view(league, **settings) as seen:
            if league.store is not other:
                other.open("club").rename(1, f"Ann {next(names)}")
            yield seen

    monkeypatch.setattr(League, "view", renamed_meanwhile)
    for path in pages_of(club):
        sat.get(path)
    assert next(names) == len(pages_of(club)) - 2  # each page of a league is made from one view
    other.close()


# Who looks -----------------------------------------------------------------------------------------------------------


def test_nobody_sees_a_page_without_logging_in_and_then_sees_the_one_they_wanted(
    club: Any, store: Store, served: Callable[..., TestClient]
) -> None:
    client = served()
    for path in pages_of(club):
        answer = client.get(path, follow_redirects=False)
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/login?next={path}"
        assert "Ann" not in answer.text
    assert client.get("/login?next=/leagues/club").text.count('name="next" value="/leagues/club"') == 1
    _, text = tokens.create(store, "desk")
    fields = {"token": text, "next": "/leagues/club"}
    answer = client.post("/login", data=fields, headers=ORIGIN, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/leagues/club")


def test_who_was_logged_out_meanwhile_is_told_so_and_comes_back_to_the_page(
    club: Any, desk: Callable[..., Desk], clock: Clock
) -> None:
    sat, before = desk(), club.digest()
    clock.forward(hours=13)
    headers = {**ORIGIN, "Referer": "http://testserver/leagues/club"}
    answer = sat.client.post("/leagues/club/proposals", data={"csrf": sat.csrf}, headers=headers)
    assert answer.url.path == "/login"
    assert "You were logged out" in answer.text
    assert 'name="next" value="/leagues/club"' in answer.text
    elsewhere = {**ORIGIN, "Referer": "http://evil.example/leagues/club"}
    answer = sat.client.post("/leagues/club/proposals", data={"csrf": sat.csrf}, headers=elsewhere)
    assert 'name="next" value="/"' in answer.text
    assert club.digest() == before


@pytest.mark.parametrize("elsewhere", ["//evil.example/x", "https://evil.example", "/\\evil.example", "javascript:1"])
def test_a_login_leads_to_no_other_site(store: Store, served: Callable[..., TestClient], elsewhere: str) -> None:
    client, (_, text) = served(), tokens.create(store, "desk")
    answer = client.post("/login", data={"token": text, "next": elsewhere}, headers=ORIGIN, follow_redirects=False)
    assert answer.headers["location"] == "/"
    assert client.get("/login", params={"next": elsewhere}, follow_redirects=False).headers["location"] == "/"


@pytest.mark.parametrize("https", [False, True])
def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(
    store: Store, served: Callable[..., TestClient], https: bool
) -> None:
    _, text = tokens.create(store, "desk")
    answer = served(https=https).post("/login", data={"token": text}, headers=ORIGIN, follow_redirects=False)
    cookie, *flags = answer.headers["set-cookie"].split("; ")
    expected = {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"} | ({"Secure"} if https else set())
    assert {*flags} == expected
    assert cookie.startswith("__Host-matchbandit=" if https else "matchbandit=")


def test_the_store_holds_neither_the_token_nor_the_cookie(desk: Callable[..., Desk], tmp_path: Path) -> None:
    sat = desk()
    secret = sat.client.cookies["matchbandit"]
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert sat.csrf.encode() in kept
    assert secret.encode() not in kept


def test_wrong_tokens_are_refused_in_words_and_too_many_are_not_even_looked_up(
    store: Store, served: Callable[..., TestClient], ticks: Any
) -> None:
    client = served(wrong_tokens=2)
    _, text = tokens.create(store, "desk")
    for wrong in ("", text[:-1] + ("0" if text[-1] != "0" else "1")):
        answer = client.post("/login", data={"token": wrong}, headers=ORIGIN)
        assert answer.status_code == 403
        assert "There is no such token" in answer.text
        assert "set-cookie" not in answer.headers
        assert not wrong or wrong not in answer.text
    assert client.post("/login", data={"token": text}, headers=ORIGIN).status_code == 429
    ticks.now += 60
    assert client.post("/login", data={"token": text}, headers=ORIGIN).status_code == 200


def test_wrong_tokens_that_come_at_once_share_the_permits(
    served: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, statuses = served(wrong_tokens=1), list[int]()

    def known(store: Store, text: str) -> None:
        if not statuses:  # while the first is looked up, a second comes
            statuses.append(TestClient(client.app).post("/login", data={"token": "x"}, headers=ORIGIN).status_code)

    monkeypatch.setattr(tokens, "lookup", known)
    statuses.append(client.post("/login", data={"token": "x"}, headers=ORIGIN).status_code)
    assert statuses == [429, 403]


def test_a_session_ends_with_its_time_with_its_token_and_by_logging_out(
    desk: Callable[..., Desk], clock: Clock, store: Store
) -> None:
    def is_in(sat: Desk) -> bool:
        return bool(sat.client.get("/", follow_redirects=False).status_code == 200)

    sat = desk()
    clock.forward(hours=11.9)
    assert is_in(sat)
    clock.forward(hours=0.2)
    assert not is_in(sat)
    revoked = desk()
    tokens.revoke(store, tokens.list_all(store)[-1].id)
    assert not is_in(revoked)
    gone = desk()
    secret = gone.client.cookies["matchbandit"]
    assert gone.post("/logout").headers["location"] == "/login"
    assert not is_in(gone)
    gone.client.cookies.set("matchbandit", secret)
    assert not is_in(gone)


def test_a_token_opens_its_leagues_only(club: Any, store: Store, desk: Callable[..., Desk]) -> None:
    store.create("secret", players=["Zed"])
    sat = desk("play", "club")
    assert "secret" not in sat.get("/").plain
    there, nowhere = (
        re.sub(r"Request \w{16}", "", sat.get(f"/leagues/{name}", 404).plain) for name in ("secret", "nothng")
    )
    assert there == nowhere.replace("nothng", "secret")
    assert sat.post("/leagues/secret/proposals").status_code == 404
    assert store.open("secret").about()["n_proposals"] == 0


def test_a_scope_shows_the_forms_that_it_allows_and_the_others_are_refused(
    club: Any, desk: Callable[..., Desk]
) -> None:
    def targets(sat: Desk) -> set[str]:
        found = set()
        for path in pages_of(club):
            if path != "/new":
                forms = [form for form, _ in sat.get(path).forms if form["method"] == "post"]
                found |= {re.sub(r"\d+", "N", str(form["action"])) for form in forms}
        return found - {"/logout"}

    below = "/leagues/club/proposals"
    playing = {below, *(f"{below}/N/{verb}" for verb in ("outcomes", "corrections", "void"))}
    items = "/leagues/club/items"
    changing = {items, *(f"{items}/N/{verb}" for verb in ("name", "leave", "forget"))}
    changing |= {"/leagues/club/rules", "/leagues/club/settings"}
    reading, player, admin = desk("read"), desk("play"), desk("admin")
    assert {*targets(reading)} == {f"{below}/N/outcomes"} & targets(reading)  # without fields
    assert targets(player) == playing
    assert targets(admin) == playing | changing
    before = club.digest()
    for sat, refused in ((reading, playing | changing), (player, changing)):
        for target in refused:
            assert sat.post(target.replace("N", "4"), names="Fay", name="Fay", sure="1").status_code == 403
        assert sat.get("/new", 403).plain.count("admin") >= 1
        assert sat.post("/new", slug="mine", first="Ann").status_code == 403
    assert club.digest() == before


# Forgery -------------------------------------------------------------------------------------------------------------

FORGED = [
    ({"Origin": "https://evil.example"}, True),
    ({"Origin": "null"}, True),
    ({}, True),
    ({**ORIGIN, "Sec-Fetch-Site": "cross-site"}, True),
    ({**ORIGIN, "Sec-Fetch-Site": "same-site"}, True),
    (ORIGIN, False),
]


FORMS = ("proposals", "proposals/4/outcomes", "proposals/4/void", "items", "items/1/forget", "rules", "settings")


@pytest.mark.parametrize(("headers", "right_csrf"), FORGED)
@pytest.mark.sampled(1)
def test_a_forged_form_does_nothing(
    club: Any, desk: Callable[..., Desk], headers: dict[str, str], right_csrf: bool
) -> None:
    sat, other = desk(), desk()
    before = club.digest()
    for path in FORMS:
        for csrf in [sat.csrf] if right_csrf else ["", other.csrf, sat.csrf[:-1]]:
            fields = {"csrf": csrf, "sure": "1", "names": "Fay", "rule": "exclude", "ids": "1-2", "title": "Mine"}
            answer = sat.client.post(f"/leagues/club/{path}", data=fields, headers=headers)
            assert answer.status_code == 403
    out = sat.client.post("/logout", data={"csrf": sat.csrf if right_csrf else ""}, headers=headers)
    assert out.status_code == 403
    assert club.digest() == before
    assert sat.get("/leagues/club")  # still logged in


def test_a_form_of_ones_own_page_is_taken_also_behind_a_proxy_that_renames_the_host(
    club: Any, desk: Callable[..., Desk]
) -> None:
    sat = desk()
    headers = {"Origin": "https://club.example", "Sec-Fetch-Site": "same-origin"}
    answer = sat.client.post(
        "/leagues/club/proposals", data={"csrf": sat.csrf}, headers=headers, follow_redirects=False
    )
    assert answer.headers["location"] == "/leagues/club?done=proposed:5"


def test_what_is_no_form_is_refused(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk()
    as_json = sat.client.post("/leagues/club/proposals", json={"csrf": sat.csrf}, headers=ORIGIN)
    many = sat.client.post("/leagues/club/proposals", data={str(k): "" for k in range(20_001)}, headers=ORIGIN)
    form = {**ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    broken = sat.client.post("/leagues/club/proposals", content=b"csrf=%ff", headers=form)
    assert [answer.status_code for answer in (as_json, many, broken)] == [422, 422, 422]
    assert club.about()["n_proposals"] == 4


# What a browser may run ----------------------------------------------------------------------------------------------

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def test_pages_run_nothing_but_our_own_files_and_send_forms_nowhere_else(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk()
    links = set()
    for path in [*pages_of(club), "/leagues/nowhere", "/login"]:
        answer = sat.client.get(path)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"
        read = Reader(answer.text)
        for _, attributes in read.elements:
            assert not [name for name in attributes if name == "style" or name.startswith("on")]
        assert not read.all("style", "iframe", "object", "base")
        for script in read.all("script"):
            assert "src" in script or script == {"type": "application/json", "id": "data"}
        links |= {
            a[name] for a in read.all("script", "link", "a", "form") for name in ("src", "href", "action") if name in a
        }
    assert all(link and link[0] in "/#?" and not link.startswith("//") for link in links)
    assets = {link for link in links if link and link.startswith("/assets/")}
    assert len(assets) == 6
    for asset in assets:
        answer = sat.client.get(asset)
        assert (answer.status_code, "immutable" in answer.headers["cache-control"]) == (200, True)
        assert len(answer.content) > 100
    for link in links - assets:
        if link and link.startswith("/leagues") and not link.endswith(("void", "outcomes", "corrections", "rules")):
            assert sat.client.get(link).status_code in (200, 405), link
    assert sat.client.get("/assets/nothing.js").status_code == 404
    assert sat.client.get("/assets/dashboard.css").headers["cache-control"] == "no-cache"


def test_a_name_is_text_whatever_it_looks_like(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk()
    club.exclude([(3, 5)])
    club.rename(1, "\"'><b>&amp;</textarea></title>")
    seen = 0
    for path in pages_of(club):
        read = sat.get(path)
        assert all("alert" not in script or json.loads(script) for script in read.scripts)
        assert [script for script in read.all("script") if "src" not in script and "type" not in script] == []
        assert not read.all("b")
        seen += HOSTILE in read.plain
    assert seen == len(pages_of(club)) - 5  # no names: leagues, a new one, proposals, charts, settings
    data = json.loads(sat.get("/leagues/club/meetings").scripts[0])
    assert HOSTILE in data["heat"]["rows"]


def test_a_refused_name_comes_back_as_text(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk()
    typed = '</textarea><img src=x onerror="alert(1)">\u0000'
    answer = sat.post("/leagues/club/items", names=typed)
    assert answer.status_code == 422
    assert not Reader(answer.text).all("img")
    assert "a name has no control characters" in answer.text.lower()


def test_every_field_has_a_name_for_those_who_listen(club: Any, store: Store, desk: Callable[..., Desk]) -> None:
    league = store.create("ads", sides={"ads": ["one", "two"], "slots": ["left", "right"]}, rewards="gaussian:0.5")
    league.ask()
    sat = desk()
    fields = 0
    for path in [*pages_of(club), "/leagues/ads", "/leagues/ads/items", "/leagues/ads/proposals/1"]:
        text = sat.client.get(path).text
        read = Reader(text)
        labelled = {label.get("for") for label in read.all("label")}
        wrapped = set(re.findall(r"<label[^>]*><input[^>]*name=\"([^\"]+)\"", text))
        for field in read.all("input", "select", "textarea"):
            if field.get("type") == "hidden":
                continue
            fields += 1
            named = "aria-label" in field or field.get("id") in labelled or field.get("name") in wrapped
            assert named, (path, field)
        assert len(read.all("h1")) == 1
        assert len(read.all("main")) == 1
        ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
        assert len(ids) == len(set(ids)), path
        points = [a[name] for _, a in read.elements for name in ("aria-labelledby", "aria-describedby") if name in a]
        assert {point for point in points for point in str(point).split()} <= {*ids}, path
    assert fields > 30


def test_words_can_be_read_on_all_grounds_by_day_and_by_night() -> None:
    page = files("matchbandit.figures").joinpath("page.css").read_text("utf-8")
    own = files("matchbandit.service.dashboard").joinpath("static/dashboard.css").read_text("utf-8")
    for day in (0, 1):
        colours: dict[str, str] = {}
        for text, start in ((page, "--paper: "), (own, "--ground: ")):
            block = re.findall(rf"({start}.*?)\}}", text, re.S)[day]
            colours |= dict(re.findall(r"--([\w-]+): (#\w{6});", block))
        for ground in ("ground", "card", "hover"):
            for name in ("ink", "muted", "accent", "good", "part", "bad"):
                assert contrast(colours[name], colours[ground]) >= MIN_CONTRAST, (name, ground, day)
        for name in ("good", "part", "bad", "accent"):
            assert contrast(colours[name], colours[f"{name}-soft"]) >= MIN_CONTRAST, (name, day)
        assert contrast(colours["on-accent"], colours["accent"]) >= MIN_CONTRAST
        for name in ("good", "bad", "muted"):
            assert contrast(colours["card"], colours[name]) >= MIN_CONTRAST
        for ground in ("card", "paper"):
            assert contrast(colours["field"], colours[ground]) >= 3  # the border of a field


# What forms do -------------------------------------------------------------------------------------------------------


def waiting_pairs(league: Any, number: int = 4) -> list[tuple[int, int]]:
    return list(league.proposal(number).ids)


def field_of(pair: tuple[int, int]) -> str:
    return f"outcome-{pair[0]}-{pair[1]}"


def test_results_are_entered_and_the_ranking_moves(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("play")
    one, two = waiting_pairs(club)
    before = club.ranking()
    read = sat.does("/leagues/club/proposals/4/outcomes", **{field_of(one): "1", field_of(two): ""})
    assert "Saved: 1 outcome." in read.plain
    assert club.proposal(4).waiting == [club.proposal(4).pairs[1]]
    assert club.ranking() != before
    assert {**club.proposal(4).outcomes} == {club.proposal(4).pairs[0]: 1.0}
    assert club.events()[-1].by == f"token:{tokens.list_all(club.store)[-1].id}"
    read = sat.does("/leagues/club/proposals/4/outcomes", **{field_of(two): "void"})
    assert "All outcomes recorded." in read.plain
    assert list(club.proposal(4).outcomes.values()) == [1.0, VOID]


def test_nothing_entered_is_nothing_saved(club: Any, desk: Callable[..., Desk]) -> None:
    sat, before = desk("play"), club.digest()
    read = sat.does("/leagues/club/proposals/4/outcomes", **{field_of(pair): "" for pair in waiting_pairs(club)})
    assert "nothing was saved" in read.plain
    assert club.digest() == before


@pytest.mark.parametrize(
    ("value", "status", "words"),
    [("2", 422, "2"), ("nan", 422, "nan"), ("many", 422, "An outcome is a number, such as 0.5; got 'many'.")],
)
def test_a_refused_result_is_told_on_the_same_page_and_what_was_typed_is_kept(
    club: Any, desk: Callable[..., Desk], value: str, status: int, words: str
) -> None:
    sat, before = desk("play"), club.digest()
    one, two = waiting_pairs(club)
    answer = sat.post("/leagues/club/proposals/4/outcomes", **{field_of(one): value, field_of(two): "0"})
    assert answer.status_code == status
    read = Reader(answer.text)
    assert words in read.plain
    assert [f["value"] for f in read.all("input") if f.get("name") == field_of(two) and "checked" in f] == ["0"]
    assert club.digest() == before


def test_a_form_for_shares_says_which_and_refuses_others(store: Store, desk: Callable[..., Desk]) -> None:
    league = store.create("shares", players=["ann", "bob"], rewards="binomial:5")
    pair = league.ask().ids[0]
    sat = desk("play")
    fields = [f for f in sat.get("/leagues/shares").all("input") if f.get("name") == field_of(pair)]
    assert "0, 0.2, … 1" in [f.get("placeholder") for f in fields]
    answer = sat.post("/leagues/shares/proposals/1/outcomes", **{field_of(pair): "0.37"})
    assert answer.status_code == 422
    assert "Binomial rewards with 5 trials are 0, 0.2, …, 1; got 0.37 for" in Reader(answer.text).plain
    assert league.proposal(1).outcomes == {}
    assert "Saved: 1 outcome." in sat.does("/leagues/shares/proposals/1/outcomes", **{field_of(pair): "0.4"}).plain


def test_a_contradiction_is_refused_and_a_correction_leaves_a_trace(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("play")
    pair = club.proposal(1).ids[0]
    answer = sat.post("/leagues/club/proposals/1/outcomes", **{field_of(pair): "1", "from": "proposal"})
    assert answer.status_code == 409
    known = {field_of(other): "0" for other in club.proposal(1).ids}
    read = sat.does("/leagues/club/proposals/1/corrections", **known | {field_of(pair): "1"})
    assert "Corrected: 1 outcome." in read.plain
    assert club.proposal(1).outcomes[club.proposal(1).pairs[0]] == 1.0
    assert "was corrected" in sat.get("/leagues/club/log").plain


def correction_form(sat: Desk, path: str) -> dict[str, str]:
    """What a browser sends if nothing is changed."""
    ((_, fields),) = [form for form in sat.get(path).forms if str(form[0]["action"]).endswith("/corrections")]
    chosen = [f for f in fields if f.get("type") not in ("radio", "checkbox") or "checked" in f]
    return {str(f["name"]): str(f["value"]) for f in chosen}


def test_a_correction_leaves_untouched_outcomes_exactly_as_they_are(store: Store, desk: Callable[..., Desk]) -> None:
    league = store.create("noisy", players=["ann", "bob", "cem", "dee"], rewards="gaussian:0.5", seed=1)
    first, second = league.ask().ids
    league.tell(1, {first: 0.987654321, second: 1e-07})
    sat = desk("play")
    sent = correction_form(sat, "/leagues/noisy/proposals/1") | {field_of(second): "0.25"}
    assert "Corrected: 1 outcome." in sat.does("/leagues/noisy/proposals/1/corrections", **sent).plain
    assert list(league.proposal(1).outcomes.values()) == [0.987654321, 0.25]
    assert len(league.events()) == 5


def test_an_old_correction_form_does_not_undo_what_others_corrected(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("play")
    first, second = club.proposal(1).ids
    sent = correction_form(sat, "/leagues/club/proposals/1")
    club.correct(1, {first: 1.0})
    assert (
        "Corrected: 1 outcome."
        in sat.does("/leagues/club/proposals/1/corrections", **sent | {field_of(second): "1"}).plain
    )
    assert list(club.proposal(1).outcomes.values()) == [1.0, 1.0]
    assert "Nothing was changed" in sat.does("/leagues/club/proposals/1/corrections", **sent).plain
    assert list(club.proposal(1).outcomes.values()) == [1.0, 1.0]


def test_all_that_waits_is_voided_at_once(club: Any, desk: Callable[..., Desk]) -> None:
    read = desk("play").does("/leagues/club/proposals/4/void")
    assert "Void now: 2 outcomes." in read.plain
    assert set(club.proposal(4).outcomes.values()) == {VOID}


def test_two_clicks_make_one_proposal(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("play")
    (form,) = [fields for form, fields in sat.get("/leagues/club").forms if form["action"] == "/leagues/club/proposals"]
    (key,) = [field["value"] for field in form if field.get("name") == "key"]
    there = {sat.post("/leagues/club/proposals", key=key).headers["location"] for _ in range(2)}
    assert there == {"/leagues/club?done=proposed:5"}
    assert club.about()["n_proposals"] == 5


def test_those_who_are_here_are_paired(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("play")
    sat.does("/leagues/club/proposals", roster="shown", here=["1", "3", "4"])
    five = club.proposal(5)
    assert {item for pair in five.ids for item in pair} | {*five.bye_ids} == {1, 3, 4}
    sat.does("/leagues/club/proposals", roster="shown", here=["1", "2", "3", "4", "5"])
    six = club.proposal(6)
    assert len(six.ids) == 2
    answer = sat.post("/leagues/club/proposals", roster="shown", here=["1"])
    assert answer.status_code == 409
    boxes = [field for field in Reader(answer.text).all("input") if field.get("name") == "here"]
    assert [field["value"] for field in boxes if "checked" in field] == ["1"]
    assert club.about()["n_proposals"] == 6


@pytest.mark.slow
def test_an_old_form_pairs_those_who_were_ticked_and_nobody_else(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("play")
    (fields,) = [
        fields for form, fields in sat.get("/leagues/club").forms if form["action"] == "/leagues/club/proposals"
    ]
    hidden = {str(f["name"]): str(f["value"]) for f in fields if f.get("type") == "hidden"}
    ticked = [str(f["value"]) for f in fields if f.get("name") == "here" and "checked" in f]
    club.join("Fay")
    club.leave("Bob")
    answer = sat.post("/leagues/club/proposals", **hidden, here=ticked)
    assert answer.status_code == 422
    assert "'Bob' has left the league" in Reader(answer.text).plain
    assert club.about()["n_proposals"] == 4
    for _ in range(2):  # two clicks
        sat.does("/leagues/club/proposals", **hidden, here=[item for item in ticked if item != "2"])
        club.join(f"Gus {len(club.items())}")
    five = club.proposal(club.about()["n_proposals"])
    assert (five.number, {item for pair in five.ids for item in pair} | {*five.bye_ids}) == (5, {1, 3, 4, 5})


def test_numbers_are_typed_with_a_point_or_a_comma_or_are_void(store: Store, desk: Callable[..., Desk]) -> None:
    league = store.create(
        "ads", sides={"ads": ["a", "b", "c"], "slots": ["l", "m", "r"]}, rewards="gaussian:0.5", selection="matching"
    )
    league.ask()
    one, two, three = league.proposal(1).ids
    sat = desk("play")
    fields = {field_of(one): "0.25", field_of(two): "0,5", field_of(three): "0.9", f"void-{three[0]}-{three[1]}": "1"}
    assert "Saved: 3 outcomes." in sat.does("/leagues/ads/proposals/1/outcomes", **fields).plain
    assert list(league.proposal(1).outcomes.values()) == [0.25, 0.5, VOID]


def test_people_join_leave_come_back_are_renamed_and_forgotten(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("admin")
    sat.does("/leagues/club/items", names="Fay\r\n\r\n  Gus \r\n")
    assert [item.name for item in club.items()] == [*PEOPLE, "Fay", "Gus"]
    assert "Ann" in Reader(sat.post("/leagues/club/items", names="Ann").text).plain
    below = "/leagues/club/items/6"
    assert "Bring back" in sat.does(f"{below}/leave").plain
    assert not club.item(6).active
    sat.does(f"{below}/return")
    assert club.item(6).active
    assert "Fay Lee" in sat.does(f"{below}/name", name="Fay Lee").plain
    assert sat.post(f"{below}/name", name="Bob").status_code == 409
    assert sat.post(f"{below}/forget").status_code == 422
    assert club.item(6).name == "Fay Lee"
    read = sat.does(f"{below}/forget", sure="1")
    assert club.item(6).name == "#6"
    assert "Fay" not in read.plain
    assert sat.post(f"{below}/explode").status_code == 404
    assert sat.post("/leagues/club/items/99/leave").status_code == 404


def test_rules_are_made_and_taken_back(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("admin")
    sat.does("/leagues/club/rules", rule="exclude", one="Ann", two=HOSTILE)
    read = sat.does("/leagues/club/rules", rule="wish", one="Dee", two="Bob")
    assert club.about()["exclusions"] == [("Ann", HOSTILE)]
    assert club.about()["wishes"] == [("Bob", "Dee")]
    undo = [
        {str(field["name"]): field["value"] for field in fields}
        for form, fields in read.forms
        if form["action"] == "/leagues/club/rules" and {"tag": "input"}.items() <= fields[1].items()
    ]
    assert [form["rule"] for form in undo] == ["unwish", "allow"]
    for form in undo:
        sat.does("/leagues/club/rules", **form)
    assert club.about()["exclusions"] == club.about()["wishes"] == []
    refused = sat.post("/leagues/club/rules", rule="wish", one="Ann", two="Bop")
    assert refused.status_code == 422
    assert "did you mean 'Bob'?" in Reader(refused.text).plain
    assert [f["value"] for f in Reader(refused.text).all("input") if f.get("name") in ("one", "two")] == ["Ann", "Bop"]
    for wrong in ({"rule": "explode", "one": "Ann", "two": "Bob"}, {"rule": "allow", "ids": "1-x"}):
        assert sat.post("/leagues/club/rules", **wrong).status_code == 422


def test_a_league_is_made_on_a_page(store: Store, desk: Callable[..., Desk]) -> None:
    sat = desk("admin")
    assert "No league yet" in sat.get("/").plain
    fields = {"slug": "teams", "first": "Ann\nBob", "rewards": "bernoulli", "policy": "cucb", "deadline": "1.5 hours"}
    read = sat.does("/new", **fields, no_rematch="2", key="k1")
    assert "The league is ready." in read.plain
    about = store.open("teams").about()
    assert (about["policy"], about["deadline"], about["no_rematch"]) == ("cucb", 5400.0, 2)
    two = {"slug": "ads", "first": "one", "second": "left\nright", "first-side": "ads", "second-side": "slots"}
    sat.does("/new", **two)
    assert [item.side for item in store.open("ads").items()] == ["ads", "slots", "slots"]
    for wrong in (
        {"slug": "Teams!"},
        {"slug": "teams"},
        {"slug": "x", "second-side": "slots"},
        {"slug": "x", "deadline": "soon"},
    ):
        answer = sat.post("/new", **{**fields, **wrong})
        assert answer.status_code in (409, 422), wrong
        assert "Ann" in Reader(answer.text).words
    assert store.leagues() == ["ads", "teams"]


# What pages show -----------------------------------------------------------------------------------------------------


def test_lists_are_turned_page_by_page(
    store: Store, desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "PAGE_SIZE", 4)
    monkeypatch.setattr(pages, "PAGE_SIZE", 4)
    league = store.create("long", players=["Ann", "Bob"], seed=1)
    for _ in range(9):
        league.tell(league.ask().number, {("Ann", "Bob"): 1})
    sat = desk("read")
    for path, last in (("proposals", 9), ("log", league.about()["n_events"])):
        seen: list[int] = []
        where = f"/leagues/long/{path}"
        while where:
            text = sat.client.get(where).text
            seen += [
                int(number)
                for number in re.findall(r'class="seq">(\d+)<|proposals/\d+">(\d+)</a><span', text)
                for number in number
                if number
            ]
            older = re.search(r'href="(\?before=\d+)">Older', text)
            where = f"/leagues/long/{path}{older[1]}" if older else ""
        assert seen == list(range(last, 0, -1))
        newer = re.search(r'href="\?before=(\d+)">Newer', text)
        assert newer
    assert sat.client.get("/leagues/long/log?before=0").status_code == 404


def test_the_ranking_shows_what_the_league_says(club: Any, desk: Callable[..., Desk]) -> None:
    club.join("Fay")
    text = desk("read").client.get("/leagues/club/ranking").text
    rows = re.findall(
        r'class="rank">(\d+|–)</td>.*?items/(\d+)">.*?class="number">([\d.]+)</td>.*?aria-label="([^"]+)"', text, re.S
    )
    expected = [(str(row.place or "–"), str(row.id), f"{row.estimate:.2f}") for row in club.ranking()]
    assert [row[:3] for row in rows] == expected
    assert [row[0] for row in rows][-1] == "–"  # Fay has no results
    assert all("between" in row[3] for row in rows)


def test_an_empty_league_has_all_its_pages(store: Store, desk: Callable[..., Desk]) -> None:
    store.create("new", players=[])
    sat = desk("admin")
    for path in ("", "/ranking", "/meetings", "/progress", "/proposals", "/items", "/rules", "/log", "/settings"):
        sat.get(f"/leagues/new{path}")
    assert sat.post("/leagues/new/proposals").status_code == 409


def texts_of(sat: Desk, path: str) -> tuple[int, int]:
    """How many statements a page takes, and its bytes."""
    sat.get(path)  # the league is loaded
    with Statements(sat.store) as statements:
        answer = sat.client.get(path)
    assert answer.status_code == 200
    return len(statements), len(answer.content)


def test_pages_take_as_many_statements_however_many_proposals_are_open(store: Store, desk: Callable[..., Desk]) -> None:
    league, sat = store.create("club", players=["Ann", "Bob", "Cem", "Dee"], seed=1), desk()
    league.ask()
    few = {path: texts_of(sat, path)[0] for path in pages_of(league) if not path.endswith("/4")}
    for _ in range(60):
        league.ask()
    assert {path: texts_of(sat, path)[0] for path in few} == few
    assert max(few.values()) <= 6


def test_the_list_of_leagues_loads_none_of_them_and_is_paged_and_searched(
    store: Store, desk: Callable[..., Desk]
) -> None:
    for k in range(120):
        store.create(f"league-{k:03}", players=[], title=f"Number {k}" if k != 7 else "")
    sat = desk()
    assert texts_of(sat, "/")[0] == 3  # session, token, leagues
    seen, path = list[str](), "/"
    while path:
        text = sat.client.get(path).text
        seen += re.findall(r'href="/leagues/([\w-]+)">', text)
        following = re.search(r'href="(\?after=[\w-]+)">Next', text)
        path = f"/{following[1]}" if following else ""
    assert seen == store.leagues()
    searched = sat.get("/?search=NUMBER+11").plain
    assert searched.count("Number 11") == 11  # 11, 110, …, 119
    assert "league-007" in sat.get("/").plain
    assert "No league has this" in sat.get("/?search=nothing").plain
    rows = json.loads(sat.client.get("/leagues.json?search=number+11").text)
    assert [row["title"] for row in rows] == ["Number 11", *(f"Number {k}" for k in range(110, 120))]


@pytest.mark.parametrize(
    ("path", "size"),
    [("items", 11), ("ranking", 11), ("proposals/1", 10), ("rules", 11), ("items/1", 4), ("meetings", 11)],
)
@pytest.mark.sampled(2)
def test_everybody_is_on_one_of_the_pages(
    store: Store, desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch, path: str, size: int
) -> None:
    monkeypatch.setattr(content, "PAGE_SIZE", 2)
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    names = [f"p{k}" for k in range(11)]
    league = store.create("club", players=names, seed=1, past=[("p0", f"p{k}", 1, 1) for k in range(2, 6)])
    league.ask()
    league.tell(1, {pair: 1.0 for pair in league.proposal(1).ids})
    bye = league.proposal(1).bye_ids[0]
    league.tell(league.ask(fixed=[(bye, bye % 11 + 1)]).number, {(bye, bye % 11 + 1): 1.0})
    league.exclude([(1, k) for k in range(2, 12)])
    sat, seen, query, back = desk("read"), set[str](), "?", 0
    while query:
        text = sat.client.get(f"/leagues/club/{path}{query}").text.replace("&amp;", "&")
        main = text[text.index("<main") :]
        seen |= set(re.findall(r'/items/(\d+)"', main)) - ({"1"} if path == "items/1" else set())
        following = re.search(r'href="(\?[^"]+)">Next', text)
        query, back = following[1] if following else "", back + 1
    expected = {str(item) for pair in league.proposal(1).ids for item in pair} if path == "proposals/1" else None
    assert seen == expected if expected else len(seen) >= size
    while previous := re.search(r'href="(\?[^"]*)">(Previous|First page)', text):
        text = sat.client.get(f"/leagues/club/{path}{previous[1]}").text.replace("&amp;", "&")
        back -= 1
    assert back == 1 or path == "rules"


def test_pages_of_five_thousand_players_are_small(store: Store, desk: Callable[..., Desk]) -> None:
    names = [f"player number {k} with a name that is rather long, as names may be" for k in range(5000)]
    league = store.create("crowd", players=names, seed=1)
    first = league.ask()
    league.tell(1, {pair: float(k % 2) for k, pair in enumerate(first.ids)})
    league.ask()
    league.exclude([(1, k) for k in range(2, 400)])
    sat = desk()
    for path in (page.replace("/proposals/4", "/proposals/2") for page in pages_of(league)):
        assert len(sat.client.get(path).content) < 300_000, path
    text = sat.client.get("/leagues/crowd/ranking?after=4950").text
    assert text.count('class="rank">') == 51  # with its head
    assert ">Next<" not in text
    assert "player number 4999" in sat.get("/leagues/crowd/items?search=NUMBER+4999").plain
    assert sat.get("/leagues/crowd/ranking?search=number+4999").plain.count("player number 4999") == 1


@pytest.mark.slow
def test_a_form_for_many_takes_the_names_of_those_who_are_absent_or_present(
    store: Store, desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_CHECKBOXES", 4)
    league, sat = store.create("club", players=PEOPLE, seed=1), desk("play")
    read = sat.get("/leagues/club")
    assert "here" not in {field.get("name") for field in read.all("input")}
    assert {"roster", "mode"} <= {field.get("name") for field in read.all("input")}

    def paired(**fields: str) -> set[int]:
        sat.does("/leagues/club/proposals", roster="typed", **fields)
        proposal = league.open_proposals()[-1]
        return {item for pair in proposal.ids for item in pair} | {*proposal.bye_ids}

    assert paired(mode="absent", names="Ann\r\nBob") == {3, 4, 5}
    assert paired(mode="present", names="name\nAnn\nBob") == {1, 2}
    assert paired(mode="absent", names="") == {1, 2, 3, 4, 5}
    answer = sat.post("/leagues/club/proposals", roster="typed", mode="present", names="Ann\nBop")
    assert answer.status_code == 422
    assert "did you mean 'Bob'?" in Reader(answer.text).plain
    assert "Ann Bop" in Reader(answer.text).plain  # what was typed


@pytest.mark.slow
def test_settings_are_changed_on_a_page_and_only_those_that_were(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("admin")

    def form() -> dict[str, str]:
        text = sat.client.get("/leagues/club/settings").text
        (fields,) = [fields for form, fields in Reader(text).forms if str(form.get("action")).endswith("/settings")]
        values = {str(f["name"]): str(f["value"]) for f in fields if f["tag"] == "input" and "name" in f}
        return values | {str(f["name"]): values[f"was-{f['name']}"] for f in fields if f["tag"] == "select"}

    shown = form()
    assert {name for name in shown if f"was-{name}" in shown} == {*LeagueSettings.names()}
    assert "Nothing was changed" in sat.does("/leagues/club/settings", **shown).plain
    club.configure(no_rematch=1)  # meanwhile, by somebody else
    changes = {"title": "Chess  Club", "deadline": "36 hours", "options": "half_life=100", "default": "0"}
    read = sat.does("/leagues/club/settings", **shown | changes)
    assert "The settings have changed." in read.plain
    about = club.about()
    assert (about["title"], about["deadline"], about["options"]) == ("Chess Club", 129_600.0, {"half_life": 100})
    assert (about["default"], about["no_rematch"]) == (0.0, 1)
    assert [*club.events()[-1].data] == ["options", "deadline", "default", "title"]
    assert (form()["deadline"], form()["options"], form()["default"]) == ("36 hours", "half_life=100", "0")
    assert ("Chess Club" in sat.get("/leagues/club").plain, "Chess Club" in sat.get("/").plain) == (True, True)
    for wrong in ({"policy": "cucbb"}, {"deadline": "3 moons"}, {"options": "half_life"}, {"no_rematch": "0.5"}):
        answer = sat.post("/leagues/club/settings", **form() | wrong)
        assert answer.status_code in (409, 422), wrong
        assert next(iter(wrong.values())) in answer.text or "policy" in wrong
    sat.does("/leagues/club/settings", **form() | {"policy": "cucb"})
    assert (club.about()["policy"], club.about()["options"]) == ("cucb", {})
    assert "Save settings" not in desk("play").get("/leagues/club/settings").plain


def test_every_setting_is_described_in_the_form() -> None:
    fields = setting_fields(LeagueSettings())
    descriptions = field_descriptions(LeagueSettings)
    assert {field.name for field in fields} == {*LeagueSettings.names()}
    assert all(field.hint.startswith(descriptions[field.name].replace("`", "")) for field in fields)


def test_names_are_pasted_from_a_table(club: Any, store: Store, desk: Callable[..., Desk]) -> None:
    sat = desk("admin")
    roster = [{"id": k, "name": name, "byes": 0} for k, name in enumerate(["=1+1", "Lee, Fay"])]
    assert "Added: 2 names." in sat.does("/leagues/club/items", names=csv_text(roster)).plain
    sat.does("/leagues/club/items", names="Name\tClub\r\nGus\tA\r\nHal\tB")
    sat.does("/leagues/club/items", names="O'Neil, Ian\nname in the second line")
    assert [item.name for item in club.items()][5:] == [
        "=1+1", "Lee, Fay", "Gus", "Hal", "O'Neil, Ian", "name in the second line",
    ]  # fmt: skip
    league = store.create("ads", sides={"ads": [], "slots": []})
    table = "name,side\nred,ads\ntop,slots"
    answer = sat.post("/leagues/ads/items", names=table, side="ads")
    assert (answer.status_code, league.items()) == (422, [])
    assert "Line 3 is of the side 'slots', not 'ads'." in Reader(answer.text).plain
    sat.does("/leagues/ads/items", names="name,side\nred,ads", side="ads")
    assert [(item.name, item.side) for item in league.items()] == [("red", "ads")]


def test_every_table_is_there_as_csv_and_json(club: Any, store: Store, desk: Callable[..., Desk]) -> None:
    club.exclude([(1, 3)])
    club.rename(2, "=2*3")
    club.configure(shadow="cucb")
    sat = desk("read", "club")
    links = set()
    for path in pages_of(club):
        if path != "/new":
            links |= {str(a["href"]) for a in sat.get(path).all("a") if "download" in a}
    below = "/leagues/club"
    names = (
        "items",
        "ranking",
        "results",
        "proposals",
        "proposals/1",
        "proposals/4",
        "items/3",
        "rules",
        "log",
        "shadow",
    )
    assert links == {
        f"{path}.{kind}" for path in ("/leagues", *(f"{below}/{name}" for name in names)) for kind in ("csv", "json")
    }
    for link in links:
        answer = sat.client.get(link)
        assert answer.status_code == 200, link
        assert answer.headers["content-disposition"].startswith("attachment; filename=")
        assert answer.headers["cache-control"] == "no-store"
        rows = json.loads(answer.text) if link.endswith("json") else answer.text.splitlines()[1:]
        assert rows, link
    assert sat.client.get(f"{below}/items.csv").text.splitlines()[2].startswith("2,'=2*3,")
    assert [row["name"] for row in sat.client.get(f"{below}/ranking.json?search=EVE").json()] == ["Eve"]
    assert sat.client.get(f"{below}/proposals/4.json").json()[0]["outcome"] is None
    assert len(sat.client.get(f"{below}/log.json").json()) == club.about()["n_events"]
    for missing in ("nothing.csv", "items.xml", "items/99.csv", "proposals/99.csv"):
        assert sat.client.get(f"{below}/{missing}").status_code == 404, missing
    store.create("secret", players=["Zed"])
    assert sat.client.get("/leagues/secret/items.csv").status_code == 404
    assert "secret" not in sat.client.get("/leagues.csv").text
    sat.post("/logout")
    assert sat.client.get(f"{below}/items.csv", follow_redirects=False).status_code == 303


def test_long_tables_are_saved_in_parts(club: Any, desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    sat, last = desk("read"), club.about()["n_events"]
    for name, column, highest in (("proposals", "number", 4), ("log", "seq", last)):
        seen, path = list[int](), f"/leagues/club/{name}.json"
        while path:
            answer = sat.client.get(path)
            seen += [row[column] for row in answer.json()]
            path = answer.links["next"]["url"] if "next" in answer.links else ""
        assert seen == list(range(highest, 0, -1))


def test_the_first_figures_compare_the_same_results(store: Store, desk: Callable[..., Desk]) -> None:
    league = store.create("club", players=["Ann", "Bob", "Cem", "Dee"], seed=1)
    for _ in range(3):
        league.ask()
    league.tell(1, {pair: 1.0 for pair in league.proposal(1).ids})
    assert league.ask().best != league.proposal(1).best  # it has no results, and is compared with nothing
    assert f"best guess {digits(league.proposal(1).best / 2)}" in desk("read").get("/leagues/club").plain


def test_a_page_of_pairs_is_where_one_stays(
    store: Store, desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "PAGE_SIZE", 2)
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    league = store.create("club", players=[f"p{k}" for k in range(10)], seed=1)
    pair = league.ask().ids[3]
    sat = desk("play")
    assert len([f for f in sat.get("/leagues/club/proposals/1?after=2").all("fieldset")]) == 2
    sent = {field_of(pair): "1", "from": "proposal", "after": "2"}
    answer = sat.post("/leagues/club/proposals/1/outcomes", **sent)
    assert answer.headers["location"] == "/leagues/club/proposals/1?done=told:1&after=2"
    refused = sat.post("/leagues/club/proposals/1/outcomes", **sent | {field_of(pair): "2"})
    assert 'name="after" value="2"' in refused.text
    name = league.proposal(1).pairs[4][0]
    assert len(sat.get(f"/leagues/club/proposals/1?search={name}").all("fieldset")) == 1


def test_no_page_says_to_learn_where_nothing_was_given_up(club: Any, desk: Callable[..., Desk]) -> None:
    sat = desk("read")
    for _ in range(12):
        club.ask()
    said = set()
    for number in range(1, club.about()["n_proposals"] + 1):
        text = sat.get(f"/leagues/club/proposals/{number}").plain
        chip = "to learn" in text.replace("Given up to learn", "").replace("to learn more", "")
        assert chip != ("nothing was given up" in text)
        said.add(chip)
    assert said == {True, False}


def an_item(number: int) -> Item:
    return Item(number, f"p{number}", None, active=True, forgotten=False, byes=0, meetings=0)


def met(a: int, b: int, count: int = 2, total: float = 1.0) -> PairResult:
    return PairResult((a, b), (f"p{a}", f"p{b}"), count, total)


def test_the_map_of_few_is_a_table_too_and_symmetric() -> None:
    drawn = meetings_map([an_item(k) for k in (3, 1, 2)], None, [met(1, 3, 4), met(1, 2)])
    assert drawn.data is not None
    assert drawn.data["cells"] == [[1, 0, 4, 0.25], [1, 2, 2, 0.5]]
    assert (drawn.data["most"], drawn.data["means"]) == (4, [0.25, 0.5])
    assert drawn.matrix is not None
    assert [cells for _, cells in drawn.matrix] == [[None, 4, 0], [4, None, 2], [0, 2, None]]
    assert drawn.words == "2 of 3 possible pairs have met."


def test_the_map_of_two_sides_has_rows_and_columns() -> None:
    drawn = meetings_map([an_item(1)], [an_item(2), an_item(3)], [met(1, 3)])
    assert drawn.data is not None
    assert (drawn.data["same"], drawn.data["cells"]) == (False, [[0, 1, 2, 0.5]])
    assert drawn.matrix is not None
    assert [cells for _, cells in drawn.matrix] == [[0, 2]]


def test_the_map_of_many_shows_no_more_than_can_be_seen() -> None:
    items = [an_item(k) for k in range(1, 501)]
    drawn = meetings_map(items, None, [met(k, k + 1) for k in range(1, 500)])
    assert drawn.matrix is None
    assert len(items) > MAX_SQUARES > MAX_MATRIX
    assert drawn.data is not None
    assert len(drawn.data["rows"]) == MAX_SQUARES
    assert len(drawn.data["cells"]) == MAX_SQUARES - 1
    assert "first 400" in drawn.words


@pytest.mark.slow
def test_the_map_of_many_who_all_met_shows_as_many_as_fit_and_all_their_meetings() -> None:
    items = [an_item(k) for k in range(1, 301)]
    drawn = meetings_map(items, None, [met(a, b) for a in range(1, 301) for b in range(a + 1, 301)])
    assert drawn.data is not None
    shown = len(drawn.data["rows"])
    assert len(drawn.data["cells"]) == shown * (shown - 1) // 2 <= MAX_CELLS < (shown + 1) * shown // 2
    assert f"the first {shown} of the ranking" in drawn.words


def one(number: int, results: int, reward: float, expected: float | None, best: float | None) -> ProposalSummary:
    """A proposal of four pairs, `expected` and `best` per pair."""
    share = None if expected is None or not best else max(0.0, 1 - expected / best)
    total = None if expected is None else 4 * expected
    of_told = results * (expected or 0.0)
    return ProposalSummary(
        number, "", None, 4, results, 0, reward, of_told, total, None if best is None else 4 * best, share
    )


def test_all_curves_are_averages_over_the_same_results() -> None:
    history = [one(1, 4, 1.0, 0.4, 0.5), one(2, 0, 0.0, 0.5, 0.5), one(3, 1, 1.0, 0.6, 0.7)]
    reward, exploring = charts(history)
    achieved, expected, best = reward.lines
    for line in reward.lines:
        assert line.x.tolist() == [1, 3]  # the second has no results, and is compared with nothing
    assert achieved.y.tolist() == pytest.approx([0.25, 2 / 5])
    assert expected.y.tolist() == pytest.approx([0.4, (4 * 0.4 + 0.6) / 5])
    assert best.y.tolist() == pytest.approx([0.5, (4 * 0.5 + 0.7) / 5])
    dots, share = exploring.lines
    assert dots.y.tolist() == pytest.approx([20, 0, 100 / 7])
    assert share.y.tolist() == pytest.approx([20, 10, (20 + 100 / 7) / 3])
    assert charts([]) == []
    assert charts([one(1, 0, 0.0, None, None)]) == []
    (unexpected,) = charts([one(1, 4, 1.0, None, None)])
    assert [len(line.x) for line in unexpected.lines] == [1, 0, 0]


@pytest.mark.slow
def test_long_histories_are_drawn_by_averages() -> None:
    rng = np.random.default_rng(1)
    rewards = rng.random(10_007)
    reward, exploring = charts([one(k + 1, 1, float(r), 0.4, 0.5) for k, r in enumerate(rewards)])
    for line in (*reward.lines, *exploring.lines):
        assert len(line.x) <= MAX_POINTS
        assert np.all(np.diff(line.x) > 0)
    weights = np.diff([0, *np.flatnonzero(np.diff(np.arange(10_007) // 42)) + 1, 10_007])
    mean = np.average(reward.lines[0].y, weights=weights)
    assert mean == pytest.approx(rewards.mean(), abs=1e-3)


def test_the_log_of_the_server_knows_neither_names_nor_secrets(
    club: Any, desk: Callable[..., Desk], lines: Callable[[], list[dict[str, object]]]
) -> None:
    sat = desk("admin")
    for path in pages_of(club):
        sat.get(path)
    sat.does("/leagues/club/items", names="Fay")
    sat.post("/leagues/club/items/1/name", name="Bob")
    text = json.dumps(lines())
    assert len(lines()) > 10
    for name in (*PEOPLE, "Fay", sat.csrf, sat.client.cookies["matchbandit"], "mbt_"):
        assert name not in text
    assert {line["token"] for line in lines() if "token" in line} == {tokens.list_all(club.store)[-1].id}
    assert {"club"} == {line["league"] for line in lines() if "league" in line}
    assert [line["code"] for line in lines() if "code" in line] == ["name-taken"]


def test_where_the_store_lies_is_not_told_on_a_page(
    club: Any, desk: Callable[..., Desk], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sat = desk()
    again = sat.post("/new", slug="club", first="Ann\nBob")
    assert again.status_code == 409
    assert store.where not in again.text

    def fails(*_: Any, **__: Any) -> None:
        raise LeagueError("store-unusable", "the store sqlite:////secret/path is full.")

    monkeypatch.setattr("matchbandit.live.league.League.join", fails)
    shown = sat.post("/leagues/club/items", names="Fay")
    assert (shown.status_code, "secret" in shown.text) == (503, False)
    monkeypatch.setattr("matchbandit.service.sessions.find", fails)
    shown = sat.client.get("/")
    assert (shown.status_code, "secret" in shown.text) == (503, False)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/leagues/club/proposals", {"roster": "x", "here": "9" * 5000}),
        ("/new", {"slug": "other", "first": "Ann\nBob", "no_rematch": "inf"}),
        ("/new", {"slug": "other", "first": "Ann\nBob", "no_rematch": "0.5"}),
    ],
)
def test_a_form_with_nonsense_in_it_is_refused(
    club: Any, desk: Callable[..., Desk], path: str, fields: dict[str, str]
) -> None:
    assert desk().post(path, **fields).status_code == 422


def test_an_archived_league_says_so(store: Store, club: Any, desk: Callable[..., Desk]) -> None:
    client = desk("read").client
    assert "archived: read only" not in client.get("/leagues/club").text
    store.archive("club")
    assert "archived: read only" in client.get("/leagues/club").text
