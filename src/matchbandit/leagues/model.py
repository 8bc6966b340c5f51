"""The product model, fitted to the results of a league, whatever its policy: strengths, intervals, ranking, fit."""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from matchbandit.leagues import library
from matchbandit.leagues.records import FitTest, Standing
from matchbandit.leagues.state import LeagueState
from matchbandit.leagues.totals import Counts, Floats
from matchbandit.leagues.transaction import LeagueRow

if TYPE_CHECKING:
    from matchbandit.strengths import Posterior

LEVEL = 0.9
"""Probability of the intervals of strengths and pair means, under the model."""
GROWTH_UNTIL_TEST = 1.5
"""A decision tests the model again once there are so many times as many results as at the last test."""
MAX_TESTED_ITEMS = 300
"""In larger leagues the test takes longer than a decision; it is run in the background."""
EQUAL_STRENGTH = 1e-6
"""Strengths that differ by less share a rank: the fit is not more exact."""


def warning(league: LeagueRow) -> str | None:
    """Why the numbers of a league are not to be trusted, by the last test of its results, and what can be done."""
    fit = league.fit
    if fit is None or fit["fits"] is not False:
        return None
    policy = league.settings["policy"]
    reason = (
        f"The results do not fit the model in which a pair achieves the product of two strengths (p = "
        f"{fit['p_value']:.2g}, {fit['results']} results)"
    )
    if library.capabilities(policy).assumes_product:
        return (
            f"{reason}, and {policy} relies on it: its proposals may be no better than chance. Use another policy: "
            f"cts-gaussian and cucb judge each pair by itself."
        )
    return f"{reason}: strengths and expected rewards mislead. {policy} does not rely on them."


def is_test_due(state: LeagueState) -> bool:
    """Have so many results arrived since the last test that a decision should repeat it?"""
    tested = 0 if state.league.fit is None else state.league.fit["results"]
    return len(state.items) <= MAX_TESTED_ITEMS and state.n_results >= max(GROWTH_UNTIL_TEST * tested, 1)


def fit_posterior(state: LeagueState) -> "Posterior":
    """The posterior of the strengths: discounted like the policy's results, outliers clipped."""
    league, totals = state.league, state.totals
    played = totals.count > 0
    if league.half_life is None:
        plays, sums = (
            totals.count.astype(np.float64),
            library.clip_outliers(league.distribution, totals.count, totals.total),
        )
    else:
        plays, sums = totals.discounted(league.n_proposals, league.half_life)
    edges = state.edges(totals.pairs[played])
    return library.fit_strengths(state.graph, league.distribution, edges, plays[played], np.asarray(sums)[played])


class StrengthModel:
    """The model of a league at one moment, fitted on first use; its users hold `CachedLeague.fitting`."""

    def __init__(self, state: LeagueState) -> None:
        """For a state, which never changes."""
        self.state = state

    @cached_property
    def posterior(self) -> "Posterior":
        """The posterior of the strengths."""
        return fit_posterior(self.state)

    @cached_property
    def intervals(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals of all strengths, by vertex."""
        return self.posterior.item_intervals(LEVEL)

    @cached_property
    def by_item(self) -> tuple[Counts, Floats]:
        """Number of results and total reward per item."""
        totals, n = self.state.totals, len(self.state.items)
        ends = np.concatenate([totals.a, totals.b]) - 1
        counts = np.bincount(ends, np.tile(totals.count, 2), minlength=n).astype(np.int64)
        return counts, np.bincount(ends, np.tile(totals.total, 2), minlength=n).astype(np.float64)

    @cached_property
    def ranking(self) -> list[Standing]:
        """The active items by rank, each side for itself, those without results last."""
        state, (low, high), (counts, totals) = self.state, self.intervals, self.by_item
        strengths = self.posterior.strengths[state.vertices]
        low, high = low[state.vertices], high[state.vertices]
        standings: list[Standing] = []
        for side in range(1 if state.league.sides is None else 2):
            items = [k for k in range(len(state.items)) if state.active[k] and state.sides[k] == side]
            items.sort(key=lambda k: (not counts[k], -strengths[k], k))
            rank, top = 0, np.inf
            for position, k in enumerate(items, start=1):
                if strengths[k] < top - EQUAL_STRENGTH:
                    rank, top = position, strengths[k]
                standings.append(
                    Standing(
                        rank=rank if counts[k] else None,
                        id=k + 1,
                        name=state.name(k + 1),
                        side=state.side(k + 1),
                        estimate=float(strengths[k]),
                        low=float(low[k]),
                        high=float(high[k]),
                        results=int(counts[k]),
                        mean=float(totals[k] / counts[k]) if counts[k] else None,
                        byes=state.items[k].byes,
                    )
                )
        return standings

    def pair(self, a: int, b: int) -> dict[str, float | int | None]:
        """Estimate, interval and results of a pair."""
        ends = self.state.vertices[np.array([[a, b]]) - 1]
        low, high = self.posterior.pair_intervals(ends, LEVEL)
        totals = self.state.totals
        mine = np.flatnonzero((totals.a == a) & (totals.b == b))
        count = int(totals.count[mine].sum())
        return {
            "estimate": float(self.posterior.pair_means(ends)[0]),
            "low": float(low[0]),
            "high": float(high[0]),
            "results": count,
            "mean": float(totals.total[mine].sum() / count) if count else None,
        }

    @cached_property
    def fit(self) -> FitTest:
        """Does a product fit? All results count equally here, even if the policy discounts them."""
        totals, graph = self.state.totals, self.state.graph
        played = totals.count > 0
        n_results = int(totals.count.sum())
        if not n_results:
            return FitTest(None, None, 0, [], "There are no results yet to test the model with.")
        edges = self.state.edges(totals.pairs[played])
        rewards = self.state.league.distribution
        test, warning_level = library.fit_products(graph, rewards, edges, totals.count[played], totals.total[played])
        p = float(test.p_value)
        if test.degrees_of_freedom <= 0:
            return FitTest(None, None, n_results, [], "Too few pairs have met to tell whether the model fits.")
        if test.verdict == "fits":
            return FitTest(True, p, n_results, [], f"The model fits the {n_results} results (p = {p:.2g}).")
        if p >= warning_level:
            sentence = f"The {n_results} results cannot tell whether the model fits (p = {p:.2g})."
            return FitTest(None, p, n_results, [], sentence)
        item = {int(vertex): k for k, vertex in enumerate(self.state.vertices, start=1)}
        worst = [(self.state.names((item[i], item[j + graph.n_rows])), residual) for i, j, residual in test.worst(5)]
        return FitTest(
            False,
            p,
            n_results,
            worst,
            f"The results do not fit the model, in which each item has one strength (p = {p:.2g}): some pairs achieve "
            f"more together, or less, than their strengths say. cucb or cts-gaussian judge each pair by itself.",
        )
