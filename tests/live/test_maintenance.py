"""A store that is pruned, described, checked and vacuumed; the same on both databases."""

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import delete, func, insert, select, text, update

from matchbandit.live import lifecycle, maintenance, schema
from matchbandit.live.events import add_seconds
from matchbandit.live.maintenance import Pruned, Retention
from matchbandit.live.store import Store

PLAYERS = ["ann", "bob", "cyd", "dan"]


def add_token(store: Store, name: str, *, expires: str | None = None, revoked: str | None = None) -> None:
    row = {"id": name, "label": name, "hash": "0", "scope": "read", "created": store.now()}
    with store.writing() as connection:
        connection.execute(insert(schema.tokens).values({**row, "expires": expires, "revoked": revoked}))
        session = {"id": f"of {name}", "token_id": name, "csrf": "", "created": store.now()}
        connection.execute(insert(schema.sessions).values({**session, "expires": expires or store.now()}))


def ids(store: Store, table) -> list[str]:
    with store.reading() as connection:
        return sorted(connection.execute(select(table.c.id)).scalars())


@pytest.fixture
def aged(store, clock):
    """A store with keys of two leagues, tokens and sessions, some of them 31 days old."""
    club, chess = (store.create(name, players=PLAYERS, key="create") for name in ("club", "chess"))
    for number in range(1, 8):
        for league in (club, chess):
            league.void(league.ask(key=f"ask {number}").number, key=f"void {number}")
    add_token(store, "expired", expires=add_seconds(store.now(), 60))
    add_token(store, "revoked", revoked=store.now())
    add_token(store, "lasting")
    add_token(store, "far", expires=add_seconds(store.now(), 86_400 * 90))
    clock.forward(days=31)
    club.ask(key="new")
    add_token(store, "fresh", revoked=store.now())
    return store


def test_what_is_over_is_pruned_by_age(aged, clock, monkeypatch):
    monkeypatch.setattr(maintenance, "BATCH", 4)  # several pages and batches
    expected = Pruned(keys=30, tokens=2, sessions=3)
    assert aged.prune(dry_run=True) == expected
    before = aged.info()
    pruned = aged.prune()
    assert pruned == expected
    assert ids(aged, schema.tokens) == ["far", "fresh", "lasting"]
    assert ids(aged, schema.sessions) == ["of far", "of fresh"]
    after = aged.info()
    assert (before.keys - after.keys, after.keys) == (30, 1)
    assert aged.prune() == aged.prune(dry_run=True) == Pruned()
    club = aged.open("club")
    assert club.ask(key="new").number == 8  # it is kept,
    assert club.ask(key="ask 1").number == 9  # and this one is a new request now
    assert club.verify().ok


def test_the_age_can_be_given(aged, clock):
    assert aged.prune(older_than=timedelta(days=32), dry_run=True) == Pruned()
    clock.forward(seconds=1)
    assert aged.prune(older_than=timedelta(0), dry_run=True) == Pruned(keys=31, tokens=3, sessions=4)


def test_ticks_prune_once_a_day_a_few_steps_each(aged, clock, monkeypatch):
    monkeypatch.setattr(maintenance, "BATCH", 4)
    monkeypatch.setattr(maintenance, "STEPS_PER_TICK", 2)
    aged.tick()
    assert 20 <= aged.info().keys < 31
    for _ in range(12):
        aged.tick()
    assert aged.info().keys == 1
    assert ids(aged, schema.tokens) == ["far", "fresh", "lasting"]
    clock.forward(hours=23)
    with aged.writing() as connection:
        connection.execute(update(schema.keys).values(at="2020-01-01T00:00:00.000000Z"))
    aged.tick()
    assert aged.info().keys == 1
    clock.forward(hours=2)
    aged.tick()
    assert aged.info().keys == 0


def test_a_pruning_lets_writers_in_between_two_steps(aged, monkeypatch):
    """On SQLite a writer that had to wait for the whole pruning would be refused here."""
    monkeypatch.setattr(maintenance, "BATCH", 4)
    with Store(
        str(aged.database.url.render_as_string(hide_password=False)), clock=aged.clock, lock_timeout=0.2
    ) as other:
        club = other.open("club")
        for _ in maintenance.prune_steps(aged.database, now=aged.now(), retention=Retention()):
            club.join(f"p{club.about()['n_items']}")


def test_a_store_is_described(store, clock):
    club = store.create("club", players=PLAYERS, key="create")
    club.ask()
    clock.forward(hours=1)
    club.ask()
    for name in ("old", "gone"):
        store.create(name, players=PLAYERS).ask()
    store.archive("old")
    store.delete("gone")
    add_token(store, "one")
    info = store.info()
    assert (info.url, info.schema_version, info.leagues) == (store.where, schema.VERSION, 1)
    assert [(each.name, each.status) for each in info.inactive] == [("gone", "deleted"), ("old", "archived")]
    assert (info.events, info.keys, info.tokens, info.sessions) == (12, 1, 1, 1)
    assert (info.open_proposals, info.oldest_open) == (2, "2026-11-16T09:30:00.000000Z")
    assert info.size_bytes > 10_000
    assert (info.free_bytes is not None) == store.database.is_sqlite


def test_a_sound_store_has_no_problem(store):
    for name in ("club", "old", "gone"):
        league = store.create(name, players=PLAYERS)
        league.void(league.ask().number)
    store.archive("old")
    store.delete("gone")
    names: list[str] = []
    result = store.check(progress=names.append)
    assert (result.ok, result.leagues, result.events, names) == (True, 3, 14, ["club", "gone", "old"])


HARM = {
    "table of proposals is wrong": update(schema.proposals).values(n_void=7),
    "the log has a gap": delete(schema.events).where(schema.events.c.seq == 2),
    "Its last event is 4, and 9 are expected": update(schema.leagues).values(head=9),
    "Its summary, which lists of leagues show, differs": update(schema.leagues).values(summary='{"title": ""}'),
    "Whether it is archived differs": update(schema.leagues).values(archived="2026-11-16T09:30:00.000000Z"),
    "does not fit those before it": update(schema.events).where(schema.events.c.kind == "told").values(data="{}"),
}


@pytest.mark.parametrize("words", HARM)
def test_what_is_wrong_is_found_with_the_way_out(store, words):
    club = store.create("club", players=PLAYERS)
    club.void(club.ask().number)
    with store.writing() as connection:
        connection.execute(HARM[words])
    (problem, *_) = store.check().problems
    assert problem.startswith("club: ")
    assert words in problem
    assert "matchbandit league export club" in problem


def test_a_file_with_rows_of_nobody_is_found(sqlite_url):
    with Store(sqlite_url) as store:
        store.create("club", players=PLAYERS)
        with closing(sqlite3.connect(store.database.url.database)) as file:
            file.execute("DELETE FROM mb_leagues")  # without foreign keys, as another program would
            file.commit()
        (problem,) = store.check().problems
        assert "has rows of a league or token that does not exist. Restore it from a backup." in problem


def test_unused_space_is_given_back(store):
    club = store.create("club", players=[f"player number {k}" for k in range(3000)])
    store.delete(club.name, now=True)
    before = store.info()
    store.vacuum()
    after = store.info()
    if store.database.is_sqlite:
        assert before.free_bytes > 50_000
        assert (after.free_bytes, after.size_bytes < before.size_bytes) == (0, True)
    with store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(schema.events)).scalar_one() == 0
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    assert lifecycle.BATCH < 3000  # several transactions were needed
