"""The intervals of the model of strengths, against the inverse of its information."""

import numpy as np
import pytest

import matchbandit as mb
from matchbandit import strengths
from matchbandit.strengths import Posterior


def simulated(graph, pairs, seed=0):
    """A posterior from results of so many pairs with mean about 0.15, the pairs by item, and their means."""
    rng = np.random.default_rng(seed)
    n_rows = graph.n_rows
    edges = np.sort(rng.choice(graph.n_pairs, pairs, replace=False))
    ends = graph.pairs_of(edges) + np.array([0, n_rows])
    u = np.minimum(np.exp(rng.normal(-1, 0.6, n_rows + graph.shape[1])), 0.99)
    plays, means = rng.integers(1, 60, pairs), u[ends].prod(axis=1)
    sums = rng.binomial(plays, means).astype(float)
    return Posterior.fit(graph, mb.Bernoulli(), edges, plays.astype(float), sums), ends, means


def exact_deviations(posterior, ends):
    n = len(posterior.logs)
    H = np.empty((n, n))
    diagonal, common = np.empty(n), np.empty(2)
    strengths.evaluate(posterior.model, np.empty(n), diagonal, common, strengths.EXPECTED)
    strengths.information(posterior.model, diagonal, common, H)
    covariance, (i, j) = np.linalg.inv(H), ends.T
    return np.sqrt(covariance[i, i] + covariance[j, j] + 2 * covariance[i, j])


@pytest.mark.parametrize("graph", [mb.monopartite(12), mb.bipartite(5, 8), mb.monopartite(230)], ids=repr)
def test_deviations_of_pairs_are_those_of_the_inverse_information(graph):
    posterior, ends, _ = simulated(graph, 40)
    assert np.allclose(posterior.pair_deviations(ends), exact_deviations(posterior, ends), rtol=1e-8)


@pytest.mark.parametrize("graph", [mb.monopartite(300), mb.bipartite(120, 180)], ids=repr)
def test_deviations_of_many_pairs_of_many_items_are_close_to_exact_ones(graph, monkeypatch):
    posterior, played, _ = simulated(graph, 1500)
    n = len(posterior.logs)
    unplayed = np.stack([np.arange(60), np.arange(n - 60, n)], axis=1)
    ends = np.concatenate([played, unplayed, unplayed[:, ::-1]])
    exact = exact_deviations(posterior, ends)
    monkeypatch.setattr(strengths, "MAX_DENSE_COVARIANCE", 100)
    ratio = posterior.pair_deviations(ends) / exact
    assert np.abs(ratio - 1).max() < 0.15
    assert abs(ratio.mean() - 1) < 0.005
    assert np.allclose(posterior.pair_deviations(ends[:5]), exact[:5], rtol=1e-5)  # a few are solved for one by one


def test_intervals_are_symmetric_in_the_logarithm_and_end_at_1():
    posterior, ends, _ = simulated(mb.bipartite(4, 6), 20)
    for intervals, logs, deviations in (
        (posterior.item_intervals, posterior.logs, posterior.deviations),
        (lambda level: posterior.pair_intervals(ends, level), posterior.logs[ends].sum(axis=1),
         posterior.pair_deviations(ends)),
    ):  # fmt: skip
        low, high = intervals(0.6826894921370859)
        assert np.allclose(low, np.exp(logs - deviations))
        assert np.allclose(high, np.minimum(np.exp(logs + deviations), 1))
        wide_low, wide_high = intervals(0.999)
        assert ((wide_low < low) & (high <= wide_high) & (wide_high <= 1)).all()


@pytest.mark.parametrize("paid", [0.0, 1.0])
@pytest.mark.parametrize("graph", [mb.bipartite(1, 1), mb.bipartite(1, 3), mb.monopartite(2)], ids=repr)
def test_extreme_results_have_finite_intervals(graph, paid):
    plays = np.full(graph.n_pairs, 1e6)
    posterior = Posterior.fit(graph, mb.Bernoulli(), np.arange(graph.n_pairs), plays, paid * plays)
    n_rows = graph.n_rows
    for low, high in (
        posterior.item_intervals(0.9),
        posterior.pair_intervals(graph.pairs + np.array([0, n_rows]), 0.9),
    ):
        assert np.isfinite(low).all()
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()
