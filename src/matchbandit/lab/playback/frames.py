"""What a policy reports at one moment, and what it has decided since the moment before."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from matchbandit.lab.playback.sentences import Names, certificate_text, elimination_text, split_text
from matchbandit.policies import PlannedPolicy, Policy
from matchbandit.policies.explanation import Elimination, Explanation
from matchbandit.rewards import Counts, Floats
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


@dataclass(frozen=True, eq=False)
class Frame:
    """One moment of a recording."""

    round: int
    regret: float | None
    """None if the truth is not known."""
    plays: Counts
    """Of each pair so far, in the order of `graph.pairs`."""
    items: list[Row]
    """item, side, active, samples, estimate, low, high, cluster, chain: in the order of the graph, rows first."""
    pairs: Floats | None
    """Estimate, low and high of each pair, shape (3, pairs), NaN where unknown; None if nothing is reported."""
    clusters: list[tuple[list[int], int]]
    """The players of each cluster, best first, and its chain."""
    links: list[Row]
    """link, evidence, threshold, certified: what the policy must certify."""
    decisions: list[Row]
    """What was decided since the frame before. kind (elimination, split or certificate), text, item, by, on, window,
    leaves, estimate, low, high, by_estimate, by_low, by_high, threshold: the numbers that were compared."""
    window: int | None
    phase: str
    recommendation: list[list[int]]
    done: bool
    meaning: str
    """What the intervals are."""
    is_event: bool = False
    """Whether something was decided, a window or a phase ended, or the policy stopped."""
    sentence: str = ""
    """What has just happened."""

    @property
    def active(self) -> dict[str, bool]:
        """Whether each item is active."""
        return {row["item"]: row["active"] for row in self.items}

    def differs_from(self, before: "Frame") -> bool:
        """Return whether activity, clusters, the window or the phase have changed."""
        states = [(each.window, each.phase, each.clusters, each.active) for each in (self, before)]
        return states[0] != states[1]


class Observer:
    """Looks at a policy at scheduled rounds, at events, and at the decisions of a planned policy."""

    def __init__(self, moments: Iterable[int], names: Names, progress: Callable[[int], None] | None = None) -> None:
        """Look at these rounds; `progress` is called with the round."""
        self.frames: list[Frame] = []
        self._names, self._progress = names, progress
        self._moments = iter(moments)
        self._next = next(self._moments, None)
        self._seen, self._decisions = (0, 0), 0
        self._certified: set[str] = set()

    def __call__(self, policy: Policy, score: Score) -> None:
        """Look at a policy in a simulation."""
        self.look(policy, score.round, score.plays, score.regret_so_far, is_last=score.finished)

    def look(
        self,
        policy: Policy,
        at: int,
        plays: Counts,
        regret: Callable[[], float | None] = lambda: None,
        *,
        is_last: bool = False,
    ) -> None:
        """Add a frame after round `at` if one is due, or if something was decided."""
        seen = len(policy.eliminations), len(policy.splits)
        is_decision = isinstance(policy, PlannedPolicy) and policy.plan_is_over and self._decisions < MAX_DECISIONS
        self._decisions += is_decision
        is_due = is_last or policy.done or not self.frames or (self._next is not None and at >= self._next)
        if not (is_due or is_decision or seen != self._seen) or (self.frames and self.frames[-1].done):
            return
        while self._next is not None and at >= self._next:
            self._next = next(self._moments, None)
        frame = self._frame(policy, policy.explain(), at, plays, regret())
        has_changed = bool(self.frames) and frame.differs_from(self.frames[-1])
        self.frames.append(replace(frame, is_event=bool(frame.decisions) or frame.done or has_changed))
        self._seen = seen
        if self._progress is not None:
            self._progress(at)

    def _frame(self, policy: Policy, explanation: Explanation, at: int, plays: Counts, regret: float | None) -> Frame:
        details = explanation["details"]
        chains = details.get("chains") or [[cluster["players"]] for cluster in explanation["clusters"]]
        clusters = [(list(players), chain) for chain, of_chain in enumerate(chains) for players in of_chain]
        items, item_meaning = _item_rows(self._names, explanation, clusters)
        pairs, pair_meaning = _pair_table(self._names, explanation)
        links = _link_rows(self._names, explanation)
        frame = Frame(
            round=at,
            regret=regret,
            plays=plays.copy(),
            items=items,
            pairs=pairs,
            clusters=clusters,
            links=links,
            decisions=[],
            window=(details.get("window") or {}).get("number"),
            phase=str(details.get("phase", "")),
            recommendation=explanation["recommendation"],
            done=policy.done,
            meaning=item_meaning or pair_meaning,
        )
        was_active = self.frames[-1].active if self.frames else {}
        decisions = []
        for record in policy.eliminations[self._seen[0] :]:
            item = self._names.item(record.side, record.item)
            leaves = was_active.get(item, True) and not frame.active.get(item, True)  # a player needs two beaters
            decisions.append(_comparison("elimination", record, self._names, leaves=leaves))
        decisions.sort(key=lambda one: not one["leaves"])
        for split in details.get("splits", [])[self._seen[1] :]:
            for separation in split["separations"]:
                decisions.append(_comparison("split", _separation(at, separation), self._names, leaves=False))
        new = [link for link in links if link["certified"] and link["link"] not in self._certified]
        self._certified -= {link["link"] for link in links if not link["certified"]}
        self._certified |= {link["link"] for link in new}  # one that leaves the answer and returns is not new
        return replace(frame, decisions=[*decisions, *map(_certificate, new)])


def thin_out(frames: Sequence[Frame], count: int) -> list[Frame]:
    """Keep all events, the first and the last frame, and about `count` in all, evenly spread in log time."""
    chosen = {k for k, frame in enumerate(frames) if frame.is_event} | {0, len(frames) - 1}
    times = np.log1p([frame.round for frame in frames])
    for target in np.linspace(times[0], times[-1], max(0, count - len(chosen))):
        nearest = int(np.abs(times - target).argmin())
        if np.abs(times[sorted(chosen)] - times[nearest]).min() > (times[-1] - times[0]) / count / 3:
            chosen.add(nearest)
    return [frames[k] for k in sorted(chosen)]


def _item_rows(names: Names, explanation: Explanation, clusters: list[tuple[list[int], int]]) -> tuple[list[Row], str]:
    """Return a row for each item, and what the intervals are; players in clusters have the averages of these."""
    graph, records = names.graph, {}
    for record in explanation["items"]:
        records[graph.item_at(record["side"], record["item"])] = record
    for cluster in () if records else explanation["clusters"]:
        radius = cluster.get("radius")
        for player, mean in zip(cluster["players"], cluster["estimates"] or [], strict=False):
            interval = None if None in (mean, radius) else (mean - radius, mean + radius)
            records[player] = {"samples": cluster["samples"], "estimate": mean, "interval": interval}
    if not records and not clusters:
        return [], ""
    own = {player: (place, chain) for place, (players, chain) in enumerate(clusters) for player in players}
    rows, meanings = [], []
    for k in range(graph.n_items):
        record = {"active": True, "samples": 0, "estimate": None, "interval": None} | records.get(k, {})
        low, high, meaning = _interval(record, LAST_CHECK if explanation["items"] else CLUSTER_INTERVAL)
        known = {key: record[key] for key in ("active", "samples", "estimate")} | {"low": low, "high": high}
        ranks = dict(zip(("cluster", "chain"), own.get(k, (None, None)), strict=True))
        rows.append({"item": names.of(k), "side": graph.side_of(k)} | known | ranks)
        meanings.append(meaning)
    return rows, next(filter(None, meanings), "")


def _pair_table(names: Names, explanation: Explanation) -> tuple[Floats | None, str]:
    if not explanation["pairs"]:
        return None, ""
    table, meanings = np.full((3, names.graph.n_pairs), np.nan), []
    for edge, record in zip(
        names.graph.edges([each["pair"] for each in explanation["pairs"]]), explanation["pairs"], strict=True
    ):
        low, high, meaning = _interval(record, PAIR_INTERVAL)
        table[:, edge] = [np.nan if end is None else end for end in (record["estimate"], low, high)]
        meanings.append(meaning)
    return table, next(filter(None, meanings), "")


def _interval(record: Row, meaning: str) -> tuple[float | None, float | None, str]:
    """Return the interval of an item or a pair, in whatever form the policy reports it, and what it is."""
    estimate, upper = record["estimate"], record.get("upper_bound", inf)
    deviation = record.get("standard_deviation", record.get("deviation"))
    deviation = inf if deviation is None else deviation
    if record["interval"] is not None:
        return *record["interval"], meaning
    if "beta" in record.get("posterior", {}):
        a, b = record["posterior"]["beta"]
        mean, half = a / (a + b), 2 * sqrt(a * b / (a + b + 1)) / (a + b)
        return max(0.0, mean - half), min(1.0, mean + half), POSTERIOR
    if estimate is not None and isfinite(deviation):
        return estimate - 2 * deviation, estimate + 2 * deviation, POSTERIOR
    if estimate is not None and isfinite(upper):
        return estimate, upper, UPPER_BOUND
    return None, None, ""


def _link_rows(names: Names, explanation: Explanation) -> list[Row]:
    """Return the statements to certify, with the number that the policy holds against the threshold."""
    details, rows = explanation["details"], []
    for rival in details.get("rivals", []):
        evidence, needed = rival.get("score", rival["log_evidence"]), rival.get("certified_from", rival["threshold"])
        above, below = (names.item(rival["side"], rival[end]) for end in ("above", "below"))
        certified = evidence >= needed if "score" in rival else evidence > needed
        rows.append((f"{above} above {below.removeprefix(rival['side'] + ' ')}", evidence, needed, certified))
    for record in explanation["pairs"] if "threshold" in details else ():
        if (evidence := record.get("evidence_against")) is not None:
            link = f"{names.pairs(explanation['recommendation'])} above {names.pair(record['pair'])}"
            rows.append((link, evidence, details["threshold"], evidence > details["threshold"]))
    keys = ("link", "evidence", "threshold", "certified")
    return [dict(zip(keys, row, strict=True)) for row in rows if isfinite(row[1])]


def _separation(at: int, record: Row) -> Elimination:
    """Return the comparison that split a cluster in the form of an elimination."""
    below, above, radius = record["average_below"], record["average_above"], record["radius"]
    on = "opponents of their own and better clusters"
    intervals = (below - radius, below + radius), (above - radius, above + radius)
    return Elimination(
        at, "player", record["below"], record["above"], on, None, below, intervals[0], above, intervals[1]
    )


def _comparison(kind: str, record: Elimination, names: Names, *, leaves: bool) -> Row:
    text = split_text(record, names) if kind == "split" else elimination_text(record, names, leaves=leaves)
    (low, high), (by_low, by_high) = record.interval, record.by_interval
    return {
        "kind": kind, "text": text, "item": names.item(record.side, record.item),
        "by": names.item(record.side, record.by), "on": names.average(record), "window": record.window,
        "leaves": leaves,
        "estimate": record.estimate, "low": low, "high": high,
        "by_estimate": record.by_estimate, "by_low": by_low, "by_high": by_high, "threshold": None,
    }  # fmt: skip


def _certificate(link: Row) -> Row:
    unknown = dict.fromkeys(("by", "on", "window", "leaves", "estimate", "by_estimate", "by_low", "by_high"))
    numbers = {"low": 0.0, "high": link["evidence"], "threshold": link["threshold"]}
    return {"kind": "certificate", "text": certificate_text(link), "item": link["link"]} | unknown | numbers
