"""Replay: estimate from a log of past results what policies would earn in the future.

A log has no results of pairs that were not played, so it does not show what another policy would have earned.
Therefore means that fit the log are drawn (`truths`), the same for all policies, and each policy plays on them. The
rewards of a policy then vary for three reasons:

- *the means are uncertain*: the band covers the expected reward over the means that fit the log;
- *a single run is random*: this is removed from the band, since each draw of the means is played more than once;
- *the number of draws is finite*: the band is wider accordingly.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from html import escape
from math import ceil, inf
from typing import Any, Literal, NamedTuple

import numpy as np

from matchbandit.errors import MatchbanditError, check_int, unknown
from matchbandit.figures import Chart, Line, Mark, draw, draw_to
from matchbandit.formatting import fixed, grouped, plural
from matchbandit.graphs import Selection
from matchbandit.past_results import PastResults, read_results
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.catalogue import check_horizon
from matchbandit.policies.catalogue import policy as named
from matchbandit.product_model import ProductFit, product_fit
from matchbandit.results import Comparison, Runs
from matchbandit.rewards import Floats, RewardDistribution, check_rewards
from matchbandit.simulation import compare
from matchbandit.simulation.play import Progress
from matchbandit.solvers.best import MAX_MATCHINGS, count_matchings
from matchbandit.studies.as_before import agreement, pair_frequencies
from matchbandit.studies.log_drift import drift_in
from matchbandit.studies.truths import CONCENTRATIONS, Evidence, PossibleTruths, TruthPosterior

Start = Literal["warm", "cold", "both"]
Drawn = Literal["differences", "rewards", "rounds"]
Truth = Literal["auto", "product", "general"]
Policies = Iterable[str | PolicySpec | type[Policy]]
Log = PastResults | str | os.PathLike[str]

REPEATS = 2
"""Runs of each policy in each truth: at least two are needed to estimate the variance between runs."""
MIN_TRUTHS = 20
LEVEL = 0.9
"""Of the bands."""
MIN_RESULTS_PER_ITEM = 3
"""On average. With fewer results the prior would determine the answer."""
MAX_ITEMS, MAX_GENERAL_ITEMS = 300, 100
"""Items that are replayed, and items up to which means need not be products: then the best matching needs a solver.
Of larger logs the part that `largest_part` returns is replayed."""
CHECKPOINTS = 12
"""Rounds at which the regret is read, for the chart."""
MAX_SIMULATED_NULL_ITEMS = 40
"""Items up to which the p-value of the product model is simulated."""
DRIFT_LEVEL = 0.01
"""The p-value below which a note says that the results drift."""
AS_BEFORE = "as before"
"""The policy that continues to pair as the log did; `pair_frequencies` returns how often it plays each pair."""


@dataclass(frozen=True)
class Place:
    """A policy in the ranking of a replay."""

    label: str
    ranks: tuple[int, int]
    """The best and the worst rank that the log allows: (1, 3) is among the best three."""
    reward: float
    """The expected reward of all rounds, averaged over the truths."""
    low: float
    high: float
    """The 90 % band of the reward, over the truths."""
    behind: "Difference | None"
    """The reward of the first policy minus its own; None for the first."""


class Difference(NamedTuple):
    """The reward of one policy minus that of another, in all rounds."""

    mean: float
    low: float
    high: float
    """The band of the expected difference. With probability 0.9 it holds for all pairs of policies at once."""
    single_low: float
    single_high: float
    """The 90 % band of the difference between two single runs."""

    @property
    def is_distinguishable(self) -> bool:
        """Return whether the band excludes 0: the log shows which of the two is better."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """What policies would earn in the future, by a log; printed, a ranking."""

    results: PastResults
    horizon: int
    selection: Selection
    truths: PossibleTruths
    """The truths that were played, each with the same weight; `repeats` runs of each."""
    comparison: Comparison
    """All runs, as `compare` gives them; run k is in the truth k // repeats."""
    labels: tuple[str, ...]
    """Of the policies, in their order, and `as before`."""
    product: float | None
    """The posterior probability that all means are products, with the prior 1/2; None if it was not computed."""
    fit: ProductFit
    """The product model that fits best, and the test of it."""
    drift: float | None
    """The p-value of rewards that do not change over time; None if the log cannot be tested."""
    notes: tuple[str, ...]
    """What was assumed and left out, and what the log does not show, in sentences."""
    frequencies: Floats
    """How often `as before` plays each pair in a round, on average; by edge."""

    @cached_property
    def rewards(self) -> dict[str, Floats]:
        """The reward of each policy in each run, shape (truths, repeats), without the noise of the rewards.

        It is the sum of the means of the played pairs; for `as before`, its expectation.
        """
        means = [truth.means for truth in self.truths.truths]
        repeats = self.truths.repeats
        earned = {}
        for label, runs in zip(self.labels, self.comparison, strict=False):
            paid = [plays @ means[run // repeats] for run, plays in enumerate(_runs(runs).plays_by_edge)]
            earned[label] = np.array(paid, dtype=np.float64).reshape(-1, repeats)
        before = self.horizon * np.array([float(self.frequencies @ each) for each in means])
        earned[AS_BEFORE] = np.repeat(before[:, None], repeats, axis=1)
        return earned

    @cached_property
    def _expected(self) -> dict[str, Floats]:
        """The expected reward of each policy in each truth."""
        return {label: without_luck(earned) for label, earned in self.rewards.items()}

    @cached_property
    def _differences(self) -> dict[tuple[str, str], tuple[float, float, float]]:
        """Mean and simultaneous band of all differences, each label minus those behind it."""
        pairs = [(a, b) for at, a in enumerate(self.labels) for b in self.labels[at + 1 :]]
        drawn = np.array([without_luck(self.rewards[a] - self.rewards[b]) for a, b in pairs])
        return dict(zip(pairs, simultaneous(drawn), strict=True))

    def difference(self, one: str, other: str) -> Difference:
        """What `one` would earn more than `other`, by their labels; negative, if it would earn less."""
        for label in (one, other):
            if label not in self.labels:
                raise unknown("policy of this replay", label, self.labels)
        if one == other:
            raise MatchbanditError(f"a difference is between two policies; got {one!r} twice.")
        sign = 1 if (one, other) in self._differences else -1
        mean, low, high = self._differences[(one, other) if sign > 0 else (other, one)]
        single = [float(end) for end in np.quantile(self.rewards[one] - self.rewards[other], _ENDS)]
        low, high = (low, high) if sign > 0 else (-high, -low)
        return Difference(sign * mean, low, high, single[0], single[1])

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The policies from the highest expected reward to the lowest, with the ranks that they may have."""
        order = sorted(self.labels, key=lambda label: -float(self.rewards[label].mean()))
        places = []
        for label in order:
            against = [self.difference(label, other) for other in self.labels if other != label]
            better = sum(each.high < 0 for each in against)
            worse = sum(each.low > 0 for each in against)
            low, high = band(self._expected[label])
            behind = None if label == order[0] else self.difference(order[0], label)
            mean = float(self.rewards[label].mean())
            places.append(Place(label, (1 + better, len(order) - worse), mean, low, high, behind))
        return tuple(places)

    @property
    def verdict(self) -> str:
        """Which policy earns most, as far as the log shows, in a sentence."""
        best = [place.label for place in self.places if place.ranks[0] == 1]
        if len(best) == 1:
            return f"{best[0]} earns most, by this log."
        if len(best) == len(self.labels):
            return "This log cannot tell which of them earns most."
        return f"This log cannot tell which earns most: {', '.join(best[:-1])} or {best[-1]}."

    def summary(self) -> dict[str, dict[str, Any]]:
        """The places as plain data, by label."""
        return {
            place.label: {
                "ranks": list(place.ranks),
                "reward": place.reward,
                "low": place.low,
                "high": place.high,
                "behind": None if place.behind is None else place.behind._asdict(),
            }
            for place in self.places
        }

    def chart(self, what: Drawn = "differences") -> Chart:
        """What `plot` draws, as numbers."""
        charts = {"differences": _differences_chart, "rewards": _rewards_chart, "rounds": _rounds_chart}
        if what not in charts:
            raise unknown("chart of a replay", what, charts)
        return charts[what](self)

    def plot(self, path: str | os.PathLike[str] | None = None, *, what: Drawn = "differences") -> Any:
        """Draw how far the others are behind the first, their rewards, or the regret over the rounds.

        Differences are more precise than rewards: where the means are high, all policies earn much.
        """
        chart = self.chart(what)
        if path is not None:
            draw_to(chart, path)
        return draw(chart)

    def __repr__(self) -> str:
        """Title, table, verdict and notes."""
        heads, lines = self._table()
        widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
        rows = ["  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)) for line in (heads, *lines)]
        return "\n".join([self.title, *(row.rstrip() for row in rows), self.verdict, *self.notes])

    def _repr_html_(self) -> str:
        heads, lines = self._table()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
        text = "".join(f"<p>{escape(words)}</p>" for words in (self.verdict, *self.notes))
        return f"<table><caption>{escape(self.title)}</caption><tr>{head}</tr>{body}</table>{text}"

    @property
    def title(self) -> str:
        """What the numbers are."""
        log = repr(self.results).removeprefix("PastResults: ")
        rounds, truths = plural(self.horizon, "round"), plural(len(self.truths.truths), "truth")
        return f"What {rounds} would earn, a {self.selection} each, in {truths} that fit {log}"

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        heads = ("rank", "policy", "reward, 90 % band", "behind the first, 90 % band")
        lines: list[tuple[str, ...]] = []
        for place in self.places:
            first, last = place.ranks
            behind = "" if place.behind is None else _with_band(*place.behind[:3])
            rank = f"{first}" if first == last else f"{first}–{last}"
            lines.append((rank, place.label, _with_band(place.reward, place.low, place.high), behind))
        return heads, lines


_ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


def replay(
    results: Log,
    policies: Policies,
    *,
    horizon: int | None = None,
    runs: int = 200,
    seed: int = 0,
    rewards: RewardDistribution | None = None,
    selection: Selection | None = None,
    start: Start = "warm",
    truth: Truth = "auto",
    workers: int | None = 1,
    progress: Progress = None,
) -> Replay:
    """Compare policies by a log of past results, before any of them goes live.

    Truths are drawn that fit the log, and every policy plays the same ones. The bands say how sure the log makes it.
    Beside the policies stands `as before`, which draws pairs, or matchings, such that pairs are as frequent as in the
    log. The notes say what was assumed.

    Parameters
    ----------
    results: PastResults or path
        The log: what `read_results` gives, or the CSV or Parquet file itself. Of more than 300 items those with the
        most results among each other are replayed, and a note says what was left out.
    policies: list
        Names, or `policy(name, …)` with options. All play the same: matchings if all can.
    horizon: int, optional
        Rounds from tomorrow on; by default as many as the log's results would fill.
    runs: int, default 200
        Of each policy: two in each of half as many truths.
    seed: int, default 0
        The root of all randomness.
    rewards: distribution, optional
        Of the rewards; by default Bernoulli, which needs rewards of 0 and 1.
    selection: {"pair", "matching"}, optional
        What a round plays.
    start: {"warm", "cold", "both"}, default "warm"
        Do policies begin with the results of the log, or from nothing? Those that cannot begin cold.
    truth: {"auto", "product", "general"}, default "auto"
        Are means products of strengths? "auto" lets the log say how probable that is; "general" gives every pair a mean
        of its own, near its average where it was seen often, near its product elsewhere, for up to 100 items. Above
        100 items "auto" considers products only.
    workers, progress:
        As in `compare`.

    Returns
    -------
    Replay
        Printed, a ranking. `difference(one, other)` says by how much, `plot()` draws it.

    >>> import matchbandit as mb
    >>> log = [("ann", "bob", 40, 32), ("ann", "cem", 40, 18), ("bob", "dan", 40, 9), ("cem", "dan", 40, 6)]
    >>> done = replay(mb.PastResults.from_rows(log), ["rank1-thompson", "cucb"], horizon=100, runs=40)
    >>> done.verdict
    'rank1-thompson earns most, by this log.'
    """
    whole = results if isinstance(results, PastResults) else read_results(results)
    log = largest_part(whole, truth)
    distribution = _distribution(whole, rewards)
    evidence = _evidence(log, whole, distribution)
    specs, selection = _specs(policies, selection)
    if start not in ("warm", "cold", "both"):
        raise unknown("start", start, ["warm", "cold", "both"])
    if truth not in ("auto", "product", "general"):
        raise unknown("truth", truth, ["auto", "product", "general"])
    truths = check_int("runs", runs, minimum=MIN_TRUTHS * REPEATS, hint="Bands need that many.") // REPEATS
    graph = log.tally.graph
    size = 1 if selection == "pair" else graph.matching_size
    rounds = -(-log.n_results // size) if horizon is None else check_horizon(horizon)
    concentrations = _concentrations(truth, evidence.n_items)
    posterior = TruthPosterior(evidence, concentrations)
    possible = PossibleTruths.of(posterior.draw(truths, seed), REPEATS)
    begun = _begun(specs, start, log)
    played = compare(
        possible,
        [spec for spec, _ in begun],
        horizon=rounds,
        runs=truths * REPEATS,
        seed=seed,
        checkpoints=np.unique(np.linspace(1, rounds, min(rounds, CHECKPOINTS)).astype(np.int64)),
        workers=workers,
        progress=progress,
    )
    labels = [_label(label, begins, start) for label, (_, begins) in zip(played.labels, begun, strict=True)]
    fit = product_fit(
        graph, log.tally.pairs, counts=log.tally.counts, sums=log.tally.sums, rewards=distribution,
        simulate_null=evidence.n_items <= MAX_SIMULATED_NULL_ITEMS,
    )  # fmt: skip
    product = posterior.product if len(concentrations) == len(CONCENTRATIONS) else None
    drift = drift_in(log, seed)
    frequencies = pair_frequencies(log.tally, selection, seed)
    notes = [
        *_left_out(log, whole, truth),
        *_notes(log, distribution, begun, start, product, fit, drift, truth, concentrations),
        _as_before_in_words(log, selection, frequencies),
    ]
    labels = [*labels, AS_BEFORE]
    return Replay(
        log, rounds, selection, possible, played, tuple(labels), product, fit, drift, tuple(notes), frequencies
    )


def largest_part(log: PastResults, truth: Truth = "auto") -> PastResults:
    """Return the log, or if it has more items than are replayed, the results among those that met each other most.

    The item with the fewest results is left out, of equals the last; then the one with the fewest among the others, and
    so on.
    """
    tally, max_items = log.tally, _max_items(truth)
    if _n_items(log) <= max_items:
        return log
    ends = tally.pairs + np.array([0, len(tally.names[0]) if len(tally.names) > 1 else 0])
    partners: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for (i, j), count in zip(ends.tolist(), tally.counts.tolist(), strict=True):
        partners[i].append((j, count))
        partners[j].append((i, count))
    results = {item: sum(count for _, count in partners[item]) for item in range(_n_items(log))}
    fewest = [(count, -item) for item, count in results.items()]
    heapify(fewest)
    while len(results) > max_items:
        count, minus_item = heappop(fewest)
        if results.get(-minus_item) != count:
            continue  # an entry from before its partners left
        del results[-minus_item]
        for other, lost in partners[-minus_item]:
            if other in results:
                results[other] -= lost
                heappush(fewest, (results[other], -other))
    names = [name for side in tally.names for name in side]
    first_side = len(tally.names[0])
    left = {names[item] for item in results if item < first_side}
    right = left if len(tally.names) == 1 else {names[item] for item in results if item >= first_side}
    rows = [k for k, (a, b) in enumerate(zip(log.first, log.second, strict=True)) if a in left and b in right]
    return replace(
        log,
        first=[log.first[k] for k in rows],
        second=[log.second[k] for k in rows],
        rewards=log.rewards[rows],
        counts=log.counts[rows],
        times=None if log.times is None else [log.times[k] for k in rows],
        places=[k + 1 if log.places is None else log.places[k] for k in rows],
    )


def _max_items(truth: Truth) -> int:
    return MAX_GENERAL_ITEMS if truth == "general" else MAX_ITEMS


def _n_items(log: PastResults) -> int:
    return sum(map(len, log.tally.names))


def _left_out(log: PastResults, whole: PastResults, truth: Truth) -> list[str]:
    """What `largest_part` left out, in a sentence."""
    if log is whole:
        return []
    items, results = _n_items(whole) - _n_items(log), whole.n_results - log.n_results
    which = " of means that are not products" if truth == "general" else ""
    return [
        f"Left out: {grouped(items)} of {grouped(_n_items(whole))} items, those with the fewest results, and "
        f"{grouped(results)} of {grouped(whole.n_results)} results with them. A replay{which} has up to "
        f"{_max_items(truth)} items."
    ]


def _evidence(log: PastResults, whole: PastResults, distribution: RewardDistribution) -> Evidence:
    """What the log says, if policies can be compared by it; else why not."""
    tally, n_items = log.tally, _n_items(log)
    if tally.graph.n_pairs == 1 or len(tally.pairs) == 1:
        a, b = tally.named(tally.pairs)[0]
        raise MatchbanditError(
            f"{log.source} has one pair only, {a} and {b}: there is nothing to choose, or nothing that tells how."
        )
    if 2 * log.n_results < MIN_RESULTS_PER_ITEM * n_items:
        each, least = 2 * log.n_results / n_items, -(-MIN_RESULTS_PER_ITEM * n_items // 2)
        if log is not whole:
            raise MatchbanditError(
                f"{log.source}: the {n_items} of its {_n_items(whole)} items that met each other most have "
                f"{log.n_results} results, and each item has a part in {each:.1f} of them on average: too little to "
                f"compare policies by. Give the rows of fewer items, with at least {least} results."
            )
        raise MatchbanditError(
            f"{log.source} has {log.n_results} results of {n_items} items, and each item has a part in {each:.1f} of "
            f"them on average: too little to compare policies by. Gather at least {least} results first."
        )
    return Evidence(tally.graph, tally.pairs, tally.counts, tally.sums, distribution)


def _distribution(log: PastResults, rewards: RewardDistribution | None) -> RewardDistribution:
    """Return the distribution, if the rewards fit it; by default Bernoulli for rewards of 0 and 1, else refuse."""
    distribution = check_rewards(rewards)
    if rewards is None:
        odd = (log.rewards != np.rint(log.rewards)) | (log.rewards < 0) | (log.rewards > log.counts)
        if odd.any():
            k = int(np.argmax(odd))
            raise MatchbanditError(
                f"{log.where(k)}: the reward {log.rewards[k]:g} is neither 0 nor 1. Say what the rewards are: "
                f"rewards=Binomial(trials) for shares of a number of trials, rewards=Gaussian(sd) for numbers around "
                f"means in [0, 1]{_spread_within(log)}."
            )
    log.refuse_outside(distribution)
    return distribution


def _spread_within(log: PastResults) -> str:
    """The standard deviation of single rewards of the same pair, in words, where pairs met more than once."""
    graph = log.tally.graph
    left, right = ({name: k for k, name in enumerate(names)} for names in (log.tally.names[0], log.tally.names[-1]))
    ends = [(left[a], right[b]) for a, b in zip(log.first, log.second, strict=True)]
    _, places = np.unique(graph.edges(ends), return_inverse=True)
    n = np.bincount(places)
    freedom = len(places) - len(n)
    if (log.counts > 1).any() or not freedom:
        return ""
    off = log.rewards - (np.bincount(places, log.rewards) / n)[places]
    return f"; those of the same pair differ by a standard deviation of {np.sqrt((off**2).sum() / freedom):.2g}"


def _specs(policies: Policies, wanted: Selection | None) -> tuple[list[PolicySpec], Selection]:
    """The policies, and what all of them play in a round."""
    if isinstance(policies, str | PolicySpec | type) or not isinstance(policies, Iterable):
        raise MatchbanditError(f"replay takes a list of policies; got {policies!r}. Put it in a list.")
    specs = [spec if isinstance(spec, PolicySpec) else named(spec) for spec in policies]
    if not specs:
        raise MatchbanditError("replay takes a list of policies; got an empty one.")
    for at, spec in enumerate(specs):
        if spec.logged:
            raise MatchbanditError(f"{spec.name} has a warm start of its own; replay gives it that of the log.")
        if spec in specs[:at]:
            raise MatchbanditError(f"{spec!r} is there twice. Give each policy once, or with different options.")
    can = {repr(spec): _selections(spec) for spec in specs}
    order: tuple[Selection, ...] = ("matching", "pair") if wanted is None else (wanted,)
    if wanted not in (None, "matching", "pair"):
        raise unknown("selection", wanted, ["pair", "matching"])
    for selection in order:
        if all(selection in each for each in can.values()):
            return [_playing(spec, selection) for spec in specs], selection
    cannot = [f"{name} plays a {' or a '.join(each)} a round" for name, each in can.items() if order[0] not in each]
    others = [name for name, each in can.items() if order[0] in each]
    whom = f"{', '.join(others)} {'plays' if len(others) == 1 else 'play'} a {order[0]}; " if others else ""
    raise MatchbanditError(f"policies are compared at the same task: {whom}{'; '.join(cannot)}. Replay them apart.")


def _selections(spec: PolicySpec) -> tuple[Selection, ...]:
    selection = spec.options.get("selection")
    return spec.kind.capabilities.selections if selection is None else (selection,)


def _playing(spec: PolicySpec, selection: Selection) -> PolicySpec:
    if len(spec.kind.capabilities.selections) == 1:
        return spec
    return replace(spec, options={**spec.options, "selection": selection})


def _begun(specs: Sequence[PolicySpec], start: Start, log: PastResults) -> list[tuple[PolicySpec, str]]:
    """The policies as they begin, and how: warm those that can, unless all are to begin cold."""
    tally = log.tally
    begun = []
    for spec in specs:
        warm = start != "cold" and spec.kind.capabilities.warm_start
        if not warm or start == "both":
            begun.append((spec, "cold"))
        if warm:
            begun.append((spec.warm_start(tally.pairs, tally.counts, tally.sums), "warm"))
    return begun


def _label(label: str, begins: str, start: Start) -> str:
    """As `compare` has it, but for the number of plays of the warm start; and how it begins, if not as all do."""
    plain = ", ".join(part for part in label.split(", ") if not part.startswith("warm start = "))
    return plain if begins == start else f"{plain} ({begins})"


def _concentrations(truth: Truth, n_items: int) -> tuple[float, ...]:
    if truth == "product" or n_items > MAX_GENERAL_ITEMS:
        return (inf,)
    return CONCENTRATIONS if truth == "auto" else tuple(each for each in CONCENTRATIONS if each != inf)


def _notes(
    log: PastResults,
    distribution: RewardDistribution,
    begun: Sequence[tuple[PolicySpec, str]],
    start: Start,
    product: float | None,
    fit: ProductFit,
    drift: float | None,
    truth: Truth,
    concentrations: Sequence[float],
) -> list[str]:
    """What was assumed, and what the log cannot say."""
    p_value = f"product_fit: p = {fit.p_value:.2g}"
    if fit.degrees_of_freedom == 0:
        p_value = "too few pairs for product_fit"
    if product is not None:
        notes = [f"That all means are products of strengths has probability {product:.2f} by the log ({p_value})."]
    elif len(concentrations) > 1:
        notes = [f"Every pair has a mean of its own, near its product where the log says little ({p_value})."]
    else:
        why = "" if truth == "product" else f"; among more than {MAX_GENERAL_ITEMS} items nothing else is considered"
        notes = [f"All means are taken to be products of strengths{why} ({p_value})."]
    notes.append(f"Rewards are taken to be {distribution.notation}, with means that do not change over the rounds.")
    cold = [spec.name for spec, begins in begun if begins == "cold" and not spec.kind.capabilities.warm_start]
    if cold and start != "cold":
        notes.append(
            f"{', '.join(cold)} cannot begin with results from before, and begin{'s' * (len(cold) == 1)} cold."
        )
    successes = distribution.noise.trials * log.rewards  # of Gaussian ones 0
    if (np.abs(successes - np.rint(successes)) > 1e-6).any():
        notes.append(
            f"Some rewards lie between those that {distribution.name} ones can be, which vary more: the bands are "
            f"wider than need be. rewards=Gaussian(sd) may suit them better."
        )
    unseen = log.tally.graph.n_pairs - len(log.tally.pairs)
    if unseen:
        notes.append(
            f"{unseen} of {log.tally.graph.n_pairs} pairs never met: what they would earn comes from the other results "
            f"of their items."
        )
    if drift is not None and drift < DRIFT_LEVEL:
        notes.append(
            f"The results drift (p = {drift:.2g}), and a replay takes the means to stay what they were on average. "
            f"Replay the last part of the log, and consider the half_life of rank1-thompson."
        )
    return notes


def _as_before_in_words(log: PastResults, selection: Selection, frequencies: Floats) -> str:
    if selection == "pair":
        return f"{AS_BEFORE}: a pair each round, drawn by its share of the log's results."
    drawn = count_matchings(log.tally.graph) > MAX_MATCHINGS
    which = f", one of {MAX_MATCHINGS} drawn by the log's counts" if drawn else ""
    percent = round(100 * agreement(log.tally, frequencies))
    limit = "" if percent == 100 else f" as far as matchings allow ({percent} % of the pairs agree)"
    return f"{AS_BEFORE}: a random matching each round{which}, with pairs as frequent as in the log{limit}."


def without_luck(drawn: Floats) -> Floats:
    """Of truths × repeats, what each truth is worth on average: means of its runs, drawn together by their luck.

    The means of R runs vary by V = B + W/R over M truths, of which only B, between truths, is sought. They are scaled
    around their common mean to the variance B + V/M: the second part is what the common mean lacks.

    >>> without_luck(np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])).tolist()  # luck, and nothing else
    [2.0, 2.0, 2.0]
    """
    truths, repeats = drawn.shape
    means = drawn.mean(axis=1)
    varies = float(means.var(ddof=1))
    luck = float(drawn.var(axis=1, ddof=1).mean()) / repeats
    if varies == 0:
        return np.asarray(means)
    share = min(1.0, max(varies - luck, 0.0) / varies + 1 / truths)
    return np.asarray(means.mean() + np.sqrt(share) * (means - means.mean()))


def band(drawn: Floats) -> tuple[float, float]:
    """The ends between which another draw lies in 90 % of cases."""
    return simultaneous(drawn[None, :])[0][1:]


def simultaneous(drawn: Floats) -> list[tuple[float, float, float]]:
    """Mean and band of several quantities, drawn together (quantities × truths): all hold at once in 90 % of cases.

    Each band leaves out as many draws at either end as the others do, and as many as can be while 90 % of the truths
    lie within all of them [Besag1995].

    >>> simultaneous(np.array([np.arange(99.0)]))
    [(49.0, 4.0, 94.0)]
    >>> simultaneous(np.array([np.arange(99.0), 37 * np.arange(99.0) % 99]))
    [(49.0, 2.0, 96.0), (49.0, 2.0, 96.0)]
    """
    quantities, truths = drawn.shape
    sorted_ = np.sort(drawn, axis=1)
    ranks = np.argsort(np.argsort(drawn, axis=1, kind="stable"), axis=1, kind="stable")
    farthest = np.sort(np.maximum(ranks, truths - 1 - ranks).max(axis=0))
    last = int(farthest[min(truths, ceil(LEVEL * (truths + 1))) - 1])
    ends = sorted_[:, [truths - 1 - last, last]].tolist()
    return [(float(drawn[k].mean()), *ends[k]) for k in range(quantities)]


def _runs(result: Any) -> Runs:
    if not isinstance(result, Runs):
        raise TypeError(f"a replay is of simulations; got {result!r}")
    return result


def _with_band(mean: float, low: float, high: float) -> str:
    """Format a number and its band with digits that suit the width of the band.

    >>> _with_band(1412.34, 1401.2, 1430.9), _with_band(0.5234, 0.511, 0.542)
    ('1,412 (1,401 to 1,431)', '0.523 (0.511 to 0.542)')
    """
    wide = high - low
    digits = 0 if wide >= 10 else 1 if wide >= 1 else 2 if wide >= 0.1 else 3
    return f"{fixed(mean, digits)} ({fixed(low, digits)} to {fixed(high, digits)})"


def _about(done: Replay) -> str:
    seed = done.comparison.results[0].about.seed
    return f"{done.title}; {done.truths.repeats} runs in each, seed {seed}."


def _key(done: Replay, label: str) -> str:
    if label == AS_BEFORE:
        return AS_BEFORE
    return done.comparison.results[done.labels.index(label)].about.policy


def _differences_chart(done: Replay) -> Chart:
    first, *others = done.places
    rows = [(place.label, place.behind[:3]) for place in others if place.behind is not None]
    return Chart(
        name="replay",
        title=f"Less than {first.label} in {plural(done.horizon, 'round')}, by the log",
        x_label="",
        y_label="reward less",
        lines=_in_rows(done, rows),
        rows=tuple(place.label for place in others),
        caption=f"{_about(done)} Mean, and 90 % band of all differences at once. {done.verdict}",
        marks=(Mark(0.0, axis="y"),),
    )


def _rewards_chart(done: Replay) -> Chart:
    rows = [(place.label, (place.reward, place.low, place.high)) for place in done.places]
    return Chart(
        name="replay-rewards",
        title=f"What {plural(done.horizon, 'round')} would earn, by the log",
        x_label="",
        y_label="reward",
        lines=_in_rows(done, rows),
        rows=tuple(place.label for place in done.places),
        caption=f"{_about(done)} Mean, and 90 % band of what is not known of the truth. {done.verdict}",
    )


def _in_rows(done: Replay, rows: Sequence[tuple[str, tuple[float, float, float]]]) -> tuple[Line, ...]:
    """A point with its band in each row."""
    lines = []
    for at, (label, values) in enumerate(rows):
        x, (mean, low, high) = np.array([float(at)]), np.array(values)[:, None]
        lines.append(Line(label, x, mean, low, high, key=_key(done, label), kind="points"))
    return tuple(lines)


def _rounds_chart(done: Replay) -> Chart:
    lines = []
    repeats = done.truths.repeats
    for label, result in zip(done.labels, done.comparison, strict=False):
        runs = _runs(result)
        drawn = [without_luck(at.reshape(-1, repeats)) for at in runs.regret.T]
        low, high = np.array([band(at) for at in drawn]).T
        x = runs.rounds.astype(np.float64)
        lines.append(Line(label, x, runs.regret.mean(axis=0), low, high, key=runs.about.policy))
    return Chart(
        name="replay-rounds",
        title="Regret from tomorrow on, by the log",
        x_label="round",
        y_label="regret",
        lines=tuple(lines),
        caption=f"{_about(done)} Lines: means; bands: 90 %, of what is not known of the truth.",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Proposed:
    """What a policy would propose next, had it seen the log; by name."""

    policy: str
    pairs: list[tuple[str, str]]
    """One proposal."""
    best: list[tuple[str, str]]
    """Its best guess, without exploring."""
    shares: dict[tuple[str, str], float]
    """How often a pair is proposed, over many draws of its chance; the most frequent first."""
    seen: dict[tuple[str, str], tuple[int, float]]
    """Meetings in the log of these pairs, and their average reward; (0, NaN) for those that never met."""
    draws: int

    def __repr__(self) -> str:
        """A table of the pairs, the most frequent first."""
        chosen, best = set(self.pairs), set(self.best)
        heads = ("pair", "proposed", "meetings", "average", "")
        lines = []
        for pair, share in self.shares.items():
            n, mean = self.seen[pair]
            marks = ["now"] * (pair in chosen) + ["best guess"] * (pair in best)
            average = "–" if n == 0 else f"{mean:.3g}"
            lines.append((" + ".join(pair), f"{100 * share:.0f} %", str(n), average, ", ".join(marks)))
        widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
        rows = ["  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)) for line in (heads, *lines)]
        title = f"What {self.policy} proposes after the log, in {self.draws} draws of its chance"
        return "\n".join([title, *(row.rstrip() for row in rows)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def propose(
    results: Log,
    policy: str | PolicySpec | type[Policy],
    *,
    rewards: RewardDistribution | None = None,
    selection: Selection | None = None,
    horizon: int | None = None,
    draws: int = 100,
    seed: int = 0,
) -> Proposed:
    """What a policy would propose next, had it seen the log; nothing is simulated.

    Parameters
    ----------
    results: PastResults or path
        The log.
    policy: str or PolicySpec
        One that can begin with results from before.
    rewards, selection:
        As in `replay`.
    horizon: int, optional
        For policies that need to know it.
    draws: int, default 100
        How often it is asked, each time with other random numbers: a pair that it always proposes is not exploration.

    >>> import matchbandit as mb
    >>> log = [("ann", "bob", 20, 16), ("ann", "cem", 20, 2), ("bob", "cem", 20, 2), ("cem", "dan", 20, 1)]
    >>> propose(mb.PastResults.from_rows(log), "rank1-thompson").best
    [('ann', 'bob'), ('cem', 'dan')]
    """
    log = results if isinstance(results, PastResults) else read_results(results)
    specs, _ = _specs([policy], selection)
    spec, distribution, tally = specs[0], _distribution(log, rewards), log.tally
    spec.kind.refuse_warm_start()
    begun = spec.warm_start(tally.pairs, tally.counts, tally.sums)
    draws = check_int("draws", draws, minimum=1)
    built = [
        begun.build(tally.graph, rewards=distribution, horizon=horizon, seed=seed, run=run) for run in range(draws)
    ]
    asked = [tally.graph.edges(each.ask()) for each in built]
    edges, times = np.unique(np.concatenate(asked), return_counts=True)
    order = np.argsort(-times, kind="stable")
    edges, times = edges[order], times[order]
    names = tally.named(tally.graph.pairs_of(edges))
    known = dict(zip(tally.graph.edges(tally.pairs).tolist(), zip(tally.counts, tally.sums, strict=True), strict=True))
    seen = {}
    for edge, name in zip(edges.tolist(), names, strict=True):
        n, total = known.get(edge, (0, 0.0))
        seen[name] = (int(n), float(total / n) if n else float("nan"))
    shares = {name: float(share) for name, share in zip(names, times / draws, strict=True)}
    now, best = (
        tally.named(tally.graph.pairs_of(tally.graph.edges(p))) for p in (built[0].ask(), built[0].recommend())
    )
    return Proposed(spec.name, now, best, shares, seen, draws)
