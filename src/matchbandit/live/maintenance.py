"""Maintain a store: prune, describe, check and vacuum it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, delete, func, or_, select, text, tuple_

from matchbandit.live import lifecycle, schema
from matchbandit.live.database import Database
from matchbandit.live.errors import LeagueError
from matchbandit.live.lifecycle import BATCH, LeagueStatus, before
from matchbandit.live.verify import verify_log

PRUNE_INTERVAL_S = 86_400.0
"""Seconds between prunings in the background."""
STEPS_PER_TICK = 20
"""Transactions of a pruning per tick; the next tick continues."""
_MONTH = timedelta(days=30)


@dataclass(frozen=True)
class Retention:
    """How long a store keeps expired data."""

    keys: timedelta = _MONTH
    """Answers under idempotency keys; a request repeated later is executed again."""
    access: timedelta = _MONTH
    """Tokens and sessions after their end. The log still names a token by its id."""
    deleted: timedelta = _MONTH
    """Deleted leagues: the grace period during which they can be restored."""

    def __post_init__(self) -> None:
        """Refuse negative ages, which would prune data in use."""
        for name in ("keys", "access", "deleted"):
            age = getattr(self, name)
            if not isinstance(age, timedelta) or not timedelta(0) <= age <= timedelta(days=36_500):
                raise LeagueError("bad-value", f"retention: {name} must lie between 0 and 36500 days; got {age!r}.")


@dataclass(frozen=True)
class Pruned:
    """What a pruning erased or would erase."""

    keys: int = 0
    tokens: int = 0
    sessions: int = 0
    leagues: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoreInfo:
    """Size and contents of a store."""

    url: str
    """Without the password."""
    schema_version: int
    program: str
    """The version of matchbandit that created it."""
    created: str
    size_bytes: int
    """Of the file, or of its tables and indexes in PostgreSQL."""
    free_bytes: int | None
    """Bytes that `vacuum` would free at least; None on PostgreSQL, which vacuums by itself."""
    leagues: int
    """Active ones."""
    inactive: tuple[LeagueStatus, ...]
    """Archived and deleted leagues."""
    events: int
    keys: int
    tokens: int
    sessions: int
    open_proposals: int
    oldest_open: str | None
    """When the oldest open proposal of an active league was made."""


@dataclass(frozen=True)
class StoreCheck:
    """The result of a check."""

    leagues: int
    events: int
    """Events replayed."""
    problems: tuple[str, ...]
    """One sentence each, with what to do."""

    @property
    def ok(self) -> bool:
        """Were no problems found?"""
        return not self.problems


# Pruning -------------------------------------------------------------------------------------------------------------

Kind = Literal["keys", "tokens", "sessions", "leagues"]


@dataclass(frozen=True)
class Step:
    """The effect of one transaction of a pruning."""

    kind: Kind
    rows: int = 0
    league: str = field(default="", kw_only=True)


def prune_steps(database: Database, *, now: str, retention: Retention) -> Iterator[Step]:
    """Erase expired data step by step; no step holds the write lock for more than a batch of rows."""
    with database.reading() as connection:
        slugs = lifecycle.overdue(connection, now=now, grace=retention.deleted)
    for slug in slugs:
        for rows in lifecycle.erase(database, slug):
            yield Step("leagues", rows, league=slug)
    yield from _prune_keys(database, before(now, retention.keys))
    for kind, table, ended in _ended_access(before(now, retention.access)):
        while True:
            some = select(table.c.id).where(ended).limit(BATCH)
            with database.writing() as connection:
                rows = connection.execute(delete(table).where(table.c.id.in_(some))).rowcount
            yield Step(kind, rows)
            if rows < BATCH:
                break


def prune(database: Database, *, now: str, retention: Retention) -> Pruned:
    """Erase all expired data."""
    pruned = Pruned()
    for step in prune_steps(database, now=now, retention=retention):
        if step.kind != "leagues":
            pruned = replace(pruned, **{step.kind: getattr(pruned, step.kind) + step.rows})
        elif step.league not in pruned.leagues:
            pruned = replace(pruned, leagues=(*pruned.leagues, step.league))
    return pruned


def prunable(connection: Connection, *, now: str, retention: Retention) -> Pruned:
    """What a pruning would erase now."""
    slugs = tuple(lifecycle.overdue(connection, now=now, grace=retention.deleted))
    rest = schema.leagues.c.slug.not_in(slugs)
    old = select(func.count()).select_from(schema.keys.join(schema.leagues)).where(rest)
    counts = {"keys": connection.execute(old.where(schema.keys.c.at < before(now, retention.keys))).scalar_one()}
    for kind, table, ended in _ended_access(before(now, retention.access)):
        counts[kind] = connection.execute(select(func.count()).select_from(table).where(ended)).scalar_one()
    return Pruned(leagues=slugs, **counts)


def _prune_keys(database: Database, cutoff: str) -> Iterator[Step]:
    """Scan the keys in primary-key order, since there is no index by age; pages are read without the write lock."""
    table = schema.keys.c
    place: tuple[int, str] = (0, "")
    while True:
        page = select(table.league_id, table.key, table.at).where(tuple_(table.league_id, table.key) > place)
        with database.reading() as connection:
            rows = connection.execute(page.order_by(table.league_id, table.key).limit(BATCH)).all()
        old: dict[int, list[str]] = {}
        for league, key, at in rows:
            if at < cutoff:
                old.setdefault(league, []).append(key)
        if old:
            with database.writing() as connection:
                for league, keys in old.items():
                    mine = delete(schema.keys).where(table.league_id == league, table.key.in_(keys))
                    connection.execute(mine.where(table.at < cutoff))
        yield Step("keys", sum(map(len, old.values())))
        if len(rows) < BATCH:
            return
        place = rows[-1][0], rows[-1][1]


def _ended_access(cutoff: str):  # type: ignore[no-untyped-def]
    """The tables of sessions and tokens, with a condition for rows that ended before the cutoff."""
    tokens, sessions = schema.tokens, schema.sessions
    yield "sessions", sessions, sessions.c.expires < cutoff
    yield "tokens", tokens, or_(tokens.c.revoked < cutoff, tokens.c.expires < cutoff)


# Description ---------------------------------------------------------------------------------------------------------


def info(database: Database, *, grace: timedelta) -> StoreInfo:
    """Describe a store."""
    with database.reading() as connection:
        row = connection.execute(select(schema.store)).one()
        statuses = lifecycle.statuses(connection, grace)
        inactive = tuple(status for status in statuses if status.status != "active")
        open_ = connection.execute(_open_proposals(func.count())).scalar_one()
        size, oldest = measure(connection)
        return StoreInfo(
            url=database.where,
            schema_version=row.version,
            program=row.program,
            created=row.created,
            size_bytes=size,
            free_bytes=_free_bytes(connection) if database.is_sqlite else None,
            leagues=len(statuses) - len(inactive),
            inactive=inactive,
            events=int(connection.execute(select(func.coalesce(func.sum(schema.leagues.c.head), 0))).scalar_one()),
            keys=_count(connection, schema.keys),
            tokens=_count(connection, schema.tokens),
            sessions=_count(connection, schema.sessions),
            open_proposals=open_,
            oldest_open=oldest,
        )


def _count(connection: Connection, table) -> int:  # type: ignore[no-untyped-def]
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def measure(connection: Connection) -> tuple[int, str | None]:
    """The size in bytes and the time of the oldest open proposal of an active league, in one cheap statement."""
    oldest = _open_proposals(schema.proposals.c.at).order_by(schema.proposals.c.at).limit(1)  # follows an index
    if connection.dialect.name == "sqlite":
        size = text("(SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)")
    else:
        names = ", ".join(f"'{table.name}'" for table in schema.metadata.sorted_tables)
        size = text(f"(SELECT sum(pg_total_relation_size(to_regclass(name))) FROM unnest(ARRAY[{names}]) AS name)")
    row = connection.execute(select(size, oldest.scalar_subquery())).one()
    return int(row[0]), row[1]


def _open_proposals(column: ColumnElement[Any]) -> Select[Any]:
    """Select from the open proposals of active leagues."""
    of, leagues = schema.proposals, schema.leagues
    is_active = leagues.c.archived.is_(None) & leagues.c.deleted.is_(None)
    return select(column).join_from(of, leagues).where(of.c.closed.is_(False), is_active)


def _free_bytes(connection: Connection) -> int:
    page, free = (
        int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()) for name in ("page_size", "freelist_count")
    )
    return page * free


# Checks --------------------------------------------------------------------------------------------------------------


def check(database: Database, *, progress: Callable[[str], None] = lambda league: None) -> StoreCheck:
    """Check the file, the tables and every league: replay its log and compare it with the derived data."""
    problems: list[str] = []
    events = count = 0
    with database.reading() as connection:
        if database.is_sqlite:
            problems += _file_problems(connection, database.where)
        schema.check_tables(connection, database.where)
        if problems:  # a damaged file cannot be checked further
            return StoreCheck(0, 0, tuple(problems))
        columns = schema.leagues.c
        rows = select(columns.id, columns.slug, columns.head, columns.summary, columns.archived, columns.deleted)
        for row in connection.execute(rows.order_by(columns.slug)).all():
            if not lifecycle.is_whole(row.slug, row.deleted):
                continue
            progress(row.slug)
            verification, state = verify_log(connection, row.id)
            differences = list(verification.differences)
            if verification.events != row.head:
                differences.append(f"Its last event is {verification.events}, and {row.head} are expected.")
            elif state.archived != row.archived and row.deleted is None:
                differences.append("Whether it is archived differs from its log.")
            elif row.summary is not None and json.loads(row.summary) != state.summary():
                differences.append("Its summary, which lists of leagues show, differs from its log.")
            problems += [f"{row.slug}: {difference} {_hint(row.slug)}" for difference in differences]
            events, count = events + verification.events, count + 1
    return StoreCheck(count, events, tuple(problems))


def _hint(slug: str) -> str:
    return f"Restore a backup, or rebuild it from its log: `matchbandit league export {slug}`, then import it."


def _file_problems(connection: Connection, where: str) -> list[str]:
    verdicts = connection.exec_driver_sql("PRAGMA integrity_check(3)").scalars().all()
    hint = "Restore it from a backup."
    problems = [f"the file {where} is damaged: {verdict}. {hint}" for verdict in verdicts if verdict != "ok"]
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    if orphans:
        problems.append(f"the table {orphans[0][0]} has rows of a league or token that does not exist. {hint}")
    return problems


# Space ---------------------------------------------------------------------------------------------------------------


def vacuum(database: Database) -> None:
    """Free unused space. SQLite rewrites the file, so nobody else can write meanwhile."""
    with database.translate_errors(), database.engine.connect() as connection:
        if database.is_sqlite:
            connection.execution_options(begin="")
            connection.exec_driver_sql("VACUUM")
        else:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            for table in schema.metadata.sorted_tables:
                connection.exec_driver_sql(f"VACUUM (ANALYZE) {table.name}")
    database.wipe_log()
