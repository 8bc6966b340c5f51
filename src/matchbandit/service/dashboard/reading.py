"""What pages show of a league: its records, made ready for templates. Everything that is read goes through here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from matchbandit.live.records import VOID, Ids, Item, Names, Outcome, Proposal
from matchbandit.rewards import Bernoulli, Binomial, Gaussian, rewards_named
from matchbandit.service.dashboard.html import digits
from matchbandit.service.dashboard.meetings import Map, Met, Place, drawn
from matchbandit.service.dashboard.progress import Past

if TYPE_CHECKING:
    from matchbandit.live.league import League
    from matchbandit.live.model import Standing

RECENT = 20
"""Proposals that the figures at the top of a league look at."""
ABOUT_NINETY = "90 % interval"


@dataclass(frozen=True)
class Heading:
    """What stands above all pages of a league."""

    slug: str
    who: str
    policy: str
    rewards: str
    deadline: str
    sides: tuple[str, ...]
    waiting: int
    """Outcomes that are not known yet."""
    proposals: int
    results: int
    shadow: str | None


@dataclass(frozen=True)
class Rules:
    """What an outcome may be."""

    binary: bool
    least: float | None
    most: float | None
    placeholder: str


@dataclass(frozen=True)
class Pair:
    """A pair of a proposal."""

    ids: Ids
    names: Names
    outcome: float | str | None
    """A reward, "void", or None while it waits."""
    estimate: float | None = None
    fixed: bool = False

    @property
    def key(self) -> str:
        """How fields name it."""
        return f"{self.ids[0]}-{self.ids[1]}"

    @property
    def typed(self) -> str:
        """Its outcome as one types it."""
        return f"{self.outcome:g}" if isinstance(self.outcome, float | int) else self.outcome or ""


@dataclass(frozen=True)
class Sheet:
    """A proposal with what is known of it."""

    number: int
    at: str
    due: str | None
    pairs: Sequence[Pair]
    byes: Sequence[Place]
    notes: Sequence[str]

    @property
    def known(self) -> int:
        """How many outcomes are known."""
        return sum(pair.outcome is not None for pair in self.pairs)

    @property
    def waiting(self) -> int:
        """How many are not."""
        return len(self.pairs) - self.known


@dataclass(frozen=True)
class Side:
    """The ranking of one side, or of all players."""

    name: str
    words: str
    interval: str
    rows: Sequence["Standing"]


@dataclass(frozen=True)
class Tile:
    """A number that one sees at a glance."""

    name: str
    value: str
    more: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Verdict:
    """Does the model fit, in a word, in a sentence, and where not."""

    verdict: str
    tone: str
    words: str
    worst: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
