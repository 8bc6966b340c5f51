"""The contract of a policy, as checks that authors can run on their own policies."""

import contextlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Graph, Pairs, bipartite, monopartite
from matchbandit.policies.base import Policy
from matchbandit.policies.catalogue import PolicySpec, counts_policy, policy
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.policies.explanation import PARTS, Explanation
from matchbandit.policies.options import other_values
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.policies.round_policy import RoundPolicy
from matchbandit.policies.serialization import unpack
from matchbandit.rewards import Bernoulli, Binomial, Floats, Gaussian, RewardDistribution
from matchbandit.seeding import stream

_GRAPHS = (bipartite(1, 1), bipartite(1, 4), bipartite(3, 2), bipartite(2, 5), *map(monopartite, (2, 4, 5, 6)))
_REWARDS = (Bernoulli(), Binomial(3), Gaussian(0.5))
_ROUNDS, _FEWER_ROUNDS, _FEW_ROUNDS = 300, 100, 60
"""With Bernoulli rewards, with each other distribution, and with each other value of an option."""
_HORIZON, _BUDGET = 50, 120
"""Of policies with a fixed budget it is the budget: enough for all pairs or matchings of the test graphs."""
_INTERRUPTIONS = 6
"""At how many places a tell() is interrupted, each time that this is checked."""
_INTERRUPTED_DECISIONS = 4
"""How many decisions of a planned policy are interrupted."""

Build = Callable[[], Policy]


class ContractError(MatchbanditError, AssertionError):
    """A policy breaks the contract; the message says where and how."""


def check_policy(spec: PolicySpec | str | type[Policy]) -> None:
    """Check a policy's contract on every graph, reward distribution and selection that it claims to support.

    Each round is asked twice and told in another order, sometimes with pairs that did not take place. Wrong rewards
    must be refused, and must leave no trace; nor must a tell() that is interrupted half-way. A round told twice must
    be refused. A policy restored from JSON must continue exactly like its twin, `explain()` must follow the schema,
    and once `done` a policy must stay so and play its answer. Options are varied. A `CountsPolicy` must decide from
    counts, rules and the random stream alone, and change nothing by it.

    Parameters
    ----------
    spec : PolicySpec, str or type
        The policy: a name, `policy(name, ...)`, or a class.

    Raises
    ------
    ContractError
        At the first breach; the message names the setting and the rule.

    Examples
    --------
    >>> check_policy("uts")
    """
    chosen = spec if isinstance(spec, PolicySpec) else policy(spec)
    _check_finished(chosen.kind)
    settings = list(_settings(chosen))
    _require(len(settings) > 0, f"{chosen.name} supports none of the test graphs; check its capabilities")
    for graph, rewards, selection in settings:
        rounds = _ROUNDS if rewards == _REWARDS[0] else _FEWER_ROUNDS
        _check_setting(chosen, graph, rewards, selection, rounds)
    for option, value in _option_values(chosen):
        varied = PolicySpec(chosen.kind, {**chosen.options, option: value})
        for graph, rewards, selection in _largest_settings(varied):
            _check_setting(varied, graph, rewards, selection, _FEW_ROUNDS)
    _check_incompatibilities(chosen)


def _check_finished(kind: type[Policy]) -> None:
    """A policy that identifies says when it is finished; with the inherited `finished` it would never answer."""
    if "identification" in kind.capabilities.goals:
        for base in (RoundPolicy, PlannedPolicy):
            inherits = issubclass(kind, base) and kind.finished is base.finished
            _require(not inherits, f"{kind.name} claims to identify, and has no finished: it would never answer")


def _check_setting(
    spec: PolicySpec, graph: Graph, rewards: RewardDistribution, selection: dict[str, Any], rounds: int
) -> None:
    chosen = PolicySpec(spec.kind, {**spec.options, **selection})
    options = ", ".join(f"{name}={value!r}" for name, value in chosen.options.items())
    where = f"{spec.name} on {graph} with {rewards} {options}".rstrip()
    try:
        with warnings.catch_warnings():  # a policy may warn its users
            warnings.simplefilter("ignore", UserWarning)
            build = partial(chosen.build, graph, rewards=rewards, horizon=_horizon(spec), seed=3)
            _check_options(build(), chosen.options)
            _check(build, rounds)
            if issubclass(spec.kind, CountsPolicy) and spec.kind.decides_from_counts:
                _check_decisions(partial(counts_policy, chosen, graph, rewards))
    except (ContractError, MatchbanditError) as breach:
        raise ContractError(f"{where}: {breach}") from None
    except Exception as breach:
        raise ContractError(f"{where}: {type(breach).__name__}: {breach}") from breach


