"""The product model of a league: against the library's own fits, and against simulation."""

import numpy as np
import pytest
from small_league import SmallLeague

from matchbandit.graphs import bipartite, monopartite
from matchbandit.live import model
from matchbandit.live.model import Fitted, LeagueModel
from matchbandit.policies.rank1_model import fitted as dense_fit
from matchbandit.product_model import product_fit
from matchbandit.rewards import Bernoulli, Gaussian


def results(means, counts, rng):
    """Past results of players with these means, by name."""
    n = len(means)
    rows = []
    for i in range(n):
        for j in range(i + 1, n):
            if counts[i, j]:
                rows.append((f"p{i}", f"p{j}", int(counts[i, j]), int(rng.binomial(counts[i, j], means[i, j]))))
    return rows


def players(n, seed, plays=20):
    rng = np.random.default_rng(seed)
    u = rng.uniform(0.2, 0.95, n)
    counts = rng.integers(0, plays, (n, n))
    names = [f"p{k}" for k in range(n)]
    return u, SmallLeague(players=names, past=results(np.outer(u, u), counts, rng))


def names_of(club):
    return [club.directory.name(item) for item in range(1, club.state.n_items + 1)]


def tables(club, n):
    plays, sums = np.zeros((n, n)), np.zeros((n, n))
    r = club.state.tally.results(0)
    for a, b, count, paid in zip(r.a - 1, r.b - 1, r.counts, r.paid, strict=True):
        plays[a, b] = plays[b, a] = count
        sums[a, b] = sums[b, a] = paid
    return plays, sums


@pytest.mark.parametrize("exact", [True, False])
def test_strengths_and_spreads_are_those_of_the_dense_model(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(model, "MOST_EXACT", 0)
    _, club = players(12, seed=1)
    strengths, covariance = dense_fit(*tables(club, 12), Bernoulli().noise)
    found = LeagueModel(club.state)
    np.testing.assert_allclose(found.fitted.strengths, strengths, atol=1e-6)
    np.testing.assert_allclose(found.fitted.spreads, np.sqrt(covariance.diagonal()), rtol=1e-4 if exact else 0.35)
    i, j = 3, 7
    g = np.zeros(12)
    g[i], g[j] = strengths[j], strengths[i]
    pair = found.pair(i + 1, j + 1)
    assert pair.estimate == pytest.approx(strengths[i] * strengths[j], abs=1e-6)
    assert found.fitted.spread_of(i, j) == pytest.approx(np.sqrt(g @ covariance @ g), rel=1e-2)


def test_two_sides_are_fitted_across():
    rng = np.random.default_rng(2)
    u, v = np.array([0.9, 0.5, 0.3]), np.array([0.8, 0.4])
    past = [(f"r{i}", f"c{j}", 4000, int(rng.binomial(4000, u[i] * v[j]))) for i in range(3) for j in range(2)]
    market = SmallLeague(sides={"rows": ["r2", "r0", "r1"], "columns": ["c1", "c0"]}, past=past)
    found = LeagueModel(market.state)
    for i in range(3):
        for j in range(2):
            a, b = market.directory.resolve_pair((f"r{i}", f"c{j}"))
            pair = found.pair(a, b)
            assert pair.estimate == pytest.approx(u[i] * v[j], abs=0.03)
            assert pair.low < u[i] * v[j] < pair.high
            assert pair.meetings == 4000
    ranking = found.ranking(names_of(market), market.directory.sides)
    assert [(s.side, s.place, s.name) for s in ranking] == [
        ("rows", 1, "r0"), ("rows", 2, "r1"), ("rows", 3, "r2"), ("columns", 1, "c0"), ("columns", 2, "c1"),
    ]  # fmt: skip
    plays = np.zeros((5, 5))
    sums = np.zeros((5, 5))
    r = market.state.tally.results(0)
    rows, columns = np.array(market.state.places)[r.a - 1], np.array(market.state.places)[r.b - 1] + 3
    plays[rows, columns] = plays[columns, rows] = r.counts
    sums[rows, columns] = sums[columns, rows] = r.paid
    strengths, covariance = dense_fit(plays, sums, Bernoulli().noise, n_rows=3)
    np.testing.assert_allclose(found.fitted.strengths, strengths, atol=1e-5)
    np.testing.assert_allclose(found.fitted.spreads, np.sqrt(covariance.diagonal()), rtol=1e-3)


def test_intervals_hold_the_truth_nine_times_in_ten():
    inside, total = 0, 0
    for seed in range(40):
        u, club = players(8, seed=100 + seed, plays=30)
        found = LeagueModel(club.state)
        for standing in found.ranking(names_of(club), None):
            inside += standing.low <= u[standing.id - 1] <= standing.high
            total += 1
    share = inside / total
    assert share == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / total) + 0.03)


