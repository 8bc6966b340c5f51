"""Decide a proposal: a policy, applied to the state of a league under its rules.

`prepare` reads what is needed in a transaction; `decide` may be slow, needs no transaction and writes nothing.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, select

from matchbandit.errors import MatchbanditError
from matchbandit.formatting import plural
from matchbandit.leagues import library, schema
from matchbandit.leagues.constraints import Constraints, assign_bye, collect_constraints
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.items import Name
from matchbandit.leagues.model import LEVEL, fit_posterior
from matchbandit.leagues.state import CachedLeague, Counts, LeagueState

if TYPE_CHECKING:
    from matchbandit.policies.counts_policy import CountsPolicy
    from matchbandit.policies.decision import Decision
    from matchbandit.strengths import Posterior

Ids = tuple[int, int]
PRODUCTS_ONLY = "rank1-thompson"
"""Its decisions depend on results alone, and it fits the strengths itself."""
SLOW_PAIRS = 5_000
"""A decision that weighs more pairs than this takes longer than about 50 ms; each repetition counts anew."""
MAX_FEW_RULES = 8
"""With at most so many forbidden partners each, near neighbours in the order of strengths are matched at once."""
_pair, _proposal = schema.proposal_pair, schema.proposal
_OPEN = select(_proposal.c.number).where(_proposal.c.league_id == bindparam("of_league"), _proposal.c.n_waiting > 0)
_WAITING = select(_pair.c.a, _pair.c.b).where(
    _pair.c.league_id == bindparam("of_league"), _pair.c.outcome_version.is_(None), _pair.c.number.in_(_OPEN)
)


@dataclass(frozen=True)
class Inputs:
    """Everything that a decision depends on."""

    state: LeagueState
    constraints: Constraints
    waiting: Counts
    """Pairs of ids whose outcome is missing, once per open proposal."""

    @property
    def number(self) -> int:
        """The number of the proposal."""
        return self.state.league.n_proposals + 1


class ProposedPair(NamedTuple):
    """A pair of a decision; see `records.Pair`."""

    ids: Ids
    fixed: bool
    in_best_guess: bool
    expected: float
    low: float | None
    high: float | None
    value: float | None
    propensity: float | None


@dataclass(frozen=True)
class Draft:
    """A decided proposal that is not written yet."""

    number: int
    based_on: int
    pairs: list[ProposedPair]
    byes: list[int]
    available: list[int] | None
    n_results: int
    expected: float
    low: float
    high: float
    best: float
    exact: bool
    bound: float | None
    notes: list[list[Any]]
    """Codes and ids, which `explain.note` turns into sentences."""


def prepare(
    connection: Connection,
    state: LeagueState,
    *,
    available: Iterable[Name] | None = None,
    fixed: Iterable[Any] | None = None,
) -> Inputs:
    """Check the request, and read what the decision needs."""
    constraints = collect_constraints(connection, state, available=available, fixed=fixed)
    waiting: Sequence[Any] = ()
    if state.league.settings["policy"] != PRODUCTS_ONLY:
        waiting = connection.execute(_WAITING, {"of_league": state.league.id}).all()
    return Inputs(state, constraints, np.array([tuple(row) for row in waiting], dtype=np.int64).reshape(-1, 2))


def is_slow(inputs: Inputs) -> bool:
    """Does the decision take so long that a worker process should make it?"""
    constraints, n_items = inputs.constraints, len(inputs.constraints.present)
    n_draws = inputs.state.league.settings["record_propensity"]
    degrees = np.bincount(constraints.forbidden.ravel())
    if inputs.state.league.any_size and degrees.max(initial=0) <= MAX_FEW_RULES:
        return bool(n_draws * n_items > SLOW_PAIRS)
    columns = int(inputs.state.sides[constraints.present - 1].sum())
    n_pairs = (n_items - columns) * columns if columns else n_items * (n_items - 1) // 2
    return bool((1 + n_draws) * n_pairs > SLOW_PAIRS)


def too_slow(inputs: Inputs) -> str:
    """What to say of a decision that takes too long."""
    settings, fix = inputs.state.league.settings, "Remove exclusions, or ask with fewer items available."
    if not inputs.state.league.any_size:
        fix = f"Use {PRODUCTS_ONLY}, which decides in milliseconds, or ask with fewer items available."
    elif settings["record_propensity"]:
        fix = "Lower record_propensity: each decision is repeated that often."
    n_items = len(inputs.constraints.present)
    return f"{settings['policy']} takes longer than the time limit to pair {plural(n_items, 'item')}. {fix}"


def decide(inputs: Inputs, cached: CachedLeague | None = None) -> Draft:
    """Decide the proposal; the caller holds `Store.deciding`."""
    try:
        return _decide(replace(inputs, constraints=assign_bye(inputs.constraints)), cached or CachedLeague())
    except LeagueError:
        raise
    except MatchbanditError as error:
        raise LeagueError("not-supported", str(error)) from error


def _decide(inputs: Inputs, cached: CachedLeague) -> Draft:
    state, constraints = inputs.state, inputs.constraints
    chosen, decision, propensities = _choose(inputs, cached)
    posterior = _posterior(state, cached)
    pairs = constraints.fixed + chosen
    ends = _vertices(state, pairs)
    estimates = posterior.pair_means(ends).tolist()
    lows, highs = _intervals(posterior, ends)
    expected, low, high = library.total_interval(posterior, ends, LEVEL)
    best = constraints.fixed + state.ids(_best_guess(inputs, posterior))
    values = [] if decision is None else decision.values.tolist()
    n_fixed, guessed = len(constraints.fixed), set(best)
    values = [None] * n_fixed + [_finite(value) for value in values]
    rows = zip(pairs, estimates, lows, highs, values, [None] * n_fixed + propensities, strict=True)
    byes = [] if state.league.settings["selection"] == "pair" else _sitting_out(constraints, chosen)
    return Draft(
        number=inputs.number,
        based_on=state.league.version,
        pairs=[ProposedPair(pair, k < n_fixed, pair in guessed, *numbers) for k, (pair, *numbers) in enumerate(rows)],
        byes=byes,
        available=constraints.available,
        n_results=state.league.n_results,
        expected=expected,
        low=low,
        high=high,
        best=max(float(posterior.pair_means(_vertices(state, best)).sum()), expected),
        exact=decision is None or decision.exact,
        bound=None if decision is None else _finite(decision.bound),
        notes=_notes(inputs, byes, decision),
    )


def _choose(inputs: Inputs, cached: CachedLeague) -> "tuple[list[Ids], Decision | None, list[float | None]]":
    """The pairs that the policy chooses of those not fixed, and their propensities."""
    league, present = inputs.state.league, inputs.constraints.present
    sides = inputs.state.sides[present - 1]
    if not len(sides) or (league.sides is not None and (sides == sides[0]).all()):
        return [], None, []  # all items, or all of one side, are in fixed pairs
    source = _source(inputs, cached)
    pairs, decision = source(library.random_stream(league.seed, "decision", league.stream, inputs.number))
    n_draws = league.settings["record_propensity"]
    if not n_draws:
        return pairs, decision, [None] * len(pairs)
    counts = Counter(pairs)
    for draw in range(n_draws):
        counts.update(source(library.random_stream(league.seed, "propensity", league.stream, inputs.number, draw))[0])
    return pairs, decision, [counts[pair] / (n_draws + 1) for pair in pairs]


def _source(inputs: Inputs, cached: CachedLeague) -> Any:
    """A function from a random stream to a decision: the pairs by id, and the decision."""
    state, settings = inputs.state, inputs.state.league.settings
    capabilities = library.capabilities(settings["policy"])
    if not capabilities.constrained or capabilities.max_matchings is not None:
        return _source_among_present(inputs)
    policy = _current_policy(state, cached)
    present = np.zeros(state.graph.n_items, dtype=np.bool_)
    present[state.vertices[inputs.constraints.present - 1]] = True
    forbidden = state.edges(inputs.constraints.forbidden)
    waiting = state.positions[inputs.waiting - 1]

    def decision(rng: np.random.Generator) -> "tuple[list[Ids], Decision]":
        result = library.decide(policy, rng, present=present, forbidden=forbidden, waiting=waiting)
        return state.ids(result.pairs), result

    return decision


def _source_among_present(inputs: Inputs) -> Any:
    """`_source` of a policy that enumerates matchings or knows no rules: it is built for the present items only."""
    state, present, forbidden = inputs.state, inputs.constraints.present, inputs.constraints.forbidden
    settings = state.league.settings
    capabilities = library.capabilities(settings["policy"])
    if len(forbidden) and not capabilities.constrained:
        raise LeagueError(
            "not-supported", f"{settings['policy']} cannot leave pairs out. Remove exclusions and no_rematch."
        )
    rows = present[state.sides[present - 1] == 0]
    columns = rows if state.league.sides is None else present[state.sides[present - 1] == 1]
    graph = library.new_graph(len(rows), None if state.league.sides is None else len(columns))
    place = np.full(len(state.items) + 1, -1, dtype=np.int64)
    place[rows], place[columns] = np.arange(len(rows)), np.arange(len(columns))
    policy = library.build_policy(settings, graph, state.league.distribution)
    here = (place[state.totals.pairs] >= 0).all(axis=1)
    if here.any():
        plays, credit = state.totals.discounted(state.league.n_proposals, state.league.half_life)
        policy.set_counts(graph.edges(place[state.totals.pairs[here]]), plays[here], credit[here])
    waiting = place[inputs.waiting]
    waiting = waiting[(waiting >= 0).all(axis=1)]
    edges = graph.edges(place[forbidden]) if len(forbidden) else None

    def decision(rng: np.random.Generator) -> "tuple[list[Ids], Decision]":
        result = library.decide(policy, rng, forbidden=edges, waiting=waiting)
        pairs = np.stack([rows[result.pairs[:, 0]], columns[result.pairs[:, 1]]], axis=1)
        return [(a, b) for a, b in pairs.tolist()], result

    return decision


@dataclass
class CurrentPolicy:
    """A policy of a league, and the version whose counts it has."""

    policy: "CountsPolicy"
    built_for: Any
    version: int


def _current_policy(state: LeagueState, cached: CachedLeague) -> Any:
    """The policy with the current counts: only changed ones are set, unless it is new or results fade."""
    league, totals, current = state.league, state.totals, cached.policy
    built_for = json.dumps([league.settings[name] for name in ("policy", "options", "selection")]), state.graph
    if current is None or current.built_for != built_for or current.version > league.version:
        policy = library.build_policy(league.settings, state.graph, league.distribution)
        current = cached.policy = CurrentPolicy(policy, built_for, -1)
    changed = totals.version > current.version
    if league.half_life is not None:
        changed[:] = True
    if changed.any():
        plays, credit = totals.discounted(league.n_proposals, league.half_life)
        current.policy.set_counts(state.edges(totals.pairs[changed]), plays[changed], credit[changed])
    current.version = league.version
    return current.policy


def _posterior(state: LeagueState, cached: CachedLeague) -> "Posterior":
    """The posterior of the strengths, which rank1-thompson has fitted already."""
    current = cached.policy
    if (
        current is not None
        and current.version == state.league.version
        and state.league.settings["policy"] == PRODUCTS_ONLY
    ):
        posterior: Posterior = current.policy.posterior
        return posterior
    return fit_posterior(state)


def _vertices(state: LeagueState, pairs: Sequence[Ids]) -> Counts:
    return state.vertices[np.array(pairs, dtype=np.int64).reshape(-1, 2) - 1]


def _intervals(posterior: "Posterior", ends: Counts) -> tuple[list[float | None], list[float | None]]:
    """The ends of the intervals of these pairs; None in large leagues, where they take long."""
    if posterior.factor is None:
        return [None] * len(ends), [None] * len(ends)
    low, high = posterior.pair_intervals(ends, LEVEL)
    return low.tolist(), high.tolist()


def _best_guess(inputs: Inputs, posterior: "Posterior") -> Counts:
    """The best guess among the pairs not fixed."""
    state, constraints = inputs.state, inputs.constraints
    if not len(constraints.present):
        return np.zeros((0, 2), dtype=np.int64)
    present = np.zeros(state.graph.n_items, dtype=np.bool_)
    present[state.vertices[constraints.present - 1]] = True
    forbidden = state.edges(constraints.forbidden)
    selection = state.league.settings["selection"]
    return library.best_pairs(state.graph, posterior.strengths, selection, present=present, forbidden=forbidden)


def _sitting_out(constraints: Constraints, pairs: Sequence[Ids]) -> list[int]:
    """Who sits out: whose turn it is, and who is left over."""
    paired = {item for pair in pairs for item in pair}
    left = [item for item in constraints.present.tolist() if item not in paired]
    return left if constraints.bye is None else sorted([constraints.bye, *left])


def _notes(inputs: Inputs, byes: list[int], decision: "Decision | None") -> list[list[Any]]:
    """Notes for readers, as codes and ids."""
    constraints, two_sided = inputs.constraints, inputs.state.league.sides is not None
    notes: list[list[Any]] = [] if constraints.bye is None else [["turn", constraints.bye]]
    n = len(inputs.state.items) + 1
    excluded = np.bincount(constraints.forbidden[constraints.is_excluded].ravel(), minlength=n)
    met = np.bincount(constraints.forbidden[~constraints.is_excluded].ravel(), minlength=n)
    on_side = np.bincount(inputs.state.sides[constraints.present - 1], minlength=2)
    for item in byes:
        if item == constraints.bye:
            continue
        others = on_side[1 - inputs.state.sides[item - 1]] if two_sided else len(constraints.present) - 1
        if others > excluded[item] + met[item] or not (excluded[item] or met[item]):
            if not two_sided:  # with unequal sides some are always left over
                notes.append(["left", item])
        else:
            notes.append(
                ["nobody", item, "both" if excluded[item] and met[item] else "excluded" if excluded[item] else "met"]
            )
    if decision is not None and not decision.exact:
        notes.append(["near", decision.value, decision.bound])
    return notes


def _finite(value: float | None) -> float | None:
    """None for an infinite index, which JSON cannot represent."""
    return value if value is not None and isfinite(value) else None
