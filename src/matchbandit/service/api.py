"""The JSON API: routes that check the token, call a method of a league and return its records."""

import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path as File
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from matchbandit.live.csv_tables import csv_text
from matchbandit.live.errors import LeagueError
from matchbandit.live.league import League
from matchbandit.live.league_view import LeagueView
from matchbandit.live.records import Item, Meetings, Receipt
from matchbandit.live.shadow import ShadowReport
from matchbandit.live.store import Store
from matchbandit.service import bodies
from matchbandit.service.json_bodies import JsonRoute
from matchbandit.service.logs import CONTEXT, RequestContext
from matchbandit.service.metrics import Metrics
from matchbandit.service.problems import ApiError
from matchbandit.service.tokens import Token

_CHUNK_BYTES = 2**16
_PERMISSIONS = {"play": "ask and tell", "admin": "change who takes part, the rules or the names"}

SlugInPath = Annotated[
    str, Path(alias="league", description="The league's slug.", json_schema_extra={"pattern": bodies.SLUG})
]
ItemInPath = Annotated[int, Path(alias="id", description="The item's id.", ge=1, le=bodies.MAX_ID)]
OtherInPath = Annotated[int, Path(alias="other", description="The other item's id.", ge=1, le=bodies.MAX_ID)]
NumberInPath = Annotated[int, Path(alias="number", description="The proposal's number.", ge=1, le=bodies.MAX_ID)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A repeat with the same key and content gets the same answer, and nothing is done twice.",
        pattern=r"^[!-~]{1,100}$",
    ),
]
After = Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before; 0: the first page.")]
AfterPair = Annotated[
    str, Query(pattern=r"^(\d{1,10}-\d{1,10})?$", description="`next` of the page before; empty: the first page.")
]
Limit = Annotated[int, Query(ge=1, le=1000, description="The largest number of entries.")]
_CSV: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}


class LeagueAccess:
    """A league that the request's token may open; it is loaded when it is first used, by the thread that answers."""

    def __init__(self, store: Store, slug: str, context: RequestContext) -> None:
        """The middleware has checked the token."""
        assert context.token is not None
        self.token: Token = context.token
        self._store, self._slug, self._context = store, slug, context

    @cached_property
    def league(self) -> League:
        """The league, if there is one."""
        try:
            league = self._store.open(self._slug)
        except LeagueError as error:
            raise (unknown_league(self._slug) if error.code == "unknown-league" else error) from None
        self._context.league = self._slug
        return league

    def writing(self, key: str | None) -> dict[str, Any]:
        """What every writing method takes: who, and the idempotency key, which belongs to the token."""
        return {"by": f"token:{self.token.id}", "key": None if key is None else f"{self.token.id}:{key}"}


def access(store: Store, scope: str) -> Callable[..., Awaitable[LeagueAccess]]:
    """A dependency: the league in the path, for tokens with this scope in it."""

    # It asks nobody and waits for nothing, so it needs no thread of its own.
    async def open_league(request: Request, slug: SlugInPath) -> LeagueAccess:
        it = LeagueAccess(store, slug, request.scope[CONTEXT])
        if not it.token.sees(slug):
            raise unknown_league(slug)
        if not it.token.may(scope, slug):
            raise not_allowed(it.token, scope)
        return it

    return open_league


