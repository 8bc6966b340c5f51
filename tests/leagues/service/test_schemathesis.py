"""Schemathesis over the description of the API: whatever it sends, answers are as they are described."""

import json
import os
import re
import subprocess
import sys
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from serving import PATIENCE, Serving

from matchbandit.leagues import Store, tokens

PLAYERS = [f"p{k}" for k in range(1, 21)]
# What has the right form may still be wrong: a name that nobody has, a proposal that is closed.
CONFIG = """
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "304", "400", "401", "403", "404", "409", "412", "413", "422"]
negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "405", "409", "412", "413", "422"]
"""
ENDS_THE_LEAGUE = ("archive_league", "delete_league")
"""Operations after which all others would be refused."""
NOT_UNDERSTOOD = ("fit",)
"""Operations whose answers have tuples of tuples, which schemathesis takes for no schema."""


def narrow(part: Any) -> Any:
    """The description with one league, its items and its proposals in the place of all that could be."""
    if isinstance(part, list):
        return [narrow(each) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("in") == "path":
        schema = {"type": "string", "enum": ["club"]} if part["name"] == "league" else part["schema"]
        return {**part, "schema": schema | ({"maximum": 9} if schema.get("type") == "integer" else {})}
    kinds = [kind.get("type") for kind in part.get("anyOf", []) if isinstance(kind, dict)]
    if kinds == ["string", "integer"]:
        return {"anyOf": [{"type": "string", "enum": PLAYERS}, {"type": "integer", "minimum": 1, "maximum": 2**31}]}
    return {name: narrow(value) for name, value in part.items()}


def prepare(store: Store) -> str:
    """A league with proposals; returns a token for it."""
    club = store.create("club", players=PLAYERS)
    for _ in range(5):
        club.ask()
    return tokens.create(store, "test", scope="admin", leagues=["club"])[1]


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_every_answer_is_described(mode, store, connect):
    import schemathesis  # it takes a second, and every worker imports every file

    http = connect(token=prepare(store), concurrency=100)
    description = narrow(http.get("/openapi.json").json())
    n_sent = 0

    def probe(case: Any) -> None:
        nonlocal n_sent
        sent = case.as_transport_kwargs(base_url="http://here")
        sent.pop("cookies", None)
        headers = {name: str(value) for name, value in (sent.pop("headers", None) or {}).items()}
        headers = {name: value for name, value in headers.items() if value.isascii() and value.isprintable()}
        body = {name: sent.pop(name) for name in ("json", "data") if sent.get(name) is not None}
        content = json.dumps(body["json"]).encode() if "json" in body else body.get("data")
        content = content if isinstance(content, bytes | None) else str(content).encode()
        answer = http.request(sent["method"], sent["url"], params=sent.get("params"), headers=headers, content=content)
        described = case.operation.definition.raw["responses"]
        assert str(answer.status_code) in described | {"304": ..., "404": ..., "405": ...}, answer.text
        assert answer.status_code != 500
        n_sent += 1

    quick = settings(
        max_examples=3, database=None, derandomize=True, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    for result in schemathesis.openapi.from_dict(description).get_all_operations():
        operation = result.ok()
        if operation.definition.raw["operationId"] not in ENDS_THE_LEAGUE:
            quick(given(operation.as_strategy(schemathesis.GenerationMode(mode)))(probe))()
    assert n_sent > 40


@pytest.mark.slow
@pytest.mark.parametrize("one_league", [True, False])
def test_schemathesis_finds_nothing_in_minutes(tmp_path, one_league):
    url = f"sqlite:///{tmp_path}/store.db"
    with Store(url) as store:
        secret = prepare(store)
        if not one_league:
            secret = tokens.create(store, "test", scope="admin")[1]
    with Serving(url, tmp_path) as server:
        description = httpx.get(f"{server.address}/openapi.json", timeout=PATIENCE).json()
        (tmp_path / "api.json").write_text(json.dumps(narrow(description) if one_league else description))
        (tmp_path / "st.toml").write_text(CONFIG)
        examples = os.environ.get("MATCHBANDIT_TEST_EXAMPLES", "40")
        run = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "--config-file", "st.toml", "run", "api.json",
             "--url", server.address, "--header", f"Authorization: Bearer {secret}", "--max-examples", examples,
             "--phases", "coverage,fuzzing,stateful", "--seed", "7", "--no-color", "--suppress-health-check", "all",
             "--generation-database", "none", "--request-timeout", "60",
             *(f"--exclude-operation-id={name}" for name in NOT_UNDERSTOOD + ENDS_THE_LEAGUE * one_league)],
            cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""},
        )  # fmt: skip
        server.stop()
        defects = [line for line in server.lines() if line["event"] == "defect"]
    tried = re.search(r"(\d+) generated, (\d+) passed", run.stdout)
    assert defects == []
    assert tried, run.stdout + run.stderr
    assert run.returncode == 0, run.stdout
    assert int(tried[1]) > 1000
