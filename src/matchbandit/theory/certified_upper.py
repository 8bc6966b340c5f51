"""Upper bounds for rank1-certify: Theorems 3 and 6 of docs/certified.md as numbers."""

from collections.abc import Iterator
from itertools import combinations
from math import inf, log
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from matchbandit.certificates import Target
from matchbandit.evidence import DIFFERENCE_WEIGHT, SPREAD, log_mixture
from matchbandit.graphs import Graph, Selection
from matchbandit.problems import Bipartite, Monopartite
from matchbandit.rewards import Floats
from matchbandit.schedules import next_batch
from matchbandit.schedules.batches import EARLY_TOUR_SHARE, FORCED_SHARE, GROWTH_FOR_REGRET, ROUNDS_PER_NAT
from matchbandit.theory.bound import Assumption, Bound, upper_bound
from matchbandit.theory.players import sorted_descending, sorted_players
from matchbandit.theory.quantities import worst_round_regret

EXPLORATION_SHARE = 1 / 16
"""The share of a batch that explores for regret: the policy's default."""
LEVELS, NEAR_TIE, MIN_THRESHOLD = 9, 1.5, log(2)
"""The number of ratios for regret, the largest of them, and the least threshold: the policy's."""
MAX_ROUNDS = 1e300
"""Where floats end; a bound that is not reached by then is infinite."""
BATCHES_AT_ONCE = 256
"""Batches whose terms are computed together."""


class Batches(NamedTuple):
    """Consecutive batches: the whole tours before each, and its rounds."""

    tours: Floats
    """M_k."""
    rounds: Floats
    """t_(k+1) − t_k."""


def certify_rounds(problem: Bipartite | Monopartite, delta: float, selection: Selection) -> Bound:
    """Theorem 3: E[τ; G] ≤ Σ_k (t_(k+1) − t_k) min(1, q_k), τ the rounds until rank1-certify has its answer.

    q_k is the chance that, after the whole tours of k batches, they alone leave some border without a certificate.
    """
    target = Target.of(problem.graph, selection)
    borders = certificate_gaps(problem, target)
    apart = all(gap > 0 for _, gaps in borders for gap in gaps.tolist())
    value, needed = inf if not apart else 0.0, log(max(1, target.bad_links)) - log(delta)
    if apart and target.bad_links:
        for batch in schedule(problem.graph, target, selection):
            left = uncertain(batch.tours, borders, needed, problem.rewards.sigma)
            value += float((batch.rounds * left).sum())
            if left[-1] == 0:
                break
        else:
            value = inf
    return upper_bound(
        {"Σ (t_(k+1) − t_k) min(1, q_k)": value},
        name=f"rank1-certify-rounds-{selection}",
        task="identification",
        policy="rank1-certify",
        source="Theorem 3 of docs/certified.md",
        origin="package",
        assumptions=(
            Assumption("across each border of the answer strengths differ, and not all common opponents are 0", apart),
        ),
        note="on average, a run in which a bad link is certified, at most δ of them, counted as 0; the proof lives on "
        "whole tours, 1/32 of the rounds.",
        plays=selection,
        seeks=selection,
    )


def certify_regret(problem: Bipartite | Monopartite, horizon: int, selection: Selection) -> Bound:
    """Theorem 6: what rank1-certify loses up to a horizon that it knows, whatever is equal."""
    target, sigma = Target.of(problem.graph, selection), problem.rewards.sigma
    worst = max(0.0, worst_round_regret(problem, selection))
    n, is_positive = target.n_items, all(bool(strengths.min() > 0) for strengths in _sides(problem))
    parts = dict.fromkeys(("first tours", "wrong certificates", "until all is certified", "tours on ties"), 0.0)
    if target.n_links and worst > 0:
        needed = max(MIN_THRESHOLD, log(target.n_links) + log(horizon) - log(2 * n))
        groups, length = swap_groups(problem.graph, selection), tour_length(problem.graph, selection)
        parts["first tours"] = worst * length * (1 if selection == "pair" else 2)
        parts["wrong certificates"] = 2 * n * problem.optimum(selection)
        examined = np.array([groups / FORCED_SHARE * (2 + GROWTH_FOR_REGRET), groups / FORCED_SHARE + n / 2 + 1])
        toured = EARLY_TOUR_SHARE * (1 + 2 * groups / n)
        per_round = 1 / EXPLORATION_SHARE + 2 * (1 + groups) / n + toured
        per_information = groups / (FORCED_SHARE * ROUNDS_PER_NAT * needed)
        for gap, tied_mean in comparisons(problem):
            if gap > 0:
                mean, square = information_needed(gap, needed, sigma, LEVELS)
                rounds = examined @ [square, mean] * per_information + examined @ [mean, 1.0] * per_round
                parts["until all is certified"] += worst * float(rounds)
            else:
                mean, _ = information_needed((NEAR_TIE - 1) * tied_mean, needed / 2, sigma, 2)
                parts["tours on ties"] += worst * toured * float(examined @ [mean, 1.0])
    return upper_bound(
        parts,
        name=f"rank1-certify-regret-{selection}",
        task="regret",
        policy="rank1-certify",
        source="Theorem 6 of docs/certified.md",
        origin="package",
        assumptions=(Assumption("no strength is 0", is_positive),),
        note="with the default share and the horizon known; ties are allowed.",
        trivial_value=horizon * worst,
        plays=selection,
        seeks=selection,
    )


def comparisons(problem: Bipartite | Monopartite) -> Iterator[tuple[float, float]]:
    """For every two items of a side the least difference of their means over common opponents, and the least mean."""
    sides = _sides(problem)
    for strengths, opponents in zip(sides, reversed(sides), strict=True):
        u = sorted_descending(strengths)
        for i, j in combinations(range(len(u)), 2):
            others = opponents if len(sides) > 1 else np.delete(u, [i, j])
            if len(others):
                yield float((u[i] - u[j]) * others.min()), float(u[j] * others.min())


