"""Rank-1 Thompson sampling: one posterior for all strengths, drawn from and played greedily."""

from math import exp
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Pairs, Selection, player_edge
from matchbandit.policies.base import Setting
from matchbandit.policies.fits import Fits
from matchbandit.policies.rank1_model import (
    PRIOR_MEAN,
    PRIOR_PRECISION,
    Model,
    backward,
    covariance,
    factor,
    fisher,
    fit,
    settle,
    without_scale,
)
from matchbandit.policies.round_policy import RoundPolicy
from matchbandit.rewards import Counts, Floats

REFRESH = 0.02
"""The posterior is renewed when a pair's plays have grown by this share since the last time,"""
MIN_ROUNDS_BETWEEN_FITS = 50
"""but not before a round has passed for each so many items: renewing takes O(n³), a round O(n²)."""
OUT_OF_DATE, N_ROWS, SINCE = 0, 1, 2


class Arrays(NamedTuple):
    """Items are numbered through, rows before columns; tables are symmetric, items × items."""

    plays: Floats
    sums: Floats
    plays_then: Floats
    """Plays when the posterior was last renewed."""
    strengths: Floats
    """û, and v̂ behind it."""
    factor: Floats
    """L with L Lᵀ = F, the information: a draw differs from the strengths by L⁻ᵀ z."""
    ends: Counts
    """The two items of each edge."""
    flags: Counts
    """Is the posterior out of date? How many items are rows (0: players)? How many rounds ago was it renewed?"""
    byes: Counts
    """How often each player sat out, and in which bye of all for the last time (0: never), shape (2, players)."""
    law: Floats
    """Coins and noise of the rewards' law."""


@compiled
def model_of(arrays: Arrays) -> Model:
    """The part that is fitted."""
    return Model(arrays.plays, arrays.sums, arrays.strengths, arrays.law)


@compiled
def renew(arrays: Arrays) -> None:
    """Fit the strengths and factorise their information."""
    model = model_of(arrays)
    fit(model)
    arrays.factor[:] = factor(fisher(model))
    arrays.plays_then[:] = arrays.plays
    arrays.flags[OUT_OF_DATE] = 0
    arrays.flags[SINCE] = 0


@compiled
def draw_shift(arrays: Arrays, rng: np.random.Generator) -> Floats:
    """N(0, F⁻¹), between rows and columns without their common scale."""
    noise = np.empty(len(arrays.strengths))
    for i in range(len(noise)):
        noise[i] = rng.standard_normal()
    return without_scale(arrays.strengths, arrays.flags[N_ROWS], backward(arrays.factor, noise))


@compiled
def draw_strengths(arrays: Arrays, rng: np.random.Generator) -> Floats:
    """ũ = û + shift where that rises, û exp(shift/û) where it falls: a known product keeps both its items above 0."""
    u, shift = arrays.strengths, draw_shift(arrays, rng)
    drawn = u + shift
    for i in range(len(u)):
        if shift[i] < 0 and u[i] > 0:
            drawn[i] = u[i] * exp(shift[i] / u[i])
    return drawn


@compiled
def sits_out(byes: Counts) -> int:
    """The player with the fewest byes (ties: the longest since the last one, then the lowest index)."""
    first = 0
    for i in range(1, byes.shape[1]):
        if byes[0, i] < byes[0, first] or (byes[0, i] == byes[0, first] and byes[1, i] < byes[1, first]):
            first = i
    return first


@compiled
def strongest_first(strengths: Floats) -> Counts:
    """The items by falling strength (ties: the lower index first)."""
    return np.argsort(-strengths, kind="mergesort")


@compiled
def best_pair(strengths: Floats, n_rows: int) -> tuple[int, int]:
    """The strongest row and the strongest column, or the two strongest players (ties: the lowest index)."""
    if n_rows > 0:
        return int(np.argmax(strengths[:n_rows])), n_rows + int(np.argmax(strengths[n_rows:]))
    first = int(np.argmax(strengths))
    rest = strengths.copy()
    rest[first] = -np.inf
    second = int(np.argmax(rest))
    return min(first, second), max(first, second)


