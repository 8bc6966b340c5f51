"""What travels over HTTP: the bodies of requests, checked, and of answers. Names are in here, and only in here."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictInt, StrictStr, WithJsonSchema, model_validator

from matchbandit.live.commands import MOST_AT_ONCE
from matchbandit.live.events import Event
from matchbandit.live.model import Fit, Standing
from matchbandit.live.names import LONGEST_NAME
from matchbandit.live.records import VOID, Item, Meetings, Outcome, Proposal, ProposalSummary, Receipt
from matchbandit.live.shadow import ShadowReport
from matchbandit.live.why import Why
from matchbandit.rewards import LARGEST_REWARD

SLUG = r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"
MOST_ID = 2**31 - 1
"""Ids and numbers of proposals that are looked for at all."""


def _slug(given: object) -> str:
    if isinstance(given, str) and re.fullmatch(SLUG, given):
        return given
    raise ValueError("must have 1 to 64 lower-case letters, digits and hyphens")


def _name_or_id(given: object) -> str | int:
    if isinstance(given, str) and 1 <= len(given) <= LONGEST_NAME:
        return given
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MOST_ID:
        return given
    raise ValueError(f"must be a name of 1 to {LONGEST_NAME} characters, or an id")


def _reward(given: object) -> float | str:
    if given == "void":
        return "void"
    if isinstance(given, int | float) and not isinstance(given, bool) and abs(given) <= LARGEST_REWARD:
        return float(given)
    raise ValueError('must be a number or "void"')


# Where one of several kinds is taken, pydantic would tell a mistake once for each kind: these tell it once.
Slug = Annotated[str, PlainValidator(_slug), WithJsonSchema({"type": "string", "pattern": SLUG})]
NameOrId = Annotated[
    str | int,
    PlainValidator(_name_or_id),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
                {"type": "integer", "minimum": 1, "maximum": MOST_ID},
            ],
            "description": "A name, or an id.",
        }
    ),
]
Reward = Annotated[
    float | str,
    PlainValidator(_reward),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": -LARGEST_REWARD, "maximum": LARGEST_REWARD},
                {"type": "string", "const": "void"},
            ],
            "description": 'What the pair achieved together; "void" if it never happened, which is not 0.',
        }
    ),
]
Name = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_NAME)]
Pair = Annotated[list[NameOrId], Field(min_length=2, max_length=2, description="Two items, by name or by id.")]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)]
Anything = Annotated[Any, WithJsonSchema({})]


class Request(BaseModel):
    """A body that is taken; what it does not know is refused, lest a slip of the pen go unnoticed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Answer(BaseModel):
    """A body that is given; new keys may come with new versions."""

    model_config = ConfigDict(frozen=True)


# Requests ------------------------------------------------------------------------------------------------------------


class Side(Request):
    """One of two sides."""

    name: Name = Field(description="Such as ads.")
    items: list[Name] = Field(default=[], max_length=MOST_AT_ONCE)


class PastResult(Request):
    """Results of a pair from before the league."""

    pair: Annotated[list[Name], Field(min_length=2, max_length=2)]
    count: Annotated[StrictInt, Field(ge=1, le=MOST_ID)] = 1
    total: Number = Field(description="The sum of its rewards.")


class Policy(Request):
    """A policy of the catalogue, with its options."""

    policy: StrictStr
    options: dict[str, Anything] | None = None
    selection: Literal["pair", "matching"] | None = None


class NewLeague(Request):
    """A league of players, or of two sides."""

    slug: Slug
    players: list[Name] | None = Field(default=None, max_length=MOST_AT_ONCE)
    sides: list[Side] | None = Field(default=None, min_length=2, max_length=2)
    policy: StrictStr = "rank1-thompson"
    options: dict[str, Anything] | None = None
    selection: Literal["pair", "matching"] | None = None
    rewards: StrictStr = Field(default="bernoulli", description="bernoulli, gaussian:SD or binomial:TRIALS.")
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] | None = None
    deadline: Seconds | None = Field(default=None, description="Seconds for which outcomes are waited for.")
    default: Reward = Field(default="void", description="The outcome that a deadline gives.")
    no_rematch: Annotated[StrictInt, Field(ge=0, le=10**9)] = 0
    shadow: Policy | None = None
    past: list[PastResult] | None = Field(default=None, max_length=MOST_AT_ONCE)

    def settings(self) -> dict[str, Any]:
        """As `Store.create` takes them."""
        return {
            "players": self.players,
            "sides": None if self.sides is None else {side.name: side.items for side in self.sides},
            "policy": self.policy,
            "options": self.options,
            "selection": self.selection,
            "rewards": self.rewards,
            "seed": self.seed,
            "deadline": self.deadline,
            "default": outcome_of(self.default),
            "no_rematch": self.no_rematch,
            "shadow": _policy(self.shadow),
            "past": None if self.past is None else [(*row.pair, row.count, row.total) for row in self.past],
        }

    @model_validator(mode="after")
    def _two_names(self) -> "NewLeague":
        if self.sides is not None and self.sides[0].name == self.sides[1].name:
            raise ValueError("needs two different names for the two sides")
        return self


