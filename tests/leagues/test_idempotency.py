"""Every writing method takes a key: a repeated request is executed once, and gets the same answer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from league_writes import WRITES, Call, club, fill, pair_of, state

from matchbandit.leagues import VOID, LeagueError, Store

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


@pytest.fixture
def filled(sqlite_store):
    fill(sqlite_store)
    return sqlite_store


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
