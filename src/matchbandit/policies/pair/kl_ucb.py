"""KL-UCB: optimism with Kullback–Leibler bounds, on every pair for itself."""

from math import log
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.allowed import Allowed
from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Pairs
from matchbandit.kl import kl_upper
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.policies.decision import Decision, best_pair
from matchbandit.policies.explanation import pair_record
from matchbandit.rewards import Counts, Floats


class Arrays(NamedTuple):
    """What KL-UCB remembers of each pair, by edge."""

    plays: Counts
    sums: Floats


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Counts) -> None:
    """Each pair once, then the largest upper bound (ties: the lowest index)."""
    plays, sums, t = arrays.plays, arrays.sums, 0
    for edge in range(len(plays)):
        t += plays[edge]
        if plays[edge] == 0:
            edges[0] = edge
            return
    level, highest = exploration(t + 1), -1.0
    for edge in range(len(plays)):
        bound = kl_upper(sums[edge] / plays[edge], level / plays[edge])
        if bound > highest:
            highest = bound
            edges[0] = edge


@compiled
def upper_bounds(arrays: Arrays, bounds: Floats) -> None:
    """Write down the upper bound of each pair; 1 before its first play."""
    plays, sums, t = arrays.plays, arrays.sums, 0
    for edge in range(len(plays)):
        t += plays[edge]
    level = exploration(t + 1)
    for edge in range(len(plays)):
        bounds[edge] = kl_upper(sums[edge] / plays[edge], level / plays[edge]) if plays[edge] > 0 else 1.0


@compiled
def exploration(t: int) -> float:
    """log t + 3 log log t, with log log t at least 0."""
    return float(log(t) + 3 * log(max(log(t), 1.0)))


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Counts, rewards: Floats) -> None:
    """Count the play and its reward."""
    arrays.plays[edges[0]] += 1
    arrays.sums[edges[0]] += rewards[0]


class KlUcb(CountsPolicy):
    """KL-UCB [GarivierCappe2011] with every pair an arm of its own: the yardstick that is blind to the structure.

    Each pair once, in index order. Then, in round t, the pair with the largest
    max{q : n kl(mean, q) ≤ log t + 3 log log t}, with the Bernoulli kl; valid for all rewards in [0, 1].
    """

    name: ClassVar[str] = "kl-ucb"
    summary: ClassVar[str] = "optimism on every pair for itself, blind to the structure"
    reference: ClassVar[str] = "Garivier & Cappé 2011"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair",),
        proved=("regret",),
        unit_rewards=True,
        warm_start=True,
        constrained=True,
    )
    choose = staticmethod(choose)
    update = staticmethod(update)

    def start(self) -> Arrays:
        """No plays."""
        return Arrays(np.zeros(self.graph.n_pairs, dtype=np.int64), np.zeros(self.graph.n_pairs))

    def _decision(self, allowed: Allowed, waiting: Edges, rng: np.random.Generator) -> Decision:
        arrays, bounds = self._count_waiting(waiting), np.empty(self.graph.n_pairs)
        upper_bounds(arrays, bounds)
        return best_pair(allowed, bounds, arrays.plays == 0)

    def recommend(self) -> Pairs:
        """The pair with the best empirical mean (ties: the lowest index)."""
        return self.graph.pairs[[int(np.argmax(self.arrays.sums / np.maximum(1, self.arrays.plays)))]]

    def explain_extra(self) -> dict[str, Any]:
        """The upper bound of each pair."""
        plays, sums = self.arrays
        bounds = np.empty(len(plays))
        upper_bounds(self.arrays, bounds)
        return {
            "pairs": [
                pair_record(
                    pair,
                    plays=int(n),
                    estimate=float(s / n) if n else None,
                    upper_bound=bound,
                )
                for pair, n, s, bound in zip(self.graph.pairs.tolist(), plays, sums, bounds.tolist(), strict=True)
            ]
        }