class Changes(Request):
    """Settings from now on; what is left out stays."""

    policy: StrictStr = "rank1-thompson"
    options: dict[str, Anything] | None = None
    selection: Literal["pair", "matching"] | None = None
    deadline: Seconds | None = None
    default: Reward = "void"
    no_rematch: Annotated[StrictInt, Field(ge=0, le=10**9)] = 0
    shadow: Policy | None = None

    def settings(self) -> dict[str, Any]:
        """Those that were sent."""
        sent: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if "default" in sent:
            sent["default"] = outcome_of(sent["default"])
        if "shadow" in sent:
            sent["shadow"] = _policy(sent["shadow"])
        return sent


class Ask(Request):
    """Whom a proposal may pair."""

    available: list[NameOrId] | None = Field(
        default=None, max_length=MOST_AT_ONCE, description="Who is there; all who have not left, if left out."
    )
    fixed: list[Pair] | None = Field(default=None, max_length=MOST_AT_ONCE, description="Pairs that must be in it.")


class OneOutcome(Request):
    """The outcome of one pair."""

    pair: Pair
    reward: Reward


class Outcomes(Request):
    """Outcomes of some or all pairs of a proposal."""

    outcomes: list[OneOutcome] = Field(min_length=1, max_length=MOST_AT_ONCE)

    def told(self) -> list[tuple[str | int, str | int, Outcome]]:
        """As `League.tell` takes them."""
        return [(*pair_of(one.pair), outcome_of(one.reward)) for one in self.outcomes]


class Pairs(Request):
    """Some pairs."""

    pairs: list[Pair] = Field(min_length=1, max_length=MOST_AT_ONCE)

    def listed(self) -> list[tuple[str | int, str | int]]:
        """As a league takes them."""
        return [pair_of(pair) for pair in self.pairs]


class SomePairs(Request):
    """Some pairs, or all that wait."""

    pairs: list[Pair] | None = Field(default=None, min_length=1, max_length=MOST_AT_ONCE)


class Join(Request):
    """Who joins, or comes back."""

    names: list[Name] = Field(min_length=1, max_length=MOST_AT_ONCE)
    side: StrictStr | None = Field(default=None, description="Of which side they are, in a league of two.")


class NewName(Request):
    """Another name."""

    name: Name


def pair_of(pair: list[str | int]) -> tuple[str | int, str | int]:
    """A pair as leagues take it."""
    return pair[0], pair[1]


def outcome_of(reward: float | str) -> Outcome:
    """An outcome as leagues take it."""
    return VOID if isinstance(reward, str) else reward


def _policy(shadow: Policy | None) -> dict[str, Any] | None:
    return None if shadow is None else shadow.model_dump()


# Answers -------------------------------------------------------------------------------------------------------------


class LeaguesTold(Answer):
    """Leagues, by slug."""

    leagues: list[str]


class LeagueTold(Answer):
    """What a league is, and how far it has come."""

    slug: str
    created: str
    kind: Literal["players", "sides"]
    sides: list[str] | None
    policy: str
    options: dict[str, Anything]
    selection: Literal["pair", "matching"]
    rewards: str
    seed: int
    deadline: float | None = Field(description="Seconds for which outcomes are waited for.")
    default: float | Literal["void"] = Field(description="The outcome that a deadline gives.")
    no_rematch: int = Field(description="Within so many proposals no pair meets again.")
    shadow: dict[str, Anything] | None
    n_items: int = Field(description="Who ever joined,")
    n_active: int = Field(description="and has not left.")
    n_proposals: int
    n_open: int = Field(description="Proposals that wait for an outcome.")
    n_waiting: int = Field(description="Pairs that do.")
    n_results: int
    n_events: int
    exclusions: list[list[str]]
    wishes: list[list[str]]

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> "LeagueTold":
        """As it is told."""
        told = {name: about[name] for name in cls.model_fields if name != "slug"}
        return cls(slug=about["name"], **told)


