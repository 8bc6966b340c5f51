"""`matchbandit token …`."""

import json

import pytest

from matchbandit.leagues import Store, tokens


def test_a_token_is_printed_once_listed_and_revoked(run):
    code, text, err = run(
        "token", "new", "--label", "web site", "--scope", "play", "--league", "club", "--expires", "365d"
    )
    assert (code, text.count("\n")) == (0, 1)
    assert "not shown again" in err
    assert "there is no league 'club' yet" in err
    with Store("sqlite:///matchbandit.db") as store:
        token = tokens.find(store, text.strip())
        assert (token.label, token.scope, token.leagues) == ("web site", "play", ["club"])
    code, out, _ = run("token", "list")
    assert code == 0
    assert all(part in out for part in (token.id, "web site", "play", "club", token.expires_at[:10]))
    assert text.strip().rpartition("_")[2] not in out
    code, out, _ = run("token", "revoke", token.id, "--json")
    assert (code, json.loads(out)["id"]) == (0, token.id)
    with Store("sqlite:///matchbandit.db") as store:
        assert tokens.find(store, text.strip()) is None
    assert "revoked" in run("token", "list")[1]
    code, out, err = run("token", "new", "--label", "all", "--json")
    data = json.loads(out)
    assert (code, err, data["leagues"], data["expires_at"]) == (0, "", None, None)
    assert data["token"].startswith(f"mbt_{data['id']}_")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["new"], "--label"),
        (["new", "--label", " "], "label"),
        (["new", "--label", "x", "--scope", "plaay"], "did you mean 'play'?"),
        (["new", "--label", "x", "--expires", "soon"], "--expires takes a duration"),
        (["new", "--label", "x", "--expires", "0s"], "--expires is above 0s"),
        (["new", "--label", "x", "--expires", "99999d"], "at most 36500d"),
        (["revoke", "none"], "unknown token 'none'"),
        (["list", "--store", "nowhere.db"], "no store 'nowhere.db'"),
    ],
)
def test_token_commands_refuse_in_one_line(run, words, message):
    if words[0] == "revoke":
        run("token", "new", "--label", "x")
    code, out, err = run("token", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_list_without_tokens_says_how_to_make_one(run):
    with Store("sqlite:///matchbandit.db"):
        pass
    assert run("token", "list")[1] == "no token yet. Create one: matchbandit token new --label TEXT\n"
