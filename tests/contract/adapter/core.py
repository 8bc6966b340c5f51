"""Policies at play: simulations, identifications, comparisons, and sessions of asking and telling."""

import json
import warnings
from typing import Any

import matchbandit as mb
from contract.adapter.vocabulary import reward_distribution
from contract.feedback import Feedback

DRIFTS = {"random-walk": mb.RandomWalk, "seasons": mb.Seasons, "jumps": mb.Jumps}


def _problem(kind: str, **parts: Any) -> Any:
    if kind == "drifting":
        drift = dict(parts["drift"])
        return mb.Drifting(_problem(**parts["problem"]), DRIFTS[drift.pop("kind")](**drift))
    rewards = reward_distribution(**parts["rewards"])
    if kind == "family":
        return mb.family(parts["family"], rewards=rewards, **parts["parameters"])
    if kind == "means":
        return mb.Means(parts["matrix"], parts["players"], rewards=rewards)
    if kind == "bipartite":
        return mb.Bipartite(parts["u"], parts["v"], rewards=rewards)
    return mb.Monopartite(parts["u"], rewards=rewards)


def _policy(name: str, options: dict[str, Any], warm_starts: list[dict[str, Any]]) -> Any:
    policy = mb.policy(name, **options)
    for past in warm_starts:
        policy = policy.warm_start(past["pairs"], past["counts"], past["sums"])
    return policy


def _regret(runs: Any) -> dict[str, Any]:
    return {
        "checkpoints": runs.rounds,
        "regret": runs.regret,
        "plays": [{"pairs": one.pairs, "counts": one.counts, "sums": one.sums} for one in runs.played],
        "ended": runs.ended,
        "splits": runs.splits,
        "eliminations": [[elimination.describe() for elimination in run] for run in runs.eliminations],
    }


def _answers(identification: Any) -> dict[str, Any]:
    return {
        "rounds": identification.rounds,
        "pair_evaluations": identification.pairs,
        "identified": identification.identified,
        "correct": identification.correct,
        "answers": identification.answers,
    }


def simulate(problem: dict[str, Any], policy: dict[str, Any], **settings: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that players are not as the policy assumes
        return _regret(mb.simulate(_problem(**problem), _policy(**policy), **settings))


def identify(problem: dict[str, Any], policy: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return _answers(mb.identify(_problem(**problem), _policy(**policy), **settings))


def compare(problem: dict[str, Any], policies: list[dict[str, Any]], **settings: Any) -> dict[str, Any]:
    comparison = mb.compare(_problem(**problem), [_policy(**policy) for policy in policies], **settings)
    return {
        "labels": comparison.labels,
        "rankings": [[{"label": one.label, **one.describe()} for one in ranking] for ranking in comparison.rankings],
        "results": [_regret(one) if isinstance(one, mb.Runs) else _answers(one) for one in comparison],
    }


def session(
    problem: dict[str, Any],
    policy: dict[str, Any],
    rounds: int,
    horizon: int | None,
    seed: int,
    run: int,
    feedback_seed: int,
    missing: list[list[int]],
    reversed_order: bool,
    restore: list[dict[str, Any]],
    recorded_rounds: int,
    explain: str | None,
) -> dict[str, Any]:
    """Ask and tell.

    `restore` says in which rounds the state goes through JSON, and `explain` when the policy explains itself: before
    the ask of the round that follows, or after it.
    """
    instance = _problem(**problem)
    learner = _policy(**policy).build(instance.graph, rewards=instance.rewards, horizon=horizon, seed=seed, run=run)
    feedback = Feedback(problem, feedback_seed, missing)
    moments = [(one["round"], one["moment"]) for one in restore]
    rounds_of_pairs, explanation = [], None
    for number in range(1, rounds + 1):
        if (number, "before the ask") in moments:
            learner = _restored(learner)
        pairs = learner.ask().tolist()
        if (number, "after the ask") in moments:
            learner = _restored(learner)
        rounds_of_pairs.append(pairs)
        rewards = feedback.rewards(number, pairs)
        if reversed_order:
            learner.tell(pairs[::-1], rewards[::-1])
        else:
            learner.tell(pairs, rewards)
    if explain == "before the ask":
        explanation = learner.explain()
    recommendation, following = learner.recommend(), learner.ask()
    if explain == "after the ask":
        explanation = learner.explain()
    return {
        "asked": rounds_of_pairs[-recorded_rounds:],
        "rounds": learner.rounds,
        "done": learner.done,
        "recommendation": recommendation,
        "splits": learner.splits,
        "explanation": explanation,
        "next": following,
    }


def _restored(learner: Any) -> Any:
    return mb.restore(json.loads(json.dumps(learner.state())))


def instances(problem: dict[str, Any], seed: int, runs: list[int]) -> list[dict[str, Any]]:
    """What is best in the instance of each run of a family, or in a problem, and its means."""
    whole = _problem(**problem)
    single_instances = [whole.draw(seed, run) for run in runs] if problem["kind"] == "family" else [whole]
    return [
        {
            "means": one.matrix,
            "best_pair": one.best_pair,
            "best_matching": one.best_matching,
            "optimum": {selection: one.optimum(selection) for selection in ("pair", "matching")},
        }
        for one in single_instances
    ]


def drifting_strengths(problem: dict[str, Any], rounds: list[int], seed: int, run: int) -> Any:
    return _problem(**problem).strengths(rounds, seed=seed, run=run)


def options_of(policy: str) -> list[str]:
    return list(mb.CATALOGUE[policy].option_defaults())


KINDS: dict[str, Any] = {
    "simulate": simulate,
    "identify": identify,
    "compare": compare,
    "session": session,
    "instances": instances,
    "drifting strengths": drifting_strengths,
}
