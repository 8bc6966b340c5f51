"""Bounds of rank1-certify: against sums done by hand, the policy's own schedule, and runs."""

from itertools import combinations, product
from math import comb, exp, inf, isfinite, log, pi

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import matchbandit as mb
from matchbandit.certificates import Target, bottleneck_closure, linear_extension
from matchbandit.evidence import log_mixture
from matchbandit.placement import has_covered_options, placement_of
from matchbandit.schedules import all_meet, next_batch
from matchbandit.theory import certified_upper as certified
from matchbandit.theory import report
from matchbandit.theory.certified_upper import certify_regret, certify_rounds
from matchbandit.theory.table import trivial_regret

WIDE = mb.Monopartite([0.3, 0.9, 0.4, 0.8])
SLOTS = mb.Bipartite([0.9, 0.3, 0.2], [0.5, 0.9])
SIX = mb.Monopartite([0.9, 0.8, 0.6, 0.5, 0.3, 0.2], rewards=mb.Gaussian(sd=0.7))
ODD = mb.Monopartite([0.9, 0.7, 0.5, 0.3, 0.1], rewards=mb.Binomial(trials=3))
TIED = mb.Monopartite([0.9, 0.6, 0.6, 0.3])
PROBLEMS = [WIDE, SLOTS, SIX, ODD, mb.Bipartite([0.9, 0.4, 0.6, 0.2], [0.8, 0.5]), mb.Bipartite([0.8, 0.5], [0.6])]
SELECTIONS = ("pair", "matching")


def sides_of(problem):
    """For each side its strengths and, for every two of its items, the strengths of their common opponents."""
    if isinstance(problem, mb.Bipartite):
        return [(problem.u, lambda a, b: problem.v), (problem.v, lambda a, b: problem.u)]
    return [(problem.u, lambda a, b: np.delete(problem.u, [a, b]))]


def links_of(problem, selection):
    """g_ab and the number of opponents of every border, as the definitions have it."""
    found = []
    for (u, others), sizes in zip(sides_of(problem), Target.of(problem.graph, selection).blocks, strict=True):
        order, block = np.argsort(-u, kind="stable"), np.repeat(np.arange(len(sizes)), sizes)
        for i, j in combinations(range(len(u)), 2):
            if block[j] == block[i] + 1:
                a, b = order[i], order[j]
                found.append((float(np.mean([u[a] * c - u[b] * c for c in others(a, b)])), len(others(a, b))))
    return found


def least_difference(N, goal, sigma):
    """The least difference of the sums with which the mixture over whole tours reaches the goal, by halving."""
    low, high = 0.0, 1.0
    while log_mixture(high / 2, N / 2, sigma) < goal:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if log_mixture(middle / 2, N / 2, sigma) >= goal else (middle, high)
    return high


def by_hand(problem, selection, needed):
    """min(1, q) after so many tours, link by link."""

    def q(tours):
        total = 0.0
        for gap, o in links_of(problem, selection):
            N, sigma = float(tours * o), problem.rewards.sigma
            if not tours or N * gap < (d := least_difference(N, needed + log(32), sigma)):
                return 1.0
            total += exp(-((N * gap - d) ** 2) / (4 * sigma**2 * N))
        return min(1.0, total)

    return q


def batches(problem, selection):
    """Tours before a batch, and the batch."""
    length = problem.graph.n_pairs if selection == "pair" else len(all_meet(problem.graph))
    items, first = sum(len(u) for u, _ in sides_of(problem)), 1 if selection == "pair" else 2
    t = M = 0
    while True:
        batch = next_batch(t, M, length=length, first=first, items=items)
        yield M, batch
        t, M = t + batch.rounds, M + batch.tours


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_the_rounds_are_the_sum_of_theorem_3(problem, selection):
    bad = Target.of(problem.graph, selection).bad_links
    q, total = by_hand(problem, selection, log(bad / 0.05)), 0.0
    for tours, batch in batches(problem, selection):
        left = q(tours)
        total += batch.rounds * left
        if left < 1e-12:
            break
    bound = certify_rounds(problem, 0.05, selection)
    assert bound.value == pytest.approx(total, rel=1e-9)
    assert (bound.met, bound.plays, bound.seeks, bound.constants) == (True, selection, selection, "explicit")


def mixture(difference, information, sigma):
    """The average over η of Lemma 2, as an integral over where its logarithm is within 60 of the largest."""
    exponent = lambda eta: (eta * difference - eta**2 * information / 2) / sigma**2 - 2 * eta**2  # noqa: E731
    peak = difference / (information + 4 * sigma**2)
    width = 11 / (information / sigma**2 + 4) ** 0.5
    low, high = max(0.0, peak - width), peak + width
    value = quad(lambda eta: exp(exponent(eta) - exponent(peak)), low, high, epsabs=0, limit=200)[0]
    return log(value * 4 / (2 * pi) ** 0.5) + exponent(peak)


