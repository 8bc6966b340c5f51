"""Decide a proposal: a policy, applied to the state of a league under its rules.

`prepare` reads what is needed in a transaction; `decide` may be slow, needs no transaction and writes nothing.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, bindparam, select

from matchbandit.formatting import plural
from matchbandit.leagues import library, schema
from matchbandit.leagues.constraints import Constraints, assign_bye, collect_constraints
from matchbandit.leagues.errors import LeagueError, errors_as
from matchbandit.leagues.items import Name
from matchbandit.leagues.model import LEVEL, fit_posterior
from matchbandit.leagues.records import Ids, Pair
from matchbandit.leagues.state import CachedLeague, Counts, LeagueState, id_pairs

if TYPE_CHECKING:
    from matchbandit.allowed import Allowed
    from matchbandit.policies.counts_policy import CountsPolicy
    from matchbandit.policies.decision import Decision
    from matchbandit.strengths import Posterior

PRODUCTS_ONLY = "rank1-thompson"
"""Its decisions depend on results alone, and it fits the strengths itself."""
SLOW_PAIRS = 5_000
"""A decision that weighs more pairs than this takes longer than about 50 ms; each repetition counts anew."""
MAX_FEW_RULES = 8
"""With at most so many forbidden partners each, near neighbours in the order of strengths are matched at once."""
_pair, _proposal = schema.proposal_pair, schema.proposal
OPEN = select(_proposal.c.number).where(_proposal.c.league_id == bindparam("of_league"), _proposal.c.n_waiting > 0)
_WAITING = select(_pair.c.a, _pair.c.b).where(
    _pair.c.league_id == bindparam("of_league"), _pair.c.outcome_version.is_(None), _pair.c.number.in_(OPEN)
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

    @cached_property
    def allowed(self) -> "Allowed":
        """The pairs of the graph that may be chosen."""
        present = np.zeros(self.state.graph.n_items, dtype=np.bool_)
        present[self.state.vertices[self.constraints.present - 1]] = True
        return library.allowed_pairs(self.state.graph, present, self.state.edges(self.constraints.forbidden))


@dataclass(frozen=True)
class Draft:
    """A decided proposal that is not written yet."""

    pairs: list[Pair]
    byes: list[int]
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
    waits = state.league.settings["policy"] != PRODUCTS_ONLY
    rows = connection.execute(_WAITING, {"of_league": state.league.id}) if waits else ()
    return Inputs(state, constraints, id_pairs(rows))


def is_slow(inputs: Inputs) -> bool:
    """Does the decision take so long that a worker process should make it?"""
    constraints, n_items = inputs.constraints, len(inputs.constraints.present)
    n_draws = inputs.state.league.settings["record_propensity"]
    degrees = np.bincount(constraints.forbidden.ravel())
    if inputs.state.league.any_size and degrees.max(initial=0) <= MAX_FEW_RULES:
        return bool(n_draws * n_items > SLOW_PAIRS)
    return bool((1 + n_draws) * inputs.state.count_pairs(constraints.present) > SLOW_PAIRS)


def too_slow(inputs: Inputs) -> str:
    """What to say of a decision that takes too long."""
    settings, fix = inputs.state.league.settings, "Remove exclusions, or ask with fewer items available."
    if not inputs.state.league.any_size:
        fix = f"Use {PRODUCTS_ONLY}, which decides in milliseconds, or ask with fewer items available."
    elif settings["record_propensity"]:
        fix = "Lower record_propensity: each decision is repeated that often."
    n_items = len(inputs.constraints.present)
    return f"{settings['policy']} takes longer than the time limit to pair {plural(n_items, 'item')}. {fix}"


@errors_as("not-supported")
def decide(inputs: Inputs, cached: CachedLeague | None = None) -> Draft:
    """Decide the proposal; the caller holds `Store.deciding`."""
    inputs, cached = replace(inputs, constraints=assign_bye(inputs.constraints)), cached or CachedLeague()
    state, constraints = inputs.state, inputs.constraints
    selection, n_fixed = state.league.settings["selection"], len(constraints.fixed)
    chosen, decision, propensities = _choose(inputs, cached)
    posterior = _posterior(state, cached)
    pairs = constraints.fixed + chosen
    ends = state.vertices[id_pairs(pairs) - 1]
    numbers = np.full((len(pairs), 5), np.nan)  # expected, low, high, value, propensity
    numbers[:, 0] = posterior.pair_means(ends)
    if posterior.factor is not None:  # else the league is large, and intervals take long
        numbers[:, 1:3] = np.transpose(posterior.pair_intervals(ends, LEVEL))
    if decision is not None:
        numbers[n_fixed:, 3], numbers[n_fixed:, 4] = decision.values, propensities
    expected, low, high = library.total_interval(posterior, ends, LEVEL)
    best = list(constraints.fixed)
    if len(constraints.present):
        best += state.ids(library.best_pairs(inputs.allowed, posterior.strengths, selection))
    guessed, paired = set(best), {item for pair in chosen for item in pair}
    candidates = constraints.present.tolist() + [item for item in (constraints.bye,) if item is not None]
    byes = [] if selection == "pair" else sorted(item for item in candidates if item not in paired)
    return Draft(
        pairs=[
            Pair(state.names(pair), pair, None, k < n_fixed, pair in guessed, *map(_finite, row))
            for k, (pair, row) in enumerate(zip(pairs, numbers.tolist(), strict=True))
        ],
        byes=byes,
        expected=expected,
        low=low,
        high=high,
        best=max(float(posterior.pair_means(state.vertices[id_pairs(best) - 1]).sum()), expected),
        exact=decision is None or decision.exact,
        bound=None if decision is None else _finite(decision.bound),
        notes=_notes(inputs, byes, decision),
    )


def _choose(inputs: Inputs, cached: CachedLeague) -> "tuple[list[Ids], Decision | None, list[float] | float]":
    """The pairs that the policy chooses of those not fixed, and their propensities; NaN: these are not recorded."""
    league, present = inputs.state.league, inputs.constraints.present
    sides = inputs.state.sides[present - 1]
    if not len(sides) or (league.sides is not None and (sides == sides[0]).all()):
        return [], None, np.nan  # all items, or all of one side, are in fixed pairs
    policy, allowed, waiting, ids_of = _source(inputs, cached)

    def draw(*names: int | str) -> "tuple[list[Ids], Decision]":
        decision = policy.decision(library.random_stream(league.seed, *names), allowed=allowed, waiting=waiting)
        return ids_of(decision.pairs), decision

    pairs, decision = draw("decision", league.stream, inputs.number)
    n_draws = league.settings["record_propensity"]
    if not n_draws:
        return pairs, decision, np.nan
    counts = Counter(pairs)
    for k in range(n_draws):
        counts.update(draw("propensity", league.stream, inputs.number, k)[0])
    return pairs, decision, [counts[pair] / (n_draws + 1) for pair in pairs]


def _source(
    inputs: Inputs, cached: CachedLeague
) -> "tuple[CountsPolicy, Allowed, Counts, Callable[[Counts], list[Ids]]]":
    """The policy, what it may choose from, the pairs that wait for an outcome, and how its pairs become ids."""
    state, present, forbidden = inputs.state, inputs.constraints.present, inputs.constraints.forbidden
    settings = state.league.settings
    capabilities = library.capabilities(settings["policy"])
    if capabilities.constrained and capabilities.max_matchings is None:
        return _current_policy(state, cached), inputs.allowed, state.positions[inputs.waiting - 1], state.ids

    # It enumerates matchings or knows no rules: it is built for the present items only.
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

    def ids(pairs: Counts) -> list[Ids]:
        return [(a, b) for a, b in zip(rows[pairs[:, 0]].tolist(), columns[pairs[:, 1]].tolist(), strict=True)]

    allowed = library.allowed_pairs(graph, None, graph.edges(place[forbidden]))
    return policy, allowed, waiting[(waiting >= 0).all(axis=1)], ids


@dataclass
class CurrentPolicy:
    """A policy of a league, and the version whose counts it has."""

    policy: "CountsPolicy"
    built_for: Any
    version: int


def _current_policy(state: LeagueState, cached: CachedLeague) -> "CountsPolicy":
    """The policy with the current counts: only changed ones are set, unless it is new or results fade."""
    league, totals = state.league, state.totals
    current: CurrentPolicy | None = cached.policy
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
    current, uses_it = cached.policy, state.league.settings["policy"] == PRODUCTS_ONLY
    is_fitted = uses_it and current is not None and current.version == state.league.version
    return current.policy.posterior if is_fitted else fit_posterior(state)


def _notes(inputs: Inputs, byes: list[int], decision: "Decision | None") -> list[list[Any]]:
    """Notes for readers, as codes and ids."""
    constraints, sides, two_sided = inputs.constraints, inputs.state.sides, inputs.state.league.sides is not None
    excluded, met = (
        np.bincount(constraints.forbidden[rows].ravel(), minlength=len(sides) + 1)
        for rows in (constraints.is_excluded, ~constraints.is_excluded)
    )
    on_side = np.bincount(sides[constraints.present - 1], minlength=2)
    notes: list[list[Any]] = []
    for item in byes:
        others = on_side[1 - sides[item - 1]] if two_sided else len(constraints.present) - 1
        if item == constraints.bye:
            notes.insert(0, ["turn", item])
        elif 0 < excluded[item] + met[item] >= others:
            notes.append(
                ["nobody", item, "both" if excluded[item] and met[item] else "excluded" if excluded[item] else "met"]
            )
        elif not two_sided:  # with unequal sides some are always left over
            notes.append(["left", item])
    if decision is not None and not decision.exact:
        notes.append(["near", decision.value, decision.bound])
    return notes


def _finite(value: float) -> float | None:
    """None for a missing number, and for an infinite index, which JSON cannot represent."""
    return value if isfinite(value) else None