def _settings(spec: PolicySpec) -> Iterator[tuple[Graph, RewardDistribution, dict[str, Any]]]:
    """Every graph, reward distribution and selection that the policy claims to support."""
    capabilities = spec.kind.capabilities_with(spec.options)
    selections = capabilities.selections
    varies = len(selections) > 1 and "selection" not in spec.options
    for graph in _GRAPHS:
        for selection in selections if varies else (spec.options.get("selection", selections[0]),):
            for rewards in _REWARDS:
                reason = capabilities.incompatibility(
                    spec.name,
                    graph,
                    rewards,
                    _horizon(spec),
                    selection=selection,
                    goal=spec.kind.goal_with(spec.options),
                )
                if reason is None:
                    yield graph, rewards, {"selection": selection} if varies else {}


def _horizon(spec: PolicySpec) -> int:
    return _BUDGET if spec.kind.capabilities.fixed_budget else _HORIZON


def _largest_settings(spec: PolicySpec) -> list[tuple[Graph, RewardDistribution, dict[str, Any]]]:
    """Those on the largest graph of each kind, with the last reward distribution that is supported."""
    last = {(graph.kind, str(selection)): (graph, rewards, selection) for graph, rewards, selection in _settings(spec)}
    return list(last.values())


def _option_values(spec: PolicySpec) -> Iterator[tuple[str, Any]]:
    """Other values of the options, as far as the policy accepts them together with those of the spec."""
    for option, value in other_values(spec.kind):
        if option not in spec.options:
            varied = PolicySpec(spec.kind, {**spec.options, option: value})
            graph, rewards, selection = next(_settings(spec))
            try:
                PolicySpec(spec.kind, {**varied.options, **selection}).build(
                    graph, rewards=rewards, horizon=_horizon(spec)
                )
            except MatchbanditError:
                continue
            yield option, value


def _check_options(one: Policy, options: dict[str, Any]) -> None:
    """All options are recorded, and those that were passed have their value."""
    missing = [name for name in one.option_defaults() if name not in one.options]
    _require(not missing, f"the options {missing} are not among policy.options")
    for name, value in options.items():
        _require(one.options[name] == value, f"the option {name}={value!r} became {one.options[name]!r}")


def _check_incompatibilities(spec: PolicySpec) -> None:
    """The policy refuses every setting that it does not claim to support."""
    kind = spec.kind
    capabilities = kind.capabilities_with(spec.options)
    goal = kind.goal_with(spec.options)
    supported = next(_settings(spec))[0]
    for graph in _GRAPHS:
        if graph.kind not in capabilities.graphs:
            _refuses(partial(spec.build, graph, horizon=_horizon(spec)), f"{graph}")
        elif graph.has_bye and goal not in capabilities.byes:
            selections = [s for s in capabilities.selections if (capabilities.answers or s) == "matching"]
            for selection in selections:
                varied = {"selection": selection} if len(capabilities.selections) > 1 else {}
                odd = PolicySpec(kind, {**spec.options, **varied})
                _refuses(partial(odd.build, graph, horizon=_horizon(spec)), "an odd number of players")
    if capabilities.unit_rewards:
        _refuses(lambda: spec.build(supported, rewards=Gaussian(1.0), horizon=_horizon(spec)), "rewards outside [0, 1]")
    if capabilities.fixed_budget or (capabilities.horizon and goal == "regret"):
        _refuses(lambda: spec.build(supported), "a missing horizon")


