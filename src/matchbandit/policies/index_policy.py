"""The base of policies that play the pair or the matching with the greatest index: each gives a formula."""

from collections.abc import Callable
from dataclasses import replace
from math import log, sqrt
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from matchbandit.allowed import Allowed
from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError
from matchbandit.fingerprint import is_compiled
from matchbandit.graphs import Edges
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.combinatorial import (
    MAX_COMPILED_PLAYERS,
    TIE,
    CombinatorialArrays,
    CombinatorialPolicy,
    choose_initial_round,
    heaviest,
    round_number,
)
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.policies.decision import UNPLAYED, Decision, best_pair, by_weights, ordered_decision
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers import MAX_MATCHINGS, best_matching

Exploration = Literal["log", "full"]
"""f = log t, or with log log t as in the proofs."""

Index = Callable[..., None]
"""`index(plays, sums, t, params, rng, weights)`: write the weight of each pair into `weights`, in round t."""
JointIndex = Callable[..., int]
"""`index(plays, sums, t, params, matchings, values)`: write the index of each matching into `values`, in round t, and
return the place of the greatest. Those that cannot be the greatest may have an upper bound instead."""


@compiled
def exploration(t: int, weight: float) -> float:
    """log t + weight · log log t, with log log t at least 0."""
    log_t = log(t)
    return log_t + weight * log(log_t) if log_t > 1.0 else log_t


@compiled
def joint_bounds(plays: Counts, sums: Floats, matchings: Edges, level: float, bounds: Floats) -> int:
    """Compute Σ μ_e + sqrt(level · Σ 1/n_e) of every matching; return the place of the greatest (ties: the first)."""
    n_pairs, best = len(plays), 0
    means, inverses = np.empty(n_pairs), np.empty(n_pairs)
    for edge in range(n_pairs):  # divided once, for a pair is in many matchings
        means[edge] = sums[edge] / plays[edge]
        inverses[edge] = 1.0 / plays[edge]
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


def log_log_weight(exploration: Exploration, size: int) -> float:
    """The factor of log log t: 0 in "log", 4 m in "full"."""
    return 4.0 * size if exploration == "full" else 0.0


def make_choose(index: Index) -> Callable[..., None]:
    """The `choose` of a policy with this index of each pair; compiled if that is."""

    def choose(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges) -> None:
        if not choose_initial_round(arrays, edges):
            weights = np.empty(len(arrays.plays))
            index(arrays.plays, arrays.sums, round_number(arrays), arrays.params, rng, weights)
            heaviest(arrays.candidates, arrays.n_columns, weights, edges)

    return compiled(choose) if is_compiled(index) else choose


def make_joint_choose(index: JointIndex) -> Callable[..., None]:
    """The `choose` of a policy with this index of whole matchings; compiled if that is."""

    def choose(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges) -> None:
        if not choose_initial_round(arrays, edges):
            matchings = arrays.candidates
            values = np.empty(len(matchings))
            best = index(arrays.plays, arrays.sums, round_number(arrays), arrays.params, matchings, values)
            for k in range(len(edges)):
                edges[k] = matchings[best, k]

    return compiled(choose) if is_compiled(index) else choose


class IndexPolicy(CombinatorialPolicy, CountsPolicy):
    """Plays every pair once, then the pair or the matching with the greatest sum of weights.

    A subclass gives the weights, as a compiled function `index` (see `Index`), and `params` if that needs more than
    counts; the rest is here: rounds, decisions from counts, and those under rules. One that finds the best
    matching in another way gives `choose` and `_decide_by_index` instead.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        warm_start=True,
        constrained=True,
        compiled_max_players=MAX_COMPILED_PLAYERS,
    )
    """What all of them can do; a subclass replaces the rest."""
    index: ClassVar[Index]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Build `choose` from the index; the limit on players is one of matchings."""
        super().__init_subclass__(**kwargs)
        if "matching" not in cls.capabilities.selections:
            cls.capabilities = replace(cls.capabilities, compiled_max_players=None)
        if "index" in vars(cls):
            cls.choose = staticmethod(cls._make_choose(cls.index))

    @staticmethod
    def _make_choose(index: Callable[..., Any]) -> Callable[..., None]:
        return make_choose(index)

    def weights(self) -> Floats:
        """The weights of all pairs in this round."""
        return self._weights(self.arrays, self.rng)

    def _weights(self, arrays: CombinatorialArrays, rng: np.random.Generator) -> Floats:
        weights = np.zeros(self.graph.n_pairs)
        type(self).index(arrays.plays, arrays.sums, round_number(arrays), arrays.params, rng, weights)
        return weights

    def _next(self) -> Edges:
        if self.compiled:
            return super()._next()
        edges = np.zeros(self.round_size, dtype=np.int64)
        if choose_initial_round(self.arrays, edges):
            return edges
        return best_matching(self.graph, self.weights())

    def _count_waiting(self, waiting: Edges) -> CombinatorialArrays:
        arrays: CombinatorialArrays = super()._count_waiting(waiting)
        arrays.total[0] = arrays.plays.sum()
        return arrays

    def _set_counts(self, edges: Edges, counts: Floats, sums: Floats) -> None:
        super()._set_counts(edges, counts, sums)
        self.arrays.total[0] = self.arrays.plays.sum()

    def _decision(self, allowed: Allowed, waiting: Edges, rng: np.random.Generator) -> Decision:
        arrays, edges = self._count_waiting(waiting), np.zeros(self.round_size, dtype=np.int64)
        if allowed.is_unrestricted and choose_initial_round(arrays, edges):
            return ordered_decision(self.graph, edges, _initial_values(arrays)[edges], opening=True)
        unplayed = (arrays.plays == 0) & self.plays_all_first
        arrays.plays[unplayed], arrays.sums[unplayed] = 1, 0.5  # so that the index exists; unplayed pairs come first
        return self._decide_by_index(allowed, arrays, unplayed, rng)

    def _decide_by_index(
        self, allowed: Allowed, arrays: CombinatorialArrays, unplayed: NDArray[np.bool_], rng: np.random.Generator
    ) -> Decision:
        weights = self._weights(arrays, rng)
        if self.selection == "matching":
            return by_weights(allowed, weights, unplayed)
        weights[unplayed] = UNPLAYED
        return best_pair(allowed, weights, unplayed)


