"""The contract of every policy: ask for the pairs of a round, tell their rewards."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.graphs import Edges, Graph, Pairs, Selection, refuse_if_too_large
from matchbandit.past_results import aggregate_by_edge
from matchbandit.policies.capabilities import Capabilities, Goal
from matchbandit.policies.explanation import Elimination, Explanation
from matchbandit.policies.options import check_options, option_defaults, record_options
from matchbandit.policies.serialization import checksum, pack, unpack
from matchbandit.rewards import Counts, Floats, RewardDistribution

STATE_VERSION = 3
"""Version of the format of `state()`; `restore` refuses others."""
LONG_ROUND = 50
"""Rounds with more pairs are checked as whole arrays, and shortened in messages."""


@dataclass(frozen=True)
class Setting:
    """All that a policy may know: who can meet whom, what may be known of the rewards, the horizon if there is one."""

    graph: Graph
    rewards: RewardDistribution
    horizon: int | None
    counts_only: bool = False
    """The policy only decides, from counts that the caller keeps; of an odd number of players one sits out."""

    def describe(self) -> dict[str, Any]:
        """The setting as plain data."""
        return {
            "graph": self.graph.describe(),
            "rewards": self.rewards.describe(),
            "horizon": self.horizon,
        }


class Policy(ABC):
    """Decides whom to pair, round after round, from the rewards of the pairs that it played.

    A subclass has a `name` and `capabilities`, and takes its options as keyword-only arguments of its constructor after
    `setting` and `rng`. `self.options` holds all of them, defaults included, checked against their annotations: see
    `matchbandit.policies.options`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    """Where the algorithm comes from."""
    capabilities: ClassVar[Capabilities]
    """What it needs, and what it is for."""
    decides_from_counts: ClassVar[bool] = False
    """Is it a `CountsPolicy`, which decides from counts and sums alone?"""
    _options: Mapping[str, Any] = MappingProxyType({})
    """The options that the constructors were called with, see `record_options`."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Record the options of constructors."""
        super().__init_subclass__(**keywords)
        if "__init__" in vars(cls):
            cls.__init__ = record_options(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, setting: Setting, rng: np.random.Generator, **options: Any) -> None:
        """Refuse an incompatible setting. Options that a subclass hands on replace those that it was called with."""
        self.setting = setting
        self.rng = rng
        self.options = check_options(type(self), {**self._options, **options})
        self.selection: Selection = self._selection(self.options.get("selection"))
        if len(self.capabilities.selections) > 1:
            self.options["selection"] = self.selection
        self.rounds = 0
        """How many rounds were told."""
        self._asked: Edges | None = None
        self._shown: Pairs | None = None
        self._answer: Edges | None = None
        self._answered_at = 0
        self._refuse_incompatibility()

    def __repr__(self) -> str:
        """Who it is, where it plays, how far it is, and what it recommends."""
        best = " ".join(f"({i}, {j})" for i, j in self.recommend().tolist()[:4])
        more = " …" if self.graph.matching_size > 4 and self.answer_selection == "matching" else ""
        return (
            f"<{self.name} on {self.graph}, {self.rounds} rounds, {'answers' if self.done else 'guesses'} {best}{more}>"
        )

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    @property
    def graph(self) -> Graph:
        """Who can meet whom."""
        return self.setting.graph

    @property
    def round_size(self) -> int:
        """How many pairs a round has."""
        return 1 if self.selection == "pair" else self.graph.matching_size

    @property
    def goal(self) -> Goal:
        """What it is for."""
        return self.goal_with(self.options)

    @classmethod
    def goal_with(cls, options: dict[str, Any]) -> Goal:
        """What it is for with these options: a policy with both goals identifies when it is given a `delta`."""
        if len(cls.capabilities.goals) == 1:
            return cls.capabilities.goals[0]
        return "regret" if options.get("delta") is None else "identification"

    @classmethod
    def capabilities_with(cls, options: Mapping[str, Any]) -> Capabilities:
        """What it needs with these options; override it where an option narrows the capabilities of the class."""
        return cls.capabilities

    @property
    def answer_selection(self) -> Selection:
        """What `recommend` names: a pair or a matching."""
        return self.capabilities.answers or self.selection

    @property
    def splits(self) -> list[tuple[int, list[list[int]]]]:
        """After which rounds clusters were split, and the clusters from then on; none if it has no clusters."""
        return []

    @property
    def eliminations(self) -> list[Elimination]:
        """Who left when, on which average, by whom; none if it eliminates nobody."""
        return []

    @property
    def round(self) -> int:
        """The number of the open or next round, from 1; a new one after each tell."""
        return self.rounds + 1

    @property
    def done(self) -> bool:
        """Is identification finished? Once it is, it stays so: the answer is played, and nothing more is learnt."""
        return self._answer is not None

    def ask(self) -> Pairs:
        """The pairs of the next round, shape (k, 2), read-only; the same until they are told."""
        if self._asked is None:
            self._asked = self._next() if self._answer is None else self._turn_of(self._answer)
            self._shown = None
        if self._shown is None:
            self._shown = self._pairs_of(self._asked)
            self._shown.setflags(write=False)
        return self._shown

    def _pairs_of(self, edges: Edges) -> Pairs:
        graph = self.setting.graph
        if graph.has_few_pairs:  # quicker, once they are listed
            return graph.pairs.take(edges, axis=0)
        return graph.pairs_of(edges)

    def tell(self, pairs: ArrayLike, rewards: ArrayLike) -> None:
        """What came back for the pairs asked, in any order; NaN where a pair did not take place."""
        if self._asked is None:
            raise MatchbanditError(
                "no round is open: it was told already, or never asked. Call ask() before each tell()."
            )
        received = self._in_order(self._asked, pairs, rewards)

        def receive() -> None:
            asked, self._asked = self._asked, None
            assert asked is not None
            self.rounds += 1
            if self._answer is None and self._receive(asked, received):
                self._finish()

        self._all_or_nothing(receive)

    def _all_or_nothing(self, change: Callable[[], None]) -> None:
        """Make a change; if it fails half-way, or Ctrl-C interrupts it, the policy is as it was before."""
        rollback = self._snapshot()
        try:
            change()
        except BaseException:
            rollback()
            raise

    def _snapshot(self) -> Callable[[], None]:
        """A function that restores the policy as it is now.

        Attributes that are replaced, and the random stream, are restored here; subclasses add what they change in
        place.
        """
        attributes, random_state = dict(self.__dict__), self.rng.bit_generator.state

        def rollback() -> None:
            self.__dict__.clear()
            self.__dict__.update(attributes)
            self.rng.bit_generator.state = random_state

        return rollback

    def settle(self) -> None:
        """Notice that identification is finished, which can be so before a round is told."""
        if self._answer is None and self.goal == "identification" and self._is_finished():
            self._finish()

    def _finish(self) -> None:
        self._answer, self._answered_at = self.graph.edges(self.recommend()), self.rounds

    def _turn_of(self, answer: Edges) -> Edges:
        """The answer as a round: whole, or one pair after the other."""
        if len(answer) == self.round_size:
            return answer
        turn = (self.rounds - self._answered_at) % len(answer)
        return answer[turn : turn + 1]

    @abstractmethod
    def recommend(self) -> Pairs:
        """The best guess now, and once `done` the answer: one pair, or a matching."""

    def explain(self) -> Explanation:
        """Why it plays what it plays, as plain data; `matchbandit.policies.explanation` has the schema."""
        explanation: Explanation = {
            "policy": self.name,
            "options": dict(self.options),
            "selection": self.selection,
            "goal": self.goal,
            "rounds": self.rounds,
            "round": self.round,
            "asked": None if self._asked is None else self._pairs_of(self._asked).tolist(),
            "waiting_for": self._pairs_of(self._missing()).tolist(),
            "done": self.done,
            "recommendation": self.recommend().tolist(),
            "items": [],
            "pairs": [],
            "clusters": [],
            "eliminations": [elimination.describe() for elimination in self.eliminations],
            "next_check": None,
            "warnings": [],
            "details": {},
        }
        explanation.update(self.explain_extra())  # type: ignore[typeddict-item]
        return explanation

    def state(self) -> dict[str, Any]:
        """All that it remembers, as plain JSON data; `load` restores it to the bit."""
        content = {
            "matchbandit": STATE_VERSION,
            "policy": self.name,
            "class": type(self).__qualname__,
            "options": pack(self.options),
            "setting": self.setting.describe(),
            "rounds": self.rounds,
            "asked": pack(self._asked),
            "answer": pack(self._answer),
            "answered_at": self._answered_at,
            "random": pack(self.rng.bit_generator.state),
            "memory": pack(self._memory()),
        }
        return {**content, "checksum": checksum(content)}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a state that a policy of the same name, options and setting has given."""
        refuse_damage(state)
        mine = self.state()
        for part in ("policy", "class", "options", "setting"):
            if state[part] != mine[part]:
                raise MatchbanditError(
                    f"the state has {part} {state[part]!r}, this policy has {mine[part]!r}. "
                    f"Build the same policy, or use matchbandit.restore(state)."
                )
        self.rounds = state["rounds"]
        self.rng.bit_generator.state = unpack(state["random"])
        self._asked, self._shown = unpack(state["asked"]), None
        self._answer, self._answered_at = unpack(state["answer"]), state["answered_at"]
        self._remember(unpack(state["memory"]))

    @abstractmethod
    def _next(self) -> Edges:
        """Decide on the pairs of the next round."""

    @abstractmethod
    def _receive(self, edges: Edges, rewards: Floats) -> bool:
        """Take in the rewards of a round, in the order asked; NaN: did not take place. Is identification finished?"""

    @abstractmethod
    def _is_finished(self) -> bool:
        """Is identification finished, by what is known now?"""

    @abstractmethod
    def _memory(self) -> dict[str, Any]:
        """All that changes while playing, besides the random stream and the open round."""

    @abstractmethod
    def _remember(self, memory: dict[str, Any]) -> None:
        """Restore what `_memory` gave."""

    @abstractmethod
    def explain_extra(self) -> dict[str, Any]:
        """What `explain` says beyond the common part: items, pairs, clusters, next_check, warnings, details."""

    def _missing(self) -> Edges:
        """The pairs of the last round that did not take place and are played again."""
        return np.zeros(0, dtype=np.int64)

    def warm_start(self, pairs: ArrayLike, counts: ArrayLike, sums: ArrayLike) -> None:
        """Start from past results.

        Parameters
        ----------
        pairs : array-like of int, shape (k, 2)
            The pairs that were played.
        counts : array-like of int, shape (k,)
            How often each was played.
        sums : array-like of float, shape (k,)
            The sum of its rewards.
        """
        self.refuse_warm_start()
        if self.rounds or self._asked is not None:
            raise MatchbanditError("a warm start comes before the first round; build a fresh policy for it.")
        results = aggregate_by_edge(self.graph, self.setting.rewards, pairs, counts, sums)

        def start() -> None:
            self.add_logged(*results)
            self.settle()

        self._all_or_nothing(start)

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Add past results, checked and by edge; each edge comes once."""
        self.refuse_warm_start()

    @classmethod
    def refuse_warm_start(cls) -> None:
        """Raise an error if the policy cannot use past results."""
        if not cls.capabilities.warm_start:
            raise MatchbanditError(
                f"{cls.name} samples by a schedule of its own and cannot use past results. Use rank1-thompson "
                f"or rank1-certify; `matchbandit policies` lists all policies that can."
            )

    def _in_order(self, asked: Edges, pairs: ArrayLike, rewards: ArrayLike) -> Floats:
        """The rewards in the order asked, checked."""
        edges = asked if pairs is self._shown and asked is self._asked else self.graph.edges(pairs)
        received = to_rewards(rewards)
        if received.shape != asked.shape or edges.shape != asked.shape:
            rewards_given = f"{received.size} rewards" if received.ndim == 1 else f"rewards of shape {received.shape}"
            raise MatchbanditError(
                f"{len(asked)} {'pair was' if len(asked) == 1 else 'pairs were'} asked; got {len(edges)} pairs with "
                f"{rewards_given}. Give a flat list with one reward for each pair, NaN where it did not take place."
            )
        self._refuse_outside(received)
        if edges is asked or np.array_equal(edges, asked):
            return received
        order = np.argsort(edges, kind="stable")
        place = np.argsort(asked, kind="stable")
        if not np.array_equal(edges[order], asked[place]):
            raise MatchbanditError(
                f"told pairs {shorten(pairs)} are not the pairs asked, {shorten(self._pairs_of(asked))}. "
                f"Tell exactly those, in any order."
            )
        in_order = np.empty_like(received)
        in_order[place] = received[order]
        return in_order

    def _refuse_outside(self, received: Floats) -> None:
        """Refuse rewards that the distribution cannot give; NaN is none."""
        rewards = self.setting.rewards
        low, high, has_grid = rewards.low, rewards.high, rewards.has_grid
        if len(received) > LONG_ROUND:
            received = received[rewards.impossible(received)][:1]
        for reward in received.tolist():  # quicker than whole arrays for the few pairs of most rounds
            if reward < low or reward > high or (has_grid and not rewards.is_possible(reward)):
                raise MatchbanditError(rewards.refusal(reward))

    def _selection(self, selection: Selection | None) -> Selection:
        if selection is None:
            usual: Selection = "pair" if self.graph.is_bipartite else "matching"
            return usual if usual in self.capabilities.selections else self.capabilities.selections[0]
        if not isinstance(selection, str) or selection not in self.capabilities.selections:
            raise unknown(f"selection of {self.name}", selection, self.capabilities.selections)
        return selection

    def _refuse_incompatibility(self) -> None:
        setting = self.setting
        reason = self.capabilities_with(self.options).incompatibility(
            self.name,
            setting.graph,
            setting.rewards,
            setting.horizon,
            selection=self.selection,
            goal=self.goal,
            counts_only=setting.counts_only,
        )
        if self.goal == "regret" and self.capabilities.epsilon_in(self.options):
            reason = f"epsilon is for identification: give {self.name} delta, too, or leave epsilon out."
        if reason is not None:
            raise MatchbanditError(reason)
        refuse_if_too_large_for(type(self), setting.graph)

    @classmethod
    def option_defaults(cls) -> dict[str, Any]:
        """The options that the constructor takes, with their defaults."""
        return option_defaults(cls)


