"""Several processes on one store: none loses or doubles anything, and kill −9 leaves nothing half."""

from collections import Counter
from pathlib import Path

import pytest
from league_workers import Acknowledged, Worker, play, working
from sqlalchemy import text

from matchbandit.live import Store

FOUR = ["ann", "bob", "cem", "dee"]
ENDLESS = 10**9


def check(url: str, acknowledged: list[Acknowledged]) -> None:
    """All that was acknowledged is in the log; all in the log is there once; the state is what a replay makes it."""
    with Store(url) as store:
        club = store.open("club")
        events = club.events()
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        numbers = [event.data["number"] for event in events if event.kind == "proposed"]
        assert numbers == list(range(1, len(numbers) + 1))
        told = Counter(
            (event.data["proposal"], a, b)
            for event in events
            if event.kind == "told"
            for a, b, _ in event.data["outcomes"]
        )
        assert set(told.values()) <= {1}
        joined = Counter(item for event in events if event.kind == "joined" for item, _ in event.data["items"])
        assert set(joined.values()) == {1}
        heard = Counter(acknowledged)
        assert set(heard.values()) <= {1}  # no number was given twice
        for kind, *what in acknowledged:
            if kind == "asked":
                assert what[0] in numbers
            elif kind == "told":
                assert told[what[0], *what[1]] == 1
            else:
                assert joined[what[0]] == 1
                assert club.item(what[0]).name.startswith("worker")
        assert len({item.name for item in club.items()}) == len(club.items()) == len(joined)
        found = club.verify()
        assert found.differences == ()
        assert found.proposals == len(numbers)
        digest = club.digest()
        with store.writing() as connection:
            connection.execute(text("DELETE FROM mb_snapshots"))
    with Store(url) as store:
        assert store.open("club").digest() == digest


def created(url: str) -> None:
    with Store(url) as store:
        store.create("club", players=FOUR, policy="cucb", seed=1)


def hammered(url: str, processes: int, rounds: int) -> None:
    created(url)
    workers = [Worker(play, url, f"worker {who}", rounds) for who in range(processes)]
    with working(*workers):
        acknowledged = [heard for worker in workers for heard in worker.heard()]
        assert [worker.join() for worker in workers] == [0] * processes
    assert sum(kind == "asked" for kind, *_ in acknowledged) == processes * rounds
    check(url, acknowledged)


def killed(url: str, times: int, processes: int) -> None:
    created(url)
    acknowledged: list[Acknowledged] = []
    for time in range(times):
        workers = [Worker(play, url, f"worker {time}-{who}", ENDLESS) for who in range(processes)]
        with working(*workers):
            for number, heard in enumerate(workers[0].heard()):
                acknowledged.append(heard)
                if number == 3 + 5 * time % 7:
                    for worker in workers:
                        worker.kill()
            for worker in workers[1:]:
                acknowledged.extend(worker.heard())
    check(url, acknowledged)


def test_several_processes_lose_and_double_nothing(url):
    hammered(url, processes=2, rounds=4)


def test_kill_9_of_a_process_that_writes(url):
    killed(url, times=2, processes=2)


@pytest.mark.slow
def test_many_rounds_of_several_processes(url):
    hammered(url, processes=4, rounds=100)


@pytest.mark.slow
def test_kill_9_twenty_times(url):
    killed(url, times=20, processes=4)


def test_a_commit_that_was_cut_off_was_never_there(sqlite_url, tmp_path: Path):
    """The files in the middle of a commit are what a killed process leaves."""
    created(sqlite_url)
    with Store(sqlite_url) as store:
        club = store.open("club")
        before = club.digest()
        club.ask()
        after = club.digest()
        database, wal = (Path(f"{tmp_path}/store.db{end}").read_bytes() for end in ("", "-wal"))
    for cut, expected in ((0, after), (1, before), (3000, before)):
        copy = tmp_path / f"copy-{cut}.db"
        copy.write_bytes(database)
        Path(f"{copy}-wal").write_bytes(wal[: len(wal) - cut])
        with Store(f"sqlite:///{copy}") as store:
            club = store.open("club")
            assert club.digest() == expected
            assert club.verify().ok
            assert club.ask().number == len(club.proposals())
