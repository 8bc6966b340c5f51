"""Likelihood ratios against scipy, proportions against T*, tracking by hand, and rounds near their limit."""

from math import ceil, log, sqrt

import numpy as np
import pytest
from scipy.optimize import minimize

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.simulation.engines import DrawnRewards, jump
from matchbandit.simulation.score import Score
from matchbandit.theory import characteristic_time

NAME = "rank1-track-and-stop"
LAWS = [mb.Bernoulli(), mb.Gaussian(0.4), mb.Binomial(3)]
FOUR = mb.Monopartite([0.9, 0.8, 0.4, 0.3])
SLOTS = mb.Bipartite([0.8, 0.5, 0.3], [0.9, 0.7, 0.2])


def built(graph, law=None, *, plays=None, means=None, **options):
    """The policy, with this number of plays of each pair and averages near these means."""
    spec = mb.policy(NAME, **options)
    if plays is not None:
        trials = max(1, (law or mb.Bernoulli()).noise.trials)
        sums = np.rint(np.multiply(plays, means) * trials) / trials
        spec = spec.warm_start(graph.pairs, plays, sums)
    return spec.build(graph, rewards=law, seed=1)


def deviance(policy, link=None):
    """The least Σ n kl(average, product of strengths), by SLSQP in the strengths; with a link, these two are equal."""
    graph, law = policy.graph, policy.setting.rewards
    averages, ends = policy.sums / policy.plays, graph.items_of(graph.pairs)

    def cost(u):
        products = u[ends].prod(axis=1)
        return sum(n * law.kl(p, q) for n, p, q in zip(policy.plays, averages, products, strict=True)) / scale

    scale = policy.plays.sum()
    equal = [] if link is None else [{"type": "eq", "fun": lambda u: u[link[0]] - u[link[1]]}]
    starts = [policy.strengths, np.full(graph.n_items, 0.5), np.sqrt(policy.strengths)]
    bounds = [(1e-6, 1 - 1e-9)] * graph.n_items
    found = [
        minimize(cost, u, method="SLSQP", bounds=bounds, constraints=equal, options={"ftol": 1e-15, "maxiter": 500})
        for u in starts
    ]
    return min(each.fun for each in found) * scale


def ratios(policy):
    """Z of every two items of a side, by scipy."""
    sides = np.split(np.arange(policy.graph.n_items), [policy.graph.n_rows])
    best = deviance(policy)
    return {(a, b): deviance(policy, (a, b)) - best for side in sides for a in side for b in side if a < b}


def rivals(policy):
    first = policy.graph.n_rows
    return {
        tuple(sorted((r["above"] + first * (r["side"] == "column"), r["below"] + first * (r["side"] == "column")))): r
        for r in policy.explain()["details"]["rivals"]
    }


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("problem", [FOUR, SLOTS], ids=["players", "slots"])
def test_likelihood_ratios_are_those_of_scipy(problem, law):
    """Averages that are not products, and plays that differ by powers of ten."""
    rng = np.random.default_rng(3)
    plays = rng.integers(5, 3000, problem.graph.n_pairs)
    means = np.clip(problem.means + rng.normal(0, 0.05, len(plays)), 0.02, 0.98)
    policy = built(problem.graph, law, plays=plays, means=means, selection="matching")
    by_scipy, ours = ratios(policy), rivals(policy)
    for link, record in ours.items():
        assert record["log_evidence"] == pytest.approx(by_scipy[link], rel=1e-4, abs=1e-3)
    expected = {(0, 2), (0, 3), (1, 2), (1, 3)} if problem is FOUR else {(0, 1), (1, 2), (3, 4), (4, 5)}
    assert set(ours) == expected  # only neighbours in the order