@compiled
def edge_of(i: int, j: int, n: int, n_rows: int) -> int:
    """The edge of two of n items, players or a row and a column."""
    return i * (n - n_rows) + j - n_rows if n_rows > 0 else player_edge(i, j, n)


@compiled
def best_round(strengths: Floats, n_rows: int, absent: int, edges: Edges) -> None:
    """Write down the edges of the sorted pairing, as many as there is room for: one is the best pair.

    Strongest row with strongest column and so on; or the two strongest players, then the next two, without the absent
    one (−1: all are there). Ties: the lower index first.
    """
    n = len(strengths)
    if len(edges) == 1 and absent < 0:  # no need to sort
        i, j = best_pair(strengths, n_rows)
        edges[0] = edge_of(i, j, n, n_rows)
    elif n_rows > 0:
        rows, columns = strongest_first(strengths[:n_rows]), strongest_first(strengths[n_rows:])
        for k in range(len(edges)):
            edges[k] = edge_of(rows[k], n_rows + columns[k], n, n_rows)
    else:
        order = strongest_first(strengths)
        if absent >= 0:
            order = order[order != absent]
        for k in range(len(edges)):
            i, j = order[2 * k], order[2 * k + 1]
            edges[k] = edge_of(i, j, n, n_rows)


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """The best pair or matching of drawn strengths, of those whose turn it is not to sit out."""
    if arrays.flags[OUT_OF_DATE] and arrays.flags[SINCE] >= len(arrays.strengths) // MIN_ROUNDS_BETWEEN_FITS:
        renew(arrays)
    absent = sits_out(arrays.byes) if arrays.byes.size > 0 else -1
    best_round(draw_strengths(arrays, rng), arrays.flags[N_ROWS], absent, edges)


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays, rewards and the bye; is the posterior out of date?"""
    for k in range(len(edges)):
        i, j = arrays.ends[edges[k], 0], arrays.ends[edges[k], 1]
        for a, b in ((i, j), (j, i)):
            arrays.plays[a, b] += 1
            arrays.sums[a, b] += rewards[k]
        if arrays.plays[i, j] > (1 + REFRESH) * arrays.plays_then[i, j]:
            arrays.flags[OUT_OF_DATE] = 1
    arrays.flags[SINCE] += 1
    if arrays.byes.size > 0:
        absent = sits_out(arrays.byes)
        arrays.byes[0, absent] += 1
        arrays.byes[1, absent] = arrays.byes[0].sum()


class Rank1Thompson(RoundPolicy):
    """Thompson sampling that uses the product model: the practical choice, without a proof.

    Strengths û (rows and columns, or players) are fitted to the counts and sums of all pairs by Newton steps on each
    item and then on all together, weighted by w_ij = 1/(p̃(1 − p̃)) with p̃ = (C p + 1)/(C + 2), p = û_i û_j, under a
    weak Gaussian prior of precision 4 around 0.6, and kept in [0, 1] (see `rank1_model`). A draw is ũ ~ N(û, F⁻¹) with
    the *full* inverse of the information F_ii = Σ_j w_ij C_ij û_j², F_ij = w_ij C_ij û_i û_j (plus the prior), and the
    best pair of the drawn strengths, or their sorted pairing, is played. The diagonal alone would stop exploring: of
    two items that always meet only the product is seen, and the full inverse keeps exactly that direction open. A fall
    of ũ_i below û_i is taken as û_i exp(shift/û_i): two players whose product is known lie on a hyperbola, of which the
    Gaussian sees the tangent only, and without this a best pair among players worth nothing would be left again and
    again. Between rows and columns only products are seen: the direction (û, −v̂) is taken out of the draw, without
    which the regret is linear.

    Of an odd number of players one sits out each round of matchings: whoever did so least often (ties: the longest
    ago, then the lowest index). Of unequally many rows and columns the weakest of the draw stay out.

    Gaussian rewards have w = 1/sd², Binomial(trials) ones w = trials/(p̃(1 − p̃)) with C trials. The fit starts where it
    last ended, and is renewed when the plays of some pair have grown by 2 %: a rarely played pair renews it at once, or
    among n ≥ 100 items once n // 50 rounds have passed.

    Options: `selection`, "pair" or "matching"; by default matchings of players, and pairs of rows and columns.
    """

    name: ClassVar[str] = "rank1-thompson"
    summary: ClassVar[str] = "Thompson sampling with one posterior for all strengths: the practical choice"
    reference: ClassVar[str] = "this library"
    fits: ClassVar[Fits] = Fits(selections=("pair", "matching"), byes=True, warm_start=True, counts_alone=True)
    arrays_type = Arrays
    choose = staticmethod(choose)
    update = staticmethod(update)

    def __init__(self, setting: Setting, rng: np.random.Generator, *, selection: Selection | None = None) -> None:
        """Nothing played yet: the prior."""
        super().__init__(setting, rng, selection=selection)

    def start(self) -> Arrays:
        """The prior."""
        bipartite = self.graph.kind == "bipartite"
        n_rows = self.graph.shape[0] if bipartite else 0
        n = sum(self.graph.shape) if bipartite else self.graph.shape[0]
        someone_sits_out = self.selection == "matching" and not bipartite and n % 2
        return Arrays(
            plays=np.zeros((n, n)),
            sums=np.zeros((n, n)),
            plays_then=np.zeros((n, n)),
            strengths=np.full(n, PRIOR_MEAN),
            factor=np.eye(n) * np.sqrt(PRIOR_PRECISION),
            ends=self.graph.pairs + np.array([0, n_rows]) if bipartite else self.graph.pairs,
            flags=np.array([0, n_rows, 0]),
            byes=np.zeros((2, n if someone_sits_out else 0), dtype=np.int64),
            law=np.array(self.setting.rewards.coins, dtype=np.float64),
        )

    def recommend(self) -> Pairs:
        """The best pair or matching of the fitted strengths; of an odd number of players the weakest sits out."""
        edges = np.zeros(self.round_size, dtype=np.int64)
        best_round(self._fitted().strengths, self.arrays.flags[N_ROWS], -1, edges)
        return self.graph.pairs[edges]

    def _fitted(self) -> Model:
        """The model with strengths that are up to date; the policy's own are left as they are."""
        model = Model(self.arrays.plays, self.arrays.sums, self.arrays.strengths.copy(), self.arrays.law)
        fit(model)
        return model

    def _receive(self, edges: Edges, rewards: Floats) -> None:
        took_place = ~np.isnan(rewards)
        update(self.arrays, self.rng, edges[took_place], rewards[took_place])  # also when none did: someone sat out

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        for i, j in (self.arrays.ends[edges].T, self.arrays.ends[edges, ::-1].T):
            self.arrays.plays[i, j] += counts
            self.arrays.sums[i, j] += sums
        settle(model_of(self.arrays))
        renew(self.arrays)

    def _memory(self) -> dict[str, Any]:
        return {name: part for name, part in super()._memory().items() if name not in ("ends", "law")}

    def _remember(self, memory: dict[str, Any]) -> None:
        self.arrays = self.arrays._replace(**memory)

    def reasons(self) -> dict[str, Any]:
        model, n_rows = self._fitted(), int(self.arrays.flags[N_ROWS])
        deviations = np.sqrt(covariance(factor(fisher(model)), model.strengths, n_rows).diagonal())
        items: list[dict[str, Any]] = [
            {
                "item": k - n_rows if k >= n_rows else k,
                "strength": float(u),
                "standard_deviation": float(s),
                "plays": int(n),
            }
            for k, (u, s, n) in enumerate(zip(model.strengths, deviations, model.plays.sum(axis=1), strict=True))
        ]
        if self.arrays.byes.size:
            items = [{**item, "byes": int(times)} for item, times in zip(items, self.arrays.byes[0], strict=True)]
        if n_rows:
            return {"rows": items[:n_rows], "columns": items[n_rows:]}
        turn = {"sits_out": int(sits_out(self.arrays.byes))} if self.arrays.byes.size else {}
        return {"players": items, **turn}
