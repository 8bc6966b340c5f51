"""Problems, with their true mean rewards and optimum, and the families of instances."""

from matchbandit.problems.base import Problem, problem_from
from matchbandit.problems.drifting import Drift, Drifting, Jumps, RandomWalk, Seasons
from matchbandit.problems.families import FAMILIES, Family, click_models, family
from matchbandit.problems.means import Means
from matchbandit.problems.rank1 import Bipartite, Monopartite

__all__ = [
    "FAMILIES",
    "Bipartite",
    "Drift",
    "Drifting",
    "Family",
    "Jumps",
    "Means",
    "Monopartite",
    "Problem",
    "RandomWalk",
    "Seasons",
    "click_models",
    "family",
    "problem_from",
]
