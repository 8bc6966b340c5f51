"""The database of a store: SQLite or PostgreSQL, transactions, and its errors in words."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import unquote, urlsplit
from warnings import catch_warnings, simplefilter

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text, update
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SAWarning
from sqlalchemy.exc import TimeoutError as NoConnection

from matchbandit.extras import need
from matchbandit.live import schema
from matchbandit.live.errors import LeagueError
from matchbandit.live.fair_lock import FairLock
from matchbandit.live.private_files import create_private

_A_MOMENT = 1000  # milliseconds: most reads are done by then, and writers wait meanwhile
_MIGRATING = 0x6D62  # "mb": the advisory lock of PostgreSQL under which tables are made and changed
_CONNECTIONS = 8  # kept open by each process
_MORE = {"sqlite": 32, "postgresql": 12}  # opened beyond that when all are busy; PostgreSQL has a hundred for all
FAILING_S = 10.0
"""Writes that have failed for so long make a store unready; without any for so long, one is tried."""


class Database:
    """Transactions on one database, for all threads of a process."""

    def __init__(self, url: str, *, lock_timeout: float) -> None:
        """`lock_timeout`: how many seconds a transaction waits for others."""
        self.url = _checked(url)
        without_driver = self.url.set(drivername=self.url.get_backend_name())
        self.where = without_driver.render_as_string(hide_password=True)
        self.lock_timeout = lock_timeout
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.file = _file_of(self.url) if self.is_sqlite else None
        """The file of a SQLite store that is given by its path."""
        try:
            with catch_warnings():
                simplefilter("error", SAWarning)  # a query argument that would be ignored
                self.engine = _engine(self.url, lock_timeout)
        except (SAWarning, ValueError) as error:
            words = str(error).partition(" (Background")[0].rstrip(".")
            raise LeagueError("bad-value", f"the query of the URL {self.where} cannot be used: {words}.") from None
        # SQLite has one writer at a time. Between processes it asks again and again; within one, we queue.
        self._writers = FairLock() if self.is_sqlite else None
        self.lock_observer: Callable[[str, float], None] | None = None
        """Called with the kind of a lock ("league", "store") and the seconds that a thread waited for it."""
        self.pool_limit = _CONNECTIONS + _MORE[self.url.get_backend_name()]
        self.unwiped = False
        """Something was erased that may still be in SQLite's log."""
        self.monotonic = time.monotonic
        self._failing_since: float | None = None
        """When the first write since the last successful one failed."""
        self._wrote_at = -inf
        self._last_failure = ""
        self._probing = Lock()
        self.secret: str
        """That of the store, by which its keys are hashed."""

    def prepare(self, *, now: str, program: str) -> None:
        """Create the tables, or bring them up to date; refuse what is not a store, or a newer one."""
        if self.file is not None:
            create_private(self.file)  # SQLite gives its -wal and -shm files the same mode
        with self.reading() as connection:
            ready, migrating = schema.is_current(connection, self.where), False
            if not ready and self.is_sqlite:
                self._refuse_strangers(connection)
        if self.is_sqlite:
            self._outside("PRAGMA journal_mode=WAL")  # readers and a writer at once; the file remembers it
        while not ready:
            with self.writing() as connection:
                if not self.is_sqlite:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _MIGRATING})
                ready = schema.is_current(connection, self.where)
                if not ready:
                    migrating = schema.version_of(connection) is not None
                    self._take_step(connection, now=now, program=program)
        if migrating:  # it may have erased names
            self.wipe_log()
        with self.reading() as connection:
            schema.check_tables(connection, self.where)
            self.secret = schema.secret_of(connection)

    def _take_step(self, connection: Connection, *, now: str, program: str) -> None:
        try:
            schema.bring_up_to_date(connection, now=now, program=program)
        except DBAPIError as error:
            translated = self._translate(error)
            version = schema.newest()
            raise translated or LeagueError(
                "store-unusable",
                f"the store {self.where} cannot be brought to schema version {version}; nothing was changed. "
                f"Restore it from a backup. The database says: {_first_line(error)}",
            ) from error

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the store, and waits for nobody."""
        with self.translate_errors(), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is kept whole, or not at all; on SQLite, the only one that writes."""
        try:
            with self._write_transaction() as connection:
                yield connection
        except LeagueError as error:
            if error.code in ("store-busy", "store-unusable"):
                self._last_failure = str(error)
                if self._failing_since is None:
                    self._failing_since = self.monotonic()
            raise
        self._failing_since, self._wrote_at = None, self.monotonic()

    def check_writes(self) -> None:
        """An error if writes have failed for a while; where nobody has written lately, one is tried."""
        if self.monotonic() - self._wrote_at > FAILING_S and self._probing.acquire(blocking=False):
            try:
                with suppress(LeagueError), self.writing() as connection:
                    connection.execute(update(schema.store).values(id=schema.store.c.id))  # changes a page, no value
            finally:
                self._probing.release()
        since = self._failing_since
        if since is not None and self.monotonic() - since >= FAILING_S:
            raise LeagueError(
                "store-unusable", f"writes have failed for {FAILING_S:g} s or longer: {self._last_failure}"
            )

    @contextmanager
    def _write_transaction(self) -> Iterator[Connection]:
        began = time.monotonic()
        if self._writers is not None and not self._writers.acquire(self.lock_timeout):
            raise self._busy()
        try:
            with self.translate_errors(), self.engine.connect() as connection:
                # Whoever is going to write says so at once: a reader may find the store changed when it wants to.
                connection.execution_options(begin="BEGIN IMMEDIATE")
                with connection.begin():
                    self.observe_wait("store", time.monotonic() - began)
                    yield connection
        finally:
            if self._writers is not None:
                self._writers.release()

    def observe_wait(self, lock: str, seconds: float) -> None:
        """Report a wait for a lock to whoever watches."""
        if self.lock_observer is not None:
            self.lock_observer(lock, seconds)

    def wipe_log(self) -> None:
        """What was erased must not linger in SQLite's write-ahead log.

        Others may look at what was before: it waits for them a moment; then the log is `unwiped`, and the next tick of
        this process tries again.
        """
        if not self.is_sqlite:
            return
        self.unwiped = True
        with suppress(LeagueError), self.translate_errors(), self.engine.connect() as connection:
            connection.execution_options(begin="")
            connection.exec_driver_sql(f"PRAGMA busy_timeout={_A_MOMENT}")
            try:
                busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar_one()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={round(1000 * self.lock_timeout)}")
            self.unwiped = bool(busy)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn errors of the database into one line that a user can act on."""
        try:
            yield
        except NoConnection:
            raise self._busy() from None
        except json.JSONDecodeError as error:  # requests are read before: it is text of the database
            raise self._damaged("an event is no JSON") from error
        except DBAPIError as error:
            translated = self._translate(error)
            if translated is None:
                raise
            raise translated from error

    def _busy(self) -> LeagueError:
        return LeagueError(
            "store-busy", f"the store {self.where} was locked by others for {self.lock_timeout:g} seconds. Try again."
        )

    def _damaged(self, what: str) -> LeagueError:
        words = _SQLITE[sqlite3.SQLITE_CORRUPT]
        return LeagueError("store-unusable", f"the store {self.where} {words} What was found: {what}.")

    def _translate(self, error: DBAPIError) -> LeagueError | None:
        if isinstance(error.orig, sqlite3.Error):
            code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF  # the rest are details of the same
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return self._busy()
            if "Could not decode to UTF-8" in str(error.orig):  # it would quote the text
                return self._damaged("a text is not UTF-8")
            words = _SQLITE.get(code)
        else:
            state = getattr(error.orig, "sqlstate", None) or ("08000" if error.connection_invalidated else "")
            if not state and (isinstance(error, OperationalError) or "connection" in str(error.orig)):
                state = "08000"  # refused, or its host not found, before there was a session to have a state
            if state in ("55P03", "40001", "40P01", "53300"):  # a lock, a conflict, a deadlock, no connection left
                return self._busy()
            words = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])
        if words is None:
            return None
        return LeagueError("store-unusable", f"the store {self.where} {words} The database says: {_first_line(error)}")

    def _refuse_strangers(self, connection: Connection) -> None:
        others = [name for name in inspect(connection).get_table_names() if not name.startswith("mb_")]
        if others:
            raise LeagueError(
                "store-unusable",
                f"{self.where} is the database of another program: it has a table {others[0]!r}. "
                "Choose another file for the store.",
            )

    def _outside(self, statement: str) -> None:
        """A statement to SQLite that no transaction may surround."""
        with self.translate_errors(), self.engine.connect() as connection:
            connection.execution_options(begin="")
            connection.exec_driver_sql(statement)


_SQLITE = {
    sqlite3.SQLITE_READONLY: "can only be read. Allow this program to write to the file and its folder.",
    sqlite3.SQLITE_FULL: "is full: nothing was written. Free space on its disk.",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk failed.",
    sqlite3.SQLITE_CORRUPT: "is damaged. Restore it from a backup.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Check the path, and your permissions for the file and its folder.",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database. Choose another file.",
    sqlite3.SQLITE_PERM: "may not be opened by you.",
    sqlite3.SQLITE_AUTH: "may not be opened by you.",
}
_POSTGRESQL = {
    "53": "has no room or memory left: nothing was written.",
    "25006": "can only be read: this server is a replica, or the database is set so.",
    "42501": "does not give this user the rights that are needed.",
    "08": "cannot be connected to. Check its address, and that it is running.",
    "57": "ended the session. Try again once it runs.",
    "58": "failed.",
    "XX": "is damaged, or its server failed.",
}


_HEADER = b"SQLite format 3\0"


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite store, whatever driver and query the URL has; None for other databases.

    >>> print(sqlite_file("sqlite+pysqlite:///club.db?timeout=5"))
    club.db
    """
    parsed = _parsed(url)
    return _file_of(parsed) if parsed.get_backend_name() == "sqlite" else None


