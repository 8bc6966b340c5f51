"""Rewards fixed in advance: the k-th play of a pair pays the same, whoever asks and whenever."""

import numpy as np


class Tape:
    """A reward source over a table of rewards, shape (pairs, plays); it remembers how far each pair has been played."""

    def __init__(self, rewards):
        self.total = np.concatenate([np.zeros((len(rewards), 1)), np.cumsum(rewards, axis=1)], axis=1)
        self.played = np.zeros(len(rewards), dtype=np.int64)

    @classmethod
    def bernoulli(cls, means, plays, seed):
        return cls(np.random.default_rng(seed).random((len(means), plays)) < np.asarray(means)[:, None])

    def sums(self, edges, counts):
        paid = np.empty(len(edges))
        for k, (edge, count) in enumerate(zip(edges, counts, strict=True)):
            paid[k] = self.total[edge, self.played[edge] + count] - self.total[edge, self.played[edge]]
            self.played[edge] += count
        return paid
