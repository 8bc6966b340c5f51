"""A copy of a store: whole or not at all, as it was at one moment."""

import sqlite3
from contextlib import closing

import pytest

from matchbandit.live import LeagueError, Store
from matchbandit.live.backup import Backup, backup


def test_a_copy_has_what_was_committed_and_is_one_file(sqlite_url, tmp_path, clock):
    with Store(sqlite_url, clock=clock) as store:
        club = store.create("club", players=["ann", "bob"])
        with store.writing() as connection:  # others write, and have not finished
            connection.exec_driver_sql("DELETE FROM mb_names")
            assert backup(sqlite_url, tmp_path / "copy.db") == Backup(leagues=1, events=2)
        digest = club.digest()
    assert [path.name for path in tmp_path.glob("*copy*")] == ["copy.db"]
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    with Store(f"sqlite:///{tmp_path}/copy.db", clock=clock) as copied:
        assert copied.open("club").digest() == digest
        assert [item.name for item in copied.open("club").items()] == ["ann", "bob"]


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///store.db?timeout=5",
        "sqlite+pysqlite:///store.db",
        "sqlite:///file:store.db?mode=rw&uri=true",
        "sqlite:///{folder}/store.db?timeout=5",
        "sqlite:///file:{folder}/store.db?uri=true",
        "sqlite:///file://{folder}/store.db?uri=true",
    ],
)
def test_a_url_may_have_a_driver_and_a_query(tmp_path, monkeypatch, url):
    monkeypatch.chdir(tmp_path)
    Store("sqlite:///store.db").close()
    url = url.format(folder=tmp_path)
    with Store(url) as store:
        store.create("club", players=["ann", "bob"])
    assert backup(url, tmp_path / "copy.db") == Backup(leagues=1, events=2)
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"store.db", "copy.db"}


@pytest.mark.parametrize(
    ("url", "place", "code"),
    [
        ("sqlite:///none.db", "copy.db", "store-unusable"),
        ("sqlite:///text.db", "copy.db", "store-unusable"),
        ("sqlite:///other.db", "copy.db", "store-unusable"),
        ("sqlite:///store.db", "no folder/copy.db", "store-unusable"),
        ("sqlite:///store.db", "text.db", "bad-value"),
        ("postgresql:///club", "copy.db", "not-supported"),
    ],
)
def test_what_cannot_be_copied_is_refused_and_leaves_nothing(tmp_path, monkeypatch, url, place, code):
    monkeypatch.chdir(tmp_path)
    Store("sqlite:///store.db").close()
    (tmp_path / "text.db").write_text("a list of names\n" * 100)
    with closing(sqlite3.connect("other.db")) as other:
        other.execute("CREATE TABLE prices (price)")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(LeagueError) as refused:
        backup(url, tmp_path / place)
    assert refused.value.code == code
    assert "\n" not in str(refused.value)
    assert [path for path in sorted(tmp_path.iterdir()) if path not in before] == []
