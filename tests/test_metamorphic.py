"""What must not matter does not: names of items, sides, how a reward is described, the horizon, the workers."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

import matchbandit as mb

PLAYERS = mb.Monopartite([0.9, 0.7, 0.4, 0.1])
IN_TWOS = mb.Monopartite([0.9, 0.9, 0.3, 0.3])
SLOTS = mb.Bipartite([0.9, 0.5], [0.8, 0.6, 0.2])
ANYTIME = [
    name
    for name, kind in mb.CATALOGUE.items()
    if kind.capabilities.goals == ("regret",) and not kind.capabilities.horizon
]
REGRET = [name for name, kind in mb.CATALOGUE.items() if "regret" in kind.capabilities.goals and name != "uniform"]
IDENTIFICATION = [name for name, kind in mb.CATALOGUE.items() if "identification" in kind.capabilities.goals]
ROUNDS = {"regret": 3000, "identification": 10**7}


def instance(name):
    """A small problem that the policy fits."""
    if name == "simple-adaptive-matching":
        return IN_TWOS
    return SLOTS if "monopartite" not in mb.CATALOGUE[name].capabilities.graphs else PLAYERS


def end_of(name, rounds):
    """The number of rounds as `identify` takes it."""
    return {"budget" if mb.CATALOGUE[name].capabilities.fixed_budget else "max_rounds": rounds}


def permuted(problem, seed):
    """The same problem with its items in another order, and the edge there of each pair here."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(problem.graph.shape[0])  # item i is called rows[i] now
    if hasattr(problem, "v"):
        columns = rng.permutation(problem.graph.shape[1])
        other = mb.Bipartite(problem.u[np.argsort(rows)], problem.v[np.argsort(columns)])
        ends = np.stack([rows[problem.graph.pairs[:, 0]], columns[problem.graph.pairs[:, 1]]], axis=1)
    else:
        other = mb.Monopartite(problem.u[np.argsort(rows)])
        ends = rows[problem.graph.pairs]
    return other, problem.graph.edges(ends), rows


@pytest.mark.sampled(5)
@pytest.mark.parametrize("runs", [50, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", REGRET)
def test_permuting_items_permutes_plays(name, runs):
    problem = instance(name)
    other, edges, rows = permuted(problem, seed=1)
    horizon = 10**6 if issubclass(mb.CATALOGUE[name], mb.PlannedPolicy) else ROUNDS["regret"]
    named = {"best": rows[:2].tolist()} if name == "exploration-first" else {}
    one = mb.simulate(problem, name, horizon=horizon, runs=runs, seed=1)
    two = mb.simulate(other, mb.policy(name, **named), horizon=horizon, runs=runs, seed=2)
    assert ks_2samp(one.final, two.final).pvalue > 1e-4
    for edge, there in enumerate(edges):
        plays, plays_there = one.plays_by_edge[:, edge], two.plays_by_edge[:, there]
        if np.ptp(plays) or np.ptp(plays_there):
            assert ks_2samp(plays, plays_there).pvalue > 1e-5, f"pair {problem.graph.pairs[edge]}"
        else:
            assert plays[0] == plays_there[0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", IDENTIFICATION)
def test_permuting_items_permutes_answers(name):
    problem = instance(name)
    other, edges, _ = permuted(problem, seed=3)
    settings = end_of(name, ROUNDS["identification"])
    settings |= {} if "budget" in settings else {"delta": 0.1}
    one = mb.identify(problem, name, runs=40, seed=1, **settings)
    two = mb.identify(other, name, runs=40, seed=2, **settings)
    assert ks_2samp(one.rounds, two.rounds).pvalue > 1e-4
    there = set(edges[problem.graph.edges(problem.best(one.about["answers"]))].tolist())
    assert set(other.graph.edges(other.best(one.about["answers"])).tolist()) == there


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [*REGRET, *(n for n in IDENTIFICATION if n not in REGRET)])
def test_one_trial_of_a_binomial_is_a_bernoulli(name):
    problem = instance(name)
    same = type(problem)(*(getattr(problem, side) for side in ("u", "v") if hasattr(problem, side)),
                         rewards=mb.Binomial(trials=1))  # fmt: skip
    if name in REGRET:
        one, two = (mb.simulate(p, name, horizon=1500, runs=2, seed=4) for p in (problem, same))
        assert np.array_equal(one.plays_by_edge, two.plays_by_edge)
    else:
        one, two = (mb.identify(p, name, runs=2, seed=4, **end_of(name, 10**5)) for p in (problem, same))
        assert np.array_equal(one.rounds, two.rounds)
        assert np.array_equal(one.answers, two.answers)


@pytest.mark.parametrize("name", ANYTIME)
def test_a_longer_horizon_changes_nothing_before(name):
    problem = instance(name)
    short = mb.simulate(problem, name, horizon=400, runs=2, seed=5)
    long = mb.simulate(problem, name, horizon=900, runs=2, seed=5, checkpoints=[400])
    assert np.array_equal(short.regret[:, -1], long.regret[:, 0])


@pytest.mark.parametrize("name", ["kl-ucb", "rank1-thompson", "rank1-elim"])
@pytest.mark.sampled(1)
def test_rows_and_columns_can_be_exchanged(name):
    turned = mb.Bipartite(SLOTS.v, SLOTS.u)
    one, two = (mb.simulate(p, name, horizon=3000, runs=70, seed=s) for s, p in enumerate((SLOTS, turned)))
    assert ks_2samp(one.final, two.final).pvalue > 1e-4


@pytest.mark.parametrize("name", ["pair-elim", "rank1-thompson"])
def test_the_number_of_workers_changes_nothing(name):
    problem = instance(name)
    one, two = (mb.simulate(problem, name, horizon=2000, runs=5, seed=6, workers=w) for w in (1, 2))
    assert np.array_equal(one.regret, two.regret)
    assert np.array_equal(one.plays_by_edge, two.plays_by_edge)
