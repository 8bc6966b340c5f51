"""Limits that apply before anything is parsed: concurrent requests, rates, and size and duration of bodies."""

import asyncio
import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from threading import Lock

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from matchbandit.service.logs import CONTEXT, RequestContext, log
from matchbandit.service.problems import Problem
from matchbandit.service.settings import Settings

IMPORT_PATH = "/v1/imports"
"""Its handler reads the body into a file, within its own limits."""
UNLIMITED = ("/healthz", "/readyz")
"""Health checks are answered under any load."""
_LEAGUE_SHARE, _TELL_SHARE = 4, 2
"""A league may use 1/4 of the threads, and another 1/2 for recording outcomes, which is quick and shares
commits."""
_LEAGUE_PATH = re.compile(r"/(?:v1/)?leagues/([a-z0-9-]{1,64})(?:/|\Z)")
_TELL_PATH = re.compile(r".*/(?:outcomes|corrections?|void)\Z")
_LINGER_SECONDS = 2.0
"""How long to keep reading from a client that is refused while it sends; otherwise it may never read the answer."""


class Buckets:
    """Token buckets by key; thread-safe. The least recently used keys are dropped."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float], *, max_keys: int = 10_000) -> None:
        """Permits per second, capacity of a bucket, and number of buckets."""
        self._rate, self._burst, self._clock, self._max_keys = rate, burst, clock, max_keys
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait(self, key: str) -> float:
        """Seconds until a permit is available, without taking it."""
        with self._lock:
            return max(0.0, (1.0 - self._level(key)) / self._rate)

    def take(self, key: str) -> float:
        """Take a permit and return 0, or return the seconds until one is available."""
        with self._lock:
            level = self._level(key)
            if level < 1.0:
                return (1.0 - level) / self._rate
            self._filled[key] = (level - 1.0, self._clock())
            self._filled.move_to_end(key)
            if len(self._filled) > self._max_keys:
                self._filled.popitem(last=False)
            return 0.0

    def give_back(self, key: str) -> None:
        """Return an unused permit."""
        with self._lock:
            self._filled[key] = (min(float(self._burst), self._level(key) + 1.0), self._clock())

    def _level(self, key: str) -> float:
        now = self._clock()
        level, at = self._filled.get(key, (float(self._burst), now))
        return min(float(self._burst), level + (now - at) * self._rate)


class RequestLimits:
    """Refuses requests that are too many, too large or too slow; passes on those whose body has arrived."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """Wrap an app."""
        self._app, self._settings = app, settings
        self._buffered = 0
        """Bytes of bodies in memory: arriving, and of requests in progress."""
        self._working: set[asyncio.Task[None]] = set()
        """Requests in progress, even if their clients have left; without those whose body is still arriving."""
        self._per_key: Counter[str] = Counter()
        """Number of requests in progress per league, and per token or address."""
        self._semaphores: dict[str, dict[bool, asyncio.Semaphore]] = {}
        """For each league with requests, the semaphores they wait for."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body within its limits, then run the app until it starts to answer."""
        if scope["type"] != "http" or scope["path"] in (*UNLIMITED, IMPORT_PATH):
            await self._app(scope, receive, send)
            return
        share = _BodyShare()
        try:
            body = await self._body(scope, receive, send, share)
            if body is None:
                return
            league, client = _league_of(scope), _client_of(scope)
            refusal = self._refusal(league, client)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
            await self._answer(scope, _replay(body, receive), send, league, client)
        finally:
            self._buffered -= share.size

    def _refusal(self, league: str | None, client: str) -> Problem | None:
        """The error if a limit of concurrent requests is reached: in total, per client or per league."""
        settings = self._settings
        if len(self._working) >= settings.in_flight:
            return Problem("too-busy", f"{settings.in_flight} requests are being worked on. Try again in a moment.")
        if self._per_key[client] >= settings.in_flight_per_token:
            detail = (
                f"{settings.in_flight_per_token} requests of this client are being worked on. Wait for their answers."
            )
            return Problem("too-many-requests", detail, headers={"Retry-After": "1"})
        if league is not None and self._per_key[league] >= settings.in_flight_per_league:
            detail = (
                f"{settings.in_flight_per_league} requests of this league are being worked on. Try again in a moment."
            )
            return Problem("too-busy", detail)
        return None

    def _semaphore_of(self, league: str, path: str) -> asyncio.Semaphore:
        """The semaphore that limits the requests of a league."""
        tells = _TELL_PATH.match(path) is not None
        max_concurrent = max(1, self._settings.threads // (_TELL_SHARE if tells else _LEAGUE_SHARE))
        return self._semaphores.setdefault(league, {}).setdefault(tells, asyncio.Semaphore(max_concurrent))

    def _forget(self, keys: list[str]) -> None:
        """Decrement the counters of an ended request."""
        for key in keys:
            self._per_key[key] -= 1
            if not self._per_key[key]:
                del self._per_key[key]
                self._semaphores.pop(key, None)

    async def _body(self, scope: Scope, receive: Receive, send: Send, share: "_BodyShare") -> bytes | None:
        """The whole body; None if it was refused or the client disconnected."""
        max_bytes, memory = self._settings.body_bytes, self._settings.buffered_bytes
        if not _has_token(scope):
            memory //= 2  # the rest is for requests with a token
            if scope["path"] == "/login" or "cookie" not in Headers(scope=scope):  # the cookie may be of a session
                max_bytes = min(max_bytes, self._settings.anonymous_body_bytes)
        if _content_length(scope) > max_bytes:
            await _refuse_while_sending(_too_large(max_bytes), scope, receive, send)
            return None
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    self._buffered += len(parts[-1])
                    share.size = size
                    if size > max_bytes:
                        parts.clear()
                        break
                    if self._buffered > memory:
                        parts.clear()
                        detail = "other bodies fill the memory that is set aside for them. Try again in a moment."
                        refusal = Problem("too-busy", detail, headers={"Connection": "close"})
                        await _refuse_while_sending(refusal, scope, receive, send)
                        return None
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            detail = f"the body did not arrive within {self._settings.body_seconds:g} s. Send it again."
            await Problem("body-too-slow", detail, headers={"Connection": "close"})(scope, receive, send)
            return None
        await _refuse_while_sending(_too_large(max_bytes), scope, receive, send)
        return None

    async def _answer(self, scope: Scope, receive: Receive, send: Send, league: str | None, client: str) -> None:
        """Run the app; answer with an error if it does not start to answer in time.

        Work in progress then continues, and its answer is lost; work that still waits is cancelled.
        """
        started = late = working = False

        async def unless_late(message: Message) -> None:
            nonlocal started
            if not late:
                started = True
                await send(message)

        keys = [client] if league is None else [client, league]
        semaphore = nullcontext() if league is None else self._semaphore_of(league, scope["path"])

        async def run() -> None:
            nonlocal working
            async with semaphore:
                working = True
                await self._app(scope, receive, unless_late)

        def finish(work: asyncio.Task[None]) -> None:
            self._working.discard(work)
            self._forget(keys)
            error = None if work.cancelled() else work.exception()
            if error is not None and late:  # nobody waits for it, so nothing else logs it
                context: RequestContext = scope[CONTEXT]
                content = {"request_id": context.request_id, "after": "answer-too-slow"}
                log("defect", content, level=logging.ERROR, error=error)

        self._per_key.update(keys)
        work = asyncio.ensure_future(run())
        self._working.add(work)
        work.add_done_callback(finish)
        try:
            await asyncio.wait({work}, timeout=self._settings.answer_seconds)
            if work.done() or started:
                await work
                return
        except asyncio.CancelledError:
            work.cancel()
            raise
        late = True
        if not working:
            work.cancel()
            detail = f"the league was busy for {self._settings.answer_seconds:g} s, and nothing was done. Try again."
            await Problem("too-busy", detail)(scope, receive, send)
            return
        detail = (
            f"no answer within {self._settings.answer_seconds:g} s. It may still be done: repeat the request with the "
            "same Idempotency-Key, and it is done once."
        )
        await Problem("answer-too-slow", detail)(scope, receive, send)


def _league_of(scope: Scope) -> str | None:
    """The key of the league in a path; None without one, or if the token has no access to it.

    Otherwise a client without access could use up the capacity of a league.
    """
    match = _LEAGUE_PATH.match(scope["path"])
    if match is None:
        return None
    token = scope[CONTEXT].token
    return f"league {match[1]}" if token is not None and token.sees(match[1]) else None


def _client_of(scope: Scope) -> str:
    """The key of the client: its token or address."""
    token = scope[CONTEXT].token
    return f"token {token.id}" if token is not None else f"from {(scope.get('client') or ('unknown',))[0]}"


def _too_large(max_bytes: int) -> Problem:
    detail = (
        f"a body has at most {max_bytes} bytes here. Send fewer outcomes or names at a time; "
        "the operator sets the limit with --body-bytes."
    )
    return Problem("body-too-large", detail, headers={"Connection": "close"})


async def _refuse_while_sending(refusal: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse at once, then keep reading briefly: a client whose connection is reset may never see the error."""

    async def lingering(message: Message) -> None:
        if message["type"] == "http.response.body":
            await send({**message, "more_body": True})
            await _listen(receive)
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await send(message)

    await refusal(scope, receive, lingering)


async def _listen(receive: Receive) -> None:
    """Read and discard what the client sends, for a moment."""
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            while (message := await receive())["type"] == "http.request" and message.get("more_body", False):
                pass
    except TimeoutError:
        pass


@dataclass
class _BodyShare:
    """Bytes of one request in the memory for bodies."""

    size: int = 0


def _has_token(scope: Scope) -> bool:
    """Has a valid token been found? That of a session is looked up later."""
    context: RequestContext | None = scope.get(CONTEXT)
    return context is not None and context.token is not None


def _content_length(scope: Scope) -> int:
    """The Content-Length; 0 if it is missing or invalid (the server refuses most invalid ones)."""
    text = Headers(scope=scope).get("content-length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that first returns the body already read, then further messages such as a disconnect."""
    waiting = True

    async def again() -> Message:
        nonlocal waiting
        if waiting:
            waiting = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again
