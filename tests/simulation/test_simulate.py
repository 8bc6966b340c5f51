import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.simulation import Interrupted, log_spaced

SLOTS = mb.Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1])


@pytest.mark.parametrize("name", ["pair-elim", "uts", "uniform"])
def test_the_numbers_do_not_depend_on_the_workers(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork beside pytest's threads
        one, two = (mb.simulate(SLOTS, name, horizon=3000, runs=7, seed=3, workers=w) for w in (1, 2))
    assert one.regret.tolist() == two.regret.tolist()
    assert one.plays.tolist() == two.plays.tolist()
    assert one.about == two.about


def test_more_runs_than_parts_of_the_work_all_come_back_in_order():
    spiked = mb.family("spiked", n=2, u1=0.9, gap=0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork beside pytest's threads
        one, two = (mb.simulate(spiked, "uniform", horizon=4, runs=300, seed=3, workers=w) for w in (1, 2))
    assert one.regret.tolist() == two.regret.tolist()
    assert len(set(one.final.tolist())) == 300


def test_more_runs_do_not_move_the_first_ones():
    few, many = (mb.simulate(SLOTS, "pair-elim", horizon=10_000, runs=n, seed=3) for n in (2, 5))
    assert few.regret.tolist() == many.regret[:2].tolist()


def test_seed_0_is_a_seed_of_its_own():
    zero, again, one = (mb.simulate(SLOTS, "pair-elim", horizon=10_000, seed=s).final[0] for s in (0, 0, 1))
    assert zero == again != one


def test_the_default_checkpoints_are_log_spaced_and_end_at_the_horizon():
    runs = mb.simulate(SLOTS, "pair-elim", horizon=2_000_000)
    assert runs.rounds[0] == 1
    assert runs.rounds[-1] == 2_000_000
    assert len(runs.rounds) <= 50
    assert runs.regret.shape == (1, len(runs.rounds))
    assert log_spaced(10**18)[-1] == 10**18
    assert log_spaced(1).tolist() == [1]


def test_own_checkpoints_are_sorted_and_the_horizon_is_added():
    runs = mb.simulate(SLOTS, "uts", horizon=100, checkpoints=[50, 10, 50])
    assert runs.rounds.tolist() == [10, 50, 100]


def test_the_regret_at_the_end_is_that_of_the_plays():
    for name in ("pair-elim", "uts"):
        runs = mb.simulate(SLOTS, name, horizon=5000, runs=3, seed=1)
        by_hand = (runs.plays * (SLOTS.matrix.max() - SLOTS.matrix)).sum(axis=(1, 2))
        assert np.allclose(runs.final, by_hand)


def test_a_family_gives_every_run_an_instance_of_its_own_shared_by_all_policies():
    spiked = mb.family("spiked", n=3, u1=0.9, gap=0.7)
    runs = mb.simulate(spiked, "uniform", horizon=9, runs=4, seed=2)
    by_hand = [9 * spiked.draw(2, run).optimum("pair") - spiked.draw(2, run).means.sum() for run in range(4)]
    assert np.allclose(runs.final, by_hand)
    assert len(set(runs.final.tolist())) == 4


def test_progress_is_told_run_by_run():
    seen = []
    mb.simulate(SLOTS, "uts", horizon=10, runs=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("law", [mb.Gaussian(0.3), mb.Binomial(4), mb.Bernoulli()])
def test_all_laws_can_be_simulated_to_10_to_the_12(law):
    problem = mb.Bipartite([0.9, 0.3], [0.9, 0.4], rewards=law)
    runs = mb.simulate(problem, "pair-elim", horizon=10**12, runs=5, seed=1)
    assert (runs.plays.sum(axis=(1, 2)) == 10**12).all()
    assert (runs.plays[:, 0, 0] > 0.99 * 10**12).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"horizon": 0}, "horizon must be a whole number, .*; got 0"),
        ({"horizon": -5}, "got -5"),
        ({"horizon": 2.5}, "got 2.5"),
        ({"horizon": float("nan")}, "got nan"),
        ({"horizon": 10**19}, "got 10000000000000000000"),
        ({"runs": 0}, "runs must be a whole number, at least 1; got 0"),
        ({"runs": 1.5}, "runs must be a whole number, at least 1; got 1.5"),
        ({"workers": 0}, "workers must be a whole number, at least 1; got 0"),
        ({"seed": -1}, "seed must be a whole number, at least 0; got -1"),
        ({"engine": "warp"}, "unknown engine 'warp'"),
        ({"engine": "loop"}, "pair-elim cannot loop"),
        ({"policy": "uts", "engine": "jump"}, "uts cannot jump"),
        (
            {"policy": "rank1-thompson", "engine": "loop", "problem": mb.Monopartite([0.5] * 200)},
            "rank1-thompson cannot loop: it has no compiled loop on monopartite with 200 players. Use the",
        ),
        ({"policy": "nobody"}, "unknown policy 'nobody'"),
        ({"policy": "uniform", "problem": mb.Monopartite([0.1, 0.2, 0.3])}, "even number of players; got 3"),
        ({"problem": mb.Monopartite([0.1, 0.2])}, "pair-elim plays on bipartite graphs"),
        ({"problem": [0.1, 0.2]}, "needs a problem"),
        ({"checkpoints": [0]}, "a checkpoint must be a whole number, between 1 and 100; got 0"),
        ({"checkpoints": [101]}, "got 101"),
        ({"checkpoints": [1.5]}, "got 1.5"),
        ({"checkpoints": [[1], [1, 2]]}, r"got \[1\]"),
        ({"checkpoints": 7}, "checkpoints must be a list of rounds; got 7"),
        ({"problem": mb.Bipartite([0.5], [0.5], rewards=mb.Binomial(1000)), "horizon": 10**18}, "do not fit 64 bits"),
    ],
)
def test_bad_input_is_refused_before_any_work_is_done(changes, words):
    call = {"problem": SLOTS, "policy": "pair-elim", "horizon": 100, **changes}
    touched = []
    with pytest.raises(MatchbanditError, match=words):
        mb.simulate(**call, progress=lambda done, total: touched.append(done))
    assert not touched


