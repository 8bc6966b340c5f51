"""Turn the snapshots of a run into a recording: strongest items first, frames with sentences, the truth beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

import numpy as np

from matchbandit.graphs import Graph, Selection
from matchbandit.policies import Policy
from matchbandit.policies.explanation import Elimination
from matchbandit.problems import Bipartite, Monopartite, Problem
from matchbandit.rewards import Floats
from matchbandit.watching.recorder import LAST_CHECK, POSTERIOR, Snapshot, thin_out
from matchbandit.watching.recording import (
    ClusterState,
    Frame,
    PairState,
    RecordedItem,
    Recording,
    Separation,
    Story,
)
from matchbandit.watching.sentences import average_name, leaves, sentence, separation_text, split_text

MAX_PAIRS = 24
"""Pairs whose estimates are shown: the truly best, and the most played ones."""


def assemble(
    snapshots: Sequence[Snapshot], policy: Policy, problem: Problem, *, frames: int, caption: str
) -> Recording:
    """Return the recording of a run; `policy` and `problem` as they are at its end."""
    graph, chosen = problem.graph, thin_out(snapshots, frames)
    truth, is_product = _truths(problem)
    order = _order(graph, truth)
    matching, last = policy.selection == "matching", chosen[-1][0]
    story = _story(policy, [snapshot for snapshot, _ in chosen])
    interval = next((snapshot.interval for snapshot, _ in reversed(chosen) if snapshot.interval), "")
    best = problem.best(policy.answer_selection)
    shown = _shown(last, problem, set(graph.edges(best).tolist()))
    epsilon = policy.capabilities.epsilon_in(policy.options) or 0.0
    verdict = _verdict(problem, last, policy.answer_selection, epsilon)
    claim = f"worth at least {100 * (1 - epsilon):g}% of the best" if epsilon else "the best"
    claim = "" if policy.capabilities.fixed_budget else claim
    layout = _Layout(graph, order, shown, story)
    frames_of_run = []
    for (before, _), (now, event) in zip([(None, False), *chosen[:-1]], chosen, strict=True):
        text = sentence(before, now, graph, matching=matching, verdict=verdict if now is last else "", claim=claim)
        frames_of_run.append(layout.frame(before, now, event, text))
    options = ", ".join(f"{key} = {value}" for key, value in policy.options.items() if value is not None)
    summary = getattr(policy, "summary", "a user-defined policy")
    return Recording(
        title=f"{policy.name} on {graph}",
        lead=f"{policy.name}{f' ({options})' if options else ''}: {summary}.",
        caption=caption,
        story=story,
        matching=matching,
        items=tuple(RecordedItem(graph.side_of(k), graph.index_of(k), float(truth[k])) for k in order),
        pairs=tuple((layout.position[i], layout.position[j]) for i, j in graph.items_of(graph.pairs).tolist()),
        means=tuple(problem.means.tolist()),
        best=tuple(graph.edges(best).tolist()),
        shown=tuple(shown),
        interval=interval,
        stale=interval == LAST_CHECK,
        truth="true strength" if is_product else "true mean over all opponents",
        ticks=_ticks(policy, last, truth, order) if is_product else (None,) * len(order),
        versions=f"matchbandit {version('matchbandit')}, NumPy {np.__version__}",
        frames=tuple(frames_of_run),
    )


def _verdict(problem: Problem, last: Snapshot, selection: Selection, epsilon: float) -> str:
    """Say whether the last recommendation is worth the optimum, or 1 − ε of it."""
    if problem.is_optimal(problem.graph.pairs_of(last.guess), selection, epsilon=epsilon):
        return "which is correct"
    best = problem.best(selection).tolist()
    first_pairs = " ".join(f"({i}, {j})" for i, j in best[:6]) + (" …" if len(best) > 6 else "")
    return f"which is wrong: the best is {first_pairs}"


def _truths(problem: Problem) -> tuple[Floats, bool]:
    """Return the strength of each item, rows first, and True; or its mean over all opponents, and False."""
    if isinstance(problem, Bipartite):
        return np.concatenate([problem.u, problem.v]), True
    if isinstance(problem, Monopartite):
        return np.asarray(problem.u), True
    graph = problem.graph
    sums, opponents = np.zeros(graph.n_items), np.zeros(graph.n_items)
    for side in graph.items_of(graph.pairs).T:
        np.add.at(sums, side, problem.means)
        np.add.at(opponents, side, 1)
    return sums / np.maximum(1, opponents), False


def _order(graph: Graph, truth: Floats) -> list[int]:
    """Return all items, side by side, the strongest first (ties: the lower number)."""
    sides = [range(graph.n_rows), range(graph.n_rows, graph.n_items)]
    return [k for side in sides for k in sorted(side, key=lambda k: -truth[k])]


def _story(policy: Policy, snapshots: Sequence[Snapshot]) -> Story:
    if any(snapshot.clusters for snapshot in snapshots):
        return "clusters"
    if any(snapshot.items for snapshot in snapshots) and (
        policy.capabilities.eliminates or any(not item.active for snapshot in snapshots for item in snapshot.items)
    ):
        return "activity"
    if any(snapshot.links for snapshot in snapshots):
        return "links"
    return "strengths" if any(snapshot.items for snapshot in snapshots) else "pairs"


def _shown(last: Snapshot, problem: Problem, best: set[int]) -> list[int]:
    """Return the pairs of the best answer and the most played ones, in order of their means."""
    by_interest = sorted(range(len(last.plays)), key=lambda e: (e not in best, -int(last.plays[e]), -problem.means[e]))
    return sorted(by_interest[:MAX_PAIRS], key=lambda e: -problem.means[e])


def _ticks(policy: Policy, last: Snapshot, truth: Floats, order: list[int]) -> tuple[float | None, ...]:
    """Return where the true strengths lie on the axis of the estimates, if these are strengths.

    Of rows and columns only the products are identified: u times a factor and v divided by it are the same problem, so
    the strengths of a side are rescaled to the policy's own scale. Averages against opponents are not strengths.
    """
    averages = policy.capabilities.eliminates or policy.capabilities.clusters or last.interval not in ("", POSTERIOR)
    known = [k for k, item in enumerate(last.items) if item.estimate is not None]
    if averages or len(known) < len(order):
        return (None,) * len(order)
    scaled = truth.copy()
    if policy.graph.is_bipartite:
        rows = policy.graph.n_rows
        weighted = np.array([[item.estimate, item.samples] for item in last.items], dtype=np.float64)
        for side in (slice(0, rows), slice(rows, None)):
            estimates, samples = weighted[side].T
            total = truth[side] @ samples
            scaled[side] *= estimates @ samples / total if total > 0 else 1.0
    return tuple(float(scaled[k]) for k in order)


@dataclass(frozen=True)
class _Layout:
    """The order in which items and pairs are shown."""

    graph: Graph
    order: list[int]
    shown: list[int]
    story: Story

    @property
    def position(self) -> dict[int, int]:
        """The position of each item of the graph."""
        return {k: at for at, k in enumerate(self.order)}

    def frame(self, before: Snapshot | None, now: Snapshot, event: bool, text: str) -> Frame:
        """Return the frame of a snapshot."""
        position = self.position
        clusters = [(tuple(sorted(position[k] for k in players)), chain) for players, chain in now.clusters]
        separations = [self._separation("elimination", record, before, now) for record in now.eliminations]
        separations += [self._separation("split", record, before, now) for record in now.separations]
        return Frame(
            round=now.round,
            regret=now.regret,
            sentence=text,
            event=event,
            items=tuple(now.items[k] for k in self.order) if now.items else (),
            pairs=self._pairs(now) if now.pairs is not None or self.story == "pairs" else (),
            clusters=tuple(ClusterState(players, chain) for players, chain in clusters),
            links=now.links,
            separations=tuple(separations),
            certificates=now.certificates,
            window=now.window,
            played=tuple((now.plays - (0 if before is None else before.plays)).tolist()),
            guess=tuple(now.guess.tolist()),
            done=now.done,
        )

    def _separation(
        self, kind: Literal["elimination", "split"], record: Elimination, before: Snapshot | None, now: Snapshot
    ) -> Separation:
        item = self.graph.item_at(record.side, record.item)
        is_out = kind == "elimination" and leaves(before, now, item)
        return Separation(
            kind,
            self.position[item],
            self.position[self.graph.item_at(record.side, record.by)],
            average_name(record),
            is_out,
            record.window,
            record.estimate,
            record.interval,
            record.by_estimate,
            record.by_interval,
            split_text(record) if kind == "split" else separation_text(record, leaves=is_out),
        )

    def _pairs(self, now: Snapshot) -> tuple[PairState, ...]:
        table = np.full((3, len(now.plays)), np.nan) if now.pairs is None else now.pairs
        return tuple(
            PairState(int(now.plays[edge]), *(None if np.isnan(x) else float(x) for x in table[:, edge]))
            for edge in self.shown
        )
