"""Observe a run and keep snapshots: at chosen rounds, and whenever the policy decides something."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from matchbandit.graphs import Edges, Graph
from matchbandit.policies import PlannedPolicy, Policy
from matchbandit.policies.explanation import Elimination, Explanation
from matchbandit.rewards import Counts, Floats
from matchbandit.simulation.score import Score
from matchbandit.watching.recording import OWN_AND_BETTER, ItemState, LinkState

MAX_DECISION_SNAPSHOTS = 1500
"""After this many decisions of a planned policy, only scheduled snapshots and events are kept."""
STANDARD_DEVIATIONS = 2.0
"""Drawn on either side of a posterior's mean."""
POSTERIOR = "bar: posterior mean ± 2 standard deviations; dot: estimate"
UPPER_BOUND = "bar: from the average up to the upper confidence bound; dot: average"
LAST_CHECK = (
    "bar: confidence interval of the average over all opponents at its last check (no bar: not checked yet); ring: "
    "that average now, which may leave the bar before the next check"
)
PAIR_INTERVAL = "bar: confidence interval; dot: estimate"
CLUSTER_INTERVAL = "bar: confidence interval of the average within the cluster; dot: average"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a policy reports at one moment; items in the order of the graph, rows before columns."""

    round: int
    regret: float
    plays: Counts
    """Of each pair so far."""
    items: tuple[ItemState, ...]
    pairs: Floats | None
    """Estimate, low and high of each pair, shape (3, pairs), NaN where unknown; None if nothing is reported."""
    clusters: tuple[tuple[tuple[int, ...], int], ...]
    """The players of each cluster, and its chain."""
    links: tuple[LinkState, ...]
    eliminations: tuple[Elimination, ...]
    """Since the snapshot before."""
    separations: tuple[Elimination, ...]
    """The players at the borders of clusters that split since the snapshot before."""
    certificates: tuple[LinkState, ...]
    """The links that were certified since the snapshot before."""
    window: int | None
    phase: str
    guess: Edges
    done: bool
    interval: str
    """What the intervals mean."""


class Recorder:
    """An observer of a run that takes a snapshot at chosen rounds, at events, and at decisions of a planned policy."""

    def __init__(self, rounds: Sequence[int], report: Callable[[int], None] | None = None) -> None:
        """Take snapshots at these rounds; call `report` with the round at each snapshot."""
        self.snapshots: list[Snapshot] = []
        self._rounds = [int(at) for at in rounds]
        self._next = 0
        self._calls = 0
        self._n_eliminations = 0
        self._n_splits = 0
        self._certified: set[str] = set()
        self._report = report

    def __call__(self, policy: Policy, score: Score) -> None:
        """Take a snapshot if one is due or if something has happened."""
        self._calls += 1
        eliminations, n_splits = policy.eliminations, len(policy.splits)
        is_event = (len(eliminations), n_splits) != (self._n_eliminations, self._n_splits)
        is_decision = isinstance(policy, PlannedPolicy) and self._calls <= MAX_DECISION_SNAPSHOTS
        is_due = self._next < len(self._rounds) and score.round >= self._rounds[self._next]
        if is_event or is_decision or is_due or score.finished or policy.done or not self.snapshots:
            while self._next < len(self._rounds) and score.round >= self._rounds[self._next]:
                self._next += 1
            new = eliminations[self._n_eliminations :]
            self.snapshots.append(self._note_certificates(take_snapshot(policy, score, new, self._n_splits)))
            self._n_eliminations, self._n_splits = len(eliminations), n_splits
            if self._report is not None:
                self._report(score.round)

    def _note_certificates(self, snapshot: Snapshot) -> Snapshot:
        """Add the new certificates; a link that leaves the answer and comes back is not certified anew."""
        new = tuple(link for link in snapshot.links if link.certified and link.name not in self._certified)
        self._certified -= {link.name for link in snapshot.links if not link.certified}
        self._certified |= {link.name for link in new}
        return replace(snapshot, certificates=new)


def take_snapshot(
    policy: Policy, score: Score, eliminations: Sequence[Elimination] = (), splits_before: int = 0
) -> Snapshot:
    """Return what the policy reports now, with the eliminations and splits since the snapshot before."""
    explanation = policy.explain()
    details = explanation["details"]
    items, item_interval = _items(policy.graph, explanation)
    pairs, pair_interval = _pairs(policy.graph, explanation["pairs"])
    return Snapshot(
        round=score.round,
        regret=score.regret_so_far(),
        plays=score.plays.copy(),
        items=items,
        pairs=pairs,
        clusters=_clusters(explanation),
        links=_links(explanation),
        eliminations=tuple(eliminations),
        separations=_separations(details.get("splits", [])[splits_before:]),
        certificates=(),
        window=(details.get("window") or {}).get("number"),
        phase=str(details.get("phase", "")),
        guess=policy.graph.edges(explanation["recommendation"]),
        done=policy.done,
        interval=item_interval or pair_interval,
    )


def thin_out(snapshots: Sequence[Snapshot], frames: int) -> list[tuple[Snapshot, bool]]:
    """Keep all events, and about `frames` snapshots in all, evenly spread in log time; say of each if it is an event.

    The first and the last snapshot are always kept.
    """
    pairs = zip((None, *snapshots), snapshots, strict=False)
    is_event = [before is not None and _is_event(before, now) for before, now in pairs]
    chosen = {k for k, event in enumerate(is_event) if event} | {0, len(snapshots) - 1}
    others = [k for k in range(len(snapshots)) if k not in chosen]
    times = np.log([max(1, snapshot.round) for snapshot in snapshots])
    spacing = times[-1] / frames
    for target in np.linspace(0, times[-1], max(0, frames - len(chosen))):
        nearest = min(others, key=lambda k: abs(times[k] - target), default=0)
        if np.abs(times[sorted(chosen)] - times[nearest]).min() > spacing / 3:
            chosen.add(nearest)
    return [(snapshots[k], is_event[k]) for k in sorted(chosen)]


def _is_event(before: Snapshot, now: Snapshot) -> bool:
    """Did a comparison decide, a cluster split, a window or phase end, a link get certified, or the run stop?"""
    return (
        bool(now.eliminations)
        or now.done != before.done
        or (now.window, now.phase) != (before.window, before.phase)
        or now.clusters != before.clusters
        or [item.active for item in now.items] != [item.active for item in before.items]
        or bool(now.certificates)
    )


def _items(graph: Graph, explanation: Explanation) -> tuple[tuple[ItemState, ...], str]:
    """Return the state of each item and what the intervals mean; players in clusters have those of their clusters."""
    unknown = ItemState(active=True, samples=0, estimate=None)
    states = [unknown] * graph.n_items
    if explanation["clusters"] and not explanation["items"]:
        for cluster in explanation["clusters"]:
            estimates = cluster["estimates"] or [None] * len(cluster["players"])
            for player, mean in zip(cluster["players"], estimates, strict=True):
                radius = cluster.get("radius") if mean is not None else None
                ends = (None, None) if radius is None else (mean - radius, mean + radius)
                states[player] = ItemState(True, cluster["samples"], mean, *ends)
        return tuple(states), CLUSTER_INTERVAL
    if not explanation["items"]:
        return (), ""
    meaning = ""
    for record in explanation["items"]:
        (low, high), kind = interval_of(record)
        state = ItemState(record["active"], record["samples"], record["estimate"], low, high)
        states[graph.item_at(record["side"], record["item"])] = state
        meaning = meaning or kind
    return tuple(states), meaning


def _pairs(graph: Graph, records: list[dict[str, Any]]) -> tuple[Floats | None, str]:
    if not records:
        return None, ""
    table, meaning = np.full((3, graph.n_pairs), np.nan), ""
    for record, edge in zip(records, graph.edges([record["pair"] for record in records]).tolist(), strict=True):
        (low, high), kind = interval_of(record)
        table[:, edge] = [np.nan if end is None else end for end in (record["estimate"], low, high)]
        meaning = meaning or kind
    return table, meaning


def interval_of(record: dict[str, Any]) -> tuple[tuple[float | None, float | None], str]:
    """Return the interval of an item or a pair, in whatever form the policy reports it, and what it means."""
    estimate = record["estimate"]
    if record["interval"] is not None:
        return tuple(record["interval"]), PAIR_INTERVAL if "pair" in record else LAST_CHECK
    if "beta" in record.get("posterior", {}):
        a, b = record["posterior"]["beta"]
        mean, total = a / (a + b), a + b
        half = STANDARD_DEVIATIONS * sqrt(mean * (1 - mean) / (total + 1))
        return (max(0.0, mean - half), min(1.0, mean + half)), POSTERIOR
    deviation = record.get("standard_deviation", record.get("deviation"))
    if deviation is not None and estimate is not None and np.isfinite(deviation):
        half = STANDARD_DEVIATIONS * deviation
        return (estimate - half, estimate + half), POSTERIOR
    upper = record.get("upper_bound")
    if upper is not None and estimate is not None and np.isfinite(upper):
        return (estimate, upper), UPPER_BOUND
    return (None, None), ""


def _clusters(explanation: Explanation) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return the clusters, best first, each with its chain; before chains are formed, each has its own."""
    chains = explanation["details"].get("chains")
    if chains is None:
        return tuple((tuple(cluster["players"]), k) for k, cluster in enumerate(explanation["clusters"]))
    return tuple((tuple(players), k) for k, chain in enumerate(chains) for players in chain)


