import numpy as np
import pytest

from matchbandit import MatchbanditError, bipartite, monopartite
from matchbandit.allowed import Allowed


@pytest.mark.parametrize("graph", [monopartite(7), bipartite(3, 4)], ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_the_edges_are_those_that_every_rule_allows(graph, seed):
    rng = np.random.default_rng(seed)
    present = rng.random(graph.n_items) < 0.7
    forbidden = rng.choice(graph.n_pairs, size=4)
    only = rng.choice(graph.n_pairs, size=9)
    rules = {"present": present, "forbidden": forbidden, "only": only}
    given = {name: rules[name] for k, name in enumerate(rules) if seed >> k & 1}
    allowed = Allowed(graph, **given)
    shift = [0, graph.shape[0]] if graph.kind == "bipartite" else [0, 0]
    expected = [
        edge
        for edge, (i, j) in enumerate((graph.pairs + shift).tolist())
        if ("present" not in given or (present[i] and present[j]))
        and ("forbidden" not in given or edge not in forbidden)
        and ("only" not in given or edge in only)
    ]
    assert allowed.edges.tolist() == expected
    assert np.flatnonzero(allowed.allows(np.arange(graph.n_pairs))).tolist() == expected
    assert allowed.graph.ends(allowed.edges).tolist() == (graph.pairs + shift)[expected].tolist()
    assert allowed.is_unrestricted == (not given)
    assert allowed.without_pair_rules.edges.tolist() == Allowed(graph, present=given.get("present")).edges.tolist()


def test_what_rules_nothing_out_is_no_rule():
    graph = monopartite(4)
    assert Allowed(graph, present=np.ones(4, dtype=bool), forbidden=[]).is_unrestricted
    assert not Allowed(graph, only=[]).is_unrestricted
    assert len(Allowed(graph, only=[]).edges) == 0
    assert len(Allowed(graph, present=np.array([True, False, False, False])).edges) == 0


def test_pairs_are_read_in_either_order():
    graph = monopartite(4)
    assert Allowed.read(graph, [(3, 2), (0, 1)]).edges.tolist() == [0, 5]
    assert Allowed.read(graph, None).is_unrestricted
    assert len(Allowed.read(graph, []).edges) == 0
    rules = Allowed(graph, forbidden=[2])
    assert Allowed.read(graph, rules) is rules


def test_thousands_of_players_need_no_list():
    graph = monopartite(100_000)
    allowed = Allowed(graph, forbidden=[5, 7])
    assert allowed.allows(np.array([4, 5, 6, 7])).tolist() == [True, False, True, False]
    with pytest.raises(MatchbanditError, match="Use fewer items"):
        _ = allowed.edges


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"present": [True, False]}, "each of the 4 items"),
        ({"present": [1, 1, 0, 0]}, "True or False"),
        ({"forbidden": [6]}, "has the edge 6; monopartite with 4 players has 6 pairs"),
        ({"only": [-1]}, "has the edge -1"),
        ({"only": [(0, 1)]}, r"graph\.edges\(pairs\)"),
        ({"forbidden": [0.5]}, "whole numbers"),
    ],
)
def test_wrong_rules_are_refused(rules, words):
    with pytest.raises(MatchbanditError, match=words):
        Allowed(monopartite(4), **rules)


def test_rules_of_another_graph_are_refused():
    with pytest.raises(MatchbanditError, match="about monopartite with 5 players"):
        Allowed.read(monopartite(4), Allowed(monopartite(5)))
