"""Records that a league returns: items, proposals, receipts. They contain names; events do not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final


class Void(Enum):
    """The outcome of a pair that never met: no result, and not 0."""

    VOID = "void"

    def __repr__(self) -> str:
        """As it is imported."""
        return "VOID"


VOID: Final = Void.VOID
Outcome = float | Void
Ids = tuple[int, int]
Names = tuple[str, str]


class Documented:
    """A record whose fields are described in OpenAPI by their docstrings."""

    __pydantic_config__: ClassVar = {"use_attribute_docstrings": True}


@dataclass(frozen=True)
class Item(Documented):
    """A player, or an item of one of two sides."""

    id: int
    """Consecutive numbers from 1, in the order of joining; never reused."""
    name: str
    """Its name, or `#7` once it is forgotten."""
    side: str | None
    """The name of its side; None for a player."""
    active: bool
    """Whether it can be paired: it has not left."""
    forgotten: bool
    """Whether its name was erased."""
    byes: int
    """How often it sat out a proposal for which it was available."""
    meetings: int
    """Number of results it took part in."""


@dataclass(frozen=True)
class Proposal:
    """Numbered pairs to be played; numbers are never reused."""

    number: int
    """Consecutive, from 1."""
    pairs: list[Names]
    """The pairs, by name."""
    byes: list[str]
    """The items that sit out, by name."""
    ids: list[Ids]
    """The pairs by id, in the order of `pairs`."""
    bye_ids: list[int]
    """The items that sit out, by id."""
    at: str
    """Time in UTC, such as 2026-11-16T09:30:00.000000Z."""
    due: str | None
    """The deadline of its outcomes."""
    outcomes: dict[Names, Outcome] = field(default_factory=dict)
    """Outcomes recorded so far."""
    fixed: list[Names] = field(default_factory=list)
    """Pairs that were wished for, not chosen."""
    expected: float | None = None
    """Reward the model expected of these pairs when they were proposed."""
    best: float | None = None
    """Reward the model expected of its best guess under the same rules; the difference is the cost of exploring."""
    notes: list[str] = field(default_factory=list)
    """Sentences for a human: who sits out and why, how near the optimum a large constrained matching is."""
    shadow: Mapping[str, Any] | None = None
    """What the shadow policy would have proposed."""
    propensities: dict[Names, float] = field(default_factory=dict)
    """The estimated probability of proposing each pair that was chosen, if the league records it."""
    propensity_draws: int | None = None
    """The number of draws behind each of them."""

    @property
    def waiting(self) -> list[Names]:
        """The pairs whose outcome is missing."""
        return [pair for pair in self.pairs if pair not in self.outcomes]

    @property
    def open(self) -> bool:
        """Is an outcome missing?"""
        return bool(self.waiting)


@dataclass(frozen=True)
class Receipt(Documented):
    """The effect of recording outcomes."""

    proposal: int
    """Its number."""
    booked: int
    """New outcomes."""
    repeated: int
    """Outcomes that had been recorded before, with the same value."""
    waiting: int
    """Pairs of the proposal whose outcome is still missing."""


@dataclass(frozen=True)
class LeagueSummary(Documented):
    """A league in a list."""

    name: str
    """The URL name, or slug."""
    title: str
    kind: str
    """"players" or "sides"."""
    sides: list[str] | None
    policy: str
    rewards: str
    created: str
    n_items: int
    """Items that ever joined."""
    n_active: int
    """Items that have not left."""
    active_by_side: list[int]
    n_proposals: int
    n_open: int
    """Proposals with an outcome missing."""
    n_waiting: int
    """Pairs whose outcome is missing."""
    n_results: int
    n_events: int
    archived: str | None
    """When it was archived, if it was."""


@dataclass(frozen=True)
class ProposalSummary(Documented):
    """One proposal in the history."""

    number: int
    """The number of the proposal."""
    at: str
    """When it was made, in UTC."""
    due: str | None
    """The deadline of its outcomes."""
    pairs: int
    """Number of pairs."""
    told: int
    """Recorded outcomes, including void ones."""
    void: int
    """Pairs that never met."""
    reward: float
    """Total reward of the outcomes that are not void."""
    expected_of_told: float
    """Reward the model expected of those pairs."""
    expected: float | None
    """Reward the model expected of all pairs."""
    best: float | None
    """Reward the model expected of its best guess under the same rules."""
    explored: float | None
    """The share of the best guess that was given up to learn; None if nothing was expected."""


@dataclass(frozen=True)
class PairResult:
    """All results of a pair."""

    ids: Ids
    names: Names
    count: int
    total: float
    """The sum of its rewards."""

    @property
    def mean(self) -> float:
        """The average reward."""
        return self.total / self.count


@dataclass(frozen=True)
class Meetings(Documented):
    """Number and mean of the results of each pair, as a table; players are both rows and columns."""

    rows: list[int]
    columns: list[int]
    """Ids; for players the same as the rows."""
    counts: list[list[int]]
    means: list[list[float | None]]
    """Mean results; None: the pair never met."""
