"""What comes of an identification."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.results.about import RunInfo, as_about, in_html, one_line_repr, spread
from matchbandit.results.result import Result
from matchbandit.rewards import Counts


@dataclass(frozen=True, eq=False, repr=False)
class Identification(Result):
    """What came of an identification: how long each run took, what it answered, whether that was right."""

    about: RunInfo
    """What was identified with what; a dict becomes one."""
    rounds: Counts
    """Rounds used, shape (runs,)."""
    pairs: Counts
    """Pair evaluations: the rounds times the pairs of a round."""
    identified: NDArray[np.bool_]
    """Did the policy come to an answer before `max_rounds` ended it?"""
    correct: NDArray[np.bool_]
    """Is the answer worth the optimum? False where nothing was identified."""
    answers: NDArray[np.int64]
    """The answer of each run, shape (runs, pairs, 2); where nothing was identified, the best guess."""

    def __post_init__(self) -> None:
        """A description may be given as a dict."""
        object.__setattr__(self, "about", as_about(self.about))

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self.rounds)

    def __repr__(self) -> str:
        """Policy, problem and outcome in a line."""
        return one_line_repr("Identification", self.about.title, self._lines())

    def _repr_html_(self) -> str:
        return in_html(self.about.title, self._lines())

    def _lines(self) -> dict[str, str]:
        told = self.summary()
        none = told["runs"] - told["identified"]
        counts = {"runs": told["runs"], "right": told["correct"], "wrong": told["wrong"], "not identified": none}
        return {**{head: str(number) for head, number in counts.items()}, "rounds": spread(self.rounds)}

    def summary(self) -> dict[str, Any]:
        """Mean, 5 % and 95 % percentile of the rounds, and how many runs were identified, right and wrong."""
        low, high = np.percentile(self.rounds, [5, 95])
        wrong = int((self.identified & ~self.correct).sum())
        return {
            "rounds": {"mean": float(self.rounds.mean()), "p5": float(low), "p95": float(high)},
            "runs": len(self.rounds),
            "identified": int(self.identified.sum()),
            "correct": int(self.correct.sum()),
            "wrong": wrong,
        }
