"""Decide a proposal: a policy, applied to the state of a league under its rules.

Two steps: `prepare` is quick and copies what it needs of the state; `decide` may be slow, changes nothing that others
see, and returns the same draft for the same inputs, whatever was decided before.
"""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from threading import Lock
from typing import Any

import numpy as np

from matchbandit.allowed import Allowed
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Graph, Pairs, bipartite, monopartite
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Draft, add_seconds, this_version
from matchbandit.live.model import count_results, league_graph
from matchbandit.live.names import Directory
from matchbandit.live.reward_accounting import RewardAccounting
from matchbandit.live.rules import Constraints, assign_bye, collect_constraints, unconstrained
from matchbandit.live.settings import policy_spec
from matchbandit.live.state import State
from matchbandit.live.tally import Results, pair_of, pairs_of
from matchbandit.policies.base import Policy
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.catalogue import CATALOGUE, counts_policy, restore
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.policies.decision import Decision, by_products
from matchbandit.policies.rank1_thompson import Rank1Thompson
from matchbandit.rewards import Counts, Floats, RewardDistribution
from matchbandit.seeding import stream
from matchbandit.strengths import Posterior

_PAIR_BYTES = 24
"""Bytes per pair of a policy that stores a number per pair: plays, sums and weights."""
SIGNIFICANT_DIGITS = 6
"""Of the numbers that a proposal records for readers; pairs are recorded exactly."""


@dataclass(frozen=True)
class Round:
    """The last round of a round policy: the state of the policy then, and the outcomes."""

    memory: str | None
    outcomes: dict[tuple[int, int], float | None]
    roster: list[int]
    """The items that are active now."""


@dataclass(frozen=True)
class Inputs:
    """Everything a decision depends on."""

    number: int
    decided_at: int
    config: Mapping[str, Any]
    """The settings of the league."""
    rewards: RewardDistribution
    two_sided: bool
    on_side: tuple[int, int]
    places: Counts
    """The number of each item on its side; item k is at index k − 1."""
    sides: Counts
    results: Results
    waiting: Pairs
    """Pairs of ids whose outcome is missing, once per open proposal."""
    constraints: Constraints
    due: str | None
    round: Round | None
    """The last round of a round policy; None for other policies."""


