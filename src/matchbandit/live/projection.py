"""The proposals table: a read model of the log, so that lists and deadlines need no replay."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypedDict, Unpack

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from matchbandit.live import schema
from matchbandit.live.events import Event, pair_estimates
from matchbandit.live.tally import key_of

_TABLE = schema.proposals.c
_OUTCOMES = (
    update(schema.proposals)
    .where(_TABLE.league_id == bindparam("league"), _TABLE.number == bindparam("of"))
    .values(
        n_told=_TABLE.n_told + bindparam("more_told"),
        n_void=_TABLE.n_void + bindparam("more_void"),
        reward=_TABLE.reward + bindparam("more_reward"),
        expected_of_told=_TABLE.expected_of_told + bindparam("more_expected"),
        closed=_TABLE.n_told + _TABLE.n_void + bindparam("more_told") + bindparam("more_void") >= _TABLE.n_pairs,
    )
)
_CHUNK = 10_000


Estimates = Mapping[int, float]
"""The reward the model expected of each pair of a proposal, by pair key."""


def project(connection: Connection, league: int, events: Iterable[tuple[Event, Estimates]]) -> None:
    """Update the table with new events, each with the estimates of its proposal."""
    inserts, updates = [], []
    for event, estimates in events:
        if event.kind == "proposed":
            inserts.append({"league_id": league, **_row(event)})
        elif event.kind in _CHANGING:
            change = {f"more_{name}": value for name, value in _change(event, estimates)._asdict().items()}
            updates.append({"league": league, "of": event.data["proposal"], **change})
    if inserts:
        connection.execute(insert(schema.proposals), inserts)
    if updates:  # one row for each event: a sum of floats depends on the order
        connection.execute(_OUTCOMES, updates)


def fold_rows(events: Iterable[Event], rows: dict[int, dict[str, Any]]) -> Iterator[Event]:
    """Pass events through and update `rows`, the table by number; an event counts once the next one is requested."""
    estimates: dict[int, Estimates] = {}
    for event in events:
        yield event
        if event.kind == "proposed":
            row = _row(event)
            rows[row["number"]] = row
            estimates[row["number"]] = pair_estimates(event.data)
        elif event.kind in _CHANGING:
            row = rows[event.data["proposal"]]
            change = _change(event, estimates[row["number"]])
            row["n_told"] += change.told
            row["n_void"] += change.void
            row["reward"] += change.reward
            row["expected_of_told"] += change.expected
            row["closed"] = row["n_told"] + row["n_void"] >= row["n_pairs"]


def write(connection: Connection, league: int, table: Mapping[int, dict[str, Any]]) -> None:
    """Replace the table."""
    connection.execute(delete(schema.proposals).where(_TABLE.league_id == league))
    rows = [{"league_id": league, **row} for row in table.values()]
    for first in range(0, len(rows), _CHUNK):
        connection.execute(insert(schema.proposals), rows[first : first + _CHUNK])


class Page(TypedDict, total=False):
    """Which proposals to read; by default all, in the order of their numbers."""

    after: int
    """Only those with larger numbers."""
    before: int | None
    """Only those with smaller numbers."""
    limit: int | None
    """The largest number of proposals."""
    open_only: bool
    """Only those with an outcome missing."""
    newest_first: bool


def read_page(connection: Connection, league: int, **page: Unpack[Page]) -> list[dict[str, Any]]:
    """The rows of these proposals."""
    columns = [column for column in schema.proposals.c if column.name != "league_id"]
    rows = select(*columns).where(_TABLE.league_id == league, _TABLE.number > page.get("after", 0))
    before = page.get("before")
    if before is not None:
        rows = rows.where(_TABLE.number < before)
    if page.get("open_only"):
        rows = rows.where(_TABLE.closed.is_(False))
    rows = rows.order_by(_TABLE.number.desc() if page.get("newest_first") else _TABLE.number)
    return [dict(row) for row in connection.execute(rows.limit(page.get("limit"))).mappings()]


def overdue(connection: Connection, now: str) -> list[str]:
    """Names of active leagues in which a deadline has passed."""
    slug = schema.leagues.c.slug
    due = select(slug).join_from(schema.proposals, schema.leagues).where(_TABLE.closed.is_(False), _TABLE.due <= now)
    active = due.where(schema.leagues.c.archived.is_(None), schema.leagues.c.deleted.is_(None))
    return list(connection.execute(active.distinct().order_by(slug)).scalars())


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
        "expected_of_told": 0.0,
    }


class _Change(NamedTuple):
    """By how much an event changes the row of its proposal."""

    told: int
    void: int
    reward: float
    expected: float


def _change(event: Event, estimates: Estimates) -> _Change:
    told = void = 0
    reward = expected = 0.0
    for outcome in event.data["outcomes"]:
        estimate, now = estimates[key_of(outcome[0], outcome[1])], outcome[-1]
        if now is None:
            void += 1
        else:
            told += 1
            reward += now
            expected += estimate
        if event.kind == "corrected":
            was = outcome[2]
            if was is None:
                void -= 1
            else:
                told -= 1
                reward -= was
                expected -= estimate
    return _Change(told, void, reward, expected)
