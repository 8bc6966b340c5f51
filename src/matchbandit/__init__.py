"""Learn whom to pair with whom: the algorithms of matching bandits, right and fast.

The public API is listed in `_HOME`; each name is imported when it is first used, so that `import matchbandit` is quick.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchbandit.allowed import Allowed as Allowed
    from matchbandit.errors import MatchbanditError as MatchbanditError
    from matchbandit.estimation import estimates as estimates
    from matchbandit.graphs import bipartite as bipartite
    from matchbandit.graphs import monopartite as monopartite
    from matchbandit.past_results import PastResults as PastResults
    from matchbandit.past_results import read_results as read_results
    from matchbandit.placement import plot_bounds as plot_bounds
    from matchbandit.policies import CATALOGUE as CATALOGUE
    from matchbandit.policies import Capabilities as Capabilities
    from matchbandit.policies import CountsPolicy as CountsPolicy
    from matchbandit.policies import Decision as Decision
    from matchbandit.policies import PlannedPolicy as PlannedPolicy
    from matchbandit.policies import Policy as Policy
    from matchbandit.policies import RoundPolicy as RoundPolicy
    from matchbandit.policies import check_policy as check_policy
    from matchbandit.policies import counts_policy as counts_policy
    from matchbandit.policies import policy as policy
    from matchbandit.policies import restore as restore
    from matchbandit.problems import Bipartite as Bipartite
    from matchbandit.problems import Means as Means
    from matchbandit.problems import Monopartite as Monopartite
    from matchbandit.problems import family as family
    from matchbandit.product_model import ProductFit as ProductFit
    from matchbandit.product_model import product_fit as product_fit
    from matchbandit.results import Comparison as Comparison
    from matchbandit.results import Identification as Identification
    from matchbandit.results import Runs as Runs
    from matchbandit.results import concat as concat
    from matchbandit.results import load as load
    from matchbandit.results import load_runs as load_runs
    from matchbandit.results import plot as plot
    from matchbandit.rewards import Bernoulli as Bernoulli
    from matchbandit.rewards import Binomial as Binomial
    from matchbandit.rewards import Gaussian as Gaussian
    from matchbandit.simulation import compare as compare
    from matchbandit.simulation import identify as identify
    from matchbandit.simulation import simulate as simulate
    from matchbandit.studies import Study as Study
    from matchbandit.studies import propose as propose
    from matchbandit.studies import replay as replay
    from matchbandit.studies import report as report
    from matchbandit.studies import reproduce as reproduce
    from matchbandit.theory import bounds as bounds
    from matchbandit.theory import quantities as quantities
    from matchbandit.watching import watch as watch

_HOME = {
    "allowed": ("Allowed",),
    "errors": ("MatchbanditError",),
    "estimation": ("estimates",),
    "graphs": ("bipartite", "monopartite"),
    "past_results": ("PastResults", "read_results"),
    "placement": ("plot_bounds",),
    "policies": (
        "CATALOGUE", "Capabilities", "Decision", "PlannedPolicy", "Policy", "RoundPolicy", "check_policy",
        "CountsPolicy", "counts_policy", "policy", "restore",
    ),
    "problems": ("Bipartite", "Means", "Monopartite", "family"),
    "product_model": ("ProductFit", "product_fit"),
    "results": (
        "Comparison", "Identification", "Runs", "concat", "load", "load_runs", "plot",
    ),
    "rewards": ("Bernoulli", "Binomial", "Gaussian"),
    "simulation": ("compare", "identify", "simulate"),
    "studies": ("Study", "propose", "replay", "report", "reproduce"),
    "theory": ("bounds", "quantities"),
    "watching": ("watch",),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _HOME.items() for name in names}

__all__ = sorted(_ROOM_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("matchbandit")
    if name == "theory":
        return import_module("matchbandit.theory")
    if name in _ROOM_OF:
        return getattr(import_module(f"matchbandit.{_ROOM_OF[name]}"), name)
    raise AttributeError(f"module 'matchbandit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "theory"]
