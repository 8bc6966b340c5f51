"""Versions of a store: older ones are migrated in one transaction, newer ones refused, and old files stay readable."""

import shutil
from pathlib import Path

import postgres
import pytest
from clocks import Clock
from sqlalchemy import Connection, inspect, update

from matchbandit.leagues import VOID, LeagueError, Store, migrations, schema

STORES = Path(__file__).parent / "stores"


def create_2_0_0(path: Path) -> None:
    """How `stores/2.0.0.db` was made, by the version that it is named after."""
    clock = Clock()
    with Store(f"sqlite:///{path}", clock=clock) as store:
        club = store.create("club", players=["ann", "bob", "cem", "dee", "eve"], past=[("ann", "bob", 1.0)], seed=7)
        club.exclude([("ann", "cem")])
        for _ in range(6):
            proposal = club.ask()
            outcomes = {pair: float(sum(pair.ids) % 2) for pair in proposal.pairs}
            club.tell(proposal.number, outcomes, key=f"tell-{proposal.number}")
        club.correct(1, {club.proposal(1).pairs[0]: VOID})
        club.rename("dee", "dora")
        club.erase_name("eve")
        club.configure(deadline=3600, title="Chess club")
        club.pin([("bob", "dora")])
        club.ask(key="last")
        ads = store.create("ads", sides={"ads": ["a", "b"], "slots": ["top", "side"]}, rewards="gaussian:0.3")
        ads.tell(ads.ask().number, [("a", "top", 0.4)] if ads.proposal(1).pairs[0].names == ("a", "top") else [])
        store.create("old", players=["x", "y"])
        store.archive("old")


@pytest.fixture
def postgresql_url():
    """A database of its own, whose tables change."""
    url = postgres.fresh_database()
    Store(url).close()
    return url


def add_column(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE mb_league ADD COLUMN colour TEXT")


def fill_column(connection: Connection) -> None:
    connection.exec_driver_sql("UPDATE mb_league SET colour = 'blue'")


def fail(connection: Connection) -> None:
    raise RuntimeError("a migration with a defect")


def colours(store: Store) -> list[str]:
    with store.database.reading() as connection:
        return [row[0] for row in connection.exec_driver_sql("SELECT colour FROM mb_league")]


def test_an_older_store_is_migrated_step_by_step_and_once(store, store_url, monkeypatch):
    store.create("club", players=["ann", "bob"])
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 2)
    monkeypatch.setattr(migrations, "MIGRATIONS", {schema.VERSION - 1: add_column, schema.VERSION: fill_column})
    for _ in range(2):
        with Store(store_url) as later:
            assert colours(later) == ["blue"]
            assert later.info().version == schema.VERSION
            assert later.open("club").ask().number >= 1


def test_a_migration_that_fails_changes_nothing(store, store_url, monkeypatch):
    version = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", version + 2)
    monkeypatch.setattr(migrations, "MIGRATIONS", {version + 1: add_column, version + 2: fail})
    with pytest.raises(RuntimeError, match="defect"):
        Store(store_url)
    with store.database.reading() as connection:
        assert migrations.find_version(connection) == version
        assert "colour" not in [column["name"] for column in inspect(connection).get_columns("mb_league")]


@pytest.mark.parametrize(
    ("version", "advice"), [(99, "Upgrade matchbandit."), (2, "Use the matchbandit that wrote it.")]
)
def test_a_store_of_a_version_without_migrations_is_refused(store, store_url, version, advice):
    with store.database.writing() as connection:
        connection.execute(update(schema.store).values(version=version))
    with pytest.raises(LeagueError, match=f"has version {version}") as caught:
        Store(store_url)
    assert caught.value.code == "store-unusable"
    assert str(caught.value).endswith(advice)


@pytest.mark.parametrize("file", sorted(STORES.glob("*.db")), ids=lambda file: file.stem)
def test_a_store_of_an_earlier_release_is_read_and_continued(file, tmp_path):
    shutil.copyfile(file, tmp_path / "store.db")
    clock = Clock()
    clock.forward(minutes=30)
    with Store(f"sqlite:///{tmp_path}/store.db", clock=clock) as store:
        assert store.check().ok
        assert [league.slug for league in store.leagues()] == ["ads", "club"]
        assert [league.slug for league in store.leagues(status="archived")] == ["old"]
        club = store.open("club")
        info = club.info()
        assert (info.title, info.proposals, info.exclusions, info.items, info.active) == ("Chess club", 7, 1, 5, 4)
        assert [item.name for item in club.items()] == ["ann", "bob", "cem", "dora", "#5"]
        assert [change.action for change in club.history()][:3] == ["create", "join", "import results"]
        assert info.results == sum(row.count for row in club.results()) == 12
        last = club.proposal(7)
        assert ("bob", "dora") in [pair.names for pair in last.pairs]
        assert last.waiting == len(last.pairs)
        assert club.ask(key="last") == last
        receipt = club.tell(2, {pair: pair.outcome for pair in club.proposal(2).pairs})
        assert (receipt.recorded, receipt.repeated) == (0, 2)
    clock.forward(hours=1)
    with Store(f"sqlite:///{tmp_path}/store.db", clock=clock) as store:
        assert store.open("club").ask().number == 8
        assert store.open("club").proposal(7).waiting == 0
        assert store.open("club").ranking()
        assert store.open("ads").why().sentence
