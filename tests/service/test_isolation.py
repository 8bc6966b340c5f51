"""One league or client does not slow the others down: limits, capacity of their own, readiness."""

import asyncio
import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx
import pytest
from asgi import code_of
from eventually import until
from serving import PATIENCE, Serving
from starlette.testclient import TestClient

from matchbandit.live import compute, model, warm_up
from matchbandit.live.database import FAILING_S
from matchbandit.live.errors import LeagueError
from matchbandit.live.league import League
from matchbandit.live.store import Store
from matchbandit.service import sessions, tokens
from matchbandit.service.app import create_app
from matchbandit.service.limits import RequestLimits
from matchbandit.service.logs import CONTEXT, RequestContext
from matchbandit.service.settings import Settings


class Wall:
    """Limits around an app whose answers wait until they are released."""

    def __init__(self, **settings):
        self.release = asyncio.Event()
        self.working = []
        self.limits = RequestLimits(self.app, Settings(**settings))

    async def app(self, scope, receive, send):
        self.working.append(scope["path"])
        await self.release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask(self, path, token=None, address="203.0.113.7"):
        """The status, the code and the headers of the answer."""
        sent = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        context = RequestContext("an-id", token)
        scope = {"type": "http", "path": path, "method": "POST", "headers": [], "client": (address, 1)}
        await self.limits({**scope, CONTEXT: context}, receive, send)
        return sent[0]["status"], context.code, dict(sent[0]["headers"])


def token(name, *leagues):
    return tokens.Token(name, "test", "play", leagues or None, "2026-11-16T09:30:00.000000Z", None, None)


def test_a_league_may_not_have_too_many_requests_and_others_may_have_theirs():
    async def run():
        wall = Wall(in_flight_per_league=2)
        first = [asyncio.create_task(wall.ask("/v1/leagues/club/proposals", token("a"))) for _ in range(2)]
        await asyncio.sleep(0)
        refused = await wall.ask("/v1/leagues/club/why", token("b"))
        page = await wall.ask("/leagues/club", token("b"))  # of a session
        others = [
            asyncio.create_task(wall.ask(path, one))
            for path, one in (
                ("/v1/leagues/clubs", token("a")),
                ("/v1/leagues", token("a")),
                ("/v1/leagues/club", token("c", "chess")),  # whoever does not see the league is not counted there
                ("/leagues/club", token("c", "chess")),
                ("/leagues/club", None),
            )
        ]
        await asyncio.sleep(0)
        wall.release.set()
        done = await asyncio.gather(*first, *others)
        return refused, page, done, await wall.ask("/v1/leagues/club", token("b")), wall.limits

    refused, page, done, later, limits = asyncio.run(run())
    assert refused[:2] == page[:2] == (503, "too-busy")
    assert refused[2][b"retry-after"] == b"1"
    assert [status for status, *_ in [*done, later]] == [200] * 8
    assert not limits._per_key
    assert not limits._semaphores


def test_pages_count_for_a_league_only_with_a_session_that_opens_it(store, ticks, monkeypatch):
    counted = []
    refusal = RequestLimits._refusal
    monkeypatch.setattr(RequestLimits, "_refusal", lambda self, *keys: counted.append(keys) or refusal(self, *keys))
    club, chess = (tokens.create(store, "test", scope="read", leagues=[name])[0] for name in ("club", "chess"))
    member, stranger = (sessions.create(store, one) for one in (club, chess))
    store.create("club", players=["ann", "bob"])
    settings = Settings(tick_seconds=0.0, monotonic=ticks, wrong_tokens=1)
    with TestClient(create_app(store, settings=settings)) as client:

        def visit(secret):
            headers = {} if secret is None else {"Cookie": f"matchbandit={secret}"}
            return client.get("/leagues/club", headers=headers, follow_redirects=False).status_code

        assert [visit(secret) for secret in (member, stranger, None, "wrong")] == [200, 404, 303, 303]
        assert counted == [
            ("league club", f"token {club.id}"),
            (None, f"token {chess.id}"),
            (None, "from testclient"),
            (None, "from testclient"),
        ]
        assert [visit(secret) for secret in ("guessed", member)] == [429, 200]  # the member's is remembered


