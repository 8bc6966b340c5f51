"""What policies share that keep an average of every pair and look for the best matching by an index of theirs."""

from collections.abc import Callable
from math import log, sqrt
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError, unknown
from matchbandit.graphs import Edges, Pairs
from matchbandit.policies.explanation import pair_record
from matchbandit.policies.round_policy import RoundPolicy
from matchbandit.rewards import Counts, Floats
from matchbandit.schedules import all_meet
from matchbandit.solvers import MOST_MATCHINGS, all_matchings, best_matching, count_matchings

TIE = 1e-10
"""Matchings whose indices differ by less are tied: rounding must not decide between equals."""
EXPLORATIONS = ("log", "full")


class Arrays(NamedTuple):
    """What a combinatorial policy remembers; plays and sums by edge."""

    plays: Counts
    sums: Floats
    total: Counts
    """All plays together, shape (1,)."""
    opening: Edges
    """Rounds in which every pair meets once, shape (rounds, pairs a round)."""
    matchings: Edges
    """All matchings, shape (matchings, pairs a matching); none where they are too many."""
    own: Any
    """A NamedTuple of what only this policy needs, see `CombinatorialPolicy.own`."""


@compiled
def open_round(arrays: Arrays, edges: Edges) -> bool:
    """Write down the first opening round that has an unplayed pair; False if every pair has been played."""
    plays, opening = arrays.plays, arrays.opening
    for r in range(len(opening)):
        for k in range(len(edges)):
            if plays[opening[r, k]] == 0:
                for i in range(len(edges)):
                    edges[i] = opening[r, i]
                return True
    return False


@compiled
def heaviest(matchings: Edges, weights: Floats, edges: Edges) -> None:
    """Write down the matching with the greatest sum of weights (ties: the first)."""
    best, highest = 0, -np.inf
    for k in range(len(matchings)):
        total = 0.0
        for i in range(len(edges)):
            total += weights[matchings[k, i]]
        if total > highest:
            best, highest = k, total
    for i in range(len(edges)):
        edges[i] = matchings[best, i]


