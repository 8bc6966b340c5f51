"""The routes of the API: what they answer, and the headers that all of them have."""

import csv
import gzip
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import httpx
import pytest
from app_transport import code_of

WRITES: list[tuple[str, str, Any]] = [
    ("POST", "/proposals", None),
    ("POST", "/proposals/1/outcomes", {"outcomes": [{"pair": ["ann", "bob"], "reward": 1}]}),
    ("POST", "/outcomes", {"proposals": {"1": [{"pair": ["ann", "bob"], "reward": 1}]}}),
    ("POST", "/proposals/1/corrections", {"outcomes": [{"pair": ["cem", "dee"], "reward": 1}]}),
    ("POST", "/proposals/1/void", None),
    ("POST", "/items", {"names": ["eve"]}),
    ("POST", "/items/leave", {"names": ["dee"]}),
    ("POST", "/items/rejoin", {"names": ["fay"]}),
    ("POST", "/items/rename", {"name": "ann", "new": "ada"}),
    ("POST", "/items/erase-name", {"name": "ann"}),
    ("POST", "/rules/exclude", {"pairs": [["ann", "cem"]]}),
    ("POST", "/rules/unexclude", {"pairs": [["ann", "fay"]]}),
    ("POST", "/rules/pin", {"pairs": [["ann", "dee"]]}),
    ("POST", "/rules/unpin", {"pairs": [["bob", "fay"]]}),
    ("PATCH", "/settings", {"title": "The club"}),
    ("POST", "/archive", None),
    ("POST", "/restore", None),
    ("DELETE", "", None),
]
LISTS = ("items", "proposals", "summaries", "rules", "results", "ranking", "history", "progress")


@pytest.fixture
def played(api, club):
    """The path of a league of four and one who has left, with rules, an outcome and one that is missing."""
    api.post(f"{club}/items", json={"names": ["fay"]})
    api.post(f"{club}/items/leave", json={"names": ["fay"]})
    api.post(f"{club}/rules/exclude", json={"pairs": [["ann", "fay"]]})
    api.post(f"{club}/rules/pin", json={"pairs": [["bob", "fay"]]})
    api.post(f"{club}/proposals", json={"fixed": [["ann", "bob"], ["cem", "dee"]]})
    api.post(f"{club}/proposals/1/outcomes", json={"outcomes": [{"pair": [3, 4], "reward": 0}]})
    return club


def test_a_league_is_played_over_http(api, club):
    proposal = api.post(f"{club}/proposals", json={"available": ["ann", "bob", "cem"], "fixed": [["ann", "cem"]]})
    assert proposal.status_code == 201
    assert proposal.headers["location"] == f"{club}/proposals/1"
    assert [pair["names"] for pair in proposal.json()["pairs"]] == [["ann", "cem"]]
    assert proposal.json()["byes"] == ["bob"]
    outcomes = {"outcomes": [{"pair": ["cem", "ann"], "reward": 1}]}
    receipt = {"proposal": 1, "recorded": 1, "repeated": 0, "waiting": 0}
    assert api.post(f"{club}/proposals/1/outcomes", json=outcomes).json() == receipt
    assert api.get(proposal.headers["location"]).json()["pairs"][0]["outcome"] == 1.0
    correction = {"outcomes": [{"pair": [1, 3], "reward": "void"}]}
    assert api.post(f"{club}/proposals/1/corrections", json=correction).json() == receipt
    assert api.get(f"{club}/results").json() == {"rows": [], "next": None}
    changes = api.get(f"{club}/history", params={"newest_first": True, "limit": 1}).json()["rows"]
    assert changes[0]["data"]["outcomes"] == [[1, 3, 1.0, None]]


def at_once(send: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """The answers to four equal requests, of which the first one is not a repeat."""
    barrier = Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: (barrier.wait(), send())[1], range(4)))
    return sorted(answers, key=lambda answer: "idempotent-replayed" in answer.headers)


@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=[f"{m} {p}" for m, p, _ in WRITES])
def test_equal_requests_at_once_are_executed_once_and_answered_alike(api, store, played, method, path, body):
    if path == "/restore":
        store.archive("club")
    before = store.info().changes
    first, *repeats = at_once(lambda: api.request(method, played + path, json=body, headers={"Idempotency-Key": "k"}))
    assert first.is_success, first.text
    assert store.info().changes == before + 1
    for repeat in repeats:
        assert (repeat.status_code, repeat.content) == (first.status_code, first.content)
        assert repeat.headers["idempotent-replayed"] == "true"
    other = api.request(method, f"{played}{path}", json=body, headers={"Idempotency-Key": "another"})
    assert "idempotent-replayed" not in [*first.headers, *other.headers]