def charge(gap, needed, sigma, events, rounds):
    """E[rounds(Î)] for Î = I* + 18 (σ/g)² Z, by an integral."""
    scale = 18 * (sigma / gap) ** 2
    reaches = lambda log_I: mixture(gap * exp(log_I) / 2, exp(log_I), sigma) - needed - log(32)  # noqa: E731
    top = 1.0
    while reaches(top) < 0:
        top += 1
    start = max(9 / 4 * exp(brentq(reaches, top - 1, top, xtol=1e-13)), scale * log(events))
    return quad(lambda z: rounds(start + scale * z) * exp(-z), 0, 60, epsabs=0)[0]


def regret_by_hand(problem, selection, horizon):
    graph, sigma = problem.graph, problem.rewards.sigma
    worst, n = trivial_regret(problem, 1, selection).value, sum(len(u) for u, _ in sides_of(problem))
    C = sum(comb(len(u), 2) for u, _ in sides_of(problem))
    L = log(C * horizon / (2 * n))
    if selection == "pair":
        G, first, length = (n - 2 if graph.is_bipartite else 2 * n - 4), 1, graph.n_pairs
    else:
        G, first, length = (2 + abs(np.subtract(*graph.shape)) if graph.is_bipartite else 4), 2, len(all_meet(graph))
    alpha = (1 + 2 * G / n) / 8
    x = lambda info: 8 * G * ((2 + 1 / 30) * info + 1) + n / 2 + 1  # noqa: E731
    rounds = lambda info: x(info) * (16 + 2 * (1 + G) / n + alpha + 8 * G * info / (20 * L))  # noqa: E731
    total = worst * first * length + 2 * n * problem.optimum(selection)
    for u, others in sides_of(problem):
        for a, b in combinations(range(len(u)), 2):
            if u[a] != u[b]:
                gap = abs(u[a] - u[b]) * min(others(a, b))
                total += worst * charge(gap, L, sigma, 9, rounds)
            else:
                total += worst * alpha * charge(u[a] * min(others(a, b)) / 2, L / 2, sigma, 2, x)
    return total


@pytest.mark.parametrize("horizon", [300, 10**12])
@pytest.mark.parametrize(("problem", "selection"), [*product([WIDE, SLOTS, SIX, TIED], SELECTIONS), (ODD, "pair")])
def test_the_regret_is_that_of_theorem_6(problem, selection, horizon):
    bound = certify_regret(problem, horizon, selection)
    assert bound.value == pytest.approx(regret_by_hand(problem, selection, horizon), rel=1e-7)
    assert bound.met


def test_so_much_is_enough():
    N = np.array([1.0, 7.0, 1e4, 1e9])
    for sigma, needed in product((0.05, 0.5, 3.0), (0.0, 5.0, 700.0)):
        for plays, d in zip(N, certified.enough(N, needed, sigma) * sigma * np.sqrt(N), strict=True):
            assert log_mixture(d / 2, plays / 2, sigma) == pytest.approx(needed + log(32), rel=1e-9)


@pytest.mark.parametrize("problem", [TIED, mb.Monopartite([0.9, 0.6, 0.6, 0.6, 0.3])])
def test_the_schedule_is_that_of_the_policy_whatever_is_paid(problem):
    policy = mb.policy("rank1-certify", delta=0.1).build(problem.graph, seed=0)
    rng = np.random.default_rng(5)
    expected = next(certified.schedule(problem.graph, policy.target, policy.selection))
    batch_ends, tours = [0], [0]
    while policy.rounds < 700:
        asked = policy.ask()
        policy.tell(asked, rng.integers(0, 2, len(asked)))  # coins: nothing is ever certified
        if policy.sampled > batch_ends[-1]:
            batch_ends.append(policy.sampled)
            tours.append(policy.tours)
    assert not policy.certified
    assert len(tours) > 10
    assert np.diff(batch_ends).tolist() == expected.rounds[: len(tours) - 1].tolist()
    assert tours == expected.tours[: len(tours)].tolist()


@pytest.mark.slow
def test_runs_lie_below():
    for problem, options in ((WIDE, {}), (SLOTS, {}), (WIDE, {"selection": "pair"}), (ODD, {})):
        found = mb.identify(problem, mb.policy("rank1-certify", delta=0.1, **options), runs=8, seed=3)
        placed = placement_of(found, mb.bounds(problem, delta=0.1))
        assert placed.upper_source == "Theorem 3 of docs/certified.md"
        assert 0 < placed.mean < placed.upper
        assert placed.explicit
    for problem, options in ((WIDE, {}), (SLOTS, {}), (TIED, {}), (SIX, {"selection": "pair"})):
        runs = mb.simulate(problem, mb.policy("rank1-certify", **options), horizon=20_000, runs=8, seed=3)
        placed = placement_of(runs, mb.bounds(problem, horizon=20_000))
        assert placed.upper_source == "Theorem 6 of docs/certified.md"
        assert 0 < placed.mean < placed.upper


