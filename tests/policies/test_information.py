from itertools import pairwise

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.certificates import Target
from matchbandit.policies import information
from matchbandit.policies.information import (
    choose_listed,
    choose_solved,
    divergence,
    expected_gains,
    gains,
    losses,
    most_per_loss,
    part,
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
            log_factor(noise, x[c], x[c] * p[c], y[c], y[c] * q[c], p[c], q[c]) for c in range(4) if c not in (a, b)
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
@pytest.mark.parametrize("regret", [False, True])
def test_solved_and_listed_rounds_are_the_same(graph, goal, law, regret, monkeypatch):
    for seed in range(5):
        case, noise = Case(graph, goal, seed), LAWS[law]
        steps = max(information.STEPS, information.STEPS_A_LINK * len(case.links))
        monkeypatch.setattr(information, "SOLVED_STEPS", steps)
        loss = losses(case.means, case.best, case.listed) if regret else np.ones(len(case.listed))

        def exhaustive(worth, last, case=case, loss=loss):
            return case.listed[(worth[case.listed].sum(axis=1) / loss).argmax()]

        given = noise, case.table, case.links, case.missing
        times = np.zeros(len(case.listed), dtype=np.int64)
        listed = case.plays.copy()
        choose_listed(*given, listed, 77, case.ends, case.listed, loss, times)
        solved = case.plays.copy()
        chosen, often = choose_solved(*given, solved, 77, case.ends, case.best, exhaustive)
        assert times.sum() == often.sum() == 77
        assert solved == pytest.approx(listed)
        plays = np.zeros(graph.n_pairs)
        np.add.at(plays, chosen, often[:, None])
        expected = np.zeros(graph.n_pairs)
        np.add.at(expected, case.listed, times[:, None])
        assert plays.tolist() == expected.tolist()
        i, j = case.ends.T
        assert (listed - case.plays)[i, j] == pytest.approx(expected)  # and they are booked for the next step


@pytest.mark.parametrize("graph", [mb.monopartite(6), mb.monopartite(8), mb.bipartite(4, 4), mb.bipartite(3, 5)])
def test_dinkelbach_finds_the_round_of_the_greatest_worth_per_loss(graph):
    matchings, rng = all_matchings(graph), np.random.default_rng(4)
    calls = 0

    def solver(weights):
        nonlocal calls
        calls += 1
        return matchings[weights[matchings].sum(axis=1).argmax()]

    for trial in range(50):
        means = rng.random(graph.n_pairs)
        worth = rng.random(graph.n_pairs) ** (1 + trial % 3)
        best = matchings[means[matchings].sum(axis=1).argmax()]
        ratio = worth[matchings].sum(axis=1) / losses(means, best, matchings)
        start = best if trial % 2 else matchings[rng.integers(len(matchings))]
        found = most_per_loss(solver, means, float(means[best].sum()), worth, start)
        reached = worth[found].sum() / losses(means, best, found[None, :])[0]
        assert reached == pytest.approx(ratio.max(), rel=1e-6)
    assert calls < 50 * 12


def test_a_round_that_loses_nothing_is_not_worth_everything():
    means = np.array([0.5, 0.4, 0.1])
    rounds = np.arange(3)[:, None]
    assert losses(means, rounds[0], rounds) == pytest.approx([0.005, 0.105, 0.405])
    assert (losses(np.zeros(3), rounds[0], rounds) > 0).all()
    nothing = most_per_loss(lambda weights: np.array([int(weights.argmax())]), np.zeros(3), 0.0, np.zeros(3), rounds[0])
    assert nothing.tolist() == [0]


@pytest.mark.parametrize("n", [8, 16, 40])
def test_every_link_that_is_missing_is_expected_to_gain_by_rounds_that_are_played(n):
    # Of many links, none may live on plays that are only imagined, batch after batch.
    graph = mb.bipartite(n, n)
    case = Case(graph, "pair", 1)
    case.strengths = np.tile([0.9] + [0.45] * (n - 1), 2)
    links = case.target.borders(np.arange(2 * n))
    plays = np.where(case.plays < 0, -1.0, 0.0)
    times, missing = np.zeros(len(case.listed), dtype=np.int64), np.full(len(links), 10.0)
    cost = np.ones(len(case.listed))
    choose_listed(LAWS["coins"], case.table, links, missing, plays, 4000, case.ends, case.listed, cost, times)
    assert times.sum() == 4000
    gained = expected_gains(LAWS["coins"], case.table, links, plays)
    assert gained.min() > 0.25 * gained.mean()
