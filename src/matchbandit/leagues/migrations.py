"""Versions of a store: its tables are created once, and changed step by step when a later version opens it."""

import secrets
from collections.abc import Callable

from sqlalchemy import Connection, inspect, select, update

from matchbandit.leagues import schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.views import create_views

MIGRATIONS: dict[int, Callable[[Connection], None]] = {}
"""`MIGRATIONS[n]` changes the tables of version n − 1 to those of version n."""


def find_version(connection: Connection) -> int | None:
    """The version of the store in this database; None if it has none."""
    if not inspect(connection).has_table(schema.store.name):
        return None
    return connection.execute(select(schema.store.c.version)).scalar_one_or_none()


def upgrade(connection: Connection, url: str) -> None:
    """Create the tables, or apply the migrations that are missing; the caller's transaction has locked the store."""
    version = find_version(connection)
    if version is None:
        _create(connection, url)
    elif version > schema.VERSION or not MIGRATIONS.keys() >= (steps := set(range(version + 1, schema.VERSION + 1))):
        advice = "Upgrade matchbandit." if version > schema.VERSION else "Use the matchbandit that wrote it."
        message = f"the store {url} has version {version}, and this matchbandit knows {schema.VERSION}. {advice}"
        raise LeagueError("store-unusable", message)
    else:
        for step in sorted(steps):
            MIGRATIONS[step](connection)
        connection.execute(update(schema.store).values(version=schema.VERSION))


def _create(connection: Connection, url: str) -> None:
    existing = set(inspect(connection).get_table_names())
    if connection.dialect.name != "sqlite":  # a database on a server may be shared
        existing &= schema.metadata.tables.keys()
    if existing:
        table = f"a table {min(existing)!r} that it did not create"
        raise LeagueError("store-unusable", f"the store {url} is another program's database: it has {table}.")
    schema.metadata.create_all(connection, checkfirst=False)
    create_views(connection)
    connection.execute(schema.store.insert().values(id=1, version=schema.VERSION, secret=secrets.token_hex(32)))
