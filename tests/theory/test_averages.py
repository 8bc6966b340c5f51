"""What schedules lose on average, against the schedules themselves."""

from math import lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.errors import MatchbanditError
from matchbandit.schedules import round_robin
from matchbandit.schedules.chains import chain
from matchbandit.theory.players import (
    SortedPlayers,
    chain_regret,
    round_robin_regret,
    trivial_chain_bound,
    trivial_chain_regret,
)

CHAINS = [
    (2,), (6,), (1, 1), (3, 1), (1, 3), (3, 5), (1, 2, 1), (3, 2, 1), (1, 2, 3), (3, 4, 3), (5, 4, 3), (1, 6, 1),
    (1, 2, 2, 1), (3, 2, 4, 1), (1, 4, 2, 3), (3, 2, 2, 4, 1), (1, 2, 2, 2, 2, 1), (5, 8, 7), (3, 6, 4, 2, 6, 5),
]  # fmt: skip


def strengths(n, seed=0):
    """Players in falling order."""
    return -np.sort(-np.random.default_rng(seed).random(n))


def best(u):
    return float((u[::2] * u[1::2]).sum())


def lost_in_rounds(u, rounds):
    """The average loss of these rounds, each a list of pairs, one by one."""
    return np.mean([best(u) - sum(u[i] * u[j] for i, j in pairs) for pairs in rounds])


def lost_in_schedule(u, sizes):
    """The average loss of a chain's schedule over a joint period of all its clusters, round by round."""
    of = chain(sizes)
    joint = lcm(*of.periods)
    assert joint < 20_000
    pairs = of.pairs
    return lost_in_rounds(u, (pairs[of.round(t)].tolist() for t in range(joint)))


def lost_by_meetings(u, sizes):
    """The same by how often the schedule counts that each pair has met."""
    of = chain(sizes)
    joint = lcm(*of.periods)
    i, j = of.pairs.T
    met = np.concatenate([of.meetings(k, np.array([joint]))[0] for k in range(len(of.sizes))])
    return best(u) - float((met * u[i] * u[j]).sum()) / joint


@pytest.mark.parametrize("n", [2, 4, 6, 8, 14, 20])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_round_robin_loses_what_its_rounds_lose(n, seed):
    u = strengths(n, seed)
    mixed = np.random.default_rng(seed).permutation(u)
    assert round_robin_regret(mixed) == pytest.approx(lost_in_rounds(u, round_robin(n).tolist()), abs=1e-12)


@pytest.mark.parametrize("n", [4, 6, 8, 14, 20])
def test_the_printed_2k_plus_1_is_not_the_average_of_a_round_robin(n):
    u = strengths(n)
    played = lost_in_rounds(u, round_robin(n).tolist())
    assert SortedPlayers(u).mixing_losses.sum() / (n + 1) < played - 1e-3


def test_by_hand_two_of_three_rounds_lose_one():
    assert round_robin_regret([1.0, 0.0, 1.0, 0.0]) == pytest.approx(2 / 3)
    assert round_robin_regret([0.3, 0.9]) == 0


@pytest.mark.parametrize("n", [0, 1, 3, 7])
def test_a_round_robin_of_an_odd_number_is_refused(n):
    with pytest.raises(MatchbanditError, match=f"needs an even number of players; got {n}"):
        round_robin_regret(strengths(n))


@pytest.mark.parametrize("sizes", CHAINS, ids=str)
def test_a_chain_loses_what_its_schedule_loses(sizes):
    for seed in (1, 2):
        u = strengths(sum(sizes), seed)
        mixed = np.random.default_rng(seed).permutation(u)
        expected = lost_by_meetings(u, sizes)
        assert chain_regret(mixed, sizes) == pytest.approx(expected, abs=1e-12)
        if lcm(*chain(sizes).periods) < 3000:
            assert lost_in_schedule(u, sizes) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sizes", [(15, 14, 16, 18, 17), (3, 2, 2, 2, 2, 2, 2, 2, 2, 1)], ids=str)
def test_a_long_chain_loses_what_its_clusters_lose_in_joint_periods_with_the_one_before(sizes):
    # The joint period of all is too long for a count. Each pair that can meet is used by one cluster, and is of this
    # cluster or of it and the one before.
    u, of = strengths(sum(sizes)), chain(sizes)
    i, j = of.pairs.T
    paid = 0.0
    for k, period in enumerate(of.periods):
        rounds = lcm(period, of.periods[k - 1] if k else 1)
        cells = slice(of.first_cells[k], of.first_cells[k + 1])
        met = of.meetings(k, np.array([rounds]))[0]
        paid += float((met * u[i[cells]] * u[j[cells]]).sum()) / rounds
    assert chain_regret(u, sizes) == pytest.approx(best(u) - paid, abs=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(sizes=st.sampled_from(CHAINS), data=st.data())
def test_a_chain_of_any_strengths_loses_what_its_schedule_loses(sizes, data):
    n = sum(sizes)
    u = np.array(sorted(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)), reverse=True))
    lost = chain_regret(u, sizes)
    assert lost == pytest.approx(lost_by_meetings(u, sizes), abs=1e-12)
    assert lost >= -1e-12


