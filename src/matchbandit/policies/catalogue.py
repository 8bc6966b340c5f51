"""The policies by name, and how to build one."""

from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.errors import MatchbanditError, check_int, unknown
from matchbandit.graphs import Graph, graph_from
from matchbandit.policies.base import Policy, Setting, refuse_damage, refuse_if_too_large_for
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.policies.matching.adaptive_matching import AdaptiveMatching
from matchbandit.policies.matching.aescb import Aescb
from matchbandit.policies.matching.clucb import Clucb
from matchbandit.policies.matching.cts_beta import CtsBeta
from matchbandit.policies.matching.cts_gaussian import CtsGaussian
from matchbandit.policies.matching.cucb import Cucb
from matchbandit.policies.matching.escb import Escb
from matchbandit.policies.matching.exploration_first import ExplorationFirst
from matchbandit.policies.matching.grab import Grab
from matchbandit.policies.matching.matching_id import MatchingId
from matchbandit.policies.matching.ols_ucb import OlsUcb
from matchbandit.policies.matching.pb_mhb import PbMhb
from matchbandit.policies.matching.simple_adaptive_matching import SimpleAdaptiveMatching
from matchbandit.policies.options import check_options
from matchbandit.policies.pair.kl_ucb import KlUcb
from matchbandit.policies.pair.pair_elim import PairElim
from matchbandit.policies.pair.pair_elim_mono import PairElimMono
from matchbandit.policies.pair.pair_select import PairSelect
from matchbandit.policies.pair.rank1_elim import Rank1Elim
from matchbandit.policies.pair.rank1_elim_kl import Rank1ElimKL
from matchbandit.policies.pair.track_and_stop import TrackAndStop
from matchbandit.policies.pair.uts import Uts
from matchbandit.policies.rank1_certify import Rank1Certify
from matchbandit.policies.rank1_thompson import Rank1Thompson
from matchbandit.policies.rank1_track_and_stop import Rank1TrackAndStop
from matchbandit.policies.sequential_halving import SequentialHalving
from matchbandit.policies.serialization import unpack
from matchbandit.policies.uniform import Uniform
from matchbandit.rewards import RewardDistribution, check_rewards, rewards_from
from matchbandit.seeding import stream
from matchbandit.user_code import import_name, is_user_defined, load_object

CATALOGUE: dict[str, type[Policy]] = {
    "pair-elim": PairElim,
    "pair-elim-mono": PairElimMono,
    "pair-select": PairSelect,
    "matching-id": MatchingId,
    "simple-adaptive-matching": SimpleAdaptiveMatching,
    "adaptive-matching": AdaptiveMatching,
    "exploration-first": ExplorationFirst,
    "rank1-elim": Rank1Elim,
    "rank1-elim-kl": Rank1ElimKL,
    "uts": Uts,
    "kl-ucb": KlUcb,
    "track-and-stop": TrackAndStop,
    "cucb": Cucb,
    "cts-beta": CtsBeta,
    "cts-gaussian": CtsGaussian,
    "clucb": Clucb,
    "escb": Escb,
    "aescb": Aescb,
    "ols-ucb": OlsUcb,
    "grab": Grab,
    "pb-mhb": PbMhb,
    "rank1-certify": Rank1Certify,
    "rank1-thompson": Rank1Thompson,
    "rank1-track-and-stop": Rank1TrackAndStop,
    "sequential-halving": SequentialHalving,
    "uniform": Uniform,
}

MAX_HORIZON = 10**18


def check_horizon(horizon: int, *, name: str = "horizon") -> int:
    """The horizon as an int; 2e6 is fine, 0 and 2.5 are not."""
    hint = "It is the number of rounds to play."
    return check_int(name, horizon, minimum=1, maximum=MAX_HORIZON, hint=hint)


