"""Authentication and rate limits, checked before a body is read."""

import hashlib
from collections import OrderedDict
from math import ceil

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from matchbandit.live.store import Store
from matchbandit.service import tokens
from matchbandit.service.limits import UNLIMITED, Buckets
from matchbandit.service.logs import CONTEXT
from matchbandit.service.problems import ApiError, Problem
from matchbandit.service.settings import Settings
from matchbandit.service.tokens import Token

_MAX_CACHED_TOKENS = 10_000
_HINT = "Send the header `Authorization: Bearer mbt_…`; `matchbandit token new` makes a token."


class AuthMiddleware:
    """Requires a valid token for the API; limits other requests per address."""

    def __init__(self, app: ASGIApp, store: Store, settings: Settings, threads: CapacityLimiter) -> None:
        """Wrap an app; `threads` are reserved for token lookups, so that leagues cannot occupy them."""
        self._threads = threads
        self._app, self._store, self._settings = app, store, settings
        self._clock = settings.monotonic
        self._rates = Buckets(settings.rate, settings.burst, settings.monotonic)
        self._wrong_tokens = Buckets(settings.wrong_tokens / 60, settings.wrong_tokens, settings.monotonic)
        self._cached: OrderedDict[str, tuple[Token, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the token, then its rate."""
        if scope["type"] != "http" or scope["path"] in UNLIMITED:
            await self._app(scope, receive, send)
            return
        address = f"from {(scope.get('client') or ('unknown',))[0]}"
        try:
            if scope["path"].startswith("/v1/") or scope["path"] == "/metrics":
                token = scope[CONTEXT].token = await self._token(Headers(scope=scope).get("authorization"), address)
                self._count(token.id)
            else:
                self._count(address)
        except ApiError as error:
            await Problem(error.code, str(error.detail), headers=error.headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _count(self, key: str) -> None:
        wait = self._rates.take(key)
        if wait > 0:
            message = f"at most {self._settings.rate:g} requests a second, {self._settings.burst} at once."
            raise _too_many(message, wait)

    async def _token(self, header: str | None, address: str) -> Token:
        kind, _, text = (header or "").partition(" ")
        if kind.lower() != "bearer" or not text.strip():
            raise ApiError("no-token", f"this needs a token. {_HINT}")
        digest = hashlib.sha256(text.strip().encode("utf-8", "surrogateescape")).hexdigest()
        token = self._cached_token(digest)
        if token is None:
            wait = self._wrong_tokens.wait(address)
            if wait > 0:
                raise _too_many("too many wrong tokens came from this address.", wait)
            token = await anyio.to_thread.run_sync(tokens.lookup, self._store, text.strip(), limiter=self._threads)
            if token is None:
                self._wrong_tokens.take(address)
                raise ApiError("wrong-token", f"there is no such token. {_HINT}")
            self._cache_token(digest, token)
        end_reason = token.end_reason(self._store.now())
        if end_reason is not None:
            raise ApiError("ended-token", f"{end_reason}. Make a new one with `matchbandit token new`.")
        return token

    def _cached_token(self, digest: str) -> Token | None:
        token, until = self._cached.get(digest, (None, 0.0))
        return token if self._clock() < until else None

    def _cache_token(self, digest: str, token: Token) -> None:
        self._cached[digest] = (token, self._clock() + self._settings.token_seconds)
        self._cached.move_to_end(digest)
        if len(self._cached) > _MAX_CACHED_TOKENS:
            self._cached.popitem(last=False)


def _too_many(message: str, wait: float) -> ApiError:
    seconds = str(max(1, ceil(wait)))
    return ApiError("too-many-requests", f"{message} Try again in {seconds} s.", {"Retry-After": seconds})
