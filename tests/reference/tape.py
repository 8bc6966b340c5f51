"""Rewards fixed in advance: the k-th play of a pair pays the same, whoever asks and whenever."""

import numpy as np


class Tape:
    """A reward source over a table of rewards, shape (pairs, plays); it remembers how far each pair has been played.

    A pair that occurs several times in a call was played in turn, once for each occurrence in every sweep: its next
    rewards are dealt round and round over the occurrences, in the order of the call.
    """

    def __init__(self, rewards):
        self.rewards = np.asarray(rewards, dtype=float)
        self.played = np.zeros(len(rewards), dtype=np.int64)

    @classmethod
    def bernoulli(cls, means, plays, seed):
        return cls(np.random.default_rng(seed).random((len(means), plays)) < np.asarray(means)[:, None])

    def sums(self, edges, counts):
        paid = np.empty(len(edges))
        for edge in np.unique(edges):
            places = np.flatnonzero(edges == edge)
            sweeps = int(counts[places[0]])
            assert (np.asarray(counts)[places] == sweeps).all()
            start, self.played[edge] = self.played[edge], self.played[edge] + sweeps * len(places)
            dealt = self.rewards[edge, start : self.played[edge]].reshape(sweeps, len(places))
            paid[places] = dealt.sum(axis=0)
        return paid


class Roll(Tape):
    """A tape on which a pair that occurs several times in a call was played for one occurrence after the other.

    So it is with the closing and the open plays of a chain: all closing ones of a pair come before all open ones.
    """

    def sums(self, edges, counts):
        paid = np.empty(len(edges))
        for place, (edge, count) in enumerate(zip(edges.tolist(), np.asarray(counts).tolist(), strict=True)):
            start, self.played[edge] = self.played[edge], self.played[edge] + count
            assert self.played[edge] <= self.rewards.shape[1], "the tape is too short"
            paid[place] = self.rewards[edge, start : start + count].sum()
        return paid
