"""A user's script, for the type checker: `mypy` accepts it, and needs each `type: ignore` in it."""

import matchbandit as mb


class Mine(mb.RoundPolicy):
    """A user-defined policy, as far as the type checker looks."""

    name = "mine"


def measure(problem: mb.Problem) -> mb.Runs:
    """Policies are passed by name, as a spec or as a class."""
    spec: mb.PolicySpec = mb.policy("uts", gamma=2)
    mb.simulate(problem, "uts", horizon=100)
    mb.simulate(problem, Mine, horizon=100)
    comparison: mb.Comparison = mb.compare(problem, ["uts", spec, Mine], horizon=100)
    assert comparison
    return mb.simulate(problem, spec, horizon=100)


def certify(problem: mb.Problem) -> mb.Identification:
    """Identification, bounds and an explanation are typed."""
    bounds: mb.Bounds = mb.bounds(problem, delta=0.05)
    assert all(isinstance(bound, mb.Bound) for bound in bounds)
    within: mb.Identification = mb.identify(problem, "sequential-halving", budget=1000)
    assert within.about.budget == 1000
    return mb.identify(problem, "rank1-certify", delta=0.05, epsilon=0.1)


def pair(graph: mb.Graph) -> list[list[int]]:
    """A live policy."""
    live: mb.Policy = mb.policy("rank1-thompson").build(graph, seed=1)
    explanation: mb.Explanation = live.explain()
    return explanation["recommendation"]


mb.simualte  # type: ignore[attr-defined]  # noqa: B018
