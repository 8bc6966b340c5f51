"""Rank-1 Thompson sampling: one posterior for all strengths, drawn from and played greedily."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.allowed import Allowed
from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Pairs, Selection
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.policies.decision import Decision, by_products
from matchbandit.policies.explanation import item_record
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers import sorted_across, sorted_pairing
from matchbandit.strengths import (
    DENSE_BELOW,
    DRAWN,
    FADED,
    MAX_SDS,
    NEGLIGIBLE,
    NEWTON_ACCURACY,
    Model,
    Posterior,
    clip_outliers,
    compact,
    draw_dense,
    draw_sparse,
    fade,
    fit_dense,
    improve_sparse,
    new_model,
    new_system,
    with_pairs,
)

REFRESH = 0.02
"""The posterior is renewed when a pair's plays have grown, or faded, by this share since the last time,"""
MIN_ROUNDS_BETWEEN_FITS = 50
"""but only after one round per this number of items: renewing takes O(n³), a round O(n²)."""
FIT_TOLERANCE = 1e-4
"""A renewed fit ends when a step would gain less than half of this in the log posterior: draws vary far more."""
LARGEST_SCALE = 2.0
"""When a new play counts for this many in the lists, all are rescaled to the present."""
PRECONDITIONER = ("mate", "inverse", "inverse_with_mate")
"""What the next round of many items needs of the last one's system."""


class Arrays(NamedTuple):
    """Counts and posterior. Items are numbered consecutively, rows first."""

    model: Model
    """Plays and sums, times `scale`, and the log strengths that were last fitted to them."""
    scale: Floats
    """What a play of the last round counts for in the list, shape (1,): instead of reducing everything old, new plays
    count for more, until the list is rescaled to the present when it is next fitted."""
    plays_then: Floats
    """Plays when the posterior was last renewed; empty with many items, where it is renewed every round."""
    factor: Floats
    """L with L Lᵀ = H, the information of the log strengths in draws; empty with many items."""
    diagonal: Floats
    """That of H without the level; empty with many items."""
    out_of_date: Counts
    """1 if some pair's plays have grown or faded since by more than `REFRESH`, else 0, shape (1,)."""
    rounds_since: Counts
    """Rounds since the posterior was last renewed, shape (1,)."""
    byes: Counts
    """How often each player sat out; empty if nobody ever does."""
    last_bye: Counts
    """In which of all byes each player sat out for the last time; 0: never."""
    growth: float
    """By how much a round counts for more than the one before: 2^(1/half_life); 1: nothing fades."""


@compiled
def sits_out(byes: Counts, last_bye: Counts) -> int:
    """The player with the fewest byes (ties: the longest since the last one, then the lowest index); −1: nobody."""
    first = -1
    for i in range(len(byes)):
        if first < 0 or byes[i] < byes[first] or (byes[i] == byes[first] and last_bye[i] < last_bye[first]):
            first = i
    return first


@compiled
def player_edge(i: int, j: int, n_items: int) -> int:
    """The edge of two of n players, in either order: `MonopartiteGraph.edges` for compiled code."""
    low, high = min(i, j), max(i, j)
    return low * (2 * n_items - low - 1) // 2 + high - low - 1


