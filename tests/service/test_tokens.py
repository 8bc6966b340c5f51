"""Tokens: what they open, when they end, and what the store knows of them."""

from datetime import timedelta

import pytest

from matchbandit.errors import MatchbanditError
from matchbandit.live.store import Store
from matchbandit.service import tokens


def test_a_token_is_found_by_its_text_alone(store):
    token, text = tokens.create(store, "  course \n website ", scope="play", leagues=["course", "course"])
    assert text.startswith(f"mbt_{token.id}_")
    assert (token.label, token.leagues) == ("course website", ("course",))
    assert tokens.find_active(store, text) == token
    other, _ = tokens.create(store, "other")
    secret = text.rpartition("_")[2]
    wrong = [
        "", "mbt_", text[:-1], f"{text}0", text.upper(), f" {text}", f"mbt_{token.id}_{'0' * 64}",
        f"mbt_{other.id}_{secret}", f"mbt_{'0' * 12}_{secret}", "mbt_é_é", "\udcff",
    ]  # fmt: skip
    assert [tokens.find_active(store, one) for one in wrong] == [None] * len(wrong)


def test_scopes_include_those_below_and_leagues_no_others(store):
    for k, scope in enumerate(tokens.SCOPES):
        everywhere, _ = tokens.create(store, "all", scope=scope)
        here, _ = tokens.create(store, "one", scope=scope, leagues=["club"])
        for j, wanted in enumerate(tokens.SCOPES):
            assert everywhere.may(wanted) == everywhere.may(wanted, "club") == here.may(wanted, "club") == (j <= k)
            assert not here.may(wanted, "other")
            assert not here.may(wanted)
        assert here.sees("club")
        assert not here.sees("other")


def test_a_token_ends_when_it_expires_or_is_revoked(store, clock):
    token, text = tokens.create(store, "short", lifetime=timedelta(hours=1))
    clock.forward(minutes=1)
    lasting, other = tokens.create(store, "long")
    assert tokens.any_usable(store)
    clock.forward(minutes=58)
    assert tokens.find_active(store, text) == token
    clock.forward(minutes=1)
    assert tokens.find_active(store, text) is None
    assert tokens.lookup(store, text) == token
    assert token.end_reason(store.now()) == f"the token {token.id} expired at 2026-11-16T10:30:00.000000Z"
    first = tokens.revoke(store, lasting.id)
    clock.forward(minutes=1)
    assert tokens.revoke(store, lasting.id) == first
    assert first.revoked == "2026-11-16T10:30:00.000000Z"
    assert tokens.find_active(store, other) is None
    assert not tokens.any_usable(store)
    assert [one.label for one in tokens.list_all(store)] == ["short", "long"]


def test_what_cannot_be_a_token_is_refused(store):
    for options, words in [
        ({"label": " "}, "label"),
        ({"label": "x" * 101}, "label"),
        ({"label": "a\x00b"}, "label"),
        ({"scope": "plai"}, "did you mean 'play'?"),
        ({"leagues": []}, "at least one league"),
        ({"lifetime": timedelta(0)}, "lifetime"),
        ({"lifetime": timedelta(days=10**6)}, "lifetime"),
    ]:
        with pytest.raises(MatchbanditError, match=words.replace("?", r"\?")):
            tokens.create(store, **{"label": "x", **options})
    with pytest.raises(MatchbanditError, match="unknown token 'nobody'"):
        tokens.revoke(store, "nobody")
    assert tokens.list_all(store) == []


def test_a_stolen_database_holds_no_usable_token(store, tmp_path):
    made = [tokens.create(store, f"label {k}", scope="admin")[1] for k in range(5)]
    copied = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for text in made:
        _, id, secret = text.split("_")
        assert id.encode() in copied
        assert secret.encode() not in copied
        assert bytes.fromhex(secret) not in copied
    with Store(f"sqlite:///{tmp_path}/store.db") as thief, thief.reading() as connection:
        rows = connection.exec_driver_sql("SELECT id, hash FROM mb_tokens").fetchall()
    for id, digest in rows:  # what stands there, tried as a secret
        assert tokens.find_active(store, f"mbt_{id}_{digest}") is None
