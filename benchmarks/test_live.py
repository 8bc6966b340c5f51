"""How fast a league answers over HTTP, from a SQLite file, and how fast it is back after 10^6 events: `make bench`."""

import json
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from forked import Server

from matchbandit.live import Store, log, projection
from matchbandit.live.events import Event
from matchbandit.live.state import State
from matchbandit.service import tokens

ASKS = 300
"""The 99 % quantile is then the third largest."""
CLIENTS = 8
TELLS = 4000
EVENTS = 10**6


class Wire:
    """One connection to a server, which says as little as possible."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def post(self, path: str, body: Any) -> Any:
        self._connection.request("POST", f"/v1/leagues/club{path}", json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        assert answer.status in (200, 201), content
        return json.loads(content)

    def tell(self, proposal: dict[str, Any], rewards: Callable[[list[int]], int]) -> None:
        rows = [{"pair": pair["ids"], "reward": rewards(pair["ids"])} for pair in proposal["pairs"]]
        self.post(f"/proposals/{proposal['number']}/outcomes", {"outcomes": rows})


@pytest.fixture
def club(tmp_path: Path) -> Iterator[Callable[..., Wire]]:
    """A served league of so many players, and a wire to it."""
    running: list[Server] = []

    def make(players: int, **settings: Any) -> Wire:
        url = f"sqlite:///{tmp_path}/store.db"
        with Store(url) as store:
            league = store.create("club", players=[f"player {k}" for k in range(players)], seed=1, **settings)
            rng = np.random.default_rng(2)
            if settings:  # a rule or two: every player has two others whom it must not meet
                order = rng.permutation(players) + 1
                league.exclude([(int(a), int(b)) for a, b in zip(order, np.roll(order, 1), strict=True)])
            _, token = tokens.create(store, "bench", scope="play")
        running.append(Server(url, tmp_path, "--rate", "1000000"))
        return Wire(running[0].port, token)

    yield make
    for server in running:
        server.kill()


def asks(benchmark: Any, wire: Wire, players: int, rounds: int, available: float = 1.0) -> None:
    """Ask again and again; before each ask, all that came of the last one is told."""
    u = np.random.default_rng(1).uniform(0.05, 0.95, players)
    rng = np.random.default_rng(3)
    last: list[dict[str, Any]] = []

    def tell() -> None:
        for proposal in last:
            wire.tell(proposal, lambda pair: int(rng.random() < u[pair[0] - 1] * u[pair[1] - 1]))
        last.clear()

    def ask() -> None:
        there = np.flatnonzero(rng.random(players) < available) + 1
        last.append(wire.post("/proposals", {} if available == 1 else {"available": there.tolist()}))

    for _ in range(20):  # a league that has begun
        ask()
        tell()
    benchmark.pedantic(ask, setup=tell, rounds=rounds, warmup_rounds=1)
    benchmark.extra_info["p99"] = float(np.quantile(benchmark.stats.stats.data, 0.99))


def test_ask_of_200_players(benchmark, club):
    asks(benchmark, club(200), 200, ASKS)


def test_constrained_ask_of_200_players(benchmark, club):
    asks(benchmark, club(200, no_rematch=3), 200, ASKS, available=0.9)


@pytest.mark.parametrize("available", [1.0, 0.9])
def test_ask_of_2000_players(benchmark, club, available):
    asks(benchmark, club(2000), 2000, ASKS // 3, available=available)


def test_constrained_ask_of_2000_players(benchmark, club):
    asks(benchmark, club(2000, no_rematch=3), 2000, ASKS // 3, available=0.9)


def test_tells(benchmark, club):
    """Eight clients, each outcome in a request of its own."""
    wire = club(200)
    proposals = [wire.post("/proposals", {}) for _ in range(TELLS // 100)]
    told = [(proposal["number"], pair["ids"]) for proposal in proposals for pair in proposal["pairs"]]
    port, token = wire._connection.port, wire._headers["Authorization"].split()[1]

    def tell(mine: list[tuple[int, list[int]]]) -> None:
        own = Wire(port, token)
        for number, pair in mine:
            own.post(f"/proposals/{number}/outcomes", {"outcomes": [{"pair": pair, "reward": 1}]})

    def all_clients() -> None:
        threads = [Thread(target=tell, args=(told[k::CLIENTS],)) for k in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    benchmark.pedantic(all_clients, rounds=1)


def history(store: Store) -> Iterator[Event]:
    """The log of 200 players up to event 10^6: every outcome for itself; twenty proposals are decided, and repeated."""
    league = store.open("club")
    rng = np.random.default_rng(1)
    patterns = []
    for _ in range(20):
        proposal = league.ask()
        patterns.append(league.events(after=league.about()["n_events"] - 1)[0].data)
        league.tell(proposal.number, {ids: int(rng.random() < 0.4) for ids in proposal.ids})
    seq, number = league.about()["n_events"], len(patterns)
    at = "2026-11-16T09:30:00.000000Z"
    while True:
        number += 1
        pattern = patterns[number % len(patterns)]
        for kind, data in (
            ("proposed", {**pattern, "number": number, "decided_at": seq}),
            *(
                ("told", {"proposal": number, "outcomes": [[a, b, float(rng.random() < 0.4)]]})
                for a, b in pattern["pairs"]
            ),
        ):
            seq += 1
            yield Event(seq, at, kind, data)
            if seq == EVENTS:
                return


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a league of 10^6 events."""
    url = f"sqlite:///{tmp_path_factory.mktemp('million')}/store.db"
    with Store(url) as store:
        store.create("club", players=[f"player {k}" for k in range(200)], seed=1)
        page = []
        for event in history(store):
            page.append(event)
            if len(page) == 50_000 or event.seq == EVENTS:
                with store.writing() as connection:
                    log.append(connection, 1, page)
                    projection.project(connection, 1, page)
                page = []
    return url


def test_replay_of_a_million_events(benchmark, million):
    def replay() -> None:
        with Store(million) as store, store.reading() as connection:
            state = State()
            log.fold(connection, 1, state)
            assert state.seq == EVENTS

    benchmark.pedantic(replay, rounds=2)


def test_restart_after_a_million_events(benchmark, million, tmp_path):
    """From the start of a process that has everything imported to its first proposal, over HTTP."""
    with Store(million) as store:
        store.open("club").about()  # as any process that was there would have: it leaves a snapshot
        _, token = tokens.create(store, "bench", scope="play")

    def restart() -> None:
        with Server(million, tmp_path) as server:
            begun = time.perf_counter()
            Wire(server.port, token).post("/proposals", {})
            first.append(time.perf_counter() - begun)

    first: list[float] = []
    benchmark.pedantic(restart, rounds=3)
    benchmark.extra_info["first ask"] = min(first)
