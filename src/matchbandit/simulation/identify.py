"""Identify the best pair or matching: how long a policy takes, and whether it is right."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Pairs, Selection
from matchbandit.policies import PolicySpec, RoundPolicy
from matchbandit.policies.catalogue import check_horizon
from matchbandit.policies.catalogue import policy as named
from matchbandit.problems import Family, Problem
from matchbandit.results import Identification, RunInfo
from matchbandit.simulation.engines import Engine, choose_engine
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
    refuse_too_large,
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
    runs: int = 1,
    first_run: int = 0,
    seed: int = 0,
    max_rounds: int | None = None,
    engine: Engine = "auto",
    workers: int | None = 1,
    progress: Progress = None,
) -> Identification:
    """Let a policy seek the best pair or matching, `runs` times, until it has an answer or `max_rounds` is reached.

    Parameters
    ----------
    problem : Problem or Family
        A family gives every run an instance of its own.
    policy : PolicySpec, str or type[Policy]
        `policy(name, option=…)`, the name alone, or a class.
    delta : float, optional
        The error probability, short for `policy(name, delta=…)`.
    max_rounds : int, optional
        A run without an answer ends here; by default after 10^12 rounds of policies that plan, and 10^7 of those that
        decide every round. Equal items at the border of the answer are never distinguishable: such a problem is
        refused unless `max_rounds` is given.
    runs, first_run, seed, engine, workers, progress
        As in `simulate`.

    Returns
    -------
    Identification
        Rounds, answers, and whether each is `correct`, which means that it is worth the optimum.

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
    if delta is not None:
        policy = with_delta(policy if isinstance(policy, PolicySpec) else named(policy), delta)
    spec, runs, workers, seed = check_call("identify", problem, policy, runs, workers, seed, "identification")
    numbers = run_range(first_run, runs)
    job = Job(problem, spec, np.array([1]), seed, engine, None)
    start = build_first(job, numbers.start)
    first = start.policy
    usual = DEFAULT_MAX_ROUNDS["round" if isinstance(first, RoundPolicy) else "planned"]
    limit = usual if max_rounds is None else check_horizon(max_rounds, name="max_rounds")
    job = replace(job, checkpoints=np.array([limit]), engine=choose_engine(engine, first))
    refuse_too_many_rounds(job)
    refuse_too_large(runs, 2 * first.graph.matching_size)
    if max_rounds is None:
        instances = (problem.draw(seed, run) for run in numbers) if isinstance(problem, Family) else [problem]
        for instance in instances:
            refuse_tie(instance, first.answer_selection)
    if min(runs, workers or runs) > 1:
        compile_first(job)
    about = job.describe(first, numbers, max_rounds=limit, answers=first.answer_selection)
    return play_all(partial(_identify_run, job), numbers, workers, progress, partial(_assemble, about), start)


def with_delta(spec: PolicySpec, delta: float) -> PolicySpec:
    """The same policy with this error probability; one that has another is refused."""
    own = spec.options.get("delta", delta)
    if own != delta:
        raise MatchbanditError(f"{spec.name} has delta={own!r} already; got delta={delta!r}, too. Give it once.")
    return replace(named(spec.kind, **{**spec.options, "delta": delta}), logged=spec.logged)


class _Answer(NamedTuple):
    rounds: int
    pairs: int
    identified: bool
    correct: bool
    answer: Pairs


def _identify_run(job: Job, run: int, start: Start | None = None) -> _Answer:
    policy, score = job.play(run, start=start)
    answer = policy.recommend()
    right = policy.done and score.problem.is_optimal(answer, policy.answer_selection)
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
            f"Give max_rounds (--max-rounds) to stop it, or make them different."
        )
