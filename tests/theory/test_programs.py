"""The linear programs: values worked by hand, alternatives that are alternatives, and matchings listed one by one."""

from itertools import pairwise
from math import inf, log

import numpy as np
import pytest
from reference.combinatorial import matchings_of
from reference.drawn import LAWS, players, rows_and_columns
from reference.limits import incidence
from scipy.optimize import linprog

import matchbandit as mb
from matchbandit.solvers.characteristic import solve_program
from matchbandit.theory.programs import (
    delta_divergence,
    divergences,
    least_matchings,
    least_plays,
    order_alternatives,
    pair_alternatives,
    player_alternatives,
    swap_alternative,
    switch_alternatives,
)

NOISE = mb.Gaussian(sd=1.0)
laws = pytest.mark.parametrize("law", LAWS)
GRID = np.concatenate([np.logspace(-300, -3, 100), np.linspace(0.002, 0.499, 100)])


# d(δ, 1 − δ)


def test_delta_divergence_is_the_divergence_of_two_coins_in_either_order():
    coin = mb.Bernoulli()
    for delta in (1e-6, 0.01, 0.05, 0.2, 0.3, 0.49):
        assert delta_divergence(delta) == pytest.approx(coin.kl(delta, 1 - delta), rel=1e-9)
        assert delta_divergence(delta) == pytest.approx(coin.kl(1 - delta, delta), rel=1e-9)


def test_delta_divergence_is_at_least_log_one_over_delta_minus_one():
    assert all(delta_divergence(delta) >= log(1 / delta) - 1 for delta in GRID)
    assert all(delta_divergence(delta) >= log(1 / delta) - 1 for delta in np.linspace(0.5, 0.999, 50))
    # The paper's other constant, log(1/2.4δ) (Kaufmann, Cappé & Garivier 2016), lies below it too.
    assert all(delta_divergence(delta) >= log(1 / (2.4 * delta)) for delta in GRID)


def test_risk_divergence_falls_to_nothing_at_one_half_and_stays_there():
    values = [delta_divergence(delta) for delta in GRID]
    assert all(more > less > 0 for more, less in pairwise(values))
    assert delta_divergence(0.4999) < 1e-6
    # 0.7 would have the divergence of 0.3, but who may be wrong as often as not need not sample at all.
    assert [delta_divergence(delta) for delta in (0.5, 0.7, 0.999)] == [0, 0, 0]


def test_delta_divergence_is_log_one_over_delta_for_small_risks():
    assert delta_divergence(1e-200) == pytest.approx(200 * log(10), rel=1e-12)


# The solver


def test_the_least_plays_by_hand():
    # Pair 1 tells the first alternative at 2 a play, pair 2 the second at 4, pair 3 both at 1 and 1. Without pair 3:
    # 1/2 + 1/4; a play of pair 3 saves 1/2 + 1/4 < 1, so it is not used.
    assert least_plays(np.array([[2.0, 0.0, 1.0], [0.0, 4.0, 1.0]])) == pytest.approx(0.75)
    # At 3 and 3 pair 3 alone: 1/3 of a play.
    assert least_plays(np.array([[2.0, 0.0, 3.0], [0.0, 4.0, 3.0]])) == pytest.approx(1 / 3)


def test_nothing_to_tell_costs_nothing_and_the_untellable_has_no_price():
    assert least_plays(np.zeros((0, 3))) == 0
    assert least_plays(np.array([[1.0, 2.0], [0.0, 0.0]])) == inf


@pytest.mark.parametrize("hard", [1e-3, 1e-6, 1e-9, 1e-11])
def test_easy_alternatives_are_told_beside_hard_ones(hard):
    # Every row is met in its own measure, not in that of the hardest: else a pair that only the easy alternatives need
    # is left out of the plays, and the plays tell nothing of them.
    kl = np.array([[hard, 0.0, 0.0], [0.0, 1.0, 0.3], [0.0, 0.3, 1.0]])
    plays = solve_program(np.ones(3), kl)
    assert (kl @ plays >= 1 - 1e-6).all()
    assert plays.sum() == pytest.approx(1 / hard + 2 / 1.3, rel=1e-9)


def test_a_divergence_without_limit_counts_as_one_sample():
    # u_2 v_1 = 0.5 against 1: a single 0 tells. The program must neither fail nor ask for anything to speak of.
    problem = mb.Bipartite([1.0, 0.5], [1.0])
    kl = divergences(problem, pair_alternatives(problem))
    assert np.isfinite(kl).all()
    assert least_plays(kl) < 1e-9


