"""Proposals as they are written and read, and the progress that they show."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, func, insert, select, true

from matchbandit.leagues import items, rules, schema
from matchbandit.leagues.deciding import OPEN, Draft, Inputs
from matchbandit.leagues.explain import note_sentence
from matchbandit.leagues.model import stored_fit, warning
from matchbandit.leagues.outcomes import check_number
from matchbandit.leagues.reading import Bounds, page_by_time
from matchbandit.leagues.records import (
    VOID,
    FitTest,
    Ids,
    Page,
    Pair,
    ProgressBin,
    Proposal,
    ProposalSummary,
    from_row,
)
from matchbandit.leagues.state import LeagueState
from matchbandit.leagues.transaction import Statement, Transaction, add_seconds

MAX_PAIRS, MAX_SUMMED_PAIRS = 5_000, 200_000
"""A page of proposals, or of summaries, ends before these have more pairs, however many rows were asked for."""
_pair, _proposal, _change = schema.proposal_pair, schema.proposal, schema.change
_NUMBERS = ("fixed", "in_best_guess", "expected", "low", "high", "value", "propensity")
_numbers = attrgetter(*_NUMBERS)
_INSERT_PROPOSAL, _INSERT_PAIRS = insert(_proposal), Statement(insert(_pair))
_PROPOSALS = (
    select(_proposal, _change.c.at)
    .join(_change, and_(_change.c.league_id == _proposal.c.league_id, _change.c.version == _proposal.c.version))
    .where(_proposal.c.league_id == bindparam("of_league"))
)
_PROPOSAL = _PROPOSALS.where(_proposal.c.number == bindparam("number"))
_PAIR_COLUMNS = [column for column in _pair.c if column.name not in ("league_id", "position")]
_IN_RANGE = (_pair.c.league_id == bindparam("of_league"), _pair.c.number.between(bindparam("first"), bindparam("last")))
_PAIRS = select(*_PAIR_COLUMNS).where(*_IN_RANGE).order_by(_pair.c.number, _pair.c.position)
_LAST_CHOICE = (
    select(*_PAIR_COLUMNS, _proposal.c.policy, _proposal.c.n_results)
    .join(_proposal, and_(_proposal.c.league_id == _pair.c.league_id, _proposal.c.number == _pair.c.number))
    .where(
        _pair.c.league_id == bindparam("of_league"), _pair.c.a == bindparam("first"), _pair.c.b == bindparam("second")
    )
    .order_by(_pair.c.number.desc())
    .limit(1)
)
_HAS_RESULT = _pair.c.outcome.is_not(None)
_SUMS = (
    select(
        _pair.c.number,
        func.count(_pair.c.outcome_version).label("reported"),
        func.count(_pair.c.outcome).label("results"),
        func.coalesce(func.sum(_pair.c.outcome), 0.0).label("reward"),
        func.sum(case((_HAS_RESULT, _pair.c.expected), else_=0.0)).label("expected_so_far"),
    )
    .where(*_IN_RANGE)
    .group_by(_pair.c.number)
)


def write_proposal(tx: Transaction, inputs: Inputs, draft: Draft, fit: FitTest | None) -> Proposal:
    """Write a proposal, and the test of the model if there was one; returns it as `read_proposal` would."""
    league, settings, number, n_pairs = inputs.state.league, tx.league.settings, inputs.number, len(draft.pairs)
    fixed = [pair.ids for pair in draft.pairs if pair.fixed]
    content = {"proposal": number, "n_pairs": n_pairs}
    version = tx.record("ask", content, rules=bool(fixed), proposals=1)
    if fit is not None:
        tx.update(fit=stored_fit(fit, league.version))
    row = vars(draft) | {"number": number, "based_on": league.version, "n_results": league.n_results}
    row |= {"league_id": league.id, "n_pairs": n_pairs, "n_waiting": n_pairs, "version": version}
    row["available"] = inputs.constraints.available
    del row["pairs"]
    row["due"] = None if settings["deadline"] is None else add_seconds(tx.now, settings["deadline"])
    row |= {"policy": settings["policy"], "propensity_draws": settings["record_propensity"] or None}
    tx.connection.execute(_INSERT_PROPOSAL, row)
    _INSERT_PAIRS.execute_many(
        tx.connection,
        ("position", "a", "b", *_NUMBERS),
        ((position, *pair.ids, *_numbers(pair)) for position, pair in enumerate(draft.pairs)),
        league_id=tx.league.id,
        number=number,
        outcome=None,
        outcome_version=None,
    )
    rules.use_up(tx, "pin", fixed)
    items.count_byes(tx, inputs.constraints.available, draft.byes, number, version)
    pairs = [_as_shown(pair, league.n_results) for pair in draft.pairs]
    return _record(SimpleNamespace(**row, at=tx.now), pairs, inputs.state, warning(tx.league))


def read_proposal(connection: Connection, state: LeagueState, number: int) -> Proposal:
    """One proposal."""
    check_number(state.league, number)
    row = connection.execute(_PROPOSAL, {"of_league": state.league.id, "number": number}).one()
    return _with_pairs(connection, state, [row])[0]


def list_proposals(
    connection: Connection, state: LeagueState, bounds: Bounds, *, open_only: bool = False
) -> Page[Proposal]:
    """Proposals in the order of their numbers; a page ends early where their pairs are many."""
    rows, following = _page(connection, state, bounds, open_only, MAX_PAIRS)
    return Page(_with_pairs(connection, state, rows, open_only=open_only), following)


def last_choice(connection: Connection, state: LeagueState, ids: Ids) -> tuple[int, str, Pair] | None:
    """Number and policy of the last proposal that contains a pair, and the pair there."""
    parameters = {"of_league": state.league.id, "first": ids[0], "second": ids[1]}
    row = connection.execute(_LAST_CHOICE, parameters).one_or_none()
    return None if row is None else (row.number, row.policy, _pair_record(row, state, row.n_results))


def list_summaries(
    connection: Connection, state: LeagueState, bounds: Bounds, *, open_only: bool = False
) -> Page[ProposalSummary]:
    """Expected and achieved rewards of each proposal; a page ends early where their pairs are many."""
    rows, following = _page(connection, state, bounds, open_only, MAX_SUMMED_PAIRS)
    sums = {row.number: row for row in connection.execute(_among(_SUMS, open_only), _range(state, rows))}
    no_pairs = SimpleNamespace(reported=0, results=0, reward=0.0, expected_so_far=0.0)
    summaries = []
    for row in rows:
        total = sums.get(row.number, no_pairs)
        values = {"pairs": row.n_pairs, "waiting": row.n_waiting, "void": total.reported - total.results}
        values |= {"expected_so_far": total.expected_so_far if row.n_results else None, "reward": total.reward}
        summaries.append(from_row(ProposalSummary, row, **values, **_expectation(row)))
    return Page(summaries, following)


def progress(connection: Connection, state: LeagueState, bins: int) -> list[ProgressBin]:
    """Achieved and expected rewards of all proposals, in at most `bins` groups of equally many."""
    width = max(-(-state.league.n_proposals // bins), 1)
    sums, group = _SUMS.subquery(), (_proposal.c.number - 1) // width
    share = case((_proposal.c.expected > 0, sums.c.expected_so_far / _proposal.c.expected), else_=0.0)
    query = (
        select(
            func.min(_proposal.c.number),
            func.max(_proposal.c.number),
            func.max(_change.c.at),
            func.sum(sums.c.results),
            func.sum(sums.c.reward),
            func.sum(sums.c.expected_so_far),
            func.sum(_proposal.c.low * share),
            func.sum(_proposal.c.high * share),
            func.sum(_proposal.c.best * share),
            func.min(_proposal.c.n_results),
        )
        .join(sums, sums.c.number == _proposal.c.number)
        .join(_change, and_(_change.c.league_id == _proposal.c.league_id, _change.c.version == _proposal.c.version))
        .where(_proposal.c.league_id == bindparam("of_league"))
        .group_by(group)
        .order_by(group)
    )
    return [
        ProgressBin(first, last, at, int(results), reward, *(expected if n_results else (None,) * 4))
        for first, last, at, results, reward, *expected, n_results in connection.execute(
            query, {"of_league": state.league.id, "first": 1, "last": state.league.n_proposals}
        )
    ]


def _page(
    connection: Connection, state: LeagueState, bounds: Bounds, open_only: bool, max_pairs: int
) -> tuple[list[Any], int | None]:
    """The rows of a page of proposals, and `after` of the next page."""
    league, number, where = state.league, _proposal.c.number, _proposal.c.n_waiting > 0 if open_only else true()
    size = attrgetter("n_pairs")
    return page_by_time(
        connection, league, _PROPOSALS, number, league.n_proposals, size, max_pairs, where=where, **bounds
    )


def _range(state: LeagueState, rows: Sequence[Any]) -> dict[str, int]:
    numbers = [row.number for row in rows] or [0]
    return {"of_league": state.league.id, "first": min(numbers), "last": max(numbers)}


def _among(query: Any, open_only: bool) -> Any:
    """A query of pairs, limited to those of open proposals, which may be few of many."""
    return query.where(_pair.c.number.in_(OPEN)) if open_only else query


def _with_pairs(
    connection: Connection, state: LeagueState, rows: Sequence[Any], *, open_only: bool = False
) -> list[Proposal]:
    """Rows of proposals as records, with their pairs."""
    pairs: dict[int, list[Pair]] = {row.number: [] for row in rows}
    n_results = {row.number: row.n_results for row in rows}
    for row in connection.execute(_among(_PAIRS, open_only), _range(state, rows)):
        pairs[row.number].append(_pair_record(row, state, n_results[row.number]))
    note = warning(state.league)
    return [_record(row, pairs[row.number], state, note) for row in rows]


def _pair_record(row: Any, state: LeagueState, n_results: int) -> Pair:
    """A pair of a proposal that was decided with so many results."""
    ids, outcome = (row.a, row.b), VOID if row.outcome is None else row.outcome
    outcome = None if row.outcome_version is None else outcome
    return _as_shown(Pair(state.names(ids), ids, outcome, *_numbers(row)), n_results)


def _as_shown(pair: Pair, n_results: int) -> Pair:
    """Without results nothing is expected: there are no data yet."""
    return pair if n_results else replace(pair, expected=None, low=None, high=None)


def _record(row: Any, pairs: list[Pair], state: LeagueState, warning_: str | None) -> Proposal:
    """A proposal with these pairs."""
    values = {"pairs": pairs, "byes": [state.name(item) for item in row.byes], "waiting": row.n_waiting}
    notes = [note_sentence(note, state.name) for note in row.notes]
    return from_row(Proposal, row, **values, **_expectation(row), notes=notes, warning=warning_)


def _expectation(row: Any) -> dict[str, float | None]:
    """What the model expected of a proposal: nothing, while there were no results."""
    return {name: getattr(row, name) if row.n_results else None for name in ("expected", "low", "high", "best")}
