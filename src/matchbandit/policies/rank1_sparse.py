"""The rank-1 model for many items: only the pairs that were played are stored, and draws come by conjugate gradients.

Items are numbered through, rows before columns. A pair (i, j), i < j, is stored with its lower item: the pairs of item
i stand at start[i] … start[i + 1] − 1, by rising j. Kernels are plain loops over these, which compile quickly.
"""

from math import exp, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled
from matchbandit.policies.rank1_model import PRIOR_MEAN, PRIOR_PRECISION, SUSPICIOUS, information
from matchbandit.policies.rank1_thompson import move
from matchbandit.rewards import Counts, Floats, Noise, RewardDistribution

ACCURACY = 1e-3
"""Of a draw: the error e of all items together has eᵀ F e ≤ this, where a draw of n items has n; see `solve`."""
NEWTON_ACCURACY = 0.1
"""The same for a step of the fit, as a share: the next step goes on from there."""
MOST_STEPS = 500
"""Of conjugate gradients; between 4 and 12 are usual."""
FITS, SETTLED = 100, 1e-8
"""Fits from scratch, at most, and the largest move after which there is no other."""
FORGOTTEN = 1e-6
"""Pairs whose plays have faded to less tell nothing, and make room."""
MOST_TESTED = 10_000
"""Pairs, those with the most plays, from which `explain` sees whether the results fit a product."""
DRAWS = 30
"""From which `explain` estimates standard deviations."""


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
    """Work out F, the pull and the preconditioner at the strengths u.

    What is known of an item stands together in `of`: partners are scattered, and each costs one access to memory.
    """
    start, partner, plays, sums, weights = stored
    u, diagonal, pull, mate, own, with_mate = posterior
    n_items = len(u)
    of = np.empty((n_items, 4))  # strength, F_ii, pull, largest weight
    for i in range(n_items):
        of[i, 0], of[i, 1], of[i, 2], of[i, 3] = u[i], PRIOR_PRECISION, PRIOR_PRECISION * (PRIOR_MEAN - u[i]), 0.0
        mate[i] = -1
    for i in range(n_items):
        u_i, more, pulled, top, best = u[i], 0.0, 0.0, of[i, 3], mate[i]
        for k in range(start[i], start[i + 1]):
            j = partner[k]
            u_j, n = of[j, 0], plays[k]
            w = information(noise, n, u_i * u_j)
            weight, off = w * n, w * (sums[k] - n * (u_i * u_j))
            weights[k] = weight
            more += weight * (u_j * u_j)
            pulled += u_j * off
            of[j, 1] += weight * (u_i * u_i)
            of[j, 2] += u_i * off
            if weight > top:
                top, best = weight, j
            if weight > of[j, 3]:
                of[j, 3] = weight
                mate[j] = i
        of[i, 1] += more
        of[i, 2] += pulled
        of[i, 3], mate[i] = top, best
    for i in range(n_items):
        diagonal[i], pull[i] = of[i, 1], of[i, 2]
        if (u[i] == 0.0 and pull[i] < 0.0) or (u[i] == 1.0 and pull[i] > 0.0):
            pull[i] = 0.0
        j, weight = mate[i], of[i, 3]
        if j < 0 or mate[j] != i:
            mate[i] = -1
            own[i], with_mate[i] = 1.0 / diagonal[i], 0.0
        elif i < j:  # both at once; of what is left without their pair products are added, as differences would cancel
            left_i = max(of[i, 1] - weight * (u[j] * u[j]), PRIOR_PRECISION)
            left_j = max(of[j, 1] - weight * (u[i] * u[i]), PRIOR_PRECISION)
            determinant = left_i * left_j + weight * (left_i * (u[i] * u[i]) + left_j * (u[j] * u[j]))
            own[i], own[j] = of[j, 1] / determinant, of[i, 1] / determinant
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
def precondition(posterior: Posterior, r: Floats, z: Floats) -> float:
    """z = M⁻¹ r, where M keeps of F the diagonal and what mates have in common; and rᵀ z."""
    mate, own, with_mate = posterior.mate, posterior.own, posterior.with_mate
    energy = 0.0
    for i in range(len(r)):
        z[i] = own[i] * r[i] + (with_mate[i] * r[mate[i]] if mate[i] >= 0 else 0.0)
        energy += z[i] * r[i]
    return energy


