from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.clusters import groups_of

from matchbandit.confidence import NEVER
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import monopartite
from matchbandit.plans import ChainRounds, Tally
from matchbandit.plans.chains import group_clusters

SIDE_BY_SIDE = [
    ((4,),),
    ((1, 1), (2,)),
    ((3, 1),),
    ((1, 2, 1), (4,)),
    ((3, 2, 1), (1, 3)),
    ((2,), (3, 4, 1), (6,)),
    ((1, 4, 3), (1, 2, 2, 1)),
]


def plan(sizes, ages, limit):
    return ChainRounds(groups_of(sizes), list(ages), limit=limit)


def chains_of(plan):
    return [group.chain for group in plan.groups]


def by_sweeps(of, begin, end):
    """The counts of these sweeps, played one by one."""
    counts = np.zeros(len(of.edges), dtype=np.int64)
    for number in range(begin, end):
        np.add.at(counts, of.sweep(number, None), 1)
    return counts


@st.composite
def plans(draw):
    sizes = draw(st.sampled_from(SIDE_BY_SIDE))
    return plan(sizes, [draw(st.integers(0, 60)) for _ in sizes], draw(st.integers(1, 90)))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(of=plans(), data=st.data())
def test_leaps_in_parts_are_what_playing_round_by_round_shows(of, data):
    tally = Tally.empty(len(of.edges))
    while not of.due(tally):
        most = data.draw(st.integers(1, 40))
        sweeps, counts = of.leap(tally, most, None)
        assert sweeps == min(most, of.limit - tally.sweeps)
        assert counts.tolist() == by_sweeps(of, tally.sweeps, tally.sweeps + sweeps).tolist()
        tally.add(Tally(sweeps, counts, np.zeros(len(counts))))
    assert tally.sweeps == of.limit
    assert tally.counts.tolist() == of.leap(Tally.empty(len(of.edges)), NEVER, None)[1].tolist()


