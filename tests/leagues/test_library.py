"""Earlier results, as a league is created with them."""

import pytest

import matchbandit as mb
from matchbandit.leagues import LeagueError, Store

CLICKS = {"ad": ["b", "b", "a"], "slot": ["top", "side", "top"], "reward": [1, 0, 1]}


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


def test_create_with_a_log_of_two_sides_makes_a_league_of_two_sides(store):
    log = mb.read_results(CLICKS)
    league = store.create("ads", past=log)
    assert league.info().sides == ["ad", "slot"]
    names = [(item.side, item.name) for item in league.items()]
    assert names == [("ad", "b"), ("ad", "a"), ("slot", "top"), ("slot", "side")]  # in the order of the log


def test_create_with_a_table_that_does_not_tell_its_kind_takes_that_of_the_league(store):
    table = {"first": list("12345"), "second": list("21212"), "reward": [1, 0, 1, 0, 1]}  # numbered ads and positions?
    with pytest.raises(LeagueError, match="kind"):
        store.create("unknown", past=table)
    with pytest.raises(LeagueError, match="itself"):
        store.create("club", players=["1"], past={**table, "second": list("11111")})
    assert store.create("ads", sides={"ad": [], "position": []}, past=table).info().items == 7


def test_create_refuses_impossible_rewards_whose_sum_is_possible(store):
    with pytest.raises(LeagueError, match="3") as refused:
        store.create("club", past=[("a", "b", 1, 3.0), ("a", "b", 1, -2.0)])
    assert refused.value.code == "reward-outside"
