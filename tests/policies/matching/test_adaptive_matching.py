"""Adaptive-Matching and its kin: SAM and exploration-first."""

import json
import warnings
from itertools import combinations, pairwise
from math import log, sqrt

import numpy as np
import pytest
from reference.tape import Roll

import matchbandit as mb
from matchbandit.confidence import NEVER
from matchbandit.errors import MatchbanditError
from matchbandit.policies.matching.clusters import find_separations
from matchbandit.simulation.engines import jump
from matchbandit.simulation.play import Job
from matchbandit.simulation.score import Score

ALL = ["adaptive-matching", "simple-adaptive-matching", "exploration-first"]
SIZES = [4, 6, 8, 10, 12]
UNEQUAL = [1.0, 0.5, 0.3, 0.3, 0.2, 0.2, 0.2, 0.2]
"""The first two are told apart before the second and third, who would make an even place."""


def build(name, n, horizon=3, law=None, seed=0, **options):
    return mb.policy(name, **options).build(
        mb.monopartite(n), rewards=law or mb.Bernoulli(), horizon=horizon, seed=seed
    )


def play(policy, rounds, u):
    """Ask and tell; every pair pays its mean. Gives the rounds played."""
    means, played = mb.Monopartite(u).means, []
    for _ in range(rounds):
        pairs = policy.ask()
        played.append(sorted(map(tuple, pairs.tolist())))
        policy.tell(pairs, means[policy.graph.edges(pairs)])
    return played


def run(name, problem, horizon, run, checkpoints=None, engine="jump", told=None, **options):
    """One run: the policy, its score."""
    at = np.array([horizon] if checkpoints is None else checkpoints)
    return Job(problem, mb.policy(name, **options), at, 3, engine, told or horizon).play(run)


class Means:
    """Pays the mean of each play."""

    def __init__(self, u):
        self.means = mb.Monopartite(u).means

    def sums(self, edges, counts):
        return self.means[edges] * counts


def leap(policy, rounds, source):
    score = Score(mb.Monopartite(np.full(policy.n, 0.5)), "matching", np.array([rounds]))
    jump(policy, source, score)
    return score.plays


# Balance


def adaptive(policy):
    """What keeps the clusters: exploration-first holds an Adaptive-Matching for that."""
    return getattr(policy, "adaptive", policy)


class Balance:
    """Looks at the ledger after everything that a policy learns."""

    def __init__(self, policy):
        self.policy, self.learn, self.checked = policy, policy.learn, 0
        policy.learn = self

    def __call__(self, tally):
        self.learn(tally)
        counts, pool = adaptive(self.policy).ledger.counts, []
        for cluster in self.policy.clusters:
            pool += cluster
            for a, b in combinations(cluster, 2):
                assert all(counts[a, k] == counts[b, k] for k in pool if k not in (a, b))
                assert counts[a, b] == counts[b, a]
        self.checked += 1


