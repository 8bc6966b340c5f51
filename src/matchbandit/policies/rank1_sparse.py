"""The rank-1 model for many items: only the pairs that were played are stored, and draws come by conjugate gradients.

Items are numbered through, rows before columns. A pair (i, j), i < j, is stored with its lower item: the pairs of item
i stand at start[i] … start[i + 1] − 1, by rising j. Kernels are plain loops over these, which compile quickly.
"""

from math import exp, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled
from matchbandit.policies.rank1_model import PRIOR_MEAN, PRIOR_PRECISION, information
from matchbandit.rewards import Counts, Floats, Noise

ACCURACY = 0.01
MOST_STEPS = 400


class Stored(NamedTuple):
    """The played pairs; arrays of pairs may have room for more than start[-1]."""

    start: Counts
    partner: NDArray[np.int32]
    plays: Floats
    sums: Floats
    weights: Floats
    """w_ij n_ij at the strengths for which the posterior was last worked out."""


class Posterior(NamedTuple):
    """F at the strengths u, the pull on them, and a preconditioner, by item."""

    u: Floats
    diagonal: Floats
    pull: Floats
    """g of Newton's equations: see `rank1_model.equations`."""
    mate: Counts
    """With whom the item has its largest weight, if that is mutual; else −1."""
    own: Floats
    with_mate: Floats
    """F's 2×2 blocks of mates, inverted: z_i = own_i r_i + with_mate_i r_mate(i)."""


@compiled
def weigh(stored: Stored, noise: Noise, posterior: Posterior) -> None:
    """Work out F, the pull and the preconditioner at the strengths u."""
    start, partner, plays, sums, weights = stored
    u, diagonal, pull, mate, own, with_mate = posterior
    n_items = len(u)
    for i in range(n_items):
        diagonal[i] = PRIOR_PRECISION
        pull[i] = PRIOR_PRECISION * (PRIOR_MEAN - u[i])
        mate[i] = -1
        own[i] = 0.0  # until all are known, the largest weight
    for i in range(n_items):
        more, pulled, top, best = 0.0, 0.0, own[i], mate[i]
        for k in range(start[i], start[i + 1]):
            j = partner[k]
            n, p = plays[k], u[i] * u[j]
            w = information(noise, n, p)
            weight, off = w * n, w * (sums[k] - n * p)
            weights[k] = weight
            more += weight * (u[j] * u[j])
            pulled += u[j] * off
            diagonal[j] += weight * (u[i] * u[i])
            pull[j] += u[i] * off
            if weight > top:
                top, best = weight, j
            if weight > own[j]:
                own[j], mate[j] = weight, i
        diagonal[i] += more
        pull[i] += pulled
        own[i], mate[i] = top, best
    for i in range(n_items):
        if (u[i] == 0.0 and pull[i] < 0.0) or (u[i] == 1.0 and pull[i] > 0.0):
            pull[i] = 0.0
        j, weight = mate[i], own[i]
        if j < 0 or mate[j] != i:
            mate[i] = -1
            own[i], with_mate[i] = 1.0 / diagonal[i], 0.0
        elif i < j:  # both at once; what is left without their pair is added up, as differences would cancel
            left_i = max(diagonal[i] - weight * (u[j] * u[j]), PRIOR_PRECISION)
            left_j = max(diagonal[j] - weight * (u[i] * u[i]), PRIOR_PRECISION)
            determinant = left_i * left_j + weight * (left_i * (u[i] * u[i]) + left_j * (u[j] * u[j]))
            own[i], own[j] = diagonal[j] / determinant, diagonal[i] / determinant
            with_mate[i] = -weight * u[i] * u[j] / determinant
            with_mate[j] = with_mate[i]


@compiled
def times_information(stored: Stored, posterior: Posterior, x: Floats, product: Floats, work: Floats) -> float:
    """F x, and xᵀ F x: (F x)_i = F_ii x_i + u_i Σ_j w_ij n_ij (u_j x_j)."""
    start, partner, weights = stored.start, stored.partner, stored.weights
    u, diagonal = posterior.u, posterior.diagonal
    for i in range(len(u)):
        work[i, 0] = u[i] * x[i]
        work[i, 1] = 0.0
    for i in range(len(u)):
        own, total = work[i, 0], 0.0
        for k in range(start[i], start[i + 1]):
            j, weight = partner[k], weights[k]
            total += weight * work[j, 0]
            work[j, 1] += weight * own
        work[i, 1] += total
    energy = 0.0
    for i in range(len(u)):
        product[i] = diagonal[i] * x[i] + u[i] * work[i, 1]
        energy += product[i] * x[i]
    return energy


@compiled
def solve(stored: Stored, posterior: Posterior, r: Floats, bounded: bool, accuracy: float, steps: Counts) -> Floats:
    """F⁻¹ r by preconditioned conjugate gradients; r is changed. Bounded: items with r = 0 stay where they are.
    """
    mate, own, with_mate = posterior.mate, posterior.own, posterior.with_mate
    n_items = len(r)
    x, p, z, q, work = np.zeros(n_items), np.zeros(n_items), np.empty(n_items), np.empty(n_items), np.empty((n_items, 2))
    free = np.ones(n_items)
    for i in range(n_items if bounded else 0):
        free[i] = 0.0 if r[i] == 0.0 else 1.0
    before = 1.0
    for step in range(MOST_STEPS):
        left = 0.0
        for i in range(n_items):
            z[i] = free[i] * (own[i] * r[i] + (with_mate[i] * r[mate[i]] if mate[i] >= 0 else 0.0))
            left += z[i] * r[i]
        steps[0] = step
        if left <= accuracy:
            break
        for i in range(n_items):
            p[i] = z[i] + (left / before if step > 0 else 0.0) * p[i]
        energy = times_information(stored, posterior, p, q, work)
        size = left / energy
        for i in range(n_items):
            x[i] += size * p[i]
            r[i] -= size * q[i] * free[i]
        before = left
    return x


