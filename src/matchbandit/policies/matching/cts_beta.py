"""CTS-Beta: a draw from every pair's Beta posterior, and the best matching for these draws."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.combinatorial import CombinatorialArrays
from matchbandit.policies.index_policy import IndexPolicy
from matchbandit.policies.round_policy import succeeds
from matchbandit.rewards import Counts, Floats


@compiled
def beta_draws(
    plays: Counts, wins: Floats, t: int, params: tuple[()], rng: np.random.Generator, weights: Floats
) -> None:
    """Draws from Beta(1 + S_e, 1 + F_e), edge by edge."""
    for edge in range(len(weights)):
        weights[edge] = rng.beta(1.0 + wins[edge], 1.0 + plays[edge] - wins[edge])


@compiled
def update(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays and, by a coin flip unless the reward is 0 or 1, successes."""
    for k in range(len(edges)):
        arrays.plays[edges[k]] += 1
        if succeeds(rewards[k], rng):
            arrays.sums[edges[k]] += 1.0
    arrays.total[0] += len(edges)


class CtsBeta(IndexPolicy):
    """CTS [WangChen2018], CTS-Beta [Perrault2020].

    Every round, θ_e ~ Beta(1 + S_e, 1 + F_e) for each pair, S_e successes and F_e failures so far; the matching with
    the greatest sum of θ_e is played. The uniform prior stands in for a first play of each pair.

    A reward strictly between 0 and 1 is a success with that probability, and only successes are kept: `sums` holds
    S_e, and estimates and the recommendation are those of S_e / n_e. A warm start rounds what a pair paid to the
    nearest number of successes.
    """

    name: ClassVar[str] = "cts-beta"
    summary: ClassVar[str] = "the best matching for draws from every pair's Beta posterior"
    reference: ClassVar[str] = "Wang & Chen 2018; Perrault et al. 2020"
    capabilities: ClassVar[Capabilities] = replace(IndexPolicy.capabilities, proved=("regret",), unit_rewards=True)
    plays_all_first: ClassVar[bool] = False
    draws: ClassVar[bool] = True
    index = staticmethod(beta_draws)
    update = staticmethod(update)

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Count logged results, as the nearest numbers of successes."""
        super().add_logged(edges, counts, np.rint(sums))

    def encode_rewards(self, rewards: ArrayLike, rng: np.random.Generator) -> Floats:
        """A coin flip for each reward strictly between 0 and 1: success or failure."""
        received = super().encode_rewards(rewards, rng)
        for k, reward in enumerate(received.tolist()):
            if 0.0 < reward < 1.0:
                received[k] = float(succeeds(reward, rng))
        return received

    def pair_details(self) -> dict[str, list[Any]]:
        """The posterior."""
        wins, plays = self.arrays.sums.astype(int).tolist(), self.arrays.plays.tolist()
        return {"posterior": [{"beta": [1 + s, 1 + n - s]} for s, n in zip(wins, plays, strict=True)]}