@dataclass(frozen=True)
class PolicySpec:
    """A policy and its options, not yet built: what `simulate` takes."""

    kind: type[Policy]
    options: dict[str, Any] = field(default_factory=dict)
    logged: tuple[tuple[Any, Any, Any], ...] = ()
    """Pairs, counts and sums to begin with; more than once if they come from several places."""

    def __repr__(self) -> str:
        """As it was named."""
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"policy({self.name!r}{options})" + (".warm_start(…)" if self.logged else "")

    def __hash__(self) -> int:
        """By class and options, which may be lists."""
        return hash((self.kind, repr(sorted(self.options.items()))))

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    @property
    def name(self) -> str:
        """The policy's name in the catalogue."""
        return self.kind.name

    def build(
        self,
        graph: Graph,
        *,
        rewards: RewardDistribution | None = None,
        horizon: int | None = None,
        seed: int = 0,
        run: int = 0,
    ) -> Policy:
        """A policy ready to be asked, with the random stream of this seed and run."""
        _check_graph(self.kind, graph)
        setting = Setting(graph, check_rewards(rewards), None if horizon is None else check_horizon(horizon))
        built = self.kind(setting, stream(seed, "policy", self.name, run), **self.options)
        for log in self.logged:
            built.warm_start(*log)
        built.settle()
        return built

    def warm_start(self, pairs: ArrayLike, counts: ArrayLike, sums: ArrayLike) -> "PolicySpec":
        """The same policy, to begin with results from before: plays of each pair, and what they paid in total.

        >>> from matchbandit.graphs import bipartite
        >>> seen = policy("kl-ucb").warm_start([(0, 0), (0, 1)], counts=[10, 10], sums=[9, 1])
        >>> seen.build(bipartite(1, 2)).recommend().tolist()
        [[0, 0]]
        """
        self.kind.refuse_warm_start()
        return replace(self, logged=(*self.logged, (pairs, counts, sums)))


def _check_graph(kind: type[Policy], graph: Graph) -> None:
    if not isinstance(graph, Graph):
        raise MatchbanditError(f"a policy is built on bipartite(N, M) or monopartite(n); got {graph!r}.")
    refuse_if_too_large_for(kind, graph)


def policy(name: str | type[Policy], /, **options: Any) -> PolicySpec:
    """A policy with options, to be simulated or built.

    Parameters
    ----------
    name : str or type
        The name in the catalogue, or a user-defined class, or its name as `module:Class`.
    **options
        Options of the policy; see `matchbandit policies NAME`.

    Returns
    -------
    PolicySpec
        What `simulate`, `identify` and `compare` take; `build` makes a live policy of it.

    Examples
    --------
    >>> policy("pair-elim", growth=1.05).options
    {'growth': 1.05}
    """
    if isinstance(name, Policy):
        raise MatchbanditError(f"this {name.name} is built already; give its name, or policy(name), instead.")
    kind = _class_of(name)
    takes = kind.option_defaults()
    for option in options:
        if option not in takes:
            raise unknown_option(kind, option)
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}
    return PolicySpec(kind, check_options(kind, values))


def unknown_option(kind: type[Policy], option: str) -> MatchbanditError:
    """The error for an option that a policy does not have; for epsilon, delta and budget it says who has it."""
    if option == "epsilon":
        supporters = _supporters("supports_epsilon")
        return MatchbanditError(f"{kind.name} does not support epsilon. {supporters} Leave epsilon out.")
    if option == "delta" and kind.capabilities.fixed_budget:
        return MatchbanditError(
            f"{kind.name} has no delta: it identifies within a fixed budget. Give budget= (--budget) instead."
        )
    if option == "delta" and "identification" not in kind.capabilities.goals:
        return MatchbanditError(
            f"{kind.name} has no delta: it is for regret, not identification. Leave delta out and use simulate() "
            f"(matchbandit simulate), or use a policy that identifies, such as rank1-certify."
        )
    if option == "budget" and kind.capabilities.fixed_budget:
        return MatchbanditError(
            f"budget is not an option of {kind.name}: give it to identify, as budget= (--budget), or to build, as "
            f"horizon=."
        )
    if option == "budget":
        return unknown_budget(kind)
    return unknown(f"option of {kind.name}", option, kind.option_defaults())


def unknown_budget(kind: type[Policy]) -> MatchbanditError:
    """The error for a budget that is given to a policy without one."""
    goals = kind.capabilities.goals
    instead = "Give delta= (--delta) instead." if "identification" in goals else "It is for regret: use simulate."
    return MatchbanditError(f"{kind.name} does not support a budget. {_supporters('fixed_budget')} {instead}")


