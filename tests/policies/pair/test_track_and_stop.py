from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kl

import matchbandit as mb
from matchbandit.policies.pair.track_and_stop import TrackAndStopArrays, choose, evidence, finished
from matchbandit.policies.pair.track_and_stop import optimal_proportions as write_proportions
from matchbandit.rewards import Noise
from matchbandit.simulation.play import Job

COIN, NOISE = Noise(1, 0.0), Noise(0, 0.5)
laws = pytest.mark.parametrize(("law", "named"), [(COIN, "bernoulli"), (NOISE, ("gaussian", 0.5))])


def play(policy, reward_of, most):
    """Play until done, `most` rounds at most; give the edges played."""
    played = []
    while len(played) < most and not policy.done:
        pairs = policy.ask()
        played.append(int(policy.graph.edges(pairs)[0]))
        policy.tell(pairs, [reward_of(played[-1])])
    return played


def rewards_of(law, means, seed):
    rng = np.random.default_rng(seed)
    return lambda edge: float(law.draw(means[[edge]], rng)[0])


def arrays_of(plays, sums, law=COIN, proportions=None, clock=(0, 0)):
    d = len(plays)
    wanted = np.full(d, 1 / d) if proportions is None else np.array(proportions)
    at, hardest = (np.array([number]) for number in clock)
    return TrackAndStopArrays(np.array(plays), np.array(sums, dtype=float), wanted, at, hardest, law, 0.1)


def optimal_proportions(noise, means):
    w = np.empty(len(means))
    write_proportions(noise, means, w)
    return w


# Play by play


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    u=st.lists(st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0]), min_size=1, max_size=2),
    v=st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), min_size=1, max_size=3),
    noise=st.sampled_from([0.0, 0.2, 0.5]),
    delta=st.sampled_from([0.3, 0.1, 0.001]),
    seed=st.integers(0, 100),
)
@pytest.mark.slow
def test_plays_and_stops_as_the_definition_does(u, v, noise, delta, seed):
    means, law = np.outer(u, v).ravel(), mb.Gaussian(noise) if noise else mb.Bernoulli()
    policy = mb.policy("track-and-stop", delta=delta).build(mb.bipartite(len(u), len(v)), rewards=law)
    played = play(policy, rewards_of(law, means, seed), 500)
    named = ("gaussian", noise) if noise else "bernoulli"
    theirs = kl.track_and_stop(means, delta, 500, draw=rewards_of(law, means, seed), law=named, record=True)
    assert played == theirs.arms
    assert policy.done == (theirs.best >= 0)
    if policy.done:
        assert policy.graph.edges(policy.recommend()).tolist() == [theirs.best]


def test_plays_and_stops_as_the_definition_does_with_players():
    problem = mb.Monopartite([0.9, 0.8, 0.4, 0.3])
    policy = mb.policy("track-and-stop", delta=0.05).build(problem.graph)
    played = play(policy, rewards_of(problem.rewards, problem.means, 3), 3000)
    draw = rewards_of(problem.rewards, problem.means, 3)
    assert played == kl.track_and_stop(problem.means, 0.05, 3000, draw=draw, record=True).arms
    assert policy.done


# By hand


def test_by_hand_two_pairs_that_always_and_never_pay():
    # Means 1 and 0 are symmetric, so the proportions are 1/2 and 1/2 and the two take turns. With n and m plays Z is
    # n log((n+m)/n) + m log((n+m)/m). At (2, 2): 4 log 2 = 2.77 < log((1 + log 4)/0.1) = 3.17; at (3, 2):
    # 3 log(5/3) + 2 log(5/2) = 3.37 > log((1 + log 5)/0.1) = 3.26. Done.
    policy = mb.policy("track-and-stop", delta=0.1).build(mb.bipartite(1, 2))
    assert play(policy, lambda edge: float(edge == 0), 100) == [0, 1, 0, 1, 0]
    assert policy.done
    assert policy.recommend().tolist() == [[0, 0]]
    assert evidence(policy.arrays, 0, 1) == pytest.approx(3 * log(5 / 3) + 2 * log(5 / 2))
    shown = policy.explain()
    assert shown["details"]["threshold"] == pytest.approx(log((1 + log(5)) / 0.1))
    assert shown["pairs"][1]["evidence_against"] == pytest.approx(3.3651, abs=1e-3)


def test_by_hand_gaussian_evidence():
    # n m/(n + m) (difference of means)²/(2 sd²) = 4 · 6/10 · 0.5²/0.5 = 1.2.
    arrays = arrays_of([4, 6], [4 * 0.7, 6 * 0.2], NOISE)
    assert evidence(arrays, 0, 1) == pytest.approx(1.2)