def test_a_token_may_not_have_too_many_requests_nor_an_address_without_one():
    async def run():
        wall = Wall(in_flight_per_token=1)
        first = asyncio.create_task(wall.ask("/v1/leagues/a", token("x")))
        page = asyncio.create_task(wall.ask("/login", None))
        await asyncio.sleep(0)
        refused = await wall.ask("/v1/leagues/b", token("x")), await wall.ask("/leagues/c", None)
        others = [
            asyncio.create_task(wall.ask("/v1/leagues/a", token("y"))),
            asyncio.create_task(wall.ask("/leagues/c", None, "203.0.113.8")),
        ]
        await asyncio.sleep(0)
        wall.release.set()
        return refused, await asyncio.gather(first, page, *others)

    refused, done = asyncio.run(run())
    assert [(status, code) for status, code, _ in refused] == [(429, "too-many-requests")] * 2
    assert all(int(headers[b"retry-after"]) >= 1 for *_, headers in refused)
    assert [status for status, *_ in done] == [200] * 4


def test_a_league_gets_a_part_of_the_threads_and_what_still_waits_at_the_time_limit_is_not_done():
    async def run():
        wall = Wall(threads=8, answer_seconds=0.05)
        asks = [asyncio.create_task(wall.ask("/v1/leagues/club/proposals", token("a"))) for _ in range(4)]
        answers = await asyncio.gather(*asks)
        other = asyncio.create_task(wall.ask("/v1/leagues/chess", token("a")))
        await asyncio.sleep(0)
        wall.release.set()
        await asyncio.sleep(0.01)
        return answers, await other, wall.working

    answers, other, working = asyncio.run(run())
    assert [code for _, code, _ in answers] == ["answer-too-slow"] * 2 + ["too-busy"] * 2
    assert other[0] == 200
    assert working == ["/v1/leagues/club/proposals"] * 2 + ["/v1/leagues/chess"]


def test_what_fails_after_the_time_limit_is_a_line_of_the_log(lines, capsys):
    async def late(scope, receive, send):
        await asyncio.to_thread(release.wait)
        raise ZeroDivisionError("a name")

    async def run():
        wall = Wall(answer_seconds=0.02)
        wall.limits._app = late
        answer = await wall.ask("/v1/leagues/club", token("a"))
        release.set()
        while wall.limits._working:
            await asyncio.sleep(0.001)
        return answer

    release = threading.Event()
    assert asyncio.run(run())[:2] == (503, "answer-too-slow")
    defects = [line for line in lines() if line["event"] == "defect"]
    assert [(line["request_id"], line["error"], line["after"]) for line in defects] == [
        ("an-id", "ZeroDivisionError", "answer-too-slow")
    ]
    assert "Traceback" not in capsys.readouterr().err


def test_probes_tokens_and_files_are_answered_while_leagues_hold_all_threads(served, bearer, store, monkeypatch):
    release = threading.Event()
    working = []

    def slow(self):
        working.append(self.name)
        release.wait(PATIENCE)
        return []

    monkeypatch.setattr(League, "ranking", slow)
    for slug in ("a", "b", "c", "d"):
        store.create(slug, players=["x", "y"])
    client = served(threads=4, dashboard=True)
    known, new = bearer("read"), bearer("read", "nowhere")
    with ThreadPoolExecutor(4) as readers:
        asked = [readers.submit(client.get, f"/v1/leagues/{slug}/ranking", headers=known) for slug in "abcd"]
        try:
            until(lambda: len(working) == 4)
            for method, path in (("GET", "/healthz"), ("HEAD", "/readyz"), ("GET", "/assets/dashboard.css")):
                assert client.request(method, path).status_code == 200
            # the router finds no league for this token, without a thread: it has been looked up
            assert client.get("/v1/leagues/a/ranking", headers=new).status_code == 404
        finally:
            release.set()
        assert [answer.result().status_code for answer in asked] == [200] * 4


def test_one_test_of_the_fit_serves_all_who_ask_meanwhile(served, bearer, store, monkeypatch):
    release, calls = threading.Event(), []

    def assess(inputs):
        calls.append(inputs)
        release.wait(PATIENCE)
        return model.assess_fit(inputs)

    monkeypatch.setattr(compute, "assess_fit", assess)
    store.create("club", players=["x", "y", "z"])
    client, header = served(threads=16), bearer("read")
    with ThreadPoolExecutor(20) as readers:
        asked = [readers.submit(client.get, "/v1/leagues/club/fit", headers=header) for _ in range(20)]
        until(lambda: calls)
        release.set()
        answers = [answer.result() for answer in asked]
    assert [answer.status_code for answer in answers] == [200] * 20
    assert len({answer.text for answer in answers}) == 1
    assert len(calls) == 1


def test_what_takes_too_long_is_refused_with_what_to_use(served, bearer, store):
    store.create("club", players=[f"p{k}" for k in range(2000)], policy="cts-beta")
    answer = served().post("/v1/leagues/club/proposals", json={}, headers=bearer())
    assert (answer.status_code, code_of(answer.content)) == (422, "compute-limit")
    assert "rank1-thompson" in answer.json()["detail"]
    assert "2,000 items" in answer.json()["detail"]


