"""Pages of a league: queries with a limit, whose rows become records with names."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

import numpy as np
from sqlalchemy import Connection, bindparam, case, func, select, true, tuple_

from matchbandit.leagues import schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.explain import change_sentence
from matchbandit.leagues.model import warning as warning_of
from matchbandit.leagues.records import (
    Change,
    Ids,
    Item,
    LeagueInfo,
    Page,
    PairResult,
    Rule,
    from_row,
)
from matchbandit.leagues.state import LeagueState
from matchbandit.leagues.transaction import LeagueRow, format_time

MAX_OUTCOMES = 5_000
"""A page of the history ends before its changes have more outcomes than this."""
_ALL = true()
_FETCHED = 50
_item, _proposal, _change, _rule = schema.item, schema.proposal, schema.change, schema.rule
_CHANGES = select(_change).where(_change.c.league_id == bindparam("of_league"))


# Pages ---------------------------------------------------------------------------------------------------------------


class Bounds(TypedDict, total=False):
    """Which part of a list that is in the order of time; by default all of it."""

    after: int | None
    """Continue after this number: `Page.next` of the page before."""
    limit: int | None
    """Most rows of the page."""
    newest_first: bool
    since: str | datetime | None
    """Only what happened at this time or later: a datetime, or a text such as "2026-11-16T09:30"; UTC by default."""
    until: str | datetime | None
    """Only what happened before this time."""


def page_by_time(
    connection: Connection,
    league: LeagueRow,
    query: Any,
    number: Any,
    n_rows: int,
    size: Callable[[Any], int],
    max_size: int,
    *,
    where: Any = _ALL,
    after: int | None = None,
    limit: int | None = None,
    newest_first: bool = False,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
) -> tuple[list[Any], int | None]:
    """The rows of a page, and `after` of the next one; it ends early where the sizes of its rows exceed `max_size`.

    The rows of `query` are numbered consecutively from 1 in the order of time; those of them are listed for which
    `where` holds.
    """
    of_league = {"of_league": league.id}
    times = query.with_only_columns(_change.c.at).where(number == bindparam("number"))

    def count_before(time: str | datetime) -> int:
        return bisect_left(
            range(1, n_rows + 1),
            parse_time(time),
            key=lambda k: connection.execute(times, of_league | {"number": k}).scalar_one(),
        )

    first = 1 if since is None else count_before(since) + 1
    last = n_rows if until is None else count_before(until)
    if after is not None:
        first, last = (first, min(last, after - 1)) if newest_first else (max(first, after + 1), last)
    query = query.where(number.between(first, last), where).order_by(number.desc() if newest_first else number)
    query = query.limit(None if limit is None else limit + 1)
    rows, total = list[Any](), 0
    for row in connection.execute(query, of_league, execution_options={"yield_per": _FETCHED}):
        total += size(row)
        if limit is not None and (len(rows) == limit or (rows and total > max_size)):
            return rows, getattr(rows[-1], number.name)
        rows.append(row)
    return rows, None


def parse_time(time: str | datetime) -> str:
    """A time as it is stored; without a time zone it is UTC.

    >>> parse_time("2026-11-16 10:30+01:00")
    '2026-11-16T09:30:00.000000Z'
    """
    try:
        moment = time if isinstance(time, datetime) else datetime.fromisoformat(time)
        return format_time(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    except (TypeError, ValueError, OverflowError):
        raise LeagueError("bad-value", f"a time is written like 2026-11-16T09:30:00Z; got {time!r}.") from None


def _parse_ids(text: str) -> Ids:
    """The pair after which a page begins, such as 3-7; the empty text is before all pairs."""
    first, _, second = text.partition("-")
    if text and not (first.isdecimal() and second.isdecimal() and max(len(first), len(second)) < 10):
        raise LeagueError("bad-value", f"after must be the value of `next` of the page before; got {text!r}.")
    return (int(first), int(second)) if text else (0, 0)


# Lists ---------------------------------------------------------------------------------------------------------------


def league_info(connection: Connection, leagues: Sequence[LeagueRow]) -> list[LeagueInfo]:
    """Settings and counts of some leagues, with one query for each kind of count."""
    ids = [league.id for league in leagues]

    def counts(table: Any, *columns: Any, where: Any = _ALL) -> dict[int, Any]:
        query = select(table.c.league_id, *columns).where(table.c.league_id.in_(ids), where)
        rows = connection.execute(query.group_by(table.c.league_id))
        return dict.fromkeys(ids, (0, 0)) | {row[0]: row[1:] for row in rows}

    n_items = counts(_item, func.count(), func.count(case((_item.c.active, 1))))
    n_rules = counts(_rule, *(func.count(case((_rule.c.kind == kind, 1))) for kind in ("exclude", "pin")))
    n_waiting = counts(_proposal, func.sum(_proposal.c.n_waiting), where=_proposal.c.n_waiting > 0)
    return [
        from_row(
            LeagueInfo,
            league,
            title=league.settings["title"],
            items=n_items[league.id][0],
            active=n_items[league.id][1],
            proposals=league.n_proposals,
            waiting=n_waiting[league.id][0],
            results=league.n_results,
            exclusions=n_rules[league.id][0],
            pins=n_rules[league.id][1],
            warning=warning_of(league),
        )
        for league in leagues
    ]


def item_record(state: LeagueState, item: int) -> Item:
    """An item by id."""
    row = state.items[item - 1]
    return Item(item, state.name(item), state.side(item), row.active, row.name is None, row.byes)


def results(state: LeagueState, item: int | None, *, after: str, limit: int | None) -> Page[PairResult]:
    """The results of each pair that has any, or of the pairs of one item, in the order of ids."""
    totals = state.totals
    a, b = _parse_ids(after)
    here = (totals.count > 0) & (totals.keys > (a << 32 | b))
    if item is not None:
        here &= (totals.a == item) | (totals.b == item)
    places = np.flatnonzero(here)[: None if limit is None else limit + 1]
    columns = (column[places].tolist() for column in (totals.a, totals.b, totals.count, totals.total))
    rows = [PairResult((a, b), state.names((a, b)), n, total) for a, b, n, total in zip(*columns, strict=True)]
    return first_rows(rows, limit, _ids_text)


def rules(connection: Connection, state: LeagueState, *, kind: str | None, after: str, limit: int | None) -> Page[Rule]:
    """Exclusions and pins in the order of ids."""
    where = [_rule.c.league_id == state.league.id, tuple_(_rule.c.a, _rule.c.b) > _parse_ids(after)]
    if kind is not None:
        where.append(_rule.c.kind == kind)
    query = select(_rule.c.kind, _rule.c.a, _rule.c.b).where(*where).order_by(_rule.c.a, _rule.c.b)
    found = connection.execute(query if limit is None else query.limit(limit + 1))
    return first_rows([Rule(kind, (a, b), state.names((a, b))) for kind, a, b in found], limit, _ids_text)


def history(connection: Connection, state: LeagueState, bounds: Bounds) -> Page[Change]:
    """Who changed what, and when; a page ends early where its outcomes are many."""
    version, n_rows = _change.c.version, state.league.version

    def size(change: Any) -> int:
        return len(change.data.get("outcomes", ()))

    rows, following = page_by_time(connection, state.league, _CHANGES, version, n_rows, size, MAX_OUTCOMES, **bounds)
    return Page([from_row(Change, row, sentence=change_sentence(row, state)) for row in rows], following)


def _ids_text(row: Any) -> str:
    return f"{row.ids[0]}-{row.ids[1]}"


def first_rows(rows: list[Any], limit: int | None, after: Any) -> Page[Any]:
    """The first `limit` of these rows, of which there is one more if there is a next page."""
    if limit is None:
        return Page(rows, None)
    more = len(rows) > limit
    return Page(rows[:limit], after(rows[limit - 1]) if more else None)
