"""Outcomes: recording, correcting, voiding, and what a passed deadline does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from matchbandit.formatting import float_text
from matchbandit.leagues import schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.items import NameIndex, NameTable, as_list, pair_index
from matchbandit.leagues.records import VOID, Receipt
from matchbandit.leagues.settings import check_reward
from matchbandit.leagues.totals import Ids
from matchbandit.leagues.transaction import LeagueRow, Statement, Transaction, add_seconds

_pair, _proposal = schema.proposal_pair, schema.proposal
_SHOWN_PAIRS = 5
"""Pairs of a proposal that an error lists."""
_MAX_REWARD = 1e300
"""Larger numbers, infinity and NaN are left to `check_reward`, which says what is wrong with them."""
_FEW = 10
"""Up to this many pairs of a proposal are read one by one."""
_OF_PROPOSAL = (_pair.c.league_id == bindparam("of_league"), _pair.c.number == bindparam("of_number"))
_THIS_PAIR = (_pair.c.a == bindparam("first"), _pair.c.b == bindparam("second"))
_ROWS = select(_pair.c.a, _pair.c.b, _pair.c.outcome, _pair.c.outcome_version).where(*_OF_PROPOSAL)
_PAIRS = Statement(_ROWS)
_ONE_PAIR = Statement(_ROWS.where(*_THIS_PAIR))
_WAITING_PAIRS = Statement(_ROWS.where(_pair.c.outcome_version.is_(None)).order_by(_pair.c.position))
_FIRST_PAIRS = Statement(_ROWS.order_by(_pair.c.position).limit(_SHOWN_PAIRS + 1))
_SET_OUTCOME = Statement(
    update(_pair)
    .where(*_OF_PROPOSAL, *_THIS_PAIR)
    .values(outcome=bindparam("reward"), outcome_version=bindparam("version"))
)
_COUNT_TOLD = Statement(
    update(_proposal)
    .where(_proposal.c.league_id == bindparam("of_league"), _proposal.c.number == bindparam("which"))
    .values(n_waiting=_proposal.c.n_waiting - bindparam("told"))
    .returning(_proposal.c.n_waiting)
)
_OVERDUE = Statement(
    select(_proposal.c.number).where(
        _proposal.c.league_id == bindparam("of_league"), _proposal.c.n_waiting > 0, _proposal.c.due <= bindparam("now")
    )
)


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
    league: LeagueRow
    """Whose names these are."""

    def is_current(self, league: LeagueRow) -> bool:
        """Do the names still belong to the same items?"""
        return (self.league.id, self.league.items_version) == (league.id, league.items_version)


def resolve(
    source: Connection | NameTable, league: LeagueRow, number: int, outcomes: Sequence[tuple[Any, Any]]
) -> Report:
    """Check outcomes: the names, the rewards, and that each pair is given once.

    It is done before the write transaction: SQLite has one writer at a time, and names may be many.
    """
    index = pair_index(source, league, (pair for pair, _ in outcomes))
    rewards: dict[Ids, float | None] = {}
    is_possible = league.distribution.is_possible
    for pair, reward in outcomes:
        ids = index.resolve_pair(pair)
        if type(reward) in (int, float) and -_MAX_REWARD < reward < _MAX_REWARD and is_possible(reward):
            checked: float | None = reward + 0.0  # −0 is 0
        else:
            checked = check_reward(league.distribution, reward, index.pair_text(ids))
        if rewards.setdefault(ids, checked) != checked:
            raise LeagueError("contradiction", f"{index.pair_text(ids)} are given twice. Give each pair once.")
    return Report(number, rewards, index, league)


def tell(tx: Transaction, report: Report) -> Receipt:
    """Record outcomes of some or all pairs of a proposal; repeated ones are ignored, contradictions refused."""
    known = _known(tx, report)
    for pair, reward in report.rewards.items():
        outcome, version = known[pair]
        if version is not None and outcome != reward:
            text = f"{report.index.pair_text(pair)} of proposal {report.number}"
            raise LeagueError(
                "contradiction",
                f"{text} have the outcome {_text(outcome)} already; got {_text(reward)}. If the old one was wrong, or "
                "was set by the deadline, correct it (correct).",
            )
    return _set(tx, "tell", report, {pair: () for pair in report.rewards if known[pair][1] is None})


def correct(tx: Transaction, report: Report) -> Receipt:
    """Replace recorded outcomes; the history keeps both."""
    known = _known(tx, report)
    for pair in report.rewards:
        if known[pair][1] is None:
            text = f"{report.index.pair_text(pair)} of proposal {report.number}"
            raise LeagueError("bad-value", f"{text} have no outcome yet. Record it (tell).")
    old = {pair: known[pair][:1] for pair, reward in report.rewards.items() if known[pair][0] != reward}
    return _set(tx, "correct", report, old)


def void(tx: Transaction, number: int, pairs: Iterable[Any] | None = None) -> Receipt:
    """Record that pairs of a proposal never met; by default, all whose outcome is missing."""
    listed = waiting(tx, number) if pairs is None else as_list("pairs", pairs)
    return tell(tx, resolve(tx.connection, tx.league, number, [(pair, VOID) for pair in listed]))


def is_overdue(connection: Connection, league: LeagueRow, now: str) -> bool:
    """Has a deadline passed, so that outcomes are to be set before anything is decided?"""
    return bool(_OVERDUE.rows(connection, of_league=league.id, now=now))


def expire(tx: Transaction) -> None:
    """Give missing outcomes the default of the league once their deadline has passed."""
    caller, tx.by = tx.by, "deadline"
    default = tx.league.settings["default"]
    for (number,) in _OVERDUE.rows(tx.connection, of_league=tx.league.id, now=tx.now):
        missing = [(pair, VOID if default == "void" else default) for pair in waiting(tx, number)]
        tell(tx, resolve(tx.connection, tx.league, number, missing))
    tx.by = caller


def postpone(tx: Transaction, seconds: float) -> None:
    """Postpone the deadlines of the open proposals."""
    columns = select(_proposal.c.number, _proposal.c.due)
    where = [_proposal.c.league_id == tx.league.id, _proposal.c.n_waiting > 0, _proposal.c.due.is_not(None)]
    for number, due in tx.connection.execute(columns.where(*where)).all():
        later = update(_proposal).where(_proposal.c.league_id == tx.league.id, _proposal.c.number == number)
        tx.connection.execute(later.values(due=add_seconds(due, seconds)))


def waiting(tx: Transaction, number: int) -> list[Ids]:
    """The pairs of a proposal whose outcome is missing."""
    rows = _WAITING_PAIRS.rows(tx.connection, of_league=tx.league.id, of_number=number)
    return [(a, b) for a, b, _, _ in rows]


def check_number(league: LeagueRow, number: object) -> None:
    """Refuse what is not the number of a proposal."""
    last = league.n_proposals
    if not isinstance(number, int) or not 1 <= number <= last:
        hint = f"the last one is {last}" if last else "there was none yet"
        raise LeagueError("unknown-proposal", f"there is no proposal {number!r}; {hint}. Ask first.")


def _known(tx: Transaction, report: Report) -> dict[Ids, tuple[float | None, int | None]]:
    """Outcome and its version of the pairs of a proposal, which must have all those that were reported."""
    number = report.number
    check_number(tx.league, number)
    rows: Iterable[tuple[Any, ...]]
    if len(report.rewards) <= _FEW:
        these = {"of_league": tx.league.id, "of_number": number}
        rows = [row for a, b in report.rewards for row in _ONE_PAIR.rows(tx.connection, first=a, second=b, **these)]
    else:
        rows = _PAIRS.rows(tx.connection, of_league=tx.league.id, of_number=number)
    known = {(a, b): (outcome, version) for a, b, outcome, version in rows}
    for ids in report.rewards:
        if ids not in known:
            raise LeagueError(
                "not-proposed",
                f"{report.index.pair_text(ids)} are not a pair of proposal {number}. Its pairs are "
                f"{_list_pairs(tx, number)}.",
            )
    return known


def _set(tx: Transaction, action: str, report: Report, old: Mapping[Ids, tuple[float | None, ...]]) -> Receipt:
    """Set the outcomes of some of the reported pairs, whose `old` ones are recorded with them, if there are any."""
    number, rewards = report.number, report.rewards
    if old:
        data = {"proposal": number, "outcomes": [[*pair, *before, rewards[pair]] for pair, before in old.items()]}
        more = sum((rewards[pair] is not None) - (before not in ((), (None,))) for pair, before in old.items())
        common = {"of_league": tx.league.id, "of_number": number}
        common["version"] = tx.record(action, data, decides=False, results=more)
        rows = ((*pair, rewards[pair]) for pair in old)
        _SET_OUTCOME.execute_many(tx.connection, ("first", "second", "reward"), rows, **common)
    n_new = len(old) if action == "tell" else 0
    cursor = _COUNT_TOLD.execute(tx.connection, of_league=tx.league.id, which=number, told=n_new)
    return Receipt(number, len(old), len(rewards) - len(old), int(cursor.fetchone()[0]))


def _list_pairs(tx: Transaction, number: int) -> str:
    """The pairs of a proposal, for an error message."""
    rows = _FIRST_PAIRS.rows(tx.connection, of_league=tx.league.id, of_number=number)
    index = NameIndex(tx.connection, tx.league, [item for row in rows for item in row[:2]])
    shown = ", ".join(f"{index.name(a)} + {index.name(b)}" for a, b, *_ in rows[:_SHOWN_PAIRS])
    return shown + (" and more" if len(rows) > _SHOWN_PAIRS else "")


def _text(reward: float | None) -> str:
    return "void" if reward is None else float_text(reward)
