"""Track-and-Stop: sample every pair in its optimal proportion until the best is identified."""

from math import inf, log, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.allowed import Allowed
from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Pairs
from matchbandit.kl import bernoulli_kl_split
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.policies.decision import Decision, best_pair, ordered_decision
from matchbandit.policies.explanation import pair_record
from matchbandit.policies.options import Delta
from matchbandit.rewards import Counts, Floats, Noise

TIE = 1e-9
"""Leads that are closer than this are equal: proportions come out of a root search."""


class TrackAndStopArrays(NamedTuple):
    """What Track-and-Stop remembers of each pair, by edge."""

    plays: Counts
    sums: Floats
    proportions: Floats
    """The optimal ones for the means at the time when they were last computed."""
    computed_at: Counts
    """When that was, in plays, shape (1,)."""
    hardest: Counts
    """The rival that was hardest to tell from the best, shape (1,)."""
    noise: Noise
    """That of the reward distribution."""
    delta: float
    """δ."""


@compiled
def divergence(noise: Noise, p: float, q: float) -> float:
    """The Kullback–Leibler divergence of the reward distribution with mean p from that with mean q."""
    if noise.trials == 0:
        return (p - q) * (p - q) / (2 * (noise.sd * noise.sd))
    return noise.trials * bernoulli_kl_split(p, q, 1 - q)


@compiled
def rival_share(noise: Noise, best: float, other: float, target: float, start: float) -> float:
    """The x at which d(best, m) + x d(other, m) reaches the target, m = (best + x other)/(1 + x).

    That sum is increasing and concave in x with slope d(other, m): Newton's method, kept inside a bracket.
    """
    low, high, x = 0.0, inf, start
    for _ in range(200):
        m = (best + x * other) / (1 + x)
        slope = divergence(noise, other, m)
        excess = divergence(noise, best, m) + x * slope - target
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
def shares_at(noise: Noise, means: Floats, best: int, y: float, shares: Floats) -> float:
    """Set each rival's share so that the evidence against it is y; gives Σ_b d(best, m_b) / d(b, m_b)."""
    total = 0.0
    for b in range(len(means)):
        if b != best:
            shares[b] = rival_share(noise, means[best], means[b], y, shares[b])
            m = (means[best] + shares[b] * means[b]) / (1 + shares[b])
            below = divergence(noise, means[b], m)
            total += divergence(noise, means[best], m) / below if below > 0 else inf
    return total


@compiled
def optimal_proportions(noise: Noise, means: Floats, w: Floats) -> None:
    """Write down w*: how often to sample each arm to tell the best soonest [GarivierKaufmann2016, Theorem 5].

    With x_b(y) the share of rival b relative to the best at which the evidence between the two is y, y is the root of
    Σ_b d(best, m_b) / d(b, m_b) = 1, increasing in y. Equal best arms: all the same.
    """
    best = len(means) - 1
    for b in range(len(means) - 1, -1, -1):
        w[b] = 1.0
        best = b if means[b] >= means[best] else best
    low, high, y, end = 0.0, inf, 0.0, False
    for b in range(len(means)):
        if b != best:
            high = min(high, divergence(noise, means[best], means[b]))
    while high > 0.0 and len(means) > 1 and not end:
        # If all rivals are at 0 below a best that is not, there is no finite limit, so look for one.
        y = (low + high) / 2 if high < inf else max(1.0, 2 * low)
        if y <= low or y >= high:
            y, end = low, True
        if shares_at(noise, means, best, y, w) > 1.0:
            high = y
        else:
            low = y
    w[best] = 1.0
    total = 0.0
    for b in range(len(means)):
        total += w[b]
    for b in range(len(means)):
        w[b] /= total


@compiled
def evidence(arrays: TrackAndStopArrays, best: int, rival: int) -> float:
    """Z: how much better two means explain the rewards of the two pairs than one common mean does."""
    n, m = arrays.plays[best], arrays.plays[rival]
    common = (arrays.sums[best] + arrays.sums[rival]) / (n + m)
    p, q = arrays.sums[best] / n, arrays.sums[rival] / m
    return float(n * divergence(arrays.noise, p, common) + m * divergence(arrays.noise, q, common))


@compiled
def finished(arrays: TrackAndStopArrays) -> bool:
    """Does the evidence against every rival of the best pair exceed log((1 + log t) / δ)?

    The rival that was hardest to tell from the best is looked at first: while it stands out, the others need not be.
    """
    plays, sums, hardest = arrays.plays, arrays.sums, arrays.hardest[0]
    t, best, highest = 0, hardest, -inf
    for edge in range(len(plays)):
        if plays[edge] == 0:
            return False
        t += plays[edge]
        if sums[edge] / plays[edge] > highest:
            best, highest = edge, sums[edge] / plays[edge]
    enough = log((1 + log(t)) / arrays.delta)
    for turn in range(len(plays) + 1):
        rival = turn - 1 if turn > 0 else hardest
        if rival != best and evidence(arrays, best, rival) <= enough:
            arrays.hardest[0] = rival
            return False
    return True


