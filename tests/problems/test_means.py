import json
from math import inf, isclose, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.combinatorial import matchings_of

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.policies.catalogue import CATALOGUE
from matchbandit.problems import Bipartite, Means, Monopartite, problem_from
from matchbandit.problems.means import is_product
from matchbandit.rewards import Gaussian
from matchbandit.solvers import MAX_MATCHINGS, count_matchings


def of_players(n, seed, *, levels=None):
    rng = np.random.default_rng(seed)
    drawn = rng.random((n, n)) if levels is None else rng.choice(levels, (n, n))
    return Means(np.triu(drawn, 1) + np.triu(drawn, 1).T, players=True)


def across(n, m, seed, *, levels=None):
    rng = np.random.default_rng(seed)
    return Means(rng.random((n, m)) if levels is None else rng.choice(levels, (n, m)))


small = st.builds(across, st.integers(1, 4), st.integers(1, 4), st.integers(0, 999)) | st.builds(
    of_players, st.integers(2, 7), st.integers(0, 999)
)
tied = st.builds(
    across, st.integers(1, 4), st.integers(1, 4), st.integers(0, 999), levels=st.just([0.25, 0.5])
) | st.builds(of_players, st.integers(2, 7), st.integers(0, 999), levels=st.just([0.25, 0.5]))


def worth(problem, pairs):
    return sum(problem.table[i, j] for i, j in pairs)


def rounds_of(problem, selection):
    return [[tuple(p)] for p in problem.graph.pairs.tolist()] if selection == "pair" else matchings_of(problem.graph)


@pytest.mark.parametrize("selection", ["pair", "matching"])
@settings(deadline=None, derandomize=True, max_examples=60)
@given(problem=small | tied)
def test_the_best_round_is_the_best_of_all_and_a_tie_is_a_second_one(problem, selection):
    values = [worth(problem, pairs) for pairs in rounds_of(problem, selection)]
    assert isclose(problem.optimum(selection), max(values), abs_tol=1e-12)
    best = {
        tuple(sorted(map(tuple, pairs)))
        for pairs in rounds_of(problem, selection)
        if worth(problem, pairs) > max(values) - 1e-12
    }
    assert tuple(sorted(map(tuple, problem.best(selection).tolist()))) in best
    assert (problem.tie(selection) is not None) == (len(best) > 1)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(n=st.sampled_from([3, 5, 7]), seed=st.integers(0, 99))
def test_of_an_odd_number_each_round_is_compared_with_the_best_of_those_present(n, seed):
    problem, rng = of_players(n, seed), np.random.default_rng(seed)
    plays, expected = np.zeros(problem.graph.n_pairs, dtype=np.int64), 0.0
    for _ in range(15):
        pairs = rng.permutation(n)[1:].reshape(-1, 2)
        present = set(pairs.ravel().tolist())
        best = max(worth(problem, m) for m in matchings_of(problem.graph) if {i for p in m for i in p} == present)
        lost = best - worth(problem, pairs.tolist())
        assert isclose(problem.regret(pairs, selection="matching"), lost, abs_tol=1e-12)
        plays[problem.graph.edges(pairs)] += 1
        expected += lost
    assert isclose(problem.regret_of_plays(plays, 15, selection="matching"), expected, abs_tol=1e-11)


@pytest.mark.parametrize("n", [5, 6, 13, 14])
@pytest.mark.sampled(1)
def test_means_that_are_a_product_have_the_regrets_of_the_product(n):
    rng = np.random.default_rng(n)
    players = Monopartite(rng.random(n))
    free = Means(np.outer(players.u, players.u), players=True)
    slots = Bipartite(rng.random(n), rng.random(n + 1))
    for product, general in [(players, free), (slots, Means(np.outer(slots.u, slots.v)))]:
        assert general.graph == product.graph
        assert (general.means == product.means).all()
        assert general.best_pair.tolist() == product.best_pair.tolist()
        assert isclose(general.optimum("matching"), product.optimum("matching"), rel_tol=1e-12)
        for _ in range(10):
            items = rng.permutation(n)
            pairs = items[n % 2 :].reshape(-1, 2) if product is players else list(enumerate(items.tolist()))
            lost = product.regret(pairs, selection="matching")
            assert isclose(general.regret(pairs, selection="matching"), lost, abs_tol=1e-11)


