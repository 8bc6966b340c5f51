from itertools import combinations, pairwise

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.certificates import Target
from matchbandit.policies import information
from matchbandit.policies.information import (
    add_swap,
    choose_listed,
    choose_solved,
    choose_swaps,
    disjoint_groups,
    divergence,
    expected_gains,
    find_swaps,
    force_swaps,
    gains,
    most_per_loss,
    part,
    swapped_rounds,
    update_gains,
    worth_of_pairs,
)
from matchbandit.rewards import Noise
from matchbandit.solvers import all_matchings

LAWS = {"coins": Noise(1, 0.0), "5 coins": Noise(5, 0.0), "Gaussian": Noise(0, 0.5)}
laws = pytest.mark.parametrize("law", LAWS)
GRAPHS = [
    (mb.monopartite(4), "matching"),
    (mb.monopartite(6), "matching"),
    (mb.monopartite(5), "pair"),
    (mb.bipartite(3, 3), "matching"),
    (mb.bipartite(2, 4), "matching"),
    (mb.bipartite(3, 4), "pair"),
]
graphs = pytest.mark.parametrize(("graph", "goal"), GRAPHS, ids=str)


class Case:
    """Some strengths, some links that miss evidence, and plays that are decided."""

    def __init__(self, graph, goal, seed, least=0):
        rng = np.random.default_rng(seed)
        self.target = Target.of(graph, goal)
        n, rows = self.target.n_items, graph.n_rows
        self.ends = graph.pairs + np.array([0, rows])
        self.strengths = rng.uniform(0.1, 0.95, n)
        order = [a + np.argsort(-self.strengths[a:b]) for a, b in pairwise(self.target.sides)]
        self.links = self.target.borders(np.concatenate(order))
        self.missing = rng.uniform(1, 20, len(self.links))
        self.plays = np.full((n, n), -1.0)
        i, j = self.ends.T
        self.plays[i, j] = self.plays[j, i] = rng.integers(least, 30, len(i))
        self.means = self.strengths[self.ends].prod(axis=1)
        self.listed = np.arange(graph.n_pairs)[:, None] if goal == "pair" else all_matchings(graph)
        self.best = self.listed[self.means[self.listed].sum(axis=1).argmax()]

    @property
    def table(self):
        """The means of all pairs, items × items."""
        return np.outer(self.strengths, self.strengths)

    def gains(self, noise, plays, floor):
        n = len(self.strengths)
        cells, slopes = np.empty((len(self.links), n)), np.empty((len(self.links), 2, n))
        gains(noise, self.table, self.links, plays, floor, cells, slopes)
        return cells.sum(axis=1), slopes

    def worth(self, noise, floor):
        """What one more play of each pair is worth, items × items."""
        n = len(self.strengths)
        cells, slopes = np.empty((len(self.links), n)), np.empty((len(self.links), 2, n))
        gains(noise, self.table, self.links, self.plays, floor, cells, slopes)
        worth = np.full((n, n), np.nan)
        worth_of_pairs(self.links, self.missing, cells, slopes, worth)
        return worth


@laws
@graphs
def test_the_slopes_are_the_derivatives_of_the_gains(graph, goal, law):
    case, noise, step = Case(graph, goal, 1, least=1), LAWS[law], 1e-4
    found, slopes = case.gains(noise, case.plays, 0.5)
    assert (found >= 0).all()
    assert slopes.max() > 0
    for k, (a, b) in enumerate(case.links.tolist()):
        for c in range(len(case.strengths)):
            for end, item in enumerate((a, b)):
                if c in (a, b) or case.plays[item, c] < 0:
                    assert slopes[k, end, c] == 0
                    continue
                more, less = case.plays.copy(), case.plays.copy()
                for plays, by in ((more, step), (less, -step)):
                    plays[item, c] += by
                    plays[c, item] += by
                slope = (case.gains(noise, more, 0.5)[0][k] - case.gains(noise, less, 0.5)[0][k]) / (2 * step)
                assert slopes[k, end, c] == pytest.approx(slope, rel=1e-5, abs=1e-9)


