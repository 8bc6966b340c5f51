"""Counts and sums of each pair, derived from the outcomes in the same transaction that writes them.

A result of proposal k weighs 2^((k − n)/h) at proposal n if the half-life is h. A row is discounted to the proposal
`as_of`, so that neither time nor the number of results makes it grow or vanish.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from matchbandit.leagues import library, schema
from matchbandit.leagues.transaction import LeagueRow, Transaction

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Ids = tuple[int, int]
Result = tuple[int, int, int, float, float, int]
"""Proposal, both ids, the sum of the rewards, that of the credits, and how many results these are."""
_table, _pair = schema.pair_total, schema.proposal_pair
_VALUES = ("count", "total", "plays", "credit", "as_of", "version")
_FEW = 200
"""Up to this many pairs are read one by one."""
_ROWS = select(*[_table.c[name] for name in ("a", "b", *_VALUES[:-1])]).where(
    _table.c.league_id == bindparam("of_league")
)
_CHANGED_ROWS = select(*[_table.c[name] for name in ("a", "b", *_VALUES)]).where(
    _table.c.league_id == bindparam("of_league"), _table.c.version > bindparam("since")
)
_SOME_ROWS = _ROWS.where(tuple_(_table.c.a, _table.c.b).in_(bindparam("pairs", expanding=True)))
_ROWS_OF_PROPOSAL = _ROWS.join(
    _pair, (_pair.c.league_id == _table.c.league_id) & (_pair.c.a == _table.c.a) & (_pair.c.b == _table.c.b)
).where(_pair.c.number == bindparam("of_proposal"))


def _upsert(dialect: Any) -> Any:
    """The statement that inserts or replaces a row."""
    insert = dialect.insert(_table)
    values = {name: insert.excluded[name] for name in _VALUES}
    return insert.on_conflict_do_update(index_elements=["league_id", "a", "b"], set_=values)


_UPSERT = {"sqlite": _upsert(sqlite), "postgresql": _upsert(postgresql)}


@dataclass(frozen=True)
class PairTotals:
    """Totals of pairs as arrays, sorted by pair; immutable."""

    a: Counts
    b: Counts
    count: Counts
    total: Floats
    plays: Floats
    credit: Floats
    as_of: Counts
    version: Counts

    @classmethod
    def empty(cls) -> "PairTotals":
        """No pairs."""
        whole, real = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(whole, whole, whole, real, real, real, whole, whole)

    def refreshed(self, connection: Connection, league: LeagueRow, since: int) -> "PairTotals":
        """With the rows that have changed after version `since`."""
        rows = connection.execute(_CHANGED_ROWS, {"of_league": league.id, "since": since}).all()
        if not rows:
            return self
        new = PairTotals(
            *(
                np.array(column, dtype=old.dtype)
                for old, column in zip(self.arrays, zip(*rows, strict=True), strict=True)
            )
        )
        kept = ~np.isin(self.keys, new.keys)
        order = np.argsort(np.concatenate([self.keys[kept], new.keys]))
        pairs = zip(self.arrays, new.arrays, strict=True)
        return PairTotals(*(np.concatenate([old[kept], more])[order] for old, more in pairs))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All columns."""
        return self.a, self.b, self.count, self.total, self.plays, self.credit, self.as_of, self.version

    @property
    def keys(self) -> Counts:
        """Each pair as one integer."""
        return self.a << 32 | self.b

    @property
    def pairs(self) -> Counts:
        """The ids; shape (k, 2)."""
        return np.stack([self.a, self.b], axis=1)

    def discounted(self, number: int, half_life: float | None) -> tuple[Floats, Floats]:
        """Plays and credits as of proposal `number`."""
        if half_life is None:
            return self.plays, self.credit
        weight = np.exp2((self.as_of - number) / half_life)
        return self.plays * weight, self.credit * weight


def reward_encoder(league: LeagueRow) -> library.RewardEncoder:
    """How its policy counts results."""
    return _reward_encoder(league.settings["policy"], league.rewards, league.seed, league.stream)


