"""Edges at which bounds are easily wrong: too few players, nothing to gain, one round, and the worst rewards."""

import json

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.simulation.engines import jump
from matchbandit.simulation.score import Score
from matchbandit.theory.matching_upper import matching_id_rounds
from matchbandit.theory.pair_upper import pair_elim_rounds
from matchbandit.theory.players import SortedPlayers


def test_two_players_have_bounds_on_the_rounds():
    assert {bound.name for bound in mb.bounds(mb.Monopartite([0.5, 0.3]), delta=0.05)} >= {"pair-elim-mono-rounds"}


def test_players_who_pay_nothing_have_bounds_on_the_rounds():
    assert all(bound.value >= 0 for bound in mb.bounds(mb.Monopartite([0.0] * 4), delta=0.05))


@pytest.mark.parametrize("u", [[0.9, 0.8, 0.5, 0.3], [0.5] * 4])
def test_a_horizon_of_one_round_is_never_nan(u, monkeypatch):
    # log 1 · inf
    monkeypatch.setattr("matchbandit.theory.table.is_computable", lambda *_: False)
    assert "NaN" not in json.dumps([bound.describe() for bound in mb.bounds(mb.Monopartite(u), horizon=1)])


def test_rows_that_pay_nothing_are_infinite_without_a_warning():
    assert pair_elim_rounds(mb.Bipartite([0.0, 0.0], [0.5, 0.3]), 0.05).value == np.inf


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
    assert policy.rounds <= matching_id_rounds(problem, 0.05)[0].value


def test_items_a_millionth_apart_have_a_bound_of_the_model():
    # The losses of the other matching, 10^-12, are no rounding errors.
    slots = mb.Bipartite([0.500001, 0.5], [0.500001, 0.5], rewards=mb.Gaussian(sd=1.0))
    known = {bound.name: bound.value for bound in mb.bounds(slots, horizon=100)}
    assert 0 < known["model-matching-regret"] < np.inf


@pytest.mark.parametrize("u", [[0.9, 0.5, 0.5, 0.3], [0.5] * 4])
def test_a_tie_at_the_border_is_no_exchange(u):
    bound = next(b for b in mb.bounds(mb.Monopartite(u), delta=0.05) if b.name == "matchings-one-gap")
    assert bound.value == 0
    assert not bound.met


@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Gaussian(sd=0.5)])
def test_an_optimum_that_pays_1_cannot_be_passed(law):
    # What it pays holds both of its items at 1, the most there is: nothing is left to tell.
    for problem in (
        mb.Bipartite([1.0, 0.5], [1.0, 0.5], rewards=law),
        mb.Monopartite([1.0, 1.0, 0.5], rewards=law),
    ):
        assert mb.theory.graves_lai(problem, "pair").value == 0
    assert mb.theory.graves_lai(mb.Bipartite([1.0, 0.5], [0.9, 0.5], rewards=law), "pair").value > 0
    # In a matching only that pair is safe.
    assert mb.theory.graves_lai(mb.Monopartite([1.0, 1.0, 0.5, 0.5, 0.2, 0.2], rewards=law), "matching").value > 0


def test_a_program_that_is_not_solved_bounds_by_nothing_and_says_so(monkeypatch):
    class Unsolved:
        status, message = 4, "no luck"

    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: Unsolved)
    slots = mb.Bipartite([0.9, 0.3], [0.8, 0.4])
    with pytest.warns(UserWarning, match="no luck") as warnings:
        known = {bound.name: bound.value for bound in mb.bounds(slots, delta=0.05)}
    assert known["pairs-program"] == 0
    assert known["pairs"] > 0
    assert not any(name.startswith("model") for name in known)
    assert any("the bound model-pair is left out" in str(warning.message) for warning in warnings)


def test_divergences_that_differ_by_twenty_powers_of_ten_are_solved():
    slots = mb.Bipartite([0.9999999, 1], [1, 0.99, 0.999, 1], rewards=mb.Gaussian(sd=0.01))
    known = {bound.name: bound.value for bound in mb.bounds(slots, delta=0.4)}
    closed, program = known["pairs"], known["pairs-program"]
    assert closed * (1 - 1e-6) <= program <= 2 * closed * (1 + 1e-6)


def test_the_plays_of_a_solution_cannot_be_overwritten():
    limit = mb.theory.graves_lai(mb.Bipartite([0.9, 0.3], [0.8, 0.4]), "pair")
    with pytest.raises(ValueError, match="read-only"):
        limit.plays[:] = 0


def test_limits_that_make_no_sense_are_refused():
    slots, three = mb.Bipartite([0.9, 0.3], [0.8, 0.4]), mb.Monopartite([0.9, 0.5, 0.2])
    with pytest.raises(MatchbanditError, match="unknown selection 'x'"):
        mb.theory.characteristic_time(slots, plays="x", seeks="pair")
    for ask in (
        lambda: mb.theory.graves_lai(three, "matching"),
        lambda: mb.theory.characteristic_time(three, plays="pair", seeks="matching"),
    ):
        with pytest.raises(MatchbanditError, match="an even number of players; got 3"):
            ask()


def test_quantities_of_pairs_need_pairs():
    for quantity, u in (("smallest_loss", [0.9, 0.5, 0.2]), ("partner_gaps", [0.9, 0.5]), ("partner_gaps", [0.9])):
        with pytest.raises(MatchbanditError, match=f"got {len(u)}"):
            getattr(SortedPlayers(u), quantity)