@compiled
def solve(stored: Stored, posterior: Posterior, b: Floats, accuracy: float, bounded: bool) -> Floats:
    """x = F⁻¹ b by conjugate gradients, until the error e has eᵀ F e ≤ accuracy · xᵀ F x.

    In xᵀ F x all directions of a draw count alike; in what is left of b, r = F e, those in which F is small hardly
    show, and it is they that a draw must explore. The prior makes eᵀ F e = rᵀ F⁻¹ r at most rᵀ r/4, and xᵀ F x is what
    the steps have added. Bounded: items with b = 0 stay where they are, and the others are solved for among themselves.
    """
    n_items = len(b)
    x, p, r, z, q = np.zeros(n_items), np.zeros(n_items), b.copy(), np.empty(n_items), np.empty(n_items)
    work, before, energy = np.empty((n_items, 2)), 0.0, 0.0
    for _ in range(MOST_STEPS):
        left = precondition(posterior, r, z)
        if left <= 0.0:
            break
        for i in range(n_items):
            if not (bounded and b[i] == 0.0):
                p[i] = z[i] + (left / before * p[i] if before > 0.0 else 0.0)
        size = left / times_information(stored, posterior, p, q, work)
        rest = 0.0
        for i in range(n_items):
            if not (bounded and b[i] == 0.0):
                x[i] += size * p[i]
                r[i] -= size * q[i]
                rest += r[i] * r[i]
        before = left
        energy += size * left
        if rest <= accuracy * energy * PRIOR_PRECISION:
            break
    return x


@compiled
def perturbed(stored: Stored, posterior: Posterior, rng: np.random.Generator) -> Floats:
    """Noise with the covariance F: 2 z_i, and √(w_ij n_ij) z_ij (u_j, u_i) for each stored pair."""
    start, partner, weights, u = stored.start, stored.partner, stored.weights, posterior.u
    b, of = np.empty(len(u)), np.empty((len(u), 2))  # strength and noise
    for i in range(len(u)):
        of[i, 0], of[i, 1] = u[i], sqrt(PRIOR_PRECISION) * rng.standard_normal()
    for i in range(len(u)):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            j, noise = partner[k], sqrt(weights[k]) * rng.standard_normal()
            total += noise * of[j, 0]
            of[j, 1] += noise * u[i]
        of[i, 1] += total
    for i in range(len(u)):
        b[i] = of[i, 1]
    return b


@compiled
def draw_strengths(stored: Stored, posterior: Posterior, n_rows: int, rng: np.random.Generator) -> Floats:
    """ũ by the rules of the dense draw, from the shift F⁻¹ b, which is N(0, F⁻¹) as b is N(0, F)."""
    shift = solve(stored, posterior, perturbed(stored, posterior, rng), ACCURACY / len(posterior.u), False)
    move(posterior.u, shift, n_rows)
    return shift


@compiled
def fit(stored: Stored, noise: Noise, posterior: Posterior) -> float:
    """Move the strengths towards the most probable ones; how far they went. The posterior is then worked out there.

    One Newton step in log u on all items together, as in the dense fit. If it does not lessen the pull, each item
    goes half of the way to where it would go if the others stayed: slow, but a step that cannot lead astray.
    """
    u, n_items = posterior.u, len(posterior.u)
    start, alone, z = u.copy(), np.empty(n_items), np.empty(n_items)
    weigh(stored, noise, posterior)
    before = precondition(posterior, posterior.pull, z)
    if before == 0.0:
        return 0.0
    shift = solve(stored, posterior, posterior.pull, NEWTON_ACCURACY, True)
    for i in range(n_items):
        alone[i] = min(max(u[i] + 0.5 * posterior.pull[i] / posterior.diagonal[i], 0.0), 1.0)
        u[i] = min(u[i] * exp(min(shift[i] / u[i], 1.0)) if u[i] > 0.0 else max(shift[i], 0.0), 1.0)
    weigh(stored, noise, posterior)
    if not precondition(posterior, posterior.pull, z) < before:
        for i in range(n_items):
            u[i] = alone[i]
        weigh(stored, noise, posterior)
    moved = 0.0
    for i in range(n_items):
        moved = max(moved, abs(u[i] - start[i]))
    return moved


def settle(stored: Stored, noise: Noise, posterior: Posterior) -> None:
    """Fit until nothing moves."""
    for _ in range(FITS):
        if fit(stored, noise, posterior) < SETTLED:
            break


def deviations(stored: Stored, posterior: Posterior, n_rows: int, rng: np.random.Generator) -> Floats:
    """The standard deviation of each strength, to a tenth: √(F⁻¹)_ii from a few draws.

    Var x_i = (M⁻¹)_ii + Var(x_i − (M⁻¹ b)_i): what is open when all but i and its mate are known, and the variance of
    its mean given the others [Siden2018]. Only the second is estimated. Between rows and
    columns the direction s = (û, −v̂), with F s = 4 s, is taken out of both x and b; the mean had s − 4 M⁻¹ s of it.
    """
    n_items = len(posterior.u)
    more, z, known = np.zeros(n_items), np.empty(n_items), np.zeros(n_items)
    s = np.concatenate([posterior.u[:n_rows], -posterior.u[n_rows:]]) * (n_rows > 0)
    if s.any():
        s /= np.sqrt(s @ s)
        precondition(posterior, s, z)
        known = (s**2 - (s - PRIOR_PRECISION * z) ** 2) / PRIOR_PRECISION
    for _ in range(DRAWS):
        b = perturbed(stored, posterior, rng)
        b -= (s @ b) * s
        precondition(posterior, b, z)
        more += (solve(stored, posterior, b, ACCURACY / n_items, False) - z) ** 2
    return np.sqrt(np.maximum(posterior.own - known + more / DRAWS, 0.0))


