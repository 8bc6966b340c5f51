"""Playing drifting problems: regret against the moving optimum, by brute force; paths that no policy changes."""

from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.problems.drifting import Changes
from matchbandit.seeding import stream

FOUR = mb.Monopartite([0.9, 0.7, 0.4, 0.1])
FIVE = mb.Monopartite([0.9, 0.7, 0.5, 0.3, 0.1])
TWO_BY_THREE = mb.Bipartite([0.9, 0.3], [0.8, 0.5, 0.1])
DRIFTS = [
    mb.RandomWalk(0.3),
    mb.Seasons(37, 2, every=5),
    mb.Jumps(rate=0.1),
    mb.Jumps(rounds=[1, 50, 51, 120, 10**6], items=2),
]


def all_rounds(graph, selection, absent=None):
    """Every pair, or every largest matching of those present, as sets of pairs: by enumeration."""
    if selection == "pair":
        return [[tuple(pair)] for pair in graph.pairs.tolist()]
    if graph.is_bipartite:
        n, m = graph.shape
        assert n <= m
        return [list(zip(range(n), columns, strict=True)) for columns in permutations(range(m), n)]
    present = [i for i in range(graph.n_items) if i != absent]
    return [list(zip(order[::2], order[1::2], strict=False)) for order in permutations(present)]


def slow_regret(problem, spec, horizon, seed, run):
    """Round by round in plain Python: the regret after each round, and the plays."""
    start = problem.problem
    graph, rows = start.graph, start.graph.n_rows
    policy = spec.build(graph, rewards=problem.rewards, horizon=horizon, seed=seed, run=run)
    rng = stream(seed, "rewards", run)
    strengths = problem.strengths(range(1, horizon + 1), seed=seed, run=run)
    total, regrets, plays = 0.0, [], np.zeros(graph.shape, dtype=int)
    for u in strengths:
        mean = {(i, j): u[i] * u[j + rows] for i, j in graph.pairs.tolist()}
        mean |= {} if graph.is_bipartite else {(j, i): value for (i, j), value in mean.items()}
        pairs = [tuple(pair) for pair in policy.ask().tolist()]
        absent = None
        if policy.selection == "matching" and not graph.is_bipartite and graph.n_items % 2:
            (absent,) = set(range(graph.n_items)) - {i for pair in pairs for i in pair}
        best = max(sum(mean[pair] for pair in one) for one in all_rounds(graph, policy.selection, absent))
        total += best - sum(mean[pair] for pair in pairs)
        regrets.append(total)
        policy.tell(np.array(pairs), problem.rewards.draw(np.array([mean[pair] for pair in pairs]), rng))
        for i, j in pairs:
            plays[min(i, j) if rows == 0 else i, max(i, j) if rows == 0 else j] += 1
    return np.array(regrets), plays


@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: f"{drift.name}-{drift.describe().get('rounds')}")
@pytest.mark.parametrize(
    ("problem", "name", "options"),
    [
        (FOUR, "rank1-thompson", {"half_life": 30}),
        (FOUR, "rank1-thompson", {"selection": "pair"}),
        (FIVE, "rank1-thompson", {}),
        (TWO_BY_THREE, "rank1-thompson", {"selection": "matching"}),
        (TWO_BY_THREE, "rank1-thompson", {}),
    ],
    ids=["four", "four-pair", "five", "matching", "pair"],
)
@pytest.mark.sampled(4)
def test_the_regret_is_that_of_a_slow_loop_with_the_best_round_by_enumeration(problem, name, options, drift):
    drifting, spec = mb.Drifting(problem, drift), mb.policy(name, **options)
    slow, plays = slow_regret(drifting, spec, 150, 3, 2)
    for engine in ("loop", "step"):
        runs = mb.simulate(
            drifting, spec, horizon=150, first_run=2, seed=3, engine=engine, checkpoints=[1, 49, 50, 51, 77, 150]
        )
        np.testing.assert_allclose(runs.regret[0], slow[runs.rounds - 1], rtol=1e-10, atol=1e-12)
        assert (runs.plays[0] == plays).all()


@pytest.mark.parametrize("law", [mb.Gaussian(0.3), mb.Binomial(3)])
@pytest.mark.slow
def test_other_rewards_drift_too(law):
    drifting = mb.Drifting(mb.Bipartite(TWO_BY_THREE.u, TWO_BY_THREE.v, rewards=law), mb.RandomWalk(0.2))
    slow, plays = slow_regret(drifting, mb.policy("rank1-thompson"), 60, 1, 0)
    runs = mb.simulate(drifting, "rank1-thompson", horizon=60, seed=1)
    np.testing.assert_allclose(runs.final, slow[-1:], rtol=1e-10)
    assert (runs.plays[0] == plays).all()


