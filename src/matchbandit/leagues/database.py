"""The database of a store: SQLite or PostgreSQL, transactions, and readable errors."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from threading import Lock, get_ident
from time import sleep
from typing import Any
from warnings import catch_warnings, simplefilter

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SAWarning
from sqlalchemy.exc import TimeoutError as NoConnection

from matchbandit.extras import need
from matchbandit.leagues import migrations, schema
from matchbandit.leagues.errors import LeagueError

_HEADER = b"SQLite format 3\0"
_LOCK_NUMBER = 0x6D62  # PostgreSQL's advisory lock, under which tables are created and migrated
_CHECKPOINT_TIMEOUT_MS = 1000
_BUSY, _UNUSABLE = "store-busy", "store-unusable"
_SQLITE = {
    sqlite3.SQLITE_BUSY: (_BUSY, "is locked by another program. Try again."),
    sqlite3.SQLITE_LOCKED: (_BUSY, "is locked by another request. Try again."),
    sqlite3.SQLITE_READONLY: (_UNUSABLE, "is read-only. Allow this program to write to the file and its folder."),
    sqlite3.SQLITE_FULL: (_UNUSABLE, "is full: nothing was written. Free space on its disk."),
    sqlite3.SQLITE_IOERR: (_UNUSABLE, "cannot be read or written: the disk failed."),
    sqlite3.SQLITE_CORRUPT: (_UNUSABLE, "is damaged. Restore a backup."),
    sqlite3.SQLITE_CANTOPEN: (_UNUSABLE, "cannot be opened. Check the path, and the permissions of file and folder."),
    sqlite3.SQLITE_NOTADB: (_UNUSABLE, "is not a SQLite database. Choose another file."),
}
"""What SQLite's primary error codes mean."""
_POSTGRESQL = {
    "55P03": (_BUSY, "is locked by another request. Try again."),
    "40001": (_BUSY, "was changed by another request meanwhile. Try again."),
    "40P01": (_BUSY, "was locked by several requests at once. Try again."),
    "53300": (_BUSY, "has no connection left. Try again."),
    "53": (_UNUSABLE, "is out of disk space or memory: nothing was written."),
    "25006": (_UNUSABLE, "is read-only: this server is a replica, or the database is configured so."),
    "42501": (_UNUSABLE, "does not grant this user the privileges that it needs."),
    "08": (_UNUSABLE, "cannot be reached. Check its address, and that it is running."),
    "3D": (_UNUSABLE, "does not exist. Create the database first."),
    "28": (_UNUSABLE, "does not let this user in. Check the name and the password."),
    "57": (_UNUSABLE, "ended the session. Try again once it runs."),
    "58": (_UNUSABLE, "cannot be read or written: its disk failed."),
    "XX": (_UNUSABLE, "is damaged, or its server failed."),
}
"""What PostgreSQL's error codes mean, or their classes."""


