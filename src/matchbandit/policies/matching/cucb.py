"""CUCB: an optimistic weight for every pair, and the best matching for these weights."""

from dataclasses import replace
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.index_policy import IndexPolicy, exploration
from matchbandit.rewards import Counts, Floats


@compiled
def upper_bounds(plays: Counts, sums: Floats, t: int, scale: float, rng: np.random.Generator, weights: Floats) -> None:
    """μ_e + scale · sqrt(1.5 log t / n_e)."""
    level = 1.5 * exploration(t, 0.0)
    for edge in range(len(weights)):
        weights[edge] = sums[edge] / plays[edge] + scale * sqrt(level / plays[edge])


class Cucb(IndexPolicy):
    """CUCB [Chen2013], CombUCB1 [Kveton2015].

    Every pair once, in the rounds of a tour; then, in round t, the matching with the greatest sum of
    μ_e + sqrt(1.5 log t / n_e). For σ-sub-Gaussian rewards the radius is multiplied by 2σ.
    """

    name: ClassVar[str] = "cucb"
    summary: ClassVar[str] = "the matching with the greatest sum of upper bounds"
    reference: ClassVar[str] = "Chen et al. 2013; Kveton et al. 2015"
    capabilities: ClassVar[Capabilities] = replace(IndexPolicy.capabilities, proved=("regret",))
    index = staticmethod(upper_bounds)

    def params(self) -> float:
        """2σ."""
        return 2 * self.setting.rewards.sigma

    def pair_details(self) -> dict[str, list[Any]]:
        """The upper bound, once every pair was played."""
        return {"upper_bound": self.weights().tolist()} if self.arrays.plays.all() else {}