class ItemTold(Answer):
    """A player, or an item of a side."""

    id: int
    name: str = Field(description="Or `#7` once it is forgotten.")
    side: str | None
    active: bool = Field(description="It has not left.")
    forgotten: bool
    byes: int = Field(description="How often it sat out although it was there.")
    meetings: int = Field(description="Results that it had a part in.")

    @classmethod
    def of(cls, item: Item) -> "ItemTold":
        """As it is told."""
        return cls(**_fields(item, cls))


class ItemsTold(Answer):
    """Items, in the order of their ids."""

    items: list[ItemTold]


class Named(Answer):
    """An item, by id and name."""

    id: int
    name: str


class PairTold(Answer):
    """A pair of a proposal."""

    ids: list[int]
    names: list[str]
    outcome: float | Literal["void"] | None = Field(description="null: it is waited for.")
    fixed: bool = Field(description="It was wished for, not chosen.")


class ProposalTold(Answer):
    """Pairs to be played, under a number that is never given twice."""

    number: int
    at: str
    due: str | None
    open: bool = Field(description="It waits for an outcome.")
    pairs: list[PairTold]
    byes: list[Named] = Field(description="Who sits out.")
    expected: float | None = Field(description="What the model expected of these pairs.")
    best: float | None = Field(
        description="What it expected of its best guess; the difference is the price of exploring."
    )
    notes: list[str]
    shadow: dict[str, Anything] | None = Field(description="What the shadow policy would have proposed.")

    @classmethod
    def of(cls, proposal: Proposal) -> "ProposalTold":
        """As it is told."""
        fixed = set(proposal.fixed)
        pairs = [
            PairTold.model_construct(
                ids=list(ids), names=list(names), outcome=_told(proposal.outcomes.get(names)), fixed=names in fixed
            )
            for ids, names in zip(proposal.ids, proposal.pairs, strict=True)
        ]
        return cls.model_construct(
            number=proposal.number,
            at=proposal.at,
            due=proposal.due,
            open=proposal.open,
            pairs=pairs,
            byes=[Named(id=id, name=name) for id, name in zip(proposal.bye_ids, proposal.byes, strict=True)],
            expected=proposal.expected,
            best=proposal.best,
            notes=proposal.notes,
            shadow=plain(proposal.shadow),
        )


class ProposalsTold(Answer):
    """A page of proposals."""

    proposals: list[ProposalTold]
    next: int | None = Field(description="`after` of the next page; null: this is the last.")

    @classmethod
    def of(cls, proposals: Sequence[Proposal], *, more: bool) -> "ProposalsTold":
        """As they are told."""
        told = [ProposalTold.of(proposal) for proposal in proposals]
        return cls.model_construct(proposals=told, next=proposals[-1].number if more else None)


class ReceiptTold(Answer):
    """What a tell did."""

    proposal: int
    booked: int = Field(description="Outcomes that are new.")
    repeated: int = Field(description="Outcomes that were known already, and equal.")
    waiting: int = Field(description="Pairs that still wait.")

    @classmethod
    def of(cls, receipt: Receipt) -> "ReceiptTold":
        """As it is told."""
        return cls(**_fields(receipt, cls))


class EventTold(Answer):
    """A line of the log: ids, no names."""

    seq: int
    at: str
    kind: str
    by: str = Field(description="Through which door it came: `token:ID`, `clock`, …")
    data: dict[str, Anything]

    @classmethod
    def of(cls, event: Event) -> "EventTold":
        """As it is told."""
        return cls(seq=event.seq, at=event.at, kind=event.kind, by=event.by, data=event.data)


class EventsTold(Answer):
    """A page of the log."""

    events: list[EventTold]
    next: int | None = Field(description="`after` of the next page; null: this is the last.")

    @classmethod
    def of(cls, events: Sequence[Event], *, more: bool) -> "EventsTold":
        """As they are told."""
        return cls.model_construct(events=[EventTold.of(one) for one in events], next=events[-1].seq if more else None)


class AuditLine(Answer):
    """What happened, in a sentence."""

    seq: int
    at: str
    kind: str
    by: str
    sentence: str


class AuditTold(Answer):
    """A page of the audit trail."""

    lines: list[AuditLine]
    next: int | None = Field(description="`after` of the next page; null: this is the last.")

    @classmethod
    def of(cls, lines: Sequence[tuple[Event, str]], *, more: bool) -> "AuditTold":
        """As it is told."""
        told = [
            AuditLine(seq=event.seq, at=event.at, kind=event.kind, by=event.by, sentence=sentence)
            for event, sentence in lines
        ]
        return cls(lines=told, next=lines[-1][0].seq if more else None)