def _check(build: Build, rounds: int) -> None:
    """The whole life of one policy, beside a twin that is treated differently."""
    noise = np.random.default_rng(11)
    one, twin = build(), build()
    decisions = 0
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
            twin = _restored(one)  # with the question open
        twin.tell(pairs, rewards)
        has_learned = isinstance(twin, PlannedPolicy) and twin.plan_is_over
        if number in (0, 1, 5) or (has_learned and decisions < _INTERRUPTED_DECISIONS):
            decisions += has_learned
            _check_interruptions(one, pairs[order], rewards[order])
        open_round, was_done = one.round, one.done
        one.tell(pairs[order], rewards[order])
        _require(one.round == open_round + 1, f"round {one.round} follows round {open_round}")
        if was_done:
            _check_done(one, pairs)
        if number % 60 in (17, 29):  # the second is right after a pair that did not take place
            _require(twin.explain() == one.explain(), "the same seed and rewards led to another explanation")
            twin = _restored(one)
            _check_explanation(one)
        if isinstance(one, PlannedPolicy) and np.isnan(rewards).any() and not one.done:
            _require(np.array_equal(one.ask(), pairs), "a pair that did not take place is not played again")
    _require(one.rounds == rounds, f"{one.rounds} rounds are counted after {rounds} were told")
    _require(_global_random() == global_random, "it touched NumPy's global random state")


def _global_random() -> tuple[bytes, int]:
    """The position of NumPy's global random stream."""
    state: Any = np.random.get_state()  # noqa: NPY002
    return state[1].tobytes(), state[2]


def _check_pairs(asked: Policy, pairs: Pairs, size: int) -> None:
    """`size` disjoint pairs."""
    is_whole = isinstance(pairs, np.ndarray) and np.issubdtype(pairs.dtype, np.integer)
    if not (is_whole and pairs.shape == (size, 2)):  # formatting the message takes longer than the check
        raise ContractError(f"pairs must be ints of shape ({size}, 2); got {pairs!r}")
    asked.graph.edges(pairs)
    items = asked.graph.items_of(pairs).ravel()
    _require(len(np.unique(items)) == len(items), f"an item is in two pairs: {pairs.tolist()}")


def _check_refusals(asked: Policy, pairs: Pairs) -> None:
    """Wrong rewards are refused, and leave no trace."""
    before = json.dumps(asked.state())
    zeros = np.full(len(pairs), 0.0)
    _refuses(lambda: asked.tell(pairs, np.append(zeros, 0.0)), "a reward too many")
    _refuses(lambda: asked.tell(pairs, zeros + np.inf), "an infinite reward")
    if asked.setting.rewards.high <= 1:
        _refuses(lambda: asked.tell(pairs, zeros + 1.5), "a reward of 1.5")
    others = [
        p for p in asked.graph.pairs.tolist() if p not in np.sort(pairs, axis=1).tolist() and p not in pairs.tolist()
    ]
    if others:
        _refuses(lambda: asked.tell(np.array([others[0], *pairs[1:].tolist()]), zeros), "a pair that was not asked")
    _require(json.dumps(asked.state()) == before, "a refused tell() changed the state")


def _check_interruptions(one: Policy, pairs: Pairs, rewards: Floats) -> None:
    """A tell() that is interrupted anywhere leaves the policy as it was before, or as it is after the round."""
    before = json.dumps(one.state())
    copy = _copy(one)
    copy.tell(pairs, rewards)  # compiles, too, so that only the policy's own lines are counted below
    after = json.dumps(copy.state())
    lines = _count_lines(one, partial(_copy(one).tell, pairs, rewards))
    for line in np.unique(np.linspace(1, lines, _INTERRUPTIONS).astype(int)):
        interrupted = _copy(one)
        _interrupt(one, partial(interrupted.tell, pairs, rewards), int(line))
        state = json.dumps(interrupted.state())
        _require(state in (before, after), f"a tell() that was interrupted at its line {line} changed the state")
        if state == before:
            interrupted.tell(pairs, rewards)
            _require(json.dumps(interrupted.state()) == after, "a tell() after an interrupted one had another effect")
    if isinstance(one, RoundPolicy):
        _check_failing_update(_copy(one), pairs, rewards)


def _check_failing_update(one: Policy, pairs: Pairs, rewards: Floats) -> None:
    """An update that fails half-way is rolled back; compiled ones are interpreted, so that they can be interrupted."""
    before = json.dumps(one.state())
    took_place = ~np.isnan(rewards)
    edges, paid = one.graph.edges(pairs)[took_place], rewards[took_place]

    def change(policy: Any) -> None:
        update = getattr(type(policy).update, "py_func", type(policy).update)
        policy._all_or_nothing(lambda: update(policy.arrays, policy.rng, edges, paid))

    change(_copy(one))  # compiles what the interpreted update calls
    lines = _count_lines(one, partial(change, _copy(one)))
    for line in np.unique(np.linspace(1, lines, _INTERRUPTIONS).astype(int)):
        _interrupt(one, partial(change, one), int(line))
        _require(json.dumps(one.state()) == before, f"an update that failed at its line {line} changed the state")


