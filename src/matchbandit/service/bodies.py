"""Bodies of requests and responses. Records of `matchbandit.live` are served as they are; the rest is here."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    create_model,
    model_validator,
)

from matchbandit.live.commands import MAX_PER_CALL
from matchbandit.live.events import Event
from matchbandit.live.model import Fit, Standing
from matchbandit.live.names import MAX_NAME_LENGTH
from matchbandit.live.records import (
    VOID,
    Item,
    LeagueSummary,
    Outcome,
    PairResult,
    Proposal,
    ProposalSummary,
    Receipt,
)
from matchbandit.live.settings import MAX_PROPENSITY_DRAWS, MAX_TITLE_LENGTH, LeagueSettings, field_descriptions
from matchbandit.live.why import Why
from matchbandit.rewards import LARGEST_REWARD

SLUG = r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"
MAX_ID = 2**31 - 1
"""Ids and numbers of proposals that are looked for at all."""


def _slug(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(SLUG, value):
        return value
    raise ValueError("must have 1 to 64 lower-case letters, digits and hyphens")


def _name_or_id(value: object) -> str | int:
    if isinstance(value, str) and 1 <= len(value) <= MAX_NAME_LENGTH:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_ID:
        return value
    raise ValueError(f"must be a name of 1 to {MAX_NAME_LENGTH} characters, or an id")


def _reward(value: object) -> float | str:
    if value == "void":
        return "void"
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_REWARD:
        return float(value)
    raise ValueError('must be a number or "void"')


# Where one of several kinds is taken, pydantic would tell a mistake once for each kind: these tell it once.
Slug = Annotated[str, PlainValidator(_slug), WithJsonSchema({"type": "string", "pattern": SLUG})]
NameOrId = Annotated[
    str | int,
    PlainValidator(_name_or_id),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH},
                {"type": "integer", "minimum": 1, "maximum": MAX_ID},
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
Name = Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
Pair = Annotated[list[NameOrId], Field(min_length=2, max_length=2, description="Two items, by name or by id.")]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)]
Anything = Annotated[Any, WithJsonSchema({})]


class Request(BaseModel):
    """A body that is accepted; unknown fields are refused, so that a typing error does not go unnoticed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Response(BaseModel):
    """A body that is returned; new fields may come with new versions."""

    model_config = ConfigDict(frozen=True)


# Settings ------------------------------------------------------------------------------------------------------------


class Policy(Request):
    """A policy of the catalogue, with its options."""

    policy: StrictStr
    options: dict[str, Anything] | None = None
    selection: Literal["pair", "matching"] | None = None


_SETTING_TYPES: dict[str, Any] = {
    "policy": StrictStr,
    "options": dict[str, Anything] | None,
    "selection": Literal["pair", "matching"] | None,
    "deadline": Seconds | None,
    "default": Reward,
    "no_rematch": Annotated[StrictInt, Field(ge=0, le=10**9)],
    "shadow": Policy | None,
    "title": Annotated[StrictStr, Field(max_length=MAX_TITLE_LENGTH)],
    "record_propensity": Annotated[StrictInt, Field(ge=0, le=MAX_PROPENSITY_DRAWS)],
}
"""How the fields of `LeagueSettings` travel; their names, defaults and descriptions are those of the dataclass."""


class SettingsBody(Request):
    """A body with settings of a league."""

    def settings(self) -> dict[str, Any]:
        """The settings that were sent, as `LeagueSettings` has them."""
        sent = {name: getattr(self, name) for name in LeagueSettings.names() if name in self.model_fields_set}
        if "options" in sent:
            sent["options"] = sent["options"] or {}
        if "default" in sent:
            sent["default"] = outcome_of(sent["default"])
        if sent.get("shadow") is not None:
            sent["shadow"] = sent["shadow"].model_dump()
        return sent


