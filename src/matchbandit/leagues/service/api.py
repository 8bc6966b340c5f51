"""The JSON API: routes that check the token, read the body, call a method of a league and return its records."""

import re
import tempfile
from pathlib import Path as File
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from matchbandit.leagues import LeagueError
from matchbandit.leagues.records import (
    Change,
    Explanation,
    FitTest,
    Item,
    LeagueInfo,
    Page,
    PairResult,
    ProgressBin,
    Proposal,
    ProposalSummary,
    Ranking,
    Receipt,
    Rule,
)
from matchbandit.leagues.service import requests
from matchbandit.leagues.service.access import Access, MeasuredRoute, body, chunks, measured, requires
from matchbandit.leagues.service.responses import TABLE, if_match, no_content
from matchbandit.leagues.settings import settings_tag

Read = Annotated[Access, requires("read")]
Play = Annotated[Access, requires("play")]
Admin = Annotated[Access, requires("admin")]
AnyRead = Annotated[Access, requires("read", in_league=False)]
AnyAdmin = Annotated[Access, requires("admin", in_league=False)]
Number = Annotated[int, Path(ge=1, le=2**62)]
After = Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before.")]
AfterPair = Annotated[str, Query(pattern=r"^(\d{1,9}-\d{1,9})?$", description="`next` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="The most rows of a page.")]
Text = Annotated[str, Query(max_length=200, pattern=r"^[^\x00]*$")]
Time = Annotated[str | None, Query(max_length=40, description="A time in ISO 8601; without an offset it is UTC.")]
Outcomes = Annotated[requests.Outcomes, body(requests.Outcomes)]
Items = Annotated[requests.Items, body(requests.Items)]
NewestFirst = Annotated[bool, Query(description="The newest first; `after` then goes back in time.")]


async def _window(
    after: After | None = None, since: Time = None, until: Time = None, newest_first: NewestFirst = False
) -> dict[str, Any]:
    """Which rows of a list that grows with time; see `League.history`."""
    return {"after": after, "since": since, "until": until, "newest_first": newest_first}


Window = Annotated[dict[str, Any], Depends(_window)]

leagues = APIRouter(prefix="/v1", tags=["leagues"], route_class=MeasuredRoute)
proposals, items, results = (
    APIRouter(prefix="/v1/leagues/{league}", tags=[tag], route_class=MeasuredRoute)
    for tag in ("proposals", "items", "results")
)
ROUTERS = (leagues, proposals, items, results)


# Leagues -------------------------------------------------------------------------------------------------------------


@leagues.get("/leagues", response_model=Page[LeagueInfo], dependencies=TABLE)
def list_leagues(
    access: AnyRead,
    after: Text = "",
    limit: Limit = 100,
    search: Text = "",
    status: Literal["active", "archived", "deleted"] = "active",
) -> Response:
    """The leagues that the token opens, in the order of their slugs."""
    slugs = access.token.leagues
    return access.answer(access.store.leagues(after=after, limit=limit, slugs=slugs, search=search, status=status))


@leagues.post("/leagues", response_model=LeagueInfo, status_code=201)
def create_league(access: AnyAdmin, new: Annotated[Any, body(requests.NewLeague, of_any_size=True)]) -> Response:
    """Create a league of players or of two sides."""
    if not access.token.sees(new.slug):
        raise LeagueError("not-allowed", "the token is for other leagues.")
    league = access.store.create(**new.to_dict(), **access.writing)
    return access.answer(league.info(), 201, location=f"/leagues/{league.slug}")


@leagues.post(
    "/imports",
    response_model=LeagueInfo,
    status_code=201,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def import_league(access: AnyAdmin, slug: Text = "") -> Response:
    """Import a league from its export, under another slug if one is given."""
    limits = access.request.app.state.settings
    if access.token.leagues is not None and slug not in access.token.leagues:
        raise LeagueError("not-allowed", "the token is for some leagues: give one of them as `slug`.", field="slug")

    def write() -> Response:
        league = access.store.import_league(
            file, slug=slug or None, max_bytes=limits.max_unpacked_bytes, key=access.writing["key"]
        )
        return access.answer(league.info(), 201, location=f"/leagues/{league.slug}")

    with tempfile.TemporaryFile(prefix="matchbandit-") as file:
        async for chunk in chunks(access.request):
            if file.tell() + len(chunk) > limits.max_import_bytes:
                raise LeagueError("body-too-large", f"an export has at most {limits.max_import_bytes} bytes here.")
            file.write(chunk)
        file.seek(0)
        return await to_thread.run_sync(measured(write))


@leagues.get("/leagues/{league}", response_model=LeagueInfo)
def get_league(access: Read) -> Response:
    """Settings and counts."""
    return access.answer(access.league.info())


@leagues.get("/leagues/{league}/settings", response_model=dict[str, Any])
def get_settings(access: Read) -> Response:
    """Settings; send their ETag as If-Match when you change them."""
    settings = access.league.info().settings
    return access.answer(settings, tag=settings_tag(settings))


@leagues.patch("/leagues/{league}/settings", response_model=LeagueInfo)
def configure(access: Admin, changes: Annotated[Any, body(requests.Settings)]) -> Response:
    """Change settings; those that are left out stay. With If-Match, only if nobody else has changed them."""
    league, writing = access.league, access.writing
    return access.answer(league.configure(if_match=if_match(access.request), **changes.to_dict(), **writing))


@leagues.post("/leagues/{league}/archive", status_code=204, response_class=Response)
def archive_league(access: Admin) -> Response:
    """Archive the league: it can be read and not written, and its deadlines are suspended."""
    access.store.archive(access.slug, **access.writing)
    return no_content()


@leagues.post("/leagues/{league}/restore", status_code=204, response_class=Response)
def restore_league(access: Admin) -> Response:
    """Make an archived or deleted league active again."""
    access.store.restore(access.slug, **access.writing)
    return no_content()


@leagues.delete("/leagues/{league}", status_code=204, response_class=Response)
def delete_league(access: Admin, now: bool = False) -> Response:
    """Delete the league; it can be restored for 30 days, unless `now` is true, for tokens of all leagues."""
    if now and access.token.leagues is not None:
        raise LeagueError("not-allowed", "the token is for some leagues: it can delete, but not erase at once.")
    access.store.delete(access.slug, now=now, **access.writing)
    return no_content()


@leagues.get(
    "/leagues/{league}/export",
    response_class=FileResponse,
    responses={200: {"content": {"application/gzip": {"schema": {"type": "string", "format": "binary"}}}}},
)
def export_league(access: Read, names: bool = False) -> Response:
    """The whole league as one file; with names only for the scope admin."""
    if names and not access.token.has("admin"):
        raise LeagueError("not-allowed", "an export with names needs a token with the scope admin.")
    folder = tempfile.TemporaryDirectory(prefix="matchbandit-")
    try:
        file = access.league.export(File(folder.name) / f"{access.slug}.jsonl.gz", names=names)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(
        file, media_type="application/gzip", filename=file.name, background=BackgroundTask(folder.cleanup)
    )


# Proposals and outcomes ----------------------------------------------------------------------------------------------


@proposals.post("/proposals", response_model=Proposal, status_code=201)
def ask(access: Play, wanted: Annotated[requests.Ask | None, body(requests.Ask, optional=True)]) -> Response:
    """Ask for a proposal; earlier ones may still be open."""
    proposal = access.league.ask(**(wanted or requests.Ask()).to_dict(), **access.writing)
    access.request.app.state.metrics.proposals.inc()
    return access.answer(proposal, 201, location=f"/leagues/{access.slug}/proposals/{proposal.number}")


@proposals.get("/proposals", response_model=Page[Proposal], dependencies=TABLE)
def list_proposals(access: Read, window: Window, limit: Limit = 100, open: bool = False) -> Response:
    """Proposals in the order of their numbers; a page is shorter than `limit` where their pairs are many."""
    return access.answer(access.league.proposals(limit=limit, open_only=open, **window))


@proposals.get("/summaries", response_model=Page[ProposalSummary], dependencies=TABLE)
def list_summaries(access: Read, window: Window, limit: Limit = 100, open: bool = False) -> Response:
    """Progress: the expected and achieved rewards of each proposal."""
    return access.answer(access.league.summaries(limit=limit, open_only=open, **window))


@proposals.get("/proposals/{number}", response_model=Proposal, dependencies=TABLE)
def get_proposal(access: Read, number: Number) -> Response:
    """One proposal with its outcomes."""
    return access.answer(access.league.proposal(number))


@proposals.post("/proposals/{number}/outcomes", response_model=Receipt)
def tell(access: Play, number: Number, sent: Outcomes) -> Response:
    """Record outcomes, some or all, late, in any order; all or none. Repeated ones are ignored."""
    receipt = access.league.tell(number, _outcomes(sent.outcomes), **access.writing)
    return access.answer(_count(access, [receipt])[0])


@proposals.post("/outcomes", response_model=list[Receipt])
def tell_many(access: Play, sent: Annotated[requests.Proposals, body(requests.Proposals)]) -> Response:
    """Record outcomes of several proposals; all or none."""
    if not all(re.fullmatch(r"[1-9][0-9]{0,17}", number) for number in sent.proposals):  # 01 would be 1 again
        raise LeagueError("bad-request", "the keys of `proposals` are numbers of proposals.", field="proposals")
    rows = {int(number): _outcomes(part) for number, part in sent.proposals.items()}
    return access.answer(_count(access, access.league.tell_many(rows, **access.writing)))


@proposals.post("/proposals/{number}/corrections", response_model=Receipt)
def correct(access: Play, number: Number, sent: Outcomes) -> Response:
    """Replace recorded outcomes; the history keeps both."""
    return access.answer(access.league.correct(number, _outcomes(sent.outcomes), **access.writing))


@proposals.post("/proposals/{number}/void", response_model=Receipt)
def void(
    access: Play, number: Number, some: Annotated[requests.Pairs | None, body(requests.Pairs, optional=True)]
) -> Response:
    """These pairs never met; without pairs, all whose outcome is missing."""
    return access.answer(access.league.void(number, None if some is None else some.pairs, **access.writing))


def _outcomes(rows: list[requests.Outcome]) -> list[Any]:
    """As a league takes them."""
    return [(*row.pair, row.reward) for row in rows]


def _count(access: Access, receipts: list[Receipt]) -> list[Receipt]:
    for receipt in receipts:
        access.request.app.state.metrics.outcomes.labels("recorded").inc(receipt.recorded)
        access.request.app.state.metrics.outcomes.labels("repeated").inc(receipt.repeated)
    return receipts


# Items and rules -----------------------------------------------------------------------------------------------------


@items.get("/items", response_model=Page[Item], dependencies=TABLE)
def list_items(
    access: Read,
    after: After = 0,
    limit: Limit = 100,
    search: Text = "",
    name: Text | None = None,
    side: Text | None = None,
    active: bool | None = None,
) -> Response:
    """Items in the order of their ids."""
    page = access.league.items(after=after, limit=limit, search=search, name=name, side=side, active=active)
    return access.answer(page)


@items.post("/items", response_model=list[Item], status_code=201)
def join(access: Admin, new: Annotated[requests.NewItems, body(requests.NewItems, of_any_size=True)]) -> Response:
    """Add items; those who left come back."""
    joined = access.league.join(*new.names, side=new.side, **access.writing)
    return access.answer(joined, 201, location=f"/leagues/{access.slug}/items")


@items.post("/items/leave", response_model=list[Item])
def leave(access: Admin, some: Items) -> Response:
    """Let items leave: they are no longer paired; their results stay."""
    return access.answer(access.league.leave(*some.names, side=some.side, **access.writing))


@items.post("/items/rejoin", response_model=list[Item])
def rejoin(access: Admin, some: Items) -> Response:
    """Let items that left come back, with their results."""
    return access.answer(access.league.rejoin(*some.names, side=some.side, **access.writing))


@items.post("/items/rename", response_model=Item)
def rename(access: Admin, change: Annotated[requests.NewName, body(requests.NewName)]) -> Response:
    """Rename an item."""
    return access.answer(access.league.rename(change.name, change.new, side=change.side, **access.writing))


@items.post("/items/erase-name", response_model=Item)
def erase_name(access: Admin, one: Annotated[requests.OneItem, body(requests.OneItem)]) -> Response:
    """Erase a name for good; the item leaves, and its results stay under its id."""
    return access.answer(access.league.erase_name(one.name, side=one.side, **access.writing))


@items.get("/rules", response_model=Page[Rule], dependencies=TABLE)
def list_rules(
    access: Read, after: AfterPair = "", limit: Limit = 100, kind: Literal["exclude", "pin"] | None = None
) -> Response:
    """Exclusions and pins, in the order of ids."""
    return access.answer(access.league.rules(kind, after=after, limit=limit))


@items.post("/rules/{action}", response_model=dict[str, int])
def change_rules(
    access: Admin,
    action: Literal["exclude", "unexclude", "pin", "unpin"],
    some: Annotated[requests.Pairs, body(requests.Pairs)],
) -> Response:
    """Exclude or pin pairs, or undo it; returns how many were changed."""
    return access.answer({"changed": getattr(access.league, action)(some.pairs, **access.writing)})


# Results -------------------------------------------------------------------------------------------------------------


@results.get("/ranking", response_model=Ranking, dependencies=TABLE)
def ranking(access: Read, after: After = 0, limit: Limit = 100, search: Text = "") -> Response:
    """The strongest first, each side for itself."""
    return access.answer(access.league.ranking(after=after, limit=limit, search=search))


@results.get("/results", response_model=Page[PairResult], dependencies=TABLE)
def list_results(access: Read, after: AfterPair = "", limit: Limit = 100, item: Text | None = None) -> Response:
    """Results by pair, in the order of ids; those of one item if it is given."""
    return access.answer(access.league.results(item, after=after, limit=limit))


@results.get("/progress", response_model=list[ProgressBin], dependencies=TABLE)
def progress(access: Read, bins: Annotated[int, Query(ge=1, le=1000)] = 200) -> Response:
    """Achieved and expected rewards of all proposals, in groups of successive ones."""
    return access.answer(access.league.progress(bins))


@results.post("/past-results", response_model=dict[str, int])
def import_results(access: Admin, past: Annotated[requests.PastResults, body(requests.PastResults)]) -> Response:
    """Take in earlier results before the first proposal; returns their number."""
    return access.answer({"results": access.league.import_results(past.results, **access.writing)})


@results.get("/history", response_model=Page[Change], dependencies=TABLE)
def history(access: Read, window: Window, limit: Limit = 100) -> Response:
    """Who changed what, and when."""
    return access.answer(access.league.history(limit=limit, **window))


@results.get("/fit", response_model=FitTest)
def fit(access: Read) -> Response:
    """Test whether the results fit a product of strengths."""
    return access.answer(access.league.fit())


@results.get("/why", response_model=Explanation)
def why(
    access: Read,
    item: Text | None = None,
    pair: Annotated[list[Text] | None, Query(min_length=2, max_length=2)] = None,
    proposal: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    side: Text | None = None,
) -> Response:
    """Explain an item, a pair (given twice), a proposal or, without any, the league."""
    if sum(each is not None for each in (item, pair, proposal)) > 1:
        raise LeagueError("bad-request", "give an item, a pair or a proposal, and only one of them.")
    return access.answer(access.league.why(proposal if proposal is not None else pair, item=item, side=side))