@laws
def test_a_gain_is_the_mean_of_what_the_best_bet_wins(law):
    # n_ac kl(p_ac, m_c) + n_bc kl(p_bc, m_c): what log F has on average if the bet is the truth.
    from matchbandit.evidence import log_factor

    case, noise = Case(mb.monopartite(4), "matching", 3), LAWS[law]
    found = expected_gains(noise, case.table, case.links, case.plays)
    for k, (a, b) in enumerate(case.links.tolist()):
        p, q = case.table[a], case.table[b]
        x, y = case.plays[a], case.plays[b]
        told = sum(
            log_factor(noise, x[c], x[c] * p[c], y[c], y[c] * q[c], p[c], q[c], 1.0)
            for c in range(4)
            if c not in (a, b)
        )
        assert found[k] == pytest.approx(told, rel=1e-5, abs=1e-6)


def test_pairs_that_are_not_played_tell_nothing():
    # Of (a, c) and (b, c) one alone is no comparison: nothing is expected of it, not even a little.
    means, links, plays = np.outer([0.9, 0.5, 0.8], [0.9, 0.5, 0.8]), np.array([[0, 1]]), np.full((3, 3), 0.0)
    np.fill_diagonal(plays, -1.0)
    for a, b in ((0.0, 0.0), (50.0, 0.0), (0.0, 50.0)):
        plays[0, 2] = plays[2, 0] = a
        plays[1, 2] = plays[2, 1] = b
        assert expected_gains(LAWS["coins"], means, links, plays) == pytest.approx(0, abs=1e-12)


def test_means_of_0_and_1_are_worth_what_means_close_to_them_are():
    # Strengths of 1 against 2 and 3: 0 always wins, 1 never does.
    means = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.5], [1.0, 0.0, 0.5, 0.0]])
    plays = np.where(np.eye(4) > 0, -1.0, 10.0)
    found = expected_gains(LAWS["coins"], means, np.array([[0, 1]]), plays)
    assert found == pytest.approx(2 * 20 * np.log(2))  # kl(1, 1/2) + kl(0, 1/2) = 2 log 2, ten times, twice


def test_gains_follow_the_means_also_where_they_are_no_products():
    # 0 is above 1 against 2, by a little; against 3 by much, which no product says.
    means = np.zeros((4, 4))
    for i, j, mean in ((0, 2, 0.5), (1, 2, 0.4), (0, 3, 0.9), (1, 3, 0.1)):
        means[i, j] = means[j, i] = mean
    plays = np.where(np.eye(4) > 0, -1.0, 10.0)
    kl = divergence.py_func
    expected = 10 * sum(kl(LAWS["coins"], p, (p + q) / 2) + kl(LAWS["coins"], q, (p + q) / 2)
                        for p, q in ((0.5, 0.4), (0.9, 0.1)))  # fmt: skip
    assert expected_gains(LAWS["coins"], means, np.array([[0, 1]]), plays) == pytest.approx(expected)


def test_divergences():
    assert divergence(Noise(1, 0.0), 0.3, 0.3) == 0
    assert divergence(Noise(1, 0.0), 0.5, 0.25) == pytest.approx(0.5 * np.log(2) + 0.5 * np.log(2 / 3))
    assert divergence(Noise(4, 0.0), 0.5, 0.25) == pytest.approx(4 * divergence(Noise(1, 0.0), 0.5, 0.25))
    assert divergence(Noise(0, 0.5), 0.9, 0.4) == pytest.approx(0.5)


def test_a_pair_is_worth_its_slopes_weighted_by_how_late_links_would_be_certified():
    case, noise = Case(mb.monopartite(6), "matching", 2), LAWS["coins"]
    found, slopes = case.gains(noise, case.plays, 0.3)
    share = found / case.missing
    weights = np.exp(-6 * (share - share.min()) / share.min()) / case.missing
    expected = np.zeros(case.plays.shape)
    for (a, b), weight, slope in zip(case.links.tolist(), weights, slopes, strict=True):
        for item, of_item in zip((a, b), slope, strict=True):
            expected[item] += weight * of_item
            expected[:, item] += weight * of_item
    worth = case.worth(noise, 0.3)
    assert worth == pytest.approx(expected)
    assert (worth == worth.T).all()


