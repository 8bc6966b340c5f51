"""Pages of a league: queries with a limit, whose rows become records with names."""

from collections.abc import Sequence
from typing import Any

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
from matchbandit.leagues.transaction import LeagueRow

MAX_PAIRS_PER_PAGE = 5_000
"""A page of proposals ends before it has more pairs than this, however many proposals were asked for."""
_item, _pair, _proposal, _change, _rule = schema.item, schema.proposal_pair, schema.proposal, schema.change, schema.rule
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


def proposals(connection: Connection, state: LeagueState, *, after: int, limit: int, open_only: bool) -> Page[Proposal]:
    """Proposals in the order of their numbers."""
    query = _PROPOSALS.where(_proposal.c.number > after).order_by(_proposal.c.number).limit(limit + 1)
    if open_only:
        query = query.where(_proposal.c.n_waiting > 0)
    found = connection.execute(query, {"of_league": state.league.id}).all()
    rows, n_pairs = [], 0
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


def summaries(connection: Connection, state: LeagueState, *, after: int, limit: int) -> Page[ProposalSummary]:
    """Expected and achieved rewards of each proposal."""
    told, has_result = _pair.c.outcome_version.is_not(None), _pair.c.outcome.is_not(None)
    sums = (
        select(
            _pair.c.number,
            func.sum(case((told & ~has_result, 1), else_=0)).label("void"),
            func.coalesce(func.sum(_pair.c.outcome), 0.0).label("reward"),
            func.sum(case((has_result, _pair.c.expected), else_=0.0)).label("expected_so_far"),
        )
        .where(_pair.c.league_id == state.league.id, _pair.c.number > after, _pair.c.number <= after + limit)
        .group_by(_pair.c.number)
        .subquery()
    )
    query = (
        _PROPOSALS.add_columns(sums.c.void, sums.c.reward, sums.c.expected_so_far)
        .outerjoin(sums, sums.c.number == _proposal.c.number)
        .where(_proposal.c.number > after, _proposal.c.number <= after + limit)
        .order_by(_proposal.c.number)
    )
    rows = [
        ProposalSummary(
            number=row.number,
            at=row.at,
            due=row.due,
            policy=row.policy,
            pairs=row.n_pairs,
            waiting=row.n_waiting,
            void=row.void or 0,
            reward=row.reward or 0.0,
            expected_so_far=(row.expected_so_far or 0.0) if row.n_results else None,
            **_expectation(row),
        )
        for row in connection.execute(query, {"of_league": state.league.id})
    ]
    return Page(rows, after + limit if after + limit < state.league.n_proposals else None)


def results(state: LeagueState, *, after: tuple[int, int], limit: int) -> Page[PairResult]:
    """The results of each pair that has any, in the order of ids."""
    totals = state.totals
    first = int(totals.keys.searchsorted(after[0] << 32 | after[1], side="right"))
    rows = [
        PairResult((a, b), state.names((a, b)), count, total)
        for a, b, count, total in zip(
            *(
                column[first : first + limit + 1].tolist()
                for column in (totals.a, totals.b, totals.count, totals.total)
            ),
            strict=True,
        )
        if count
    ]
    return _page(rows, limit, _ids_text)


def rules(connection: Connection, state: LeagueState, *, kind: str | None, after: Ids, limit: int | None) -> Page[Rule]:
    """Exclusions and pins in the order of ids."""
    where = [_rule.c.league_id == state.league.id, tuple_(_rule.c.a, _rule.c.b) > after]
    if kind is not None:
        where.append(_rule.c.kind == kind)
    query = select(_rule.c.kind, _rule.c.a, _rule.c.b).where(*where).order_by(_rule.c.a, _rule.c.b)
    found = connection.execute(query if limit is None else query.limit(limit + 1))
    return _page([Rule(kind, (a, b), state.names((a, b))) for kind, a, b in found], limit, _ids_text)


def history(connection: Connection, state: LeagueState, *, after: int, limit: int) -> Page[Change]:
    """Who changed what, and when."""
    where = [_change.c.league_id == state.league.id, _change.c.version > after]
    query = select(_change).where(*where).order_by(_change.c.version).limit(limit + 1)
    rows, n_outcomes = [], 0
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
