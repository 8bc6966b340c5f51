"""The base of policies that keep the mean of every pair and look for the best pair or matching."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Pairs
from matchbandit.policies.explanation import pair_record
from matchbandit.policies.round_policy import RoundPolicy
from matchbandit.rewards import Counts, Floats
from matchbandit.schedules import all_meet
from matchbandit.solvers import MAX_MATCHINGS, all_matchings, best_matching, count_matchings
from matchbandit.solvers.assignment import solve_assignment

MAX_COMPILED_PLAYERS = 10
"""More players have more than 1000 matchings, and need a blossom solver, which compiled code cannot call."""
TIE = 1e-10
"""Matchings whose indices differ by less are tied: rounding must not decide between equals."""


class CombinatorialArrays(NamedTuple):
    """What a combinatorial policy remembers; plays and sums by edge."""

    plays: Counts
    sums: Floats
    total: Counts
    """All plays together, shape (1,)."""
    initial_rounds: Edges
    """Rounds in which every pair meets once, shape (rounds, pairs per round)."""
    candidates: Edges
    """All pairs or matchings that it chooses from, shape (candidates, pairs of each); shape (0,): too many to list."""
    n_columns: int
    """The columns of a bipartite graph, else 0."""
    params: Any
    """What only this policy needs, see `CombinatorialPolicy.params`."""


@compiled
def choose_initial_round(arrays: CombinatorialArrays, edges: Edges) -> bool:
    """Write down the first initial round that has an unplayed pair; False if every pair has been played."""
    plays, initial_rounds = arrays.plays, arrays.initial_rounds
    for r in range(len(initial_rounds)):
        for k in range(len(edges)):
            if plays[initial_rounds[r, k]] == 0:
                for i in range(len(edges)):
                    edges[i] = initial_rounds[r, i]
                return True
    return False


@compiled
def heaviest(candidates: Edges, n_columns: int, weights: Floats, edges: Edges) -> None:
    """Write down the candidate with the greatest sum of weights (ties: the first); by a solver if none are listed."""
    if candidates.ndim == 1:  # numba decides this by type: where candidates are listed, no solver is compiled
        solve_assignment(weights, len(weights) // n_columns, n_columns, edges)
        return
    best, highest = 0, -np.inf
    for k in range(len(candidates)):
        total = 0.0
        for i in range(len(edges)):
            total += weights[candidates[k, i]]
        if total > highest:
            best, highest = k, total
    for i in range(len(edges)):
        edges[i] = candidates[best, i]


@compiled
def round_number(arrays: CombinatorialArrays) -> int:
    """t, the number of this round: from 1, and by plays, so that it continues after a warm start."""
    return arrays.total[0] // arrays.initial_rounds.shape[1] + 1  # type: ignore[no-any-return]


@compiled
def update(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays and rewards."""
    for k in range(len(edges)):
        arrays.plays[edges[k]] += 1
        arrays.sums[edges[k]] += rewards[k]
    arrays.total[0] += len(edges)


class CombinatorialPolicy(RoundPolicy):
    """Keeps plays and rewards of every pair; a subclass adds `choose`, and the params that this needs.

    Up to 1000 matchings are listed as candidates. Beyond, compiled code solves an assignment problem if the graph is
    bipartite; the blossom solver for players cannot be called from compiled code, so that rounds are then played
    through ask and tell.
    """

    transient_fields: ClassVar[tuple[str, ...]] = ("initial_rounds", "candidates")
    update: ClassVar[Callable[..., None]] = staticmethod(update)
    plays_all_first: ClassVar[bool] = True
    """Every pair is played once before anything else: in index order, or in the rounds of a tour."""
    needs_best_matching: ClassVar[bool] = True
    """It looks for the candidate with the greatest sum of weights, from a list or by a solver."""

    @property
    def lists_candidates(self) -> bool:
        """Are there so few pairs or matchings to choose from that all are listed?"""
        if not self.needs_best_matching:
            return False
        return self.answer_selection == "pair" or count_matchings(self.graph) <= MAX_MATCHINGS

    @property
    def compiled(self) -> bool:
        """Can a round be played without Python? Not if it takes a blossom solver."""
        return not self.needs_best_matching or self.lists_candidates or self.graph.is_bipartite

    def params(self) -> Any:
        """What only this policy needs: a number, or a NamedTuple of numbers and of arrays that change; () for none."""
        return ()

    def start(self) -> CombinatorialArrays:
        """No plays."""
        graph = self.graph
        initial_rounds = np.zeros((0, self.round_size), dtype=np.int64)
        if self.plays_all_first:
            initial_rounds = all_pairs(graph.n_pairs) if self.selection == "pair" else all_meet(graph)
        candidates = np.zeros(0, dtype=np.int64)
        if self.lists_candidates:
            candidates = all_pairs(graph.n_pairs) if self.answer_selection == "pair" else all_matchings(graph).copy()
        return CombinatorialArrays(
            plays=np.zeros(graph.n_pairs, dtype=np.int64),
            sums=np.zeros(graph.n_pairs),
            total=np.zeros(1, dtype=np.int64),
            initial_rounds=initial_rounds,
            candidates=candidates,
            n_columns=graph.shape[1] if graph.is_bipartite else 0,
            params=self.params(),
        )

    def means(self) -> Floats:
        """The empirical means; 0 before the first play."""
        return np.asarray(self.arrays.sums / np.maximum(1, self.arrays.plays))

    def recommend(self) -> Pairs:
        """The best pair or matching for the empirical means (ties of pairs: the lowest index)."""
        means = self.means()
        best = [int(np.argmax(means))] if self.answer_selection == "pair" else best_matching(self.graph, means)
        return self.graph.pairs[best]

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Count logged results."""
        super().add_logged(edges, counts, sums)
        self.arrays.total[0] += counts.sum()

    def explain_extra(self) -> dict[str, Any]:
        """The plays and the average of each pair, and what `pair_details` adds."""
        plays, means, details = self.arrays.plays.tolist(), self.means().tolist(), self.pair_details()
        return {
            "pairs": [
                pair_record(
                    pair,
                    plays=plays[edge],
                    estimate=means[edge] if plays[edge] else None,
                    **{key: values[edge] for key, values in details.items()},
                )
                for edge, pair in enumerate(self.graph.pairs.tolist())
            ]
        }

    def pair_details(self) -> dict[str, list[Any]]:
        """What `explain` says of the pairs beyond plays and estimate, by edge."""
        return {}


def all_pairs(n_pairs: int) -> Edges:
    """Every pair as a round of its own."""
    return np.arange(n_pairs)[:, None]
