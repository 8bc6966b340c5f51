"""The JSON API: routes that check the token, read the body, call a method of a league and return its records."""

import tempfile
from pathlib import Path as File
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from matchbandit.leagues import LeagueError
from matchbandit.leagues.csv_tables import csv_text
from matchbandit.leagues.records import (
    Change,
    Explanation,
    Item,
    LeagueInfo,
    Page,
    PairResult,
    Proposal,
    ProposalSummary,
    Receipt,
    Standing,
)
from matchbandit.leagues.service import requests
from matchbandit.leagues.service.access import Access, body, requires
from matchbandit.leagues.service.requests import openapi

Read = Annotated[Access, requires("read")]
Play = Annotated[Access, requires("play")]
Admin = Annotated[Access, requires("admin")]
AnyRead = Annotated[Access, requires("read", in_league=False)]
AnyAdmin = Annotated[Access, requires("admin", in_league=False)]
Number = Annotated[int, Path(ge=1, le=2**62)]
After = Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=1000)]

router = APIRouter(prefix="/v1")


def answer(request: Request, content: Any, status: int = 200) -> Response:
    """A record as JSON; a page also as CSV, if the client accepts nothing else."""
    if isinstance(content, Page) and request.headers.get("accept", "").startswith("text/csv"):
        links = (
            {}
            if content.next is None
            else {"Link": f'<{request.url.include_query_params(after=content.next)}>; rel="next"'}
        )
        return Response(csv_text(content.rows), status, links, "text/csv; charset=utf-8")
    return Response(msgspec.json.encode(content), status, media_type="application/json")


# Leagues -------------------------------------------------------------------------------------------------------------


@router.get("/leagues", response_model=Page[LeagueInfo])
def list_leagues(
    request: Request, access: AnyRead, after: str = "", limit: Limit = 100, search: str = "", status: str = "active"
) -> Response:
    """The leagues that the token opens, in the order of their names."""
    page = access.store.leagues(after=after, limit=limit, slugs=access.token.leagues, search=search, status=status)
    return answer(request, page)


@router.post("/leagues", response_model=LeagueInfo, status_code=201, openapi_extra=openapi(requests.NewLeague))
def create_league(
    request: Request, access: AnyAdmin, new: Annotated[requests.NewLeague, body(requests.NewLeague)]
) -> Response:
    """Create a league of players or of two sides."""
    if not access.token.sees(new.slug):
        raise LeagueError("not-allowed", "the token is for other leagues.")
    fields = {name: getattr(new, name) for name in ("players", "sides", "rewards", "seed", "past")}
    league = access.store.create(new.slug, **fields, **new.settings, **access.writing(request))
    return answer(request, league.info(), 201)


@router.get("/leagues/{league}", response_model=LeagueInfo)
def get_league(request: Request, access: Read) -> Response:
    """Settings and counts."""
    return answer(request, access.league.info())


@router.patch("/leagues/{league}", response_model=LeagueInfo)
def configure(request: Request, access: Admin, changes: Annotated[dict[str, Any], body(dict[str, Any])]) -> Response:
    """Change settings; what is left out stays."""
    return answer(request, access.league.configure(**changes, **access.writing(request)))


@router.post("/leagues/{league}/lifecycle/{action}", status_code=204, response_class=Response)
def change_league(
    request: Request, access: Admin, action: Annotated[str, Path(pattern="^(archive|restore|delete)$")]
) -> Response:
    """Archive, restore or delete the league; a deleted one can be restored for 30 days."""
    getattr(access.store, action)(access.slug, **access.writing(request))
    return Response(status_code=204)


@router.get("/leagues/{league}/export", response_class=FileResponse)
def export(access: Read, names: bool = False) -> Response:
    """The whole league as one file; with names only for the scope admin."""
    if names and not access.token.has("admin"):
        raise LeagueError("not-allowed", "an export with names needs a token with the scope admin.")
    folder = tempfile.TemporaryDirectory(prefix="matchbandit-")
    file = access.league.export(File(folder.name) / f"{access.slug}.jsonl.gz", names=names)
    return FileResponse(file, media_type="application/gzip", background=BackgroundTask(folder.cleanup))


