"""A client of the service: the methods of a store and its leagues, over HTTP, with repeats that do nothing twice."""

import random
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from matchbandit.leagues import library, records
from matchbandit.leagues.errors import CODES, LeagueError
from matchbandit.leagues.items import Name
from matchbandit.leagues.outcomes import rows_of

T = TypeVar("T")
PageT = TypeVar("PageT", bound=records.Page[Any])
_RETRIED = frozenset({408, 429, 502, 503, 504})
"""Statuses after which the same request may succeed."""
_MAX_PAUSE_S = 30.0
_PAGE = 1000
"""Most rows of a page."""


class RemoteStore:
    """The leagues of a service, as those of a `Store`; thread-safe.

    Every writing request carries an idempotency key, so that it can be repeated when its answer got lost. A request is
    sent `attempts` times before it fails, with pauses of .1 s, .2 s and so on, or those that the service asks for.
    `timeout` is for one answer, in seconds; `transport` and `sleep` are for tests.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        attempts: int = 6,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is sent yet."""
        if not url.startswith(("http://", "https://")):
            raise LeagueError("bad-value", f"the URL of a service begins with https:// or http://; got {url[:100]!r}.")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise LeagueError("bad-value", "a token has no spaces or control characters; give it as it was printed.")
        self.url, self._attempts, self._sleep = url.rstrip("/"), attempts, sleep
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=f"{self.url}/v1", headers=headers, timeout=timeout, transport=transport)

    def __repr__(self) -> str:
        """The URL, without the token."""
        return f"RemoteStore({self.url!r})"

    def create(self, slug: str, *, past: Any = None, key: str | None = None, **settings: Any) -> "RemoteLeague":
        """Create a league, with the parameters of `Store.create`."""
        body = {"slug": slug, **settings} | ({} if past is None else {"past": _past(past)})
        self.write("POST", "/leagues", records.LeagueInfo, body, key)
        return RemoteLeague(self, slug)

    def open(self, slug: str) -> "RemoteLeague":
        """A league by name."""
        league = RemoteLeague(self, slug)
        league.info()
        return league

    def leagues(self, *, after: str = "", limit: int | None = None, **params: Any) -> records.Page[records.LeagueInfo]:
        """The leagues that the token opens, in the order of their names; `search` and `status` are those of `Store`."""
        return self.pages("/leagues", records.Page[records.LeagueInfo], after, limit, **params)

    def archive(self, slug: str, *, key: str | None = None) -> None:
        """Archive a league: it can be read and not written."""
        self.write("POST", f"{_path(slug)}/archive", type(None), None, key)

    def restore(self, slug: str, *, key: str | None = None) -> None:
        """Make an archived or deleted league active again."""
        self.write("POST", f"{_path(slug)}/restore", type(None), None, key)

    def delete(self, slug: str, *, now: bool = False, key: str | None = None) -> None:
        """Delete a league; it can be restored for 30 days, unless `now`."""
        self.write("DELETE", _path(slug), type(None), None, key, now=now)

    def import_league(self, path: str | Path, *, slug: str | None = None, key: str | None = None) -> "RemoteLeague":
        """Import a league that `export` wrote."""
        info = self.write("POST", "/imports", records.LeagueInfo, Path(path).read_bytes(), key, slug=slug)
        return RemoteLeague(self, info.slug)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        """For `with RemoteStore(...) as store`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def read(self, path: str, kind: type[T], /, **params: Any) -> T:
        """The records at a path."""
        return msgspec.json.decode(self.send("GET", path, params).content, type=kind)

    def write(self, method: str, path: str, kind: type[T], body: Any, key: str | None, **params: Any) -> T:
        """Send a writing request with a key; returns the records of the answer."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        if (tag := params.pop("if_match", None)) is not None:
            headers["If-Match"] = f'"{tag}"'
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body, enc_hook=_plain)
        answer = self.send(method, path, params, headers, content)
        return msgspec.json.decode(answer.content or b"null", type=kind)

    def pages(self, path: str, kind: type[PageT], after: Any, limit: int | None, /, **params: Any) -> PageT:
        """The rows of a list, page by page, until there are `limit`."""
        rows: list[Any] = []
        while True:
            size = _PAGE if limit is None else min(_PAGE, limit - len(rows))
            page = self.read(path, kind, after=after, limit=size, **params)
            rows, after = rows + page.rows, page.next
            if after is None or (limit is not None and len(rows) >= limit):
                return replace(page, rows=rows)

    def send(
        self, method: str, path: str, params: Mapping[str, Any], headers: Any = None, content: bytes | None = None
    ) -> httpx.Response:
        """Send a request again until it is answered; a refusal is raised as the error that a `Store` would raise."""
        query = {name: _plain(value) for name, value in params.items() if value is not None and value != ""}
        for attempt in range(1, self._attempts + 1):
            wanted = 0.0
            try:
                answer = self._http.request(method, path, params=query, headers=headers, content=content)
            except httpx.TransportError as problem:
                text = f"{self.url} gave no answer in {attempt} attempts ({type(problem).__name__}). Is the URL right?"
                error = LeagueError("unreachable", text)
            else:
                if answer.is_success:
                    return answer
                error = _error(answer)
                if answer.status_code not in _RETRIED:
                    raise error
                after = answer.headers.get("Retry-After", "")
                wanted = float(after) if after.isdecimal() else 0.0
            if attempt < self._attempts:  # clients that failed together must not come back together
                pause = 0.1 * 2 ** (attempt - 1)
                self._sleep(min(_MAX_PAUSE_S, wanted + pause * random.uniform(0.5, 1.0)))
        raise error


