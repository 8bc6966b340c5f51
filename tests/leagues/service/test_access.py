"""The gate: tokens, scopes, rates, slots, and bodies that are too large, too slow or wrong."""

from collections.abc import Callable

import httpx
import pytest
from app_transport import code_of

from matchbandit.leagues import LeagueError, tokens
from matchbandit.leagues.service import access
from matchbandit.leagues.service.access import Gate, Usage
from matchbandit.leagues.service.settings import Settings
from matchbandit.leagues.tokens import Token

Connect = Callable[..., httpx.Client]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer x", f"Bearer mbt_{0:012x}_{0:064x}"])
def test_a_request_without_a_valid_token_is_refused(api, club, header):
    answer = api.get(club, headers={"Authorization": header})
    assert (answer.status_code, code_of(answer), answer.headers["www-authenticate"]) == (401, "no-token", "Bearer")
    assert "matchbandit token new" in answer.json()["detail"]


def test_a_revoked_token_is_refused(connect, store, club):
    token, secret = tokens.create(store, "test", scope="admin")
    http = connect(token=secret)
    assert http.get(club).is_success
    tokens.revoke(store, token.id)
    assert code_of(http.get(club)) == "no-token"


def test_a_session_is_no_token_and_a_token_no_session(connect, store, club):
    token, secret = tokens.create(store, "test", scope="admin")
    session = tokens.log_in(store, token)
    pages, http = connect(token=session, token_seconds=60.0), connect(token=secret)
    assert pages.get("/", headers={"Cookie": f"matchbandit={session}"}).is_success
    assert http.get(club).is_success
    assert code_of(pages.get(club)) == "no-token"
    assert code_of(http.get("/", headers={"Cookie": f"matchbandit={secret}"})) == "no-token"

    statuses = {
        scope: [
            http.get(club).status_code,
            http.post(f"{club}/proposals").status_code,
            http.post(f"{club}/items", json={"names": [scope]}).status_code,
        ]
        for scope in ("read", "play", "admin")
        for http in [connect(scope)]
    }
    assert statuses == {"read": [200, 403, 403], "play": [200, 201, 403], "admin": [200, 201, 201]}


def test_a_token_learns_nothing_of_other_leagues(api, connect, club):
    http = connect("admin", "mine")
    refused = [http.get(club), http.get("/v1/leagues/none"), http.get(f"{club}?x=1"), http.delete(club)]
    assert {code_of(answer) for answer in refused} == {"unknown-league"}
    assert len({answer.json()["detail"].replace("none", "club") for answer in refused}) == 1
    assert http.get("/v1/leagues").json()["rows"] == []
    assert code_of(http.post("/v1/leagues", json={"slug": "other"})) == "not-allowed"
    assert http.post("/v1/leagues", json={"slug": "mine"}).status_code == 201
    assert code_of(http.delete("/v1/leagues/mine?now=true")) == "not-allowed"
    assert code_of(http.post("/v1/imports", content=b"")) == "not-allowed"


def test_a_request_is_refused_for_its_token_before_its_scope_and_before_its_body(connect, club):
    path, body = f"{club}/proposals", {"content": b"{" * 1000}
    http = connect("read")
    assert code_of(http.post(path, headers={"Authorization": "Bearer x"}, **body)) == "no-token"
    assert code_of(http.post(path, **body)) == "not-allowed"
    assert code_of(connect("play").post(path, **body)) == "bad-request"


def test_wrong_tokens_do_not_lock_out_valid_ones_from_the_same_address(connect, club):
    known = connect()
    for k in range(30):
        assert known.get(club, headers={"Authorization": f"Bearer mbt_{k:012x}_{k:064x}"}).status_code == 401
    assert known.get(club).is_success
    assert connect().get(club).is_success  # one that the process has not seen yet


def test_a_token_has_a_rate(connect, club):
    http = connect(rate=0.001, burst=2)
    answers = [http.get(club) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].headers["retry-after"] == "1"
    assert connect().get(club).status_code == 200


def test_a_rate_allows_a_burst_and_then_its_average(store, portal, monkeypatch):
    now, gate = 0.0, Gate(store, Settings(rate=2.0, burst=3))

    class Time:
        monotonic = staticmethod(lambda: now)

    def allowed() -> bool:
        try:
            portal.call(gate._check_rate, token_of("a"))
        except LeagueError:
            return False
        return True

    monkeypatch.setattr(access, "time", Time)  # that of the event loop goes on

    assert [allowed() for _ in range(4)] == [True, True, True, False]
    now = 0.5
    assert [allowed(), allowed()] == [True, False]
    now = 100.0
    assert [allowed() for _ in range(4)] == [True, True, True, False]


