"""Does the data fit a product? The likelihood-ratio test of the model that every policy of rank 1 believes in.

The model says that a pair pays u_i v_j (players: u_i u_j) on average, with strengths in [0, 1]; the alternative gives
every played pair a mean of its own.
"""

import html
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import bdtr, gammaincc, rel_entr

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Graph, Pairs
from matchbandit.logged import by_edge
from matchbandit.rewards import Binomial, Counts, Floats, Gaussian, RewardDistribution, checked_rewards
from matchbandit.seeding import stream
from matchbandit.strengths import Posterior

SUSPICIOUS = 0.001
"""The p-value below which results are said not to fit a product."""
MOST_TESTED = 10_000
"""Pairs, those with the most plays, from which `explain` sees whether the results fit a product."""
SIMULATIONS = 999
"""Data sets drawn from the fitted product to see how large the statistic gets when the product is right."""
LARGEST_BATCH = 2_000_000
"""Entries of the matrices that are solved at once: those of as many data sets as fit are."""
PSEUDO_PLAYS = 2.0
"""Plays of the average reward that each item is given before data sets are drawn."""
OFTEN = 30
"""Coins that fall at least so often on either side have the deviance of normal noise."""
CLOSE = 1e-5
"""Statistics that differ by less are equal: that is how far fits are driven."""
STEPS, STEP, HALVINGS, SETTLED = 100, 2.0, 20, 1e-7
"""Newton steps in log u at most; how far one goes at most; how often it is halved; the fall of the deviance after which
there is no other."""
FAINTEST, CLOSEST = -40.0, 1e-9
"""Strengths of at most exp(FAINTEST) pass for 0; slopes are taken where a pair fails at least so often."""
NEAR, RIDGE = 1e-3, 1e-6
"""How near to a border an item moves by itself; what is added to the diagonal, for scales that nothing determines."""


@dataclass(frozen=True, eq=False, repr=False)
class ProductFit:
    """The product that fits best, and how badly it fits."""

    p_value: float
    """The probability of a statistic at least as large, were the product right."""
    statistic: float
    """Twice the log-likelihood that free means gain over the best product: its deviance."""
    degrees_of_freedom: int
    """Played pairs minus the strengths that they determine."""
    strengths: tuple[Floats, ...]
    """u and v, or u of players; NaN for an item that was not played."""
    pairs: Pairs
    """The played pairs, each once."""
    residuals: Floats
    """How far each pair pays more (or less) than the product, in standard deviations of that difference."""

    def worst(self, k: int = 5) -> list[tuple[int, int, float]]:
        """The k pairs that stick out most, with their residuals."""
        order = np.argsort(-np.abs(self.residuals), kind="stable")[:k]
        return [(*self.pairs[place].tolist(), float(self.residuals[place])) for place in order]

    def __repr__(self) -> str:
        """The test, and the pair that sticks out most."""
        text = f"ProductFit p = {self.p_value:.3g} (statistic {self.statistic:.1f} on {self.degrees_of_freedom} degrees"
        text += f" of freedom, {len(self.pairs)} pairs)"
        for i, j, residual in self.worst(1):
            text += f", worst: ({i}, {j}) at {residual:+.1f} sd"
        return text

    def _repr_html_(self) -> str:
        """The repr and the worst pairs, for notebooks."""
        rows = "".join(f"<tr><td>({i}, {j})</td><td>{residual:+.1f}</td></tr>" for i, j, residual in self.worst())
        head = "<tr><th>pair</th><th>residual (sd)</th></tr>"
        return f"<code>{html.escape(repr(self))}</code><table>{head}{rows}</table>"


