"""HTTP API for operators: archive, delete, restore, verify and import leagues; create and revoke tokens."""

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
from matchbandit.service.tokens import MAX_LABEL_LENGTH, MAX_LIFETIME, Token

_MAX_IMPORTS = 2
"""Imports that one process works on at the same time."""
_MAX_DAYS = MAX_LIFETIME.days

TokenInPath = Annotated[str, Path(alias="id", description="The token's public id.", pattern=r"^[0-9a-f]{12}$")]


class StatusOut(BaseModel):
    """Whether a league is active, archived or deleted."""

    name: str
    status: Literal["active", "archived", "deleted"]
    since: str | None = Field(description="When it was archived or deleted.")
    erase_after: str | None = Field(description="Until when a deleted league can be restored.")

    @classmethod
    def of(cls, status: LeagueStatus) -> "StatusOut":
        """Convert the record of the store."""
        return cls(**asdict(status))


class VerificationOut(BaseModel):
    """The result of a verification."""

    ok: bool
    events: int = Field(description="Events replayed.")
    proposals: int = Field(description="Proposals decided again.")
    snapshots: int = Field(description="Snapshots compared with the replayed state.")
    differences: list[str] = Field(description="Deviations from the log, one sentence each; at most ten.")
    other_versions: int = Field(description="Proposals that another version decided differently; not an error.")


class ImportOut(BaseModel):
    """An imported league."""

    name: str
    events: int
    archived: str | None = Field(description="When it was archived, if it was: it is still.")


class NewToken(BaseModel):
    """A token to create."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: StrictStr = Field(min_length=1, max_length=MAX_LABEL_LENGTH, description="What it is for, in a word or two.")
    scope: Literal["read", "play", "admin"] = "play"
    leagues: list[Slug] | None = Field(
        default=None, min_length=1, max_length=1000, description="The leagues it gives access to; all if omitted."
    )
    days: float | None = Field(
        default=None, gt=0, le=_MAX_DAYS, strict=True, allow_inf_nan=False, description="How long it lasts."
    )


class TokenOut(BaseModel):
    """A token, without its secret."""

    id: str
    label: str
    scope: Literal["read", "play", "admin"]
    leagues: list[str] | None = Field(description="Null: all leagues, including future ones.")
    created: str
    expires: str | None
    revoked: str | None
    ended: bool = Field(description="It is no longer valid.")


class NewTokenOut(TokenOut):
    """A new token with its secret, which cannot be read again."""

    token: str = Field(description="What the header `Authorization: Bearer …` takes.")


class TokensOut(BaseModel):
    """Tokens, the oldest first."""

    tokens: list[TokenOut]
    next: str | None = Field(description="Pass it as `after` for more; null: there are no more.")


def router(store: Store, settings: Settings) -> APIRouter:
    """The routes of this module."""
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
    """Refuse a token without admin rights for all leagues."""
    if not token.may("admin"):
        raise ApiError(
            "not-allowed", f"to {action} needs a token with the scope admin for all leagues; {token.id} is not one."
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

        Archiving it again has no effect. Scope: `admin`.
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
        """Replay the log and compare it with the data derived from it. Scope: `admin`.

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

        verification = it.league.verify(progress=check_time, decisions=decisions)
        fields = {name: getattr(verification, name) for name in VerificationOut.model_fields if name != "differences"}
        return VerificationOut(differences=list(verification.differences), **fields)


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

        Its size has its own limit. Needs a token with the scope `admin` for all leagues.
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
    """Stream the body into a file, within its limits."""
    size = 0
    try:
        async with asyncio.timeout(settings.import_seconds):
            with file.open("wb") as stream:
                async for part in request.stream():
                    size += len(part)
                    if size > settings.import_bytes:
                        message = f"an export has at most {settings.import_bytes} bytes here."
                        raise ApiError(
                            "body-too-large", f"{message} Import it on the server: matchbandit league import"
                        )
                    stream.write(part)
    except TimeoutError:
        message = f"the export did not arrive within {settings.import_seconds:g} s. Send it again."
        raise ApiError("body-too-slow", message, {"Connection": "close"}) from None


def _import(store: Store, file: File, slug: str | None, max_bytes: int) -> dict[str, Any]:
    return store.import_league(file, slug=slug, source="the body", max_bytes=max_bytes).about()


# Tokens --------------------------------------------------------------------------------------------------------------


def _add_tokens(api: APIRouter, store: Store) -> None:
    def token_fields(token: Token) -> dict[str, Any]:
        return {**asdict(token), "ended": token.end_reason(store.now()) is not None}

    @api.get("/tokens", tags=["tokens"], summary="List the tokens")
    def list_tokens(
        request: Request,
        after: Annotated[str | None, Query(description="Begin behind this id.", pattern=r"^[0-9a-f]{12}$")] = None,
        limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
    ) -> TokensOut:
        """Without their secrets, ended ones too. Needs a token with the scope `admin` for all leagues."""
        _require_all(_token(request), "list tokens")
        all_tokens = tokens.list_all(store)
        first = (
            0
            if after is None
            else 1 + next((k for k, token in enumerate(all_tokens) if token.id == after), len(all_tokens))
        )
        page = all_tokens[first : first + limit]
        more = first + limit < len(all_tokens)
        return TokensOut(tokens=[TokenOut(**token_fields(token)) for token in page], next=page[-1].id if more else None)

    @api.post("/tokens", tags=["tokens"], summary="Make a token", status_code=201)
    def create_token(request: Request, body: NewToken) -> NewTokenOut:
        """The secret is in this answer and nowhere else. Needs a token with the scope `admin` for all leagues.

        A token that ends makes none that outlasts it.
        """
        creator = _token(request)
        _require_all(creator, "make a token")
        lifetime = None if body.days is None else timedelta(days=body.days)
        if creator.expires is not None:
            expires = None if lifetime is None else add_seconds(store.now(), lifetime.total_seconds())
            if expires is None or expires > creator.expires:
                raise ApiError(
                    "not-allowed",
                    f"the token {creator.id} ends at {creator.expires}; new tokens must not outlast it. Reduce `days`.",
                )
        token, text = tokens.create(store, body.label, scope=body.scope, leagues=body.leagues, lifetime=lifetime)
        log("token made", {"token": token.id, "scope": token.scope, "by": f"token:{creator.id}"})
        return NewTokenOut(**token_fields(token), token=text)

    @api.delete("/tokens/{id}", tags=["tokens"], summary="End a token")
    def revoke_token(request: Request, id: TokenInPath) -> TokenOut:
        """It is no longer valid; running servers notice within a second. Revoking it again has no effect.

        Needs a token with the scope `admin` for all leagues.
        """
        _require_all(_token(request), "end a token")
        if tokens.get(store, id) is None:
            raise ApiError("not-found", f"no token has the id {id!r}.")
        token = tokens.revoke(store, id)
        log("token ended", {"token": token.id, "by": f"token:{_token(request).id}"})
        return TokenOut(**token_fields(token))
