"""CLUCB: sample where the best matching and its strongest rival differ, until no rival is left."""

from math import log, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Selection
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.combinatorial import (
    MAX_COMPILED_PLAYERS,
    CombinatorialArrays,
    CombinatorialPolicy,
    choose_initial_round,
    heaviest,
)
from matchbandit.policies.combinatorial import update as count
from matchbandit.policies.options import Delta
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers import best_matching

TIE = 1e-12
"""A rival must be better by more than this: sums of floats are not exact."""


class ClucbParams(NamedTuple):
    """What only CLUCB needs."""

    sigma: float
    cover: float
    """log(4d/δ)."""
    rounds: Counts
    """t, the rounds in which something took place, shape (1,)."""
    best: Edges
    """M."""
    rival_left: Counts
    """1 while some rival of M may be better, then 0, shape (1,)."""
    pair: Edges
    """The edge to play, shape (1,)."""


@compiled
def radii(arrays: CombinatorialArrays, radius: Floats) -> None:
    """Write down rad_e = σ sqrt(2 log(4 d t³/δ) / n_e)."""
    level = 2 * (arrays.params.cover + 3 * log(arrays.params.rounds[0]))
    for edge in range(len(radius)):
        radius[edge] = arrays.params.sigma * sqrt(level / arrays.plays[edge])


@compiled
def against(arrays: CombinatorialArrays, radius: Floats, weights: Floats) -> None:
    """Write down the weights that favour the rivals of M the most: μ − rad on M, μ + rad off M."""
    best = arrays.params.best
    for edge in range(len(weights)):
        weights[edge] = arrays.sums[edge] / arrays.plays[edge] + radius[edge]
    for k in range(len(best)):
        weights[best[k]] -= 2 * radius[best[k]]


@compiled
def judge(params: ClucbParams, radius: Floats, weights: Floats, rival: Edges) -> None:
    """Is the rival M̃ better? The pair to play is that of M △ M̃ with the largest rad (ties: the first)."""
    changes = np.empty(len(weights))  # 1: only in M̃, −1: only in M
    for edge in range(len(weights)):
        changes[edge] = 0.0
    for k in range(len(rival)):
        changes[rival[k]] += 1.0
        changes[params.best[k]] -= 1.0
    lead, widest = 0.0, -1.0
    for edge in range(len(weights)):
        lead += changes[edge] * weights[edge]
        if changes[edge] != 0.0 and radius[edge] > widest:
            params.pair[0], widest = edge, radius[edge]
    params.rival_left[0] = 1 if lead > TIE else 0


@compiled
def find_rival(arrays: CombinatorialArrays) -> None:
    """Find M, its strongest rival and the pair to play, once every pair was played."""
    radius, weights = np.empty(len(arrays.plays)), np.empty(len(arrays.plays))
    for edge in range(len(weights)):
        if arrays.plays[edge] == 0:
            return
        weights[edge] = arrays.sums[edge] / arrays.plays[edge]
    heaviest(arrays.candidates, arrays.n_columns, weights, arrays.params.best)
    radii(arrays, radius)
    against(arrays, radius, weights)
    rival = np.empty(len(arrays.params.best), dtype=np.int64)
    heaviest(arrays.candidates, arrays.n_columns, weights, rival)
    judge(arrays.params, radius, weights, rival)


@compiled
def weigh(arrays: CombinatorialArrays, weights: Floats) -> None:
    """Weights for which the best matching contains the pair to play, and of those has the greatest sum of rad."""
    radii(arrays, weights)
    largest = 0.0
    for edge in range(len(weights)):
        largest = max(largest, weights[edge])
    weights[arrays.params.pair[0]] += largest * (len(arrays.params.best) + 1)


