"""Learn whom to pair with whom: the algorithms of matching bandits, right and fast.

The doors are listed in `_DOORS`; each is imported when it is first used, so that `import matchbandit` stays quick.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchbandit.errors import MatchbanditError
    from matchbandit.experiments import draw_bounds, reproduce
    from matchbandit.graphs import bipartite, monopartite
    from matchbandit.policies import CATALOGUE, PlannedPolicy, Policy, RoundPolicy, check_policy, policy, restore
    from matchbandit.problems import Bipartite, Means, Monopartite, family
    from matchbandit.product_model import ProductFit, product_fit
    from matchbandit.results import Found, Identification, Runs, load_found, load_identification, load_runs
    from matchbandit.rewards import Bernoulli, Binomial, Gaussian
    from matchbandit.simulation import identify, simulate
    from matchbandit.theory import bounds, quantities

_DOORS = {
    "CATALOGUE": "policies",
    "Bernoulli": "rewards",
    "Binomial": "rewards",
    "Bipartite": "problems",
    "Found": "results",
    "Identification": "results",
    "Gaussian": "rewards",
    "MatchbanditError": "errors",
    "Means": "problems",
    "Monopartite": "problems",
    "PlannedPolicy": "policies",
    "Policy": "policies",
    "ProductFit": "product_model",
    "RoundPolicy": "policies",
    "Runs": "results",
    "bipartite": "graphs",
    "bounds": "theory",
    "check_policy": "policies",
    "draw_bounds": "experiments",
    "family": "problems",
    "identify": "simulation",
    "load_found": "results",
    "load_identification": "results",
    "load_runs": "results",
    "monopartite": "graphs",
    "policy": "policies",
    "product_fit": "product_model",
    "quantities": "theory",
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
    "Identification",
    "MatchbanditError",
    "Means",
    "Monopartite",
    "PlannedPolicy",
    "Policy",
    "ProductFit",
    "RoundPolicy",
    "Runs",
    "bipartite",
    "bounds",
    "check_policy",
    "draw_bounds",
    "family",
    "identify",
    "load_found",
    "load_identification",
    "load_runs",
    "monopartite",
    "policy",
    "product_fit",
    "quantities",
    "reproduce",
    "restore",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("matchbandit")
    if name == "theory":
        return import_module("matchbandit.theory")
    if name in _DOORS:
        return getattr(import_module(f"matchbandit.{_DOORS[name]}"), name)
    raise AttributeError(f"module 'matchbandit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "theory"]
