"""The model of strengths: one posterior for the strengths of all items, from the results of the pairs they played.

A pair (i, j) pays u_i u_j on average, and s_i = log u_i. In s the log-likelihood of coins, Σ X s_ij + (n − X) log(1 −
e^{s_ij}) with s_ij = s_i + s_j, is concave. The prior is s_i ~ N(m, τ²) with a level m ~ N(m_0, σ²) for each side, so
that the data find the scale of the strengths. A barrier Π (1 − u_i)^β / (1 − ū)^{β (k − 1)} over the k items of a side,
log ū the mean of their s, keeps the optimum inside: it pushes single items away from 1, and their level no more than
that of a single item, however many there are. Rewards in [0, 1] count as coins and Binomial(m) ones as m coins.
Gaussian ones have their own likelihood, which is not concave everywhere.

With the level integrated out the prior precision of a side is P = (I − c 1 1ᵀ)/τ², c = σ²/(τ² + k σ²). The information
at the optimum is H = P + B + Σ w_ij (e_i + e_j)(e_i + e_j)ᵀ with w = n p/(1 − p) (Gaussian: n p²/sd²) and, for the
barrier, B = diag(b) − r 1 1ᵀ, b = β u/(1 − u)², r = (1 − 1/k)/Σ(1/b): its curvature if all items are equal, and never
negative. Fewer than `DENSE_BELOW` items are solved for by a dense Cholesky factor, more by conjugate gradients on the
list of played pairs. docs/product-model.md explains the choices.

Items are numbered consecutively, rows first. A pair (i, j), i < j, is stored with its lower item: the pairs of item i
are start[i] … start[i + 1] − 1, sorted by j. Kernels are plain loops, which compile quickly.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import exp, expm1, log, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled, compiled_inline
from matchbandit.graphs import Edges, Graph
from matchbandit.rewards import Counts, Floats, Noise, RewardDistribution
from matchbandit.seeding import stream

DENSE_BELOW = 200
"""With fewer items the information matrix is factorised; with more, systems are solved by conjugate gradients."""
MAX_STEPS = 200
"""Evaluations in one fit."""
CONVERGED = 1e-13
"""A fit ends when the next Newton step would gain less than half of this in the log posterior."""
LARGE_GAIN = 1.0
"""A step that promises more than half of this in the log posterior is followed by a careful one."""
LONGEST_STEP, SHARE_OF_ROOM = 1.5, 0.9
"""No log strength moves by more in one Newton step, nor by more than this share of its distance to 0."""
EXPECTED, CAREFUL, DRAWN = 0, 1, 2
"""Which information `evaluate` computes: the expected one, for intervals; the larger of expected and observed, for long
steps; or that of draws, in which the little that is known of a rarely played pair counts for less."""
DISCOUNT_PLAYERS, DISCOUNT_SIDES = 15.0, 5.0
"""By how much, in expected successes, the information on an item is reduced in draws, at most. Among players one rarely
played pair may decide which of two groups is stronger: early bad luck with it must not last."""
LARGEST_START = -1e-12
"""From outside no larger log strengths are taken: the logarithm of a strength that was rounded to 1 is 0."""
OVERSHOOT = 0.5
"""A step is shortened if the slope behind it is steeper than this share of the slope before it."""
JITTER = 1e-12
"""The share of the diagonal added before a matrix is factorised: beside 10^16 plays the prior is rounded off."""
ACCURACY = 1e-3
"""Of a draw by conjugate gradients: the error e of all items has eᵀ H e ≤ this, where a draw of n items has n."""
NEWTON_ACCURACY = 0.1
"""The same for a Newton step, as a share of the step's own xᵀ H x."""
EXACT = 1e-12
"""The same for intervals."""
MAX_CG_STEPS = 500
SPREAD_DRAWS = 30
"""Draws from which standard deviations are estimated where no factor exists."""
MAX_DENSE_COVARIANCE = 2000
"""Items up to which the deviations of pairs are read off the dense covariance; with more they are estimated."""
TINY = 1e-300
FADED = 1e-100
"""Plays that have faded below this count as none: denormal numbers are slow."""
NEGLIGIBLE = 1e-6
"""Pairs whose plays have faded below this are removed from a list of played pairs."""
MAX_SDS = 40.0
"""A Gaussian reward more standard deviations away from [0, 1] counts as one at this distance: it is an input error that
must not outweigh all other results."""


class Prior(NamedTuple):
    """The distribution of log strengths before any result."""

    level: float
    """m_0: the expected log strength."""
    level_sd: float
    """σ: of the level m of a side."""
    spread: float
    """τ: of the items of a side around its level."""
    barrier: float
    """β: the exponent of 1 − u_i."""


PRIOR = Prior(level=-1.0, level_sd=1.5, spread=0.8, barrier=0.5)


