"""Track-and-Stop: sample every pair in its optimal proportion until the best is certain."""

from math import inf, log, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.confidence import checked_delta
from matchbandit.graphs import Pairs
from matchbandit.policies.base import Setting
from matchbandit.policies.fits import Fits
from matchbandit.policies.round_policy import RoundPolicy
from matchbandit.rewards import Counts, Floats

TIE = 1e-9
"""Leads that are closer than this are equal: proportions come out of a root search."""


class Arrays(NamedTuple):
    """What Track-and-Stop remembers of each pair, by edge."""

    plays: Counts
    sums: Floats
    proportions: Floats
    """The optimal ones for the means at the time when they were last computed."""
    clock: Counts
    """When that was, and the rival that was hardest to tell from the best."""
    law: Floats
    """Coins and noise of the rewards' law, and δ."""


@compiled
def divergence(law: Floats, p: float, q: float) -> float:
    """The Kullback–Leibler divergence of the reward law with mean p from that with mean q."""
    if law[0] == 0.0:
        return float((p - q) ** 2 / (2 * law[1] ** 2))
    if p == q:
        return 0.0
    if (p > 0 and q <= 0) or (p < 1 and q >= 1):
        return inf
    first = p * log(p / q) if p > 0 else 0.0
    second = (1 - p) * log((1 - p) / (1 - q)) if p < 1 else 0.0
    return float(law[0] * (first + second))


@compiled
def rival_share(law: Floats, best: float, other: float, target: float, start: float) -> float:
    """The x at which d(best, m) + x d(other, m) reaches the target, m = (best + x other)/(1 + x).

    That sum is increasing and concave in x with slope d(other, m): Newton's method, kept inside a bracket.
    """
    low, high, x = 0.0, inf, start
    for _ in range(200):
        m = (best + x * other) / (1 + x)
        slope = divergence(law, other, m)
        excess = divergence(law, best, m) + x * slope - target
        if excess > 0:
            high = x
        else:
            low = x
        following = x - excess / slope if slope > 0 and slope < inf else -1.0
        if not low < following < high:
            following = (low + high) / 2 if high < inf else 2 * x
        if abs(following - x) <= 1e-15 * x or following <= low or following >= high:
            return following
        x = following
    return x


@compiled
def shares_at(law: Floats, means: Floats, best: int, y: float, shares: Floats) -> float:
    """Set each rival's share so that the evidence against it is y; gives Σ_b d(best, m_b) / d(b, m_b)."""
    total = 0.0
    for b in range(len(means)):
        if b != best:
            shares[b] = rival_share(law, means[best], means[b], y, shares[b])
            m = (means[best] + shares[b] * means[b]) / (1 + shares[b])
            below = divergence(law, means[b], m)
            total += divergence(law, means[best], m) / below if below > 0 else inf
    return total


@compiled
def optimal_proportions(law: Floats, means: Floats) -> Floats:
    """w*: how often to sample each arm to tell the best soonest (Garivier & Kaufmann 2016, Theorem 5).

    With x_b(y) the share of rival b relative to the best at which the evidence between the two is y, y is the root of
    Σ_b d(best, m_b) / d(b, m_b) = 1, increasing in y. Equal best arms: all the same.
    """
    d = len(means)
    best = int(np.argmax(means))
    low, high = 0.0, inf
    for b in range(d):
        if b != best:
            high = min(high, divergence(law, means[best], means[b]))
    if high == 0.0 or d == 1:
        return np.full(d, 1.0 / d)
    shares = np.ones(d)
    if high == inf:  # all rivals at 0 below a best that is not: no finite limit, so look for one
        high = 1.0
        while shares_at(law, means, best, high, shares) <= 1.0:
            low, high = high, 2 * high
    while True:
        y = (low + high) / 2
        if y <= low or y >= high:
            break
        if shares_at(law, means, best, y, shares) > 1.0:
            high = y
        else:
            low = y
    shares_at(law, means, best, low, shares)
    shares[best] = 1.0
    return np.asarray(shares / shares.sum())


@compiled
def evidence(arrays: Arrays, best: int, rival: int) -> float:
    """Z: how much better two means explain the rewards of the two pairs than one common mean does."""
    n, m = arrays.plays[best], arrays.plays[rival]
    common = (arrays.sums[best] + arrays.sums[rival]) / (n + m)
    p, q = arrays.sums[best] / n, arrays.sums[rival] / m
    return float(n * divergence(arrays.law, p, common) + m * divergence(arrays.law, q, common))


