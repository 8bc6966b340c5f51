"""Every quantity by hand on small instances, and against what its words say on random ones."""

import json
from functools import cached_property
from itertools import permutations
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.schedules import round_robin
from matchbandit.theory.players import SortedPlayers, border_partner
from matchbandit.theory.quantities import bipartite_complexity

OF_PAIRS = {"neighbour_gaps", "gaps_to_first", "gaps_to_second", "complexity_regret", "complexity_identification"}
# Twentieths: few values, so that ties are common, and no two sums differ by less than floats can tell.
strength = st.integers(0, 20).map(lambda k: k / 20)


def players(least, most):
    """An even number of players, in any order, ties welcome."""
    return st.integers(least // 2, most // 2).flatmap(lambda n: st.lists(strength, min_size=2 * n, max_size=2 * n))


def matchings(items):
    """All ways to put the items into pairs."""
    if not items:
        yield []
        return
    for other in items[1:]:
        rest = [k for k in items[1:] if k != other]
        for pairs in matchings(rest):
            yield [(items[0], other), *pairs]


def worth(u, pairs):
    return sum(u[i] * u[j] for i, j in pairs)


def named(problem):
    return {q.name: q.value for q in mb.quantities(problem)}


@pytest.mark.parametrize(
    ("u", "v", "regret", "certainty"),
    [
        # One row to find: v_1 Δ_2 = 0.8 · 0.5 = 0.4.
        ([0.9, 0.4], [0.8], 1 / 0.4, 1 / 0.16),
        # And one column: u_1 Δ_2 = 0.9 · 0.5 = 0.45.
        ([0.9, 0.4], [0.8, 0.3], 1 / 0.4 + 1 / 0.45, 1 / 0.16 + 1 / 0.2025),
        # 0.5 · 0.2 = 0.1 and 0.5 · 0.5 = 0.25: 10 + 4, 100 + 16.
        ([0.4, 0.9, 0.7], [0.5], 14.0, 116.0),
        # Two best rows: neither is to be told from the best. 0.6 · 0.4 = 0.24.
        ([0.6, 0.2, 0.6], [0.6], 1 / 0.24, 1 / 0.0576),
        ([0.7], [0.7], 0.0, 0.0),
    ],
)
def test_by_hand_the_complexity_of_rows_and_columns(u, v, regret, certainty):
    by_name = named(mb.Bipartite(u, v))
    assert by_name["complexity_regret"] == pytest.approx(regret)
    assert by_name["complexity_identification"] == pytest.approx(certainty)


def test_by_hand_the_quantities_of_rows_and_columns():
    by_name = named(mb.Bipartite([0.4, 0.9], [0.3, 0.8, 0.7]))
    assert by_name["row_gaps"] == pytest.approx([0, 0.5])
    assert by_name["column_gaps"] == pytest.approx([0, 0.1, 0.5])
    assert by_name["mean_row"] == pytest.approx(0.65)
    assert by_name["mean_column"] == pytest.approx(0.6)


def test_by_hand_three_players():
    # 0.9 · (0.5 − 0.3) = 0.18. No matching of all three: nothing else is defined.
    by_name = named(mb.Monopartite([0.5, 0.9, 0.3]))
    assert set(by_name) == OF_PAIRS
    assert by_name["neighbour_gaps"] == pytest.approx([0.4, 0.2])
    assert by_name["gaps_to_first"] == pytest.approx([0.4, 0.6])
    assert by_name["gaps_to_second"] == pytest.approx([0.2])
    assert by_name["complexity_regret"] == pytest.approx(1 / 0.18)
    assert by_name["complexity_identification"] == pytest.approx(1 / 0.0324)


def test_by_hand_two_players_have_nothing_to_tell_apart():
    by_name = named(mb.Monopartite([0.3, 0.9]))
    assert set(by_name) == OF_PAIRS
    assert by_name["neighbour_gaps"] == by_name["gaps_to_first"] == pytest.approx([0.6])
    assert by_name["gaps_to_second"] == []
    assert by_name["complexity_regret"] == by_name["complexity_identification"] == 0
    assert (
        SortedPlayers([0.3, 0.9]).smallest_loss
        == SortedPlayers([0.3, 0.9]).smallest_loss_of_all
        == SortedPlayers([0.3, 0.9]).smallest_weighted_gap
        == inf
    )
    assert SortedPlayers([0.3, 0.9]).hardest_borders == (None, None)
    assert SortedPlayers([0.3, 0.9]).alpha == 0
    assert SortedPlayers([0.3, 0.9]).least_comparison_bounds == (inf, inf)


def test_by_hand_four_players():
    by_name = named(mb.Monopartite([0.5, 0.9, 0.3, 0.8]))  # 0.9 0.8 | 0.5 0.3
    assert by_name["gaps_to_second"] == pytest.approx([0.3, 0.5])
    assert by_name["complexity_regret"] == pytest.approx(1 / 0.27 + 1 / 0.45)
    assert by_name["complexity_identification"] == pytest.approx(1 / 0.0729 + 1 / 0.2025)
    # 1 from 3, 2 from 3, 3 from 2, 4 from 2; times 0.9: 0.36, 0.27, 0.27, 0.45.
    assert by_name["partner_gaps"] == pytest.approx([0.4, 0.3, 0.3, 0.5])
    assert by_name["complexity_order"] == pytest.approx(1 / 0.1296 + 2 / 0.0729 + 1 / 0.2025)
    assert by_name["border_gaps"] == pytest.approx([0.3])
    assert by_name["others_means"] == pytest.approx([(0.9 + 0.3) / 4])
    assert by_name["smallest_weighted_gap"] == pytest.approx(0.09)
    # Without two neighbours the sum of 2.5 is 0.8, 1.2 and 1.7, over three opponents.
    assert by_name["cluster_means"] == pytest.approx([0.8 / 3, 0.4, 1.7 / 3])
    assert (by_name["border_s"], by_name["border_h"], by_name["alpha"]) == (1, None, 0)  # no second border
    # The optimum pays 0.72 + 0.15; (1, 3), (2, 4) pays 0.45 + 0.24, (1, 4), (2, 3) pays 0.27 + 0.4.
    assert by_name["smallest_loss"] == pytest.approx(0.18)
    assert by_name["smallest_loss_of_all"] == pytest.approx(0.18)
    assert np.allclose(by_name["mixing_losses"], [[0, 0.18 + 0.2], [0, 0]])
    # m = 3 only. Alone, 3 and 4 meet nobody else; with 1 and 2: 3 · 0.38 / (0.2 · 1.7)².
    assert by_name["bound_together"] == inf
    assert by_name["bound_explored"] == pytest.approx(1.14 / 0.1156)


def test_by_hand_six_players_with_the_smallest_gap_at_the_first_border():
    u = [0.9, 0.8, 0.6, 0.5, 0.2, 0.1]
    assert SortedPlayers(u).partner_gaps == pytest.approx([0.3, 0.2, 0.2, 0.3, 0.3, 0.4])
    assert SortedPlayers(u).border_gaps == pytest.approx([0.2, 0.3])
    # The sum is 3.1; without 0.8 and 0.6 it is 1.7, without 0.5 and 0.2 it is 2.4.
    assert SortedPlayers(u).others_means == pytest.approx([1.7 / 6, 0.4])
    assert SortedPlayers(u).weighted_gaps == pytest.approx([0.34 / 6, 0.12])
    assert SortedPlayers(u).smallest_weighted_gap == pytest.approx(0.34 / 6)
    assert SortedPlayers(u).hardest_borders == (1, 2)
    assert SortedPlayers(u).top_mean == pytest.approx(
        0.225
    )  # 0.9/4: the players at border 1 are not measured against themselves
    assert SortedPlayers(u).alpha == pytest.approx((0.225 * 0.2 / 0.12) ** 2)  # 0.140625
    assert SortedPlayers(u).smallest_loss == pytest.approx(
        0.08
    )  # 0.2 · (0.9 − 0.5); at the other border 0.3 · (0.6 − 0.1)


def test_by_hand_six_players_with_the_smallest_gap_at_the_second_border():
    u = [0.9, 0.8, 0.5, 0.4, 0.3, 0.1]
    # The sum is 3; weighted gaps (3 − 1.3)/6 · 0.3 = 0.085 and (3 − 0.7)/6 · 0.1 = 0.0383.
    assert SortedPlayers(u).smallest_weighted_gap == pytest.approx(0.23 / 6)
    assert SortedPlayers(u).hardest_borders == (2, 1)
    assert SortedPlayers(u).top_mean == pytest.approx(0.425)  # (0.9 + 0.8)/4
    assert SortedPlayers(u).alpha == pytest.approx(0.25)  # (0.425 · 0.1 / 0.085)²
    assert SortedPlayers(u).smallest_loss == pytest.approx(
        0.04
    )  # 0.1 · (0.5 − 0.1); at the other border 0.3 · (0.9 − 0.4)


def test_by_hand_the_smallest_gap_and_the_smallest_weighted_gap_are_at_different_borders():
    # The sum is 2.9: 1.55/6 · 0.45 = 0.116 at the first border, 2.35/6 · 0.35 = 0.137 at the second.
    u = [0.9, 0.9, 0.45, 0.45, 0.1, 0.1]
    assert SortedPlayers(u).hardest_borders == (2, 1)
    assert SortedPlayers(u).smallest_weighted_gap == pytest.approx(1.55 / 6 * 0.45)
    # 1.8/4 · 0.35 = 0.1575 is more than 0.116: all others are not ranked any sooner.
    assert SortedPlayers(u).alpha == 1


def test_by_hand_h_has_the_smallest_weighted_gap_of_the_others_not_the_smallest_gap():
    # Gaps 0.25, 0.05 and 0.2; the sum is 3.3, so that the first and the last weigh 1.75/8 · 0.25 and 3/8 · 0.2.
    u = [0.9, 0.9, 0.65, 0.3, 0.25, 0.25, 0.05, 0.0]
    assert SortedPlayers(u).border_gaps == pytest.approx([0.25, 0.05, 0.2])
    assert SortedPlayers(u).hardest_borders == (2, 1)
    assert SortedPlayers(u).weighted_gaps == pytest.approx([1.75 / 8 * 0.25, 2.75 / 8 * 0.05, 3 / 8 * 0.2])


def test_of_equal_gaps_the_first_border_counts_though_floats_tell_them_apart():
    u = [0.9, 0.8, 0.6, 0.5, 0.3, 0.2]
    assert u[3] - u[4] < u[1] - u[2]
    assert SortedPlayers(u).hardest_borders == (1, 2)
    # In twentieths, of 75: (75 − 31) · 5 = (75 − 20) · 4 = 220, and (75 − 4) · 2, the smallest gap, which is s.
    u = [1.0, 0.9, 0.65, 0.6, 0.4, 0.15, 0.05, 0.0]
    assert SortedPlayers(u).weighted_gaps[1] < SortedPlayers(u).weighted_gaps[0]
    assert SortedPlayers(u).hardest_borders == (3, 1)


def test_alpha_has_the_square_and_the_quarter_of_the_appendix():
    # The main text has (1/2)(0.9 + 0.8) 0.1 / 0.085 = 1, which leaves nothing of the second bound.
    u = [0.9, 0.8, 0.5, 0.4, 0.3, 0.1]
    assert min(0.5 * 1.7 * 0.1 / 0.085, 1) == pytest.approx(1)
    assert SortedPlayers(u).alpha == pytest.approx(0.25)


def test_alpha_is_one_where_the_second_border_is_a_tie():
    assert SortedPlayers([0.9, 0.8, 0.8, 0.7, 0.7, 0.6]).alpha == 1
    assert (
        SortedPlayers([0.9, 0.8, 0.8, 0.7, 0.5, 0.4]).alpha == 0
    )  # the tie is at border s, and the other is told at once


def test_the_mean_of_the_best_four_but_those_at_the_border_is_at_least_the_top_mean():
    rng = np.random.default_rng(0)
    for _ in range(200):
        u = -np.sort(-rng.random(2 * rng.integers(2, 6)))
        s, _ = SortedPlayers(u).hardest_borders
        others = [u[k] for k in range(4) if k not in (2 * s - 1, 2 * s)]
        assert sum(others) / 4 >= SortedPlayers(u).top_mean - 1e-12


def test_who_is_measured_from_whom():
    assert border_partner(4).tolist() == [2, 2, 1, 1]
    assert border_partner(8).tolist() == [2, 2, 1, 4, 3, 6, 5, 5]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(u=players(4, 12))
def test_each_player_is_measured_from_another_pair_and_only_ties_have_no_gap(u):
    u = sorted(u, reverse=True)
    for i, (to, gap) in enumerate(zip(border_partner(len(u)).tolist(), SortedPlayers(u).partner_gaps, strict=True)):
        assert to // 2 != i // 2
        assert abs(to // 2 - i // 2) == 1  # a neighbouring pair
        assert gap == abs(u[i] - u[to])
        assert gap >= 0
    # At the ends nobody is nearer than the gap of the border that they share with their partner.
    gaps = SortedPlayers(u).partner_gaps
    assert gaps[0] >= gaps[1]
    assert gaps[-1] >= gaps[-2]
    if len(set(u)) == len(u):
        assert gaps.min() > 0


def test_the_printed_convention_at_the_end_makes_the_last_gap_negative():
    # u_(2N+1) = u_(2N−2) in Δ_(2N) = u_(2N) − u_(2N+1).
    u = [0.9, 0.8, 0.5, 0.3]
    assert u[-1] - u[-3] < 0 < SortedPlayers(u).partner_gaps[-1] == pytest.approx(u[-3] - u[-1])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(u=players(4, 10))
@pytest.mark.slow
def test_the_smallest_loss_is_that_of_the_best_of_all_other_matchings(u):
    ranked = sorted(u, reverse=True)
    best = [(k, k + 1) for k in range(0, len(u), 2)]
    others = [worth(ranked, pairs) for pairs in matchings(list(range(len(u)))) if pairs != best]
    defined = worth(ranked, best) - max(others)
    assert SortedPlayers(u).smallest_loss == pytest.approx(defined, abs=1e-12)
    assert SortedPlayers(u).smallest_loss_of_all == pytest.approx(defined, abs=1e-12)


def test_more_than_ten_players_are_not_enumerated():
    with pytest.raises(MatchbanditError, match="12 players have too many matchings"):
        _ = SortedPlayers(np.linspace(0, 1, 12)).smallest_loss_of_all
    assert "smallest_loss_of_all" in named(mb.Monopartite(np.linspace(0, 1, 10)))
    assert "smallest_loss_of_all" not in named(mb.Monopartite(np.linspace(0, 1, 12)))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(u=players(2, 12))
def test_mixing_losses_are_what_the_two_mixed_matchings_lose(u):
    ranked, r = sorted(u, reverse=True), SortedPlayers(u).mixing_losses
    n = len(u) // 2
    assert r.shape == (n, n)
    for i in range(n):
        for j in range(n):
            a, b, c, d = 2 * i, 2 * i + 1, 2 * j, 2 * j + 1
            straight = worth(ranked, [(a, b), (c, d)])
            lost = 2 * straight - worth(ranked, [(a, c), (b, d)]) - worth(ranked, [(a, d), (b, c)])
            assert r[i, j] == pytest.approx(lost if i < j else 0, abs=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(u=players(2, 10), v=st.lists(strength, min_size=1, max_size=5), data=st.data())
def test_the_order_of_the_items_does_not_matter(u, v, data):
    mixed_u, mixed_v = data.draw(st.permutations(u)), data.draw(st.permutations(v))
    as_text = [
        [json.dumps([q.describe() for q in mb.quantities(problem)]) for problem in pair]
        for pair in (
            (mb.Monopartite(u), mb.Monopartite(mixed_u)),
            (mb.Bipartite(u, v), mb.Bipartite(mixed_u, mixed_v)),
        )
    ]
    assert all(one == other for one, other in as_text)


def test_strengths_may_come_in_any_order():
    u, v = [0.9, 0.75, 0.5, 0.45, 0.2, 0.15], [0.8, 0.3, 0.1]
    quantities = [name for name, value in vars(SortedPlayers).items() if isinstance(value, cached_property)]
    assert len(quantities) > 15
    players = SortedPlayers(u)
    for mixed in list(permutations(u))[1::97]:
        for name in quantities:
            assert np.array_equal(getattr(SortedPlayers(mixed), name), getattr(players, name))
        assert bipartite_complexity(mixed, v, power=2) == bipartite_complexity(u, v, power=2)
        assert bipartite_complexity(v, mixed, power=1) == bipartite_complexity(v, u, power=1)


def tournament(u):
    """What each round of a round-robin of these players loses on average, and what each of them is paid on average."""
    u = np.asarray(u)
    rounds = round_robin(len(u))
    best = (u[::2] * u[1::2]).sum()
    lost = np.mean([best - worth(u, pairs) for pairs in rounds.tolist()])
    paid = np.zeros(len(u))
    for i, j in rounds.reshape(-1, 2).tolist():
        paid[i] += u[i] * u[j] / len(rounds)
        paid[j] += u[i] * u[j] / len(rounds)
    return lost, paid


@settings(max_examples=80, deadline=None, derandomize=True)
@given(u=players(6, 12), data=st.data())
def test_comparison_bounds_are_the_loss_of_a_round_over_the_squared_distance_of_the_averages(u, data):
    u = sorted(u, reverse=True)
    m = data.draw(st.integers(3, len(u) - 1))
    both = SortedPlayers(u).comparison_bounds(m)
    for bound, (lost, paid), place in zip(both, (tournament(u[2:]), tournament(u)), (m - 3, m - 1), strict=True):
        apart = paid[place] - paid[place + 1]
        if apart > 1e-9:
            assert bound == pytest.approx(lost / apart**2)
        else:
            assert bound == inf


@settings(max_examples=60, deadline=None, derandomize=True)
@given(u=players(4, 12))
def test_cluster_means_times_gaps_are_how_far_a_round_robin_puts_neighbours_apart(u):
    u = np.array(sorted(u, reverse=True))
    _, paid = tournament(u)
    assert SortedPlayers(u).cluster_means * (u[:-1] - u[1:]) == pytest.approx(paid[:-1] - paid[1:], abs=1e-12)


def test_the_least_bounds_take_an_m_each():
    u = [1.0, 1.0, 1.0, 0.1, 0.0, 0.0]
    by_name = [SortedPlayers(u).comparison_bounds(m) for m in (3, 4, 5)]
    assert np.argmin([d for d, _ in by_name]) == 1
    assert np.argmin([i for _, i in by_name]) == 0
    assert SortedPlayers(u).least_comparison_bounds == (by_name[1][0], by_name[0][1])
    u = [1.0, 0.9, 0.5, 0.4, 0.4, 0.05]  # here the border within the last pair is the best for both
    assert SortedPlayers(u).least_comparison_bounds == SortedPlayers(u).comparison_bounds(5)


@pytest.mark.parametrize("m", [2, 0, 6, -1])
def test_the_border_must_lie_among_the_others(m):
    with pytest.raises(MatchbanditError, match=rf"m must lie between 3 and 5, .*; got {m}\."):
        SortedPlayers([0.9, 0.8, 0.7, 0.6, 0.5, 0.4]).comparison_bounds(m)


def scaled(second, shape):
    """u_1 = 1, u_2 as given, and the others in this proportion to u_2."""
    return [1.0, second, *(second * np.asarray(shape)).tolist()]


@pytest.mark.parametrize("shape", [[0.9, 0.7, 0.5, 0.2], [0.3, 0.25, 0.2, 0.15, 0.1, 0.05], np.linspace(1, 0, 18)])
def test_as_the_second_falls_behind_the_first_the_ratio_grows_like_its_inverse(shape):
    ratios = []
    for second in (1e-3, 1e-4, 1e-5):
        together, explored = SortedPlayers(scaled(second, shape)).least_comparison_bounds
        ratios.append(together / explored)
    assert ratios[1] / ratios[0] == pytest.approx(10, rel=0.02)
    assert ratios[2] / ratios[1] == pytest.approx(10, rel=0.002)
    # U_D itself only knows the others, whose products fall with the square.
    assert SortedPlayers(scaled(1e-3, shape)).least_comparison_bounds[0] == pytest.approx(
        100 * SortedPlayers(scaled(1e-2, shape)).least_comparison_bounds[0]
    )


# u_k/u_(k−1): anything, and often near 0 or 1, where the lemma is strained.
falls = st.one_of(st.floats(0.001, 1), st.sampled_from([0.001, 0.01, 0.5, 0.99, 1.0]))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(second=st.floats(0.5, 1), n=st.integers(3, 20), data=st.data())
@pytest.mark.slow
def test_with_the_second_near_the_first_the_ratio_at_one_m_is_bounded(second, n, data):
    # With D = Σ_(i≥3) u_i/u_3 without m and m + 1, D ≥ 1 if m > 3, the lemma's displays give, in units of u_3,
    # U_D/U_I ≤ A_2 (1 + 2/D)² / (ρ_2 (Σ a_1j + ρ_2 ρ_3² A_2)) with ρ_2 > 1/2: at most 16 · 9 if ρ_3 > 1/2; and, as
    # A_2 ≤ (N − 1) N and a_1j ≥ 2 (1 − ρ_3)² ≥ 1/2, at most 36 N otherwise.
    rho = [1.0, second, *data.draw(st.lists(falls, min_size=2 * n - 2, max_size=2 * n - 2))]
    u = np.cumprod(rho)
    u = u[: len(u[u > 1e-60]) // 2 * 2]  # floats cannot hold the squares of what falls faster
    for m in range(4, len(u)):
        together, explored = SortedPlayers(u).comparison_bounds(m)
        if explored < inf:
            assert together <= 36 * max(n, 4) * explored
            assert together <= 144 * explored or rho[2] <= 0.5


def test_the_ratio_can_be_arbitrarily_close_to_zero():
    # A border within the last pair costs those who play without the best two nothing: mixing 3, 4 with 5, 6 loses
    # r_23 = 2 · 0.3 ε, and u_5 − u_6 = 0.3 − ε. With the best two, all others lose more than they do anyway.
    for epsilon in (1e-2, 1e-4, 1e-6):
        together, explored = SortedPlayers([1.0, 0.9, 0.5, 0.5, 0.5 - epsilon, 0.2]).least_comparison_bounds
        assert together <= 25 * epsilon
        assert explored > 5
    assert SortedPlayers([1.0, 0.9, 0.5, 0.5, 0.5, 0.2]).least_comparison_bounds[0] == 0


@pytest.mark.parametrize("x", [0.3, 0.1, 0.01, 0.001])
def test_with_an_m_for_each_the_ratio_has_no_limit_even_where_the_best_three_are_equal(x):
    # Lemma 4.5 says that it has one if u_2/u_1 > 1/2 and u_3/u_2 > 1/2; its proof takes one m > 3 for both. Without the
    # best two, 3 and 4 meet only each other and nobodies: m = 4, r_23 = 2x, U_D = 3 · 2x / (x · 1)² = 6/x. With them, 3
    # and 4 are soon told apart: m = 3, r_12 + r_13 + r_23 = 0 + 2 + 2x, U_I = 5 (2 + 2x) / (2 (1 − x))².
    together, explored = SortedPlayers([1.0, 1.0, 1.0, x, 0.0, 0.0]).least_comparison_bounds
    assert together == pytest.approx(6 / x)
    assert explored == pytest.approx(min(10 * (1 + x) / (2 * (1 - x)) ** 2, 10 * (1 + x) / (3 * x) ** 2))
    at_three = SortedPlayers([1.0, 1.0, 1.0, x, 0.0, 0.0]).comparison_bounds(3)
    assert at_three[0] == inf > at_three[1]  # so that "at the same m" takes m ≥ 4


def test_every_quantity_says_where_it_comes_from():
    for problem in (mb.Monopartite([0.9, 0.8, 0.5, 0.3]), mb.Bipartite([0.9, 0.8], [0.5, 0.3])):
        by_name = mb.quantities(problem)
        assert len({q.name for q in by_name}) == len(by_name)
        for q in by_name:
            assert set(q.describe()) == {"name", "symbol", "value", "source"}
            assert q.source.startswith(("Theorem", "Lemma", "Section"))


@pytest.mark.parametrize("odd", [[0.9, 0.8, 0.5], [0.9, 0.8, 0.5, 0.4, 0.3]])
def test_an_odd_number_of_players_has_the_quantities_of_pairs_only(odd):
    assert set(named(mb.Monopartite(odd))) == OF_PAIRS


def test_quantities_of_something_else_are_refused():
    with pytest.raises(
        MatchbanditError, match=r"^the paper's quantities are for means that are products of strengths, .*; got list\.$"
    ):
        mb.quantities([0.9])
