import warnings

import numpy as np
import pytest
from reference.made import assert_same, assert_same_found

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.simulation import Interrupted

SPIKED = mb.family("spiked", n=3, u1=0.9, gap=0.6)
PLAYERS = mb.Monopartite([0.9, 0.8, 0.4, 0.3])


def test_each_policy_is_played_as_simulate_plays_it():
    policies = ["uniform", mb.policy("pair-elim", growth=1.05), mb.CATALOGUE["rank1-elim"], mb.policy("pair-elim")]
    ranked = mb.compare(SPIKED, policies, horizon=10**4, runs=3, seed=2, checkpoints=iter([10, 100]))
    assert ranked.labels == ("uniform", "pair-elim, growth = 1.05", "rank1-elim", "pair-elim, growth = 4")
    for label, spec in zip(ranked.labels, policies, strict=True):
        spec = mb.policy("rank1-elim") if label == "rank1-elim" else spec  # noqa: PLW2901
        assert_same(ranked[label], mb.simulate(SPIKED, spec, horizon=10**4, runs=3, seed=2, checkpoints=[10, 100]))
    assert [standing.shared for standing in ranked.rankings[0]] == [None, 3, 3, 3]


def test_each_policy_is_played_as_identify_plays_it():
    ranked = mb.compare(PLAYERS, ["matching-id", "rank1-track-and-stop"], delta=0.2, runs=2, seed=1, max_rounds=10**6)
    for label in ("matching-id", "rank1-track-and-stop"):
        alone = mb.identify(PLAYERS, label, delta=0.2, runs=2, seed=1, max_rounds=10**6)
        assert_same_found(ranked[label], alone)
    own = mb.compare(PLAYERS, [mb.policy("matching-id", delta=d) for d in (0.1, 0.2)], runs=1)
    assert own.labels == ("matching-id, delta = 0.1", "matching-id, delta = 0.2")


def test_the_difference_of_runs_that_share_instances_is_known_better():
    ranked = mb.compare(SPIKED, ["uniform", "pair-elim"], horizon=1000, runs=40)
    worse = ranked.rankings[0][1]
    finals = [ranked[standing.label].final for standing in ranked.rankings[0]]
    apart = 2 * np.sqrt(sum(final.var(ddof=1) for final in finals) / 40)
    assert 2 * worse.to_best.se < 0.9 * apart


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "takes a horizon, for regret, or a delta or a budget, for identification; got none of them."),
        ({"horizon": 10, "delta": 0.1}, "a delta or a budget, for identification; got horizon and delta."),
        ({"delta": 0.1, "budget": 10}, "a delta or a budget, for identification; got delta and budget."),
        (
            {"budget": 10},
            "pair-elim does not support a budget. Policies that do: sequential-halving. Give delta= (--delta)",
        ),
        ({"budget": 2.5, "policies": ["sequential-halving"]}, "budget must be a whole number"),
        ({"budget": 10, "max_rounds": 9, "policies": ["sequential-halving"]}, "max_rounds is for fixed confidence"),
        ({"delta": 0.1, "epsilon": 0.1}, "pair-elim does not support epsilon."),
        ({"horizon": 10, "epsilon": 0.1}, "epsilon is for identification; give delta in place of horizon"),
        ({"horizon": 10, "max_rounds": 5}, "max_rounds is for identification"),
        ({"delta": 0.1, "checkpoints": [5]}, "checkpoints are for regret"),
        ({"horizon": 10, "runs": 0}, "runs must be a whole number, at least 1; got 0."),
        ({"horizon": 10, "seed": -1}, "seed must be a whole number"),
        ({"horizon": 2.5}, "horizon must be a whole number"),
        ({"horizon": 10, "policies": "uts"}, "compare takes a list of policies; got 'uts'. For one, use simulate"),
        ({"horizon": 10, "policies": mb.policy("uts")}, "compare takes a list of policies; got policy('uts')"),
        ({"horizon": 10, "policies": 7}, "compare takes a list of policies; got 7"),
        ({"horizon": 10, "policies": []}, "compare takes a list of policies; got an empty one."),
        ({"horizon": 10, "policies": ["uts", "utz"]}, "unknown policy 'utz'; did you mean 'uts'?"),
        ({"horizon": 10, "policies": ["uts", mb.policy("uts", gamma=2)]}, "policy('uts', gamma=2) is there twice."),
        ({"horizon": 10, "policies": ["uts", "track-and-stop"]}, "track-and-stop is for identification"),
        ({"horizon": 10, "problem": 7}, "compare takes one problem, or a family of them; got 7."),
        ({"horizon": 10, "problem": PLAYERS}, "pair-elim plays on bipartite graphs"),
    ],
)
def test_mistakes_are_named_before_anything_is_played(settings, words, monkeypatch):
    monkeypatch.setattr("matchbandit.simulation.play.run_parallel", None)
    problem, policies = settings.pop("problem", SPIKED), settings.pop("policies", ["pair-elim", "uts"])
    with pytest.raises(MatchbanditError) as refusal:
        mb.compare(problem, policies, **settings)
    assert words in str(refusal.value)


def test_progress_counts_the_runs_of_all_policies():
    told = []
    mb.compare(SPIKED, ["uniform", "pair-elim"], horizon=100, runs=2, progress=lambda *counts: told.append(counts))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_progress_may_be_a_bar(capsys):
    mb.compare(SPIKED, ["uniform", "pair-elim"], horizon=100, runs=2, progress=True)
    mb.compare(SPIKED, ["uniform"], horizon=100, runs=1, progress=False)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("at", "kept"), [(1, {"uniform": 1}), (2, {"uniform": 2}), (3, {"uniform": 2, "pair-elim": 1})]
)
def test_ctrl_c_keeps_what_was_finished(at, kept):
    def stop(done, total):
        if done == at:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        mb.compare(SPIKED, ["uniform", "pair-elim"], horizon=100, runs=2, progress=stop)
    finished = stopped.value.finished
    assert {label: len(finished[label]) for label in finished.labels} == kept
    assert f"after {at} of 4 runs" in str(stopped.value)


def test_workers_do_not_matter():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork beside pytest's threads
        one, two = (mb.compare(SPIKED, ["uniform", "pair-elim"], horizon=100, runs=3, workers=w) for w in (1, 2))
    for label in one.labels:
        assert_same(one[label], two[label])


def test_a_policy_may_begin_with_and_without_results_from_before():
    slots = mb.Bipartite([0.9, 0.3], [0.8, 0.4])
    logs = [([(0, 0), (1, 1)], np.array([9, 9]), np.array([sum_, 1])) for sum_ in (7, 8)]
    specs = [mb.policy("kl-ucb"), *(mb.policy("kl-ucb").warm_start(*log) for log in logs)]
    ranked = mb.compare(slots, specs, horizon=10, runs=1)
    assert ranked.labels == ("kl-ucb", "kl-ucb, warm start = 18 plays", "kl-ucb, warm start = 18 plays (2)")


def test_several_problems_are_for_a_study():
    two = [mb.Bipartite([0.9, 0.3], [0.8, 0.4])] * 2
    with pytest.raises(MatchbanditError, match=r"compare takes one problem, .* got 2 of them\. .* matchbandit\.Study"):
        mb.compare(two, ["uts"], horizon=10)
    with pytest.raises(MatchbanditError, match=r"^compare takes one problem, or a family of them; got 'spiked'\.$"):
        mb.compare("spiked", ["uts"], horizon=10)