class RemoteLeague:
    """A league of a service, with the methods and records of `League`."""

    def __init__(self, store: RemoteStore, slug: str) -> None:
        """Use `RemoteStore.create` or `RemoteStore.open` instead."""
        self.store, self.slug = store, slug

    def __repr__(self) -> str:
        """Name and service."""
        return f"RemoteLeague({self.slug!r}, {self.store!r})"

    def _get(self, path: str, kind: type[T], **params: Any) -> T:
        return self.store.read(_path(self.slug) + path, kind, **params)

    def _list(
        self, path: str, kind: type[PageT], /, after: Any = None, limit: int | None = None, **params: Any
    ) -> PageT:
        return self.store.pages(_path(self.slug) + path, kind, after, limit, **params)

    def _post(self, path: str, kind: type[T], key: str | None, **body: Any) -> T:
        return self.store.write("POST", _path(self.slug) + path, kind, body, key)

    def ask(
        self, *, available: Iterable[Name] | None = None, fixed: Iterable[Any] | None = None, key: str | None = None
    ) -> records.Proposal:
        """Propose pairs of the available items, under a new number."""
        names = None if available is None else list(available)
        pairs = None if fixed is None else _pairs(fixed)
        return self._post("/proposals", records.Proposal, key, available=names, fixed=pairs)

    def tell(self, number: int, outcomes: Any, *, key: str | None = None) -> records.Receipt:
        """Record outcomes of some or all pairs of a proposal; `VOID` if a pair never met."""
        return self.tell_many({number: outcomes}, key=key)[0]

    def tell_many(self, outcomes: Mapping[int, Any], *, key: str | None = None) -> list[records.Receipt]:
        """Record outcomes of several proposals, by number, all or none; returns a receipt for each."""
        rows = {str(number): _outcomes(part) for number, part in outcomes.items()}
        return self._post("/outcomes", list[records.Receipt], key, proposals=rows)

    def correct(self, number: int, outcomes: Any, *, key: str | None = None) -> records.Receipt:
        """Replace recorded outcomes; the history keeps both."""
        rows = _outcomes(outcomes)
        return self._post(f"/proposals/{number}/corrections", records.Receipt, key, outcomes=rows)

    def void(self, number: int, pairs: Iterable[Any] | None = None, *, key: str | None = None) -> records.Receipt:
        """Record that pairs of a proposal never met; by default, all whose outcome is missing."""
        body = {} if pairs is None else {"pairs": _pairs(pairs)}
        path = f"{_path(self.slug)}/proposals/{number}/void"
        return self.store.write("POST", path, records.Receipt, body or None, key)

    def join(self, *names: str, side: str | None = None, key: str | None = None) -> list[records.Item]:
        """Add items, or let those that left come back. A league of two sides needs `side`."""
        return self._post("/items", list[records.Item], key, names=names, side=side)

    def leave(self, *names: Name, side: str | None = None, key: str | None = None) -> list[records.Item]:
        """Let items leave: they are no longer paired; their results stay."""
        return self._post("/items/leave", list[records.Item], key, names=names, side=side)

    def rejoin(self, *names: Name, side: str | None = None, key: str | None = None) -> list[records.Item]:
        """Let items that left rejoin, with their results."""
        return self._post("/items/rejoin", list[records.Item], key, names=names, side=side)

    def rename(self, old: Name, new: str, *, side: str | None = None, key: str | None = None) -> records.Item:
        """Rename an item."""
        return self._post("/items/rename", records.Item, key, name=old, new=new, side=side)

    def erase_name(self, name: Name, *, side: str | None = None, key: str | None = None) -> records.Item:
        """Erase a name permanently. The item leaves; its results stay under its id."""
        return self._post("/items/erase-name", records.Item, key, name=name, side=side)

    def exclude(self, pairs: Iterable[Any], *, key: str | None = None) -> int:
        """Never propose these pairs; returns how many are new."""
        return self._rules("exclude", pairs, key)

    def unexclude(self, pairs: Iterable[Any], *, key: str | None = None) -> int:
        """Remove exclusions; returns how many there were."""
        return self._rules("unexclude", pairs, key)

    def pin(self, pairs: Iterable[Any], *, key: str | None = None) -> int:
        """Fix each pair in the next proposal for which both items are available; returns how many are new."""
        return self._rules("pin", pairs, key)

    def unpin(self, pairs: Iterable[Any], *, key: str | None = None) -> int:
        """Remove pins; returns how many there were."""
        return self._rules("unpin", pairs, key)

    def _rules(self, action: str, pairs: Iterable[Any], key: str | None) -> int:
        return int(self._post(f"/rules/{action}", dict[str, int], key, pairs=_pairs(pairs))["changed"])

    def configure(self, *, if_match: str | None = None, key: str | None = None, **changes: Any) -> records.LeagueInfo:
        """Change settings; with `if_match`, a `settings_tag`, only if the settings are still those."""
        path = f"{_path(self.slug)}/settings"
        return self.store.write("PATCH", path, records.LeagueInfo, changes, key, if_match=if_match)

    def import_results(self, past: Any, *, key: str | None = None) -> int:
        """Take in earlier results before the first proposal."""
        return int(self._post("/past-results", dict[str, int], key, results=_past(past))["results"])

    def info(self) -> records.LeagueInfo:
        """Settings and counts of the league."""
        return self._get("", records.LeagueInfo)

    def items(self, **params: Any) -> records.Page[records.Item]:
        """Items in the order of their ids; see `League.items`."""
        return self._list("/items", records.Page[records.Item], **params)

    def proposal(self, number: int) -> records.Proposal:
        """A proposal with its outcomes so far."""
        return self._get(f"/proposals/{number}", records.Proposal)

    def proposals(self, *, open_only: bool = False, **bounds: Any) -> records.Page[records.Proposal]:
        """Proposals in the order of their numbers; see `League.proposals`."""
        return self._list("/proposals", records.Page[records.Proposal], open=open_only, **bounds)

    def summaries(self, *, open_only: bool = False, **bounds: Any) -> records.Page[records.ProposalSummary]:
        """Expected and achieved rewards of each proposal; see `League.summaries`."""
        return self._list("/summaries", records.Page[records.ProposalSummary], open=open_only, **bounds)

    def results(self, item: Name | None = None, **params: Any) -> records.Page[records.PairResult]:
        """The results of each pair that has any, or of the pairs of one item, in the order of ids."""
        return self._list("/results", records.Page[records.PairResult], item=_label(item), **params)

    def rules(self, kind: str | None = None, **params: Any) -> records.Page[records.Rule]:
        """Exclusions and pins ("exclude", "pin"; by default both) in the order of ids."""
        return self._list("/rules", records.Page[records.Rule], kind=kind, **params)

    def history(self, **bounds: Any) -> records.Page[records.Change]:
        """Who changed what, and when; see `League.history`."""
        return self._list("/history", records.Page[records.Change], **bounds)

    def progress(self, bins: int = 200) -> list[records.ProgressBin]:
        """Achieved and expected rewards of all proposals, in groups of successive ones."""
        return self._get("/progress", list[records.ProgressBin], bins=bins)

    def ranking(self, **params: Any) -> records.Ranking:
        """Active items per side, strongest first; see `League.ranking`."""
        return self._list("/ranking", records.Ranking, **params)

    def fit(self) -> records.FitTest:
        """Test whether the results fit a product of strengths."""
        return self._get("/fit", records.FitTest)

    def why(
        self, what: Any = None, other: Name | None = None, *, item: Name | None = None, side: str | None = None
    ) -> records.Explanation:
        """Explain an item, a pair, a proposal or, without arguments, the league; see `League.why`."""
        params: dict[str, Any] = {"side": side, "item": _label(item)}
        if isinstance(what, str) and other is None:
            params["item"] = what
        elif isinstance(what, int) and other is None:
            params["proposal"] = what
        elif what is not None:
            pair = what if other is None else (what, other)
            params["pair"] = [_label(name) for name in getattr(pair, "names", pair)]
        return self._get("/why", records.Explanation, **params)

    def export(self, path: str | Path, *, names: bool = True) -> Path:
        """Write the whole league to one file, which appears only once it is complete; `import_league` reads it."""
        partial = Path(path).with_name(f".{Path(path).name}.{uuid.uuid4().hex}")
        try:
            partial.touch(mode=0o600)
            partial.write_bytes(self.store.send("GET", f"{_path(self.slug)}/export", {"names": names}).content)
            return partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def _error(answer: httpx.Response) -> LeagueError:
    """The error of a refusal; its notes name the request, which the log of the service has, too."""
    try:
        content = msgspec.json.decode(answer.content, type=dict[str, Any])
    except msgspec.DecodeError:
        content = {}
    text = f"the answer was {answer.status_code} {answer.reason_phrase}. Is the URL that of a matchbandit server?"
    code = content.get("code")
    error = LeagueError(
        code if code in CODES else "unreachable", content.get("detail", text), field=content.get("field")
    )
    error.add_note(f"request {answer.headers.get('X-Request-ID')}")
    return error


def _path(slug: str) -> str:
    return f"/leagues/{quote(slug, safe='')}"


def _label(name: Name | None) -> str | None:
    return f"#{name}" if isinstance(name, int) else name


def _pairs(pairs: Iterable[Any]) -> list[list[Name]]:
    return [list(getattr(pair, "names", pair)) for pair in pairs]


def _outcomes(outcomes: Any) -> list[dict[str, Any]]:
    return [{"pair": list(getattr(pair, "names", pair)), "reward": reward} for pair, reward in rows_of(outcomes)]


def _past(past: Any) -> list[Any]:
    return [(a, b, int(count), float(total)) for a, b, count, total in library.read_past_results(past).rows()]


def _plain(value: Any) -> Any:
    """A value for a body or a query: times and distributions as text, numbers of NumPy as those of Python."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "item") or hasattr(value, "notation"):
        return value.item() if hasattr(value, "item") else value.notation
    return value if isinstance(value, str | int | float) else list(value)
