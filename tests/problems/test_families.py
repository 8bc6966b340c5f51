import json
from math import inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import bipartite, monopartite
from matchbandit.problems import FAMILIES, Bipartite, Monopartite, family
from matchbandit.rewards import Bernoulli, Gaussian
from matchbandit.simulation import simulate

SPIKED = {"n": 8, "u1": 0.9, "gap": 0.75}
FIXED_MEAN = {"n": 8, "u1": 0.7, "mean": 0.2}
STAIRCASE = {"n": 5, "gap": 0.1}
CENTRED = {"n": 4, "mean": 0.5, "gap": 0.1}
REPEATED = {**SPIKED, "repeats": 3}
HALF, FADING = {"n": 5, "u1": 0.9}, {"n": 5, "u1": 0.9, "low": 0.05}
TWO_BEST, EQUAL_PAIRS = {"n": 4, "u1": 0.95, "second": 0.2, "third": 0.9}, {"n": 3, "top": 0.9, "bottom": 0.3}
CLICK_MODEL = {"model": "kdd:10", "shuffle": "all"}
every_family = pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("spiked", SPIKED),
        ("spiked-repeated", REPEATED),
        ("fixed-mean", FIXED_MEAN),
        ("half", HALF),
        ("fading", FADING),
        ("staircase", STAIRCASE),
        ("centred", CENTRED),
        ("two-best", TWO_BEST),
        ("equal-pairs", EQUAL_PAIRS),
        ("click-model", CLICK_MODEL),
    ],
)
# The family, and the upper end of the law of the others: 2 (u1 − gap), and 2 (N mean − u1)/(N − 1).
with_others = pytest.mark.parametrize(
    ("name", "parameters", "top"),
    [("spiked", SPIKED, 0.3), ("spiked", {"n": 8, "u1": 0.6, "gap": 0.1}, 1.0), ("fixed-mean", FIXED_MEAN, 1.8 / 7)],
)


@with_others
def test_the_first_row_and_column_are_given_and_the_others_sorted_below_the_top(name, parameters, top):
    drawn = family(name, **parameters)
    for run in range(50):
        problem = drawn.draw(seed=1, run=run)
        assert isinstance(problem, Bipartite)
        for strengths in (problem.u, problem.v):
            assert len(strengths) == parameters["n"]
            assert strengths[0] == parameters["u1"]
            assert (np.diff(strengths[1:]) <= 0).all()
            assert (strengths[1:] >= 0).all()
            assert (strengths[1:] <= top).all()


@with_others
@pytest.mark.sampled(1)
def test_the_others_are_uniform(name, parameters, top):
    drawn = [family(name, **parameters).draw(seed=2, run=run) for run in range(2000)]
    for side in ([p.u for p in drawn], [p.v for p in drawn]):
        others = np.concatenate([strengths[1:] for strengths in side])
        assert stats.kstest(others / top, "uniform").pvalue > 1e-3


def test_rows_and_columns_and_runs_are_drawn_independently():
    drawn = [family("spiked", **SPIKED).draw(seed=3, run=run) for run in range(2000)]
    rows, columns = np.array([p.u[1:].sum() for p in drawn]), np.array([p.v[1:].sum() for p in drawn])
    assert abs(np.corrcoef(rows, columns)[0, 1]) < 4 / sqrt(2000)
    assert abs(np.corrcoef(rows[:-1], rows[1:])[0, 1]) < 4 / sqrt(2000)


def test_the_expected_gap_of_a_spiked_instance_is_the_gap():
    drawn = [family("spiked", **SPIKED).draw(seed=4, run=run) for run in range(1000)]
    gaps = np.concatenate([p.u[0] - p.u[1:] for p in drawn])
    assert abs(gaps.mean() - 0.75) < 4 * 0.3 / sqrt(12 * len(gaps))


@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_expected_mean_of_a_fixed_mean_instance_is_the_mean(n):
    u1 = mean = 0.3
    drawn = [family("fixed-mean", n=n, u1=u1, mean=mean).draw(seed=5, run=run) for run in range(1000)]
    average = np.mean([[p.u.mean(), p.v.mean()] for p in drawn])
    top = 2 * (n * mean - u1) / (n - 1)
    assert abs(average - mean) < 4 * top * sqrt((n - 1) / 12) / n / sqrt(2000)


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 12), st.floats(0, 1))
def test_a_staircase_has_two_players_on_each_step(n, share):
    gap = share / max(1, n - 1)
    problem = family("staircase", n=n, gap=gap).draw()
    expected = [(n - i) * gap for i in range(1, n + 1) for _ in (1, 2)]
    assert isinstance(problem, Monopartite)
    assert np.allclose(problem.u, expected, rtol=0, atol=1e-11)


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 12), st.floats(0, 1), st.floats(0, 1))
def test_a_centred_instance_has_steps_on_both_sides_of_its_mean(n, mean, share):
    gap = share * min(mean, 1 - mean) * 2 / max(1, n - 1)
    problem = family("centred", n=n, mean=mean, gap=gap).draw()
    expected = [mean + (n + 1 - 2 * i) * gap / 2 for i in range(1, n + 1) for _ in (1, 2)]
    assert isinstance(problem, Monopartite)
    assert np.allclose(problem.u, expected, rtol=0, atol=1e-11)
    assert abs(problem.u.mean() - mean) < 1e-11


