"""The database of a store: SQLite or PostgreSQL, transactions, and readable errors."""

import json
import shutil
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

_CHECKPOINT_TIMEOUT_MS = 1000  # most reads are done by then; writers wait meanwhile
_CREATION_LOCK = 0x6D62  # "mb": PostgreSQL's advisory lock for creating tables
_POOL_SIZE = 8  # connections kept open by each process
_MAX_OVERFLOW = {"sqlite": 32, "postgresql": 12}  # further ones when all are busy; PostgreSQL has 100 for all processes
_MIN_FREE_BYTES = 1 << 20  # with less, a successful write does not end a series of failures
FAILING_S = 10.0
"""A store is unready after writes have failed for this long; a test write is made after as long without one."""


class Database:
    """Transactions on one database, for all threads of a process."""

    def __init__(self, url: str, *, lock_timeout: float) -> None:
        """`lock_timeout` is the number of seconds a transaction waits for others."""
        self.url = _check_url(url)
        without_driver = self.url.set(drivername=self.url.get_backend_name())
        self.where = without_driver.render_as_string(hide_password=True)
        self.lock_timeout = lock_timeout
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.file = _file_of(self.url) if self.is_sqlite else None
        """The file of a SQLite store."""
        try:
            with catch_warnings():
                simplefilter("error", SAWarning)  # a query argument that would be ignored
                self.engine = _engine(self.url, lock_timeout)
        except (SAWarning, ValueError) as error:
            message = str(error).partition(" (Background")[0].rstrip(".")
            raise LeagueError("bad-value", f"the query of the URL {self.where} cannot be used: {message}.") from None
        # SQLite has one writer at a time. It polls between processes; threads of one process queue here.
        self._writers = FairLock() if self.is_sqlite else None
        self.lock_observer: Callable[[str, float], None] | None = None
        """Called with the kind of a lock ("league", "store") and the seconds that a thread waited for it."""
        self.pool_limit = _POOL_SIZE + _MAX_OVERFLOW[self.url.get_backend_name()]
        self._identity: tuple[int, int] | None = None
        """Device and inode of the file of a SQLite store, once it is open."""
        self.unwiped = False
        """Erased data may still be in SQLite's write-ahead log."""
        self.monotonic = time.monotonic
        self._failing_since: float | None = None
        """Time of the first failed write since the last successful one."""
        self._wrote_at = -inf
        self._last_failure = ""
        self._probing = Lock()
        self.secret: str
        """The secret of the store, with which its idempotency keys are hashed."""

    def prepare(self, *, now: str, program: str) -> None:
        """Create the tables of a new store; refuse other databases and other versions."""
        if self.file is not None:
            create_private(self.file)  # SQLite gives its -wal and -shm files the same mode
            self._identity = _identity(self.file)
        with self.reading() as connection:
            ready = schema.exists(connection, self.where)
            if not ready and self.is_sqlite:
                self._refuse_other_tables(connection)
        if self.is_sqlite:
            self._execute_outside_transaction(
                "PRAGMA journal_mode=WAL"
            )  # concurrent readers and a writer; stored in the file
        if not ready:
            with self.writing() as connection:
                if not self.is_sqlite:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _CREATION_LOCK})
                if not schema.exists(connection, self.where):  # another process may have created it meanwhile
                    self._create_tables(connection, now=now, program=program)
        with self.reading() as connection:
            schema.check_tables(connection, self.where)
            self.secret = schema.read_secret(connection)

    def _create_tables(self, connection: Connection, *, now: str, program: str) -> None:
        try:
            schema.create_tables(connection, now=now, program=program)
        except DBAPIError as error:
            translated = self._translate(error)
            raise translated or LeagueError(
                "store-unusable",
                f"the store {self.where} cannot be created; nothing was changed. "
                f"The database says: {_first_line(error)}",
            ) from error

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read transaction: a consistent snapshot, without locks."""
        with self.translate_errors(), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction; on SQLite, the only one at a time."""
        try:
            with self._write_transaction() as connection:
                yield connection
        except LeagueError as error:
            if error.code in ("store-busy", "store-unusable"):
                self._last_failure = str(error)
                if self._failing_since is None:
                    self._failing_since = self.monotonic()
            raise
        self._wrote_at = self.monotonic()
        if self._failing_since is not None and self._has_space():
            self._failing_since = None

    def check_writes(self) -> None:
        """Raise if writes have been failing; if none was made recently, try one."""
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

    def _has_space(self) -> bool:
        """On a disk that is full, a small write may succeed where others fail."""
        if self.file is None:
            return True
        try:
            usage = shutil.disk_usage(self.file.parent)
        except OSError:
            return True
        return usage.total == 0 or usage.free >= _MIN_FREE_BYTES  # some file systems do not say

    @contextmanager
    def _write_transaction(self) -> Iterator[Connection]:
        began = time.monotonic()
        if self._writers is not None and not self._writers.acquire(self.lock_timeout):
            raise self._busy()
        try:
            self._check_file()
            with self.translate_errors(), self.engine.connect() as connection:
                # Take the write lock at the start: a read transaction that starts to write may find the store changed.
                connection.execution_options(begin="BEGIN IMMEDIATE")
                with connection.begin():
                    self.observe_wait("store", time.monotonic() - began)
                    yield connection
        finally:
            if self._writers is not None:
                self._writers.release()

    def _check_file(self) -> None:
        """Refuse to write into a file that was moved away: connections still work, and nobody would find the data."""
        if self.file is not None and self._identity is not None and _identity(self.file) != self._identity:
            raise LeagueError(
                "store-unusable",
                f"the file of the store {self.where} was replaced or removed while it was in use. "
                "Restart this program; stop it before you restore a backup.",
            )

    def observe_wait(self, lock: str, seconds: float) -> None:
        """Report a wait for a lock to the observer."""
        if self.lock_observer is not None:
            self.lock_observer(lock, seconds)

    def wipe_log(self) -> None:
        """Truncate SQLite's write-ahead log, so that erased data does not remain there.

        Readers of older snapshots delay this. After a short wait the log stays `unwiped`, and the next tick of this
        process tries again.
        """
        if not self.is_sqlite:
            return
        self.unwiped = True
        with suppress(LeagueError), self.translate_errors(), self.engine.connect() as connection:
            connection.execution_options(begin="")
            connection.exec_driver_sql(f"PRAGMA busy_timeout={_CHECKPOINT_TIMEOUT_MS}")
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
        """Turn database errors into one-line messages that a user can act on."""
        try:
            yield
        except NoConnection:
            raise self._busy() from None
        except json.JSONDecodeError as error:  # requests were parsed before, so this is stored text
            raise self._damaged("an event is not JSON") from error
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
        message = _SQLITE[sqlite3.SQLITE_CORRUPT]
        return LeagueError("store-unusable", f"the store {self.where} {message} What was found: {what}.")

    def _translate(self, error: DBAPIError) -> LeagueError | None:
        if isinstance(error.orig, sqlite3.Error):
            code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF  # without the extended code
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return self._busy()
            if "Could not decode to UTF-8" in str(error.orig):  # its message quotes the text
                return self._damaged("a text is not UTF-8")
            message = _SQLITE.get(code)
        else:
            state = getattr(error.orig, "sqlstate", None) or ("08000" if error.connection_invalidated else "")
            if not state and (isinstance(error, OperationalError) or "connection" in str(error.orig)):
                state = "08000"  # refused, or host not found, before there was a session
            if state in ("55P03", "40001", "40P01", "53300"):  # lock timeout, conflict, deadlock, no connection left
                return self._busy()
            message = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])
        if message is None:
            return None
        return LeagueError(
            "store-unusable", f"the store {self.where} {message} The database says: {_first_line(error)}"
        )

    def _refuse_other_tables(self, connection: Connection) -> None:
        others = [name for name in inspect(connection).get_table_names() if not name.startswith("mb_")]
        if others:
            raise LeagueError(
                "store-unusable",
                f"{self.where} is the database of another program: it has a table {others[0]!r}. "
                "Choose another file for the store.",
            )

    def _execute_outside_transaction(self, statement: str) -> None:
        """Execute a SQLite statement that is not allowed in a transaction."""
        with self.translate_errors(), self.engine.connect() as connection:
            connection.execution_options(begin="")
            connection.exec_driver_sql(statement)


