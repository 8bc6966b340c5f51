"""Unimodal matching: Thompson sampling among the matchings that are one swap away from the leader."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Pairs, player_edge
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.combinatorial import CombinatorialArrays, CombinatorialPolicy, choose_initial_round
from matchbandit.policies.pair.uts import Gamma
from matchbandit.rewards import Counts, Floats, succeeds
from matchbandit.solvers import sorted_pairing


class UnimodalParams(NamedTuple):
    """What only it needs; wins and leads by edge."""

    gamma: int
    """γ."""
    wins: Counts
    """Successes; a reward strictly between 0 and 1 is one with that probability."""
    leads: Counts
    """How often the pair was in the leader."""
    leader: Pairs
    """The leader's pairs, best mean first; −1 before the first one."""


@compiled
def choose(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once; then the leader at every γ-th time that it leads, else the best draw among its neighbours."""
    if choose_initial_round(arrays, edges):
        return
    leader, leads = arrays.params.leader, arrays.params.leads
    elect(arrays.plays, arrays.sums, leader, rng)
    least = 0
    for k in range(len(edges)):
        edges[k] = player_edge(leader[k, 0], leader[k, 1], 2 * len(edges))
        leads[edges[k]] += 1
        least = leads[edges[k]] if k == 0 else min(least, leads[edges[k]])
    if least % arrays.params.gamma != 0:
        best_draw(arrays.plays, arrays.params.wins, leader, rng, edges)


@compiled
def mean_of(plays: Counts, sums: Floats, i: int, j: int, n: int) -> float:
    """The empirical mean of two of n players."""
    edge = player_edge(i, j, n)
    return float(sums[edge] / plays[edge])


@compiled
def by_averages(plays: Counts, sums: Floats, leader: Pairs) -> None:
    """The first leader: players in the order of their averages over all opponents (ties: the lower index first)."""
    n = 2 * len(leader)
    totals = np.empty(n)
    for i in range(n):
        total, place = 0.0, i
        for j in range(n):
            total += mean_of(plays, sums, i, j, n) if i != j else 0.0
        while place > 0 and totals[place - 1] < total:
            totals[place] = totals[place - 1]
            leader[place // 2, place % 2] = leader[(place - 1) // 2, (place - 1) % 2]
            place -= 1
        totals[place] = total
        leader[place // 2, place % 2] = i


@compiled
def elect(plays: Counts, sums: Floats, leader: Pairs, rng: np.random.Generator) -> None:
    """Make the leader the best of itself and its neighbours, by means, at each two consecutive pairs in turn.

    Its pairs stand in the order of their means, best first, ties at random.
    """
    n = 2 * len(leader)
    values = np.empty(len(leader))
    if leader[0, 0] < 0:
        by_averages(plays, sums, leader)
    swapped = True
    for turn in range(2):
        if not swapped:
            break
        for k in range(len(leader)):
            i, j, place = leader[k, 0], leader[k, 1], k
            mean = mean_of(plays, sums, i, j, n)
            while place > 0 and (values[place - 1] < mean or (values[place - 1] == mean and rng.random() < 0.5)):
                values[place] = values[place - 1]
                leader[place, 0] = leader[place - 1, 0]
                leader[place, 1] = leader[place - 1, 1]
                place -= 1
            values[place] = mean
            leader[place, 0] = i
            leader[place, 1] = j
        swapped = False
        for k in range(len(leader) - 1 if turn == 0 else 0):
            a, b, c, d = leader[k, 0], leader[k, 1], leader[k + 1, 0], leader[k + 1, 1]
            now = mean_of(plays, sums, a, b, n) + mean_of(plays, sums, c, d, n)
            first = mean_of(plays, sums, a, c, n) + mean_of(plays, sums, b, d, n)
            second = mean_of(plays, sums, a, d, n) + mean_of(plays, sums, b, c, n)
            if max(first, second) > now:
                swapped = True
                leader[k, 1] = c if first >= second else d
                leader[k + 1, 0] = b
                leader[k + 1, 1] = d if first >= second else c


@compiled
def best_draw(plays: Counts, wins: Counts, leader: Pairs, rng: np.random.Generator, edges: Edges) -> None:
    """Given the leader's edges, write down those of the best draw among the leader and its neighbours.

    A pair is drawn once: (c, d), below (a, b) in the leader, and then the pairs of the two neighbours, (a, c) and
    (b, d) or (a, d) and (b, c). All other pairs of a neighbour are the leader's too, and do not matter.
    """
    site, most, one, two = -1, 0.0, 0, 0
    above, below, half, first = 0.0, 0.0, 0.0, 0
    for k in range(len(edges)):
        for turn in range(5 if k > 0 else 1):
            edge = edges[k]
            if turn > 0:
                i, j = leader[k - 1, (turn + 1) % 2], leader[k, turn // 2 % 2]
                edge = player_edge(i, j, 2 * len(edges))
            draw = rng.beta(1.0 + wins[edge], 1.0 + plays[edge] - wins[edge])
            if turn == 0:
                above, below = below, draw
            elif turn % 2 == 1:
                first, half = edge, draw
            else:
                gain = half + draw - above - below
                if gain > most:
                    site, most, one, two = k - 1, gain, first, edge
    if site >= 0:
        edges[site] = one
        edges[site + 1] = two


@compiled
def update(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays, rewards and, by a coin flip unless they are 0 or 1, successes."""
    for k in range(len(edges)):
        arrays.plays[edges[k]] += 1
        arrays.sums[edges[k]] += rewards[k]
        if succeeds(rewards[k], rng):
            arrays.params.wins[edges[k]] += 1
    arrays.total[0] += len(edges)


class UnimodalMatching(CombinatorialPolicy):
    """After [RodetGaudel2022] and UniRank [Gauthier2022], for matchings of players: the counterpart of UTS.

    Every pair once, in the rounds of a tour. Then, every round, a leader is elected. At every γ-th time that it leads
    it is played; otherwise draws from Beta(1 + S, 1 + F) are made for its pairs and for those of its neighbours, one
    for each pair, and the matching with the greatest sum of draws is played.

    Let the leader's pairs stand in the order of their means, best first, ties at random. A neighbour swaps partners
    between two consecutive pairs (a, b), (c, d): it has (a, c), (b, d) or (a, d), (b, c) instead; there are 2(N − 1).
    If the means are products of strengths, then a matching that no such swap improves is the best one. For (a, b) and
    (c, d) are arranged well only if no strength of the one lies strictly between those of the other.

    The first leader pairs players in the order of their averages, every opponent weighted equally. From then on the
    leader moves, at each two consecutive pairs in turn, to the better neighbour by empirical means if that is better
    than what it has. To sort players by averages in every round instead would be wrong: pairs far from the leader are
    not played again, their few samples stay in the averages, and a wrong leader can stay for ever (it did, on 4 random
    instances of 12).

    Deviation: UTS counts how often each leader has led. There are too many matchings for that, so leads are counted by
    pair, and a leader has led as often as the pair in it that has led least. While a leader stays, every γ-th of its
    leads is played, as in UTS; when leaders alternate, each goes on from a count of its own, unless all its pairs have
    meanwhile led in others.

    Rewards strictly between 0 and 1 count as a success with that probability in S and F, as they are in the means.

    Parameters
    ----------
    gamma : int, default 2
        γ; 1 always plays the leader, and explores nothing.
    """

    name: ClassVar[str] = "unimodal-matching"
    summary: ClassVar[str] = "Thompson sampling among the matchings one swap away from the leader"
    reference: ClassVar[str] = "after Rodet & Gaudel 2022"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",), graphs=("monopartite",), unit_rewards=True, warm_start=True, assumes_product=True
    )
    needs_best_matching: ClassVar[bool] = False
    choose = staticmethod(choose)
    update = staticmethod(update)

    def __init__(self, setting: Setting, rng: np.random.Generator, *, gamma: Gamma = 2) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng)

    def params(self) -> UnimodalParams:
        """No wins, no leader."""
        counts = np.zeros((2, self.graph.n_pairs), dtype=np.int64)
        leader = np.full((self.graph.matching_size, 2), -1, dtype=np.int64)
        return UnimodalParams(self.options["gamma"], wins=counts[0].copy(), leads=counts[1].copy(), leader=leader)

    def recommend(self) -> Pairs:
        """The leader; before the first one, players paired by their averages."""
        if self.arrays.params.leader[0, 0] >= 0:
            return np.sort(self.arrays.params.leader, axis=1)
        table = self.graph.matrix(self.means())
        return sorted_pairing((table + table.T).sum(axis=1))

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Count logged results, with the nearest numbers of successes."""
        super().add_logged(edges, counts, sums)
        self.arrays.params.wins[edges] += np.rint(sums).astype(np.int64)

    def pair_details(self) -> dict[str, list[Any]]:
        """The posterior, and how often the pair led."""
        params, plays = self.arrays.params, self.arrays.plays
        beta = [{"beta": [1 + int(won), 1 + int(n - won)]} for n, won in zip(plays, params.wins, strict=True)]
        return {"posterior": beta, "leads": params.leads.tolist()}