# Proposals and outcomes ----------------------------------------------------------------------------------------------


@router.post(
    "/leagues/{league}/proposals",
    response_model=Proposal,
    status_code=201,
    openapi_extra=openapi(requests.Ask, required=False),
)
def ask(
    request: Request, access: Play, wanted: Annotated[requests.Ask | None, body(requests.Ask, optional=True)]
) -> Response:
    """Ask for a proposal; earlier ones may still be open."""
    wanted = wanted or requests.Ask()
    proposal = access.league.ask(available=wanted.available, fixed=wanted.fixed, **access.writing(request))
    request.app.state.metrics.proposals.inc()
    return answer(request, proposal, 201)


@router.get("/leagues/{league}/proposals", response_model=Page[Proposal])
def list_proposals(
    request: Request, access: Read, after: After = 0, limit: Limit = 100, open: bool = False
) -> Response:
    """Proposals in the order of their numbers; a page is shorter than `limit` where their pairs are many."""
    return answer(request, access.league.proposals(after=after, limit=limit, open_only=open))


@router.get("/leagues/{league}/summaries", response_model=Page[ProposalSummary])
def list_summaries(request: Request, access: Read, after: After = 0, limit: Limit = 1000) -> Response:
    """Expected and achieved rewards of each proposal."""
    return answer(request, access.league.summaries(after=after, limit=limit))


@router.get("/leagues/{league}/proposals/{number}", response_model=Proposal)
def get_proposal(request: Request, access: Read, number: Number) -> Response:
    """One proposal with its outcomes."""
    return answer(request, access.league.proposal(number))


def _told(request: Request, receipts: list[Receipt]) -> list[Receipt]:
    for receipt in receipts:
        request.app.state.metrics.outcomes.labels("recorded").inc(receipt.recorded)
        request.app.state.metrics.outcomes.labels("repeated").inc(receipt.repeated)
    return receipts


@router.post(
    "/leagues/{league}/proposals/{number}/outcomes", response_model=Receipt, openapi_extra=openapi(requests.Outcomes)
)
def tell(
    request: Request, access: Play, number: Number, told: Annotated[requests.Outcomes, body(requests.Outcomes)]
) -> Response:
    """Record outcomes, some or all, late, in any order; all or none. Repeated ones are ignored."""
    return answer(request, _told(request, [access.league.tell(number, told.rows(), **access.writing(request))])[0])


@router.post("/leagues/{league}/outcomes", response_model=list[Receipt], openapi_extra=openapi(requests.Proposals))
def tell_many(
    request: Request, access: Play, told: Annotated[requests.Proposals, body(requests.Proposals)]
) -> Response:
    """Record outcomes of several proposals; all or none."""
    if not all(number.isdecimal() and len(number) < 19 for number in told.proposals):
        raise LeagueError("bad-request", "`proposals` has numbers of proposals as its keys.")
    rows = {int(number): requests.Outcomes(part).rows() for number, part in told.proposals.items()}
    return answer(request, _told(request, access.league.tell_many(rows, **access.writing(request))))


@router.post(
    "/leagues/{league}/proposals/{number}/corrections", response_model=Receipt, openapi_extra=openapi(requests.Outcomes)
)
def correct(
    request: Request, access: Play, number: Number, told: Annotated[requests.Outcomes, body(requests.Outcomes)]
) -> Response:
    """Replace recorded outcomes; the history keeps both."""
    return answer(request, access.league.correct(number, told.rows(), **access.writing(request)))


@router.post(
    "/leagues/{league}/proposals/{number}/void",
    response_model=Receipt,
    openapi_extra=openapi(requests.Pairs, required=False),
)
def void(
    request: Request,
    access: Play,
    number: Number,
    some: Annotated[requests.Pairs | None, body(requests.Pairs, optional=True)],
) -> Response:
    """These pairs never met; without pairs, all whose outcome is missing."""
    return answer(request, access.league.void(number, some and some.pairs, **access.writing(request)))


