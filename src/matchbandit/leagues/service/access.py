"""Who may do what, how fast and how large: checked before the body of a request is read."""

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from inspect import iscoroutinefunction
from math import exp
from typing import Annotated, Any, Generic, TypeVar, get_type_hints

import anyio
import msgspec
from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.requests import ClientDisconnect

from matchbandit.errors import unknown
from matchbandit.leagues import League, LeagueError, Store, tokens
from matchbandit.leagues.errors import CODES
from matchbandit.leagues.service.requests import openapi
from matchbandit.leagues.service.responses import answer
from matchbandit.leagues.service.settings import Settings
from matchbandit.leagues.tokens import Token

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
_SMALL_BYTES = 2**14
"""Any body may be as large; larger ones are decoded in a thread,"""
_BYTES_PER_ITEM = 2**10
"""and may have as many bytes more per item of the league: names have at most 200 characters."""
_REFUSAL_SECONDS = 0.1
"""How long a refused request takes at least."""
_QUICK_SECONDS = 0.001
"""A request that takes more processor time"""
_PAUSE_FACTOR = 3.0
"""is followed by a pause, so many times as long, if nobody else has used as much lately,"""
_MEMORY_SECONDS = 1.0
"""that is, within about this time."""
_OUTAGE_SECONDS = 3600.0
"""While the store is away, tokens that were valid in this time still open the metrics."""
_HINT = "Send the header `Authorization: Bearer mbt_…`; `matchbandit token new` makes a token."
_BEARER = HTTPBearer(
    auto_error=False, scheme_name="token", description="A token from `matchbandit token new`: `mbt_…`."
)


class RecentlyUsed(OrderedDict[K, V], Generic[K, V]):
    """A dict that forgets what was used least recently."""

    def __init__(self, size: int) -> None:
        """It keeps this many."""
        super().__init__()
        self._size = size

    def get_or(self, key: K, make: Callable[[], V]) -> V:
        """The value, which is made if there is none."""
        if key not in self:
            self[key] = make()
            if len(self) > self._size:
                self.popitem(last=False)
        self.move_to_end(key)
        return self[key]


@dataclass
class Usage:
    """Processor time that was used, which is forgotten gradually."""

    seconds: float = 0.0
    at: float = field(default_factory=time.monotonic)

    def add(self, seconds: float) -> float:
        """Add some; returns what is remembered."""
        now = time.monotonic()
        self.seconds = self.seconds * exp((self.at - now) / _MEMORY_SECONDS) + seconds
        self.at = now
        return self.seconds


_usage: ContextVar[Usage | None] = ContextVar("_usage", default=None)


