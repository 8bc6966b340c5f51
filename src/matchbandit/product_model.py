"""Test whether results fit a product of strengths, the model that every rank-1 policy relies on.

The model says that a pair pays u_i v_j (players: u_i u_j) on average. The strengths are the posterior mode of
`strengths.Posterior`, as everywhere. The null distribution of each statistic comes from data sets that are drawn from
products of these strengths, spread as `_null_products` says, and fitted in the same way. docs/product-model.md says
what each statistic sees.
"""

import html
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import bdtr, gammaincc, rel_entr, stdtr

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Graph, Pairs
from matchbandit.past_results import PastResults, aggregate_by_edge, read_results
from matchbandit.rewards import Counts, Floats, RewardDistribution, check_rewards
from matchbandit.seeding import stream
from matchbandit.strengths import (
    EXPECTED,
    MAX_STEPS,
    Model,
    Posterior,
    System,
    clip_outliers,
    evaluate,
    fit_dense,
    improve_sparse,
    new_system,
)

Verdict = Literal["fits", "does not fit", "cannot tell"]
Name = str | int
Groups = Mapping[Any, Hashable] | Sequence[Mapping[Any, Hashable]]

LEVEL = 0.05
"""Results with a p-value of at most this do not fit."""
MIN_POWER = 0.5
"""Results with a larger p-value fit if the stated departure would have been noticed with this probability."""
DEPARTURE_SD = 0.5
"""The standard deviation, in log odds, of the departure that `power` is about."""
SIMULATIONS = 999
"""Data sets drawn from the product, if there are few pairs."""
MIN_SIMULATIONS = 99
QUICK_SIMULATIONS, MIN_QUICK_SIMULATIONS = 99, 19
"""The same where only the moments of the statistics are taken from them (`simulate_null=False`)."""
MAX_PAIR_FITS, MAX_QUICK_PAIR_FITS = 2_500_000, 250_000
"""Pairs in all data sets together, if that leaves the fewest data sets; about 1 µs each."""
MAX_PAIRS, MAX_QUICK_PAIRS = 100_000, 25_000
"""With more played pairs nothing is simulated."""
MAX_BATCH = 2_000_000
"""Pairs in the data sets that are held in memory at once."""
DENSE_BELOW = 30
"""With fewer items simulated data sets are fitted by a Cholesky factor, with more by conjugate gradients."""
CONVERGED, CG_ACCURACY = 1e-11, 1e-2
"""Of the fit of a simulated data set: the gain at which it ends, and the relative error of a Newton step."""
LANCZOS_STEPS = 24
MAX_SPREAD_STEPS, SPREAD_SIMULATIONS, SPREAD_CONVERGED = 12, 19, 0.05
MAX_SPREAD, MIN_LOG_SHARE, LEVEL_STEPS = 4.0, 0.1, 3
"""Of the search for strengths that, simulated and fitted, have the variance of the fitted ones: its steps, data sets in
each, and the change of the ratio of variances at which it ends; the largest ratio, the share of a fitted log strength
below which none falls, and the steps that restore the average reward."""
TIE_TOLERANCE = 1e-6
"""Statistics that differ by less, relatively or absolutely, are equal: fits are no more accurate."""
MIN_NORMAL_COUNT = 30
"""Coins that fall at least this often on either side have the deviance of normal noise."""
MAX_EXACT_LEVERAGES = 1000
"""With more items leverages are approximated from below, by those of two items when all others are known."""
MAX_LEVERAGE = 1 - 1e-6
"""A pair with more determines its own mean: its residual is 0."""
MAX_GROUPS = 50
WARNING_LEVEL = 0.001
"""`explain()` warns of p-values below this."""
MAX_WARNING_PAIRS = 2000
"""With more played pairs `explain()` does not simulate: it should answer at once."""
MAX_TESTED_PAIRS = 10_000
"""Where nothing is simulated, at most this many pairs are tested: those that were played most."""


class GroupResult(NamedTuple):
    """The pooled results of all pairs between two groups of items."""

    first: Hashable
    second: Hashable
    plays: int
    mean: float
    """The average reward."""
    expected: float
    """What products pay on average when the level of each group is free."""
    z: float
    """Their difference, in standard deviations."""


