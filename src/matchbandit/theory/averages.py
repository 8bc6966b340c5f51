"""What schedules lose on average: Lemma E.1 (round-robins) and Lemmas F.2 and F.3 (chains of clusters)."""

from itertools import accumulate, pairwise

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.rewards import Floats
from matchbandit.theory.quantities import mixing_losses, sorted_descending


def round_robin_regret(u: Floats) -> float:
    """What a round of a round-robin among an even number of players loses on average (Lemma E.1).

    R_S = (1/(2K − 1)) Σ_(i<j) r_ij. The last line of the printed proof has 2K + 1: with four players, u = (1, 1, 0, 0),
    two of the three rounds lose 1, so that the average is 2/3 = r_12/3.

    >>> round_robin_regret([1.0, 1.0, 0.0, 0.0])
    0.6666666666666666
    """
    if len(u) % 2 or not len(u):
        raise MatchbanditError(f"a round-robin of pairs needs an even number of players; got {len(u)}.")
    return float(mixing_losses(u).sum()) / (len(u) - 1)


def trivial_chain_regret(u: Floats) -> float:
    """What a round of the chain {first}, the others, {last} loses on average, from the proportions p_ij.

    The first and the last each meet every one of the cluster S between them in 1/|S| of the rounds; two of S meet in
    (|S| − 2)/(|S| (|S| − 1)) of them.
    """
    u = _of_trivial_chain(u)
    inner = u[1:-1]
    size = len(inner)
    met = (inner.sum() ** 2 - (inner**2).sum()) / 2 * (size - 2) / (size * (size - 1))
    return float((u[::2] * u[1::2]).sum() - met - (u[0] + u[-1]) * inner.mean())


def trivial_chain_bound(u: Floats) -> float:
    """Lemma F.3's upper bound on `trivial_chain_regret`: that of a round-robin whose ends mix in the better way only.

    With 2K players between the ends, 1/(2K + 1) times (Σ r_ij over all pairs but the first with the last, plus
    2 (u_1 − u_last) (u_2 − u_(last−1))).
    """
    u = _of_trivial_chain(u)
    r = mixing_losses(u)
    ends = 2 * (u[0] - u[-1]) * (u[1] - u[-2])
    return float(ends + r.sum() - r[0, -1]) / (len(u) - 1)


def _of_trivial_chain(u: Floats) -> Floats:
    if len(u) % 2 or len(u) < 4:
        raise MatchbanditError(f"a chain of one, an even cluster, and one needs 4, 6, … players; got {len(u)}.")
    return sorted_descending(u)


def chain_regret(u: Floats, sizes: tuple[int, ...]) -> float:
    """What a round of Sample-Matching on a chain of clusters of these sizes loses on average (Lemma F.2).

    R = R(S_1 ∪ {v_2}) + Σ R({l_(i−1)}, S_i, {v_(i+1)}) + R({l_(K−1)} ∪ S_K): v_i stands for the mean of S_i, l_i is the
    worst item of S_i. The paper as printed says the highest ranked, which is the one with the largest index: with the
    best item of S_i the sum is not the average over the schedule.
    """
    u = sorted_descending(u)
    cuts = [0, *accumulate(sizes)]
    if cuts[-1] != len(u) or len(u) % 2 or min(sizes, default=0) < 1 or any(c % 2 == 0 for c in cuts[1:-1]):
        raise MatchbanditError(f"{len(u)} players are no chain of clusters of the sizes {tuple(sizes)}.")
    if len(sizes) == 1:
        return round_robin_regret(u)
    clusters = [u[a:b] for a, b in pairwise(cuts)]
    means, worst = [cluster.mean() for cluster in clusters], [cluster[-1] for cluster in clusters]
    ends = np.append(clusters[0], means[1]), np.append(worst[-2], clusters[-1])
    between = [np.concatenate([[worst[i - 1]], clusters[i], [means[i + 1]]]) for i in range(1, len(clusters) - 1)]
    return sum(round_robin_regret(end) for end in ends) + sum(trivial_chain_regret(chain) for chain in between)
