"""Measure every policy between lower and upper bounds on five instances, for `bounds_table.py`."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Selection
from matchbandit.lab.studies.study import Study
from matchbandit.placement import Placement, place
from matchbandit.policies import CATALOGUE, PolicySpec, policy
from matchbandit.problems import Bipartite, Monopartite, Problem, family
from matchbandit.results import Identification
from matchbandit.rewards import Gaussian
from matchbandit.theory import bounds

HORIZON, DELTA = 100_000, 0.05
MAX_ROUNDS = 3_000_000
TOLD_MORE = ("exploration-first",)
"""Policies that are told a part of the answer."""
WITHIN = 3
"""A mean breaks a bound if it is beyond it by more than so many standard errors."""


class Claim(NamedTuple):
    """A statement about all placements, what was measured, and whether it holds."""

    claim: str
    measured: str
    holds: bool


def instances() -> dict[str, Problem]:
    """Two of slots and three of players; Bernoulli rewards but for one."""
    return {
        "slots 3×3": Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1]),
        "slots 8×8 (Figure 1)": family("spiked", n=8, u1=0.9, gap=0.75).draw(seed=3),
        "4 players, one small gap": Monopartite([0.8, 0.75, 0.68, 0.3]),
        "6 players, Gaussian sd 0.5": Monopartite([0.9, 0.8, 0.6, 0.5, 0.3, 0.2], rewards=Gaussian(sd=0.5)),
        "8 players, equal partners (Figure 3)": Monopartite(np.repeat([0.65, 0.55, 0.45, 0.35], 2)),
    }


def standing(
    out: str | os.PathLike[str],
    *,
    runs: int = 20,
    seed: int = 1,
    workers: int | None = None,
    chosen: Mapping[str, Problem] | None = None,
) -> Iterator[Placement]:
    """Every policy of the catalogue that fits, for regret at T = 10^5 and for identification at δ = 0.05.

    Each instance has two studies, kept in folders below `out`.
    """
    for number, (name, problem) in enumerate((chosen or instances()).items(), start=1):
        known = bounds(problem, horizon=HORIZON, delta=DELTA)
        for study in studies(f"standing-{number}", problem, runs=runs, seed=seed):
            results = study.run(Path(out) / study.name, workers=workers).results_by_point()
            of = "regret" if study.goal == "regret" else "rounds"
            for point, (spec, plays, seeks) in zip(study.points, fitting(problem, of), strict=True):
                measured = _measured(results[point.key])
                yield place(spec.name, measured, known, task=study.goal, plays=plays, seeks=seeks, instance=name)


def studies(name: str, problem: Problem, *, runs: int = 20, seed: int = 1) -> tuple[Study, Study]:
    """All policies that fit on one problem: their regret, and the rounds until they have an answer."""
    of: dict[str, Any] = {"problem": problem, "runs": runs, "seed": seed}
    regret, rounds = ([spec for spec, _, _ in fitting(problem, goal)] for goal in ("regret", "rounds"))
    return (
        Study(name=f"{name}-regret", policies=regret, horizon=HORIZON, checkpoints=[], **of),
        Study(name=f"{name}-rounds", policies=rounds, delta=DELTA, max_rounds=MAX_ROUNDS, **of),
    )


def fitting(problem: Problem, of: str) -> Iterator[tuple[PolicySpec, Selection, Selection]]:
    """Every policy that can be built for this problem, for its regret or its rounds: what it plays, what it seeks."""
    extra = {"delta": DELTA} if of == "rounds" else {}
    for name, kind in CATALOGUE.items():
        goal = "identification" if of == "rounds" else "regret"
        if goal not in kind.capabilities.goals or name in TOLD_MORE or _assumes_more(name, problem):
            continue
        for selection in kind.capabilities.selections:
            options = {"selection": selection} if len(kind.capabilities.selections) > 1 else {}
            try:
                built = policy(name, **options, **extra).build(problem.graph, rewards=problem.rewards, horizon=HORIZON)
            except MatchbanditError:
                continue
            seeks = built.answer_selection if of == "rounds" else selection
            if isinstance(problem, Monopartite) or seeks == "pair":  # the paper matches players only
                yield policy(name, **options), selection, seeks


def _measured(result: Any) -> list[float]:
    """What was measured of each run; nothing if one of them has found no answer."""
    if isinstance(result, Identification):
        return result.rounds.astype(float).tolist() if result.identified.all() else []
    return [float(regret) for regret in result.final]


def _assumes_more(name: str, problem: Problem) -> bool:
    """Simple Adaptive Matching is for equal partners only."""
    u = np.sort(problem.u) if isinstance(problem, Monopartite) else np.zeros(0)
    return name == "simple-adaptive-matching" and bool(len(u) % 2 or (u[::2] != u[1::2]).any())


def claims(placed: list[Placement]) -> list[Claim]:
    """No mean may lie below a finite-time lower bound that binds, or above an explicit upper bound."""
    measured = [row for row in placed if row.measured]
    bound = [row for row in measured if row.binding]
    promised = [row for row in measured if row.explicit and row.upper is not None]
    # none may lie beyond its bound by more than WITHIN standard errors
    below = [row for row in bound if row.mean + WITHIN * row.error < row.lower]
    above = [row for row in promised if row.upper is not None and row.mean - WITHIN * row.error > row.upper]
    least = min((row.mean / row.lower for row in bound), default=float("nan"))
    most = max((row.mean / (row.upper or 1) for row in promised), default=float("nan"))
    return [
        Claim(
            "no policy with a proof is faster than a lower bound",
            f"{len(below)} of {len(bound)} below; the nearest is {least:.3g} times above",
            not below,
        ),
        Claim(
            "no policy exceeds its explicit upper bound",
            f"{len(above)} of {len(promised)} above; the nearest is at {most:.2g} of it",
            not above,
        ),
    ]
