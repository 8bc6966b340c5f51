"""A client of the service: the methods of a store and its leagues, over HTTP, with repeats that do nothing twice."""

import os
import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from matchbandit.deprecation import RenamedAttribute
from matchbandit.errors import MatchbanditError
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Event
from matchbandit.live.model import Fit, Standing
from matchbandit.live.records import VOID, Item, Meetings, Outcome, Proposal, ProposalSummary, Receipt
from matchbandit.live.shadow import ShadowReport
from matchbandit.live.why import Why

Name = str | int
"""An item: by its name, or by its id."""
Outcomes = Mapping[tuple[Name, Name], Outcome] | Iterable[tuple[Name, Name, Outcome]]
_AGAIN = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""
_LONGEST_PAUSE = 30.0
_PAGE = 1000
"""Lines that are fetched at once."""


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
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise MatchbanditError("a token has plain characters only. Take it as `matchbandit token new` printed it.")
        self._url, self._attempts, self._sleep = url.rstrip("/"), attempts, sleep
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            transport=transport,
        )

    def __repr__(self) -> str:
        """Where it sends to, without the token."""
        return f"Client({self._url!r})"

    def leagues(self) -> list[str]:
        """The leagues that the token opens."""
        return list(self.send("GET", "/leagues")["leagues"])

    def create(self, slug: str, *, key: str | None = None, **settings: Any) -> "RemoteLeague":
        """A new league, with the settings of `Store.create`."""
        body = _settings({name: value for name, value in settings.items() if value is not None})
        if "players" in body:
            body["players"] = list(body["players"])
        if "sides" in body:
            body["sides"] = [{"name": name, "items": list(items)} for name, items in body["sides"].items()]
        if "past" in body:
            rows = body["past"]
            body["past"] = [{"pair": [one, two], "count": count, "total": total} for one, two, count, total in rows]
        if "rewards" in body:
            body["rewards"] = getattr(body["rewards"], "notation", body["rewards"])
        self.send("POST", "/leagues", json={"slug": slug, **body}, key=key or new_key())
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

    def download(self, path: str, target: str | os.PathLike[str], params: Mapping[str, Any]) -> Path:
        """An answer into a file, which is there whole or not at all."""
        file = Path(target)
        part = file.with_name(f".{file.name}.part")
        try:
            with self._http.stream("GET", path, params=params) as answer, part.open("wb") as stream:
                if not answer.is_success:
                    answer.read()
                    raise _refusal(answer)
                for piece in answer.iter_bytes():
                    stream.write(piece)
            part.replace(file)
        except httpx.TransportError as error:
            raise ServiceError("unreachable", f"the answer broke off ({type(error).__name__}). Try again.") from error
        finally:
            part.unlink(missing_ok=True)
        return file

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
                        f"{self._url} gave no answer in {attempt} attempts ({type(error).__name__}). "
                        "Does the service run there?",
                    ) from error
                wanted = 0.0
            else:
                if answer.is_success:
                    return answer.json()
                if last or answer.status_code not in _AGAIN:
                    raise _refusal(answer)
                wanted = _retry_after(answer)
            # Clients that failed together must not come back together.
            self._sleep(min(_LONGEST_PAUSE, max(wanted, pause * random.uniform(0.5, 1.0))))
            pause *= 2
        raise AssertionError("the loop above returns or raises")


