import numpy as np
import pytest

import matchbandit as mb


@pytest.mark.parametrize(
    ("graph", "selection", "cycle"),
    [
        (mb.bipartite(2, 3), "pair", 6),
        (mb.bipartite(2, 5), "matching", 5),
        (mb.bipartite(4, 3), "matching", 4),
        (mb.monopartite(6), "matching", 5),
        (mb.monopartite(5), "pair", 10),
    ],
)
def test_a_cycle_plays_every_pair_once(graph, selection, cycle):
    policy = mb.policy("uniform", selection=selection).build(graph)
    plays = np.zeros(graph.n_pairs, dtype=int)
    for _ in range(cycle):
        pairs = policy.ask()
        plays[graph.edges(pairs)] += 1
        policy.tell(pairs, np.zeros(len(pairs)))
    assert (plays == 1).all()


def test_the_usual_selection_is_pairs_of_slots_and_matchings_of_players():
    assert mb.policy("uniform").build(mb.bipartite(2, 2)).selection == "pair"
    assert mb.policy("uniform").build(mb.monopartite(4)).selection == "matching"


@pytest.mark.parametrize("selection", ["pair", "matching"])
@pytest.mark.parametrize(
    "problem", [mb.Bipartite([0.2, 0.9, 0.5], [0.3, 0.8]), mb.Monopartite([0.3, 0.9, 0.1, 0.8, 0.6, 0.5])]
)
def test_it_recommends_the_best_in_the_end(problem, selection):
    rng = np.random.default_rng(4)
    policy = mb.policy("uniform", selection=selection).build(problem.graph)
    for _ in range(6000):
        pairs = policy.ask()
        policy.tell(pairs, problem.rewards.draw(problem.means[problem.graph.edges(pairs)], rng))
    assert np.isclose(problem.value(policy.recommend()), problem.optimum(selection))


def test_its_regret_is_that_of_a_tournament():
    # u = .65 .65 .55 .55 .45 .45 .35 .35: a uniform tournament loses exactly 0.0571429 a round.
    problem = mb.family("centred", n=4, mean=0.5, gap=0.1).draw()
    runs = mb.simulate(problem, "uniform", horizon=70_000, checkpoints=[7, 20_000, 70_000])
    assert np.allclose(runs.regret[0], 0.4 / 7 * np.array([7, 20_000, 70_000]), atol=0.4)
    assert np.isclose(runs.regret[0, 2], 0.4 * 10_000)


def test_the_tournaments_that_never_split_in_figure_2():
    # Published: 1333 and 4800 at horizon 200 000, exactly the regret of a uniform tournament, for N = 2 and 3.
    for n, published in ((2, 1333), (3, 4800)):
        runs = mb.simulate(mb.family("staircase", n=n, gap=0.1), "uniform", horizon=200_000)
        assert abs(runs.final[0] - published) < 1