def product_fit(
    graph: Graph,
    pairs: ArrayLike,
    *,
    counts: ArrayLike,
    sums: ArrayLike,
    rewards: RewardDistribution | None = None,
    simulate_null: bool = True,
) -> ProductFit:
    """Test whether results fit a product: counts[k] plays of pairs[k] paid sums[k]; repeated pairs are added up.

    The p-value comes from 999 data sets drawn from the fitted product, with the same counts and a fixed seed: it is at
    least 1/1000. With `simulate_null=False` it comes from a chi-square distribution corrected for small counts:
    quicker, without that floor, less exact, and the one to take for hundreds of items.

    >>> from matchbandit.graphs import bipartite
    >>> fit = product_fit(bipartite(2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)], counts=[100] * 4, sums=[72, 36, 18, 40])
    >>> fit
    ProductFit p = 0.001 (statistic 31.2 on 1 degrees of freedom, 4 pairs), worst: (1, 1) at +5.6 sd
    """
    if not isinstance(graph, Graph):
        raise MatchbanditError(f"results are of pairs of bipartite(N, M) or monopartite(n); got {graph!r}.")
    distribution = checked_rewards(rewards)
    edges, plays, paid = by_edge(graph, distribution, pairs, counts, sums)
    if not len(edges):
        raise MatchbanditError("no pair was played: there is nothing to fit. Give counts above 0.")
    n_rows = graph.shape[0] if graph.kind == "bipartite" else 0
    played = graph.pairs_of(edges)
    data = _Data(played + np.array([0, n_rows]), n_rows + graph.shape[1], distribution, plays)
    means = paid / plays
    logs, deviances = data.fit(means[None, :])
    statistic = float(deviances[0])
    labels, two_sided = _sides(data.ends, data.n_items)
    freedom = len(edges) - data.n_items + two_sided
    cautious = data.cautious_products(means)
    if simulate_null:
        p_value = _simulated(data, cautious, statistic)
    else:  # each strength held at a border can add a degree of freedom; trials without a success have none to add
        held = (logs[0] == 0) | (np.isinf(logs[0]) & isinstance(distribution, Gaussian))
        p_value = _approximate(data, cautious, statistic, freedom + int(held[np.unique(data.ends)].sum()))
    u = _balanced(np.exp(logs[0]), labels)
    u[np.setdiff1d(np.arange(data.n_items), data.ends)] = np.nan
    strengths = (u[:n_rows], u[n_rows:]) if n_rows else (u,)
    return ProductFit(p_value, statistic, freedom, strengths, played, _residuals(data, means, logs))


def misfit_of_means(rewards: RewardDistribution, plays: Counts, means: Floats, p: Floats) -> float:
    """The p-value of the means of some pairs against products p that were fitted to these pairs and others.

    For graphs whose items are too many for `product_fit`. Strengths that were fitted cost no degree of freedom here,
    so that it is careful: a small p-value is smaller still.
    """
    data = _Data(np.zeros((0, 2), dtype=np.int64), 0, rewards, plays)
    return _approximate(data, p, float(data.deviances(means[None, :], p[None, :])[0]), len(p))


def product_warning(posterior: Posterior, rewards: RewardDistribution) -> list[str]:
    """What `explain` warns of when the most played pairs do not pay the products of the fitted strengths."""
    model, size = posterior.model, int(posterior.model.start[-1])
    most = np.sort(np.argsort(-model.plays[:size], kind="stable")[:MOST_TESTED])
    most = most[model.plays[most] >= 1.0]
    if not len(most):
        return []
    low = np.repeat(np.arange(len(posterior.logs)), np.diff(model.start))[most]
    products = posterior.pair_means(np.stack([low, model.partner[most]], axis=1))
    counts = np.rint(model.plays[most]).astype(np.int64)
    p = misfit_of_means(rewards, counts, model.sums[most] / model.plays[most], products)
    return [f"the results do not fit a product of strengths (p = {p:.2g}); see product_fit."] if p < SUSPICIOUS else []


