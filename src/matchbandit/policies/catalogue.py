"""The policies by name, and how to build one."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError, unknown, whole_number
from matchbandit.graphs import Graph, graph_from
from matchbandit.policies.base import Policy, Setting
from matchbandit.policies.packing import unpack
from matchbandit.policies.pair.pair_elim import PairElim
from matchbandit.policies.pair.rank1_elim import Rank1Elim
from matchbandit.policies.pair.uts import Uts
from matchbandit.policies.uniform import Uniform
from matchbandit.rewards import Bernoulli, RewardLaw, law_from
from matchbandit.seeding import stream

CATALOGUE: dict[str, type[Policy]] = {
    "pair-elim": PairElim,
    "rank1-elim": Rank1Elim,
    "uts": Uts,
    "uniform": Uniform,
}

LONGEST_HORIZON = 10**18


def checked_horizon(horizon: int) -> int:
    """The horizon as an int; 2e6 is fine, 0 and 2.5 are not."""
    way_out = "It is the number of rounds to play."
    return whole_number("horizon", horizon, least=1, most=LONGEST_HORIZON, way_out=way_out)


@dataclass(frozen=True)
class PolicySpec:
    """A policy and its options, not yet built: what `simulate` takes."""

    kind: type[Policy]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The policy's name in the catalogue."""
        return self.kind.name

    def build(
        self,
        graph: Graph,
        *,
        rewards: RewardLaw | None = None,
        horizon: int | None = None,
        seed: int = 0,
        run: int = 0,
    ) -> Policy:
        """A policy ready to be asked, with the random stream of this seed and run."""
        if not isinstance(graph, Graph):
            raise MatchbanditError(f"a policy is built on bipartite(N, M) or monopartite(n); got {graph!r}.")
        setting = Setting(graph, rewards or Bernoulli(), None if horizon is None else checked_horizon(horizon))
        return self.kind(setting, stream(seed, "policy", self.name, run), **self.options)


def policy(name: str | type[Policy], **options: Any) -> PolicySpec:
    """The policy of this name, or your own class, with these options.

    >>> policy("pair-elim", growth=1.05).options
    {'growth': 1.05}
    """
    kind = name if isinstance(name, type) else CATALOGUE.get(name)
    if kind is None:
        raise unknown("policy", name, CATALOGUE)
    takes = kind.option_defaults()
    for option in options:
        if option not in takes:
            raise unknown(f"option of {kind.name}", option, takes)
    return PolicySpec(kind, {key: v.item() if isinstance(v, np.generic) else v for key, v in options.items()})


def restore(state: dict[str, Any]) -> Policy:
    """The policy that gave this state, at the point where it gave it.

    >>> from matchbandit.graphs import bipartite
    >>> p = policy("uts").build(bipartite(2, 3), seed=1)
    >>> p.tell(p.ask(), [1])
    >>> (restore(p.state()).ask() == p.ask()).all()
    np.True_
    """
    if not isinstance(state, dict) or not {"policy", "options", "setting"} <= state.keys():
        raise MatchbanditError("this is not the state of a policy: it must name policy, options and setting.")
    setting = state["setting"]
    fresh = policy(state["policy"], **unpack(state["options"])).build(
        graph_from(setting["graph"]), rewards=law_from(setting["rewards"]), horizon=setting["horizon"]
    )
    fresh.load(state)
    return fresh
