"""PB-MHB: Thompson sampling of items and positions, by Metropolis–Hastings."""

from math import erf, exp, log, sqrt
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Pairs
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.combinatorial import CombinatorialArrays, CombinatorialPolicy, round_number
from matchbandit.policies.options import between, whole_between
from matchbandit.policies.page import Page, edge_of, page_of
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers import best_matching

PSEUDO = 0.5
"""Pseudo-successes and pseudo-failures of each pair before the first round."""
WIDE = 0.5
"""Random walks wider than this propose uniform values and thin them out; narrower ones are drawn until they fit."""


class MetropolisParams(NamedTuple):
    """What only it needs."""

    page: Page
    width: float
    """c."""
    sweeps: int
    """m."""
    n_fixed: int
    """So many positions, from the first on, have κ = 1."""
    theta: Floats
    """The last sample of the items; −1 before the first one."""
    kappa: Floats
    """The last sample of the positions."""


@compiled
def choose(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges) -> None:
    """Sample θ and κ from where the last round ended; the items by θ go to the positions by κ, greatest first."""
    params = arrays.params
    page, theta, kappa = params.page, params.theta, params.kappa
    if theta[0] < 0.0:
        for i in range(len(theta)):
            theta[i] = uniform(rng)
        for k in range(len(kappa)):
            kappa[k] = 1.0 if k < params.n_fixed else uniform(rng)
    sigma = params.width / sqrt(round_number(arrays))
    for _ in range(params.sweeps):
        for i in range(len(theta)):
            walk(arrays.plays, arrays.sums, theta, i, page.item_step, kappa, page.position_step, sigma, rng)
        for k in range(params.n_fixed, len(kappa)):
            walk(arrays.plays, arrays.sums, kappa, k, page.position_step, theta, page.item_step, sigma, rng)
    place_items(theta, kappa, page, edges)


@compiled
def uniform(rng: np.random.Generator) -> float:
    """A draw from the open interval (0, 1)."""
    x = 0.0
    while x == 0.0:
        x = rng.random()
    return float(x)


@compiled
def propose(x: float, sigma: float, rng: np.random.Generator) -> float:
    """A draw from N(x, sigma²) within (0, 1)."""
    if sigma > WIDE:
        while True:
            y = uniform(rng)
            if rng.random() < exp(-((y - x) ** 2) / (2.0 * sigma * sigma)):
                return y
    while True:
        y = x + sigma * rng.standard_normal()
        if 0.0 < y < 1.0:
            return y


@compiled
def mass(x: float, sigma: float) -> float:
    """Twice the probability that N(x, sigma²) lies within (0, 1)."""
    scale = sigma * sqrt(2.0)
    return erf((1.0 - x) / scale) + erf(x / scale)


@compiled
def walk(
    plays: Counts,
    sums: Floats,
    values: Floats,
    place: int,
    step: int,
    partners: Floats,
    partner_step: int,
    sigma: float,
    rng: np.random.Generator,
) -> None:
    """One step of a truncated Gaussian random walk of values[place], given the values of all partners.

    The target is ∏ (x y_j)^(s_j + ½) (1 − x y_j)^(f_j + ½) over the partners, s_j rewards and f_j failures with each.
    """
    x = values[place]
    y = propose(x, sigma, rng)
    total, ratio = 0.0, 0.0
    for j in range(len(partners)):
        edge = place * step + j * partner_step
        total += sums[edge] + PSEUDO
        ratio += (plays[edge] - sums[edge] + PSEUDO) * log((1.0 - y * partners[j]) / (1.0 - x * partners[j]))
    ratio += total * log(y / x) + log(mass(x, sigma) / mass(y, sigma))
    if ratio >= 0.0 or rng.random() < exp(ratio):
        values[place] = y


@compiled
def place_items(theta: Floats, kappa: Floats, page: Page, edges: Edges) -> None:
    """Write down the edges that show the item with the greatest θ in the position with the greatest κ, and so on."""
    is_free, is_empty = np.ones(len(theta)), np.ones(len(kappa))
    for r in range(len(edges)):
        item, position = -1, -1
        for i in range(len(theta)):
            if is_free[i] > 0.0 and (item < 0 or theta[i] > theta[item]):
                item = i
        for k in range(len(kappa)):
            if is_empty[k] > 0.0 and (position < 0 or kappa[k] > kappa[position]):
                position = k
        is_free[item], is_empty[position] = 0.0, 0.0
        edges[r] = edge_of(page, item, position)


class PbMhb(CombinatorialPolicy):
    """PB-MHB [Gauthier2021b], with the defaults of the authors' code: L items are shown in K ≤ L positions.

    The larger side of the graph are the items (of equal sides, the rows). θ_i κ_k is the mean of item i in position k.
    Every round a sample of (θ, κ) is taken from its posterior, and the items sorted by θ go to the positions sorted by
    κ. The posterior is that of Bernoulli rewards with half a success and half a failure before the first play of each
    pair; rewards between 0 and 1 count as that part of a success. Samples come from a Markov chain that goes on from
    round to round: m sweeps over all coordinates, each a Metropolis–Hastings step with a proposal from N(x, σ²)
    restricted to (0, 1), σ = c/√t in round t. The first state of the chain is uniform.

    Deviation: the paper knows which position is seen most, and fixes its κ at 1. Here every κ is sampled, unless
    `first_is_best` says that this is the first position. If that is wrong, the regret is linear.
    The authors draw proposals from N(x, σ²) until one lies in (0, 1), which takes 2500 σ/1000 attempts; here a wide σ
    thins out uniform draws, with the same distribution.

    Parameters
    ----------
    c : float, default 1000.0
        The width of the random walk in the first round.
    m : int, default 1
        Sweeps a round.
    first_is_best : bool, default False
        The first position is known to be the one that is seen most, as in the paper's experiments.
    """

    name: ClassVar[str] = "pb-mhb"
    summary: ClassVar[str] = "Thompson sampling of items and positions by Metropolis–Hastings"
    reference: ClassVar[str] = "Gauthier et al. 2021"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",), graphs=("bipartite",), unit_rewards=True, warm_start=True, assumes_product=True
    )
    plays_all_first: ClassVar[bool] = False
    needs_best_matching: ClassVar[bool] = False
    choose = staticmethod(choose)

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        c: Annotated[float, between("c", 1e-9, 1e9)] = 1000.0,
        m: Annotated[int, whole_between("m", 1, 10**6)] = 1,
        first_is_best: bool = False,
    ) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng)

    def params(self) -> MetropolisParams:
        """No sample."""
        page = page_of(self.graph)
        return MetropolisParams(
            page=page,
            width=float(self.options["c"]),
            sweeps=int(self.options["m"]),
            n_fixed=int(self.options["first_is_best"]),
            theta=np.full(page.n_items, -1.0),
            kappa=np.full(self.graph.matching_size, -1.0),
        )

    def recommend(self) -> Pairs:
        """The matching whose pairs were played most: where the samples are, once they agree."""
        return self.graph.pairs[best_matching(self.graph, self.arrays.plays.astype(np.float64))]

    def explain_extra(self) -> dict[str, Any]:
        """The pairs, and the last sample."""
        params = self.arrays.params
        details = {} if params.theta[0] < 0 else {"theta": params.theta.tolist(), "kappa": params.kappa.tolist()}
        return {**super().explain_extra(), "details": details}
