"""Lemma 4.5: play the two best together (D), or explore with them (I)?"""

import numpy as np

from matchbandit.figures import Chart, Line, Mark
from matchbandit.problems import family
from matchbandit.results import Rows
from matchbandit.rewards import Floats
from matchbandit.studies.claims import FAILS, HOLDS, Claim, finals
from matchbandit.studies.lines import caption, numbers
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study
from matchbandit.theory.players import SortedPlayers

RATIOS = [0.003, 0.01, 0.03, 0.1, 0.3, 0.7, 1.0]
THIRDS = [0.9, 0.3]
N = 4
U1 = 0.95
HORIZON = 10**17
"""The weaker the second player, the longer the others take to split."""
TOGETHER, EXPLORED = "adaptive-matching", "exploration-first"
LARGE, SMALL = 0.5, 0.05
"""Where the ratio is bounded, and where it grows."""
POWER = -0.5


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """Both strategies until the other players split for the first time, over u_2/u_1."""
    return (
        Study(
            name="comparison",
            problem={"family": "two-best", "n": N, "u1": U1, "second": RATIOS, "third": THIRDS},
            policies=[
                {"name": TOGETHER, "clusters": [[0, 1], list(range(2, 2 * N))]},
                {"name": EXPLORED, "best": [0, 1]},
            ],
            horizon=HORIZON,
            checkpoints=[],
            stop="first-split",
            runs=runs or 20,
        ),
    )


def bound_ratio(u: Floats) -> float:
    """U_D/U_I of the comparison lemma, each with the m that minimises it."""
    together, explored = SortedPlayers(u).least_comparison_bounds
    return together / explored


def ratios(rows: Rows, third: float) -> tuple[Floats, Floats, Floats]:
    """Along u_2/u_1: the ratio of the bounds, and that of the measured mean regrets."""
    chosen = rows.where(third=third)
    seconds_best = sorted(chosen.distinct("second"))
    players = [family("two-best", n=N, u1=U1, second=x, third=third).draw().describe()["u"] for x in seconds_best]
    bound = [bound_ratio(numbers(u)) for u in players]
    means = [[finals(chosen, policy=policy, second=x).mean() for policy in (TOGETHER, EXPLORED)] for x in seconds_best]
    return numbers(seconds_best), numbers(bound), numbers([together / explored for together, explored in means])


def claims(rows: Rows) -> list[Claim]:
    """Claim 8: above u_2/u_1 = 1/2, U_D/U_I is bounded; as u_2/u_1 → 0 both ratios grow without bound."""
    judged = []
    for third in rows.distinct("third"):
        x, bound, measured = ratios(rows, third)
        large, small = x > LARGE, x < SMALL
        most = max(bound[large].max(), measured[large].max())
        powers = [float(np.polyfit(np.log(x[small]), np.log(of[small]), 1)[0]) for of in (bound, measured)]
        which = f"(u₃/u₂ = {third:g})"
        judged += [
            Claim(
                "comparison",
                f"for u₂/u₁ > 1/2 the ratio is at most c N {which}",
                f"U_D/U_I at most {bound[large].max():.2g}, R_D/R_I at most {measured[large].max():.2g}",
                f"both at most N = {N}",
                HOLDS if most <= N else FAILS,
            ),
            Claim(
                "comparison",
                f"R_D/R_I → ∞ as u₂/u₁ → 0 {which}",
                f"at u₂/u₁ = {x[0]:g}: U_D/U_I = {bound[0]:.2g}, R_D/R_I = {measured[0]:.2g}; below {SMALL} they go "
                f"like (u₂/u₁)^{powers[0]:z.2f} and (u₂/u₁)^{powers[1]:z.2f}",
                f"both powers below {POWER:g}",
                HOLDS if max(powers) < POWER else FAILS,
            ),
        ]
    return judged


def charts(rows: Rows) -> tuple[Chart, ...]:
    """U_D/U_I and the measured R_D/R_I over u_2/u_1."""
    lines = []
    for third in rows.distinct("third"):
        x, bound, measured = ratios(rows, third)
        key = f"u₃/u₂ = {third:g}"
        lines.append(Line(f"measured, {key}", x, measured, key=key, dash="solid"))
        lines.append(Line(f"bounds, {key}", x, bound, key=key, dash="dotted"))
    return (
        Chart(
            "comparison",
            "The two best together (D), or explored with (I)?",
            "u₂/u₁",
            "regret of D / regret of I",
            tuple(lines),
            caption(
                rows,
                "Eight players, u₁ = 0.95, the others falling in equal steps to 0; regret until the others split",
                "Dotted: U_D/U_I of Lemma 4.5. Below 1 the two best are better played together.",
                of="Ratio of the means",
            ),
            x_log=True,
            y_log=True,
            marks=(Mark(1.0, "equal", axis="y"),),
        ),
    )


ENTRY = Entry("comparison", ("comparison",), studies, claims, charts)
