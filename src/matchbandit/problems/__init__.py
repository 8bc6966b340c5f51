"""Problems, with their true mean rewards and optimum, and the families of instances."""

from matchbandit.problems.base import Problem, problem_from
from matchbandit.problems.families import FAMILIES, Family, click_models, family
from matchbandit.problems.means import Means
from matchbandit.problems.rank1 import Bipartite, Monopartite

__all__ = [
    "FAMILIES",
    "Bipartite",
    "Family",
    "Means",
    "Monopartite",
    "Problem",
    "click_models",
    "family",
    "problem_from",
]
