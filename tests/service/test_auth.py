"""Who comes in: tokens wrong, ended, revoked; too many requests; and that all of it comes before the body."""

from datetime import timedelta

import pytest

from matchbandit.service import tokens


def code(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == answer.status_code
    assert told["request_id"] == answer.headers["x-request-id"]
    return told["code"]


def bearing(text):
    return {"Authorization": f"Bearer {text}"}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, "no-token"), ("", "no-token"), ("Bearer", "no-token"), ("Bearer ", "no-token"),
        ("Basic YTpi", "no-token"), ("mbt_x", "no-token"), ("Bearer mbt_x", "wrong-token"),
        (f"Bearer mbt_{'0' * 12}_{'0' * 64}", "wrong-token"), ("bearer \xff", "wrong-token"),
    ],
)  # fmt: skip
@pytest.mark.sampled(3)
def test_without_a_token_that_is_known_nothing_opens(served, header, expected):
    client = served()
    for path in ("/v1/leagues", "/v1/leagues/club", "/v1/nowhere", "/metrics"):
        answer = client.get(path, headers=None if header is None else {"Authorization": header.encode("latin-1")})
        assert (answer.status_code, code(answer)) == (401, expected)
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_token_that_has_ended_says_so(served, store, clock):
    client = served()
    token, text = tokens.create(store, "short", lifetime=timedelta(hours=1))
    assert client.get("/v1/leagues", headers=bearing(text)).status_code == 200
    clock.forward(hours=1)  # it is still remembered as found, and yet it has expired
    answer = client.get("/v1/leagues", headers=bearing(text))
    assert (answer.status_code, code(answer)) == (401, "ended-token")
    assert f"{token.id} expired" in answer.json()["detail"]


def test_a_revoked_token_is_believed_for_a_second_at_most(served, store, ticks):
    client = served()
    token, text = tokens.create(store, "lost")
    assert client.get("/v1/leagues", headers=bearing(text)).status_code == 200
    tokens.revoke(store, token.id)
    ticks.now += 1.0
    answer = client.get("/v1/leagues", headers=bearing(text))
    assert (answer.status_code, code(answer)) == (401, "ended-token")
    assert "revoked" in answer.json()["detail"]


def test_each_token_has_its_own_rate(served, bearer, ticks):
    client = served(rate=2.0, burst=3)
    busy, calm = bearer(), bearer()
    assert [client.get("/v1/leagues", headers=busy).status_code for _ in range(4)] == [200, 200, 200, 429]
    answer = client.get("/v1/leagues", headers=busy)
    assert code(answer) == "too-many-requests"
    assert answer.headers["retry-after"] == "1"
    assert client.get("/v1/leagues", headers=calm).status_code == 200
    ticks.now += 0.5
    assert [client.get("/v1/leagues", headers=busy).status_code for _ in range(2)] == [200, 429]


def test_pages_are_counted_by_address_and_health_is_not(served):
    client = served(rate=1.0, burst=2)
    assert [client.get("/docs").status_code for _ in range(3)] == [200, 200, 429]
    assert [client.get(path).status_code for path in ("/healthz", "/readyz") * 3] == [200] * 6


def test_guesses_are_slowed_down_but_not_whoever_is_known(served, bearer, ticks, monkeypatch):
    client = served(wrong_tokens=3, token_seconds=1000.0)
    known, fresh = bearer(), bearer()
    assert client.get("/v1/leagues", headers=known).status_code == 200
    guesses = [bearing(f"mbt_{'0' * 12}_{k:064x}") for k in range(5)]
    assert [client.get("/v1/leagues", headers=guess).status_code for guess in guesses] == [401, 401, 401, 429, 429]
    looked_up = []
    real = tokens.lookup
    monkeypatch.setattr(tokens, "lookup", lambda *given: looked_up.append(given) or real(*given))
    assert client.get("/v1/leagues", headers=known).status_code == 200
    answer = client.get("/v1/leagues", headers=fresh)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "20")
    assert looked_up == []
    ticks.now += 20.0
    assert client.get("/v1/leagues", headers=fresh).status_code == 200


def test_a_token_is_looked_at_before_the_body(served):
    client = served(body_bytes=10)
    answer = client.post("/v1/leagues", content=b"x" * 100)
    assert (answer.status_code, code(answer)) == (401, "no-token")