@dataclass(frozen=True, eq=False, repr=False)
class ProductFit:
    """The strengths that fit best, and how badly their products fit."""

    p_value: float
    """The probability of results at least as far from a product, by the most conspicuous statistic, if it is right."""
    statistic: float
    """The deviance: twice the log-likelihood that a free mean for each pair gains over the products."""
    degrees_of_freedom: int
    """Played pairs minus the strengths that they determine; where it is 0, nothing can be tested and p is 1."""
    strengths: tuple[Floats, ...]
    """u and v, or u of players: the posterior mode. An item that never played has the level of its side."""
    pairs: Pairs
    """The played pairs by number, each once."""
    residuals: Floats
    """How far each pair pays more (or less) than the product, in standard deviations of that difference."""
    verdict: Verdict = "cannot tell"
    """"does not fit" if p ≤ 0.05; else "fits" if `power` is at least 1/2, "cannot tell" if it is less or unknown."""
    power: float | None = None
    """The probability of p ≤ 0.05 if the odds of every pair were off its product's by a factor exp(0.5 z), where half
    of the variance of z ~ (0, 1) is due to two hidden groups of items and half to each pair alone; None where nothing
    can be simulated."""
    deviance_p_value: float | None = None
    """Of the deviance alone: it sees single pairs that stick out, if they were played often."""
    structure_p_value: float | None = None
    """Of the largest singular value of the residuals: it sees hidden groups and factors, also among single plays."""
    groups_p_value: float | None = None
    """Of the residuals pooled by the `groups`."""
    groups: tuple[GroupResult, ...] = ()
    names: tuple[tuple[str, ...], ...] | None = None
    """Of the players, or of rows and columns, if the results came with names."""

    def worst(self, k: int = 5) -> list[tuple[Any, Any, float]]:
        """Return the pairs that stick out most.

        Parameters
        ----------
        k : int
            How many.

        Returns
        -------
        list of (first, second, residual)
            The items by name (str), or by number (int) if the results have no names.
        """
        order = np.argsort(-np.abs(self.residuals), kind="stable")[:k]
        return [
            (self._name(0, i), self._name(-1, j), residual)
            for (i, j), residual in zip(self.pairs[order].tolist(), self.residuals[order].tolist(), strict=True)
        ]

    def strengths_by_name(self) -> tuple[dict[Name, float], ...]:
        """Return the strength of each item.

        Returns
        -------
        tuple of dict
            One for each side, from names (or numbers) to strengths, the strongest first.
        """
        return tuple(
            {self._name(side, int(i)): float(part[i]) for i in np.argsort(-part, kind="stable")}
            for side, part in enumerate(self.strengths)
        )

    def _name(self, side: int, item: int) -> Name:
        return item if self.names is None else self.names[side][item]

    def __repr__(self) -> str:
        """The verdict, the test, its power, and the pair that sticks out most."""
        text = f"ProductFit p = {self.p_value:.3g}: {self.verdict} (statistic {self.statistic:z.1f} on "
        text += f"{self.degrees_of_freedom} degrees of freedom, {len(self.pairs)} pairs"
        if self.power is not None:
            text += f"; power {self.power:.2f} against odds off by a factor of {exp(DEPARTURE_SD):.2f}"
        text += ")"
        for i, j, residual in self.worst(1):
            text += f", worst: ({i}, {j}) at {residual:+z.1f} sd"
        return text

    def _repr_html_(self) -> str:
        """The repr and the worst pairs, for notebooks."""
        rows = "".join(
            f"<tr><td>({html.escape(str(i))}, {html.escape(str(j))})</td><td>{residual:+z.1f}</td></tr>"
            for i, j, residual in self.worst()
        )
        head = "<tr><th>pair</th><th>residual (sd)</th></tr>"
        return f"<code>{html.escape(repr(self))}</code><table>{head}{rows}</table>"