def test_head_works_where_watchdogs_look(served):
    client = served()
    for path in ("/healthz", "/readyz"):
        assert client.head(path).status_code == 200
        assert client.head(path).content == b""


def test_it_is_not_ready_before_the_compiled_code_is_loaded(served, monkeypatch):
    client = served()
    monkeypatch.setattr(warm_up, "_is_loaded", False)
    for method in ("GET", "HEAD"):
        answer = client.request(method, "/readyz")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert code_of(client.get("/readyz").content) == "starting"
    assert client.get("/healthz").status_code == 200
    warm_up.load_compiled_code()
    assert client.get("/readyz").status_code == 200


def test_it_is_not_ready_when_writes_fail_for_a_while(served, store, tmp_path, ticks):
    client = served()
    store.database.monotonic = ticks
    store.database.lock_timeout = 0.05
    store.database._wrote_at = ticks.now
    assert client.get("/readyz").status_code == 200
    with sqlite3.connect(tmp_path / "store.db", isolation_level=None) as blocker:
        store.database.engine.dispose()
        with store.engine.connect() as connection:  # connections that give up soon
            connection.exec_driver_sql("PRAGMA busy_timeout=20")
        blocker.execute("BEGIN IMMEDIATE")
        ticks.now += FAILING_S + 1
        assert client.get("/readyz").status_code == 200  # one write is tried, and fails for the first time
        ticks.now += FAILING_S + 1
        answer = client.get("/readyz")
        assert (answer.status_code, code_of(answer.content)) == (503, "store-unusable")
        blocker.execute("ROLLBACK")
    blocker.close()
    assert client.get("/readyz").status_code == 200


def test_small_writes_on_a_full_disk_do_not_make_it_ready(served, store, ticks, monkeypatch):
    client = served()
    store.database.monotonic = ticks
    store.database._wrote_at = ticks.now
    free = 4096
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _folder: SimpleNamespace(total=10**9, used=10**9 - free, free=free)
    )

    def fail():
        with store.writing():
            raise LeagueError("store-unusable", "the store is full")

    with pytest.raises(LeagueError):
        fail()
    for status in (200, 503, 503):
        assert client.get("/readyz").status_code == status  # one small write is tried, and succeeds
        ticks.now += FAILING_S + 1
    free = 10**8
    assert client.get("/readyz").status_code == 200


def test_a_store_keeps_as_many_leagues_as_fit_into_its_memory(store, monkeypatch):
    sizes = {}
    for slug, n in (("a", 2), ("b", 1000), ("c", 2)):
        store.create(slug, players=[f"p{k}" for k in range(n)])
        sizes[slug] = store.open(slug)._replica.memory()
    assert sizes["b"] > 20 * sizes["a"]
    monkeypatch.setattr("matchbandit.live.store.CACHE_BYTES", sizes["b"] + sizes["a"])
    first = store.open("a")._replica
    assert list(store._replicas) == ["c", "a"]  # b was let go: it was not used for longest, and is too large
    assert store.open("a")._replica is first
    store.open("b")
    assert list(store._replicas) == ["a", "b"]
    assert store.open("c").about()["n_items"] == 2


@pytest.mark.slow
def test_health_is_answered_while_a_matching_of_800_players_is_computed(tmp_path):
    url = f"sqlite:///{tmp_path}/store.db"
    with Store(url) as store:
        store.create("large", players=[f"p{k}" for k in range(800)], policy="cts-beta", seed=1)
        store.create("small", players=["ann", "bob", "cem", "dee"], seed=1)
        _, large = tokens.create(store, "large", scope="play", leagues=["large"])
        _, small = tokens.create(store, "small", scope="play", leagues=["small"])
    with Serving(url) as server, httpx.Client(base_url=server.address, timeout=PATIENCE) as http:
        server.until(lambda: http.get("/readyz").is_success)

        def ask(league, text):
            header = {"Authorization": f"Bearer {text}"}
            path = f"{server.address}/v1/leagues/{league}/proposals"
            return httpx.post(path, json={}, headers=header, timeout=PATIENCE).status_code

        answered = 0
        with ThreadPoolExecutor(4) as hostile:
            asked = [hostile.submit(ask, "large", large) for _ in range(4)]
            while not any(one.done() and one.result() == 201 for one in asked):
                assert http.get("/healthz").is_success
                assert ask("small", small) == 201
                answered += 1
        assert {201} <= {one.result() for one in asked} <= {201, 503}
        assert answered >= 5  # if it held all others up, one or two before it and one after it
