"""`matchbandit store …` and `league archive|restore|delete`, typed."""

import json
import sys
from pathlib import Path

import pytest

from matchbandit.live.store import Store


@pytest.fixture
def club(run):
    with Store("sqlite:///matchbandit.db") as store:
        for name in ("club", "chess"):
            store.create(name, players=["ann", "bob"], key="create").ask()


def test_a_league_is_archived_deleted_and_restored(run, club):
    code, out, _ = run("league", "archive", "club")
    assert (code, out.startswith("club: archived at 20")) == (0, True)
    assert "club" not in run("league", "list")[1]
    assert "club" in run("league", "list", "--archived")[1]
    code, _, err = run("league", "ask", "club")
    assert (code, "Restore it first: matchbandit league restore club" in err) == (2, True)
    assert run("league", "restore", "club")[:2] == (0, "club: active\n")
    code, _, err = run("league", "delete", "club")
    assert (code, err) == (2, "error: cannot ask whether to delete 'club': there is no terminal. Add --yes.\n")
    code, out, _ = run("league", "delete", "club", "--yes", "--json")
    assert (code, json.loads(out)["status"]) == (0, "deleted")
    code, _, err = run("league", "show", "club")
    assert (code, "matchbandit league restore club" in err) == (2, True)
    assert "club: deleted at" in run("store", "info")[1]
    assert run("league", "restore", "club")[0] == 0
    assert "The league was restored." in run("league", "events", "club")[1]
    assert "deleted; it can be restored until" in run("league", "delete", "club", "--yes")[1]
    assert run("league", "delete", "club", "--yes", "--now")[:2] == (0, "club: erased\n")
    assert run("league", "restore", "club")[0] == 2
    assert run("league", "new", "club", "eve", "fay")[0] == 0


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2)])
def test_somebody_at_a_terminal_is_asked(run, club, monkeypatch, answer, code):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda text, err: (text, answer) == ("Delete the league 'club'?", "y"))
    assert run("league", "delete", "club")[0] == code


def test_a_store_is_described_checked_pruned_and_copied(run, club):
    code, out, _ = run("store", "info", "--json")
    info = json.loads(out)
    assert (code, info["leagues"], info["keys"], info["inactive"]) == (0, 2, 2, [])
    text = run("store", "info")[1]
    assert all(words in text for words in ("schema version", "open proposals", "the oldest from", "idempotency keys"))
    assert run("store", "check")[:2] == (0, "no problems: 2 leagues, 6 events checked\n")
    assert json.loads(run("store", "check", "--json")[1])["ok"] is True
    dry = "would erase 2 keys, 0 tokens, 0 sessions and 0 leagues\n"
    assert run("store", "prune", "--older-than", "0s", "--dry-run")[:2] == (0, dry)
    assert run("store", "prune")[1].startswith("erased 0 keys")
    assert json.loads(run("store", "prune", "--older-than", "0s", "--json")[1])["keys"] == 2
    assert " now" in run("store", "vacuum")[1]
    assert run("store", "backup", "copy.db")[:2] == (0, "copy.db: 2 leagues, 6 events\n")
    assert run("store", "check", "--store", "copy.db")[0] == 0


@pytest.mark.parametrize("age", ["none", "soon", "1e9d", "-1d"])
def test_ages_that_cannot_be(run, club, age):
    code, _, err = run("store", "prune", f"--older-than={age}")
    assert (code, err.count("\n")) == (2, 1)


def test_a_damaged_store_ends_a_check_with_1_and_the_way_out(run, club):
    place = Path("matchbandit.db")
    content = bytearray(place.read_bytes())
    for page in range(1, len(content) // 4096):
        content[page * 4096 : page * 4096 + 8] = b"\xff" * 8
    place.write_bytes(content)
    for more in ([], ["--json"]):
        code, out, err = run("store", "check", *more)
        assert (code, err) == (1, "")
        assert "Restore it from a backup." in out
    assert run("store", "check", "--store", "none.db")[0] == 2
