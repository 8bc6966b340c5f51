"""Whom to pair next: a policy's decision on the state of a league, under its rules.

In two steps. `prepare` is quick and copies what it needs of the state; `decide` takes its time, changes nothing that
others see, and gives the same draft for the same inputs, whatever was decided before.
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
from matchbandit.live.model import counted, graph_of
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
from matchbandit.rewards import Bernoulli, Binomial, Counts, Floats, RewardDistribution
from matchbandit.seeding import stream
from matchbandit.strengths import Posterior

_PAIR_BYTES = 24
"""Of a policy with a number for each pair: plays, sums and weights."""
DIGITS = 6
"""Of the numbers that a proposal records for people; pairs are recorded exactly."""


@dataclass(frozen=True)
class Round:
    """The last round of a policy that plays whole rounds: its memory then, and what came back."""

    memory: str | None
    outcomes: dict[tuple[int, int], float | None]
    roster: list[int]
    """All that are active now."""


@dataclass(frozen=True)
class Inputs:
    """All that a decision depends on."""

    number: int
    decided_at: int
    config: Mapping[str, Any]
    """The settings then."""
    rewards: RewardDistribution
    """As results count, see `State.counting`."""
    two_sided: bool
    on_side: tuple[int, int]
    places: Counts
    """The number of each item on its side; item k stands at place k − 1."""
    sides: Counts
    results: Results
    waiting: Pairs
    """Pairs of ids whose outcome is still to come, as often as they wait."""
    constraints: Constraints
    due: str | None
    round: Round | None
    """Of a policy that plays whole rounds."""


class Decider:
    """Decides for one league in one process; it keeps built policies, brought up to date rather than built anew."""

    def __init__(self) -> None:
        """Nothing built yet."""
        self._lock = Lock()
        self._kept: dict[str, _PolicyCache] = {}

    def memory(self) -> int:
        """How many bytes its policies take, by estimate, where they keep a number for each pair."""
        return sum(cache.memory() for cache in list(self._kept.values()))

    def prepare(
        self,
        state: State,
        directory: Directory,
        now: str,
        *,
        available: Iterable[str | int] | None = None,
        fixed: Iterable[tuple[str | int, str | int]] | None = None,
    ) -> Inputs:
        """Check what is asked for, and copy what the decision needs."""
        config = state.config
        deadline = config["deadline"]
        if CATALOGUE[config["policy"]].decides_from_counts:
            last, today = None, collect_constraints(state, directory, available=available, fixed=fixed)
        else:
            last = _whole_round(state, available, fixed)
            today = unconstrained(last.roster)
        return Inputs(
            number=state.next_number,
            decided_at=state.seq,
            config=dict(config),
            rewards=state.counting,
            two_sided=state.two_sided,
            on_side=(state.on_side[0], state.on_side[1]),
            places=np.array(state.places, dtype=np.int64),
            sides=np.array(state.sides_by_item, dtype=np.int64),
            results=state.tally.results(state.last_number),
            waiting=_waiting(state),
            constraints=today,
            due=None if deadline is None else add_seconds(now, deadline),
            round=last,
        )

    def decide(self, inputs: Inputs) -> Draft:
        """The proposal, as it will be recorded."""
        with self._lock:
            try:
                return self._decided(inputs)
            except LeagueError:
                raise
            except MatchbanditError as error:
                raise LeagueError("not-supported", str(error)) from error

    def _decided(self, inputs: Inputs) -> Draft:
        inputs = replace(inputs, constraints=assign_bye(inputs.constraints))
        config, today = inputs.config, inputs.constraints
        index = _GraphIndex(inputs)
        memory = None
        if inputs.round is not None:
            pairs, values, memory = _next_round(inputs, inputs.round)
            decision = None
        else:
            pairs, values, decision = self._chosen(index, config, "decision")
        posterior = self._posterior(index)
        fixed = [list(pair) for pair in today.fixed]
        whole = fixed + pairs
        estimates = posterior.pair_means(index.numbers[np.array(whole, dtype=np.int64).reshape(-1, 2) - 1])
        best = fixed + index.ids(_best(index, posterior))
        best_value = float(posterior.pair_means(index.numbers[np.array(best, dtype=np.int64).reshape(-1, 2) - 1]).sum())
        expected = float(estimates.sum())
        byes = [] if config["selection"] == "pair" else _byes(today, pairs)
        data = {
            "number": inputs.number,
            "pairs": whole,
            "byes": byes,
            "fixed": fixed,
            "available": today.available,
            "due": inputs.due,
            "decided_at": inputs.decided_at,
            "policy": config["policy"],
            "expected": _short(expected),
            "best": _short(max(best_value, expected)),
            "estimates": [_short(value) for value in estimates.tolist()],
            "values": [None] * len(fixed) + values,
            "best_pairs": best,
            "exact": decision is None or decision.exact,
            "bound": None if decision is None else _short(decision.bound),
            "notes": _notes(inputs, byes, decision),
            "shadow": self._shadow(index, posterior, {tuple(pair) for pair in whole}),
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

    def _chosen(
        self, index: "_GraphIndex", named: Mapping[str, Any], role: str
    ) -> tuple[list[list[int]], list[float | None], Decision | None]:
        """The pairs that a policy chooses of those that are left, and by which values."""
        inputs = index.inputs
        sides = inputs.sides[inputs.constraints.present - 1]
        if not len(sides) or (inputs.two_sided and (sides == sides[0]).all()):  # fixed pairs took all, or a whole side
            return [], [], None
        rng = stream(inputs.config["seed"], role, inputs.config["key"], inputs.number)
        decision = self._keeper(role).decision(index, named, rng)
        return decision.ids, [_short(value) for value in decision.decision.values.tolist()], decision.decision

    def _propensities(self, index: "_GraphIndex", pairs: list[list[int]], n_draws: int) -> list[float | None]:
        """The share of decisions that contain each pair, of `n_draws` repeated ones and the one that was played."""
        config, cache = index.inputs.config, self._keeper("decision")
        counts = Counter(map(tuple, pairs))
        for draw in range(n_draws):
            rng = stream(config["seed"], "propensity", config["key"], index.inputs.number, draw)
            counts.update(map(tuple, cache.decision(index, config, rng).ids))
        return [_short(counts[tuple(pair)] / (n_draws + 1)) for pair in pairs]

    def _keeper(self, role: str) -> "_PolicyCache":
        return self._kept.setdefault(role, _PolicyCache())

    def _posterior(self, index: "_GraphIndex") -> Posterior:
        """Of the strengths, which rank1-thompson has fitted already."""
        known = self._keeper("decision").posterior(index)
        if known is not None:
            return known
        inputs = index.inputs
        edges, plays, sums = counted(index.graph, inputs.places, inputs.results, inputs.rewards, faded=_fades(inputs))
        return Posterior.fit(index.graph, inputs.rewards, edges, plays, sums)

    def _shadow(
        self, index: "_GraphIndex", posterior: Posterior, played: set[tuple[int, ...]]
    ) -> dict[str, Any] | None:
        """What a second policy would have proposed, under the same rules; its failures are its own."""
        named = index.inputs.config["shadow"]
        if named is None:
            return None
        try:
            pairs, _, _ = self._chosen(index, named, "shadow")
        except MatchbanditError as error:
            return {"policy": named["policy"], "error": str(error)}
        whole = [list(pair) for pair in index.inputs.constraints.fixed] + pairs
        ends = index.numbers[np.array(whole, dtype=np.int64).reshape(-1, 2) - 1]
        return {
            "policy": named["policy"],
            "pairs": whole,
            "expected": _short(float(posterior.pair_means(ends).sum())),
            "common": len(played & {tuple(pair) for pair in whole}),
        }


def _waiting(state: State) -> Pairs:
    keys = np.fromiter(state.waiting.keys(), dtype=np.int64, count=len(state.waiting))
    times = np.fromiter(state.waiting.values(), dtype=np.int64, count=len(state.waiting))
    return np.stack(pairs_of(np.repeat(keys, times)), axis=1)


def _short(value: float) -> float | None:
    """A number with a few digits; None for an index without bound, which JSON cannot write."""
    return float(f"{value:.{DIGITS}g}") if isfinite(value) else None


class _GraphIndex:
    """The items of a league as the numbers of a graph."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.graph = graph_of(inputs.two_sided, inputs.on_side)
        self.numbers = inputs.places + inputs.sides * self.graph.n_rows
        """Of each item, rows before columns; item k stands at place k − 1."""
        self._ids = np.zeros(self.graph.n_items, dtype=np.int64)
        self._ids[self.numbers] = np.arange(1, len(self.numbers) + 1)
        present = np.zeros(self.graph.n_items, dtype=np.bool_)
        present[self.numbers[inputs.constraints.present - 1]] = True
        self.allowed = Allowed(self.graph, present=present, forbidden=self.edges(inputs.constraints.forbidden))

    def pairs(self, ids: Pairs) -> Pairs:
        """Pairs of ids as pairs of the graph."""
        return self.inputs.places[ids - 1] if len(ids) else np.zeros((0, 2), dtype=np.int64)

    def edges(self, ids: Pairs) -> Edges:
        """Pairs of ids as edges."""
        return self.graph.edges(self.pairs(ids)) if len(ids) else np.zeros(0, dtype=np.int64)

    def ids(self, pairs: Pairs) -> list[list[int]]:
        """Pairs of the graph as pairs of ids, players with the lower id first."""
        found = self._ids[self.graph.items_of(pairs)] if len(pairs) else np.zeros((0, 2), dtype=np.int64)
        listed: list[list[int]] = found.tolist()
        return listed


