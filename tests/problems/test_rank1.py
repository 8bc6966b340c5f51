import json
import pickle
from fractions import Fraction
from itertools import permutations, product
from math import inf, isclose, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import bipartite, monopartite
from matchbandit.problems import Bipartite, Monopartite, problem_from
from matchbandit.rewards import Bernoulli, Binomial, Gaussian, rewards_from

# A few round values besides the arbitrary ones, so that ties are common.
strength = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
slots = st.builds(Bipartite, st.lists(strength, min_size=1, max_size=4), st.lists(strength, min_size=1, max_size=4))
players = st.builds(Monopartite, st.lists(strength, min_size=2, max_size=6))
problems = slots | players
selections = pytest.mark.parametrize("selection", ["pair", "matching"])


def mean_of(problem, i, j):
    return problem.u[i] * (problem.v if isinstance(problem, Bipartite) else problem.u)[j]


def all_rounds(problem, selection):
    """Every pair, or every largest matching, as a list of pairs."""
    n, m = problem.graph.shape
    within = isinstance(problem, Monopartite)
    if selection == "pair":
        return [[(i, j)] for i, j in product(range(n), range(m)) if i < j or not within]
    if within:
        orders = [np.reshape(order[: n // 2 * 2], (-1, 2)) for order in permutations(range(n))]
        return list({tuple(sorted(tuple(sorted(pair)) for pair in order.tolist())) for order in orders})
    if n <= m:
        return [list(enumerate(columns)) for columns in permutations(range(m), n)]
    return [[(i, j) for j, i in enumerate(rows)] for rows in permutations(range(n), m)]


def value_of(problem, pairs):
    return sum(mean_of(problem, i, j) for i, j in pairs)


def in_its_place(problem, selection, pairs):
    """Every round that could have been played instead: of an odd number of players the same one sits out."""
    rounds = all_rounds(problem, selection)
    if selection == "pair" or isinstance(problem, Bipartite):
        return rounds
    present = {item for pair in pairs for item in pair}
    return [each for each in rounds if {item for pair in each for item in pair} == present]


@selections
@settings(deadline=None, derandomize=True, max_examples=60)
@given(problem=problems)
def test_the_best_round_is_the_best_of_all(problem, selection):
    rounds = all_rounds(problem, selection)
    most = max(value_of(problem, pairs) for pairs in rounds)
    best = problem.best(selection)
    assert sorted(map(tuple, best.tolist())) in [sorted(map(tuple, pairs)) for pairs in rounds]
    assert isclose(value_of(problem, best.tolist()), most, abs_tol=1e-12)
    assert isclose(problem.optimum(selection), most, abs_tol=1e-12)


@settings(deadline=None, derandomize=True)
@given(problems)
def test_the_best_pair_is_the_first_of_the_best_matching(problem):
    assert problem.best("pair").tolist() == problem.best_pair.tolist() == problem.best_matching[:1].tolist()
    assert problem.best("matching").tolist() == problem.best_matching.tolist()


@selections
@settings(deadline=None, derandomize=True, max_examples=60)
@given(problem=problems, data=st.data())
def test_value_and_regret_of_any_round(problem, selection, data):
    rounds = all_rounds(problem, selection)
    pairs = data.draw(st.sampled_from(rounds))
    most = max(value_of(problem, each) for each in in_its_place(problem, selection, pairs))
    assert isclose(problem.value(pairs), value_of(problem, pairs), abs_tol=1e-12)
    assert isclose(problem.regret(pairs, selection=selection), most - value_of(problem, pairs), abs_tol=1e-12)


@selections
@settings(deadline=None, derandomize=True, max_examples=60)
@given(problem=problems, data=st.data())
def test_the_regret_of_plays_is_the_sum_of_the_regrets_of_the_rounds(problem, selection, data):
    played = data.draw(st.lists(st.sampled_from(all_rounds(problem, selection)), max_size=20))
    plays = np.zeros(problem.graph.n_pairs, dtype=np.int64)
    for pairs in played:
        plays[problem.graph.edges(pairs)] += 1
    expected = sum(problem.regret(pairs, selection=selection) for pairs in played)
    before = plays.copy()
    got = problem.regret_of_plays(plays, len(played), selection=selection)
    assert isclose(got, expected, abs_tol=1e-11)
    assert np.array_equal(plays, before)


@selections
@pytest.mark.parametrize("rounds", [10**15, 10**18])
@settings(deadline=None, derandomize=True, max_examples=60)
@given(problem=problems, data=st.data())
def test_however_many_the_rounds_no_digits_are_lost(problem, selection, rounds, data):
    others = data.draw(st.lists(st.sampled_from(all_rounds(problem, selection)), max_size=10))
    best = problem.graph.edges(problem.best(selection))
    plays = np.zeros(problem.graph.n_pairs, dtype=np.int64)
    plays[best] = rounds - len(others)
    for pairs in others:
        plays[problem.graph.edges(pairs)] += 1
    means = [Fraction(float(mean)) for mean in problem.means]

    def exact_value(pairs):
        return sum(means[edge] for edge in problem.graph.edges(pairs).tolist())

    def best_instead(pairs):
        if selection == "pair" or problem.graph.kind == "bipartite" or len(problem.u) % 2 == 0:
            return problem.best(selection)
        order = sorted((item for pair in pairs for item in pair), key=lambda item: (-problem.u[item], item))
        return [(order[k], order[k + 1]) for k in range(0, len(order), 2)]

    exact = sum(exact_value(best_instead(pairs)) - exact_value(pairs) for pairs in others)
    assert isclose(problem.regret_of_plays(plays, rounds, selection=selection), float(exact), abs_tol=1e-13)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    u=st.sampled_from([3, 5, 7]).flatmap(lambda n: st.lists(strength, min_size=n, max_size=n)), seed=st.integers(0, 99)
)
def test_of_an_odd_number_of_players_each_round_is_compared_with_the_best_of_those_present(u, seed):
    problem, rng = Monopartite(u), np.random.default_rng(seed)
    plays, expected = np.zeros(problem.graph.n_pairs, dtype=np.int64), 0.0
    for _ in range(20):
        present = rng.permutation(len(u))[1:]
        pairs = present.reshape(-1, 2)
        plays[problem.graph.edges(pairs)] += 1
        best = max(
            value_of(problem, np.reshape(order, (-1, 2)))
            for order in (permutations(present.tolist()) if len(u) < 7 else [sorted(present, key=lambda i: -u[i])])
        )
        lost = best - value_of(problem, pairs)
        assert isclose(problem.regret(pairs, selection="matching"), lost, abs_tol=1e-12)
        expected += lost
    assert isclose(problem.regret_of_plays(plays, 20, selection="matching"), expected, abs_tol=1e-11)


def test_by_hand_of_five_players_one_sits_out():
    five = Monopartite([0.9, 0.7, 0.5, 0.3, 0.1])
    # Without the strongest 0.7·0.5 + 0.3·0.1 is best, without the second 0.9·0.5 + 0.3·0.1.
    assert five.regret([(1, 2), (3, 4)], selection="matching") == 0
    assert isclose(five.regret([(1, 3), (2, 4)], selection="matching"), 0.38 - 0.26)
    assert isclose(five.regret([(0, 3), (2, 4)], selection="matching"), 0.48 - 0.32)
    plays = np.zeros(10, dtype=np.int64)
    for pairs, times in (([(1, 2), (3, 4)], 10**12), ([(0, 2), (3, 4)], 10**12), ([(0, 3), (2, 4)], 1)):
        plays[five.graph.edges(pairs)] += times
    assert isclose(five.regret_of_plays(plays, 2 * 10**12 + 1, selection="matching"), 0.16, abs_tol=1e-13)


@pytest.mark.parametrize("pairs", [[(0, 1)], [(0, 1), (0, 2)], [(0, 1), (2, 3), (1, 4)]])
def test_of_an_odd_number_only_whole_matchings_have_a_regret(pairs):
    five = Monopartite([0.9, 0.7, 0.5, 0.3, 0.1])
    plays = np.bincount(five.graph.edges(pairs), minlength=10)
    with pytest.raises(MatchbanditError, match=r"^in each round of matchings all but one of 5 players play"):
        five.regret_of_plays(plays, 1, selection="matching")


@pytest.mark.parametrize(
    ("problem", "selection", "pairs", "words"),
    [
        (Bipartite([0.9, 0.1], [0.8, 0.2]), "matching", [(0, 0), (0, 0)], "each row at most once; got row 0 2 times"),
        (Bipartite([0.9, 0.1], [0.8, 0.2]), "matching", [(0, 0), (1, 0)], "each column at most once; got column 0 2"),
        (Bipartite([0.9, 0.1], [0.8, 0.2]), "matching", [(0, 0)], "a matching of bipartite 2×2 has 2 pairs; got 1."),
        (Bipartite([0.9], [0.8, 0.2]), "matching", [(0, 0), (0, 1)], "bipartite 1×2 has 1 pair; got 2."),
        (Bipartite([0.9, 0.1], [0.8, 0.2]), "pair", [(0, 0), (1, 1)], "a round of pair selection has 1 pair; got 2."),
        (Bipartite([0.9, 0.1], [0.8, 0.2]), "pair", np.zeros((0, 2), dtype=int), "has 1 pair; got 0."),
        (Monopartite([0.9, 0.7, 0.5, 0.3]), "matching", [(0, 1), (1, 2)], "each player at most once; got player 1 2 "),
        (Monopartite([0.9, 0.7, 0.5, 0.3]), "matching", [(0, 1), (1, 0)], "each player at most once; got player 0 2 "),
        (Monopartite([0.9, 0.7, 0.5]), "matching", [(0, 1), (1, 2)], "with 3 players has 1 pair; got 2."),
    ],
)
def test_what_is_no_pair_or_no_matching_has_no_regret_and_is_no_answer(problem, selection, pairs, words):
    for ask in (lambda: problem.regret(pairs, selection=selection), lambda: problem.is_optimal(pairs, selection)):
        with pytest.raises(MatchbanditError) as refusal:
            ask()
        assert words in str(refusal.value)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-13, 1e-150, 1e-300])
