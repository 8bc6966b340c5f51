"""Paths of strengths: walks, seasons and jumps, against their definitions."""

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.problems import problem_from
from matchbandit.problems.drifting import drift_from, expit, flatten_drift, logit, parse_drift

FOUR = mb.Monopartite([0.9, 0.7, 0.4, 0.1])
TWO_BY_THREE = mb.Bipartite([0.9, 0.3], [0.8, 0.5, 0.1])


def path(drift, rounds, problem=FOUR, **run):
    return mb.Drifting(problem, drift).strengths(range(1, rounds + 1), **run)


def test_a_random_walk_moves_by_its_step_and_stays_within_its_bounds():
    walk = path(mb.RandomWalk(0.05, low=0.2, high=0.8), 20_000, seed=1)
    assert walk[0].tolist() == FOUR.u.tolist()  # even outside the bounds
    assert walk[1:].min() >= 0.2
    assert walk[1:].max() <= 0.8
    assert walk[1:].min() < 0.21  # it gets there
    assert walk[1:].max() > 0.79
    inside = (walk[1:] > 0.3) & (walk[1:] < 0.7)
    steps = np.diff(logit(walk[1:]), axis=0)[inside[:-1]]
    assert abs(steps.std() / 0.05 - 1) < 4 / np.sqrt(2 * len(steps))
    assert abs(steps.mean()) < 4 * 0.05 / np.sqrt(len(steps))


def test_the_speed_of_a_walk_does_not_depend_on_how_often_it_moves():
    start = mb.Monopartite(np.full(300, 0.5))
    ends = [path(mb.RandomWalk(0.02, every=every), 101, start, seed=3)[-1] for every in (1, 25, 100)]
    for end in ends:
        assert abs(logit(end).std() / 0.2 - 1) < 4 / np.sqrt(2 * 300)


def test_a_walk_changes_after_every_so_many_rounds_only():
    walk = path(mb.RandomWalk(0.1, every=7), 7 * 1100)  # more than a block of changes
    moved = np.flatnonzero((np.diff(walk, axis=0) != 0).any(axis=1)) + 2  # the first rounds with new strengths
    assert moved.tolist() == list(range(8, 7 * 1100 + 1, 7))


def test_seasons_follow_a_sine_on_the_logit_scale():
    seasons = mb.Seasons(period=50, amplitude=1.5, every=3, phases=[0, 0.25, 0.5, 0.9])
    t = np.arange(1, 4001)
    first = (t - 1) // 3 * 3
    expected = [
        expit(logit(FOUR.u[i]) + 1.5 * np.sin(2 * np.pi * (first / 50 + phase)))
        for i, phase in enumerate([0, 0.25, 0.5, 0.9])
    ]
    np.testing.assert_allclose(path(seasons, 4000), np.transpose(expected), rtol=0, atol=1e-12)


def test_seasons_draw_phases_for_each_run_and_leave_0_and_1():
    extreme = mb.Monopartite([0.0, 1.0, 0.5, 0.5])
    seasons = path(mb.Seasons(100, 2), 100, extreme, seed=1)
    assert (seasons[:, 0] == 0).all()
    assert (seasons[:, 1] == 1).all()
    assert (seasons[:, 2] != seasons[:, 3]).all()
    assert (seasons[:, 2] != path(mb.Seasons(100, 2), 100, extreme, seed=1, run=1)[:, 2]).all()


def test_jumps_at_given_rounds_replace_so_many_items():
    jumped = path(mb.Jumps(rounds=[1, 5, 5, 900], items=2, low=0.5, high=0.6), 1000, TWO_BY_THREE)
    changed = np.diff(np.vstack([np.concatenate([TWO_BY_THREE.u, TWO_BY_THREE.v]), jumped]), axis=0) != 0
    assert (np.flatnonzero(changed.any(axis=1)) + 1).tolist() == [1, 5, 900]
    assert changed.sum(axis=1)[[0, 4, 899]].tolist() == [2, 2, 2]
    assert jumped[-1].max() <= 0.8
    assert ((jumped[0] == np.array([0.9, 0.3, 0.8, 0.5, 0.1])) | ((jumped[0] >= 0.5) & (jumped[0] <= 0.6))).all()


def test_jumps_come_at_their_rate():
    n = 20_000
    jumped = path(mb.Jumps(rate=0.02), n, seed=2)
    times = np.flatnonzero((np.diff(jumped, axis=0) != 0).any(axis=1))
    assert abs(len(times) - 0.02 * n) < 4 * np.sqrt(0.02 * 0.98 * n)
    gaps = np.diff(times)
    assert abs(gaps.std() / (np.sqrt(0.98) / 0.02) - 1) < 0.25  # geometric
    every = path(mb.Jumps(rate=1.0), 10)
    assert (np.diff(every, axis=0) != 0).all()
    assert len(np.unique(path(mb.Jumps(rate=1e-300), 10_000), axis=0)) == 1


@pytest.mark.parametrize("drift", [mb.RandomWalk(1e6, every=10**15), mb.Jumps(rate=1e-320), mb.Seasons(1e-300, 1e300)])
def test_extreme_parameters_give_strengths(drift):
    strengths = path(drift, 3, seed=1)  # a warning of NumPy would be an error
    assert ((strengths >= 0) & (strengths <= 1)).all()


@pytest.mark.parametrize("drift", [mb.RandomWalk(0), mb.Seasons(10, 0), mb.Jumps(rate=0), mb.Jumps(rounds=[])])
def test_a_drift_of_size_0_changes_nothing(drift):
    assert drift.is_still
    assert (path(drift, 50) == FOUR.u).all()


