"""Runs of a policy on a problem, and their regret."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from matchbandit.errors import MatchbanditError, whole_number
from matchbandit.policies import PolicySpec
from matchbandit.policies.catalogue import checked_horizon
from matchbandit.problems import Family, Problem
from matchbandit.results import Runs, Split
from matchbandit.rewards import Counts, Floats
from matchbandit.simulation.play import (
    Engine,
    Job,
    Progress,
    checked_call,
    gathered,
    part_of,
    prepared,
    refuse_other_goal,
    tried,
)
from matchbandit.simulation.stops import Stop, stopping

DEFAULT_CHECKPOINTS = 50


def simulate(
    problem: Problem | Family,
    policy: PolicySpec | str,
    *,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    engine: Engine = "auto",
    checkpoints: Iterable[int] | None = None,
    stop: Stop | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Runs:
    """Play a policy on a problem, `runs` times, each with random streams of its own.

    A `Family` in place of a problem gives every run an instance of its own. The regret is read at the checkpoints:
    by default 50, log-spaced; or a list of rounds of yours; the horizon is always the last. Engines: "step" plays
    round by round; "jump" leaps from decision to decision (planned policies); "loop" is compiled (round policies);
    "auto" picks the faster one. `stop="first-split"` ends a run as soon as a cluster of the policy splits: `ended` says
    when, and later checkpoints repeat the regret of that moment. `workers` are processes; the numbers do not depend on
    them. `progress` is called with the number of runs done and their total.

    >>> from matchbandit.problems import Bipartite
    >>> done = simulate(Bipartite([.9, .3], [.8, .4]), "pair-elim", horizon=10**12, runs=3, seed=7)
    >>> done.regret.shape[0], bool((done.plays.sum(axis=(1, 2)) == 10**12).all())
    (3, True)
    """
    spec, runs, workers, seed = checked_call("simulate", problem, policy, runs, workers, seed)
    refuse_other_goal(spec, goal="regret", other_verb="identify")
    horizon = checked_horizon(horizon)
    job = Job(problem, spec, _checkpoints(checkpoints, horizon), seed, engine, horizon, stop)
    first = tried(job)
    stopping(stop, first)
    job, about = prepared(job, first, runs)
    about["horizon"] = horizon
    if stop is not None:
        about["stop"] = stop
    return gathered(_Scored(job), runs, workers, progress, partial(_collected, about, job.checkpoints))


class _Outcome(NamedTuple):
    regret: Floats
    plays: Counts
    ended: int
    splits: list[Split]


@dataclass(frozen=True)
class _Scored:
    """Plays a run and gives what came of it."""

    job: Job

    def __call__(self, run: int) -> _Outcome:
        policy, score = self.job.play(run)
        return _Outcome(score.regret, score.plays, score.round, policy.splits)


def _collected(about: dict[str, Any], checkpoints: Counts, finished: dict[int, _Outcome]) -> Runs:
    """The finished runs in the order of their numbers."""
    numbers = sorted(finished)
    regret, plays, ended, splits = zip(*(finished[run] for run in numbers), strict=True)
    return Runs(part_of(about, numbers), checkpoints, np.array(regret), np.array(plays), np.array(ended), list(splits))


def log_spaced(horizon: int, n: int = DEFAULT_CHECKPOINTS) -> Counts:
    """At most n distinct rounds from 1 to the horizon, equally spaced in the logarithm.

    >>> log_spaced(1000, 4).tolist()
    [1, 10, 100, 1000]
    """
    rounds = np.unique(np.rint(np.geomspace(1, horizon, n)).astype(np.int64))
    rounds[-1] = horizon
    return rounds


def _checkpoints(given: Iterable[int] | None, horizon: int) -> Counts:
    if given is None:
        return log_spaced(horizon)
    given = given.tolist() if isinstance(given, np.ndarray) else given
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise MatchbanditError(f"checkpoints must be a list of rounds; got {given!r}.")
    listed = [whole_number("a checkpoint", at, least=1, most=horizon) for at in given]
    return np.unique(np.array([*listed, horizon], dtype=np.int64))
