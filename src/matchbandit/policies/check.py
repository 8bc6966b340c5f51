"""The contract of a policy as checks that anyone can run on their own."""

import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Graph, Pairs, bipartite, monopartite
from matchbandit.policies.base import Policy
from matchbandit.policies.catalogue import PolicySpec, policy
from matchbandit.policies.explanation import KEYS, PARTS
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.rewards import Bernoulli, Binomial, Gaussian, RewardDistribution
from matchbandit.seeding import stream

_GRAPHS = (bipartite(1, 1), bipartite(1, 4), bipartite(3, 2), bipartite(2, 5), *map(monopartite, (2, 4, 5, 6)))
_REWARDS = (Bernoulli(), Binomial(3), Gaussian(0.5))
_ROUNDS, _FEWER_ROUNDS = 500, 200
"""With Bernoulli rewards, and with each other distribution."""
_HORIZON = 50

Build = Callable[[], Policy]


class ContractError(AssertionError):
    """A policy breaks the contract; the message says where and how."""


def check_policy(spec: PolicySpec | str | type[Policy]) -> None:
    """Check a policy's contract on every graph, reward distribution and selection that it claims to fit.

    There are uneven graphs among them. Each round is asked twice, told in another order, sometimes with pairs that did
    not take place; wrong answers must be refused and leave no trace; a round told twice must change nothing; a policy
    restored from JSON in the middle must go on exactly like its twin; `explain()` must follow the schema; once `done`
    it must stay so and play its answer. If it says that it decides from counts alone, its decisions must depend on
    nothing else, change nothing, and keep to what is allowed. It raises `ContractError` at the first breach.

    >>> check_policy("uts")
    """
    chosen = spec if isinstance(spec, PolicySpec) else policy(spec)
    fitted = 0
    for graph, rewards, selection in _settings(chosen):
        fitted += 1
        given = PolicySpec(chosen.kind, {**chosen.options, **selection})
        where = f"{chosen.name} on {graph} with {rewards} {selection or ''}".rstrip()
        try:
            with warnings.catch_warnings():  # what a policy warns of is no breach
                warnings.simplefilter("ignore", UserWarning)
                rounds = _ROUNDS if rewards == _REWARDS[0] else _FEWER_ROUNDS
                build = partial(given.build, graph, rewards=rewards, horizon=_HORIZON, seed=3)
                _check(build, rounds)
                _check_decisions(build)
        except (ContractError, MatchbanditError) as breach:
            raise ContractError(f"{where}: {breach}") from None
        except Exception as breach:
            raise ContractError(f"{where}: {type(breach).__name__}: {breach}") from breach
    _require(fitted > 0, f"{chosen.name} fits none of the graphs")
    _check_incompatibilities(chosen)


def _settings(spec: PolicySpec) -> Iterator[tuple[Graph, RewardDistribution, dict[str, Any]]]:
    """Every graph, reward distribution and selection that the policy claims to fit."""
    kind = spec.kind
    both = len(kind.capabilities.selections) > 1 and "selection" not in spec.options
    for graph in _GRAPHS:
        for selection in (
            kind.capabilities.selections if both else (spec.options.get("selection", kind.capabilities.selections[0]),)
        ):
            odd = (
                (kind.capabilities.answers or selection) == "matching"
                and graph.kind == "monopartite"
                and graph.shape[0] % 2
            )
            if graph.kind in kind.capabilities.graphs and (
                kind.goal_with(spec.options) in kind.capabilities.byes or not odd
            ):
                for rewards in _REWARDS:
                    if not kind.capabilities.unit_rewards or (rewards.low >= 0 and rewards.high <= 1):
                        yield graph, rewards, {"selection": selection} if both else {}


