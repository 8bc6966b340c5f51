"""Certainty by hand, the tours, the grid of checks, and answers that are right as often as promised."""

from math import ceil, log
from statistics import NormalDist

import numpy as np
import pytest
from reference.strengths import expected_information, slope
from scipy.optimize import minimize_scalar

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.plans import Tally
from matchbandit.policies import check_policy
from matchbandit.policies.matching.rank1_identify import Rank1Identify
from matchbandit.schedules import round_robin
from matchbandit.simulation.engines import DrawnRewards, jump
from matchbandit.simulation.score import Score

EIGHT = [0.95, 0.9, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35]
LAWS = [mb.Bernoulli(), mb.Gaussian(0.4), mb.Binomial(3)]


def built(n, law=None, **options):
    return mb.policy("rank1-identify", **options).build(mb.monopartite(n), rewards=law, seed=1)


def played(u, rounds, law=None, seed=2, **options):
    """The policy after at least so many rounds on players of these strengths, in whole plans, unless it is done."""
    problem = mb.Monopartite(u, rewards=law)
    policy = built(len(u), law, **options)
    source = DrawnRewards(problem, np.random.default_rng(seed))
    score = Score(problem, "matching", np.array([10**9]))
    jump(policy, source, score, lambda p: p.done or p.sampled >= rounds)
    return policy


def covariance(plays, u, law):
    """Of the strengths u = exp(s): the inverse of the information of s, times u_i u_j."""
    graph = mb.monopartite(len(u))
    i, j = graph.pairs.T
    H = expected_information(np.log(u), graph, law, plays[i, j])
    return np.linalg.inv(H) * np.outer(u, u)


def cost_of_a_tie(a, b, spread):
    """The least ½ vᵀ S⁻¹ v, v = (log x − log a, x − b), S the covariance of (log a, b), over the common strength x."""
    if a <= b:
        return 0.0
    to_log = np.diag([1 / a, 1])
    inverse = np.linalg.inv(to_log @ spread @ to_log)

    def cost(x):
        v = np.array([np.log(x / a), x - b])
        return v @ inverse @ v / 2

    grid = np.linspace(max(b, 1e-9 * a), a, 400)
    best = grid[np.argmin([cost(x) for x in grid])]
    width = grid[1] - grid[0]
    return minimize_scalar(
        cost, bounds=(max(best - width, 1e-9 * a), min(best + width, a)), method="bounded", options={"xatol": 1e-12}
    ).fun


