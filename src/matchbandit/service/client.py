"""A client of the service: the methods of a store and its leagues, over HTTP, with repeats that do nothing twice."""

import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import httpx

from matchbandit.errors import MatchbanditError
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Event
from matchbandit.live.records import VOID, Item, Outcome, Proposal, Receipt

Name = str | int
"""An item: by its name, or by its id."""
_AGAIN = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""
_LONGEST_PAUSE = 30.0


class ServiceError(LeagueError):
    """What the service refused, or that it cannot be reached; `code` says which, `request_id` finds it in its log."""

    def __init__(self, code: str, words: str, *, status: int | None = None, request_id: str | None = None) -> None:
        """The status is None where there was no answer."""
        super().__init__(code, words)
        self.status, self.request_id = status, request_id


class Client:
    """A service, as its store would be used.

    Every writing request carries a key, so that it can be repeated when the answer got lost: it is done once.

    Parameters
    ----------
    url : str
        Such as `https://pairs.example.org`.
    token : str
        `mbt_…`, from `matchbandit token new`.
    timeout : float, default 35
        Seconds for one answer; a little more than the service takes before it gives up.
    attempts : int, default 6
        How often a request is sent before it fails: after the first pause of 0.1 s, each is twice the one before.
    transport : httpx.BaseTransport, optional
        Another way to reach it; for tests.
    sleep : callable, optional
        How to wait; for tests.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 35.0,
        attempts: int = 6,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is sent yet."""
        if not url.startswith(("http://", "https://")):
            raise MatchbanditError(f"the url of a service begins with http:// or https://; got {url!r}.")
        if not token.isascii() or not token.isprintable():
            raise MatchbanditError("a token has plain characters only. Take it as `matchbandit token new` printed it.")
        self._attempts, self._sleep = attempts, sleep
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            transport=transport,
        )

    def leagues(self) -> list[str]:
        """The leagues that the token opens."""
        return list(self.send("GET", "/leagues")["leagues"])

    def create(self, slug: str, *, key: str | None = None, **settings: Any) -> "RemoteLeague":
        """A new league, with the settings of `Store.create`."""
        body = {name: value for name, value in settings.items() if value is not None}
        sides: Mapping[str, Iterable[str]] | None = body.pop("sides", None)
        if sides is not None:
            body["sides"] = [{"name": name, "items": list(items)} for name, items in sides.items()]
        if "players" in body:
            body["players"] = list(body["players"])
        if "past" in body:
            body["past"] = [
                {"pair": [first, second], "count": count, "total": total} for first, second, count, total in body["past"]
            ]
        rewards = body.get("rewards")
        if rewards is not None and not isinstance(rewards, str):
            body["rewards"] = rewards.typed
        self.send("POST", "/leagues", json={"slug": slug, **_plain_settings(body)}, key=key or new_key())
        return RemoteLeague(self, slug)

    def open(self, slug: str) -> "RemoteLeague":
        """The league of this name; an error if the token opens none."""
        league = RemoteLeague(self, slug)
        league.about()
        return league

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        """For `with Client(...) as client`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Any:
        """One request and its answer, sent again while that may help; a refusal is raised as a `ServiceError`."""
        headers = {} if key is None else {"Idempotency-Key": key}
        pause = 0.1
        for attempt in range(1, self._attempts + 1):
            last = attempt == self._attempts
            try:
                answer = self._http.request(method, path, json=json, params=params, headers=headers)
            except httpx.TransportError as error:
                if last:
                    raise ServiceError(
                        "unreachable",
                        f"{self._http.base_url.host} gave no answer in {attempt} attempts ({type(error).__name__}). "
                        "Does the service run there?",
                    ) from error
                wanted = None
            else:
                if answer.is_success:
                    return answer.json()
                if last or answer.status_code not in _AGAIN:
                    raise _refusal(answer)
                wanted = _retry_after(answer)
            # Clients that failed together must not come back together.
            self._sleep(min(_LONGEST_PAUSE, max(wanted or 0.0, pause * random.uniform(0.5, 1.0))))  # noqa: S311
            pause *= 2
        raise AssertionError("the loop above returns or raises")


class RemoteLeague:
    """A league behind a service: the methods of `League`, the same records."""

    def __init__(self, client: Client, name: str) -> None:
        """Nothing is sent yet."""
        self.name = name
        self._client = client

    def about(self) -> dict[str, Any]:
        """What it is, and how far it has come."""
        return dict(self._get(""))

    # To play ---------------------------------------------------------------------------------------------------------

    def ask(
        self,
        *,
        available: Iterable[Name] | None = None,
        fixed: Iterable[Sequence[Name]] | None = None,
        key: str | None = None,
    ) -> Proposal:
        """A numbered proposal; sent again under the same key, it is the same one."""
        body: dict[str, Any] = {}
        if available is not None:
            body["available"] = list(available)
        if fixed is not None:
            body["fixed"] = [list(pair) for pair in fixed]
        return _proposal(self._post("/proposals", body, key))

    def tell(self, number: int, outcomes: "Outcomes", *, key: str | None = None) -> Receipt:
        """What pairs achieved together; VOID: it never happened. Some or all, late, in any order."""
        return Receipt(**self._post(f"/proposals/{number}/outcomes", {"outcomes": _outcomes(outcomes)}, key))

    def correct(self, number: int, outcomes: "Outcomes", *, key: str | None = None) -> Receipt:
        """Other outcomes in the place of those told."""
        return Receipt(**self._post(f"/proposals/{number}/corrections", {"outcomes": _outcomes(outcomes)}, key))

    def void(
        self, number: int, pairs: Iterable[Sequence[Name]] | None = None, *, key: str | None = None
    ) -> Receipt:
        """These pairs never met; without pairs, all that still wait."""
        body = {} if pairs is None else {"pairs": [list(pair) for pair in pairs]}
        return Receipt(**self._post(f"/proposals/{number}/void", body, key))

    def proposal(self, number: int) -> Proposal:
        """One proposal, and what came back."""
        return _proposal(self._get(f"/proposals/{number}"))

    def open_proposals(self) -> list[Proposal]:
        """All that wait for an outcome."""
        return [_proposal(one) for one in self._pages("/proposals", "proposals", open=True)]

    def proposals(self, *, after: int = 0, limit: int | None = None) -> list[Proposal]:
        """Those with a number above `after`, in order."""
        return [_proposal(one) for one in self._pages("/proposals", "proposals", after=after, limit=limit)]

    # Who takes part --------------------------------------------------------------------------------------------------

    def items(self) -> list[Item]:
        """Who takes part, or did."""
        return [Item(**item) for item in self._get("/items")["items"]]

    def join(self, *names: str, side: str | None = None, key: str | None = None) -> list[Item]:
        """Items join, or come back."""
        body: dict[str, Any] = {"names": list(names)}
        if side is not None:
            body["side"] = side
        return [Item(**item) for item in self._post("/items", body, key)["items"]]
