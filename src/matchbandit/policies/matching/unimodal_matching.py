"""Unimodal matching: Thompson sampling among the matchings that are one swap away from the leader."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.errors import whole_number
from matchbandit.graphs import Edges, Pairs, player_edge
from matchbandit.policies.base import Setting
from matchbandit.policies.fits import Fits
from matchbandit.policies.matching.index import IndexPolicy, open_round
from matchbandit.policies.matching.index import update as count
from matchbandit.rewards import Counts, Floats, succeeds
from matchbandit.solvers import sorted_pairing


class Arrays(NamedTuple):
    """What it remembers; plays, sums, wins and leads by edge."""

    plays: Counts
    sums: Floats
    total: Counts
    opening: Edges
    matchings: Edges
    constants: Floats
    """γ."""
    wins: Counts
    """Successes; a reward strictly between 0 and 1 is one with that probability."""
    leads: Counts
    """How often the pair was in the leader."""
    leader: Pairs
    """The leader's pairs, best mean first; −1 before the first one."""


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once; then the leader at every γ-th time that it leads, else the best draw among its neighbours."""
    if open_round(arrays, edges):
        return
    elect(arrays, rng)
    leads = np.iinfo(np.int64).max
    for k in range(len(edges)):
        edges[k] = player_edge(arrays.leader[k, 0], arrays.leader[k, 1], 2 * len(edges))
        arrays.leads[edges[k]] += 1
        leads = min(leads, arrays.leads[edges[k]])
    if leads % int(arrays.constants[0]) != 0:
        best_draw(arrays, rng, edges)


@compiled
def mean_of(arrays: Arrays, i: int, j: int) -> float:
    """The empirical mean of two players."""
    edge = player_edge(i, j, 2 * len(arrays.leader))
    return float(arrays.sums[edge] / arrays.plays[edge])


@compiled
def elect(arrays: Arrays, rng: np.random.Generator) -> None:
    """Make the leader the best of itself and its neighbours, by means, at each two consecutive pairs in turn."""
    leader = arrays.leader
    if leader[0, 0] < 0:
        by_averages(arrays)
    put_in_order(arrays, rng)
    swapped = False
    for k in range(len(leader) - 1):
        a, b, c, d = leader[k, 0], leader[k, 1], leader[k + 1, 0], leader[k + 1, 1]
        now = mean_of(arrays, a, b) + mean_of(arrays, c, d)
        first = mean_of(arrays, a, c) + mean_of(arrays, b, d)
        second = mean_of(arrays, a, d) + mean_of(arrays, b, c)
        if max(first, second) > now:
            swapped = True
            leader[k, 1], leader[k + 1, 0], leader[k + 1, 1] = (c, b, d) if first >= second else (d, b, c)
    if swapped:
        put_in_order(arrays, rng)


@compiled
def by_averages(arrays: Arrays) -> None:
    """The first leader: players in the order of their averages over all opponents (ties: the lower index)."""
    n = 2 * len(arrays.leader)
    totals = np.zeros(n)
    for i in range(n):
        for j in range(i + 1, n):
            totals[i] += mean_of(arrays, i, j)
            totals[j] += mean_of(arrays, i, j)
    order = np.argsort(-totals, kind="mergesort")
    arrays.leader[:] = order.reshape(-1, 2)


@compiled
def put_in_order(arrays: Arrays, rng: np.random.Generator) -> None:
    """Sort the leader's pairs by their means, best first, ties at random."""
    leader, means = arrays.leader, np.empty(len(arrays.leader))
    for k in range(len(leader)):
        i, j = leader[k]
        mean, place = mean_of(arrays, i, j), k
        while place > 0 and (means[place - 1] < mean or (means[place - 1] == mean and rng.random() < 0.5)):
            means[place] = means[place - 1]
            leader[place] = leader[place - 1]
            place -= 1
        means[place] = mean
        leader[place, 0], leader[place, 1] = i, j


@compiled
def draw_of(arrays: Arrays, rng: np.random.Generator, edge: int) -> float:
    """A draw from the pair's Beta posterior."""
    return float(rng.beta(1.0 + arrays.wins[edge], 1.0 + arrays.plays[edge] - arrays.wins[edge]))


@compiled
def best_draw(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """Given the leader's edges, write down those of the best draw among the leader and its neighbours.

    A pair is drawn once. All other pairs of a neighbour are the leader's too, and do not matter.
    """
    n = 2 * len(edges)
    site, most, one, two = -1, 0.0, 0, 0
    above = draw_of(arrays, rng, edges[0])
    for k in range(len(edges) - 1):
        below = draw_of(arrays, rng, edges[k + 1])
        a, b, c, d = arrays.leader[k, 0], arrays.leader[k, 1], arrays.leader[k + 1, 0], arrays.leader[k + 1, 1]
        for turn in range(2):
            first, second = player_edge(a, d if turn else c, n), player_edge(b, c if turn else d, n)
            gain = draw_of(arrays, rng, first) + draw_of(arrays, rng, second) - above - below
            if gain > most:
                site, most, one, two = k, gain, first, second
        above = below
    if site >= 0:
        edges[site], edges[site + 1] = one, two


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays, rewards and, by a coin flip unless they are 0 or 1, successes."""
    count(arrays, rng, edges, rewards)
    for k in range(len(edges)):
        if succeeds(rewards[k], rng):
            arrays.wins[edges[k]] += 1


class UnimodalMatching(IndexPolicy):
    """After Rodet & Gaudel 2022 (UniRank), for matchings of players: the counterpart of UTS.

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

    Options: `gamma` is γ; 1 always plays the leader, and explores nothing.
    """

    name: ClassVar[str] = "unimodal-matching"
    summary: ClassVar[str] = "Thompson sampling among the matchings one swap away from the leader"
    reference: ClassVar[str] = "after Rodet & Gaudel 2022"
    fits: ClassVar[Fits] = Fits(selections=("matching",), graphs=("monopartite",), unit_rewards=True, warm_start=True)
    looks_at_each: ClassVar[bool] = False
    arrays_type = Arrays
    choose = staticmethod(choose)
    update = staticmethod(update)

    def __init__(self, setting: Setting, rng: np.random.Generator, *, gamma: int = 2) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng, gamma=whole_number("gamma", gamma, least=1, most=10**9))

    def constants(self) -> list[float]:
        """γ."""
        return [self.options["gamma"]]

    def start(self) -> Any:
        """No plays, no wins, no leader."""
        counts = np.zeros((2, self.graph.n_pairs), dtype=np.int64)
        leader = np.full((self.graph.matching_size, 2), -1, dtype=np.int64)
        return Arrays(**super().start()._asdict(), wins=counts[0].copy(), leads=counts[1].copy(), leader=leader)

    def recommend(self) -> Pairs:
        """The leader; before the first one, players paired by their averages."""
        if self.arrays.leader[0, 0] >= 0:
            return np.sort(self.arrays.leader, axis=1)
        table = self.graph.matrix(self.means())
        return sorted_pairing((table + table.T).sum(axis=1))

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        super().take(edges, counts, sums)
        self.arrays.wins[edges] += np.rint(sums).astype(np.int64)  # the nearest number of successes

    def _of_pairs(self) -> list[dict[str, Any]]:
        plays, wins, leads = self.arrays.plays, self.arrays.wins, self.arrays.leads
        return [
            {"posterior": {"beta": [1 + int(won), 1 + int(n - won)]}, "leads": int(led)}
            for n, won, led in zip(plays, wins, leads, strict=True)
        ]