class StandingTold(Answer):
    """An item in the ranking."""

    place: int = Field(description="From 1, on its side.")
    id: int
    name: str
    side: str | None
    estimate: float = Field(description="Its strength: two items are expected to achieve the product of theirs.")
    low: float = Field(description="The interval that holds the strength with 90 %.")
    high: float
    meetings: int
    mean: float | None = Field(description="What its pairs achieved on average.")
    byes: int
    active: bool


class RankingTold(Answer):
    """The strongest first, each side for itself."""

    ranking: list[StandingTold]

    @classmethod
    def of(cls, ranking: Iterable[Standing]) -> "RankingTold":
        """As it is told."""
        return cls(ranking=[StandingTold(**_fields(standing, StandingTold)) for standing in ranking])


class HistoryLine(Answer):
    """A proposal, and what came of it."""

    number: int
    at: str
    due: str | None
    pairs: int
    told: int = Field(description="Outcomes that are known, the void ones too.")
    void: int
    reward: float = Field(description="What the pairs achieved that are known and not void.")
    expected_of_told: float = Field(description="What the model expected of those pairs.")
    expected: float | None
    best: float | None
    explored: float | None = Field(description="The share of the best guess that was given up to learn.")


class HistoryTold(Answer):
    """A page of proposals, a line each."""

    history: list[HistoryLine]
    next: int | None = Field(description="`after` of the next page; null: this is the last.")

    @classmethod
    def of(cls, lines: Sequence[ProposalSummary], *, more: bool) -> "HistoryTold":
        """As it is told."""
        told = [HistoryLine(**_fields(line, HistoryLine)) for line in lines]
        return cls(history=told, next=lines[-1].number if more else None)


class MeetingsTold(Answer):
    """Who met whom, by id: a table."""

    rows: list[int]
    columns: list[int] = Field(description="Those of players are the same as the rows.")
    counts: list[list[int]]
    means: list[list[float | None]] = Field(description="null: they never met.")

    @classmethod
    def of(cls, table: Meetings) -> "MeetingsTold":
        """As it is told."""
        return cls.model_construct(**_fields(table, cls))


class ResultTold(Answer):
    """All results of a pair."""

    pair: list[str]
    count: int
    total: float = Field(description="The sum of its rewards.")


class ResultsTold(Answer):
    """All results by pair: `past` of another league takes them."""

    results: list[ResultTold]

    @classmethod
    def of(cls, results: Iterable[tuple[str, str, int, float]]) -> "ResultsTold":
        """As they are told."""
        return cls(results=[ResultTold(pair=[a, b], count=count, total=total) for a, b, count, total in results])


class Odd(Answer):
    """A pair that does not fit."""

    ids: list[int]
    deviations: float = Field(description="By how many standard deviations.")


class FitTold(Answer):
    """Does the product model fit?"""

    fits: bool | None = Field(description="null: too few results to tell.")
    p_value: float | None
    results: int
    worst: list[Odd]
    sentence: str

    @classmethod
    def of(cls, fit: Fit) -> "FitTold":
        """As it is told."""
        worst = [Odd(ids=[a, b], deviations=deviations) for a, b, deviations in fit.worst]
        return cls(fits=fit.fits, p_value=fit.p_value, results=fit.results, worst=worst, sentence=fit.sentence)


class ShadowTold(Answer):
    """How often live and shadow differ, and what each expects."""

    shadow: str | None
    live: str | None
    proposals: int
    equal: int
    pairs: int
    common: int
    failed: int
    live_expects: float | None
    shadow_expects: float | None
    difference: float | None
    standard_error: float | None
    sentence: str

    @classmethod
    def of(cls, report: ShadowReport) -> "ShadowTold":
        """As it is told."""
        return cls(**_fields(report, cls))


class WhyTold(Answer):
    """Why, in a sentence and in numbers."""

    sentence: str
    numbers: dict[str, Anything]

    @classmethod
    def of(cls, why: Why) -> "WhyTold":
        """As it is told."""
        return cls(sentence=why.sentence, numbers=plain(why.numbers))


class PairsTold(Answer):
    """Pairs, by name."""

    pairs: list[list[str]]


def plain(value: Any) -> Any:
    """Anything of a league as JSON: VOID is "void", a key that is a pair is `ann + bob`, what is not finite is null."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {" + ".join(map(str, key)) if isinstance(key, tuple) else str(key): plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value


def _fields(record: Any, kind: type[Answer]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in kind.model_fields}


def _told(outcome: Outcome | None) -> float | str | None:
    return "void" if outcome is VOID else outcome
