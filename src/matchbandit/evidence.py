"""E-processes: how much batches of rounds speak for one item being above another, at several levels.

The null hypothesis of a link a > b at the ratio r ≥ 1 is u_b ≥ r u_a. Under it the process is a supermartingale from 1,
whatever was played and however that was chosen: by Ville's inequality it ever reaches x with probability at most 1/x.
At r = 1 means need not be products: it is enough that every opponent earns at least as much with b as with a. The proof
is in docs/certified.md.
"""

from math import erfc, exp, inf, isfinite, log, log1p, pi, sqrt

from matchbandit.compiled import compiled
from matchbandit.rewards import Counts, Floats, Mask, Noise

HALF_GAPS = 3
"""Bets on a fixed grid: half a gap of 0.4 of the strength, and a half, a quarter, … of that."""
FIT_BET, TIE_BET, FIRST_GRID_BET = 0, 1, 2
"""The bets in their order: the fitted gap, no gap, and the grid."""
BETS = FIRST_GRID_BET + HALF_GAPS
LARGEST_HALF_GAP = 0.4
SPREAD = 0.5
"""The standard deviation of the half-normal over which the bets on differences of averages are mixed."""
DIFFERENCE_WEIGHT, FIT_WEIGHT, TIE_WEIGHT = 1 / 32, 1 / 2, 1 / 16
"""The weights of the bets on differences, on the fitted gap and on no gap; the grid shares the rest evenly."""
MIN_MEAN, MIN_FAILURE = 1e-12, 1e-9
"""The means that are bet on are at least the one, and 1 minus them at least the other."""


@compiled
def log_factor(
    noise: Noise, n_a: float, sum_a: float, n_b: float, sum_b: float, theta_a: float, theta_b: float, ratio: float
) -> float:
    """log F of a batch: n_a plays of (a, c) paid sum_a, n_b of (b, c) paid sum_b; bet on the means θ_a, θ_b.

    Its mean is at most 1 if the mean of (b, c) is at least `ratio` times that of (a, c), for any rewards in [0, 1] (a
    share of `trials` successes counts as `trials` coins), and for Gaussian ones. 0 where there is nothing to compare,
    and unless ratio θ_a > θ_b.

    The likelihoods of θ_a and θ_b are divided by those of t and rt, the most likely point of the null. Rounding does
    not harm: any t and any K with η_a = K r v_a/n_a, η_b = K v_b/n_b make a factor of mean 1 or less from t + η_a and
    rt − η_b.
    """
    r = ratio
    if n_a <= 0.0 or n_b <= 0.0:
        return 0.0
    if noise.trials > 0:
        theta_a = min(max(theta_a, MIN_MEAN), 1.0 - MIN_FAILURE)
        theta_b = min(max(theta_b, MIN_MEAN), 1.0 - MIN_FAILURE)
    if r * theta_a <= theta_b:
        return 0.0
    if noise.trials == 0:
        gap = (r * theta_a - theta_b) / (n_a + r * r * n_b)
        eta_a, eta_b = r * n_b * gap, n_a * gap
        t = theta_a - eta_a
        for_a = eta_a * (sum_a - n_a * (t + eta_a / 2.0))
        for_b = -eta_b * (sum_b - n_b * (r * t - eta_b / 2.0))
        return (for_a + for_b) / (noise.sd * noise.sd)
    f_a, f_b = n_a / (n_a + n_b), n_b / (n_a + n_b)
    half = (f_a * (1.0 + r * theta_a) + f_b * (r + theta_b)) / 2.0
    middle = f_a * theta_a + f_b * theta_b
    t = middle / (half + sqrt(max(half * half - r * middle, 0.0))) if r > 1.0 else middle  # no digits are left near 1
    s = r * t
    if t < MIN_MEAN or 1.0 - s < MIN_FAILURE:
        return 0.0
    v_a, v_b = t * (1.0 - t), s * (1.0 - s)
    bet = (
        min(f_a * (theta_a - t) / (r * v_a), f_b * (s - theta_b) / v_b)
        if r > 1.0
        else f_a * f_b * (theta_a - theta_b) / v_a
    )
    if bet <= 0.0:
        return 0.0
    eta_a, eta_b = bet * r * v_a / f_a, bet * v_b / f_b
    for_a = sum_a * log1p(eta_a / t) + (n_a - sum_a) * log1p(-eta_a / (1.0 - t))
    for_b = sum_b * log1p(-eta_b / s) + (n_b - sum_b) * log1p(eta_b / (1.0 - s))
    return noise.trials * (for_a + for_b)


@compiled
def log_mixture(difference: float, information: float, sigma: float) -> float:
    """log ∫ exp((η D − η² I/2)/σ²) dH(η), H half-normal with standard deviation `SPREAD`: the bets on differences.

    D and I are the sums over opponents and batches of w (r × the average of a − that of b) and of w,
    1/w = r²/n_a + 1/n_b. For a fixed η > 0 the mean of the integrand is at most 1 under the null.
    """
    D, A = difference / (sigma * sigma), information / (2.0 * sigma * sigma) + 1.0 / (2.0 * SPREAD * SPREAD)
    x = D / sqrt(2.0 * A)  # the integral is Φ(x) e^(x²/2) 2/(s √(2A))
    scale = log(2.0 / (SPREAD * sqrt(2.0 * A)))
    if x > -20.0:
        return scale + x * x / 2.0 + log(erfc(-x / sqrt(2.0)) / 2.0)
    return scale - log(-x * sqrt(2.0 * pi)) + log1p(-1.0 / (x * x))  # Φ's tail, where e^(x²/2) would overflow