def measured(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose processor time the gate counts for the request in progress."""

    @wraps(function)
    def measure(*args: Any, **values: Any) -> Any:
        usage, began = _usage.get() or Usage(), time.thread_time()
        try:
            return function(*args, **values)
        finally:
            usage.add(time.thread_time() - began)

    return measure


class MeasuredRoute(APIRoute):
    """A route that is measured if it runs in a thread; a body that it reads by `body` is documented."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Called by the router."""
        for annotation in get_type_hints(endpoint, include_extras=True).values():
            for dependency in getattr(annotation, "__metadata__", ()):
                if documentation := getattr(getattr(dependency, "dependency", None), "documentation", None):
                    options["openapi_extra"] = documentation
        super().__init__(path, endpoint if iscoroutinefunction(endpoint) else measured(endpoint), **options)


@asynccontextmanager
async def slow_refusals() -> AsyncIterator[None]:
    """A refusal takes a moment, and holds its slot that long, so that a flood of them costs little."""
    try:
        yield
    except Exception:
        await anyio.sleep(_REFUSAL_SECONDS)
        raise


@dataclass(frozen=True)
class Access:
    """A request that its token allows: what a route needs to know about it."""

    request: Request
    token: Token
    store: Store
    slug: str

    @property
    def league(self) -> League:
        """The league in the path."""
        return League(self.store, self.slug)

    async def body_limit(self, maximum: int) -> int:
        """The largest body of a valid request about proposals of this league."""
        n_items = await to_thread.run_sync(self.store.n_items, self.slug)
        return min(maximum, _SMALL_BYTES + _BYTES_PER_ITEM * n_items)

    def answer(self, content: Any, status: int = 200, **options: Any) -> Response:
        """The response with these records; see `responses.answer`."""
        return answer(self.request, content, status, **options)

    @property
    def writing(self) -> dict[str, Any]:
        """What every writing method takes: who, and the idempotency key, which belongs to the token."""
        key = self.request.headers.get("Idempotency-Key")
        if key is not None and not (1 <= len(key) <= 100 and key.isascii() and key.isprintable()):
            raise LeagueError(
                "bad-request", "an Idempotency-Key has 1 to 100 printable ASCII characters.", field="Idempotency-Key"
            )
        return {"by": f"token:{self.token.id}", "key": None if key is None else f"{self.token.id}:{key}"}


class Gate:
    """Tokens, rates and fairness of one process."""

    def __init__(self, store: Store, settings: Settings) -> None:
        """For the tokens of a store."""
        self._store, self._settings = store, settings
        self._tokens: RecentlyUsed[tuple[Any, str], tuple[Token | None, float]] = RecentlyUsed(10_000)
        self._next_at: RecentlyUsed[str, float] = RecentlyUsed(10_000)
        """When each token would be at its rate again."""
        self._limiters: RecentlyUsed[tuple[str, str], CapacityLimiter] = RecentlyUsed(30_000)
        # Threads of their own for tokens: leagues cannot occupy them, nor unknown tokens those of known ones.
        self._known, self._unknown = CapacityLimiter(4), CapacityLimiter(1)
        self._used: RecentlyUsed[str, Usage] = RecentlyUsed(200)

    async def token(
        self, secret: str, address: str, find: Callable[[Store, str], Token | None], *, in_outage: bool = False
    ) -> Token:
        """The token of a secret, remembered for a moment; those that are new here wait in a queue of their address.

        `in_outage` accepts a token that was valid lately while the store is away.
        """
        key = find, secret  # a session is no token for the API, nor the reverse
        token, checked = self._tokens.get(key, (None, 0.0))
        age = time.monotonic() - checked
        if token is not None and age < self._settings.token_seconds:
            return token
        try:
            if token is not None:
                token = await to_thread.run_sync(find, self._store, secret, limiter=self._known)
            if token is None:
                async with self._turn("address", address, "unknown tokens from this address"), slow_refusals():
                    token = await to_thread.run_sync(find, self._store, secret, limiter=self._unknown)
                    if token is None:
                        self._tokens.pop(key, None)
                        raise LeagueError("no-token", f"there is no such token, or it has ended. {_HINT}")
        except LeagueError as error:
            if token is not None and in_outage and age < _OUTAGE_SECONDS and CODES[error.code].status == 503:
                return token
            raise
        self._tokens.get_or(key, lambda: (None, 0.0))
        self._tokens[key] = token, time.monotonic()
        return token

    @asynccontextmanager
    async def slot(self, token: Token, slug: str = "") -> AsyncIterator[None]:
        """Wait until the token, and the league if there is one, have less than their share of requests in progress.

        Whoever uses most of the processor pauses between requests, since the interpreter serves one thread at a time.
        """
        await self._check_rate(token)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._turn("token", token.id, "requests of this token"))
            if slug and token.sees(slug):
                await stack.enter_async_context(self._turn("league", slug, "requests to this league"))
            await stack.enter_async_context(slow_refusals())
            usage = Usage()
            _usage.set(usage)
            yield
            is_largest = self._is_largest([f"token {token.id}", f"league {slug}"], usage.seconds)
            if is_largest and usage.seconds > _QUICK_SECONDS:
                await anyio.sleep(_PAUSE_FACTOR * usage.seconds)

    def _is_largest(self, users: list[str], seconds: float) -> bool:
        """Count processor time of a token and a league; has nobody else used as much lately, but something?"""
        mine = max(self._used.get_or(user, Usage).add(seconds) for user in users)
        others = max((usage.add(0.0) for user, usage in self._used.items() if user not in users), default=0.0)
        return mine > others > _QUICK_SECONDS

    async def _check_rate(self, token: Token) -> None:
        """Let requests through that come at the rate of a token on average, and a burst of them at once."""
        rate, now = self._settings.rate, time.monotonic()
        next_at = max(self._next_at.get_or(token.id, float), now)
        if next_at - now > (self._settings.burst - 1) / rate:
            await anyio.sleep(_REFUSAL_SECONDS)
            raise LeagueError("too-many-requests", f"a token has {rate:g} requests a second. Wait a moment.")
        self._next_at[token.id] = next_at + 1 / rate

    @asynccontextmanager
    async def _turn(self, kind: str, name: str, what: str) -> AsyncIterator[None]:
        """A few at once, and some more who wait in the order of their arrival; the rest are refused."""
        limiter = self._limiters.get_or((kind, name), lambda: CapacityLimiter(self._settings.concurrency))
        waiting = limiter.statistics().tasks_waiting
        if waiting >= self._settings.queue:
            await anyio.sleep(_REFUSAL_SECONDS)
            raise LeagueError("too-many-requests", f"{waiting} {what} are waiting already. Try again.")
        async with limiter:
            yield


