"""Rank1ElimKL: Rank1Elim with Kullback–Leibler intervals."""

from math import log
from typing import ClassVar

import numpy as np

from matchbandit.kl import kl_lower, kl_upper
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.pair.ledger import Interval
from matchbandit.policies.pair.rank1_elim import Rank1Elim
from matchbandit.rewards import Floats


class Rank1ElimKL(Rank1Elim):
    """Rank1ElimKL [Katariya2017b].

    As Rank1Elim, with stages of n_l = ceil(16 · 4^l log T) samples and the Bernoulli intervals
    {q : n_l kl(mean, q) ≤ log T + 3 log log T}, which are narrow near 0 and 1. The constants are recalled from the
    literature rather than read.
    """

    name: ClassVar[str] = "rank1-elim-kl"
    summary: ClassVar[str] = "Rank1Elim with Kullback–Leibler intervals"
    reference: ClassVar[str] = "[Katariya2017b], Rank1ElimKL"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair",), graphs=("bipartite",), proved=("regret",), unit_rewards=True, horizon=True,
        eliminates=True,
        assumes_product=True,
    )  # fmt: skip
    first_stage: ClassVar[int] = 16

    def _interval(self, samples: int) -> Interval:
        """{q : n kl(mean, q) ≤ log T + 3 log log T}."""
        budget = (self.log_horizon + 3 * log(max(self.log_horizon, 1.0))) / samples

        def interval(means: Floats) -> tuple[Floats, Floats]:
            return np.array([kl_lower(p, budget) for p in means]), np.array([kl_upper(p, budget) for p in means])

        return interval
