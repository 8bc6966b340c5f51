"""The description of the API: valid, complete, and with examples that are true; and the page that uses it."""

import json
import re
from importlib.resources import files
from typing import Any

import httpx
import msgspec
import pytest
from clocks import Clock

from matchbandit.leagues.errors import CODES
from matchbandit.leagues.service import requests

METHODS = ("get", "post", "patch", "delete")
EXAMPLES = json.loads((files("matchbandit.leagues.service") / "examples.json").read_text(encoding="utf-8"))
BODIES = {
    "create_league": requests.NewLeague,
    "join": requests.NewItems,
    "ask": requests.Ask,
    "tell": requests.Outcomes,
    "correct": requests.Outcomes,
    "change_rules": requests.Pairs,
    "configure": requests.Settings,
}


@pytest.fixture
def description(api):
    return api.get("/openapi.json").json()


def operations(description: Any) -> list[tuple[str, str, Any]]:
    return [(method, path, each) for path, item in description["paths"].items() for method, each in item.items()]


def test_every_operation_is_described(description):
    found = operations(description)
    assert {method for method, _, _ in found} == set(METHODS)
    for method, path, operation in found:
        assert path.startswith("/v1/")
        assert operation["security"] == [{"token": []}]
        assert operation["tags"][0] in ("leagues", "proposals", "items", "results")
        assert operation["description"]
        problem = operation["responses"]["503"]["content"]["application/problem+json"]["schema"]
        assert problem == {"$ref": "#/components/schemas/Problem"}
        names = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
        assert names == set(re.findall(r"{(\w+)}", path))
        headers = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "header"}
        assert ("Idempotency-Key" in headers) == (method != "get")
        assert ("If-Match" in headers) == (method == "patch")
    assert len({operation["operationId"] for _, _, operation in found}) == len(found)


def test_every_reference_and_code_is_defined(description):
    def references(part: Any) -> list[str]:
        if isinstance(part, dict):
            found = [part["$ref"]] if "$ref" in part else []
            return found + [ref for value in part.values() for ref in references(value)]
        return [ref for value in part for ref in references(value)] if isinstance(part, list) else []

    schemas = description["components"]["schemas"]
    assert {ref.removeprefix("#/components/schemas/") for ref in references(description)} <= set(schemas)
    assert schemas["Problem"]["properties"]["code"]["enum"] == sorted(CODES)


def play(api: httpx.Client, clock: Clock) -> dict[str, Any]:
    """Requests and responses of the main operations, in an order in which they work."""
    path, bodies = "/v1/leagues/club", {name: EXAMPLES.get(name, {}).get("request") for name in BODIES}
    calls: list[tuple[str, str, str, Any]] = [
        ("create_league", "POST", "/v1/leagues", bodies["create_league"]),
        ("join", "POST", f"{path}/items", bodies["join"]),
        ("change_rules", "POST", f"{path}/rules/exclude", bodies["change_rules"]),
        ("ask", "POST", f"{path}/proposals", bodies["ask"]),
        ("tell", "POST", f"{path}/proposals/1/outcomes", bodies["tell"]),
        ("correct", "POST", f"{path}/proposals/1/corrections", bodies["correct"]),
        ("configure", "PATCH", f"{path}/settings", bodies["configure"]),
        ("get_league", "GET", path, None),
        ("list_proposals", "GET", f"{path}/proposals", None),
        ("list_results", "GET", f"{path}/results", None),
        ("ranking", "GET", f"{path}/ranking", None),
        ("why", "GET", f"{path}/why?pair=ann&pair=cem", None),
    ]
    played = {}
    for name, method, url, body in calls:
        clock.forward(minutes=1)
        answer = api.request(method, url, json=body)
        assert answer.is_success, answer.text
        played[name] = {**({} if body is None else {"request": body}), "response": answer.json()}
    return played


def nearly(value: Any) -> Any:
    """The value, where numbers need not be equal to the last digit."""
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-6)
    if isinstance(value, list):
        return [nearly(each) for each in value]
    return {name: nearly(each) for name, each in value.items()} if isinstance(value, dict) else value


def test_examples_are_what_the_service_answers(api, clock, description):
    assert play(api, clock) == nearly(EXAMPLES)
    by_id = {operation["operationId"]: operation for _, _, operation in operations(description)}
    for name, example in EXAMPLES.items():
        answers = [answer["content"].get("application/json", {}) for answer in by_id[name]["responses"].values()]
        assert example["response"] in [answer.get("example") for answer in answers]
        if name in BODIES:
            assert by_id[name]["requestBody"]["content"]["application/json"]["example"] == example["request"]
            msgspec.convert(example["request"], BODIES[name])


def test_docs_loads_nothing_from_elsewhere(api):
    page = api.get("/docs", headers={"Authorization": ""})
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
    assert "http" not in page.text
    assert "<script>" not in page.text
    for path in ("/docs/start.js", "/docs/static/swagger-ui-bundle.js", "/docs/static/swagger-ui.css"):
        assert path in page.text
        assert api.get(path).status_code == 200
