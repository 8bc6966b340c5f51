"""What one run needs, which engine plays it, and all runs of a call."""

import os
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from matchbandit.errors import MatchbanditError, check_int, unknown
from matchbandit.policies import PlannedPolicy, Policy, PolicySpec, RoundPolicy
from matchbandit.policies.capabilities import Goal
from matchbandit.policies.catalogue import policy as policy_named
from matchbandit.problems import Family, Problem
from matchbandit.progress import bar
from matchbandit.results import RunInfo
from matchbandit.results.tables import parameters_of
from matchbandit.rewards import Counts
from matchbandit.seeding import stream
from matchbandit.simulation.engines.jump import jump
from matchbandit.simulation.engines.loop import loop
from matchbandit.simulation.engines.step import step
from matchbandit.simulation.observing import Observer, nobody
from matchbandit.simulation.parallel import run_parallel
from matchbandit.simulation.score import Score
from matchbandit.simulation.sources import DrawnRewards
from matchbandit.simulation.stops import Stop, stopping

Engine = Literal["auto", "step", "jump", "loop"]
Progress = Callable[[int, int], None] | bool | None
Outcome = TypeVar("Outcome")
Result = TypeVar("Result")

MOST_MEMORY = 2**33
"""Bytes that the results of a call may take, where the machine does not say what it has."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a simulation; `finished` holds what came of the runs that were finished, or None."""

    def __init__(self, finished: Any, done: int, total: int) -> None:
        """Keep what was finished."""
        kept = "`finished` holds them" if done else "nothing is kept"
        super().__init__(f"interrupted after {done} of {total} runs; {kept}.")
        self.finished = finished


@dataclass(frozen=True)
class Job:
    """All that one run needs besides its number."""

    problem: Problem | Family
    spec: PolicySpec
    checkpoints: Counts
    seed: int
    engine: Engine
    horizon: int | None
    """What the policy is told of the horizon."""
    stop: Stop | None = None
    """What ends a run before its last checkpoint, besides an answer."""

    def start(self, run: int) -> tuple[Problem, Policy]:
        """The instance and the policy of this run, before its first round."""
        problem = self.problem.draw(self.seed, run) if isinstance(self.problem, Family) else self.problem
        built = self.spec.build(problem.graph, rewards=problem.rewards, horizon=self.horizon, seed=self.seed, run=run)
        return problem, built

    def play(self, run: int, observe: Observer = nobody) -> tuple[Policy, Score]:
        """Play one run until the last checkpoint, or until the policy is done; the first look is before round 1."""
        problem, policy = self.start(run)
        source = DrawnRewards(problem, stream(self.seed, "rewards", run))
        score = Score(problem, policy.selection, self.checkpoints)
        observe(policy, score)
        if self.engine == "step":
            step(policy, source, score, stopping(self.stop, policy), observe)
        elif isinstance(policy, PlannedPolicy):
            jump(policy, source, score, stopping(self.stop, policy), observe)
        elif isinstance(policy, RoundPolicy):
            loop(policy, source, score, observe)
        return policy, score

    def describe(self, policy: Policy, numbers: range, **more: Any) -> RunInfo:
        """What is played, for the results; `policy` is that of any run."""
        plays = sum(int(np.sum(counts)) for _, counts, _ in self.spec.logged)
        return RunInfo.now(
            problem=self.problem.describe(),
            graph=self.problem.graph.describe(),
            policy=self.spec.name,
            options=dict(policy.options),
            selection=policy.selection,
            runs=len(numbers),
            first_run=numbers.start or None,
            seed=self.seed,
            engine=self.engine,
            warm_start={"plays": plays} if self.spec.logged else None,
            **more,
        )


def checked_call(
    verb: str,
    problem: Problem | Family,
    policy: PolicySpec | str,
    runs: int,
    workers: int | None,
    seed: int,
    goal: Goal,
) -> tuple[PolicySpec, int, int | None, int]:
    """The policy, runs, workers and seed of a call, checked; a policy that is for something else is refused."""
    if not isinstance(problem, Problem | Family):
        raise MatchbanditError(f"{verb} needs a problem or a family of them; got {problem!r}.")
    parameters_of(problem.describe())  # whose names must not be those of other columns of the results
    if isinstance(policy, list | tuple):
        raise MatchbanditError(f"{verb} plays one policy at a time; got {len(policy)}. Call it for each in turn.")
    spec = policy if isinstance(policy, PolicySpec) else policy_named(policy)
    is_for = spec.kind.goal_with(spec.options)
    if is_for != goal:
        other = "identify" if verb == "simulate" else "simulate"
        way = f"use {other}() (matchbandit {other})"
        if goal in spec.kind.capabilities.goals:
            way = ("leave delta out, or " if goal == "regret" else "give it delta= (--delta), or ") + way
        raise MatchbanditError(f"{spec.name} is for {is_for} here, not {goal}: {way}.")
    return (
        spec,
        check_int("runs", runs, minimum=1),
        None if workers is None else check_int("workers", workers, minimum=1),
        check_int("seed", seed, minimum=0),
    )