class Model(NamedTuple):
    """The played pairs and the log strengths that fit them; arrays of pairs may have room for more than start[-1]."""

    start: Counts
    partner: NDArray[np.int32]
    plays: Floats
    sums: Floats
    logs: Floats
    """s: where a fit starts, and where it ends."""
    weights: Floats
    """w_ij at these log strengths."""
    noise: Noise
    prior: Prior
    n_rows: int
    """How many items are rows; 0: all are players."""


class System(NamedTuple):
    """Gradient and information at the log strengths of a model, by item, with a preconditioner."""

    gradient: Floats
    diagonal: Floats
    """Of H without what all items of a side have in common."""
    common: Floats
    """c/τ² + r of rows and columns, shape (2,), which H has less between any two items of the side; players are
    columns."""
    mate: Counts
    """The item with which this one has its largest weight, if that is mutual; else −1."""
    inverse: Floats
    inverse_with_mate: Floats
    """The inverted 2×2 blocks of mates: z_i = inverse_i r_i + inverse_with_mate_i r_mate(i)."""


def new_system(n: int) -> System:
    """Arrays for n items; the preconditioner is the identity."""
    return System(np.zeros(n), np.ones(n), np.zeros(2), np.full(n, -1), np.ones(n), np.zeros(n))


@compiled
def pooling(prior: Prior, size: int) -> float:
    """c of the prior precision (I − c 1 1ᵀ)/τ² of a side with this number of items."""
    variance = prior.level_sd * prior.level_sd
    return variance / (prior.spread * prior.spread + size * variance)


@compiled
def evaluate(model: Model, gradient: Floats, diagonal: Floats, common: Floats, mode: int) -> None:
    """Compute gradient, diagonal and common part of the information, and the weights of the pairs.

    The weights are w as expected; or the larger of expected and observed information, if `mode` is `CAREFUL`; or
    w²/(w + k), if it is `DRAWN`, with k = the discount over the largest number of opponents that an item can have.
    The numbers of an item are adjacent in `of`: partners are scattered, and each costs one access to memory.
    """
    start, partner, plays, sums, logs, weights, noise, prior, n_rows = model
    n_items, precision = len(logs), 1.0 / (prior.spread * prior.spread)
    of = np.empty((n_items, 4))  # strength, 1 − strength, diagonal, gradient
    for side in range(2):
        first, last = (0, n_rows) if side == 0 else (n_rows, n_items)
        size, total, inverses = max(last - first, 1), 0.0, 0.0
        for i in range(first, last):
            total += logs[i]
        average = min(total / size, -TINY)
        relief = prior.barrier * (1.0 - 1.0 / size) * exp(average) / -expm1(average)
        level = pooling(prior, size) * (total - (last - first) * prior.level)
        for i in range(first, last):
            u, rest = exp(logs[i]), -expm1(logs[i])
            odds = prior.barrier * u / rest
            inverses += 1.0 / max(odds / rest, TINY)
            of[i, 0], of[i, 1] = u, rest
            of[i, 2] = precision + odds / rest
            of[i, 3] = -precision * (logs[i] - prior.level - level) - odds + relief
        common[side] = precision * pooling(prior, size) + (1.0 - 1.0 / size) / max(inverses, TINY)
    scale = float(noise.trials) if noise.trials > 0 else 1.0 / (noise.sd * noise.sd)
    discount = 0.0
    if mode == DRAWN:
        discount = DISCOUNT_SIDES / max(n_rows, n_items - n_rows) if n_rows > 0 else DISCOUNT_PLAYERS / (n_items - 1)
    for i in range(n_items):
        u_i, rest_i, more, pull = of[i, 0], of[i, 1], 0.0, 0.0
        for k in range(start[i], start[i + 1]):
            j, n = partner[k], scale * plays[k]
            if n == 0.0:
                weights[k] = 0.0
                continue
            p, off = u_i * of[j, 0], scale * sums[k]
            off -= n * p
            if noise.trials > 0:
                rest = rest_i + of[j, 1] - rest_i * of[j, 1]  # 1 − p, without cancellation
                slope, weight = off / rest, n * p / rest
                if mode == CAREFUL and off < 0.0:
                    weight -= off * p / (rest * rest)
            else:
                slope, weight = p * off, n * p * p
                if mode == CAREFUL and off < 0.0:
                    weight -= p * off
            if discount > 0.0:
                weight *= weight / (weight + discount)
            weights[k] = weight
            more += weight
            pull += slope
            of[j, 2] += weight
            of[j, 3] += slope
        diagonal[i], gradient[i] = of[i, 2] + more, of[i, 3] + pull


# Dense: few items ---------------------------------------------------------------------------------------------------