@dataclass(frozen=True)
class _Data:
    """Who met whom how often; items are numbered through, rows before columns.

    The means of the pairs come as a table, a row for each data set: many are fitted at once.
    """

    ends: Pairs
    n_items: int
    rewards: RewardDistribution
    plays: Counts

    @property
    def trials(self) -> Floats:
        """Coin flips behind each pair's mean."""
        each = self.rewards.trials if isinstance(self.rewards, Binomial) else 1
        return np.asarray(self.plays * each, dtype=np.float64)

    def products(self, logs: Floats) -> Floats:
        """What the strengths exp(logs) say that the pairs pay."""
        return np.asarray(np.exp(logs[:, self.ends[:, 0]] + logs[:, self.ends[:, 1]]))

    def deviances(self, means: Floats, p: Floats) -> Floats:
        """Twice the log-likelihood ratio of free means to p, of each data set."""
        if isinstance(self.rewards, Gaussian):
            apart = np.clip((means - p) / self.rewards.sd, -1e100, 1e100)  # the square of more is no float
            return np.asarray((self.plays * apart**2).sum(axis=1))
        return np.asarray(2 * (self.trials * (rel_entr(means, p) + rel_entr(1 - means, 1 - p))).sum(axis=1))

    def slopes(self, means: Floats, p: Floats) -> tuple[Floats, Floats]:
        """The first derivative of the log-likelihood in log p, and minus the second (Gaussian: as expected)."""
        if isinstance(self.rewards, Gaussian):
            weight = self.plays / self.rewards.sd**2
            return weight * p * (means - p), weight * p**2
        q = np.maximum(1 - p, CLOSEST)
        return self.trials * (means - 1 + q) / q, self.trials * (1 - means) * p / q**2

    def by_item(self, values: Floats) -> Floats:
        """Values of the pairs as symmetric tables, items × items."""
        tables = np.zeros((len(values), self.n_items, self.n_items))
        i, j = self.ends.T
        tables[:, i, j] = tables[:, j, i] = values
        return tables

    def fit(self, means: Floats, start: Floats | None = None) -> tuple[Floats, Floats]:
        """The log strengths that make each data set most likely, and its deviance.

        Newton's method in log u, in which the log-likelihood of coin flips is concave, projected to u ≤ 1 [Bertsekas
        1982]: items near a border that pulls them move by themselves, the others together.
        """
        logs = np.tile(start, (len(means), 1)) if start is not None else self._start(means)
        deviances = self.deviances(means, self.products(logs))
        open_ = np.arange(len(means))
        for _ in range(STEPS):
            before, of_open = logs[open_], means[open_]
            after, fallen = self._step(of_open, before, deviances[open_])
            gained = deviances[open_] - fallen
            logs[open_], deviances[open_] = after, fallen
            open_ = open_[gained > SETTLED]
            if not len(open_):
                break
        logs[logs <= FAINTEST] = -np.inf
        return logs, self.deviances(means, self.products(logs))

    def cautious_products(self, means: Floats) -> Floats:
        """The products that fit when, of coin flips, each item has a few more plays, of the average reward.

        From two flips the likeliest strengths are often 0 or 1. Data drawn from them are all alike, and next to those
        any real data would stick out.
        """
        degrees = np.bincount(self.ends.ravel(), minlength=self.n_items)
        more = 0 if isinstance(self.rewards, Gaussian) else PSEUDO_PLAYS * (1 / degrees[self.ends]).sum(axis=1)
        average = ((self.plays * means).sum() + 0.5) / (self.plays.sum() + 1)
        logs, _ = self.fit(((self.plays * means + more * average) / (self.plays + more))[None, :])
        return np.asarray(self.products(logs)[0])

    def _start(self, means: Floats) -> Floats:
        """Each item's average over the root of all items' average; faintest where nothing was ever paid."""
        paid = self.by_item(self.plays * means).sum(axis=2)
        averages = np.maximum(paid, 0) / np.maximum(1, self.by_item(self.plays[None, :].astype(np.float64)).sum(axis=2))
        overall = np.maximum((self.plays * means).sum(axis=1, keepdims=True) / self.plays.sum(), 1e-12)
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(np.log(averages / np.sqrt(overall)), FAINTEST, -0.01))

    def _step(self, means: Floats, logs: Floats, deviances: Floats) -> tuple[Floats, Floats]:
        """One step of each data set that lessens its deviance, and what it comes to; none where nothing helps."""
        slope, curvature = self.slopes(means, self.products(logs))
        pull, H = self.by_item(slope).sum(axis=2), self.by_item(curvature)
        alone = ((logs > -NEAR) & (pull > 0)) | ((logs < FAINTEST + NEAR) & (pull < 0))
        places = np.arange(self.n_items)
        diagonal = H.sum(axis=2)
        H *= ~alone[:, :, None] & ~alone[:, None, :]
        H[:, places, places] = diagonal * (1 + RIDGE) + RIDGE
        step = np.clip(np.linalg.solve(H, pull[:, :, None])[:, :, 0], -STEP, STEP)
        best, fallen = logs.copy(), deviances.copy()
        worse = np.arange(len(logs))
        for k in range(HALVINGS):
            trial = np.clip(logs[worse] + step[worse] / 2**k, FAINTEST, 0.0)
            came_to = self.deviances(means[worse], self.products(trial))
            better = came_to < deviances[worse]
            best[worse[better]], fallen[worse[better]] = trial[better], came_to[better]
            worse = worse[~better]
            if not len(worse):
                break
        return best, fallen