def build_first(job: Job) -> Policy:
    """The policy of the first run: a misfit is reported before any work is done, and only that."""
    if job.checkpoints[-1] > job.problem.rewards.most_plays:
        raise MatchbanditError(
            f"{job.checkpoints[-1]} rounds of {job.problem.rewards} do not fit 64 bits: at most "
            f"{job.problem.rewards.most_plays}. Take fewer trials or fewer rounds."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return job.start(0)[1]


def compile_first(job: Job, workers: int | None) -> None:
    """Play one round here before workers start: they then find it compiled, and nobody says so twice."""
    if job.engine == "loop" and workers != 1:
        replace(job, checkpoints=np.array([1])).play(0)


def engine_for(wanted: Engine, policy: Policy) -> Engine:
    """The engine that plays this policy, or why it cannot."""
    if wanted not in get_args(Engine):
        raise unknown("engine", wanted, get_args(Engine))
    fast: Engine = "step"
    if isinstance(policy, PlannedPolicy):
        fast = "jump"
    elif isinstance(policy, RoundPolicy) and policy.compiled:
        fast = "loop"
    if wanted in ("auto", fast, "step"):
        return fast if wanted == "auto" else wanted
    why = "decides every round and has nothing to leap over" if wanted == "jump" else "plans, and is leapt over instead"
    if wanted == "loop" and not isinstance(policy, PlannedPolicy):
        why = f"has no compiled loop on {policy.graph}"
    others = "'auto' or 'step'" if fast == "step" else f"'auto', '{fast}' or 'step'"
    raise MatchbanditError(f"{policy.name} cannot {wanted}: it {why}. Use the engine {others}.")


def run_range(first_run: int, runs: int) -> range:
    """The numbers of the runs of a call."""
    first = check_int("first_run", first_run, minimum=0, hint="It is the number of the first run.")
    return range(first, first + runs)


def play_all(
    play: Callable[[int], Outcome],
    numbers: range,
    workers: int | None,
    progress: Progress,
    collect: Callable[[dict[int, Outcome]], Result],
) -> Result:
    """Play all runs and collect their outcomes by number; Ctrl-C raises `Interrupted` with those that were finished."""
    if progress is True:
        with bar("playing") as advance:
            return play_all(play, numbers, workers, lambda done, total: advance("runs", done, total), collect)
    finished: dict[int, Outcome] = {}
    try:
        with closing(run_parallel(partial(_play_nth, play, numbers), len(numbers), workers)) as played:
            for nth, outcome in played:
                finished[numbers[nth]] = outcome
                if callable(progress):
                    progress(len(finished), len(numbers))
    except KeyboardInterrupt:
        raise Interrupted(collect(finished) if finished else None, len(finished), len(numbers)) from None
    return collect(finished)


def _play_nth(play: Callable[[int], Outcome], numbers: range, nth: int) -> Outcome:
    return play(numbers[nth])


def describe_part(about: RunInfo, numbers: list[int]) -> RunInfo:
    """The description of the runs that were finished, if they are not all."""
    if len(numbers) == about.runs:
        return about
    return replace(about, runs=len(numbers), interrupted_of=about.runs, run_numbers=numbers)


def refuse_too_large(runs: int, numbers_each: int) -> None:
    """Refuse results that this machine cannot hold, before any work is done."""
    needed, there = runs * (numbers_each * 8 + 200), _memory()
    if needed > there:
        raise MatchbanditError(
            f"{runs:.3g} runs with {numbers_each} numbers each take {needed / 2**30:,.0f} GiB, and this machine has "
            f"{there / 2**30:,.0f}. Take fewer runs, fewer checkpoints, or a smaller problem."
        )


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return MOST_MEMORY