def _file_of(url: URL) -> Path:
    database = str(url.database or "")
    is_uri = database.startswith("file:") and "uri" in url.query
    return Path(unquote(urlsplit(database).path) if is_uri else database)


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except ArgumentError:
        raise LeagueError(
            "bad-value",
            f"a store is given by a URL; got {str(url)!r}. Use sqlite:///{url or 'club.db'}, or postgresql://…",
        ) from None


def _checked(url: str) -> URL:
    """The URL with the driver that we use; what cannot hold a store is refused."""
    parsed = _parsed(url)
    backend = parsed.get_backend_name()
    if backend == "postgres":
        backend = "postgresql"
    if backend == "postgresql":
        need("psycopg", "a store on PostgreSQL")
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise LeagueError(
            "bad-value",
            f"a store is in SQLite or PostgreSQL; got {backend}. Use sqlite:///club.db or postgresql://…",
        )
    file = _file_of(parsed)
    if str(file) in (".", ":memory:"):
        raise LeagueError("bad-value", f"a store is a file that stays; got {url!r}. Use sqlite:///club.db")
    folder = file.absolute().parent
    if not folder.is_dir():
        raise LeagueError("store-unusable", f"there is no folder {str(folder)!r} for the store. Create it first.")
    _refuse_other_files(file)
    return parsed.set(drivername="sqlite+pysqlite")