@compiled
def information(model: Model, diagonal: Floats, common: Floats, H: Floats) -> None:
    """Write H for the weights that were last evaluated."""
    n_items, n_rows = len(H), model.n_rows
    for i in range(n_items):
        for j in range(n_items):
            H[i, j] = -common[0 if i < n_rows else 1] if (i < n_rows) == (j < n_rows) else 0.0
        H[i, i] += diagonal[i]
    for i in range(n_items):
        for k in range(model.start[i], model.start[i + 1]):
            j = model.partner[k]
            H[i, j] += model.weights[k]
            H[j, i] += model.weights[k]


@compiled
def factorise(H: Floats) -> None:
    """Replace H by its Cholesky factor L, L Lᵀ = H, lower triangular.

    One column at a time is subtracted from what is to its right, along the rows, as they are stored.
    """
    column = np.empty(len(H))
    for k in range(len(H)):
        H[k, k] *= 1.0 + JITTER
    for k in range(len(H)):
        pivot = sqrt(H[k, k])
        H[k, k] = pivot
        for i in range(k + 1, len(H)):
            scale = H[i, k] / pivot
            column[i] = scale
            H[i, k] = scale
            H[k, i] = 0.0
            for j in range(k + 1, i + 1):
                H[i, j] -= scale * column[j]


