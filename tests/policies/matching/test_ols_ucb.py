import numpy as np
import pytest
from reference import joint

import matchbandit as mb

GRAPHS = [mb.bipartite(1, 4), mb.bipartite(3, 3), mb.bipartite(3, 2), mb.monopartite(4), mb.monopartite(6)]


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
@pytest.mark.parametrize(
    ("law", "lam"), [(mb.Bernoulli(), 1.0), (mb.Binomial(4), 0.05), (mb.Gaussian(0.3), 7.0)], ids=str
)
def test_plays_what_the_definition_plays(graph, law, lam):
    truth = np.random.default_rng(1).choice([0.0, 0.2, 0.5, 0.8, 1.0], graph.n_pairs)
    policy = mb.policy("ols-ucb", lam=lam).build(graph, rewards=law)
    joint.follow(policy, truth, 60, 3, lambda n, means, t: joint.ols_ucb(n, means, t, law.sigma, lam))


def test_lam_is_1_unless_told():
    assert mb.policy("ols-ucb").build(mb.monopartite(4)).options == {"lam": 1.0}


@pytest.mark.parametrize(
    "problem", [mb.Monopartite([0.9, 0.7, 0.6, 0.3]), mb.Bipartite([0.9, 0.4], [0.2, 0.8, 0.5])], ids=str
)
def test_the_compiled_loop_plays_what_ask_and_tell_play(problem):
    slow, fast = (
        mb.simulate(problem, "ols-ucb", horizon=400, runs=2, seed=4, engine=engine, checkpoints=range(1, 401))
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()


def test_regret_levels_off():
    problem = mb.Monopartite([0.9, 0.8, 0.4, 0.3])
    runs = mb.simulate(problem, "ols-ucb", horizon=100_000, runs=5, seed=1, checkpoints=[50_000, 100_000])
    assert (runs.regret[:, 1] - runs.regret[:, 0]).mean() < 0.2 * runs.final.mean()


@pytest.mark.parametrize("lam", [0, -1.0, float("nan"), "one"])
def test_lam_must_be_positive(lam):
    with pytest.raises(mb.MatchbanditError, match="lam must"):
        mb.policy("ols-ucb", lam=lam).build(mb.monopartite(4))


@pytest.mark.slow
def test_the_contract_holds_with_options():
    mb.check_policy(mb.policy("ols-ucb", lam=0.1))
