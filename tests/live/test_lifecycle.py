"""Leagues that are archived, deleted, restored and erased; the same on both databases."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from matchbandit.live import lifecycle, schema, transfer
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import LIFE_CYCLE
from matchbandit.live.maintenance import Retention
from matchbandit.live.store import Store

PLAYERS = ["ann", "bob", "cyd", "dan"]
PER_LEAGUE = [table for table in schema.metadata.sorted_tables if "league_id" in table.c]


@pytest.fixture
def other(url, clock):
    """Another process: it shares the database, and nothing else."""
    with Store(url, clock=clock) as opened:
        yield opened


def code_of(request) -> str:
    with pytest.raises(LeagueError) as caught:
        request()
    assert "\n" not in str(caught.value)
    return caught.value.code


def rows_of(store: Store, league: int) -> dict[str, int]:
    with store.reading() as connection:
        return {
            table.name: connection.execute(
                select(func.count()).select_from(table).where(table.c.league_id == league)
            ).scalar_one()
            for table in PER_LEAGUE
        }


def kinds(league) -> list[tuple[str, str]]:
    return [(event.kind, event.by) for event in league.events() if event.kind in LIFE_CYCLE]


def writes(league):
    """Every method that writes."""
    return {
        "ask": league.ask,
        "tell": lambda: league.tell(1, [("ann", "bob", 1)]),
        "correct": lambda: league.correct(1, [("ann", "bob", 0)]),
        "void": lambda: league.void(1),
        "join": lambda: league.join("eve"),
        "leave": lambda: league.leave("ann"),
        "rejoin": lambda: league.rejoin("ann"),
        "rename": lambda: league.rename("ann", "anna"),
        "forget": lambda: league.forget("ann"),
        "exclude": lambda: league.exclude([("ann", "bob")]),
        "allow": lambda: league.allow([("ann", "bob")]),
        "wish": lambda: league.wish([("ann", "bob")]),
        "unwish": lambda: league.unwish([("ann", "bob")]),
        "configure": lambda: league.configure(no_rematch=1),
        "expire": league.expire,
    }


def test_an_archived_league_can_be_read_and_not_written(store, other, clock):
    club = store.create("club", players=PLAYERS)
    store.create("chess", players=PLAYERS)
    number = club.ask(key="first").number
    elsewhere = other.open("club")
    elsewhere.about()
    status = store.archive("club", by="shell")
    assert (status.status, status.since, status.erase_after) == ("archived", store.now(), None)
    for league in (club, elsewhere):
        events = len(league.events())
        for name, write in writes(league).items():
            assert code_of(write) == "league-archived", name
        assert len(league.events()) == events
        assert league.proposal(number).number == number
        assert league.about()["archived"] == status.since
        assert league.ask(key="first").number == number  # a repeat still gets its answer
    assert "matchbandit league restore club" in str(lifecycle.archived_error("club", status.since))
    assert store.leagues() == other.leagues() == ["chess"]
    assert store.leagues(archived=True) == ["chess", "club"]
    assert store.archive("club").since == status.since  # twice is once
    assert kinds(club) == [("archived", "shell")]

    other.restore("club", by="token:1")
    assert store.leagues() == ["chess", "club"]
    assert club.about()["archived"] is None
    assert len(club.ask().pairs) == 2
    assert kinds(elsewhere) == [("archived", "shell"), ("restored", "token:1")]
    assert club.audit()[-2][1] == "The league was restored."
    assert club.verify().ok
    assert other.restore("club").status == "active"  # nothing to do
    assert len(kinds(club)) == 2


def test_deadlines_do_not_pass_in_an_archived_league(store, clock):
    club = store.create("club", players=PLAYERS, deadline=60, default=0.0)
    club.ask()
    store.archive("club")
    clock.forward(hours=1)
    assert store.tick() == 0
    assert club.proposal(1).open
    store.restore("club")
    assert store.tick() == 1
    assert not club.proposal(1).open


def test_a_snapshot_and_an_export_know_that_it_is_archived(store, clock, tmp_path, monkeypatch):
    club = store.create("club", players=PLAYERS)
    club.ask()
    since = store.archive("club").since
    monkeypatch.setattr("matchbandit.live.snapshots._MIN_EVENTS", 1)
    club.about()
    with store.reading() as connection:
        assert connection.execute(select(func.max(schema.snapshots.c.seq))).scalar_one() == 4
    store._replicas.clear()
    assert store.open("club").about()["archived"] == since
    store.open("club").export(tmp_path / "club.jsonl")
    copy = store.import_league(tmp_path / "club.jsonl", slug="copy")
    assert copy.digest() == club.digest()
    assert code_of(copy.ask) == "league-archived"
    assert store.leagues() == []
    assert store.check().problems == ()
    store.restore("copy")
    assert copy.ask().number == 2


def test_a_deleted_league_is_hidden_at_once_and_comes_back(store, other, clock):
    club = store.create("club", players=PLAYERS)
    club.ask()
    elsewhere = other.open("club")
    elsewhere.about()
    digest = club.digest()
    status = store.delete("club", by="shell")
    assert status.erase_after == "2026-12-16T09:30:00.000000Z"
    for league in (club, elsewhere):
        reads = {"about": league.about, "events": league.events, "history": league.history, "items": league.items,
                 "proposals": league.proposals, "shadow_report": league.shadow_report, "verify": league.verify,
                 "export": lambda league=league: league.export("never.jsonl")}  # fmt: skip
        for name, request in {**writes(league), **reads}.items():
            assert code_of(request) == "unknown-league", name
    for one in (store, other):
        assert one.leagues(archived=True) == []
        with pytest.raises(LeagueError, match="matchbandit league restore club") as caught:
            one.open("club")
        assert caught.value.code == "unknown-league"
        assert code_of(lambda one=one: one.archive("club")) == "unknown-league"
        assert code_of(lambda one=one: one.delete("club")) == "unknown-league"
        with pytest.raises(LeagueError, match="free again once that is erased") as caught:
            one.create("club", players=PLAYERS)
        assert caught.value.code == "league-exists"
    assert [(each.name, each.status) for each in store.statuses()] == [("club", "deleted")]

    clock.forward(days=29)
    assert other.prune().leagues == ()
    other.restore("club")
    assert club.digest() != digest  # two more events
    assert kinds(store.open("club")) == [("deleted", "shell"), ("restored", "python")]
    assert len(elsewhere.ask().pairs) == 2
    assert store.open("club").verify().ok


def test_what_is_deleted_is_erased_after_the_grace_period(store, other, clock, monkeypatch):
    club = store.create("club", players=PLAYERS, key="create")
    store.create("chess", players=PLAYERS)
    monkeypatch.setattr("matchbandit.live.snapshots._MIN_EVENTS", 1)
    for number in range(1, 6):
        proposal = club.ask(key=f"ask {number}")
        club.tell(number, {pair: 1.0 for pair in proposal.pairs})
    league = club._replica.league
    assert all(rows_of(store, league).values())
    store.delete("club")
    clock.forward(days=30, seconds=1)
    assert other.prune(dry_run=True).leagues == ("club",)
    assert all(rows_of(store, league).values())
    monkeypatch.setattr(lifecycle, "BATCH", 3)
    assert other.prune().leagues == ("club",)
    assert not any(rows_of(store, league).values())
    assert [status.name for status in store.statuses()] == ["chess"]
    assert code_of(lambda: store.restore("club")) == "unknown-league"
    assert store.create("club", players=PLAYERS[:2])._replica.league != league
    assert store.open("chess").verify().ok


def test_a_name_is_free_again_at_once_if_it_must_be(store, other):
    club = store.create("club", players=PLAYERS)
    first, elsewhere = club._replica.league, other.open("club")
    for _ in range(3):
        elsewhere.ask()
    store.delete("club", now=True)
    again = store.create("club", players=["eve", "fay"])
    assert again._replica.league > first  # a state of the old one is never taken for one of the new
    again.ask()
    assert code_of(elsewhere.items) == "unknown-league"
    assert [item.name for item in other.open("club").items()] == ["eve", "fay"]
    store.delete("club")
    store.delete("club", now=True)  # also what was deleted before
    assert store.statuses() == []


def test_a_tick_lets_go_of_deleted_leagues(store, other):
    store.create("club", players=PLAYERS)
    other.open("club").about()
    store.delete("club", now=True)
    store.create("club", players=["eve", "fay"])
    other.tick()
    assert [item.name for item in other.open("club").items()] == ["eve", "fay"]


def test_an_erasure_that_was_cut_off_is_finished_and_not_undone(store, other, clock, monkeypatch):
    club = store.create("club", players=PLAYERS)
    for _ in range(4):
        club.ask()
    store.delete("club")
    monkeypatch.setattr(lifecycle, "BATCH", 2)
    steps = lifecycle.erase(store.database, "club")
    next(steps)
    steps.close()
    assert store.statuses() == []
    with pytest.raises(LeagueError, match="is being erased") as caught:
        other.restore("club")
    assert caught.value.code == "unknown-league"
    assert code_of(lambda: other.create("club", players=PLAYERS)) == "league-exists"
    assert other.check().problems == ()
    assert other.prune().leagues == ("club",)
    assert other.create("club", players=PLAYERS).name == "club"


def test_no_byte_of_an_erased_league_is_left_in_the_file(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        store.create("other", players=PLAYERS)
        club = store.create("secretclub", players=["Zarathustra", "Xanthippe"], key="keyofmine")
        club.tell(club.ask().number, [("Zarathustra", "Xanthippe", 1)])
        store.delete("secretclub", now=True)
        content = b"".join(file.read_bytes() for file in Path(tmp_path).glob("store.db*"))
        for word in (b"Zarathustra", b"secretclub", b"keyofmine"):
            assert word not in content


def test_the_grace_period_is_a_setting(url, clock):
    with Store(url, clock=clock, retention=Retention(deleted=timedelta(days=2))) as store:
        store.create("club", players=PLAYERS)
        assert store.delete("club").erase_after == "2026-11-18T09:30:00.000000Z"
        clock.forward(days=2, seconds=1)
        store.tick()
        assert store.statuses() == []
    with pytest.raises(LeagueError, match="between 0 and 36500 days"):
        Retention(keys=timedelta(days=-1))


def test_a_write_that_waits_for_an_archive_is_refused(store, other):
    """The check is in the transaction that has the league's lock, so nothing slips in behind it."""
    club = store.create("club", players=PLAYERS)
    club.about()
    with other.writing() as connection:  # as `archive` would, from another process
        lifecycle.change(connection, "club", "archived", now=other.now(), by="other")
    assert code_of(club.ask) == "league-archived"


