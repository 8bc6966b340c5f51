"""Databases that cannot be used: one sentence that says what to do, and nothing half-written."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier

import postgres
import pytest
from sqlalchemy import select, text, update

from matchbandit.leagues import LeagueError, Store, schema

MEMORY = "sqlite://"


def refusal(url: str) -> LeagueError:
    """The error with which a store cannot be opened."""
    with pytest.raises(LeagueError) as caught:
        Store(url, timeout=2).close()
    assert "\n" not in str(caught.value)
    return caught.value


def create(store: Store, slug: str = "club") -> None:
    store.create(slug, players=["ann", "bob", "cem"])


# Transactions --------------------------------------------------------------------------------------------------------


def test_writing_that_fails_leaves_nothing(store):
    create(store)

    def fail() -> None:
        with store.database.writing() as connection:
            connection.execute(update(schema.league).values(slug="other"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [league.slug for league in store.leagues()] == ["club"]


def test_reading_sees_one_moment(store):
    slugs = select(schema.league.c.slug)
    with store.database.reading() as connection:
        assert connection.execute(slugs).all() == []
        create(store)
        assert connection.execute(slugs).all() == []
    with store.database.reading() as connection:
        assert connection.execute(slugs).scalars().all() == ["club"]


def test_a_store_that_many_open_at_once_is_created_once(tmp_path):
    for url in (f"sqlite:///{tmp_path}/new.db", postgres.fresh_database()):
        together = Barrier(6)
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda _: (together.wait(), Store(url).close()), range(6)))  # noqa: B023
        with Store(url) as store, store.database.reading() as connection:
            assert len(connection.execute(select(schema.store)).all()) == 1


def test_a_file_of_a_store_is_private_and_durable(sqlite_url, tmp_path):
    with Store(f"sqlite:///{tmp_path}/new.db") as store, store.database.reading() as connection:
        assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


def test_a_store_in_memory_serves_all_threads_of_a_process():
    with Store(MEMORY) as store, Store(MEMORY) as other:
        create(store)
        club = store.open("club")

        def play(_: int) -> None:
            for _ in range(5):
                proposal = club.ask()
                club.tell(proposal.number, {pair: 1 for pair in proposal.pairs})

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(play, range(4)))
        assert club.info().results == 20
        assert list(other.leagues()) == []
        assert store.check().ok


# Locks and connections -----------------------------------------------------------------------------------------------


def test_a_locked_store_is_busy(store, store_url):
    with Store(store_url, timeout=0.05) as other, store.database.writing() as connection:
        connection.execute(update(schema.store).values(id=1))
        with pytest.raises(LeagueError, match="Try again") as caught:
            create(other)
    assert caught.value.code == "store-busy"
    create(store)


def test_threads_of_a_process_wait_for_their_turn_no_longer_than_the_timeout(sqlite_url):
    with Store(sqlite_url, timeout=0.05) as store, store.database.writing(), ThreadPoolExecutor(1) as pool:
        error = pool.submit(create, store).exception()
    assert isinstance(error, LeagueError)
    assert error.code == "store-busy"


def test_too_few_connections_are_busy(store_url):
    with Store(store_url, timeout=0.05) as store, ExitStack() as stack:
        code = None
        while code is None:
            try:
                stack.enter_context(store.database.reading())
            except LeagueError as error:
                code = error.code
        assert code == "store-busy"


# Outages -------------------------------------------------------------------------------------------------------------


def test_a_full_disk_says_so_and_nothing_is_written(sqlite_url):
    with Store(sqlite_url) as store:
        create(store)

        def fill() -> None:
            with store.database.writing() as connection:
                connection.exec_driver_sql("PRAGMA max_page_count=1")  # SQLite takes as many as there are
                for number in range(20_000):
                    connection.exec_driver_sql("INSERT INTO mb_token VALUES (?, '', '', '', '', '', '', '')", (number,))

        with pytest.raises(LeagueError, match=r"is full: nothing was written\. Free space") as caught:
            fill()
        assert caught.value.code == "store-unusable"
        assert [league.slug for league in store.leagues()] == ["club"]


def test_a_read_only_store_can_be_read(store, store_url):
    create(store)
    store.close()
    if store_url.startswith("sqlite"):
        path = store_url.removeprefix("sqlite:///")
        read_only = f"sqlite:///file:{path}?mode=ro&uri=true"
    else:
        read_only = f"{store_url}&options=-c%20default_transaction_read_only%3Don"
    with Store(read_only) as other:
        assert [league.slug for league in other.leagues()] == ["club"]
        with pytest.raises(LeagueError, match="is read-only") as caught:
            create(other, "second")
    assert caught.value.code == "store-unusable"


@pytest.mark.parametrize("what", ["replaced", "removed"])
def test_a_file_that_was_replaced_or_removed_is_not_written(sqlite_url, tmp_path, what):
    with Store(sqlite_url) as store:
        create(store)
        (tmp_path / "store.db").rename(tmp_path / "moved.db")
        if what == "replaced":
            Store(sqlite_url).close()
        with pytest.raises(LeagueError, match=r"replaced or removed while it was in use\. Restart") as caught:
            create(store, "second")
    assert caught.value.code == "store-unusable"


def test_a_damaged_file_says_so(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        create(store)
        assert store.database.check() == []
    path = tmp_path / "store.db"
    content = bytearray(path.read_bytes())
    for page in range(2, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xee" * 64
    path.write_bytes(content)
    error = refusal(sqlite_url)
    assert error.code == "store-unusable"
    assert "is damaged. Restore a backup." in str(error)


def test_a_text_that_is_not_utf8_says_that_the_file_is_damaged(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        create(store)
        with sqlite3.connect(tmp_path / "store.db") as connection:
            connection.execute("UPDATE mb_league SET created_at = CAST(? AS TEXT)", (b"\xff\xfe",))
        connection.close()
        with pytest.raises(LeagueError, match="is damaged") as caught:
            store.leagues()
    assert caught.value.code == "store-unusable"


def test_postgresql_that_ended_the_session_is_reconnected():
    with Store(postgres.fresh_database()) as store, Store(postgres.server().url("postgres")) as admin:
        create(store)
        club = store.open("club")
        end = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'test%'")

        def end_sessions() -> None:
            with admin.database.writing() as connection:
                connection.execute(end)

        end_sessions()
        number = club.ask().number

        def read() -> None:
            with store.database.reading() as connection:
                end_sessions()
                connection.execute(select(schema.league))

        with pytest.raises(LeagueError, match=r"ended the session\. Try again") as caught:
            read()
        assert caught.value.code == "store-unusable"
        assert club.proposal(number).number == number


def test_postgresql_that_is_away_or_has_no_such_database_is_unusable():
    for url, words in (
        ("postgresql://ann:s3cret@nowhere.invalid/club", "nowhere.invalid"),
        ("postgresql://ann:s3cret@/club?host=/nowhere", "cannot be reached. Check its address"),
        (postgres.server().url("nowhere"), 'database "nowhere" does not exist'),
    ):
        error = refusal(url)
        assert error.code == "store-unusable"
        assert words in str(error)
        assert "s3cret" not in str(error)


# What is no store ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"x", b"milk, bread\n", b"y" * 5000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    (tmp_path / "notes.txt").write_bytes(content)
    error = refusal(f"sqlite:///{tmp_path}/notes.txt")
    assert error.code == "store-unusable"
    assert "is not a SQLite database. Choose another file." in str(error)
    assert (tmp_path / "notes.txt").read_bytes() == content


def test_the_database_of_another_program_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    error = refusal(f"sqlite:///{tmp_path}/shop.db")
    assert error.code == "store-unusable"
    assert "is another program's database: it has a table 'orders'" in str(error)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("orders",)]
    connection.close()


def test_postgresql_may_be_shared_with_another_program_but_not_its_tables():
    shared, taken = postgres.fresh_database(), postgres.fresh_database()
    for url, table in ((shared, "orders"), (taken, "mb_item")):
        with Store(postgres.fresh_database()) as store:
            engine = store.database.engine.dialect.loaded_dbapi
            with engine.connect(url, autocommit=True) as connection:
                connection.execute(f"CREATE TABLE {table} (id INTEGER)")
    with Store(shared) as store:
        create(store)
    error = refusal(taken)
    assert error.code == "store-unusable"
    assert "has a table 'mb_item' that it did not create" in str(error)


@pytest.mark.parametrize(
    ("url", "code", "words"),
    [
        ("sqlite:///nowhere/store.db", "store-unusable", "is in a folder that does not exist"),
        ("sqlite:///.", "store-unusable", "is a folder. Choose a file."),
        ("club.db", "bad-value", "a store is given as sqlite:///club.db or postgresql://"),
        ("", "bad-value", "a store is given as sqlite:///club.db or postgresql://"),
        ("mysql://root@localhost/club", "bad-value", "a store is in SQLite or PostgreSQL; got mysql"),
        ("sqlite:///club.db?colour=red", "bad-value", "colour"),
    ],
)
def test_a_url_that_is_no_store_is_refused(url, code, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = refusal(url)
    assert error.code == code
    assert words in str(error)


# Texts and erased data -----------------------------------------------------------------------------------------------


def test_texts_that_are_no_characters_are_refused(store):
    create(store)
    club, proposal = store.open("club"), store.open("club").ask()
    for name in ("\0", "a\0b", "\ud800"):
        for request in (
            lambda name=name: club.join(name),
            lambda name=name: club.leave(name),
            lambda name=name: club.exclude([("ann", name)]),
            lambda name=name: club.tell(proposal.number, [("ann", name, 1)]),
            lambda name=name: club.ask(available=["ann", name]),
            lambda name=name: store.open(name),
        ):
            with pytest.raises(LeagueError) as caught:
                request()
            assert caught.value.code in ("bad-value", "bad-name", "unknown-item", "unknown-league")
    assert club.info().active == 3


def traces(folder: Path, word: bytes) -> list[str]:
    return [file.name for file in folder.iterdir() if word in file.read_bytes()]


def test_erase_name_leaves_no_trace_in_the_files(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        club = store.create("club", players=["Zebediah", "ann", "bob"])
        club.rename("Zebediah", "Zebulon")
        club.ask(available=["Zebulon", "ann"], key="Zebulon-1")
        assert traces(tmp_path, b"Zebulon")
        club.erase_name("Zebulon")
        assert traces(tmp_path, b"Zebulon") == traces(tmp_path, b"Zebediah") == []


def test_erase_name_while_somebody_reads_leaves_no_trace_after_maintenance(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        club = store.create("club", players=["Zebediah", "ann", "bob"])
        with store.database.reading() as connection:
            connection.execute(select(schema.item)).all()
            club.erase_name("Zebediah")
        assert store.database.unwiped
        store.run_maintenance()
        assert traces(tmp_path, b"Zebediah") == []