@laws
def test_divergences_are_those_of_the_law_pair_by_pair(law):
    truth, other = mb.Bipartite([0.9, 0.4], [0.7, 0.5], rewards=law), mb.Bipartite([0.9, 0.9], [0.7, 0.5], rewards=law)
    table = divergences(truth, [other, truth])
    assert table.shape == (1, 4)  # the truth is no alternative to itself
    assert table[0, :2].tolist() == [0, 0]
    # From the truth to the alternative: the order matters for coins.
    assert table[0, 2:] == pytest.approx([law.kl(0.28, 0.63), law.kl(0.20, 0.45)], rel=1e-12)


# Alternatives


def still_best(problem, other, selection):
    """By how much the answer of `problem` beats every other answer on `other`: negative if it is beaten, 0 if level."""
    table = incidence(problem, selection)
    answer = int(np.argmax(table @ problem.means))
    values = table @ other.means
    return values[answer] - np.delete(values, answer).max()


@pytest.mark.parametrize("seed", range(6))
def test_every_alternative_has_another_answer(seed):
    # Level is enough: an alternative a little further has another answer, and divergences are continuous.
    rng = np.random.default_rng(seed)
    slots, many = rows_and_columns(rng), players(rng, int(rng.choice([4, 6, 8])))
    enumerated = [
        (slots, pair_alternatives(slots), "pair"),
        (many, player_alternatives(many), "pair"),
        (many, switch_alternatives(many), "pair"),
        (many, order_alternatives(many, first=1), "matching"),
        (many, swap_alternative(many), "matching"),
    ]
    for problem, alternatives, selection in enumerated:
        assert alternatives
        for other in alternatives:
            assert still_best(problem, problem, selection) > 1e-9
            assert still_best(problem, other, selection) <= 1e-12


def test_how_many_alternatives_there_are():
    rng = np.random.default_rng(1)
    slots, six = mb.Bipartite(rng.permutation([0.9, 0.5, 0.4]), rng.permutation([0.8, 0.6, 0.3, 0.2])), players(rng, 6)
    assert len(pair_alternatives(slots)) == 2 + 3
    assert len(player_alternatives(six)) == 1 + 4
    assert len(switch_alternatives(six)) == 4
    assert len(order_alternatives(six, first=1)) == 6
    assert len(order_alternatives(six, first=2)) == 5
    assert len(swap_alternative(six)) == 1


def test_the_first_in_order_is_the_strongest_wherever_it_stands():
    # With first=2 the strongest player, here at position 2, keeps its strength in every alternative.
    six = mb.Monopartite([0.3, 0.5, 0.9, 0.7, 0.2, 0.4])
    assert all(other.u[2] == 0.9 for other in order_alternatives(six, first=2))
    assert any(other.u[2] != 0.9 for other in order_alternatives(six, first=1))


def test_equal_items_give_no_alternative():
    # Raising an item to where it is changes nothing.
    assert len(pair_alternatives(mb.Bipartite([0.9, 0.9, 0.5], [0.8]))) == 1
    assert len(player_alternatives(mb.Monopartite([0.9, 0.5, 0.5, 0.3]))) == 1
    assert len(switch_alternatives(mb.Monopartite([0.9, 0.5, 0.5, 0.3]))) == 1
    assert len(order_alternatives(mb.Monopartite([0.9, 0.5, 0.5, 0.3]), first=1)) == 2
    assert swap_alternative(mb.Monopartite([0.9, 0.5, 0.5, 0.3])) == []


def test_two_players_have_one_answer_and_no_alternative():
    two = mb.Monopartite([0.5, 0.3])
    assert player_alternatives(two) == switch_alternatives(two) == swap_alternative(two) == []


def test_the_exchange_is_at_the_border_with_the_smallest_gap():
    # Gaps at the borders: 0.2 and 0.1, so players 4 and 5 change places.
    six = mb.Monopartite([0.9, 0.8, 0.6, 0.4, 0.3, 0.1])
    assert [other.u.tolist() for other in swap_alternative(six)] == [[0.9, 0.8, 0.6, 0.3, 0.4, 0.1]]
    # Gaps 0.1 and 0.2: the first border counts too, where the print lets s begin at 2.
    six = mb.Monopartite([0.9, 0.7, 0.6, 0.5, 0.3, 0.1])
    assert [other.u.tolist() for other in swap_alternative(six)] == [[0.9, 0.6, 0.7, 0.5, 0.3, 0.1]]


def test_alternatives_as_printed_that_are_none():
    # Theorem C.1 raises player 2 above the best: the best pair stays. Theorem 4.2 moves the two at border s apart.
    four = mb.Monopartite([0.8, 0.7, 0.4, 0.2])
    assert still_best(four, mb.Monopartite([0.8, 0.8 + 0.05, 0.4, 0.2]), "pair") > 0.1
    assert still_best(four, mb.Monopartite([0.8, 0.7 + 0.3, 0.4 - 0.3, 0.2]), "matching") > 0.1


# Rows and columns, by hand. Gaussian, sd 1: kl = (p − q)²/2.


