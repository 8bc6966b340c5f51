"""Learn whom to pair with whom: the algorithms of matching bandits, correct and fast.

`__all__` is the public API. Each name is imported when it is first used, so that `import matchbandit` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchbandit import theory as theory
    from matchbandit.allowed import Allowed as Allowed
    from matchbandit.errors import MatchbanditError as MatchbanditError
    from matchbandit.estimation import estimates as estimates
    from matchbandit.graphs import Graph as Graph
    from matchbandit.graphs import bipartite as bipartite
    from matchbandit.graphs import monopartite as monopartite
    from matchbandit.lab.paper.reproduce import reproduce as reproduce
    from matchbandit.lab.playback import watch as watch
    from matchbandit.lab.replay import replay as replay
    from matchbandit.lab.studies.report import report as report
    from matchbandit.lab.studies.study import Study as Study
    from matchbandit.past_results import PastResults as PastResults
    from matchbandit.past_results import read_results as read_results
    from matchbandit.placement import plot_bounds as plot_bounds
    from matchbandit.plans import Plan as Plan
    from matchbandit.plans import Tally as Tally
    from matchbandit.policies import CATALOGUE as CATALOGUE
    from matchbandit.policies import Capabilities as Capabilities
    from matchbandit.policies import ContractError as ContractError
    from matchbandit.policies import CountsPolicy as CountsPolicy
    from matchbandit.policies import Decision as Decision
    from matchbandit.policies import Explanation as Explanation
    from matchbandit.policies import IndexPolicy as IndexPolicy
    from matchbandit.policies import PlannedPolicy as PlannedPolicy
    from matchbandit.policies import Policy as Policy
    from matchbandit.policies import PolicySpec as PolicySpec
    from matchbandit.policies import RoundPolicy as RoundPolicy
    from matchbandit.policies import Setting as Setting
    from matchbandit.policies import check_policy as check_policy
    from matchbandit.policies import counts_policy as counts_policy
    from matchbandit.policies import policy as policy
    from matchbandit.policies import restore as restore
    from matchbandit.problems import Bipartite as Bipartite
    from matchbandit.problems import Drift as Drift
    from matchbandit.problems import Drifting as Drifting
    from matchbandit.problems import Family as Family
    from matchbandit.problems import Jumps as Jumps
    from matchbandit.problems import Means as Means
    from matchbandit.problems import Monopartite as Monopartite
    from matchbandit.problems import Problem as Problem
    from matchbandit.problems import RandomWalk as RandomWalk
    from matchbandit.problems import Seasons as Seasons
    from matchbandit.problems import click_models as click_models
    from matchbandit.problems import family as family
    from matchbandit.product_model import ProductFit as ProductFit
    from matchbandit.product_model import product_fit as product_fit
    from matchbandit.results import Comparison as Comparison
    from matchbandit.results import Identification as Identification
    from matchbandit.results import Rows as Rows
    from matchbandit.results import RunInfo as RunInfo
    from matchbandit.results import Runs as Runs
    from matchbandit.results import concat as concat
    from matchbandit.results import load as load
    from matchbandit.results import plot as plot
    from matchbandit.rewards import Bernoulli as Bernoulli
    from matchbandit.rewards import Binomial as Binomial
    from matchbandit.rewards import Gaussian as Gaussian
    from matchbandit.rewards import RewardDistribution as RewardDistribution
    from matchbandit.simulation import Interrupted as Interrupted
    from matchbandit.simulation import compare as compare
    from matchbandit.simulation import identify as identify
    from matchbandit.simulation import simulate as simulate
    from matchbandit.theory import Bound as Bound
    from matchbandit.theory import Bounds as Bounds
    from matchbandit.theory import bounds as bounds
    from matchbandit.theory import quantities as quantities

    __version__: str

_EXPORTS = {
    "allowed": ("Allowed",),
    "errors": ("MatchbanditError",),
    "estimation": ("estimates",),
    "graphs": ("Graph", "bipartite", "monopartite"),
    "lab.paper.reproduce": ("reproduce",),
    "lab.playback": ("watch",),
    "lab.replay": ("replay",),
    "lab.studies.report": ("report",),
    "lab.studies.study": ("Study",),
    "past_results": ("PastResults", "read_results"),
    "placement": ("plot_bounds",),
    "plans": ("Plan", "Tally"),
    "policies": (
        "CATALOGUE", "Capabilities", "ContractError", "CountsPolicy", "Decision", "Explanation", "IndexPolicy",
        "PlannedPolicy", "Policy", "PolicySpec", "RoundPolicy", "Setting", "check_policy", "counts_policy",
        "policy", "restore",
    ),
    "problems": (
        "Bipartite", "Drift", "Drifting", "Family", "Jumps", "Means", "Monopartite", "Problem", "RandomWalk", "Seasons",
        "click_models", "family",
    ),
    "product_model": ("ProductFit", "product_fit"),
    "results": ("Comparison", "Identification", "Rows", "RunInfo", "Runs", "concat", "load", "plot"),
    "rewards": ("Bernoulli", "Binomial", "Gaussian", "RewardDistribution"),
    "simulation": ("Interrupted", "compare", "identify", "simulate"),
    "theory": ("Bound", "Bounds", "bounds", "quantities"),
}  # fmt: skip
"""The names that each module exports."""
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = [
    "CATALOGUE",
    "Allowed",
    "Bernoulli",
    "Binomial",
    "Bipartite",
    "Bound",
    "Bounds",
    "Capabilities",
    "Comparison",
    "ContractError",
    "CountsPolicy",
    "Decision",
    "Drift",
    "Drifting",
    "Explanation",
    "Family",
    "Gaussian",
    "Graph",
    "Identification",
    "IndexPolicy",
    "Interrupted",
    "Jumps",
    "MatchbanditError",
    "Means",
    "Monopartite",
    "PastResults",
    "Plan",
    "PlannedPolicy",
    "Policy",
    "PolicySpec",
    "Problem",
    "ProductFit",
    "RandomWalk",
    "RewardDistribution",
    "RoundPolicy",
    "Rows",
    "RunInfo",
    "Runs",
    "Seasons",
    "Setting",
    "Study",
    "Tally",
    "bipartite",
    "bounds",
    "check_policy",
    "click_models",
    "compare",
    "concat",
    "counts_policy",
    "estimates",
    "family",
    "identify",
    "load",
    "monopartite",
    "plot",
    "plot_bounds",
    "policy",
    "product_fit",
    "quantities",
    "read_results",
    "replay",
    "report",
    "reproduce",
    "restore",
    "simulate",
    "watch",
]

if not TYPE_CHECKING:  # so that type checkers refuse a misspelt name

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version  # slow, and rarely needed

            return version("matchbandit")
        if name == "theory":
            return import_module("matchbandit.theory")
        if name in _MODULE_OF:
            return getattr(import_module(f"matchbandit.{_MODULE_OF[name]}"), name)
        raise AttributeError(f"module 'matchbandit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "theory"]
