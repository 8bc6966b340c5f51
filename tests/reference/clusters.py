"""Naive test oracles for matching selection: SAM, Adaptive-Matching, Exploration-first and Matching-Id, round by round.

Each class is driven from outside: `next_round()` says which pairs are played next, `tell(rewards)` pays them.
"""

import math
from typing import NamedTuple

import numpy as np

from matchbandit.confidence import Checks
from matchbandit.graphs import monopartite
from matchbandit.plans.chains import group_clusters
from matchbandit.schedules import round_robin

Pair = tuple[int, int]
Cluster = list[int]


def _pair(i: int, j: int) -> Pair:
    """A pair is unordered: the smaller index comes first."""
    return (i, j) if i < j else (j, i)


def _tournament(items: list) -> list[list[tuple]]:
    """The rounds of a round-robin; seat k is the k-th of these."""
    return [[(items[a], items[b]) for a, b in one_round] for one_round in round_robin(len(items)).tolist()]


def groups_of(sizes):
    """Players numbered through, in clusters of these sizes, chain by chain, as the library groups them."""
    ends = np.cumsum([size for chain in sizes for size in chain])
    return group_clusters(np.split(np.arange(ends[-1]), ends[:-1]), monopartite(int(ends[-1])))


# ---------------------------------------------------------------------------------------------------
# Chains of clusters


class Scheme(NamedTuple):
    """Whom the items of one cluster meet in a round: each other, and at most one the next and one the previous."""

    pairs: list[Pair]
    to_next: int | None
    to_previous: int | None


def schemes_of(cluster: Cluster, is_first: bool, is_last: bool) -> list[Scheme]:
    """The matching schemes of a cluster, by its place in the chain."""
    if is_first and is_last:  # isolated
        return [Scheme(one_round, None, None) for one_round in _tournament(cluster)]
    schemes = []
    if is_first or is_last:
        for one_round in _tournament([*cluster, "virtual"]):
            pairs = [(a, b) for a, b in one_round if b != "virtual"]
            (outward,) = [a for a, b in one_round if b == "virtual"]
            schemes.append(Scheme(pairs, outward, None) if is_first else Scheme(pairs, None, outward))
        return schemes
    for one_round in _tournament(cluster):
        for a, b in one_round:
            pairs = [pair for pair in one_round if pair != (a, b)]
            schemes.append(Scheme(pairs, a, b))
            schemes.append(Scheme(pairs, b, a))
    return schemes


def group_into_chains(clusters: list[Cluster]) -> list[list[Cluster]]:
    """A chain ends where the running total of sizes is even."""
    chains = []
    current: list[Cluster] = []
    total = 0
    for cluster in clusters:
        current.append(cluster)
        total += len(cluster)
        if total % 2 == 0:
            chains.append(current)
            current = []
    assert not current, "the number of items must be even"
    return chains


