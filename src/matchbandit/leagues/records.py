"""The records that a league returns. The same dataclasses are the JSON of the service and of `--json`."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
Ids = tuple[int, int]
Names = tuple[str, str]


def from_row(kind: type[T], row: Any, **values: Any) -> T:
    """A record of these values, and for its other fields of the attributes of a row."""
    names = (each.name for each in fields(kind) if each.name not in values)  # type: ignore[arg-type]
    return kind(**values, **{name: getattr(row, name) for name in names})


class Void(Enum):
    """The outcome of a pair that never met: no result, and not 0."""

    VOID = "void"

    def __repr__(self) -> str:
        """As it is imported."""
        return "VOID"


VOID: Final = Void.VOID
Outcome = float | Void


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list."""

    rows: list[T]
    next: str | int | None
    """`after` of the next page; None: this is the last one."""

    def __iter__(self) -> Iterator[T]:
        """The rows."""
        return iter(self.rows)

    def __getitem__(self, position: int) -> T:
        """A row."""
        return self.rows[position]

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)


@dataclass(frozen=True)
class Item:
    """A player, or an item of one of two sides."""

    id: int
    """Consecutive numbers from 1, in the order of joining; never reused."""
    name: str
    """Its name, or `#7` once it is erased."""
    side: str | None
    """The name of its side; None for a player."""
    active: bool
    """Whether it can be paired: it has not left."""
    erased: bool
    """Whether its name was erased."""
    byes: int
    """How often it sat out a proposal for which it was available."""


@dataclass(frozen=True)
class Pair:
    """A pair of a proposal, with its outcome and the numbers behind the choice."""

    names: tuple[str, str]
    ids: tuple[int, int]
    outcome: Outcome | None
    """None while it is missing."""
    fixed: bool
    """It was requested or pinned, not chosen."""
    in_best_guess: bool
    """The best guess at that time contains it; otherwise it is an experiment."""
    expected: float | None
    """The reward that the model expected; None: the league had no results yet."""
    low: float | None
    """The lower end of its 90 % interval; None also in leagues of 200 items and more, see `League.why`."""
    high: float | None
    value: float | None
    """The draw or index by which it was chosen."""
    propensity: float | None = None
    """The estimated probability of proposing it, if the league records it."""


@dataclass(frozen=True)
class Proposal:
    """Numbered pairs to be played; numbers are never reused."""

    number: int
    pairs: list[Pair]
    byes: list[str]
    """The items that sit out, by name."""
    at: str
    """Time in UTC, such as 2026-11-16T09:30:00.000000Z."""
    due: str | None
    """The deadline of its outcomes."""
    policy: str
    expected: float | None
    """Total reward that the model expected of these pairs; None: there were no results yet."""
    low: float | None
    """The lower end of its 90 % interval."""
    high: float | None
    best: float | None
    """Total that it expected of its best guess under the same rules; the difference is the cost of exploring."""
    waiting: int
    """Pairs whose outcome is missing."""
    notes: list[str]
    """Sentences for people: who sits out and why, how near the optimum a large constrained matching is."""
    warning: str | None
    """Why the numbers of this league are not to be trusted, and what can be done; None: nothing is known of that."""
    propensity_draws: int | None = None

    @property
    def open(self) -> bool:
        """Is an outcome missing?"""
        return self.waiting > 0


@dataclass(frozen=True)
class ProposalSummary:
    """A proposal without its pairs."""

    number: int
    at: str
    due: str | None
    policy: str
    pairs: int
    waiting: int
    void: int
    reward: float
    """Total reward of the outcomes so far."""
    expected_so_far: float | None
    """Reward that the model expected of the pairs with an outcome; None: there were no results yet."""
    expected: float | None
    low: float | None
    """The lower end of its 90 % interval."""
    high: float | None
    best: float | None


@dataclass(frozen=True)
class ProgressBin:
    """Achieved and expected rewards of some successive proposals."""

    first: int
    """The first and the last of these proposals, by number."""
    last: int
    at: str
    """When the last one was created."""
    results: int
    """Pairs with a result: their outcome is recorded, and is not void."""
    reward: float
    """The total reward of these results."""
    expected: float | None
    """What the model had expected of these pairs; None: the league had no results when one of these was proposed."""
    low: float | None
    """The sum of the lower ends of the 90 % intervals of these means, around which results scatter."""
    high: float | None
    best: float | None
    """What it had expected of its best guesses, for as many pairs; the difference is the cost of exploring."""


