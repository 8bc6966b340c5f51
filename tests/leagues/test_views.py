"""The SQL views, asked as people do: with the driver of the database, and compared with what the API says."""

import sqlite3
from collections import defaultdict
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
import pytest

from matchbandit.leagues import VOID

VIEWS = ("results_by_pair", "results_by_item", "results_by_week", "proposed_pairs", "open_outcomes", "changes")


@pytest.fixture
def select(store_url):
    """The rows of a view as mappings."""

    def rows(view: str, where: str = "true") -> list[dict[str, Any]]:
        connect: Any = psycopg.connect if "://" in store_url and "sqlite" not in store_url else sqlite3.connect
        with (
            closing(connect(store_url.removeprefix("sqlite:///"))) as connection,
            closing(connection.cursor()) as cursor,
        ):
            cursor.execute(f"SELECT * FROM mb_{view} WHERE {where}")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    return rows


@pytest.fixture
def club(store, clock):
    """Weeks of results, with a void pair, a correction, an erased item and a league that was deleted."""
    club = store.create(
        "club", players=["ann", "bob", "cem", "dee", "eve"], past=[("ann", "bob", 1), ("ann", "bob", 0)]
    )
    for week in range(4):
        proposal = club.ask(by="shell")
        club.tell(proposal.number, {proposal.pairs[0]: 1, proposal.pairs[1]: VOID if week == 1 else 0}, by="app")
        clock.forward(days=6)
    club.correct(1, {club.proposal(1).pairs[0]: 0})
    club.exclude([("ann", "bob"), ("cem", "dee")])
    club.join("fay")
    club.leave("eve")
    club.erase_name("dee")
    club.ask(fixed=[("ann", "cem")])
    gone = store.create("gone", players=["x", "y"])
    gone.tell(gone.ask().number, [("x", "y", 1)])
    store.delete("gone")
    return club


def test_results_by_pair_equals_results(club, select):
    rows = {(row["first"], row["second"]): row for row in select("results_by_pair")}
    expected = {result.names: result for result in club.results()}
    assert rows.keys() == expected.keys()
    for names, result in expected.items():
        row = rows[names]
        assert (row["league"], row["results"], row["total"]) == ("club", result.count, result.total)
        assert (row["first_id"], row["second_id"], row["mean"]) == (*result.ids, pytest.approx(result.mean))


def test_results_by_item_equals_the_ranking(club, select):
    rows = {row["item"]: row for row in select("results_by_item")}
    assert rows.keys() == {item.name for item in club.items()}
    assert {"#4", "eve"} == {name for name, row in rows.items() if not row["active"]}
    for standing in club.ranking():
        row = rows[standing.name]
        assert (row["results"], row["byes"]) == (standing.results, standing.byes)
        assert row["mean"] == (None if standing.mean is None else pytest.approx(standing.mean))


def test_results_by_week_equals_the_outcomes_of_each_iso_week(club, select):
    recorded = {change.version: change.at for change in club.history(limit=1000)}
    weeks: dict[str, list[Any]] = defaultdict(list)
    versions = {
        change.data["proposal"]: change.version for change in club.history(limit=1000) if change.action == "tell"
    }
    for proposal in club.proposals():
        for pair in proposal.pairs:
            if pair.outcome is not None:
                corrected = proposal.number == 1 and pair is proposal.pairs[0]
                at = max(recorded.values()) if corrected else recorded[versions[proposal.number]]
                year, week, _ = datetime.fromisoformat(at).isocalendar()
                weeks[f"{year}-W{week:02d}"].append(pair.outcome)
    rows = {row["week"]: row for row in select("results_by_week")}
    assert rows.keys() == weeks.keys()
    assert len(rows) > 2
    for week, outcomes in weeks.items():
        rewards = [outcome for outcome in outcomes if outcome is not VOID]
        row = rows[week]
        assert (row["results"], row["void"], row["total"]) == (len(rewards), outcomes.count(VOID), sum(rewards))


def test_results_by_week_knows_the_iso_week_of_every_day(store, clock, select):
    pair = store.create("pair", players=["ann", "bob"])
    days = [date(year, month, day) for year in range(2018, 2031) for month, day in ((12, 28), (12, 31), (1, 1), (1, 4))]
    for day in sorted(days):
        clock.moment = datetime(day.year, day.month, day.day, 23, 59, tzinfo=UTC) + timedelta(seconds=59)
        pair.tell(pair.ask().number, [("ann", "bob", 1)])
    counts: dict[str, int] = defaultdict(int)
    for day in days:
        year, week, _ = day.isocalendar()
        counts[f"{year}-W{week:02d}"] += 1
    assert {row["week"]: row["results"] for row in select("results_by_week")} == counts


def test_proposed_pairs_and_open_outcomes_equal_the_proposals(club, select):
    proposals = {proposal.number: proposal for proposal in club.proposals()}
    rows = select("proposed_pairs")
    assert len(rows) == sum(len(proposal.pairs) for proposal in proposals.values())
    for row in rows:
        proposal = proposals[row["proposal"]]
        pair = next(pair for pair in proposal.pairs if pair.ids == (row["first_id"], row["second_id"]))
        assert (row["first"], row["second"], row["fixed"]) == (*pair.names, pair.fixed)
        assert (row["proposed_at"], row["policy"], row["due"]) == (proposal.at, proposal.policy, proposal.due)
        assert row["proposed_by"] == ("shell" if proposal.number <= 4 else "python")
        assert row["outcome"] == (None if pair.outcome is VOID else pair.outcome)
        corrected = proposal.number == 1 and row["outcome"] == 0 and row["recorded_by"] == "python"
        assert row["recorded_by"] == (None if proposal.number == 5 else "python" if corrected else "app")
    open_pairs = {(row["first"], row["second"]) for row in select("open_outcomes")}
    assert open_pairs == {pair.names for pair in proposals[5].pairs} != set()


def test_changes_equal_the_history(club, select):
    rows = select("changes")
    for change in club.history(limit=1000):
        mine = [row for row in rows if row["version"] == change.version]
        assert {(row["at"], row["changed_by"], row["action"]) for row in mine} == {
            (change.at, change.by, change.action)
        }
        parts = [change.data.get(name) for name in ("outcomes", "pairs", "items")]
        assert len(mine) == next((len(part) for part in parts if part), 1)
    names = {(row["action"], row["first"], row["second"]) for row in rows if row["first"] is not None}
    assert {("exclude", "ann", "bob"), ("exclude", "cem", "#4"), ("join", "fay", None), ("leave", "eve", None)} <= names
    (correction,) = [row for row in rows if row["action"] == "correct"]
    assert (correction["proposal"], correction["old_outcome"], correction["new_outcome"]) == (1, 1, 0)


def test_changes_name_who_joined_which_side(store, select):
    store.create("shop", sides={"ads": ["a", "b"], "slots": ["top"]})
    assert [(row["first"], row["second"]) for row in select("changes", "action = 'join'")] == [
        ("a", None),
        ("b", None),
        ("top", None),
    ]


def test_views_leave_deleted_leagues_out(club, select):
    for view in VIEWS:
        assert select(view, "league = 'gone'") == []
        assert select(view, "league = 'club'") != []