@compiled
def half_gap(bet: int, fit: float, level: float) -> float:
    """Half of the gap that a bet is on: that of the fit, none, or a part of the strength."""
    if bet == FIT_BET:
        return fit
    return 0.0 if bet == TIE_BET else level * LARGEST_HALF_GAP * 0.5 ** (bet - FIRST_GRID_BET)


@compiled
def bet_on_batch(
    log_bets: Floats, plays: Floats, sums: Floats, strengths: Floats, half_gaps: Floats, ratios: Floats,
    links: Mask, sides: Counts, noise: Noise,
) -> None:  # fmt: skip
    """Multiply the bets of these links, at every ratio, by their factors of this batch.

    `plays` and `sums` are those of the batch, symmetric, items × items; all others are from before the batch.
    `half_gaps[a, b]` is half of the fitted gap. Items are compared on every opponent c that both have met. The bets are
    θ = (ū ± half-gap) û_c, ū = (û_a + û_b)/2. Where û_a is below û_b only the fitted gap and no gap are bet on, and
    nothing where the fit is nearer to the null than to a tie.
    """
    n = len(strengths)
    for side in range(len(sides) - 1):
        for a in range(sides[side], sides[side + 1]):
            for b in range(sides[side], sides[side + 1]):
                if a == b or not links[a, b]:
                    continue
                level = (strengths[a] + strengths[b]) / 2.0
                bets = BETS if strengths[a] >= strengths[b] else FIRST_GRID_BET
                for k in range(len(ratios)):
                    if half_gaps[a, b] < -(ratios[k] - 1.0) / 4.0 * level:
                        continue
                    for bet in range(bets):
                        half = half_gap(bet, half_gaps[a, b], level)
                        if ratios[k] * (level + half) <= level - half:
                            continue
                        total = 0.0
                        for c in range(n):
                            if plays[a, c] > 0.0 and plays[b, c] > 0.0:
                                above, below = (level + half) * strengths[c], (level - half) * strengths[c]
                                total += log_factor(
                                    noise, plays[a, c], sums[a, c], plays[b, c], sums[b, c], above, below, ratios[k]
                                )
                        if isfinite(total):  # rounding must not decide
                            log_bets[k, bet, a, b] += total


@compiled
def add_differences(
    differences: Floats, information: Floats, plays: Floats, sums: Floats, ratios: Floats, sides: Counts
) -> None:
    """Add D and I of this batch, of every link at every ratio."""
    n = len(plays)
    for side in range(len(sides) - 1):
        for a in range(sides[side], sides[side + 1]):
            for b in range(sides[side], sides[side + 1]):
                if a == b:
                    continue
                for c in range(n):
                    n_a, n_b = plays[a, c], plays[b, c]
                    if n_a > 0.0 and n_b > 0.0:
                        for k in range(len(ratios)):
                            r = ratios[k]
                            weight = 1.0 / (r * r / n_a + 1.0 / n_b)
                            differences[k, a, b] += weight * (r * sums[a, c] / n_a - sums[b, c] / n_b)
                            information[k, a, b] += weight


@compiled
def log_evidence(
    log_bets: Floats, differences: Floats, information: Floats, sides: Counts, sigma: float, total: Floats
) -> None:
    """Write the logarithm of every e-process into `total`, ratios × items × items: the weighted mean of its bets.

    −∞ for items of different sides.
    """
    each = (1.0 - DIFFERENCE_WEIGHT - FIT_WEIGHT - TIE_WEIGHT) / HALF_GAPS
    total[:] = -inf
    for side in range(len(sides) - 1):
        for a in range(sides[side], sides[side + 1]):
            for b in range(sides[side], sides[side + 1]):
                if a == b:
                    continue
                for k in range(len(total)):
                    on_averages = log_mixture(differences[k, a, b], information[k, a, b], sigma)
                    largest = on_averages
                    for bet in range(BETS):
                        largest = max(largest, log_bets[k, bet, a, b])
                    together = DIFFERENCE_WEIGHT * exp(on_averages - largest)
                    for bet in range(BETS):
                        weight = each if bet >= FIRST_GRID_BET else FIT_WEIGHT if bet == FIT_BET else TIE_WEIGHT
                        together += weight * exp(log_bets[k, bet, a, b] - largest)
                    total[k, a, b] = largest + log(together)


@compiled
def half_gaps(strengths: Floats, covariance: Floats, halves: Floats) -> None:
    """Write down half of every fitted gap û_a − û_b, shrunk by gap²/(gap² + its variance)."""
    for a in range(len(strengths)):
        for b in range(len(strengths)):
            gap = strengths[a] - strengths[b]
            variance = max(covariance[a, a] + covariance[b, b] - 2.0 * covariance[a, b], 0.0)
            halves[a, b] = gap * gap * gap / (gap * gap + variance) / 2.0 if gap != 0.0 else 0.0
