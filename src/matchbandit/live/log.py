"""Append and read the events and names of a league in the database."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from matchbandit.live import schema
from matchbandit.live.events import Event, proposal_number, to_json
from matchbandit.live.state import State

_PAGE_SIZE = 5000
"""Events per query."""

_APPEND = insert(schema.events)
_MOVE_HEAD = (
    update(schema.leagues)
    .where(schema.leagues.c.id == bindparam("league"))
    .values(head=bindparam("seq"), summary=bindparam("new_summary"))
)
_HEAD = select(schema.leagues.c.head).where(
    schema.leagues.c.id == bindparam("league"), schema.leagues.c.deleted.is_(None)
)
_COLUMNS = (schema.events.c.seq, schema.events.c.at, schema.events.c.kind, schema.events.c.data, schema.events.c.by)
_TAIL = (
    select(*_COLUMNS)
    .where(schema.events.c.league_id == bindparam("league"), schema.events.c.seq > bindparam("after"))
    .order_by(schema.events.c.seq)
    .limit(bindparam("limit"))
)
_OF_PROPOSAL = (
    select(*_COLUMNS)
    .where(schema.events.c.league_id == bindparam("league"), schema.events.c.proposal == bindparam("number"))
    .order_by(schema.events.c.seq)
)
_OF_PROPOSALS = (
    select(*_COLUMNS)
    .where(
        schema.events.c.league_id == bindparam("league"),
        schema.events.c.proposal.in_(bindparam("numbers", expanding=True)),
    )
    .order_by(schema.events.c.seq)
)
_PROPOSED_EVENTS = (
    select(*_COLUMNS)
    .where(schema.events.c.league_id == bindparam("league"), schema.events.c.kind == "proposed")
    .order_by(schema.events.c.proposal)
)
_NAMES = select(schema.names.c.item, schema.names.c.name).where(schema.names.c.league_id == bindparam("league"))


def head(connection: Connection, league: int) -> int | None:
    """The number of a league's last event; None if the league was erased or deleted."""
    seq = connection.execute(_HEAD, {"league": league}).scalar_one_or_none()
    return None if seq is None else int(seq)


def head_locked(connection: Connection, league: int) -> int | None:
    """Like `head`, in a writing transaction: no other process writes to this league until it ends."""
    # SQLAlchemy omits FOR UPDATE on SQLite, which has one writer at a time.
    seq = connection.execute(_HEAD.with_for_update(), {"league": league}).scalar_one_or_none()
    return None if seq is None else int(seq)


def read(connection: Connection, league: int, *, after: int = 0, limit: int | None = None) -> Iterator[Event]:
    """The events after number `after`, in order."""
    for page in _pages(connection, league, after, limit):
        for seq, at, kind, data, by in page:
            yield Event(seq, at, kind, json.loads(data), by)


def fold(connection: Connection, league: int, state: State) -> None:
    """Apply all later events to a state; faster than `read`, since it creates no `Event` objects."""
    step, loads = state.step, json.loads
    for page in _pages(connection, league, state.seq, None):
        for seq, at, kind, data, _ in page:
            step(seq, kind, loads(data), at)


def _pages(connection: Connection, league: int, after: int, limit: int | None) -> Iterator[Sequence[Any]]:
    left = limit
    while left is None or left > 0:
        size = _PAGE_SIZE if left is None else min(_PAGE_SIZE, left)
        rows = connection.execute(_TAIL, {"league": league, "after": after, "limit": size}).fetchall()
        yield rows
        if len(rows) < size:
            return
        after = rows[-1][0]
        left = None if left is None else left - len(rows)


def read_proposal(connection: Connection, league: int, number: int) -> list[Event]:
    """All events of one proposal, in order."""
    rows = connection.execute(_OF_PROPOSAL, {"league": league, "number": number})
    return [Event(seq, at, kind, json.loads(data), by) for seq, at, kind, data, by in rows]


def read_proposals(connection: Connection, league: int, numbers: Sequence[int]) -> list[Event]:
    """All events of several proposals, in the order of the log."""
    events = []
    for first in range(0, len(numbers), _PAGE_SIZE):  # databases limit the parameters of a statement
        chunk = list(numbers[first : first + _PAGE_SIZE])
        rows = connection.execute(_OF_PROPOSALS, {"league": league, "numbers": chunk})
        events += [Event(seq, at, kind, json.loads(data), by) for seq, at, kind, data, by in rows]
    return events


def proposed(connection: Connection, league: int) -> Iterator[Event]:
    """The "proposed" events, in order, streamed."""
    rows = connection.execute(_PROPOSED_EVENTS.execution_options(yield_per=100), {"league": league})
    for seq, at, kind, data, by in rows:
        yield Event(seq, at, kind, json.loads(data), by)


def names(connection: Connection, league: int) -> list[tuple[int, str]]:
    """All ids and names."""
    return [(item, name) for item, name in connection.execute(_NAMES, {"league": league})]


def append(
    connection: Connection, league: int, events: Sequence[Event], *, summary: Mapping[str, Any] | None = None
) -> None:
    """Append events; `summary` is that of the resulting state, or None if it is not computed."""
    if not events:
        return
    connection.execute(
        _APPEND,
        [
            {
                "league_id": league,
                "seq": event.seq,
                "at": event.at,
                "kind": event.kind,
                "proposal": proposal_number(event.kind, event.data),
                "by": event.by,
                "data": to_json(event.data),
            }
            for event in events
        ],
    )
    text = None if summary is None else json.dumps(summary)
    connection.execute(_MOVE_HEAD, {"league": league, "seq": events[-1].seq, "new_summary": text})


def write_names(connection: Connection, league: int, rows: Iterable[tuple[int, str | None]]) -> None:
    """Write names and erase those that are None; the last entry of an item counts."""
    last = dict(rows)
    if not last:
        return
    connection.execute(
        delete(schema.names).where(schema.names.c.league_id == league, schema.names.c.item == bindparam("which")),
        [{"which": item} for item in last],
    )
    new = [{"league_id": league, "item": item, "name": name} for item, name in last.items() if name is not None]
    if new:
        connection.execute(insert(schema.names), new)