def test_the_evidence_of_a_reward_of_many_coins_is_that_of_the_coins():
    one, many = (arrays_of([40, 60], [32.0, 20.0], Noise(trials, 0.0)) for trials in (1, 5))
    assert evidence(many, 0, 1) == pytest.approx(5 * evidence(one, 0, 1))
    law = Noise(5, 0.0)
    means = np.array([0.8, 0.5, 0.3])
    assert optimal_proportions(law, means) == pytest.approx(optimal_proportions(COIN, means), abs=1e-9)


def test_it_stops_exactly_when_the_evidence_exceeds_the_threshold():
    # Gaussian, sd 1/2, 50 plays each: Z = 25 g² · 2 against log((1 + log 100)/0.1).
    enough = log((1 + log(100)) / 0.1)
    border = sqrt(enough / 50)
    assert not finished(arrays_of([50, 50], [50 * (border - 1e-6), 0.0], NOISE))
    assert finished(arrays_of([50, 50], [50 * (border + 1e-6), 0.0], NOISE))


def test_every_rival_must_be_beaten_whichever_was_the_hardest_last():
    for clock in ((0, 0), (0, 1), (0, 2), (0, 3)):
        assert finished(arrays_of([100] * 4, [90, 10, 10, 10], clock=clock))
        assert not finished(arrays_of([100] * 4, [90, 10, 88, 10], clock=clock))
        assert not finished(arrays_of([100] * 4, [90, 10, 90, 10], clock=clock))


def test_whoever_lags_behind_the_root_of_t_is_played_first():
    edges = np.zeros(1, dtype=np.int64)
    # t = 900, d = 3: √t − d/2 = 28.5.
    for plays, expected in (([436, 436, 28], 2), ([28, 436, 436], 0)):
        arrays = arrays_of(plays, [0.5 * plays[0], 0.45 * plays[1], 0.1 * plays[2]])
        choose(arrays, np.random.default_rng(1), edges)
        assert edges[0] == expected
    arrays = arrays_of([430, 441, 29], [215, 198, 2.9], proportions=[0.5, 0.5, 0.0], clock=(900, 0))
    choose(arrays, np.random.default_rng(1), edges)
    assert edges[0] == 0


def test_proportions_are_computed_anew_when_t_has_grown_by_1_percent():
    edges = np.zeros(1, dtype=np.int64)
    for then, renewed in ((995, False), (991, False), (990, True), (500, True)):
        arrays = arrays_of([500, 500], [260, 240], proportions=[0.3, 0.7], clock=(then, 0))
        choose(arrays, np.random.default_rng(1), edges)
        assert (arrays.proportions[0] != 0.3) == renewed
        assert arrays.computed_at[0] == (1000 if renewed else then)


def test_leads_that_differ_by_rounding_go_to_the_lowest_index():
    arrays = arrays_of([50, 50], [27, 25], proportions=[0.5 - 1e-13, 0.5 + 1e-13], clock=(100, 0))
    edges = np.ones(1, dtype=np.int64)
    choose(arrays, np.random.default_rng(1), edges)
    assert edges[0] == 0


# Optimal proportions


@laws
@settings(max_examples=60, deadline=None, derandomize=True)
@given(means=st.lists(st.one_of(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.floats(0.01, 0.99)), min_size=1, max_size=7))
def test_optimal_proportions_are_those_of_the_definition(law, named, means):
    means = [round(mean, 3) for mean in means]
    found = optimal_proportions(law, np.array(means))
    assert found == pytest.approx(kl.optimal_proportions(np.array(means), named), abs=1e-8)
    assert found.sum() == pytest.approx(1)


@laws
def test_no_other_proportions_give_more_evidence(law, named):
    rng = np.random.default_rng(5)
    for d in (2, 3, 5):
        means = rng.uniform(0.1, 0.9, d)
        best = int(np.argmax(means))

        def least(w, means=means, best=best, d=d):
            return min(
                w[best] * kl._transport(means[best], means[b], w[b] / w[best], named) for b in range(d) if b != best
            )

        found, (tried, value) = optimal_proportions(law, means), kl._brute_force(means, named)
        assert least(found) >= value * (1 - 1e-9)
        assert found == pytest.approx(tried, abs=1e-3)
        assert all(least(found) >= least(w) for w in rng.dirichlet(1 + 50 * found, 200))


def test_two_gaussian_arms_share_equally():
    for gap in (1e-6, 0.01, 0.5, 3.0):
        assert optimal_proportions(NOISE, np.array([0.2, 0.2 + gap])) == pytest.approx([0.5, 0.5], abs=1e-6)


