"""Two engines, one law: `step` plays round by round, `jump` leaps; what comes out must not tell which it was."""

from functools import cache
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.outcomes import out_at
from reference.tape import Tape
from scipy.stats import ks_2samp

import matchbandit as mb
from matchbandit.simulation.engines import jump, step
from matchbandit.simulation.play import Job
from matchbandit.simulation.score import Score

SLOTS = mb.Bipartite([0.9, 0.3, 0.2], [0.4, 0.8, 0.1, 0.1])
CONFIGURATIONS = [
    ("pair-elim", {}, mb.Bernoulli()),
    ("pair-elim", {"growth": 1.2}, mb.Bernoulli()),
    ("pair-elim", {"growth": 1.5, "cap_windows": True}, mb.Gaussian(0.4)),
    ("rank1-elim", {}, mb.Bernoulli()),
]
QUICK_CONFIGURATIONS = [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow), 2, 3]


def both_engines(problem, spec, checkpoints, tape):
    """The same policy on the same tape of rewards, with each engine: (policy, score) twice."""
    played = []
    for engine in (step, jump):
        policy = spec.build(problem.graph, rewards=problem.rewards, horizon=checkpoints[-1], seed=1)
        score = Score(problem, policy.selection, np.array(checkpoints))
        engine(policy, tape(), score)
        played.append((policy, score))
    return played


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n_items=st.sampled_from([2, 4, 6]),
    selection=st.sampled_from(["pair", "matching"]),
    checkpoints=st.lists(st.integers(1, 300), min_size=1, max_size=6, unique=True).map(sorted),
    seed=st.integers(0, 9),
)
def test_deterministic_schedules_agree_exactly_on_the_same_tape(n_items, selection, checkpoints, seed):
    u = np.random.default_rng(seed).random(n_items)
    problem = mb.Monopartite(u)
    (slow, slow_score), (fast, fast_score) = both_engines(
        problem,
        mb.policy("uniform", selection=selection),
        checkpoints,
        lambda: Tape.bernoulli(problem.means, 400, seed),
    )
    assert slow_score.plays.tolist() == fast_score.plays.tolist()
    assert slow_score.regret.tolist() == fast_score.regret.tolist()
    assert slow.state() == fast.state()
    tape = Tape.bernoulli(problem.means, 400, seed).rewards
    paid = [rewards[:n].sum() for rewards, n in zip(tape, slow_score.plays, strict=True)]
    assert slow_score.sums.tolist() == fast_score.sums.tolist() == paid


def test_one_row_and_one_column_agree_exactly_through_the_windows():
    problem = mb.Bipartite([0.5], [0.5])
    ones = np.ones((1, 5000))
    (slow, slow_score), (fast, fast_score) = both_engines(
        problem, mb.policy("pair-elim"), [1, 27, 28, 29, 3000, 3001], lambda: Tape(ones)
    )
    assert slow_score.regret.tolist() == fast_score.regret.tolist() == [0.0] * 6
    assert slow.window.number == fast.window.number == 4
    assert slow.window.samples == fast.window.samples
    assert fast.rounds == 3000  # the horizon cuts a sweep of two rounds: only whole sweeps are booked


@pytest.fixture(scope="module")
def played():
    """Regret, plays and elimination times of many runs of a configuration with an engine, played when first used."""
    horizon = 3000

    @cache
    def outcome(k, engine):
        name, options, law = CONFIGURATIONS[k]
        problem = mb.Bipartite([1.0, 0.25, 0.1], [0.1, 1.0], rewards=law)
        # Different seeds: shared streams would make the two samples dependent.
        runs, seed = (30, 100) if engine == "step" else (200, 101)
        job = Job(problem, mb.policy(name, **options), np.array([600, horizon]), seed, engine, horizon)
        ends = [job.play(run) for run in range(runs)]
        return {
            "regret": np.array([score.regret for _, score in ends]),
            "plays": np.array([score.plays for _, score in ends]),
            "out": np.array([out_at(policy, "row") for policy, _ in ends]),
            "columns": np.array([out_at(policy, "column") for policy, _ in ends]),
        }

    return outcome


@pytest.mark.slow
@pytest.mark.parametrize("k", QUICK_CONFIGURATIONS)
def test_step_and_jump_have_the_same_regret(played, k):
    for at in range(2):
        assert ks_2samp(played(k, "step")["regret"][:, at], played(k, "jump")["regret"][:, at]).pvalue > 1e-3


@pytest.mark.parametrize("k", QUICK_CONFIGURATIONS)
@pytest.mark.slow
def test_step_and_jump_play_each_pair_equally_often(played, k):
    slow, fast = played(k, "step")["plays"], played(k, "jump")["plays"]
    assert (slow.sum(axis=1) == 3000).all()
    assert (fast.sum(axis=1) == 3000).all()
    smallest = min(ks_2samp(slow[:, e], fast[:, e]).pvalue for e in range(6))
    assert smallest > 1e-3 / 6


