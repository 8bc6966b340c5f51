"""One league does not keep others waiting: what holds without a clock. benchmarks/isolation.py measures times."""

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import anyio
import httpx
import pytest

from matchbandit.leagues import League
from matchbandit.leagues.service import access

SMALL = "/v1/leagues/small"


def until(is_so: Callable[[], object]) -> None:
    """Wait until this is so; it takes milliseconds, seconds on a busy machine."""
    end = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def leagues(store):
    store.create("small", players=["ann", "bob"])
    store.create("wide", players=[f"p{k}" for k in range(50)])


class Blocked:
    """Rankings of leagues that wait until they are released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.release, self.entered = Event(), list[str]()
        ranking = League.ranking

        def wait(league: League, **options: Any) -> Any:
            self.entered.append(league.slug)
            self.release.wait(60)
            return ranking(league, **options)

        monkeypatch.setattr(League, "ranking", wait)


@pytest.mark.parametrize("n_tokens", [1, 8])
def test_requests_that_hang_leave_others_alone(leagues, connect, monkeypatch, n_tokens):
    """However many connections and tokens a league has, two of its requests are worked on."""
    blocked = Blocked(monkeypatch)
    neighbour, clients = connect("play", "small"), [connect("read", "wide") for _ in range(n_tokens)]
    statuses: list[int] = []

    def attack(http: httpx.Client) -> None:
        statuses.append(http.get("/v1/leagues/wide/ranking").status_code)

    threads = [Thread(target=attack, args=(http,)) for http in clients * (8 // n_tokens)]
    for thread in threads:
        thread.start()
    until(lambda: len(blocked.entered) == 2)
    assert neighbour.post(f"{SMALL}/proposals").status_code == 201
    assert neighbour.get(SMALL).status_code == 200
    assert len(blocked.entered) == 2
    blocked.release.set()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 8


def test_more_requests_than_may_wait_are_refused(leagues, connect, monkeypatch):
    blocked = Blocked(monkeypatch)
    http = connect("read", "wide", queue=1)
    assert http.get("/v1/leagues/wide").status_code == 200  # the token is known now
    answers: list[httpx.Response] = []
    threads = [Thread(target=lambda: answers.append(http.get("/v1/leagues/wide/ranking"))) for _ in range(5)]
    for k, thread in enumerate(threads):
        thread.start()
        until(lambda k=k: len(blocked.entered) == min(k + 1, 2))  # two are worked on before the others arrive
    until(lambda: len(answers) == 2)
    assert [(answer.status_code, answer.headers["retry-after"]) for answer in answers] == [(429, "1")] * 2
    blocked.release.set()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 429, 429]


@pytest.mark.parametrize(("n_bytes", "in_thread"), [(100, False), (2**15, True)])
def test_a_large_body_is_decoded_off_the_event_loop(leagues, connect, monkeypatch, n_bytes, in_thread):
    names: list[str] = []
    run_sync = access.to_thread.run_sync

    async def watch(function: Any, *args: Any, **options: Any) -> Any:
        names.append(getattr(function, "__name__", ""))
        return await run_sync(function, *args, **options)

    http = connect("play", "wide")
    monkeypatch.setattr(access.to_thread, "run_sync", watch)
    assert http.post("/v1/leagues/wide/proposals", content=b"{" + b" " * n_bytes + b"}").status_code == 201
    assert ("decode" in names) == in_thread


def test_a_refusal_holds_its_slot(leagues, connect, monkeypatch):
    """A token with one slot, whose refusal waits: its next request does not start before."""
    entered, release = Event(), Event()

    async def sleep(_: float) -> None:
        entered.set()
        await anyio.to_thread.run_sync(release.wait, 60)

    monkeypatch.setattr(access.anyio, "sleep", sleep)
    http = connect("read", "wide", concurrency=1)
    refused = Thread(target=http.post, args=("/v1/leagues/wide/proposals",))
    refused.start()
    assert entered.wait(60)
    answers: list[int] = []
    waiting = Thread(target=lambda: answers.append(http.get("/v1/leagues/wide").status_code))
    waiting.start()
    assert connect("read", "small").get(SMALL).status_code == 200
    assert answers == []
    release.set()
    waiting.join()
    refused.join()
    assert answers == [200]
