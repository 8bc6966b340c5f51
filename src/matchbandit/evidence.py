"""How much batches of rounds speak for one item being above another: an e-process for every ordered pair of items.

Under "a is not above b" it is a supermartingale from 1, whatever was played and however that was chosen: by Ville's
inequality it ever reaches x with probability at most 1/x. The proof is in docs/certified.md, line by line.
"""

from math import erfc, exp, inf, log, log1p, pi, sqrt

from matchbandit.compiled import compiled
from matchbandit.rewards import Counts, Floats, Noise

HALF_GAPS = 4
"""Bets on a fixed grid: half a gap of 0.4 of the strength, and a half, a quarter, … of that."""
BETS = HALF_GAPS + 1
"""The first one bets the fitted gap."""
LARGEST_HALF_GAP = 0.4
SPREAD = 0.25
"""The standard deviation of the half-normal over which the bets on whole tours are mixed."""
SHARE_OF_TOURS, SHARE_OF_FIT = 1 / 32, 1 / 2
"""The weights of the bet on whole tours and of the fitted gap; the grid shares the rest evenly."""
NARROWEST = 1e-12
"""The means that are bet on keep this distance from 0 and 1."""


@compiled
def log_factor(
    noise: Noise, n_a: float, sum_a: float, n_b: float, sum_b: float, theta_a: float, theta_b: float
) -> float:
    """log F of a batch: n_a plays of (a, c) paid sum_a, n_b of (b, c) paid sum_b; bet on the means θ_a > θ_b.

    Its mean is at most 1 if the mean of (a, c) is at most that of (b, c), for any rewards in [0, 1] (a share of
    `trials` successes counts as `trials` coins), and for Gaussian ones. 0 where there is nothing to compare, and where
    θ_a is not above θ_b inside (0, 1).
    """
    if n_a <= 0.0 or n_b <= 0.0:
        return 0.0
    if noise.trials > 0:
        theta_a = min(max(theta_a, NARROWEST), 1.0 - NARROWEST)
        theta_b = min(max(theta_b, NARROWEST), 1.0 - NARROWEST)
    if theta_a <= theta_b:
        return 0.0
    middle = (n_a * theta_a + n_b * theta_b) / (n_a + n_b)  # θ_0
    bet_a = n_b / (n_a + n_b) * (theta_a - theta_b)  # θ_a − θ_0, also where n_a is 10^12 times n_b
    bet_b = -n_a / (n_a + n_b) * (theta_a - theta_b)
    if noise.trials == 0:
        for_a = bet_a * (sum_a - n_a * (theta_a + middle) / 2.0)
        for_b = bet_b * (sum_b - n_b * (theta_b + middle) / 2.0)
        return (for_a + for_b) / (noise.sd * noise.sd)
    rest = 1.0 - middle
    for_a = sum_a * log1p(bet_a / middle) + (n_a - sum_a) * log1p(-bet_a / rest)
    for_b = sum_b * log1p(bet_b / middle) + (n_b - sum_b) * log1p(-bet_b / rest)
    return noise.trials * (for_a + for_b)


@compiled
def log_mixture(difference: float, n: float, sigma: float) -> float:
    """log ∫ exp((η D − η² n)/σ²) dH(η), H half-normal with standard deviation `SPREAD`: the bets on whole tours.

    D is the difference of the sums of n rewards of a and n of b, σ-sub-Gaussian, each of a's beside one of b's against
    the same opponent. For a fixed η > 0 the mean of the integrand is at most 1 if each of a's means is at most b's.
    """
    D, N, spread = difference / (sigma * sigma), n / (sigma * sigma), SPREAD
    A = N + 1.0 / (2.0 * spread * spread)
    x = D / sqrt(2.0 * A)  # the integral is Φ(x) e^(x²/2) 2/(s √(2A))
    scale = log(2.0 / (spread * sqrt(2.0 * A)))
    if x > -20.0:
        return scale + x * x / 2.0 + log(erfc(-x / sqrt(2.0)) / 2.0)
    return scale - log(-x * sqrt(2.0 * pi)) + log1p(-1.0 / (x * x))  # Φ's tail, where e^(x²/2) would overflow


@compiled
def bet_on_batch(
    log_bets: Floats, plays: Floats, sums: Floats, strengths: Floats, half_gaps: Floats, sides: Counts, noise: Noise
) -> None:
    """Multiply every bet of every ordered pair of items by its factor of this batch.

    `plays` and `sums` are those of the batch, symmetric, items × items; all others are from before the batch.
    `half_gaps[a, b]` is the half gap that the fit bets on. Items are compared within a side, `sides[k]` to
    `sides[k + 1]`, on every opponent c that both have met. The bets are θ = (ū ± half-gap) û_c, ū = (û_a + û_b)/2;
    where û_a is below û_b nothing is bet.
    """
    n = len(strengths)
    for side in range(len(sides) - 1):
        for a in range(sides[side], sides[side + 1]):
            for b in range(sides[side], sides[side + 1]):
                if a == b or strengths[a] < strengths[b]:
                    continue
                level = (strengths[a] + strengths[b]) / 2.0
                for bet in range(BETS):
                    half = half_gaps[a, b] if bet == 0 else level * LARGEST_HALF_GAP * 0.5 ** (bet - 1)
                    total = 0.0
                    for c in range(n):
                        if plays[a, c] > 0.0 and plays[b, c] > 0.0:
                            above, below = (level + half) * strengths[c], (level - half) * strengths[c]
                            total += log_factor(noise, plays[a, c], sums[a, c], plays[b, c], sums[b, c], above, below)
                    log_bets[bet, a, b] += total


@compiled
def log_evidence(
    log_bets: Floats, tours: float, tour_sums: Floats, opponents: Counts, sides: Counts, sigma: float, total: Floats
) -> None:
    """Write the logarithm of every pair's e-process into `total`: the weighted mean of its bets; −∞ if not of a side.

    `tours` whole tours were played, in which every pair met once; `tour_sums[a]` is what a's pairs paid in them, and
    `opponents[a]` how many opponents a has in common with another of its side.
    """
    each = (1.0 - SHARE_OF_TOURS - SHARE_OF_FIT) / HALF_GAPS
    for a in range(len(total)):
        for b in range(len(total)):
            total[a, b] = -inf
    for side in range(len(sides) - 1):
        for a in range(sides[side], sides[side + 1]):
            for b in range(sides[side], sides[side + 1]):
                if a == b:
                    continue
                on_tours = log_mixture(tour_sums[a] - tour_sums[b], tours * opponents[a], sigma)
                largest = on_tours
                for bet in range(BETS):
                    largest = max(largest, log_bets[bet, a, b])
                together = SHARE_OF_TOURS * exp(on_tours - largest)
                for bet in range(BETS):
                    together += (SHARE_OF_FIT if bet == 0 else each) * exp(log_bets[bet, a, b] - largest)
                total[a, b] = largest + log(together)


@compiled
def half_gaps(strengths: Floats, covariance: Floats, halves: Floats) -> None:
    """Write down half of every fitted gap û_a − û_b, shrunk by gap²/(gap² + its variance); 0 where it is negative."""
    for a in range(len(strengths)):
        for b in range(len(strengths)):
            gap = strengths[a] - strengths[b]
            variance = max(covariance[a, a] + covariance[b, b] - 2.0 * covariance[a, b], 0.0)
            halves[a, b] = gap * gap * gap / (gap * gap + variance) / 2.0 if gap > 0.0 else 0.0
