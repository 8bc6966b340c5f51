"""Compare several policies on the same problem."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError, warn_user
from matchbandit.policies import PolicySpec
from matchbandit.policies.capabilities import Goal
from matchbandit.policies.catalogue import check_horizon
from matchbandit.policies.catalogue import policy as named
from matchbandit.problems import Family, Problem
from matchbandit.progress import bar
from matchbandit.results import Comparison, Identification, Runs
from matchbandit.simulation.engines import choose_engine
from matchbandit.simulation.identify import check_budget, identify, with_precision
from matchbandit.simulation.limits import refuse_too_large
from matchbandit.simulation.parallel import recorded_warnings
from matchbandit.simulation.play import (
    AnyPolicy,
    Interrupted,
    Job,
    Progress,
    build_first,
    check_call,
    compile_first,
)
from matchbandit.simulation.simulate import numbers_of_plays, simulate


def compare(
    problem: Problem | Family,
    policies: Iterable[AnyPolicy],
    *,
    horizon: int | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    budget: int | None = None,
    runs: int = 20,
    seed: int = 0,
    max_rounds: int | None = None,
    checkpoints: Iterable[int] | None = None,
    workers: int | None = 1,
    progress: Progress = None,
) -> Comparison:
    """Play several policies on the same problem, all on the same instances, and rank them.

    Run k of one policy and run k of another see the same instance of a family, so that their difference is known better
    than either.

    Parameters
    ----------
    problem : Problem or Family
        The problem that all of them play.
    policies : iterable of PolicySpec, str or type[Policy]
        At least one; none twice.
    horizon : int, optional
        Compare the regret after this many rounds, as `simulate` plays them.
    delta : float, optional
        Compare the rounds until they have identified the best answer with this error probability, as `identify` does.
        It may be left out if every policy has its own.
    epsilon : float, optional
        With delta: the share of the optimum that an answer may lack, as in `identify`.
    budget : int, optional
        Compare the share of wrong answers of policies with a fixed budget, which have this many rounds.
    runs : int, default 20
        Of each policy.
    seed : int, default 0
        The root of all randomness.
    max_rounds : int, optional
        For identification: a run without an answer ends here.
    checkpoints : iterable of int, optional
        For regret: the rounds after which it is measured.
    workers : int or None, default 1
        Processes; None for one on each core.
    progress : bool or callable, optional
        True shows a bar; a function is called with the number of runs done and their total.

    Returns
    -------
    Comparison
        The results of each policy, and their ranking.

    Raises
    ------
    Interrupted
        On Ctrl-C; its `finished` holds what was finished.

    Examples
    --------
    >>> import matchbandit as mb
    >>> slots = mb.Bipartite([.9, .3], [.8, .4])
    >>> ranked = compare(slots, ["uniform", mb.policy("pair-elim", growth=1.05)], horizon=10_000, runs=5, seed=1)
    >>> [standing.label for standing in ranked.rankings[0]]
    ['pair-elim', 'uniform']
    """
    if not isinstance(problem, Problem | Family):
        many = isinstance(problem, list | tuple) and all(isinstance(one, Problem | Family) for one in problem)
        got = f"{len(problem)} of them" if many else repr(problem)
        hint = " For several, make a matchbandit.Study with problem=[…]." if many else ""
        raise MatchbanditError(f"compare takes one problem, or a family of them; got {got}.{hint}")
    specs = _specs(policies)
    ends = [name for name, end in {"horizon": horizon, "delta": delta, "budget": budget}.items() if end is not None]
    if len(ends) != 1 and (ends or not all("delta" in spec.options for spec in specs)):
        raise MatchbanditError(
            f"compare takes a horizon, for regret, or a delta or a budget, for identification; "
            f"got {' and '.join(ends) or 'none of them'}."
        )
    if horizon is not None and max_rounds is not None:
        raise MatchbanditError("max_rounds is for identification; with a horizon, the horizon is the last round.")
    if horizon is not None and epsilon is not None:
        raise MatchbanditError("epsilon is for identification; give delta in place of horizon, or leave epsilon out.")
    if horizon is None and checkpoints is not None:
        raise MatchbanditError("checkpoints are for regret; give a horizon, or leave them out.")
    known_budget = budget
    for spec in specs:
        known_budget = check_budget(spec, budget, max_rounds=max_rounds)
    specs = [with_precision(spec, delta, epsilon) for spec in specs]
    runs = _check_policies(problem, specs, horizon, known_budget, runs, seed)
    rounds = list(checkpoints) if isinstance(checkpoints, Iterable) else checkpoints

    def play(spec: PolicySpec, tell: Progress) -> Runs | Identification:
        if horizon is None:
            return identify(
                problem,
                spec,
                budget=budget,
                runs=runs,
                seed=seed,
                max_rounds=max_rounds,
                workers=workers,
                progress=tell,
            )
        return simulate(
            problem, spec, horizon=horizon, runs=runs, seed=seed, checkpoints=rounds, workers=workers, progress=tell
        )

    if progress is True:
        with bar("comparing") as advance:
            comparison = _play_each(specs, play, runs, lambda done, total: advance("runs", done, total))
    else:
        comparison = _play_each(specs, play, runs, progress or None)
    for message in comparison.warnings:
        warn_user(message)
    return comparison


def _specs(policies: Iterable[AnyPolicy]) -> list[PolicySpec]:
    """The policies to compare."""
    if isinstance(policies, str | PolicySpec | type) or not isinstance(policies, Iterable):
        raise MatchbanditError(
            f"compare takes a list of policies; got {policies!r}. For one, use simulate or identify."
        )
    specs = [spec if isinstance(spec, PolicySpec) else named(spec) for spec in policies]
    if not specs:
        raise MatchbanditError("compare takes a list of policies; got an empty one.")
    return specs


def _check_policies(
    problem: Problem | Family,
    specs: Sequence[PolicySpec],
    horizon: int | None,
    budget: int | None,
    runs: int,
    seed: int,
) -> int:
    """Refuse a policy that cannot be played, or is there twice, and compile the others; return the number of runs."""
    verb: str = "simulate" if horizon is not None else "identify"
    goal: Goal = "regret" if horizon is not None else "identification"
    jobs: list[Job] = []
    seen: list[tuple[Any, ...]] = []
    results = 0
    for spec in specs:
        _, runs, _, seed = check_call(verb, problem, spec, runs, 1, seed, goal)
        known_horizon = budget if horizon is None else check_horizon(horizon)
        job = Job(problem, spec, np.array([known_horizon or 1]), seed, "auto", known_horizon)
        first = build_first(job).policy
        key = (spec.name, dict(first.options))
        if key in seen and not spec.logged:  # past results may differ
            raise MatchbanditError(f"{spec!r} is there twice. Give each policy once, or with different options.")
        seen.append(key)
        jobs.append(replace(job, engine=choose_engine("auto", first)))
        results += 2 * first.graph.matching_size if horizon is None else numbers_of_plays(first, horizon)
    refuse_too_large(runs, numbers_per_run=results / len(specs), points=len(specs))
    for job in jobs:  # before any is played, so that the time left does not include it
        with recorded_warnings():
            compile_first(job)
    return runs


def _play_each(
    specs: Sequence[PolicySpec],
    play: Callable[[PolicySpec, Progress], Runs | Identification],
    runs: int,
    progress: Callable[[int, int], None] | None,
) -> Comparison:
    """Play one policy after the other; Ctrl-C raises `Interrupted` with what was finished."""
    results: list[Any] = []
    total = runs * len(specs)
    for spec in specs:
        before = runs * len(results)

        def tell(done: int, _: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total)

        try:
            results.append(play(spec, tell))
        except Interrupted as stopped:
            results += [] if stopped.finished is None else [stopped.finished]
            finished = Comparison(tuple(results)) if results else None
            raise Interrupted(finished, sum(map(len, results)), total) from None
    return Comparison(tuple(results))