def product_fit(
    graph: Graph | PastResults | str | os.PathLike[str] | Any,
    pairs: ArrayLike | None = None,
    *,
    counts: ArrayLike | None = None,
    sums: ArrayLike | None = None,
    rewards: RewardDistribution | None = None,
    groups: Groups | None = None,
    simulate_null: bool = True,
) -> ProductFit:
    """Test whether results fit a product of strengths.

    Parameters
    ----------
    graph : Graph, PastResults, path or data frame
        `bipartite(N, M)` or `monopartite(n)`, with `pairs`, `counts` and `sums`; or a log, alone: a `PastResults`, or
        what `read_results` reads. The answer then has names.
    pairs, counts, sums : array-like
        counts[k] plays of pairs[k] paid sums[k] in total; a pair that comes twice is added up.
    rewards : RewardDistribution, optional
        By default Bernoulli; rewards in [0, 1] count as coins.
    groups : mapping or pair of mappings, optional
        The group of each item, by name, or by number if there are no names: one mapping, or one for rows and one for
        columns. Residuals are then also pooled by pair of groups.
    simulate_null : bool
        True: p-values are ranks among 999 data sets drawn from the fitted product and fitted again, with a fixed seed;
        with more than 2500 pairs among fewer, at least 99. They are at least 1/(data sets + 1). False: tails of
        distributions whose moments are those of at most 99 data sets: quicker, less exact, without that floor. With
        more than 100 000 pairs (False: 25 000) nothing is simulated: only the deviance of the 10 000 pairs that were
        played most is tested, and the verdict is never "fits".

    Returns
    -------
    ProductFit
        `p_value` and `verdict`, `residuals` and `worst()`, `strengths`.

    Examples
    --------
    >>> from matchbandit.graphs import bipartite
    >>> fit = product_fit(bipartite(2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)], counts=[100] * 4, sums=[72, 36, 18, 40])
    >>> fit.p_value, fit.verdict
    (0.001, 'does not fit')
    """
    distribution = check_rewards(rewards)
    names = None
    if pairs is not None or isinstance(graph, Graph):
        if not isinstance(graph, Graph):
            raise MatchbanditError(f"results are of pairs of bipartite(N, M) or monopartite(n); got {graph!r}.")
        if pairs is None or counts is None or sums is None:
            raise MatchbanditError(f"results on {graph} need pairs, counts and sums; give all three, or a log alone.")
    else:
        if counts is not None or sums is not None:
            raise MatchbanditError("a log has its own counts and sums; give it alone, or a graph with pairs.")
        log = graph if isinstance(graph, PastResults) else read_results(graph)
        log.refuse_outside(distribution)
        graph, names, pairs, counts, sums = log.tally
    edges, plays, paid = aggregate_by_edge(graph, distribution, pairs, counts, sums)
    if not len(edges):
        raise MatchbanditError("no pair was played: there is nothing to fit. Give counts above 0.")
    paid = clip_outliers(distribution.noise, plays, paid)
    posterior = Posterior.fit(graph, distribution, edges, plays.astype(np.float64), paid)
    data = _Data(posterior, distribution)
    pools = None if groups is None else _pools(data, _labels(groups, graph, names, data.ends))
    freedom = data.degrees_of_freedom
    test = _test(data, pools, exact=simulate_null, with_power=True) if freedom > 0 else _Test(1.0, None, (None,) * 3)
    u = posterior.strengths
    return ProductFit(
        p_value=test.p_value,
        statistic=float(data.deviances(data.sums, posterior.logs).sum()),
        degrees_of_freedom=freedom,
        strengths=tuple(np.split(u, [graph.n_rows])) if graph.is_bipartite else (u,),
        pairs=graph.pairs_of(edges),
        residuals=data.residuals,
        verdict=_verdict(test, freedom),
        power=test.power,
        deviance_p_value=test.parts[0],
        structure_p_value=test.parts[1],
        groups_p_value=test.parts[2],
        groups=() if pools is None else pools.table(data),
        names=names,
    )


def product_warning(posterior: Posterior, rewards: RewardDistribution) -> list[str]:
    """What `explain` warns of: results that do not fit products of the strengths that were fitted to them.

    Plays that have faded to a fraction are rounded, with the same average. That is cautious: averages of fading
    rewards are less noisy than those of that many plays.
    """
    whole = _rounded(posterior.model)
    if not len(whole.partner):
        return []
    if len(whole.partner) <= MAX_WARNING_PAIRS and len(whole.logs) <= MAX_EXACT_LEVERAGES:
        data = _Data(Posterior.of(whole, start=posterior.logs), rewards)
        p = _test(data, None, exact=False, with_power=False).p_value if data.degrees_of_freedom > 0 else 1.0
    else:
        system = new_system(len(whole.logs))
        evaluate(whole, system.gradient, system.diagonal, system.common, EXPECTED)
        p = _most_played(_Data(Posterior(whole, system, None), rewards))
    return (
        [f"the results do not fit a product of strengths (p = {p:.2g}); see product_fit."] if p < WARNING_LEVEL else []
    )


