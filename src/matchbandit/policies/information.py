"""Which rounds to play next: those that are expected to add most to the evidence that is still missing.

None of this needs to be right: it decides how soon something is certified, never what.
"""

from collections.abc import Callable
from math import exp, log

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges
from matchbandit.policies.certificates import Links
from matchbandit.rewards import Counts, Floats, Noise

STEPS = 12
"""Rounds that a batch chooses, at most, each with an even part of the batch."""
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
def gains(noise: Noise, strengths: Floats, links: Links, plays: Floats, floor: float, found: Floats) -> None:
    """What such plays are expected to add to the logarithm of each link's evidence.

    For a > b that is Σ_c [n_ac kl(p_ac, m_c) + n_bc kl(p_bc, m_c)], m_c the mean of p_ac and p_bc weighted by their
    plays; every pair counts `floor` plays more, which are too few to matter.
    """
    for k in range(len(links)):
        a, b = links[k, 0], links[k, 1]
        found[k] = 0.0
        for c in range(len(strengths)):
            if c != a and c != b and plays[a, c] >= 0.0:
                x, y = plays[a, c] + floor, plays[b, c] + floor
                p = min(max(strengths[a] * strengths[c], INSIDE), 1.0 - INSIDE)
                q = min(max(strengths[b] * strengths[c], INSIDE), 1.0 - INSIDE)
                m = (x * p + y * q) / (x + y)
                found[k] += x * divergence(noise, p, m) + y * divergence(noise, q, m)


@compiled
def worth(
    noise: Noise, strengths: Floats, links: Links, weights: Floats, plays: Floats, floor: float, of_pair: Floats
) -> None:
    """What one more play of each pair adds to the weighted sum of the links' evidence: the slope of `gains`."""
    of_pair[:, :] = 0.0
    for k in range(len(links)):
        a, b = links[k, 0], links[k, 1]
        for c in range(len(strengths)):
            if c != a and c != b and plays[a, c] >= 0.0:
                x, y = plays[a, c] + floor, plays[b, c] + floor
                p = min(max(strengths[a] * strengths[c], INSIDE), 1.0 - INSIDE)
                q = min(max(strengths[b] * strengths[c], INSIDE), 1.0 - INSIDE)
                m = (x * p + y * q) / (x + y)
                of_pair[a, c] += weights[k] * divergence(noise, p, m)
                of_pair[b, c] += weights[k] * divergence(noise, q, m)
    for a in range(len(strengths)):
        for c in range(a):
            of_pair[a, c] += of_pair[c, a]
            of_pair[c, a] = of_pair[a, c]


@compiled
def urgency(found: Floats, missing: Floats, weights: Floats) -> None:
    """How much each link counts: least found of what is missing, most counted; over what is missing."""
    least, most = found[0] / missing[0], found[0] / missing[0]
    for k in range(len(found)):
        least, most = min(least, found[k] / missing[k]), max(most, found[k] / missing[k])
    for k in range(len(found)):
        share = found[k] / missing[k]
        ahead = (share - least) / least if least > 0.0 else (1e9 if share > 0.0 else 0.0)
        weights[k] = exp(-SHARPNESS * ahead) / missing[k]


BestRound = Callable[[Floats, Floats, float], Edges]


def informative(
    noise: Noise, strengths: Floats, links: Links, missing: Floats, plays: Floats, rounds: int, ends: Counts,
    best: Callable[[Floats], Edges],
) -> dict[tuple[int, ...], int]:  # fmt: skip
    """So many rounds, chosen one after the other: `best` gives the edges of the round for the worth of each edge.

    `plays` are those that the batch makes anyway, symmetric; −1 for items that cannot meet. They are changed.
    """
    floor = 0.1 * max(rounds, 1) / len(strengths)
    found, weights, of_pair = np.empty(len(links)), np.empty(len(links)), np.empty(plays.shape)
    chosen: dict[tuple[int, ...], int] = {}
    steps = min(STEPS, rounds)
    for step in range(steps):
        part = rounds * (step + 1) // steps - rounds * step // steps
        gains(noise, strengths, links, plays, floor, found)
        urgency(found, missing, weights)
        worth(noise, strengths, links, weights, plays, floor, of_pair)
        edges = best(of_pair[ends[:, 0], ends[:, 1]])
        chosen[tuple(edges.tolist())] = chosen.get(tuple(edges.tolist()), 0) + part
        i, j = ends[edges].T
        plays[i, j] += part
        plays[j, i] += part
    return chosen


def most_per_loss(
    graph_best: Callable[[Floats], Edges], means: Floats, optimum: float, worth_of_edge: Floats, edges: Edges
) -> Edges:
    """The round with the greatest worth per loss, by Dinkelbach's method, from the round `edges` on.

    The loss is (1 + `WORTH`) optimum − Σ means. A round is best at the price λ, its own worth per loss, if none is worth
    more than λ times its loss: the round with the largest Σ (worth + λ mean), which is a matching of greatest weight.
    """
    while True:
        loss = (1.0 + WORTH) * optimum - means[edges].sum()
        price = worth_of_edge[edges].sum() / max(loss, WORTH * optimum, 1e-300)
        better = graph_best(worth_of_edge + price * means)
        ahead = worth_of_edge[better].sum() - price * ((1.0 + WORTH) * optimum - means[better].sum())
        if ahead <= 1e-9 * abs(price) * optimum or np.array_equal(better, edges):
            return edges
        edges = better
