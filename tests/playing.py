"""Leagues that are played in tests: proposals and outcomes with known means."""

from collections.abc import Callable

import numpy as np

from matchbandit.leagues import League
from matchbandit.leagues.records import Proposal

Mean = Callable[[int, int], float]


def play(league: League, rounds: int, mean: Mean, seed: int = 0) -> list[Proposal]:
    """Ask and record an outcome of each pair, which is 1 with probability `mean(a, b)` of the ids."""
    rng = np.random.default_rng(seed)
    proposals = []
    for _ in range(rounds):
        proposal = league.ask()
        league.tell(proposal.number, {pair.ids: float(rng.random() < mean(*pair.ids)) for pair in proposal.pairs})
        proposals.append(proposal)
    return proposals


def product(a: int, b: int) -> float:
    """Means that are products of strengths, which alternate."""
    return (0.9 if a % 2 else 0.4) * (0.9 if b % 2 else 0.4)


def same_parity(a: int, b: int) -> float:
    """Means that no product fits: who is alike achieves much together."""
    return 0.95 if (a - b) % 3 == 0 else 0.15
