"""Which rounds to play next: those that are expected to add most to the evidence that is still missing.

None of this needs to be right: it decides how soon something is certified, never what.
"""

from collections.abc import Callable
from math import exp, log
from typing import NamedTuple

import numpy as np

from matchbandit.certificates import Links, Relation
from matchbandit.compiled import compiled
from matchbandit.graphs import Edges
from matchbandit.rewards import Counts, Floats, Noise

STEPS, STEPS_A_LINK, SOLVED_STEPS = 30, 4, 6
"""Rounds that a batch chooses, each for an even part of the batch: where all rounds are listed, this many or more, so
that every link that is missing can have its own; and where each must be solved for."""
FLOOR = 0.1
"""This part of a batch is spread over all pairs as if it were played, so that slopes are not 0. It never is: were it
more, the plan would lean on it, and play a against everyone and its rivals against no one, batch after batch."""
SHARPNESS = 6.0
"""How much the link that would be certified last outweighs the others."""
WORTH = 0.01
"""This part of the optimum is added to what a round loses: a round that loses nothing is not worth everything."""
INSIDE = 1e-9
"""Means are kept at this distance from 0 and 1, where one reward would decide everything."""


@compiled
def divergence(noise: Noise, p: float, q: float) -> float:
    """kl(p, q) of one reward, for means inside (0, 1)."""
    if noise.trials == 0:
        return (p - q) * (p - q) / (2.0 * noise.sd * noise.sd)
    return noise.trials * (p * log(p / q) + (1.0 - p) * log((1.0 - p) / (1.0 - q)))


@compiled
def cell_gain(
    noise: Noise, means: Floats, plays: Floats, floor: float, a: int, b: int, c: int, slopes: Floats
) -> float:
    """What plays against c are expected to add to log E of a > b; `slopes` are those of one more play of a and b."""
    slopes[0, c], slopes[1, c] = 0.0, 0.0
    x, y = plays[a, c] + floor, plays[b, c] + floor
    if c in (a, b) or plays[a, c] < 0.0 or x + y <= 0.0:
        return 0.0
    p = min(max(means[a, c], INSIDE), 1.0 - INSIDE)
    q = min(max(means[b, c], INSIDE), 1.0 - INSIDE)
    m = (x * p + y * q) / (x + y)
    slopes[0, c], slopes[1, c] = divergence(noise, p, m), divergence(noise, q, m)
    return float(x * slopes[0, c] + y * slopes[1, c])


@compiled
def gains(
    noise: Noise, means: Floats, links: Links, plays: Floats, floor: float, cells: Floats, slopes: Floats
) -> None:
    """What such plays are expected to add to log E of each link, and what one more play of each of its pairs would.

    `means` are those of all pairs, items × items. For a > b that is Σ_c [n_ac kl(p_ac, m_c) + n_bc kl(p_bc, m_c)], m_c
    the mean of p_ac and p_bc weighted by their plays; every pair counts `floor` plays more, too few to matter.
    `cells[k, c]` is the part of c in it, `slopes[k, 0, c]` is kl(p_ac, m_c), and `slopes[k, 1, c]` kl(p_bc, m_c). Plays
    are −1 where items cannot meet.
    """
    for k in range(len(links)):
        for c in range(len(means)):
            cells[k, c] = cell_gain(noise, means, plays, floor, links[k, 0], links[k, 1], c, slopes[k])


@compiled
def update_gains(
    noise: Noise, means: Floats, links: Links, plays: Floats, floor: float, i: int, j: int, cells: Floats,
    slopes: Floats,
) -> None:  # fmt: skip
    """The same after i and j have met: of a link of one of them, only the part of the other has changed."""
    for k in range(len(links)):
        a, b = links[k, 0], links[k, 1]
        if i in (a, b):
            cells[k, j] = cell_gain(noise, means, plays, floor, a, b, j, slopes[k])
        if j in (a, b):
            cells[k, i] = cell_gain(noise, means, plays, floor, a, b, i, slopes[k])


@compiled
def add_up(cells: Floats, totals: Floats) -> None:
    """The gain of each link: the sum of its cells, from the first to the last."""
    for k in range(len(cells)):
        totals[k] = 0.0
        for c in range(cells.shape[1]):
            totals[k] += cells[k, c]


