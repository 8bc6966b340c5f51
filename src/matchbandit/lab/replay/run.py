"""Replay: compare policies on means that fit a log of past results.

A log has no results of pairs that were not played, so it does not show what another policy would have earned.
Therefore means that fit the log are drawn (`truths`), the same for all policies, and each policy plays on them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from matchbandit.errors import MatchbanditError, check_int, unknown
from matchbandit.formatting import grouped
from matchbandit.graphs import Selection
from matchbandit.lab.replay.as_before import agreement, pair_frequencies
from matchbandit.lab.replay.log import Log, check_log, drift_p_value, read_log, reward_distribution
from matchbandit.lab.replay.result import AS_BEFORE, Replay
from matchbandit.lab.replay.truths import CONCENTRATIONS, Evidence, PossibleTruths, TruthPosterior
from matchbandit.past_results import PairTotals, PastResults
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.catalogue import check_horizon
from matchbandit.policies.catalogue import policy as named
from matchbandit.product_model import ProductFit, product_fit
from matchbandit.results.comparison import run_labels
from matchbandit.rewards import Floats, RewardDistribution
from matchbandit.simulation import compare
from matchbandit.simulation.play import Progress
from matchbandit.solvers.best import MAX_MATCHINGS, count_matchings

Start = Literal["warm", "cold", "both"]
Truth = Literal["auto", "product", "general"]
Policies = Iterable[str | PolicySpec | type[Policy]]

REPEATS = 2
"""Runs of each policy in each truth: at least two are needed to estimate the variance between runs."""
MIN_TRUTHS = 20
MAX_ITEMS, MAX_GENERAL_ITEMS = 300, 100
"""Items that are replayed, and items up to which means need not be products: then the best matching needs a solver.
Of larger logs the part that `largest_part` returns is replayed."""
CHECKPOINTS = 12
"""Rounds at which the regret is read, for the chart."""
MAX_SIMULATED_NULL_ITEMS = 40
"""Items up to which the p-value of the product model is simulated."""
DRIFT_LEVEL = 0.01
"""The p-value below which a note says that the results drift."""


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
    log. All of it rests on a model of rewards, which `assumption` names; the notes say what was left out.

    Parameters
    ----------
    results : PastResults or path
        The log: what `read_results` gives, or the CSV or Parquet file itself. Of more than 300 items those with the
        most results among each other are replayed, and a note says what was left out.
    policies : list
        Names, or `policy(name, …)` with options. All play the same: matchings if all can.
    horizon : int, optional
        Rounds from tomorrow on; by default as many as the log's results would fill.
    runs : int, default 200
        Of each policy: two in each of half as many truths.
    seed : int, default 0
        The root of all randomness.
    rewards : RewardDistribution, optional
        By default Bernoulli, which needs rewards of 0 and 1.
    selection : {"pair", "matching"}, optional
        What a round plays.
    start : {"warm", "cold", "both"}, default "warm"
        Do policies begin with the results of the log, or from nothing? Those that cannot begin cold.
    truth : {"auto", "product", "general"}, default "auto"
        Are means products of strengths? "auto" lets the log say how probable that is; "general" gives every pair a mean
        of its own, near its average where it was seen often, near its product elsewhere, for up to 100 items. Above
        100 items "auto" considers products only.
    workers, progress :
        As in `compare`.

    Returns
    -------
    Replay
        Printed, a ranking. `difference(one, other)` says by how much, `plot()` draws it.

    Examples
    --------
    >>> import matchbandit as mb
    >>> log = [("ann", "bob", 40, 32), ("ann", "cem", 40, 18), ("bob", "dan", 40, 9), ("cem", "dan", 40, 6)]
    >>> replayed = replay(mb.PastResults.from_rows(log), ["rank1-thompson", "cucb"], horizon=100, runs=40)
    >>> replayed.verdict
    'rank1-thompson earns most, by this log.'
    """
    for name, value, known in (("start", start, get_args(Start)), ("truth", truth, get_args(Truth))):
        if value not in known:
            raise unknown(name, value, known)
    specs, selection = resolve_policies(policies, selection)
    n_truths = check_int("runs", runs, minimum=MIN_TRUTHS * REPEATS, hint="Bands need that many.") // REPEATS
    whole = read_log(results)
    log = whole.largest_part(MAX_GENERAL_ITEMS if truth == "general" else MAX_ITEMS)
    distribution = reward_distribution(whole, rewards)
    check_log(log, whole)
    tally = log.tally
    graph, size = tally.graph, 1 if selection == "pair" else tally.graph.matching_size
    rounds = -(-log.n_results // size) if horizon is None else check_horizon(horizon)
    evidence = Evidence(graph, tally.pairs, tally.counts, tally.sums, distribution)
    can_be_general = truth != "product" and graph.n_items <= MAX_GENERAL_ITEMS
    posterior = TruthPosterior(evidence, CONCENTRATIONS[truth == "general" : None if can_be_general else 1])
    truths = PossibleTruths("log", {}, distribution, tuple(posterior.draw(n_truths, seed)), REPEATS)
    begun = _begin(specs, start, tally)
    comparison = compare(
        truths,
        [spec for _, spec, _ in begun],
        horizon=rounds,
        runs=n_truths * REPEATS,
        seed=seed,
        checkpoints=np.unique(np.linspace(1, rounds, min(rounds, CHECKPOINTS)).astype(np.int64)),
        workers=workers,
        progress=progress,
    )
    abouts = [replace(result.about, warm_start=None) for result in comparison]
    first = {number: about for about, (number, *_) in zip(abouts, begun, strict=True)}
    names = run_labels(list(first.values()))
    labels = [names[number] if begins == start else f"{names[number]} ({begins})" for number, _, begins in begun]
    fit = product_fit(log, rewards=distribution, simulate_null=graph.n_items <= MAX_SIMULATED_NULL_ITEMS)
    drift = drift_p_value(log, seed)
    frequencies = pair_frequencies(tally, selection, seed)
    cold = [spec.name for spec in specs if start != "cold" and not spec.kind.capabilities.warm_start]
    return Replay(
        results=log,
        horizon=rounds,
        selection=selection,
        truths=truths,
        comparison=comparison,
        labels=(*labels, AS_BEFORE),
        product=posterior.product if posterior.is_open else None,
        fit=fit,
        drift=drift,
        assumption=_assumption(posterior, truth, fit),
        notes=(*_notes(log, whole, distribution, drift, cold), _as_before_text(tally, selection, frequencies)),
        frequencies=frequencies,
    )


def resolve_policies(policies: Policies, wanted: Selection | None) -> tuple[list[PolicySpec], Selection]:
    """Return the policies, each with its options, and what all of them play in a round."""
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
    if wanted not in (None, *get_args(Selection)):
        raise unknown("selection", wanted, get_args(Selection))
    plays = [
        (spec.options["selection"],) if spec.options.get("selection") else spec.kind.capabilities.selections
        for spec in specs
    ]
    for selection in ("matching", "pair") if wanted is None else (wanted,):
        if all(selection in each for each in plays):
            return [_playing(spec, selection) for spec in specs], selection
    tasks = "; ".join(f"{spec!r} plays a {' or a '.join(each)}" for spec, each in zip(specs, plays, strict=True))
    same = "the same task" if wanted is None else f"the same task, here a {wanted} each round"
    raise MatchbanditError(f"policies are compared at {same}: {tasks}. Replay them apart.")


def _playing(spec: PolicySpec, selection: Selection) -> PolicySpec:
    has_choice = len(spec.kind.capabilities.selections) > 1
    return replace(spec, options={**spec.options, "selection": selection}) if has_choice else spec


def _begin(specs: Sequence[PolicySpec], start: Start, tally: PairTotals) -> list[tuple[int, PolicySpec, Start]]:
    """Return the policies as they begin, with their number: warm those that can, unless all are to begin cold."""
    begun: list[tuple[int, PolicySpec, Start]] = []
    for number, spec in enumerate(specs):
        is_warm = start != "cold" and spec.kind.capabilities.warm_start
        if not is_warm or start == "both":
            begun.append((number, spec, "cold"))
        if is_warm:
            begun.append((number, spec.warm_start(tally.pairs, tally.counts, tally.sums), "warm"))
    return begun


def _assumption(posterior: TruthPosterior, truth: Truth, fit: ProductFit) -> str:
    """The model of rewards, in two sentences."""
    test = f"product_fit: p = {fit.p_value:.2g}" if fit.degrees_of_freedom else "too few pairs for product_fit"
    if posterior.is_open:
        means = f"That all means are products of strengths has probability {posterior.product:.2f} by the log"
    elif truth == "general":
        means = "Every pair has a mean of its own, near its product where the log says little"
    else:
        means = "All means are taken to be products of strengths"
        if truth != "product":
            means += f"; among more than {MAX_GENERAL_ITEMS} items nothing else is considered"
    rewards = posterior.log.rewards.notation
    return f"{means} ({test}). Rewards are taken to be {rewards}, with means that do not change over the rounds."


def _notes(
    log: PastResults,
    whole: PastResults,
    distribution: RewardDistribution,
    drift: float | None,
    cold: Sequence[str],
) -> list[str]:
    """What was left out, and what the log does not show."""
    notes, graph = [], log.tally.graph
    if log is not whole:
        items = whole.tally.graph.n_items
        notes.append(
            f"Left out: {grouped(items - graph.n_items)} of {grouped(items)} items, those with the fewest results, and "
            f"{grouped(whole.n_results - log.n_results)} of {grouped(whole.n_results)} results with them."
        )
    if cold:
        begin = "begins" if len(cold) == 1 else "begin"
        notes.append(f"{', '.join(cold)} cannot begin with results from before, and {begin} cold.")
    successes = distribution.noise.trials * log.rewards  # of Gaussian ones 0
    if (np.abs(successes - np.rint(successes)) > 1e-6).any():
        notes.append(
            f"Some rewards lie between those that {distribution.name} ones can be, which vary more: the bands are "
            f"wider than need be. rewards=Gaussian(sd) may suit them better."
        )
    if unseen := graph.n_pairs - len(log.tally.pairs):
        notes.append(
            f"{unseen} of {graph.n_pairs} pairs never met: what they would earn comes from the other results of their "
            f"items."
        )
    if drift is not None and drift < DRIFT_LEVEL:
        notes.append(
            f"The results drift (p = {drift:.2g}), and a replay takes the means to stay what they were on average. "
            f"Replay the last part of the log, and consider the half_life of rank1-thompson."
        )
    return notes


def _as_before_text(tally: PairTotals, selection: Selection, frequencies: Floats) -> str:
    if selection == "pair":
        return f"{AS_BEFORE}: a pair each round, drawn by its share of the log's results."
    is_sample = count_matchings(tally.graph) > MAX_MATCHINGS
    which = f", one of {MAX_MATCHINGS} drawn by the log's counts" if is_sample else ""
    percent = round(100 * agreement(tally, frequencies))
    limit = "" if percent == 100 else f" as far as matchings allow ({percent} % of the pairs agree)"
    return f"{AS_BEFORE}: a random matching each round{which}, with pairs as frequent as in the log{limit}."
