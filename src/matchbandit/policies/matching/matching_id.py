"""Matching-Id: the best matching of players from samples of whole matchings."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchbandit.confidence import Checks
from matchbandit.graphs import Pairs
from matchbandit.plans import FixedSweeps, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities, TheoremOption
from matchbandit.policies.options import Delta, Growth
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.policies.ranking import Averages, Relation, closed, ranked, unranked
from matchbandit.schedules import round_robin


class MatchingId(PlannedPolicy):
    """Matching-Id, appendix of [Sentenac2021]; Theorem 4.1.

    Kept is an order of the players, a relation that only grows. S are the *unranked* players: not comparable with some
    other, unless with exactly one and with an even number of players above (these two are partners whatever their
    order). B are the candidates for the |S| best: players with fewer than |S| above them. A sweep plays a round-robin
    on A = B ∪ S, beside a fixed matching of the rest, and books the samples of each player of S against those of B.
    Their averages are checked at k_l with β_l = c l, K = 2N; two unordered players of S whose intervals are separated
    become ordered. It ends when S is empty; the answer, neighbours in the order, is wrong with probability at most δ.

    Deviations: averages of different moments are multiplied by the mean of B at the time, so only the order is kept,
    and only players with the same history are compared. To give two unordered players of S the same history, every
    player of S that is unordered with one in B joins B, until nothing changes; the paper's B lacks this, and without it
    a run need not end. If |A| is odd the best-placed player outside joins the round-robin.

    Parameters
    ----------
    growth : float, default 4
        g, by which the counts k_l grow; above 1.
    delta : float, default 0.05
        δ, the error probability.
    """

    name: ClassVar[str] = "matching-id"
    summary: ClassVar[str] = "the best matching from whole matchings: unranked players against the candidates for best"
    reference: ClassVar[str] = "[Sentenac2021], Matching-Id"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        graphs=("monopartite",),
        goals=("identification",),
        proved=("identification",),
        theorem_options=(TheoremOption("growth", (4,)),),
        assumes_product=True,
    )
    state_fields: ClassVar[tuple[str, ...]] = ("above", "unranked", "averages")

    def __init__(
        self, setting: Setting, rng: np.random.Generator, *, growth: Growth = 4.0, delta: Delta = 0.05
    ) -> None:
        """Nobody ranked."""
        super().__init__(setting, rng)
        self.n = self.graph.n_items
        self.checks = Checks.fixed_confidence(growth, self.n, delta, setting.rewards.sigma)
        self.above: Relation = np.zeros((self.n, self.n), dtype=bool)
        self.unranked = unranked(self.above)
        self.averages = Averages.empty(self.n)

    @property
    def finished(self) -> bool:
        """Is everyone ranked?"""
        return not self.unranked.any()

    @property
    def candidates(self) -> Relation:
        """B: who may be among the |S| best, and the unranked players who cannot be told from them."""
        inside = np.asarray(self.above.sum(axis=0) < self.unranked.sum())
        unordered = self._unordered()
        while True:
            more = self.unranked & (unordered & inside).any(axis=1)
            if not (more & ~inside).any():
                return inside
            inside |= more

    def plan(self) -> FixedSweeps:
        """A round-robin on A beside a matching of the rest, until an average reaches its next check."""
        active = self.candidates | self.unranked
        placed = np.argsort(self.above.sum(axis=0), kind="stable")  # fewest above first (ties: the lower index)
        while active.sum() < 2 or active.sum() % 2:  # none are active once it is finished
            active[placed[~active[placed]][0]] = True
        tour = np.flatnonzero(active)[round_robin(int(active.sum()))]
        rest = placed[~active[placed]].reshape(-1, 2)
        beside = np.broadcast_to(rest, (len(tour), *rest.shape))
        rounds = np.concatenate([tour, beside], axis=1)
        edges = self.graph.edges(rounds.reshape(-1, 2)).reshape(rounds.shape[:2])
        limit = self.averages.sweeps_to_check(self._gains().sum(axis=1), self.checks)
        return FixedSweeps(edges=np.arange(self.graph.n_pairs), rounds=edges, limit=limit)

    def learn(self, tally: Tally) -> None:
        """Book the samples of S against B, and order those players who are separated."""
        booked, unordered = self._gains(), self._unordered()
        counts, sums = (self.graph.matrix(brought) for brought in (tally.counts, tally.sums))
        counts, sums = (((table + table.T) * booked).sum(axis=1) for table in (counts, sums))
        self.averages.add(counts, sums, self.checks)
        comparable = unordered & self.unranked[:, None] & self.unranked[None, :]
        known, inside = self.averages, self.candidates
        i, j = np.nonzero(comparable)
        assert (known.counts[i] == known.counts[j]).all(), "unordered players have different histories"
        assert (inside[i] == inside[j]).all(), "of two unordered players one is a candidate"
        self.above = closed(self.above | (comparable & (known.lower[:, None] > known.upper[None, :])))
        self.unranked &= unranked(self.above)

    def recommend(self) -> Pairs:
        """Neighbours in the order: fewest above first; ties: the better average, then the lower index."""
        return np.sort(ranked(self.above, self.averages.means()).reshape(-1, 2), axis=1)

    def _gains(self) -> NDArray[np.bool_]:
        """Which samples are booked: row i in S, column j in B."""
        return np.asarray(self.unranked[:, None] & self.candidates[None, :] & ~np.eye(self.n, dtype=bool))

    def _unordered(self) -> Relation:
        return np.asarray(~(self.above | self.above.T | np.eye(self.n, dtype=bool)))

    def explain_extra(self) -> dict[str, Any]:
        """Who is unranked, who is a candidate, and who is above whom."""
        items = self.averages.records(self.unranked, self.above)
        names = {"unranked": self.unranked, "candidates": self.candidates}
        details = {name: np.flatnonzero(which).tolist() for name, which in names.items()}
        return {"items": items, "next_check": self.next_check(), "details": details}
