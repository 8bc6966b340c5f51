"""What a policy would propose next, had it seen a log; nothing is simulated."""

from dataclasses import dataclass
from html import escape

import numpy as np

from matchbandit.errors import check_int
from matchbandit.formatting import text_table
from matchbandit.graphs import Selection
from matchbandit.lab.replay.log import Log, read_log, reward_distribution
from matchbandit.lab.replay.run import resolve_policies
from matchbandit.policies import Policy, PolicySpec
from matchbandit.rewards import RewardDistribution

NamedPair = tuple[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class ProposedPairs:
    """What a policy would propose next, had it seen the log; by name."""

    policy: str
    pairs: list[NamedPair]
    """One proposal."""
    best: list[NamedPair]
    """Its best guess, without exploring."""
    shares: dict[NamedPair, float]
    """How often a pair is proposed, over many draws of the policy's randomness; the most frequent first."""
    seen: dict[NamedPair, tuple[int, float]]
    """Meetings in the log of these pairs, and their average reward; (0, NaN) for those that never met."""
    draws: int

    def __repr__(self) -> str:
        """A table of the pairs, the most frequent first."""
        rows = []
        for pair, share in self.shares.items():
            n, mean = self.seen[pair]
            marks = ["now"] * (pair in self.pairs) + ["best guess"] * (pair in self.best)
            average = "–" if n == 0 else f"{mean:.3g}"
            rows.append((" + ".join(pair), f"{100 * share:.0f} %", str(n), average, ", ".join(marks)))
        title = f"What {self.policy} proposes after the log, in {self.draws} draws of its randomness"
        return f"{title}\n{text_table(('pair', 'proposed', 'meetings', 'average', ''), rows)}"

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
) -> ProposedPairs:
    """Return what a policy would propose next, had it seen the log; nothing is simulated.

    Parameters
    ----------
    results : PastResults or path
        The log.
    policy : str or PolicySpec
        One that can begin with results from before.
    rewards, selection, seed :
        As in `replay`.
    horizon : int, optional
        For policies that need to know it.
    draws : int, default 100
        How often it is asked, each time with other random numbers: a pair that it always proposes is not exploration.

    Returns
    -------
    ProposedPairs

    Examples
    --------
    >>> import matchbandit as mb
    >>> log = [("ann", "bob", 20, 16), ("ann", "cem", 20, 2), ("bob", "cem", 20, 2), ("cem", "dan", 20, 1)]
    >>> propose(mb.PastResults.from_rows(log), "rank1-thompson").best
    [('ann', 'bob'), ('cem', 'dan')]
    """
    log = read_log(results)
    (spec,), _ = resolve_policies([policy], selection)
    distribution, tally = reward_distribution(log, rewards), log.tally
    spec = spec.warm_start(tally.pairs, tally.counts, tally.sums)
    draws = check_int("draws", draws, minimum=1)
    policies = [spec.build(tally.graph, rewards=distribution, horizon=horizon, seed=seed, run=k) for k in range(draws)]
    asked = [tally.graph.edges(each.ask()) for each in policies]
    edges, times = np.unique(np.concatenate(asked), return_counts=True)
    order = np.argsort(-times, kind="stable")
    names = tally.named(tally.graph.pairs_of(edges[order]))
    totals = zip(tally.counts.tolist(), (tally.sums / tally.counts).tolist(), strict=True)
    seen = dict(zip(tally.graph.edges(tally.pairs).tolist(), totals, strict=True))
    return ProposedPairs(
        policy=spec.name,
        pairs=tally.named(tally.graph.pairs_of(asked[0])),
        best=tally.named(tally.graph.pairs_of(tally.graph.edges(policies[0].recommend()))),
        shares=dict(zip(names, (times[order] / draws).tolist(), strict=True)),
        seen={name: seen.get(edge, (0, np.nan)) for name, edge in zip(names, edges[order].tolist(), strict=True)},
        draws=draws,
    )