@compiled
def exploration(arrays: Arrays, weight: float) -> float:
    """log t + weight · log log t, with log log t at least 0.

    t is the number of this round: from 1, and by plays, so that it goes on after a warm start.
    """
    log_t = log(arrays.total[0] // arrays.opening.shape[1] + 1)
    return log_t + weight * log(log_t) if log_t > 1.0 else log_t


@compiled
def joint_bounds(arrays: Arrays, level: float, bounds: Floats) -> int:
    """Write down Σ μ_e + sqrt(level · Σ 1/n_e) for every matching, and say where it is greatest (ties: the first)."""
    n_pairs, matchings, best = len(arrays.plays), arrays.matchings, 0
    means, inverses = np.empty(n_pairs), np.empty(n_pairs)
    for edge in range(n_pairs):  # divided once, for a pair is in many matchings
        means[edge] = arrays.sums[edge] / arrays.plays[edge]
        inverses[edge] = 1.0 / arrays.plays[edge]
    for k in range(len(bounds)):
        value, spread = 0.0, 0.0
        for i in range(matchings.shape[1]):
            edge = matchings[k, i]
            value += means[edge]
            spread += inverses[edge]
        bounds[k] = value + sqrt(level * spread)
        if bounds[k] > bounds[best] + TIE:
            best = k
    return best


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays and rewards."""
    for k in range(len(edges)):
        arrays.plays[edges[k]] += 1
        arrays.sums[edges[k]] += rewards[k]
    arrays.total[0] += len(edges)


def log_log_weight(exploration: str, size: int) -> float:
    """What log log t is multiplied by: nothing in "log", 4 m in "full"."""
    if not isinstance(exploration, str) or exploration not in EXPLORATIONS:
        raise unknown("exploration", exploration, EXPLORATIONS)
    return 4.0 * size if exploration == "full" else 0.0


class CombinatorialPolicy(RoundPolicy):
    """Keeps plays and rewards of every pair, and plays the matching that its oracle finds best by some index.

    The oracle is one of

    - "solver": the index of a matching is a sum of weights, which the compiled `weigh(arrays, rng, weights)` writes
      down. Where matchings are few, `choose` looks at each in compiled code; beyond, `best_matching` calls a blossom or
      an assignment solver, which compiled code cannot, and rounds are played through ask and tell.
    - "enumerate": the index is no sum, so that every matching is looked at; graphs with too many are refused.
    - "own": `choose` finds the matching in a way of its own.
    """

    oracle: ClassVar[Literal["solver", "enumerate", "own"]]
    opens: ClassVar[bool] = True
    """Every pair is played once before anything else, in rounds of a tour."""
    derived: ClassVar[tuple[str, ...]] = ("opening", "matchings")
    update: ClassVar[Callable[..., None]] = staticmethod(update)
    weigh: ClassVar[Callable[..., None]]

    @property
    def enumerates(self) -> bool:
        """Does it look at every matching?"""
        return self.oracle != "own" and count_matchings(self.graph) <= MOST_MATCHINGS

    @property
    def compiled(self) -> bool:
        """Unless it needs a solver."""
        return self.oracle != "solver" or self.enumerates

    def own(self) -> Any:
        """A NamedTuple of what only this policy needs: fixed numbers, and arrays that change; () for nothing."""
        return ()

    def start(self) -> Arrays:
        """No plays; a graph with too many matchings is refused if each has to be looked at."""
        graph, size = self.graph, self.graph.matching_size
        if self.oracle == "enumerate" and not self.enumerates:
            raise MatchbanditError(
                f"{self.name} looks at every matching, and {graph} has {count_matchings(graph)} of them "
                f"(at most {MOST_MATCHINGS}: 10 players, 6 × 6 rows and columns). "
                f"Take cucb or cts-beta, which call a solver, or rank1-thompson."
            )
        no_rounds = np.zeros((0, size), dtype=np.int64)
        return Arrays(
            plays=np.zeros(graph.n_pairs, dtype=np.int64),
            sums=np.zeros(graph.n_pairs),
            total=np.zeros(1, dtype=np.int64),
            opening=all_meet(graph) if self.opens else no_rounds,
            matchings=all_matchings(graph).copy() if self.enumerates else no_rounds,
            own=self.own(),
        )

    def _next(self) -> Edges:
        if self.compiled:
            return super()._next()
        edges = np.zeros(self.round_size, dtype=np.int64)
        if self.opens and open_round(self.arrays, edges):
            return edges
        return best_matching(self.graph, self.weights())

    def weights(self) -> Floats:
        """The weights of all pairs that `weigh` gives now."""
        weights = np.zeros(self.graph.n_pairs)
        type(self).weigh(self.arrays, self.rng, weights)
        return weights

    def recommend(self) -> Pairs:
        """The best matching for the empirical means."""
        return self.graph.pairs[best_matching(self.graph, self.means())]

    def means(self) -> Floats:
        """The empirical means; 0 before the first play."""
        return np.asarray(self.arrays.sums / np.maximum(1, self.arrays.plays))

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results."""
        super().take(edges, counts, sums)
        self.arrays.total[0] += counts.sum()

    def reasons(self) -> dict[str, Any]:
        """The plays and the average of each pair, and what `of_pairs` adds."""
        told, more = zip(self.graph.pairs.tolist(), self.arrays.plays, self.means(), strict=True), self.of_pairs()
        return {
            "pairs": [
                pair_record(
                    pair,
                    plays=int(n),
                    estimate=float(mean) if n else None,
                    **{key: values[edge] for key, values in more.items()},
                )
                for edge, (pair, n, mean) in enumerate(told)
            ]
        }

    def of_pairs(self) -> dict[str, list[Any]]:
        """What `explain` says of the pairs beyond plays and estimate, by edge."""
        return {}