def test_links_of_equal_items_gain_nothing_and_every_link_then_counts_by_what_it_misses():
    case = Case(mb.monopartite(4), "matching", 2)
    case.strengths[:] = 0.5
    assert (case.worth(LAWS["coins"], 0.3) == 0).all()


@laws
@graphs
def test_cells_that_are_updated_are_those_of_gains_computed_anew_to_the_bit(graph, goal, law):
    case, noise, rng = Case(graph, goal, 6), LAWS[law], np.random.default_rng(1)
    n = len(case.strengths)
    cells, slopes = np.empty((len(case.links), n)), np.empty((len(case.links), 2, n))
    gains(noise, case.table, case.links, case.plays, 0.3, cells, slopes)
    for i, j in case.ends[rng.integers(len(case.ends), size=20)].tolist():
        case.plays[i, j] = case.plays[j, i] = case.plays[i, j] + 7
        update_gains(noise, case.table, case.links, case.plays, 0.3, i, j, cells, slopes)
        anew, slopes_anew = np.empty_like(cells), np.empty_like(slopes)
        gains(noise, case.table, case.links, case.plays, 0.3, anew, slopes_anew)
        assert cells.tolist() == anew.tolist()
        assert slopes.tolist() == slopes_anew.tolist()


@pytest.mark.parametrize("rounds", [1, 7, 30, 31, 1000, 10**15])
@pytest.mark.parametrize("steps", [1, 12, 30])
def test_the_parts_make_out_all_rounds_evenly(rounds, steps):
    parts = [part(rounds, step, steps) for step in range(steps)]
    assert sum(parts) == rounds
    assert max(parts) - min(parts) <= 1


@laws
@graphs
def test_solved_and_listed_rounds_are_the_same(graph, goal, law, monkeypatch):
    for seed in range(5):
        case, noise = Case(graph, goal, seed), LAWS[law]
        steps = max(information.STEPS, information.STEPS_A_LINK * len(case.links))
        monkeypatch.setattr(information, "SOLVED_STEPS", steps)

        def exhaustive(worth, case=case):
            return case.listed[worth[case.listed].sum(axis=1).argmax()]

        batch = noise, case.table, case.links, case.missing
        times = np.zeros(len(case.listed), dtype=np.int64)
        listed = case.plays.copy()
        choose_listed(*batch, listed, 77, case.ends, case.listed, times)
        solved = case.plays.copy()
        chosen, often = choose_solved(*batch, solved, 77, case.ends, case.best, exhaustive)
        assert times.sum() == often.sum() == 77
        assert solved == pytest.approx(listed)
        plays = np.zeros(graph.n_pairs)
        np.add.at(plays, chosen, often[:, None])
        expected = np.zeros(graph.n_pairs)
        np.add.at(expected, case.listed, times[:, None])
        assert plays.tolist() == expected.tolist()
        i, j = case.ends.T
        assert (listed - case.plays)[i, j] == pytest.approx(expected)  # and they are booked for the next step


@pytest.mark.parametrize("n", [8, 16, 40])
def test_every_link_that_is_missing_is_expected_to_gain_by_rounds_that_are_played(n):
    # Of many links, none may live on plays that are only imagined, batch after batch.
    graph = mb.bipartite(n, n)
    case = Case(graph, "pair", 1)
    case.strengths = np.tile([0.9] + [0.45] * (n - 1), 2)
    links = case.target.borders(np.arange(2 * n))
    plays = np.where(case.plays < 0, -1.0, 0.0)
    times, missing = np.zeros(len(case.listed), dtype=np.int64), np.full(len(links), 10.0)
    choose_listed(LAWS["coins"], case.table, links, missing, plays, 4000, case.ends, case.listed, times)
    assert times.sum() == 4000
    gained = expected_gains(LAWS["coins"], case.table, links, plays)
    assert gained.min() > 0.25 * gained.mean()


# Swaps


