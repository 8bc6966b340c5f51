"""Clients of a server that remember what was acknowledged, and the comparison of a store with what they remember."""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from threading import Event, Lock, Thread
from typing import Any

import httpx
from league_server import PATIENCE, wait_until

from matchbandit.leagues import VOID, League, Store

SLUG = "club"
PLAYERS = [f"player {number}" for number in range(12)]
Outcome = tuple[int, int, int]
"""A proposal and the ids of a pair."""


def reward_of(outcome: Outcome) -> int:
    """What a pair achieved, whoever tells it; a correction makes 1 of 0, and 0 of 1."""
    return sum(outcome) % 2


def is_corrected(number: int) -> bool:
    """Whether outcomes of a proposal are corrected; others are told by two clients."""
    return number % 4 == 0


class Load:
    """Clients that ask, tell and correct as fast as they can.

    A request without an answer, or with 503, is repeated under its key; every fourth client gives it up now and then,
    and nobody knows whether it was executed.
    """

    def __init__(self, addresses: list[str], token: str, *, clients: int = 6) -> None:
        """Each client uses one of the addresses."""
        self.proposals: dict[int, list[list[int]]] = {}
        self.tells: set[Outcome] = set()
        self.corrections: set[Outcome] = set()
        self.n_lost_asks = self.n_answers = self.n_repeated = self.n_unavailable = 0
        self.errors: list[BaseException] = []
        self._end, self._lock, self._token = Event(), Lock(), token
        self._threads = [
            Thread(target=self._run, args=(number, addresses[number % len(addresses)]), daemon=True)
            for number in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, number: int, address: str) -> None:
        rng = random.Random(number)
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            with httpx.Client(base_url=f"{address}/v1/leagues/{SLUG}/", headers=headers, timeout=PATIENCE) as client:
                turn = 0
                while not self._end.is_set():
                    turn += 1
                    self._play(client, rng, f"{number}-{turn}", gives_up=number % 4 == 3)
        except BaseException as error:
            self.errors.append(error)

    def _play(self, client: httpx.Client, rng: random.Random, key: str, gives_up: bool) -> None:
        def post(path: str, content: Any = None, *, refused: bool = False) -> Any:
            give_up = gives_up and rng.random() < 0.5
            return self._post(client, path, content, f"{key}-{next(steps)}", give_up=give_up, refused=refused)

        steps = iter(range(1000))
        proposal = post("proposals")
        with self._lock:
            if proposal is None:
                self.n_lost_asks += 1
                return
            number, pairs = proposal["number"], [pair["ids"] for pair in proposal["pairs"]]
            assert number not in self.proposals, f"proposal {number} was returned twice"
            self.proposals[number] = pairs
            other = rng.choice(list(self.proposals))
        rng.shuffle(pairs)
        parts = [(number, pairs[:1]), (number, pairs[1:3]), (number, pairs[3:-1])]
        if not is_corrected(other):
            parts.append((other, rng.sample(self.proposals[other], 2)))
        for which, part in parts:
            rows = [{"pair": pair, "reward": reward_of((which, *pair))} for pair in part]
            receipt = post(f"proposals/{which}/outcomes", {"outcomes": rows})
            if receipt is not None:
                assert receipt["recorded"] + receipt["repeated"] == len(part)
                with self._lock:
                    self.tells |= {(which, *pair) for pair in part}
        if (number, *pairs[1]) in self.tells:
            rows = [{"pair": pairs[1], "reward": 1 - reward_of((number, *pairs[1]))}]
            if not is_corrected(number):  # a contradiction, which must not harm requests that share its transaction
                post(f"proposals/{number}/outcomes", {"outcomes": rows}, refused=True)
            elif post(f"proposals/{number}/corrections", {"outcomes": rows}) is not None:
                with self._lock:
                    self.corrections.add((number, *pairs[1]))

    def _post(
        self, client: httpx.Client, path: str, content: Any, key: str, *, give_up: bool, refused: bool
    ) -> Any | None:
        """The answer; None if there was none, and it was not asked for again."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                answer = client.post(path, json=content, headers={"Idempotency-Key": key})
            except httpx.TransportError:
                unavailable = False
            else:
                if answer.status_code != 503:
                    assert answer.status_code == 409 if refused else answer.is_success, answer.text
                    with self._lock:
                        self.n_answers += 1
                    return answer.json()
                assert int(answer.headers["Retry-After"]) > 0
                unavailable = True
            with self._lock:
                self.n_repeated += 1
                self.n_unavailable += unavailable
            if give_up:
                return None
            time.sleep(0.02)
        raise AssertionError(f"no answer to {path}")

    def wait_for(self, more: int) -> None:
        """Wait until so many more requests were answered."""
        goal = self.n_answers + more
        self.wait_until(lambda: self.n_answers >= goal)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for this while the clients work."""
        wait_until(lambda: condition() or bool(self.errors), patience=20 * PATIENCE)

    def stop(self) -> None:
        """Let the clients end; none must have met an error."""
        self._end.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE)
        if self.errors:
            raise self.errors[0]


