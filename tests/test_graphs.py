import json
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import MAX_ITEMS, MonopartiteGraph, bipartite, graph_from, monopartite

graphs = st.builds(bipartite, st.integers(1, 9), st.integers(1, 9)) | st.builds(monopartite, st.integers(2, 14))


@settings(deadline=None, derandomize=True)
@given(graphs)
def test_the_pairs_are_all_pairs_in_lexicographic_order(graph):
    n, m = graph.shape
    expected = product(range(n), range(m)) if graph.kind == "bipartite" else combinations(range(n), 2)
    assert list(map(tuple, graph.pairs.tolist())) == list(expected)
    assert graph.n_pairs == len(graph.pairs)
    assert graph.pairs.dtype == np.int64


@settings(deadline=None, derandomize=True)
@given(graphs, st.data())
def test_edges_is_the_inverse_of_pairs(graph, data):
    edges = data.draw(st.lists(st.integers(0, graph.n_pairs - 1), min_size=1, max_size=30))
    assert graph.edges(graph.pairs).tolist() == list(range(graph.n_pairs))
    assert graph.edges(graph.pairs[edges]).tolist() == edges
    assert graph.edges(graph.pairs[edges].tolist()).tolist() == edges


@settings(deadline=None, derandomize=True)
@given(st.integers(2, 14), st.data())
def test_players_may_come_in_either_order(n_items, data):
    graph = monopartite(n_items)
    swapped = np.array(data.draw(st.lists(st.booleans(), min_size=graph.n_pairs, max_size=graph.n_pairs)))
    pairs = np.where(swapped[:, None], graph.pairs[:, ::-1], graph.pairs)
    before = pairs.copy()
    assert graph.edges(pairs).tolist() == list(range(graph.n_pairs))
    assert np.array_equal(pairs, before)


def test_rows_and_columns_may_not_be_exchanged():
    assert bipartite(2, 3).edges([(1, 0), (0, 1)]).tolist() == [3, 1]
    with pytest.raises(MatchbanditError, match=r"^\(2, 0\) is not a pair of bipartite 2×3\."):
        bipartite(2, 3).edges([(0, 2), (2, 0)])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_small_integers_do_not_overflow(dtype):
    players, slots = monopartite(120), bipartite(100, 110)
    assert players.edges(players.pairs.astype(dtype)).tolist() == list(range(players.n_pairs))
    assert slots.edges(slots.pairs.astype(dtype)).tolist() == list(range(slots.n_pairs))
    assert players.edges(players.pairs.astype(dtype)).dtype == np.int64


def test_no_pairs_have_no_edges():
    assert bipartite(2, 3).edges(np.empty((0, 2), dtype=int)).tolist() == []


@pytest.mark.parametrize(
    ("graph", "pair"),
    [
        (bipartite(2, 3), (2, 0)),
        (bipartite(2, 3), (0, 3)),
        (bipartite(2, 3), (-1, 0)),
        (bipartite(2, 3), (0, -3)),
        (monopartite(4), (0, 4)),
        (monopartite(4), (4, 0)),
        (monopartite(4), (2, 2)),
        (monopartite(4), (3, -1)),
        (monopartite(4), (10**12, 0)),
    ],
)
def test_a_pair_that_does_not_exist_is_refused_by_name(graph, pair):
    with pytest.raises(MatchbanditError) as refusal:
        graph.edges([(0, 1), pair, (0, 99)])
    assert str(refusal.value).startswith(f"{pair} ")


@pytest.mark.parametrize(
    ("pairs", "got"),
    [
        ([(0.0, 1.0)], "shape (1, 2) of float64"),
        ([0, 1], "shape (2,) of int64"),
        ([], "shape (0,) of float64"),
        ([(0, 1, 2)], "shape (1, 3) of int64"),
        ([[(0, 1)]], "shape (1, 1, 2) of int64"),
        ([(True, False)], "shape (1, 2) of bool"),
        ([("0", "1")], "shape (1, 2) of <U1"),
        ([(0, 10**30)], "shape (1, 2) of object"),
        (None, "shape () of object"),
    ],
)
def test_what_is_no_list_of_pairs_is_refused_with_its_shape_and_type(pairs, got):
    with pytest.raises(MatchbanditError, match=r"^pairs must be whole numbers of shape \(k, 2\)") as refusal:
        bipartite(2, 3).edges(pairs)
    assert str(refusal.value).endswith(f"got {got}.")


def test_pairs_of_uneven_length_are_refused_in_our_words():
    with pytest.raises(MatchbanditError, match=r"^pairs must be whole numbers of shape \(k, 2\)"):
        bipartite(2, 3).edges([(0, 1), (1,)])


@settings(deadline=None, derandomize=True)
@given(graphs, st.lists(st.integers(0, 3), max_size=2), st.sampled_from([np.int64, np.float64]))
def test_a_matrix_holds_each_value_at_its_pair_and_zero_elsewhere(graph, leading, dtype):
    shape = (*leading, graph.n_pairs)
    values = (np.arange(1, 1 + np.prod(shape), dtype=dtype) + 10**15).reshape(shape)
    matrix = graph.matrix(values)
    assert matrix.shape == (*leading, *graph.shape)
    assert matrix.dtype == dtype
    rows, columns = graph.pairs.T
    assert np.array_equal(matrix[..., rows, columns], values)
    matrix[..., rows, columns] = 0
    assert not matrix.any()


@pytest.mark.parametrize(
    ("graph", "size"),
    [(bipartite(2, 5), 2), (bipartite(4, 1), 1), (bipartite(3, 3), 3), (monopartite(2), 1), (monopartite(7), 3)],
    ids=str,
)
def test_a_largest_matching_uses_up_the_smaller_side_or_half_of_the_players(graph, size):
    assert graph.matching_size == size


