"""The API, call by call: what a league does, over HTTP; who may; what is refused, and how."""

import json
from typing import Any

import pytest

from matchbandit.live.records import VOID
from matchbandit.service import tokens


@pytest.fixture
def store_with_club(store):
    club = store.create("club", players=["ann", "bob", "cem", "dee", "eve"], seed=1)
    store.create("other", sides={"ads": ["spring", "summer"], "slots": ["top", "left"]}, seed=2)
    return club


@pytest.fixture
def caller(served, bearer, store_with_club):
    """Calls the API with a token; gives status and JSON."""
    client = served()

    def calling(scope: str = "admin", *leagues: str) -> Any:
        headers = bearer(scope, *leagues)

        def call(method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any]:
            more = {} if key is None else {"Idempotency-Key": key}
            answer = client.request(method, f"/v1{path}", json=body, headers={**headers, **more})
            return answer.status_code, answer.json()

        return call

    return calling


def told(pairs, reward=1):
    return {"outcomes": [{"pair": pair["names"], "reward": reward} for pair in pairs]}


def test_a_day_of_a_league(caller, store):
    call = caller()
    status, today = call("POST", "/leagues/club/proposals", {"available": ["ann", "bob", 3]})
    assert status == 201
    assert (today["number"], today["open"], len(today["pairs"]), len(today["byes"])) == (1, True, 1, 1)
    pair = today["pairs"][0]
    items = {item["id"]: item["name"] for item in call("GET", "/leagues/club/items")[1]["items"]}
    assert [items[id] for id in pair["ids"]] == pair["names"]
    assert pair["outcome"] is None
    outcome = {"outcomes": [{"pair": pair["ids"][::-1], "reward": 1}]}
    assert call("POST", "/leagues/club/proposals/1/outcomes", outcome) == (
        200, {"proposal": 1, "booked": 1, "repeated": 0, "waiting": 0}
    )  # fmt: skip
    assert call("POST", "/leagues/club/proposals/1/outcomes", outcome)[1]["repeated"] == 1
    status, refusal = call("POST", "/leagues/club/proposals/1/outcomes", told(today["pairs"], 0))
    assert (status, refusal["code"]) == (409, "contradiction")
    assert call("POST", "/leagues/club/proposals/1/corrections", told(today["pairs"], "void"))[0] == 200
    _, seen = call("GET", "/leagues/club/proposals/1")
    assert (seen["open"], seen["pairs"][0]["outcome"]) == (False, "void")
    assert store.open("club").proposal(1).outcomes == {tuple(pair["names"]): VOID}
    kinds = [event["kind"] for event in call("GET", "/leagues/club/events")[1]["events"]]
    assert kinds == ["created", "joined", "proposed", "told", "corrected"]


def test_what_is_not_told_can_be_void_at_once(caller):
    call = caller()
    _, today = call("POST", "/leagues/club/proposals")
    assert len(today["pairs"]) == 2
    _, receipt = call("POST", "/leagues/club/proposals/1/void", {"pairs": [today["pairs"][0]["names"]]})
    assert (receipt["booked"], receipt["waiting"]) == (1, 1)
    assert call("POST", "/leagues/club/proposals/1/void")[1]["waiting"] == 0
    assert call("GET", "/leagues/club")[1]["n_results"] == 0


def test_a_repeat_under_a_key_is_the_same_answer_and_keys_are_the_token_s_own(caller):
    call, other = caller(), caller()
    first = call("POST", "/leagues/club/proposals", {}, "today")
    assert call("POST", "/leagues/club/proposals", {}, "today") == first
    status, refusal = call("POST", "/leagues/club/proposals", {"available": ["ann", "bob"]}, "today")
    assert (status, refusal["code"]) == (422, "key-reused")
    assert "today" in refusal["detail"]
    assert other("POST", "/leagues/club/proposals", {}, "today")[1]["number"] == 2
    for _ in range(2):
        assert call("POST", "/leagues", {"slug": "new", "players": ["a", "b"]}, "make")[0] == 201
    assert call("POST", "/leagues", {"slug": "new", "players": ["a", "b"]})[1]["code"] == "league-exists"
    for odd in ("", "x" * 101, "a b", "\t"):
        assert call("POST", "/leagues/club/proposals", {}, odd)[0] == 422