@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_it_is_done_when_the_least_ratio_passes_the_threshold(factor):
    """At a δ just above and just below the one whose threshold is the least of scipy's ratios."""
    plays = np.full(6, 60)
    policy = built(FOUR.graph, plays=plays, means=FOUR.means)
    by_scipy = ratios(policy)
    least = min(by_scipy[link] for link in ((0, 2), (0, 3), (1, 2), (1, 3)))
    delta = (1 + log(360)) * np.exp(-factor * least)
    assert policy.threshold == pytest.approx(log((1 + log(360)) / 0.05))
    assert built(FOUR.graph, plays=plays, means=FOUR.means, delta=delta).done is (factor < 1)


@pytest.mark.parametrize(("problem", "selection"), [(FOUR, "matching"), (FOUR, "pair"), (SLOTS, "pair")])
@pytest.mark.parametrize("law", LAWS[:2], ids=lambda law: law.name)
def test_proportions_attain_the_characteristic_time(problem, selection, law):
    """With averages that are the means, plays in the proportions give each Z at n plays; n/Z is the time, to 6 %."""
    make = mb.Bipartite if problem is SLOTS else mb.Monopartite
    problem = make(*([SLOTS.u, SLOTS.v] if problem is SLOTS else [FOUR.u]), rewards=law)
    policy = built(
        problem.graph, law, plays=np.full(problem.graph.n_pairs, 10**6), means=problem.means,
        selection=selection, delta=1e-300,
    )  # fmt: skip
    policy.is_decided, policy.computed_at = False, 0.0
    policy.proportions = policy._optimal_proportions()
    assert policy.proportions.sum() == pytest.approx(policy.round_size)
    policy.plays = np.maximum(1e6 * policy.proportions, 1e-6)
    policy.sums = policy.plays * problem.means
    rounds = 1e6 / min(deviance(policy, link) for link in policy._links().tolist())
    least = characteristic_time(problem, plays=selection, seeks=selection).value
    assert 0.998 * least <= rounds <= 1.06 * least


def test_every_pair_meets_first_and_then_what_is_behind_is_played():
    policy = built(FOUR.graph)
    first = [policy.ask().tolist()]
    for _ in range(2):
        policy.tell(policy.ask(), [1, 0])
        first.append(policy.ask().tolist())
    assert sorted(pair for matching in first for pair in matching) == FOUR.graph.pairs.tolist()
    policy.plays, policy.sums = np.array([10, 5, 1, 1, 5, 10]), np.zeros(6)
    policy.proportions = np.array([0.5, 0.5, 0, 0, 0.5, 0.5])  # 8 of 16 rounds each; √16 − 3 = 1 play is enough,
    assert policy._track(3) == ([1, 2, 1], [1, 1, 1])  # and √17 − 3 is more
    policy.plays = np.array([30, 19, 1, 1, 19, 30])  # √50 − 3 = 4.07…: three plays are missing, and then one more
    assert policy._track(6) == ([2, 1, 1], [4, 1, 1])


def test_pairs_are_tracked_in_their_proportions_and_none_is_forgotten():
    """After 10^5 rounds on ties, which are never decided."""
    policy, problem = built(mb.monopartite(4)), mb.Monopartite([0.9, 0.6, 0.6, 0.3])
    score = Score(problem, "matching", np.array([10**9]))
    jump(policy, DrawnRewards(problem, np.random.default_rng(2)), score, lambda p: p.done or p.sampled >= 10**5)
    t = policy.sampled
    assert not policy.done
    assert policy.plays.min() >= sqrt(t / 1.1) - 3
    assert abs(policy.plays / t - policy.proportions).max() < 0.1


@pytest.mark.parametrize("delta", [1e-30, 1e-100])
@pytest.mark.slow
def test_rounds_come_near_the_characteristic_time(delta):
    """Four runs: their mean is within a fifth of T* log(1/δ)."""
    found = mb.identify(FOUR, mb.policy(NAME, delta=delta), runs=4, seed=1)
    limit = characteristic_time(FOUR, plays="matching", seeks="matching").value * log(1 / delta)
    assert found.correct.all()
    assert 0.9 < found.rounds.mean() / limit < 1.2


