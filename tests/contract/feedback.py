"""What comes back for pairs that are asked: drawn from the data of a case, without the product."""

from typing import Any

import numpy as np


class Feedback:
    """Rewards of a session: by the means of its problem, from a stream of its own, some of them missing."""

    def __init__(self, problem: dict[str, Any], seed: int, missing: list[list[int]]) -> None:
        self._problem = problem
        self._rng = np.random.default_rng(seed)
        self._missing = {(number, position) for number, position in missing}

    def rewards(self, number: int, pairs: list[list[int]]) -> list[float | None]:
        """A reward for each pair of this round (from 1); None where it is missing. Each has at most three decimals."""
        values = [self._draw(self._mean(*pair)) for pair in pairs]
        return [None if (number, position) in self._missing else value for position, value in enumerate(values)]

    def _mean(self, first: int, second: int) -> float:
        problem = self._problem
        if problem["kind"] == "means":
            return float(problem["matrix"][first][second])
        u = problem["u"]
        return float(u[first] * problem.get("v", u)[second])

    def _draw(self, mean: float) -> float:
        rewards = self._problem["rewards"]
        if rewards["kind"] == "gaussian":
            return float(round(mean + rewards["sd"] * self._rng.standard_normal(), 3))
        trials = rewards.get("trials", 1)
        return int((self._rng.random(trials) < mean).sum()) / trials
