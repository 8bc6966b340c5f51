"""All bounds that speak of an instance, at a horizon or at a risk."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial

from matchbandit.confidence import checked_delta
from matchbandit.errors import MatchbanditError, whole_number
from matchbandit.graphs import Selection
from matchbandit.problems import Bipartite, Monopartite, Problem
from matchbandit.theory.asymptotic import computable, has_many_answers
from matchbandit.theory.bound import Bound
from matchbandit.theory.lower import (
    matchings_certain,
    model_certain,
    model_regret,
    order_certain,
    players_certain,
    slots_certain,
)
from matchbandit.theory.matching_upper import (
    adaptive_regret,
    first_split_regret,
    matching_id_certain,
    simple_adaptive_regret,
    trivial_regret,
)
from matchbandit.theory.pair_upper import (
    pair_elim_certain,
    pair_elim_mono_certain,
    pair_elim_mono_regret,
    pair_elim_regret,
    pair_select_certain,
)

_SELECTIONS: tuple[Selection, ...] = ("pair", "matching")


def bounds(problem: Problem, *, horizon: int | None = None, delta: float | None = None) -> list[Bound]:
    """Every bound of the paper, and those of the product model, on this instance.

    With `horizon` bounds on the regret, with `delta` on the rounds that certainty takes; with both, both. Lower bounds
    come first. The limits of the product model are left out where there is more than one best answer, or where the
    problem is too large for them (`limits.computable`).

    >>> from matchbandit.problems import Bipartite
    >>> for bound in bounds(Bipartite([0.9, 0.3], [0.9, 0.5]), horizon=10**6):
    ...     print(bound.kind, f"{bound.value:.0f}", bound.source)
    lower 26 C log T of the product model (Graves & Lai 1997)
    lower 9 C log T of the product model (Graves & Lai 1997)
    upper 211134 Theorem 3.1, proof in Appendix B
    upper 660000 T times the worst round
    upper 240000 T times the worst round
    """
    if not isinstance(problem, Bipartite | Monopartite):
        raise MatchbanditError(f"bounds are for Bipartite and Monopartite problems; got {problem!r}.")
    if horizon is None and delta is None:
        raise MatchbanditError("give a horizon, for bounds on the regret, or a delta, for bounds on the rounds.")
    found: list[Bound] = []
    if horizon is not None:
        found += _regret(problem, checked_horizon(horizon))
    if delta is not None:
        found += _certain(problem, checked_delta(delta))
    return sorted(found, key=lambda bound: (bound.of == "rounds", bound.kind == "upper"))


def checked_horizon(horizon: int) -> int:
    """The horizon as an int whose logarithm floats can take."""
    horizon = whole_number("horizon", horizon, least=1)
    if horizon > 10**300:
        raise MatchbanditError(f"horizon must be at most 10^300; got a number of {len(str(horizon))} digits.")
    return horizon


def _regret(problem: Bipartite | Monopartite, horizon: int) -> list[Bound]:
    even = _even(problem)
    found: list[Bound] = []
    for selection in _SELECTIONS:
        if _limited(problem, selection, selection) and (selection == "pair" or even):
            found += _or_warn(partial(model_regret, problem, horizon, selection))
    if isinstance(problem, Bipartite):
        found.append(pair_elim_regret(problem, horizon))
    else:
        found.append(pair_elim_mono_regret(problem, horizon))
        if _ordered(problem):
            found += [simple_adaptive_regret(problem, horizon), adaptive_regret(problem, horizon)]
            found += first_split_regret(problem, horizon)
    found += [trivial_regret(problem, horizon, s) for s in _SELECTIONS if s == "pair" or even]
    return found


def _certain(problem: Bipartite | Monopartite, delta: float) -> list[Bound]:
    if isinstance(problem, Bipartite):
        found = [*slots_certain(problem, delta), pair_elim_certain(problem, delta)]
    else:
        found = [*players_certain(problem, delta), pair_elim_mono_certain(problem, delta)]
        if _ordered(problem):
            found += [*order_certain(problem, delta), pair_select_certain(problem, delta)]
            found += [*matchings_certain(problem, delta), *matching_id_certain(problem, delta)]
    goals: Sequence[tuple[Selection, Selection]] = [("pair", "pair"), ("pair", "matching"), ("matching", "matching")]
    for plays, seeks in goals:
        if _limited(problem, plays, seeks) and (seeks == "pair" or _even(problem)):
            found += _or_warn(partial(model_certain, problem, delta, plays=plays, seeks=seeks))
    return found


def _or_warn(limit: Callable[[], Bound]) -> list[Bound]:
    """A limit that is not found is left out, with a word; the closed forms stand without it."""
    try:
        return [limit()]
    except MatchbanditError as error:
        warnings.warn(f"a limit of the model is left out: {error}", stacklevel=4)
        return []


def _even(problem: Problem) -> bool:
    """Are there matchings of everybody?"""
    return isinstance(problem, Bipartite) or problem.graph.shape[0] % 2 == 0


def _ordered(problem: Monopartite) -> bool:
    """Are there at least two pairs of players to tell apart?"""
    return _even(problem) and len(problem.u) >= 4


def _limited(problem: Problem, plays: Selection, seeks: Selection) -> bool:
    return why_no_limit(problem, plays, seeks) is None


def why_no_limit(problem: Problem, plays: Selection, seeks: Selection) -> str | None:
    """Why the model's limit is left out for this goal, or None if it is not."""
    if has_many_answers(problem, seeks):
        return f"there is more than one best {seeks}"
    if not computable(problem, plays):
        return f"the problem is too large for limits when playing {plays}s"
    return None