def test_planned_policies_step_through_changes():
    drifting = mb.Drifting(FOUR, mb.Jumps(rate=0.02))
    slow, plays = slow_regret(drifting, mb.policy("adaptive-matching"), 400, 5, 0)
    runs = mb.simulate(drifting, "adaptive-matching", horizon=400, seed=5, engine="step", checkpoints=range(1, 401))
    np.testing.assert_allclose(runs.regret[0], slow, rtol=1e-10, atol=1e-12)
    assert (runs.plays[0] == plays).all()


@pytest.mark.parametrize(
    ("problem", "name", "drift"),
    [(FOUR, "adaptive-matching", mb.Jumps(rate=0.05)), (TWO_BY_THREE, "pair-elim", mb.Seasons(100, 3, every=7))],
)
@pytest.mark.slow
def test_leaps_from_change_to_change_have_the_distribution_of_steps(problem, name, drift):
    drifting = mb.Drifting(problem, drift)
    leaps, steps = (
        mb.simulate(drifting, name, horizon=120, runs=25, first_run=first, seed=4, checkpoints=[60], engine=engine)
        for engine, first in (("jump", 0), ("step", 50))
    )
    for k in range(2):
        error = np.sqrt((leaps.regret[:, k].var(ddof=1) + steps.regret[:, k].var(ddof=1)) / 25)
        assert abs(leaps.regret[:, k].mean() - steps.regret[:, k].mean()) < 4 * error
    assert (leaps.plays.sum(axis=(1, 2)) == steps.plays.sum(axis=(1, 2))).all()


@pytest.mark.parametrize("jump", [300, 301, 302])
@pytest.mark.parametrize(
    ("start", "name"),
    [(mb.Monopartite([0.0] * 4), "adaptive-matching"), (mb.Bipartite([0.0] * 2, [0.0] * 3), "pair-elim")],
)
def test_rewards_of_leaps_are_drawn_with_the_means_of_their_round(start, name, jump):
    """With strengths of 0 before the jump and 1 from then on, every play from then on is paid, and none before."""
    drifting = mb.Drifting(start, mb.Jumps(rounds=[jump], low=1 - 1e-12))
    for engine in ("jump", "step"):
        runs = mb.simulate(drifting, name, horizon=400, seed=1, engine=engine)
        assert runs.reward_sums.sum() == (401 - jump) * (2 if name == "adaptive-matching" else 1)
        assert runs.final[0] == pytest.approx(0, abs=1e-6)


def test_leaps_over_few_changes_reach_any_horizon():
    drifting = mb.Drifting(FOUR, mb.Jumps(rounds=[10**6], low=0.5))
    runs = mb.simulate(drifting, "adaptive-matching", horizon=10**12, runs=2, seed=1, checkpoints=[10**6 - 1, 10**7])
    assert (runs.plays.sum(axis=(1, 2)) == 2 * 10**12).all()
    static = mb.simulate(FOUR, "adaptive-matching", horizon=10**12, runs=2, seed=1, checkpoints=[10**6 - 1, 10**7])
    assert runs.regret[:, 0] == pytest.approx(static.regret[:, 0])  # the same leaps before the jump


@pytest.mark.parametrize(
    "drift", [mb.RandomWalk(0), mb.Seasons(10, 0), mb.Jumps(rate=0), mb.Jumps(rounds=[301])], ids=repr
)
def test_without_a_change_everything_is_that_of_the_problem_itself(drift):
    for name, engine in (("rank1-thompson", "loop"), ("adaptive-matching", "jump"), ("adaptive-matching", "step")):
        static, moving = (
            mb.simulate(problem, name, horizon=300, runs=2, seed=6, engine=engine)
            for problem in (FOUR, mb.Drifting(FOUR, drift))
        )
        assert (static.regret == moving.regret).all()
        assert (static.plays == moving.plays).all()
        assert (static.reward_sums == moving.reward_sums).all()


@dataclass(frozen=True)
class Same(mb.Drift):
    """Changes after every round, to the same strengths."""

    name: ClassVar[str] = "same"
    is_still: ClassVar[bool] = False
    first_draws: ClassVar[list[float]] = []

    def changes(self, strengths, rng):
        self.first_draws.append(rng.random())
        for first in range(0, 10**6, 100):
            yield Changes(np.arange(first, first + 100), np.tile(strengths, (100, 1)))


@pytest.mark.parametrize("problem", [FOUR, FIVE, TWO_BY_THREE])
def test_changes_to_the_same_strengths_change_nothing(problem):
    """The shortcut for a still drift is not taken: all of the moving score is at work."""
    for engine in ("loop", "step"):
        static, moving = (
            mb.simulate(one, "rank1-thompson", horizon=3000 if engine == "loop" else 200, seed=6, engine=engine)
            for one in (problem, mb.Drifting(problem, Same()))
        )
        assert (static.plays == moving.plays).all()
        assert (static.reward_sums == moving.reward_sums).all()
        np.testing.assert_allclose(static.regret, moving.regret, rtol=1e-10, atol=1e-10)