def test_items_join_leave_come_back_are_renamed_and_forgotten(caller, store):
    call = caller()
    status, joined = call("POST", "/leagues/club/items", {"names": ["fay", "gus"]})
    assert (status, [item["id"] for item in joined["items"]]) == (201, [6, 7])
    assert call("DELETE", "/leagues/club/items/6")[1]["active"] is False
    assert call("DELETE", "/leagues/club/items/6")[1]["active"] is False
    assert call("POST", "/leagues/club/items/6/return")[1]["active"] is True
    assert call("POST", "/leagues/club/items/7/name", {"name": "Gus"})[1]["name"] == "Gus"
    assert call("POST", "/leagues/club/items/7/forget")[1] == {
        "id": 7, "name": "#7", "side": None, "active": False, "forgotten": True, "byes": 0, "meetings": 0
    }  # fmt: skip
    assert call("POST", "/leagues/club/items/7/return")[1]["code"] == "not-supported"
    assert call("POST", "/leagues/club/items", {"names": ["ann"]})[1]["code"] == "name-taken"
    assert [item.name for item in store.open("club").items()][5:] == ["fay", "#7"]
    for method, path in (
        ("DELETE", "items/99"), ("POST", "items/99/forget"), ("POST", "items/99/return"), ("GET", "why/99"),
        ("GET", "why/1/99"),
    ):  # fmt: skip
        status, refusal = call(method, f"/leagues/club/{path}")
        assert (status, refusal["code"]) == (404, "not-found")


def test_rules_and_settings_change(caller):
    call = caller()
    assert call("POST", "/leagues/club/exclusions", {"pairs": [["bob", "ann"], [3, 4]]})[1]["pairs"] == [
        ["ann", "bob"], ["cem", "dee"]
    ]  # fmt: skip
    assert call("POST", "/leagues/club/exclusions/removals", {"pairs": [["ann", "bob"]]})[1]["pairs"] == [
        ["cem", "dee"]
    ]
    assert call("GET", "/leagues/club/exclusions")[1]["pairs"] == [["cem", "dee"]]
    assert call("POST", "/leagues/club/wishes", {"pairs": [["ann", "eve"], ["bob", "dee"]]})[0] == 200
    assert call("POST", "/leagues/club/wishes/removals", {"pairs": [["bob", "dee"]]})[1]["pairs"] == [["ann", "eve"]]
    assert call("GET", "/leagues/club/wishes")[1]["pairs"] == [["ann", "eve"]]
    _, today = call("POST", "/leagues/club/proposals")
    assert [pair["names"] for pair in today["pairs"] if pair["fixed"]] == [["ann", "eve"]]
    _, before = call("GET", "/leagues/club")
    changes = {"policy": "cucb", "deadline": 3600, "default": 0, "shadow": {"policy": "rank1-thompson"}}
    status, after = call("PATCH", "/leagues/club", changes)
    assert status == 200
    assert (after["policy"], after["deadline"], after["default"], after["no_rematch"]) == ("cucb", 3600, 0, 0)
    assert after["shadow"]["policy"] == "rank1-thompson"
    assert before["n_items"] == after["n_items"] == 5
    assert call("PATCH", "/leagues/club", {"deadline": None})[1]["deadline"] is None
    assert call("PATCH", "/leagues/club", {})[1] == call("GET", "/leagues/club")[1]
    assert "did you mean 'cucb'?" in call("PATCH", "/leagues/club", {"policy": "cubc"})[1]["detail"]


def test_an_infeasible_day_says_which_rule_to_relax(caller):
    call = caller()
    call("POST", "/leagues/club/exclusions", {"pairs": [["ann", "bob"]]})
    status, refusal = call("POST", "/leagues/club/proposals", {"available": ["ann", "bob"]})
    assert (status, refusal["code"]) == (409, "infeasible")


def test_two_sides_and_results_from_before(caller):
    call = caller()
    body = {
        "slug": "jobs", "sides": [{"name": "jobs", "items": ["dig"]}, {"name": "workers", "items": ["x", "y"]}],
        "rewards": "binomial:4", "seed": 0, "default": 0.5, "deadline": 60, "no_rematch": 2, "selection": "matching",
        "past": [{"pair": ["dig", "x"], "count": 3, "total": 1.5}, {"pair": ["cut", "y"], "total": 1}],
    }  # fmt: skip
    status, made = call("POST", "/leagues", body)
    assert status == 201, made
    assert (made["kind"], made["sides"], made["rewards"], made["n_items"]) == (
        "sides",
        ["jobs", "workers"],
        "binomial:4",
        4,
    )
    assert call("GET", "/leagues/jobs/results")[1]["results"] == [
        {"pair": ["dig", "x"], "ids": [1, 2], "count": 3, "total": 1.5},
        {"pair": ["cut", "y"], "ids": [4, 3], "count": 1, "total": 1.0},
    ]  # fmt: skip
    assert call("POST", "/leagues/jobs/items", {"names": ["z"], "side": "workers"})[1]["items"][0]["side"] == "workers"
    assert call("POST", "/leagues/jobs/items", {"names": ["z"], "side": "wrkers"})[0] == 422
    same = {**body, "slug": "twice", "sides": [{"name": "a"}, {"name": "a"}]}
    assert "two different names" in call("POST", "/leagues", same)[1]["detail"]