@compiled
def best_round(logs: Floats, n_rows: int, absent: int, edges: Edges) -> None:
    """Write the edges of the sorted pairing, as many as there is room for: one is the best pair.

    Strongest row with strongest column and so on; or the two strongest players, then the next two, without the absent
    one (−1: all are present). Ties: the lower index first. Sorted by insertion, and no further than needed: that
    compiles quickly, and a round takes O(n²) anyway.
    """
    n, pairs = len(logs), len(edges)
    room = pairs if n_rows > 0 else 2 * pairs
    order = np.empty(n, dtype=np.int64)
    first, size = 0, 0  # the strongest items of a side stand from `first` on
    for i in range(n):
        if n_rows > 0 and i == n_rows:
            first, size = i, 0
        place = first + size
        while place > first and i != absent and logs[order[place - 1]] < logs[i]:
            place -= 1
            if place + 1 < first + room:
                order[place + 1] = order[place]
        if place < first + room and i != absent:
            order[place] = i
            size += 1 if size < room else 0
    for k in range(pairs):
        if n_rows > 0:
            edges[k] = order[k] * (n - n_rows) + order[n_rows + k] - n_rows
        else:
            edges[k] = player_edge(order[2 * k], order[2 * k + 1], n)


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """The best pair or matching of drawn strengths, of those whose turn it is not to sit out."""
    model = arrays.model
    n = len(model.logs)
    if arrays.out_of_date[0] == 1 and arrays.rounds_since[0] >= n // MIN_ROUNDS_BETWEEN_FITS:
        if arrays.scale[0] != 1.0:
            fade(model, arrays.scale[0], FADED)
            arrays.scale[0] = 1.0
        fit_dense(model, arrays.diagonal, np.empty(2), arrays.factor, FIT_TOLERANCE, DRAWN)
        for k in range(len(arrays.plays_then)):
            arrays.plays_then[k] = model.plays[k]
        arrays.out_of_date[0] = 0
        arrays.rounds_since[0] = 0
    draw = np.empty(n)
    draw_dense(model.logs, arrays.factor, arrays.diagonal, model.n_rows, rng, draw)
    best_round(draw, model.n_rows, sits_out(arrays.byes, arrays.last_bye), edges)


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Let old results fade, count plays, rewards and the bye; is the posterior out of date?

    `edges` are positions in the list of pairs, which are the edges themselves if all pairs are listed.
    """
    plays, sums, plays_then = arrays.model.plays, arrays.model.sums, arrays.plays_then
    reach = MAX_SDS * arrays.model.noise.sd
    scale = arrays.scale[0] * arrays.growth
    if scale > 1.0 + REFRESH:
        arrays.out_of_date[0] = 1
    if scale > LARGEST_SCALE:
        fade(arrays.model, scale, FADED)
        scale = 1.0
    arrays.scale[0] = scale
    for k in range(len(edges)):
        position = edges[k]
        plays[position] += scale
        sums[position] += scale * min(max(rewards[k], -reach), 1.0 + reach)
        if len(plays_then) > 0 and plays[position] > (1.0 + REFRESH) * scale * plays_then[position]:
            arrays.out_of_date[0] = 1
    arrays.rounds_since[0] += 1
    absent = sits_out(arrays.byes, arrays.last_bye)
    if absent >= 0:
        arrays.byes[absent] += 1
        total = 0
        for i in range(len(arrays.byes)):
            total += arrays.byes[i]
        arrays.last_bye[absent] = total


def _check_half_life(half_life: float) -> float:
    if half_life <= 0:
        raise MatchbanditError(
            f"half_life must be above 0; got {half_life!r}. It is the number of rounds after which a result "
            f"counts half; leave it out if nothing is to fade."
        )
    return float(half_life)


def growth_of(half_life: float | None) -> float:
    """By how much a round counts for more than the one before: 2^(1/half_life); 1: nothing fades."""
    return 1.0 if half_life is None else float(2.0 ** min(1.0 / half_life, 1000.0))  # 2^1024 overflows


class Rank1Thompson(CountsPolicy):
    """Thompson sampling that uses the product model: little regret in practice, without a proof.

    Log strengths (rows and columns, or players) are fitted to the counts and sums of all played pairs, under a prior
    whose level the data find; see `matchbandit.strengths`. A draw is ŝ + z with z ~ N(0, H⁻¹), the *full* inverse of
    the information. The best pair of the drawn strengths, or their sorted pairing, is played. The diagonal of H alone
    would stop exploring: of two items that always meet only the product is seen, and the full inverse keeps exactly
    that direction open. In log u it is a straight line, so that a draw follows it however far. Between rows and columns
    only products are seen: the direction in which all rows rise and all columns fall is removed from the draw.

    Two heuristics deviate from a Gaussian posterior. A rise z is bent to about 5/3 log(1 + 3 z/5), since the upper tail
    of the posterior is lighter than a Gaussian's in log u. And in H the information w on a pair counts as w²/(w + k), k
    a few successes: early bad luck with a pair that is then rarely played would last for many rounds.

    Of an odd number of players one sits out each round of matchings: whoever did so least often (ties: the longest
    ago, then the lowest index). Of unequally many rows and columns the weakest of the draw are left out.

    The fit starts where it last ended, and is renewed when the plays of some pair have grown by 2 %: a rarely played
    pair renews it at once, or among n ≥ 100 items once n // 50 rounds have passed. From 200 items on only the played
    pairs are stored, the fit goes on by one Newton step every round, and draws come from conjugate gradients.

    With a `half_life` h old results fade: every round, also one in which no pair took place, multiplies all counts
    and sums by 2^(−1/h) before its own enter. So a result of h rounds ago counts half, all that is known is worth at
    most about 1.44 h rounds, and strengths that drift are followed. What is fitted, drawn from, recommended and
    explained are the counts that are left; the posterior is renewed when they have faded by 2 %, too.

    Gaussian rewards more than 40 sd away from [0, 1] are input errors, and count as if they were 40 sd away.

    Parameters
    ----------
    selection : {"pair", "matching"}, optional
        What a round plays; by default matchings of players, and pairs of rows and columns.
    half_life : float, optional
        After how many rounds a result counts half, for strengths that drift; above 0. By default nothing fades.
    """

    name: ClassVar[str] = "rank1-thompson"
    summary: ClassVar[str] = "Thompson sampling with one posterior for all strengths: little regret, no proof"
    reference: ClassVar[str] = "this library"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair", "matching"),
        byes=("regret",),
        warm_start=True,
        constrained=True,
        any_size=True,
        compiled_max_items=DENSE_BELOW - 1,
        assumes_product=True,
    )
    transient_fields: ClassVar[tuple[str, ...]] = ("start", "partner", "weights")
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
        half_life: Annotated[float, _check_half_life] | None = None,
    ) -> None:
        """Nothing played yet: the prior."""
        items = setting.graph.n_items
        self.lists_all_pairs = items < DENSE_BELOW
        super().__init__(setting, rng)
        self.system = new_system(0 if self.lists_all_pairs else items)
        """Of many items."""
        self._posterior: Posterior | None = None
        """Fitted to the counts after `_posterior_rounds` rounds, whatever was fitted before."""
        self._posterior_rounds = 0

    @property
    def compiled(self) -> bool:
        """Can a round be played without Python? With many items it is sorted, and pairs are inserted, by NumPy."""
        return self.lists_all_pairs

    def start(self) -> Arrays:
        """The prior."""
        items = self.graph.n_items
        model = new_model(self.graph, self.setting.rewards, complete=self.lists_all_pairs)
        sitting = items if self.selection == "matching" and self.graph.has_bye else 0
        return Arrays(
            model,
            scale=np.ones(1),
            plays_then=np.zeros(len(model.plays)),
            factor=np.zeros((items, items) if self.lists_all_pairs else (0, 0)),
            diagonal=np.zeros(items if self.lists_all_pairs else 0),
            out_of_date=np.ones(1, dtype=np.int64),
            rounds_since=np.full(1, items),
            byes=np.zeros(sitting, dtype=np.int64),
            last_bye=np.zeros(sitting, dtype=np.int64),
            growth=growth_of(self.options["half_life"]),
        )

    # Many items ------------------------------------------------------------------------------------------------------

    def _next(self) -> Edges:
        if self.lists_all_pairs:
            return super()._next()
        arrays = self.arrays
        if arrays.scale[0] != 1.0:
            fade(arrays.model, arrays.scale[0], NEGLIGIBLE)
            compact(*arrays.model[:4])
            arrays.scale[0] = 1.0
        improve_sparse(arrays.model, self.system, NEWTON_ACCURACY, DRAWN)
        draw = draw_sparse(arrays.model, self.system, self.rng)
        return self.graph.edges(self._best_round(draw, sits_out(arrays.byes, arrays.last_bye)))

    def _receive(self, edges: Edges, rewards: Floats) -> bool:
        self._posterior = None
        if self.lists_all_pairs:
            return super()._receive(edges, rewards)
        took_place = np.flatnonzero(~np.isnan(rewards))
        took_place = took_place[np.argsort(edges[took_place], kind="stable")]
        return super()._receive(self._positions(edges[took_place]), rewards[took_place])

    def _positions(self, edges: Edges) -> Counts:
        """Where these pairs are in the list; they are inserted if they are not. Edges are sorted, each once."""
        if self.lists_all_pairs:
            return edges
        low, high = self.graph.ends(edges).T
        before: Model = self.arrays.model
        model, positions = with_pairs(before, low, high)
        if model is not before:
            self.arrays = self.arrays._replace(model=model)
        return positions

    def _best_round(self, logs: Floats, absent: int = -1) -> Pairs:
        """The best pair or the sorted pairing, without the absent player (−1: all are present)."""
        if self.graph.is_bipartite:
            rows, columns = np.split(logs, [self.graph.n_rows])
            if self.selection == "pair":
                return np.array([[rows.argmax(), columns.argmax()]])
            return sorted_across(rows, columns)
        if self.selection == "pair":
            first = int(logs.argmax())
            others = logs.copy()
            others[first] = -np.inf
            return np.sort([[first, int(others.argmax())]], axis=1)
        if absent >= 0:
            pairs = sorted_pairing(np.delete(logs, absent))
            return pairs + (pairs >= absent)
        return sorted_pairing(logs)

    # Any number of items ---------------------------------------------------------------------------------------------

    @property
    def posterior(self) -> Posterior:
        """Of the present counts alone, whatever was fitted before."""
        if self._posterior is None or self._posterior_rounds != self.rounds:  # compiled rounds pass `_receive` by
            self._posterior_rounds = self.rounds
            model, scale = self.arrays.model, self.arrays.scale[0]
            if scale != 1.0:
                model = model._replace(plays=model.plays / scale, sums=model.sums / scale)
            self._posterior = Posterior.of(model)
        return self._posterior

    def recommend(self) -> Pairs:
        """The best pair or matching of the fitted strengths; of an odd number of players the weakest sits out."""
        return self._best_round(self.posterior.logs)

    def _decision(self, allowed: Allowed, waiting: Edges, rng: np.random.Generator) -> Decision:
        return by_products(allowed, np.exp(self.posterior.draw(rng)), self.selection)

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results, and fit them."""
        self._add_results(edges, counts, clip_outliers(self.setting.rewards.noise, counts, sums))
        self.arrays.model.logs[:] = self.posterior.logs

    def encode_rewards(self, rewards: ArrayLike, rng: np.random.Generator) -> Floats:
        """The rewards; input errors count as if they were 40 sd away."""
        reach = MAX_SDS * self.setting.rewards.noise.sd
        return np.clip(super().encode_rewards(rewards, rng), -reach, 1.0 + reach)

    def _add_results(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        positions, scale = self._positions(edges), self.arrays.scale[0]
        model = self.arrays.model
        self._set(positions, model.plays[positions] + scale * counts, model.sums[positions] + scale * sums)

    def _set_counts(self, edges: Edges, counts: Floats, sums: Floats) -> None:
        scale = self.arrays.scale[0]
        self._set(self._positions(edges), scale * counts, scale * sums)

    def _set(self, positions: Counts, plays: Floats, sums: Floats) -> None:
        """Set plays and sums; the posterior is renewed when it is next drawn from."""
        model = self.arrays.model
        model.plays[positions], model.sums[positions] = plays, sums
        if not self.lists_all_pairs and not plays.all():
            compact(*model[:4])
        self.arrays.out_of_date[0], self.arrays.rounds_since[0] = 1, len(model.logs)
        self._posterior = None

    def _mutable_arrays(self, arrays: Any) -> Iterator[NDArray[Any]]:
        yield from super()._mutable_arrays(arrays)
        if not self.lists_all_pairs and arrays is self.arrays:
            yield from (arrays.model.start, arrays.model.partner)

    def _memory(self) -> dict[str, Any]:
        memory = super()._memory()
        if not self.lists_all_pairs:
            model, size = self.arrays.model, int(self.arrays.model.start[-1])
            lists = {"partner": model.partner[:size], "plays": model.plays[:size], "sums": model.sums[:size]}
            memory["model"] = {"start": model.start, "logs": model.logs, **lists}
            memory["system"] = {name: getattr(self.system, name) for name in PRECONDITIONER}
        return memory

    def _remember(self, memory: dict[str, Any], arrays: Any = None) -> None:
        self._posterior = None
        if arrays is None:
            self._check(memory)
            if not self.lists_all_pairs:
                memory = dict(memory)
                stored = memory.pop("model")
                size = len(stored["partner"])
                model = self.arrays.model._replace(**stored, weights=np.zeros(size))
                self.arrays = self.arrays._replace(model=model)
                self.system = self.system._replace(**memory.pop("system"))
        super()._remember(memory, arrays)

    def _check(self, memory: dict[str, Any]) -> None:
        """Refuse a memory whose parts do not match: compiled code trusts them."""
        model, stored = self.arrays.model, memory["model"]
        items, size = len(model.logs), len(stored["plays"])
        start, partner = stored.get("start", model.start), stored.get("partner", model.partner)
        if (
            stored["logs"].shape != (items,) or stored["sums"].shape != (size,) or partner.shape != (size,)
            or start.shape != (items + 1,) or start[0] != 0 or start[-1] != size or (np.diff(start) < 0).any()
            or (partner < 0).any() or (partner >= items).any()
        ):  # fmt: skip
            raise MatchbanditError("the state is inconsistent: its pairs are not those of these items.")
        if not self.lists_all_pairs:
            parts = [memory.get("system", {}).get(name, np.empty(0)) for name in PRECONDITIONER]
            mate = parts[0]
            if any(part.shape != (items,) for part in parts) or (mate < -1).any() or (mate >= items).any():
                raise MatchbanditError("the state is inconsistent: its preconditioner is not that of these items.")

    def explain_extra(self) -> dict[str, Any]:
        """The strength of each item, with its standard deviation, and the plays left of it; who sits out next."""
        from matchbandit.product_model import product_warning  # noqa: PLC0415  # it needs scipy, which playing does not

        posterior, byes = self.posterior, self.arrays.byes
        graph, model = self.graph, posterior.model
        start, size = model.start, int(model.start[-1])
        n, plays = len(posterior.logs), model.plays[:size]
        low, high = np.repeat(np.arange(n), np.diff(start)), model.partner[:size]
        samples = np.bincount(low, plays, n) + np.bincount(high, plays, n)
        deviations = posterior.strengths * posterior.deviations
        columns = zip(samples.tolist(), posterior.strengths.tolist(), deviations.tolist(), strict=True)
        items = [
            item_record(
                graph.index_of(k),
                graph.side_of(k),
                samples=round(of_item),
                estimate=strength,
                standard_deviation=deviation,
            )
            for k, (of_item, strength, deviation) in enumerate(columns)
        ]
        for item, times in zip(items, byes.tolist(), strict=False):  # none, or one for each player
            item["byes"] = times
        details = {} if self.lists_all_pairs else {"pairs_stored": size}
        absent = int(sits_out(byes, self.arrays.last_bye))
        return {
            "items": items,
            "warnings": product_warning(posterior, self.setting.rewards),
            "details": {**details, **({"sits_out": absent} if absent >= 0 else {})},
        }