def test_ctrl_c_keeps_the_finished_runs():
    def stop_after_two(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stop:
        mb.simulate(SLOTS, "uts", horizon=100, runs=5, seed=1, progress=stop_after_two)
    kept = stop.value.finished
    whole = mb.simulate(SLOTS, "uts", horizon=100, runs=5, seed=1)
    assert kept.about["runs"] == 2
    assert kept.about["run_numbers"] == [0, 1]
    assert kept.regret.tolist() == whole.regret[:2].tolist()
    with pytest.raises(KeyboardInterrupt):
        mb.simulate(SLOTS, "uts", horizon=100, runs=5, seed=1, progress=stop_after_two)


def test_ctrl_c_ends_the_workers_and_keeps_what_was_finished(tmp_path):
    words = ["simulate", "--policy", "uts", "--u", "0.9,0.3", "--v", "0.5,0.4", "--horizon", "3e6", "--runs", "60"]
    path = tmp_path / "runs.parquet"
    process = subprocess.Popen(
        [sys.executable, "-m", "matchbandit", *words, "--workers", "2", "--save", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    said = []
    while not said or "of 60 runs" not in said[-1]:  # until some are finished, and said to be
        said.append(process.stderr.readline())
        assert said[-1], "".join(said)  # it has ended
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    kept = mb.load(path)
    assert 0 < len(kept.regret) < 60
    assert kept.run_numbers == kept.about["run_numbers"]
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize("name", ["pair-elim", "uts", "uniform"])
@pytest.mark.parametrize("problem", [SLOTS, mb.family("spiked", n=3, u1=0.9, gap=0.6)], ids=["slots", "spiked"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.sampled(2)
def test_runs_from_the_first_on_are_a_slice_of_more(name, problem, workers):
    whole = mb.simulate(problem, name, horizon=3000, runs=7, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork beside pytest's threads
        told = []
        part = mb.simulate(
            problem, name, horizon=3000, runs=3, first_run=2, seed=3, workers=workers,
            progress=lambda *counts: told.append(counts),
        )  # fmt: skip
    assert part.regret.tolist() == whole.regret[2:5].tolist()
    assert part.plays.tolist() == whole.plays[2:5].tolist()
    assert part.ended.tolist() == whole.ended[2:5].tolist()
    assert part.eliminations == whole.eliminations[2:5]
    assert part.run_numbers == [2, 3, 4]
    assert (part.about.first_run, part.about.runs, whole.about.first_run) == (2, 3, None)
    assert told[-1] == (3, 3)


def test_splits_of_runs_from_the_first_on_are_a_slice_of_more():
    players = mb.Monopartite([0.9, 0.9, 0.1, 0.1])
    whole, part = (
        mb.simulate(players, "simple-adaptive-matching", horizon=2000, runs=n, first_run=k, stop="first-split")
        for k, n in ((0, 4), (2, 2))
    )
    assert part.splits == whole.splits[2:]
    assert part.ended.tolist() == whole.ended[2:].tolist()


def test_runs_from_the_first_on_that_are_interrupted_keep_their_numbers():
    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        mb.simulate(SLOTS, "uts", horizon=100, runs=5, first_run=10, progress=stop)
    kept = stopped.value.finished
    assert kept.run_numbers == [10, 11]
    assert (kept.about.first_run, kept.about.interrupted_of) == (10, 5)


@pytest.mark.parametrize("first", [-1, 2.5, True, "2", None])
def test_the_number_of_the_first_run_is_checked(first):
    with pytest.raises(MatchbanditError, match="first_run must be a whole number, at least 0; got "):
        mb.simulate(SLOTS, "uts", horizon=10, first_run=first)
    with pytest.raises(MatchbanditError, match="first_run must be a whole number, at least 0; got "):
        mb.identify(SLOTS, "pair-elim", delta=0.1, first_run=first)


def test_a_policy_is_built_once_for_each_run(monkeypatch):
    """It was built once more to check the call; what building it warns of is still shown."""
    built = []

    class Counted(mb.CATALOGUE["uts"]):
        def __init__(self, setting, rng, **options):
            super().__init__(setting, rng, **options)
            built.append(self)
            warnings.warn("mind this", UserWarning, stacklevel=1)

    slots = mb.Bipartite([0.9, 0.3], [0.8, 0.4])
    with pytest.warns(UserWarning, match="mind this") as shown:
        ours = mb.simulate(slots, Counted, horizon=50, runs=3, first_run=2, seed=1)
    assert len(built) == 3
    assert len(shown) == 1
    assert ours.plays.tolist() == mb.simulate(slots, "uts", horizon=50, runs=3, first_run=2, seed=1).plays.tolist()


@pytest.mark.parametrize("selection", ["pair", "matching"])
@pytest.mark.parametrize("policy", ["uniform", "rank1-thompson"])
def test_the_regret_at_checkpoints_is_that_of_the_plays_until_then(policy, selection, monkeypatch):
    """Plays at checkpoints are kept, and their regret is computed for many at once."""
    from matchbandit.simulation import score

    players, rounds = mb.Monopartite([0.9, 0.8, 0.4, 0.3]), [1, 2, 3, 10, 11, 40, 100]
    spec = mb.policy(policy, selection=selection)
    each = [mb.simulate(players, spec, horizon=at, seed=3, checkpoints=[at]).final[0] for at in rounds]
    for numbers in (1, 15, 10**6):
        monkeypatch.setattr(score, "MAX_SNAPSHOT_NUMBERS", numbers)
        many = mb.simulate(players, spec, horizon=100, seed=3, checkpoints=rounds)
        assert many.regret[0].tolist() == each
