"""A stateful machine: ask, tell, tell again, forget, restore and mislead any policy in any order."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import matchbandit as mb

MEANS = np.random.default_rng(4).random(40)


class Live(RuleBasedStateMachine):
    """A policy beside its twin, who is told everything once, in order, and never restored."""

    name = "uts"

    @initialize(seed=st.integers(0, 5))
    def build(self, seed):
        capabilities = mb.CATALOGUE[self.name].capabilities
        graph = mb.monopartite(4) if "monopartite" in capabilities.graphs else mb.bipartite(2, 3)
        self.spec = mb.policy(self.name)
        self.one, self.twin = (self.spec.build(graph, horizon=10**4, seed=seed) for _ in range(2))

    def told(self, rewards):
        """Both are told the same."""
        pairs = self.twin.ask()
        assert np.array_equal(self.one.ask(), pairs)
        self.one.tell(pairs[::-1], rewards[::-1])
        self.twin.tell(pairs.tolist(), list(rewards))

    @rule()
    def ask(self):
        assert np.array_equal(self.one.ask(), self.one.ask())

    @rule(times=st.integers(1, 30), seed=st.integers(0, 100))
    def play(self, times, seed):
        noise = np.random.default_rng(seed)
        for _ in range(times):
            edges = self.one.graph.edges(self.one.ask())
            self.told((noise.random(len(edges)) < MEANS[edges]).astype(float))

    @rule(missing=st.integers(0, 1), value=st.sampled_from([0.0, 1.0]))
    def play_with_a_pair_missing(self, missing, value):
        rewards = np.full(len(self.one.ask()), value)
        rewards[missing % len(rewards)] = np.nan
        self.told(rewards)

    @rule()
    def restore(self):
        self.one = mb.restore(json.loads(json.dumps(self.one.state())))

    @rule(value=st.sampled_from([1.5, -0.1, np.inf, "x"]))
    def mislead(self, value):
        pairs, before = self.one.ask(), json.dumps(self.one.state())
        with pytest.raises(mb.MatchbanditError):
            self.one.tell(pairs, [value] * len(pairs))
        assert json.dumps(self.one.state()) == before

    @invariant()
    def agree(self):
        if hasattr(self, "one"):
            assert self.one.round == self.twin.round == self.one.rounds + 1
            assert self.one.done == self.twin.done
            assert np.array_equal(self.one.recommend(), self.twin.recommend())


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", list(mb.CATALOGUE))
def test_a_policy_survives_anything(name):
    machine = type("Machine", (Live,), {"name": name})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=8,
            stateful_step_count=12,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