SWAPPED = [
    *((mb.monopartite(n), "matching") for n in (4, 6, 10)),
    *((mb.monopartite(n), "pair") for n in (3, 6)),
    *((mb.bipartite(*shape), "matching") for shape in ((1, 3), (2, 2), (3, 3), (2, 5), (5, 2), (6, 6))),
    *((mb.bipartite(*shape), "pair") for shape in ((1, 3), (3, 4))),
]
swapped = pytest.mark.parametrize(("graph", "goal"), SWAPPED, ids=str)


class Guess:
    """An order of the items of each side, the pairs that it plays, and the links across its borders."""

    def __init__(self, graph, goal, rng):
        self.graph, self.target, self.rng = graph, Target.of(graph, goal), rng
        self.n = self.target.n_items
        self.size = 1 if goal == "pair" else graph.matching_size
        self.ends = graph.pairs + np.array([0, graph.n_rows])
        self.edges = np.full((self.n, self.n), -1)
        i, j = self.ends.T
        self.edges[i, j] = self.edges[j, i] = np.arange(graph.n_pairs)
        self.partner, self.pair = np.full(self.n, -1), np.full(self.n, -1)
        for k, (i, j) in enumerate(self.places()):
            self.partner[[i, j]], self.pair[[i, j]] = (j, i), k
        self.shuffle()

    def places(self):
        """The two places of an order that each pair of the best guess takes."""
        rows = self.graph.n_rows
        return [(k, rows + k) if rows else (2 * k, 2 * k + 1) for k in range(self.size)]

    def shuffle(self):
        self.order = np.concatenate([a + self.rng.permutation(b - a) for a, b in pairwise(self.target.sides)])
        self.links = self.target.borders(self.order)

    def round_of(self, order):
        return [int(self.edges[order[i], order[j]]) for i, j in self.places()]

    @property
    def best(self):
        return np.array(self.round_of(self.order))

    def some_links(self, share=0.6):
        """Links that are open, at least one."""
        is_open = self.rng.random(len(self.links)) < share
        is_open[self.rng.integers(len(is_open))] = True
        return self.links[is_open]

    def swaps(self, links):
        return find_swaps(self.order, links, self.partner, self.pair, self.edges)

    def exchange(self, a, b):
        """The round of the order in which these two items have changed places, as a set of edges."""
        order = self.order.copy()
        i, j = (int(np.flatnonzero(order == item)[0]) for item in (a, b))
        order[[i, j]] = order[[j, i]]
        return frozenset(self.round_of(order))

    def is_round(self, edges):
        items = self.ends[edges].ravel().tolist()
        return len(edges) == self.size and len(set(items)) == len(items)


@swapped
def test_the_swaps_are_the_best_guesses_of_orders_with_two_items_exchanged(graph, goal):
    guess = Guess(graph, goal, np.random.default_rng(1))
    for _ in range(20):
        guess.shuffle()
        links = guess.some_links()
        swaps = guess.swaps(links)
        alone = np.eye(len(swaps.pairs), dtype=bool)
        rounds = [frozenset(edges) for edges in swapped_rounds(guess.best, swaps, alone).tolist()]
        assert len(set(rounds)) == len(rounds)  # each once
        assert set(rounds) == {guess.exchange(a, b) for a, b in links.tolist()}
        assert (np.diff(swaps.pairs[:, 0]) >= 0).all()
        for k, edges in enumerate(rounds):
            first, last = swaps.pairs[k].tolist()
            assert set(guess.best.tolist()) - edges == {int(guess.best[p]) for p in (first, last)}
            assert last - first in (0, 1)
            new = [pair for pair in swaps.ends[k].tolist() if pair[0] >= 0]
            assert {int(guess.edges[i, j]) for i, j in new} == edges - set(guess.best.tolist())
            assert len(new) == last - first + 1
            # Both links that it compares are exchanged in it, and they are all whose exchange it is.
            compared = {frozenset(link) for link in swaps.links[k].tolist()}
            assert compared == {frozenset(link) for link in guess.links.tolist() if guess.exchange(*link) == edges}


