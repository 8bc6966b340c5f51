"""Databases that cannot be used: one line each, nothing half-written."""

import sqlite3
from pathlib import Path
from threading import Barrier, Thread

import postgres
import pytest
from clocks import Clock
from sqlalchemy import Connection, inspect, select, text, update

from matchbandit.live import schema
from matchbandit.live.backup import backup
from matchbandit.live.errors import LeagueError
from matchbandit.live.store import Store


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """Here there is nothing yet."""
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, sqlite_url: str) -> str:
    """Here neither."""
    return postgres.fresh_database() if request.param == "postgresql" else sqlite_url


def refusal(url: str, **options: float) -> LeagueError:
    """What a store says when it cannot be opened: a code, and one line."""
    with pytest.raises(LeagueError) as caught:
        Store(url, **options).close()
    assert "\n" not in str(caught.value)
    return caught.value


def add_league(connection: Connection, slug: str) -> None:
    connection.execute(schema.leagues.insert().values(slug=slug, head=0, created="2026-11-16T09:30:00.000000Z"))


def add_one(store: Store) -> None:
    with store.writing() as connection:
        add_league(connection, "club")


def test_a_store_is_made_once_and_found_again(url, clock):
    with Store(url, clock=clock) as store, store.reading() as connection:
        made = connection.execute(select(schema.store.c.version, schema.store.c.created)).all()
    clock.forward(days=1)
    with Store(url, clock=clock) as store, store.reading() as connection:
        again = connection.execute(select(schema.store.c.version, schema.store.c.created)).all()
    assert again == made == [(schema.VERSION, "2026-11-16T09:30:00.000000Z")]


def test_sqlite_is_set_up_for_what_is_acknowledged(sqlite_url):
    with Store(sqlite_url) as store, store.reading() as connection:
        said = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout")
        }
    assert said == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "busy_timeout": 10000,
    }


def test_a_transaction_that_fails_leaves_nothing(store):
    def fail() -> None:
        with store.writing() as connection:
            add_league(connection, "club")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with store.reading() as connection:
        assert connection.execute(select(schema.leagues)).all() == []


def test_a_reader_sees_one_moment(store):
    with store.reading() as reader:
        assert reader.execute(select(schema.leagues)).all() == []
        with store.writing() as writer:
            add_league(writer, "club")
        assert reader.execute(select(schema.leagues)).all() == []
    with store.reading() as reader:
        assert len(reader.execute(select(schema.leagues)).all()) == 1


def test_a_locked_store_is_busy(url):
    with Store(url) as holder, Store(url, lock_timeout=0.05) as other, holder.writing() as connection:
        add_league(connection, "a")
        if not other.database.is_sqlite:  # PostgreSQL locks rows: wait for the same one
            connection.execute(text("LOCK TABLE mb_leagues"))
        with pytest.raises(LeagueError, match=r"locked by others for 0\.05 seconds") as caught, other.writing() as late:
            add_league(late, "b")
    assert caught.value.code == "store-busy"


def test_threads_of_one_process_queue_for_a_locked_store(sqlite_url):
    with Store(sqlite_url, lock_timeout=0.05) as store, store.writing():
        said = []

        def late() -> None:
            with pytest.raises(LeagueError) as caught, store.writing():
                pass
            said.append(caught.value.code)

        thread = Thread(target=late)
        thread.start()
        thread.join()
    assert said == ["store-busy"]


def test_too_few_connections_are_busy_too(sqlite_url):
    store = Store(sqlite_url, lock_timeout=0.05)
    held = [store.engine.connect() for _ in range(40)]
    with pytest.raises(LeagueError) as caught, store.reading():
        pass
    for connection in held:
        connection.close()
    assert caught.value.code == "store-busy"


def test_a_full_disk(sqlite_url):
    with Store(sqlite_url) as store:

        def fill() -> None:
            with store.writing() as connection:
                connection.exec_driver_sql("PRAGMA max_page_count=1")  # SQLite takes as many as there are
                for number in range(2000):
                    add_league(connection, f"{number:0200}")

        with pytest.raises(LeagueError, match="is full: nothing was written") as caught:
            fill()
        assert caught.value.code == "store-unusable"
        with store.reading() as connection:
            assert connection.execute(select(schema.leagues)).all() == []


