"""Archive, delete, restore and erase a league.

An archived league can be read and not written. A deleted one is hidden, can be restored during a grace period, and is
then erased. The columns of `mb_leagues` say which it is; they are read in the statement that reads the head, so that
every process notices at once. The log has the same as events.
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
"""The time of deletion of a league whose erasure has begun: it cannot be restored, and every prune goes on with it."""
IMPORTING = "~"
"""How the name of a league begins while it is being imported, which no request can reach. It counts as deleted: what an
import that was cut off has left is erased after the grace period."""
BATCH = 1000
"""Rows that one transaction deletes."""
_TABLE = schema.leagues.c


@dataclass(frozen=True)
class LeagueStatus:
    """Whether a league is active, archived or deleted."""

    name: str
    status: Status
    since: str | None
    """When it was archived or deleted; None of an active league."""
    erase_after: str | None
    """When the grace period of a deleted league ends; None of others."""


def statuses(connection: Connection, grace: timedelta) -> list[LeagueStatus]:
    """Every league of the store, by name; those that are being erased or imported are left out."""
    rows = connection.execute(_select().order_by(_TABLE.slug))
    return [_status(row, grace) for row in rows if is_whole(row.slug, row.deleted)]


def is_whole(slug: str, deleted: str | None) -> bool:
    """Is a league neither being erased nor imported, by these columns of its row?"""
    return deleted != ERASING and not slug.startswith(IMPORTING)


def status(connection: Connection, slug: str, grace: timedelta) -> LeagueStatus | None:
    """That of one league, deleted ones too; None if there is none of this name."""
    row = connection.execute(_select().where(_TABLE.slug == slug)).one_or_none()
    return None if row is None else _status(row, grace)


def change(connection: Connection, slug: str, kind: Change, *, now: str, by: str) -> None:
    """Archive, delete or restore a league that is there; what it is already is left as it is."""
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
    """The refusal of a write to an archived league."""
    return LeagueError(
        "league-archived",
        f"the league {slug!r} was archived at {since}: it can be read and not changed. "
        f"Restore it first: matchbandit league restore {slug}",
    )


def deleted_error(status: LeagueStatus) -> LeagueError:
    """The refusal of a request to a deleted league, for whoever may restore it."""
    return LeagueError(
        "unknown-league",
        f"the league {status.name!r} was deleted at {status.since}. Until it is erased, after {status.erase_after}, "
        f"it can be restored: matchbandit league restore {status.name}",
    )


def overdue(connection: Connection, *, now: str, grace: timedelta) -> list[str]:
    """The names of deleted leagues whose grace period is over, or whose erasure was cut off."""
    rows = select(_TABLE.slug).where(_TABLE.deleted < before(now, grace)).order_by(_TABLE.deleted, _TABLE.slug)
    return list(connection.execute(rows).scalars())


def erase(database: Database, slug: str) -> Iterator[int]:
    """Erase a deleted league for good; each step is one short transaction, and gives how many rows it deleted.

    Names go first. What is cut off is finished by the next prune. The id is not used again: another process may still
    have the state of the league that had it.
    """
    with database.writing() as connection:
        row = connection.execute(_select().where(_TABLE.slug == slug).with_for_update()).one_or_none()
        if row is None or row.deleted is None:
            return
        connection.execute(update(schema.leagues).where(_TABLE.id == row.id).values(deleted=ERASING, summary=None))
    for table in (schema.names, schema.keys, schema.snapshots, schema.proposals, schema.events):
        second = next(column for column in table.primary_key if column.name != "league_id")
        while True:
            some = select(second).where(table.c.league_id == row.id).order_by(second).limit(BATCH)
            with database.writing() as connection:
                mine = delete(table).where(table.c.league_id == row.id, second.in_(some))
                count = connection.execute(mine).rowcount
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
    """An id that no league of a SQLite store ever had; a sequence of PostgreSQL sees to it by itself."""
    largest = select(func.coalesce(func.max(_TABLE.id), 0)).scalar_subquery()
    erased = select(func.coalesce(func.max(schema.store.c.last_league), 0)).scalar_subquery()
    return 1 + int(max(*connection.execute(select(largest, erased)).one()))


def before(now: str, age: timedelta) -> str:
    """The moment that lies so long before `now`."""
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