@dataclass(frozen=True)
class _Chosen:
    ids: list[list[int]]
    decision: Decision


class _PolicyCache:
    """A policy that is built, and how far it is up to date."""

    def __init__(self) -> None:
        self._key: object = None
        self._policy: CountsPolicy | None = None
        self._seq = 0

    def memory(self) -> int:
        built = self._policy
        return 0 if built is None or built.capabilities.any_size else _PAIR_BYTES * built.graph.n_pairs

    def decision(self, index: _GraphIndex, named: Mapping[str, Any], rng: np.random.Generator) -> _Chosen:
        inputs, capabilities = index.inputs, CATALOGUE[named["policy"]].capabilities
        if not capabilities.constrained or capabilities.max_matchings is not None:
            return _among_present(index, named, rng, capabilities)
        built = self._up_to_date(index, named)
        decision = built.decision(rng, allowed=index.allowed, waiting=index.pairs(inputs.waiting))
        return _Chosen(index.ids(decision.pairs), decision)

    def _up_to_date(self, index: _GraphIndex, named: Mapping[str, Any]) -> CountsPolicy:
        """The policy with the present counts: those that have changed are put, or all, if it is another one."""
        inputs = index.inputs
        key = (
            named["policy"],
            json.dumps(named["options"], sort_keys=True),
            named["selection"],
            index.graph,
            inputs.rewards,
        )
        since = self._seq
        if self._policy is None or key != self._key or since > inputs.decided_at:
            self._policy, self._key, since = counts_policy(policy_spec(named), index.graph, inputs.rewards), key, -1
        changed = _counts(index, named, since)
        if len(changed[0]):
            self._policy.set_counts(*changed)
        self._seq = inputs.decided_at
        return self._policy

    def posterior(self, index: _GraphIndex) -> Posterior | None:
        """That of the strengths, if the policy has just fitted it to these counts."""
        built = self._policy
        if not isinstance(built, Rank1Thompson) or built.graph != index.graph:
            return None
        return built.posterior if self._seq == index.inputs.decided_at else None