def _separations(splits: Sequence[dict[str, Any]]) -> tuple[Elimination, ...]:
    """Return the comparisons that split clusters, in the form of eliminations: the same two intervals."""
    separations = []
    for split in splits:
        for record in split["separations"]:
            below, above, radius = record["average_below"], record["average_above"], record["radius"]
            separations.append(
                Elimination(
                    split["round"], "player", record["below"], record["above"], OWN_AND_BETTER, None,
                    below, (below - radius, below + radius), above, (above - radius, above + radius),
                )
            )  # fmt: skip
    return tuple(separations)


def _links(explanation: Explanation) -> tuple[LinkState, ...]:
    """Return the statements to certify, with the number that the policy holds against the threshold."""
    details: Any = explanation["details"]
    threshold = details.get("threshold")
    links = []
    for rival in details.get("rivals", []):
        score = rival.get("score", rival["log_evidence"])
        needed = rival.get("certified_from", rival["threshold"])
        certified = score >= needed if "score" in rival else score > needed
        links.append(LinkState(f"{rival['side']} {rival['above']} above {rival['below']}", score, needed, certified))
    for pair in explanation["pairs"]:
        against = pair.get("evidence_against")
        if against is not None and threshold is not None:
            name = f"({_joined(explanation['recommendation'][0])}) above ({_joined(pair['pair'])})"
            links.append(LinkState(name, against, threshold, against > threshold))
    return tuple(link for link in links if np.isfinite(link.evidence))


def _joined(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
