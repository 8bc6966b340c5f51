"""Several policies on the same problem."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.capabilities import Goal
from matchbandit.policies.catalogue import check_horizon
from matchbandit.policies.catalogue import policy as named
from matchbandit.problems import Family, Problem
from matchbandit.progress import bar
from matchbandit.results import Comparison, Identification, Runs
from matchbandit.simulation.identify import identify, with_delta
from matchbandit.simulation.play import Interrupted, Job, Progress, build_first, checked_call
from matchbandit.simulation.simulate import simulate


def compare(
    problem: Problem | Family,
    policies: Iterable[str | PolicySpec | type[Policy]],
    *,
    horizon: int | None = None,
    delta: float | None = None,
    runs: int = 20,
    seed: int = 0,
    max_rounds: int | None = None,
    checkpoints: Iterable[int] | None = None,
    workers: int | None = 1,
    progress: Progress = None,
) -> Comparison:
    """Play several policies on the same problem, all on the same instances, and rank them.

    With a `horizon` they are compared by regret, as `simulate` plays them; with `delta`, or policies that have theirs,
    by the rounds until they have identified the best answer, as `identify` does. Run k of one policy and run k of
    another see the same instance of a family, so that their difference is known better than either.

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
    if (horizon is None) == (delta is None) and not (horizon is None and all("delta" in s.options for s in specs)):
        got = "neither" if horizon is None else "both"
        raise MatchbanditError(f"compare takes a horizon, for regret, or a delta, for identification; got {got}.")
    if horizon is not None and max_rounds is not None:
        raise MatchbanditError("max_rounds is for identification; with a horizon, the horizon is the last round.")
    if horizon is None and checkpoints is not None:
        raise MatchbanditError("checkpoints are for regret; give a horizon, or leave them out.")
    specs = specs if delta is None else [with_delta(spec, delta) for spec in specs]
    runs = _checked_runs(problem, specs, horizon, runs, seed)
    listed = list(checkpoints) if isinstance(checkpoints, Iterable) else checkpoints

    def play(spec: PolicySpec, tell: Progress) -> Runs | Identification:
        if horizon is None:
            return identify(problem, spec, runs=runs, seed=seed, max_rounds=max_rounds, workers=workers, progress=tell)
        return simulate(
            problem, spec, horizon=horizon, runs=runs, seed=seed, checkpoints=listed, workers=workers, progress=tell
        )

    if progress is True:
        with bar("comparing") as advance:
            comparison = _play_each(specs, play, runs, lambda done, total: advance("runs", done, total))
    else:
        comparison = _play_each(specs, play, runs, progress or None)
    for message in comparison.warnings:
        warnings.warn(message, stacklevel=2)
    return comparison


def _specs(policies: Iterable[str | PolicySpec | type[Policy]]) -> list[PolicySpec]:
    """The policies to compare."""
    if isinstance(policies, str | PolicySpec | type) or not isinstance(policies, Iterable):
        raise MatchbanditError(
            f"compare takes a list of policies; got {policies!r}. For one, use simulate or identify."
        )
    specs = [spec if isinstance(spec, PolicySpec) else named(spec) for spec in policies]
    if not specs:
        raise MatchbanditError("compare takes a list of policies; got an empty one.")
    return specs


def _checked_runs(
    problem: Problem | Family, specs: Sequence[PolicySpec], horizon: int | None, runs: int, seed: int
) -> int:
    """The number of runs; a policy that does not fit, or is there twice, is refused before any is played."""
    verb: str = "simulate" if horizon is not None else "identify"
    goal: Goal = "regret" if horizon is not None else "identification"
    seen: list[tuple[Any, ...]] = []
    for spec in specs:
        _, runs, _, seed = checked_call(verb, problem, spec, runs, 1, seed, goal)
        told = None if horizon is None else check_horizon(horizon)
        built = build_first(Job(problem, spec, np.array([told or 1]), seed, "auto", told))
        known = (spec.name, dict(built.options))
        if known in seen and not spec.logged:  # what it begins with may be different
            raise MatchbanditError(f"{spec!r} is there twice. Give each policy once, or with different options.")
        seen.append(known)
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
