"""Policies that decide every round: arrays, and two small compiled functions."""

import types
from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numba import njit

from matchbandit.graphs import Edges
from matchbandit.policies.base import Policy, Setting
from matchbandit.rewards import Floats, draw_reward


class RoundPolicy(Policy):
    """A policy written as two numba-compiled functions on a bundle of arrays.

    `choose(arrays, rng, edges)` writes the pairs of the next round into `edges`; `update(arrays, rng, edges, rewards)`
    takes in what they paid. This class calls them one round at a time; `compiled_loop` calls the same two in one
    compiled loop. A pair that did not take place is left out of the update.
    """

    arrays_type: ClassVar[type[tuple[Any, ...]]]
    """A NamedTuple of arrays."""
    choose: ClassVar[Callable[..., None]]
    update: ClassVar[Callable[..., None]]

    def __init__(self, setting: Setting, rng: np.random.Generator, **options: Any) -> None:
        """Start from fresh arrays."""
        super().__init__(setting, rng, **options)
        self.arrays = self.start()

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

    def _memory(self) -> dict[str, Any]:
        return dict(self.arrays._asdict())

    def _remember(self, memory: dict[str, Any]) -> None:
        self.arrays = self.arrays_type(**memory)


def _play(
    arrays: Any, rng: Any, reward_rng: Any, coins: int, noise: float, means: Any, plays: Any, edges: Any, n: int
) -> None:
    """Play n rounds and count them in `plays`; `choose` and `update` are put in by `compiled_loop`."""
    rewards = np.zeros(len(edges))
    for _ in range(n):
        choose(arrays, rng, edges)  # type: ignore[name-defined]  # noqa: F821
        for k in range(len(edges)):
            rewards[k] = draw_reward(coins, noise, means[edges[k]], reward_rng)
            plays[edges[k]] += 1
        update(arrays, rng, edges, rewards)  # type: ignore[name-defined]  # noqa: F821


@cache
def compiled_loop(kind: type[RoundPolicy]) -> Callable[..., None]:
    """`_play` with this policy's two functions, compiled as if it stood in the policy's own file.

    Standing there, its cache on disk is kept apart from other policies' and renewed when that file changes.
    """
    home = kind.choose.py_func  # type: ignore[attr-defined]
    code = _play.__code__.replace(co_filename=home.__code__.co_filename, co_name=f"{kind.__name__}_play")
    names = {**_play.__globals__, "__name__": home.__module__, "choose": kind.choose, "update": kind.update}
    play = types.FunctionType(code, names)
    play.__module__ = home.__module__
    try:
        compiled: Callable[..., None] = njit(cache=True)(play)
    except RuntimeError:  # written at a prompt, so there is no file to keep a cache beside
        compiled = njit()(play)
    return compiled
