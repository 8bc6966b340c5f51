"""The product model of a league: against the library's own fits, and against simulation."""

from statistics import NormalDist

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from small_league import SmallLeague

from matchbandit.graphs import bipartite, monopartite
from matchbandit.live import model
from matchbandit.live.model import LeagueModel
from matchbandit.product_model import product_fit
from matchbandit.rewards import Bernoulli, Gaussian
from matchbandit.strengths import PRIOR, Posterior


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


def posterior_of(graph, pairs, plays, sums):
    """From pairs of the graph, in any order."""
    edges = graph.edges(np.asarray(pairs))
    order = np.argsort(edges)
    plays, sums = (np.asarray(values, dtype=float)[order] for values in (plays, sums))
    return Posterior.fit(graph, Bernoulli(), edges[order], plays, sums)


def test_strengths_and_intervals_are_those_of_the_posterior(storage):
    _, club = players(12, seed=1)
    r = club.state.tally.results(0)
    there = posterior_of(monopartite(12), np.stack([r.a, r.b], axis=1) - 1, r.counts, r.paid)
    found = LeagueModel(club.state)
    np.testing.assert_allclose(found.posterior.logs, there.logs, atol=1e-9)
    z = NormalDist().inv_cdf(0.95)
    low, high = (np.exp(np.minimum(there.logs + sign * z * there.deviations, 0)) for sign in (-1, 1))
    for standing in found.ranking(names_of(club), None):
        k = standing.id - 1
        assert standing.estimate == pytest.approx(np.exp(there.logs[k]))
        assert (standing.low, standing.high) == (pytest.approx(low[k]), pytest.approx(high[k]))
        assert found.item(k + 1)[:3] == (standing.estimate, standing.low, standing.high)
    pair, C = found.pair(4, 8), there.covariance
    reach = z * np.sqrt(C[3, 3] + C[7, 7] + 2 * C[3, 7])
    assert pair.estimate == pytest.approx(np.exp(there.logs[[3, 7]].sum()))
    assert pair.low == pytest.approx(pair.estimate * np.exp(-reach), rel=1e-5)
    assert pair.high == pytest.approx(min(pair.estimate * np.exp(reach), 1.0), rel=1e-5)
    assert found.expected([(4, 8), (1, 2)]) == pytest.approx(pair.estimate + found.pair(1, 2).estimate)


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
    r, places = market.state.tally.results(0), np.array(market.state.places)
    pairs = np.stack([places[r.a - 1], places[r.b - 1]], axis=1)
    there = posterior_of(bipartite(3, 2), pairs, r.counts, r.paid)
    np.testing.assert_allclose(found.posterior.logs, there.logs, atol=1e-9)


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
    assert [standing.place for standing in ranking] == [1, 2, None]  # dee has no results
    assert [standing.meetings for standing in ranking] == [50, 100, 0]
    assert [standing.mean for standing in ranking] == [0.9, 0.5, None]
    assert ranking[2].low < 0.2 < ranking[2].estimate < 0.8 < ranking[2].high  # nothing is known of dee
    assert LeagueModel(club.state).place(4) == (None, 3)
    assert LeagueModel(club.state).place(1) == (2, 3)
    assert LeagueModel(club.state).place(3) == (None, 3)


def test_equal_items_share_a_place_and_those_without_results_have_none():
    past = [("ann", "bob", 4, 4), ("cem", "dee", 4, 0), ("eve", "fay", 4, 2)]
    club = SmallLeague(players=["new", "cem", "ann", "dee", "eve", "bob", "fay"], past=past)
    model = LeagueModel(club.state)
    ranking = model.ranking(names_of(club), None)
    assert [(standing.place, standing.name) for standing in ranking] == [
        (1, "ann"), (1, "bob"), (3, "eve"), (3, "fay"), (5, "cem"), (5, "dee"), (None, "new"),
    ]  # fmt: skip
    assert [model.place(standing.id) for standing in ranking] == [(standing.place, 7) for standing in ranking]


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


def prior_mode(n):
    """The most probable log strength of n equal players: −n (s − m)²/(2 (τ² + n σ²)) + β log(1 − e^s)."""
    m, sigma, tau, beta = PRIOR
    loss = lambda s: n * (s - m) ** 2 / (2 * (tau**2 + n * sigma**2)) - beta * np.log(-np.expm1(s))  # noqa: E731
    return minimize_scalar(loss, bounds=(-9, -1e-3), method="bounded", options={"xatol": 1e-9}).x


def test_nothing_played_is_the_prior():
    club = SmallLeague(players=["a", "b", "c"])
    found = LeagueModel(club.state)
    logs = prior_mode(3)
    assert found.posterior.logs == pytest.approx([logs] * 3, abs=1e-5)
    assert found.pair(1, 2).estimate == pytest.approx(np.exp(2 * logs), rel=1e-4)
    assert found.pair(1, 2).mean is None
    assert found.expected([(1, 2)]) == pytest.approx(np.exp(2 * logs), rel=1e-4)
    assert found.fit().fits is None
    empty = LeagueModel(SmallLeague(players=[]).state)
    assert empty.ranking([], None) == []


def test_two_items_worth_nothing_still_have_an_interval():
    club = SmallLeague(players=["a", "b"], past=[("a", "b", 10**6, 0)])
    pair = LeagueModel(club.state).pair(1, 2)
    assert 0 <= pair.low < pair.estimate < pair.high < 1e-3


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


def test_results_that_are_no_product_are_found_out():
    rng = np.random.default_rng(5)
    means = np.full((6, 6), 0.3)
    means[0, 1] = means[2, 3] = 0.95  # they get on with each other, and with nobody else
    club = SmallLeague(players=[f"p{k}" for k in range(6)], past=results(means, np.full((6, 6), 60), rng))
    fit = LeagueModel(club.state).fit()
    assert fit.fits is False
    assert fit.p_value < 1e-3
    assert "do not fit" in fit.sentence
    assert {fit.worst[0][:2], fit.worst[1][:2]} == {(1, 2), (3, 4)}
    assert fit.worst[0][2] > 3


def test_gaussian_leagues_have_a_model_too():
    rng = np.random.default_rng(7)
    u = np.array([0.9, 0.6, 0.3, 0.5])
    past = [(f"p{i}", f"p{j}", 100, float(100 * u[i] * u[j] + 10 * 0.5 * rng.standard_normal()))
            for i in range(4) for j in range(i + 1, 4)]  # fmt: skip
    club = SmallLeague(past=past, rewards=Gaussian(sd=0.5))
    found = LeagueModel(club.state)
    assert [s.name for s in found.ranking(names_of(club), None)] == ["p0", "p1", "p3", "p2"]
    assert found.fit().p_value > 0.05
    assert found.fit().fits is None  # six pairs, 100 noisy results each, cannot tell


def test_graphs_have_room_for_two():
    assert model.league_graph(False, [0, 0]) == monopartite(2)
    assert model.league_graph(True, [0, 3]) == bipartite(1, 3)
