"""`matchbandit store …`, typed."""

import json
from pathlib import Path

import pytest

from matchbandit.live.store import Store


@pytest.fixture
def club(run):
    with Store("sqlite:///matchbandit.db") as store:
        for name in ("club", "chess"):
            store.create(name, players=["ann", "bob"], key="create").ask()


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
