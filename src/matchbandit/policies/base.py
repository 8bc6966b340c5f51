"""The one contract: ask for the pairs of a round, tell what came back."""

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.allowed import Allowed
from matchbandit.errors import MatchbanditError, check_int, unknown
from matchbandit.graphs import Edges, Graph, Pairs, Selection, refuse_if_too_large
from matchbandit.logged import by_edge
from matchbandit.policies.capabilities import Capabilities, Goal
from matchbandit.policies.decision import Decision, cannot_be_constrained, cannot_decide
from matchbandit.policies.explanation import Elimination
from matchbandit.policies.serialization import checksum, pack, unpack
from matchbandit.policies.warm_start import cannot_start_warm
from matchbandit.rewards import Counts, Floats, RewardDistribution

STATE_VERSION = 2
"""Of what `state` gives; version 0.3 gave 1."""
SLACK = 1e-9
"""By how much sums that were added up and have faded may be off."""
LONG_ROUND = 50
"""Rounds with more pairs are checked as whole arrays, and shortened in messages."""


@dataclass(frozen=True)
class Setting:
    """All that a policy may know: who can meet whom, what may be known of the rewards, the horizon if there is one."""

    graph: Graph
    rewards: RewardDistribution
    horizon: int | None
    decides: bool = False
    """It only decides, from counts that someone else keeps, who lets one of an odd number of players sit out."""

    def describe(self) -> dict[str, Any]:
        """The setting as plain data."""
        return {
            "graph": self.graph.describe(),
            "rewards": self.rewards.describe(),
            "horizon": self.horizon,
        }


