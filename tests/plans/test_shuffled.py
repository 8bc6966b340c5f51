from collections import Counter
from functools import reduce
from itertools import product

import numpy as np
import pytest
from reference.clusters import groups_of, schemes_of
from reference.outcomes import agrees

from matchbandit.confidence import NEVER
from matchbandit.plans import ShuffledRounds, Tally

SMALL = [
    ((4,),),
    ((3, 1),),
    ((1, 3),),
    ((1, 2, 1),),
    ((3, 2, 1),),
    ((1, 4, 1),),
    ((1, 2, 2, 1),),
    ((4,), (1, 2, 1)),
    ((3, 1), (1, 3)),
]
LARGER = [*SMALL, ((3, 4, 1),), ((3, 2, 4, 1), (4,)), ((5, 4, 3),)]


def plan(sizes, limit=NEVER):
    return ShuffledRounds(groups_of(sizes), limit=limit)


def chains_of(plan):
    return [group.chain for group in plan.groups]


def rounds_of_chain(of):
    """The cells of every combination of schemes of a chain, all equally likely, from the definition."""
    cell_of = {tuple(pair): cell for cell, pair in enumerate(of.pairs.tolist())}
    last = len(of.sizes) - 1
    clusters = [list(range(a, b)) for a, b in zip(of.firsts[:-1], of.firsts[1:], strict=True)]
    found = []
    for combination in product(*(schemes_of(c, is_first=k == 0, is_last=k == last) for k, c in enumerate(clusters))):
        pairs = [pair for scheme in combination for pair in scheme.pairs]
        pairs += [(combination[k].to_next, combination[k + 1].to_previous) for k in range(last)]
        found.append(tuple(sorted(cell_of[pair] for pair in pairs)))
    return found


def law_of_round(of):
    """The probability of each set of cells in a round: clusters and chains draw independently."""
    law, first = Counter({(): 1.0}), 0
    for each in chains_of(of):
        rounds = Counter(rounds_of_chain(each))
        total = sum(rounds.values())
        law = Counter({
            (*cells, *(first + cell for cell in more)): p * often / total
            for (cells, p), (more, often) in product(law.items(), rounds.items())
        })  # fmt: skip
        first += each.first_cells[-1]
    return law


def law_of_counts(of, n):
    """The probability of each vector of counts after n rounds."""
    one = {tuple(np.bincount(cells, minlength=len(of.edges)).tolist()): p for cells, p in law_of_round(of).items()}

    def another(law, _):
        sums = Counter()
        for (a, p), (b, q) in product(law.items(), one.items()):
            sums[tuple(x + y for x, y in zip(a, b, strict=True))] += p * q
        return sums

    return reduce(another, range(n - 1), Counter(one))


def moments(of):
    """Mean and covariance of the counts of one round."""
    law = law_of_round(of)
    vectors = np.array([np.bincount(cells, minlength=len(of.edges)) for cells in law])
    p = np.array(list(law.values()))
    mean = p @ vectors
    return mean, (vectors * p[:, None]).T @ vectors - np.outer(mean, mean)


def drawn(of, n, runs, seed):
    rng, nothing = np.random.default_rng(seed), Tally.empty(len(of.edges))
    return np.array([of.leap(nothing, n, rng)[1] for _ in range(runs)])


@pytest.mark.parametrize("sizes", SMALL, ids=str)
def test_a_sweep_has_exactly_the_law_of_independent_schemes(sizes):
    of, rng = plan(sizes), np.random.default_rng(1)
    sweeps = [tuple(of.sweep(number, rng)[0].tolist()) for number in range(3000)]
    assert agrees(sweeps, law_of_round(of)) > 1e-3


@pytest.mark.sampled(6)
@pytest.mark.parametrize("sizes", SMALL, ids=str)
@pytest.mark.parametrize("n", [2, 3])
def test_a_leap_has_exactly_the_law_of_playing_round_by_round(sizes, n):
    of = plan(sizes)
    counts = [tuple(row) for row in drawn(of, n, 3000, 2).tolist()]
    assert agrees(counts, law_of_counts(of, n)) > 1e-3


