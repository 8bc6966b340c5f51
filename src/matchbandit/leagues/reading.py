"""Pages of a league: queries with a limit, whose rows become records with names."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, case, func, select, tuple_

from matchbandit.leagues import schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.explain import change_sentence, note_sentence
from matchbandit.leagues.model import warning
from matchbandit.leagues.records import (
    VOID,
    Change,
    Ids,
    Item,
    LeagueInfo,
    Outcome,
    Page,
    Pair,
    PairResult,
    Proposal,
    ProposalSummary,
    Rule,
)
from matchbandit.leagues.state import LeagueState
from matchbandit.leagues.transaction import LeagueRow, parse_time

MAX_PAIRS_PER_PAGE = 5_000
"""A page of proposals ends before it has more pairs than this, however many proposals were asked for."""
_item, _pair, _proposal, _change, _rule = schema.item, schema.proposal_pair, schema.proposal, schema.change, schema.rule
_total = schema.pair_total
_PROPOSALS = (
    select(_proposal, _change.c.at)
    .join(_change, and_(_change.c.league_id == _proposal.c.league_id, _change.c.version == _proposal.c.version))
    .where(_proposal.c.league_id == bindparam("of_league"))
)
_PROPOSAL = _PROPOSALS.where(_proposal.c.number == bindparam("number"))
_PAIR_COLUMNS = (_pair.c.number, _pair.c.a, _pair.c.b, _pair.c.outcome, _pair.c.outcome_version, _pair.c.fixed)
_PAIR_COLUMNS += (_pair.c.in_best_guess, _pair.c.expected, _pair.c.low, _pair.c.high, _pair.c.value, _pair.c.propensity)
_PAIRS = (
    select(*_PAIR_COLUMNS)
    .where(_pair.c.league_id == bindparam("of_league"), _pair.c.number.in_(bindparam("numbers", expanding=True)))
    .order_by(_pair.c.number, _pair.c.position)
)


class Window(NamedTuple):
    """Which rows of a list that grows with time: those after a number, of a period, in an order."""

    after: int = 0
    since: datetime | str | None = None
    until: datetime | str | None = None
    """Exclusive."""
    newest_first: bool = False

    def select(self, query: Any, number: Any, limit: int) -> Any:
        """The rows of a query with such numbers, and one more if there are more than `limit`."""
        if self.after:
            query = query.where(number < self.after if self.newest_first else number > self.after)
        if self.since is not None:
            query = query.where(_change.c.at >= parse_time(self.since, "since"))
        if self.until is not None:
            query = query.where(_change.c.at < parse_time(self.until, "until"))
        return query.order_by(number.desc() if self.newest_first else number).limit(limit + 1)


def league_info(connection: Connection, leagues: Sequence[LeagueRow]) -> list[LeagueInfo]:
    """Settings and counts of some leagues, with one query for each kind of count."""
    ids = [league.id for league in leagues]

    def counts(table: Any, *columns: Any) -> dict[int, Any]:
        query = select(table.c.league_id, *columns).where(table.c.league_id.in_(ids)).group_by(table.c.league_id)
        return {row[0]: row[1:] for row in connection.execute(query)}

    is_exclusion = case((_rule.c.kind == "exclude", 1), else_=0)
    n_items = counts(_item, func.count(), func.sum(case((_item.c.active, 1), else_=0)))
    n_rules = counts(_rule, func.sum(is_exclusion), func.sum(1 - is_exclusion))
    n_waiting = counts(_proposal, func.sum(_proposal.c.n_waiting))
    n_results = counts(_total, func.sum(_total.c.count))
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
            results=int(n_results.get(league.id, (0,))[0]),
            exclusions=int(n_rules.get(league.id, (0, 0))[0]),
            pins=int(n_rules.get(league.id, (0, 0))[1]),
            warning=warning(league),
        )
        for league in leagues
    ]


def item_record(state: LeagueState, item: int) -> Item:
    """An item by id."""
    row = state.items[item - 1]
    return Item(item, state.name(item), state.side(item), row.active, row.name is None, row.byes)


def items(state: LeagueState, *, after: int, limit: int, search: str, active: bool | None) -> Page[Item]:
    """Items in the order of their ids."""
    text = search.casefold()
    found = [
        row.id
        for row in state.items[after:]
        if (active is None or row.active == active) and text in state.name(row.id).casefold()
    ]
    return _page([item_record(state, item) for item in found[: limit + 1]], limit, lambda item: item.id)


def proposal(connection: Connection, state: LeagueState, number: int) -> Proposal:
    """One proposal."""
    row = connection.execute(_PROPOSAL, {"of_league": state.league.id, "number": number}).one_or_none()
    if row is None:
        last = state.league.n_proposals
        hint = f"the last one is {last}" if last else "there was none yet"
        raise LeagueError("unknown-proposal", f"there is no proposal {number!r}; {hint}. Ask first.")
    return _with_pairs(connection, state, [row])[0]


def proposals(
    connection: Connection, state: LeagueState, window: Window, *, limit: int, open_only: bool
) -> Page[Proposal]:
    """Proposals in the order of their numbers."""
    query = window.select(_PROPOSALS, _proposal.c.number, limit)
    if open_only:
        query = query.where(_proposal.c.n_waiting > 0)
    found = connection.execute(query, {"of_league": state.league.id}).all()
    rows: list[Any] = []
    n_pairs = 0
    for row in found[:limit]:
        n_pairs += row.n_pairs
        if rows and n_pairs > MAX_PAIRS_PER_PAGE:
            break
        rows.append(row)
    return Page(_with_pairs(connection, state, rows), rows[-1].number if len(rows) < len(found) else None)


def _with_pairs(connection: Connection, state: LeagueState, rows: Sequence[Any]) -> list[Proposal]:
    """Rows of proposals as records, with their pairs."""
    pairs: dict[int, list[Pair]] = {row.number: [] for row in rows}
    n_results = {row.number: row.n_results for row in rows}
    for row in connection.execute(_PAIRS, {"of_league": state.league.id, "numbers": list(pairs)}):
        outcome = None if row.outcome_version is None else VOID if row.outcome is None else row.outcome
        pairs[row.number].append(pair_record(row, (row.a, row.b), outcome, state, n_results[row.number]))
    return [proposal_record(row, pairs[row.number], state, row.at) for row in rows]


def pair_record(row: Any, ids: Ids, outcome: Outcome | None, state: LeagueState, n_results: int) -> Pair:
    """A pair of a proposal that was decided with so many results."""
    expected, low, high = (row.expected, row.low, row.high) if n_results else (None, None, None)
    names = state.names(ids)
    return Pair(
        names, ids, outcome, row.fixed, row.in_best_guess, expected, low, high, row.value, propensity=row.propensity
    )


def proposal_record(row: Any, pairs: list[Pair], state: LeagueState, at: str) -> Proposal:
    """A proposal with these pairs."""
    return Proposal(
        number=row.number,
        pairs=pairs,
        byes=[state.name(item) for item in row.byes],
        at=at,
        due=row.due,
        policy=row.policy,
        **_expectation(row),
        waiting=row.n_waiting,
        notes=[note_sentence(note, state.name) for note in row.notes],
        warning=warning(state.league),
        propensity_draws=row.propensity_draws,
    )


def _expectation(row: Any) -> dict[str, float | None]:
    """What the model expected of a proposal: nothing, while there were no results."""
    return {name: getattr(row, name) if row.n_results else None for name in ("expected", "low", "high", "best")}


def last_proposal_of(connection: Connection, state: LeagueState, ids: tuple[int, int]) -> tuple[Proposal, Pair] | None:
    """The last proposal that contains a pair, and the pair there."""
    where = [_pair.c.league_id == state.league.id, _pair.c.a == ids[0], _pair.c.b == ids[1]]
    number = connection.execute(select(func.max(_pair.c.number)).where(*where)).scalar_one()
    if number is None:
        return None
    found = proposal(connection, state, number)
    return found, next(pair for pair in found.pairs if pair.ids == ids)


def summaries(connection: Connection, state: LeagueState, window: Window, *, limit: int) -> Page[ProposalSummary]:
    """Expected and achieved rewards of each proposal."""
    of_league = {"of_league": state.league.id}
    found = connection.execute(window.select(_PROPOSALS, _proposal.c.number, limit), of_league).all()
    told, has_result = _pair.c.outcome_version.is_not(None), _pair.c.outcome.is_not(None)
    sums = (
        select(
            _pair.c.number,
            func.sum(case((told & ~has_result, 1), else_=0)).label("void"),
            func.coalesce(func.sum(_pair.c.outcome), 0.0).label("reward"),
            func.sum(case((has_result, _pair.c.expected), else_=0.0)).label("expected_so_far"),
        )
        .where(_pair.c.league_id == state.league.id, _pair.c.number.in_([row.number for row in found[:limit]]))
        .group_by(_pair.c.number)
    )
    by_number = {row.number: row for row in connection.execute(sums)}
    rows = [
        ProposalSummary(
            number=row.number,
            at=row.at,
            due=row.due,
            policy=row.policy,
            pairs=row.n_pairs,
            waiting=row.n_waiting,
            void=by_number[row.number].void if row.n_pairs else 0,
            reward=by_number[row.number].reward if row.n_pairs else 0.0,
            expected_so_far=by_number[row.number].expected_so_far if row.n_results and row.n_pairs else None,
            **_expectation(row),
        )
        for row in found
    ]
    return _page(rows, limit, lambda row: row.number)


def results(state: LeagueState, *, item: int | None, after: tuple[int, int], limit: int) -> Page[PairResult]:
    """The results of each pair that has any, in the order of ids."""
    totals = state.totals
    wanted = (totals.count > 0) & (totals.keys > (after[0] << 32 | after[1]))
    if item is not None:
        wanted &= (totals.a == item) | (totals.b == item)
    chosen = wanted.nonzero()[0][: limit + 1]
    columns = (column[chosen].tolist() for column in (totals.a, totals.b, totals.count, totals.total))
    rows = [PairResult((a, b), state.names((a, b)), n, total) for a, b, n, total in zip(*columns, strict=True)]
    return _page(rows, limit, _ids_text)


def rules(connection: Connection, state: LeagueState, *, kind: str | None, after: Ids, limit: int | None) -> Page[Rule]:
    """Exclusions and pins in the order of ids."""
    where = [_rule.c.league_id == state.league.id, tuple_(_rule.c.a, _rule.c.b) > after]
    if kind is not None:
        where.append(_rule.c.kind == kind)
    query = select(_rule.c.kind, _rule.c.a, _rule.c.b).where(*where).order_by(_rule.c.a, _rule.c.b)
    found = connection.execute(query if limit is None else query.limit(limit + 1))
    return _page([Rule(kind, (a, b), state.names((a, b))) for kind, a, b in found], limit, _ids_text)


def history(connection: Connection, state: LeagueState, window: Window, *, limit: int) -> Page[Change]:
    """Who changed what, and when."""
    query = window.select(select(_change).where(_change.c.league_id == state.league.id), _change.c.version, limit)
    rows: list[Change] = []
    n_outcomes = 0
    for row in connection.execute(query):
        n_outcomes += len(row.data.get("outcomes", ()))
        if len(rows) == limit or (rows and n_outcomes > MAX_PAIRS_PER_PAGE):
            return Page(rows, rows[-1].version)
        sentence = change_sentence(row.action, row.data, state)
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
