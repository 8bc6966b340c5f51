"""Tokens and sessions: scopes, leagues, ends, and that the store holds only hashes."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from matchbandit.leagues import LeagueError, schema, tokens

DAY = timedelta(days=1)


def test_create_and_find_a_token(store):
    token, text = tokens.create(store, "  the  website ", scope="play", leagues=["a", "b", "a"])
    assert (token.label, token.leagues, token.expires_at) == ("the website", ["a", "b"], None)
    assert tokens.find(store, text) == token
    assert tokens.list_all(store) == [token]
    assert [token.sees("a"), token.sees("c")] == [True, False]
    assert [token.has(scope) for scope in tokens.SCOPES] == [True, True, False]


@pytest.mark.parametrize(("label", "scope"), [("", "play"), ("x" * 101, "play"), ("a\x00b", "play"), ("a", "write")])
def test_create_rejects_a_wrong_label_or_scope(store, label, scope):
    with pytest.raises(LeagueError) as caught:
        tokens.create(store, label, scope=scope)
    assert caught.value.code == "bad-value"


@pytest.mark.parametrize("change", ["mbt_{id}_{other}", "mbt_{other_id}_{secret}", "{id}", "", "mbt_{id}_{secret} "])
def test_find_rejects_another_text(store, change):
    _, text = tokens.create(store, "a")
    _, id, secret = text.split("_")
    other = "0" * 64 if secret[0] != "0" else "1" * 64
    wrong = change.format(id=id, secret=secret, other=other, other_id="0" * 12)
    assert tokens.find(store, wrong) is None


def test_a_token_ends_when_it_is_revoked_or_expires(store, clock):
    token, text = tokens.create(store, "a")
    _, brief = tokens.create(store, "b", lifetime=DAY)
    session = tokens.log_in(store, token)
    revoked = tokens.revoke(store, token.id)
    assert revoked.revoked_at == tokens.revoke(store, token.id).revoked_at
    assert tokens.find(store, text) is tokens.find_session(store, session) is None
    assert tokens.find(store, brief) is not None
    clock.forward(days=1)
    assert tokens.find(store, brief) is None
    with pytest.raises(LeagueError, match="did you mean"):
        tokens.revoke(store, token.id[:-1] + "x")


def test_a_session_ends_by_itself_or_by_logging_out(store, clock):
    token, _ = tokens.create(store, "a")
    first, second = tokens.log_in(store, token), tokens.log_in(store, token)
    tokens.log_out(store, first)
    assert tokens.find_session(store, first) is None
    assert tokens.find_session(store, second) == token
    clock.forward(hours=12)
    assert tokens.find_session(store, second) is None
    assert tokens.find_session(store, "") is None


def test_the_store_holds_no_secret(store):
    token, text = tokens.create(store, "a")
    session = tokens.log_in(store, token)
    with store.database.reading() as connection:
        rows = [*connection.execute(select(schema.token)), *connection.execute(select(schema.session))]
    assert not any(secret in str(row) for row in rows for secret in (text, text.split("_")[2], session))
