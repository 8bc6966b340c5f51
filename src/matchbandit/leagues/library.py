"""What leagues use of the library: policies that decide from counts, rewards, the model of strengths, logs of results.

The rest of this package reaches the library through these functions only. They import what they need when they are
called, so that a command which only records outcomes loads neither numba nor scipy.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import unknown
from matchbandit.leagues.errors import LeagueError, errors_as
from matchbandit.leagues.records import PairResult

if TYPE_CHECKING:
    from matchbandit.allowed import Allowed
    from matchbandit.graphs import Edges, Graph, Pairs
    from matchbandit.past_results import PastResults
    from matchbandit.policies.capabilities import Capabilities
    from matchbandit.policies.counts_policy import CountsPolicy
    from matchbandit.product_model import ProductFit
    from matchbandit.rewards import Counts, Floats, RewardDistribution
    from matchbandit.strengths import Posterior

MIN_HALF_LIFE = 0.001
"""Proposals; with less, only the last one counts anyway, and weights leave the range of floats."""


# Rewards and random streams -------------------------------------------------------------------------------------------


@errors_as("bad-value")
def parse_rewards(rewards: "str | RewardDistribution") -> "RewardDistribution":
    """The distribution of rewards, which may be given in words, such as "bernoulli" or "gaussian:0.3"."""
    from matchbandit.rewards import RewardDistribution, parse_rewards

    return rewards if isinstance(rewards, RewardDistribution) else parse_rewards(rewards)


def random_stream(*names: int | str) -> np.random.Generator:
    """The random stream of these names."""
    from matchbandit.seeding import stream

    return stream(*names)  # type: ignore[arg-type]


# Policies -------------------------------------------------------------------------------------------------------------


def policy_class(name: str) -> Any:
    """The class of a policy: what it can do, and whether its values are random draws (`draws`)."""
    from matchbandit.policies.catalogue import CATALOGUE

    return CATALOGUE.get(name)


def capabilities(policy: str) -> "Capabilities":
    """What a policy can do."""
    can: Capabilities = policy_class(policy).capabilities
    return can


def policy_names() -> list[str]:
    """The policies that a league can use."""
    from matchbandit.policies.catalogue import CATALOGUE

    return [name for name, kind in CATALOGUE.items() if kind.decides_from_counts]


def check_policy(
    kind: str, rewards: "RewardDistribution", name: object, options: object, selection: object
) -> dict[str, Any]:
    """Policy, options and selection as they are stored; built once on a few items, to see whether they fit."""
    from matchbandit.policies.catalogue import CATALOGUE

    if not isinstance(name, str) or name not in CATALOGUE:
        raise LeagueError(
            "bad-value", f"{unknown('policy', name, CATALOGUE)} A league uses the policies of the catalogue."
        )
    can = CATALOGUE[name].capabilities
    if not CATALOGUE[name].decides_from_counts:
        problem = f"{name} plays whole rounds, and in a league outcomes may be late or missing."
        raise LeagueError("not-supported", f"{problem} rank1-thompson can; `matchbandit policies` lists them all.")
    if can.fixed_budget:
        problem = f"{name} needs a fixed budget of rounds, and a league has none."
        raise LeagueError("not-supported", f"{problem} Use another policy.")
    if options is not None and not isinstance(options, Mapping):
        raise LeagueError("bad-value", f"options must be a mapping, such as {{'half_life': 100}}; got {options!r}.")
    values = {
        str(key): value.item() if isinstance(value, np.generic) else value
        for key, value in (options or {}).items()
        if value is not None
    }
    if selection is None:
        selection = values.pop("selection", "matching" if "matching" in can.selections else can.selections[0])
    if selection not in can.selections:
        raise LeagueError("bad-value", str(unknown(f"selection of {name}", selection, can.selections)))
    settings = {"policy": name, "options": values, "selection": selection}
    graph = new_graph(4, None) if kind == "players" else new_graph(2, 2)
    with errors_as("not-supported"):
        horizon = values.get("horizon", 1) if can.horizon else None
        _specification(settings).build(graph, rewards=rewards, horizon=horizon)
    if can.horizon and "horizon" not in values and CATALOGUE[name].goal_with(values) == "regret":
        raise LeagueError(
            "not-supported",
            f"{name} needs to know how many proposals are to come. Give them as an option: {{'horizon': 1000}}.",
        )
    if values.get("half_life", 1.0) < MIN_HALF_LIFE:
        raise LeagueError(
            "not-supported", f"half_life must be at least {MIN_HALF_LIFE:g} proposals; got {values['half_life']!r}."
        )
    for option, value in values.items():
        if not isinstance(value, str | bool | int | float):
            raise LeagueError("bad-value", f"the option {option} must be a number or a text; got {value!r}.")
    return settings


def build_policy(settings: Mapping[str, Any], graph: "Graph", rewards: "RewardDistribution") -> "CountsPolicy":
    """The policy of a league, without results."""
    from matchbandit.policies.catalogue import counts_policy

    return counts_policy(_specification(settings), graph, rewards)


def _specification(settings: Mapping[str, Any]) -> Any:
    """The policy in stored settings; the horizon that some need is among its options there."""
    from matchbandit.policies.catalogue import policy

    can, options = capabilities(settings["policy"]), dict(settings["options"])
    if can.horizon:
        options.pop("horizon", None)
    if len(can.selections) > 1:
        options["selection"] = settings["selection"]
    return policy(settings["policy"], **options)


def allowed_pairs(graph: "Graph", present: "NDArray[np.bool_] | None", forbidden: "Edges") -> "Allowed":
    """The pairs of a graph without those of absent vertices, and without forbidden ones."""
    from matchbandit.allowed import Allowed

    return Allowed(graph, present=present, forbidden=forbidden)


def best_pairs(allowed: "Allowed", strengths: "Floats", selection: Any) -> "Pairs":
    """The best pair or matching of those allowed, were these the strengths."""
    from matchbandit.policies.decision import by_products

    return by_products(allowed, strengths, selection).pairs


def first_to_sit_out(n: int, forbidden: "Pairs") -> int:
    """The first of an odd number of players without whom as many pairs are possible as with them.

    A dummy may meet everyone: of the largest matchings, the heaviest is the one in which it meets the first.
    """
    from matchbandit.solvers.constrained import heaviest_allowed

    graph = new_graph(n + 1, None)
    with_dummy = graph.edges([(k, n) for k in range(n)])
    weights = np.zeros(graph.n_pairs)
    weights[with_dummy] = range(n, 0, -1)
    matching = heaviest_allowed(allowed_pairs(graph, None, graph.edges(forbidden)), weights).edges
    return int(graph.pairs_of(np.intersect1d(matching, with_dummy))[0, 0])


class RewardEncoder:
    """How a policy counts results: cts-beta flips a coin for rewards in (0, 1), rank1-thompson clips outliers."""

    def __init__(self, policy: str, rewards: "RewardDistribution", seed: int, name: str) -> None:
        """For a policy in the league with this seed and name of its random streams."""
        self._rewards, self._seed, self._name = rewards, seed, name
        self._rounds_totals = policy == "cts-beta"
        self._flips = rewards.low >= 0.0
        """Coins are flipped for rewards in [0, 1] only; others need no stream of their own."""
        self._policy: CountsPolicy | None = None
        """The policy, if it encodes rewards at all."""
        if not (self._flips and policy == "rank1-thompson"):
            from matchbandit.policies.catalogue import counts_policy
            from matchbandit.policies.counts_policy import CountsPolicy as Base

            if getattr(policy_class(policy), "encode_rewards", None) not in (None, Base.encode_rewards):
                self._policy = counts_policy(policy, new_graph(2, None), rewards)

    def credits(self, rewards: "Floats", numbers: "Counts", a: "Counts", b: "Counts") -> "Floats":
        """What results add to the sums of the policy; each has a random stream of its own, so it is reproducible."""
        if self._policy is None:
            return rewards
        if not self._flips:
            return self._policy.encode_rewards(rewards, random_stream(self._seed, "booking", self._name))
        credits = rewards.copy()
        for k in np.flatnonzero((rewards != 0.0) & (rewards != 1.0)).tolist():
            rng = random_stream(self._seed, "booking", self._name, int(numbers[k]), int(a[k]), int(b[k]))
            credits[k] = self._policy.encode_rewards(rewards[k : k + 1], rng)[0]
        return credits

    def credit_total(self, count: int, total: float) -> float:
        """What the total of `count` earlier results adds."""
        if self._rounds_totals:
            return float(np.rint(total))
        if self._policy is None:
            return total
        return float(clip_outliers(self._rewards, np.array([count]), np.array([total]))[0])


# Graphs and the model of strengths ------------------------------------------------------------------------------------


def new_graph(rows: int, columns: int | None) -> "Graph":
    """The graph of so many players, or of rows and columns."""
    from matchbandit.graphs import bipartite, monopartite

    return monopartite(rows) if columns is None else bipartite(rows, columns)


def max_pairs() -> int:
    """The most pairs of a graph whose policy keeps a number for each."""
    from matchbandit.graphs import MAX_PAIRS

    return MAX_PAIRS


def clip_outliers(rewards: "RewardDistribution", counts: "Counts", totals: "Floats") -> "Floats":
    """Totals of rewards without those that the distribution makes practically impossible."""
    from matchbandit.strengths import clip_outliers

    return np.asarray(clip_outliers(rewards.noise, counts, totals))


def fit_strengths(
    graph: "Graph", rewards: "RewardDistribution", edges: "Edges", plays: "Floats", sums: "Floats"
) -> "Posterior":
    """The posterior of the strengths, given the results of each edge; edges are sorted."""
    from matchbandit.strengths import Posterior

    return Posterior.fit(graph, rewards, edges, plays, sums)


def total_interval(posterior: "Posterior", ends: "Pairs", level: float) -> tuple[float, float, float]:
    """The expected total of these pairs of vertices, and the ends of its interval.

    The logarithm of the total is taken to be normal; its variance follows from that of the log strengths by the delta
    method.
    """
    from statistics import NormalDist

    from matchbandit.strengths import ACCURACY, solve_sparse

    means = posterior.pair_means(ends)
    total = float(means.sum())
    if not total > 0.0:
        return total, total, total
    gradient = np.bincount(ends.ravel(), np.repeat(means / total, 2), minlength=len(posterior.logs)).astype(np.float64)
    if posterior.factor is not None:
        variance = float(gradient @ posterior.covariance @ gradient)
    else:
        variance = float(gradient @ solve_sparse(posterior.model, posterior.system, gradient, ACCURACY, True))
    reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * max(variance, 0.0) ** 0.5
    return total, total * float(np.exp(-reach)), min(total * float(np.exp(reach)), float(len(ends)))


def fit_products(
    graph: "Graph", rewards: "RewardDistribution", edges: "Edges", counts: "Counts", totals: "Floats"
) -> "tuple[ProductFit, float]":
    """The test whether the means are products of strengths, and the p-value below which that is rejected."""
    from matchbandit.product_model import WARNING_LEVEL, product_fit

    pairs = graph.pairs_of(edges)
    fit = product_fit(graph, pairs, counts=counts, sums=totals, rewards=rewards, simulate_null=False)
    return fit, WARNING_LEVEL


# Logs -----------------------------------------------------------------------------------------------------------------


@errors_as("bad-value")
def read_past_results(past: Any, kind: Any = None, rewards: "RewardDistribution | None" = None) -> "PastResults":
    """Earlier results of "players" or "sides": a file, a table of some library, or rows (name, name, reward).

    The results of another league, too: `past=league.results()`. With `rewards`, impossible ones are refused row by
    row: the sum of a pair may look possible. Errors name the row.
    """
    from os import PathLike

    from matchbandit.past_results import PastResults, is_table, read_results

    if isinstance(past, str | PathLike) or is_table(past):
        past = read_results(past, kind=kind)
    elif not isinstance(past, PastResults):
        rows = ((*row.names, row.count, row.total) if isinstance(row, PairResult) else row for row in past)
        past = PastResults.from_rows(rows, kind=kind or "players")
    if rewards is not None:
        with errors_as("reward-outside"):
            past.refuse_outside(rewards)
    results: PastResults = past
    return results


def max_plays() -> int:
    """The most results of a pair that can be imported at once."""
    from matchbandit.past_results import MAX_PLAYS

    return MAX_PLAYS