# Items and rules -----------------------------------------------------------------------------------------------------


@router.get("/leagues/{league}/items", response_model=Page[Item])
def list_items(
    request: Request, access: Read, after: After = 0, limit: Limit = 1000, search: str = "", active: bool | None = None
) -> Response:
    """Items in the order of their ids."""
    return answer(request, access.league.items(after=after, limit=limit, search=search, active=active))


@router.post(
    "/leagues/{league}/items", response_model=list[Item], status_code=201, openapi_extra=openapi(requests.Items)
)
def join(request: Request, access: Admin, new: Annotated[requests.Items, body(requests.Items)]) -> Response:
    """Add items; those who left come back."""
    return answer(request, access.league.join(*new.names, side=new.side, **access.writing(request)), 201)


@router.patch("/leagues/{league}/items/{id}", response_model=Item, openapi_extra=openapi(requests.ItemChange))
def change_item(
    request: Request, access: Admin, id: Number, change: Annotated[requests.ItemChange, body(requests.ItemChange)]
) -> Response:
    """Rename an item, or let it leave or come back."""
    league, writing = access.league, access.writing(request)
    if (change.name is None) == (change.active is None):
        raise LeagueError("bad-request", "change either the name or whether the item is active.")
    if change.name is not None:
        return answer(request, league.rename(id, change.name, **writing))
    return answer(request, (league.rejoin if change.active else league.leave)(id, **writing)[0])


@router.delete("/leagues/{league}/items/{id}/name", response_model=Item)
def erase_name(request: Request, access: Admin, id: Number) -> Response:
    """Erase a name for good; the item leaves, and its results stay under its id."""
    return answer(request, access.league.erase_name(id, **access.writing(request)))


@router.post("/leagues/{league}/rules/{action}", response_model=dict[str, int], openapi_extra=openapi(requests.Pairs))
def change_rules(
    request: Request,
    access: Admin,
    action: Annotated[str, Path(pattern="^(exclude|unexclude|pin|unpin)$")],
    some: Annotated[requests.Pairs, body(requests.Pairs)],
) -> Response:
    """Exclude or pin pairs, or undo it; returns how many were changed."""
    return answer(request, {"changed": getattr(access.league, action)(some.pairs, **access.writing(request))})


# Results -------------------------------------------------------------------------------------------------------------


@router.get("/leagues/{league}/ranking", response_model=Page[Standing])
def ranking(request: Request, access: Read, after: After = 0, limit: Limit = 1000) -> Response:
    """The strongest first, each side for itself."""
    rows = access.league.ranking()
    return answer(request, Page(rows[after : after + limit], after + limit if after + limit < len(rows) else None))


@router.get("/leagues/{league}/results", response_model=Page[PairResult])
def results(
    request: Request,
    access: Read,
    after: Annotated[str, Query(pattern=r"^(\d{1,9}-\d{1,9})?$")] = "",
    limit: Limit = 1000,
) -> Response:
    """Results by pair, in the order of ids."""
    first, _, second = after.partition("-")
    return answer(request, access.league.results(after=(int(first or 0), int(second or 0)), limit=limit))


@router.get("/leagues/{league}/history", response_model=Page[Change])
def history(request: Request, access: Read, after: After = 0, limit: Limit = 100) -> Response:
    """Who changed what, and when."""
    return answer(request, access.league.history(after=after, limit=limit))


@router.get("/leagues/{league}/why", response_model=Explanation)
def why(
    request: Request,
    access: Read,
    item: str | None = None,
    pair: Annotated[list[str] | None, Query(min_length=2, max_length=2)] = None,
    proposal: Annotated[int | None, Query(ge=1, le=2**62)] = None,
) -> Response:
    """Explain an item, a pair (given twice), a proposal or, without any, the league."""
    return answer(request, access.league.why(proposal if proposal is not None else pair, item=item))
