"""The compatibility policy, where it can be checked: docs/compatibility.md."""

import copy
import json
from hashlib import blake2b
from pathlib import Path

import api_contract
import pytest

from matchbandit.live.events import KINDS, LIFE_CYCLE
from matchbandit.live.state import State
from matchbandit.live.transfer import Export
from matchbandit.service.problems import STATUSES

DATA = Path(__file__).parents[1] / "data"
EXPORT = DATA / "0.7" / "club.jsonl"
CODES_OF_0_10 = {
    "answer-too-slow", "bad-json", "bad-name", "bad-request", "bad-value", "body-too-large", "body-too-slow",
    "contradiction", "damaged", "ended-token", "infeasible", "internal", "key-reused", "league-exists", "name-taken",
    "no-json", "no-token", "not-allowed", "not-found", "not-proposed", "not-supported", "proposal-closed",
    "reward-outside", "round-open", "store-busy", "store-unusable", "too-busy", "too-many-requests", "unknown-item",
    "unknown-league", "unknown-proposal", "wrong-method", "wrong-token",
}  # fmt: skip
KEYS_OF_0_7 = {
    "created": {"kind", "sides", "policy", "options", "selection", "rewards", "seed", "deadline", "default"},
    "joined": {"items"},
    "left": {"items"},
    "returned": {"items"},
    "renamed": {"item"},
    "forgotten": {"item"},
    "excluded": {"pairs"},
    "allowed": {"pairs"},
    "wished": {"pairs"},
    "unwished": {"pairs"},
    "began": {"results"},
    "proposed": {"number", "pairs", "byes", "fixed", "available", "due", "expected", "best", "estimates"},
    "told": {"proposal", "outcomes"},
    "expired": {"proposal", "outcomes"},
    "corrected": {"proposal", "outcomes"},
}


@pytest.fixture(scope="module")
def before() -> api_contract.Contract:
    return json.loads((DATA / "0.10" / "api.json").read_text(encoding="utf-8"))


def test_what_clients_of_the_last_release_use_is_still_there(before):
    assert api_contract.breaks(before, api_contract.current()) == []


def test_a_break_would_be_seen(before):
    request = "POST /v1/leagues/{league}/proposals/{number}/outcomes"
    new = copy.deepcopy(before)
    del new["GET /v1/leagues"]
    new[request]["parameters"]["region"] = True
    new[request]["body"]["comment"] = True
    del new[request]["body"]["outcomes[].reward"]
    new[request]["answers"]["200"].remove("booked")
    new["POST /v1/leagues"]["answers"] = {"200": []}
    assert api_contract.breaks(before, new) == [
        "GET /v1/leagues is gone",
        "POST /v1/leagues: there is no answer 201 any more",
        f"{request}: parameters needs region now",
        f"{request}: body lost outcomes[].reward",
        f"{request}: body needs comment now",
        f"{request}: the answer 200 lost booked",
    ]


def test_what_is_added_is_no_break(before):
    new = copy.deepcopy(before)
    new["GET /v1/news"] = {"parameters": {}, "body": {}, "answers": {}}
    new["GET /v1/leagues"]["parameters"]["search"] = False
    new["GET /v1/leagues"]["answers"]["200"].append("next")
    assert api_contract.breaks(before, new) == []


def test_codes_are_added_and_never_removed():
    assert set(STATUSES) >= CODES_OF_0_10


def test_events_of_0_7_have_the_keys_that_readers_rely_on_and_still_fold():
    with EXPORT.open("rb") as file:
        export = Export(file, "0.7")
        events = list(export.events())
    for event in events:
        assert event.data.keys() >= KEYS_OF_0_7[event.kind], event.kind
    assert {event.kind for event in events} == set(KINDS) - LIFE_CYCLE - {"configured"}
    assert State().fold(events).seq == len(events)


def test_unknown_keys_of_events_and_headers_are_ignored(tmp_path, store):
    """As a program of 1.0 reads what 1.1 wrote: more keys, the same format."""
    club = store.create("club", players=["ann", "bob"])
    club.ask()
    lines = club.export(tmp_path / "club.jsonl").read_bytes().splitlines()[:-1]
    more = [{**json.loads(line), "new_key": 1} for line in lines]
    for line in more:
        if "data" in line:
            line["data"]["another"] = [1, {"deep": None}]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in more)
    end = {"events": sum("data" in line for line in more), "checksum": blake2b(body, digest_size=16).hexdigest()}
    (tmp_path / "newer.jsonl").write_bytes(body + json.dumps(end).encode() + b"\n")
    copied = store.import_league(tmp_path / "newer.jsonl", slug="copy")
    assert [item.name for item in copied.items()] == ["ann", "bob"]
    assert copied.verify().ok