def test_usage_is_forgotten_gradually(monkeypatch):
    now = 0.0
    monkeypatch.setattr(access.time, "monotonic", lambda: now)
    usage = Usage(at=now)
    assert usage.add(2.0) == 2.0
    now = 1.0
    assert usage.add(0.0) == pytest.approx(2.0 / 2.718281828459045)


def token_of(id: str) -> Token:
    return Token(id, "test", "play", None, "2026-11-16T09:30:00Z", None, None)


@pytest.fixture
def gate(store):
    return Gate(store, Settings())


def test_slot_pauses_after_costly_requests_of_whoever_has_used_most(gate, portal, monkeypatch):
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def request(token: str, seconds: float) -> None:
        async with gate.slot(token_of(token), f"league of {token}"):
            usage = access._usage.get()
            assert usage is not None
            usage.add(seconds)

    async def run() -> None:
        await request("heavy", 0.5)  # nobody else is there
        await request("light", 0.01)  # it has used less
        await request("heavy", 0.5)

    monkeypatch.setattr(access.anyio, "sleep", sleep)
    portal.call(run)
    assert pauses == [pytest.approx(1.5, rel=0.01)]


def test_processor_time_of_a_route_is_measured(connect, club, monkeypatch):
    measured: list[float] = []
    monkeypatch.setattr(Gate, "_is_largest", lambda _, users, seconds: measured.append(seconds) or False)
    connect().get(club)
    assert len(measured) == 1
    assert measured[0] > 0.0


@pytest.mark.parametrize(("n_players", "n_bytes", "status"), [(4, 21_000, 413), (4, 15_000, 400), (40, 21_000, 400)])
def test_a_body_is_limited_by_the_size_of_the_league(api, n_players, n_bytes, status):
    api.post("/v1/leagues", json={"slug": "a", "players": [f"p{k}" for k in range(n_players)]})
    body = b'{"available":' + b" " * n_bytes
    assert api.post("/v1/leagues/a/proposals", content=body).status_code == status
    assert api.post("/v1/leagues/a/proposals", content=iter([body])).status_code == status  # without its length


def test_names_that_join_may_be_many(api, connect, club):
    names = [f"{'n' * 190} {k}" for k in range(2000)]
    assert api.post(f"{club}/items", json={"names": names}).status_code == 201
    limited = connect(max_body_bytes=2**14)
    assert code_of(limited.post(f"{club}/items", json={"names": names})) == "body-too-large"


@pytest.mark.parametrize("path", ["/v1/leagues", "/v1/imports"])
def test_a_body_that_arrives_too_slowly_is_refused(transport, store, path):
    headers = [("Host", "here"), ("Authorization", f"Bearer {tokens.create(store, 'test', scope='admin')[1]}")]
    status, content = transport(body_seconds=0.05).send_raw("POST", path, headers, [b"{", None])
    assert (status, b"body-too-slow" in content) == (408, True)


def test_the_first_error_of_a_body_is_named(api, club):
    api.post(f"{club}/items", json={"names": [f"p{k}" for k in range(20)]})
    for body, field, words in (
        (b'{"outcomes":[{"pair":["a","b"],"reward":1},{"pair":["a","b"],"reward":"x"}]}', "outcomes[1].reward", "'x'"),
        (b'{"outcomes":[{"pair":["a"],"reward":1}]}', "outcomes[0].pair", "length 2"),
        (b'{"outcomes":[]}', "outcomes", "length >= 1"),
        (b'{"outcomes":[{"pair":["a","b"]}]}', "outcomes[0].reward", "missing"),
        (b"{}", "outcomes", "missing"),
        (b'{"outcome":[]}', "outcome", "did you mean 'outcomes'"),
        (b"[" * 20_000, None, "expected `object`"),
        (b'{"outcomes":' + b"[" * 15_000, "outcomes[0]", "expected `object`"),
        (b"\xff", None, "malformed"),
        (b"", None, "truncated"),
        (b'{"outcomes":[{"pair":["a","b"],"reward":NaN}]}', None, "malformed"),
        (b'{"outcomes":[{"pair":["a","\\ud800"],"reward":1}]}', None, "surrogate"),
    ):
        answer = api.post(f"{club}/proposals/1/outcomes", content=body)
        assert (answer.status_code, code_of(answer), answer.json()["field"]) == (400, "bad-request", field)
        assert words in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "words"),
    [("?limt=3", "unknown query parameter 'limt'; did you mean 'limit'?"), ("/1?open=1", "Known: format."), ("?", "")],
)
def test_unknown_query_parameters_are_refused(api, club, path, words):
    api.post(f"{club}/proposals")
    answer = api.get(f"{club}/proposals{path}")
    assert answer.status_code == (400 if words else 200)
    assert words in answer.text
