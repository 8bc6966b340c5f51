"""CUCB: an optimistic weight for every pair, and the best matching for these weights."""

from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.matching.combinatorial import Arrays, CombinatorialPolicy, exploration, heaviest, open_round
from matchbandit.rewards import Floats
from matchbandit.solvers import MAX_MATCHINGS


class Params(NamedTuple):
    """What only CUCB needs."""

    scale: float
    """2σ."""


@compiled
def weigh(arrays: Arrays, rng: np.random.Generator, weights: Floats) -> None:
    """μ_e + 2σ sqrt(1.5 log t / n_e)."""
    level, scale = 1.5 * exploration(arrays, 0.0), arrays.params.scale
    for edge in range(len(weights)):
        n = arrays.plays[edge]
        weights[edge] = arrays.sums[edge] / n + scale * sqrt(level / n)


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once, then the matching with the greatest sum of upper bounds (ties: the first)."""
    if not open_round(arrays, edges):
        weights = np.empty(len(arrays.plays))
        weigh(arrays, rng, weights)
        heaviest(arrays.matchings, weights, edges)


class Cucb(CombinatorialPolicy):
    """CUCB [Chen2013], CombUCB1 [Kveton2015].

    Every pair once, in the rounds of a tour; then, in round t, the matching with the greatest sum of
    μ_e + sqrt(1.5 log t / n_e). For σ-sub-Gaussian rewards the radius is multiplied by 2σ.

    Up to 10 players (or 1000 matchings of rows and columns) every matching is looked at, in compiled code; beyond,
    a blossom or an assignment solver finds the best, round by round through ask and tell.
    """

    name: ClassVar[str] = "cucb"
    summary: ClassVar[str] = "the matching with the greatest sum of upper bounds"
    reference: ClassVar[str] = "Chen et al. 2013; Kveton et al. 2015"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        proved=("regret",),
        warm_start=True,
        constrained=True,
        compiled_max_matchings=MAX_MATCHINGS,
    )
    oracle = "solver"
    choose = staticmethod(choose)
    weigh = staticmethod(weigh)

    def params(self) -> Params:
        """2σ."""
        return Params(2 * self.setting.rewards.sigma)

    def of_pairs(self) -> dict[str, list[Any]]:
        """The upper bound, once every pair was played."""
        return {"upper_bound": self.weights().tolist()} if self.arrays.plays.all() else {}