def _check_incompatibilities(spec: PolicySpec) -> None:
    """What the policy does not claim to fit, it refuses."""
    kind = spec.kind
    fits = next(
        graph for graph in _GRAPHS if graph.kind in kind.capabilities.graphs and graph.matching_size * 2 in (2, 4)
    )
    for graph in _GRAPHS:
        if graph.kind not in kind.capabilities.graphs:
            _refuses(partial(spec.build, graph, horizon=_HORIZON), f"{graph}")
        elif graph.shape == (5, 5) and kind.goal_with(spec.options) not in kind.capabilities.byes:
            only = (
                [kind.capabilities.answers]
                if kind.capabilities.answers
                else [s for s in kind.capabilities.selections if s == "matching"]
            )
            for selection in only:
                chosen = (
                    {"selection": selection}
                    if len(kind.capabilities.selections) > 1 and not kind.capabilities.answers
                    else {}
                )
                odd = PolicySpec(kind, {**spec.options, **chosen})
                _refuses(partial(odd.build, graph, horizon=_HORIZON), "an odd number of players")
    if kind.capabilities.unit_rewards:
        _refuses(lambda: spec.build(fits, rewards=Gaussian(1.0), horizon=_HORIZON), "rewards outside [0, 1]")
    if kind.capabilities.horizon and spec.options.get("delta") is None:
        _refuses(lambda: spec.build(fits), "a missing horizon")


def _check(build: Build, rounds: int) -> None:
    """The whole life of one policy."""
    noise = np.random.default_rng(11)
    one, twin = build(), build()
    global_random = _global_random()
    for number in range(rounds):
        pairs = one.ask()
        _check_pairs(one, pairs, one.round_size)
        _require(np.array_equal(one.ask(), pairs), "a second ask() before tell() gave other pairs")
        _require(np.array_equal(twin.ask(), pairs), "the same seed and rewards gave other pairs")
        if number % 100 == 7:
            _check_refusals(one, pairs)
        means = np.where(pairs.sum(axis=1) % 3 == 0, 0.95, 0.05)  # far apart, so that decisions are made
        rewards = one.setting.rewards.draw(means, noise)
        if number % 10 == 9:
            rewards[noise.integers(len(rewards))] = np.nan
        order = noise.permutation(len(pairs))
        if number % 100 == 31:
            twin = _restored(one, build())  # with the question open
        open_round, was_done = one.round, one.done
        one.tell(pairs[order], rewards[order], round=open_round)
        twin.tell(pairs, rewards)
        _require(one.round == open_round + 1, f"round {one.round} follows round {open_round}")
        if number % 25 == 3:
            _check_repeats(one, pairs, rewards, open_round)
        if was_done:
            _check_done(one, pairs)
        if number % 60 in (17, 29):  # the second is right after a pair that did not take place
            _require(twin.explain() == one.explain(), "the same seed and rewards led to another explanation")
            twin = _restored(one, build())
            _check_words(one)
        if isinstance(one, PlannedPolicy) and np.isnan(rewards).any() and not one.done:
            _require(np.array_equal(one.ask(), pairs), "a pair that did not take place is not played again")
    _require(one.rounds == rounds, f"{one.rounds} rounds are counted after {rounds} were told")
    _require(_global_random() == global_random, "it touched NumPy's global random state")


def _global_random() -> tuple[bytes, int]:
    """Where NumPy's global random stream stands."""
    state: Any = np.random.get_state()  # noqa: NPY002
    return state[1].tobytes(), state[2]


def _check_pairs(asked: Policy, pairs: Pairs, size: int) -> None:
    """Disjoint pairs, so many."""
    whole = isinstance(pairs, np.ndarray) and np.issubdtype(pairs.dtype, np.integer)
    if not (whole and pairs.shape == (size, 2)):  # its words take longer than the check
        raise ContractError(f"pairs must be ints of shape ({size}, 2); got {pairs!r}")
    asked.graph.edges(pairs)
    sides = [pairs.ravel()] if asked.graph.kind == "monopartite" else [pairs[:, 0], pairs[:, 1]]
    _require(all(len(np.unique(side)) == len(side) for side in sides), f"an item is in two pairs: {pairs.tolist()}")


