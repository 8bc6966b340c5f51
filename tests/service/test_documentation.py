"""The description of the API and its page: complete, and without a byte from elsewhere."""

import re

import pytest

from matchbandit.service import documentation
from matchbandit.service.problems import STATUSES


@pytest.fixture
def client(served):
    return served()


def test_the_description_is_encoded_once(client, monkeypatch):
    first = client.get("/openapi.json")
    monkeypatch.setattr(documentation, "json", None)
    again = client.get("/openapi.json")
    assert again.headers["content-type"] == "application/json"
    assert again.content == first.content


def test_the_description_tells_of_problems_and_tokens(client):
    told = client.get("/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    operations = {f"{method} {path}": one for path, methods in told["paths"].items() for method, one in methods.items()}
    for name, operation in operations.items():
        assert operation["summary"]
        closed = " /v1/" in name or "metrics" in name
        assert operation.get("security", []) == ([{"token": []}] if closed else [])
        for status, answer in operation["responses"].items():
            if not status.startswith("2"):
                assert list(answer["content"]) == ["application/problem+json"]
        assert ("401" in operation["responses"]) == closed
    assert "HTTPValidationError" not in str(told)
    assert told["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == sorted(STATUSES)
    for path, method in (
        ("/leagues", "post"), ("/leagues/{league}", "get"), ("/leagues/{league}/proposals", "post"),
        ("/leagues/{league}/proposals/{number}/outcomes", "post"), ("/leagues/{league}/items", "post"),
        ("/leagues/{league}/items/{id}", "delete"), ("/leagues/{league}/ranking", "get"),
        ("/leagues/{league}/events", "get"), ("/leagues/{league}/why/{id}", "get"),
    ):  # fmt: skip
        assert f"{method} /v1{path}" in operations  # the names that others script against


def test_the_page_fetches_nothing_from_elsewhere(client):
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src" not in page.headers["content-security-policy"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "<script" not in page.text
    assert " style=" not in page.text
    assert set(re.findall(r'(?:src|href)="([^#"]+)"', page.text)) == {"/docs/style.css", "/openapi.json"}
    style = client.get("/docs/style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert "url(" not in style.text


def test_the_page_explains_every_request_body_and_problem(client):
    page = client.get("/docs").text
    anchors = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= anchors
    assert set(STATUSES) <= anchors
    told = client.get("/openapi.json").json()
    for path, methods in told["paths"].items():
        for method in methods:
            assert f"<b>{method.upper()}</b> {path}" in page
    assert set(told["components"]["schemas"]) <= anchors


def test_the_type_of_a_problem_leads_to_its_explanation(client):
    where = client.get("/v1/leagues").json()["type"]
    path, _, anchor = where.partition("#")
    assert f'id="{anchor}"' in client.get(path).text
