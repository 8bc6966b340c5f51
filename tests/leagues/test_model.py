"""The model of strengths: intervals, ranking, and the warning when it does not fit."""

import numpy as np
import pytest
from playing import play, product, same_parity

from matchbandit.graphs import bipartite, monopartite
from matchbandit.leagues import League, LeagueError, Store, library, model
from matchbandit.product_model import product_fit
from matchbandit.rewards import Bernoulli
from matchbandit.strengths import Posterior

PEOPLE = ["ann", "bob", "cem", "dee", "eve", "fay", "gus"]


def league_of(store: Store, past: list[tuple[str, str, int, float]], **settings: object) -> League:
    return store.create("club", past=past, **settings)


def random_products(n: int, plays: int, seed: int) -> tuple[np.ndarray, list[tuple[str, str, int, float]]]:
    rng = np.random.default_rng(seed)
    u = rng.uniform(0.3, 0.95, n)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    return u, [(f"p{i}", f"p{j}", plays, float(rng.binomial(plays, u[i] * u[j]))) for i, j in pairs]


def test_ranking_orders_by_strength_and_puts_items_without_results_last(sqlite_store):
    past = [("ann", "bob", 4, 4.0), ("cem", "dee", 4, 0.0), ("eve", "fay", 4, 2.0)]
    league = league_of(sqlite_store, past, players=["new", *PEOPLE])
    league.leave("dee", "gus")
    assert [(row.rank, row.name) for row in league.ranking()] == [
        (1, "ann"), (1, "bob"), (3, "eve"), (3, "fay"), (5, "cem"), (None, "new"),
    ]  # fmt: skip
    first, last = league.ranking()[0], league.ranking()[5]
    assert (first.results, first.mean, last.results, last.mean) == (4, 1.0, 0, None)
    assert last.low < 0.25 < last.estimate < 0.95 < last.high
    assert [row.name for row in league.ranking(limit=2, after=1)] == ["bob", "eve"]
    assert league.ranking(limit=2).next == 2
    assert [row.rank for row in league.ranking(search="E")] == [3, 5, None]


def test_ranking_ranks_each_side_for_itself(sqlite_store):
    past = [("a", "x", 9, 9.0), ("b", "x", 9, 3.0), ("a", "y", 9, 6.0)]
    league = league_of(sqlite_store, past, sides={"ads": ["a", "b"], "slots": ["x", "y"]})
    assert [(row.side, row.rank, row.name) for row in league.ranking()] == [
        ("ads", 1, "a"), ("ads", 2, "b"), ("slots", 1, "x"), ("slots", 2, "y"),
    ]  # fmt: skip


def test_intervals_contain_the_strengths_as_often_as_they_say(sqlite_store):
    inside = []
    for seed in range(25):
        u, past = random_products(8, plays=30, seed=seed)
        league = sqlite_store.create(f"club{seed}", past=past)
        inside += [row.low <= u[int(row.name[1:])] <= row.high for row in league.ranking()]
    assert np.mean(inside) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / len(inside)) + 0.03)


def test_discounted_results_count_less(sqlite_store):
    estimates = []
    for half_life in (1, 1000):
        league = sqlite_store.create(f"club{half_life}", players=["a", "b"], options={"half_life": half_life})
        for number in range(1, 21):
            league.ask()
            league.tell(number, [("a", "b", float(number <= 10))])
        estimates.append(league.why("a", "b").numbers["expected"])
    assert estimates[0] < 0.3 < estimates[1]


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("plays", [3, 40])
def test_total_interval_agrees_with_draws_of_the_posterior(two_sided, plays):
    graph = bipartite(4, 5) if two_sided else monopartite(6)
    rng = np.random.default_rng(7)
    edges = np.sort(rng.choice(graph.n_pairs, size=12, replace=False))
    counts = np.full(len(edges), float(plays))
    posterior = Posterior.fit(graph, Bernoulli(), edges, counts, rng.binomial(plays, 0.5, len(edges)).astype(float))
    ends = np.array([[0, 4], [1, 5], [2, 6]] if two_sided else [[0, 1], [2, 3], [4, 5]])
    # Log strengths are normal around the mode, with the inverse of the curvature there as covariance.
    logs = rng.multivariate_normal(posterior.logs, posterior.covariance, size=40_000)
    totals = np.exp(logs[:, ends].sum(axis=2)).sum(axis=1)
    expected, low, high = library.total_interval(posterior, ends, 0.9)
    assert expected == pytest.approx(posterior.pair_means(ends).sum())
    assert np.log([low, min(high, 3.0)]) == pytest.approx(
        np.log(np.minimum(np.quantile(totals, [0.05, 0.95]), 3.0)), abs=0.06 if plays == 40 else 0.2
    )