def test_unknown_names_are_told_as_ever(store):
    store.create("club", players=PLAYERS)
    for change in (store.archive, store.restore, store.delete):
        with pytest.raises(LeagueError, match="did you mean 'club'"):
            change("clubb")
        assert code_of(lambda change=change: change("No Slug")) == "unknown-league"


def test_an_older_program_refuses_the_new_kinds(store, monkeypatch):
    from matchbandit.live import state

    club = store.create("club", players=PLAYERS)
    store.archive("club")
    monkeypatch.delitem(state._HANDLERS, "archived")
    store._replicas.clear()
    with pytest.raises(LeagueError, match="this log is newer than this program") as caught:
        store.open("club")
    assert caught.value.code == "not-supported"
    assert club.name == "club"


def test_an_import_is_there_whole_or_not_at_all(store, other, clock, tmp_path, monkeypatch):
    club = store.create("club", players=PLAYERS)
    for _ in range(4):
        club.ask()
    club.export(tmp_path / "club.jsonl")
    monkeypatch.setattr("matchbandit.live.transfer._PAGE_SIZE", 2)
    pages = []

    def look(page):  # between two transactions others write, and see nothing of it
        pages.append(page)
        assert other.leagues(archived=True) == ["club"]
        assert other.check().problems == ()
        assert [status.name for status in other.statuses()] == ["club"]
        other.open("club").ask()

    with transfer.open_export(tmp_path / "club.jsonl") as file:
        export = transfer.Export(file, "it")
        contents = transfer.fold(export)
        file.seek(0)
        again = transfer.Export(file, "it")
        plain = transfer.pages
        with monkeypatch.context() as patched:
            patched.setattr(transfer, "pages", lambda export: (look(page) or page for page in plain(export)))
            store._write_import("copy", again, contents)
    assert len(pages) == 3
    assert store.open("copy").verify().ok
    assert store.check().problems == ()

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(transfer, "write_derived", fail)
    with pytest.raises(KeyboardInterrupt):
        store.import_league(tmp_path / "club.jsonl", slug="third")
    with store.reading() as connection:
        assert sorted(connection.execute(select(schema.leagues.c.slug)).scalars()) == ["club", "copy"]


def test_what_a_killed_import_leaves_is_erased_later(store, clock):
    with store.writing() as connection:
        store._add_row(connection, f"{lifecycle.IMPORTING}0123", deleted=store.now())
    assert store.statuses() == []
    assert code_of(lambda: store.restore(f"{lifecycle.IMPORTING}0123")) == "unknown-league"
    clock.forward(days=31)
    assert len(store.prune().leagues) == 1


def test_of_two_imports_of_one_name_one_is_refused(store, other, tmp_path):
    store.create("club", players=PLAYERS).export(tmp_path / "club.jsonl")

    with transfer.open_export(tmp_path / "club.jsonl") as file:
        contents = transfer.fold(transfer.Export(file, "it"))
        file.seek(0)
        export = transfer.Export(file, "it")
        plain = export.events

        def events():
            other.create("copy", players=["eve", "fay"])
            return plain()

        export.events = events
        assert code_of(lambda: store._write_import("copy", export, contents)) == "league-exists"
    assert [item.name for item in store.open("copy").items()] == ["eve", "fay"]
    assert [status.name for status in store.statuses()] == ["club", "copy"]