def evidence(plays, u, law):
    """For each two neighbouring pairs of the order, the least of the four cross pairs."""
    spread = covariance(plays, u, law)
    ranked = sorted(range(len(u)), key=lambda i: (-u[i], i))
    return [
        min(
            cost_of_a_tie(u[a], u[b], spread[np.ix_([a, b], [a, b])])
            for a in ranked[2 * k : 2 * k + 2]
            for b in ranked[2 * k + 2 : 2 * k + 4]
        )
        for k in range(len(u) // 2 - 1)
    ]


@pytest.mark.slow
def test_it_keeps_the_contract_with_options():
    check_policy(mb.policy("rank1-identify", growth=2.0, delta=0.4))


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("u", [[0.2, 0.8, 0.5, 0.7], EIGHT, [0.1, 0.9, 0.3, 0.35, 0.8, 0.05]], ids=str)
def test_the_evidence_at_a_border_is_that_of_its_least_certain_cross_pair(u, law):
    for rounds in (1, 150):
        policy = played(u, rounds, law, delta=1e-12)
        assert policy.sampled >= rounds
        assert np.allclose(policy.evidence, evidence(policy.plays, policy.strengths, law), rtol=1e-6)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_strengths_are_the_most_probable_ones(law):
    policy = played(EIGHT, 3000, law)
    (i, j), u = policy.graph.pairs.T, policy.strengths
    data = policy.graph, policy.setting.rewards, policy.plays[i, j], policy.sums[i, j]
    steps = np.linalg.solve(expected_information(np.log(u), *data[:3]), slope(np.log(u), *data))
    assert (np.abs(steps) < 1e-6).all()
    assert (np.abs(u - EIGHT) < 0.2).all()


def beyond(share):
    """z²/2 for the z that a Gaussian exceeds with this probability."""
    return NormalDist().inv_cdf(share) ** 2 / 2


def test_the_threshold_leaves_a_gaussian_delta_over_4N_and_1_plus_log_t():
    policy = built(6, delta=0.1)
    assert policy.explain()["details"]["threshold"] == pytest.approx(beyond(0.1 / 12))
    policy.sampled = 100
    assert np.isclose(policy.explain()["details"]["threshold"], beyond(0.1 / (12 * (1 + log(100)))))
    policy = played([0.8, 0.5, 0.3, 0.1], 60, delta=0.01)
    assert np.isclose(policy.explain()["details"]["threshold"], beyond(0.01 / (8 * (1 + log(policy.rounds)))))


def test_it_is_done_when_every_border_is_more_certain_than_the_threshold_and_not_before():
    policy = built(6, delta=0.1)
    policy.sampled = 50
    threshold = policy.explain()["details"]["threshold"]
    for values, done in (
        ([threshold + 0.01] * 2, True),
        ([threshold, threshold + 1], False),
        ([1e9, 0.0], False),
        ([0.0, 1e9], False),
        ([0.0, 0.0], False),
    ):
        policy.evidence = np.array(values)
        policy.sampled = 49  # ten times all have met all after 50 rounds
        assert not policy.finished
        policy.sampled = 50
        assert policy.finished is done


def test_a_run_ends_at_the_first_check_that_is_certain_everywhere():
    checks = []

    class Watched(Rank1Identify):
        def learn(self, tally):
            super().learn(tally)
            limit = beyond(0.1 / (2 * self.n * (1 + log(self.sampled))))
            checks.append((self.sampled, bool((np.array(self.evidence) > limit).all())))

    found = mb.identify(mb.Monopartite([0.9, 0.8, 0.5, 0.4, 0.2, 0.1]), mb.policy(Watched, delta=0.1), seed=4)
    assert [certain for _, certain in checks] == [False] * (len(checks) - 1) + [True]
    assert found.rounds.tolist() == [checks[-1][0]]
    assert len(checks) > 20


@pytest.mark.parametrize("growth", [1.05, 1.3, 3.0])
def test_checks_fall_where_the_rounds_have_grown_by_the_growth(growth):
    sampled, lengths = [], []

    class Watched(Rank1Identify):
        def plan(self):
            made = super().plan()
            wait = ceil((growth - 1) * self.sampled / made.length)
            assert made.limit == max(1, wait)
            lengths.append(made.length)
            return made

        def learn(self, tally):
            super().learn(tally)
            sampled.append(self.sampled)

    found = mb.identify(mb.Monopartite(EIGHT), mb.policy(Watched, growth=growth), max_rounds=4000, seed=3)
    assert sampled[0] == 7  # one tournament
    for before, after, length in zip(sampled, sampled[1:], lengths[1:], strict=False):
        assert growth * before - 1e-9 <= after < growth * before + length + 1e-9
    assert sampled[-1] <= found.rounds[0]


def assert_perfect(tour, n):
    """Every round of the tour is a matching of all players."""
    assert tour.shape[1:] == (n // 2, 2)
    assert (np.sort(tour.reshape(len(tour), -1), axis=1) == np.arange(n)).all()


def meetings(tour, n):
    """How often every two players meet in a tour."""
    met = np.zeros((n, n), dtype=int)
    for i, j in tour.reshape(-1, 2):
        met[i, j] += 1
        met[j, i] += 1
    return met


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [4, 6, 8, 12])
def test_aimed_tours_let_players_beside_borders_meet_each_other_or_the_strongest_others(n, seed):
    rng = np.random.default_rng(seed)
    policy = built(n)
    policy.strengths = rng.uniform(size=n)
    policy.sampled = 1000
    policy.evidence = rng.uniform(0, 2 * policy.explain()["details"]["threshold"], size=n // 2 - 1)
    policy.evidence[rng.integers(n // 2 - 1)] = 0.01
    uncertain = [k for k, c in enumerate(policy.evidence) if c <= policy.explain()["details"]["threshold"]]
    ranked = np.argsort(-policy.strengths).tolist()
    expected = []
    for borders in (uncertain, [int(np.argmin(policy.evidence))]):
        beside = [ranked[place] for place in range(n) if any(2 * k <= place < 2 * k + 4 for k in borders)]
        others = [player for player in ranked if player not in beside]
        expected.append((beside, beside, others))
        if len(others) >= len(beside):
            expected.append((beside, others[: len(beside)], others[len(beside) :]))
    tours = policy._aimed()
    assert len(tours) == len(expected)
    for tour, (first, second, rest) in zip(tours, expected, strict=True):
        assert_perfect(tour, n)
        met = meetings(tour, n)
        among = np.zeros((n, n), dtype=int)
        for i in first:
            for j in second:
                among[i, j] = among[j, i] = i != j
        for i, j in zip(rest[::2], rest[1::2], strict=True):
            among[i, j] = among[j, i] = len(tour)
        assert met.tolist() == among.tolist()


@pytest.mark.parametrize(
    ("u", "law"),
    [
        (EIGHT, mb.Bernoulli()),
        ([0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.12, 0.1, 0.08, 0.05], mb.Bernoulli()),
        ([0.9, 0.6, 0.55, 0.5, 0.2, 0.1], mb.Gaussian(0.4)),
        ([0.3, 0.25, 0.2, 0.15, 0.1, 0.05], mb.Binomial(3)),
    ],
    ids=str,
)
@pytest.mark.sampled(1)
def test_the_best_tour_promises_the_most(u, law):
    n, picked = len(u), []
    policy = built(n, law, delta=0.01, growth=1.3)
    rng = np.random.default_rng(5)
    while not policy.done and policy.sampled < 1500:
        plan = policy.current
        tour = policy.graph.pairs[plan.rounds]
        assert_perfect(tour, n)
        if policy.sampled >= 10 * (n - 1):
            tours = [round_robin(n), *policy._aimed()]
            promised = []
            for candidate in tours:
                more = 0.3 * policy.sampled / len(candidate) * meetings(candidate, n)
                promised.append(min(evidence(policy.plays + more, policy.strengths, law)))
            met = meetings(tour, n).tolist()
            chosen = next(k for k, candidate in enumerate(tours) if meetings(candidate, n).tolist() == met)
            assert promised[chosen] >= max(promised) * (1 - 1e-6)
            picked.append(chosen)
        else:
            assert meetings(tour, n).tolist() == (1 - np.eye(n, dtype=int)).tolist()
        _, counts = plan.leap(policy.pending, plan.limit, rng)
        means = np.prod(np.array(u)[policy.graph.pairs], axis=1)
        policy.advance(Tally(plan.limit, counts, law.sums(means, counts, rng)))
    assert len(picked) > 4
    assert any(picked)  # some tour is aimed


def test_ties_go_to_all_meet_all(monkeypatch):
    policy = played(EIGHT, 200)
    monkeypatch.setattr(policy, "_promised", lambda tour, times: 1.0)
    assert len(policy._aimed()) > 0
    assert meetings(policy._best_tour(), 8).tolist() == (1 - np.eye(8, dtype=int)).tolist()


def test_a_warm_start_is_like_having_played():
    problem = mb.Monopartite([0.9, 0.7, 0.4, 0.35, 0.2, 0.1])
    cold = played(problem.u, 300)
    i, j = problem.graph.pairs.T
    counts, sums = cold.plays[i, j], cold.sums[i, j]
    warm = mb.policy("rank1-identify").warm_start(problem.graph.pairs, counts, sums).build(problem.graph, seed=1)
    assert warm.rounds == 0
    assert warm.sampled == cold.sampled
    assert warm.plays.tolist() == cold.plays.tolist()
    assert warm.sums.tolist() == cold.sums.tolist()
    assert np.allclose(warm.strengths, cold.strengths, atol=1e-7)
    assert np.allclose(warm.evidence, cold.evidence, rtol=1e-5)
    assert np.array_equal(warm.ask(), cold.ask())
    assert warm.recommend().tolist() == cold.recommend().tolist()


def test_an_uneven_warm_start_counts_rounds_upwards_and_may_be_enough():
    pairs, counts = [(0, 1), (0, 2), (1, 3)], [5, 1, 1]
    policy = built(4)
    policy.warm_start(pairs, counts, [4, 1, 0])
    assert policy.sampled == 4  # seven plays, two a round
    everyone = mb.monopartite(4)
    means = np.prod(np.array([0.9, 0.8, 0.3, 0.2])[everyone.pairs], axis=1)
    spec = mb.policy("rank1-identify").warm_start(everyone.pairs, np.full(6, 10_000), 10_000 * means)
    found = mb.identify(mb.Monopartite([0.9, 0.8, 0.3, 0.2]), spec)
    assert (found.rounds.tolist(), found.correct.tolist()) == ([0], [True])


def test_two_players_need_no_round():
    assert built(2).done
    found = mb.identify(mb.Monopartite([0.4, 0.4]), "rank1-identify", runs=2)
    assert found.rounds.tolist() == [0, 0]
    assert found.correct.all()
    assert found.answers.tolist() == [[[0, 1]], [[0, 1]]]


def test_misfits_are_refused_by_name():
    with pytest.raises(MatchbanditError, match="rank1-identify needs an even number of players; got 5"):
        built(5)
    with pytest.raises(MatchbanditError, match="rank1-identify plays on monopartite graphs; got bipartite 2×2"):
        mb.policy("rank1-identify").build(mb.bipartite(2, 2))
    with pytest.raises(MatchbanditError, match="rank1-identify is for identification here"):
        mb.simulate(mb.Monopartite([0.9, 0.1]), "rank1-identify", horizon=10)


@pytest.mark.parametrize("growth", [1, 0.5, float("nan"), 1e7, "big"])
def test_a_growth_that_never_grows_is_refused(growth):
    with pytest.raises(MatchbanditError, match="growth must"):
        built(4, growth=growth)


@pytest.mark.parametrize("delta", [0, 1, -0.1, "small"])
def test_a_risk_outside_0_and_1_is_refused(delta):
    with pytest.raises(MatchbanditError, match="delta must"):
        built(4, delta=delta)


def test_a_tie_at_a_border_is_refused_unless_max_rounds_ends_it():
    tied = mb.Monopartite([0.9, 0.5, 0.5, 0.1])
    with pytest.raises(MatchbanditError, match=r"players 1 and 2 both have strength 0\.5"):
        mb.identify(tied, "rank1-identify")
    found = mb.identify(tied, mb.policy("rank1-identify", delta=1e-4), max_rounds=2000, seed=1)
    assert found.rounds.tolist() == [2000]
    assert not found.identified.any()


def test_equal_partners_are_harmless():
    found = mb.identify(mb.Monopartite([0.8, 0.8, 0.4, 0.4]), "rank1-identify", runs=5, seed=1)
    assert found.correct.all()


def test_it_explains_its_borders_from_the_best_pair_down():
    policy = played([0.1, 0.9, 0.3, 0.35, 0.8, 0.05], 400)
    told = policy.explain()
    pairs = policy.recommend().tolist()
    assert [(border["between"], border["and"]) for border in told["details"]["borders"]] == [
        (pairs[0], pairs[1]),
        (pairs[1], pairs[2]),
    ]
    assert [border["evidence"] for border in told["details"]["borders"]] == policy.evidence.tolist()
    assert [player["samples"] for player in told["items"]] == [policy.rounds] * 6


@pytest.mark.parametrize("law", LAWS[1:], ids=str)
def test_other_laws_are_identified_with_both_engines(law):
    problem = mb.Monopartite([0.85, 0.75, 0.45, 0.35, 0.1, 0.05], rewards=law)
    rounds = []
    for engine, runs in (("step", 8), ("jump", 30)):
        found = mb.identify(problem, mb.policy("rank1-identify", delta=0.1), runs=runs, seed=6, engine=engine)
        assert found.identified.all()
        assert found.correct.mean() >= 0.9
        rounds.append(found.rounds)
    spread = np.sqrt(sum(r.var(ddof=1) / len(r) for r in rounds))
    assert abs(rounds[0].mean() - rounds[1].mean()) < 4 * spread


@pytest.mark.parametrize(
    "u",
    [
        [0.8, 0.7, 0.5, 0.4],
        pytest.param([0.5, 0.9, 0.1, 0.6, 0.2, 0.95], marks=pytest.mark.slow),
        pytest.param([0.9, 0.6, 0.55, 0.3, 0.2, 0.1], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_it_errs_at_most_as_often_as_delta_allows_in_a_quarter_of_the_rounds_of_matching_id(u):
    problem = mb.Monopartite(u)
    found = mb.identify(problem, mb.policy("rank1-identify", delta=0.2), runs=40, seed=9)
    proven = mb.identify(problem, mb.policy("matching-id", delta=0.2), runs=40, seed=9)
    assert found.identified.all()
    assert found.summary()["wrong"] <= 0.2 * 40
    assert found.rounds.mean() <= proven.rounds.mean() / 4


INSTANCES = [
    [0.65, 0.65, 0.55, 0.55, 0.45, 0.45, 0.35, 0.35],
    EIGHT,
    [0.9, 0.8, 0.78, 0.5, 0.48, 0.2],
    [0.3, 0.25, 0.2, 0.15, 0.1, 0.05],
    [0.9, 0.6, 0.55, 0.5, 0.2, 0.1],
    [0.8, 0.7, 0.5, 0.4],
]


def rounds_and_wrong(u, delta, runs):
    """Mean rounds and wrong answers of so many runs, and the mean rounds of 300 runs of Matching-Id as published."""
    problem = mb.Monopartite(u)
    found = mb.identify(problem, mb.policy("rank1-identify", delta=delta), runs=runs, seed=10, workers=2)
    proven = mb.identify(problem, mb.policy("matching-id", delta=delta, growth=4.0), runs=300, seed=10, workers=2)
    assert found.identified.all()
    return found.rounds.mean(), found.summary()["wrong"], proven.rounds.mean()


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize("u", INSTANCES, ids=str)
def test_over_many_runs_it_errs_at_most_as_often_as_delta_in_a_fifth_of_the_rounds_of_matching_id(u, delta):
    rounds, wrong, proven = rounds_and_wrong(u, delta, 500)
    assert wrong <= delta * 500
    assert rounds <= proven / 5


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_over_all_instances_it_needs_an_eighth_of_the_rounds_of_matching_id(delta):
    measured = [rounds_and_wrong(u, delta, 60) for u in INSTANCES]
    assert np.exp(np.mean([np.log(proven / rounds) for rounds, _, proven in measured])) >= 8


@pytest.mark.parametrize(
    "u", [[0.9, 0.8, 0, 0], [0.5, 0.5, 0, 0], [1, 1, 0, 0], [0.9, 0.8, 0.001, 0.0005], [1, 0.9, 0.5, 0.4, 0, 0]]
)
def test_players_worth_nothing_are_told_apart_though_they_say_nothing_of_the_others(u):
    # Of the best two only the product is known: along that curve neither falls to 0, which a Gaussian would not see.
    found = mb.identify(mb.Monopartite(u), "rank1-identify", runs=5, seed=1, max_rounds=10**5)
    assert found.correct.all()


def test_logged_results_count_though_the_plan_was_looked_at_before():
    players = mb.Monopartite([0.8, 0.7, 0.5, 0.4])
    n = np.full(6, 20)
    one, other = (mb.policy("rank1-identify").build(players.graph) for _ in range(2))
    one.explain()
    for policy in (one, other):
        policy.warm_start(players.graph.pairs, n, n * players.means)
    assert one.current.limit == other.current.limit
    assert mb.restore(one.state()).ask().tolist() == one.ask().tolist()


def test_certain_players_of_10_to_18_rounds_are_no_division_by_zero():
    found = mb.identify(mb.Monopartite([1, 1, 1, 1]), "rank1-identify", max_rounds=10**18)
    assert not found.identified.any()
