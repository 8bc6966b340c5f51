"""Take snapshots of a policy: what it knows and plays, and what it has decided since the snapshot before."""

from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from matchbandit.graphs import Graph
from matchbandit.lab.playback.sentences import Names
from matchbandit.policies import PlannedPolicy, Policy
from matchbandit.policies.explanation import Elimination, Explanation
from matchbandit.rewards import Counts
from matchbandit.simulation.score import Score

Row = dict[str, Any]
MAX_DECISIONS = 1500
"""After this many decisions of a planned policy, only scheduled rounds and events are recorded."""
POSTERIOR = "bar: posterior mean ± 2 standard deviations; dot: estimate"
UPPER_BOUND = "bar: from the average up to the upper confidence bound; dot: average"
PAIR_INTERVAL = "bar: confidence interval; dot: estimate"
CLUSTER_INTERVAL = "bar: confidence interval of the average within the cluster; dot: average"
LAST_CHECK = (
    "bar: confidence interval of the average over all opponents at its last check (no bar: not checked yet); ring: "
    "that average now, which may leave the bar before the next check"
)


class Snapshot(NamedTuple):
    """What a policy reports at one moment; items in the order of the graph, rows before columns."""

    round: int
    regret: float | None
    """None if the truth is not known."""
    plays: Counts
    """Of each pair so far."""
    items: list[Row]
    pairs: dict[tuple[int, int], Row]
    clusters: list[tuple[tuple[int, ...], int]]
    """The players of each cluster, best first, and its chain."""
    links: list[Row]
    eliminations: tuple[Elimination, ...]
    separations: tuple[Elimination, ...]
    """The players at the borders of clusters that split, in the form of eliminations."""
    certificates: list[Row]
    """The links that are newly certified; like eliminations and separations, since the snapshot before."""
    window: int | None
    phase: str
    recommendation: list[list[int]]
    done: bool
    meaning: str
    """What the intervals are."""

    @property
    def is_posterior(self) -> bool:
        """Whether the intervals are those of a posterior."""
        return self.meaning == POSTERIOR

    def leaves(self, before: "Snapshot | None", record: Elimination) -> bool:
        """Return whether the loser of a comparison was active before and no longer is: a player needs two beaters."""

        def is_active(items: list[Row]) -> bool:
            names = ((each["side"], each["number"], each["active"]) for each in items)
            return next((active for *item, active in names if item == [record.side, record.item]), True)

        return not is_active(self.items) and (before is None or is_active(before.items))

    def is_event(self, before: "Snapshot | None") -> bool:
        """Return whether something was decided since the snapshot before, or a window or a phase ended."""
        if before is None:
            return False

        def state(at: "Snapshot") -> Any:
            return at.done, at.window, at.phase, at.clusters, [each["active"] for each in at.items]

        return bool(self.eliminations or self.certificates) or state(self) != state(before)


class Observer:
    """Takes snapshots of a policy at scheduled rounds, at events, and at the decisions of a planned policy."""

    def __init__(self, moments: Iterable[int], names: Names, progress: Callable[[int], None] | None = None) -> None:
        """Look at these rounds; `progress` is called with the round."""
        self.snapshots: list[Snapshot] = []
        self._moments, self._names, self._progress = iter(moments), names, progress
        self._next = next(self._moments, None)
        self._eliminations = self._splits = self._decisions = 0
        self._certified: set[str] = set()

    def __call__(self, policy: Policy, score: Score) -> None:
        """Look at a policy in a simulation."""
        self.look(policy, score.round, score.plays, score.regret_so_far, is_last=score.finished)

    def look(self, policy: Policy, at: int, plays: Counts, regret: Callable[[], float | None], *, is_last: bool) -> None:
        """Take a snapshot after round `at` if one is due, or if something has happened."""
        is_event = (len(policy.eliminations), len(policy.splits)) != (self._eliminations, self._splits)
        is_decision = isinstance(policy, PlannedPolicy) and policy.plan_is_over and self._decisions < MAX_DECISIONS
        self._decisions += is_decision
        is_due = is_last or policy.done or not self.snapshots or (self._next is not None and at >= self._next)
        if not (is_event or is_decision or is_due) or (self.snapshots and self.snapshots[-1].done):
            return
        while self._next is not None and at >= self._next:
            self._next = next(self._moments, None)
        now = take_snapshot(policy, self._names, at, regret(), plays, self._eliminations, self._splits)
        new = [link for link in now.links if link["certified"] and link["link"] not in self._certified]
        self._certified -= {link["link"] for link in now.links if not link["certified"]}
        self._certified |= {link["link"] for link in new}  # one that leaves the answer and returns is not new
        self.snapshots.append(now._replace(certificates=new))
        self._eliminations, self._splits = len(policy.eliminations), len(policy.splits)
        if self._progress is not None:
            self._progress(at)