@pytest.mark.parametrize("k", QUICK_CONFIGURATIONS)
@pytest.mark.parametrize("side", ["out", "columns"])
@pytest.mark.slow
def test_step_and_jump_eliminate_at_the_same_times(played, k, side):
    slow, fast = played(k, "step")[side], played(k, "jump")[side]
    assert (slow >= 0).any()
    smallest = min(ks_2samp(slow[:, i], fast[:, i]).pvalue for i in range(slow.shape[1]))
    assert smallest > 1e-3 / slow.shape[1]


@pytest.mark.slow
@pytest.mark.parametrize("k", range(len(CONFIGURATIONS)))
def test_step_and_jump_agree_over_many_runs(k):
    name, options, law = CONFIGURATIONS[k]
    problem = mb.Bipartite([0.9, 0.5, 0.3, 0.2], [0.3, 0.8, 0.6], rewards=law)
    spec = mb.policy(name, **options)
    slow = mb.simulate(problem, spec, horizon=12_000, runs=150, seed=21, engine="step", checkpoints=[3000, 7001])
    fast = mb.simulate(problem, spec, horizon=12_000, runs=2000, seed=22, engine="jump", checkpoints=[3000, 7001])
    for at in range(3):
        assert ks_2samp(slow.regret[:, at], fast.regret[:, at]).pvalue > 1e-3
    for e in range(12):
        assert ks_2samp(slow.plays_by_edge[:, e], fast.plays_by_edge[:, e]).pvalue > 1e-3 / 12


@pytest.mark.slow
@pytest.mark.parametrize("runs", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_checkpoints_do_not_change_the_law_of_a_jump(runs):
    few = mb.simulate(SLOTS, "pair-elim", horizon=20_000, runs=runs, seed=5, checkpoints=[20_000])
    many = mb.simulate(SLOTS, "pair-elim", horizon=20_000, runs=runs, seed=6, checkpoints=range(37, 20_000, 211))
    assert ks_2samp(few.final, many.final).pvalue > 1e-3
    for e in range(12):
        assert ks_2samp(few.plays_by_edge[:, e], many.plays_by_edge[:, e]).pvalue > 1e-3 / 12


@pytest.mark.parametrize("name", ["pair-elim", "rank1-elim"])
def test_every_prefix_of_a_jump_is_a_whole_number_of_rounds(name):
    # With a checkpoint at every round the regret grows by a pair's gap each time, and never falls.
    runs = mb.simulate(SLOTS, name, horizon=400, runs=5, seed=2, checkpoints=range(1, 401))
    steps = np.diff(runs.regret, axis=1, prepend=0.0)
    gaps = SLOTS.means.max() - SLOTS.means
    assert np.abs(steps[..., None] - gaps).min(axis=-1).max() < 1e-9
    assert (runs.plays.sum(axis=(1, 2)) == 400).all()


def test_what_a_cut_sweep_plays_is_what_it_books():
    # Checkpoints at every round of the first ten sweeps; nothing is decided yet, so all that was played is pending.
    for name in ("pair-elim", "rank1-elim"):
        policy = mb.policy(name).build(SLOTS.graph, horizon=10**9, seed=3)
        if name == "pair-elim":
            policy.window.number = 5  # a window that lasts
        score = Score(SLOTS, "pair", np.arange(1, 71))
        jump(policy, _Mean(SLOTS), score)
        booked = policy.pending.counts.reshape(2, -1).sum(axis=0)
        assert booked.tolist() == score.plays.tolist()
        paid = policy.pending.sums.reshape(2, -1).sum(axis=0)
        assert np.allclose(paid, score.plays * SLOTS.means)
        assert np.allclose(score.sums, paid)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("horizon", [1, 2, 6, 7, 8, 15, 1000, 1001])
def test_a_horizon_inside_a_sweep_cuts_it_exactly_there(horizon):
    for engine in ("step", "jump"):
        runs = mb.simulate(SLOTS, "pair-elim", horizon=horizon, runs=20, seed=2, engine=engine)
        assert (runs.plays.sum(axis=(1, 2)) == horizon).all()


@pytest.mark.parametrize("horizon", [1, 6, 7, 1001])
def test_what_a_horizon_leaves_of_a_sweep_is_paid(horizon):
    problem = mb.Bipartite([0.9, 0.3, 0.2], [0.4, 0.8, 0.1, 0.1])
    for engine in (step, jump):
        policy = mb.policy("pair-elim").build(problem.graph, horizon=horizon, seed=2)
        score = Score(problem, "pair", np.array([horizon]))
        engine(policy, _Mean(problem), score)
        assert score.plays.sum() == horizon
        assert np.allclose(score.sums, score.plays * problem.means)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("policy", "engine"), [("pair-elim", "jump"), ("pair-elim", "step"), ("uts", "loop")])