def test_an_answer_is_judged_relative_to_the_optimum(scale):
    slots = Bipartite([scale, 0.32 * scale], [1.0, 0.5])
    assert slots.is_optimal([(0, 0)], "pair")
    assert not slots.is_optimal([(1, 0)], "pair")
    assert slots.is_optimal([(1, 1), (0, 0)], "matching")
    assert not slots.is_optimal([(1, 0), (0, 1)], "matching")


def test_rounding_is_forgiven_and_where_all_is_worth_nothing_every_answer_is_optimal():
    # 0.1 · 0.3 and 0.3 · 0.1 sum in another order.
    players = Monopartite([0.1, 0.2, 0.3] * 2)
    assert players.is_optimal([(2, 5), (1, 4), (0, 3)], "matching")
    assert players.is_optimal([(3, 0), (4, 1), (5, 2)], "matching")
    assert not Bipartite([1.0, 1 - 1e-8], [1.0]).is_optimal([(1, 0)], "pair")
    nothing = Bipartite([0.0, 0.0], [0.5, 0.1])
    assert nothing.is_optimal([(1, 1)], "pair")
    assert nothing.is_optimal([(0, 1), (1, 0)], "matching")


@pytest.mark.parametrize("problem", [Bipartite([0.9, 0.3], [0.5]), Monopartite([0.3, 0.9, 0.1])])
def test_nobody_can_change_what_is_true(problem):
    for truth in (problem.means, problem.best_matching, problem.best_pair):
        with pytest.raises(ValueError, match="read-only"):
            truth[0] = 0