def refuse_if_too_large_for(kind: type[Policy], graph: Graph) -> None:
    """Refuse a graph with too many pairs for a policy that keeps a number for each."""
    if not kind.capabilities.any_size:
        refuse_if_too_large(graph, "Use fewer items, or rank1-thompson, which keeps only the pairs that were played.")


def to_rewards(rewards: ArrayLike) -> Floats:
    """The rewards as an array of their own; None is NaN, and text is refused, even if it reads like a number."""
    try:
        received = np.array(rewards)
        if received.dtype.kind not in "biuf":
            received = np.array(None if received.dtype.kind in "US" else rewards, dtype=np.float64)
        received = received.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        received = np.array(np.nan)
    if received.ndim == 0:
        raise MatchbanditError(f"rewards must be numbers; got {rewards!r}. NaN or None marks a missing one.")
    return received


def shorten(values: ArrayLike) -> str:
    """Pairs or rewards for an error message: no more than a few."""
    items = np.asarray(values).tolist()
    return str(items) if len(items) <= LONG_ROUND else f"{str(items[:4])[:-1]}, … {len(items)} in all]"


def refuse_damage(state: Any) -> None:
    """Refuse what `Policy.state` has not given, or what has changed since."""
    if not isinstance(state, dict) or "checksum" not in state:
        raise MatchbanditError("this is not the state of a policy; take what state() gives.")
    if state["checksum"] != checksum({key: value for key, value in state.items() if key != "checksum"}):
        raise MatchbanditError("the state is damaged: its checksum does not fit. Go back to an older one.")
    if state["matchbandit"] != STATE_VERSION:
        raise MatchbanditError(
            f"the state has format {state['matchbandit']}, of another version of matchbandit; this one reads "
            f"{STATE_VERSION}. Go on with that version, or begin anew, with warm_start from your log of results."
        )