def test_every_policy_and_any_number_of_workers_meets_the_same_path():
    drifting = mb.Drifting(FOUR, Same())
    Same.first_draws.clear()
    for name in ("rank1-thompson", "adaptive-matching"):
        mb.simulate(drifting, name, horizon=20, runs=3, seed=6)
    draws = Same.first_draws
    assert draws[:3] == draws[3:]
    assert len(set(draws)) == 3
    walking = mb.Drifting(FOUR, mb.RandomWalk(0.1))
    one, two = (mb.simulate(walking, "rank1-thompson", horizon=200, runs=4, seed=2, workers=n) for n in (1, 2))
    assert (one.regret == two.regret).all()
    later = mb.simulate(walking, "rank1-thompson", horizon=200, runs=2, first_run=2, seed=2)
    assert (later.regret == one.regret[2:]).all()


def test_regret_does_not_depend_on_the_checkpoints():
    walking = mb.Drifting(FOUR, mb.RandomWalk(0.1))
    few = mb.simulate(walking, "rank1-thompson", horizon=5000, seed=2, checkpoints=[1024, 3000])
    many = mb.simulate(walking, "rank1-thompson", horizon=5000, seed=2, checkpoints=range(1, 5001))
    np.testing.assert_allclose(few.regret[0], many.regret[0, [1023, 2999, 4999]], rtol=1e-9)
    assert (np.diff(many.regret[0]) >= -1e-9).all()


def test_after_a_jump_a_stationary_policy_loses_linearly_and_one_that_forgets_recovers():
    """Two columns change places in round 3001: what was learned before is wrong from then on."""
    drifting = mb.Drifting(mb.Bipartite([0.9, 0.2], [0.9, 0.2]), mb.Jumps(rounds=[3001]))
    seed = next(
        seed for seed in range(100) if np.argmax(drifting.strengths([3001], seed=seed)[0, 2:]) == 1
        and np.ptp(drifting.strengths([3001], seed=seed)[0, 2:]) > 0.4
        and drifting.strengths([3001], seed=seed)[0, :2].min() > 0.5
    )  # fmt: skip
    marks = [3000, 4000, 5000, 6000]
    ranked = mb.compare(
        drifting, ["rank1-thompson", mb.policy("rank1-thompson", half_life=100)], horizon=6000, runs=1, seed=seed,
        checkpoints=marks,
    )  # fmt: skip
    stays, forgets = (result.regret[0] for result in ranked)
    assert stays[0] < forgets[0]  # forgetting costs where nothing changes
    assert (np.diff(stays) > 200).all()
    assert (np.diff(forgets) < np.diff(stays) / 2).all()


def test_a_run_that_ends_early_keeps_its_regret():
    drifting = mb.Drifting(mb.Monopartite([0.99, 0.98, 0.1, 0.05]), mb.RandomWalk(0.01))
    runs = mb.simulate(drifting, "adaptive-matching", horizon=10_000, seed=1, stop="first-split")
    assert runs.ended[0] < 10_000
    late = runs.rounds >= runs.ended[0]
    assert len(set(runs.regret[0, late])) == 1
    assert runs.final[0] > 0


def test_what_needs_constant_means_says_so():
    drifting = mb.Drifting(FOUR, mb.RandomWalk(0.1))
    for ask in (
        lambda: mb.identify(drifting, "matching-id", delta=0.1),
        lambda: mb.identify(drifting, "sequential-halving", budget=100),
        lambda: mb.compare(drifting, ["matching-id"], delta=0.1),
        lambda: mb.watch(drifting, "adaptive-matching", horizon=100),
        lambda: mb.bounds(drifting, horizon=100),
    ):
        with pytest.raises(mb.MatchbanditError, match="cannot be used on a drifting problem: the best answer changes"):
            ask()


def test_results_name_the_drift(tmp_path):
    spikes = mb.family("spiked", n=2, u1=0.9, gap=0.6)
    runs = mb.simulate(mb.Drifting(spikes, mb.Jumps(rounds=[3, 5])), "rank1-thompson", horizon=10, seed=1)
    frame = runs.to_frame()
    row = frame.iloc[0]
    assert (row["family"], row["n"], row["drift"], list(row["drift_rounds"])) == ("spiked", 2, "jumps", [3, 5])
    runs.save(tmp_path / "runs.parquet")
    again = mb.load(tmp_path / "runs.parquet")
    assert again.about.problem == runs.about.problem
    assert "jumps drift" in again.about.title