def _setting_fields(*, with_defaults: bool) -> dict[str, Any]:
    """Fields for `create_model`. Without defaults, generated clients send only what was set."""
    descriptions = field_descriptions(LeagueSettings)
    definitions = {}
    for each in fields(LeagueSettings):
        default = each.default if each.default is not MISSING else None
        extra = None if with_defaults else _drop_default
        definitions[each.name] = (
            _SETTING_TYPES[each.name],
            Field(
                default="void" if default is VOID else default,
                description=descriptions[each.name],
                json_schema_extra=extra,
            ),
        )
    return definitions


def _drop_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


Changes: type[SettingsBody] = create_model(
    "Changes",
    __base__=SettingsBody,
    __doc__="Settings to change; what is left out stays as it is.",
    **_setting_fields(with_defaults=False),
)


# Requests ------------------------------------------------------------------------------------------------------------


class Side(Request):
    """One of two sides."""

    name: Name = Field(description="Such as ads.")
    items: list[Name] = Field(default=[], max_length=MAX_PER_CALL)


class PastResult(Request):
    """Results of a pair from before the league."""

    pair: Annotated[list[Name], Field(min_length=2, max_length=2)]
    count: Annotated[StrictInt, Field(ge=1, le=MAX_ID)] = 1
    total: Number = Field(description="The sum of its rewards.")


