"""Sequential halving: in each phase all that are left are played equally often, and the better half stays."""

from typing import Any, ClassVar

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Pairs, Selection
from matchbandit.plans import FixedSweeps, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.combinatorial import all_pairs
from matchbandit.policies.explanation import pair_record
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.solvers import MAX_MATCHINGS, all_matchings, count_matchings


class SequentialHalving(PlannedPolicy):
    """Sequential Halving [Karnin2013], Algorithm 3, with all pairs, or all matchings, as K arms.

    The budget of B rounds is divided into ⌈log2 K⌉ phases. In each phase every arm of the set S that is left is played
    ⌊B/(|S| ⌈log2 K⌉)⌋ times, and the ⌈|S|/2⌉ arms with the best averages of this phase stay. The last is the answer.

    With rewards in [0, 1], gaps Δ_2 ≤ … ≤ Δ_K to the best arm, and H = max_i i/Δ_i², it is wrong with probability at
    most 3 log2(K) exp(−B/(8 H log2 K)) (Theorem 4.1, for one pair per round; recalled).

    It knows nothing of strengths: every pair or matching is learnt on its own. Equal averages are ranked at random,
    which the paper leaves open. Rounds of the budget that do not divide evenly are not played. All matchings are
    listed: up to 10 players, or 1000 matchings of rows and columns.

    Parameters
    ----------
    selection : {"pair", "matching"}, optional
        What a round plays and the answer is; by default matchings of players, and pairs of rows and columns.
    """

    name: ClassVar[str] = "sequential-halving"
    summary: ClassVar[str] = "fixed budget: all that are left equally often, then the better half stays"
    reference: ClassVar[str] = "Karnin et al. 2013"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair", "matching"),
        goals=("identification",),
        proved=("identification",),
        fixed_budget=True,
        max_matchings=MAX_MATCHINGS,
    )
    state_fields: ClassVar[tuple[str, ...]] = ("active", "plays", "sums")

    def __init__(self, setting: Setting, rng: np.random.Generator, *, selection: Selection | None = None) -> None:
        """Refuse a budget that is too small to play every arm once in the first phase."""
        super().__init__(setting, rng)
        self.arms = self._arms()
        """The edges of each arm, shape (arms, pairs of each)."""
        n_arms = len(self.arms)
        self.phases = (n_arms - 1).bit_length()
        """⌈log2 K⌉."""
        self.budget = setting.horizon or 0
        smallest = n_arms * self.phases
        if self.budget < smallest:
            arms = "pairs" if self.selection == "pair" else "matchings"
            raise MatchbanditError(
                f"budget must be at least {smallest} here, or {self.name} cannot play each of {n_arms} {arms} once in "
                f"the first of {self.phases} phases; got {self.budget}."
            )
        self.active = np.arange(n_arms)
        self.plays = np.zeros(n_arms, dtype=np.int64)
        self.sums = np.zeros(self.arms.shape)

    def _arms(self) -> Edges:
        if self.selection == "pair":
            return all_pairs(self.graph.n_pairs)
        if count_matchings(self.graph) > MAX_MATCHINGS:
            raise MatchbanditError(
                f"{self.name} plays every matching, and supports at most {MAX_MATCHINGS}; {self.graph} has more. "
                f"Use selection='pair', or rank1-certify with delta."
            )
        return all_matchings(self.graph)

    def plan(self) -> FixedSweeps:
        """Every arm that is left equally often; once there is one, that one forever."""
        edges = self.arms[self.active]
        rounds = np.arange(edges.size).reshape(edges.shape)
        if self.finished:
            return FixedSweeps(edges=edges.ravel(), rounds=rounds)
        return FixedSweeps(edges=edges.ravel(), rounds=rounds, limit=self._plays_each())

    def _plays_each(self) -> int:
        """How often the phase plays each arm."""
        return self.budget // (len(self.active) * self.phases)

    def learn(self, tally: Tally) -> None:
        """The better half stays."""
        active, sums = self.active, tally.sums.reshape(len(self.active), -1)
        self.plays[active] += tally.sweeps
        self.sums[active] += sums
        shuffled = self.rng.permutation(len(active))  # ties are ranked at random
        ranking = shuffled[np.argsort(-sums.sum(axis=1)[shuffled], kind="stable")]
        self.active = np.sort(active[ranking[: (len(active) + 1) // 2]])

    @property
    def finished(self) -> bool:
        """Is one arm left?"""
        return len(self.active) == 1

    def recommend(self) -> Pairs:
        """The arm that is left, or, of several, the one with the best average of all phases."""
        plays, sums = self._totals()
        averages = sums[self.active].sum(axis=1) / np.maximum(1, plays[self.active])
        return self.graph.pairs_of(self.arms[self.active[int(np.argmax(averages))]])

    def _totals(self) -> tuple[Any, Any]:
        """Plays and sums of the arms, with those of the phase so far."""
        plays, sums = self.plays.copy(), self.sums.copy()
        plays[self.active] += self.pending.sweeps
        sums[self.active] += self.pending.sums.reshape(len(self.active), -1)
        return plays, sums

    def explain_extra(self) -> dict[str, Any]:
        """Plays and average of each pair, and the phase."""
        arm_plays, arm_sums = self._totals()
        plays, sums = np.zeros(self.graph.n_pairs, dtype=np.int64), np.zeros(self.graph.n_pairs)
        np.add.at(plays, self.arms, arm_plays[:, None])
        np.add.at(sums, self.arms, arm_sums)
        rows = zip(self.graph.pairs.tolist(), plays.tolist(), sums.tolist(), strict=True)
        return {
            "pairs": [pair_record(pair, plays=n, estimate=total / n if n else None) for pair, n, total in rows],
            "next_check": self.next_check(),
            "details": {
                "budget": self.budget,
                "phases": self.phases,
                "arms_left": len(self.active),
                "plays_each": 0 if self.finished else self._plays_each(),
            },
        }
