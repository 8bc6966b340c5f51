from itertools import pairwise

import numpy as np
import pytest

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import monopartite
from matchbandit.plans.groups import grouped


def test_by_hand_a_chain_ends_where_the_number_of_players_is_even():
    graph = monopartite(8)
    one, two, three = grouped([[4, 6], [0], [2, 7], [5], [1, 3]], graph)
    assert [[cluster.tolist() for cluster in group.clusters] for group in (one, two, three)] == [
        [[4, 6]],
        [[0], [2, 7], [5]],
        [[1, 3]],
    ]
    assert [group.first_cluster for group in (one, two, three)] == [0, 1, 4]
    assert [group.ends for group in (one, two, three)] == [(2,), (3, 5, 6), (8,)]
    assert one.pairs.tolist() == [[4, 6]]
    assert two.pairs[two.cells(1)].tolist() == [[2, 7], [0, 2], [0, 7]]  # its own, then those of 0 with it
    assert two.pairs[two.cells(2)].tolist() == [[2, 5], [7, 5]]
    assert (np.sort(two.pairs, axis=1) == graph.pairs[two.edges]).all()
    assert [group.splittable(0) for group in (one, two, three)] == [False, False, False]
    assert two.splittable(1)


def test_cells_of_clusters_follow_each_other():
    for group in grouped([[0, 1, 2], [3, 4], [5, 6, 7], [8, 9]], monopartite(10)):
        cells = [group.cells(k) for k in range(len(group.clusters))]
        assert cells[0].start == 0
        assert cells[-1].stop == len(group.edges) == len(group.pairs)
        assert all(a.stop == b.start for a, b in pairwise(cells))


def test_an_odd_number_of_players_has_no_chains():
    with pytest.raises(MatchbanditError, match=r"an even number of items in all; got sizes \(3,\)\. Leave an item out"):
        grouped([[0, 1, 2]], monopartite(3))
