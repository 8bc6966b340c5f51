"""What anyone can hope for: every quantity and every bound of the paper as a number, and the limits of the model."""

from matchbandit.theory.asymptotic import Limit, characteristic_time, graves_lai
from matchbandit.theory.averages import chain_regret, round_robin_regret, trivial_chain_bound, trivial_chain_regret
from matchbandit.theory.bound import Assumption, Bound
from matchbandit.theory.quantities import Quantity, quantities
from matchbandit.theory.table import bounds

__all__ = [
    "Assumption",
    "Bound",
    "Limit",
    "Quantity",
    "bounds",
    "chain_regret",
    "characteristic_time",
    "graves_lai",
    "quantities",
    "round_robin_regret",
    "trivial_chain_bound",
    "trivial_chain_regret",
]
