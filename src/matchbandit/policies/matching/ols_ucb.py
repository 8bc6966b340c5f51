"""OLS-UCB: one radius for a whole matching, for rewards that are independent."""

from math import e, log
from typing import ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError, check_float
from matchbandit.graphs import Edges
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.matching.combinatorial import (
    Arrays,
    CombinatorialPolicy,
    exploration,
    joint_bounds,
    open_round,
)
from matchbandit.rewards import Floats
from matchbandit.solvers import MAX_MATCHINGS


class Params(NamedTuple):
    """What only OLS-UCB needs."""

    scale: float
    """2σ² (1 + λ)."""
    weight: float
    """That of log log t."""
    offset: float
    """What f has besides."""


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once, then the matching with the greatest index (ties: the first)."""
    if not open_round(arrays, edges):
        first = indices(arrays, np.empty(len(arrays.matchings)))
        for i in range(len(edges)):
            edges[i] = arrays.matchings[first, i]


@compiled
def indices(arrays: Arrays, values: Floats) -> int:
    """Write down the index of every matching, and say where it is greatest."""
    params = arrays.params
    return joint_bounds(arrays, params.scale * (exploration(arrays, params.weight) + params.offset), values)


class OlsUcb(CombinatorialPolicy):
    """OLS-UCB [DegennePerchet2016], for independent σ-sub-Gaussian rewards.

    Every pair once, in the rounds of a tour; then, in round t, the matching with the greatest
    Σ μ_e + sqrt(2 f σ² (1 + λ) Σ 1/n_e), f = log t + (m + 2) log log t + (m/2) log(1 + e/λ), with m pairs a round.

    Every matching is looked at: up to 10 players, or 1000 matchings of rows and columns.

    Parameters
    ----------
    lam : float, default 1
        λ, from 10^-6 to 10^6; a small one has a small factor 1 + λ and a large constant in f.
    """

    name: ClassVar[str] = "ols-ucb"
    summary: ClassVar[str] = "one radius for a whole matching, for independent rewards"
    reference: ClassVar[str] = "Degenne & Perchet 2016"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        proved=("regret",),
        warm_start=True,
        constrained=True,
        max_matchings=MAX_MATCHINGS,
    )
    oracle = "enumerate"
    choose = staticmethod(choose)

    def __init__(self, setting: Setting, rng: np.random.Generator, *, lam: float = 1.0) -> None:
        """Nothing played yet."""
        if not 1e-6 <= check_float("lam", lam) <= 1e6:
            raise MatchbanditError(f"lam must be positive, from 1e-6 to 1e6; got {lam!r}. 1 is usual.")
        super().__init__(setting, rng, lam=float(lam))

    def params(self) -> Params:
        """2σ² (1 + λ), the weight of log log t, and what f has besides."""
        size, lam = self.graph.matching_size, self.options["lam"]
        return Params(2 * self.setting.rewards.sigma**2 * (1 + lam), size + 2.0, size / 2 * log(1 + e / lam))

    def index(self, arrays: Arrays, values: Floats) -> int:
        """One radius for a whole matching."""
        return int(indices(arrays, values))
