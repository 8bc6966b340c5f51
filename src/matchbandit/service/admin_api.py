"""What operators do over HTTP: archive, delete, restore, verify and import leagues; make and end tokens."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path as File
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, StrictStr
from starlette.concurrency import run_in_threadpool

from matchbandit.live.errors import LeagueError
from matchbandit.live.events import add_seconds
from matchbandit.live.lifecycle import LeagueStatus
from matchbandit.live.store import Store
from matchbandit.service import tokens
from matchbandit.service.api import LeagueAccess, SlugInPath, access, unknown_league
from matchbandit.service.bodies import SLUG, Slug
from matchbandit.service.json_bodies import JsonRoute
from matchbandit.service.limits import IMPORT_PATH
from matchbandit.service.logs import CONTEXT, log
from matchbandit.service.problems import ApiError
from matchbandit.service.settings import Settings
from matchbandit.service.tokens import LONGEST_LABEL, LONGEST_LIFE, Token

_MAX_IMPORTS = 2
"""Imports that one process works on at the same time."""
_MAX_DAYS = LONGEST_LIFE.days

TokenInPath = Annotated[str, Path(alias="id", description="The token's public id.", pattern=r"^[0-9a-f]{12}$")]


class StatusOut(BaseModel):
    """Whether a league is active, archived or deleted."""

    name: str
    status: Literal["active", "archived", "deleted"]
    since: str | None = Field(description="When it was archived or deleted.")
    erase_after: str | None = Field(description="Until when a deleted league can be restored.")

    @classmethod
    def of(cls, status: LeagueStatus) -> "StatusOut":
        """From the store's own record."""
        return cls(**asdict(status))


class VerificationOut(BaseModel):
    """What a verification found."""

    ok: bool
    events: int = Field(description="Folded from nothing.")
    proposals: int = Field(description="Decided again.")
    snapshots: int = Field(description="Compared with the fold.")
    differences: list[str] = Field(description="What is not as the log says, a sentence each; at most ten.")
    other_versions: int = Field(description="Proposals that another version decided otherwise; no fault.")


class ImportOut(BaseModel):
    """A league that was imported."""

    name: str
    events: int
    archived: str | None = Field(description="When it was archived, if it was: it is still.")