@compiled
def worth_of_pairs(links: Links, missing: Floats, cells: Floats, slopes: Floats, worth: Floats) -> None:
    """What one more play of each pair is worth: its slopes, weighted by how late the links would be certified.

    A link counts by exp(−6 (its share − the least share)/least share), the share being that of what it misses, and by
    1 over what it misses.
    """
    shares = np.empty(len(links))
    add_up(cells, shares)
    least = np.inf
    for k in range(len(links)):
        shares[k] /= missing[k]
        least = min(least, shares[k])
    for a in range(len(worth)):
        for c in range(len(worth)):
            worth[a, c] = 0.0
    for k in range(len(links)):
        weight = exp(-SHARPNESS * (shares[k] - least) / least) / missing[k] if least > 0.0 else 1.0 / missing[k]
        for end in range(2):
            a = links[k, end]
            for c in range(len(worth)):
                if slopes[k, end, c] != 0.0:
                    worth[a, c] += weight * slopes[k, end, c]
                    worth[c, a] = worth[a, c]


@compiled
def part(rounds: int, step: int, steps: int) -> int:
    """How many of the rounds fall to this step."""
    return rounds * (step + 1) // steps - rounds * step // steps


@compiled
def choose_listed(
    noise: Noise, means: Floats, links: Links, missing: Floats, plays: Floats, rounds: int, ends: Counts,
    candidates: Edges, times: Counts,
) -> None:  # fmt: skip
    """Count in `times` how often to play each candidate round."""
    worth, cells = np.empty(plays.shape), np.empty((len(links), len(means)))
    slopes = np.empty((len(links), 2, len(means)))
    floor = FLOOR * rounds / len(means) ** 2
    steps = min(max(STEPS, STEPS_A_LINK * len(links)), rounds)
    gains(noise, means, links, plays, floor, cells, slopes)
    for step in range(steps):
        worth_of_pairs(links, missing, cells, slopes, worth)
        best, most = 0, -1.0
        for r in range(len(candidates)):
            total = 0.0
            for k in range(candidates.shape[1]):
                total += worth[ends[candidates[r, k], 0], ends[candidates[r, k], 1]]
            if total > most:
                best, most = r, total
        n = part(rounds, step, steps)
        times[best] += n
        for k in range(candidates.shape[1]):
            i, j = ends[candidates[best, k], 0], ends[candidates[best, k], 1]
            plays[i, j] += n
            plays[j, i] = plays[i, j]
            update_gains(noise, means, links, plays, floor, i, j, cells, slopes)


def choose_solved(
    noise: Noise, means: Floats, links: Links, missing: Floats, plays: Floats, rounds: int, ends: Counts,
    best: Edges, solver: Callable[[Floats], Edges],
) -> tuple[Edges, Counts]:  # fmt: skip
    """The same where there are too many rounds to list: the solver returns the best one for each edge's worth."""
    worth, cells = np.empty(plays.shape), np.empty((len(links), len(means)))
    slopes = np.empty((len(links), 2, len(means)))
    floor = FLOOR * rounds / len(means) ** 2
    steps = min(SOLVED_STEPS, rounds)
    chosen, times = [best], [0]
    for step in range(steps):
        gains(noise, means, links, plays, floor, cells, slopes)
        worth_of_pairs(links, missing, cells, slopes, worth)
        chosen.append(solver(worth[ends[:, 0], ends[:, 1]]))
        times.append(part(rounds, step, steps))
        i, j = ends[chosen[-1]].T
        plays[i, j] += times[-1]
        plays[j, i] = plays[i, j]
    return np.array(chosen), np.array(times)


class Swaps(NamedTuple):
    """Rounds that exchange two items of the best guess, one of each pair of a link; one row each."""

    ends: Counts
    """The items of the one or two pairs that it makes, shape (swaps, 2, 2); −1 where it makes only one."""
    edges: Counts
    """The edges of these pairs, shape (swaps, 2); the same twice where it makes only one."""
    pairs: Counts
    """The first and the last pair of the best guess that it replaces, at most two, next to each other."""
    links: Counts
    """The two links that it compares, shape (swaps, 2, 2): the items and their partners; the same twice for one."""