@laws
def test_equal_rivals_share_equally(law, named):
    found = optimal_proportions(law, np.array([0.3, 0.3, 0.7, 0.3]))
    assert found[[0, 1, 3]] == pytest.approx(found[[0]].repeat(3))
    assert found[2] > found[0]


@pytest.mark.parametrize("rivals", [1, 2, 4, 9])
def test_equal_gaussian_rivals_get_one_over_the_root_of_their_number(rivals):
    # Maximise x/(1 + x)/(1 + k x): x = 1/√k.
    found = optimal_proportions(NOISE, np.array([0.8] + [0.3] * rivals))
    assert found[1:] / found[0] == pytest.approx(np.full(rivals, rivals**-0.5), abs=1e-6)


@laws
def test_equal_best_arms_are_all_the_same(law, named):
    assert optimal_proportions(law, np.array([0.7, 0.2, 0.7])).tolist() == pytest.approx([1 / 3] * 3)
    assert optimal_proportions(law, np.array([0.7])).tolist() == [1.0]
    assert optimal_proportions(law, np.zeros(4)).tolist() == [0.25] * 4


# Through identify


@pytest.mark.parametrize(
    "problem",
    [
        mb.Bipartite([0.9, 0.6], [0.8, 0.5]),
        mb.Monopartite([0.9, 0.7, 0.4]),
        mb.Bipartite([0.9, 0.6], [0.8, 0.5], rewards=mb.Gaussian(0.5)),
        mb.Bipartite([0.9, 0.7, 0.2], [0.8], rewards=mb.Binomial(4)),
    ],
)
@pytest.mark.sampled(1)
def test_it_errs_less_often_than_delta_and_takes_about_as_long_as_it_must(problem):
    delta = 0.2
    found = mb.identify(problem, mb.policy("track-and-stop", delta=delta), runs=60, seed=2)
    assert found.identified.all()
    assert 1 - found.correct.mean() <= delta
    # E τ ≥ T* kl(δ, 1 − δ) (Garivier & Kaufmann 2016, Theorem 1); and not much more than T* times the threshold.
    trials, sd = problem.rewards.noise
    time = kl.characteristic_time(problem.means, "bernoulli" if trials else ("gaussian", sd)) / max(1, trials)
    assert found.rounds.mean() > time * kl.kl(delta, 1 - delta)
    assert found.rounds.mean() < 2 * time * log((1 + log(found.rounds.mean())) / delta)


@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Gaussian(0.5), mb.Binomial(3)])
def test_the_compiled_loop_finds_what_ask_and_tell_find(law):
    problem, spec = mb.Bipartite([0.9, 0.7], [0.3, 0.8], rewards=law), mb.policy("track-and-stop", delta=0.1)
    slow, fast = (mb.identify(problem, spec, runs=3, seed=5, engine=engine) for engine in ("step", "loop"))
    assert slow.rounds.tolist() == fast.rounds.tolist()
    assert slow.answers.tolist() == fast.answers.tolist()
    slow, fast = (Job(problem, spec, np.array([10**5]), 5, engine, None).play(1) for engine in ("step", "loop"))
    assert slow[0].state() == fast[0].state()
    assert slow[1].plays.tolist() == fast[1].plays.tolist()


def test_once_done_it_plays_its_answer():
    problem = mb.Bipartite([0.9, 0.3], [0.4, 0.8])
    policy, _ = Job(problem, mb.policy("track-and-stop"), np.array([10**5]), 1, "loop", None).play(0)
    assert policy.done
    answer = policy.recommend().tolist()
    for _ in range(50):
        assert policy.ask().tolist() == answer
        policy.tell(policy.ask(), [1.0])
    assert policy.done


def test_asking_whether_it_is_done_changes_no_future_play():
    law, means = mb.Bernoulli(), np.array([0.5, 0.45, 0.4, 0.2])
    curious, calm = (mb.policy("track-and-stop").build(mb.bipartite(2, 2)) for _ in range(2))
    one, other = (rewards_of(law, means, 4) for _ in range(2))
    for _ in range(400):
        for policy, draw in ((curious, one), (calm, other)):
            pairs = policy.ask()
            policy.tell(pairs, [draw(int(policy.graph.edges(pairs)[0]))])
        assert curious.done in (True, False)
    assert curious.arrays.plays.tolist() == calm.arrays.plays.tolist()


def test_one_pair_is_the_answer_after_one_play():
    found = mb.identify(mb.Bipartite([0.5], [0.5]), "track-and-stop")
    assert found.rounds.tolist() == [1]
    assert found.correct.all()


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5])
def test_delta_lies_between_0_and_1(delta):
    with pytest.raises(mb.MatchbanditError, match="delta must lie between 0 and 1"):
        mb.policy("track-and-stop", delta=delta).build(mb.bipartite(2, 2))
