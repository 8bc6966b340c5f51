"""What is true: the items' strengths, the optimum, the gaps; the paper's families of instances."""

from matchbandit.problems.families import FAMILIES, Family, family
from matchbandit.problems.rank1 import Bipartite, Monopartite, Problem, problem_from

__all__ = ["FAMILIES", "Bipartite", "Family", "Monopartite", "Problem", "family", "problem_from"]
