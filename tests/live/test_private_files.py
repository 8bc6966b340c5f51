"""Files that hold names or hashes of tokens are for their owner alone."""

import os
import stat

import pytest

from matchbandit.live.backup import backup
from matchbandit.live.store import Store


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0o000)
    yield
    os.umask(before)


def modes(folder):
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}


def test_store_backup_and_export_are_created_with_mode_0600(tmp_path):
    url = f"sqlite:///{tmp_path}/store.db"
    with Store(url) as store:
        club = store.create("club", players=["ann", "bob"])
        club.export(tmp_path / "club.jsonl")
        club.export(tmp_path / "club.jsonl.gz")
        backup(url, tmp_path / "copy.db")
        names = ("store.db", "store.db-wal", "store.db-shm", "club.jsonl", "club.jsonl.gz", "copy.db")
        assert modes(tmp_path) == dict.fromkeys(names, "0o600")


def test_a_store_that_exists_keeps_its_mode(tmp_path):
    Store(f"sqlite:///{tmp_path}/store.db").close()
    (tmp_path / "store.db").chmod(0o640)
    Store(f"sqlite:///{tmp_path}/store.db").close()
    assert modes(tmp_path)["store.db"] == "0o640"
