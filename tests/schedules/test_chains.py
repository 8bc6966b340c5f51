from collections import Counter
from functools import lru_cache
from itertools import combinations, pairwise
from math import lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import clusters as reference

from matchbandit.errors import MatchbanditError
from matchbandit.schedules import round_robin
from matchbandit.schedules.chains import NOBODY, chain, chain_ends, schemes


def all_chains(most):
    """Every chain of at most so many items: one even cluster, or odd ends with even clusters between them."""
    found = [(size,) for size in range(2, most + 1, 2)]
    begun = [(size,) for size in range(1, most, 2)]
    while begun:
        sizes = begun.pop()
        left = most - sum(sizes)
        found += [(*sizes, last) for last in range(1, left + 1, 2)]
        begun += [(*sizes, middle) for middle in range(2, left, 2)]
    return found


ALL = all_chains(12)
chains = st.sampled_from(ALL)
some_chains = pytest.mark.parametrize(
    "sizes",
    [(2,), (8,), (1, 1), (3, 1), (1, 2, 1), (3, 2, 1), (3, 4, 3), (5, 4, 3), (1, 2, 4, 1), (3, 2, 2, 4, 1)],
    ids=str,
)


def by_numbers(sizes):
    """The clusters of a chain, its items numbered through."""
    firsts = np.cumsum([0, *sizes])
    return [list(range(a, b)) for a, b in pairwise(firsts)]


@lru_cache
def played(sizes, rounds):
    """How often each cell has come up after 0, 1, …, `rounds` rounds, played one by one."""
    of = chain(sizes)
    counts = np.zeros((rounds + 1, of.first_cells[-1]), dtype=np.int64)
    for t in range(rounds):
        counts[t + 1] = counts[t]
        counts[t + 1, of.round(t)] += 1
    return counts


def meetings(of, rounds):
    """How often each cell of all clusters has come up after so many rounds, at once."""
    return np.concatenate([of.meetings(k, np.asarray(rounds)) for k in range(len(of.sizes))], axis=1)


def table(of, counts):
    """The same by pair of items."""
    met = np.zeros((sum(of.sizes), sum(of.sizes)), dtype=object)
    for (i, j), count in zip(of.pairs.tolist(), counts.tolist(), strict=True):
        met[i, j] = met[j, i] = count
    return met


def is_balanced(of, k, counts):
    """Have any two items of a cluster met every third item of it and of the cluster before it equally often?"""
    met, own = table(of, counts), by_numbers(of.sizes)[k]
    before = by_numbers(of.sizes)[k - 1] if k else []
    return all(met[a, c] == met[b, c] for a, b in combinations(own, 2) for c in own + before if c not in (a, b))


@pytest.mark.parametrize(
    ("sizes", "ends"),
    [
        ((2,), [1]),
        ((2, 2, 6), [1, 2, 3]),
        ((1, 1), [2]),
        ((1, 2, 2, 1), [4]),
        ((3, 4, 5, 2, 1, 1), [3, 4, 6]),
        ((1, 1, 1, 1), [2, 4]),
        ((2, 3, 4, 1, 6), [1, 4, 5]),
    ],
)
def test_a_chain_ends_where_the_running_total_is_even(sizes, ends):
    assert chain_ends(sizes) == ends


@pytest.mark.parametrize("sizes", [(), (1,), (3, 2), (2, 1), (2, 0), (0,), (0, 2), (2, -1, 1), (-2,)])
def test_clusters_that_are_no_chains_are_refused_with_their_sizes(sizes):
    with pytest.raises(MatchbanditError, match="an even number of items in all; got sizes"):
        chain_ends(sizes)
    with pytest.raises(MatchbanditError):
        chain(sizes)


@pytest.mark.parametrize("sizes", [(2, 2), (1, 1, 2), (1, 2, 1, 1, 3)])
def test_several_chains_are_not_one(sizes):
    with pytest.raises(MatchbanditError, match="not a single chain"):
        chain(sizes)


def test_the_single_chains_are_one_even_cluster_or_odd_ends_with_even_clusters_between():
    single = []
    for total in range(2, 13, 2):
        for cuts in (cuts for k in range(total) for cuts in combinations(range(1, total), k)):
            sizes = tuple(np.diff([0, *cuts, total]).tolist())
            if chain_ends(sizes) == [len(sizes)]:
                single.append(sizes)
    assert sorted(ALL) == sorted(single)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(half=st.integers(1, 120))