@pytest.mark.slow
@settings(max_examples=120, deadline=None, derandomize=True)
@given(of=plans())
def test_a_play_is_closing_if_the_period_of_its_user_ends_within_the_plan(of):
    half = len(of.edges) // 2
    for number in range(of.limit):
        first = 0
        cells = set(of.sweep(number, None).ravel().tolist())
        expected = set()
        for each, age in zip(chains_of(of), of.ages, strict=True):
            t, end = age + number, age + of.limit
            for cell in each.round(t).tolist():
                user = int(np.searchsorted(each.first_cells, cell, side="right")) - 1
                ends = (t // each.periods[user] + 1) * each.periods[user]
                expected.add(first + cell + (0 if ends <= end else half))
            first += each.first_cells[-1]
        assert cells == expected


@settings(max_examples=60, deadline=None, derandomize=True)
@given(of=plans())
def test_every_sweep_is_one_round_that_plays_everyone_once(of):
    assert of.length == 1
    pairs, first = [], 0
    for each in chains_of(of):
        pairs.append(each.pairs + first)
        first += sum(each.sizes)
    pairs = np.tile(np.concatenate(pairs), (2, 1))
    for number in range(of.limit):
        cells = of.sweep(number, None)
        assert cells.shape == (1, first // 2)
        assert sorted(pairs[cells[0]].ravel().tolist()) == list(range(first))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(of=plans())
def test_each_cluster_is_handed_what_its_closing_and_its_open_rounds_brought(of):
    counts = by_sweeps(of, 0, of.limit)
    closed, still_open = np.zeros(len(of.edges) // 2), np.zeros(len(of.edges) // 2)
    first, handed = 0, list(of.by_cluster(Tally(of.limit, counts, 0.5 * counts)))
    assert [(group, k) for group, k, *_ in handed] == [(g, k) for g in of.groups for k in range(len(g.clusters))]
    ages = dict(zip(of.groups, of.ages, strict=True))
    for group, k, closing, waiting in handed:
        cells = slice(first, first := first + len(closing.counts))
        closed[cells], still_open[cells] = closing.counts, waiting.counts
        assert closing.sums.tolist() == (0.5 * closing.counts).tolist()
        assert closing.sweeps + waiting.sweeps == of.limit
        assert (closing.sweeps > 0) == (
            (ages[group] + of.limit) // group.chain.periods[k] * group.chain.periods[k] > ages[group]
        )
        assert closing.sweeps or not closing.counts.any()
    assert [*closed, *still_open] == counts.tolist()


def test_by_hand_two_clusters_of_a_chain_close_at_different_rounds():
    # Sizes 3 and 1: cluster 1 has the cells of the pairs 01, 02, 12, a period of 3; cluster 2 has 03, 13, 23, hold 3,
    # one scheme, a period of 3. With an age of 1 and a limit of 4 the plan plays rounds 1 to 4 of the chain; its period
    # ends behind round 2, so rounds 1 and 2 are closing, rounds 3 and 4 open.
    of = plan([(3, 1)], [1], 4)
    chain_rounds = [chains_of(of)[0].round(t).tolist() for t in range(1, 5)]
    assert [of.sweep(number, None)[0].tolist() for number in range(4)] == [
        chain_rounds[0],
        chain_rounds[1],
        [cell + 6 for cell in chain_rounds[2]],
        [cell + 6 for cell in chain_rounds[3]],
    ]
    # 1, 2, 1: the ends have periods of 1 and close always; the pair cluster between them holds 1 round, two schemes.
    of = plan([(1, 2, 1)], [0], 3)
    counts = of.leap(Tally.empty(len(of.edges)), 3, None)[1]
    user = np.repeat([0, 1, 2], np.diff(chains_of(of)[0].first_cells))
    assert [counts[:5][user == k].sum() for k in range(3)] == [0, 2, 3]
    assert [counts[5:][user == k].sum() for k in range(3)] == [0, 1, 0]


def test_it_is_due_at_the_limit_and_not_before():
    of = plan([(4,)], [0], 5)
    assert not of.due(Tally(4, np.zeros(12, dtype=np.int64), np.zeros(12)))
    assert of.due(Tally(5, np.zeros(12, dtype=np.int64), np.zeros(12)))


@pytest.mark.parametrize("most", [10**12 + 7, 10**17 + 1])
def test_a_leap_over_very_many_rounds_loses_no_count(most):
    for sizes in SIDE_BY_SIDE:
        of = plan(sizes, [10**11 + 3] * len(sizes), NEVER)
        sweeps, counts = of.leap(Tally.empty(len(of.edges)), most, None)
        assert sweeps == most
        assert sum(counts.tolist()) == most * sum(map(sum, sizes)) // 2
        assert not counts[len(counts) // 2 :].any()  # no period is open before the limit of 2^62


def test_by_hand_a_chain_ends_where_the_number_of_players_is_even():
    graph = monopartite(8)
    one, two, three = group_clusters([[4, 6], [0], [2, 7], [5], [1, 3]], graph)
    assert [[cluster.tolist() for cluster in group.clusters] for group in (one, two, three)] == [
        [[4, 6]],
        [[0], [2, 7], [5]],
        [[1, 3]],
    ]
    assert [group.first_cluster for group in (one, two, three)] == [0, 1, 4]
    assert [group.ends for group in (one, two, three)] == [(2,), (3, 5, 6), (8,)]
    assert one.pairs.tolist() == [[4, 6]]
    assert two.pairs[two.cells(1)].tolist() == [[2, 7], [0, 2], [0, 7]]  # its own, then those of 0 with it
    assert two.pairs[two.cells(2)].tolist() == [[2, 5], [7, 5]]
    assert (np.sort(two.pairs, axis=1) == graph.pairs[two.edges]).all()
    assert [group.splittable(0) for group in (one, two, three)] == [False, False, False]
    assert two.splittable(1)


def test_cells_of_clusters_follow_each_other():
    for group in group_clusters([[0, 1, 2], [3, 4], [5, 6, 7], [8, 9]], monopartite(10)):
        cells = [group.cells(k) for k in range(len(group.clusters))]
        assert cells[0].start == 0
        assert cells[-1].stop == len(group.edges) == len(group.pairs)
        assert all(a.stop == b.start for a, b in pairwise(cells))


def test_an_odd_number_of_players_has_no_chains():
    with pytest.raises(MatchbanditError, match=r"an even number of items in all; got sizes \(3,\)\. Leave an item out"):
        group_clusters([[0, 1, 2]], monopartite(3))