def router(store: Store, metrics: Metrics) -> APIRouter:  # noqa: PLR0915 - a list of routes
    """All routes below `/v1`."""
    api = APIRouter(prefix="/v1", route_class=JsonRoute)
    Read = Annotated[LeagueAccess, Depends(access(store, "read"))]
    Play = Annotated[LeagueAccess, Depends(access(store, "play"))]
    Admin = Annotated[LeagueAccess, Depends(access(store, "admin"))]

    # Leagues ---------------------------------------------------------------------------------------------------------

    @api.get("/leagues", tags=["leagues"], summary="List leagues", response_model=bodies.LeaguesPage, responses=_CSV)
    def list_leagues(
        request: Request,
        after: Annotated[str, Query(max_length=64, description="`next` of the page before.")] = "",
        limit: Limit = 1000,
        search: Annotated[str, Query(max_length=100, description="A part of the name or title.")] = "",
        archived: Annotated[bool, Query(description="Also those that are archived.")] = False,
    ) -> Any:
        """The leagues that the token opens, in the order of their names."""
        token: Token = request.scope[CONTEXT].token
        page = store.summaries(after=after, limit=limit + 1, names=token.leagues, search=search, archived=archived)
        rows, more = page[:limit], len(page) > limit
        return _page(
            request, bodies.LeaguesPage, rows, rows[-1].name if more else None, leagues=[one.name for one in rows]
        )

    @api.post("/leagues", tags=["leagues"], summary="Create a league", status_code=201)
    def create_league(request: Request, body: bodies.NewLeague, key: Key = None) -> bodies.LeagueOut:  # type: ignore[valid-type]
        """Needs the scope `admin`, and a token that is for all leagues or names this one."""
        token: Token = request.scope[CONTEXT].token
        slug: str = body.slug  # type: ignore[attr-defined]
        if not token.may("admin", slug):
            raise not_allowed(token, "admin")
        writing = LeagueAccess(store, slug, request.scope[CONTEXT]).writing(key)
        league = store.create(slug, **body.parameters(), **writing)  # type: ignore[attr-defined]
        return bodies.LeagueOut.of(league.about())

    @api.get("/leagues/{league}", tags=["leagues"], summary="Settings and counts of a league")
    def get_league(it: Read) -> bodies.LeagueOut:
        """Scope: `read`, as for all that only looks."""
        return bodies.LeagueOut.of(it.league.about())

    @api.patch("/leagues/{league}", tags=["leagues"], summary="Change settings")
    def update_league(it: Admin, body: bodies.Changes, key: Key = None) -> bodies.LeagueOut:  # type: ignore[valid-type]
        """What is left out stays. Another policy goes on with all results there are. Scope: `admin`."""
        changes: dict[str, Any] = body.settings()  # type: ignore[attr-defined]
        return bodies.LeagueOut.of(it.league.configure(**changes, **it.writing(key)))

    @api.get(
        "/leagues/{league}/export",
        tags=["leagues"],
        summary="The whole league as one file",
        response_class=StreamingResponse,
        responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
    )
    def export_league(
        it: Read, names: Annotated[bool, Query(description="With the names; needs `admin`.")] = False
    ) -> StreamingResponse:
        """JSON Lines, as `matchbandit league import` reads them."""
        if names and not it.token.may("admin", it.league.name):
            raise not_allowed(it.token, "admin")
        folder = tempfile.TemporaryDirectory(prefix="matchbandit-export-")
        try:
            file = File(folder.name) / "league.jsonl"
            it.league.export(file, names=names)
        except BaseException:
            folder.cleanup()
            raise
        return StreamingResponse(_chunks(file, folder), media_type="application/x-ndjson")

    # Proposals -------------------------------------------------------------------------------------------------------

    @api.post("/leagues/{league}/proposals", tags=["proposals"], summary="Ask for a proposal", status_code=201)
    def ask(it: Play, body: bodies.Ask | None = None, key: Key = None) -> bodies.ProposalOut:
        """Earlier ones may still be open. Send a key: a repeat then gets the same proposal. Scope: `play`."""
        wanted = body or bodies.Ask()
        fixed = None if wanted.fixed is None else [bodies.pair_of(pair) for pair in wanted.fixed]
        proposal = it.league.ask(available=wanted.available, fixed=fixed, **it.writing(key))
        metrics.proposals.inc()
        return bodies.ProposalOut.of(proposal)

    @api.get(
        "/leagues/{league}/proposals",
        tags=["proposals"],
        summary="List proposals",
        response_model=bodies.ProposalsPage,
        responses=_CSV,
    )
    def list_proposals(
        request: Request,
        it: Read,
        after: After = 0,
        limit: Limit = 100,
        open: Annotated[bool, Query(description="Only those with an outcome missing.")] = False,
    ) -> Any:
        """In the order of their numbers. A page has fewer than `limit` where their pairs are many."""
        with it.league.view() as view:
            page = view.proposals(after=after, limit=limit, open_only=open)
            last = page[-1].number if page else after
            more = bool(page) and bool(view.history(after=last, limit=1, open_only=open))
        if _wants_csv(request):
            rows = [
                {"proposal": one.number, "at": one.at, "due": one.due, "pair": pair, "outcome": one.outcomes.get(pair)}
                for one in page
                for pair in one.pairs
            ]
            return _csv(request, rows, last if more else None)
        proposals = [bodies.ProposalOut.of(one) for one in page]
        return bodies.ProposalsPage.model_construct(proposals=proposals, next=last if more else None)

    @api.get("/leagues/{league}/proposals/{number}", tags=["proposals"], summary="One proposal with its outcomes")
    def get_proposal(it: Read, number: NumberInPath) -> bodies.ProposalOut:
        return bodies.ProposalOut.of(it.league.proposal(number))

    @api.get("/leagues/{league}/proposals/{number}/why", tags=["why"], summary="Why a proposal has these pairs")
    def explain_proposal(it: Read, number: NumberInPath) -> bodies.WhyOut:
        return bodies.WhyOut.of(it.league.why(number))

    def count(receipt: Receipt) -> Receipt:
        metrics.outcomes.labels("booked").inc(receipt.booked)
        metrics.outcomes.labels("repeated").inc(receipt.repeated)
        return receipt

    @api.post("/leagues/{league}/proposals/{number}/outcomes", tags=["proposals"], summary="Report outcomes")
    def tell(it: Play, number: NumberInPath, body: bodies.Outcomes, key: Key = None) -> Receipt:
        """Some pairs or all, late, in any order; all are recorded, or none.

        Outcomes that are known already are ignored; contradicting ones are refused. Scope: `play`.
        """
        return count(it.league.tell(number, body.rows(), **it.writing(key)))

    @api.post("/leagues/{league}/outcomes", tags=["proposals"], summary="Report outcomes of several proposals")
    def tell_many(it: Play, body: bodies.ManyOutcomes, key: Key = None) -> bodies.ReceiptsOut:
        """All are recorded, or none; a receipt for each proposal. Scope: `play`."""
        receipts = it.league.tell_many(body.by_proposal(), **it.writing(key))
        return bodies.ReceiptsOut(receipts=[count(receipt) for receipt in receipts])

    @api.post("/leagues/{league}/proposals/{number}/corrections", tags=["proposals"], summary="Correct outcomes")
    def correct(it: Play, number: NumberInPath, body: bodies.Outcomes, key: Key = None) -> Receipt:
        """The log keeps both. Scope: `play`."""
        return count(it.league.correct(number, body.rows(), **it.writing(key)))

    @api.post("/leagues/{league}/proposals/{number}/void", tags=["proposals"], summary="Declare pairs void")
    def void(it: Play, number: NumberInPath, body: bodies.SomePairs | None = None, key: Key = None) -> Receipt:
        """These pairs never met; without pairs, all whose outcome is missing. Scope: `play`."""
        pairs = None if body is None or body.pairs is None else [bodies.pair_of(pair) for pair in body.pairs]
        return count(it.league.void(number, pairs, **it.writing(key)))

    # Items -----------------------------------------------------------------------------------------------------------

    @api.get(
        "/leagues/{league}/items", tags=["items"], summary="List items", response_model=bodies.ItemsPage, responses=_CSV
    )
    def list_items(
        request: Request,
        it: Read,
        after: After = 0,
        limit: Limit = 1000,
        name: Annotated[str | None, Query(max_length=200, description="Only the item with exactly this name.")] = None,
        side: Annotated[str | None, Query(max_length=200, description="Only items of this side.")] = None,
        active: Annotated[bool | None, Query(description="Only those in the league, or only those who left.")] = None,
        search: Annotated[str, Query(max_length=100, description="A part of the name.")] = "",
    ) -> Any:
        """In the order of their ids, those who left included."""
        with it.league.view() as view:
            if name is not None:
                page, more = _items_named(view, name, side), False
            else:
                page = view.items(after=after, limit=limit + 1, active=active, side=side, search=search)
                page, more = page[:limit], len(page) > limit
        return _page(request, bodies.ItemsPage, page, page[-1].id if more else None)

    @api.get("/leagues/{league}/items/{id}", tags=["items"], summary="One item")
    def get_item(it: Read, item: ItemInPath) -> Item:
        with it.league.view() as view:
            return view.item(_existing(view, item))

    @api.post("/leagues/{league}/items", tags=["items"], summary="Add items", status_code=201)
    def join(it: Admin, body: bodies.Join, key: Key = None) -> bodies.ItemsPage:
        """Who left before comes back with all results. Scope: `admin`."""
        return bodies.ItemsPage(items=it.league.join(*body.names, side=body.side, **it.writing(key)))

    def existing(it: LeagueAccess, item: int) -> int:
        with it.league.view() as view:
            return _existing(view, item)

    @api.delete("/leagues/{league}/items/{id}", tags=["items"], summary="Take an item out of the league")
    def leave(it: Admin, item: ItemInPath, key: Key = None) -> Item:
        """It is not paired any more; its results stay, and open outcomes can still be told. Scope: `admin`."""
        return it.league.leave(existing(it, item), **it.writing(key))[0]

    @api.post("/leagues/{league}/items/{id}/return", tags=["items"], summary="Bring an item back")
    def rejoin(it: Admin, item: ItemInPath, key: Key = None) -> Item:
        """With all its results. Scope: `admin`."""
        return it.league.rejoin(existing(it, item), **it.writing(key))[0]

    @api.post("/leagues/{league}/items/{id}/name", tags=["items"], summary="Rename an item")
    def rename(it: Admin, item: ItemInPath, body: bodies.NewName, key: Key = None) -> Item:
        """All else stays. Scope: `admin`."""
        return it.league.rename(existing(it, item), body.name, **it.writing(key))

    @api.post("/leagues/{league}/items/{id}/forget", tags=["items"], summary="Erase a name for good")
    def forget(it: Admin, item: ItemInPath, key: Key = None) -> Item:
        """The item leaves; its results stay under its id. Scope: `admin`."""
        return it.league.forget(existing(it, item), **it.writing(key))

    # Rules -----------------------------------------------------------------------------------------------------------

    def exclusions(request: Request, it: LeagueAccess, after: str = "", limit: int = 1000) -> Any:
        with it.league.view() as view:
            ids = view.exclusion_ids(after=_pair_cursor(after), limit=limit + 1)
            pairs = [list(view.directory.pair(pair)) for pair in ids[:limit]]
        return _pairs_page(request, pairs, "{}-{}".format(*ids[limit - 1]) if len(ids) > limit else None)

    def wishes(request: Request, it: LeagueAccess) -> Any:
        with it.league.view() as view:
            return _pairs_page(request, [list(pair) for pair in view.wishes()], None)

    rules = {"tags": ["rules"], "response_model": bodies.PairsPage}

    @api.get("/leagues/{league}/exclusions", summary="List excluded pairs", responses=_CSV, **rules)  # type: ignore[arg-type]
    def list_exclusions(request: Request, it: Read, after: AfterPair = "", limit: Limit = 1000) -> Any:
        return exclusions(request, it, after, limit)

    @api.post("/leagues/{league}/exclusions", summary="Exclude pairs", **rules)  # type: ignore[arg-type]
    def exclude(request: Request, it: Admin, body: bodies.Pairs, key: Key = None) -> Any:
        """They are never proposed. Returns the first page of exclusions. Scope: `admin`."""
        it.league.exclude(body.rows(), **it.writing(key))
        return exclusions(request, it)

    @api.post("/leagues/{league}/exclusions/removals", summary="Allow pairs again", **rules)  # type: ignore[arg-type]
    def allow(request: Request, it: Admin, body: bodies.Pairs, key: Key = None) -> Any:
        """Returns the first page of the exclusions that are left. Scope: `admin`."""
        it.league.allow(body.rows(), **it.writing(key))
        return exclusions(request, it)

    @api.get("/leagues/{league}/wishes", summary="List wishes", responses=_CSV, **rules)  # type: ignore[arg-type]
    def list_wishes(request: Request, it: Read) -> Any:
        return wishes(request, it)

    @api.post("/leagues/{league}/wishes", summary="Wish for pairs", **rules)  # type: ignore[arg-type]
    def wish(request: Request, it: Admin, body: bodies.Pairs, key: Key = None) -> Any:
        """Each is proposed once, as soon as both are available. Returns all wishes. Scope: `admin`."""
        it.league.wish(body.rows(), **it.writing(key))
        return wishes(request, it)

    @api.post("/leagues/{league}/wishes/removals", summary="Take wishes back", **rules)  # type: ignore[arg-type]
    def unwish(request: Request, it: Admin, body: bodies.Pairs, key: Key = None) -> Any:
        """Returns the wishes that are left. Scope: `admin`."""
        it.league.unwish(body.rows(), **it.writing(key))
        return wishes(request, it)

    # Strengths and explanations --------------------------------------------------------------------------------------

    @api.get(
        "/leagues/{league}/ranking",
        tags=["why"],
        summary="The ranking, with intervals",
        response_model=bodies.RankingPage,
        responses=_CSV,
    )
    def get_ranking(request: Request, it: Read, after: After = 0, limit: Limit = 1000) -> Any:
        """The strongest first, each side for itself, by the product model, whatever the policy."""
        ranking = it.league.ranking()
        page, end = ranking[after : after + limit], after + limit
        return _page(request, bodies.RankingPage, page, end if end < len(ranking) else None)

    @api.get("/leagues/{league}/why", tags=["why"], summary="The state of the league, explained")
    def explain_league(it: Read) -> bodies.WhyOut:
        return bodies.WhyOut.of(it.league.why())

    @api.get("/leagues/{league}/why/{id}", tags=["why"], summary="The estimate of an item, explained")
    def explain_item(it: Read, item: ItemInPath) -> bodies.WhyOut:
        """Its estimate, interval and meetings. Of proposals: `proposals/{number}/why`."""
        return bodies.WhyOut.of(it.league.why(item=existing(it, item)))

    @api.get("/leagues/{league}/why/{id}/{other}", tags=["why"], summary="The estimate of a pair, explained")
    def explain_pair(it: Read, item: ItemInPath, other: OtherInPath) -> bodies.WhyOut:
        return bodies.WhyOut.of(it.league.why((existing(it, item), existing(it, other))))

    @api.get("/leagues/{league}/fit", tags=["why"], summary="Does the product model fit?")
    def get_fit(it: Read) -> bodies.FitOut:
        return bodies.FitOut.of(it.league.fit())

    @api.get("/leagues/{league}/shadow", tags=["why"], summary="The shadow policy, compared")
    def get_shadow_report(it: Read) -> ShadowReport:
        return it.league.shadow_report()

    # History ---------------------------------------------------------------------------------------------------------

    history = {"tags": ["history"], "responses": _CSV}

    @api.get(
        "/leagues/{league}/events",
        summary="The log, with ids in the place of names",
        response_model=bodies.EventsPage,
        **history,  # type: ignore[arg-type]
    )
    def list_events(request: Request, it: Read, after: After = 0, limit: Limit = 100) -> Any:
        page = it.league.events(after, limit + 1)
        return _page(request, bodies.EventsPage, page[:limit], page[limit - 1].seq if len(page) > limit else None)

    @api.get(
        "/leagues/{league}/audit",
        summary="The log in sentences",
        response_model=bodies.AuditPage,
        **history,  # type: ignore[arg-type]
    )
    def list_audit(request: Request, it: Read, after: After = 0, limit: Limit = 100) -> Any:
        page = [bodies.AuditLine.of(event, sentence) for event, sentence in it.league.audit(after, limit + 1)]
        return _page(request, bodies.AuditPage, page[:limit], page[limit - 1].seq if len(page) > limit else None)

    @api.get(
        "/leagues/{league}/history",
        summary="A line for each proposal",
        response_model=bodies.HistoryPage,
        **history,  # type: ignore[arg-type]
    )
    def list_history(request: Request, it: Read, after: After = 0, limit: Limit = 100) -> Any:
        page = it.league.history(after, limit + 1)
        return _page(request, bodies.HistoryPage, page[:limit], page[limit - 1].number if len(page) > limit else None)

    @api.get("/leagues/{league}/meetings", tags=["history"], summary="Who met whom, as a table")
    def get_meetings(
        it: Read, most: Annotated[int, Query(ge=1, le=1000, description="Items on a side.")] = 200
    ) -> Meetings:
        """Counts and average rewards by id; of many items, those who met most."""
        return it.league.meetings(most=most)

    @api.get(
        "/leagues/{league}/results",
        summary="All results, by pair",
        response_model=bodies.ResultsPage,
        **history,  # type: ignore[arg-type]
    )
    def list_results(request: Request, it: Read, after: AfterPair = "", limit: Limit = 1000) -> Any:
        """Another league can start from them, and a replay."""
        with it.league.view(model=True) as view:
            page = view.results(after=_pair_cursor(after), limit=limit + 1)
        rows = [bodies.ResultOut.of(row) for row in page[:limit]]
        return _page(request, bodies.ResultsPage, rows, "{}-{}".format(*rows[-1].ids) if len(page) > limit else None)

    return api


