"""Matchings by brute force, and the rules of combinatorial bandits from their definitions, in plain Python."""

from itertools import permutations
from math import isnan, log, sqrt

from matchbandit.schedules import latin_design, round_robin


def matchings_of(graph):
    """All largest matchings, each a sorted list of pairs."""
    rows, columns = graph.shape
    if graph.kind == "bipartite" and rows <= columns:
        return [list(enumerate(chosen)) for chosen in permutations(range(columns), rows)]
    if graph.kind == "bipartite":
        return [sorted((i, j) for j, i in enumerate(chosen)) for chosen in permutations(range(rows), columns)]
    return [found for found in _disjoint(list(range(rows))) if len(found) == rows // 2]


def _disjoint(players):
    if len(players) < 2:
        return [[]]
    first, *others = players
    paired = [[(first, j), *rest] for j in others for rest in _disjoint([k for k in others if k != j])]
    return paired + _disjoint(others)


def best_value(graph, weights):
    """The greatest sum of weights of a largest matching, by dynamic programming over the items that are left.

    `weights` maps pairs to numbers.
    """
    rows, columns = graph.shape
    if graph.kind == "bipartite":
        if rows > columns:
            rows, columns, weights = columns, rows, {(j, i): w for (i, j), w in weights.items()}
        best = {0: 0.0}  # by the set of columns taken, after each row
        for i in range(rows):
            following = {}
            for taken, value in best.items():
                for j in range(columns):
                    if not taken >> j & 1:
                        now = taken | 1 << j
                        following[now] = max(following.get(now, -float("inf")), value + weights[i, j])
            best = following
        return max(best.values())
    memory = {0: 0.0}

    def value(left):  # of an even number of players, all of them paired
        if left not in memory:
            first = (left & -left).bit_length() - 1
            rest = left & ~(1 << first)
            memory[left] = max(value(rest & ~(1 << j)) + weights[first, j] for j in range(rows) if rest >> j & 1)
        return memory[left]

    everyone = (1 << rows) - 1
    return value(everyone) if rows % 2 == 0 else max(value(everyone & ~(1 << alone)) for alone in range(rows))


class Naive:
    """Keeps every reward of every pair; subclasses say what they would play."""

    def __init__(self, graph, sigma):
        self.graph, self.sigma = graph, sigma
        self.pairs = [tuple(pair) for pair in graph.pairs.tolist()]
        self.matchings = matchings_of(graph)
        self.rewards = {pair: [] for pair in self.pairs}
        self.rounds = 0

    def tell(self, pairs, rewards):
        """Book a round; NaN: did not take place."""
        for pair, reward in zip(pairs, rewards, strict=True):
            if not isnan(reward):
                self.rewards[pair].append(reward)
        self.rounds += not all(map(isnan, rewards))

    def opening(self):
        """The first round of the tour with an unplayed pair, or None."""
        tour = latin_design(*self.graph.shape) if self.graph.kind == "bipartite" else round_robin(self.graph.shape[0])
        for pairs in tour.tolist():
            if any(not self.rewards[tuple(pair)] for pair in pairs):
                return [tuple(pair) for pair in pairs]
        return None

    def mean(self, pair):
        return sum(self.rewards[pair]) / len(self.rewards[pair])

    def plays(self, pair):
        return len(self.rewards[pair])

    def best(self, weights):
        """The heaviest matching, the first of those that are equal but for rounding."""
        values = [total(matching, weights) for matching in self.matchings]
        return next(m for m, value in zip(self.matchings, values, strict=True) if value >= max(values) - 1e-12)


class NaiveCucb(Naive):
    """μ + 2σ sqrt(1.5 log t / n); t is the round to come."""

    def weights(self):
        t = self.rounds + 1
        return {pair: self.mean(pair) + 2 * self.sigma * sqrt(1.5 * log(t) / self.plays(pair)) for pair in self.pairs}


class NaiveClucb(Naive):
    """M, its rival and the pair to play, from the definition."""

    def __init__(self, graph, sigma, delta):
        super().__init__(graph, sigma)
        self.delta = delta

    def rad(self, pair):
        level = log(4 * len(self.pairs) * self.rounds**3 / self.delta)
        return self.sigma * sqrt(2 * level / self.plays(pair))

    def decide(self):
        """(done, the pair to play)."""
        means = {pair: self.mean(pair) for pair in self.pairs}
        best = self.best(means)
        weights = {pair: means[pair] + (-1 if pair in best else 1) * self.rad(pair) for pair in self.pairs}
        rival = self.best(weights)
        done = total(rival, weights) <= total(best, weights) + 1e-12
        among = best if done else [pair for pair in self.pairs if (pair in best) != (pair in rival)]
        widest = max(self.rad(pair) for pair in among)
        return done, min(pair for pair in among if self.rad(pair) >= widest - 1e-12)

    def around(self, wanted):
        """The greatest sum of rad of a matching that contains the pair."""
        radii = {pair: self.rad(pair) for pair in self.pairs}
        return max(total(matching, radii) for matching in self.matchings if wanted in matching)


def total(matching, weights):
    return sum(weights[pair] for pair in matching)
