"""Chains of clusters: who meets whom when odd clusters lend each other items.

Ordered clusters are grouped into chains: a chain ends where the running total of sizes is even. A chain of one is an
isolated, even cluster. In a longer chain the two ends are odd, the clusters between them even; in every round one item
of each cluster meets one of the next. Within a chain items are numbered consecutively, cluster after cluster.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from math import lcm

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Pairs
from matchbandit.schedules.round_robin import round_robin

Numbers = NDArray[np.int64]
NOBODY = -1


def chain_ends(sizes: tuple[int, ...]) -> list[int]:
    """Behind which cluster each chain ends: where the running total of sizes is even.

    >>> chain_ends((2, 3, 4, 1, 6))
    [1, 4, 5]
    """
    ends = [k + 1 for k, total in enumerate(accumulate(sizes)) if total % 2 == 0]
    if not sizes or not ends or ends[-1] != len(sizes) or min(sizes) < 1:
        raise MatchbanditError(
            f"chains need clusters of an even number of items in all; got sizes {sizes}. Leave an item out, or add one."
        )
    return ends


@dataclass(frozen=True, eq=False)
class Schemes:
    """The schemes of one cluster: who meets whom within it, who is lent to the next and to the previous cluster."""

    size: int
    rounds: Numbers
    """Round-robin: the place of each pair of seats in lexicographic order; NOBODY for a pair with the virtual item."""
    lent_next: Numbers
    """The seat that meets the next cluster, for every scheme; NOBODY if there is none."""
    lent_prev: Numbers
    """The seat that meets the previous cluster."""

    @property
    def between(self) -> bool:
        """Does it lend to both sides?"""
        return bool(self.lent_next[0] != NOBODY and self.lent_prev[0] != NOBODY)

    @property
    def length(self) -> int:
        """How many schemes there are."""
        return len(self.lent_next)

    def inside(self, scheme: int) -> Numbers:
        """The places of the pairs that meet within the cluster."""
        if not self.between:
            return np.asarray(self.rounds[scheme][self.rounds[scheme] != NOBODY])
        number, pair = scheme // self.size, scheme % self.size // 2
        return np.delete(self.rounds[number], pair)


@lru_cache(maxsize=1024)
def schemes(size: int, *, has_prev: bool, has_next: bool) -> Schemes:
    """The schemes of a cluster by its place in a chain.

    Isolated: the rounds of a round-robin. At an end: of a round-robin with one virtual item in the last seat, whose
    opponent is lent. Between two others: from every round and each of its pairs (a, b) two schemes, that round without
    this pair, with a lent to the next and b to the previous cluster, and the other way round: size·(size − 1) schemes,
    in which every block of `size` has each item once as next and once as prev.
    """
    at_end = has_prev != has_next
    tour = round_robin(size + 1) if at_end else round_robin(size)
    seats = tour[tour.max(axis=2) == size].reshape(-1, 2)[:, 0] if at_end else np.full(len(tour), NOBODY)
    nobody = np.full(len(tour), NOBODY)
    lent_next, lent_prev = (seats if has_next else nobody), (seats if has_prev else nobody)
    if has_prev and has_next:
        lent_next, lent_prev = tour.reshape(-1), tour[:, :, ::-1].reshape(-1)
    a, b = tour[:, :, 0], tour[:, :, 1]
    places = np.where(b < size, a * (2 * size - a - 1) // 2 + b - a - 1, NOBODY)
    return Schemes(size, places, lent_next.copy(), lent_prev.copy())


@dataclass(frozen=True, eq=False)
class Chain:
    """The schedule of a chain. Odd-numbered clusters change scheme every round, even-numbered ones hold each.

    Even-numbered clusters hold a scheme for lcm(|previous|, |next|) rounds (nothing behind the last: 1), so that all
    items of both neighbours pass by. A cluster's *period* is its hold times the number of its schemes: over whole
    periods any two of its items meet every third item of it and of the cluster before it equally often.

    Each pair is *used* by one cluster: the lower one of its two items. Cells number all pairs that can meet, user after
    user: the pairs within the cluster in lexicographic order, then those of the previous cluster with it.
    """

    sizes: tuple[int, ...]
    parts: tuple[Schemes, ...]
    holds: tuple[int, ...]
    firsts: tuple[int, ...]
    """The first item of each cluster, and the number of all."""
    first_cells: tuple[int, ...]
    """The first cell that each cluster uses, and the number of all."""

    @cached_property
    def periods(self) -> list[int]:
        """Rounds of a whole period of each cluster."""
        return [hold * part.length for hold, part in zip(self.holds, self.parts, strict=True)]

    @cached_property
    def gains(self) -> list[int]:
        """How many samples that its cluster uses each item gets in a whole period: all but those as next."""
        lent = [part.length // part.size if part.lent_next[0] != NOBODY else 0 for part in self.parts]
        return [h * (part.length - n) for h, part, n in zip(self.holds, self.parts, lent, strict=True)]

    @property
    def pairs(self) -> Pairs:
        """The pair of each cell, the item of the better cluster first."""
        pairs = []
        for k, size in enumerate(self.sizes):
            pairs.append(self.firsts[k] + np.stack(np.triu_indices(size, k=1), axis=1))
            if k > 0:
                both = np.divmod(np.arange(self.sizes[k - 1] * size), size)
                pairs.append(np.stack(both, axis=1) + np.array([self.firsts[k - 1], self.firsts[k]]))
        return np.concatenate(pairs).astype(np.int64)

    def round(self, t: int) -> Numbers:
        """The cells of round t, counted from 0."""
        now = [t // hold % part.length for hold, part in zip(self.holds, self.parts, strict=True)]
        cells = []
        for k, part in enumerate(self.parts):
            cells.append(self.first_cells[k] + part.inside(now[k]))
            if k > 0:
                a, b = self.parts[k - 1].lent_next[now[k - 1]], part.lent_prev[now[k]]
                within = self.sizes[k] * (self.sizes[k] - 1) // 2
                cells.append(np.array([self.first_cells[k] + within + a * self.sizes[k] + b]))
        return np.concatenate(cells)

    def meetings(self, cluster: int, rounds: Numbers) -> Numbers:
        """How often the cells that a cluster uses come up in the first n rounds, for each n in `rounds`.

        >>> chain((1, 2, 1)).meetings(1, np.array([2, 4])).tolist()
        [[0, 1, 1], [0, 2, 2]]
        """
        part, hold = self.parts[cluster], self.holds[cluster]
        n_cells = self.first_cells[cluster + 1] - self.first_cells[cluster]
        met = np.zeros((len(rounds), n_cells), dtype=np.int64)
        if part.between:
            _inside_between(rounds, part.rounds, hold, met)
        else:
            _inside(rounds, part.rounds, hold, met)
        if cluster > 0:
            before, within = self.parts[cluster - 1], part.size * (part.size - 1) // 2
            table = met[:, within:].reshape(len(rounds), before.size, part.size)
            if cluster % 2:
                _across(rounds, part.lent_prev, hold, before.lent_next, before.size, table.transpose(0, 2, 1))
            else:
                _across(rounds, before.lent_next, self.holds[cluster - 1], part.lent_prev, part.size, table)
        return met


@lru_cache(maxsize=4096)
def chain(sizes: tuple[int, ...]) -> Chain:
    """The schedule of a chain of clusters of these sizes.

    >>> chain((5, 8, 7)).periods
    [5, 1960, 7]
    """
    if chain_ends(sizes) != [len(sizes)]:
        raise MatchbanditError(f"clusters of sizes {sizes} are not a single chain; `chain_ends` says where each ends.")
    last = len(sizes) - 1
    parts = tuple(schemes(size, has_prev=k > 0, has_next=k < last) for k, size in enumerate(sizes))
    behind = (*sizes, 1)
    holds = tuple(lcm(sizes[k - 1], behind[k + 1]) if k % 2 else 1 for k in range(len(sizes)))
    used = [size * (size - 1) // 2 + (sizes[k - 1] * size if k else 0) for k, size in enumerate(sizes)]
    return Chain(sizes, parts, holds, tuple(accumulate(sizes, initial=0)), tuple(accumulate(used, initial=0)))


@compiled
def _uses(rounds: int, scheme: int, hold: int, length: int) -> int:
    """In how many of the first rounds a scheme is in force."""
    whole, rest = divmod(rounds, hold * length)
    return int(whole * hold + min(max(rest - scheme * hold, 0), hold))


@compiled
def _inside(rounds: Numbers, places: Numbers, hold: int, met: Numbers) -> None:
    """Meetings within an isolated cluster or one at an end: each pair is in one scheme."""
    for k in range(len(rounds)):
        for s in range(len(places)):
            uses = _uses(rounds[k], s, hold, len(places))
            for place in places[s]:
                if place != NOBODY:
                    met[k, place] += uses


@compiled
def _inside_between(rounds: Numbers, places: Numbers, hold: int, met: Numbers) -> None:
    """Meetings within a cluster between two others: a pair is in all schemes of its round but the two it makes."""
    n_rounds, n_pairs = places.shape
    length = 2 * n_rounds * n_pairs
    for k in range(len(rounds)):
        for r in range(n_rounds):
            first = 2 * n_pairs * r
            total = 0
            for s in range(first, first + 2 * n_pairs):
                total += _uses(rounds[k], s, hold, length)
            for q in range(n_pairs):
                own = _uses(rounds[k], first + 2 * q, hold, length) + _uses(rounds[k], first + 2 * q + 1, hold, length)
                met[k, places[r, q]] += total - own


@compiled
def _across(rounds: Numbers, slow: Numbers, hold: int, fast: Numbers, n_fast: int, met: Numbers) -> None:
    """Meetings of the seats that two neighbours lend each other, met[k, slow seat, fast seat].

    Whole holds show every item of the fast cluster to the slow one's equally often; only the last, broken hold needs
    counting.
    """
    for k in range(len(rounds)):
        n_holds, rest = divmod(rounds[k], hold)
        for s in range(len(slow)):
            often = _uses(n_holds, s, 1, len(slow)) * (hold // n_fast)
            for b in range(n_fast):
                met[k, slow[s], b] += often
        now = slow[n_holds % len(slow)]
        for b in range(n_fast):
            met[k, now, b] += rest // n_fast
        for t in range(rounds[k] - rest % n_fast, rounds[k]):
            met[k, now, fast[t % len(fast)]] += 1