def _supporters(capability: str) -> str:
    """A sentence that names the policies with this capability."""
    names = [name for name, kind in CATALOGUE.items() if getattr(kind.capabilities, capability)]
    return f"Policies that do: {', '.join(names) or 'none'}."


def _class_of(name: str | type[Policy]) -> type[Policy]:
    """The class that is given or named, if it is a policy's."""
    own = is_user_defined(name)
    kind: Any = load_object(str(name), "a policy") if own else CATALOGUE.get(name) if isinstance(name, str) else name
    if kind is None or not (own or isinstance(kind, type)):
        raise unknown("policy", name, CATALOGUE)
    if not isinstance(kind, type) or not issubclass(kind, Policy):
        what = name if own else kind.__name__
        raise MatchbanditError(f"{what} is not a policy. Subclass PlannedPolicy or RoundPolicy.")
    nameless = [part for part in ("name", "capabilities") if not hasattr(kind, part)]
    if nameless:
        raise MatchbanditError(f"the policy {kind.__name__} does not say its {nameless[0]}. Give the class one.")
    return kind


def counts_policy(
    spec: PolicySpec | str | type[CountsPolicy], graph: Graph, rewards: RewardDistribution | None = None
) -> CountsPolicy:
    """A policy that only decides, from results that the caller adds or keeps.

    Parameters
    ----------
    spec : PolicySpec, str or type
        The policy; one that decides from counts alone.
    graph : Graph
        The items, from `bipartite` or `monopartite`. Of an odd number of players one sits out.
    rewards : RewardDistribution, optional
        The distribution of rewards; Bernoulli by default.

    Returns
    -------
    CountsPolicy
        A policy for `add_results`, `set_counts` and `decide`; its own random stream is never used.

    Examples
    --------
    >>> import numpy as np
    >>> from matchbandit.graphs import monopartite
    >>> club = counts_policy("rank1-thompson", monopartite(4))
    >>> club.add_results([(0, 1), (2, 3)], [1, 0], np.random.default_rng(1))
    >>> club.decide(np.random.default_rng(2)).shape
    (2, 2)
    """
    chosen = spec if isinstance(spec, PolicySpec) else policy(spec)
    if not (chosen.kind.decides_from_counts and issubclass(chosen.kind, CountsPolicy)):
        names = [name for name, kind in CATALOGUE.items() if kind.decides_from_counts]
        raise MatchbanditError(
            f"{chosen.name} remembers more than counts and sums, and needs whole rounds: ask() and tell(). "
            f"{', '.join(names[:-1])} and {names[-1]} decide from counts alone."
        )
    _check_graph(chosen.kind, graph)
    setting = Setting(graph, check_rewards(rewards), None, counts_only=True)
    return chosen.kind(setting, stream(0, "decides"), **chosen.options)


def name_to_find(kind: type[Policy]) -> str:
    """The name by which `policy` finds this class: that of the catalogue, or `module:Class`.

    >>> name_to_find(Uts)
    'uts'
    """
    if CATALOGUE.get(kind.name) is kind:
        return kind.name
    return import_name(kind, "the policy")


def restore(state: dict[str, Any]) -> Policy:
    """Continue a policy of the catalogue from a stored state.

    Parameters
    ----------
    state : dict
        What `Policy.state()` returned.

    Returns
    -------
    Policy
        The policy at the point where it returned the state.

    Examples
    --------
    >>> from matchbandit.graphs import bipartite
    >>> p = policy("uts").build(bipartite(2, 3), seed=1)
    >>> p.tell(p.ask(), [1])
    >>> (restore(p.state()).ask() == p.ask()).all()
    np.True_
    """
    refuse_damage(state)
    kind = CATALOGUE.get(state["policy"])
    if kind is None or kind.__qualname__ != state["class"]:
        raise MatchbanditError(
            f"the policy {state['policy']!r} of the class {state['class']} is not in the catalogue. Build your own "
            f"with policy(YourClass, …).build(…), then load(state)."
        )
    setting = state["setting"]
    fresh = policy(kind, **unpack(state["options"])).build(
        graph_from(setting["graph"]), rewards=rewards_from(setting["rewards"]), horizon=setting["horizon"]
    )
    fresh.load(state)
    return fresh