@pytest.mark.sampled(4)
@pytest.mark.parametrize("sizes", LARGER, ids=str)
def test_the_counts_of_a_long_leap_have_the_right_means_and_covariances(sizes):
    of, n, runs = plan(sizes), 500, 2500
    mean, covariance = moments(of)
    counts = drawn(of, n, runs, 3)
    off = (counts - n * mean) / np.sqrt(n)
    # The counts are close to normal, so products have the variance c_ii c_jj + c_ij²; a hair for cells that are sure.
    variances = np.diag(covariance)
    errors = np.sqrt((np.outer(variances, variances) + covariance**2) / runs)
    assert (np.abs(off.mean(axis=0)) <= 4 * np.sqrt(variances / runs) + 1e-9).all()
    assert (np.abs(off.T @ off / runs - covariance) <= 4.5 * errors + 1e-9).all()


@pytest.mark.parametrize("sizes", [((3, 1), (1, 2, 1)), ((3, 2, 4, 1),)], ids=str)
def test_two_samples_by_leaps_and_by_sweeps_have_the_same_means_and_covariances(sizes):
    of, n, runs = plan(sizes), 6, 700
    rng = np.random.default_rng(4)
    slow = np.zeros((runs, len(of.edges)))
    for run in range(runs):
        for number in range(n):
            slow[run, of.sweep(number, rng)[0]] += 1
    fast = drawn(of, n, runs, 5)
    assert (slow.sum(axis=1) == fast.sum(axis=1)).all()
    mean = n * moments(of)[0]
    of_slow, of_fast = ((x - mean)[:, :, None] * (x - mean)[:, None, :] for x in (slow, fast))
    for a, b in ((slow, fast), (of_slow, of_fast)):
        errors = np.sqrt((a.var(axis=0) + b.var(axis=0)) / runs)
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) <= 4.5 * errors + 1e-9).all()


@pytest.mark.parametrize("sizes", LARGER, ids=str)
def test_any_two_of_a_cluster_meet_every_third_player_with_the_same_probability(sizes):
    # What random-adaptive-matching rests on, whatever cluster the third is in.
    of = plan(sizes)
    mean, first = moments(of)[0], 0
    for each in chains_of(of):
        n = sum(each.sizes)
        p = np.zeros((n, n))
        p[tuple(each.pairs.T)] = mean[first : first + each.first_cells[-1]]
        p += p.T
        assert np.allclose(p.sum(axis=1), 1)
        for a, b in zip(each.firsts[:-1], each.firsts[1:], strict=True):
            for third in range(n):
                others = [p[item, third] for item in range(a, b) if item != third]
                assert np.allclose(others, others[:1] * len(others))
        first += each.first_cells[-1]


@pytest.mark.parametrize("sizes", LARGER, ids=str)
def test_every_sweep_is_one_round_that_plays_everyone_once(sizes):
    of, rng = plan(sizes), np.random.default_rng(6)
    assert of.length == 1
    pairs, first = [], 0
    for each in chains_of(of):
        pairs.append(each.pairs + first)
        first += sum(each.sizes)
    pairs = np.concatenate(pairs)
    for number in range(60):
        cells = of.sweep(number, rng)
        assert cells.shape == (1, first // 2)
        assert sorted(pairs[cells[0]].ravel().tolist()) == list(range(first))


@pytest.mark.parametrize("sizes", [*LARGER, ((15, 14, 16, 1),)], ids=str)
def test_in_10_to_the_12_rounds_everyone_plays_in_every_round(sizes):
    of, n = plan(sizes), 10**12 + 7
    sweeps, counts = of.leap(Tally.empty(len(of.edges)), n, np.random.default_rng(7))
    assert sweeps == n
    assert (counts >= 0).all()
    first, cell = 0, 0
    for each in chains_of(of):
        per_item = np.zeros(sum(each.sizes), dtype=np.int64)
        np.add.at(per_item, each.pairs, counts[cell : cell + each.first_cells[-1], None])
        assert (per_item == n).all()
        first, cell = first + sum(each.sizes), cell + each.first_cells[-1]


def test_a_leap_goes_no_further_than_the_limit_nor_than_asked():
    of, rng = plan([(4,)], limit=10), np.random.default_rng(8)
    pending = Tally(4, np.zeros(6, dtype=np.int64), np.zeros(6))
    assert of.leap(pending, 100, rng)[0] == 6
    assert of.leap(pending, 5, rng)[0] == 5
    assert not of.due(pending)
    assert of.due(Tally(10, pending.counts, pending.sums))