def test_what_is_known_and_why(caller, store_with_club):
    call = caller("read")
    for _ in range(20):
        today = store_with_club.ask()
        store_with_club.tell(today.number, {pair: int("ann" in pair) for pair in today.pairs})
    ranking = call("GET", "/leagues/club/ranking")[1]["ranking"]
    assert ranking[0]["name"] == "ann"
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in ranking)
    assert "ann" in call("GET", "/leagues/club/why/1")[1]["sentence"]
    assert call("GET", "/leagues/club/why/1")[1]["numbers"]["item"] == 1
    assert "bob" in call("GET", "/leagues/club/why/1/2")[1]["sentence"]
    for path in ("why", "proposals/3/why", "fit", "shadow"):
        status, answer = call("GET", f"/leagues/club/{path}")
        assert (status, bool(answer["sentence"])) == (200, True)
    meetings = call("GET", "/leagues/club/meetings")[1]
    assert sum(map(sum, meetings["counts"])) == 2 * 40
    assert len(call("GET", "/leagues/club/meetings?most=2")[1]["rows"]) == 2
    assert "".join(line["sentence"] for line in call("GET", "/leagues/club/audit")[1]["lines"]).count("ann") > 3


@pytest.mark.parametrize("what", ["events", "audit", "history", "proposals"])
@pytest.mark.sampled(1)
def test_long_answers_come_in_pages(caller, store_with_club, what):
    for _ in range(7):
        store_with_club.ask()
    call = caller("read")
    key = {"audit": "lines"}.get(what, what)
    whole = call("GET", f"/leagues/club/{what}?limit=1000")[1]
    assert whole["next"] is None
    pages, after = [], 0
    while after is not None:
        page = call("GET", f"/leagues/club/{what}?limit=3&after={after}")[1]
        assert len(page[key]) <= 3
        pages += page[key]
        after = page["next"]
    assert pages == whole[key]
    assert len(pages) == {"events": 9, "audit": 9}.get(what, 7)
    assert call("GET", f"/leagues/club/{what}?limit=1001")[0] == 422
    assert call("GET", f"/leagues/club/{what}?after=-1")[0] == 422


def test_open_proposals_alone(caller, store_with_club):
    for _ in range(4):
        store_with_club.ask()
    store_with_club.void(2)
    call = caller("read")
    found = call("GET", "/leagues/club/proposals?open=true&limit=2")[1]
    assert ([one["number"] for one in found["proposals"]], found["next"]) == ([1, 3], 3)
    assert [one["number"] for one in call("GET", "/leagues/club/proposals?open=true&after=3")[1]["proposals"]] == [4]


def test_an_export_comes_with_names_only_for_who_may(caller, served, store, store_with_club, bearer, tmp_path):
    store_with_club.ask()
    client = served()
    plain = client.get("/v1/leagues/club/export", headers=bearer("read", "club"))
    assert (plain.status_code, plain.headers["content-type"]) == (200, "application/x-ndjson")
    assert "ann" not in plain.text
    assert client.get("/v1/leagues/club/export?names=true", headers=bearer("play", "club")).status_code == 403
    whole = client.get("/v1/leagues/club/export?names=true", headers=bearer("admin", "club"))
    (tmp_path / "club.jsonl").write_bytes(whole.content)
    copy = store.import_league(tmp_path / "club.jsonl", slug="copy")
    assert copy.digest() == store_with_club.digest()
    assert [item.name for item in copy.items()] == [item.name for item in store_with_club.items()]


