"""Description of a set of runs: problem, policy, options, seed, versions and date."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import graph_from


@dataclass(frozen=True, eq=False)
class RunInfo(Mapping[str, Any]):
    """What was played, with what, and when, as attributes (`about.policy`) and as a mapping (`about["policy"]`).

    Fields that are None are not in the mapping. Two records are equal if they differ in their date only: the same seed
    gives the same numbers on any day.
    """

    problem: dict[str, Any]
    """The problem or the family, as its `describe()` gives it."""
    graph: dict[str, Any]
    """The graph of the problem, as its `describe()` gives it."""
    policy: str
    """The name of the policy."""
    options: dict[str, Any]
    """All of the policy's options, those left at their default included."""
    selection: str
    """What a round played: a pair or a matching."""
    runs: int
    """Number of runs."""
    seed: int
    """The root of all random streams."""
    engine: str
    """The engine that played them."""
    horizon: int | None = None
    """Of a simulation."""
    max_rounds: int | None = None
    """Of an identification with fixed confidence."""
    epsilon: float | None = None
    """Of an identification: the share of the optimum that a correct answer may lack; None: nothing."""
    budget: int | None = None
    """Of an identification with a fixed budget: the rounds that the policy knew it had."""
    answers: str | None = None
    """What an identification answers with: a pair or a matching."""
    stop: str | None = None
    """What ended runs early."""
    warm_start: dict[str, Any] | None = None
    """The past results that the policy started from."""
    first_run: int | None = None
    """The number of the first run, if it is not 0."""
    run_numbers: list[int] | None = None
    """The number of each run, if they are not consecutive: Ctrl-C left some out, say."""
    interrupted_of: int | None = None
    """The number of runs that were asked for, if Ctrl-C ended them early."""
    version: str | None = None
    """The version of matchbandit that computed the results; several with commas, of pieces put together."""
    numpy: str | None = None
    """The version of NumPy."""
    date: str | None = None
    """When it was played: UTC, as ISO 8601."""
    study: str | None = None
    """The name of the study that the runs belong to: the column `study` of their rows."""
    more: dict[str, Any] = field(default_factory=dict)
    """Keys that other programs or later versions have added."""

    @classmethod
    def now(cls, **parts: Any) -> "RunInfo":
        """Describe runs of this moment, with the installed versions of matchbandit and NumPy."""
        today = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(**parts, version=version("matchbandit"), numpy=np.__version__, date=today)

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> "RunInfo":
        """Read what `describe` wrote; unknown keys go to `more`."""
        missing = [key for key in _REQUIRED if key not in description]
        if missing:
            raise MatchbanditError(f"the description of the runs lacks {', '.join(missing)}.")
        fields_ = {key: value for key, value in description.items() if key in _FIELDS}
        return cls(**fields_, more={key: value for key, value in description.items() if key not in _FIELDS})

    def describe(self) -> dict[str, Any]:
        """Return plain data, without the fields that are None."""
        values = {key: getattr(self, key) for key in _FIELDS}
        return {key: value for key, value in values.items() if value is not None} | self.more

    def __getitem__(self, key: str) -> Any:
        """Return a field that is not None."""
        return self.describe()[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields that are not None."""
        return iter(self.describe())

    def __len__(self) -> int:
        """Count the fields that are not None."""
        return len(self.describe())

    def __eq__(self, other: object) -> bool:
        """Compare everything but the date."""
        if not isinstance(other, Mapping):
            return NotImplemented
        return {**self, "date": None} == {**other, "date": None}

    __hash__ = None  # type: ignore[assignment]  # it holds dicts

    def numbers(self, runs: int) -> list[int]:
        """Return the number of each of these runs."""
        first = self.first_run or 0
        return list(self.run_numbers or range(first, first + runs))

    @property
    def title(self) -> str:
        """Policy, options and problem in short."""
        options = ", ".join(f"{key}={value}" for key, value in self.options.items() if value is not None)
        policy = f"{self.policy}({options})" if options else self.policy
        return f"{policy} on {self.problem_summary}"

    @property
    def problem_summary(self) -> str:
        """Family, graph and rewards in short."""
        rewards = self.problem.get("rewards", {}).get("name", "")
        family = f"{self.problem['family']}, " if "family" in self.problem else ""
        drift = f", {self.problem['drift']['kind']} drift" if "drift" in self.problem else ""
        return f"{family}{graph_from(self.graph)}, {rewards} rewards{drift}"


_FIELDS = [one.name for one in fields(RunInfo) if one.name != "more"]
_REQUIRED = _FIELDS[: _FIELDS.index("horizon")]
