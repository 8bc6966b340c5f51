"""Pair-Select: the best matching of players from samples of single pairs."""

from typing import Any, ClassVar

import numpy as np

from matchbandit.confidence import Checks, checked_delta
from matchbandit.graphs import Pairs
from matchbandit.plans import FixedSweeps, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.fits import Fits
from matchbandit.policies.pair.pair_elim_mono import PairElimMono
from matchbandit.policies.ranking import Averages, Relation, closed, unranked


class PairSelect(PairElimMono):
    """Sentenac et al. 2021, Pair-Select (appendix); Theorem 3.5.

    First Pair-Elim-Mono with δ/2 finds the two best players. Then a sweep plays each unranked player against each of
    these two, in index order, and compares the players on their averages over both, with β_l = c l, K = 2N and δ/2,
    until no player is unranked. What the first part has learnt of the order is kept. *Unranked* is a player who is not
    comparable with some other, unless with exactly one and with an even number of players above: these two are partners
    whatever their order. Who is ranked once stays so. The answer is the matching of neighbours in the order, wrong with
    probability at most δ; from then on the two best players are played.

    Options: `growth` and `cap_windows` as in Pair-Elim-Mono; `delta` is δ.
    """

    name: ClassVar[str] = "pair-select"
    summary: ClassVar[str] = "the best matching from single pairs: the two best first, then all others against them"
    reference: ClassVar[str] = "Sentenac et al. 2021, Pair-Select"
    fits: ClassVar[Fits] = Fits(
        selections=("pair",),
        graphs=("monopartite",),
        answers="matching",
        goals=("identification",),
        proved=("identification",),
        eliminates=True,
    )
    remembered: ClassVar[tuple[str, ...]] = (*PairElimMono.remembered, "against_best", "unranked")

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        growth: float = 4.0,
        cap_windows: bool = False,
        delta: float = 0.05,
    ) -> None:
        """Nobody ranked."""
        super().__init__(setting, rng, growth=growth, cap_windows=cap_windows, delta=delta)
        sigma, delta = setting.rewards.sigma, checked_delta(delta)
        self.row_checks = Checks.certain(growth, 2 * self.n * (self.n - 1), delta / 2, sigma)
        self.rank_checks = Checks.certain(growth, self.n, delta / 2, sigma)
        self.against_best = Averages.empty(self.n)
        self.unranked = unranked(self.above)

    @property
    def done(self) -> bool:
        """Is everyone ranked?"""
        return self._best_known and not self._to_rank.any()

    @property
    def _to_rank(self) -> Relation:
        """Who is unranked; not the two best, who are the first pair even after intervals that contradict each other."""
        return np.asarray(self.unranked & ~np.isin(np.arange(self.n), self._best_two))

    @property
    def _best_known(self) -> bool:
        return len(self._contenders) <= 2

    def plan(self) -> FixedSweeps:
        """Pair-Elim-Mono's plan; then each unranked player against the two best."""
        if not self._best_known:
            return super().plan()
        best = self._best_two
        if self.done:
            return FixedSweeps(edges=self.graph.edges(best[None, :]), rounds=np.array([[0]]))
        others = np.setdiff1d(np.arange(self.n), best)
        edges = self.graph.edges(np.stack([np.repeat(others, 2), np.tile(best, len(others))], axis=1))
        rounds = np.flatnonzero(np.repeat(self._to_rank[others], 2))[:, None]
        limit = self.against_best.sweeps_to_check(2 * self._to_rank.astype(np.int64), self.rank_checks)
        return FixedSweeps(edges=edges, rounds=rounds, limit=limit)

    def learn(self, tally: Tally) -> None:
        """Pair-Elim-Mono's; then compare the unranked players on their averages against the two best."""
        if not self._best_known:
            super().learn(tally)
        else:
            others = np.setdiff1d(np.arange(self.n), self._best_two)
            counts, sums = np.zeros(self.n, dtype=np.int64), np.zeros(self.n)
            counts[others] = tally.counts.reshape(-1, 2).sum(axis=1)
            sums[others] = tally.sums.reshape(-1, 2).sum(axis=1)
            self.against_best.book(counts, sums, self.rank_checks)
            known = self.against_best
            self.above = closed(self.above | (known.lower[:, None] > known.upper[None, :]))
        self.unranked &= unranked(self.above)

    def recommend(self) -> Pairs:
        """Neighbours in the order: fewest beaters first; ties: the best average, then the lowest index."""
        ranked = np.lexsort((np.arange(self.n), -self._means(), self.above.sum(axis=0)))
        return np.sort(ranked.reshape(-1, 2), axis=1)

    def _means(self) -> Any:
        if not self._best_known:
            return super()._means()
        return self.against_best.sums / np.maximum(1, self.against_best.counts)

    def reasons(self) -> dict[str, Any]:
        if not self._best_known:
            return {**super().reasons(), "phase": "the two best"}
        beaters = [np.flatnonzero(self.above[:, j]).tolist() for j in range(self.n)]
        return {
            "phase": "ranking against the two best",
            "best": self._best_two.tolist(),
            "unranked": np.flatnonzero(self._to_rank).tolist(),
            "players": [{"player": j, "beaten_for_good_by": beaters[j]} for j in range(self.n)],
            "next_check": self.next_check(),
        }