def all_rows(read: Callable[..., Any], **options: Any) -> Iterator[Any]:
    """The rows of all pages of a list."""
    page = read(**options)
    yield from page.rows
    while page.next is not None:
        page = read(after=page.next, **options)
        yield from page.rows


def check(url: str, load: Load) -> None:
    """Compare the league with what was acknowledged, and its tables with each other."""
    with Store(url) as store:
        league = store.open(SLUG)
        check_tables(league)
        history = list(all_rows(league.history, limit=1000))
    asked = [change.data["proposal"] for change in history if change.action == "ask"]
    assert len(load.proposals) <= len(asked) <= len(load.proposals) + load.n_lost_asks
    assert set(load.proposals) <= set(asked)

    rows = [(c.data["proposal"], *row) for c in history if c.action == "tell" for row in c.data["outcomes"]]
    times = Counter(row[:3] for row in rows)
    assert load.tells <= set(times), "an acknowledged outcome is lost"
    assert all(reward == reward_of(outcome) for *outcome, reward in rows)
    rows = [(c.data["proposal"], *row) for c in history if c.action == "correct" for row in c.data["outcomes"]]
    corrections = [tuple(row[:3]) for row in rows]
    assert load.corrections <= set(corrections), "an acknowledged correction is lost"
    assert all(old == reward_of(outcome) == 1 - new for *outcome, old, new in rows)


def check_tables(league: League) -> None:
    """Every outcome is recorded once; proposals, results, counts and history say the same."""
    history = list(all_rows(league.history, limit=1000))
    assert [change.version for change in history] == list(range(1, len(history) + 1))
    proposals = list(all_rows(league.proposals, limit=1000))
    numbers = [proposal.number for proposal in proposals]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers == [change.data["proposal"] for change in history if change.action == "ask"]

    outcomes: dict[Outcome, float | None] = {}  # None: void
    for change in history:
        if change.action == "tell":
            for a, b, reward in change.data["outcomes"]:
                assert (change.data["proposal"], a, b) not in outcomes, "an outcome was recorded twice"
                outcomes[change.data["proposal"], a, b] = reward
        elif change.action == "correct":
            for a, b, old, new in change.data["outcomes"]:
                assert outcomes[change.data["proposal"], a, b] == old
                outcomes[change.data["proposal"], a, b] = new
    pairs = [((proposal.number, *pair.ids), pair.outcome) for proposal in proposals for pair in proposal.pairs]
    assert {key: None if reward is VOID else reward for key, reward in pairs if reward is not None} == outcomes
    assert all(proposal.waiting == sum(pair.outcome is None for pair in proposal.pairs) for proposal in proposals)

    rewards = defaultdict[tuple[int, ...], list[float]](list)
    for outcome, reward in outcomes.items():
        if reward is not None:
            rewards[outcome[1:]].append(reward)
    results = {row.ids: (row.count, row.total) for row in all_rows(league.results)}
    assert results == {pair: (len(its), sum(its)) for pair, its in rewards.items()}
    info = league.info()
    assert (info.proposals, info.results, info.version) == (
        len(proposals),
        sum(map(len, rewards.values())),
        len(history),
    )
    assert info.waiting == sum(proposal.waiting for proposal in proposals)
    assert league.check() == []
