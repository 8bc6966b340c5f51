"""Archive, delete, restore and erase a league.

An archived league is read-only. A deleted one is hidden, can be restored during a grace period, and is then erased. The
status is stored in columns of `mb_leagues`, which are read together with the head of the log, so that every process
notices a change at once. The log records the same as events.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, func, select, update

from matchbandit.live import log, schema
from matchbandit.live.database import Database
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Event, add_seconds, format_time, parse_time

Status = Literal["active", "archived", "deleted"]
Change = Literal["archived", "deleted", "restored"]
ERASING = "0001-01-01T00:00:00.000000Z"
"""Deletion time of a league whose erasure has begun: it cannot be restored, and each pruning continues the erasure."""
IMPORTING = "~"
"""Name prefix of a league that is being imported, which no request can reach. It counts as deleted, so that the remains
of an interrupted import are erased after the grace period."""
BATCH = 1000
"""Rows deleted per transaction."""
_TABLE = schema.leagues.c


@dataclass(frozen=True)
class LeagueStatus:
    """Whether a league is active, archived or deleted."""

    name: str
    status: Status
    since: str | None
    """When it was archived or deleted; None if it is active."""
    erase_after: str | None
    """When the grace period of a deleted league ends; None if it is not deleted."""


def statuses(connection: Connection, grace: timedelta) -> list[LeagueStatus]:
    """All leagues by name, except those being erased or imported."""
    rows = connection.execute(_select().order_by(_TABLE.slug))
    return [_status(row, grace) for row in rows if is_whole(row.slug, row.deleted)]


def is_whole(slug: str, deleted: str | None) -> bool:
    """Is a league with these columns neither being erased nor imported?"""
    return deleted != ERASING and not slug.startswith(IMPORTING)


def status(connection: Connection, slug: str, grace: timedelta) -> LeagueStatus | None:
    """The status of a league, even if it is deleted; None if there is none with this name."""
    row = connection.execute(_select().where(_TABLE.slug == slug)).one_or_none()
    return None if row is None else _status(row, grace)


def change(connection: Connection, slug: str, kind: Change, *, now: str, by: str) -> None:
    """Archive, delete or restore an existing league; no effect if it already is in that state."""
    row = connection.execute(_select().where(_TABLE.slug == slug).with_for_update()).one()
    if row.deleted == ERASING:
        raise LeagueError("unknown-league", f"the league {slug!r} is being erased. Import it from an export.")
    is_in_state = {
        "archived": row.archived is not None,
        "deleted": row.deleted is not None,
        "restored": row.archived is None and row.deleted is None,
    }[kind]
    if is_in_state:
        return
    log.append(connection, row.id, [Event(row.head + 1, now, kind, {}, by)])
    columns: dict[str, str | None] = {"archived": None, "deleted": None} if kind == "restored" else {kind: now}
    connection.execute(update(schema.leagues).where(_TABLE.id == row.id).values(columns))


def archived_error(slug: str, since: str) -> LeagueError:
    """The error for a write to an archived league."""
    return LeagueError(
        "league-archived",
        f"the league {slug!r} was archived at {since} and is read-only. "
        f"Restore it first: matchbandit league restore {slug}",
    )


def deleted_error(status: LeagueStatus) -> LeagueError:
    """The error for a request to a deleted league, for callers who may restore it."""
    return LeagueError(
        "unknown-league",
        f"the league {status.name!r} was deleted at {status.since}. Until it is erased, after {status.erase_after}, "
        f"it can be restored: matchbandit league restore {status.name}",
    )


def overdue(connection: Connection, *, now: str, grace: timedelta) -> list[str]:
    """Names of deleted leagues whose grace period is over or whose erasure was interrupted."""
    rows = select(_TABLE.slug).where(_TABLE.deleted < before(now, grace)).order_by(_TABLE.deleted, _TABLE.slug)
    return list(connection.execute(rows).scalars())


def erase(database: Database, slug: str) -> Iterator[int]:
    """Erase a deleted league permanently, in short transactions; yields the number of rows each one deleted.

    Names go first. An interrupted erasure is finished by the next pruning. The id is not reused, since another process
    may still hold the state of the erased league.
    """
    with database.writing() as connection:
        row = connection.execute(_select().where(_TABLE.slug == slug).with_for_update()).one_or_none()
        if row is None or row.deleted is None:
            return
        connection.execute(update(schema.leagues).where(_TABLE.id == row.id).values(deleted=ERASING, summary=None))
    for table in (schema.names, schema.keys, schema.snapshots, schema.proposals, schema.events):
        second = next(column for column in table.primary_key if column.name != "league_id")
        while True:
            batch = select(second).where(table.c.league_id == row.id).order_by(second).limit(BATCH)
            with database.writing() as connection:
                statement = delete(table).where(table.c.league_id == row.id, second.in_(batch))
                count = connection.execute(statement).rowcount
            yield count
            if count < BATCH:
                break
    with database.writing() as connection:
        connection.execute(delete(schema.leagues).where(_TABLE.id == row.id))
        last = schema.store.c.last_league
        connection.execute(update(schema.store).where(func.coalesce(last, 0) < row.id).values(last_league=row.id))
    database.wipe_log()
    yield 1


def next_id(connection: Connection) -> int:
    """An id that no league of a SQLite store ever had; PostgreSQL uses a sequence."""
    largest = select(func.coalesce(func.max(_TABLE.id), 0)).scalar_subquery()
    erased = select(func.coalesce(func.max(schema.store.c.last_league), 0)).scalar_subquery()
    return 1 + int(max(*connection.execute(select(largest, erased)).one()))


def before(now: str, age: timedelta) -> str:
    """The time `age` before `now`."""
    return format_time(parse_time(now) - age)


def _select() -> Any:
    return select(_TABLE.id, _TABLE.slug, _TABLE.head, _TABLE.archived, _TABLE.deleted)


def _status(row: Row[Any], grace: timedelta) -> LeagueStatus:
    if row.deleted is not None:
        after = ERASING if row.deleted == ERASING else add_seconds(row.deleted, grace.total_seconds())
        return LeagueStatus(row.slug, "deleted", row.deleted, after)
    if row.archived is not None:
        return LeagueStatus(row.slug, "archived", row.archived, None)
    return LeagueStatus(row.slug, "active", None, None)
