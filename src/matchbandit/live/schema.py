"""The tables of a store."""

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
    insert,
    inspect,
    select,
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
    Column("program", Text, nullable=False),  # the version of matchbandit that created it
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
    Column("summary", Text),  # JSON of `LeagueSummary`, as of `head`; null: to be computed
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
    Column("digest", Text, nullable=False),  # of the request, with ids instead of names
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
    Column("expected_of_told", Float, nullable=False),  # the estimates of the pairs told, summed
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

VERSION = 2
"""Version of the schema; a store with another one is not opened."""


def hash_key(secret: str, league: int, key: str) -> str:
    """Hash an idempotency key for storage, since it may contain a name.

    The secret is in the store as well, so a copy of the whole store allows testing guesses; a copy of this table alone
    does not.
    """
    return blake2b(f"{league}:{key}".encode(), key=bytes.fromhex(secret), digest_size=16).hexdigest()


def create_tables(connection: Connection, *, now: str, program: str) -> None:
    """Create the tables that are missing, and write the version."""
    metadata.create_all(connection)
    connection.execute(insert(store).values(id=1, version=VERSION, created=now, program=program, secret=token_hex(32)))


def exists(connection: Connection, where: str) -> bool:
    """Is there a store? Refuses one with other tables than those of this program."""
    version = read_version(connection)
    if version not in (None, VERSION):
        raise LeagueError(
            "store-unusable",
            f"the store {where} has schema version {version}; this matchbandit supports {VERSION}. "
            "Use the matchbandit that wrote it.",
        )
    return version is not None


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
