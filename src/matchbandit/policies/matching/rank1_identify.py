"""Rank-1 identification: the best matching from one fit of all strengths, tested at every border between its pairs."""

from math import ceil, exp, inf, log, sqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Pairs
from matchbandit.plans import FixedSweeps, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.explanation import item_record
from matchbandit.policies.options import Delta
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.rewards import Counts, Floats
from matchbandit.schedules import latin_design, round_robin
from matchbandit.solvers import sorted_pairing
from matchbandit.strengths import PRIOR, Posterior, clip_outliers, expected_covariance, new_model

Tour = NDArray[np.int64]
"""Rounds of matchings, shape (rounds, pairs a round, 2)."""

TOURS = 10
"""So many times must all have met all, or as many rounds have been played, before it may end."""
STEPS, GOLDEN = 60, (sqrt(5.0) - 1.0) / 2.0
"""Of a golden-section search: enough for every digit."""


@compiled
def cost(x: float, a: float, b: float, v: float, var_b: float, c: float) -> float:
    """Half the squared distance of (log x, x) from (log a, b) in the Gaussian of log a (variance v) and b."""
    s, e = log(x / a), x - b
    return (var_b * s * s - 2.0 * c * s * e + v * e * e) / (2.0 * (v * var_b - c * c))


@compiled
def apart(a: float, b: float, var_a: float, var_b: float, both: float) -> float:
    """How certain it is that strength a is above b: the least that it costs to make them equal.

    The cost of a common strength x is taken in log a, because of two players who mostly meet each other only the
    product is known: a falls as its partner rises, along a curve that never reaches 0, where the Gaussian of a itself
    would.
    """
    if a <= b:
        return 0.0
    v, c = var_a / (a * a), both / a
    if v * var_b - c * c <= 0.0:
        return (a - b) * (a - b) / (2.0 * (var_a + var_b - 2.0 * both))
    low, high, least = max(b, a * 1e-9), a, inf
    one, two = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    for _ in range(STEPS):
        at_one, at_two = cost(one, a, b, v, var_b, c), cost(two, a, b, v, var_b, c)
        least = min(least, at_one, at_two)
        if at_one < at_two:
            high, two = two, one
            one = high - GOLDEN * (high - low)
        else:
            low, one = one, two
            two = low + GOLDEN * (high - low)
    return least