def test_total_interval_of_one_pair_is_the_interval_of_its_mean():
    graph = monopartite(5)
    edges = np.arange(graph.n_pairs)
    plays = np.full(len(edges), 20.0)
    posterior = Posterior.fit(graph, Bernoulli(), edges, plays, 8.0 + edges % 3)
    for pair in ([0, 1], [2, 4]):
        (low,), (high,) = posterior.pair_intervals(np.array([pair]), 0.9)
        assert library.total_interval(posterior, np.array([pair]), 0.9)[1:] == pytest.approx((low, high), rel=1e-6)


def test_total_interval_is_the_same_with_and_without_a_factor():
    n = 210  # posteriors of as many items have no factor
    rng = np.random.default_rng(8)
    graph = monopartite(n)
    edges = np.sort(rng.choice(graph.n_pairs, size=2000, replace=False))
    posterior = Posterior.fit(graph, Bernoulli(), edges, np.full(2000, 4.0), rng.binomial(4, 0.4, 2000).astype(float))
    assert posterior.factor is None
    ends = np.arange(n).reshape(-1, 2)
    covariance = np.column_stack([_solve(posterior, np.eye(n)[k]) for k in range(n)])
    means = posterior.pair_means(ends)
    gradient = np.bincount(ends.ravel(), np.repeat(means / means.sum(), 2), minlength=n)
    deviation = np.sqrt(gradient @ covariance @ gradient)
    expected, low, high = library.total_interval(posterior, ends, 0.9)
    assert (np.log(high / expected), np.log(expected / low)) == pytest.approx((1.6449 * deviation,) * 2, rel=1e-3)


def _solve(posterior: Posterior, right: np.ndarray) -> np.ndarray:
    from matchbandit.strengths import solve_sparse

    return np.asarray(solve_sparse(posterior.model, posterior.system, right, 1e-10, True))


def test_fit_is_that_of_product_fit(sqlite_store):
    _, past = random_products(8, plays=40, seed=4)
    fit = league_of(sqlite_store, past).fit()
    numbers = {f"p{k}": k for k in range(8)}
    expected = product_fit(
        monopartite(8),
        [(numbers[a], numbers[b]) for a, b, *_ in past],
        counts=[row[2] for row in past],
        sums=[row[3] for row in past],
        simulate_null=False,
    )
    assert fit.p_value == pytest.approx(expected.p_value)
    assert (fit.fits, fit.results, fit.worst, fit.warning) == (True, 28 * 40, [], None)


def test_fit_without_results_says_so(sqlite_store):
    fit = sqlite_store.create("club", players=PEOPLE).fit()
    assert (fit.fits, fit.results) == (None, 0)
    assert "no data yet" in fit.sentence


def test_fit_of_hidden_partners_is_rejected_and_names_them(sqlite_store):
    rng = np.random.default_rng(5)
    past = [
        (f"p{i}", f"p{j}", 60, float(rng.binomial(60, 0.95 if (i, j) in ((0, 1), (2, 3)) else 0.3)))
        for i in range(6)
        for j in range(i + 1, 6)
    ]
    league = league_of(sqlite_store, past)
    fit = league.fit()
    assert fit.fits is False
    assert fit.p_value is not None
    assert fit.p_value < 1e-3
    assert {fit.worst[0][0], fit.worst[1][0]} == {("p0", "p1"), ("p2", "p3")}
    assert fit.warning is not None
    assert "rank1-thompson" in fit.warning
    assert "cts-beta" in fit.warning


def everybody_warns(league: League, number: int) -> set[str | None]:
    """The warnings of everything that shows one."""
    pair = league.proposal(number).pairs[0].names
    explanations = [league.why(), league.why(pair), league.why(pair[0]), league.why(number)]
    others = [league.info(), league.ranking(), league.fit(), league.proposal(number), league.proposals()[0]]
    others += list(league.store.leagues())
    return {answer.warning for answer in [*explanations, *others]}


