"""What `simulate`, `identify` and `compare` share: check a call, play its runs, and describe them."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from matchbandit.errors import MatchbanditError, check_int, warn_user
from matchbandit.policies import PlannedPolicy, Policy, PolicySpec, RoundPolicy
from matchbandit.policies.capabilities import Goal
from matchbandit.policies.catalogue import policy as policy_named
from matchbandit.problems import Drifting, Family, Problem
from matchbandit.problems.drifting import refuse_drifting
from matchbandit.progress import bar
from matchbandit.results import RunInfo
from matchbandit.results.tables import parameters_of
from matchbandit.rewards import Counts
from matchbandit.seeding import stream
from matchbandit.simulation.engines import (
    DrawnRewards,
    Engine,
    Observer,
    Stop,
    jump,
    loop,
    no_observer,
    step,
    stop_condition,
)
from matchbandit.simulation.parallel import PlayRun, recorded_warnings, run_parallel
from matchbandit.simulation.score import MovingScore, Score

Progress = Callable[[int, int], None] | bool | None
AnyPolicy = PolicySpec | str | type[Policy]
"""A policy with its options, the name of one, or a class."""
Outcome = TypeVar("Outcome")
Result = TypeVar("Result")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a simulation: raised by `simulate`, `identify` and `compare`.

    Attributes
    ----------
    finished : Runs, Identification, Comparison or None
        The results of the runs that were finished, if there is one.
    """

    def __init__(self, finished: Any, done: int, total: int) -> None:
        """Take the results of the finished runs, their number and that of all."""
        results = "`finished` holds them" if done else "nothing is kept"
        super().__init__(f"interrupted after {done} of {total} runs; {results}.")
        self.finished = finished


class Start(NamedTuple):
    """A run before its first round, built to check a call and then played."""

    problem: Problem
    policy: Policy
    messages: list[Warning]
    """Warnings from building it."""


@dataclass(frozen=True)
class Job:
    """Everything that one run needs besides its number."""

    problem: Problem | Family
    spec: PolicySpec
    checkpoints: Counts
    seed: int
    engine: Engine
    horizon: int | None
    """The horizon that the policy knows."""
    stop: Stop | None = None
    """What ends a run before its last checkpoint, besides an answer."""

    def start(self, run: int) -> tuple[Problem, Policy]:
        """The instance and the policy of this run, before its first round."""
        base = self.problem.problem if isinstance(self.problem, Drifting) else self.problem
        problem = base.draw(self.seed, run) if isinstance(base, Family) else base
        policy = self.spec.build(problem.graph, rewards=problem.rewards, horizon=self.horizon, seed=self.seed, run=run)
        return problem, policy

    def play(self, run: int, observe: Observer = no_observer, start: Start | None = None) -> tuple[Policy, Score]:
        """Play one run until the last checkpoint, or until the policy is done; the first look is before round 1.

        `start` is that of this run, if it was built before.
        """
        if start is None:
            problem, policy = self.start(run)
        else:
            problem, policy, messages = start
            for message in messages:
                warn_user(message)
        score = self._score(problem, policy, run)
        source = DrawnRewards(score if score.means_change else problem, stream(self.seed, "rewards", run))
        observe(policy, score)
        if self.engine == "step":
            step(policy, source, score, stop_condition(self.stop, policy), observe)
        elif isinstance(policy, PlannedPolicy):
            jump(policy, source, score, stop_condition(self.stop, policy), observe)
        elif isinstance(policy, RoundPolicy):
            loop(policy, source, score, observe)
        return policy, score

    def _score(self, problem: Problem, policy: Policy, run: int) -> Score:
        """The score of a run on this instance; that of a drifting problem if anything changes before the horizon."""
        if isinstance(self.problem, Drifting):
            path = self.problem.path(problem, seed=self.seed, run=run)
            if path.first_change < self.checkpoints[-1]:
                return MovingScore(path, policy.selection, self.checkpoints)
        return Score(problem, policy.selection, self.checkpoints)

    def describe(self, policy: Policy, numbers: range, **more: Any) -> RunInfo:
        """The description of these runs for the results; `policy` is that of any run."""
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


def check_call(
    verb: str,
    problem: Problem | Family,
    policy: AnyPolicy,
    runs: int,
    workers: int | None,
    seed: int,
    goal: Goal,
) -> tuple[PolicySpec, int, int | None, int]:
    """Validate the policy, runs, workers and seed of a call; a policy with another goal is refused."""
    if not isinstance(problem, Problem | Family):
        raise MatchbanditError(f"{verb} needs a problem or a family of them; got {problem!r}.")
    if verb != "simulate":
        refuse_drifting(verb, problem, "Use simulate or compare with a horizon, or its .problem.")
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


def build_first(job: Job, first_run: int = 0) -> Start:
    """Build the first run: what cannot be played is refused before any work is done."""
    refuse_too_many_rounds(job)
    with recorded_warnings() as messages:
        problem, policy = job.start(first_run)
    return Start(problem, policy, messages)


def count_single_rounds(problem: Problem | Family, policy: type[Policy], horizon: int, *, leaps: bool = True) -> int:
    """Return how many rounds are played one by one: all, or if a planned policy leaps, those that end at a change."""
    if not (leaps and issubclass(policy, PlannedPolicy)):
        return horizon
    return problem.drift.count_changes(horizon) if isinstance(problem, Drifting) else 0


def refuse_too_many_rounds(job: Job) -> None:
    """Refuse rounds whose rewards could not be added up in 64 bits."""
    if job.checkpoints[-1] > job.problem.rewards.max_plays:
        raise MatchbanditError(
            f"{job.checkpoints[-1]} rounds of {job.problem.rewards} do not fit 64 bits: at most "
            f"{job.problem.rewards.max_plays}. Use fewer trials or fewer rounds."
        )


def compile_first(job: Job) -> None:
    """Play one round of the compiled loop: later runs, here or in workers, find it compiled."""
    if job.engine == "loop":
        replace(job, checkpoints=np.array([1])).play(0)


def run_range(first_run: int, runs: int) -> range:
    """The numbers of the runs of a call."""
    first = check_int("first_run", first_run, minimum=0, hint="It is the number of the first run.")
    return range(first, first + runs)


def play_all(
    play: PlayRun[Outcome],
    numbers: range,
    workers: int | None,
    progress: Progress,
    assemble: Callable[[dict[int, Outcome]], Result],
    start: Start | None = None,
) -> Result:
    """Play all runs and assemble their outcomes by number; Ctrl-C raises `Interrupted` with those that were finished.

    `start` is that of the first run, if it was built to check the call.
    """
    if progress is True:
        with bar("playing") as advance:
            return play_all(play, numbers, workers, lambda done, total: advance("runs", done, total), assemble, start)
    finished: dict[int, Outcome] = {}
    try:
        with closing(run_parallel(play, numbers, workers, start)) as outcomes:
            for run, outcome in outcomes:
                finished[run] = outcome
                if callable(progress):
                    progress(len(finished), len(numbers))
    except KeyboardInterrupt:
        raise Interrupted(assemble(finished) if finished else None, len(finished), len(numbers)) from None
    return assemble(finished)


def describe_part(about: RunInfo, numbers: list[int]) -> RunInfo:
    """The description of the runs that were finished, if they are not all."""
    if len(numbers) == about.runs:
        return about
    return replace(about, runs=len(numbers), interrupted_of=about.runs, run_numbers=numbers)
