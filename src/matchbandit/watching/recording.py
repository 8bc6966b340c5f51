"""What a spectator notes while a run is played: what the policy says now and then, and whenever something happens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from matchbandit.figures.film import ItemNow, Link
from matchbandit.graphs import Edges, Graph
from matchbandit.policies import PlannedPolicy, Policy
from matchbandit.policies.explanation import Elimination, Explanation
from matchbandit.rewards import Counts, Floats
from matchbandit.simulation.score import Score

MOST_LOOKS = 1500
"""After so many decisions of a planned policy only those are noted at which something happens or that are due."""
WIDTH = 2.0
"""Standard deviations on either side of a posterior's mean."""
POSTERIOR = "bar: posterior mean ± 2 standard deviations; dot: the estimate"
UPPER = "bar: up to the upper confidence bound; dot: the average"
CHECKED = (
    "bar: the confidence interval when the average over all opponents was last checked (no bar: not yet); ring: that "
    "average now, which moves on and may leave the bar as opponents leave"
)
OF_A_PAIR = "bar: the confidence interval; dot: the estimate"
RADIUS = "bar: the confidence interval, if it were checked now; dot: the average"


@dataclass(frozen=True, eq=False)
class Look:
    """What there is to see at one moment; items in the graph's order, rows before columns."""

    round: int
    regret: float
    plays: Counts
    """Of each pair so far."""
    items: tuple[ItemNow, ...]
    pairs: Floats | None
    """Estimate, low and high of each pair, shape (3, pairs), NaN where there is none; None if it says nothing."""
    clusters: tuple[tuple[tuple[int, ...], int], ...]
    """The players of each cluster, and its chain."""
    links: tuple[Link, ...]
    beaten: tuple[Elimination, ...]
    """Since the look before."""
    window: int | None
    phase: str
    guess: Edges
    done: bool
    interval: str
    """What the intervals are, in words."""


class Recorder:
    """Looks on: at given moments, whenever someone leaves or a cluster splits, and at decisions of a planned policy."""

    def __init__(self, moments: Sequence[int], tell: Callable[[int], None] | None = None) -> None:
        """Nothing seen; `tell` is called with the round."""
        self.looks: list[Look] = []
        self._moments = [int(moment) for moment in moments]
        self._next = 0
        self._calls = 0
        self._seen = (0, 0)
        self._tell = tell

    def __call__(self, policy: Policy, score: Score) -> None:
        """Note what there is to see, if it is time or if something has happened."""
        self._calls += 1
        gone, splits = policy.eliminations, policy.splits
        happened = (len(gone), len(splits)) != self._seen
        decided = isinstance(policy, PlannedPolicy) and self._calls <= MOST_LOOKS
        due = self._next < len(self._moments) and score.round >= self._moments[self._next]
        if happened or decided or due or score.finished or policy.done or not self.looks:
            while self._next < len(self._moments) and score.round >= self._moments[self._next]:
                self._next += 1
            self.looks.append(look_at(policy, score, gone[self._seen[0] :]))
            self._seen = len(gone), len(splits)
            if self._tell is not None:
                self._tell(score.round)


def look_at(policy: Policy, score: Score, beaten: Sequence[Elimination] = ()) -> Look:
    """What the policy says now, and what the score is."""
    said = policy.explain()
    details = said["details"]
    items, of_items = _items(policy.graph, said)
    pairs, of_pairs = _pairs(policy.graph, said["pairs"])
    return Look(
        round=score.round,
        regret=score.regret_so_far(),
        plays=score.plays.copy(),
        items=items,
        pairs=pairs,
        clusters=_clusters(said),
        links=_links(said),
        beaten=tuple(beaten),
        window=(details.get("window") or {}).get("number"),
        phase=str(details.get("phase", "")),
        guess=policy.graph.edges(said["recommendation"]),
        done=policy.done,
        interval=of_items or of_pairs,
    )


def thinned(looks: Sequence[Look], frames: int) -> list[tuple[Look, bool]]:
    """About so many looks, evenly spread in log time, and all at which something happened, which is said of each."""
    pairs = zip((None, *looks), looks, strict=False)
    happened = [before is not None and _happened(before, now) for before, now in pairs]
    kept = {k for k, event in enumerate(happened) if event} | {0, len(looks) - 1}
    others = [k for k in range(len(looks)) if k not in kept]
    times = np.log([max(1, look.round) for look in looks])
    between = times[-1] / frames
    for wanted in np.linspace(0, times[-1], max(0, frames - len(kept))):
        nearest = min(others, key=lambda k: abs(times[k] - wanted), default=0)
        if np.abs(times[sorted(kept)] - times[nearest]).min() > between / 3:
            kept.add(nearest)
    return [(looks[k], happened[k]) for k in sorted(kept)]