class RemoteLeague:
    """A league behind a service: the methods of `League`, the same records.

    Items are given by name, or by id. Each method that writes takes `key`, and makes one of its own without.
    """

    def __init__(self, client: Client, name: str) -> None:
        """Nothing is sent yet."""
        self.name = name
        self._client = client
        self._path = f"/leagues/{quote(name, safe='')}"

    def __repr__(self) -> str:
        """Its name, and where it is."""
        return f"RemoteLeague({self.name!r}, {self._client!r})"

    def about(self) -> dict[str, Any]:
        """Its settings, and how much there is of everything."""
        return _about(self._get(""))

    # Pairs and outcomes ----------------------------------------------------------------------------------------------

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

    def tell(self, number: int, outcomes: Outcomes, *, key: str | None = None) -> Receipt:
        """What pairs achieved together; VOID: it never happened. Some or all, late, in any order."""
        return Receipt(**self._post(f"/proposals/{number}/outcomes", {"outcomes": _outcomes(outcomes)}, key))

    def correct(self, number: int, outcomes: Outcomes, *, key: str | None = None) -> Receipt:
        """Other outcomes in the place of those that were told."""
        return Receipt(**self._post(f"/proposals/{number}/corrections", {"outcomes": _outcomes(outcomes)}, key))

    def void(self, number: int, pairs: Iterable[Sequence[Name]] | None = None, *, key: str | None = None) -> Receipt:
        """These pairs never met; without pairs, all that still wait."""
        body = {} if pairs is None else _pairs(pairs)
        return Receipt(**self._post(f"/proposals/{number}/void", body, key))

    def proposal(self, number: int) -> Proposal:
        """One proposal, and what came back."""
        return _proposal(self._get(f"/proposals/{number}"))

    def open_proposals(self) -> list[Proposal]:
        """All that wait for an outcome."""
        return [_proposal(one) for one in self._pages("/proposals", "proposals", 0, None, open="true")]

    def proposals(self, after: int = 0, limit: int | None = None) -> list[Proposal]:
        """Those that follow number `after`, at most `limit` of them."""
        return [_proposal(one) for one in self._pages("/proposals", "proposals", after, limit)]

    # Items -----------------------------------------------------------------------------------------------------------

    def items(self) -> list[Item]:
        """All items that ever joined, in the order of their ids."""
        return [Item(**item) for item in self._get("/items")["items"]]

    def item(self, name: Name, *, side: str | None = None) -> Item:
        """One of them."""
        found = [
            item for item in self.items() if name in (item.id, item.name, f"#{item.id}") and side in (None, item.side)
        ]
        if len(found) != 1:
            how_many = "no item has" if not found else "two items have"
            raise LeagueError("unknown-item", f"{how_many} the name or id {name!r}. Look at items().")
        return found[0]

    def join(self, *names: str, side: str | None = None, key: str | None = None) -> list[Item]:
        """Items join, or come back if they had left. In a league of two sides, say which `side`."""
        body = {"names": list(names), **({} if side is None else {"side": side})}
        return [Item(**item) for item in self._post("/items", body, key)["items"]]

    def leave(self, *names: Name, side: str | None = None, key: str | None = None) -> list[Item]:
        """Items leave, one after the other: they are not paired any more, and all that they have played stays."""
        leaving = [self.item(name, side=side).id for name in names]
        sent = [self._send("DELETE", f"/items/{item}", key=_numbered(key, item)) for item in leaving]
        return [Item(**item) for item in sent]

    def rejoin(self, *names: Name, side: str | None = None, key: str | None = None) -> list[Item]:
        """Items that had left come back, one after the other, with all that they have played."""
        coming = [self.item(name, side=side).id for name in names]
        return [Item(**self._post(f"/items/{item}/return", None, _numbered(key, item))) for item in coming]

    bring_back = RenamedAttribute("rejoin")

    def rename(self, old: Name, new: str, *, side: str | None = None, key: str | None = None) -> Item:
        """An item gets another name, and keeps all else."""
        return Item(**self._post(f"/items/{self.item(old, side=side).id}/name", {"name": new}, key))

    def forget(self, name: Name, *, side: str | None = None, key: str | None = None) -> Item:
        """Erase a name for good. The item leaves; its results stay, under its number."""
        return Item(**self._post(f"/items/{self.item(name, side=side).id}/forget", None, key))

    # Rules -----------------------------------------------------------------------------------------------------------

    def exclude(self, pairs: Iterable[Sequence[Name]], *, key: str | None = None) -> None:
        """These pairs are never proposed."""
        self._post("/exclusions", _pairs(pairs), key)

    def allow(self, pairs: Iterable[Sequence[Name]], *, key: str | None = None) -> None:
        """Take exclusions back."""
        self._post("/exclusions/removals", _pairs(pairs), key)

    def wish(self, pairs: Iterable[Sequence[Name]], *, key: str | None = None) -> None:
        """These pairs are fixed in the next proposal in which both are available."""
        self._post("/wishes", _pairs(pairs), key)

    def unwish(self, pairs: Iterable[Sequence[Name]], *, key: str | None = None) -> None:
        """Take wishes back."""
        self._post("/wishes/removals", _pairs(pairs), key)

    def configure(self, *, key: str | None = None, **changes: Any) -> dict[str, Any]:
        """Other settings from now on. Gives what `about` gives."""
        return _about(self._send("PATCH", "", json=_settings(changes), key=key or new_key()))

    # What is known, and why ------------------------------------------------------------------------------------------

    def ranking(self) -> list[Standing]:
        """All active items, the strongest first, each side for itself, with 90 % intervals."""
        return [Standing(**standing) for standing in self._get("/ranking")["ranking"]]

    def why(self, about: str | Sequence[Name] | int | None = None) -> Why:
        """Why: of an item (its name), a pair of items, a proposal (its number), or the league."""
        if about is None:
            path = "/why"
        elif isinstance(about, int):
            path = f"/proposals/{about}/why"
        elif isinstance(about, str):
            path = f"/why/{self.item(about).id}"
        else:
            path = f"/why/{self.item(about[0]).id}/{self.item(about[1]).id}"
        return Why(**self._get(path))

    def fit(self) -> Fit:
        """Do the results fit a product of strengths?"""
        told = self._get("/fit")
        worst = tuple((odd["ids"][0], odd["ids"][1], odd["deviations"]) for odd in told["worst"])
        return Fit(**{**told, "worst": worst})

    def shadow_report(self) -> ShadowReport:
        """How often the live policy and its shadow differ, and what each expects."""
        told = self._get("/shadow")
        del told["sentence"]
        return ShadowReport(**told)

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log after event `after`: ids in the place of names."""
        return [Event(**event) for event in self._pages("/events", "events", after, limit)]

    def history(self, after: int = 0, limit: int | None = None) -> list[ProposalSummary]:
        """A line for each proposal that follows number `after`: what was expected of it, and what came of it."""
        lines = self._pages("/history", "history", after, limit)
        return [ProposalSummary(**line) for line in lines]

    def meetings(self, *, most: int = 200) -> Meetings:
        """Who met whom, how often, and what came of it, as a table of ids; of many items, those who met most."""
        return Meetings(**self._get("/meetings", most=most))

    def results(self) -> list[tuple[str, str, int, float]]:
        """All results, as (name, name, how often, what they paid in total)."""
        rows = self._get("/results")["results"]
        return [(row["pair"][0], row["pair"][1], row["count"], row["total"]) for row in rows]

    def export(self, path: str | os.PathLike[str], *, names: bool = True) -> Path:
        """Write the league into one file, as `matchbandit league import` reads it; with names it needs `admin`."""
        return self._client.download(f"{self._path}/export", path, {"names": str(names).lower()})

    # Requests --------------------------------------------------------------------------------------------------------

    def _send(self, method: str, path: str, *, json: Any = None, key: str | None = None) -> Any:
        return self._client.send(method, f"{self._path}{path}", json=json, key=key)

    def _get(self, path: str, **params: Any) -> Any:
        return self._client.send("GET", f"{self._path}{path}", params=params)

    def _post(self, path: str, body: Any, key: str | None) -> Any:
        return self._send("POST", path, json=body, key=key or new_key())

    def _pages(self, path: str, name: str, after: int, limit: int | None, **params: Any) -> Iterator[dict[str, Any]]:
        left = limit
        while left is None or left > 0:
            size = _PAGE if left is None else min(_PAGE, left)
            page = self._get(path, after=after, limit=size, **params)
            yield from page[name]
            if page["next"] is None:
                return
            after, left = page["next"], None if left is None else left - size


def new_key() -> str:
    """A key that nobody else has."""
    return uuid.uuid4().hex


def _numbered(key: str | None, item: int) -> str:
    """The key of one of several requests."""
    return new_key() if key is None else f"{key}:{item}"


def _about(told: dict[str, Any]) -> dict[str, Any]:
    return {"name": told["slug"], **{name: value for name, value in told.items() if name != "slug"}}


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they are sent."""
    sent = dict(settings)
    if isinstance(sent.get("deadline"), timedelta):
        sent["deadline"] = sent["deadline"].total_seconds()
    if sent.get("default") is VOID:
        sent["default"] = "void"
    if isinstance(sent.get("shadow"), str):
        sent["shadow"] = {"policy": sent["shadow"]}
    return sent


