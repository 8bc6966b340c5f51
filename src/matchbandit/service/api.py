"""The JSON API: a request in, a method of a league, an answer out. It checks who may; leagues check all else."""

import tempfile
from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import StreamingResponse

from matchbandit.live.errors import LeagueError
from matchbandit.live.league import League
from matchbandit.live.names import shown
from matchbandit.live.records import Receipt
from matchbandit.live.store import Store
from matchbandit.service import bodies
from matchbandit.service.json_bodies import JsonRoute
from matchbandit.service.logs import CONTEXT, RequestContext
from matchbandit.service.metrics import Metrics
from matchbandit.service.problems import ApiError
from matchbandit.service.tokens import Token

_CHUNK = 2**16
_NEEDED = {"play": "ask and tell", "admin": "change who takes part, the rules or the names"}

SlugInPath = Annotated[
    str, Path(alias="league", description="The league's slug.", json_schema_extra={"pattern": bodies.SLUG})
]
ItemInPath = Annotated[int, Path(alias="id", description="The item's id.", ge=1, le=bodies.MOST_ID)]
OtherInPath = Annotated[int, Path(alias="other", description="The other item's id.", ge=1, le=bodies.MOST_ID)]
NumberInPath = Annotated[int, Path(alias="number", description="The proposal's number.", ge=1, le=bodies.MOST_ID)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A repeat with the same key and content gets the same answer, and nothing is done twice.",
        pattern=r"^[!-~]{1,100}$",
    ),
]
After = Annotated[int, Query(ge=0, le=2**62, description="Begin behind this one.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]


class Opened:
    """A league that the request's token may open; it is opened when it is first used, by the thread that answers."""

    def __init__(self, store: Store, slug: str, context: RequestContext) -> None:
        """The gate has let the request through, so it has a token."""
        assert context.token is not None
        self.token: Token = context.token
        self._store, self._slug, self._noted = store, slug, context

    @cached_property
    def league(self) -> League:
        """The league, if there is one."""
        try:
            league = self._store.open(self._slug)
        except LeagueError as error:
            raise (_unknown(self._slug) if error.code == "unknown-league" else error) from None
        self._noted.league = self._slug
        return league

    def writing(self, key: str | None) -> dict[str, Any]:
        """What every writing method takes: who, and the key of the request, which is the token's own."""
        return {"by": f"token:{self.token.id}", "key": None if key is None else f"{self.token.id}:{key}"}


def router(store: Store, metrics: Metrics) -> APIRouter:  # noqa: PLR0915 - a list of routes
    """All routes below `/v1`."""
    api = APIRouter(prefix="/v1", route_class=JsonRoute)

    def opened(scope: str) -> Callable[..., Awaitable[Opened]]:
        # It asks nobody and waits for nothing, so it needs no thread of its own.
        async def open_league(request: Request, slug: SlugInPath) -> Opened:
            context: RequestContext = request.scope[CONTEXT]
            it = Opened(store, slug, context)
            if not it.token.sees(slug):
                raise _unknown(slug)
            if not it.token.may(scope, slug):
                raise _not_allowed(it.token, scope)
            return it

        return open_league

    Read = Annotated[Opened, Depends(opened("read"))]
    Play = Annotated[Opened, Depends(opened("play"))]
    Admin = Annotated[Opened, Depends(opened("admin"))]

    # Leagues ---------------------------------------------------------------------------------------------------------

    @api.get("/leagues", tags=["leagues"], summary="The leagues that the token opens")
    def leagues(request: Request) -> bodies.LeaguesTold:
        token: Token = request.scope[CONTEXT].token
        return bodies.LeaguesTold(leagues=[slug for slug in store.leagues() if token.sees(slug)])

    @api.post("/leagues", tags=["leagues"], summary="A new league", status_code=201)
    def create(request: Request, body: bodies.NewLeague, key: Key = None) -> bodies.LeagueTold:
        """Needs the scope `admin`, and a token that is for all leagues or names this one."""
        token: Token = request.scope[CONTEXT].token
        if not token.may("admin", body.slug):
            raise _not_allowed(token, "admin")
        writing = Opened(store, body.slug, request.scope[CONTEXT]).writing(key)
        return bodies.LeagueTold.of(store.create(body.slug, **body.settings(), **writing).about())

    @api.get("/leagues/{league}", tags=["leagues"], summary="What a league is, and how far it has come")
    def about(it: Read) -> bodies.LeagueTold:
        """The settings and the numbers. Scope: `read`, as for all that only looks."""
        return bodies.LeagueTold.of(it.league.about())

    @api.patch("/leagues/{league}", tags=["leagues"], summary="Other settings from now on")
    def configure(it: Admin, body: bodies.Changes, key: Key = None) -> bodies.LeagueTold:
        """What is left out stays. Another policy goes on with all results there are. Scope: `admin`."""
        return bodies.LeagueTold.of(it.league.configure(**body.settings(), **it.writing(key)))

    @api.get(
        "/leagues/{league}/export",
        tags=["leagues"],
        summary="The whole league as one file",
        response_class=StreamingResponse,
        responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
    )
    def export(
        it: Read, names: Annotated[bool, Query(description="With the names; needs `admin`.")] = False
    ) -> StreamingResponse:
        """JSON Lines, as `matchbandit league import` reads them."""
        if names and not it.token.may("admin", it.league.name):
            raise _not_allowed(it.token, "admin")
        folder = tempfile.TemporaryDirectory(prefix="matchbandit-export-")
        try:
            file = File(folder.name) / "league.jsonl"
            it.league.export(file, names=names)
        except BaseException:
            folder.cleanup()
            raise
        return StreamingResponse(_parts(file, folder), media_type="application/x-ndjson")

    # Proposals -------------------------------------------------------------------------------------------------------

    @api.post("/leagues/{league}/proposals", tags=["proposals"], summary="Ask for a proposal", status_code=201)
    def ask(it: Play, body: bodies.Ask | None = None, key: Key = None) -> bodies.ProposalTold:
        """Earlier ones may still be open. Send a key: a repeat then gets the same proposal. Scope: `play`."""
        wanted = body or bodies.Ask()
        fixed = None if wanted.fixed is None else [bodies.pair_of(pair) for pair in wanted.fixed]
        proposal = it.league.ask(available=wanted.available, fixed=fixed, **it.writing(key))
        metrics.proposals.inc()
        return bodies.ProposalTold.of(proposal)

    @api.get("/leagues/{league}/proposals", tags=["proposals"], summary="Proposals, the earliest first")
    def proposals(it: Read, after: After = 0, limit: Limit = 100, open: bool = False) -> bodies.ProposalsTold:
        """With `open=true` all that wait for an outcome, and no others."""
        if open:
            waiting = [one for one in it.league.open_proposals() if one.number > after]
            return bodies.ProposalsTold.of(waiting[:limit], more=len(waiting) > limit)
        found = it.league.proposals(after=after, limit=limit + 1)
        return bodies.ProposalsTold.of(found[:limit], more=len(found) > limit)

    @api.get("/leagues/{league}/proposals/{number}", tags=["proposals"], summary="One proposal, and what came back")
    def proposal(it: Read, number: NumberInPath) -> bodies.ProposalTold:
        return bodies.ProposalTold.of(it.league.proposal(number))

    @api.get("/leagues/{league}/proposals/{number}/why", tags=["why"], summary="Why a proposal is as it is")
    def why_proposal(it: Read, number: NumberInPath) -> bodies.WhyTold:
        return bodies.WhyTold.of(it.league.why(number))

    def count(receipt: Receipt) -> bodies.ReceiptTold:
        metrics.outcomes.labels("booked").inc(receipt.booked)
        metrics.outcomes.labels("repeated").inc(receipt.repeated)
        return bodies.ReceiptTold.of(receipt)

    @api.post("/leagues/{league}/proposals/{number}/outcomes", tags=["proposals"], summary="Tell what came back")
    def tell(it: Play, number: NumberInPath, body: bodies.Outcomes, key: Key = None) -> bodies.ReceiptTold:
        """Some pairs or all, late, in any order; all are booked, or none.

        What is known already is no news; what contradicts it is refused. Scope: `play`.
        """
        return count(it.league.tell(number, body.told(), **it.writing(key)))

    @api.post("/leagues/{league}/proposals/{number}/corrections", tags=["proposals"], summary="Correct what was told")
    def correct(it: Play, number: NumberInPath, body: bodies.Outcomes, key: Key = None) -> bodies.ReceiptTold:
        """The log keeps both. Scope: `play`."""
        return count(it.league.correct(number, body.told(), **it.writing(key)))

    @api.post("/leagues/{league}/proposals/{number}/void", tags=["proposals"], summary="What never happened")
    def void(
        it: Play, number: NumberInPath, body: bodies.SomePairs | None = None, key: Key = None
    ) -> bodies.ReceiptTold:
        """These pairs, or all that still wait. Scope: `play`."""
        pairs = None if body is None or body.pairs is None else [bodies.pair_of(pair) for pair in body.pairs]
        return count(it.league.void(number, pairs, **it.writing(key)))

    # Items -----------------------------------------------------------------------------------------------------------

    @api.get("/leagues/{league}/items", tags=["items"], summary="Who takes part, or did")
    def items(it: Read) -> bodies.ItemsTold:
        return bodies.ItemsTold(items=[bodies.ItemTold.of(item) for item in it.league.items()])

    @api.post("/leagues/{league}/items", tags=["items"], summary="Join, or come back", status_code=201)
    def join(it: Admin, body: bodies.Join, key: Key = None) -> bodies.ItemsTold:
        """Who comes back is known as before. Scope: `admin`."""
        joined = it.league.join(*body.names, side=body.side, **it.writing(key))
        return bodies.ItemsTold(items=[bodies.ItemTold.of(item) for item in joined])

    def one(it: Opened, item: int) -> int:
        """The item of an address: there is none is 404, not a mistake in a body."""
        try:
            return it.league.item(item).id
        except LeagueError as error:
            if error.code != "unknown-item":
                raise
            raise ApiError("not-found", f"no item has the id {item}.") from None

    @api.delete("/leagues/{league}/items/{id}", tags=["items"], summary="Leave")
    def leave(it: Admin, item: ItemInPath, key: Key = None) -> bodies.ItemTold:
        """It is not paired any more; its results stay, and what is open can still be told. Scope: `admin`."""
        return bodies.ItemTold.of(it.league.leave(one(it, item), **it.writing(key))[0])

    @api.post("/leagues/{league}/items/{id}/return", tags=["items"], summary="Come back")
    def rejoin(it: Admin, item: ItemInPath, key: Key = None) -> bodies.ItemTold:
        """With all that it has played. Scope: `admin`."""
        return bodies.ItemTold.of(it.league.rejoin(one(it, item), **it.writing(key))[0])

    @api.post("/leagues/{league}/items/{id}/name", tags=["items"], summary="Another name")
    def rename(it: Admin, item: ItemInPath, body: bodies.NewName, key: Key = None) -> bodies.ItemTold:
        """All else stays. Scope: `admin`."""
        return bodies.ItemTold.of(it.league.rename(one(it, item), body.name, **it.writing(key)))

    @api.post("/leagues/{league}/items/{id}/forget", tags=["items"], summary="Erase a name for good")
    def forget(it: Admin, item: ItemInPath, key: Key = None) -> bodies.ItemTold:
        """The item leaves; its results stay under its id. Scope: `admin`."""
        return bodies.ItemTold.of(it.league.forget(one(it, item), **it.writing(key)))

    # Rules -----------------------------------------------------------------------------------------------------------

    def rules(it: Opened, which: str) -> bodies.PairsTold:
        return bodies.PairsTold(pairs=[list(pair) for pair in it.league.about()[which]])

    @api.get("/leagues/{league}/exclusions", tags=["rules"], summary="Pairs that are never proposed")
    def exclusions(it: Read) -> bodies.PairsTold:
        return rules(it, "exclusions")

    @api.post("/leagues/{league}/exclusions", tags=["rules"], summary="Never propose these pairs")
    def exclude(it: Admin, body: bodies.Pairs, key: Key = None) -> bodies.PairsTold:
        """Gives all exclusions. Scope: `admin`."""
        it.league.exclude(body.listed(), **it.writing(key))
        return rules(it, "exclusions")

    @api.post("/leagues/{league}/exclusions/removals", tags=["rules"], summary="Allow these pairs again")
    def allow(it: Admin, body: bodies.Pairs, key: Key = None) -> bodies.PairsTold:
        """Gives the exclusions that are left. Scope: `admin`."""
        it.league.allow(body.listed(), **it.writing(key))
        return rules(it, "exclusions")

    @api.get("/leagues/{league}/wishes", tags=["rules"], summary="Pairs that are wished for")
    def wishes(it: Read) -> bodies.PairsTold:
        return rules(it, "wishes")

    @api.post("/leagues/{league}/wishes", tags=["rules"], summary="Propose these pairs as soon as both are there, once")
    def wish(it: Admin, body: bodies.Pairs, key: Key = None) -> bodies.PairsTold:
        """Gives all wishes. Scope: `admin`."""
        it.league.wish(body.listed(), **it.writing(key))
        return rules(it, "wishes")

    @api.post("/leagues/{league}/wishes/removals", tags=["rules"], summary="Take wishes back")
    def unwish(it: Admin, body: bodies.Pairs, key: Key = None) -> bodies.PairsTold:
        """Gives the wishes that are left. Scope: `admin`."""
        it.league.unwish(body.listed(), **it.writing(key))
        return rules(it, "wishes")

    # What is known, and why ------------------------------------------------------------------------------------------

    @api.get("/leagues/{league}/ranking", tags=["why"], summary="The strongest first, with intervals")
    def ranking(it: Read) -> bodies.RankingTold:
        """By the product model, whatever the policy."""
        return bodies.RankingTold.of(it.league.ranking())

    @api.get("/leagues/{league}/why", tags=["why"], summary="How the league stands, in a sentence and in numbers")
    def why(it: Read) -> bodies.WhyTold:
        return bodies.WhyTold.of(it.league.why())

    @api.get("/leagues/{league}/why/{id}", tags=["why"], summary="Why an item is where it is")
    def why_item(it: Read, item: ItemInPath) -> bodies.WhyTold:
        """Its estimate, interval and meetings. Of proposals: `proposals/{number}/why`."""
        return bodies.WhyTold.of(it.league.why(shown(one(it, item))))

    @api.get("/leagues/{league}/why/{id}/{other}", tags=["why"], summary="Why a pair is expected to achieve what it is")
    def why_pair(it: Read, item: ItemInPath, other: OtherInPath) -> bodies.WhyTold:
        return bodies.WhyTold.of(it.league.why((one(it, item), one(it, other))))

    @api.get("/leagues/{league}/fit", tags=["why"], summary="Does the product model fit?")
    def fit(it: Read) -> bodies.FitTold:
        return bodies.FitTold.of(it.league.fit())

    @api.get("/leagues/{league}/shadow", tags=["why"], summary="What the shadow policy would have done")
    def shadow(it: Read) -> bodies.ShadowTold:
        return bodies.ShadowTold.of(it.league.shadow_report())

    # What happened ---------------------------------------------------------------------------------------------------

    @api.get("/leagues/{league}/events", tags=["history"], summary="The log, with ids in the place of names")
    def events(it: Read, after: After = 0, limit: Limit = 100) -> bodies.EventsTold:
        found = it.league.events(after, limit + 1)
        return bodies.EventsTold.of(found[:limit], more=len(found) > limit)

    @api.get("/leagues/{league}/audit", tags=["history"], summary="The log in sentences")
    def audit(it: Read, after: After = 0, limit: Limit = 100) -> bodies.AuditTold:
        found = it.league.audit(after, limit + 1)
        return bodies.AuditTold.of(found[:limit], more=len(found) > limit)

    @api.get("/leagues/{league}/history", tags=["history"], summary="A line for each proposal, and what came of it")
    def history(it: Read, after: After = 0, limit: Limit = 100) -> bodies.HistoryTold:
        found = it.league.history(after, limit + 1)
        return bodies.HistoryTold.of(found[:limit], more=len(found) > limit)

    @api.get("/leagues/{league}/meetings", tags=["history"], summary="Who met whom, how often, and what came of it")
    def meetings(
        it: Read, most: Annotated[int, Query(ge=1, le=1000, description="Items on a side.")] = 200
    ) -> bodies.MeetingsTold:
        """Of many items, those who met most."""
        return bodies.MeetingsTold.of(it.league.meetings(most=most))

    @api.get("/leagues/{league}/results", tags=["history"], summary="All results, by pair")
    def results(it: Read) -> bodies.ResultsTold:
        """Another league can begin with them, and a replay."""
        return bodies.ResultsTold.of(it.league.results())

    return api


def _unknown(slug: str) -> ApiError:
    """The same words whether there is no such league or the token does not open it."""
    return ApiError("unknown-league", f"the token opens no league {slug[:64]!r}.")


def _not_allowed(token: Token, scope: str) -> ApiError:
    where = "all leagues" if token.leagues is None else f"the leagues {', '.join(token.leagues)}"
    return ApiError(
        "not-allowed",
        f"the token {token.id} has the scope {token.scope} in {where}; to {_NEEDED[scope]} there takes {scope}.",
    )


def _parts(file: File, folder: "tempfile.TemporaryDirectory[str]") -> Iterator[bytes]:
    with folder, file.open("rb") as stream:
        while part := stream.read(_CHUNK):
            yield part
