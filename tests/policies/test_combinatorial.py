import pytest

import matchbandit as mb


@pytest.mark.parametrize("name", ["cucb", "escb", "aescb", "ols-ucb"])
def test_pairs_that_a_warm_start_leaves_out_are_played_first(name):
    spec = mb.policy(name).warm_start([(0, 1), (2, 3)], counts=[1000, 1000], sums=[500, 100])
    policy = spec.build(mb.monopartite(4))
    opening = []
    for _ in range(2):
        opening.append(policy.ask().tolist())
        policy.tell(opening[-1], [1, 0])
    assert sorted(map(sorted, opening)) == [[[0, 2], [1, 3]], [[0, 3], [1, 2]]]
    policy.tell(policy.ask(), [1, 0])
    assert policy.arrays.plays.sum() == 2006


@pytest.mark.parametrize("name", ["cucb", "escb", "aescb", "ols-ucb"])
def test_a_pair_that_never_takes_place_is_asked_until_it_does(name):
    policy = mb.policy(name).build(mb.monopartite(4))
    for _ in range(100):
        pairs = policy.ask().tolist()
        policy.tell(pairs, [float("nan") if pair == [0, 3] else 1.0 for pair in pairs])
    assert [0, 3] in policy.ask().tolist()