ROUTES = [
    ("read", "GET", ""), ("admin", "PATCH", ""), ("read", "GET", "/export"), ("play", "POST", "/proposals"),
    ("read", "GET", "/proposals"), ("read", "GET", "/proposals/1"), ("read", "GET", "/proposals/1/why"),
    ("play", "POST", "/proposals/1/outcomes"), ("play", "POST", "/proposals/1/corrections"),
    ("play", "POST", "/proposals/1/void"), ("read", "GET", "/items"), ("read", "GET", "/items/1"),
    ("play", "POST", "/outcomes"), ("admin", "POST", "/items"),
    ("admin", "DELETE", "/items/1"), ("admin", "POST", "/items/1/return"), ("admin", "POST", "/items/1/name"),
    ("admin", "POST", "/items/1/forget"), ("read", "GET", "/exclusions"), ("admin", "POST", "/exclusions"),
    ("admin", "POST", "/exclusions/removals"), ("read", "GET", "/wishes"), ("admin", "POST", "/wishes"),
    ("admin", "POST", "/wishes/removals"), ("read", "GET", "/ranking"), ("read", "GET", "/why"),
    ("read", "GET", "/why/1"), ("read", "GET", "/why/1/2"), ("read", "GET", "/fit"), ("read", "GET", "/shadow"),
    ("read", "GET", "/events"), ("read", "GET", "/audit"), ("read", "GET", "/history"), ("read", "GET", "/meetings"),
    ("read", "GET", "/results"), ("admin", "DELETE", ""), ("admin", "POST", "/archive"), ("admin", "POST", "/restore"),
    ("admin", "POST", "/verify"),
]  # fmt: skip


def test_every_route_is_listed_here(served):
    paths = served().app.openapi()["paths"]
    below = "/v1/leagues/{league}"
    listed = {(method.upper(), path) for path, methods in paths.items() for method in methods if path.startswith(below)}
    plain = {"/1/2": "/{id}/{other}", "/proposals/1": "/proposals/{number}", "/1": "/{id}"}
    spelled = set()
    for _, method, path in ROUTES:
        pattern = path
        for text, place in plain.items():
            pattern = pattern.replace(text, place)
        spelled.add((method, f"{below}{pattern}"))
    assert spelled == listed


def test_a_token_of_one_league_opens_no_other_and_learns_nothing_of_it(caller):
    for scope in tokens.SCOPES:
        call = caller(scope, "club")
        assert call("GET", "/leagues")[1]["leagues"] == ["club"]
        for _, method, path in ROUTES:
            there = call(method, f"/leagues/other{path}")
            nowhere = call(method, f"/leagues/nihil{path}")
            for status, refusal in (there, nowhere):
                assert (status, refusal["code"]) == (404, "unknown-league"), path
            assert there[1]["detail"].replace("other", "nihil") == nowhere[1]["detail"]
        status, refusal = call("POST", "/leagues", {"slug": "other", "players": []})
        assert (status, refusal["code"]) == (403, "not-allowed")
        assert refusal["detail"].replace("other", "nihil") == call("POST", "/leagues", {"slug": "nihil"})[1]["detail"]


@pytest.mark.parametrize("scope", ["read", "play"])
def test_a_scope_that_is_too_small_changes_nothing(caller, store_with_club, scope):
    store_with_club.ask()
    before = store_with_club.digest()
    call = caller(scope, "club")
    small = [route for route in ROUTES if tokens.SCOPES.index(route[0]) > tokens.SCOPES.index(scope)]
    assert len(small) >= 9
    for needed, method, path in small:
        status, refusal = call(method, f"/leagues/club{path}", {})
        assert (status, refusal["code"]) == (403, "not-allowed"), path
        assert needed in refusal["detail"]
    assert store_with_club.digest() == before
    enough = [route for route in ROUTES if route[0] == "read"]
    for _, method, path in enough:
        assert call(method, f"/leagues/club{path}")[0] == 200 if path != "/export" else True