def test_the_instances_of_figures_two_and_three_by_hand():
    assert family("staircase", n=3, gap=0.1).draw().u.tolist() == [0.2, 0.2, 0.1, 0.1, 0.0, 0.0]
    assert (
        family("centred", n=4, mean=0.5, gap=0.1).draw().u.tolist() == [0.65] * 2 + [0.55] * 2 + [0.45] * 2 + [0.35] * 2
    )


@pytest.mark.parametrize("n", range(2, 60))
def test_a_staircase_may_reach_one(n):
    assert family("staircase", n=n, gap=1 / (n - 1)).draw().u.max() == 1


@every_family
def test_the_same_seed_and_run_give_the_same_instance(name, parameters):
    one, again = family(name, **parameters), family(name, **parameters)
    again.draw(seed=8, run=1)
    assert one.draw(seed=7, run=3).describe() == again.draw(seed=7, run=3).describe()
    assert one.draw().describe() == one.draw(seed=0, run=0).describe()


@with_others
def test_another_run_or_seed_gives_another_instance(name, parameters, top):
    drawn = family(name, **parameters)
    instances = [drawn.draw(seed, run) for seed in (0, 1) for run in (0, 1, 2)]
    sides = [tuple(strengths.tolist()) for p in instances for strengths in (p.u, p.v)]
    assert len(set(sides)) == 12


def test_a_run_counted_by_numpy_is_the_same_instance():
    drawn = family("spiked", **SPIKED)
    assert drawn.draw(seed=7, run=np.int64(3)).describe() == drawn.draw(seed=7, run=3).describe()


@pytest.mark.parametrize(("name", "parameters"), [("staircase", STAIRCASE), ("centred", CENTRED)])
def test_nothing_is_random_in_a_family_of_players(name, parameters):
    drawn = family(name, **parameters)
    assert drawn.draw(seed=1, run=5).describe() == drawn.draw(seed=2, run=9).describe()


def test_a_bad_seed_is_refused():
    with pytest.raises(MatchbanditError, match=r"^seed must be a whole number, at least 0; got -1\."):
        family("spiked", **SPIKED).draw(seed=-1)


@every_family
def test_the_law_of_the_rewards_is_passed_on(name, parameters):
    assert family(name, **parameters).draw().rewards == Bernoulli()
    assert family(name, rewards=Gaussian(0.3), **parameters).draw().rewards == Gaussian(0.3)


@every_family
def test_the_graph_is_that_of_every_instance(name, parameters):
    n = parameters.get("n", 0)
    of_slots = name in ("spiked", "spiked-repeated", "fixed-mean", "half", "fading")
    expected = bipartite(6, 3) if name == "click-model" else bipartite(n, n) if of_slots else monopartite(2 * n)
    drawn = family(name, **parameters)
    assert drawn.graph == drawn.draw(seed=3, run=2).graph == expected


@every_family
def test_a_family_is_described_as_plain_data(name, parameters):
    described = json.loads(json.dumps(family(name, rewards=Gaussian(0.3), **parameters).describe()))
    assert described == {"family": name, "parameters": parameters, "rewards": {"name": "gaussian", "sd": 0.3}}


def test_parameters_from_numpy_are_described_as_plain_data_too():
    described = family("staircase", n=np.int64(3), gap=np.float32(0.25)).describe()
    assert json.loads(json.dumps(described))["parameters"] == {"n": 3, "gap": 0.25}


