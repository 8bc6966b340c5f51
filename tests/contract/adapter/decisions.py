"""Decisions from counts and matchings under rules: calls of the product."""

import tempfile
from typing import Any

import numpy as np

import matchbandit as mb
from contract import inputs, validity
from matchbandit import solvers
from matchbandit.leagues import Store
from matchbandit.rewards import parse_rewards

MAX_PLAYERS_EXACT = 300
"""With more items, only the number of pairs, their validity and their value are recorded."""


def decide(
    items: inputs.Items,
    policy: str,
    options: dict[str, Any],
    rewards: str,
    results: dict[str, Any],
    rules: dict[str, Any],
    pending: dict[str, int],
    seed: int,
) -> dict[str, Any]:
    """The decision of a policy that is given the totals of each pair; of the pending pairs the first is so twice."""
    graph = _graph(items)
    decider = mb.counts_policy(mb.policy(policy, **options), graph, parse_rewards(rewards))
    totals = inputs.results(items, **results)
    decider.set_counts(graph.edges(totals.pairs), totals.counts, totals.sums)
    constraints = inputs.rules(items, **rules)
    waiting = inputs.pending_pairs(items, **pending)
    decision = decider.decision(np.random.default_rng(seed), allowed=_allowed(graph, constraints), waiting=waiting)
    return _decision(decision, items, constraints)


def decide_after_results(
    items: inputs.Items,
    policy: str,
    options: dict[str, Any],
    rewards: str,
    results: list[list[float | None]],
    excluded: list[list[int]],
    absent: list[int],
    pending: list[list[int]],
    seed: int,
) -> dict[str, Any]:
    """The decision of a policy that is given results one by one; a reward of None: the pair did not take place."""
    graph = _graph(items)
    decider = mb.counts_policy(mb.policy(policy, **options), graph, parse_rewards(rewards))
    rng = np.random.default_rng(seed)
    pairs = [(int(row[0]), int(row[1])) for row in results]  # type: ignore[arg-type]
    decider.add_results(pairs, [float("nan") if row[2] is None else row[2] for row in results], rng)
    present = np.isin(np.arange(graph.n_items), absent, invert=True)
    constraints = inputs.Rules(present=present, forbidden=np.array(excluded, dtype=np.int64).reshape(-1, 2))
    decision = decider.decision(rng, allowed=_allowed(graph, constraints), waiting=pending)
    return _decision(decision, items, constraints)


def match(items: inputs.Items, weights: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    """The heaviest matching of the allowed pairs, by products of strengths or by a weight for each pair."""
    graph, constraints = _graph(items), inputs.rules(items, **rules)
    allowed = _allowed(graph, constraints) or mb.Allowed(graph)
    by_pair = inputs.weights(items, **weights)
    if weights["of"] == "products":
        matching = solvers.heaviest_of_products(allowed, inputs.item_strengths(items, weights["seed"]))
    else:
        matching = solvers.heaviest_allowed(allowed, by_pair)
    pairs = graph.pairs_of(matching.edges)
    value = validity.total_weight(pairs, items, by_pair)
    facts = {"n_pairs": len(pairs), "violation": validity.violation(pairs, items, constraints), "value": value}
    return facts if graph.n_items > MAX_PLAYERS_EXACT else {**facts, "exact": matching.exact, "pairs": pairs}


def ask_league(
    items: inputs.Items,
    policy: str,
    options: dict[str, Any],
    selection: str,
    rewards: str,
    seed: int,
    no_rematch: int,
    past: dict[str, Any],
    excluded: list[list[int]],
    pinned: list[list[int]],
    asks: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Proposals of a league that starts with past results; their outcomes stay pending."""
    sides = league_names(items)
    left, right = sides[0], sides[-1]
    everyone = [name for side in sides for name in side]
    numbers = {name: number for side in sides for number, name in enumerate(side)}
    with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/store.db") as store:
        league = store.create(
            "contract",
            players=left if len(sides) == 1 else None,
            sides=None if len(sides) == 1 else {"rows": left, "columns": right},
            rewards=rewards,
            seed=seed,
            past=[(left[i], right[j], n, total) for i, j, n, total in inputs.plain_rows(inputs.results(items, **past))],
            policy=policy,
            options=options,
            selection=selection,
            no_rematch=no_rematch,
        )
        league.exclude([(left[i], right[j]) for i, j in excluded])
        league.pin([(left[i], right[j]) for i, j in pinned])
        proposals = []
        for request in asks:
            absent = {everyone[place] for place in request["absent"]}
            fixed_pairs = [(left[i], right[j]) for i, j in request["fixed"]]
            proposal = league.ask(available=[name for name in everyone if name not in absent], fixed=fixed_pairs)
            pairs = np.array(
                [[numbers[name] for name in pair.names] for pair in proposal.pairs], dtype=np.int64
            ).reshape(-1, 2)
            constraints = inputs.Rules(
                present=np.array([name not in absent for name in everyone]),
                forbidden=np.array(excluded, dtype=np.int64).reshape(-1, 2),
            )
            facts = {
                "n_pairs": len(pairs),
                "violation": validity.violation(pairs, items, constraints),
                "fixed": [list(pair.names) for pair in proposal.pairs if pair.fixed],
                "byes": proposal.byes,
                "expected": proposal.expected,
                "best": proposal.best,
            }
            proposals.append(facts if len(everyone) > MAX_PLAYERS_EXACT else {**facts, "pairs": pairs})
    return proposals


def league_names(items: inputs.Items) -> list[list[str]]:
    """The names of each side."""
    if "players" in items:
        return [inputs.names("p", items["players"])]
    return [inputs.names("r", items["rows"]), inputs.names("c", items["columns"])]


def _graph(items: inputs.Items) -> mb.Graph:
    if "players" in items:
        return mb.monopartite(items["players"])
    return mb.bipartite(items["rows"], items["columns"])


def _allowed(graph: mb.Graph, rules: inputs.Rules) -> mb.Allowed | None:
    if rules.present is None and rules.forbidden is None and rules.only is None:
        return None
    return mb.Allowed(
        graph,
        present=rules.present,
        forbidden=None if rules.forbidden is None else _edges(graph, rules.forbidden),
        only=None if rules.only is None else _edges(graph, rules.only),
    )


def _edges(graph: mb.Graph, pairs: inputs.Pairs) -> Any:
    return graph.edges(pairs) if len(pairs) else np.zeros(0, dtype=np.int64)


def _decision(decision: mb.Decision, items: inputs.Items, rules: inputs.Rules) -> dict[str, Any]:
    facts = {
        "n_pairs": len(decision.pairs),
        "violation": validity.violation(decision.pairs, items, rules),
        "value": decision.value,
    }
    if sum(items.values()) > MAX_PLAYERS_EXACT:
        return facts
    return {**facts, "bound": decision.bound, "exact": decision.exact, "opening": decision.opening,
            "pairs": decision.pairs}  # fmt: skip


KINDS = {
    "decide": decide,
    "decide after results": decide_after_results,
    "match": match,
    "ask league": ask_league,
}