@lru_cache(maxsize=1000)
def _reward_encoder(policy: str, rewards: str, seed: int, stream: str) -> library.RewardEncoder:
    return library.RewardEncoder(policy, library.parse_rewards(rewards), seed, stream)


def add(tx: Transaction, number: int, outcomes: Mapping[Ids, float], version: int) -> None:
    """Add results of proposal `number` to the totals."""
    credit = reward_encoder(tx.league).credit
    known = _read(tx, number, outcomes)
    results = [(number, a, b, reward, credit(reward, number, a, b), 1) for (a, b), reward in outcomes.items()]
    _write(tx, _summed(results, tx.league.half_life, known), version)


def recompute(tx: Transaction, version: int, pairs: Iterable[Ids] | None = None) -> None:
    """Compute the totals again from the outcomes: of some pairs, or of all."""
    wanted = None if pairs is None else list(pairs)
    if wanted is None:
        tx.connection.execute(delete(_table).where(_table.c.league_id == tx.league.id))
    totals = computed(tx.connection, tx.league, wanted)
    for pair in wanted or ():
        totals.setdefault(pair, (0, 0.0, 0.0, 0.0, 0))
    _write(tx, totals, version)


def computed(connection: Connection, league: LeagueRow, pairs: list[Ids] | None = None) -> dict[Ids, tuple[Any, ...]]:
    """The totals as the outcomes and past results say: of some pairs, or of all."""
    past = schema.past_result
    credits = reward_encoder(league)
    outcomes = (
        select(_pair.c.number, _pair.c.a, _pair.c.b, _pair.c.outcome)
        .where(_pair.c.league_id == league.id, _pair.c.outcome.is_not(None))
        .order_by(_pair.c.number)
    )
    before = select(past.c.a, past.c.b, past.c.count, past.c.total).where(past.c.league_id == league.id)
    if pairs is not None and len(pairs) <= _FEW:
        outcomes = outcomes.where(tuple_(_pair.c.a, _pair.c.b).in_(pairs))
        before = before.where(tuple_(past.c.a, past.c.b).in_(pairs))
    results = [
        (0, a, b, total, credits.credit_total(count, total), count) for a, b, count, total in connection.execute(before)
    ]
    results += [
        (number, a, b, reward, credits.credit(reward, number, a, b), 1)
        for number, a, b, reward in connection.execute(outcomes)
    ]
    wanted = None if pairs is None else set(pairs)
    return _summed((row for row in results if wanted is None or row[1:3] in wanted), league.half_life, {})


def _summed(
    results: Iterable[Result], half_life: float | None, totals: dict[Ids, tuple[Any, ...]]
) -> dict[Ids, tuple[Any, ...]]:
    """Add results to totals (count, total, plays, credit, as_of)."""
    for number, a, b, reward, credited, n in results:
        count, total, plays, credit, as_of = totals.get((a, b), (0, 0.0, 0.0, 0.0, number))
        weight = 1.0
        if half_life is not None:
            now = max(as_of, number)
            fade, weight = 2.0 ** ((as_of - now) / half_life), 2.0 ** ((number - now) / half_life)
            plays, credit, as_of = plays * fade, credit * fade, now
        totals[a, b] = (count + n, total + reward, plays + weight * n, credit + weight * credited, as_of)
    return totals


def _read(tx: Transaction, number: int, pairs: Iterable[Ids]) -> dict[Ids, tuple[Any, ...]]:
    """The totals of these pairs of a proposal."""
    wanted = list(pairs)
    if len(wanted) <= _FEW:
        rows = tx.execute(_SOME_ROWS, pairs=wanted)
    else:
        rows = tx.execute(_ROWS_OF_PROPOSAL, of_proposal=number)
    return {(a, b): tuple(values) for a, b, *values in rows}


def _write(tx: Transaction, totals: Mapping[Ids, tuple[Any, ...]], version: int) -> None:
    """Insert or replace rows."""
    if not totals:
        return
    tx.connection.execute(
        _UPSERT[tx.connection.dialect.name],
        [
            {"league_id": tx.league.id, "a": a, "b": b, **dict(zip(_VALUES, (*values, version), strict=True))}
            for (a, b), values in totals.items()
        ],
    )