@compiled
def choose(arrays: TrackAndStopArrays, rng: np.random.Generator, edges: Counts) -> None:
    """Each pair once; then whoever lags behind √t − d/2, else behind its proportion the most."""
    plays, w = arrays.plays, arrays.proportions
    fewest, t = 0, 0
    for edge in range(len(plays)):
        t += plays[edge]
        fewest = edge if plays[edge] < plays[fewest] else fewest
    edges[0] = fewest
    if plays[fewest] == 0:
        return
    if t >= 1.01 * arrays.computed_at[0]:
        means = np.empty(len(plays))
        for edge in range(len(plays)):
            means[edge] = arrays.sums[edge] / plays[edge]
        optimal_proportions(arrays.noise, means, w)
        arrays.computed_at[0] = t
    if plays[fewest] < sqrt(t) - len(plays) / 2:
        return
    furthest = -inf
    for edge in range(len(plays)):
        furthest = max(furthest, t * w[edge] - plays[edge])
    for edge in range(len(plays) - 1, -1, -1):
        if t * w[edge] - plays[edge] >= furthest - TIE:
            edges[0] = edge


@compiled
def update(arrays: TrackAndStopArrays, rng: np.random.Generator, edges: Counts, rewards: Floats) -> None:
    """Count the play and its reward."""
    arrays.plays[edges[0]] += 1
    arrays.sums[edges[0]] += rewards[0]


class TrackAndStop(CountsPolicy):
    """Track-and-Stop with D-tracking [GarivierKaufmann2016] and every pair an arm: blind to the structure.

    Each pair once, in index order. Then, with t rounds played: if a pair has fewer than √t − d/2 plays, the least
    played one; otherwise the one with the largest t w*_e − n_e, w* the optimal proportions for the present means,
    computed anew when t has grown by 1 % (for a `decision`, always). It is done when for the best pair a and every
    other b the generalised likelihood ratio Z_ab exceeds log((1 + log t)/δ). That threshold is the usual one in
    practice; the proof asks for a larger one.

    Parameters
    ----------
    delta : float, default 0.05
        δ, the error probability.
    """

    name: ClassVar[str] = "track-and-stop"
    summary: ClassVar[str] = "identifies the best pair, in optimal proportions, blind to the structure"
    reference: ClassVar[str] = "Garivier & Kaufmann 2016"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair",), goals=("identification",), warm_start=True, constrained=True
    )
    choose = staticmethod(choose)
    update = staticmethod(update)
    finished = staticmethod(finished)

    def __init__(self, setting: Setting, rng: np.random.Generator, *, delta: Delta = 0.05) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng)

    def start(self) -> TrackAndStopArrays:
        """No plays."""
        d = self.graph.n_pairs
        return TrackAndStopArrays(
            np.zeros(d, dtype=np.int64),
            sums=np.zeros(d),
            proportions=np.full(d, 1 / d),
            computed_at=np.zeros(1, dtype=np.int64),
            hardest=np.zeros(1, dtype=np.int64),
            noise=self.setting.rewards.noise,
            delta=self.options["delta"],
        )

    def _decision(self, allowed: Allowed, waiting: Edges, rng: np.random.Generator) -> Decision:
        """The answer, if there is one and it is allowed; else what lags behind most of what is allowed.

        An answer comes from results alone: pairs that wait are none.
        """
        if finished(self._count_waiting(waiting[:0])):
            answer = np.array([self._best()])
            if allowed.allows(answer).all():
                return ordered_decision(self.graph, answer, self._means()[answer])
        arrays = self._count_waiting(waiting)
        unplayed = arrays.plays == 0
        arrays.plays[unplayed], arrays.sums[unplayed] = 1, 0.5  # of those that are not allowed nothing is asked
        plays, w, t = arrays.plays, arrays.proportions, int(arrays.plays.sum())
        optimal_proportions(arrays.noise, arrays.sums / plays, w)
        behind = sqrt(t) - len(plays) / 2 - plays
        if not (behind[allowed.edges] > 0).any():
            behind = t * w - plays
        return best_pair(allowed, behind, unplayed, tie=TIE)

    def recommend(self) -> Pairs:
        """The pair with the best empirical mean (ties: the lowest index)."""
        return self.graph.pairs[[self._best()]]

    def _best(self) -> int:
        return int(np.argmax(self._means()))

    def _means(self) -> Floats:
        plays = self.arrays.plays
        return np.asarray(np.where(plays > 0, self.arrays.sums / np.maximum(1, plays), -inf))

    def explain_extra(self) -> dict[str, Any]:
        """The proportion that each pair should have, and the evidence against it."""
        plays, sums, proportions = self.arrays[:3]
        best, t = self._best(), int(plays.sum())
        return {
            "pairs": [
                pair_record(
                    pair,
                    plays=int(plays[edge]),
                    estimate=float(sums[edge] / plays[edge]) if plays[edge] else None,
                    proportion_wanted=float(proportions[edge]),
                    evidence_against=float(evidence(self.arrays, best, edge))
                    if edge != best and plays[edge] and plays[best]
                    else None,
                )
                for edge, pair in enumerate(self.graph.pairs.tolist())
            ],
            "details": {"threshold": log((1 + log(max(1, t))) / self.options["delta"])},
        }
