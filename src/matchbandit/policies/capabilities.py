"""What a policy needs: one record for each policy, and one question that it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.graphs import Graph, Selection
from matchbandit.rewards import RewardDistribution

Goal = Literal["regret", "identification"]


@dataclass(frozen=True)
class TheoremOption:
    """The values of one option for which a policy's upper bound is proved."""

    option: str
    values: tuple[object, ...] = ()
    """These values, or,"""
    maximum: float | None = None
    """if this is given, every number up to it."""
    goals: tuple[Goal, ...] = ("regret", "identification")
    """The goals whose theorem says so."""

    def covers(self, value: object) -> bool:
        """Whether the theorem is about this value."""
        if self.maximum is None:
            return value in self.values
        return isinstance(value, int | float) and value <= self.maximum


_NAMES: dict[str, tuple[str, ...]] = {
    "selections": ("pair", "matching"),
    "graphs": ("bipartite", "monopartite"),
    "goals": ("regret", "identification"),
    "proved": ("regret", "identification"),
    "byes": ("regret", "identification"),
}


@dataclass(frozen=True)
class Capabilities:
    """On what a policy can be built, what it is for, and what it can do besides."""

    selections: tuple[Selection, ...]
    """What a round can play; with more than one, `selection` is an option of the policy."""
    graphs: tuple[str, ...] = ("bipartite", "monopartite")
    answers: Selection | None = None
    """What it recommends, if that is not what it plays."""
    goals: tuple[Goal, ...] = ("regret",)
    proved: tuple[Goal, ...] = ()
    """The goals for which it has a proof."""
    theorem_options: tuple[TheoremOption, ...] = ()
    """The options that its upper bounds are restricted to; other options do not matter to them."""
    unit_rewards: bool = False
    """It needs rewards in [0, 1]."""
    horizon: bool = False
    """It needs to know its horizon when it is for regret."""
    fixed_budget: bool = False
    """It identifies within a number of rounds that it knows beforehand, its horizon; it has no `delta`."""
    supports_epsilon: bool = False
    """It identifies an answer worth at least (1 − ε) × the optimum; ε is its option `epsilon`."""
    byes: tuple[Goal, ...] = ()
    """The goals for which it plays matchings of an odd number of players."""
    warm_start: bool = False
    """It can begin with results from before, however they were sampled."""
    assumes_product: bool = False
    """It relies on means that are products of strengths; on others it may settle on a wrong answer."""
    constrained: bool = False
    """Its decisions can be told which pairs are allowed."""
    clusters: bool = False
    """It keeps clusters of players, which split."""
    eliminates: bool = False
    """It eliminates items."""
    any_size: bool = False
    """It keeps only the pairs that were played, on graphs whose pairs cannot be listed."""
    max_items: int | None = None
    """The most items that it supports; None: no limit."""
    max_matchings: int | None = None
    """The most matchings that the graph may have; None: no limit."""
    compiled_max_items: int | None = None
    """The most items for which rounds run in the compiled loop; None: no limit."""
    compiled_max_players: int | None = None
    """The most players, of a monopartite graph, for which rounds run in the compiled loop; None: no limit."""

    def __post_init__(self) -> None:
        """Refuse names that do not exist, and text where a tuple of names is needed."""
        for field, names in _NAMES.items():
            values = getattr(self, field)
            if not isinstance(values, tuple):
                raise MatchbanditError(f"{field} is a tuple of names, such as {names[:1]}; got {values!r}.")
            for value in values:
                if value not in names:
                    raise unknown(f"name in {field}", value, names)

    def is_covered(self, goal: Goal, options: Mapping[str, object]) -> bool:
        """Whether the upper bound for this goal, if there is one, is proved for these options."""
        restrictions = [each for each in self.theorem_options if goal in each.goals and each.option in options]
        return all(each.covers(options[each.option]) for each in restrictions)

    def epsilon_in(self, options: Mapping[str, Any]) -> float | None:
        """ε among these options; None where there is none, or where `epsilon` is some other option."""
        return options.get("epsilon") if self.supports_epsilon else None

    def incompatibility(
        self,
        name: str,
        graph: Graph,
        rewards: RewardDistribution,
        horizon: int | None,
        *,
        selection: Selection,
        goal: Goal,
        counts_only: bool = False,
    ) -> str | None:
        """Why the policy of this name cannot be built here, and the way out; None if it can."""
        if graph.kind not in self.graphs:
            return (
                f"{name} plays on {' and '.join(self.graphs)} graphs; got {graph}. "
                f"`matchbandit policies` lists what fits."
            )
        odd = graph.has_bye and not counts_only
        if odd and goal not in self.byes and (self.answers or selection) == "matching":
            ways = "Leave one out, or add one."
            if goal == "regret":
                ways = "Leave one out, add one, or take rank1-thompson, which lets one sit out in turn."
            if "pair" in self.selections and not self.answers:
                ways = f"{ways[:-1]}; or take selection='pair'."
            return f"{name} needs an even number of players; got {graph.n_items}. {ways}"
        if self.max_items is not None and graph.n_items > self.max_items:
            larger = "rank1-certify" if self.goals == ("identification",) else "rank1-thompson"
            return f"{name} supports at most {self.max_items} items; got {graph.n_items}. Use {larger} for more."
        if self.unit_rewards and (rewards.low < 0 or rewards.high > 1):
            return (
                f"{name} needs rewards in [0, 1]; {rewards.name} rewards leave it. "
                f"Take rewards that are bernoulli or binomial."
            )
        if horizon is None and (self.fixed_budget or (self.horizon and goal == "regret")):
            what = "budget, as in identify(…, budget=…) or --budget" if self.fixed_budget else "horizon"
            return f"{name} needs to know its {what}. Build it with horizon=, the number of rounds to come."
        return None