def _pairs(pairs: Iterable[Sequence[Name]]) -> dict[str, Any]:
    return {"pairs": [list(pair) for pair in pairs]}


def _outcomes(outcomes: Outcomes) -> list[dict[str, Any]]:
    rows = [(*pair, reward) for pair, reward in outcomes.items()] if isinstance(outcomes, Mapping) else outcomes
    return [{"pair": [one, two], "reward": "void" if reward is VOID else reward} for one, two, reward in rows]


def _proposal(told: dict[str, Any]) -> Proposal:
    pairs = [(pair["names"][0], pair["names"][1]) for pair in told["pairs"]]
    shadow = told["shadow"]
    if shadow is not None and "pairs" in shadow:
        shadow = {**shadow, "pairs": [(pair[0], pair[1]) for pair in shadow["pairs"]]}
    known = [(names, pair["outcome"]) for names, pair in zip(pairs, told["pairs"], strict=True)]
    return Proposal(
        number=told["number"],
        pairs=pairs,
        byes=[item["name"] for item in told["byes"]],
        ids=[(pair["ids"][0], pair["ids"][1]) for pair in told["pairs"]],
        bye_ids=[item["id"] for item in told["byes"]],
        at=told["at"],
        due=told["due"],
        outcomes={names: VOID if outcome == "void" else outcome for names, outcome in known if outcome is not None},
        fixed=[names for names, pair in zip(pairs, told["pairs"], strict=True) if pair["fixed"]],
        expected=told["expected"],
        best=told["best"],
        notes=told["notes"],
        shadow=shadow,
    )


def _refusal(answer: httpx.Response) -> ServiceError:
    """What the service says, or that something between said nothing we can read."""
    try:
        told = answer.json()
        code, words, request_id = str(told["code"]), str(told["detail"]), told.get("request_id")
    except (ValueError, KeyError, TypeError):
        code, words = "unreachable", f"{answer.url.host} answered {answer.status_code}, which is not the service's way."
        request_id = answer.headers.get("x-request-id")
    return ServiceError(code, words, status=answer.status_code, request_id=request_id)


def _retry_after(answer: httpx.Response) -> float:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0.0
