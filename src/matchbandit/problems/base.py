"""The base class of problems: mean rewards, the optimum, and the regret of plays; `problem_from` reads one back."""

import html
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.confidence import check_epsilon
from matchbandit.errors import MatchbanditError, unknown
from matchbandit.graphs import Edges, Graph, Pairs, Selection
from matchbandit.rewards import Bernoulli, Counts, Floats, RewardDistribution, rewards_from

ROUNDING = 1e-9
"""An answer that is worth this share less than the optimum differs from it by rounding only."""
Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True, eq=False, repr=False)
class Problem(ABC):
    """The true mean rewards. Only the simulator sees them, never a policy.

    `Bipartite`, `Monopartite` and `Means` are the problems of the package, and `Drifting` moves the strengths of one.
    Two problems are equal only if they are the same object; compare `describe()` for equal contents.
    """

    kind: ClassVar[str]
    """The name of the class in descriptions."""

    rewards: RewardDistribution = field(default_factory=Bernoulli, kw_only=True)

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The pairs that can be played."""

    @property
    @abstractmethod
    def means(self) -> Floats:
        """The mean reward of each pair, in the order of `graph.pairs`; read-only."""

    def means_of(self, edges: Edges) -> Floats:
        """Return the mean rewards of these edges only, on a graph of any size."""
        if self.graph.has_few_pairs:  # indexing is faster than computing them
            return np.asarray(self.means[edges])
        return self._means_between(*self.graph.pairs_of(edges).T)

    @abstractmethod
    def _means_between(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Floats:
        """The mean rewards of the pairs of these items."""

    @property
    @abstractmethod
    def best_pair(self) -> Pairs:
        """An optimal pair, shape (1, 2)."""

    @property
    @abstractmethod
    def best_matching(self) -> Pairs:
        """An optimal matching; read-only."""

    @abstractmethod
    def tie(self, selection: Selection) -> str | None:
        """Name two equal items on which the best answer depends, if there are any: they are not distinguishable."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The problem as JSON data; `problem_from` reads it back."""

    @property
    def matrix(self) -> Floats:
        """The mean rewards as a matrix; of players only the entries i < j."""
        return self.graph.matrix(self.means)

    def best(self, selection: Selection) -> Pairs:
        """Return an optimal pair or matching, shape (pairs, 2).

        Parameters
        ----------
        selection : {"pair", "matching"}
        """
        if selection not in ("pair", "matching"):
            raise unknown("selection", selection, ["pair", "matching"])
        return self.best_pair if selection == "pair" else self.best_matching

    def value(self, pairs: ArrayLike) -> float:
        """Return the expected reward of one round.

        Parameters
        ----------
        pairs : array_like of shape (k, 2)
            The pairs that it plays.
        """
        return float(self.means_of(self.graph.edges(pairs)).sum())

    def optimum(self, selection: Selection) -> float:
        """Return the expected reward of the best round.

        Parameters
        ----------
        selection : {"pair", "matching"}
        """
        return self.value(self.best(selection))

    def is_optimal(self, pairs: ArrayLike, selection: Selection, *, epsilon: float = 0.0) -> bool:
        """Return whether this pair or matching is worth the optimum, or (1 − ε) of it, up to rounding.

        Parameters
        ----------
        pairs : array_like of shape (k, 2)
            One pair, or one largest matching.
        selection : {"pair", "matching"}
        epsilon : float, default 0
            The share of the optimum that it may lack.

        Returns
        -------
        bool

        Examples
        --------
        >>> from matchbandit.problems import Bipartite
        >>> faint = Bipartite([1e-6, 3e-7], [1e-7])
        >>> faint.is_optimal([(0, 0)], "pair"), faint.is_optimal([(1, 0)], "pair")
        (True, False)
        >>> faint.is_optimal([(1, 0)], "pair", epsilon=0.7)
        True
        """
        value = float(self.means_of(self._one_round(pairs, selection)).sum())
        return value >= self.optimum(selection) * (1 - check_epsilon(epsilon)) * (1 - ROUNDING)

    def regret(self, pairs: ArrayLike, *, selection: Selection) -> float:
        """Return the regret of one round.

        Parameters
        ----------
        pairs : array_like of shape (k, 2)
            One pair, or one largest matching. Of an odd number of players one sits out; the matching is compared with
            the best one of the others.
        selection : {"pair", "matching"}

        Returns
        -------
        float
        """
        edges = self._one_round(pairs, selection)
        return self.regret_of_played(edges, np.ones_like(edges), 1, selection=selection)

    def regret_of_plays(self, plays: NDArray[np.int64], rounds: int, *, selection: Selection) -> float:
        """The regret of `rounds` rounds with these plays of each pair."""
        return float(self.regrets_of_plays(plays[None], np.array([rounds]), selection=selection)[0])

    def regrets_of_plays(self, plays: Counts, rounds: Counts, *, selection: Selection) -> Floats:
        """The regret of `rounds[k]` rounds with the plays `plays[k]` of each pair, for every k.

        Pairs: the sum of plays × gaps, none of which is negative. Matchings: whole numbers are subtracted before
        anything is multiplied, so that of 10^12 rounds only those that differ from the best can be rounded. Of an odd
        number of players one sits out each round, and each round is compared with the best matching of the others.
        """
        if selection == "pair":
            return np.asarray((plays * (self.optimum(selection) - self.means)).sum(axis=1))
        missed = -plays
        if self.graph.has_bye:
            for row in range(len(plays)):
                edges, times = self._best_plays(np.arange(plays.shape[1]), plays[row], int(rounds[row]))
                np.add.at(missed[row], edges, times)
        else:
            missed[:, self.graph.edges(self.best_matching)] += rounds[:, None]
        return np.asarray((missed * self.means).sum(axis=1))

    def regret_of_played(self, edges: Edges, counts: Counts, rounds: int, *, selection: Selection) -> float:
        """`regret_of_plays` from distinct edges and their counts; its cost does not depend on the other pairs."""
        if selection == "matching":
            best, times = self._best_plays(edges, counts, rounds)
            distinct, places = np.unique(np.concatenate([best, edges]), return_inverse=True)
            missed = np.zeros(len(distinct), dtype=np.int64)
            np.add.at(missed, places, np.concatenate([times, -counts]))
            return float((missed * self.means_of(distinct)).sum())
        return float((counts * (self.optimum(selection) - self.means_of(edges))).sum())

    def _best_plays(self, edges: Edges, counts: Counts, rounds: int) -> tuple[Edges, Counts]:
        """Edges and counts of the best matchings of the players present in these plays; edges may repeat."""
        if self.graph.has_bye:
            return self._best_with_byes(self._sat_out(edges, counts, rounds))
        best = self.graph.edges(self.best_matching)
        return best, np.full(len(best), rounds, dtype=np.int64)

    def _best_with_byes(self, sat_out: Counts) -> tuple[Edges, Counts]:
        """Edges and counts of the best matchings, given how often each of an odd number of players sits out."""
        raise NotImplementedError(f"{type(self).__name__} has no players who sit out")

    def _sat_out(self, edges: Edges, plays: Counts, rounds: int) -> Counts:
        """How often each of an odd number of players sat out: rounds − Σ_j plays_ij."""
        n = self.graph.n_items
        sat_out = np.full(n, rounds, dtype=np.int64)
        for side in self.graph.pairs_of(edges).T:
            np.subtract.at(sat_out, side, plays)
        refuse_partial_matchings(sat_out[None], plays.sum(keepdims=True), np.array([rounds]))
        return sat_out

    def _one_round(self, pairs: ArrayLike, selection: Selection) -> Edges:
        """The edges of these pairs, which must be one pair or one largest matching."""
        edges, graph = self.graph.edges(pairs), self.graph
        size = len(self.best(selection))
        if len(edges) != size:
            whole = f"a matching of {graph}" if selection == "matching" else "a round of pair selection"
            raise MatchbanditError(
                f"{whole} has {size} pair{'s' * (size > 1)}; got {len(edges)}. Give one whole round."
            )
        items, times = np.unique(graph.ends(edges), return_counts=True)
        if (times > 1).any():
            item, most = items[times > 1][0], times[times > 1][0]
            raise MatchbanditError(
                f"a matching has each {graph.side_of(item)} at most once; got {graph.side_of(item)} "
                f"{graph.index_of(item)} {most} times. Give one whole round."
            )
        return edges

    @classmethod
    def _from_description(cls, parts: dict[str, Any]) -> "Problem":
        """Build the problem from what `describe` returned."""
        arguments = {name: value for name, value in parts.items() if name != "kind"}
        return cls(**{**arguments, "rewards": rewards_from(parts["rewards"])})

    def _repr(self, *parts: str) -> str:
        """These parts, and the rewards."""
        return f"{type(self).__name__} {', '.join(parts)}, {str(self.rewards).removesuffix('()')} rewards"

    def _repr_html_(self) -> str:
        """The repr, for notebooks."""
        return f"<code>{html.escape(repr(self))}</code>"


