"""A policy whose answer is known beforehand, with ε: importable by its name `reference.answers:KnownAnswer`."""

from typing import Annotated

import numpy as np

import matchbandit as mb
from matchbandit.plans import FixedSweeps
from matchbandit.policies.options import Delta, Epsilon, whole_between
from matchbandit.solvers import all_matchings

ROUNDS = 100
"""Until the answer; (1 − ε) of them with ε."""


class KnownAnswer(mb.PlannedPolicy):
    """Plays its answer, and is done after 100 (1 − ε) rounds."""

    name = "known-answer"
    summary = "an answer that is known beforehand"
    reference = "a test"
    capabilities = mb.Capabilities(selections=("pair", "matching"), goals=("identification",), supports_epsilon=True)
    state_fields = ("is_over",)

    def __init__(
        self,
        setting,
        rng,
        *,
        delta: Delta = 0.05,
        epsilon: Epsilon | None = None,
        answer: Annotated[int, whole_between("answer", 0, 1000)] = 0,
        selection: str | None = None,
    ):
        super().__init__(setting, rng)
        self.is_over = False
        graph = self.graph
        self.edges = np.array([answer]) if self.selection == "pair" else all_matchings(graph)[answer]

    @property
    def finished(self):
        return self.is_over

    def plan(self):
        rounds = np.arange(len(self.edges))[None]
        return FixedSweeps(edges=self.edges, rounds=rounds, limit=round(ROUNDS * (1 - (self.options["epsilon"] or 0))))

    def learn(self, tally):
        self.is_over = True

    def recommend(self):
        return self.graph.pairs_of(self.edges)

    def explain_extra(self):
        return {}


class OtherEpsilon(KnownAnswer):
    """The same with an option `epsilon` that is not ε: it does not have the capability."""

    name = "other-epsilon"
    capabilities = mb.Capabilities(selections=("pair", "matching"), goals=("identification",))
