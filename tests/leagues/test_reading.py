"""Lists of a league: pages, order, times, and what they leave out."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from playing import play, product

from matchbandit.leagues import VOID, LeagueError, proposals, reading
from matchbandit.leagues.records import Page

PEOPLE = ["ann", "bob", "cem", "dee", "eve"]


@pytest.fixture
def club(store, clock):
    """Ten proposals, one each day from 16 November on; outcomes of the odd ones."""
    league = store.create("club", players=PEOPLE, seed=1)
    for number in range(1, 11):
        proposal = league.ask()
        if number % 2:
            league.tell(number, {proposal.pairs[0].names: 1.0, proposal.pairs[1].names: VOID})
        clock.forward(days=1)
    return league


def numbers(page: Page[Any]) -> list[int]:
    return [row.number for row in page]


@pytest.mark.parametrize("name", ["proposals", "summaries"])
def test_proposals_and_summaries_are_selected_alike(name, club):
    rows = getattr(club, name)
    assert numbers(rows()) == list(range(1, 11))
    assert rows().next is None
    assert numbers(rows(newest_first=True)) == list(range(10, 0, -1))
    assert (numbers(rows(limit=3)), rows(limit=3).next) == ([1, 2, 3], 3)
    assert numbers(rows(limit=3, after=3)) == [4, 5, 6]
    assert numbers(rows(limit=3, after=4, newest_first=True)) == [3, 2, 1]
    assert rows(limit=3, after=4, newest_first=True).next is None
    assert (numbers(rows(open_only=True)), numbers(rows(open_only=True, limit=2, newest_first=True))) == (
        [2, 4, 6, 8, 10],
        [10, 8],
    )
    assert numbers(rows(after=10)) == []


def test_lists_are_limited_by_time(club):
    noon = datetime(2026, 11, 18, 12, tzinfo=UTC)
    assert numbers(club.proposals(since=noon)) == list(range(4, 11))
    assert numbers(club.proposals(until=noon)) == [1, 2, 3]
    assert numbers(club.proposals(since="2026-11-18T09:30", until="2026-11-20T09:30:00Z")) == [3, 4]
    assert numbers(club.summaries(since="2026-11-18", until=noon.astimezone(timezone(timedelta(hours=9))))) == [3]
    assert numbers(club.proposals(since="2026-12-24")) == []
    assert numbers(club.proposals(until="2026-11-01")) == []
    assert numbers(club.proposals(since=noon, newest_first=True, limit=2)) == [10, 9]
    assert [change.action for change in club.history(since="2026-11-18", until="2026-11-19")] == ["ask", "tell"]
    assert [change.version for change in club.history(newest_first=True, limit=2)] == [17, 16]
    for bad in ("yesterday", 7, "2026-13-01"):
        with pytest.raises(LeagueError, match="a time is written like 2026-11-16T09:30:00Z"):
            club.history(since=bad)
    with pytest.raises(TypeError):
        club.history(newest=True)


def test_proposals_of_many_pairs_end_a_page_early(club, monkeypatch):
    monkeypatch.setattr(proposals, "MAX_PAIRS", 5)
    monkeypatch.setattr(proposals, "MAX_SUMMED_PAIRS", 7)
    monkeypatch.setattr(reading, "MAX_OUTCOMES", 3)
    assert (numbers(club.proposals(limit=8)), club.proposals(limit=8).next) == ([1, 2], 2)
    assert (numbers(club.summaries(limit=8)), club.summaries(limit=8).next) == ([1, 2, 3], 3)
    assert len(club.history(limit=100)) == 6  # the outcomes of proposal 3 are on the next page
    assert len(club.proposals()) == len(club.summaries()) == 10
    assert len(club.history()) == 17


def test_summaries_add_up_what_proposals_contain(club):
    for summary, proposal in zip(club.summaries(), club.proposals(), strict=True):
        results = [pair for pair in proposal.pairs if isinstance(pair.outcome, float)]
        assert (summary.number, summary.at, summary.pairs, summary.waiting) == (
            proposal.number, proposal.at, len(proposal.pairs), proposal.waiting,
        )  # fmt: skip
        assert summary.void == sum(pair.outcome is VOID for pair in proposal.pairs)
        assert summary.reward == sum(pair.outcome for pair in results)
        assert (summary.expected, summary.low) == (proposal.expected, proposal.low)
        if summary.number == 1:
            assert summary.expected_so_far is None  # no data yet
        else:
            assert summary.expected_so_far == pytest.approx(sum(pair.expected or 0.0 for pair in results))


@pytest.mark.parametrize("bins", [3, 200])
def test_progress_aggregates_successive_proposals(bins, club):
    groups = club.progress(bins)
    rows = list(club.summaries())
    assert len(groups) <= bins
    assert [k for group in groups for k in range(group.first, group.last + 1)] == list(range(1, 11))
    for group in groups:
        part = rows[group.first - 1 : group.last]
        assert group.at == part[-1].at
        assert group.reward == pytest.approx(sum(row.reward for row in part))
        assert group.results == sum(row.pairs - row.waiting - row.void for row in part)
        if group.first == 1:
            assert (group.expected, group.low, group.high) == (None, None, None)
        else:
            assert group.expected == pytest.approx(sum(row.expected_so_far or 0.0 for row in part))
            assert group.low is not None and group.high is not None and group.expected is not None  # noqa: PT018
            assert group.low <= group.expected <= group.high


def test_progress_without_proposals_is_empty(store):
    assert store.create("club", players=PEOPLE).progress() == []


def test_results_are_in_the_order_of_ids_and_of_one_item(store):
    past = [("ann", "bob", 2, 1.0), ("ann", "cem", 1, 0.0), ("bob", "dee", 3, 3.0), ("cem", "dee", 1, 1.0)]
    league = store.create("club", players=PEOPLE, past=past)
    rows = [(*row.names, row.count, row.total) for row in league.results()]
    assert rows == past
    assert [row.ids for row in league.results("dee")] == [(2, 4), (3, 4)]
    assert [row.ids for row in league.results(1)] == [(1, 2), (1, 3)]
    assert list(league.results("eve")) == []
    page = league.results(limit=2)
    assert ([row.ids for row in page], page.next) == ([(1, 2), (1, 3)], "1-3")
    assert [row.ids for row in league.results(after="1-3", limit=2)] == [(2, 4), (3, 4)]
    assert league.results(after="1-3", limit=2).next is None
    for bad in ("x", "3", "1-", "1-2-3"):
        with pytest.raises(LeagueError, match="after must be the value of `next`"):
            league.results(after=bad)


def test_items_are_searched_and_paged(club):
    club.join("Édith", "ANNA")
    club.leave("bob")
    assert [item.name for item in club.items(search="ann")] == ["ann", "ANNA"]
    assert [item.name for item in club.items(search="éd")] == ["Édith"]
    assert [item.name for item in club.items(active=False)] == ["bob"]
    page = club.items(limit=2, active=True)
    assert ([item.name for item in page], page.next) == (["ann", "cem"], 3)
    assert [item.name for item in club.items(limit=5, after=3)] == ["dee", "eve", "Édith", "ANNA"]


def test_rules_are_paged(club):
    club.exclude([("ann", "bob"), ("cem", "dee")])
    club.pin([("ann", "eve")])
    assert [(rule.kind, rule.ids) for rule in club.rules()] == [
        ("exclude", (1, 2)),
        ("pin", (1, 5)),
        ("exclude", (3, 4)),
    ]
    assert [rule.names for rule in club.rules("pin")] == [("ann", "eve")]
    assert [rule.ids for rule in club.rules(after=club.rules(limit=1).next or "")] == [(1, 5), (3, 4)]


def test_info_counts(club):
    play(club, 1, product)
    info = club.info()
    assert (info.items, info.active, info.proposals, info.waiting, info.results) == (5, 5, 11, 10, 7)
    club.exclude([("ann", "bob")])
    assert (club.info().exclusions, club.info().pins) == (1, 0)


def test_items_are_found_by_name_and_side(sqlite_store):
    shop = sqlite_store.create("shop", sides={"ads": ["ann", "anna"], "slots": ["ann", "top"]})
    assert [item.id for item in shop.items(name=" ann ")] == [1, 3]
    assert [item.id for item in shop.items(name="ann", side="slots")] == [3]
    assert [item.id for item in shop.items(search="ann", side="ads")] == [1, 2]
