"""Rank-1 Thompson sampling: one posterior for all strengths, drawn from and played greedily."""

from math import exp
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.allowed import Allowed
from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError, real_number
from matchbandit.graphs import Edges, Pairs, Selection, player_edge
from matchbandit.policies.base import Setting
from matchbandit.policies.decision import Decision, by_products
from matchbandit.policies.explanation import item_record
from matchbandit.policies.fits import Fits
from matchbandit.policies.rank1_model import (
    FARTHEST,
    PRIOR_MEAN,
    PRIOR_PRECISION,
    Model,
    backward,
    covariance,
    credible,
    factor,
    fade,
    fit,
    product_warnings,
    settle,
)
from matchbandit.policies.round_policy import RoundPolicy
from matchbandit.rewards import Counts, Floats

REFRESH = 0.02
"""The posterior is renewed when a pair's plays have grown, or faded, by this share since the last time,"""
MIN_ROUNDS_BETWEEN_FITS = 50
"""but not before a round has passed for each so many items: renewing takes O(n³), a round O(n²)."""
LARGEST_SCALE = 2.0
"""When a new play counts for so many in the tables, all are brought back to the present: half a life may pass."""


class Arrays(NamedTuple):
    """Items are numbered through, rows before columns; tables are symmetric, items × items."""

    model: Model
    """Plays and sums, times `scale`, and the strengths that were last fitted to them."""
    scale: Floats
    """What a play of the last told round counts for in the tables, shape (1,): rather than all that is old for less,
    the new counts for more, until the tables are brought to the present, with scale 1, when they are next fitted."""
    plays_then: Floats
    """Plays when the posterior was last renewed."""
    factor: Floats
    """L with L Lᵀ = F, the information: a draw differs from the strengths by L⁻ᵀ z."""
    out_of_date: Counts
    """1 if some pair's plays have grown or faded since by more than `REFRESH`, else 0, shape (1,)."""
    rounds_since: Counts
    """Rounds since the posterior was last renewed, shape (1,)."""
    byes: Counts
    """How often each player sat out; empty if nobody ever does."""
    last_bye: Counts
    """In which bye of all each player sat out for the last time; 0: never."""
    ends: Counts
    """The two items of each edge."""
    growth: float
    """By how much a round counts for more than the one before: 2^(1/half_life); 1: nothing fades."""
    n_rows: int
    """How many items are rows; 0: all are players."""


@compiled
def move(u: Floats, drawn: Floats, n_rows: int) -> None:
    """ũ = û + shift where that rises, û exp(shift/û) where it falls: a known product keeps both its items above 0.

    `drawn` holds the shift, and then ũ. Between rows and columns the part of the shift along (û, −v̂) is taken out, in
    which rows grow as columns shrink: products do not show it.
    """
    length, along = 0.0, 0.0
    for i in range(len(u) if n_rows > 0 else 0):
        length += u[i] * u[i]
        along += u[i] * drawn[i] if i < n_rows else -u[i] * drawn[i]
    part = along / length if length > 0.0 else 0.0
    for i in range(len(u)):
        shift = drawn[i] - part * (u[i] if i < n_rows else -u[i])
        drawn[i] = u[i] * exp(shift / u[i]) if shift < 0.0 and u[i] > 0.0 else u[i] + shift


@compiled
def draw_strengths(u: Floats, L: Floats, n_rows: int, rng: np.random.Generator) -> Floats:
    """ũ from the shift L⁻ᵀ z, which is N(0, F⁻¹) as F = L Lᵀ."""
    drawn = np.empty(len(u))
    for i in range(len(u)):
        drawn[i] = rng.standard_normal()
    backward(L, drawn)
    move(u, drawn, n_rows)
    return drawn


@compiled
def sits_out(byes: Counts, last_bye: Counts) -> int:
    """The player with the fewest byes (ties: the longest since the last one, then the lowest index); −1: nobody."""
    first = -1
    for i in range(len(byes)):
        if first < 0 or byes[i] < byes[first] or (byes[i] == byes[first] and last_bye[i] < last_bye[first]):
            first = i
    return first


