"""`matchbandit token` and `serve`, typed."""

import json

import pytest

from matchbandit.live.store import Store
from matchbandit.service import tokens
from matchbandit.service.server import Server


def test_a_token_is_printed_once_and_can_be_listed_and_ended(run):
    code, text, told = run(
        "token", "new", "--label", "web site", "--scope", "play", "--league", "club", "--days", "365"
    )
    assert (code, text.count("\n")) == (0, 1)
    assert "not shown again" in told
    with Store("sqlite:///matchbandit.db") as store:
        token = tokens.find_active(store, text.strip())
        assert (token.label, token.scope, token.leagues) == ("web site", "play", ("club",))
    code, listed, _ = run("token", "list")
    assert code == 0
    assert all(part in listed for part in (token.id, "web site", "play", "club", token.expires[:10]))
    assert text.strip().rpartition("_")[2] not in listed
    code, out, _ = run("token", "revoke", token.id, "--json")
    assert (code, json.loads(out)["id"]) == (0, token.id)
    with Store("sqlite:///matchbandit.db") as store:
        assert tokens.find_active(store, text.strip()) is None
    assert "revoked" in run("token", "list")[1]
    code, out, _ = run("token", "list", "--json")
    assert [entry["ended"] for entry in json.loads(out)] == [True]
    code, out, err = run("token", "new", "--label", "all", "--json")
    told = json.loads(out)
    assert (code, err, told["leagues"], told["expires"]) == (0, "", None, None)
    assert told["token"].startswith(f"mbt_{told['id']}_")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["token", "new"], "--label"),
        (["token", "new", "--label", " "], "label"),
        (["token", "new", "--label", "x", "--scope", "plaay"], "did you mean 'play'?"),
        (["token", "new", "--label", "x", "--days", "soon"], "--days"),
        (["token", "new", "--label", "x", "--days", "-1"], "lifetime"),
        (["token", "new", "--label", "x", "--days", "inf"], "--days"),
        (["token", "new", "--label", "x", "--days", "nan"], "--days"),
        (["token", "new", "--label", "x", "--days", "1e30"], "--days"),
        (["token", "list", "--store", "nowhere.db"], "no store 'nowhere.db'"),
        (["serve", "--port", "x"], "--port"),
        (["serve", "--port", "-1"], "--port"),
        (["serve", "--port", "70000"], "--port"),
        (["serve", "--workers", "0"], "--workers"),
        (["serve", "--rate", "0"], "rate"),
        (["serve", "--rate", "inf"], "rate"),
        (["serve", "--body-bytes", "0"], "--body-bytes"),
        (["serve", "--host", "0.0.0.0"], "no token yet"),
        (["serve", "--store", "no/such/folder.db"], "no folder"),
    ],
)  # fmt: skip
def test_mistakes_end_in_one_line(run, words, told):
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err


def test_serve_passes_on_what_is_typed(run, monkeypatch):
    served = []
    monkeypatch.setattr(Server, "run", lambda server: served.append(server) or None)
    typed = ["--store", "x.db", "--host", "::1", "--port", "0", "--workers", "2", "--behind-proxy", "--rate", "50"]
    assert run("serve", *typed, "--body-bytes", "1e4", "--no-dashboard")[0] == 0
    server = served[0]
    assert (server.store, server.host, server.port, server.workers) == ("sqlite:///x.db", "::1", 0, 2)
    assert server.behind_proxy
    assert (server.settings.rate, server.settings.burst, server.settings.body_bytes) == (50, 100, 10_000)
    assert (server.settings.https, server.settings.dashboard) == (True, False)
