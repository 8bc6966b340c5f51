"""RequestLimits before anything is parsed: requests at a time, requests a second, bytes of a body, seconds for it."""

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
"""Its handler reads the body into a file, within limits of its own."""
UNLIMITED = ("/healthz", "/readyz")
"""What a watchdog asks for gets an answer whatever the load."""
_LEAGUE_SHARE, _TELL_SHARE = 4, 2
"""A league gets one of so many parts of the threads at a time; and for telling outcomes, which is quick and which many
do together in one commit, one of so many more."""
_LEAGUE_PATH = re.compile(r"/(?:v1/)?leagues/([a-z0-9-]{1,64})(?:/|\Z)")
_TELL_PATH = re.compile(r".*/(?:outcomes|corrections?|void)\Z")
_LINGER_SECONDS = 2.0
"""A client that is refused while it sends is listened to for so long, or it may never read the answer."""


class Buckets:
    """A bucket of permits for each key, which fills at a rate; for all threads. Keys unseen for long are forgotten."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float], *, most: int = 10_000) -> None:
        """Permits a second, how many a bucket holds, and how many buckets are remembered."""
        self._rate, self._burst, self._clock, self._most = rate, burst, clock, most
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait(self, key: str) -> float:
        """Seconds until there is a permit; 0 if there is one now. None is taken."""
        with self._lock:
            return max(0.0, (1.0 - self._level(key)) / self._rate)

    def take(self, key: str) -> float:
        """Take a permit and give 0, or leave it and give the seconds until there is one."""
        with self._lock:
            level = self._level(key)
            if level < 1.0:
                return (1.0 - level) / self._rate
            self._filled[key] = (level - 1.0, self._clock())
            self._filled.move_to_end(key)
            if len(self._filled) > self._most:
                self._filled.popitem(last=False)
            return 0.0

    def give_back(self, key: str) -> None:
        """Put back a permit that was taken for nothing."""
        with self._lock:
            self._filled[key] = (min(float(self._burst), self._level(key) + 1.0), self._clock())

    def _level(self, key: str) -> float:
        now = self._clock()
        level, at = self._filled.get(key, (float(self._burst), now))
        return min(float(self._burst), level + (now - at) * self._rate)


class RequestLimits:
    """Turns away what is too much, too large or too slow; hands on requests whose body is there whole."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """Around an app."""
        self._app, self._settings = app, settings
        self._buffered = 0
        """Bytes of bodies in memory: those that arrive, and those of requests in progress."""
        self._working: set[asyncio.Task[None]] = set()
        """What is being worked on, also what nobody waits for any more; not those whose body is still to come."""
        self._per_key: Counter[str] = Counter()
        """How many of these are of each league, and of each token or address."""
        self._turns: dict[str, dict[bool, asyncio.Semaphore]] = {}
        """Of each league with requests: which of them are worked on, and which wait."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body within its limits, then wait for the beginning of an answer."""
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
            await self._answer(scope, _replayed(body, receive), send, league, client)
        finally:
            self._buffered -= share.size

    def _refusal(self, league: str | None, client: str) -> Problem | None:
        """Why there may not be one more request now: at all, of this client, or of this league."""
        settings = self._settings
        if len(self._working) >= settings.in_flight:
            return Problem("too-busy", f"{settings.in_flight} requests are being worked on. Try again in a moment.")
        if self._per_key[client] >= settings.in_flight_per_token:
            words = (
                f"{settings.in_flight_per_token} requests of this client are being worked on. Wait for their answers."
            )
            return Problem("too-many-requests", words, headers={"Retry-After": "1"})
        if league is not None and self._per_key[league] >= settings.in_flight_per_league:
            words = (
                f"{settings.in_flight_per_league} requests of this league are being worked on. Try again in a moment."
            )
            return Problem("too-busy", words)
        return None

    def _turns_of(self, league: str, path: str) -> asyncio.Semaphore:
        """What the requests of a league wait for."""
        tells = _TELL_PATH.match(path) is not None
        most = max(1, self._settings.threads // (_TELL_SHARE if tells else _LEAGUE_SHARE))
        return self._turns.setdefault(league, {}).setdefault(tells, asyncio.Semaphore(most))

    def _forget(self, keys: list[str]) -> None:
        """A request has ended."""
        for key in keys:
            self._per_key[key] -= 1
            if not self._per_key[key]:
                del self._per_key[key]
                self._turns.pop(key, None)

    async def _body(self, scope: Scope, receive: Receive, send: Send, share: "_BodyShare") -> bytes | None:
        """The whole body; None if it was refused, or the client has gone."""
        most, memory = self._settings.body_bytes, self._settings.buffered_bytes
        if not _has_token(scope):
            memory //= 2  # the rest is for requests with a token
            if scope["path"] == "/login" or "cookie" not in Headers(scope=scope):  # a cookie may be a session's
                most = min(most, self._settings.anonymous_body_bytes)
        if _announced(scope) > most:
            await _refuse_while_sending(_too_large(most), scope, receive, send)
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
                    if size > most:
                        parts.clear()
                        break
                    if self._buffered > memory:
                        parts.clear()
                        words = "other bodies fill the memory that is set aside for them. Try again in a moment."
                        refusal = Problem("too-busy", words, headers={"Connection": "close"})
                        await _refuse_while_sending(refusal, scope, receive, send)
                        return None
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            words = f"the body did not arrive within {self._settings.body_seconds:g} s. Send it again."
            await Problem("body-too-slow", words, headers={"Connection": "close"})(scope, receive, send)
            return None
        await _refuse_while_sending(_too_large(most), scope, receive, send)
        return None

    async def _answer(self, scope: Scope, receive: Receive, send: Send, league: str | None, client: str) -> None:
        """Run the app; if it has not begun to answer in time, say so. What it does goes on, and its answer is lost.

        What still waits for its turn then is not done at all.
        """
        begun = late = working = False

        async def unless_late(message: Message) -> None:
            nonlocal begun
            if not late:
                begun = True
                await send(message)

        keys = [client] if league is None else [client, league]
        turns = nullcontext() if league is None else self._turns_of(league, scope["path"])

        async def run() -> None:
            nonlocal working
            async with turns:
                working = True
                await self._app(scope, receive, unless_late)

        def finish(work: asyncio.Task[None]) -> None:
            self._working.discard(work)
            self._forget(keys)
            error = None if work.cancelled() else work.exception()
            if error is not None and late:  # nobody waits for it, so nobody else writes it down
                context: RequestContext = scope[CONTEXT]
                told = {"request_id": context.request_id, "after": "answer-too-slow"}
                log("defect", told, level=logging.ERROR, error=error)

        self._per_key.update(keys)
        work = asyncio.ensure_future(run())
        self._working.add(work)
        work.add_done_callback(finish)
        try:
            await asyncio.wait({work}, timeout=self._settings.answer_seconds)
            if work.done() or begun:
                await work
                return
        except asyncio.CancelledError:
            work.cancel()
            raise
        late = True
        if not working:
            work.cancel()
            words = f"the league was busy for {self._settings.answer_seconds:g} s, and nothing was done. Try again."
            await Problem("too-busy", words)(scope, receive, send)
            return
        words = (
            f"no answer within {self._settings.answer_seconds:g} s. It may still be done: repeat the request with the "
            "same Idempotency-Key, and it is done once."
        )
        await Problem("answer-too-slow", words)(scope, receive, send)


def _league_of(scope: Scope) -> str | None:
    """The league of a path, as a key; None if there is none, or the token does not open it."""
    match = _LEAGUE_PATH.match(scope["path"])
    if match is None:
        return None
    token = scope[CONTEXT].token
    return None if token is not None and not token.sees(match[1]) else f"league {match[1]}"


def _client_of(scope: Scope) -> str:
    """Whose request it is, as a key: a token, or an address."""
    token = scope[CONTEXT].token
    return f"token {token.id}" if token is not None else f"from {(scope.get('client') or ('unknown',))[0]}"


def _too_large(most: int) -> Problem:
    words = (
        f"a body has at most {most} bytes here. Send fewer outcomes or names at a time; "
        "the operator sets the limit with --body-bytes."
    )
    return Problem("body-too-large", words, headers={"Connection": "close"})


async def _refuse_while_sending(refusal: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse at once, then read on for a moment: a client whose connection is reset may never see the refusal."""

    async def lingering(message: Message) -> None:
        if message["type"] == "http.response.body":
            await send({**message, "more_body": True})
            await _listen(receive)
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await send(message)

    await refusal(scope, receive, lingering)


async def _listen(receive: Receive) -> None:
    """Hear the client out, for a moment, and forget what it says."""
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            while (message := await receive())["type"] == "http.request" and message.get("more_body", False):
                pass
    except TimeoutError:
        pass


@dataclass
class _BodyShare:
    """The bytes that one request holds of the memory for bodies."""

    size: int = 0


def _has_token(scope: Scope) -> bool:
    """Was the request's token found valid? A session's is looked up later."""
    context: RequestContext | None = scope.get(CONTEXT)
    return context is not None and context.token is not None


def _announced(scope: Scope) -> int:
    """The length that the header announces; 0 where it says none that can be read (the server refuses most)."""
    text = Headers(scope=scope).get("content-length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What was read, once; then whatever else comes, such as that the client has gone."""
    waiting = True

    async def again() -> Message:
        nonlocal waiting
        if waiting:
            waiting = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again
