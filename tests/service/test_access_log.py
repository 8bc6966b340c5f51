"""What every request gets: an id, safe headers, a line in the log, its place in the metrics; defects too."""

import json

import pytest
from asgi import code_of, request

from matchbandit.service.access_log import AccessLog, InterruptedResponseError
from matchbandit.service.metrics import Metrics
from matchbandit.service.settings import Settings


def test_a_request_keeps_a_plain_id_and_gets_a_new_one_otherwise(served):
    client = served()
    assert client.get("/healthz", headers={"X-Request-ID": "job-7.a_B"}).headers["x-request-id"] == "job-7.a_B"
    for odd in ("", "x" * 65, "a b", "a\tb", '"}'):
        given = client.get("/healthz", headers={"X-Request-ID": odd}).headers["x-request-id"]
        assert given != odd
        assert len(given) == 16


def test_answers_carry_safe_headers(served, bearer):
    client = served()
    for path in ("/healthz", "/v1/leagues", "/docs", "/nowhere", "/openapi.json"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "server" not in headers
        assert "strict-transport-security" not in headers
    assert "strict-transport-security" in served(https=True).get("/healthz").headers


def test_the_log_has_routes_and_ids_and_nothing_that_was_sent(served, bearer, lines):
    client = served()
    headers = bearer("read", "club")
    secret = headers["Authorization"].removeprefix("Bearer ")
    client.get("/v1/leagues/secret-slug?x=zebra", headers=headers)
    client.post("/v1/leagues", headers=headers, json={"slug": "secret-slug", "players": ["zebra"]})
    client.post("/v1/leagues", headers=headers, content=b"zebra", params={"zebra": "zebra"})
    client.get("/v1/zebra/zebra", headers={**headers, "X-Request-ID": "one"})
    told = [line for line in lines() if line["event"] == "request"]
    assert [(line["route"], line["status"], line["code"]) for line in told] == [
        ("/v1/leagues/{league}", 404, "unknown-league"),
        ("/v1/leagues", 403, "not-allowed"),
        ("/v1/leagues", 415, "no-json"),
        ("other", 404, "not-found"),
    ]
    assert told[-1]["request_id"] == "one"
    assert {line["token"] for line in told} == {secret.split("_")[1]}
    assert all(line["at"].endswith("Z") and line["ms"] >= 0 for line in told)
    whole = json.dumps(told)
    for private in ("zebra", "secret-slug", secret.split("_")[2]):
        assert private not in whole


def defective():
    async def app(scope, receive, send):
        if scope["path"] == "/begun":
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise KeyError("zebra")

    return AccessLog(app, Settings(), Metrics())


def test_a_defect_is_answered_and_logged_without_its_message(lines):
    status, headers, body, _ = request(defective())
    assert (status, code_of(body)) == (500, "internal")
    assert headers["x-request-id"] in json.loads(body)["detail"]
    defect, told = lines()
    assert (defect["event"], defect["error"], defect["request_id"]) == ("defect", "KeyError", headers["x-request-id"])
    assert any("test_access_log.py" in place for place in defect["places"])
    assert (told["status"], told["code"]) == (500, "internal")
    assert "zebra" not in json.dumps([defect, told])


def test_an_answer_that_breaks_off_is_cut(lines):
    with pytest.raises(InterruptedResponseError):
        request(defective(), path="/begun")
    assert [line["event"] for line in lines()] == ["defect", "request"]


def test_metrics_need_a_token_for_all_leagues_and_name_none(served, bearer):
    client = served()
    everywhere = bearer("read")
    assert client.get("/metrics", headers=bearer("admin", "club")).status_code == 403
    client.get("/v1/leagues/club", headers=everywhere)
    client.get("/v1/leagues/club")
    answer = client.get("/metrics", headers=everywhere)
    assert answer.headers["content-type"].startswith("text/plain")
    text = answer.text
    assert 'matchbandit_requests_total{method="GET",route="/v1/leagues/{league}",status="404"} 1.0' in text
    assert 'matchbandit_refused_total{code="no-token"} 1.0' in text
    assert 'matchbandit_request_seconds_count{method="GET",route="/v1/leagues/{league}"} 1.0' in text
    assert "matchbandit_requests_in_flight 1.0" in text
    assert "club" not in text


def test_metrics_of_two_apps_do_not_mix(served, bearer):
    token = bearer("read")
    first, second = served(), served()
    first.get("/healthz")
    assert 'route="/healthz"' in first.get("/metrics", headers=token).text
    assert 'route="/healthz"' not in second.get("/metrics", headers=token).text


def test_ready_only_while_the_store_can_be_used(served, store, monkeypatch):
    from matchbandit.live.errors import LeagueError

    client = served()
    assert client.get("/readyz").json() == {"status": "ready"}

    def broken():
        raise LeagueError("store-unusable", "the store sqlite:////secret/path is full.")

    monkeypatch.setattr(store, "ready", broken)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "store-unusable")
    assert "secret" not in answer.text
    assert client.get("/healthz").status_code == 200
