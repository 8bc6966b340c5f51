"""Sequential halving: by hand, against a plain version, exact error probabilities, the theorem, and what it refuses."""

from fractions import Fraction
from itertools import combinations, product
from math import ceil, comb, exp, log2, sqrt

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.policies.sequential_halving import SequentialHalving
from matchbandit.solvers import all_matchings

RUNS = 2000


def ask_and_tell(policy, rewards):
    """Play one round; `rewards` are those of its pairs."""
    pairs = policy.ask().tolist()
    policy.tell(pairs, rewards)
    return [tuple(pair) for pair in pairs]


def test_a_script_by_hand():
    """Four pairs and 8 rounds: two phases of 4, each pair once, then the better two twice."""
    policy = mb.policy("sequential-halving").build(mb.bipartite(2, 2), horizon=8)
    first = [ask_and_tell(policy, [reward]) for reward in (0, 1, 0, 1)]
    assert first == [[(0, 0)], [(0, 1)], [(1, 0)], [(1, 1)]]
    assert policy.explain()["details"] == {"budget": 8, "phases": 2, "arms_left": 2, "plays_each": 2}
    second = [ask_and_tell(policy, [reward]) for reward in (1, 0, 1)]
    assert second == [[(0, 1)], [(1, 1)], [(0, 1)]]
    assert not policy.done
    ask_and_tell(policy, [1])
    assert policy.done
    assert policy.rounds == 8
    assert policy.recommend().tolist() == [[0, 1]]
    assert policy.ask().tolist() == [[0, 1]]  # the answer is played from then on
    plays = {tuple(record["pair"]): record["plays"] for record in policy.explain()["pairs"]}
    assert plays == {(0, 0): 1, (0, 1): 3, (1, 0): 1, (1, 1): 3}


def test_one_pair_is_answered_without_a_round():
    found = mb.identify(mb.Bipartite([0.5], [0.5]), "sequential-halving", budget=1)
    assert (found.rounds.tolist(), found.correct.tolist()) == ([0], [True])


def plain_halving(n_arms, budget, draw):
    """Algorithm 3 of Karnin et al. in a few lines; `draw(arm)` is the next reward of an arm."""
    left, asked = list(range(n_arms)), []
    for _ in range(ceil(log2(n_arms))):
        times = budget // (len(left) * ceil(log2(n_arms)))
        totals = dict.fromkeys(left, 0.0)
        for _ in range(times):
            for arm in left:
                asked.append(arm)
                totals[arm] += draw(arm)
        left = sorted(sorted(left, key=lambda arm: -totals[arm])[: ceil(len(left) / 2)])
    return asked, left[0]


@pytest.mark.parametrize(
    ("graph", "selection"),
    [
        (mb.bipartite(1, 2), "pair"),
        (mb.bipartite(3, 4), "pair"),
        (mb.monopartite(5), "pair"),
        (mb.monopartite(6), "matching"),
        (mb.bipartite(2, 4), "matching"),
    ],
    ids=str,
)
@pytest.mark.parametrize("spare", [0, 37, 400])
def test_it_plays_as_a_plain_version_does(graph, selection, spare):
    arms = [[edge] for edge in range(graph.n_pairs)] if selection == "pair" else all_matchings(graph).tolist()
    n_arms = len(arms)
    budget = n_arms * ceil(log2(n_arms)) + spare
    means = np.random.default_rng(n_arms).random(graph.n_pairs)

    def tape():
        noise = np.random.default_rng(spare)
        return lambda edges: means[edges] + 0.5 * noise.standard_normal(len(edges))

    draw = tape()
    asked, answer = plain_halving(n_arms, budget, lambda arm: draw(arms[arm]).sum())
    policy = mb.policy("sequential-halving", selection=selection).build(graph, rewards=mb.Gaussian(0.5), horizon=budget)
    draw, played = tape(), []
    while not policy.done:
        pairs = policy.ask()
        edges = graph.edges(pairs)
        played.append(edges.tolist())
        policy.tell(pairs, draw(edges))
    assert played == [arms[arm] for arm in asked]
    assert graph.edges(policy.recommend()).tolist() == arms[answer]
    assert policy.rounds == len(asked) <= budget


def binomial(n, p):
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def within(count, runs, probability):
    """Is this share of the runs within four standard errors of a probability?"""
    return abs(count / runs - probability) <= 4 * sqrt(probability * (1 - probability) / runs)


@pytest.mark.parametrize("engine", ["jump", "step"])
def test_the_error_of_two_arms_is_that_of_two_binomials(engine):
    """With two arms each is played ⌊B/2⌋ times, and the lesser wins if its sum is greater, or by half the ties."""
    runs = RUNS if engine == "jump" else RUNS // 8
    found = mb.identify(
        mb.Bipartite([0.6, 0.4], [1.0]), "sequential-halving", budget=21, runs=runs, seed=3, engine=engine
    )
    assert set(found.rounds.tolist()) == {20}
    better, lesser = binomial(10, 0.6), binomial(10, 0.4)
    wrong = sum(
        a * b * (1 if k > j else 0.5 if k == j else 0) for j, a in enumerate(better) for k, b in enumerate(lesser)
    )
    assert within(int((~found.correct).sum()), runs, wrong)


