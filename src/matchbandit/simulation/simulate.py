"""Simulate a policy on a problem and measure its regret."""

from collections.abc import Iterable, Sized
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from matchbandit.errors import MatchbanditError, check_int
from matchbandit.graphs import Edges
from matchbandit.policies import Policy
from matchbandit.policies.catalogue import check_horizon
from matchbandit.policies.explanation import Elimination
from matchbandit.problems import Family, Problem
from matchbandit.results import RunInfo, Runs, Split
from matchbandit.rewards import Counts, Floats
from matchbandit.simulation.engines import Engine, Stop, choose_engine, stop_condition
from matchbandit.simulation.limits import refuse_too_large
from matchbandit.simulation.play import (
    AnyPolicy,
    Job,
    Progress,
    Start,
    build_first,
    check_call,
    compile_first,
    count_single_rounds,
    describe_part,
    play_all,
    run_range,
)

DEFAULT_CHECKPOINTS = 50


def simulate(
    problem: Problem | Family,
    policy: AnyPolicy,
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
    """Play a policy on a problem, `runs` times, each with its own random streams, and measure the regret.

    Parameters
    ----------
    problem : Problem or Family
        A family gives every run its own instance.
    policy : PolicySpec, str or type[Policy]
        `policy(name, option=…)`, the name alone, or a class.
    horizon : int
        Rounds in each run.
    runs : int, default 1
        How many.
    first_run : int, default 0
        The number of the first run. The streams of a run depend on its number only: ten runs from 10 on are the second
        half of twenty, and `concat` joins them.
    seed : int, default 0
        The root of all randomness.
    engine : {"auto", "step", "jump", "loop"}
        "step" plays round by round; "jump" leaps from decision to decision (planned policies); "loop" is compiled
        (round policies); "auto" picks the fastest.
    checkpoints : iterable of int, optional
        The rounds after which the regret is measured; by default 50, log-spaced. The horizon is always the last.
    stop : "first-split", optional
        End a run as soon as a cluster of the policy splits: `ended` says when, and later checkpoints repeat the regret
        of that moment.
    workers : int or None, default 1
        Processes; None for one on each core. The numbers do not depend on them.
    progress : bool or callable, optional
        True shows a bar; a function is called with the number of runs done and their total.

    Returns
    -------
    Runs
        Regret at the checkpoints, plays of each pair, and what was played.

    Raises
    ------
    Interrupted
        On Ctrl-C; its `finished` holds the runs that were finished.

    Examples
    --------
    >>> from matchbandit.problems import Bipartite
    >>> done = simulate(Bipartite([.9, .3], [.8, .4]), "pair-elim", horizon=10**12, runs=3, seed=7)
    >>> done.regret.shape[0], bool((done.plays.sum(axis=(1, 2)) == 10**12).all())
    (3, True)
    """
    spec, runs, workers, seed = check_call("simulate", problem, policy, runs, workers, seed, "regret")
    horizon, numbers = check_horizon(horizon), run_range(first_run, runs)
    if isinstance(checkpoints, Sized):
        refuse_too_large(runs, numbers_per_run=len(checkpoints))
    job = Job(problem, spec, _checkpoints(checkpoints, horizon), seed, engine, horizon, stop)
    start = build_first(job, numbers.start)
    stop_condition(stop, start.policy)
    job = replace(job, engine=choose_engine(engine, start.policy))
    refuse_too_large(
        runs,
        numbers_per_run=len(job.checkpoints) + numbers_of_plays(start.policy, horizon),
        rounds_per_run=count_single_rounds(problem, spec.kind, horizon, leaps=job.engine == "jump"),
    )
    about = job.describe(start.policy, numbers, horizon=horizon, stop=stop)
    if min(runs, workers or runs) > 1:
        compile_first(job)
    assemble = partial(_assemble, about, job.checkpoints)
    return play_all(partial(_simulate_run, job), numbers, workers, progress, assemble, start)


def numbers_of_plays(policy: Policy, horizon: int) -> int:
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


def _simulate_run(job: Job, run: int, start: Start | None = None) -> _Outcome:
    policy, score = job.play(run, start=start)
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
        list(sums) if sparse else np.array(sums),
        np.array(ended),
        list(splits),
        list(eliminations),
    )


def log_spaced(horizon: int, n: int = DEFAULT_CHECKPOINTS) -> Counts:
    """At most n distinct rounds from 1 to the horizon, equally spaced in the logarithm.

    >>> log_spaced(1000, 4).tolist()
    [1, 10, 100, 1000]
    """
    rounds = np.unique(np.rint(np.geomspace(1, horizon, n)).astype(np.int64))
    rounds[-1] = horizon
    return rounds


def _checkpoints(rounds: Iterable[int] | None, horizon: int) -> Counts:
    if rounds is None:
        return log_spaced(horizon)
    rounds = rounds.tolist() if isinstance(rounds, np.ndarray) else rounds
    if isinstance(rounds, str) or not isinstance(rounds, Iterable):
        raise MatchbanditError(f"checkpoints must be a list of rounds; got {rounds!r}.")
    checked = [check_int("a checkpoint", at, minimum=1, maximum=horizon) for at in rounds]
    return np.unique(np.array([*checked, horizon], dtype=np.int64))