def _check_refusals(asked: Policy, pairs: Pairs) -> None:
    """Wrong answers are refused, and leave no trace."""
    before = json.dumps(asked.state())
    good = np.full(len(pairs), 0.0)
    _refuses(lambda: asked.tell(pairs, np.append(good, 0.0)), "a reward too many")
    _refuses(lambda: asked.tell(pairs, good + np.inf), "an infinite reward")
    if asked.setting.rewards.high <= 1:
        _refuses(lambda: asked.tell(pairs, good + 1.5), "a reward of 1.5")
    others = [
        p for p in asked.graph.pairs.tolist() if p not in np.sort(pairs, axis=1).tolist() and p not in pairs.tolist()
    ]
    if others:
        _refuses(lambda: asked.tell(np.array([others[0], *pairs[1:].tolist()]), good), "a pair that was not asked")
    _require(json.dumps(asked.state()) == before, "a refused tell() changed the state")


def _restored(one: Policy, fresh: Policy) -> Policy:
    """A second policy that continues from the first one's state, after a trip through JSON."""
    text = json.dumps(one.state(), allow_nan=False)
    fresh.load(json.loads(text))
    _require(json.dumps(fresh.state(), allow_nan=False) == text, "state → load → state is not the same")
    _require(fresh.explain() == one.explain(), "a restored policy explains itself differently")
    return fresh


def _check_repeats(one: Policy, pairs: Pairs, rewards: Any, number: int) -> None:
    """The same round again changes nothing; with other content, too early or too late it is refused."""
    before = json.dumps(one.state())
    one.tell(pairs[::-1], rewards[::-1], round=number)
    _refuses(lambda: one.tell(pairs, 1.0 - np.nan_to_num(rewards, nan=0.5), round=number), "other rewards for a round")
    _refuses(lambda: one.tell(pairs, rewards, round=number + 1), "a round that was not asked")
    if number > 1:
        _refuses(lambda: one.tell(pairs, rewards, round=number - 1), "a round told long ago")
    _require(json.dumps(one.state()) == before, "a round told twice changed the state")


def _check_done(one: Policy, pairs: Pairs) -> None:
    """Once done it stays so, and plays its answer."""
    before = json.dumps(one.state())
    _require(one.done, "done was taken back")
    _require(json.dumps(one.state()) == before, "reading done changed the state")
    answer = one.recommend().tolist()
    _require(all(pair in answer for pair in pairs.tolist()), f"it is done and plays {pairs.tolist()}, not {answer}")


def _check_words(one: Policy) -> None:
    """What it says of itself follows the schema, as plain data; a finished round cannot be told again."""
    told = one.explain()
    json.dumps(told, allow_nan=False)
    _require(sorted(told) == sorted(KEYS), f"explain() has {sorted(told)}; the schema has {sorted(KEYS)}")
    for part, keys in PARTS.items():
        missing = [key for record in told[part] for key in keys if key not in record]
        _require(not missing, f"a record of {part} in explain() has no {missing[:1]}")
    _check_pairs(one, one.recommend(), 1 if one.answer_selection == "pair" else one.graph.matching_size)
    _require(isinstance(one.done, bool), f"done must be True or False; got {one.done!r}")
    _refuses(lambda: one.tell(one.graph.pairs[:1], [0.0]), "a round told twice")