@compiled
def best_round(strengths: Floats, n_rows: int, absent: int, edges: Edges) -> None:
    """Write down the edges of the sorted pairing, as many as there is room for: one is the best pair.

    Strongest row with strongest column and so on; or the two strongest players, then the next two, without the absent
    one (−1: all are there). Ties: the lower index first. Sorted by insertion, and no further than needed: that
    compiles quickly, and a round takes O(n²) anyway.
    """
    n, pairs = len(strengths), len(edges)
    room = pairs if n_rows > 0 else 2 * pairs
    order = np.empty(n, dtype=np.int64)
    first, kept = 0, 0  # the strongest items of a side stand from `first` on
    for i in range(n):
        if n_rows > 0 and i == n_rows:
            first, kept = i, 0
        place = first + kept
        while place > first and i != absent and strengths[order[place - 1]] < strengths[i]:
            place -= 1
            if place + 1 < first + room:
                order[place + 1] = order[place]
        if place < first + room and i != absent:
            order[place] = i
            kept += 1 if kept < room else 0
    for k in range(pairs):
        if n_rows > 0:
            edges[k] = order[k] * (n - n_rows) + order[n_rows + k] - n_rows
        else:
            edges[k] = player_edge(order[2 * k], order[2 * k + 1], n)


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """The best pair or matching of drawn strengths, of those whose turn it is not to sit out."""
    u = arrays.model.strengths
    if arrays.out_of_date[0] == 1 and arrays.rounds_since[0] >= len(u) // MIN_ROUNDS_BETWEEN_FITS:
        if arrays.scale[0] != 1.0:
            fade(arrays.model, arrays.scale[0])
            arrays.scale[0] = 1.0
        fit(arrays.model, arrays.factor)
        factor(arrays.factor)
        now, then = arrays.model.plays, arrays.plays_then
        for i in range(len(u)):
            for j in range(len(u)):
                then[i, j] = now[i, j]
        arrays.out_of_date[0] = 0
        arrays.rounds_since[0] = 0
    drawn = draw_strengths(u, arrays.factor, arrays.n_rows, rng)
    best_round(drawn, arrays.n_rows, sits_out(arrays.byes, arrays.last_bye), edges)


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Let the old fade, count plays, rewards and the bye; is the posterior out of date?"""
    plays, sums, _, noise = arrays.model
    reach = FARTHEST * noise.sd
    scale = arrays.scale[0] * arrays.growth
    if scale > 1.0 + REFRESH:
        arrays.out_of_date[0] = 1
    if scale > LARGEST_SCALE:
        fade(arrays.model, scale)
        scale = 1.0
    arrays.scale[0] = scale
    for k in range(len(edges)):
        i, j = arrays.ends[edges[k], 0], arrays.ends[edges[k], 1]
        plays[i, j] += scale
        plays[j, i] = plays[i, j]
        sums[i, j] += scale * min(max(rewards[k], -reach), 1.0 + reach)
        sums[j, i] = sums[i, j]
        if plays[i, j] > (1.0 + REFRESH) * scale * arrays.plays_then[i, j]:
            arrays.out_of_date[0] = 1
    arrays.rounds_since[0] += 1
    absent = sits_out(arrays.byes, arrays.last_bye)
    if absent >= 0:
        arrays.byes[absent] += 1
        total = 0
        for i in range(len(arrays.byes)):
            total += arrays.byes[i]
        arrays.last_bye[absent] = total


def growth_of(half_life: float | None) -> float:
    """By how much a round counts for more than the one before: 2^(1/half_life); 1: nothing fades."""
    if half_life is None:
        return 1.0
    rounds = real_number("half_life", half_life)
    if rounds <= 0:
        raise MatchbanditError(
            f"half_life must be above 0; got {half_life!r}. It is the number of rounds after which a result "
            f"counts half; leave it out if nothing is to fade."
        )
    return float(2.0 ** min(1.0 / rounds, 1000.0))  # 2^1024 is no float


class Rank1Thompson(RoundPolicy):
    """Thompson sampling that uses the product model: the least regret, without a proof.

    Strengths û (rows and columns, or players) are fitted to the counts and sums of all pairs by Newton steps on each
    item and then on all together, weighted by w_ij = 1/(p̃(1 − p̃)) with p̃ = (C p + 1)/(C + 2), p = û_i û_j, under a
    weak Gaussian prior of precision 4 around 0.6, and kept in [0, 1] (see `rank1_model`). A draw is ũ ~ N(û, F⁻¹) with
    the *full* inverse of the information F_ii = Σ_j w_ij C_ij û_j², F_ij = w_ij C_ij û_i û_j (plus the prior), and the
    best pair of the drawn strengths, or their sorted pairing, is played. The diagonal alone would stop exploring: of
    two items that always meet only the product is seen, and the full inverse keeps exactly that direction open. A fall
    of ũ_i below û_i is taken as û_i exp(shift/û_i): two players whose product is known lie on a hyperbola, of which the
    Gaussian sees the tangent only, and without this a best pair among players worth nothing would be left again and
    again. Between rows and columns only products are seen: the direction (û, −v̂) is taken out of the draw, without
    which the regret is linear.

    Of an odd number of players one sits out each round of matchings: whoever did so least often (ties: the longest
    ago, then the lowest index). Of unequally many rows and columns the weakest of the draw stay out.

    Gaussian rewards have w = 1/sd², Binomial(trials) ones w = trials/(p̃(1 − p̃)) with C trials. The fit starts where it
    last ended, and is renewed when the plays of some pair have grown by 2 %: a rarely played pair renews it at once, or
    among n ≥ 100 items once n // 50 rounds have passed.

    With a `half_life` h old results fade: every round told, also one in which no pair took place, multiplies all counts
    and sums by 2^(−1/h) before its own enter. So a result of h rounds ago counts half, all that is known is worth at
    most about 1.44 h rounds, and strengths that drift are followed. What is fitted, drawn from, recommended and
    explained are the counts that are left; the posterior is renewed when they have faded by 2 %, too.

    Gaussian rewards more than 40 sd away from [0, 1] are slips, and count as if they were 40 sd away.

    Parameters
    ----------
    selection : {"pair", "matching"}, optional
        What a round plays; by default matchings of players, and pairs of rows and columns.
    half_life : float, optional
        After how many rounds a result counts half, for strengths that drift; above 0. By default nothing fades.
    """

    name: ClassVar[str] = "rank1-thompson"
    summary: ClassVar[str] = "Thompson sampling with one posterior for all strengths: the least regret, no proof"
    reference: ClassVar[str] = "this library"
    fits: ClassVar[Fits] = Fits(
        selections=("pair", "matching"),
        byes=("regret",),
        warm_start=True,
        counts_alone=True,
        constrained=True,
        any_size=True,
        compiled_up_to="199 items",
    )
    derived: ClassVar[tuple[str, ...]] = ("ends",)
    choose = staticmethod(choose)
    update = staticmethod(update)
    draws: ClassVar[bool] = True
    counts_empty_rounds: ClassVar[bool] = True  # someone sat out

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        selection: Selection | None = None,
        half_life: float | None = None,
    ) -> None:
        """Nothing played yet: the prior."""
        self.growth = growth_of(half_life)
        # Named where results fade only, so that states from before there was a choice are read.
        fading = {} if half_life is None else {"half_life": float(half_life)}
        super().__init__(setting, rng, selection=selection, **fading)
        self._settled: tuple[Floats, Floats, Floats, Floats] | None = None
        """Plays and sums, and the strengths and the factor of the posterior that were settled for them."""

    def start(self) -> Arrays:
        """The prior."""
        bipartite = self.graph.kind == "bipartite"
        n_rows = self.graph.shape[0] if bipartite else 0
        n = sum(self.graph.shape) if bipartite else self.graph.shape[0]
        sitting = n if self.selection == "matching" and not bipartite and n % 2 else 0
        return Arrays(
            Model(np.zeros((n, n)), np.zeros((n, n)), np.full(n, PRIOR_MEAN), self.setting.rewards.noise),
            scale=np.ones(1),
            plays_then=np.zeros((n, n)),
            factor=np.eye(n) * np.sqrt(PRIOR_PRECISION),
            out_of_date=np.zeros(1, dtype=np.int64),
            rounds_since=np.zeros(1, dtype=np.int64),
            byes=np.zeros(sitting, dtype=np.int64),
            last_bye=np.zeros(sitting, dtype=np.int64),
            ends=self.graph.pairs + np.array([0, n_rows]),
            growth=self.growth,
            n_rows=n_rows,
        )

    def recommend(self) -> Pairs:
        """The best pair or matching of the fitted strengths; of an odd number of players the weakest sits out."""
        edges = np.zeros(self.round_size, dtype=np.int64)
        best_round(self._fitted()[0].strengths, self.arrays.n_rows, -1, edges)
        return self.graph.pairs[edges]

    def _fitted(self) -> tuple[Model, Floats]:
        """The model up to date, and the information of its strengths; the policy's own are left as they are."""
        plays, sums, strengths, noise = self.arrays.model
        if self.arrays.scale[0] != 1.0:
            plays, sums = plays / self.arrays.scale[0], sums / self.arrays.scale[0]
        model, F = Model(plays, sums, strengths.copy(), noise), np.empty(plays.shape)
        fit(model, F)
        return model, F

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results; the posterior is renewed when it is next drawn from."""
        model = self.arrays.model
        for i, j in (self.arrays.ends[edges].T, self.arrays.ends[edges, ::-1].T):
            model.plays[i, j] += counts
            model.sums[i, j] += credible(model.noise, counts, sums)
        settle(model, self.arrays.factor)
        self.arrays.out_of_date[0], self.arrays.rounds_since[0] = 1, len(model.strengths)

    def _decision(self, allowed: Allowed, waiting: Edges, rng: np.random.Generator) -> Decision:
        """From the posterior that is settled, from the prior on, for the present counts: it depends on them alone."""
        plays, sums, _, noise = self.arrays.model
        if self.arrays.scale[0] != 1.0:
            plays, sums = plays / self.arrays.scale[0], sums / self.arrays.scale[0]
        known = self._settled
        if known is None or not (np.array_equal(known[0], plays) and np.array_equal(known[1], sums)):
            model = Model(plays.copy(), sums.copy(), np.full(len(plays), PRIOR_MEAN), noise)
            L = np.empty(plays.shape)
            settle(model, L)
            factor(L)
            known = self._settled = (model.plays, model.sums, model.strengths, L)
        return by_products(allowed, draw_strengths(known[2], known[3], self.arrays.n_rows, rng), self.selection)

    def credited(self, rewards: ArrayLike, rng: np.random.Generator) -> Floats:
        """The rewards; slips count as if they were 40 sd away."""
        reach = FARTHEST * self.setting.rewards.noise.sd
        return np.clip(super().credited(rewards, rng), -reach, 1.0 + reach)

    def _book(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        i, j = self.arrays.ends[edges].T
        plays, paid = self.arrays.model.plays[i, j], self.arrays.model.sums[i, j]
        scale = self.arrays.scale[0]
        self._set(edges, plays + scale * counts, paid + scale * sums)

    def _put(self, edges: Edges, counts: Floats, sums: Floats) -> None:
        self._set(edges, self.arrays.scale[0] * counts, self.arrays.scale[0] * sums)

    def _set(self, edges: Edges, plays: Floats, sums: Floats) -> None:
        """Set plays and sums in the tables; the posterior is renewed when it is next drawn from."""
        for i, j in (self.arrays.ends[edges].T, self.arrays.ends[edges, ::-1].T):
            self.arrays.model.plays[i, j], self.arrays.model.sums[i, j] = plays, sums
        self.arrays.out_of_date[0], self.arrays.rounds_since[0] = 1, len(self.arrays.model.strengths)

    def reasons(self) -> dict[str, Any]:
        """The strength of each item, with its standard deviation, and the samples left of it; who sits out next."""
        (model, F), n_rows, byes = self._fitted(), self.arrays.n_rows, self.arrays.byes
        plays, sums, strengths, _ = model
        deviations = np.sqrt(covariance(F, strengths, n_rows).diagonal())
        items = [
            item_record(
                k - n_rows if k >= n_rows else k,
                "player" if n_rows == 0 else "row" if k < n_rows else "column",
                samples=round(plays[k].sum()),
                estimate=float(strengths[k]),
                standard_deviation=float(deviations[k]),
            )
            for k in range(len(deviations))
        ]
        for item, times in zip(items, byes.tolist(), strict=False):  # none, or one for each player
            item["byes"] = times
        i, j = self.arrays.ends.T
        return {
            "items": items,
            "warnings": product_warnings(self.setting, plays[i, j], sums[i, j]),
            "details": {"sits_out": int(sits_out(byes, self.arrays.last_bye))} if len(byes) else {},
        }