def test_equal_creations_imports_and_erasures_at_once_are_executed_once(api, played):
    for path, options in (
        ("/v1/leagues", {"json": {"slug": "new", "players": ["ann", "bob"], "deadline": "P2D"}}),
        ("/v1/imports?slug=copy", {"content": api.get(f"{played}/export").content}),
        ("/v1/leagues/new/past-results", {"json": {"results": [["ann", "bob", 3, 2.0]]}}),
    ):
        header = {"Idempotency-Key": "k" + path}
        first, *repeats = at_once(partial(api.post, path, headers=header, **options))
        assert first.is_success, first.text
        assert [(each.json(), each.headers["idempotent-replayed"]) for each in repeats] == [(first.json(), "true")] * 3
        if first.status_code == 201:
            assert first.headers["location"] == f"/v1/leagues/{first.json()['slug']}"
            assert code_of(api.post(path, **options)) == "league-exists"
    assert api.get("/v1/leagues/new").json()["results"] == 3
    erased = at_once(lambda: api.delete(played, params={"now": True}, headers={"Idempotency-Key": "erase"}))
    assert [("idempotent-replayed" in each.headers, each.status_code) for each in erased] == [
        (False, 204), (True, 204), (True, 204), (True, 204),
    ]  # fmt: skip


def test_a_key_belongs_to_a_token(api, connect, club):
    other, header = connect("play"), {"Idempotency-Key": "k"}
    numbers = [http.post(f"{club}/proposals", headers=header).json()["number"] for http in (api, other, api)]
    assert numbers == [1, 2, 1]
    assert code_of(api.post(f"{club}/proposals", json={"fixed": []}, headers=header)) == "key-reused"
    assert code_of(api.post(f"{club}/proposals", headers={"Idempotency-Key": "x" * 101})) == "bad-request"


def test_a_list_is_csv_for_who_prefers_it(api, played):
    for name in LISTS:
        path = f"{played}/{name}"
        rows = api.get(path).json()
        rows = rows if isinstance(rows, list) else rows["rows"]
        for headers, params in (
            ({"Accept": "text/csv"}, {}),
            ({"Accept": "application/json;q=0.2, text/csv;q=0.9"}, {}),
            ({}, {"format": "csv"}),
        ):
            answer = api.get(path, headers=headers, params=params)
            assert answer.headers["content-type"] == "text/csv; charset=utf-8"
            table = list(csv.DictReader(io.StringIO(answer.text)))
            assert len(table) == (2 if name == "proposals" else len(rows)) >= 1
        for headers, params in (
            ({"Accept": "text/csv;q=0.1, application/json;q=0.9"}, {}),
            ({"Accept": "*/*"}, {}),
            ({"Accept": "text/csv"}, {"format": "json"}),
        ):
            assert api.get(path, headers=headers, params=params).headers["content-type"] == "application/json"


def test_numbers_of_proposals_are_written_in_one_way(api, played):
    outcomes = [{"pair": ["ann", "bob"], "reward": 1}]
    for number in ("01", "0", "x", "1 ", ""):
        answer = api.post(f"{played}/outcomes", json={"proposals": {"1": outcomes, number: outcomes}})
        assert code_of(answer) == "bad-request", number


def test_pages_of_a_list_are_linked(api, played):
    api.post(f"{played}/proposals/1/outcomes", json={"outcomes": [{"pair": [1, 2], "reward": 1}]})
    api.post(f"{played}/proposals")
    for name in ("items", "proposals", "summaries", "history", "ranking", "results", "rules"):
        whole = api.get(f"{played}/{name}").json()["rows"]
        rows, url = [], f"{played}/{name}?limit=1"
        while url:
            answer = api.get(url)
            rows += answer.json()["rows"]
            url = answer.links.get("next", {}).get("url", "")
            assert bool(url) == (answer.json()["next"] is not None)
        assert rows == whole
        assert len(rows) > 1


def test_lists_in_time_are_bounded_and_reversed(api, club, clock):
    for _ in range(3):
        clock.forward(days=1)
        api.post(f"{club}/proposals")
    for name in ("proposals", "summaries"):
        answer = api.get(f"{club}/{name}", params={"since": "2026-11-18", "newest_first": True})
        assert [row["number"] for row in answer.json()["rows"]] == [3, 2]
        answer = api.get(f"{club}/{name}", params={"until": "2026-11-18T00:00+00:00"})
        assert [row["number"] for row in answer.json()["rows"]] == [1]
    answer = api.get(f"{club}/history", params={"since": "2026-11-19", "until": "2026-11-20"})
    assert [row["action"] for row in answer.json()["rows"]] == ["ask"]
    assert code_of(api.get(f"{club}/history", params={"since": "soon"})) == "bad-value"