def _fades(inputs: Inputs) -> bool:
    return inputs.config["options"].get("half_life") is not None


def _counts(index: _GraphIndex, named: Mapping[str, Any], since: int) -> tuple[Edges, Floats, Floats]:
    """Edges, in rising order, with plays and credited sums, of pairs that an event after `since` has changed.

    Results that fade change all the time. A shadow counts as it would if it began with these results.
    """
    inputs, results = index.inputs, index.inputs.results
    if named is inputs.config:
        plays, sums = results.plays, results.sums
    else:
        accounting = RewardAccounting(named["policy"], inputs.rewards, inputs.config["seed"], inputs.config["key"])
        plays, sums = results.counts.astype(np.float64), accounting.credit_totals(results.counts, results.paid)
    which = np.flatnonzero(results.touched > (-1 if _fades(inputs) else since))
    if not len(which):
        return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    ids = np.stack([results.a[which], results.b[which]], axis=1)
    edges = index.edges(ids)
    order = np.argsort(edges, kind="stable")
    return edges[order], plays[which][order], sums[which][order]


def _among_present(
    index: _GraphIndex, named: Mapping[str, Any], rng: np.random.Generator, capabilities: Capabilities
) -> _Chosen:
    """The decision of a policy that looks at whole matchings: built on those alone who are to be paired."""
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
            f"{named['policy']} cannot leave pairs out. Take exclusions back and set no_rematch to 0, or configure "
            f"another policy, such as rank1-thompson.",
        )
    built = counts_policy(policy_spec(named), graph, inputs.rewards)
    edges, plays, sums = _counts(index, named, -1)
    pairs = np.array(index.ids(index.graph.pairs_of(edges)), dtype=np.int64).reshape(-1, 2)
    there = (place[pairs] >= 0).all(axis=1)
    if there.any():
        own = graph.edges(place[pairs[there]])
        order = np.argsort(own, kind="stable")
        built.set_counts(own[order], plays[there][order], sums[there][order])
    waits = place[inputs.waiting]
    waits = waits[(waits >= 0).all(axis=1)]
    allowed = Allowed(graph, forbidden=graph.edges(place[forbidden])) if len(forbidden) else None
    decision = built.decision(rng, allowed=allowed, waiting=waits)
    ids = np.stack([rows[decision.pairs[:, 0]], columns[decision.pairs[:, 1]]], axis=1)
    return _Chosen(ids.tolist(), decision)


