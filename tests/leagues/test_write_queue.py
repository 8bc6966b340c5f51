"""Writes that wait together share a transaction, and each gets the answer or the error that it would get alone."""

import time
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import event

from matchbandit.leagues import League, Store
from matchbandit.leagues.transaction import Request


def at_once(store: Store, writes: list[Any]) -> tuple[list[Any], int]:
    """What writes that wait for the same lock return or raise, and in how many transactions."""
    results: list[Any] = [None] * len(writes)
    commits: list[int] = []

    def run(k: int) -> None:
        try:
            results[k] = writes[k]()
        except (Exception, KeyboardInterrupt) as error:
            results[k] = error

    threads = [Thread(target=run, args=(k,)) for k in range(len(writes))]
    waiting = [queue._waiting for queue in store._queues]
    with store.database.writing() as connection:
        connection.exec_driver_sql("UPDATE mb_league SET slug = slug")
        for thread in threads:
            thread.start()
        while sum(map(len, waiting)) < sum(thread.is_alive() for thread in threads):
            time.sleep(0.001)
        event.listen(store.database.engine, "commit", lambda _: commits.append(1))
    for thread in threads:
        thread.join()
    return results, len(commits) - 1


@pytest.fixture
def club(store: Store) -> League:
    return store.create("club", players=[f"p{k}" for k in range(12)])


def test_tells_that_wait_together_share_a_transaction(store: Store, club: League):
    number, pairs = club.ask().number, club.proposal(1).pairs
    results, commits = at_once(store, [lambda pair=pair: club.tell(number, {pair: 1}) for pair in pairs])
    assert sorted(receipt.waiting for receipt in results) == list(range(6))
    assert [change.version for change in club.history()] == list(range(1, 10))
    assert commits < len(pairs)
    assert club.check() == []


def test_an_error_is_that_of_the_write_that_caused_it(store: Store, club: League):
    pairs = club.ask().pairs
    writes = [lambda pair=pair: club.tell(1, {pair: 1}) for pair in pairs[:4]]
    writes.insert(2, lambda: club.correct(1, {pairs[4]: 1}))
    writes.insert(3, lambda: club.join("new", "p1"))
    writes.insert(4, lambda: club.tell(99, {pairs[4]: 1}))
    results, _ = at_once(store, writes)
    assert [error.code for error in results[2:5]] == ["bad-value", "name-taken", "unknown-proposal"]
    assert [result.recorded for result in results[:2] + results[5:]] == [1] * 4
    assert (club.info().results, club.info().items) == (4, 12)


def test_a_defect_of_one_write_does_not_reach_the_others(store: Store, club: League):
    def fail(_: Any) -> None:
        raise ZeroDivisionError

    pairs = club.ask().pairs
    writes = [lambda pair=pair: club.tell(1, {pair: 1}) for pair in pairs[:4]]
    for place in (0, 3):
        writes.insert(place, lambda: store.write("club", Request(None, "fail", None), fail, by="test"))
    results, _ = at_once(store, writes)
    assert [type(result).__name__ for result in results] == 2 * ["ZeroDivisionError", "Receipt", "Receipt"]
    assert club.info().results == 4


def test_writes_of_several_leagues_do_not_mix(store: Store, club: League):
    others = [store.create(f"l{k}", players=["a", "b"]) for k in range(70)]  # more than there are queues
    results, _ = at_once(store, [other.ask for other in others[:10]] + [lambda: club.join("new")])
    assert [proposal.number for proposal in results[:10]] == [1] * 10
    assert club.info().items == 13


def test_an_interrupt_is_no_acknowledgement(store: Store, club: League, monkeypatch: pytest.MonkeyPatch):
    pairs, commits = club.ask().pairs, []

    def interrupt(_: Any) -> None:
        commits.append(1)
        if len(commits) == 2:  # the first is that of the lock
            raise KeyboardInterrupt

    event.listen(store.database.engine, "commit", interrupt)
    results, _ = at_once(store, [lambda pair=pair: club.tell(1, {pair: 1}) for pair in pairs])
    recorded = {pair.ids for pair in club.proposal(1).pairs if pair.outcome is not None}
    acknowledged = {
        pair.ids for pair, result in zip(pairs, results, strict=True) if not isinstance(result, BaseException)
    }
    assert acknowledged == recorded
    assert all(
        isinstance(error, KeyboardInterrupt) or error.code == "store-busy"
        for error in results
        if isinstance(error, BaseException)
    )
    assert len(acknowledged) < len(pairs)
    assert [club.tell(1, {pair: 1}).waiting for pair in pairs][-1] == 0
