"""What operators do over HTTP: who may, what is refused, and that nothing leaks."""

import gzip
import json
from datetime import timedelta
from functools import cache
from itertools import chain

import pytest
from asgi import request as drive

from matchbandit.live.store import Store
from matchbandit.service import tokens

PLAYERS = ["ann", "bob", "cem", "dee"]
BINARY = {"Content-Type": "application/octet-stream"}


@pytest.fixture
def club(store):
    league = store.create("club", players=PLAYERS)
    league.void(league.ask().number)
    return league


@pytest.fixture
def export(club, tmp_path) -> bytes:
    return club.export(tmp_path / "club.jsonl").read_bytes()


@pytest.fixture
def call(served, bearer):
    client = served()
    header = cache(bearer)

    def calling(method, path, *, scope="admin", leagues=(), **more):
        headers = {**header(scope, *leagues), **more.pop("headers", {})}
        answer = client.request(method, f"/v1{path}", headers=headers, **more)
        return answer.status_code, answer.json()

    return calling


GLOBAL = [
    ("POST", "/imports"), ("GET", "/tokens"), ("POST", "/tokens"), ("DELETE", "/tokens/000000000000"),
    ("DELETE", "/leagues/club?now=true"), ("POST", "/leagues/club/verify?decisions=true"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), GLOBAL)
@pytest.mark.parametrize(("scope", "leagues"), [("admin", ("club",)), ("play", ()), ("read", ())])
@pytest.mark.sampled(3)
def test_what_is_of_all_leagues_needs_admin_for_all(call, store, club, export, method, path, scope, leagues):
    before = len(tokens.list_all(store)), store.statuses(), club.digest()
    body = {"json": {"label": "x"}} if (method, path) == ("POST", "/tokens") else {}
    if path == "/imports":
        body = {"content": export, "params": {"slug": "other"}, "headers": BINARY}
    status, problem = call(method, path, scope=scope, leagues=leagues, **body)
    assert (status, problem["code"]) == (403, "not-allowed")
    assert (len(tokens.list_all(store)) - 1, store.statuses(), club.digest()) == before  # the token that asked


def test_a_league_is_archived_restored_and_deleted_by_its_own_admin(call, store, club):
    mine = {"leagues": ("club",)}
    status, shown = call("POST", "/leagues/club/archive", **mine)
    assert (status, shown["status"], shown["since"]) == (200, "archived", store.now())
    status, problem = call("POST", "/leagues/club/proposals", **mine)
    assert (status, problem["code"]) == (409, "league-archived")
    assert call("GET", "/leagues/club/items", **mine)[0] == 200
    assert call("GET", "/leagues/club", **mine)[1]["archived"] == shown["since"]
    assert call("GET", "/leagues", **mine)[1]["leagues"] == []
    assert call("GET", "/leagues?archived=true", **mine)[1]["leagues"] == ["club"]
    assert call("POST", "/leagues/club/restore", **mine)[1]["status"] == "active"
    status, shown = call("DELETE", "/leagues/club", **mine)
    assert (status, shown["erase_after"]) == (200, "2026-12-16T09:30:00.000000Z")
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/archive"), ("POST", "/verify"), ("GET", "/items")):
        status, problem = call(method, f"/leagues/club{path}", **mine)
        assert (status, problem["code"]) == (404, "unknown-league"), path
        assert problem["detail"] == "the token opens no league 'club'."
    assert call("POST", "/leagues/club/restore", **mine)[0] == 200
    by = [event.by for event in club.events() if event.kind in ("archived", "deleted", "restored")]
    assert len(set(by)) == 1
    assert by[0].startswith("token:")
    assert call("DELETE", "/leagues/club?now=true")[0] == 200
    assert store.statuses() == []
    assert call("POST", "/leagues/club/restore")[0] == 404


def test_a_league_is_verified_within_a_time_limit(call, store, club, served, bearer, ticks):
    status, found = call("POST", "/leagues/club/verify", leagues=("club",))
    assert (status, found["ok"], found["events"], found["proposals"], found["differences"]) == (200, True, 4, 0, [])
    assert call("POST", "/leagues/club/verify?decisions=true")[1]["proposals"] == 1

    def hurrying():
        ticks.now += 10
        return ticks.now

    slow = served(monotonic=hurrying, answer_seconds=30.0)
    answer = slow.post("/v1/leagues/club/verify", headers=bearer())
    assert (answer.status_code, answer.json()["code"]) == (503, "answer-too-slow")
    assert "matchbandit league verify club" in answer.json()["detail"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_export_is_imported(call, store, club, export, pack):
    status, shown = call("POST", "/imports?slug=copy", content=pack(export), headers=BINARY)
    assert (status, shown) == (201, {"name": "copy", "events": 4, "archived": None})
    assert store.open("copy").digest() == club.digest()
    status, problem = call("POST", "/imports", content=export, headers=BINARY)
    assert (status, problem["code"]) == (409, "league-exists")


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff\xff\n", b"\x1f\x8b\x08nothing", b'{"matchbandit-league": 99}\n']
)
@pytest.mark.sampled(1)
def test_what_is_not_an_export_is_refused(call, store, content):
    status, problem = call("POST", "/imports", content=content, headers=BINARY)
    assert (status, problem["detail"].startswith("the body ")) == (422, True)
    assert store.statuses() == []


