"""Gauges of the store: size, oldest open proposal, waits for locks, connections in use."""

import re
import threading
from datetime import timedelta

import postgres
import pytest
import sqlalchemy as sa
from clocks import Clock
from eventually import until
from prometheus_client import CollectorRegistry, generate_latest

from matchbandit.live import schema
from matchbandit.live.errors import LeagueError
from matchbandit.live.fair_lock import FairLock
from matchbandit.live.store import Store
from matchbandit.service.store_metrics import StoreMetrics

PLAYERS = ["ann", "bob", "cem", "dee"]


def values(text):
    """Each sample by name and labels."""
    return {name: float(value) for name, value in re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE)}


def scrape(http, headers):
    return values(http.get("/metrics", headers=headers).text)


@pytest.mark.slow
def test_the_scrape_has_size_age_and_connections(served, bearer, store, clock):
    http, headers = served(), bearer("read")
    before = scrape(http, headers)
    assert before["matchbandit_store_up"] == 1
    assert before["matchbandit_store_oldest_open_proposal_seconds"] == 0
    assert before["matchbandit_store_connections_in_use"] == 0
    assert before["matchbandit_store_connections_limit"] == 40
    club = store.create("club", players=PLAYERS)
    first = club.ask()
    clock.moment += timedelta(seconds=100)
    club.ask()
    clock.moment += timedelta(seconds=20)
    assert scrape(http, headers)["matchbandit_store_oldest_open_proposal_seconds"] == 120
    club.tell(first.number, dict.fromkeys(first.pairs, 1))
    after = scrape(http, headers)
    assert after["matchbandit_store_oldest_open_proposal_seconds"] == 20
    assert after["matchbandit_store_size_bytes"] == store.info().size_bytes > 50_000
    with store.reading():
        assert scrape(http, headers)["matchbandit_store_connections_in_use"] == 1
    with store.writing() as connection:
        connection.execute(sa.update(schema.leagues).values(archived=store.now()))
    assert scrape(http, headers)["matchbandit_store_oldest_open_proposal_seconds"] == 0


def test_postgresql_is_measured_too():
    clock = Clock()
    with Store(postgres.fresh_database(), clock=clock) as store:
        store.create("club", players=PLAYERS).ask()
        clock.moment += timedelta(seconds=7)
        size, age = store.usage()
        assert size == store.info().size_bytes > 10**5
        assert age == 7


def test_many_leagues_cost_one_statement_that_follows_an_index(store):
    store.create("club", players=PLAYERS).ask()
    statements = []
    sa.event.listen(store.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    store.usage()
    (statement,) = [text for text in statements if text.startswith("SELECT")]
    with store.reading() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", (1, 0)[: statement.count("?")]).all()
    words = " ".join(row[3] for row in plan)
    assert "mb_proposals_open" in words
    assert "TEMP B-TREE" not in words


def test_a_store_that_cannot_be_read_leaves_the_other_metrics(store, monkeypatch, lines):
    measured = StoreMetrics(store, CollectorRegistry())

    def fail():
        raise LeagueError("store-unusable", "the disk failed.")

    monkeypatch.setattr(store, "usage", fail)
    text = measured.text().decode()
    assert values(text)["matchbandit_store_up"] == 0
    assert "size_bytes" not in text
    assert [line["code"] for line in lines()] == ["store-unusable"]


def test_waits_for_the_store_and_for_a_league_are_counted(store):
    registry = CollectorRegistry()
    StoreMetrics(store, registry)
    club = store.create("club", players=PLAYERS)
    name = 'matchbandit_lock_wait_seconds_count{{lock="{}"}}'.format
    assert name("league") not in values(generate_latest(registry).decode())
    for lock, hold in [("store", store.writing()), ("league", club._replica._guarded())]:
        before = values(generate_latest(registry).decode()).get(name(lock), 0)
        with hold:
            waiting = threading.Thread(target=club.ask if lock == "league" else lambda: club.join("eve"))
            waiting.start()
            waiting.join(0.5)
            assert waiting.is_alive()
        waiting.join()
        assert values(generate_latest(registry).decode())[name(lock)] >= before + 1


@pytest.mark.parametrize("timeout", [0.02, -1])
def test_a_lock_reports_each_wait_also_one_in_vain(timeout):
    waits = []
    lock = FairLock(waits.append)
    with lock:
        assert waits == []
        if timeout > 0:
            assert not lock.acquire(timeout)
        else:
            other = threading.Thread(target=lambda: lock.acquire() and lock.release())
            other.start()
            until(lambda: lock._waiting)
            other.join(0.02)
    if timeout < 0:
        other.join()
    assert len(waits) == 1
    assert waits[0] >= 0.015
