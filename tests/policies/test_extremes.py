"""Options at the end of what floats hold, results logged twice, and other places where numbers break."""

import numpy as np
import pytest

import matchbandit as mb


def test_results_logged_twice_add_up_and_keep_every_pairs_plays_below_the_rounds():
    players = mb.monopartite(6)
    clucb = mb.policy("clucb").build(players)
    clucb.warm_start(players.pairs, [1000] * 15, [500] * 15)
    assert clucb.arrays.params.rounds[0] == 5000
    clucb.warm_start([(0, 1)], [1], [0])
    assert clucb.arrays.params.rounds[0] == 5001 > clucb.arrays.plays.max()
    twice = mb.policy("clucb").warm_start(players.pairs, [1000] * 15, [500] * 15).warm_start([(0, 1)], [1], [0])
    assert twice.build(players).arrays.plays.tolist() == clucb.arrays.plays.tolist()


def test_no_logged_results_are_no_mistake():
    policy = mb.policy("cucb").build(mb.monopartite(4))
    policy.warm_start([], [], [])
    assert policy.arrays.total[0] == 0


@pytest.mark.parametrize("name", [name for name, kind in mb.CATALOGUE.items() if "delta" in kind.option_defaults()])
def test_an_error_probability_that_floats_cannot_tell_is_refused(name):
    kind = mb.CATALOGUE[name]
    graph = mb.bipartite(2, 2) if "bipartite" in kind.capabilities.graphs else mb.monopartite(4)
    with pytest.raises(mb.MatchbanditError, match="delta must be at least 1e-300"):
        mb.policy(name, delta=1e-310).build(graph)
    assert not mb.policy(name, delta=2e-300).build(graph).done  # half of it is left to each phase of pair-select


def test_clucb_with_the_smallest_error_probability_does_not_answer_at_once():
    found = mb.identify(mb.Monopartite([0.5, 0.49, 0.48, 0.47]), mb.policy("clucb", delta=1e-300), max_rounds=2000)
    assert not found.identified.any()


@pytest.mark.parametrize("lam", [0, -1, 1e-320, 1e308, np.nan, "1", [1]])
def test_ols_ucb_refuses_a_lam_that_hides_the_means(lam):
    with pytest.raises(mb.MatchbanditError, match="lam must"):
        mb.policy("ols-ucb", lam=lam).build(mb.monopartite(4))


@pytest.mark.parametrize("sd", [1e-300, 1e200])
def test_a_spread_that_floats_cannot_square_is_refused(sd):
    with pytest.raises(mb.MatchbanditError, match="sd must lie between 1e-100 and 1e100"):
        mb.Gaussian(sd)


def test_certain_rewards_after_very_many_trials_are_no_division_by_zero():
    seen = mb.policy("rank1-thompson").warm_start([(0, 1), (2, 3)], [10**12] * 2, [10**12] * 2)
    policy = seen.build(mb.monopartite(4), rewards=mb.Binomial(10**6))
    assert policy.ask().shape == (2, 2)
    assert np.isfinite(policy.arrays.model.logs).all()


@pytest.mark.parametrize("name", ["rank1-certify", "rank1-thompson"])
@pytest.mark.parametrize("rewards", [mb.Bernoulli(), mb.Binomial(1000)], ids=str)
def test_strengths_that_are_rounded_to_1_are_fitted_again(name, rewards):
    pairs, n = mb.monopartite(4).pairs, 2**52
    options = {} if name == "rank1-thompson" else {"delta": 0.1}
    log = pairs, [n] * 6, [n] * 6
    spec = mb.policy(name, **options).warm_start(*log).warm_start(*log)
    policy = spec.build(mb.monopartite(4), rewards=rewards, seed=1)
    policy = mb.restore(policy.state())
    policy.warm_start(pairs, [1] * 6, [1] * 6)
    assert policy.recommend().shape == (2, 2)
    assert all(0.99 < item["estimate"] <= 1 for item in policy.explain()["items"])


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("exploration-first", {"best": np.array([[0, 1]])}, "best must name two of the players"),
        ("escb", {"exploration": np.array([0, 1])}, "unknown exploration"),
        ("aescb", {"exploration": ["log"]}, "unknown exploration"),
        ("uniform", {"selection": np.array([0, 1])}, "unknown selection of uniform"),
        ("escb", {"version": 3}, "version must be a whole number, between 1 and 2; got 3"),
    ],
)
def test_options_of_another_kind_are_refused_in_one_line(name, options, words):
    with pytest.raises(mb.MatchbanditError, match=words):
        mb.policy(name, **options).build(mb.monopartite(4), horizon=10)


def test_an_odd_number_is_refused_by_name_by_all_who_do_not_let_one_sit_out():
    for name, kind in mb.CATALOGUE.items():
        if "monopartite" not in kind.capabilities.graphs or "matching" not in (
            kind.capabilities.answers,
            *kind.capabilities.selections,
        ):
            continue
        options = {"selection": "matching"} if len(kind.capabilities.selections) > 1 else {}
        if set(kind.capabilities.goals) <= set(kind.capabilities.byes):
            mb.policy(name, **options).build(mb.monopartite(5))
        else:
            with pytest.raises(mb.MatchbanditError, match=f"{name} needs an even number of players; got 5. Leave one"):
                mb.policy(name, **options).build(mb.monopartite(5), horizon=10)