# Helpers -------------------------------------------------------------------------------------------------------------


def _items_named(view: LeagueView, name: str, side: str | None) -> list[Item]:
    """The items with this name: none, one, or one of each side."""
    items = [view.item(number) for number in view.directory.matches(name)]
    return [item for item in items if side is None or item.side == side]


def _existing(view: LeagueView, item: int) -> int:
    """The id of an item in a path: a missing one is 404, not a mistake in a body."""
    if not 1 <= item <= view.n_items:
        raise ApiError("not-found", f"no item has the id {item}.")
    return item


def _pair_cursor(after: str) -> tuple[int, int]:
    first, _, second = after.partition("-")
    return (int(first), int(second)) if after else (0, 0)


def _page(request: Request, kind: type[bodies.Response], rows: Sequence[Any], next: Any, **more: Any) -> Any:
    """A page as JSON or, if the client prefers it, as CSV."""
    if _wants_csv(request):
        return _csv(request, [row.model_dump() if isinstance(row, bodies.Response) else row for row in rows], next)
    names = [name for name in kind.model_fields if name != "next" and name not in more]
    return kind(**{names[0]: list(rows), "next": next}, **more)


def _pairs_page(request: Request, pairs: list[list[str]], next: str | None) -> Any:
    if _wants_csv(request):
        return _csv(request, [{"pair": pair} for pair in pairs], next)
    return bodies.PairsPage(pairs=pairs, next=next)