def test_all_answers_carry_the_warning_once_the_model_is_rejected(store):
    league = store.create("club", players=PEOPLE[:6], seed=1)
    play(league, 5, same_parity)
    assert everybody_warns(league, 1) == {None}
    proposals = play(league, 45, same_parity, seed=1)
    warnings = [proposal.warning for proposal in proposals]
    assert warnings[0] is None
    assert warnings[-1] is not None
    assert league.fit().fits is False  # which stores it
    (warning,) = everybody_warns(league, 50)
    assert warning is not None
    assert "cts-beta" in warning
    league.configure(policy="cts-beta")
    (warning,) = everybody_warns(league, 50)
    assert warning is not None
    assert warning.endswith("cts-beta does not use them.")


def test_ask_tests_the_model_again_only_after_growth(store, monkeypatch):
    league = store.create("club", players=PEOPLE[:4])
    tested = []
    fit_products = library.fit_products
    monkeypatch.setattr(
        library, "fit_products", lambda *args: (tested.append(int(args[3].sum())), fit_products(*args))[1]
    )
    play(league, 80, product)
    assert tested == [40, 60, 90, 136]  # ten results per item, then half as many again; two arrive at a time


def test_run_maintenance_tests_large_leagues(sqlite_store):
    names = [f"p{k}" for k in range(model.MAX_TESTED_ITEMS + 1)]
    past = [(a, b, 30, 27.0 if (i - j) % 3 == 0 else 3.0) for i, a in enumerate(names) for j, b in enumerate(names[:i])]
    league = league_of(sqlite_store, past)
    assert league.ask().warning is None  # a decision does not test so large a league
    sqlite_store.run_maintenance()
    warning = league.ask().warning
    assert warning is not None
    assert "cts-beta" in warning


def test_a_stored_test_holds_no_names_and_an_archived_league_stays_as_it_is(sqlite_store):
    league = sqlite_store.create("club", players=PEOPLE[:6])
    play(league, 40, same_parity)
    with sqlite_store.reading("club") as (_, _, before):
        assert before.fit is not None
        assert before.fit.keys() == {"fits", "p_value", "results", "version"}
    play(league, 1, same_parity)
    sqlite_store.archive("club")
    league.fit()
    with sqlite_store.reading("club") as (_, _, after):
        assert after.fit == before.fit


def test_fit_that_cannot_be_stored_is_returned_all_the_same(sqlite_store, monkeypatch):
    league = sqlite_store.create("club", players=PEOPLE[:4])
    play(league, 3, product)

    def busy() -> None:
        raise LeagueError("store-busy", "busy")

    monkeypatch.setattr(sqlite_store.database, "writing", busy)
    assert league.fit().results == 6


def rejected_within(store: Store, slug: str, mean: np.ndarray, rounds: int, seed: int) -> bool:
    """Does any of the proposals carry a warning?"""
    n = len(mean)
    league = store.create(slug, players=[f"p{k}" for k in range(n)], seed=seed)
    proposals = play(league, rounds, lambda a, b: mean[a - 1, b - 1], seed=seed)
    return any(proposal.warning for proposal in [*proposals, league.ask()])


def symmetric_means(n: int, seed: int) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).random((n, n)), 1)
    return upper + upper.T


def product_means(n: int, seed: int) -> np.ndarray:
    u = np.sqrt(np.random.default_rng(seed).random(n))
    return np.outer(u, u)


def test_ask_warns_of_random_means_within_50_rounds_and_not_of_products(sqlite_store):
    for seed in range(3):
        assert rejected_within(sqlite_store, f"random{seed}", symmetric_means(20, seed), 50, seed)
        assert not rejected_within(sqlite_store, f"product{seed}", product_means(20, seed), 50, seed)


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 20])
def test_ask_seldom_warns_of_products(n, sqlite_store):
    wrong = [rejected_within(sqlite_store, f"c{seed}", product_means(n, 100 + seed), 100, seed) for seed in range(40)]
    assert sum(wrong) <= 2  # tests at p < 0.001, six in each league: .24 expected


@pytest.mark.slow
def test_ask_nearly_always_warns_of_random_means(sqlite_store):
    right = [rejected_within(sqlite_store, f"c{seed}", symmetric_means(20, 100 + seed), 50, seed) for seed in range(40)]
    assert sum(right) >= 36
