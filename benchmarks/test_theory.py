"""How long bounds take. A new problem each time, as those of the product model are remembered by problem."""

import numpy as np

import matchbandit as mb

EIGHT = [0.65, 0.65, 0.55, 0.55, 0.45, 0.45, 0.35, 0.35]


def test_bounds_of_eight_players(benchmark):
    found = benchmark.pedantic(lambda: mb.bounds(mb.Monopartite(EIGHT), horizon=10**6, delta=0.05), rounds=3)
    assert len(found) > 20


def test_time_of_eight_players_playing_matchings(benchmark):
    benchmark.pedantic(
        lambda: mb.theory.characteristic_time(mb.Monopartite(EIGHT), plays="matching", seeks="matching"), rounds=3
    )


def test_time_of_sixteen_players_playing_pairs(benchmark):
    u = np.linspace(0.95, 0.2, 16)
    benchmark.pedantic(
        lambda: mb.theory.characteristic_time(mb.Monopartite(u), plays="pair", seeks="matching"), rounds=3
    )


def test_bounds_of_two_hundred_players(benchmark):
    u = np.linspace(0.95, 0.05, 200)
    benchmark.pedantic(lambda: mb.bounds(mb.Monopartite(u), delta=0.05), rounds=2)