def test_four_players_have_two_swaps():
    # 0 1 | 2 3: exchanging 0 with 2 is the same round as exchanging 1 with 3, and 0 with 3 the same as 1 with 2.
    guess = Guess(mb.monopartite(4), "matching", np.random.default_rng(1))
    guess.order = np.arange(4)
    swaps = guess.swaps(guess.target.borders(guess.order))
    assert swaps.ends.tolist() == [[[1, 2], [0, 3]], [[1, 3], [0, 2]]]
    assert swaps.links.tolist() == [[[0, 2], [1, 3]], [[0, 3], [1, 2]]]
    assert swaps.pairs.tolist() == [[0, 1], [0, 1]]
    plays = np.zeros((4, 4))
    add_swap(swaps, 1, 5, plays)
    assert plays.tolist() == [[0, 0, 5, 0], [0, 0, 0, 5], [5, 0, 0, 0], [0, 5, 0, 0]]


@swapped
def test_swaps_that_share_a_round_replace_different_pairs_and_rounds_are_as_few_as_can_be(graph, goal):
    rng = np.random.default_rng(2)
    guess = Guess(graph, goal, rng)
    for _ in range(20):
        guess.shuffle()
        swaps = guess.swaps(guess.some_links())
        wanted, group = rng.random(len(swaps.pairs)) < 0.7, np.full(len(swaps.pairs), 99)
        n_groups = disjoint_groups(swaps.pairs, wanted, group)
        assert (group >= 0).tolist() == wanted.tolist()
        assert set(group[wanted].tolist()) == set(range(n_groups))
        replaced = [set(pairs) for pairs in swaps.pairs[wanted].tolist()]
        assert n_groups == max((sum(p in pairs for pairs in replaced) for p in range(guess.size)), default=0)
        chosen = np.array([group == g for g in range(n_groups)]).reshape(n_groups, len(group))
        for edges, members in zip(swapped_rounds(guess.best, swaps, chosen), chosen, strict=True):
            assert guess.is_round(edges)
            made = {int(edge) for edge in swaps.edges[members].ravel()}
            assert made <= set(edges.tolist())


@pytest.mark.sampled(8)
@swapped
@pytest.mark.parametrize("always", [True, False])
def test_every_open_link_is_compared_as_often_as_it_is_credited(graph, goal, always):
    # Over many batches, in which the order and what is open change, or not.
    rng = np.random.default_rng(3)
    guess = Guess(graph, goal, rng)
    credit, credited, compared = np.zeros((3, guess.n, guess.n))
    for _ in range(150):
        if not always and rng.random() < 0.1:
            guess.shuffle()
        links = guess.links if always else guess.some_links()
        swaps = guess.swaps(links)
        more, turns = float(rng.choice([0.03, 0.4, 3.7])), np.full(len(swaps.pairs), 99)
        rounds = force_swaps(swaps, links, more, credit, turns)
        for a, b in links.tolist():
            credited[[a, b], [b, a]] += more
        assert (turns[: len(rounds)] > 0).all()
        assert (turns[len(rounds) :] == 0).all()
        for chosen, n in zip(rounds, turns.tolist(), strict=False):
            assert chosen.any()
            edges = swapped_rounds(guess.best, swaps, chosen[None, :])[0]
            assert guess.is_round(edges)
            for a, b in guess.links.tolist():  # those whose exchange is in this round
                if guess.exchange(a, b) - set(guess.best.tolist()) <= set(edges.tolist()):
                    compared[[a, b], [b, a]] += n
        assert credit == pytest.approx(credited - compared, abs=1e-9)
        a, b = links.T
        assert (credit[a, b] < 1).all()
        assert (compared[a, b] >= np.floor(credited[a, b] - 1e-9)).all()
        if always:  # and little more often: no more than one batch is paid in advance
            assert credit.min() > -3.7 - 1


def disjoint_sets(pairs):
    """All sets of swaps, but the empty one, of which no two replace the same pair."""
    for size in range(1, len(pairs) + 1):
        for members in combinations(range(len(pairs)), size):
            replaced = [p for k in members for p in set(pairs[k])]
            if len(set(replaced)) == len(replaced):
                yield list(members)


def most_by_enumeration(gain, losses, pairs, fixed):
    return max(gain[members].sum() / (fixed + losses[members].sum()) for members in disjoint_sets(pairs))


