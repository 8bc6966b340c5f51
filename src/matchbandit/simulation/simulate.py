"""Runs of a policy on a problem, and their regret."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from matchbandit.errors import MatchbanditError, check_int
from matchbandit.graphs import Edges
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.catalogue import check_horizon
from matchbandit.policies.explanation import Elimination
from matchbandit.problems import Family, Problem
from matchbandit.results import RunInfo, Runs, Split
from matchbandit.rewards import Counts, Floats
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
from matchbandit.simulation.stops import Stop, stopping

DEFAULT_CHECKPOINTS = 50


def simulate(
    problem: Problem | Family,
    policy: PolicySpec | str,
    *,
    horizon: int,
    runs: int = 1,
    first_run: int = 0,
    seed: int = 0,
    engine: Engine = "auto",
    checkpoints: Iterable[int] | None = None,
    stop: Stop | None = None,
    workers: int | None = 1,
    progress: Progress = None,
) -> Runs:
    """Play a policy on a problem, `runs` times, each with random streams of its own.

    A `Family` in place of a problem gives every run an instance of its own. The regret is read at the checkpoints:
    by default 50, log-spaced; or a list of rounds of yours; the horizon is always the last. Engines: "step" plays
    round by round; "jump" leaps from decision to decision (planned policies); "loop" is compiled (round policies);
    "auto" picks the faster one. `stop="first-split"` ends a run as soon as a cluster of the policy splits: `ended` says
    when, and later checkpoints repeat the regret of that moment. `workers` are processes, None one for each core; the
    numbers do not depend on them. `first_run` is the number of the first run: the streams of a run hang on its number
    only, so that ten runs from 10 on are the second half of twenty; `concat` puts such pieces together.
    `progress=True` shows a bar; a function is called with the number of runs done and their total.

    >>> from matchbandit.problems import Bipartite
    >>> done = simulate(Bipartite([.9, .3], [.8, .4]), "pair-elim", horizon=10**12, runs=3, seed=7)
    >>> done.regret.shape[0], bool((done.plays.sum(axis=(1, 2)) == 10**12).all())
    (3, True)
    """
    spec, runs, workers, seed = checked_call("simulate", problem, policy, runs, workers, seed, "regret")
    horizon, numbers = check_horizon(horizon), run_range(first_run, runs)
    job = Job(problem, spec, _checkpoints(checkpoints, horizon), seed, engine, horizon, stop)
    first = build_first(job)
    stopping(stop, first)
    job = replace(job, engine=engine_for(engine, first))
    refuse_too_large(runs, len(job.checkpoints) + _numbers_of_plays(first, horizon))
    about = job.describe(first, numbers, horizon=horizon, stop=stop)
    compile_first(job, min(runs, workers or runs))
    return play_all(partial(_simulate_run, job), numbers, workers, progress, partial(_assemble, about, job.checkpoints))


def _numbers_of_plays(policy: Policy, horizon: int) -> int:
    """How many numbers the plays of a run may take: two for each pair, or three for each that is played."""
    n_pairs = policy.graph.n_pairs
    return 2 * n_pairs if policy.graph.has_few_pairs else 3 * min(n_pairs, horizon * policy.round_size)


class _Outcome(NamedTuple):
    regret: Floats
    plays: Counts | tuple[Edges, Counts]
    sums: Floats
    ended: int
    splits: list[Split]
    eliminations: list[Elimination]


def _simulate_run(job: Job, run: int) -> _Outcome:
    """Play a run; what came of it."""
    policy, score = job.play(run)
    plays = score.plays if score.lists_all else score.played
    return _Outcome(score.regret, plays, score.sums, score.round, policy.splits, policy.eliminations)


def _assemble(about: RunInfo, checkpoints: Counts, finished: dict[int, _Outcome]) -> Runs:
    """The finished runs in the order of their numbers."""
    numbers = sorted(finished)
    regret, plays, sums, ended, splits, eliminations = zip(*(finished[run] for run in numbers), strict=True)
    sparse = isinstance(plays[0], tuple)
    return Runs(
        describe_part(about, numbers),
        checkpoints,
        np.array(regret),
        list(plays) if sparse else np.array(plays),
        np.array(ended),
        list(splits),
        list(eliminations),
        list(sums) if sparse else np.array(sums),
    )


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
    listed = [check_int("a checkpoint", at, minimum=1, maximum=horizon) for at in given]
    return np.unique(np.array([*listed, horizon], dtype=np.int64))
