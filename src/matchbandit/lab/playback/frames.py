"""What a policy reports at one moment, and what it has decided since the moment before."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from matchbandit.formatting import plural
from matchbandit.lab.playback.sentences import Names, comparison_text
from matchbandit.policies import PlannedPolicy, Policy
from matchbandit.policies.explanation import Elimination, Explanation
from matchbandit.rewards import Counts, Floats
from matchbandit.simulation.score import Score

Row = dict[str, Any]
Regret = Callable[[], float | None]
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
NOTHING: Row = {"active": True, "samples": 0, "estimate": None, "low": None, "high": None}
"""What is known of an item or a pair that a policy does not report."""


@dataclass(frozen=True, eq=False)
class Frame:
    """One moment of a recording."""

    round: int
    regret: float | None
    """None if the truth is not known."""
    plays: Counts
    """Of each pair so far, in the order of `graph.pairs`."""
    items: list[Row]
    """item, side, active, samples, estimate, low, high: in the order of the graph, rows first."""
    pairs: Floats | None
    """Estimate, low and high of each pair, shape (3, pairs), NaN where unknown; None if nothing is reported."""
    clusters: list[list[int]]
    """The players of each cluster, best first."""
    links: list[Row]
    """link, evidence, threshold, certified: what the policy must certify."""
    window: int | None
    phase: str
    recommendation: list[list[int]]
    done: bool
    meaning: str
    """What the intervals are."""
    decisions: Sequence[Row] = ()
    """What was decided since the frame before: kind, text, item. An elimination, or a split of a cluster, has what was
    compared: by, on, window, estimate, low, high, by_estimate, by_low, by_high; an elimination also whether the item
    `leaves`. A certificate has evidence and threshold."""
    is_event: bool = False
    """Whether something was decided, a window or a phase ended, or the policy stopped."""
    sentence: str = ""
    """What has just happened."""

    def __repr__(self) -> str:
        """Return the round, and how much was decided."""
        return f"<Frame after {plural(self.round, 'round')}: {plural(len(self.decisions), 'decision')}>"

    @property
    def active(self) -> dict[str, bool]:
        """Whether each item is active."""
        return {row["item"]: row["active"] for row in self.items}

    @property
    def state(self) -> tuple[Any, ...]:
        """What changes at an event only: the window, the phase, the clusters, and the activity."""
        return self.window, self.phase, self.clusters, self.active


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
        self, policy: Policy, at: int, plays: Counts, regret: Regret = lambda: None, *, is_last: bool = False
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
        explanation = policy.explain()
        frame = _frame(self._names, explanation, at, plays, regret())
        decisions = self._new_decisions(policy, explanation, frame)
        is_event = bool(decisions) or frame.done or (bool(self.frames) and frame.state != self.frames[-1].state)
        self.frames.append(replace(frame, decisions=decisions, is_event=is_event))
        self._seen = seen
        if self._progress is not None:
            self._progress(at)

    def _new_decisions(self, policy: Policy, explanation: Explanation, frame: Frame) -> list[Row]:
        """Return what was decided since the last frame: who leaves first, then other comparisons, splits and links."""
        before, names = self.frames[-1].active if self.frames else {}, self._names
        decisions = []
        for record in policy.eliminations[self._seen[0] :]:
            item = names.item(record.side, record.item)
            leaves = before.get(item, True) and not frame.active.get(item, True)  # a player needs two beaters
            verb = "is eliminated by" if leaves else "loses a comparison to"
            decisions.append(_comparison("elimination", record, names, verb) | {"leaves": leaves})
        decisions.sort(key=lambda one: not one["leaves"])
        for split in explanation["details"].get("splits", [])[self._seen[1] :]:
            for separation in split["separations"]:
                decisions.append(_comparison("split", _separation(separation), names, "is separated from"))
        for link in frame.links:  # one that leaves the answer and returns is not new
            name, evidence, threshold = link["link"], link["evidence"], link["threshold"]
            if not link["certified"]:
                self._certified.discard(name)
            elif name not in self._certified:
                self._certified.add(name)
                text = f"{name} is certified: evidence {evidence:z.2f}, threshold {threshold:.2f}"
                one = {"kind": "certificate", "text": text, "item": name, "evidence": evidence, "threshold": threshold}
                decisions.append(one)
        return decisions


def thin_out(frames: Sequence[Frame], count: int) -> list[Frame]:
    """Keep all events, the first and the last frame, and about `count` in all, evenly spread in log time."""
    chosen = {k for k, frame in enumerate(frames) if frame.is_event} | {0, len(frames) - 1}
    times = np.log1p([frame.round for frame in frames])
    targets = np.linspace(times[0], times[-1], max(0, count - len(chosen)))
    return [frames[k] for k in sorted(chosen.union(int(np.abs(times - at).argmin()) for at in targets))]


def _frame(names: Names, explanation: Explanation, at: int, plays: Counts, regret: float | None) -> Frame:
    details = explanation["details"]
    items, item_meaning = _item_rows(names, explanation)
    pairs, pair_meaning = _pair_table(names, explanation)
    return Frame(
        round=at,
        regret=regret,
        plays=plays.copy(),
        items=items,
        pairs=pairs,
        clusters=[list(cluster["players"]) for cluster in explanation["clusters"]],
        links=_link_rows(names, explanation),
        window=(details.get("window") or {}).get("number"),
        phase=str(details.get("phase", "")),
        recommendation=explanation["recommendation"],
        done=explanation["done"],
        meaning=item_meaning or pair_meaning,
    )


def _item_rows(names: Names, explanation: Explanation) -> tuple[list[Row], str]:
    """Return a row for each item, and what the intervals are; players in clusters have the averages of these."""
    graph, known, meanings = names.graph, dict[int, Row](), []
    for record in explanation["items"]:
        low, high, meaning = _interval(record, LAST_CHECK)
        row = {key: record[key] for key in ("active", "samples", "estimate")} | {"low": low, "high": high}
        known[graph.item_at(record["side"], record["item"])] = row
        meanings.append(meaning)
    for cluster in () if known else explanation["clusters"]:
        radius, meanings = cluster.get("radius"), [CLUSTER_INTERVAL]
        for player, mean in zip(cluster["players"], cluster["estimates"] or [], strict=False):
            ends = {} if radius is None else {"low": mean - radius, "high": mean + radius}
            known[player] = NOTHING | {"samples": cluster["samples"], "estimate": mean} | ends
    items = range(graph.n_items if meanings else 0)
    rows = [{"item": names.of(k), "side": graph.side_of(k)} | known.get(k, NOTHING) for k in items]
    return rows, next(filter(None, meanings), "")


def _pair_table(names: Names, explanation: Explanation) -> tuple[Floats | None, str]:
    records = explanation["pairs"]
    if not records:
        return None, ""
    table, meanings = np.full((3, names.graph.n_pairs), np.nan), []
    for edge, record in zip(names.graph.edges([record["pair"] for record in records]), records, strict=True):
        low, high, meaning = _interval(record, PAIR_INTERVAL)
        table[:, edge] = [np.nan if end is None else end for end in (record["estimate"], low, high)]
        meanings.append(meaning)
    return table, next(filter(None, meanings), "")


def _interval(record: Row, meaning: str) -> tuple[float | None, float | None, str]:
    """Return the interval of an item or a pair, in whatever form the policy reports it, and what it is."""
    estimate, upper = record["estimate"], record.get("upper_bound", inf)
    deviation = record.get("standard_deviation", record.get("deviation"))
    if record["interval"] is not None:
        return *record["interval"], meaning
    if "beta" in record.get("posterior", {}):
        a, b = record["posterior"]["beta"]
        mean, half = a / (a + b), 2 * sqrt(a * b / (a + b + 1)) / (a + b)
        return max(0.0, mean - half), min(1.0, mean + half), POSTERIOR
    if estimate is not None and deviation is not None and isfinite(deviation):
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


def _separation(record: Row) -> Elimination:
    """Return the comparison that split a cluster in the form of an elimination."""
    below, above, radius = record["average_below"], record["average_above"], record["radius"]
    intervals = (below - radius, below + radius), (above - radius, above + radius)
    item, by, on = record["below"], record["above"], "opponents of their own and better clusters"
    return Elimination(0, "player", item, by, on, None, below, intervals[0], above, intervals[1])


def _comparison(kind: str, record: Elimination, names: Names, verb: str) -> Row:
    numbers = {"estimate": record.estimate, "by_estimate": record.by_estimate}
    numbers |= dict(zip(("low", "high", "by_low", "by_high"), (*record.interval, *record.by_interval), strict=True))
    who = {"item": names.item(record.side, record.item), "by": names.item(record.side, record.by)}
    about = {"on": names.average(record), "window": record.window}
    return {"kind": kind, "text": comparison_text(record, names, verb), **who, **about, **numbers}