@pytest.mark.parametrize("problem", [of_players(12, 1), across(8, 9, 1)])
def test_ties_are_found_where_matchings_are_too_many_to_list(problem):
    assert count_matchings(problem.graph) > MAX_MATCHINGS
    assert problem.tie("matching") is None
    table = np.full_like(problem.table, 0.5)
    assert "are both worth" in Means(table, players=problem.players).tie("matching")
    # Two pairs of the best matching that may be exchanged, and are worth more than all others.
    table = problem.table / 10
    for i, j in problem.best_matching.tolist():
        table[i, j] += 0.8
    (i, j), (k, m) = problem.best_matching[:2].tolist()
    table[i, m] = table[k, j] = (table[i, j] + table[k, m]) / 2
    table = np.maximum(table, table.T) if problem.players else table
    assert f"({i}, {m})" in Means(table, players=problem.players).tie("matching")


def test_ties_in_words():
    tastes = Means([[0.9, 0.3], [0.9, 0.1]])
    assert tastes.tie("pair") == "the pairs (0, 0) and (1, 0) both have the mean 0.9"
    assert tastes.tie("matching") is None
    assert Means([[0.9, 0.3], [0.7, 0.1]]).tie("matching") == (
        "the matchings (0, 0) (1, 1) and (0, 1) (1, 0) are both worth 1"
    )
    assert Means([[0.5]]).tie("matching") is None
    with pytest.raises(MatchbanditError, match=r"^the pairs \(0, 0\) and \(1, 0\) both have the mean 0\.9, and the "):
        mb.identify(tastes, mb.policy("track-and-stop", delta=0.1))


def test_a_symmetric_matrix_does_not_make_players_of_rows_and_columns():
    table = [[0.1, 0.5], [0.5, 0.2]]
    assert Means(table).graph == mb.bipartite(2, 2)
    players = Means(table, players=True)
    assert players.graph == mb.monopartite(2)
    assert players.means.tolist() == [0.5]


def test_the_diagonal_of_players_is_ignored():
    players = Means([[nan, 0.5, 0.1], [0.5, 7, 0.2], [0.1, 0.2, -inf]], players=True)
    assert players.means.tolist() == [0.5, 0.1, 0.2]
    assert players.table.diagonal().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("matrix", "players", "words"),
    [
        ([[0.5, 1.5]], False, "matrix must lie in [0, 1]; got 1.5 at (0, 1). Rescale the rewards first."),
        ([[0.5, 0.5], [nan, 0.5]], False, "matrix must lie in [0, 1]; got nan at (1, 0)."),
        ([[0, -0.5], [-0.5, 0]], True, "matrix must lie in [0, 1]; got -0.5 at (0, 1)."),
        ([0.5, 0.5], False, "matrix must have rows and columns; got an array of shape (2,)."),
        ([[]], False, "matrix must have rows and columns; got an array of shape (1, 0)."),
        ([[0.5], [0.5, 0.2]], False, "matrix must be rows of numbers, all of one length; got [[0.5], [0.5, 0.2]]."),
        ([["a"]], False, "matrix must be rows of numbers, all of one length; got [['a']]."),
        ([[0.5, 0.5]], True, "the matrix of players must be square, at least 2×2; got shape (1, 2)."),
        ([[0.5]], True, "the matrix of players must be square, at least 2×2; got shape (1, 1)."),
        (
            [[0, 0.5, 0.25], [0.5, 0, 0.1], [0.25, 0.2, 0]],
            True,
            "the matrix of players must be symmetric; got 0.1 at (1, 2) and 0.2 at (2, 1). Leave players=True out",
        ),
        ([[0.5]], "yes", "players must be True or False; got 'yes'."),
    ],
)
def test_bad_matrices_are_refused_by_name(matrix, players, words):
    with pytest.raises(MatchbanditError) as refusal:
        Means(matrix, players)
    assert str(refusal.value).startswith(words)


def test_a_problem_keeps_its_own_matrix_and_nobody_can_change_it():
    given = np.array([[0.9, 0.1], [0.2, 0.8]])
    tastes = Means(given)
    given[:] = 0
    assert tastes.optimum("matching") == 0.9 + 0.8
    for truth in (tastes.table, tastes.means, tastes.best_matching):
        with pytest.raises(ValueError, match="read-only"):
            truth[0] = 0