def test_two_rows_and_one_column_are_two_arms():
    # Raise row 2 by 0.3: a play of it tells (0.9 · 0.3)²/2.
    problem = mb.Bipartite([0.8, 0.5], [0.9], rewards=NOISE)
    assert least_plays(divergences(problem, pair_alternatives(problem))) == pytest.approx(2 / 0.27**2)


def test_two_by_two_when_the_doubly_wrong_pair_is_not_worth_it():
    # (2, 1) tells K = (0.8 · 0.4)²/2 of row 2, (1, 2) as much of column 2, and (2, 2) tells (0.4/0.8)² K of both: half
    # as much as one play of each side, so 1/K + 1/K, twice the analytic bound.
    problem = mb.Bipartite([0.8, 0.4], [0.4, 0.8], rewards=NOISE)
    assert least_plays(divergences(problem, pair_alternatives(problem))) == pytest.approx(2 * 2 / 0.32**2)


def test_two_by_two_when_the_doubly_wrong_pair_tells_both():
    # 0.7 beside 0.8: (2, 2) tells (7/8)² K of row and column each, together more than K, K = (0.8 · 0.1)²/2. It alone:
    # (8/7)²/K, less than twice the analytic 1/K.
    problem = mb.Bipartite([0.7, 0.8], [0.8, 0.7], rewards=NOISE)
    assert least_plays(divergences(problem, pair_alternatives(problem))) == pytest.approx((8 / 7) ** 2 * 2 / 0.08**2)


# Players, by hand


def test_three_players_when_the_two_weak_ones_do_not_meet():
    # 3 rises to 0.5 and 2 falls to 0.3: (1, 3) and (1, 2) tell K = (0.9 · 0.2)²/2 of one each. (2, 3) tells 0.5²/0.9² K
    # of the first and 0.3²/0.9² K of the second, together less than K. So 2/K.
    problem = mb.Monopartite([0.5, 0.9, 0.3], rewards=NOISE)
    assert least_plays(divergences(problem, player_alternatives(problem))) == pytest.approx(4 / 0.18**2)


def test_three_players_when_the_two_weak_ones_meet():
    # 0.9, 0.8, 0.7: of K = (0.9 · 0.1)²/2 a play of (2, 3) tells r = 64/81 of 3 rising and s = 49/81 of 2 falling, more
    # than K together. 1/r plays of it, each in 1/K, tell the first; (1, 2) tells the rest of the second, 1 − s/r:
    # (1/K) (1 + (1 − s)/r) = (1/K) (1 + 32/64).
    problem = mb.Monopartite([0.9, 0.8, 0.7], rewards=NOISE)
    assert least_plays(divergences(problem, player_alternatives(problem))) == pytest.approx(1.5 * 2 / 0.09**2)


def test_four_players_all_against_the_best():
    # 0.9, 0.5, 0.2, 0.1: 2 falls by 0.3, 3 rises by 0.3, 4 by 0.4, each told by the best only, as the others together
    # are too weak. Seeking the matching has the same three moves.
    problem = mb.Monopartite([0.2, 0.5, 0.1, 0.9], rewards=NOISE)
    expected = 2 / 0.27**2 + 2 / 0.27**2 + 2 / 0.36**2
    assert least_plays(divergences(problem, player_alternatives(problem))) == pytest.approx(expected)
    assert least_plays(divergences(problem, order_alternatives(problem, first=2))) == pytest.approx(expected)


def test_six_players_in_order_all_against_the_best():
    # Strengths 1, .2, .15, .1, .05, .01. 2 falls by .05, 3 rises by .05, 4 falls by .05, 5 rises by .05, and 6 rises to
    # player 4, by .09. Between the others a play tells at most (.04 + .0225) of what one with the best does.
    problem = mb.Monopartite([1.0, 0.2, 0.15, 0.1, 0.05, 0.01], rewards=NOISE)
    solution = least_plays(divergences(problem, order_alternatives(problem, first=2)))
    assert solution == pytest.approx(4 * 2 / 0.05**2 + 2 / 0.09**2)


def test_switching_the_best_is_told_by_the_best_pair_alone():
    # Gaussian: 1 and 3 change places, the smallest change; (1, 2) sees it as (u_2 Δ_13)²/2 sd², and every other
    # exchange better still.
    for u in ([0.9, 0.8, 0.2, 0.2], [0.9, 0.8] + [0.2] * 6, [0.7, 0.3, 0.6, 0.1]):
        problem = mb.Monopartite(u, rewards=mb.Gaussian(sd=0.5))
        best, second, third = sorted(u, reverse=True)[:3]
        solution = least_plays(divergences(problem, switch_alternatives(problem)))
        assert solution == pytest.approx(2 * 0.5**2 / (second * (best - third)) ** 2)


