"""A store that matchbandit 0.7.0 wrote is opened, migrated and goes on; see tests/data/0.7/make_store.py."""

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, select

from matchbandit.live import schema
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import KINDS, LIFE_CYCLE
from matchbandit.live.store import Store
from matchbandit.service import tokens

DATA = Path(__file__).parents[1] / "data" / "0.7"
EXPECTED = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
NOW = datetime(2027, 1, 2, 12, 0, tzinfo=UTC)
NAMES = list(EXPECTED["leagues"])
COUNTS = ("n_items", "n_active", "n_proposals", "n_open", "n_waiting", "n_results", "n_events")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    shutil.copyfile(DATA / "store.db", tmp_path / "store.db")
    return tmp_path / "store.db"


def opened(file: Path) -> Store:
    return Store(f"sqlite:///{file}", clock=lambda: NOW)


def version_of(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("SELECT version FROM mb_store").fetchone()[0])


def test_the_file_is_one_of_0_7():
    with closing(sqlite3.connect(f"{(DATA / 'store.db').as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT version, program FROM mb_store").fetchall() == [(1, "0.7.0")]
        kinds = {kind for (kind,) in connection.execute("SELECT DISTINCT kind FROM mb_events")}
        assert kinds == set(KINDS) - LIFE_CYCLE
        for table in ("mb_keys", "mb_sessions", "mb_snapshots", "mb_tokens"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_it_is_migrated_when_it_is_opened(file):
    assert version_of(file) == 1
    with opened(file) as store, store.reading() as connection:
        for table in schema.metadata.sorted_tables:
            columns = {column["name"] for column in inspect(connection).get_columns(table.name)}
            assert columns == {column.name for column in table.columns}
        assert (
            connection.execute(select(schema.leagues.c.archived, schema.leagues.c.deleted)).all() == [(None,) * 2] * 2
        )
        info = store.info()
        assert (info.schema_version, info.leagues) == (schema.newest_version(), 2)
        assert store.check().problems == ()
    with opened(file) as store:  # and once only
        assert store.leagues() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_leagues_read_as_before(file, name):
    expected = EXPECTED["leagues"][name]
    with opened(file) as store:
        league = store.open(name)
        about = json.loads(json.dumps(league.about()))
        assert {key: about[key] for key in expected["about"]} == expected["about"]
        assert [(item.id, item.name, item.active, item.meetings) for item in league.items()] == [
            (item["id"], item["name"], item["active"], item["meetings"]) for item in expected["items"]
        ]
        waiting = [[one.number, *map(list, one.waiting)] for one in league.open_proposals()]
        assert waiting == expected["waiting"]
        assert sorted(map(list, league.results())) == sorted(expected["results"])
        history = {line.number: line for line in league.history()}
        for line in expected["history"]:
            assert history[line["number"]].reward == line["reward"]
        verification = league.verify()
        assert verification.ok, verification.sentence
        assert verification.events == expected["events"]
        assert len(league.audit()) == expected["events"]


def test_what_the_migration_adds_is_filled(file):
    with opened(file) as store:
        summaries = store.summaries()
        assert [summary.name for summary in summaries] == NAMES
        for summary in summaries:
            about = EXPECTED["leagues"][summary.name]["about"]
            assert {name: getattr(summary, name) for name in COUNTS} == {name: about[name] for name in COUNTS}
        with store.reading() as connection:
            columns = connection.execute(select(schema.proposals.c.expected_of_told)).scalars().all()
            stored = connection.execute(select(schema.leagues.c.summary)).scalars().all()
        assert None not in columns
        assert any(columns)
        assert None not in stored
        assert store.check().problems == ()


@pytest.mark.parametrize("name", NAMES)
def test_leagues_go_on(file, name):
    with opened(file) as store:
        league = store.open(name)
        number, *_ = EXPECTED["leagues"][name]["waiting"][0]
        league.tell(number, {pair: 1.0 for pair in league.proposal(number).waiting})
        proposal = league.ask()
        league.tell(proposal.number, {pair: 0.5 for pair in proposal.pairs})
        assert league.verify().ok
        assert store.check().problems == ()
        store.archive(name)
        store.restore(name)
        digest = league.digest()
    with opened(file) as store:
        assert store.open(name).digest() == digest


def test_old_keys_do_nothing_twice_and_tokens_still_work(file):
    with opened(file) as store:
        with pytest.raises(LeagueError, match="was used with an older matchbandit") as caught:
            store.open("club").ask(key="ask 6")
        assert caught.value.code == "key-reused"
        token = tokens.find_active(store, EXPECTED["token"])
        assert (token.label, token.scope, token.leagues) == ("website", "admin", None)
        pruned = store.prune(dry_run=True)
        assert (pruned.keys, pruned.tokens, pruned.leagues) == (5, 0, ())
        store.prune()
        assert tokens.find_active(store, EXPECTED["token"]) == token


def test_a_migration_that_was_cut_off_goes_on(file, monkeypatch):
    (step,) = schema.MIGRATIONS

    def fail_half_way(connection: Connection) -> None:
        step(connection)
        raise KeyboardInterrupt  # or the process is killed: nothing of the step is kept

    monkeypatch.setattr(schema, "MIGRATIONS", (fail_half_way,))
    with pytest.raises(KeyboardInterrupt):
        opened(file)
    assert version_of(file) == 1
    monkeypatch.setattr(schema, "MIGRATIONS", (step,))
    with opened(file) as store:
        assert store.check().problems == ()
    assert version_of(file) == schema.newest_version()


def test_a_program_of_schema_1_refuses_what_was_migrated(file, monkeypatch):
    opened(file).close()
    monkeypatch.setattr(schema, "MIGRATIONS", ())  # as in 0.5 to 0.10, which have the same check
    with pytest.raises(LeagueError, match="has schema version 2; this matchbandit supports up to 1") as caught:
        opened(file)
    assert (caught.value.code, "\n" in str(caught.value)) == ("store-unusable", False)


def test_an_export_of_0_7_is_imported(file):
    with opened(file) as store:
        copy = store.import_league(DATA / "club.jsonl", slug="copy")
        assert copy.digest() == store.open("club").digest()
        assert [item.name for item in copy.items()] == [item.name for item in store.open("club").items()]
