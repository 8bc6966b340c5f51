"""The dashboard over ASGI, as a browser without scripts uses it: pages are read, forms are filled in and sent."""

import csv
import io
import json
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import pytest
from httpx import Client

from matchbandit.leagues import VOID, League, Store, tokens
from matchbandit.leagues.service.dashboard import pages, tables
from matchbandit.leagues.settings import LeagueSettings

HOSTILE = "<script>alert(1)</script>\"'&"
ORIGIN = {"Origin": "http://here"}
PAGES = (
    *("", "/ranking", "/results", "/progress", "/model", "/proposals", "/proposals/1", "/proposals/1?correct=1"),
    *("/items", "/items/3", "/items/3/erase", "/pair", "/pair?first=%231&second=%233", "/rules", "/history"),
    *("/settings", "/confirm/archive", "/confirm/delete"),
)
FORMS = (
    "ask",
    "proposals/1/tell",
    "proposals/1/void",
    "items",
    "items/1/leave",
    "rules",
    "settings",
    "lifecycle/archive",
)
TABLES = ("items", "ranking", "results", "rules", "proposals", "pairs", "progress", "history")
VOID_ELEMENTS = ("meta", "link", "input", "br", "path", "polyline", "polygon")


class Page(HTMLParser):
    """A page as a browser reads it: elements, visible text, and forms with the values that they would send."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source, self.text, self.elements = text, "", list[tuple[str, dict[str, str]]]()
        self.forms: list[tuple[str, list[tuple[str, str]]]] = []
        self._open, self._field = list[str](), ""
        self.feed(text)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag not in VOID_ELEMENTS:
            self._open.append(tag)
        if tag == "form":
            self.forms.append((attributes.get("action", ""), []))
        name, value = attributes.get("name"), attributes.get("value", "")
        if tag in ("select", "textarea"):
            self._field = name or ""
        if tag == "textarea":
            self.forms[-1][1].append((self._field, ""))
        if (
            tag == "option"
            and "select" in self._open
            and ("selected" in attributes or self._field not in self.fields())
        ):
            self.fill(self._field, value)
        chosen = attributes.get("type") not in ("radio", "checkbox") or "checked" in attributes
        if tag == "input" and name and "form" in self._open and chosen:
            self.forms[-1][1].append((name, value))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "textarea":
            self.fill(self._field, data.removeprefix("\n"))
        elif "style" not in self._open and "script" not in self._open:
            self.text += f"{data} "

    def fields(self) -> list[str]:
        return [name for name, _ in self.forms[-1][1]]

    def fill(self, field: str, value: str) -> None:
        rest = [row for row in self.forms[-1][1] if row[0] != field]
        self.forms[-1] = (self.forms[-1][0], [*rest, (field, value)])

    def form(self, action: str) -> dict[str, Any]:
        """What the form with this address would send."""
        (found,) = [fields for address, fields in self.forms if address == action]
        content = dict[str, Any]()
        for name, value in found:
            content[name] = [*content.get(name, []), value]
        return content

    def links(self) -> list[str]:
        return [attributes["href"] for tag, attributes in self.elements if tag == "a"]


class Desk:
    """Somebody at the dashboard, logged in with a token of this scope."""

    def __init__(self, client: Client, token: str) -> None:
        self.client = client
        assert self.post("/login", token=token).status_code == 303

    def page(self, path: str, status: int = 200) -> Page:
        response = self.client.get(path, headers={"Accept": "text/html"}, follow_redirects=False)
        assert response.status_code == status, (path, response.status_code, response.text[-500:])
        return Page(response.text)

    def post(self, path: str, headers: dict[str, str] = ORIGIN, **fields: Any) -> Any:
        headers = {"Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded", **headers}
        return self.client.post(path, data=fields, headers=headers, follow_redirects=False)

    def send(self, where: str, action: str, **typed: Any) -> Any:
        """Fill in the form with this address that is on the page at `where`, and send it."""
        content = {**self.page(where).form(action), **typed}
        return self.post(action, **{name: value for name, value in content.items() if value is not None})

    def done(self, where: str, action: str, **typed: Any) -> Page:
        """Send a form that must be accepted; returns the page that follows."""
        response = self.send(where, action, **typed)
        assert response.status_code == 303, Page(response.text).text
        return self.page(response.headers["location"])

    def refused(self, where: str, action: str, **typed: Any) -> Page:
        """Send a form that must be refused with a message; returns the page, which has what was typed."""
        response = self.send(where, action, **typed)
        assert response.status_code in (409, 422), response.status_code
        page = Page(response.text)
        assert ("p", {"class": "note bad", "role": "alert", "id": "error"}) in page.elements
        return page


@pytest.fixture
def client(transport):
    with Client(transport=transport(), base_url="http://here", follow_redirects=True) as client:
        yield client


@pytest.fixture
def desk(client, store):
    return new_desk(client, store)


def new_desk(client: Client, store: Store, scope: str = "admin", leagues: list[str] | None = None) -> Desk:
    return Desk(client, tokens.create(store, "Front desk", scope=scope, leagues=leagues)[1])


@pytest.fixture
def club(store):
    """Five players, one of them with a hostile name; proposal 1 is recorded, and proposal 2 is open."""
    return fill(store.create("club", players=["Ann", "Bob", HOSTILE, "Dee", "Eve"], seed=1))


def fill(league: League, rounds: int = 1) -> League:
    for _ in range(rounds):
        proposal = league.ask()
        league.tell(proposal.number, {pair.ids: float(sum(pair.ids) % 2) for pair in proposal.pairs})
    league.ask()
    return league


def field(league: League, number: int, position: int = 0) -> str:
    """The name of the field for the outcome of a pair."""
    return "outcome-{}-{}".format(*league.proposal(number).pairs[position].ids)


# Logging in ----------------------------------------------------------------------------------------------------------


def test_pages_without_a_session_lead_to_the_login_and_back(club, client, store):
    response = client.get("/leagues/club/ranking", headers={"Accept": "text/html"}, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, "/login?next=/leagues/club/ranking")
    token = tokens.create(store, "Front desk", scope="read")[1]
    form = Page(client.get("/login?next=/leagues/club/ranking").text).form("/login")
    response = client.post("/login", data=form | {"token": token}, headers=ORIGIN, follow_redirects=False)
    assert response.headers["location"] == "/leagues/club/ranking"
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert token not in cookie


@pytest.mark.parametrize("elsewhere", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:1"])
def test_log_in_leads_to_no_other_site(client, store, elsewhere):
    token = tokens.create(store, "Front desk")[1]
    content = {"token": token, "next": elsewhere}
    response = client.post("/login", data=content, headers=ORIGIN, follow_redirects=False)
    assert response.headers["location"] == "/"


def test_log_in_refuses_a_wrong_token(client):
    response = client.post("/login", data={"token": "mbt_nonsense"}, headers=ORIGIN)
    assert response.status_code == 401
    assert "no such token" in Page(response.text).text
    assert "mbt_nonsense" not in response.text


def test_a_session_ends_by_logging_out_and_with_its_token(club, client, store):
    desk, cookie = new_desk(client, store), dict(client.cookies)
    assert desk.done("/", "/logout").text.startswith("Log in")
    client.cookies.update(cookie)
    desk.page("/", 303)
    response = desk.post("/leagues/club/ask", ORIGIN | {"Referer": "http://here/leagues/club"})
    assert response.headers["location"] == "/login?next=/leagues/club"
    assert desk.post("/leagues/club/ask", ORIGIN | {"Referer": "http://["}).headers["location"] == "/login?next=/"
    desk = new_desk(client, store)
    tokens.revoke(store, tokens.list_all(store)[-1].id)
    desk.page("/", 303)


def test_a_token_opens_its_own_leagues_only(club, client, store):
    store.create("other", players=["a", "b"])
    desk = new_desk(client, store, leagues=["other"])
    assert "/leagues/club" not in desk.page("/").links()
    assert "/leagues/other" in desk.page("/").links()
    for path in ("", "/settings", "/tables/items.csv", "/confirm/delete"):
        desk.page(f"/leagues/club{path}", 404)
    assert desk.post("/leagues/club/lifecycle/delete").status_code == 404
    assert desk.send("/new", "/new", slug="third", **{"first-names": "a\nb"}).status_code == 403


@pytest.mark.parametrize(("scope", "allowed"), [("read", 0), ("play", 3), ("admin", len(FORMS))])
def test_a_scope_shows_its_forms_and_refuses_others(club, client, store, scope, allowed):
    desk, shown = new_desk(client, store, scope), set[str]()
    for path in PAGES:
        is_admin = "/erase" in path or "/confirm" in path
        page = desk.page(f"/leagues/club{path}", 403 if is_admin and scope != "admin" else 200)
        shown |= {action for action, _ in page.forms if action.startswith("/leagues")}
    of_players = {path for path in shown if path.rpartition("/")[2] in ("ask", "tell", "correct", "void")}
    assert bool(of_players) == (allowed > 0)
    assert bool(shown - of_players) == (scope == "admin")
    for form in FORMS[allowed:]:
        assert desk.post(f"/leagues/club/{form}", key="1").status_code == 403, form
    assert desk.page("/new", 200 if scope == "admin" else 403)


# Safety --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://here", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://here"}, 303),
        ({"Origin": "https://public.example", "Sec-Fetch-Site": "same-origin"}, 303),  # a proxy renames the host
    ],
)
def test_a_form_must_be_sent_from_our_own_pages(club, desk, headers, status):
    n_changes = club.info().version
    assert desk.post("/leagues/club/proposals/2/void", headers).status_code == status
    assert club.info().version == n_changes + (status == 303)
    assert desk.post("/login", headers, token="mbt_nonsense").status_code == (401 if status == 303 else 403)


def test_pages_run_nothing_but_our_own_files(club, desk):
    for path in ("/", "/new", "/login", "/nothing", *(f"/leagues/club{path}" for path in PAGES)):
        response = desk.client.get(path, headers={"Accept": "text/html"})
        if path == "/nothing":
            continue
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert response.headers["cache-control"] == "no-store"
        page = Page(response.text)
        for tag, attributes in page.elements:
            assert tag not in ("style", "iframe", "object", "base"), path
            assert "style" not in attributes, (path, tag)
            assert not any(name.startswith("on") for name in attributes), (path, tag)
            for name in ("href", "src", "action"):
                assert not urlsplit(attributes.get(name, "")).netloc, (path, attributes)
        assert [attributes["src"].partition("?")[0] for tag, attributes in page.elements if tag == "script"] == [
            "/static/dashboard.js"
        ]
    assert desk.client.get("/static/dashboard.js").status_code == 200


def test_hostile_names_are_text(store, desk):
    league = fill(store.create("club", players=["Ann", "Bob", HOSTILE], title=HOSTILE))
    league.exclude([("Ann", HOSTILE)])
    n_shown = 0
    for path in PAGES:
        page = desk.page(f"/leagues/club{path}")
        assert not any(tag == "script" and "src" not in attributes for tag, attributes in page.elements)
        n_shown += HOSTILE in page.text
    assert n_shown >= 15
    page = desk.refused("/leagues/club", "/leagues/club/ask", absent=HOSTILE + "?")
    assert HOSTILE in page.text


def test_every_field_and_table_is_described(club, desk):
    for path in ("/", "/new", "/login", *(f"/leagues/club{path}" for path in PAGES)):
        page = desk.page(path)
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids)), path
        labelled = {attributes["for"] for tag, attributes in page.elements if tag == "label" and "for" in attributes}
        for tag, attributes in page.elements:
            if tag in ("input", "select", "textarea") and attributes.get("type") not in ("hidden", "radio", "checkbox"):
                is_described = attributes.get("id") in labelled or "aria-label" in attributes or "hidden" in attributes
                assert is_described, (path, attributes)
            for name in ("aria-describedby", "aria-labelledby"):
                assert set(attributes.get(name, "").split()) <= set(ids), (path, attributes)
            if tag == "th":
                assert attributes.get("scope") in ("row", "col")
            if tag == "svg":
                assert "aria-label" in attributes or "aria-labelledby" in attributes
        assert sum(tag == "h1" for tag, _ in page.elements) == 1


@pytest.mark.parametrize(
    ("content", "status"),
    [
        pytest.param(b"key=%00", 400, id="null"),
        pytest.param(b"key=%ff", 400, id="escaped byte"),
        pytest.param(b"key=\xff", 400, id="byte"),
        pytest.param(b"a=&" * 3_000, 400, id="many fields"),
        pytest.param(b"a" * (2**20 + 1), 413, id="long"),
        pytest.param(b"key=1&outcome-1-x=1", 400, id="no number"),
        pytest.param(b"key=1&outcome-1-2-3=1", 400, id="three numbers"),
    ],
)
def test_a_form_with_nonsense_is_refused(club, desk, content, status):
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html", **ORIGIN}
    response = desk.client.post("/leagues/club/proposals/2/tell", content=content, headers=headers)
    assert response.status_code == status
    assert club.proposal(2).waiting == 2


def test_a_wrong_address_is_explained_on_a_page(club, desk):
    home = f"/leagues/{club.slug}"
    wrong = {
        404: (
            "/nothing",
            "/leagues/nothing",
            *(f"{home}/{path}" for path in ("proposals/9", "items/9", "tables/x.csv")),
        ),
        400: (
            "/leagues/%00",
            "/?search=%00",
            *(f"{home}/{path}" for path in ("proposals/x", f"items/{10**20}", "confirm/x")),
        ),
        422: (f"{home}/history?since=yesterday", f"{home}/rules?after=x", f"{home}/rules?after=9999999999-1"),
    }
    for status, paths in wrong.items():
        for path in paths:
            page = desk.page(path, status)
            assert sum(tag == "h1" for tag, _ in page.elements) == 1
            assert "/" in page.links()


# Proposals and outcomes ----------------------------------------------------------------------------------------------


def test_ask_proposes_pairs_and_two_clicks_are_one_request(club, desk):
    content = desk.page("/leagues/club").form("/leagues/club/ask")
    places = [desk.post("/leagues/club/ask", **content).headers["location"] for _ in range(2)]
    assert places == ["/leagues/club?done=ask:3"] * 2
    assert "Proposal 3 is ready." in desk.page(places[0]).text
    assert club.info().proposals == 3
    content |= {"absent": ["#1"]}  # "back", and another tick
    assert desk.post("/leagues/club/ask", **content).headers["location"] == "/leagues/club?done=ask:4"


def test_ask_without_those_who_are_absent_and_with_fixed_pairs(club, desk):
    desk.done("/leagues/club", "/leagues/club/ask", absent=["#1", "#2"], fixed="Dee + Eve\n")
    (pair,) = club.proposal(3).pairs
    assert pair.names == ("Dee", "Eve")
    assert pair.fixed
    page = desk.refused("/leagues/club", "/leagues/club/ask", absent=["#1"], fixed="Dee, Zoe")
    assert "Zoe" in page.text
    content = page.form("/leagues/club/ask")
    assert (content["absent"], content["fixed"]) == (["#1"], ["Dee, Zoe"])


def test_ask_in_a_large_league_takes_names(store, desk, monkeypatch):
    monkeypatch.setattr(pages, "MAX_NAMES", 3)
    league = store.create("hall", sides={"ads": ["a", "b", "x"], "slots": ["s", "x"]})
    desk.done("/leagues/hall", "/leagues/hall/ask", absent="name;side\n a ;ads\n#5")
    assert [pair.names for pair in league.proposal(1).pairs] in ([("b", "s")], [("x", "s")])
    for name, problem in (("nobody", "is not active"), ("x", "is on both sides")):
        page = desk.refused("/leagues/hall", "/leagues/hall/ask", absent=name)
        assert problem in page.text
        assert page.form("/leagues/hall/ask")["absent"] == [name]


def test_outcomes_are_recorded_and_those_left_out_stay_open(club, desk):
    page = desk.done("/leagues/club", "/leagues/club/proposals/2/tell", **{field(club, 2): "1"})
    assert "Outcomes recorded: 1." in page.text
    assert "1 of 2 outcomes missing" in page.text
    page = desk.done("/leagues/club", "/leagues/club/proposals/2/tell")
    assert "Nothing was changed" in page.text
    page = desk.done("/leagues/club/proposals/2", "/leagues/club/proposals/2/tell", **{field(club, 2, 1): "void"})
    assert [pair.outcome for pair in club.proposal(2).pairs] == [1.0, VOID]
    assert page.text.count("Proposal 2") >= 1
    assert "All outcomes are recorded." in desk.page("/leagues/club").text
    desk.done("/leagues/club", "/leagues/club/ask")
    page = desk.done("/leagues/club/proposals/3", "/leagues/club/proposals/3/void")
    assert "Outcomes recorded as void: 2." in page.text
    assert club.proposal(3).waiting == 0


def test_numbers_are_typed_with_a_point_or_a_comma_and_kept_after_an_error(store, desk):
    league = store.create("lab", players=["a", "b", "c", "d"], rewards="binomial:4")
    league.ask()
    first, second = field(league, 1), field(league, 1, 1)
    for where in ("/leagues/lab", "/leagues/lab/proposals/1"):
        for wrong in ("0.3", "much", "nan"):
            page = desk.refused(where, "/leagues/lab/proposals/1/tell", **{first: "0,75", second: wrong})
            content = page.form("/leagues/lab/proposals/1/tell")
            assert (content[first], content[second]) == (["0,75"], [wrong])
    assert league.proposal(1).waiting == 2
    typed = {first: "0,75", second.replace("outcome", "void"): "1"}
    desk.done("/leagues/lab", "/leagues/lab/proposals/1/tell", **typed)
    assert [pair.outcome for pair in league.proposal(1).pairs] == [0.75, VOID]


def test_corrections_change_only_what_was_changed(club, desk):
    where, action = "/leagues/club/proposals/1?correct=1", "/leagues/club/proposals/1/correct"
    assert where.removeprefix("/leagues/club/proposals/1") in desk.page("/leagues/club/proposals/1").links()
    old = desk.page(where).form(action)
    first, second = club.proposal(1).pairs
    club.correct(1, {second.ids: VOID})  # meanwhile somebody else corrects the other pair
    desk.post(action, **{**old, field(club, 1): str(1 - int(first.outcome or 0))})
    outcomes = [pair.outcome for pair in club.proposal(1).pairs]
    assert outcomes == [1 - float(first.outcome or 0), VOID]
    assert "Proposal 1 was corrected" in desk.page("/leagues/club/history").text
    page = desk.refused(where, action, **{field(club, 1): "2"})
    assert "Save corrections" in page.text


def test_expectations_begin_with_the_first_data(club, store, desk):
    page = desk.page("/leagues/club/proposals/1")
    assert page.text.count("no data yet") == 3  # of the proposal, and of each pair
    pair = club.proposal(2).pairs[0]
    assert f"{pair.expected:.2f} ({pair.low:.2f}–{pair.high:.2f})" in desk.page("/leagues/club/proposals/2").text
    store.create("new", players=["a", "b"])
    for path in ("", "/ranking", "/results", "/progress", "/items/1"):
        assert "no data yet" in desk.page(f"/leagues/new{path}").text


# Items and rules -----------------------------------------------------------------------------------------------------


def test_items_join_leave_rejoin_and_are_renamed(club, desk):
    page = desk.done("/leagues/club/items", "/leagues/club/items", names='name,note\n"Lee, Jr.",1\nFay,2\n')
    assert "Names added: 2." in page.text
    assert "Lee, Jr." in page.text
    page = desk.refused("/leagues/club/items", "/leagues/club/items", names="Gus\n\u202eevil")
    assert page.form("/leagues/club/items")["names"] == ["Gus\n\u202eevil"]
    assert club.info().items == 7
    assert "Ann has left" in desk.done("/leagues/club/items/1", "/leagues/club/items/1/leave").text
    assert "Ann has left" not in desk.done("/leagues/club/items/1", "/leagues/club/items/1/rejoin").text
    desk.done("/leagues/club/items/1", "/leagues/club/items/1/rename", name="Anna")
    page = desk.refused("/leagues/club/items/1", "/leagues/club/items/1/rename", name="Bob")
    assert page.form("/leagues/club/items/1/rename")["name"] == ["Bob"]
    assert club.items()[0].name == "Anna"


def test_erase_name_asks_first(club, desk):
    assert "/leagues/club/items/1/erase" in desk.page("/leagues/club/items/1").links()
    assert "cannot be undone" in desk.page("/leagues/club/items/1/erase").text
    assert not club.items()[0].erased
    page = desk.done("/leagues/club/items/1/erase", "/leagues/club/items/1/erase_name")
    assert "#1" in page.text
    assert "Ann" not in desk.page("/leagues/club/history").text
    assert [address for address, _ in page.forms] == ["/logout"]


def test_rules_are_added_and_removed(club, desk):
    where = "/leagues/club/rules"
    page = desk.done(where, where, first="Ann", second="Bob")
    assert "Ann + Bob excluded" in page.text
    assert [rule.kind for rule in club.rules()] == ["exclude"]
    page = Page(desk.post(where, key="1", action="pin", first="Ann", second="Bob").text)
    adding, removing = sorted((dict(fields) for address, fields in page.forms if address == where), key=len)[::-1]
    assert "Remove the exclusion" in page.text
    assert adding["action"] == "pin"
    assert adding["second"] == "Bob"
    assert desk.post(where, **removing).status_code == 303
    assert not club.rules().rows


def test_a_pair_is_explained_and_ruled_on_its_page(club, desk):
    page = desk.page("/leagues/club/pair?first=Ann&second=Dee")
    assert str(club.why("Ann", "Dee").sentence) in page.text
    fields = next(fields for _, fields in page.forms if ("action", "pin") in fields)
    assert desk.post("/leagues/club/rules", **dict(fields)).status_code == 303
    assert "They are pinned" in desk.page("/leagues/club/pair?first=Ann&second=Dee").text
    page = desk.page("/leagues/club/pair?first=Ann&second=Zoe", 422)
    assert "Zoe" in page.text
    assert ("input", "Zoe") in [(tag, each.get("value")) for tag, each in page.elements]


# Leagues and settings ------------------------------------------------------------------------------------------------


def test_a_league_is_created_of_players_or_two_sides(store, desk):
    typed = {"slug": "chess", "first-names": "Ann\nBob\n", "title": "Chess", "deadline": "3d", "policy": "cucb"}
    page = desk.done("/new", "/new", **typed)
    assert "The league was created." in page.text
    info = store.open("chess").info()
    assert (info.active, info.title, info.settings["deadline"], info.settings["policy"]) == (2, "Chess", 259200, "cucb")
    page = desk.refused("/new", "/new", **typed)
    assert {name: page.form("/new")[name] for name in typed} == {name: [text.strip()] for name, text in typed.items()}
    sides = {"first-side": "ads", "second-side": "slots", "first-names": "a\nb", "second-names": "top"}
    assert "different names" in desk.refused("/new", "/new", slug="ads", **sides | {"second-side": ""}).text
    desk.done("/new", "/new", slug="ads", rewards="gaussian:0.5", **sides)
    assert store.open("ads").info().sides == ["ads", "slots"]
    assert store.open("ads").info().rewards == "gaussian:0.5"


def test_settings_change_only_what_was_changed(club, desk):
    where = action = "/leagues/club/settings"
    assert set(LeagueSettings.names()) <= set(desk.page(where).form(action))
    old = desk.page(where).form(action)
    club.configure(no_rematch=2)  # meanwhile
    assert desk.post(action, **{**old, "title": "Chess"}).status_code == 303
    settings = club.info().settings
    assert (settings["title"], settings["no_rematch"]) == ("Chess", 2)
    typed = {"deadline": "36 hours", "default": "0", "options": "half_life=50", "record_propensity": "10"}
    assert "The change was saved." in desk.done(where, action, **typed).text
    settings = club.info().settings
    assert (settings["deadline"], settings["default"], settings["options"]) == (129600, 0.0, {"half_life": 50})
    for name, wrong in (("deadline", "soon"), ("no_rematch", "1.5"), ("options", "x"), ("default", "7")):
        page = desk.refused(where, action, **{name: wrong})
        assert page.form(action)[name] == [wrong]
        assert wrong in page.text


def test_a_league_is_archived_restored_and_deleted_after_a_question(club, store, desk):
    assert {"/leagues/club/confirm/archive", "/leagues/club/confirm/delete"} <= set(
        desk.page("/leagues/club/settings").links()
    )
    page = desk.done("/leagues/club/confirm/archive", "/leagues/club/lifecycle/archive")
    assert "The league is archived" in page.text
    assert "/leagues/club/confirm/restore" in page.links()
    assert [address for address, _ in page.forms] == ["/logout"]
    assert desk.post("/leagues/club/ask", key="1").status_code == 409
    assert "/leagues/club" in desk.page("/?status=archived").links()
    desk.done("/leagues/club/confirm/restore", "/leagues/club/lifecycle/restore")
    page = desk.done("/leagues/club/confirm/delete", "/leagues/club/lifecycle/delete")
    assert "can be restored for 30 days" in page.text
    assert "/leagues/club" not in page.links()
    desk.page("/leagues/club", 404)
    assert "/leagues/club/confirm/restore" in desk.page("/?status=deleted").links()
    desk.done("/leagues/club/confirm/restore", "/leagues/club/lifecycle/restore")
    assert store.open("club").info().deleted_at is None


def test_a_warning_is_on_every_page_with_what_can_be_done(store, desk):
    league = store.create("odd", players=[f"p{k}" for k in range(8)], seed=1)
    for _ in range(40):
        proposal = league.ask()
        league.tell(proposal.number, {pair.ids: float(sum(pair.ids) % 2) for pair in proposal.pairs})
    warning = league.why().warning
    assert warning is not None
    for path in PAGES:
        if "confirm" not in path and "erase" not in path:
            page = desk.page(f"/leagues/odd{path}")
            assert warning in page.text
            assert {"/leagues/odd/settings", "/leagues/odd/model"} <= set(page.links())
    assert "model does not fit" in desk.page("/").text
    names = league.fit().worst[0][0]
    model = desk.page("/leagues/odd/model")
    assert " + ".join(names) in model.text
    assert "/leagues/odd/tables/deviations.csv" in model.links()
    assert desk.client.get("/leagues/odd/tables/deviations.json").json()[0]["names"] == list(names)


# Lists, tables and charts --------------------------------------------------------------------------------------------


def test_lists_lead_to_every_row(store, desk, monkeypatch):
    monkeypatch.setattr(pages, "PAGE_SIZE", 3)
    league = fill(store.create("club", players=[f"Player {k}." for k in range(8)], seed=1), rounds=6)
    league.exclude([(f"Player {k}.", "Player 0.") for k in range(1, 6)])
    for k in range(4):
        store.create(f"other-{k}", players=["a", "b"])
    wanted = {
        "/leagues/club/items": [f"Player {k}." for k in range(8)],
        "/leagues/club/ranking": [f"Player {k}." for k in range(8)],
        "/leagues/club/rules": [f"Player 0. + Player {k}." for k in range(1, 6)],
        "/leagues/club/results": [" + ".join(row.names) for row in league.results()],
        "/leagues/club/proposals": [f"/leagues/club/proposals/{k}" for k in range(7, 0, -1)],
        "/leagues/club/proposals/1": [" + ".join(pair.names) for pair in league.proposal(1).pairs],
        "/leagues/club/history": [change.sentence for change in league.history(newest_first=True)],
        "/": ["/leagues/club", *(f"/leagues/other-{k}" for k in range(4))],
    }
    for path, rows in wanted.items():
        seen, n_pages, where = "", 0, path
        while where:
            page = desk.page(where)
            seen, n_pages = f"{seen} {page.text} {page.links()}", n_pages + 1
            following = [link for link in page.links() if link.startswith("?") and "after=" in link]
            where = f"{path}{following[0]}" if following else ""
            assert n_pages < 20, path
        assert n_pages > 1, path
        assert [row for row in rows if row not in seen] == [], path
    text = desk.page("/leagues/club/proposals").source
    assert text.index("/proposals/7") < text.index("/proposals/5")


def test_search_finds_names_and_leagues(club, store, desk):
    store.create("other", players=["a", "b"])
    assert "/leagues/other" not in desk.page("/?search=clu").links()
    for path in ("items", "ranking", "proposals/1"):
        page = desk.page(f"/leagues/club/{path}?search=dEE")
        names = {"Dee", "Ann"} - {name for pair in club.proposal(1).pairs if "Dee" in pair.names for name in pair.names}
        assert "Dee" in page.text
        assert not names & set(page.text.split())


def test_history_is_filtered_by_time_and_names_tokens(store, clock, desk):
    club = fill(store.create("club", players=["Ann", "Bob"]))
    clock.forward(days=2)
    desk = new_desk(desk.client, store)  # the session has ended
    desk.done("/leagues/club", "/leagues/club/ask")
    assert "Front desk" in desk.page("/leagues/club/history").text
    old = desk.page("/leagues/club/history?until=2026-11-17")
    new = desk.page("/leagues/club/history?since=2026-11-17&until=2026-11-19")
    assert "Proposal 3" in new.text
    assert "Proposal 3" not in old.text
    assert "joined" in old.text
    rows = list(csv.DictReader(io.StringIO(desk.client.get("/leagues/club/tables/history.csv?since=2026-11-17").text)))
    assert [row["version"] for row in rows] == [str(club.info().version)]


def test_who_sits_out_of_unequal_sides_is_named(store, desk):
    (name,) = store.create("ads", sides={"ads": ["a", "b"], "slots": ["top"]}).ask().byes
    assert all(f"Sitting out: {name}" in desk.page(f"/leagues/ads{path}").text for path in ("", "/proposals/1"))


def test_tables_have_all_rows_as_csv_and_json(club, desk, monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 2)
    club.join("=1+1")
    club.exclude([("Ann", "=1+1"), ("Ann", "Bob"), ("Bob", "Dee")])
    links = {link.partition("?")[0] for path in PAGES for link in desk.page(f"/leagues/club{path}").links()}
    numbers = {"items": 6, "ranking": 6, "results": 2, "rules": 3, "proposals": 2, "pairs": 2, "progress": 2}
    for table in TABLES:
        path = f"/leagues/club/tables/{table}"
        response = desk.client.get(f"{path}.json?proposal=1")
        assert response.headers["content-disposition"].endswith(f'"club-{table}.json"')
        rows = response.json()
        read = list(csv.reader(io.StringIO(desk.client.get(f"{path}.csv?proposal=1").text)))
        assert len(rows) == len(read) - 1 == numbers.get(table, club.info().version), table
        assert len({len(row) for row in read}) == 1
        assert read[0] not in read[1:]
        assert not any(cell.startswith("=") for row in read for cell in row)
        assert f"{path}.csv" in links


def test_results_show_every_pair_of_a_small_league(club, desk):
    page = desk.page("/leagues/club/results")
    assert "Who met whom" in page.text
    first = club.results()[0]
    assert " + ".join(first.names) in page.text
    text = desk.client.get(f"/leagues/club/tables/results.json?id={first.ids[0]}").text
    assert [tuple(row["ids"]) for row in json.loads(text)] == [first.ids]


def test_progress_draws_what_was_expected_and_achieved(store, desk):
    league = fill(store.create("club", players=["Ann", "Bob", "Dee", "Eve"], seed=1), rounds=12)
    bins = [part for part in league.progress() if part.expected is not None]
    achieved = sum(part.reward for part in bins)
    page = desk.page("/leagues/club/progress")
    tags = [tag for tag, _ in page.elements]
    assert {"svg", "title", "desc", "polyline", "polygon"} <= set(tags)
    assert f"22 results achieved {achieved:.2f} in all" in page.text  # 24 without those before there were data
    assert f"{sum(part.expected for part in bins):.2f} were expected" in page.text
    assert f"The best guesses promised {sum(part.best for part in bins):.2f}" in page.text
    line = next(each["points"] for tag, each in page.elements if tag == "polyline" and each["class"] == "achieved")
    heights = [float(point.split(",")[1]) for point in line.split()]
    assert len(heights) == len(bins) + 1
    assert heights == sorted(heights, reverse=True)


@pytest.mark.parametrize("n_players", [3000])
def test_pages_of_a_large_league_are_small(store, desk, n_players):
    league = store.create("hall", players=[f"Player number {k} of the league" for k in range(n_players)])
    proposal = league.ask()
    league.tell(proposal.number, {pair.ids: float(sum(pair.ids) % 2) for pair in proposal.pairs})
    league.ask()
    for path in PAGES:
        if path != "/model":
            assert len(desk.page(f"/leagues/hall{path}").source) < 100_000, path
    assert len(desk.client.get("/leagues/hall/tables/items.csv").text.splitlines()) == n_players + 1


def test_all_pages_work_on_each_database(store_url, clock, transport):
    with (
        Store(store_url, clock=clock) as store,
        Client(transport=transport(store), base_url="http://here") as client,
    ):
        desk = new_desk(client, store)
        desk.done("/new", "/new", slug="club", **{"first-names": "Ann\nBob\nDee\nEve"})
        for number in (1, 2):
            desk.done("/leagues/club", "/leagues/club/ask")
            name = field(store.open("club"), number)
            desk.done("/leagues/club", f"/leagues/club/proposals/{number}/tell", **{name: "1"})
        for path in PAGES:
            desk.page(f"/leagues/club{path}")
        for table in TABLES:
            assert desk.client.get(f"/leagues/club/tables/{table}.csv?proposal=1").status_code == 200
        desk.page("/?search=clu&status=archived")
