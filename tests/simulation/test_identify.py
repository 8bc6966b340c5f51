"""Identification: both engines find the same in the same time, answers are right as often as promised, no run lies."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.tape import Tape
from scipy.stats import ks_2samp

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.policies.pair.pair_elim_mono import PairElimMono
from matchbandit.results import Identification
from matchbandit.simulation.engines import jump, step
from matchbandit.simulation.score import Score

SLOTS = mb.Bipartite([0.9, 0.2, 0.1], [0.1, 0.8])
PLAYERS = mb.Monopartite([0.2, 0.95, 0.1, 0.9])
SIX = mb.Monopartite([1.0, 0.95, 0.55, 0.5, 0.1, 0.05])
PROBLEMS = {"pair-elim": SLOTS, "pair-elim-mono": PLAYERS, "pair-select": SIX}


def both_engines(problem, spec, rounds, tape, horizon=None):
    """The same policy on the same tape of rewards, with each engine: (policy, score) twice."""
    played = []
    for engine in (step, jump):
        policy = spec.build(problem.graph, rewards=problem.rewards, horizon=horizon, seed=1)
        score = Score(problem, "pair", np.array(rounds))
        engine(policy, tape(), score)
        played.append((policy, score))
    return played


def agree(problem, spec, rounds, seed, horizon=None):
    """The engines end with the same state, plays and answer; gives the policy."""
    (slow, slow_score), (fast, fast_score) = both_engines(
        problem, spec, rounds, lambda: Tape.bernoulli(problem.means, 4 * rounds[-1], seed), horizon
    )
    assert slow_score.round == fast_score.round
    assert slow_score.plays.tolist() == fast_score.plays.tolist()
    assert slow_score.regret.tolist() == fast_score.regret.tolist()
    assert slow.done == fast.done
    if slow.rounds == fast.rounds:  # else the limit cuts a sweep, which only `step` remembers
        assert slow.state() == fast.state()
        assert slow.recommend().tolist() == fast.recommend().tolist()
    else:
        assert slow_score.round == slow.rounds > fast.rounds
        assert not slow.done
    for name in slow.state_fields:
        assert str(getattr(slow, name)) == str(getattr(fast, name))
    return slow


strengths = st.lists(st.sampled_from([0.05, 0.3, 0.6, 0.8, 1.0]), min_size=2, max_size=5)
limits = st.lists(st.integers(1, 3000), min_size=1, max_size=4, unique=True).map(sorted)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(u=strengths, rounds=limits, growth=st.sampled_from([1.05, 1.5, 4.0]), cap=st.booleans(), seed=st.integers(0, 99))
@pytest.mark.slow
def test_pair_elim_mono_agrees_exactly_on_the_same_tape(u, rounds, growth, cap, seed):
    spec = mb.policy("pair-elim-mono", growth=growth, cap_windows=cap)
    agree(mb.Monopartite(u), spec, rounds, seed, horizon=rounds[-1])


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    u=strengths,
    rounds=limits,
    growth=st.sampled_from([1.05, 1.5, 4.0]),
    delta=st.sampled_from([0.05, 0.4]),
    seed=st.integers(0, 99),
)
@pytest.mark.slow
def test_pair_elim_mono_with_delta_agrees_exactly_on_the_same_tape(u, rounds, growth, delta, seed):
    agree(mb.Monopartite(u), mb.policy("pair-elim-mono", growth=growth, delta=delta), rounds, seed)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    u=strengths.filter(lambda u: len(u) % 2 == 0),
    rounds=limits,
    growth=st.sampled_from([1.05, 1.5, 4.0]),
    seed=st.integers(0, 99),
)
@pytest.mark.slow
def test_pair_select_agrees_exactly_on_the_same_tape(u, rounds, growth, seed):
    agree(mb.Monopartite(u), mb.policy("pair-select", growth=growth, delta=0.3), rounds, seed)


@pytest.mark.parametrize("growth", [1.1, 4.0])
@pytest.mark.parametrize("name", ["pair-elim-mono", "pair-select"])
@pytest.mark.sampled(1)
def test_both_engines_come_to_the_same_answer_after_the_same_rounds(name, growth):
    policy = agree(SIX, mb.policy(name, growth=growth, delta=0.2), [777, 60_000], 4)
    assert policy.done
    assert policy.rounds > 777
    assert getattr(policy, "first", policy).window.number >= 3


@pytest.mark.slow
def test_both_engines_agree_on_a_long_run_for_regret():
    policy = agree(PLAYERS, mb.policy("pair-elim-mono", growth=1.1), [5000, 30_000], 4, horizon=30_000)
    assert (policy.above.sum(axis=0) >= 2).sum() == 2


@pytest.mark.slow
@pytest.mark.parametrize("growth", [1.2, 4.0])
def test_step_and_jump_need_equally_many_rounds(growth):
    problem = mb.Bipartite([1.0, 0.25, 0.1], [0.1, 1.0])
    spec = mb.policy("pair-elim", growth=growth, delta=0.2)
    slow = mb.identify(problem, spec, runs=60, seed=31, engine="step")
    fast = mb.identify(problem, spec, runs=200, seed=32, engine="jump")
    assert slow.identified.all()
    assert fast.identified.all()
    assert len(set(slow.rounds.tolist())) > 5
    assert ks_2samp(slow.rounds, fast.rounds).pvalue > 1e-3


@pytest.mark.parametrize("engine", ["step", "jump"])
@pytest.mark.parametrize("name", ["pair-elim", "pair-elim-mono", "pair-select"])
@pytest.mark.parametrize("limit", [1, 7, 100])
def test_max_rounds_ends_a_run_exactly_there_and_says_so(name, engine, limit):
    found = mb.identify(PROBLEMS[name], mb.policy(name, delta=0.05), runs=3, max_rounds=limit, engine=engine)
    assert found.rounds.tolist() == [limit] * 3
    assert not found.identified.any()
    assert not found.correct.any()
    assert found.about["max_rounds"] == limit
    assert len(found.answers) == 3  # the best guess


def test_one_round_more_or_less_decides_whether_a_run_is_identified():
    spec = mb.policy("pair-elim-mono", delta=0.2)
    needed = int(mb.identify(PLAYERS, spec, seed=3).rounds[0])
    enough = mb.identify(PLAYERS, spec, seed=3, max_rounds=needed)
    assert (enough.identified.tolist(), enough.rounds.tolist()) == ([True], [needed])
    short = mb.identify(PLAYERS, spec, seed=3, max_rounds=needed - 1)
    assert (short.identified.tolist(), short.rounds.tolist()) == ([False], [needed - 1])


def test_ties_with_max_rounds_end_not_identified():
    tied = mb.Bipartite([0.8, 0.8], [0.9, 0.1])
    found = mb.identify(tied, mb.policy("pair-elim", delta=1e-4), runs=20, max_rounds=10**7, seed=1)
    assert not found.identified.any()
    assert not found.correct.any()
    assert (found.rounds == 10**7).all()


@pytest.mark.parametrize(
    ("problem", "name", "said"),
    [
        (mb.Bipartite([0.3, 0.8, 0.8], [0.9, 0.1]), "pair-elim", "rows 1 and 2 both have strength 0.8"),
        (mb.Bipartite([0.9, 0.1], [0.5, 0.2, 0.5]), "pair-elim", "columns 0 and 2 both have strength 0.5"),
        (mb.Monopartite([0.4, 0.9, 0.4, 0.1]), "pair-elim-mono", "players 0 and 2 both have strength 0.4"),
        (mb.Monopartite([0.4, 0.9, 0.4, 0.1]), "pair-select", "players 0 and 2 both have strength 0.4"),
        (mb.Monopartite([0.9, 0.8, 0.5, 0.3, 0.3, 0.1]), "pair-select", "players 3 and 4 both have strength 0.3"),
        (mb.Monopartite([0.9, 0.9, 0.9, 0.3]), "pair-elim-mono", "players 1 and 2 both have strength 0.9"),
    ],
)
def test_a_tie_that_decides_the_answer_is_refused_with_the_two_items_named(problem, name, said):
    with pytest.raises(MatchbanditError, match=said) as refused:
        mb.identify(problem, mb.policy(name, delta=0.1))
    assert "Give max_rounds" in str(refused.value)


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        (mb.Bipartite([0.9, 0.2, 0.2], [0.1, 0.8, 0.1]), "pair-elim"),
        (mb.Bipartite([0.5], [0.9, 0.2]), "pair-elim"),
        (mb.Monopartite([0.9, 0.9, 0.1, 0.1]), "pair-elim-mono"),
        (mb.Monopartite([0.9, 0.8, 0.1, 0.3, 0.3, 0.1]), "pair-elim-mono"),
        (mb.Monopartite([1.0, 1.0, 0.5, 0.5, 0.1, 0.1]), "pair-select"),
    ],
)
def test_a_tie_that_decides_nothing_is_harmless(problem, name):
    found = mb.identify(problem, mb.policy(name, delta=0.1), runs=5, seed=1)
    assert found.identified.all()
    assert found.correct.all()


@pytest.mark.parametrize(("answer", "right"), [([0, 1], True), ([0, 2], True), ([1, 2], False), ([0, 3], False)])
def test_an_answer_is_right_when_it_is_worth_the_optimum_whichever_of_two_equals_it_names(monkeypatch, answer, right):
    # Intervals almost never separate equals, so the answer is put into the policy's mouth.
    monkeypatch.setattr(PairElimMono, "done", property(lambda policy: True))
    monkeypatch.setattr(PairElimMono, "recommend", lambda policy: np.array([answer]))
    tied = mb.Monopartite([1.0, 0.5, 0.5, 0.1])
    found = mb.identify(tied, mb.policy("pair-elim-mono", delta=0.1), max_rounds=10)
    assert found.identified.tolist() == [True]
    assert found.correct.tolist() == [right]
    assert found.summary()["wrong"] == (not right)


@pytest.mark.parametrize(("name", "problem"), [("pair-elim", SLOTS), ("pair-elim-mono", PLAYERS)])
def test_a_policy_that_could_identify_is_told_to_take_a_delta(name, problem):
    with pytest.raises(MatchbanditError, match=rf"{name} .* give it delta="):
        mb.identify(problem, mb.policy(name))


@pytest.mark.parametrize("name", ["uniform", "rank1-elim"])
def test_a_policy_for_regret_only_is_sent_to_simulate(name):
    with pytest.raises(MatchbanditError, match=rf"{name} is for regret here, .* use simulate\(\)"):
        mb.identify(SLOTS, mb.policy(name))
    with pytest.raises(MatchbanditError, match=f"{name} has no delta: it is for regret.* such as rank1-certify"):
        mb.identify(SLOTS, name, delta=0.05)


def test_a_policy_for_identification_cannot_be_simulated_and_says_what_to_do():
    with pytest.raises(MatchbanditError, match=r"leave delta out, or use identify\(\)"):
        mb.simulate(SLOTS, mb.policy("pair-elim", delta=0.1), horizon=100)
    with pytest.raises(MatchbanditError, match=r"pair-select is for identification here, .* use identify\(\)"):
        mb.simulate(PLAYERS, mb.policy("pair-select", delta=0.1), horizon=100)


def test_workers_and_further_runs_do_not_change_the_numbers():
    spec = mb.policy("pair-elim", delta=0.2)
    alone = mb.identify(SLOTS, spec, runs=6, seed=5)
    shared = mb.identify(SLOTS, spec, runs=6, seed=5, workers=2)
    fewer = mb.identify(SLOTS, spec, runs=3, seed=5)
    for name in ("rounds", "pairs", "identified", "correct", "answers"):
        assert getattr(alone, name).tolist() == getattr(shared, name).tolist()
        assert getattr(alone, name)[:3].tolist() == getattr(fewer, name).tolist()
    assert alone.about == shared.about
    assert len(set(alone.rounds.tolist())) > 1


def test_the_answers_of_pair_select_are_matchings_and_of_the_others_pairs():
    for name, shape in (("pair-elim", (2, 1, 2)), ("pair-elim-mono", (2, 1, 2)), ("pair-select", (2, 3, 2))):
        found = mb.identify(PROBLEMS[name], mb.policy(name, delta=0.2), runs=2)
        assert found.answers.shape == shape
        assert found.pairs.tolist() == found.rounds.tolist()  # a round is one pair


def test_progress_counts_the_runs():
    told = []
    mb.identify(SLOTS, mb.policy("pair-elim", delta=0.2), runs=3, progress=lambda done, runs: told.append((done, runs)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_by_hand_the_summary_counts_identified_right_and_wrong():
    found = Identification(
        about=mb.identify(SLOTS, mb.policy("pair-elim", delta=0.2)).about,
        rounds=np.array([10, 20, 30, 40]),
        pairs=np.array([10, 20, 30, 40]),
        identified=np.array([True, True, True, False]),
        correct=np.array([True, True, False, False]),
        answers=np.zeros((4, 1, 2), dtype=np.int64),
    )
    summary = found.summary()
    assert {key: summary[key] for key in ("runs", "identified", "correct", "wrong")} == {
        "runs": 4,
        "identified": 3,
        "correct": 2,
        "wrong": 1,
    }
    assert summary["rounds"]["mean"] == 25.0
    assert np.allclose([summary["rounds"]["p5"], summary["rounds"]["p95"]], [11.5, 38.5])


def at_most(wrong, runs, delta):
    """Not more errors than δ allows, up to four standard errors of the rate δ."""
    return wrong <= runs * delta + 4 * np.sqrt(runs * delta * (1 - delta))


SMALL = [
    ("pair-elim", {}, mb.Bipartite([0.9, 0.6], [0.5, 0.8, 0.3])),
    ("pair-elim", {"growth": 1.2}, mb.Bipartite([0.5, 0.9, 0.4], [0.7, 0.3], rewards=mb.Gaussian(0.5))),
    ("pair-elim-mono", {}, mb.Monopartite([0.9, 0.5, 0.8, 0.4])),
    ("pair-elim-mono", {"growth": 1.2}, mb.Monopartite([0.9, 0.5, 0.8], rewards=mb.Gaussian(0.3))),
    ("pair-select", {}, mb.Monopartite([0.9, 0.5, 0.8, 0.4])),
    ("pair-select", {"growth": 1.5}, mb.Monopartite([0.95, 0.9, 0.6, 0.5, 0.2, 0.1], rewards=mb.Gaussian(0.3))),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "problem"), SMALL)
def test_answers_are_wrong_at_most_as_often_as_delta_allows(name, options, problem):
    found = mb.identify(problem, mb.policy(name, delta=0.2, **options), runs=80, seed=9)
    assert found.identified.all()
    assert at_most(found.summary()["wrong"], 80, 0.2)
    assert found.correct.mean() > 0.97  # the union bound is loose: measured, errors are far rarer than δ


LARGE = [
    ("pair-elim", {}, mb.Bipartite([0.9, 0.8], [0.5, 0.8, 0.3, 0.75, 0.1])),
    ("pair-elim", {"growth": 1.5}, mb.Bipartite([0.05, 0.03, 0.01], [0.9, 0.5])),
    ("pair-elim", {}, mb.Bipartite([0.9, 0.6, 0.4], [0.7], rewards=mb.Gaussian(1.0))),
    ("pair-elim-mono", {}, mb.Monopartite([0.9, 0.8, 0.7, 0.7, 0.6])),
    ("pair-elim-mono", {"growth": 1.5}, mb.Monopartite([0.3, 0.25, 0.15, 0.1], rewards=mb.Gaussian(0.3))),
    ("pair-select", {}, mb.Monopartite([0.9, 0.8, 0.65, 0.6, 0.4, 0.3])),
]


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize(("name", "options", "problem"), LARGE)
def test_over_many_runs_answers_are_wrong_at_most_as_often_as_delta_allows(name, options, problem, delta):
    found = mb.identify(problem, mb.policy(name, delta=delta, **options), runs=500, seed=10)
    assert found.identified.all()
    assert at_most(found.summary()["wrong"], 500, delta)


@pytest.mark.parametrize("name", ["pair-elim", "track-and-stop"])
@pytest.mark.parametrize("workers", [1, 2])
def test_runs_from_the_first_on_are_a_slice_of_more(name, workers):
    family = mb.family("spiked", n=2, u1=0.9, gap=0.8)
    whole = mb.identify(family, name, delta=0.1, runs=5, seed=3, max_rounds=10**5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork beside pytest's threads
        part = mb.identify(family, name, delta=0.1, runs=3, first_run=2, seed=3, max_rounds=10**5, workers=workers)
    for values in ("rounds", "pairs", "identified", "correct", "answers"):
        assert getattr(part, values).tolist() == getattr(whole, values)[2:].tolist()
    assert part.run_numbers == [2, 3, 4]
    assert len(set(whole.rounds.tolist())) > 1


def test_delta_leaves_a_warm_start_as_it_is():
    slots = mb.Bipartite([0.9, 0.3], [0.8, 0.4])
    seen = mb.policy("track-and-stop").warm_start([(0, 0), (0, 1)], counts=[5000, 5000], sums=[3600, 1800])
    known = mb.identify(slots, seen, delta=0.1, seed=1, max_rounds=10**5)
    assert known.about.warm_start == {"plays": 10_000}


def test_ties_are_looked_for_in_the_runs_that_are_played(monkeypatch):
    drawn = []
    family = mb.family("spiked", n=2, u1=0.9, gap=0.8)
    draw = type(family).draw
    monkeypatch.setattr(type(family), "draw", lambda self, seed=0, run=0: (drawn.append(run), draw(self, seed, run))[1])
    mb.identify(family, "pair-elim", delta=0.1, runs=2, first_run=5)
    assert {5, 6} <= set(drawn)
    assert not {1, 2, 3, 4} & set(drawn)


@pytest.mark.parametrize("play", [mb.identify, lambda *settings, **more: mb.compare(settings[0], settings[1:], **more)])
def test_a_policy_with_another_delta_is_refused(play):
    """The policy's own was silently replaced."""
    slots = mb.Bipartite([0.9, 0.3], [0.8, 0.4])
    with pytest.raises(mb.MatchbanditError, match=r"pair-elim has delta=0.1 already; got delta=0.05, too"):
        play(slots, mb.policy("pair-elim", delta=0.1), delta=0.05, runs=2)
    assert play(slots, mb.policy("pair-elim", delta=0.05), delta=0.05, runs=2)
