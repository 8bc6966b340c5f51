"""Every writing route under an idempotency key: many equal requests at once are executed once, and answered alike."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
from league_server import Server, new_token

from matchbandit.leagues import League, Store

N_AT_ONCE = 8
ROUTES: dict[str, tuple[str, str, Any]] = {
    "create": ("POST", "", {"slug": "new", "players": ["ann", "bob"]}),
    "import": ("POST", "/imports?slug=copy", None),
    "configure": ("PATCH", "/{slug}/settings", {"title": "A title"}),
    "archive": ("POST", "/{slug}/archive", None),
    "restore": ("POST", "/{slug}/restore", None),
    "delete": ("DELETE", "/{slug}", None),
    "delete now": ("DELETE", "/{slug}?now=true", None),
    "ask": ("POST", "/{slug}/proposals", None),
    "tell": ("POST", "/{slug}/proposals/2/outcomes", {"outcomes": [{"pair": ["ann", "bob"], "reward": 1}]}),
    "tell several": ("POST", "/{slug}/outcomes", {"proposals": {"2": [{"pair": ["ann", "bob"], "reward": 1}]}}),
    "correct": ("POST", "/{slug}/proposals/1/corrections", {"outcomes": [{"pair": ["ann", "bob"], "reward": 0}]}),
    "void": ("POST", "/{slug}/proposals/2/void", None),
    "join": ("POST", "/{slug}/items", {"names": ["eve"]}),
    "leave": ("POST", "/{slug}/items/leave", {"names": ["ann"]}),
    "rejoin": ("POST", "/{slug}/items/rejoin", {"names": ["fay"]}),
    "rename": ("POST", "/{slug}/items/rename", {"name": "ann", "new": "anna"}),
    "erase name": ("POST", "/{slug}/items/erase-name", {"name": "ann"}),
    "exclude": ("POST", "/{slug}/rules/exclude", {"pairs": [["ann", "bob"]]}),
    "unexclude": ("POST", "/{slug}/rules/unexclude", {"pairs": [["cem", "fay"]]}),
    "pin": ("POST", "/{slug}/rules/pin", {"pairs": [["ann", "bob"]]}),
    "unpin": ("POST", "/{slug}/rules/unpin", {"pairs": [["dee", "fay"]]}),
    "import results": ("POST", "/{slug}/past-results", {"results": [["ann", "bob", 3, 2.0]]}),
}
"""Method, path below that of the leagues, and body; `fill` prepares a league so that each has an effect."""


def fill(store: Store, slug: str, name: str) -> League:
    """A league in which something can be changed by the route of this name."""
    club = store.create(slug, players=["ann", "bob", "cem", "dee", "fay"], seed=1)
    if name != "import results":
        for _ in range(2):
            club.ask(fixed=[("ann", "bob"), ("cem", "dee")])
        club.tell(1, {("ann", "bob"): 1})
    club.leave("fay")
    club.exclude([("cem", "fay")])
    club.pin([("dee", "fay")])
    if name == "restore":
        store.delete(slug)
    return club


def at_once(send: Callable[[], httpx.Response]) -> list[httpx.Response]:
    barrier = Barrier(N_AT_ONCE)

    def wait_and_send(_: int) -> httpx.Response:
        barrier.wait()
        return send()

    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        return list(pool.map(wait_and_send, range(N_AT_ONCE)))


def test_equal_requests_at_once_are_executed_once(store_url: str, tmp_path: Path):
    with Store(store_url) as store, Server(store_url, tmp_path) as server:
        base, token = f"{server.address}/v1/leagues", new_token(store_url)
        exported = fill(store, "exported", "import").export(tmp_path / "exported.jsonl").read_bytes()
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
            for name, (method, path, body) in ROUTES.items():
                slug = name.replace(" ", "-")
                fill(store, slug, name)
                url = base.replace("/leagues", "") + path if name == "import" else base + path.format(slug=slug)
                content = {"content": exported} if name == "import" else {} if body is None else {"json": body}
                send = partial(client.request, method, url, headers={"Idempotency-Key": f"key of {name}"}, **content)

                before = store.info()
                answers = at_once(send)
                after = store.info()
                assert after != before, name
                assert answers[0].status_code in (200, 201, 204), (name, answers[0].text)
                assert len({(answer.status_code, answer.text) for answer in answers}) == 1, name
                replayed = ["Idempotent-Replayed" in answer.headers for answer in answers]
                assert sum(replayed) == N_AT_ONCE - 1, name
                if name not in ("create", "import", "delete now"):
                    assert after.changes == before.changes + 1, name

                assert send().text == answers[0].text, name
