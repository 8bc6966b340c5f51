"""ESCB: one confidence region for all pairs together, and the matching that is best somewhere in it."""

from collections.abc import Mapping
from dataclasses import replace
from math import exp, log, sqrt
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges
from matchbandit.kl import bernoulli_kl_split
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.combinatorial import TIE
from matchbandit.policies.index_policy import Exploration, JointIndexPolicy, exploration, joint_bounds, log_log_weight
from matchbandit.policies.options import whole_between
from matchbandit.rewards import Counts, Floats


class EscbParams(NamedTuple):
    """What only ESCB needs."""

    version: int
    weight: float
    """The factor of log log t."""
    scale: float
    """2σ²."""


@compiled
def joint_index(plays: Counts, sums: Floats, t: int, params: EscbParams, matchings: Edges, values: Floats) -> int:
    """The index of the version."""
    f = exploration(t, params.weight)
    if params.version == 1:
        return kl_values(plays, sums, matchings, f, values)
    return joint_bounds(plays, sums, matchings, params.scale * f, values)


@compiled
def kl_values(plays: Counts, sums: Floats, matchings: Edges, f: float, values: Floats) -> int:
    """The ESCB-1 index of every matching that may be the best, of the others an upper bound; where it is greatest.

    By Pinsker's inequality the index is at most Σ μ_e + sqrt(f/2 · Σ 1/n_e). The matching for which that is greatest
    goes first; one whose bound does not reach the best index found so far needs no search.
    """
    first = joint_bounds(plays, sums, matchings, f / 2.0, values)
    best, greatest = -np.inf, 0
    for turn in range(len(values) + 1):
        k = turn - 1 if turn > 0 else first
        if turn == 0 or (k != first and values[k] >= best - 2 * TIE):
            values[k] = kl_index(plays, sums, matchings[k], f, best - 2 * TIE)
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
    spread, inverses, means = 0.0, 0.0, 0.0
    for i in range(len(matching)):
        edge = matching[i]
        mean = sums[edge] / plays[edge]
        means += mean
        spread += max(mean * (1.0 - mean), 0.01) / plays[edge]
        inverses += 1.0 / plays[edge]
    if f <= 0.0:  # in round 1, which a decision can be asked for after a few results
        return means
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


class Escb(JointIndexPolicy):
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
    index = staticmethod(joint_index)

    @classmethod
    def capabilities_with(cls, options: Mapping[str, Any]) -> Capabilities:
        """Version 1 needs rewards in [0, 1]."""
        return replace(cls.capabilities, unit_rewards=options.get("version") == 1)

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        version: Annotated[int, whole_between("version", 1, 2)] = 2,
        exploration: Exploration = "log",
    ) -> None:
        """Nothing played yet."""
        rewards = setting.rewards
        if version == 1 and (rewards.low < 0 or rewards.high > 1):
            raise MatchbanditError(
                f"escb with version 1 needs rewards in [0, 1]; {rewards.name} rewards leave it. "
                f"Use version 2, or rewards that are bernoulli or binomial."
            )
        super().__init__(setting, rng)

    def params(self) -> EscbParams:
        """The version, the weight of log log t, 2σ²."""
        weight = log_log_weight(self.options["exploration"], self.graph.matching_size)
        return EscbParams(self.options["version"], weight, 2.0 * self.setting.rewards.sigma**2)
