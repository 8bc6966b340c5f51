"""A store of leagues: creating, listing, archiving and erasing them, and looking after the database."""

import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text

from matchbandit.leagues import LeagueError, Store, schema, tokens
from matchbandit.leagues.records import Pruned, StoreCheck

PLAYERS = ["ann", "bob", "cem", "dee"]


def refused(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    """The code with which a call is refused."""
    with pytest.raises(LeagueError) as caught:
        call(*args, **options)
    return caught.value.code


def count(store: Store, table: str) -> int:
    with store.database.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(text(table))).scalar_one())


# Leagues -------------------------------------------------------------------------------------------------------------


def test_create_with_exist_ok_opens_the_league_as_it_is(store):
    for title in ("first", "second"):
        club = store.create("club", players=PLAYERS, title=title, exist_ok=True)
        club.void(club.ask().number)
    assert (club.info().title, club.info().proposals) == ("first", 2)
    assert refused(store.create, "club", players=PLAYERS) == "league-exists"
    store.delete("club")
    assert refused(store.create, "club", players=PLAYERS, exist_ok=True) == "league-exists"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"players": "ann"}, "bad-value"),
        ({"players": ["ann", "ann "]}, "name-taken"),
        ({"players": PLAYERS, "sides": {"a": ["x"], "b": ["y"]}}, "bad-value"),
        ({"sides": {"a": ["x"]}}, "bad-value"),
        ({"sides": {"a": ["x"], "a ": ["y"]}}, "bad-value"),
        ({"sides": ["a", "b"]}, "bad-value"),
        ({"sides": {"a": ["x"], "\x00": ["y"]}}, "bad-name"),
        ({"players": PLAYERS, "seed": 2**63}, "bad-value"),
        ({"players": PLAYERS, "past": [("ann", "bob", 7)]}, "reward-outside"),
        ({"players": PLAYERS, "colour": "red"}, "bad-value"),
    ],
)
def test_create_with_wrong_values_creates_nothing(sqlite_store, options, code):
    assert refused(sqlite_store.create, "club", **options) == code
    assert len(sqlite_store.leagues()) == 0


def test_create_adds_items_of_past_results_once(store):
    club = store.create("club", players=["ann", " bob"], past=[("bob", "cem", 1), ("ann ", "bob", 0)])
    assert [item.name for item in club.items()] == ["ann", "bob", "cem"]
    assert club.info().results == 2


def test_create_takes_the_results_of_another_league(store):
    club = store.create("club", players=PLAYERS, past=[("ann", "bob", 1), ("ann", "cem", 0), ("ann", "bob", 0)])
    assert store.create("next", past=club.results()).results() == club.results()


def test_leagues_are_searched_filtered_and_paged(store):
    for k, title in enumerate(["Chess 50%", "Go_club", "Über", "chess"]):
        store.create(f"league-{k}", players=PLAYERS, title=title)
    store.archive("league-1")
    store.delete("league-3")

    def slugs(**options: Any) -> list[str]:
        return [league.slug[-1] for league in store.leagues(**options)]

    assert slugs() == slugs(limit=None) == ["0", "2"]
    assert (slugs(status="archived"), slugs(status="deleted")) == (["1"], ["3"])
    assert slugs(search="CHESS") == ["0"]
    assert (slugs(search="50%"), slugs(search="%"), slugs(search="LEAGUE-")) == (["0"], ["0"], ["0", "2"])
    assert slugs(search="Über") == ["2"]
    assert slugs(slugs=["league-2", "league-3"]) == ["2"]
    page = store.leagues(limit=1)
    assert ([league.slug for league in page], page.next) == (["league-0"], "league-0")
    assert store.leagues(after="league-0", limit=1).next is None
    assert refused(store.leagues, status="gone") == "bad-value"


def test_configure_refuses_a_policy_that_does_not_support_the_size(sqlite_url):
    with Store(sqlite_url) as store:
        club = store.create("club", players=[f"p{k}" for k in range(6400)])
        assert refused(club.configure, policy="cucb") == "not-supported"
        assert club.check() == []


# Archiving, deleting, erasing ----------------------------------------------------------------------------------------