def _count_lines(one: Policy, act: Callable[[], None]) -> int:
    """How many lines of the policy an action runs."""
    lines = 0

    def count() -> None:
        nonlocal lines
        lines += 1

    _traced(one, act, count)
    return lines


def _interrupt(one: Policy, act: Callable[[], None], at: int) -> None:
    """Run an action, and raise KeyboardInterrupt before the policy's line of this number, as Ctrl-C would."""
    lines = 0

    def count() -> None:
        nonlocal lines
        lines += 1
        if lines == at:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        _traced(one, act, count)


def _traced(one: Policy, act: Callable[[], None], on_line: Callable[[], None]) -> None:
    """Run an action, and call a function before each line of the modules that define the policy.

    Other modules are left alone: compiled code calls some of them, and cannot be interrupted there.
    """
    modules = {kind.__module__ for kind in type(one).__mro__ if issubclass(kind, Policy)}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_globals.get("__name__") not in modules:
            return None
        if event == "line":
            on_line()
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(previous)


def _copy(one: Policy) -> Policy:
    """A second policy that continues from the first one's state, after a trip through JSON."""
    state = json.loads(json.dumps(one.state(), allow_nan=False))
    setting = one.setting
    options = {name: value for name, value in unpack(state["options"]).items() if name in one.option_defaults()}
    fresh = PolicySpec(type(one), options).build(setting.graph, rewards=setting.rewards, horizon=setting.horizon)
    fresh.load(state)
    return fresh


def _restored(one: Policy) -> Policy:
    """A copy, which must have the same state and the same explanation."""
    fresh = _copy(one)
    _require(json.dumps(fresh.state()) == json.dumps(one.state()), "state → load → state is not the same")
    _require(fresh.explain() == one.explain(), "a restored policy explains itself differently")
    return fresh


def _check_done(one: Policy, pairs: Pairs) -> None:
    """Once done it stays so, and plays its answer."""
    before = json.dumps(one.state())
    _require(one.done, "done was taken back")
    _require(json.dumps(one.state()) == before, "reading done changed the state")
    answer = one.recommend().tolist()
    _require(all(pair in answer for pair in pairs.tolist()), f"it is done and plays {pairs.tolist()}, not {answer}")


def _check_explanation(one: Policy) -> None:
    """`explain()` follows the schema, as plain data; a finished round cannot be told again."""
    explanation: Any = one.explain()
    json.dumps(explanation, allow_nan=False)
    keys = sorted(Explanation.__annotations__)
    _require(sorted(explanation) == keys, f"explain() has {sorted(explanation)}; the schema has {keys}")
    for part, required in PARTS.items():
        missing = [key for record in explanation[part] for key in required if key not in record]
        _require(not missing, f"a record of {part} in explain() has no {missing[:1]}")
    _check_pairs(one, one.recommend(), 1 if one.answer_selection == "pair" else one.graph.matching_size)
    _require(isinstance(one.done, bool), f"done must be True or False; got {one.done!r}")
    _refuses(lambda: one.tell(one.graph.pairs[:1], [0.0]), "a round told twice")


