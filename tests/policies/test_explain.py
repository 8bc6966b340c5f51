"""What every policy says of the open round."""

import numpy as np
import pytest

import matchbandit as mb


def test_the_open_round_is_shown_until_it_is_told():
    policy = mb.policy("rank1-thompson").build(mb.monopartite(4), seed=1)
    assert policy.explain()["asked"] is None
    pairs = policy.ask()
    assert policy.explain()["asked"] == pairs.tolist()
    policy.tell(pairs, [1, 0])
    assert policy.explain()["asked"] is None


def test_a_planned_policy_says_which_pairs_it_waits_for_and_no_longer_once_they_have_come():
    policy = mb.policy("adaptive-matching").build(mb.monopartite(6), horizon=1000)
    pairs = policy.ask()
    assert policy.explain()["waiting_for"] == []
    policy.tell(pairs, [1, np.nan, 0])
    assert policy.explain()["waiting_for"] == [pairs[1].tolist()]
    assert mb.restore(policy.state()).explain()["waiting_for"] == [pairs[1].tolist()]
    policy.tell(policy.ask(), [0, 1, 1])
    assert policy.explain()["waiting_for"] == []


def test_clusters_without_samples_have_no_estimates():
    policy = mb.policy("adaptive-matching").build(mb.monopartite(4), horizon=1000)
    assert policy.explain()["clusters"][0]["estimates"] is None


def test_who_sits_out_is_in_no_pair():
    policy = mb.policy("rank1-thompson").build(mb.monopartite(5), seed=2)
    for _ in range(6):
        pairs = policy.ask()
        assert policy.explain()["details"]["sits_out"] not in pairs
        policy.tell(pairs, [1, 1])
    items = mb.policy("rank1-thompson").build(mb.bipartite(2, 3)).explain()
    assert [(row["side"], row["item"]) for row in items["items"][:2]] == [("row", 0), ("row", 1)]
    assert [(column["side"], column["item"]) for column in items["items"][2:]] == [("column", j) for j in range(3)]


@pytest.mark.parametrize(
    ("name", "graph"), [("rank1-thompson", mb.bipartite(2, 2)), ("rank1-certify", mb.monopartite(4))]
)
def test_the_rank1_policies_warn_when_the_results_do_not_fit_a_product(name, graph):
    n = np.full(graph.n_pairs, 1000)
    products = np.array([0.72, 0.36, 0.36, 0.18]) if name == "rank1-thompson" else np.full(6, 0.25)
    others = np.where(np.isin(np.arange(graph.n_pairs), (0, graph.n_pairs - 1)), 0.9, 0.1)
    for means, warned in ((products, False), (others, True)):
        policy = mb.policy(name).warm_start(graph.pairs, n, n * means).build(graph)
        warnings = policy.explain()["warnings"]
        assert len(warnings) == warned
        if warned:
            assert warnings[0].startswith("the results do not fit a product of strengths (p = ")
    assert mb.policy(name).build(graph).explain()["warnings"] == []


def test_results_from_before_are_refused_as_soon_as_they_are_given():
    with pytest.raises(mb.MatchbanditError, match=r"adaptive-matching samples .* rank1-thompson or rank1-c"):
        mb.policy("adaptive-matching").warm_start([(0, 1)], [1], [1])


def test_several_policies_at_once_are_refused_with_the_way_out():
    with pytest.raises(mb.MatchbanditError, match=r"one policy at a time; got 2\. Call it for each in turn"):
        mb.simulate(mb.Monopartite([0.9, 0.8]), ["uniform", "kl-ucb"], horizon=10)


def test_shares_that_have_faded_are_tested_against_a_product_as_if_they_were_shares():
    policy = mb.policy("rank1-thompson", half_life=5).build(mb.monopartite(4), rewards=mb.Binomial(5), seed=1)
    rng = np.random.default_rng(1)
    for _ in range(12):
        policy.tell(policy.ask(), rng.binomial(5, 0.5, size=2) / 5)
    assert policy.explain()["warnings"] == []