class Policy(ABC):
    """Decides whom to pair, round after round, from the rewards of the pairs that it played.

    A subclass names itself and what it fits, and takes its options as keyword arguments after setting and rng.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    """Where the algorithm comes from."""
    capabilities: ClassVar[Capabilities]
    """What it needs, and what it is for."""

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        selection: Selection | None = None,
        **options: Any,
    ) -> None:
        """Refuse a setting that does not fit; subclasses hand all their options on, so that a state can name them."""
        self.setting = setting
        self.rng = rng
        self.selection: Selection = self._selection(selection)
        self.options = options if len(self.capabilities.selections) == 1 else {"selection": self.selection, **options}
        self.rounds = 0
        """Rounds told so far."""
        self._asked: Edges | None = None
        self._shown: Pairs | None = None
        self._told: tuple[Edges, Floats] | None = None
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

    def tell(self, pairs: ArrayLike, rewards: ArrayLike, *, round: int | None = None) -> None:
        """What came back for the pairs asked, in any order; NaN where a pair did not take place.

        With `round`, the number that `policy.round` had when they were asked, a call can be repeated: the last told
        round with the same content changes nothing, with other content it is refused.
        """
        if round is not None and self._is_repeat(round, pairs, rewards):
            return
        if self._asked is None:
            raise MatchbanditError(
                "no round is open: it was told already, or never asked. Call ask() before each tell()."
            )
        received = self._in_order(self._asked, pairs, rewards)
        before = self._asked, self._told
        asked, self._asked = self._asked, None
        self._told, self.rounds = (asked, received), self.rounds + 1
        try:
            finished = self._answer is None and self._receive(asked, received)
        except BaseException:  # Ctrl-C, or an update of yours that failed: the round is still open
            self._asked, self._told = before
            self.rounds -= 1
            raise
        if finished:
            self._finish()

    def settle(self) -> None:
        """Notice that identification is finished, where that can be so before a round is told."""
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

    def _is_repeat(self, number: int, pairs: ArrayLike, rewards: ArrayLike) -> bool:
        """Is this the last told round again? Anything else but the open round is refused."""
        number = check_int("round", number, minimum=1)
        if number == self.round and self._asked is not None:
            return False
        if number > self.rounds:
            raise MatchbanditError(f"round {number} was not asked; call ask() first. The next round is {self.round}.")
        if number < self.rounds or self._told is None:
            raise MatchbanditError(f"round {number} was told already; {self._open_round()}.")
        asked, known = self._told
        if not np.array_equal(self._in_order(asked, pairs, rewards), known, equal_nan=True):
            raise MatchbanditError(
                f"round {number} was told already, with other rewards: {_shortened(known)}. What is told stays told."
            )
        return True

    def _open_round(self) -> str:
        return f"round {self.round} is open" if self._asked is not None else f"the next round is {self.round}"

    @abstractmethod
    def recommend(self) -> Pairs:
        """The best guess now, and once `done` the answer: one pair, or a matching."""

    def explain(self) -> dict[str, Any]:
        """Why it plays what it plays, as plain data; `matchbandit.policies.explanation` has the schema."""
        return {
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
            **self.explain_extra(),
        }

    def state(self) -> dict[str, Any]:
        """All that it remembers, as plain JSON data; `load` restores it to the bit."""
        kept = {
            "matchbandit": STATE_VERSION,
            "policy": self.name,
            "class": type(self).__qualname__,
            "options": pack(self.options),
            "setting": self.setting.describe(),
            "rounds": self.rounds,
            "asked": pack(self._asked),
            "told": pack(self._told),
            "answer": pack(self._answer),
            "answered_at": self._answered_at,
            "random": pack(self.rng.bit_generator.state),
            "memory": pack(self._memory()),
        }
        return {**kept, "checksum": checksum(kept)}

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
        told = unpack(state["told"])
        self._told = None if told is None else (told[0], told[1])
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
        """Begin with results from before: how often each of these pairs was played, and what it paid in total."""
        if not self.capabilities.warm_start:
            raise cannot_start_warm(self.name)
        if self.rounds or self._asked is not None:
            raise MatchbanditError("a warm start comes before the first round; build a fresh policy for it.")
        self.add_logged(*by_edge(self.graph, self.setting.rewards, pairs, counts, sums))
        self.settle()

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results; each edge comes once."""
        raise cannot_start_warm(self.name)

    def decide(
        self, rng: np.random.Generator, *, allowed: Allowed | ArrayLike | None = None, waiting: ArrayLike | None = None
    ) -> Pairs:
        """The pairs that it would play now, of shape (k, 2), without opening a round; see `decision`."""
        return self.decision(rng, allowed=allowed, waiting=waiting).pairs

    def decision(
        self, rng: np.random.Generator, *, allowed: Allowed | ArrayLike | None = None, waiting: ArrayLike | None = None
    ) -> Decision:
        """What it would play now, and by which weights; nothing changes, and no round is opened.

        It depends on the counts, on `allowed`, on `waiting` and on the stream `rng` alone, whatever was decided before.
        `allowed` are the pairs to choose from, of shape (k, 2), or an `Allowed`; by default all. `waiting` are pairs
        whose results are still to come, as often as they are: an index counts them as played, with the mean that they
        have (½ before the first result); draws differ anyway and do not.

        `ask` is built on the same functions, and differs in this: it draws from the policy's own stream, and
        rank1-thompson then goes on from its last fit, and lets players sit out in turn rather than the weakest.
        """
        if not self.capabilities.decides_from_counts:
            raise cannot_decide(self.name)
        which = Allowed.read(self.graph, allowed)
        if not (which.is_unrestricted or self.capabilities.constrained):
            raise cannot_be_constrained(self.name)
        no_edges = np.zeros(0, dtype=np.int64)
        open_edges = no_edges if waiting is None or not np.size(waiting) else self.graph.edges(waiting)
        return self._decision(which, open_edges, rng)

    def _decision(self, allowed: Allowed, waiting: Edges, rng: np.random.Generator) -> Decision:
        """The decision; `waiting` has an edge as often as it waits."""
        raise cannot_decide(self.name)

    def add_results(self, pairs: ArrayLike, rewards: ArrayLike, rng: np.random.Generator) -> None:
        """Count these results, of any pairs, in any order, a pair also several times; NaN: did not take place.

        No round is told by it, and nothing fades.
        """
        if not self.capabilities.decides_from_counts:
            raise cannot_decide(self.name)
        edges = self.graph.edges(pairs) if np.size(pairs) else np.zeros(0, dtype=np.int64)
        received = _numbers(rewards)
        if received.shape != edges.shape:
            raise MatchbanditError(
                f"{len(edges)} pairs need a reward each; got rewards of shape {received.shape}. "
                f"NaN marks a pair that did not take place."
            )
        took_place = ~np.isnan(received)
        paid = self.encode_rewards(received, rng)[took_place]
        booked, places = np.unique(edges[took_place], return_inverse=True)
        counts = np.bincount(places, minlength=len(booked))
        self._add_results(booked, counts, np.bincount(places, paid, minlength=len(booked)).astype(np.float64))
        self.settle()

    def encode_rewards(self, rewards: ArrayLike, rng: np.random.Generator) -> Floats:
        """What booking these rewards adds to the sums: the rewards themselves, unless the policy counts otherwise."""
        received = _numbers(rewards)
        self._refuse_outside(received)
        return received

    def _add_results(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Add counts and credited sums; each edge comes once, in order."""
        raise cannot_decide(self.name)

    def set_counts(self, edges: ArrayLike, counts: ArrayLike, sums: ArrayLike) -> None:
        """Set counts and credited sums of these edges, sorted, each once: for whoever keeps the tally elsewhere.

        What the others have stays. rank1-thompson takes fractions, of results that have faded.
        """
        if not self.capabilities.decides_from_counts:
            raise cannot_decide(self.name)
        which = np.asarray(edges, dtype=np.int64)
        if which.ndim != 1 or (np.diff(which) <= 0).any():
            raise MatchbanditError("put takes edges in rising order, each once; graph.edges(pairs) gives them.")
        if which.size and (which[0] < 0 or which[-1] >= self.graph.n_pairs):
            raise MatchbanditError(f"{self.graph} has {self.graph.n_pairs} pairs; got the edges {_shortened(which)}.")
        plays, paid = np.asarray(counts, dtype=np.float64), np.asarray(sums, dtype=np.float64)
        if plays.shape != which.shape or paid.shape != which.shape:
            raise MatchbanditError(
                f"{len(which)} edges need a count and a sum each; got shapes {plays.shape} and {paid.shape}."
            )
        if not (np.isfinite(plays).all() and np.isfinite(paid).all() and (plays >= 0).all()):
            raise MatchbanditError("counts must be numbers from 0 on, and sums must be numbers.")
        low, high = self.setting.rewards.low * plays, self.setting.rewards.high * plays
        outside = np.flatnonzero((paid < low - SLACK * (1 + plays)) | (paid > high + SLACK * (1 + plays)))
        if len(outside):
            k = outside[0]
            raise MatchbanditError(
                f"{plays[k]:g} {self.setting.rewards.name} rewards sum to between {low[k]:g} and {high[k]:g}; "
                f"got {paid[k]:g} for the pair {self.graph.pairs_of(which[k : k + 1])[0].tolist()}."
            )
        self._set_counts(which, plays, paid)

    def _set_counts(self, edges: Edges, counts: Floats, sums: Floats) -> None:
        """Set what `put` has checked."""
        raise cannot_decide(self.name)

    def _in_order(self, asked: Edges, pairs: ArrayLike, rewards: ArrayLike) -> Floats:
        """The rewards in the order asked, checked."""
        told = asked if pairs is self._shown and asked is self._asked else self.graph.edges(pairs)
        received = _numbers(rewards)
        if received.shape != asked.shape or told.shape != asked.shape:
            rewards_given = f"{received.size} rewards" if received.ndim == 1 else f"rewards of shape {received.shape}"
            raise MatchbanditError(
                f"{len(asked)} {'pair was' if len(asked) == 1 else 'pairs were'} asked; got {len(told)} pairs with "
                f"{rewards_given}. Give a flat list with one reward for each pair, NaN where it did not take place."
            )
        self._refuse_outside(received)
        if told is asked or np.array_equal(told, asked):
            return received
        order = np.argsort(told, kind="stable")
        place = np.argsort(asked, kind="stable")
        if not np.array_equal(told[order], asked[place]):
            raise MatchbanditError(
                f"told pairs {_shortened(pairs)} are not the pairs asked, {_shortened(self._pairs_of(asked))}. "
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
            if reward < low or reward > high or (has_grid and not rewards.can_be(reward)):
                raise MatchbanditError(rewards.refusal(reward))

    def _selection(self, given: Selection | None) -> Selection:
        if given is None:
            usual: Selection = "pair" if self.graph.kind == "bipartite" else "matching"
            return usual if usual in self.capabilities.selections else self.capabilities.selections[0]
        if not isinstance(given, str) or given not in self.capabilities.selections:
            raise unknown(f"selection of {self.name}", given, self.capabilities.selections)
        return given

    def _refuse_incompatibility(self) -> None:
        setting = self.setting
        why = self.capabilities.incompatibility(
            self.name,
            setting.graph,
            setting.rewards,
            setting.horizon,
            selection=self.selection,
            goal=self.goal,
            decides=setting.decides,
        )
        if why is not None:
            raise MatchbanditError(why)
        refuse_if_too_large_for(type(self), setting.graph)

    @classmethod
    def option_defaults(cls) -> dict[str, Any]:
        """The options that the constructor takes, with their defaults."""
        parameters = inspect.signature(cls.__init__).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def refuse_if_too_large_for(kind: type[Policy], graph: Graph) -> None:
    """Refuse a graph with too many pairs for a policy that keeps a number for each."""
    if not kind.capabilities.any_size:
        refuse_if_too_large(graph, "Take fewer items, or rank1-thompson, which keeps only the pairs that were played.")


def _numbers(rewards: ArrayLike) -> Floats:
    """The rewards as an array of their own; None is NaN, and text is no number, even if it reads like one."""
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


def _shortened(values: ArrayLike) -> str:
    """Pairs or rewards for an error message: no more than a few."""
    listed = np.asarray(values).tolist()
    return str(listed) if len(listed) <= LONG_ROUND else f"{str(listed[:4])[:-1]}, … {len(listed)} in all]"


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
