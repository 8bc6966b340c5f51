"""What one run needs, and which engine plays it."""

import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from matchbandit.errors import MatchbanditError, unknown, whole_number
from matchbandit.policies import PlannedPolicy, Policy, PolicySpec, RoundPolicy
from matchbandit.policies.catalogue import policy as policy_named
from matchbandit.policies.fits import Goal
from matchbandit.problems import Family, Problem
from matchbandit.results import About
from matchbandit.rewards import Counts
from matchbandit.seeding import stream
from matchbandit.simulation.engines.jump import jump
from matchbandit.simulation.engines.loop import loop
from matchbandit.simulation.engines.step import step
from matchbandit.simulation.parallel import each_run
from matchbandit.simulation.score import Score
from matchbandit.simulation.sources import DrawnRewards
from matchbandit.simulation.stops import Stop, stopping

Engine = Literal["auto", "step", "jump", "loop"]
Progress = Callable[[int, int], None]
Outcome = TypeVar("Outcome")
Result = TypeVar("Result")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a simulation; `finished` holds what came of the runs that were finished, or None."""

    def __init__(self, finished: Any) -> None:
        """Keep what was finished."""
        super().__init__()
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

    def play(self, run: int) -> tuple[Policy, Score]:
        """Play one run until the last checkpoint, or until the policy is done."""
        problem, played = self.start(run)
        source = DrawnRewards(problem, stream(self.seed, "rewards", run))
        score = Score(problem, played.selection, self.checkpoints)
        if self.engine == "step":
            step(played, source, score, stopping(self.stop, played))
        elif isinstance(played, PlannedPolicy):
            jump(played, source, score, stopping(self.stop, played))
        elif isinstance(played, RoundPolicy):
            loop(played, source, score)
        return played, score


def tried(job: Job) -> Policy:
    """The policy of the first run, built on trial: a misfit is reported before any work is done, and only that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return job.start(0)[1]


def refuse_other_goal(spec: PolicySpec, *, goal: Goal, other_verb: str) -> None:
    """Refuse a policy that is after something else than the verb."""
    is_after = spec.kind.goal_with(spec.options)
    if is_after != goal:
        both = goal in spec.kind.fits.goals
        way = f"use {other_verb}() (matchbandit {other_verb})"
        if both:
            way = "give it delta=, or " + way if goal == "identification" else "leave delta out, or " + way
        raise MatchbanditError(f"{spec.name} is after {is_after} here, not {goal}: {way}.")


def prepared(job: Job, policy: Policy, runs: int) -> tuple[Job, dict[str, Any]]:
    """The job with its engine, and a description of it."""
    longest = int(job.checkpoints[-1])
    if longest > job.problem.rewards.most_plays:
        raise MatchbanditError(
            f"{longest} rounds of {job.problem.rewards} do not fit 64 bits: at most {job.problem.rewards.most_plays}. "
            f"Take fewer trials or fewer rounds."
        )
    chosen = replace(job, engine=_engine(job.engine, policy))
    about = {
        "problem": job.problem.describe(),
        "graph": job.problem.graph.describe(),
        "policy": job.spec.name,
        "options": dict(policy.options),
        "selection": policy.selection,
        "runs": runs,
        "seed": job.seed,
        "engine": chosen.engine,
    }
    if job.spec.logged:
        about["warm_start"] = {"plays": int(sum(np.sum(counts) for _, counts, _ in job.spec.logged))}
    return chosen, about


def gathered(
    play: Callable[[int], Outcome],
    runs: int,
    workers: int,
    progress: Progress | None,
    collect: Callable[[dict[int, Outcome]], Result],
) -> Result:
    """Play all runs and collect their outcomes by number; Ctrl-C raises `Interrupted` with those that were finished."""
    finished: dict[int, Outcome] = {}
    try:
        with closing(each_run(play, runs, workers)) as played:
            for run, outcome in played:
                finished[run] = outcome
                if progress:
                    progress(len(finished), runs)
    except KeyboardInterrupt:
        raise Interrupted(collect(finished) if finished else None) from None
    return collect(finished)


def part_of(about: dict[str, Any], numbers: list[int]) -> About:
    """The description of the runs that were finished, if they are not all."""
    if len(numbers) == about["runs"]:
        return About.now(**about)
    return About.now(**{**about, "runs": len(numbers), "interrupted_of": about["runs"], "run_numbers": numbers})


def checked_call(
    verb: str, problem: Problem | Family, policy: PolicySpec | str, runs: int, workers: int, seed: int
) -> tuple[PolicySpec, int, int, int]:
    """The policy, runs, workers and seed of a call, checked."""
    if not isinstance(problem, Problem | Family):
        raise MatchbanditError(f"{verb} needs a problem or a family of them; got {problem!r}.")
    if isinstance(policy, list | tuple):
        raise MatchbanditError(f"{verb} plays one policy at a time; got {len(policy)}. Call it for each in turn.")
    spec = policy if isinstance(policy, PolicySpec) else policy_named(policy)
    return (
        spec,
        whole_number("runs", runs, least=1),
        whole_number("workers", workers, least=1),
        whole_number("seed", seed, least=0),
    )


def _engine(wanted: Engine, built: Policy) -> Engine:
    """The engine that plays this policy, or why it cannot."""
    if wanted not in get_args(Engine):
        raise unknown("engine", wanted, get_args(Engine))
    fast: Engine = "step"
    if isinstance(built, PlannedPolicy):
        fast = "jump"
    elif isinstance(built, RoundPolicy) and built.compiled:
        fast = "loop"
    if wanted in ("auto", fast, "step"):
        return fast if wanted == "auto" else wanted
    why = "decides every round and has nothing to leap over" if wanted == "jump" else "has no compiled functions"
    if wanted == "loop" and isinstance(built, RoundPolicy):
        why = f"needs a solver that is not compiled on {built.graph}"
    others = "'auto' or 'step'" if fast == "step" else f"'auto', '{fast}' or 'step'"
    raise MatchbanditError(f"{built.name} cannot {wanted}: it {why}. Use the engine {others}.")
