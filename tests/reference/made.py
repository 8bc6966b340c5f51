"""Results made by hand."""

import numpy as np

from matchbandit.graphs import bipartite
from matchbandit.results import Identification, RunInfo, Runs


def made_about(graph=None, **parts):
    """The least that runs say of themselves."""
    graph = graph or bipartite(1, 1)
    least = {"problem": {}, "graph": graph.describe(), "policy": "uts", "options": {}, "selection": "pair"}
    return RunInfo(**{**least, "runs": 3, "seed": 7, "engine": "loop", **parts})


def made_runs(graph, n_runs=3, **parts):
    """Runs with awkward numbers: huge counts, and regrets with all their digits."""
    rng = np.random.default_rng(0)
    return Runs(
        about=made_about(graph, **parts),
        rounds=np.array([1, 10**6, 2**62]),
        regret=rng.uniform(size=(n_runs, 3)) * [1e-9, 1, 1e15],
        counted=rng.integers(2**60, 2**62, size=(n_runs, graph.n_pairs)),
        reward_sums=rng.normal(size=(n_runs, graph.n_pairs)) * 1e15,
    )


def final(regrets, rounds=10, **parts):
    """Runs with one checkpoint and these regrets."""
    n = len(regrets)
    told = made_about(horizon=rounds, **{"runs": n, **parts})
    regret = np.array(regrets, dtype=float)[:, None]
    return Runs(told, np.array([rounds]), regret, np.zeros((n, 1), dtype=np.int64), np.zeros((n, 1)))


def found(rounds, *, identified=None, correct=None, **parts):
    """An identification that took so many rounds, right unless told otherwise."""
    n = len(rounds)
    every = np.ones(n, dtype=bool)
    return Identification(
        made_about(**{"runs": n, "options": {"delta": 0.1}, **parts}),
        np.array(rounds),
        np.array(rounds),
        every if identified is None else np.array(identified, dtype=bool),
        every if correct is None else np.array(correct, dtype=bool),
        np.zeros((n, 1, 2), dtype=np.int64),
    )


def assert_same(one, other):
    """Are both simulations the same to the bit, types included?"""
    assert one.about == other.about
    assert one.splits == other.splits
    assert one.eliminations == other.eliminations
    for part in ("rounds", "regret", "plays_by_edge", "ended", "reward_sums"):
        assert getattr(one, part).dtype == getattr(other, part).dtype
        assert np.array_equal(getattr(one, part), getattr(other, part))


def assert_same_found(one, other):
    """Are both identifications the same to the bit, types included?"""
    assert one.about == other.about
    for part in ("rounds", "pairs", "identified", "correct", "answers"):
        assert getattr(one, part).dtype == getattr(other, part).dtype
        assert np.array_equal(getattr(one, part), getattr(other, part))