@compiled
def perturbed(stored: Stored, posterior: Posterior, rng: np.random.Generator) -> Floats:
    """Noise with the covariance F: 2 z_i, and √(w_ij n_ij) z_ij (u_j, u_i) for each stored pair."""
    start, partner, weights, u = stored.start, stored.partner, stored.weights, posterior.u
    b = np.empty(len(u))
    for i in range(len(u)):
        b[i] = sqrt(PRIOR_PRECISION) * rng.standard_normal()
    for i in range(len(u)):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            j, noise = partner[k], sqrt(weights[k]) * rng.standard_normal()
            total += noise * u[j]
            b[j] += noise * u[i]
        b[i] += total
    return b


@compiled
def draw_strengths(stored: Stored, posterior: Posterior, n_rows: int, rng: np.random.Generator, steps: Counts) -> Floats:
    u = posterior.u
    drawn = solve(stored, posterior, perturbed(stored, posterior, rng), False, ACCURACY, steps)
    length, along = 0.0, 0.0
    for i in range(len(u) if n_rows > 0 else 0):
        length += u[i] * u[i]
        along += u[i] * drawn[i] if i < n_rows else -u[i] * drawn[i]
    part = along / length if length > 0.0 else 0.0
    for i in range(len(u)):
        shift = drawn[i] - part * (u[i] if i < n_rows else -u[i])
        drawn[i] = u[i] * exp(shift / u[i]) if shift < 0.0 and u[i] > 0.0 else u[i] + shift
    return drawn


@compiled
def pulled(posterior: Posterior) -> float:
    """How far the strengths are from the most probable ones: gᵀ M⁻¹ g."""
    total = 0.0
    g, mate = posterior.pull, posterior.mate
    for i in range(len(g)):
        total += g[i] * (posterior.own[i] * g[i] + (posterior.with_mate[i] * g[mate[i]] if mate[i] >= 0 else 0.0))
    return total


@compiled
def fit(stored: Stored, noise: Noise, posterior: Posterior, steps: Counts) -> float:
    """Move the strengths towards the most probable ones; how far they went. The posterior is then worked out there.
    """
    u = posterior.u
    n_items = len(u)
    weigh(stored, noise, posterior)
    start, own = u.copy(), np.empty(n_items)
    for i in range(n_items):
        own[i] = min(max(u[i] + 0.5 * posterior.pull[i] / posterior.diagonal[i], 0.0), 1.0)
    before = pulled(posterior)
    shift = solve(stored, posterior, posterior.pull.copy(), True, before * 1e-3, steps)
    for i in range(n_items):
        step = shift[i]
        u[i] = min(start[i] * exp(min(step / start[i], 1.0)) if start[i] > 0.0 else max(step, 0.0), 1.0)
    weigh(stored, noise, posterior)
    if pulled(posterior) >= before:
        steps[0] = -1
        for i in range(n_items):
            u[i] = own[i]
        weigh(stored, noise, posterior)
    moved = 0.0
    for i in range(n_items):
        moved = max(moved, abs(u[i] - start[i]))
    return moved


@compiled
def look_up(stored: Stored, low: Counts, high: Counts, place: Counts, known: NDArray[np.bool_]) -> int:
    """Where each of these pairs stands or would stand; how many are not stored yet."""
    missing = 0
    for k in range(len(low)):
        first, last = stored.start[low[k]], stored.start[low[k] + 1]
        while first < last:
            middle = (first + last) // 2
            if stored.partner[middle] < high[k]:
                first = middle + 1
            else:
                last = middle
        place[k] = first
        known[k] = first < stored.start[low[k] + 1] and stored.partner[first] == high[k]
        missing += 0 if known[k] else 1
    return missing


@compiled
def book(stored: Stored, low: Counts, high: Counts, plays: Floats, sums: Floats, place: Counts, known: NDArray[np.bool_], missing: int) -> None:
    """Add plays and sums of pairs in their order, each once, of which `missing` are new and there is room for them."""
    start, partner = stored.start, stored.partner
    n_items = len(start) - 1
    end, gap = start[n_items], missing
    for k in range(len(low) - 1, -1, -1):
        if not known[k]:
            for m in range(end - 1, place[k] - 1, -1):
                partner[m + gap] = partner[m]
                stored.plays[m + gap] = stored.plays[m]
                stored.sums[m + gap] = stored.sums[m]
            end = place[k]
            gap -= 1
            partner[end + gap] = high[k]
            stored.plays[end + gap], stored.sums[end + gap] = 0.0, 0.0
    new, k = 0, 0
    for i in range(n_items):
        start[i] += new
        while k < len(low) and low[k] == i:
            stored.plays[place[k] + new] += plays[k]
            stored.sums[place[k] + new] += sums[k]
            new += 0 if known[k] else 1
            k += 1
    start[n_items] += new
