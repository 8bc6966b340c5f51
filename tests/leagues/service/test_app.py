"""The server: its start and end, its log, probes, metrics and what runs in the background."""

import json
import signal
import socket
import subprocess
import sys
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from serving import Serving

from matchbandit.leagues import LeagueError, Store, tokens
from matchbandit.leagues.service import app

COMMAND = (sys.executable, "-m", "matchbandit", "serve")


class Server(Serving):
    """The server in a process of its own, whose log must be lines of JSON and nothing else."""

    def __init__(self, store: str, monkeypatch: pytest.MonkeyPatch, **settings: object) -> None:
        for name, value in {"warm_up": False, **settings}.items():
            monkeypatch.setenv(f"MATCHBANDIT_{name.upper()}", str(value))
        super().__init__(store)

    def events(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.said]


@pytest.fixture
def start(sqlite_url, monkeypatch):
    return lambda **settings: Server(sqlite_url, monkeypatch, **settings)


def test_the_first_start_says_how_to_make_a_token(start, sqlite_url):
    with start() as server:
        first = server.lines()[0]
        assert first["event"] == "there is no token yet"
        assert first["command"] == f"matchbandit token new --label first --scope admin --store {sqlite_url}"
        assert httpx.get(f"{server.address}/healthz", timeout=60).status_code == 200  # it has started
        assert server.stop(signal.SIGINT) == 0


def test_the_log_has_neither_names_nor_tokens(start, sqlite_url):
    with Store(sqlite_url) as store:
        store.create("club", players=["ann", "bob"])
        token, secret = tokens.create(store, "test", scope="admin")
    with start() as server, httpx.Client(base_url=server.address) as http:
        headers = {"Authorization": f"Bearer {secret}", "X-Request-ID": "r1"}
        http.get("/v1/leagues/club/why?item=ann", headers=headers)
        http.post("/v1/leagues/club/items/rename", json={"name": "ann", "new": ""}, headers=headers)
        http.get("/v1/leagues/club/items?search=ann")
        server.until(lambda: len(server.said) == 4)
        assert server.stop() == 0
    requests = [line for line in server.lines() if line["event"] == "request"]
    assert server.events() == ["listening", *["request"] * 3, "stopped"]
    assert requests[0].items() >= {
        "id": "r1", "method": "GET", "route": "/v1/leagues/{league}/why", "status": 200, "token": token.id
    }.items()  # fmt: skip
    assert [line.get("code") for line in requests] == [None, "bad-name", "no-token"]
    assert not any(text in line for line in server.said for text in ("ann", secret, "club"))


