"""What was played, with what, and when; and how results say it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import graph_from


@dataclass(frozen=True, eq=False)
class RunInfo(Mapping[str, Any]):
    """What was played, with what, and when: `about.policy`, or as a mapping, `about["policy"]`, without what is None.

    Two are equal when they say the same but for the date: the same seed gives the same numbers on any day.
    """

    problem: dict[str, Any]
    """The problem or the family, as its `describe()` gives it."""
    graph: dict[str, Any]
    policy: str
    options: dict[str, Any]
    """All of the policy's options, those left at their default included."""
    selection: str
    """What a round played: a pair or a matching."""
    runs: int
    seed: int
    engine: str
    horizon: int | None = None
    """Of a simulation."""
    max_rounds: int | None = None
    """Of an identification."""
    answers: str | None = None
    """What an identification answers with: a pair or a matching."""
    stop: str | None = None
    warm_start: dict[str, Any] | None = None
    first_run: int | None = None
    """The number of the first run, if it is not 0."""
    run_numbers: list[int] | None = None
    """Which runs these are, if they do not follow each other: Ctrl-C left some out, say."""
    interrupted_of: int | None = None
    """How many runs it would have been."""
    version: str | None = None
    """Of matchbandit; None in files of version 0.3 and before, which also lack the next two."""
    numpy: str | None = None
    date: str | None = None
    """When it was played: UTC, as ISO 8601."""
    more: dict[str, Any] = field(default_factory=dict)
    """What others have added."""

    @classmethod
    def now(cls, **parts: Any) -> "RunInfo":
        """What is played now, by this version of matchbandit and of NumPy."""
        today = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(**parts, version=version("matchbandit"), numpy=np.__version__, date=today)

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> "RunInfo":
        """What `describe` gave; keys that are not known are kept in `more`."""
        missing = [key for key in _REQUIRED if key not in described]
        if missing:
            raise MatchbanditError(f"the description of the runs lacks {', '.join(missing)}.")
        known = {key: value for key, value in described.items() if key in _PARTS}
        return cls(**known, more={key: value for key, value in described.items() if key not in _PARTS})

    def describe(self) -> dict[str, Any]:
        """As plain data, without what is None."""
        parts = {key: getattr(self, key) for key in _PARTS}
        return {key: value for key, value in parts.items() if value is not None} | self.more

    def __getitem__(self, key: str) -> Any:
        """A part that is not None."""
        return self.describe()[key]

    def __iter__(self) -> Iterator[str]:
        """The names of the parts that are not None."""
        return iter(self.describe())

    def __len__(self) -> int:
        """How many parts are not None."""
        return len(self.describe())

    def __eq__(self, other: object) -> bool:
        """The same but for the date."""
        if not isinstance(other, Mapping):
            return NotImplemented
        return {**self, "date": None} == {**other, "date": None}

    __hash__ = None  # type: ignore[assignment]  # it holds dicts

    def numbers(self, runs: int) -> list[int]:
        """The number of each of so many runs."""
        first = self.first_run or 0
        return list(self.run_numbers or range(first, first + runs))

    @property
    def title(self) -> str:
        """Policy, options and problem in short."""
        options = ", ".join(f"{key}={value}" for key, value in self.options.items() if value is not None)
        policy = f"{self.policy}({options})" if options else self.policy
        return f"{policy} on {self.where}"

    @property
    def where(self) -> str:
        """The problem in short."""
        rewards = self.problem.get("rewards", {}).get("name", "")
        family = f"{self.problem['family']}, " if "family" in self.problem else ""
        return f"{family}{graph_from(self.graph)}, {rewards} rewards"


_PARTS = [part.name for part in fields(RunInfo) if part.name != "more"]
_REQUIRED = _PARTS[: _PARTS.index("horizon")]


def as_about(given: "RunInfo | dict[str, Any]") -> RunInfo:
    """A description, which may be given as a dict."""
    return given if isinstance(given, RunInfo) else RunInfo.from_dict(given)


def spread(values: NDArray[Any]) -> str:
    """Mean and percentiles in words."""
    low, high = np.percentile(values, [5, 95])
    return f"{values.mean():.4g} (5–95 %: {low:.4g} to {high:.4g})"


def one_line_repr(kind: str, title: str, lines: dict[str, str]) -> str:
    """The repr of a result."""
    return f"<{kind}: {title}; {', '.join(f'{head} {text}' for head, text in lines.items())}>"


def in_html(title: str, lines: dict[str, str]) -> str:
    """The repr of a result, for notebooks."""
    rows = "".join(f"<tr><th>{escape(head)}</th><td>{escape(text)}</td></tr>" for head, text in lines.items())
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"
