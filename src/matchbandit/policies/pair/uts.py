"""UTS: Thompson sampling among the pairs that share a row or a column with the leader."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.errors import whole_number
from matchbandit.graphs import Edges, Pairs
from matchbandit.policies.base import Setting
from matchbandit.policies.fits import Fits
from matchbandit.policies.round_policy import RoundPolicy
from matchbandit.rewards import Counts, Floats, succeeds


class Arrays(NamedTuple):
    """What UTS remembers of each pair, by edge."""

    plays: Counts
    sums: Floats
    wins: Counts
    """Successes; a reward strictly between 0 and 1 is one with that probability."""
    leads: Counts
    """How often the pair was the leader."""
    constants: Counts
    """The number of columns, and γ."""


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Counts) -> None:
    """Each pair once; then the leader at every γ-th time that it leads, else the best Beta draw around it."""
    for edge in range(len(arrays.plays)):
        if arrays.plays[edge] == 0:
            edges[0] = edge
            return
    leader = find_leader(arrays.sums / arrays.plays, rng)
    arrays.leads[leader] += 1
    n_columns, gamma = arrays.constants
    edges[0] = leader if arrays.leads[leader] % gamma == 0 else best_draw(arrays, leader, n_columns, rng)


@compiled
def find_leader(means: Floats, rng: np.random.Generator) -> int:
    """The pair with the best mean, ties at random."""
    best = means.max()
    skip = rng.integers(0, (means == best).sum())
    for edge in range(len(means)):
        if means[edge] == best:
            if skip == 0:
                break
            skip -= 1
    return edge


@compiled
def best_draw(arrays: Arrays, leader: int, n_columns: int, rng: np.random.Generator) -> int:
    """The pair with the largest draw from its Beta posterior, among the leader's row and column."""
    best, highest = leader, -1.0
    first = leader - leader % n_columns
    for k in range(n_columns + len(arrays.plays) // n_columns):
        edge = first + k if k < n_columns else leader % n_columns + (k - n_columns) * n_columns
        if k < n_columns or edge != leader:
            draw = rng.beta(1.0 + arrays.wins[edge], 1.0 + arrays.plays[edge] - arrays.wins[edge])
            if draw > highest:
                best, highest = edge, draw
    return best


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Counts, rewards: Floats) -> None:
    """Count the play, its reward and, by a coin flip unless it is 0 or 1, its success."""
    edge, reward = edges[0], rewards[0]
    arrays.plays[edge] += 1
    arrays.sums[edge] += reward
    if succeeds(reward, rng):
        arrays.wins[edge] += 1


class Uts(RoundPolicy):
    """Trinh et al. 2020 (UTS, unimodal Thompson sampling for rank-1 bandits).

    Each pair once, in index order. Then, every round, the leader is the pair with the best empirical mean (ties at
    random). At every γ-th time that the same pair leads it is played; otherwise draws from Beta(1 + S, 1 + F) are
    made for all pairs in the leader's row and column, the leader among them, and the largest is played.

    The mean of every pair but the best can be raised by changing its row or its column alone, so that looking around
    the leader suffices. Rewards strictly between 0 and 1 count as a success with that probability in S and F, as they
    are in the means.

    Options: `gamma` is γ; 1 always plays the leader, and explores nothing.
    """

    name: ClassVar[str] = "uts"
    summary: ClassVar[str] = "Thompson sampling in the row and the column of the leader"
    reference: ClassVar[str] = "Trinh et al. 2020"
    fits: ClassVar[Fits] = Fits(
        selections=("pair",), graphs=("bipartite",), proved=("regret",), unit_rewards=True, warm_start=True
    )
    arrays_type = Arrays
    choose = staticmethod(choose)
    update = staticmethod(update)

    def __init__(self, setting: Setting, rng: np.random.Generator, *, gamma: int = 2) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng, gamma=whole_number("gamma", gamma, least=1, most=10**9))

    def start(self) -> Arrays:
        """No plays, no wins, no leaders."""
        counts = np.zeros((3, self.graph.n_pairs), dtype=np.int64)
        constants = np.array([self.graph.shape[1], self.options["gamma"]])
        return Arrays(counts[0].copy(), np.zeros(self.graph.n_pairs), counts[1].copy(), counts[2].copy(), constants)

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        super().take(edges, counts, sums)
        self.arrays.wins[edges] += np.rint(sums).astype(np.int64)  # the nearest number of successes

    def recommend(self) -> Pairs:
        """The pair with the best empirical mean (ties: the lowest index)."""
        plays, sums = self.arrays.plays, self.arrays.sums
        return self.graph.pairs[[int(np.argmax(sums / np.maximum(1, plays)))]]

    def reasons(self) -> dict[str, Any]:
        plays, sums, wins, leads, _ = self.arrays
        return {
            "pairs": [
                {
                    "pair": pair,
                    "plays": int(plays[edge]),
                    "estimate": float(sums[edge] / plays[edge]) if plays[edge] else None,
                    "posterior": {"beta": [1 + int(wins[edge]), 1 + int(plays[edge] - wins[edge])]},
                    "leads": int(leads[edge]),
                }
                for edge, pair in enumerate(self.graph.pairs.tolist())
            ]
        }
