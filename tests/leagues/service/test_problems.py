"""Errors as problems: what they contain, and that clients do not see what is the operator's."""

import logging

import pytest
from app_transport import AppTransport, code_of
from fastapi import Request

from matchbandit.errors import MatchbanditError
from matchbandit.leagues import LeagueError
from matchbandit.leagues.errors import CODES
from matchbandit.leagues.service.problems import problem, to_league_error


def request() -> Request:
    return Request({"type": "http", "headers": [], "state": {"id": "r1"}})


@pytest.mark.parametrize("code", CODES)
def test_problem_has_the_status_and_retry_after_of_its_code(code):
    answer = problem(request(), code, "why.", field="name")
    assert answer.status_code == CODES[code].status
    assert (answer.headers.get("retry-after") is not None) == (CODES[code].retry_after is not None)
    assert all(status in answer.body.decode() for status in (f'"{code}"', '"why."', '"name"', '"r1"'))


def test_every_unavailability_says_when_to_try_again():
    assert all(code.retry_after is not None for code in CODES.values() if code.status in (408, 429, 503))


def test_a_problem_has_the_id_of_its_request(api):
    answer = api.get("/v1/nothing", headers={"X-Request-ID": "mine-1"})
    assert (answer.status_code, code_of(answer), answer.json()["request_id"]) == (404, "not-found", "mine-1")
    assert answer.headers["x-request-id"] == "mine-1"
    other = api.get("/v1/nothing", headers={"X-Request-ID": "not an id"})
    assert other.json()["request_id"] == other.headers["x-request-id"] != "not an id"


def test_a_method_that_is_not_accepted_is_answered_with_those_that_are(api, club):
    answer = api.put(f"{club}/proposals")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")


@pytest.mark.parametrize("path", ["/v1/leagues?limit=0", "/v1/leagues?limit=x", "/v1/leagues?after=%00"])
def test_a_wrong_parameter_is_named(api, path):
    answer = api.get(path)
    assert (code_of(answer), answer.json()["field"]) == ("bad-request", path.partition("?")[2].partition("=")[0])


def test_errors_of_a_store_are_for_the_operator(caplog):
    error = LeagueError("store-unusable", "the store sqlite:////secret/place.db cannot be used: disk I/O error.")
    with caplog.at_level(logging.ERROR):
        shown = to_league_error(request(), error)
    assert shown.code == "store-unusable"
    assert "secret" not in str(shown)
    assert caplog.records[-1].__dict__["content"]["message"] == str(error)
    assert to_league_error(request(), MatchbanditError("u is wrong.")).code == "bad-value"


def test_a_defect_is_answered_and_logged_without_its_message(api, club, caplog, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("ann")

    monkeypatch.setattr("matchbandit.leagues.League.ranking", fail)
    answer = api.get(f"{club}/ranking")
    assert (answer.status_code, code_of(answer)) == (500, "internal-error")
    assert "ann" not in answer.text
    assert [record.getMessage() for record in caplog.records] == ["defect"]


@pytest.mark.parametrize(("hosts", "status"), [([], 400), (["a"], 200), (["a", "b"], 400)])
def test_a_request_has_one_host(api, hosts, status):
    headers = [("Authorization", api.headers["authorization"]), *(("Host", host) for host in hosts)]
    transport = api._transport
    assert isinstance(transport, AppTransport)
    assert transport.send_raw("GET", "/v1/leagues", headers)[0] == status
