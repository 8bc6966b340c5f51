"""A policy with an index: one formula, and everything else from the base."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.compiled import compiled
from matchbandit.fingerprint import fingerprint
from matchbandit.policies.index_policy import IndexPolicy
from matchbandit.policies.matching.cts_beta import CtsBeta
from matchbandit.policies.matching.cucb import Cucb
from matchbandit.policies.pair.kl_ucb import KlUcb


@compiled
def bonus(plays, sums, t, scale, rng, weights):
    """The mean, and scale · t / n: so much that everything is played for ever."""
    for edge in range(len(weights)):
        weights[edge] = sums[edge] / plays[edge] + scale * t / plays[edge]


class Restless(IndexPolicy):
    """Mean + scale · t / n."""

    name: ClassVar[str] = "restless"
    summary: ClassVar[str] = "plays everything for ever"
    reference: ClassVar[str] = "none"
    capabilities = replace(IndexPolicy.capabilities, selections=("pair", "matching"))
    index = staticmethod(bonus)

    def __init__(self, setting, rng, *, scale: float = 1.0, selection=None):
        super().__init__(setting, rng)

    def params(self):
        return float(self.options["scale"])


@pytest.mark.parametrize("selection", ["pair", "matching"])
@pytest.mark.parametrize("shape", [(2, 3), (6, 7)], ids=str)  # 7!/1! matchings are too many to list
@pytest.mark.sampled(1)
def test_a_formula_is_a_whole_policy(selection, shape):
    problem = mb.Bipartite(np.linspace(0.9, 0.4, shape[0]), np.linspace(0.8, 0.3, shape[1]))
    spec = mb.policy(Restless, selection=selection)
    slow, fast = (
        mb.simulate(problem, spec, horizon=200, seed=4, engine=engine, checkpoints=[200]) for engine in ("step", "loop")
    )
    assert slow.plays.tolist() == fast.plays.tolist()
    assert np.ptp(fast.plays) <= fast.plays.mean()
    policy = mb.counts_policy(spec, problem.graph)
    counts = np.arange(1, problem.graph.n_pairs + 1)
    policy.set_counts(counts - 1, counts, np.zeros(len(counts)))
    first, last = problem.graph.pairs[0].tolist(), problem.graph.pairs[-1].tolist()
    assert first in policy.decide(np.random.default_rng(1)).tolist()  # played least
    assert policy.decide(np.random.default_rng(1), allowed=[last]).tolist() == [last]


@pytest.mark.slow
def test_a_formula_in_plain_python_plays_the_same_with_a_warning():
    class Plain(Restless):
        index = staticmethod(bonus.py_func)

    problem = mb.Bipartite([0.9, 0.4], [0.8, 0.5, 0.3])
    fast = mb.simulate(problem, mb.policy(Restless, selection="matching"), horizon=50, seed=1)
    with pytest.warns(UserWarning, match="plain Python"):
        slow = mb.simulate(problem, mb.policy(Plain, selection="matching"), horizon=50, seed=1)
    assert slow.plays.tolist() == fast.plays.tolist()


def test_policies_with_other_formulas_have_other_compiled_code():
    prints = [fingerprint(kind.choose) for kind in (Cucb, CtsBeta, KlUcb, Restless)]
    assert len(set(prints)) == 4
    assert prints == [fingerprint(kind.choose) for kind in (Cucb, CtsBeta, KlUcb, Restless)]


@pytest.mark.parametrize("name", ["cucb", "kl-ucb"])
def test_a_rollback_and_a_restored_state_have_the_total_of_all_plays(name):
    policy = mb.policy(name).build(mb.bipartite(2, 3))
    for _ in range(8):
        policy.tell(policy.ask(), np.ones(policy.round_size))
    rollback = policy._snapshot()
    policy.tell(policy.ask(), np.ones(policy.round_size))
    rollback()
    assert policy.arrays.total[0] == policy.arrays.plays.sum() == 8 * policy.round_size
    assert mb.restore(policy.state()).arrays.total[0] == 8 * policy.round_size


def test_only_policies_that_play_matchings_have_a_limit_on_players():
    class Pairs(IndexPolicy):
        name, summary, reference = "pairs", "", ""
        capabilities: ClassVar[mb.Capabilities] = replace(IndexPolicy.capabilities, selections=("pair",))

    assert Pairs.capabilities.compiled_max_players is KlUcb.capabilities.compiled_max_players is None
    assert Cucb.capabilities.compiled_max_players is not None


def test_a_float_option_that_is_given_as_an_int_is_a_float():
    lam = mb.policy("ols-ucb", lam=3).build(mb.monopartite(4)).options["lam"]
    assert (lam, type(lam)) == (3, float)