def client_address(request: Request) -> str:
    """Where the request comes from."""
    return request.client.host if request.client else "unknown"


def requires(scope: str, *, in_league: bool = True, in_outage: bool = False) -> Any:
    """A dependency: a token with this scope, in the league of the path unless `in_league` is False."""

    async def check(request: Request, credentials: Annotated[Any, Security(_BEARER)]) -> AsyncIterator[Access]:
        gate, store = request.app.state.gate, request.app.state.store
        if credentials is None:
            raise LeagueError("no-token", f"this needs a token. {_HINT}")
        secret, address = credentials.credentials.strip(), client_address(request)
        token = await gate.token(secret, address, tokens.find, in_outage=in_outage)
        request.state.token = token.id
        slug = request.path_params.get("league", "")
        async with gate.slot(token, slug):
            if in_league and not token.sees(slug):
                raise LeagueError("unknown-league", f"there is no league {slug!r} for this token.")
            if not token.has(scope):
                raise LeagueError("not-allowed", f"this needs a token with the scope {scope}; it has {token.scope}.")
            check_query(request)
            access = request.state.access = Access(request, token, store, slug)
            yield access

    return Depends(check)


def check_query(request: Request) -> None:
    """Refuse query parameters that the route does not have: they would be ignored."""
    if not request.query_params:
        return
    operations = request.app.openapi()["paths"].get(request.scope["route"].path, {})
    operation = operations.get(request.method.lower(), {})
    known = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
    for name in request.query_params:
        if name not in known:
            raise LeagueError("bad-request", str(unknown("query parameter", name[:60], known)), field=name[:60])


def body(kind: type[T], *, optional: bool = False, of_any_size: bool = False) -> Any:
    """A dependency, to be declared after the token's: the body, decoded as `kind` and refused at its first error.

    Bodies are limited by the size of the league, unless they are `of_any_size`: names that are to join.
    """
    decoder = msgspec.json.Decoder(kind)

    async def read(request: Request) -> T | None:
        content = await read_body(request, of_any_size=of_any_size)
        if not content and optional:
            return None
        try:
            if len(content) > _SMALL_BYTES:
                return await to_thread.run_sync(decoder.decode, content)
            return decoder.decode(content)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise _body_error(kind, str(error)) from None

    read.documentation = openapi(kind, required=not optional)  # type: ignore[attr-defined]
    return Depends(read)


async def read_body(request: Request, *, of_any_size: bool) -> bytearray:
    """The body, refused as soon as it is too large, or says that it will be."""
    maximum, content = request.app.state.settings.max_body_bytes, bytearray()
    limit, is_final = (maximum, True) if of_any_size else (_SMALL_BYTES, False)

    async def check(size: int) -> None:
        nonlocal limit, is_final
        if size > limit and not is_final:
            limit, is_final = await request.state.access.body_limit(maximum), True
        if size > limit:
            raise LeagueError("body-too-large", f"no valid request to this league has more than {limit} bytes.")

    announced = request.headers.get("content-length", "")[:18]
    await check(int(announced) if announced.isdecimal() else 0)
    async for chunk in chunks(request):
        content += chunk
        await check(len(content))
    return content


async def chunks(request: Request) -> AsyncIterator[bytes]:
    """The body in parts; one that arrives too slowly is refused."""
    seconds = request.app.state.settings.body_seconds
    end = time.monotonic() + seconds
    stream = request.stream()
    while True:
        try:
            with anyio.fail_after(end - time.monotonic()):
                chunk = await anext(stream, None)
        except (TimeoutError, ClientDisconnect):
            raise LeagueError("body-too-slow", f"the body did not arrive within {seconds:g} s.") from None
        if chunk is None:
            return
        yield chunk


def _body_error(kind: Any, message: str) -> LeagueError:
    """The first error of a body, with the path of the field that is wrong."""
    message, _, path = message.partition(" - at `$")
    where = path.rstrip("`").lstrip(".")
    if "unknown field" in message and not where:
        name = message.split("`")[1]
        message = str(unknown("field", name[:60], kind.__struct_fields__))
        return LeagueError("bad-request", message, field=name[:60])
    if "missing required field" in message:
        where = ".".join(filter(None, [where, message.split("`")[1]]))
    text = message[:1].lower() + message[1:200]
    return LeagueError("bad-request", f"{where or 'the body'}: {text}. See /docs.", field=where or None)
