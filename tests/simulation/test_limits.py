"""Calls that no machine could finish are refused before any work is done."""

import pytest

import matchbandit as mb
from matchbandit.simulation import limits
from matchbandit.simulation.limits import refuse_too_large

SLOTS = mb.Bipartite([0.9, 0.3], [0.8, 0.4])


@pytest.fixture(autouse=True)
def _sixteen_gigabytes(monkeypatch):
    monkeypatch.setattr(limits, "machine_memory", lambda: 16_000_000_000)


def test_the_message_names_memory_time_and_the_most():
    with pytest.raises(mb.MatchbanditError) as refused:
        refuse_too_large(10**15, numbers_per_run=975)
    assert str(refused.value) == (
        "runs=1,000,000,000,000,000 would need at least 8·10⁶ TB of memory, where this machine has 16 GB, and 320 "
        "years of computing. Use at most runs=2,000,000."
    )
    refuse_too_large(2_000_000, numbers_per_run=975)
    with pytest.raises(mb.MatchbanditError):
        refuse_too_large(2_000_001, numbers_per_run=975)


def test_time_alone_is_enough():
    rounds = 10**16  # at 10 ns: 3.2 years
    refuse_too_large(31, numbers_per_run=1, rounds_per_run=rounds)
    with pytest.raises(mb.MatchbanditError, match=r"and 100 years of computing\. Use at most runs=31\."):
        refuse_too_large(32, numbers_per_run=1, rounds_per_run=rounds)
    with pytest.raises(mb.MatchbanditError, match="Even a single run is too large: use a shorter horizon"):
        refuse_too_large(1, numbers_per_run=1, rounds_per_run=10**18)


@pytest.mark.parametrize("runs", [10**15, 10**399], ids=["1e15", "1e399"])
@pytest.mark.parametrize(
    "call",
    [
        lambda runs: mb.simulate(SLOTS, "pair-elim", horizon=100, runs=runs),
        lambda runs: mb.identify(SLOTS, "pair-elim", delta=0.1, runs=runs),
        lambda runs: mb.compare(SLOTS, ["pair-elim", "uniform"], horizon=100, runs=runs),
        lambda runs: mb.compare(SLOTS, ["pair-elim", "clucb"], delta=0.1, runs=runs),
    ],
    ids=["simulate", "identify", "compare", "compare-delta"],
)
def test_absurd_numbers_of_runs_are_refused_at_once(call, runs):
    with pytest.raises(mb.MatchbanditError, match=r"^runs=.* would need at least .* TB of memory.* Use at most runs="):
        call(runs)


def test_absurd_checkpoints_and_horizons_are_refused_at_once():
    with pytest.raises(mb.MatchbanditError, match="fewer checkpoints"):
        mb.simulate(SLOTS, "pair-elim", horizon=10**12, checkpoints=range(1, 10**12))
    with pytest.raises(mb.MatchbanditError, match="Use at most runs=310"):
        mb.simulate(SLOTS, "uts", horizon=10**15, runs=1000)
    assert mb.simulate(SLOTS, "pair-elim", horizon=10**18).final[0] > 0  # leaps do not count


@pytest.mark.parametrize("drift", [mb.RandomWalk(0.1), mb.Seasons(100, 1, every=2), mb.Jumps(rate=0.5)])
def test_leaps_that_end_at_every_change_of_a_drifting_problem_count(drift, tmp_path):
    walking = mb.Drifting(SLOTS, drift)
    with pytest.raises(mb.MatchbanditError, match="Even a single run is too large: use a shorter horizon"):
        mb.simulate(walking, "pair-elim", horizon=10**18)
    study = mb.Study(name="long", problem=walking, policies=["pair-elim"], horizon=10**18, runs=1)
    with pytest.raises(mb.MatchbanditError, match="Even a single run is too large"):
        study.run(tmp_path / "long")


def test_changes_are_counted():
    assert mb.RandomWalk(0.1, every=3).count_changes(10) == 3
    assert mb.RandomWalk(0).count_changes(10) == mb.Seasons(5, 0).count_changes(10) == 0
    assert mb.Jumps(rate=0.25).count_changes(1000) == 250
    assert mb.Jumps(rounds=[1, 10, 11]).count_changes(10) == 2


def test_studies_are_refused_before_their_folder_is_made(tmp_path):
    sweep = {"horizon": [10, 100]}
    study = mb.Study(name="many", problem=SLOTS, policies=["pair-elim", "uniform"], sweep=sweep, runs=10**15)
    with pytest.raises(mb.MatchbanditError, match="runs=1,000,000,000,000,000 for each of 4 would need"):
        study.run(tmp_path / "many")
    assert not (tmp_path / "many").exists()
    with pytest.raises(mb.MatchbanditError, match="would need at least"):
        mb.reproduce("fig3-top", runs=10**15, out=tmp_path / "figures")