@compiled
def finished(arrays: Arrays) -> bool:
    """Does the evidence against every rival of the best pair exceed log((1 + log t) / δ)?"""
    t = arrays.plays.sum()
    if arrays.plays.min() == 0:
        return False
    enough = log((1 + log(t)) / arrays.law[2])
    best = int(np.argmax(arrays.sums / arrays.plays))
    hardest = int(arrays.clock[1])  # while this one stands out, the others need not be looked at
    if hardest != best and evidence(arrays, best, hardest) <= enough:
        return False
    for rival in range(len(arrays.plays)):
        if rival != best and evidence(arrays, best, rival) <= enough:
            arrays.clock[1] = rival
            return False
    return True


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Counts) -> None:
    """Each pair once; then whoever lags behind √t − d/2, else behind its proportion the most."""
    plays, d = arrays.plays, len(arrays.plays)
    fewest = np.argmin(plays)
    t = plays.sum()
    edges[0] = fewest
    if plays[fewest] == 0:
        return
    if finished(arrays):
        edges[0] = np.argmax(arrays.sums / plays)
        return
    if t >= 1.01 * arrays.clock[0]:
        arrays.proportions[:] = optimal_proportions(arrays.law, arrays.sums / plays)
        arrays.clock[0] = t
    if plays[fewest] < sqrt(t) - d / 2:
        return
    lead = t * arrays.proportions - plays
    furthest = lead.max() - TIE
    for edge in range(d):
        if lead[edge] >= furthest:
            edges[0] = edge
            return


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Counts, rewards: Floats) -> None:
    """Count the play and its reward."""
    arrays.plays[edges[0]] += 1
    arrays.sums[edges[0]] += rewards[0]


class TrackAndStop(RoundPolicy):
    """Garivier & Kaufmann 2016 (Track-and-Stop, D-tracking) with every pair an arm: blind to the structure.

    Each pair once, in index order. Then, with t rounds played: if a pair has fewer than √t − d/2 plays, the least
    played one; otherwise the one with the largest t w*_e − n_e, w* the optimal proportions for the present means,
    computed anew when t has grown by 1 %. It is done when for the best pair a and every other b the generalised
    likelihood ratio Z_ab exceeds log((1 + log t)/δ). That threshold is the usual one in practice; the proof asks for a
    larger one. Once done it plays its answer.

    Options: `delta` is δ.
    """

    name: ClassVar[str] = "track-and-stop"
    summary: ClassVar[str] = "the best pair with certainty, in optimal proportions, blind to the structure"
    reference: ClassVar[str] = "Garivier & Kaufmann 2016"
    fits: ClassVar[Fits] = Fits(selections=("pair",), goals=("identification",), warm_start=True, counts_alone=True)
    arrays_type = Arrays
    choose = staticmethod(choose)
    update = staticmethod(update)
    finished = staticmethod(finished)

    def __init__(self, setting: Setting, rng: np.random.Generator, *, delta: float = 0.05) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng, delta=checked_delta(delta))

    def start(self) -> Arrays:
        """No plays."""
        d = self.graph.n_pairs
        law = np.array([*map(float, self.setting.rewards.coins), self.options["delta"]])
        return Arrays(np.zeros(d, dtype=np.int64), np.zeros(d), np.full(d, 1 / d), np.zeros(2, dtype=np.int64), law)

    def recommend(self) -> Pairs:
        """The pair with the best empirical mean (ties: the lowest index)."""
        return self.graph.pairs[[int(np.argmax(self._means()))]]

    def _means(self) -> Floats:
        plays = self.arrays.plays
        return np.asarray(np.where(plays > 0, self.arrays.sums / np.maximum(1, plays), -inf))

    def reasons(self) -> dict[str, Any]:
        plays, sums, proportions, _, _ = self.arrays
        best, t = int(np.argmax(self._means())), int(plays.sum())
        return {
            "threshold": log((1 + log(max(1, t))) / self.options["delta"]),
            "pairs": [
                {
                    "pair": pair,
                    "plays": int(plays[edge]),
                    "estimate": float(sums[edge] / plays[edge]) if plays[edge] else None,
                    "proportion_wanted": float(proportions[edge]),
                    "evidence_against": float(evidence(self.arrays, best, edge))
                    if edge != best and plays[edge] and plays[best]
                    else None,
                }
                for edge, pair in enumerate(self.graph.pairs.tolist())
            ],
        }
