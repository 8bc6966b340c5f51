"""OLS-UCB: one radius for a whole matching, for rewards that are independent."""

from dataclasses import replace
from math import e, log
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.index_policy import JointIndexPolicy, exploration, joint_bounds
from matchbandit.policies.options import between
from matchbandit.rewards import Counts, Floats


class OlsUcbParams(NamedTuple):
    """What only OLS-UCB needs."""

    scale: float
    """2σ² (1 + λ)."""
    weight: float
    """The factor of log log t."""
    offset: float
    """The constant in f."""


@compiled
def joint_index(plays: Counts, sums: Floats, t: int, params: OlsUcbParams, matchings: Edges, values: Floats) -> int:
    """Σ μ_e + sqrt(2 f σ² (1 + λ) Σ 1/n_e)."""
    return joint_bounds(plays, sums, matchings, params.scale * (exploration(t, params.weight) + params.offset), values)


class OlsUcb(JointIndexPolicy):
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
    capabilities: ClassVar[Capabilities] = replace(JointIndexPolicy.capabilities, proved=("regret",))
    index = staticmethod(joint_index)

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        lam: Annotated[float, between("lam", 1e-6, 1e6, "1 is usual.")] = 1.0,
    ) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng)

    def params(self) -> OlsUcbParams:
        """2σ² (1 + λ), the weight of log log t, and the constant in f."""
        size, lam = self.graph.matching_size, self.options["lam"]
        return OlsUcbParams(2 * self.setting.rewards.sigma**2 * (1 + lam), size + 2.0, size / 2 * log(1 + e / lam))
