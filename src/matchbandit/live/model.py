"""The product model, fitted to the results of a league, whatever its policy.

In the model a pair achieves u_i u_j on average (u_i v_j with two sides). It gives strengths, intervals and estimates of
pairs; a test says whether it fits.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock, RLock
from typing import NamedTuple

import numpy as np

from matchbandit.graphs import Edges, Graph, bipartite, monopartite
from matchbandit.live.records import Documented
from matchbandit.live.state import State
from matchbandit.live.tally import Results
from matchbandit.product_model import WARNING_LEVEL, product_fit
from matchbandit.rewards import Counts, Floats, RewardDistribution
from matchbandit.strengths import Posterior, clip_outliers

INTERVAL_LEVEL = 0.9
"""Probability of the intervals of strengths and pair means, under the model."""
EQUAL_STRENGTH = 1e-6
"""Strengths that differ by less share a place: the fit is not more exact."""


def league_graph(two_sided: bool, on_side: Sequence[int]) -> Graph:
    """The graph of all items that ever joined: vertex numbers never change when others join or leave."""
    if two_sided:
        return bipartite(max(on_side[0], 1), max(on_side[1], 1))
    return monopartite(max(on_side[0], 2))


@dataclass(frozen=True)
class Standing(Documented):
    """An item in the ranking."""

    place: int | None
    """From 1, on its side; equal items share one. None before the first result."""
    id: int
    """The id of the item."""
    name: str
    """Its name."""
    side: str | None
    """The name of its side; None for a player."""
    estimate: float
    """Strength; a pair is expected to achieve the product of its two strengths."""
    low: float
    """The lower end of the 90 % interval of the strength."""
    high: float
    """The upper end of that interval."""
    meetings: int
    """Results that it had a part in."""
    mean: float | None
    """Average result of its pairs; None before the first one."""
    byes: int
    """How often it sat out."""
    active: bool
    """Whether it can be paired."""


@dataclass(frozen=True)
class PairEstimate:
    """Estimate and results of a pair."""

    estimate: float
    low: float
    high: float
    """The 90 % interval of the mean, under the model."""
    meetings: int
    mean: float | None
    """Average of its own results; None without any."""


@dataclass(frozen=True)
class Fit:
    """Does the product model fit the results?"""

    fits: bool | None
    """None: the results do not suffice to tell."""
    p_value: float | None
    """Probability of results at least as far off if the model were right."""
    results: int
    """Number of results."""
    worst: tuple[tuple[int, int, float], ...]
    """The pairs that deviate most, by id, with the number of standard deviations; empty unless the fit is bad."""
    sentence: str
    """The conclusion."""


class FitInputs(NamedTuple):
    """Everything the test of the product model depends on."""

    graph: Graph
    places: Counts
    numbers: Counts
    """The vertex of each item, rows first; item k is at index k − 1."""
    results: Results
    rewards: RewardDistribution


class LeagueModel:
    """The model of a league at one moment, fitted on first use.

    Concurrent callers wait for the same fit. `assess` runs `assess_fit`, in this process or another.
    """

    def __init__(self, state: State, assess: "Callable[[FitInputs], Fit] | None" = None) -> None:
        """Copy what is needed, so that the state may change afterwards."""
        self._assess = assess or assess_fit
        self.seq = state.seq
        self.two_sided = state.two_sided
        self.rewards = state.rewards
        self.graph = league_graph(state.two_sided, state.on_side)
        self.places = np.array(state.places, dtype=np.int64)
        self.sides = np.array(state.sides_by_item, dtype=np.int64)
        self.active = list(state.active)
        self.byes = list(state.byes)
        self.results = state.tally.results(state.last_number)
        self.faded = state.tally.half_life is not None
        self.policy = str(state.config["policy"])
        self.exclusions, self.wishes = state.share_exclusions(), frozenset(state.wishes)
        self._lock = RLock()
        self._fit_lock = Lock()
        self._posterior: Posterior | None = None
        self._interval_ends: tuple[Floats, Floats] | None = None
        self._fit: Fit | None = None

    @property
    def numbers(self) -> Counts:
        """The vertex of each item, rows first; item k is at index k − 1."""
        return self.places + self.sides * self.graph.n_rows

    @property
    def posterior(self) -> Posterior:
        """The posterior of the strengths."""
        with self._lock:
            if self._posterior is None:
                edges, plays, sums = count_results(
                    self.graph, self.places, self.results, self.rewards, faded=self.faded
                )
                self._posterior = Posterior.fit(self.graph, self.rewards, edges, plays, sums)
            return self._posterior

    @property
    def _intervals(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals of all strengths, rows first."""
        with self._lock:  # a cached_property would let concurrent threads compute them again
            if self._interval_ends is None:
                self._interval_ends = self.posterior.item_intervals(INTERVAL_LEVEL)
            return self._interval_ends

    @cached_property
    def _by_item(self) -> tuple[Counts, Floats]:
        """Number of results and total reward per item."""
        r, n = self.results, len(self.places)
        ends = np.concatenate([r.a, r.b]) - 1
        counts = np.bincount(ends, np.tile(r.counts, 2), minlength=n).astype(np.int64)
        return counts, np.bincount(ends, np.tile(r.paid, 2), minlength=n).astype(np.float64)

    def ranking(self, names: Sequence[str], side_names: Sequence[str] | None) -> list[Standing]:
        """All items in the league by place, each side for itself, those without results last; `names` by id − 1."""
        numbers, (low, high) = self.numbers, self._intervals
        strengths, low, high = self.posterior.strengths[numbers], low[numbers], high[numbers]
        counts, paid = self._by_item
        standings: list[Standing] = []
        for side in (0, 1) if self.two_sided else (0,):
            standings += [
                Standing(
                    place=place,
                    id=k + 1,
                    name=names[k],
                    side=None if side_names is None else side_names[side],
                    estimate=float(strengths[k]),
                    low=float(low[k]),
                    high=float(high[k]),
                    meetings=int(counts[k]),
                    mean=float(paid[k] / counts[k]) if counts[k] else None,
                    byes=self.byes[k],
                    active=True,
                )
                for k, place in self._places(side).items()
            ]
        return standings

    def _places(self, side: int) -> dict[int, int | None]:
        """The places of the active items of a side, by item − 1, in the order of the ranking."""
        strengths, (counts, _) = self.posterior.strengths[self.numbers].tolist(), self._by_item
        items = [k for k in range(len(strengths)) if self.active[k] and self.sides[k] == side]
        items.sort(key=lambda k: (not counts[k], -strengths[k], k))
        places: dict[int, int | None] = {}
        place, top = 0, np.inf
        for position, k in enumerate(items, start=1):
            if strengths[k] < top - EQUAL_STRENGTH:
                place, top = position, strengths[k]
            places[k] = place if counts[k] else None
        return places

    def item(self, item: int) -> tuple[float, float, float, int, float | None]:
        """Strength, its 90 % interval, number of results and their mean."""
        number, (counts, paid) = int(self.numbers[item - 1]), self._by_item
        strength, (low, high) = float(self.posterior.strengths[number]), self._intervals
        count = int(counts[item - 1])
        mean = float(paid[item - 1] / count) if count else None
        return strength, float(low[number]), float(high[number]), count, mean

    def place(self, item: int) -> tuple[int | None, int]:
        """Its place among the active items of its side, and how many these are; None if it left or has no results."""
        places = self._places(int(self.sides[item - 1]))
        return places.get(item - 1), len(places)

    def pair(self, a: int, b: int) -> PairEstimate:
        """Estimate and results of a pair."""
        ends = self.numbers[np.array([[a - 1, b - 1]])]
        low, high = self.posterior.pair_intervals(ends, INTERVAL_LEVEL)
        mine = np.flatnonzero((self.results.a == a) & (self.results.b == b))
        count = int(self.results.counts[mine].sum())
        return PairEstimate(
            estimate=float(self.posterior.pair_means(ends)[0]),
            low=float(low[0]),
            high=float(high[0]),
            meetings=count,
            mean=float(self.results.paid[mine].sum() / count) if count else None,
        )

    def expected(self, pairs: Iterable[Sequence[int]]) -> float:
        """The total reward the model expects of these pairs."""
        ids = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        return float(self.posterior.pair_means(self.numbers[ids - 1]).sum())

    def fit(self) -> Fit:
        """Does a product fit? All results count equally here, even if the policy discounts them."""
        with self._fit_lock:
            if self._fit is None:
                self._fit = self._assess(FitInputs(self.graph, self.places, self.numbers, self.results, self.rewards))
            return self._fit