def test_a_store_that_can_only_be_read(tmp_path):
    Store(f"sqlite:///{tmp_path}/store.db").close()
    with Store(f"sqlite:///file:{tmp_path}/store.db?mode=ro&uri=true") as store:
        store.ready()
        with pytest.raises(LeagueError, match=r"is read-only\. Allow this program to write") as caught:
            add_one(store)
    assert caught.value.code == "store-unusable"


def test_a_postgresql_that_can_only_be_read():
    url = postgres.fresh_database()
    Store(url).close()
    with Store(f"{url}&options=-c%20default_transaction_read_only%3Don") as store:
        store.ready()
        with pytest.raises(LeagueError, match="is read-only: this server is a replica"):
            add_one(store)


@pytest.mark.parametrize("version", [1, 7])
def test_a_store_with_other_tables(url, version):
    with Store(url) as store:
        with store.writing() as connection:
            connection.execute(update(schema.store).values(version=version))
        with pytest.raises(LeagueError, match=f"version {version}"):
            store.ready()
    told = refusal(url)
    assert told.code == "store-unusable"
    assert f"has schema version {version}; this matchbandit supports 2. Use the matchbandit that wrote it" in str(told)


def test_what_is_no_database(tmp_path):
    (tmp_path / "notes.txt").write_text("milk, bread, a SQLite database\n" * 100)
    told = refusal(f"sqlite:///{tmp_path}/notes.txt")
    assert told.code == "store-unusable"
    assert "is not a SQLite database. Choose another file." in str(told)
    assert (tmp_path / "notes.txt").read_text().startswith("milk")


def test_the_database_of_another_program(tmp_path):
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    assert "is the database of another program: it has a table 'orders'" in str(
        refusal(f"sqlite:///{tmp_path}/shop.db")
    )
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("orders",)]


def test_postgresql_may_be_shared_with_another_program():
    url = postgres.fresh_database()
    with Store(url) as store, store.writing() as connection:
        connection.execute(text("CREATE TABLE orders (id INTEGER)"))
    with Store(url) as store:
        store.ready()


def test_a_folder_that_is_missing(tmp_path):
    told = refusal(f"sqlite:///{tmp_path}/nowhere/store.db")
    assert told.code == "store-unusable"
    assert "there is no folder" in str(told)


def test_a_folder_in_the_place_of_a_file(tmp_path):
    (tmp_path / "store.db").mkdir()
    assert "cannot be opened. Check the path" in str(refusal(f"sqlite:///{tmp_path}/store.db"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("club.db", "a store is given by a URL; got 'club.db'. Use sqlite:///club.db"),
        ("", "a store is given by a URL; got ''. Use sqlite:///club.db"),
        ("sqlite://", "a store must be a file on disk"),
        ("sqlite:///:memory:", "a store must be a file on disk"),
        ("mysql://root@localhost/club", "a store is in SQLite or PostgreSQL; got mysql"),
    ],
)
def test_what_is_no_place_for_a_store(url, words):
    told = refusal(url)
    assert told.code == "bad-value"
    assert words in str(told)


def test_a_postgresql_whose_host_is_not_found():
    told = refusal("postgresql://postgres:s3cret@nowhere.invalid/club")
    assert told.code == "store-unusable"
    assert "nowhere.invalid" in str(told)
    assert "s3cret" not in str(told)


def test_a_postgresql_that_does_not_run(tmp_path):
    told = refusal(f"postgresql://postgres:s3cret@/club?host={tmp_path}")
    assert told.code == "store-unusable"
    assert "cannot be connected to." in str(told)
    assert "s3cret" not in str(told)


def test_a_database_that_postgresql_does_not_have():
    told = refusal(postgres.server().url("nowhere"))
    assert told.code == "store-unusable"
    assert "cannot be connected to." in str(told)
    assert 'database "nowhere" does not exist' in str(told)