@pytest.mark.parametrize(
    ("problem", "size"),
    [
        (lambda: Monopartite(np.full(100_000, 0.5)), "monopartite with 100000 players has 4999950000 pairs"),
        (lambda: Bipartite(np.full(20_000, 0.5), [0.5] * 20_000), "bipartite 20000×20000 has 400000000 pairs"),
    ],
)
def test_a_problem_with_many_items_is_cheap_and_what_cannot_be_kept_is_refused(problem, size):
    many = problem()
    assert many.best_pair.shape == (1, 2)
    assert many.graph.n_pairs > 10**8
    assert "…" in repr(many)
    assert many.optimum("pair") == many.value([(0, 1)]) == 0.25
    for ask in (lambda: many.means, lambda: many.graph.pairs):
        with pytest.raises(MatchbanditError, match=size):
            ask()


def test_huge_regrets_are_exact_where_the_strengths_are_exact():
    slots = Bipartite(u=[1, 0.5], v=[0.5, 0.25])
    plays = np.array([10**15 - 3 * 10**14 - 7, 10**14, 2 * 10**14, 7])
    # The gaps are 0, 1/4, 1/4 and 3/8.
    assert slots.regret_of_plays(plays, 10**15, selection="pair") == 3 * 10**14 / 4 + 7 * 3 / 8