class Chain:
    """Clusters that play together from their common first round on, and their samples that are not yet committed."""

    def __init__(self, clusters: list[Cluster]) -> None:
        self.clusters = clusters
        self.age = 0  # rounds played
        K = len(clusters)
        sizes = [len(cluster) for cluster in clusters]
        self.schemes = [schemes_of(clusters[p], is_first=p == 0, is_last=p == K - 1) for p in range(K)]
        self.holds = []  # for how many rounds a scheme is kept
        for place in range(K):
            number = place + 1  # the paper counts from 1
            if number % 2 == 1:
                self.holds.append(1)
            else:
                following = sizes[place + 1] if number < K else 1
                self.holds.append(math.lcm(sizes[place - 1], following))
        self.pending: dict[int, list[tuple[int, float]]] = {i: [] for cluster in clusters for i in cluster}

    def period(self, place: int) -> int:
        """After how many rounds the cluster commits."""
        return self.holds[place] * len(self.schemes[place])

    def next_round(self) -> list[Pair]:
        """The pairs that the chain plays next."""
        pairs = []
        waiting = None  # the item of the previous cluster that goes to the next
        for schemes, hold in zip(self.schemes, self.holds, strict=True):
            scheme = schemes[self.age // hold % len(schemes)]
            pairs += [_pair(a, b) for a, b in scheme.pairs]
            assert (waiting is None) == (scheme.to_previous is None)
            if waiting is not None:
                pairs.append(_pair(waiting, scheme.to_previous))
            waiting = scheme.to_next
        assert waiting is None
        return pairs

    def tell(self, rewards: dict[Pair, float]) -> list[int]:
        """Keep the samples of the round; return the places of the clusters whose period has just ended."""
        for i, j in self.next_round():
            self.pending[i].append((j, rewards[i, j]))
            self.pending[j].append((i, rewards[i, j]))
        self.age += 1
        return [place for place in range(len(self.clusters)) if self.age % self.period(place) == 0]


# ---------------------------------------------------------------------------------------------------
# Adaptive-Matching, SAM, Exploration-first


class AdaptiveMatching:
    """Adaptive-Matching: ordered clusters, split wherever two neighbours in the order of averages are separated.

    Options: `clusters` to start from (best first), or `best`, the two best items: [best], [all others].
    """

    split_anywhere = True

    def __init__(
        self,
        n_items: int,
        horizon: int,
        growth: float,
        sigma: float = 0.5,
        *,
        clusters: list[Cluster] | None = None,
        best: Pair | None = None,
    ) -> None:
        assert n_items >= 2
        assert n_items % 2 == 0
        self.n = n_items
        self.checks = Checks(growth, math.log(horizon), sigma)
        assert clusters is None or best is None
        if best is not None:
            clusters = [list(best), [i for i in range(n_items) if i not in best]]
        if clusters is None:
            clusters = [list(range(n_items))]
        self.clusters = [sorted(cluster) for cluster in clusters if cluster]
        assert sorted(i for cluster in self.clusters for i in cluster) == list(range(n_items))
        self.rounds = 0  # played so far
        self.splits: list[tuple[int, list[Cluster]]] = []
        self.counts = np.zeros((n_items, n_items), dtype=int)  # row i: committed samples of item i against each other
        self.sums = np.zeros((n_items, n_items))
        self.running = [Chain(chain) for chain in group_into_chains(self.clusters)]

    @property
    def chains(self) -> list[list[Cluster]]:
        """The clusters, chain by chain."""
        return group_into_chains(self.clusters)

    def next_round(self) -> list[Pair]:
        """The pairs of the next round, sorted."""
        return sorted(pair for chain in self.running for pair in chain.next_round())

    def tell(self, rewards: dict[Pair, float]) -> None:
        """Take the rewards of the round; commit, check and split."""
        assert sorted(rewards) == self.next_round()
        self.rounds += 1

        # Commit whole periods, all of them before any check.
        committed = []  # (chain, cluster, its pooled count before)
        for chain in self.running:
            for place in chain.tell(rewards):
                cluster = chain.clusters[place]
                committed.append((chain, cluster, self.pooled_count(cluster)))
                for i in cluster:
                    for j, reward in chain.pending[i]:
                        self.commit(i, j, reward)
                    chain.pending[i] = []

        # Check.
        found = []  # (cluster, its parts)
        broken = []
        for chain, cluster, before in committed:
            is_isolated = len(chain.clusters) == 1
            if len(cluster) == 1 or (is_isolated and len(cluster) == 2):
                continue
            parts = self.parts_of(cluster, before)
            if len(parts) > 1:
                found.append((cluster, parts))
                broken.append(chain)
        if not found:
            return

        # Split: the chains concerned end, with what they had not committed; their parts start anew.
        for cluster, parts in found:
            place = self.clusters.index(cluster)
            self.clusters[place : place + 1] = parts
        old = {tuple(map(tuple, chain.clusters)): chain for chain in self.running if chain not in broken}
        self.running = []
        for clusters in group_into_chains(self.clusters):
            key = tuple(map(tuple, clusters))
            self.running.append(old.pop(key) if key in old else Chain(clusters))
        assert not old, "a chain without a split must go on"
        self.record_split()

    def commit(self, i: int, j: int, reward: float) -> None:
        """Enter one sample of item i, against j, for good."""
        self.counts[i, j] += 1
        self.sums[i, j] += reward

    def record_split(self) -> None:
        """Remember when the clusters became what they are."""
        self.splits.append((self.rounds, [list(cluster) for cluster in self.clusters]))

    def opponents(self, cluster: Cluster) -> list[int]:
        """The items of this and of all better clusters, as they are now."""
        items = []
        for other in self.clusters:
            items += other
            if other == cluster:
                return items
        raise AssertionError("no such cluster")

    def pooled_count(self, cluster: Cluster) -> int:
        """How many committed samples any item of the cluster has against its own and better clusters."""
        opponents = self.opponents(cluster)
        of_items = [sum(int(self.counts[i, k]) for k in opponents) for i in cluster]
        assert len(set(of_items)) == 1, "all items of a cluster must share their count"
        return of_items[0]

    def parts_of(self, cluster: Cluster, before: int) -> list[Cluster]:
        """The parts of the cluster after its check, best first; the cluster alone when it is not due or holds."""
        count = self.pooled_count(cluster)
        if count < self.checks.following(before):
            return [cluster]
        radius = self.checks.radius(count)
        opponents = self.opponents(cluster)
        mean = {i: sum(float(self.sums[i, k]) for k in opponents) / count for i in cluster}
        order = sorted(cluster, key=lambda i: (-mean[i], i))
        parts = [[order[0]]]
        for place in range(1, len(order)):
            high, low = order[place - 1], order[place]
            separated = mean[low] + radius < mean[high] - radius
            if separated and (self.split_anywhere or place % 2 == 0):
                parts.append([])
            parts[-1].append(low)
        return [sorted(part) for part in parts]


class SAM(AdaptiveMatching):
    """Simple Adaptive Matching: splits at even positions only, so that every cluster is isolated."""

    split_anywhere = False

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        assert all(len(cluster) % 2 == 0 for cluster in self.clusters)


class ExplorationFirst(AdaptiveMatching):
    """Exploration-first: everyone meets everyone until the others than the best two split; then Adaptive-Matching."""

    def __init__(
        self, n_items: int, horizon: int, growth: float, sigma: float = 0.5, *, best: Pair, clusters: None = None
    ) -> None:
        assert n_items >= 4
        assert clusters is None
        super().__init__(n_items, horizon, growth, sigma, best=best)
        self.exploring = True
        self.tournament = _tournament(list(range(n_items)))
        self.samples: list[tuple[int, int, float]] = []  # of the tournament under way, (item, opponent, reward)

    def next_round(self) -> list[Pair]:
        """The pairs of the next round, sorted."""
        if not self.exploring:
            return super().next_round()
        return sorted(self.tournament[self.rounds % len(self.tournament)])

    def tell(self, rewards: dict[Pair, float]) -> None:
        """Take the rewards of the round; at the end of a tournament commit, check and split."""
        if not self.exploring:
            super().tell(rewards)
            return
        assert sorted(rewards) == self.next_round()
        self.rounds += 1
        for (i, j), reward in rewards.items():
            self.samples.append((i, j, reward))
            self.samples.append((j, i, reward))
        if self.rounds % len(self.tournament) != 0:
            return
        best, others = self.clusters
        before = self.pooled_count(others)
        for i, k, reward in self.samples:
            if i in others:
                self.commit(i, k, reward)
        self.samples = []
        assert self.pooled_count(others) == before + self.n - 1
        parts = self.parts_of(others, before)
        if len(parts) > 1:
            self.exploring = False
            self.clusters = [best, *parts]
            self.running = [Chain(chain) for chain in group_into_chains(self.clusters)]
            self.record_split()


# ---------------------------------------------------------------------------------------------------
# Matching-Id


def _close(above: np.ndarray) -> None:
    """Close the relation transitively, in place; an item is never above itself."""
    n = len(above)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if above[i, k] and above[k, j]:
                    above[i, j] = True
    for i in range(n):
        above[i, i] = False


class MatchingId:
    """Matching-Id: the unranked items S against the best B, one tournament of A ⊇ B ∪ S a sweep, until S is empty."""

    def __init__(self, n_items: int, delta: float, growth: float, sigma: float = 0.5) -> None:
        assert n_items >= 2
        assert n_items % 2 == 0
        self.n = n_items
        self.checks = Checks.fixed_confidence(growth, n_items, delta, sigma)
        self.above = np.zeros((n_items, n_items), dtype=bool)
        self.S = set(range(n_items))
        self.counts = np.zeros((n_items, n_items), dtype=int)  # row i: booked samples of item i against each other
        self.sums = np.zeros((n_items, n_items))
        self.item_counts = [0] * n_items
        self.item_sums = [0.0] * n_items
        self.lower = [-math.inf] * n_items  # kept intervals
        self.upper = [math.inf] * n_items
        self.rounds = 0  # played so far
        self.sweeps = 0  # completed so far
        self.start_sweep()

    @property
    def done(self) -> bool:
        """Whether everyone is ranked."""
        return not self.S

    @property
    def answer(self) -> list[Pair]:
        """The neighbours in the order known so far, best pair first; it is the answer once `done`."""
        mean = [self.item_sums[i] / max(1, self.item_counts[i]) for i in range(self.n)]
        order = sorted(range(self.n), key=lambda i: (self.beaters(i), -mean[i], i))
        return [_pair(order[p], order[p + 1]) for p in range(0, self.n, 2)]

    def beaters(self, i: int) -> int:
        """How many items are above i."""
        return sum(bool(self.above[j, i]) for j in range(self.n))

    def unordered(self, i: int, j: int) -> bool:
        """Whether neither of two items is above the other."""
        return i != j and not self.above[i, j] and not self.above[j, i]

    def is_unranked(self, i: int) -> bool:
        """Unordered with some item, unless with exactly one and an even number of items are above i."""
        peers = [j for j in range(self.n) if self.unordered(i, j)]
        return len(peers) > 1 or (len(peers) == 1 and self.beaters(i) % 2 == 1)

    def start_sweep(self) -> None:
        """Choose B and A, and lay out the rounds."""
        self.B = {i for i in range(self.n) if self.beaters(i) < len(self.S)}
        changed = True
        while changed:
            changed = False
            for i in self.S - self.B:
                if any(self.unordered(i, j) for j in self.S & self.B):
                    self.B.add(i)
                    changed = True
        self.A = self.B | self.S
        by_place = sorted(range(self.n), key=lambda i: (self.beaters(i), i))
        if len(self.A) % 2 == 1:
            self.A.add(next(i for i in by_place if i not in self.A))
        rest = [i for i in by_place if i not in self.A]
        beside = [_pair(rest[p], rest[p + 1]) for p in range(0, len(rest), 2)]
        self.layout = [sorted(one_round + beside) for one_round in _tournament(sorted(self.A))]
        self.played = 0  # rounds of this sweep
        self.samples: dict[Pair, float] = {}  # (item of A, opponent in A) -> reward

    def next_round(self) -> list[Pair]:
        """The pairs of the next round, sorted; when done, the answer."""
        return sorted(self.answer) if self.done else self.layout[self.played]

    def tell(self, rewards: dict[Pair, float]) -> None:
        """Take the rewards of the round; at the end of a sweep book them and check."""
        assert not self.done
        assert sorted(rewards) == self.next_round()
        self.rounds += 1
        self.played += 1
        for (i, j), reward in rewards.items():
            if i in self.A and j in self.A:
                assert (i, j) not in self.samples
                self.samples[i, j] = self.samples[j, i] = reward
        if self.played == len(self.layout):
            self.sweeps += 1
            self.end_sweep()
            if not self.done:
                self.start_sweep()

    def end_sweep(self) -> None:
        """Book the samples of S against B, check who is due, and extend the order."""
        someone_checked = False
        for i in sorted(self.S):
            before = self.item_counts[i]
            for j in sorted(self.B - {i}):
                self.counts[i, j] += 1
                self.sums[i, j] += self.samples[i, j]
                self.item_counts[i] += 1
                self.item_sums[i] += self.samples[i, j]
            count = self.item_counts[i]
            if count >= self.checks.following(before):
                someone_checked = True
                mean = self.item_sums[i] / count
                self.lower[i] = mean - self.checks.radius(count)
                self.upper[i] = mean + self.checks.radius(count)
        if not someone_checked:
            return
        found = []  # (better, worse)
        for i in sorted(self.S):
            for j in sorted(self.S):
                if self.unordered(i, j):
                    assert (i in self.B) == (j in self.B)
                    assert self.item_counts[i] == self.item_counts[j]
                    if self.lower[i] > self.upper[j]:
                        found.append((i, j))
        for better, worse in found:
            self.above[better, worse] = True
        _close(self.above)
        self.S = {i for i in self.S if self.is_unranked(i)}
