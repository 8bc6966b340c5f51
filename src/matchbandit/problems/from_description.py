"""Problems read back from plain data."""

from typing import Any

from matchbandit.errors import MatchbanditError
from matchbandit.problems.base import Problem
from matchbandit.problems.means import Means
from matchbandit.problems.rank1 import Bipartite, Monopartite
from matchbandit.rewards import rewards_from


def problem_from(description: dict[str, Any]) -> Problem:
    """The problem that `describe` described.

    >>> problem_from(Monopartite([0.9, 0.3]).describe())
    Monopartite 2 players, u = 0.9 0.3, Bernoulli rewards
    """
    kinds = {"bipartite": Bipartite, "monopartite": Monopartite, "means": Means}
    parts = dict(description)
    kind = kinds.get(parts.pop("kind", None))
    if kind is None:
        raise MatchbanditError("these runs are each on an instance of its own: there is no one problem to speak of.")
    problem: Problem = kind(**{**parts, "rewards": rewards_from(parts["rewards"])})
    return problem
