"""Upper bounds for rank1-certify: the sums of Theorems 3 and 5 of docs/certified.md, batch by batch, as numbers."""

from collections.abc import Iterator
from math import comb, inf, log
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from matchbandit.certificates import Target
from matchbandit.evidence import DIFFERENCE_WEIGHT, SPREAD
from matchbandit.graphs import Graph, Selection
from matchbandit.problems import Bipartite, Monopartite
from matchbandit.rewards import Floats
from matchbandit.schedules import next_batch
from matchbandit.theory.bound import Assumption, Bound, upper_bound
from matchbandit.theory.players import sorted_descending, sorted_players
from matchbandit.theory.quantities import worst_round_regret

EXPLORATION_SHARE = 0.25
"""The share of a batch that explores for regret: the policy's default."""
MAX_ROUNDS = 1e300
"""Where floats end; a bound that is not reached by then is infinite."""
BATCHES_AT_ONCE = 256
"""Batches whose terms are computed together."""


class Batches(NamedTuple):
    """Consecutive batches: the rounds and tours before each, and its own rounds."""

    rounds: Floats
    """t_k."""
    tours: Floats
    """M_k."""
    guesses: Floats
    """Rounds of each that play the best guess."""
    explored: Floats
    """Rounds of each that explore."""


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
            value += float(((batch.guesses + batch.explored) * left).sum())
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
    """Theorem 5: what rank1-certify loses up to a horizon that it knows, whatever is equal.

    A batch is played with a chance of min(1, q_k) at most. What it explores then loses no more than the worst round; so
    do its best guesses, and no more than `misplaced` if whole tours tell apart what they should.
    """
    target, sigma = Target.of(problem.graph, selection), problem.rewards.sigma
    worst = max(0.0, worst_round_regret(problem, selection))
    n, wrong = target.n_items, sum(comb(sum(sizes), 2) for sizes in target.blocks)
    parts = dict.fromkeys(("rounds that explore", "best guesses", "wrong certificates"), 0.0)
    if target.bad_links and worst > 0:
        parts["wrong certificates"] = worst * wrong / target.bad_links
        needed, borders = log(target.bad_links) + log(horizon), certificate_gaps(problem, target)
        for batch in schedule(problem.graph, target, selection, horizon, needed):
            left = uncertain(batch.tours, borders, needed, sigma)
            t = np.maximum(batch.rounds, 1.0)
            fails = np.where(batch.tours > 0, (1 / t) ** 3 / n, 1.0)  # by Lemma 4
            reach = 2 * sigma * np.sqrt(12 * np.log(n * t) / np.maximum(batch.tours, 1e-300))  # 2 r √o
            loss = np.minimum(worst, misplaced(problem, selection, reach))
            guess = np.minimum(worst * left, worst * fails + loss * left)
            parts["rounds that explore"] += worst * float((batch.explored * left).sum())
            parts["best guesses"] += float((batch.guesses * guess).sum())
            if left[-1] == 0:
                break
    return upper_bound(
        parts,
        name=f"rank1-certify-regret-{selection}",
        task="regret",
        policy="rank1-certify",
        source="Theorem 5 of docs/certified.md",
        origin="package",
        assumptions=(),
        note="with the default share and the horizon known; ties are allowed.",
        trivial_value=horizon * worst,
        plays=selection,
        seeks=selection,
    )


def schedule(
    graph: Graph, target: Target, selection: Selection, horizon: int | None = None, needed: float | None = None
) -> Iterator[Batches]:
    """The batches while nothing is certified, some at a time, up to the horizon if there is one.

    A batch that would end after the horizon does not start: the best guess is played instead.
    """
    pairs = selection == "pair"
    length = graph.n_pairs if pairs else tour_length(graph)
    sampled = explored = tours = 0
    going = True
    while going and sampled < MAX_ROUNDS:
        batches: list[tuple[float, ...]] = []
        while going and len(batches) < BATCHES_AT_ONCE and sampled < MAX_ROUNDS:
            batch = next_batch(
                sampled,
                explored,
                tours,
                length=length,
                first=1 if pairs else 2,
                items=target.n_items,
                share=1.0 if horizon is None else EXPLORATION_SHARE,
                needed=needed,
            )
            going = horizon is None or sampled + batch.rounds <= horizon
            now = (batch.rounds - batch.explored, batch.explored) if going else ((horizon or 0) - sampled, 0)
            batches.append((sampled, tours, *now))
            sampled, explored, tours = sampled + batch.rounds, explored + batch.explored, tours + batch.tours
        yield Batches(*np.array(batches, dtype=np.float64).T)


def tour_length(graph: Graph) -> int:
    """Rounds of matchings in which every two meet: of an odd number of players each sits out once."""
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

    In x = D/(σ² √(2A)), A = N/σ² + 1/(2s²), the average of Lemma 2 is Φ(x) e^(x²/2) 2/(s √(2A)). The logarithm of the
    first two factors is convex and rises: Newton's steps from above stay above.
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


def misplaced(problem: Bipartite | Monopartite, selection: Selection, reach: Floats) -> Floats:
    """The most that a round loses in which a stands before b wherever g_ab ≥ y; `reach` is y times √(common opponents).

    Two may stand in the wrong order only if their strengths differ by less than h = y/ū, ū the least average strength
    of common opponents. Each pair then loses h for either of its ends; nothing once y is below every g_ab > 0.
    """
    u = sorted_descending(problem.u)
    pairs = 1 if selection == "pair" else problem.graph.matching_size
    if isinstance(problem, Monopartite):
        n = len(u) - 2
        behind = np.append(np.cumsum(u[::-1])[::-1], [0.0, 0.0])
        before = np.append(0, np.cumsum(u))
        gaps = (u[:-1] - u[1:]) * (before[: len(u) - 1] + behind[2 : len(u) + 1]) / n
        return pairs * 2 * _wrong(gaps, behind[2] / n, reach / np.sqrt(n))
    v = sorted_descending(problem.v)
    rows = _wrong((u[:-1] - u[1:]) * v.mean(), v.mean(), reach / np.sqrt(len(v)))
    return pairs * (rows + _wrong((v[:-1] - v[1:]) * u.mean(), u.mean(), reach / np.sqrt(len(u))))


def _wrong(neighbour_gaps: Floats, opponent: float, y: Floats) -> Floats:
    """h: by how much strengths in the wrong order may differ. No g_ab > 0 is below the least one of neighbours."""
    least = min((gap for gap in neighbour_gaps.tolist() if gap > 0), default=inf)
    return np.where(y <= least, 0.0, y / opponent if opponent > 0 else inf)
