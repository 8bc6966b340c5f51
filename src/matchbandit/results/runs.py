"""What comes of a simulation."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import MAX_COUNTED_PAIRS, Edges, Pairs, graph_from
from matchbandit.policies.explanation import Elimination
from matchbandit.results.about import RunInfo, as_about, in_html, one_line_repr, spread
from matchbandit.results.result import Result
from matchbandit.rewards import Counts, Floats

Split = tuple[int, list[list[int]]]
"""A round, and the clusters from then on."""
PlayedEdges = list[tuple[Edges, Counts]]
"""For each run the edges that it played, sorted, and how often."""


class Played(NamedTuple):
    """The pairs that a run played, each once, how often, and what they paid."""

    pairs: Pairs
    counts: Counts
    sums: Floats | None = None
    """The sum of the rewards of each; None if the runs were saved by a version before 0.8."""


def _nothing() -> Counts:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Runs(Result):
    """What came of a simulation: the regret of every run at every checkpoint, and plays and rewards of each pair."""

    about: RunInfo
    """What was simulated: problem, policy, options, horizon, seed, engine, …; a dict becomes one."""
    rounds: Counts
    """The checkpoints, shape (C,)."""
    regret: Floats
    """The regret of each run at each checkpoint, shape (runs, C)."""
    counted: NDArray[np.int64] | PlayedEdges
    """Plays at the end: of each pair, shape (runs, pairs); of large graphs, for each run of what it played."""
    ended: Counts = field(default_factory=_nothing)
    """The round at which each run ended, shape (runs,): the horizon, unless something stopped it."""
    splits: list[list[Split]] = field(default_factory=list)
    """For each run of a policy that keeps clusters: after which rounds some split, and the clusters from then on."""
    eliminations: list[list[Elimination]] = field(default_factory=list)
    """For each run of a policy that eliminates: who left when, on which average, by whom."""
    reward_sums: Floats | list[Floats] | None = None
    """Sums of the rewards at the end, in the places of `counted`; None if saved by a version before 0.8."""

    def __post_init__(self) -> None:
        """Unless told otherwise all runs went to the horizon, had no clusters and eliminated nobody."""
        object.__setattr__(self, "about", as_about(self.about))
        if not len(self.ended):
            object.__setattr__(self, "ended", np.full(len(self.regret), self.rounds[-1]))
        for part in ("splits", "eliminations"):
            if not getattr(self, part):
                object.__setattr__(self, part, [[] for _ in self.regret])

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Pickles of version 0.5 and before have another name for what is counted."""
        named = {"counted" if key == "plays_by_edge" else key: value for key, value in state.items()}
        self.__dict__.update(named)

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self.regret)

    def __repr__(self) -> str:
        """Policy, problem and outcome in a line."""
        return one_line_repr("Runs", self.about.title, self._lines())

    def _repr_html_(self) -> str:
        return in_html(self.about.title, self._lines())

    def _lines(self) -> dict[str, str]:
        lines = {"runs": str(len(self)), "rounds": str(self.rounds[-1]), "final regret": spread(self.final)}
        return lines | ({"of runs": str(self.about.interrupted_of)} if self.about.interrupted_of else {})

    @property
    def played(self) -> list[Played]:
        """For each run the pairs that it played, in the order of their edges, how often, and what they paid."""
        graph = graph_from(self.about["graph"])
        sums_of = [None] * len(self) if self.reward_sums is None else self.reward_sums
        if isinstance(self.counted, list):
            runs = zip(self.counted, sums_of, strict=True)
            return [Played(graph.pairs_of(edges), counts, sums) for (edges, counts), sums in runs]
        made = []
        for plays, sums in zip(self.counted, sums_of, strict=True):
            edges = np.flatnonzero(plays)
            made.append(Played(graph.pairs_of(edges), plays[edges], None if sums is None else sums[edges]))
        return made

    @property
    def plays_by_edge(self) -> NDArray[np.int64]:
        """Plays of each pair at the end, shape (runs, pairs); refused for graphs with more than 10^6 pairs."""
        if isinstance(self.counted, list):
            raise self._too_many_pairs()
        return self.counted

    @property
    def sums_by_edge(self) -> Floats:
        """Sums of the rewards of each pair at the end, shape (runs, pairs).

        Refused for graphs with more than 10^6 pairs, and for runs that a version before 0.8 saved, without them.
        """
        if isinstance(self.counted, list):
            raise self._too_many_pairs()
        if self.reward_sums is None or isinstance(self.reward_sums, list):
            raise MatchbanditError(
                "these runs have no sums of rewards: some were saved by a version before 0.8. Simulate them again."
            )
        return self.reward_sums

    def _too_many_pairs(self) -> MatchbanditError:
        graph = graph_from(self.about["graph"])
        return MatchbanditError(
            f"{graph} has {graph.n_pairs} pairs, and above {MAX_COUNTED_PAIRS} there is no count for each. "
            f"Use runs.played: the pairs that each run played, and how often."
        )

    @property
    def plays(self) -> NDArray[np.int64]:
        """Plays of each pair at the end, shape (runs, N, M); of players the entries i < j of (runs, n, n).

        Refused for graphs with more than 10^6 pairs, as is `plays_by_edge`: see `played`.
        """
        return graph_from(self.about["graph"]).matrix(self.plays_by_edge)

    @property
    def sums(self) -> Floats:
        """Sums of the rewards of each pair at the end, in the shape of `plays`, and refused where it is.

        Refused also for runs that a version before 0.8 saved, without them.
        """
        return graph_from(self.about["graph"]).matrix(self.sums_by_edge)

    @property
    def final(self) -> Floats:
        """The regret of each run at the end."""
        return self.regret[:, -1]

    def summary(self) -> dict[str, list[float]]:
        """Mean, 5 % and 95 % percentile of the regret over the runs, at each checkpoint."""
        low, high = np.percentile(self.regret, [5, 95], axis=0)
        return {"mean": self.regret.mean(axis=0).tolist(), "p5": low.tolist(), "p95": high.tolist()}