def test_a_round_robin_of_any_even_size_has_every_pair_once_and_everyone_in_every_round(half):
    rounds = round_robin(2 * half)
    assert rounds.shape == (2 * half - 1, half, 2)
    assert (np.sort(rounds.reshape(len(rounds), -1), axis=1) == np.arange(2 * half)).all()
    places = rounds[..., 0] * 2 * half + rounds[..., 1]
    assert (rounds[..., 0] < rounds[..., 1]).all()
    assert len(np.unique(places)) == half * (2 * half - 1)


@pytest.mark.parametrize("size", [2, 4, 6, 10])
def test_an_isolated_cluster_has_the_rounds_of_a_round_robin(size):
    part = schemes(size, has_prev=False, has_next=False)
    assert part.length == size - 1
    assert not part.between
    assert (part.lent_next == NOBODY).all()
    assert (part.lent_prev == NOBODY).all()
    inside = np.concatenate([part.inside(s) for s in range(part.length)])
    assert sorted(inside.tolist()) == list(range(size * (size - 1) // 2))


@pytest.mark.parametrize("size", [1, 3, 5, 9])
@pytest.mark.parametrize("first", [True, False])
def test_a_cluster_at_an_end_lends_each_item_once_and_has_each_pair_once(size, first):
    part = schemes(size, has_prev=not first, has_next=first)
    lends, keeps = (part.lent_next, part.lent_prev) if first else (part.lent_prev, part.lent_next)
    assert part.length == size
    assert not part.between
    assert sorted(lends.tolist()) == list(range(size))
    assert (keeps == NOBODY).all()
    inside = [part.inside(s) for s in range(size)]
    assert all(len(places) == (size - 1) // 2 for places in inside)
    assert sorted(np.concatenate(inside).tolist()) == list(range(size * (size - 1) // 2))


@pytest.mark.parametrize("size", [2, 4, 6, 8])
def test_a_cluster_between_two_lends_each_item_once_to_either_side_in_every_block(size):
    part = schemes(size, has_prev=True, has_next=True)
    assert part.between
    assert part.length == size * (size - 1)
    for start in range(0, part.length, size):
        assert sorted(part.lent_next[start : start + size].tolist()) == list(range(size))
        assert sorted(part.lent_prev[start : start + size].tolist()) == list(range(size))
    lent = set(zip(part.lent_next.tolist(), part.lent_prev.tolist(), strict=True))
    assert len(lent) == part.length  # every ordered pair of items once
    assert all(a != b for a, b in lent)


@pytest.mark.parametrize("size", [2, 4, 6, 8])
def test_a_pair_within_a_cluster_between_two_is_in_all_schemes_of_its_round_but_its_own_two(size):
    part = schemes(size, has_prev=True, has_next=True)
    inside = Counter(int(place) for s in range(part.length) for place in part.inside(s))
    assert inside == ({} if size == 2 else dict.fromkeys(range(size * (size - 1) // 2), size - 2))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(sizes=chains)
def test_the_schemes_are_those_of_the_definition(sizes):
    of, clusters = chain(sizes), by_numbers(sizes)
    for k, part in enumerate(of.parts):
        defined = reference.schemes_of(clusters[k], is_first=k == 0, is_last=k == len(sizes) - 1)
        assert part.length == len(defined)
        seats = np.stack(np.triu_indices(sizes[k], k=1), axis=1)
        for s, scheme in enumerate(defined):
            own = {tuple((seats[place] + of.firsts[k]).tolist()) for place in part.inside(s)}
            assert own == set(scheme.pairs)
            for lent, item in ((part.lent_next[s], scheme.to_next), (part.lent_prev[s], scheme.to_previous)):
                assert (lent == NOBODY) == (item is None)
                assert item is None or lent + of.firsts[k] == item


@settings(max_examples=80, deadline=None, derandomize=True)
@given(sizes=chains, data=st.data())
def test_a_round_is_a_perfect_matching_the_one_of_the_definition(sizes, data):
    of, n = chain(sizes), sum(sizes)
    defined = reference.Chain(by_numbers(sizes))
    for t in data.draw(st.lists(st.integers(0, 5000), min_size=5, max_size=20)):
        defined.age = t
        pairs = of.pairs[of.round(t)]
        assert sorted(pairs.ravel().tolist()) == list(range(n))
        assert sorted(map(tuple, pairs.tolist())) == sorted(defined.next_round())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(sizes=chains)
def test_each_cell_is_a_pair_of_one_cluster_or_of_two_neighbours_used_by_the_lower_one(sizes):
    of = chain(sizes)
    cluster_of = np.repeat(np.arange(len(sizes)), sizes)
    pairs = of.pairs
    assert len(pairs) == of.first_cells[-1] == len(set(map(tuple, pairs.tolist())))
    assert (pairs[:, 0] < pairs[:, 1]).all()
    user = np.repeat(np.arange(len(sizes)), np.diff(of.first_cells))
    assert (cluster_of[pairs[:, 1]] == user).all()
    assert np.isin(cluster_of[pairs[:, 1]] - cluster_of[pairs[:, 0]], [0, 1]).all()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(sizes=chains)
def test_periods_and_gains_are_what_playing_shows(sizes):
    of = chain(sizes)
    for k in range(len(sizes)):
        period = reference.Chain(by_numbers(sizes)).period(k)
        assert of.periods[k] == period
        counts = played(sizes, period)[period]
        cells = slice(of.first_cells[k], of.first_cells[k + 1])
        samples = Counter(of.pairs[cells].repeat(counts[cells], axis=0).ravel().tolist())
        assert [samples[i] for i in by_numbers(sizes)[k]] == [of.gains[k]] * sizes[k]


@pytest.mark.parametrize(
    ("sizes", "holds", "periods", "gains"),
    [
        ((6,), [1], [5], [5]),
        ((1, 1), [1, 1], [1, 1], [0, 1]),
        ((3, 1), [1, 3], [3, 3], [2, 3]),
        ((1, 3), [1, 1], [1, 3], [0, 3]),
        ((5, 8, 7), [1, 35, 1], [5, 1960, 7], [4, 35 * 49, 7]),
        ((3, 2, 4, 1), [1, 12, 1, 4], [3, 24, 12, 4], [2, 12, 9, 4]),
    ],
)
def test_by_hand_holds_periods_and_gains(sizes, holds, periods, gains):
    # An even-numbered cluster holds lcm(|previous|, |next|) rounds; of a period of size·(size − 1) schemes each item of
    # a cluster between two is lent to the next one in size − 1, and all other rounds are samples that it uses.
    of = chain(sizes)
    assert (list(of.holds), of.periods, of.gains) == (holds, periods, gains)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(sizes=chains, rounds=st.lists(st.integers(0, 900), min_size=1, max_size=8))
def test_meetings_are_what_playing_shows(sizes, rounds):
    of = chain(sizes)
    assert (meetings(of, [0, 1, 900, *rounds]) == played(sizes, 900)[[0, 1, 900, *rounds]]).all()


@some_chains
def test_meetings_are_what_playing_shows_at_every_round_of_several_periods(sizes):
    of = chain(sizes)
    most = min(3 * max(of.periods) + 5, 1500)
    assert (meetings(of, range(most + 1)) == played(sizes, most)).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(sizes=chains, times=st.integers(1, 3))
def test_over_whole_periods_any_two_items_have_met_every_third_equally_often(sizes, times):
    of = chain(sizes)
    for k, period in enumerate(of.periods):
        assert is_balanced(of, k, meetings(of, [times * period])[0])


def test_a_period_is_needed_for_the_balance():
    # Not a property that holds at any round: a test of balance that always passes would show nothing.
    of = chain((3, 4, 3))
    assert of.periods[1] == 36
    balanced = [n for n in range(1, 37) if is_balanced(of, 1, meetings(of, [n])[0])]
    assert balanced == [36]


@some_chains
@pytest.mark.parametrize("about", [10**12, 10**17])
def test_nothing_is_lost_in_very_many_rounds(sizes, about):
    of = chain(sizes)
    joint = lcm(*of.periods)
    (rest,) = np.random.default_rng(about % 97).integers(0, joint, 1).tolist()
    n = about // joint * joint + rest
    once, at, later = meetings(of, [joint, n, n + joint])
    assert (later - at == once).all()
    assert (once == played(sizes, joint)[joint]).all()
    begun = played(sizes, joint)[rest]
    assert at.tolist() == [
        about // joint * whole + more for whole, more in zip(once.tolist(), begun.tolist(), strict=True)
    ]
    assert sum(at.tolist()) == n * sum(sizes) // 2
    assert all(is_balanced(of, k, later - at) for k in range(len(sizes)))


def test_the_joint_period_of_a_long_chain_is_never_built():
    of = chain((15, 14, 16, 18, 17))
    n = 10**16 + 12345
    counts = meetings(of, [n])[0]
    assert sum(counts.tolist()) == n * 40
    for k, period in enumerate(of.periods):
        assert is_balanced(of, k, meetings(of, [n // period * period])[0])