def _happened(before: Look, now: Look) -> bool:
    """Has anyone left or been beaten, a cluster split, a window or phase ended, a link been certified, or all ended?"""
    known = {link.name for link in before.links if link.certified}
    return (
        bool(now.beaten)
        or now.done != before.done
        or (now.window, now.phase) != (before.window, before.phase)
        or now.clusters != before.clusters
        or [item.active for item in now.items] != [item.active for item in before.items]
        or any(link.certified and link.name not in known for link in now.links)
    )


def _items(graph: Graph, said: Explanation) -> tuple[tuple[ItemNow, ...], str]:
    """What it says of each item, and what the intervals are; of players in clusters what it says of their clusters."""
    unknown = ItemNow(active=True, samples=0, estimate=None)
    if said["clusters"] and not said["items"]:
        found = [unknown] * graph.n_items
        for cluster in said["clusters"]:
            estimates = cluster["estimates"] or [None] * len(cluster["players"])
            for player, mean in zip(cluster["players"], estimates, strict=True):
                radius = cluster.get("radius") if mean is not None else None
                ends = (None, None) if radius is None else (mean - radius, mean + radius)
                found[player] = ItemNow(True, cluster["samples"], mean, *ends)
        return tuple(found), RADIUS
    if not said["items"]:
        return (), ""
    found, words = [unknown] * graph.n_items, ""
    for item in said["items"]:
        place = graph.item_at(item["side"], item["item"])
        (low, high), kind = _ends(item)
        found[place] = ItemNow(item["active"], item["samples"], item["estimate"], low, high)
        words = words or kind
    return tuple(found), words


def _pairs(graph: Graph, records: list[dict[str, Any]]) -> tuple[Floats | None, str]:
    if not records:
        return None, ""
    table, words = np.full((3, graph.n_pairs), np.nan), ""
    for record, edge in zip(records, graph.edges([record["pair"] for record in records]).tolist(), strict=True):
        (low, high), kind = _ends(record)
        table[:, edge] = [np.nan if end is None else end for end in (record["estimate"], low, high)]
        words = words or kind
    return table, words


def _ends(record: dict[str, Any]) -> tuple[tuple[float | None, float | None], str]:
    """The interval of an item or a pair, however the policy gives it, and what it is."""
    estimate = record["estimate"]
    if record["interval"] is not None:
        return tuple(record["interval"]), OF_A_PAIR if "pair" in record else CHECKED
    if "beta" in record.get("posterior", {}):
        won, lost = record["posterior"]["beta"]
        mean, total = won / (won + lost), won + lost
        half = WIDTH * sqrt(mean * (1 - mean) / (total + 1))
        return (max(0.0, mean - half), min(1.0, mean + half)), POSTERIOR
    deviation = record.get("standard_deviation", record.get("deviation"))
    if deviation is not None and estimate is not None and np.isfinite(deviation):
        return (estimate - WIDTH * deviation, estimate + WIDTH * deviation), POSTERIOR
    upper = record.get("upper_bound")
    if upper is not None and estimate is not None and np.isfinite(upper):
        return (estimate, upper), UPPER
    return (None, None), ""


def _clusters(said: Explanation) -> tuple[tuple[tuple[int, ...], int], ...]:
    """The clusters, best first, each with its chain; before chains are formed each is its own."""
    chains = said["details"].get("chains")
    if chains is None:
        return tuple((tuple(cluster["players"]), k) for k, cluster in enumerate(said["clusters"]))
    return tuple((tuple(players), k) for k, chain in enumerate(chains) for players in chain)


def _links(said: Explanation) -> tuple[Link, ...]:
    """The steps of a proof, of policies that give evidence for each."""
    details: Any = said["details"]
    threshold = details.get("threshold")
    links = [
        Link(
            f"{rival['side']} {rival['above']} above {rival['below']}",
            rival["log_evidence"],
            rival["threshold"],
            rival.get("certified", rival["log_evidence"] > rival["threshold"]),
        )
        for rival in details.get("rivals", [])
    ]
    for border in details.get("borders", []):
        name = f"({_listed(border['between'])}) above ({_listed(border['and'])})"
        links.append(Link(name, border["evidence"], threshold, border["evidence"] >= threshold))
    for pair in said["pairs"]:
        against = pair.get("evidence_against")
        if against is not None and threshold is not None:
            name = f"({_listed(said['recommendation'][0])}) above ({_listed(pair['pair'])})"
            links.append(Link(name, against, threshold, against >= threshold))
    return tuple(link for link in links if np.isfinite(link.evidence))


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
