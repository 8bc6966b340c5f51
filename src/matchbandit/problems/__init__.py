"""What is true: strengths or means, the optimum, the gaps; the paper's families of instances."""

from matchbandit.problems.base import Problem
from matchbandit.problems.families import FAMILIES, Family, family
from matchbandit.problems.from_description import problem_from
from matchbandit.problems.means import Means
from matchbandit.problems.rank1 import Bipartite, Monopartite

__all__ = ["FAMILIES", "Bipartite", "Family", "Means", "Monopartite", "Problem", "family", "problem_from"]
