"""Items of a league: names, joining and leaving, and whose turn it is to sit out."""

import pytest

from matchbandit.leagues import League, LeagueError, Store, items


@pytest.fixture
def club(sqlite_store):
    return sqlite_store.create("club", players=["ann", "bob", "cem", "dee"], seed=3)


@pytest.fixture
def ads(sqlite_store):
    return sqlite_store.create("ads", sides={"ads": ["red", "blue"], "slots": ["top", "red"]}, seed=3)


def active(league: League) -> list[str]:
    return [item.name for item in league.items(active=True)]


# Names ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ann", " ann ", "#1", 1])
def test_an_item_is_found_by_name_and_id(club, name):
    assert [item.id for item in club.leave(name)] == [1]
    assert active(club) == ["bob", "cem", "dee"]


def test_a_name_on_both_sides_needs_a_side(ads):
    with pytest.raises(LeagueError, match=r"is the name of two items, one of ads and one of slots\. Say which side"):
        ads.leave("red")
    assert [(item.id, item.side) for item in ads.leave("red", side="slots")] == [(4, "slots")]
    with pytest.raises(LeagueError, match="say which side: 'ads' or 'slots'; got 'shops'"):
        ads.join("green", side="shops")
    assert ads.exclude([("red", "top")]) == 1


def test_a_tell_after_a_rename_goes_to_the_item_that_has_the_name_now(club):
    proposal = club.ask()
    first, second = proposal.pairs
    club.tell(proposal.number, {})  # the names are in memory from now on
    other = League(Store(club.store.database.engine.url.render_as_string(hide_password=False)), "club")
    name, new = first.names[0], "zoe"
    other.rename(name, new)
    other.rename(second.names[0], name)  # in another process: this one has to notice
    with pytest.raises(LeagueError) as caught:
        club.tell(proposal.number, [(*first.names, 1)])
    assert caught.value.code == "not-proposed"
    assert club.tell(proposal.number, [(new, first.names[1], 1)]).recorded == 1
    assert club.proposal(proposal.number).pairs[0].outcome == 1
    other.store.close()


def test_names_in_large_leagues_are_found_as_in_small_ones(sqlite_store, monkeypatch):
    monkeypatch.setattr(items, "_FEW", 3)
    club = sqlite_store.create("large", players=[f"p{k}" for k in range(12)])
    assert len(club.leave(*(f" p{k}" for k in range(5)))) == 5
    with pytest.raises(LeagueError, match="no player is named 'p99'"):
        club.leave("p5", "p6", "p7", "p8", "p99")
    assert len(active(club)) == 7


# Joining and leaving -------------------------------------------------------------------------------------------------


def test_join_keeps_the_order_and_lets_items_return(club):
    club.leave("bob")
    assert [(item.id, item.name) for item in club.join("eve", "bob", " fay  f ")] == [
        (5, "eve"),
        (2, "bob"),
        (6, "fay f"),
    ]
    assert active(club) == ["ann", "bob", "cem", "dee", "eve", "fay f"]


@pytest.mark.parametrize("names", [["ann"], ["eve", "eve"], ["eve", " eve"]])
def test_join_refuses_names_that_are_taken(club, names):
    with pytest.raises(LeagueError) as caught:
        club.join(*names)
    assert caught.value.code == "name-taken"
    assert len(active(club)) == 4


def test_join_beyond_what_a_policy_supports_is_refused(sqlite_store, monkeypatch):
    monkeypatch.setattr("matchbandit.leagues.library.max_pairs", lambda: 10)
    club = sqlite_store.create("few", players=["a", "b", "c", "d"], policy="cucb")
    assert len(club.join("e")) == 1
    with pytest.raises(LeagueError, match="cucb supports at most 10 pairs"):
        club.join("f")
    assert len(club.ask(available=["a", "e"]).pairs) == 1


def test_who_left_is_not_paired_and_rejoins_with_results(club):
    first = club.ask()
    club.tell(first.number, {pair: 1 for pair in first.pairs})
    club.leave("ann", "bob")
    assert [pair.names for pair in club.ask().pairs] == [("cem", "dee")]
    assert club.rejoin("ann")[0].active
    assert sum(row.results for row in club.ranking() if row.name == "ann") == 1
    assert club.rejoin("ann")[0].id == 1  # again: no effect


def test_rename_refuses_names_of_others_and_erased_items(club):
    assert club.rename("ann", "anna").name == "anna"
    assert club.rename("anna", "anna").id == 1
    with pytest.raises(LeagueError, match="'bob' is the name of another item"):
        club.rename("anna", "bob")
    club.erase_name("anna")
    with pytest.raises(LeagueError, match="#1 was erased and cannot be renamed"):
        club.rename("#1", "ann")


def test_an_erased_item_leaves_for_good_and_its_name_is_free(club):
    club.pin([("ann", "bob"), ("cem", "dee")])
    assert club.erase_name("ann").name == "#1"
    assert [row.names for row in club.rules("pin")] == [("cem", "dee")]
    with pytest.raises(LeagueError, match="#1 was erased and cannot rejoin"):
        club.rejoin("#1")
    assert club.join("ann")[0].id == 5


# Byes ----------------------------------------------------------------------------------------------------------------


def test_who_could_not_sit_out_catches_up(sqlite_store):
    club = sqlite_store.create("odd", players=["ann", "bob", "cem", "dee", "eve"], seed=1)
    for _ in range(6):
        club.ask(fixed=[("ann", "bob")])
    assert [item.byes for item in club.items()] == [0, 0, 2, 2, 2]
    for _ in range(4):
        club.ask()
    assert [item.byes for item in club.items()] == [2] * 5
