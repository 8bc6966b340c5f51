"""What the results say of each item: the product model, fitted to the tally of a league, whatever its policy.

The model says that a pair pays u_i u_j (u_i v_j across two sides) on average. Strengths, their spread and estimates of
pairs come from it; whether it fits at all is tested, too.
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
"""The probability with which the intervals of strengths and of pair means hold, by the model."""
EQUAL_STRENGTH = 1e-6
"""Strengths that differ by less share a place: the fit is not more exact."""


def graph_of(two_sided: bool, on_side: Sequence[int]) -> Graph:
    """The graph of all items that ever joined, the absent too: numbers stay as they are when others join or leave."""
    if two_sided:
        return bipartite(max(on_side[0], 1), max(on_side[1], 1))
    return monopartite(max(on_side[0], 2))


@dataclass(frozen=True)
class Standing(Documented):
    """An item in the ranking."""

    place: int | None
    """From 1, on its side; equal items share one. None before the first result."""
    id: int
    name: str
    side: str | None
    estimate: float
    """Its strength: two items are expected to achieve the product of theirs."""
    low: float
    """The 90 % interval of the strength."""
    high: float
    meetings: int
    """Results that it had a part in."""
    mean: float | None
    """What its pairs achieved on average; None before the first result."""
    byes: int
    active: bool


@dataclass(frozen=True)
class PairEstimate:
    """What the model and the results say of a pair."""

    estimate: float
    low: float
    high: float
    """The interval that holds the mean with 90 %, by the model."""
    meetings: int
    mean: float | None
    """The average of its own results; None without any."""


@dataclass(frozen=True)
class Fit:
    """Does the product model fit the results?"""

    fits: bool | None
    """None: the results cannot tell."""
    p_value: float | None
    """How probable results at least as far off are, were the model right."""
    results: int
    worst: tuple[tuple[int, int, float], ...]
    """The pairs that stick out most, by id, and by how many standard deviations; if it does not fit."""
    sentence: str


class FitInputs(NamedTuple):
    """All that the test of the product model depends on."""

    graph: Graph
    places: Counts
    numbers: Counts
    """The number of each item in the graph, rows before columns; item k stands at place k − 1."""
    results: Results
    rewards: RewardDistribution


class LeagueModel:
    """The model of a league at one moment. Made quickly, from copies; fitted when it is first asked.

    Whoever asks while it is being fitted waits for the same result. `assess` tests the fit: `assess_fit`, in this
    process or another.
    """

    def __init__(self, state: State, assess: "Callable[[FitInputs], Fit] | None" = None) -> None:
        """Copy what is needed; afterwards the state may move on."""
        self._assess = assess or assess_fit
        self.seq = state.seq
        self.two_sided = state.two_sided
        self.rewards = state.counting
        self.graph = graph_of(state.two_sided, state.on_side)
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
        """The number of each item in the graph, rows before columns; item k stands at place k − 1."""
        return self.places + self.sides * self.graph.n_rows

    @property
    def posterior(self) -> Posterior:
        """Of the strengths."""
        with self._lock:
            if self._posterior is None:
                edges, plays, sums = counted(self.graph, self.places, self.results, self.rewards, faded=self.faded)
                self._posterior = Posterior.fit(self.graph, self.rewards, edges, plays, sums)
            return self._posterior

    @property
    def _intervals(self) -> tuple[Floats, Floats]:
        """Lower and upper ends for all strengths, rows first."""
        with self._lock:  # a cached_property alone would let every thread that comes meanwhile compute them
            if self._interval_ends is None:
                self._interval_ends = self.posterior.item_intervals(INTERVAL_LEVEL)
            return self._interval_ends

    @cached_property
    def _by_item(self) -> tuple[Counts, Floats]:
        """Results of each item, and what they paid in total."""
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
        """Strength, its 90 % interval, results, and what they paid on average."""
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
        """What is known of this pair."""
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
        """What these pairs are expected to achieve together, by the model now."""
        listed = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        return float(self.posterior.pair_means(self.numbers[listed - 1]).sum())

    def fit(self) -> Fit:
        """Does a product fit? All results count alike here, also those that have faded for the policy."""
        with self._fit_lock:
            if self._fit is None:
                self._fit = self._assess(FitInputs(self.graph, self.places, self.numbers, self.results, self.rewards))
            return self._fit


def counted(
    graph: Graph, places: Counts, results: Results, rewards: RewardDistribution, *, faded: bool
) -> tuple[Edges, Floats, Floats]:
    """Edges in rising order, plays and sums as the product model counts them: faded if the policy's are, slips clipped.

    Coins that a policy flipped for its own sums are not: the model takes the rewards.
    """
    edges, order, played = sorted_edges(graph, places, results)
    if faded:
        return edges, results.plays[order][played], results.sums[order][played]
    counts, paid = results.counts[order][played], results.paid[order][played]
    return edges, counts.astype(np.float64), np.asarray(clip_outliers(rewards.noise, counts, paid))


def sorted_edges(graph: Graph, places: Counts, results: Results) -> tuple[Edges, Counts, Counts]:
    """The edges of all pairs with a result, in rising order; how to order arrays like that, and which then to keep."""
    if not len(results.a):
        return (np.zeros(0, dtype=np.int64),) * 3
    edges = graph.edges(np.stack([places[results.a - 1], places[results.b - 1]], axis=1))
    order = np.argsort(edges, kind="stable")
    played = np.flatnonzero(results.counts[order] > 0)
    return edges[order][played], order, played


def assess_fit(inputs: FitInputs) -> Fit:
    """The test of `product_fit`, in words."""
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