def _best(index: _GraphIndex, posterior: Posterior) -> Pairs:
    """The pairs of the best guess of those that are left."""
    if not len(index.inputs.constraints.present):
        return np.zeros((0, 2), dtype=np.int64)
    return by_products(index.allowed, posterior.strengths, index.inputs.config["selection"]).pairs


def _byes(today: Constraints, pairs: Sequence[Sequence[int]]) -> list[int]:
    """Who sits out: whose turn it is, and who is left."""
    paired = {item for pair in pairs for item in pair}
    left = [item for item in today.present.tolist() if item not in paired]
    return left if today.bye is None else sorted([today.bye, *left])


def _notes(inputs: Inputs, byes: list[int], decision: Decision | None) -> list[list[Any]]:
    """Codes and ids for what a human should know; `views` makes sentences of them."""
    today = inputs.constraints
    notes: list[list[Any]] = [] if today.bye is None else [["turn", today.bye]]
    partners = _partners(inputs)
    for item in byes:
        if item == today.bye:
            continue
        excluded, met, free = partners(item)
        if free > 0 or not (excluded or met):
            if not inputs.two_sided:  # of unequal sides some are left, without a reason of their own
                notes.append(["left", item])
        elif excluded and met:
            notes.append(["nobody", item, "both"])
        else:
            notes.append(["nobody", item, "excluded" if excluded else "met"])
    if decision is not None and not decision.exact:
        notes.append(["near", _short(decision.value), _short(decision.bound)])
    return notes