def answer_probabilities(means, budget):
    """The probability of each answer of four arms, over all sums of both phases, ties at random."""
    found = [Fraction(0)] * 4
    first, second = budget // 8, budget // 4
    sums = [binomial(first, Fraction(mean)) for mean in means]
    for totals in product(range(first + 1), repeat=4):
        weight = Fraction(1)
        for arm, total in enumerate(totals):
            weight *= sums[arm][total]
        ranked = sorted(totals, reverse=True)
        border = ranked[1]
        above, equal = [a for a in range(4) if totals[a] > border], [a for a in range(4) if totals[a] == border]
        choices = list(combinations(equal, 2 - len(above)))
        for choice in choices:
            i, j = [*above, *choice]
            one, two = binomial(second, Fraction(means[i])), binomial(second, Fraction(means[j]))
            wins = sum(
                a * b * (1 if k > m else Fraction(1, 2) if k == m else 0)
                for k, a in enumerate(one)
                for m, b in enumerate(two)
            )
            found[i] += weight * wins / len(choices)
            found[j] += weight * (1 - wins) / len(choices)
    return found


@pytest.mark.parametrize("budget", [8, 16])
@pytest.mark.slow
def test_the_answers_of_four_arms_have_their_exact_probabilities(budget):
    problem = mb.Means([[0.25, 0.5], [0.75, 0.5]])
    exact = answer_probabilities(problem.means.tolist(), budget)
    assert sum(exact) == 1
    found = mb.identify(problem, "sequential-halving", budget=budget, runs=RUNS, seed=budget)
    edges = problem.graph.edges(found.answers[:, 0])
    for edge, probability in enumerate(exact):
        assert within(int((edges == edge).sum()), RUNS, float(probability)), (edge, float(probability))


def test_equal_averages_are_ranked_at_random():
    found = mb.identify(mb.Means([[0.0, 0.0], [0.0, 0.0]]), "sequential-halving", budget=80, runs=RUNS // 2, seed=1)
    counts = np.bincount(mb.bipartite(2, 2).edges(found.answers[:, 0]), minlength=4)
    assert all(within(int(count), RUNS // 2, 0.25) for count in counts)


@pytest.mark.parametrize(
    ("u", "v", "budget"),
    [([0.9, 0.1], [1.0, 0.5], 1200), ([0.9, 0.5, 0.3, 0.1], [1.0, 0.5], 2500), ([1.0, 0.0], [1.0], 40)],
    ids=str,
)
def test_errors_stay_below_theorem_4_1(u, v, budget):
    """3 log2(K) exp(−B/(8 H log2 K)) with H = max i/Δ_i² (recalled)."""
    problem = mb.Bipartite(u, v)
    means = sorted(problem.means.tolist(), reverse=True)
    hardness = max(i / (means[0] - mean) ** 2 for i, mean in enumerate(means[1:], start=2))
    phases = log2(len(means))
    bound = 3 * phases * exp(-budget / (8 * hardness * phases))
    assert bound < 0.75, "a bound that says something"
    found = mb.identify(problem, "sequential-halving", budget=budget, runs=500, seed=2)
    assert (~found.correct).mean() <= bound


def test_it_finds_the_best_matching_of_players_and_of_slots():
    for problem in (mb.Monopartite([0.9, 0.8, 0.2, 0.1, 0.5, 0.5]), mb.Bipartite([0.9, 0.5, 0.1], [0.9, 0.5, 0.1])):
        found = mb.identify(problem, mb.policy("sequential-halving", selection="matching"), budget=20_000, runs=20)
        assert found.correct.all()
        assert found.about.answers == "matching"
        assert (found.pairs == 3 * found.rounds).all()


@pytest.mark.parametrize(
    ("graph", "selection", "smallest"),
    [(mb.bipartite(3, 4), "pair", 48), (mb.monopartite(4), "matching", 6), (mb.monopartite(5), "pair", 40)],
    ids=str,
)
def test_the_smallest_budget_is_named_and_works(graph, selection, smallest):
    spec = mb.policy("sequential-halving", selection=selection)
    with pytest.raises(MatchbanditError, match=f"budget must be at least {smallest} here.*got {smallest - 1}"):
        spec.build(graph, horizon=smallest - 1)
    policy = spec.build(graph, horizon=smallest)
    while not policy.done:
        policy.tell(policy.ask(), [0.0] * policy.round_size)
    assert policy.rounds <= smallest


def test_too_many_matchings_are_refused():
    for n in (12, 3000):  # the number for 3000 fits into no float
        with pytest.raises(MatchbanditError, match=r"at most 1000; .* has more\. Use selection"):
            mb.policy("sequential-halving").build(mb.monopartite(n), horizon=10**9)


def test_what_it_is_for():
    capabilities = SequentialHalving.capabilities
    assert capabilities.fixed_budget
    assert not capabilities.supports_epsilon
    assert SequentialHalving.goal_with({}) == "identification"
