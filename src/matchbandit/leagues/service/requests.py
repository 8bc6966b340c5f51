"""The bodies of requests: decoded straight from bytes, unknown fields refused."""

from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from matchbandit.leagues import records
from matchbandit.leagues.items import MAX_PER_CALL
from matchbandit.leagues.settings import LeagueSettings, field_descriptions

Name = Annotated[str, Meta(max_length=200)] | Annotated[int, Meta(ge=1, le=2**31)]
PairOfNames = tuple[Name, Name]
PastResult = tuple[str, str, Annotated[int, Meta(ge=1, le=2**53)], float]
"""Two names, how many results they had, and their sum."""
Many = Meta(min_length=1, max_length=MAX_PER_CALL)


class Request(Struct, forbid_unknown_fields=True):
    """A body."""

    def to_dict(self) -> dict[str, Any]:
        """The fields that were sent, and those that have a default."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not UNSET}


class Ask(Request):
    """Who is there, and pairs to be included."""

    available: Annotated[list[Name], Meta(max_length=MAX_PER_CALL)] | None = None
    fixed: Annotated[list[PairOfNames], Meta(max_length=MAX_PER_CALL)] | None = None


class Outcome(Request):
    """What a pair achieved: a number, or "void" if it never met."""

    pair: PairOfNames
    reward: float | records.Void


class Outcomes(Request):
    """Outcomes of one proposal."""

    outcomes: Annotated[list[Outcome], Many]


class Proposals(Request):
    """Outcomes of several proposals, by number."""

    proposals: dict[str, Annotated[list[Outcome], Many]]


class Pairs(Request):
    """Some pairs."""

    pairs: Annotated[list[PairOfNames], Many]


class PastResults(Request):
    """Earlier results."""

    results: Annotated[list[PastResult], Many]


class NewItems(Request):
    """Names that join, or come back."""

    names: Annotated[list[str], Many]
    side: str | None = None


class Items(Request):
    """Items, by name or id."""

    names: Annotated[list[Name], Many]
    side: str | None = None


class OneItem(Request):
    """An item, by name or id."""

    name: Name
    side: str | None = None


class NewName(Request):
    """Another name for an item, which is given by name or id."""

    name: Name
    new: str
    side: str | None = None


def _with_settings(name: str, *fields: Any) -> Any:
    """A body with these fields and the settings of a league, which may all be left out."""
    words = field_descriptions(LeagueSettings)
    settings = [
        (setting, Annotated[kind, Meta(description=words[setting])] | UnsetType, UNSET)
        for setting, kind in get_type_hints(LeagueSettings).items()
    ]
    return msgspec.defstruct(name, [*fields, *settings], bases=(Request,), kw_only=True)


Settings = _with_settings("Settings")
NewLeague = _with_settings(
    "NewLeague",
    ("slug", str),
    ("players", list[str] | None, None),
    ("sides", dict[str, list[str]] | None, None),
    ("rewards", str, "bernoulli"),
    ("seed", Annotated[int, Meta(ge=0, le=2**62)], 0),
    ("past", list[PastResult] | None, None),
)


def openapi(kind: Any, *, required: bool = True) -> dict[str, Any]:
    """How FastAPI documents a body that it does not read itself."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template="#/components/schemas/{name}")
    request = {"required": required, "content": {"application/json": {"schema": schema}}}
    return {"requestBody": request, "x-components": components}
