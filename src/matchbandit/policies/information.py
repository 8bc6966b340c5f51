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
def gains(
    noise: Noise, means: Floats, links: Links, plays: Floats, floor: float, found: Floats, slopes: Floats
) -> None:
    """What such plays are expected to add to log E of each link, and what one more play of each of its pairs would.

    `means` are those of all pairs, items × items. For a > b that is Σ_c [n_ac kl(p_ac, m_c) + n_bc kl(p_bc, m_c)], m_c
    the mean of p_ac and p_bc weighted by their plays; every pair counts `floor` plays more, too few to matter.
    `slopes[k, 0, c]` is kl(p_ac, m_c), and `slopes[k, 1, c]` kl(p_bc, m_c). Plays are −1 where items cannot meet.
    """
    for k in range(len(links)):
        a, b = links[k, 0], links[k, 1]
        found[k] = 0.0
        for c in range(len(means)):
            slopes[k, 0, c], slopes[k, 1, c] = 0.0, 0.0
            x, y = plays[a, c] + floor, plays[b, c] + floor
            if c not in (a, b) and plays[a, c] >= 0.0 and x + y > 0.0:
                p = min(max(means[a, c], INSIDE), 1.0 - INSIDE)
                q = min(max(means[b, c], INSIDE), 1.0 - INSIDE)
                m = (x * p + y * q) / (x + y)
                slopes[k, 0, c], slopes[k, 1, c] = divergence(noise, p, m), divergence(noise, q, m)
                found[k] += x * slopes[k, 0, c] + y * slopes[k, 1, c]


@compiled
def worth_of_pairs(
    noise: Noise, means: Floats, links: Links, missing: Floats, plays: Floats, floor: float, worth: Floats
) -> None:
    """What one more play of each pair is worth: its slopes, weighted by how late the links would be certified.

    A link counts by exp(−6 (its share − the least share)/least share), the share being that of what it misses, and by
    1 over what it misses.
    """
    found, slopes = np.empty(len(links)), np.empty((len(links), 2, len(means)))
    gains(noise, means, links, plays, floor, found, slopes)
    least = found[0] / missing[0]
    for k in range(len(links)):
        least = min(least, found[k] / missing[k])
    for a in range(len(means)):
        for c in range(len(means)):
            worth[a, c] = 0.0
    for k in range(len(links)):
        ahead = found[k] / missing[k] - least
        weight = exp(-SHARPNESS * ahead / least) / missing[k] if least > 0.0 else 1.0 / missing[k]
        for end in range(2):
            a = links[k, end]
            for c in range(len(means)):
                worth[a, c] += weight * slopes[k, end, c]
                worth[c, a] += weight * slopes[k, end, c]


@compiled
def part(rounds: int, step: int, steps: int) -> int:
    """How many of the rounds fall to this step."""
    return rounds * (step + 1) // steps - rounds * step // steps


@compiled
def choose_listed(
    noise: Noise, means: Floats, links: Links, missing: Floats, plays: Floats, rounds: int, ends: Counts,
    listed: Edges, losses: Floats, times: Counts,
) -> None:  # fmt: skip
    """Count in `times` how often to play each of the listed rounds, by worth per loss."""
    worth = np.empty(plays.shape)
    floor = FLOOR * rounds / len(means) ** 2
    steps = min(max(STEPS, STEPS_A_LINK * len(links)), rounds)
    for step in range(steps):
        worth_of_pairs(noise, means, links, missing, plays, floor, worth)
        best, most = 0, -1.0
        for r in range(len(listed)):
            total = 0.0
            for k in range(listed.shape[1]):
                total += worth[ends[listed[r, k], 0], ends[listed[r, k], 1]]
            if total / losses[r] > most:
                best, most = r, total / losses[r]
        n = part(rounds, step, steps)
        times[best] += n
        for k in range(listed.shape[1]):
            i, j = ends[listed[best, k], 0], ends[listed[best, k], 1]
            plays[i, j] += n
            plays[j, i] = plays[i, j]


def choose_solved(
    noise: Noise, means: Floats, links: Links, missing: Floats, plays: Floats, rounds: int, ends: Counts,
    best: Edges, solver: Callable[[Floats, Edges], Edges],
) -> tuple[Edges, Counts]:  # fmt: skip
    """The same where there are too many rounds to list: the solver improves on the last round, by each edge's worth."""
    worth = np.empty(plays.shape)
    floor = FLOOR * rounds / len(means) ** 2
    steps = min(SOLVED_STEPS, rounds)
    chosen, times = [best], [0]
    for step in range(steps):
        worth_of_pairs(noise, means, links, missing, plays, floor, worth)
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
        reached = float(worth[better].sum() / max(most - means[better].sum(), 1e-300))
        if reached <= price * (1 + 1e-9):
            return edges
        edges, price = better, reached


def expected_gains(noise: Noise, means: Floats, links: Links, plays: Floats) -> Floats:
    """What such plays are expected to add to log E of each link; −1 where items cannot meet."""
    found = np.zeros(len(links))
    gains(noise, means, links, plays, 0.0, found, np.empty((len(links), 2, len(means))))
    return found