def test_an_admin_of_one_league_may_make_that_one(caller):
    call = caller("admin", "spring")
    assert call("GET", "/leagues/spring")[0] == 404
    assert call("POST", "/leagues", {"slug": "spring", "players": ["a", "b"]})[0] == 201
    assert call("GET", "/leagues/spring")[0] == 200


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/leagues/club/proposals", {"available": ["annn", "bob"]}, "unknown-item"),
        ("/leagues/club/proposals/1/outcomes", {"outcomes": [{"pair": ["ann", "ann"], "reward": 1}]}, "bad-value"),
        ("/leagues/club/proposals/9/outcomes", {"outcomes": [{"pair": [1, 2], "reward": 1}]}, "unknown-proposal"),
        ("/leagues/club/items", {"names": ["\x07"]}, "bad-name"),
        ("/leagues/club/items", {"names": [" "]}, "bad-name"),
        ("/leagues/club/items", {"names": ["x" * 201]}, "bad-request"),
        ("/leagues/club/items", {"names": [f"n{k}" for k in range(10_001)]}, "bad-request"),
        ("/leagues", {"slug": "x", "players": ["a"], "rewards": "coin"}, "bad-value"),
        ("/leagues", {"slug": "x", "players": ["a"], "policy": "my_module:Mine"}, "bad-value"),
        ("/leagues", {"slug": "x", "players": ["a"], "options": {"no_such": 1}}, "not-supported"),
    ],
)  # fmt: skip
@pytest.mark.sampled(2)
def test_bad_input_gets_one_clear_answer_and_nothing_is_written(caller, store, store_with_club, path, body, code):
    store_with_club.ask()
    before = store_with_club.digest(), store.leagues()
    status, refusal = caller()("POST", path, body)
    assert (refusal["code"], status) == (code, refusal["status"])
    assert 400 <= status < 500
    assert len(refusal["detail"]) < 700
    assert (store_with_club.digest(), store.leagues()) == before


def test_rewards_outside_the_distribution_and_pairs_not_proposed(caller, store_with_club):
    today = store_with_club.ask(available=["ann", "bob"])
    call = caller("play")
    for reward in (2, -0.1, 1e300):
        assert call("POST", "/leagues/club/proposals/1/outcomes", {"outcomes": [{"pair": [1, 2], "reward": reward}]})[
            1
        ]["code"] in ("reward-outside", "bad-request")
    body = {"outcomes": [{"pair": [1, 2], "reward": 1}, {"pair": ["cem", "dee"], "reward": 1}]}
    assert call("POST", "/leagues/club/proposals/1/outcomes", body)[1]["code"] == "not-proposed"
    assert store_with_club.proposal(today.number).outcomes == {}  # all or nothing


def test_binomial_outcomes_are_shares_of_the_trials(caller):
    call = caller()
    call("POST", "/leagues", {"slug": "shares", "players": ["ann", "bob"], "rewards": "binomial:5"})
    assert call("POST", "/leagues/shares/proposals", {})[0] == 201
    words = (
        "binomial rewards with 5 trials are 0, 0.2, …, 1; got 0.37 for 'ann' and 'bob'. Round the reward, or choose "
    )
    for path, known in (("outcomes", None), ("corrections", 0.4)):
        if known is not None:
            body = {"outcomes": [{"pair": [1, 2], "reward": known}]}
            assert call("POST", "/leagues/shares/proposals/1/outcomes", body)[0] == 200
        body = {"outcomes": [{"pair": [1, 2], "reward": 0.37}]}
        status, refusal = call("POST", f"/leagues/shares/proposals/1/{path}", body)
        assert (status, refusal["code"]) == (422, "reward-outside")
        assert refusal["detail"].startswith(words)


def test_a_hundred_thousand_names_at_once_are_refused_before_they_are_read(served, bearer, store_with_club):
    body = json.dumps({"names": [f"player number {k}" for k in range(100_000)]})
    answer = served().post("/v1/leagues/club/items", content=body, headers=bearer())
    assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")
    assert len(store_with_club.items()) == 5


def test_methods_that_are_not_there_say_which_are(served, bearer, store_with_club):
    client, headers = served(), bearer()
    for path, allowed in (
        ("/v1/leagues", "GET, POST"), ("/v1/leagues/club", "DELETE, GET, PATCH"), ("/healthz", "GET")
    ):  # fmt: skip
        answer = client.put(path, headers=headers)
        assert (answer.status_code, answer.json()["code"], answer.headers["allow"]) == (405, "wrong-method", allowed)


def test_the_deadline_passes_by_itself_where_the_clock_ticks(store, store_with_club, clock, served, bearer):
    store_with_club.configure(deadline=60)
    today = store_with_club.ask()
    clock.forward(seconds=61)
    client = served(tick_seconds=0.01)
    headers = bearer("read")
    for _ in range(500):
        if not client.get(f"/v1/leagues/club/proposals/{today.number}", headers=headers).json()["open"]:
            break
    events = client.get("/v1/leagues/club/events", headers=headers).json()["events"]
    assert (events[-1]["kind"], events[-1]["by"]) == ("expired", "clock")