@pytest.mark.parametrize("options", [{"anytime": True}, {"share": 0.5}])
def test_the_theorem_speaks_of_the_usual_options(options):
    usual, other = (
        mb.simulate(WIDE, mb.policy("rank1-certify", **chosen), horizon=300, runs=2, seed=1) for chosen in ({}, options)
    )
    assert has_covered_options(usual)
    assert not has_covered_options(other)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_a_smaller_risk_takes_longer(problem):
    for selection in SELECTIONS:
        risks = [0.9, 0.5, 0.1, 0.05, 1e-3, 1e-30, 1e-300]
        values = [certify_rounds(problem, delta, selection).value for delta in risks]
        assert values == sorted(values)
        assert values[0] < values[-1] < inf


def test_what_is_lost_grows_like_log_t_ties_or_not():
    horizons = [10**k for k in range(8, 20)]
    for problem, selection in product((WIDE, SLOTS, TIED), SELECTIONS):
        values = [certify_regret(problem, horizon, selection).value for horizon in horizons]
        assert values == sorted(values)
        far = [certify_regret(problem, 10**k, selection).value for k in (50, 100, 200)]
        assert (far[2] - far[1]) / (far[1] - far[0]) == pytest.approx(2, rel=0.15)


def test_a_bound_above_what_all_rounds_may_lose_is_marked_as_vacuous():
    assert certify_regret(WIDE, 10**6, "matching").vacuous
    assert not certify_regret(WIDE, 10**15, "matching").vacuous
    assert not certify_regret(mb.Monopartite([0.9, 0.5, 0.0, 0.0]), 10**15, "matching").met


@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Gaussian(sd=1e-100), mb.Gaussian(sd=1e100)])
@pytest.mark.parametrize(
    "u", [[0.0] * 4, [1.0] * 4, [0.9, 0.5, 0.0, 0.0], [1.0, 1e-20, 1e-21, 1e-22], [0.9, 0.5, 0.5 - 1e-15, 0.1], [1, 0]]
)
@pytest.mark.sampled(3)
def test_nothing_overflows(u, law):
    for problem in (mb.Monopartite(u, rewards=law), mb.Bipartite(u, u[:2], rewards=law)):
        for selection in SELECTIONS:
            for delta in (1 - 1e-9, 1e-300):
                bound = certify_rounds(problem, delta, selection)
                assert bound.value >= 0
                assert bound.met or bound.value == inf
            for horizon in (1, 2, 10**6, 10**300):
                bound = certify_regret(problem, horizon, selection)
                assert bound.value >= 0
                assert isfinite(bound.value) or bound.vacuous


def test_tied_borders_are_never_certified_and_that_is_said():
    bound = certify_rounds(TIED, 0.05, "matching")
    assert bound.value == inf
    assert len(bound.unmet) == 1
    assert not certify_rounds(mb.Bipartite([0.9, 0.8], [0.0]), 0.05, "pair").met
    assert certify_rounds(mb.Monopartite([0.9, 0.9, 0.3, 0.3]), 0.05, "matching").met  # partners may be equal


def test_nothing_to_certify_costs_nothing():
    for problem in (mb.Monopartite([0.9, 0.2]), mb.Bipartite([0.9], [0.2])):
        for selection in SELECTIONS:
            assert certify_rounds(problem, 0.05, selection).value == 0
            assert certify_regret(problem, 1000, selection).value == 0


def test_the_report_names_each_selection_and_leaves_out_matchings_of_odd_players():
    summary = report(ODD, horizon=1000, delta=0.1)
    names = {bound.name for bound in summary.bounds}
    assert names >= {"rank1-certify-rounds-pair", "rank1-certify-rounds-matching", "rank1-certify-regret-pair"}
    assert ("rank1-certify-regret-matching", "an odd number of players has no matching of all") in summary.left_out
    assert {bound.name for bound in mb.bounds(SLOTS, horizon=9)} >= {
        "rank1-certify-regret-pair",
        "rank1-certify-regret-matching",
    }


# What the proofs rest on


def test_once_the_borders_are_certified_the_order_has_the_true_blocks():
    # Whatever else is certified, as long as no bad link is: within a block also both ways.
    block, rng = np.array([0, 0, 1, 1]), np.random.default_rng(2)
    inner = [(0, 1), (1, 0), (2, 3), (3, 2)]
    for chosen in product((0.0, 1.0), repeat=len(inner)):
        links = np.where(block[:, None] < block[None, :], 1.0, 0.0)
        for (a, b), link in zip(inner, chosen, strict=True):
            links[a, b] = link
        certain = bottleneck_closure(links) >= 1
        for _ in range(5):
            order = linear_extension(rng.random(4), np.array([0, 4]), certain)
            assert set(order[:2].tolist()) == {0, 1}
