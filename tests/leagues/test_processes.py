"""A process that is killed in the middle of a write leaves it undone or done; a repeat under its key does it once."""

import shutil
from itertools import count

import postgres
import pytest
from league_processes import write
from league_writes import WRITES, fill, state

from matchbandit.leagues import Store


@pytest.fixture
def new_copy(store_url, tmp_path):
    """Copies the store, in which there are leagues to write."""
    with Store(store_url) as store:
        fill(store)
    numbers = count(1)

    def copy():
        if not store_url.startswith("sqlite"):
            return postgres.fresh_database(like=store_url.partition("@/")[2].partition("?")[0])
        file = shutil.copyfile(tmp_path / "store.db", tmp_path / f"copy-{next(numbers)}.db")
        return f"sqlite:///{file}"

    return copy


def kill_a_write(new_copy, name, kills):
    """Kill a method at so many of the functions that it calls, evenly spaced, and repeat it under its key."""
    url = new_copy()
    n_calls = write(url, name)
    with Store(url) as store:
        expected = state(store)
    for kill in range(kills):
        url = new_copy()
        assert write(url, name, 1 + (2 * kill + 1) * n_calls // (2 * kills)) is None
        with Store(url) as store:
            answer = WRITES[name](store, "key")
            assert state(store) == expected
            assert WRITES[name](store, "key") == answer
            assert state(store) == expected
            check = store.check()
            assert not check.problems
            assert all(check.leagues[slug] == [] for slug in expected)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", WRITES)
def test_method_that_is_killed_and_repeated_is_executed_once(name, new_copy):
    kill_a_write(new_copy, name, kills=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITES)
def test_method_that_is_killed_in_many_places_and_repeated_is_executed_once(name, new_copy):
    kill_a_write(new_copy, name, kills=30)


def test_a_torn_commit_leaves_the_store_as_before(sqlite_url, tmp_path):
    """The files in the middle of a commit are what a killed process leaves."""
    with Store(sqlite_url) as store:
        store.create("club", players=["ann", "bob", "cem"]).ask()
        database, wal = ((tmp_path / f"store.db{end}").read_bytes() for end in ("", "-wal"))
    for cut, proposals in ((0, 1), (1, 0), (3000, 0)):
        (tmp_path / f"copy-{cut}.db").write_bytes(database)
        (tmp_path / f"copy-{cut}.db-wal").write_bytes(wal[: len(wal) - cut])
        with Store(f"sqlite:///{tmp_path}/copy-{cut}.db") as store:
            club = store.open("club")
            assert club.info().proposals == proposals
            assert club.ask().number == proposals + 1
            assert store.check().ok