def _rounded(model: Model) -> Model:
    """The model with whole plays, and without the pairs that have none."""
    size, n = int(model.start[-1]), len(model.logs)
    low, plays = np.repeat(np.arange(n), np.diff(model.start)), np.rint(model.plays[:size])
    left = plays > 0
    start = np.zeros(n + 1, dtype=np.int64)
    start[1:] = np.cumsum(np.bincount(low[left], minlength=n))
    plays, shares = plays[left], model.sums[:size][left] / model.plays[:size][left]
    partner, weights = model.partner[:size][left], model.weights[:size][left]
    return model._replace(start=start, partner=partner, plays=plays, sums=plays * shares, weights=weights)


# Statistics ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Data:
    """Results and the strengths fitted to them; items are numbered consecutively, rows first.

    `sums` and `logs` may be tables, a row for each data set on the same pairs.
    """

    posterior: Posterior
    rewards: RewardDistribution

    @cached_property
    def ends(self) -> Pairs:
        """The two items of each pair."""
        start, size = self.posterior.model.start, int(self.posterior.model.start[-1])
        low = np.repeat(np.arange(len(start) - 1), np.diff(start))
        return np.stack([low, self.posterior.model.partner[:size]], axis=1).astype(np.int64)

    @property
    def plays(self) -> Floats:
        return self.posterior.model.plays[: len(self.ends)]

    @property
    def sums(self) -> Floats:
        return self.posterior.model.sums[: len(self.ends)]

    def log_products(self, logs: Floats) -> Floats:
        return np.asarray(logs[..., self.ends[:, 0]] + logs[..., self.ends[:, 1]])

    def deviances(self, sums: Floats, logs: Floats) -> Floats:
        """Twice the log-likelihood ratio of a pair's own mean to its product."""
        s = self.log_products(logs)
        return _deviances(self.rewards, self.plays, sums / self.plays, np.exp(s), -np.expm1(s))

    def raw_residuals(self, sums: Floats, logs: Floats) -> Floats:
        """What the pairs were paid above their products, in all."""
        return np.asarray(sums - self.plays * np.exp(self.log_products(logs)))

    def variances(self, logs: Floats) -> Floats:
        """Of what the pairs are paid in all, if products are right."""
        noise = self.rewards.noise
        if not noise.trials:
            return np.broadcast_to(self.plays * noise.sd**2, (*logs.shape[:-1], len(self.ends)))
        s = self.log_products(logs)
        return np.asarray(self.plays * np.exp(s) * -np.expm1(s) / noise.trials)

    @cached_property
    def leverages(self) -> Floats:
        """The share of each pair's variance that the fit of the strengths takes away."""
        posterior, (i, j) = self.posterior, self.ends.T
        weights = (self.plays * np.exp(self.log_products(posterior.logs))) ** 2 / self.variances(posterior.logs)
        if len(posterior.logs) <= MAX_EXACT_LEVERAGES:
            C = posterior.covariance
            return np.asarray(weights * (C[i, i] + C[j, j] + 2 * C[i, j]))
        d, w = posterior.system.diagonal, posterior.model.weights[: len(i)]  # what all other items being known leaves
        return np.asarray(weights * (d[i] + d[j] - 2 * w) / (d[i] * d[j] - w * w))

    @cached_property
    def residuals(self) -> Floats:
        """Of each pair, in standard deviations."""
        logs, left = self.posterior.logs, 1 - self.leverages
        known = left > 1 - MAX_LEVERAGE
        residuals = np.zeros(len(self.ends))
        deviations = np.sqrt((self.variances(logs) * left)[known])
        residuals[known] = self.raw_residuals(self.sums, logs)[known] / deviations
        return residuals

    @cached_property
    def degrees_of_freedom(self) -> int:
        """Pairs minus the rank of their design: items that met, minus parts with two sides that meet only each other.

        Such a part has a scale too many: one side may grow as the other shrinks. In the double cover, where every pair
        (i, j) joins i with j's copy and j with i's, it falls into two parts.
        """
        (i, j), n = self.ends.T, len(self.posterior.logs)
        whole, _ = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)
        rows, columns = np.concatenate([i, j]), np.concatenate([j, i]) + n
        double = coo_array((np.ones(2 * len(i)), (rows, columns)), shape=(2 * n, 2 * n))
        parts, _ = connected_components(double, directed=False)
        return int(len(i) - n + parts - whole)

    def statistics(self, sums: Floats, logs: Floats, pools: "_Pools | None") -> Floats:
        """Deviance, squared singular value and pooled residuals: a row each, a column for each data set."""
        raw = self.raw_residuals(sums, logs)
        model, n = self.posterior.model, len(self.posterior.logs)
        begin = stream(0, "product-fit", "lanczos").standard_normal(n)
        T = tridiagonal(model.start, model.partner, raw / np.sqrt(self.variances(logs)), begin / np.linalg.norm(begin))
        rows = [self.deviances(sums, logs).sum(axis=1), np.abs(np.linalg.eigvalsh(T)).max(axis=1) ** 2]
        if pools is not None and pools.freedom:
            rows.append((pools.deviations(raw) ** 2).sum(axis=1))
        return np.stack(rows)


