"""What policies share that keep an average of every pair and look for the best matching by an index of theirs."""

from collections.abc import Callable
from math import log, sqrt
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.allowed import Allowed
from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError, unknown
from matchbandit.graphs import Edges, Pairs
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.policies.decision import UNPLAYED, Decision, by_weights, ordered_decision
from matchbandit.policies.explanation import pair_record
from matchbandit.rewards import Counts, Floats
from matchbandit.schedules import all_meet
from matchbandit.solvers import MAX_MATCHINGS, all_matchings, best_matching, count_matchings

TIE = 1e-10
"""Matchings whose indices differ by less are tied: rounding must not decide between equals."""
EXPLORATIONS = ("log", "full")


class Arrays(NamedTuple):
    """What a combinatorial policy remembers; plays and sums by edge."""

    plays: Counts
    sums: Floats
    total: Counts
    """All plays together, shape (1,)."""
    initial_rounds: Edges
    """Rounds in which every pair meets once, shape (rounds, pairs a round)."""
    matchings: Edges
    """All matchings, shape (matchings, pairs a matching); none where they are too many."""
    params: Any
    """A NamedTuple of what only this policy needs, see `CombinatorialPolicy.own`."""


@compiled
def open_round(arrays: Arrays, edges: Edges) -> bool:
    """Write down the first opening round that has an unplayed pair; False if every pair has been played."""
    plays, initial_rounds = arrays.plays, arrays.initial_rounds
    for r in range(len(initial_rounds)):
        for k in range(len(edges)):
            if plays[initial_rounds[r, k]] == 0:
                for i in range(len(edges)):
                    edges[i] = initial_rounds[r, i]
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
    log_t = log(arrays.total[0] // arrays.initial_rounds.shape[1] + 1)
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


class CombinatorialPolicy(CountsPolicy):
    """Keeps plays and rewards of every pair, and plays the matching that its oracle finds best by some index.

    The oracle is one of

    - "solver": the index of a matching is a sum of weights, which the compiled `weigh(arrays, rng, weights)` writes
      down. Where matchings are few, `choose` looks at each in compiled code; beyond, `best_matching` calls a blossom or
      an assignment solver, which compiled code cannot, and rounds are played through ask and tell.
    - "enumerate": the index is no sum, so that every matching is looked at; graphs with too many are refused.
    - "own": `choose` finds the matching in a way of its own.
    """

    oracle: ClassVar[Literal["solver", "enumerate", "own"]]
    plays_all_first: ClassVar[bool] = True
    """Every pair is played once before anything else, in rounds of a tour."""
    transient_fields: ClassVar[tuple[str, ...]] = ("initial_rounds", "matchings")
    update: ClassVar[Callable[..., None]] = staticmethod(update)
    weigh: ClassVar[Callable[..., None]]

    @property
    def enumerates(self) -> bool:
        """Does it look at every matching?"""
        return self.oracle != "own" and count_matchings(self.graph) <= MAX_MATCHINGS

    @property
    def compiled(self) -> bool:
        """Unless it needs a solver."""
        return self.oracle != "solver" or self.enumerates

    def params(self) -> Any:
        """A NamedTuple of what only this policy needs: fixed numbers, and arrays that change; () for nothing."""
        return ()

    def start(self) -> Arrays:
        """No plays; a graph with too many matchings is refused if each has to be looked at."""
        graph, size = self.graph, self.graph.matching_size
        if self.oracle == "enumerate" and not self.enumerates:
            raise MatchbanditError(
                f"{self.name} looks at every matching, and {graph} has {count_matchings(graph)} of them "
                f"(at most {MAX_MATCHINGS}: 10 players, 6 × 6 rows and columns). "
                f"Take cucb or cts-beta, which call a solver, or rank1-thompson."
            )
        no_rounds = np.zeros((0, size), dtype=np.int64)
        return Arrays(
            plays=np.zeros(graph.n_pairs, dtype=np.int64),
            sums=np.zeros(graph.n_pairs),
            total=np.zeros(1, dtype=np.int64),
            initial_rounds=all_meet(graph) if self.plays_all_first else no_rounds,
            matchings=all_matchings(graph).copy() if self.enumerates else no_rounds,
            params=self.params(),
        )

    def _next(self) -> Edges:
        if self.compiled:
            return super()._next()
        edges = np.zeros(self.round_size, dtype=np.int64)
        if self.plays_all_first and open_round(self.arrays, edges):
            return edges
        return best_matching(self.graph, self.weights())

    def weights(self) -> Floats:
        """The weights of all pairs that `weigh` gives now."""
        return self._weights(self.arrays, self.rng)

    def _weights(self, arrays: Arrays, rng: np.random.Generator) -> Floats:
        weights = np.zeros(self.graph.n_pairs)
        type(self).weigh(arrays, rng, weights)
        return weights

    def _count_waiting(self, waiting: Edges) -> Arrays:
        arrays: Arrays = super()._count_waiting(waiting)
        arrays.total[0] = arrays.plays.sum()
        return arrays

    def _decision(self, allowed: Allowed, waiting: Edges, rng: np.random.Generator) -> Decision:
        arrays, edges = self._count_waiting(waiting), np.zeros(self.round_size, dtype=np.int64)
        if allowed.is_unrestricted and self.plays_all_first and open_round(arrays, edges):
            return ordered_decision(self.graph, edges, self._opening_values(arrays)[edges], opening=True)
        unplayed = (arrays.plays == 0) & self.plays_all_first
        arrays.plays[unplayed], arrays.sums[unplayed] = 1, 0.5  # of those that are not allowed nothing is asked
        if self.oracle == "solver":
            return by_weights(allowed, self._weights(arrays, rng), unplayed)
        return self._decide_whole(allowed, arrays, unplayed)

    def _opening_values(self, arrays: Arrays) -> Floats:
        return np.where(arrays.plays > 0, arrays.sums / np.maximum(arrays.plays, 1), UNPLAYED)

    def _decide_whole(self, allowed: Allowed, arrays: Arrays, unplayed: NDArray[np.bool_]) -> Decision:
        """The decision of a policy with an index of whole matchings."""
        if not allowed.is_unrestricted and unplayed[allowed.edges].any():
            return by_weights(allowed, self._opening_values(arrays), unplayed)
        few = self._matchings_of(allowed)
        edges, value = self._best_of(arrays, few)
        bound = (
            value
            if allowed.has_no_pair_rules
            else self._best_of(arrays, self._matchings_of(allowed.without_pair_rules))[1]
        )
        inverses = 1.0 / arrays.plays[edges]
        means = arrays.sums[edges] / arrays.plays[edges]
        radius = value - means.sum()  # of the whole matching; each pair has the share that its own plays cause
        return ordered_decision(self.graph, edges, means + radius * inverses / max(inverses.sum(), 1e-300), bound=bound)

    def _matchings_of(self, allowed: Allowed) -> Edges:
        """All largest matchings of what is allowed: the allowed parts of all matchings, where they are largest."""
        matchings = self.arrays.matchings
        if allowed.is_unrestricted:
            return np.asarray(matchings)
        fine = np.zeros(self.graph.n_pairs, dtype=np.bool_)
        fine[allowed.edges] = True
        inside = fine[matchings]
        sizes = inside.sum(axis=1)
        size = int(sizes.max())
        if not size:
            return np.asarray(matchings[:1, :0])
        return np.unique(matchings[sizes == size][inside[sizes == size]].reshape(-1, size), axis=0)

    def _best_of(self, arrays: Arrays, matchings: Edges) -> tuple[Edges, float]:
        """Which of these matchings has the greatest index (ties: the first), and that index."""
        values = np.empty(len(matchings))
        best = self.index(arrays._replace(matchings=matchings), values) if matchings.shape[1] else 0
        return np.asarray(matchings[best]), float(values[best]) if matchings.shape[1] else 0.0

    def index(self, arrays: Arrays, values: Floats) -> int:
        """Write down the index of each of the matchings in `arrays`, and say where it is greatest."""
        raise NotImplementedError

    def _set_counts(self, edges: Edges, counts: Floats, sums: Floats) -> None:
        super()._set_counts(edges, counts, sums)
        self.arrays.total[0] = self.arrays.plays.sum()

    def recommend(self) -> Pairs:
        """The best matching for the empirical means."""
        return self.graph.pairs[best_matching(self.graph, self.means())]

    def means(self) -> Floats:
        """The empirical means; 0 before the first play."""
        return np.asarray(self.arrays.sums / np.maximum(1, self.arrays.plays))

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results."""
        super().add_logged(edges, counts, sums)
        self.arrays.total[0] += counts.sum()

    def explain_extra(self) -> dict[str, Any]:
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
