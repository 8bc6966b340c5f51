"""The policy "as before": a random pair or matching each round, with pairs as frequent as in a log."""

import numpy as np

from matchbandit.graphs import Edges, Graph, Selection
from matchbandit.past_results import PairTotals
from matchbandit.rewards import Floats
from matchbandit.seeding import stream
from matchbandit.solvers.best import MAX_MATCHINGS, all_matchings, count_matchings

MAX_STEPS, TOLERANCE = 1000, 1e-5
"""Of expectation maximisation: the number of steps, and the gain in log-likelihood per result below which it ends."""


def pair_frequencies(tally: PairTotals, selection: Selection, seed: int = 0) -> Floats:
    """Return the probability that a round plays each pair, by edge, if pairs are chosen as in the log.

    A single pair is drawn by its share of the log's results. A matching is drawn with probabilities p_k under which the
    log's pairs are most likely: they maximise Σ_e n_e log x_e, where n_e are the results of the pair e and
    x_e = Σ_{k ∋ e} p_k is its probability. If some distribution over matchings has pairs in the proportions of the log,
    x has them. In any case x is a mixture of matchings, so that it never earns more than the best of them. On graphs
    with more matchings than are enumerated, it is a mixture of some that `draw_matchings` draws.
    """
    graph = tally.graph
    shares = _shares(tally)
    if selection == "pair":
        return shares
    has_few = count_matchings(graph) <= MAX_MATCHINGS
    matchings = all_matchings(graph) if has_few else draw_matchings(tally, MAX_MATCHINGS, seed)
    return _most_likely_mixture(matchings, shares)


def agreement(tally: PairTotals, frequencies: Floats) -> float:
    """Return the part of a round's pairs that is as frequent as in the log: 1 if all proportions are the log's."""
    return float(np.minimum(_shares(tally), frequencies / frequencies.sum()).sum())


def _shares(tally: PairTotals) -> Floats:
    """The part of the log's results that each pair has, by edge."""
    shares = np.zeros(tally.graph.n_pairs)
    shares[tally.graph.edges(tally.pairs)] = tally.counts / tally.counts.sum()
    return shares


def _most_likely_mixture(matchings: Edges, shares: Floats) -> Floats:
    """The edge probabilities of the mixture of these matchings that makes the shares most likely, by EM.

    Each step multiplies p_k by Σ_{e ∈ k} share_e / x_e. The largest factor bounds what is still to be gained.
    """
    n_matchings, size = matchings.shape
    p = np.full(n_matchings, 1 / n_matchings)
    for _ in range(MAX_STEPS):
        x = np.bincount(matchings.ravel(), np.repeat(p, size), minlength=len(shares))
        factors = np.divide(shares, x, out=np.zeros_like(x), where=x > 0)[matchings].sum(axis=1)
        if factors.max() <= (1 + TOLERANCE) * (factors @ p):
            break
        p *= factors / (factors @ p)
    return np.asarray(np.bincount(matchings.ravel(), np.repeat(p, size), minlength=len(shares)))


def draw_matchings(tally: PairTotals, n: int, seed: int) -> Edges:
    """Draw largest matchings: pairs one by one by their counts among those still free, then at random who is left."""
    rng, graph = stream(seed, "as before"), tally.graph
    ends = graph.items_of(tally.pairs)
    return np.array([_draw_matching(graph, ends, tally.counts, rng) for _ in range(n)])


def _draw_matching(graph: Graph, ends: Edges, counts: Edges, rng: np.random.Generator) -> Edges:
    """One matching; exponential waiting times with the counts as rates put the pairs in the order of such draws."""
    free = np.ones(graph.n_items, dtype=np.bool_)
    order = np.argsort(rng.exponential(size=len(counts)) / counts)
    left, chosen = ends[order], []
    while len(left):  # a pair that comes before all others of both its items is in the matching, and they are not
        at = np.arange(len(left))
        earliest = np.full(graph.n_items, len(left))
        np.minimum.at(earliest, left[:, 0], at)
        np.minimum.at(earliest, left[:, 1], at)
        taken = left[(earliest[left] == at[:, None]).all(axis=1)]
        chosen.append(taken)
        free[taken.ravel()] = False
        left = left[free[left].all(axis=1)]
    rest = rng.permutation(np.flatnonzero(free))
    if graph.is_bipartite:
        rows, columns = rest[rest < graph.n_rows], rest[rest >= graph.n_rows]
        size = min(len(rows), len(columns))
        chosen.append(np.stack([rows[:size], columns[:size]], axis=1))
    else:
        chosen.append(rest[: len(rest) // 2 * 2].reshape(-1, 2))
    return graph.edges_between(np.concatenate(chosen))