@pytest.mark.parametrize("trials", [1, 4])
def test_sums_of_rewards_have_the_means_of_their_pairs(policy, engine, trials):
    problem = mb.Bipartite([0.9, 0.5, 0.3], [0.4, 0.8], rewards=mb.Binomial(trials))
    if policy == "uts":
        policy = mb.policy("uts").warm_start([(0, 0)], [1], [1])  # what was played before is no part of the sums
    runs = mb.simulate(problem, policy, horizon=2001, runs=30, seed=5, engine=engine)
    plays, sums = runs.plays_by_edge.sum(axis=0), runs.sums_by_edge.sum(axis=0)
    deviation = np.sqrt(problem.means * (1 - problem.means) / trials)
    # Pairs are played the more often the better they did so far: of each pair, sums minus plays · mean is a martingale.
    assert (np.abs(sums - plays * problem.means) < 4 * deviation * np.sqrt(plays)).all()


def test_the_loop_adds_up_the_rewards_that_the_steps_do():
    players = mb.Monopartite([0.9, 0.8, 0.6, 0.5, 0.3, 0.2])
    for policy in ("rank1-thompson", "cucb"):
        slow, fast = (mb.simulate(players, policy, horizon=150, runs=2, seed=3, engine=e) for e in ("step", "loop"))
        assert (slow.sums == fast.sums).all()
        assert (slow.sums <= slow.plays).all()
        assert (slow.sums == np.rint(slow.sums)).all()
        assert slow.sums.sum() > 0


def test_workers_and_pieces_keep_sums_of_rewards_and_a_product_is_fitted_to_them():
    players = mb.Monopartite([0.9, 0.8, 0.6, 0.3])
    how = {"horizon": 400, "seed": 3}
    whole = mb.simulate(players, "rank1-thompson", runs=4, workers=2, **how)
    pieces = [mb.simulate(players, "rank1-thompson", runs=2, first_run=first, **how) for first in (2, 0)]
    assert (mb.concat(pieces).sums == whole.sums).all()
    graph = players.graph
    fit = mb.product_fit(graph, graph.pairs, counts=whole.plays_by_edge[0], sums=whole.sums_by_edge[0])
    played = whole.played[0]
    assert fit.p_value == mb.product_fit(graph, played.pairs, counts=played.counts, sums=played.sums).p_value


def test_a_horizon_inside_the_first_sweep_plays_its_first_rounds():
    # 3 rows first, each against one column: with horizon 2 only rows 0 and 1 are played.
    runs = mb.simulate(SLOTS, "pair-elim", horizon=2, runs=50, seed=2, engine="jump")
    assert (runs.plays[:, 0].sum(axis=1) == 1).all()
    assert (runs.plays[:, 1].sum(axis=1) == 1).all()
    assert (runs.plays[:, 2] == 0).all()


def test_before_the_first_stage_ends_the_mean_plays_are_known():
    # rank1-elim on 3×4: until n_0 sweeps a pair is met 1/4 of the sweeps in the row half and 1/3 in the column half.
    sweeps = ceil(4 * log(10**6))
    runs = mb.simulate(SLOTS, "rank1-elim", horizon=10**6, runs=400, seed=8, checkpoints=[sweeps * 7])
    expected = sweeps * 7 * SLOTS.optimum("pair") - sweeps * (1 / 4 + 1 / 3) * SLOTS.matrix.sum()
    at = runs.regret[:, 0]
    assert abs(at.mean() - expected) < 4 * at.std() / np.sqrt(400)


def test_a_jump_over_10_to_the_12_rounds_makes_few_decisions():
    decisions = {}
    for horizon in (10**6, 10**12):
        spiked = mb.family("spiked", n=8, u1=0.9, gap=0.75)
        job = Job(spiked, mb.policy("pair-elim"), np.array([horizon]), 1, "jump", horizon)
        problem, policy = job.start(0)
        made = 0

        def counting(tally, learn=policy.learn):
            nonlocal made
            made += 1
            learn(tally)

        policy.learn = counting
        score = Score(problem, "pair", job.checkpoints)
        jump(policy, _Mean(problem), score)
        assert score.plays.sum() == horizon
        decisions[horizon] = made
    assert decisions[10**12] < 2 * decisions[10**6]


class _Mean:
    """Pays the mean of each play."""

    def __init__(self, problem):
        self.means = problem.means

    def sums(self, edges, counts):
        return self.means[edges] * counts
