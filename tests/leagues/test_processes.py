"""Several processes on one store: none loses or doubles anything, and each sees what the others did."""

import signal
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from league_load import all_rows, check_tables
from league_processes import Report, Worker, play, working

from matchbandit.leagues import Store

ENDLESS = 10**9


def create(url: str) -> None:
    with Store(url) as store:
        store.create("club", players=[f"player {number}" for number in range(8)], policy="cucb", seed=1)


def check(url: str, reports: list[Report]) -> None:
    """Compare the league with what the processes reported."""
    times = Counter(report for report in reports if report[0] != "exclude")
    assert max(times.values()) == 1  # no number was returned twice, and no id
    with Store(url) as store:
        club = store.open("club")
        check_tables(club)
        history = list(all_rows(club.history, limit=1000))
        proposals = {proposal.number: proposal for proposal in all_rows(club.proposals)}
        items = list(all_rows(club.items))
    assert [item.id for item in items] == list(range(1, len(items) + 1))
    recorded: set[Report] = {("join", item.id) for item in items}
    excluded: set[tuple[int, int]] = set()
    for change in history:
        if change.action == "ask":
            number = change.data["proposal"]
            recorded.add(("ask", number))
            assert excluded.isdisjoint(pair.ids for pair in proposals[number].pairs)
        elif change.action in ("tell", "correct"):
            recorded |= {(change.action, change.data["proposal"], *row[:2]) for row in change.data["outcomes"]}
        elif change.action == "exclude":
            excluded |= {(a, b) for a, b in change.data["pairs"]}
    assert set(reports) <= recorded | {("exclude", *pair) for pair in excluded}


def work_together(url: str, *, processes: int, rounds: int) -> None:
    create(url)
    with working(*(Worker(play, url, f"worker {number}", rounds) for number in range(processes))) as workers:
        reports = [report for worker in workers for report in worker.reports()]
        views = []
        for worker in workers:
            worker.resume()
            views += worker.reports()
    assert sum(action == "ask" for action, *_ in reports) == processes * rounds
    assert len(views) == processes
    assert all(view == views[0] for view in views)
    check(url, reports)


def kill_some(url: str, *, processes: int, kills: int) -> None:
    create(url)
    reports: list[Report] = []
    for kill in range(kills):
        with working(
            *(Worker(play, url, f"worker {kill}-{number}", ENDLESS) for number in range(processes))
        ) as workers:
            reports += islice(workers[0].reports(), 3 + 5 * kill % 7)
            for worker in workers:
                worker.kill()
            assert [worker.exit_code for worker in workers] == [-signal.SIGKILL] * processes  # none has met an error
            for worker in workers:
                reports += worker.reports()
    check(url, reports)


def test_two_processes_lose_and_double_nothing(store_url: str):
    work_together(store_url, processes=2, rounds=5)


def test_killed_processes_lose_and_double_nothing(store_url: str):
    kill_some(store_url, processes=2, kills=2)


@pytest.mark.slow
def test_many_rounds_of_four_processes_lose_and_double_nothing(store_url: str):
    work_together(store_url, processes=4, rounds=60)


@pytest.mark.slow
def test_twenty_kills_of_four_processes_lose_and_double_nothing(store_url: str):
    kill_some(store_url, processes=4, kills=20)


def test_a_torn_commit_leaves_the_store_as_before(sqlite_url: str, tmp_path: Path):
    """The files in the middle of a commit are what a killed process leaves."""
    create(sqlite_url)
    with Store(sqlite_url) as store:
        store.open("club").ask()
        database, wal = (Path(f"{tmp_path}/store.db{end}").read_bytes() for end in ("", "-wal"))
    for cut, proposals in ((0, 1), (1, 0), (3000, 0)):
        copy = tmp_path / f"copy-{cut}.db"
        copy.write_bytes(database)
        Path(f"{copy}-wal").write_bytes(wal[: len(wal) - cut])
        with Store(f"sqlite:///{copy}") as store:
            club = store.open("club")
            assert club.info().proposals == proposals
            assert club.ask().number == proposals + 1
            check_tables(club)