def test_by_hand_with_rows_and_columns():
    slots = Bipartite(u=[0.2, 1.0, 0.5], v=[0.4, 0.8])
    assert slots.best_pair.tolist() == [[1, 1]]
    assert slots.best_matching.tolist() == [[1, 1], [2, 0]]
    assert slots.optimum("pair") == 0.8
    assert slots.optimum("matching") == 1.0
    assert np.allclose(slots.matrix, [[0.08, 0.16], [0.4, 0.8], [0.2, 0.4]])
    assert isclose(slots.regret([(0, 0), (1, 1)], selection="matching"), 0.12)


def test_by_hand_with_players():
    five = Monopartite(u=[0.5, 0.1, 1.0, 0.8, 0.4])
    assert five.best_pair.tolist() == [[2, 3]]
    assert five.best_matching.tolist() == [[2, 3], [0, 4]]
    assert five.optimum("matching") == 1.0
    assert isclose(five.regret([(3, 0), (4, 2)], selection="matching"), 0.2)
    assert isclose(five.regret([(1, 0)], selection="pair"), 0.75)
    below = np.tril_indices(5)
    assert not five.matrix[below].any()
    assert isclose(five.matrix[0, 3], 0.4)


@settings(deadline=None, derandomize=True)
@given(problems)
def test_means_stand_at_their_pairs(problem):
    for (i, j), mean in zip(problem.graph.pairs.tolist(), problem.means.tolist(), strict=True):
        assert mean == problem.matrix[i, j] == mean_of(problem, i, j)


def test_the_graph_has_the_shape_of_the_strengths():
    assert Bipartite([0.1] * 2, [0.1] * 5).graph == bipartite(2, 5)
    assert Monopartite([0.1] * 5).graph == monopartite(5)


@settings(deadline=None, derandomize=True)
@given(problems, st.sampled_from([Bernoulli(), Gaussian(0.3), Binomial(7)]))
def test_a_problem_survives_a_trip_through_json(problem, law):
    strengths = [problem.u, problem.v] if isinstance(problem, Bipartite) else [problem.u]
    with_rewards = type(problem)(*strengths, rewards=law)
    from_json = json.loads(json.dumps(with_rewards.describe()))
    assert rewards_from(from_json.pop("rewards")) == law
    assert from_json.pop("kind") == with_rewards.graph.kind
    assert type(problem)(**from_json).means.tolist() == problem.means.tolist()


def test_rewards_are_bernoulli_unless_told_otherwise():
    assert Bipartite([0.5], [0.5]).rewards == Monopartite([0.5, 0.5]).rewards == Bernoulli()


@pytest.mark.parametrize("law", ["gaussian", Bernoulli, 0.5, {"name": "bernoulli"}])
def test_what_is_no_reward_distribution_is_refused(law):
    for build in (lambda: Bipartite([0.5], [0.5], rewards=law), lambda: Monopartite([0.5, 0.5], rewards=law)):
        with pytest.raises(MatchbanditError) as refusal:
            build()
        assert str(refusal.value).startswith("rewards must be a distribution such as Bernoulli()")
        assert str(refusal.value).endswith(f"got {law!r}.")


def test_a_problem_keeps_its_own_strengths():
    given_u, given_v = np.array([0.9, 0.3]), np.array([0.8, 0.1])
    slots, players = Bipartite(given_u, given_v), Monopartite(given_u)
    given_u[0] = given_v[0] = 0
    assert slots.optimum("pair") == 0.9 * 0.8
    assert players.u.tolist() == [0.9, 0.3]
    for strengths in (slots.u, slots.v, players.u):
        with pytest.raises(ValueError, match="read-only"):
            strengths[0] = 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.5, 0.2, 1.2, -3], "{} must lie in [0, 1]; got 1.2 at position 2. Rescale the rewards first."),
        ([-0.25, 0.5], "{} must lie in [0, 1]; got -0.25 at position 0. Rescale the rewards first."),
        ([0.5, nan], "{} must lie in [0, 1]; got nan at position 1."),
        ([0.5, None], "{} must be a list of numbers; got [0.5, None]."),
        ([inf, 0.5], "{} must lie in [0, 1]; got inf at position 0."),
        ([0.5, 0.5, -inf], "{} must lie in [0, 1]; got -inf at position 2."),
        ([], "{} has no items; it needs at least "),
        ([[0.5, 0.2], [0.1, 0.3]], "{} must be a flat list of numbers; got an array of shape (2, 2)."),
        ([[0.5, 0.2]], "{} must be a flat list of numbers; got an array of shape (1, 2)."),
        (0.5, "{} must be a flat list of numbers; got an array of shape ()."),
        ([[0.5], 0.2], "{} must be a list of numbers; got [[0.5], 0.2]."),
        ([0.5, "high"], "{} must be a list of numbers; got [0.5, 'high']."),
        ([0.5, {}], "{} must be a list of numbers; got [0.5, {{}}]."),
        ([0.5, 1j], "{} must be a list of numbers; got [0.5, 1j]."),
        (["0.5", "0.2"], "{} must be a list of numbers; got ['0.5', '0.2']."),
        ("0.5", "{} must be "),
    ],
)
def test_bad_strengths_of_rows_columns_and_players_are_refused_by_name(values, words):
    for name, build in [
        ("u", lambda: Bipartite(values, [0.5])),
        ("v", lambda: Bipartite([0.5], values)),
        ("u", lambda: Monopartite(values)),
    ]:
        with pytest.raises(MatchbanditError) as refusal:
            build()
        assert str(refusal.value).startswith(words.format(name))


