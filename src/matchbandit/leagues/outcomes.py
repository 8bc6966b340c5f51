"""Outcomes: recording, correcting, voiding, and what a passed deadline does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select, tuple_, update

from matchbandit.formatting import float_text
from matchbandit.leagues import schema, totals
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.items import NameIndex, as_list, pair_index
from matchbandit.leagues.records import VOID, Receipt
from matchbandit.leagues.settings import check_reward, is_number
from matchbandit.leagues.totals import Ids
from matchbandit.leagues.transaction import LeagueRow, Transaction

_pair, _proposal = schema.proposal_pair, schema.proposal
_FEW = 50
"""Up to this many pairs of a proposal are read one by one."""
_OF_PROPOSAL = (_pair.c.league_id == bindparam("of_league"), _pair.c.number == bindparam("of_number"))
_PAIRS = (
    select(_pair.c.a, _pair.c.b, _pair.c.outcome, _pair.c.outcome_version)
    .where(*_OF_PROPOSAL)
    .order_by(_pair.c.position)
)
_SOME_PAIRS = _PAIRS.where(tuple_(_pair.c.a, _pair.c.b).in_(bindparam("pairs", expanding=True)))
_WAITING_PAIRS = _PAIRS.where(_pair.c.outcome_version.is_(None))
_SET_OUTCOME = (
    update(_pair)
    .where(*_OF_PROPOSAL, _pair.c.a == bindparam("first"), _pair.c.b == bindparam("second"))
    .values(outcome=bindparam("reward"), outcome_version=bindparam("version"))
)
_COUNT_TOLD = (
    update(_proposal)
    .where(_proposal.c.league_id == bindparam("of_league"), _proposal.c.number == bindparam("which"))
    .values(n_waiting=_proposal.c.n_waiting - bindparam("told"))
    .returning(_proposal.c.n_waiting)
)
_OVERDUE = select(_proposal.c.number).where(
    _proposal.c.league_id == bindparam("of_league"), _proposal.c.n_waiting > 0, _proposal.c.due <= bindparam("now")
)
_FIRST_OVERDUE = _OVERDUE.limit(1)


def rows_of(outcomes: Mapping[Any, Any] | Iterable[Any]) -> list[tuple[Any, Any]]:
    """Outcomes as (pair, reward): from a mapping, or from (name, name, reward)."""
    if isinstance(outcomes, Mapping):
        return as_list("outcomes", outcomes.items())
    rows = as_list("outcomes", outcomes)
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 3:
            raise LeagueError("bad-value", f"an outcome is (name, name, reward); got {row!r}.")
    return [(tuple(row[:2]), row[2]) for row in rows]


@dataclass(frozen=True)
class Report:
    """Outcomes that were reported for a proposal, checked as far as is possible without the proposal."""

    number: int
    rewards: dict[Ids, float | None]
    """None: void."""
    index: NameIndex


def resolve(connection: Connection, league: LeagueRow, number: int, outcomes: Sequence[tuple[Any, Any]]) -> Report:
    """Check outcomes: the names, the rewards, and that each pair is given once.

    It is done before the write transaction: SQLite has one writer at a time, and names may be many.
    """
    index = pair_index(connection, league, [pair for pair, _ in outcomes])
    rewards: dict[Ids, float | None] = {}
    for pair, reward in outcomes:
        ids = index.resolve_pair(pair)
        checked = _checked(league, reward, ids, index)
        if rewards.setdefault(ids, checked) != checked:
            raise LeagueError("contradiction", f"{index.pair_text(ids)} are given twice. Give each pair once.")
    return Report(number, rewards, index)


def tell(tx: Transaction, report: Report) -> Receipt:
    """Record outcomes of some or all pairs of a proposal; repeated ones are ignored, contradictions refused."""
    number, wanted, index, known = report.number, report.rewards, report.index, _known(tx, report)
    for pair, reward in wanted.items():
        if known[pair].outcome_version is not None and known[pair].outcome != reward:
            raise LeagueError(
                "contradiction",
                f"{index.pair_text(pair)} of proposal {number} have the outcome {_text(known[pair].outcome)} already; "
                f"got {_text(reward)}. If the old one was wrong, or was set by the deadline, correct it (correct).",
            )
    new = {pair: reward for pair, reward in wanted.items() if known[pair].outcome_version is None}
    if new:
        data = {"proposal": number, "outcomes": [[*pair, reward] for pair, reward in new.items()]}
        version = tx.record("tell", data, decides=False)
        _set(tx, number, new, version)
        totals.add(tx, number, {pair: reward for pair, reward in new.items() if reward is not None}, version)
    return Receipt(number, len(new), len(wanted) - len(new), _close(tx, number, len(new)))


def correct(tx: Transaction, report: Report) -> Receipt:
    """Replace recorded outcomes; the history keeps both."""
    number, wanted, index, known = report.number, report.rewards, report.index, _known(tx, report)
    for pair in wanted:
        if known[pair].outcome_version is None:
            raise LeagueError(
                "bad-value", f"{index.pair_text(pair)} of proposal {number} have no outcome yet. Record it (tell)."
            )
    new = {pair: reward for pair, reward in wanted.items() if known[pair].outcome != reward}
    if new:
        rows = [[*pair, known[pair].outcome, reward] for pair, reward in new.items()]
        version = tx.record("correct", {"proposal": number, "outcomes": rows}, decides=False)
        _set(tx, number, new, version)
        totals.recompute(tx, version, new)
    return Receipt(number, len(new), len(wanted) - len(new), _close(tx, number, 0))


def void(tx: Transaction, number: int, pairs: Iterable[Any] | None = None) -> Receipt:
    """Record that pairs of a proposal never met; by default, all whose outcome is missing."""
    listed = waiting(tx, number) if pairs is None else as_list("pairs", pairs)
    if not listed:
        return Receipt(number, 0, 0, _close(tx, number, 0))
    return tell(tx, resolve(tx.connection, tx.league, number, [(pair, VOID) for pair in listed]))


def is_overdue(connection: Connection, league: LeagueRow, now: str) -> bool:
    """Has a deadline passed, so that outcomes are to be set before anything is decided?"""
    return connection.execute(_FIRST_OVERDUE, {"of_league": league.id, "now": now}).first() is not None


def expire(tx: Transaction) -> int:
    """Give missing outcomes the default of the league once their deadline has passed; returns how many."""
    overdue = tx.execute(_OVERDUE, now=tx.now).scalars().all()
    default = tx.league.settings["default"]
    caller, tx.by = tx.by, "deadline"
    recorded = 0
    for number in overdue:
        reward = VOID if default == "void" else default
        missing = [(pair, reward) for pair in waiting(tx, number)]
        recorded += tell(tx, resolve(tx.connection, tx.league, number, missing)).recorded
    tx.by = caller
    return recorded


def waiting(tx: Transaction, number: int) -> list[Ids]:
    """The pairs of a proposal whose outcome is missing."""
    return [(row.a, row.b) for row in tx.execute(_WAITING_PAIRS, of_number=number)]


def _known(tx: Transaction, report: Report) -> dict[Ids, Any]:
    """The rows of the pairs of a proposal, which must have all those that were reported."""
    number, last = report.number, tx.league.n_proposals
    if not isinstance(number, int) or not 1 <= number <= last:
        hint = f"the last one is {last}" if last else "there was none yet"
        raise LeagueError("unknown-proposal", f"there is no proposal {number!r}; {hint}. Ask first.")
    if len(report.rewards) <= _FEW:
        found = tx.execute(_SOME_PAIRS, of_number=number, pairs=list(report.rewards))
    else:
        found = tx.execute(_PAIRS, of_number=number)
    rows = {(row.a, row.b): row for row in found}
    for ids in report.rewards:
        if ids not in rows:
            raise LeagueError(
                "not-proposed",
                f"{report.index.pair_text(ids)} are not a pair of proposal {number}. Its pairs are "
                f"{_list_pairs(tx, number)}.",
            )
    return rows


def _checked(league: LeagueRow, reward: Any, ids: Ids, index: NameIndex) -> float | None:
    """The reward as a float, None for VOID; an error that names the pair if it is impossible."""
    if reward is VOID:
        return None
    if is_number(reward) and league.distribution.is_possible(float(reward)):
        return float(reward) + 0.0  # −0 is 0
    return check_reward(league.distribution, reward, index.pair_text(ids))


def _set(tx: Transaction, number: int, outcomes: Mapping[Ids, float | None], version: int) -> None:
    common = {"of_league": tx.league.id, "of_number": number, "version": version}
    rows = [common | {"first": a, "second": b, "reward": reward} for (a, b), reward in outcomes.items()]
    tx.connection.execute(_SET_OUTCOME, rows)


def _close(tx: Transaction, number: int, told: int) -> int:
    """Count `told` further outcomes of a proposal; returns how many are missing."""
    return int(tx.execute(_COUNT_TOLD, which=number, told=told).scalar_one())


def _list_pairs(tx: Transaction, number: int, most: int = 5) -> str:
    """The pairs of a proposal, for an error message."""
    pairs = [(row.a, row.b) for row in tx.execute(_PAIRS.limit(most + 1), of_number=number)]
    index = NameIndex(tx.connection, tx.league, [item for pair in pairs for item in pair])
    shown = ", ".join(f"{index.name(a)} + {index.name(b)}" for a, b in pairs[:most])
    return shown + (" and more" if len(pairs) > most else "")


def _text(reward: float | None) -> str:
    return "void" if reward is None else float_text(reward)