@compiled
def find_swaps(order: Counts, links: Links, partner: Counts, pair: Counts, edges: Counts) -> Swaps:
    """The swaps of these links of an order, each once, by the pairs that they replace.

    Of each place of an order `partner` is the place of its partner, and `pair` the number of its pair, −1 if the item
    is not played; `edges` is the edge of every two items.
    """
    place = np.empty(len(order), dtype=np.int64)
    for k in range(len(order)):
        place[order[k]] = k
    n = 0
    swaps = Swaps(
        np.empty((len(links), 2, 2), dtype=np.int64), np.empty((len(links), 2), dtype=np.int64),
        np.empty((len(links), 2), dtype=np.int64), np.empty((len(links), 2, 2), dtype=np.int64),
    )  # fmt: skip
    for link in range(len(links)):
        a, b = links[link]
        i, j = place[a], place[b]
        other_a = order[partner[i]]
        new_a = edges[other_a, b]
        swaps.ends[n, 0], swaps.ends[n, 1] = (other_a, b), (-1, -1)
        swaps.edges[n, 0], swaps.edges[n, 1] = new_a, new_a
        swaps.pairs[n, 0], swaps.pairs[n, 1] = pair[i], pair[i]
        swaps.links[n, 0], swaps.links[n, 1] = (a, b), (a, b)
        if pair[j] >= 0:
            other_b = order[partner[j]]
            swaps.ends[n, 1], swaps.edges[n, 1] = (a, other_b), edges[a, other_b]
            swaps.pairs[n, 1] = pair[j]
            swaps.links[n, 1] = (other_a, other_b)
        is_new = True
        for k in range(n):
            one, two = swaps.edges[k]
            if (one == swaps.edges[n, 0] and two == swaps.edges[n, 1]) or (
                two == swaps.edges[n, 0] and one == swaps.edges[n, 1]
            ):
                is_new = False
        n += is_new
    by_pair = np.argsort(swaps.pairs[:n, 0], kind="mergesort")
    return Swaps(swaps.ends[by_pair], swaps.edges[by_pair], swaps.pairs[by_pair], swaps.links[by_pair])


@compiled
def disjoint_groups(pairs: Counts, wanted: Relation, group: Counts) -> int:
    """Put the swaps that are wanted into rounds, as few as a first fit finds; return their number.

    In a round no two replace the same pair. `group` is filled with the round of each swap, −1 for the others.
    """
    last = np.full(len(pairs), -1)
    n_groups = 0
    for k in range(len(pairs)):
        group[k] = -1
        if wanted[k]:
            g = 0
            while last[g] >= pairs[k, 0]:
                g += 1
            group[k], last[g] = g, pairs[k, 1]
            n_groups = max(n_groups, g + 1)
    return n_groups


@compiled
def force_swaps(swaps: Swaps, links: Links, more: float, credit: Floats, turns: Counts) -> Relation:
    """Choose the swaps whose turn it is: a round a row.

    The credit of each of these links, items × items, rises by `more`. A swap is due once one of its links has a credit
    of 1, and is played for as many turns as that credit has whole ones, which its links pay for. `turns` is filled with
    the turns of each round, 0 beyond the last.
    """
    for k in range(len(links)):
        a, b = links[k]
        credit[a, b] += more
        credit[b, a] = credit[a, b]
    due, group = np.zeros(len(swaps.pairs), dtype=np.int64), np.empty(len(swaps.pairs), dtype=np.int64)
    for k in range(len(due)):
        for link in range(2):
            due[k] = max(due[k], int(credit[swaps.links[k, link, 0], swaps.links[k, link, 1]]))
    n_rounds = disjoint_groups(swaps.pairs, due > 0, group)
    turns[:] = 0
    for k in range(len(due)):
        if due[k]:
            turns[group[k]] = max(turns[group[k]], due[k])
    rounds = np.zeros((n_rounds, len(due)), dtype=np.bool_)
    for k in range(len(due)):
        if due[k]:
            rounds[group[k], k] = True
            for link in range(2):
                a, b = swaps.links[k, link]
                if link == 0 or a != swaps.links[k, 0, 0]:
                    credit[a, b] -= turns[group[k]]
                    credit[b, a] = credit[a, b]
    return rounds


@compiled
def swapped_rounds(best: Edges, swaps: Swaps, chosen: Relation) -> Edges:
    """The best guess after the swaps of each row."""
    rounds = np.empty((len(chosen), len(best)), dtype=np.int64)
    for r in range(len(chosen)):
        rounds[r] = best
        for k in range(len(swaps.pairs)):
            if chosen[r, k]:
                rounds[r, swaps.pairs[k, 0]] = swaps.edges[k, 0]
                rounds[r, swaps.pairs[k, 1]] = swaps.edges[k, 1]
    return rounds


@compiled
def add_swap(swaps: Swaps, k: int, times: int, plays: Floats) -> None:
    """Add the pairs that a swap makes to the plays."""
    for new in range(2):
        i, j = swaps.ends[k, new]
        if i >= 0:
            plays[i, j] += times
            plays[j, i] = plays[i, j]


