"""The bodies of requests: decoded straight from bytes, unknown fields refused."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from matchbandit.leagues.items import MAX_PER_CALL
from matchbandit.leagues.records import VOID

Name = Annotated[str, Meta(max_length=200)] | Annotated[int, Meta(ge=1, le=2**31)]
PairOfNames = tuple[Name, Name]
Many = Meta(min_length=1, max_length=MAX_PER_CALL)


class Request(Struct, forbid_unknown_fields=True):
    """A body."""


class NewLeague(Request):
    """A league to create, of players or of two sides; `settings` are those of `PATCH`."""

    slug: str
    players: list[str] | None = None
    sides: dict[str, list[str]] | None = None
    rewards: str = "bernoulli"
    seed: Annotated[int, Meta(ge=0, le=2**62)] = 0
    past: list[tuple[str, str, float]] | None = None
    settings: dict[str, Any] = {}


class Ask(Request):
    """Who is there, and pairs to be included."""

    available: Annotated[list[Name], Many] | None = None
    fixed: Annotated[list[PairOfNames], Many] | None = None


class Outcome(Request):
    """What a pair achieved."""

    pair: PairOfNames
    reward: float | Literal["void"]


class Outcomes(Request):
    """Outcomes of one proposal."""

    outcomes: Annotated[list[Outcome], Many]

    def rows(self) -> list[Any]:
        """As a league takes them."""
        return [(*each.pair, VOID if each.reward == "void" else each.reward) for each in self.outcomes]


class Proposals(Request):
    """Outcomes of several proposals, by number."""

    proposals: dict[str, Annotated[list[Outcome], Many]]


class Pairs(Request):
    """Some pairs."""

    pairs: Annotated[list[PairOfNames], Many]


class Items(Request):
    """Names that join or come back."""

    names: Annotated[list[str], Many]
    side: str | None = None


class ItemChange(Request):
    """Changes of an item: another name, or whether it is active."""

    name: str | None = None
    active: bool | None = None


def openapi(kind: type[Request], *, required: bool = True) -> dict[str, Any]:
    """How FastAPI documents a body that it does not read itself."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template="#/components/schemas/{name}")
    request = {"required": required, "content": {"application/json": {"schema": schema}}}
    return {"requestBody": request, "x-components": components}
