"""The product model, fitted to the results of a league, whatever its policy: strengths, intervals, ranking, fit."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, exists, select

from matchbandit.leagues import library, schema
from matchbandit.leagues.records import FitTest, Standing, from_row
from matchbandit.leagues.state import LeagueState
from matchbandit.leagues.totals import Counts, Floats
from matchbandit.leagues.transaction import LeagueRow

if TYPE_CHECKING:
    from matchbandit.strengths import Posterior

LEVEL = 0.9
"""Probability of the intervals of strengths and pair means, under the model."""
FIRST_TEST = 10
"""Results per item that a decision tests the model with for the first time; fewer hardly ever reject it."""
GROWTH_UNTIL_TEST = 1.5
"""It is tested again once there are so many times as many results: the cost per decision vanishes."""
MAX_TESTED_ITEMS = 50
"""In larger leagues the test takes much longer than a decision; `Store.run_maintenance` runs it."""
EQUAL_STRENGTH = 1e-6
"""Strengths that differ by less share a rank: the fit is not more exact."""
_LARGE = select(schema.league.c.slug, schema.league.c.n_results, schema.league.c.fit).where(
    schema.league.c.archived_at.is_(None),
    schema.league.c.deleted_at.is_(None),
    exists().where(schema.item.c.league_id == schema.league.c.id, schema.item.c.id == MAX_TESTED_ITEMS + 1),
)


# The test of the model -----------------------------------------------------------------------------------------------


def warning(league: LeagueRow) -> str | None:
    """Why the numbers of a league are not to be trusted, by the last test of its results, and what can be done."""
    fit, policy = league.fit, league.settings["policy"]
    if fit is None or fit["fits"] is not False:
        return None
    reason = (
        f"The {fit['results']} results do not fit the model, in which a pair achieves the product of two strengths "
        f"(p = {fit['p_value']:.1g})"
    )
    if not library.capabilities(policy).assumes_product:
        return f"{reason}: do not rely on strengths and expected rewards. {policy} does not use them."
    other = "cts-beta" if league.distribution.low >= 0.0 and league.distribution.high <= 1.0 else "cts-gaussian"
    return (
        f"{reason}. {policy} relies on this model and may do no better than random pairs: change the policy, such as "
        f"to {other}, which judges each pair by its own results."
    )


def is_test_due(state: LeagueState) -> bool:
    """Should a decision test the model again?"""
    return len(state.items) <= MAX_TESTED_ITEMS and _is_due(len(state.items), state.league)


def large_leagues_to_test(connection: Connection) -> list[str]:
    """The leagues of more than `MAX_TESTED_ITEMS` that should be tested again."""
    return [row.slug for row in connection.execute(_LARGE) if _is_due(MAX_TESTED_ITEMS + 1, row)]


def _is_due(n_items: int, league: Any) -> bool:
    tested = 0 if league.fit is None else league.fit["results"]
    return bool(league.n_results >= max(GROWTH_UNTIL_TEST * tested, FIRST_TEST * n_items, 1))


def stored_fit(test: FitTest, version: int) -> dict[str, Any]:
    """What a league stores of a test at one version: no names."""
    return {"fits": test.fits, "p_value": test.p_value, "results": test.results, "version": version}


# The model -----------------------------------------------------------------------------------------------------------


def fit_posterior(state: LeagueState) -> "Posterior":
    """The posterior of the strengths: discounted like the policy's results, outliers clipped."""
    league, totals = state.league, state.totals
    played = totals.count > 0
    plays, sums = totals.discounted(league.n_proposals, league.half_life)
    if league.half_life is None:
        sums = library.clip_outliers(league.distribution, totals.count, totals.total)
    edges = state.edges(totals.pairs[played])
    return library.fit_strengths(state.graph, league.distribution, edges, plays[played], sums[played])


