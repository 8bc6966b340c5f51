"""Databases that cannot be used: one sentence that says what to do, and nothing half-written."""

import multiprocessing
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier, Thread

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


def in_thread(function: Callable[[], object]) -> list[Exception]:
    """Run it in another thread; gives its error."""
    errors: list[Exception] = []

    def run() -> None:
        try:
            function()
        except Exception as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    return errors


# Transactions --------------------------------------------------------------------------------------------------------


def test_writing_that_fails_leaves_nothing(store: Store):
    create(store)

    def fail() -> None:
        with store.database.writing() as connection:
            connection.execute(update(schema.league).values(slug="other"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [league.slug for league in store.leagues()] == ["club"]


def test_reading_sees_one_moment(store: Store):
    slugs = select(schema.league.c.slug)
    with store.database.reading() as connection:
        assert connection.execute(slugs).all() == []
        create(store)
        assert connection.execute(slugs).all() == []
    with store.database.reading() as connection:
        assert connection.execute(slugs).scalars().all() == ["club"]


def test_a_store_that_many_open_at_once_is_created_once(tmp_path: Path):
    for url in (f"sqlite:///{tmp_path}/new.db", postgres.fresh_database()):
        together, errors = Barrier(6), []

        def open_it(url: str = url, together: Barrier = together, errors: list[Exception] = errors) -> None:
            together.wait()
            try:
                Store(url).close()
            except Exception as error:
                errors.append(error)

        threads = [Thread(target=open_it) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        with Store(url) as store, store.database.reading() as connection:
            assert len(connection.execute(select(schema.store)).all()) == 1


def test_a_file_of_a_store_is_private_and_durable(sqlite_url: str, tmp_path: Path):
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

        def play() -> None:
            for _ in range(5):
                proposal = club.ask()
                club.tell(proposal.number, {pair: 1 for pair in proposal.pairs})

        threads = [Thread(target=play) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert club.info().results == 20
        assert list(other.leagues()) == []
        assert store.check().ok


# Locks and connections -----------------------------------------------------------------------------------------------


def test_a_locked_store_is_busy(store: Store, store_url: str):
    with Store(store_url, timeout=0.05) as other, store.database.writing() as connection:
        connection.execute(update(schema.store).values(id=1))
        with pytest.raises(LeagueError, match="Try again") as caught:
            create(other)
    assert caught.value.code == "store-busy"
    create(store)


def test_threads_of_a_process_wait_for_their_turn_no_longer_than_the_timeout(sqlite_url: str):
    with Store(sqlite_url, timeout=0.05) as store, store.database.writing():
        (error,) = in_thread(lambda: create(store))
    assert isinstance(error, LeagueError)
    assert error.code == "store-busy"


def test_too_few_connections_are_busy(store_url: str):
    with Store(store_url, timeout=0.05) as store, ExitStack() as stack:
        code = None
        while code is None:
            try:
                stack.enter_context(store.database.reading())
            except LeagueError as error:
                code = error.code
        assert code == "store-busy"


# Outages -------------------------------------------------------------------------------------------------------------


def test_a_full_disk_says_so_and_nothing_is_written(sqlite_url: str):
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


def test_a_read_only_store_can_be_read(store: Store, store_url: str):
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
def test_a_file_that_was_replaced_or_removed_is_not_written(sqlite_url: str, tmp_path: Path, what: str):
    with Store(sqlite_url) as store:
        create(store)
        (tmp_path / "store.db").rename(tmp_path / "moved.db")
        if what == "replaced":
            Store(sqlite_url).close()
        with pytest.raises(LeagueError, match=r"replaced or removed while it was in use\. Restart") as caught:
            create(store, "second")
    assert caught.value.code == "store-unusable"


def test_a_damaged_file_says_so(sqlite_url: str, tmp_path: Path):
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


def test_a_text_that_is_not_utf8_says_that_the_file_is_damaged(sqlite_url: str, tmp_path: Path):
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


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ann:s3cret@nowhere.invalid/club", "nowhere.invalid"),
        ("postgresql://ann:s3cret@/club?host=/nowhere", "cannot be reached. Check its address"),
    ],
)
def test_postgresql_that_is_away_is_unusable(url: str, words: str):
    error = refusal(url)
    assert error.code == "store-unusable"
    assert words in str(error)
    assert "s3cret" not in str(error)


def test_a_database_that_postgresql_does_not_have_is_unusable():
    error = refusal(postgres.server().url("nowhere"))
    assert error.code == "store-unusable"
    assert 'database "nowhere" does not exist' in str(error)


# What is no store ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"x", b"milk, bread\n", b"y" * 5000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes):
    (tmp_path / "notes.txt").write_bytes(content)
    error = refusal(f"sqlite:///{tmp_path}/notes.txt")
    assert error.code == "store-unusable"
    assert "is not a SQLite database. Choose another file." in str(error)
    assert (tmp_path / "notes.txt").read_bytes() == content


def test_the_database_of_another_program_is_left_alone(tmp_path: Path):
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
    ("path", "words"),
    [("nowhere/store.db", "is in a folder that does not exist"), ("", "is a folder. Choose a file.")],
)
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path, path: str, words: str):
    error = refusal(f"sqlite:///{tmp_path}/{path}")
    assert error.code == "store-unusable"
    assert words in str(error)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("club.db", "a store is given as sqlite:///club.db or postgresql://"),
        ("", "a store is given as sqlite:///club.db or postgresql://"),
        ("mysql://root@localhost/club", "a store is in SQLite or PostgreSQL; got mysql"),
        ("sqlite:///club.db?colour=red", "colour"),
    ],
)
def test_a_url_that_is_no_store_is_refused(url: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    error = refusal(url)
    assert error.code == "bad-value"
    assert words in str(error)


# Texts and erased data -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["\0", "a\0b", "\ud800"])
def test_texts_that_are_no_characters_are_refused(store: Store, name: str):
    create(store)
    club, proposal = store.open("club"), store.open("club").ask()
    for request in (
        lambda: club.join(name),
        lambda: club.leave(name),
        lambda: club.exclude([("ann", name)]),
        lambda: club.tell(proposal.number, [("ann", name, 1)]),
        lambda: club.ask(available=["ann", name]),
        lambda: store.open(name),
    ):
        with pytest.raises(LeagueError) as caught:
            request()
        assert caught.value.code in ("bad-value", "bad-name", "unknown-item", "unknown-league")
    assert club.info().active == 3


def traces(folder: Path, word: bytes) -> list[str]:
    return [file.name for file in folder.iterdir() if word in file.read_bytes()]


def test_erase_name_leaves_no_trace_in_the_files(sqlite_url: str, tmp_path: Path):
    with Store(sqlite_url) as store:
        club = store.create("club", players=["Zebediah", "ann", "bob"])
        club.rename("Zebediah", "Zebulon")
        club.ask(available=["Zebulon", "ann"], key="Zebulon-1")
        assert traces(tmp_path, b"Zebulon")
        club.erase_name("Zebulon")
        assert traces(tmp_path, b"Zebulon") == traces(tmp_path, b"Zebediah") == []


def test_erase_name_while_somebody_reads_leaves_no_trace_after_maintenance(sqlite_url: str, tmp_path: Path):
    with Store(sqlite_url) as store:
        club = store.create("club", players=["Zebediah", "ann", "bob"])
        with store.database.reading() as connection:
            connection.execute(select(schema.item)).all()
            club.erase_name("Zebediah")
        assert store.database.unwiped
        store.run_maintenance()
        assert traces(tmp_path, b"Zebediah") == []


def ask_often(url: str, times: int) -> None:
    with Store(url) as store:
        for _ in range(times):
            store.open("club").ask()


def test_two_processes_write_the_same_store(store: Store, store_url: str):
    create(store)
    other = multiprocessing.get_context("spawn").Process(target=ask_often, args=(store_url, 20))
    other.start()
    ask_often(store_url, 20)
    other.join()
    assert other.exitcode == 0
    club = store.open("club")
    assert [proposal.number for proposal in club.proposals(limit=100)] == list(range(1, 41))
    assert club.check() == []