def test_archived_and_deleted_leagues_refuse_and_are_restored(store):
    club = store.create("club", players=PLAYERS)
    club.ask()
    for _ in range(2):  # the second has no effect
        store.archive("club")
    assert refused(club.ask) == "league-archived"
    assert club.proposal(1).open
    for _ in range(2):
        store.delete("club")
    assert refused(club.proposal, 1) == "unknown-league"
    assert refused(store.open, "club") == "unknown-league"
    for _ in range(2):
        store.restore("club")
    assert [change.action for change in club.history()][3:] == ["archive", "delete", "restore"]
    assert club.check() == []
    assert refused(store.archive, "none") == refused(store.restore, "none") == refused(store.delete, "none")


@pytest.mark.parametrize("stop", [Store.archive, Store.delete])
def test_deadlines_stand_still_while_a_league_is_not_active(store, clock, stop):
    club = store.create("club", players=PLAYERS, deadline=60)
    club.ask()
    clock.forward(seconds=50)
    stop(store, "club")
    clock.forward(hours=1)
    assert store.run_maintenance() == 0
    store.restore("club")
    assert store.run_maintenance() == 0
    assert club.proposal(1).open
    clock.forward(seconds=10)
    assert store.run_maintenance() == 1
    assert not club.proposal(1).open
    assert club.check() == []


