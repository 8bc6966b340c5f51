"""Authentication and rate limits, checked before a body is read."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from math import ceil

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from matchbandit.live.store import Store
from matchbandit.service import sessions, tokens
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
                if scope["path"].startswith("/leagues/"):
                    scope[CONTEXT].token = await self._session_token(scope, address)
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
        token = await self._look_up(text.strip(), address, tokens.lookup)
        if token is None:
            raise ApiError("wrong-token", f"there is no such token. {_HINT}")
        end_reason = token.end_reason(self._store.now())
        if end_reason is not None:
            raise ApiError("ended-token", f"{end_reason}. Make a new one with `matchbandit token new`.")
        return token

    async def _session_token(self, scope: Scope, address: str) -> Token | None:
        """The token of a visitor who is logged in, for limits only: the page checks the session itself."""
        secret = Request(scope).cookies.get(sessions.cookie_name(self._settings))
        # Wrong cookies have a limit of their own: old ones must not keep tokens from being looked up.
        return None if not secret else await self._look_up(secret, f"cookie {address}", _token_of_session)

    async def _look_up(self, secret: str, address: str, find: Callable[[Store, str], Token | None]) -> Token | None:
        """The token of a secret, from the cache or the store. None is counted as a wrong token of the address."""
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
        token = self._cached_token(digest)
        if token is not None:
            return token
        wait = self._wrong_tokens.wait(address)
        if wait > 0:
            raise _too_many("too many wrong tokens or cookies came from this address.", wait)
        token = await anyio.to_thread.run_sync(find, self._store, secret, limiter=self._threads)
        if token is None:
            self._wrong_tokens.take(address)
        else:
            self._cache_token(digest, token)
        return token

    def _cached_token(self, digest: str) -> Token | None:
        token, until = self._cached.get(digest, (None, 0.0))
        return token if self._clock() < until else None

    def _cache_token(self, digest: str, token: Token) -> None:
        self._cached[digest] = (token, self._clock() + self._settings.token_seconds)
        self._cached.move_to_end(digest)
        if len(self._cached) > _MAX_CACHED_TOKENS:
            self._cached.popitem(last=False)


def _token_of_session(store: Store, secret: str) -> Token | None:
    session = sessions.find(store, secret)
    return None if session is None else session.token


def _too_many(message: str, wait: float) -> ApiError:
    seconds = str(max(1, ceil(wait)))
    return ApiError("too-many-requests", f"{message} Try again in {seconds} s.", {"Retry-After": seconds})
