"""Calls of the product for bounds, quantities, divergences, checks and matchings."""

from typing import Any

import numpy as np

import matchbandit as mb
from contract.adapter.vocabulary import error_name, reward_distribution
from matchbandit import theory
from matchbandit.confidence import Checks
from matchbandit.kl import bernoulli_kl, kl_lower, kl_upper
from matchbandit.solvers import all_matchings, best_matching, count_matchings, sorted_across, sorted_pairing


def problem_of(strengths: dict[str, list[float]], rewards: dict[str, Any]) -> Any:
    """Rows and columns if there are strengths u and v, players if there is only u."""
    sides = [strengths[name] for name in ("u", "v") if name in strengths]
    return (mb.Bipartite if len(sides) == 2 else mb.Monopartite)(*sides, rewards=reward_distribution(**rewards))


def graph_of(shape: list[int]) -> Any:
    """Rows and columns for two sizes, players for one."""
    return (mb.bipartite if len(shape) == 2 else mb.monopartite)(*shape)


def bounds(strengths: dict[str, list[float]], rewards: dict[str, Any], horizon: int | None, delta: float | None) -> Any:
    """The values of all bounds, and which bounds are left out."""
    report = theory.report(problem_of(strengths, rewards), horizon=horizon, delta=delta)
    return {
        "bounds": {
            bound.name: {
                "value": bound.value,
                "trivial": bound.trivial_value,
                "vacuous": bound.vacuous,
                "assumptions_met": [assumption.met for assumption in bound.assumptions],
                "terms": [*bound.parts.values()],
            }
            for bound in report.bounds
        },
        "left_out": [left_out.name for left_out in report.left_out],
    }


def bound_facts(strengths: dict[str, list[float]], rewards: dict[str, Any], horizon: int, delta: float) -> Any:
    """What each bound is on, whom it binds, and what its constants are worth."""
    return {
        bound.name: {
            name: getattr(bound, name)
            for name in ("kind", "task", "plays", "seeks", "policy", "origin", "constants", "stop")
        }
        for bound in mb.bounds(problem_of(strengths, rewards), horizon=horizon, delta=delta)
    }


def bound_order(strengths: dict[str, list[float]], rewards: dict[str, Any], horizon: int, delta: float) -> Any:
    """The names of the bounds in their order: of regret alone, of rounds alone, of both, and in groups."""
    problem = problem_of(strengths, rewards)
    goals = {"regret": {"horizon": horizon}, "rounds": {"delta": delta}, "both": {"horizon": horizon, "delta": delta}}
    groups = theory.report(problem, **goals["both"]).groups
    return {
        **{goal: [bound.name for bound in mb.bounds(problem, **options)] for goal, options in goals.items()},
        "groups": [[bound.name for bound in group] for group in groups.values()],
    }


def quantities(strengths: dict[str, list[float]], rewards: dict[str, Any]) -> Any:
    """The values of all quantities of the paper."""
    return {quantity.name: quantity.value for quantity in mb.quantities(problem_of(strengths, rewards))}


def programs(strengths: dict[str, list[float]], rewards: dict[str, Any]) -> Any:
    """The asymptotic lower bounds and the plays that attain them, or the error's class where there is none."""
    problem = problem_of(strengths, rewards)
    calls: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
        **{f"regret {plays}": (theory.graves_lai, (problem, plays), {}) for plays in ("pair", "matching")},
        **{
            f"rounds {seeks} by {plays}": (theory.characteristic_time, (problem,), {"plays": plays, "seeks": seeks})
            for plays, seeks in (("pair", "pair"), ("pair", "matching"), ("matching", "matching"))
        },
    }
    results = {}
    for name, (call, args, options) in calls.items():
        error = error_name(call, *args, **options)
        if error is not None:
            results[name] = {"error": error}
        else:
            solution = call(*args, **options)
            results[name] = {"value": solution.value, "above": solution.above, "plays": solution.plays}
    return results


def schedule_regret(u: list[float]) -> Any:
    """What a round of a round-robin loses on average."""
    return {"round_robin": theory.round_robin_regret(u)}


def refusals(horizons: list[Any], deltas: list[Any]) -> Any:
    """The error's class for each argument that has no bounds."""
    problem = mb.Monopartite([0.9, 0.8, 0.4, 0.1], rewards=mb.Bernoulli())
    odd = [0.9, 0.5, 0.3]
    return {
        "horizon": [error_name(mb.bounds, problem, horizon=horizon) for horizon in horizons],
        "delta": [error_name(mb.bounds, problem, delta=delta) for delta in deltas],
        "neither": error_name(mb.bounds, problem),
        "means": error_name(mb.bounds, mb.Means([[0.5, 0.3], [0.2, 0.4]]), horizon=1000),
        "quantities of means": error_name(mb.quantities, mb.Means([[0.5, 0.3], [0.2, 0.4]])),
        "round_robin": error_name(theory.round_robin_regret, odd),
    }


def divergences(rewards: dict[str, Any], means: list[float]) -> Any:
    """The divergence of every two means, and the sub-Gaussian scale."""
    distribution = reward_distribution(**rewards)
    return {"sigma": distribution.sigma, "kl": [[distribution.kl(p, q) for q in means] for p in means]}


def confidence_limits(means: list[float], budgets: list[float]) -> Any:
    """The divergences of Bernoulli means, and the limits at which they reach each budget."""
    return {
        "kl": [[bernoulli_kl(p, q) for q in means] for p in means],
        "upper": [[kl_upper(mean, budget) for budget in budgets] for mean in means],
        "lower": [[kl_lower(mean, budget) for budget in budgets] for mean in means],
    }


def checks(checks: dict[str, Any], levels: list[int], counts: list[int]) -> Any:
    """When an average is checked, and the radius of its interval."""
    schedule = Checks(**checks) if "log_beta" in checks else Checks.fixed_confidence(**checks)
    return {
        "log_beta": schedule.log_beta,
        "scheduled": [schedule.scheduled(level) for level in levels],
        "following": [schedule.following(count) for count in counts],
        "radius": [schedule.radius(count) for count in counts if count >= schedule.following(0)],
    }


def check_refusals(growths: list[float], by_level: list[bool]) -> Any:
    """The error's class for each growth."""
    return [
        error_name(Checks, growth=growth, log_beta=1.0, sigma=0.5, by_level=levels)
        for growth, levels in zip(growths, by_level, strict=True)
    ]


def best_matchings(shape: list[int], weights: list[list[float]]) -> Any:
    """The heaviest matching for each list of weights by edge, and how many matchings there are."""
    graph = graph_of(shape)
    return {
        "count": count_matchings(graph),
        "best": [graph.pairs_of(best_matching(graph, np.array(each))) for each in weights],
    }


def matchings(shape: list[int]) -> Any:
    """Every largest matching, by edges."""
    return all_matchings(graph_of(shape))


def sorted_matchings(rows: list[float], columns: list[float]) -> Any:
    """Strongest with strongest, across two sides and within one."""
    return {"across": sorted_across(rows, columns), "within": sorted_pairing(rows)}


KINDS: dict[str, Any] = {
    "bounds": bounds,
    "bound-facts": bound_facts,
    "bound-order": bound_order,
    "quantities": quantities,
    "programs": programs,
    "schedule-regret": schedule_regret,
    "theory-refusals": refusals,
    "divergences": divergences,
    "confidence-limits": confidence_limits,
    "checks": checks,
    "check-refusals": check_refusals,
    "best-matchings": best_matchings,
    "matchings": matchings,
    "sorted-matchings": sorted_matchings,
}
