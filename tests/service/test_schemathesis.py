"""Schemathesis over the OpenAPI description: it must find nothing.

Two ways in. With a token for all leagues and the description as it is, it makes leagues and gets lost in them. With a
token for one league, and a description narrowed to what is in it, it gets to the bottom: asks, tells, rules.
"""

import json
import os
import re
import subprocess
import sys

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from serving import PATIENCE, Serving

from matchbandit.live.store import Store
from matchbandit.service import tokens

PLAYERS = [f"p{k}" for k in range(1, 21)]
# What has the right form may still be wrong: a name that nobody has, a proposal that is closed.
CONFIG = """
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422"]
"""


ENDS_THE_LEAGUE = ("archive_league", "delete_league")
"""Operations after which all others would be refused."""


def narrowed(part):
    """The description, with the one league, its items and its rewards in the place of all that could be."""
    if isinstance(part, list):
        return [narrowed(one) for one in part]
    if not isinstance(part, dict):
        return part
    if part.get("in") == "path":
        only = {"type": "string", "enum": ["club"]} if part["name"] == "league" else {**part["schema"], "maximum": 25}
        return {**part, "schema": only}
    kinds = {kind.get("type"): kind for kind in part.get("anyOf", []) if isinstance(kind, dict)}
    if {"string", "integer"} == set(kinds):
        return {**part, "anyOf": [{"type": "string", "enum": PLAYERS}, {**kinds["integer"], "maximum": 20}]}
    if {"string", "number"} == set(kinds) and "const" in kinds["string"]:
        return {**part, "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, kinds["string"]]}
    return {name: narrowed(value) for name, value in part.items()}


def findings(folder, *, one_league, examples, phases):
    """Run it on a server of its own; gives what it found, in its words, and how many cases it tried."""
    url = f"sqlite:///{folder}/store.db"
    with Store(url) as store:
        club = store.create("club", players=PLAYERS)
        for _ in range(5):
            club.ask()
        _, token = tokens.create(store, "test", scope="admin", leagues=["club"] if one_league else None)
    with Serving(url) as server:
        described = httpx.get(f"{server.address}/openapi.json", timeout=PATIENCE).json()
        (folder / "api.json").write_text(json.dumps(narrowed(described) if one_league else described))
        (folder / "st.toml").write_text(CONFIG)
        run = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "--config-file", "st.toml", "run", "api.json",
             "--url", server.address, "--header", f"Authorization: Bearer {token}", "--max-examples", str(examples),
             "--phases", phases, "--seed", "7", "--no-color", "--suppress-health-check", "all",
             "--generation-database", "none",
             *(f"--exclude-operation-id={name}" for name in ENDS_THE_LEAGUE if one_league)],
            cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""},
        )  # fmt: skip
        server.stop()
        defects = [line for line in server.lines() if line["event"] == "defect"]
    tried = re.search(r"(\d+) generated, (\d+) passed", run.stdout)
    assert tried, run.stdout + run.stderr
    assert defects == []
    return "" if run.returncode == 0 and tried[1] == tried[2] else run.stdout, int(tried[1])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_it_finds_nothing_in_a_league_in_a_few_seconds(mode, tmp_path, store, served, bearer):
    club = store.create("club", players=PLAYERS)
    for _ in range(5):
        club.ask()
    client, headers = served(wrong_tokens=10**6), bearer("admin", "club")
    (tmp_path / "st.toml").write_text(CONFIG)
    import schemathesis  # it takes seconds, and every worker imports every file

    config = schemathesis.Config.from_path(tmp_path / "st.toml")
    schema = schemathesis.openapi.from_dict(narrowed(client.app.openapi()), config=config)
    schema.app = client.app
    tried = []

    def probe(case):
        tried.append(case)
        case.call_and_validate(headers=headers)

    # What it found would be made smaller in the long run, below; here it is enough that there is something.
    quick = settings(max_examples=1, database=None, derandomize=True, deadline=None, phases=[Phase.generate],
                     suppress_health_check=list(HealthCheck))  # fmt: skip
    for operation in schema.get_all_operations():
        asked = operation.ok()
        if asked.definition.raw.get("operationId") in ENDS_THE_LEAGUE:
            continue
        if mode == "positive" or asked.path_parameters or asked.body or asked.query:
            quick(given(asked.as_strategy(schemathesis.GenerationMode(mode)))(probe))()
    assert len(tried) > 30


@pytest.mark.slow
@pytest.mark.parametrize("one_league", [True, False])
def test_it_finds_nothing_in_minutes(tmp_path, one_league):
    found, tried = findings(tmp_path, one_league=one_league, examples=40, phases="coverage,fuzzing,stateful")
    assert found == ""
    assert tried > 2000
