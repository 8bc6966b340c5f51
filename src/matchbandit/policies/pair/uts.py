"""UTS: Thompson sampling among the pairs that share a row or a column with the leader."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Pairs
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.explanation import pair_record
from matchbandit.policies.options import whole_between
from matchbandit.policies.round_policy import RoundPolicy, succeeds
from matchbandit.rewards import Counts, Floats

Gamma = Annotated[int, whole_between("gamma", 1, 10**9)]
"""γ: the leader is played at every γ-th time that it leads."""


class UtsArrays(NamedTuple):
    """What UTS remembers of each pair, by edge."""

    plays: Counts
    sums: Floats
    wins: Counts
    """Successes; a reward strictly between 0 and 1 is one with that probability."""
    leads: Counts
    """How often the pair was the leader."""
    n_columns: int
    gamma: int
    """γ."""


@compiled
def choose(arrays: UtsArrays, rng: np.random.Generator, edges: Counts) -> None:
    """Each pair once; then the leader at every γ-th time that it leads, else the best Beta draw around it.

    The leader is the pair with the best mean, ties at random.
    """
    plays, sums, wins = arrays.plays, arrays.sums, arrays.wins
    best, ties = -1.0, 0
    for edge in range(len(plays)):
        if plays[edge] == 0:
            edges[0] = edge
            return
        mean = sums[edge] / plays[edge]
        ties = 1 if mean > best else ties + 1 if mean == best else ties
        best = max(best, mean)
    skip, leader = rng.integers(0, ties), -1
    while skip >= 0:
        leader += 1
        skip -= 1 if sums[leader] / plays[leader] == best else 0
    arrays.leads[leader] += 1
    edges[0] = leader
    if arrays.leads[leader] % arrays.gamma == 0:
        return
    width, row, column = arrays.n_columns, leader // arrays.n_columns, leader % arrays.n_columns
    highest = -1.0
    for k in range(width + len(plays) // width):  # first the leader's row, then its column
        edge = row * width + k if k < width else column + (k - width) * width
        if k < width or edge != leader:
            draw = rng.beta(1.0 + wins[edge], 1.0 + plays[edge] - wins[edge])
            if draw > highest:
                edges[0], highest = edge, draw


@compiled
def update(arrays: UtsArrays, rng: np.random.Generator, edges: Counts, rewards: Floats) -> None:
    """Count the play, its reward and, by a coin flip unless it is 0 or 1, its success."""
    edge, reward = edges[0], rewards[0]
    arrays.plays[edge] += 1
    arrays.sums[edge] += reward
    if succeeds(reward, rng):
        arrays.wins[edge] += 1


class Uts(RoundPolicy):
    """UTS, unimodal Thompson sampling for rank-1 bandits [Trinh2020].

    Each pair once, in index order. Then, every round, the leader is the pair with the best empirical mean (ties at
    random). At every γ-th time that the same pair leads it is played; otherwise draws from Beta(1 + S, 1 + F) are
    made for all pairs in the leader's row and column, the leader among them, and the largest is played.

    The mean of every pair but the best can be raised by changing its row or its column alone, so that looking around
    the leader suffices. Rewards strictly between 0 and 1 count as a success with that probability in S and F, as they
    are in the means.

    Parameters
    ----------
    gamma : int, default 2
        γ; 1 always plays the leader, and explores nothing.
    """

    name: ClassVar[str] = "uts"
    summary: ClassVar[str] = "Thompson sampling in the row and the column of the leader"
    reference: ClassVar[str] = "Trinh et al. 2020"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair",),
        graphs=("bipartite",),
        proved=("regret",),
        unit_rewards=True,
        warm_start=True,
        assumes_product=True,
    )
    choose = staticmethod(choose)
    update = staticmethod(update)

    def __init__(self, setting: Setting, rng: np.random.Generator, *, gamma: Gamma = 2) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng)

    def start(self) -> UtsArrays:
        """No plays, no wins, no leaders."""
        counts = np.zeros((3, self.graph.n_pairs), dtype=np.int64)
        return UtsArrays(
            counts[0].copy(),
            sums=np.zeros(self.graph.n_pairs),
            wins=counts[1].copy(),
            leads=counts[2].copy(),
            n_columns=self.graph.shape[1],
            gamma=self.options["gamma"],
        )

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Count logged results, with the nearest numbers of successes."""
        super().add_logged(edges, counts, sums)
        self.arrays.wins[edges] += np.rint(sums).astype(np.int64)

    def recommend(self) -> Pairs:
        """The pair with the best empirical mean (ties: the lowest index)."""
        plays, sums = self.arrays.plays, self.arrays.sums
        return self.graph.pairs[[int(np.argmax(sums / np.maximum(1, plays)))]]

    def explain_extra(self) -> dict[str, Any]:
        """The posterior of each pair, and how often it led."""
        columns = zip(self.graph.pairs.tolist(), *self.arrays[:4], strict=True)
        return {
            "pairs": [
                pair_record(
                    pair,
                    plays=int(n),
                    estimate=float(total / n) if n else None,
                    posterior={"beta": [1 + int(won), 1 + int(n - won)]},
                    leads=int(led),
                )
                for pair, n, total, won, led in columns
            ]
        }