def take_snapshot(
    policy: Policy, names: Names, at: int, regret: float | None, plays: Counts, eliminations: int, splits: int
) -> Snapshot:
    """Return what a policy reports now; it had decided on so many eliminations and splits at the snapshot before."""
    explanation = policy.explain()
    details = explanation["details"]
    items = _items(policy.graph, explanation)
    pairs = {tuple(record["pair"]): record | _interval(record, PAIR_INTERVAL) for record in explanation["pairs"]}
    separations = (record for split in details.get("splits", [])[splits:] for record in split["separations"])
    chains = details.get("chains") or [[cluster["players"]] for cluster in explanation["clusters"]]
    return Snapshot(
        round=at,
        regret=regret,
        plays=plays.copy(),
        items=items,
        pairs=pairs,
        clusters=[(tuple(players), k) for k, chain in enumerate(chains) for players in chain],
        links=_links(explanation, names),
        eliminations=tuple(policy.eliminations[eliminations:]),
        separations=tuple(_separation(at, record) for record in separations),
        certificates=[],
        window=(details.get("window") or {}).get("number"),
        phase=str(details.get("phase", "")),
        recommendation=explanation["recommendation"],
        done=policy.done,
        meaning=next((row["meaning"] for row in (*items, *pairs.values()) if row["meaning"]), ""),
    )


def thin_out(snapshots: Sequence[Snapshot], frames: int) -> list[Snapshot]:
    """Keep all events, the first and the last snapshot, and about `frames` in all, evenly spread in log time."""
    chosen = {k for k in range(1, len(snapshots)) if snapshots[k].is_event(snapshots[k - 1])} | {0, len(snapshots) - 1}
    times = np.log([max(1, snapshot.round) for snapshot in snapshots])
    for target in np.linspace(times[0], times[-1], max(0, frames - len(chosen))):
        nearest = int(np.abs(times - target).argmin())
        if np.abs(times[sorted(chosen)] - times[nearest]).min() > (times[-1] - times[0]) / frames / 3:
            chosen.add(nearest)
    return [snapshots[k] for k in sorted(chosen)]


def _items(graph: Graph, explanation: Explanation) -> list[Row]:
    """Return a row for each item; players in clusters have the averages of their clusters."""
    rows = [
        {"side": graph.side_of(k), "number": graph.index_of(k), "active": True, "samples": 0, "estimate": None,
         "low": None, "high": None, "meaning": ""}
        for k in range(graph.n_items)
    ]  # fmt: skip
    for record in explanation["items"]:
        known = {key: record[key] for key in ("active", "samples", "estimate")}
        rows[graph.item_at(record["side"], record["item"])] |= known | _interval(record, LAST_CHECK)
    if explanation["items"]:
        return rows
    for cluster in explanation["clusters"]:
        for player, mean in zip(cluster["players"], cluster["estimates"] or [None] * len(cluster["players"]), strict=True):
            ends = None if None in (mean, cluster.get("radius")) else (mean - cluster["radius"], mean + cluster["radius"])
            record = {"estimate": mean, "interval": ends}
            rows[player] |= {"samples": cluster["samples"], "estimate": mean} | _interval(record, CLUSTER_INTERVAL)
    return rows if explanation["clusters"] else []


def _interval(record: Row, meaning: str) -> Row:
    """Return the interval of an item or a pair, in whatever form the policy reports it, and what it is."""
    estimate, ends = record["estimate"], record["interval"]
    deviation = record.get("standard_deviation", record.get("deviation"))
    upper = record.get("upper_bound")
    if ends is not None:
        low, high = ends
    elif "beta" in record.get("posterior", {}):
        a, b = record["posterior"]["beta"]
        mean, half = a / (a + b), 2 * sqrt(a * b / (a + b + 1)) / (a + b)
        low, high, meaning = max(0.0, mean - half), min(1.0, mean + half), POSTERIOR
    elif estimate is not None and deviation is not None and np.isfinite(deviation):
        low, high, meaning = estimate - 2 * deviation, estimate + 2 * deviation, POSTERIOR
    elif estimate is not None and upper is not None and np.isfinite(upper):
        low, high, meaning = estimate, upper, UPPER_BOUND
    else:
        low, high, meaning = None, None, ""
    return {"low": low, "high": high, "meaning": meaning}


def _links(explanation: Explanation, names: Names) -> list[Row]:
    """Return the statements to certify, with the number that the policy holds against the threshold."""
    details: Any = explanation["details"]
    rows = []
    for rival in details.get("rivals", []):
        evidence, threshold = rival.get("score", rival["log_evidence"]), rival.get("certified_from", rival["threshold"])
        certified = evidence >= threshold if "score" in rival else evidence > threshold
        above = names.item(rival["side"], rival["above"])
        below = names.item(rival["side"], rival["below"]).removeprefix(f"{rival['side']} ")
        rows.append({"link": f"{above} above {below}", "evidence": evidence, "threshold": threshold, "certified": certified})
    for record in explanation["pairs"]:
        evidence, threshold = record.get("evidence_against"), details.get("threshold")
        if None not in (evidence, threshold):
            link = f"{names.pair(explanation['recommendation'][0])} above {names.pair(record['pair'])}"
            rows.append({"link": link, "evidence": evidence, "threshold": threshold, "certified": evidence > threshold})
    return [row for row in rows if np.isfinite(row["evidence"])]


def _separation(at: int, record: Row) -> Elimination:
    """Return the comparison that split a cluster."""
    below, above, radius = record["average_below"], record["average_above"], record["radius"]
    return Elimination(
        at, "player", record["below"], record["above"], "opponents of their own and better clusters", None,
        below, (below - radius, below + radius), above, (above - radius, above + radius),
    )  # fmt: skip
