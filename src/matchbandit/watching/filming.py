"""From what a spectator noted to a film: the strongest first, frames with sentences, the truth beside it."""

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from matchbandit.figures.film import Beaten, Cluster, Film, Frame, Item, PairNow, Story
from matchbandit.graphs import Graph, Selection
from matchbandit.policies import Policy
from matchbandit.problems import Bipartite, Monopartite, Problem
from matchbandit.rewards import Floats
from matchbandit.watching.recording import CHECKED, POSTERIOR, Look, thinned
from matchbandit.watching.sentences import leaves, sentence

MAX_PAIRS = 24
"""Estimates are shown of so many pairs: the truly best, and the most played ones."""


def film_of(looks: Sequence[Look], policy: Policy, problem: Problem, *, frames: int, caption: str) -> Film:
    """The film of a run that was looked at; `policy` and `problem` as they are at its end."""
    graph, kept = problem.graph, thinned(looks, frames)
    truth, product = _truths(problem)
    order = _order(graph, truth)
    place = {k: at for at, k in enumerate(order)}
    matching, last = policy.selection == "matching", kept[-1][0]
    story = _story(policy, [look for look, _ in kept])
    interval = next((look.interval for look, _ in reversed(kept) if look.interval), "")
    best = problem.best(policy.answer_selection)
    shown = _shown(last, problem, set(graph.edges(best).tolist()))
    epsilon = policy.capabilities.epsilon_in(policy.options) or 0.0
    verdict = _verdict(problem, last, policy.answer_selection, epsilon)
    claim = f"worth at least {100 * (1 - epsilon):g} % of the best" if epsilon else "the best"
    claim = "" if policy.capabilities.fixed_budget else claim
    made = []
    for (before, _), (now, event) in zip([(None, False), *kept[:-1]], kept, strict=True):
        words = sentence(before, now, graph, matching=matching, verdict=verdict if now is last else "", claim=claim)
        made.append(_frame(before, now, graph, event, words, order, place, shown, story))
    options = ", ".join(f"{key} = {value}" for key, value in policy.options.items() if value is not None)
    return Film(
        title=f"{policy.name} on {graph}",
        lead=f"{policy.name}{f' ({options})' if options else ''}: {getattr(policy, 'summary', 'your own policy')}.",
        caption=caption,
        story=story,
        matching=matching,
        items=tuple(_item(graph, k, float(truth[k])) for k in order),
        pairs=tuple((place[i], place[j]) for i, j in graph.items_of(graph.pairs).tolist()),
        means=tuple(problem.means.tolist()),
        best=tuple(graph.edges(best).tolist()),
        shown=tuple(shown),
        interval=interval,
        stale=interval == CHECKED,
        truth="true strength" if product else "true mean over all opponents",
        ticks=_ticks(policy, last, truth, order) if product else (None,) * len(order),
        versions=f"matchbandit {version('matchbandit')}, NumPy {np.__version__}",
        frames=tuple(made),
    )


def _verdict(problem: Problem, last: Look, selection: Selection, epsilon: float) -> str:
    """Is the answer, or the last guess, worth the optimum, or (1 − ε) of it?"""
    if problem.is_optimal(problem.graph.pairs_of(last.guess), selection, epsilon=epsilon):
        return "which is right"
    best = problem.best(selection).tolist()
    few = " ".join(f"({i}, {j})" for i, j in best[:6]) + (" …" if len(best) > 6 else "")
    return f"which is wrong: the truly best is {few}"


def _truths(problem: Problem) -> tuple[Floats, bool]:
    """The strength of each item, rows before columns, and whether it has one: else its mean over all opponents."""
    if isinstance(problem, Bipartite):
        return np.concatenate([problem.u, problem.v]), True
    if isinstance(problem, Monopartite):
        return np.asarray(problem.u), True
    graph = problem.graph
    sums, met = np.zeros(graph.n_items), np.zeros(graph.n_items)
    for side in graph.items_of(graph.pairs).T:
        np.add.at(sums, side, problem.means)
        np.add.at(met, side, 1)
    return sums / np.maximum(1, met), False


def _order(graph: Graph, truth: Floats) -> list[int]:
    """All items, side by side, the strongest first (ties: the lower number)."""
    sides = [range(graph.n_rows), range(graph.n_rows, graph.n_items)]
    return [k for side in sides for k in sorted(side, key=lambda k: -truth[k])]


def _item(graph: Graph, k: int, truth: float) -> Item:
    return Item(graph.side_of(k), graph.index_of(k), truth)


def _story(policy: Policy, looks: Sequence[Look]) -> Story:
    """What is told along the time axis."""
    if any(look.clusters for look in looks):
        return "clusters"
    if any(look.items for look in looks) and (
        policy.capabilities.eliminates or any(not item.active for look in looks for item in look.items)
    ):
        return "lives"
    if any(look.links for look in looks):
        return "links"
    return "strengths" if any(look.items for look in looks) else "pairs"


def _shown(last: Look, problem: Problem, best: set[int]) -> list[int]:
    """The pairs of the best answer and the most played ones, by their means."""
    by_interest = sorted(range(len(last.plays)), key=lambda e: (e not in best, -int(last.plays[e]), -problem.means[e]))
    return sorted(by_interest[:MAX_PAIRS], key=lambda e: -problem.means[e])


def _ticks(policy: Policy, last: Look, truth: Floats, order: list[int]) -> tuple[float | None, ...]:
    """Where the true strengths stand on the axis of the estimates, if these are strengths.

    Of rows and columns only the products are known: u times anything and v over it are the same problem, so
    the strengths of a side are laid on the policy's own scale. Averages against opponents are no strengths.
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


def _frame(
    before: Look | None,
    now: Look,
    graph: Graph,
    event: bool,
    words: str,
    order: list[int],
    place: dict[int, int],
    shown: list[int],
    story: Story,
) -> Frame:
    beaten = []
    for gone in now.beaten:
        opponent = {"row": "column", "column": "row", "player": "player"}[gone.side]
        on = gone.on if isinstance(gone.on, str) else f"{opponent} {gone.on}"
        at, by = graph.item_at(gone.side, gone.item), graph.item_at(gone.side, gone.by)
        beaten.append(Beaten(place[at], place[by], on, leaves(before, now, at)))
    return Frame(
        round=now.round,
        regret=now.regret,
        sentence=words,
        event=event,
        items=tuple(now.items[k] for k in order) if now.items else (),
        pairs=_pairs(now, shown) if now.pairs is not None or story == "pairs" else (),
        clusters=tuple(Cluster(tuple(sorted(place[k] for k in players)), chain) for players, chain in now.clusters),
        links=now.links,
        beaten=tuple(beaten),
        window=now.window,
        played=tuple((now.plays - (0 if before is None else before.plays)).tolist()),
        guess=tuple(now.guess.tolist()),
        done=now.done,
    )


def _pairs(now: Look, shown: list[int]) -> tuple[PairNow, ...]:
    table = np.full((3, len(now.plays)), np.nan) if now.pairs is None else now.pairs
    return tuple(
        PairNow(int(now.plays[edge]), *(None if np.isnan(x) else float(x) for x in table[:, edge])) for edge in shown
    )
