"""Problems in which the mean reward of a pair is the product of its items' strengths."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.graphs import Graph, Pairs, Selection, bipartite, monopartite
from matchbandit.rewards import Bernoulli, Floats, RewardDistribution, checked_rewards, rewards_from
from matchbandit.solvers import sorted_across, sorted_pairing


def _strengths(name: str, values: ArrayLike, *, least: int) -> Floats:
    """The strengths of one side as a read-only array, checked."""
    try:
        given = np.array(values)
    except ValueError:  # rows of uneven length
        given = np.array(None)
    if given.dtype.kind not in "iuf":
        raise MatchbanditError(f"{name} must be a list of numbers; got {values!r}.")
    strengths = given.astype(np.float64)
    if strengths.ndim != 1:
        raise MatchbanditError(f"{name} must be a flat list of numbers; got an array of shape {strengths.shape}.")
    if len(strengths) < least:
        count = "no items" if len(strengths) == 0 else "only 1 item"
        raise MatchbanditError(f"{name} has {count}; it needs at least {least}. List one strength per item.")
    bad = np.flatnonzero(~((strengths >= 0) & (strengths <= 1)))
    if len(bad):
        raise MatchbanditError(
            f"{name} must lie in [0, 1]; got {strengths[bad[0]]:g} at position {bad[0]}. Rescale the rewards first."
        )
    strengths.setflags(write=False)
    return strengths


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """What is true. No policy ever sees it: only the simulator, which pays and keeps the score."""

    rewards: RewardDistribution = field(default_factory=Bernoulli, kw_only=True)

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """Who can meet whom."""

    @property
    @abstractmethod
    def means(self) -> Floats:
        """The mean reward of each pair, in the order of `graph.pairs`."""

    @property
    @abstractmethod
    def best_matching(self) -> Pairs:
        """An optimal matching: by the rearrangement inequality, the sorted pairing."""

    @abstractmethod
    def tie(self, selection: Selection) -> tuple[str, int, int, float] | None:
        """Two equal items, one inside and one outside an answer, that decide it: side, the two, their strength."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The problem as plain data."""

    @property
    def best_pair(self) -> Pairs:
        """An optimal pair, shape (1, 2): the first pair of the sorted pairing."""
        return self.best_matching[:1]

    @property
    def matrix(self) -> Floats:
        """The mean rewards as a matrix; of players only the entries i < j."""
        return self.graph.matrix(self.means)

    @property
    def pair_gaps(self) -> Floats:
        """What a play of each pair loses in pair selection, as a matrix like `matrix`."""
        return self.graph.matrix(self.optimum("pair") - self.means)

    def best(self, selection: Selection) -> Pairs:
        """The optimal pair or the optimal matching."""
        if selection not in ("pair", "matching"):
            raise unknown("selection", selection, ["pair", "matching"])
        return self.best_pair if selection == "pair" else self.best_matching

    def value(self, pairs: ArrayLike) -> float:
        """The expected reward of one round that plays these pairs."""
        return float(self.means[self.graph.edges(pairs)].sum())

    def optimum(self, selection: Selection) -> float:
        """The expected reward of the best round."""
        return self.value(self.best(selection))

    def regret(self, pairs: ArrayLike, *, selection: Selection) -> float:
        """What one round that plays these pairs loses against the best pair or the best matching.

        Of an odd number of players one sits out, and the best matching is that of the others.
        """
        played = np.bincount(self.graph.edges(pairs), minlength=self.graph.n_pairs)
        return self.regret_of_plays(played, 1, selection=selection)

    def regret_of_plays(self, plays: NDArray[np.int64], rounds: int, *, selection: Selection) -> float:
        """The regret of `rounds` rounds in which each pair was played so often.

        Pairs: the sum of plays × gaps, none of which is negative. Matchings: whole numbers are subtracted before
        anything is multiplied, so that of 10^12 rounds only those that differ from the best can be rounded. Of an odd
        number of players one sits out each round, and each round is compared with the best matching of the others.
        """
        if selection == "matching":
            return float(((self._best_plays(plays, rounds) - plays) * self.means).sum())
        return float((plays * (self.optimum(selection) - self.means)).sum())

    def _best_plays(self, plays: NDArray[np.int64], rounds: int) -> NDArray[np.int64]:
        """How often the best matchings would have played each pair in the place of these plays."""
        best = np.zeros_like(plays)
        best[self.graph.edges(self.best_matching)] = rounds
        return best