def problem_from(description: dict[str, Any]) -> Problem:
    """Build the problem that `Problem.describe` described.

    Parameters
    ----------
    description : dict
        What `describe` of a `Bipartite`, a `Monopartite`, a `Means` or a `Drifting` returned.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from matchbandit.problems import Monopartite
    >>> problem_from(Monopartite([0.9, 0.3]).describe())
    Monopartite 2 players, u = 0.9 0.3, Bernoulli rewards
    """
    parts = dict(description)
    kind = "drifting" if "drift" in parts else parts.get("kind")
    problem_class = next((each for each in Problem.__subclasses__() if each.kind == kind), None)
    if problem_class is None:
        raise MatchbanditError(
            "each of these runs is on its own instance of a family: there is no single problem. "
            "Use results of one instance."
            if "family" in parts
            else f"a description of a problem has a kind such as 'bipartite'; got {kind!r}."
        )
    return problem_class._from_description(parts)


def refuse_partial_matchings(sat_out: Counts, n_plays: Counts, rounds: Counts) -> None:
    """Refuse rounds in which not all but one of an odd number of players played; `sat_out` has a row for each check."""
    n = sat_out.shape[1]
    wrong = np.flatnonzero((sat_out < 0).any(axis=1) | (n_plays != rounds * (n // 2)))
    if len(wrong):
        raise MatchbanditError(
            f"in each round of matchings all but one of {n} players play, in {n // 2} pairs; "
            f"got {n_plays[wrong[0]]} pairs in {rounds[wrong[0]]} rounds. "
            f"Give whole matchings, or use selection='pair'."
        )


def as_numbers(name: str, values: ArrayLike, what: str) -> Floats:
    """Copy the values into an array of floats; `what` says in errors what they must be."""
    try:
        array = np.array(values)
    except ValueError:  # rows of uneven length
        array = np.array(None)
    if array.dtype.kind not in "iuf":
        raise MatchbanditError(f"{name} must be {what}; got {values!r}.")
    return array.astype(np.float64)


def read_only(array: Array) -> Array:
    """Forbid writing to the array, and return it."""
    array.setflags(write=False)
    return array
