"""The read model: one transaction for a page, a constant number of statements, pages instead of lists that grow."""

from threading import Thread

import pytest
from statements import Statements

from matchbandit.live import VOID, league_view
from matchbandit.live.errors import LeagueError

PEOPLE = ["ann", "bob", "cem", "dee"]


@pytest.fixture
def club(store):
    return store.create("club", players=PEOPLE, seed=1)


def test_history_comes_from_the_table_of_proposals(club):
    first = club.ask(fixed=[("ann", "bob"), ("cem", "dee")])
    club.ask(fixed=[("ann", "cem")])
    club.tell(1, {("ann", "bob"): 1})
    club.tell(1, {("cem", "dee"): VOID})
    club.correct(1, {("ann", "bob"): 0})
    one, two = club.history()
    assert (one.number, one.pairs, one.told, one.void, one.reward) == (1, 2, 2, 1, 0.0)
    assert one.expected == first.expected
    assert one.expected_of_told == pytest.approx(club.why(1).numbers["pairs"][0]["estimate"])
    assert (two.told, two.expected_of_told) == (0, 0.0)
    club.correct(1, {("ann", "bob"): VOID, ("cem", "dee"): 1})  # of a closed proposal
    one = club.history(limit=1)[0]
    assert (one.void, one.reward) == (1, 1.0)
    assert one.expected_of_told == pytest.approx(club.why(1).numbers["pairs"][1]["estimate"])
    assert club.verify().ok


@pytest.mark.parametrize("n_open", [3, 40])
def test_open_proposals_take_a_constant_number_of_statements(store, club, n_open):
    for _ in range(n_open):
        club.ask()
    with Statements(store) as statements:
        assert len(club.open_proposals()) == n_open
    assert len(statements) == 3  # head, table of proposals, events


def test_a_page_of_proposals_ends_before_it_has_too_many_pairs(club, monkeypatch):
    for _ in range(5):
        club.ask()
    monkeypatch.setattr(league_view, "MAX_PAIRS_PER_PAGE", 4)
    with club.view() as view:
        assert [one.number for one in view.proposals(limit=5)] == [1, 2]
        assert [one.number for one in view.proposals(after=2, limit=5)] == [3, 4]
        assert [one.number for one in view.proposals(before=5, limit=1, newest_first=True)] == [4]
        monkeypatch.setattr(league_view, "MAX_PAIRS_PER_PAGE", 1)
        assert [one.number for one in view.proposals(limit=5)] == [1]  # one at least


def test_a_view_is_of_one_moment(store, club):
    """A rename and a tell in the middle of a page do not change what the page shows."""
    proposal = club.ask()
    with club.view(model=True) as view:
        writer = Thread(target=lambda: (club.rename("ann", "anna"), club.exclude([("bob", "cem")]), club.join("eve")))
        writer.start()
        writer.join()
        assert [item.name for item in view.items()] == PEOPLE
        assert view.proposal(1).pairs == proposal.pairs
        assert view.exclusions() == []
        assert {row.name for row in view.ranking()} == set(PEOPLE)
        assert view.why((1, 2))().sentence.startswith("ann and bob")
    assert [item.name for item in club.items()] == ["anna", "bob", "cem", "dee", "eve"]
    assert club.about()["exclusions"] == [("bob", "cem")]


def test_readers_do_not_hold_the_lock_of_the_league(club):
    pair = club.ask().pairs[0]
    with club.view():
        writer = Thread(target=club.tell, args=(1, {pair: 1}))
        writer.start()
        writer.join(timeout=60)
        assert not writer.is_alive()
    assert club.about()["n_results"] == 1


def test_items_are_paged_searched_and_filtered(store):
    league = store.create("market", sides={"ads": ["Red", "green"], "slots": ["top", "TOP left"]})
    league.leave("green")
    with league.view() as view:
        assert [item.id for item in view.items(limit=3)] == [1, 2, 3]
        assert [item.id for item in view.items(after=3, limit=3)] == [4]
        assert [item.name for item in view.items(search="top")] == ["top", "TOP left"]
        assert [item.name for item in view.items(side="ads", active=True)] == ["Red"]
        assert view.item(2).active is False
        with pytest.raises(LeagueError, match="no item has the id 9; there are 4"):
            view.item(9)
        with pytest.raises(LeagueError, match="the sides are ads and slots"):
            view.resolve("top", "rows")


def test_exclusions_are_paged(store, club):
    club.exclude([("ann", "bob"), ("cem", "dee"), ("ann", "dee")])
    with club.view() as view:
        assert view.exclusion_ids(limit=2) == [(1, 2), (1, 4)]
        assert view.exclusion_ids(after=(1, 4), limit=2) == [(3, 4)]
        assert view.about()["n_exclusions"] == 3


def test_a_summary_is_stored_with_each_write(store, club):
    club.ask()
    club.tell(1, {club.proposal(1).pairs[0]: 1})
    club.leave("dee")
    club.configure(title="Chess  Club")
    summary = store.summaries()[0]
    assert (summary.name, summary.title, summary.kind) == ("club", "Chess Club", "players")
    assert (summary.n_items, summary.n_active, summary.active_by_side) == (4, 3, [3])
    assert (summary.n_proposals, summary.n_open, summary.n_waiting, summary.n_results) == (1, 1, 1, 1)
    with club.view() as view:
        assert view.summary == summary


def test_lists_of_leagues_need_no_league(store):
    for k in range(30):
        store.create(f"league-{k:02}", players=PEOPLE[:2], title=f"Number {k}")
    with Statements(store) as statements:
        page = store.summaries(limit=10)
    assert len(statements) == 1
    assert [one.name for one in page] == [f"league-{k:02}" for k in range(10)]
    assert store.summaries(after="league-28")[0].name == "league-29"
    assert [one.name for one in store.summaries(names=["league-03", "nobody"])] == ["league-03"]
    assert [one.name for one in store.summaries(search="NUMBER 1", limit=3)] == ["league-01", "league-10", "league-11"]
