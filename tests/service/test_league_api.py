"""The methods of a league, in this process and over HTTP: the same suite, the same records, the same errors."""

import inspect

import pytest
from wire import Wire

from matchbandit.live.errors import LeagueError
from matchbandit.live.league import League
from matchbandit.live.league_api import LeagueApi
from matchbandit.live.records import VOID, Receipt
from matchbandit.service.client import Client, RemoteLeague


@pytest.fixture(params=["local", "remote"])
def leagues(request, store, served, bearer):
    """A store, or the client of a service over it."""
    if request.param == "local":
        yield store
        return
    token = bearer()["Authorization"].removeprefix("Bearer ")
    with Client("http://testserver/", token, transport=Wire(served())) as client:
        yield client


@pytest.fixture
def club(leagues) -> LeagueApi:
    return leagues.create("club", players=["ann", "bob", "cem", "José García"], seed=1)


@pytest.mark.parametrize("kind", [League, RemoteLeague])
def test_both_have_all_methods_with_the_same_parameters(kind):
    for name, method in inspect.getmembers(LeagueApi, inspect.isfunction):
        if not name.startswith("_"):
            mine = inspect.signature(getattr(kind, name)).parameters
            expected = inspect.signature(method).parameters
            assert [one for one in mine if one != "by"] == list(expected), name


def test_names_are_normalised(club):
    decomposed = "  Jose\u0301   Garci\u0301a "
    assert club.item(decomposed).id == 4
    assert club.item(4).name == club.item("#4").name == "José García"
    today = club.ask(fixed=[("ann", decomposed)])
    assert club.tell(1, {(decomposed, "ann"): 1}).booked == 1
    assert club.why(decomposed).sentence.startswith("José García has a strength")
    assert club.rename(decomposed, "Pepe").id == 4
    assert today.number == 1


def test_unknown_names_have_one_code(club):
    for call in (lambda: club.item("anne"), lambda: club.leave("anne"), lambda: club.why("anne")):
        with pytest.raises(LeagueError) as refused:
            call()
        assert refused.value.code == "unknown-item"
    with pytest.raises(LeagueError) as refused:
        club.proposal(3)
    assert refused.value.code == "unknown-proposal"


@pytest.mark.slow
def test_outcomes_of_several_proposals_are_recorded_together_or_not_at_all(club):
    one, two = club.ask(), club.ask()
    with pytest.raises(LeagueError) as refused:
        club.tell_many({1: {one.pairs[0]: 1}, 2: {two.pairs[0]: 7}})
    assert refused.value.code == "reward-outside"
    assert club.proposal(1).outcomes == {}
    receipts = club.tell_many({1: {one.pairs[0]: 1}, 2: [(*pair, VOID) for pair in two.pairs]}, key="k")
    assert receipts == [Receipt(1, 1, 0, 1), Receipt(2, 2, 0, 0)]
    assert club.tell_many({1: {one.pairs[0]: 1}, 2: [(*pair, VOID) for pair in two.pairs]}, key="k") == receipts
    assert [event.kind for event in club.events()].count("told") == 2
    with pytest.raises(LeagueError, match="was used for another request"):
        club.tell_many({1: {one.pairs[0]: 1}}, key="k")


def test_sides_may_share_names(leagues):
    market = leagues.create("market", sides={"ads": ["x", "y"], "slots": ["y", "x"]}, seed=1)
    with pytest.raises(LeagueError) as refused:
        market.item("x")
    assert refused.value.code == "unknown-item"
    assert market.item("x", side="slots").id == 4
    assert "x and y" in market.why(("x", "y")).sentence
    market.ask()
    market.tell(1, {pair: 1 for pair in market.proposal(1).pairs})
    assert sum(count for _, _, count, _ in market.results()) == 2


def test_settings_are_changed_one_by_one(club):
    club.configure(title="Chess club", no_rematch=1)
    about = club.configure(deadline=60)
    assert (about["title"], about["no_rematch"], about["deadline"]) == ("Chess club", 1, 60)
    with pytest.raises(LeagueError, match="title"):
        club.configure(title="x" * 101)


def test_propensities_are_recorded_where_a_league_wants_them(club):
    assert club.ask().propensities == {}
    club.configure(record_propensity=20)
    today = club.ask(fixed=[("ann", "bob")])
    assert today.propensity_draws == 20
    assert today.propensities == {today.pairs[1]: 1.0}  # the only pair that was left
    later = club.ask()
    assert all(1 / 21 <= share <= 1 for share in later.propensities.values())
    assert club.proposal(later.number) == later


def test_the_life_of_a_league(leagues, club, tmp_path):
    club.ask()
    file = club.export(tmp_path / "club.jsonl")
    copy = leagues.import_league(file, slug="copy")
    assert [item.name for item in copy.items()] == [item.name for item in club.items()]
    assert copy.verify(decisions=True).ok
    assert leagues.archive("copy").status == "archived"
    with pytest.raises(LeagueError) as refused:
        copy.ask()
    assert refused.value.code == "league-archived"
    assert leagues.leagues() == ["club"]
    assert leagues.restore("copy").status == "active"
    assert leagues.delete("copy").status == "deleted"
    with pytest.raises(LeagueError) as refused:
        leagues.open("copy")
    assert refused.value.code == "unknown-league"
    assert leagues.restore("copy").status == "active"
    leagues.delete("copy", now=True)
    with pytest.raises(LeagueError) as refused:
        leagues.restore("copy")
    assert refused.value.code == "unknown-league"
