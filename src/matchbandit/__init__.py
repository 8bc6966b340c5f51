"""Learn whom to pair with whom: the algorithms of matching bandits, right and fast.

The doors are listed in `_DOORS`; each is imported when it is first used, so that `import matchbandit` stays quick.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchbandit.errors import MatchbanditError
    from matchbandit.experiments import reproduce
    from matchbandit.graphs import bipartite, monopartite
    from matchbandit.policies import CATALOGUE, PlannedPolicy, Policy, RoundPolicy, check_policy, policy, restore
    from matchbandit.problems import Bipartite, Monopartite, family
    from matchbandit.results import Found, Runs, load_runs
    from matchbandit.rewards import Bernoulli, Binomial, Gaussian
    from matchbandit.simulation import identify, simulate

_DOORS = {
    "CATALOGUE": "policies",
    "Bernoulli": "rewards",
    "Binomial": "rewards",
    "Bipartite": "problems",
    "Found": "results",
    "Gaussian": "rewards",
    "MatchbanditError": "errors",
    "Monopartite": "problems",
    "PlannedPolicy": "policies",
    "Policy": "policies",
    "RoundPolicy": "policies",
    "Runs": "results",
    "bipartite": "graphs",
    "check_policy": "policies",
    "family": "problems",
    "identify": "simulation",
    "load_runs": "results",
    "monopartite": "graphs",
    "policy": "policies",
    "reproduce": "experiments",
    "restore": "policies",
    "simulate": "simulation",
}

__all__ = [
    "CATALOGUE",
    "Bernoulli",
    "Binomial",
    "Bipartite",
    "Found",
    "Gaussian",
    "MatchbanditError",
    "Monopartite",
    "PlannedPolicy",
    "Policy",
    "RoundPolicy",
    "Runs",
    "bipartite",
    "check_policy",
    "family",
    "identify",
    "load_runs",
    "monopartite",
    "policy",
    "reproduce",
    "restore",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("matchbandit")
    if name in _DOORS:
        return getattr(import_module(f"matchbandit.{_DOORS[name]}"), name)
    raise AttributeError(f"module 'matchbandit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
