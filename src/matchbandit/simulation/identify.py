"""Identify the best pair or matching: how long a policy takes, and whether it is right."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from matchbandit.confidence import check_epsilon
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Pairs, Selection
from matchbandit.policies import Policy, PolicySpec, RoundPolicy
from matchbandit.policies.catalogue import check_horizon, unknown_budget, unknown_option
from matchbandit.policies.catalogue import policy as named
from matchbandit.problems import Family, Problem
from matchbandit.results import Identification, RunInfo
from matchbandit.simulation.engines import Engine, choose_engine
from matchbandit.simulation.limits import refuse_too_large
from matchbandit.simulation.play import (
    AnyPolicy,
    Job,
    Progress,
    Start,
    build_first,
    check_call,
    compile_first,
    describe_part,
    play_all,
    refuse_too_many_rounds,
    run_range,
)

DEFAULT_MAX_ROUNDS = {"planned": 10**12, "round": 10**7}
"""By kind of policy."""


def identify(
    problem: Problem | Family,
    policy: AnyPolicy,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    budget: int | None = None,
    runs: int = 1,
    first_run: int = 0,
    seed: int = 0,
    max_rounds: int | None = None,
    engine: Engine = "auto",
    workers: int | None = 1,
    progress: Progress = None,
) -> Identification:
    """Let a policy seek the best pair or matching, `runs` times, until it has an answer.

    With *fixed confidence* (`delta`) a policy plays until it is sure enough, or `max_rounds` is reached. With a *fixed
    budget* (`budget`) it knows beforehand how many rounds there are, and answers within them.

    Parameters
    ----------
    problem : Problem or Family
        A family gives every run its own instance.
    policy : PolicySpec, str or type[Policy]
        `policy(name, option=…)`, the name alone, or a class.
    delta : float, optional
        The error probability, short for `policy(name, delta=…)`.
    epsilon : float, optional
        The share of the optimum that an answer may lack, in [0, 1), short for `policy(name, epsilon=…)`: with
        probability 1 − delta the answer is worth at least (1 − epsilon) × the optimum. Policies with the capability
        `supports_epsilon` take it. 0 is the same as none.
    budget : int, optional
        The number of rounds, for policies with the capability `fixed_budget`; not together with `delta`.
    max_rounds : int, optional
        A run without an answer ends here; by default after 10^12 rounds of policies that plan, and 10^7 of those that
        decide every round. Equal items at the border of the answer are never distinguishable: such a problem is
        refused unless `max_rounds`, a positive `epsilon` or a `budget` is given.
    runs, first_run, seed, engine, workers, progress
        As in `simulate`.

    Returns
    -------
    Identification
        Rounds, answers, and whether each is `correct`: worth the optimum, or with `epsilon` at least (1 − epsilon) ×
        the optimum.

    Raises
    ------
    Interrupted
        On Ctrl-C; its `finished` holds the runs that were finished.

    Examples
    --------
    >>> from matchbandit.policies import policy
    >>> from matchbandit.problems import Bipartite
    >>> slots = Bipartite([.9, .3], [.8, .4])
    >>> answers = identify(slots, policy("pair-elim", delta=0.05), runs=5, seed=1)
    >>> answers.identified.all(), answers.answers[0].tolist()
    (np.True_, [[0, 0]])
    """
    budget = check_budget(policy, budget, delta=delta, max_rounds=max_rounds)
    if delta is not None or epsilon is not None:
        policy = with_precision(policy if isinstance(policy, PolicySpec) else named(policy), delta, epsilon)
    spec, runs, workers, seed = check_call("identify", problem, policy, runs, workers, seed, "identification")
    numbers = run_range(first_run, runs)
    refuse_too_large(runs, numbers_per_run=2 * problem.graph.matching_size)
    job, start = prepare(problem, spec, numbers, seed, engine, budget, max_rounds)
    if min(runs, workers or runs) > 1:
        compile_first(job)
    about = job.describe(
        start.policy,
        numbers,
        max_rounds=int(job.checkpoints[-1]) if budget is None else None,
        answers=start.policy.answer_selection,
        epsilon=start.policy.capabilities.epsilon_in(start.policy.options),
        budget=budget,
    )
    return play_all(partial(_identify_run, job), numbers, workers, progress, partial(_assemble, about), start)


def prepare(
    problem: Problem | Family,
    spec: PolicySpec,
    numbers: range,
    seed: int,
    engine: Engine,
    budget: int | None,
    max_rounds: int | None,
) -> tuple[Job, Start]:
    """Return the job of these runs, which ends at its one checkpoint, and the first of them; refuse what cannot end."""
    job = Job(problem, spec, np.array([1]), seed, engine, budget)
    start = build_first(job, numbers.start)
    first = start.policy
    limit = budget or last_round(first, max_rounds)
    job = replace(job, checkpoints=np.array([limit]), engine=choose_engine(engine, first))
    refuse_too_many_rounds(job)
    if max_rounds is None and budget is None and not first.capabilities.epsilon_in(first.options):
        instances = (problem.draw(seed, run) for run in numbers) if isinstance(problem, Family) else [problem]
        for instance in instances:
            refuse_tie(instance, first.answer_selection)
    return job, start


def with_precision(spec: PolicySpec, delta: float | None, epsilon: float | None) -> PolicySpec:
    """The same policy with this δ and this ε; one that has others is refused, and so is an ε that it does not support.

    None leaves an option as it is; an ε of 0 needs no support.
    """
    if epsilon is not None and not spec.kind.capabilities.supports_epsilon:
        if check_epsilon(epsilon) > 0:
            raise unknown_option(spec.kind, "epsilon")
        epsilon = None
    precision = {name: value for name, value in {"delta": delta, "epsilon": epsilon}.items() if value is not None}
    for name, value in precision.items():
        own = spec.options.get(name)
        if own not in (None, value):
            raise MatchbanditError(f"{spec.name} has {name}={own!r} already; got {name}={value!r}, too. Give it once.")
    return replace(named(spec.kind, **{**spec.options, **precision}), logged=spec.logged)


def check_budget(
    policy: AnyPolicy, budget: int | None, *, delta: float | None = None, max_rounds: int | None = None
) -> int | None:
    """The budget as an int; refuse one that the policy, or a setting beside it, does not go with."""
    if budget is None:
        return None
    if delta is not None:
        raise MatchbanditError(
            "delta is for fixed confidence and budget for a fixed budget; got both. Give one of them."
        )
    if max_rounds is not None:
        raise MatchbanditError("max_rounds is for fixed confidence; a budget is the last round itself. Leave one out.")
    kind = (policy if isinstance(policy, PolicySpec) else named(policy)).kind
    if not kind.capabilities.fixed_budget:
        raise unknown_budget(kind)
    return check_horizon(budget, name="budget")


def last_round(policy: Policy, max_rounds: int | None) -> int:
    """Return the round after which an identification without an answer ends."""
    if max_rounds is not None:
        return check_horizon(max_rounds, name="max_rounds")
    return DEFAULT_MAX_ROUNDS["round" if isinstance(policy, RoundPolicy) else "planned"]


class _Answer(NamedTuple):
    rounds: int
    pairs: int
    identified: bool
    correct: bool
    answer: Pairs


def _identify_run(job: Job, run: int, start: Start | None = None) -> _Answer:
    policy, score = job.play(run, start=start)
    answer = policy.recommend()
    epsilon = policy.capabilities.epsilon_in(policy.options) or 0.0
    right = policy.done and score.problem.is_optimal(answer, policy.answer_selection, epsilon=epsilon)
    return _Answer(score.round, score.round * policy.round_size, policy.done, right, answer)


def _assemble(about: RunInfo, finished: dict[int, _Answer]) -> Identification:
    """The finished runs in the order of their numbers."""
    numbers = sorted(finished)
    parts = zip(*(finished[run] for run in numbers), strict=True)
    return Identification(describe_part(about, numbers), *map(np.array, parts))


def refuse_tie(problem: Problem, selection: Selection) -> None:
    """Refuse a problem with two best answers: no number of samples separates them."""
    tie = problem.tie(selection)
    if tie is not None:
        raise MatchbanditError(
            f"{tie}, and the answer depends on them: no number of samples tells them apart, so the search cannot end. "
            f"Give max_rounds (--max-rounds) to stop it, epsilon (--epsilon) if the policy supports it, or make them "
            f"different."
        )