def test_the_ranking_names_those_who_are_there():
    club = SmallLeague(players=["ann", "bob", "cem"], past=[("ann", "bob", 50, 45), ("ann", "cem", 50, 5)])
    club.do("join", ["dee"])
    club.do("leave", ["cem"])
    ranking = LeagueModel(club.state).ranking(names_of(club), None)
    assert [standing.name for standing in ranking] == ["bob", "ann", "dee"]
    assert [standing.place for standing in ranking] == [1, 2, 3]
    assert [standing.meetings for standing in ranking] == [50, 100, 0]
    assert [standing.mean for standing in ranking] == [0.9, 0.5, None]
    assert ranking[2].estimate == pytest.approx(0.6)
    assert (ranking[2].low, ranking[2].high) == (0.0, 1.0)
    assert LeagueModel(club.state).place(4) == (3, 3)
    assert LeagueModel(club.state).place(3) == (None, 3)


def test_a_model_stays_as_it_was():
    _, club = players(4, seed=3)
    found = LeagueModel(club.state)
    club.propose((1, 2))
    club.tell(1, {(1, 2): 1})
    club.do("leave", ["p3"])
    club.do("join", ["new"])
    again = LeagueModel(club.state)
    assert found.seq < again.seq
    assert len(found.ranking(names_of(club), None)) == 4
    assert found.pair(1, 2).meetings == again.pair(1, 2).meetings - 1


def test_faded_results_count_less():
    old, new = (SmallLeague(players=["a", "b"], options={"half_life": h}) for h in (1, 1000))
    for club in (old, new):
        for number in range(1, 41):
            club.propose((1, 2))
            club.tell(number, {(1, 2): float(number <= 20)})
    assert LeagueModel(old.state).pair(1, 2).estimate < 0.25 < LeagueModel(new.state).pair(1, 2).estimate


def test_nothing_played_is_the_prior():
    club = SmallLeague(players=["a", "b", "c"])
    found = LeagueModel(club.state)
    assert found.fitted.strengths.tolist() == [0.6] * 3
    assert found.pair(1, 2).estimate == pytest.approx(0.36)
    assert found.pair(1, 2).mean is None
    assert found.expected([(1, 2)]) == pytest.approx(0.36)
    assert found.fit().fits is None
    empty = LeagueModel(SmallLeague(players=[]).state)
    assert empty.ranking([], None) == []


def test_two_items_worth_nothing_still_have_an_interval():
    fit = Fitted.to(monopartite(2), Bernoulli(), np.array([0]), np.array([1e6]), np.array([0.0]))
    assert fit.strengths[0] * fit.strengths[1] == pytest.approx(0.0, abs=1e-3)
    assert 0 <= fit.spread_of(0, 1) < 0.6


def test_the_test_is_that_of_product_fit():
    _, club = players(8, seed=4, plays=40)
    r = club.state.tally.results(0)
    expected = product_fit(
        monopartite(8), np.stack([r.a - 1, r.b - 1], axis=1), counts=r.counts, sums=r.paid, simulate_null=False
    )
    fit = LeagueModel(club.state).fit()
    assert fit.p_value == pytest.approx(expected.p_value)
    assert (fit.fits, fit.results, fit.worst) == (True, int(r.counts.sum()), ())
    assert "fits the" in fit.sentence


@pytest.mark.parametrize("many", [False, True])
def test_results_that_are_no_product_are_found_out(many, monkeypatch):
    if many:
        monkeypatch.setattr(model, "MOST_TESTED", 3)
    rng = np.random.default_rng(5)
    means = np.full((6, 6), 0.3)
    means[0, 1] = means[2, 3] = 0.95  # they get on with each other, and with nobody else
    club = SmallLeague(players=[f"p{k}" for k in range(6)], past=results(means, np.full((6, 6), 60), rng))
    fit = LeagueModel(club.state).fit()
    assert fit.fits is False
    assert fit.p_value < 1e-3
    assert "do not fit" in fit.sentence
    if not many:
        assert {fit.worst[0][:2], fit.worst[1][:2]} == {(1, 2), (3, 4)}
        assert fit.worst[0][2] > 3


def test_for_many_items_the_most_played_pairs_are_tested(monkeypatch):
    monkeypatch.setattr(model, "MOST_TESTED", 3)
    _, club = players(10, seed=6, plays=40)
    assert LeagueModel(club.state).fit().fits is True


def test_gaussian_leagues_have_a_model_too():
    rng = np.random.default_rng(7)
    u = np.array([0.9, 0.6, 0.3, 0.5])
    past = [(f"p{i}", f"p{j}", 100, float(100 * u[i] * u[j] + 10 * 0.5 * rng.standard_normal()))
            for i in range(4) for j in range(i + 1, 4)]  # fmt: skip
    club = SmallLeague(past=past, rewards=Gaussian(sd=0.5))
    found = LeagueModel(club.state)
    assert [s.name for s in found.ranking(names_of(club), None)] == ["p0", "p1", "p3", "p2"]
    assert found.fit().fits is True


def test_graphs_have_room_for_two():
    assert model.graph_of(False, [0, 0]) == monopartite(2)
    assert model.graph_of(True, [0, 3]) == bipartite(1, 3)