def _refuse_other_files(path: Path) -> None:
    """SQLite takes a file that is too short to be a database for an empty one, and writes over it: we do not."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(_HEADER))
    except OSError:
        return  # it is new, or SQLite says what is wrong with it
    if begins not in (b"", _HEADER):
        raise LeagueError("store-unusable", f"{str(path)!r} is not a SQLite database. Choose another file.")


def _engine(url: URL, lock_timeout: float) -> Engine:
    backend = url.get_backend_name()
    is_sqlite = backend == "sqlite"
    engine = create_engine(
        url,
        pool_size=_CONNECTIONS,
        max_overflow=_MORE[backend],
        pool_timeout=lock_timeout,
        pool_pre_ping=not is_sqlite,  # a PostgreSQL that was started again costs one quiet new connection
        connect_args={"timeout": lock_timeout} if is_sqlite else {"connect_timeout": max(2, round(lock_timeout))},
    )
    if is_sqlite:
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        milliseconds = round(1000 * lock_timeout)

        def set_up(connection: Any, _record: object) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = {milliseconds}")
            connection.commit()

        event.listen(engine, "connect", set_up)
    return engine


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # we begin and end transactions ourselves
    for setting in (
        "foreign_keys=ON",
        "synchronous=FULL",  # what is acknowledged is on the disk, also if the machine fails
        "secure_delete=ON",  # a name that is erased leaves no trace in the file
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    statement = connection.get_execution_options().get("begin", "BEGIN")
    if statement:
        connection.exec_driver_sql(statement)
