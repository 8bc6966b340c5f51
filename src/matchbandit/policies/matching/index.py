"""What policies share that keep an average of every pair and look for the best matching by an index of theirs."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Pairs
from matchbandit.policies.round_policy import RoundPolicy
from matchbandit.rewards import Counts, Floats
from matchbandit.schedules import all_meet
from matchbandit.solvers import MOST_MATCHINGS, all_matchings, best_matching, count_matchings


class Arrays(NamedTuple):
    """What an index policy remembers; plays and sums by edge.

    A policy that remembers more has a NamedTuple of its own that begins with these, and shares the functions below.
    """

    plays: Counts
    sums: Floats
    total: Counts
    """All plays together, shape (1,)."""
    opening: Edges
    """Rounds in which every pair meets once, shape (rounds, pairs a round)."""
    matchings: Edges
    """All matchings, shape (matchings, pairs a round); none where they are too many."""
    constants: Floats
    """The policy's own."""


@compiled
def open_round(arrays: Any, edges: Edges) -> bool:
    """Write down the first opening round that has an unplayed pair; False if every pair has been played."""
    if arrays.plays.min() > 0:
        return False
    for r in range(len(arrays.opening)):
        for edge in arrays.opening[r]:
            if arrays.plays[edge] == 0:
                edges[:] = arrays.opening[r]
                return True
    return False


@compiled
def clock(arrays: Any) -> int:
    """t, the number of this round: from 1, and by plays, so that it goes on after a warm start."""
    return int(arrays.total[0] // arrays.opening.shape[1] + 1)


@compiled
def heaviest(matchings: Edges, weights: Floats, edges: Edges) -> None:
    """Write down the matching with the greatest sum of weights (ties: the first)."""
    best, highest = 0, -np.inf
    for k in range(len(matchings)):
        total = 0.0
        for edge in matchings[k]:
            total += weights[edge]
        if total > highest:
            best, highest = k, total
    edges[:] = matchings[best]


@compiled
def update(arrays: Any, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays and rewards."""
    for k in range(len(edges)):
        arrays.plays[edges[k]] += 1
        arrays.sums[edges[k]] += rewards[k]
    arrays.total[0] += len(edges)


class IndexPolicy(RoundPolicy):
    """Keeps plays and rewards of every pair; every pair is played once before anything else, in rounds of a tour."""

    arrays_type: ClassVar[type[tuple[Any, ...]]] = Arrays
    update: ClassVar[Callable[..., None]] = staticmethod(update)

    looks_at_each: ClassVar[bool] = True
    """It looks at every matching where they are few."""

    @property
    def enumerates(self) -> bool:
        """Are the matchings few enough to look at each?"""
        return self.looks_at_each and count_matchings(self.graph) <= MOST_MATCHINGS

    def constants(self) -> list[float]:
        """What the index needs besides plays and sums."""
        return []

    def start(self) -> Any:
        """No plays."""
        size = self.graph.matching_size
        return Arrays(
            plays=np.zeros(self.graph.n_pairs, dtype=np.int64),
            sums=np.zeros(self.graph.n_pairs),
            total=np.zeros(1, dtype=np.int64),
            opening=all_meet(self.graph),
            matchings=all_matchings(self.graph).copy() if self.enumerates else np.zeros((0, size), dtype=np.int64),
            constants=np.array(self.constants(), dtype=np.float64),
        )

    def recommend(self) -> Pairs:
        """The best matching for the empirical means."""
        return self.graph.pairs[best_matching(self.graph, self.means())]

    def means(self) -> Floats:
        """The empirical means; 0 before the first play."""
        return np.asarray(self.arrays.sums / np.maximum(1, self.arrays.plays))

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        super().take(edges, counts, sums)
        self.arrays.total[0] += counts.sum()

    def _memory(self) -> dict[str, Any]:
        fixed = ("opening", "matchings", "constants")
        return {name: part for name, part in super()._memory().items() if name not in fixed}

    def _remember(self, memory: dict[str, Any]) -> None:
        self.arrays = self.arrays._replace(**memory)

    def reasons(self) -> dict[str, Any]:
        return {
            "pairs": [
                {"pair": pair, "plays": int(n), "estimate": float(mean) if n else None, **more}
                for pair, n, mean, more in zip(
                    self.graph.pairs.tolist(), self.arrays.plays, self.means(), self._of_pairs(), strict=True
                )
            ]
        }

    def _of_pairs(self) -> list[dict[str, Any]]:
        """What `explain` says of each pair beyond plays and estimate."""
        return [{} for _ in range(self.graph.n_pairs)]


class SolverPolicy(IndexPolicy):
    """Asks for the best matching for some weights: in compiled code where matchings are few, else by a solver.

    Compiled code cannot call a blossom or an assignment solver, so rounds are then played through ask and tell.
    """

    @property
    def compiled(self) -> bool:
        """Where the matchings are enumerated."""
        return self.enumerates


class AdditivePolicy(SolverPolicy):
    """The index of a matching is the sum of its pairs' weights: any solver finds the best.

    `weigh(arrays, rng, weights)`, compiled, writes down the weights. Where matchings are few, `choose` looks at each in
    compiled code; elsewhere a blossom or an assignment solver is called, which compiled code cannot.
    """

    weigh: ClassVar[Callable[..., None]]

    def _next(self) -> Edges:
        if self.enumerates:
            return super()._next()
        edges = np.zeros(self.round_size, dtype=np.int64)
        if not open_round(self.arrays, edges):
            weights = np.zeros(self.graph.n_pairs)
            type(self).weigh(self.arrays, self.rng, weights)
            edges = best_matching(self.graph, weights)
        return edges


class EnumeratingPolicy(IndexPolicy):
    """The index of a matching is no sum over its pairs: every matching has to be looked at."""

    def start(self) -> Any:
        """No plays; graphs with too many matchings are refused."""
        if not self.enumerates:
            raise MatchbanditError(
                f"{self.name} looks at every matching, and {self.graph} has {count_matchings(self.graph)} of them "
                f"(at most {MOST_MATCHINGS}: 10 players, 6 × 6 rows and columns). "
                f"Take cucb or cts-beta, which call a solver, or rank1-thompson."
            )
        return super().start()