class JointIndexPolicy(IndexPolicy):
    """Plays every pair once, then the matching with the greatest index, which is not a sum: each is looked at.

    A subclass gives the index, as a compiled function (see `JointIndex`). Graphs with more than 1000 matchings are
    refused.
    """

    capabilities: ClassVar[Capabilities] = replace(
        IndexPolicy.capabilities, max_matchings=MAX_MATCHINGS, compiled_max_players=None
    )
    index: ClassVar[JointIndex]  # type: ignore[assignment]

    @staticmethod
    def _make_choose(index: Callable[..., Any]) -> Callable[..., None]:
        return make_joint_choose(index)

    def start(self) -> CombinatorialArrays:
        """No plays; a graph with too many matchings is refused."""
        if not self.lists_candidates:
            raise MatchbanditError(
                f"{self.name} looks at every matching, and {self.graph} has more than {MAX_MATCHINGS} of them "
                f"(10 players have 945, 6 × 6 rows and columns 720). "
                f"Use cucb or cts-beta, which call a solver, or rank1-thompson."
            )
        return super().start()

    def _decide_by_index(
        self, allowed: Allowed, arrays: CombinatorialArrays, unplayed: NDArray[np.bool_], rng: np.random.Generator
    ) -> Decision:
        if not allowed.is_unrestricted and unplayed[allowed.edges].any():
            return by_weights(allowed, _initial_values(arrays), unplayed)
        edges, value = self._best_of(arrays, self._matchings_of(allowed))
        bound = value
        if not allowed.has_no_pair_rules:
            bound = self._best_of(arrays, self._matchings_of(allowed.without_pair_rules))[1]
        inverses = 1.0 / arrays.plays[edges]
        means = arrays.sums[edges] / arrays.plays[edges]
        radius = value - means.sum()  # of the whole matching; each pair has the share that its own plays cause
        return ordered_decision(self.graph, edges, means + radius * inverses / max(inverses.sum(), 1e-300), bound=bound)

    def _matchings_of(self, allowed: Allowed) -> Edges:
        """All largest matchings of what is allowed: the allowed parts of all matchings, where they are largest."""
        matchings = self.arrays.candidates
        if allowed.is_unrestricted:
            return np.asarray(matchings)
        is_allowed = np.zeros(self.graph.n_pairs, dtype=np.bool_)
        is_allowed[allowed.edges] = True
        inside = is_allowed[matchings]
        sizes = inside.sum(axis=1)
        size = int(sizes.max())
        if not size:
            return np.asarray(matchings[:1, :0])
        return np.unique(matchings[sizes == size][inside[sizes == size]].reshape(-1, size), axis=0)

    def _best_of(self, arrays: CombinatorialArrays, matchings: Edges) -> tuple[Edges, float]:
        """Which of these matchings has the greatest index (ties: the first), and that index."""
        if not matchings.shape[1]:
            return np.asarray(matchings[0]), 0.0
        values = np.empty(len(matchings))
        best = type(self).index(arrays.plays, arrays.sums, round_number(arrays), arrays.params, matchings, values)
        return np.asarray(matchings[best]), float(values[best])


def _initial_values(arrays: CombinatorialArrays) -> Floats:
    """What pairs are worth while some are unplayed: their mean, or the greatest one there is."""
    return np.where(arrays.plays > 0, arrays.sums / np.maximum(arrays.plays, 1), UNPLAYED)