def test_the_families_are_those_of_the_paper_and_of_our_studies():
    assert list(FAMILIES) == [
        "spiked", "spiked-repeated", "fixed-mean", "half", "fading", "staircase", "centred", "two-best", "equal-pairs",
        "click-model",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("spiked", {"n": 1, "u1": 0.9, "gap": 0.75}),
        ("spiked", {"n": 3, "u1": 0.9, "gap": 0.9}),
        ("spiked", {"n": 3, "u1": 0.9, "gap": 0.4}),
        ("spiked", {"n": 3, "u1": 0.3, "gap": 0}),
        ("spiked", {"n": 3, "u1": 1, "gap": 0.5}),
        ("spiked", {"n": 3.0, "u1": np.float64(0.9), "gap": 0.5}),
        ("fixed-mean", {"n": 4, "u1": 0.5, "mean": 0.125}),
        ("fixed-mean", {"n": 4, "u1": 0.5, "mean": 0.5}),
        ("staircase", {"n": 1, "gap": 0.5}),
        ("staircase", {"n": 11, "gap": 0.1}),
        ("centred", {"n": 1, "mean": 1, "gap": 3}),
        ("centred", {"n": 11, "mean": 0.5, "gap": 0.1}),
    ],
)
def test_parameters_at_their_bounds_are_taken(name, parameters):
    problem = family(name, **parameters).draw()
    assert problem.graph.shape[0] == parameters["n"] * (1 if isinstance(problem, Bipartite) else 2)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("u1", [0.3, 0.6, 0.9])
def test_rounding_errors_at_the_bounds_of_the_mean_are_not_the_users_mistake(n, u1):
    others_all_zero = family("fixed-mean", n=n, u1=u1, mean=u1 / n).draw()
    assert np.allclose(others_all_zero.u[1:], 0)
    others_up_to_one = family("fixed-mean", n=n, u1=u1, mean=(u1 + (n - 1) / 2) / n).draw()
    assert others_up_to_one.u.max() <= 1


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("spiked", {**SPIKED, "n": 0}, "n must be a whole number, at least 1; got 0."),
        ("spiked", {**SPIKED, "n": 2.5}, "n must be a whole number, at least 1; got 2.5."),
        ("spiked", {**SPIKED, "u1": 1.5}, "u1 must lie in [0, 1]; got 1.5."),
        ("spiked", {**SPIKED, "u1": "high"}, "u1 must be a number; got 'high'."),
        ("spiked", {**SPIKED, "u1": nan}, "u1 must be a number; got nan."),
        ("spiked", {**SPIKED, "gap": -0.1}, "gap must lie in [0, 1]; got -0.1."),
        ("spiked", {**SPIKED, "gap": True}, "gap must be a number; got True."),
        ("spiked", {**SPIKED, "gap": 0.95}, "gap must lie between u1 − 1/2 and u1, "),
        ("spiked", {**SPIKED, "gap": 0.3}, "gap must lie between u1 − 1/2 and u1, "),
        ("fixed-mean", {**FIXED_MEAN, "n": 1}, "n must be a whole number, at least 2; got 1."),
        ("fixed-mean", {**FIXED_MEAN, "mean": 0.08}, "mean must lie between u1/n and (u1 + (n − 1)/2)/n, "),
        ("fixed-mean", {**FIXED_MEAN, "mean": 0.6}, "mean must lie between u1/n and (u1 + (n − 1)/2)/n, "),
        ("fixed-mean", {**FIXED_MEAN, "mean": None}, "mean must be a number; got None."),
        ("staircase", {**STAIRCASE, "n": 0}, "n must be a whole number, at least 1; got 0."),
        ("staircase", {**STAIRCASE, "gap": inf}, "gap must be a number; got inf."),
        ("staircase", {**STAIRCASE, "gap": 0.3}, "gap must lie in [0, 1/(n − 1)]; got 0.3 with n = 5."),
        ("staircase", {**STAIRCASE, "gap": -0.1}, "gap must lie in [0, 1/(n − 1)]; got -0.1 with n = 5."),
        ("centred", {**CENTRED, "n": True}, "n must be a whole number, at least 1; got True."),
        ("centred", {**CENTRED, "mean": 0.9}, "mean ± (n − 1) gap/2 must lie in [0, 1]; got 0.9 ± 0.15."),
        ("centred", {**CENTRED, "mean": 0.1}, "mean ± (n − 1) gap/2 must lie in [0, 1]; got 0.1 ± 0.15."),
    ],
)
def test_a_bad_value_is_refused_when_the_family_is_named(name, parameters, words):
    with pytest.raises(MatchbanditError) as refusal:
        family(name, **parameters)
    assert str(refusal.value).startswith(words)


def test_an_unknown_family_is_refused():
    with pytest.raises(
        MatchbanditError,
        match=r"^unknown family 'spike'; did you mean 'spiked'\? Known: spiked, spiked-",
    ):
        family("spike", **SPIKED)


@pytest.mark.parametrize("given", ["gaps", "rng"])
def test_an_unknown_parameter_is_refused(given):
    with pytest.raises(MatchbanditError, match=rf"^unknown parameter of spiked '{given}'.*Known: n, u1, gap\.$"):
        family("spiked", **SPIKED, **{given: 1})


def test_missing_parameters_are_named():
    with pytest.raises(MatchbanditError, match=r"^the family spiked needs n, u1, gap; missing: u1, gap\.$"):
        family("spiked", n=8)


