"""The quantities of the paper's bounds on one instance, by name."""

from dataclasses import asdict, dataclass
from typing import Any

from numpy.typing import ArrayLike

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Selection
from matchbandit.problems import Bipartite, Monopartite, Problem
from matchbandit.problems.drifting import refuse_drifting
from matchbandit.rewards import Binomial, Gaussian, RewardDistribution
from matchbandit.solvers import MAX_MATCHINGS, count_matchings
from matchbandit.theory.bound import to_json
from matchbandit.theory.players import inverse_sum, sorted_descending, sorted_players

MAX_ITEMS = 1000
"""Items per side beyond which the sums over pairs take minutes."""


@dataclass(frozen=True)
class Quantity:
    """A number, or several, that the paper defines, on one instance."""

    name: str
    symbol: str
    value: Any
    source: str

    def describe(self) -> dict[str, Any]:
        """The quantity as JSON data; infinity is None."""
        return dict(to_json(asdict(self)))


def check_products(what: str, problem: object) -> Bipartite | Monopartite:
    """Refuse problems whose means are not products of strengths, and those that are too large."""
    if isinstance(problem, Bipartite | Monopartite):
        if max(problem.graph.shape) > MAX_ITEMS:
            raise MatchbanditError(
                f"{what} look at every pair, of at most {MAX_ITEMS} items per side; got {problem.graph}. "
                f"Use fewer items."
            )
        return problem
    refuse_drifting(what, problem, "Use its .problem, the strengths at the start.")
    raise MatchbanditError(
        f"{what} are for means that are products of strengths, Bipartite or Monopartite problems; "
        f"got {type(problem).__name__}."
    )


def trials_of(rewards: RewardDistribution) -> int:
    """The number of Bernoulli trials that a reward is the average of; 0 for Gaussian rewards."""
    return rewards.trials if isinstance(rewards, Binomial) else 0 if isinstance(rewards, Gaussian) else 1


def bipartite_complexity(u: ArrayLike, v: ArrayLike, *, power: int) -> float:
    """A(u, v) = Σ 1/(v_1 Δ_i^U)^p + Σ 1/(u_1 Δ_j^V)^p: p = 1 for regret (Theorem 3.1), p = 2 for identification (3.2).

    >>> round(bipartite_complexity([0.9, 0.4], [0.8, 0.3, 0.3], power=1), 6)
    6.944444
    """
    u, v = sorted_descending(u), sorted_descending(v)
    return inverse_sum(float(v[0]) * (u[0] - u), power) + inverse_sum(float(u[0]) * (v[0] - v), power)


def worst_round_regret(problem: Bipartite | Monopartite, selection: Selection) -> float:
    """What the worst pair or the worst matching loses: T times this is an upper bound for every policy."""
    if selection == "pair":
        worst = float(problem.means.min())
    elif isinstance(problem, Bipartite):
        n = problem.graph.matching_size
        worst = float((sorted_descending(problem.u)[-n:] * sorted_descending(problem.v)[-n:][::-1]).sum())
    else:
        u = sorted_players(problem).u
        worst = float((u * u[::-1]).sum() / 2)
    return problem.optimum(selection) - worst


def quantities(problem: Problem) -> list[Quantity]:
    """Every quantity that the paper defines on this kind of problem.

    Parameters
    ----------
    problem : Bipartite or Monopartite
        Means that are products of strengths.

    Returns
    -------
    list of Quantity
        Each with `name`, `symbol`, `value` and `source`; gaps are in descending order of strength. Those of matchings
        are for an even number of players from 4 on.
    """
    problem = check_products("the paper's quantities", problem)
    return _of_bipartite(problem) if isinstance(problem, Bipartite) else _of_monopartite(problem)


def _of_bipartite(problem: Bipartite) -> list[Quantity]:
    u, v = sorted_descending(problem.u), sorted_descending(problem.v)
    return [
        Quantity("row_gaps", "Δ^U", (u[0] - u).tolist(), "Section 3.1"),
        Quantity("column_gaps", "Δ^V", (v[0] - v).tolist(), "Section 3.1"),
        Quantity("mean_row", "μ_U", float(u.mean()), "Section 5.1"),
        Quantity("mean_column", "μ_V", float(v.mean()), "Section 5.1"),
        Quantity("complexity_regret", "A(u,v)", bipartite_complexity(u, v, power=1), "Theorem 3.1"),
        Quantity("complexity_identification", "A(u,v)", bipartite_complexity(u, v, power=2), "Theorem 3.2"),
    ]


def _of_monopartite(problem: Monopartite) -> list[Quantity]:
    players = sorted_players(problem)
    u = players.u
    result = [
        Quantity("neighbour_gaps", "Δ_(k,k+1)", (u[:-1] - u[1:]).tolist(), "Section 3.2"),
        Quantity("gaps_to_first", "Δ_(1,i)", (u[0] - u[1:]).tolist(), "Section 3.2"),
        Quantity("gaps_to_second", "Δ_(2,i)", players.gaps_to_second.tolist(), "Theorem 3.3"),
        Quantity("complexity_regret", "A(u)", players.complexity(power=1), "Theorem 3.3"),
        Quantity("complexity_identification", "A(u)", players.complexity(power=2), "Theorem 3.4"),
    ]
    if len(u) % 2 or len(u) < 4:  # no matching of all, or only one
        return result
    s, h = players.hardest_borders
    together, explored = players.least_comparison_bounds
    result += [
        Quantity("partner_gaps", "Δ_i", players.partner_gaps.tolist(), "Theorem 3.5"),
        Quantity("complexity_order", "A(u)", players.order_complexity, "Theorem 3.5"),
        Quantity("border_gaps", "Δ_(2k,2k+1)", players.border_gaps.tolist(), "Section 4.1"),
        Quantity("others_means", "μ_(−2k,2k+1)", players.others_means.tolist(), "Section 4.1"),
        Quantity("cluster_means", "μ̃_(−k,k+1)", players.cluster_means.tolist(), "Lemma E.2"),
        Quantity("smallest_weighted_gap", "γ_min", players.smallest_weighted_gap, "Section 4.1"),
        Quantity("border_s", "s", s, "Theorem H.1"),
        Quantity("border_h", "h", h, "Theorem H.1"),
        Quantity("alpha", "α", players.alpha, "Theorem H.1"),
        Quantity("smallest_loss", "Δ_min", players.smallest_loss, "Section 4.2.1"),
        Quantity("mixing_losses", "r_ij", players.mixing_losses.tolist(), "Lemma E.1"),
        Quantity("bound_together", "U_D", together, "Lemma 4.5"),
        Quantity("bound_explored", "U_I", explored, "Lemma 4.5"),
    ]
    if count_matchings(problem.graph) <= MAX_MATCHINGS:
        source = "Section 4.2.1, every matching"
        result.append(Quantity("smallest_loss_of_all", "Δ_min", players.smallest_loss_of_all, source))
    return result
