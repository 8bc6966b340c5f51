"""What schedules lose on average, against the schedules themselves."""

from math import lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.errors import MatchbanditError
from matchbandit.schedules import round_robin
from matchbandit.schedules.chains import chain
from matchbandit.theory.players import SortedPlayers, round_robin_regret

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


def trivial_chain_regret(u):
    """What a round of the chain {first}, the others, {last} loses on average, from the proportions p_ij.

    The first and the last each meet every one of the cluster S between them in 1/|S| of the rounds; two of S meet in
    (|S| − 2)/(|S| (|S| − 1)) of them.
    """
    inner, size = u[1:-1], len(u) - 2
    within = (inner.sum() ** 2 - (inner**2).sum()) / 2 * (size - 2) / (size * (size - 1))
    return best(u) - within - (u[0] + u[-1]) * inner.mean()


def chain_regret(u, sizes, representative=-1):
    """What a round of a chain of clusters loses on average (Lemma F.2), for players in falling order.

    R = R(S_1 ∪ {v_2}) + Σ R({l_(i−1)}, S_i, {v_(i+1)}) + R({l_(K−1)} ∪ S_K): v_i stands for the mean of S_i, l_i is the
    worst item of S_i, see "chain" in `CORRECTIONS`; with `representative` 0 it is the best.
    """
    if len(sizes) == 1:
        return round_robin_regret(u)
    clusters = np.split(u, np.cumsum(sizes)[:-1])
    means, chosen = [s.mean() for s in clusters], [s[representative] for s in clusters]
    lost = round_robin_regret([*clusters[0], means[1]]) + round_robin_regret([chosen[-2], *clusters[-1]])
    inner = range(1, len(sizes) - 1)
    return lost + sum(trivial_chain_regret(np.array([chosen[k - 1], *clusters[k], means[k + 1]])) for k in inner)


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
        expected = lost_by_meetings(u, sizes)
        assert chain_regret(u, sizes) == pytest.approx(expected, abs=1e-12)
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


@pytest.mark.parametrize("sizes", [(3, 5), (3, 2, 1), (1, 2, 3), (5, 4, 3), (3, 2, 4, 1)], ids=str)
def test_with_the_best_item_of_each_cluster_the_sum_is_not_the_average(sizes):
    u = strengths(sum(sizes))
    assert abs(chain_regret(u, sizes, representative=0) - lost_by_meetings(u, sizes)) > 1e-3


def test_by_hand_chains_of_four():
    # 0.9 0.7 | 0.4 0.1: the best pays 0.63 + 0.04 = 0.67.
    u = np.array([0.9, 0.7, 0.4, 0.1])
    # {1}, {2, 3}, {4}: (1, 2), (3, 4) loses nothing, (1, 3), (2, 4) pays 0.36 + 0.07; half the rounds each.
    assert chain_regret(u, (1, 2, 1)) == pytest.approx(0.12)
    assert trivial_chain_regret(u) == pytest.approx(0.12)
    # {1, 2, 3}, {4}: a round-robin. It pays 0.67, 0.43 and 0.09 + 0.28.
    assert chain_regret(u, (3, 1)) == pytest.approx((0 + 0.24 + 0.3) / 3)
    assert chain_regret(u, (1, 3)) == chain_regret(u, (4,)) == pytest.approx(0.18)


@pytest.mark.parametrize("half", [1, 2, 3, 4, 5])
def test_the_trivial_chain_loses_what_its_schedule_loses(half):
    sizes = (1, 2 * half, 1)
    u = strengths(2 * half + 2, seed=half)
    expected = lost_in_schedule(u, sizes)
    assert trivial_chain_regret(u) == pytest.approx(expected, abs=1e-12)
