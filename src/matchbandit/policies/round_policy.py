"""Policies that decide every round: a NamedTuple of arrays and numbers, and two small functions."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numba.core import types
from numba.experimental import structref
from numpy.typing import NDArray

from matchbandit.compiled import compiled, inlined
from matchbandit.errors import MatchbanditError
from matchbandit.fingerprint import is_compiled
from matchbandit.graphs import Edges
from matchbandit.policies.base import Policy, Setting
from matchbandit.rewards import Counts, Floats


@compiled
def never(arrays: Any) -> bool:
    """The `finished` of a policy that only minimises regret."""
    return False


@compiled
def succeeds(reward: float, rng: np.random.Generator) -> bool:
    """Is this reward in [0, 1] a success? Strictly between 0 and 1, with that probability."""
    return bool(reward >= 1.0 or (reward > 0.0 and rng.random() < reward))


class RoundPolicy(Policy):
    """A policy written as two functions on a NamedTuple of arrays and numbers.

    `choose(arrays, rng, edges)` writes the pairs of the next round into `edges`; `update(arrays, rng, edges, rewards)`
    takes in what they paid; a policy that identifies adds `finished(arrays)`. This class calls them one round at
    a time; the loop engine calls the same functions in one compiled loop. Functions in plain Python work too, slowly. A
    pair that did not take place is left out of the update; if none did, there is none.
    """

    transient_fields: ClassVar[tuple[str, ...]] = ()
    """Fields, nested ones too, that `start` gives again or that are made anew every round: no part of the state, nor
    are scalars, which cannot change."""
    choose: ClassVar[Callable[..., None]]
    update: ClassVar[Callable[..., None]]
    finished: ClassVar[Callable[..., bool]] = staticmethod(never)
    counts_empty_rounds: ClassVar[bool] = False
    """Its update wants to know of rounds in which no pair took place, too."""

    def __init__(self, setting: Setting, rng: np.random.Generator, **options: Any) -> None:
        """Start from fresh arrays."""
        super().__init__(setting, rng, **options)
        self.arrays = self.start()
        check_storable(self.name, self.arrays)

    def __getstate__(self) -> dict[str, Any]:
        """All but what compiled code holds, which is made anew: for copies and pickles."""
        return {**self.__dict__, "_numba_state": None}

    @property
    def arrays(self) -> Any:
        """All that it knows."""
        return self._arrays

    @arrays.setter
    def arrays(self, arrays: Any) -> None:
        self._arrays = arrays
        self._numba_state: Any = None

    @property
    def numba_state(self) -> Any:
        """Arrays and random stream as its functions take them."""
        if self._numba_state is None:
            plain = is_plain(type(self))
            self._numba_state = (
                SimpleNamespace(arrays=self.arrays, rng=self.rng) if plain else to_numba(self.arrays, self.rng)
            )
        return self._numba_state

    @property
    def compiled(self) -> bool:
        """Can a round be played without Python? If not, the rounds are played through ask and tell."""
        return True

    @abstractmethod
    def start(self) -> Any:
        """The arrays before the first round."""

    def _next(self) -> Edges:
        edges = np.zeros(self.round_size, dtype=np.int64)
        wrong = _ask_and_tell(type(self))[0](self.numba_state, edges, self.graph.n_pairs)
        if wrong >= 0:
            raise no_such_edge(self, edges[wrong])
        return edges

    def _receive(self, edges: Edges, rewards: Floats) -> bool:
        return bool(_ask_and_tell(type(self))[1](self.numba_state, edges, rewards, self.counts_empty_rounds))

    def _is_finished(self) -> bool:
        return bool(type(self).finished(self.arrays))

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Add past results to `plays` and `sums`; each edge comes once."""
        self.arrays.plays[edges] += counts
        self.arrays.sums[edges] += sums

    def _snapshot(self) -> Callable[[], None]:
        restore_attributes = super()._snapshot()
        contents = [(array, array.copy()) for array in self._mutable_arrays(self.arrays)]

        def rollback() -> None:
            restore_attributes()
            for array, content in contents:
                array[...] = content

        return rollback

    def _mutable_arrays(self, arrays: Any) -> Iterator[NDArray[Any]]:
        """Every array that a round may change in place."""
        for name, part in arrays._asdict().items():
            if hasattr(part, "_asdict"):
                yield from self._mutable_arrays(part)
            elif isinstance(part, np.ndarray) and name not in self.transient_fields:
                yield part

    def _memory(self) -> dict[str, Any]:
        return self._changing(self.arrays)

    def _changing(self, arrays: Any) -> dict[str, Any]:
        parts = {name: part for name, part in arrays._asdict().items() if name not in self.transient_fields}
        nested = {name: self._changing(part) for name, part in parts.items() if hasattr(part, "_asdict")}
        values = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
        return values | {name: inner for name, inner in nested.items() if inner}

    def _remember(self, memory: dict[str, Any], arrays: Any = None) -> None:
        for name, value in memory.items():
            part = getattr(self.arrays if arrays is None else arrays, name)
            if isinstance(part, np.ndarray):
                part[...] = value
            else:
                self._remember(value, part)


