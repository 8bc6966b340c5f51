"""Runs of a policy that seeks the best pair or matching: how long it takes, and whether it is right."""

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
from matchbandit.simulation.play import (
    Engine,
    Job,
    Progress,
    build_first,
    checked_call,
    compile_first,
    describe_part,
    engine_for,
    play_all,
    refuse_too_large,
    run_range,
)

LONGEST = {"planned": 10**12, "round": 10**7}
"""`max_rounds` unless told otherwise."""


def identify(
    problem: Problem | Family,
    policy: PolicySpec | str,
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

    `delta`, the error probability, is short for `policy(name, delta=…)`. `correct` means that the answer is worth the
    optimum. By default `max_rounds` is 10^12 for policies that plan and 10^7 for those that decide every round. Equal
    items at the border of the answer can never be told apart; without a `max_rounds` of yours such a problem is
    refused. The rest is as in `simulate`.

    >>> from matchbandit.policies import policy
    >>> from matchbandit.problems import Bipartite
    >>> slots = Bipartite([.9, .3], [.8, .4])
    >>> found = identify(slots, policy("pair-elim", delta=0.05), runs=5, seed=1)
    >>> found.identified.all(), found.answers[0].tolist()
    (np.True_, [[0, 0]])
    """
    if delta is not None:
        policy = with_delta(policy if isinstance(policy, PolicySpec) else named(policy), delta)
    spec, runs, workers, seed = checked_call("identify", problem, policy, runs, workers, seed, "identification")
    numbers = run_range(first_run, runs)
    job = Job(problem, spec, np.array([1]), seed, engine, None)
    first = build_first(job)
    usual = LONGEST["round" if isinstance(first, RoundPolicy) else "planned"]
    limit = usual if max_rounds is None else check_horizon(max_rounds, name="max_rounds")
    job = replace(job, checkpoints=np.array([limit]), engine=engine_for(engine, first))
    build_first(job)
    refuse_too_large(runs, 2 * first.graph.matching_size)
    if max_rounds is None:
        instances = (problem.draw(seed, run) for run in numbers) if isinstance(problem, Family) else [problem]
        for instance in instances:
            refuse_tie(instance, first.answer_selection)
    compile_first(job, min(runs, workers or runs))
    about = job.describe(first, numbers, max_rounds=limit, answers=first.answer_selection)
    return play_all(partial(_answered, job), numbers, workers, progress, partial(_assemble, about))


def with_delta(spec: PolicySpec, delta: float) -> PolicySpec:
    """The same policy with this error probability."""
    return replace(named(spec.kind, **{**spec.options, "delta": delta}), logged=spec.logged)


class _Answer(NamedTuple):
    rounds: int
    pairs: int
    identified: bool
    correct: bool
    answer: Pairs


def _answered(job: Job, run: int) -> _Answer:
    """Play a run until it has an answer."""
    policy, score = job.play(run)
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
            f"{tie}, and the answer hangs on them: no number of samples tells them apart, so the search cannot end. "
            f"Give max_rounds (--max-rounds) to stop it, or make them different."
        )
