"""Two comparisons of the paper: play the best two together or explore with them; sample matchings or single pairs."""

from collections.abc import Callable
from math import log
from typing import NamedTuple

import numpy as np

from matchbandit.experiments.claims import FAILS, HOLDS, IN_PART, Claim
from matchbandit.policies import policy
from matchbandit.problems import Monopartite
from matchbandit.rewards import Floats
from matchbandit.simulation import identify, simulate
from matchbandit.theory.quantities import least_comparison_bounds

Tell = Callable[[int], None]

RATIOS = (0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1.0)
THIRDS = {"u₃/u₂ = 0.9": 0.9, "u₃/u₂ = 0.3": 0.3}
N_PLAYERS = 8
HORIZON = 10**17
"""The weaker the second player, the longer the others take to split."""
SIZES = (2, 3, 4, 5, 6, 7, 8)
SEEKERS = ("matching-id", "pair-select", "rank1-certify")
DELTA = 0.05
SAME_ORDER = 3.0
"""Two numbers of the same order differ at most by this factor over all sizes, up to a constant."""


class ComparisonRow(NamedTuple):
    """Bounds and measured regrets until the first split, with the two best played together (D) or explored with (I)."""

    family: str
    ratio: float
    """u_2/u_1."""
    bound: float
    """U_D/U_I."""
    together: list[float]
    explored: list[float]


class EvaluationRow(NamedTuple):
    """Pair evaluations until the best matching is identified."""

    policy: str
    n: int
    pairs: list[int]


def strengths(ratio: float, third: float) -> list[float]:
    """Eight players: u_1 = 0.95, u_2/u_1 and u_3/u_2 as given, the others falling in equal steps to 0."""
    u2 = 0.95 * ratio
    return [0.95, u2, *np.linspace(u2 * third, 0, 6).tolist()]


def bound_ratio(u: Floats) -> float:
    """U_D/U_I of the comparison lemma, each with the m that minimises it."""
    together, explored = least_comparison_bounds(u)
    return together / explored


def comparison_rows(runs: int, seed: int, workers: int, tell: Tell) -> list[ComparisonRow]:
    """Regret until the first split of the other players, for both strategies, over u_2/u_1."""
    rows = []
    for name, third in THIRDS.items():
        for ratio in RATIOS:
            problem = Monopartite(strengths(ratio, third))
            regrets = []
            for spec in (
                policy("adaptive-matching", clusters=[[0, 1], [2, 3, 4, 5, 6, 7]]),
                policy("exploration-first", best=(0, 1)),
            ):
                done = simulate(
                    problem,
                    spec,
                    horizon=HORIZON,
                    runs=runs,
                    seed=seed,
                    checkpoints=[HORIZON],
                    stop="first-split",
                    workers=workers,
                )
                regrets.append(done.final.tolist())
                tell(runs)
            rows.append(ComparisonRow(name, ratio, bound_ratio(problem.u), *regrets))
    return rows


def comparison_claims(rows: list[ComparisonRow]) -> list[Claim]:
    """Claim 8: above u_2/u_1 = 1/2, U_D/U_I is bounded; as u_2/u_1 → 0 both ratios grow without bound."""
    claims = []
    for name in THIRDS:
        chosen = [row for row in rows if row.family == name]
        large, small = [row for row in chosen if row.ratio > 0.5], [row for row in chosen if row.ratio < 0.05]
        bound, ours = max(row.bound for row in large), max(_measured(row) for row in large)
        measured = f"U_D/U_I at most {bound:.2g}, R_D/R_I at most {ours:.2g}"
        bounded = HOLDS if max(bound, ours) <= N_PLAYERS / 2 else FAILS
        claims.append(Claim("comparison", f"for u₂/u₁ > 1/2 the ratio is at most c N ({name})", measured, bounded))
        powers = [_power(small, [row.bound for row in small]), _power(small, [_measured(row) for row in small])]
        measured = (
            f"at u₂/u₁ = {small[0].ratio:g}: U_D/U_I = {small[0].bound:.2g}, R_D/R_I = {_measured(small[0]):.2g}; "
            f"below 0.05 they go like (u₂/u₁)^{powers[0]:.2f} and (u₂/u₁)^{powers[1]:.2f}"
        )
        grows = HOLDS if max(powers) < -0.5 else FAILS
        claims.append(Claim("comparison", f"R_D/R_I → ∞ as u₂/u₁ → 0 ({name})", measured, grows))
    return claims


def evaluation_rows(runs: int, seed: int, workers: int, tell: Tell) -> list[EvaluationRow]:
    """Matching-Id, Pair-Select and rank1-certify on 2N players in equal pairs between 0.9 and 0.3."""
    rows = []
    for n in SIZES:
        problem = Monopartite(np.repeat(np.linspace(0.9, 0.3, n), 2))
        for kind in SEEKERS:
            found = identify(problem, policy(kind, delta=DELTA), runs=runs, seed=seed, workers=workers)
            rows.append(EvaluationRow(kind, n, found.pairs.tolist()))
            tell(runs)
    return rows


def evaluation_claims(rows: list[EvaluationRow]) -> list[Claim]:
    """Claim 7: both use the same order of pair evaluations."""
    means = {(row.policy, row.n): float(np.mean(row.pairs)) for row in rows}
    ratios = [means["pair-select", n] / means["matching-id", n] for n in SIZES]
    powers = {kind: float(np.polyfit(np.log(SIZES), [log(means[kind, n]) for n in SIZES], 1)[0]) for kind in SEEKERS}
    saved = [means["matching-id", n] / means["rank1-certify", n] for n in SIZES]
    measured = (
        f"Pair-Select / Matching-Id from {min(ratios):.2f} to {max(ratios):.2f} for N = {SIZES[0]} … {SIZES[-1]}; "
        f"they grow like N^{powers['pair-select']:.1f} and N^{powers['matching-id']:.1f}. "
        f"rank1-certify uses {min(saved):.0f} to {max(saved):.0f} times fewer than Matching-Id"
    )
    same = max(ratios) / min(ratios) <= SAME_ORDER
    verdict = HOLDS if same else IN_PART if max(ratios) / min(ratios) <= SAME_ORDER**2 else FAILS
    return [
        Claim("evaluations", "Matching-Id and Pair-Select use the same order of pair evaluations", measured, verdict)
    ]


def _measured(row: ComparisonRow) -> float:
    return float(np.mean(row.together) / np.mean(row.explored))


def _power(rows: list[ComparisonRow], values: list[float]) -> float:
    """The power of u_2/u_1 with which these values go."""
    return float(np.polyfit(np.log([row.ratio for row in rows]), np.log(values), 1)[0])