def test_a_postgresql_that_was_started_again_is_found_again():
    with Store(postgres.fresh_database()) as store:
        with store.reading() as connection:
            backend = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with Store(postgres.server().url("postgres")) as other, other.writing() as connection:
            connection.execute(text("SELECT pg_terminate_backend(:backend, 10000)"), {"backend": backend})
        store.ready()


def test_a_store_that_lost_a_table_is_refused(url):
    with Store(url) as store, store.writing() as connection:
        connection.execute(text("DROP TABLE mb_names"))
    told = refusal(url)
    assert told.code == "store-unusable"
    assert "is incomplete: its table mb_names is missing or has other columns" in str(told)


def test_a_store_that_was_cut_off_before_its_version_was_written_is_finished(url):
    with Store(url) as store, store.writing() as connection:
        connection.execute(text("DELETE FROM mb_store"))
        connection.execute(text("DROP TABLE mb_sessions"))
    with Store(url) as store, store.reading() as connection:
        assert connection.execute(select(schema.store.c.version)).scalar_one() == schema.VERSION
        assert inspect(connection).has_table("mb_sessions")


def test_many_may_open_a_new_store_at_once(url):
    together, failed = Barrier(6), []

    def open_it() -> None:
        together.wait()
        try:
            Store(url).close()
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with Store(url) as store, store.reading() as connection:
        assert connection.execute(select(schema.store.c.version)).all() == [(schema.VERSION,)]


def test_clocks_need_a_zone(sqlite_url):
    clock = Clock()
    clock.moment = clock.moment.replace(tzinfo=None)
    with pytest.raises(LeagueError, match="times need a time zone"):
        Store(sqlite_url, clock=clock)
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()


@pytest.mark.parametrize("content", [b"x", b"a list of names\n", b"y" * 5000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    (tmp_path / "notes.txt").write_bytes(content)
    with pytest.raises(LeagueError, match="is not a SQLite database") as refused:
        Store(f"sqlite:///{tmp_path}/notes.txt")
    assert refused.value.code == "store-unusable"
    assert (tmp_path / "notes.txt").read_bytes() == content


@pytest.mark.parametrize("damage", ["page", "text", "json"])
def test_a_damaged_file_is_said_to_be_damaged_also_by_verify(sqlite_url, tmp_path, damage):
    with Store(sqlite_url) as store:
        league = store.create("club", players=[f"player {k}" for k in range(40)])
        for _ in range(40):
            league.ask()
        assert league.verify().ok
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path, isolation_level=None)
    if damage != "page":
        text_of = {"text": b"\xff\xfe", "json": b"{"}[damage]
        connection.execute("UPDATE mb_events SET data = CAST(? AS TEXT) WHERE seq = 9", (text_of,))
    connection.execute("DELETE FROM mb_snapshots")
    connection.close()
    if damage == "page":
        whole = bytearray(path.read_bytes())
        for page in range(len(whole) // 4096 // 2, len(whole) // 4096):
            whole[page * 4096 : page * 4096 + 64] = b"\xee" * 64
        path.write_bytes(whole)
    with (
        pytest.raises(LeagueError, match=r"is damaged\. Restore it from a backup") as caught,
        Store(sqlite_url) as store,
    ):
        store.open("club").verify()
    assert caught.value.code == "store-unusable"
    assert "\n" not in str(caught.value)
    assert "pairs" not in str(caught.value)  # nothing of what is in the file


def test_a_file_that_was_replaced_is_not_written(sqlite_url, tmp_path):
    """Connections to a file that was moved away still work: what is acknowledged would be lost."""
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    with Store(sqlite_url) as store:
        club = store.create("club", players=["ann", "bob"])
        backup(sqlite_url, tmp_path / "copy.db")
        for path in list(file.parent.glob(f"{file.name}*")):
            path.rename(tmp_path / f"old-{path.name}")
        (tmp_path / "copy.db").rename(file)
        with pytest.raises(LeagueError, match="was replaced or removed while it was in use") as refused:
            club.ask()
        assert refused.value.code == "store-unusable"
    with Store(sqlite_url) as store:
        assert store.open("club").ask().number == 1
