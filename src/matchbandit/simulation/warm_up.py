"""Compile everything ahead of time, for images and deployments."""

import time
from collections.abc import Callable

import numpy as np

from matchbandit.allowed import Allowed
from matchbandit.compiled import without_compile_notice
from matchbandit.graphs import monopartite
from matchbandit.policies import CATALOGUE, CountsPolicy, Policy, RoundPolicy, counts_policy, policy
from matchbandit.problems import Bipartite, Monopartite
from matchbandit.rewards import Binomial, Gaussian, RewardDistribution
from matchbandit.simulation.identify import identify
from matchbandit.simulation.simulate import simulate
from matchbandit.solvers.augmenting import enlarge
from matchbandit.strengths import DENSE_BELOW

_PROBLEMS: dict[str, Bipartite | Monopartite] = {
    "bipartite": Bipartite([0.9, 0.4], [0.8, 0.5, 0.1]),
    "monopartite": Monopartite([0.9, 0.7, 0.4, 0.1]),
}


def warm_up(report: Callable[[str, float], None] | None = None) -> None:
    """Compile everything by using it once, so that nobody waits for it later.

    Parameters
    ----------
    report : callable, optional
        Called with the name of each policy and the seconds that it took.
    """
    with without_compile_notice():
        enlarge(np.array([0, 1, 2]), np.array([1, 0]), np.array([-1, -1]))  # among hundreds of items only
        many = policy("rank1-thompson").build(monopartite(DENSE_BELOW))
        many.tell(many.ask(), np.ones(many.round_size))
        many.explain()
        for name, kind in CATALOGUE.items():
            began = time.perf_counter()
            for graph in kind.capabilities.graphs:
                for selection in kind.capabilities.selections:
                    _use(kind, graph, {"selection": selection} if len(kind.capabilities.selections) > 1 else {})
            if report is not None:
                report(name, time.perf_counter() - began)


def _use(kind: type[Policy], graph: str, options: dict[str, str]) -> None:
    """Live, explained, restored and simulated."""
    problem, spec = _PROBLEMS[graph], policy(kind, **options)
    live = spec.build(problem.graph, horizon=10**4)
    for _ in range(10):
        live.tell(live.ask(), [1.0] * live.round_size)
    live.explain()
    if kind.capabilities.warm_start:
        spec.warm_start([problem.graph.pairs[0]], [2], [1.0]).build(problem.graph, horizon=10**4)
    if kind.decides_from_counts:
        _decide(counts_policy(spec, problem.graph))
    if issubclass(kind, RoundPolicy) or "identification" in kind.capabilities.goals:
        rounds = 200 if issubclass(kind, RoundPolicy) else 10**6
        if kind.goal_with(options) == "regret":
            for one in _with_other_rewards(problem, kind):
                simulate(one, spec, horizon=rounds)
        else:
            for one in _with_other_rewards(problem, kind):
                budget, limit = (rounds, None) if kind.capabilities.fixed_budget else (None, rounds)
                identify(one, spec, budget=budget, max_rounds=limit)


def _decide(fresh: CountsPolicy) -> None:
    """From counts alone: within an opening and after it, with rules and without."""
    graph, rng = fresh.graph, np.random.default_rng(0)
    for _ in range(2):
        fresh.decide(rng)
        if fresh.capabilities.constrained:
            fresh.decide(rng, allowed=Allowed(graph, forbidden=[0]))
        fresh.add_results(graph.pairs, np.full(graph.n_pairs, 0.5), rng)
    fresh.set_counts([0], [2], [1])


def _with_other_rewards(problem: Bipartite | Monopartite, kind: type[Policy]) -> list[Bipartite | Monopartite]:
    """The problem with every reward distribution that the policy takes: each has its own compiled code."""
    others: tuple[RewardDistribution, ...] = (
        (Binomial(2),) if kind.capabilities.unit_rewards else (Binomial(2), Gaussian(0.5))
    )
    if isinstance(problem, Bipartite):
        return [problem, *(Bipartite(problem.u, problem.v, rewards=other) for other in others)]
    return [problem, *(Monopartite(problem.u, rewards=other) for other in others)]