def test_an_export_has_a_limit_of_its_own_packed_or_not(served, bearer, store, club, export):
    served_small = served(body_bytes=100, import_bytes=len(export))
    headers = {**bearer(), **BINARY}
    assert served_small.post("/v1/imports?slug=a", content=export, headers=headers).status_code == 201
    tiny = served(import_bytes=len(export) - 1)
    answer = tiny.post("/v1/imports?slug=b", content=export, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")
    bomb = gzip.compress(b'{"matchbandit-league": 1, "slug": "bomb", "' + b"a" * 10**6)
    assert len(bomb) < len(export) - 1
    answer = tiny.post("/v1/imports", content=bomb, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad-value")
    assert "too large once it is unpacked" in answer.json()["detail"]
    assert store.leagues() == ["a", "club"]


def test_an_export_that_never_comes_is_given_up(served, bearer, export):
    app = served(import_seconds=0.05).app
    header = bearer()["Authorization"]
    status, _, body, _ = drive(app, path="/v1/imports", headers=[("Authorization", header)], body=[export[:10], None])
    assert (status, json.loads(body)["code"]) == (408, "body-too-slow")


def test_a_token_is_made_listed_and_ended(call, store, served):
    status, made = call("POST", "/tokens", json={"label": "phone", "scope": "read", "leagues": ["club"], "days": 2})
    assert (status, made["scope"], made["leagues"], made["ended"]) == (201, "read", ["club"], False)
    assert made["expires"] == "2026-11-18T09:30:00.000000Z"
    assert tokens.find_active(store, made["token"]).id == made["id"]
    secret = made["token"].rpartition("_")[2]
    status, page = call("GET", "/tokens")
    assert (status, len(page["tokens"]), page["next"]) == (200, 2, None)
    assert secret not in json.dumps(page)
    assert "hash" not in json.dumps(page)
    status, ended = call("DELETE", f"/tokens/{made['id']}")
    assert (status, ended["ended"], ended["revoked"]) == (200, True, store.now())
    assert "token" not in ended
    assert tokens.find_active(store, made["token"]) is None
    assert call("DELETE", f"/tokens/{made['id']}")[0] == 200
    assert call("DELETE", "/tokens/000000000000")[1]["code"] == "not-found"
    assert call("DELETE", "/tokens/nothing")[1]["code"] == "bad-request"


def test_lists_of_tokens_are_paged(call, store):
    call("GET", "/tokens")
    for number in range(4):
        tokens.create(store, f"t{number}")
    pages, after = [], ""
    while after is not None:
        _, page = call("GET", f"/tokens?limit=2{after and f'&after={after}'}")
        pages.append([token["id"] for token in page["tokens"]])
        after = page["next"]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert sorted(chain(*pages)) == sorted(token.id for token in tokens.list_all(store))


def test_no_token_makes_one_that_outlasts_it(served, store, clock):
    client = served()
    _, text = tokens.create(store, "for a day", scope="admin", lifetime=timedelta(days=1))
    headers = {"Authorization": f"Bearer {text}"}
    for days, status in ((None, 403), (1.01, 403), (1, 201), (0.5, 201)):
        body = {"label": "x", "scope": "read"} | ({} if days is None else {"days": days})
        answer = client.post("/v1/tokens", json=body, headers=headers)
        assert answer.status_code == status, days


@pytest.mark.parametrize(
    "body",
    [{}, {"label": ""}, {"label": " "}, {"label": "x", "scope": "root"}, {"label": "x", "leagues": []},
     {"label": "x", "days": 0}, {"label": "x", "days": 1e9}, {"label": "x", "hash": "0"},
     {"label": "x", "leagues": ["A b"]}],
)  # fmt: skip
def test_tokens_that_cannot_be(call, store, body):
    assert call("POST", "/tokens", json=body)[0] == 422
    assert len(tokens.list_all(store)) == 1


def test_operations_have_readable_ids(served):
    paths = served().app.openapi()["paths"]
    ids = {operation["operationId"] for path in paths.values() for operation in path.values()}
    assert {"archive_league", "restore_league", "delete_league", "verify_league", "import_league", "list_tokens",
            "create_token", "revoke_token"} <= ids  # fmt: skip
    made = paths["/v1/tokens"]["post"]
    assert "admin` for all leagues" in made["description"]
    assert list(paths["/v1/imports"]["post"]["requestBody"]["content"]) == ["application/octet-stream"]


def test_the_server_hands_the_ages_to_its_store(served, tmp_path):
    from matchbandit.service.settings import Settings

    retention = Settings(retention_days=7, grace_days=2).retention
    with Store(f"sqlite:///{tmp_path}/aged.db", retention=retention) as store:
        assert (store.retention.keys.days, store.retention.access.days, store.retention.deleted.days) == (7, 7, 2)
