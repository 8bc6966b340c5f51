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

from matchbandit.errors import MatchbanditError
from matchbandit.live.commands import Name
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Event
from matchbandit.live.league_api import Outcomes, Pair
from matchbandit.live.lifecycle import LeagueStatus
from matchbandit.live.model import Fit, Standing
from matchbandit.live.private_files import create_private
from matchbandit.live.records import VOID, Item, Meetings, Proposal, ProposalSummary, Receipt
from matchbandit.live.shadow import ShadowReport
from matchbandit.live.verify import Verification
from matchbandit.live.why import Why

_AGAIN = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""
_MAX_PAUSE_S = 30.0
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
        return [str(name) for name in self.pages("/leagues", "leagues", "", None)]

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

    def archive(self, slug: str) -> LeagueStatus:
        """Archive a league: it can be read and not written."""
        return LeagueStatus(**self.send("POST", f"{_league_path(slug)}/archive"))

    def restore(self, slug: str) -> LeagueStatus:
        """Make an archived or deleted league active again."""
        return LeagueStatus(**self.send("POST", f"{_league_path(slug)}/restore"))

    def delete(self, slug: str, *, now: bool = False) -> LeagueStatus:
        """Delete a league; it can be restored for some time, unless `now` is true."""
        return LeagueStatus(**self.send("DELETE", _league_path(slug), params={"now": str(now).lower()}))

    def import_league(self, path: str | os.PathLike[str], *, slug: str | None = None) -> "RemoteLeague":
        """Import a league that `export` wrote; under another name, if given."""
        params = {} if slug is None else {"slug": slug}
        payload = self.send("POST", "/imports", content=Path(path).read_bytes(), params=params)
        return RemoteLeague(self, payload["name"])

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
        create_private(part)
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

    def pages(self, path: str, name: str, after: int | str, limit: int | None, **params: Any) -> Iterator[Any]:
        """The entries of a list, page by page."""
        left = limit
        while left is None or left > 0:
            size = _PAGE if left is None else min(_PAGE, left)
            page = self.send("GET", path, params={"after": after, "limit": size, **params})
            yield from page[name]
            if page["next"] is None:
                return
            after, left = page["next"], None if left is None else left - len(page[name])

    def send(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Any:
        """One request and its answer, sent again while that may help; a refusal is raised as a `ServiceError`."""
        headers = {} if key is None else {"Idempotency-Key": key}
        pause = 0.1
        for attempt in range(1, self._attempts + 1):
            last = attempt == self._attempts
            try:
                answer = self._http.request(method, path, json=json, content=content, params=params, headers=headers)
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
                    return _payload(answer)
                if last or answer.status_code not in _AGAIN:
                    raise _refusal(answer)
                wanted = _retry_after(answer)
            # Clients that failed together must not come back together.
            self._sleep(min(_MAX_PAUSE_S, max(wanted, pause * random.uniform(0.5, 1.0))))
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
        self._path = _league_path(name)

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
        fixed: Iterable[Pair] | None = None,
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

    def tell_many(self, outcomes: Mapping[int, Outcomes], *, key: str | None = None) -> list[Receipt]:
        """Outcomes of several proposals, by their numbers: all are recorded, or none."""
        rows = [{"proposal": number, **row} for number, each in outcomes.items() for row in _outcomes(each)]
        receipts = self._post("/outcomes", {"outcomes": rows}, key)["receipts"]
        return [Receipt(**receipt) for receipt in receipts]

    def correct(self, number: int, outcomes: Outcomes, *, key: str | None = None) -> Receipt:
        """Other outcomes in the place of those that were told."""
        return Receipt(**self._post(f"/proposals/{number}/corrections", {"outcomes": _outcomes(outcomes)}, key))

    def void(self, number: int, pairs: Iterable[Pair] | None = None, *, key: str | None = None) -> Receipt:
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
        return [Item(**item) for item in self._pages("/items", "items", 0, None)]

    def item(self, name: Name, *, side: str | None = None) -> Item:
        """One item, by name or id."""
        where = {} if side is None else {"side": side}
        text = f"#{name}" if isinstance(name, int) else name
        items = [Item(**item) for item in self._get("/items", name=text, **where)["items"]]
        if len(items) != 1:
            problem = "no item has" if not items else "two items have"
            raise LeagueError("unknown-item", f"{problem} the name or id {name!r}. Give the side, or look at items().")
        return items[0]

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

    def rename(self, old: Name, new: str, *, side: str | None = None, key: str | None = None) -> Item:
        """An item gets another name, and keeps all else."""
        return Item(**self._post(f"/items/{self.item(old, side=side).id}/name", {"name": new}, key))

    def forget(self, name: Name, *, side: str | None = None, key: str | None = None) -> Item:
        """Erase a name for good. The item leaves; its results stay, under its number."""
        return Item(**self._post(f"/items/{self.item(name, side=side).id}/forget", None, key))

    # Rules -----------------------------------------------------------------------------------------------------------

    def exclude(self, pairs: Iterable[Pair], *, key: str | None = None) -> None:
        """These pairs are never proposed."""
        self._post("/exclusions", _pairs(pairs), key)

    def allow(self, pairs: Iterable[Pair], *, key: str | None = None) -> None:
        """Remove exclusions."""
        self._post("/exclusions/removals", _pairs(pairs), key)

    def wish(self, pairs: Iterable[Pair], *, key: str | None = None) -> None:
        """These pairs are fixed in the next proposal in which both are available."""
        self._post("/wishes", _pairs(pairs), key)

    def unwish(self, pairs: Iterable[Pair], *, key: str | None = None) -> None:
        """Remove wishes."""
        self._post("/wishes/removals", _pairs(pairs), key)

    def configure(self, *, key: str | None = None, **changes: Any) -> dict[str, Any]:
        """Other settings from now on. Gives what `about` gives."""
        return _about(self._send("PATCH", "", json=_settings(changes), key=key or new_key()))

    # What is known, and why ------------------------------------------------------------------------------------------

    def ranking(self) -> list[Standing]:
        """All active items, the strongest first, each side for itself, with 90 % intervals."""
        return [Standing(**standing) for standing in self._pages("/ranking", "ranking", 0, None)]

    def why(
        self, what: str | Sequence[Name] | int | None = None, *, item: Name | None = None, side: str | None = None
    ) -> Why:
        """An explanation of an item (its name), a pair, a proposal (its number), or the league."""
        name = what if isinstance(what, str) else item
        if name is not None:
            path = f"/why/{self.item(name, side=side).id}"
        elif what is None:
            path = "/why"
        elif isinstance(what, int):
            path = f"/proposals/{what}/why"
        else:
            assert not isinstance(what, str)
            path = f"/why/{self._on_side(what[0], 0).id}/{self._on_side(what[1], 1).id}"
        return Why(**self._get(path))

    def _on_side(self, name: Name, place: int) -> Item:
        """An item of a pair: of two sides, the first is of the first."""
        sides = self.about()["sides"]
        return self.item(name, side=None if sides is None else sides[place])

    def fit(self) -> Fit:
        """Do the results fit a product of strengths?"""
        payload = self._get("/fit")
        worst = tuple((odd["ids"][0], odd["ids"][1], odd["deviations"]) for odd in payload["worst"])
        return Fit(**{**payload, "worst": worst})

    def shadow_report(self) -> ShadowReport:
        """How often the live policy and its shadow differ, and what each expects."""
        return ShadowReport(**self._get("/shadow"))

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
        rows = self._pages("/results", "results", "", None)
        return [(row["pair"][0], row["pair"][1], row["count"], row["total"]) for row in rows]

    def export(self, path: str | os.PathLike[str], *, names: bool = True) -> Path:
        """Write the league into one file, as `matchbandit league import` reads it; with names it needs `admin`."""
        return self._client.download(f"{self._path}/export", path, {"names": str(names).lower()})

    def verify(self, *, decisions: bool = True) -> Verification:
        """Fold the log from nothing and compare; with `decisions` (which needs admin for all leagues), decide again."""
        payload = self._client.send("POST", f"{self._path}/verify", params={"decisions": str(decisions).lower()})
        del payload["ok"]  # it follows from the differences
        return Verification(**{**payload, "differences": tuple(payload["differences"])})

    # Requests --------------------------------------------------------------------------------------------------------

    def _send(self, method: str, path: str, *, json: Any = None, key: str | None = None) -> Any:
        return self._client.send(method, f"{self._path}{path}", json=json, key=key)

    def _get(self, path: str, **params: Any) -> Any:
        return self._client.send("GET", f"{self._path}{path}", params=params)

    def _post(self, path: str, body: Any, key: str | None) -> Any:
        return self._send("POST", path, json=body, key=key or new_key())

    def _pages(self, path: str, name: str, after: int | str, limit: int | None, **params: Any) -> Iterator[Any]:
        return self._client.pages(f"{self._path}{path}", name, after, limit, **params)


def _league_path(slug: str) -> str:
    return f"/leagues/{quote(slug, safe='')}"


def new_key() -> str:
    """A key that nobody else has."""
    return uuid.uuid4().hex


def _numbered(key: str | None, item: int) -> str:
    """The key of one of several requests."""
    return new_key() if key is None else f"{key}:{item}"


def _about(payload: dict[str, Any]) -> dict[str, Any]:
    return {"name": payload["slug"], **{name: value for name, value in payload.items() if name != "slug"}}


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


def _pairs(pairs: Iterable[Pair]) -> dict[str, Any]:
    return {"pairs": [list(pair) for pair in pairs]}


def _outcomes(outcomes: Outcomes) -> list[dict[str, Any]]:
    rows = [(*pair, reward) for pair, reward in outcomes.items()] if isinstance(outcomes, Mapping) else outcomes
    return [{"pair": [one, two], "reward": "void" if reward is VOID else reward} for one, two, reward in rows]


def _proposal(payload: dict[str, Any]) -> Proposal:
    pairs = [(pair["names"][0], pair["names"][1]) for pair in payload["pairs"]]
    shadow = payload["shadow"]
    if shadow is not None and "pairs" in shadow:
        shadow = {**shadow, "pairs": [(pair[0], pair[1]) for pair in shadow["pairs"]]}
    known = [(names, pair["outcome"]) for names, pair in zip(pairs, payload["pairs"], strict=True)]
    return Proposal(
        number=payload["number"],
        pairs=pairs,
        byes=[item["name"] for item in payload["byes"]],
        ids=[(pair["ids"][0], pair["ids"][1]) for pair in payload["pairs"]],
        bye_ids=[item["id"] for item in payload["byes"]],
        at=payload["at"],
        due=payload["due"],
        outcomes={names: VOID if outcome == "void" else outcome for names, outcome in known if outcome is not None},
        fixed=[names for names, pair in zip(pairs, payload["pairs"], strict=True) if pair["fixed"]],
        expected=payload["expected"],
        best=payload["best"],
        notes=payload["notes"],
        shadow=shadow,
        propensities={
            names: pair["propensity"]
            for names, pair in zip(pairs, payload["pairs"], strict=True)
            if pair["propensity"] is not None
        },
        propensity_draws=payload["propensity_draws"],
    )


def _payload(answer: httpx.Response) -> dict[str, Any]:
    """The JSON object of an answer; another program may answer at this address, such as a proxy's login page."""
    try:
        payload = answer.json()
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        words = (
            f"{answer.url.host} answered {answer.status_code} with something that is not JSON of the service. "
            "Is the url that of a matchbandit service?"
        )
        raise ServiceError("unreachable", words, status=answer.status_code)
    return payload


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
