"""Who asks: the token of each request, checked before its body is read; how often it may."""

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

_MOST_REMEMBERED = 10_000
_NEEDED = "Send the header `Authorization: Bearer mbt_…`; `matchbandit token new` makes a token."


class AuthMiddleware:
    """Lets requests to the API through that bring a token; counts those for anything else by address."""

    def __init__(self, app: ASGIApp, store: Store, settings: Settings, threads: CapacityLimiter) -> None:
        """Around an app; tokens are looked up with threads that leagues cannot occupy."""
        self._threads = threads
        self._app, self._store, self._settings = app, store, settings
        self._clock = settings.monotonic
        self._rates = Buckets(settings.rate, settings.burst, settings.monotonic)
        self._wrong = Buckets(settings.wrong_tokens / 60, settings.wrong_tokens, settings.monotonic)
        self._remembered: OrderedDict[str, tuple[Token, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at the token, then at how often it came."""
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
        except ApiError as refusal:
            await Problem(refusal.code, str(refusal.detail), headers=refusal.headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _count(self, key: str) -> None:
        wait = self._rates.take(key)
        if wait > 0:
            words = f"at most {self._settings.rate:g} requests a second, {self._settings.burst} at once."
            raise _too_many(words, wait)

    async def _token(self, header: str | None, address: str) -> Token:
        kind, _, text = (header or "").partition(" ")
        if kind.lower() != "bearer" or not text.strip():
            raise ApiError("no-token", f"this needs a token. {_NEEDED}")
        name = hashlib.sha256(text.strip().encode("utf-8", "surrogateescape")).hexdigest()
        token = self._recalled(name)
        if token is None:
            wait = self._wrong.wait(address)
            if wait > 0:
                raise _too_many("too many wrong tokens came from this address.", wait)
            token = await anyio.to_thread.run_sync(tokens.known, self._store, text.strip(), limiter=self._threads)
            if token is None:
                self._wrong.take(address)
                raise ApiError("wrong-token", f"there is no such token. {_NEEDED}")
            self._remember(name, token)
        ended = token.ended(self._store.now())
        if ended is not None:
            raise ApiError("ended-token", f"{ended}. Make a new one with `matchbandit token new`.")
        return token

    def _recalled(self, name: str) -> Token | None:
        token, until = self._remembered.get(name, (None, 0.0))
        return token if self._clock() < until else None

    def _remember(self, name: str, token: Token) -> None:
        self._remembered[name] = (token, self._clock() + self._settings.token_seconds)
        self._remembered.move_to_end(name)
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)


def _too_many(words: str, wait: float) -> ApiError:
    seconds = str(max(1, ceil(wait)))
    return ApiError("too-many-requests", f"{words} Try again in {seconds} s.", {"Retry-After": seconds})