@compiled
def look_up(stored: Stored, low: Counts, high: Counts, places: Counts) -> int:
    """Where each of these pairs stands, or −1 − where it would stand; how many are not stored yet."""
    missing = 0
    for k in range(len(low)):
        first, end = stored.start[low[k]], stored.start[low[k] + 1]
        last = end
        while first < last:
            middle = (first + last) // 2
            if stored.partner[middle] < high[k]:
                first = middle + 1
            else:
                last = middle
        places[k] = first
        if first == end or stored.partner[first] != high[k]:
            places[k] = -1 - first
            missing += 1
    return missing


@compiled
def insert(stored: Stored, low: Counts, high: Counts, places: Counts, missing: int) -> None:
    """Put the missing pairs in their places, never played yet; `places` then tells where all of them stand.

    There must be room. From the last to the first, each stored pair moves up by the number of new ones before it.
    """
    start, partner, plays, sums, _ = stored
    end, gap, new, k = start[len(start) - 1], missing, 0, 0
    for i in range(len(start)):
        start[i] += new
        while k < len(low) and low[k] == i:
            new += 1 if places[k] < 0 else 0
            k += 1
    for k in range(len(low) - 1, -1, -1):
        if places[k] >= 0:
            places[k] += gap
            continue
        place = -1 - places[k]
        for m in range(end - 1, place - 1, -1):
            partner[m + gap], plays[m + gap], sums[m + gap] = partner[m], plays[m], sums[m]
        end, gap = place, gap - 1
        places[k] = place + gap
        partner[places[k]], plays[places[k]], sums[places[k]] = high[k], 0.0, 0.0


@compiled
def fade(stored: Stored, growth: float) -> None:
    """Divide all plays and sums by this; pairs of which next to nothing is left are stored no longer."""
    start, partner, plays, sums, _ = stored
    kept, k = 0, 0
    for i in range(len(start) - 1):
        end = start[i + 1]
        start[i] = kept
        while k < end:
            if plays[k] > growth * FORGOTTEN:
                partner[kept], plays[kept], sums[kept] = partner[k], plays[k] / growth, sums[k] / growth
                kept += 1
            k += 1
    start[len(start) - 1] = kept


def nothing(n_items: int) -> tuple[Stored, Posterior]:
    """No pair played: the prior."""
    start, partner = np.zeros(n_items + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    diagonal, pull, own, with_mate = np.zeros((4, n_items))
    posterior = Posterior(np.full(n_items, PRIOR_MEAN), diagonal, pull, np.full(n_items, -1), own, with_mate)
    return Stored(start, partner, np.zeros(0), np.zeros(0), np.zeros(0)), posterior


def added(stored: Stored, low: Counts, high: Counts, plays: Floats, sums: Floats) -> Stored:
    """The same with more plays of these pairs, which come in order, each once; with more room if need be."""
    stored, places = _with_places(stored, low, high)
    stored.plays[places] += plays
    stored.sums[places] += sums
    return stored


def replaced(stored: Stored, low: Counts, high: Counts, plays: Floats, sums: Floats) -> Stored:
    """The same with these plays of these pairs in place of what they had; what is next to nothing is not stored."""
    stored, places = _with_places(stored, low, high)
    stored.plays[places], stored.sums[places] = plays, sums
    if (plays <= FORGOTTEN).any():
        fade(stored, 1.0)
    return stored


def _with_places(stored: Stored, low: Counts, high: Counts) -> tuple[Stored, Counts]:
    """The same with room for these pairs, which come in order, each once, and where they stand."""
    places, held = np.empty(len(low), dtype=np.int64), int(stored.start[-1])
    missing = look_up(stored, low, high, places)
    if held + missing > len(stored.partner):
        room = held + missing + held // 2  # so that each pair is copied no more than three times
        stored = Stored(stored.start, *(_longer(part, held, room) for part in stored[1:]))
    insert(stored, low, high, places, missing)
    return stored, places


def _longer(part: NDArray[Any], held: int, room: int) -> NDArray[Any]:
    longer = np.empty(room, dtype=part.dtype)
    longer[:held] = part[:held]
    return longer


def product_doubt(rewards: RewardDistribution, plays: Floats, sums: Floats, products: Floats) -> list[str]:
    """What `explain` warns of when the pairs that were played most do not pay the products of the strengths."""
    from matchbandit.product_model import misfit_of_means  # noqa: PLC0415  # it needs scipy, which playing does not

    most = np.sort(np.argsort(-plays, kind="stable")[:MOST_TESTED])
    most = most[plays[most] >= 1.0]
    if not len(most):
        return []
    counts, products = np.rint(plays[most]).astype(np.int64), products[most]
    if rewards.noise.trials:  # two strengths held at 1 do not exclude a failure
        closest = 0.5 / (counts * rewards.noise.trials + 1)
        products = np.clip(products, closest, 1 - closest)
    p = misfit_of_means(rewards, counts, sums[most] / plays[most], products)
    return [f"the results do not fit a product of strengths (p = {p:.2g}); see product_fit."] if p < SUSPICIOUS else []