class Database:
    """Transactions on one database, for all threads of a process."""

    def __init__(self, url: str, *, timeout: float = 20.0) -> None:
        """`timeout` is the number of seconds that a transaction waits for others."""
        parsed = _parse_url(url)
        self.timeout = timeout
        self.display_url = parsed.set(drivername=parsed.get_backend_name()).render_as_string(hide_password=True)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.unwiped = False
        """Whether erased data may still be in SQLite's write-ahead log, since somebody was reading."""
        name = parsed.database or ":memory:"
        in_memory = self.is_sqlite and name == ":memory:"
        self._file = Path(name) if self.is_sqlite and not in_memory and not name.startswith("file:") else None
        if self._file is not None:
            self._create_file(self._file)
        self._identity = None if self._file is None else _identity(self._file)
        try:
            with catch_warnings():
                simplefilter("error", SAWarning)  # an argument in the URL that would be ignored
                self.engine = _engine(parsed, timeout, in_memory=in_memory)
        except SAWarning as error:
            raise LeagueError("bad-value", f"the URL {self.display_url} cannot be used: {error.args[0]}.") from None
        # SQLite has one writer at a time, for which processes poll; threads of one process queue here. A database in
        # memory has one connection for all.
        self._writer = Lock() if self.is_sqlite else None
        self._reader = self._writer if in_memory else None
        self.secret = self._prepare()

    def _create_file(self, file: Path) -> None:
        """Create the file; refuse others: SQLite would overwrite one that is too short to be a database."""
        if not file.absolute().parent.is_dir():
            raise self._unusable(f"is in a folder that does not exist: {str(file.parent)!r}. Create it first.")
        try:
            file.touch(mode=0o600, exist_ok=True)  # it will hold names
            with file.open("rb") as opened:
                header = opened.read(len(_HEADER))
        except IsADirectoryError:
            raise self._unusable("is a folder. Choose a file.") from None
        except OSError as error:
            raise self._unusable(f"cannot be opened: {error.strerror}.") from None
        if header not in (b"", _HEADER):
            raise self._unusable("is not a SQLite database. Choose another file.")

    def _prepare(self) -> str:
        """Create the tables of a new store, or migrate those of an older version. Returns the secret of the store."""
        with self.reading() as connection:
            is_current = migrations.find_version(connection) == schema.VERSION
        if not is_current:
            with self.writing() as connection:
                if not self.is_sqlite:
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK_NUMBER})")
                migrations.upgrade(connection, self.display_url)
        with self.reading() as connection:
            return str(connection.execute(schema.store.select()).one().secret)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read transaction: a consistent snapshot, without locks."""
        options = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with self._connect(self._reader, **options) as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction; on SQLite, the only one at a time."""
        with self._connect(self._writer, writes=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def _connect(self, lock: "Lock | None", **options: Any) -> Iterator[Connection]:
        """A connection with these options, once it is the turn of this thread."""
        if lock is not None and not lock.acquire(timeout=self.timeout):
            raise LeagueError(_BUSY, f"the store {self.display_url} is busy with other requests. Try again.")
        try:
            if self._file is not None and self._identity not in (None, _identity(self._file)):
                advice = "Restart this program; stop it before you restore a backup."
                raise self._unusable(f"was replaced or removed while it was in use. {advice}")
            with self._errors(), self.engine.connect() as connection:
                yield connection.execution_options(**options)
        finally:
            if lock is not None:
                lock.release()

    def _outside_transactions(self) -> AbstractContextManager[Connection]:
        """A connection for what SQLite does not do within a transaction."""
        return self._connect(self._reader, begins=False)

    def wipe(self) -> None:
        """Truncate SQLite's write-ahead log, so that erased data does not remain in it.

        Whoever reads an older snapshot prevents it; `unwiped` then says that it is to be tried again.
        """
        if not self.is_sqlite:
            return
        self.unwiped = True
        with suppress(LeagueError), self._outside_transactions() as connection:
            connection.exec_driver_sql(f"PRAGMA busy_timeout={_CHECKPOINT_TIMEOUT_MS}")
            try:
                self.unwiped = bool(connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar_one())
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={round(1000 * self.timeout)}")

    def backup(self, path: Path) -> None:
        """Copy a SQLite store that is in use into a new file, as of one moment, and check the copy."""
        if not self.is_sqlite:
            raise LeagueError("not-supported", "this backs up SQLite files only. Use pg_dump for PostgreSQL.")
        if path.exists():
            raise LeagueError(
                "bad-value", f"{str(path)!r} exists already. Choose a new file, so that no older backup is lost."
            )
        try:
            with new_file(path) as file:
                with self._outside_transactions() as connection, closing(sqlite3.connect(file)) as copy:
                    connection.connection.driver_connection.backup(copy)  # type: ignore[union-attr]
                    copy.execute("PRAGMA journal_mode = DELETE")  # one file, readable from read-only media
                    (verdict,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
                if verdict != "ok":
                    message = f"the copy of {self.display_url} is damaged: {verdict}. Check the store."
                    raise LeagueError("damaged", message)
        except (sqlite3.Error, DBAPIError, OSError) as error:
            raise LeagueError("store-unusable", f"{self.display_url} cannot be copied to {path}: {error}.") from None

    def vacuum(self) -> None:
        """Return unused space to the disk."""
        with self._outside_transactions() as connection:
            if self.is_sqlite:
                connection.connection.driver_connection.execute("VACUUM")  # type: ignore[union-attr]
            else:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                for table in schema.metadata.sorted_tables:
                    connection.exec_driver_sql(f"VACUUM (ANALYZE) {table.name}")
        self.wipe()

    def check(self) -> list[str]:
        """What is wrong with the file of a SQLite store; PostgreSQL checks itself."""
        if not self.is_sqlite:
            return []
        with self._outside_transactions() as connection:
            verdicts = connection.exec_driver_sql("PRAGMA integrity_check(3)").scalars().all()
            if verdicts != ["ok"]:
                return [f"the file is damaged: {verdict}. Restore a backup." for verdict in verdicts]
            orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        tables = sorted({row[0] for row in orphans})
        return [f"{table} has rows of what does not exist. Restore a backup." for table in tables]

    def size(self, connection: Connection) -> tuple[int, int | None]:
        """The bytes on disk, and how many of them a SQLite file does not use."""
        if self.is_sqlite:
            pragmas = ("page_size", "page_count", "freelist_count")
            page, pages, free = (connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in pragmas)
            return page * pages, page * free
        names = ", ".join(f"'{table.name}'" for table in schema.metadata.sorted_tables)
        query = f"SELECT sum(pg_total_relation_size(to_regclass(name))) FROM unnest(ARRAY[{names}]) AS name"
        return int(connection.exec_driver_sql(query).scalar_one()), None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what the database says into errors that a user can act on."""
        try:
            yield
        except NoConnection:
            raise LeagueError(_BUSY, "all connections of the store are in use. Try again.") from None
        except UnicodeEncodeError as error:
            raise LeagueError(
                "bad-value", f"a text has U+{ord(error.object[error.start]):04X}, which is no character. Leave it out."
            ) from None
        except (DBAPIError, self.engine.dialect.loaded_dbapi.Error) as error:
            translated = self._translate(error.orig if isinstance(error, DBAPIError) else error)
            if translated is None:
                raise
            raise translated from error

    def _translate(self, error: Any) -> LeagueError | None:
        """The error of a driver as one of ours; None if it is no outage."""
        text = str(error).strip().partition("\n")[0].rstrip(".")
        if self.is_sqlite:
            meaning = _SQLITE.get(getattr(error, "sqlite_errorcode", -1) & 0xFF)
            if meaning is None and "Could not decode to UTF-8" in text:  # the message repeats the text
                meaning, text = _SQLITE[sqlite3.SQLITE_CORRUPT], "a text is not UTF-8"
        else:
            if "NUL (0x00)" in text:
                return LeagueError("bad-value", "a text has U+0000, which is no character. Leave it out.")
            # Without a state there was no session: the address was not found, or the connection was refused or lost.
            is_lost = isinstance(error, self.engine.dialect.loaded_dbapi.OperationalError)
            state = error.sqlstate or ("08" if is_lost else "")
            meaning = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])
        if meaning is None:
            return None
        code, message = meaning
        return LeagueError(code, f"the store {self.display_url} {message} The database says: {text}.")

    def _unusable(self, message: str) -> LeagueError:
        return LeagueError(_UNUSABLE, f"the store {self.display_url} {message}")


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A file that only its owner can read, and that appears under this path once it is complete and on disk."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")
    try:
        partial.touch(mode=0o600, exist_ok=False)
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise LeagueError(
            "bad-value",
            f"a store is given as sqlite:///{url or 'club.db'} or postgresql://user@host/name; got {url!r}.",
        ) from None
    backend = parsed.get_backend_name()
    if backend in ("postgresql", "postgres"):
        need("psycopg", "a store in PostgreSQL")
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise LeagueError("bad-value", f"a store is in SQLite or PostgreSQL; got {backend}.")
    return parsed.set(drivername="sqlite+pysqlite")


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _engine(url: URL, timeout: float, *, in_memory: bool) -> Engine:
    common = {"pool_size": 8, "pool_timeout": timeout}
    if url.get_backend_name() == "postgresql":
        # A connection that was lost, such as by a restart of PostgreSQL, is replaced when it is taken from the pool.
        # Nor does a unit that was cut off in the middle of a write keep the row of a league locked for ever.
        limits = {"lock_timeout": timeout, "idle_in_transaction_session_timeout": max(3 * timeout, 60.0)}
        options = str(url.query.get("options", ""))
        options += "".join(f" -c {name}={round(1000 * seconds)}" for name, seconds in limits.items())
        arguments = {"connect_timeout": max(2, round(timeout)), "options": options}
        return create_engine(url, max_overflow=12, pool_pre_ping=True, connect_args=arguments, **common)
    if in_memory:
        engine = create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})
    else:
        engine = create_engine(url, max_overflow=40, connect_args={"timeout": timeout}, **common)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions begin below
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")
    for pause in (*[0.05] * 100, None):  # SQLite itself does not wait while others open a new file
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if pause is None or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            sleep(pause)


def _begin_sqlite(connection: Connection) -> None:
    # A write transaction takes the lock at its start: one that begins to write later may find the store changed.
    options = connection.get_execution_options()
    if options.get("begins", True):
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")
