"""Counts and sums of each pair: computed from the outcomes, then kept up to date in memory with what is new.

A result of proposal k weighs 2^((k − n)/h) at proposal n if the half-life is h. A row is discounted to the proposal
`as_of`, so that neither time nor the number of results makes it grow or vanish.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select, tuple_

from matchbandit.leagues import library, schema
from matchbandit.leagues.transaction import LeagueRow, Statement

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Ids = tuple[int, int]
_KINDS = (*[np.int64] * 3, *[np.float64] * 3, *[np.int64] * 2)
"""Of the columns of `PairTotals`."""
_DECIMALS = 9
"""Sums are rounded, so that they do not depend on the order in which results were added."""
_pair, _past, _change = schema.proposal_pair, schema.past_result, schema.change
_SELECT_OUTCOMES = (
    select(_pair.c.a, _pair.c.b, _pair.c.outcome, _pair.c.number)
    .where(_pair.c.league_id == bindparam("league_id"), _pair.c.outcome.is_not(None))
    .order_by(_pair.c.number)
)
_SELECT_PAST = select(_past.c.a, _past.c.b, _past.c.count, _past.c.total).where(
    _past.c.league_id == bindparam("league_id")
)
_OUTCOMES, _PAST_RESULTS = Statement(_SELECT_OUTCOMES), Statement(_SELECT_PAST)
_SOME: Any = bindparam("pairs", expanding=True)
_OUTCOMES_OF_PAIRS = _SELECT_OUTCOMES.where(tuple_(_pair.c.a, _pair.c.b).in_(_SOME))
_PAST_RESULTS_OF_PAIRS = _SELECT_PAST.where(tuple_(_past.c.a, _past.c.b).in_(_SOME))
_MAX_CORRECTED = 500
"""Pairs that are read one by one after corrections; after more, all outcomes are read again."""
_CHANGES = (
    select(_change.c.action, _change.c.data)
    .where(
        _change.c.league_id == bindparam("league_id"),
        _change.c.version > bindparam("since"),
        _change.c.action.in_(("tell", "correct", "configure", "import results")),
    )
    .order_by(_change.c.version)
)


@dataclass(frozen=True)
class PairTotals:
    """Totals of pairs as arrays, sorted by pair; immutable."""

    a: Counts
    b: Counts
    count: Counts
    total: Floats
    plays: Floats
    """Results as the policy counts them: discounted."""
    credit: Floats
    """Rewards as the policy counts them: coins flipped, outliers clipped, discounted."""
    as_of: Counts
    """The proposal to which both are discounted."""
    version: Counts
    """The version of the league with which this process computed the row."""

    @classmethod
    def of_columns(cls, *columns: NDArray[Any]) -> "PairTotals":
        """From columns of numbers."""
        arrays: Any = (column.astype(kind, copy=False) for column, kind in zip(columns, _KINDS, strict=True))
        return cls(*arrays)

    @classmethod
    def empty(cls) -> "PairTotals":
        """No pairs."""
        return cls.of_columns(*[np.zeros(0)] * len(_KINDS))

    @classmethod
    def read(cls, connection: Connection, league: LeagueRow) -> "PairTotals":
        """Computed from all outcomes and past results."""
        past, outcomes = (query.rows(connection, league_id=league.id) for query in (_PAST_RESULTS, _OUTCOMES))
        return cls._of_past(past, league)._plus(cls._of_results(outcomes, league), league)

    @classmethod
    def _of_past(cls, rows: Sequence[Any], league: LeagueRow) -> "PairTotals":
        """Past results (a, b, count, total), a pair in each row."""
        a, b, count, total = _columns(rows)
        credit = np.array([_encoder(league).credit_total(int(n), x) for n, x in zip(count, total, strict=True)])
        return cls.of_columns(a, b, count, total, count, credit, 0.0 * a, 0.0 * a + league.version)

    @classmethod
    def _of_results(cls, rows: Sequence[tuple[Any, ...]], league: LeagueRow) -> "PairTotals":
        """Results (a, b, reward, proposal), one in each row: neither grouped nor sorted."""
        a, b, reward, number = _columns(rows)
        one = np.ones(len(a))
        results = cls.of_columns(a, b, one, reward, one, reward, number, one * league.version)
        return replace(results, credit=_encoder(league).credits(reward, results.as_of, results.a, results.b))

    def refreshed(self, connection: Connection, league: LeagueRow, since: int) -> "PairTotals":
        """The totals now, if these are those of version `since`; -1: nothing is known."""
        changes = [] if since < 0 else connection.execute(_CHANGES, {"league_id": league.id, "since": since}).all()
        corrected = {(a, b) for action, data in changes if action == "correct" for a, b, *_ in data["outcomes"]}
        is_other = any(action not in ("tell", "correct") for action, _ in changes)
        if since < 0 or is_other or len(corrected) > _MAX_CORRECTED:
            return self._without(self.keys, league)._plus(PairTotals.read(connection, league), league)
        totals = self
        if corrected:
            some = {"league_id": league.id, "pairs": sorted(corrected)}
            outcomes = connection.execute(_OUTCOMES_OF_PAIRS, some).all()
            past = connection.execute(_PAST_RESULTS_OF_PAIRS, some).all()
            totals = self._without(np.array([a << 32 | b for a, b in corrected]), league)
            totals = totals._plus(self._of_past(past, league), league)._plus(self._of_results(outcomes, league), league)
        rows = [
            (a, b, reward, data["proposal"])
            for action, data in changes
            if action == "tell"
            for a, b, reward in data["outcomes"]
            if reward is not None and (a, b) not in corrected
        ]
        return totals._plus(self._of_results(rows, league), league) if rows else totals

    def _without(self, keys: Counts, league: LeagueRow) -> "PairTotals":
        """Without the results of some pairs, whose rows remain: a policy has to learn of it."""
        kept = ~np.isin(self.keys, keys)
        columns = (np.where(kept, column, 0) for column in self.arrays[2:-1])
        return self.of_columns(self.a, self.b, *columns, np.where(kept, self.version, league.version))

    def _plus(self, other: "PairTotals", league: LeagueRow) -> "PairTotals":
        """The totals of both, a row for each pair."""
        columns = [np.concatenate(both) for both in zip(self.arrays, other.arrays, strict=True)]
        keys = columns[0] << 32 | columns[1]
        if not len(keys):
            return self
        order = np.argsort(keys, kind="stable")
        a, b, count, total, plays, credit, as_of, version = (column[order] for column in columns)
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        latest = np.maximum.reduceat(as_of, starts)
        if league.half_life is not None:
            weight = np.exp2((as_of - np.repeat(latest, np.diff(starts, append=len(keys)))) / league.half_life)
            plays, credit = plays * weight, credit * weight
        return self.of_columns(
            a[starts],
            b[starts],
            np.add.reduceat(count, starts),
            np.round(np.add.reduceat(total, starts), _DECIMALS),
            np.add.reduceat(plays, starts),
            np.round(np.add.reduceat(credit, starts), _DECIMALS),
            latest,
            np.maximum.reduceat(version, starts),
        )

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


def _encoder(league: LeagueRow) -> library.RewardEncoder:
    """How its policy counts results."""
    return _cached_encoder(league.settings["policy"], league.rewards, league.seed, league.stream)


@lru_cache(maxsize=1000)
def _cached_encoder(policy: str, rewards: str, seed: int, stream: str) -> library.RewardEncoder:
    return library.RewardEncoder(policy, library.parse_rewards(rewards), seed, stream)


def _columns(rows: Sequence[tuple[Any, ...]]) -> Floats:
    """The columns of rows of four numbers."""
    return np.array(rows, dtype=np.float64).reshape(-1, 4).T
