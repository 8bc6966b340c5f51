"""Every quantity and every bound of the paper as a number, and asymptotic lower bounds of the product model."""

from matchbandit.solvers.characteristic import Solution
from matchbandit.theory.asymptotic import characteristic_time, graves_lai
from matchbandit.theory.bound import Assumption, Bound, Bounds
from matchbandit.theory.corrections import CORRECTIONS, Correction
from matchbandit.theory.players import round_robin_regret
from matchbandit.theory.quantities import Quantity, quantities
from matchbandit.theory.table import LeftOut, Report, bounds, report

__all__ = [
    "CORRECTIONS",
    "Assumption",
    "Bound",
    "Bounds",
    "Correction",
    "LeftOut",
    "Quantity",
    "Report",
    "Solution",
    "bounds",
    "characteristic_time",
    "graves_lai",
    "quantities",
    "report",
    "round_robin_regret",
]