def copy_arrays(part: Any) -> Any:
    """A copy of nested arrays and numbers."""
    if hasattr(part, "_asdict"):
        return part._replace(**{name: copy_arrays(inner) for name, inner in part._asdict().items()})
    return part.copy() if isinstance(part, np.ndarray) else part


def check_storable(name: str, arrays: Any) -> None:
    """Refuse arrays that a state could not keep whole."""
    if not hasattr(arrays, "_asdict"):
        raise MatchbanditError(f"start() of {name} must give a NamedTuple; got {type(arrays).__name__}.")
    for field, part in arrays._asdict().items():
        if hasattr(part, "_asdict"):
            check_storable(name, part)
        elif not isinstance(part, np.ndarray | np.generic | int | float) and part != ():
            raise MatchbanditError(
                f"the field {field} of {name} is a {type(part).__name__}, which cannot be stored. "
                f"Take arrays, numbers, and NamedTuples of them."
            )


def is_plain(kind: type[RoundPolicy]) -> bool:
    """Is one of its functions plain Python, so that compiled code cannot call it?"""
    return not all(map(is_compiled, (kind.choose, kind.update, kind.finished)))


def no_such_edge(policy: Policy, edge: int) -> MatchbanditError:
    """The error for a `choose` that names an edge that does not exist."""
    return MatchbanditError(
        f"{policy.name} chose the edge {edge} in round {policy.round}; {policy.graph} has {policy.graph.n_pairs} "
        f"pairs, numbered from 0. Fix its choose()."
    )


@structref.register
class NumbaStateType(types.StructRef):
    """The type of `NumbaState`."""

    @property
    def key(self) -> Any:
        """Its fields: by its name alone, NamedTuples of two policies with the same name and types were one type."""
        return self._fields


class NumbaState(structref.StructRefProxy):
    """Arrays and a random stream, taken apart for compiled code once rather than at every call, which takes 8 µs."""


structref.define_boxing(NumbaStateType, NumbaState)
structref.define_attributes(NumbaStateType)
structref.define_constructor(NumbaState, NumbaStateType, ["arrays", "rng"])


@compiled
def to_numba(arrays: Any, rng: np.random.Generator) -> NumbaState:
    """Hold them; what compiled code changes in the arrays and the stream, Python sees."""
    return NumbaState(arrays, rng)  # type: ignore[no-untyped-call]


def _make_ask(choose: Callable[..., None]) -> Callable[..., int]:
    """A function that chooses, and returns the position of a chosen edge that does not exist, or −1."""

    def ask(numba_state: Any, edges: Edges, n_pairs: int) -> int:
        for k in range(len(edges)):
            edges[k] = -1
        choose(numba_state.arrays, numba_state.rng, edges)
        for k in range(len(edges)):
            if edges[k] < 0 or edges[k] >= n_pairs:
                return k
        return -1

    return ask


def _make_tell(update: Callable[..., None], finished: Callable[..., bool]) -> Callable[..., bool]:
    """A function that updates with the pairs that took place, and returns whether identification is finished."""

    def tell(numba_state: Any, edges: Edges, rewards: Floats, counts_empty_rounds: bool) -> bool:
        n = 0
        for k in range(len(rewards)):
            if not np.isnan(rewards[k]):
                n += 1
        played, paid = edges, rewards
        if n < len(edges):
            played, paid = np.empty(n, dtype=np.int64), np.empty(n)
            n = 0
            for k in range(len(rewards)):
                if not np.isnan(rewards[k]):
                    played[n], paid[n] = edges[k], rewards[k]
                    n += 1
        if n > 0 or counts_empty_rounds:
            update(numba_state.arrays, numba_state.rng, played, paid)
        return finished(numba_state.arrays)

    return tell


@cache
def _ask_and_tell(kind: type[RoundPolicy]) -> tuple[Callable[..., int], Callable[..., bool]]:
    """Both with this policy's functions, compiled if those are."""
    if is_plain(kind):
        return _make_ask(kind.choose), _make_tell(kind.update, kind.finished)
    return (
        compiled(_make_ask(inlined(kind.choose))),
        compiled(_make_tell(inlined(kind.update), inlined(kind.finished))),
    )
