"""The one contract: ask for the pairs of a round, tell what came back."""

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.graphs import Edges, Graph, Pairs, Selection
from matchbandit.policies.fits import Fits, Goal
from matchbandit.policies.serialization import checksum, pack, unpack
from matchbandit.policies.warm_start import cannot_start_warm
from matchbandit.product_model import by_edge
from matchbandit.rewards import Counts, Floats, RewardDistribution

STATE_VERSION = 2
"""Of what `state` gives; version 0.3 gave 1."""


@dataclass(frozen=True)
class Setting:
    """All that a policy may know: who can meet whom, the law's public face, the horizon if there is one."""

    graph: Graph
    rewards: RewardDistribution
    horizon: int | None

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
    fits: ClassVar[Fits]
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
        self.options = options if len(self.fits.selections) == 1 else {"selection": self.selection, **options}
        self.rounds = 0
        """Rounds told so far."""
        self._asked: Edges | None = None
        self._refuse_misfit()

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
        if len(cls.fits.goals) == 1:
            return cls.fits.goals[0]
        return "regret" if options.get("delta") is None else "identification"

    @property
    def answer_selection(self) -> Selection:
        """What `recommend` names: a pair or a matching."""
        return self.fits.answers or self.selection

    @property
    def splits(self) -> list[tuple[int, list[list[int]]]]:
        """After which rounds clusters were split, and the clusters from then on; none if it has no clusters."""
        return []

    @property
    def done(self) -> bool:
        """Is identification finished?"""
        return False

    def ask(self) -> Pairs:
        """The pairs of the next round, shape (k, 2); the same until they are told."""
        if self._asked is None:
            self._asked = self._next()
        return self.graph.pairs[self._asked]

    def tell(self, pairs: ArrayLike, rewards: ArrayLike) -> None:
        """What came back for the pairs asked, in any order, once; NaN where a pair did not take place."""
        if self._asked is None:
            raise MatchbanditError(
                "no round is open: it was told already, or never asked. Call ask() before each tell()."
            )
        received = self._in_order(self._asked, pairs, rewards)
        asked, self._asked = self._asked, None
        self.rounds += 1
        self._receive(asked, received)

    @abstractmethod
    def recommend(self) -> Pairs:
        """The best guess now: one pair, or a matching."""

    def explain(self) -> dict[str, Any]:
        """Why it plays what it plays, as plain data."""
        return {
            "policy": self.name,
            "options": dict(self.options),
            "selection": self.selection,
            "rounds": self.rounds,
            "asked": None if self._asked is None else self.graph.pairs[self._asked].tolist(),
            "recommendation": self.recommend().tolist(),
            **self.reasons(),
        }

    def state(self) -> dict[str, Any]:
        """All that it remembers, as plain JSON data; `load` restores it to the bit."""
        kept = {
            "matchbandit": STATE_VERSION,
            "policy": self.name,
            "options": pack(self.options),
            "setting": self.setting.describe(),
            "rounds": self.rounds,
            "asked": pack(self._asked),
            "random": pack(self.rng.bit_generator.state),
            "memory": pack(self._memory()),
        }
        return {**kept, "checksum": checksum(kept)}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a state that a policy of the same name, options and setting has given."""
        refuse_damage(state)
        mine = self.state()
        for part in ("matchbandit", "policy", "options", "setting"):
            if state[part] != mine[part]:
                raise MatchbanditError(
                    f"the state has {part} {state[part]!r}, this policy has {mine[part]!r}. "
                    f"Build the same policy, or use matchbandit.restore(state)."
                )
        self.rounds = state["rounds"]
        self.rng.bit_generator.state = unpack(state["random"])
        self._asked = unpack(state["asked"])
        self._remember(unpack(state["memory"]))

    @abstractmethod
    def _next(self) -> Edges:
        """Decide on the pairs of the next round."""

    @abstractmethod
    def _receive(self, edges: Edges, rewards: Floats) -> None:
        """Take in the rewards of a round, in the order asked; NaN: did not take place."""

    @abstractmethod
    def _memory(self) -> dict[str, Any]:
        """All that changes while playing, besides the random stream and the open round."""

    @abstractmethod
    def _remember(self, memory: dict[str, Any]) -> None:
        """Restore what `_memory` gave."""

    @abstractmethod
    def reasons(self) -> dict[str, Any]:
        """What `explain` says beyond the common part."""

    def warm_start(self, pairs: ArrayLike, counts: ArrayLike, sums: ArrayLike) -> None:
        """Begin with results from before: how often each of these pairs was played, and what it paid in total."""
        if not self.fits.warm_start:
            raise cannot_start_warm(self.name)
        if self.rounds or self._asked is not None:
            raise MatchbanditError("a warm start comes before the first round; build a fresh policy for it.")
        self.take(*by_edge(self.graph, self.setting.rewards, pairs, counts, sums))

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results; each edge comes once."""
        raise cannot_start_warm(self.name)

    def _in_order(self, asked: Edges, pairs: ArrayLike, rewards: ArrayLike) -> Floats:
        """The rewards in the order asked, checked."""
        told = self.graph.edges(pairs)
        try:
            received = np.asarray(rewards, dtype=np.float64)
        except (TypeError, ValueError):
            raise MatchbanditError(f"rewards must be numbers; got {rewards!r}. NaN marks a missing one.") from None
        if received.shape != asked.shape or told.shape != asked.shape:
            rewards_given = f"{received.size} rewards" if received.ndim == 1 else f"rewards of shape {received.shape}"
            raise MatchbanditError(
                f"{len(asked)} {'pair was' if len(asked) == 1 else 'pairs were'} asked; got {len(told)} pairs with "
                f"{rewards_given}. Give a flat list with one reward for each pair, NaN where it did not take place."
            )
        law = self.setting.rewards
        outside = (received < law.low) | (received > law.high) | np.isinf(received)
        if outside.any():
            raise MatchbanditError(
                f"rewards of the law {law.name} lie in [{law.low:g}, {law.high:g}]; got {received[outside][0]:g}. "
                f"Rescale them, or build the policy with another law."
            )
        if np.array_equal(told, asked):
            return received
        order = np.argsort(told, kind="stable")
        place = np.argsort(asked, kind="stable")
        if not np.array_equal(told[order], asked[place]):
            raise MatchbanditError(
                f"told pairs {np.asarray(pairs).tolist()} are not the pairs asked, "
                f"{self.graph.pairs[asked].tolist()}. Tell exactly those, in any order."
            )
        in_order = np.empty_like(received)
        in_order[place] = received[order]
        return in_order

    def _selection(self, given: Selection | None) -> Selection:
        if given is None:
            usual: Selection = "pair" if self.graph.kind == "bipartite" else "matching"
            return usual if usual in self.fits.selections else self.fits.selections[0]
        if not isinstance(given, str) or given not in self.fits.selections:
            raise unknown(f"selection of {self.name}", given, self.fits.selections)
        return given

    def _refuse_misfit(self) -> None:
        setting = self.setting
        why = self.fits.misfit(
            self.name, setting.graph, setting.rewards, setting.horizon, selection=self.selection, goal=self.goal
        )
        if why is not None:
            raise MatchbanditError(why)

    @classmethod
    def option_defaults(cls) -> dict[str, Any]:
        """The options that the constructor takes, with their defaults."""
        parameters = inspect.signature(cls.__init__).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def refuse_damage(state: Any) -> None:
    """Refuse what `Policy.state` has not given, or what has changed since."""
    if not isinstance(state, dict) or "checksum" not in state:
        raise MatchbanditError("this is not the state of a policy; take what state() gives.")
    if state["checksum"] != checksum({key: value for key, value in state.items() if key != "checksum"}):
        raise MatchbanditError("the state is damaged: its checksum does not fit. Go back to an older one.")
