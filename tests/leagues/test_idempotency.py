"""Every writing method takes a key: a repeated request is executed once, and gets the same answer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from matchbandit.leagues import VOID, League, LeagueError, Store

Call = Callable[[Store, str], Any]


def club(store: Store) -> League:
    return store.open("club")


def pair_of(store: Store, number: int = 1) -> tuple[str, str]:
    return club(store).proposal(number).pairs[0].ids


WRITES: dict[str, Call] = {
    "ask": lambda store, key: club(store).ask(key=key),
    "ask fixed": lambda store, key: club(store).ask(fixed=[("ann", "cem")], available=["ann", "cem"], key=key),
    "tell": lambda store, key: club(store).tell(2, {pair_of(store, 2): 1}, key=key),
    "tell_many": lambda store, key: club(store).tell_many({2: {pair_of(store, 2): 1}}, key=key),
    "correct": lambda store, key: club(store).correct(1, {pair_of(store): 0}, key=key),
    "void": lambda store, key: club(store).void(2, key=key),
    "join": lambda store, key: club(store).join("fay", key=key),
    "leave": lambda store, key: club(store).leave("ann", key=key),
    "rejoin": lambda store, key: club(store).rejoin("gus", key=key),
    "rename": lambda store, key: club(store).rename("ann", "anna", key=key),
    "erase_name": lambda store, key: club(store).erase_name("ann", key=key),
    "exclude": lambda store, key: club(store).exclude([("ann", "bob")], key=key),
    "unexclude": lambda store, key: club(store).unexclude([("dee", "gus")], key=key),
    "pin": lambda store, key: club(store).pin([("ann", "bob")], key=key),
    "unpin": lambda store, key: club(store).unpin([("cem", "gus")], key=key),
    "configure": lambda store, key: club(store).configure(title="Chess", key=key),
    "import_results": lambda store, key: store.open("new").import_results([("x", "y", 1.0)], key=key),
    "create": lambda store, key: store.create("third", players=["a", "b"], key=key).slug,
    "archive": lambda store, key: store.archive("new", key=key),
    "restore": lambda store, key: store.restore("gone", key=key),
    "delete": lambda store, key: store.delete("new", key=key),
    "erase": lambda store, key: store.delete("new", now=True, key=key),
}
OTHERS: dict[str, Call] = {
    "tell": lambda store, key: club(store).tell(2, {pair_of(store, 2): 0}, key=key),
    "join": lambda store, key: club(store).join("hal", key=key),
    "rename": lambda store, key: club(store).rename("ann", "anne", key=key),
    "ask": lambda store, key: club(store).ask(available=["ann", "bob"], key=key),
    "exclude": lambda store, key: club(store).pin([("ann", "bob")], key=key),
    "configure": lambda store, key: club(store).configure(title="Go", key=key),
    "create": lambda store, key: store.create("third", players=["a", "c"], key=key),
    "archive": lambda store, key: store.archive("club", key=key),
}
"""Other requests under the same key."""


def fill(store: Store) -> Store:
    """A store in which each of these has an effect."""
    league = store.create("club", players=["ann", "bob", "cem", "dee", "gus"], seed=1)
    first = league.ask()
    league.tell(first.number, {pair: 1 for pair in first.pairs})
    league.ask()
    league.leave("gus")
    league.exclude([("dee", "gus")])
    league.pin([("cem", "gus")])
    store.create("new", players=["x", "y"])
    store.create("gone", players=["x", "y"])
    store.delete("gone")
    return store


@pytest.fixture
def filled(sqlite_store):
    return fill(sqlite_store)


def state(store: Store) -> dict[str, int]:
    """The version of each league."""
    return {
        info.slug: info.version for status in ("active", "archived", "deleted") for info in store.leagues(status=status)
    }


@pytest.mark.parametrize("name", WRITES)
def test_a_repeated_request_is_executed_once_and_gets_the_same_answer(filled, sqlite_url, clock, name):
    before = state(filled)
    answer = WRITES[name](filled, "key")
    after = state(filled)
    assert after != before
    with Store(sqlite_url, clock=clock) as other:  # in a process that knows nothing of the first one
        for store in (filled, other):
            assert WRITES[name](store, "key") == answer
    assert state(filled) == after


@pytest.mark.parametrize("name", OTHERS)
def test_a_key_that_is_used_for_another_request_is_refused(filled, name):
    WRITES[name](filled, "key")
    after = state(filled)
    with pytest.raises(LeagueError) as caught:
        OTHERS[name](filled, "key")
    assert caught.value.code == "key-reused"
    assert state(filled) == after


def test_requests_repeat_after_their_names_have_changed(filled):
    club(filled).rejoin("gus")
    ids = pair_of(filled, 2)
    names = [club(filled).items().rows[item - 1].name for item in ids]
    requests: list[Callable[[], Any]] = [
        lambda: club(filled).tell(2, [(*names, 1)], key="tell"),
        lambda: club(filled).correct(2, [(*names, 0)], key="correct"),
        lambda: club(filled).ask(available=[*names], key="ask").number,
        lambda: club(filled).exclude([names], key="exclude"),
        lambda: club(filled).leave(names[0], key="leave")[0].id,
    ]
    answers = [request() for request in requests]
    club(filled).rename(names[0], "zoe")
    club(filled).erase_name(names[1])
    assert [request() for request in requests] == answers


def test_stored_answers_hold_no_names(filled):
    for name in ("join", "ask fixed", "tell", "pin", "configure", "rename"):
        WRITES[name](filled, name)
    with filled.database.reading() as connection:
        answers = str(connection.exec_driver_sql("SELECT * FROM mb_idempotency_key").all())
    for name in ("ann", "anna", "fay", "cem"):
        assert name not in answers


def test_a_request_without_effect_has_its_answer_stored_too(filled):
    first = club(filled).void(1, key="key")
    assert first.recorded == 0
    club(filled).correct(1, {pair_of(filled): VOID})
    assert club(filled).void(1, key="key") == first


def test_simultaneous_requests_with_one_key_get_the_same_answer(store, store_url, clock):
    fill(store)
    for name in ("create", "ask", "join", "tell", "correct", "pin", "configure", "import_results", "archive"):
        together = Barrier(6)
        with Store(store_url, clock=clock) as other, ThreadPoolExecutor(6) as pool:
            call = partial(lambda name, together, each: (together.wait(), WRITES[name](each, name))[1], name, together)
            answers = list(pool.map(call, (store, other) * 3))
        assert answers == [answers[0]] * 6, name


def test_keys_are_forgotten_with_their_league(filled):
    WRITES["erase"](filled, "key")
    filled.create("new", players=["x", "y"])
    assert filled.open("new").ask(key="key").number == 1
