"""Pages of a league: queries with a limit, whose rows become records with names."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypedDict

from sqlalchemy import Connection, bindparam, case, func, select, true, tuple_

from matchbandit.leagues import schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.explain import change_sentence
from matchbandit.leagues.model import warning as warning_of
from matchbandit.leagues.records import Change, Ids, Item, LeagueInfo, Page, PairResult, Ranking, Rule, Standing
from matchbandit.leagues.state import LeagueState
from matchbandit.leagues.transaction import LeagueRow, format_time

MAX_OUTCOMES = 5_000
"""A page of the history ends before its changes have more outcomes than this."""
_ALL = true()
_CHUNK, _FETCHED = 2_000, 50
_item, _proposal, _change, _rule = schema.item, schema.proposal, schema.change, schema.rule
_CHANGES = select(_change).where(_change.c.league_id == bindparam("of_league"))
_AT = select(_change.c.at).where(
    _change.c.league_id == bindparam("of_league"), _change.c.version == bindparam("version")
)


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


@dataclass(frozen=True)
class Window:
    """The numbers that bounds leave of a list that is numbered consecutively from 1."""

    first: int
    last: int
    limit: int | None
    newest_first: bool

    def of(self, query: Any, number: Any) -> Any:
        """The query for these rows, with one more than a page has if there is a next one."""
        query = query.where(number.between(self.first, self.last))
        query = query.order_by(number.desc() if self.newest_first else number)
        return query if self.limit is None else query.limit(self.limit + 1)


def window(
    time_of: Callable[[int], str],
    n_rows: int,
    *,
    after: int | None = None,
    limit: int | None = None,
    newest_first: bool = False,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
) -> Window:
    """The window of a list whose row k was written at `time_of(k)`, which increases: times are found by bisection."""

    def count_before(time: str | datetime) -> int:
        return bisect_left(range(1, n_rows + 1), parse_time(time), key=time_of)

    first = 1 if since is None else count_before(since) + 1
    last = n_rows if until is None else count_before(until)
    if after is not None and newest_first:
        last = min(last, after - 1)
    elif after is not None:
        first = max(first, after + 1)
    return Window(first, last, limit, newest_first)


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
        return {row[0]: row[1:] for row in connection.execute(query.group_by(table.c.league_id))}

    is_exclusion = case((_rule.c.kind == "exclude", 1), else_=0)
    n_items = counts(_item, func.count(), func.sum(case((_item.c.active, 1), else_=0)))
    n_rules = counts(_rule, func.sum(is_exclusion), func.sum(1 - is_exclusion))
    n_waiting = counts(_proposal, func.sum(_proposal.c.n_waiting), where=_proposal.c.n_waiting > 0)
    return [
        LeagueInfo(
            slug=league.slug,
            title=league.settings["title"],
            sides=league.sides,
            rewards=league.rewards,
            seed=league.seed,
            settings=league.settings,
            created_at=league.created_at,
            archived_at=league.archived_at,
            deleted_at=league.deleted_at,
            version=league.version,
            items=n_items.get(league.id, (0, 0))[0],
            active=n_items.get(league.id, (0, 0))[1],
            proposals=league.n_proposals,
            waiting=int(n_waiting.get(league.id, (0,))[0]),
            results=league.n_results,
            exclusions=int(n_rules.get(league.id, (0, 0))[0]),
            pins=int(n_rules.get(league.id, (0, 0))[1]),
            warning=warning_of(league),
        )
        for league in leagues
    ]


def item_record(state: LeagueState, item: int) -> Item:
    """An item by id."""
    row = state.items[item - 1]
    return Item(item, state.name(item), state.side(item), row.active, row.name is None, row.byes)


def items(state: LeagueState, *, after: int, limit: int | None, search: str, active: bool | None) -> Page[Item]:
    """Items in the order of their ids."""
    text = search.casefold()
    found = (
        item_record(state, row.id)
        for row in islice(state.items, after, None)
        if (active is None or row.active == active) and text in state.name(row.id).casefold()
    )
    return _page(list(islice(found, None if limit is None else limit + 1)), limit, lambda item: item.id)


def results(state: LeagueState, item: int | None, *, after: str, limit: int | None) -> Page[PairResult]:
    """The results of each pair that has any, or of the pairs of one item, in the order of ids."""
    totals = state.totals
    a, b = _parse_ids(after)
    first, last = (int(totals.a.searchsorted(a, side=side)) for side in ("left", "right"))
    first += int(totals.b[first:last].searchsorted(b, side="right"))
    rows: list[PairResult] = []
    for start in range(first, len(totals.a), _CHUNK):
        part = slice(start, start + _CHUNK)
        here = totals.count[part] > 0
        if item is not None:
            here &= (totals.a[part] == item) | (totals.b[part] == item)
        columns = (column[part][here].tolist() for column in (totals.a, totals.b, totals.count, totals.total))
        rows += [PairResult((a, b), state.names((a, b)), n, total) for a, b, n, total in zip(*columns, strict=True)]
        if limit is not None and len(rows) > limit:
            break
    return _page(rows, limit, _ids_text)


def rules(connection: Connection, state: LeagueState, *, kind: str | None, after: str, limit: int | None) -> Page[Rule]:
    """Exclusions and pins in the order of ids."""
    where = [_rule.c.league_id == state.league.id, tuple_(_rule.c.a, _rule.c.b) > _parse_ids(after)]
    if kind is not None:
        where.append(_rule.c.kind == kind)
    query = select(_rule.c.kind, _rule.c.a, _rule.c.b).where(*where).order_by(_rule.c.a, _rule.c.b)
    found = connection.execute(query if limit is None else query.limit(limit + 1))
    return _page([Rule(kind, (a, b), state.names((a, b))) for kind, a, b in found], limit, _ids_text)


def ranking(rows: list[Standing], warning: str | None, *, after: int, limit: int | None, search: str) -> Ranking:
    """A page of a ranking."""
    text = search.casefold()
    found = [row for row in rows if text in row.name.casefold()] if text else rows
    end = len(found) if limit is None else after + limit
    return Ranking(found[after:end], end if end < len(found) else None, warning)


def history(connection: Connection, state: LeagueState, bounds: Bounds) -> Page[Change]:
    """Who changed what, and when; a page ends early where its outcomes are many."""
    league = {"of_league": state.league.id}
    part = window(
        lambda version: connection.execute(_AT, league | {"version": version}).scalar_one(),
        state.league.version,
        **bounds,
    )
    query, rows, n_outcomes = part.of(_CHANGES, _change.c.version), list[Change](), 0
    for row in connection.execute(query, league, execution_options={"yield_per": _FETCHED}):
        n_outcomes += len(row.data.get("outcomes", ()))
        if part.limit is not None and (len(rows) == part.limit or (rows and n_outcomes > MAX_OUTCOMES)):
            return Page(rows, rows[-1].version)
        sentence = change_sentence(row.action, row.data, state, row.by)
        rows.append(Change(row.version, row.at, row.by, row.action, row.data, sentence))
    return Page(rows, None)


def _ids_text(row: Any) -> str:
    return f"{row.ids[0]}-{row.ids[1]}"


def _page(rows: list[Any], limit: int | None, after: Any) -> Page[Any]:
    """The first `limit` of these rows, of which there is one more if there is a next page."""
    if limit is None:
        return Page(rows, None)
    more = len(rows) > limit
    return Page(rows[:limit], after(rows[limit - 1]) if more else None)