class Decider:
    """Decides for one league in one process; it caches policies and updates them instead of rebuilding them."""

    def __init__(self) -> None:
        """With an empty cache."""
        self._lock = Lock()
        self._caches: dict[str, _PolicyCache] = {}

    def memory(self) -> int:
        """Estimated bytes of the cached policies that store a number per pair."""
        return sum(cache.memory() for cache in list(self._caches.values()))

    def prepare(
        self,
        state: State,
        directory: Directory,
        now: str,
        *,
        available: Iterable[str | int] | None = None,
        fixed: Iterable[tuple[str | int, str | int]] | None = None,
    ) -> Inputs:
        """Check the request and copy what the decision needs."""
        config = state.config
        deadline = config["deadline"]
        if CATALOGUE[config["policy"]].decides_from_counts:
            last, constraints = None, collect_constraints(state, directory, available=available, fixed=fixed)
        else:
            last = _last_round(state, available, fixed)
            constraints = unconstrained(last.roster)
        return Inputs(
            number=state.next_number,
            decided_at=state.seq,
            config=dict(config),
            rewards=state.rewards,
            two_sided=state.two_sided,
            on_side=(state.on_side[0], state.on_side[1]),
            places=np.array(state.places, dtype=np.int64),
            sides=np.array(state.sides_by_item, dtype=np.int64),
            results=state.tally.results(state.last_number),
            waiting=_waiting(state),
            constraints=constraints,
            due=None if deadline is None else add_seconds(now, deadline),
            round=last,
        )

    def decide(self, inputs: Inputs) -> Draft:
        """Decide the proposal; returns the event to record."""
        with self._lock:
            try:
                return self._draft(inputs)
            except LeagueError:
                raise
            except MatchbanditError as error:
                raise LeagueError("not-supported", str(error)) from error

    def _draft(self, inputs: Inputs) -> Draft:
        inputs = replace(inputs, constraints=assign_bye(inputs.constraints))
        config, constraints = inputs.config, inputs.constraints
        index = _GraphIndex(inputs)
        memory = None
        if inputs.round is not None:
            pairs, values, memory = _next_round(inputs, inputs.round)
            decision = None
        else:
            pairs, values, decision = self._choose(index, config, "decision")
        posterior = self._posterior(index)
        fixed = [list(pair) for pair in constraints.fixed]
        all_pairs = fixed + pairs
        estimates = posterior.pair_means(index.numbers[np.array(all_pairs, dtype=np.int64).reshape(-1, 2) - 1])
        best = fixed + index.ids(_best_guess(index, posterior))
        best_value = float(posterior.pair_means(index.numbers[np.array(best, dtype=np.int64).reshape(-1, 2) - 1]).sum())
        expected = float(estimates.sum())
        byes = [] if config["selection"] == "pair" else _sitting_out(constraints, pairs)
        data = {
            "number": inputs.number,
            "pairs": all_pairs,
            "byes": byes,
            "fixed": fixed,
            "available": constraints.available,
            "due": inputs.due,
            "decided_at": inputs.decided_at,
            "policy": config["policy"],
            "expected": _round_digits(expected),
            "best": _round_digits(max(best_value, expected)),
            "estimates": [_round_digits(value) for value in estimates.tolist()],
            "values": [None] * len(fixed) + values,
            "best_pairs": best,
            "exact": decision is None or decision.exact,
            "bound": None if decision is None else _round_digits(decision.bound),
            "notes": _notes(inputs, byes, decision),
            "shadow": self._shadow(index, posterior, {tuple(pair) for pair in all_pairs}),
            "matchbandit": this_version(),
        }
        if decision is not None and config.get("record_propensity"):
            shares = self._propensities(index, pairs, config["record_propensity"])
            data["propensities"] = [None] * len(fixed) + shares
            data["propensity_draws"] = config["record_propensity"]
        if decision is not None and decision.opening:
            data["opening"] = True
        if memory is not None:
            data["memory"] = memory
        return Draft("proposed", data)

    def _choose(
        self, index: "_GraphIndex", config: Mapping[str, Any], role: str
    ) -> tuple[list[list[int]], list[float | None], Decision | None]:
        """The pairs that a policy chooses of those not fixed, and their values."""
        inputs = index.inputs
        sides = inputs.sides[inputs.constraints.present - 1]
        # All items, or all of one side, are in fixed pairs.
        if not len(sides) or (inputs.two_sided and (sides == sides[0]).all()):
            return [], [], None
        rng = stream(inputs.config["seed"], role, inputs.config["key"], inputs.number)
        decision = self._cache(role).decision(index, config, rng)
        return decision.ids, [_round_digits(value) for value in decision.decision.values.tolist()], decision.decision

    def _propensities(self, index: "_GraphIndex", pairs: list[list[int]], n_draws: int) -> list[float | None]:
        """The share of `n_draws` repeated decisions, and the proposed one, that contain each pair."""
        config, cache = index.inputs.config, self._cache("decision")
        counts = Counter(map(tuple, pairs))
        for draw in range(n_draws):
            rng = stream(config["seed"], "propensity", config["key"], index.inputs.number, draw)
            counts.update(map(tuple, cache.decision(index, config, rng).ids))
        return [_round_digits(counts[tuple(pair)] / (n_draws + 1)) for pair in pairs]

    def _cache(self, role: str) -> "_PolicyCache":
        return self._caches.setdefault(role, _PolicyCache())

    def _posterior(self, index: "_GraphIndex") -> Posterior:
        """The posterior of the strengths, which rank1-thompson has already fitted."""
        posterior = self._cache("decision").posterior(index)
        if posterior is not None:
            return posterior
        inputs = index.inputs
        edges, plays, sums = count_results(
            index.graph, inputs.places, inputs.results, inputs.rewards, faded=_fades(inputs)
        )
        return Posterior.fit(index.graph, inputs.rewards, edges, plays, sums)

    def _shadow(
        self, index: "_GraphIndex", posterior: Posterior, played: set[tuple[int, ...]]
    ) -> dict[str, Any] | None:
        """What the shadow policy would have proposed under the same rules; its errors are recorded, not raised."""
        config = index.inputs.config["shadow"]
        if config is None:
            return None
        try:
            pairs, _, _ = self._choose(index, config, "shadow")
        except MatchbanditError as error:
            return {"policy": config["policy"], "error": str(error)}
        all_pairs = [list(pair) for pair in index.inputs.constraints.fixed] + pairs
        ends = index.numbers[np.array(all_pairs, dtype=np.int64).reshape(-1, 2) - 1]
        return {
            "policy": config["policy"],
            "pairs": all_pairs,
            "expected": _round_digits(float(posterior.pair_means(ends).sum())),
            "common": len(played & {tuple(pair) for pair in all_pairs}),
        }