@compiled
def border_evidence(strengths: Floats, covariance: Floats, ranked: Counts, certain: Floats) -> None:
    """Write down the least certain of the four cross pairs, for every border between neighbouring pairs."""
    for k in range(len(certain)):
        certain[k] = inf
        for cross in range(4):
            i, j = ranked[2 * k + cross // 2], ranked[2 * k + 2 + cross % 2]
            found = apart(strengths[i], strengths[j], covariance[i, i], covariance[j, j], covariance[i, j])
            certain[k] = min(certain[k], found)


def _check_growth_above_1(growth: float) -> float:
    if not 1 < growth <= 1e6:
        raise MatchbanditError(f"growth must lie between 1 and 10^6, and not be 1; got {growth!r}.")
    return growth


class Rank1Identify(PlannedPolicy):
    """Identification that uses the product model: the fewest rounds, without a proof.

    All results are fitted at once, as in rank1-thompson: strengths û with the full inverse of their information. The
    answer is the sorted pairing of û. A border between two neighbouring pairs of it is as *certain* as the least of its
    four cross pairs (a above b): what it costs to make both equal, (û_a − û_b)² / (2 Var(û_a − û_b)) but for the curve
    along which products are known, see `apart`. It ends when every border is so certain that a Gaussian would be wrong
    there with probability at most δ / (4N (1 + log t)), t rounds: one part in 4N for each cross pair, and 1 + log t for
    looking again and again; and not before 10 (2N − 1) rounds, as fewer rewards are no Gaussian. Checks fall where the
    rounds have grown by the factor g.

    The bound exp(−x) in the place of the Gaussian's own tail would need about a third more rounds. Without the curve
    a run need not end: if all others are worth nothing, only the product of the best two is ever known.

    Any sampling will do. Until the next check it repeats the tour which, by the fitted strengths, makes the least
    certain border most certain, among: all meet all; the players beside the uncertain borders among themselves; the
    same against the strongest others; and both for the least certain border alone. Who is not in it plays the neighbour
    in the order. Ties and the first 10 (2N − 1) rounds go to all meet all.

    Gaussian rewards whose average is more than 40 of its standard deviations away from [0, 1] are slips, and count as
    if it were 40 away.

    Parameters
    ----------
    growth : float, default 1.05
        g, the factor by which the rounds grow from check to check; above 1.
    delta : float, default 0.05
        δ, the error probability that is aimed at.
    """

    name: ClassVar[str] = "rank1-identify"
    summary: ClassVar[str] = "the best matching from one fit of all strengths: the fewest rounds, no proof"
    reference: ClassVar[str] = "this library"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        graphs=("monopartite",),
        goals=("identification",),
        warm_start=True,
        assumes_product=True,
    )
    state_fields: ClassVar[tuple[str, ...]] = ("plays", "sums", "strengths", "evidence", "sampled")

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        growth: Annotated[float, _check_growth_above_1] = 1.05,
        delta: Delta = 0.05,
    ) -> None:
        """Nothing sampled."""
        super().__init__(setting, rng)
        self.n = self.graph.n_items
        self.plays, self.sums = np.zeros((self.n, self.n)), np.zeros((self.n, self.n))
        self.strengths = np.full(self.n, exp(PRIOR.level))
        self.evidence = np.zeros(self.n // 2 - 1)
        """How certain each border is, from the best pair down."""
        self.sampled = 0
        """Rounds whose results are in the tables."""

    @property
    def finished(self) -> bool:
        """Is every border certain, after rounds enough to trust a Gaussian?"""
        return bool((self.evidence > self._threshold()).all()) and self.sampled >= self._trusted()

    def plan(self) -> FixedSweeps:
        """The most promising tour, until the rounds have grown by the factor g."""
        tour = self._best_tour()
        wait = (self.options["growth"] - 1) * self.sampled
        edges = self.graph.edges(tour.reshape(-1, 2)).reshape(tour.shape[:2])
        return FixedSweeps(edges=np.arange(self.graph.n_pairs), rounds=edges, limit=max(1, ceil(wait / len(tour))))

    def learn(self, tally: Tally) -> None:
        """Fit the strengths anew; how certain is every border?"""
        self._add_results(np.arange(self.graph.n_pairs), tally.counts, tally.sums)
        self.sampled += tally.sweeps * self.current.length
        self._fit()

    def recommend(self) -> Pairs:
        """The sorted pairing of the fitted strengths."""
        return sorted_pairing(self.strengths)

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results, as the rounds that they fill."""
        self._add_results(edges, counts, sums)
        self.sampled += ceil(counts.sum() / self.round_size)
        self._fit()

    def _add_results(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        i, j = self.graph.pairs[edges].T
        for table, more in ((self.plays, counts), (self.sums, clip_outliers(self.setting.rewards.noise, counts, sums))):
            table[i, j] += more
            table[j, i] += more

    def _fit(self) -> None:
        posterior = self._posterior()
        self.strengths = posterior.strengths
        self.evidence = self._evidence(posterior.covariance)

    def _posterior(self) -> Posterior:
        i, j = self.graph.pairs.T
        model = new_model(self.graph, self.setting.rewards, complete=True)
        return Posterior.of(model._replace(plays=self.plays[i, j], sums=self.sums[i, j]), start=np.log(self.strengths))

    def _threshold(self) -> float:
        """z²/2 for the z beyond which a Gaussian lies with probability δ / (4N (1 + log t))."""
        from scipy.special import ndtri  # noqa: PLC0415  # it takes longer to import than all policies

        share = self.options["delta"] / (2 * self.n * (1 + log(max(1, self.sampled))))
        return float(ndtri(share) ** 2 / 2)

    def _evidence(self, covariance: Floats) -> Floats:
        """The least certain of the four cross pairs, for every border; the covariance is that of log strengths."""
        certain = np.empty(self.n // 2 - 1)
        scaled = covariance * np.outer(self.strengths, self.strengths)
        border_evidence(self.strengths, scaled, self._ranked(), certain)
        return certain

    def _trusted(self) -> int:
        return TOURS * (self.n - 1) if self.n > 2 else 0

    def _ranked(self) -> NDArray[np.int64]:
        return np.argsort(-self.strengths, kind="stable")

    def _best_tour(self) -> Tour:
        """The tour after which the least certain border would be most certain, played until the next check."""
        everyone = round_robin(self.n)
        if self.finished or self.sampled < self._trusted():
            return everyone
        rounds = (self.options["growth"] - 1) * self.sampled
        tours = [everyone, *self._aimed()]
        promised = [self._promised(tour, rounds / len(tour)) for tour in tours]
        return tours[int(np.argmax(promised))]

    def _promised(self, tour: Tour, times: float) -> float:
        """How certain the least certain border would be after a number of repetitions of a tour."""
        i, j = self.graph.pairs.T
        played = np.bincount(self.graph.edges(tour.reshape(-1, 2)), minlength=self.graph.n_pairs)
        plays, logs = self.plays[i, j] + times * played, np.log(self.strengths)
        return float(self._evidence(expected_covariance(self.graph, self.setting.rewards, logs, plays)).min())

    def _aimed(self) -> list[Tour]:
        """Tours around all uncertain borders, and around the least certain one."""
        ranked, tours = self._ranked(), []
        least = np.array([np.argmin(self.evidence)])
        for borders in (np.flatnonzero(self.evidence <= self._threshold()), least):
            beside = np.zeros(self.n, dtype=bool)
            beside[2 * borders[:, None] + np.arange(4)] = True
            players, others, size = ranked[beside], ranked[~beside], int(beside.sum())
            tours.append(_with_rest(players[round_robin(size)], others))
            if len(others) >= size:
                i, j = np.moveaxis(latin_design(size, size), 2, 0)
                tours.append(_with_rest(np.stack([players[i], others[j]], axis=2), others[size:]))
        return tours

    def explain_extra(self) -> dict[str, Any]:
        """The strength of each player, and how certain each border is."""
        from matchbandit.product_model import product_warning  # noqa: PLC0415  # it needs more of scipy than playing

        pairs = self.recommend().tolist()
        borders = [
            {"between": pairs[k], "and": pairs[k + 1], "evidence": float(evidence)}
            for k, evidence in enumerate(self.evidence)
        ]
        return {
            "items": [
                item_record(k, "player", samples=int(self.plays[k].sum()), estimate=float(u))
                for k, u in enumerate(self.strengths)
            ],
            "next_check": self.next_check(),
            "warnings": product_warning(self._posterior(), self.setting.rewards),
            "details": {"threshold": self._threshold(), "borders": borders},
        }


def _with_rest(tour: Tour, rest: NDArray[np.int64]) -> Tour:
    """The tour, with neighbours among the rest beside it in every round."""
    pairs = rest.reshape(-1, 2)
    return np.concatenate([tour, np.broadcast_to(pairs, (len(tour), *pairs.shape))], axis=1)