def test_complex_strengths_are_refused():
    with pytest.raises(MatchbanditError, match=r"^u must be a list of numbers"):
        Bipartite(np.array([0.5 + 0j, 0.2j]), [0.5])


def test_one_player_alone_is_refused_and_one_row_is_not():
    with pytest.raises(MatchbanditError, match=r"^u has only 1 item; it needs at least 2\. List one strength per item"):
        Monopartite([0.5])
    assert Bipartite([0.5], [0.5]).optimum("matching") == 0.25


def test_strengths_at_both_ends_are_taken():
    assert Monopartite([0, 1]).optimum("pair") == 0
    assert Bipartite([1], [1]).optimum("pair") == 1


def test_an_unknown_selection_is_refused():
    problem = Monopartite([0.5, 0.5])
    for ask in (problem.best, problem.optimum, lambda selection: problem.regret([(0, 1)], selection=selection)):
        with pytest.raises(MatchbanditError, match=r"^unknown selection 'match'; did you mean 'matching'\?"):
            ask("match")


def test_a_pair_that_does_not_exist_has_no_value():
    with pytest.raises(MatchbanditError, match=r"^\(0, 2\) is not a pair of monopartite with 2 players"):
        Monopartite([0.5, 0.5]).value([(0, 2)])


@pytest.mark.parametrize("selection", ["pair", "matching"])
def test_nothing_is_lost_where_all_items_are_equal(selection):
    for problem in (Bipartite([0.7] * 3, [0.7] * 3), Monopartite([1.0] * 4)):
        plays = np.full(problem.graph.n_pairs, 10**17)
        rounds = int(plays.sum()) if selection == "pair" else int(plays.sum()) // problem.graph.matching_size
        assert abs(problem.regret_of_plays(plays, rounds, selection=selection)) < (1e-9 if selection == "pair" else 1e3)


def test_the_regret_of_pairs_is_never_negative():
    rng = np.random.default_rng(1)
    for _ in range(50):
        problem = Bipartite(rng.choice([0.3, 0.7], 4), rng.choice([0.3, 0.7], 3))
        plays = rng.integers(0, 10**17, problem.graph.n_pairs)
        assert problem.regret_of_plays(plays, int(plays.sum()), selection="pair") >= 0


@pytest.mark.parametrize(
    "problem",
    [
        Bipartite([0.9, 0.3], [0.5], rewards=Gaussian(sd=0.2)),
        Monopartite([0.3, 0.9, 0.1], rewards=Binomial(trials=3)),
    ],
)
def test_a_problem_is_read_back_from_its_description(problem):
    again = problem_from(problem.describe())
    assert type(again) is type(problem)
    assert again.describe() == problem.describe()
    assert (again.means == problem.means).all()


@pytest.mark.parametrize("description", [{}, {"kind": "tripartite"}, {"kind": None}])
def test_a_description_of_an_unknown_kind_is_refused(description):
    with pytest.raises(MatchbanditError, match=r"^a description of a problem has a kind such as 'bipartite'; got "):
        problem_from(description)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(problems)
def test_problems_are_hashable_and_survive_pickling(problem):
    assert {problem: 1}[problem] == 1
    again = pickle.loads(pickle.dumps(problem))
    assert again.describe() == problem.describe()
