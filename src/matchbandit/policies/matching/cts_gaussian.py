"""CTS-Gaussian: a normal draw around every pair's mean, and the best matching for these draws."""

from dataclasses import replace
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.index_policy import IndexPolicy
from matchbandit.rewards import Counts, Floats


@compiled
def normal_draws(plays: Counts, sums: Floats, t: int, sigma: float, rng: np.random.Generator, weights: Floats) -> None:
    """Draws from N(μ_e, σ²/n_e), edge by edge."""
    for edge in range(len(weights)):
        n = plays[edge]
        weights[edge] = sums[edge] / n + sigma / sqrt(n) * rng.standard_normal()


class CtsGaussian(IndexPolicy):
    """CTS-Gaussian [Perrault2020], after CTS [WangChen2018].

    Every pair once, in the rounds of a tour; then, every round, θ_e ~ N(μ_e, σ²/n_e) for each pair, independent, and
    the matching with the greatest sum of θ_e is played. σ is the sub-Gaussian constant of the rewards: 1/2 if they are
    Bernoulli.
    """

    name: ClassVar[str] = "cts-gaussian"
    summary: ClassVar[str] = "the best matching for normal draws around every pair's mean"
    reference: ClassVar[str] = "Perrault et al. 2020; Wang & Chen 2018"
    capabilities: ClassVar[Capabilities] = replace(IndexPolicy.capabilities, proved=("regret",))
    draws: ClassVar[bool] = True
    index = staticmethod(normal_draws)

    def params(self) -> float:
        """σ."""
        return self.setting.rewards.sigma

    def pair_details(self) -> dict[str, list[Any]]:
        """σ/√n_e."""
        sigma = self.setting.rewards.sigma
        return {"deviation": [sigma / sqrt(n) if n else None for n in self.arrays.plays.tolist()]}