def test_what_is_read_has_an_etag_and_a_head(api, played):
    for path in ("", "/settings", "/items", "/proposals/1", "/ranking", "/history", "/why", "/fit"):
        answer = api.get(played + path)
        unchanged = api.get(played + path, headers={"If-None-Match": f'"x", {answer.headers["etag"]}'})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        head = api.head(played + path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == answer.headers["content-length"]
        assert api.get(f"{played}{path}/").json() == answer.json()


def test_an_etag_changes_with_the_league(api, played):
    before = api.get(played).headers["etag"]
    api.post(f"{played}/proposals")
    assert api.get(played, headers={"If-None-Match": before}).status_code == 200


def test_configure_with_if_match_refuses_settings_that_others_changed(api, club):
    path, tag = f"{club}/settings", api.get(f"{club}/settings").headers["etag"]

    def change(title: str, **headers: str) -> httpx.Response:
        return api.patch(path, json={"title": title}, headers=headers)

    assert change("One", **{"If-Match": tag, "Idempotency-Key": "one"}).json()["title"] == "One"
    late = change("Two", **{"If-Match": tag})
    assert (late.status_code, code_of(late)) == (412, "changed-since")
    assert change("One", **{"If-Match": tag, "Idempotency-Key": "one"}).is_success  # a repeat, done already
    assert change("Two", **{"If-Match": f"W/{api.get(path).headers['etag']}"}).status_code == 412
    assert change("Two", **{"If-Match": api.get(path).headers["etag"]}).is_success
    assert change("Three", **{"If-Match": "*"}).is_success
    assert change("Four").is_success


def test_answers_are_compressed_for_who_accepts_it(api, club):
    api.post(f"{club}/items", json={"names": [f"player {k}" for k in range(100)]})
    plain = api.get(f"{club}/items", headers={"Accept-Encoding": "identity"})
    refused = api.get(f"{club}/items", headers={"Accept-Encoding": "gzip;q=0"})
    packed = api.get(f"{club}/items", headers={"Accept-Encoding": "br, gzip"})
    assert "content-encoding" not in plain.headers
    assert "content-encoding" not in refused.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 3
    assert packed.content == plain.content
    small = api.get(f"{club}/proposals", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers


def test_an_export_has_names_for_admins_only(api, connect, played):
    named = api.get(f"{played}/export", params={"names": True})
    assert b"ann" in gzip.decompress(named.content)
    assert b"ann" not in gzip.decompress(api.get(f"{played}/export").content)
    assert code_of(connect("play").get(f"{played}/export", params={"names": True})) == "not-allowed"
    copy = api.post("/v1/imports", params={"slug": "copy"}, content=named.content).json()
    assert (copy["slug"], copy["items"], copy["waiting"]) == ("copy", 5, 1)
    damaged = api.post("/v1/imports", params={"slug": "bad"}, content=named.content[:-9])
    assert (damaged.status_code, code_of(damaged)) == (422, "damaged")


def test_leagues_are_archived_restored_and_deleted(api, club):
    def listed(status: str) -> list[str]:
        return [row["slug"] for row in api.get("/v1/leagues", params={"status": status}).json()["rows"]]

    assert api.post(f"{club}/archive").status_code == 204
    assert (listed("active"), listed("archived")) == ([], ["club"])
    assert code_of(api.post(f"{club}/proposals")) == "league-archived"
    assert api.post(f"{club}/restore").status_code == 204
    assert api.delete(club).status_code == 204
    assert (listed("active"), listed("deleted"), code_of(api.get(club))) == ([], ["club"], "unknown-league")
    assert api.post(f"{club}/restore").status_code == 204
    assert api.delete(club, params={"now": True}).status_code == 204
    assert listed("deleted") == []


def test_explanations_and_results_of_items(api, played):
    assert api.get(f"{played}/results", params={"item": "ann"}).json()["rows"] == []
    assert api.get(f"{played}/results", params={"item": "#3"}).json()["rows"][0]["names"] == ["cem", "dee"]
    for params, words in (
        ({"item": "ann"}, "ann has no results"),
        ({"pair": ["cem", "dee"]}, "They have met 1 time"),
        ({"proposal": 1}, "Proposal 1"),
        ({}, "result"),
    ):
        assert words in api.get(f"{played}/why", params=params).json()["sentence"]
    assert code_of(api.get(f"{played}/why", params={"item": "ann", "proposal": 1})) == "bad-request"
    assert code_of(api.get(f"{played}/why", params={"pair": ["ann"]})) == "bad-request"


def test_earlier_results_are_imported_before_the_first_proposal(api, club):
    body = {"results": [["ann", "bob", 10, 7], ["cem", "dee", 5, 0]]}
    assert api.post(f"{club}/past-results", json=body).json() == {"results": 15}
    assert api.get(f"{club}/results").json()["rows"][0] == {
        "ids": [1, 2],
        "names": ["ann", "bob"],
        "count": 10,
        "total": 7.0,
    }
