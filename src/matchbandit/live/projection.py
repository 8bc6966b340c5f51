"""The table of proposals: what the log says of each, so that lists and deadlines need no fold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from matchbandit.live import schema
from matchbandit.live.events import Event

_TABLE = schema.proposals.c
_OUTCOMES = (
    update(schema.proposals)
    .where(_TABLE.league_id == bindparam("league"), _TABLE.number == bindparam("of"))
    .values(
        n_told=_TABLE.n_told + bindparam("more_told"),
        n_void=_TABLE.n_void + bindparam("more_void"),
        reward=_TABLE.reward + bindparam("more_reward"),
        closed=_TABLE.n_told + _TABLE.n_void + bindparam("more_told") + bindparam("more_void") >= _TABLE.n_pairs,
    )
)
_CHUNK = 10_000


def project(connection: Connection, league: int, events: Iterable[Event]) -> None:
    """Write into the table what these events, which come next, say of proposals."""
    made, changed = [], []
    for event in events:
        if event.kind == "proposed":
            made.append({"league_id": league, **_row(event)})
        elif event.kind in _CHANGING:
            told, void, reward = _change(event)
            more = {"more_told": told, "more_void": void, "more_reward": reward}
            changed.append({"league": league, "of": event.data["proposal"], **more})
    if made:
        connection.execute(insert(schema.proposals), made)
    if changed:  # one row for each event: a sum of floats depends on the order
        connection.execute(_OUTCOMES, changed)


def fold_rows(events: Iterable[Event], rows: dict[int, dict[str, Any]]) -> Iterator[Event]:
    """The events as they are, while `rows` becomes the table, by number; each counts once it was passed on."""
    for event in events:
        yield event
        if event.kind == "proposed":
            row = _row(event)
            rows[row["number"]] = row
        elif event.kind in _CHANGING:
            row = rows[event.data["proposal"]]
            told, void, reward = _change(event)
            row["n_told"] += told
            row["n_void"] += void
            row["reward"] += reward
            row["closed"] = row["n_told"] + row["n_void"] >= row["n_pairs"]


def rebuild(connection: Connection, league: int, events: Iterable[Event]) -> None:
    """Make the table again from the log."""
    table: dict[int, dict[str, Any]] = {}
    for _ in fold_rows(events, table):
        pass
    write(connection, league, table)


def write(connection: Connection, league: int, table: Mapping[int, dict[str, Any]]) -> None:
    """Put this table in the place of the one that is there."""
    connection.execute(delete(schema.proposals).where(_TABLE.league_id == league))
    rows = [{"league_id": league, **row} for row in table.values()]
    for first in range(0, len(rows), _CHUNK):
        connection.execute(insert(schema.proposals), rows[first : first + _CHUNK])


def last_number(connection: Connection, league: int) -> int:
    """The number of the last proposal in the table; 0: there is none."""
    return int(connection.execute(select(func.max(_TABLE.number)).where(_TABLE.league_id == league)).scalar() or 0)


def read(connection: Connection, league: int, *, after: int = 0, limit: int | None = None) -> Sequence[dict[str, Any]]:
    """The rows that follow proposal `after`, in order."""
    columns = [column for column in schema.proposals.c if column.name != "league_id"]
    rows = select(*columns).where(_TABLE.league_id == league, _TABLE.number > after).order_by(_TABLE.number)
    return [dict(row) for row in connection.execute(rows.limit(limit)).mappings()]


def overdue(connection: Connection, now: str) -> list[str]:
    """The leagues in which a deadline has passed."""
    slug = schema.leagues.c.slug
    due = select(slug).join_from(schema.proposals, schema.leagues).where(_TABLE.closed.is_(False), _TABLE.due <= now)
    return list(connection.execute(due.distinct().order_by(slug)).scalars())


_CHANGING = ("told", "expired", "corrected")


def _row(event: Event) -> dict[str, Any]:
    data = event.data
    return {
        "number": data["number"],
        "seq": event.seq,
        "at": event.at,
        "due": data.get("due"),
        "closed": not data["pairs"],
        "n_pairs": len(data["pairs"]),
        "n_told": 0,
        "n_void": 0,
        "reward": 0.0,
        "expected": data.get("expected"),
        "best": data.get("best"),
    }


def _change(event: Event) -> tuple[int, int, float]:
    """How many more are told, how many more are void, and how much more was paid."""
    told = void = 0
    reward = 0.0
    for outcome in event.data["outcomes"]:
        now = outcome[-1]
        if now is None:
            void += 1
        else:
            told += 1
            reward += now
        if event.kind == "corrected":
            was = outcome[2]
            if was is None:
                void -= 1
            else:
                told -= 1
                reward -= was
    return told, void, reward
