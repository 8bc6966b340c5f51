"""Round policies play in one compiled loop over the same functions that ask and tell call."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from matchbandit.compiled import with_functions
from matchbandit.policies import RoundPolicy
from matchbandit.policies.round_policy import is_plain, no_such_edge
from matchbandit.simulation.observing import Observer, nobody
from matchbandit.simulation.score import Score
from matchbandit.simulation.sources import DrawnRewards

_LONGEST_CALL = 1_000_000
"""Rounds in one call of compiled code, which nothing can interrupt."""


def loop(policy: RoundPolicy, source: DrawnRewards, score: Score, observe: Observer = nobody) -> None:
    """Play until the horizon, one call for each stretch between checkpoints; whoever observes looks after each."""
    rewards = source.problem.rewards
    play = _loop_of(type(policy), type(rewards).draw_one)
    if is_plain(type(policy)):
        warnings.warn(
            f"the functions of {policy.name} are plain Python: they can print, and are slow. "
            f"Decorate them with matchbandit.compiled.compiled once they work.",
            stacklevel=2,
        )
    edges = np.zeros(policy.round_size, dtype=np.int64)
    while not (score.finished or policy.done):
        most = min(score.to_checkpoint, _LONGEST_CALL)
        n_pairs = policy.graph.n_pairs
        plays = score.plays if score.lists_all else np.zeros(n_pairs, dtype=np.int64)
        sums = score.sums if score.lists_all else np.zeros(n_pairs)
        rounds, wrong = play(
            policy.numba_state, source.rng, rewards.noise, source.problem.means, plays, sums, edges, most
        )
        policy.rounds += rounds
        if score.lists_all:
            score.passed(rounds)
        else:
            played = np.flatnonzero(plays)
            score.count(rounds, played, plays[played], sums[played])
        if wrong >= 0:
            raise no_such_edge(policy, edges[wrong])
        policy.settle()
        observe(policy, score)


def _play(
    numba_state: Any, reward_rng: Any, noise: Any, means: Any, plays: Any, sums: Any, edges: Any, most: int
) -> tuple[int, int]:
    """Play until it is finished, `most` rounds at most; add to the `plays` of each pair and the `sums` of its rewards.

    Gives the number of rounds, and the place of a chosen edge that does not exist, or −1.
    """
    rewards = np.zeros(len(edges))
    for played in range(most):
        if finished(numba_state.arrays):  # type: ignore[name-defined]  # noqa: F821
            return played, -1
        for k in range(len(edges)):
            edges[k] = -1
        choose(numba_state.arrays, numba_state.rng, edges)  # type: ignore[name-defined]  # noqa: F821
        for k in range(len(edges)):
            if edges[k] < 0 or edges[k] >= len(means):
                return played, k
        for k in range(len(edges)):
            rewards[k] = draw_one(noise, means[edges[k]], reward_rng)  # type: ignore[name-defined]  # noqa: F821
            plays[edges[k]] += 1
            sums[edges[k]] += rewards[k]
        update(numba_state.arrays, numba_state.rng, edges, rewards)  # type: ignore[name-defined]  # noqa: F821
    return most, -1


@cache
def _loop_of(kind: type[RoundPolicy], draw_one: Callable[..., float]) -> Callable[..., tuple[int, int]]:
    """`_play` with this policy's functions, and this way to draw a reward."""
    functions = {"choose": kind.choose, "update": kind.update, "finished": kind.finished, "draw_one": draw_one}
    return with_functions(_play, plain=is_plain(kind), **functions)