@dataclass(frozen=True)
class Receipt:
    """The effect of recording outcomes."""

    proposal: int
    recorded: int
    """New outcomes."""
    repeated: int
    """Outcomes that had been recorded before, with the same value."""
    waiting: int
    """Pairs of the proposal whose outcome is still missing."""


@dataclass(frozen=True)
class LeagueInfo:
    """A league: its settings and counts."""

    slug: str
    title: str
    sides: list[str] | None
    """The names of its two sides; None: it has players."""
    rewards: str
    seed: int
    settings: dict[str, Any]
    created_at: str
    archived_at: str | None
    deleted_at: str | None
    version: int
    """The number of its last change."""
    items: int
    """Items that ever joined."""
    active: int
    proposals: int
    waiting: int
    """Pairs whose outcome is missing."""
    results: int
    exclusions: int
    pins: int
    warning: str | None
    """Why the numbers of this league are not to be trusted, and what can be done."""


@dataclass(frozen=True)
class Rule:
    """A rule about a pair."""

    kind: str
    """ "exclude": never proposed; "pin": a pair of the next proposal for which both are available."""
    ids: Ids
    names: Names


@dataclass(frozen=True)
class PairResult:
    """All results of a pair."""

    ids: tuple[int, int]
    names: tuple[str, str]
    count: int
    total: float
    """The sum of its rewards."""

    @property
    def mean(self) -> float:
        """The average reward."""
        return self.total / self.count


@dataclass(frozen=True)
class Change:
    """A line of the history: who changed what, and when."""

    version: int
    """Consecutive numbers from 1."""
    at: str
    by: str
    """The interface or token it came through, or "deadline"."""
    action: str
    data: dict[str, Any]
    """The content, with ids instead of names."""
    sentence: str
    """The same in words."""


@dataclass(frozen=True)
class Standing:
    """An item in the ranking."""

    rank: int | None
    """From 1, on its side; equal items share one. None before the first result."""
    id: int
    name: str
    side: str | None
    estimate: float
    """Strength; a pair is expected to achieve the product of its two strengths."""
    low: float
    """The lower end of the 90 % interval of the strength."""
    high: float
    results: int
    mean: float | None
    """Average result of its pairs; None before the first one."""
    byes: int


@dataclass(frozen=True)
class Ranking(Page[Standing]):
    """Items by rank, those without results last; each side for itself."""

    warning: str | None
    """Why these numbers are not to be trusted, and what can be done."""


@dataclass(frozen=True)
class Explanation:
    """An explanation, in words and in numbers."""

    sentence: str
    numbers: dict[str, Any]
    warning: str | None
    """Why these numbers are not to be trusted, and what can be done."""

    def __str__(self) -> str:
        """The sentence, and the warning."""
        return self.sentence if self.warning is None else f"{self.sentence} {self.warning}"


@dataclass(frozen=True)
class FitTest:
    """Do the results fit the model in which each item has one strength?"""

    fits: bool | None
    """None: the results do not suffice to tell."""
    p_value: float | None
    results: int
    """Results that were tested."""
    worst: list[tuple[Names, float]]
    """The pairs that deviate most, with the number of standard deviations; empty unless the fit is bad."""
    sentence: str
    warning: str | None
    """Why the numbers of this league are not to be trusted, and what can be done; None unless the fit is bad."""


@dataclass(frozen=True)
class StoreInfo:
    """Size and contents of a store."""

    url: str
    """Without the password."""
    version: int
    """Of its tables."""
    size_bytes: int
    """Of the file, or of the tables and indexes in PostgreSQL."""
    free_bytes: int | None
    """Bytes that `vacuum` would free; None on PostgreSQL, which vacuums by itself."""
    leagues: int
    """Active ones."""
    archived: int
    deleted: int
    changes: int
    idempotency_keys: int
    tokens: int
    sessions: int
    open_proposals: int
    oldest_open: str | None
    """When the oldest open proposal of an active league was created."""


@dataclass(frozen=True)
class StoreCheck:
    """The result of checking a store."""

    problems: list[str]
    """Of the database itself."""
    leagues: dict[str, list[str]]
    """The problems of each league."""

    @property
    def ok(self) -> bool:
        """Were no problems found?"""
        return not self.problems and not any(self.leagues.values())


@dataclass(frozen=True)
class Pruned:
    """What a pruning erased, or would erase."""

    keys: int
    """Answers under idempotency keys."""
    tokens: int
    sessions: int
    leagues: list[str]