def _wants_csv(request: Request) -> bool:
    """Does the client prefer text/csv to JSON?"""
    kinds = [kind.partition(";")[0].strip().lower() for kind in request.headers.get("accept", "").split(",")]
    wanted = [kind for kind in kinds if kind in ("text/csv", "application/json", "*/*")]
    return wanted[:1] == ["text/csv"]


def _csv(request: Request, rows: Sequence[Any], next: Any) -> Response:
    """CSV with the address of the next page in a Link header."""
    headers = {"Vary": "Accept"}
    if next is not None:
        query = urlencode({**request.query_params, "after": next})
        headers["Link"] = f'<{request.url.path}?{query}>; rel="next"'
    return Response(csv_text(rows), media_type="text/csv; charset=utf-8", headers=headers)


def unknown_league(slug: str) -> ApiError:
    """The same words whether there is no such league or the token does not open it."""
    return ApiError("unknown-league", f"the token opens no league {slug[:64]!r}.")


def not_allowed(token: Token, scope: str) -> ApiError:
    """The token lacks a scope."""
    where = "all leagues" if token.leagues is None else f"the leagues {', '.join(token.leagues)}"
    return ApiError(
        "not-allowed",
        f"the token {token.id} has the scope {token.scope} in {where}; to {_PERMISSIONS[scope]} needs {scope}.",
    )


def _chunks(file: File, folder: "tempfile.TemporaryDirectory[str]") -> Iterator[bytes]:
    with folder, file.open("rb") as stream:
        while part := stream.read(_CHUNK_BYTES):
            yield part