@pytest.mark.parametrize("name", ["adaptive-matching", "simple-adaptive-matching", "exploration-first"])
@pytest.mark.parametrize("engine", ["step", "jump"])
@pytest.mark.filterwarnings("ignore:simple-adaptive-matching assumes")
@pytest.mark.sampled(2)
def test_at_every_commit_any_two_of_a_cluster_have_met_every_third_of_theirs_and_better_ones_equally_often(
    name, engine
):
    split = looked = 0
    for n in SIZES:
        rng = np.random.default_rng(n)
        policy = build(name, n)
        balance = Balance(policy)
        low = 0.3 * rng.random(n)
        problem = mb.Monopartite(np.where(rng.permutation(n) < n // 2, 1 - low, low))
        rounds = 400 if engine == "step" else 30_000
        tape = Roll.bernoulli(problem.means, rounds, n)
        if engine == "jump":
            jump(policy, tape, Score(problem, "matching", np.array([100, 7001, rounds])))
        else:
            for _ in range(rounds):
                pairs = policy.ask()
                policy.tell(pairs, tape.sums(policy.graph.edges(pairs), np.ones(len(pairs), dtype=np.int64)))
        looked, split = looked + balance.checked, split + len(policy.splits)
    assert looked > 20
    assert split > 2


def test_a_cluster_in_a_chain_stays_balanced_while_its_neighbours_split():
    # Sizes 5, 8 and 7 of 20 players: periods of 5, 1960 and 7 rounds.
    policy = build("adaptive-matching", 20, horizon=10**4, clusters=[range(5), range(5, 13), range(13, 20)])
    balance = Balance(policy)
    u = np.concatenate([np.full(5, 0.9), np.full(8, 0.6), [0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]])
    leap(policy, 10**6, Means(u))
    assert balance.checked > 30
    assert policy.clusters == [list(range(5)), list(range(5, 13)), [13, 14, 15], [16, 17, 18, 19]]
    assert policy.chains == [policy.clusters[:3], policy.clusters[3:]]


# The order


def wrong_orders(horizon, runs):
    """How many runs on random instances end with a player above a better one, and how many clusters there are."""
    rng, wrong, clusters = np.random.default_rng([horizon % 1000, runs]), 0, 0
    for number in range(runs):
        u = rng.random(rng.choice(SIZES))
        policy, _ = run("adaptive-matching", mb.Monopartite(u), horizon, number)
        wrong += any(u[better].min() < u[worse].max() for better, worse in pairwise(policy.clusters))
        clusters += len(policy.clusters)
    return wrong, clusters


@pytest.mark.slow
def test_no_player_is_put_above_a_better_one():
    # The theory allows this in 4N/T of the runs.
    wrong, clusters = wrong_orders(10**5, 1000)
    assert wrong == 0
    assert clusters > 3000


def test_with_time_everyone_finds_the_own_place():
    problem = mb.Monopartite([0.2, 0.9, 0.5, 0.8, 0.35, 0.05])
    policy, score = run("adaptive-matching", problem, 10**12, 0)
    assert [sorted(part) for part in np.split(np.concatenate(policy.clusters), 3)] == [[1, 3], [2, 4], [0, 5]]
    assert max(map(len, policy.clusters)) <= 2
    assert policy.recommend().tolist() == [[1, 3], [2, 4], [0, 5]]
    assert score.plays.sum() == 3 * 10**12
    at = policy.splits[-1][0]
    assert at < 10**7
    assert score.regret[-1] <= at * problem.optimum("matching")


def test_a_pair_across_two_clusters_is_booked_for_the_player_of_the_lower_one_alone():
    # 0, 1, 2 above 3, periods of 3 rounds with two samples for each of the three: the first check, at 4 log 100 = 18.4,
    # is reached after ten. Each pair of the three has met 10 times, and 3 has met each of them 10 times.
    policy = build("adaptive-matching", 4, horizon=100, growth=1.0, clusters=[[0, 1, 2], [3]])
    play(policy, 30, [1.0, 1.0, 1.0, 0.5])
    assert policy.ledger.counts.tolist() == [[0, 10, 10, 0], [10, 0, 10, 0], [10, 10, 0, 0], [10, 10, 10, 0]]
    assert policy.ledger.sums.tolist() == [[0, 10, 10, 0], [10, 0, 10, 0], [10, 10, 0, 0], [5, 5, 5, 0]]


def test_the_rule_to_split_is_that_intervals_do_not_touch():
    def cut(players, means, radius):
        ranked, places = find_separations(np.array(players), np.array(means), radius)
        return [part.tolist() for part in np.split(ranked, places)]

    assert cut(range(4), [0.75, 0.75, 0.25, 0.25], 0.25) == [[0, 1, 2, 3]]
    assert cut(range(4), [0.25, 0.75, 0.25, 0.75], 0.2499) == [[1, 3], [0, 2]]
    assert cut(range(4), [0.0, 1.0, 0.5, 0.25], 0.2) == [[1], [2, 3, 0]]
    assert cut([4, 7, 9], [0.1, 0.9, 0.5], 0.1) == [[7], [9], [4]]


def test_by_hand_four_players_split_at_the_first_check_that_tells_them_apart():
    # T = 100, growth 4: log T = 4.605, k_1 = ceil(73.7) = 74, radius sqrt(4.605 / 74) = 0.2495. Players of 1, 0, 1, 0
    # have averages of 1/3 and 0: not separated at 75 samples, 25 tournaments. k_2 = ceil(294.7) = 295, radius 0.125:
    # separated at 99 tournaments, 297 rounds. From then on the two pairs play for themselves.
    policy = build("adaptive-matching", 4, horizon=100, growth=4.0)
    u = [1.0, 0.0, 1.0, 0.0]
    play(policy, 296, u)
    assert policy.splits == []
    assert policy.ledger.counts.max() == 25
    play(policy, 1, u)
    assert policy.splits == [(297, [[0, 2], [1, 3]])]
    assert (policy.ledger.counts == 99 * (1 - np.eye(4))).all()
    assert policy.ledger.sums.tolist() == (99 * (np.outer(u, u) * (1 - np.eye(4)))).tolist()
    assert play(policy, 10, u) == [[(0, 2), (1, 3)]] * 10
    assert policy.current.limit == NEVER


def test_the_radius_is_that_of_the_scheduled_count_not_of_the_actual_one():
    # T = 100, growth 4: k_1 = 74, reached with 75 samples. Sums put the averages between the two radii.
    scheduled, actual = sqrt(log(100) / 74), sqrt(log(100) / 75)
    for gap, splits in ((2 * scheduled + 1e-9, 1), ((scheduled + actual), 0)):
        policy = build("adaptive-matching", 4, horizon=100, growth=4.0)
        policy.ledger.sums[:2] = 75 * gap / 3 * (1 - np.eye(4)[:2])
        leap(policy, 75, Means([0.0] * 4))
        assert policy.ledger.counts.max() == 25
        assert len(policy.splits) == splits


# Engines


@pytest.mark.parametrize("name", ALL)
def test_a_jump_over_10_to_the_15_rounds_makes_few_decisions_and_loses_no_play(name):
    problem = mb.Monopartite([0.9, 0.9, 0.6, 0.6, 0.3, 0.3])
    made = []
    for horizon in (10**6, 10**15):
        policy = build(name, 6, horizon=horizon)
        decide = policy.learn
        policy.learn = lambda tally, decide=decide: (made.append(horizon), decide(tally))  # noqa: B023
        plays = leap(policy, horizon, Means(problem.u))
        assert sum(plays.tolist()) == 3 * horizon
    assert 0 < made.count(10**15) < 600


# SAM


def test_sam_is_adaptive_matching_for_players_in_equal_pairs():
    problem = mb.family("centred", n=4, mean=0.5, gap=0.3).draw()
    for number in range(6):
        ours, score = run("simple-adaptive-matching", problem, 10**5, number, [1000, 33_333, 10**5])
        other, other_score = run("adaptive-matching", problem, 10**5, number, [1000, 33_333, 10**5])
        assert all(len(cluster) % 2 == 0 for cluster in other.clusters)
        assert len(ours.splits) >= 2
        assert ours.splits == other.splits
        assert ours.ledger.counts.tolist() == other.ledger.counts.tolist()
        assert score.regret.tolist() == other_score.regret.tolist()
        assert not ours.warned


def test_sam_warns_once_of_players_who_are_not_equal_and_keeps_even_clusters():
    policy = build("simple-adaptive-matching", 8)
    with pytest.warns(UserWarning, match="assumes players in equal pairs") as told:
        play(policy, 1500, UNEQUAL)
    assert len(told) == 1
    assert "two players are told apart" in str(told[0].message)
    assert policy.splits
    assert all(len(cluster) % 2 == 0 for _, clusters in policy.splits for cluster in clusters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        restored = mb.restore(json.loads(json.dumps(policy.state())))
        play(restored, 600, UNEQUAL)
    assert restored.warned


def test_sam_joins_odd_clusters_to_start_from_and_warns_once():
    with pytest.warns(UserWarning, match="assumes players in equal pairs") as told:
        policy = build("simple-adaptive-matching", 8, clusters=[[6], [5, 4], [0], [1, 2, 3, 7]])
    assert len(told) == 1
    assert "odd size" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leap(policy, 10**5, Means([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]))
    assert len(policy.splits) > 0
    assert policy.options["clusters"] == [[0, 4, 5, 6], [1, 2, 3, 7]]
    assert all(len(cluster) % 2 == 0 for cluster in policy.clusters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build("simple-adaptive-matching", 6, clusters=[[4, 5], [0, 1, 2, 3]]).clusters == [[4, 5], [0, 1, 2, 3]]


def test_sam_pays_exactly_the_regret_of_a_round_robin_before_the_first_split():
    problem = mb.family("centred", n=4, mean=0.5, gap=0.1).draw()
    policy, score = run("simple-adaptive-matching", problem, 40_000, 1, range(7, 40_000, 7), told=200_000)
    first = policy.splits[0][0]
    assert first > 3000
    assert first % 7 == 0
    before = score.regret[: first // 7]
    assert np.allclose(before, 2 / 35 * 7 * np.arange(1, len(before) + 1), rtol=1e-9)
    assert np.isclose(before[0] / 7, 0.0571429, atol=1e-7)
    assert not np.isclose(score.regret[first // 7 + 10], 2 / 35 * 7 * (first // 7 + 11), rtol=1e-9)


def test_sam_never_splits_the_staircase_of_gap_one_tenth_within_the_published_horizon():
    # n = 2: the pair of 0.1 and 0.1 meets in the last of three rounds, worth 0.01. n = 3: 0.05 − 0.13/5 a round.
    two = mb.simulate(mb.family("staircase", n=2, gap=0.1), "simple-adaptive-matching", horizon=200_000, runs=3, seed=1)
    three = mb.simulate(
        mb.family("staircase", n=3, gap=0.1), "simple-adaptive-matching", horizon=200_000, runs=3, seed=1
    )
    assert np.allclose(two.final, (200_000 - 66_666) * 0.01)
    assert np.allclose(two.final, 1333.33, atol=0.011)
    assert np.allclose(three.final, 4800)


# Options


@pytest.mark.parametrize("name", ["adaptive-matching", "simple-adaptive-matching"])
@pytest.mark.parametrize(
    ("clusters", "why"),
    [
        ([[0, 1], [2]], r"missing: \[3\]"),
        ([], r"missing: \[0, 1, 2, 3\]"),
        ([[0, 1], [1, 2, 3]], r"twice: \[1\]"),
        ([[0, 1, 2, 3, 0]], r"twice: \[0\]"),
        ([[0, 1], [], [2, 3]], "one of them is empty"),
        ([[0, 1], [2, 3, 4]], "something in it is not a player"),
        ([[0, 1], [2, 3, -1]], "something in it is not a player"),
        ([[0, 1], [2, 2.5]], "something in it is not a player"),
        ([0, 1, 2, 3], "clusters must list"),
        (7, "clusters must list"),
        ("0123", "something in it is not a player"),
        ([None], "clusters must list"),
    ],
)
def test_clusters_that_do_not_name_everyone_once_are_refused(name, clusters, why):
    with pytest.raises(MatchbanditError, match=why):
        build(name, 4, clusters=clusters)


def test_it_starts_from_the_given_clusters():
    policy = build("adaptive-matching", 6, clusters=np.array([[4, 1, 3], [5, 0, 2]]), horizon=10**6)
    assert policy.clusters == [[1, 3, 4], [0, 2, 5]]
    assert policy.chains == [[[1, 3, 4], [0, 2, 5]]]
    assert policy.options["clusters"] == [[1, 3, 4], [0, 2, 5]]
    for pairs in play(policy, 50, [0.5] * 6):
        across = [pair for pair in pairs if (pair[0] in (1, 3, 4)) != (pair[1] in (1, 3, 4))]
        assert len(across) == 1


@pytest.mark.parametrize("name", [*ALL, "matching-id"])
def test_an_odd_number_of_players_is_refused_by_name(name):
    with pytest.raises(MatchbanditError, match=f"{name} needs an even number of players; got 5"):
        build(name, 5)
    if name not in ("exploration-first", "matching-id"):
        with pytest.raises(MatchbanditError, match=f"{name} needs an even number of players; got 5"):
            build(name, 5, clusters=[[0, 1], [2, 3, 4]])


@pytest.mark.parametrize("name", ALL)
def test_without_a_horizon_or_with_slots_they_are_refused_by_name(name):
    with pytest.raises(MatchbanditError, match=f"{name} needs to know its horizon"):
        mb.policy(name).build(mb.monopartite(4))
    for shape in ((3, 4), (1, 4)):
        with pytest.raises(MatchbanditError, match=f"{name} plays on monopartite graphs"):
            mb.policy(name).build(mb.bipartite(*shape), horizon=100)


@pytest.mark.parametrize("name", ["adaptive-matching", "simple-adaptive-matching"])
def test_slots_are_refused_before_any_clusters_are_looked_at(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MatchbanditError, match=f"{name} plays on monopartite graphs"):
            mb.policy(name, clusters=[[0], [1, 2, 3]]).build(mb.bipartite(2, 2), horizon=100)


@pytest.mark.parametrize("name", ALL)
def test_a_horizon_of_one_round_and_two_players_are_fine(name):
    for n, horizon in ((2, 100), (6, 1), (2, 1)):
        policy = build(name, n, horizon=horizon)
        assert len(play(policy, 40, [0.5] * n)) == 40
        assert policy.splits == []
        json.dumps(policy.explain(), allow_nan=False)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.filterwarnings("ignore:simple-adaptive-matching assumes")
def test_explain_shows_clusters_chains_and_splits_as_json(name):
    policy = build(name, 8)
    play(policy, 450, [1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.0, 0.0])
    said = json.loads(json.dumps(policy.explain(), allow_nan=False))
    assert [cluster["players"] for cluster in said["clusters"]] == policy.clusters
    assert said["details"]["chains"] == adaptive(policy).chains
    assert [(split["round"], split["clusters"]) for split in said["details"]["splits"]] == policy.splits != []
    assert [len(cluster["estimates"]) for cluster in said["clusters"]] == [len(c) for c in policy.clusters]
    assert all(cluster["samples"] >= 0 for cluster in said["clusters"])
    assert said["next_check"]["rounds_a_sweep"] == policy.current.length
    assert said["recommendation"] == policy.recommend().tolist()
    assert [cluster for chain in adaptive(policy).chains for cluster in chain] == policy.clusters


def test_explain_says_when_a_cluster_is_checked_next_and_what_its_period_is():
    policy = build("adaptive-matching", 6, horizon=100, growth=4.0, clusters=[[0, 1, 2], [3], [4, 5]])
    play(policy, 3, [0.5] * 6)
    three, one, two = policy.explain()["clusters"]
    assert (three["samples"], three["next_check_at_samples"]) == (0, 74)
    assert one["next_check_at_samples"] is two["next_check_at_samples"] is None
    assert policy.explain()["details"]["periods"] == [3, 3, 1]
    assert policy.explain()["next_check"]["after_sweeps_at_most"] == 37 * 3 - 3


def test_the_guess_follows_clusters_first_and_averages_within_them():
    policy = build("adaptive-matching", 6, horizon=10**9, clusters=[[0, 1], [2, 3, 4, 5]], growth=4.0)
    sums = policy.ledger.sums
    sums[2, 3], sums[5, 3], sums[1, 0] = 1.0, 2.0, 9.0
    assert policy.recommend().tolist() == [[0, 1], [2, 5], [3, 4]]


# Exploration-first


@pytest.mark.parametrize("best", [(0,), (0, 1, 2), (0, 0), (0, 6), (-1, 0), "01", 3, None, (0, 0.5), ("a", "b"), ()])
def test_best_must_name_two_players(best):
    with pytest.raises(MatchbanditError, match=r"best must name two of the players 0 … 5, such as \[0, 1\]; got"):
        build("exploration-first", 6, best=best)


@pytest.mark.parametrize("best", [(0, 1), (4, 2), [5, 1], np.array([3, 0])])
def test_exploration_first_keeps_the_best_two_together_once_the_others_split(best):
    u = np.array([1.0, 0.9, 0.1, 0.0, 0.1, 0.9])
    u[list(best)] = 1.0
    policy = build("exploration-first", 6, best=best)
    rounds = play(policy, 800, u)
    two = sorted(int(item) for item in best)
    assert policy.clusters[0] == two
    assert all(clusters[0] == two for _, clusters in policy.splits)
    first = policy.splits[0][0]
    assert first % 5 == 0
    assert all(rounds[t] == rounds[t % 5] for t in range(first))
    assert sum(tuple(two) in pairs for pairs in rounds[:first]) == first // 5
    assert all(tuple(two) in pairs for pairs in rounds[first:])
    assert policy.explain()["details"]["phase"] == "clusters"


def test_exploration_first_judges_the_others_on_everyone():
    # T = 100, growth 4: k_1 = 74, 15 tournaments of 5 rounds; averages against all five others.
    policy = build("exploration-first", 6, horizon=100, growth=4.0)
    u = [1.0, 1.0, 1.0, 0.5, 0.0, 0.0]
    play(policy, 74, u)
    assert policy.exploring
    assert policy.explain()["details"]["phase"] == "all meet all"
    play(policy, 1, u)
    # 2 has (1 + 1 + 1/2)/5 = 0.5, 3 has 1.5/5 = 0.3, 4 and 5 have 0; the radius is 0.2495: nothing is separated but 2
    # from 4, who are no neighbours.
    assert policy.exploring
    assert np.allclose(policy.adaptive.averages()[2:], [0.5, 0.3, 0.0, 0.0])
    # k_2 = 295, radius 0.125, 59 tournaments: 3 and 4 are apart, 2 and 3 are not.
    play(policy, 220, u)
    assert policy.splits == [(295, [[0, 1], [2, 3], [4, 5]])]


def test_exploration_first_has_nothing_to_explore_with_four_players():
    policy = build("exploration-first", 4, best=(3, 1))
    assert play(policy, 200, [0.1, 1.0, 0.9, 1.0]) == [[(0, 2), (1, 3)]] * 200
    assert policy.splits == []
    assert policy.recommend().tolist() == [[1, 3], [0, 2]]