@pytest.mark.parametrize(
    ("problem", "options", "runs"),
    [
        (FOUR, {}, 10),
        pytest.param(FOUR, {}, 300, marks=pytest.mark.slow),
        pytest.param(mb.Monopartite([0.5, 0.4, 0.3, 0.1]), {"selection": "pair"}, 200, marks=pytest.mark.slow),
        pytest.param(SLOTS, {"selection": "matching"}, 200, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_it_errs_no_more_often_than_it_may(problem, options, runs):
    """δ = 0.1, and four standard errors."""
    found = mb.identify(problem, mb.policy(NAME, delta=0.1, **options), runs=runs, seed=2, max_rounds=10**6)
    wrong = float(1 - found.correct.mean())
    assert wrong <= 0.1 + 4 * sqrt(0.09 / runs)
    if runs > 100:
        assert wrong <= 0.1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("selection", ["pair", "matching"])
def test_ties_zeros_and_ones_never_crash(selection, law):
    for problem in (
        mb.Monopartite([0.0, 0.0, 0.0, 0.0], rewards=law),
        mb.Monopartite([1.0, 1.0, 0.0, 0.0], rewards=law),
        mb.Bipartite([1.0, 1.0], [0.001, 0.001], rewards=law),
    ):
        spec = mb.policy(NAME, selection=selection)
        found = mb.identify(problem, spec, runs=1, seed=1, max_rounds=2000)
        assert found.rounds[0] == 2000 or problem.tie(selection) is None


def test_weak_strengths_are_identified():
    found = mb.identify(mb.Monopartite([0.1, 0.08, 0.02, 0.01]), mb.policy(NAME, selection="pair"), runs=2, seed=1)
    assert found.correct.all()


def test_an_odd_number_of_players_leaves_the_weakest_out():
    five = mb.Monopartite([0.95, 0.1, 0.9, 0.4, 0.5])
    found = mb.identify(five, mb.policy(NAME, selection="matching"), runs=2, seed=1)
    assert found.correct.all()


def test_nothing_is_played_where_there_is_one_answer():
    assert built(mb.bipartite(1, 1)).done
    assert built(mb.monopartite(2)).done


def test_a_restored_policy_plays_the_same():
    policy, rng = built(SLOTS.graph, selection="matching"), np.random.default_rng(5)
    for k in range(70):
        if k == 40:
            twin = mb.restore(policy.state())
        rewards = (rng.random(3) < 0.5).astype(float)
        policy.tell(policy.ask(), rewards)
        if k >= 40:
            twin.tell(twin.ask(), rewards)
            assert (twin.ask() == policy.ask()).all()
    assert (twin.plays == policy.plays).all()
    assert (twin.proportions == policy.proportions).all()


@pytest.mark.slow
def test_both_engines_need_as_many_rounds():
    """Mean rounds of 8 runs each differ by less than four standard errors."""
    rounds = [
        mb.identify(FOUR, mb.policy(NAME, delta=0.2), runs=8, seed=3, engine=engine).rounds
        for engine in ("step", "jump")
    ]
    error = sqrt(sum(each.var(ddof=1) / len(each) for each in rounds))
    assert abs(rounds[0].mean() - rounds[1].mean()) < 4 * error


def test_what_is_too_large_is_refused_with_a_way_out():
    with pytest.raises(MatchbanditError, match=r"supports at most 16 items; got 17. Use rank1-certify for more"):
        built(mb.monopartite(17), selection="pair")
    with pytest.raises(MatchbanditError, match=r"has more than 1000 of them .*Use rank1-certify for more"):
        built(mb.monopartite(12), selection="matching")


def test_a_batch_is_a_twentieth_of_the_rounds():
    policy = built(FOUR.graph, plays=np.full(6, 100), means=np.full(6, 0.3))
    assert policy.sampled == 300
    assert policy.current.limit == ceil(300 / 20)
