"""ESCB: one confidence region for all pairs together, and the matching that is best somewhere in it."""

from math import exp, log, sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError, check_int
from matchbandit.graphs import Edges
from matchbandit.kl import bernoulli_kl_split
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.matching.combinatorial import (
    TIE,
    Arrays,
    CombinatorialPolicy,
    exploration,
    joint_bounds,
    log_log_weight,
    open_round,
)
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers import MAX_MATCHINGS


class Params(NamedTuple):
    """What only ESCB needs."""

    version: int
    weight: float
    """That of log log t."""
    scale: float
    """2σ²."""


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once, then the matching with the greatest index (ties: the first)."""
    if open_round(arrays, edges):
        return
    best = indices(arrays, np.empty(len(arrays.matchings)))
    for i in range(len(edges)):
        edges[i] = arrays.matchings[best, i]


@compiled
def indices(arrays: Arrays, values: Floats) -> int:
    """Write down the index of every matching that may be the best, and say where it is greatest (ties: the first)."""
    params = arrays.params
    f = exploration(arrays, params.weight)
    return kl_values(arrays, f, values) if params.version == 1 else joint_bounds(arrays, params.scale * f, values)


@compiled
def kl_values(arrays: Arrays, f: float, values: Floats) -> int:
    """The ESCB-1 index of every matching that may be the best, of the others an upper bound; where it is greatest.

    By Pinsker's inequality the index is at most Σ μ_e + sqrt(f/2 · Σ 1/n_e). The matching for which that is greatest
    goes first; one whose bound does not reach the best index found so far needs no search.
    """
    first = joint_bounds(arrays, f / 2.0, values)
    best, greatest = -np.inf, 0
    for turn in range(len(values) + 1):
        k = turn - 1 if turn > 0 else first
        if turn == 0 or (k != first and values[k] >= best - 2 * TIE):
            values[k] = kl_index(arrays.plays, arrays.sums, arrays.matchings[k], f, best - 2 * TIE)
            best = max(best, values[k])
    for k in range(len(values)):
        if values[k] > values[greatest] + TIE:
            greatest = k
    return greatest


@compiled
def kl_index(plays: Counts, sums: Floats, matching: Edges, f: float, floor: float) -> float:
    """max{Σ q_e : Σ n_e kl(μ_e, q_e) ≤ f} over a matching; any upper bound of it, once one is below `floor`.

    By duality it is the minimum over λ > 0 of D(λ) = Σ q_e(λ) + λ (f − F(λ)), where q_e(λ) maximises
    q − λ n_e kl(μ_e, q) and F(λ) = Σ n_e kl(μ_e, q_e(λ)) falls with λ. D is convex with D′ = f − F, so that D is exact
    to the square of the error of λ, and every D(λ) is an upper bound. Newton's method for log F = log f in log λ, with
    bisection where it would leave what is known of λ.
    """
    spread, inverses = 0.0, 0.0
    for i in range(len(matching)):
        edge = matching[i]
        mean = sums[edge] / plays[edge]
        spread += max(mean * (1.0 - mean), 0.01) / plays[edge]
        inverses += 1.0 / plays[edge]
    # Of log λ: as kl(μ, q) ≤ (q − μ)²/q(1 − q), F is at most Σ 1/(4 λ² n_e); at e^−700 every q that can grow is 1.
    lowest, highest = -700.0, 0.5 * log(inverses / (4.0 * f)) + 1e-9
    x = min(0.5 * log(spread / (2.0 * f)), highest)  # where it is if the rewards were Gaussian
    least = np.inf
    for _ in range(200):
        lam = exp(x)
        value, spent, slope = 0.0, 0.0, 0.0
        for i in range(len(matching)):
            edge = matching[i]
            n = plays[edge]
            mean = sums[edge] / n
            if mean >= 1.0:
                value += 1.0
                continue
            a = lam * n
            root = sqrt((1.0 - a) * (1.0 - a) + 4.0 * a * mean)
            q = (1.0 - a + root) / 2.0 if a <= 1.0 else 2.0 * a * mean / (a - 1.0 + root)
            if q > mean:
                rest = 2.0 * a * (1.0 - mean) / (1.0 + a + root)  # 1 − q, without loss near 1
                spent += n * max(bernoulli_kl_split(mean, q, rest), 0.0)
                slope -= n * (q - mean) / root
            value += max(q, mean)
        least = min(least, value + lam * (f - spent))
        if least < floor or abs(spent - f) <= 1e-7 * f or highest - lowest < 1e-9:
            break
        if spent > f:
            lowest = x
        else:
            highest = x
        following = x - log(spent / f) * spent / slope if spent > 0.0 and slope < 0.0 else highest
        x = following if lowest < following < highest else (lowest + highest) / 2.0
    return least


class Escb(CombinatorialPolicy):
    """ESCB [Combes2015].

    Every pair once, in the rounds of a tour; then, in round t, the matching with the greatest index.

    Version 2: Σ μ_e + sqrt(f/2 · Σ 1/n_e). For σ-sub-Gaussian rewards the radius is multiplied by 2σ.
    Version 1: max{Σ q_e : Σ n_e kl(μ_e, q_e) ≤ f}, with the Bernoulli kl; valid for all rewards in [0, 1], and never
    above the index of version 2 with σ = 1/2.

    f = log t, as in the published experiments; the proofs have f = log t + 4 m log log t with m pairs a round.

    Every matching is looked at: up to 10 players, or 1000 matchings of rows and columns.

    Parameters
    ----------
    version : {2, 1}
        Which index.
    exploration : {"log", "full"}
        f = log t, or with log log t as in the proofs.
    """

    name: ClassVar[str] = "escb"
    summary: ClassVar[str] = "the matching with the greatest upper bound of its own"
    reference: ClassVar[str] = "Combes et al. 2015"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        warm_start=True,
        constrained=True,
        max_matchings=MAX_MATCHINGS,
    )
    oracle = "enumerate"
    choose = staticmethod(choose)

    def __init__(
        self, setting: Setting, rng: np.random.Generator, *, version: int = 2, exploration: str = "log"
    ) -> None:
        """Nothing played yet."""
        version = check_int("version", version, minimum=1, maximum=2)
        rewards = setting.rewards
        if version == 1 and (rewards.low < 0 or rewards.high > 1):
            raise MatchbanditError(
                f"escb with version 1 needs rewards in [0, 1]; {rewards.name} rewards leave it. "
                f"Take version 2, or rewards that are bernoulli or binomial."
            )
        super().__init__(setting, rng, version=version, exploration=exploration)

    def params(self) -> Params:
        """The version, the weight of log log t, 2σ²."""
        weight = log_log_weight(self.options["exploration"], self.graph.matching_size)
        return Params(self.options["version"], weight, 2.0 * self.setting.rewards.sigma**2)

    def index(self, arrays: Arrays, values: Floats) -> int:
        """The index of the version."""
        return int(indices(arrays, values))