def _simulated(data: _Data, p: Floats, statistic: float) -> float:
    """The share of data sets drawn from the products p whose statistic is as large, the real one among them."""
    rng = stream(0, "product-fit")
    left, as_large = SIMULATIONS, 1
    while left:
        batch = min(left, max(1, LARGEST_BATCH // data.n_items**2))
        drawn = data.rewards.sums(np.tile(p, batch), np.tile(data.plays, batch), rng).reshape(batch, -1) / data.plays
        as_large += int((data.fit(drawn)[1] >= statistic - CLOSE).sum())
        left -= batch
    return as_large / (SIMULATIONS + 1)


def _approximate(data: _Data, p: Floats, statistic: float, freedom: int) -> float:
    """The tail of a gamma distribution with the moments that the deviance has at p, per degree of freedom.

    These are 1 and 2, those of chi-square, for Gaussian rewards and for trials that end often enough either way;
    for rarer sides the sum over their number is exact.
    """
    mean, variance = np.ones(len(p)), np.full(len(p), 2.0)
    C, q = data.trials, np.minimum(p, 1 - p)
    few = (C * q < OFTEN) & (not isinstance(data.rewards, Gaussian))
    C, q = C[few, None], q[few, None]
    x = np.minimum(np.arange(4 * OFTEN), C)
    most = np.minimum(C, 10**6)  # of more trials, rarer ends are as good as Poisson
    weights, share = np.diff(bdtr(x, most.astype(np.int64), q * C / most), axis=1, prepend=0), x / C
    deviance = 2 * C * (rel_entr(share, q) + rel_entr(1 - share, 1 - q))
    deviance[weights == 0] = 0.0
    mean[few] = (weights * deviance).sum(axis=1)
    variance[few] = (weights * deviance**2).sum(axis=1) - mean[few] ** 2
    # A single coin near 1/2 always has the same deviance; that of several, fitted together, still varies.
    scale = max(1.0, variance.mean() / max(mean.mean(), 1e-300))
    return float(gammaincc(freedom * mean.mean() / scale, statistic / scale)) if freedom else 1.0


def _sides(ends: Pairs, n_items: int) -> tuple[NDArray[np.int32], int]:
    """A label for each item and for its partners, and how many connected parts have two sides that never meet within.

    Such a part has a scale too many: one side may grow as the other shrinks. In the double cover, where every pair
    (i, j) joins i with j's copy and j with i's, it falls into two parts.
    """
    i, j = ends.T
    ones = np.ones(len(i))
    whole, _ = connected_components(coo_array((ones, (i, j)), shape=(n_items, n_items)), directed=False)
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i]) + n_items
    double = coo_array((np.ones(2 * len(i)), (rows, columns)), shape=(2 * n_items, 2 * n_items))
    parts, labels = connected_components(double, directed=False)
    return labels.reshape(2, n_items), parts - whole


def _balanced(u: Floats, labels: NDArray[np.int32]) -> Floats:
    """The same products with equally strong best items on both sides of a part, where the scale is free."""
    own, partners = labels
    top = np.zeros(labels.max() + 1)
    np.maximum.at(top, own, u)
    free = (top[own] > 0) & (top[partners] > 0)
    return np.asarray(u * np.sqrt(np.divide(top[partners], top[own], out=np.ones(len(u)), where=free)))


def _residuals(data: _Data, means: Floats, logs: Floats) -> Floats:
    """(mean − product) / its standard deviation, which is √(1 − leverage) of that of the mean alone."""
    p = data.products(logs)
    variance = (p * (1 - p) / data.trials)[0]
    if isinstance(data.rewards, Gaussian):
        variance = data.rewards.sd**2 / data.plays
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(variance > 0, p[0] ** 2 / variance, 0.0)
    F = data.by_item(weight[None, :])[0]
    F[np.diag_indices_from(F)] = F.sum(axis=1)
    fixed = (logs[0] == 0) | np.isinf(logs[0])
    F[fixed, :] = F[:, fixed] = 0.0
    spread = np.linalg.pinv(F, hermitian=True)
    i, j = data.ends.T
    left = 1 - weight * (spread[i, i] + spread[j, j] + 2 * spread[i, j])
    known = (left > 1e-6) & (variance > 0)
    residuals = np.zeros(len(means))
    residuals[known] = (means - p[0])[known] / np.sqrt((variance * left)[known])
    return residuals
