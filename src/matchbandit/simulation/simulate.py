"""Runs of a policy on a problem, side by side in as many processes as wanted."""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.errors import MatchbanditError, unknown, whole_number
from matchbandit.policies import PlannedPolicy, Policy, PolicySpec, RoundPolicy
from matchbandit.policies.catalogue import checked_horizon
from matchbandit.policies.catalogue import policy as policy_named
from matchbandit.problems import Family, Problem
from matchbandit.results import Runs
from matchbandit.rewards import Counts, Floats
from matchbandit.seeding import stream
from matchbandit.simulation.jump import jump
from matchbandit.simulation.loop import loop
from matchbandit.simulation.score import Score
from matchbandit.simulation.sources import DrawnRewards
from matchbandit.simulation.step import step

Engine = Literal["auto", "step", "jump", "loop"]
Progress = Callable[[int, int], None]
DEFAULT_CHECKPOINTS = 50


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a simulation; `finished` holds the runs that were finished, or None."""

    def __init__(self, finished: Runs | None) -> None:
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

    @property
    def horizon(self) -> int:
        """The last checkpoint."""
        return int(self.checkpoints[-1])

    def start(self, run: int) -> tuple[Problem, Policy]:
        """The instance and the policy of this run, before its first round."""
        problem = self.problem.draw(self.seed, run) if isinstance(self.problem, Family) else self.problem
        built = self.spec.build(problem.graph, rewards=problem.rewards, horizon=self.horizon, seed=self.seed, run=run)
        return problem, built

    def play(self, run: int) -> tuple[Policy, Score]:
        """Play one run to the end."""
        problem, played = self.start(run)
        source = DrawnRewards(problem, stream(self.seed, "rewards", run))
        score = Score(problem, played.selection, self.checkpoints)
        if self.engine == "step":
            step(played, source, score)
        elif isinstance(played, PlannedPolicy):
            jump(played, source, score)
        elif isinstance(played, RoundPolicy):
            loop(played, source, score)
        return played, score


def simulate(
    problem: Problem | Family,
    policy: PolicySpec | str,
    *,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    engine: Engine = "auto",
    checkpoints: ArrayLike | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Runs:
    """Play a policy on a problem, `runs` times, each with random streams of its own.

    A `Family` in place of a problem gives every run an instance of its own. The regret is read at the checkpoints:
    by default 50, log-spaced; or a list of rounds of yours; the horizon is always the last. Engines: "step" plays
    round by round; "jump" leaps from decision to decision (planned policies); "loop" is compiled (round policies);
    "auto" picks the faster one. `workers` are processes; the numbers do not depend on them. `progress` is called with
    the number of runs done and their total.

    >>> from matchbandit.problems import Bipartite
    >>> done = simulate(Bipartite([.9, .3], [.8, .4]), "pair-elim", horizon=10**12, runs=3, seed=7)
    >>> done.regret.shape[0], bool((done.plays.sum(axis=(1, 2)) == 10**12).all())
    (3, True)
    """
    runs = whole_number("runs", runs, least=1)
    workers = whole_number("workers", workers, least=1)
    seed = whole_number("seed", seed, least=0)
    if not isinstance(problem, Problem | Family):
        raise MatchbanditError(f"simulate needs a problem or a family of them; got {problem!r}.")
    spec = policy if isinstance(policy, PolicySpec) else policy_named(policy)
    job = Job(problem, spec, _checkpoints(checkpoints, checked_horizon(horizon)), seed, engine)
    _, first = job.start(0)  # a misfit is reported before any work is done
    job = replace(job, engine=_engine(engine, first))
    about = {
        "problem": problem.describe(),
        "graph": problem.graph.describe(),
        "policy": spec.name,
        "options": dict(first.options),
        "selection": first.selection,
        "horizon": job.horizon,
        "runs": runs,
        "seed": seed,
        "engine": job.engine,
    }
    finished: dict[int, tuple[Floats, Counts]] = {}
    try:
        with closing(_play_all(job, runs, min(workers, runs))) as played:
            for run, regret, plays in played:
                finished[run] = regret, plays
                if progress:
                    progress(len(finished), runs)
    except KeyboardInterrupt:
        raise Interrupted(_collected(about, job.checkpoints, finished) if finished else None) from None
    return _collected(about, job.checkpoints, finished)


def _collected(about: dict[str, Any], checkpoints: Counts, finished: dict[int, tuple[Floats, Counts]]) -> Runs:
    """The finished runs in the order of their numbers."""
    numbers = sorted(finished)
    if len(numbers) < about["runs"]:
        about = {**about, "runs": len(numbers), "interrupted_of": about["runs"], "run_numbers": numbers}
    regret, plays = zip(*(finished[run] for run in numbers), strict=True)
    return Runs(about, checkpoints, np.array(regret), np.array(plays))


def log_spaced(horizon: int, n: int = DEFAULT_CHECKPOINTS) -> Counts:
    """At most n distinct rounds from 1 to the horizon, equally spaced in the logarithm.

    >>> log_spaced(1000, 4).tolist()
    [1, 10, 100, 1000]
    """
    rounds = np.unique(np.rint(np.geomspace(1, horizon, n)).astype(np.int64))
    rounds[-1] = horizon
    return rounds


def _checkpoints(given: ArrayLike | None, horizon: int) -> Counts:
    if given is None:
        return log_spaced(horizon)
    listed = [whole_number("a checkpoint", r, least=1, most=horizon) for r in np.ravel(np.asarray(given)).tolist()]
    return np.unique(np.array([*listed, horizon], dtype=np.int64))


def _engine(wanted: Engine, built: Policy) -> Engine:
    """The engine that plays this policy, or why it cannot."""
    if wanted not in get_args(Engine):
        raise unknown("engine", wanted, get_args(Engine))
    fast: Engine = "step"
    if isinstance(built, PlannedPolicy | RoundPolicy):
        fast = "jump" if isinstance(built, PlannedPolicy) else "loop"
    if wanted in ("auto", fast, "step"):
        return fast if wanted == "auto" else wanted
    why = "decides every round and has nothing to leap over" if wanted == "jump" else "has no compiled functions"
    raise MatchbanditError(f"{built.name} cannot {wanted}: it {why}. Use engine='auto', '{fast}' or 'step'.")


def _play_all(job: Job, runs: int, workers: int) -> Generator[tuple[int, Floats, Counts], None, None]:
    """Run number, regret and plays of every run, in the order in which they finish."""
    if workers == 1:
        for run in range(runs):
            yield from _play_some(job, [run])
        return
    # Where it exists, fork spares a script its `if __name__ == "__main__"`; nothing here holds threads or locks.
    method = "fork" if sys.platform == "linux" else "spawn"
    chunks = np.array_split(np.arange(runs), min(runs, 64 * workers))
    before = set(multiprocessing.active_children())
    # Ctrl-C reaches the workers too; it is this process that answers it.
    context = multiprocessing.get_context(method)
    pool = ProcessPoolExecutor(workers, context, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN))
    try:
        open_parts = {pool.submit(_play_some, job, chunk.tolist()) for chunk in chunks}
        while open_parts:
            finished, open_parts = wait(open_parts, return_when=FIRST_COMPLETED)
            for part in finished:
                yield from part.result()
    except BaseException:
        for worker in set(multiprocessing.active_children()) - before:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _play_some(job: Job, runs: Sequence[int]) -> list[tuple[int, Floats, Counts]]:
    played: list[tuple[int, Floats, Counts]] = []
    for run in runs:
        _, score = job.play(run)
        played.append((run, score.regret, score.plays))
    return played