def test_a_key_of_another_kind_of_request_is_refused_also_after_names_were_erased(caller):
    call = caller()
    assert call("POST", "/leagues/club/exclusions", {"pairs": [["ann", "bob"]]}, "k")[0] == 200
    assert call("POST", "/leagues/club/items/5/forget")[0] == 200
    for path in ("/proposals", "/items/1/forget", "/proposals/1/void"):
        status, refusal = call("POST", f"/leagues/club{path}", None, "k")
        assert (status, refusal["code"]) == (422, "key-reused")


@pytest.mark.slow
def test_every_list_has_pages(caller):
    call = caller()
    call("POST", "/leagues", {"slug": "many", "players": [f"p{k}" for k in range(6)], "seed": 1})
    call("POST", "/leagues/many/exclusions", {"pairs": [["p0", "p1"], ["p2", "p3"], ["p0", "p5"]]})
    for number in (1, 2, 3):
        pairs = call("POST", "/leagues/many/proposals")[1]["pairs"]
        outcomes = [{"pair": pair["ids"], "reward": 1} for pair in pairs]
        call("POST", f"/leagues/many/proposals/{number}/outcomes", {"outcomes": outcomes})
    rows = {
        "items": "items", "proposals": "proposals", "events": "events", "audit": "lines", "history": "history",
        "ranking": "ranking", "results": "results", "exclusions": "pairs",
    }  # fmt: skip
    for path, name in rows.items():
        whole = call("GET", f"/leagues/many/{path}")[1]
        assert whole["next"] is None
        pages, after = [], ""
        while after is not None:
            query = f"&after={after}" if after != "" else ""
            page = call("GET", f"/leagues/many/{path}?limit=2{query}")[1]
            assert 0 < len(page[name]) <= 2
            pages += page[name]
            after = page["next"]
        assert pages == whole[name], path
        assert len(pages) > 2
    assert call("GET", "/leagues?limit=1")[1]["next"] == "club"
    assert call("GET", "/leagues?limit=1&after=club")[1]["leagues"] == ["many"]


def test_every_list_is_also_csv(served, bearer):
    client, headers = served(), bearer()
    client.post("/v1/leagues", json={"slug": "club", "players": ["=1+1", "bob"], "seed": 1}, headers=headers)
    client.post("/v1/leagues/club/proposals", headers=headers)
    client.post("/v1/leagues/club/exclusions", json={"pairs": [["=1+1", "bob"]]}, headers=headers)
    csv = {**headers, "Accept": "text/csv"}
    lists = [
        path
        for path, methods in client.app.openapi()["paths"].items()
        if "text/csv" in methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
    ]
    assert len(lists) >= 10
    for path in lists:
        answer = client.get(path.format(league="club"), headers=csv)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert all(not cell.startswith("=") for line in answer.text.splitlines() for cell in line.split(","))
    items = client.get("/v1/leagues/club/items?limit=1", headers=csv)
    assert items.text == "id,name,side,active,forgotten,byes,meetings\n1,'=1+1,,true,false,0,0\n"
    assert items.headers["link"] == '</v1/leagues/club/items?limit=1&after=1>; rel="next"'
    proposals = client.get("/v1/leagues/club/proposals", headers=csv).text
    assert proposals.splitlines()[0] == "proposal,at,due,pair 1,pair 2,outcome"


def test_a_patch_has_no_defaults_and_changes_only_what_was_sent(served, bearer):
    client, headers = served(), bearer()
    settings = {"policy": "cucb", "title": "Chess", "no_rematch": 3, "deadline": 60.0, "default": 0}
    client.post("/v1/leagues", json={"slug": "club", "players": ["a", "b"], **settings}, headers=headers)
    schema = client.app.openapi()["components"]["schemas"]
    assert all("default" not in field for field in schema["Changes"]["properties"].values())
    assert "required" not in schema["Changes"]
    assert schema["Changes"]["properties"]["no_rematch"]["description"].startswith("Number of proposals within which")
    assert schema["NewLeague"]["properties"]["policy"]["default"] == "rank1-thompson"
    league = client.patch("/v1/leagues/club", json={"title": "Go"}, headers=headers).json()
    assert {name: league[name] for name in settings} == {**settings, "title": "Go"}


def test_operations_have_readable_names(served):
    paths = served().app.openapi()["paths"]
    names = [one["operationId"] for methods in paths.values() for one in methods.values()]
    assert len(names) == len(set(names))
    assert {"healthz", "readyz"} <= set(names)
    assert {"ask", "tell", "tell_many", "list_items", "get_item", "update_league", "list_proposals"} <= set(names)
    assert all(name.isidentifier() and "v1" not in name for name in names)
