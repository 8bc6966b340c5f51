"""Policies that decide from counts and sums alone, in whatever order the results came."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.allowed import Allowed
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Pairs
from matchbandit.policies.base import shorten, to_rewards
from matchbandit.policies.decision import UNPLAYED, Decision, ordered_decision
from matchbandit.policies.round_policy import RoundPolicy, copy_arrays
from matchbandit.rewards import Counts, Floats

SLACK = 1e-9
"""The relative error allowed in sums that were added up and discounted."""


class CountsPolicy(RoundPolicy):
    """A round policy whose decisions depend on nothing but the counts, the sums, the rules and a random stream.

    So it also works without rounds: `add_results` takes results of any pairs in any order, `set_counts` the totals of a
    caller who keeps them, and `decide` chooses pairs among those that are allowed, without opening a round.

    Its arrays need `plays` and `sums` by edge, unless it overrides `_add_results`, `_set_counts` and `_decision`.
    """

    decides_from_counts: ClassVar[bool] = True
    draws: ClassVar[bool] = False
    """Decisions are drawn at random, so that pairs whose results are pending need not be counted as played."""

    def decide(
        self, rng: np.random.Generator, *, allowed: Allowed | ArrayLike | None = None, waiting: ArrayLike | None = None
    ) -> Pairs:
        """The pairs that it would play now, of shape (k, 2), without opening a round; see `decision`."""
        return self.decision(rng, allowed=allowed, waiting=waiting).pairs

    def decision(
        self, rng: np.random.Generator, *, allowed: Allowed | ArrayLike | None = None, waiting: ArrayLike | None = None
    ) -> Decision:
        """What it would play now, and by which weights; nothing changes, and no round is opened.

        `ask` uses the same functions with two differences: it draws from the policy's own stream, and rank1-thompson
        continues from its last fit and lets players sit out in turn, not the weakest.

        Parameters
        ----------
        rng : numpy.random.Generator
            The stream that random decisions draw from.
        allowed : Allowed or array-like of int, shape (k, 2), optional
            The pairs to choose from; by default all.
        waiting : array-like of int, shape (k, 2), optional
            Pairs whose results are pending, each as often as it is. An index counts them as played, with their present
            mean (½ before the first result); policies that draw at random do not need to.

        Returns
        -------
        Decision
            The pairs, their weights, and whether a heavier choice is excluded.
        """
        choice = Allowed.read(self.graph, allowed)
        if not (choice.is_unrestricted or self.capabilities.constrained):
            raise MatchbanditError(
                f"{self.name} cannot restrict its pairs. Build it for the items that are present, or use "
                f"rank1-thompson; `matchbandit policies` lists all policies that can."
            )
        no_edges = np.zeros(0, dtype=np.int64)
        pending = no_edges if waiting is None or not np.size(waiting) else self.graph.edges(waiting)
        return self._decision(choice, pending, rng)

    def _decision(self, allowed: Allowed, waiting: Edges, rng: np.random.Generator) -> Decision:
        """The decision; `waiting` has an edge as often as its result is pending."""
        if not allowed.is_unrestricted:
            raise MatchbanditError(
                f"{self.name} says that it is constrained, but its choose() knows nothing of allowed pairs. Subclass "
                f"IndexPolicy, or override _decision()."
            )
        arrays, edges = self._count_waiting(waiting), np.full(self.round_size, -1, dtype=np.int64)
        type(self).choose(arrays, rng, edges)
        plays, sums = arrays.plays[edges], arrays.sums[edges]
        values = np.where(plays > 0, sums / np.maximum(plays, 1), UNPLAYED)
        return ordered_decision(self.graph, edges, values, opening=bool((plays == 0).any()))

    def _count_waiting(self, waiting: Edges) -> Any:
        """A copy of the arrays in which pending pairs count as played: with their mean, or ½ before the first result.

        A policy that draws counts only those that it has never played.
        """
        arrays = copy_arrays(self.arrays)
        edges, more = np.unique(waiting, return_counts=True)
        before = arrays.plays[edges]
        if self.draws:
            edges, more, before = edges[before == 0], more[before == 0], before[before == 0]
        means = np.where(before > 0, arrays.sums[edges] / np.maximum(before, 1), 0.5)
        arrays.plays[edges] += more
        arrays.sums[edges] += more * means
        return arrays

    def add_results(self, pairs: ArrayLike, rewards: ArrayLike, rng: np.random.Generator) -> None:
        """Add results of any pairs, in any order; all or none. Once `done`, they change nothing.

        It counts as no round, and results do not fade.

        Parameters
        ----------
        pairs : array-like of int, shape (k, 2)
            The pairs; a pair may come several times.
        rewards : array-like of float, shape (k,)
            Their rewards; NaN where a pair did not take place.
        rng : numpy.random.Generator
            The stream for policies that encode a reward at random, see `encode_rewards`.
        """
        edges = self.graph.edges(pairs) if np.size(pairs) else np.zeros(0, dtype=np.int64)
        received = to_rewards(rewards)
        if received.shape != edges.shape:
            raise MatchbanditError(
                f"{len(edges)} pairs need a reward each; got rewards of shape {received.shape}. "
                f"NaN marks a pair that did not take place."
            )
        took_place = ~np.isnan(received)
        encoded = self.encode_rewards(received, rng)[took_place]
        played, places = np.unique(edges[took_place], return_inverse=True)
        counts = np.bincount(places, minlength=len(played))
        sums = np.bincount(places, encoded, minlength=len(played)).astype(np.float64)

        def add() -> None:
            self._add_results(played, counts, sums)
            self.settle()

        if not self.done:
            self._all_or_nothing(add)

    def encode_rewards(self, rewards: ArrayLike, rng: np.random.Generator) -> Floats:
        """What these rewards add to the sums: the rewards themselves, unless the policy counts otherwise."""
        received = to_rewards(rewards)
        self._refuse_outside(received)
        return received

    def set_counts(self, edges: ArrayLike, counts: ArrayLike, sums: ArrayLike) -> None:
        """Replace the counts and sums of some edges, for a caller who keeps the totals. Once `done`, nothing changes.

        It never ends identification itself, as `add_results` does: totals may still be corrected.

        Parameters
        ----------
        edges : array-like of int, shape (k,)
            Edges in rising order, each once: `graph.edges(pairs)`. The others stay as they are.
        counts : array-like of float, shape (k,)
            How often each was played; rank1-thompson takes fractions, of results that have faded.
        sums : array-like of float, shape (k,)
            The sums of the rewards, as `encode_rewards` encodes them.
        """
        which = np.asarray(edges)
        if which.size and which.dtype.kind not in "iu":
            raise MatchbanditError(f"edges must be whole numbers, as from graph.edges(pairs); got {shorten(which)}.")
        which = which.astype(np.int64)
        if which.ndim != 1 or (np.diff(which) <= 0).any():
            raise MatchbanditError("set_counts needs edges in rising order, each once, as from graph.edges(pairs).")
        if which.size and (which[0] < 0 or which[-1] >= self.graph.n_pairs):
            raise MatchbanditError(f"{self.graph} has {self.graph.n_pairs} pairs; got the edges {shorten(which)}.")
        plays, totals = (to_floats(name, values) for name, values in (("counts", counts), ("sums", sums)))
        if plays.shape != which.shape or totals.shape != which.shape:
            raise MatchbanditError(
                f"{len(which)} edges need a count and a sum each; got shapes {plays.shape} and {totals.shape}."
            )
        wrong = np.flatnonzero(~(np.isfinite(plays) & np.isfinite(totals) & (plays >= 0)))
        if len(wrong):
            k = wrong[0]
            raise MatchbanditError(
                f"a count must be a number from 0 on, and a sum a number; got {plays[k]:g} and {totals[k]:g} for the "
                f"edge {which[k]}."
            )
        low, high = self.setting.rewards.low * plays, self.setting.rewards.high * plays
        outside = np.flatnonzero((totals < low - SLACK * (1 + plays)) | (totals > high + SLACK * (1 + plays)))
        if len(outside):
            k = outside[0]
            raise MatchbanditError(
                f"{plays[k]:g} {self.setting.rewards.name} rewards sum to between {low[k]:g} and {high[k]:g}; "
                f"got {totals[k]:g} for the pair {self.graph.pairs_of(which[k : k + 1])[0].tolist()}."
            )
        if not self.done:
            self._all_or_nothing(lambda: self._set_counts(which, plays, totals))

    def _add_results(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Add counts and encoded sums; edges come in rising order, each once."""
        self.add_logged(edges, counts, sums)

    def _set_counts(self, edges: Edges, counts: Floats, sums: Floats) -> None:
        """Replace counts and encoded sums, checked."""
        if not np.array_equal(counts, np.rint(counts)):
            raise MatchbanditError(f"{self.name} counts whole plays; only rank1-thompson takes fractions.")
        self.arrays.plays[edges] = counts.astype(np.int64)
        self.arrays.sums[edges] = sums


def to_floats(name: str, values: ArrayLike) -> Floats:
    """The values as an array of floats, or an error."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MatchbanditError(f"{name} must be numbers; got {values!r}.") from None