def _waiting(state: State) -> Pairs:
    keys = np.fromiter(state.waiting.keys(), dtype=np.int64, count=len(state.waiting))
    times = np.fromiter(state.waiting.values(), dtype=np.int64, count=len(state.waiting))
    return np.stack(pairs_of(np.repeat(keys, times)), axis=1)


def _round_digits(value: float) -> float | None:
    """Round to significant digits; None for an infinite index, which JSON cannot represent."""
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isfinite(value) else None


class _GraphIndex:
    """Maps the items of a league to the vertices of a graph, and back."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.graph = league_graph(inputs.two_sided, inputs.on_side)
        self.numbers = inputs.places + inputs.sides * self.graph.n_rows
        """The vertex of each item, rows first; item k is at index k − 1."""
        self._ids = np.zeros(self.graph.n_items, dtype=np.int64)
        self._ids[self.numbers] = np.arange(1, len(self.numbers) + 1)
        present = np.zeros(self.graph.n_items, dtype=np.bool_)
        present[self.numbers[inputs.constraints.present - 1]] = True
        self.allowed = Allowed(self.graph, present=present, forbidden=self.edges(inputs.constraints.forbidden))

    def pairs(self, ids: Pairs) -> Pairs:
        """Pairs of ids to pairs of the graph."""
        return self.inputs.places[ids - 1] if len(ids) else np.zeros((0, 2), dtype=np.int64)

    def edges(self, ids: Pairs) -> Edges:
        """Pairs of ids to edges."""
        return self.graph.edges(self.pairs(ids)) if len(ids) else np.zeros(0, dtype=np.int64)

    def ids(self, pairs: Pairs) -> list[list[int]]:
        """Pairs of the graph to pairs of ids; of players, the lower id first."""
        ids: list[list[int]] = self._ids[self.graph.items_of(pairs)].tolist() if len(pairs) else []
        return ids


@dataclass(frozen=True)
class _Choice:
    ids: list[list[int]]
    decision: Decision


class _PolicyCache:
    """A policy and the last event it has taken into account."""

    def __init__(self) -> None:
        self._key: object = None
        self._policy: CountsPolicy | None = None
        self._seq = 0

    def memory(self) -> int:
        policy = self._policy
        return 0 if policy is None or policy.capabilities.any_size else _PAIR_BYTES * policy.graph.n_pairs

    def decision(self, index: _GraphIndex, config: Mapping[str, Any], rng: np.random.Generator) -> _Choice:
        inputs, capabilities = index.inputs, CATALOGUE[config["policy"]].capabilities
        if not capabilities.constrained or capabilities.max_matchings is not None:
            return _among_present(index, config, rng, capabilities)
        policy = self._up_to_date(index, config)
        decision = policy.decision(rng, allowed=index.allowed, waiting=index.pairs(inputs.waiting))
        return _Choice(index.ids(decision.pairs), decision)

    def _up_to_date(self, index: _GraphIndex, config: Mapping[str, Any]) -> CountsPolicy:
        """The policy with the current counts: only changed ones are set, unless the policy itself is new."""
        inputs = index.inputs
        key = (
            config["policy"],
            json.dumps(config["options"], sort_keys=True),
            config["selection"],
            index.graph,
            inputs.rewards,
        )
        since = self._seq
        if self._policy is None or key != self._key or since > inputs.decided_at:
            self._policy, self._key, since = counts_policy(policy_spec(config), index.graph, inputs.rewards), key, -1
        changed = _counts(index, config, since)
        if len(changed[0]):
            self._policy.set_counts(*changed)
        self._seq = inputs.decided_at
        return self._policy

    def posterior(self, index: _GraphIndex) -> Posterior | None:
        """The posterior of the strengths, if the policy has just fitted it to these counts."""
        policy = self._policy
        if not isinstance(policy, Rank1Thompson) or policy.graph != index.graph:
            return None
        return policy.posterior if self._seq == index.inputs.decided_at else None


def _fades(inputs: Inputs) -> bool:
    return inputs.config["options"].get("half_life") is not None


def _counts(index: _GraphIndex, config: Mapping[str, Any], since: int) -> tuple[Edges, Floats, Floats]:
    """Edges in increasing order, plays and credits of pairs that changed after event `since`.

    Discounted results change all the time. A shadow counts as if it started with these results.
    """
    inputs, results = index.inputs, index.inputs.results
    if config is inputs.config:
        plays, sums = results.plays, results.sums
    else:
        accounting = RewardAccounting(config["policy"], inputs.rewards, inputs.config["seed"], inputs.config["key"])
        plays, sums = results.counts.astype(np.float64), accounting.credit_totals(results.counts, results.paid)
    which = np.flatnonzero(results.touched > (-1 if _fades(inputs) else since))
    if not len(which):
        return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    ids = np.stack([results.a[which], results.b[which]], axis=1)
    edges = index.edges(ids)
    order = np.argsort(edges, kind="stable")
    return edges[order], plays[which][order], sums[which][order]


def _among_present(
    index: _GraphIndex, config: Mapping[str, Any], rng: np.random.Generator, capabilities: Capabilities
) -> _Choice:
    """The decision of a policy that enumerates matchings: it is built for the present items only."""
    inputs = index.inputs
    present = inputs.constraints.present
    sides = inputs.sides[present - 1]
    rows = present[sides == 0]
    columns = present[sides == 1] if inputs.two_sided else rows
    graph: Graph = bipartite(len(rows), len(columns)) if inputs.two_sided else monopartite(len(rows))
    place = np.full(len(inputs.places) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    place[columns] = np.arange(len(columns))
    forbidden = inputs.constraints.forbidden
    if len(forbidden) and not capabilities.constrained:
        raise LeagueError(
            "not-supported",
            f"{config['policy']} cannot leave pairs out. Remove exclusions and set no_rematch to 0, or configure "
            f"another policy, such as rank1-thompson.",
        )
    policy = counts_policy(policy_spec(config), graph, inputs.rewards)
    edges, plays, sums = _counts(index, config, -1)
    pairs = np.array(index.ids(index.graph.pairs_of(edges)), dtype=np.int64).reshape(-1, 2)
    is_present = (place[pairs] >= 0).all(axis=1)
    if is_present.any():
        present_edges = graph.edges(place[pairs[is_present]])
        order = np.argsort(present_edges, kind="stable")
        policy.set_counts(present_edges[order], plays[is_present][order], sums[is_present][order])
    waiting = place[inputs.waiting]
    waiting = waiting[(waiting >= 0).all(axis=1)]
    allowed = Allowed(graph, forbidden=graph.edges(place[forbidden])) if len(forbidden) else None
    decision = policy.decision(rng, allowed=allowed, waiting=waiting)
    ids = np.stack([rows[decision.pairs[:, 0]], columns[decision.pairs[:, 1]]], axis=1)
    return _Choice(ids.tolist(), decision)


def _best_guess(index: _GraphIndex, posterior: Posterior) -> Pairs:
    """The best guess among the pairs not fixed."""
    if not len(index.inputs.constraints.present):
        return np.zeros((0, 2), dtype=np.int64)
    return by_products(index.allowed, posterior.strengths, index.inputs.config["selection"]).pairs


def _sitting_out(constraints: Constraints, pairs: Sequence[Sequence[int]]) -> list[int]:
    """Who sits out: whose turn it is, and who is left over."""
    paired = {item for pair in pairs for item in pair}
    left = [item for item in constraints.present.tolist() if item not in paired]
    return left if constraints.bye is None else sorted([constraints.bye, *left])


def _notes(inputs: Inputs, byes: list[int], decision: Decision | None) -> list[list[Any]]:
    """Notes for readers, as codes and ids; `views` turns them into sentences."""
    constraints = inputs.constraints
    notes: list[list[Any]] = [] if constraints.bye is None else [["turn", constraints.bye]]
    partners = _partners(inputs)
    for item in byes:
        if item == constraints.bye:
            continue
        excluded, met, free = partners(item)
        if free > 0 or not (excluded or met):
            if not inputs.two_sided:  # with unequal sides some are always left over
                notes.append(["left", item])
        elif excluded and met:
            notes.append(["nobody", item, "both"])
        else:
            notes.append(["nobody", item, "excluded" if excluded else "met"])
    if decision is not None and not decision.exact:
        notes.append(["near", _round_digits(decision.value), _round_digits(decision.bound)])
    return notes


def _partners(inputs: Inputs) -> Any:
    """A function from an item to its numbers of excluded, recently met and free partners."""
    constraints = inputs.constraints
    n = len(inputs.places) + 1
    excluded = np.bincount(constraints.forbidden[constraints.is_excluded].ravel(), minlength=n).tolist()
    met = np.bincount(constraints.forbidden[~constraints.is_excluded].ravel(), minlength=n).tolist()
    on_side = np.bincount(inputs.sides[constraints.present - 1], minlength=2).tolist()

    def count(item: int) -> tuple[int, int, int]:
        others = on_side[1 - int(inputs.sides[item - 1])] if inputs.two_sided else len(constraints.present) - 1
        without, before = excluded[item], met[item]
        return without, before, others - without - before

    return count


# Policies that play whole rounds -------------------------------------------------------------------------------------


def _last_round(
    state: State, available: Iterable[str | int] | None, fixed: Iterable[tuple[str | int, str | int]] | None
) -> Round:
    """The last round with all its outcomes; raises if it is incomplete or the request does not suit a round policy."""
    name = state.config["policy"]
    hint = "Configure another policy for that, such as rank1-thompson."
    if available is not None or fixed:
        raise LeagueError(
            "not-supported", f"{name} plays whole rounds with all its items and chooses all pairs. {hint}"
        )
    if state.open:
        number = next(iter(state.open))
        raise LeagueError(
            "round-open",
            f"{name} plays one round after the other: proposal {number} still waits for outcomes. Tell or void them.",
        )
    roster = [item for item, active in enumerate(state.active, start=1) if active]
    last = state.last_round
    outcomes = {} if last is None else {pair_of(key): reward for key, reward in last.known.items()}
    return Round(None if last is None else last.memory, outcomes, roster)


def _next_round(inputs: Inputs, last: Round) -> tuple[list[list[int]], list[float | None], str]:
    """The next round of a round policy, and its state afterwards."""
    if last.memory is None:
        policy, roster = _first_round(inputs, last.roster), last.roster
    else:
        saved = json.loads(zlib.decompress(base64.b64decode(last.memory)))
        policy, roster = restore(saved["state"]), saved["roster"]
        if roster != last.roster:
            raise LeagueError(
                "not-supported",
                f"{policy.name} plays whole rounds with a fixed set of items, and one of them has left. Configure "
                f"another policy, such as rank1-thompson.",
            )
        asked = _ids_of(inputs, roster, policy.ask())
        rewards = [last.outcomes.get((a, b)) for a, b in asked]
        policy.tell(policy.ask(), [nan if reward is None else reward for reward in rewards])
    pairs = _ids_of(inputs, roster, policy.ask())
    state = json.dumps({"roster": roster, "state": policy.state()}, separators=(",", ":"))
    memory = base64.b64encode(zlib.compress(state.encode(), 6)).decode("ascii")
    return pairs, [None] * len(pairs), memory


def _first_round(inputs: Inputs, roster: list[int]) -> Policy:
    """A new policy, warm-started with earlier results if there are any."""
    config = inputs.config
    rows, columns = _sides_of(inputs, roster)
    graph: Graph = bipartite(len(rows), len(columns)) if inputs.two_sided else monopartite(len(rows))
    seed = int(stream(config["seed"], "decision", config["key"], inputs.number - 1).integers(2**62))
    spec = policy_spec(config)
    results = inputs.results
    if len(results.a):
        place = {item: k for side in (rows, columns) for k, item in enumerate(side)}
        pairs = [[place[a], place[b]] for a, b in zip(results.a.tolist(), results.b.tolist(), strict=True)]
        spec = spec.warm_start(pairs, results.counts, results.paid)
    return spec.build(graph, rewards=inputs.rewards, horizon=config["options"].get("horizon"), seed=seed)


def _sides_of(inputs: Inputs, roster: list[int]) -> tuple[list[int], list[int]]:
    """The items of each side; players are on both."""
    if not inputs.two_sided:
        return roster, roster
    rows = [item for item in roster if inputs.sides[item - 1] == 0]
    return rows, [item for item in roster if inputs.sides[item - 1] == 1]


def _ids_of(inputs: Inputs, roster: list[int], pairs: Pairs) -> list[list[int]]:
    rows, columns = _sides_of(inputs, roster)
    return [[rows[i], columns[j]] for i, j in pairs.tolist()]
