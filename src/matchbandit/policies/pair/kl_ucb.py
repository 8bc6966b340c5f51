"""KL-UCB: optimism with Kullback–Leibler bounds, on every pair for itself."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.kl import kl_upper
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.index_policy import IndexPolicy, exploration
from matchbandit.rewards import Counts, Floats


@compiled
def upper_bounds(
    plays: Counts, sums: Floats, t: int, params: tuple[()], rng: np.random.Generator, bounds: Floats
) -> None:
    """max{q : n_e kl(μ_e, q) ≤ log t + 3 log log t}; 1 before the first play."""
    level = exploration(t, 3.0)
    for edge in range(len(bounds)):
        bounds[edge] = kl_upper(sums[edge] / plays[edge], level / plays[edge]) if plays[edge] > 0 else 1.0


class KlUcb(IndexPolicy):
    """KL-UCB [GarivierCappe2011] with every pair an arm of its own: the yardstick that is blind to the structure.

    Each pair once, in index order. Then, in round t, the pair with the largest
    max{q : n kl(mean, q) ≤ log t + 3 log log t}, with the Bernoulli kl; valid for all rewards in [0, 1].
    """

    name: ClassVar[str] = "kl-ucb"
    summary: ClassVar[str] = "optimism on every pair for itself, blind to the structure"
    reference: ClassVar[str] = "Garivier & Cappé 2011"
    capabilities: ClassVar[Capabilities] = replace(
        IndexPolicy.capabilities, selections=("pair",), proved=("regret",), unit_rewards=True
    )
    index = staticmethod(upper_bounds)

    def pair_details(self) -> dict[str, list[Any]]:
        """The upper bound of each pair."""
        return {"upper_bound": self.weights().tolist()}
