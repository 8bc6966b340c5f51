"""Where every policy stands between what is possible and what is promised, on five instances."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.experiments.claims import FAILS, HOLDS, Claim
from matchbandit.graphs import Selection
from matchbandit.placement import Placement, place
from matchbandit.policies import CATALOGUE, PolicySpec, policy
from matchbandit.problems import Bipartite, Monopartite, Problem, family
from matchbandit.rewards import Gaussian
from matchbandit.simulation import identify, simulate
from matchbandit.theory import bounds

Tell = Callable[[int], None]
HORIZON, DELTA = 100_000, 0.05
MOST_ROUNDS = 3_000_000
TOLD_MORE = ("exploration-first",)
"""Policies that are told a part of the answer."""


def instances() -> dict[str, Problem]:
    """Two of slots and three of players; Bernoulli rewards but for one."""
    return {
        "slots 3×3": Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1]),
        "slots 8×8 (Figure 1)": family("spiked", n=8, u1=0.9, gap=0.75).draw(seed=3),
        "4 players, one small gap": Monopartite([0.8, 0.75, 0.68, 0.3]),
        "6 players, Gaussian sd 0.5": Monopartite([0.9, 0.8, 0.6, 0.5, 0.3, 0.2], rewards=Gaussian(sd=0.5)),
        "8 players, equal partners (Figure 3)": Monopartite(np.repeat([0.65, 0.55, 0.45, 0.35], 2)),
    }


def standing_rows(
    runs: int, seed: int, workers: int, tell: Tell, chosen: dict[str, Problem] | None = None
) -> Iterator[Placement]:
    """Every policy of the catalogue that fits, for regret at T = 10^5 and for identification at δ = 0.05."""
    for name, problem in (chosen or instances()).items():
        known = bounds(problem, horizon=HORIZON, delta=DELTA)
        for of, spec, plays, seeks in fitting(problem):
            if of == "regret":
                done = simulate(
                    problem, spec, horizon=HORIZON, runs=runs, seed=seed, checkpoints=[HORIZON], workers=workers
                )
                measured = done.final.tolist()
            else:
                found = identify(problem, spec, runs=runs, seed=seed, max_rounds=MOST_ROUNDS, workers=workers)
                measured = found.rounds.astype(float).tolist() if found.identified.all() else []
            tell(runs)
            yield place(spec.name, measured, known, of=of, plays=plays, seeks=seeks, instance=name)


def fitting(problem: Problem) -> Iterator[tuple[str, PolicySpec, Selection, Selection]]:
    """Every policy that can be built for this problem, for both goals: what of, which, what it plays and seeks."""
    for of, goal, extra in (("regret", "regret", {}), ("rounds", "identification", {"delta": DELTA})):
        for name, kind in CATALOGUE.items():
            if goal not in kind.fits.goals or name in TOLD_MORE or _assumes_more(name, problem):
                continue
            for selection in kind.fits.selections:
                options: dict[str, Any] = dict(extra)
                if len(kind.fits.selections) > 1:
                    options["selection"] = selection
                try:
                    spec = policy(name, **options)
                    built = spec.build(problem.graph, rewards=problem.rewards, horizon=HORIZON)
                except MatchbanditError:
                    continue
                seeks = built.answer_selection if of == "rounds" else selection
                if isinstance(problem, Monopartite) or seeks == "pair":  # the paper matches players only
                    yield of, spec, selection, seeks


def _assumes_more(name: str, problem: Problem) -> bool:
    """Simple Adaptive Matching is for equal partners only."""
    u = np.sort(problem.u) if isinstance(problem, Monopartite) else np.zeros(0)
    return name == "simple-adaptive-matching" and bool(len(u) % 2 or (u[::2] != u[1::2]).any())


def standing_claims(rows: list[Placement]) -> list[Claim]:
    """No mean may lie below a finite-time lower bound that binds, or above an explicit upper bound."""
    measured = [row for row in rows if row.measured]
    bound = [row for row in measured if row.binding]
    promised = [row for row in measured if row.explicit and row.upper is not None]
    below = [row for row in bound if row.mean + 3 * row.error < row.lower]
    above = [row for row in promised if row.upper is not None and row.mean - 3 * row.error > row.upper]
    least = min((row.mean / row.lower for row in bound), default=float("nan"))
    most = max((row.mean / (row.upper or 1) for row in promised), default=float("nan"))
    return [
        Claim(
            "standing",
            "no policy with a proof is faster than a lower bound",
            f"{len(below)} of {len(bound)} below; the nearest is {least:.3g} times above",
            FAILS if below else HOLDS,
        ),
        Claim(
            "standing",
            "no policy exceeds its explicit upper bound",
            f"{len(above)} of {len(promised)} above; the nearest is at {most:.2g} of it",
            FAILS if above else HOLDS,
        ),
    ]