class _NewLeague(SettingsBody):
    slug: Slug
    players: list[Name] | None = Field(default=None, max_length=MAX_PER_CALL)
    sides: list[Side] | None = Field(default=None, min_length=2, max_length=2)
    rewards: StrictStr = Field(default="bernoulli", description="bernoulli, gaussian:SD or binomial:TRIALS.")
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] | None = None
    past: list[PastResult] | None = Field(default=None, max_length=MAX_PER_CALL)

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments of `Store.create`."""
        return {
            "players": self.players,
            "sides": None if self.sides is None else {side.name: side.items for side in self.sides},
            "rewards": self.rewards,
            "seed": self.seed,
            "past": None if self.past is None else [(*row.pair, row.count, row.total) for row in self.past],
            **self.settings(),
        }

    @model_validator(mode="after")
    def _check_side_names(self) -> "_NewLeague":
        if self.sides is not None and self.sides[0].name == self.sides[1].name:
            raise ValueError("needs two different names for the two sides")
        return self


NewLeague: type[_NewLeague] = create_model(
    "NewLeague",
    __base__=_NewLeague,
    __doc__="A league of players, or of two sides.",
    **_setting_fields(with_defaults=True),
)


class Ask(Request):
    """Whom a proposal may pair."""

    available: list[NameOrId] | None = Field(
        default=None, max_length=MAX_PER_CALL, description="Who is available; all who have not left, if omitted."
    )
    fixed: list[Pair] | None = Field(default=None, max_length=MAX_PER_CALL, description="Pairs that must be in it.")


class PairOutcome(Request):
    """The outcome of one pair."""

    pair: Pair
    reward: Reward


class Outcomes(Request):
    """Outcomes of some or all pairs of a proposal."""

    outcomes: list[PairOutcome] = Field(min_length=1, max_length=MAX_PER_CALL)

    def rows(self) -> list[tuple[str | int, str | int, Outcome]]:
        """As `League.tell` takes them."""
        return [(*pair_of(one.pair), outcome_of(one.reward)) for one in self.outcomes]


class NumberedOutcome(PairOutcome):
    """The outcome of one pair of a proposal."""

    proposal: Annotated[StrictInt, Field(ge=1, le=MAX_ID, description="The number of the proposal.")]


class ManyOutcomes(Request):
    """Outcomes of several proposals."""

    outcomes: list[NumberedOutcome] = Field(min_length=1, max_length=MAX_PER_CALL)

    def by_proposal(self) -> dict[int, list[tuple[str | int, str | int, Outcome]]]:
        """As `League.tell_many` takes them."""
        rows: dict[int, list[tuple[str | int, str | int, Outcome]]] = {}
        for one in self.outcomes:
            rows.setdefault(one.proposal, []).append((*pair_of(one.pair), outcome_of(one.reward)))
        return rows


class Pairs(Request):
    """Some pairs."""

    pairs: list[Pair] = Field(min_length=1, max_length=MAX_PER_CALL)

    def rows(self) -> list[tuple[str | int, str | int]]:
        """As a league takes them."""
        return [pair_of(pair) for pair in self.pairs]


class SomePairs(Request):
    """Some pairs, or all whose outcome is missing."""

    pairs: list[Pair] | None = Field(default=None, min_length=1, max_length=MAX_PER_CALL)


class Join(Request):
    """Who joins, or comes back."""

    names: list[Name] = Field(min_length=1, max_length=MAX_PER_CALL)
    side: StrictStr | None = Field(default=None, description="The side they are on, in a league of two.")


class NewName(Request):
    """Another name."""

    name: Name


def pair_of(pair: list[str | int]) -> tuple[str | int, str | int]:
    """A pair as leagues take it."""
    return pair[0], pair[1]


def outcome_of(reward: float | str) -> Outcome:
    """An outcome as leagues take it."""
    return VOID if isinstance(reward, str) else reward


# Responses -----------------------------------------------------------------------------------------------------------

_NEXT = "`after` of the next page; null: this is the last one."


class LeagueOut(Response):
    """A league: its settings, and how much there is of everything."""

    slug: str
    created: str
    kind: Literal["players", "sides"]
    sides: list[str] | None
    title: str
    archived: str | None = Field(description="When it was archived; null: it can be written.")
    policy: str
    options: dict[str, Anything]
    selection: Literal["pair", "matching"]
    rewards: str
    seed: int
    deadline: float | None = Field(description="Seconds after which missing outcomes are set to `default`.")
    default: float | Literal["void"] = Field(description="The outcome that a passed deadline gives.")
    no_rematch: int = Field(description="Number of proposals within which a pair is not proposed again.")
    shadow: dict[str, Anything] | None
    record_propensity: int
    n_items: int = Field(description="All that ever joined.")
    n_active: int = Field(description="Those that have not left.")
    n_proposals: int
    n_open: int = Field(description="Proposals with an outcome missing.")
    n_waiting: int = Field(description="Pairs whose outcome is missing.")
    n_results: int
    n_events: int
    n_exclusions: int
    n_wishes: int
    exclusions: list[list[str]] = Field(description="The first 1000; `/exclusions` has all of them.")
    wishes: list[list[str]]

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> "LeagueOut":
        """From `League.about`."""
        values = {name: about[name] for name in cls.model_fields if name != "slug"}
        return cls(slug=about["name"], **values)


class NamedItem(Response):
    """An item, by id and name."""

    id: int
    name: str


class ProposalPair(Response):
    """A pair of a proposal."""

    ids: list[int]
    names: list[str]
    outcome: float | Literal["void"] | None = Field(description="null: it is not known yet.")
    fixed: bool = Field(description="It was asked or wished for, not chosen.")
    propensity: float | None = Field(description="The estimated probability of proposing it, where it is recorded.")


class ProposalOut(Response):
    """Pairs to be played, under a number that is never used twice."""

    number: int
    at: str
    due: str | None
    open: bool = Field(description="An outcome is missing.")
    pairs: list[ProposalPair]
    byes: list[NamedItem] = Field(description="Who sits out.")
    expected: float | None = Field(description="What the model expected of these pairs.")
    best: float | None = Field(
        description="What it expected of its best guess; the difference is the price of exploring."
    )
    notes: list[str]
    shadow: dict[str, Anything] | None = Field(description="What the shadow policy would have proposed.")
    propensity_draws: int | None = Field(description="The number of draws behind each propensity.")

    @classmethod
    def of(cls, proposal: Proposal) -> "ProposalOut":
        """From the record; not validated again, since a page may have thousands of pairs."""
        fixed = set(proposal.fixed)
        pairs = [
            ProposalPair.model_construct(
                ids=list(ids),
                names=list(names),
                outcome=to_json(proposal.outcomes.get(names)),
                fixed=names in fixed,
                propensity=proposal.propensities.get(names),
            )
            for ids, names in zip(proposal.ids, proposal.pairs, strict=True)
        ]
        return cls.model_construct(
            number=proposal.number,
            at=proposal.at,
            due=proposal.due,
            open=proposal.open,
            pairs=pairs,
            byes=[NamedItem(id=id, name=name) for id, name in zip(proposal.bye_ids, proposal.byes, strict=True)],
            expected=proposal.expected,
            best=proposal.best,
            notes=proposal.notes,
            shadow=to_json(proposal.shadow),
            propensity_draws=proposal.propensity_draws,
        )


class AuditLine(Response):
    """An event as a sentence."""

    seq: int
    at: str
    kind: str
    by: str
    sentence: str

    @classmethod
    def of(cls, event: Event, sentence: str) -> "AuditLine":
        """From an event and its sentence."""
        return cls(seq=event.seq, at=event.at, kind=event.kind, by=event.by, sentence=sentence)


class ResultOut(Response):
    """All results of a pair."""

    pair: list[str]
    ids: list[int]
    count: int
    total: float = Field(description="The sum of its rewards.")

    @classmethod
    def of(cls, result: PairResult) -> "ResultOut":
        """From the record."""
        return cls(pair=list(result.names), ids=list(result.ids), count=result.count, total=result.total)


class OddPair(Response):
    """A pair that does not fit the model."""

    ids: list[int]
    deviations: float = Field(description="By how many standard deviations.")


class FitOut(Response):
    """Does the product model fit?"""

    fits: bool | None = Field(description="null: too few results to tell.")
    p_value: float | None
    results: int
    worst: list[OddPair]
    sentence: str

    @classmethod
    def of(cls, fit: Fit) -> "FitOut":
        """From the record."""
        worst = [OddPair(ids=[a, b], deviations=deviations) for a, b, deviations in fit.worst]
        return cls(fits=fit.fits, p_value=fit.p_value, results=fit.results, worst=worst, sentence=fit.sentence)


class WhyOut(Response):
    """An explanation, in a sentence and in numbers."""

    sentence: str
    numbers: dict[str, Anything]

    @classmethod
    def of(cls, why: Why) -> "WhyOut":
        """From the record."""
        return cls(sentence=why.sentence, numbers=to_json(why.numbers))


# Pages of lists ------------------------------------------------------------------------------------------------------


class LeaguesPage(Response):
    """Leagues in the order of their names."""

    leagues: list[str]
    summaries: list[LeagueSummary]
    next: str | None = Field(description=_NEXT)


class ItemsPage(Response):
    """Items in the order of their ids."""

    items: list[Item]
    next: int | None = Field(default=None, description=_NEXT)


class ProposalsPage(Response):
    """Proposals in the order of their numbers."""

    proposals: list[ProposalOut]
    next: int | None = Field(description=_NEXT)


class ReceiptsOut(Response):
    """What a tell of several proposals did, proposal by proposal."""

    receipts: list[Receipt]


class EventsPage(Response):
    """Events in the order of the log: ids, not names."""

    events: list[Event]
    next: int | None = Field(description=_NEXT)


class AuditPage(Response):
    """The log in sentences."""

    lines: list[AuditLine]
    next: int | None = Field(description=_NEXT)


class RankingPage(Response):
    """The strongest first, each side for itself."""

    ranking: list[Standing]
    next: int | None = Field(description=_NEXT)


class HistoryPage(Response):
    """A line for each proposal, in the order of their numbers."""

    history: list[ProposalSummary]
    next: int | None = Field(description=_NEXT)


class ResultsPage(Response):
    """Results by pair, in the order of ids: `past` of another league takes them."""

    results: list[ResultOut]
    next: str | None = Field(description=_NEXT)


class PairsPage(Response):
    """Pairs by name, in the order of ids."""

    pairs: list[list[str]]
    next: str | None = Field(default=None, description=_NEXT)


def to_json(value: Any) -> Any:
    """Any value of a league as JSON: VOID is "void", a pair as a key is `ann + bob`, what is not finite is null."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {
            " + ".join(map(str, key)) if isinstance(key, tuple) else str(key): to_json(v) for key, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if hasattr(value, "tolist"):
        return to_json(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value