@pytest.mark.parametrize("n_pairs", [1, 2, 5])
def test_the_swaps_with_the_most_worth_per_loss_are_those_of_all_disjoint_sets(n_pairs):
    rng = np.random.default_rng(n_pairs)
    sizes = []
    for trial in range(100):
        first = np.sort(rng.integers(n_pairs, size=rng.integers(1, 9)))
        pairs = np.stack([first, np.minimum(first + rng.integers(2, size=len(first)), n_pairs - 1)], axis=1)
        gain, losses = rng.random(len(first)) ** 3, rng.exponential(rng.choice([0.001, 0.1, 1.0], len(first)))
        if trial % 3 == 0:
            losses[rng.random(len(first)) < 0.4] = 0.0
            gain[rng.random(len(first)) < 0.4] = 0.0
        fixed = (0.01, 1.0, 30.0)[trial % 3]
        chosen = rng.random(len(first)) < 0.5  # what was in it does not matter
        most_per_loss(gain, losses, pairs, fixed, chosen)
        members = np.flatnonzero(chosen).tolist()
        assert members in list(disjoint_sets(pairs.tolist()))
        reached = gain[members].sum() / (fixed + losses[members].sum())
        assert reached == pytest.approx(most_by_enumeration(gain, losses, pairs.tolist(), fixed), rel=1e-6)
        sizes.append(len(members))
    assert max(sizes) >= min(n_pairs, 3)


def test_swaps_without_any_worth_still_give_a_round():
    chosen = np.zeros(2, dtype=bool)
    most_per_loss(np.zeros(2), np.array([0.1, 0.2]), np.array([[0, 1], [1, 2]]), 1e-300, chosen)
    assert chosen.sum() == 1


@swapped
def test_swaps_are_chosen_step_by_step_by_worth_per_loss(graph, goal):
    rng = np.random.default_rng(4)
    guess, noise = Guess(graph, goal, rng), LAWS["coins"]
    for trial in range(4):
        guess.shuffle()
        links = guess.some_links()
        swaps, missing, strengths = guess.swaps(links), rng.uniform(1, 20, len(links)), rng.uniform(0.1, 0.95, guess.n)
        if trial % 2:  # the order agrees with the strengths; otherwise swaps may gain
            for a, b in pairwise(guess.target.sides):
                strengths[guess.order[a:b]] = np.sort(strengths[a:b])[::-1]
        means, plays = np.outer(strengths, strengths), np.full((guess.n, guess.n), -1.0)
        i, j = guess.ends.T
        plays[i, j] = plays[j, i] = rng.integers(0, 30, len(i))
        now, times = plays.copy(), np.full(5, 99)
        chosen = choose_swaps(noise, means, links, missing, now, 43, swaps, guess.best, guess.ends, times)
        assert times.tolist() == [part(43, step, 5) for step in range(5)]
        paid = means[i, j]
        optimum = paid[guess.best].sum()
        rounds = swapped_rounds(guess.best, swaps, np.eye(len(swaps.pairs), dtype=bool))
        losses = np.maximum(optimum - paid[rounds].sum(axis=1), 0.0)
        for members, n in zip(chosen, times.tolist(), strict=True):
            cells, slopes = np.empty((len(links), guess.n)), np.empty((len(links), 2, guess.n))
            gains(noise, means, links, plays, 0.1 * 43 / guess.n**2, cells, slopes)
            worth = np.empty_like(plays)
            worth_of_pairs(links, missing, cells, slopes, worth)
            gain = np.array([sum(worth[x, y] for x, y in new.tolist() if x >= 0) for new in swaps.ends])
            most = most_by_enumeration(gain, losses, swaps.pairs.tolist(), 0.01 * optimum)
            assert gain[members].sum() / (0.01 * optimum + losses[members].sum()) == pytest.approx(most, rel=1e-6)
            edges = swapped_rounds(guess.best, swaps, members[None, :])[0]
            assert guess.is_round(edges)
            x, y = guess.ends[sorted(set(edges.tolist()) - set(guess.best.tolist()))].T
            plays[x, y] = plays[y, x] = plays[x, y] + n
        assert now == pytest.approx(plays)  # and they are booked for the next step
