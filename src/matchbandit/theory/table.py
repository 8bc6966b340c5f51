"""All bounds on an instance, at a horizon or at an error probability δ, and the bounds that were left out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, NamedTuple

from matchbandit.confidence import check_delta
from matchbandit.errors import MatchbanditError, check_int, warn_user
from matchbandit.graphs import Selection
from matchbandit.problems import Bipartite, Monopartite, Problem
from matchbandit.solvers.characteristic import is_computable
from matchbandit.theory.asymptotic import has_many_answers
from matchbandit.theory.bound import Bound, Bounds
from matchbandit.theory.certified_upper import certify_regret, certify_rounds
from matchbandit.theory.lower import (
    BINDS,
    bipartite_pair_rounds,
    matchings_rounds,
    model_name,
    model_regret,
    model_rounds,
    monopartite_pair_rounds,
    order_rounds,
)
from matchbandit.theory.matching_upper import (
    adaptive_regret,
    first_split_regret,
    matching_id_rounds,
    simple_adaptive_regret,
)
from matchbandit.theory.pair_upper import (
    pair_elim_mono_regret,
    pair_elim_mono_rounds,
    pair_elim_regret,
    pair_elim_rounds,
    pair_select_rounds,
)
from matchbandit.theory.quantities import Quantity, check_products, quantities, worst_round_regret

_SELECTIONS: tuple[Selection, ...] = ("pair", "matching")
_GOALS: tuple[tuple[Selection, Selection], ...] = (("pair", "pair"), ("pair", "matching"), ("matching", "matching"))


class LeftOut(NamedTuple):
    """A bound that is not defined or not computed on this instance, and why."""

    name: str
    why: str


@dataclass(frozen=True, repr=False)
class Report:
    """The theory of an instance: quantities, bounds, and the bounds that were left out."""

    problem: Problem
    horizon: int | None
    delta: float | None
    quantities: list[Quantity]
    bounds: Bounds
    left_out: list[LeftOut]

    @property
    def groups(self) -> dict[str, Bounds]:
        """The bounds by what they are on, in words."""
        groups: dict[str, Bounds] = {}
        for bound in self.bounds:
            groups.setdefault(bound.on, Bounds()).append(bound)
        return groups

    @property
    def binds(self) -> dict[str, str]:
        """The classes of policies that lower bounds bind here, each with its meaning."""
        return {
            about: meaning for about, meaning in BINDS.items() if any(bound.about == about for bound in self.bounds)
        }

    @property
    def not_given(self) -> list[str]:
        """The bounds that were left out, one sentence per reason."""
        reasons = dict.fromkeys(left.why for left in self.left_out)
        return [
            f"left out, as {why}: {', '.join(left.name for left in self.left_out if left.why == why)}."
            for why in reasons
        ]

    def describe(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "problem": self.problem.describe(),
            "horizon": self.horizon,
            "delta": self.delta,
            "quantities": [quantity.describe() for quantity in self.quantities],
            "bounds": [bound.describe() for bound in self.bounds],
            "left_out": [left._asdict() for left in self.left_out],
        }

    def __repr__(self) -> str:
        """The bounds in tables, and what was left out."""
        tables = [f"{heading}\n{group!r}\n" for heading, group in self.groups.items()]
        return "\n".join([*tables, *self.not_given])

    def _repr_html_(self) -> str:
        tables = [f"<h4>{escape(heading)}</h4>{group._repr_html_()}" for heading, group in self.groups.items()]
        return "".join([*tables, *(f"<p>{escape(line)}</p>" for line in self.not_given)])


def report(problem: Problem, *, horizon: int | None = None, delta: float | None = None) -> Report:
    """The paper's quantities and `bounds`, grouped by what they are on, and what was left out and why.

    Parameters
    ----------
    problem : Bipartite or Monopartite
        Means that are products of strengths.
    horizon : int, optional
        For bounds on the regret.
    delta : float, optional
        For bounds on the rounds of identification. At least one of the two is needed.

    Returns
    -------
    Report
        Prints as tables; `describe()` gives it as JSON data.

    Examples
    --------
    >>> summary = report(Monopartite([0.9, 0.5, 0.5]), horizon=10**6)
    >>> [bound.name for bound in summary.bounds], summary.left_out[0].why
    (['pair-elim-mono-regret', 'rank1-certify-regret-pair', 'worst-round-pair'], 'there is more than one best pair')
    """
    all_bounds, left_out = _collect(problem, horizon, delta)
    return Report(problem, horizon, delta, quantities(problem), all_bounds, left_out)


def bounds(problem: Problem, *, horizon: int | None = None, delta: float | None = None) -> Bounds:
    """Every bound of the paper, the asymptotic lower bounds of the product model, and those of rank1-certify.

    Parameters
    ----------
    problem : Bipartite or Monopartite
        Means that are products of strengths.
    horizon : int, optional
        For bounds on the regret.
    delta : float, optional
        For bounds on the rounds of identification. At least one of the two is needed.

    Returns
    -------
    Bounds
        A list of `Bound`, lower bounds first, which prints as a table. Bounds of the product model are left out where
        there is more than one best answer, or where the problem is too large; `report` says which.

    Examples
    --------
    >>> for bound in bounds(Bipartite([0.9, 0.3], [0.9, 0.5]), horizon=10**6):
    ...     print(bound.kind, f"{bound.value:.0f}", bound.short_source, bound.vacuous)
    lower 26 C log T of the product model False
    lower 9 C log T of the product model False
    upper 211134 Theorem 3.1 False
    upper 59002858 Theorem 6 of docs/certified.md True
    upper 660000 T times the worst round True
    upper 21455590 Theorem 6 of docs/certified.md True
    upper 240000 T times the worst round True
    """
    return _collect(problem, horizon, delta)[0]


def _collect(problem: Problem, horizon: int | None, delta: float | None) -> tuple[Bounds, list[LeftOut]]:
    problem = check_products("bounds", problem)
    if horizon is None and delta is None:
        raise MatchbanditError("give a horizon, for bounds on the regret, or a delta, for bounds on the rounds.")
    entries: list[Bound | LeftOut] = []
    if horizon is not None:
        entries += _regret(problem, check_horizon(horizon))
    if delta is not None:
        entries += _rounds(problem, check_delta(delta))
    all_bounds = [entry for entry in entries if isinstance(entry, Bound)]
    left_out = [entry for entry in entries if isinstance(entry, LeftOut)]
    return Bounds(
        sorted(all_bounds, key=lambda bound: (bound.task == "identification", bound.kind == "upper"))
    ), left_out


def check_horizon(horizon: int) -> int:
    """Validate a horizon, whose logarithm must fit a float."""
    horizon = check_int("horizon", horizon, minimum=1)
    if horizon > 10**300:
        raise MatchbanditError(f"horizon must be at most 10^300; got a number of {len(str(horizon))} digits.")
    return horizon


def _regret(problem: Bipartite | Monopartite, horizon: int) -> Iterator[Bound | LeftOut]:
    for selection in _SELECTIONS:
        limit = partial(model_regret, problem, horizon, selection)
        yield _model(f"model-{selection}-regret", problem, selection, selection, limit)
    if isinstance(problem, Bipartite):
        yield pair_elim_regret(problem, horizon)
    else:
        yield pair_elim_mono_regret(problem, horizon)
        why = _no_order(problem)
        if why is None:
            yield from (simple_adaptive_regret(problem, horizon), adaptive_regret(problem, horizon))
            yield from first_split_regret(problem, horizon)
        else:
            yield LeftOut("simple-adaptive-matching-regret", why)
            yield LeftOut("adaptive-matching-regret", why)
    for selection in _SELECTIONS:
        if selection == "pair" or not _is_odd(problem):
            yield from (certify_regret(problem, horizon, selection), trivial_regret(problem, horizon, selection))
        else:
            yield LeftOut("rank1-certify-regret-matching", _ODD)


def _rounds(problem: Bipartite | Monopartite, delta: float) -> Iterator[Bound | LeftOut]:
    if isinstance(problem, Bipartite):
        yield from (*bipartite_pair_rounds(problem, delta), pair_elim_rounds(problem, delta))
    else:
        yield from (*monopartite_pair_rounds(problem, delta), pair_elim_mono_rounds(problem, delta))
        why = _no_order(problem)
        if why is None:
            yield from (*order_rounds(problem, delta), pair_select_rounds(problem, delta))
            yield from (*matchings_rounds(problem, delta), *matching_id_rounds(problem, delta))
        else:
            yield from (
                LeftOut(name, why) for name in ("order", "pair-select-rounds", "matchings", "matching-id-rounds")
            )
    yield from (certify_rounds(problem, delta, selection) for selection in _SELECTIONS)
    for plays, seeks in _GOALS:
        time = partial(model_rounds, problem, delta, plays=plays, seeks=seeks)
        yield _model(model_name(plays, seeks), problem, plays, seeks, time)


def _model(
    name: str, problem: Problem, plays: Selection, seeks: Selection, bound: Callable[[], Bound]
) -> Bound | LeftOut:
    """A bound of the product model; where its program is not solved it is left out, with a warning."""
    if seeks == "matching" and _is_odd(problem):
        return LeftOut(name, _ODD)
    if has_many_answers(problem, seeks):
        return LeftOut(name, f"there is more than one best {seeks}")
    if not is_computable(problem.graph, plays):
        return LeftOut(name, f"the problem is too large for it when playing {plays}s")
    try:
        return bound()
    except MatchbanditError as error:
        warn_user(f"the bound {name} is left out: {error}")
        return LeftOut(name, str(error).rstrip("."))


def trivial_regret(problem: Bipartite | Monopartite, horizon: int, selection: Selection) -> Bound:
    """T times the loss of the worst round: no policy can exceed it. An upper bound above it is vacuous."""
    value = horizon * worst_round_regret(problem, selection)
    return Bound(
        name=f"worst-round-{selection}",
        value=value,
        kind="upper",
        task="regret",
        plays=selection,
        seeks=selection,
        about="every policy",
        source="T times the worst round",
        origin="package",
        trivial_value=value,
    )


_ODD = "an odd number of players has no matching of all"


def _is_odd(problem: Problem) -> bool:
    return isinstance(problem, Monopartite) and len(problem.u) % 2 == 1


def _no_order(problem: Monopartite) -> str | None:
    """Why there are no two pairs of players to order, or None if there are."""
    return _ODD if _is_odd(problem) else "two players have only one matching" if len(problem.u) < 4 else None
