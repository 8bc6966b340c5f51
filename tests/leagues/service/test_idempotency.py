"""Every writing route under an idempotency key: many equal requests at once are executed once, and answered alike."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
from league_server import PATIENCE, Server, new_token

from matchbandit.leagues import League, Store

ONE = {"pair": ["ann", "bob"], "reward": 1}
ROUTES: dict[str, tuple[str, str, Any]] = {
    "create": ("POST", "/leagues", {"slug": "new", "players": ["ann", "bob"]}),
    "import": ("POST", "/imports?slug=copy", None),
    "configure": ("PATCH", "/leagues/{slug}/settings", {"title": "A title"}),
    "archive": ("POST", "/leagues/{slug}/archive", None),
    "restore": ("POST", "/leagues/{slug}/restore", None),
    "delete": ("DELETE", "/leagues/{slug}", None),
    "delete now": ("DELETE", "/leagues/{slug}?now=true", None),
    "ask": ("POST", "/leagues/{slug}/proposals", None),
    "tell": ("POST", "/leagues/{slug}/proposals/2/outcomes", {"outcomes": [ONE]}),
    "tell several": ("POST", "/leagues/{slug}/outcomes", {"proposals": {"2": [ONE]}}),
    "correct": (
        "POST",
        "/leagues/{slug}/proposals/1/corrections",
        {"outcomes": [{**ONE, "reward": 0}]},
    ),
    "void": ("POST", "/leagues/{slug}/proposals/2/void", None),
    "join": ("POST", "/leagues/{slug}/items", {"names": ["eve"]}),
    "leave": ("POST", "/leagues/{slug}/items/leave", {"names": ["ann"]}),
    "rejoin": ("POST", "/leagues/{slug}/items/rejoin", {"names": ["fay"]}),
    "rename": ("POST", "/leagues/{slug}/items/rename", {"name": "ann", "new": "anna"}),
    "erase name": ("POST", "/leagues/{slug}/items/erase-name", {"name": "ann"}),
    "exclude": ("POST", "/leagues/{slug}/rules/exclude", {"pairs": [["ann", "bob"]]}),
    "unexclude": ("POST", "/leagues/{slug}/rules/unexclude", {"pairs": [["cem", "fay"]]}),
    "pin": ("POST", "/leagues/{slug}/rules/pin", {"pairs": [["ann", "bob"]]}),
    "unpin": ("POST", "/leagues/{slug}/rules/unpin", {"pairs": [["dee", "fay"]]}),
    "import results": ("POST", "/leagues/{slug}/past-results", {"results": [["ann", "bob", 3, 2.0]]}),
}
"""Method, path and body; `fill` prepares a league so that each has an effect."""


def fill(store: Store, slug: str, name: str) -> League:
    """A league in which the route of this name changes something."""
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


def at_once(sends: list[Callable[[], httpx.Response]]) -> list[httpx.Response]:
    barrier = Barrier(len(sends))

    def wait_and_send(send: Callable[[], httpx.Response]) -> httpx.Response:
        barrier.wait()
        return send()

    with ThreadPoolExecutor(len(sends)) as pool:
        return list(pool.map(wait_and_send, sends))


def test_equal_requests_at_once_to_two_servers_are_executed_once(store_url: str, tmp_path: Path):
    with Store(store_url) as store, Server(store_url, tmp_path) as one, Server(store_url, tmp_path) as two:
        exported = fill(store, "exported", "import").export(tmp_path / "exported.jsonl").read_bytes()
        headers = {"Authorization": f"Bearer {new_token(store_url)}"}
        with httpx.Client(headers=headers, timeout=PATIENCE) as client:
            for name, (method, path, body) in ROUTES.items():
                slug = name.replace(" ", "-")
                fill(store, slug, name)
                options = {"content": exported} if name == "import" else {} if body is None else {"json": body}
                options["headers"] = {"Idempotency-Key": f"key of {name}"}
                urls = [f"{server.address}/v1{path.format(slug=slug)}" for server in (one, two)]
                sends = [partial(client.request, method, url, **options) for url in urls]

                before = store.info()
                answers = at_once(sends * 4)
                after = store.info()
                assert after != before, name
                if name not in ("create", "import", "delete now"):
                    assert after.changes == before.changes + 1, name
                assert answers[0].status_code in (200, 201, 204), (name, answers[0].text)
                assert len({(answer.status_code, answer.text) for answer in answers}) == 1, name
                assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1, name
                assert [send().text for send in sends] == [answers[0].text] * 2, name