@compiled
def fit_many(model: Model, system: System, H: Floats, logs: Floats, sums: Floats) -> None:
    """Fit data sets on the same pairs: each row of logs, where the fit starts, becomes the mode for a row of sums.

    An empty H: by conjugate gradients.
    """
    for b in range(len(sums)):
        model.logs[:] = logs[b]
        model.sums[: sums.shape[1]] = sums[b]
        if len(H):
            fit_dense(model, system.diagonal, system.common, H, CONVERGED, EXPECTED)
        else:
            for _ in range(MAX_STEPS):
                if not improve_sparse(model, system, CG_ACCURACY, EXPECTED) > CONVERGED:
                    break
        logs[b] = model.logs


@compiled
def tridiagonal(start: Counts, partner: NDArray[np.int32], residuals: Floats, begin: Floats) -> Floats:
    """For each row of residuals the tridiagonal matrix of Lanczos, whose extreme eigenvalues are those of the row's.

    A row is a symmetric matrix, items × items. Between rows and columns its eigenvalues are plus and minus the singular
    values of the matrix rows × columns.
    """
    n = len(begin)
    steps = min(n, LANCZOS_STEPS)
    T = np.zeros((len(residuals), steps, steps))
    for b in range(len(residuals)):
        v, before, product, beta = begin.copy(), np.zeros(n), np.empty(n), 0.0
        for step in range(steps):
            for i in range(n):
                product[i] = -beta * before[i]
            for i in range(n):
                total = 0.0
                for k in range(start[i], start[i + 1]):
                    total += residuals[b, k] * v[partner[k]]
                    product[partner[k]] += residuals[b, k] * v[i]
                product[i] += total
            alpha, squares = 0.0, 0.0
            for i in range(n):
                alpha += product[i] * v[i]
            for i in range(n):
                product[i] -= alpha * v[i]
                squares += product[i] * product[i]
            T[b, step, step] = alpha
            beta = sqrt(squares)
            if step + 1 == steps or beta <= TIE_TOLERANCE * TIE_TOLERANCE:
                break
            T[b, step, step + 1] = beta
            T[b, step + 1, step] = beta
            for i in range(n):
                before[i] = v[i]
                v[i] = product[i] / beta
    return T


# The test -----------------------------------------------------------------------------------------------------------


class _Test(NamedTuple):
    """P-values: of all statistics together, and of deviance, structure and groups."""

    p_value: float
    power: float | None
    parts: tuple[float | None, float | None, float | None]


def _verdict(test: _Test, freedom: int) -> Verdict:
    if freedom > 0 and test.p_value <= LEVEL:
        return "does not fit"
    return "fits" if freedom > 0 and test.power is not None and test.power >= MIN_POWER else "cannot tell"


