from math import ceil, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kl
from reference.outcomes import out_at

import matchbandit as mb

strengths = st.lists(st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.8, 1.0]), min_size=1, max_size=4)


def agree(u, v, horizon, law, seed):
    W = np.outer(u, v)
    draws = [np.random.default_rng(seed + 1), np.random.default_rng(seed + 1)]
    ours, theirs = (lambda i, j, rng=rng: float(law.draw(W[[i], [j]], rng)[0]) for rng in draws)
    policy, played = mb.policy("rank1-elim-kl").build(mb.bipartite(*W.shape), rewards=law, horizon=horizon), []
    policy.rng = np.random.default_rng(seed)
    for _ in range(horizon):
        pairs = policy.ask()
        played.append(tuple(pairs[0].tolist()))
        policy.tell(pairs, [ours(*played[-1])])
    trace = kl.rank1_elim_kl(W, horizon, np.random.default_rng(seed), draw=theirs, record=True)
    assert played == trace.pairs
    assert out_at(policy, "row") == trace.rows_out.tolist()
    assert out_at(policy, "column") == trace.columns_out.tolist()
    return trace


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    u=strengths,
    v=strengths,
    horizon=st.integers(1, 4000),
    law=st.sampled_from([mb.Bernoulli(), mb.Binomial(16)]),
    seed=st.integers(0, 100),
)
@pytest.mark.slow
def test_plays_what_the_definition_plays(u, v, horizon, law, seed):
    agree(u, v, horizon, law, seed)


@pytest.mark.slow
def test_plays_what_the_definition_plays_through_three_stages():
    trace = agree([0.9, 0.75, 0.3, 0.05], [0.95, 0.5, 0.1], 30_000, mb.Bernoulli(), seed=3)
    assert (trace.rows_out[1:] > 0).all()
    assert len(set(trace.rows_out[1:].tolist())) > 1


def test_by_hand_the_first_stage_ends_after_16_log_horizon_sweeps():
    # T = 1000: n_0 = ceil(16 · 6.91) = 111 sweeps of 2 rows and 1 column, three plays each. Row 0 always wins, row 1
    # never: out at the end of the first stage, round 333, neither sooner nor later.
    horizon = 1000
    sweeps = ceil(16 * log(horizon))
    policy = mb.policy("rank1-elim-kl").build(mb.bipartite(2, 1), horizon=horizon, seed=1)
    for t in range(1, 3 * sweeps + 10):
        pairs = policy.ask()
        policy.tell(pairs, [float(pairs[0, 0] == 0)])
        assert out_at(policy, "row")[1] == (3 * sweeps if t >= 3 * sweeps else -1)
        if t > 3 * sweeps:
            assert pairs.tolist() == [[0, 0]]
    # The intervals there: means 1 and 0, budget (log T + 3 log log T)/n.
    budget = (log(horizon) + 3 * log(log(horizon))) / sweeps
    assert policy.rows.intervals[0].tolist() == pytest.approx([np.exp(-budget), 1.0], abs=1e-9)
    assert policy.rows.intervals[1].tolist() == pytest.approx([0.0, 1 - np.exp(-budget)], abs=1e-9)


def test_by_hand_the_stages_are_four_times_as_long():
    policy = mb.policy("rank1-elim-kl").build(mb.bipartite(2, 2), horizon=10_000, seed=1)
    ends = []
    for policy.stage in range(3):
        ends.append(policy.stage_end)
    assert ends == [ceil(16 * 4**stage * log(10_000)) for stage in range(3)]


@pytest.mark.slow
def test_rows_that_differ_by_a_hair_near_1_are_separated_as_the_bounds_say():
    # At n_0 = 111 samples the intervals of means p and p − gap separate or not: both sides of the border.
    horizon, out = 1000, []
    sweeps, level = ceil(16 * log(horizon)), log(horizon) + 3 * log(log(horizon))
    for failures in range(10, 60):
        policy = mb.policy("rank1-elim-kl").build(mb.bipartite(2, 1), horizon=horizon, seed=1)
        seen = 0
        while policy.rows.samples < sweeps and policy.rounds < horizon and policy.stage == 0:
            pairs = policy.ask()
            seen += int(pairs[0, 0] == 1 and policy.rounds % 3 == 1)
            policy.tell(pairs, [float(pairs[0, 0] == 0 or seen > failures)])
        wins = sweeps - failures
        mean = policy.rows.sums[1].sum() / sweeps
        assert mean == pytest.approx(wins / sweeps)
        separated = kl.upper_bound(mean, sweeps, level) <= kl.lower_bound(1.0, sweeps, level)
        assert (out_at(policy, "row")[1] > 0) == separated
        out.append(separated)
    assert True in out
    assert False in out


def test_the_best_pair_survives_and_the_rest_is_out():
    # log T + 3 log log T: the best row is lost in far less than one run in twenty.
    problem = mb.Bipartite([0.9, 0.5, 0.2], [0.8, 0.3])
    runs = mb.simulate(problem, "rank1-elim-kl", horizon=300_000, runs=40, seed=1, checkpoints=[150_000, 300_000])
    assert (runs.plays[:, 0, 0] > 150_000).mean() > 0.95
    assert (runs.regret[:, 1] == runs.regret[:, 0]).mean() > 0.95


def test_with_small_means_it_eliminates_after_fewer_samples_than_rank1_elim():
    # Means 0.045 and 0.0025. Hoeffding's radius sqrt(log T/n) needs n > 4 log T/0.0425² = 31 000 samples each; the KL
    # intervals separate at n = 16 · 4^l log T with l = 3, 14 000.
    problem = mb.Bipartite([0.9, 0.05], [0.05])
    blunt, sharp = (
        mb.simulate(problem, name, horizon=1_000_000, runs=10, seed=2, checkpoints=[1_000_000])
        for name in ("rank1-elim", "rank1-elim-kl")
    )
    assert sharp.final.mean() < 0.6 * blunt.final.mean()


def test_rewards_outside_0_and_1_are_refused():
    with pytest.raises(mb.MatchbanditError, match=r"needs rewards in \[0, 1\]"):
        mb.policy("rank1-elim-kl").build(mb.bipartite(2, 2), rewards=mb.Gaussian(0.5), horizon=10)
