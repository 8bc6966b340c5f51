"""How many samples rank two averages, and how much windows add: Lemmas B.1 and B.2 with their constants.

Rewards are σ-sub-Gaussian. In [0, 1], σ = 1/2, a gap counts as it is; otherwise radii are 2σ times as wide and a gap
counts as gap/2σ. Nothing is checked before 16 log β samples, so no gap counts as more than 2.
"""

from math import inf, log, log2, pi


def seen_gap(gap: float, sigma: float) -> float:
    """A gap between two averages, in units of the radii of rewards in [0, 1]."""
    return min(gap / (2 * sigma), 2.0)


def ranked_after(gap: float, log_beta: float) -> float:
    """64 log β / gap², the samples after which two averages this far apart are ranked if no interval fails.

    The first check l with 2^−l < gap/2 ranks them (Lemma B.2); then 4^l ≤ 16/gap², and k_l = ⌈4 · 4^l log β⌉. With a
    growth g below 4 the same steps give 16 g log β / gap², so that bounds on regret hold for every growth to 4.
    """
    return 64 * log_beta / gap**2 if gap > 0 else inf


def ranked_with_delta(gap: float, delta: float, n_averages: int) -> float:
    """The same for β_l = π √(K/3δ) l: (32/gap²) (log(1/δ) + log(π² K/3)) + (64/gap²) log(log2(1/gap) + 2), and 1.

    Theorem 3.2's proof as printed lacks the 1/gap² of the last term, which multiplies all of log β_l (as it does in
    the proof for Matching-Id); 1 is for rounding up. At gap = 0.001, l = 11: k_l = ⌈4^12 (log c + log 11)⌉ has
    4^12 log 11 = 4·10^7 of it, where the paper as printed has 64 log 12 = 159.
    """
    if gap <= 0:
        return inf
    return (32 * (log(1 / delta) + log(pi**2 * n_averages / 3)) + 64 * log(log2(1 / gap) + 2)) / gap**2 + 1


def log_log2(x: float) -> float:
    """log2 log2 x, not below 0."""
    return max(0.0, log2(log2(x))) if x > 2 else 0.0