def test_bernoulli_rewards_tell_the_switch_by_the_better_of_two_pairs():
    # Three players, one exchange: (1, 2) falls from .72 to .24, (2, 3) rises from .24 to .72, (1, 3) pays as before. A
    # rise to .72 tells .24 log(1/3) + .76 log(.76/.28) = .4952, a fall to .24 .72 log 3 + .28 log(.28/.76) = .5114.
    problem = mb.Monopartite([0.3, 0.9, 0.8])
    assert least_plays(divergences(problem, switch_alternatives(problem))) == pytest.approx(1 / 0.51141, rel=1e-4)
    # Coins that hardly fail the other way round, .9702 and .882: the rise of (2, 3) tells more.
    problem = mb.Monopartite([0.9, 0.99, 0.98])
    rise = 0.882 * log(0.882 / 0.9702) + 0.118 * log(0.118 / 0.0298)
    assert least_plays(divergences(problem, switch_alternatives(problem))) == pytest.approx(1 / rise, rel=1e-6)


def test_an_exchange_keeps_the_strengths():
    six = players(np.random.default_rng(2), 6)
    for other in switch_alternatives(six) + swap_alternative(six):
        assert sorted(other.u) == sorted(six.u)
        assert (other.u != six.u).sum() == 2


# Matchings


def least_rounds(problem, alternatives):
    """The least number of rounds that tells all of them, with a variable for each matching."""
    kl = divergences(problem, alternatives)
    information = kl @ incidence(problem, "matching").T
    unit = information.max(axis=1).min()
    solution = linprog(
        np.ones(information.shape[1]), A_ub=-information / unit, b_ub=-np.ones(len(information)), method="highs"
    )
    assert solution.status == 0
    return solution.fun / unit


@laws
@pytest.mark.parametrize("seed", range(4))
def test_of_four_players_matchings_and_their_pairs_are_the_same_program(law, seed):
    # Three matchings, each of two pairs that no other has: pairs played equally often are matchings. So c is the number
    # of matchings, where the print has c/2.
    problem = players(np.random.default_rng(seed), 4, law=law)
    alternatives = order_alternatives(problem, first=1) + swap_alternative(problem)
    solution = least_matchings(problem.graph, divergences(problem, alternatives))
    assert solution == pytest.approx(least_rounds(problem, alternatives), rel=1e-6)


@laws
@pytest.mark.parametrize("n", [6, 8])
def test_of_more_players_the_program_asks_for_no_more_than_matchings_do(law, n):
    for seed in range(3):
        problem = players(np.random.default_rng(seed), n, law=law)
        alternatives = order_alternatives(problem, first=1) + swap_alternative(problem)
        solution = least_matchings(problem.graph, divergences(problem, alternatives))
        brute = least_rounds(problem, alternatives)
        assert solution <= brute * (1 + 1e-6)
        assert solution > brute / 2  # so that the print's c/2 would be seen


def test_odd_sets_are_what_the_program_passes_over():
    # Six players, and only pairs within {0, 1, 2} and within {3, 4, 5} tell, at 1 a play. A matching has an odd number
    # of pairs between the two, so it tells at most 2: half a matching. Counting pairs: 1/6 of each of the six pairs has
    # every player in 1/3.
    graph = mb.monopartite(6)
    within = np.array([float((i < 3) == (j < 3)) for i, j in graph.pairs.tolist()])
    assert least_matchings(graph, within[None]) == pytest.approx(1 / 3)
    assert max(sum((i < 3) == (j < 3) for i, j in matching) for matching in matchings_of(graph)) == 2


def test_matchings_that_tell_one_exchange_by_hand():
    # 0.9, 0.8, 0.5, 0.2, sd 1: 2 and 3 change places. {(1, 2), (3, 4)} tells ((0.9 · 0.3)² + (0.2 · 0.3)²)/2, so does
    # {(1, 3), (2, 4)}, and {(1, 4), (2, 3)} nothing: 1/((0.81 + 0.04) 0.09/2) matchings.
    problem = mb.Monopartite([0.5, 0.9, 0.2, 0.8], rewards=NOISE)
    solution = least_matchings(problem.graph, divergences(problem, swap_alternative(problem)))
    assert solution == pytest.approx(2 / (0.85 * 0.09))


def test_every_player_plays_in_every_matching():
    # One alternative told by one pair only: to play it once takes a whole matching, no less and no more.
    for n in (2, 4, 6, 8):
        graph = mb.monopartite(n)
        kl = np.zeros((1, graph.n_pairs))
        kl[0, 0] = 4.0
        assert least_matchings(graph, kl) == pytest.approx(0.25)
    # Two told by two pairs that share a player take two matchings.
    kl = np.zeros((2, 6))
    kl[0, 0] = kl[1, 1] = 1.0
    assert least_matchings(mb.monopartite(4), kl) == pytest.approx(2)