class StrengthModel:
    """The model of a league at one moment, fitted on first use; its users hold `CachedLeague.fitting`."""

    def __init__(self, state: LeagueState, compute: Callable[..., Any] | None = None) -> None:
        """For a state, which never changes. `compute(function, *arguments)` calls a slow function."""
        self.state = state
        self._compute = compute or (lambda function, *arguments: function(*arguments))

    @cached_property
    def posterior(self) -> "Posterior":
        """The posterior of the strengths."""
        return fit_posterior(self.state)

    @cached_property
    def _intervals(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals of all strengths, by vertex."""
        return self.posterior.item_intervals(LEVEL)

    @cached_property
    def _by_item(self) -> tuple[Counts, Floats]:
        """Number of results and total reward per item."""
        totals, n = self.state.totals, len(self.state.items)
        ends = np.concatenate([totals.a, totals.b]) - 1
        counts = np.bincount(ends, np.tile(totals.count, 2), minlength=n).astype(np.int64)
        return counts, np.bincount(ends, np.tile(totals.total, 2), minlength=n).astype(np.float64)

    @cached_property
    def ranking(self) -> list[Standing]:
        """The active items by rank, each side for itself, those without results last."""
        state, counts = self.state, self._by_item[0]
        strengths = self.posterior.strengths[state.vertices]
        standings: list[Standing] = []
        for side in range(1 if state.league.sides is None else 2):
            items = [k for k in range(len(state.items)) if state.active[k] and state.sides[k] == side]
            items.sort(key=lambda k: (not counts[k], -strengths[k], k))
            rank, top = 0, np.inf
            for position, k in enumerate(items, start=1):
                if strengths[k] < top - EQUAL_STRENGTH:
                    rank, top = position, strengths[k]
                standings.append(self._standing(k + 1, rank if counts[k] else None))
        return standings

    def standing(self, item: int) -> Standing:
        """An item in the ranking; without a rank if it has left."""
        return next((each for each in self.ranking if each.id == item), None) or self._standing(item, None)

    def _standing(self, item: int, rank: int | None) -> Standing:
        state, (low, high), (counts, totals) = self.state, self._intervals, self._by_item
        vertex, count = state.vertices[item - 1], int(counts[item - 1])
        return from_row(
            Standing,
            state.items[item - 1],
            rank=rank,
            name=state.name(item),
            side=state.side(item),
            estimate=float(self.posterior.strengths[vertex]),
            low=float(low[vertex]),
            high=float(high[vertex]),
            results=count,
            mean=float(totals[item - 1] / count) if count else None,
        )

    def pair(self, a: int, b: int) -> dict[str, float | int | None]:
        """Expected reward, its interval, and the results of a pair; the former are None without any results at all."""
        totals = self.state.totals
        mine = np.flatnonzero((totals.a == a) & (totals.b == b))
        count = int(totals.count[mine].sum())
        mean = float(totals.total[mine].sum() / count) if count else None
        expected = low = high = None
        if self.state.league.n_results:
            ends = self.state.vertices[np.array([[a, b]]) - 1]
            expected = float(self.posterior.pair_means(ends)[0])
            low, high = (float(end[0]) for end in self.posterior.pair_intervals(ends, LEVEL))
        return {"expected": expected, "low": low, "high": high, "results": count, "mean": mean}

    @cached_property
    def fit(self) -> FitTest:
        """Does a product fit? All results count equally here, even if the policy discounts them."""
        league, totals, graph = self.state.league, self.state.totals, self.state.graph
        played = totals.count > 0
        n_results = self.state.league.n_results
        if not n_results:
            return FitTest(None, None, 0, [], "There are no data yet to test the model with.", None)
        edges, counts, sums = self.state.edges(totals.pairs[played]), totals.count[played], totals.total[played]
        test, warning_level = self._compute(library.fit_products, graph, league.distribution, edges, counts, sums)
        p = float(test.p_value)
        if test.degrees_of_freedom <= 0:
            return FitTest(None, None, n_results, [], "Too few pairs have met to tell whether the model fits.", None)
        if test.verdict == "fits":
            return FitTest(True, p, n_results, [], f"The model fits the {n_results} results (p = {p:.2g}).", None)
        if p >= warning_level:
            sentence = f"The {n_results} results cannot tell yet whether the model fits (p = {p:.2g})."
            return FitTest(None, p, n_results, [], sentence, None)
        item = {int(vertex): k for k, vertex in enumerate(self.state.vertices, start=1)}
        worst = [(self.state.names((item[i], item[j + graph.n_rows])), residual) for i, j, residual in test.worst(5)]
        sentence = f"The model does not fit the {n_results} results (p = {p:.1g})."
        rejected = FitTest(False, p, n_results, worst, sentence, None)
        return replace(rejected, warning=warning(replace(league, fit=stored_fit(rejected, league.version))))