def count_results(
    graph: Graph, places: Counts, results: Results, rewards: RewardDistribution, *, faded: bool
) -> tuple[Edges, Floats, Floats]:
    """Edges in increasing order, plays and sums for the product model: discounted like the policy's, outliers clipped.

    The model uses the rewards themselves, not coins that a policy flipped for them.
    """
    edges, order, played = sorted_edges(graph, places, results)
    if faded:
        return edges, results.plays[order][played], results.sums[order][played]
    counts, paid = results.counts[order][played], results.paid[order][played]
    return edges, counts.astype(np.float64), np.asarray(clip_outliers(rewards.noise, counts, paid))


def sorted_edges(graph: Graph, places: Counts, results: Results) -> tuple[Edges, Counts, Counts]:
    """The edges of all pairs with a result, in increasing order; the sorting permutation, and which entries to keep."""
    if not len(results.a):
        return (np.zeros(0, dtype=np.int64),) * 3
    edges = graph.edges(np.stack([places[results.a - 1], places[results.b - 1]], axis=1))
    order = np.argsort(edges, kind="stable")
    played = np.flatnonzero(results.counts[order] > 0)
    return edges[order][played], order, played


def assess_fit(inputs: FitInputs) -> Fit:
    """Run `product_fit` and describe its result."""
    results = inputs.results
    total = int(results.counts.sum())
    if not total:
        return Fit(None, None, total, (), "There are no results yet to test the model with.")
    edges, order, played = sorted_edges(inputs.graph, inputs.places, results)
    test = product_fit(
        inputs.graph,
        inputs.graph.pairs_of(edges),
        counts=results.counts[order][played],
        sums=results.paid[order][played],
        rewards=inputs.rewards,
        simulate_null=False,
    )
    p = float(test.p_value)
    if test.degrees_of_freedom <= 0:
        return Fit(None, None, total, (), "Too few pairs have met to tell whether the model fits.")
    if test.verdict == "fits":
        return Fit(True, p, total, (), f"The model fits the {total} results (p = {p:.2g}).")
    if p >= WARNING_LEVEL:
        return Fit(
            None,
            p,
            total,
            (),
            f"The {total} results cannot tell whether the model fits (p = {p:.2g}).",
        )
    ids = {number: item for item, number in enumerate(inputs.numbers.tolist(), start=1)}
    return Fit(
        False,
        p,
        total,
        tuple((ids[i], ids[j + inputs.graph.n_rows], residual) for i, j, residual in test.worst(5)),
        f"The results do not fit the model, in which each item has one strength (p = {p:.2g}): some pairs achieve more "
        f"together, or less, than their strengths say. Estimates of pairs are then averages of unlike things; "
        f"cucb or cts-gaussian judge each pair by itself.",
    )
