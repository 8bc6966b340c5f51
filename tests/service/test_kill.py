"""A server that is killed again and again under load loses nothing, doubles nothing, and is itself when it is back."""

import random
import time
from collections import Counter
from pathlib import Path
from threading import Event, Lock, Thread

import postgres
import pytest
from forked import PATIENCE, Server

from matchbandit.live.state import State
from matchbandit.live.store import Store
from matchbandit.service import tokens
from matchbandit.service.client import Client, RemoteLeague, ServiceError

PLAYERS = [f"player {number}" for number in range(12)]
CLIENTS = 8

Found = tuple[int, list[tuple[int, int]]]
"""The number of a proposal, and its pairs by id."""


def reward_of(number: int, pair: tuple[int, int]) -> int:
    """What a pair achieved, whoever tells it: what two clients tell of it is the same."""
    return (number + sum(pair)) % 2


class Load:
    """Clients that ask and tell as fast as they can; what was acknowledged is kept.

    Every second one repeats what got no answer, under the same key. The others let it be: nobody knows whether it was
    done. Outcomes are told by two clients, in parts, and twice.
    """

    def __init__(self, addresses: list[str], token: str) -> None:
        self.asked: dict[str, Found] = {}
        self.told: list[tuple[int, tuple[int, int]]] = []
        self.unanswered_asks = 0
        self.answers = 0
        self.errors: list[BaseException] = []
        self.ended = Event()
        self._lock = Lock()
        self._latest: Found | None = None
        self.threads = [
            Thread(target=self._run, args=(number, addresses[number % len(addresses)], token), daemon=True)
            for number in range(CLIENTS)
        ]
        for thread in self.threads:
            thread.start()

    def _run(self, number: int, address: str, token: str) -> None:
        patient = number // 2 % 2 == 0  # of both kinds at each of two servers
        try:
            with Client(
                address, token, attempts=1000 if patient else 1, sleep=lambda seconds: time.sleep(min(seconds, 0.05))
            ) as client:
                rng, turn, league = random.Random(number), 0, RemoteLeague(client, "club")
                while not self.ended.is_set():
                    turn += 1
                    self._play(league, rng, f"{number}-{turn}", patient)
        except BaseException as error:
            self.errors.append(error)

    def _play(self, league: RemoteLeague, rng: random.Random, key: str, patient: bool) -> None:
        try:
            if rng.random() < 0.05:
                league.open_proposals()  # there are readers, too
            proposal = league.ask(key=key)
        except ServiceError:
            if patient:
                raise
            with self._lock:
                self.unanswered_asks += 1
            time.sleep(0.02)
            return
        found = (proposal.number, proposal.ids)
        with self._lock:
            self.asked[key] = found
            self.answers += 1
            other, self._latest = self._latest, found
        self._tell(league, rng, found, patient)
        if other is not None:
            self._tell(league, rng, other, patient)  # a part of it was told by another, or all, or will be

    def _tell(self, league: RemoteLeague, rng: random.Random, found: Found, patient: bool) -> None:
        number, pairs = found
        order = rng.sample(pairs, len(pairs))
        for part in (order[:3], order[2:], order[:1]):  # the third pair twice, and the first
            if rng.random() < 0.2:
                continue  # lost for good, or told by another
            try:
                receipt = league.tell(number, {pair: reward_of(number, pair) for pair in part})
            except ServiceError:
                if patient:
                    raise
                continue
            assert receipt.booked + receipt.repeated == len(part)
            with self._lock:
                self.told += [(number, pair) for pair in part]
                self.answers += 1

    def wait_for(self, more: int) -> None:
        """Until so many more requests were answered."""
        wanted, end = self.answers + more, time.monotonic() + PATIENCE
        while self.answers < wanted and not self.errors:
            assert time.monotonic() < end, f"{self.answers} of {wanted} requests were answered"
            time.sleep(0.002)

    def end(self) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        assert self.errors == []


def kill_again_and_again(
    store: str, folder: Path, *, servers: int, kills: int, workers: int = 1, outcomes: int = 0
) -> None:
    """Kill servers under load, and compare the log with what was acknowledged: at least so many outcomes."""
    with Store(store) as opened:
        opened.create("club", players=PLAYERS, seed=3)
        _, token = tokens.create(opened, "load", scope="play")
    several = ("--workers", str(workers)) if workers > 1 else ()
    running = [Server(store, folder, *several) for _ in range(servers)]
    rng = random.Random(kills)
    try:
        load = Load([server.address for server in running], token)
        for kill in range(kills):
            load.wait_for(rng.randint(5, 60) if not outcomes else rng.randint(20, 200))
            running[kill % servers].kill()
            running[kill % servers].start()
        load.wait_for(20)
        while len(load.told) < outcomes:
            load.wait_for(20)
        load.end()
        with Store(store) as opened, Client(running[0].address, token) as client:
            check(opened, load)
            here, there = opened.open("club"), client.open("club")
            known = here.about()
            assert all(known[name] == value for name, value in there.about().items())
            assert there.open_proposals() == here.open_proposals()
            assert there.ranking() == here.ranking()
    finally:
        for server in running:
            server.kill()


def check(store: Store, load: Load) -> None:
    """The log against what was acknowledged, and all that is made from the log against the log."""
    league = store.open("club")
    events = league.events()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))

    proposed = {event.data["number"]: event.data for event in events if event.kind == "proposed"}
    numbers = [event.data["number"] for event in events if event.kind == "proposed"]
    assert numbers == list(range(1, len(numbers) + 1))  # none twice, none left out
    given = [number for number, _ in load.asked.values()]
    assert len(given) == len(set(given)), "a number was given twice"
    for number, pairs in load.asked.values():
        assert [tuple(pair) for pair in proposed[number]["pairs"]] == pairs
    # Whoever repeats under its key gets one proposal; each ask without an answer may have made one.
    assert len(load.asked) <= len(numbers) <= len(load.asked) + load.unanswered_asks

    outcomes = [
        (event.data["proposal"], (a, b), reward)
        for event in events
        if event.kind == "told"
        for a, b, reward in event.data["outcomes"]
    ]
    times = Counter((number, pair) for number, pair, _ in outcomes)
    assert max(times.values()) == 1, "an outcome is in the log twice"
    assert [what for what in load.told if times[what] != 1] == [], "an acknowledged outcome is lost"
    assert all(reward == reward_of(number, pair) for number, pair, reward in outcomes)

    state = State()
    for event in events:
        state.apply(event)
    assert state.digest() == league.digest()
    verified = league.verify()
    assert verified.ok, verified.sentence
    assert (verified.events, verified.proposals) == (len(events), len(numbers))


@pytest.mark.slow
def test_two_kills_on_sqlite(tmp_path):
    kill_again_and_again(f"sqlite:///{tmp_path}/store.db", tmp_path, servers=1, kills=2)


@pytest.mark.slow
def test_twenty_kills_on_sqlite(tmp_path):
    kill_again_and_again(f"sqlite:///{tmp_path}/store.db", tmp_path, servers=1, kills=20, outcomes=5000)


@pytest.mark.slow
def test_twenty_kills_of_three_workers_on_postgresql(tmp_path):
    kill_again_and_again(postgres.fresh_database(), tmp_path, servers=1, kills=20, workers=3, outcomes=5000)


@pytest.mark.slow
@pytest.mark.parametrize("on", ["sqlite", "postgresql"])
def test_twenty_kills_of_two_servers_on_one_store(on, tmp_path):
    url = postgres.fresh_database() if on == "postgresql" else f"sqlite:///{tmp_path}/store.db"
    kill_again_and_again(url, tmp_path, servers=2, kills=20)