@pytest.mark.parametrize("name", ["spiked", "staircase"])
def test_a_family_of_many_items_is_cheap_and_one_of_too_many_is_refused(name):
    parameters = {"spiked": {"u1": 0.9, "gap": 0.75}, "staircase": {"gap": 0.0}}[name]
    assert family(name, n=20_000, **parameters).graph.n_pairs > 10**8
    with pytest.raises(MatchbanditError, match=r"^n must be at most 10000000, .*; got 1000000000000\.$"):
        family(name, n=10**12, **parameters)


@pytest.mark.parametrize("policy", ["pair-elim", "uniform", "kl-ucb"])
def test_what_does_not_fit_the_memory_is_refused_before_a_policy_is_built(policy):
    refused = r"^bipartite 20000×20000 has 400000000 pairs, .* Use fewer items, or rank1-thompson, which keeps only"
    with pytest.raises(MatchbanditError, match=refused):
        simulate(family("spiked", n=20_000, u1=0.9, gap=0.75), policy, horizon=1000)


def test_equal_families_are_equal_and_have_equal_hashes():
    spikes = family("spiked", **SPIKED)
    again = family("spiked", n=8.0, gap=np.float64(0.75), u1=0.9)
    assert spikes == again
    assert hash(spikes) == hash(again)
    assert {spikes: "spikes"}[again] == "spikes"
    others = [family("spiked", **{**SPIKED, "n": 7}), family("spiked", rewards=Gaussian(0.5), **SPIKED)]
    assert len({spikes, again, *others, family("half", **HALF)}) == 4


def drawn_from_strengths(strengths, *, rewards, rng):
    return Monopartite(strengths, rewards=rewards)


def test_a_family_with_a_list_among_its_parameters_has_a_hash_too():
    one, again = (family(f"{__name__}:drawn_from_strengths", strengths=[0.9, k]) for k in (0, 0.0))
    assert one == again
    assert hash(one) == hash(again)


def test_what_is_no_reward_distribution_is_refused():
    with pytest.raises(MatchbanditError, match=r"^rewards must be a distribution such as Bernoulli\(\)"):
        family("staircase", rewards="bernoulli", **STAIRCASE)


def test_the_instances_of_our_studies_by_hand():
    half = family("half", n=3, u1=0.9).draw()
    assert half.u.tolist() == half.v.tolist() == [0.9, 0.45, 0.45]
    fading = family("fading", n=4, u1=0.8, low=0.1).draw()
    assert np.allclose(fading.u, [0.8, 0.4, 0.25, 0.1], rtol=0, atol=1e-15)
    assert np.array_equal(fading.u, fading.v)
    assert family("two-best", n=3, u1=0.8, second=0.5, third=0.75).draw().u.tolist() == pytest.approx(
        [0.8, 0.4, 0.3, 0.2, 0.1, 0.0]
    )
    pairs = family("equal-pairs", n=3, top=0.9, bottom=0.3).draw()
    assert np.allclose(pairs.u, [0.9, 0.9, 0.6, 0.6, 0.3, 0.3])


def test_runs_in_a_row_share_an_instance_where_it_is_repeated():
    repeated = family("spiked-repeated", **REPEATED)
    drawn = [repeated.draw(seed=2, run=run) for run in range(9)]
    for first in (0, 3, 6):
        assert {(*p.u, *p.v) for p in drawn[first : first + 3]} == {(*drawn[first].u, *drawn[first].v)}
    assert len({tuple(p.u) for p in drawn}) == 3
    assert all(p.u[0] == 0.9 and (p.u[1:] <= 0.3).all() for p in drawn)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("spiked-repeated", {**REPEATED, "repeats": 0}, "repeats must be a whole number, at least 1; got 0."),
        ("spiked-repeated", {**REPEATED, "repeats": 2.5}, "repeats must be a whole number, at least 1; got 2.5."),
        ("half", {**HALF, "u1": 1.5}, "u1 must lie in [0, 1]; got 1.5."),
        ("fading", {**FADING, "low": 0.5}, "low must be at most u1/2, where the others begin; got 0.5 with u1 = 0.9."),
        ("fading", {**FADING, "low": -0.1}, "low must lie in [0, 1]; got -0.1."),
        ("two-best", {**TWO_BEST, "second": 1.2}, "second must lie in [0, 1]; got 1.2."),
        ("two-best", {**TWO_BEST, "n": 1}, "n must be a whole number, at least 2; got 1. There are players besides"),
        ("equal-pairs", {**EQUAL_PAIRS, "top": 2}, "top must lie in [0, 1]; got 2."),
    ],
)
def test_bad_parameters_of_our_studies_families_are_refused(name, parameters, words):
    with pytest.raises(MatchbanditError) as refusal:
        family(name, **parameters)
    assert str(refusal.value).startswith(words)