@settings(deadline=None, derandomize=True)
@given(graphs)
def test_a_graph_survives_a_trip_through_json(graph):
    again = graph_from(json.loads(json.dumps(graph.describe())))
    assert again == graph
    assert type(again) is type(graph)
    assert again.pairs.tolist() == graph.pairs.tolist()


def test_graphs_of_different_shape_or_kind_differ():
    assert bipartite(2, 3) != bipartite(3, 2)
    assert bipartite(4, 4) != monopartite(4)


def test_an_unknown_kind_of_graph_is_refused():
    with pytest.raises(MatchbanditError, match=r"^unknown graph 'bipartit'; did you mean 'bipartite'\?"):
        graph_from({"kind": "bipartit", "shape": [2, 3]})


@pytest.mark.parametrize("size", [0, -2, 2.5, True, None, "3"])
def test_a_bad_number_of_items_is_refused_with_its_name_and_value(size):
    for name, build in [
        ("n_rows", lambda: bipartite(size, 3)),
        ("n_columns", lambda: bipartite(3, size)),
        ("n_items", lambda: monopartite(size)),
    ]:
        with pytest.raises(MatchbanditError, match=rf"^{name} must be a whole number, at least \d; got {size!r}\. A "):
            build()


def test_a_single_player_has_nobody_to_meet():
    with pytest.raises(MatchbanditError, match=r"got 1\. A pair needs two players\."):
        monopartite(1)


def test_a_whole_float_is_a_number_of_items():
    assert bipartite(2.0, np.int64(3)) == bipartite(2, 3)
    assert bipartite(2.0, np.int64(3)).describe() == {"kind": "bipartite", "shape": [2, 3]}


@pytest.mark.parametrize("graph", [*map(monopartite, range(2, 30)), bipartite(1, 1), bipartite(3, 7), bipartite(7, 3)])
def test_pairs_of_edges_are_those_of_the_list(graph):
    edges = np.random.default_rng(0).permutation(graph.n_pairs)
    assert np.array_equal(graph.pairs_of(edges), graph.pairs[edges])
    assert graph.pairs_of(np.zeros(0, dtype=np.int64)).shape == (0, 2)


@pytest.mark.parametrize(
    "graph", [monopartite(10**6), monopartite(10**7), MonopartiteGraph(2 * 10**9), bipartite(10**6, 10**6)], ids=str
)
def test_pairs_of_edges_are_exact_where_floats_are_not(graph):
    rng, n = np.random.default_rng(1), graph.n_pairs
    firsts = rng.integers(0, graph.shape[0] - 1, 10_000)
    first_pairs = graph.edges(np.stack([firsts, firsts + 1], axis=1))  # of players, where a new first player begins
    edges = np.concatenate([rng.integers(0, n, 100_000), np.arange(500), n - 1 - np.arange(500), first_pairs])
    edges = np.concatenate([edges, np.maximum(first_pairs - 1, 0)])
    pairs = graph.pairs_of(edges)
    assert np.array_equal(graph.edges(pairs), edges)
    if graph.kind == "monopartite":
        assert (pairs[:, 0] < pairs[:, 1]).all()


@settings(deadline=None, derandomize=True)
@given(graphs)
def test_items_are_numbered_consecutively_rows_first(graph):
    if graph.is_bipartite:
        n, m = graph.shape
        labels = [*(("row", i) for i in range(n)), *(("column", j) for j in range(m))]
        ends = [(("row", i), ("column", j)) for i, j in graph.pairs.tolist()]
        assert (graph.side_sizes, graph.has_bye) == ((n, m), False)
    else:
        labels = [("player", i) for i in range(graph.shape[0])]
        ends = [(("player", i), ("player", j)) for i, j in graph.pairs.tolist()]
        assert (graph.side_sizes, graph.has_bye) == ((len(labels),), 2 * graph.matching_size < len(labels))
    assert graph.n_items == len(labels)
    assert [(graph.side_of(item), graph.index_of(item)) for item in range(graph.n_items)] == labels
    assert [graph.item_at(*label) for label in labels] == list(range(graph.n_items))
    edges = np.arange(graph.n_pairs)[::-1]
    assert [(labels[a], labels[b]) for a, b in graph.ends(edges).tolist()] == ends[::-1]
    assert graph.edges_between(graph.ends(edges)).tolist() == edges.tolist()


@pytest.mark.parametrize(
    ("make", "sizes", "words"),
    [
        (monopartite, (10**9,), "monopartite with 1000000000 players"),
        (monopartite, (MAX_ITEMS + 1,), "monopartite with 10000001 players"),
        (bipartite, (1, MAX_ITEMS), "bipartite 1×10000000"),
    ],
)
def test_a_graph_with_too_many_items_is_refused_before_memory_is_asked_for(make, sizes, words):
    with pytest.raises(
        MatchbanditError, match=f"^a graph has at most 10000000 items; got {words}\\. Use fewer items\\.$"
    ):
        make(*sizes)
    assert monopartite(MAX_ITEMS).n_items == MAX_ITEMS
    assert bipartite(1, MAX_ITEMS - 1).n_items == MAX_ITEMS


def test_graphs_are_equal_by_their_sizes_and_shown_by_them():
    assert bipartite(2, 3) == bipartite(2, 3) != bipartite(3, 2)
    assert hash(monopartite(4)) == hash(monopartite(4))
    assert repr(bipartite(2, 3)) == "BipartiteGraph(n_rows=2, n_columns=3)"
    assert repr(monopartite(4)) == "MonopartiteGraph(n_items=4)"