class NewToken(BaseModel):
    """A token to be made."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: StrictStr = Field(min_length=1, max_length=LONGEST_LABEL, description="What it is for, in a word or two.")
    scope: Literal["read", "play", "admin"] = "play"
    leagues: list[Slug] | None = Field(
        default=None, min_length=1, max_length=1000, description="The leagues it opens; all if left out."
    )
    days: float | None = Field(
        default=None, gt=0, le=_MAX_DAYS, strict=True, allow_inf_nan=False, description="How long it lasts."
    )


class TokenOut(BaseModel):
    """A token, without its secret."""

    id: str
    label: str
    scope: Literal["read", "play", "admin"]
    leagues: list[str] | None = Field(description="Null: all leagues, also those to come.")
    created: str
    expires: str | None
    revoked: str | None
    ended: bool = Field(description="It opens nothing any more.")


class NewTokenOut(TokenOut):
    """A token that was just made, with its secret: nobody can read that again."""

    token: str = Field(description="What the header `Authorization: Bearer …` takes.")


class TokensOut(BaseModel):
    """Tokens, the oldest first."""

    tokens: list[TokenOut]
    next: str | None = Field(description="Pass it as `after` for more; null: there are no more.")


def router(store: Store, settings: Settings) -> APIRouter:
    """All of these routes."""
    api = APIRouter(prefix="/v1", route_class=JsonRoute)
    _add_life_cycle(api, store)
    _add_verify(api, store, settings)
    _add_import(api, store, settings)
    _add_tokens(api, store)
    return api


def _token(request: Request) -> Token:
    token: Token = request.scope[CONTEXT].token
    return token


def _require_all(token: Token, action: str) -> None:
    """Refuse a token that does not administer all leagues, for what is not of one league."""
    if not token.may("admin"):
        raise ApiError(
            "not-allowed", f"to {action} takes a token with the scope admin for all leagues; {token.id} is not one."
        )


# Leagues -------------------------------------------------------------------------------------------------------------


def _add_life_cycle(api: APIRouter, store: Store) -> None:
    Admin = Annotated[LeagueAccess, Depends(access(store, "admin"))]

    def change(it: LeagueAccess, method: Callable[..., LeagueStatus], slug: str, **more: bool) -> StatusOut:
        try:
            return StatusOut.of(method(slug, by=it.writing(None)["by"], **more))
        except LeagueError as error:
            raise (unknown_league(slug) if error.code == "unknown-league" else error) from None

    @api.post("/leagues/{league}/archive", tags=["leagues"], summary="Archive a league")
    def archive_league(it: Admin, slug: SlugInPath) -> StatusOut:
        """It can be read and not written (409, `league-archived`), is not listed, and its deadlines do not pass.

        To archive it twice is no mistake. Scope: `admin`.
        """
        return change(it, store.archive, slug)

    @api.post("/leagues/{league}/restore", tags=["leagues"], summary="Restore a league")
    def restore_league(it: Admin, slug: SlugInPath) -> StatusOut:
        """An archived league, or a deleted one that is not erased yet, is active again. Scope: `admin`."""
        return change(it, store.restore, slug)

    @api.delete("/leagues/{league}", tags=["leagues"], summary="Delete a league")
    def delete_league(
        it: Admin,
        slug: SlugInPath,
        now: Annotated[bool, Query(description="Erase it at once; needs `admin` for all leagues.")] = False,
    ) -> StatusOut:
        """It is hidden at once, can be restored until `erase_after`, and is then erased; only then is its name free.

        Tokens that name it stay. Scope: `admin`.
        """
        if now:
            _require_all(it.token, "erase a league at once")
        return change(it, store.delete, slug, now=now)


def _add_verify(api: APIRouter, store: Store, settings: Settings) -> None:
    Admin = Annotated[LeagueAccess, Depends(access(store, "admin"))]
    limit_s = 0.8 * settings.answer_seconds

    @api.post("/leagues/{league}/verify", tags=["leagues"], summary="Verify a league")
    def verify_league(
        it: Admin,
        decisions: Annotated[
            bool, Query(description="Decide every proposal again, too; needs `admin` for all leagues.")
        ] = False,
    ) -> VerificationOut:
        """Fold the log from nothing and compare it with all that is derived from it. Scope: `admin`.

        It has a time limit (503, `answer-too-slow`); a long log is verified by `matchbandit league verify`.
        """
        if decisions:
            _require_all(it.token, "decide every proposal again")
        end = settings.monotonic() + limit_s

        def check_time(seq: int) -> None:
            if settings.monotonic() > end:
                raise ApiError(
                    "answer-too-slow",
                    f"{seq} events were verified within {limit_s:g} s, and there are more. "
                    f"Run it on the server: matchbandit league verify {it.league.name}",
                )

        found = it.league.verify(progress=check_time, decisions=decisions)
        fields = {name: getattr(found, name) for name in VerificationOut.model_fields if name != "differences"}
        return VerificationOut(differences=list(found.differences), **fields)


def _add_import(api: APIRouter, store: Store, settings: Settings) -> None:
    working = asyncio.Semaphore(_MAX_IMPORTS)
    kinds = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

    @api.post(
        IMPORT_PATH.removeprefix("/v1"),
        tags=["leagues"],
        summary="Import a league",
        status_code=201,
        openapi_extra={"requestBody": {"required": True, "content": kinds}},
    )
    async def import_league(
        request: Request,
        slug: Annotated[
            str | None, Query(description="Its name here; by default that of the export.", pattern=SLUG)
        ] = None,
    ) -> ImportOut:
        """The body is an export, as `GET /v1/leagues/{league}/export` gives it, plain or compressed with gzip.

        Its size has a limit of its own. Needs a token with the scope `admin` for all leagues.
        """
        _require_all(_token(request), "import a league")
        if working.locked():
            raise ApiError("too-busy", f"{_MAX_IMPORTS} leagues are being imported. Try again in a moment.")
        async with working:
            with tempfile.TemporaryDirectory(prefix="matchbandit-import-") as folder:
                file = File(folder) / "league.jsonl"
                await _receive(request, file, settings)
                about = await run_in_threadpool(_import, store, file, slug, settings.import_bytes)
        request.scope[CONTEXT].league = about["name"]
        return ImportOut(name=about["name"], events=about["n_events"], archived=about["archived"])


async def _receive(request: Request, file: File, settings: Settings) -> None:
    """Write the body into a file as it comes, within its limits."""
    size = 0
    try:
        async with asyncio.timeout(settings.import_seconds):
            with file.open("wb") as stream:
                async for part in request.stream():
                    size += len(part)
                    if size > settings.import_bytes:
                        words = f"an export has at most {settings.import_bytes} bytes here."
                        raise ApiError("body-too-large", f"{words} Import it on the server: matchbandit league import")
                    stream.write(part)
    except TimeoutError:
        words = f"the export did not arrive within {settings.import_seconds:g} s. Send it again."
        raise ApiError("body-too-slow", words, {"Connection": "close"}) from None


def _import(store: Store, file: File, slug: str | None, max_bytes: int) -> dict[str, Any]:
    return store.import_league(file, slug=slug, source="the body", max_bytes=max_bytes).about()


# Tokens --------------------------------------------------------------------------------------------------------------


def _add_tokens(api: APIRouter, store: Store) -> None:
    def shown(token: Token) -> dict[str, Any]:
        return {**asdict(token), "ended": token.ended(store.now()) is not None}

    @api.get("/tokens", tags=["tokens"], summary="List the tokens")
    def list_tokens(
        request: Request,
        after: Annotated[str | None, Query(description="Begin behind this id.", pattern=r"^[0-9a-f]{12}$")] = None,
        limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
    ) -> TokensOut:
        """Without their secrets, ended ones too. Needs a token with the scope `admin` for all leagues."""
        _require_all(_token(request), "list tokens")
        every = tokens.listed(store)
        first = 0 if after is None else 1 + next((k for k, token in enumerate(every) if token.id == after), len(every))
        page = every[first : first + limit]
        more = first + limit < len(every)
        return TokensOut(tokens=[TokenOut(**shown(token)) for token in page], next=page[-1].id if more else None)

    @api.post("/tokens", tags=["tokens"], summary="Make a token", status_code=201)
    def create_token(request: Request, body: NewToken) -> NewTokenOut:
        """The secret is in this answer and nowhere else. Needs a token with the scope `admin` for all leagues.

        A token that ends makes none that outlasts it.
        """
        maker = _token(request)
        _require_all(maker, "make a token")
        lasting = None if body.days is None else timedelta(days=body.days)
        if maker.expires is not None:
            expires = None if lasting is None else add_seconds(store.now(), lasting.total_seconds())
            if expires is None or expires > maker.expires:
                raise ApiError(
                    "not-allowed",
                    f"the token {maker.id} ends at {maker.expires} and makes none that outlasts it. Set fewer `days`.",
                )
        token, text = tokens.new(store, body.label, scope=body.scope, leagues=body.leagues, lasting=lasting)
        log("token made", {"token": token.id, "scope": token.scope, "by": f"token:{maker.id}"})
        return NewTokenOut(**shown(token), token=text)

    @api.delete("/tokens/{id}", tags=["tokens"], summary="End a token")
    def revoke_token(request: Request, id: TokenInPath) -> TokenOut:
        """It opens nothing any more; running servers notice within a second. To end it twice is no mistake.

        Needs a token with the scope `admin` for all leagues.
        """
        _require_all(_token(request), "end a token")
        if tokens.by_id(store, id) is None:
            raise ApiError("not-found", f"no token has the id {id!r}.")
        token = tokens.revoke(store, id)
        log("token ended", {"token": token.id, "by": f"token:{_token(request).id}"})
        return TokenOut(**shown(token))