def test_the_server_answers_what_is_in_progress_before_it_stops(start, sqlite_url):
    with Store(sqlite_url) as store:
        secret = tokens.create(store, "test", scope="admin")[1]
    with start() as server:
        host, port = server.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as wire:
            body = b'{"slug":"club","players":["ann","bob"]}'
            head = f"POST /v1/leagues HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {secret}\r\n"
            wire.sendall(f"{head}Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            assert wire.recv(100).startswith(b"HTTP/1.1 100")  # its body is being read
            server.process.send_signal(signal.SIGTERM)
            wire.sendall(body)
            assert wire.recv(1000).startswith(b"HTTP/1.1 201")
        assert server.process.wait(60) == 0


@pytest.mark.parametrize(
    "environment",
    [{"MATCHBANDIT_STORE": "sqlite:////none/a.db"}, {"MATCHBANDIT_PROT": "1"}, {}],
    ids=["store", "variable", "port"],
)
def test_a_server_that_cannot_start_says_why(sqlite_url, monkeypatch, environment):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("MATCHBANDIT_PORT", str(taken.getsockname()[1]))
        monkeypatch.setenv("MATCHBANDIT_STORE", sqlite_url)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        done = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_probes_need_no_token_and_share_an_answer(connect, store, monkeypatch):
    http, calls = connect(), []
    ready = store.ready
    monkeypatch.setattr(store, "ready", lambda: calls.append(1) or ready())
    answers = [http.get("/readyz", headers={"Authorization": ""}) for _ in range(20)]
    assert {answer.status_code for answer in answers} == {200}
    assert len(calls) < 20
    assert http.get("/healthz", headers={"Authorization": ""}).text == "ok"


def test_a_probe_does_not_wait_for_long(connect, store, club, monkeypatch):
    release = Event()
    monkeypatch.setattr(store, "ready", lambda: release.wait(60))
    monkeypatch.setattr(app, "_PROBE_SECONDS", 0.02)
    http = connect()
    assert http.get("/readyz").status_code == 503
    assert http.get(club).status_code == 200  # its token was found meanwhile
    release.set()


def metric(http: httpx.Client, name: str) -> float:
    lines = http.get("/metrics").text.splitlines()
    return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def test_metrics_count_requests_proposals_and_outcomes(api, connect, club):
    pairs = api.post(f"{club}/proposals").json()["pairs"]
    told = {"outcomes": [{"pair": pairs[0]["names"], "reward": 1}]}
    for _ in range(2):
        api.post(f"{club}/proposals/1/outcomes", json=told)
    api.get("/v1/none")
    assert metric(api, "matchbandit_proposals_total") == 1
    assert metric(api, "matchbandit_proposals_open") == 1
    assert metric(api, "matchbandit_store_up") == 1
    assert metric(api, 'matchbandit_outcomes_total{kind="repeated"}') == 1
    assert metric(api, 'matchbandit_refused_total{code="not-found"}') == 1
    assert metric(api, "matchbandit_requests_in_flight") == 1
    route = 'matchbandit_requests_total{method="POST",route="/v1/leagues/{league}/proposals/{number}/outcomes"'
    assert metric(api, route) == 2
    assert connect("admin", "club").get("/metrics").status_code == 403
    assert connect("read").get("/metrics").status_code == 200


def test_too_many_requests_in_progress_are_refused_but_not_probes(connect, store, club, monkeypatch):
    entered, release, leagues = Event(), Event(), store.leagues

    def wait(**options: Any) -> Any:
        entered.set()
        release.wait(60)
        return leagues(**options)

    monkeypatch.setattr(store, "leagues", wait)
    http = connect(requests=1)
    first = Thread(target=http.get, args=("/v1/leagues",))
    first.start()
    assert entered.wait(60)
    answer = http.get(club)
    assert (answer.status_code, answer.headers["retry-after"], answer.json()["code"]) == (503, "1", "server-busy")
    assert http.get("/healthz").status_code == 200
    release.set()
    first.join()
    assert http.get(club).status_code == 200


@pytest.fixture
def lifespan(transport, portal):
    """Runs an app with its background threads."""

    def run(**settings: Any) -> Any:
        return portal.wrap_async_context_manager(app._lifespan(transport(**settings).app))

    return run


def test_deadlines_are_applied_in_the_background(lifespan, store, clock, monkeypatch):
    league = store.create("club", players=["ann", "bob"], deadline=1.0, default=0.0)
    league.ask()
    clock.forward(hours=1)
    ran, run = Event(), store.run_maintenance

    def maintain() -> int:
        done = run()
        ran.set()
        return done

    monkeypatch.setattr(store, "run_maintenance", maintain)
    with lifespan(maintenance_seconds=0.01, warm_up=False):
        assert ran.wait(60)
    assert league.info().waiting == 0


def test_a_warm_up_that_fails_is_logged_and_no_more(lifespan, store, monkeypatch):
    logged = Event()

    def fail() -> None:
        raise LeagueError("store-busy", "busy.")

    def log(event: str, **_: Any) -> None:
        assert event == "warm-up failed"
        logged.set()

    monkeypatch.setattr(app, "_WARM_UP_DELAY", 0.0)
    monkeypatch.setattr(store, "warm_up", fail)
    monkeypatch.setattr(app.LOGGER, "exception", log)
    with lifespan(maintenance_seconds=60):
        assert logged.wait(60)


def test_the_dashboard_can_be_left_out(connect):
    assert connect().get("/login").status_code == 200
    assert connect(dashboard=False).get("/login").status_code == 404