_SQLITE = {
    sqlite3.SQLITE_READONLY: "is read-only. Allow this program to write to the file and its folder.",
    sqlite3.SQLITE_FULL: "is full: nothing was written. Free space on its disk.",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk failed.",
    sqlite3.SQLITE_CORRUPT: "is damaged. Restore it from a backup.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Check the path, and your permissions for the file and its folder.",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database. Choose another file.",
    sqlite3.SQLITE_PERM: "cannot be opened: permission denied.",
    sqlite3.SQLITE_AUTH: "cannot be opened: permission denied.",
}
_POSTGRESQL = {
    "53": "is out of disk space or memory: nothing was written.",
    "25006": "is read-only: this server is a replica, or the database is configured so.",
    "42501": "does not grant this user the required privileges.",
    "08": "cannot be connected to. Check its address, and that it is running.",
    "57": "ended the session. Try again once it runs.",
    "58": "failed.",
    "XX": "is damaged, or its server failed.",
}


_HEADER = b"SQLite format 3\0"


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite store, for any driver and query of the URL; None for other databases.

    >>> print(sqlite_file("sqlite+pysqlite:///club.db?timeout=5"))
    club.db
    """
    parsed = _parse_url(url)
    return _file_of(parsed) if parsed.get_backend_name() == "sqlite" else None


def _file_of(url: URL) -> Path:
    database = str(url.database or "")
    is_uri = database.startswith("file:") and "uri" in url.query
    return Path(unquote(urlsplit(database).path) if is_uri else database)


def _parse_url(url: str) -> URL:
    try:
        return make_url(url)
    except ArgumentError:
        raise LeagueError(
            "bad-value",
            f"a store is given by a URL; got {str(url)!r}. Use sqlite:///{url or 'club.db'}, or postgresql://…",
        ) from None


def _check_url(url: str) -> URL:
    """The URL with our driver; refuses URLs that cannot be a store."""
    parsed = _parse_url(url)
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
        raise LeagueError("bad-value", f"a store must be a file on disk; got {url!r}. Use sqlite:///club.db")
    folder = file.absolute().parent
    if not folder.is_dir():
        raise LeagueError("store-unusable", f"there is no folder {str(folder)!r} for the store. Create it first.")
    _refuse_other_files(file)
    return parsed.set(drivername="sqlite+pysqlite")


def _refuse_other_files(path: Path) -> None:
    """Refuse other files: SQLite overwrites a file that is too short to be a database."""
    try:
        with path.open("rb") as file:
            header = file.read(len(_HEADER))
    except OSError:
        return  # a new file, or SQLite reports what is wrong
    if header not in (b"", _HEADER):
        raise LeagueError("store-unusable", f"{str(path)!r} is not a SQLite database. Choose another file.")


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _engine(url: URL, lock_timeout: float) -> Engine:
    backend = url.get_backend_name()
    is_sqlite = backend == "sqlite"
    engine = create_engine(
        url,
        pool_size=_POOL_SIZE,
        max_overflow=_MAX_OVERFLOW[backend],
        pool_timeout=lock_timeout,
        pool_pre_ping=not is_sqlite,  # reconnect silently after a restart of PostgreSQL
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
    connection.isolation_level = None  # transactions are begun and ended explicitly
    for setting in (
        "foreign_keys=ON",
        "synchronous=FULL",  # acknowledged writes survive a power failure
        "secure_delete=ON",  # erased names leave no trace in the file
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    statement = connection.get_execution_options().get("begin", "BEGIN")
    if statement:
        connection.exec_driver_sql(statement)
