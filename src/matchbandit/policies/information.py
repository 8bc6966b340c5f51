"""Which rounds to play next: those that are expected to add most to the evidence that is still missing.

None of this needs to be right: it decides how soon something is certified, never what.
"""

from collections.abc import Callable
from math import exp, log

import numpy as np

from matchbandit.certificates import Links
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
    candidates: Edges, losses: Floats, times: Counts,
) -> None:  # fmt: skip
    """Count in `times` how often to play each candidate round, by worth per loss."""
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
            if total / losses[r] > most:
                best, most = r, total / losses[r]
        n = part(rounds, step, steps)
        times[best] += n
        for k in range(candidates.shape[1]):
            i, j = ends[candidates[best, k], 0], ends[candidates[best, k], 1]
            plays[i, j] += n
            plays[j, i] = plays[i, j]
            update_gains(noise, means, links, plays, floor, i, j, cells, slopes)


def choose_solved(
    noise: Noise, means: Floats, links: Links, missing: Floats, plays: Floats, rounds: int, ends: Counts,
    best: Edges, solver: Callable[[Floats, Edges], Edges],
) -> tuple[Edges, Counts]:  # fmt: skip
    """The same where there are too many rounds to list: the solver improves on the last round, by each edge's worth."""
    worth, cells = np.empty(plays.shape), np.empty((len(links), len(means)))
    slopes = np.empty((len(links), 2, len(means)))
    floor = FLOOR * rounds / len(means) ** 2
    steps = min(SOLVED_STEPS, rounds)
    chosen, times = [best], [0]
    for step in range(steps):
        gains(noise, means, links, plays, floor, cells, slopes)
        worth_of_pairs(links, missing, cells, slopes, worth)
        chosen.append(solver(worth[ends[:, 0], ends[:, 1]], chosen[-1]))
        times.append(part(rounds, step, steps))
        i, j = ends[chosen[-1]].T
        plays[i, j] += times[-1]
        plays[j, i] = plays[i, j]
    return np.array(chosen), np.array(times)


def losses(means: Floats, best: Edges, rounds: Edges) -> Floats:
    """What each of these rounds loses against the best one, and a little more: none is free."""
    optimum = means[best].sum()
    return np.asarray(np.maximum(optimum - means[rounds].sum(axis=1), 0.0) + (WORTH * optimum + 1e-300))


def most_per_loss(
    solver: Callable[[Floats], Edges], means: Floats, optimum: float, worth: Floats, start: Edges
) -> Edges:
    """The round of the greatest worth per loss, by Dinkelbach's method, from another round on.

    At a price λ, the worth per loss of a round, what beats it most is the round with the greatest worth − λ loss, and
    so with the greatest Σ (worth + λ mean), which the solver finds; if none does, it is the best.
    """
    most = (1 + WORTH) * optimum
    edges, price = start, float(worth[start].sum() / max(most - means[start].sum(), 1e-300))
    while True:
        better = solver(worth + price * means)
        ratio = float(worth[better].sum() / max(most - means[better].sum(), 1e-300))
        if ratio <= price * (1 + 1e-9):
            return edges
        edges, price = better, ratio


def expected_gains(noise: Noise, means: Floats, links: Links, plays: Floats) -> Floats:
    """What such plays are expected to add to log E of each link; −1 where items cannot meet."""
    cells, totals = np.empty((len(links), len(means))), np.empty(len(links))
    gains(noise, means, links, plays, 0.0, cells, np.empty((len(links), 2, len(means))))
    add_up(cells, totals)
    return totals
