"""The tables of a store and their migrations."""

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
    Column("program", Text, nullable=False),  # the version of matchbandit that created or last migrated it
    Column("secret", Text),  # random; see `hash_key`
    Column("last_league", Integer),  # the largest id of an erased league, which SQLite would reuse
)

leagues = Table(
    "mb_leagues",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("head", BigInteger, nullable=False),  # the number of its last event; its writers lock this row
    Column("created", Text, nullable=False),
    Column("summary", Text),  # JSON of `LeagueSummary`, as of `head`; null until the first write of version 0.11
    Column("archived", Text),  # when it was archived: read-only
    Column("deleted", Text),  # when it was deleted: hidden, and erased after a grace period
)


def _league() -> Column[int]:
    return Column("league_id", Integer, ForeignKey("mb_leagues.id", ondelete="CASCADE"), primary_key=True)


# Without a row id, SQLite stores the events of a league together: a replay reads them sequentially.
events = Table(
    "mb_events",
    metadata,
    _league(),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("proposal", BigInteger),  # the number of its proposal, if any
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
    Column("digest", Text),  # of the request, with ids instead of names; null: stored by 0.10 or older
    Column("answer", Text, nullable=False),  # JSON, without names
    Column("at", Text, nullable=False),
    sqlite_with_rowid=False,
)

snapshots = Table(
    "mb_snapshots",
    metadata,
    _league(),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),  # of the format; other versions are ignored
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
    Column("n_told", Integer, nullable=False),  # pairs whose outcome is recorded and not void
    Column("n_void", Integer, nullable=False),
    Column("reward", Float, nullable=False),  # the sum over these pairs
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
    """Hash an idempotency key for storage, since it may contain a name.

    The secret is in the store as well, so a copy of the whole store allows testing guesses; a copy of this table alone
    does not.
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
    """Hash the keys: version 1 stored their text, and digests of requests with names, which both could reveal names."""
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
"""From version 1 to 2, from 2 to 3, … Each change of the tables above adds a function here, and a store of the previous
version to the test data. New stores are created directly in the newest version."""


def newest_version() -> int:
    """The schema version of this program."""
    return 1 + len(MIGRATIONS)


def migrate_step(connection: Connection, *, now: str, program: str) -> None:
    """Create the tables, or migrate by one version; call it until `is_current`.

    Each call is one exclusive transaction, so that an interrupted migration resumes where it stopped.
    """
    version = read_version(connection)
    if version is None:
        metadata.create_all(connection)
        connection.execute(
            insert(store).values(id=1, version=newest_version(), created=now, program=program, secret=token_hex(32))
        )
    else:
        MIGRATIONS[version - 1](connection)
        connection.execute(update(store).values(version=version + 1, program=program))


def is_current(connection: Connection, where: str) -> bool:
    """Does the store have the schema version of this program? Refuses a newer one."""
    version = read_version(connection)
    if version is not None and version > newest_version():
        raise LeagueError(
            "store-unusable",
            f"the store {where} has schema version {version}; this matchbandit supports up to {newest_version()}. "
            "Use the matchbandit that wrote it, or a newer one.",
        )
    return version == newest_version()


def read_version(connection: Connection) -> int | None:
    """The schema version of the store; None if there is no store yet."""
    if not inspect(connection).has_table(store.name):
        return None
    version = connection.execute(select(store.c.version)).scalar_one_or_none()
    return None if version is None else int(version)


def read_secret(connection: Connection) -> str:
    """The secret of the store."""
    return str(connection.execute(select(store.c.secret)).scalar_one())


def check_tables(connection: Connection, where: str) -> None:
    """Refuse a store whose tables do not match its version: partly restored, or changed manually."""
    for table in metadata.sorted_tables:
        try:
            connection.execute(select(table).limit(0))
        except DBAPIError as error:
            raise LeagueError(
                "store-unusable",
                f"the store {where} is incomplete: its table {table.name} is missing or has other columns. "
                "Restore it from a backup, or import its leagues into a new store.",
            ) from error
