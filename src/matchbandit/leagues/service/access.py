"""Who may do what, how fast and how large: checked before the body of a request is read."""

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

import anyio
import msgspec
from anyio import CapacityLimiter, Semaphore, to_thread
from fastapi import Depends, Path, Request

from matchbandit.leagues import League, LeagueError, Store, tokens
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
"""How long a refused request takes at least, so that a flood of them costs little."""
_HINT = "Send the header `Authorization: Bearer mbt_…`; `matchbandit token new` makes a token."
Slug = Annotated[str, Path(alias="league", description="The league's slug.")]


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
class Bucket:
    """A rate limit: it holds `burst` requests, and fills up at `rate` per second."""

    rate: float
    burst: float
    level: float = field(init=False)
    at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """It begins full."""
        self.level = self.burst

    def has_one(self) -> bool:
        """Is a request allowed now?"""
        now = time.monotonic()
        self.level, self.at = min(self.burst, self.level + (now - self.at) * self.rate), now
        return self.level >= 1

    def take(self) -> bool:
        """Take one, if there is one."""
        if allowed := self.has_one():
            self.level -= 1
        return allowed


@dataclass
class Visitor:
    """A token in use by this process: its rate, and how many of its requests are in progress."""

    bucket: Bucket
    slots: Semaphore
    waiting: int = 0


@dataclass(frozen=True)
class Access:
    """A request that its token allows: what a route needs to know about it."""

    token: Token
    store: Store
    slug: str
    max_body_bytes: int

    async def body_limit(self) -> int:
        """The largest body that a valid request to this league, or for a new one, can have."""
        if not self.slug:
            return self.max_body_bytes
        n_items = await to_thread.run_sync(self.store.n_items, self.slug)
        return min(self.max_body_bytes, _SMALL_BYTES + _BYTES_PER_ITEM * n_items)

    @property
    def league(self) -> League:
        """The league in the path."""
        return League(self.store, self.slug)

    def writing(self, request: Request) -> dict[str, Any]:
        """What every writing method takes: who, and the idempotency key, which belongs to the token."""
        key = request.headers.get("Idempotency-Key")
        if key is not None and not (1 <= len(key) <= 100 and key.isascii() and key.isprintable()):
            raise LeagueError("bad-request", "an Idempotency-Key has 1 to 100 printable ASCII characters.")
        return {"by": f"token:{self.token.id}", "key": None if key is None else f"{self.token.id}:{key}"}


class Gate:
    """Tokens, rates and fairness of one process."""

    def __init__(self, store: Store, settings: Settings) -> None:
        """For the tokens of a store."""
        self._store, self._settings = store, settings
        self._tokens: RecentlyUsed[str, tuple[Token | None, float]] = RecentlyUsed(10_000)
        self._visitors: RecentlyUsed[str, Visitor] = RecentlyUsed(10_000)
        self._wrong: RecentlyUsed[str, Bucket] = RecentlyUsed(10_000)
        self._threads = CapacityLimiter(4)  # leagues cannot occupy them

    async def token(self, secret: str, address: str, find: Callable[[Store, str], Token | None]) -> Token:
        """The token of a secret, remembered for a moment; wrong ones are counted by address."""
        token, until = self._tokens.get(secret, (None, 0.0))
        if token is None or until < time.monotonic():
            wrong = self._wrong.get_or(
                address, lambda: Bucket(self._settings.wrong_tokens / 60, self._settings.wrong_tokens)
            )
            if not wrong.has_one():
                raise LeagueError("too-many-requests", "too many wrong tokens came from this address.")
            token = await to_thread.run_sync(find, self._store, secret, limiter=self._threads)
            if token is None:
                wrong.take()
                raise LeagueError("no-token", f"there is no such token, or it has ended. {_HINT}")
            self._tokens[secret] = token, time.monotonic() + self._settings.token_seconds
            self._tokens.get_or(secret, lambda: (None, 0.0))
        return token

    @asynccontextmanager
    async def slot(self, token: Token) -> AsyncIterator[None]:
        """Wait until the token has less than its share of requests in progress; refused ones keep it a little longer."""
        settings = self._settings
        visitor = self._visitors.get_or(
            token.id, lambda: Visitor(Bucket(settings.rate, settings.burst), Semaphore(settings.concurrency))
        )
        if not visitor.bucket.take():
            raise LeagueError("too-many-requests", f"a token has {settings.rate:g} requests a second.")
        if visitor.waiting >= settings.queue:
            raise LeagueError("too-many-requests", f"{settings.queue} requests of this token wait already.")
        visitor.waiting += 1
        try:
            await visitor.slots.acquire()
        finally:
            visitor.waiting -= 1
        try:
            yield
        except LeagueError:
            await anyio.sleep(_REFUSAL_SECONDS)
            raise
        finally:
            visitor.slots.release()


def requires(scope: str, *, in_league: bool = True) -> Any:
    """A dependency: a token with this scope, in the league of the path unless `in_league` is False."""

    async def check(request: Request) -> AsyncIterator[Access]:
        gate, store, settings = request.app.state.gate, request.app.state.store, request.app.state.settings
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            raise LeagueError("no-token", f"this needs a token. {_HINT}")
        address = request.client.host if request.client else "unknown"
        token = await gate.token(secret.strip(), address, tokens.find)
        request.state.token = token.id
        slug = request.path_params.get("league", "")
        async with gate.slot(token):
            if in_league and not token.sees(slug):
                raise LeagueError("unknown-league", f"there is no league {slug!r}.")
            if not token.has(scope):
                raise LeagueError("not-allowed", f"this needs a token with the scope {scope}; it has {token.scope}.")
            access = request.state.access = Access(token, store, slug, settings.max_body_bytes)
            yield access

    return Depends(check)


def body(kind: type[T], *, optional: bool = False) -> Any:
    """A dependency, to be declared after the token's: the body, decoded as `kind` and refused at its first error."""
    decoder = msgspec.json.Decoder(kind)

    async def read(request: Request) -> T | None:
        limit, content = _SMALL_BYTES, bytearray()
        with anyio.fail_after(30):
            async for chunk in request.stream():
                content += chunk
                if len(content) > limit == _SMALL_BYTES:
                    limit = await request.state.access.body_limit()
                if len(content) > limit:
                    raise LeagueError("body-too-large", f"no valid request to this league has more than {limit} bytes.")
        if not content and optional:
            return None
        try:
            if len(content) > _SMALL_BYTES:
                return await to_thread.run_sync(decoder.decode, content)
            return decoder.decode(content)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise LeagueError("bad-request", f"{error}.") from None

    return Depends(read)