@compiled_inline
def solve_transposed(L: Floats, x: Floats) -> None:
    """Replace x by L⁻ᵀ x; along the rows of L, as they are stored."""
    for i in range(len(x) - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


@compiled_inline
def solve_dense(L: Floats, x: Floats) -> None:
    """Replace x by H⁻¹ x, H = L Lᵀ."""
    for i in range(len(x)):
        rest = x[i]
        for j in range(i):
            rest -= L[i, j] * x[j]
        x[i] = rest / L[i, i]
    solve_transposed(L, x)


# Sparse: many items, by conjugate gradients -------------------------------------------------------------------------


@compiled
def multiply(model: Model, system: System, x: Floats, product: Floats, work: Floats) -> float:
    """Write H x into `product`; the value is xᵀ H x."""
    start, partner, weights, n_rows, n_items = model.start, model.partner, model.weights, model.n_rows, len(x)
    rows, columns = 0.0, 0.0
    for i in range(n_items):
        work[i, 0] = x[i]
        work[i, 1] = 0.0
        if i < n_rows:
            rows += x[i]
        else:
            columns += x[i]
    rows *= system.common[0]
    columns *= system.common[1]
    for i in range(n_items):
        own, total = work[i, 0], 0.0
        for k in range(start[i], start[i + 1]):
            j, weight = partner[k], weights[k]
            total += weight * work[j, 0]
            work[j, 1] += weight * own
        work[i, 1] += total
    energy = 0.0
    for i in range(n_items):
        product[i] = system.diagonal[i] * x[i] + work[i, 1] - (rows if i < n_rows else columns)
        energy += product[i] * x[i]
    return energy


@compiled
def pair_up(model: Model, system: System) -> None:
    """Compute the preconditioner for the weights that were last evaluated."""
    start, partner, weights = model.start, model.partner, model.weights
    diagonal, _, mate, inverse, inverse_with_mate = system[1:]
    n_items, precision = len(diagonal), 1.0 / (model.prior.spread * model.prior.spread)
    largest = np.zeros(n_items)
    for i in range(n_items):
        mate[i] = -1
    for i in range(n_items):
        top, best = largest[i], mate[i]
        for k in range(start[i], start[i + 1]):
            j, weight = partner[k], weights[k]
            if weight > top:
                top, best = weight, j
            if weight > largest[j]:
                largest[j] = weight
                mate[j] = i
        largest[i], mate[i] = top, best
    for i in range(n_items):
        j, weight = mate[i], largest[i]
        if j < 0 or mate[j] != i:
            mate[i] = -1
            inverse[i], inverse_with_mate[i] = 1.0 / diagonal[i], 0.0
        elif i < j:
            left_i, left_j = max(diagonal[i] - weight, precision), max(diagonal[j] - weight, precision)
            determinant = left_i * left_j + weight * (left_i + left_j)
            inverse[i], inverse[j] = (left_j + weight) / determinant, (left_i + weight) / determinant
            inverse_with_mate[i] = -weight / determinant
            inverse_with_mate[j] = inverse_with_mate[i]


@compiled
def precondition(system: System, r: Floats, z: Floats) -> float:
    """Write z = M⁻¹ r, where M has the diagonal of H and what mates have in common; the value is rᵀ z."""
    mate, inverse, inverse_with_mate = system.mate, system.inverse, system.inverse_with_mate
    energy = 0.0
    for i in range(len(r)):
        z[i] = inverse[i] * r[i] + (inverse_with_mate[i] * r[mate[i]] if mate[i] >= 0 else 0.0)
        energy += z[i] * r[i]
    return energy


@compiled
def solve_sparse(model: Model, system: System, b: Floats, accuracy: float, bounded: bool) -> Floats:
    """x = H⁻¹ b by conjugate gradients, until the error e has eᵀ H e ≤ accuracy · xᵀ H x: bounded, or by an estimate.

    In xᵀ H x all directions of a draw count alike; in the residual r = H e those in which H is small hardly show, and
    they are the ones that a draw must explore. H is at least the prior precision P, so that eᵀ H e = rᵀ H⁻¹ r is at
    most rᵀ P⁻¹ r = τ² rᵀ r + σ² (1ᵀ r)², and xᵀ H x is what the steps have added. The estimate is rᵀ M⁻¹ r.
    """
    n_items, n_rows, prior = len(b), model.n_rows, model.prior
    x, p, r, z, q = np.zeros(n_items), np.zeros(n_items), b.copy(), np.empty(n_items), np.empty(n_items)
    work, before, energy = np.empty((n_items, 2)), 0.0, 0.0
    for _ in range(MAX_CG_STEPS):
        left = precondition(system, r, z)
        if left <= 0.0 or (not bounded and left <= accuracy * energy):
            break
        for i in range(n_items):
            p[i] = z[i] + (left / before * p[i] if before > 0.0 else 0.0)
        curvature = multiply(model, system, p, q, work)
        if not curvature > 0.0:  # beside 10^16 plays the prior is rounded off
            break
        size = left / curvature
        squares, rows, columns = 0.0, 0.0, 0.0
        for i in range(n_items):
            x[i] += size * p[i]
            r[i] -= size * q[i]
            squares += r[i] * r[i]
            if i < n_rows:
                rows += r[i]
            else:
                columns += r[i]
        before = left
        energy += size * left
        error = prior.spread * prior.spread * squares + prior.level_sd * prior.level_sd * (
            rows * rows + columns * columns
        )
        if bounded and error <= accuracy * energy:
            break
    return x


@compiled
def perturb(model: Model, rng: np.random.Generator) -> Floats:
    """Noise with the covariance H: one normal number per item for the prior and for the barrier, one per stored pair.

    The root of the prior precision of a side is (I − a 1 1ᵀ/k)/τ with 1 − a = τ/√(τ² + k σ²). That of the barrier is
    b^½ (I − a q qᵀ) with 1 − a = 1/√k and q = b^-½/√Σ(1/b).
    """
    start, partner, weights, logs, prior = model.start, model.partner, model.weights, model.logs, model.prior
    n_items, n_rows, tau = len(logs), model.n_rows, prior.spread
    b = np.empty(n_items)
    for side in range(2):
        first, last = (0, n_rows) if side == 0 else (n_rows, n_items)
        size, total, inverses, projection = max(last - first, 1), 0.0, 0.0, 0.0
        for i in range(first, last):
            rest, of_prior, of_barrier = -expm1(logs[i]), rng.standard_normal(), rng.standard_normal()
            root = max(sqrt(prior.barrier * exp(logs[i])) / rest, sqrt(TINY))
            b[i] = of_prior / tau + root * of_barrier
            total += of_prior
            projection += of_barrier / root
            inverses += 1.0 / (root * root)
        common = (1.0 - tau / sqrt(tau * tau + size * prior.level_sd * prior.level_sd)) * total / (size * tau)
        common += (1.0 - 1.0 / sqrt(size)) * projection / max(inverses, TINY)
        for i in range(first, last):
            b[i] -= common
    for i in range(n_items):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            noise = sqrt(weights[k]) * rng.standard_normal()
            total += noise
            b[partner[k]] += noise
        b[i] += total
    return b


# Fits and draws -----------------------------------------------------------------------------------------------------


@compiled_inline
def longest_step(logs: Floats, step: Floats) -> float:
    """The share of the step that moves no log strength too far, nor too close to 0; at most 1."""
    share = 1.0
    for i in range(len(logs)):
        if abs(step[i]) * share > LONGEST_STEP:
            share = LONGEST_STEP / abs(step[i])
        if step[i] * share > -SHARE_OF_ROOM * logs[i]:
            share = -SHARE_OF_ROOM * logs[i] / step[i]
    return share


@compiled_inline
def shortened(share: float, before: float, behind: float) -> float:
    """The share of a step that the secant of its slopes says; the old share if the step does not overshoot.

    The log posterior is concave along a step (Gaussian rewards: almost), so that it rises as long as its slope is
    positive.
    """
    return share if behind >= -OVERSHOOT * before else share * max(before / (before - behind), 0.1)


@compiled
def fit_dense(model: Model, diagonal: Floats, common: Floats, H: Floats, converged: float, mode: int) -> None:
    """Fit the log strengths from where they are; H is then the factor L of their information in this mode.

    Newton steps with the expected information; after one that promised much, with the larger of expected and observed
    information. A step is shortened as a whole. One loop with one call of each function compiles quickest.
    """
    logs, n_items = model.logs, len(model.logs)
    step, origin, gradient = np.zeros(n_items), logs.copy(), np.empty(n_items)
    slope, share, done = 0.0, 0.0, False
    kind = EXPECTED + 0 * mode  # a plain literal would make numba compile `evaluate` twice
    for _ in range(MAX_STEPS):
        evaluate(model, gradient, diagonal, common, kind)
        behind = 0.0
        for i in range(n_items):
            behind += gradient[i] * step[i]
        shorter = share if done else shortened(share, slope, behind)
        if shorter == share:
            information(model, diagonal, common, H)
            factorise(H)
            if done:
                return
            slope = 0.0
            for i in range(n_items):
                origin[i], step[i] = logs[i], gradient[i]
            solve_dense(H, step)
            for i in range(n_items):
                slope += gradient[i] * step[i]
            if slope > converged:
                kind = CAREFUL if slope > LARGE_GAIN else EXPECTED
                shorter = longest_step(logs, step)
            elif kind == mode:
                return
            else:
                shorter, kind, done = 0.0, mode, True
        share = shorter
        for i in range(n_items):
            logs[i] = origin[i] + share * step[i]


@compiled
def improve_sparse(model: Model, system: System, accuracy: float, mode: int) -> float:
    """One Newton step by conjugate gradients; the value is twice the gain that it promised.

    The weights and the preconditioner are then those of the information in this mode at the new log strengths; the
    step itself makes do with the last preconditioner.
    """
    logs, n_items = model.logs, len(model.logs)
    evaluate(model, system.gradient, system.diagonal, system.common, CAREFUL)
    step, origin, slope = solve_sparse(model, system, system.gradient, accuracy, False), logs.copy(), 0.0
    for i in range(n_items):
        slope += system.gradient[i] * step[i]
    shorter, share = longest_step(logs, step), 0.0
    while shorter != share:
        share = shorter
        for i in range(n_items):
            logs[i] = origin[i] + share * step[i]
        evaluate(model, system.gradient, system.diagonal, system.common, mode)
        behind = 0.0
        for i in range(n_items):
            behind += system.gradient[i] * step[i]
        shorter = shortened(share, slope, behind)
    pair_up(model, system)
    return slope


@compiled_inline
def raise_and_lower(logs: Floats, draw: Floats, diagonal: Floats, n_rows: int) -> None:
    """Turn a Gaussian draw z into log strengths: s + z where it falls, s + z (10 + z)/(10 + 4 z) where it rises.

    The upper tail of a Gaussian in log u is heavier than that of the posterior, which is like a gamma distribution's.
    The bend, c log(1 + z/c) with c = 5/3 up to a few percent, is a heuristic: the draw is then not exactly the Laplace
    approximation. Between rows and columns the part of z along which rows rise as columns fall is removed first, as
    products do not show it; items count by their information.
    """
    if n_rows > 0:
        shift, total = 0.0, 0.0
        for i in range(len(draw)):
            shift += diagonal[i] * (draw[i] if i < n_rows else -draw[i])
            total += diagonal[i]
        shift /= total
        for i in range(len(draw)):
            draw[i] += -shift if i < n_rows else shift
    for i in range(len(draw)):
        rise = max(draw[i], 0.0)  # no branch: half of them would be predicted wrongly
        draw[i] = logs[i] + min(draw[i], 0.0) + rise * (10.0 + rise) / (10.0 + 4.0 * rise)


@compiled
def transform_draw(logs: Floats, L: Floats, diagonal: Floats, n_rows: int, draw: Floats) -> None:
    """Turn standard normal numbers into log strengths: L⁻ᵀ times them is N(0, H⁻¹), as H = L Lᵀ."""
    solve_transposed(L, draw)
    raise_and_lower(logs, draw, diagonal, n_rows)


@compiled
def draw_dense(logs: Floats, L: Floats, diagonal: Floats, n_rows: int, rng: np.random.Generator, draw: Floats) -> None:
    """Draw log strengths."""
    for i in range(len(draw)):
        draw[i] = rng.standard_normal()
    transform_draw(logs, L, diagonal, n_rows, draw)


@compiled
def draw_sparse(model: Model, system: System, rng: np.random.Generator) -> Floats:
    """Draw log strengths: H⁻¹ b is N(0, H⁻¹), as b is N(0, H) [PapandreouYuille2010, Orieux2012]."""
    draw = solve_sparse(model, system, perturb(model, rng), ACCURACY / len(model.logs), True)
    raise_and_lower(model.logs, draw, system.diagonal, model.n_rows)
    return draw


# The list of played pairs -------------------------------------------------------------------------------------------


@compiled
def locate(start: Counts, partner: NDArray[np.int32], low: Counts, high: Counts, positions: Counts) -> int:
    """Write the position of each of these pairs, or −1 − where it would be; the value is how many are missing."""
    missing = 0
    for k in range(len(low)):
        first, end = start[low[k]], start[low[k] + 1]
        last = end
        while first < last:
            middle = (first + last) // 2
            if partner[middle] < high[k]:
                first = middle + 1
            else:
                last = middle
        positions[k] = first
        if first == end or partner[first] != high[k]:
            positions[k] = -1 - first
            missing += 1
    return missing


@compiled
def insert(
    start: Counts, partner: NDArray[np.int32], plays: Floats, sums: Floats,
    low: Counts, high: Counts, positions: Counts, missing: int,
) -> None:  # fmt: skip
    """Insert the missing pairs without plays; `positions` then has those of all. There must be room.

    From the last to the first, each stored pair moves up by the number of new ones before it.
    """
    end, gap, new, k = start[len(start) - 1], missing, 0, 0
    for i in range(len(start)):
        start[i] += new
        while k < len(low) and low[k] == i:
            new += 1 if positions[k] < 0 else 0
            k += 1
    for k in range(len(low) - 1, -1, -1):
        if positions[k] >= 0:
            positions[k] += gap
            continue
        position = -1 - positions[k]
        for m in range(end - 1, position - 1, -1):
            partner[m + gap], plays[m + gap], sums[m + gap] = partner[m], plays[m], sums[m]
        end, gap = position, gap - 1
        positions[k] = position + gap
        partner[positions[k]], plays[positions[k]], sums[positions[k]] = high[k], 0.0, 0.0


@compiled
def fade(model: Model, scale: float, threshold: float) -> None:
    """Divide plays and sums by the scale; plays below the threshold become 0."""
    for k in range(model.start[len(model.start) - 1]):
        model.plays[k] /= scale
        model.sums[k] /= scale
        if model.plays[k] < threshold:
            model.plays[k] = 0.0
            model.sums[k] = 0.0


@compiled
def compact(start: Counts, partner: NDArray[np.int32], plays: Floats, sums: Floats) -> None:
    """Remove the pairs without plays."""
    size, k = 0, 0
    for i in range(len(start) - 1):
        end = start[i + 1]
        start[i] = size
        while k < end:
            if plays[k] > 0.0:
                partner[size], plays[size], sums[size] = partner[k], plays[k], sums[k]
                size += 1
            k += 1
    start[len(start) - 1] = size


def new_model(graph: Graph, rewards: RewardDistribution, *, complete: bool, prior: Prior = PRIOR) -> Model:
    """The prior on a graph: a list of all its pairs, in the order of their edges, or of none."""
    n, n_rows = graph.n_items, graph.n_rows
    start, partner = np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    if complete:
        low, high = graph.items_of(graph.pairs).T
        start[1:] = np.cumsum(np.bincount(low, minlength=n))
        partner = high.astype(np.int32)
    size = len(partner)
    logs = np.full(n, prior.level)
    return Model(start, partner, np.zeros(size), np.zeros(size), logs, np.zeros(size), rewards.noise, prior, n_rows)


def with_pairs(model: Model, low: Counts, high: Counts) -> tuple[Model, Counts]:
    """The model with these pairs in its list, and their positions; pairs are sorted, each once.

    Arrays grow by half where there is no room, so that each pair is copied at most three times.
    """
    positions, size = np.empty(len(low), dtype=np.int64), int(model.start[-1])
    missing = locate(model.start, model.partner, low, high, positions)
    if size + missing > len(model.partner):
        room = size + missing + size // 2
        partner, plays, sums = (_grown(part, size, room) for part in (model.partner, model.plays, model.sums))
        model = model._replace(partner=partner, plays=plays, sums=sums, weights=np.zeros(room))
    insert(model.start, model.partner, model.plays, model.sums, low, high, positions, missing)
    return model, positions


def _grown(part: NDArray[Any], size: int, room: int) -> NDArray[Any]:
    grown = np.zeros(room, dtype=part.dtype)  # the spare room takes part in arithmetic on the whole array
    grown[:size] = part[:size]
    return grown


def clip_outliers(noise: Noise, counts: Counts | Floats, sums: Floats) -> Floats:
    """The sums of these numbers of rewards, none farther from what [0, 1] allows than 40 of its deviations sd √n."""
    if noise.sd == 0.0:
        return sums
    reach = MAX_SDS * noise.sd * np.sqrt(counts)
    return np.clip(sums, -reach, counts + reach)


# The posterior ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Posterior:
    """The most probable log strengths, and a Gaussian around them with the expected information as its precision."""

    model: Model
    system: System
    factor: Floats | None = field(repr=False)
    """L with L Lᵀ = H; None with many items."""

    @classmethod
    def fit(
        cls,
        graph: Graph,
        rewards: RewardDistribution,
        edges: Edges,
        plays: Floats,
        sums: Floats,
        *,
        prior: Prior = PRIOR,
        start: Floats | None = None,
    ) -> "Posterior":
        """Fit the strengths to results by edge; edges are sorted, each once.

        `start` are the log strengths from which the fit starts; the optimum does not depend on it, up to rounding.

        >>> from matchbandit.graphs import monopartite
        >>> from matchbandit.rewards import Bernoulli
        >>> players = monopartite(3)
        >>> posterior = Posterior.fit(players, Bernoulli(), np.arange(3), np.full(3, 400.0), np.array([180.0, 144, 80]))
        >>> posterior.strengths.round(2).tolist()
        [0.88, 0.51, 0.4]
        """
        model = new_model(graph, rewards, complete=False, prior=prior)
        low, high = graph.pairs_of(edges).T
        model, positions = with_pairs(model, low, high + model.n_rows)
        model.plays[positions], model.sums[positions] = plays, sums
        return cls.of(model, start=start)

    @classmethod
    def of(cls, model: Model, *, start: Floats | None = None) -> "Posterior":
        """Fit the strengths of a model, whose own log strengths and weights stay as they are."""
        logs = pooled_start(model) if start is None else np.minimum(start, LARGEST_START)
        model = model._replace(logs=logs, weights=model.weights.copy())
        n = len(model.logs)
        system = new_system(n)
        if n < DENSE_BELOW:
            L = np.empty((n, n))
            fit_dense(model, system.diagonal, system.common, L, CONVERGED, EXPECTED)
            return cls(model, system, L)
        for _ in range(MAX_STEPS):
            if not improve_sparse(model, system, NEWTON_ACCURACY**2, EXPECTED) > CONVERGED:
                break
        return cls(model, system, None)

    @property
    def logs(self) -> Floats:
        """ŝ, rows first."""
        return self.model.logs

    @cached_property
    def strengths(self) -> Floats:
        """û = exp(ŝ), rows first."""
        return np.exp(self.model.logs)

    def draw(self, rng: np.random.Generator) -> Floats:
        """Log strengths drawn from the posterior, with bent rises; see `raise_and_lower`."""
        model, system, L = self._for_draws
        if L is None:
            return draw_sparse(model, system, rng)
        draw = rng.standard_normal(len(self.logs))
        transform_draw(model.logs, L, system.diagonal, model.n_rows, draw)
        return draw

    @cached_property
    def _for_draws(self) -> tuple[Model, System, Floats | None]:
        """The information of draws, at the same log strengths, and its factor unless there are many items."""
        model, system = self.model._replace(weights=self.model.weights.copy()), new_system(len(self.logs))
        evaluate(model, system.gradient, system.diagonal, system.common, DRAWN)
        if self.factor is None:
            pair_up(model, system)
            return model, system, None
        L = np.empty(self.factor.shape)
        information(model, system.diagonal, system.common, L)
        factorise(L)
        return model, system, L

    @cached_property
    def covariance(self) -> Floats:
        """Of the log strengths, items × items; between rows and columns without their common scale.

        That scale is fixed by the items about which most is known.
        """
        if self.factor is not None:
            return _covariance(self.factor, self._scale)
        H = np.empty((len(self.logs), len(self.logs)))
        information(self.model, self.system.diagonal, self.system.common, H)
        H[np.diag_indices_from(H)] *= 1.0 + JITTER
        return _covariance(np.asarray(np.linalg.cholesky(H)), self._scale)

    @property
    def _scale(self) -> Floats | None:
        """The weights of log strengths in the common scale of rows and columns; None for players."""
        return _scale_weights(self.system.diagonal, self.model.n_rows)

    @cached_property
    def deviations(self) -> Floats:
        """The standard deviation of each log strength; of many items to a tenth, from a few draws.

        Var x_i = (M⁻¹)_ii + Var(x_i − (M⁻¹ b)_i) with the preconditioner M: what is open when all items but i and its
        mate are known, and the variance of its mean given the others [Siden2018]. Only the second part is estimated.
        Without the common scale of rows and columns the first part is smaller by what it has in common with the scale.
        """
        if len(self.logs) <= 2 * DENSE_BELOW:
            return np.sqrt(self.covariance.diagonal())
        model, system, n = self.model, self.system, len(self.logs)
        rng = stream(0, "explain", "rank1-thompson")
        scale = np.zeros(n) if self._scale is None else self._scale
        direction = np.sign(scale)
        more, z = np.zeros(n), np.empty(n)
        for _ in range(SPREAD_DRAWS):
            b = perturb(model, rng)
            precondition(system, b, z)
            draw = solve_sparse(model, system, b, ACCURACY / n, True)
            more += (draw - direction * (scale @ draw) - z) ** 2
        of_mate = np.where(system.mate < 0, 0.0, scale[system.mate])
        common = direction * (scale * system.inverse + of_mate * system.inverse_with_mate)
        return np.sqrt(np.maximum(system.inverse - 2.0 * common + more / SPREAD_DRAWS, 0.0))

    def pair_means(self, ends: NDArray[np.int64]) -> Floats:
        """The products of the strengths of these pairs of items, shape (k, 2)."""
        return np.asarray(np.exp(self.logs[ends].sum(axis=1)))

    # Intervals

    def item_intervals(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals exp(ŝ ± z sd) of all strengths, which hold with probability `level`.

        Those of rows and columns leave out their common scale, which results do not show.
        """
        return _interval(self.logs, self.deviations, level)

    def pair_intervals(self, ends: NDArray[np.int64], level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals of the means of these pairs of items, shape (k, 2)."""
        return _interval(self.logs[ends].sum(axis=1), self.pair_deviations(ends), level)

    def pair_deviations(self, ends: NDArray[np.int64]) -> Floats:
        """The standard deviations of s_i + s_j for these pairs of items, shape (k, 2).

        Exact for few pairs and up to `MAX_DENSE_COVARIANCE` items; else to a tenth, from a few draws.
        """
        if self.factor is None and len(ends) <= SPREAD_DRAWS:
            columns = np.zeros((len(ends), len(self.logs)))
            for column, pair in zip(columns, ends, strict=True):
                column[pair] = 1.0
            variances = [column @ solve_sparse(self.model, self.system, column, EXACT, True) for column in columns]
            return np.sqrt(np.maximum(variances, 0.0))
        if len(self.logs) <= MAX_DENSE_COVARIANCE:
            i, j = ends.T
            variances = self.covariance[i, i] + self.covariance[j, j] + 2.0 * self.covariance[i, j]
            return np.asarray(np.sqrt(np.maximum(variances, 0.0)))
        return self._sampled_pair_deviations(np.sort(ends, axis=1))

    def _sampled_pair_deviations(self, ends: NDArray[np.int64]) -> Floats:
        """Estimate the standard deviations of s_i + s_j, i < j.

        As in `deviations`, Var(x_i + x_j) is what is open when all other items are known, (1, 1) B⁻¹ (1, 1)ᵀ with the
        2×2 block B of H, and the variance of its mean given the others, which draws estimate.
        """
        model, system, n, n_rows = self.model, self.system, len(self.logs), self.model.n_rows
        i, j = ends[:, 0].copy(), ends[:, 1].copy()
        positions = np.empty(len(ends), dtype=np.int64)
        locate(model.start, model.partner, i, j, positions)
        weights = np.append(model.weights, 0.0)[np.where(positions < 0, len(model.weights), positions)]
        common = np.where(np.arange(n) < n_rows, *system.common)
        diagonal = system.diagonal - common
        both = weights - np.where((i < n_rows) == (j < n_rows), common[i], 0.0)
        determinant = diagonal[i] * diagonal[j] - both**2
        share_i, share_j = (diagonal[j] - both) / determinant, (diagonal[i] - both) / determinant  # (1, 1) B⁻¹
        rng, more = stream(0, "explain", "rank1-thompson"), np.zeros(len(ends))
        for _ in range(SPREAD_DRAWS):
            b = perturb(model, rng)
            x = solve_sparse(model, system, b, ACCURACY / n, True)
            more += (x[i] + x[j] - share_i * b[i] - share_j * b[j]) ** 2
        return np.asarray(np.sqrt(np.maximum(share_i + share_j + more / SPREAD_DRAWS, 0.0)))


def _interval(logs: Floats, deviations: Floats, level: float) -> tuple[Floats, Floats]:
    """Of exp(s), s normal with these means and standard deviations; both ends at most 1."""
    reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * deviations
    return np.exp(np.minimum(logs - reach, 0.0)), np.exp(np.minimum(logs + reach, 0.0))


def _scale_weights(diagonal: Floats, n_rows: int) -> Floats | None:
    """By how much each log strength counts in the scale of rows over columns: by its information, columns negative."""
    if not n_rows:
        return None
    return np.asarray(np.where(np.arange(len(diagonal)) < n_rows, diagonal, -diagonal) / diagonal.sum())


def _covariance(L: Floats, scale: Floats | None) -> Floats:
    """H⁻¹ from the factor L of H; between rows and columns without their common scale."""
    root = np.linalg.inv(L)
    if scale is not None:
        root = root - np.outer(root @ scale, np.sign(scale))
    return np.asarray(root.T @ root)


def pooled_start(model: Model) -> Floats:
    """The log strengths of equal items that pay what all pairs paid on average."""
    size = int(model.start[-1])
    plays, paid = float(model.plays[:size].sum()), float(model.sums[:size].sum())
    average = (max(paid, 0.0) + 0.5) / (plays + 1.0)
    return np.full(len(model.logs), min(0.5 * log(average), -0.05))
