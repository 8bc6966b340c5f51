"""Policies that decide every round: arrays, and two small compiled functions."""

import types
from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numba
import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges
from matchbandit.policies.base import Policy, Setting
from matchbandit.rewards import Counts, Floats


@compiled
def never(arrays: Any) -> bool:
    """The `finished` of a policy that only minimises regret."""
    return False


class RoundPolicy(Policy):
    """A policy written as two numba-compiled functions on a bundle of arrays.

    `choose(arrays, rng, edges)` writes the pairs of the next round into `edges`; `update(arrays, rng, edges, rewards)`
    takes in what they paid; a policy that identifies adds `finished(arrays)`. This class calls them one round at
    a time; `compiled_loop` calls the same functions in one compiled loop. A pair that did not take place is left out of
    the update.
    """

    arrays_type: ClassVar[type[tuple[Any, ...]]]
    """A NamedTuple of arrays."""
    choose: ClassVar[Callable[..., None]]
    update: ClassVar[Callable[..., None]]
    finished: ClassVar[Callable[..., bool]] = staticmethod(never)
    derived: ClassVar[tuple[str, ...]] = ()
    """Fields of the arrays, nested ones too, that follow from the setting or are made anew every round: no part of the
    state. Scalars never are: they cannot change."""

    def __init__(self, setting: Setting, rng: np.random.Generator, **options: Any) -> None:
        """Start from fresh arrays."""
        super().__init__(setting, rng, **options)
        self.arrays = self.start()

    @property
    def compiled(self) -> bool:
        """Can `choose` be called from compiled code? If not, the rounds are played through ask and tell."""
        return True

    def _is_finished(self) -> bool:
        return bool(type(self).finished(self.arrays))

    @abstractmethod
    def start(self) -> Any:
        """The arrays before the first round."""

    def _next(self) -> Edges:
        edges = np.zeros(self.round_size, dtype=np.int64)
        type(self).choose(self.arrays, self.rng, edges)
        return edges

    def _receive(self, edges: Edges, rewards: Floats) -> None:
        took_place = ~np.isnan(rewards)
        if took_place.any():
            type(self).update(self.arrays, self.rng, edges[took_place], rewards[took_place])

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results."""
        self.arrays.plays[edges] += counts
        self.arrays.sums[edges] += sums

    def _memory(self) -> dict[str, Any]:
        return self._changing(self.arrays)

    def _changing(self, arrays: Any) -> dict[str, Any]:
        parts = {name: part for name, part in arrays._asdict().items() if name not in self.derived}
        kept = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
        nested = {name: self._changing(part) for name, part in parts.items() if hasattr(part, "_asdict")}
        return kept | {name: inner for name, inner in nested.items() if inner}

    def _remember(self, memory: dict[str, Any], arrays: Any = None) -> None:
        for name, kept in memory.items():
            part = getattr(self.arrays if arrays is None else arrays, name)
            if isinstance(part, np.ndarray):
                part[...] = kept
            else:
                self._remember(kept, part)


def _play(arrays: Any, rng: Any, reward_rng: Any, noise: Any, means: Any, plays: Any, edges: Any, most: int) -> int:
    """Play until it is finished, `most` rounds at most, count them in `plays`, and say how many they were.

    `choose`, `update` and `finished` are put in by `compiled_loop`.
    """
    rewards = np.zeros(len(edges))
    for played in range(most):
        if finished(arrays):  # type: ignore[name-defined]  # noqa: F821
            return played
        choose(arrays, rng, edges)  # type: ignore[name-defined]  # noqa: F821
        for k in range(len(edges)):
            rewards[k] = draw_one(noise, means[edges[k]], reward_rng)  # type: ignore[name-defined]  # noqa: F821
            plays[edges[k]] += 1
        update(arrays, rng, edges, rewards)  # type: ignore[name-defined]  # noqa: F821
    return most


@cache
def compiled_loop(kind: type[RoundPolicy], draw_one: Callable[..., float]) -> Callable[..., int]:
    """`_play` with this policy's functions and this way to draw a reward, compiled as if it stood in the policy's file.

    numba keeps compiled code on disk by file and name, so the name says whose loop it is and from which source:
    policies do not take each other's, and a change in any of the functions' files makes a new one.
    """
    functions = {"choose": kind.choose, "update": kind.update, "finished": kind.finished, "draw_one": draw_one}
    sources = {function.py_func.__code__.co_filename for function in functions.values()}  # type: ignore[attr-defined]
    home = kind.choose.py_func  # type: ignore[attr-defined]
    code = _play.__code__.replace(co_filename=home.__code__.co_filename)
    play = types.FunctionType(code, {**_play.__globals__, "__name__": home.__module__, **functions})
    play.__module__ = home.__module__
    play.__qualname__ = f"{kind.__module__}.{kind.__qualname__}.{draw_one.__name__}.{_fingerprint(sources)}"
    try:
        compiled: Callable[..., int] = numba.njit(cache=True)(play)
    except RuntimeError:  # written at a prompt, so there is no file to keep a cache beside
        compiled = numba.njit()(play)
    return compiled


def _fingerprint(paths: set[str]) -> str:
    """A short name for the contents of these files, those that exist."""
    contents = [Path(path).read_bytes() for path in sorted(paths) if Path(path).is_file()]
    return blake2b(b"".join(contents), digest_size=6).hexdigest()