def _test(data: _Data, pools: "_Pools | None", *, exact: bool, with_power: bool) -> _Test:
    """Compare each statistic with those of simulated data sets."""
    size = len(data.ends)
    most, fewest = (SIMULATIONS, MIN_SIMULATIONS) if exact else (QUICK_SIMULATIONS, MIN_QUICK_SIMULATIONS)
    if size > (MAX_PAIRS if exact else MAX_QUICK_PAIRS):
        by_groups = None if pools is None or not pools.freedom else pools.approximate_p_value(data)
        p_values = [p for p in (_most_played(data), by_groups) if p is not None]
        return _Test(min(1.0, len(p_values) * min(p_values)), None, (p_values[0], None, by_groups))
    n = max(fewest, min(most, (MAX_PAIR_FITS if exact else MAX_QUICK_PAIR_FITS) // size))
    compare = _ranks if exact else _tails
    rng = stream(0, "product-fit")
    s = _null_products(data, rng)
    null = _table(data, pools, s, n, rng)
    here = data.statistics(data.sums[None, :], data.posterior.logs[None, :], pools)
    parts, together = compare(null, here)
    power = None
    if with_power:
        away = _table(data, pools, s, max(fewest, n // 5), rng, depart=True)
        power = float((compare(null, away)[1] <= LEVEL).mean())
    each = [float(part) for part in parts[:, 0]]
    return _Test(float(together[0]), power, (each[0], each[1], each[2] if len(each) > 2 else None))


def _simulated(data: _Data, products: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Sums drawn with these means, a row for each data set, and the log strengths fitted to them."""
    posterior, n = data.posterior, len(data.posterior.logs)
    model = posterior.model._replace(
        logs=posterior.logs.copy(), sums=posterior.model.sums.copy(), weights=posterior.model.weights.copy()
    )
    plays = np.tile(data.plays.astype(np.int64), len(products))
    sums = data.rewards.sums(products.ravel(), plays, rng).reshape(products.shape)
    logs = np.tile(posterior.logs, (len(products), 1))
    fit_many(model, new_system(n), np.empty((n, n) if n < DENSE_BELOW else (0, 0)), logs, sums)
    return sums, logs


def _table(
    data: _Data, pools: "_Pools | None", s: Floats, n: int, rng: np.random.Generator, *, depart: bool = False
) -> Floats:
    """The statistics of n data sets whose means are the products exp(s), or depart from them."""
    rows = []
    while n:
        batch = min(n, max(1, MAX_BATCH // len(s)))
        products = _departing(data, s, batch, rng) if depart else np.tile(np.exp(s), (batch, 1))
        rows.append(data.statistics(*_simulated(data, products, rng), pools))
        n -= batch
    return np.concatenate(rows, axis=1)


def _null_products(data: _Data, rng: np.random.Generator) -> Floats:
    """The logarithms of the products from which data sets are drawn.

    Fitted strengths are spread by chance as well, and drawn in by the prior; statistics depend on that spread, those of
    single plays most of all. So the strengths of each side are spread as far as gives, when data sets are drawn from
    them and fitted, the spread of the strengths that were fitted to the results.
    """
    fitted, n_rows = data.posterior.logs, data.posterior.model.n_rows
    items = np.unique(data.ends)
    sides = [side for side in (items[items < n_rows], items[items >= n_rows]) if len(side) and fitted[side].var() > 0]
    shares, logs, s = np.ones(len(sides)), fitted, data.log_products(fitted)
    for _ in range(MAX_SPREAD_STEPS):
        refitted = _simulated(data, np.tile(np.exp(s), (SPREAD_SIMULATIONS, 1)), rng)[1]
        logs, before = fitted.copy(), shares.copy()
        for k, side in enumerate(sides):
            spread = fitted[side].var()
            shares[k] = np.clip(shares[k] + 1 - refitted[:, side].var(axis=1).mean() / spread, 0, MAX_SPREAD)
            centre = fitted[side].mean()
            logs[side] = centre + np.sqrt(shares[k]) * (fitted[side] - centre)
        for _ in range(LEVEL_STEPS):  # no strength reaches 1, and all pairs together are paid what they were
            logs = np.minimum(logs, MIN_LOG_SHARE * fitted)
            s = data.log_products(logs)
            ratio = (max(data.sums.sum(), 0.0) + 0.5) / (data.plays @ np.exp(s) + 0.5)
            logs = logs + 0.5 * np.log(np.clip(ratio, 0.1, 10.0))
        if (np.abs(shares - before) <= SPREAD_CONVERGED).all():
            break
    return s


def _departing(data: _Data, s: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Means whose odds are off those of exp(s) by a factor exp(DEPARTURE_SD z), a row for each data set."""
    signs = rng.choice([-1.0, 1.0], size=(n, len(data.posterior.logs)))
    z = signs[:, data.ends[:, 0]] * signs[:, data.ends[:, 1]] + rng.standard_normal((n, len(s)))
    odds = np.exp(s) / -np.expm1(s) * np.exp(DEPARTURE_SD * sqrt(0.5) * z)
    return np.asarray(odds / (1 + odds))


def _ranks(null: Floats, here: Floats) -> tuple[Floats, Floats]:
    """Of each column: the share of data sets, its own among them, with as large a statistic; and that of all together.

    Together: the share whose smallest p-value is as small, each ranked among the simulated ones and the column's.
    """
    n = null.shape[1] + 1
    floors = null - TIE_TOLERANCE * (1 + np.abs(null))
    within = (null[:, None, :] >= floors[:, :, None]).sum(axis=2)
    as_large = 1 + (null[:, None, :] >= (here - TIE_TOLERANCE * (1 + np.abs(here)))[:, :, None]).sum(axis=2)
    smallest = as_large.min(axis=0)
    together = np.empty(here.shape[1])
    for k in range(here.shape[1]):
        others = (within + (here[:, k : k + 1] >= floors)).min(axis=0)
        together[k] = 1 + (others <= smallest[k]).sum()
    return as_large / n, together / n


def _tails(null: Floats, here: Floats) -> tuple[Floats, Floats]:
    """The same from tails of Student's t for cube roots, which are almost normal for sums of squares; Bonferroni's."""
    roots, n = np.cbrt(null), null.shape[1]
    deviations = np.maximum(roots.std(axis=1, ddof=1, keepdims=True), TIE_TOLERANCE) * sqrt(1 + 1 / n)
    parts = stdtr(n - 1, (roots.mean(axis=1, keepdims=True) - np.cbrt(here)) / deviations)
    return parts, np.minimum(1.0, len(parts) * parts.min(axis=0))


def _most_played(data: _Data) -> float:
    """The p-value of the deviance of the pairs that were played most, without simulation: for very many pairs."""
    chosen = np.sort(np.argsort(-data.plays, kind="stable")[:MAX_TESTED_PAIRS])
    plays, p = data.plays[chosen], np.exp(data.log_products(data.posterior.logs))[chosen]
    return misfit_of_means(data.rewards, plays, data.sums[chosen] / plays, p, data.leverages[chosen])


def misfit_of_means(
    rewards: RewardDistribution, plays: Counts | Floats, means: Floats, p: Floats, leverages: Floats | float = 0.0
) -> float:
    """The p-value of the deviance of means of some pairs against products p, fitted to these pairs and others.

    It is the tail of a gamma distribution with the moments that the deviance has at p. They are 1 and 2 for Gaussian
    rewards and for coins that fall often enough on either side; for rarer sides the sum over their number is exact.
    Leverages that are too small are cautious.
    """
    trials = rewards.noise.trials
    statistic = _deviances(rewards, plays, means, p, 1 - p).sum()
    mean, variance = np.ones(len(p)), np.full(len(p), 2.0)
    C, q = plays * max(1.0, trials), np.minimum(p, 1 - p)
    few = (C * q < MIN_NORMAL_COUNT) & (trials > 0)
    C, q = C[few, None], q[few, None]
    x = np.minimum(np.arange(4 * MIN_NORMAL_COUNT), C)
    most = np.minimum(C, 10**6)  # of more trials, rarer ends are as good as Poisson
    weights, share = np.diff(bdtr(x, most.astype(np.int64), q * C / most), axis=1, prepend=0), x / C
    deviance = 2 * C * (rel_entr(share, q) + rel_entr(1 - share, 1 - q))
    deviance[weights == 0] = 0.0
    mean[few] = (weights * deviance).sum(axis=1)
    variance[few] = (weights * deviance**2).sum(axis=1) - mean[few] ** 2
    # A single coin near 1/2 always has the same deviance; that of several, fitted together, still varies.
    scale = max(1.0, variance.sum() / max(mean.sum(), 1e-300))
    expected = (mean - np.clip(leverages, 0, 1) * np.minimum(mean, 1)).sum()
    return float(gammaincc(expected / scale, statistic / scale)) if expected > 0 else 1.0


def _deviances(rewards: RewardDistribution, plays: Counts | Floats, means: Floats, p: Floats, q: Floats) -> Floats:
    """Twice the log-likelihood ratio of each mean to p = 1 − q."""
    noise = rewards.noise
    if not noise.trials:
        apart = np.clip((means - p) / noise.sd, -1e100, 1e100)  # the square of more is no float
        return np.asarray(plays * apart**2)
    return np.asarray(2 * noise.trials * plays * (rel_entr(means, p) + rel_entr(1 - means, q)))


# Groups -------------------------------------------------------------------------------------------------------------


class _Pools(NamedTuple):
    """Residuals pooled by pair of groups, without what other levels of the groups would explain.

    Fitted strengths are shrunk towards the level of all items: where rewards are rare, groups of different strength
    have residuals although products are right.
    """

    labels: list[tuple[Hashable, Hashable]]
    pooling: csr_array
    """Pairs × pairs of groups."""
    deviation: Floats
    """Of each pooled sum of rewards."""
    projection: Floats
    """Of standardised pooled residuals, onto what levels of groups do not explain."""

    @property
    def freedom(self) -> int:
        return round(float(np.trace(self.projection)))

    def deviations(self, raw: Floats) -> Floats:
        """Standardised pooled residuals, projected; a row for each data set."""
        return np.asarray((raw @ self.pooling) / self.deviation @ self.projection)

    def approximate_p_value(self, data: _Data) -> float:
        """Chi-square."""
        squares = (self.deviations(data.raw_residuals(data.sums, data.posterior.logs)) ** 2).sum()
        return float(gammaincc(self.freedom / 2, squares / 2))

    def table(self, data: _Data) -> tuple[GroupResult, ...]:
        """The results of each pair of groups."""
        plays, paid = data.plays @ self.pooling, data.sums @ self.pooling
        off = self.deviations(data.raw_residuals(data.sums, data.posterior.logs))
        left = self.projection.diagonal()
        z = np.divide(off, np.sqrt(left), out=np.zeros_like(off), where=left > TIE_TOLERANCE)
        expected = (paid - off * self.deviation) / plays
        numbers = zip(self.labels, plays.tolist(), (paid / plays).tolist(), expected.tolist(), z.tolist(), strict=True)
        return tuple(GroupResult(*label, round(n), mean, by_product, at) for label, n, mean, by_product, at in numbers)


def _labels(groups: Groups, graph: Graph, names: tuple[tuple[str, ...], ...] | None, ends: Pairs) -> list[Hashable]:
    """The group of each item, rows first; None for items that never played."""
    sides: Sequence[Sequence[Name]] = names or tuple(range(size) for size in graph.side_sizes)
    maps = [groups] * len(sides) if isinstance(groups, Mapping) else list(groups)
    if len(maps) != len(sides) or not all(isinstance(one, Mapping) for one in maps):
        wanted = "a mapping of rows and one of columns" if len(sides) > 1 else "a mapping"
        raise MatchbanditError(f"groups must be {wanted} from items to groups; got {groups!r}.")
    if isinstance(groups, Mapping) and len(sides) > 1:
        for name in set(sides[0]) & set(sides[1]):
            raise MatchbanditError(
                f"{name!r} is both a row and a column: give groups=(groups of rows, groups of columns)."
            )
    played = np.zeros(sum(map(len, sides)), dtype=bool)
    played[ends] = True
    labels: list[Hashable] = []
    for one, side in zip(maps, sides, strict=True):
        for name in side:
            if played[len(labels)] and name not in one:
                raise MatchbanditError(f"groups has no group for {name!r}; every item that played needs one.")
            labels.append(one.get(name) if played[len(labels)] else None)
    return labels


def _pools(data: _Data, labels: list[Hashable]) -> _Pools:
    """How residuals are pooled; rows and columns have groups of their own, though they may have the same name."""
    n_rows, logs = data.posterior.model.n_rows, data.posterior.logs
    numbers: dict[tuple[bool, Hashable], int] = {}
    group = np.array([numbers.setdefault((i < n_rows, label), len(numbers)) for i, label in enumerate(labels)])
    if len(numbers) > 2 * MAX_GROUPS:
        raise MatchbanditError(f"groups names {len(numbers)} groups; at most {2 * MAX_GROUPS} can be compared.")
    cells, cell = np.unique(np.sort(group[data.ends], axis=1), axis=0, return_inverse=True)
    pooling = csr_array((np.ones(len(cell)), (np.arange(len(cell)), cell.ravel())), shape=(len(cell), len(cells)))
    deviation = np.sqrt(data.variances(logs) @ pooling)
    slopes = (data.plays * np.exp(data.log_products(logs))) @ pooling / deviation
    design = np.zeros((len(cells), len(numbers)))
    np.add.at(design, (np.arange(len(cells))[:, None], cells), slopes[:, None])
    projection = np.eye(len(cells)) - design @ np.linalg.pinv(design, rcond=TIE_TOLERANCE)
    in_order = [label for _, label in numbers]
    return _Pools([(in_order[a], in_order[b]) for a, b in cells.tolist()], pooling, deviation, projection)