def _check_decisions(build: Callable[[], CountsPolicy]) -> None:
    """Decisions depend on counts, rules and the random stream alone."""
    one, twin, third = build(), build(), build()
    pairs, noise = one.graph.pairs, np.random.default_rng(5)
    counts, sums = np.zeros(len(pairs)), np.zeros(len(pairs))
    for _ in range(4):  # nothing is known, then something of most pairs
        _check_decision(one, noise)
        edges = noise.integers(len(pairs), size=len(pairs) + 2)
        rewards = (noise.random(len(edges)) < 0.5).astype(float)
        rewards[0] = np.nan
        if not one.done:  # afterwards nothing is learnt
            np.add.at(counts, edges[1:], 1)
            np.add.at(sums, edges[1:], rewards[1:])
        one.add_results(pairs[edges], rewards, noise)
        for part in np.array_split(noise.permutation(len(edges)), 3):
            twin.decide(noise)  # earlier decisions must not matter
            twin.add_results(pairs[edges[part]], rewards[part], noise)
        if not one.done:
            _require(
                _decision(one) == _decision(twin), "the order of results, or an earlier decision, changed a decision"
            )
    third.set_counts([0], [7], [3.0])
    third.set_counts(np.arange(len(pairs)), counts, sums)
    _require(_decision(third) == _decision(one), "the same counts, set instead of added, gave another decision")
    _refuses(lambda: one.add_results(pairs[:1], [0.0, 0.0], noise), "a reward too many")
    _refuses(lambda: one.add_results(pairs[:1], [np.inf], noise), "an infinite reward")
    _refuses(lambda: one.set_counts([0, 0], [1, 1], [0.0, 0.0]), "an edge that comes twice")
    _refuses(lambda: one.set_counts([len(pairs)], [1], [0.0]), "an edge that does not exist")
    _refuses(lambda: one.set_counts([0], [-1], [0.0]), "a negative count")
    _check_answer_stays(one, noise)


def _check_answer_stays(one: CountsPolicy, noise: np.random.Generator) -> None:
    """Once done, further results do not change the recommendation."""
    pairs = one.graph.pairs
    means = np.where(np.arange(len(pairs)) == 0, 1.0, 0.0)
    for _ in range(40):
        if one.done:
            break
        one.add_results(np.repeat(pairs, 50, axis=0), np.repeat(means, 50), noise)
    if one.done:
        answer, state = one.recommend().tolist(), json.dumps(one.state())
        one.add_results(np.repeat(pairs, 500, axis=0), np.repeat(1.0 - means, 500), noise)
        one.set_counts(np.arange(len(pairs)), np.full(len(pairs), 10**6), (1.0 - means) * 10**6)
        _require(one.recommend().tolist() == answer, "results after done changed the recommendation")
        _require(json.dumps(one.state()) == state, "results after done changed the state")


def _decision(one: CountsPolicy, **rules: Any) -> tuple[list[list[int]], list[float], bool, float]:
    """A decision with a stream of the same name, as plain data."""
    decision = one.decision(stream(0, "check"), **rules)
    return decision.pairs.tolist(), decision.values.tolist(), decision.exact, decision.bound


def _check_decision(one: CountsPolicy, noise: np.random.Generator) -> None:
    """One decision, and one under rules: as many pairs as possible, only allowed ones, and nothing changes."""
    before = json.dumps(one.state())
    _check_pairs(one, one.decide(noise), one.round_size)
    _require(_decision(one) == _decision(one), "the same counts and stream gave another decision")
    waiting = one.graph.pairs[noise.integers(one.graph.n_pairs, size=3)]
    _check_pairs(one, one.decide(noise, waiting=waiting), one.round_size)
    some = np.flatnonzero(noise.random(one.graph.n_pairs) < 0.6)
    if not one.capabilities.constrained:
        _refuses(lambda: one.decide(noise, allowed=one.graph.pairs[:1]), "a restriction to allowed pairs")
    else:
        size = min(one.round_size, _largest(one.graph.pairs[some].tolist(), one.graph.is_bipartite))
        decision = one.decision(noise, allowed=one.graph.pairs[some], waiting=waiting)
        _check_pairs(one, decision.pairs, size)
        _require(
            bool(np.isin(one.graph.edges(decision.pairs), some).all()), "a decision has a pair that is not allowed"
        )
        _require(decision.value <= decision.bound + 1e-9, f"the value {decision.value} is above {decision.bound}")
    _require(json.dumps(one.state()) == before, "a decision changed the state")


def _largest(pairs: list[list[int]], two_sided: bool) -> int:
    """The size of a largest matching, by trying all."""
    if not pairs:
        return 0
    (i, j), *rest = pairs
    disjoint = [[a, b] for a, b in rest if a != i and b != j and (two_sided or (a != j and b != i))]
    return max(_largest(rest, two_sided), 1 + _largest(disjoint, two_sided))


def _refuses(act: Callable[[], Any], what: str) -> None:
    try:
        act()
    except MatchbanditError:
        return
    raise ContractError(f"{what} must be refused with a MatchbanditError, and was not")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ContractError(message)