def test_paths_belong_to_the_seed_and_the_run():
    drifting = mb.Drifting(FOUR, mb.RandomWalk(0.1))
    one = drifting.strengths([1000], seed=1, run=0)
    assert (one == drifting.strengths(range(1, 1001), seed=1, run=0)[-1]).all()
    assert (one != drifting.strengths([1000], seed=1, run=1)).all()
    assert (one != drifting.strengths([1000], seed=2, run=0)).all()


def test_a_family_drifts_from_the_instance_of_each_run():
    spikes = mb.family("spiked", n=3, u1=0.9, gap=0.6)
    drifting = mb.Drifting(spikes, mb.Jumps(rounds=[3]))
    first = spikes.draw(4, 1)
    assert drifting.strengths([2], seed=4, run=1)[0].tolist() == [*first.u, *first.v]
    assert drifting.describe() == {**spikes.describe(), "drift": drifting.drift.describe()}
    assert drifting.graph == spikes.graph


@pytest.mark.parametrize(
    "drift",
    [mb.RandomWalk(0.1, every=5), mb.Seasons(100, 1, phases=[0, 0.1, 0.2, 0.3]), mb.Jumps(rounds=[5, 2], items=1)],
)
def test_descriptions_are_read_back(drift):
    assert drift_from(drift.describe()) == drift
    drifting = mb.Drifting(mb.Monopartite(FOUR.u, rewards=mb.Gaussian(0.5)), drift)
    again = problem_from(drifting.describe())
    assert again.describe() == drifting.describe()
    assert again.rewards == mb.Gaussian(0.5)
    assert drift.name in repr(again)


def test_texts_and_tables_name_a_drift():
    assert parse_drift("random-walk:0.01") == mb.RandomWalk(0.01)
    assert parse_drift("random-walk:0.01:every=10:low=0.2") == mb.RandomWalk(0.01, 10, 0.2)
    assert parse_drift("seasons:1e4:1.5") == mb.Seasons(1e4, 1.5)
    assert parse_drift("jumps:0.001") == mb.Jumps(rate=0.001)
    assert parse_drift("jumps:rounds=5000,8000:items=2") == mb.Jumps(rounds=(5000, 8000), items=2)
    assert flatten_drift("random-walk:0.01")["drift_step"] == 0.01
    assert flatten_drift(mb.Jumps(rate=0.5)) == {
        "drift": "jumps", "drift_rate": 0.5, "drift_low": 0.0, "drift_high": 1.0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.RandomWalk(-1), "step must be at least 0; got -1"),
        (lambda: mb.RandomWalk(1e308), "step must be at most 1,000,000; got 1e.308"),
        (lambda: mb.RandomWalk(0.1, every=0), "every must be a whole number"),
        (lambda: mb.RandomWalk(0.1, low=0.0), "strictly between 0 and 1"),
        (lambda: mb.Seasons(0, 1), "period must be above 0"),
        (mb.Jumps, "either a rate, such as 0.001, or rounds, such as .5000.; got neither"),
        (lambda: mb.Jumps(rate=0.1, rounds=[1]), "got both"),
        (lambda: mb.Jumps(rate=1.5), "rate must lie in"),
        (lambda: mb.Jumps(rounds=[0]), "a round of a jump must be a whole number"),
        (lambda: mb.Jumps(rate=0.1, low=0.6, high=0.5), "low < high"),
        (lambda: mb.Drifting(FOUR, mb.Jumps(rate=0.1, items=5)), "items must be at most 4"),
        (lambda: mb.Drifting(FOUR, mb.Seasons(10, 1, phases=[0])), "one number for each of the 4 items; got 1"),
        (lambda: mb.Drifting(FOUR, 0.1), "drift must be RandomWalk"),
        (lambda: mb.Drifting(mb.Means([[0.1]]), mb.RandomWalk(0.1)), "only strengths drift"),
        (lambda: mb.Drifting(mb.Bipartite([0.5] * 2000, [0.5] * 501), mb.RandomWalk(0.1)), "at most 1,000,000 pairs"),
        (lambda: parse_drift("random-walc:1"), "did you mean 'random-walk'"),
        (lambda: parse_drift("random-walk"), "random-walk needs step; got nothing"),
        (lambda: parse_drift("random-walk:fast"), "step of a drift must be a number; got 'fast'"),
        (lambda: parse_drift("random-walk:1:2:0.1:0.9:5"), "takes at most 4 parameters"),
        (lambda: parse_drift("random-walk:1:step=2"), "step is given twice"),
        (lambda: drift_from({"kind": "jumps", "rat": 1}), "did you mean 'rate'"),
        (lambda: flatten_drift([1]), "drift must be a table"),
        (lambda: flatten_drift({"step": 1}), "drift needs its kind"),
        (lambda: mb.Drifting(FOUR, mb.RandomWalk(0.1)).strengths([2, 1]), "rounds must increase"),
    ],
)  # fmt: skip
def test_mistakes_are_named(make, message):
    with pytest.raises(mb.MatchbanditError, match=message):
        make()


def test_what_changes_has_no_single_answer():
    drifting = mb.Drifting(FOUR, mb.RandomWalk(0.1))
    for ask in (
        lambda: drifting.means,
        lambda: drifting.best("pair"),
        lambda: drifting.optimum("matching"),
        lambda: drifting.tie("pair"),
        lambda: drifting.value([(0, 1)]),
    ):
        with pytest.raises(mb.MatchbanditError, match="change from round to round"):
            ask()