@compiled
def choose(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once; then the pair that was decided on, or a matching around it."""
    if choose_initial_round(arrays, edges):
        return
    if len(edges) == 1:
        edges[0] = arrays.params.pair[0]
    else:
        weights = np.empty(len(arrays.plays))
        weigh(arrays, weights)
        heaviest(arrays.candidates, arrays.n_columns, weights, edges)


@compiled
def is_solvable(candidates: Edges, n_columns: int) -> bool:
    """Can compiled code find the best matching?"""
    return candidates.ndim == 2 or n_columns > 0


@compiled
def update(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays, rewards and the round; decide what to play next, unless that takes a solver."""
    count(arrays, rng, edges, rewards)
    arrays.params.rounds[0] += 1
    if is_solvable(arrays.candidates, arrays.n_columns):
        find_rival(arrays)


@compiled
def finished(arrays: CombinatorialArrays) -> bool:
    """Is no matching better than M, however much the intervals favour it?"""
    return bool(arrays.params.rival_left[0] == 0)


class Clucb(CombinatorialPolicy):
    """CLUCB [Chen2014] for matchings: blind to the products.

    Each pair once: in index order, or in the rounds of a tour under matching sampling. Then, with t rounds played, M is
    the best matching for the means μ and M̃ the best for μ − rad on M and μ + rad off M,
    rad_e = σ sqrt(2 log(4 d t³/δ) / n_e), d the number of pairs (constants recalled rather than read). It is done when
    M̃ is no better than M under those weights. Otherwise the pair of M △ M̃ with the largest rad is played; under
    matching sampling, among the matchings that contain it, the one with the greatest sum of rad.

    A pair is played at most once a round, so that n_e ≤ t under both samplings and all intervals together fail with
    probability at most δ Σ 1/(2t²) < δ. To keep that, results logged before count as as many rounds as the most played
    pair has plays, and as all plays together fill.

    Parameters
    ----------
    delta : float, default 0.05
        δ, the error probability.
    selection : {"pair", "matching"}, optional
        What a round plays; by default matchings of players, and pairs of rows and columns.
    """

    name: ClassVar[str] = "clucb"
    summary: ClassVar[str] = "identifies the best matching, blind to the structure"
    reference: ClassVar[str] = "Chen et al. 2014"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair", "matching"),
        answers="matching",
        goals=("identification",),
        proved=("identification",),
        warm_start=True,
        compiled_max_players=MAX_COMPILED_PLAYERS,
    )
    choose = staticmethod(choose)
    update = staticmethod(update)
    finished = staticmethod(finished)

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        delta: Delta = 0.05,
        selection: Selection | None = None,
    ) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng)

    def params(self) -> ClucbParams:
        """Nothing decided yet."""
        return ClucbParams(
            self.setting.rewards.sigma,
            cover=log(4 * self.graph.n_pairs) - log(self.options["delta"]),
            rounds=np.zeros(1, dtype=np.int64),
            best=np.zeros(self.graph.matching_size, dtype=np.int64),
            rival_left=np.ones(1, dtype=np.int64),
            pair=np.zeros(1, dtype=np.int64),
        )

    def _find_rival(self) -> None:
        """Do by a solver what `find_rival` does in compiled code."""
        arrays = self.arrays
        if self.compiled:
            find_rival(arrays)
        elif arrays.plays.all():
            arrays.params.best[:] = best_matching(self.graph, self.means())
            radius, weights = self._radii(), np.empty(self.graph.n_pairs)
            against(arrays, radius, weights)
            judge(arrays.params, radius, weights, best_matching(self.graph, weights))

    def _radii(self) -> Floats:
        radius = np.empty(self.graph.n_pairs)
        radii(self.arrays, radius)
        return radius

    def _next(self) -> Edges:
        if self.compiled or self.round_size == 1:
            return super()._next()
        edges, weights = np.zeros(self.round_size, dtype=np.int64), np.empty(self.graph.n_pairs)
        if choose_initial_round(self.arrays, edges):
            return edges
        weigh(self.arrays, weights)
        return best_matching(self.graph, weights)

    def _receive(self, edges: Edges, rewards: Floats) -> bool:
        done = super()._receive(edges, rewards)
        if self.compiled or np.isnan(rewards).all():
            return done
        self._find_rival()
        return self._is_finished()

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Count logged results, as the rounds that they fill."""
        super().add_logged(edges, counts, sums)
        plays = self.arrays.plays
        self.arrays.params.rounds[0] = max(plays.max(), -(-plays.sum() // self.round_size))
        self._find_rival()

    def pair_details(self) -> dict[str, list[Any]]:
        """The interval of each pair."""
        if not self.arrays.plays.all():
            return {}
        radius, means = self._radii(), self.means()
        return {"interval": np.stack([means - radius, means + radius], axis=1).tolist(), "radius": radius.tolist()}
