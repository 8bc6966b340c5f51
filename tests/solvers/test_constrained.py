import numpy as np
import pytest
from reference.allowed import heaviest

from matchbandit import bipartite, monopartite
from matchbandit.allowed import Allowed
from matchbandit.solvers import (
    best_matching,
    constrained,
    heaviest_allowed,
    heaviest_allowed_pair,
    heaviest_of_products,
    heaviest_pair_of_products,
)
from matchbandit.solvers.constrained import heaviest_cells, heaviest_cells_of_products


def some_rules(graph, rng):
    """Random rules: some absent, some pairs forbidden, or only some allowed."""
    rules = {}
    if rng.random() < 0.5:
        rules["present"] = rng.random(graph.n_items) < 0.8
    if rng.random() < 0.6:
        rules["forbidden"] = np.flatnonzero(rng.random(graph.n_pairs) < rng.random())
    if rng.random() < 0.4:
        rules["only"] = np.flatnonzero(rng.random(graph.n_pairs) < rng.random())
    return Allowed(graph, **rules)


def some_graph(rng):
    if rng.random() < 0.6:
        return monopartite(int(rng.integers(2, 9)))
    return bipartite(int(rng.integers(1, 5)), int(rng.integers(1, 5)))


def is_matching(allowed, edges):
    ends = allowed.graph.ends(edges).ravel()
    return len(np.unique(ends)) == len(ends) and allowed.allows(edges).all()


@pytest.mark.parametrize("seed", range(150))
def test_the_heaviest_is_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    graph = some_graph(rng)
    allowed = some_rules(graph, rng)
    strengths = rng.random(graph.n_items) if rng.random() < 0.7 else rng.integers(0, 3, graph.n_items) / 2
    products = strengths[allowed.graph.ends(np.arange(graph.n_pairs))].prod(axis=1)
    any_weights = rng.normal(size=graph.n_pairs)
    for weights, found in [
        (products, heaviest_of_products(allowed, strengths)),
        (any_weights, heaviest_allowed(allowed, any_weights)),
    ]:
        count, total = heaviest(allowed.graph.ends(allowed.edges).tolist(), weights[allowed.edges])
        assert found.exact
        assert is_matching(allowed, found.edges)
        assert len(found.edges) == count
        assert weights[found.edges].sum() == pytest.approx(total, abs=1e-9)
    for weights, pair in [
        (products, heaviest_pair_of_products(allowed, strengths)),
        (any_weights, heaviest_allowed_pair(allowed, any_weights)),
    ]:
        assert len(pair) == min(1, len(allowed.edges))
        assert not len(pair) or weights[pair[0]] == weights[allowed.edges].max()
        assert allowed.allows(pair).all()


