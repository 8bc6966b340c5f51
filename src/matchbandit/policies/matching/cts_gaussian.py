"""CTS-Gaussian: a normal draw around every pair's mean, and the best matching for these draws."""

from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.matching.combinatorial import Arrays, CombinatorialPolicy, heaviest, open_round
from matchbandit.rewards import Floats
from matchbandit.solvers import MAX_MATCHINGS


class Params(NamedTuple):
    """What only CTS-Gaussian needs."""

    sigma: float


@compiled
def weigh(arrays: Arrays, rng: np.random.Generator, weights: Floats) -> None:
    """Draws from N(μ_e, σ²/n_e), edge by edge."""
    sigma = arrays.params.sigma
    for edge in range(len(weights)):
        n = arrays.plays[edge]
        weights[edge] = arrays.sums[edge] / n + sigma / sqrt(n) * rng.standard_normal()


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once, then the matching with the greatest sum of draws (ties: the first)."""
    if not open_round(arrays, edges):
        weights = np.empty(len(arrays.plays))
        weigh(arrays, rng, weights)
        heaviest(arrays.matchings, weights, edges)


class CtsGaussian(CombinatorialPolicy):
    """CTS-Gaussian [Perrault2020], after CTS [WangChen2018].

    Every pair once, in the rounds of a tour; then, every round, θ_e ~ N(μ_e, σ²/n_e) for each pair, independent, and
    the matching with the greatest sum of θ_e is played. σ is the sub-Gaussian constant of the rewards: 1/2 if they are
    Bernoulli.

    Up to 10 players (or 1000 matchings of rows and columns) every matching is looked at, in compiled code; beyond,
    a blossom or an assignment solver finds the best, round by round through ask and tell.
    """

    name: ClassVar[str] = "cts-gaussian"
    summary: ClassVar[str] = "the best matching for normal draws around every pair's mean"
    reference: ClassVar[str] = "Perrault et al. 2020; Wang & Chen 2018"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        proved=("regret",),
        warm_start=True,
        constrained=True,
        compiled_max_matchings=MAX_MATCHINGS,
    )
    oracle = "solver"
    draws: ClassVar[bool] = True
    choose = staticmethod(choose)
    weigh = staticmethod(weigh)

    def params(self) -> Params:
        """σ."""
        return Params(self.setting.rewards.sigma)

    def of_pairs(self) -> dict[str, list[Any]]:
        """σ/√n_e."""
        sigma = self.setting.rewards.sigma
        return {"deviation": [sigma / sqrt(n) if n else None for n in self.arrays.plays.tolist()]}