def _check_decisions(build: Build) -> None:
    """Decisions are made from counts alone, or refused."""
    one = build()
    pairs, noise = one.graph.pairs, np.random.default_rng(5)
    if not one.capabilities.decides_from_counts:
        _refuses(lambda: one.decide(noise), "a decision without a round")
        _refuses(lambda: one.add_results(pairs[:1], [0.0], noise), "a result without a round")
        _refuses(lambda: one.set_counts([0], [1], [0.0]), "counts that someone else keeps")
        return
    twin, third = build(), build()
    counts, sums = np.zeros(len(pairs)), np.zeros(len(pairs))
    for _ in range(4):  # nothing is known, then something of most pairs
        _check_decision(one, noise)
        edges = noise.integers(len(pairs), size=len(pairs) + 2)
        rewards = (noise.random(len(edges)) < 0.5).astype(float)
        rewards[0] = np.nan
        np.add.at(counts, edges[1:], 1)
        np.add.at(sums, edges[1:], rewards[1:])
        one.add_results(pairs[edges], rewards, noise)
        for part in np.array_split(noise.permutation(len(edges)), 3):
            twin.decide(noise)  # what was decided before must not matter
            twin.add_results(pairs[edges[part]], rewards[part], noise)
        _require(_decided(one) == _decided(twin), "the order of bookings, or an earlier decision, changed a decision")
    third.set_counts([0], [7], [3.0])
    third.set_counts(np.arange(len(pairs)), counts, sums)
    _require(_decided(third) == _decided(one), "the same counts, put rather than booked, gave another decision")
    _refuses(lambda: one.add_results(pairs[:1], [0.0, 0.0], noise), "a reward too many")
    _refuses(lambda: one.add_results(pairs[:1], [np.inf], noise), "an infinite reward")
    _refuses(lambda: one.set_counts([0, 0], [1, 1], [0.0, 0.0]), "an edge that comes twice")
    _refuses(lambda: one.set_counts([len(pairs)], [1], [0.0]), "an edge that does not exist")
    _refuses(lambda: one.set_counts([0], [-1], [0.0]), "a negative count")


def _decided(one: Policy, **rules: Any) -> tuple[list[list[int]], list[float], bool, float]:
    """What it decides with a stream of the same name, as plain data."""
    decision = one.decision(stream(0, "check"), **rules)
    return decision.pairs.tolist(), decision.values.tolist(), decision.exact, decision.bound


def _check_decision(one: Policy, noise: np.random.Generator) -> None:
    """One decision, and those of what some rules allow: as many pairs as possible, none other, and nothing changes."""
    before = json.dumps(one.state())
    _check_pairs(one, one.decide(noise), one.round_size)
    _require(_decided(one) == _decided(one), "the same counts and stream gave another decision")
    waiting = one.graph.pairs[noise.integers(one.graph.n_pairs, size=3)]
    _check_pairs(one, one.decide(noise, waiting=waiting), one.round_size)
    some = np.flatnonzero(noise.random(one.graph.n_pairs) < 0.6)
    if not one.capabilities.constrained:
        _refuses(lambda: one.decide(noise, allowed=one.graph.pairs[:1]), "pairs that are allowed")
    else:
        size = min(one.round_size, _largest(one.graph.pairs[some].tolist(), one.graph.kind == "bipartite"))
        decision = one.decision(noise, allowed=one.graph.pairs[some], waiting=waiting)
        _check_pairs(one, decision.pairs, size)
        _require(
            bool(np.isin(one.graph.edges(decision.pairs), some).all()), "a decision has a pair that is not allowed"
        )
        _require(decision.value <= decision.bound + 1e-9, f"the value {decision.value} is above {decision.bound}")
    _require(json.dumps(one.state()) == before, "a decision changed the state")


def _largest(pairs: list[list[int]], across: bool) -> int:
    """How many disjoint pairs there are at most among these few."""
    if not pairs:
        return 0
    (i, j), *rest = pairs
    apart = [[a, b] for a, b in rest if a != i and b != j and (across or (a != j and b != i))]
    return max(_largest(rest, across), 1 + _largest(apart, across))


def _refuses(act: Callable[[], Any], what: str) -> None:
    try:
        act()
    except MatchbanditError:
        return
    raise ContractError(f"{what} must be refused with a MatchbanditError, and was not")


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise ContractError(otherwise)
