"""The tables of a store, and how a store of an older version becomes one of this version."""

from collections.abc import Callable
from hashlib import blake2b
from secrets import token_hex

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError

from matchbandit.live.errors import LeagueError

metadata = MetaData()
"""All tables. Their names begin with `mb_`, so that a database can be shared with other programs."""

store = Table(
    "mb_store",
    metadata,
    Column("id", Integer, primary_key=True),  # one row: 1
    Column("version", Integer, nullable=False),
    Column("created", Text, nullable=False),
    Column("program", Text, nullable=False),  # the matchbandit that made or last migrated it
    Column("secret", Text),  # random; see `hash_key`
    Column("last_league", Integer),  # the largest id of an erased league: SQLite would use it again
)

leagues = Table(
    "mb_leagues",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("head", BigInteger, nullable=False),  # the number of its last event; its writers lock this row
    Column("created", Text, nullable=False),
    Column("summary", Text),  # JSON of `LeagueSummary`, as of `head`; null until the first write of version 0.11
    Column("archived", Text),  # when it was archived: it can be read and not written
    Column("deleted", Text),  # when it was deleted: hidden, and erased after a grace period
)


def _league() -> Column[int]:
    return Column("league_id", Integer, ForeignKey("mb_leagues.id", ondelete="CASCADE"), primary_key=True)


# Without a row id, SQLite keeps the events of a league beside one another: a replay reads them at one go.
events = Table(
    "mb_events",
    metadata,
    _league(),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("proposal", BigInteger),  # the number that it is about, if any
    Column("by", Text, nullable=False),
    Column("data", Text, nullable=False),  # JSON: ids, never a name
    Index("mb_events_of_proposal", "league_id", "proposal"),
    sqlite_with_rowid=False,
)

names = Table(
    "mb_names",
    metadata,
    _league(),
    Column("item", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    sqlite_with_rowid=False,
)

keys = Table(
    "mb_keys",
    metadata,
    _league(),
    Column("key", Text, primary_key=True),  # see `hash_key`
    Column("request", Text, nullable=False),  # its kind, such as "ask"
    Column("digest", Text),  # of the request, with ids in the place of names; null: stored by 0.10 or older
    Column("answer", Text, nullable=False),  # JSON, without names
    Column("at", Text, nullable=False),
    sqlite_with_rowid=False,
)

snapshots = Table(
    "mb_snapshots",
    metadata,
    _league(),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),  # of what is inside; others are left aside
    Column("data", LargeBinary, nullable=False),
    Column("checksum", Text, nullable=False),
)

proposals = Table(
    "mb_proposals",
    metadata,
    _league(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", Text, nullable=False),
    Column("due", Text),
    Column("closed", Boolean, nullable=False),
    Column("n_pairs", Integer, nullable=False),
    Column("n_told", Integer, nullable=False),  # pairs whose outcome is known and not void
    Column("n_void", Integer, nullable=False),
    Column("reward", Float, nullable=False),  # the sum over those told
    Column("expected", Float),
    Column("best", Float),
    Column("expected_of_told", Float),  # the estimates of the pairs told, summed; null: to be computed from the log
    Index("mb_proposals_due", "closed", "due"),
    Index("mb_proposals_open", "closed", "at"),  # the oldest open one, for the metrics
    sqlite_with_rowid=False,
)

tokens = Table(
    "mb_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("label", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("leagues", Text),  # JSON list of slugs; null: all
    Column("scope", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("expires", Text),
    Column("revoked", Text),
)

sessions = Table(
    "mb_sessions",
    metadata,
    Column("id", Text, primary_key=True),  # a hash of what the cookie holds
    Column("token_id", Text, ForeignKey("mb_tokens.id", ondelete="CASCADE"), nullable=False),
    Column("csrf", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("expires", Text, nullable=False),
)

Migration = Callable[[Connection], None]


def hash_key(secret: str, league: int, key: str) -> str:
    """How an idempotency key is stored: it may hold a name.

    Whoever has the whole store has the secret, too, and can test guesses; a copy of this table alone gives no hold.
    """
    return blake2b(f"{league}:{key}".encode(), key=bytes.fromhex(secret), digest_size=16).hexdigest()


def _add_summaries_and_life_cycle(connection: Connection) -> None:
    """From version 1 (matchbandit 0.5 to 0.10) to 2."""
    added = {
        store: ("secret", "last_league"),
        leagues: ("summary", "archived", "deleted"),
        proposals: ("expected_of_told",),
    }
    for table, columns in added.items():
        for name in columns:
            kind = table.c[name].type.compile(connection.dialect)
            connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}"))
    connection.execute(text("CREATE INDEX IF NOT EXISTS mb_proposals_open ON mb_proposals (closed, at)"))
    _erase_keys(connection)


def _erase_keys(connection: Connection) -> None:
    """Version 1 had the text of keys, and digests of requests with names in them: from both names could be read."""
    secret = token_hex(32)
    connection.execute(update(store).values(secret=secret))
    rows = connection.execute(select(keys.c.league_id, keys.c.key)).all()
    if rows:
        statement = update(keys).where(keys.c.league_id == bindparam("league"), keys.c.key == bindparam("text"))
        connection.execute(
            statement.values(key=bindparam("hash"), digest=None),
            [{"league": league, "text": key, "hash": hash_key(secret, league, key)} for league, key in rows],
        )


MIGRATIONS: tuple[Migration, ...] = (_add_summaries_and_life_cycle,)
"""From version 1 to 2, from 2 to 3, … A change of the tables above comes with a function here, and with a store of the
version before among the tests' data. A new store is made from the tables at once, in the newest version."""


def newest() -> int:
    """The version that this program writes."""
    return 1 + len(MIGRATIONS)


def bring_up_to_date(connection: Connection, *, now: str, program: str) -> None:
    """Make the tables, or take one step from an older version; call it until `is_current` says yes.

    Each call is one transaction that no other process shares: a step is there whole, or not at all, and a migration
    that was cut off goes on where it was.
    """
    version = version_of(connection)
    if version is None:
        metadata.create_all(connection)
        connection.execute(
            insert(store).values(id=1, version=newest(), created=now, program=program, secret=token_hex(32))
        )
    else:
        MIGRATIONS[version - 1](connection)
        connection.execute(update(store).values(version=version + 1, program=program))


def is_current(connection: Connection, where: str) -> bool:
    """Has this store the version that this program writes? A newer one is refused."""
    version = version_of(connection)
    if version is not None and version > newest():
        raise LeagueError(
            "store-unusable",
            f"the store {where} has schema version {version}; this matchbandit knows up to {newest()}. "
            "Use the matchbandit that wrote it, or a newer one.",
        )
    return version == newest()


def version_of(connection: Connection) -> int | None:
    """The version of the store, or None where there is none yet."""
    if not inspect(connection).has_table(store.name):
        return None
    found = connection.execute(select(store.c.version)).scalar_one_or_none()
    return None if found is None else int(found)


def secret_of(connection: Connection) -> str:
    """The secret of the store."""
    return str(connection.execute(select(store.c.secret)).scalar_one())


def check_tables(connection: Connection, where: str) -> None:
    """Refuse a store whose tables are not those of its version: half restored, or changed by hand."""
    for table in metadata.sorted_tables:
        try:
            connection.execute(select(table).limit(0))
        except DBAPIError as error:
            raise LeagueError(
                "store-unusable",
                f"the store {where} is half made: its table {table.name} is missing or has other columns. "
                "Restore it from a backup, or import its leagues into a new store.",
            ) from error