def with_the_best_of_each_cluster(u, sizes):
    """Lemma F.2 as it reads if l_i is the best item of S_i."""
    clusters = np.split(u, np.cumsum(sizes)[:-1])
    mean, first = [s.mean() for s in clusters], [s[0] for s in clusters]
    lost = round_robin_regret([*clusters[0], mean[1]]) + round_robin_regret([first[-2], *clusters[-1]])
    inner = range(1, len(sizes) - 1)
    return lost + sum(trivial_chain_regret([first[k - 1], *clusters[k], mean[k + 1]]) for k in inner)


@pytest.mark.parametrize("sizes", [(3, 5), (3, 2, 1), (1, 2, 3), (5, 4, 3), (3, 2, 4, 1)], ids=str)
def test_with_the_best_item_of_each_cluster_the_sum_is_not_the_average(sizes):
    u = strengths(sum(sizes))
    assert abs(with_the_best_of_each_cluster(u, sizes) - lost_by_meetings(u, sizes)) > 1e-3


def test_by_hand_chains_of_four():
    # 0.9 0.7 | 0.4 0.1: the best pays 0.63 + 0.04 = 0.67.
    u = [0.9, 0.7, 0.4, 0.1]
    # {1}, {2, 3}, {4}: (1, 2), (3, 4) loses nothing, (1, 3), (2, 4) pays 0.36 + 0.07; half the rounds each.
    assert chain_regret(u, (1, 2, 1)) == pytest.approx(0.12)
    assert trivial_chain_regret(u) == pytest.approx(0.12)
    # {1, 2, 3}, {4}: a round-robin. It pays 0.67, 0.43 and 0.09 + 0.28.
    assert chain_regret(u, (3, 1)) == pytest.approx((0 + 0.24 + 0.3) / 3)
    assert chain_regret(u, (1, 3)) == chain_regret(u, (4,)) == pytest.approx(0.18)


@pytest.mark.parametrize(
    "sizes", [(), (2, 2), (3,), (1, 2), (3, 2), (4, 4), (1, 0, 3), (5, -1), (2, 1, 1), (1, 2, 1, 2)]
)
def test_sizes_that_do_not_form_a_chain_are_refused(sizes):
    with pytest.raises(MatchbanditError, match="4 players do not form a chain of clusters of the sizes"):
        chain_regret([0.9, 0.7, 0.4, 0.1], sizes)


@pytest.mark.parametrize("half", [1, 2, 3, 4, 5])
def test_the_trivial_chain_loses_what_its_schedule_loses(half):
    sizes = (1, 2 * half, 1)
    u = strengths(2 * half + 2, seed=half)
    expected = lost_in_schedule(u, sizes)
    assert trivial_chain_regret(u) == pytest.approx(expected, abs=1e-12)
    assert trivial_chain_regret(u[::-1]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [0, 2, 5])
def test_a_trivial_chain_needs_a_pair_between_its_ends(n):
    with pytest.raises(MatchbanditError, match=f"4, 6, … players; got {n}"):
        trivial_chain_regret(strengths(n))


def coefficients(function, n):
    """Those of a quadratic form in the steps d of u_i = d_i + d_(i+1) + … + d_n, which are never negative."""
    steps = np.eye(n)

    def at(d):
        return function(np.cumsum(d[::-1])[::-1])

    alone = np.array([at(d) for d in steps])
    table = np.array([[at(a + b) for b in steps] for a in steps])
    table = (table - alone[:, None] - alone[None, :]) / 2  # at(2d) = 4 at(d), which puts alone on the diagonal
    return table


@pytest.mark.parametrize("half", range(1, 8))
def test_the_bound_on_the_trivial_chain_holds_for_all_strengths(half):
    # Bound − regret has no negative coefficient in the steps of u, so that it is not negative for any u.
    n = 2 * half + 2
    form = coefficients(lambda u: trivial_chain_bound(u) - trivial_chain_regret(u), n)
    assert form.min() > -1e-12
    assert form.max() > 1e-3  # for some u it is not attained
    u = strengths(n)
    d = np.append(-np.diff(u), u[-1])
    assert d @ form @ d == pytest.approx(trivial_chain_bound(u) - trivial_chain_regret(u))  # a form indeed


@pytest.mark.parametrize("half", [1, 2, 3, 4, 5])
def test_the_bound_is_a_round_robin_in_which_the_ends_mix_in_the_better_way_only(half):
    # The words under Lemma F.3, played: wherever an item of the first pair meets one of the last pair, the loss is half
    # of that of (first, last but one), (second, last).
    u = strengths(2 * half + 2, seed=half)
    n = len(u)
    partner = np.arange(n) ^ 1
    better = u[0] * u[1] + u[-2] * u[-1] - u[0] * u[-2] - u[1] * u[-1]
    lost = 0.0
    for i, j in round_robin(n).reshape(-1, 2).tolist():
        ends = {i // 2, j // 2} == {0, n // 2 - 1}
        lost += better / 2 if ends else (u[i] * u[partner[i]] + u[j] * u[partner[j]]) / 2 - u[i] * u[j]
    assert trivial_chain_bound(u) == pytest.approx(lost / (n - 1))
    assert trivial_chain_bound(u[::-1]) == pytest.approx(lost / (n - 1))


def test_by_hand_the_bound_on_a_trivial_chain_of_four():
    # 2/3 · (0.9 − 0.1) (0.7 − 0.4) = 0.16, where the schedule loses 0.12.
    assert trivial_chain_bound([0.9, 0.7, 0.4, 0.1]) == pytest.approx(0.16)
