"""Several processes on one store: none loses or doubles anything, and each sees what the others did."""

import shutil
import signal
from collections import Counter
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path

import postgres
import pytest
from league_load import all_rows, check_tables
from league_processes import Report, Worker, play, working, write
from league_writes import WRITES, fill, state

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


def kill_a_write(new_copy: Callable[[], str], name: str, *, kills: int) -> None:
    """Kill a method at so many of the functions that it calls, evenly spaced, and repeat it under its key."""
    url = new_copy()
    with working(Worker(write, url, name, None)) as (worker,):
        ((n_calls,),) = worker.reports()
    with Store(url) as store:
        expected = state(store)
    for kill in range(kills):
        url = new_copy()
        with working(Worker(write, url, name, 1 + (2 * kill + 1) * n_calls // (2 * kills))) as (worker,):
            assert list(worker.reports()) == []
        with Store(url) as store:
            answer = WRITES[name](store, "key")
            assert state(store) == expected
            assert WRITES[name](store, "key") == answer
            assert state(store) == expected
            assert not store.check().problems
            for slug in expected:
                assert store.check().leagues[slug] == []


def test_two_processes_lose_and_double_nothing(store_url: str):
    work_together(store_url, processes=2, rounds=5)


def test_killed_processes_lose_and_double_nothing(store_url: str):
    kill_some(store_url, processes=2, kills=2)


@pytest.mark.slow
def test_many_rounds_of_four_processes_lose_and_double_nothing(store_url: str):
    work_together(store_url, processes=4, rounds=60)


@pytest.mark.slow
def test_ten_kills_of_four_processes_lose_and_double_nothing(store_url: str):
    kill_some(store_url, processes=4, kills=10)


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


@pytest.fixture
def new_copy(store_url: str, tmp_path: Path) -> Callable[[], str]:
    """Copies the store, in which there are leagues to write."""
    with Store(store_url) as store:
        fill(store)
    numbers = count(1)

    def copy() -> str:
        if not store_url.startswith("sqlite"):
            return postgres.fresh_database(like=store_url.partition("@/")[2].partition("?")[0])
        file = tmp_path / f"copy-{next(numbers)}.db"
        shutil.copyfile(tmp_path / "store.db", file)
        return f"sqlite:///{file}"

    return copy


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", WRITES)
def test_method_that_is_killed_and_repeated_is_executed_once(name: str, new_copy: Callable[[], str]):
    kill_a_write(new_copy, name, kills=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITES)
def test_method_that_is_killed_in_many_places_and_repeated_is_executed_once(name: str, new_copy: Callable[[], str]):
    kill_a_write(new_copy, name, kills=12)
