"""Chains of clusters side by side, every round drawn anew."""

from dataclasses import dataclass, field

import numpy as np

from matchbandit.graphs import Edges
from matchbandit.plans.base import Cells, Plan, Tally
from matchbandit.plans.groups import Group
from matchbandit.rewards import Counts
from matchbandit.schedules.chains import NOBODY, Chain, Schemes


@dataclass(frozen=True, eq=False)
class ShuffledRounds(Plan):
    """In every round each cluster draws one of its schemes at random, independently; every round is a sweep.

    Along a chain a round is a path: who is lent to the next cluster, whom of that it meets, who is lent on from there.
    Each step depends on the one before it alone, so the counts of n rounds are drawn step by step, a multinomial split
    of the counts of the step before. Its cells are those of all groups' chains.
    """

    edges: Edges = field(init=False)
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        """List the pairs of all groups."""
        object.__setattr__(self, "edges", np.concatenate([group.edges for group in self.groups]))

    def sweep(self, number: int, rng: np.random.Generator) -> Cells:
        """A round drawn at random: that is, the pairs that meet in a leap of one round."""
        return np.flatnonzero(self._draw(1, rng))[None, :]

    def draw(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """All rounds at once."""
        return most, self._draw(most, rng)

    def _draw(self, rounds: int, rng: np.random.Generator) -> Counts:
        return np.concatenate([_meetings(group.chain, rounds, rng) for group in self.groups])


def _meetings(chain: Chain, rounds: int, rng: np.random.Generator) -> Counts:
    """How often each cell of a chain comes up in so many rounds drawn at random."""
    counts = []
    lent = np.zeros(0, dtype=np.int64)
    for part in chain.parts:
        if part.lent_prev[0] == NOBODY:
            uses = rng.multinomial(rounds, _even(part.length))
            counts.append(_inside(part, uses))
        else:
            across = rng.multinomial(lent, _even(part.size))
            met = across.sum(axis=0)
            if part.between:
                others = rng.multinomial(met, _even(part.size - 1))
                onward = np.zeros((part.size, part.size), dtype=np.int64)
                onward[~np.eye(part.size, dtype=bool)] = others.ravel()
                uses = onward[part.lent_prev, part.lent_next]
            else:
                uses = met[part.lent_prev]
            counts += [_inside(part, uses), across.ravel()]
        lent = np.zeros(part.size, dtype=np.int64)
        if part.lent_next[0] != NOBODY:
            np.add.at(lent, part.lent_next, uses)
    return np.concatenate(counts)


def _inside(part: Schemes, uses: Counts) -> Counts:
    """How often each pair of a cluster meets when its schemes are used so often."""
    met = np.zeros(part.size * (part.size - 1) // 2, dtype=np.int64)
    if part.between:
        own = uses.reshape(*part.rounds.shape, 2).sum(axis=2)
        met[part.rounds] = own.sum(axis=1, keepdims=True) - own
    else:
        real = part.rounds != NOBODY
        met[part.rounds[real]] = np.broadcast_to(uses[:, None], real.shape)[real]
    return met


def _even(n: int) -> np.ndarray:
    return np.full(n, 1 / n)
