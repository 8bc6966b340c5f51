import json

import numpy as np
import pytest
from scipy.stats import ks_2samp

import matchbandit as mb
from matchbandit.policies import rank1_sparse as sparse
from matchbandit.policies.catalogue import restore
from matchbandit.policies.rank1_model import Model, equations, fitted
from matchbandit.policies.rank1_thompson import Rank1Thompson
from matchbandit.policies.rank1_thompson_sparse import SparseRank1Thompson
from matchbandit.rewards import Binomial, Gaussian, Noise

NOISES = [Noise(1, 0.0), Noise(5, 0.0), Noise(0, 0.3)]
noises = pytest.mark.parametrize("noise", NOISES, ids=["coins", "binomial", "gaussian"])
sides = pytest.mark.parametrize("n_rows", [0, 15], ids=["players", "rows and columns"])


def random_tables(rng, n_items, n_rows, share=0.3, most=40):
    """Symmetric tables of plays and sums; some items meet nobody."""
    plays = np.triu(rng.integers(1, most, (n_items, n_items)) * (rng.random((n_items, n_items)) < share), k=1)
    if n_rows:
        plays[:n_rows, :n_rows] = plays[n_rows:, n_rows:] = 0
    plays[:, n_items // 2] = plays[n_items // 2] = 0
    plays = plays.astype(float)
    sums = np.floor(plays * rng.random((n_items, n_items)))
    return plays + plays.T, np.triu(sums, k=1) + np.triu(sums, k=1).T


def stored_from(plays, sums, strengths=None):
    low, high = np.nonzero(np.triu(plays))
    stored, posterior = sparse.nothing(len(plays))
    stored = sparse.added(stored, low, high, plays[low, high], sums[low, high])
    if strengths is not None:
        posterior.u[:] = strengths
    return stored, posterior


def information_of(plays, sums, strengths, noise):
    F, g = np.empty(plays.shape), np.empty(len(plays))
    equations(Model(plays, sums, strengths, noise), F, g)
    return F, g


@noises
@sides
def test_weights_pull_and_product_are_those_of_the_dense_equations(noise, n_rows):
    rng = np.random.default_rng(1)
    plays, sums = random_tables(rng, 40, n_rows)
    strengths = rng.random(40)
    strengths[:4] = 0.0, 1.0, 0.0, 1.0
    F, g = information_of(plays, sums, strengths, noise)
    stored, posterior = stored_from(plays, sums, strengths)
    sparse.weigh(stored, noise, posterior)
    x, product = rng.standard_normal(40), np.empty(40)
    energy = sparse.times_information(stored, posterior, x, product, np.empty((40, 2)))
    np.testing.assert_allclose(posterior.pull, g, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(product, F @ x, rtol=1e-9)
    assert energy == pytest.approx(x @ F @ x)


@noises
def test_the_preconditioner_inverts_the_blocks_of_mates(noise):
    rng = np.random.default_rng(2)
    plays, sums = random_tables(rng, 40, 0)
    strengths = rng.uniform(0.1, 1, 40)
    stored, posterior = stored_from(plays, sums, strengths)
    sparse.weigh(stored, noise, posterior)
    F, _ = information_of(plays, sums, strengths, noise)
    blocks = np.diag(np.diagonal(F)).copy()
    mates = [(i, j) for i, j in enumerate(posterior.mate.tolist()) if j >= 0]
    assert len(mates) >= 10
    weights = np.zeros((40, 40))
    weights[np.repeat(np.arange(40), np.diff(stored.start)), stored.partner] = stored.weights
    weights += weights.T
    for i, j in mates:
        assert posterior.mate[j] == i
        assert weights[i].argmax() == j
        blocks[i, j] = F[i, j]
    r, z = rng.standard_normal(40), np.empty(40)
    energy = sparse.precondition(posterior, r, z)
    np.testing.assert_allclose(z, np.linalg.solve(blocks, r), rtol=1e-9)
    assert energy == pytest.approx(r @ z)


def test_two_who_met_very_often_do_not_cancel_in_the_preconditioner():
    plays = np.array([[0.0, 1e17], [1e17, 0.0]])
    stored, posterior = stored_from(plays, plays * 0.25, [0.5, 0.5])
    sparse.weigh(stored, Noise(0, 1.0), posterior)
    z = np.empty(2)
    sparse.precondition(
        posterior, np.array([1.0, -1.0]), z
    )  # along the curve of the known product only the prior holds
    np.testing.assert_allclose(z, [0.25, -0.25], rtol=1e-6)


@sides
def test_conjugate_gradients_solve(n_rows):
    rng = np.random.default_rng(3)
    plays, sums = random_tables(rng, 40, n_rows)
    strengths, noise = rng.uniform(0.1, 1, 40), Noise(1, 0.0)
    F, _ = information_of(plays, sums, strengths, noise)
    stored, posterior = stored_from(plays, sums, strengths)
    sparse.weigh(stored, noise, posterior)
    b = rng.standard_normal(40)
    np.testing.assert_allclose(sparse.solve(stored, posterior, b, 1e-20, False), np.linalg.solve(F, b), rtol=1e-7)
    b[::3] = 0.0
    free = np.flatnonzero(b)
    bounded = np.zeros(40)
    bounded[free] = np.linalg.solve(F[np.ix_(free, free)], b[free])
    np.testing.assert_allclose(sparse.solve(stored, posterior, b, 1e-20, True), bounded, rtol=1e-7)


def long_chain():
    """Players who met only their neighbours, and often: the hardest for conjugate gradients."""
    plays = np.zeros((40, 40))
    plays[np.arange(39), np.arange(1, 40)] = 10_000.0
    plays += plays.T
    return plays, np.floor(plays * 0.3)


@pytest.mark.parametrize("N", [25_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tables", ["players", "rows and columns", "chain"])
def test_draws_have_the_covariance_of_the_dense_inverse(tables, N):
    n_rows = 15 if tables == "rows and columns" else 0
    plays, sums = long_chain() if tables == "chain" else random_tables(np.random.default_rng(4), 40, n_rows, most=400)
    noise = Noise(1, 0.0)
    strengths, dense = fitted(plays, sums, noise, n_rows)
    stored, posterior = stored_from(plays, sums, strengths)
    sparse.weigh(stored, noise, posterior)
    rng, shifts = np.random.default_rng(5), np.empty((N, 40))
    fell = np.zeros(40, dtype=int)
    for k in range(N):
        drawn = sparse.draw_strengths(stored, posterior, n_rows, rng)
        shifts[k] = np.where(drawn < strengths, strengths * np.log(drawn / strengths), drawn - strengths)
        fell += drawn < strengths
    found = shifts.T @ shifts / N
    sd = np.sqrt((np.outer(dense.diagonal(), dense.diagonal()) + dense**2) / N)  # of each entry, for normal draws
    assert np.abs((found - dense) / sd).max() < 5
    assert np.abs(shifts.mean(axis=0) / np.sqrt(dense.diagonal() / N)).max() < 4.5
    assert np.abs((fell - N / 2) / np.sqrt(N / 4)).max() < 4.5


@noises
@sides
def test_the_fit_is_the_dense_one(noise, n_rows):
    rng = np.random.default_rng(6)
    for _ in range(5):
        plays, sums = random_tables(rng, 40, n_rows)
        dense, _ = fitted(plays, sums, noise, n_rows)
        stored, posterior = stored_from(plays, sums)
        sparse.settle(stored, noise, posterior)
        assert 0 <= posterior.u.min() <= posterior.u.max() <= 1
        np.testing.assert_allclose(np.outer(posterior.u, posterior.u), np.outer(dense, dense), atol=2e-4)


@pytest.mark.parametrize("start", [0.01, 0.6, 1.0])
def test_the_fit_arrives_from_afar(start):
    for tables in (random_tables(np.random.default_rng(12), 40, 0, most=10_000), long_chain()):
        dense, _ = fitted(*tables, Noise(1, 0.0))
        stored, posterior = stored_from(*tables, np.full(40, start))
        sparse.settle(stored, Noise(1, 0.0), posterior)
        np.testing.assert_allclose(posterior.u, dense, atol=1e-4)


def test_what_does_not_lessen_the_pull_is_not_kept():
    """Two who won all of their games against each other, one of whom was believed to be worth next to nothing."""
    plays = np.array([[0.0, 1e6, 0.0], [1e6, 0.0, 1e6], [0.0, 1e6, 0.0]])
    stored, posterior = stored_from(plays, plays * 0.5, [1e-3, 1.0, 1e-3])
    z = np.empty(3)
    sparse.weigh(stored, Noise(1, 0.0), posterior)
    before = sparse.precondition(posterior, posterior.pull, z)
    for _ in range(60):
        sparse.fit(stored, Noise(1, 0.0), posterior)
    assert sparse.precondition(posterior, posterior.pull, z) < 1e-9 * before
    np.testing.assert_allclose(posterior.u[[0, 2]] * posterior.u[1], 0.5, atol=1e-3)


def test_pairs_are_added_in_their_places():
    rng, known = np.random.default_rng(7), {}
    stored, _ = sparse.nothing(30)
    for _ in range(200):
        pairs = sorted({tuple(sorted(rng.choice(30, 2, replace=False).tolist())) for _ in range(rng.integers(0, 12))})
        low, high = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        plays, sums = rng.random(len(low)), rng.random(len(low))
        stored = sparse.added(stored, low, high, plays, sums)
        for pair, n, x in zip(pairs, plays, sums, strict=True):
            before = known.get(pair, (0.0, 0.0))
            known[pair] = before[0] + n, before[1] + x
        held = stored.start[-1]
        low = np.repeat(np.arange(30), np.diff(stored.start))
        found = dict(
            zip(
                zip(low.tolist(), stored.partner[:held].tolist(), strict=True),
                zip(stored.plays[:held].tolist(), stored.sums[:held].tolist(), strict=True),
                strict=True,
            )
        )
        assert found == known
        assert list(found) == sorted(known)
        assert len(stored.partner) <= max(1.5 * held + 12, 1)


def test_what_has_faded_is_stored_no_longer():
    low, high = np.array([0, 0, 2]), np.array([1, 3, 3])
    stored, _ = sparse.nothing(4)
    stored = sparse.added(stored, low, high, np.array([1.0, 1.5e-6, 4.0]), np.array([0.5, 1e-6, 1.0]))
    sparse.fade(stored, 2.0)
    assert stored.start.tolist() == [0, 1, 1, 2, 2]
    assert stored.partner[:2].tolist() == [1, 3]
    assert stored.plays[:2].tolist() == [0.5, 2.0]
    assert stored.sums[:2].tolist() == [0.25, 0.5]


@pytest.mark.slow
def test_the_contract():
    mb.check_policy(SparseRank1Thompson)


@pytest.mark.parametrize("graph", [mb.monopartite(200), mb.bipartite(100, 100), mb.monopartite(201)], ids=str)
def test_many_items_are_stored_as_played_pairs_and_restored_as_such(graph):
    one = mb.policy("rank1-thompson", selection="matching").build(graph, seed=3)
    assert type(one) is SparseRank1Thompson
    rng = np.random.default_rng(8)
    for _ in range(3):
        one.tell(one.ask(), rng.random(one.round_size) < 0.4)
    state = json.loads(json.dumps(one.state()))
    assert len(state["memory"]["partner"]["array"]) <= 4 * 3 * one.round_size * 4 / 3 + 4
    twin = restore(state)
    for _ in range(3):
        rewards = rng.random(one.round_size) < 0.4
        assert np.array_equal(one.ask(), twin.ask())
        one.tell(one.ask(), rewards)
        twin.tell(twin.ask(), rewards)
    assert one.state() == twin.state()


@pytest.mark.parametrize("graph", [mb.monopartite(199), mb.bipartite(99, 100)], ids=str)
def test_fewer_items_are_kept_in_tables(graph):
    assert type(mb.policy("rank1-thompson").build(graph)) is Rank1Thompson


def test_a_state_goes_on_as_it_began_whatever_would_be_built_today(monkeypatch):
    dense = mb.policy("rank1-thompson").build(mb.monopartite(20))
    dense.tell(dense.ask(), np.ones(10))
    monkeypatch.setattr(SparseRank1Thompson, "least_items", 10)
    assert type(mb.policy("rank1-thompson").build(mb.monopartite(20))) is SparseRank1Thompson
    assert np.array_equal(restore(dense.state()).ask(), dense.ask())


@pytest.mark.parametrize("rewards", [None, Binomial(4), Gaussian(0.3)], ids=str)
@pytest.mark.parametrize("graph", [mb.monopartite(9), mb.bipartite(3, 5)], ids=str)
def test_a_warm_start_recommends_what_the_dense_variant_does(graph, rewards):
    rng = np.random.default_rng(9)
    counts = rng.integers(0, 50, graph.n_pairs)
    sums = np.floor(counts * rng.random(graph.n_pairs))
    built = []
    for kind in (Rank1Thompson, SparseRank1Thompson):
        spec = mb.policy(kind, selection="matching").warm_start(graph.pairs, counts, sums)
        built.append(spec.build(graph, rewards=rewards))
    dense, many = built
    assert many.recommend().tolist() == dense.recommend().tolist()
    for one, other in zip(many.explain()["items"], dense.explain()["items"], strict=True):
        assert one["estimate"] == pytest.approx(other["estimate"], abs=1e-4)
        assert one["standard_deviation"] == pytest.approx(other["standard_deviation"], rel=0.25)
        assert (one["samples"], one["side"], one["item"]) == (other["samples"], other["side"], other["item"])


def test_explain_tells_a_product_from_none():
    u = np.random.default_rng(2).uniform(0.8, 1, 300)
    for tastes in (0.0, 0.15):
        one = mb.policy("rank1-thompson").build(mb.monopartite(300), seed=2)
        rng = np.random.default_rng(11)
        for _ in range(300):
            i, j = one.ask().T
            likes = tastes * np.where((i + j) % 2 == 0, 1, -1)
            one.tell(one.ask(), rng.random(len(i)) < np.clip(u[i] * u[j] + likes, 0, 1))
        warnings = one.explain()["warnings"]
        assert len(warnings) == (tastes > 0)
        assert all("do not fit a product" in words for words in warnings)


def test_byes_go_round():
    one = mb.policy("rank1-thompson").build(mb.monopartite(301))
    absent = []
    for _ in range(301):
        pairs = one.ask()
        absent.extend(np.setdiff1d(np.arange(301), pairs))
        one.tell(pairs, np.full(150, np.nan))
    assert sorted(absent) == list(range(301))
    assert one.explain()["details"] == {"pairs_stored": 0, "sits_out": 0}


def test_with_a_half_life_old_results_fade_and_are_forgotten():
    one = mb.policy(SparseRank1Thompson, half_life=2).build(mb.monopartite(5), seed=1)
    total, played = 0.0, {}
    for number in range(200):
        pairs = one.ask()
        one.tell(pairs, [np.nan, 1.0] if number % 3 else [0.0, 1.0])
        told = pairs[1:] if number % 3 else pairs
        played = {pair: n * 2**-0.5 for pair, n in played.items()}
        for pair in map(tuple, told.tolist()):
            played[pair] = played.get(pair, 0.0) + 1.0
        total = total * 2**-0.5 + len(told)
    held = one.stored.start[-1]
    left = {pair: n for pair, n in played.items() if n > 1e-6}
    low = np.repeat(np.arange(5), np.diff(one.stored.start))
    found = dict(zip(zip(low, one.stored.partner[:held], strict=True), one.stored.plays[:held], strict=True))
    assert found == pytest.approx(left, rel=1e-9)
    assert one.stored.plays[:held].sum() == pytest.approx(total, rel=1e-5)
    assert restore_own(one).ask().tolist() == one.ask().tolist()


def restore_own(policy):
    twin = mb.policy(type(policy), **policy.options).build(policy.graph)
    twin.load(json.loads(json.dumps(policy.state())))
    return twin


@pytest.mark.parametrize("half_life", [0, -1.0])
def test_a_half_life_is_positive(half_life):
    with pytest.raises(mb.MatchbanditError, match="half_life must be above 0"):
        mb.policy(SparseRank1Thompson, half_life=half_life).build(mb.monopartite(4))


def test_too_many_items_are_refused():
    with pytest.raises(mb.MatchbanditError, match=r"takes at most 2147483647 items; got 3000000000\. Take fewer\.$"):
        mb.policy("rank1-thompson").build(mb.monopartite(3_000_000_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "selection", "horizon"),
    [
        (mb.Monopartite(np.linspace(0.95, 0.1, 24)), "matching", 600),
        (mb.Monopartite(np.linspace(0.95, 0.1, 21)), "matching", 600),
        (mb.Monopartite([0.9, 0.8, *np.linspace(0.6, 0.1, 18)], rewards=Gaussian(0.4)), "pair", 1500),
        (mb.Bipartite(np.linspace(0.9, 0.2, 12), np.linspace(0.8, 0.1, 15)), "matching", 600),
        (mb.Bipartite([0.9, *np.linspace(0.6, 0.1, 9)], [0.9, *np.linspace(0.7, 0.1, 9)]), "pair", 1500),
    ],
    ids=["players", "odd players", "pairs of players", "assignment", "slots"],
)
def test_the_regret_has_the_law_of_the_dense_variant(problem, selection, horizon):
    dense, many = (
        mb.simulate(problem, mb.policy(kind, selection=selection), horizon=horizon, runs=150, seed=seed)
        for seed, kind in enumerate((Rank1Thompson, SparseRank1Thompson))
    )
    for at in np.searchsorted(dense.rounds, [30, 200, horizon]):
        assert ks_2samp(dense.regret[:, at], many.regret[:, at]).pvalue > 1e-3
