"""Pair-Select: the best matching of players from samples of single pairs."""

from typing import Any, ClassVar

import numpy as np

from matchbandit.confidence import Checks
from matchbandit.graphs import Pairs
from matchbandit.plans import FixedSweeps, Plan, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.explanation import Elimination
from matchbandit.policies.options import Delta, Growth
from matchbandit.policies.pair.pair_elim_mono import PairElimMono, best_two
from matchbandit.policies.pair.window import WINDOW_THEOREMS
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.policies.ranking import Averages, Relation, closed, ranked, unranked


class PairSelect(PlannedPolicy):
    """Pair-Select, appendix of [Sentenac2021]; Theorem 3.5.

    First Pair-Elim-Mono with δ/2 finds the two best players. Then a sweep plays each unranked player against each of
    these two, in index order, and compares the players on their averages over both, with β_l = c l, K = 2N and δ/2,
    until no player is unranked. What the first phase has learnt of the order is kept. *Unranked* is a player who is not
    comparable with some other, unless with exactly one and with an even number of players above: these two are partners
    whatever their order. Who is ranked once stays so. The answer is the matching of neighbours in the order, wrong with
    probability at most δ. `eliminations` are those of the first phase.

    Parameters
    ----------
    growth : float, default 4
        g, by which the counts k_l grow; above 1. 4 is the paper's.
    cap_windows : bool, default False
        Cap β of the first phase's windows at 2/δ; the paper does not.
    delta : float, default 0.05
        δ, the error probability.
    """

    name: ClassVar[str] = "pair-select"
    summary: ClassVar[str] = "the best matching from single pairs: the two best first, then all others against them"
    reference: ClassVar[str] = "[Sentenac2021], Pair-Select"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair",), graphs=("monopartite",), answers="matching", eliminates=True,
        goals=("identification",), proved=("identification",), theorem_options=WINDOW_THEOREMS,
        assumes_product=True,
    )  # fmt: skip
    state_fields: ClassVar[tuple[str, ...]] = ("first", "above", "unranked", "against_best")

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        growth: Growth = 4.0,
        cap_windows: bool = False,
        delta: Delta = 0.05,
    ) -> None:
        """Nobody ranked."""
        super().__init__(setting, rng)
        self.n = self.graph.n_items
        self.first = PairElimMono(setting, rng, growth=growth, cap_windows=cap_windows, delta=delta / 2)
        """The first phase; over once it is finished."""
        self.rank_checks = Checks.fixed_confidence(growth, self.n, delta / 2, setting.rewards.sigma)
        self.above: Relation = self.first.above
        self.unranked = unranked(self.above)
        self.against_best = Averages.empty(self.n)

    @property
    def finished(self) -> bool:
        """Is everyone ranked?"""
        return self.first.finished and not self._to_rank.any()

    @property
    def eliminations(self) -> list[Elimination]:
        """The comparisons by which players were beaten in the first phase."""
        return self.first.eliminations

    @property
    def _to_rank(self) -> Relation:
        """Who is unranked; not the two best, who are the first pair even after intervals that contradict each other."""
        return np.asarray(self.unranked & ~np.isin(np.arange(self.n), best_two(self.above)))

    def plan(self) -> Plan:
        """Pair-Elim-Mono's plan; then each unranked player against the two best."""
        if not self.first.finished:
            return self.first.current
        best, to_rank = best_two(self.above), self._to_rank
        others = np.setdiff1d(np.arange(self.n), best)
        edges = self.graph.edges(np.stack([np.repeat(others, 2), np.tile(best, len(others))], axis=1))
        rounds = np.flatnonzero(np.repeat(to_rank[others], 2))[:, None]
        limit = self.against_best.sweeps_to_check(2 * to_rank.astype(np.int64), self.rank_checks)
        return FixedSweeps(edges=edges, rounds=rounds, limit=limit)

    def learn(self, tally: Tally) -> None:
        """Pair-Elim-Mono's; then compare the unranked players on their averages against the two best."""
        if not self.first.finished:
            self.first.follow(tally, self.rounds)
            self.above = self.first.above
        else:
            others = np.setdiff1d(np.arange(self.n), best_two(self.above))
            counts, sums = np.zeros(self.n, dtype=np.int64), np.zeros(self.n)
            counts[others] = tally.counts.reshape(-1, 2).sum(axis=1)
            sums[others] = tally.sums.reshape(-1, 2).sum(axis=1)
            known = self.against_best
            known.add(counts, sums, self.rank_checks)
            self.above = closed(self.above | (known.lower[:, None] > known.upper[None, :]))
        self.unranked &= unranked(self.above)

    def recommend(self) -> Pairs:
        """Neighbours in the order: fewest beaters first; ties: the best average, then the lowest index."""
        means = self.against_best.means() if self.first.finished else self.first.means(self.pending)
        return np.sort(ranked(self.above, means).reshape(-1, 2), axis=1)

    def explain_extra(self) -> dict[str, Any]:
        """The phase, and who beats whom."""
        if not self.first.finished:
            said = self.first.described(self.pending)
            return {**said, "next_check": self.next_check(), "details": {"phase": "the two best", **said["details"]}}
        to_rank = self._to_rank
        items = self.against_best.records(to_rank, self.above)
        details = {"phase": "ranking against the two best", "best": best_two(self.above).tolist(),
                   "unranked": np.flatnonzero(to_rank).tolist()}  # fmt: skip
        return {"items": items, "next_check": self.next_check(), "details": details}
