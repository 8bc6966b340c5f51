"""`matchbandit store …`, typed."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from matchbandit.leagues import Store


@pytest.fixture
def store(run):
    """Type `matchbandit store …` on a store of two leagues."""
    with Store("sqlite:///matchbandit.db") as opened:
        for slug in ("club", "chess"):
            opened.create(slug, players=["ann", "bob"], key=f"create {slug}").ask()
    return lambda *words: run("store", *words)


def test_info_describes_a_store(store):
    code, out, _ = store("info", "--json")
    info = json.loads(out)
    assert (code, info["leagues"], info["idempotency_keys"], info["changes"]) == (0, 2, 2, 6)
    assert all(words in store("info")[1] for words in ("schema version", "the oldest from", "2, 0 archived, 0 deleted"))


def test_check_says_what_is_wrong_and_exits_with_1(store):
    assert store("check")[:2] == (0, "no problems: 2 leagues checked\n")
    assert json.loads(store("check", "--json")[1]) == {"ok": True, "problems": [], "leagues": {"chess": [], "club": []}}
    with closing(sqlite3.connect("matchbandit.db")) as file:
        file.execute("UPDATE mb_proposal SET due = 'soon' WHERE league_id = 1")
        file.commit()
    code, out, err = store("check")
    assert (code, err) == (1, "")
    assert "the export of 'club' is damaged" in out
    assert "Restore a backup." in out
    code, out, _ = store("check", "--json")
    assert (code, json.loads(out)["ok"], json.loads(out)["leagues"]["chess"]) == (1, False, [])


def test_check_of_a_file_that_cannot_be_read_exits_with_1(store):
    Path("other.db").write_text("no database")
    code, out, err = store("check", "--store", "other.db", "--json")
    assert (code, err, json.loads(out)["ok"]) == (1, "", False)
    assert "is not a SQLite database" in json.loads(out)["problems"][0]


def test_prune_vacuum_and_backup_say_what_they_did(store):
    dry = "would erase 2 keys, 0 tokens, 0 sessions and 0 leagues\n"
    assert store("prune", "--older-than", "0s", "--dry-run")[:2] == (0, dry)
    assert store("prune")[1].startswith("erased 0 keys")
    assert json.loads(store("prune", "--older-than", "0s", "--json")[1])["keys"] == 2
    assert " now" in store("vacuum")[1]
    assert store("backup", "copy.db")[1].startswith("copy.db: ")
    assert store("backup", "copy.db")[0] == 2
    assert store("check", "--store", "copy.db")[:2] == (0, "no problems: 2 leagues checked\n")


@pytest.mark.parametrize("age", ["none", "soon", "1e9d", "-1d", "99999999w"])
def test_prune_refuses_impossible_ages(store, age):
    code, _, err = store("prune", f"--older-than={age}")
    assert (code, err.count("\n")) == (2, 1)


def test_a_missing_store_is_refused(store):
    assert store("check", "--store", "none.db")[0] == 2
    assert not Path("none.db").exists()
