"""Edges at which bounds are easily wrong: too few players, nothing to gain, one round, and the worst rewards."""

import json

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.simulation.jump import jump
from matchbandit.simulation.score import Score
from matchbandit.theory.averages import trivial_chain_bound
from matchbandit.theory.matching_upper import matching_id_certain
from matchbandit.theory.pair_upper import pair_elim_certain


def test_two_players_have_bounds_on_the_rounds():
    assert {bound.name for bound in mb.bounds(mb.Monopartite([0.5, 0.3]), delta=0.05)} >= {"pair-elim-mono-certain"}


def test_players_who_pay_nothing_have_bounds_on_the_rounds():
    assert all(bound.value >= 0 for bound in mb.bounds(mb.Monopartite([0.0] * 4), delta=0.05))


@pytest.mark.parametrize("u", [[0.9, 0.8, 0.5, 0.3], [0.5] * 4])
def test_a_horizon_of_one_round_is_never_nan(u, monkeypatch):
    # log 1 · inf
    monkeypatch.setattr("matchbandit.theory.table.computable", lambda *_: False)
    assert "NaN" not in json.dumps([bound.describe() for bound in mb.bounds(mb.Monopartite(u), horizon=1)])


def test_rows_that_pay_nothing_are_infinite_without_a_warning():
    assert pair_elim_certain(mb.Bipartite([0.0, 0.0], [0.5, 0.3]), 0.05).value == np.inf


@pytest.mark.parametrize("n", [0, 2, 5])
def test_the_bound_on_a_trivial_chain_refuses_what_its_value_refuses(n):
    with pytest.raises(MatchbanditError):
        trivial_chain_bound(np.linspace(0.9, 0.1, n))


class Delayed:
    """Rewards without noise, by which 2 and 3 look a quarter of their gap nearer to each other on either side."""

    def __init__(self, problem):
        u = problem.u
        quarter = 0.2499 * (u[1] - u[2])
        means = np.outer(u, u)
        for k in range(len(u)):
            means[k, 1], means[k, 2] = u[k] * (u[1] - quarter), u[k] * (u[2] + quarter)
            means[1, k], means[2, k] = means[k, 1], means[k, 2]
        means[1, 2] = means[2, 1] = u[1] * u[2]
        self.means = means[tuple(problem.graph.pairs.T)]

    def sums(self, edges, counts):
        return self.means[edges] * counts


def test_matching_ids_first_bound_holds_while_no_interval_fails():
    # s = 1. Once all others are ranked B = {1, 2, 3}, and 2 and 3 are measured against u_1/2, two thirds of the rounds;
    # μ_([2N] − {2, 3}) = 0.70 is more. 35 % above the bound, in a run in which no interval fails before the last check,
    # the first at which 2 and 3 must be separated.
    steps = [0.88 - 0.02 * k for k in range(13) for _ in range(2)]
    problem = mb.Monopartite([1.0, 0.95, 0.95 - 0.00011995562521689322, 0.9, *steps])
    policy = mb.policy("matching-id", delta=0.05).build(problem.graph, rewards=problem.rewards, seed=0)
    jump(policy, Delayed(problem), Score(problem, "matching", np.array([10**13])))
    assert policy.done
    assert policy.rounds <= matching_id_certain(problem, 0.05)[0].value