def _partners(inputs: Inputs) -> Any:
    """How many partners of an item are excluded, how many it met lately, and how many are free."""
    today = inputs.constraints
    n = len(inputs.places) + 1
    excluded = np.bincount(today.forbidden[today.is_excluded].ravel(), minlength=n).tolist()
    met = np.bincount(today.forbidden[~today.is_excluded].ravel(), minlength=n).tolist()
    on_side = np.bincount(inputs.sides[today.present - 1], minlength=2).tolist()

    def of(item: int) -> tuple[int, int, int]:
        others = on_side[1 - int(inputs.sides[item - 1])] if inputs.two_sided else len(today.present) - 1
        without, before = excluded[item], met[item]
        return without, before, others - without - before

    return of


# Policies that play whole rounds -------------------------------------------------------------------------------------


def _whole_round(
    state: State, available: Iterable[str | int] | None, fixed: Iterable[tuple[str | int, str | int]] | None
) -> Round:
    """The round before, told in full; an error if this league asks for what such a policy cannot do."""
    name = state.config["policy"]
    hint = "Configure another policy for that, such as rank1-thompson."
    if available is not None or fixed:
        raise LeagueError(
            "not-supported", f"{name} plays whole rounds with all its items, and pairs of its own. {hint}"
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
    """The next round of a policy that plays whole rounds, and its memory after it was asked."""
    if last.memory is None:
        built, roster = _first_round(inputs, last.roster), last.roster
    else:
        kept = json.loads(zlib.decompress(base64.b64decode(last.memory)))
        built, roster = restore(kept["state"]), kept["roster"]
        if roster != last.roster:
            raise LeagueError(
                "not-supported",
                f"{built.name} plays whole rounds with the items it began with, and one of them has gone. Configure "
                f"another policy, such as rank1-thompson.",
            )
        counts_coins = isinstance(inputs.rewards, Bernoulli) and isinstance(built.setting.rewards, Binomial)
        if counts_coins or not built.has_open_round:  # without one it has begun again: its state was of another version
            built = _first_round(inputs, roster, again=True)
        else:
            asked = _ids_of(inputs, roster, built.ask())
            rewards = [last.outcomes.get((a, b)) for a, b in asked]
            built.tell(built.ask(), [nan if reward is None else reward for reward in rewards])
    pairs = _ids_of(inputs, roster, built.ask())
    state = json.dumps({"roster": roster, "state": built.state()}, separators=(",", ":"))
    memory = base64.b64encode(zlib.compress(state.encode(), 6)).decode("ascii")
    return pairs, [None] * len(pairs), memory


def _first_round(inputs: Inputs, roster: list[int], *, again: bool = False) -> Policy:
    """The policy as it begins, with results from before if it can use them.

    It begins again, as if all results were from before, if its state was of a version whose evidence cannot be used,
    and once one of them is found to be no share of the trials that it has counted with: what it has proved or excluded
    so far rests on a distribution that the rewards do not have.
    """
    config = inputs.config
    rows, columns = _sides_of(inputs, roster)
    graph: Graph = bipartite(len(rows), len(columns)) if inputs.two_sided else monopartite(len(rows))
    seed = int(stream(config["seed"], "decision", config["key"], inputs.number - 1).integers(2**62))
    spec = policy_spec(config)
    results = inputs.results
    if len(results.a) and not (again and not spec.kind.capabilities.warm_start):
        place = {item: k for side in (rows, columns) for k, item in enumerate(side)}
        pairs = [[place[a], place[b]] for a, b in zip(results.a.tolist(), results.b.tolist(), strict=True)]
        spec = spec.warm_start(pairs, results.counts, results.paid)
    return spec.build(graph, rewards=inputs.rewards, horizon=config["options"].get("horizon"), seed=seed)


def _sides_of(inputs: Inputs, roster: list[int]) -> tuple[list[int], list[int]]:
    """The items of either side; players are both."""
    if not inputs.two_sided:
        return roster, roster
    rows = [item for item in roster if inputs.sides[item - 1] == 0]
    return rows, [item for item in roster if inputs.sides[item - 1] == 1]


def _ids_of(inputs: Inputs, roster: list[int], pairs: Pairs) -> list[list[int]]:
    rows, columns = _sides_of(inputs, roster)
    return [[rows[i], columns[j]] for i, j in pairs.tolist()]