@compiled
def choose_swaps(
    noise: Noise, means: Floats, links: Links, missing: Floats, plays: Floats, rounds: int, swaps: Swaps, best: Edges,
    ends: Counts, times: Counts,
) -> Relation:  # fmt: skip
    """Choose rounds that swap items of the best guess, by worth per loss: which swaps each has.

    `plays` are those of the batch that are decided. A round may have several swaps that replace different pairs.
    `times` is filled with how often each round is played, together `rounds` times.
    """
    worth, cells = np.empty(plays.shape), np.empty((len(links), len(means)))
    slopes, gain = np.empty((len(links), 2, len(means))), np.empty(len(swaps.pairs))
    losses, optimum = np.zeros(len(gain)), 0.0
    for p in range(len(best)):
        optimum += means[ends[best[p], 0], ends[best[p], 1]]
    for k in range(len(gain)):
        for new in range(2):
            i, j = swaps.ends[k, new]
            if i >= 0:
                old = best[swaps.pairs[k, new]]
                losses[k] += means[ends[old, 0], ends[old, 1]] - means[i, j]
        losses[k] = max(losses[k], 0.0)
    floor = FLOOR * rounds / len(means) ** 2
    chosen = np.zeros((len(times), len(gain)), dtype=np.bool_)
    gains(noise, means, links, plays, floor, cells, slopes)
    for step in range(len(times)):
        worth_of_pairs(links, missing, cells, slopes, worth)
        for k in range(len(gain)):
            gain[k] = 0.0
            for new in range(2):
                i, j = swaps.ends[k, new]
                if i >= 0:
                    gain[k] += worth[i, j]
        most_per_loss(gain, losses, swaps.pairs, WORTH * optimum + 1e-300, chosen[step])
        times[step] = part(rounds, step, len(times))
        for k in range(len(gain)):
            if chosen[step, k]:
                add_swap(swaps, k, times[step], plays)
                for new in range(2):
                    i, j = swaps.ends[k, new]
                    if i >= 0:
                        update_gains(noise, means, links, plays, floor, i, j, cells, slopes)
    return chosen


@compiled
def most_per_loss(gain: Floats, losses: Floats, pairs: Counts, fixed: float, chosen: Relation) -> None:
    """Mark the disjoint swaps with the largest Σ gain/(fixed + Σ loss), by Dinkelbach's method.

    At a price λ per loss, the best set has the largest Σ (gain − λ loss): pair by pair of the best guess, from the
    first to the last, by dynamic programming. Every set has a larger ratio than the one before.
    """
    n_pairs, price, first = 0, -1.0, 0
    for k in range(len(gain)):
        n_pairs = max(n_pairs, pairs[k, 1] + 1)
        if gain[k] / (fixed + losses[k]) > price:
            price, first = gain[k] / (fixed + losses[k]), k
    chosen[:] = False
    chosen[first] = True
    total, last = np.empty(n_pairs + 1), np.empty(n_pairs + 1, dtype=np.int64)
    while True:
        total[0] = 0.0
        k = 0  # swaps are sorted by their first pair; those that end with pair p begin with it or with the one before
        for p in range(n_pairs):
            total[p + 1], last[p + 1] = total[p], -1
            while k > 0 and pairs[k - 1, 0] >= p - 1:
                k -= 1
            while k < len(gain) and pairs[k, 0] <= p:
                value = total[pairs[k, 0]] + gain[k] - price * losses[k]
                if pairs[k, 1] == p and value > total[p + 1]:
                    total[p + 1], last[p + 1] = value, k
                k += 1
        sum_gain, sum_loss, p = 0.0, fixed, n_pairs
        while p > 0:
            k = last[p]
            if k >= 0:
                sum_gain, sum_loss = sum_gain + gain[k], sum_loss + losses[k]
            p = p - 1 if k < 0 else pairs[k, 0]
        if sum_gain <= price * sum_loss * (1.0 + 1e-9):
            return
        price = sum_gain / sum_loss
        chosen[:] = False
        p = n_pairs
        while p > 0:
            k = last[p]
            if k >= 0:
                chosen[k] = True
            p = p - 1 if k < 0 else pairs[k, 0]


def expected_gains(noise: Noise, means: Floats, links: Links, plays: Floats) -> Floats:
    """What such plays are expected to add to log E of each link; −1 where items cannot meet."""
    cells, totals = np.empty((len(links), len(means))), np.empty(len(links))
    gains(noise, means, links, plays, 0.0, cells, np.empty((len(links), 2, len(means))))
    add_up(cells, totals)
    return totals