def test_delete_now_leaves_no_name_in_the_files(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        names = [f"Wilhelmina {k}" for k in range(500)]
        store.create("club", players=names, title="Brahmsallee", key="k").ask(key="k")
        assert any(b"Wilhelmina 499" in path.read_bytes() for path in tmp_path.iterdir())
        store.delete("club", now=True)
        contents = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert not any(word in contents for word in (b"Wilhelmina", b"Brahmsallee"))
        assert refused(store.restore, "club") == "unknown-league"


def test_delete_now_erases_every_row_of_the_league_only(store):
    for slug in ("club", "chess"):
        league = store.create(slug, players=PLAYERS, past=[("ann", "bob", 1)])
        league.exclude([("ann", "bob")])
        league.ask(key="k")
    tables = ("mb_league", "mb_item", "mb_rule", "mb_proposal", "mb_proposal_pair", "mb_past_result", "mb_change")
    tables += ("mb_idempotency_key",)
    before = {table: count(store, table) for table in tables}
    store.delete("club", now=True)
    assert {table: 2 * count(store, table) for table in tables} == before
    assert store.check().ok
    store.create("club", players=PLAYERS)
    assert store.open("chess").proposal(1).open


# Operations ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def aged(store, clock):
    """A store with keys, tokens and sessions, some of them 31 days old, and a league that was deleted then."""
    for slug in ("club", "old"):
        store.create(slug, players=PLAYERS, key=f"create {slug}")
    store.delete("old")
    for label, lifetime in (("expired", timedelta(minutes=1)), ("revoked", None), ("lasting", None)):
        token, _ = tokens.create(store, label, lifetime=lifetime)
        tokens.log_in(store, token)
    tokens.revoke(store, next(token.id for token in tokens.list_all(store) if token.label == "revoked"))
    clock.forward(days=31)
    store.open("club").ask(key="new")
    store.create("young", players=PLAYERS)
    store.delete("young")
    return store


def test_prune_erases_by_age_what_a_dry_run_says(aged):
    expected = Pruned(keys=2, tokens=2, sessions=3, leagues=["old"])
    assert aged.prune(dry_run=True) == expected
    assert aged.info().deleted == 2
    assert aged.prune() == expected
    assert aged.prune() == Pruned(0, 0, 0, [])
    assert [token.label for token in tokens.list_all(aged)] == ["lasting"]
    assert [league.slug for league in aged.leagues(status="deleted")] == ["young"]
    assert aged.open("club").ask(key="new").number == 1  # it is kept


def test_prune_takes_an_age(aged, clock):
    assert aged.prune(older_than=timedelta(days=32)) == Pruned(0, 0, 0, ["old"])
    assert aged.prune(older_than=timedelta(0), dry_run=True).keys == 2
    clock.forward(seconds=1)
    assert aged.prune(older_than=timedelta(0)) == Pruned(3, 2, 3, [])
    for age in (timedelta(-1), timedelta(40_000)):
        assert refused(aged.prune, older_than=age) == "bad-value"


def test_run_maintenance_prunes_once_a_day(aged, clock):
    aged.run_maintenance()
    assert aged.info().idempotency_keys == 1
    clock.forward(days=29, hours=23)
    aged.run_maintenance()
    aged.open("club").ask(key="newer")
    clock.forward(hours=23)
    aged.run_maintenance()
    assert aged.info().idempotency_keys == 2
    clock.forward(hours=2)
    aged.run_maintenance()
    assert aged.info().idempotency_keys == 1


def test_info_describes_the_store(store, clock):
    club = store.create("club", players=PLAYERS, key="create")
    club.ask()
    clock.forward(hours=1)
    club.ask()
    for slug in ("shelf", "gone"):
        store.create(slug, players=PLAYERS).ask()
    store.archive("shelf")
    store.delete("gone")
    tokens.log_in(store, tokens.create(store, "one")[0])
    info = store.info()
    assert (info.leagues, info.archived, info.deleted, info.changes) == (1, 1, 1, 12)
    assert (info.idempotency_keys, info.tokens, info.sessions) == (1, 1, 1)
    assert (info.open_proposals, info.oldest_open) == (2, "2026-11-16T09:30:00.000000Z")
    assert info.size_bytes > 10_000
    assert (info.free_bytes is None) != store.database.is_sqlite


def test_vacuum_returns_unused_space(store):
    store.create("club", players=[f"player number {k}" for k in range(3000)])
    store.delete("club", now=True)
    before = store.info()
    store.vacuum()
    after = store.info()
    if store.database.is_sqlite:
        assert before.free_bytes is not None
        assert before.free_bytes > 50_000
        assert (after.free_bytes, after.size_bytes < before.size_bytes) == (0, True)
    store.create("club", players=PLAYERS)


def test_backup_copies_what_is_committed_into_one_private_file(sqlite_url, tmp_path, clock):
    path = tmp_path / "copy.db"
    with Store(sqlite_url, clock=clock) as store:
        club = store.create("club", players=PLAYERS)
        with store.database.writing() as connection:  # others write, and have not committed
            connection.exec_driver_sql("DELETE FROM mb_item")
            store.backup(path)
            connection.rollback()
        assert refused(store.backup, path) == "bad-value"
        assert refused(store.backup, tmp_path / "no folder" / "copy.db") == "store-unusable"
        history = list(club.history())
    assert [file.name for file in tmp_path.glob("*copy*")] == ["copy.db"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with closing(sqlite3.connect(path)) as copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    with Store(f"sqlite:///{path}", clock=clock) as copied:
        assert copied.check() == StoreCheck([], {"club": []})
        assert list(copied.open("club").history()) == history


def test_backup_of_postgresql_names_pg_dump(postgresql_url, tmp_path):
    with Store(postgresql_url) as store, pytest.raises(LeagueError, match="pg_dump"):
        store.backup(tmp_path / "copy.db")


def test_warm_up_plays_leagues_like_those_of_the_store(sqlite_url):
    with Store(sqlite_url) as store:
        shop = store.create("shop", sides={"ads": ["a", "b"], "slots": ["top"]}, policy="cucb", rewards="gaussian:0.5")
        before = replace(store.info(), size_bytes=0)
        store.warm_up()
        assert replace(store.info(), size_bytes=0) == before
        assert shop.ask().number == 1


# Checks --------------------------------------------------------------------------------------------------------------

DAMAGES = {
    "an outcome": "UPDATE mb_proposal_pair SET outcome = 0 WHERE outcome = 1",
    "an impossible outcome": "UPDATE mb_proposal_pair SET outcome = 7 WHERE outcome = 1",
    "a void outcome": "UPDATE mb_proposal_pair SET outcome_version = 3 WHERE outcome_version IS NULL",
    "a removed pair": "DELETE FROM mb_proposal_pair WHERE position = 1",
    "a moved pair": "UPDATE mb_proposal_pair SET b = 5 WHERE b = 4",
    "a pair of nobody": "UPDATE mb_proposal_pair SET b = 40 WHERE b = 4",
    "a position": "UPDATE mb_proposal_pair SET position = 0",
    "a removed proposal": "DELETE FROM mb_proposal WHERE number = 2",
    "a count of pairs": "UPDATE mb_proposal SET n_waiting = 9 WHERE number = 2",
    "a bye": "UPDATE mb_proposal SET byes = '[3]'",
    "a note": 'UPDATE mb_proposal SET notes = \'[["nobody", 77, "met"]]\'',
    "an available item": "UPDATE mb_proposal SET available = '[1, \"ann\"]'",
    "a deadline": "UPDATE mb_proposal SET due = 'soon'",
    "a change": "DELETE FROM mb_change WHERE version = 3",
    "the last change": "DELETE FROM mb_change WHERE version = (SELECT max(version) FROM mb_change)",
    "a time": "UPDATE mb_change SET at = 'now' WHERE version = 3",
    "an action": "UPDATE mb_change SET action = 'told' WHERE action = 'tell'",
    "the content of a change": "UPDATE mb_change SET data = '{}' WHERE action = 'tell'",
    "an outcome of the history": "UPDATE mb_change SET data = replace(CAST(data AS text), '1.0', '0.0'){json}",
    "an item": "DELETE FROM mb_item WHERE id = 5",
    "a name": "UPDATE mb_item SET name = 'ann ' WHERE id = 1",
    "a position of an item": "UPDATE mb_item SET position = 9 WHERE id = 1",
    "byes of an item": "UPDATE mb_item SET byes = byes + 1 WHERE id = 1",
    "a rule of nobody": "UPDATE mb_rule SET b = 50",
    "past results": "DELETE FROM mb_past_result",
    "a past result": "UPDATE mb_past_result SET count = 5",
    "a title": "UPDATE mb_league SET settings = replace(CAST(settings AS text), '\"Chess\"', '5'){json}",
    "sides": "UPDATE mb_league SET sides = '\"ab\"'",
    "rewards": "UPDATE mb_league SET rewards = 'gold'",
    "the version": "UPDATE mb_league SET version = version + 1",
    "a later version": "UPDATE mb_league SET items_version = version + 1",
    "the number of proposals": "UPDATE mb_league SET n_proposals = 1",
    "the number of results": "UPDATE mb_league SET n_results = 1",
}


def play(store: Store) -> None:
    players = ["ann", "bob", "cem", "dee", "eve"]
    past = [("ann", "bob", 1), ("ann", "bob", 0)]
    club = store.create("club", players=players, deadline=60, title="Chess", past=past)
    club.exclude([("bob", "dee")])
    first = club.ask(fixed=[("ann", "bob"), ("cem", "dee")])
    club.tell(first.number, [("ann", "bob", 1)])
    club.ask()
    assert store.check() == StoreCheck([], {"club": []})


def damaged(store: Store, sql: str) -> None:
    """Damage a store, and check it."""
    with store.database.writing() as connection:
        if store.database.is_sqlite:
            connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        assert connection.exec_driver_sql(sql.replace("%", "%%")).rowcount
    check = store.check()
    assert not check.ok
    assert check.problems == []
    assert check.leagues["club"]


def test_check_finds_damage(sqlite_url, tmp_path, clock):
    with Store(sqlite_url, clock=clock) as store:
        play(store)
        store.backup(tmp_path / "whole.db")
    for name, sql in DAMAGES.items():
        copy = shutil.copyfile(tmp_path / "whole.db", tmp_path / f"{name}.db")
        with Store(f"sqlite:///{copy}", clock=clock) as store:
            damaged(store, sql.replace("{json}", ""))


@pytest.mark.parametrize("name", ["an outcome", "an outcome of the history", "a title"])
def test_check_finds_damage_on_postgresql(postgresql_url, clock, name):
    sql = DAMAGES[name].replace("= replace(", "= (replace(") if "{json}" in DAMAGES[name] else DAMAGES[name]
    with Store(postgresql_url, clock=clock) as store:
        play(store)
        damaged(store, sql.replace("{json}", ")::json"))


def test_check_finds_rows_of_nobody(sqlite_url):
    with Store(sqlite_url) as store:
        store.create("club", players=PLAYERS)
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as file:
            file.execute("DELETE FROM mb_league")  # without foreign keys, as another program would
            file.commit()
        check = store.check()
    assert (check.ok, check.leagues) == (False, {})
    assert "rows of what does not exist" in check.problems[0]


def test_check_finds_a_damaged_file(sqlite_url):
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    with Store(sqlite_url) as store:
        store.create("club", players=[f"p{k}" for k in range(2000)])
    content = bytearray(path.read_bytes())
    for page in range(len(content) // 4096 - 20, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(content)
    with Store(sqlite_url) as store:
        check = store.check()
    assert not check.ok
    assert "damaged" in check.problems[0]


def test_ready_does_not_wait_while_a_league_is_imported(postgresql_url):
    stores = Store(postgresql_url), Store(postgresql_url, timeout=0.5)
    with stores[0] as store, stores[1] as other, store.database.writing() as connection:
        connection.execute(select(schema.store.c.id).with_for_update())
        other.ready()
