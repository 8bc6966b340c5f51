"""The database of a store: SQLite or PostgreSQL, transactions, and readable errors."""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock, get_ident
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, make_url, select, text
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

from matchbandit.leagues import schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.views import create_views

_CREATION_LOCK = 0x6D62  # an advisory lock of PostgreSQL, under which tables are created


class Database:
    """Transactions on one database, for all threads of a process."""

    def __init__(self, url: str, *, timeout: float = 20.0) -> None:
        """`timeout` is the number of seconds that a transaction waits for others."""
        self.timeout = timeout
        self.engine = _engine(url, timeout)
        self.display_url = self.engine.url.render_as_string(hide_password=True)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        # SQLite has one writer at a time, for which processes poll; threads of one process queue here.
        self._writer = Lock() if self.is_sqlite else None
        self.secret = self._prepare()

    def _prepare(self) -> str:
        """Create the tables of a new store; refuse another version. Returns the secret of the store."""
        if self.is_sqlite and (name := self.engine.url.database) and not Path(name).exists():
            Path(name).touch(mode=0o600)  # it will hold names
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _CREATION_LOCK})
            if not inspect(connection).has_table(schema.store.name):
                schema.metadata.create_all(connection)
                create_views(connection)
                connection.execute(
                    insert(schema.store).values(id=1, version=schema.VERSION, secret=secrets.token_hex(32))
                )
            version, secret = connection.execute(select(schema.store.c.version, schema.store.c.secret)).one()
        if version != schema.VERSION:
            raise LeagueError(
                "store-unusable",
                f"the store {self.display_url} has version {version}, and this matchbandit reads {schema.VERSION}.",
            )
        return str(secret)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read transaction: a consistent snapshot, without locks."""
        with self._errors(), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction; on SQLite, the only one at a time."""
        if self._writer is not None and not self._writer.acquire(timeout=self.timeout):
            raise LeagueError("store-busy", f"the store {self.display_url} is busy. Try again.")
        try:
            with self._errors(), self.engine.connect() as connection:
                connection.execution_options(writes=True)
                with connection.begin():
                    yield connection
        finally:
            if self._writer is not None:
                self._writer.release()

    def wipe(self) -> None:
        """Truncate SQLite's write-ahead log, so that erased data does not remain in it."""
        if self.is_sqlite:
            with self._errors(), self.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def backup(self, path: Path) -> None:
        """Copy a SQLite store that is in use into a new file, as of one moment, and check the copy."""
        if not self.is_sqlite:
            raise LeagueError("not-supported", "this backs up SQLite files only. Use pg_dump for PostgreSQL.")
        if path.exists():
            raise LeagueError(
                "bad-value", f"{str(path)!r} exists already. Choose a new file, so that no older backup is lost."
            )
        partial = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")
        try:
            partial.touch(mode=0o600, exist_ok=False)
            with self.engine.connect() as connection, closing(sqlite3.connect(partial)) as copy:
                connection.connection.driver_connection.backup(copy)  # type: ignore[union-attr]
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, readable from read-only media
                (verdict,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
            if verdict != "ok":
                raise LeagueError("damaged", f"the copy of {self.display_url} is damaged: {verdict}. Check the store.")
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            partial.rename(path)
        except (sqlite3.Error, DBAPIError, OSError) as error:
            raise LeagueError("store-unusable", f"{self.display_url} cannot be copied to {path}: {error}.") from None
        finally:
            partial.unlink(missing_ok=True)

    def vacuum(self) -> None:
        """Return unused space to the disk."""
        with self._errors(), self.engine.connect() as connection:
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
        with self._errors(), self.engine.connect() as connection:
            verdicts = connection.exec_driver_sql("PRAGMA integrity_check(3)").scalars().all()
            orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        problems = [f"the file is damaged: {verdict}. Restore a backup." for verdict in verdicts if verdict != "ok"]
        tables = sorted({row[0] for row in orphans})
        return problems + [f"{table} has rows of what does not exist. Restore a backup." for table in tables]

    def size(self, connection: Connection) -> tuple[int, int | None]:
        """The bytes on disk, and how many of them a SQLite file does not use."""
        if self.is_sqlite:
            page, pages, free = (
                connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("page_size", "page_count", "freelist_count")
            )
            return page * pages, page * free
        names = ", ".join(f"'{table.name}'" for table in schema.metadata.sorted_tables)
        query = f"SELECT sum(pg_total_relation_size(to_regclass(name))) FROM unnest(ARRAY[{names}]) AS name"
        return int(connection.exec_driver_sql(query).scalar_one()), None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except NoConnection as error:
            raise LeagueError("store-busy", "all connections of the store are in use. Try again.") from error
        except DBAPIError as error:
            busy = isinstance(error, OperationalError) and _is_busy(error.orig)
            if busy:
                raise LeagueError("store-busy", f"the store {self.display_url} is busy. Try again.") from error
            if isinstance(error, OperationalError):
                reason = str(error.orig).strip().splitlines()[0]
                raise LeagueError(
                    "store-unusable", f"the store {self.display_url} cannot be used: {reason}."
                ) from error
            raise


def _is_busy(error: Any) -> bool:
    if isinstance(error, sqlite3.Error):
        return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return getattr(error, "sqlstate", None) in ("55P03", "40001", "40P01", "53300")


def _engine(url: str, timeout: float) -> Engine:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise LeagueError(
            "bad-value", "a store is given as sqlite:///file.db or postgresql://user@host/name."
        ) from None
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() == "postgresql":
        options = f"-c lock_timeout={int(timeout * 1000)}"
        return create_engine(
            parsed, pool_size=8, max_overflow=12, pool_timeout=timeout, connect_args={"options": options}
        )
    if parsed.get_backend_name() != "sqlite":
        raise LeagueError("bad-value", f"a store is SQLite or PostgreSQL, not {parsed.get_backend_name()}.")
    engine = create_engine(
        parsed, pool_size=8, max_overflow=40, pool_timeout=timeout, connect_args={"timeout": timeout}
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions begin below
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A write transaction takes the lock at its start: one that begins to write later may find the store changed.
        is_write = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_write else "BEGIN")

    return engine