@dataclass(frozen=True, eq=False)
class Bipartite(Problem):
    """Rows and columns: the pair (i, j) pays u_i v_j on average.

    >>> slots = Bipartite(u=[.9, .3, .2], v=[.9, .5, .1])
    >>> slots.best_pair.tolist(), round(slots.regret([(1, 0)], selection="pair"), 3)
    ([[0, 0]], 0.54)
    """

    u: Floats
    v: Floats

    def __init__(self, u: ArrayLike, v: ArrayLike, *, rewards: RewardDistribution | None = None) -> None:
        """Check u and v, once and for all."""
        object.__setattr__(self, "u", _strengths("u", u, least=1))
        object.__setattr__(self, "v", _strengths("v", v, least=1))
        object.__setattr__(self, "rewards", checked_rewards(rewards))

    @cached_property
    def graph(self) -> Graph:
        """Rows × columns."""
        return bipartite(len(self.u), len(self.v))

    @cached_property
    def means(self) -> Floats:
        """W = u vᵀ, row by row."""
        return np.outer(self.u, self.v).ravel()

    @cached_property
    def best_matching(self) -> Pairs:
        """Best row with best column, and so on."""
        return sorted_across(self.u, self.v)

    def tie(self, selection: Selection) -> tuple[str, int, int, float] | None:
        """Equal best rows or columns; for a matching, any two equal rows or columns of which one is matched."""
        last = 1 if selection == "pair" else self.graph.matching_size
        borders = range(1, last + 1)
        return _tie("rows", self.u, borders) or _tie("columns", self.v, borders)

    @property
    def row_gaps(self) -> Floats:
        """Δ_i^U = max u − u_i."""
        return np.asarray(self.u.max() - self.u)

    @property
    def column_gaps(self) -> Floats:
        """Δ_j^V = max v − v_j."""
        return np.asarray(self.v.max() - self.v)

    def describe(self) -> dict[str, Any]:
        """Kind, strengths and law."""
        return {
            "kind": "bipartite",
            "u": self.u.tolist(),
            "v": self.v.tolist(),
            "rewards": self.rewards.describe(),
        }


@dataclass(frozen=True, eq=False)
class Monopartite(Problem):
    """Players who meet each other: the pair {i, j} pays u_i u_j on average.

    >>> players = Monopartite(u=[.3, .9, .6, .8])
    >>> players.best_matching.tolist(), round(players.optimum("matching"), 3)
    ([[1, 3], [0, 2]], 0.9)
    """

    u: Floats

    def __init__(self, u: ArrayLike, *, rewards: RewardDistribution | None = None) -> None:
        """Check u, once and for all."""
        object.__setattr__(self, "u", _strengths("u", u, least=2))
        object.__setattr__(self, "rewards", checked_rewards(rewards))

    @cached_property
    def graph(self) -> Graph:
        """All players."""
        return monopartite(len(self.u))

    @cached_property
    def means(self) -> Floats:
        """W = u uᵀ, the entries i < j."""
        i, j = self.graph.pairs.T
        return np.asarray(self.u[i] * self.u[j])

    @cached_property
    def best_matching(self) -> Pairs:
        """The two best together, then the next two; of an odd number the weakest sits out."""
        return sorted_pairing(self.u)

    def _best_plays(self, plays: NDArray[np.int64], rounds: int) -> NDArray[np.int64]:
        """How often the best matchings of those present would have played each pair.

        Of an odd number, player i sat out rounds − Σ_j plays_ij times. Without the k-th strongest (from 0) those before
        are paired as (0, 1), (2, 3), …, those behind as (1, 2), (3, 4), …, and with k odd its neighbours meet.
        """
        n = len(self.u)
        if n % 2 == 0:
            return super()._best_plays(plays, rounds)
        ends = self.graph.pairs
        sat_out = np.full(n, rounds, dtype=np.int64)
        np.subtract.at(sat_out, ends[:, 0], plays)
        np.subtract.at(sat_out, ends[:, 1], plays)
        if (sat_out < 0).any() or plays.sum() != rounds * (n // 2):
            raise MatchbanditError(
                f"in each round of matchings all but one of {n} players play, in {n // 2} pairs; "
                f"got {plays.sum()} pairs in {rounds} rounds. Give whole matchings, or take selection='pair'."
            )
        order = np.argsort(-self.u, kind="stable")
        sat_out = sat_out[order]
        so_far = np.cumsum(sat_out)
        best = np.zeros_like(plays)
        for first, second, times in (
            (order[:-1:2], order[1::2], rounds - so_far[1::2]),
            (order[1::2], order[2::2], so_far[:-1:2]),
            (order[:-1:2], order[2::2], sat_out[1::2]),
        ):
            best[self.graph.edges(np.stack([first, second], axis=1))] = times
        return best

    def tie(self, selection: Selection) -> tuple[str, int, int, float] | None:
        """Equal players on both sides of a border between pairs; equal partners are harmless."""
        last = 1 if selection == "pair" else self.graph.matching_size
        return _tie("players", self.u, range(2, 2 * last + 1, 2))

    @property
    def item_gaps(self) -> Floats:
        """Δ_(i,j) = u_i − u_j, for every two players."""
        return np.asarray(self.u[:, None] - self.u[None, :])

    def describe(self) -> dict[str, Any]:
        """Kind, strengths and law."""
        return {"kind": "monopartite", "u": self.u.tolist(), "rewards": self.rewards.describe()}


def problem_from(description: dict[str, Any]) -> Problem:
    """The problem that `describe` described.

    >>> problem_from(Monopartite([0.9, 0.3]).describe()).means.round(2).tolist()
    [0.27]
    """
    kind = description.get("kind")
    if kind not in ("bipartite", "monopartite"):
        raise MatchbanditError("these runs are each on an instance of its own: there is no one problem to speak of.")
    law = rewards_from(description["rewards"])
    if kind == "monopartite":
        return Monopartite(description["u"], rewards=law)
    return Bipartite(description["u"], description["v"], rewards=law)


def _tie(side: str, strengths: Floats, borders: range) -> tuple[str, int, int, float] | None:
    """The first two equal items around one of these places in the order of strengths."""
    order = np.argsort(-strengths, kind="stable")
    for place in borders:
        if place < len(order) and strengths[order[place - 1]] == strengths[order[place]]:
            return side, int(order[place - 1]), int(order[place]), float(strengths[order[place]])
    return None