@pytest.mark.parametrize("seed", range(12))
def test_many_players_with_rules_match_as_the_blossom_algorithm_does(seed, monkeypatch):
    """Near neighbours, and then far pairs, against a blossom algorithm on all pairs: the same weight."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 90))
    graph = monopartite(n)
    allowed = Allowed(graph, forbidden=np.flatnonzero(rng.random(graph.n_pairs) < [0.05, 0.3, 0.7, 0.97][seed % 4]))
    strengths = rng.random(n) ** [0.5, 1.0, 3.0][seed % 3]
    products = strengths[graph.pairs].prod(axis=1)
    expected = heaviest_allowed(allowed, products).edges
    for widths in ((6, 8), (2,)):
        monkeypatch.setattr(constrained, "EXACT_WIDTHS", widths)
        found = heaviest_of_products(allowed, strengths)
        assert found.exact
        assert is_matching(allowed, found.edges)
        assert len(found.edges) == len(expected)
        assert products[found.edges].sum() == pytest.approx(products[expected].sum(), abs=1e-9)


def test_far_pairs_are_needed_and_found(monkeypatch):
    """Those who are near each other must not meet."""
    n = 40
    graph = monopartite(n)
    strengths = np.linspace(1, 0.1, n)
    near = graph.edges(graph.pairs[(graph.pairs[:, 1] - graph.pairs[:, 0]) < 12])
    allowed = Allowed(graph, forbidden=near)
    found = heaviest_of_products(allowed, strengths)
    products = strengths[graph.pairs].prod(axis=1)
    assert products[found.edges].sum() == pytest.approx(products[heaviest_allowed(allowed, products).edges].sum())
    assert len(found.edges) == n // 2


def test_components_are_solved_each_for_itself(monkeypatch):
    """500 players in fives: each five is solved for certain, though all together are too many."""
    rng = np.random.default_rng(1)
    n = 500
    graph = monopartite(n)
    groups = rng.permutation(n).reshape(-1, 5)
    pairs = np.concatenate([[(g[a], g[b]) for a in range(5) for b in range(a)] for g in groups])
    allowed = Allowed.read(graph, pairs)
    strengths = rng.random(n)
    found = heaviest_of_products(allowed, strengths)
    expected = sum((x := np.sort(strengths[g])[::-1])[0] * x[1] + x[2] * x[3] for g in groups)
    assert found.exact
    assert strengths[graph.pairs_of(found.edges)].prod(axis=1).sum() == pytest.approx(expected)
    weights = rng.normal(size=graph.n_pairs)
    by_weights = heaviest_allowed(allowed, weights)
    assert by_weights.exact
    assert len(by_weights.edges) == 200


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_beyond_300_products_lose_next_to_nothing(share):
    rng = np.random.default_rng(2)
    n = 401
    graph = monopartite(n)
    allowed = Allowed(graph, forbidden=np.flatnonzero(rng.random(graph.n_pairs) < share))
    strengths = rng.random(n)
    found = heaviest_of_products(allowed, strengths)
    x = np.sort(strengths)[::-1]
    assert is_matching(allowed, found.edges)
    assert len(found.edges) == 200
    assert strengths[graph.pairs_of(found.edges)].prod(axis=1).sum() > (1 - 1e-4) * (x[:-1:2] * x[1::2]).sum()


@pytest.mark.parametrize("guests", [{0: {398, 399}, 1: {397}}, {0: {398, 396}, 1: {397, 395}}])
def test_whoever_may_meet_few_is_matched_beyond_300_too(guests, monkeypatch):
    """Two guests may meet the weakest only, far away from them: as many pairs as possible come first.

    A swap, or a longer path, does it: not all pairs are listed for that.
    """
    monkeypatch.setattr(constrained, "_heaviest_of_edges", None)
    n = 400
    graph = monopartite(n)
    strengths = np.linspace(1, 0.1, n)
    forbidden = [(g, k) for g, friends in guests.items() for k in range(n) if k != g and k not in friends]
    allowed = Allowed(graph, forbidden=np.unique(graph.edges(forbidden)))
    found = heaviest_of_products(allowed, strengths)
    assert is_matching(allowed, found.edges)
    assert len(found.edges) == 200
    assert strengths[graph.pairs_of(found.edges)].prod(axis=1).sum() > 0.98 * (strengths[::2] * strengths[1::2]).sum()


def test_who_must_not_meet_the_near_ones_meets_the_next_ones():
    """Beyond 300: two in the middle have no near neighbours, and come in where that costs least."""
    n = 400
    graph = monopartite(n)
    strengths = np.linspace(1, 0.1, n)
    forbidden = [(k, j) for k in (200, 260) for j in range(n) if 0 < abs(j - k) <= 20] + [(200, 260)]
    allowed = Allowed(graph, forbidden=graph.edges(forbidden))
    found = heaviest_of_products(allowed, strengths)
    assert is_matching(allowed, found.edges)
    assert len(found.edges) == 200
    assert strengths[graph.pairs_of(found.edges)].prod(axis=1).sum() > 0.9999 * (strengths[::2] * strengths[1::2]).sum()


def test_a_star_beyond_300_has_one_pair():
    graph = monopartite(400)
    allowed = Allowed.read(graph, [(7, k) for k in range(400) if k != 7])
    strengths = np.linspace(0.1, 1, 400)
    for found in (heaviest_of_products(allowed, strengths), heaviest_allowed(allowed, np.ones(graph.n_pairs))):
        assert len(found.edges) == 1


@pytest.mark.parametrize("seed", range(4))
def test_blocks_of_neighbours_come_close_to_the_heaviest_and_have_as_many_pairs(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n = 150
    graph = monopartite(n)
    allowed = Allowed(graph, forbidden=np.flatnonzero(rng.random(graph.n_pairs) < [0.1, 0.98][seed % 2]))
    u = rng.random(n)
    weights = u[graph.pairs].prod(axis=1) + 0.1 * rng.random(graph.n_pairs)
    best = heaviest_allowed(allowed, weights)
    monkeypatch.setattr(constrained, "MAX_EXACT_PLAYERS", 20)
    found = heaviest_allowed(allowed, weights)
    assert best.exact
    assert not found.exact
    assert is_matching(allowed, found.edges)
    assert len(found.edges) == len(best.edges)
    share = [0.999, 0.9][seed % 2]  # of three partners each, none may be near
    assert share * weights[best.edges].sum() < weights[found.edges].sum() <= weights[best.edges].sum() + 1e-9


@pytest.mark.parametrize("shape", [(30, 30), (20, 35), (35, 20)])
def test_rows_and_columns_are_assigned_exactly_at_any_size(shape):
    rng = np.random.default_rng(3)
    graph = bipartite(*shape)
    allowed = Allowed(graph, forbidden=np.flatnonzero(rng.random(graph.n_pairs) < 0.3))
    weights = rng.normal(size=graph.n_pairs)
    found = heaviest_allowed(allowed, weights)
    listed = heaviest_allowed(Allowed(graph, only=allowed.edges), weights)
    shifted = np.where(allowed.allows(np.arange(graph.n_pairs)), weights, weights - 1e3)
    assert found.edges.tolist() == listed.edges.tolist() == best_matching(graph, shifted).tolist()


def test_rows_and_columns_beyond_a_table_are_matched_in_blocks(monkeypatch):
    rng = np.random.default_rng(4)
    graph = bipartite(200, 190)
    strengths = rng.random(390) * np.where(np.arange(390) < 200, 0.1, 1.0)  # each side has a scale of its own
    allowed = Allowed(graph, forbidden=np.flatnonzero(rng.random(graph.n_pairs) < 0.1))
    best = heaviest_of_products(allowed, strengths)
    monkeypatch.setattr(constrained, "MAX_TABLE_CELLS", 1000)
    found = heaviest_of_products(allowed, strengths)
    weight = [strengths[allowed.graph.ends(of.edges)].prod(axis=1).sum() for of in (best, found)]
    assert best.exact
    assert not found.exact
    assert is_matching(allowed, found.edges)
    assert len(found.edges) == 190
    assert 0.999 * weight[0] < weight[1] <= weight[0] + 1e-9


@pytest.mark.parametrize("seed", range(120))
def test_products_are_matched_as_brute_force_does(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, size=2)
    x, y = (rng.random(k) * rng.choice([0.1, 1.0]) if seed % 3 else rng.integers(0, 3, k) / 2 for k in (n, m))
    fine = rng.random((n, m)) > rng.choice([0.1, 0.5, 0.9])
    weights = np.outer(x, y)
    cells = np.argwhere(fine)
    count, total = heaviest([(i, n + j) for i, j in cells.tolist()], weights[fine])
    for chosen in (heaviest_cells_of_products(x, y, fine), heaviest_cells(weights, fine)):
        i, j = chosen.T
        assert fine[i, j].all()
        assert len(set(i.tolist())) == len(set(j.tolist())) == len(chosen) == count
        assert weights[i, j].sum() == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("shape", [(60, 60), (40, 70), (70, 40), (10, 200), (200, 10)])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.6])
def test_large_tables_of_products_are_matched_as_any_table_is(shape, share):
    rng = np.random.default_rng(1)
    x, y, fine = rng.random(shape[0]), 0.2 * rng.random(shape[1]), rng.random(shape) >= share
    weights = np.outer(x, y)
    quick, plain = heaviest_cells_of_products(x, y, fine), heaviest_cells(weights, fine)
    assert len(quick) == len(plain)
    assert fine[tuple(quick.T)].all()
    assert weights[tuple(quick.T)].sum() == pytest.approx(weights[tuple(plain.T)].sum(), abs=1e-9)


def test_a_row_that_may_meet_the_last_column_only_gets_it():
    fine = np.ones((3, 9), dtype=bool)
    fine[1, :8] = False
    chosen = heaviest_cells_of_products(np.array([0.2, 0.9, 0.5]), np.linspace(1, 0.1, 9), fine)
    assert sorted(chosen.tolist()) == [[0, 1], [1, 8], [2, 0]]