@pytest.mark.parametrize("problem", [across(2, 3, 1), of_players(3, 1), Means([[0.5]], rewards=Gaussian(0.3))])
def test_means_survive_a_trip_through_json_and_a_results_file(problem, tmp_path):
    again = problem_from(json.loads(json.dumps(problem.describe())))
    assert again.describe() == problem.describe()
    assert repr(again) == repr(problem)
    assert (again.means == problem.means).all()
    runs = mb.simulate(problem, mb.policy("uniform", selection="pair"), horizon=10)
    runs.save(tmp_path / "runs.parquet")
    assert problem_from(mb.load(tmp_path / "runs.parquet").about["problem"]).describe() == problem.describe()


def test_bounds_refuse_general_means_by_name():
    for ask in (lambda: mb.bounds(across(2, 2, 1), horizon=100), lambda: mb.quantities(across(2, 2, 1))):
        with pytest.raises(MatchbanditError, match=r"Bipartite or Monopartite problems; got Means\."):
            ask()


PROBLEMS = [across(2, 3, 1), across(3, 3, 2), of_players(4, 3), of_players(5, 4)]


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.sampled(8)
def test_every_policy_plays_on_general_means(name):
    played = 0
    for problem in PROBLEMS:
        try:
            build_on(name, problem)
        except MatchbanditError:
            continue  # not this graph
        played += 1
        kind = CATALOGUE[name]
        if "regret" in kind.capabilities.goals:
            runs = mb.simulate(problem, mb.policy(name), horizon=200, runs=2, seed=1)
            assert (runs.regret >= -1e-9).all()
        if "identification" in kind.capabilities.goals:
            end = {"budget": 2000} if kind.capabilities.fixed_budget else {"delta": 0.1, "max_rounds": 2000}
            found = mb.identify(problem, name, runs=1, seed=1, **end)
            selection = found.about["answers"]
            assert found.correct[0] <= problem.is_optimal(found.answers[0], selection)
    assert played


def build_on(name, problem):
    capabilities = CATALOGUE[name].capabilities
    goal = {} if "regret" in capabilities.goals or capabilities.fixed_budget else {"delta": 0.1}
    return mb.policy(name, **goal).build(problem.graph, rewards=problem.rewards, horizon=200, seed=1)


@pytest.mark.parametrize(
    ("matrix", "players", "expected"),
    [
        (np.outer([0.9, 0.5, 0.1], [0.8, 0.4]), False, True),
        (np.outer([0.9, 0.0, 0.1], [0.8, 0.0]), False, True),
        ([[0.3, 0.7, 0.2]], False, True),
        ([[0.0, 0.0], [0.0, 0.0]], False, True),
        ([[0.8, 0.2], [0.1, 0.7]], False, False),
        ([[0.8, 0.2], [0.1, 0.0]], False, False),
        ([[0.72, 0.36], [0.18, 0.0901]], False, False),
        (np.outer([0.9, 0.8, 0.4, 0.3, 0.0], [0.9, 0.8, 0.4, 0.3, 0.0]), True, True),
        ([[0, 0.9, 0.9], [0.9, 0, 0.1], [0.9, 0.1, 0]], True, True),
        ([[0, 0.9, 0.9], [0.9, 0, 0.0], [0.9, 0.0, 0]], True, False),
        ([[0, 0.5, 0.8, 0.3], [0.5, 0, 0.3, 0.7], [0.8, 0.3, 0, 0.4], [0.3, 0.7, 0.4, 0]], True, False),
        ([[0, 0], [0, 0]], True, True),
    ],
)
def test_products_are_known_from_other_means(matrix, players, expected):
    assert is_product(matrix, players=players) is expected


def test_products_with_rounded_means_are_products():
    rng = np.random.default_rng(0)
    for _ in range(20):
        u, v = rng.uniform(0.01, 1, 6), rng.uniform(0.01, 1, 4)
        assert is_product(np.outer(u, v), players=False)
        assert is_product(np.outer(u, u), players=True)
        assert not is_product(np.outer(u, v) * rng.uniform(0.9, 1, (6, 4)), players=False)
