"""CLUCB: sample where the best matching and its strongest rival differ, until no rival is left."""

from math import log, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.confidence import check_delta
from matchbandit.graphs import Edges, Selection
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.matching.combinatorial import Arrays, CombinatorialPolicy, heaviest, open_round
from matchbandit.policies.matching.combinatorial import update as count
from matchbandit.policies.round_policy import RoundPolicy
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers import MAX_MATCHINGS, best_matching

TIE = 1e-12
"""A rival must be better by more than this: sums of floats are not exact."""


class Params(NamedTuple):
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
def radii(arrays: Arrays, radius: Floats) -> None:
    """Write down rad_e = σ sqrt(2 log(4 d t³/δ) / n_e)."""
    level = 2 * (arrays.params.cover + 3 * log(arrays.params.rounds[0]))
    for edge in range(len(radius)):
        radius[edge] = arrays.params.sigma * sqrt(level / arrays.plays[edge])


@compiled
def against(arrays: Arrays, radius: Floats, weights: Floats) -> None:
    """Write down the weights that favour the rivals of M the most: μ − rad on M, μ + rad off M."""
    best = arrays.params.best
    for edge in range(len(weights)):
        weights[edge] = arrays.sums[edge] / arrays.plays[edge] + radius[edge]
    for k in range(len(best)):
        weights[best[k]] -= 2 * radius[best[k]]


@compiled
def judge(params: Params, radius: Floats, weights: Floats, rival: Edges) -> None:
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
def decide(arrays: Arrays) -> None:
    """Find M, its strongest rival and the pair to play, by looking at every matching, once every pair was played."""
    radius, weights = np.empty(len(arrays.plays)), np.empty(len(arrays.plays))
    for edge in range(len(weights)):
        if arrays.plays[edge] == 0:
            return
        weights[edge] = arrays.sums[edge] / arrays.plays[edge]
    heaviest(arrays.matchings, weights, arrays.params.best)
    radii(arrays, radius)
    against(arrays, radius, weights)
    rival = np.empty(len(arrays.params.best), dtype=np.int64)
    heaviest(arrays.matchings, weights, rival)
    judge(arrays.params, radius, weights, rival)


@compiled
def weigh(arrays: Arrays, rng: np.random.Generator, weights: Floats) -> None:
    """Weights for which the best matching contains the pair to play, and of those has the greatest sum of rad."""
    radii(arrays, weights)
    largest = 0.0
    for edge in range(len(weights)):
        largest = max(largest, weights[edge])
    weights[arrays.params.pair[0]] += largest * (len(arrays.params.best) + 1)


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once; then the pair that was decided on, or a matching around it."""
    if open_round(arrays, edges):
        return
    if len(edges) == 1:
        edges[0] = arrays.params.pair[0]
    else:
        weights = np.empty(len(arrays.plays))
        weigh(arrays, rng, weights)
        heaviest(arrays.matchings, weights, edges)


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays, rewards and the round; decide what to play next, unless that takes a solver."""
    count(arrays, rng, edges, rewards)
    arrays.params.rounds[0] += 1
    if len(arrays.matchings) > 0:
        decide(arrays)


@compiled
def finished(arrays: Arrays) -> bool:
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

    Up to 10 players (or 1000 matchings of rows and columns) every matching is looked at, in compiled code; beyond,
    a blossom or an assignment solver finds the best, round by round through ask and tell.

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
        compiled_max_matchings=MAX_MATCHINGS,
    )
    oracle = "solver"
    decides_from_counts: ClassVar[bool] = False
    choose = staticmethod(choose)
    update = staticmethod(update)
    finished = staticmethod(finished)
    weigh = staticmethod(weigh)

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        delta: float = 0.05,
        selection: Selection | None = None,
    ) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng, delta=check_delta(delta), selection=selection)

    def params(self) -> Params:
        """Nothing decided yet."""
        return Params(
            self.setting.rewards.sigma,
            cover=log(4 * self.graph.n_pairs) - log(self.options["delta"]),
            rounds=np.zeros(1, dtype=np.int64),
            best=np.zeros(self.graph.matching_size, dtype=np.int64),
            rival_left=np.ones(1, dtype=np.int64),
            pair=np.zeros(1, dtype=np.int64),
        )

    def start(self) -> Arrays:
        """No plays."""
        arrays = super().start()
        return (
            arrays._replace(initial_rounds=np.arange(self.graph.n_pairs)[:, None])
            if self.selection == "pair"
            else arrays
        )

    def _decide(self) -> None:
        """Do by a solver what `decide` does by looking at every matching."""
        arrays = self.arrays
        if self.enumerates:
            decide(arrays)
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
        return RoundPolicy._next(self) if self.round_size == 1 else super()._next()

    def _receive(self, edges: Edges, rewards: Floats) -> bool:
        done = super()._receive(edges, rewards)
        if self.enumerates or np.isnan(rewards).all():
            return done
        self._decide()
        return self._is_finished()

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results; they count as as many rounds as they fill."""
        super().add_logged(edges, counts, sums)
        plays = self.arrays.plays
        self.arrays.params.rounds[0] = max(plays.max(), -(-plays.sum() // self.round_size))
        self._decide()

    def of_pairs(self) -> dict[str, list[Any]]:
        """The interval of each pair."""
        if not self.arrays.plays.all():
            return {}
        radius, means = self._radii(), self.means()
        return {"interval": np.stack([means - radius, means + radius], axis=1).tolist(), "radius": radius.tolist()}
