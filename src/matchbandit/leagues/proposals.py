"""Proposals as they are written and read, and the progress that they show."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, func, insert, select

from matchbandit.leagues import items, rules, schema
from matchbandit.leagues.deciding import Draft, Inputs, ProposedPair
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.explain import note_sentence
from matchbandit.leagues.model import stored_fit, warning
from matchbandit.leagues.reading import Bounds, window
from matchbandit.leagues.records import (
    VOID,
    FitTest,
    Ids,
    Outcome,
    Page,
    Pair,
    ProgressBin,
    Proposal,
    ProposalSummary,
)
from matchbandit.leagues.state import LeagueState
from matchbandit.leagues.transaction import Statement, Transaction, add_seconds

MAX_PAIRS, MAX_SUMMED_PAIRS = 5_000, 200_000
"""A page of proposals, or of summaries, ends before these have more pairs, however many rows were asked for."""
_pair, _proposal, _change = schema.proposal_pair, schema.proposal, schema.change
_INSERT_PROPOSAL, _INSERT_PAIRS = insert(_proposal), Statement(insert(_pair))
_PROPOSALS = (
    select(_proposal, _change.c.at)
    .join(_change, and_(_change.c.league_id == _proposal.c.league_id, _change.c.version == _proposal.c.version))
    .where(_proposal.c.league_id == bindparam("of_league"))
)
_PROPOSAL = _PROPOSALS.where(_proposal.c.number == bindparam("number"))
_PAIR_COLUMNS = [column for column in _pair.c if column.name not in ("league_id", "position")]
_AT = (
    select(_change.c.at)
    .join(_proposal, and_(_change.c.league_id == _proposal.c.league_id, _change.c.version == _proposal.c.version))
    .where(_proposal.c.league_id == bindparam("of_league"), _proposal.c.number == bindparam("number"))
)
_OPEN = select(_proposal.c.number).where(_proposal.c.league_id == bindparam("of_league"), _proposal.c.n_waiting > 0)
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
    settings, n_pairs = tx.league.settings, len(draft.pairs)
    fixed = [pair.ids for pair in draft.pairs if pair.fixed]
    content = {"proposal": draft.number, "n_pairs": n_pairs}
    version = tx.record("ask", content, rules=bool(fixed), proposals=1)
    if fit is not None:
        tx.update(fit=stored_fit(fit, draft.based_on))
    row = {name: value for name, value in vars(draft).items() if name != "pairs"}
    row |= {"league_id": tx.league.id, "n_pairs": n_pairs, "n_waiting": n_pairs, "version": version}
    row["due"] = None if settings["deadline"] is None else add_seconds(tx.now, settings["deadline"])
    row |= {"policy": settings["policy"], "propensity_draws": settings["record_propensity"] or None}
    tx.connection.execute(_INSERT_PROPOSAL, row)
    _INSERT_PAIRS.execute_many(
        tx.connection,
        ("position", "a", "b", *ProposedPair._fields[1:]),
        ((position, *pair.ids, *pair[1:]) for position, pair in enumerate(draft.pairs)),
        league_id=tx.league.id,
        number=draft.number,
        outcome=None,
        outcome_version=None,
    )
    rules.use_up(tx, "pin", fixed)
    items.count_byes(tx, draft.available, draft.byes, draft.number, version)
    pairs = [_pair_record(pair, pair.ids, None, inputs.state, draft.n_results) for pair in draft.pairs]
    return _record(SimpleNamespace(**row, at=tx.now), pairs, inputs.state, warning(tx.league))


def read_proposal(connection: Connection, state: LeagueState, number: int) -> Proposal:
    """One proposal."""
    row = connection.execute(_PROPOSAL, {"of_league": state.league.id, "number": number}).one_or_none()
    if row is None:
        last = state.league.n_proposals
        hint = f"the last one is {last}" if last else "there was none yet"
        raise LeagueError("unknown-proposal", f"there is no proposal {number!r}; {hint}. Ask first.")
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
    return (
        None if row is None else (row.number, row.policy, _pair_record(row, ids, _outcome(row), state, row.n_results))
    )


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
        summaries.append(
            ProposalSummary(
                number=row.number,
                at=row.at,
                due=row.due,
                policy=row.policy,
                pairs=row.n_pairs,
                waiting=row.n_waiting,
                void=total.reported - total.results,
                reward=total.reward,
                expected_so_far=total.expected_so_far if row.n_results else None,
                **_expectation(row),
            )
        )
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
            func.min(_proposal.c.n_results),
        )
        .join(sums, sums.c.number == _proposal.c.number)
        .join(_change, and_(_change.c.league_id == _proposal.c.league_id, _change.c.version == _proposal.c.version))
        .where(_proposal.c.league_id == bindparam("of_league"))
        .group_by(group)
        .order_by(group)
    )
    return [
        ProgressBin(first, last, at, int(results), reward, *(expected if n_results else (None, None, None)))
        for first, last, at, results, reward, *expected, n_results in connection.execute(
            query, {"of_league": state.league.id, "first": 1, "last": state.league.n_proposals}
        )
    ]


def _page(
    connection: Connection, state: LeagueState, bounds: Bounds, open_only: bool, max_pairs: int
) -> tuple[list[Any], int | None]:
    """The rows of a page of proposals, and `after` of the next page."""
    league = {"of_league": state.league.id}
    part = window(
        lambda number: connection.execute(_AT, league | {"number": number}).scalar_one(),
        state.league.n_proposals,
        **bounds,
    )
    query = part.of(_PROPOSALS.where(_proposal.c.n_waiting > 0) if open_only else _PROPOSALS, _proposal.c.number)
    rows, n_pairs = list[Any](), 0
    for row in connection.execute(query, league):
        n_pairs += row.n_pairs
        if part.limit is not None and (len(rows) == part.limit or (rows and n_pairs > max_pairs)):
            return rows, rows[-1].number
        rows.append(row)
    return rows, None


def _range(state: LeagueState, rows: Sequence[Any]) -> dict[str, int]:
    numbers = [row.number for row in rows] or [0]
    return {"of_league": state.league.id, "first": min(numbers), "last": max(numbers)}


def _among(query: Any, open_only: bool) -> Any:
    """A query of pairs, limited to those of open proposals, which may be few of many."""
    return query.where(_pair.c.number.in_(_OPEN)) if open_only else query


def _with_pairs(
    connection: Connection, state: LeagueState, rows: Sequence[Any], *, open_only: bool = False
) -> list[Proposal]:
    """Rows of proposals as records, with their pairs."""
    pairs: dict[int, list[Pair]] = {row.number: [] for row in rows}
    n_results = {row.number: row.n_results for row in rows}
    for row in connection.execute(_among(_PAIRS, open_only), _range(state, rows)):
        pairs[row.number].append(_pair_record(row, (row.a, row.b), _outcome(row), state, n_results[row.number]))
    note = warning(state.league)
    return [_record(row, pairs[row.number], state, note) for row in rows]


def _outcome(row: Any) -> Outcome | None:
    return None if row.outcome_version is None else VOID if row.outcome is None else row.outcome


def _pair_record(row: Any, ids: Ids, outcome: Outcome | None, state: LeagueState, n_results: int) -> Pair:
    """A pair of a proposal that was decided with so many results."""
    expected, low, high = (row.expected, row.low, row.high) if n_results else (None, None, None)
    names = state.names(ids)
    return Pair(names, ids, outcome, row.fixed, row.in_best_guess, expected, low, high, row.value, row.propensity)


def _record(row: Any, pairs: list[Pair], state: LeagueState, warning_: str | None) -> Proposal:
    """A proposal with these pairs."""
    return Proposal(
        number=row.number,
        pairs=pairs,
        byes=[state.name(item) for item in row.byes],
        at=row.at,
        due=row.due,
        policy=row.policy,
        **_expectation(row),
        waiting=row.n_waiting,
        notes=[note_sentence(note, state.name) for note in row.notes],
        warning=warning_,
        propensity_draws=row.propensity_draws,
    )


def _expectation(row: Any) -> dict[str, float | None]:
    """What the model expected of a proposal: nothing, while there were no results."""
    return {name: getattr(row, name) if row.n_results else None for name in ("expected", "low", "high", "best")}