def _sides(problem: Bipartite | Monopartite) -> list[Floats]:
    return [problem.u, problem.v] if isinstance(problem, Bipartite) else [problem.u]


def swap_groups(graph: Graph, selection: Selection) -> int:
    """The most rounds into which the swaps at all borders fit."""
    if selection == "pair":
        return graph.n_items - 2 if graph.is_bipartite else 2 * (graph.n_items - 2)
    return 2 + max(graph.shape) - min(graph.shape) if graph.is_bipartite else 4


def information_needed(gap: float, needed: float, sigma: float, events: int) -> tuple[float, float]:
    """E[I] and E[I²] at most, I the information of a link when it is last open, if each unit of it differs by `gap`.

    Up to I* it may be open; beyond, with probability at most `events` exp(−gap² I/(18 σ²)).
    """
    if gap <= 0:
        return inf, inf
    scale, weight = 18 * (sigma / gap) ** 2, -log(DIFFERENCE_WEIGHT)
    low, high = 0.0, 1.0
    while high < MAX_ROUNDS and log_mixture(gap * high / 2, high, sigma) < needed + weight:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        is_enough = log_mixture(gap * middle / 2, middle, sigma) >= needed + weight
        low, high = (low, middle) if is_enough else (middle, high)
    start = max(NEAR_TIE**2 * high, scale * log(events))
    return start + scale, start * start + 2 * start * scale + 2 * scale * scale


def schedule(graph: Graph, target: Target, selection: Selection) -> Iterator[Batches]:
    """The batches of identification while nothing is certified, some at a time."""
    pairs = selection == "pair"
    length = tour_length(graph, selection)
    explored = tours = 0
    while explored < MAX_ROUNDS:
        batches: list[tuple[float, ...]] = []
        while len(batches) < BATCHES_AT_ONCE and explored < MAX_ROUNDS:
            batch = next_batch(explored, tours, length=length, first=1 if pairs else 2, items=target.n_items)
            batches.append((tours, batch.rounds))
            explored, tours = explored + batch.rounds, tours + batch.tours
        yield Batches(*np.array(batches, dtype=np.float64).T)


def tour_length(graph: Graph, selection: Selection) -> int:
    """Rounds in which every two meet: of an odd number of players each sits out once."""
    if selection == "pair":
        return graph.n_pairs
    return max(graph.shape) if graph.is_bipartite else graph.n_items - 1 + graph.n_items % 2


def certificate_gaps(problem: Bipartite | Monopartite, target: Target) -> list[tuple[int, Floats]]:
    """g_ab of every border of the answer, for each side with the number of common opponents."""
    if isinstance(problem, Monopartite):
        u, places = sorted_players(problem).u, target.borders(np.arange(target.n_items))
        before, behind = np.append(0, np.cumsum(u)), np.append(np.cumsum(u[::-1])[::-1], 0)
        gaps = [(u[a] - u[b]) * (before[a] + u[a + 1 : b].sum() + behind[b + 1]) for a, b in places.tolist()]
        return [(len(u) - 2, np.array(gaps) / max(1, len(u) - 2))] if gaps else []
    result = []
    for strengths, others, blocks in zip((problem.u, problem.v), (problem.v, problem.u), target.blocks, strict=True):
        places = Target((0, len(strengths)), (blocks,)).borders(np.arange(len(strengths)))
        if len(places):
            ordered = sorted_descending(strengths)
            result.append((len(others), (ordered[places[:, 0]] - ordered[places[:, 1]]) * others.mean()))
    return result


def uncertain(tours: Floats, borders: list[tuple[int, Floats]], needed: float, sigma: float) -> Floats:
    """min(1, q) after these whole tours: Σ over the borders of exp(−(N g − d(N))²/(4σ²N)), 1 where N g < d(N)."""
    total = np.zeros(len(tours))
    for opponents, gaps in borders:
        N = tours * opponents
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = np.sqrt(N) / sigma
            above = root * gaps.min() - enough(N, needed, sigma)
        sure = np.flatnonzero(above > 0)
        total[~(above > 0)] = 1.0
        if len(sure):
            beyond = np.multiply.outer(root[sure], gaps - gaps.min()) + above[sure, None]
            total[sure] += np.exp(-((np.minimum(beyond, 1e100) / 2) ** 2)).sum(axis=1)
    return np.minimum(total, 1.0)


def enough(N: Floats, needed: float, sigma: float) -> Floats:
    """d(N)/(σ √N): the difference D after N plays of each with which whole tours alone certify, log E ≥ `needed`.

    In x = D/(2σ² √(2A)), A = N/(4σ²) + 1/(2s²), the average of Lemma 2 is Φ(x) e^(x²/2) 2/(s √(2A)). The logarithm of
    the first two factors is convex and rises: Newton's steps from above stay above.
    """
    least = 2 / SPREAD**2  # in plays of each, of which the weight of differences is a half
    log_2A = log(2) + np.logaddexp(log(least), np.log(N) - 2 * log(sigma))
    goal = needed - log(DIFFERENCE_WEIGHT) + log_2A / 2 - log(4 / SPREAD)
    x = np.sqrt(2 * (goal + log(2)))  # there Φ ≥ 1/2 is enough; `goal` is above 2
    for _ in range(6):
        log_phi = log_ndtr(x)
        slope = x + np.exp(-x * x / 2 - log_phi) / np.sqrt(2 * np.pi)
        x = x - (x * x / 2 + log_phi - goal) / slope
    return np.asarray(x * np.sqrt(2 * (1 + least * (sigma / np.sqrt(N)) ** 2)))
